/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over a graph of TensorFlow, from its outputs back to its inputs, calls of functions written out.
 */
#include "import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

/* ---- the table */

static const vtac_tf_operator table[] = {
#define TF_OP(name, in_min, fn, how) {#name, in_min, vtac_tf_import_##fn, how},
#include "operators.def"
};

const vtac_tf_operator *vtac_tf_operator_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* Ends of a graph that are no outputs: what trains, saves and reports. */
static bool is_leftover(const char *op)
{
    static const char *const names[] = {"NoOp",
                                        "Exit",
                                        "Assert",
                                        "Const",
                                        "Placeholder",
                                        "SaveV2",
                                        "RestoreV2",
                                        "MergeV2Checkpoints",
                                        "ShardedFilename",
                                        "Assign",
                                        "AssignAdd",
                                        "AssignSub",
                                        "AssignVariableOp",
                                        "MergeSummary",
                                        "ScalarSummary",
                                        "HistogramSummary",
                                        "Print",
                                        "VarHandleOp",
                                        "VariableV2",
                                        "Variable",
                                        "StringJoin",
                                        "Save",
                                        "TensorSummaryV2",
                                        "VarIsInitializedOp",
                                        "ApplyMomentum",
                                        "ApplyAdam",
                                        "ApplyGradientDescent"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], op) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- operators that are not taken, all at once */

typedef struct missing_operators {
    vtac_tf *im;
    uint8_t **met; /* of each function, of each node; the graph comes first, then the library */
    char list[512];
    size_t used;
    uint32_t count;
} missing_operators;

static bool is_listed(const missing_operators *c, const char *op)
{
    char quoted[64];
    (void)snprintf(quoted, sizeof quoted, "'%.48s'", op);
    return strstr(c->list, quoted) != NULL;
}

static void list_missing(missing_operators *c, const vtac_tf_node *node)
{
    if (node->row == NULL && !is_listed(c, node->op) && c->used + 120 < sizeof c->list) {
        c->used += (size_t)snprintf(c->list + c->used, sizeof c->list - c->used, "%s'%.48s' (node '%.40s')",
                                    c->used == 0 ? "" : ", ", node->op, node->name);
    }
    c->count += node->row == NULL;
}

static void check_from(missing_operators *c, const vtac_tf_function *f, uint32_t number, vtac_tf_ref ref,
                       uint32_t depth);

/* The functions that a node calls, whatever its inputs are. Branches may never be taken: they are not looked
 * at. */
static void check_called(missing_operators *c, const vtac_tf_node *node, uint32_t depth)
{
    static const char *const calls[] = {"f", "cond", "body"};
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        const vtac_tf_attr *attr = vtac_tf_attr_find(node, calls[k]);
        const vtac_tf_function *f =
            attr == NULL || depth == TF_MAX_DEPTH ? NULL : vtac_tf_function_find(&c->im->graph, attr->text);
        for (uint32_t i = 0; f != NULL && i < f->out_count; i++) {
            check_from(c, f, (uint32_t)(f - c->im->graph.library) + 1, f->results[i], depth + 1);
        }
    }
}

static void check_from(missing_operators *c, const vtac_tf_function *f, uint32_t number, vtac_tf_ref ref,
                       uint32_t depth)
{
    uint32_t *stack = malloc(((size_t)f->node_count + 1) * sizeof *stack);
    uint32_t used = 0;
    uint8_t *met = c->met[number];
    if (stack != NULL && ref.node >= 0 && met[ref.node] == 0) {
        met[ref.node] = 1;
        stack[used++] = (uint32_t)ref.node;
    }
    while (used > 0) {
        const vtac_tf_node *node = &f->nodes[stack[--used]];
        list_missing(c, node);
        check_called(c, node, depth);
        for (uint32_t i = 0; i < node->input_count; i++) {
            const int32_t from = node->inputs[i].node;
            if (from >= 0 && met[from] == 0) {
                met[from] = 1;
                stack[used++] = (uint32_t)from;
            }
        }
    }
    free(stack);
}

/* ---- nodes */

