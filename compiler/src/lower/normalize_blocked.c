/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations in blocked layouts: a vector holds one position of a block of channels. Each lane has its
 * own sums; those of the channels that share a mean are added at the end.
 */
#include "layout.h"
#include "vta/fail.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { SUMS = 4 }; /* of each lane, in turn, so that no addition waits for the one before */

typedef struct norm {
    vtac_norm_shape s;
    vtac_value_id x;
    const vtac_type *x_type;
    vtac_dtype type; /* of the sums */
    int64_t lanes;
    int64_t batches, blocks; /* that share means */
    vtac_position first;     /* of these */
    vtac_buffer *from, *sums, *mean, *scale, *gain, *bias;
    vtac_buffer *parts, *totals; /* where lanes share means; memory, not registers */
} norm;

static const vtac_expr *lane_of(vtac_lower *l, const norm *n)
{
    return vtac_for(l->k, VTAC_LOOP_VECTOR, n->lanes, "lane");
}

static const vtac_expr *value_at(vtac_lower *l, const norm *n, const vtac_position *p, const vtac_expr *lane)
{
    return vtac_e_load(l->k, n->from,
                       vtac_layout_place(l, n->x, p->at[0], p->block, p->at[2], p->at[3], lane));
}

/* Opens loops over all blocks, and batches, that share means. */
static uint32_t open_blocks(vtac_lower *l, const norm *n, vtac_position *p)
{
    uint32_t loops = 0;
    *p = n->first;
    if (n->batches > 1) {
        p->at[0] = vtac_for(l->k, VTAC_LOOP_SERIAL, n->batches, "batch");
        loops++;
    }
    if (n->blocks > 1) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, n->blocks, "i");
        p->block = vtac_let(l->k, "block", vtac_i_add(l->k, p->block, i));
        loops++;
    }
    return loops;
}

/* Adds one position, less the mean and squared where one is given, to the sums numbered `part`. */
static void add_position(vtac_lower *l, const norm *n, const vtac_position *p, const vtac_buffer *mean,
                         const vtac_expr *part)
{
    vtac_kernel *k = l->k;
    const vtac_expr *lane = lane_of(l, n);
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, part, n->lanes), lane);
    const vtac_expr *value = value_at(l, n, p, lane);
    if (mean != NULL) {
        value = vtac_let(k, "off", E2(SUB, value, vtac_e_load(k, mean, lane)));
        value = E2(MUL, value, value);
    }
    vtac_store(k, n->sums, at, E2(ADD, vtac_e_load(k, n->sums, at), value));
    vtac_end(k);
}

static void clear_sums(vtac_lower *l, const norm *n)
{
    const vtac_expr *part = vtac_for(l->k, VTAC_LOOP_UNROLL, SUMS, "way");
    const vtac_expr *lane = lane_of(l, n);
    vtac_store(l->k, n->sums, vtac_i_add(l->k, vtac_i_mulc(l->k, part, n->lanes), lane),
               vtac_e_int(l->k, n->type, 0));
    vtac_close(l, 2);
}

/* The sums over all positions that share a mean: by lanes, then of lanes, to all of these. */
static void sum_positions(vtac_lower *l, const norm *n, const vtac_buffer *mean)
{
    vtac_kernel *k = l->k;
    vtac_position p;
    const int64_t whole = n->x_type->dim[3] / SUMS * SUMS;
    clear_sums(l, n);
    const uint32_t loops = open_blocks(l, n, &p);
    p.at[2] = vtac_for(k, VTAC_LOOP_SERIAL, n->x_type->dim[2], "y");
    if (whole > 0) {
        const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, whole / SUMS, "x");
        const vtac_expr *part = vtac_for(k, VTAC_LOOP_UNROLL, SUMS, "way");
        p.at[3] = vtac_i_add(k, vtac_i_mulc(k, x, SUMS), part);
        add_position(l, n, &p, mean, part);
        vtac_close(l, 2);
    }
    if (whole < n->x_type->dim[3]) {
        const vtac_expr *part = vtac_for(k, VTAC_LOOP_UNROLL, n->x_type->dim[3] - whole, "way");
        p.at[3] = vtac_i_addc(k, part, whole);
        add_position(l, n, &p, mean, part);
        vtac_end(k);
    }
    vtac_close(l, loops + 1);
}

/* Total of a lane over all its partial sums. */
static const vtac_expr *lane_sum(vtac_lower *l, const norm *n, const vtac_expr *lane)
{
    const vtac_expr *sum = vtac_e_load(l->k, n->sums, lane);
    for (int64_t part = 1; part < SUMS; part++) {
        sum = E2(ADD, sum, vtac_e_load(l->k, n->sums, vtac_i_addc(l->k, lane, part * n->lanes)));
    }
    return sum;
}

