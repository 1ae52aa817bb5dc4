/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions on planes of any size: pools over all of one, normalizations, and channels that become places.
 * Floats of every width are computed in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"

static vta_status make_like(const vta_call *call, const vta_item *t, vta_item **out)
{
    return vta_item_tensor(call->flow, t->type, t->rank, t->dim, out, call->diag);
}

static vta_status go_on(const vta_call *call)
{
    return vta_stop_take(call->flow->stop)
               ? vta_fail(call->diag, VTA_INTERRUPTED, "interrupted in the node '%.*s'",
                          call->insn->name_size, call->insn->name)
               : VTA_OK;
}

/* An image: [N, C, ...]. */
static vta_status need_image(const vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    return call->in[0]->rank >= 2 && vta_item_is_float(call->in[0])
               ? VTA_OK
               : vta_call_refuse(call, "its input is to be floats of at least 2 axes");
}

/* ---- pools over a whole plane ---- */

typedef enum whole { WHOLE_MEAN, WHOLE_MAX, WHOLE_NORM } whole;

static double pool(const vta_item *t, int64_t first, int64_t count, whole how, double p)
{
    double sum = how == WHOLE_MAX ? -(double)INFINITY : 0.0;
    for (int64_t i = first; i < first + count; i++) {
        const double x = vta_item_float(t, i);
        sum = how == WHOLE_MAX    ? (x > sum || isnan(x) ? x : sum)
              : how == WHOLE_MEAN ? sum + x
                                  : sum + pow(fabs(x), p);
    }
    return how == WHOLE_MAX ? sum : how == WHOLE_MEAN ? sum / (double)count : pow(sum, 1.0 / p);
}

static vta_status pool_all(vta_call *call, whole how, double p)
{
    VTA_TRY(need_image(call));
    const vta_item *t = call->in[0];
    int64_t dim[VTA_FLOW_RANK] = {t->dim[0], t->dim[1], 1, 1, 1, 1, 1, 1};
    const int64_t plane = vta_dims_product(t, 2, t->rank);
    VTA_TRY(vta_item_tensor(call->flow, t->type, t->rank, dim, &call->out[0], call->diag));
    for (int64_t i = 0; i < call->out[0]->count; i++) {
        VTA_TRY(go_on(call));
        vta_item_set_float(call->out[0], i, pool(t, i * plane, plane, how, p));
    }
    return VTA_OK;
}

vta_status vta_flow_global_average_pool(vta_call *call)
{
    return pool_all(call, WHOLE_MEAN, 0);
}

vta_status vta_flow_global_max_pool(vta_call *call)
{
    return pool_all(call, WHOLE_MAX, 0);
}

vta_status vta_flow_global_lp_pool(vta_call *call)
{
    return pool_all(call, WHOLE_NORM, (double)vta_call_word(call, 0));
}

/* ---- normalizations ---- */

/* Runs of elements in a row that have one mean, and factors behind: element i has the factor of number
 * i / every % period. */
typedef struct normal {
    int64_t run, every, period;
    bool centered;
    double epsilon;
    const vta_item *scale, *bias;
} normal;

static void normalize_run(const vta_call *call, const normal *n, int64_t first, double mean, double factor)
{
    const vta_item *x = call->in[0];
    for (int64_t i = first; i < first + n->run; i++) {
        const int64_t own = i / n->every % n->period;
        double y = (vta_item_float(x, i) - mean) * factor;
        y = n->scale != NULL ? y * vta_item_float(n->scale, own) : y;
        y = n->bias != NULL ? y + vta_item_float(n->bias, own) : y;
        vta_item_set_float(call->out[0], i, y);
    }
}

