/* SPDX-License-Identifier: Apache-2.0
 *
 * MatMulInteger of two activations (attention that is quantized at run time). As in integer.c, the array
 * sums, and the host corrects for the zero points, which are known at run time only:
 *
 *     Σ (a - zero_a)(b - zero_b)  =  Σ a'b' - zero_a' · Σ b' - zero_b' · Σ (a - zero_a)
 *
 * where a', b' and their zero points are signed, uint8 moved by 128. The first sum is a Sums node, whose
 * weights are b, packed by the host.
 */
#include "../ops/infer.h"
#include "packed.h"
#include "partition.h"

/* MAX_TERMS: beyond, the host's part of a sum might not fit in 32 bits. */
enum { MIN_PRODUCTS = 1 << 14, MAX_TERMS = 1 << 15 };

static bool is_scalar_or_none(const vtac_node_builder *b, uint32_t i)
{
    const vtac_type *type = vtac_in_type(b->graph, &b->like, i);
    return type == NULL || vtac_type_elements(type) == 1;
}

static bool read_pair(const vtac_node_builder *b, vtac_pair *s)
{
    const vtac_node *node = &b->like;
    *s = (vtac_pair){.planes = 1};
    if (node->op != VTAC_OP_MATMUL_INTEGER || b->config->batch != 1 ||
        vtac_in_constant(b->graph, node, VTAC_MATMUL_INTEGER_A) != NULL ||
        vtac_in_constant(b->graph, node, VTAC_MATMUL_INTEGER_B) != NULL ||
        !is_scalar_or_none(b, VTAC_MATMUL_INTEGER_A_ZERO) ||
        !is_scalar_or_none(b, VTAC_MATMUL_INTEGER_B_ZERO)) {
        return false;
    }
    const vtac_type *x = vtac_in_type(b->graph, node, VTAC_MATMUL_INTEGER_A),
                    *w = vtac_in_type(b->graph, node, VTAC_MATMUL_INTEGER_B);
    if (x->rank < 2 || w->rank < 2 || vtac_type_elements(x) < 1 || vtac_type_elements(w) < 1) {
        return false;
    }
    vtac_pair_sizes(b, x, w, s);
    return s->k <= MAX_TERMS;
}

static int64_t products_of(const vtac_pair *s)
{
    return s->g * s->m * s->k * s->n;
}

/* ---- the sums */

static vta_status add_sums(const vtac_node_builder *b, const vtac_pair *s, const vtac_whole *w,
                           vtac_value_id x, vtac_value_id weights, vtac_value_id *out)
{
    static const float one = 1.0F;
    vtac_value_id inputs[] = {x, 0, 0, weights, 0};
    const int64_t dims[3] = {1, w->bytes * vtac_whole_channels(b, w->outputs), w->rows};
    const vtac_attr attrs[] = {
        {.name = "dims", .kind = VTAC_ATTR_INTS, .count = 3, .ints = dims},
        {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(VTAC_I8)},
        {.name = "bytes", .kind = VTAC_ATTR_INT, .i = w->bytes},
        {.name = "outputs", .kind = VTAC_ATTR_INT, .i = w->outputs},
        {.name = "group", .kind = VTAC_ATTR_INT, .i = s->g},
        {.name = "products", .kind = VTAC_ATTR_INT, .i = products_of(s)},
    };
    VTA_TRY(vtac_b_number(b, VTAC_F32, &one, &inputs[VTAC_VTA_SUMS_WEIGHT_SCALE]));
    return vtac_b_add(b, VTAC_OP_VTA_SUMS, inputs, 5, attrs, 6, out);
}

/* ---- the host's correction */

/* A zero point as int32, less `move`. */
static vta_status read_zero(const vtac_node_builder *b, uint32_t i, int32_t move, vtac_value_id *out)
{
    const int32_t none = -move;
    if (vtac_in_type(b->graph, &b->like, i) == NULL) {
        return vtac_b_number(b, VTAC_I32, &none, out);
    }
    *out = b->like.inputs[i];
    VTA_TRY(vtac_b_reshape(b, NULL, 0, out));
    VTA_TRY(vtac_b_cast(b, VTAC_I32, out));
    return move != 0 ? vtac_b_with(b, VTAC_OP_SUB, move, out) : VTA_OK;
}

/* Sums [g, rows, columns] along an axis, less `less` in each sum. */
static vta_status sum_up(const vtac_node_builder *b, int64_t axis, vtac_value_id less, vtac_value_id *x)
{
    const vtac_attr keep = {.name = "keepdims", .kind = VTAC_ATTR_INT, .i = 1};
    vtac_value_id axes;
    VTA_TRY(vtac_b_cast(b, VTAC_I32, x));
    VTA_TRY(vtac_b_list(b, &axis, 1, &axes));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_REDUCE_SUM, axes, &keep, x));
    return vtac_b_apply(b, VTAC_OP_SUB, less, NULL, x);
}

