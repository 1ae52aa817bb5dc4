/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations: mean and variance over some axes, or the sum of neighbours, then every element by them.
 */
#include <string.h>

#include "layout.h"
#include "rows.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)
#define E1(op, a)    vtac_e1(l->k, VTAC_E_##op, a)

/* Extent of one mean: the marked axes of `loops`. These are the input's axes, but groups of channels split
 * axis 1 in two: the group and the channel within the group. */
typedef struct norm_span {
    vtac_type loops;
    bool marks[VTAC_MAX_RANK];
    int64_t channels;     /* of a group; 0: no groups */
    uint32_t first, last; /* of the marked axes at the end, whose elements are one row, counted by `last` */
    int64_t row;
} norm_span;

/* Over all axes from one on. */
static bool is_layer(vtac_op op)
{
    return op == VTAC_OP_LAYER_NORMALIZATION || op == VTAC_OP_RMS_NORMALIZATION;
}

static void span_place(vtac_lower *l, const norm_span *s, const vtac_expr *const *index, const vtac_expr **at)
{
    if (s->channels == 0) {
        memcpy(at, index, s->loops.rank * sizeof(vtac_expr *));
        return;
    }
    at[0] = index[0];
    at[1] = vtac_i_add(l->k, vtac_i_mulc(l->k, index[1], s->channels), index[2]);
    memcpy(at + 2, index + 3, (s->loops.rank - 3) * sizeof(vtac_expr *));
}

static const vtac_expr *span_value(vtac_lower *l, const norm_span *s, const vtac_expr *const *index)
{
    const vtac_expr *at[VTAC_MAX_RANK];
    span_place(l, s, index, at);
    return vtac_in_at(l, VTAC_NORM_X, at);
}

/* The row of marked axes at the end goes by vectors. Without what follows in the kernel telling its axes
 * apart it is all of them, else the last. */
static void find_row(const vtac_lower *l, norm_span *s)
{
    s->first = s->last = vtac_lane_axis(&s->loops, 0);
    s->row = s->loops.dim[s->last];
    bool one = l->node->op == VTAC_OP_MEAN_VARIANCE || s->channels != 0 || !vtac_counts_through(l);
    int64_t marked = 1;
    for (uint32_t i = 0; i < s->loops.rank; i++) {
        marked *= s->marks[i] ? s->loops.dim[i] : 1;
    }
    for (uint32_t i = 1; is_layer(l->node->op) && i < 3; i++) { /* broadcast or whole */
        one = one || (vtac_has_in(l, i) && vtac_type_elements(vtac_type_in(l, i)) != marked);
    }
    while (!one && s->first > 0 && s->marks[s->first - 1]) {
        s->row *= s->loops.dim[--s->first];
    }
}

static int64_t span_lanes(const vtac_lower *l, const norm_span *s)
{
    return s->marks[s->last] ? vtac_row_lanes(l, vtac_compute_type(s->loops.dtype), s->row) : 1;
}

/* Opens the marked axes, but for those that go by vectors. */
static uint32_t open_marked(vtac_lower *l, const norm_span *s, int64_t lanes, const vtac_expr **index)
{
    bool marks[VTAC_MAX_RANK];
    memcpy(marks, s->marks, sizeof marks);
    for (uint32_t i = s->first; lanes > 1 && i <= s->last; i++) {
        marks[i] = false;
        index[i] = vtac_e_index(l->k, 0);
    }
    return vtac_open_axes(l, &s->loops, marks, true, index, false);
}

typedef struct summing {
    const norm_span *s;
    const vtac_expr **index;
    const vtac_buffer *mean;
    vtac_buffer *sum;
} summing;

static void add_one(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    summing *g = context;
    g->index[g->s->last] = i;
    const vtac_expr *value = span_value(l, g->s, g->index);
    if (g->mean != NULL) {
        value = vtac_let(l->k, "off", E2(SUB, value, vtac_e_load(l->k, g->mean, vtac_e_index(l->k, 0))));
        value = E2(MUL, value, value);
    }
    vtac_store(l->k, g->sum, lane, E2(ADD, vtac_e_load(l->k, g->sum, lane), value));
}