/* `means`, `factors`: of each run, where they are wanted. */
static vta_status normalize(const vta_call *call, const normal *n, vta_item *means, vta_item *factors)
{
    const vta_item *x = call->in[0];
    for (int64_t r = 0; n->run > 0 && r < x->count / n->run; r++) {
        double mean = 0.0;
        double square = 0.0;
        VTA_TRY(go_on(call));
        for (int64_t i = 0; n->centered && i < n->run; i++) {
            mean += vta_item_float(x, r * n->run + i);
        }
        mean /= (double)n->run;
        for (int64_t i = 0; i < n->run; i++) {
            const double d = vta_item_float(x, r * n->run + i) - mean;
            square += d * d;
        }
        const double factor = 1.0 / sqrt(square / (double)n->run + n->epsilon);
        normalize_run(call, n, r * n->run, mean, factor);
        if (means != NULL) {
            vta_item_set_float(means, r, mean);
        }
        if (factors != NULL) {
            vta_item_set_float(factors, r, factor);
        }
    }
    return VTA_OK;
}

/* Inputs from `first` to `last` are lists of `count` floats. */
static vta_status need_lists(const vta_call *call, int64_t first, int64_t last, int64_t count)
{
    VTA_TRY(vta_call_needs(call, last + 1));
    for (int64_t i = first; i <= last; i++) {
        if (!vta_item_is_float(call->in[i]) || call->in[i]->count != count) {
            return vta_call_refuse(call, "input %lld has %lld elements, not one for each of %lld",
                                   (long long)i, (long long)call->in[i]->count, (long long)count);
        }
    }
    return VTA_OK;
}

vta_status vta_flow_batch_normalization(vta_call *call)
{
    VTA_TRY(need_image(call));
    const vta_item *x = call->in[0];
    const int64_t plane = vta_dims_product(x, 2, x->rank);
    const double epsilon = vta_call_float(call, 0);
    VTA_TRY(need_lists(call, 1, 4, x->dim[1]));
    if (vta_call_word(call, 1) != 0) {
        return vta_call_refuse(call, "training is not done on tensors whose size is known only at run time");
    }
    VTA_TRY(make_like(call, x, &call->out[0]));
    for (int64_t p = 0; p < x->dim[0] * x->dim[1]; p++) {
        const int64_t c = p % x->dim[1];
        const double factor = vta_item_float(call->in[1], c) / sqrt(vta_item_float(call->in[4], c) + epsilon);
        const double offset = vta_item_float(call->in[2], c) - vta_item_float(call->in[3], c) * factor;
        VTA_TRY(go_on(call));
        for (int64_t i = p * plane; i < (p + 1) * plane; i++) {
            vta_item_set_float(call->out[0], i, vta_item_float(x, i) * factor + offset);
        }
    }
    return VTA_OK;
}

vta_status vta_flow_instance_normalization(vta_call *call)
{
    VTA_TRY(need_image(call));
    const vta_item *x = call->in[0];
    const int64_t plane = vta_dims_product(x, 2, x->rank);
    VTA_TRY(need_lists(call, 1, 2, x->dim[1]));
    VTA_TRY(make_like(call, x, &call->out[0]));
    const normal n = {plane, plane, x->dim[1], true, vta_call_float(call, 0), call->in[1], call->in[2]};
    return normalize(call, &n, NULL, NULL);
}

/* Its factors are of each group, or (from opset 21 on) of each channel. */
vta_status vta_flow_group_normalization(vta_call *call)
{
    VTA_TRY(need_image(call));
    const vta_item *x = call->in[0];
    const int64_t plane = vta_dims_product(x, 2, x->rank);
    const int64_t groups = vta_call_word(call, 1);
    if (groups < 1 || x->dim[1] % groups != 0) {
        return vta_call_refuse(call, "%lld channels do not divide into %lld groups", (long long)x->dim[1],
                               (long long)groups);
    }
    VTA_TRY(vta_call_needs(call, 3));
    const int64_t run = x->dim[1] / groups * plane;
    const bool by_channel = call->in[1]->count == x->dim[1];
    VTA_TRY(need_lists(call, 1, 2, by_channel ? x->dim[1] : groups));
    VTA_TRY(make_like(call, x, &call->out[0]));
    const normal n = {run,        by_channel ? plane : run, by_channel ? x->dim[1] : groups,
                      true,       vta_call_float(call, 0),  call->in[1],
                      call->in[2]};
    return normalize(call, &n, NULL, NULL);
}

