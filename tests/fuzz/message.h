/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of protobuf, as the fuzz targets of importers write them.
 */
#ifndef FUZZ_MESSAGE_H
#define FUZZ_MESSAGE_H

#include <stdint.h>

#include "vta/str.h"

/* Empties a message; its bytes are there even where none follow. */
static inline void start_message(vta_str *message)
{
    message->size = 0;
    vta_str_put(message, "");
}

static inline void put_number(vta_str *message, uint64_t value)
{
    for (; value > 127; value >>= 7) {
        vta_str_append(message, &(uint8_t){(uint8_t)(value | 128)}, 1);
    }
    vta_str_append(message, &(uint8_t){(uint8_t)value}, 1);
}

/* Field `number`: bytes, a text or another message. */
static inline void put_bytes(vta_str *message, uint64_t number, const void *bytes, size_t size)
{
    put_number(message, number << 3 | 2);
    put_number(message, size);
    vta_str_append(message, bytes, size);
}

#endif
