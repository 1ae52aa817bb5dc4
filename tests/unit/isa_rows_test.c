/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions on rows and what is built of them, against long double: exp2, root and the reciprocals over
 * all places where they could go wrong, then softmax and layer normalization of rows of 16 to 8,192 values,
 * as a compiler would write them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fsim_lab.h"
#include "interp_rows.h"
#include "rng.h"
#include "seed.h"
#include "vta/runtime.h"

static const char config_file[] = VTA_TEST_ROWS;

/* ---- single functions */

enum { BATCH_ENTRIES = 1000, RANDOM_VALUES = 100000, MAX_VALUES = 2 * RANDOM_VALUES };

typedef struct trials {
    int32_t value[MAX_VALUES];
    uint32_t count;
} trials;

static void try_value(trials *t, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        t->value[t->count++] = (int32_t)value;
    }
}

/* Numbers around the powers of two and their multiples by three, and the smallest ones. */
static void try_corners(trials *t)
{
    for (int64_t v = -4100; v <= 4100; v++) {
        try_value(t, v);
    }
    for (int k = 12; k < 32; k++) {
        for (int64_t d = -3; d <= 3; d++) {
            try_value(t, (INT64_C(1) << k) + d);
            try_value(t, d - (INT64_C(1) << k));
            try_value(t, (INT64_C(3) << k) / 2 + d);
        }
    }
    for (int64_t m = 4096; m <= 65536; m++) {
        if (m % 7 == 0 || m < 4200 || m > 65400) { /* squares, where a root changes */
            try_value(t, (m * m - 1) >> (m > 46340 ? 2 : 0));
            try_value(t, (m * m) >> (m > 46340 ? 2 : 0));
        }
    }
}

static void try_random(trials *t, rng *r)
{
    for (int n = 0; n < RANDOM_VALUES; n++) {
        try_value(t, (int32_t)(uint32_t)rng_next(r) >> rng_below(r, 31));
    }
}

static lab bench; /* of rows_pynq */

static uint32_t lanes(void)
{
    return bench.config.block_out;
}

/* Runs a function over lane 0 of entries, or over all lanes, and hands out what ACC holds. */
static void run_batch(vta_row row, const int32_t *from, uint32_t entries, int32_t *acc)
{
    lab_clear(&bench);
    lab_write(&bench, VTA_MEM_ACC, 0, from, (size_t)entries * lanes());
    lab_load(&bench, VTA_MEM_ACC, 0, 0, entries);
    lab_uop(&bench, 0, 0, 0, 0);
    lab_load(&bench, VTA_MEM_UOP, 0, 0, 1);
    vta_insn insn = lab_alu_src(VTA_ALU_ROW, 0, 1, (int32_t)vta_row_imm(row));
    insn.alu.iter_in = entries;
    insn.alu.dst_in = insn.alu.src_in = 1;
    (void)lab_add(&bench, insn);
    lab_ok(&bench);
    vta_fsim_scratchpad(bench.fsim, VTA_MEM_ACC, acc);
}

typedef long double error_of(int32_t value, int32_t result);

/* The largest error over all trials; every result is also the reference's, in every lane. */
static long double worst_error(const trials *t, vta_row row, error_of *error)
{
    const uint32_t each = row.function == VTA_ROW_EXP2 ? lanes() : 1; /* values of an entry */
    static int32_t from[BATCH_ENTRIES * 64], acc[1 << 17];
    long double worst = 0;
    for (uint32_t at = 0; at < t->count; at += BATCH_ENTRIES * each) {
        const uint32_t left = t->count - at;
        const uint32_t count = left < BATCH_ENTRIES * each ? left : BATCH_ENTRIES * each;
        for (uint32_t i = 0; i < BATCH_ENTRIES * lanes(); i++) {
            const uint32_t n = each == 1 ? i / lanes() : i;
            from[i] = n < count && (each > 1 || i % lanes() == 0) ? t->value[at + n] : -77;
        }
        run_batch(row, from, BATCH_ENTRIES, acc);
        for (uint32_t n = 0; n < count; n++) {
            const uint32_t place = each == 1 ? n * lanes() : n;
            const int64_t s[1] = {t->value[at + n]};
            const int64_t want = interp_row_lane(vta_row_imm(row), s, s, 0, 1);
            for (uint32_t lane = 0; lane < (each == 1 ? lanes() : 1); lane++) {
                if (acc[place + lane] != want) {
                    fail_msg("%s of %" PRId32 " is %" PRId32 " in lane %u, not %" PRId64,
                             vta_row_name(row.function), t->value[at + n], acc[place + lane], lane, want);
                }
            }
            worst = fmaxl(worst, fabsl(error(t->value[at + n], acc[place])));
        }
    }
    return worst;
}

