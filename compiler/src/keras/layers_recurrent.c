/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers: Keras's gates in ONNX's order.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras.h"

enum { MAX_CELLS = 7 }; /* two states each, of which a call can give back 15 */

typedef struct cell {
    vtac_op op;
    uint32_t gates, order[4]; /* place of each of ONNX's gates among Keras's */
    bool cudnn;               /* each gate's weights lie as [units][rows] in the place of [rows][units] */
} cell;

/* CuDNNLSTM and CuDNNGRU are what old files call the ones for graphic cards. */
static bool is_cudnn(const char *name)
{
    return strncmp(name, "CuDNN", 5) == 0;
}

static uint32_t states_of(const char *name)
{
    return strcmp(is_cudnn(name) ? name + 5 : name, "LSTM") == 0 ? 2 : 1;
}

static bool cell_of(const char *name, cell *out)
{
    static const struct {
        const char *name;
        cell cell;
    } cells[] = {{"LSTM", {VTAC_OP_LSTM, 4, {0, 3, 1, 2}, false}}, /* i o f c of i f c o */
                 {"GRU", {VTAC_OP_GRU, 3, {0, 1, 2}, false}},
                 {"CuDNNLSTM", {VTAC_OP_LSTM, 4, {0, 3, 1, 2}, true}},
                 {"CuDNNGRU", {VTAC_OP_GRU, 3, {0, 1, 2}, true}},
                 {"SimpleRNN", {VTAC_OP_RNN, 1, {0}, false}}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        if (strcmp(name, cells[i].name) == 0) {
            *out = cells[i].cell;
            return true;
        }
    }
    return false;
}

/* [rows][gates * units] as [gates * units][rows] with the gates in order; [gates * units] where rows is 0. */
static void transpose_gates(float *to, const float *from, const cell *c, int64_t rows, int64_t units)
{
    const int64_t width = (int64_t)c->gates * units;
    for (uint32_t g = 0; g < c->gates; g++) {
        for (int64_t u = 0; u < units; u++) {
            for (int64_t r = 0; r < (rows == 0 ? 1 : rows); r++) {
                const bool turned = c->cudnn && rows > 0;
                const int64_t row = turned ? (u * rows + r) / units : r;
                const int64_t column = turned ? (u * rows + r) % units : u;
                to[((int64_t)g * units + u) * (rows == 0 ? 1 : rows) + r] =
                    from[row * width + (int64_t)c->order[g] * units + column];
            }
        }
    }
}

