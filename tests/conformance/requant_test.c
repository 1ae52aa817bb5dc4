/* SPDX-License-Identifier: Apache-2.0
 *
 * requant_test DEVICE: REQUANT in its corners, against ISA.md §8 in integers of 128 bits. Sums around every
 * power of two, multipliers around every power of two, every shift, all roundings, both kinds of records,
 * with and without a table; in lanes side by side, so that no two of a tile have the same parameters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "vta/runtime.h"

__extension__ typedef __int128 big;

enum { SHIFTS = 64, SUMS_AT = 8, TABLE_BYTES = 256 };

static const char *uri = "fsim?strict=1";

/* ---- the corners ---- */

/* 0, ±2^k, ±(2^k − 1), ±(2^k + 1) that fit 32 bits. */
static uint32_t corner_sums(int32_t *out)
{
    uint32_t count = 0;
    out[count++] = 0;
    for (int k = 0; k < 32; k++) {
        for (int d = -1; d <= 1; d++) {
            const int64_t value = (INT64_C(1) << k) + d;
            if (value <= INT32_MAX) {
                out[count++] = (int32_t)value;
            }
            if (-value >= INT32_MIN) {
                out[count++] = (int32_t)-value;
            }
        }
    }
    return count;
}

static uint32_t corner_mults(uint32_t *out, int bits)
{
    uint32_t count = 0;
    out[count++] = 0;
    for (int k = 0; k <= bits; k++) {
        for (int d = -1; d <= 1; d++) {
            const int64_t value = (INT64_C(1) << k) + d;
            if (value < INT64_C(1) << bits && value > 0) {
                out[count++] = (uint32_t)value;
            }
        }
    }
    return count;
}

/* ---- ISA.md §8 ---- */

static big floor_div(big p, int s)
{
    const big d = (big)1 << s;
    return p >= 0 ? p / d : -((-p + d - 1) / d);
}

/* p / 2^s to the nearest integer; 2·p is compared with the middle between two of them. */
static big once(big p, int s, const char *ties)
{
    const big below = floor_div(p, s);
    const big middle = (2 * below + 1) * ((big)1 << s);
    if (2 * p != middle) {
        return 2 * p < middle ? below : below + 1;
    }
    const bool up = strcmp(ties, "even") == 0 ? below % 2 != 0 : strcmp(ties, "up") == 0 || p > 0;
    return up ? below + 1 : below;
}

static big rounded(big p, int s, vta_rounding mode)
{
    const int first = s < 31 ? s : 31;
    switch (mode) {
    case VTA_ROUND_EVEN: return once(p, s, "even");
    case VTA_ROUND_UP: return once(p, s, "up");
    case VTA_ROUND_TWICE_UP: return once(once(p, first, "up"), s - first, "up");
    case VTA_ROUND_TWICE_OUT: return once(once(p, first, "up"), s - first, "out");
    case VTA_ROUND_COUNT: break;
    }
    return 0;
}

/* ---- one program: some parameter records, each over all sums ---- */

typedef struct mode {
    vta_rounding rounding;
    bool wide;
    int64_t table, zero_point, low, high;
} mode;

typedef struct trial {
    vta_device *device;
    const vta_config *config;
    mode mode;
    uint32_t lanes, records, sums;
    int32_t sum[256];
    vta_buffer params, acc, out, table;
    uint64_t results, inside, ties;
} trial;

static uint32_t record_entries(const trial *t)
{
    return t->mode.wide ? 4 : 2;
}

static vta_code *record(trial *t)
{
    vta_stream *s = NULL;
    vta_code *code = NULL;
    vta_diag diag = {0};
    const uint64_t acc_bytes = t->config->elem_bytes[VTA_MEM_ACC];
    const uint32_t entries = record_entries(t);
    assert_int_equal(vta_stream_create(t->config, &s, &diag), VTA_OK);
    t->params = vta_stream_buffer(s, "params", t->records * entries * acc_bytes);
    t->acc = vta_stream_buffer(s, "acc", t->sums * acc_bytes);
    t->out = vta_stream_buffer(s, "out", (uint64_t)t->records * t->sums * t->lanes);
    t->table = vta_stream_buffer(s, "table", 2 * TABLE_BYTES);
    for (int64_t n = 0; n < VTA_TABLES && t->mode.table != 0; n++) {
        vta_stream_table(s, n, t->table, n * TABLE_BYTES);
    }
    vta_stream_load2d(
        s, &(vta_load2d){
               .memory = VTA_MEM_ACC, .sram = SUMS_AT, .buffer = t->acc, .y_size = 1, .x_size = t->sums});
    const int64_t to = SUMS_AT + t->sums; /* the results go behind the sums */
    for (uint32_t i = 0; i < t->records; i++) {
        const int64_t place = i % (SUMS_AT / entries);
        vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_ACC,
                                           .sram = place * entries,
                                           .buffer = t->params,
                                           .offset = i * entries,
                                           .y_size = 1,
                                           .x_size = entries});
        vta_stream_requant(s, &(vta_requant){.dst = to,
                                             .src = SUMS_AT,
                                             .params = place,
                                             .iter_out = 1,
                                             .iter_in = t->sums,
                                             .dst_in = 1,
                                             .src_in = 1,
                                             .zero_point = t->mode.zero_point,
                                             .low = t->mode.low,
                                             .high = t->mode.high,
                                             .rounding = t->mode.rounding,
                                             .wide = t->mode.wide,
                                             .table = t->mode.table});
        vta_stream_store2d(s, &(vta_store2d){.sram = to,
                                             .buffer = t->out,
                                             .offset = (int64_t)i * t->sums,
                                             .y_size = 1,
                                             .x_size = t->sums});
    }
    if (vta_stream_finish(s, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(s);
    return code;
}

static void *host(vta_job *job, vta_buffer buffer)
{
    void *p = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_job_memory(job, buffer, &p, &diag), VTA_OK);
    return p;
}

