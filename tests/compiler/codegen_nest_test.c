/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of finished nests (vtac_nest_schedules): random nests, with sums in elements and in locals, with
 * places that meet and conditions, are run statement by statement as they were and by each schedule that is
 * legal; the arguments must be the same to the bit, on two inputs. Iterations of a parallel loop come
 * backwards, and find nothing in the thread's own memory. That nests whose order matters are refused is told
 * by name. Nests that are bound to work items run by one, several, and as many items as there are iterations,
 * and no item may touch an element that another one writes. VTAC_SEED chooses other nests.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../compiler/src/gpu/gpu.h"
#include "rng.h"
#include "seed.h"
#include "vtac/loop.h"

enum { ELEMENTS = 4100, BUFFERS = 5, VARIABLES = 256, NESTS = 400, MAX = 96 };

/* ---- running a nest, statement by statement */

/* The items that touched each element of the arguments: none is 0. */
enum { ARGUMENTS = 3, SEVERAL_ITEMS = -1 };
typedef struct item_marks {
    int64_t item; /* at work, from 1; 0: nobody looks */
    int64_t writer[ARGUMENTS][ELEMENTS], reader[ARGUMENTS][ELEMENTS];
    uint32_t races;
} item_marks;

static void mark_read(item_marks *marks, uint32_t buffer, int64_t at)
{
    if (marks == NULL || buffer >= ARGUMENTS) {
        return;
    }
    int64_t *reader = &marks->reader[buffer][at];
    marks->races += marks->writer[buffer][at] != 0 && marks->writer[buffer][at] != marks->item;
    *reader = *reader == 0 || *reader == marks->item ? marks->item : SEVERAL_ITEMS;
}

static void mark_write(item_marks *marks, uint32_t buffer, int64_t at)
{
    if (marks == NULL || buffer >= ARGUMENTS) {
        return;
    }
    const int64_t reader = marks->reader[buffer][at];
    const int64_t writer = marks->writer[buffer][at];
    marks->races += (reader != 0 && reader != marks->item) || (writer != 0 && writer != marks->item);
    marks->writer[buffer][at] = marks->item;
}

typedef struct machine {
    const vtac_kernel *k;
    item_marks *marks; /* NULL: nobody looks */
    float memory[BUFFERS][ELEMENTS];
    int64_t var[VARIABLES]; /* of loops and of named places; named values are floats */
    float value[VARIABLES];
    bool is_float[VARIABLES];
} machine;

static uint32_t number_of(const machine *m, const vtac_buffer *b)
{
    uint32_t n = 0;
    while (m->k->buffers[n] != b) {
        n++;
    }
    return n;
}

static int64_t place(const machine *m, const vtac_expr *e)
{
    switch ((int)e->op) {
    case VTAC_E_INT: return e->i;
    case VTAC_E_VAR: return m->var[e->var];
    case VTAC_E_ADD: return place(m, e->in[0]) + place(m, e->in[1]);
    case VTAC_E_SUB: return place(m, e->in[0]) - place(m, e->in[1]);
    case VTAC_E_MUL: return place(m, e->in[0]) * place(m, e->in[1]);
    case VTAC_E_DIV: return place(m, e->in[0]) / place(m, e->in[1]);
    case VTAC_E_REM: return place(m, e->in[0]) % place(m, e->in[1]);
    case VTAC_E_LT: return place(m, e->in[0]) < place(m, e->in[1]);
    default: fail_msg("an index has operation %d", (int)e->op); return 0;
    }
}

static float number(const machine *m, const vtac_expr *e)
{
    switch ((int)e->op) {
    case VTAC_E_FLOAT: return (float)e->f;
    case VTAC_E_VAR: return m->value[e->var];
    case VTAC_E_LOAD: {
        const uint32_t buffer = number_of(m, e->buffer);
        const int64_t at = place(m, e->in[0]);
        mark_read(m->marks, buffer, at);
        return m->memory[buffer][at];
    }
    case VTAC_E_ADD: return number(m, e->in[0]) + number(m, e->in[1]);
    case VTAC_E_MUL: return number(m, e->in[0]) * number(m, e->in[1]);
    default: fail_msg("a value has operation %d", (int)e->op); return 0.0F;
    }
}

