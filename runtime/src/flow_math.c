/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that compute along axes of any length: sums, orders. Floats of every width are summed in
 * double, integers in 64 bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_text.h"
#include "vta/fail.h"

static vta_status make(const vta_call *call, int64_t i, uint32_t type, int64_t rank, const int64_t *dim)
{
    return vta_item_tensor(call->flow, type, (uint32_t)rank, dim, &call->out[i], call->diag);
}

/* ---- reductions ---- */

typedef enum reduction { SUM, MEAN, MAX, MIN, PROD, L1, L2, SQUARES, LOG_SUM, LOG_SUM_EXP } reduction;

/* The elements that one element of the output is made of. */
typedef struct column {
    const vta_item *t;
    uint32_t rank; /* of the reduced axes */
    int64_t dim[VTA_FLOW_RANK], stride[VTA_FLOW_RANK];
    int64_t count, base;
} column;

static int64_t place(const column *c, int64_t i)
{
    int64_t at = c->base;
    for (uint32_t a = c->rank; a-- > 0;) {
        at += i % c->dim[a] * c->stride[a];
        i /= c->dim[a];
    }
    return at;
}

static double reduce_floats(const column *c, reduction how)
{
    double max = -(double)INFINITY;
    for (int64_t i = 0; how == LOG_SUM_EXP && i < c->count; i++) {
        max = fmax(max, vta_item_float(c->t, place(c, i)));
    }
    const double shift = isfinite(max) ? max : 0;
    double sum = how == PROD ? 1.0 : how == MAX ? -(double)INFINITY : how == MIN ? (double)INFINITY : 0.0;
    for (int64_t i = 0; i < c->count; i++) {
        const double x = vta_item_float(c->t, place(c, i));
        switch ((int)how) {
        case MAX: sum = x > sum || isnan(x) ? x : sum; break;
        case MIN: sum = x < sum || isnan(x) ? x : sum; break;
        case PROD: sum *= x; break;
        case L1: sum += fabs(x); break;
        case L2:
        case SQUARES: sum += x * x; break;
        case LOG_SUM_EXP: sum += exp(x - shift); break;
        default: sum += x; break;
        }
    }
    return how == MEAN          ? sum / (double)c->count
           : how == L2          ? sqrt(sum)
           : how == LOG_SUM     ? log(sum)
           : how == LOG_SUM_EXP ? log(sum) + shift
                                : sum;
}

static int64_t reduce_ints(const column *c, reduction how)
{
    const bool whole = (c->t->type & 255) == 0;
    uint64_t sum = how == PROD;
    for (int64_t i = 0; i < c->count; i++) {
        const int64_t x = vta_item_int(c->t, place(c, i));
        const uint64_t u = (uint64_t)x;
        const bool larger = whole ? x > (int64_t)sum : u > sum;
        switch ((int)how) {
        case MAX: sum = i == 0 || larger ? u : sum; break;
        case MIN: sum = i == 0 || !larger ? u : sum; break;
        case PROD: sum *= u; break;
        case L1: sum += x < 0 && whole ? 0 - u : u; break;
        case SQUARES: sum += u * u; break;
        default: sum += u; break;
        }
    }
    return how != MEAN || c->count == 0 ? (int64_t)sum
           : whole                      ? (int64_t)sum / c->count
                                        : (int64_t)(sum / (uint64_t)c->count);
}

/* Marks the axes that are reduced: all, where none is named. */
static vta_status reduced_axes(const vta_call *call, bool *marks)
{
    const vta_item *t = call->in[0];
    int64_t store[VTA_FLOW_MAX];
    int64_t keep_word;
    vta_list axes;
    (void)vta_call_list(call, 0, &keep_word);
    VTA_TRY(vta_call_ints(call, 0, 1, store, &axes));
    const bool none = axes.count <= 0;
    for (uint32_t i = 0; i < VTA_FLOW_RANK; i++) {
        marks[i] = none && vta_call_word(call, keep_word + 1) == 0;
    }
    for (int64_t i = 0; i < axes.count; i++) {
        int64_t axis;
        VTA_TRY(vta_call_axis(call, axes.at[i], t->rank, &axis));
        marks[axis] = true;
    }
    return VTA_OK;
}

