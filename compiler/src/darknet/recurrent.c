/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet's recurrent layers: one step a run, as its programs take them when they do not train. What a layer
 * remembers is a state of the graph.
 */
#include <stdio.h>

#include "darknet.h"

/* State from the last run, zeros in the first one. The new state is stored at place `at` (remember_state). */
static vtac_id recall_state(vtac_darknet *d, const vtac_type *type, uint32_t *at)
{
    vtac_import_builder *m = &d->maker;
    char name[64];
    vtac_id state = 0;
    *at = d->state_count;
    if (m->status != VTA_OK || vtac_type_elements(type) < 0 || d->state_count == DK_MAX_STATES) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "more than %d states, or one too large", DK_MAX_STATES);
        return 0;
    }
    if (!d->keeps_states) {
        void *zeros = vtac_make_room(m, vtac_type_elements(type), sizeof(float));
        return zeros == NULL ? 0 : vtac_make_borrowed(m, type, zeros);
    }
    (void)snprintf(name, sizeof name, "%u_state%u", d->number, d->state_count);
    m->status = vtac_add_input(m->graph, name, type, &state, m->diag);
    d->states[d->state_count++] = state;
    return state;
}

static void remember_state(vtac_darknet *d, uint32_t at, vtac_id state)
{
    if (d->keeps_states && d->maker.status == VTA_OK) {
        d->states[at] = state;
    }
}

static vtac_id sum_of(vtac_darknet *d, vtac_id a, vtac_id b)
{
    return vtac_make2(&d->maker, VTAC_OP_ADD, a, b);
}

static vtac_id product_of(vtac_darknet *d, vtac_id a, vtac_id b)
{
    return vtac_make2(&d->maker, VTAC_OP_MUL, a, b);
}

static vtac_id sigmoid_of(vtac_darknet *d, vtac_id x)
{
    return vtac_make1(&d->maker, VTAC_OP_SIGMOID, x);
}

static bool is_normal(vtac_darknet *d)
{
    return vtac_darknet_option(d, "batch_normalize", 0, 0, 2) != 0;
}

/* h = f(W x) + g(U h), and h before it with shortcut; y = f(V h) */
static vtac_id hidden_state(vtac_darknet *d, vtac_id given, vtac_id before, vtac_id own)
{
    const vtac_id h = sum_of(d, given, own);
    return vtac_darknet_option(d, "shortcut", 0, 0, 1) != 0 ? sum_of(d, h, before) : h;
}

vtac_id vtac_darknet_rnn(vtac_darknet *d, vtac_id x)
{
    const int64_t outputs = vtac_darknet_option(d, "output", 1, 1, MAX_SIZE);
    const int64_t units = vtac_darknet_option(d, "hidden", outputs, 1, MAX_SIZE);
    const int64_t batch = vtac_darknet_type(d, vtac_darknet_flattened(d, x), 2).dim[0];
    const vtac_type type = {VTAC_F32, 2, {batch, units}};
    uint32_t at;
    const vtac_id before = recall_state(d, &type, &at);
    const vtac_id given = vtac_darknet_activate(d, vtac_darknet_dense(d, x, units, is_normal(d)), "logistic");
    const int64_t how = vtac_darknet_option(d, "logistic", 0, 0, 2);
    vtac_id own = vtac_darknet_dense(d, before, units, is_normal(d));
    if (how == 2) { /* twice the logistic less one, which is tanh of the half */
        own = vtac_make1(&d->maker, VTAC_OP_TANH, product_of(d, own, vtac_darknet_number(&d->maker, 0.5)));
    } else {
        own = how == 1 ? sigmoid_of(d, own) : vtac_darknet_activate(d, own, "logistic");
    }
    const vtac_id h = hidden_state(d, given, before, own);
    remember_state(d, at, h);
    return vtac_darknet_activate(d, vtac_darknet_dense(d, h, outputs, is_normal(d)), "logistic");
}

