/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of matrix products and recurrent layers.
 */
#include <string.h>

#include "infer.h"
#include "vtac/quant.h"

/* NumPy's rule: vectors gain an axis that is taken away again, leading axes broadcast. */
static vta_status matmul_shape(const vtac_type *a, const vtac_type *b, vtac_type *out, vta_diag *diag)
{
    char ta[160];
    char tb[160];
    const bool row = a->rank == 1;
    const bool column = b->rank == 1;
    if (a->rank < 1 || b->rank < 1) {
        return vta_fail(diag, VTA_INVALID, "a scalar cannot be multiplied as a matrix");
    }
    const int64_t depth_a = a->dim[a->rank - 1];
    const int64_t depth_b = column ? b->dim[0] : b->dim[b->rank - 2];
    if (depth_a != depth_b) {
        return vta_fail(diag, VTA_INVALID, "%s times %s: %lld is not %lld", vtac_type_text(a, ta, sizeof ta),
                        vtac_type_text(b, tb, sizeof tb), (long long)depth_a, (long long)depth_b);
    }
    vtac_type lead_a = *a;
    vtac_type lead_b = *b;
    lead_a.rank = row ? 0 : a->rank - 2;
    lead_b.rank = column ? 0 : b->rank - 2;
    const vtac_dtype dtype = out->dtype;
    VTA_TRY(vtac_broadcast(&lead_a, &lead_b, out, diag));
    out->dtype = dtype;
    if (!row) {
        out->dim[out->rank++] = a->dim[a->rank - 2];
    }
    if (!column) {
        out->dim[out->rank++] = b->dim[b->rank - 1];
    }
    return VTA_OK;
}

vta_status vtac_infer_matmul(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, VTAC_MATMUL_A, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_MATMUL_B, &b, diag));
    if (a->dtype != b->dtype) {
        return vta_fail(diag, VTA_INVALID, "inputs are %s and %s; they must be equal",
                        vtac_dtype_name(a->dtype), vtac_dtype_name(b->dtype));
    }
    out[0].dtype = a->dtype;
    return matmul_shape(a, b, &out[0], diag);
}

/* Scales and zero points of the right operand: one, or one a column. */
static vta_status expect_columns(const vtac_graph *graph, const vtac_node *node, uint32_t i, int64_t columns,
                                 vta_diag *diag)
{
    const vtac_type *type = vtac_in_type(graph, node, i);
    const int64_t count = type == NULL ? 1 : vtac_type_elements(type);
    return count == 1 || (type->rank == 1 && count == columns)
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "input %u has %lld elements, expected one or %lld", i,
                          (long long)count, (long long)columns);
}

vta_status vtac_infer_matmul_integer(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, VTAC_MATMUL_INTEGER_A, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_MATMUL_INTEGER_B, &b, diag));
    out[0].dtype = VTAC_I32;
    VTA_TRY(matmul_shape(a, b, &out[0], diag));
    const vtac_type *zero = vtac_in_type(graph, node, VTAC_MATMUL_INTEGER_A_ZERO);
    if (zero != NULL && vtac_type_elements(zero) != 1 &&
        (a->rank < 2 || vtac_type_elements(zero) != a->dim[a->rank - 2])) {
        return vta_fail(diag, VTA_INVALID,
                        "the zero point of the left operand has neither one element nor one a row");
    }
    return expect_columns(graph, node, VTAC_MATMUL_INTEGER_B_ZERO, b->rank == 1 ? 1 : b->dim[b->rank - 1],
                          diag);
}

vta_status vtac_infer_qlinear_matmul(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    const vtac_type *zero;
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_PAIR_A, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_PAIR_B, &b, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QLINEAR_PAIR_Y_ZERO, &zero, diag));
    out[0].dtype = zero->dtype;
    VTA_TRY(matmul_shape(a, b, &out[0], diag));
    const int64_t columns = b->rank == 1 ? 1 : b->dim[b->rank - 1];
    VTA_TRY(expect_columns(graph, node, VTAC_QLINEAR_PAIR_B_SCALE, columns, diag));
    return expect_columns(graph, node, VTAC_QLINEAR_PAIR_B_ZERO, columns, diag);
}

