/* SPDX-License-Identifier: Apache-2.0
 *
 * Which lowering each operator has.
 */
#include "lower.h"
#include "point.h"

#define EXPR(op)         .family = VTAC_POINTWISE, .point = vtac_point_expr, .expr = VTAC_E_##op, .limits = ""
#define UNARY(fn)        .family = VTAC_POINTWISE, .point = vtac_point_unary, .unary = vtac_unary_##fn, .limits = ""
#define POINT(fn)        .family = VTAC_POINTWISE, .point = vtac_point_##fn, .limits = ""
#define MAP(fn)          .family = VTAC_MAPPED, .point = vtac_map_##fn, .limits = ""
#define CUSTOM(fn, text) .family = VTAC_CUSTOM, .custom = vtac_lower_##fn, .limits = text
#define SOLO(fn, text)   .family = VTAC_CUSTOM, .custom = vtac_lower_##fn, .limits = text, .solo = true
#define ALIAS            .family = VTAC_ALIAS, .limits = ""
#define FOLDED(text)     .family = VTAC_NOT_LOWERED, .limits = text
static const vtac_lowering table[VTAC_OP_COUNT] = {
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    [VTAC_OP_##id] = {lowering},
#include "vtac/ops.def"
};

const vtac_lowering *vtac_lowering_of(vtac_op op)
{
    return &table[op];
}

const char *vtac_op_limits(vtac_op op)
{
    return table[op].limits;
}

bool vtac_takes_chain(const vtac_node *node)
{
    const vtac_lowering *row = &table[node->op];
    return row->family != VTAC_ALIAS && row->family != VTAC_NOT_LOWERED && !row->solo;
}

bool vtac_is_pointwise(vtac_op op)
{
    return table[op].family == VTAC_POINTWISE;
}
