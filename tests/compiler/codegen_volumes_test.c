/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions, pools, sums and concatenations of volumes of floats against plain loops over doubles: random
 * sizes, windows, strides, dilations, borders (also along the depth), groups and batches, with standard
 * schedules, any others, and Winograd's way. Each model runs twice with other data. It fails where a plane of
 * a volume is taken for another one. Arguments: how many networks, and the first one's seed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph_node.h"
#include "rng.h"
#include "seed.h"
#include "temporary.h"
#include "vta/model.h"
#include "vtac/codegen.h"
#include "vtac/graph.h"
#include "vtac/schedules.h"

enum { AXES = 3, MAX = 10 };

static uint64_t base_seed;
static unsigned long network_count = 40;
static char library[TEMPORARY_PATH];

static const char *const hosts[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "host"};
enum { HOSTS = sizeof hosts / sizeof hosts[0] };

typedef enum kind { CONV, RELU, MAX_POOL, AVERAGE_POOL, GLOBAL_POOL, SUM, CONCAT } kind;

typedef struct volume {
    kind kind; /* of the node that makes it; the first one is the input */
    uint32_t in[2];
    int64_t dim[5];
    int64_t kernel[AXES], stride[AXES], dilation[AXES], pad[2 * AXES], groups;
    float *weights, *bias; /* bias NULL: none */
    double *number;
    vtac_value_id id;
} volume;

typedef struct net {
    vtac_graph *graph;
    volume v[MAX];
    uint32_t count;
} net;

static int64_t places_of(const volume *v)
{
    return v->dim[2] * v->dim[3] * v->dim[4];
}

static int64_t elements_of(const volume *v)
{
    return v->dim[0] * v->dim[1] * places_of(v);
}

static float any(rng *r)
{
    return (float)rng_between(r, -1000, 1000) / 1000.0F;
}

/* ---- into the graph */

static vtac_value_id constant(net *n, const float *from, const int64_t *dim, uint32_t rank)
{
    vtac_tensor t = {.type = {.dtype = VTAC_F32, .rank = rank}};
    vta_diag diag = {0};
    vtac_value_id id;
    memcpy(t.type.dim, dim, rank * sizeof *dim);
    t.bytes = (size_t)vtac_type_elements(&t.type) * sizeof *from;
    float *data = vta_arena_alloc(&n->graph->arena, t.bytes);
    assert_non_null(data);
    memcpy(data, from, t.bytes);
    t.data = data;
    assert_int_equal(vtac_add_constant(n->graph, "", &t, &id, &diag), VTA_OK);
    return id;
}

static void build(net *n, volume *v)
{
    static const vtac_op ops[] = {[CONV] = VTAC_OP_CONV,
                                  [RELU] = VTAC_OP_RELU,
                                  [MAX_POOL] = VTAC_OP_MAX_POOL,
                                  [AVERAGE_POOL] = VTAC_OP_AVERAGE_POOL,
                                  [GLOBAL_POOL] = VTAC_OP_GLOBAL_AVERAGE_POOL,
                                  [SUM] = VTAC_OP_ADD,
                                  [CONCAT] = VTAC_OP_CONCAT};
    const vtac_attr window[] = {
        {.name = "kernel_shape", .kind = VTAC_ATTR_INTS, .count = AXES, .ints = v->kernel},
        {.name = "strides", .kind = VTAC_ATTR_INTS, .count = AXES, .ints = v->stride},
        {.name = "pads", .kind = VTAC_ATTR_INTS, .count = 2 * AXES, .ints = v->pad},
        {.name = "dilations", .kind = VTAC_ATTR_INTS, .count = AXES, .ints = v->dilation},
        {.name = "group", .kind = VTAC_ATTR_INT, .count = 1, .i = v->groups}};
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .count = 1, .i = 1};
    vtac_value_id in[3] = {n->v[v->in[0]].id, n->v[v->in[1]].id};
    if (v->kind == CONV) {
        const int64_t shape[] = {v->dim[1], n->v[v->in[0]].dim[1] / v->groups, v->kernel[0], v->kernel[1],
                                 v->kernel[2]};
        in[1] = constant(n, v->weights, shape, 5);
        in[2] = v->bias == NULL ? 0 : constant(n, v->bias, shape, 1);
        v->id = graph_node(n->graph, VTAC_OP_CONV, in, v->bias == NULL ? 2 : 3, window, 5);
    } else if (v->kind == MAX_POOL || v->kind == AVERAGE_POOL) {
        v->id = graph_node(n->graph, ops[v->kind], in, 1, window, 3);
    } else {
        v->id = graph_node(n->graph, ops[v->kind], in, v->kind == SUM || v->kind == CONCAT ? 2 : 1, &axis,
                           v->kind == CONCAT);
    }
}