static vtac_tf_value *value_of(vtac_tf *im, vtac_tf_ref ref)
{
    vtac_tf_frame *frame = im->frame;
    if (ref.node == TF_NOWHERE) {
        vtac_make_fail(&im->maker, VTA_INVALID, "input '%.100s' is not in the graph", ref.text);
        return NULL;
    }
    if (ref.node < 0) {
        return &frame->args[-1 - ref.node];
    }
    vtac_tf_result *r = &frame->results[ref.node];
    if (ref.out >= r->count) {
        vtac_make_fail(&im->maker, VTA_INVALID, "node '%.100s' makes no output %u",
                       frame->function->nodes[ref.node].name, ref.out);
        return NULL;
    }
    return &r->out[ref.out];
}

static bool gather_inputs(vtac_tf *im)
{
    im->in_count = im->node->input_count;
    im->in = vtac_make_room(&im->maker, im->in_count, sizeof *im->in);
    for (uint32_t i = 0; im->in != NULL && i < im->in_count; i++) {
        im->in[i] = value_of(im, im->node->inputs[i]);
        if (im->in[i] == NULL) {
            return false;
        }
    }
    return im->in != NULL;
}

/* The question of a Switch before the inputs goes on to the outputs, and that they are random. */
static void pass_marks(vtac_tf *im)
{
    const vtac_tf_value *from = NULL;
    bool random = false;
    for (uint32_t i = 0; i < im->in_count; i++) {
        from = from == NULL && im->in[i]->choice != 0 ? im->in[i] : from;
        random = random || im->in[i]->random;
    }
    for (uint32_t i = 0; i < im->result->count; i++) {
        vtac_tf_value *out = &im->result->out[i];
        out->random = out->random || random;
        if (from != NULL && out->choice == 0) {
            out->choice = from->choice;
            out->side = from->side;
        }
    }
}

static bool any_dead(const vtac_tf *im)
{
    for (uint32_t i = 0; i < im->in_count; i++) {
        if (im->in[i]->dead) {
            return true;
        }
    }
    return false;
}

void vtac_import_row(vtac_tf *im)
{
    im->node->row->import(im);
}

static void import_row(vtac_tf *im, const vtac_tf_operator *row)
{
    const bool merges = strcmp(row->name, "Merge") == 0;
    if (im->in_count < row->in_min) {
        vtac_make_fail(&im->maker, VTA_INVALID, "it has %u inputs and needs %u", im->in_count, row->in_min);
        return;
    }
    if (!merges && any_dead(im)) {
        for (uint32_t i = 0; i < 2; i++) {
            vtac_tf_out(im, i)->dead = true;
        }
        return;
    }
    im->how = row->how;
    if (vtac_tf_counts_rows(im)) {
        vtac_tf_import_rows(im, row->import);
    } else {
        row->import(im);
    }
    if (!merges && row->import != vtac_tf_import_dropout_mask && row->import != vtac_tf_import_shape_of) {
        pass_marks(im);
    }
}

static void import_node(vtac_tf *im, uint32_t number)
{
    vtac_tf_frame *frame = im->frame;
    const vtac_tf_node *node = im->node = &frame->function->nodes[number];
    im->result = &frame->results[number];
    if (im->depth == 0) {
        im->maker.name = node->name;
        im->maker.origin = number;
    }
    if (++im->work > TF_MAX_WORK) {
        vtac_make_fail(&im->maker, VTA_RANGE, "functions and loops come to more than %d nodes", TF_MAX_WORK);
    } else if (gather_inputs(im)) {
        if (node->row == NULL) {
            vtac_make_refuse(&im->maker, "an operator that is not taken");
        } else {
            import_row(im, node->row);
        }
    }
    frame->results[number].state = 2;
    if (im->maker.status != VTA_OK && !im->blamed) { /* once, not for each call around it */
        im->blamed = true;
        (void)vta_context(im->maker.diag, "node '%.100s' (%.40s)", node->name, node->op);
    }
}

typedef struct visit {
    uint32_t node, next; /* its next input that was not looked at */
} visit;

