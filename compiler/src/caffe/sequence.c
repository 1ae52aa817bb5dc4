/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe's layers over steps: values [steps][streams][...], beside them a mark for each step and stream, 0
 * where a sequence begins. Steps follow each other in the graph, since a mark may be anything.
 */
#include <string.h>

#include "caffe.h"

enum { MAX_STEPS = 4096, MAX_UNITS = 1 << 20 };

typedef struct steps {
    int64_t count, streams, inputs, units, gates;
    vtac_id sums, marks; /* [count][streams][gates * units], [count][streams][1] */
    vtac_id back;        /* weights of the state before, [gates * units][units] */
    uint32_t rest;       /* the first blob behind them */
} steps;

static bool read_sizes(vtac_caffe *c, int64_t gates, steps *s)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type x = vtac_caffe_type(c, 0);
    const vtac_type marks = vtac_caffe_type(c, 1);
    const int64_t units = vtac_caffe_int(c, "recurrent_param", "num_output", 0, 1, MAX_UNITS);
    const bool shaped =
        x.rank >= 2 && marks.rank == 2 && x.dim[0] == marks.dim[0] && x.dim[1] == marks.dim[1];
    if (m->status == VTA_OK && (!shaped || x.dim[0] > MAX_STEPS)) {
        vtac_make_fail(
            m, VTA_INVALID,
            "%lld steps of %lld streams with marks of %u axes, expected marks [steps][streams] and at "
            "most %d steps",
            (long long)x.dim[0], (long long)x.dim[1], marks.rank, MAX_STEPS);
    }
    if (m->status == VTA_OK &&
        (vtac_caffe_flag(c, "recurrent_param", "expose_hidden", false) || c->out_count != 1)) {
        vtac_make_fail(m, VTA_UNSUPPORTED, "states that are given and shown (expose_hidden)");
    }
    if (m->status != VTA_OK) {
        return false;
    }
    *s = (steps){.count = x.dim[0], .streams = x.dim[1], .inputs = 1, .units = units, .gates = gates};
    for (uint32_t a = 2; a < x.rank; a++) {
        s->inputs *= x.dim[a];
    }
    return true;
}

/* Products with the inputs of all steps at once, as they depend on no step before. Blobs: weights
 * and bias of the inputs, weights of a third bottom, which is the same at each step, weights of the states.
 */
static bool begin_steps(vtac_caffe *c, int64_t gates, steps *s)
{
    vtac_import_builder *m = &c->net.maker;
    if (!read_sizes(c, gates, s)) {
        return false;
    }
    const int64_t width = s->gates * s->units;
    const int64_t in_dims[] = {width, s->inputs};
    const vtac_id weight = vtac_caffe_weights(c, 0, in_dims, 2);
    const vtac_id bias = vtac_caffe_weights(c, 1, &width, 1);
    s->sums = vtac_make_dense(m, c->in[0], 2, weight, false, bias);
    if (c->in_count > 2) {
        const vtac_type rest = vtac_caffe_type(c, 2);
        const int64_t dims[] = {width, rest.rank == 0 ? 0 : vtac_type_elements(&rest) / rest.dim[0]};
        s->sums = vtac_make2(m, VTAC_OP_ADD, s->sums,
                             vtac_make_dense(m, c->in[2], 1, vtac_caffe_weights(c, 2, dims, 2), false, 0));
    }
    const int64_t back[] = {width, s->units};
    s->rest = c->in_count > 2 ? 4 : 3;
    s->back = vtac_caffe_weights(c, s->rest - 1, back, 2);
    const int64_t marks[] = {s->count, s->streams, 1};
    s->marks = vtac_make_reshape(m, c->in[1], marks, 3);
    return m->status == VTA_OK;
}

/* [streams][size] of [steps][streams][size]. */
static vtac_id step_of(vtac_caffe *c, vtac_id all, int64_t step, int64_t streams, int64_t size)
{
    const vtac_id one = vtac_make_slice(&c->net.maker, all, 0, step, step + 1);
    return vtac_make_reshape(&c->net.maker, one, (const int64_t[]){streams, size}, 2);
}

/* The state before a step: none before the first and where a sequence begins. */
static vtac_id kept(vtac_caffe *c, vtac_id mark, vtac_id state)
{
    return vtac_make2(&c->net.maker, VTAC_OP_MUL, state, mark);
}

