/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters that chunks of numbers pass before they are stored: bytes are shuffled, deflated, summed.
 */
#include <string.h>

#include "../import/inflate.h"
#include "reader.h"
#include "vta/fail.h"

enum { DEFLATE = 1, SHUFFLE = 2, SUM = 3, SUM_BYTES = VTAC_H5_SPARE };

vta_status vtac_h5_filters_of(vtac_h5_piece body, uint32_t element, vtac_h5_filters *out, vta_diag *diag)
{
    enum { NAMED = 256, ROWS = sizeof out->row / sizeof out->row[0] };
    const uint64_t edition = vtac_h5_get(&body, 1);
    *out = (vtac_h5_filters){.count = (uint32_t)vtac_h5_get(&body, 1)};
    vtac_h5_skip(&body, edition == 1 ? 6 : 0);
    if (out->count > ROWS || edition < 1 || edition > 2) {
        return vta_fail(diag, VTA_SYNTAX, "a list of filters of an HDF5 file cannot be read");
    }
    for (uint32_t i = 0; i < out->count; i++) {
        const uint64_t id = vtac_h5_get(&body, 2);
        const uint64_t name = edition == 1 || id >= NAMED ? vtac_h5_get(&body, 2) : 0;
        vtac_h5_skip(&body, 2);
        const uint64_t values = vtac_h5_get(&body, 2);
        vtac_h5_skip(&body, edition == 1 ? (name + 7) / 8 * 8 : name);
        out->row[i].id = (uint32_t)id;
        out->row[i].element = values > 0 ? (uint32_t)vtac_h5_get(&body, 4) : element;
        vtac_h5_skip(&body, values > 0 ? 4 * (values - 1) : 0);
        vtac_h5_skip(&body, edition == 1 && values % 2 != 0 ? 4 : 0);
        if (id != DEFLATE && id != SHUFFLE && id != SUM) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "numbers in an HDF5 file are packed by filter %u; gzip, shuffle and fletcher32 "
                            "can be read",
                            (unsigned)id);
        }
    }
    return body.bad ? vta_fail(diag, VTA_SYNTAX, "a list of filters of an HDF5 file cannot be read") : VTA_OK;
}

/* The first bytes of all elements lie in front of all second ones; what is left over stays at the end. */
static void unshuffle(const uint8_t *from, uint8_t *to, size_t size, uint32_t element)
{
    const size_t count = element == 0 ? 0 : size / element;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t byte = 0; byte < element; byte++) {
            to[i * element + byte] = from[byte * count + i];
        }
    }
    memcpy(to + count * element, from + count * element, size - count * element);
}

bool vtac_h5_unfilter(const vtac_h5_filters *filters, uint32_t mask, vtac_h5_piece piece, uint8_t *to,
                      uint8_t *work, size_t size)
{
    const uint8_t *now = piece.at;
    size_t bytes = (size_t)(piece.end - piece.at);
    uint8_t *next = to, *other = work;
    for (uint32_t i = filters->count; i-- > 0;) {
        const uint32_t id = filters->row[i].id;
        if ((mask >> i & 1) != 0) {
            continue;
        }
        if (id == SUM) {
            if (bytes < SUM_BYTES) {
                return false;
            }
            bytes -= SUM_BYTES;
            continue;
        }
        if (id == DEFLATE ? !vtac_inflate(now, bytes, VTAC_INFLATE_ZLIB, next, size + VTAC_H5_SPARE, &bytes)
                          : bytes > size + VTAC_H5_SPARE) {
            return false;
        }
        if (id == SHUFFLE) {
            unshuffle(now, next, bytes, filters->row[i].element);
        }
        now = next;
        next = other;
        other = next == to ? work : to;
    }
    if (bytes != size) {
        return false;
    }
    if (now != to) {
        memcpy(to, now, size);
    }
    return true;
}
