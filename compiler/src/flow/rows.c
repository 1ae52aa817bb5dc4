/* SPDX-License-Identifier: Apache-2.0
 *
 * A model whose rows do not meet as a loop over them: the graph is the model at a batch of one, all of it one
 * segment, and a Scan runs it for each row.
 */
#include <string.h>

#include "vta/fail.h"
#include "vtac/flow.h"

typedef struct row_loop {
    vtac_graph *graph;
    vtac_flow *flow;
    const vtac_flow_end *inputs;
    const char *const *outputs;
    const int *axis; /* of the graph's values */
    uint32_t whole, body;
} row_loop;

/* The open axis of an end; -1: it has none. */
static int open_axis(const vtac_flow_end *end)
{
    int axis = -1;
    for (int k = 0; k < end->rank; k++) {
        axis = end->dim[k] < 0 ? k : axis;
    }
    return axis;
}

/* An instruction that gives `from` the sizes `dim`, where -1 is what is left. */
static vta_status give_shape(row_loop *l, uint32_t block, uint32_t from, const int64_t *dim, uint32_t rank,
                             uint32_t *to, vta_diag *diag)
{
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    vta_status status = VTA_OK;
    *to = l->flow->slot_count++;
    VTA_TRY_OUT(vtac_flow_put_number(&d.inputs, from, diag));
    VTA_TRY_OUT(vtac_flow_put_number(&d.outputs, *to, diag));
    VTA_TRY_OUT(vtac_flow_put_word(&d.words, 1, diag)); /* allowzero: a size of 0 is 0 */
    VTA_TRY_OUT(vtac_flow_put_word(&d.words, rank, diag));
    for (uint32_t i = 0; i < rank; i++) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, dim[i], diag));
    }
    VTA_TRY_OUT(vtac_flow_append(l->graph, block, VTA_FLOW_RESHAPE, "rows", &d, diag));
out:
    vtac_flow_free_draft(&d);
    return status;
}

/* The inputs of the model; of those with the batch, a row of each in the body, where it has an axis of one.
 */
static vta_status add_inputs(row_loop *l, vtac_flow_draft *scan, vtac_flow_draft *run, vta_vec *rows,
                             vta_diag *diag)
{
    vtac_graph *graph = l->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const vtac_type *type = &graph->values[graph->inputs[i]].type;
        vtac_flow_end end = l->inputs[i];
        const int axis = open_axis(&end);
        end.kind = VTA_FLOW_TENSOR;
        end.name = vta_arena_string(&graph->arena, end.name, strlen(end.name));
        end.slot = l->flow->slot_count++;
        VTA_TRY(vta_allocated(end.name != NULL && vta_vec_push(&l->flow->inputs, &end) != NULL, diag));
        uint32_t slot = end.slot;
        if (axis >= 0) {
            const uint32_t row = l->flow->slot_count++;
            VTA_TRY(vtac_flow_put_number(&scan->inputs, end.slot, diag));
            VTA_TRY(vtac_flow_put_number(rows, row, diag));
            VTA_TRY(vtac_flow_put_word(&scan->words, axis, diag));
            VTA_TRY(give_shape(l, l->body, row, type->dim, type->rank, &slot, diag));
        }
        VTA_TRY(vtac_flow_put_number(&run->inputs, slot, diag));
    }
    return VTA_OK;
}

/* Instructions that refuse inputs with batches of several sizes. */
static vta_status expect_one_batch(const row_loop *l, const char *symbol, vta_diag *diag)
{
    vtac_flow_axis first = {.axis = -1};
    for (uint32_t i = 0; i < l->flow->inputs.count; i++) {
        const vtac_flow_end *end = vta_vec_at(&l->flow->inputs, i);
        const vtac_flow_axis here = {end->name, end->slot, open_axis(end)};
        if (here.axis >= 0 && first.axis >= 0) {
            VTA_TRY(vtac_flow_same_size(l->graph, l->whole, symbol, &first, &here, diag));
        }
        first = first.axis < 0 ? here : first;
    }
    return VTA_OK;
}

/* The segment: all of the graph. */
static vta_status add_segment(row_loop *l, vta_diag *diag)
{
    const vtac_graph *graph = l->graph;
    vtac_flow_segment segment = {{.item_size = sizeof(uint32_t)}, {.item_size = sizeof(uint32_t)}};
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        VTA_TRY_OUT(vtac_flow_put_number(&segment.inputs, i, diag));
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        VTA_TRY_OUT(vtac_flow_put_number(&segment.outputs, i, diag));
    }
    VTA_TRY_OUT(vta_allocated(vta_vec_push(&l->flow->segments, &segment) != NULL, diag));
    return VTA_OK;
out:
    vta_vec_free(&segment.inputs);
    vta_vec_free(&segment.outputs);
    return status;
}

/* The words of an output that no row has given: its type and its sizes. */
static vta_status put_none(const vtac_type *type, vta_vec *words, vta_diag *diag)
{
    VTA_TRY(vtac_flow_put_word(words, vtac_flow_type(type->dtype), diag));
    VTA_TRY(vtac_flow_put_word(words, type->rank, diag));
    for (uint32_t k = 0; k < VTAC_MAX_RANK; k++) {
        VTA_TRY(vtac_flow_put_word(words, k < type->rank ? type->dim[k] : 0, diag));
    }
    return VTA_OK;
}

static vta_status put_zeros(size_t count, vta_vec *words, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_flow_put_word(words, 0, diag));
    }
    return VTA_OK;
}

/* Words of a Scan behind the axes of its inputs: directions, axes of the outputs, their directions, the
 * outputs of no row. */
