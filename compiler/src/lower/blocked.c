/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools and pointwise operators in blocked layouts: a vector holds one position of a block of channels.
 */
#include <math.h>
#include <string.h>

#include "layout.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

void vtac_open_places(vtac_lower *l, const vtac_type *type, const vtac_layout *f, int64_t work,
                      vtac_position *p)
{
    vtac_kernel *k = l->k;
    const int64_t rows = vtac_layout_extent(type, 0);
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(work), vtac_layout_images(type) * f->blocks * rows, "unit");
    const uint32_t plane_axes = type->rank - 2;
    p->at[plane_axes] = vtac_let(k, "y", vtac_i_remc(k, unit, rows));
    const vtac_expr *plane = vtac_let(k, "plane", vtac_i_divc(k, unit, rows));
    p->block = vtac_let(k, "block", vtac_i_remc(k, plane, f->blocks));
    p->image = vtac_let(k, "image", vtac_i_divc(k, plane, f->blocks));
    vtac_layout_index(l, type, p->image, p->at);
    p->at[plane_axes + 1] = vtac_for(k, VTAC_LOOP_SERIAL, vtac_layout_extent(type, 1), "x");
    p->lanes = f->block;
}

const vtac_expr *vtac_open_lanes(vtac_lower *l, vtac_position *p)
{
    const vtac_expr *lane = vtac_for(l->k, VTAC_LOOP_VECTOR, p->lanes, "lane");
    p->at[1] = vtac_i_add(l->k, vtac_i_mulc(l->k, p->block, p->lanes), lane);
    l->block = p->block;
    l->lane = lane;
    return lane;
}

void vtac_close_lanes(vtac_lower *l)
{
    l->block = l->lane = NULL;
    vtac_end(l->k);
}

/* ---- pointwise */

static void mark_in_place(vtac_lower *l, const vtac_node *n, vtac_value_id y)
{
    const vtac_program *p = l->program;
    for (uint32_t i = 0; i < n->input_count; i++) {
        const vtac_value_id x = n->inputs[i];
        if (x == 0 || !vtac_layout_reads(l, n, i) || p->layouts[x].whole != 0 || p->layouts[y].whole != 0 ||
            vtac_dtype_bytes(l->graph->values[x].type.dtype) !=
                vtac_dtype_bytes(l->graph->values[y].type.dtype) ||
            memcmp(p->layouts[x].before, p->layouts[y].before, sizeof p->layouts[x].before) != 0 ||
            memcmp(p->layouts[x].after, p->layouts[y].after, sizeof p->layouts[x].after) != 0) {
            continue;
        }
        for (size_t k = 0; k < l->step->arg_count; k++) {
            if (l->step->args[k].storage == p->laid_out[x]) {
                l->step->args[k].in_place = true;
            }
        }
    }
}

void vtac_layout_in_place(vtac_lower *l)
{
    for (uint32_t c = 0; c <= l->chain_count && !l->k->failed; c++) {
        mark_in_place(l, c == 0 ? l->node : l->chain[c - 1], vtac_final_value(l, 0));
    }
}

vta_status vtac_lower_elements_blocked(vtac_lower *l)
{
    const vtac_value_id y = vtac_final_value(l, 0);
    const vtac_type *type = &l->graph->values[y].type;
    vtac_position p;
    VTA_TRY(vtac_begin(l, ""));
    vtac_open_places(l, type, &l->program->layouts[y], vtac_type_elements(type), &p);
    (void)vtac_open_lanes(l, &p);
    vtac_out_at(l, 0, p.at, vtac_lowering_of(l->node->op)->point(l, l->node, p.at));
    vtac_close_lanes(l);
    vtac_close(l, 2);
    vtac_layout_in_place(l);
    l->step->flops = (uint64_t)vtac_type_elements(type) * (1 + l->chain_count);
    return l->diag->code;
}

/* ---- concatenations of channels */

/* Part i, to the channel blocks from `first` on. */
static vta_status copy_part(vtac_lower *l, uint32_t i, int64_t first)
{
    vtac_position p;
    const vtac_value_id x = l->node->inputs[vtac_part_input(l->node, i)];
    const vtac_value_id y = l->node->outputs[0];
    const vtac_type *type = &l->graph->values[x].type;
    VTA_TRY(vtac_begin(l, ""));
    vtac_open_places(l, type, &l->program->layouts[x], vtac_type_elements(type), &p);
    const vtac_expr *lane = vtac_open_lanes(l, &p);
    const vtac_expr *from = vtac_layout_element(l, x, p.at, p.block, lane);
    const vtac_expr *block = vtac_i_addc(l->k, p.block, first);
    const vtac_expr *to = vtac_layout_element(l, y, p.at, block, lane);
    const vtac_expr *value = vtac_e_load(l->k, vtac_layout_buffer(l, x, "x"), from);
    vtac_store(l->k, vtac_layout_buffer(l, y, "y"), to, vtac_part_value(l, i, value));
    vtac_close_lanes(l);
    vtac_close(l, 2);
    return VTA_OK;
}