/* The errors are in units of the result for exp2, relative for the others. */
static long double exp2_error(int32_t value, int32_t result)
{
    return (long double)result - 65536.0L * powl(2.0L, (value < 0 ? (long double)value : 0.0L) / 4096.0L);
}

static long double at_least_one(int32_t value)
{
    return value < 1 ? 1.0L : (long double)value;
}

static long double scale_of(int32_t word)
{
    return ldexpl((long double)(word & 0xffffff), -((word >> 24) & 63));
}

static long double root_error(int32_t value, int32_t result)
{
    return scale_of(result) / sqrtl(at_least_one(value)) - 1.0L;
}

static long double recip_error(int32_t value, int32_t result)
{
    return scale_of(result) * at_least_one(value) - 1.0L;
}

/* The reciprocal of the root that `value` holds. */
static long double recip_root_error(int32_t value, int32_t result)
{
    const uint32_t h = (uint32_t)value >> 24 & 63;
    const long double root = ldexpl((long double)((value & 0xffff) | 0x8000), -(int)(h < 31 ? h : 31));
    return scale_of(result) * root - 1.0L;
}

static void functions_are_near(void **state)
{
    (void)state;
    static const struct {
        vta_row row;
        error_of *error;
        double limit;
    } rows[] = {
        {{.function = VTA_ROW_EXP2}, exp2_error, 2.5},
        {{.function = VTA_ROW_ROOT}, root_error, 1.0 / 32768},
        {{.function = VTA_ROW_RECIP}, recip_error, 1.25 / 32768},
        {{.function = VTA_ROW_RECIP_ROOT}, recip_root_error, 1.0 / 32768},
    };
    static trials t;
    rng r = rng_split(test_seed("isa_rows functions"), 0);
    lab_open(&bench, config_file, true, NULL);
    try_corners(&t);
    try_random(&t, &r);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double worst = (double)worst_error(&t, rows[i].row, rows[i].error);
        print_message("%-10s %u values, error at most %.3g\n", vta_row_name(rows[i].row.function), t.count,
                      worst);
        assert_true(worst > 0 && worst <= rows[i].limit);
    }
    lab_close(&bench);
}

/* Every form and many places, against the reference; the root's result goes into the reciprocal. */
static void forms_are_exact(void **state)
{
    (void)state;
    static trials t;
    rng r = rng_split(test_seed("isa_rows forms"), 0);
    lab_open(&bench, config_file, true, NULL);
    for (int n = 0; n < 1000; n++) {
        try_value(&t, (int32_t)(uint32_t)rng_next(&r) >> rng_below(&r, 31));
    }
    for (uint32_t function = VTA_ROW_RECIP; function <= VTA_ROW_RECIP_ROOT; function++) {
        for (uint32_t form = 0; form < VTA_ROW_FORM_COUNT; form++) {
            for (uint32_t places = 0; places < 64; places += 1 + rng_below(&r, 6)) {
                (void)worst_error(&t, (vta_row){function, form, places}, exp2_error);
            }
        }
    }
    lab_close(&bench);
}

/* ---- programs of them, recorded as calls */

