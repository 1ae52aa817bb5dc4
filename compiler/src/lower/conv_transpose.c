/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposed convolutions. Outputs that are as many places apart as the stride meet the same taps: each such
 * phase is a convolution of its own over the input, its taps in reverse order, which the blocked kernels do
 * (conv_blocked.c). What they do not take gathers for each output the inputs that reach it.
 */
#include <string.h>

#include "layout.h"

typedef struct transposed {
    int64_t stride[VTAC_MAX_RANK], dilation[VTAC_MAX_RANK], pad[VTAC_MAX_RANK];
} transposed;

static vta_status geometry(const vtac_node *node, const vtac_type *x, const vtac_type *w, const vtac_type *y,
                           transposed *t, vta_diag *diag)
{
    const uint32_t axes = x->rank - 2;
    int64_t pads[2 * VTAC_MAX_RANK];
    int64_t extra[VTAC_MAX_RANK];
    VTA_TRY(vtac_int_list(node, "strides", axes, 1, t->stride, diag));
    VTA_TRY(vtac_int_list(node, "dilations", axes, 1, t->dilation, diag));
    VTA_TRY(vtac_int_list(node, "pads", 2 * axes, 0, pads, diag));
    VTA_TRY(vtac_int_list(node, "output_padding", axes, 0, extra, diag));
    const char *mode = vtac_attr_string(node, "auto_pad", "NOTSET");
    const bool asked = vtac_find_attr(node, "output_shape") != NULL || strncmp(mode, "SAME", 4) == 0;
    for (uint32_t a = 0; a < axes; a++) {
        const int64_t full =
            (x->dim[a + 2] - 1) * t->stride[a] + extra[a] + (w->dim[a + 2] - 1) * t->dilation[a] + 1;
        const int64_t total = full - y->dim[a + 2];
        const bool upper = strcmp(mode, "SAME_UPPER") == 0;
        t->pad[a] = !asked ? pads[a] : total < 0 ? 0 : upper ? total / 2 : total - total / 2;
    }
    return VTA_OK;
}

/* ---- phases
 * ------------------------------------------------------------------------------------------------------------
 */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Output first + q * stride adds input (first + pad - k * dilation) / stride + q times tap k, for each k
 * where that is whole. */
static void phase_of_axis(const transposed *t, uint32_t a, int64_t first, int64_t dim, vtac_conv_shape *s)
{
    const int64_t common = common_divisor(t->stride[a], t->dilation[a]);
    const int64_t step = t->stride[a] / common;
    vtac_window *w = &s->window;
    int64_t last = -1;
    for (int64_t k = 0; k < s->taps[a]; k++) {
        last = (first + t->pad[a] - k * t->dilation[a]) % t->stride[a] == 0 ? k : last;
    }
    w->stride[a] = 1;
    w->dilation[a] = t->dilation[a] / common;
    w->extent[a] = first < dim ? (dim - first + t->stride[a] - 1) / t->stride[a] : 0;
    s->out_first[a] = first;
    s->out_stride[a] = t->stride[a];
    s->tap_step[a] = -step;
    s->tap_first[a] = last;
    w->kernel[a] = 1; /* where no tap meets this phase: a zero, at the input's beginning */
    w->pad_begin[a] = 0;
    if (last >= 0) {
        w->kernel[a] = last / step + 1;
        w->pad_begin[a] = -(first + t->pad[a] - last * t->dilation[a]) / t->stride[a];
    }
}

