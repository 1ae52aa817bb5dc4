/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that call other graphs of the file, and variables. A loop is written out, turn by turn: whether
 * it goes on has to be known now. A branch that the run decides is both branches, and a choice of each
 * result. A variable is the value that it was given last; what is left in it is there in the next run
 * (state.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators.h"

enum { MAX_DEPTH = 8, MAX_WORK = 1 << 20, MAX_VARIABLES = 1 << 12 };

typedef struct vtac_tflite_variable {
    const char *container, *name;
    uint32_t length[2];
    vtac_id value; /* plain; 0: none was assigned */
    bool fresh;    /* `value` was assigned before the first run */
} vtac_tflite_variable;

/* Argument or result of a called graph. */
typedef struct argument {
    vtac_id plain, planes;
    uint32_t handle;
} argument;

static argument argument_of(vtac_tflite *im, vtac_tflite_tensor *t)
{
    if (t->handle == 0 && t->planes == 0) {
        (void)vtac_tflite_value(im, t);
    }
    return (argument){t->plain, t->planes, t->handle};
}

/* Arguments of as many tensors, which stay valid; NULL after a failure. */
static argument *alloc_arguments(vtac_tflite *im, const int32_t *numbers, uint32_t count)
{
    argument *out = vtac_make_room(&im->maker, (int64_t)count + 1, sizeof *out);
    for (uint32_t i = 0; out != NULL && i < count; i++) {
        if (numbers[i] < 0) {
            vtac_make_fail(&im->maker, VTA_INVALID, "it has no input %u", i);
        } else {
            out[i] = argument_of(im, &im->graph->tensors[numbers[i]]);
        }
    }
    return im->maker.status == VTA_OK ? out : NULL;
}

static bool may_call(vtac_tflite *im, int64_t number, uint32_t given, uint32_t wanted)
{
    const vtac_tflite_model *model = &im->model;
    if (number < 1 || number >= (int64_t)model->graph_count || model->graphs[number].input_count != given ||
        model->graphs[number].output_count != wanted) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it calls graph %lld of %u with %u inputs for %u outputs",
                       (long long)number, model->graph_count, given, wanted);
        return false;
    }
    im->work += (uint64_t)model->graphs[number].tensor_count + model->graphs[number].op_count + 1;
    if (im->depth == MAX_DEPTH || im->work > MAX_WORK) {
        vtac_make_refuse(
            &im->maker,
            "graphs that call each other deeper than %d, or too many turns of a loop to write them out",
            MAX_DEPTH);
    }
    return im->maker.status == VTA_OK;
}

/* Graph `number` on `in`: its outputs, NULL after a failure. */
static argument *call_graph(vtac_tflite *im, int64_t number, const argument *in, uint32_t given,
                            uint32_t wanted)
{
    if (in == NULL || !may_call(im, number, given, wanted)) {
        return NULL;
    }
    const vtac_tflite_graph *graph = &im->model.graphs[number];
    vtac_tflite_graph instance = *graph;
    instance.tensors = malloc((graph->tensor_count + (size_t)1) * sizeof *instance.tensors);
    if (instance.tensors == NULL) {
        vtac_make_fail(&im->maker, VTA_NOMEM, "out of memory");
        return NULL;
    }
    memcpy(instance.tensors, graph->tensors, graph->tensor_count * sizeof *instance.tensors);
    for (uint32_t i = 0; i < given; i++) {
        vtac_tflite_tensor *t = &instance.tensors[graph->inputs[i]];
        t->plain = in[i].plain;
        t->planes = in[i].planes;
        t->handle = in[i].handle;
        t->data = NULL;
    }
    vtac_tflite_graph *caller = im->graph;
    const char *name = im->maker.name;
    im->graph = &instance;
    im->depth++;
    argument *out = NULL;
    if (vtac_tflite_import_operators(im, im->maker.diag) == VTA_OK) {
        out = alloc_arguments(im, instance.outputs, instance.output_count);
    } else if (im->maker.status == VTA_OK) {
        im->maker.status = VTA_UNSUPPORTED; /* the message is there */
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (graph->tensors[i].data != NULL) { /* constants are made once */
            graph->tensors[i].plain = instance.tensors[i].plain;
            graph->tensors[i].planes = instance.tensors[i].planes;
        }
    }
    free(instance.tensors);
    im->depth--;
    im->graph = caller;
    im->maker.name = name;
    return im->maker.status == VTA_OK ? out : NULL;
}

