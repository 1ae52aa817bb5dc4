/* SPDX-License-Identifier: Apache-2.0
 *
 * A model whose rows do not meet (batch.h) as a loop over them: the graph is the model at a batch of one, all
 * of it one segment, and a Scan runs it for each row.
 */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "flow.h"
#include "vta/fail.h"

/* A batch of this size stands for all that are larger than one: a prime, so that no other size of a network
 * is taken for it. */
enum { MANY_ROWS = 13 };

typedef struct batch_ends {
    vtac_flow_end *ends;        /* inputs of the model, in its order */
    vtac_shape_option *options; /* their sizes at one batch */
    int *axis;                  /* the open axis of each; -1: it has none */
    uint32_t count;
    const char *symbol; /* of the open size; NULL: it has none */
} batch_ends;

/* ---- the inputs */

/* The axis of an input that is open, and its name. *is_batch is false where several are. */
static void find_open(batch_ends *e, const Onnx__ValueInfoProto *info, uint32_t at, uint32_t *open,
                      bool *is_batch)
{
    const vtac_flow_end *end = &e->ends[at];
    e->axis[at] = -1;
    *is_batch = *is_batch && end->rank >= 0;
    for (int32_t k = 0; k < end->rank; k++) {
        if (end->dim[k] >= 0) {
            continue;
        }
        const Onnx__TensorShapeProto__Dimension *dim = info->type->tensor_type->shape->dim[k];
        const char *symbol = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                                 ? vtac_proto_text(dim->dim_param)
                                 : "";
        const bool same = *open == 0 || (symbol[0] != '\0' && strcmp(symbol, e->symbol) == 0);
        *is_batch = *is_batch && same && e->axis[at] < 0;
        e->axis[at] = k;
        e->symbol = symbol;
        ++*open;
    }
}

/* Sizes of all inputs, the open one as `rows`. */
static void set_rows(batch_ends *e, int64_t rows)
{
    for (uint32_t i = 0; i < e->count; i++) {
        e->options[i] = (vtac_shape_option){.name = e->ends[i].name, .rank = (uint32_t)e->ends[i].rank};
        for (int32_t k = 0; k < e->ends[i].rank; k++) {
            e->options[i].dim[k] = k == e->axis[i] ? rows : e->ends[i].dim[k];
        }
    }
}

static bool has_shape(const Onnx__ValueInfoProto *info)
{
    return info->type != NULL && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
           info->type->tensor_type->shape != NULL &&
           info->type->tensor_type->elem_type != ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
}

/* Reads the inputs; *is_batch: one size is open, in one axis of each input that has it. */
static vta_status find_inputs(const vtac_importer *im, const vtac_scope *weights, batch_ends *e,
                              bool *is_batch, vta_diag *diag)
{
    const Onnx__GraphProto *graph = im->model->graph;
    uint32_t open = 0;
    *is_batch = true;
    for (size_t i = 0; i < graph->n_input && *is_batch; i++) {
        vtac_value_id known;
        vtac_flow_end end = {.name = vtac_proto_text(graph->input[i]->name)};
        if (vtac_scope_get(weights, end.name, &known)) {
            continue;
        }
        *is_batch = has_shape(graph->input[i]);
        if (*is_batch) {
            VTA_TRY(vtac_import_input(im, graph->input[i], &end, diag));
            e->ends[e->count] = end;
            find_open(e, graph->input[i], e->count++, &open, is_batch);
        }
    }
    *is_batch = *is_batch && open > 0;
    return VTA_OK;
}

/* ---- the loop */

typedef struct batch_loop {
    vtac_flow_builder b; /* im and flow alone */
    const batch_ends *ends;
    const int *axis; /* of the graph's values */
    uint32_t whole, body;
} batch_loop;

static vta_status give_draft(batch_loop *l, uint32_t block, vta_flow_op op, vtac_flow_draft *d,
                             vta_diag *diag)
{
    const vta_status status =
        vtac_flow_give(&l->b, block, op, "rows", &d->inputs, &d->outputs, &d->words, diag);
    vtac_flow_free_draft(d);
    return status;
}

/* An instruction that gives `from` the sizes `dim`, where -1 is what is left. */
static vta_status give_shape(batch_loop *l, uint32_t block, uint32_t from, const int64_t *dim, uint32_t rank,
                             uint32_t *to, vta_diag *diag)
{
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    vta_status status = VTA_OK;
    *to = l->b.flow->slot_count++;
    VTA_TRY_OUT(vtac_flow_put_number(&d.inputs, from, diag));
    VTA_TRY_OUT(vtac_flow_put_number(&d.outputs, *to, diag));
    VTA_TRY_OUT(vtac_flow_put_word(&d.words, 1, diag)); /* allowzero: a size of 0 is 0 */
    VTA_TRY_OUT(vtac_flow_put_word(&d.words, rank, diag));
    for (uint32_t i = 0; i < rank; i++) {
        VTA_TRY_OUT(vtac_flow_put_word(&d.words, dim[i], diag));
    }
    return give_draft(l, block, VTA_FLOW_RESHAPE, &d, diag);
out:
    vtac_flow_free_draft(&d);
    return status;
}

