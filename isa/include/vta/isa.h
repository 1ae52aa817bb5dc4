/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions and micro-ops as values, and their encoding. ISA.md says what they mean, isa.def where the
 * bits are.
 */
#ifndef VTA_ISA_H
#define VTA_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/config.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
    VTA_ISA_MAJOR = 2,
    VTA_ISA_MINOR = 3,
    VTA_INSN_BYTES = 16,
    VTA_UOP_BYTES = 4,
    VTA_SEGMENTS = 8,
    VTA_TOKEN_CAPACITY = 255,
    VTA_BASE_ALIGN = 64, /* of segment bases and instruction addresses */
    VTA_TABLES = 2,      /* of 256 entries */
    VTA_LOG_TABLE_WORDS = 6
};

typedef enum vta_opcode {
#define VTA_OPCODE(id, value, format, mnemonic, doc) VTA_OP_##id = (value),
#include "vta/isa.def"
    VTA_OP_COUNT
} vta_opcode;

typedef enum vta_alu_op {
#define VTA_ALU_OP(id, value, mnemonic, doc) VTA_ALU_##id = (value),
#include "vta/isa.def"
    VTA_ALU_COUNT
} vta_alu_op;

typedef enum vta_rounding {
#define VTA_ROUNDING(id, value, mnemonic, doc) VTA_ROUND_##id = (value),
#include "vta/isa.def"
    VTA_ROUND_COUNT
} vta_rounding;

typedef enum vta_row_function {
#define VTA_ROW_FUNCTION(id, value, mnemonic, doc) VTA_ROW_##id = (value),
#include "vta/isa.def"
    VTA_ROW_COUNT
} vta_row_function;

typedef enum vta_row_form {
#define VTA_ROW_FORM(id, value, mnemonic, doc) VTA_ROW_FORM_##id = (value),
#include "vta/isa.def"
    VTA_ROW_FORM_COUNT
} vta_row_form;

typedef enum vta_error {
#define VTA_ERROR(id, code, text) VTA_ERROR_##id = (code),
#include "vta/isa.def"
} vta_error;

typedef enum vta_unit {
    VTA_UNIT_FETCH,
    VTA_UNIT_LOAD,
    VTA_UNIT_COMPUTE,
    VTA_UNIT_STORE,
    VTA_UNIT_COUNT
} vta_unit;

typedef enum vta_queue {
#define VTA_QUEUE(id, producer, consumer, doc) VTA_QUEUE_##id,
#include "vta/isa.def"
    VTA_QUEUE_COUNT
} vta_queue;

/* The bits as they stand in memory. */
typedef struct vta_word {
    uint64_t w[2];
} vta_word;

/* A decoded instruction. Every field has the name that isa.def gives it and is held in 64 bits, signed ones
 * sign-extended. */
typedef struct vta_insn {
#define FIELD_HEADER(member) int64_t member;
#define FIELD_MEM(member)
#define FIELD_GEMM(member)
#define FIELD_ALU(member)
#define FIELD_REQUANT(member)
#define FIELD_DEPTHWISE(member)
#define FIELD_FINISH(member)
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
    __extension__ union {
#undef FIELD_HEADER
#undef FIELD_MEM
#define FIELD_HEADER(member)
#define FIELD_MEM(member) int64_t member;
        struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
        } mem; /* LOAD, STORE */
#undef FIELD_MEM
#undef FIELD_GEMM
#define FIELD_MEM(member)
#define FIELD_GEMM(member) int64_t member;
        struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
        } gemm;
#undef FIELD_GEMM
#undef FIELD_ALU
#define FIELD_GEMM(member)
#define FIELD_ALU(member) int64_t member;
        struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
        } alu;
#undef FIELD_ALU
#undef FIELD_REQUANT
#define FIELD_ALU(member)
#define FIELD_REQUANT(member) int64_t member;
        struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
        } requant;
#undef FIELD_REQUANT
#undef FIELD_DEPTHWISE
#define FIELD_REQUANT(member)
#define FIELD_DEPTHWISE(member) int64_t member;
        struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
        } depthwise;
#undef FIELD_DEPTHWISE
#undef FIELD_FINISH
#define FIELD_DEPTHWISE(member)
#define FIELD_FINISH(member) int64_t member;
        struct {
#define VTA_FIELD(format, member, lsb, width, sign, doc) FIELD_##format(member)
#include "vta/isa.def"
        } finish;
    };
