/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf's wire format: a key, which is the number of a field and its type, then the field.
 */
#include "protobuf.h"

static bool read_varint(vtac_wire *c, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        const uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 127U) << shift;
        if ((byte & 128U) == 0) {
            *out = value;
            return true;
        }
    }
    return false;
}

bool vtac_wire_next(vtac_wire *message, vtac_wire_field *out)
{
    vtac_wire c = *message;
    uint64_t key;
    uint64_t size = 0;
    *out = (vtac_wire_field){.number = 0};
    if (c.at == c.end || !read_varint(&c, &key)) {
        return false;
    }
    out->number = key >> 3;
    out->type = (unsigned)(key & 7U);
    out->bytes = c;
    switch (out->type) {
    case VTAC_WIRE_VARINT: message->at = c.at; return read_varint(message, &size);
    case VTAC_WIRE_EIGHT: size = 8; break;
    case VTAC_WIRE_FOUR: size = 4; break;
    case VTAC_WIRE_BYTES:
        if (!read_varint(&c, &size)) {
            return false;
        }
        break;
    default: return false; /* groups, which none of our schemas has */
    }
    out->bytes = c;
    if (size > (uint64_t)(c.end - c.at)) {
        return false;
    }
    out->bytes.end = c.at + size;
    message->at = out->bytes.end;
    return true;
}
