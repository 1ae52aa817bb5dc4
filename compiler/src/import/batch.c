/* SPDX-License-Identifier: Apache-2.0
 *
 * An open batch of a model that is not one of ONNX: its importer makes a graph of fixed sizes, so it is asked
 * twice, for a batch of one and for another.
 */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "options.h"
#include "vta/fail.h"
#include "vtac/flow.h"

/* The sizes of all inputs: those that the user gave, and of the others an open batch. */
typedef struct batch_sizes {
    vtac_flow_end *ends;
    vtac_shape_option *shapes;
    bool is_open;
} batch_sizes;

/* The size that the user gave for an input; NULL: none. */
static const vtac_shape_option *given_size(const vtac_import_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->shape_count; i++) {
        if (vtac_shape_is_for(options->shapes[i].name, name)) {
            return &options->shapes[i];
        }
    }
    return NULL;
}

/* The first axis of an input is open where it is 1 and the user has given no size, or a range for it alone.
 */
static void set_sizes(const vtac_graph *graph, const vtac_import_options *options, batch_sizes *b)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const vtac_value *value = &graph->values[graph->inputs[i]];
        const vtac_shape_option *given = given_size(options, value->name);
        vtac_flow_end *end = &b->ends[i];
        *end = (vtac_flow_end){
            .name = value->name, .dtype = value->type.dtype, .rank = (int32_t)value->type.rank};
        memcpy(end->dim, value->type.dim, sizeof end->dim);
        b->shapes[i] = (vtac_shape_option){.name = value->name, .rank = value->type.rank};
        memcpy(b->shapes[i].dim, value->type.dim, sizeof b->shapes[i].dim);
        const bool range = given != NULL && given->rank == value->type.rank && given->max[0] > 0;
        if (value->type.rank > 0 &&
            (range || (given == NULL && options->dynamic && value->type.dim[0] == 1))) {
            end->dim[0] = range ? -2 - (given->dim[0] | given->max[0] << 31) : -1;
            b->shapes[i].dim[0] = VTAC_MANY_ROWS;
            b->is_open = true;
        }
    }
}

static vta_status try_batch(const vtac_import_kind *kind, const vtac_model_file *file,
                            const vtac_import_options *options, vtac_graph *graph, bool *done, vta_diag *diag)
{
    batch_sizes b = {calloc(graph->input_count + (size_t)1, sizeof *b.ends),
                     calloc(graph->input_count + (size_t)1, sizeof *b.shapes), false};
    vtac_graph *many = NULL;
    int *axis = NULL;
    vta_diag why = {0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(b.ends != NULL && b.shapes != NULL, diag));
    set_sizes(graph, options, &b);
    vtac_import_options other = *options;
    other.shapes = b.shapes;
    other.shape_count = graph->input_count;
    other.dynamic = false;
    other.note = NULL;
    if (b.is_open && kind->load(file, &other, &many, &why) == VTA_OK &&
        vtac_choose_ends(many, &other, &why) == VTA_OK) {
        (void)vtac_remove_dead(graph);
        (void)vtac_remove_dead(many);
        VTA_TRY_OUT(vtac_rows_apart(graph, many, &axis, done, diag));
        VTA_TRY_OUT(*done ? vtac_loop_rows(graph, b.ends, NULL, "batch", axis, diag) : VTA_OK);
    }
out:
    vtac_graph_destroy(many);
    free(axis);
    free(b.ends);
    free(b.shapes);
    return status;
}

/* True if a range of sizes is asked for; *first: of first axes alone, and from 1 on. */
static bool asks_for_range(const vtac_import_options *options, bool *first)
{
    bool asks = false;
    *first = true;
    for (uint32_t i = 0; i < options->shape_count; i++) {
        const vtac_shape_option *shape = &options->shapes[i];
        for (uint32_t k = 0; k < shape->rank; k++) {
            asks = asks || shape->max[k] > 0;
            *first = *first && (shape->max[k] == 0 || (k == 0 && shape->dim[k] == 1));
        }
    }
    return asks;
}

vta_status vtac_open_batch(const vtac_import_kind *kind, const vtac_model_file *file,
                           const vtac_import_options *options, vtac_graph *graph, vta_diag *diag)
{
    bool first, done = false;
    const bool range = asks_for_range(options, &first);
    if (!range && !options->dynamic) {
        return VTA_OK;
    }
    VTA_TRY(first ? try_batch(kind, file, options, graph, &done, diag) : VTA_OK);
    if (range && !done) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "--shape: of a model of %s the batch alone may be a range, from 1 on, where its rows do "
            "not meet; give sizes",
            kind->name);
    }
    vtac_import_note(options, "%s",
                     done ? "its batch stays open, and each row of it is computed by itself"
                          : "--dynamic: no size can be left open; it is compiled for those that it has");
    return VTA_OK;
}