static const char *onnx_activation(vtac_keras *k, const char *name)
{
    static const char *const pairs[][2] = {{"tanh", "Tanh"},         {"sigmoid", "Sigmoid"},
                                           {"relu", "Relu"},         {"hard_sigmoid", "HardSigmoid"},
                                           {"linear", "Affine"},     {"softsign", "Softsign"},
                                           {"softplus", "Softplus"}, {"elu", "Elu"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (strcmp(name, pairs[i][0]) == 0) {
            return pairs[i][1];
        }
    }
    vtac_make_refuse(&k->maker, "the activation '%.60s' of a cell", name);
    return "Tanh";
}

/* One direction over the steps. */
typedef struct pass {
    vtac_id x, lengths; /* [steps][batch][inputs]; how many steps count, 0: all */
    uint32_t first;     /* of its weights */
    bool backwards;
    const vtac_id *start; /* two states for each cell, 0: from none */
} pass;

/* Gives all states [steps][batch][units] and the last one, or two of an LSTM, [batch][units]. */
typedef struct cell_weights {
    cell c;
    bool after;                   /* GRU: the reset gate comes after the product */
    int64_t inputs, units, width; /* width: of all gates */
    float *w, *r, *b;             /* in the order of ONNX's gates */
} cell_weights;

static void order_gates(vtac_keras *k, const vtac_tensor *kernel, const vtac_tensor *recurrent,
                        const vtac_tensor *bias, cell_weights *s)
{
    vtac_import_builder *m = &k->maker;
    s->w = vtac_make_room(m, s->width * s->inputs, sizeof *s->w);
    s->r = vtac_make_room(m, s->width * s->units, sizeof *s->r);
    s->b = vtac_make_room(m, 2 * s->width, sizeof *s->b);
    if (s->w == NULL || s->r == NULL || s->b == NULL) {
        return;
    }
    transpose_gates(s->w, kernel->data, &s->c, s->inputs, s->units);
    transpose_gates(s->r, recurrent->data, &s->c, s->units, s->units);
    if (bias != NULL) {
        transpose_gates(s->b, bias->data, &s->c, 0, s->units);
    }
    if (bias != NULL && (s->after || s->c.cudnn)) {
        transpose_gates(s->b + s->width, (const float *)bias->data + s->width, &s->c, 0, s->units);
    }
}

/* Reads the weights of a cell; false after a failure. */
static bool read_cell(vtac_keras *k, const char *name, const pass *p, cell_weights *s)
{
    vtac_import_builder *m = &k->maker;
    if (!cell_of(name, &s->c)) {
        vtac_make_refuse(&k->maker, "a cell of class '%.60s'", name);
        return false;
    }
    const vtac_tensor *kernel = vtac_keras_weight(k, p->first, 2);
    const vtac_tensor *recurrent = vtac_keras_weight(k, p->first + 1, 2);
    const bool biased = vtac_keras_bool(k, "use_bias", true);
    /* old files do not say which kind of GRU it is: the bias of the newer one has two rows */
    const bool two = biased && p->first + 2 < k->weight_count && k->weights[p->first + 2].type.rank == 2;
    s->after = s->c.op == VTAC_OP_GRU && (s->c.cudnn || vtac_keras_bool(k, "reset_after", !biased || two));
    const vtac_tensor *bias =
        biased ? vtac_keras_weight(k, p->first + 2, s->after && !s->c.cudnn ? 2 : 1) : NULL;
    if (m->status != VTA_OK) {
        return false;
    }
    s->inputs = kernel->type.dim[0];
    s->units = recurrent->type.dim[0];
    s->width = (int64_t)s->c.gates * s->units;
    if (kernel->type.dim[1] != s->width || recurrent->type.dim[1] != s->width ||
        (biased && vtac_type_elements(&bias->type) != (s->after || s->c.cudnn ? 2 : 1) * s->width)) {
        vtac_make_fail(m, VTA_INVALID, "its weights do not fit %lld units", (long long)s->units);
        return false;
    }
    order_gates(k, kernel, recurrent, bias, s);
    return s->w != NULL && s->r != NULL && s->b != NULL;
}

typedef struct cell_attrs {
    const char *activations[3];
    double alpha, beta;
    vtac_attr list[7];
    uint32_t count;
} cell_attrs;

static void fill_attrs(vtac_keras *k, const cell_weights *s, bool backwards, cell_attrs *a)
{
    const char *gate = onnx_activation(k, vtac_keras_text(k, "recurrent_activation", "sigmoid"));
    const char *own = onnx_activation(k, vtac_keras_text(k, "activation", "tanh"));
    const bool plain = s->c.op == VTAC_OP_RNN;
    *a = (cell_attrs){
        .activations = {plain ? own : gate, own, own}, .alpha = k->version3 ? 1.0 / 6.0 : 0.2, .beta = 0.5};
    a->list[a->count++] = vtac_attr_of_int("hidden_size", s->units);
    a->list[a->count++] = vtac_attr_of_string("direction", backwards ? "reverse" : "forward");
    a->list[a->count++] = (vtac_attr){.name = "activations",
                                      .kind = VTAC_ATTR_STRINGS,
                                      .count = plain                    ? 1
                                               : s->c.op == VTAC_OP_GRU ? 2
                                                                        : 3,
                                      .strings = a->activations};
    if (strcmp(gate, "HardSigmoid") == 0) {
        a->list[a->count++] = (vtac_attr){
            .name = "activation_alpha", .kind = VTAC_ATTR_FLOATS, .count = 1, .floats = &a->alpha};
        a->list[a->count++] =
            (vtac_attr){.name = "activation_beta", .kind = VTAC_ATTR_FLOATS, .count = 1, .floats = &a->beta};
    }
    if (strcmp(own, "Affine") == 0 || strcmp(own, "Elu") == 0 || strcmp(own, "HardSigmoid") == 0) {
        vtac_make_refuse(&k->maker, "the activation of a cell, with parameters");
    }
    if (s->c.op == VTAC_OP_GRU) {
        a->list[a->count++] = vtac_attr_of_int("linear_before_reset", s->after);
    }
}

static void run_cell(vtac_keras *k, const char *name, const pass *p, vtac_id *all, vtac_id *last)
{
    vtac_import_builder *m = &k->maker;
    cell_weights s;
    cell_attrs attrs;
    *all = last[0] = last[1] = 0;
    if (!read_cell(k, name, p, &s)) {
        return;
    }
    fill_attrs(k, &s, p->backwards, &attrs);
    const vtac_id in[] = {p->x, vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 3, {1, s.width, s.inputs}}, s.w),
                          vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 3, {1, s.width, s.units}}, s.r),
                          vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 2, {1, 2 * s.width}}, s.b)};
    const vtac_type type = vtac_made_type(m, p->x);
    const int64_t steps = type.dim[0];
    const int64_t batch = type.dim[1];
    const uint32_t states = s.c.op == VTAC_OP_LSTM ? 2 : 1;
    vtac_id all_in[7] = {in[0], in[1], in[2], in[3], p->lengths};
    for (uint32_t i = 0; i < states; i++) {
        all_in[5 + i] =
            p->start[i] == 0 ? 0 : vtac_make_reshape(m, p->start[i], (int64_t[]){1, batch, s.units}, 3);
    }
    vtac_id out[3] = {0};
    vtac_make_many(m, s.c.op, all_in,
                   p->start[0] != 0  ? 5 + states
                   : p->lengths != 0 ? 5
                                     : 4,
                   attrs.list, attrs.count, out, 1 + states);
    *all = vtac_make_reshape(m, out[0], (int64_t[]){steps, batch, s.units}, 3);
    for (uint32_t i = 0; i < states; i++) {
        last[i] = vtac_make_reshape(m, out[1 + i], (int64_t[]){batch, s.units}, 2);
    }
}

