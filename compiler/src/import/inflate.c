/* SPDX-License-Identifier: Apache-2.0
 *
 * zlib's inflate, in one call.
 */
#include "inflate.h"

#include <zlib.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): zlib writes there */
bool vtac_inflate(const uint8_t *from, size_t packed, vtac_inflate_form form, uint8_t *to, size_t room,
                  size_t *size)
{
    union {
        const uint8_t *in;
        Bytef *out;
    } source = {.in = from};
    z_stream stream = {.next_in = source.out, .next_out = to};
    *size = 0;
    if (packed > UINT32_MAX || room > UINT32_MAX ||
        inflateInit2(&stream, form == VTAC_INFLATE_PLAIN ? -MAX_WBITS : MAX_WBITS) != Z_OK) {
        return false;
    }
    stream.avail_in = (uInt)packed;
    stream.avail_out = (uInt)room;
    const int result = inflate(&stream, Z_FINISH);
    *size = stream.total_out;
    (void)inflateEnd(&stream);
    return result == Z_STREAM_END;
}