/* ---- in plain loops */

typedef struct sum {
    double sum, max;
    int64_t count;
} sum;

/* The sum that the window of one place of the output finds in a channel of the input. */
static sum window_of(const volume *v, const volume *x, const double *plane, const int64_t *at, const float *w)
{
    sum s = {.max = -HUGE_VAL};
    for (int64_t k = 0; k < v->kernel[0] * v->kernel[1] * v->kernel[2]; k++) {
        const int64_t tap[] = {k / v->kernel[2] / v->kernel[1], k / v->kernel[2] % v->kernel[1],
                               k % v->kernel[2]};
        int64_t place = 0;
        bool inside = true;
        for (int a = 0; a < AXES; a++) {
            const int64_t p = at[a] * v->stride[a] + tap[a] * v->dilation[a] - v->pad[a];
            inside = inside && p >= 0 && p < x->dim[a + 2];
            place = place * x->dim[a + 2] + p;
        }
        if (inside) {
            s.sum += plane[place] * (w == NULL ? 1.0 : (double)w[k]);
            s.max = fmax(s.max, plane[place]);
            s.count++;
        }
    }
    return s;
}

static double windowed(const net *n, const volume *v, int64_t batch, int64_t channel, const int64_t *at)
{
    const volume *x = &n->v[v->in[0]];
    const double *first = x->number + batch * x->dim[1] * places_of(x);
    if (v->kind != CONV) {
        const sum s = window_of(v, x, first + channel * places_of(x), at, NULL);
        return v->kind == MAX_POOL ? s.max : s.sum / (double)s.count;
    }
    const int64_t per_group = x->dim[1] / v->groups;
    const int64_t group = channel / (v->dim[1] / v->groups);
    const int64_t taps = v->kernel[0] * v->kernel[1] * v->kernel[2];
    double total = v->bias == NULL ? 0.0 : (double)v->bias[channel];
    for (int64_t i = 0; i < per_group; i++) {
        total += window_of(v, x, first + (group * per_group + i) * places_of(x), at,
                           v->weights + (channel * per_group + i) * taps)
                     .sum;
    }
    return total;
}

static double mean_of(const double *from, int64_t count)
{
    double total = 0.0;
    for (int64_t i = 0; i < count; i++) {
        total += from[i];
    }
    return total / (double)count;
}

static double value_of(const net *n, const volume *v, int64_t i)
{
    const volume *x = &n->v[v->in[0]];
    const volume *y = &n->v[v->in[1]];
    const int64_t places = places_of(v);
    const int64_t channel = i / places % v->dim[1];
    const int64_t batch = i / places / v->dim[1];
    const int64_t at[] = {i / v->dim[4] / v->dim[3] % v->dim[2], i / v->dim[4] % v->dim[3], i % v->dim[4]};
    switch (v->kind) {
    case RELU: return fmax(0.0, x->number[i]);
    case SUM: return x->number[i] + y->number[i];
    case CONCAT:
        return channel < x->dim[1]
                   ? x->number[(batch * x->dim[1] + channel) * places + i % places]
                   : y->number[(batch * y->dim[1] + channel - x->dim[1]) * places + i % places];
    case GLOBAL_POOL: return mean_of(x->number + i * places_of(x), places_of(x));
    case CONV:
    case MAX_POOL:
    case AVERAGE_POOL: break;
    }
    return windowed(n, v, batch, channel, at);
}

/* ---- random networks */

static void add(net *n, volume *v)
{
    v->number = calloc((size_t)elements_of(v) + 1, sizeof *v->number);
    assert_non_null(v->number);
    build(n, v);
    n->v[n->count++] = *v;
}

/* The window's outputs; false: none along some axis. */
static bool extend(volume *v, const volume *x)
{
    memcpy(v->dim, x->dim, sizeof v->dim);
    for (int a = 0; a < AXES; a++) {
        const int64_t room =
            x->dim[a + 2] + v->pad[a] + v->pad[a + AXES] - (v->kernel[a] - 1) * v->dilation[a] - 1;
        if (room < 0) {
            return false;
        }
        v->dim[a + 2] = room / v->stride[a] + 1;
    }
    return true;
}

