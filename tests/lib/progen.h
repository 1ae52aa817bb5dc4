/* SPDX-License-Identifier: Apache-2.0
 *
 * Random legal programs: a configuration and a seed give instructions, an image of DRAM and the segment
 * bases.
 *
 * Legal by construction: every instruction is walked step by step before it is taken, so that nothing
 * unwritten is read and nothing leaves its memory; accesses of two units to one place are ordered by tokens,
 * as loosely as vector clocks allow. All segments lie in one block of memory, the arena, so that a device
 * needs two allocations.
 */
#ifndef VTA_TEST_PROGEN_H
#define VTA_TEST_PROGEN_H

#include "vta/launch.h"
#include "vta/program.h"

/* Features that a program can have. `progen_features` counts them from the bits alone. */
#define PROGEN_FEATURES(X)                                                                                   \
    X(LOAD_UOP, "load uop")                                                                                  \
    X(LOAD_WGT, "load wgt")                                                                                  \
    X(LOAD_WGT4, "load wgt4")                                                                                \
    X(LOAD_INP, "load inp")                                                                                  \
    X(LOAD_ACC, "load acc")                                                                                  \
    X(LOAD_ACC8, "load acc8")                                                                                \
    X(LOAD_TAB, "load tab")                                                                                  \
    X(STORE, "store")                                                                                        \
    X(PAD_LEFT, "left pad alone")                                                                            \
    X(PAD_RIGHT, "right pad alone")                                                                          \
    X(PAD_ABOVE, "pad rows above alone")                                                                     \
    X(PAD_BELOW, "pad rows below alone")                                                                     \
    X(PAD_ASYMMETRIC, "pads on all sides, all different")                                                    \
    X(PAD_15, "a pad of 15")                                                                                 \
    X(PAD_POSITIVE, "a positive pad value")                                                                  \
    X(PAD_NEGATIVE, "a negative pad value")                                                                  \
    X(PAD_ROWS_ONLY, "a load with y_size 0")                                                                 \
    X(LOAD_MERGED, "a load whose rows are contiguous")                                                       \
    X(LOAD_STRIDED, "a load whose rows have gaps")                                                           \
    X(LOAD_OVERLAPPING, "a load whose rows overlap")                                                         \
    X(LOAD_REPEATED, "a load of the same row again and again")                                               \
    X(LOAD_LONG, "a load of 4 KiB or more")                                                                  \
    X(LOAD_CROSSING, "a row that crosses a 4 KiB boundary of its segment")                                   \
    X(STORE_STRIDED, "a store whose rows have gaps")                                                         \
    X(STORE_EMPTY, "a store with y_size 0")                                                                  \
    X(SEGMENT_HIGH, "segment 7")                                                                             \
    X(NOP_LOAD, "a nop of the load unit")                                                                    \
    X(NOP_COMPUTE, "a nop of the compute unit")                                                              \
    X(NOP_STORE, "a nop of the store unit")                                                                  \
    X(GEMM, "gemm")                                                                                          \
    X(GEMM_RESET, "gemm with reset")                                                                         \
    X(GEMM_INIT, "gemm with init")                                                                           \
    X(GEMM_ZERO, "gemm without a step")                                                                      \
    X(ALU_MIN, "alu min")                                                                                    \
    X(ALU_MAX, "alu max")                                                                                    \
    X(ALU_ADD, "alu add")                                                                                    \
    X(ALU_SHR, "alu shr")                                                                                    \
    X(ALU_MUL, "alu mul")                                                                                    \
    X(ALU_CLIP, "alu clip")                                                                                  \
    X(ALU_MOV, "alu mov")                                                                                    \
    X(ALU_MIN_IMM, "alu min, immediate")                                                                     \
    X(ALU_MAX_IMM, "alu max, immediate")                                                                     \
    X(ALU_ADD_IMM, "alu add, immediate")                                                                     \
    X(ALU_SHR_IMM, "alu shr, immediate")                                                                     \
    X(ALU_MUL_IMM, "alu mul, immediate")                                                                     \
    X(ALU_CLIP_IMM, "alu clip, immediate")                                                                   \
    X(ALU_MOV_IMM, "alu mov, immediate")                                                                     \
    X(ALU_SHL_IMM, "alu shr, negative immediate")                                                            \
    X(ALU_IN_PLACE, "alu, immediate, of dst")                                                                \
    X(ALU_FROM_SRC, "alu, immediate, of src")                                                                \
    X(ALU_IMM_LOWEST, "the immediate -32768")                                                                \
    X(ALU_IMM_HIGHEST, "the immediate 32767")                                                                \
    X(ROW_MIN, "alu row_min")                                                                                \
    X(ROW_MAX, "alu row_max")                                                                                \
    X(ROW_ADD, "alu row_add")                                                                                \
    X(ROW_MOV, "alu row_mov")                                                                                \
    X(ROW_EXP2, "alu exp2")                                                                                  \
    X(ROW_ROOT, "alu root")                                                                                  \
    X(ROW_RECIP, "alu recip")                                                                                \
    X(ROW_RECIP_ROOT, "alu recip_root")                                                                      \
    X(ROW_FORM_SCALE, "a reciprocal as a scale word")                                                        \
    X(ROW_FORM_MULTIPLIER, "a reciprocal's multiplier")                                                      \
    X(ROW_FORM_SHIFT, "a reciprocal's shift")                                                                \
    X(ROW_FAR, "a function on the lanes that are farthest apart")                                            \
    X(ROW_PLACES, "a reciprocal with places")                                                                \
    X(ALU_IGNORED, "alu with the ignored bit set")                                                           \
    X(ALU_ZERO, "alu without a step")                                                                        \
    X(REQUANT, "requant")                                                                                    \
    X(REQUANT_NEST, "requant with both loops")                                                               \
    X(REQUANT_ZERO, "requant without a step")                                                                \
    X(REQUANT_EXTREMES, "requant to the whole of int8")                                                      \
    X(REQUANT_UP, "requant, rounding up")                                                                    \
    X(REQUANT_TWICE_UP, "requant, rounding twice, up")                                                       \
    X(REQUANT_TWICE_OUT, "requant, rounding twice, out")                                                     \
    X(REQUANT_WIDE, "requant, wide")                                                                         \
    X(REQUANT_TABLE_0, "requant through table 0")                                                            \
    X(REQUANT_TABLE_1, "requant through table 1")                                                            \
    X(REQUANT_POINT, "requant with low = high")                                                              \
    X(REQUANT_INP, "requant to inp")                                                                         \
    X(REQUANT_PART, "requant to the second part of input tiles")                                             \
    X(REQUANT_HIGH, "requant to an input entry that a micro-op cannot name")                                 \
    X(REQUANT_LONG, "requant with long results")                                                             \
    X(REQUANT_LONG_WIDE, "requant with long results, wide")                                                  \
    X(REQUANT_BY_ROW, "requant by row")                                                                      \
    X(REQUANT_BY_ROW_WIDE, "requant by row, wide")                                                           \
    X(REQUANT_BY_ROW_LONG, "requant by row with long results")                                               \
    X(REQUANT_BY_ROW_INP, "requant by row to inp")                                                           \
    X(DEPTHWISE, "depthwise")                                                                                \
    X(DEPTHWISE_INIT, "depthwise with init")                                                                 \
    X(DEPTHWISE_3X3, "depthwise, 3 x 3 taps")                                                                \
    X(DEPTHWISE_ROW, "depthwise, one row of taps")                                                           \
    X(DEPTHWISE_COLUMN, "depthwise, one column of taps")                                                     \
    X(DEPTHWISE_EMPTY, "depthwise without taps")                                                             \
    X(DEPTHWISE_GROUP, "depthwise, second group")                                                            \
    X(DEPTHWISE_ZERO, "depthwise without a step")                                                            \
    X(NEST_BOTH, "a nest with both loops")                                                                   \
    X(NEST_STILL, "a loop with factors 0")                                                                   \
    X(NEST_LONG, "a nest of more than 100 steps")                                                            \
    X(UOP_RELOADED, "micro-ops loaded after a compute instruction")                                          \
    X(TOKENS_BOTH, "a compute instruction that pops and pushes both ways")                                   \
    X(FINISH_GARBAGE, "finish with ignored bits set")                                                        \
    X(FINISH_POPS, "finish takes a token")

