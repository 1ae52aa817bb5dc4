/* SPDX-License-Identifier: Apache-2.0
 *
 * Which lowering each operator has. An operator without a row is refused by name.
 */
#include "lower.h"
#include "point.h"

static const vtac_lowering table[VTAC_OP_COUNT] = {
#define POINT(id, fn) [VTAC_OP_##id] = {.family = VTAC_POINTWISE, .point = vtac_point_##fn, .limits = ""},
#define MAP(id, fn)   [VTAC_OP_##id] = {.family = VTAC_MAPPED, .point = vtac_map_##fn, .limits = ""},
#define CUSTOM(id, fn, text)                                                                                 \
    [VTAC_OP_##id] = {.family = VTAC_CUSTOM, .custom = vtac_lower_##fn, .limits = text},
#define SOLO(id, fn, text)                                                                                   \
    [VTAC_OP_##id] = {.family = VTAC_CUSTOM, .custom = vtac_lower_##fn, .limits = text, .solo = true},
#define ALIAS(id)        [VTAC_OP_##id] = {.family = VTAC_ALIAS, .limits = ""},
#define FOLDED(id, text) [VTAC_OP_##id] = {.family = VTAC_NOT_LOWERED, .limits = text},
#include "lower.def"
};

const vtac_lowering *vtac_lowering_of(vtac_op op)
{
    return &table[op];
}

const char *vtac_op_limits(vtac_op op)
{
    return table[op].limits; /* NULL where there is no row */
}

bool vtac_takes_chain(const vtac_node *node)
{
    const vtac_lowering *row = &table[node->op];
    return row->family != VTAC_ALIAS && row->family != VTAC_NOT_LOWERED && !row->solo;
}
