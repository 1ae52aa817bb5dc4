/* SPDX-License-Identifier: Apache-2.0 */
#include "recurrent.h"

#include <string.h>

#include "vta/fail.h"
#include "vtac/recurrence.h"

enum { RANK = 4 }; /* of Y: steps, directions, batch, hidden */

typedef struct states {
    vtac_graph *graph;
    vtac_node like; /* the recurrent layer */
    vta_diag *diag;
} states;

static vta_status add_node(const states *s, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                           const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    vtac_node_id id;
    const vtac_node_spec spec = {.op = op,
                                 .name = s->like.name,
                                 .origin = s->like.origin,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    VTA_TRY(vtac_add_node(s->graph, &spec, &id, s->diag));
    *out = s->graph->nodes[id].outputs[0];
    return VTA_OK;
}

static vta_status add_ints(const states *s, const int64_t *numbers, uint32_t count, vtac_value_id *out)
{
    int64_t *copy = vta_arena_array(&s->graph->arena, count, sizeof *copy);
    if (copy == NULL) {
        return vta_no_memory(s->diag);
    }
    memcpy(copy, numbers, count * sizeof *copy);
    const vtac_tensor tensor = {
        .type = {.dtype = VTAC_I64, .rank = 1, .dim = {count}}, .data = copy, .bytes = count * sizeof *copy};
    return vtac_add_constant(s->graph, "", &tensor, out, s->diag);
}

/* The last step of a direction: [1, batch, hidden]. */
static vta_status take_last(const states *s, vtac_value_id y, int64_t direction, vtac_value_id *out)
{
    const vtac_type type = s->graph->values[y].type;
    const bool reverse = direction == 1 || vtac_attr_string(&s->like, "direction", "forward")[0] == 'r';
    const int64_t step = reverse ? 0 : type.dim[0] - 1;
    vtac_value_id inputs[] = {y, 0, 0, 0};
    VTA_TRY(add_ints(s, (int64_t[]){step, direction}, 2, &inputs[1]));
    VTA_TRY(add_ints(s, (int64_t[]){step + 1, direction + 1}, 2, &inputs[2]));
    VTA_TRY(add_ints(s, (int64_t[]){0, 1}, 2, &inputs[3]));
    VTA_TRY(add_node(s, VTAC_OP_SLICE, inputs, RANK, NULL, 0, out));
    inputs[0] = *out;
    VTA_TRY(add_ints(s, (int64_t[]){1, type.dim[2], type.dim[3]}, RANK - 1, &inputs[1]));
    return add_node(s, VTAC_OP_RESHAPE, inputs, 2, NULL, 0, out);
}

static vta_status last_states(const states *s, vtac_value_id y, vtac_value_id *out)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 0};
    const int64_t directions = s->graph->values[y].type.dim[1];
    vtac_value_id parts[2] = {0, 0};
    for (int64_t d = 0; d < directions; d++) {
        VTA_TRY(take_last(s, y, d, &parts[d]));
    }
    *out = parts[0];
    return directions == 1 ? VTA_OK : add_node(s, VTAC_OP_CONCAT, parts, 2, &axis, 1, out);
}

static void replace(const states *s, vtac_value_id old, vtac_value_id now)
{
    if (old != 0) {
        vtac_swap_names(s->graph, old, now);
        vtac_replace_uses(s->graph, old, now);
    }
}

/* A layer with Y alone in the place of one that gives h, too. */
static vta_status take_states(const states *s)
{
    vtac_value_id y, h;
    VTA_TRY(
        add_node(s, s->like.op, s->like.inputs, s->like.input_count, s->like.attrs, s->like.attr_count, &y));
    VTA_TRY(last_states(s, y, &h));
    replace(s, s->like.outputs[0], y);
    replace(s, s->like.outputs[1], h);
    return VTA_OK;
}

static bool is_read(const vtac_graph *graph, const vtac_node *node, uint32_t i)
{
    const vtac_value *v = i < node->output_count ? &graph->values[node->outputs[i]] : NULL;
    return v != NULL && node->outputs[i] != 0 && v->node_uses + v->output_uses > 0;
}

vta_status vtac_quant_take_states(vtac_graph *graph, vta_diag *diag)
{
    bool any = false;
    for (uint32_t i = 0, count = graph->order_count; i < count; i++) {
        const vtac_node *node = &graph->nodes[graph->order[i]];
        if (vtac_recurrent_is_usual(graph, node) && is_read(graph, node, 1) && !is_read(graph, node, 2)) {
            const states s = {graph, *node, diag};
            any = true;
            VTA_TRY(take_states(&s));
        }
    }
    if (any) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    return VTA_OK;
}
