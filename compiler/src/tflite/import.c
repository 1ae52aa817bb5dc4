/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over a TensorFlow Lite model, and what the operators' importers share.
 */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flex.h"
#include "operators.h"
#include "vta/fail.h"

/* ---- the table */

static const vtac_tflite_operator builtins[] = {
#define TFL_OP(code, name, min, fn, how) {#name, vtac_tflite_import_##fn, code, min, how},
#define TFL_CUSTOM(name, min, fn)
#include "operators.def"
};

static const vtac_tflite_operator customs[] = {
#define TFL_OP(code, name, min, fn, how)
#define TFL_CUSTOM(name, min, fn) {name, vtac_tflite_import_##fn, 32, min, 0},
#include "operators.def"
    {.name = NULL}};

const vtac_tflite_operator *vtac_tflite_operator_find(int32_t code)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++) {
        if (builtins[i].code == code) {
            return &builtins[i];
        }
    }
    return NULL;
}

const vtac_tflite_operator *vtac_tflite_custom_find(const char *name)
{
    for (size_t i = 0; customs[i].name != NULL; i++) {
        if (strcmp(customs[i].name, name) == 0) {
            return &customs[i];
        }
    }
    return NULL;
}

/* ---- tensors */

bool vtac_tflite_has(const vtac_tflite *im, uint32_t i)
{
    return i < im->op->input_count && im->op->inputs[i] >= 0;
}

vtac_tflite_tensor *vtac_tflite_in(vtac_tflite *im, uint32_t i)
{
    static vtac_tflite_tensor none; /* never written: it has no name */
    if (!vtac_tflite_has(im, i)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it has no input %u", i);
        return &none;
    }
    return &im->graph->tensors[im->op->inputs[i]];
}

vtac_tflite_tensor *vtac_tflite_out(vtac_tflite *im, uint32_t i)
{
    static vtac_tflite_tensor none;
    if (i >= im->op->output_count) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it has no output %u", i);
        return &none;
    }
    return &im->graph->tensors[im->op->outputs[i]];
}

static const int64_t to_planes[] = {0, 3, 1, 2};
static const int64_t to_plain[] = {0, 2, 3, 1};

/* The name of a tensor belongs to the form that was made first, or to the plain one. */
static void name_value(vtac_tflite *im, vtac_id id, const char *name)
{
    vtac_graph *g = im->maker.graph;
    if (im->depth > 0) {
        return; /* a graph that is called more than once has its names more than once */
    }
    if (im->maker.status == VTA_OK && id != 0 && name[0] != '\0' && strcmp(g->values[id].name, name) != 0) {
        im->maker.status = vtac_rename_value(g, id, name, im->maker.diag);
    }
}

vtac_id vtac_tflite_value(vtac_tflite *im, vtac_tflite_tensor *t)
{
    vtac_import_builder *m = &im->maker;
    if (m->status != VTA_OK) {
        return 0;
    }
    if (t->plain == 0 && t->planes != 0) {
        t->plain = vtac_make_transpose(m, t->planes, to_plain, 4);
    }
    if (t->plain == 0 && t->data != NULL) {
        t->plain = vtac_make_constant(m, &t->type, t->data);
        name_value(im, t->plain, t->name);
    }
    if (t->plain == 0 && t->variable) {
        void *zeros = vtac_make_room(m, vtac_type_elements(&t->type), vtac_dtype_bytes(t->type.dtype));
        if (zeros != NULL && t->scale_count > 0 && t->type.dtype == VTAC_I8) { /* others begin at 0 */
            memset(zeros, (int)t->zero[0], (size_t)vtac_type_elements(&t->type));
        }
        t->plain = zeros == NULL ? 0 : vtac_make_borrowed(m, &t->type, zeros);
        if (im->depth == 0) {
            t->plain = vtac_tflite_state_of(im, t->name, t->plain, &t->plain);
        }
    }
    if (t->plain == 0) {
        vtac_make_fail(m, VTA_INVALID, "input '%s' is made by no earlier operator", t->name);
    }
    return t->plain;
}

vtac_id vtac_tflite_plain(vtac_tflite *im, uint32_t i)
{
    return vtac_tflite_value(im, vtac_tflite_in(im, i));
}

