/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's archives: TorchScript and programs of torch.export, told apart by their members.
 */
#include <stdio.h>
#include <string.h>

#include "torch.h"
#include "vta/fail.h"

static bool names_member(const vtac_model_file *file, const char *part)
{
    return file->size >= 4 && memcmp(file->bytes, "PK\3\4", 4) == 0 &&
           vtac_zip_names(file->bytes, file->size, part);
}

static bool is_export(const vtac_model_file *file)
{
    return names_member(file, "serialized_exported_program.json") || names_member(file, "/archive_format");
}

bool vtac_recognize_torch(const vtac_model_file *file)
{
    return is_export(file) || names_member(file, "/code/__torch__");
}

/* ---- inputs and outputs */

vtac_torch_value vtac_torch_input(vtac_torch *im, const char *name, const vtac_type *type)
{
    const vtac_shape_option *given = vtac_import_shape(im->options, name);
    vtac_type as = type != NULL ? *type : (vtac_type){.dtype = VTAC_F32};
    vtac_id id = 0;
    if (given != NULL && type != NULL && given->rank != type->rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "input '%s' has %u axes, given are %u", name, type->rank,
                       given->rank);
    }
    if (given != NULL) {
        as.rank = given->rank;
        memcpy(as.dim, given->dim, sizeof as.dim);
    }
    if (im->input_count == TORCH_MAX_INPUTS) {
        vtac_torch_refuse(im, "more than %d inputs", TORCH_MAX_INPUTS);
    }
    if (im->maker.status == VTA_OK && type == NULL && im->indices[im->input_count]) {
        as.dtype = VTAC_I64;
    }
    if (im->maker.status == VTA_OK && vtac_type_elements(&as) < 0) {
        vtac_make_fail(&im->maker, VTA_RANGE, "input '%s' is too large", name);
    }
    if (im->maker.status != VTA_OK) {
        return vtac_torch_none;
    }
    im->maker.status = vtac_add_input(im->maker.graph, name, &as, &id, im->maker.diag);
    im->inputs[im->input_count++] = type == NULL ? id : 0;
    return vtac_torch_tensor_of(im, id);
}

static void add_output(vtac_torch *im, vtac_torch_tensor *t, const char *name)
{
    vtac_id id = vtac_torch_floats(im, t);
    const vtac_graph *graph = im->maker.graph;
    if (id != 0 && (graph->values[id].node == 0 || vtac_is_output(graph, id))) {
        id = vtac_make1(&im->maker, VTAC_OP_IDENTITY, id);
    }
    if (im->maker.status == VTA_OK) {
        im->maker.status = vtac_rename_value(im->maker.graph, id, name, im->maker.diag);
    }
    if (im->maker.status == VTA_OK) {
        im->maker.status = vtac_add_output(im->maker.graph, id, im->maker.diag);
    }
}

void vtac_torch_output(vtac_torch *im, const vtac_torch_value *v, const char *name)
{
    const bool is_list = v->kind == TORCH_TUPLE || v->kind == TORCH_LIST;
    const uint32_t step = v->kind == TORCH_DICT ? 2 : 1;
    char own[200];
    im->depth++;
    if (im->maker.status != VTA_OK || im->depth > TORCH_MAX_DEPTH) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its result is a list within itself");
    } else if (++im->steps > TORCH_MAX_STEPS) {
        vtac_make_fail(&im->maker, VTA_RANGE, "lists that hold each other come to more than %d results",
                       TORCH_MAX_STEPS);
    } else if (v->kind == TORCH_TENSOR) {
        add_output(im, v->tensor, name);
    } else if (is_list || v->kind == TORCH_DICT) {
        for (uint32_t i = 0; i + step <= v->list->count && im->maker.status == VTA_OK; i += step) {
            const vtac_torch_value *key = &v->list->items[i];
            if (step == 2 && key->kind == TORCH_TEXT) {
                (void)snprintf(own, sizeof own, "%.150s", key->s);
            } else {
                (void)snprintf(own, sizeof own, "%.150s%u", name, i / step);
            }
            vtac_torch_output(im, &v->list->items[i + step - 1], own);
        }
    } else if (vtac_torch_is_number(v)) {
        const vtac_dtype dtype = v->kind == TORCH_FLOAT ? VTAC_F32
                                 : v->kind == TORCH_INT ? VTAC_I64
                                                        : VTAC_BOOL;
        const vtac_torch_value number =
            vtac_torch_tensor_of(im, vtac_make_number(&im->maker, dtype, vtac_torch_number(v)));
        vtac_torch_output(im, &number, name);
    } else if (v->kind != TORCH_NONE) {
        vtac_torch_refuse(im, "a result that is a %s", vtac_torch_kind_name(v->kind));
    }
    im->depth--;
}

/* ---- files */

static void check_shapes(vtac_torch *im)
{
    for (uint32_t k = 0; im->options != NULL && k < im->options->shape_count; k++) {
        if (vtac_find_value(im->maker.graph, im->options->shapes[k].name) == 0) {
            vtac_make_fail(&im->maker, VTA_INVALID, "--shape names '%s', which is no input of the model",
                           im->options->shapes[k].name);
        }
    }
    if (im->maker.graph->output_count == 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its result has no tensor");
    }
}

static vta_status import_archive(vtac_torch *im, const vtac_model_file *file)
{
    VTA_TRY(vtac_torch_open(im, file->bytes, file->size, &im->archive));
    im->stored = file->size;
    if (is_export(file)) {
        vtac_torch_run_export(im);
    } else {
        vtac_torch_run_script(im);
    }
    if (im->maker.status == VTA_OK) {
        check_shapes(im);
    }
    VTA_TRY(im->maker.status);
    return vtac_graph_sort(im->maker.graph, im->maker.diag);
}

/* One pass. `indices`: which inputs hold indices, as far as is known; *again: one more does. */
static vta_status load_once(const vtac_model_file *file, const vtac_import_options *options, bool *indices,
                            bool *again, vtac_graph **out, vta_diag *diag)
{
    vtac_graph *graph = vtac_graph_create("main");
    vtac_torch im = {.options = options};
    if (graph == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(im.indices, indices, sizeof im.indices);
    im.maker = (vtac_import_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
    const vta_status status = import_archive(&im, file);
    memcpy(indices, im.indices, sizeof im.indices);
    *again = im.again;
    if (status != VTA_OK) {
        vtac_graph_destroy(graph);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}

vta_status vtac_load_torch(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag)
{
    bool indices[TORCH_MAX_INPUTS] = {false};
    bool again = true;
    vta_status status = VTA_OK;
    for (unsigned pass = 0; again && pass <= TORCH_MAX_INPUTS; pass++) {
        vta_diag own = {0};
        again = false;
        status = load_once(file, options, indices, &again, out, &own);
        if (status != VTA_OK && !again) {
            return vta_fail(diag, status, "%s: %s", file->path, own.text);
        }
    }
    return status;
}