static vta_status reduce(vta_call *call, reduction how)
{
    bool gone[VTA_FLOW_RANK];
    int64_t stride[VTA_FLOW_RANK];
    int64_t dim[VTA_FLOW_RANK];
    int64_t keep_word;
    uint32_t rank = 0;
    column kept = {.count = 1};
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    column c = {.t = t, .count = 1};
    VTA_TRY(reduced_axes(call, gone));
    (void)vta_call_list(call, 0, &keep_word);
    vta_row_strides(t->dim, t->rank, stride);
    for (uint32_t i = 0; i < t->rank; i++) {
        column *side = gone[i] ? &c : &kept;
        side->dim[side->rank] = t->dim[i];
        side->stride[side->rank++] = stride[i];
        side->count *= t->dim[i];
        dim[rank] = gone[i] ? 1 : t->dim[i];
        rank += !gone[i] || vta_call_word(call, keep_word) != 0;
    }
    VTA_TRY(make(call, 0, t->type, rank, dim));
    for (int64_t i = 0; i < call->out[0]->count; i++) {
        c.base = place(&kept, i);
        if (vta_item_is_float(t) || how == L2 || how == LOG_SUM || how == LOG_SUM_EXP) {
            vta_item_set_float(call->out[0], i, reduce_floats(&c, how));
        } else {
            vta_item_set_int(call->out[0], i, reduce_ints(&c, how));
        }
    }
    return VTA_OK;
}

#define REDUCE(name, how)                                                                                    \
    vta_status vta_flow_reduce_##name(vta_call *call)                                                        \
    {                                                                                                        \
        return reduce(call, how);                                                                            \
    }
REDUCE(sum, SUM)
REDUCE(mean, MEAN)
REDUCE(max, MAX)
REDUCE(min, MIN)
REDUCE(prod, PROD)
REDUCE(l1, L1)
REDUCE(l2, L2)
REDUCE(sum_square, SQUARES)
REDUCE(log_sum, LOG_SUM)
REDUCE(log_sum_exp, LOG_SUM_EXP)

/* Divides the elements of one column, less their mean, by the root of their variance. */
static void normalize_column(const column *c, vta_item *y)
{
    double variance = 0;
    const double mean = reduce_floats(c, MEAN);
    for (int64_t k = 0; k < c->count; k++) {
        const double off = vta_item_float(c->t, place(c, k)) - mean;
        variance += off * off;
    }
    const double root = sqrt(variance / (double)c->count + 1e-9);
    for (int64_t k = 0; k < c->count; k++) {
        const int64_t at = place(c, k);
        vta_item_set_float(y, at, (vta_item_float(c->t, at) - mean) / root);
    }
}

/* Gives each axis of `t` to `c` where it is marked, else to `kept`. */
static void split_axes(const vta_item *t, const bool *marks, column *c, column *kept)
{
    int64_t stride[VTA_FLOW_RANK];
    vta_row_strides(t->dim, t->rank, stride);
    for (uint32_t i = 0; i < t->rank; i++) {
        column *side = marks[i] ? c : kept;
        side->dim[side->rank] = t->dim[i];
        side->stride[side->rank++] = stride[i];
        side->count *= t->dim[i];
    }
}

