/* SPDX-License-Identifier: Apache-2.0
 *
 * The work on the accelerator, and what is left to the host, by operator. Conversions at the model's border,
 * of its inputs and outputs between floats, half floats and integers, count on neither side: no other place
 * can do them.
 */
#include <stdlib.h>

#include "partition.h"

/* True for a conversion between floats of different widths. */
static bool converts_floats(const vtac_graph *graph, const vtac_node *node)
{
    return node->op == VTAC_OP_CAST && vtac_dtype_kind(vtac_in_type(graph, node, 0)->dtype) == 'f' &&
           vtac_dtype_kind(graph->values[node->outputs[0]].type.dtype) == 'f';
}

/* True if a value is an input of the model, seen through nodes that only reorder its elements or convert
 * floats. */
static bool comes_from_outside(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(graph, value);
    for (; node != NULL && (vtac_is_reshaping(node) || converts_floats(graph, node));
         node = vtac_producer_of(graph, value)) {
        value = node->inputs[0];
    }
    return node == NULL && graph->values[value].constant == NULL;
}

/* True if all readers of a value only reorder its elements, convert floats, or put them beside others, for
 * outputs of the model. */
static bool goes_outside(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    bool outside = v->output_uses > 0 || v->user_count > 0;
    for (uint32_t i = 0; i < v->user_count && outside; i++) {
        const vtac_node *node = &graph->nodes[v->users[i]];
        outside = node->dead ||
                  ((vtac_is_reshaping(node) || node->op == VTAC_OP_CONCAT || converts_floats(graph, node)) &&
                   goes_outside(graph, node->outputs[0]));
    }
    return outside;
}

bool vtac_is_model_border(const vtac_graph *graph, const vtac_node *node)
{
    const bool to_bytes = node->op == VTAC_OP_QUANTIZE_LINEAR || node->op == VTAC_OP_STATE_BYTES;
    const bool looks_up =
        node->op == VTAC_OP_LOOK_UP && vtac_dtype_kind(graph->values[node->outputs[0]].type.dtype) == 'f';
    const bool to_floats =
        node->op == VTAC_OP_DEQUANTIZE_LINEAR || node->op == VTAC_OP_STATE_FLOATS || looks_up;
    const bool casts = converts_floats(graph, node);
    return ((to_bytes || casts) && comes_from_outside(graph, node->inputs[0])) ||
           ((to_floats || casts) && goes_outside(graph, node->outputs[0]));
}

static int compare_left(const void *a, const void *b)
{
    const vtac_left *x = a;
    const vtac_left *y = b;
    return (x->share < y->share) - (x->share > y->share);
}

/* Adds a node that stays on the host to its operator's row, whose reason is that of its dearest node. */
static void add_left(vtac_left *row, const vtac_placement *place, double *max)
{
    row->op = place->op;
    row->nodes++;
    row->share += place->host_cycles;
    if (row->reason == NULL || place->host_cycles > *max) {
        row->reason = place->reason;
        *max = place->host_cycles;
    }
}

double vtac_partition_share(const vtac_partition *p, vtac_left left[VTAC_OP_COUNT], uint32_t *count)
{
    double here = 0.0;
    double all = 0.0;
    double max[VTAC_OP_COUNT] = {0};
    vtac_left rows[VTAC_OP_COUNT] = {0};
    for (uint32_t i = 1; i < p->place_count; i++) {
        const vtac_placement *place = &p->places[i];
        all += place->border ? 0.0 : place->host_cycles;
        here += place->kind == VTAC_PLACE_ACCELERATOR ? place->host_cycles : 0.0;
        if (place->kind == VTAC_PLACE_HOST && !place->border && place->host_cycles > 0.0) {
            add_left(&rows[place->op], place, &max[place->op]);
        }
    }
    *count = 0;
    for (uint32_t op = 0; op < VTAC_OP_COUNT; op++) {
        if (rows[op].nodes > 0) {
            left[*count] = rows[op];
            left[(*count)++].share /= all;
        }
    }
    qsort(left, *count, sizeof *left, compare_left);
    return all > 0.0 ? here / all : 0.0;
}