typedef struct nest {
    int64_t out, in, dst_out, dst_in, src_out, src_in;
} nest;

typedef struct recorder {
    vta_stream *s;
    int64_t rows, tiles; /* rows, entries of each */
    int64_t log_block;
    int64_t x;                 /* the first entry of the values */
    nest all, of_row, records; /* over all values, from values to records, over records */
} recorder;

static void tensors(const recorder *c, vta_alu_op op, int64_t dst, int64_t src, nest n)
{
    const vta_uop uop = {.dst = (uint32_t)dst, .src = (uint32_t)src};
    vta_stream_alu(c->s, &(vta_alu){.kernel = vta_stream_kernel(c->s, &uop, 1),
                                    .op = op,
                                    .iter_out = n.out,
                                    .iter_in = n.in,
                                    .dst_out = n.dst_out,
                                    .dst_in = n.dst_in,
                                    .src_out = n.src_out,
                                    .src_in = n.src_in});
}

/* An operation with an immediate, in place. */
static void immediate(const recorder *c, vta_alu_op op, int64_t at, int64_t imm, nest n)
{
    const vta_uop uop = {.dst = (uint32_t)at, .src = (uint32_t)at};
    vta_stream_alu(c->s, &(vta_alu){.kernel = vta_stream_kernel(c->s, &uop, 1),
                                    .op = op,
                                    .use_imm = true,
                                    .imm = imm,
                                    .iter_out = n.out,
                                    .iter_in = n.in,
                                    .dst_out = n.dst_out,
                                    .dst_in = n.dst_in,
                                    .src_out = n.dst_out,
                                    .src_in = n.dst_in});
}

static void function_of(const recorder *c, vta_row row, int64_t at, nest n)
{
    const vta_uop uop = {.dst = (uint32_t)at, .src = (uint32_t)at};
    vta_stream_alu(c->s, &(vta_alu){.kernel = vta_stream_kernel(c->s, &uop, 1),
                                    .op = VTA_ALU_ROW,
                                    .row = row,
                                    .iter_out = n.out,
                                    .iter_in = n.in,
                                    .dst_out = n.dst_out,
                                    .dst_in = n.dst_in,
                                    .src_out = n.dst_out,
                                    .src_in = n.dst_in});
}

/* Reduces the entries of each row to one, with the maximum or the sum of the row in all its lanes. */
static void reduce(const recorder *c, vta_alu_op op, vta_row_function function, int64_t dst, int64_t src)
{
    nest first = c->of_row;
    first.in = 1;
    tensors(c, VTA_ALU_MOV, dst, src, first);
    nest others = c->of_row;
    others.in = c->tiles - 1;
    tensors(c, op, dst, src + 1, others);
    for (uint32_t places = 0; places < c->log_block; places++) {
        function_of(c, (vta_row){.function = function, .places = places}, dst, c->records);
    }
}

typedef struct rounding {
    int64_t at, params, zero_point;
    bool by_row, long_result;
    nest n;
} rounding;

static void requantize(const recorder *c, rounding q)
{
    vta_stream_requant(c->s, &(vta_requant){.dst = q.at,
                                            .src = q.at,
                                            .params = q.params,
                                            .iter_out = q.n.out,
                                            .iter_in = q.n.in,
                                            .dst_out = q.n.dst_out,
                                            .dst_in = q.n.dst_in,
                                            .src_out = q.n.dst_out,
                                            .src_in = q.n.dst_in,
                                            .zero_point = q.zero_point,
                                            .low = q.long_result ? 0 : -128,
                                            .high = q.long_result ? 0 : 127,
                                            .by_row = q.by_row,
                                            .long_result = q.long_result});
}

/* A scale word near `value`, which is below 2^23. */
static int32_t scale_word(double value)
{
    int exponent = 0;
    const double fraction = frexp(value, &exponent); /* a half to 1 */
    const int shift = 24 - exponent;
    const double mult = nearbyint(ldexp(fraction, 24));
    assert_true(shift >= 0 && shift < 64);
    return vta_requant_scale((uint32_t)(mult < 16777215 ? mult : 16777215), (uint32_t)shift);
}

