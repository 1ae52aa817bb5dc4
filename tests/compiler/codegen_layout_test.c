/* SPDX-License-Identifier: Apache-2.0
 *
 * Random networks of convolutions, pools, normalizations, additions and concatenations, float and quantized,
 * compiled for each processor that this machine can be, against a reference in plain loops. Each runs twice
 * with other data. Arguments: how many networks, and the first one's seed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plain_net.h"
#include "seed.h"
#include "temporary.h"
#include "vta/model.h"
#include "vtac/codegen.h"
#include "vtac/schedules.h"

static uint64_t base_seed;
static unsigned long network_count = 24;
static char library[TEMPORARY_PATH];

/* The last ones multiply bytes in other ways than those before them, and floats in the same. */
static const char *const hosts[] = {"x86-64-v2",     "x86-64-v3",   "x86-64-v4",
                                    "host",          "x86-64-vnni", "x86_64-linux-gnu,cpu=znver4",
                                    "x86-64-avxvnni"};
enum { HOSTS = sizeof hosts / sizeof hosts[0], FLOAT_HOSTS = 4, THIS_HOST = 3 };

/* ---- random networks */

static int64_t some_channels(rng *r)
{
    static const int64_t channels[] = {3, 8, 16, 24, 32, 5, 48, 1, 12, 2, 20, 30, 17};
    if (rng_percent(r, 4)) {
        return rng_between(r, 49, 90); /* more vectors than a tile has */
    }
    return channels[rng_below(r, sizeof channels / sizeof channels[0])];
}

static void add_conv(net *n, rng *r, uint32_t x)
{
    const net_value *from = &n->values[x];
    net_op op = {.kind = NET_CONV,
                 .in = {x},
                 .groups = 1,
                 .outputs = some_channels(r),
                 .has_bias = rng_percent(r, 70)};
    if (rng_percent(r, 35)) { /* depthwise */
        op.groups = op.outputs = from->dim[1];
    } else if (from->dim[1] % 2 == 0 && op.outputs % 2 == 0 && rng_percent(r, 20)) {
        op.groups = 2;
    } else if (from->dim[1] % 4 == 0 && rng_percent(r, 20)) { /* few channels in each of many groups */
        op.groups = from->dim[1] / 4;
        op.outputs = op.groups * rng_between(r, 1, 6);
    }
    const bool same =
        rng_percent(r, 60); /* keeps the plane's size, so that additions and concatenations fit */
    for (int a = 0; a < 2; a++) {
        op.kernel[a] = same ? 1 + 2 * rng_between(r, 0, 2) : rng_between(r, 1, 4);
        op.stride[a] = same ? 1 : rng_between(r, 1, 2);
        op.dilation[a] = rng_percent(r, 80) ? 1 : rng_percent(r, 60) ? 2 : rng_between(r, 3, 19);
        const int64_t reach = (op.kernel[a] - 1) * op.dilation[a];
        op.pad[a] = same ? reach / 2 : rng_between(r, 0, 2);
        op.pad[a + 2] = same ? reach - reach / 2 : rng_between(r, 0, 2);
        if (from->dim[a + 2] + op.pad[a] + op.pad[a + 2] <= reach) {
            op.kernel[a] = op.dilation[a] = 1;
        }
    }
    net_add(n, r, &op);
}

static void add_transposed(net *n, rng *r, uint32_t x)
{
    const net_value *from = &n->values[x];
    net_op op = {.kind = NET_CONV_TRANSPOSE,
                 .in = {x},
                 .groups = 1,
                 .outputs = some_channels(r),
                 .has_bias = rng_percent(r, 70)};
    if (rng_percent(r, 20)) {
        op.groups = op.outputs = from->dim[1];
    } else if (from->dim[1] % 2 == 0 && op.outputs % 2 == 0 && rng_percent(r, 30)) {
        op.groups = 2;
    }
    for (int a = 0; a < 2; a++) {
        op.kernel[a] = rng_between(r, 1, 5);
        op.stride[a] = rng_percent(r, 10) ? rng_between(r, 3, 4) : rng_between(r, 1, 2);
        op.dilation[a] = rng_percent(r, 70) ? 1 : rng_between(r, 2, 3);
        const int64_t reach = (op.kernel[a] - 1) * op.dilation[a];
        op.pad[a] = rng_between(r, 0, reach / 2);
        op.pad[a + 2] = rng_between(r, 0, reach / 2);
        if (from->dim[a + 2] > 20) {
            return;
        }
    }
    net_add(n, r, &op);
}