/* Mean and variance normalized along the axes in the instruction's words, or along 0, 2, 3. */
vta_status vta_flow_mean_variance(vta_call *call)
{
    static const int64_t usual[] = {0, 2, 3};
    bool marks[VTA_FLOW_RANK] = {false};
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    column c = {.t = t, .count = 1};
    column kept = {.count = 1};
    vta_list axes = vta_call_list(call, 0, NULL);
    axes = axes.count < 0 ? (vta_list){3, usual} : axes;
    for (int64_t i = 0; i < axes.count; i++) {
        int64_t axis;
        VTA_TRY(vta_call_axis(call, axes.at[i], t->rank, &axis));
        marks[axis] = true;
    }
    split_axes(t, marks, &c, &kept);
    VTA_TRY(make(call, 0, t->type, t->rank, t->dim));
    for (int64_t i = 0; i < kept.count && c.count > 0; i++) {
        c.base = place(&kept, i);
        normalize_column(&c, call->out[0]);
    }
    return VTA_OK;
}

/* ---- along one axis ---- */

/* A tensor as [outer, size, inner] around an axis. */
typedef struct lanes {
    const vta_item *t;
    int64_t axis, outer, size, inner;
    const vta_flow *texts; /* whose these are; NULL: they are numbers */
} lanes;

static vta_status open_lanes(const vta_call *call, int64_t axis, lanes *out)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    out->t = t;
    if (t->rank == 0 && (axis == 0 || axis == -1)) {
        out->axis = 0;
        out->outer = out->size = out->inner = 1;
        return VTA_OK;
    }
    VTA_TRY(vta_call_axis(call, axis, t->rank, &out->axis));
    out->outer = vta_dims_product(t, 0, out->axis);
    out->size = t->dim[out->axis];
    out->inner = vta_dims_product(t, out->axis + 1, t->rank);
    return VTA_OK;
}

static int64_t lane_place(const lanes *l, int64_t lane, int64_t i)
{
    return (lane / l->inner * l->size + i) * l->inner + lane % l->inner;
}

/* -1, 0, 1: how elements a and b compare; what is no number comes last. */
static int compare(const vta_item *t, int64_t a, int64_t b)
{
    if (vta_item_is_float(t)) {
        const double x = vta_item_float(t, a);
        const double y = vta_item_float(t, b);
        return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
    }
    const int64_t x = vta_item_int(t, a);
    const int64_t y = vta_item_int(t, b);
    return (t->type & 255) == 0 ? (x > y) - (x < y)
                                : ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
}

static vta_status arg(vta_call *call, int sign)
{
    lanes l;
    int64_t dim[VTA_FLOW_RANK];
    uint32_t rank = 0;
    VTA_TRY(open_lanes(call, vta_call_word(call, 0), &l));
    for (uint32_t i = 0; i < l.t->rank; i++) {
        dim[rank] = i == l.axis ? 1 : l.t->dim[i];
        rank += i != l.axis || vta_call_word(call, 1) != 0;
    }
    if (l.size == 0) {
        return vta_call_refuse(call, "there is nothing along its axis");
    }
    VTA_TRY(make(call, 0, VTA_FLOW_I64, rank, dim));
    for (int64_t lane = 0; lane < l.outer * l.inner; lane++) {
        int64_t best = 0;
        for (int64_t i = 1; i < l.size; i++) {
            const int order = sign * compare(l.t, lane_place(&l, lane, i), lane_place(&l, lane, best));
            best = order > 0 || (order == 0 && vta_call_word(call, 2) != 0) ? i : best;
        }
        vta_item_set_int(call->out[0], lane, best);
    }
    return VTA_OK;
}

vta_status vta_flow_arg_max(vta_call *call)
{
    return arg(call, 1);
}

vta_status vta_flow_arg_min(vta_call *call)
{
    return arg(call, -1);
}

typedef enum softening { SOFT, SOFT_LOG, HARD } softening;

/* All axes from the first word's on as one. */
static vta_status open_flat(const vta_call *call, lanes *out)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *t = call->in[0];
    const int64_t given = vta_call_word(call, 0);
    int64_t axis = t->rank;
    VTA_TRY(given != axis ? vta_call_axis(call, given, t->rank, &axis) : VTA_OK);
    *out = (lanes){t, axis, vta_dims_product(t, 0, axis), vta_dims_product(t, axis, t->rank), 1, NULL};
    return VTA_OK;
}