vtac_id vtac_tflite_planes(vtac_tflite *im, uint32_t i)
{
    vtac_tflite_tensor *t = vtac_tflite_in(im, i);
    if (t->planes == 0) {
        t->planes = vtac_make_transpose(&im->maker, vtac_tflite_value(im, t), to_planes, 4);
    }
    return t->planes;
}

bool vtac_tflite_in_planes(vtac_tflite *im, uint32_t i)
{
    const vtac_tflite_tensor *t = vtac_tflite_in(im, i);
    return t->planes != 0 && t->plain == 0;
}

static void set_value(vtac_tflite *im, uint32_t i, vtac_id value, bool planes)
{
    vtac_import_builder *m = &im->maker;
    vtac_tflite_tensor *t = vtac_tflite_out(im, i);
    if (m->status != VTA_OK) {
        return;
    }
    if (t->plain != 0 || t->planes != 0 || t->data != NULL) {
        vtac_make_fail(m, VTA_INVALID, "tensor '%s' is made twice", t->name);
        return;
    }
    const vtac_type type = vtac_made_type(m, value);
    if (value == 0 || type.dtype != t->type.dtype || (planes && type.rank != 4)) {
        char text[160];
        vtac_make_fail(m, VTA_INVALID, "output '%s' would be %s, the file says %s", t->name,
                       vtac_type_text(&type, text, sizeof text), vtac_dtype_name(t->type.dtype));
        return;
    }
    /* A value that has a name already, an input or another tensor's, keeps it. */
    const vtac_graph *g = m->graph;
    const bool fresh =
        g->values[value].nameless && (g->values[value].node != 0 || g->values[value].constant != NULL);
    if (!fresh) {
        value = vtac_make1(m, VTAC_OP_IDENTITY, value);
    }
    *(planes ? &t->planes : &t->plain) = value;
    name_value(im, value, t->name);
}

void vtac_tflite_set(vtac_tflite *im, uint32_t i, vtac_id value)
{
    set_value(im, i, value, false);
}

void vtac_tflite_set_planes(vtac_tflite *im, uint32_t i, vtac_id value)
{
    set_value(im, i, value, true);
}

vtac_id vtac_tflite_either(vtac_tflite *im, uint32_t i, bool *planes)
{
    *planes = vtac_tflite_in_planes(im, i);
    return *planes ? vtac_tflite_planes(im, i) : vtac_tflite_plain(im, i);
}

void vtac_tflite_set_either(vtac_tflite *im, uint32_t i, vtac_id value, bool planes)
{
    set_value(im, i, value, planes);
}

vtac_type vtac_tflite_type(vtac_tflite *im, uint32_t i)
{
    const vtac_tflite_tensor *t = vtac_tflite_in(im, i);
    if (t->plain == 0 && t->planes != 0) {
        vtac_type type = vtac_made_type(&im->maker, t->planes);
        const int64_t channels = type.dim[1];
        memmove(&type.dim[1], &type.dim[2], 2 * sizeof type.dim[0]);
        type.dim[3] = channels;
        return type;
    }
    return t->data != NULL ? t->type : vtac_made_type(&im->maker, vtac_tflite_plain(im, i));
}

uint32_t vtac_tflite_axis(uint32_t axis, uint32_t rank, bool planes)
{
    return !planes || rank != 4 || axis == 0 ? axis : axis == 3 ? 1 : axis + 1;
}

uint32_t vtac_tflite_wrap(vtac_tflite *im, int64_t axis, uint32_t rank)
{
    const int64_t at = axis < 0 ? axis + (int64_t)rank : axis;
    if (at < 0 || at >= (int64_t)rank) {
        vtac_make_fail(&im->maker, VTA_INVALID, "axis %lld of %u", (long long)axis, rank);
        return 0;
    }
    return (uint32_t)at;
}

bool vtac_tflite_known(vtac_tflite *im, uint32_t i)
{
    return vtac_made_constant(&im->maker, vtac_tflite_plain(im, i)) != NULL;
}

