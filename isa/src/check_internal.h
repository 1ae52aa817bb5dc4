/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker from the inside. Two passes over a program:
 *
 *   check_static.c      in program order, each instruction for itself: encoding, place of FINISH,
 *                       scratchpad and DRAM ranges
 *   check_walk.c        in an order that a machine could take, by tokens and queues: deadlock, left-over
 *                       tokens; on the way
 *     check_plan.c    what a loop nest touches, and whether that is in range, from its micro-ops
 *     check_sets.c    the same as sets of entries, computed once for equal instructions
 *     check_first.c   which entries a nest reads before it writes them itself
 *     check_sram.c    scratchpads: who wrote and read each entry last; reads of what was never written
 *     check_dram.c    the same for DRAM that the program stores to
 *
 * Order between units is known by vector clocks: an instruction's time is its place among its unit's
 * instructions, from 1; what a unit knows of another is the time up to which the other's accesses have
 * happened before its own.
 */
#ifndef VTA_CHECK_INTERNAL_H
#define VTA_CHECK_INTERNAL_H

#include "codec_internal.h"
#include "vta/check.h"

/* Number of instructions that each unit is known to have done; indexed by unit, FETCH unused. */
typedef struct vta_clock {
    uint32_t time[VTA_UNIT_COUNT];
} vta_clock;

/* An instruction on its way through a unit. */
typedef struct check_step {
    uint32_t index; /* in the program */
    vta_unit unit;
    const vta_clock *known; /* its own time included */
    vta_insn insn;
    vta_word word;
} check_step;

typedef struct checker {
    const vta_config *config;
    const vta_launch *launch;
    const vta_bus *bus;
    vta_diag *diag;
    vta_violation violation;

    const uint8_t *program; /* the instructions in memory, or NULL where they have no one place */
    uint32_t limit;         /* only instructions below are walked */
    uint8_t *flags;         /* unit and token flags of each instruction, packed by check_static.c */
    uint32_t *members;      /* instructions by unit, in program order */
    uint32_t *of_unit[VTA_UNIT_COUNT]; /* each unit's part of `members` */
    uint32_t count[VTA_UNIT_COUNT];    /* of each part */

    struct check_sram *sram;
    struct check_sets *sets;
    struct check_dram *dram;
} checker;

/* Records the violation and its sentence, "instruction 7 (gemm): " in front; returns VTA_ILLEGAL_PROGRAM. */
__attribute__((format(printf, 7, 8))) vta_status vta_check_report(checker *c, uint32_t index, vta_error error,
                                                                  const char *field, int64_t value,
                                                                  int64_t bound, const char *fmt, ...);
vta_status vta_check_no_memory(checker *c);

/* The word of an instruction; false where memory refuses it. */
bool vta_check_fetch(const checker *c, uint32_t index, vta_word *word);

/* "load" for an instruction that has been fetched before. */
const char *vta_check_name(const checker *c, uint32_t index);

/* ---- check_static.c ---- */

/* Flags of an instruction as `flags` holds them. */
enum {
    CHECK_UNIT = 3, /* mask of the vta_unit */
    CHECK_POP_PREV = 4,
    CHECK_POP_NEXT = 8,
    CHECK_PUSH_PREV = 16,
    CHECK_PUSH_NEXT = 32
};

/* Checks each instruction for itself, up to the first violation, which becomes the limit. */
vta_status vta_check_static(checker *c);

/* The DRAM side of a LOAD or STORE: `count` rows of `bytes` bytes, `step` bytes apart; adjoining rows are
 * one. */
typedef struct check_rows {
    uint64_t addr, bytes, step;
    uint32_t count;
} check_rows;
check_rows vta_check_rows_of(const checker *c, const vta_insn *insn);

/* ---- check_walk.c ---- */
vta_status vta_check_walk(checker *c);

/* ---- check_plan.c ---- */

