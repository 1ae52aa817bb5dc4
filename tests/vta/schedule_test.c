/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler promises besides the right numbers: the same bytes every time, shares that sum to the
 * whole, tags, what is joined and folded, and a sentence for what it refuses.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "seed.h"
#include "vtac/schedules.h"

static vta_config config;
static lab_region lab;

static int load_config(void **state)
{
    (void)state;
    return vta_config_load("tiny", &config, NULL) == VTA_OK ? 0 : -1;
}

static void schedule(const vtac_vta_options *options, vtac_vta_image *image)
{
    vta_diag diag = {0};
    if (vtac_vta_schedule(&config, &lab.region, options, image, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
}

/* conv - conv - sum with the input, and a concatenation whose parts lie side by side. */
static void build_joinable(void)
{
    const lab_conv how = {.channels = 8, .groups = 1, .window = lab_window(3, 1, 1)};
    lab_init(&lab, 7);
    const uint32_t x = lab_add_conv(&lab, lab_input(&lab, 1, 3, 9, 9), &how);
    const uint32_t sum = lab_add_sum(&lab, lab_add_conv(&lab, x, &how), x);
    const uint32_t parts[] = {lab_add_conv(&lab, sum, &how), lab_add_conv(&lab, sum, &how)};
    (void)lab_add_concat(&lab, parts, 2, true);
    lab_finish(&lab);
}

static void test_same_bytes(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("vta_schedule");
    for (uint64_t i = 0; i < 10; i++) {
        vtac_vta_image a, b;
        lab_random(&lab, seed + i, &config, 5);
        schedule(&(vtac_vta_options){.level = 3}, &a);
        schedule(&(vtac_vta_options){.level = 3}, &b);
        assert_int_equal(a.program.insn_count, b.program.insn_count);
        assert_memory_equal(a.program.insns, b.program.insns, a.program.insn_count * sizeof(vta_word));
        assert_int_equal(a.constant_bytes, b.constant_bytes);
        assert_memory_equal(a.constants, b.constants, a.constant_bytes);
        assert_int_equal(a.work_bytes, b.work_bytes);
        vtac_vta_image_free(&a);
        vtac_vta_image_free(&b);
        lab_free(&lab);
    }
}

/* Cycles that no layer has are the end, a store's way to memory. */
static void test_shares_sum_to_the_whole(void **state)
{
    (void)state;
    const uint64_t last_store = 1000;
    const uint64_t seed = test_seed("vta_schedule");
    for (uint64_t i = 0; i < 10; i++) {
        vtac_vta_image image;
        uint64_t sum = 0;
        lab_random(&lab, seed + i, &config, 5);
        schedule(&(vtac_vta_options){.level = 1}, &image);
        for (uint32_t n = 0; n < image.plan_count; n++) {
            sum += image.plans[n].cost.cycles;
        }
        assert_true(sum > 0);
        assert_in_range(image.cycles - sum, 1, 2 * (uint64_t)config.mem_latency + last_store);
        vtac_vta_image_free(&image);
        lab_free(&lab);
    }
}

static uint32_t tagged(const vtac_vta_image *image, uint32_t layer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < image->program.insn_count; i++) {
        assert_true(image->program.tags[i] <= image->plan_count);
        count += image->program.tags[i] == layer + 1;
    }
    return count;
}

static void test_joins(void **state)
{
    (void)state;
    vtac_vta_image image;
    build_joinable();
    schedule(&(vtac_vta_options){.level = 3}, &image);
    assert_true(lab.tensors[0].folded);
    assert_int_equal(lab.tensors[0].stored_c, 27); /* the whole window of 3 x 3 x 3 */
    assert_int_equal(image.plans[2].joined_into, 1);
    assert_int_equal(tagged(&image, 2), 0);
    assert_true(tagged(&image, 1) > 0);
    assert_int_equal(tagged(&image, 5), 0); /* the concatenation has nothing to move */
    assert_int_equal(lab.tensors[4].offset, lab.tensors[6].offset);
    vtac_vta_image_free(&image);
    lab_free(&lab);
}

static void test_no_joins(void **state)
{
    (void)state;
    vtac_vta_image image;
    build_joinable();
    schedule(&(vtac_vta_options){.no_fold = true, .no_join = true}, &image);
    assert_false(lab.tensors[0].folded);
    for (uint32_t n = 0; n < image.plan_count; n++) {
        assert_int_equal(image.plans[n].joined_into, -1);
        assert_true(tagged(&image, n) > 0);
        assert_true(image.plans[n].cost.cycles > 0);
    }
    vtac_vta_image_free(&image);
    lab_free(&lab);
}

/* The region gives what the formulas say, twice; says whether a layer's schedule has the word. */
static bool runs_as(const char *uri, const vtac_vta_options *options, const char *word)
{
    vtac_vta_image image;
    lab_device *device;
    vta_diag diag = {0};
    bool found = false;
    lab_finish(&lab);
    schedule(options, &image);
    for (uint32_t n = 0; n < lab.region.layer_count; n++) {
        found = found || strstr(image.plans[n].schedule, word) != NULL;
    }
    assert_int_equal(lab_device_open(uri, &lab, &image, &device, &diag), VTA_OK);
    for (uint32_t round = 0; round < 2; round++) {
        lab_values want, got = {{NULL}};
        char text[200];
        lab_draw_inputs(&lab, round, &want);
        lab_reference(&lab, &want);
        assert_int_equal(lab_device_run(device, &want, &got, NULL, &diag), VTA_OK);
        if (lab_differ(&lab, &want, &got, text, sizeof text)) {
            fail_msg("round %u: %s", round, text);
        }
        lab_values_free(&want);
        lab_values_free(&got);
    }
    lab_device_close(device);
    vtac_vta_image_free(&image);
    lab_free(&lab);
    return found;
}

static bool runs(const char *uri, int level, const char *word)
{
    return runs_as(uri, &(vtac_vta_options){.level = level}, word);
}

/* An expansion, a window by channels and a projection: nothing of the first goes through memory. */
static void test_on_chip(void **state)
{
    (void)state;
    vtac_vta_image image;
    const lab_conv wide = {.channels = 40, .groups = 1, .window = lab_window(1, 1, 0)},
                   each = {.channels = 40, .groups = 40, .window = lab_window(3, 2, 1)};
    lab_init(&lab, 5);
    const uint32_t x = lab_add_conv(&lab, lab_input(&lab, 1, 20, 33, 27), &wide);
    (void)lab_add_conv(&lab, lab_add_conv(&lab, x, &each), &wide);
    lab_finish(&lab);
    assert_int_equal(vta_config_load("pynq", &config, NULL), VTA_OK);
    schedule(&(vtac_vta_options){.level = 3, .no_join = true}, &image);
    const uint64_t apart = image.cycles;
    assert_int_equal(image.plans[0].feeds, -1);
    vtac_vta_image_free(&image);
    schedule(&(vtac_vta_options){.level = 3}, &image);
    assert_int_equal(image.plans[0].feeds, 1);
    assert_true(image.plans[0].cost.cycles > 0 && image.plans[1].cost.cycles > 0);
    assert_int_equal(image.plans[0].cost.bytes_written, 0);
    assert_non_null(strstr(image.plans[0].schedule, "on chip into"));
    assert_true(image.cycles < apart);
    for (uint32_t i = 0; i < image.program.insn_count; i++) {
        vta_insn insn;
        assert_int_equal(vta_insn_decode(&config, image.program.insns[i], &insn, NULL), VTA_OK);
        assert_false(insn.opcode == VTA_OP_STORE && image.program.tags[i] == 1);
    }
    vtac_vta_image_free(&image);
    lab_free(&lab);
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
}

/* An output block without channels, of two of a tile, takes a step a pixel, not the whole window. */
static void test_half_tiles(void **state)
{
    (void)state;
    static const struct {
        int64_t channels, in_blocks, used, filling;
    } rows[] = {{16, 1, 1, 1}, {5, 1, 1, 1}, {32, 1, 2, 0}, {40, 2, 3, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vtac_vta_image image;
        const lab_conv how = {.channels = rows[i].channels, .groups = 1, .window = lab_window(3, 1, 1)};
        lab_init(&lab, 8);
        (void)lab_add_conv(&lab, lab_add_rescale(&lab, lab_input(&lab, 1, rows[i].channels, 24, 20)), &how);
        lab_finish(&lab);
        assert_int_equal(vta_config_load("pynq512", &config, NULL), VTA_OK);
        schedule(&(vtac_vta_options){.level = 3}, &image);
        const int64_t steps = 24 * 20 * (rows[i].used * rows[i].in_blocks * 9 + rows[i].filling);
        assert_in_range(image.plans[1].cost.array, steps, steps + steps / 50);
        vtac_vta_image_free(&image);
        lab_free(&lab);
        assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
    }
}

/* A sum keeps the ALU busier than the array behind it: the array works on the window of the next tile
 * meanwhile. */
static void test_beside_sum(void **state)
{
    (void)state;
    vtac_vta_image image;
    const lab_conv window = {.channels = 64, .groups = 1, .window = lab_window(3, 1, 1)},
                   wide = {.channels = 256, .groups = 1, .window = lab_window(1, 1, 0)};
    lab_init(&lab, 6);
    const uint32_t x = lab_input(&lab, 1, 64, 28, 28), other = lab_input(&lab, 1, 256, 28, 28);
    const uint32_t y = lab_add_conv(&lab, lab_add_conv(&lab, x, &window), &wide);
    (void)lab_add_sum(&lab, y, other);
    lab_finish(&lab);
    assert_int_equal(vta_config_load("pynq", &config, NULL), VTA_OK);
    schedule(&(vtac_vta_options){.level = 3}, &image);
    assert_int_equal(image.plans[0].feeds, 1);
    assert_non_null(strstr(image.plans[1].schedule, "beside its next tile, sum joined"));
    const uint64_t work = image.plans[0].cost.array + image.plans[1].cost.array;
    assert_true(image.cycles < work + work / 16);
    assert_true(image.plans[1].cost.alu > image.plans[1].cost.array);
    vtac_vta_image_free(&image);
    lab_free(&lab);
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
}

/* Blocks that are a little slower as one group than one by one, and move half as much: they are groups. */
static void test_quiet_groups(void **state)
{
    (void)state;
    enum { BLOCKS = 3, MEMBERS = 3 };
    vtac_vta_image image;
    const lab_conv wide = {.channels = 192, .groups = 1, .window = lab_window(1, 1, 0)},
                   each = {.channels = 192, .groups = 192, .window = lab_window(3, 1, 1)},
                   narrow = {.channels = 32, .groups = 1, .window = lab_window(1, 1, 0)};
    lab_init(&lab, 9);
    uint32_t x = lab_input(&lab, 1, 32, 28, 28);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        const uint32_t windows = lab_add_conv(&lab, lab_add_conv(&lab, x, &wide), &each);
        x = lab_add_sum(&lab, lab_add_conv(&lab, windows, &narrow), x);
    }
    lab_finish(&lab);
    assert_int_equal(vta_config_load("pynq", &config, NULL), VTA_OK);
    schedule(&(vtac_vta_options){.level = 3}, &image);
    for (uint32_t i = 0, n = 0; i < BLOCKS; i++, n += MEMBERS + 1) {
        assert_int_equal(image.plans[n].feeds, n + 1);
        assert_int_equal(image.plans[n + 1].feeds, n + 2);
        assert_int_equal(image.plans[n + 1].cost.bytes_written, 0);
    }
    vtac_vta_image_free(&image);
    lab_free(&lab);
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
}

/* Images with more pixels than a stride can say, one after the other. */
static void test_large_image(void **state)
{
    (void)state;
    const lab_conv how = {.channels = 5, .groups = 1, .window = lab_window(1, 1, 0)};
    lab_init(&lab, 3);
    const uint32_t x = lab_add_conv(&lab, lab_input(&lab, 1, 9, 300, 301), &how);
    (void)lab_add_sum(&lab, lab_add_conv(&lab, x, &how), x);
    (void)runs("fsim:tiny?check=1", 0, "");
}

/* More padding than a LOAD has a field for: before, behind, above, all around, and of one row. */
static void test_wide_padding(void **state)
{
    (void)state;
    static const struct {
        int64_t kernel[2], dilation[2], before[2], after[2], size[2];
    } rows[] = {{{3, 3}, {18, 18}, {18, 18}, {18, 18}, {14, 14}},
                {{1, 3}, {1, 10}, {0, 20}, {0, 0}, {1, 40}},
                {{3, 1}, {17, 1}, {0, 0}, {34, 0}, {20, 5}},
                {{2, 2}, {1, 1}, {20, 1}, {0, 40}, {6, 6}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab_conv how = {.channels = 5, .groups = 1, .window = lab_window(1, 1, 0)};
        for (int d = 0; d < 2; d++) {
            how.window.kernel[d] = rows[i].kernel[d];
            how.window.dilation[d] = rows[i].dilation[d];
            how.window.before[d] = rows[i].before[d];
            how.window.after[d] = rows[i].after[d];
        }
        lab_init(&lab, 1);
        const uint32_t x = lab_add_rescale(&lab, lab_input(&lab, 1, 9, rows[i].size[0], rows[i].size[1]));
        (void)lab_add_conv(&lab, x, &how);
        (void)lab_add_max(&lab, x, &how.window);
        (void)runs("fsim:tiny?check=1", 0, "");
    }
}

/* Pools that are computed with their convolution, whose tiles leave rows to those below: windows that share
 * one row or two, padding above and below, one column of tiles and several, channels by themselves, more
 * images than one. */
static void test_kept_rows(void **state)
{
    (void)state;
    static const struct {
        int64_t images, in, channels, groups, size[2];
        int64_t kernel[2], stride[2], before[2], after[2];
        bool kept;
    } rows[] = {{1, 8, 8, 8, {33, 22}, {3, 3}, {2, 2}, {0, 0}, {0, 0}, true},
                {2, 9, 9, 9, {24, 31}, {3, 3}, {2, 2}, {1, 1}, {0, 1}, true},
                {3, 12, 12, 12, {17, 19}, {3, 3}, {2, 2}, {1, 0}, {1, 0}, true},
                {1, 6, 6, 6, {29, 18}, {5, 3}, {3, 2}, {2, 1}, {2, 0}, true},
                {1, 9, 7, 1, {27, 16}, {4, 2}, {2, 2}, {1, 0}, {2, 0}, true},
                {1, 30, 4, 1, {19, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false}};
    static const char *const names[] = {"tiny", "batch2", "rect"};
    uint32_t kept[sizeof rows / sizeof rows[0]] = {0};
    for (size_t i = 0; i < 3 * sizeof rows / sizeof rows[0]; i++) {
        const size_t r = i / 3;
        char uri[40];
        lab_conv how = {
            .channels = rows[r].channels, .groups = rows[r].groups, .window = lab_window(3, 1, 1)};
        assert_int_equal(vta_config_load(names[i % 3], &config, NULL), VTA_OK);
        lab_init(&lab, test_seed("vta_kept") + i);
        const uint32_t x = lab_add_conv(
            &lab, lab_input(&lab, rows[r].images, rows[r].in, rows[r].size[0], rows[r].size[1]), &how);
        for (int d = 0; d < 2; d++) {
            how.window.kernel[d] = rows[r].kernel[d];
            how.window.stride[d] = rows[r].stride[d];
            how.window.before[d] = rows[r].before[d];
            how.window.after[d] = rows[r].after[d];
        }
        (void)lab_add_max(&lab, x, &how.window);
        (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1&check=1", names[i % 3]);
        kept[r] += runs(uri, 3, "rows kept");
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        assert_true(kept[r] > 0 || !rows[r].kept);
    }
    assert_int_equal(load_config(state), 0);
}

/* Maximum pools that go first across and then down: windows of two and of three, padding on each side that
 * leaves each window its own row and column, one tile and many, images, input in parts; not where windows lie
 * otherwise. */
static void test_parted_pools(void **state)
{
    (void)state;
    static const struct {
        int64_t images, in, channels, kernel, size[2];
        int64_t pool[2], stride[2], before[2], after[2];
        bool parted;
    } rows[] = {{1, 8, 40, 1, {43, 37}, {3, 3}, {2, 2}, {0, 0}, {0, 0}, true},
                {2, 9, 33, 1, {44, 61}, {3, 3}, {2, 2}, {1, 1}, {0, 1}, true},
                {1, 12, 64, 3, {37, 58}, {3, 2}, {2, 2}, {1, 0}, {1, 0}, true},
                {1, 16, 48, 1, {60, 50}, {2, 3}, {2, 2}, {0, 0}, {0, 1}, true},
                {3, 7, 20, 1, {36, 90}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, true},
                {1, 300, 36, 1, {30, 21}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true},
                {1, 8, 40, 1, {40, 41}, {3, 3}, {2, 2}, {2, 0}, {0, 0}, false},
                {1, 8, 40, 1, {40, 41}, {3, 2}, {2, 2}, {0, 1}, {1, 0}, false},
                {1, 8, 40, 1, {40, 41}, {3, 3}, {1, 2}, {0, 0}, {0, 0}, false}};
    static const char *const names[] = {"pynq", "pynq512", "ultra96", "tiny", "batch2"};
    enum { ROWS = sizeof rows / sizeof rows[0], CONFIGS = sizeof names / sizeof names[0] };
    uint32_t parted[ROWS] = {0};
    for (size_t i = 0; i < ROWS * CONFIGS; i++) {
        const size_t r = i / CONFIGS;
        char uri[40];
        lab_conv how = {.channels = rows[r].channels,
                        .groups = 1,
                        .window = lab_window(rows[r].kernel, 1, rows[r].kernel / 2)};
        assert_int_equal(vta_config_load(names[i % CONFIGS], &config, NULL), VTA_OK);
        lab_init(&lab, test_seed("vta_parted") + i);
        const uint32_t in = lab_input(&lab, rows[r].images, rows[r].in, rows[r].size[0], rows[r].size[1]);
        const uint32_t x = lab_add_conv(&lab, lab_add_rescale(&lab, in), &how);
        for (int d = 0; d < 2; d++) {
            how.window.kernel[d] = rows[r].pool[d];
            how.window.stride[d] = rows[r].stride[d];
            how.window.before[d] = rows[r].before[d];
            how.window.after[d] = rows[r].after[d];
        }
        (void)lab_add_max(&lab, x, &how.window);
        (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1&check=1", names[i % CONFIGS]);
        parted[r] += runs(uri, 3, "first across");
    }
    for (size_t r = 0; r < ROWS; r++) {
        assert_true(rows[r].parted ? parted[r] > 0 : parted[r] == 0);
    }
    assert_int_equal(load_config(state), 0);
}

/* The way number `at` of those in whose text the word is, and how many there are. */
typedef struct nth_way {
    const char *word;
    uint32_t at, count;
} nth_way;

static uint32_t pick_nth(void *context, const vtac_kernel_space *space)
{
    nth_way *nth = context;
    uint32_t picked = UINT32_MAX, count = 0;
    for (uint32_t i = 0; i < space->count; i++) {
        if (strstr(space->points[i], nth->word) != NULL && count++ == nth->at) {
            picked = i;
        }
    }
    nth->count = count > 0 ? count : nth->count;
    return picked;
}

/* A convolution with a maximum pool behind it, windows of two or three, two apart. */
static void draw_pooled(uint64_t seed)
{
    rng r = {seed};
    lab_conv how = {.groups = 1, .channels = rng_between(&r, 1, 40)};
    const int64_t kernel = 1 + 2 * rng_between(&r, 0, 2), images = rng_between(&r, 1, 2);
    const int64_t in = rng_between(&r, 1, 100 / kernel), rows = rng_between(&r, 12, 30),
                  cols = rng_between(&r, 12, 30);
    how.window = lab_window(kernel, rng_between(&r, 1, 2), kernel / 2);
    lab_init(&lab, seed);
    const uint32_t x =
        lab_add_conv(&lab, lab_add_rescale(&lab, lab_input(&lab, images, in, rows, cols)), &how);
    for (int d = 0; d < 2; d++) {
        how.window.kernel[d] = rng_between(&r, 2, 3);
        how.window.stride[d] = 2;
        how.window.before[d] = rng_between(&r, 0, how.window.kernel[d] - 2);
        how.window.after[d] = rng_between(&r, 0, 1);
    }
    (void)lab_add_max(&lab, x, &how.window);
}

/* Whatever way parted sums are cut, not only those that are fastest: blocks and input in parts, rows kept. */
static void test_ways_of_parted_pools(void **state)
{
    (void)state;
    static const char *const names[] = {"pynq", "pynq512", "tiny", "batch2"};
    enum { CONFIGS = sizeof names / sizeof names[0], EACH = 6, STEP = 3 };
    const uint64_t seed = test_seed("vta_parted_ways");
    uint32_t ran = 0;
    for (uint64_t i = 0; i < EACH * CONFIGS; i++) {
        char uri[40];
        nth_way nth = {.word = " parted"};
        const vtac_schedules schedules = {pick_nth, &nth};
        (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1&check=1", names[i % CONFIGS]);
        assert_int_equal(vta_config_load(names[i % CONFIGS], &config, NULL), VTA_OK);
        nth.count = STEP;
        for (nth.at = (uint32_t)i % STEP; nth.at < nth.count; nth.at += STEP) {
            draw_pooled(seed + i);
            ran += runs_as(uri, &(vtac_vta_options){.level = 2, .schedules = &schedules}, "first across");
        }
    }
    assert_true(ran > EACH * CONFIGS);
    assert_int_equal(load_config(state), 0);
}

/* For each of two layers the number of the way that it is to have, and how many there are. */
typedef struct pair_of_ways {
    const char *first;
    uint32_t at[2], count[2];
} pair_of_ways;

static uint32_t pick_pair(void *context, const vtac_kernel_space *space)
{
    pair_of_ways *pair = context;
    const int own = strcmp(space->step, pair->first) != 0;
    pair->count[own] = space->count;
    return pair->at[own];
}

/* At -O3 ways are chosen among a layer's neighbours: of two layers that follow each other, each way tried
 * with each, the fastest pair is hardly faster; a single region may lose more, where the search stops early.
 */
static void test_pairs(void **state)
{
    (void)state;
    static const char *const names[] = {"pynq", "pynq512", "ultra96", "tiny"};
    enum { CONFIGS = sizeof names / sizeof names[0] };
    const double max = 1.015; /* times the fastest pairs' */
    const uint64_t seed = test_seed("vta_pairs");
    double logs = 0;
    for (uint64_t i = 0; i < CONFIGS; i++) {
        rng r = {seed + i};
        vtac_vta_image image;
        uint64_t best = UINT64_MAX;
        assert_int_equal(vta_config_load(names[i], &config, NULL), VTA_OK);
        lab_init(&lab, seed + i);
        uint32_t x = lab_add_rescale(
            &lab, lab_input(&lab, 1, rng_between(&r, 8, 40), rng_between(&r, 6, 20), rng_between(&r, 6, 20)));
        for (uint32_t k = 0; k < 2; k++) {
            const int64_t kernel = 1 + 2 * rng_between(&r, 0, 1);
            x = lab_add_conv(&lab, x,
                             &(lab_conv){.channels = rng_between(&r, 8, 60),
                                         .groups = 1,
                                         .window = lab_window(kernel, rng_between(&r, 1, 2), kernel / 2)});
        }
        lab_finish(&lab);
        pair_of_ways pair = {.first = lab.layers[1].name, .count = {1, 1}};
        const vtac_schedules schedules = {pick_pair, &pair};
        for (pair.at[0] = 0; pair.at[0] < pair.count[0]; pair.at[0]++) {
            for (pair.at[1] = 0; pair.at[1] < pair.count[1]; pair.at[1]++) {
                schedule(&(vtac_vta_options){.level = 2, .schedules = &schedules, .predict_only = true},
                         &image);
                best = image.cycles < best ? image.cycles : best;
                vtac_vta_image_free(&image);
            }
        }
        schedule(&(vtac_vta_options){.level = 3, .predict_only = true}, &image);
        print_message("%s: %" PRIu32 " by %" PRIu32 " ways, the best %" PRIu64 ", chosen %" PRIu64 "\n",
                      names[i], pair.count[0], pair.count[1], best, image.cycles);
        assert_true(image.cycles > 0);
        logs += log((double)image.cycles / (double)best);
        vtac_vta_image_free(&image);
        lab_free(&lab);
    }
    print_message("%.4f times the fastest pairs' in the mean\n", exp(logs / CONFIGS));
    assert_true(exp(logs / CONFIGS) < max);
    assert_int_equal(load_config(state), 0);
}

/* Means that are computed with their convolution: of whole planes, of windows apart, of windows that share
 * rows; not where padding makes means of fewer. */
static void test_joined_means(void **state)
{
    (void)state;
    static const struct {
        int64_t images, channels, groups, size[2], kernel[2], stride[2], before;
        bool joined;
    } rows[] = {
        {1, 40, 1, {13, 11}, {13, 11}, {1, 1}, 0, true}, {3, 12, 12, {7, 9}, {7, 9}, {1, 1}, 0, true},
        {2, 20, 1, {12, 14}, {2, 2}, {2, 2}, 0, true},   {1, 16, 1, {15, 17}, {3, 3}, {2, 2}, 0, true},
        {1, 9, 1, {1, 12}, {1, 12}, {1, 1}, 0, true},    {1, 9, 1, {9, 1}, {9, 1}, {1, 1}, 0, true},
        {1, 8, 1, {12, 12}, {3, 3}, {2, 2}, 1, false}};
    enum { ROWS = sizeof rows / sizeof rows[0], CONFIGS = 4 };
    static const char *const names[CONFIGS] = {"tiny", "batch2", "rect", "pynq"};
    uint32_t joined[ROWS] = {0};
    for (size_t i = 0; i < ROWS * CONFIGS; i++) {
        const size_t r = i / CONFIGS;
        char uri[40];
        const lab_conv how = {.channels = rows[r].channels,
                              .groups = rows[r].groups,
                              .window = lab_window(rows[r].size[0] > 1 && rows[r].size[1] > 1 ? 3 : 1, 1,
                                                   rows[r].size[0] > 1 && rows[r].size[1] > 1)};
        vtac_vta_window window = lab_window(1, 1, rows[r].before);
        assert_int_equal(vta_config_load(names[i % CONFIGS], &config, NULL), VTA_OK);
        lab_init(&lab, test_seed("vta_means") + i);
        const uint32_t in =
            lab_input(&lab, rows[r].images, rows[r].channels, rows[r].size[0], rows[r].size[1]);
        for (int d = 0; d < 2; d++) {
            window.kernel[d] = rows[r].kernel[d];
            window.stride[d] = rows[r].stride[d];
        }
        const vtac_vta_window none = lab_window(1, 1, 0);
        (void)lab_add_average(&lab, lab_add_conv(&lab, in, &how), &window, &none);
        (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1&check=1", names[i % CONFIGS]);
        joined[r] += runs(uri, 3, "pool joined");
    }
    for (size_t r = 0; r < ROWS; r++) {
        assert_true(rows[r].joined ? joined[r] > 0 : joined[r] == 0);
    }
    assert_int_equal(load_config(state), 0);
}

/* Two images of two channels, a depthwise one, a sum, then strides of two and a dilation. */
static void build_thin(uint64_t seed)
{
    const vtac_vta_window dilated = {
        .kernel = {1, 3}, .stride = {1, 2}, .dilation = {1, 2}, .before = {0, 3}, .after = {0, 2}};
    lab_conv how = {.channels = 2, .groups = 1, .window = lab_window(3, 1, 1), .weight_zero = true};
    lab_init(&lab, seed);
    const uint32_t x = lab_add_conv(&lab, lab_input(&lab, 1, 3, 8, 32), &how);
    const uint32_t y = lab_add_conv(&lab, x, &how);
    const uint32_t sum = lab_add_sum(&lab, lab_add_rescale(&lab, y), x);
    how.groups = 2;
    const uint32_t z = lab_add_conv(&lab, sum, &how);
    how = (lab_conv){.channels = 3, .groups = 1, .window = dilated};
    const uint32_t half = lab_add_conv(&lab, z, &how);
    how = (lab_conv){.channels = 6, .groups = 3, .window = lab_window(3, 2, 1)};
    (void)lab_add_conv(&lab, half, &how);
    lab_finish(&lab);
}

/* Images of two channels between wider ones: a window by channels, and dense ones whose outputs stay apart.
 */
static void build_split(uint64_t seed)
{
    lab_conv how = {.channels = 2, .groups = 1, .window = lab_window(3, 1, 1)};
    lab_init(&lab, seed);
    uint32_t x = lab_add_conv(&lab, lab_input(&lab, 2, 3, 8, 32), &how);
    how.groups = 2;
    x = lab_add_conv(&lab, x, &how);
    how = (lab_conv){.channels = 7, .groups = 1, .window = lab_window(1, 1, 0), .weight_zero = true};
    x = lab_add_conv(&lab, x, &how);
    how = (lab_conv){.channels = 2, .groups = 1, .window = lab_window(3, 2, 1)};
    x = lab_add_conv(&lab, x, &how);
    how = (lab_conv){.channels = 5, .groups = 1, .window = lab_window(3, 1, 1)};
    (void)lab_add_conv(&lab, x, &how);
    lab_finish(&lab);
}

/* Images with fewer channels than a tile has lanes: as many pixels as fit are one. */
static void test_merged_pixels(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("vta_schedule");
    for (uint64_t i = 0; i < 4; i++) {
        vtac_vta_image apart, merged;
        build_thin(seed + i);
        assert_true(runs_as("fsim:tiny?strict=1&check=1",
                            &(vtac_vta_options){.level = (int)i, .all_merges = true}, "2 pixels in one"));
        build_split(seed + i);
        const vtac_vta_options splits = {.level = (int)i, .all_merges = true, .all_splits = true};
        assert_true(runs_as("fsim:tiny?strict=1&check=1", &splits, "2 pixels at once"));
        build_thin(seed + i);
        schedule(&(vtac_vta_options){.level = 3, .no_merge = true}, &apart);
        schedule(&(vtac_vta_options){.level = 3}, &merged);
        assert_true(merged.cycles < apart.cycles);
        vtac_vta_image_free(&apart);
        vtac_vta_image_free(&merged);
        lab_free(&lab);
    }
}

/* Dense layers of few inputs, where a tile has two output blocks: two of these share tiles of weights. */
static void test_two_blocks_in_a_tile(void **state)
{
    static const int64_t channels[][4] = {{9, 70, 16, 33}, {16, 17, 3, 64}};
    const uint64_t seed = test_seed("vta_schedule");
    assert_int_equal(vta_config_load("pynq512", &config, NULL), VTA_OK);
    for (size_t i = 0; i < 4; i++) {
        lab_init(&lab, seed + i);
        uint32_t x = lab_input(&lab, 1, 40, 1, 1);
        for (size_t k = 0; k < 4; k++) {
            const lab_conv how = {.channels = channels[i % 2][k],
                                  .groups = 1,
                                  .window = lab_window(1, 1, 0),
                                  .weight_zero = k % 2 == i / 2};
            x = lab_add_conv(&lab, x, &how);
        }
        assert_true(
            runs("fsim:pynq512?strict=1&check=1", i % 2 == 0 ? 3 : 0, "two blocks in a tile of weights"));
    }
    assert_int_equal(load_config(state), 0);
}

static void refuses(const char *sentence)
{
    vta_diag diag = {0};
    vtac_vta_image image;
    vtac_vta_cost cost;
    const uint32_t last = lab.region.layer_count - 1;
    assert_int_equal(vtac_vta_supports(&config, &lab.region, last, &diag), VTA_UNSUPPORTED);
    if (strstr(diag.text, sentence) == NULL) {
        fail_msg("'%s' does not say '%s'", diag.text, sentence);
    }
    assert_int_equal(vtac_vta_estimate(&config, &lab.region, last, &cost, NULL), VTA_UNSUPPORTED);
    lab_finish(&lab);
    diag = (vta_diag){0};
    assert_int_equal(vtac_vta_schedule(&config, &lab.region, &(vtac_vta_options){0}, &image, &diag),
                     VTA_UNSUPPORTED);
    assert_non_null(strstr(diag.text, lab.layers[last].name));
    assert_null(image.plans);
    lab_free(&lab);
}

static void test_refusals(void **state)
{
    (void)state;
    lab_conv how = {.channels = 4, .groups = 1};
    lab_init(&lab, 1);
    const vtac_vta_window window = lab_window(2, 2, 2), none = lab_window(2, 2, 0);
    (void)lab_add_average(&lab, lab_input(&lab, 1, 4, 8, 8), &window, &none);
    refuses("lie in the padding altogether");

    lab_init(&lab, 1);
    const uint32_t a = lab_input(&lab, 1, 4, 8, 8), b = lab_input(&lab, 1, 4, 8, 1);
    (void)lab_add_sum(&lab, a, b);
    refuses("broadcast");

    static int32_t bias[4] = {0, INT32_MIN, 0, 0};
    lab_init(&lab, 1);
    how.window = lab_window(1, 1, 0);
    (void)lab_add_conv(&lab, lab_input(&lab, 1, 4, 8, 8), &how);
    lab.layers[0].bias = bias;
    refuses("leaves no room for a sum in 32 bits");
}

static void test_empty(void **state)
{
    (void)state;
    vta_diag diag = {0};
    vtac_vta_image image;
    lab_init(&lab, 1);
    assert_int_equal(vtac_vta_schedule(&config, &lab.region, &(vtac_vta_options){0}, &image, &diag),
                     VTA_INVALID);
    assert_non_null(strstr(diag.text, "no layers"));
    lab_free(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_shares_sum_to_the_whole),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_no_joins),
        cmocka_unit_test(test_on_chip),
        cmocka_unit_test(test_half_tiles),
        cmocka_unit_test(test_beside_sum),
        cmocka_unit_test(test_quiet_groups),
        cmocka_unit_test(test_large_image),
        cmocka_unit_test(test_wide_padding),
        cmocka_unit_test(test_kept_rows),
        cmocka_unit_test(test_parted_pools),
        cmocka_unit_test(test_ways_of_parted_pools),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_joined_means),
        cmocka_unit_test(test_merged_pixels),
        cmocka_unit_test(test_two_blocks_in_a_tile),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, load_config, NULL);
}