/* Input i under the sizes of the first from `axis` on, or all of them; NULL: absent. */
static vta_status spread(const vta_call *call, int64_t i, int64_t axis, vta_item **out, int64_t *period)
{
    const vta_item *x = call->in[0];
    *out = NULL;
    if (!vta_call_has(call, i)) {
        return VTA_OK;
    }
    vta_item *t = call->in[i];
    const int64_t skip = t->rank > x->rank - axis ? 0 : axis;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->rank > x->rank || (t->dim[k] != 1 && t->dim[k] != x->dim[x->rank - t->rank + k])) {
            return vta_call_refuse(call, "input %lld does not broadcast to the first", (long long)i);
        }
    }
    *period = vta_dims_product(x, skip, x->rank);
    return vta_item_broadcast(call->flow, t, x->rank - (uint32_t)skip, x->dim + skip, out, call->diag);
}

static vta_status normalize_last(vta_call *call, bool centered)
{
    VTA_TRY(vta_call_needs(call, 2));
    const vta_item *x = call->in[0];
    int64_t axis;
    int64_t dim[VTA_FLOW_RANK];
    const uint32_t type = 2 | 32 << 8 | 4 << 16; /* of means: float32 */
    VTA_TRY(vta_call_axis(call, vta_call_word(call, 1), x->rank, &axis));
    if (!vta_item_is_float(x)) {
        return vta_call_refuse(call, "its input is to be floats");
    }
    VTA_TRY(make_like(call, x, &call->out[0]));
    for (uint32_t i = 0; i < x->rank; i++) {
        dim[i] = i < axis ? x->dim[i] : 1;
    }
    vta_item *more[2] = {NULL, NULL};
    for (int64_t i = 1; i < call->insn->outputs.count && i < 3; i++) {
        VTA_TRY(vta_item_tensor(call->flow, type, x->rank, dim, &call->out[i], call->diag));
        more[i - 1] = call->out[i];
    }
    vta_item *scale = NULL;
    vta_item *bias = NULL;
    int64_t period[2] = {1, 1};
    normal n = {vta_dims_product(x, axis, x->rank), 1, 1, centered, vta_call_float(call, 0), NULL, NULL};
    vta_status status = spread(call, 1, axis, &scale, &period[0]);
    status = status == VTA_OK ? spread(call, 2, axis, &bias, &period[1]) : status;
    if (status == VTA_OK && bias != NULL && period[0] != period[1]) {
        status = vta_call_refuse(call, "its scale and bias have not the same axes");
    }
    n.period = period[0];
    n.scale = scale;
    n.bias = bias;
    status = status == VTA_OK ? normalize(call, &n, more[0], more[1]) : status;
    vta_item_drop(call->flow, scale);
    vta_item_drop(call->flow, bias);
    return status;
}

vta_status vta_flow_layer_normalization(vta_call *call)
{
    return normalize_last(call, true);
}

vta_status vta_flow_rms_normalization(vta_call *call)
{
    return normalize_last(call, false);
}

/* Of each place the channels around. */
vta_status vta_flow_lrn(vta_call *call)
{
    VTA_TRY(need_image(call));
    const vta_item *x = call->in[0];
    const int64_t plane = vta_dims_product(x, 2, x->rank);
    const int64_t size = vta_call_word(call, 3);
    const double alpha = vta_call_float(call, 0);
    if (size < 1) {
        return vta_call_refuse(call, "its size is %lld; 1 or more", (long long)size);
    }
    VTA_TRY(make_like(call, x, &call->out[0]));
    const int64_t before = (size - 1) / 2;
    const int64_t behind = size - 1 - before;
    for (int64_t p = 0; p < x->dim[0] * x->dim[1]; p++) {
        const int64_t c = p % x->dim[1];
        const int64_t low = c > before ? c - before : 0;
        const int64_t high = behind < x->dim[1] - 1 - c ? c + behind : x->dim[1] - 1;
        VTA_TRY(go_on(call));
        for (int64_t i = 0; i < plane; i++) {
            double sum = 0.0;
            for (int64_t k = low; k <= high; k++) {
                const double v = vta_item_float(x, (p - c + k) * plane + i);
                sum += v * v;
            }
            const double base = vta_call_float(call, 2) + alpha / (double)size * sum;
            vta_item_set_float(call->out[0], p * plane + i,
                               vta_item_float(x, p * plane + i) / pow(base, vta_call_float(call, 1)));
        }
    }
    return VTA_OK;
}

