/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf-c returns NULL for bytes that are no message and for a failed allocation alike. An allocator of
 * ours knows which of the two it was.
 */
#ifndef VTAC_PROTOBUF_H
#define VTAC_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdlib.h>

#include "vta/fail.h"

/* Memory of malloc, which protobuf-c's own allocator frees, too. `allocator_data` is the bool that a failure
 * sets. */
static inline void *vtac_protobuf_alloc(void *failed, size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL) {
        *(bool *)failed = true;
    }
    return memory;
}

static inline void vtac_protobuf_free(void *failed, void *memory)
{
    (void)failed;
    free(memory);
}

static inline ProtobufCAllocator vtac_protobuf_allocator(bool *failed)
{
    *failed = false;
    return (ProtobufCAllocator){vtac_protobuf_alloc, vtac_protobuf_free, failed};
}

#endif