vtac_id vtac_darknet_crnn(vtac_darknet *d, vtac_id x)
{
    const vtac_type shape = vtac_darknet_type(d, x, 4);
    const int64_t size = vtac_darknet_option(d, "size", 3, 1, 31);
    vtac_darknet_window w = {.filters = vtac_darknet_option(d, "hidden_filters", 1, 1, MAX_SIZE),
                             .size = size,
                             .strides = {1, 1},
                             .pad = vtac_darknet_option(d, "padding", size / 2, 0, MAX_SIZE),
                             .spread = vtac_darknet_option(d, "dilation", 1, 1, MAX_SIZE),
                             .groups = vtac_darknet_option(d, "groups", 1, 1, MAX_SIZE),
                             .normal = is_normal(d)};
    const vtac_type type = {VTAC_F32, 4, {shape.dim[0], w.filters, shape.dim[2], shape.dim[3]}};
    uint32_t at;
    const vtac_id before = recall_state(d, &type, &at);
    const vtac_id given = vtac_darknet_activate(d, vtac_darknet_conv(d, x, &w), "logistic");
    const vtac_id own = vtac_darknet_activate(d, vtac_darknet_conv(d, before, &w), "logistic");
    const vtac_id h = hidden_state(d, given, before, own);
    remember_state(d, at, h);
    w.filters = vtac_darknet_option(d, "output_filters", 1, 1, MAX_SIZE);
    return vtac_darknet_activate(d, vtac_darknet_conv(d, h, &w), "logistic");
}

/* z, r: what is kept, what is looked at; weights of x for z, r, h, then of the state. */
vtac_id vtac_darknet_gru(vtac_darknet *d, vtac_id x)
{
    vtac_import_builder *m = &d->maker;
    const int64_t units = vtac_darknet_option(d, "output", 1, 1, MAX_SIZE);
    const int64_t batch = vtac_darknet_type(d, vtac_darknet_flattened(d, x), 2).dim[0];
    const vtac_type type = {VTAC_F32, 2, {batch, units}};
    uint32_t at;
    const vtac_id before = recall_state(d, &type, &at);
    vtac_id given[3];
    for (int i = 0; i < 3; i++) {
        given[i] = vtac_darknet_dense(d, x, units, is_normal(d));
    }
    const vtac_id z = sigmoid_of(d, sum_of(d, given[0], vtac_darknet_dense(d, before, units, is_normal(d))));
    const vtac_id r = sigmoid_of(d, sum_of(d, given[1], vtac_darknet_dense(d, before, units, is_normal(d))));
    vtac_id h = sum_of(d, given[2], vtac_darknet_dense(d, product_of(d, r, before), units, is_normal(d)));
    h = vtac_darknet_option(d, "tanh", 0, 0, 1) != 0 ? vtac_make1(m, VTAC_OP_TANH, h) : sigmoid_of(d, h);
    const vtac_id rest = vtac_make2(m, VTAC_OP_SUB, vtac_darknet_number(m, 1.0), z);
    h = sum_of(d, product_of(d, z, before), product_of(d, rest, h));
    remember_state(d, at, h);
    return h;
}

/* Weights of x, then of the state, for forget, input, cell, output: the order of the forks that have YOLO v4;
 * the first Darknet had another. */
vtac_id vtac_darknet_lstm(vtac_darknet *d, vtac_id x)
{
    enum { FORGET, INPUT, CELL, OUTPUT, GATES };
    vtac_import_builder *m = &d->maker;
    const int64_t units = vtac_darknet_option(d, "output", 1, 1, MAX_SIZE);
    const int64_t batch = vtac_darknet_type(d, vtac_darknet_flattened(d, x), 2).dim[0];
    const vtac_type type = {VTAC_F32, 2, {batch, units}};
    uint32_t places[2];
    const vtac_id before = recall_state(d, &type, &places[0]);
    const vtac_id cell = recall_state(d, &type, &places[1]);
    vtac_id gate[GATES];
    for (int i = 0; i < GATES; i++) {
        gate[i] = vtac_darknet_dense(d, x, units, is_normal(d));
    }
    for (int i = 0; i < GATES; i++) {
        const vtac_id s = sum_of(d, gate[i], vtac_darknet_dense(d, before, units, is_normal(d)));
        gate[i] = i == CELL ? vtac_make1(m, VTAC_OP_TANH, s) : sigmoid_of(d, s);
    }
    const vtac_id c = sum_of(d, product_of(d, gate[INPUT], gate[CELL]), product_of(d, gate[FORGET], cell));
    const vtac_id h = product_of(d, gate[OUTPUT], vtac_make1(m, VTAC_OP_TANH, c));
    remember_state(d, places[0], h);
    remember_state(d, places[1], c);
    return h;
}