/* The sum of all values, or of their squared distances from the mean. */
static const vtac_expr *sum_of(vtac_lower *l, const norm_span *s, const vtac_buffer *mean,
                               const vtac_expr **index)
{
    const vtac_dtype type = vtac_compute_type(s->loops.dtype);
    const int64_t lanes = span_lanes(l, s);
    summing g = {s, index, mean, vtac_local(l, "sum", type, lanes)};
    vtac_set_lanes(l, g.sum, lanes, vtac_e_int(l->k, type, 0));
    const uint32_t loops = open_marked(l, s, lanes, index);
    if (lanes > 1) {
        vtac_each_of_row(l, s->row, lanes, add_one, &g);
    } else {
        add_one(l, &g, index[s->last], vtac_e_index(l->k, 0));
    }
    vtac_close(l, loops);
    return vtac_join_lanes(l, g.sum, lanes, VTAC_E_ADD);
}

/* Mean and 1 / sqrt(variance + epsilon) over the marked axes, into two locals; the other indices are open. */
static void lower_moments(vtac_lower *l, const norm_span *s, double epsilon, vtac_buffer *mean,
                          vtac_buffer *scale, const vtac_expr **index)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_dtype type = vtac_compute_type(s->loops.dtype);
    int64_t count = 1;
    for (uint32_t i = 0; i < s->loops.rank; i++) {
        count *= s->marks[i] ? s->loops.dim[i] : 1;
    }
    const vtac_expr *n = vtac_e_float(l->k, type, (double)count);
    const bool centered = l->node->op != VTAC_OP_RMS_NORMALIZATION;
    const vtac_expr *sum = centered ? sum_of(l, s, NULL, index) : vtac_e_int(l->k, type, 0);
    vtac_store(l->k, mean, zero, centered ? E2(DIV, sum, n) : sum);
    const vtac_expr *variance = E2(DIV, sum_of(l, s, mean, index), n);
    const vtac_expr *root = E1(SQRT, E2(ADD, variance, vtac_e_float(l->k, type, epsilon)));
    vtac_store(l->k, scale, zero, E2(DIV, vtac_e_int(l->k, type, 1), root));
}

double vtac_norm_epsilon(const vtac_node *node)
{
    return node->op == VTAC_OP_MEAN_VARIANCE ? 1e-9 : vtac_attr_float(node, "epsilon", 1e-5);
}

const vtac_expr *vtac_norm_parameter(vtac_lower *l, uint32_t i, const vtac_expr *group,
                                     const vtac_expr *const *at)
{
    if (is_layer(l->node->op)) {
        return vtac_arg(l, l->node, i, at);
    }
    const bool one = vtac_type_elements(vtac_type_in(l, i)) == 1;
    const bool by_group = vtac_attr_int(l->node, "scale_per_group", 0) != 0;
    return vtac_e_load(l->k, vtac_in(l, i), one ? vtac_e_index(l->k, 0) : by_group ? group : at[1]);
}

/* Marks the axes that the attribute names. */
static vta_status mark_named(const vtac_node *node, uint32_t rank, bool *marks, vta_diag *diag)
{
    static const int64_t usual[] = {0, 2, 3};
    const vtac_attr *axes = vtac_find_attr(node, "axes");
    uint32_t axis;
    for (size_t i = 0; i < (axes == NULL ? 3 : axes->count); i++) {
        VTA_TRY(vtac_axis(axes == NULL ? usual[i] : axes->ints[i], rank, &axis, diag));
        marks[axis] = true;
    }
    return VTA_OK;
}

bool vtac_norm_shape_of(const vtac_graph *graph, const vtac_node *node, vtac_norm_shape *out)
{
    const int64_t channels = vtac_in_type(graph, node, VTAC_NORM_X)->dim[1];
    bool marks[4] = {false, false, true, true};
    vta_diag ignored = {0}; /* the row-major form says it */
    if (node->op == VTAC_OP_MEAN_VARIANCE) {
        marks[2] = marks[3] = false;
        if (mark_named(node, 4, marks, &ignored) != VTA_OK) {
            return false;
        }
    }
    *out = (vtac_norm_shape){.channels = marks[1] ? channels : 1, .over_batch = marks[0]};
    if (node->op == VTAC_OP_GROUP_NORMALIZATION) {
        out->channels = channels / vtac_attr_int(node, "num_groups", 1);
    }
    return marks[2] && marks[3];
}