/* Copies what was not written to its place at once. */
vta_status vtac_lower_concat_blocked(vtac_lower *l)
{
    int64_t first = 0;
    for (uint32_t i = 0; i < vtac_part_count(l->node); i++) {
        const vtac_value_id x = l->node->inputs[vtac_part_input(l->node, i)];
        const vtac_layout *f = &l->program->layouts[x];
        const bool joined = f->whole == l->node->outputs[0] && f->first == first;
        VTA_TRY(joined ? VTA_OK : copy_part(l, i, first));
        first += f->blocks;
    }
    return VTA_OK;
}

/* ---- pools */

typedef struct blocked_pooling {
    vtac_window w;
    vtac_value_id x;
    const vtac_type *x_type;
    vtac_dtype type; /* of the sum */
    bool is_max, is_lp, global, count_all, quantized;
    int64_t p; /* of an Lp pool */
    vtac_buffer *from, *sum, *count;
} blocked_pooling;

static int64_t taps_of(const blocked_pooling *o)
{
    int64_t taps = 1;
    for (uint32_t a = 0; a < o->w.axes; a++) {
        taps *= o->w.kernel[a];
    }
    return taps;
}

static void start_sum(vtac_lower *l, const blocked_pooling *o, vtac_position *p)
{
    double low = -HUGE_VAL;
    double high;
    if (vtac_dtype_kind(o->type) != 'f') {
        vtac_range_of(o->x_type->dtype, &low, &high);
    }
    const vtac_expr *lane = vtac_open_lanes(l, p);
    vtac_store(l->k, o->sum, lane, vtac_e_float(l->k, o->type, o->is_max ? low : 0.0));
    vtac_close_lanes(l);
    if (o->count != NULL) {
        vtac_store(l->k, o->count, vtac_e_index(l->k, 0), vtac_e_index(l->k, 0));
    }
}

static void take_element(vtac_lower *l, const blocked_pooling *o, vtac_position *p,
                         const vtac_expr *const *from)
{
    vtac_kernel *k = l->k;
    const vtac_expr *lane = vtac_open_lanes(l, p);
    const vtac_expr *at = vtac_layout_element(l, o->x, from, p->block, lane);
    const vtac_expr *value = vtac_e_load(k, o->from, at);
    value = o->quantized ? vtac_pool_element(l, value) : vtac_e_cast(k, o->type, value);
    value = o->is_lp ? vtac_lp_power(l, value, o->p) : value;
    const vtac_expr *old = vtac_e_load(k, o->sum, lane);
    vtac_store(k, o->sum, lane, o->is_max ? E2(MAX, old, value) : E2(ADD, old, value));
    vtac_close_lanes(l);
    if (o->count != NULL) {
        const vtac_expr *zero = vtac_e_index(k, 0);
        vtac_store(k, o->count, zero, vtac_i_addc(k, vtac_e_load(k, o->count, zero), 1));
    }
}

/* Opens the loop over an axis of the window: the place, tested where it may lie outside. */
static const vtac_expr *open_axis(vtac_lower *l, const blocked_pooling *o, uint32_t a, const vtac_expr *at,
                                  uint32_t *loops)
{
    vtac_kernel *k = l->k;
    const vtac_window *w = &o->w;
    const int64_t dim = o->x_type->dim[a + 2];
    const int64_t last =
        (w->extent[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] - w->pad_begin[a];
    const vtac_expr *tap = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[a], "tap");
    const vtac_expr *from = vtac_i_addc(k, vtac_i_mulc(k, at, w->stride[a]), -w->pad_begin[a]);
    from = vtac_let(k, "from", vtac_i_add(k, from, vtac_i_mulc(k, tap, w->dilation[a])));
    ++*loops;
    if (w->pad_begin[a] > 0 || last >= dim) {
        vtac_if(k, E2(AND, E2(GE, from, vtac_e_index(k, 0)), E2(LT, from, vtac_e_index(k, dim))));
        ++*loops;
    }
    return from;
}