/* Subtracts zero_a' · Σ b' from [g, m, n]; b is [g, k, n]. */
static vta_status correct_for_a(const vtac_node_builder *b, const vtac_pair *s, int32_t move_a,
                                vtac_value_id right, vtac_value_id *x)
{
    const int32_t moved = vtac_b_type(b, right).dtype == VTAC_U8 ? (int32_t)(s->k * 128) : 0;
    vtac_value_id zero, less;
    VTA_TRY(vtac_b_number(b, VTAC_I32, &moved, &less));
    VTA_TRY(sum_up(b, 1, less, &right));
    VTA_TRY(read_zero(b, VTAC_MATMUL_INTEGER_A_ZERO, move_a, &zero));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_MUL, zero, NULL, &right));
    return vtac_b_apply(b, VTAC_OP_SUB, right, NULL, x);
}

/* Subtracts zero_b' · Σ (a - zero_a) from [g, m, n]; a is [g, m, k]. */
static vta_status correct_for_b(const vtac_node_builder *b, const vtac_pair *s, int32_t move_b,
                                vtac_value_id left, vtac_value_id *x)
{
    vtac_value_id zero, less;
    VTA_TRY(read_zero(b, VTAC_MATMUL_INTEGER_A_ZERO, 0, &less));
    VTA_TRY(vtac_b_with(b, VTAC_OP_MUL, (int32_t)s->k, &less));
    VTA_TRY(sum_up(b, 2, less, &left));
    VTA_TRY(read_zero(b, VTAC_MATMUL_INTEGER_B_ZERO, move_b, &zero));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_MUL, zero, NULL, &left));
    return vtac_b_apply(b, VTAC_OP_SUB, left, NULL, x);
}

/* Adds the Sums node of two batches of matrices, and combines its bytes. */
static vta_status sum_matrices(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id left,
                               vtac_value_id right, vtac_legalized *p)
{
    const vtac_whole w = {s->g * s->group_n, s->group_m, vtac_whole_bytes(s->k * INT8_MIN * INT8_MIN)};
    vtac_value_id x = left, weights;
    VTA_TRY(vtac_pair_transpose(b, s, &x));
    VTA_TRY(vtac_pair_pack(b, s, right, &weights));
    VTA_TRY(add_sums(b, s, &w, x, weights, &p->made));
    p->stands = p->made;
    VTA_TRY(vtac_whole_sums(b, &w, &p->stands));
    return vtac_pair_back(b, s, &p->stands);
}

static vta_status replace_pair(const vtac_node_builder *b, const vtac_pair *s, vtac_legalized *p)
{
    const vtac_type y = vtac_b_type(b, b->like.outputs[0]);
    vtac_value_id left, right;
    VTA_TRY(vtac_b_hold(b, b->like.inputs[VTAC_MATMUL_INTEGER_A], &p->holders[0], &left));
    VTA_TRY(vtac_b_hold(b, b->like.inputs[VTAC_MATMUL_INTEGER_B], &p->holders[1], &right));
    VTA_TRY(vtac_pair_matrices(b, s, s->m, s->k, &left));
    VTA_TRY(vtac_pair_matrices(b, s, s->k, s->n, &right));
    const int32_t move_a = vtac_b_type(b, left).dtype == VTAC_U8 ? 128 : 0;
    const int32_t move_b = vtac_b_type(b, right).dtype == VTAC_U8 ? 128 : 0;
    VTA_TRY(sum_matrices(b, s, left, right, p));
    VTA_TRY(correct_for_a(b, s, move_a, right, &p->stands));
    VTA_TRY(correct_for_b(b, s, move_b, left, &p->stands));
    VTA_TRY(vtac_b_reshape(b, y.dim, y.rank, &p->stands));
    vtac_swap_names(b->graph, b->like.outputs[0], p->stands);
    vtac_replace_uses(b->graph, b->like.outputs[0], p->stands);
    return VTA_OK;
}

static vta_status legalize_pair(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done)
{
    vtac_pair s;
    *done = read_pair(b, &s) && (always || s.g * s.m * s.n >= MIN_PRODUCTS / s.k);
    p->operands[1] = VTAC_MATMUL_INTEGER_B;
    return *done ? replace_pair(b, &s, p) : VTA_OK;
}

vta_status vtac_legalize_integer_pairs(vtac_graph *graph, const vta_config *config, bool always,
                                       vta_arena *arena, vtac_legalized_list *out, vta_diag *diag)
{
    return vtac_legalize_nodes(graph, config, always, arena, legalize_pair, out, diag);
}
