/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq: linear interpolation by large factors, phase by phase.
 *
 *     Q(Resize(D(q)))  ->  phases side by side (QLinearConv(q with its edges repeated))
 *
 * All pixels of the output that lie at the same place between two pixels of the input, a phase, are the same
 * sum of these: a convolution, whose weights are whole numbers and whose scale divides by their sum. Beyond
 * the edge stands the pixel at the edge, as interpolation has it. Weights above 127 are shared between two
 * copies of the channel; larger ones still stay with floats.
 *
 * Channels go together in groups of some, whose weights are 0 for each other: the channels of one phase stand
 * side by side then, as they do in the output, and move there in whole blocks.
 */
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/divisor.h"

enum { MAX_AXES = 2, MAX_COPIES = 2, MAX_WEIGHT = 127, MAX_PHASES = 256, GROUP = 16 };
enum { MAX_WEIGHTS = 1 << 23 };

/* One axis. Where nothing lies between pixels, a phase is a copy of one; else a sum of two neighbours. */
typedef struct phase_axis {
    int64_t from, to, factor;
    bool half_pixel;
    int64_t taps, before, after; /* before, after: pixels that the edges get */
    int64_t places;              /* where all phases are made */
    int64_t begin;               /* of the output in the phases */
    int64_t sum;                 /* of the weights of a phase */
} phase_axis;

typedef struct phases {
    uint32_t axes;
    phase_axis axis[MAX_AXES]; /* rows, columns; a line has only the first */
    int64_t channels, own;     /* whole groups of channels, and those that there are */
    int64_t group;             /* channels of one */
    int64_t count, copies;     /* phases; copies of a channel */
} phases;

static void plan_axis(phase_axis *a)
{
    const bool plain = a->factor == 1 || a->from == 1; /* copies of a pixel */
    a->half_pixel = a->half_pixel && !plain;
    a->taps = plain ? 1 : 2;
    a->before = a->half_pixel;
    a->after = !plain;
    a->places = a->from + a->before;
    a->begin = a->half_pixel ? (a->factor + 1) / 2 : 0;
    a->sum = plain ? 1 : a->half_pixel && a->factor % 2 == 0 ? 2 * a->factor : a->factor;
}

static int64_t weight_of(const phase_axis *a, int64_t phase, int64_t tap)
{
    if (a->taps == 1) {
        return 1;
    }
    /* with half_pixel and an even factor, no pixel of the output lies at one of the input */
    const int64_t second = a->sum > a->factor ? 2 * phase + 1 : phase;
    return tap == 0 ? a->sum - second : second;
}

/* Common divisor of all weights of a phase. */
static int64_t divisor_of(const phase_axis *a, int64_t phase)
{
    int64_t common = 0;
    for (int64_t tap = 0; tap < a->taps; tap++) {
        common = (int64_t)vtac_common_divisor((uint64_t)common, (uint64_t)weight_of(a, phase, tap));
    }
    return common;
}

/* A tap of phase number `n` of all, along both axes, and the sum of its weights. */
static int64_t weight_at(const phases *p, int64_t n, int64_t ty, int64_t tx, int64_t *sum)
{
    const phase_axis *y = &p->axis[0], *x = &p->axis[1];
    const int64_t py = n / x->factor, px = n % x->factor;
    const int64_t common = divisor_of(y, py) * divisor_of(x, px);
    *sum = y->sum * x->sum / common;
    return weight_of(y, py, ty) * weight_of(x, px, tx) / common;
}

static int64_t copies_of(const phases *p)
{
    int64_t largest = 1;
    int64_t sum;
    for (int64_t n = 0; n < p->count; n++) {
        for (int64_t t = 0; t < p->axis[0].taps * p->axis[1].taps; t++) {
            const int64_t w = weight_at(p, n, t / p->axis[1].taps, t % p->axis[1].taps, &sum);
            largest = w > largest ? w : largest;
        }
    }
    return (largest + MAX_WEIGHT - 1) / MAX_WEIGHT;
}