/* The next input of the node on top that is not made yet; TF_NOWHERE: all are. */
static int32_t next_unmade(const vtac_tf_frame *frame, visit *top)
{
    const vtac_tf_node *node = &frame->function->nodes[top->node];
    while (top->next < node->input_count) {
        const int32_t from = node->inputs[top->next++].node;
        if (from >= 0 && frame->results[from].state != 2) {
            return from;
        }
    }
    return TF_NOWHERE;
}

/* Makes a node of the current frame, all that it needs first. */
static void make_node(vtac_tf *im, uint32_t number)
{
    vtac_tf_frame *frame = im->frame;
    visit *stack = frame->results[number].state == 2
                       ? NULL
                       : malloc(((size_t)frame->function->node_count + 1) * sizeof *stack);
    uint32_t used = 0;
    if (stack == NULL) {
        if (frame->results[number].state != 2) {
            vtac_make_fail(&im->maker, VTA_NOMEM, "out of memory");
        }
        return;
    }
    stack[used++] = (visit){number, 0};
    while (used > 0 && im->maker.status == VTA_OK) {
        visit *top = &stack[used - 1];
        frame->results[top->node].state = 1;
        const int32_t from = next_unmade(frame, top);
        if (from == TF_NOWHERE) {
            import_node(im, top->node);
            used--;
        } else if (frame->results[from].state == 1) {
            vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "node '%.100s' is in a circle",
                           frame->function->nodes[from].name);
        } else {
            stack[used++] = (visit){(uint32_t)from, 0};
        }
    }
    free(stack);
}

static vtac_tf_value *make_ref(vtac_tf *im, vtac_tf_ref ref)
{
    if (ref.node >= 0) {
        make_node(im, (uint32_t)ref.node);
    }
    return im->maker.status == VTA_OK ? value_of(im, ref) : NULL;
}

static bool open_frame(vtac_tf *im, const vtac_tf_function *f, vtac_tf_value *args, vtac_tf_frame *frame)
{
    *frame = (vtac_tf_frame){.function = f, .args = args};
    frame->results = vtac_make_room(&im->maker, f->node_count, sizeof *frame->results);
    return frame->results != NULL;
}

/* ---- calls */

static bool run_frame(vtac_tf *im, const vtac_tf_function *f, vtac_tf_value *args, vtac_tf_value **out)
{
    vtac_tf_frame frame;
    *out = vtac_make_room(&im->maker, f->out_count, sizeof **out);
    if (*out == NULL || !open_frame(im, f, args, &frame)) {
        return false;
    }
    im->frame = &frame;
    im->depth++;
    for (uint32_t i = 0; i < f->out_count && im->maker.status == VTA_OK; i++) {
        const vtac_tf_value *v = make_ref(im, f->results[i]);
        (*out)[i] = v == NULL ? (vtac_tf_value){0} : *v;
    }
    im->depth--;
    return im->maker.status == VTA_OK;
}

bool vtac_tf_call(vtac_tf *im, const char *name, vtac_tf_value *args, uint32_t arg_count, vtac_tf_value **out,
                  uint32_t *out_count)
{
    const vtac_tf saved = *im;
    const vtac_tf_function *f = vtac_tf_function_find(&im->graph, name);
    if (f == NULL || f->arg_count != arg_count || im->depth == TF_MAX_DEPTH) {
        vtac_make_fail(&im->maker, f == NULL ? VTA_INVALID : VTA_UNSUPPORTED,
                       f == NULL                   ? "function '%.100s' is not in the library"
                       : f->arg_count != arg_count ? "function '%.100s' has another number of arguments"
                                                   : "function '%.100s' is called in too many others",
                       name);
        return false;
    }
    *out_count = f->out_count;
    const bool good = run_frame(im, f, args, out);
    im->frame = saved.frame;
    im->node = saved.node;
    im->in = saved.in;
    im->in_count = saved.in_count;
    im->result = saved.result;
    im->how = saved.how;
    return good;
}

/* ---- inputs */