static void forget_own(machine *m)
{
    for (size_t i = 0; i < m->k->buffer_count; i++) {
        for (size_t k = 0; m->k->buffers[i]->space != VTAC_BUFFER_ARGUMENT && k < ELEMENTS; k++) {
            m->memory[i][k] = nanf("");
        }
    }
}

static void run_block(machine *m, const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        switch (s->kind) {
        case VTAC_S_FOR:
            for (int64_t i = 0; i < s->extent; i++) {
                const bool parallel = s->loop == VTAC_LOOP_PARALLEL;
                m->var[s->var] = parallel ? s->extent - 1 - i : i;
                if (parallel) {
                    forget_own(m);
                }
                run_block(m, s->body);
            }
            break;
        case VTAC_S_IF:
            if (place(m, s->value)) {
                run_block(m, s->body);
            }
            break;
        case VTAC_S_LET:
            m->is_float[s->var] = s->value->type == VTAC_F32;
            if (m->is_float[s->var]) {
                m->value[s->var] = number(m, s->value);
            } else {
                m->var[s->var] = place(m, s->value);
            }
            break;
        case VTAC_S_STORE: {
            const uint32_t buffer = number_of(m, s->buffer);
            const int64_t at = place(m, s->index);
            const float value = number(m, s->value);
            mark_write(m->marks, buffer, at);
            m->memory[buffer][at] = value;
            break;
        }
        case VTAC_S_BARRIER:
        case VTAC_S_AHEAD: break;
        }
    }
}

static void start_machine(machine *m, const vtac_kernel *k, uint64_t seed)
{
    rng r = rng_split(seed, 99);
    *m = (machine){.k = k};
    for (size_t i = 0; i < BUFFERS; i++) {
        for (size_t n = 0; n < ELEMENTS; n++) {
            m->memory[i][n] = (float)rng_between(&r, -999, 999) / 7.0F;
        }
    }
    forget_own(m);
}

static void run(machine *m, const vtac_kernel *k, uint64_t seed)
{
    start_machine(m, k, seed);
    run_block(m, k->body);
}

/* By `items` work items, the last one first: each takes every items-th iteration, and finds nothing in its
 * own memory when it begins. */
static void run_items(machine *m, const vtac_bound *bound, uint64_t seed, int64_t items, item_marks *marks)
{
    const vtac_stmt *loop = bound->kernel.body;
    start_machine(m, &bound->kernel, seed);
    *marks = (item_marks){0};
    m->marks = marks;
    for (int64_t item = items; item-- > 0;) {
        marks->item = item + 1;
        forget_own(m);
        for (int64_t i = item; i < bound->items; i += items) {
            m->var[loop->var] = i;
            run_block(m, loop->body);
        }
    }
}

/* ---- random nests */

typedef struct maker {
    vtac_kernel *k;
    rng *r;
    vtac_buffer *x, *y, *z, *local, *scratch; /* z: a second result, seldom */
    const vtac_expr *loops[6];
    int64_t extents[6];
    uint32_t count;
} maker;

static const int64_t some_extents[] = {1, 2, 3, 4, 4, 6, 8, 8};

/* A place by the loops: most often one of its own for each, sometimes places that meet, or one for all rounds
 * of a loop. */
static const vtac_expr *some_place(const maker *m, bool apart, bool named)
{
    const vtac_expr *at = vtac_e_index(m->k, rng_between(m->r, 0, 3));
    int64_t stride = 1;
    for (uint32_t i = m->count; i-- > 0;) {
        const int64_t own = apart ? stride : rng_between(m->r, 0, 3);
        at = vtac_i_add(m->k, at, vtac_i_mulc(m->k, m->loops[i], own));
        stride *= m->extents[i];
    }
    return named && rng_percent(m->r, 50) ? vtac_let(m->k, "at", at) : at;
}