/* Softmax of scores in units of `unit`, to probabilities in units of 1/256, less 128. The record of row r is
 * 2·r, 2·r + 1. */
static void record_softmax(const recorder *c)
{
    const int64_t bias = 0, scale = 1;
    reduce(c, VTA_ALU_MAX, VTA_ROW_MAX, bias, c->x);
    immediate(c, VTA_ALU_MUL, bias, -1, c->records);
    requantize(c, (rounding){.at = c->x, .by_row = true, .long_result = true, .n = c->all});
    function_of(c, (vta_row){.function = VTA_ROW_EXP2}, c->x, c->all);
    reduce(c, VTA_ALU_ADD, VTA_ROW_ADD, scale, c->x);
    function_of(c, (vta_row){.function = VTA_ROW_RECIP, .places = 8}, scale, c->records);
    immediate(c, VTA_ALU_MOV, bias, 0, c->records);
    requantize(c, (rounding){.at = c->x, .zero_point = -128, .by_row = true, .n = c->all});
}

/* Bits of the fraction of the mean of x - c, of a sum of squares, and places of the reciprocal, so that what
 * comes out is the normalized value times `norm_unit`. */
enum { MEAN_BITS = 17 };

static int64_t square_bits(int64_t count)
{
    int64_t bits = 15;
    for (; count > 1; count = (count + 1) / 2) {
        bits--;
    }
    return bits;
}

static int64_t norm_places(int64_t count)
{
    const double unit = ldexp(1.0, MEAN_BITS) / sqrt(ldexp((double)count, (int)square_bits(count)));
    return (int64_t)floor(log2(16384.0 / unit)); /* up to ±8 at least, with 13 to 14 bits of fraction */
}

static double norm_unit(int64_t count)
{
    return ldexp(1.0, (int)(MEAN_BITS + norm_places(count))) /
           sqrt(ldexp((double)count, (int)square_bits(count)));
}

/* Layer normalization of int8. The mean is taken off as a whole number c first, so that sums of squares are
 * exact: with d = x - c the variance is (sum of d^2 - sum of d times mean of d) / N. Records: of the rows
 * from 0 on; then two constant ones, 1/N and 2^17/N, and those of the columns. Behind the values: their
 * squares, and an entry a row. */
static void record_layernorm(const recorder *c, int64_t count)
{
    const int64_t bias = 0, scale = 1, size = c->rows * c->tiles;
    const int64_t squares = c->x + size, other = squares + size;
    nest rows = c->records;
    rows.dst_in = 1;
    rows.src_in = 2;
    nest back = c->records;
    back.src_in = 1;
    nest spread = c->all;
    spread.src_out = 2;
    spread.src_in = 0;
    nest single = {1, c->rows, 0, 1, 0, 1};
    reduce(c, VTA_ALU_ADD, VTA_ROW_ADD, bias, c->x);
    requantize(c, (rounding){.at = bias, .params = c->rows, .long_result = true, .n = c->records}); /* c */
    immediate(c, VTA_ALU_MUL, bias, -1, c->records);
    tensors(c, VTA_ALU_ADD, c->x, bias, spread); /* d */
    tensors(c, VTA_ALU_MOV, squares, c->x, c->all);
    tensors(c, VTA_ALU_MUL, squares, c->x, c->all);
    reduce(c, VTA_ALU_ADD, VTA_ROW_ADD, scale, squares);
    reduce(c, VTA_ALU_ADD, VTA_ROW_ADD, bias, c->x);
    tensors(c, VTA_ALU_MOV, other, bias, rows);
    requantize(c, (rounding){.at = bias, .params = c->rows + 1, .long_result = true, .n = c->records});
    immediate(c, VTA_ALU_MUL, bias, -1, c->records); /* minus the mean of d */
    tensors(c, VTA_ALU_MUL, other, bias, rows);
    immediate(c, VTA_ALU_SHR, other, MEAN_BITS - square_bits(count), single);
    immediate(c, VTA_ALU_SHR, scale, -square_bits(count), c->records);
    tensors(c, VTA_ALU_ADD, scale, other, back);
    function_of(c, (vta_row){.function = VTA_ROW_ROOT}, scale, c->records);
    function_of(c, (vta_row){.function = VTA_ROW_RECIP_ROOT, .places = (uint32_t)norm_places(count)}, scale,
                c->records);
    immediate(c, VTA_ALU_SHR, c->x, -MEAN_BITS, c->all);
    requantize(c, (rounding){.at = c->x, .by_row = true, .long_result = true, .n = c->all});
    for (int64_t t = 0; t < c->tiles; t++) {
        const nest column = {1, c->rows, 0, c->tiles, 0, c->tiles};
        requantize(c, (rounding){.at = c->x + t, .params = c->rows + 2 + t % 2, .n = column});
    }
}