/* All channels are one group, or groups of some with others beside them. */
static void plan_groups(phases *p)
{
    p->group = p->own < GROUP ? p->own : GROUP;
    p->channels = (p->own + p->group - 1) / p->group * p->group;
}

static bool plan_phases(const vtac_fold *f, const vtac_qvalue *x, phases *p)
{
    if (p->axes == 1) {
        p->axis[1] = (phase_axis){.from = 1, .to = 1, .factor = 1};
    }
    for (uint32_t d = 0; d < MAX_AXES; d++) {
        plan_axis(&p->axis[d]);
    }
    if (p->axis[0].factor > MAX_PHASES || p->axis[1].factor > MAX_PHASES / p->axis[0].factor) {
        return false;
    }
    p->own = f->r->graph->values[x->q].type.dim[1];
    if (p->own < 1) {
        return false;
    }
    plan_groups(p);
    p->count = p->axis[0].factor * p->axis[1].factor;
    p->copies = copies_of(p);
    const int64_t terms = p->group * p->copies * p->axis[0].taps * p->axis[1].taps;
    return p->copies <= MAX_COPIES && p->channels <= MAX_WEIGHTS / (p->count * terms) &&
           vtac_mean_fits(f, x, 1) && vtac_mean_fits(f, x, p->axis[0].sum * p->axis[1].sum);
}

/* ---- its nodes */

static vta_status insert_node(vtac_fold *f, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                              const vtac_attr *attr, vtac_value_id *out)
{
    const vtac_node_spec spec = {.op = op,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attr,
                                 .attr_count = attr != NULL};
    return vtac_new_node(f->r, f->at, &f->core, spec, out);
}

static vta_status slice_value(vtac_fold *f, vtac_value_id x, uint32_t axes, const int64_t *places,
                              const int64_t *begin, const int64_t *end, vtac_value_id *out)
{
    vtac_value_id inputs[4] = {x};
    VTA_TRY(vtac_new_ints(f->r, begin, axes, &inputs[VTAC_SLICE_STARTS]));
    VTA_TRY(vtac_new_ints(f->r, end, axes, &inputs[VTAC_SLICE_ENDS]));
    VTA_TRY(vtac_new_ints(f->r, places, axes, &inputs[VTAC_SLICE_AXES]));
    return insert_node(f, VTAC_OP_SLICE, inputs, 4, NULL, out);
}

/* x between so many zeros (its zero point). */
static vta_status put_between(vtac_fold *f, const vtac_qvalue *of, uint32_t along, const int64_t zeros[2],
                              vtac_value_id x, vtac_value_id *out)
{
    const uint32_t rank = f->r->graph->values[x].type.rank;
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    vtac_value_id inputs[3] = {x};
    pads[along] = zeros[0];
    pads[rank + along] = zeros[1];
    VTA_TRY(vtac_new_ints(f->r, pads, 2 * rank, &inputs[VTAC_PAD_PADS]));
    VTA_TRY(vtac_zero_operand(f->r, &of->p, &inputs[VTAC_PAD_VALUE]));
    return insert_node(f, VTAC_OP_PAD, inputs, 3, NULL, out);
}

/* *sum + pixel `from` of x between so many zeros; where it comes, *sum has a zero: nothing is rounded. */
static vta_status add_edge(vtac_fold *f, const vtac_qvalue *x, uint32_t along, int64_t from,
                           const int64_t zeros[2], vtac_value_id *sum)
{
    const int64_t place = along, end = from + 1;
    vtac_value_id zero;
    vtac_value_id edge;
    VTA_TRY(slice_value(f, x->q, 1, &place, &from, &end, &edge));
    VTA_TRY(put_between(f, x, along, zeros, edge, &edge));
    VTA_TRY(vtac_zero_operand(f->r, &x->p, &zero));
    const vtac_value_id inputs[] = {*sum, x->p.scale, zero, edge, x->p.scale, zero, x->p.scale, zero};
    return insert_node(f, VTAC_OP_QLINEAR_ADD, inputs, 8, NULL, sum);
}