uint32_t vtac_tflite_known_ints(vtac_tflite *im, uint32_t i, const char *what, int64_t *out, uint32_t max)
{
    const vtac_id id = vtac_tflite_plain(im, i);
    const vtac_tensor *known = vtac_made_constant(&im->maker, id);
    if (id == 0) {
        return 0;
    }
    if (known == NULL) {
        vtac_make_refuse(&im->maker, "the %s (input %u) must be known, the run works it out", what, i);
        return 0;
    }
    const int64_t count = vtac_type_elements(&known->type);
    if (count > (int64_t)max || vtac_dtype_kind(known->type.dtype) == 'f') {
        vtac_make_refuse(&im->maker, "the %s (input %u): %lld numbers, at most %u integers are taken", what,
                         i, (long long)count, max);
        return 0;
    }
    for (int64_t k = 0; k < count; k++) {
        out[k] = vtac_tensor_int(known, k);
    }
    return (uint32_t)count;
}

int64_t vtac_tflite_option(vtac_tflite *im, uint32_t field, uint32_t width, int64_t otherwise)
{
    return vtac_flat_int(&im->model.flat, im->op->options, field, width, otherwise);
}

float vtac_tflite_option_float(vtac_tflite *im, uint32_t field, float otherwise)
{
    return vtac_flat_float(&im->model.flat, im->op->options, field, otherwise);
}

double vtac_tflite_custom_number(vtac_tflite *im, const char *key, double otherwise)
{
    const vtac_flat_vector bytes = im->op->custom_options;
    double value;
    if (vtac_flex_number(im->model.flat.bytes + bytes.at, bytes.count, key, &value)) {
        return value;
    }
    if (isnan(otherwise)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its options have no number '%s'", key);
    }
    return otherwise;
}

int64_t vtac_tflite_custom_count(vtac_tflite *im, const char *key, double otherwise, int64_t min)
{
    const double value = vtac_tflite_custom_number(im, key, otherwise);
    if (im->maker.status == VTA_OK && !(value >= (double)min && value <= 65536.0)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "its option '%s' is %g, expected %lld to 65536", key, value,
                       (long long)min);
    }
    return im->maker.status == VTA_OK ? (int64_t)value : min;
}

/* ---- the walk */

/* The name of an input or output: the signature's, or the tensor's. */
static const char *outer_name(const char **names, const vtac_tflite_tensor *t, uint32_t i)
{
    return names != NULL ? names[i] : t->name;
}

static vta_status input_type(const vtac_tflite *im, const char *name, const vtac_tflite_tensor *t,
                             vtac_type *type, vta_diag *diag)
{
    const vtac_shape_option *option = NULL;
    for (uint32_t i = 0; im->options != NULL && i < im->options->shape_count; i++) {
        option = strcmp(im->options->shapes[i].name, name) == 0 ? &im->options->shapes[i] : option;
    }
    *type = t->type;
    if (option != NULL && option->rank != type->rank) {
        return vta_fail(diag, VTA_INVALID, "input '%s' has %u axes, given are %u", name, type->rank,
                        option->rank);
    }
    for (uint32_t i = 0; i < type->rank; i++) {
        if (option != NULL && !t->open[i] && i > 0 && option->dim[i] != type->dim[i]) {
            return vta_fail(diag, VTA_INVALID, "input '%s': axis %u is %lld in the model, not %lld", name, i,
                            (long long)type->dim[i], (long long)option->dim[i]);
        }
        if (option != NULL) {
            type->dim[i] = option->dim[i];
        } else if (t->open[i]) {
            vtac_import_note(im->options, "input '%.200s': axis %u is open in the model, taken as %lld", name,
                             i, (long long)type->dim[i]);
        }
    }
    return vtac_type_elements(type) >= 0 ? VTA_OK
                                         : vta_fail(diag, VTA_RANGE, "input '%s' is too large", name);
}