/* The inputs of the model; of those with the batch, a row of each in the body, where it has an axis of one.
 */
static vta_status add_inputs(batch_loop *l, vtac_flow_draft *scan, vtac_flow_draft *run, vta_vec *rows,
                             vta_diag *diag)
{
    vtac_graph *graph = l->b.im->graph;
    for (uint32_t i = 0; i < l->ends->count; i++) {
        const vtac_type *type = &graph->values[graph->inputs[i]].type;
        vtac_flow_end end = l->ends->ends[i];
        end.name = vta_arena_string(&graph->arena, end.name, strlen(end.name));
        end.slot = l->b.flow->slot_count++;
        VTA_TRY(vta_allocated(end.name != NULL && vta_vec_push(&l->b.flow->inputs, &end) != NULL, diag));
        uint32_t slot = end.slot;
        if (l->ends->axis[i] >= 0) {
            const uint32_t row = l->b.flow->slot_count++;
            VTA_TRY(vtac_flow_put_number(&scan->inputs, end.slot, diag));
            VTA_TRY(vtac_flow_put_number(rows, row, diag));
            VTA_TRY(vtac_flow_put_word(&scan->words, l->ends->axis[i], diag));
            VTA_TRY(give_shape(l, l->body, row, type->dim, type->rank, &slot, diag));
        }
        VTA_TRY(vtac_flow_put_number(&run->inputs, slot, diag));
    }
    return VTA_OK;
}

/* The segment: all of the graph. */
static vta_status add_segment(batch_loop *l, vta_diag *diag)
{
    const vtac_graph *graph = l->b.im->graph;
    vtac_flow_segment segment = {{.item_size = sizeof(uint32_t)}, {.item_size = sizeof(uint32_t)}};
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        VTA_TRY_OUT(vtac_flow_put_number(&segment.inputs, i, diag));
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        VTA_TRY_OUT(vtac_flow_put_number(&segment.outputs, i, diag));
    }
    VTA_TRY_OUT(vta_allocated(vta_vec_push(&l->b.flow->segments, &segment) != NULL, diag));
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
static vta_status put_scan_words(const batch_loop *l, size_t scanned, vta_vec *words, vta_diag *diag)
{
    const vtac_graph *graph = l->b.im->graph;
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
static vta_status add_outputs(batch_loop *l, const vta_vec *gathered, vta_diag *diag)
{
    vtac_graph *graph = l->b.im->graph;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const vtac_value *value = &graph->values[graph->outputs[i]];
        const char *name = vtac_proto_text(l->b.im->model->graph->output[i]->name);
        vtac_flow_end end = {.name = vta_arena_string(&graph->arena, name, strlen(name)),
                             .kind = VTA_FLOW_TENSOR,
                             .dtype = value->type.dtype,
                             .rank = (int32_t)value->type.rank};
        memcpy(end.dim, value->type.dim, sizeof end.dim);
        end.dim[l->axis[graph->outputs[i]]] = -1;
        VTA_TRY(give_shape(l, l->whole, *(uint32_t *)vta_vec_at(gathered, i), end.dim, value->type.rank,
                           &end.slot, diag));
        VTA_TRY(vta_allocated(end.name != NULL && vta_vec_push(&l->b.flow->outputs, &end) != NULL, diag));
    }
    return VTA_OK;
}

static vta_status set_body(batch_loop *l, const vta_vec *rows, const vta_vec *results, vta_diag *diag)
{
    vtac_flow_block *body = vta_vec_at(&l->b.flow->blocks, l->body);
    body->input_count = (uint32_t)rows->count;
    body->output_count = (uint32_t)results->count;
    body->inputs = vtac_flow_kept(&l->b, rows->items, rows->count * sizeof(uint32_t));
    body->outputs = vtac_flow_kept(&l->b, results->items, results->count * sizeof(uint32_t));
    return vta_allocated(body->inputs != NULL && body->outputs != NULL, diag);
}

/* The instructions: in the body the segment, in the model the Scan and what follows. */
static vta_status give_loop(batch_loop *l, vtac_flow_draft *scan, vtac_flow_draft *run, const vta_vec *rows,
                            vta_diag *diag)
{
    VTA_TRY(put_scan_words(l, rows->count, &scan->words, diag));
    for (uint32_t i = 0; i < l->b.im->graph->output_count; i++) {
        VTA_TRY(vtac_flow_put_number(&run->outputs, l->b.flow->slot_count++, diag));
        VTA_TRY(vtac_flow_put_number(&scan->outputs, l->b.flow->slot_count++, diag));
    }
    VTA_TRY(set_body(l, rows, &run->outputs, diag));
    VTA_TRY(vtac_flow_give(&l->b, l->body, VTA_FLOW_RUN, "", &run->inputs, &run->outputs, &run->words, diag));
    VTA_TRY(vtac_flow_expect_sizes(&l->b, l->whole, diag));
    VTA_TRY(vtac_flow_give(&l->b, l->whole, VTA_FLOW_SCAN, "rows", &scan->inputs, &scan->outputs,
                           &scan->words, diag));
    return add_outputs(l, &scan->outputs, diag);
}

