/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the operands and results of products of two activations to the accelerator's form.
 */
#include "packed.h"

#include <string.h>

#include "partition.h"
#include "vta/number.h"

enum { MAX_RANK = 6, CODES = 256, MAX_PLANES = 3 };

static int64_t batch_of(vtac_type type)
{
    int64_t count = 1;
    for (uint32_t i = 0; i + 2 < type.rank; i++) {
        count *= type.dim[i];
    }
    return count;
}

void vtac_pair_sizes(const vtac_node_builder *b, const vtac_type *x, const vtac_type *w, vtac_pair *s)
{
    s->block = vtac_vta_block(b->config);
    s->block_in = b->config->block_in;
    s->block_out = b->config->block_out;
    s->k = x->dim[x->rank - 1];
    s->n = w->dim[w->rank - (s->transposed ? 2 : 1)];
    s->g = batch_of(vtac_b_type(b, b->like.outputs[0]));
    s->m = x->dim[x->rank - 2];
    if (batch_of(*w) == 1) { /* all rows share one matrix */
        s->m *= batch_of(*x);
        s->g = 1;
    }
    s->group_m = s->m > 1 ? s->m : 2; /* an image of one pixel would not be an image of rows */
    s->group_k = s->g > 1 ? vta_round_up(s->k, s->block) : s->k;
    s->group_n = s->g > 1 ? vta_round_up(s->n, s->block) : s->n;
    s->packed_k = vta_round_up(s->group_k, s->block_in);
    s->packed_n = vta_round_up(s->n, s->block);
}

vta_status vtac_pair_pad(const vtac_node_builder *b, int64_t rows, int64_t columns, int zero,
                         vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, *x);
    const int64_t pads[6] = {0, 0, 0, 0, rows - type.dim[1], columns - type.dim[2]};
    const vtac_dtype dtype = type.dtype;
    vtac_value_id inputs[3] = {*x};
    if (pads[4] == 0 && pads[5] == 0) {
        return VTA_OK;
    }
    const uint8_t byte = (uint8_t)zero;
    const int32_t word = zero;
    VTA_TRY(vtac_b_list(b, pads, 6, &inputs[VTAC_PAD_PADS]));
    VTA_TRY(
        vtac_b_number(b, dtype, dtype == VTAC_I32 ? (const void *)&word : &byte, &inputs[VTAC_PAD_VALUE]));
    return vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, x);
}

vta_status vtac_pair_matrices(const vtac_node_builder *b, const vtac_pair *s, int64_t rows, int64_t columns,
                              vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, *x), y = vtac_b_type(b, b->like.outputs[0]);
    if (s->g > 1 && batch_of(type) != s->g) {
        vtac_value_id shape;
        int64_t dims[VTAC_MAX_RANK];
        memcpy(dims, y.dim, sizeof dims);
        dims[y.rank - 2] = rows;
        dims[y.rank - 1] = columns;
        VTA_TRY(vtac_b_list(b, dims, y.rank, &shape));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, x));
    }
    return vtac_b_reshape(b, (int64_t[]){s->g, rows, columns}, 3, x);
}

vta_status vtac_pair_transpose(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x)
{
    /* The weights beside the terms are 0, so padding may be the zero point, with which a movement can pad. */
    const int move = vtac_b_type(b, *x).dtype == VTAC_U8 ? 128 : 0;
    const int zero = b->config->rows != 0 ? s->zero_a + move : move;
    VTA_TRY(vtac_pair_matrices(b, s, s->m, s->k, x));
    VTA_TRY(vtac_pair_pad(b, s->group_m, s->group_k, zero, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    return vtac_b_reshape(b, (int64_t[]){1, s->g * s->group_k, s->group_m}, 3, x);
}

/* The part of w less its zero point that belongs to a plane, for every w. */
static vta_status plane_of(const vtac_node_builder *b, const vtac_pair *s, int64_t plane, vtac_value_id x,
                           vtac_value_id *out)
{
    const int64_t lowest = vtac_b_type(b, x).dtype == VTAC_U8 ? 0 : INT8_MIN;
    const vtac_attr attr = {.name = "first", .kind = VTAC_ATTR_INT, .i = lowest};
    int8_t table[CODES];
    vtac_value_id inputs[2] = {x};
    for (int i = 0; i < CODES; i++) {
        int32_t rest = i - 128 - s->zero_b, part = 0;
        for (int64_t p = 0; p <= plane; p++) {
            part = rest > INT8_MAX ? INT8_MAX : rest < INT8_MIN ? INT8_MIN : rest;
            rest -= part;
        }
        table[i] = (int8_t)part;
    }
    VTA_TRY(vtac_b_constant(b, (vtac_type){.dtype = VTAC_I8, .rank = 1, .dim = {CODES}}, table,
                            &inputs[VTAC_LOOK_UP_TABLE]));
    return vtac_b_add(b, VTAC_OP_LOOK_UP, inputs, 2, &attr, 1, out);
}

vta_status vtac_pair_pack(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id x, vtac_value_id *out)
{
    const int64_t blocks = s->packed_k / s->block_in, both = s->block / s->block_in;
    vtac_value_id planes[MAX_PLANES] = {x};
    for (int64_t p = 0; p < s->planes; p++) {
        VTA_TRY(s->planes > 1 ? plane_of(b, s, p, x, &planes[p]) : VTA_OK);
        VTA_TRY(vtac_pair_pad(b, s->packed_k, s->packed_n,
                              vtac_b_type(b, planes[p]).dtype == VTAC_U8 ? 128 : 0, &planes[p]));
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){s->g, blocks, 1, s->block_in, s->packed_n}, 5, &planes[p]));
    }
    *out = planes[0];
    if (s->planes > 1) {
        const vtac_attr attr = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 2};
        VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, planes, (uint32_t)s->planes, &attr, 1, out));
    }
    const int64_t apart[MAX_RANK] = {
        s->g, blocks * s->planes, s->block_in, s->packed_n / s->block_out, s->block_out / both, both};
    VTA_TRY(vtac_b_reshape(b, apart, MAX_RANK, out));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){5, 2, 0, 3, 1, 4}, MAX_RANK, out));
    return vtac_b_reshape(
        b, (int64_t[]){1, s->block, s->g * blocks * s->planes * s->block_in * s->packed_n / s->block}, 3,
        out);
}

vta_status vtac_pair_back(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x)
{
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){s->g, s->group_n, s->group_m}, 3, x));
    if (s->group_n != s->n || s->group_m != s->m) {
        /* of a rank that no image has, a movement can go on to the product */
        const int64_t first = b->config->rows != 0 ? 3 : 1;
        vtac_value_id inputs[4] = {0};
        VTA_TRY(first > 1 ? vtac_b_reshape(b, (int64_t[]){1, 1, s->g, s->group_n, s->group_m}, 5, x)
                          : VTA_OK);
        inputs[VTAC_SLICE_X] = *x;
        VTA_TRY(vtac_b_list(b, (int64_t[]){0, 0}, 2, &inputs[VTAC_SLICE_STARTS]));
        VTA_TRY(vtac_b_list(b, (int64_t[]){s->n, s->m}, 2, &inputs[VTAC_SLICE_ENDS]));
        VTA_TRY(vtac_b_list(b, (int64_t[]){first, first + 1}, 2, &inputs[VTAC_SLICE_AXES]));
        VTA_TRY(vtac_b_add(b, VTAC_OP_SLICE, inputs, 4, NULL, 0, x));
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){s->g, s->n, s->m}, 3, x));
    }
    return vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x);
}