static vta_status import_inputs(vtac_tflite *im, vta_diag *diag)
{
    const vtac_tflite_graph *graph = im->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        vtac_tflite_tensor *t = &graph->tensors[graph->inputs[i]];
        const char *name = outer_name(im->model.input_names, t, i);
        vtac_type type;
        if (t->type.dtype == VTAC_NO_DTYPE) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "input '%s' is of a type that is not taken (text, complex)", name);
        }
        if (t->plain != 0 || t->data != NULL) {
            return vta_fail(diag, VTA_INVALID, "input '%s' is listed twice, or is a constant", name);
        }
        VTA_TRY(input_type(im, name, t, &type, diag));
        VTA_TRY(vtac_add_input(im->maker.graph, name, &type, &t->plain, diag));
    }
    for (uint32_t k = 0; im->options != NULL && k < im->options->shape_count; k++) {
        if (vtac_find_value(im->maker.graph, im->options->shapes[k].name) == 0) {
            return vta_fail(diag, VTA_INVALID, "--shape names '%s', which is no input of the model",
                            im->options->shapes[k].name);
        }
    }
    return VTA_OK;
}

/* Files of 2018 and 2019 call the bytes that floats are multiplied by uint8, and mean int8, around 0. */
static void read_old_weights(vtac_tflite *im)
{
    static const int64_t no_zero = 0;
    static const char *const kinds[] = {"CONV_2D",
                                        "EMBEDDING_LOOKUP",
                                        "FULLY_CONNECTED",
                                        "LSTM",
                                        "RNN",
                                        "SVDF",
                                        "UNIDIRECTIONAL_SEQUENCE_LSTM",
                                        "UNIDIRECTIONAL_SEQUENCE_RNN",
                                        "BIDIRECTIONAL_SEQUENCE_LSTM",
                                        "BIDIRECTIONAL_SEQUENCE_RNN"};
    const vtac_tflite_op *op = im->op;
    bool old = op->output_count > 0 && vtac_tflite_is_float(&im->graph->tensors[op->outputs[0]]);
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof kinds[0] && strcmp(op->kind->name, kinds[kind]) != 0) {
        kind++;
    }
    old = old && kind < sizeof kinds / sizeof kinds[0];
    for (uint32_t k = 0; old && k < op->input_count; k++) {
        vtac_tflite_tensor *t = op->inputs[k] < 0 ? NULL : &im->graph->tensors[op->inputs[k]];
        if (t != NULL && t->data != NULL && t->type.dtype == VTAC_U8 && t->scale_count == 1 &&
            t->plain == 0 && t->planes == 0) {
            t->type.dtype = VTAC_I8;
            t->zero = &no_zero;
        }
    }
}

static vta_status import_op(vtac_tflite *im, uint32_t i, vta_diag *diag)
{
    const vtac_tflite_op *op = &im->graph->ops[i];
    const char *name = op->output_count > 0 ? im->graph->tensors[op->outputs[0]].name : op->kind->name;
    im->op = op;
    im->how = op->kind->how;
    im->maker.name = name;
    im->maker.origin = im->depth > 0 ? im->maker.origin : i;
    if (op->input_count < op->kind->in_min) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it has %u inputs and needs %u", op->input_count,
                       op->kind->in_min);
    }
    for (uint32_t k = 0; k < op->input_count && im->maker.status == VTA_OK; k++) {
        const vtac_tflite_tensor *t = op->inputs[k] < 0 ? NULL : &im->graph->tensors[op->inputs[k]];
        if (t != NULL && t->type.dtype == VTAC_NO_DTYPE && t->handle == 0 && t->imaginary == 0) {
            vtac_make_refuse(&im->maker,
                             "tensor '%s' is of a type that is not taken (text, complex, a resource)",
                             t->name);
        }
    }
    if (im->maker.status == VTA_OK) {
        read_old_weights(im);
        (vtac_tflite_takes_rest(im) ? vtac_tflite_rest_operator : op->kind->import)(im);
        im->op = op; /* it may have called a graph */
    }
    return im->maker.status == VTA_OK
               ? VTA_OK
               : vta_context(diag, "operator %u, '%.100s' (%s)", i, name, op->kind->name);
}

vta_status vtac_tflite_import_operators(vtac_tflite *im, vta_diag *diag)
{
    VTA_TRY(vtac_tflite_check_operators(im, diag));
    for (uint32_t i = 0; i < im->graph->op_count; i++) {
        VTA_TRY(import_op(im, i, diag));
    }
    return VTA_OK;
}