/* ---- what they should give */

typedef struct layer {
    bool softmax;
    int64_t count;
    double unit; /* of a score */
} layer;

enum { GAINS = 32 }; /* columns with a gain and a shift of their own; they repeat */

static double gain_of(int64_t column)
{
    return 0.6 + 0.02 * (double)(column % GAINS);
}

static double shift_of(int64_t column)
{
    return 0.1 * (double)(column % GAINS % 9 - 4);
}

static int8_t rounded(double value)
{
    const double whole = nearbyint(value);
    return (int8_t)(whole < -128 ? -128 : whole > 127 ? 127 : whole);
}

static void expected_softmax(const layer *l, const int32_t *x, int8_t *y)
{
    double max = x[0], sum = 0;
    for (int64_t i = 1; i < l->count; i++) {
        max = fmax(max, x[i]);
    }
    for (int64_t i = 0; i < l->count; i++) {
        sum += exp((x[i] - max) * l->unit);
    }
    for (int64_t i = 0; i < l->count; i++) {
        y[i] = rounded(256 * exp((x[i] - max) * l->unit) / sum - 128);
    }
}

static void expected_layernorm(const layer *l, const int32_t *x, int8_t *y)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < l->count; i++) {
        mean += x[i] / (double)l->count;
    }
    for (int64_t i = 0; i < l->count; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / (double)l->count;
    }
    for (int64_t i = 0; i < l->count; i++) {
        const double norm = variance > 0 ? (x[i] - mean) / sqrt(variance) : 0;
        y[i] = rounded(32 * (norm * gain_of(i) + shift_of(i)));
    }
}

/* ---- data */

