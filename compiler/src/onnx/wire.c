/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk over protobuf's wire format that bounds nesting. protobuf-c recurses once per level of messages in
 * messages, without a limit; a graph may hold a graph in an attribute, so a small hostile file could use up
 * the stack. Only fields that the schema calls messages count as levels. Everything else about the format is
 * protobuf-c's to judge.
 */
#include "../import/protobuf.h"
#include "import.h"

enum { MAX_LEVELS = 100 };

static vta_status check_level(const ProtobufCMessageDescriptor *descriptor, vtac_wire c, unsigned level,
                              vta_diag *diag);

/* A field that holds bytes: a message is looked into. */
static vta_status check_field(const ProtobufCMessageDescriptor *descriptor, uint64_t number, vtac_wire inner,
                              unsigned level, vta_diag *diag)
{
    const ProtobufCFieldDescriptor *field =
        number <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(descriptor, (unsigned)number) : NULL;
    return field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE
               ? check_level(field->descriptor, inner, level + 1, diag)
               : VTA_OK;
}

static vta_status check_level(const ProtobufCMessageDescriptor *descriptor, vtac_wire c, unsigned level,
                              vta_diag *diag)
{
    if (level > MAX_LEVELS) {
        return vta_fail(diag, VTA_SYNTAX, "messages are nested deeper than %d levels", MAX_LEVELS);
    }
    vtac_wire_field field;
    while (vtac_wire_next(&c, &field)) { /* protobuf-c refuses what is malformed */
        VTA_TRY(field.type == VTAC_WIRE_BYTES
                    ? check_field(descriptor, field.number, field.bytes, level, diag)
                    : VTA_OK);
    }
    return VTA_OK;
}

vta_status vtac_wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t size,
                           vta_diag *diag)
{
    return check_level(descriptor, (vtac_wire){bytes, bytes + size}, 0, diag);
}