/* Adds up lanes that share a mean: totals[lane] for each of them. */
static void join_lanes(vtac_lower *l, const norm *n)
{
    vtac_kernel *k = l->k;
    const int64_t shared = n->s.channels < n->lanes ? n->s.channels : n->lanes;
    const vtac_expr *lane = lane_of(l, n);
    vtac_store(k, n->parts, lane, lane_sum(l, n, lane));
    vtac_end(k);
    lane = vtac_for(k, VTAC_LOOP_SERIAL, n->lanes, "lane");
    vtac_store(k, n->totals, lane, vtac_e_int(k, n->type, 0));
    const vtac_expr *begin = vtac_i_mulc(k, vtac_i_divc(k, lane, shared), shared);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, shared, "i");
    vtac_store(k, n->totals, lane,
               E2(ADD, vtac_e_load(k, n->totals, lane), vtac_e_load(k, n->parts, vtac_i_add(k, begin, i))));
    vtac_close(l, 2);
}

/* Opens the lanes; the mean of what was summed. */
static const vtac_expr *open_average(vtac_lower *l, const norm *n, const vtac_expr **lane)
{
    const bool alone = n->s.channels == 1;
    const int64_t count = n->x_type->dim[2] * n->x_type->dim[3] * n->batches * n->s.channels;
    if (!alone) {
        join_lanes(l, n);
    }
    *lane = lane_of(l, n);
    const vtac_expr *sum = alone ? lane_sum(l, n, *lane) : vtac_e_load(l->k, n->totals, *lane);
    return E2(DIV, sum, vtac_e_float(l->k, n->type, (double)count));
}

static void lower_moments(vtac_lower *l, const norm *n)
{
    vtac_kernel *k = l->k;
    const vtac_expr *lane;
    sum_positions(l, n, NULL);
    const vtac_expr *average = open_average(l, n, &lane);
    vtac_store(k, n->mean, lane, average);
    vtac_end(k);
    sum_positions(l, n, n->mean);
    average = open_average(l, n, &lane);
    const vtac_expr *epsilon = vtac_e_float(k, n->type, vtac_norm_epsilon(l->node));
    const vtac_expr *root = vtac_e1(k, VTAC_E_SQRT, E2(ADD, average, epsilon));
    vtac_store(k, n->scale, lane, E2(DIV, vtac_e_int(k, n->type, 1), root));
    vtac_end(k);
}

/* Scale and bias of the channels of a block. */
static void load_parameters(vtac_lower *l, const norm *n, const vtac_position *p)
{
    vtac_kernel *k = l->k;
    const bool by_group = vtac_attr_int(l->node, "scale_per_group", 0) != 0; /* not side by side */
    const vtac_expr *lane = vtac_for(k, by_group ? VTAC_LOOP_SERIAL : VTAC_LOOP_VECTOR, n->lanes, "lane");
    const vtac_expr *channel = vtac_i_add(k, vtac_i_mulc(k, p->block, n->lanes), lane);
    const vtac_expr *group = vtac_i_divc(k, channel, n->s.channels);
    const vtac_expr *at[] = {p->at[0], channel};
    vtac_store(k, n->gain, lane, vtac_norm_parameter(l, 1, group, at));
    if (n->bias != NULL) {
        vtac_store(k, n->bias, lane, vtac_norm_parameter(l, 2, group, at));
    }
    vtac_end(k);
}

static void store_normal(vtac_lower *l, const norm *n)
{
    vtac_kernel *k = l->k;
    vtac_position p;
    const uint32_t loops = open_blocks(l, n, &p);
    if (n->gain != NULL) {
        load_parameters(l, n, &p);
    }
    p.at[2] = vtac_for(k, VTAC_LOOP_SERIAL, n->x_type->dim[2], "y");
    p.at[3] = vtac_for(k, VTAC_LOOP_SERIAL, n->x_type->dim[3], "x");
    const vtac_expr *lane = vtac_open_lanes(l, &p);
    const vtac_expr *off = E2(SUB, value_at(l, n, &p, lane), vtac_e_load(k, n->mean, lane));
    const vtac_expr *y = E2(MUL, off, vtac_e_load(k, n->scale, lane));
    y = n->gain != NULL ? E2(MUL, y, vtac_e_load(k, n->gain, lane)) : y;
    y = n->bias != NULL ? E2(ADD, y, vtac_e_load(k, n->bias, lane)) : y;
    vtac_out_at(l, 0, p.at, y);
    vtac_close_lanes(l);
    vtac_close(l, loops + 2);
}

static void shape_of(vtac_lower *l, norm *n)
{
    const vtac_layout *f = &l->program->layouts[l->node->inputs[VTAC_NORM_X]];
    *n = (norm){.x = l->node->inputs[VTAC_NORM_X], .x_type = vtac_type_in(l, VTAC_NORM_X), .lanes = f->block};
    (void)vtac_norm_shape_of(l->graph, l->node, &n->s);
    n->type = vtac_compute_type(n->x_type->dtype);
    n->batches = n->s.over_batch ? n->x_type->dim[0] : 1;
    n->blocks = n->s.channels > f->block ? n->s.channels / f->block : 1;
}