static double normal(rng *r)
{
    const double u = (rng_below(r, 1 << 24) + 1.0) / (1 << 24), v = rng_below(r, 1 << 24) / (double)(1 << 24);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

enum { NORMAL, PEAKED, FLAT, MASKED, OUTLIERS, KINDS };
/* MASKED: scores that do not count, or a part of a row far from the rest. */
static const char *const kind_names[KINDS] = {"normal", "peaked", "flat", "masked", "outliers"};

static int32_t score(rng *r, const layer *l, int kind, int64_t at, int64_t valid)
{
    const double spread = kind == FLAT ? 0.2 : kind == PEAKED ? 6 : 2;
    const double value = normal(r) * spread + (kind == PEAKED && at % 61 == 7 ? 8 : 0);
    return kind == MASKED && at >= valid ? INT32_MIN / 4 : (int32_t)nearbyint(value / l->unit);
}

static int32_t activation(rng *r, int kind, int64_t at, int64_t valid)
{
    const double spread = kind == FLAT ? 1.5 : kind == OUTLIERS ? 6 : 30;
    const double middle = kind == PEAKED ? 60 : kind == FLAT ? -100 : 3;
    const double value = normal(r) * spread * (kind == OUTLIERS && at % 97 == 5 ? 15 : 1) + middle;
    return kind == MASKED && at >= valid ? rounded(value / 4 - 60) : rounded(value);
}

static void draw_row(rng *r, const layer *l, int kind, int32_t *x)
{
    const int64_t valid = 1 + rng_below(r, (uint32_t)l->count);
    for (int64_t i = 0; i < l->count; i++) {
        x[i] = l->softmax ? score(r, l, kind, i, valid) : activation(r, kind, i, valid);
    }
}

/* ---- runs */

typedef struct program {
    vta_code *code;
    vta_job *job;
    int32_t *x, *params;
    int8_t *y;
    recorder c;
} program;

static void *host(const program *p, vta_buffer buffer)
{
    void *memory = NULL;
    assert_int_equal(vta_job_memory(p->job, buffer, &memory, NULL), VTA_OK);
    return memory;
}

static void record_loads(const recorder *c, vta_buffer params, int64_t entries, vta_buffer x, vta_buffer y,
                         const layer *l)
{
    const int64_t size = c->rows * c->tiles;
    vta_stream_load2d(c->s,
                      &(vta_load2d){.memory = VTA_MEM_ACC, .buffer = params, .y_size = 1, .x_size = entries});
    vta_stream_load2d(
        c->s, &(vta_load2d){.memory = VTA_MEM_ACC, .sram = c->x, .buffer = x, .y_size = 1, .x_size = size});
    if (l->softmax) {
        record_softmax(c);
    } else {
        record_layernorm(c, l->count);
    }
    vta_stream_store2d(c->s, &(vta_store2d){.sram = c->x, .buffer = y, .y_size = 1, .x_size = size});
}

static void fill_entry(const program *p, int64_t entry, int64_t block, int32_t value)
{
    for (int64_t o = 0; o < block; o++) {
        p->params[entry * block + o] = value;
    }
}

/* Records: of the rows, then the constants; of columns there are two, which serve the tiles in turn. */
static void fill_params(const program *p, const layer *l, int64_t block)
{
    const int64_t rows = p->c.rows;
    memset(p->params, 0, (size_t)(2 * rows + 8) * (size_t)block * sizeof *p->params);
    for (int64_t r = 0; r < rows; r++) {
        fill_entry(p, 2 * r + 1, block, l->softmax ? scale_word(l->unit * 1.4426950408889634 * 4096) : 0);
    }
    if (l->softmax) {
        return;
    }
    fill_entry(p, 2 * rows + 1, block, scale_word(1.0 / (double)l->count));
    fill_entry(p, 2 * rows + 3, block, scale_word(131072.0 / (double)l->count));
    for (int64_t i = 0; i < 2 * block; i++) {
        const int64_t at = (2 * rows + 4 + i / block * 2) * block + i % block;
        const double unit = norm_unit(l->count);
        p->params[at] = (int32_t)nearbyint(shift_of(i) / gain_of(i) * unit);
        p->params[at + block] = scale_word(32 * gain_of(i) / unit);
    }
}

static program make_program(vta_device *device, const layer *l)
{
    const vta_config *config = vta_device_config(device);
    program p = {.c = {.tiles = l->count / config->block_out, .log_block = config->log_block_out}};
    p.c.rows = 512 / p.c.tiles < 6 ? 512 / p.c.tiles : 6;
    p.c.x = 2 * p.c.rows + 8;
    p.c.all = (nest){p.c.rows, p.c.tiles, p.c.tiles, 1, p.c.tiles, 1};
    p.c.of_row = (nest){p.c.rows, p.c.tiles, 2, 0, p.c.tiles, 1};
    p.c.records = (nest){1, p.c.rows, 0, 2, 0, 2};
    vta_diag diag = {0};
    const uint64_t entry = config->elem_bytes[VTA_MEM_ACC], size = (uint64_t)(p.c.rows * p.c.tiles);
    assert_int_equal(vta_stream_create(config, &p.c.s, &diag), VTA_OK);
    const vta_buffer params = vta_stream_buffer(p.c.s, "params", (uint64_t)p.c.x * entry);
    const vta_buffer x = vta_stream_buffer(p.c.s, "x", size * entry);
    const vta_buffer y = vta_stream_buffer(p.c.s, "y", size * entry / 4);
    record_loads(&p.c, params, p.c.x, x, y, l);
    if (vta_stream_finish(p.c.s, &p.code, &diag) != VTA_OK ||
        vta_job_create(p.code, device, &p.job, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(p.c.s);
    p.params = host(&p, params);
    p.x = host(&p, x);
    p.y = host(&p, y);
    return p;
}

typedef struct score_card {
    uint64_t values, equal;
    int max_off; /* in units */
} score_card;

static void run_rows(const program *p, const layer *l, int kind, rng *r, score_card *card)
{
    int8_t want[8192];
    vta_diag diag = {0};
    fill_params(p, l, l->count / p->c.tiles);
    for (int64_t row = 0; row < p->c.rows; row++) {
        draw_row(r, l, kind, p->x + row * l->count);
    }
    if (vta_job_run(p->job, NULL, 0, 60, NULL, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    for (int64_t row = 0; row < p->c.rows; row++) {
        (l->softmax ? expected_softmax : expected_layernorm)(l, p->x + row * l->count, want);
        for (int64_t i = 0; i < l->count; i++) {
            const int off = abs(p->y[row * l->count + i] - want[i]);
            card->max_off = off > card->max_off ? off : card->max_off;
            card->equal += off == 0;
            card->values++;
        }
    }
}

static void print_card(const layer *l, const char *rows, int kind, const score_card *card)
{
    print_message("%-9s rows of %4s, %-8s %6" PRIu64 " values, at most %d off, %.3f %% equal\n",
                  l->softmax ? "softmax" : "layernorm", rows, kind_names[kind], card->values, card->max_off,
                  100 * (double)card->equal / (double)card->values);
}

static void judge_layer(vta_device *device, const layer *l, rng *r, score_card *all)
{
    program p = make_program(device, l);
    for (int kind = 0; kind < KINDS; kind++) {
        char rows[24];
        score_card card = {0};
        while (card.values < 6000) {
            run_rows(&p, l, kind, r, &card);
        }
        (void)snprintf(rows, sizeof rows, "%" PRId64, l->count);
        print_card(l, rows, kind, &card);
        assert_true(card.max_off <= 1);
        all[kind].values += card.values;
        all[kind].equal += card.equal;
        all[kind].max_off = card.max_off > all[kind].max_off ? card.max_off : all[kind].max_off;
    }
    vta_job_destroy(p.job);
    vta_code_destroy(p.code);
}

/* Equal values of a row are off together, so that the share of those that are equal is one of all lengths. */
static void judge_layers(bool softmax, const char *name)
{
    static const int64_t counts[] = {16, 32, 48, 64, 192, 256, 768, 1024, 3072, 8192};
    vta_device *device = NULL;
    vta_diag diag = {0};
    score_card all[KINDS] = {0};
    char uri[512];
    (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1&check=1", config_file);
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    rng r = rng_split(test_seed(name), 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        judge_layer(device, &(layer){softmax, counts[i], 1.0 / 64}, &r, all);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        print_card(&(layer){.softmax = softmax}, "all", kind, &all[kind]);
        assert_true((double)all[kind].equal >= 0.995 * (double)all[kind].values);
    }
    vta_device_close(device);
}

static void softmax_is_near(void **state)
{
    (void)state;
    judge_layers(true, "isa_rows softmax");
}

static void layernorm_is_near(void **state)
{
    (void)state;
    judge_layers(false, "isa_rows layernorm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_near),
        cmocka_unit_test(forms_are_exact),
        cmocka_unit_test(softmax_is_near),
        cmocka_unit_test(layernorm_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
