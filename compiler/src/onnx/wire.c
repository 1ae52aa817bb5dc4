/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk over protobuf's wire format that bounds nesting. protobuf-c recurses once per level of messages in
 * messages, without a limit; a graph may hold a graph in an attribute, so a small hostile file could use up
 * the stack. Only fields that the schema calls messages count as levels. Everything else about the format is
 * protobuf-c's to judge.
 */
#include "import.h"

enum { MOST_LEVELS = 100 };

typedef struct wire_cursor {
    const uint8_t *at, *end;
} wire_cursor;

static bool read_varint(wire_cursor *c, uint64_t *out)
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

static bool skip_bytes(wire_cursor *c, uint64_t size)
{
    if (size > (uint64_t)(c->end - c->at)) {
        return false;
    }
    c->at += size;
    return true;
}

static vta_status check_level(const ProtobufCMessageDescriptor *descriptor, wire_cursor c, unsigned level,
                              vta_diag *diag);

/* A field that holds bytes: a message is looked into. */
static vta_status check_field(const ProtobufCMessageDescriptor *descriptor, uint64_t number,
                              wire_cursor inner, unsigned level, vta_diag *diag)
{
    const ProtobufCFieldDescriptor *field =
        number <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(descriptor, (unsigned)number) : NULL;
    return field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE
               ? check_level(field->descriptor, inner, level + 1, diag)
               : VTA_OK;
}

static vta_status check_level(const ProtobufCMessageDescriptor *descriptor, wire_cursor c, unsigned level,
                              vta_diag *diag)
{
    if (level > MOST_LEVELS) {
        return vta_fail(diag, VTA_SYNTAX, "messages are nested deeper than %d levels", MOST_LEVELS);
    }
    while (c.at < c.end) {
        uint64_t key;
        uint64_t size = 0;
        if (!read_varint(&c, &key)) {
            break;
        }
        const unsigned wire = (unsigned)(key & 7U);
        const uint8_t *begin = c.at;
        bool ok = true;
        if (wire == 0) {
            ok = read_varint(&c, &size);
        } else if (wire == 1 || wire == 5) {
            ok = skip_bytes(&c, wire == 1 ? 8 : 4);
        } else if (wire == 2) {
            ok = read_varint(&c, &size);
            begin = c.at;
            ok = ok && skip_bytes(&c, size);
        } else {
            ok = false; /* groups are not part of this schema */
        }
        if (!ok) {
            break; /* malformed: protobuf-c refuses it */
        }
        const wire_cursor inner = {begin, c.at};
        VTA_TRY(wire == 2 ? check_field(descriptor, key >> 3, inner, level, diag) : VTA_OK);
    }
    return VTA_OK;
}

vta_status vtac_wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t size,
                           vta_diag *diag)
{
    return check_level(descriptor, (wire_cursor){bytes, bytes + size}, 0, diag);
}