static void make_buffers(vtac_lower *l, norm *n)
{
    n->from = vtac_layout_buffer(l, n->x, "x");
    n->sums = vtac_local(l, "sums", n->type, SUMS * n->lanes);
    n->mean = vtac_local(l, "mean", n->type, n->lanes);
    n->scale = vtac_local(l, "scale", n->type, n->lanes);
    n->gain = vtac_has_in(l, VTAC_NORM_SCALE) ? vtac_local(l, "gain", n->type, n->lanes) : NULL;
    n->bias = vtac_has_in(l, VTAC_NORM_BIAS) ? vtac_local(l, "bias", n->type, n->lanes) : NULL;
    n->parts = n->s.channels > 1 ? vtac_local(l, "parts", n->type, n->lanes) : NULL;
    n->totals = n->s.channels > 1 ? vtac_local(l, "totals", n->type, n->lanes) : NULL;
}

vta_status vtac_lower_norm_blocked(vtac_lower *l)
{
    norm n;
    shape_of(l, &n);
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    make_buffers(l, &n);
    const int64_t groups = l->program->layouts[n.x].blocks / n.blocks;
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(vtac_type_elements(n.x_type)),
                                     n.x_type->dim[0] / n.batches * groups, "unit");
    n.first.lanes = n.lanes;
    n.first.at[0] = vtac_let(k, "batch", vtac_i_divc(k, unit, groups));
    n.first.block = vtac_let(k, "block", vtac_i_mulc(k, vtac_i_remc(k, unit, groups), n.blocks));
    lower_moments(l, &n);
    store_normal(l, &n);
    vtac_end(k);
    vtac_layout_in_place(l);
    return l->diag->code;
}

/* ---- neighbouring channels */

static void clear_squares(vtac_lower *l, vtac_buffer *squares, int64_t first, int64_t count)
{
    if (count > 0) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, count, "i");
        vtac_store(l->k, squares, vtac_i_addc(l->k, i, first), vtac_e_int(l->k, squares->dtype, 0));
        vtac_end(l->k);
    }
}

/* The squares of all channels of a position lie side by side, zeros before and after them: neighbours are as
 * far apart in every lane. */
vta_status vtac_lower_lrn_blocked(vtac_lower *l)
{
    norm n;
    vtac_position p;
    shape_of(l, &n);
    const int64_t size = vtac_attr_int(l->node, "size", 1);
    const int64_t before = (size - 1) / 2;
    const int64_t channels = n.x_type->dim[1];
    const int64_t rows = n.x_type->dim[2];
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    n.from = vtac_layout_buffer(l, n.x, "x");
    vtac_buffer *squares = vtac_kernel_buffer(k, "squares", n.type, channels + size - 1, VTAC_BUFFER_SCRATCH);
    if (squares == NULL) {
        return vta_no_memory(l->diag);
    }
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(vtac_type_elements(n.x_type)), n.x_type->dim[0] * rows, "unit");
    p.lanes = n.lanes;
    p.at[0] = vtac_let(k, "batch", vtac_i_divc(k, unit, rows));
    p.at[2] = vtac_let(k, "y", vtac_i_remc(k, unit, rows));
    clear_squares(l, squares, 0, before);
    clear_squares(l, squares, before + channels, size - 1 - before);
    p.at[3] = vtac_for(k, VTAC_LOOP_SERIAL, n.x_type->dim[3], "x");
    p.block = vtac_for(k, VTAC_LOOP_SERIAL, channels / n.lanes, "block");
    const vtac_expr *lane = lane_of(l, &n);
    const vtac_expr *value = vtac_let(k, "x", value_at(l, &n, &p, lane));
    const vtac_expr *channel = vtac_i_add(k, vtac_i_mulc(k, p.block, n.lanes), lane);
    vtac_store(k, squares, vtac_i_addc(k, channel, before), E2(MUL, value, value));
    vtac_close(l, 2);
    p.block = vtac_for(k, VTAC_LOOP_SERIAL, channels / n.lanes, "block");
    lane = vtac_open_lanes(l, &p);
    const vtac_expr *sum = vtac_e_load(k, squares, p.at[1]);
    for (int64_t i = 1; i < size; i++) {
        sum = E2(ADD, sum, vtac_e_load(k, squares, vtac_i_addc(k, p.at[1], i)));
    }
    vtac_out_at(l, 0, p.at, vtac_lrn_value(l, value_at(l, &n, &p, lane), sum));
    vtac_close_lanes(l);
    vtac_close(l, 3);
    return l->diag->code;
}