static void add_pool(net *n, rng *r, uint32_t x)
{
    const bool lp = !n->quantized && rng_percent(r, 30);
    net_op op = {.kind = lp                   ? NET_LP_POOL
                         : rng_percent(r, 50) ? NET_MAX_POOL
                                              : NET_AVERAGE_POOL,
                 .in = {x},
                 .p = rng_between(r, 1, 3),
                 .count_all = rng_percent(r, 50)};
    for (int a = 0; a < 2; a++) {
        op.kernel[a] = rng_between(r, 2, 3);
        op.stride[a] = rng_between(r, 1, 2);
        op.dilation[a] = 1;
        op.pad[a] = rng_between(r, 0, 1);
        op.pad[a + 2] = rng_between(r, 0, 1);
        if (n->values[x].dim[a + 2] < 3) {
            return;
        }
    }
    net_add(n, r, &op);
}

/* An epsilon that lets nobody divide by next to nothing: rounding errors would be all that is left. */
static void add_norm(net *n, rng *r, uint32_t x)
{
    const bool group = rng_percent(r, 60);
    static const int64_t groups[] = {1, 2, 3, 4, 8, 16};
    const int64_t some = groups[rng_below(r, sizeof groups / sizeof groups[0])];
    net_add(n, r,
            &(net_op){.kind = group ? NET_GROUP_NORM : NET_INSTANCE_NORM,
                      .in = {x},
                      .groups = n->values[x].dim[1] % some == 0 ? some : 1,
                      .epsilon = (double)rng_between(r, 1, 4) / 2.0,
                      .by_group = group && rng_percent(r, 30)});
}

/* Another value with the same planes, and the same channels where asked; `count`: none. */
static uint32_t partner(const net *n, rng *r, uint32_t x, bool channels)
{
    for (int tries = 0; tries < 8; tries++) {
        const uint32_t y = rng_below(r, n->count);
        const net_value *a = &n->values[x];
        const net_value *b = &n->values[y];
        if (a->dim[2] == b->dim[2] && a->dim[3] == b->dim[3] && (!channels || a->dim[1] == b->dim[1])) {
            return y;
        }
    }
    return n->count;
}

static void add_any(net *n, rng *r)
{
    /* mostly after what came last, sometimes from further back */
    const uint32_t x = rng_percent(r, 75) ? n->count - 1 : rng_below(r, n->count);
    const uint32_t dice = rng_below(r, 100);
    if (dice < 8 && !n->quantized) {
        add_transposed(n, r, x);
    } else if (dice < 42) {
        add_conv(n, r, x);
    } else if (dice < 50 || (dice < 58 && n->quantized)) {
        add_pool(n, r, x);
    } else if (dice < 58) {
        net_add(n, r, &(net_op){.kind = NET_RELU, .in = {x}});
    } else if (dice < 62) {
        net_add(n, r, &(net_op){.kind = NET_CHANNEL_MUL, .in = {x}});
    } else if (dice < 64) {
        const bool lp = !n->quantized && rng_percent(r, 50);
        net_add(n, r,
                &(net_op){
                    .kind = lp ? NET_GLOBAL_LP_POOL : NET_GLOBAL_POOL, .in = {x}, .p = rng_between(r, 1, 3)});
    } else if (dice < 72 && !n->quantized) {
        add_norm(n, r, x);
    } else {
        const bool concat = rng_percent(r, 50);
        const uint32_t y = partner(n, r, x, !concat);
        if (y < n->count) {
            net_add(n, r, &(net_op){.kind = concat ? NET_CONCAT : NET_ADD, .in = {x, y}});
        }
    }
}

static void make_net(net *n, rng *r)
{
    const bool quantized = rng_percent(r, 35);
    const int64_t dim[] = {rng_percent(r, 80) ? 1 : 2, some_channels(r), rng_between(r, 1, 17),
                           rng_between(r, 1, 19)};
    net_start(n, dim, quantized, quantized && rng_percent(r, 50));
    const uint32_t length = 2 + rng_below(r, 6);
    for (uint32_t i = 0; i < 4 * length && n->count <= length; i++) {
        add_any(n, r);
    }
}

/* ---- running them */

/* The schedules that kernels are made by: their standard schedules, or those that a seed draws, of a kind if
 * any is. */
typedef struct drawn {
    rng r;
    const char *kind; /* how a point begins; NULL: any */
    uint32_t of_kind; /* points that were taken for it */
    const char *kernel;
    uint32_t other; /* of this kernel, than the standard ones */
} drawn;

static uint32_t draw_point(void *context, const vtac_kernel_space *space)
{
    drawn *d = context;
    const uint32_t first = rng_below(&d->r, space->count);
    for (uint32_t i = 0; d->kind != NULL && i < space->count; i++) {
        const uint32_t point = (first + i) % space->count;
        if (strncmp(space->points[point], d->kind, strlen(d->kind)) == 0) {
            d->of_kind++;
            return point;
        }
    }
    if (d->kernel != NULL && strcmp(space->kernel, d->kernel) == 0 && first != space->standard) {
        d->other++;
    }
    return first;
}