/* Layer: all axes from `axis`; instance: spatial ones; group: those and some channels; else the ones named.
 */
static vta_status span_of(vtac_lower *l, norm_span *s)
{
    const vtac_type *x = vtac_type_in(l, VTAC_NORM_X);
    const vtac_op op = l->node->op;
    uint32_t axis = 2;
    *s = (norm_span){.loops = *x};
    if (op == VTAC_OP_MEAN_VARIANCE) {
        return mark_named(l->node, s->loops.rank, s->marks, l->diag);
    }
    if (is_layer(op)) {
        VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", -1), x->rank, &axis, l->diag));
    }
    if (op == VTAC_OP_GROUP_NORMALIZATION) {
        if (x->rank == VTAC_MAX_RANK) {
            return vtac_unsupported(l, "groups of an input of rank 8 are not lowered");
        }
        const int64_t groups = vtac_attr_int(l->node, "num_groups", 1);
        s->channels = x->dim[1] / groups;
        s->loops.rank = x->rank + 1;
        s->loops.dim[1] = groups;
        s->loops.dim[2] = s->channels;
        memcpy(&s->loops.dim[3], &x->dim[2], (x->rank - 2) * sizeof x->dim[0]);
    }
    for (uint32_t i = axis; i < s->loops.rank; i++) {
        s->marks[i] = true;
    }
    return VTA_OK;
}

/* LayerNormalization gives the mean and the scale, too. */
static void store_moments(vtac_lower *l, const norm_span *s, const vtac_expr **index, const vtac_buffer *mean,
                          const vtac_buffer *scale)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    for (uint32_t i = 0; i < s->loops.rank; i++) {
        index[i] = s->marks[i] ? zero : index[i];
    }
    for (uint32_t i = 1; i < l->node->output_count; i++) {
        if (l->node->outputs[i] != 0) {
            const vtac_dtype dtype = vtac_compute_type(vtac_type_out(l, i)->dtype);
            vtac_out_at(l, i, index,
                        vtac_e_cast(l->k, dtype, vtac_e_load(l->k, i == 1 ? mean : scale, zero)));
        }
    }
}

typedef struct normal {
    const norm_span *s;
    const vtac_expr **index;
    const vtac_buffer *mean, *scale;
} normal;

static void store_normal(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    const normal *n = context;
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    (void)lane;
    n->index[n->s->last] = i;
    span_place(l, n->s, n->index, at);
    const vtac_expr *off = E2(SUB, vtac_in_at(l, VTAC_NORM_X, at), vtac_e_load(l->k, n->mean, zero));
    const vtac_expr *y = E2(MUL, off, vtac_e_load(l->k, n->scale, zero));
    if (l->node->op != VTAC_OP_MEAN_VARIANCE) {
        y = E2(MUL, y, vtac_norm_parameter(l, VTAC_NORM_SCALE, n->index[1], at));
        y = vtac_has_in(l, VTAC_NORM_BIAS)
                ? E2(ADD, y, vtac_norm_parameter(l, VTAC_NORM_BIAS, n->index[1], at))
                : y;
    }
    vtac_out_at(l, 0, at, y);
}

vta_status vtac_lower_layer_norm(vtac_lower *l)
{
    norm_span s;
    VTA_TRY(span_of(l, &s));
    VTA_TRY(vtac_begin(l, ""));
    find_row(l, &s);
    const vtac_dtype type = vtac_compute_type(s.loops.dtype);
    const vtac_expr *index[VTAC_MAX_RANK];
    vtac_buffer *mean = vtac_local(l, "mean", type, 1);
    vtac_buffer *scale = vtac_local(l, "scale", type, 1);
    vtac_open_others(l, &s.loops, s.marks, index);
    lower_moments(l, &s, vtac_norm_epsilon(l->node), mean, scale, index);
    const int64_t lanes = span_lanes(l, &s);
    normal n = {&s, index, mean, scale};
    const uint32_t inner = open_marked(l, &s, lanes, index);
    if (lanes > 1) {
        vtac_each_of_row(l, s.row, lanes, store_normal, &n);
    } else {
        store_normal(l, &n, index[s.last], NULL);
    }
    vtac_close(l, inner);
    store_moments(l, &s, index, mean, scale);
    vtac_end(l->k);
    return l->diag->code;
}