static vta_status gemm_shape(const vtac_node *node, const vtac_type *a, const vtac_type *b, vtac_type *out,
                             vta_diag *diag)
{
    if (a->rank != 2 || b->rank != 2) {
        return vta_fail(diag, VTA_INVALID, "inputs have rank %u and %u, expected 2", a->rank, b->rank);
    }
    const bool ta = vtac_attr_int(node, "transA", 0) != 0;
    const bool tb = vtac_attr_int(node, "transB", 0) != 0;
    if (a->dim[ta ? 0 : 1] != b->dim[tb ? 1 : 0]) {
        return vta_fail(diag, VTA_INVALID, "inner sizes %lld and %lld differ", (long long)a->dim[ta ? 0 : 1],
                        (long long)b->dim[tb ? 1 : 0]);
    }
    out->rank = 2;
    out->dim[0] = a->dim[ta ? 1 : 0];
    out->dim[1] = b->dim[tb ? 0 : 1];
    return VTA_OK;
}

vta_status vtac_infer_gemm(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, VTAC_GEMM_A, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_GEMM_B, &b, diag));
    out[0].dtype = a->dtype;
    VTA_TRY(gemm_shape(node, a, b, &out[0], diag));
    const vtac_type *c = vtac_in_type(graph, node, VTAC_GEMM_C);
    if (c != NULL) {
        vtac_type sum;
        VTA_TRY(vtac_broadcast(&out[0], c, &sum, diag));
        if (!vtac_type_equal(&sum, &out[0])) {
            return vta_fail(diag, VTA_INVALID, "input 2 does not broadcast to the product");
        }
    }
    return VTA_OK;
}

/* Infers the type of a QGemm; without y_scale and y_zero the result is float. */
vta_status vtac_infer_qgemm(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, VTAC_QGEMM_A, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_QGEMM_B, &b, diag));
    const vtac_type *zero = vtac_in_type(graph, node, VTAC_QGEMM_Y_ZERO);
    out[0].dtype = zero != NULL ? zero->dtype : VTAC_F32;
    VTA_TRY(gemm_shape(node, a, b, &out[0], diag));
    VTA_TRY(expect_columns(graph, node, VTAC_QGEMM_B_SCALE, out[0].dim[1], diag));
    VTA_TRY(expect_columns(graph, node, VTAC_QGEMM_B_ZERO, out[0].dim[1], diag));
    const vtac_type *bias = vtac_in_type(graph, node, VTAC_QGEMM_C);
    vtac_type sum = out[0];
    if (bias != NULL) {
        VTA_TRY(vtac_broadcast(&out[0], bias, &sum, diag));
    }
    return vtac_type_equal(&sum, &out[0])
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "the bias (input 6) does not broadcast to the product");
}

/* The shapes of the parameters and of the state at the start. */
static vta_status check_rnn(const vtac_graph *graph, const vtac_node *node, const vtac_type *x,
                            const vtac_type *r, int64_t batch, const int64_t *state, vta_diag *diag)
{
    const int64_t input = x->dim[2];
    const int64_t directions = r->dim[0];
    const int64_t hidden = r->dim[2];
    const int64_t gates = node->op == VTAC_OP_LSTM ? 4 : node->op == VTAC_OP_GRU ? 3 : 1;
    const int64_t columns = gates * hidden;
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENT_W, "W", 3, (int64_t[]){directions, columns, input},
                              diag));
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENT_R, "R", 3, (int64_t[]){directions, columns, hidden},
                              diag));
    VTA_TRY(
        vtac_expect_shape(graph, node, VTAC_RECURRENT_B, "B", 2, (int64_t[]){directions, 2 * columns}, diag));
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENT_LENGTHS, "sequence_lens", 1, &batch, diag));
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENT_INITIAL_H, "initial_h", 3, state, diag));
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENT_INITIAL_C, "initial_c", 3, state, diag));
    return vtac_expect_shape(graph, node, VTAC_RECURRENT_P, "P", 2, (int64_t[]){directions, 3 * hidden},
                             diag);
}

