/* SPDX-License-Identifier: Apache-2.0
 *
 * An instruction while it is read: what asm_insn.c (mnemonics, options, flags) needs of asm_operand.c
 * (places, extents, micro-ops, loop nests).
 */
#ifndef VTA_ASM_OPERAND_H
#define VTA_ASM_OPERAND_H

#include "asm_internal.h"

typedef struct draft {
    vta_asm *a;
    vta_insn insn;
    vta_token mnemonic;
} draft;

/* A row of isa.def. */
#define ROW(format, member) VTA_FIELD_ROW_##format##_##member

/* A word of the text and the row, or another number, that it stands for. */
typedef struct member {
    const char *name;
    int row;
} member;

/* The rows that a loop nest and a micro-op range fill; -1 where the format has none. */
typedef struct nest_rows {
    int begin, end, iter[2], dst[2], src[2], wgt[2];
} nest_rows;

/* Sets a field to a value already known; `at` is blamed if it does not fit. */
vta_status vta_draft_set(draft *d, int row, int64_t value, const vta_token *at);
/* Sets a field to the expression that follows. */
vta_status vta_draft_read(draft *d, int row);

/* KERNEL, KERNEL[i], KERNEL[i..j], or scratchpad entries: i, i..j */
vta_status vta_draft_micro_ops(draft *d, const nest_rows *rows);
/* [: OUTER [(steps)] [x INNER [(steps)]]] */
vta_status vta_draft_nest(draft *d, const nest_rows *rows);
/* A kernel's entries in the scratchpad, as [*begin, *end). */
vta_status vta_draft_kernel(draft *d, const vta_name *kernel, const vta_token *at, int64_t *begin,
                            int64_t *end);

/* NAME [+ elements], @SEGMENT [+ elements], or elements of segment 0. *whole is the rest of the symbol, or
 * -1. */
vta_status vta_draft_dram(draft *d, int64_t *whole);
/* WIDTH [x HEIGHT], or the rest of the symbol. */
vta_status vta_draft_extent(draft *d, int64_t whole, const vta_token *at);
/* pad N, or pad (top N, bottom N, left N, right N) */
vta_status vta_draft_pad(draft *d);

#endif
