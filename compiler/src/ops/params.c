/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and shapes of inputs against the rows of ops.def.
 */
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
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, infer, traits, fold, lowering, ...)            \
    static const param params_##id[] = {__VA_ARGS__{0, 0, NULL, ANY}};
#include "vtac/ops.def"

/* By operator; each list ends with a row without types. */
static const param *const params[] = {
#define VTAC_OP(id, ...) [VTAC_OP_##id] = params_##id,
#include "vtac/ops.def"
};

static bool type_fits(const char *types, vtac_dtype dtype, vtac_dtype first)
{
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
        if (strcmp(rows[i].types, types) == 0) {
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