static const vtac_expr *sum_of_two(const maker *m, const vtac_expr *a)
{
    const vtac_expr *x = vtac_e_load(m->k, m->x, some_place(m, rng_percent(m->r, 50), false));
    return vtac_e2(m->k, VTAC_E_ADD, vtac_e2(m->k, VTAC_E_MUL, x, vtac_e_float(m->k, VTAC_F32, 0.7)), a);
}

static const vtac_expr *open_loop(maker *m)
{
    m->extents[m->count] = some_extents[rng_below(m->r, sizeof some_extents / sizeof some_extents[0])];
    m->loops[m->count] = vtac_for(m->k, VTAC_LOOP_SERIAL, m->extents[m->count], "i");
    return m->loops[m->count++];
}

static void store_somewhere(maker *m)
{
    /* Over some of the loops it is a sum in one element: its place forgets one of them. */
    maker own = *m;
    if (rng_percent(m->r, 40) && own.count > 1) {
        const uint32_t without = rng_below(m->r, own.count);
        own.count--;
        memmove(&own.loops[without], &own.loops[without + 1], (own.count - without) * sizeof own.loops[0]);
        memmove(&own.extents[without], &own.extents[without + 1],
                (own.count - without) * sizeof own.extents[0]);
    }
    const vtac_expr *at = some_place(&own, rng_percent(m->r, 75), true);
    const vtac_expr *old = vtac_e_load(m->k, m->y, rng_percent(m->r, 85) ? at : vtac_i_addc(m->k, at, 1));
    vtac_store(m->k, rng_percent(m->r, 90) ? m->y : m->z, at, sum_of_two(m, old));
}

/* A sum in memory of the thread's own, of a row of elements; sometimes it is not begun anew, or at a place of
 * the loops. */
static void sum_up_and_store(maker *m, vtac_buffer *own)
{
    const vtac_expr *zero = vtac_e_index(m->k, rng_between(m->r, 0, 2));
    const vtac_expr *at = rng_percent(m->r, 85) ? zero : some_place(m, true, false);
    if (rng_percent(m->r, 15)) { /* the first rounds alone begin it */
        vtac_if(m->k, vtac_e2(m->k, VTAC_E_LT, m->loops[0], vtac_e_index(m->k, 1)));
        vtac_store(m->k, own, at, vtac_e_float(m->k, VTAC_F32, 0.5));
        vtac_end(m->k);
    } else if (rng_percent(m->r, 85)) {
        vtac_store(m->k, own, at, vtac_e_float(m->k, VTAC_F32, 0.25));
    }
    open_loop(m);
    const bool guarded = rng_percent(m->r, 15);
    if (guarded) {
        vtac_if(m->k, vtac_e2(m->k, VTAC_E_LT, m->loops[0], vtac_e_index(m->k, 2)));
    }
    vtac_store(m->k, own, at, sum_of_two(m, vtac_e_load(m->k, own, at)));
    if (guarded) {
        vtac_end(m->k);
    }
    vtac_end(m->k);
    m->count--;
    vtac_store(m->k, m->y, some_place(m, rng_percent(m->r, 85), true), vtac_e_load(m->k, own, at));
}

