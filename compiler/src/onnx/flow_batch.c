/* SPDX-License-Identifier: Apache-2.0
 *
 * A model whose rows do not meet (batch.h) as a loop over them: the graph is the model at a batch of one, all
 * of it one segment, and a Scan runs it for each row.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "vta/fail.h"

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

/* The names of the model's outputs; NULL: there is no memory. */
static const char **output_names(const Onnx__GraphProto *model)
{
    const char **names = calloc(model->n_output + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < model->n_output; i++) {
        names[i] = vtac_proto_text(model->output[i]->name);
    }
    return names;
}

static vta_status import_apart(vtac_importer *im, vtac_graph **graph, batch_ends *e, bool *done,
                               vta_diag *diag)
{
    vtac_graph *one = import_rows(im, e, 1);
    vtac_graph *many = one != NULL ? import_rows(im, e, VTAC_MANY_ROWS) : NULL;
    const char **names = output_names(im->model->graph);
    int *axis = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(names != NULL, diag));
    if (many != NULL) {
        VTA_TRY_OUT(vtac_rows_apart(one, many, &axis, done, diag));
    }
    if (*done) {
        vtac_graph_destroy(im->graph);
        *graph = im->graph = one;
        one = NULL;
        VTA_TRY_OUT(vtac_loop_rows(im->graph, e->ends, names, e->symbol, axis, diag));
    }
out:
    vtac_graph_destroy(one);
    vtac_graph_destroy(many);
    free(names);
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