static void soften_lane(const lanes *l, int64_t lane, double max, bool is_log, vta_item *y)
{
    double sum = 0;
    for (int64_t i = 0; i < l->size; i++) {
        sum += exp(vta_item_float(l->t, lane_place(l, lane, i)) - max);
    }
    for (int64_t i = 0; i < l->size; i++) {
        const int64_t at = lane_place(l, lane, i);
        const double x = vta_item_float(l->t, at) - max;
        vta_item_set_float(y, at, is_log ? x - log(sum) : exp(x) / sum);
    }
}

/* The first of the largest. */
static void harden_lane(const lanes *l, int64_t lane, double max, vta_item *y)
{
    bool found = false;
    for (int64_t i = 0; i < l->size; i++) {
        const int64_t at = lane_place(l, lane, i);
        const bool is_it = !found && vta_item_float(l->t, at) == max;
        vta_item_set_float(y, at, is_it);
        found = found || is_it;
    }
}

static vta_status soften(vta_call *call, const lanes *l, softening how)
{
    VTA_TRY(make(call, 0, l->t->type, l->t->rank, l->t->dim));
    for (int64_t lane = 0; lane < l->outer * l->inner && l->size > 0; lane++) {
        double max = -(double)INFINITY;
        for (int64_t i = 0; i < l->size; i++) {
            max = fmax(max, vta_item_float(l->t, lane_place(l, lane, i)));
        }
        if (how == HARD) {
            harden_lane(l, lane, max, call->out[0]);
        } else {
            soften_lane(l, lane, max, how == SOFT_LOG, call->out[0]);
        }
    }
    return VTA_OK;
}

#define SOFTEN(name, how)                                                                                    \
    vta_status vta_flow_##name(vta_call *call)                                                               \
    {                                                                                                        \
        lanes l;                                                                                             \
        VTA_TRY(open_lanes(call, vta_call_word(call, 0), &l));                                               \
        return soften(call, &l, how);                                                                        \
    }                                                                                                        \
    vta_status vta_flow_##name##_flat(vta_call *call)                                                        \
    {                                                                                                        \
        lanes l;                                                                                             \
        VTA_TRY(open_flat(call, &l));                                                                        \
        return soften(call, &l, how);                                                                        \
    }
SOFTEN(softmax, SOFT)
SOFTEN(log_softmax, SOFT_LOG)
SOFTEN(hardmax, HARD)

/* A new axis of `depth` places, on where the index says, which may count from the end. */
vta_status vta_flow_one_hot(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 3));
    const vta_item *t = call->in[0];
    const vta_item *values = call->in[2];
    int64_t axis;
    int64_t dim[VTA_FLOW_RANK];
    if (call->in[1]->count != 1 || values->count != 2 || t->rank >= VTA_FLOW_RANK) {
        return vta_call_refuse(
            call, "its depth is to be one number, its values two, its result at most %d axes", VTA_FLOW_RANK);
    }
    const double depth = vta_item_float(call->in[1], 0);
    if (!(depth >= 0 && depth < 9e15)) {
        return vta_call_refuse(call, "its depth is %g", depth);
    }
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 0), (int64_t)t->rank + 1, &axis));
    const int64_t inner = vta_dims_product(t, axis, t->rank);
    const int64_t size = (int64_t)depth;
    for (uint32_t i = 0; i < t->rank + 1; i++) {
        dim[i] = i < axis ? t->dim[i] : i == axis ? size : t->dim[i - 1];
    }
    VTA_TRY(make(call, 0, values->type, (int64_t)t->rank + 1, dim));
    const size_t bytes = vta_item_size(values);
    for (int64_t i = 0; i < call->out[0]->count; i++) {
        const double given = trunc(vta_item_float(t, i / inner / size * inner + i % inner));
        const double place = given < 0 ? given + (double)size : given;
        const bool on = place == (double)(i / inner % size);
        memcpy(call->out[0]->data + (size_t)i * bytes, values->data + (on ? bytes : 0), bytes);
    }
    return VTA_OK;
}

