/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions on rows (ISA.md §7): ALU operation 7. A batch row of an entry is read whole before its result
 * is written, so that an entry may be its own source.
 */
#include <string.h>

#include "fsim_internal.h"
#include "vta/rows.h"

enum { MAX_LANES = 64 }; /* of a batch row: the largest block_out */

/* A function on one batch row: `to` holds x and takes the result, `from` holds s. */
typedef void row_fn(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row);

/* The lanes of `from`, each 2^places before its own place. */
static void rotate(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    const uint32_t far = 1U << row.places;
    memcpy(to, from + far, (lanes - far) * sizeof *to);
    memcpy(to + (lanes - far), from, far * sizeof *to);
}

static void row_min(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    int32_t y[MAX_LANES];
    rotate(y, from, lanes, row);
    for (uint32_t o = 0; o < lanes; o++) {
        to[o] = to[o] < y[o] ? to[o] : y[o];
    }
}

static void row_max(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    int32_t y[MAX_LANES];
    rotate(y, from, lanes, row);
    for (uint32_t o = 0; o < lanes; o++) {
        to[o] = to[o] > y[o] ? to[o] : y[o];
    }
}

static void row_add(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    int32_t y[MAX_LANES];
    rotate(y, from, lanes, row);
    for (uint32_t o = 0; o < lanes; o++) {
        to[o] = (int32_t)((uint32_t)to[o] + (uint32_t)y[o]);
    }
}

static void row_mov(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    int32_t y[MAX_LANES];
    rotate(y, from, lanes, row);
    memcpy(to, y, lanes * sizeof *to);
}

static void row_exp2(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    (void)row;
    for (uint32_t o = 0; o < lanes; o++) {
        to[o] = vta_row_exp2(from[o]);
    }
}

static void fill_lanes(int32_t *to, uint32_t lanes, uint32_t value)
{
    for (uint32_t o = 0; o < lanes; o++) {
        to[o] = (int32_t)value;
    }
}

static void row_root(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    (void)row;
    fill_lanes(to, lanes, vta_row_root(from[0]));
}

/* The form that the row names, in all lanes. */
static void put_reciprocal(int32_t *to, uint32_t lanes, vta_row row, vta_reciprocal value)
{
    const uint32_t shift = value.shift > row.places ? value.shift - row.places : 0;
    const uint32_t forms[VTA_ROW_FORM_COUNT] = {[VTA_ROW_FORM_SCALE] = value.mult | shift << 24,
                                                [VTA_ROW_FORM_MULTIPLIER] = value.mult,
                                                [VTA_ROW_FORM_SHIFT] = shift};
    fill_lanes(to, lanes, forms[row.form]);
}

static void row_recip(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    put_reciprocal(to, lanes, row, vta_row_recip(from[0]));
}

static void row_recip_root(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    put_reciprocal(to, lanes, row, vta_row_recip_root((uint32_t)from[0]));
}

void vta_fsim_run_row(const vta_fsim *f, const fsim_steps *steps, const void *argument)
{
    static row_fn *const functions[VTA_ROW_COUNT] = {
        [VTA_ROW_MIN] = row_min,     [VTA_ROW_MAX] = row_max,
        [VTA_ROW_ADD] = row_add,     [VTA_ROW_MOV] = row_mov,
        [VTA_ROW_EXP2] = row_exp2,   [VTA_ROW_ROOT] = row_root,
        [VTA_ROW_RECIP] = row_recip, [VTA_ROW_RECIP_ROOT] = row_recip_root};
    const vta_row *row = argument;
    const fsim_memory *m = &f->mem;
    row_fn *const function = functions[row->function];
    const size_t entry = (size_t)m->batch * m->out;
    for (uint32_t s = 0; s < steps->count; s++) {
        const size_t dst = (steps->dst[s] + steps->dst0) * entry;
        const size_t src = (steps->src[s] + steps->src0) * entry;
        for (size_t lane = 0; lane < entry; lane += m->out) {
            function(m->acc + dst + lane, m->acc + src + lane, m->out, *row);
        }
        for (size_t lane = 0; lane < entry; lane++) {
            m->out8[dst + lane] = (int8_t)m->acc[dst + lane];
        }
    }
}
