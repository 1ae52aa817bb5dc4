/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks of recurrent layers: of steps, as many as there are "tokens", and of units, as many as the "width"
 * says.
 */
#include <math.h>

#include "nets.h"

enum { LSTM_GATES = 4, GRU_GATES = 3 };

typedef struct recurrent_layer {
    const char *op;
    int64_t gates, directions, hidden;
} recurrent_layer;

/* Weights for `count` terms: sums keep their size. */
static vtac_zoo_value weights(vtac_zoo *z, const char *name, const recurrent_layer *l, int64_t count,
                              float spread)
{
    const int64_t shape[] = {l->directions, l->gates * l->hidden, count};
    return vtac_zoo_weight(z, name, 3, shape, 0.0F, spread / sqrtf((float)count));
}

/* x [steps, 1, inputs]: [steps, 1, directions * hidden] */
static vtac_zoo_value recurrent(vtac_zoo *z, vtac_zoo_value x, const recurrent_layer *l)
{
    static const int64_t by_step[] = {0, 2, 1, 3};
    const int64_t steps = x.dim[0];
    const int64_t bias[] = {l->directions, 2 * l->gates * l->hidden};
    const int64_t all[] = {steps, l->directions, 1, l->hidden};
    const vtac_zoo_value inputs[] = {x, weights(z, "w", l, x.dim[2], 0.8F),
                                     weights(z, "r", l, l->hidden, 0.08F * sqrtf(128.0F)),
                                     vtac_zoo_weight(z, "b", 2, bias, 0.0F, 0.05F)};
    vtac_zoo_value y = vtac_zoo_node(z, l->op, inputs, 4, 4, all);
    vtac_zoo_attr_int(z, "hidden_size", l->hidden);
    if (l->directions > 1) {
        vtac_zoo_attr_text(z, "direction", "bidirectional");
        const int64_t apart[] = {steps, 1, l->directions, l->hidden};
        y = vtac_zoo_node(z, "Transpose", &y, 1, 4, apart);
        vtac_zoo_attr_ints(z, "perm", 4, by_step);
    }
    const int64_t rows[] = {steps, 1, l->directions * l->hidden};
    const vtac_zoo_value reshape[] = {y, vtac_zoo_ints(z, "shape", 3, rows)};
    return vtac_zoo_node(z, "Reshape", reshape, 2, 3, rows);
}

static vtac_zoo_value recurrent_layers(vtac_zoo *z, vtac_zoo_value x, const recurrent_layer *l, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        x = recurrent(z, x, l);
    }
    const int64_t flat[] = {x.dim[0], x.dim[2]};
    const vtac_zoo_value reshape[] = {x, vtac_zoo_ints(z, "shape", 2, flat)};
    return vtac_zoo_dense(z, vtac_zoo_node(z, "Reshape", reshape, 2, 2, flat), 10);
}

static vtac_zoo_value recurrent_net(vtac_zoo *z, recurrent_layer l)
{
    enum { STEPS = 32, FEATURES = 64, HIDDEN = 128 };
    const int64_t shape[] = {vtac_zoo_chosen(z->sizes.tokens, STEPS), 1, FEATURES};
    l.hidden = vtac_zoo_chosen(z->sizes.width, HIDDEN);
    return recurrent_layers(z, vtac_zoo_input(z, "input", 3, shape), &l, vtac_zoo_chosen(z->sizes.layers, 1));
}

vtac_zoo_value vtac_zoo_lstm(vtac_zoo *z)
{
    return recurrent_net(z, (recurrent_layer){"LSTM", LSTM_GATES, 1, 0});
}

vtac_zoo_value vtac_zoo_gru(vtac_zoo *z)
{
    return recurrent_net(z, (recurrent_layer){"GRU", GRU_GATES, 1, 0});
}

vtac_zoo_value vtac_zoo_bilstm(vtac_zoo *z)
{
    return recurrent_net(z, (recurrent_layer){"LSTM", LSTM_GATES, 2, 0});
}