/* --shape of an input by the signature's name or the node's; NULL: there is none. */
static const vtac_shape_option *shape_given(const vtac_tf *im, const char *name, const vtac_tf_node *node)
{
    const vtac_shape_option *option = vtac_import_shape(im->options, name);
    return option != NULL ? option : vtac_import_shape(im->options, node->name);
}

/* Fills in what the file leaves open: from --shape, and 1 for a batch. */
static vta_status close_shape(vtac_tf *im, const char *name, const vtac_shape_option *option,
                              const vtac_tf_shape *shape, vtac_type *type, vta_diag *diag)
{
    if (option != NULL && shape->rank != TF_OPEN_RANK && option->rank != shape->rank) {
        return vta_fail(diag, VTA_INVALID, "input '%.100s' has %u axes, --shape gives %u", name, shape->rank,
                        option->rank);
    }
    if (option == NULL &&
        shape->rank == TF_OPEN_RANK) { /* as that of a rate, which is fed beside a picture */
        vtac_import_note(im->options,
                         "input '%.100s': the graph leaves its shape open, taken as one number; --shape "
                         "%.60s=AxBxC gives another",
                         name, name);
        type->rank = 0;
        return VTA_OK;
    }
    type->rank = option != NULL ? option->rank : shape->rank;
    for (uint32_t i = 0; i < type->rank; i++) {
        const int64_t own = shape->rank == TF_OPEN_RANK ? -1 : shape->dim[i];
        type->dim[i] = option != NULL ? option->dim[i] : own;
        if (option != NULL && own >= 0 && i > 0 && own != option->dim[i]) {
            return vta_fail(diag, VTA_INVALID, "input '%.100s': axis %u is %lld in the graph, not %lld", name,
                            i, (long long)own, (long long)option->dim[i]);
        }
        if (type->dim[i] < 0 && i == 0) {
            vtac_import_note(im->options, "input '%.200s': axis 0 is open in the graph, taken as 1", name);
            type->dim[i] = 1;
        } else if (type->dim[i] < 0) {
            return vta_fail(
                diag, VTA_INVALID,
                "input '%.100s': the graph leaves the size of axis %u open; give --shape %.100s=...", name, i,
                name);
        }
    }
    return VTA_OK;
}

static int64_t type_number(const vtac_tf_node *node)
{
    const int64_t number = vtac_tf_int(node, "dtype", 0);
    return number != 0 ? number : vtac_tf_int(node, "T", 1);
}

/* Makes an output of a node an input of the model. */
static vta_status add_input(vtac_tf *im, vtac_tf_ref ref, const char *name, const vtac_tf_shape *known,
                            vta_diag *diag)
{
    const vtac_tf_node *node = &im->frame->function->nodes[ref.node];
    const vtac_tf_attr *attr = vtac_tf_attr_find(node, "shape");
    const vtac_tf_shape open = {.rank = TF_OPEN_RANK};
    const vtac_shape_option *option = shape_given(im, name, node);
    const bool asked = option != NULL && attr != NULL; /* then only what the node fixes */
    const vtac_tf_shape *shape = known != NULL && !asked ? known : attr != NULL ? &attr->shape : &open;
    vtac_type type = {.dtype = vtac_tf_dtype(type_number(node))};
    vtac_id id;
    if (im->frame->results[ref.node].state == 2) {
        return VTA_OK;
    }
    if (type.dtype == VTAC_NO_DTYPE) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "input '%.100s' takes no numbers (a text, a resource); cut it off with --shape NODE=AxBxC, "
            "NODE being what makes the first tensor of numbers",
            name);
    }
    VTA_TRY(close_shape(im, name, option, shape, &type, diag));
    VTA_TRY(vtac_add_input(im->maker.graph, name, &type, &id, diag));
    im->result = &im->frame->results[ref.node];
    *vtac_tf_out(im, ref.out) = (vtac_tf_value){.plain = id};
    im->result->state = 2;
    return im->maker.status;
}

