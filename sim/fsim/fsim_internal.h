/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a functional simulator, shared by its files.
 *
 *   fsim.c      create, run: fetch, queues, tokens, errors
 *   transfer.c  LOAD, STORE
 *   nest.c      ranges and strict checks of a whole loop nest, before its steps run
 *   compute.c   GEMM, ALU, REQUANT, DEPTHWISE: from a loop nest to calls of a kernel
 *   rows.c      the ALU's functions on rows, for every kind of CPU
 *   kernel*     inner loops, one file per kind of CPU
 */
#ifndef VTA_FSIM_INTERNAL_H
#define VTA_FSIM_INTERNAL_H

#include <stdatomic.h>

#include "kernel.h"
#include "vta/fsim.h"

/* Place of a micro-op's field under this configuration. */
typedef struct fsim_uop_field {
    uint32_t lsb, mask;
} fsim_uop_field;

/* Places of the lists that are rebuilt for each instruction: all micro-ops; all steps or terms that one call
 * takes. */
enum { FSIM_UOPS = 1 << 13, FSIM_LIST = 1 << 16 };

/* An instruction that waits in the queue of its unit. */
typedef struct fsim_pending {
    vta_insn insn;
    uint32_t index;
} fsim_pending;

typedef struct fsim_unit {
    fsim_pending *ring; /* 2^LOG_QUEUE_DEPTH places */
    uint32_t head, count;
    uint32_t *push[2]; /* counters of tokens that the last instruction still has to give */
    uint32_t pushes;
    uint32_t pushing; /* the index of that instruction */
} fsim_unit;

struct vta_fsim {
    vta_config config;
    vta_bus bus;
    bool strict;
    const fsim_kernel *kernel;
    atomic_bool interrupted;

    fsim_memory mem;
    uint32_t *uop; /* micro-ops as they stand in DRAM */
    int8_t tab[VTA_TABLES << (VTA_LOG_TABLE_WORDS + 2)];
    uint8_t *written[VTA_MEM_COUNT]; /* strict: a byte per entry; ACC8 and WGT4 have none of their own */
    uint8_t *inp_parts; /* strict: of each INP entry, a bit for each part that REQUANT has written */
    fsim_uop_field uop_dst, uop_src, uop_aux;

    fsim_unit units[VTA_UNIT_COUNT];
    uint32_t tokens[VTA_QUEUE_COUNT];

    const vta_launch *launch; /* of the run in work */
    const uint8_t *program;   /* the whole program, NULL where it is not in one piece */
    uint32_t fetched;
    bool finished;
    vta_report *report;

    /* Scratch. */
    uint32_t *dst, *src, *aux; /* the fields of the instruction's micro-ops; FSIM_UOPS places */
    uint32_t *list[4];         /* FSIM_LIST places */
};

/* Has somebody asked for the end of this run? */
static inline bool fsim_stopped(const vta_fsim *f)
{
    return atomic_load_explicit(&f->interrupted, memory_order_relaxed);
}

/* Creates with the named kernel, for tests and benchmarks; NULL: the best. UNSUPPORTED if this CPU or build
 * has none such. */
vta_status vta_fsim_create_kernel(const vta_config *config, const vta_bus *bus, bool strict,
                                  const char *kernel, vta_fsim **out, vta_diag *diag);

vta_error vta_fsim_load(vta_fsim *f, const vta_insn *insn);
vta_error vta_fsim_store(vta_fsim *f, const vta_insn *insn);
vta_error vta_fsim_gemm(vta_fsim *f, const vta_insn *insn);
vta_error vta_fsim_alu(vta_fsim *f, const vta_insn *insn);
vta_error vta_fsim_requant(vta_fsim *f, const vta_insn *insn);
vta_error vta_fsim_depthwise(vta_fsim *f, const vta_insn *insn);

/* A list of steps of ALU operation 7; `argument` is the vta_row. */
void vta_fsim_run_row(const vta_fsim *f, const fsim_steps *steps, const void *argument);

/* Are all of [first, first + count) written? True when nothing is tracked. */
bool vta_fsim_written(const vta_fsim *f, vta_memory memory, uint32_t first, uint32_t count);
void vta_fsim_set_written(vta_fsim *f, vta_memory memory, uint32_t first, uint32_t count);

/* A loop nest as all compute instructions have it, its micro-ops decoded into f->dst, f->src, f->aux. */
typedef struct fsim_nest {
    uint32_t iter_out, iter_in, uops;
    uint32_t dst_out, dst_in, src_out, src_in, aux_out, aux_in;
} fsim_nest;

/* Decodes micro-ops [begin, end) into the lists. UOP_RANGE, or UNWRITTEN in strict simulation. */
vta_error vta_fsim_decode_uops(vta_fsim *f, uint32_t begin, uint32_t end);

/* The largest index that list + i·out + j·in reaches; the nest has at least one step. */
uint64_t vta_fsim_reach(const fsim_nest *nest, const uint32_t *list, uint32_t out, uint32_t in);

/* Strict simulation: is everything written that list + i·out + j·in + offset names? */
bool vta_fsim_nest_written(const vta_fsim *f, const fsim_nest *nest, vta_memory memory, const uint32_t *list,
                           uint32_t out, uint32_t in, uint32_t offset);

/* Strict simulation: notes that every dst of the nest is written, in ACC and in OUT. */
void vta_fsim_nest_write(vta_fsim *f, const fsim_nest *nest);

/* The same for one part of INP entries: an entry is written when all its parts are. */
void vta_fsim_nest_write_inp(vta_fsim *f, const fsim_nest *nest, uint32_t part);

#endif
