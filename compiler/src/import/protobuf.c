/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf's wire format: a key, which is the number of a field and its type, then the field.
 */
#include "protobuf.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { MAX_TEXT = 256 }; /* of a name that is looked at */

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

bool vtac_wire_find(vtac_wire message, uint64_t number, vtac_wire_field *out)
{
    while (vtac_wire_next(&message, out)) {
        if (out->number == number) {
            return true;
        }
    }
    return false;
}

bool vtac_wire_message(vtac_wire message, uint64_t number, vtac_wire *out)
{
    vtac_wire_field field;
    const bool found = vtac_wire_find(message, number, &field) && field.type == VTAC_WIRE_BYTES;
    *out = found ? field.bytes : (vtac_wire){NULL, NULL};
    return found;
}

bool vtac_wire_each(vtac_wire *message, uint64_t number, vtac_wire *out)
{
    vtac_wire_field field;
    while (vtac_wire_next(message, &field)) {
        if (field.number == number && field.type == VTAC_WIRE_BYTES) {
            *out = field.bytes;
            return true;
        }
    }
    return false;
}

bool vtac_wire_is(vtac_wire bytes, const char *text)
{
    const size_t size = strlen(text);
    return (size_t)(bytes.end - bytes.at) == size && (size == 0 || memcmp(bytes.at, text, size) == 0);
}

static bool is_text(vtac_wire text)
{
    const uint8_t *end = text.end - text.at > MAX_TEXT ? text.at + MAX_TEXT : text.end;
    for (const uint8_t *at = text.at; at < end; at++) {
        if (isprint(*at) == 0) {
            return false;
        }
    }
    return true;
}

bool vtac_wire_has_text(vtac_wire message, uint64_t number)
{
    vtac_wire text;
    return vtac_wire_message(message, number, &text) && text.at < text.end && is_text(text);
}

uint64_t vtac_wire_number(const vtac_wire_field *field)
{
    vtac_wire bytes = field->bytes;
    uint64_t value = 0;
    return field->type == VTAC_WIRE_VARINT && read_varint(&bytes, &value) ? value : 0;
}

double vtac_wire_real(const vtac_wire_field *field)
{
    float narrow = 0.0F;
    double wide = 0.0;
    if (field->type == VTAC_WIRE_FOUR) {
        memcpy(&narrow, field->bytes.at, sizeof narrow);
        return (double)narrow;
    }
    if (field->type == VTAC_WIRE_EIGHT) {
        memcpy(&wide, field->bytes.at, sizeof wide);
    }
    return wide;
}

int64_t vtac_wire_int(vtac_wire message, uint64_t number, int64_t otherwise)
{
    vtac_wire_field field;
    while (vtac_wire_next(&message, &field)) {
        if (field.number == number && field.type == VTAC_WIRE_VARINT) {
            otherwise = (int64_t)vtac_wire_number(&field);
        }
    }
    return otherwise;
}

double vtac_wire_float(vtac_wire message, uint64_t number, double otherwise)
{
    vtac_wire_field field;
    while (vtac_wire_next(&message, &field)) {
        if (field.number == number && (field.type == VTAC_WIRE_FOUR || field.type == VTAC_WIRE_EIGHT)) {
            otherwise = vtac_wire_real(&field);
        }
    }
    return otherwise;
}

bool vtac_wire_packed(vtac_wire *list, uint64_t *out)
{
    return list->at < list->end && read_varint(list, out);
}

size_t vtac_wire_ints(vtac_wire message, uint64_t number, int64_t *out, size_t room)
{
    vtac_wire_field field;
    size_t count = 0;
    while (vtac_wire_next(&message, &field)) {
        uint64_t value = 0;
        const bool packed = field.type == VTAC_WIRE_BYTES;
        if (field.number != number || (!packed && field.type != VTAC_WIRE_VARINT)) {
            continue;
        }
        while (vtac_wire_packed(&field.bytes, &value)) {
            if (count < room) {
                out[count] = (int64_t)value;
            }
            count++;
            if (!packed) {
                break;
            }
        }
    }
    return count;
}

bool vtac_wire_has_only(vtac_wire message, uint64_t max)
{
    vtac_wire_field field;
    bool any = false;
    while (vtac_wire_next(&message, &field)) {
        if (field.number < 1 || field.number > max) {
            return false;
        }
        any = true;
    }
    return any && message.at == message.end;
}
