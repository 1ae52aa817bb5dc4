/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator table, looked up by enum or by name, and the front of type inference.
 */
#include <string.h>

#include "infer.h"

enum { MANY = VTAC_MANY, C = VTAC_TRAIT_COMMUTES };
/* NOLINTBEGIN(readability-identifier-naming): as in ops.def */
static const char ONNX[] = "";
static const char MS[] = "com.microsoft";
static const char OURS[] = "vtac";
/* NOLINTEND(readability-identifier-naming) */

#define NAME(set, name)       #name,
#define VTAC_INPUTS(set, ...) static const char *const in_##set[] = {VTAC_EACH(NAME, set, __VA_ARGS__)};
#include "vtac/ops.def"

#define NAMED(set) in_##set, VTAC_##set##_INPUTS
static const vtac_op_info table[] = {
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, ...)                  \
    [VTAC_OP_##id] = {name, domain, since, in_min, in_max, out, NAMED(operands), vtac_infer_##infer, traits},
#include "vtac/ops.def"
};
_Static_assert(sizeof table / sizeof table[0] == VTAC_OP_COUNT, "one row per operator");

#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, ...)                                 \
    _Static_assert((in_max) == MANY || (int)(in_max) <= (int)VTAC_##operands##_INPUTS,                       \
                   "every input of " name " has a name");
#include "vtac/ops.def"

const vtac_op_info *vtac_op_get(vtac_op op)
{
    return &table[op];
}

vtac_op vtac_op_find(const char *domain, const char *name)
{
    if (strcmp(domain, "ai.onnx") == 0) {
        domain = ONNX;
    }
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0 && strcmp(table[i].domain, domain) == 0) {
            return (vtac_op)i;
        }
    }
    return VTAC_OP_COUNT;
}

bool vtac_op_is_internal(vtac_op op)
{
    return op < VTAC_OP_COUNT && table[op].domain == OURS;
}

static vta_status check_arity(const vtac_node *node, const vtac_op_info *op, vta_diag *diag)
{
    if (node->input_count < op->in_min || node->input_count > op->in_max) {
        return vta_fail(diag, VTA_INVALID, "%u inputs, expected %u to %u", node->input_count, op->in_min,
                        op->in_max);
    }
    if (node->output_count < 1 || node->output_count > op->out_max) {
        return vta_fail(diag, VTA_INVALID, "%u outputs, expected 1 to %u", node->output_count, op->out_max);
    }
    return VTA_OK;
}

vta_status vtac_infer(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag)
{
    const vtac_op_info *op = &table[node->op];
    vta_status status = check_arity(node, op, diag);
    if (status == VTA_OK) {
        status = vtac_check_params(graph, node, diag);
    }
    if (status == VTA_OK) {
        status = op->infer(graph, node, out, diag);
    }
    for (uint32_t i = 0; status == VTA_OK && i < node->output_count; i++) {
        char text[160];
        if (vtac_type_elements(&out[i]) < 0) {
            status = vta_fail(diag, VTA_RANGE, "output %u would be %s, which is too large", i,
                              vtac_type_text(&out[i], text, sizeof text));
        }
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "node '%s' (%s)", node->name, op->name);
    }
    return status;
}

vta_status vtac_need_type(const vtac_graph *graph, const vtac_node *node, uint32_t i, const vtac_type **type,
                          vta_diag *diag)
{
    *type = vtac_in_type(graph, node, i);
    return *type != NULL ? VTA_OK : vta_fail(diag, VTA_INVALID, "input %u is missing", i);
}

/* NOLINTNEXTLINE(readability-function-size): where the list goes takes three of the parameters */
vta_status vtac_need_ints(const vtac_graph *graph, const vtac_node *node, uint32_t i, const char *what,
                          int64_t *out, uint32_t room, uint32_t *count, vta_diag *diag)
{
    const vtac_tensor *tensor = vtac_in_constant(graph, node, i);
    if (tensor == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "%s (input %u) is not known at compile time; only static shapes compile", what, i);
    }
    const int64_t elements = vtac_type_elements(&tensor->type);
    if (vtac_dtype_kind(tensor->type.dtype) == 'f' || elements < 0 || elements > room) {
        return vta_fail(diag, VTA_INVALID, "%s (input %u) has %lld elements, expected at most %u integers",
                        what, i, (long long)elements, room);
    }
    for (int64_t k = 0; k < elements; k++) {
        out[k] = vtac_tensor_int(tensor, k);
    }
    *count = (uint32_t)elements;
    return VTA_OK;
}

vta_status vtac_axis(int64_t axis, uint32_t rank, uint32_t *out, vta_diag *diag)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank) {
        return vta_fail(diag, VTA_RANGE, "axis %lld is outside -%u ... %d", (long long)axis, rank,
                        (int)rank - 1);
    }
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return VTA_OK;
}

vta_status vtac_broadcast(const vtac_type *a, const vtac_type *b, vtac_type *out, vta_diag *diag)
{
    const uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    vtac_type result = {.dtype = a->dtype, .rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t x = i + a->rank >= rank ? a->dim[i + a->rank - rank] : 1;
        const int64_t y = i + b->rank >= rank ? b->dim[i + b->rank - rank] : 1;
        if (x != y && x != 1 && y != 1) {
            char ta[160];
            char tb[160];
            return vta_fail(diag, VTA_INVALID, "%s and %s do not broadcast", vtac_type_text(a, ta, sizeof ta),
                            vtac_type_text(b, tb, sizeof tb));
        }
        result.dim[i] = x == 1 ? y : x;
    }
    *out = result;
    return VTA_OK;
}

vta_status vtac_int_list(const vtac_node *node, const char *name, uint32_t count, int64_t otherwise,
                         int64_t *out, vta_diag *diag)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    if (attr == NULL || (attr->kind == VTAC_ATTR_INTS && attr->count == 0)) {
        for (uint32_t i = 0; i < count; i++) {
            out[i] = otherwise;
        }
        return VTA_OK;
    }
    if (attr->kind != VTAC_ATTR_INTS || attr->count != count) {
        return vta_fail(diag, VTA_INVALID, "attribute '%s' needs %u integers", name, count);
    }
    memcpy(out, attr->ints, count * sizeof *out);
    return VTA_OK;
}