static void make_nest(vtac_kernel *k, vta_arena *arena, rng *r)
{
    static const char *const names[] = {"x", "y", "z", "own", "rows"};
    maker m = {.k = k, .r = r};
    vtac_kernel_init(k, arena, "t");
    vtac_buffer **all[] = {&m.x, &m.y, &m.z, &m.local, &m.scratch};
    for (size_t i = 0; i < BUFFERS; i++) {
        *all[i] = vtac_kernel_buffer(k, names[i], VTAC_F32, ELEMENTS,
                                     i < 3    ? VTAC_BUFFER_ARGUMENT
                                     : i == 3 ? VTAC_BUFFER_LOCAL
                                              : VTAC_BUFFER_SCRATCH);
    }
    if (rng_percent(r, 10)) { /* what is outside the loops begins it */
        vtac_store(k, m.scratch, vtac_e_index(k, 0), vtac_e_float(k, VTAC_F32, 3.0));
    }
    const uint32_t depth = 1 + rng_below(r, 3);
    for (uint32_t i = 0; i < depth; i++) {
        open_loop(&m);
    }
    const uint32_t what = rng_below(r, 4);
    if (what < 2) {
        store_somewhere(&m);
    } else {
        sum_up_and_store(&m, what == 2 ? m.local : m.scratch);
    }
    if (rng_percent(r, 10)) {
        store_somewhere(&m);
    }
    for (uint32_t i = 0; i < depth; i++) {
        vtac_end(k);
    }
}

/* ---- what they must do */

static void same_results(const vtac_kernel *k, const vtac_nest_schedule *s, const machine before[2],
                         uint64_t seed)
{
    static machine after;
    for (uint64_t draw = 0; draw < 2; draw++) {
        run(&after, k, seed * 2 + draw);
        for (size_t b = 0; b < 3; b++) { /* the arguments */
            if (memcmp(before[draw].memory[b], after.memory[b], sizeof after.memory[b]) != 0) {
                vta_str text = {0};
                vtac_kernel_print(k, &text);
                fail_msg(
                    "seed %llu: '%s' is another by swap=%d blocked=%d unrolled=%d fused=%d parallel=%d:\n%s",
                    (unsigned long long)seed, k->buffers[b]->name, (int)s->swap, (int)s->blocked,
                    (int)s->unrolled, s->fused, s->parallel, text.text);
            }
        }
    }
}

/* Makes the nest anew for each schedule, as a schedule leaves another one. */
static uint32_t check_nest(uint64_t seed, uint32_t kinds[5])
{
    static machine before[2];
    vtac_nest_schedule legal[MAX];
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        vta_arena arena = {0};
        vtac_kernel k;
        rng r = rng_split(seed, 1);
        make_nest(&k, &arena, &r);
        assert_int_equal(vtac_kernel_verify(&k, NULL), VTA_OK);
        if (i == 0) {
            count = vtac_nest_schedules(&k, legal, MAX);
            run(&before[0], &k, seed * 2);
            run(&before[1], &k, seed * 2 + 1);
        }
        assert_int_equal(vtac_nest_apply(&k, &legal[i], NULL), VTA_OK);
        assert_int_equal(vtac_kernel_verify(&k, NULL), VTA_OK);
        same_results(&k, &legal[i], before, seed);
        kinds[0] += legal[i].swap > 0;
        kinds[1] += legal[i].blocked > 1;
        kinds[2] += legal[i].unrolled > 1;
        kinds[3] += legal[i].fused;
        kinds[4] += legal[i].parallel;
        vtac_kernel_free(&k);
        vta_arena_free(&arena);
    }
    return count;
}

static void legal_schedules_keep_results(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("codegen_nest");
    uint32_t kinds[5] = {0};
    uint32_t choice = 0;
    for (uint64_t i = 0; i < NESTS; i++) {
        choice += check_nest(seed + i, kinds) > 1;
    }
    print_message("seed %llu: of %d nests %u have a choice; %u schedules swap, %u block, %u unroll, %u fuse, "
                  "%u run in parallel\n",
                  (unsigned long long)seed, NESTS, choice, kinds[0], kinds[1], kinds[2], kinds[3], kinds[4]);
    for (size_t i = 0; i < 5; i++) {
        assert_true(kinds[i] > 0);
    }
}

/* ---- items */

