/* SPDX-License-Identifier: Apache-2.0
 *
 * Resize of tensors of any size: of each axis a table of the places that an output place is made of, with
 * their weights; the weights of several axes multiply. Places beyond the edge are those at the edge.
 *
 * words: as vta/flow.def has them
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"
#include "vta/fail.h"

enum { W_MODE, W_TRANSFORM, W_NEAREST, W_CUBIC, W_EXCLUDE, W_VALUE, W_ANTIALIAS, W_AXES };
enum { NEAREST, LINEAR, CUBIC };
enum { HALF, HALF_TORCH, CORNERS, ASYMMETRIC, CROP, HALF_SYMMETRIC, HALF_TF };
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
enum { STRETCH, NOT_LARGER };
enum { MAX_WEIGHTS = 1 << 26 };

typedef struct axis_table {
    int64_t from, to, taps, stride;
    double scale, begin, end; /* of the region: shares of the axis */
    int64_t *place;           /* [to][taps] */
    double *weight;           /* [to][taps] */
    bool *outside;            /* [to] */
} axis_table;

typedef struct resizing {
    vta_call *call;
    int64_t mode, transform, nearest;
    double cubic_a;
    bool exclude, antialias;
    uint32_t rank;
    axis_table axis[VTA_FLOW_RANK];
} resizing;

/* ---- sizes ---- */

static int64_t entry_of(const resizing *r, const vta_list *axes, uint32_t axis)
{
    for (int64_t i = 0; i < axes->count; i++) {
        if ((axes->at[i] < 0 ? axes->at[i] + r->rank : axes->at[i]) == (int64_t)axis) {
            return i;
        }
    }
    return axes->count < 0 ? (int64_t)axis : -1;
}

/* The smallest or largest ratio of a wanted size to its axis. */
static double ratio_of(const resizing *r, const vta_list *axes, const vta_item *sizes, bool largest)
{
    double ratio = 0.0;
    bool any = false;
    for (uint32_t i = 0; i < r->rank; i++) {
        const int64_t entry = entry_of(r, axes, i);
        if (entry < 0 || entry >= sizes->count) {
            continue;
        }
        const double own = (double)vta_item_int(sizes, entry) / (double)r->axis[i].from;
        ratio = !any || (largest ? own > ratio : own < ratio) ? own : ratio;
        any = true;
    }
    return ratio;
}

static vta_status measure(resizing *r, const vta_list *axes, const vta_item *scales, const vta_item *sizes,
                          const vta_item *roi, int64_t policy)
{
    const vta_item *list = scales != NULL ? scales : sizes;
    const int64_t given = list != NULL ? list->count : 0;
    const int64_t wanted = axes->count >= 0 ? axes->count : (int64_t)r->rank;
    if (list == NULL || given != wanted || vta_item_is_float(list) != (scales != NULL)) {
        return vta_call_refuse(r->call, "%lld scales or sizes for %lld axes", (long long)given,
                               (long long)wanted);
    }
    for (int64_t i = 0; i < axes->count; i++) {
        int64_t own;
        VTA_TRY(vta_call_axis(r->call, axes->at[i], r->rank, &own));
    }
    const double ratio =
        scales == NULL && policy != STRETCH ? ratio_of(r, axes, sizes, policy != NOT_LARGER) : 0.0;
    for (uint32_t i = 0; i < r->rank; i++) {
        axis_table *t = &r->axis[i];
        const int64_t entry = entry_of(r, axes, i);
        double extent = (double)t->from;
        if (entry >= 0 && scales != NULL) {
            t->scale = vta_item_float(scales, entry);
            extent = (double)floorf((float)t->from * (float)t->scale);
        } else if (entry >= 0) {
            t->scale = ratio;
            extent = policy == STRETCH ? (double)vta_item_int(sizes, entry) : round((double)t->from * ratio);
        }
        if (!(extent >= 0.0 && extent < 9e15) || (t->from == 0 && extent > 0.0)) {
            return vta_call_refuse(r->call, "axis %u of size %lld would get %g places", i, (long long)t->from,
                                   extent);
        }
        t->to = (int64_t)extent;
        if (entry < 0 || (scales == NULL && policy == STRETCH)) {
            t->scale = t->from > 0 ? extent / (double)t->from : 1.0;
        }
        if (roi != NULL && entry >= 0 && entry < roi->count / 2) {
            t->begin = vta_item_float(roi, entry);
            t->end = vta_item_float(roi, entry + roi->count / 2);
        }
    }
    return VTA_OK;
}

/* ---- tables ---- */

