/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run counts without a clock, by ISA.md §12.
 */
#include "interp_count.h"

enum { UOP, WGT, INP, ACC, OUT, ACC8, TAB, WGT4 };

static uint64_t *bytes_of(vta_counters *c, int64_t memory)
{
    switch (memory) {
    case UOP:
    case TAB: return &c->uop_bytes;
    case WGT:
    case WGT4: return &c->wgt_bytes;
    case INP: return &c->inp_bytes;
    case OUT: return &c->out_bytes;
    default: return &c->acc_bytes;
    }
}

static uint64_t element_bytes(const vta_config *config, int64_t memory)
{
    const uint64_t in = config->block_in, out = config->block_out, batch = config->batch;
    switch (memory) {
    case UOP:
    case TAB: return 4;
    case WGT: return in * out;
    case WGT4: return in * out / 2;
    case INP: return batch * in;
    case ACC: return 4 * batch * out;
    default: return batch * out;
    }
}

/* Columns of each window row that an output leaves out when it follows another in the inner loop: those of
 * windows of up to three columns (two, if a weight entry has four rows) that coincide with its predecessor's.
 */
static int64_t shared_columns(const vta_config *config, const interp_insn *x)
{
    int64_t shared = 0;
    const int64_t kept = config->depthwise_taps < 3 ? 1 : config->block_out < 8 ? 2 : 3;
    if (x->taps_x > kept) {
        return 0;
    }
    for (int64_t back = 1; back < x->taps_x; back++) {
        const int64_t steps = (x->taps_x - back) * x->col_step; /* `back` columns coincide */
        shared = steps == x->src_in ? back : shared;
    }
    return shared;
}

/* Rows of a window that are taken together. */
static int64_t rows_at_once(const vta_config *config, const interp_insn *x)
{
    const int64_t larger = config->block_in > config->block_out ? config->block_in : config->block_out;
    const bool able =
        config->depthwise_taps == 9 && config->block_out >= 16 && (config->array_pump == 1 || larger >= 32);
    return able && x->taps_x == 3 && x->taps_y == 3 && x->row_step % 2 == 1 ? 3 : 1;
}

/* Input columns of one row of outputs, the inner loop's. */
static uint64_t window_columns(const vta_config *config, const interp_insn *x)
{
    uint64_t taken = 0;
    for (int64_t j = 0; j < x->iter_in; j++) {
        const int64_t columns = x->taps_x - (j > 0 ? shared_columns(config, x) : 0);
        taken += (uint64_t)(x->taps_x * x->taps_y > 0 ? columns * x->taps_y / rows_at_once(config, x) : 1);
    }
    return taken;
}

static void count_compute(const vta_config *config, const interp_insn *x, vta_counters *c)
{
    const uint64_t uops = x->uop_end > x->uop_begin ? (uint64_t)(x->uop_end - x->uop_begin) : 0;
    const uint64_t nest = (uint64_t)x->iter_out * (uint64_t)x->iter_in;
    switch (x->opcode) {
    case 2: c->gemm_steps += nest * uops; break;
    case 4: c->alu_steps += nest * uops; break;
    case 5: c->requant_steps += nest; break;
    case 6: c->depthwise_steps += (uint64_t)x->iter_out * uops * window_columns(config, x); break;
    default: break;
    }
}

void interp_count(const vta_config *config, const interp_insn *x, vta_counters *c)
{
    const bool store = x->opcode == 1;
    const bool load_unit = x->opcode == 0 && (x->memory == INP || x->memory == WGT || x->memory == WGT4);
    c->fetch_insns++;
    c->fetch_bytes += 16;
    *(store ? &c->store_insns : load_unit ? &c->load_insns : &c->compute_insns) += 1;
    if (x->opcode <= 1) {
        const int64_t memory = store ? OUT : x->memory;
        *bytes_of(c, memory) += (uint64_t)(x->y_size * x->x_size) * element_bytes(config, memory);
    } else {
        count_compute(config, x, c);
    }
}
