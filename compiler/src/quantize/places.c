/* SPDX-License-Identifier: Apache-2.0
 *
 * The mean place under a map of shares, as networks that find points have it (soft-argmax): for each axis of
 * the map, the sum over the other one, times the place, summed; the results stand side by side. All of them
 * become one product of the map with a matrix that has a column of places for each.
 */
#include "split.h"

#include <string.h>

#include "vta/fail.h"

enum { MAP = 4, MAX_PLACES = 4, MAX_PIXELS = 1 << 16 };

static const vtac_node *maker_of(const vtac_graph *g, vtac_value_id value, vtac_op op)
{
    const vtac_node_id id = value == 0 ? 0 : g->values[value].node;
    return id != 0 && g->nodes[id].op == op ? &g->nodes[id] : NULL;
}

/* The one axis that a sum goes over, counted from the first; -1: it has others, or is given in an order. */
static int64_t axis_of_sum(const vtac_graph *g, const vtac_node *sum)
{
    const vtac_tensor *axes = vtac_in_constant(g, sum, VTAC_REDUCE_AXES);
    if (axes == NULL || vtac_type_elements(&axes->type) != 1 || vtac_attr_int(sum, "in_order", 0) != 0) {
        return -1;
    }
    const int64_t axis = vtac_tensor_int(axes, 0);
    return axis < 0 ? axis + vtac_in_type(g, sum, VTAC_REDUCE_X)->rank : axis;
}

/* A mean place along an axis of a map. */
typedef struct mean_place {
    vtac_value_id map;
    const vtac_tensor *places; /* as many as the axis has */
    bool across;               /* along the last axis; else along the one before */
} mean_place;

/* Reads a sum over one axis of a map, whose other one stays last. */
static bool read_inner(const vtac_graph *g, vtac_value_id value, mean_place *p)
{
    const vtac_node *sum = maker_of(g, value, VTAC_OP_REDUCE_SUM);
    const vtac_type *map = sum == NULL ? NULL : vtac_in_type(g, sum, VTAC_REDUCE_X);
    if (map == NULL || map->rank != MAP || map->dtype != VTAC_F32 || vtac_attr_int(sum, "keepdims", 1) != 0) {
        return false;
    }
    const int64_t axis = axis_of_sum(g, sum);
    p->map = sum->inputs[VTAC_REDUCE_X];
    p->across = axis == MAP - 2;
    return p->across || axis == MAP - 1;
}

/* Reads the sum of such a sum times its places, behind what only changes its shape. */
static bool read_place(const vtac_graph *g, vtac_value_id value, mean_place *p)
{
    const vtac_node *shape = maker_of(g, value, VTAC_OP_RESHAPE);
    const vtac_node *sum = maker_of(g, shape != NULL ? shape->inputs[0] : value, VTAC_OP_REDUCE_SUM);
    const vtac_type *x = sum == NULL ? NULL : vtac_in_type(g, sum, VTAC_REDUCE_X);
    const vtac_node *mul = sum == NULL ? NULL : maker_of(g, sum->inputs[VTAC_REDUCE_X], VTAC_OP_MUL);
    bool good = false;
    for (uint32_t i = 0; mul != NULL && x->rank == MAP - 1 && axis_of_sum(g, sum) == MAP - 2 && i < 2; i++) {
        p->places = vtac_in_constant(g, mul, i);
        good = good || (p->places != NULL && vtac_type_elements(&p->places->type) == x->dim[MAP - 2] &&
                        p->places->type.rank > 0 &&
                        p->places->type.dim[p->places->type.rank - 1] == x->dim[MAP - 2] &&
                        read_inner(g, mul->inputs[1 - i], p));
        if (good) {
            break;
        }
    }
    return good;
}

/* The places that stand side by side in a node, all of one map; returns how many, 0: it is no such node. */
static uint32_t read_places(const vtac_graph *g, const vtac_node *node, mean_place places[MAX_PLACES])
{
    const vtac_type *y = &g->values[node->outputs[0]].type;
    const int64_t axis = vtac_attr_int(node, "axis", 0);
    if (node->op != VTAC_OP_CONCAT || node->input_count < 1 || node->input_count > MAX_PLACES ||
        y->rank != MAP - 1 || (axis != -1 && axis != MAP - 2) || y->dim[MAP - 2] != node->input_count) {
        return 0;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!read_place(g, node->inputs[i], &places[i]) || places[i].map != places[0].map) {
            return 0;
        }
    }
    const vtac_type *map = &g->values[places[0].map].type;
    return map->dim[0] == y->dim[0] && map->dim[1] == y->dim[1] && map->dim[2] * map->dim[3] <= MAX_PIXELS
               ? node->input_count
               : 0;
}

bool vtac_is_mean_place(const vtac_graph *graph, const vtac_node *node)
{
    mean_place places[MAX_PLACES];
    return read_places(graph, node, places) > 0;
}

/* [pixels, count]: the place of each pixel along the axis of each column. */
static vta_status add_columns(const vtac_splitter *s, const mean_place *places, uint32_t count,
                              const vtac_type *map, vtac_value_id *out)
{
    const int64_t rows = map->dim[2], columns = map->dim[3], pixels = rows * columns;
    float *data = vta_arena_array(&s->graph->arena, (size_t)(pixels * count) + 1, sizeof *data);
    if (data == NULL) {
        return vta_no_memory(s->diag);
    }
    for (int64_t i = 0; i < pixels * count; i++) {
        const mean_place *p = &places[i % count];
        const int64_t pixel = i / count;
        data[i] = (float)vtac_tensor_float(p->places, p->across ? pixel % columns : pixel / columns);
    }
    const vtac_tensor tensor = {.type = {.dtype = VTAC_F32, .rank = 2, .dim = {pixels, count}},
                                .data = data,
                                .bytes = (size_t)(pixels * count) * sizeof *data};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

vta_status vtac_split_mean_place(const vtac_splitter *s)
{
    mean_place places[MAX_PLACES] = {0};
    const uint32_t count = read_places(s->graph, &s->like, places);
    if (count == 0) {
        return VTA_OK;
    }
    const vtac_type map = s->graph->values[places[0].map].type;
    const int64_t flat[] = {map.dim[0], map.dim[1], map.dim[2] * map.dim[3]};
    vtac_value_id product[2] = {places[0].map};
    vtac_value_id y;
    VTA_TRY(add_columns(s, places, count, &map, &product[1]));
    VTA_TRY(vtac_split_reshape(s, flat, MAP - 1, &product[0]));
    VTA_TRY(vtac_split_add(s, VTAC_OP_MATMUL, product, 2, NULL, 0, &y));
    vtac_split_replace(s, y);
    return VTA_OK;
}