/* The only element of a boolean that is known; -1: it is not. */
static int truth_of(vtac_tflite *im, const argument *a)
{
    const vtac_tensor *known = a == NULL ? NULL : vtac_made_constant(&im->maker, a->plain);
    return known == NULL || vtac_type_elements(&known->type) != 1 ? -1 : vtac_tensor_int(known, 0) != 0;
}

static void set_output(vtac_tflite *im, uint32_t i, const argument *a)
{
    vtac_tflite_tensor *t = vtac_tflite_out(im, i);
    if (a->handle != 0) {
        t->handle = a->handle;
    } else if (a->plain != 0) {
        vtac_tflite_set(im, i, a->plain);
    } else {
        vtac_tflite_set_planes(im, i, a->planes);
    }
}

/* options: the graph of the condition, the graph of the body */
void vtac_tflite_import_while(vtac_tflite *im)
{
    const vtac_tflite_op *op = im->op;
    const int64_t condition = vtac_tflite_option(im, 0, 4, 0);
    const int64_t body = vtac_tflite_option(im, 1, 4, 0);
    const argument *state = alloc_arguments(im, op->inputs, op->input_count);
    if (op->input_count != op->output_count) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%u values go in, %u come out", op->input_count,
                       op->output_count);
    }
    while (im->maker.status == VTA_OK) {
        const argument *more = call_graph(im, condition, state, op->input_count, 1);
        const int truth = truth_of(im, more);
        if (truth == 0) {
            break;
        }
        if (truth < 0 && im->maker.status == VTA_OK) {
            vtac_make_refuse(&im->maker, "how many turns the loop takes depends on the network's inputs");
        }
        state = call_graph(im, body, state, op->input_count, op->output_count);
    }
    im->op = op;
    for (uint32_t i = 0; state != NULL && i < op->output_count; i++) {
        set_output(im, i, &state[i]);
    }
}

/* ---- branches */

static vtac_id value_of_variable(vtac_tflite *im, vtac_tflite_variable *v);

/* Room for what variables are after either branch, and what they are now. */
static bool save_variables(vtac_tflite *im, vtac_id **values)
{
    for (int i = 0; i < 3; i++) {
        values[i] = vtac_make_room(&im->maker, MAX_VARIABLES, sizeof **values);
    }
    for (uint32_t i = 0; im->maker.status == VTA_OK && i < im->variable_count; i++) {
        values[2][i] = value_of_variable(im, &im->variables[i]);
    }
    return im->maker.status == VTA_OK;
}

/* Stores the variables in `after` and restores them from `before`. */
static void swap_variables(vtac_tflite *im, vtac_id *after, const vtac_id *before)
{
    for (uint32_t i = 0; i < im->variable_count; i++) {
        after[i] = im->variables[i].value;
        im->variables[i].value = before[i];
    }
}

static void choose_variables(vtac_tflite *im, vtac_id condition, vtac_id *const *values)
{
    vtac_import_builder *m = &im->maker;
    for (uint32_t i = 0; m->status == VTA_OK && i < im->variable_count; i++) {
        const vtac_id a = values[1][i];
        const vtac_id b = values[0][i];
        if (a != b && (a == 0 || b == 0 || !vtac_made_alike(m, a, b))) {
            vtac_make_refuse(&im->maker,
                             "a branch that the run decides, with a variable of another shape, or of none");
            return;
        }
        im->variables[i].value = a == b ? a : vtac_make3(m, VTAC_OP_WHERE, condition, a, b);
    }
}

/* condition, inputs of either graph; options: the graph where it holds, the other */
void vtac_tflite_import_if(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_op *op = im->op;
    const int64_t numbers[] = {vtac_tflite_option(im, 1, 4, 0),
                               vtac_tflite_option(im, 0, 4, 0)}; /* else, then */
    const argument *given = alloc_arguments(im, op->inputs, op->input_count);
    const int truth = truth_of(im, given);
    const argument *out[2] = {NULL, NULL};
    vtac_id *values[3] = {NULL}; /* of variables: after either branch, and before */
    if (truth < 0 && !save_variables(im, values)) {
        return;
    }
    for (int i = 0; i < 2 && given != NULL; i++) {
        if (truth < 0 || truth == i) {
            out[i] = call_graph(im, numbers[i], given + 1, op->input_count - 1, op->output_count);
        }
        if (truth < 0) {
            swap_variables(im, values[i], values[2]);
        }
    }
    im->op = op;
    if (truth < 0 && given != NULL) {
        choose_variables(im, given[0].plain, values);
    }
    for (uint32_t i = 0; m->status == VTA_OK && i < op->output_count; i++) {
        if (truth >= 0) {
            set_output(im, i, &out[truth][i]);
            continue;
        }
        vtac_id side[2];
        for (int k = 0; k < 2; k++) {
            static const int64_t to_plain[] = {0, 2, 3, 1};
            side[k] = out[k][i].plain != 0 ? out[k][i].plain
                                           : vtac_make_transpose(m, out[k][i].planes, to_plain, 4);
        }
        if (out[0][i].handle != 0 || !vtac_made_alike(m, side[0], side[1])) {
            vtac_make_refuse(&im->maker,
                             "a branch that the run decides, with results of different shapes or handles");
            return;
        }
        vtac_tflite_set(im, i, vtac_make3(m, VTAC_OP_WHERE, given[0].plain, side[1], side[0]));
    }
}