vta_status vta_flow_cum_sum(vta_call *call)
{
    lanes l;
    VTA_TRY(vta_call_needs(call, 2));
    if (call->in[1]->count != 1) {
        return vta_call_refuse(call, "the axis is to be one number");
    }
    VTA_TRY(open_lanes(call, vta_item_int(call->in[1], 0), &l));
    VTA_TRY(make(call, 0, l.t->type, l.t->rank, l.t->dim));
    const bool exclusive = vta_call_word(call, 0) != 0;
    const bool backwards = vta_call_word(call, 1) != 0;
    const bool real = vta_item_is_float(l.t);
    for (int64_t lane = 0; lane < l.outer * l.inner; lane++) {
        double sum = 0;
        uint64_t whole = 0;
        for (int64_t i = 0; i < l.size; i++) {
            const int64_t at = lane_place(&l, lane, backwards ? l.size - 1 - i : i);
            const double next = real ? sum + vta_item_float(l.t, at) : 0;
            const uint64_t next_whole = real ? 0 : whole + (uint64_t)vta_item_int(l.t, at);
            if (real) {
                vta_item_set_float(call->out[0], at, exclusive ? sum : next);
            } else {
                vta_item_set_int(call->out[0], at, (int64_t)(exclusive ? whole : next_whole));
            }
            sum = next;
            whole = next_whole;
        }
    }
    return VTA_OK;
}

/* ---- order ---- */

/* Places 0 … count-1 in the order that `before` gives, by merging: equal ones keep their order. */
typedef bool before_fn(const void *context, int64_t a, int64_t b);

static vta_status sorted(const vta_call *call, int64_t count, before_fn *before, const void *context,
                         int64_t **out)
{
    int64_t *a = calloc(2 * (size_t)count + 1, sizeof *a);
    *out = a;
    if (a == NULL) {
        return vta_no_memory(call->diag);
    }
    int64_t *from = a;
    int64_t *to = a + count;
    for (int64_t i = 0; i < count; i++) {
        a[i] = i;
    }
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * width) {
            const int64_t middle = begin + width < count ? begin + width : count;
            const int64_t end = begin + 2 * width < count ? begin + 2 * width : count;
            int64_t x = begin;
            int64_t y = middle;
            for (int64_t i = begin; i < end; i++) {
                const bool right = x >= middle || (y < end && before(context, from[y], from[x]));
                to[i] = right ? from[y++] : from[x++];
            }
        }
        int64_t *other = from;
        from = to;
        to = other;
    }
    if (from != a) {
        memcpy(a, from, (size_t)count * sizeof *a);
    }
    return VTA_OK;
}

typedef struct lane_order {
    const lanes *l;
    int64_t lane;
    int sign;
} lane_order;

static bool lane_before(const void *context, int64_t a, int64_t b)
{
    const lane_order *o = context;
    return o->sign * compare(o->l->t, lane_place(o->l, o->lane, a), lane_place(o->l, o->lane, b)) < 0;
}

/* The old form has k among its words. */
vta_status vta_flow_top_k(vta_call *call)
{
    lanes l;
    int64_t dim[VTA_FLOW_RANK];
    VTA_TRY(open_lanes(call, vta_call_word(call, 0), &l));
    int64_t k = vta_call_word(call, 2);
    if (k == VTA_FLOW_ABSENT && vta_call_has(call, 1) && call->in[1]->count == 1) {
        k = vta_item_int(call->in[1], 0);
    }
    if (k < 0 || k > l.size || l.t->rank == 0) {
        return vta_call_refuse(call, "the %lld largest of %lld", (long long)k, (long long)l.size);
    }
    memcpy(dim, l.t->dim, sizeof dim);
    dim[l.axis] = k;
    VTA_TRY(make(call, 0, l.t->type, l.t->rank, dim));
    if (call->insn->outputs.count > 1) {
        VTA_TRY(make(call, 1, VTA_FLOW_I64, l.t->rank, dim));
    }
    const size_t size = vta_item_size(l.t);
    for (int64_t lane = 0; lane < l.outer * l.inner; lane++) {
        const lane_order order = {&l, lane, vta_call_word(call, 1) != 0 ? -1 : 1};
        int64_t *places;
        vta_status status = sorted(call, l.size, lane_before, &order, &places);
        for (int64_t i = 0; status == VTA_OK && i < k; i++) {
            const int64_t to = (lane / l.inner * k + i) * l.inner + lane % l.inner;
            memcpy(call->out[0]->data + (size_t)to * size,
                   l.t->data + (size_t)lane_place(&l, lane, places[i]) * size, size);
            if (call->insn->outputs.count > 1) {
                vta_item_set_int(call->out[1], to, places[i]);
            }
        }
        free(places);
        VTA_TRY(status);
    }
    return VTA_OK;
}

