/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads that go ahead, and calls in another order, change no result: random lists of calls are run before and
 * after by a machine that keeps, in every place, a number made of all that went into it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seed.h"

#include "sched.h"
#include "timing.h"

enum { ENTRIES = 64, BYTES = 4096, STEPS = 60, LISTS = 400 };

static vta_config config;

static int load_config(void **state)
{
    (void)state;
    return vta_config_load("tiny", &config, NULL) == VTA_OK ? 0 : -1;
}

/* The machine. */

typedef struct toy {
    uint64_t inp[ENTRIES], wgt[ENTRIES], acc[ENTRIES];
    uint64_t work[BYTES];
} toy;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x =
        (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2))) * UINT64_C(0xff51afd7ed558ccd);
    return x ^ x >> 32;
}

static void toy_load(toy *m, const vta_load2d *l)
{
    const int64_t bytes = config.elem_bytes[l->memory];
    uint64_t *to = l->memory == VTA_MEM_INP ? m->inp : vta_loads_wgt(l->memory) ? m->wgt : m->acc;
    int64_t at = l->sram;
    for (int64_t y = -l->y_pad_0; y < l->y_size + l->y_pad_1; y++) {
        for (int64_t x = -l->x_pad_0; x < l->x_size + l->x_pad_1; x++, at++) {
            const bool inside = y >= 0 && y < l->y_size && x >= 0 && x < l->x_size;
            to[at] = inside ? 1 : 2;
            for (int64_t b = 0; inside && b < bytes; b++) {
                const int64_t address = (l->offset + y * l->x_stride + x) * bytes + b;
                to[at] = mix(to[at], l->buffer.index == WORK_BUFFER ? m->work[address] : (uint64_t)address);
            }
        }
    }
}

static void toy_store(toy *m, const vta_store2d *s)
{
    const int64_t bytes = config.elem_bytes[VTA_MEM_OUT];
    for (int64_t i = 0; i < s->y_size * s->x_size; i++) {
        for (int64_t b = 0; b < bytes; b++) {
            const int64_t element = s->offset + i / s->x_size * s->x_stride + i % s->x_size;
            m->work[element * bytes + b] = mix(m->acc[s->sram + i], (uint64_t)b);
        }
    }
}

static void toy_gemm(toy *m, const step_list *list, const vta_gemm *g)
{
    uint32_t count;
    const vta_uop *u = vtac_vta_list_uops(list, g->kernel, &count);
    for (int64_t o = 0; o < g->iter_out; o++) {
        for (int64_t i = 0; i < g->iter_in; i++) {
            for (uint32_t k = 0; k < count; k++) {
                uint64_t *dst = &m->acc[u[k].dst + o * g->dst_out + i * g->dst_in];
                if (g->reset) {
                    *dst = 0;
                    continue;
                }
                const uint64_t src = m->inp[u[k].src + o * g->src_out + i * g->src_in];
                *dst = mix(mix(*dst, src), m->wgt[u[k].aux]);
            }
        }
    }
}

static void toy_depthwise(toy *m, const step_list *list, const vta_depthwise *d)
{
    uint32_t count;
    const vta_uop *u = vtac_vta_list_uops(list, d->kernel, &count);
    for (int64_t o = 0; o < d->iter_out; o++) {
        for (int64_t t = 0; t < d->taps_y * d->taps_x; t++) {
            uint64_t *dst = &m->acc[u->dst + o * d->dst_out];
            const int64_t tap = t / d->taps_x * d->row_step + t % d->taps_x * d->col_step;
            *dst = mix(mix(*dst, m->inp[u->src + o * d->src_out + tap]), m->wgt[u->aux]);
        }
    }
}

static void toy_requant(toy *m, const vta_requant *r)
{
    uint64_t *to = r->to_inp ? m->inp : m->acc;
    for (int64_t k = 0; k < r->iter_in; k++) {
        const uint64_t record = m->acc[2 * r->params];
        to[r->dst + k * r->dst_in] = mix(mix(m->acc[r->src + k * r->src_in], 5), record);
    }
}

static void toy_alu(toy *m, const step_list *list, const vta_alu *a)
{
    uint32_t count;
    const vta_uop *u = vtac_vta_list_uops(list, a->kernel, &count);
    for (int64_t i = 0; i < a->iter_in; i++) {
        uint64_t *dst = &m->acc[u->dst + i * a->dst_in];
        *dst = mix(*dst, m->acc[u->src + i * a->src_in]);
    }
}

static void toy_run(toy *m, const step_list *list)
{
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < list->steps.count; i++) {
        const step *s = vta_vec_at(&list->steps, i);
        switch (s->kind) {
        case STEP_LOAD: toy_load(m, &s->load); break;
        case STEP_STORE: toy_store(m, &s->store); break;
        case STEP_GEMM: toy_gemm(m, list, &s->gemm); break;
        case STEP_DEPTHWISE: toy_depthwise(m, list, &s->depthwise); break;
        case STEP_REQUANT: toy_requant(m, &s->requant); break;
        case STEP_ALU: toy_alu(m, list, &s->alu); break;
        }
    }
}