/* Taps inside the padded input: it ends where the last window may reach beyond. */
static const vtac_expr *padded_count(vtac_lower *l, const blocked_pooling *o, const vtac_position *p)
{
    vtac_kernel *k = l->k;
    const vtac_expr *count = vtac_e_index(k, 1);
    for (uint32_t a = 0; a < o->w.axes; a++) {
        const vtac_window *w = &o->w;
        const int64_t end = o->x_type->dim[a + 2] + w->pad_begin[a] + w->pad_end[a];
        const vtac_expr *room = E2(SUB, vtac_e_index(k, end), vtac_i_mulc(k, p->at[a + 2], w->stride[a]));
        room = vtac_i_divc(k, vtac_i_addc(k, room, w->dilation[a] - 1), w->dilation[a]);
        count = E2(MUL, count, E2(MIN, room, vtac_e_index(k, w->kernel[a])));
    }
    return count;
}

static void store_pooled(vtac_lower *l, const blocked_pooling *o, vtac_position *p)
{
    vtac_kernel *k = l->k;
    const vtac_expr *count = NULL;
    if (o->count != NULL) {
        count = vtac_let(k, "count", vtac_e_load(k, o->count, vtac_e_index(k, 0)));
    } else if (!o->is_max && !o->is_lp) {
        count = vtac_let(k, "count", o->global ? vtac_e_index(k, taps_of(o)) : padded_count(l, o, p));
    }
    const int64_t max = vtac_window_elements(&o->w);
    const vtac_expr *scale = o->quantized ? vtac_mean_scale(l, max, count) : NULL;
    const vtac_expr *lane = vtac_open_lanes(l, p);
    const vtac_expr *value = vtac_e_load(k, o->sum, lane);
    vtac_out_at(l, 0, p->at,
                o->is_max      ? value
                : o->is_lp     ? vtac_lp_root(l, value, o->p)
                : o->quantized ? vtac_mean(l, max, value, scale)
                               : E2(DIV, value, vtac_e_cast(k, o->type, count)));
    vtac_close_lanes(l);
}

static vta_status shape_of(vtac_lower *l, blocked_pooling *o)
{
    const vtac_op op = l->node->op;
    o->x = l->node->inputs[0];
    o->x_type = vtac_type_in(l, 0);
    o->global = op == VTAC_OP_GLOBAL_AVERAGE_POOL || op == VTAC_OP_GLOBAL_MAX_POOL ||
                op == VTAC_OP_GLOBAL_LP_POOL || op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL;
    o->quantized = op == VTAC_OP_QLINEAR_AVERAGE_POOL || op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL;
    o->is_max = op == VTAC_OP_MAX_POOL || op == VTAC_OP_GLOBAL_MAX_POOL;
    o->is_lp = op == VTAC_OP_LP_POOL || op == VTAC_OP_GLOBAL_LP_POOL;
    o->p = vtac_attr_int(l->node, "p", 2);
    o->count_all = vtac_attr_int(l->node, "count_include_pad", 0) != 0;
    o->type = o->quantized ? VTAC_I32 : vtac_compute_type(o->x_type->dtype);
    if (!o->global) {
        return vtac_window_of(l->node, o->x_type, NULL, true, &o->w, l->diag);
    }
    o->w = (vtac_window){.axes = o->x_type->rank - 2};
    for (uint32_t a = 0; a < o->w.axes; a++) {
        o->w.kernel[a] = o->x_type->dim[a + 2];
        o->w.stride[a] = o->w.dilation[a] = o->w.extent[a] = 1;
    }
    return VTA_OK;
}

vta_status vtac_lower_pool_blocked(vtac_lower *l)
{
    blocked_pooling o = {.x = 0};
    vtac_position p;
    const vtac_value_id y = vtac_final_value(l, 0);
    const vtac_type *type = &l->graph->values[y].type;
    const vtac_layout *f = &l->program->layouts[y];
    VTA_TRY(shape_of(l, &o));
    VTA_TRY(vtac_begin(l, ""));
    o.from = vtac_layout_buffer(l, o.x, "x");
    o.sum = vtac_local(l, "sum", o.type, f->block);
    o.count = !o.is_max && !o.is_lp && !o.global && !o.count_all ? vtac_local(l, "count", VTAC_I64, 1) : NULL;
    vtac_open_places(l, type, f, vtac_type_elements(type) * taps_of(&o), &p);
    start_sum(l, &o, &p);
    uint32_t loops = 0;
    const vtac_expr *from[5] = {p.at[0]};
    for (uint32_t a = 0; a < o.w.axes; a++) {
        from[a + 2] = open_axis(l, &o, a, p.at[a + 2], &loops);
    }
    take_element(l, &o, &p, from);
    vtac_close(l, loops);
    store_pooled(l, &o, &p);
    vtac_close(l, 2);
    return l->diag->code;
}