static vtac_id steps_first(vtac_keras *k, vtac_id x)
{
    return vtac_make_transpose(&k->maker, x, (int64_t[]){1, 0, 2}, 3);
}

/* Steps in the order in which they were taken, the last first. */
static vtac_id turned_round(vtac_keras *k, vtac_id all)
{
    const int64_t steps = vtac_made_type(&k->maker, all).dim[0];
    int64_t *places = vtac_make_room(&k->maker, steps, sizeof *places);
    for (int64_t i = 0; places != NULL && i < steps; i++) {
        places[i] = steps - 1 - i;
    }
    return places == NULL
               ? 0
               : vtac_make2(&k->maker, VTAC_OP_GATHER, all,
                            vtac_make_borrowed(&k->maker, &(vtac_type){VTAC_I64, 1, {steps}}, places));
}

static vtac_id batch_first(vtac_keras *k, vtac_id all)
{
    return vtac_make_transpose(&k->maker, all, (int64_t[]){1, 0, 2}, 3);
}

/* The steps that count, [steps][batch][size], and how many; a mask in the call's own words is refused. */
static vtac_id counted_steps(vtac_keras *k, vtac_id *lengths)
{
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(k->kwargs, "mask");
    *lengths = 0;
    if (cJSON_IsArray(own) || cJSON_IsObject(own)) {
        vtac_make_refuse(&k->maker, "a mask that is an argument of its own");
        return 0;
    }
    return steps_first(k, k->in[0].mask == 0 ? x : vtac_keras_steps_that_count(k, x, k->in[0].mask, lengths));
}