/* ---- channels and places ---- */

/* Copies between an image and its six axes: image axis order[i] of the six goes with axis i. */
static vta_status move_blocks(vta_call *call, const int64_t *out_dim, const int64_t *dim,
                              const int64_t *from_stride, const int64_t *to_stride)
{
    const vta_item *x = call->in[0];
    VTA_TRY(vta_item_tensor(call->flow, x->type, 4, out_dim, &call->out[0], call->diag));
    if (x->count > 0) {
        vta_copy_block(call->out[0]->data, to_stride, x->data, from_stride, dim, 6, vta_item_size(x));
    }
    return VTA_OK;
}

static vta_status block_size(const vta_call *call, int64_t *out)
{
    VTA_TRY(vta_call_needs(call, 1));
    *out = vta_call_word(call, 0);
    return call->in[0]->rank == 4 && *out >= 1 && *out <= 1 << 15
               ? VTA_OK
               : vta_call_refuse(call, "blocksize %lld on an input of %u axes, expected 1 to 32768 on 4 axes",
                                 (long long)*out, call->in[0]->rank);
}

vta_status vta_flow_depth_to_space(vta_call *call)
{
    int64_t b;
    VTA_TRY(block_size(call, &b));
    const vta_item *x = call->in[0];
    if (x->dim[1] % (b * b) != 0) {
        return vta_call_refuse(call, "%lld channels do not divide by %lld", (long long)x->dim[1],
                               (long long)(b * b));
    }
    const bool columns = vta_call_word(call, 1) == 0; /* DCR: the block's place before the channel */
    const int64_t c = x->dim[1] / (b * b);
    const int64_t h = x->dim[2];
    const int64_t w = x->dim[3];
    const int64_t out[] = {x->dim[0], c, h * b, w * b};
    const int64_t dim[] = {x->dim[0], c, b, b, h, w};
    const int64_t from[] = {x->dim[1] * h * w,
                            (columns ? 1 : b * b) * h * w,
                            (columns ? b * c : b) * h * w,
                            (columns ? c : 1) * h * w,
                            w,
                            1};
    const int64_t to[] = {x->dim[1] * h * w, h * b * w * b, w * b, 1, b * w * b, b};
    return move_blocks(call, out, dim, from, to);
}

vta_status vta_flow_space_to_depth(vta_call *call)
{
    int64_t b;
    VTA_TRY(block_size(call, &b));
    const vta_item *x = call->in[0];
    if (x->dim[2] % b != 0 || x->dim[3] % b != 0) {
        return vta_call_refuse(call, "%lld x %lld places do not divide by %lld", (long long)x->dim[2],
                               (long long)x->dim[3], (long long)b);
    }
    const int64_t c = x->dim[1];
    const int64_t h = x->dim[2] / b;
    const int64_t w = x->dim[3] / b;
    const int64_t out[] = {x->dim[0], c * b * b, h, w};
    const int64_t dim[] = {x->dim[0], c, b, b, h, w};
    const int64_t from[] = {c * h * b * w * b, h * b * w * b, w * b, 1, b * w * b, b};
    const int64_t to[] = {c * b * b * h * w, h * w, b * c * h * w, c * h * w, w, 1};
    return move_blocks(call, out, dim, from, to);
}
