/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposed convolutions. Outputs that are as many places apart as the stride meet the same taps: each such
 * phase is a convolution of its own over the input, its taps in reverse order, which the blocked kernels do
 * (conv_blocked.c) or, for few outputs and other ranks, the general ones (conv.c). Weights that only the run
 * knows go from rows of inputs to rows of outputs.
 */
#include <string.h>

#include "layout.h"
#include "rows.h"
#include "vtac/divisor.h"

typedef struct transposed_conv {
    int64_t stride[VTAC_MAX_RANK], dilation[VTAC_MAX_RANK], pad[VTAC_MAX_RANK];
} transposed_conv;

static vta_status read_geometry(const vtac_node *node, const vtac_type *x, const vtac_type *w,
                                const vtac_type *y, transposed_conv *t, vta_diag *diag)
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

/* ---- phases */

/* Output first + q * stride adds input (first + pad - k * dilation) / stride + q times tap k, for each k
 * where that is whole. */
static void phase_of_axis(const transposed_conv *t, uint32_t a, int64_t first, int64_t dim,
                          vtac_conv_shape *s)
{
    const int64_t common = (int64_t)vtac_common_divisor((uint64_t)t->stride[a], (uint64_t)t->dilation[a]);
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
    const vtac_type *x = vtac_in_type(p->graph, node, VTAC_CONV_X);
    const vtac_type *y = &p->graph->values[node->outputs[0]].type;
    const vtac_tensor *w = vtac_in_constant(p->graph, node, VTAC_CONV_WEIGHT);
    transposed_conv t;
    vta_diag ignored = {0};
    *out = (vtac_conv_shape){.weight = 1, .merged = 1, .transposed = true};
    if (x->rank != 4 || x->dtype != VTAC_F32 || w == NULL ||
        read_geometry(node, x, &w->type, y, &t, &ignored) != VTA_OK || t.stride[0] > VTAC_MAX_PHASES ||
        t.stride[1] > VTAC_MAX_PHASES || t.stride[0] * t.stride[1] > VTAC_MAX_PHASES) {
        return false;
    }
    out->bias = vtac_in_type(p->graph, node, VTAC_CONV_BIAS) != NULL ? VTAC_CONV_BIAS : 0;
    out->groups = vtac_attr_int(node, "group", 1);
    out->out_per_group = w->type.dim[1];
    out->outputs = w->type.dim[1] * out->groups;
    out->per_group = x->dim[1] / out->groups;
    out->window.axes = 2;
    out->depth = (vtac_conv_depth){1, 1, 1, 0, 1};
    for (uint32_t a = 0; a < 2; a++) {
        out->taps[a] = w->type.dim[a + 2];
        phase_of_axis(&t, a, first[a], y->dim[a + 2], out);
    }
    return true;
}

/* ---- the general way */

/* A row of outputs in the making: places that are a stride apart lie side by side, each phase of them in a
 * row of `places`, of which number `lead` is the first in the output. */
typedef struct transposed_rows {
    const transposed_conv *t;
    uint32_t last; /* axis of the rows, of those that are not batch and channels */
    int64_t stride, lead, places;
    vtac_dtype type;
    vtac_buffer *sums;
    const vtac_expr **source, **weight;
} transposed_rows;

enum { MAX_ROW_TAPS = 32, MAX_ROW_STRIDE = 32 };

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Distance by which tap `tap` moves an input, in places of its phase; *phase is that phase. */
static int64_t shift_of(const transposed_rows *r, int64_t tap, int64_t *phase)
{
    const int64_t by = tap * r->t->dilation[r->last] - r->t->pad[r->last];
    const int64_t shift = floor_div(by, r->stride);
    *phase = by - shift * r->stride;
    return shift;
}

static bool plan_rows(const vtac_lower *l, const transposed_conv *t, transposed_rows *r)
{
    const vtac_type *x = vtac_type_in(l, VTAC_CONV_X);
    const vtac_type *w = vtac_type_in(l, VTAC_CONV_WEIGHT);
    const uint32_t axis = x->rank - 1;
    int64_t phase;
    *r = (transposed_rows){
        .t = t, .last = axis - 2, .stride = t->stride[axis - 2], .type = vtac_compute_type(x->dtype)};
    const int64_t max = shift_of(r, w->dim[axis] - 1, &phase);
    const int64_t width = (vtac_type_out(l, 0)->dim[axis] + r->stride - 1) / r->stride;
    r->lead = shift_of(r, 0, &phase);
    r->lead = r->lead < 0 ? -r->lead : 0;
    r->places = r->lead + (x->dim[axis] + max > width ? x->dim[axis] + max : width);
    return l->program->level > 0 && w->dim[axis] <= MAX_ROW_TAPS && r->stride <= MAX_ROW_STRIDE;
}

static void clear_places(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    const transposed_rows *r = context;
    (void)lane;
    vtac_store(l->k, r->sums, i, vtac_e_int(l->k, r->type, 0));
}

