/* SPDX-License-Identifier: Apache-2.0
 *
 * Random matrix products, compiled for each processor that this machine can be, against plain loops: bytes
 * exactly, of any sizes, signs, zero points (of the whole or of each column, known to the compiler or to the
 * run alone), known and unknown right operands, batches that are shared or not; and floats of sizes that no
 * tile divides. Each runs twice with other data. During the first half of them, the processor's tiles are not
 * to be had: Linux refuses them to a process that has a signal stack too small for them. Most have
 * schedules that are drawn, where kernels ask for one. Arguments: how many products, and the first one's
 * seed.
 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rng.h"
#include "seed.h"
#include "temporary.h"
#include "vta/model.h"
#include "vtac/codegen.h"
#include "vtac/quant.h"
#include "vtac/schedules.h"

static uint64_t base_seed;
static unsigned long product_count = 36;
static char library[TEMPORARY_PATH];

static const char *const hosts[] = {"x86-64-v2", "x86-64-v3",   "x86-64-avxvnni",
                                    "x86-64-v4", "x86-64-vnni", "host"};
enum { HOSTS = sizeof hosts / sizeof hosts[0], MAX_INPUTS = 9 };

typedef struct operand {
    vtac_dtype dtype;
    uint32_t rank;
    int64_t dim[4];
    bool known;
    double low, high;
    double *number;
    uint32_t input; /* of the model, where it is not known */
} operand;

typedef struct problem {
    vtac_op op;
    operand in[MAX_INPUTS];
    uint32_t count;
    bool turned[2];
    int64_t m, n, k, batches; /* of the result */
    vtac_graph *graph;
    uint32_t inputs;
} problem;

static int64_t elements(const operand *o)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < o->rank; i++) {
        count *= o->dim[i];
    }
    return count;
}

static bool is_float(const problem *p)
{
    return p->op == VTAC_OP_MATMUL || p->op == VTAC_OP_GEMM;
}

/* ---- a random product */

static operand *add(problem *p, vtac_dtype dtype, uint32_t rank, const int64_t *dim, bool known)
{
    operand *o = &p->in[p->count++];
    *o = (operand){.dtype = dtype, .rank = rank, .known = known, .low = -1.0, .high = 1.0};
    memcpy(o->dim, dim, rank * sizeof *dim);
    if (dtype == VTAC_I8 || dtype == VTAC_U8) {
        o->low = dtype == VTAC_I8 ? -128.0 : 0.0;
        o->high = o->low + 255.0;
    } else if (dtype == VTAC_I32) {
        o->low = -30000.0;
        o->high = 30000.0;
    }
    return o;
}

static void add_scale(problem *p, uint32_t rank, const int64_t *dim, bool known, double low)
{
    operand *o = add(p, VTAC_F32, rank, dim, known);
    o->low = low;
    o->high = 2.0 * low;
}

static int64_t some_size(rng *r, int64_t max)
{
    return rng_percent(r, 20)   ? 1
           : rng_percent(r, 30) ? 8 * rng_between(r, 1, max / 8)
                                : rng_between(r, 1, max);
}