/* Convolutions over a picture of a text line, whose columns are steps. */
vtac_zoo_value vtac_zoo_crnn(vtac_zoo *z)
{
    enum { HEIGHT = 16, USUAL_STEPS = 32, HIDDEN = 64, SMALLER = 4 };
    static const int64_t by_column[] = {3, 0, 1, 2};
    const int64_t shape[] = {1, 1, HEIGHT, SMALLER * vtac_zoo_chosen(z->sizes.tokens, USUAL_STEPS)};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, shape);
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 16, 3, 2, 1));
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 32, 3, 2, 1));
    const int64_t columns[] = {x.dim[3], 1, x.dim[1], x.dim[2]};
    vtac_zoo_value y = vtac_zoo_node(z, "Transpose", &x, 1, 4, columns);
    vtac_zoo_attr_ints(z, "perm", 4, by_column);
    const int64_t rows[] = {x.dim[3], 1, x.dim[1] * x.dim[2]};
    const vtac_zoo_value reshape[] = {y, vtac_zoo_ints(z, "shape", 3, rows)};
    y = vtac_zoo_node(z, "Reshape", reshape, 2, 3, rows);
    const recurrent_layer l = {"LSTM", LSTM_GATES, 2, vtac_zoo_chosen(z->sizes.width, HIDDEN)};
    return recurrent_layers(z, y, &l, vtac_zoo_chosen(z->sizes.layers, 1));
}

/* A step of an LSTM whose states are inputs and outputs: x [1, 1, inputs]. */
static vtac_zoo_value lstm_step(vtac_zoo *z, vtac_zoo_value x, int64_t hidden)
{
    const recurrent_layer l = {"LSTM", LSTM_GATES, 1, hidden};
    const int64_t bias[] = {1, 2 * LSTM_GATES * hidden}, state[] = {1, 1, hidden}, all[] = {1, 1, 1, hidden};
    const vtac_zoo_value none = {.name = ""};
    const vtac_zoo_value inputs[] = {x,
                                     weights(z, "w", &l, x.dim[2], 0.8F),
                                     weights(z, "r", &l, hidden, 0.08F * sqrtf(128.0F)),
                                     vtac_zoo_weight(z, "b", 2, bias, 0.0F, 0.05F),
                                     none,
                                     vtac_zoo_input(z, "h", 3, state),
                                     vtac_zoo_input(z, "c", 3, state)};
    const vtac_zoo_value y = vtac_zoo_node(z, l.op, inputs, 7, 4, all);
    vtac_zoo_attr_int(z, "hidden_size", hidden);
    vtac_zoo_output(z, vtac_zoo_more(z, "hn", 3, state));
    vtac_zoo_output(z, vtac_zoo_more(z, "cn", 3, state));
    return vtac_zoo_reshape(z, y, 2, (int64_t[]){1, hidden});
}

/* Voice activity of a piece of sound, of which the input has a spectrum: what is heard next begins with the
 * states. */
vtac_zoo_value vtac_zoo_vad(vtac_zoo *z)
{
    enum { BINS = 129, FRAMES = 4, HIDDEN = 128 };
    static const int64_t by_frame[] = {2, 0, 1}, shape[] = {1, BINS, FRAMES};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 3, shape);
    x = vtac_zoo_conv_relu(z, x, 128, 3, 1);
    x = vtac_zoo_conv_relu(z, x, 64, 3, 2);
    x = vtac_zoo_conv_relu(z, x, 64, 3, 2);
    x = vtac_zoo_conv_relu(z, x, 128, 3, 1);
    x = vtac_zoo_relu(z, lstm_step(z, vtac_zoo_transpose(z, x, by_frame), HIDDEN));
    return vtac_zoo_unary(z, "Sigmoid", vtac_zoo_dense(z, x, 1));
}