/* An input to all outputs of the row that it reaches. */
static void scatter_input(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    const transposed_rows *r = context;
    vtac_kernel *k = l->k;
    (void)lane;
    r->source[r->last + 2] = i;
    const vtac_expr *x = vtac_let(k, "x", vtac_in_at(l, VTAC_CONV_X, r->source));
    for (int64_t tap = 0; tap < vtac_type_in(l, VTAC_CONV_WEIGHT)->dim[r->last + 2]; tap++) {
        int64_t phase;
        const int64_t shift = shift_of(r, tap, &phase);
        r->weight[r->last + 2] = vtac_e_index(k, tap);
        const vtac_expr *at = vtac_i_addc(k, i, phase * r->places + r->lead + shift);
        vtac_store(k, r->sums, at,
                   vtac_e3(k, VTAC_E_FMA, x, vtac_in_at(l, VTAC_CONV_WEIGHT, r->weight),
                           vtac_e_load(k, r->sums, at)));
    }
}

static const vtac_expr *with_bias(vtac_lower *l, const vtac_expr *sum, const vtac_expr *channel)
{
    return vtac_has_in(l, VTAC_CONV_BIAS)
               ? vtac_e2(l->k, VTAC_E_ADD, sum, vtac_e_load(l->k, vtac_in(l, VTAC_CONV_BIAS), channel))
               : sum;
}

/* The first `count` phases of place q. */
static void store_phases(vtac_lower *l, const transposed_rows *r, const vtac_expr **at, const vtac_expr *q,
                         int64_t count)
{
    vtac_kernel *k = l->k;
    for (int64_t phase = 0; phase < count; phase++) {
        at[r->last + 2] = vtac_i_addc(k, vtac_i_mulc(k, q, r->stride), phase);
        const vtac_expr *sum = vtac_e_load(k, r->sums, vtac_i_addc(k, q, phase * r->places + r->lead));
        vtac_out_at(l, 0, at, with_bias(l, sum, at[1]));
    }
}

static void store_row(vtac_lower *l, const transposed_rows *r, const vtac_expr **at)
{
    const int64_t width = vtac_type_out(l, 0)->dim[r->last + 2];
    const int64_t whole = width / r->stride;
    if (whole > 0) {
        store_phases(l, r, at, vtac_for(l->k, VTAC_LOOP_SERIAL, whole, "q"), r->stride);
        vtac_end(l->k);
    }
    store_phases(l, r, at, vtac_e_index(l->k, whole), width % r->stride);
}

/* Opens loops over the taps along axis `a` that reach the output's place there; how many to close. */
static uint32_t open_taps(vtac_lower *l, const transposed_conv *t, uint32_t a, const vtac_expr *const *at,
                          const vtac_expr **source, const vtac_expr **weight)
{
    vtac_kernel *k = l->k;
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *tap =
        vtac_for(k, VTAC_LOOP_SERIAL, vtac_type_in(l, VTAC_CONV_WEIGHT)->dim[a + 2], "tap");
    const vtac_expr *reach = vtac_i_mulc(k, tap, t->dilation[a]);
    const vtac_expr *place =
        vtac_let(k, "place", vtac_e2(k, VTAC_E_SUB, vtac_i_addc(k, at[a + 2], t->pad[a]), reach));
    const vtac_expr *stride = vtac_e_index(k, t->stride[a]);
    const vtac_expr *end = vtac_e_index(k, t->stride[a] * vtac_type_in(l, VTAC_CONV_X)->dim[a + 2]);
    const vtac_expr *fits = vtac_e2(k, VTAC_E_EQ, vtac_e2(k, VTAC_E_REM, place, stride), zero);
    fits = vtac_e2(k, VTAC_E_AND, fits, vtac_e2(k, VTAC_E_GE, place, zero));
    vtac_if(k, vtac_e2(k, VTAC_E_AND, fits, vtac_e2(k, VTAC_E_LT, place, end)));
    source[a + 2] = vtac_let(k, "source", vtac_e2(k, VTAC_E_DIV, place, stride));
    weight[a + 2] = tap;
    return 2;
}