static vta_status build_loop(batch_loop *l, vta_diag *diag)
{
    vtac_flow_draft scan = VTAC_FLOW_DRAFT, run = VTAC_FLOW_DRAFT;
    vta_vec rows = {.item_size = sizeof(uint32_t)};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_flow_new_block(&l->b, &l->whole, diag));
    VTA_TRY_OUT(vtac_flow_new_block(&l->b, &l->body, diag));
    VTA_TRY_OUT(add_segment(l, diag));
    VTA_TRY_OUT(vtac_flow_put_word(&run.words, 0, diag)); /* the segment's number */
    VTA_TRY_OUT(vtac_flow_put_word(&scan.words, l->body, diag));
    VTA_TRY_OUT(vtac_flow_put_word(&scan.words, 0, diag)); /* how many inputs have rows: below */
    VTA_TRY_OUT(add_inputs(l, &scan, &run, &rows, diag));
    *(int64_t *)vta_vec_at(&scan.words, 1) = (int64_t)rows.count;
    VTA_TRY_OUT(give_loop(l, &scan, &run, &rows, diag));
out:
    vtac_flow_free_draft(&scan);
    vtac_flow_free_draft(&run);
    vta_vec_free(&rows);
    return status;
}

/* ---- the model */

/* The model at a number of rows; NULL: it has no such form. */
static vtac_graph *import_rows(const vtac_importer *im, batch_ends *e, int64_t rows)
{
    vtac_import_options options = im->options != NULL ? *im->options : (vtac_import_options){0};
    vtac_graph *graph = NULL;
    vta_diag why = {0};
    set_rows(e, rows);
    options.shapes = e->options;
    options.shape_count = e->count;
    options.dynamic = false;
    options.note = NULL;
    if (vtac_import_static(im->model, im->folder, &options, &graph, &why) != VTA_OK) {
        vtac_graph_destroy(graph);
        return NULL;
    }
    (void)vtac_remove_dead(graph); /* how sizes are found may depend on them */
    return graph;
}

static vta_status import_apart(vtac_importer *im, vtac_graph **graph, batch_ends *e, bool *done,
                               vta_diag *diag)
{
    vtac_graph *one = import_rows(im, e, 1);
    vtac_graph *many = one != NULL ? import_rows(im, e, MANY_ROWS) : NULL;
    int *axis = NULL;
    vta_status status = VTA_OK;
    if (many != NULL) {
        VTA_TRY_OUT(vtac_batch_rows(one, many, MANY_ROWS, &axis, done, diag));
    }
    if (*done) {
        vtac_graph_destroy(im->graph);
        *graph = im->graph = one;
        one = NULL;
        batch_loop l = {.b = {.im = im, .flow = vtac_flow_create()}, .ends = e, .axis = axis};
        im->graph->flow = l.b.flow;
        VTA_TRY_OUT(vta_allocated(l.b.flow != NULL, diag));
        l.b.flow->by_rows = true;
        VTA_TRY_OUT(build_loop(&l, diag));
    }
out:
    vtac_graph_destroy(one);
    vtac_graph_destroy(many);
    free(axis);
    return status;
}

vta_status vtac_import_batch(vtac_importer *im, vtac_graph **graph, bool *done, vta_diag *diag)
{
    const Onnx__GraphProto *model = im->model->graph;
    batch_ends e = {.ends = calloc(model->n_input + 1, sizeof *e.ends),
                    .options = calloc(model->n_input + 1, sizeof *e.options),
                    .axis = calloc(model->n_input + 1, sizeof *e.axis)};
    vtac_scope weights = {.outer = NULL};
    vta_diag why = {0};
    vta_status status = VTA_OK;
    bool is_batch = false;
    *done = false;
    VTA_TRY_OUT(vta_allocated(e.ends != NULL && e.options != NULL && e.axis != NULL, diag));
    for (size_t i = 0; i < model->n_initializer; i++) {
        VTA_TRY_OUT(vtac_scope_set(&weights, vtac_proto_text(model->initializer[i]->name), 1, diag));
    }
    if (find_inputs(im, &weights, &e, &is_batch, &why) == VTA_OK && is_batch) {
        VTA_TRY_OUT(import_apart(im, graph, &e, done, diag));
    }
out:
    free(weights.slots);
    free(e.ends);
    free(e.options);
    free(e.axis);
    return status;
}