/* X [seq, batch, input] (layout 1: batch first), W [directions, gates * hidden, input]; Y, Y_h, Y_c */
vta_status vtac_infer_rnn(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *r;
    VTA_TRY(vtac_need_type(graph, node, VTAC_RECURRENT_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_RECURRENT_R, &r, diag));
    if (x->rank != 3 || r->rank != 3) {
        return vta_fail(diag, VTA_INVALID, "inputs X and R have rank %u and %u, expected 3", x->rank,
                        r->rank);
    }
    const bool batch_first = vtac_attr_int(node, "layout", 0) != 0;
    const int64_t seq = x->dim[batch_first ? 1 : 0];
    const int64_t batch = x->dim[batch_first ? 0 : 1];
    const int64_t directions = r->dim[0];
    const int64_t hidden = vtac_attr_int(node, "hidden_size", r->dim[2]);
    if (hidden != r->dim[2]) {
        return vta_fail(diag, VTA_INVALID, "hidden_size %lld, but R has %lld", (long long)hidden,
                        (long long)r->dim[2]);
    }
    const bool both = vtac_attr_string(node, "direction", "forward")[0] == 'b';
    if (directions != (both ? 2 : 1)) {
        return vta_fail(diag, VTA_INVALID, "R has %lld directions, expected %d", (long long)directions,
                        both ? 2 : 1);
    }
    const int64_t state[] = {batch_first ? batch : directions, batch_first ? directions : batch, hidden};
    VTA_TRY(check_rnn(graph, node, x, r, batch, state, diag));
    const vtac_type y = {.dtype = x->dtype, .rank = 4, .dim = {seq, directions, batch, hidden}};
    const vtac_type y_first = {.dtype = x->dtype, .rank = 4, .dim = {batch, seq, directions, hidden}};
    const vtac_type h = {.dtype = x->dtype, .rank = 3, .dim = {directions, batch, hidden}};
    const vtac_type h_first = {.dtype = x->dtype, .rank = 3, .dim = {batch, directions, hidden}};
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = i == 0 ? (batch_first ? y_first : y) : (batch_first ? h_first : h);
    }
    return VTA_OK;
}

/* C or H of one direction, [1, batch, hidden], and its bytes. */
static vta_status infer_state(const vtac_graph *graph, const vtac_node *node, int64_t rows, vtac_type *out,
                              vta_diag *diag)
{
    const vtac_type *x;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    if (x->rank != 3 || x->dim[0] != rows) {
        return vta_fail(diag, VTA_INVALID, "it takes %d rows of a batch, [%d, batch, hidden]", (int)rows,
                        (int)rows);
    }
    *out = *x;
    return VTA_OK;
}

static int64_t digits_of(const vtac_node *node)
{
    return vtac_recurrent_digits((vtac_recurrent_kind)vtac_attr_int(node, "kind", 0));
}

vta_status vtac_infer_state_bytes(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                  vta_diag *diag)
{
    VTA_TRY(infer_state(graph, node, 1, out, diag));
    out[0].dtype = VTAC_I8;
    out[0].dim[0] = digits_of(node);
    return VTA_OK;
}

vta_status vtac_infer_state_floats(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                   vta_diag *diag)
{
    VTA_TRY(infer_state(graph, node, digits_of(node), out, diag));
    out[0].dtype = VTAC_F32;
    out[0].dim[0] = 1;
    return VTA_OK;
}

/* x [steps, batch, inputs] by W [gates * hidden, inputs] and R [gates * hidden, hidden]: [steps, batch,
 * hidden] */
vta_status vtac_infer_recurrence(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *r;
    VTA_TRY(vtac_need_type(graph, node, VTAC_RECURRENCE_X, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, VTAC_RECURRENCE_R, &r, diag));
    if (x->rank != 3 || r->rank != 2 || r->dim[1] < 1) {
        return vta_fail(diag, VTA_INVALID, "inputs x and R have rank %u and %u, expected 3 and 2", x->rank,
                        r->rank);
    }
    const int64_t columns = r->dim[0];
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENCE_W, "W", 2, (int64_t[]){columns, x->dim[2]}, diag));
    VTA_TRY(vtac_expect_shape(graph, node, VTAC_RECURRENCE_B, "B", 1, (int64_t[]){2 * columns}, diag));
    const int64_t digits = digits_of(node);
    for (uint32_t i = VTAC_RECURRENCE_H_BEFORE; i <= VTAC_RECURRENCE_STATE; i++) {
        const int64_t shape[] = {i == VTAC_RECURRENCE_H_BEFORE ? 1 : digits, x->dim[1], r->dim[1]};
        VTA_TRY(vtac_in_type(graph, node, i) == NULL
                    ? VTA_OK
                    : vtac_expect_shape(graph, node, i, "the state", 3, shape, diag));
    }
    out[0] = (vtac_type){.dtype = x->dtype, .rank = 3, .dim = {x->dim[0], x->dim[1], r->dim[1]}};
    if (node->output_count > 1) {
        out[1] = (vtac_type){.dtype = VTAC_I8, .rank = 3, .dim = {digits, x->dim[1], r->dim[1]}};
    }
    return VTA_OK;
}