static void check_items(const vtac_bound *bound, const machine *before, uint64_t seed, int64_t items)
{
    static machine after;
    static item_marks marks;
    run_items(&after, bound, seed, items, &marks);
    const bool same = memcmp(before->memory, after.memory, ARGUMENTS * sizeof after.memory[0]) == 0;
    if (!same || marks.races > 0) {
        vta_str text = {0};
        vtac_kernel_print(&bound->kernel, &text);
        fail_msg("seed %llu, %d items: %s, %u accesses to elements of other items:\n%s",
                 (unsigned long long)seed, (int)items, same ? "the results are the same" : "other results",
                 marks.races, text.text);
    }
}

static void bound_nests_have_no_races(void **state)
{
    (void)state;
    static machine before;
    const uint64_t seed = test_seed("codegen_nest_items");
    uint32_t bound_count = 0;
    uint32_t fused = 0;
    for (uint64_t i = 0; i < 2 * NESTS; i++) {
        vta_arena arena = {0};
        vtac_kernel k;
        vtac_bound bound;
        rng r = rng_split(seed + i, 1);
        make_nest(&k, &arena, &r);
        assert_int_equal(vtac_bind(&k, false, &vtac_bind_standard, &bound, NULL), VTA_OK);
        for (uint64_t draw = 0; draw < 2 && bound.items > 1; draw++) {
            run(&before, &k, (seed + i) * 2 + draw);
            check_items(&bound, &before, (seed + i) * 2 + draw, 1);
            check_items(&bound, &before, (seed + i) * 2 + draw, 3);
            check_items(&bound, &before, (seed + i) * 2 + draw, bound.items);
        }
        bound_count += bound.items > 1;
        fused += bound.items > k.body->extent;
        vtac_bound_free(&bound);
        vtac_kernel_free(&k);
        vta_arena_free(&arena);
    }
    print_message("seed %llu: of %d nests %u are bound, %u of them by several loops\n",
                  (unsigned long long)seed, 2 * NESTS, bound_count, fused);
    assert_true(bound_count > 0 && fused > 0);
}

/* ---- what is refused */

typedef struct lab {
    vta_arena arena;
    vtac_kernel k;
    vtac_buffer *x, *y, *own;
    const vtac_expr *i, *j;
} lab;

static void lab_start(lab *t)
{
    *t = (lab){0};
    vtac_kernel_init(&t->k, &t->arena, "t");
    t->x = vtac_kernel_buffer(&t->k, "x", VTAC_F32, 64, VTAC_BUFFER_ARGUMENT);
    t->y = vtac_kernel_buffer(&t->k, "y", VTAC_F32, 64, VTAC_BUFFER_ARGUMENT);
    t->own = vtac_kernel_buffer(&t->k, "own", VTAC_F32, 64, VTAC_BUFFER_SCRATCH);
}

static void open_two(lab *t)
{
    t->i = vtac_for(&t->k, VTAC_LOOP_SERIAL, 4, "i"); /* v1 */
    t->j = vtac_for(&t->k, VTAC_LOOP_SERIAL, 8, "j"); /* v2 */
}

static void add_to(lab *t, const vtac_expr *at)
{
    const vtac_expr *x = vtac_e_load(&t->k, t->x, vtac_i_add(&t->k, vtac_i_mulc(&t->k, t->i, 8), t->j));
    vtac_store(&t->k, t->y, at, vtac_e2(&t->k, VTAC_E_ADD, vtac_e_load(&t->k, t->y, at), x));
}

static void close_two(lab *t)
{
    vtac_end(&t->k);
    vtac_end(&t->k);
}

static void lab_end(lab *t)
{
    vtac_kernel_free(&t->k);
    vta_arena_free(&t->arena);
}

