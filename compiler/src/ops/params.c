/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and shapes of inputs against the rows of ops.def.
 */
#include <math.h>
#include <string.h>

#include "infer.h"
#include "vtac/codegen.h"

enum { MANY = VTAC_MANY };

typedef struct shape_rule {
    enum { RULE_ANY, RULE_ONE, RULE_PER, RULE_ONE_OR, RULE_UNDER } kind;
    uint8_t input, axis;
} shape_rule;

typedef struct param {
    uint16_t first, last;
    const char *types;
    shape_rule shape;
} param;

#define ANY                                                                                                  \
    {                                                                                                        \
        RULE_ANY, 0, 0                                                                                       \
    }
#define ONE                                                                                                  \
    {                                                                                                        \
        RULE_ONE, 0, 0                                                                                       \
    }
#define PER(k, a)                                                                                            \
    {                                                                                                        \
        RULE_PER, k, a                                                                                       \
    }
#define ONE_OR(k, a)                                                                                         \
    {                                                                                                        \
        RULE_ONE_OR, k, a                                                                                    \
    }
#define UNDER                                                                                                \
    {                                                                                                        \
        RULE_UNDER, 0, 0                                                                                     \
    }
#define P(first, last, types, shape) {first, last, types, shape},
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    static const param params_##id[] = {__VA_ARGS__{0, 0, NULL, ANY}};
#include "vtac/ops.def"

/* Parameters by operator; each list ends with a row without types. */
static const param *const params[] = {
#define VTAC_OP(id, ...) [VTAC_OP_##id] = params_##id,
#include "vtac/ops.def"
};

/* Demands on the values of a constant stand behind the types of a row. */
static const char demands[] = "+/";

static bool type_fits(const char *types, vtac_dtype dtype, vtac_dtype first)
{
    if (strcspn(types, demands) == 0) {
        return true; /* any type */
    }
    for (; *types != '\0'; types++) {
        const bool fits = *types == 'q'   ? dtype == VTAC_I8 || dtype == VTAC_U8
                          : *types == 's' ? dtype == VTAC_F32
                          : *types == 'w' ? dtype == VTAC_I32
                          : *types == '=' ? dtype == first
                                          : *types == vtac_dtype_kind(dtype);
        if (fits) {
            return true;
        }
    }
    return false;
}

static const char *types_text(const char *types)
{
    static const struct {
        const char *types, *text;
    } rows[] = {{"f", "floats"},
                {"fiu", "numbers"},
                {"iu", "integers"},
                {"i", "signed integers"},
                {"b", "bool"},
                {"fiub", "numbers, bool"},
                {"q", "8-bit integers"},
                {"s", "f32"},
                {"fiubt", "numbers, bool, texts"},
                {"w", "i32"},
                {"=", "the type of input 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t size = strcspn(types, demands);
        if (strlen(rows[i].types) == size && strncmp(rows[i].types, types, size) == 0) {
            return rows[i].text;
        }
    }
    return types;
}

static bool broadcasts_under(const vtac_type *type, const vtac_type *to)
{
    vtac_type both;
    return vtac_broadcast(to, type, &both, NULL) == VTA_OK && vtac_type_equal(&both, to);
}

static bool shape_fits(const vtac_graph *graph, const vtac_node *node, const shape_rule *rule,
                       const vtac_type *type)
{
    const vtac_type *other = vtac_in_type(graph, node, rule->input);
    const int64_t count = vtac_type_elements(type);
    switch (rule->kind) {
    case RULE_ANY: return true;
    case RULE_ONE: return count == 1;
    case RULE_UNDER: return other != NULL && broadcasts_under(type, other);
    case RULE_PER:
    case RULE_ONE_OR: break;
    }
    return (rule->kind == RULE_ONE_OR && count == 1) ||
           (other != NULL && rule->axis < other->rank && type->rank == 1 && count == other->dim[rule->axis]);
}

/* The values of a constant, where the row asks for more than their types. */
static vta_status check_values(const vtac_graph *graph, const vtac_node *node, const param *p, uint32_t i,
                               vta_diag *diag)
{
    if (strchr(p->types, '/') != NULL) {
        return vtac_expect_divisor(graph, node, i, diag);
    }
    return strchr(p->types, '+') != NULL ? vtac_expect_scale(graph, node, i, diag) : VTA_OK;
}

static vta_status check_row(const vtac_graph *graph, const vtac_node *node, const param *p, vta_diag *diag)
{
    const vtac_type *first = vtac_in_type(graph, node, 0);
    for (uint32_t i = p->first; i < node->input_count && i <= p->last; i++) {
        const vtac_type *type = vtac_in_type(graph, node, i);
        char text[160];
        if (type == NULL) {
            continue;
        }
        if (!type_fits(p->types, type->dtype, first == NULL ? VTAC_NO_DTYPE : first->dtype)) {
            return vta_fail(diag, VTA_INVALID, "input %u is %s, expected %s", i, vtac_dtype_name(type->dtype),
                            types_text(p->types));
        }
        if (!shape_fits(graph, node, &p->shape, type)) {
            (void)vtac_type_text(type, text, sizeof text);
            return p->shape.kind == RULE_ONE
                       ? vta_fail(diag, VTA_INVALID, "input %u is %s, expected one element", i, text)
                   : p->shape.kind == RULE_UNDER
                       ? vta_fail(diag, VTA_INVALID, "input %u, %s, does not broadcast to input 0", i, text)
                       : vta_fail(diag, VTA_INVALID,
                                  "input %u is %s, expected %sas many elements as axis %u of input %u", i,
                                  text, p->shape.kind == RULE_ONE_OR ? "one or " : "", p->shape.axis,
                                  p->shape.input);
        }
        VTA_TRY(check_values(graph, node, p, i, diag));
    }
    return VTA_OK;
}

const char *vtac_op_types(vtac_op op)
{
    const param *p = params[op];
    return p->types == NULL || p->first != 0 ? "any" : types_text(p->types);
}

vta_status vtac_check_params(const vtac_graph *graph, const vtac_node *node, vta_diag *diag)
{
    for (const param *p = params[node->op]; p->types != NULL; p++) {
        VTA_TRY(check_row(graph, node, p, diag));
    }
    return VTA_OK;
}

vta_status vtac_expect_shape(const vtac_graph *graph, const vtac_node *node, uint32_t i, const char *what,
                             uint32_t rank, const int64_t *dim, vta_diag *diag)
{
    const vtac_type *type = vtac_in_type(graph, node, i);
    if (type == NULL) {
        return VTA_OK;
    }
    vtac_type wanted = {.dtype = type->dtype, .rank = rank};
    memcpy(wanted.dim, dim, rank * sizeof *dim);
    char a[160];
    char b[160];
    return vtac_type_equal(type, &wanted)
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "%s (input %u) is %s, expected %s", what, i,
                          vtac_type_text(type, a, sizeof a), vtac_type_text(&wanted, b, sizeof b));
}