/* p-norms along one axis. */
vta_status vtac_lower_lp_norm(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const bool square = vtac_attr_int(l->node, "p", 2) == 2;
    bool marks[VTAC_MAX_RANK] = {false};
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", -1), x->rank, &axis, l->diag));
    marks[axis] = true;
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = vtac_compute_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t outer = vtac_open_axes(l, x, marks, false, at, true);
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    vtac_store(l->k, sum, zero,
               E2(ADD, vtac_e_load(l->k, sum, zero), square ? E2(MUL, value, value) : E1(ABS, value)));
    vtac_end(l->k);
    const vtac_expr *total = vtac_e_load(l->k, sum, zero);
    total = vtac_let(l->k, "norm", square ? E1(SQRT, total) : total);
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[axis], "i");
    const vtac_expr *none = vtac_e_int(l->k, type, 0);
    const vtac_expr *y = E2(DIV, vtac_in_at(l, 0, at), total);
    vtac_out_at(l, 0, at, vtac_e3(l->k, VTAC_E_SELECT, E2(EQ, total, none), none, y));
    vtac_close(l, outer + 1);
    return l->diag->code;
}

const vtac_expr *vtac_lrn_value(vtac_lower *l, const vtac_expr *x, const vtac_expr *sum)
{
    const vtac_dtype type = x == NULL ? VTAC_F32 : x->type;
    const double size = (double)vtac_attr_int(l->node, "size", 1);
    const vtac_expr *factor = vtac_e_float(l->k, type, vtac_attr_float(l->node, "alpha", 1e-4) / size);
    const vtac_expr *base =
        E2(ADD, vtac_e_float(l->k, type, vtac_attr_float(l->node, "bias", 1.0)), E2(MUL, factor, sum));
    const vtac_expr *power = E2(POW, base, vtac_e_float(l->k, type, vtac_attr_float(l->node, "beta", 0.75)));
    return E2(DIV, x, power);
}

/* Local response normalization over neighbouring channels. */
vta_status vtac_lower_lrn(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const int64_t size = vtac_attr_int(l->node, "size", 1);
    const int64_t others = x->dim[1] > 0 ? x->dim[1] - 1 : 0; /* a window is never larger than all channels */
    const int64_t before = (size - 1) / 2 < others ? (size - 1) / 2 : others;
    const int64_t behind = size - 1 - (size - 1) / 2 < others ? size - 1 - (size - 1) / 2 : others;
    const vtac_dtype type = vtac_compute_type(x->dtype);
    VTA_TRY(vtac_begin(l, ""));
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    vtac_buffer *sum = vtac_local(l, "sum", type, 1);
    const uint32_t loops = vtac_open(l, x, at, 1);
    vtac_store(l->k, sum, zero, vtac_e_int(l->k, type, 0));
    const vtac_expr *own = at[1];
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, before + 1 + behind, "i");
    at[1] = vtac_let(l->k, "c", vtac_i_add(l->k, own, vtac_i_addc(l->k, i, -before)));
    vtac_if(l->k, E2(AND, E2(GE, at[1], zero), E2(LT, at[1], vtac_e_index(l->k, x->dim[1]))));
    const vtac_expr *value = vtac_let(l->k, "x", vtac_in_at(l, 0, at));
    vtac_store(l->k, sum, zero, E2(ADD, vtac_e_load(l->k, sum, zero), E2(MUL, value, value)));
    vtac_close(l, 2);
    at[1] = own;
    vtac_out_at(l, 0, at, vtac_lrn_value(l, vtac_in_at(l, 0, at), vtac_e_load(l->k, sum, zero)));
    vtac_close(l, loops);
    return l->diag->code;
}
