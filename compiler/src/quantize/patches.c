/* SPDX-License-Identifier: Apache-2.0
 *
 * The outputs are spread evenly over the samples and the places of each, a little off a regular grid, so that
 * no row or column of a picture is preferred. They are the same ones each time.
 */
#include "patches.h"

#include <string.h>

#include "../ops/infer.h"
#include "vta/fail.h"
#include "vta/number.h"

/* Columns are at least MIN where there are so many outputs, more for a layer of many terms, at most MAX.
 * Layers of very many weights get fewer, so that none takes more than about MAX_PRODUCTS multiplications a
 * sweep, and none more than MAX_BYTES. */
enum { MIN = 256, MAX = 1024, FOR_EACH_TERM = 8 };
#define MAX_PRODUCTS ((uint64_t)1 << 33)
#define MAX_BYTES    ((uint64_t)1 << 28)

static bool is_conv(const vtac_node *node)
{
    return node->op == VTAC_OP_CONV || node->op == VTAC_OP_CONV_TRANSPOSE;
}

double vtac_quant_tap_share(const vtac_graph *graph, const vtac_node *node)
{
    int64_t stride[VTAC_MAX_RANK];
    vta_diag diag = {0};
    double share = 1.0;
    if (node->op == VTAC_OP_CONV_TRANSPOSE) {
        const uint32_t axes = vtac_in_type(graph, node, VTAC_CONV_X)->rank - 2;
        if (vtac_int_list(node, "strides", axes, 1, stride, &diag) == VTA_OK) {
            for (uint32_t i = 0; i < axes; i++) {
                share /= (double)stride[i];
            }
        }
    }
    return share;
}

/* The window of a transposed convolution; false: its pads follow from other attributes. */
static bool read_transposed(const vtac_node *node, const vtac_type *w, vtac_quant_patches *p)
{
    int64_t pads[2 * VTAC_MAX_RANK];
    vta_diag diag = {0};
    const char *mode = vtac_attr_string(node, "auto_pad", "NOTSET");
    if (vtac_find_attr(node, "output_shape") != NULL || strncmp(mode, "SAME", 4) == 0 ||
        vtac_int_list(node, "strides", p->axes, 1, p->stride, &diag) != VTA_OK ||
        vtac_int_list(node, "dilations", p->axes, 1, p->dilation, &diag) != VTA_OK ||
        vtac_int_list(node, "pads", 2 * p->axes, 0, pads, &diag) != VTA_OK) {
        return false;
    }
    memcpy(p->pad, pads, p->axes * sizeof pads[0]);
    memcpy(p->kernel, &w->dim[2], p->axes * sizeof p->kernel[0]);
    p->transposed = true;
    return true;
}

static bool read_window(const vtac_node *node, const vtac_type *x, const vtac_type *w, vtac_quant_patches *p)
{
    vtac_window window;
    vta_diag diag = {0};
    if (node->op == VTAC_OP_CONV_TRANSPOSE) {
        return read_transposed(node, w, p);
    }
    if (vtac_window_of(node, x, w, false, &window, &diag) != VTA_OK) {
        return false;
    }
    memcpy(p->kernel, window.kernel, sizeof p->kernel);
    memcpy(p->stride, window.stride, sizeof p->stride);
    memcpy(p->dilation, window.dilation, sizeof p->dilation);
    memcpy(p->pad, window.pad_begin, sizeof p->pad);
    return true;
}

static bool read_conv(const vtac_graph *g, const vtac_node *node, vtac_quant_patches *p)
{
    const vtac_type *x = vtac_in_type(g, node, VTAC_CONV_X);
    const vtac_type *w = vtac_in_type(g, node, VTAC_CONV_WEIGHT);
    const vtac_type *y = &g->values[node->outputs[0]].type;
    p->axes = x->rank - 2;
    if (!read_window(node, x, w, p)) {
        return false;
    }
    p->images = x->dim[0];
    p->channels = x->dim[1];
    p->channel_step = 1;
    for (uint32_t i = 0; i < p->axes; i++) {
        p->in[i] = x->dim[i + 2];
        p->out[i] = y->dim[i + 2];
        p->channel_step *= p->in[i];
        p->positions *= (uint64_t)p->out[i];
        p->taps *= p->kernel[i];
    }
    p->image_step = p->channels * p->channel_step;
    return true;
}

/* Rows of a matrix: a picture of one pixel each. */
static void read_matrix(const vtac_graph *g, const vtac_node *node, uint32_t axis, vtac_quant_patches *p)
{
    const vtac_type *w = vtac_in_type(g, node, VTAC_PRODUCT_WEIGHT);
    const bool columns = node->op == VTAC_OP_GEMM && vtac_attr_int(node, "transA", 0) != 0;
    p->channels = w->dim[1 - axis];
    p->images = vtac_type_elements(vtac_in_type(g, node, VTAC_PRODUCT_X)) / p->channels;
    p->channel_step = columns ? p->images : 1;
    p->image_step = columns ? 1 : p->channels;
}