static int compare_slices(const lanes *l, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < l->outer; o++) {
        for (int64_t i = 0; i < l->inner; i++) {
            const int64_t one = (o * l->size + a) * l->inner + i;
            const int64_t other = (o * l->size + b) * l->inner + i;
            size_t sizes[2];
            const int order = l->texts == NULL
                                  ? compare(l->t, one, other)
                                  : strcmp(vta_text_at(l->texts, vta_item_int(l->t, one), &sizes[0]),
                                           vta_text_at(l->texts, vta_item_int(l->t, other), &sizes[1]));
            if (order != 0) {
                return order;
            }
        }
    }
    return 0;
}

static bool slice_before(const void *context, int64_t a, int64_t b)
{
    return compare_slices(context, a, b) < 0;
}

static bool number_before(const void *context, int64_t a, int64_t b)
{
    const int64_t *numbers = context;
    return numbers[a] < numbers[b];
}

/* Of each group of equal slices its first, in the order of their values or of their first places. */
typedef struct uniques {
    int64_t count;
    int64_t *first, *inverse, *times; /* times[g]: how many; inverse[i]: the group of slice i */
    int64_t *order;
} uniques;

static vta_status group_slices(const vta_call *call, const lanes *l, bool by_value, uniques *u)
{
    int64_t *order;
    int64_t *shown = NULL;
    vta_status status = sorted(call, l->size, slice_before, l, &order);
    for (int64_t i = 0; status == VTA_OK && i < l->size; i++) {
        if (i == 0 || compare_slices(l, order[i - 1], order[i]) != 0) {
            u->first[u->count++] = order[i];
        }
        u->inverse[order[i]] = u->count - 1;
        u->times[u->count - 1]++;
    }
    free(order);
    status = status == VTA_OK ? sorted(call, u->count, number_before, u->first, &shown) : status;
    for (int64_t i = 0; status == VTA_OK && i < u->count; i++) {
        u->order[i] = by_value ? i : shown[i];
    }
    free(shown);
    return status;
}

static vta_status put_numbers(const vta_call *call, int64_t output, int64_t count, const int64_t *numbers,
                              const int64_t *order)
{
    if (output >= call->insn->outputs.count) {
        return VTA_OK;
    }
    VTA_TRY(make(call, output, VTA_FLOW_I64, 1, &count));
    for (int64_t i = 0; i < count; i++) {
        vta_item_set_int(call->out[output], i, numbers[order != NULL ? order[i] : i]);
    }
    return VTA_OK;
}