/* True where an operator over floats has 8-bit weights: the run quantizes its input, and a sum that differs
 * in its last bit may come out one step further. */
static bool quantizes_floats(const vtac_tflite_graph *g, const vtac_tflite_op *op)
{
    const int32_t first = op->input_count > 1 ? op->inputs[0] : -1;
    bool found = false;
    for (uint32_t i = 1; first >= 0 && g->tensors[first].type.dtype == VTAC_F32 && i < op->input_count; i++) {
        const vtac_tflite_tensor *t = op->inputs[i] < 0 ? NULL : &g->tensors[op->inputs[i]];
        found = found || (t != NULL && t->data != NULL && t->scale_count > 0 &&
                          (t->type.dtype == VTAC_I8 || t->type.dtype == VTAC_U8));
    }
    return found;
}

static void find_mixed(vtac_tflite *im)
{
    for (uint32_t i = 0; i < im->model.graph_count; i++) {
        const vtac_tflite_graph *g = &im->model.graphs[i];
        for (uint32_t k = 0; k < g->op_count; k++) {
            im->mixed = im->mixed || quantizes_floats(g, &g->ops[k]);
        }
    }
}

static vta_status import_graph(vtac_tflite *im, vta_diag *diag)
{
    const vtac_tflite_graph *graph = im->graph = &im->model.graphs[im->model.chosen];
    vtac_tflite_list_signatures(&im->model, im->options);
    find_mixed(im);
    VTA_TRY(vtac_tflite_check_operators(im, diag));
    VTA_TRY(import_inputs(im, diag));
    VTA_TRY(vtac_tflite_import_operators(im, diag));
    if (im->rest != NULL) {
        VTA_TRY(vtac_tflite_finish_rest(im, diag));
        return vtac_graph_sort(im->maker.graph, diag);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        vtac_tflite_tensor *t = &graph->tensors[graph->outputs[i]];
        vtac_id id = t->type.dtype == VTAC_NO_DTYPE ? 0 : vtac_tflite_value(im, t);
        if (id != 0 && (im->maker.graph->values[id].node == 0 || vtac_is_output(im->maker.graph, id))) {
            id = vtac_make1(&im->maker, VTAC_OP_IDENTITY, id);
        }
        name_value(im, id, outer_name(im->model.output_names, t, i));
        if (im->maker.status != VTA_OK || id == 0) {
            return vta_fail(diag, VTA_INVALID, "output '%s' is made by no operator", t->name);
        }
        VTA_TRY(vtac_add_output(im->maker.graph, id, diag));
    }
    VTA_TRY(vtac_tflite_keep_states(im, diag));
    return vtac_graph_sort(im->maker.graph, diag);
}

static vta_status load_model(const vtac_model_file *file, const vtac_import_options *options,
                             vtac_graph **out, bool *changing, vta_diag *diag)
{
    vtac_graph *graph = vtac_graph_create("main");
    vtac_tflite im = {.options = options};
    vta_status status =
        graph == NULL ? vta_no_memory(diag)
                      : vtac_tflite_model_read(file, &graph->arena,
                                               options == NULL ? NULL : options->signature, &im.model, diag);
    if (status == VTA_OK) {
        im.maker =
            (vtac_import_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
        status = im.model.graphs == NULL ? vta_fail(diag, VTA_INVALID, "it has no graph")
                                         : import_graph(&im, diag);
    }
    if (status == VTA_OK && im.model.flat.bad) {
        status = vta_fail(diag, VTA_SYNTAX, "damaged: the offset at byte %zu leads out of the file",
                          im.model.flat.bad_at);
    }
    *changing = im.changing;
    if (status != VTA_OK) {
        vtac_graph_destroy(graph);
        (void)vta_context(diag, "%s", file->path);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}

/* A model whose states grow starts anew in each run. */
vta_status vtac_load_tflite(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                            vta_diag *diag)
{
    bool changing = false;
    const vta_status status = load_model(file, options, out, &changing, diag);
    if (status == VTA_OK || !changing) {
        return status;
    }
    vtac_import_options anew = *options;
    anew.states = false;
    if (diag != NULL) {
        *diag = (vta_diag){0};
    }
    return load_model(file, &anew, out, &changing, diag);
}
