/* SPDX-License-Identifier: Apache-2.0
 *
 * RNN, GRU and LSTM over an open number of steps or rows: what the input gives is one product for all steps,
 * the rest a Scan for each direction. Where rows have lengths of their own, the steps behind them change no
 * state and give zeros; backwards these steps come first.
 */
#include <string.h>
#include <strings.h>

#include "flow_make.h"

#include "vta/fail.h"

/* A function of a gate, with what its attributes say. */
typedef struct gate {
    const char *type;
    bool has_alpha, has_beta;
    float alpha, beta;
} gate;

typedef struct recurrent {
    vtac_flow_maker make;
    vtac_flow_work *w;
    const vtac_flow_node *item;
    vta_vec nodes; /* of Onnx__NodeProto * */
    int64_t hidden;
    int gates;            /* rows of the weights, in parts of `hidden` */
    gate functions[2][3]; /* of each direction */
    vtac_dtype dtype;
    float clip;                  /* of what goes into a function; 0: none */
    bool after;                  /* GRU: the reset gate comes behind the product */
    bool coupled;                /* LSTM: what is forgotten is what comes in */
    bool rows_first;             /* layout 1 */
    char *x;                     /* the input, steps first */
    char *counts;                /* which steps of which rows count, [steps][rows][1]; NULL: all */
    int names, direction_number; /* made so far; the direction */
} recurrent;

static char *push_node(recurrent *r, const char *type, char *a, char *c)
{
    char *out = vtac_fm_name(&r->make, "value", r->names++);
    Onnx__NodeProto *node = vtac_fm_simple(&r->make, type, a, c, out);
    r->make.failed = r->make.failed || node == NULL || vta_vec_push(&r->nodes, &node) == NULL;
    return out;
}

static Onnx__NodeProto *last_node(recurrent *r)
{
    return r->make.failed ? NULL : *(Onnx__NodeProto **)vta_vec_at(&r->nodes, r->nodes.count - 1);
}

/* The last node's attribute. */
static void set_int(recurrent *r, const char *name, int64_t value)
{
    vtac_fm_set_int(&r->make, last_node(r), name, value);
}