void vtac_quant_patches_plan(const vtac_quant_plan *plan, vtac_node_id product, uint32_t samples,
                             vtac_quant_patches *out)
{
    const vtac_graph *g = plan->graph;
    const vtac_node *node = &g->nodes[product];
    const vtac_type *w = vtac_in_type(g, node, VTAC_PRODUCT_WEIGHT);
    uint32_t axis;
    *out = (vtac_quant_patches){
        .x = node->inputs[VTAC_PRODUCT_X], .taps = 1, .positions = 1, .share = vtac_quant_tap_share(g, node)};
    if (!vtac_quant_is_product(g, node, &axis)) {
        return;
    }
    if (!is_conv(node)) {
        read_matrix(g, node, axis, out);
    } else if (!read_conv(g, node, out)) {
        return;
    }
    out->positions *= (uint64_t)out->images;
    const uint64_t weights = (uint64_t)vtac_type_elements(w);
    const uint64_t rows = (uint64_t)(out->channels * out->taps);
    const uint64_t terms = weights / (uint64_t)w->dim[axis];
    const uint64_t wanted = terms * FOR_EACH_TERM > MIN ? terms * FOR_EACH_TERM : MIN;
    uint64_t count = vta_min_u(out->positions * samples, vta_min_u(wanted, MAX));
    count = vta_min_u(count, MAX_PRODUCTS / weights + QUANT_LANES);
    count = vta_min_u(count, MAX_BYTES / sizeof(float) / rows);
    out->count = (uint32_t)count;
    out->room = (uint32_t)(count + QUANT_LANES - 1) / QUANT_LANES * QUANT_LANES;
}

size_t vtac_quant_patches_bytes(const vtac_quant_patches *p)
{
    return (size_t)p->channels * (size_t)p->taps * p->room * sizeof(float);
}

/* Output number `at` of all that are taken: a place among the outputs of all samples. */
static uint64_t place_of(const vtac_quant_patches *p, uint32_t samples, uint32_t at)
{
    const uint64_t off = (at * 2654435761U & UINT32_MAX) >> 16; /* by the golden ratio, 16 bits */
    return (((uint64_t)at << 16 | off) * (p->positions * samples) / p->count) >> 16;
}

/* Offset within a channel of the input that tap number `tap` of the output at `to` reads; -1:
 * beyond the edge. */
static int64_t offset_of(const vtac_quant_patches *p, const int64_t *to, int64_t tap)
{
    int64_t offset = 0;
    int64_t step = 1;
    for (uint32_t i = p->axes; i-- > 0;) {
        const int64_t k = tap % p->kernel[i];
        tap /= p->kernel[i];
        int64_t at = p->transposed ? to[i] + p->pad[i] - k * p->dilation[i]
                                   : to[i] * p->stride[i] - p->pad[i] + k * p->dilation[i];
        if (at < 0 || (p->transposed && at % p->stride[i] != 0)) {
            return -1;
        }
        at = p->transposed ? at / p->stride[i] : at;
        if (at >= p->in[i]) {
            return -1;
        }
        offset += at * step;
        step *= p->in[i];
    }
    return offset;
}

static void take_patch(vtac_quant_patches *p, const float *x, uint64_t place)
{
    int64_t to[VTAC_MAX_RANK];
    for (uint32_t i = p->axes; i-- > 0;) {
        to[i] = (int64_t)(place % (uint64_t)p->out[i]);
        place /= (uint64_t)p->out[i];
    }
    x += (int64_t)place * p->image_step;
    for (int64_t tap = 0; tap < p->taps; tap++) {
        const int64_t offset = offset_of(p, to, tap);
        for (int64_t c = 0; offset >= 0 && c < p->channels; c++) {
            p->data[(size_t)(c * p->taps + tap) * p->room + p->taken] = x[c * p->channel_step + offset];
        }
    }
    p->taken++;
}

static vta_status make_room(vtac_quant_patches *list, uint32_t count, vta_arena *arena, vta_diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        const size_t bytes = vtac_quant_patches_bytes(&list[i]);
        list[i].data = vta_arena_alloc(arena, bytes + 1);
        if (list[i].data == NULL) {
            return vta_no_memory(diag);
        }
        memset(list[i].data, 0, bytes);
        list[i].taken = 0;
    }
    return VTA_OK;
}

vta_status vtac_quant_patches_collect(const vtac_quant_observer *o, const vtac_samples *samples,
                                      vtac_quant_patches *list, uint32_t count, const vtac_progress *progress,
                                      vta_arena *arena, vta_diag *diag)
{
    VTA_TRY(make_room(list, count, arena, diag));
    for (uint32_t s = 0; s < samples->count; s++) {
        VTA_TRY(vtac_progress_at(progress, "inputs of layers in sample", NULL, s, samples->count, diag));
        VTA_TRY(vtac_quant_probe_run(o->probe, samples, s, diag));
        for (uint32_t i = 0; i < count; i++) {
            vtac_quant_patches *p = &list[i];
            const float *x = vtac_quant_probe_value(o->probe, o->of[p->x] - 1);
            const uint64_t first = s * p->positions;
            for (uint64_t at; p->taken < p->count; take_patch(p, x, at - first)) {
                at = place_of(p, samples->count, p->taken);
                if (at >= first + p->positions) {
                    break;
                }
            }
        }
    }
    return VTA_OK;
}