/* All states as [batch][steps][units], with those of steps that do not count. */
static vtac_id all_states(vtac_keras *k, vtac_id all, bool backwards)
{
    const vtac_id y = batch_first(k, all);
    return k->in[0].mask == 0 ? y : vtac_keras_states_of_all(k, y, k->in[0].mask, backwards);
}

/* Cells one behind the other: each has the states of the one before as its input. */
typedef struct stack {
    const cJSON *config[MAX_CELLS];
    char name[MAX_CELLS][40];
    uint32_t count;
} stack;

static const cJSON *config_of(const cJSON *item)
{
    return cJSON_GetObjectItemCaseSensitive(item, "config");
}

/* An LSTMCell is what an LSTM has. */
static void push_cell(vtac_keras *k, stack *s, const char *class, const cJSON *config)
{
    const char *end = strstr(class, "Cell");
    const int size = (int)(end == NULL ? strlen(class) : (size_t)(end - class));
    if (s->count == MAX_CELLS) {
        vtac_make_refuse(&k->maker, "more than %d cells", MAX_CELLS);
        return;
    }
    (void)snprintf(s->name[s->count], sizeof s->name[0], "%.*s", size < 39 ? size : 39, class);
    s->config[s->count++] = config;
}

static void push_item(vtac_keras *k, stack *s, const cJSON *item)
{
    const cJSON *class = cJSON_GetObjectItemCaseSensitive(item, "class_name");
    push_cell(k, s, cJSON_IsString(class) ? vtac_keras_bare_class(class->valuestring) : "", config_of(item));
}

/* The cells of a layer of this class; an RNN has others around them. */
static stack stack_of(vtac_keras *k, const char *class, const cJSON *config)
{
    stack s = {.count = 0};
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(config, "cell");
    const cJSON *cells = cJSON_GetObjectItemCaseSensitive(config_of(inner), "cells");
    const cJSON *item;
    if (strcmp(class, "RNN") != 0) {
        push_cell(k, &s, class, config);
    } else if (cells == NULL) {
        push_item(k, &s, inner);
    }
    cJSON_ArrayForEach(item, cells)
    {
        push_item(k, &s, item);
    }
    if (s.count == 0) {
        vtac_make_refuse(&k->maker, "a stack of no cells");
    }
    return s;
}

static uint32_t states_of_stack(const stack *s)
{
    uint32_t states = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        states += states_of(s->name[i]);
    }
    return states;
}

/* Runs a stack of cells, as run_cell does for one; `last` has two places for each cell. */
static void run_stack(vtac_keras *k, const stack *s, pass p, vtac_id *all, vtac_id *last)
{
    const cJSON *whole_config = k->config;
    *all = p.x;
    for (uint32_t i = 0; i < s->count; i++) {
        k->config = s->config[i];
        run_cell(k, s->name[i], &p, all, last + 2 * (size_t)i);
        p.x = *all;
        p.first += vtac_keras_bool(k, "use_bias", true) ? 3 : 2;
        p.start += 2;
    }
    k->config = whole_config;
}

static void return_states(vtac_keras *k, const stack *s, const vtac_id *last)
{
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t j = 0; j < states_of(s->name[i]) && k->more_count < KERAS_MAX_MORE; j++) {
            k->more[k->more_count++] = vtac_keras_as_plain(last[2 * (size_t)i + j]);
        }
    }
}

