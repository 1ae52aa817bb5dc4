/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of isa.def's rows, for messages and listings.
 */
#include "vta/isa.h"

#include <stddef.h>

/* The texts themselves: a pointer to each would be longer, and the loader would have to set it. */
typedef char name[12];

#define FITS(mnemonic) _Static_assert(sizeof(mnemonic) <= sizeof(name), "too long: " mnemonic);

#define VTA_OPCODE(id, value, format, mnemonic, doc) FITS(mnemonic)
#define VTA_MEMORY(id, value, mnemonic, doc)         FITS(mnemonic)
#define VTA_ROUNDING(id, value, mnemonic, doc)       FITS(mnemonic)
#define VTA_ROW_FUNCTION(id, value, mnemonic, doc)   FITS(mnemonic)
#define VTA_ROW_FORM(id, value, mnemonic, doc)       FITS(mnemonic)
#define VTA_ALU_OP(id, value, mnemonic, doc)         FITS(mnemonic)
#include "vta/isa.def"

const char *vta_opcode_name(int64_t opcode)
{
    static const name names[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [VTA_OP_##id] = mnemonic,
#include "vta/isa.def"
    };
    return opcode >= 0 && opcode < VTA_OP_COUNT ? names[opcode] : "reserved";
}

const char *vta_memory_name(int64_t memory)
{
    static const name names[] = {
#define VTA_MEMORY(id, value, mnemonic, doc) [VTA_MEM_##id] = mnemonic,
#include "vta/isa.def"
    };
    return memory >= 0 && memory < VTA_MEM_COUNT ? names[memory] : "reserved";
}

const char *vta_rounding_name(int64_t rounding)
{
    static const name names[] = {
#define VTA_ROUNDING(id, value, mnemonic, doc) [VTA_ROUND_##id] = mnemonic,
#include "vta/isa.def"
    };
    return rounding >= 0 && rounding < VTA_ROUND_COUNT ? names[rounding] : "reserved";
}

const char *vta_row_name(int64_t function)
{
    static const name names[] = {
#define VTA_ROW_FUNCTION(id, value, mnemonic, doc) [VTA_ROW_##id] = mnemonic,
#include "vta/isa.def"
    };
    return function >= 0 && function < VTA_ROW_COUNT ? names[function] : "reserved";
}

const char *vta_row_form_name(int64_t form)
{
    static const name names[] = {
#define VTA_ROW_FORM(id, value, mnemonic, doc) [VTA_ROW_FORM_##id] = mnemonic,
#include "vta/isa.def"
    };
    return form >= 0 && form < VTA_ROW_FORM_COUNT ? names[form] : "reserved";
}

const char *vta_alu_op_name(int64_t alu_op)
{
    static const name names[] = {
#define VTA_ALU_OP(id, value, mnemonic, doc) [VTA_ALU_##id] = mnemonic,
#include "vta/isa.def"
    };
    return alu_op >= 0 && alu_op < VTA_ALU_COUNT ? names[alu_op] : "reserved";
}

const char *vta_unit_name(vta_unit unit)
{
    static const name names[] = {
        [VTA_UNIT_FETCH] = "fetch",
        [VTA_UNIT_LOAD] = "load",
        [VTA_UNIT_COMPUTE] = "compute",
        [VTA_UNIT_STORE] = "store",
    };
    return (unsigned)unit < VTA_UNIT_COUNT ? names[unit] : "unknown";
}

const char *vta_error_text(vta_error error)
{
    static const char *const texts[] = {
#define VTA_ERROR(id, code, text) [VTA_ERROR_##id] = (text),
#include "vta/isa.def"
    };
    const bool known = (unsigned)error < sizeof texts / sizeof texts[0] && texts[error] != NULL;
    return known ? texts[error] : "unknown error";
}
