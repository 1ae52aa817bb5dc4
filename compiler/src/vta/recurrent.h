/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent cells: vtac_recurrent_step for all steps of a sequence, in one list of calls.
 *
 * ACC has a ring of places for the sums of some steps. The array fills it with the sums over the inputs
 * before the first step; while a step is under way, it refills the places of steps that are over, a few gates
 * at a time, so that it has work while the ALU makes a state. The sums over the state are added there, and
 * REQUANT takes them from there. The state itself is requantized into INP; C or H stay in ACC, in 32 bits.
 *
 * Weights lie in slots of WGT, each with some rows. Those of the state stay there, but for a few slots that
 * the weights over the input take for each chunk of steps where both do not fit: then the ring is filled for
 * a chunk at a time, and not refilled in between. Where those of the state alone do not fit, they come anew
 * in each step.
 *
 * The calls of a step are made in the order of the array's and of the ALU's work; order.c puts the two into
 * one order.
 *
 * The gates of a step, behind their tables, are in `work` at both ends of ACC, each as the state is: by
 * block, by row of the batch, by entry of the tile; so is each gate in a place of the ring.
 */
#ifndef VTAC_VTA_RECURRENT_H
#define VTAC_VTA_RECURRENT_H

#include "emit.h"
#include "vta/number.h"

enum { RECORD = 2 }; /* entries of a record */
/* Records that belong to no row: of C, of what is stored, of the state behind the reset gate. */
enum { MEMORY_RECORD, OUT_RECORD, RESET_RECORD, RECORDS };
enum { SIGMOID = 1, TANH = 2 }; /* tables, as REQUANT counts them */
enum { HALF = 128, PLACES = 8, FINE = 5, MAX_STRIDE = UINT16_MAX };

enum { FRONT, BACK }; /* ends of ACC */

/* The gates, by their place in `work`. Behind them: C or H negated; a GRU's sums over the state that the
 * reset gate multiplies. */
enum { LSTM_I, LSTM_O, LSTM_LOST, LSTM_G, LSTM_LESS };
enum { GRU_LOST, GRU_RESET, GRU_NEW, GRU_STATE, GRU_LESS, MAX_GROUPS };

static inline const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static inline int64_t pixels_of(const vtac_vta_tensor *t)
{
    return t->h * t->w;
}

/* Entries of a state, and of each gate. */
static inline int64_t state_entries(const recurrent_tiling *t)
{
    return t->state_rows * t->batch;
}

/* The end of ACC where a gate lies: what the ALU takes together comes from both ends, which are in different
 * banks. C or H lie at the front. */
static inline int64_t end_of(const vtac_recurrent *c, int64_t gate)
{
    static const int64_t ends[][MAX_GROUPS] = {[VTAC_RECURRENT_LSTM] = {BACK, BACK, BACK, FRONT, FRONT},
                                               [VTAC_RECURRENT_GRU] = {FRONT, FRONT, BACK, BACK, FRONT},
                                               [VTAC_RECURRENT_RNN] = {FRONT}};
    return ends[c->kind][gate];
}

/* The number of gates at an end, up to gate `before`. */
static inline int64_t gates_before(const vtac_recurrent *c, int64_t end, int64_t before)
{
    int64_t count = 0;
    for (int64_t gate = 0; gate < before; gate++) {
        count += end_of(c, gate) == end;
    }
    return count;
}

/* Rows of weights over the input (kind 0) or the state in a slot; slots that all rows need. */
static inline int64_t rows_of_slot(const recurrent_tiling *t, int64_t kind)
{
    return t->slot / t->terms[kind];
}

static inline int64_t slots_of(const recurrent_tiling *t, int64_t kind)
{
    return vta_ceil_div(t->rows, rows_of_slot(t, kind));
}

/* Slots of WGT for the weights over the input, which are at its end, and for those over the state, at its
 * front. Where both do not fit, those over the input come anew for each chunk, in a few slots that may be the
 * state's. */
static inline int64_t state_slots(const recurrent_tiling *t)
{
    return vta_min(t->slots, slots_of(t, 1));
}

static inline int64_t input_slots(const recurrent_tiling *t)
{
    enum { SHARED = 4 };
    return vta_min(vta_min(slots_of(t, 0), t->slots), vta_max(t->slots - state_slots(t), SHARED));
}

static inline bool slots_overlap(const recurrent_tiling *t)
{
    return state_slots(t) + input_slots(t) > t->slots;
}

/* True if the weights over the input come anew for each chunk: they do not all stay. */
static inline bool inputs_stream(const recurrent_tiling *t)
{
    return slots_overlap(t) || input_slots(t) < slots_of(t, 0);
}

#endif
