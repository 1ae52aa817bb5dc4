/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions on rows (ISA.md §7): ALU operation 7. A batch row of an entry is read whole before its result
 * is written, so that an entry may be its own source.
 */
#include <string.h>

#include "fsim_internal.h"

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

static const uint16_t exp2_hi[] = {
#define VTA_EXP2(n, hi, lo) [(n)] = (hi),
#include "vta/exp2.def"
#undef VTA_EXP2
};
static const uint16_t exp2_lo[] = {
#define VTA_EXP2(n, hi, lo) [(n)] = (lo),
#include "vta/exp2.def"
#undef VTA_EXP2
};

static void row_exp2(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    enum { FRACTION = 12, LOW = 6 };
    (void)row;
    for (uint32_t o = 0; o < lanes; o++) {
        const int32_t s = from[o] < 0 ? from[o] : 0;
        const uint32_t f = (uint32_t)s & ((1U << FRACTION) - 1);
        const uint32_t places = 14U + (uint32_t) - (s >> FRACTION);
        const uint32_t shift = places < 63 ? places : 63;
        const uint64_t product = (uint64_t)exp2_hi[f >> LOW] * exp2_lo[f & ((1U << LOW) - 1)];
        const uint64_t below_half = (UINT64_C(1) << (shift - 1)) - 1;
        to[o] = (int32_t)((product + below_half + (product >> shift & 1)) >> shift);
    }
}

/* The largest m with m² <= value. */
static uint32_t root_of(uint32_t value)
{
    uint32_t m = 0;
    for (uint32_t bit = 1U << 15; bit != 0; bit >>= 1) {
        const uint64_t more = m | bit;
        m = more * more <= value ? (uint32_t)more : m;
    }
    return m;
}

static void fill_lanes(int32_t *to, uint32_t lanes, uint32_t value)
{
    for (uint32_t o = 0; o < lanes; o++) {
        to[o] = (int32_t)value;
    }
}

/* The zeros above the highest bit of a number from 1 on. */
static uint32_t leading_zeros(uint32_t value)
{
    uint32_t count = 0;
    while ((value << count >> 31) == 0) {
        count++;
    }
    return count;
}

static void row_root(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    const uint32_t v = from[0] > 0 ? (uint32_t)from[0] : 1;
    const uint32_t half = leading_zeros(v) / 2;
    (void)row;
    fill_lanes(to, lanes, root_of(v << 2 * half) | half << 24);
}

/* The reciprocal of w, which has 18 bits with the highest one set, in all lanes. */
static void put_reciprocal(int32_t *to, uint32_t lanes, vta_row row, uint32_t w, uint32_t places)
{
    const uint32_t q = (uint32_t)(((UINT64_C(1) << 33) - 1) / w);
    const uint32_t shift = places > row.places ? places - row.places : 0;
    const uint32_t forms[VTA_ROW_FORM_COUNT] = {
        [VTA_ROW_FORM_SCALE] = q | shift << 24, [VTA_ROW_FORM_MULTIPLIER] = q, [VTA_ROW_FORM_SHIFT] = shift};
    fill_lanes(to, lanes, forms[row.form]);
}

static void row_recip(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    const uint32_t v = from[0] > 0 ? (uint32_t)from[0] : 1;
    const uint32_t k = leading_zeros(v);
    put_reciprocal(to, lanes, row, v << k >> 14, 47 - k);
}

static void row_recip_root(int32_t *to, const int32_t *from, uint32_t lanes, vta_row row)
{
    const uint32_t root = (uint32_t)from[0];
    const uint32_t m = (root & 0xffff) | 0x8000;
    const uint32_t h = root >> 24 & 63;
    put_reciprocal(to, lanes, row, 4 * m, h < 31 ? 31 - h : 0);
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