/* Rows of inputs go to rows of outputs, a tap at a time: neighbours stay neighbours. */
static vta_status by_rows(vtac_lower *l, transposed_rows *r)
{
    const vtac_type *x = vtac_type_in(l, VTAC_CONV_X);
    const int64_t outputs = vtac_type_in(l, VTAC_CONV_WEIGHT)->dim[1];
    const int64_t inputs = x->dim[1] / vtac_attr_int(l->node, "group", 1);
    const int64_t width = x->dim[r->last + 2];
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_type outer = *vtac_type_out(l, 0);
    outer.dim[r->last + 2] = 1;
    const int64_t room = r->stride * r->places;
    r->sums = vtac_kernel_buffer(k, "sums", r->type, room, VTAC_BUFFER_SCRATCH);
    const uint32_t loops = vtac_open(l, &outer, at, 1);
    vtac_each_of_row(l, room, vtac_row_lanes(l, r->type, room), clear_places, r);
    const vtac_expr *c = vtac_for(k, VTAC_LOOP_SERIAL, inputs, "c");
    const vtac_expr *group = vtac_i_mulc(k, vtac_i_divc(k, at[1], outputs), inputs);
    const vtac_expr *source[VTAC_MAX_RANK] = {at[0], vtac_let(k, "from", vtac_i_add(k, group, c))};
    const vtac_expr *weight[VTAC_MAX_RANK] = {source[1], vtac_i_remc(k, at[1], outputs)};
    uint32_t inner = 1;
    for (uint32_t a = 0; a < r->last; a++) {
        inner += open_taps(l, r->t, a, at, source, weight);
    }
    r->source = source;
    r->weight = weight;
    vtac_each_of_row(l, width, vtac_row_lanes(l, r->type, width), scatter_input, r);
    vtac_close(l, inner);
    store_row(l, r, at);
    vtac_close(l, loops);
    return l->diag->code;
}

/* Phases that vectors go through along positions, however few the outputs; 0: none. Freed with the program.
 */
static int64_t list_phases(vtac_lower *l, const transposed_conv *t, vtac_conv_shape **out)
{
    enum { MAX_GENERAL_PHASES = 32 };
    const vtac_type *x = vtac_type_in(l, VTAC_CONV_X);
    const vtac_type *y = vtac_type_out(l, 0);
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, VTAC_CONV_WEIGHT);
    int64_t all = 1;
    int64_t count = 0;
    for (uint32_t a = 0; a + 2 < x->rank && all <= MAX_GENERAL_PHASES; a++) {
        all = t->stride[a] > MAX_GENERAL_PHASES ? t->stride[a] : all * t->stride[a];
    }
    if (w == NULL || l->program->level == 0 || vtac_dtype_kind(x->dtype) != 'f' || all > MAX_GENERAL_PHASES) {
        return 0;
    }
    *out = vta_arena_array(&l->program->arena, (size_t)all, sizeof **out);
    for (int64_t phase = 0; *out != NULL && phase < all; phase++) {
        vtac_conv_shape *s = &(*out)[count];
        int64_t rest = phase;
        bool empty = false;
        *s = (vtac_conv_shape){.window = {.axes = x->rank - 2}};
        for (uint32_t a = x->rank - 2; a-- > 0;) {
            s->taps[a] = w->type.dim[a + 2];
            phase_of_axis(t, a, rest % t->stride[a], y->dim[a + 2], s);
            rest /= t->stride[a];
            empty = empty || s->window.extent[a] == 0;
        }
        count += empty ? 0 : 1;
    }
    return count;
}

/* Each output gathers from the inputs that reach it. */
vta_status vtac_lower_conv_transpose(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_CONV_X);
    const vtac_type *w = vtac_type_in(l, VTAC_CONV_WEIGHT);
    const vtac_type *y = vtac_type_out(l, 0);
    const int64_t groups = vtac_attr_int(l->node, "group", 1);
    const int64_t inputs = x->dim[1] / groups;
    transposed_conv t;
    transposed_rows r;
    vtac_conv_shape *phases = NULL;
    VTA_TRY(read_geometry(l->node, x, w, y, &t, l->diag));
    const int64_t count = list_phases(l, &t, &phases);
    if (count > 0) {
        return vtac_lower_conv_phases(l, phases, count);
    }
    if (plan_rows(l, &t, &r)) {
        return by_rows(l, &r);
    }
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t loops = vtac_open(l, y, at, 1);
    const vtac_expr *group = vtac_i_divc(k, at[1], w->dim[1]);
    vtac_store(k, sum, zero, vtac_e_int(k, type, 0));
    const vtac_expr *c = vtac_for(k, VTAC_LOOP_SERIAL, inputs, "c");
    const vtac_expr *source[VTAC_MAX_RANK] = {at[0], vtac_i_add(k, vtac_i_mulc(k, group, inputs), c)};
    const vtac_expr *weight[VTAC_MAX_RANK] = {source[1], vtac_i_remc(k, at[1], w->dim[1])};
    uint32_t inner = 1;
    for (uint32_t a = 0; a + 2 < x->rank; a++) {
        inner += open_taps(l, &t, a, at, source, weight);
    }
    vtac_store(k, sum, zero,
               vtac_e3(k, VTAC_E_FMA, vtac_in_at(l, VTAC_CONV_X, source),
                       vtac_in_at(l, VTAC_CONV_WEIGHT, weight), vtac_e_load(k, sum, zero)));
    vtac_close(l, inner);
    const vtac_expr *value = vtac_e_load(k, sum, zero);
    vtac_out_at(l, 0, at, with_bias(l, value, at[1]));
    vtac_close(l, loops);
    return l->diag->code;
}
