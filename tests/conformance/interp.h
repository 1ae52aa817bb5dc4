/* SPDX-License-Identifier: Apache-2.0
 *
 * The ISA once more, plain and slow: the reference that simulators are compared with. Written from ISA.md
 * alone; it shares no code with the codec, the checker or fsim, and repeats the bit positions on purpose.
 *
 * Units run interleaved, step by step, in an order drawn from a seed: a program whose result depends on the
 * order gives different results for different seeds. Reads of unwritten entries and deadlocks are errors.
 */
#ifndef VTA_TEST_INTERP_H
#define VTA_TEST_INTERP_H

#include "vta/launch.h"

/* An instruction as ISA.md's tables give it; fields that its format lacks are 0. */
typedef struct interp_insn {
    int64_t opcode, pop_prev, pop_next, push_prev, push_next;
    int64_t memory, sram_base, segment, dram_base, pad_value;
    int64_t y_size, x_size, x_stride, y_pad_0, y_pad_1, x_pad_0, x_pad_1;
    int64_t reset, ignored, uop_begin, uop_end, iter_out, iter_in, init;
    int64_t dst_out, dst_in, src_out, src_in, wgt_out, wgt_in;
    int64_t alu_op, use_imm, from_src, imm;
    int64_t uop, zero_point, low, high, rounding, wide, table, to_inp, part, dst_high;
    int64_t long_result, by_row;
    int64_t taps_x, taps_y, col_step, row_step, group;
    uint64_t ignored_low, ignored_high;
} interp_insn;

typedef struct interp_uop {
    int64_t dst, src, aux;
} interp_uop;

/* Events that depend on data and on time rather than on the program: counted, so that a test can show that it
 * was met. */
#define INTERP_EVENTS(X)                                                                                     \
    X(ROUND_TIE_TO_EVEN_DOWN, "requant: a tie rounded down")                                                 \
    X(ROUND_TIE_TO_EVEN_UP, "requant: a tie rounded up")                                                     \
    X(ROUND_UP, "requant: a fraction above one half")                                                        \
    X(ROUND_TIE_UP, "requant: a tie rounded up because ties go there")                                       \
    X(ROUND_TIE_OUT, "requant: a negative tie rounded away from zero")                                       \
    X(ROUNDED_TWICE, "requant: a result that one rounding would not have given")                             \
    X(CLIPPED_LOW, "requant: clipped at low")                                                                \
    X(CLIPPED_HIGH, "requant: clipped at high")                                                              \
    X(NOT_CLIPPED, "requant: a result strictly inside")                                                      \
    X(SHIFT_63, "requant: a shift of 63")                                                                    \
    X(INP_BY_PARTS, "an input tile read whose parts requant has written one by one")                         \
    X(ACC_WRAPPED, "gemm or depthwise: the sum wrapped")                                                     \
    X(ALU_WRAPPED, "alu: a sum or product wrapped")                                                          \
    X(SHIFT_CLAMPED, "alu: a lane's shift amount clamped")                                                   \
    X(SHIFTED_LEFT, "alu: a lane shifted left")                                                              \
    X(CLIP_NEGATIVE, "alu: clip with a negative bound")                                                      \
    X(ROW_BELOW_ONE, "a root or reciprocal of what is below 1")                                              \
    X(EXP2_CAPPED, "exp2 of a positive number")                                                              \
    X(EXP2_ZERO, "exp2: a result of 0")                                                                      \
    X(EXP2_BETWEEN, "exp2: a result between 0 and 65536")                                                    \
    X(LONG_CLIPPED, "requant: a long result clipped")                                                        \
    X(LONG_WIDE, "requant: a long result that a byte does not hold")                                         \
    X(RECORD_MADE, "requant: a record that an earlier pass of the same instruction has written")             \
    X(OUT_TRUNCATED, "a result that does not fit OUT")                                                       \
    X(WAITED_FOR_TOKEN, "an instruction waited for a token")                                                 \
    X(WAITED_TO_PUSH, "a push waited for room")                                                              \
    X(WAITED_TO_FETCH, "fetch waited for a full queue")                                                      \
    X(OVERLAPPED, "two units had an instruction in work at once")                                            \
    X(POPPED_BEFORE_PUSHED, "a pop stands before its push in the program")

enum {
#define INTERP_EVENT(id, doc) INTERP_##id,
    INTERP_EVENTS(INTERP_EVENT)
#undef INTERP_EVENT
        INTERP_EVENT_COUNT
};

extern const char *const interp_event_names[INTERP_EVENT_COUNT];

/* Decodes by ISA.md's tables: NONE, OPCODE or FIELD. */
vta_error interp_decode(const vta_config *config, const uint8_t bytes[16], interp_insn *out);
interp_uop interp_decode_uop(const vta_config *config, const uint8_t bytes[4]);

/* Runs a program to its end. `report->counters` that need a clock stay 0; `events` (room for
 * INTERP_EVENT_COUNT, NULL allowed) is added to. VTA_NOMEM is the only failure; an error of the program is in
 * the report. */
vta_status interp_run(const vta_config *config, const vta_launch *launch, const vta_bus *bus, uint64_t seed,
                      vta_report *report, uint64_t *events);

/* An upper bound of the lane operations that a run takes, for tests that must not take for ever. */
double interp_cost(const vta_config *config, const vta_launch *launch, const vta_bus *bus);

#endif