/* Place in the input that output place `at` lies at. */
static double source(const resizing *r, const axis_table *t, int64_t at)
{
    const double x = (double)at;
    const double length = t->scale * (double)t->from; /* before it was rounded */
    const double half = (x + 0.5) / t->scale - 0.5;   /* as ONNX has it: halves decide what is nearest */
    const double last = (double)(t->from - 1);
    switch (r->transform) {
    case HALF: return half;
    case HALF_TORCH: return t->to > 1 ? half : 0.0;
    case CORNERS: return t->to > 1 ? x * last / (length - 1.0) : 0.0;
    case ASYMMETRIC: return x / t->scale;
    case HALF_SYMMETRIC:
        return (x + 0.5) / t->scale + ((double)t->from / 2.0 * (1.0 - (double)t->to / length) - 0.5);
    case HALF_TF: return (x + 0.5) / t->scale;
    default:
        return t->to > 1 ? x * ((t->end - t->begin) * last / (length - 1.0)) + t->begin * last
                         : 0.5 * (t->begin + t->end) * last;
    }
}

static double nearest_place(const resizing *r, double x)
{
    return r->nearest == FLOOR         ? floor(x)
           : r->nearest == CEIL        ? ceil(x)
           : r->nearest == PREFER_CEIL ? floor(x + 0.5)
                                       : ceil(x - 0.5);
}

static double kernel_at(const resizing *r, double d)
{
    const double a = r->cubic_a;
    d = fabs(d);
    if (r->mode == LINEAR) {
        return d < 1.0 ? 1.0 - d : 0.0;
    }
    return d <= 1.0  ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
           : d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
                     : 0.0;
}

static int64_t clamped(const axis_table *t, double place)
{
    return place <= 0.0 ? 0 : place >= (double)(t->from - 1) ? t->from - 1 : (int64_t)place;
}

static void fill_place(const resizing *r, axis_table *t, int64_t at, double stretch)
{
    const double x = source(r, t, at);
    int64_t *place = t->place + at * t->taps;
    double *weight = t->weight + at * t->taps;
    t->outside[at] = r->transform == CROP && (x < 0.0 || x > (double)(t->from - 1));
    if (r->mode == NEAREST) {
        place[0] = clamped(t, nearest_place(r, x));
        weight[0] = 1.0;
        return;
    }
    const double first =
        r->antialias ? ceil(x - (double)(t->taps - 1) / 2.0) : floor(x) - (r->mode == CUBIC ? 1.0 : 0.0);
    double sum = 0.0;
    for (int64_t i = 0; i < t->taps; i++) {
        const double own = first + (double)i;
        const bool inside = own >= 0.0 && own < (double)t->from;
        weight[i] = r->exclude && !inside ? 0.0 : kernel_at(r, (own - x) * stretch);
        place[i] = clamped(t, own);
        sum += weight[i];
    }
    for (int64_t i = 0; i < t->taps && (r->exclude || r->antialias) && sum != 0.0; i++) {
        weight[i] /= sum;
    }
}

/* An axis that stays as it is has one place each. */
static vta_status fill_axis(resizing *r, axis_table *t)
{
    const double stretch = r->antialias && t->scale < 1.0 ? t->scale : 1.0;
    const bool moves =
        t->from != t->to || t->scale != 1.0 || t->begin != 0.0 || t->end != 1.0 || r->transform == HALF_TF;
    t->taps = !moves || r->mode == NEAREST ? 1
              : r->antialias               ? 2 * (int64_t)ceil((r->mode == CUBIC ? 2.0 : 1.0) / stretch) + 1
              : r->mode == CUBIC           ? 4
                                           : 2;
    if (t->taps > MAX_WEIGHTS || t->to > MAX_WEIGHTS / t->taps) {
        return vta_call_refuse(r->call, "an axis of more than %d weights", MAX_WEIGHTS);
    }
    const size_t count = (size_t)(t->to * t->taps) + 1;
    t->place = calloc(count, sizeof *t->place);
    t->weight = calloc(count, sizeof *t->weight);
    t->outside = calloc(count, sizeof *t->outside);
    if (t->place == NULL || t->weight == NULL || t->outside == NULL) {
        return vta_no_memory(r->call->diag);
    }
    for (int64_t at = 0; at < t->to; at++) {
        if (moves) {
            fill_place(r, t, at, stretch);
        } else {
            t->place[at] = at;
            t->weight[at] = 1.0;
        }
    }
    return VTA_OK;
}

/* ---- elements ---- */

static double sample(const resizing *r, const vta_item *x, const int64_t *at, uint32_t axis, int64_t base)
{
    if (axis == r->rank) {
        return vta_item_float(x, base);
    }
    const axis_table *t = &r->axis[axis];
    const int64_t first = at[axis] * t->taps;
    if (t->taps == 1) {
        return sample(r, x, at, axis + 1, base + t->place[first] * t->stride);
    }
    double sum = 0.0;
    for (int64_t i = first; i < first + t->taps; i++) {
        if (t->weight[i] != 0.0) {
            sum += t->weight[i] * sample(r, x, at, axis + 1, base + t->place[i] * t->stride);
        }
    }
    return sum;
}