bool vtac_transposed_shape_of(const vtac_program *p, const vtac_node *node, const int64_t *first,
                              vtac_conv_shape *out)
{
    const vtac_type *x = vtac_in_type(p->graph, node, 0);
    const vtac_type *y = &p->graph->values[node->outputs[0]].type;
    const vtac_tensor *w = vtac_in_constant(p->graph, node, 1);
    transposed t;
    vta_diag ignored = {0};
    *out = (vtac_conv_shape){.weight = 1, .merged = 1, .transposed = true};
    if (x->rank != 4 || x->dtype != VTAC_F32 || w == NULL ||
        geometry(node, x, &w->type, y, &t, &ignored) != VTA_OK || t.stride[0] > VTAC_MOST_PHASES ||
        t.stride[1] > VTAC_MOST_PHASES || t.stride[0] * t.stride[1] > VTAC_MOST_PHASES) {
        return false;
    }
    out->bias = node->input_count > 2 && node->inputs[2] != 0 ? 2 : 0;
    out->groups = vtac_attr_int(node, "group", 1);
    out->out_per_group = w->type.dim[1];
    out->outputs = w->type.dim[1] * out->groups;
    out->per_group = x->dim[1] / out->groups;
    out->window.axes = 2;
    for (uint32_t a = 0; a < 2; a++) {
        out->taps[a] = w->type.dim[a + 2];
        phase_of_axis(&t, a, first[a], y->dim[a + 2], out);
    }
    return true;
}

/* ---- the general way
 * --------------------------------------------------------------------------------------------------- */

/* Each output gathers from the inputs that reach it. */
vta_status vtac_lower_conv_transpose(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_type *w = vtac_type_in(l, 1);
    const vtac_type *y = vtac_type_out(l, 0);
    const int64_t groups = vtac_attr_int(l->node, "group", 1);
    const int64_t inputs = x->dim[1] / groups;
    transposed t;
    VTA_TRY(geometry(l->node, x, w, y, &t, l->diag));
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t loops = vtac_open(l, y, at, true);
    const vtac_expr *group = vtac_i_divc(k, at[1], w->dim[1]);
    vtac_store(k, sum, zero, vtac_e_int(k, type, 0));
    const vtac_expr *c = vtac_for(k, VTAC_LOOP_SERIAL, inputs, "c");
    const vtac_expr *source[VTAC_MAX_RANK] = {at[0], vtac_i_add(k, vtac_i_mulc(k, group, inputs), c)};
    const vtac_expr *weight[VTAC_MAX_RANK] = {source[1], vtac_i_remc(k, at[1], w->dim[1])};
    uint32_t inner = 1;
    for (uint32_t a = 0; a + 2 < x->rank; a++) {
        const vtac_expr *tap = vtac_for(k, VTAC_LOOP_SERIAL, w->dim[a + 2], "tap");
        const vtac_expr *reach = vtac_i_mulc(k, tap, t.dilation[a]);
        const vtac_expr *place =
            vtac_let(k, "place", vtac_e2(k, VTAC_E_SUB, vtac_i_addc(k, at[a + 2], t.pad[a]), reach));
        const vtac_expr *stride = vtac_e_index(k, t.stride[a]);
        const vtac_expr *fits = vtac_e2(k, VTAC_E_EQ, vtac_e2(k, VTAC_E_REM, place, stride), zero);
        fits = vtac_e2(k, VTAC_E_AND, fits, vtac_e2(k, VTAC_E_GE, place, zero));
        fits = vtac_e2(k, VTAC_E_AND, fits,
                       vtac_e2(k, VTAC_E_LT, place, vtac_e_index(k, t.stride[a] * x->dim[a + 2])));
        vtac_if(k, fits);
        source[a + 2] = vtac_let(k, "source", vtac_e2(k, VTAC_E_DIV, place, stride));
        weight[a + 2] = tap;
        inner += 2;
    }
    vtac_store(k, sum, zero,
               vtac_e3(k, VTAC_E_FMA, vtac_in_at(l, 0, source), vtac_in_at(l, 1, weight),
                       vtac_e_load(k, sum, zero)));
    vtac_close(l, inner);
    const vtac_expr *value = vtac_e_load(k, sum, zero);
    if (vtac_has_in(l, 2)) {
        value = vtac_e2(k, VTAC_E_ADD, value, vtac_e_load(k, vtac_in(l, 2), at[1]));
    }
    vtac_out_at(l, 0, at, value);
    vtac_close(l, loops);
    return l->diag->code;
}