static void refuses_orders_that_matter(void **state)
{
    (void)state;
    lab t;
    vta_diag diag = {0};
    for (int kind = 0; kind < 5; kind++) {
        lab_start(&t);
        if (kind == 4) { /* begun outside */
            vtac_store(&t.k, t.own, vtac_e_index(&t.k, 0), vtac_e_float(&t.k, VTAC_F32, 0.0));
        }
        open_two(&t);
        switch (kind) {
        case 0: add_to(&t, vtac_i_add(&t.k, t.i, t.j)); break; /* places meet */
        case 1: add_to(&t, vtac_e_index(&t.k, 0)); break;      /* one sum of all */
        case 2:
            add_to(&t, vtac_i_add(&t.k, t.i, vtac_let(&t.k, "j", vtac_i_mulc(&t.k, t.j, 2))));
            break; /* by a name */
        case 3: {  /* what the round before left */
            const vtac_expr *at = vtac_i_add(&t.k, vtac_i_mulc(&t.k, t.i, 8), t.j);
            vtac_store(&t.k, t.y, at, vtac_e_load(&t.k, t.own, vtac_e_index(&t.k, 0)));
            vtac_store(&t.k, t.own, t.j, vtac_e_load(&t.k, t.x, at));
            break;
        }
        default: {
            const vtac_expr *zero = vtac_e_index(&t.k, 0);
            vtac_store(
                &t.k, t.own, zero,
                vtac_e2(&t.k, VTAC_E_ADD, vtac_e_load(&t.k, t.own, zero), vtac_e_load(&t.k, t.x, t.j)));
            vtac_store(&t.k, t.y, vtac_i_add(&t.k, vtac_i_mulc(&t.k, t.i, 8), t.j),
                       vtac_e_load(&t.k, t.own, zero));
            break;
        }
        }
        close_two(&t);
        if (vtac_loop_reorder(&t.k, 1, 2, &diag) != VTA_INVALID) {
            fail_msg("kind %d is reordered", kind);
        }
        assert_string_equal(diag.text, "the order of v1 and v2 matters");
        /* the fourth one's first round reads what nothing wrote, which no lowering's does */
        if (kind != 3 && vtac_loop_parallel(&t.k, 1, &diag) != VTA_INVALID) {
            fail_msg("kind %d runs in parallel", kind);
        }
        lab_end(&t);
    }
}

static void changes_what_it_says(void **state)
{
    (void)state;
    lab t;
    vta_str text = {0};
    const vtac_nest_schedule s = {.swap = 0, .blocked = 2, .unrolled = 4};
    lab_start(&t);
    open_two(&t);
    add_to(&t, t.i);
    close_two(&t);
    assert_int_equal(vtac_nest_apply(&t.k, &s, NULL), VTA_OK);
    vtac_kernel_print(&t.k, &text);
    assert_non_null(strstr(text.text, "  for v1 < 2 { # i\n"
                                      "    for v2 < 2 { # j\n"
                                      "      unroll for v4 < 4 { # j\n"
                                      "        unroll for v3 < 2 { # i\n"
                                      "          y[((v1 * 2) + v3)] = (y[((v1 * 2) + v3)] + x[((((v1 * 2) + "
                                      "v3) * 8) + ((v2 * 4) + v4))])\n"));
    vta_str_free(&text);
    lab_end(&t);
    lab_start(&t);
    open_two(&t);
    add_to(&t, vtac_i_add(&t.k, vtac_i_mulc(&t.k, t.i, 8), t.j));
    close_two(&t);
    assert_int_equal(vtac_loop_unroll(&t.k, 9, NULL), VTA_INVALID);
    assert_int_equal(vtac_loop_fuse(&t.k, 2, 1, NULL), VTA_INVALID);
    assert_int_equal(
        vtac_nest_apply(
            &t.k, &(vtac_nest_schedule){.blocked = 1, .unrolled = 1, .fused = true, .parallel = true}, NULL),
        VTA_OK);
    assert_int_equal(vtac_kernel_extent(&t.k), 32);
    lab_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_schedules_keep_results),
        cmocka_unit_test(bound_nests_have_no_races),
        cmocka_unit_test(refuses_orders_that_matter),
        cmocka_unit_test(changes_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