static void make_problem(problem *p, rng *r, bool large, bool floats)
{
    static const vtac_op ops[] = {VTAC_OP_QLINEAR_MATMUL, VTAC_OP_QLINEAR_MATMUL, VTAC_OP_QGEMM,
                                  VTAC_OP_MATMUL_INTEGER, VTAC_OP_MATMUL,         VTAC_OP_GEMM};
    *p = (problem){.op = floats ? ops[4 + rng_below(r, 2)] : ops[rng_below(r, 6)],
                   .m = some_size(r, 40),
                   .n = some_size(r, 150),
                   .k = some_size(r, 130)};
    if (rng_percent(r, 12) || large) { /* sums that go by parts, and products by tiles */
        p->m = rng_between(r, 20, 60);
        p->k = rng_between(r, 380, 800);
        p->n = large && p->n < 32 ? p->n + 32 : p->n;
    }
    p->n = rng_percent(r, 12) ? 1 : p->n; /* a matrix by a vector */
    const bool gemm = p->op == VTAC_OP_GEMM || p->op == VTAC_OP_QGEMM;
    const bool bytes = !is_float(p);
    const vtac_dtype a = !bytes ? VTAC_F32 : rng_percent(r, 50) ? VTAC_I8 : VTAC_U8;
    const vtac_dtype b = !bytes ? VTAC_F32 : rng_percent(r, 50) ? VTAC_I8 : VTAC_U8;
    const uint32_t lead = gemm ? 0 : rng_below(r, 3);
    const bool shared = rng_percent(r, 50);                        /* one right operand for all batches */
    const bool both = p->op == VTAC_OP_GEMM && rng_percent(r, 50); /* given transposed, of few rows */
    const bool known = shared && !both && rng_percent(r, 60);
    const bool zeros_known = rng_percent(r, 70);
    const bool left_known = zeros_known != rng_percent(r, 30);
    int64_t batch[2] = {rng_between(r, 1, 3), rng_between(r, 1, 3)};
    p->batches = (lead > 0 ? batch[1] : 1) * (lead > 1 ? batch[0] : 1);
    p->m = both ? rng_between(r, 2, 20) : p->m;
    p->turned[0] = both || (gemm && rng_percent(r, 30));
    p->turned[1] = both || ((gemm || p->op == VTAC_OP_MATMUL) && rng_percent(r, 60));
    int64_t left[4] = {batch[0], batch[1], p->turned[0] ? p->k : p->m, p->turned[0] ? p->m : p->k};
    int64_t right[4] = {batch[0], batch[1], p->turned[1] ? p->n : p->k, p->turned[1] ? p->k : p->n};
    const bool per_column = (b == VTAC_I8 || rng_percent(r, 50)) && shared && rng_percent(r, 40);
    const uint32_t parameter = per_column && p->op != VTAC_OP_GEMM ? 1 : 0;
    const uint32_t b_rank = shared ? 2 : 2 + lead;
    operand *x = add(p, a, 2 + lead, left + 2 - lead, false);
    if (p->op == VTAC_OP_MATMUL_INTEGER) {
        (void)add(p, b, b_rank, right + 4 - b_rank, known);
        (void)add(p, a, 0, left, left_known);
        (void)add(p, b, parameter, &p->n, zeros_known);
    } else if (bytes) {
        add_scale(p, 0, left, true, 0.01);
        (void)add(p, a, 0, left, left_known);
        (void)add(p, b, b_rank, right + 4 - b_rank, known);
        add_scale(p, parameter, &p->n, true, 0.01);
        operand *zero = add(p, b, parameter, &p->n, zeros_known);
        if (rng_percent(r, 40)) {
            zero->low = zero->high = b == VTAC_U8 ? 128.0 : 0.0;
        }
        if (gemm) {
            (void)add(p, VTAC_I32, 1, &p->n, true);
        }
        add_scale(p, 0, left, true, 0.02 * sqrt((double)p->k));
        (void)add(p, a, 0, left, zeros_known);
    } else {
        (void)add(p, b, b_rank, right + 4 - b_rank, known);
    }
    x->known = false;
}

static void fill(operand *o, rng *r)
{
    for (int64_t i = 0; i < elements(o); i++) {
        const double part = (double)rng_below(r, 1 << 20) / (double)((1 << 20) - 1);
        const double any = o->low + (o->high - o->low) * part;
        o->number[i] = o->dtype == VTAC_F32 ? (double)(float)any : floor(any + 0.5);
    }
}

static void put(const operand *o, void *to)
{
    for (int64_t i = 0; i < elements(o); i++) {
        switch ((int)o->dtype) {
        case VTAC_F32: ((float *)to)[i] = (float)o->number[i]; break;
        case VTAC_I32: ((int32_t *)to)[i] = (int32_t)o->number[i]; break;
        case VTAC_I8: ((int8_t *)to)[i] = (int8_t)o->number[i]; break;
        default: ((uint8_t *)to)[i] = (uint8_t)o->number[i]; break;
        }
    }
}

/* The operand by a Transpose of its last two axes. */
static vtac_value_id turn(problem *p, vtac_value_id x, uint32_t rank)
{
    vta_diag diag = {0};
    vtac_node_id id;
    int64_t perm[4] = {0, 1, 2, 3};
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = rank, .ints = perm};
    const vtac_node_spec spec = {.op = VTAC_OP_TRANSPOSE,
                                 .name = "turn",
                                 .inputs = &x,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &attr,
                                 .attr_count = 1};
    assert_int_equal(vtac_add_node(p->graph, &spec, &id, &diag), VTA_OK);
    return p->graph->nodes[id].outputs[0];
}