/* The names without a number that a signature, or the file, gives inputs. */
static vta_status add_inputs(vtac_tf *im, const uint8_t *met, vta_diag *diag)
{
    const vtac_tf_function *f = &im->graph.main;
    for (uint32_t i = 0; i < im->graph.input_count; i++) {
        const vtac_tf_end *end = &im->graph.inputs[i];
        const vtac_tf_ref ref = vtac_tf_find(f, end->ref);
        if (ref.node < 0) {
            return vta_fail(diag, VTA_INVALID, "input '%.100s' is '%.100s', which is not in the graph",
                            end->name, end->ref);
        }
        const bool is_open = end->shape.rank == TF_OPEN_RANK;
        VTA_TRY(met[ref.node] == 0 ? VTA_OK
                                   : add_input(im, ref, end->name, is_open ? NULL : &end->shape, diag));
    }
    for (uint32_t i = 0; i < f->node_count; i++) {
        const vtac_tf_node *node = &f->nodes[i];
        const bool asked = vtac_import_shape(im->options, node->name) != NULL;
        if (met[i] != 0 && (asked || strcmp(node->op, "Placeholder") == 0)) {
            VTA_TRY(add_input(im, (vtac_tf_ref){.node = (int32_t)i}, node->name, NULL, diag));
        }
    }
    return VTA_OK;
}

/* ---- outputs */

/* Nodes that nothing uses and that are no leftovers of training are the outputs of a graph without a
 * signature. */
static vta_status find_outputs(vtac_tf *im, vta_diag *diag)
{
    vtac_tf_graph *g = &im->graph;
    const vtac_tf_function *f = &g->main;
    bool *used = NULL;
    VTA_TRY(vtac_tf_room(g->arena, f->node_count, sizeof *used, &used, diag));
    for (uint32_t i = 0; i < f->node_count; i++) {
        for (uint32_t k = 0; k < f->nodes[i].input_count; k++) {
            const int32_t from = f->nodes[i].inputs[k].node;
            used[from < 0 ? (int32_t)i : from] = used[from < 0 ? (int32_t)i : from] || from >= 0;
        }
    }
    VTA_TRY(vtac_tf_room(g->arena, f->node_count, sizeof *g->outputs, &g->outputs, diag));
    for (uint32_t i = 0; i < f->node_count; i++) {
        if (!used[i] && !is_leftover(f->nodes[i].op)) {
            g->outputs[g->output_count++] = (vtac_tf_end){.name = f->nodes[i].name, .ref = f->nodes[i].name};
        }
    }
    return g->output_count > 0
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "the graph has no output: name one with --output-value");
}

/* The outputs that the user names, instead of the file's. */
static vta_status choose_outputs(vtac_tf *im, vta_diag *diag)
{
    vtac_tf_graph *g = &im->graph;
    const vtac_import_options *options = im->options;
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < g->output_count && used + 48 < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.40s'", i == 0 ? "" : ", ",
                                 g->outputs[i].name);
    }
    vtac_tf_end *chosen;
    VTA_TRY(vtac_tf_room(g->arena, options->output_count, sizeof *chosen, &chosen, diag));
    for (uint32_t i = 0; i < options->output_count; i++) {
        chosen[i] = (vtac_tf_end){.name = options->outputs[i], .ref = options->outputs[i]};
        for (uint32_t k = 0; k < g->output_count; k++) {
            if (strcmp(g->outputs[k].name, options->outputs[i]) == 0) {
                chosen[i].ref = g->outputs[k].ref;
            }
        }
        if (vtac_tf_find(&g->main, chosen[i].ref).node < 0) {
            return vta_fail(diag, VTA_INVALID,
                            "--output-value: no node is called '%.100s'; the outputs are %s", chosen[i].name,
                            list);
        }
    }
    g->outputs = chosen;
    g->output_count = options->output_count;
    return VTA_OK;
}