static void judge(trial *t, const int32_t *params, const int8_t *table, const int8_t *out)
{
    for (uint32_t i = 0; i < t->records; i++) {
        const int32_t *bias = params + (size_t)i * record_entries(t) * t->lanes;
        const uint32_t *scale = (const uint32_t *)(bias + t->lanes);
        for (uint32_t n = 0; n < t->sums * t->lanes; n++) {
            const uint32_t lane = n % t->lanes;
            const uint32_t mult = scale[lane] & (t->mode.wide ? 0x7fffffff : 0xffffff);
            const int shift = (int)((t->mode.wide ? scale[t->lanes + lane] : scale[lane] >> 24) & 63);
            const big p = ((big)t->sum[n / t->lanes] + bias[lane]) * mult;
            const big moved = rounded(p, shift, t->mode.rounding) + t->mode.zero_point;
            const int64_t r = moved < t->mode.low    ? t->mode.low
                              : moved > t->mode.high ? t->mode.high
                                                     : (int64_t)moved;
            const int8_t want =
                t->mode.table == 0 ? (int8_t)r : table[(t->mode.table - 1) * TABLE_BYTES + (uint8_t)r];
            const int8_t got = out[(size_t)i * t->sums * t->lanes + n];
            t->results++;
            t->inside += moved > t->mode.low && moved < t->mode.high;
            t->ties += shift > 0 && 2 * p == (2 * floor_div(p, shift) + 1) * ((big)1 << shift);
            if (got != want) {
                fail_msg(
                    "%s, sum %d + %d, mult %u, shift %d, zero point %d, %d .. %d, table %d: %d instead of %d",
                    vta_rounding_name(t->mode.rounding), t->sum[n / t->lanes], bias[lane], mult, shift,
                    (int)t->mode.zero_point, (int)t->mode.low, (int)t->mode.high, (int)t->mode.table, got,
                    want);
            }
        }
    }
}

/* Pairs of multiplier and shift, as they come; biases that make the sum's 33rd bit count, now and then. */
static void fill(trial *t, rng *r, int32_t *params, const uint32_t *mults, uint32_t mult_count,
                 uint32_t first)
{
    static const int32_t biases[] = {0, 0, 0, 0, 1, -1, INT32_MAX, INT32_MIN};
    for (uint32_t i = 0; i < t->records; i++) {
        int32_t *bias = params + (size_t)i * record_entries(t) * t->lanes;
        for (uint32_t lane = 0; lane < t->lanes; lane++) {
            const uint32_t pair = first + i * t->lanes + lane;
            const uint32_t mult = mults[pair / SHIFTS % mult_count];
            const uint32_t shift = pair % SHIFTS;
            const uint32_t noise = (uint32_t)rng_next(r);
            bias[lane] = biases[noise % 8];
            bias[t->lanes + lane] = (int32_t)(t->mode.wide ? mult | (noise & 0x80000000)
                                                           : mult | shift << 24 | (noise & 0xc0000000));
            if (t->mode.wide) {
                bias[2 * t->lanes + lane] = (int32_t)(shift | (noise & 0xffffffc0));
            }
        }
    }
}

static void run_mode(trial *t, rng *r)
{
    uint32_t mults[128];
    const uint32_t mult_count = corner_mults(mults, t->mode.wide ? 31 : 24);
    t->records = 64;
    vta_code *code = record(t);
    vta_job *job = NULL;
    vta_diag diag = {0};
    if (vta_job_create(code, t->device, &job, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    int32_t *params = host(job, t->params), *acc = host(job, t->acc);
    int8_t *table = host(job, t->table), *out = host(job, t->out);
    for (uint32_t i = 0; i < t->sums * t->lanes; i++) {
        acc[i] = t->sum[i / t->lanes];
    }
    for (uint32_t first = 0; first < mult_count * SHIFTS; first += t->records * t->lanes) {
        for (uint32_t i = 0; i < 2 * TABLE_BYTES; i++) {
            table[i] = (int8_t)(uint8_t)rng_next(r);
        }
        fill(t, r, params, mults, mult_count, first);
        vta_report report;
        if (vta_job_run(job, NULL, 0, 60, &report, &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        judge(t, params, table, out);
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
}

static void corners(void **state)
{
    (void)state;
    static trial t;
    vta_diag diag = {0};
    const uint64_t seed = test_seed("requant");
    rng r = rng_split(seed, 1);
    if (vta_device_open(uri, NULL, &t.device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    t.config = vta_device_config(t.device);
    t.lanes = t.config->batch * t.config->block_out;
    t.sums = corner_sums(t.sum);
    for (int n = 0; n < 2 * VTA_ROUND_COUNT; n++) {
        t.mode = (mode){.rounding = (vta_rounding)(n / 2), .wide = n % 2 != 0, .low = -128, .high = 127};
        run_mode(&t, &r);
        t.mode.table = 1 + n % 2;
        t.mode.zero_point = rng_between(&r, -128, 127);
        t.mode.low = rng_between(&r, -128, 0);
        t.mode.high = rng_between(&r, t.mode.low, 127);
        run_mode(&t, &r);
    }
    (void)printf("requant: %llu results, %llu inside their bounds, %llu ties\n",
                 (unsigned long long)t.results, (unsigned long long)t.inside, (unsigned long long)t.ties);
    assert_true(t.inside > t.results / 4 && t.ties > t.results / 100);
    vta_device_close(t.device);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        uri = argv[1];
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(corners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
