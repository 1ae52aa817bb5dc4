/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet's RNN: layers of cells over steps [steps][batch][inputs], all weights in one row as cuDNN has them,
 * those of inputs and of states for each layer and direction, then the biases in the same order.
 */
#include <string.h>

#include "mxnet.h"

enum { MAX_LAYERS = 64, MAX_UNITS = 1 << 16 };

typedef struct mxnet_cell {
    const char *mode, *activation;
    vtac_op op;
    uint32_t gates, order[4]; /* the file's gate for each of ONNX's */
} mxnet_cell;

static const mxnet_cell cells[] = {{"rnn_relu", "Relu", VTAC_OP_RNN, 1, {0}},
                                   {"rnn_tanh", "Tanh", VTAC_OP_RNN, 1, {0}},
                                   {"lstm", NULL, VTAC_OP_LSTM, 4, {0, 3, 1, 2}}, /* i o f c of i f c o */
                                   {"gru", NULL, VTAC_OP_GRU, 3, {1, 0, 2}}};     /* z r n of r z n */

typedef struct mxnet_rnn {
    const mxnet_cell *cell;
    int64_t units, layers, directions, inputs; /* inputs of the layer that is made */
    const float *weights, *biases;             /* of the next cell */
    vtac_id states[2];                         /* [layers * directions][batch][units] */
    uint32_t state_count;
} mxnet_rnn;

/* [directions][gates * units][columns], gates in ONNX's order; `from` moves behind what was read of each
 * direction by `step`. */
static vtac_id gates_of(vtac_mxnet *x, const mxnet_rnn *r, const float *from, int64_t columns, int64_t step)
{
    vtac_import_builder *m = &x->net.maker;
    const int64_t gate = r->units * columns;
    const vtac_type type = {VTAC_F32, 3, {r->directions, (int64_t)r->cell->gates * r->units, columns}};
    float *room = vtac_make_room(m, vtac_type_elements(&type), sizeof *room);
    for (int64_t d = 0; room != NULL && d < r->directions; d++) {
        for (uint32_t g = 0; g < r->cell->gates; g++) {
            memcpy(room + (d * r->cell->gates + g) * gate,
                   from + d * step + (int64_t)r->cell->order[g] * gate, (size_t)gate * sizeof *room);
        }
    }
    return room == NULL ? 0 : vtac_make_borrowed(m, &type, room);
}

/* Makes a layer in both directions; gives the values of all steps and adds the last states to the lists. */
static vtac_id run_layer(vtac_mxnet *x, mxnet_rnn *r, int64_t layer, vtac_id in, vtac_id last[2][MAX_LAYERS])
{
    vtac_import_builder *m = &x->net.maker;
    const vtac_type type = vtac_made_type(m, in);
    const int64_t width = (int64_t)r->cell->gates * r->units;
    const int64_t step = width * (r->inputs + r->units);
    const vtac_id bias[] = {gates_of(x, r, r->biases, 1, 2 * width),
                            gates_of(x, r, r->biases + width, 1, 2 * width)};
    vtac_id all[7] = {in, gates_of(x, r, r->weights, r->inputs, step),
                      gates_of(x, r, r->weights + width * r->inputs, r->units, step)};
    all[3] =
        vtac_make_reshape(m, vtac_make_concat(m, bias, 2, 1), (const int64_t[]){r->directions, 2 * width}, 2);
    for (uint32_t i = 0; i < r->state_count; i++) {
        all[5 + i] = vtac_make_slice(m, r->states[i], 0, layer * r->directions, (layer + 1) * r->directions);
    }
    const char *both[] = {r->cell->activation, r->cell->activation};
    vtac_attr attrs[4] = {vtac_attr_of_int("hidden_size", r->units),
                          vtac_attr_of_string("direction", r->directions == 2 ? "bidirectional" : "forward")};
    uint32_t count = 2;
    if (r->cell->op == VTAC_OP_GRU) {
        attrs[count++] = vtac_attr_of_int("linear_before_reset", 1);
    }
    if (r->cell->activation != NULL) {
        attrs[count++] = (vtac_attr){.name = "activations",
                                     .kind = VTAC_ATTR_STRINGS,
                                     .count = (uint32_t)r->directions,
                                     .strings = both};
    }
    vtac_id out[3] = {0};
    vtac_make_many(m, r->cell->op, all, 5 + r->state_count, attrs, count, out, 1 + r->state_count);
    for (uint32_t i = 0; i < r->state_count; i++) {
        last[i][layer] = out[1 + i];
    }
    /* [steps][directions][batch][units] */
    const vtac_id turned = vtac_make_transpose(m, out[0], (const int64_t[]){0, 2, 1, 3}, 4);
    const int64_t dims[] = {type.dim[0], type.dim[1], r->directions * r->units};
    r->weights += r->directions * step;
    r->biases += r->directions * 2 * width;
    r->inputs = dims[2];
    return vtac_make_reshape(m, turned, dims, 3);
}