#undef FIELD_HEADER
#undef FIELD_MEM
#undef FIELD_GEMM
#undef FIELD_ALU
#undef FIELD_REQUANT
#undef FIELD_DEPTHWISE
#undef FIELD_FINISH
} vta_insn;

/* A decoded micro-op. */
typedef struct vta_uop {
#define VTA_UOP_FIELD(member, lsb, width, doc) uint32_t member;
#include "vta/isa.def"
} vta_uop;

/* The immediate of ALU operation 7. */
typedef struct vta_row {
#define VTA_ROW_FIELD(member, lsb, width, doc) uint32_t member;
#include "vta/isa.def"
} vta_row;

/* The unit that executes the instruction. */
vta_unit vta_insn_unit(const vta_insn *insn);

/* The signed pad value of a LOAD, from its two fields and back. */
int32_t vta_insn_pad_value(const vta_insn *insn);
void vta_insn_set_pad_value(vta_insn *insn, int32_t value);

/* The function on rows that an immediate names, and back; bits of a member beyond its field are left out. */
vta_row vta_row_of(int64_t imm);
int64_t vta_row_imm(vta_row row);

/* Encodes; a value that does not fit its field, and everything that decoding would refuse, is refused with
 * the field, the value and the bound: what this encodes, `vta_insn_decode` decodes to the same values. */
vta_status vta_insn_encode(const vta_config *config, const vta_insn *insn, vta_word *out, vta_diag *diag);

/* Decodes; reserved opcodes, reserved bits and everything that ISA.md calls illegal in one instruction are
 * refused. */
vta_status vta_insn_decode(const vta_config *config, vta_word word, vta_insn *out, vta_diag *diag);

/* The same without a sentence, for simulators: NONE, OPCODE or FIELD. */
vta_error vta_insn_decode_raw(const vta_config *config, vta_word word, vta_insn *out);

vta_status vta_uop_encode(const vta_config *config, const vta_uop *uop, uint32_t *out, vta_diag *diag);
vta_uop vta_uop_decode(const vta_config *config, uint32_t word);

/* The largest value of a micro-op field under this configuration. */
uint32_t vta_uop_max_aux(const vta_config *config);

/* Steps in which an array reads DEPTHWISE windows, one column a cycle (ISA.md, section 12). */
typedef struct vta_window_steps {
    int64_t rows; /* at once */
    int64_t
        kept; /* columns of its predecessor's window that an output in the inner loop does not take again */
} vta_window_steps;

static inline vta_window_steps vta_window_steps_of(const vta_config *c, int64_t taps_x, int64_t taps_y,
                                                   int64_t col_step, int64_t row_step, int64_t src_in)
{
    const bool able = c->depthwise_taps == 9 && c->log_block_out >= 4 &&
                      (c->array_pump == 1 || c->log_block_out >= 5 || c->log_block_in >= 5);
    const bool three = able && taps_x == 3 && taps_y == 3 && row_step % 2 != 0;
    vta_window_steps out = {three ? 3 : 1, 0};
    if (c->depthwise_taps < 3) {
        return out;
    }
    if (taps_x == 3 && c->log_block_out >= 3) {
        out.kept = src_in == col_step ? 2 : src_in == 2 * col_step ? 1 : 0;
    } else if (taps_x == 2) {
        out.kept = src_in == col_step ? 1 : 0;
    }
    return out;
}

/* Names for messages; never NULL. */
const char *vta_opcode_name(int64_t opcode);
const char *vta_memory_name(int64_t memory);
const char *vta_alu_op_name(int64_t alu_op);
const char *vta_rounding_name(int64_t rounding);
const char *vta_row_name(int64_t function);
const char *vta_row_form_name(int64_t form);
const char *vta_unit_name(vta_unit unit);
const char *vta_error_text(vta_error error);

/* The instruction table itself, for tools that print it. */
typedef struct vta_field_info {
    const char *format, *member, *lsb_text, *width_text, *doc;
    char sign;           /* U S B X, as in isa.def */
    uint32_t lsb, width; /* under the configuration asked for */
    uint32_t offset;     /* of the member in vta_insn */
} vta_field_info;

/* Fills `out` (room for VTA_FIELD_COUNT rows) with the table under this configuration; returns the number of
 * rows. */
enum {
#define VTA_FIELD(format, member, lsb, width, sign, doc) VTA_FIELD_ROW_##format##_##member,
#include "vta/isa.def"
    VTA_FIELD_COUNT
};
uint32_t vta_isa_fields(const vta_config *config, vta_field_info *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