static vtac_id with_states(vtac_caffe *c, const steps *s, vtac_id sum, vtac_id state)
{
    vtac_import_builder *m = &c->net.maker;
    return vtac_make2(m, VTAC_OP_ADD, sum, vtac_make_dense(m, state, 1, s->back, false, 0));
}

/* All steps behind each other, [steps][streams][size]. */
static void join_steps(vtac_caffe *c, const vtac_id *parts, const steps *s, int64_t size)
{
    const vtac_id all = vtac_make_concat(&c->net.maker, parts, (uint32_t)s->count, 0);
    const int64_t dims[] = {s->count, s->streams, size};
    vtac_caffe_set(c, 0, vtac_make_reshape(&c->net.maker, all, dims, 3));
}

static vtac_id gate_of(vtac_caffe *c, const steps *s, vtac_id sums, int64_t gate, vtac_op op)
{
    vtac_import_builder *m = &c->net.maker;
    return vtac_make1(m, op, vtac_make_slice(m, sums, 1, gate * s->units, (gate + 1) * s->units));
}

/* Gates: in, forget, out, the new value. */
void vtac_caffe_make_lstm(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_id hidden = 0;
    vtac_id cell = 0;
    vtac_id parts[MAX_STEPS];
    steps s;
    if (!begin_steps(c, 4, &s)) {
        return;
    }
    for (int64_t t = 0; t < s.count && m->status == VTA_OK; t++) {
        const vtac_id mark = step_of(c, s.marks, t, s.streams, 1);
        vtac_id sums = step_of(c, s.sums, t, s.streams, s.gates * s.units);
        sums = t == 0 ? sums : with_states(c, &s, sums, kept(c, mark, hidden));
        const vtac_id value = vtac_make2(m, VTAC_OP_MUL, gate_of(c, &s, sums, 0, VTAC_OP_SIGMOID),
                                         gate_of(c, &s, sums, 3, VTAC_OP_TANH));
        const vtac_id old = t == 0 ? 0
                                   : vtac_make2(m, VTAC_OP_MUL, gate_of(c, &s, sums, 1, VTAC_OP_SIGMOID),
                                                kept(c, mark, cell));
        cell = t == 0 ? value : vtac_make2(m, VTAC_OP_ADD, value, old);
        hidden = vtac_make2(m, VTAC_OP_MUL, gate_of(c, &s, sums, 2, VTAC_OP_SIGMOID),
                            vtac_make1(m, VTAC_OP_TANH, cell));
        parts[t] = hidden;
    }
    join_steps(c, parts, &s, s.units);
}

/* A hidden state by tanh, and of it the value of the step by a dense layer and tanh. */
void vtac_caffe_make_rnn(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_id hidden = 0;
    vtac_id parts[MAX_STEPS];
    steps s;
    if (!begin_steps(c, 1, &s)) {
        return;
    }
    const int64_t dims[] = {s.units, s.units};
    const vtac_id weight = vtac_caffe_weights(c, s.rest, dims, 2);
    const vtac_id bias = vtac_caffe_weights(c, s.rest + 1, dims, 1);
    for (int64_t t = 0; t < s.count && m->status == VTA_OK; t++) {
        const vtac_id mark = step_of(c, s.marks, t, s.streams, 1);
        vtac_id sum = step_of(c, s.sums, t, s.streams, s.units);
        sum = t == 0 ? sum : with_states(c, &s, sum, kept(c, mark, hidden));
        hidden = vtac_make1(m, VTAC_OP_TANH, sum);
        parts[t] = vtac_make1(m, VTAC_OP_TANH, vtac_make_dense(m, hidden, 1, weight, false, bias));
    }
    join_steps(c, parts, &s, s.units);
}

/* A row of a table for each number. */
void vtac_caffe_make_embed(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "embed_param";
    const int64_t dims[] = {vtac_caffe_int(c, param, "input_dim", 0, 1, MAX_UNITS * 16),
                            vtac_caffe_int(c, param, "num_output", 0, 1, MAX_UNITS)};
    const vtac_id in[] = {vtac_caffe_weights(c, 0, dims, 2), vtac_make_cast(m, c->in[0], VTAC_I64)};
    vtac_id y = vtac_make(m, VTAC_OP_GATHER, in, 2, NULL, 0);
    if (vtac_caffe_flag(c, param, "bias_term", true)) {
        y = vtac_make2(m, VTAC_OP_ADD, y, vtac_caffe_weights(c, 1, &dims[1], 1));
    }
    vtac_caffe_set(c, 0, y);
}
