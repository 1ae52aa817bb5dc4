/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of the targets `agent` and `client`: records of a kind (1 byte), a size (2 bytes, low first) and
 * that much content. What is cut off at the end counts as it is.
 */
#ifndef VTA_TEST_FUZZ_WIRE_H
#define VTA_TEST_FUZZ_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct record {
    uint8_t kind;
    const uint8_t *content;
    size_t size;
} record;

static inline bool next_record(const uint8_t **data, size_t *size, record *out)
{
    if (*size < 3) {
        return false;
    }
    const size_t wanted = (size_t)(*data)[1] | (size_t)(*data)[2] << 8;
    const size_t there = *size - 3;
    *out = (record){(*data)[0], *data + 3, wanted < there ? wanted : there};
    *data += 3 + out->size;
    *size -= 3 + out->size;
    return true;
}

#endif