static vta_status put_uniques(const vta_call *call, const lanes *l, uniques *u, bool flat)
{
    int64_t dim[VTA_FLOW_RANK];
    memcpy(dim, l->t->dim, sizeof dim);
    dim[flat ? 0 : l->axis] = u->count;
    VTA_TRY(make(call, 0, l->t->type, flat ? 1 : l->t->rank, dim));
    const size_t inner = (size_t)l->inner * vta_item_size(l->t);
    for (int64_t o = 0; o < l->outer; o++) {
        for (int64_t i = 0; i < u->count; i++) {
            memcpy(call->out[0]->data + (size_t)(o * u->count + i) * inner,
                   l->t->data + (size_t)(o * l->size + u->first[u->order[i]]) * inner, inner);
        }
    }
    VTA_TRY(put_numbers(call, 1, u->count, u->first, u->order));
    VTA_TRY(put_numbers(call, 3, u->count, u->times, u->order));
    for (int64_t i = 0; i < u->count; i++) {
        u->times[u->order[i]] = i; /* the place at which each group is shown */
    }
    for (int64_t i = 0; i < l->size; i++) {
        u->inverse[i] = u->times[u->inverse[i]];
    }
    return put_numbers(call, 2, l->size, u->inverse, NULL);
}

vta_status vta_flow_unique(vta_call *call)
{
    lanes l = {0};
    const int64_t axis = vta_call_word(call, 0);
    const bool flat = axis == VTA_FLOW_ABSENT;
    VTA_TRY(vta_call_needs(call, 1));
    if (flat) {
        l = (lanes){call->in[0], 0, 1, call->in[0]->count, 1, NULL};
    } else {
        VTA_TRY(open_lanes(call, axis, &l));
    }
    l.texts = l.t->type == VTA_FLOW_TEXT ? call->flow : NULL;
    int64_t *room = calloc(4 * (size_t)l.size + 4, sizeof *room);
    if (room == NULL) {
        return vta_no_memory(call->diag);
    }
    uniques u = {0, room, room + l.size, room + 2 * l.size, room + 3 * l.size};
    vta_status status = group_slices(call, &l, vta_call_word(call, 1) != 0, &u);
    status = status == VTA_OK ? put_uniques(call, &l, &u, flat) : status;
    free(room);
    return status;
}

/* ---- boxes ---- */

typedef struct box {
    double low[2], high[2], area;
} box;

typedef struct candidate {
    double score;
    int64_t box;
} candidate;

typedef struct suppression {
    const vta_item *boxes, *scores;
    int64_t max;
    double overlap, min;
    bool centered;
    candidate *heap; /* of one class: those whose score is enough, the best on top */
    int64_t *chosen; /* triples */
    box *taken;      /* where they lie */
    int64_t count, room;
} suppression;

/* As fmin and fmax, where they are no calls. */
static double lesser(double a, double b)
{
    return a < b || isnan(b) ? a : b;
}

static double greater(double a, double b)
{
    return a > b || isnan(b) ? a : b;
}

static box box_of(const suppression *s, int64_t batch, int64_t number)
{
    double v[4];
    box b;
    for (int64_t i = 0; i < 4; i++) {
        v[i] = vta_item_float(s->boxes, (batch * s->boxes->dim[1] + number) * 4 + i);
    }
    for (int i = 0; i < 2; i++) { /* centered: x, y, width, height */
        b.low[i] = s->centered ? v[1 - i] - v[3 - i] / 2 : lesser(v[i], v[i + 2]);
        b.high[i] = s->centered ? v[1 - i] + v[3 - i] / 2 : greater(v[i], v[i + 2]);
    }
    b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
    return b;
}

static bool overlaps(const suppression *s, const box *p, const box *q)
{
    const double height = lesser(p->high[0], q->high[0]) - greater(p->low[0], q->low[0]);
    const double width = lesser(p->high[1], q->high[1]) - greater(p->low[1], q->low[1]);
    const double common = height > 0 && width > 0 ? height * width : 0;
    const double all = p->area + q->area - common;
    return all > 0 && common / all > s->overlap;
}

static bool make_room(suppression *s)
{
    if (s->count < s->room) {
        return true;
    }
    const int64_t room = s->room == 0 ? 256 : 2 * s->room;
    int64_t *chosen = realloc(s->chosen, (size_t)room * 3 * sizeof *chosen);
    s->chosen = chosen != NULL ? chosen : s->chosen;
    box *taken = realloc(s->taken, (size_t)room * sizeof *taken);
    s->taken = taken != NULL ? taken : s->taken;
    s->room = chosen != NULL && taken != NULL ? room : s->room;
    return s->count < s->room;
}