static vta_status add_output(vtac_tf *im, const vtac_tf_end *end, vta_diag *diag)
{
    vtac_graph *g = im->maker.graph;
    vtac_tf_value *v = make_ref(im, vtac_tf_find(&im->graph.main, end->ref));
    vtac_id id = v == NULL ? 0 : vtac_tf_plain_of(im, v);
    if (v != NULL && im->maker.status == VTA_OK && v->random) {
        vtac_make_refuse(&im->maker, "it depends on random numbers, which are taken for dropout alone");
    }
    if (v != NULL && im->maker.status == VTA_OK && v->rows != NULL) {
        vtac_make_refuse(&im->maker,
                         "the run counts its rows; --output-value NODE ends the graph before they are "
                         "found, or where a number of rows is filled up");
    }
    if (im->maker.status != VTA_OK) {
        return vta_context(diag, "output '%.100s'", end->name);
    }
    if (g->values[id].node == 0 || vtac_is_output(g, id)) {
        const vtac_node_spec spec = {
            .op = VTAC_OP_IDENTITY, .name = end->name, .inputs = &id, .input_count = 1, .output_count = 1};
        vtac_node_id node;
        VTA_TRY(vtac_add_node(g, &spec, &node, diag));
        id = g->nodes[node].outputs[0];
    }
    VTA_TRY(strcmp(g->values[id].name, end->name) == 0 ? VTA_OK : vtac_rename_value(g, id, end->name, diag));
    return vtac_add_output(g, id, diag);
}

/* ---- the whole */

static vta_status check_operators(vtac_tf *im, uint8_t **met, vta_diag *diag)
{
    vtac_tf_graph *g = &im->graph;
    missing_operators c = {.im = im};
    VTA_TRY(vtac_tf_room(g->arena, g->library_count + 1, sizeof *c.met, &c.met, diag));
    for (uint32_t i = 0; i <= g->library_count; i++) {
        const vtac_tf_function *f = i == 0 ? &g->main : &g->library[i - 1];
        VTA_TRY(vtac_tf_room(g->arena, f->node_count, 1, &c.met[i], diag));
    }
    for (uint32_t i = 0; i < g->main.node_count; i++) { /* nothing behind an input matters */
        c.met[0][i] = vtac_import_shape(im->options, g->main.nodes[i].name) != NULL ? 2 : 0;
    }
    for (uint32_t i = 0; i < g->input_count; i++) {
        const vtac_tf_ref ref = vtac_tf_find(&g->main, g->inputs[i].ref);
        if (ref.node >= 0) {
            c.met[0][ref.node] = 2;
        }
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        const vtac_tf_ref ref = vtac_tf_find(&g->main, g->outputs[i].ref);
        if (ref.node < 0) {
            return vta_fail(diag, VTA_INVALID, "output '%.100s' is '%.100s', which is not in the graph",
                            g->outputs[i].name, g->outputs[i].ref);
        }
        check_from(&c, &g->main, 0, ref, 0);
    }
    *met = c.met[0];
    return c.count == 0 ? VTA_OK
                        : vta_fail(diag, VTA_UNSUPPORTED, "operators that are not supported: %s", c.list);
}

/* Settles the outputs, and which nodes they reach: met, by node of the main graph. */
static vta_status settle_graph(vtac_tf *im, uint8_t **met, vta_diag *diag)
{
    VTA_TRY(vtac_tf_close_loops(&im->graph, diag));
    if (im->graph.output_count == 0) {
        VTA_TRY(find_outputs(im, diag));
    }
    if (im->options != NULL && im->options->output_count > 0) {
        VTA_TRY(choose_outputs(im, diag));
    }
    return check_operators(im, met, diag);
}

vta_status vtac_tf_import(vtac_tf *im, vta_diag *diag)
{
    vtac_tf_frame frame;
    uint8_t *met = NULL;
    VTA_TRY(settle_graph(im, &met, diag));
    if (!open_frame(im, &im->graph.main, NULL, &frame)) {
        return im->maker.status;
    }
    im->frame = &frame;
    im->counts = vtac_make_room(&im->maker, TF_MAX_COUNTS, sizeof *im->counts);
    VTA_TRY(im->maker.status);
    VTA_TRY(add_inputs(im, met, diag));
    for (uint32_t i = 0; i < im->graph.output_count; i++) {
        VTA_TRY(add_output(im, &im->graph.outputs[i], diag));
    }
    return vtac_graph_sort(im->maker.graph, diag);
}