/* Reads what kind it is; false after a failure. */
static bool read_rnn(vtac_mxnet *x, mxnet_rnn *r)
{
    vtac_import_builder *m = &x->net.maker;
    const char *mode = vtac_mxnet_text(x, "mode");
    const vtac_type in = vtac_mxnet_type(x, 0);
    const vtac_tensor *row = vtac_made_constant(m, x->in[1]);
    *r = (mxnet_rnn){.units = vtac_mxnet_int(x, "state_size", 0, 1, MAX_UNITS),
                     .layers = vtac_mxnet_int(x, "num_layers", 0, 1, MAX_LAYERS),
                     .directions = vtac_mxnet_flag(x, "bidirectional", false) ? 2 : 1,
                     .inputs = in.dim[2],
                     .states = {x->in[2], x->in_count > 3 ? x->in[3] : 0}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        r->cell = mode != NULL && strcmp(mode, cells[i].mode) == 0 ? &cells[i] : r->cell;
    }
    r->state_count = r->cell != NULL && r->cell->op == VTAC_OP_LSTM ? 2 : 1;
    if (m->status != VTA_OK) {
        return false;
    }
    if (r->cell == NULL || in.rank != 3 || x->in_count != 2 + r->state_count || row == NULL ||
        vtac_mxnet_text(x, "projection_size") != NULL) {
        vtac_make_fail(
            m, VTA_UNSUPPORTED,
            "mode %.20s, %u inputs, the first with %u axes; rnn_relu, rnn_tanh, lstm and gru with known "
            "weights and without projections are taken",
            mode == NULL ? "" : mode, x->in_count, in.rank);
        return false;
    }
    const int64_t width = (int64_t)r->cell->gates * r->units;
    int64_t wanted = 0;
    for (int64_t i = 0; i < r->layers; i++) {
        const int64_t inputs = i == 0 ? r->inputs : r->directions * r->units;
        wanted += r->directions * width * (inputs + r->units);
    }
    const int64_t all = wanted + r->layers * r->directions * 2 * width;
    if (row->type.dtype != VTAC_F32 || vtac_type_elements(&row->type) != all) {
        vtac_make_fail(m, VTA_INVALID, "%lld weights, expected %lld of f32",
                       (long long)vtac_type_elements(&row->type), (long long)all);
        return false;
    }
    r->weights = row->data;
    r->biases = r->weights + wanted;
    return true;
}

void vtac_mxnet_make_rnn(vtac_mxnet *x, const char *how)
{
    vtac_import_builder *m = &x->net.maker;
    vtac_id last[2][MAX_LAYERS] = {{0}};
    mxnet_rnn r;
    (void)how;
    if (!read_rnn(x, &r)) {
        return;
    }
    vtac_id y = x->in[0];
    for (int64_t i = 0; i < r.layers && m->status == VTA_OK; i++) {
        y = run_layer(x, &r, i, y, last);
    }
    vtac_mxnet_give(x, y);
    for (uint32_t i = 0; vtac_mxnet_flag(x, "state_outputs", false) && i < r.state_count; i++) {
        vtac_mxnet_give(x, vtac_make_concat(m, last[i], (uint32_t)r.layers, 0));
    }
}
