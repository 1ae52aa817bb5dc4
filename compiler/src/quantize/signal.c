/* SPDX-License-Identifier: Apache-2.0
 *
 * A transposed convolution of signals, [n, c, length], becomes one of images of one row: each list of its
 * attributes gets the row's entry in front, and Reshapes stand around it.
 */
#include <string.h>

#include "split.h"
#include "vta/fail.h"

enum { SIGNAL = 3, IMAGE = 4 };

bool vtac_is_transposed_signal(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_tensor *w =
        node->op == VTAC_OP_CONV_TRANSPOSE ? vtac_in_constant(graph, node, VTAC_CONV_WEIGHT) : NULL;
    const vtac_type *x = w == NULL ? NULL : vtac_in_type(graph, node, VTAC_CONV_X);
    return x != NULL && x->dtype == VTAC_F32 && w->type.dtype == VTAC_F32 && x->rank == SIGNAL &&
           w->type.rank == SIGNAL && vtac_type_elements(x) > 0 && vtac_type_elements(&w->type) > 0 &&
           vtac_attr_int(node, "group", 1) == 1;
}

/* The entry of an image's row in a list of the signal's: it is not padded, and everything else is 1. */
static int64_t entry_of_row(const vtac_attr *attr)
{
    return strcmp(attr->name, "pads") == 0 || strcmp(attr->name, "output_padding") == 0 ? 0 : 1;
}

/* A list with the row's entry in front of each of the signal's. */
static vta_status widen_list(const vtac_splitter *s, vtac_attr *attr)
{
    int64_t *list = vta_arena_array(&s->graph->arena, 2 * attr->count + 1, sizeof *list);
    if (list == NULL) {
        return vta_no_memory(s->diag);
    }
    for (size_t i = 0; i < attr->count; i++) {
        list[2 * i] = entry_of_row(attr);
        list[2 * i + 1] = attr->ints[i];
    }
    attr->ints = list;
    attr->count *= 2;
    return VTA_OK;
}

/* The weights as those of a window of one row. */
static vta_status reshape_weights(const vtac_splitter *s, vtac_value_id *out)
{
    vtac_tensor w = *vtac_in_constant(s->graph, &s->like, VTAC_CONV_WEIGHT);
    w.type = (vtac_type){
        .dtype = VTAC_F32, .rank = IMAGE, .dim = {w.type.dim[0], w.type.dim[1], 1, w.type.dim[2]}};
    return vtac_add_constant(s->graph, "", &w, out, s->diag);
}

vta_status vtac_split_signal(const vtac_splitter *s)
{
    const vtac_graph *g = s->graph;
    const vtac_node *n = &s->like;
    const vtac_type from = g->values[n->inputs[VTAC_CONV_X]].type, to = g->values[n->outputs[0]].type;
    const int64_t image[] = {from.dim[0], from.dim[1], 1, from.dim[2]};
    vtac_attr *attrs = vta_arena_array(&s->graph->arena, n->attr_count + (size_t)1, sizeof *attrs);
    vtac_value_id inputs[VTAC_CONV_INPUTS] = {n->inputs[VTAC_CONV_X]}, y;
    if (attrs == NULL) {
        return vta_no_memory(s->diag);
    }
    for (uint32_t i = 0; i < n->attr_count; i++) {
        attrs[i] = n->attrs[i];
        VTA_TRY(attrs[i].kind == VTAC_ATTR_INTS ? widen_list(s, &attrs[i]) : VTA_OK);
    }
    VTA_TRY(vtac_split_reshape(s, image, IMAGE, &inputs[VTAC_CONV_X]));
    VTA_TRY(reshape_weights(s, &inputs[VTAC_CONV_WEIGHT]));
    inputs[VTAC_CONV_BIAS] = n->input_count > VTAC_CONV_BIAS ? n->inputs[VTAC_CONV_BIAS] : 0;
    VTA_TRY(vtac_split_add(s, VTAC_OP_CONV_TRANSPOSE, inputs, inputs[VTAC_CONV_BIAS] == 0 ? 2 : 3, attrs,
                           n->attr_count, &y));
    VTA_TRY(vtac_split_reshape(s, to.dim, SIGNAL, &y));
    vtac_split_replace(s, y);
    return VTA_OK;
}