/* Random lists. */

static int64_t below(rng *r, int64_t bound)
{
    return (int64_t)(rng_next(r) % (uint64_t)bound);
}

static void add_load(rng *r, step_list *list, vta_memory memory)
{
    const int64_t x = 1 + below(r, 4), y = 1 + below(r, 3), pad = memory == VTA_MEM_INP ? below(r, 2) : 0;
    const int64_t fits = (y + 2 * pad) * (x + 2 * pad);
    const bool work = (memory == VTA_MEM_INP || memory == VTA_MEM_ACC8) && below(r, 4) > 0;
    vtac_vta_list_load(list, &(vta_load2d){.memory = memory,
                                           .sram = below(r, ENTRIES - fits + 1),
                                           .buffer = {work ? WORK_BUFFER : CONSTANTS_BUFFER},
                                           .offset = below(r, 60),
                                           .y_size = y,
                                           .x_size = x,
                                           .x_stride = x + below(r, 3),
                                           .y_pad_0 = pad,
                                           .y_pad_1 = pad,
                                           .x_pad_0 = pad,
                                           .x_pad_1 = pad});
}

static void add_gemm(rng *r, step_list *list)
{
    vta_uop uops[3];
    const uint32_t count = 1 + (uint32_t)below(r, 3);
    for (uint32_t k = 0; k < count; k++) {
        uops[k] = (vta_uop){
            .dst = (uint32_t)below(r, 8), .src = (uint32_t)below(r, 48), .aux = (uint32_t)below(r, ENTRIES)};
    }
    vtac_vta_list_gemm(list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(list, uops, count),
                                   .reset = below(r, 4) == 0,
                                   .iter_out = 1 + below(r, 3),
                                   .iter_in = 1 + below(r, 3),
                                   .dst_out = below(r, 4),
                                   .dst_in = below(r, 4),
                                   .src_out = below(r, 4),
                                   .src_in = below(r, 4)},
                       (list_range){0, ENTRIES});
}

static void add_depthwise(rng *r, step_list *list)
{
    const vta_uop uop = {
        .dst = (uint32_t)below(r, 8), .src = (uint32_t)below(r, 40), .aux = (uint32_t)below(r, ENTRIES)};
    vtac_vta_list_depthwise(list,
                            &(vta_depthwise){.kernel = vtac_vta_list_kernel_of(list, &uop, 1),
                                             .iter_out = 1 + below(r, 3),
                                             .iter_in = 1,
                                             .dst_out = below(r, 4),
                                             .src_out = below(r, 4),
                                             .taps_x = 1 + below(r, 3),
                                             .taps_y = 1 + below(r, 3),
                                             .col_step = 1,
                                             .row_step = below(r, 6)},
                            (list_range){0, ENTRIES});
}

static void add_store(rng *r, step_list *list)
{
    const int64_t x = 1 + below(r, 4), y = 1 + below(r, 2);
    vtac_vta_list_store(list, &(vta_store2d){.sram = below(r, ENTRIES - x * y + 1),
                                             .buffer = {WORK_BUFFER},
                                             .offset = below(r, 60),
                                             .y_size = y,
                                             .x_size = x,
                                             .x_stride = x + below(r, 3)});
}

/* Into INP. */
static void add_requant(rng *r, step_list *list)
{
    const int64_t src = below(r, ENTRIES - 4);
    vtac_vta_list_requant(list,
                          &(vta_requant){.dst = below(r, 40),
                                         .src = src,
                                         .iter_out = 1,
                                         .iter_in = 1 + below(r, 4),
                                         .dst_in = 1 + below(r, 3),
                                         .src_in = 1,
                                         .to_inp = true},
                          (list_range){src, 4}, (list_range){src, 4});
}

/* Into ACC, by a record there. */
static void add_scaling(rng *r, step_list *list)
{
    const int64_t src = below(r, 40), dst = below(r, 40);
    vtac_vta_list_requant(list,
                          &(vta_requant){.dst = dst,
                                         .src = src,
                                         .params = below(r, ENTRIES / 2),
                                         .iter_out = 1,
                                         .iter_in = 1 + below(r, 5),
                                         .dst_in = below(r, 4),
                                         .src_in = below(r, 4)},
                          (list_range){0, ENTRIES}, (list_range){0, ENTRIES});
}