static vta_status put_scan_words(const row_loop *l, size_t scanned, vta_vec *words, vta_diag *diag)
{
    const vtac_graph *graph = l->graph;
    VTA_TRY(put_zeros(scanned, words, diag));
    for (uint32_t i = 0; i < graph->output_count; i++) {
        VTA_TRY(vtac_flow_put_word(words, l->axis[graph->outputs[i]], diag));
    }
    VTA_TRY(put_zeros(graph->output_count, words, diag));
    for (uint32_t i = 0; i < graph->output_count; i++) {
        VTA_TRY(put_none(&graph->values[graph->outputs[i]].type, words, diag));
    }
    return VTA_OK;
}

/* The outputs of the model: what the Scan has gathered along a new axis, in front of the batch's places in a
 * row, made one with these. */
static vta_status add_outputs(row_loop *l, const vta_vec *gathered, vta_diag *diag)
{
    vtac_graph *graph = l->graph;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const vtac_value *value = &graph->values[graph->outputs[i]];
        const char *name = l->outputs != NULL ? l->outputs[i] : value->name;
        vtac_flow_end end = {.name = vta_arena_string(&graph->arena, name, strlen(name)),
                             .kind = VTA_FLOW_TENSOR,
                             .dtype = value->type.dtype,
                             .rank = (int32_t)value->type.rank};
        memcpy(end.dim, value->type.dim, sizeof end.dim);
        end.dim[l->axis[graph->outputs[i]]] = -1;
        VTA_TRY(give_shape(l, l->whole, *(uint32_t *)vta_vec_at(gathered, i), end.dim, value->type.rank,
                           &end.slot, diag));
        VTA_TRY(vta_allocated(end.name != NULL && vta_vec_push(&l->flow->outputs, &end) != NULL, diag));
    }
    return VTA_OK;
}

static vta_status set_body(const row_loop *l, const vta_vec *rows, const vta_vec *results, vta_diag *diag)
{
    vtac_flow_block *body = vta_vec_at(&l->flow->blocks, l->body);
    body->input_count = (uint32_t)rows->count;
    body->output_count = (uint32_t)results->count;
    body->inputs = vtac_flow_keep(l->graph, rows->items, rows->count * sizeof(uint32_t));
    body->outputs = vtac_flow_keep(l->graph, results->items, results->count * sizeof(uint32_t));
    return vta_allocated(body->inputs != NULL && body->outputs != NULL, diag);
}

/* The instructions: in the body the segment, in the model the Scan and what follows. */
static vta_status give_loop(row_loop *l, vtac_flow_draft *scan, vtac_flow_draft *run, const vta_vec *rows,
                            vta_diag *diag)
{
    VTA_TRY(put_scan_words(l, rows->count, &scan->words, diag));
    for (uint32_t i = 0; i < l->graph->output_count; i++) {
        VTA_TRY(vtac_flow_put_number(&run->outputs, l->flow->slot_count++, diag));
        VTA_TRY(vtac_flow_put_number(&scan->outputs, l->flow->slot_count++, diag));
    }
    VTA_TRY(set_body(l, rows, &run->outputs, diag));
    VTA_TRY(vtac_flow_append(l->graph, l->body, VTA_FLOW_RUN, "", run, diag));
    VTA_TRY(vtac_flow_append(l->graph, l->whole, VTA_FLOW_SCAN, "rows", scan, diag));
    return add_outputs(l, &scan->outputs, diag);
}

/* The blocks, the segment, and the first words of what runs them. */
static vta_status begin_loop(row_loop *l, vtac_flow_draft *scan, vtac_flow_draft *run, vta_diag *diag)
{
    VTA_TRY(vtac_flow_add_block(l->graph, &l->whole, diag));
    VTA_TRY(vtac_flow_add_block(l->graph, &l->body, diag));
    VTA_TRY(add_segment(l, diag));
    VTA_TRY(vtac_flow_put_word(&run->words, 0, diag)); /* the segment's number */
    VTA_TRY(vtac_flow_put_word(&scan->words, l->body, diag));
    return vtac_flow_put_word(&scan->words, 0, diag); /* how many inputs have rows: build_loop */
}

static vta_status build_loop(row_loop *l, vtac_flow_draft *scan, vtac_flow_draft *run, const char *symbol,
                             vta_diag *diag)
{
    vta_vec rows = {.item_size = sizeof(uint32_t)};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(begin_loop(l, scan, run, diag));
    VTA_TRY_OUT(add_inputs(l, scan, run, &rows, diag));
    *(int64_t *)vta_vec_at(&scan->words, 1) = (int64_t)rows.count;
    VTA_TRY_OUT(expect_one_batch(l, symbol, diag));
    VTA_TRY_OUT(give_loop(l, scan, run, &rows, diag));
out:
    vta_vec_free(&rows);
    return status;
}

vta_status vtac_loop_rows(vtac_graph *graph, const vtac_flow_end *inputs, const char *const *outputs,
                          const char *symbol, const int *axis, vta_diag *diag)
{
    row_loop l = {graph, vtac_flow_create(), inputs, outputs, axis, 0, 0};
    vtac_flow_draft scan = VTAC_FLOW_DRAFT, run = VTAC_FLOW_DRAFT;
    graph->flow = l.flow;
    VTA_TRY(vta_allocated(l.flow != NULL, diag));
    l.flow->by_rows = true;
    const vta_status status = build_loop(&l, &scan, &run, symbol, diag);
    vtac_flow_free_draft(&scan);
    vtac_flow_free_draft(&run);
    return status;
}