static uint32_t count_of(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

/* Only the network's input is copied into a layout, and its outputs out of one. */
static void check_copies(const net *n, const char *host, const char *plan)
{
    const uint32_t laid_out = count_of(plan, "node.layout");
    const uint32_t plain = count_of(plan, "node.plain");
    if (laid_out != 1 || plain > n->output_count) { /* a plane of one element is the same in both forms */
        fail_msg("for %s %u copies to a layout and %u from one, not 1 and at most %u:\n%s", host, laid_out,
                 plain, n->output_count, plan);
    }
}

/* A way to compile a network. */
typedef struct way {
    const char *host;
    int level;
    bool signed_dot, one_by_one;
    bool in_layout; /* check_copies */
    drawn *schedules;
} way;

static void compile(net *n, const way *w)
{
    vta_diag diag = {0};
    vtac_target target;
    vtac_artifact_image image;
    if (vtac_target_find(w->host, &target, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    target.has_signed_dot = target.has_signed_dot || w->signed_dot;
    target.has_long = w->one_by_one;
    target.has_pairs = target.has_pairs && !w->one_by_one;
    const vtac_schedules schedules = {draw_point, w->schedules};
    const vtac_compile_options options = {.level = w->level,
                                          .target = &target,
                                          .schedules = w->schedules != NULL ? &schedules : NULL,
                                          .want_texts = w->in_layout};
    if (vtac_compile(n->graph, &options, &image, &diag) != VTA_OK ||
        vtac_link(&image, library, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    if (w->in_layout) {
        check_copies(n, w->host, image.plan);
    }
    vtac_artifact_image_free(&image);
}

static double element(const vta_model *m, uint32_t output, int64_t i)
{
    const void *data = vta_model_output_data(m, output);
    const vta_tensor_info info = vta_model_output(m, output);
    if (info.dtype_bits == 32) {
        return (double)((const float *)data)[i];
    }
    return info.dtype_code == 0 ? (double)((const int8_t *)data)[i] : (double)((const uint8_t *)data)[i];
}

static void compare(const net *n, const vta_model *m, uint64_t seed, const char *host, int level)
{
    for (uint32_t o = 0; o < n->output_count; o++) {
        const net_value *v = &n->values[n->outputs[o]];
        const int64_t count = net_elements(v);
        double range = 1e-3;
        for (int64_t i = 0; i < count; i++) {
            range = fmax(range, fabs(v->number[i]));
        }
        for (int64_t i = 0; i < count; i++) {
            const double got = element(m, o, i);
            const double error = fabs(got - v->number[i]);
            if (!(error <= (n->quantized ? 0.0 : 2e-5 * range))) {
                fail_msg("network %llu for %s at level %d: value %u, element %lld is %.9g, not %.9g",
                         (unsigned long long)seed, host, level, n->outputs[o], (long long)i, got,
                         v->number[i]);
            }
        }
    }
}

/* True if this machine is not that processor, as the loader said of the first network for it. */
static bool *refused(const char *host)
{
    static bool told[HOSTS];
    size_t i = 0;
    while (hosts[i] != host) {
        i++;
    }
    return &told[i];
}

/* False where this machine is not that processor. */
static bool run_way(net *n, rng *r, uint64_t seed, way w)
{
    vta_model *m = NULL;
    vta_diag diag = {0};
    const vta_model_options options = {.threads = 1 + rng_below(r, 2)};
    w.signed_dot = rng_percent(r, 25); /* as of NEON, by other means */
    w.one_by_one = rng_percent(r, 20); /* likewise, without dot products */
    if (*refused(w.host)) {
        return false;
    }
    compile(n, &w);
    const vta_status status = vta_model_load(library, &options, &m, &diag);
    if (status == VTA_UNSUPPORTED) {
        *refused(w.host) = true;
        return false;
    }
    if (status != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    for (int round = 0; round < 2; round++) {
        net_fill(n, r, vta_model_input_data(m, 0));
        net_evaluate(n);
        assert_int_equal(vta_model_run(m, &diag), VTA_OK);
        compare(n, m, seed, w.host, w.level);
    }
    vta_model_destroy(m);
    return true;
}

static bool run_net(net *n, rng *r, uint64_t seed, const char *host, int level)
{
    return run_way(n, r, seed, (way){.host = host, .level = level});
}

/* Whatever schedules the kernels have. */
static void schedules_change_no_result(void **state)
{
    (void)state;
    for (uint64_t seed = base_seed; seed < base_seed + network_count; seed++) {
        rng r = rng_split(seed, 7);
        net n;
        drawn d = {.r = rng_split(seed, 8), .kind = rng_percent(&r, 50) ? "winograd=" : NULL};
        make_net(&n, &r);
        (void)run_way(&n, &r, seed, (way){.host = hosts[seed % HOSTS], .level = 2, .schedules = &d});
        net_free(&n);
        (void)unlink(library);
    }
}

/* Winograd's way: planes that whole tiles cover and others, of one tile, with borders of all sizes, channels
 * that fill their blocks and others, batches, what is fused behind, and parts of a concatenation. */
static void fewer_products_give_the_same(void **state)
{
    static const int64_t shapes[][6] = {/* batch, in, out, rows, columns, border */
                                        {1, 32, 48, 12, 16, 1}, {1, 16, 64, 7, 13, 1},  {2, 24, 16, 6, 6, 0},
                                        {1, 20, 54, 9, 10, 2},  {3, 8, 32, 4, 5, 1},    {1, 40, 16, 17, 4, 1},
                                        {1, 64, 90, 14, 14, 1}, {2, 17, 33, 10, 11, 1}, {1, 16, 16, 4, 2, 1}};
    static const char *const kinds[] = {"winograd=2", "winograd=4"};
    uint32_t taken[2] = {0};
    (void)state;
    for (size_t i = 0; i < 2 * FLOAT_HOSTS * sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *shape = shapes[i / 2 / FLOAT_HOSTS];
        const int64_t pad = shape[5];
        rng r = rng_split(base_seed, 700 + i);
        drawn d = {.r = rng_split(base_seed, 9000 + i), .kind = kinds[i % 2]};
        net n;
        net_op conv = {.kind = NET_CONV,
                       .groups = 1,
                       .outputs = shape[1],
                       .kernel = {1, 1},
                       .stride = {1, 1},
                       .dilation = {1, 1}};
        net_start(&n, (const int64_t[]){shape[0], 3, shape[3], shape[4]}, false, false);
        net_add(&n, &r, &conv); /* what makes the input has blocks of channels */
        conv.in[0] = 1;
        conv.outputs = shape[2];
        conv.kernel[0] = conv.kernel[1] = 3;
        conv.pad[0] = conv.pad[1] = conv.pad[2] = conv.pad[3] = pad;
        conv.has_bias = i % 3 != 0;
        net_add(&n, &r, &conv);
        net_add(&n, &r, &(net_op){.kind = NET_RELU, .in = {2}});
        if (pad == 1) {
            conv.in[0] = 3;
            net_add(&n, &r, &conv);
            net_add(&n, &r, &(net_op){.kind = NET_ADD, .in = {4, 2}});
            net_add(&n, &r, &(net_op){.kind = NET_CONCAT, .in = {4, 3}});
        }
        const way w = {.host = hosts[i / 2 % FLOAT_HOSTS], .level = 2, .schedules = &d};
        (void)run_way(&n, &r, base_seed, w);
        taken[i % 2] += d.of_kind;
        net_free(&n);
        (void)unlink(library);
    }
    assert_true(taken[0] > 0 && taken[1] > 0);
}

/* Depthwise ones, float and quantized, of tiles that are drawn: planes whose rows tiles divide and others,
 * all strides, borders, channels that fill their blocks and others, batches, and what is fused behind. */
static void rows_of_depthwise_go_together(void **state)
{
    static const int64_t shapes[][8] = {/* batch, channels, rows, columns, kernel, stride, dilation, border */
                                        {1, 16, 12, 16, 3, 1, 1, 1}, {2, 24, 14, 9, 5, 2, 1, 2},
                                        {1, 17, 9, 10, 3, 1, 2, 2},  {1, 40, 17, 7, 3, 2, 1, 0},
                                        {2, 8, 16, 12, 7, 1, 1, 3},  {1, 32, 8, 25, 2, 1, 1, 0}};
    uint32_t taken[2] = {0};
    (void)state;
    for (size_t i = 0; i < FLOAT_HOSTS * sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *shape = shapes[i / FLOAT_HOSTS];
        const int64_t pad = shape[7];
        const size_t host = (i * 5 + (size_t)(base_seed % 7)) % HOSTS;
        const bool quantized = host >= FLOAT_HOSTS || i % 2 != 0;
        rng r = rng_split(base_seed, 20000 + i);
        drawn d = {.r = rng_split(base_seed, 30000 + i), .kernel = "depthwise"};
        net n;
        net_op conv = {.kind = NET_CONV,
                       .groups = 1,
                       .outputs = shape[1],
                       .kernel = {1, 1},
                       .stride = {1, 1},
                       .dilation = {1, 1}};
        net_start(&n, (const int64_t[]){shape[0], 4, shape[2], shape[3]}, quantized, i % 3 == 0);
        net_add(&n, &r, &conv);
        conv.in[0] = 1;
        conv.groups = shape[1];
        conv.has_bias = i % 3 != 0;
        for (int a = 0; a < 2; a++) {
            conv.kernel[a] = shape[4];
            conv.stride[a] = shape[5];
            conv.dilation[a] = shape[6];
            conv.pad[a] = conv.pad[a + 2] = pad;
        }
        net_add(&n, &r, &conv);
        if (!quantized) {
            net_add(&n, &r, &(net_op){.kind = NET_RELU, .in = {2}});
        }
        (void)run_way(&n, &r, base_seed, (way){.host = hosts[host], .level = 2, .schedules = &d});
        taken[quantized] += d.other;
        net_free(&n);
        (void)unlink(library);
    }
    print_message("%u and %u with a schedule that is not the standard one\n", taken[0], taken[1]);
    assert_true(taken[0] > 0 && taken[1] > 0);
}

/* Layers for the general kernels: few outputs, groups that fill no vector, strides and taps that are far
 * apart, and transposed ones by their phases. */
static void general_tiles_change_nothing(void **state)
{
    static const struct {
        bool transposed;
        int64_t channels, outputs, groups, kernel, stride, dilation, pad, rows, columns;
    } layers[] = {{false, 5, 3, 1, 3, 1, 1, 1, 11, 14},  {false, 12, 20, 4, 3, 2, 1, 1, 13, 9},
                  {false, 6, 12, 6, 3, 1, 1, 1, 10, 17}, {false, 30, 30, 3, 2, 1, 3, 2, 9, 8},
                  {false, 4, 7, 1, 5, 1, 9, 18, 12, 7},  {true, 6, 9, 3, 3, 2, 1, 1, 8, 9},
                  {true, 12, 12, 12, 4, 2, 1, 1, 9, 12}, {true, 7, 5, 1, 3, 1, 2, 1, 7, 20}};
    uint32_t taken[2] = {0};
    (void)state;
    for (size_t i = 0; i < FLOAT_HOSTS * sizeof layers / sizeof layers[0]; i++) {
        const size_t own = i / FLOAT_HOSTS;
        const size_t host = (i * 5 + (size_t)(base_seed % 7)) % HOSTS;
        const bool quantized = !layers[own].transposed && (i + own) % 2 != 0;
        rng r = rng_split(base_seed, 40000 + i);
        drawn d = {.r = rng_split(base_seed, 50000 + i), .kernel = "conv"};
        net n;
        net_op conv = {.kind = layers[own].transposed ? NET_CONV_TRANSPOSE : NET_CONV,
                       .groups = layers[own].groups,
                       .outputs = layers[own].outputs,
                       .has_bias = i % 3 != 0};
        for (int a = 0; a < 2; a++) {
            conv.kernel[a] = layers[own].kernel;
            conv.stride[a] = layers[own].stride;
            conv.dilation[a] = layers[own].dilation;
            conv.pad[a] = conv.pad[a + 2] = layers[own].pad;
        }
        const int64_t dim[] = {1 + (int64_t)(i % 2), layers[own].channels, layers[own].rows,
                               layers[own].columns};
        net_start(&n, dim, quantized, i % 3 == 0);
        net_add(&n, &r, &conv);
        if (!quantized) {
            net_add(&n, &r, &(net_op){.kind = NET_RELU, .in = {1}});
        }
        (void)run_way(&n, &r, base_seed, (way){.host = hosts[host], .level = 2, .schedules = &d});
        taken[layers[own].transposed] += d.other;
        net_free(&n);
        (void)unlink(library);
    }
    print_message("%u, and %u transposed, with a schedule that is not the standard one\n", taken[0],
                  taken[1]);
    assert_true(taken[0] > 0 && taken[1] > 0);
}

static void networks_give_what_plain_loops_give(void **state)
{
    (void)state;
    unsigned long ran[HOSTS] = {0};
    for (uint64_t seed = base_seed; seed < base_seed + network_count; seed++) {
        rng r = rng_split(seed, 1);
        net n;
        make_net(&n, &r);
        const size_t host = seed % HOSTS;
        const int level = rng_percent(&r, 15) ? 0 : 2;
        ran[host] += run_net(&n, &r, seed, hosts[host], level);
        net_free(&n);
        (void)unlink(library);
    }
    for (size_t i = 0; i < HOSTS; i++) {
        print_message("%s: %lu networks\n", hosts[i], ran[i]);
    }
    assert_true(ran[THIS_HOST] > 0);
}

/* Parts of a concatenation, one of them in a second concatenation, too, before a window that needs a border.
 */
static void parts_lie_side_by_side(void **state)
{
    (void)state;
    for (size_t i = 0; i < FLOAT_HOSTS; i++) {
        rng r = rng_split(base_seed, 3 + i);
        net n;
        net_op wide = {.kind = NET_CONV,
                       .groups = 1,
                       .outputs = 32,
                       .kernel = {3, 3},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .pad = {1, 1, 1, 1}};
        net_start(&n, (const int64_t[]){1 + (int64_t)(i % 2), 16, 7, 9}, false, false);
        net_add(&n, &r, &wide);
        wide.outputs = 16;
        net_add(&n, &r, &wide);
        net_add(&n, &r, &(net_op){.kind = NET_RELU, .in = {2}});
        net_add(&n, &r, &(net_op){.kind = NET_CONCAT, .in = {1, 3}});
        net_add(&n, &r, &(net_op){.kind = NET_CONCAT, .in = {4, 1}});
        wide.in[0] = 4;
        net_add(&n, &r, &wide);
        wide.in[0] = 5;
        net_add(&n, &r, &wide);
        (void)run_net(&n, &r, base_seed, hosts[i], 2);
        net_free(&n);
        (void)unlink(library);
    }
}

/* Groups of channels that fill no vectors are one group with zeros, of which panels of outputs read their own
 * blocks: one group's, or two groups' where they lie across. */
static void groups_meet_their_own_channels(void **state)
{
    static const int64_t shapes[][3] = {
        {3, 13, 32}, {3, 40, 100}, {4, 31, 31}, {5, 7, 20}}; /* groups, in, out */
    (void)state;
    for (size_t i = 0; i < HOSTS * sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *shape = shapes[i / HOSTS];
        rng r = rng_split(base_seed, 60 + i);
        net n;
        const net_op conv = {.kind = NET_CONV,
                             .groups = shape[0],
                             .outputs = shape[0] * shape[2],
                             .kernel = {3, 2},
                             .stride = {1, 1 + (int64_t)(i % 2)},
                             .dilation = {1, 1},
                             .pad = {1, 0, 1, 1}};
        net_start(&n, (const int64_t[]){1 + (int64_t)(i % 2), shape[0] * shape[1], 7, 9}, true, i % 3 == 0);
        net_add(&n, &r, &conv);
        (void)run_net(&n, &r, base_seed, hosts[i % HOSTS], 2);
        net_free(&n);
        (void)unlink(library);
    }
}

/* Few rows and few panels of outputs: a row's tiles are units of work of their own, also where their number
 * is a prime or the last one overlaps. The seed says which processors get floats, and which get bytes. */
static void threads_share_a_row(void **state)
{
    static const int64_t shapes[][6] = {/* in, out, rows, columns, kernel's rows and columns */
                                        {64, 64, 1, 250, 1, 5}, {16, 16, 1, 1021, 1, 3},
                                        {24, 40, 2, 137, 2, 3}, {32, 48, 9, 31, 1, 1},
                                        {16, 64, 1, 74, 1, 1},  {8, 32, 3, 101, 3, 3}};
    (void)state;
    for (size_t i = 0; i < HOSTS * sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *shape = shapes[i / HOSTS];
        rng r = rng_split(base_seed, 400 + i);
        net n;
        const net_op conv = {.kind = NET_CONV,
                             .groups = 1,
                             .outputs = shape[1],
                             .kernel = {shape[4], shape[5]},
                             .stride = {1, 1},
                             .dilation = {1, 1},
                             .pad = {0, shape[5] / 2, 0, shape[5] / 2},
                             .has_bias = true};
        net_start(&n, (const int64_t[]){1, shape[0], shape[2], shape[3]}, (base_seed + i) % 2 != 0, false);
        net_add(&n, &r, &conv);
        (void)run_net(&n, &r, base_seed, hosts[i % HOSTS], 2);
        net_free(&n);
        (void)unlink(library);
    }
}

/* Tiles of positions that lie in two rows, or more of narrow planes; the last one overlaps. */
static void tiles_go_on_in_the_next_row(void **state)
{
    static const int64_t shapes[][7] = {/* groups, in, out, rows, columns, kernel, stride */
                                        {1, 40, 48, 7, 7, 3, 1},   {1, 24, 32, 5, 13, 3, 1},
                                        {2, 20, 32, 9, 7, 1, 1},   {1, 16, 80, 23, 2, 2, 1},
                                        {1, 17, 33, 14, 11, 3, 2}, {1, 3, 64, 19, 3, 1, 1},
                                        {3, 16, 16, 2, 30, 2, 1}};
    (void)state;
    for (size_t i = 0; i < FLOAT_HOSTS * sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *shape = shapes[i / FLOAT_HOSTS];
        const int64_t pad = shape[5] / 2;
        rng r = rng_split(base_seed, 200 + i);
        net n;
        const net_op conv = {.kind = NET_CONV,
                             .groups = shape[0],
                             .outputs = shape[0] * shape[2],
                             .kernel = {shape[5], shape[5]},
                             .stride = {shape[6], shape[6]},
                             .dilation = {1, 1},
                             .pad = {pad, pad, pad, pad},
                             .has_bias = (base_seed + i) % 2 == 0};
        net_start(
            &n,
            (const int64_t[]){1 + (int64_t)((base_seed + i) % 2), shape[0] * shape[1], shape[3], shape[4]},
            false, false);
        net_add(&n, &r, &conv);
        net_add(&n, &r, &(net_op){.kind = NET_RELU, .in = {1}});
        (void)run_net(&n, &r, base_seed, hosts[i % FLOAT_HOSTS], 2);
        net_free(&n);
        (void)unlink(library);
    }
}

/* Between two convolutions of bytes, pools, concatenations, multiplications and additions leave the layout as
 * it is: only the network's input is copied into one, and its outputs out of one. */
static void bytes_stay_in_their_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < HOSTS; i++) {
        rng r = rng_split(base_seed, 20 + i);
        net n;
        const net_op conv = {.kind = NET_CONV,
                             .groups = 1,
                             .outputs = 16,
                             .kernel = {3, 3},
                             .stride = {1, 1},
                             .dilation = {1, 1},
                             .pad = {1, 1, 1, 1}};
        net_op pool = {.kind = NET_AVERAGE_POOL,
                       .in = {1},
                       .kernel = {2, 3},
                       .stride = {2, 2},
                       .dilation = {1, 1},
                       .pad = {0, 1, 0, 1},
                       .count_all = i % 2 == 0};
        net_op last = conv;
        net_start(&n, (const int64_t[]){1 + (int64_t)(i % 2), 8, 10, 12}, true, i % 2 == 0);
        net_add(&n, &r, &conv);
        net_add(&n, &r, &pool);
        pool.kind = NET_MAX_POOL;
        net_add(&n, &r, &pool);
        net_add(&n, &r, &(net_op){.kind = NET_CONCAT, .in = {2, 3}});
        net_add(&n, &r, &(net_op){.kind = NET_CHANNEL_MUL, .in = {4}});
        net_add(&n, &r, &(net_op){.kind = NET_ADD, .in = {5, 4}});
        last.in[0] = 6;
        net_add(&n, &r, &last);
        (void)run_way(&n, &r, base_seed, (way){.host = hosts[i], .level = 2, .in_layout = true});
        net_free(&n);
        (void)unlink(library);
    }
}

/* Nor do floats that are normalized, or pooled by their powers, between two convolutions. */
static void norms_stay_in_their_layout(void **state)
{
    (void)state;
    static const net_op kinds[] = {
        {.kind = NET_INSTANCE_NORM, .in = {1}, .epsilon = 0.25},
        {.kind = NET_GROUP_NORM, .in = {1}, .groups = 2, .epsilon = 0.5},
        {.kind = NET_GROUP_NORM, .in = {1}, .groups = 8, .epsilon = 0.125, .by_group = true},
        {.kind = NET_GROUP_NORM, .in = {1}, .groups = 1, .epsilon = 1.0},
        {.kind = NET_MEAN_VARIANCE, .in = {1}},
        {.kind = NET_LRN, .in = {1}, .groups = 5},
        {.kind = NET_LRN, .in = {1}, .groups = 4},
        {.kind = NET_LP_POOL,
         .in = {1},
         .kernel = {3, 2},
         .stride = {2, 1},
         .dilation = {1, 1},
         .pad = {1, 0, 1, 1},
         .p = 3},
        {.kind = NET_GLOBAL_LP_POOL, .in = {1}, .p = 2},
    };
    for (size_t i = 0; i < FLOAT_HOSTS * (sizeof kinds / sizeof kinds[0]); i++) {
        rng r = rng_split(base_seed, 40 + i);
        net n;
        net_op conv = {.kind = NET_CONV,
                       .groups = 1,
                       .outputs = 32,
                       .kernel = {3, 3},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .pad = {1, 1, 1, 1},
                       .has_bias = true};
        net_start(&n, (const int64_t[]){1 + (int64_t)(i % 2), 8, 10, 13}, false, false);
        net_add(&n, &r, &conv);
        net_add(&n, &r, &kinds[i / FLOAT_HOSTS]);
        net_add(&n, &r, &(net_op){.kind = NET_RELU, .in = {2}});
        conv.in[0] = 3;
        net_add(&n, &r, &conv);
        const way w = {.host = hosts[i % FLOAT_HOSTS], .level = 2, .in_layout = true};
        (void)run_way(&n, &r, base_seed, w);
        net_free(&n);
        (void)unlink(library);
    }
}

/* The multiplications of a quantized convolution's kernel, as each target says them. */
static void bytes_are_multiplied_by_fours(void **state)
{
    (void)state;
    static const char *const words[][2] = {{"x86-64-vnni", "vpdpbusd\t"}, {"x86-64-avxvnni", "vpdpbusd\t"},
                                           {"x86-64-v4", "vpmaddwd\t"},   {"x86-64-v3", "vpmaddwd\t"},
                                           {"x86-64-v2", "pmaddwd\t"},    {"aarch64-dotprod", "sdot\t"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        rng r = rng_split(i, 2);
        net n;
        vta_diag diag = {0};
        vtac_target target;
        vtac_artifact_image image;
        net_start(&n, (const int64_t[]){1, 16, 8, 8}, true, false);
        net_add(&n, &r,
                &(net_op){.kind = NET_CONV,
                          .groups = 1,
                          .outputs = 16,
                          .kernel = {3, 3},
                          .stride = {1, 1},
                          .dilation = {1, 1},
                          .pad = {1, 1, 1, 1}});
        assert_int_equal(vtac_target_find(words[i][0], &target, &diag), VTA_OK);
        const vtac_compile_options options = {.level = 2, .target = &target, .want_texts = true};
        if (vtac_compile(n.graph, &options, &image, &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        if (strstr(image.assembly, words[i][1]) == NULL) {
            fail_msg("no %s for %s", words[i][1], words[i][0]);
        }
        vtac_artifact_image_free(&image);
        net_free(&n);
    }
}

/* Counts the lines of an assembly that move a vector of 32 bytes to or from the stack. */
static size_t spills_of(const char *assembly)
{
    size_t count = 0;
    for (const char *line = assembly; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const size_t size = strcspn(line, "\n");
        const char *vector = strstr(line, "%ymm");
        const char *stack = strstr(line, "(%rsp)");
        count += vector != NULL && stack != NULL && vector < line + size && stack < line + size;
    }
    return count;
}

/* Neighbouring taps read the same elements of a row-major input; 16 registers have no room for them. */
static void sums_stay_in_registers(void **state)
{
    (void)state;
    rng r = rng_split(1, 3);
    net n;
    vta_diag diag = {0};
    vtac_target target;
    vtac_artifact_image image;
    net_start(&n, (const int64_t[]){1, 40, 12, 12}, false, false);
    net_add(&n, &r,
            &(net_op){.kind = NET_CONV,
                      .groups = 1,
                      .outputs = 64,
                      .kernel = {3, 3},
                      .stride = {1, 1},
                      .dilation = {1, 2},
                      .pad = {1, 2, 1, 2}});
    assert_int_equal(vtac_target_find("x86-64-v3", &target, &diag), VTA_OK);
    const vtac_compile_options options = {.level = 3, .target = &target, .want_texts = true};
    if (vtac_compile(n.graph, &options, &image, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_true(strstr(image.assembly, "vfmadd") != NULL);
    const size_t spills = spills_of(image.assembly);
    vtac_artifact_image_free(&image);
    net_free(&n);
    assert_in_range(spills, 0, 4);
}

int main(int argc, char **argv)
{
    network_count = argc > 1 ? strtoul(argv[1], NULL, 10) : network_count;
    base_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : test_seed("codegen_layout");
    if (!temporary_file(library, ".so")) {
        (void)fprintf(stderr, "codegen_layout: cannot write %s\n", library);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_give_what_plain_loops_give),
        cmocka_unit_test(schedules_change_no_result),
        cmocka_unit_test(fewer_products_give_the_same),
        cmocka_unit_test(rows_of_depthwise_go_together),
        cmocka_unit_test(general_tiles_change_nothing),
        cmocka_unit_test(parts_lie_side_by_side),
        cmocka_unit_test(groups_meet_their_own_channels),
        cmocka_unit_test(tiles_go_on_in_the_next_row),
        cmocka_unit_test(threads_share_a_row),
        cmocka_unit_test(bytes_stay_in_their_layout),
        cmocka_unit_test(norms_stay_in_their_layout),
        cmocka_unit_test(bytes_are_multiplied_by_fours),
        cmocka_unit_test(sums_stay_in_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