enum {
#define PROGEN_FEATURE(id, doc) PROGEN_##id,
    PROGEN_FEATURES(PROGEN_FEATURE)
#undef PROGEN_FEATURE
        PROGEN_FEATURE_COUNT
};

extern const char *const progen_feature_names[PROGEN_FEATURE_COUNT];

/* A way to draw the bytes of a segment. */
typedef enum progen_style {
    PROGEN_UNUSED,
    PROGEN_UOPS,   /* fixed by the program */
    PROGEN_PARAMS, /* pairs of accumulator entries: biases, scales */
    PROGEN_DATA    /* anything; STORE writes here */
} progen_style;

typedef struct progen_segment {
    progen_style style;
    uint64_t offset, size; /* in the arena; multiples of 64 */
} progen_segment;

typedef struct progen_program {
    vta_config config;
    uint64_t seed;
    vta_word *insns;
    uint32_t insn_count;
    progen_segment segments[VTA_SEGMENTS];
    uint64_t arena_size;
    uint32_t *uops; /* contents of the segment of style PROGEN_UOPS */
} progen_program;

/* Makes the program of `seed`, of about `length` instructions (at least FINISH). */
vta_status progen_make(const vta_config *config, uint64_t seed, uint32_t length, progen_program *out,
                       vta_diag *diag);
void progen_free(progen_program *program);

/* A deep copy. */
vta_status progen_copy(const progen_program *from, progen_program *out);

/* Fills `arena` (arena_size bytes) with the initial contents that belong to `data_seed`; micro-ops stay what
 * they are. */
void progen_fill(const progen_program *program, uint64_t data_seed, uint8_t *arena);

/* The launch, once instructions and arena have addresses (multiples of 64). */
vta_launch progen_launch(const progen_program *program, uint64_t insn_addr, uint64_t arena_addr);

/* Adds to `counts` (PROGEN_FEATURE_COUNT places) what the program contains. */
void progen_features(const progen_program *program, uint64_t *counts);

/* The same program as the assembler's program value, with a symbol for each segment. vta_program_free()
 * releases it. */
vta_status progen_export(const progen_program *program, uint64_t data_seed, vta_program *out);

#endif