static void add_alu(rng *r, step_list *list)
{
    const vta_uop uop = {.dst = (uint32_t)below(r, 40), .src = (uint32_t)below(r, 40)};
    vtac_vta_list_alu(list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(list, &uop, 1),
                                 .op = VTA_ALU_ADD,
                                 .iter_out = 1,
                                 .iter_in = 1 + below(r, 5),
                                 .dst_in = below(r, 4),
                                 .src_in = below(r, 4)},
                      (list_range){0, ENTRIES}, (list_range){0, ENTRIES});
}

/* Calls of a few layers, which may be one beside the other. */
static void draw_layers(rng *r, step_list *list)
{
    static const vta_memory accumulators[] = {VTA_MEM_ACC, VTA_MEM_ACC8};
    for (uint32_t i = 0; i < STEPS; i++) {
        list->tag = 1 + i / 8 + (uint32_t)below(r, 3);
        switch (below(r, 8)) {
        case 0: add_load(r, list, VTA_MEM_INP); break;
        case 1: add_load(r, list, VTA_MEM_WGT); break;
        case 2: add_load(r, list, accumulators[below(r, 2)]); break;
        case 3: add_gemm(r, list); break;
        case 4: add_scaling(r, list); break;
        case 5: add_requant(r, list); break;
        case 6: add_alu(r, list); break;
        default: add_store(r, list); break;
        }
    }
    vtac_vta_list_flush(list);
}

static void draw(rng *r, step_list *list)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        switch (below(r, 7)) {
        case 0:
        case 1: add_load(r, list, VTA_MEM_INP); break;
        case 2: add_load(r, list, below(r, 2) == 0 ? VTA_MEM_WGT4 : VTA_MEM_WGT); break;
        case 3: add_gemm(r, list); break;
        case 4: add_depthwise(r, list); break;
        case 5: add_requant(r, list); break;
        default: add_store(r, list); break;
        }
        list->tag = i + 1; /* the call's number */
    }
    vtac_vta_list_flush(list);
}

static void test_results_stay(void **state)
{
    (void)state;
    static toy before, after;
    const uint64_t seed = test_seed("vta_ahead");
    size_t moved = 0;
    for (uint64_t n = 0; n < LISTS; n++) {
        step_list list;
        rng r = rng_split(seed, n);
        uint32_t first[STEPS + 1], loads = 0, last_load = 0;
        vtac_vta_list_init(&list);
        draw(&r, &list);
        assert_false(list.failed);
        for (size_t i = 0; i < list.steps.count; i++) {
            first[i] = ((const step *)vta_vec_at(&list.steps, i))->tag;
        }
        toy_run(&before, &list);
        vtac_vta_list_load_ahead(&list, &config, config.mem_latency);
        toy_run(&after, &list);
        assert_memory_equal(&before, &after, sizeof before);
        for (size_t i = 0; i < list.steps.count; i++) {
            const step *s = vta_vec_at(&list.steps, i);
            moved += s->tag != first[i];
            if (s->kind == STEP_LOAD) { /* in their own order */
                assert_true(loads++ == 0 || s->tag > last_load);
                last_load = s->tag;
            }
        }
        vtac_vta_list_free(&list);
    }
    assert_true(moved > LISTS);
}

static void test_ordered_results_stay(void **state)
{
    (void)state;
    static toy before, after;
    const uint64_t seed = test_seed("vta_order");
    static const order_rule rules[] = {ORDER_CELLS, ORDER_LAYERS, ORDER_FREE, ORDER_LATE};
    enum { RULES = sizeof rules / sizeof rules[0] };
    size_t changed = 0;
    machine m;
    assert_int_equal(vtac_vta_machine_of(&config, &m, NULL), VTA_OK);
    for (uint64_t n = 0; n < RULES * LISTS; n++) {
        step_list list;
        rng r = rng_split(seed, n);
        vtac_vta_list_init(&list);
        draw_layers(&r, &list);
        assert_false(list.failed);
        const uint64_t hash = vtac_vta_list_hash(&list);
        toy_run(&before, &list);
        vtac_vta_list_order(&list, &m, BYTES, rules[n % RULES]);
        assert_false(list.failed);
        assert_int_equal(list.steps.count, STEPS);
        toy_run(&after, &list);
        assert_memory_equal(&before, &after, sizeof before);
        changed += vtac_vta_list_hash(&list) != hash;
        vtac_vta_list_free(&list);
    }
    assert_true(changed > RULES * LISTS / 2);
}

