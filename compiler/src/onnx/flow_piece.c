/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointwise operators on tensors of any size: a segment that takes a piece of them.
 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/codegen.h"

enum { PIECE = 1024 };

/* Operators whose inputs behind the first are parameters of one element. */
static bool has_parameters(const Onnx__NodeProto *node)
{
    return vtac_flow_is(node, "Clip") || vtac_flow_is(node, "QuantizeLinear") ||
           vtac_flow_is(node, "DequantizeLinear");
}

/* Input i of the piece: a known number, a parameter, or PIECE elements. `mark`: it is whole. */
static vta_status piece_input(vtac_flow_builder *b, const vtac_flow_node *item, size_t i, vtac_value_id *out,
                              int64_t *mark, int64_t *min_rank, vta_diag *diag)
{
    uint32_t number;
    uint32_t slot = 0;
    (void)vtac_flow_find(&item->at, item->node->input[i], &number);
    *mark = -1; /* no input of the segment */
    *out = 0;
    if (number == 0) {
        return VTA_OK;
    }
    const vtac_flow_value v = *vtac_flow_at(b, number);
    if (v.kind != VTA_FLOW_TENSOR) {
        return vta_fail(diag, VTA_UNSUPPORTED, "its input %zu is no tensor", i);
    }
    if (vtac_flow_is_type_alone(item->node, i)) {
        return vtac_flow_stand_in(b, v.dtype, out, diag);
    }
    if (v.constant != 0 && vtac_type_elements(&v.type) == 1) {
        vtac_tensor one = *b->im->graph->values[v.constant].constant;
        *min_rank = one.type.rank > *min_rank ? one.type.rank : *min_rank;
        one.type.rank = 0;
        return vtac_add_constant(b->im->graph, NULL, &one, out, diag);
    }
    *mark = i > 0 && has_parameters(item->node);
    const vtac_type type = {v.dtype, *mark != 0 ? 0 : 1, {PIECE}};
    VTA_TRY(vtac_flow_slot(b, number, &slot, diag));
    return vtac_flow_segment_input(b, slot, &type, out, diag);
}

static vta_status refuse_size(vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "the size of an input is known only at run time, which this operator does not take; give "
                    "fixed sizes (--shape)");
}

static vta_status piece_inputs(vtac_flow_builder *b, const vtac_flow_node *item, vtac_scope *scope,
                               vtac_flow_draft *d, vta_diag *diag)
{
    int64_t min_rank = 0;
    int64_t marks[32];
    if (item->node->n_input > 32) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it has more than 32 inputs of a size that is known only at run time");
    }
    for (size_t i = 0; i < item->node->n_input; i++) {
        vtac_value_id id;
        char *name = vta_arena_alloc(&b->im->graph->arena, 16);
        VTA_TRY(piece_input(b, item, i, &id, &marks[i], &min_rank, diag));
        if (name == NULL) {
            return vtac_flow_no_memory(diag);
        }
        VTA_TRY(vtac_scope_set(scope, vtac_proto_text(item->node->input[i]), id, diag));
    }
    VTA_TRY(vtac_flow_put_word(&d->words, (int64_t)b->flow->segments.count, diag));
    VTA_TRY(vtac_flow_put_word(&d->words, PIECE, diag));
    VTA_TRY(vtac_flow_put_word(&d->words, min_rank, diag));
    for (size_t i = 0; i < item->node->n_input; i++) {
        VTA_TRY(marks[i] >= 0 ? vtac_flow_put_word(&d->words, marks[i], diag) : VTA_OK);
    }
    return VTA_OK;
}

static vta_status import_piece(vtac_flow_work *w, const vtac_flow_node *item, vtac_scope *scope,
                               vtac_flow_draft *d, vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    VTA_TRY(piece_inputs(b, item, scope, d, diag));
    vtac_import_place at = item->at;
    at.scope = scope;
    b->im->origin = item->origin;
    Onnx__NodeProto *nodes[] = {item->node};
    vta_diag why = {0}; /* it speaks of a piece, of which the model knows nothing */
    const vta_status status = vtac_import_nodes(b->im, &at, nodes, 1, &why);
    if (status == VTA_INVALID || status == VTA_UNSUPPORTED || status == VTA_RANGE) {
        return refuse_size(diag);
    }
    if (status != VTA_OK) {
        *diag = why;
    }
    return status;
}

static vta_status check_piece(const vtac_graph *graph, uint32_t first_node, vta_diag *diag)
{
    for (vtac_node_id id = first_node + 1; id <= graph->node_count; id++) {
        if (!graph->nodes[id].dead && !vtac_is_pointwise(graph->nodes[id].op)) {
            return refuse_size(diag);
        }
    }
    return VTA_OK;
}

static vta_status piece_output(vtac_flow_builder *b, const vtac_flow_node *item, size_t i,
                               const vtac_scope *scope, vta_vec *numbers, vtac_flow_draft *d, vta_diag *diag)
{
    vtac_graph *graph = b->im->graph;
    vtac_value_id id = 0;
    vtac_type row;
    const char *output = vtac_proto_text(item->node->output[i]);
    if (output[0] == '\0') {
        return VTA_OK;
    }
    (void)vtac_scope_get(scope, output, &id);
    const vtac_type type = graph->values[id].type;
    if (id == 0 || type.rank != 1 || type.dim[0] != PIECE) {
        return vta_fail(diag, VTA_UNSUPPORTED, "its output does not follow the size of its inputs");
    }
    VTA_TRY(vtac_add_output(graph, id, diag));
    VTA_TRY(vtac_flow_put_number(numbers, graph->output_count - 1, diag));
    VTA_TRY(vtac_flow_add_output(b, item, i, VTA_FLOW_TENSOR, type.dtype, NULL, &d->outputs, diag));
    if (item->node->n_input == 1 && vtac_flow_row_type(b, item, 0, &row)) {
        row.dtype = type.dtype;
        vtac_flow_set_row(b, item, i, &row);
    }
    return VTA_OK;
}

vta_status vtac_flow_give_piece(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    vtac_graph *graph = b->im->graph;
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    vta_vec numbers = {.item_size = sizeof(uint32_t)};
    vtac_scope scope = {.outer = NULL};
    const uint32_t first_node = graph->node_count;
    const char *name = vtac_proto_text(item->node->name);
    vtac_flow_open_segment(b);
    vta_status status = VTA_OK;
    VTA_TRY_OUT(import_piece(w, item, &scope, &d, diag));
    VTA_TRY_OUT(check_piece(graph, first_node, diag));
    for (size_t i = 0; i < item->node->n_output; i++) {
        VTA_TRY_OUT(piece_output(b, item, i, &scope, &numbers, &d, diag));
    }
    name = name[0] == '\0' ? vtac_proto_text(item->node->output[0]) : name;
    VTA_TRY_OUT(vtac_flow_finish_segment(b, w->block, VTA_FLOW_MAP, name, &d, &numbers, diag));
out:
    b->segment = 0;
    vta_vec_free(&numbers);
    free(scope.slots);
    vtac_flow_free_draft(&d);
    return status;
}