static vta_status repeat_edges(vtac_fold *f, uint32_t along, const phase_axis *a, vtac_qvalue *x)
{
    vtac_value_id sum = x->q;
    if (a->before + a->after == 0) {
        return VTA_OK;
    }
    VTA_TRY(put_between(f, x, along, (int64_t[]){a->before, a->after}, x->q, &sum));
    VTA_TRY(a->before > 0 ? add_edge(f, x, along, 0, (int64_t[]){0, a->from + a->after}, &sum) : VTA_OK);
    VTA_TRY(a->after > 0 ? add_edge(f, x, along, a->from - 1, (int64_t[]){a->before + a->from, 0}, &sum)
                         : VTA_OK);
    x->q = sum;
    return VTA_OK;
}

/* Every channel so often, one beside the other. */
static vta_status copy_channels(vtac_fold *f, const phases *p, vtac_value_id *x)
{
    const int64_t count = p->channels * p->copies;
    const vtac_attr attr = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    vtac_value_id inputs[VTAC_GATHER_INPUTS] = {*x};
    if (p->copies == 1) {
        return VTA_OK;
    }
    int64_t *list = vta_arena_array(&f->r->graph->arena, (size_t)count, sizeof *list);
    if (list == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        list[i] = i / p->copies;
    }
    VTA_TRY(vtac_new_ints(f->r, list, (uint32_t)count, &inputs[VTAC_GATHER_INDICES]));
    return insert_node(f, VTAC_OP_GATHER, inputs, 2, &attr, x);
}

/* Weights [groups, phases, channels of a group; these, copies, taps, taps] and their scales. */
static vta_status put_weights(vtac_fold *f, const phases *p, vtac_value_id *weights, vtac_value_id *scales)
{
    const int64_t outputs = p->channels * p->count, inputs = p->group * p->copies;
    const int64_t wide = p->axis[1].taps, taps = p->axis[0].taps * wide;
    const vtac_type type = {.dtype = VTAC_I8,
                            .rank = 2 + p->axes,
                            .dim = {outputs, inputs, p->axis[0].taps, p->axes > 1 ? wide : 0}};
    const vtac_type list = {.dtype = VTAC_F32, .rank = 1, .dim = {outputs}};
    int8_t *data = vta_arena_array(&f->r->graph->arena, (size_t)(outputs * inputs * taps), 1);
    float *each = vta_arena_array(&f->r->graph->arena, (size_t)outputs, sizeof *each);
    if (data == NULL || each == NULL) {
        return vta_no_memory(f->r->diag);
    }
    for (int64_t o = 0; o < outputs; o++) {
        const int64_t phase = o / p->group % p->count, own = o % p->group * p->copies;
        for (int64_t t = 0; t < taps; t++) {
            int64_t sum;
            int64_t rest = weight_at(p, phase, t / wide, t % wide, &sum);
            each[o] = (float)(1.0 / (double)sum);
            for (int64_t k = 0; k < p->copies; k++) {
                const int64_t part = rest > MAX_WEIGHT ? MAX_WEIGHT : rest;
                data[(o * inputs + own + k) * taps + t] = (int8_t)part;
                rest -= part;
            }
        }
    }
    VTA_TRY(vtac_new_constant(f->r, NULL, &type, data, weights));
    return vtac_new_constant(f->r, NULL, &list, each, scales);
}

static vta_status reshape_value(vtac_fold *f, const int64_t *dims, uint32_t rank, vtac_value_id *x)
{
    vtac_value_id inputs[VTAC_RESHAPE_INPUTS] = {*x};
    VTA_TRY(vtac_new_ints(f->r, dims, rank, &inputs[VTAC_RESHAPE_SHAPE]));
    return insert_node(f, VTAC_OP_RESHAPE, inputs, 2, NULL, x);
}

/* [n, groups · phases · group, rows, cols] -> [n, groups, group, rows, phases, cols, phases], and what is
 * wanted of it. */
