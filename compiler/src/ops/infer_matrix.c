/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of matrix products and recurrent layers.
 */
#include <string.h>

#include "infer.h"

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
    VTA_TRY(vtac_need_type(graph, node, 0, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, 1, &b, diag));
    if (a->dtype != b->dtype) {
        return vta_fail(diag, VTA_INVALID, "inputs are %s and %s; they must be equal",
                        vtac_dtype_name(a->dtype), vtac_dtype_name(b->dtype));
    }
    out[0].dtype = a->dtype;
    return matmul_shape(a, b, &out[0], diag);
}

vta_status vtac_infer_matmul_integer(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, 0, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, 1, &b, diag));
    out[0].dtype = VTAC_I32;
    return matmul_shape(a, b, &out[0], diag);
}

/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero */
vta_status vtac_infer_qlinear_matmul(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                     vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    const vtac_type *zero;
    VTA_TRY(vtac_need_type(graph, node, 0, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, 3, &b, diag));
    VTA_TRY(vtac_need_type(graph, node, 7, &zero, diag));
    out[0].dtype = zero->dtype;
    return matmul_shape(a, b, &out[0], diag);
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
    VTA_TRY(vtac_need_type(graph, node, 0, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, 1, &b, diag));
    out[0].dtype = a->dtype;
    VTA_TRY(gemm_shape(node, a, b, &out[0], diag));
    const vtac_type *c = vtac_in_type(graph, node, 2);
    if (c != NULL) {
        vtac_type sum;
        VTA_TRY(vtac_broadcast(&out[0], c, &sum, diag));
        if (!vtac_type_equal(&sum, &out[0])) {
            return vta_fail(diag, VTA_INVALID, "input 2 does not broadcast to the product");
        }
    }
    return VTA_OK;
}

/* a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero: without y_scale and y_zero the result is
 * float */
vta_status vtac_infer_qgemm(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *a;
    const vtac_type *b;
    VTA_TRY(vtac_need_type(graph, node, 0, &a, diag));
    VTA_TRY(vtac_need_type(graph, node, 3, &b, diag));
    const vtac_type *zero = vtac_in_type(graph, node, 8);
    out[0].dtype = zero != NULL ? zero->dtype : VTAC_F32;
    return gemm_shape(node, a, b, &out[0], diag);
}

/* One subscript of an einsum equation against one operand: the size of each letter, and how many axes "..."
 * stands for. */