vta_status vtac_expect_scale(const vtac_graph *graph, const vtac_node *node, uint32_t i, vta_diag *diag)
{
    const vtac_tensor *scale = vtac_in_constant(graph, node, i);
    const int64_t count = scale != NULL ? vtac_type_elements(&scale->type) : 0;
    for (int64_t k = 0; k < count; k++) {
        const double value = vtac_tensor_float(scale, k);
        if (!(value > 0.0) || !isfinite(value)) {
            return vta_fail(diag, VTA_INVALID,
                            "a scale (input %u, element %lld) is %g; a scale must be finite and above 0", i,
                            (long long)k, value);
        }
    }
    return VTA_OK;
}

vta_status vtac_expect_divisor(const vtac_graph *graph, const vtac_node *node, uint32_t i, vta_diag *diag)
{
    const vtac_tensor *divisor = vtac_in_constant(graph, node, i);
    if (divisor == NULL || vtac_dtype_kind(divisor->type.dtype) == 'f') {
        return VTA_OK;
    }
    const int64_t count = vtac_type_elements(&divisor->type);
    for (int64_t k = 0; k < count; k++) {
        if (vtac_tensor_int(divisor, k) == 0) {
            return vta_fail(diag, VTA_INVALID,
                            "it divides integers by 0 (input %u, element %lld); correct the model", i,
                            (long long)k);
        }
    }
    return VTA_OK;
}

/* The number of an axis or of places; below 0, counted from the end. */
static vta_status expect_index(int64_t index, int64_t places, int64_t element, uint32_t i, vta_diag *diag)
{
    return index >= -places && index < places
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE,
                          "index %lld (input %u, element %lld) is out of range: there are %lld places",
                          (long long)index, i, (long long)element, (long long)places);
}

vta_status vtac_expect_indices(const vtac_graph *graph, const vtac_node *node, uint32_t i,
                               const int64_t *places, uint32_t axes, vta_diag *diag)
{
    const vtac_tensor *indices = vtac_in_constant(graph, node, i);
    const int64_t count = indices != NULL ? vtac_type_elements(&indices->type) : 0;
    for (int64_t k = 0; k < count; k++) {
        VTA_TRY(expect_index(vtac_tensor_int(indices, k), places[k % axes], k, i, diag));
    }
    return VTA_OK;
}