static void add_conv(net *n, rng *r, uint32_t x, bool three)
{
    static const int64_t channels[] = {16, 8, 32, 5, 24, 12, 40, 17, 64, 4};
    const int64_t in = n->v[x].dim[1];
    volume v = {.kind = CONV, .in = {x, x}, .groups = 1};
    int64_t outputs = channels[rng_below(r, sizeof channels / sizeof channels[0])];
    for (int a = 0; a < AXES; a++) {
        const bool same = three && a > 0;
        v.kernel[a] = same ? 3 : rng_between(r, 1, 3);
        v.stride[a] = same || rng_percent(r, 70) ? 1 : rng_between(r, 2, 3);
        v.dilation[a] = same || rng_percent(r, 80) ? 1 : 2;
        v.pad[a] = rng_between(r, 0, 2);
        v.pad[a + AXES] = rng_between(r, 0, 2);
    }
    if (!three && in % 2 == 0 && rng_percent(r, 30)) {
        v.groups = rng_percent(r, 30) ? in : 2;
        outputs = v.groups == 2 ? outputs * 2 : in;
    }
    if (!extend(&v, &n->v[x])) {
        return;
    }
    v.dim[1] = outputs;
    const int64_t count = outputs * in / v.groups * v.kernel[0] * v.kernel[1] * v.kernel[2];
    v.weights = calloc((size_t)count, sizeof *v.weights);
    v.bias = rng_percent(r, 70) ? calloc((size_t)outputs, sizeof *v.bias) : NULL;
    assert_non_null(v.weights);
    for (int64_t i = 0; i < count; i++) {
        v.weights[i] = any(r) / sqrtf((float)(count / outputs));
    }
    for (int64_t i = 0; i < outputs && v.bias != NULL; i++) {
        v.bias[i] = any(r);
    }
    add(n, &v);
}

static void add_pool(net *n, rng *r, uint32_t x)
{
    volume v = {.kind = rng_percent(r, 50) ? MAX_POOL : AVERAGE_POOL, .in = {x, x}, .groups = 1};
    for (int a = 0; a < AXES; a++) {
        v.kernel[a] = rng_between(r, 1, 3);
        v.stride[a] = rng_between(r, 1, 2);
        v.dilation[a] = 1;
        v.pad[a] = rng_between(r, 0, v.kernel[a] - 1);
        v.pad[a + AXES] = rng_between(r, 0, v.kernel[a] - 1);
    }
    if (extend(&v, &n->v[x])) {
        add(n, &v);
    }
}

static void add_plain(net *n, kind which, uint32_t x, uint32_t y)
{
    volume v = {.kind = which, .in = {x, y}, .groups = 1};
    memcpy(v.dim, n->v[x].dim, sizeof v.dim);
    v.dim[1] += which == CONCAT ? n->v[y].dim[1] : 0;
    if (which == GLOBAL_POOL) {
        v.dim[2] = v.dim[3] = v.dim[4] = 1;
    }
    add(n, &v);
}

static void make_net(net *n, rng *r, bool three)
{
    volume x = {.dim = {rng_percent(r, 70) ? 1 : 2, rng_between(r, 1, 20), rng_between(r, 1, 6),
                        rng_between(r, 2, 11), rng_between(r, 2, 13)}};
    vtac_type type = {.dtype = VTAC_F32, .rank = 5};
    vta_diag diag = {0};
    *n = (net){.graph = vtac_graph_create("net"), .count = 1};
    assert_non_null(n->graph);
    memcpy(type.dim, x.dim, sizeof x.dim);
    x.number = calloc((size_t)elements_of(&x), sizeof *x.number);
    assert_non_null(x.number);
    assert_int_equal(vtac_add_input(n->graph, "x", &type, &x.id, &diag), VTA_OK);
    n->v[0] = x;
    add_conv(n, r, 0, three);
    if (rng_percent(r, 50)) {
        add_plain(n, RELU, n->count - 1, 0);
    }
    if (rng_percent(r, 50)) {
        add_pool(n, r, n->count - 1);
    }
    const uint32_t last = n->count - 1;
    add_conv(n, r, last, three);
    if (rng_percent(r, 30)) {
        add_plain(n, SUM, n->count - 1, n->count - 1);
    }
    if (n->count - 1 > last &&
        memcmp(n->v[last].dim + 2, n->v[n->count - 1].dim + 2, 3 * sizeof(int64_t)) == 0) {
        add_plain(n, CONCAT, last, n->count - 1);
    }
    add_conv(n, r, n->count - 1, three);
    if (rng_percent(r, 30)) {
        add_plain(n, GLOBAL_POOL, n->count - 1, 0);
    }
}

static void free_net(net *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        free(n->v[i].number);
        free(n->v[i].weights);
        free(n->v[i].bias);
    }
    vtac_graph_destroy(n->graph);
}