/* Offsets {sum of i[n] * step[n], i[n] < count[n]} that are added to an index of a micro-op. */
enum { CHECK_LOOPS = 4 };
typedef struct check_nest {
    uint32_t count[CHECK_LOOPS], step[CHECK_LOOPS];
} check_nest;

/* Scratchpad accesses of one GEMM, ALU, REQUANT or DEPTHWISE. */
typedef struct check_plan {
    const char *uop_field;
    uint32_t uop_begin, uop_end; /* equal: nothing is done */
    check_nest dst, src, wgt;    /* wgt has no steps in DEPTHWISE */
    bool reads_dst;              /* before it is written */
    bool uses_src, reads_src;    /* in range; its contents matter */
    bool src_is_inp;
    bool dst_is_inp;         /* and neither ACC nor OUT */
    uint32_t dst_base, part; /* then: added to the micro-op's dst; the part of each entry that is written */
    bool uses_wgt;
    uint32_t params, log_record; /* REQUANT's parameters: entries read from aux · 2^log_record on; 0: none */
    uint32_t records; /* how many of them: more than one is read, each by its pass of the outer loop */
    uint32_t table;   /* 0, or one more than the table that it reads */
} check_plan;

check_plan vta_check_plan_of(const checker *c, const vta_insn *insn);

/* Ranges of the micro-ops themselves. Static: uses no contents. */
vta_status vta_check_plan_uops(checker *c, uint32_t index, const check_plan *plan);

/* Ranges of everything that the micro-ops name. */
vta_status vta_check_plan_ranges(checker *c, uint32_t index, const check_plan *plan, const uint32_t *uops);

uint64_t vta_check_nest_reach(const check_nest *loops);

/* ---- check_sets.c ---- */

enum { CHECK_WORDS = 8192 / 64, CHECK_ACC_WORDS = 2048 / 64 };

typedef struct check_span {
    uint16_t first, count;
} check_span;

typedef struct check_spans {
    check_span *spans;
    uint32_t count;
} check_spans;

/* The entries that one instruction touches. */
typedef struct check_set {
    vta_word key;
    uint32_t *uops; /* the micro-ops that it was computed from */
    uint32_t uop_count;
    uint64_t version;                     /* of the micro-op scratchpad, when last compared */
    uint64_t acc_before[CHECK_ACC_WORDS]; /* read before the instruction writes them */
    uint64_t acc_during[CHECK_ACC_WORDS]; /* read, perhaps after the instruction has written them */
    uint64_t acc_write[CHECK_ACC_WORDS];
    check_spans inp, wgt, out; /* read, read, written */
    check_spans inp_write;
} check_set;

vta_status vta_check_sets_create(checker *c);
void vta_check_sets_destroy(struct check_sets *sets);

/* The set of a compute instruction, checked for range; borrowed until the next call. */
vta_status vta_check_sets_get(checker *c, const check_step *step, const check_plan *plan,
                              const uint32_t *uops, uint64_t version, const check_set **out);

/* ---- check_first.c ---- */

/* The first entry of `suspects` that the nest reads before it has written it itself, or UINT32_MAX. */
vta_status vta_check_first_unwritten(checker *c, const check_plan *plan, const uint32_t *uops,
                                     const uint64_t *suspects, uint32_t *entry);

/* ---- check_sram.c ---- */
vta_status vta_check_sram_create(checker *c);
void vta_check_sram_destroy(struct check_sram *sram);

/* Checks what the instruction does to scratchpads, and records it. */
vta_status vta_check_sram_step(checker *c, const check_step *step);

/* ---- check_dram.c ---- */
vta_status vta_check_dram_create(checker *c);
void vta_check_dram_destroy(struct check_dram *dram);

/* Announces a STORE, and refuses one into the program: only DRAM that is stored to at some time is watched.
 */
vta_status vta_check_dram_expect(checker *c, uint32_t index, const vta_insn *store);

/* Checks a LOAD's or STORE's DRAM accesses against those of other units, and records them. */
vta_status vta_check_dram_step(checker *c, const check_step *step);

#endif