static void build(problem *p, rng *r)
{
    vta_diag diag = {0};
    vtac_value_id ids[MAX_INPUTS];
    p->graph = vtac_graph_create("product");
    assert_non_null(p->graph);
    for (uint32_t i = 0; i < p->count; i++) {
        operand *o = &p->in[i];
        vtac_tensor t = {.type = {.dtype = o->dtype, .rank = o->rank}};
        memcpy(t.type.dim, o->dim, o->rank * sizeof o->dim[0]);
        o->number = calloc((size_t)elements(o) + 1, sizeof *o->number);
        assert_non_null(o->number);
        if (!o->known) {
            o->input = p->inputs++;
            assert_int_equal(vtac_add_input(p->graph, "", &t.type, &ids[i], &diag), VTA_OK);
            continue;
        }
        fill(o, r);
        t.bytes = (size_t)elements(o) * vtac_dtype_bytes(o->dtype);
        void *data = vta_arena_alloc(&p->graph->arena, t.bytes + 1);
        assert_non_null(data);
        put(o, data);
        t.data = data;
        assert_int_equal(vtac_add_constant(p->graph, "", &t, &ids[i], &diag), VTA_OK);
    }
    if (p->op == VTAC_OP_MATMUL && p->turned[1]) {
        ids[1] = turn(p, ids[1], p->in[1].rank);
    }
    const vtac_attr attrs[] = {
        {.name = "transA", .kind = VTAC_ATTR_INT, .count = 1, .i = p->turned[0]},
        {.name = "transB", .kind = VTAC_ATTR_INT, .count = 1, .i = p->turned[1]},
    };
    const vtac_node_spec spec = {.op = p->op,
                                 .name = "product",
                                 .inputs = ids,
                                 .input_count = p->count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = p->op == VTAC_OP_GEMM || p->op == VTAC_OP_QGEMM ? 2 : 0};
    vtac_node_id id;
    if (vtac_add_node(p->graph, &spec, &id, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(vtac_add_output(p->graph, p->graph->nodes[id].outputs[0], &diag), VTA_OK);
}

/* ---- what it is */

static double parameter(const operand *o, int64_t i)
{
    return o->number[elements(o) == 1 ? 0 : i];
}

static double sum_of(const problem *p, int64_t batch, int64_t row, int64_t column, double *size)
{
    const bool integer = p->op == VTAC_OP_MATMUL_INTEGER;
    const bool floats = is_float(p);
    const operand *a = &p->in[0];
    const operand *b = &p->in[floats || integer ? 1 : 3];
    const double za = floats ? 0.0 : parameter(&p->in[2], 0);
    const double zb = floats ? 0.0 : parameter(&p->in[integer ? 3 : 5], column);
    const double *x = a->number + batch * p->m * p->k;
    const double *w = b->number + (elements(b) == p->k * p->n ? 0 : batch * p->k * p->n);
    double sum = 0.0;
    for (int64_t i = 0; i < p->k; i++) {
        const double left = x[p->turned[0] ? i * p->m + row : row * p->k + i] - za;
        const double right = w[p->turned[1] ? column * p->k + i : i * p->n + column] - zb;
        sum += left * right;
        *size += fabs(left * right);
    }
    return sum;
}

static double expected(const problem *p, int64_t batch, int64_t row, int64_t column, double *slack)
{
    double size = 0.0;
    double sum = sum_of(p, batch, row, column, &size);
    *slack = is_float(p) ? 1e-6 * size + 1e-9 : 0.0;
    if (is_float(p) || p->op == VTAC_OP_MATMUL_INTEGER) {
        return sum;
    }
    const bool gemm = p->op == VTAC_OP_QGEMM;
    const operand *y_scale = &p->in[gemm ? 7 : 6];
    const operand *y_zero = y_scale + 1;
    sum += gemm ? p->in[6].number[column] : 0.0;
    const float scale = vtac_scale_product((float)p->in[1].number[0], (float)parameter(&p->in[4], column),
                                           (float)y_scale->number[0]);
    vtac_fixed fixed;
    assert_true(vtac_fixed_of(scale, &fixed));
    const int32_t low = y_zero->dtype == VTAC_I8 ? -128 : 0;
    return vtac_fixed_apply((int64_t)sum, fixed, (int32_t)y_zero->number[0], low, low + 255);
}

static double got_at(const problem *p, const vta_model *m, int64_t i)
{
    const void *data = vta_model_output_data(m, 0);
    if (is_float(p)) {
        return (double)((const float *)data)[i];
    }
    if (p->op == VTAC_OP_MATMUL_INTEGER) {
        return ((const int32_t *)data)[i];
    }
    return p->in[0].dtype == VTAC_I8 ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
}

static void compare(const problem *p, const vta_model *m, uint64_t seed, const char *host)
{
    for (int64_t i = 0; i < p->batches * p->m * p->n; i++) {
        double slack;
        const double want = expected(p, i / (p->m * p->n), i / p->n % p->m, i % p->n, &slack);
        const double got = got_at(p, m, i);
        if (!(fabs(got - want) <= slack)) {
            fail_msg("product %llu (%s %lldx%lldx%lld) for %s: element %lld is %.9g, not %.9g",
                     (unsigned long long)seed, vtac_op_get(p->op)->name, (long long)p->m, (long long)p->k,
                     (long long)p->n, host, (long long)i, got, want);
        }
    }
}

typedef struct drawn {
    rng *r;
    uint32_t other; /* than the standard ones */
    uint32_t bytes; /* of those, of products of bytes */
} drawn;

static uint32_t draw_point(void *context, const vtac_kernel_space *space)
{
    drawn *d = context;
    const uint32_t point = rng_below(d->r, space->count);
    assert_true(space->standard < space->count);
    for (uint32_t i = 0; i < space->count; i++) { /* no two have one name */
        assert_true(i == point || strcmp(space->points[i], space->points[point]) != 0);
    }
    d->other += point != space->standard ? 1 : 0;
    d->bytes += point != space->standard && strcmp(space->kernel, "product_bytes") == 0 ? 1 : 0;
    return point;
}

static bool run_problem(problem *p, rng *r, uint64_t seed, const char *host, drawn *d)
{
    vta_diag diag = {0};
    vta_model *m = NULL;
    vtac_target target;
    vtac_artifact_image image;
    assert_int_equal(vtac_target_find(host, &target, &diag), VTA_OK);
    target.has_signed_dot = target.has_signed_dot || rng_percent(r, 25); /* as of NEON, by other means */
    if (rng_percent(r, 20)) {
        target.has_long = true;
        target.has_pairs = false;
    }
    const vtac_schedules schedules = {draw_point, d};
    const vtac_compile_options options = {.level = rng_percent(r, 10) ? 0 : 2,
                                          .target = &target,
                                          .schedules = rng_percent(r, 75) ? &schedules : NULL};
    if (vtac_compile(p->graph, &options, &image, &diag) != VTA_OK ||
        vtac_link(&image, library, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vtac_artifact_image_free(&image);
    const vta_model_options how = {.threads = 1 + rng_below(r, 2)};
    const vta_status status = vta_model_load(library, &how, &m, &diag);
    if (status == VTA_UNSUPPORTED) {
        return false; /* this machine is not that processor */
    }
    assert_int_equal(status, VTA_OK);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < p->count; i++) {
            if (!p->in[i].known) {
                fill(&p->in[i], r);
                put(&p->in[i], vta_model_input_data(m, p->in[i].input));
            }
        }
        assert_int_equal(vta_model_run(m, &diag), VTA_OK);
        compare(p, m, seed, host);
    }
    vta_model_destroy(m);
    return true;
}

static void set_signal_stack(bool small)
{
    static char room[8192];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room, .ss_flags = small ? 0 : SS_DISABLE};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
}

static bool check_product(uint64_t seed, bool floats, drawn *d)
{
    rng r = rng_split(seed, floats ? 2 : 1);
    problem p;
    d->r = &r;
    make_problem(&p, &r, floats || seed % HOSTS == HOSTS - 1, floats);
    build(&p, &r);
    const bool ran = run_problem(&p, &r, seed, hosts[seed % HOSTS], d);
    for (uint32_t i = 0; i < p.count; i++) {
        free(p.in[i].number);
    }
    vtac_graph_destroy(p.graph);
    (void)unlink(library);
    return ran;
}

static void products_are_what_plain_loops_give(void **state)
{
    (void)state;
    drawn d = {0};
    unsigned long ran[HOSTS] = {0};
    for (uint64_t seed = base_seed; seed < base_seed + product_count; seed++) {
        set_signal_stack(seed < base_seed + product_count / 2);
        ran[seed % HOSTS] += check_product(seed, false, &d);
    }
    for (size_t i = 0; i < HOSTS; i++) {
        print_message("%s: %lu products\n", hosts[i], ran[i]);
    }
    assert_true(ran[HOSTS - 1] > 0);
    print_message("%u of bytes with a schedule that is not the standard one\n", d.bytes);
    assert_true(d.bytes > 0 || product_count < 36);
}

/* Large ones of floats, which have a choice. */
static void schedules_change_no_product(void **state)
{
    (void)state;
    drawn d = {0};
    for (uint64_t seed = base_seed; seed < base_seed + product_count; seed++) {
        (void)check_product(seed, true, &d);
    }
    print_message("%u with a schedule that is not the standard one\n", d.other);
    assert_true(d.other > 0 || product_count < 36);
}

int main(int argc, char **argv)
{
    product_count = argc > 1 ? strtoul(argv[1], NULL, 10) : product_count;
    base_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : test_seed("codegen_product");
    if (!temporary_file(library, ".so")) {
        (void)fprintf(stderr, "codegen_product: cannot write %s\n", library);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_what_plain_loops_give),
                                       cmocka_unit_test(schedules_change_no_product)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