/* options: the graph, which sets variables */
void vtac_tflite_import_call_once(vtac_tflite *im)
{
    const vtac_tflite_op *op = im->op;
    const bool once = im->once;
    im->once = true;
    (void)call_graph(im, vtac_tflite_option(im, 0, 4, 0), (const argument[]){{0}}, 0, 0);
    im->once = once;
    im->op = op;
}

/* ---- variables */

/* options: container, name */
void vtac_tflite_import_variable(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    vtac_flat *f = &im->model.flat;
    vtac_tflite_variable v = {.value = 0};
    v.container = vtac_flat_text(f, im->op->options, 0, &v.length[0]);
    v.name = vtac_flat_text(f, im->op->options, 1, &v.length[1]);
    vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    uint32_t at = 0;
    for (; at < im->variable_count; at++) {
        const vtac_tflite_variable *w = &im->variables[at];
        const bool same = w->length[0] == v.length[0] && w->length[1] == v.length[1] &&
                          (v.length[0] == 0 || memcmp(w->container, v.container, v.length[0]) == 0) &&
                          (v.length[1] == 0 || memcmp(w->name, v.name, v.length[1]) == 0);
        if (same) {
            break;
        }
    }
    if (im->variables == NULL) {
        im->variables = vtac_make_room(m, MAX_VARIABLES, sizeof *im->variables);
    }
    if (m->status != VTA_OK || at == MAX_VARIABLES || !out->is_resource) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "a handle that is none, or more than %d variables", MAX_VARIABLES);
        return;
    }
    if (at == im->variable_count) {
        if (at == 0 && (im->options == NULL || !im->options->states)) {
            vtac_import_note(im->options, "its variables start anew in each run");
        }
        im->variables[im->variable_count++] = v;
    }
    out->handle = at + 1;
}

static vtac_tflite_variable *variable_of(vtac_tflite *im)
{
    const vtac_tflite_tensor *t = vtac_tflite_in(im, 0);
    if (im->maker.status != VTA_OK || t->handle == 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "input 0 is no variable");
        return NULL;
    }
    return &im->variables[t->handle - 1];
}

/* Current value of a variable: before its first assignment in this run, the value from the last run. */
static vtac_id value_of_variable(vtac_tflite *im, vtac_tflite_variable *v)
{
    if (v->fresh && !im->once) {
        char name[200];
        (void)snprintf(name, sizeof name, "%.*s", (int)(v->length[1] < 190 ? v->length[1] : 190),
                       v->name == NULL ? "variable" : v->name);
        v->fresh = false;
        v->value = vtac_tflite_state_of(im, name, v->value, &v->value);
    }
    return v->value;
}

void vtac_tflite_import_read_variable(vtac_tflite *im)
{
    vtac_tflite_variable *v = variable_of(im);
    if (v != NULL && v->value == 0) {
        vtac_make_fail(&im->maker, VTA_INVALID, "a variable '%.*s' that nothing was assigned to",
                       (int)(v->length[1] < 80 ? v->length[1] : 80), v->name == NULL ? "" : v->name);
        return;
    }
    if (v != NULL) {
        vtac_tflite_set(im, 0, value_of_variable(im, v));
    }
}

void vtac_tflite_import_assign_variable(vtac_tflite *im)
{
    vtac_tflite_variable *v = variable_of(im);
    const vtac_id value = vtac_tflite_plain(im, 1);
    if (v != NULL && im->maker.status == VTA_OK) {
        v->value = value;
        v->fresh = im->once;
    }
}
