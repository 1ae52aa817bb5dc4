/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run of the accelerator is, for every device alike: what goes in, what is counted, how it ended.
 */
#ifndef VTA_LAUNCH_H
#define VTA_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/isa.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* One run: a program in device memory and the bases of its DRAM segments. */
typedef struct vta_launch {
    uint64_t insn_addr; /* multiple of VTA_BASE_ALIGN */
    uint32_t insn_count;
    uint64_t base[VTA_SEGMENTS]; /* multiples of VTA_BASE_ALIGN */
} vta_launch;

/* The 64-bit counters of regs.def. Those without a clock are the same on every device (ISA.md §12); a
 * functional device leaves the others at 0. */
typedef struct vta_counters {
    uint64_t cycles;
    uint64_t fetch_insns, fetch_full, fetch_mem;
    uint64_t load_insns, load_busy, load_token, load_mem;
    uint64_t compute_insns, compute_busy, compute_token, compute_mem;
    uint64_t gemm_steps, depthwise_steps, alu_steps, requant_steps;
    uint64_t store_insns, store_busy, store_token, store_mem;
    uint64_t fetch_bytes, uop_bytes, wgt_bytes, inp_bytes, acc_bytes, out_bytes;
} vta_counters;

/* Classes of a run's cycles, as the compute unit sees them:  id, name, meaning */
#define VTA_CYCLE_CLASS_LIST(X)                                                                              \
    X(ARRAY, "array", "the array multiplies")                                                                \
    X(REQUANT, "requantize", "the requantizer works, the array does not")                                    \
    X(ALU, "alu", "the ALU works, neither of them does")                                                     \
    X(LOAD, "load", "it waits for a load")                                                                   \
    X(STORE, "store", "it waits for a store")                                                                \
    X(TOKEN, "token", "it waits for a load and a store at once")                                             \
    X(OTHER, "other", "its pipelines fill or drain")                                                         \
    X(LAUNCH, "launch", "it waits for instructions, or the run begins or ends")
typedef enum vta_cycle_class {
#define X(id, name, doc) VTA_CYCLES_##id,
    VTA_CYCLE_CLASS_LIST(X)
#undef X
        VTA_CYCLE_CLASSES
} vta_cycle_class;

/* The end of a run. */
typedef struct vta_report {
    vta_error error; /* VTA_ERROR_NONE: it ran to its FINISH */
    vta_unit unit;   /* of the error */
    uint32_t insn;   /* index of the instruction that failed */
    vta_counters counters;
} vta_report;

/* A run of the RTL as it is recorded: so many cycles in which the strobes of the units stand still, each
 * cycle in which an instruction is issued, starts or retires being a stretch of its own. `bus` is a hash of
 * what happened on the memory's port in them, and of what the memory still owes or is owed. */
typedef struct vta_stretch {
    uint32_t debug; /* VTA_DEBUG_… */
    uint32_t cycles;
    uint32_t bus;
} vta_stretch;

/* Bits of `debug`: strobes of the units, each of the first six for load, compute and store from its lowest
 * bit on. */
enum {
    VTA_DEBUG_ISSUE = 0,  /* an instruction enters the unit's queue */
    VTA_DEBUG_START = 4,  /* the unit takes its next instruction, tokens included */
    VTA_DEBUG_RETIRE = 8, /* it has finished its oldest instruction */
    VTA_DEBUG_TOKEN = 12, /* its next instruction waits for a token */
    VTA_DEBUG_MEM = 16,   /* it waits for memory */
    VTA_DEBUG_BUSY = 20,  /* it has an instruction in work */
    VTA_DEBUG_GEMM = 24,
    VTA_DEBUG_DEPTHWISE = 25,
    VTA_DEBUG_ALU = 26,
    VTA_DEBUG_REQUANT = 27,
    VTA_DEBUG_FETCH_FULL = 28,
    VTA_DEBUG_FETCH_MEM = 29,
    VTA_DEBUG_MOVES = 7 << VTA_DEBUG_ISSUE | 7 << VTA_DEBUG_START | 7 << VTA_DEBUG_RETIRE
};

/* Device memory, as a simulator or the checker sees it. `map` returns a pointer to `size` bytes at a device
 * address, good until the memory is freed, or NULL where the device has no such memory; it must not fail in
 * any other way. */
typedef struct vta_bus {
    void *(*map)(void *context, uint64_t addr, uint64_t size);
    void *context;
} vta_bus;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