/* Inputs behind the first are the states it starts from. */
vtac_keras_value vtac_keras_make_recurrent(vtac_keras *k, const void *how)
{
    vtac_id all;
    vtac_id last[2 * MAX_CELLS] = {0};
    vtac_id start[2 * MAX_CELLS] = {0};
    vtac_id lengths;
    const stack s = stack_of(k, how == NULL ? "RNN" : (const char *)how, k->config);
    const uint32_t states = states_of_stack(&s);
    const vtac_id x = counted_steps(k, &lengths);
    if (vtac_keras_bool(k, "time_major", false) || (k->in_count > 1 && k->in_count != 1 + states)) {
        vtac_make_refuse(&k->maker, "steps on axis 0, or %u states", k->in_count - 1);
        return vtac_keras_as_plain(0);
    }
    for (uint32_t i = 0, from = 1; i < s.count && k->in_count > 1; i++) {
        for (uint32_t j = 0; j < states_of(s.name[i]); j++) {
            start[2 * (size_t)i + j] = vtac_keras_plain(k, &k->in[from++]);
        }
    }
    const bool backwards = vtac_keras_bool(k, "go_backwards", false);
    run_stack(k, &s, (pass){x, lengths, 0, backwards, start}, &all, last);
    if (vtac_keras_bool(k, "return_state", false)) {
        return_states(k, &s, last);
    }
    if (k->maker.status != VTA_OK) {
        return vtac_keras_as_plain(0);
    }
    if (!vtac_keras_bool(k, "return_sequences", false)) {
        return vtac_keras_as_plain(last[2 * ((size_t)s.count - 1)]);
    }
    if (k->in[0].mask != 0) {
        all = steps_first(k, all_states(k, all, backwards));
    }
    return vtac_keras_as_plain(batch_first(k, backwards ? turned_round(k, all) : all));
}

vtac_keras_value vtac_keras_make_bidirectional(vtac_keras *k, const void *how)
{
    (void)how;
    const cJSON *whole_config = k->config;
    const cJSON *layer = cJSON_GetObjectItemCaseSensitive(whole_config, "layer");
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(layer, "class_name");
    const char *mode = vtac_keras_text(k, "merge_mode", "concat");
    vtac_id all[2];
    vtac_id last[2][2 * MAX_CELLS] = {{0}};
    const vtac_id none[2 * MAX_CELLS] = {0};
    vtac_id lengths;
    const vtac_id x = counted_steps(k, &lengths);
    if (k->in_count > 1) {
        vtac_make_refuse(&k->maker, "states to start from, both ways");
        return vtac_keras_as_plain(0);
    }
    k->config = cJSON_GetObjectItemCaseSensitive(layer, "config");
    const bool sequences = vtac_keras_bool(k, "return_sequences", false);
    const stack s =
        stack_of(k, cJSON_IsString(kind) ? vtac_keras_bare_class(kind->valuestring) : "", k->config);
    for (uint32_t i = 0; i < 2; i++) {
        run_stack(k, &s, (pass){x, lengths, i * k->weight_count / 2, i == 1, none}, &all[i], last[i]);
        if (sequences && k->in[0].mask != 0) {
            all[i] = steps_first(k, all_states(k, all[i], i == 1));
        }
    }
    if (vtac_keras_bool(k, "return_state", false)) {
        return_states(k, &s, last[0]);
        return_states(k, &s, last[1]);
    }
    k->config = whole_config;
    if (k->maker.status != VTA_OK) {
        return vtac_keras_as_plain(0);
    }
    const size_t top = 2 * ((size_t)s.count - 1);
    const vtac_id ends[2] = {last[0][top], last[1][top]};
    const vtac_id *pair = sequences ? all : ends;
    vtac_id y;
    if (strcmp(mode, "concat") == 0) {
        y = vtac_make_concat(&k->maker, pair, 2, sequences ? 2 : 1);
    } else {
        y = vtac_make2(&k->maker, strcmp(mode, "mul") == 0 ? VTAC_OP_MUL : VTAC_OP_ADD, pair[0], pair[1]);
        y = strcmp(mode, "ave") == 0 ? vtac_make2(&k->maker, VTAC_OP_MUL, y, vtac_keras_number(k, 0.5)) : y;
    }
    return vtac_keras_as_plain(sequences ? steps_first(k, y) : y);
}