/* ---- running them */

typedef struct drawn {
    rng r;
    const char *kind; /* how a point begins */
    uint32_t taken;   /* such points */
} drawn;

static uint32_t draw_point(void *context, const vtac_kernel_space *space)
{
    drawn *d = context;
    const uint32_t first = rng_below(&d->r, space->count);
    for (uint32_t i = 0; i < space->count; i++) {
        const uint32_t point = (first + i) % space->count;
        if (strncmp(space->points[point], d->kind, strlen(d->kind)) == 0) {
            d->taken++;
            return point;
        }
    }
    return first;
}

static void compare(const net *n, const vta_model *m, uint64_t seed, const char *host)
{
    const volume *v = &n->v[n->count - 1];
    const float *got = vta_model_output_data(m, 0);
    double range = 1e-3;
    for (int64_t i = 0; i < elements_of(v); i++) {
        range = fmax(range, fabs(v->number[i]));
    }
    for (int64_t i = 0; i < elements_of(v); i++) {
        if (!(fabs((double)got[i] - v->number[i]) <= 1.2e-5 * range)) {
            fail_msg("network %llu for %s: element %lld is %.9g, not %.9g", (unsigned long long)seed, host,
                     (long long)i, (double)got[i], v->number[i]);
        }
    }
}

static bool run(net *n, rng *r, uint64_t seed, const char *host, drawn *d)
{
    vta_model *m = NULL;
    vta_diag diag = {0};
    vtac_target target;
    vtac_artifact_image image;
    const vtac_schedules schedules = {draw_point, d};
    const vtac_compile_options options = {
        .level = 2, .target = &target, .schedules = d != NULL ? &schedules : NULL};
    const vta_model_options how = {.threads = 1 + rng_below(r, 2)};
    assert_int_equal(vtac_target_find(host, &target, &diag), VTA_OK);
    assert_int_equal(vtac_add_output(n->graph, n->v[n->count - 1].id, &diag), VTA_OK);
    if (vtac_compile(n->graph, &options, &image, &diag) != VTA_OK ||
        vtac_link(&image, library, &diag) != VTA_OK) {
        fail_msg("network %llu for %s: %s", (unsigned long long)seed, host, diag.text);
    }
    vtac_artifact_image_free(&image);
    const vta_status status = vta_model_load(library, &how, &m, &diag);
    if (status == VTA_UNSUPPORTED) {
        return false;
    }
    assert_int_equal(status, VTA_OK);
    for (int round = 0; round < 2; round++) {
        float *input = vta_model_input_data(m, 0);
        for (int64_t i = 0; i < elements_of(&n->v[0]); i++) {
            input[i] = any(r);
            n->v[0].number[i] = (double)input[i];
        }
        for (uint32_t v = 1; v < n->count; v++) {
            for (int64_t i = 0; i < elements_of(&n->v[v]); i++) {
                n->v[v].number[i] = value_of(n, &n->v[v], i);
            }
        }
        assert_int_equal(vta_model_run(m, &diag), VTA_OK);
        compare(n, m, seed, host);
    }
    vta_model_destroy(m);
    return true;
}

static void volumes_give_what_plain_loops_give(void **state)
{
    static const char *const kinds[] = {"", "", "winograd=2", "winograd=4"};
    uint32_t taken[4] = {0};
    unsigned long ran[HOSTS] = {0};
    (void)state;
    for (uint64_t seed = base_seed; seed < base_seed + network_count; seed++) {
        rng r = rng_split(seed, 31);
        const uint32_t which = seed % 4; /* 0: standard schedules */
        drawn d = {.r = rng_split(seed, 32), .kind = kinds[which]};
        net n;
        make_net(&n, &r, which >= 2);
        ran[seed / 4 % HOSTS] +=
            n.count > 1 && run(&n, &r, seed, hosts[seed / 4 % HOSTS], which == 0 ? NULL : &d);
        taken[which] += d.taken;
        free_net(&n);
        (void)unlink(library);
    }
    for (size_t i = 0; i < HOSTS; i++) {
        print_message("%s: %lu networks\n", hosts[i], ran[i]);
    }
    assert_true(ran[HOSTS - 1] > 0 && (network_count < 40 || (taken[2] > 0 && taken[3] > 0)));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(volumes_give_what_plain_loops_give)};
    network_count = argc > 1 ? strtoul(argv[1], NULL, 10) : network_count;
    base_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : test_seed("codegen_volumes");
    if (!temporary_file(library, ".so")) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(library);
    return failed;
}