static void test_hoisted_results_stay(void **state)
{
    (void)state;
    static toy before, after;
    const uint64_t seed = test_seed("vta_early");
    size_t faster = 0;
    machine m;
    assert_int_equal(vtac_vta_machine_of(&config, &m, NULL), VTA_OK);
    for (uint64_t n = 0; n < LISTS; n++) {
        step_list list;
        rng r = rng_split(seed, n);
        vtac_vta_list_init(&list);
        draw_layers(&r, &list);
        vtac_vta_list_load_ahead(&list, &config, config.mem_latency);
        assert_false(list.failed);
        const uint64_t cycles = vtac_vta_timing_of(&m, &list, BYTES, NULL, 0);
        toy_run(&before, &list);
        vtac_vta_list_hoist(&list, &m, BYTES);
        assert_false(list.failed);
        assert_int_equal(list.steps.count, STEPS);
        toy_run(&after, &list);
        assert_memory_equal(&before, &after, sizeof before);
        assert_true(vtac_vta_timing_of(&m, &list, BYTES, NULL, 0) <= cycles);
        faster += vtac_vta_timing_of(&m, &list, BYTES, NULL, 0) < cycles;
        vtac_vta_list_free(&list);
    }
    assert_true(faster > LISTS / 8);
}

/* Two pieces in two halves of INP: the second one's load stands before the first one's work. */
static void test_hides_behind_work(void **state)
{
    (void)state;
    step_list list;
    vtac_vta_list_init(&list);
    for (int64_t i = 0; i < 3; i++) {
        const vta_uop uop = {.dst = (uint32_t)(i % 2), .src = (uint32_t)(i % 2 * 32)};
        vtac_vta_list_load(&list, &(vta_load2d){.memory = VTA_MEM_INP,
                                                .sram = i % 2 * 32,
                                                .buffer = {WORK_BUFFER},
                                                .offset = i * 32,
                                                .y_size = 1,
                                                .x_size = 32,
                                                .x_stride = 32});
        vtac_vta_list_gemm(
            &list,
            &(vta_gemm){
                .kernel = vtac_vta_list_kernel_of(&list, &uop, 1), .iter_out = 1, .iter_in = 32, .src_in = 1},
            (list_range){i % 2, 1});
    }
    vtac_vta_list_load_ahead(&list, &config, config.mem_latency);
    static const step_kind want[] = {STEP_LOAD, STEP_LOAD, STEP_GEMM, STEP_LOAD, STEP_GEMM, STEP_GEMM};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_int_equal(((const step *)vta_vec_at(&list.steps, i))->kind, want[i]);
    }
    vtac_vta_list_free(&list);
}

/* One call of each kind. What `change` names is one larger than in list 0. */
enum { CHANGES = 11 };
static uint64_t hash_of(int change)
{
    int64_t by[CHANGES + 1] = {0};
    step_list list;
    by[change] = 1;
    vtac_vta_list_init(&list);
    const vta_uop uops[] = {{.dst = 3, .src = (uint32_t)(5 + by[1])}, {.dst = 4}};
    vtac_vta_list_load(&list, &(vta_load2d){.memory = by[2] > 0 ? VTA_MEM_WGT : VTA_MEM_INP,
                                            .buffer = {by[3] > 0 ? WORK_BUFFER : CONSTANTS_BUFFER},
                                            .offset = by[4],
                                            .y_size = 2,
                                            .x_size = 3,
                                            .x_stride = 3 + by[5]});
    const vta_kernel kernel = vtac_vta_list_kernel_of(&list, uops, 1 + (uint32_t)by[6]);
    vtac_vta_list_gemm(&list, &(vta_gemm){.kernel = kernel, .iter_out = 2, .iter_in = 4 + by[7]},
                       (list_range){0, 8});
    vtac_vta_list_depthwise(
        &list, &(vta_depthwise){.kernel = kernel, .iter_out = 1, .iter_in = 1, .taps_x = 3 + by[8]},
        (list_range){0, 8});
    vtac_vta_list_alu(&list, &(vta_alu){.kernel = kernel, .iter_out = 1, .iter_in = 1, .use_imm = by[9] > 0},
                      (list_range){0, 8}, (list_range){0, 8});
    vtac_vta_list_requant(&list, &(vta_requant){.iter_out = 1, .iter_in = 1, .params = 16 + by[10]},
                          (list_range){0, 8}, (list_range){0, 8});
    vtac_vta_list_store(
        &list, &(vta_store2d){.buffer = {WORK_BUFFER}, .y_size = 1, .x_size = 8 + by[11], .x_stride = 8});
    vtac_vta_list_flush(&list);
    const uint64_t hash = vtac_vta_list_hash(&list);
    vtac_vta_list_free(&list);
    return hash;
}

static void test_hash_tells_lists_apart(void **state)
{
    (void)state;
    uint64_t hashes[CHANGES + 1];
    for (int i = 0; i <= CHANGES; i++) {
        hashes[i] = hash_of(i);
        assert_int_equal(hash_of(i), hashes[i]);
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(hashes[k], hashes[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_stay),           cmocka_unit_test(test_ordered_results_stay),
        cmocka_unit_test(test_hoisted_results_stay),   cmocka_unit_test(test_hides_behind_work),
        cmocka_unit_test(test_hash_tells_lists_apart),
    };
    return cmocka_run_group_tests(tests, load_config, NULL);
}