static void copy_place(const resizing *r, const vta_item *x, vta_item *y, const int64_t *at, int64_t to)
{
    const size_t size = vta_item_size(x);
    int64_t from = 0;
    for (uint32_t i = 0; i < r->rank; i++) {
        from += r->axis[i].place[at[i]] * r->axis[i].stride;
    }
    memcpy(y->data + (size_t)to * size, x->data + (size_t)from * size, size);
}

static bool is_outside(const resizing *r, const int64_t *at)
{
    bool outside = false;
    for (uint32_t i = 0; i < r->rank; i++) {
        outside = outside || r->axis[i].outside[at[i]];
    }
    return outside;
}

/* Integers are rounded towards zero, as where they are converted. */
static vta_status fill_output(resizing *r)
{
    const vta_item *x = r->call->in[0];
    vta_item *y = r->call->out[0];
    int64_t at[VTA_FLOW_RANK] = {0};
    for (int64_t i = 0; i < y->count; i++) {
        if (is_outside(r, at)) {
            vta_item_set_float(y, i, vta_call_float(r->call, W_VALUE));
        } else if (r->mode == NEAREST) {
            copy_place(r, x, y, at, i);
        } else {
            vta_item_set_float(y, i, sample(r, x, at, 0, 0));
        }
        uint32_t axis = r->rank;
        while (axis-- > 0 && ++at[axis] == r->axis[axis].to) {
            at[axis] = 0;
        }
        if (at[r->rank - 1] == 0 && vta_stop_take(r->call->flow->stop)) {
            return vta_fail(r->call->diag, VTA_INTERRUPTED, "interrupted in the node '%.*s'",
                            r->call->insn->name_size, r->call->insn->name);
        }
    }
    return VTA_OK;
}

static vta_status run(resizing *r, const vta_list *axes, const vta_item *scales, const vta_item *sizes,
                      const vta_item *roi, int64_t policy)
{
    const vta_item *x = r->call->in[0];
    int64_t stride[VTA_FLOW_RANK];
    int64_t dim[VTA_FLOW_RANK];
    r->rank = x->rank;
    vta_row_strides(x->dim, x->rank, stride);
    for (uint32_t i = 0; i < x->rank; i++) {
        r->axis[i] = (axis_table){.from = x->dim[i], .stride = stride[i], .end = 1.0};
    }
    if (x->rank == 0) {
        r->call->out[0] = vta_item_hold(r->call->in[0]);
        return VTA_OK;
    }
    VTA_TRY(measure(r, axes, scales, sizes, r->transform == CROP ? roi : NULL, policy));
    for (uint32_t i = 0; i < x->rank; i++) {
        VTA_TRY(fill_axis(r, &r->axis[i]));
        dim[i] = r->axis[i].to;
    }
    VTA_TRY(vta_item_tensor(r->call->flow, x->type, x->rank, dim, &r->call->out[0], r->call->diag));
    return fill_output(r);
}

static vta_status finish(resizing *r, vta_status status)
{
    for (uint32_t i = 0; i < VTA_FLOW_RANK; i++) {
        free(r->axis[i].place);
        free(r->axis[i].weight);
        free(r->axis[i].outside);
    }
    return status;
}

static const vta_item *given(const vta_call *call, int64_t i)
{
    return vta_call_has(call, i) && call->in[i]->count > 0 ? call->in[i] : NULL;
}

/* Two inputs, x and the scales: the form of opset 10, scaled from the corner and rounded down. */
static vta_status resize_old(vta_call *call, int64_t mode)
{
    resizing r = {.call = call, .mode = mode, .transform = ASYMMETRIC, .nearest = FLOOR};
    const vta_list all = {-1, NULL};
    VTA_TRY(vta_call_needs(call, 2));
    return finish(&r, run(&r, &all, call->in[1], NULL, NULL, STRETCH));
}

vta_status vta_flow_upsample(vta_call *call)
{
    return resize_old(call, vta_call_word(call, 0));
}

vta_status vta_flow_resize(vta_call *call)
{
    int64_t policy;
    if (call->insn->inputs.count == 2) {
        return resize_old(call, vta_call_word(call, W_MODE));
    }
    resizing r = {.call = call,
                  .mode = vta_call_word(call, W_MODE),
                  .transform = vta_call_word(call, W_TRANSFORM),
                  .nearest = vta_call_word(call, W_NEAREST),
                  .cubic_a = vta_call_float(call, W_CUBIC),
                  .exclude = vta_call_word(call, W_EXCLUDE) != 0,
                  .antialias = vta_call_word(call, W_ANTIALIAS) != 0};
    const vta_list axes = vta_call_list(call, W_AXES, &policy);
    const vta_item *scales = given(call, 2);
    const vta_item *sizes = given(call, 3);
    VTA_TRY(vta_call_needs(call, 1));
    if (scales == NULL && sizes == NULL) {
        return vta_call_refuse(call, "neither scales nor sizes are given");
    }
    return finish(&r, run(&r, &axes, scales, sizes, given(call, 1), vta_call_word(call, policy)));
}