static bool is_better(const candidate *a, const candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void sink(candidate *heap, int64_t count, int64_t at)
{
    const candidate moving = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_better(&heap[child + 1], &heap[child]);
        if (!is_better(&heap[child], &moving)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static int64_t gather(suppression *s, int64_t first, int64_t boxes)
{
    const float *floats = s->scores->type == VTA_FLOW_F32 ? (const void *)s->scores->data : NULL;
    int64_t count = 0;
    for (int64_t i = 0; i < boxes; i++) {
        const double score =
            floats != NULL ? (double)floats[first + i] : vta_item_float(s->scores, first + i);
        s->heap[count] = (candidate){score, i};
        count += score > s->min;
    }
    for (int64_t i = count / 2; i-- > 0;) {
        sink(s->heap, count, i);
    }
    return count;
}

static vta_status suppress_class(const vta_call *call, suppression *s, int64_t batch, int64_t class)
{
    const int64_t boxes = s->boxes->dim[1];
    const int64_t first = s->count;
    int64_t left = gather(s, (batch * s->scores->dim[1] + class) * boxes, boxes);
    while (left > 0 && s->count - first < s->max) {
        const int64_t best = s->heap[0].box;
        s->heap[0] = s->heap[--left];
        sink(s->heap, left, 0);
        const box own = box_of(s, batch, best);
        int64_t k = first;
        while (k < s->count && !overlaps(s, &own, &s->taken[k])) {
            k++;
        }
        if (k < s->count) {
            continue;
        }
        if (!make_room(s)) {
            return vta_no_memory(call->diag);
        }
        s->taken[s->count] = own;
        memcpy(s->chosen + 3 * s->count++, (int64_t[]){batch, class, best}, 3 * sizeof *s->chosen);
    }
    return VTA_OK;
}

static double number_or(const vta_call *call, int64_t i, double otherwise)
{
    return vta_call_has(call, i) && call->in[i]->count > 0 ? vta_item_float(call->in[i], 0) : otherwise;
}

vta_status vta_flow_nms(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    suppression s = {.boxes = call->in[0], .scores = call->in[1], .centered = vta_call_word(call, 0) != 0};
    const vta_item *b = s.boxes;
    if (b->rank != 3 || b->dim[2] != 4 || s.scores->rank != 3 || s.scores->dim[0] != b->dim[0] ||
        s.scores->dim[2] != b->dim[1]) {
        return vta_call_refuse(call, "boxes are [batch, boxes, 4], scores [batch, classes, boxes]");
    }
    s.max = vta_call_has(call, 2) && call->in[2]->count > 0 ? vta_item_int(call->in[2], 0) : 0;
    s.overlap = number_or(call, 3, 0);
    s.min = number_or(call, 4, -(double)INFINITY);
    s.heap = calloc((size_t)b->dim[1] + 1, sizeof *s.heap);
    if (s.heap == NULL) {
        return vta_no_memory(call->diag);
    }
    vta_status status = VTA_OK;
    for (int64_t batch = 0; status == VTA_OK && batch < b->dim[0]; batch++) {
        for (int64_t class = 0; status == VTA_OK && class < s.scores->dim[1]; class ++) {
            if (vta_stop_wanted(call->flow->stop)) {
                break; /* the walk takes note of it */
            }
            status = suppress_class(call, &s, batch, class);
        }
    }
    const int64_t dim[] = {s.count, 3};
    status = status == VTA_OK ? make(call, 0, VTA_FLOW_I64, 2, dim) : status;
    if (status == VTA_OK && s.count > 0) {
        memcpy(call->out[0]->data, s.chosen, (size_t)s.count * 3 * sizeof *s.chosen);
    }
    free(s.heap);
    free(s.taken);
    free(s.chosen);
    return status;
}