/* Integers of one axis; `count` 0: one without axes. */
static char *push_ints(recurrent *r, const int64_t *values, size_t count)
{
    char *out = push_node(r, "Constant", NULL, NULL);
    Onnx__TensorProto *t = vtac_fm_tensor(&r->make, last_node(r), ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    int64_t *kept = vtac_fm_room(&r->make, count + 1, sizeof *kept);
    if (r->make.failed) {
        return out;
    }
    memcpy(kept, values, (count == 0 ? 1 : count) * sizeof *kept);
    kept[count + 1] = (int64_t)count;
    t->int64_data = kept;
    t->n_int64_data = count == 0 ? 1 : count;
    if (count > 0) {
        t->dims = kept + count + 1;
        t->n_dims = 1;
    }
    return out;
}

/* A number of the weights' type. */
static char *push_real(recurrent *r, float value)
{
    char *out = push_node(r, "Constant", NULL, NULL);
    Onnx__TensorProto *t = vtac_fm_tensor(&r->make, last_node(r), ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    float *kept = vtac_fm_room(&r->make, 1, sizeof *kept);
    if (r->make.failed) {
        return out;
    }
    *kept = value;
    t->float_data = kept;
    t->n_float_data = 1;
    if (r->dtype != VTAC_F32) {
        out = push_node(r, "Cast", out, NULL);
        set_int(r, "to",
                r->dtype == VTAC_F64   ? ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE
                : r->dtype == VTAC_F16 ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16
                                       : ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16);
    }
    return out;
}

static char *push_int(recurrent *r, int64_t value)
{
    return push_ints(r, &value, 0);
}

/* Part `i` of `hidden` elements of the last axis, to part `end`. */
static char *push_slice(recurrent *r, char *x, int64_t from, int64_t end, int64_t axis)
{
    const int64_t numbers[] = {from * r->hidden, end * r->hidden, axis};
    char *ends[3];
    for (int i = 0; i < 3; i++) {
        ends[i] = push_ints(r, &numbers[i], 1);
    }
    char *out = vtac_fm_name(&r->make, "value", r->names++);
    Onnx__NodeProto *node = vtac_fm_node(&r->make, "Slice", 4, 1);
    r->make.failed = r->make.failed || node == NULL || vta_vec_push(&r->nodes, &node) == NULL;
    if (!r->make.failed) {
        node->input[0] = x;
        memcpy(node->input + 1, ends, sizeof ends);
        node->output[0] = out;
    }
    return out;
}

/* This direction's part of an input, if the input is there; NULL otherwise. */
static char *given_input(recurrent *r, size_t input)
{
    const Onnx__NodeProto *node = r->item->node;
    if (input >= node->n_input || vtac_proto_text(node->input[input])[0] == '\0') {
        return NULL;
    }
    char *out = push_node(r, "Gather", node->input[input], push_int(r, r->direction_number));
    if (r->rows_first && (input == 5 || input == 6)) { /* a state */
        set_int(r, "axis", 1);
    }
    return out;
}

static char *push_transpose(recurrent *r, char *x)
{
    return push_node(r, "Transpose", x, NULL);
}

static char *push_unsqueeze(recurrent *r, char *x, const int64_t *axes, size_t count)
{
    char *out = push_node(r, "Transpose", x, NULL);
    Onnx__AttributeProto *attr = vtac_fm_attr(&r->make, last_node(r), "perm");
    int64_t *kept = vtac_fm_room(&r->make, count, sizeof *kept);
    if (!r->make.failed) {
        memcpy(kept, axes, count * sizeof *kept);
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        attr->ints = kept;
        attr->n_ints = count;
    }
    return out;
}

/* A state of this direction; zeros of the input's rows. */
static char *push_state(recurrent *r, size_t input, char *x, char *like)
{
    char *first = given_input(r, input);
    if (first != NULL) {
        return first;
    }
    char *rows = push_node(r, "Gather", push_node(r, "Shape", x, NULL), push_int(r, 1));
    const int64_t one = 1;
    rows = push_node(r, "Reshape", rows, push_ints(r, &one, 1));
    char *shape = push_node(r, "Concat", rows, push_ints(r, &r->hidden, 1));
    set_int(r, "axis", 0);
    char *zero = push_node(r, "Sub", like, like); /* of the type that the weights have */
    zero = push_node(r, "Gather", push_node(r, "Gather", zero, push_int(r, 0)), push_int(r, 0));
    return push_node(r, "Expand", zero, shape);
}

/* Attributes alpha and beta of the last node, where the model gives them. */
static void set_parameters(recurrent *r, const gate *g)
{
    const struct {
        const char *name;
        bool given;
        float value;
    } both[] = {{"alpha", g->has_alpha, g->alpha}, {"beta", g->has_beta, g->beta}};
    Onnx__NodeProto *node = last_node(r);
    Onnx__AttributeProto **list = vtac_fm_room(&r->make, 2, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < 2 && !r->make.failed; i++) {
        if (both[i].given) {
            list[count] = vtac_fm_attr(&r->make, node, both[i].name);
        }
        if (both[i].given && !r->make.failed) {
            list[count]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
            list[count++]->f = both[i].value;
        }
    }
    if (!r->make.failed) {
        node->attribute = list;
        node->n_attribute = count;
    }
}

/* Function `which` of this direction, of what is clipped first. */
static char *push_function(recurrent *r, int which, char *x)
{
    const gate *g = &r->functions[r->direction_number][which];
    if (r->clip > 0.0F) {
        x = push_node(r, "Min", push_node(r, "Max", x, push_real(r, -r->clip)), push_real(r, r->clip));
    }
    if (strcmp(g->type, "Affine") == 0) {
        x = push_node(r, "Mul", x, push_real(r, g->has_alpha ? g->alpha : 1.0F));
        return push_node(r, "Add", x, push_real(r, g->has_beta ? g->beta : 0.0F));
    }
    if (strcmp(g->type, "ScaledTanh") == 0) {
        x = push_node(r, "Tanh", push_node(r, "Mul", x, push_real(r, g->has_beta ? g->beta : 1.0F)), NULL);
        return push_node(r, "Mul", x, push_real(r, g->has_alpha ? g->alpha : 1.0F));
    }
    char *out = push_node(r, g->type, x, NULL);
    set_parameters(r, g);
    return out;
}

/* Gate i of an LSTM from all of them, g; with a peephole it sees the cell, too. */
static char *lstm_gate(recurrent *r, char *g, int i, char *peepholes, char *cell)
{
    char *x = push_slice(r, g, i, i + 1, -1);
    x = peepholes != NULL
            ? push_node(r, "Add", x, push_node(r, "Mul", push_slice(r, peepholes, i, i + 1, 0), cell))
            : x;
    return push_function(r, 0, x);
}

/* One step: what comes of the product of the input `xw` and of what was before. `more`: the bias inside of a
 * GRU, the peepholes of an LSTM, or NULL. */
static char *push_step(recurrent *r, char *xw, char *h, char *c, char *weights, char *more, char **next_c)
{
    char *bias = more;
    if (r->gates == 4) {
        char *g = push_node(r, "Add", xw, push_node(r, "MatMul", h, weights));
        char *in = lstm_gate(r, g, 0, more, c);
        char *keep = r->coupled ? push_node(r, "Sub", push_real(r, 1.0F), in) : lstm_gate(r, g, 2, more, c);
        char *new = push_function(r, 1, push_slice(r, g, 3, 4, -1));
        *next_c = push_node(r, "Add", push_node(r, "Mul", keep, c), push_node(r, "Mul", in, new));
        return push_node(r, "Mul", lstm_gate(r, g, 1, more, *next_c), push_function(r, 2, *next_c));
    }
    if (r->gates == 1) {
        return push_function(r, 0, push_node(r, "Add", xw, push_node(r, "MatMul", h, weights)));
    }
    char *both = push_node(r, "MatMul", h, push_slice(r, weights, 0, 2, 1));
    both = bias != NULL ? push_node(r, "Add", both, push_slice(r, bias, 0, 2, 0)) : both;
    both = push_function(r, 0, push_node(r, "Add", push_slice(r, xw, 0, 2, -1), both));
    char *update = push_slice(r, both, 0, 1, -1);
    char *reset = push_slice(r, both, 1, 2, -1);
    char *product =
        push_node(r, "MatMul", r->after ? h : push_node(r, "Mul", reset, h), push_slice(r, weights, 2, 3, 1));
    product = bias != NULL ? push_node(r, "Add", product, push_slice(r, bias, 2, 3, 0)) : product;
    product = r->after ? push_node(r, "Mul", reset, product) : product;
    char *new = push_function(r, 1, push_node(r, "Add", push_slice(r, xw, 2, 3, -1), product));
    return push_node(r, "Add", new,
                     push_node(r, "Mul", update, push_node(r, "Sub", h, new))); /* (1 - z) new + z h */
}

static char *push_where(recurrent *r, char *condition, char *a, char *b)
{
    char *out = vtac_fm_name(&r->make, "value", r->names++);
    Onnx__NodeProto *node = vtac_fm_node(&r->make, "Where", 3, 1);
    r->make.failed = r->make.failed || node == NULL || vta_vec_push(&r->nodes, &node) == NULL;
    if (!r->make.failed) {
        node->input[0] = condition;
        node->input[1] = a;
        node->input[2] = b;
        node->output[0] = out;
    }
    return out;
}

static Onnx__GraphProto *body_of(recurrent *r, char *weights, char *more)
{
    const bool cell = r->gates == 4;
    Onnx__GraphProto *graph = vtac_fm_room(&r->make, 1, sizeof *graph);
    char *in[] = {vtac_fm_name(&r->make, "h", r->direction_number),
                  vtac_fm_name(&r->make, "c", r->direction_number),
                  vtac_fm_name(&r->make, "x", r->direction_number),
                  vtac_fm_name(&r->make, "counts", r->direction_number)};
    const vta_vec outside = r->nodes;
    r->nodes = (vta_vec){.item_size = sizeof(Onnx__NodeProto *)};
    char *next_c = NULL;
    char *next = push_step(r, in[2], in[0], in[1], weights, more, &next_c);
    char *given_out = next;
    if (r->counts != NULL) {
        given_out = push_where(r, in[3], next, push_node(r, "Sub", in[0], in[0]));
        next = push_where(r, in[3], next, in[0]);
        next_c = cell ? push_where(r, in[3], next_c, in[1]) : NULL;
    }
    char *out[] = {push_node(r, "Identity", next, NULL), cell ? push_node(r, "Identity", next_c, NULL) : NULL,
                   push_node(r, "Identity", given_out, NULL)};
    Onnx__NodeProto **nodes = vtac_fm_room(&r->make, r->nodes.count, sizeof *nodes);
    if (!cell) {
        in[1] = in[2];
        in[2] = in[3];
        out[1] = out[2];
    }
    if (!r->make.failed) {
        memcpy(nodes, r->nodes.items, r->nodes.count * sizeof *nodes);
        onnx__graph_proto__init(graph);
        graph->node = nodes;
        graph->n_node = r->nodes.count;
        graph->n_output = cell ? 3 : 2;
        graph->n_input = graph->n_output + (r->counts != NULL ? 1 : 0);
        graph->input = vtac_fm_infos(&r->make, in, graph->n_input);
        graph->output = vtac_fm_infos(&r->make, out, graph->n_output);
    }
    vta_vec_free(&r->nodes);
    r->nodes = outside;
    return graph;
}

static void set_attrs(recurrent *r, Onnx__NodeProto *scan, Onnx__GraphProto *body, bool backwards)
{
    static const char *const names[] = {"body", "num_scan_inputs", "scan_input_directions",
                                        "scan_output_directions"};
    Onnx__AttributeProto **list = vtac_fm_room(&r->make, 4, sizeof *list);
    int64_t *direction = vtac_fm_room(&r->make, 2, sizeof *direction);
    for (int i = 0; i < 4 && !r->make.failed; i++) {
        list[i] = vtac_fm_attr(&r->make, scan, names[i]);
    }
    if (r->make.failed) {
        return;
    }
    const size_t inputs = r->counts != NULL ? 2 : 1;
    direction[0] = direction[1] = backwards;
    list[0]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
    list[0]->g = body;
    list[1]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    list[1]->i = (int64_t)inputs;
    for (int i = 2; i < 4; i++) {
        list[i]->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        list[i]->ints = direction;
        list[i]->n_ints = i == 2 ? inputs : 1;
    }
    scan->attribute = list;
    scan->n_attribute = 4;
}

/* One direction: its last states and all that it gave, in the shapes of the operator. */
static void push_direction(recurrent *r, bool backwards, char **y, char **y_h, char **y_c)
{
    const bool cell = r->gates == 4;
    char *x = r->x;
    char *w = given_input(r, 1);
    char *weights = push_transpose(r, given_input(r, 2));
    char *bias = given_input(r, 3);
    char *xw = push_node(r, "MatMul", x, push_transpose(r, w));
    char *inner = NULL;
    if (bias != NULL) {
        xw = push_node(r, "Add", xw, push_slice(r, bias, 0, r->gates, 0));
        inner = push_slice(r, bias, r->gates, 2 * r->gates, 0);
        xw = r->gates == 3 ? xw : push_node(r, "Add", xw, inner); /* a GRU adds it where it multiplies */
    }
    char *h = push_state(r, 5, x, r->item->node->input[2]);
    char *c = cell ? push_state(r, 6, x, r->item->node->input[2]) : NULL;
    char *peepholes = cell ? given_input(r, 7) : NULL;
    Onnx__GraphProto *body = body_of(r, weights, r->gates == 3 ? inner : peepholes);
    const size_t outputs = cell ? 3 : 2;
    Onnx__NodeProto *scan = vtac_fm_node(&r->make, "Scan", outputs + (r->counts != NULL ? 1 : 0), outputs);
    r->make.failed = r->make.failed || vta_vec_push(&r->nodes, &scan) == NULL;
    if (r->make.failed) {
        return;
    }
    set_attrs(r, scan, body, backwards);
    scan->input[0] = h;
    scan->input[cell ? 1 : 0] = cell ? c : h;
    scan->input[cell ? 2 : 1] = xw;
    if (r->counts != NULL) {
        scan->input[outputs] = r->counts;
    }
    for (size_t i = 0; i < scan->n_output; i++) {
        scan->output[i] = vtac_fm_name(&r->make, "value", r->names++);
    }
    const int64_t all[] = {0, 1, -1, r->hidden};
    const int64_t one[] = {1, -1, r->hidden};
    *y = push_node(r, "Reshape", scan->output[cell ? 2 : 1], push_ints(r, all, 4));
    *y_h = push_node(r, "Reshape", scan->output[0], push_ints(r, one, 3));
    *y_c = cell ? push_node(r, "Reshape", scan->output[1], push_ints(r, one, 3)) : NULL;
}

/* Condition that step t comes before the end of row n. */
static char *steps_that_count(recurrent *r, char *lengths)
{
    const int64_t down[] = {-1, 1, 1};
    const int64_t across[] = {1, -1, 1};
    char *steps = push_node(r, "Gather", push_node(r, "Shape", r->x, NULL), push_int(r, 0));
    char *range = vtac_fm_name(&r->make, "value", r->names++);
    char *zero = push_int(r, 0);
    char *one = push_int(r, 1);
    Onnx__NodeProto *node = vtac_fm_node(&r->make, "Range", 3, 1);
    r->make.failed = r->make.failed || node == NULL || vta_vec_push(&r->nodes, &node) == NULL;
    if (r->make.failed) {
        return NULL;
    }
    node->input[0] = zero;
    node->input[1] = steps;
    node->input[2] = one;
    node->output[0] = range;
    char *ends = push_node(r, "Cast", lengths, NULL);
    set_int(r, "to", ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
    return push_node(r, "Less", push_node(r, "Reshape", range, push_ints(r, down, 3)),
                     push_node(r, "Reshape", ends, push_ints(r, across, 3)));
}

static char *push_concat(recurrent *r, char *const *parts, size_t count, int64_t axis)
{
    char *out = push_node(r, "Concat", parts[0], count > 1 ? parts[1] : NULL);
    set_int(r, "axis", axis);
    return out;
}

static bool is_text(const ProtobufCBinaryData *text, const char *word)
{
    const size_t size = strlen(word);
    return text->len == size && strncasecmp((const char *)text->data, word, size) == 0;
}

/* Takes the next of a list of parameters; they are used up in the order of the functions that have one. */
static void next_parameter(const Onnx__AttributeProto *list, bool wanted, size_t *used, bool *has, float *out)
{
    *has = wanted && list != NULL && *used < list->n_floats;
    if (*has) {
        *out = list->floats[(*used)++];
    }
}

static vta_status read_functions(recurrent *r, size_t ways, vta_diag *diag)
{
    static const struct {
        const char *name;
        bool alpha, beta;
    } known[] = {
        {"Affine", true, true},           {"Elu", true, false},
        {"HardSigmoid", true, true},      {"LeakyRelu", true, false},
        {"Relu", false, false},           {"ScaledTanh", true, true},
        {"Sigmoid", false, false},        {"Softplus", false, false},
        {"Softsign", false, false},       {"Tanh", false, false},
        {"ThresholdedRelu", true, false},
    };
    const size_t each = r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1;
    const Onnx__NodeProto *node = r->item->node;
    const Onnx__AttributeProto *names = vtac_proto_attr(node, "activations");
    const Onnx__AttributeProto *alphas = vtac_proto_attr(node, "activation_alpha");
    const Onnx__AttributeProto *betas = vtac_proto_attr(node, "activation_beta");
    const size_t given_count = names != NULL ? names->n_strings : 0;
    size_t used[2] = {0, 0};
    if (given_count != 0 && given_count != each * ways) {
        return vta_fail(diag, VTA_INVALID, "%zu activations, expected %zu for each of %zu directions",
                        given_count, each, ways);
    }
    for (size_t i = 0; i < 2 * each; i++) {
        gate *g = &r->functions[i / each][i % each];
        g->type = each > 1 && i % each == 0 ? "Sigmoid" : "Tanh";
        if (i >= given_count) {
            continue;
        }
        size_t which = 0;
        while (which < sizeof known / sizeof known[0] && !is_text(&names->strings[i], known[which].name)) {
            which++;
        }
        if (which == sizeof known / sizeof known[0]) {
            return vta_fail(diag, VTA_UNSUPPORTED, "the activation '%.*s' is not known",
                            (int)(names->strings[i].len < 64 ? names->strings[i].len : 64),
                            (const char *)names->strings[i].data);
        }
        g->type = known[which].name;
        next_parameter(alphas, known[which].alpha, &used[0], &g->has_alpha, &g->alpha);
        next_parameter(betas, known[which].beta, &used[1], &g->has_beta, &g->beta);
    }
    return VTA_OK;
}

static vta_status check_operator(recurrent *r, vta_diag *diag)
{
    const Onnx__NodeProto *node = r->item->node;
    const vtac_flow_value *weights = vtac_flow_input(r->w->b, r->item, 2);
    const Onnx__AttributeProto *layout = vtac_proto_attr(node, "layout");
    const Onnx__AttributeProto *forget = vtac_proto_attr(node, "input_forget");
    const Onnx__AttributeProto *clip = vtac_proto_attr(node, "clip");
    if (node->n_input < 3 || node->n_input > 8 || node->n_output > 3) {
        return vta_fail(diag, VTA_INVALID, "%zu inputs and %zu outputs, expected 3 to 8 and up to 3",
                        node->n_input, node->n_output);
    }
    if (weights == NULL || !weights->known || weights->type.rank != 3 || weights->type.dim[2] < 1) {
        return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes its weights are to have a known size");
    }
    r->hidden = weights->type.dim[2];
    r->dtype = weights->type.dtype;
    r->clip = clip != NULL ? clip->f : 0.0F;
    r->rows_first = layout != NULL && layout->i != 0;
    r->coupled = forget != NULL && forget->i != 0;
    return read_functions(r, weights->type.dim[0] == 2 ? 2 : 1, diag);
}

static vta_status build_operator(recurrent *r, vta_diag *diag)
{
    const Onnx__NodeProto *node = r->item->node;
    const Onnx__AttributeProto *attr = vtac_proto_attr(node, "direction");
    char direction_name[16] = "forward";
    char *y[3][2];
    if (attr != NULL && attr->s.len < sizeof direction_name) {
        memcpy(direction_name, attr->s.data, attr->s.len);
        direction_name[attr->s.len] = '\0';
    }
    const size_t count = strcmp(direction_name, "bidirectional") == 0 ? 2 : 1;
    const vtac_flow_value *weights = vtac_flow_input(r->w->b, r->item, 2);
    if (weights->type.dim[0] != (int64_t)count || weights->type.dim[1] != r->gates * r->hidden) {
        return vta_fail(diag, VTA_INVALID, "its weights do not fit direction '%s'", direction_name);
    }
    static const int64_t swap[] = {1, 0, 2};
    static const int64_t rows_to_front[] = {2, 0, 1, 3};
    r->x = r->rows_first ? push_unsqueeze(r, node->input[0], swap, 3) : node->input[0];
    if (node->n_input > 4 && vtac_proto_text(node->input[4])[0] != '\0') {
        r->counts = steps_that_count(r, node->input[4]);
    }
    for (size_t i = 0; i < count && !r->make.failed; i++) {
        r->direction_number = (int)i;
        push_direction(r, i == 1 || strcmp(direction_name, "reverse") == 0, &y[0][i], &y[1][i], &y[2][i]);
    }
    char **names = vtac_fm_room(&r->make, 3, sizeof *names);
    if (r->make.failed) {
        return vtac_flow_no_memory(diag);
    }
    for (size_t i = 0; i < node->n_output && (i < 2 || r->gates == 4); i++) {
        names[i] = push_concat(r, y[i], count, i == 0 ? 1 : 0);
        if (r->rows_first) {
            names[i] =
                i == 0 ? push_unsqueeze(r, names[i], rows_to_front, 4) : push_unsqueeze(r, names[i], swap, 3);
        }
    }
    return r->make.failed ? vtac_flow_no_memory(diag)
                          : vtac_flow_replace(r->w, r->item, r->nodes.items, r->nodes.count, names, diag);
}

bool vtac_flow_is_recurrent(const vtac_flow_builder *b, const vtac_flow_node *item)
{
    const vtac_flow_value *x = vtac_flow_input(b, item, 0);
    const bool kind = vtac_flow_is(item->node, "RNN") || vtac_flow_is(item->node, "GRU") ||
                      vtac_flow_is(item->node, "LSTM");
    return kind && x != NULL && !x->known;
}

vta_status vtac_flow_inline_recurrent(vtac_flow_work *w, const vtac_flow_node *given_item, vta_diag *diag)
{
    const vtac_flow_node item = *given_item; /* the list may move */
    const Onnx__AttributeProto *after = vtac_proto_attr(item.node, "linear_before_reset");
    recurrent r = {.make = {.b = w->b},
                   .w = w,
                   .item = &item,
                   .nodes = {.item_size = sizeof(Onnx__NodeProto *)},
                   .gates = vtac_flow_is(item.node, "LSTM")  ? 4
                            : vtac_flow_is(item.node, "GRU") ? 3
                                                             : 1,
                   .after = after != NULL && after->i != 0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(check_operator(&r, diag));
    VTA_TRY_OUT(build_operator(&r, diag));
out:
    vta_vec_free(&r.nodes);
    return status;
}