static vta_status join_phases(vtac_fold *f, const phases *p, vtac_value_id *x)
{
    static const int64_t one[] = {0, 1, 3, 4, 2}, two[] = {0, 1, 4, 5, 2, 6, 3};
    const phase_axis *a = p->axis;
    const int64_t n = f->r->graph->values[*x].type.dim[0], groups = p->channels / p->group;
    const int64_t line[] = {n, groups, a[0].factor, p->group, a[0].places};
    const int64_t image[] = {n, groups, a[0].factor, a[1].factor, p->group, a[0].places, a[1].places};
    const int64_t whole[] = {n, p->channels, a[0].factor * a[0].places, a[1].factor * a[1].places};
    const uint32_t rank = 3 + 2 * p->axes;
    VTA_TRY(reshape_value(f, p->axes == 1 ? line : image, rank, x));
    VTA_TRY(vtac_new_transpose(f->r, f->at, &f->core, p->axes == 1 ? one : two, rank, *x, x));
    VTA_TRY(reshape_value(f, whole, 2 + p->axes, x));
    const int64_t places[] = {1, 2, 3}, begin[] = {0, a[0].begin, a[1].begin};
    const int64_t end[] = {p->own, a[0].begin + a[0].to, a[1].begin + a[1].to};
    bool all = p->own == p->channels;
    for (uint32_t d = 0; d < p->axes; d++) {
        all = all && a[d].to == whole[2 + d];
    }
    return all ? VTA_OK : slice_value(f, *x, 1 + p->axes, places, begin, end, x);
}

static vta_status put_conv(vtac_fold *f, const phases *p, const vtac_qvalue *x, vtac_value_id *out)
{
    vtac_value_id inputs[8] = {x->q, x->p.scale};
    static const int8_t nothing = 0;
    const vtac_type scalar = {.dtype = VTAC_I8};
    VTA_TRY(vtac_zero_operand(f->r, &x->p, &inputs[VTAC_QLINEAR_CONV_X_ZERO]));
    VTA_TRY(put_weights(f, p, &inputs[VTAC_QLINEAR_CONV_WEIGHT], &inputs[VTAC_QLINEAR_CONV_WEIGHT_SCALE]));
    VTA_TRY(vtac_new_constant(f->r, NULL, &scalar, &nothing, &inputs[VTAC_QLINEAR_CONV_WEIGHT_ZERO]));
    inputs[VTAC_QLINEAR_CONV_Y_SCALE] = f->y.scale;
    inputs[VTAC_QLINEAR_CONV_Y_ZERO] = f->y_zero;
    const vtac_attr group = {.name = "group", .kind = VTAC_ATTR_INT, .i = p->channels / p->group};
    return insert_node(f, VTAC_OP_QLINEAR_CONV, inputs, 8, &group, out);
}

vta_status vtac_fold_phases(vtac_fold *f, const vtac_qvalue *operand, vtac_placing place, vtac_value_id *out)
{
    const vtac_type from = f->r->graph->values[operand->q].type;
    const vtac_type to = f->r->graph->values[f->core.outputs[0]].type;
    phases p = {.axes = from.rank - 2};
    vtac_qvalue x = *operand;
    *out = 0;
    if (p.axes > MAX_AXES) {
        return VTA_OK;
    }
    for (uint32_t d = 0; d < p.axes; d++) {
        const int64_t pixels = from.dim[2 + d], wanted = to.dim[2 + d];
        /* with align_corners the last pixel is the last one of the output */
        const bool last = place == VTAC_ALIGNED && pixels > 1;
        p.axis[d] = (phase_axis){.from = pixels,
                                 .to = wanted,
                                 .factor = last ? (wanted - 1) / (pixels - 1) : wanted / pixels,
                                 .half_pixel = place == VTAC_HALF_PIXEL};
    }
    if (!plan_phases(f, &x, &p)) {
        return VTA_OK;
    }
    for (uint32_t d = 0; d < p.axes; d++) {
        VTA_TRY(repeat_edges(f, 2 + d, &p.axis[d], &x));
    }
    if (p.channels > p.own) {
        VTA_TRY(put_between(f, &x, 1, (int64_t[]){0, p.channels - p.own}, x.q, &x.q));
    }
    VTA_TRY(copy_channels(f, &p, &x.q));
    VTA_TRY(put_conv(f, &p, &x, out));
    return join_phases(f, &p, out);
}