static vta_status einsum_term(const char **at, const vtac_type *type, int64_t *size, vtac_type *dots,
                              vta_diag *diag)
{
    const char *s = *at;
    uint32_t letters = 0;
    for (const char *p = s; *p != '\0' && *p != ',' && *p != '-'; p++) {
        letters += (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
    }
    if (letters > type->rank) {
        return vta_fail(diag, VTA_INVALID, "the equation names %u axes of an operand of rank %u", letters,
                        type->rank);
    }
    uint32_t axis = 0;
    for (; *s != '\0' && *s != ',' && *s != '-'; s++) {
        if (*s == ' ') {
            continue;
        }
        if (strncmp(s, "...", 3) == 0) {
            vtac_type own = {.dtype = type->dtype, .rank = type->rank - letters};
            memcpy(own.dim, &type->dim[axis], own.rank * sizeof own.dim[0]);
            VTA_TRY(vtac_broadcast(dots, &own, dots, diag));
            axis += own.rank;
            s += 2;
            continue;
        }
        const bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
        if (!letter || axis >= type->rank) {
            return vta_fail(diag, VTA_INVALID, "'%c' in the equation does not fit the operand", *s);
        }
        int64_t *known = &size[(unsigned char)*s];
        if (*known > 1 && type->dim[axis] > 1 && *known != type->dim[axis]) {
            return vta_fail(diag, VTA_INVALID, "axis '%c' is %lld and %lld", *s, (long long)*known,
                            (long long)type->dim[axis]);
        }
        *known = *known > 1 ? *known : type->dim[axis];
        axis++;
    }
    if (axis != type->rank) {
        return vta_fail(diag, VTA_INVALID, "the equation names %u axes of an operand of rank %u", axis,
                        type->rank);
    }
    *at = s;
    return VTA_OK;
}

static vta_status einsum_push(vtac_type *out, int64_t size, vta_diag *diag)
{
    if (out->rank >= VTAC_MAX_RANK) {
        return vta_fail(diag, VTA_UNSUPPORTED, "the result has more than %d axes", VTAC_MAX_RANK);
    }
    out->dim[out->rank++] = size;
    return VTA_OK;
}

/* The right-hand side, given or implied (letters that occur once, in alphabetical order, after the dots). */
static vta_status einsum_result(const char *equation, const char *arrow, const int64_t *size,
                                const vtac_type *dots, vtac_type *out, vta_diag *diag)
{
    if (arrow == NULL) {
        for (uint32_t i = 0; i < dots->rank; i++) {
            VTA_TRY(einsum_push(out, dots->dim[i], diag));
        }
        for (int c = 'A'; c <= 'z'; c++) {
            const char *first = strchr(equation, c);
            if (size[c] >= 0 && first != NULL && strchr(first + 1, c) == NULL) {
                VTA_TRY(einsum_push(out, size[c], diag));
            }
        }
        return VTA_OK;
    }
    for (const char *s = arrow + 2; *s != '\0'; s++) {
        if (strncmp(s, "...", 3) == 0) {
            for (uint32_t i = 0; i < dots->rank; i++) {
                VTA_TRY(einsum_push(out, dots->dim[i], diag));
            }
            s += 2;
        } else if (*s != ' ') {
            const unsigned char c = (unsigned char)*s;
            if (c > 'z' || size[c] < 0) {
                return vta_fail(diag, VTA_INVALID, "'%c' of the result occurs in no operand", *s);
            }
            VTA_TRY(einsum_push(out, size[c], diag));
        }
    }
    return VTA_OK;
}

vta_status vtac_infer_einsum(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const char *equation = vtac_attr_string(node, "equation", "");
    int64_t size[256];
    for (int i = 0; i < 256; i++) {
        size[i] = -1;
    }
    vtac_type dots = {.rank = 0};
    const char *at = equation;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_type *in;
        VTA_TRY(vtac_need_type(graph, node, i, &in, diag));
        out[0].dtype = in->dtype;
        VTA_TRY(einsum_term(&at, in, size, &dots, diag));
        const bool last = i + 1 == node->input_count;
        if ((*at == ',') == last) {
            return vta_fail(diag, VTA_INVALID, "equation '%s' does not have %u operands", equation,
                            node->input_count);
        }
        at += *at == ',';
    }
    out[0].rank = 0;
    return einsum_result(equation, strstr(equation, "->"), size, &dots, &out[0], diag);
}

/* X [seq, batch, input] (layout 1: batch first), W [directions, gates * hidden, input]; Y, Y_h, Y_c */
vta_status vtac_infer_rnn(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_type *x;
    const vtac_type *r;
    VTA_TRY(vtac_need_type(graph, node, 0, &x, diag));
    VTA_TRY(vtac_need_type(graph, node, 2, &r, diag));
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
    const vtac_type y = {.dtype = x->dtype, .rank = 4, .dim = {seq, directions, batch, hidden}};
    const vtac_type y_first = {.dtype = x->dtype, .rank = 4, .dim = {batch, seq, directions, hidden}};
    const vtac_type h = {.dtype = x->dtype, .rank = 3, .dim = {directions, batch, hidden}};
    const vtac_type h_first = {.dtype = x->dtype, .rank = 3, .dim = {batch, directions, hidden}};
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = i == 0 ? (batch_first ? y_first : y) : (batch_first ? h_first : h);
    }
    return VTA_OK;
}
