/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model keeps from run to run: states of recurrent operators and variables, as states of the graph
 * (vtac/graph.h). Those are zeros at first; where others are wanted, one more state tells the first run.
 */
#include <string.h>

#include "operators.h"

enum { MAX_STATES = 1 << 12 };

typedef struct vtac_tflite_state {
    vtac_id input;
    vtac_id *now; /* what it is by the end of the run */
} vtac_tflite_state;

static vtac_id add_state(vtac_tflite *im, const char *name, const vtac_type *type, vtac_id *now)
{
    vtac_import_builder *m = &im->maker;
    if (im->states == NULL) {
        im->states = vtac_make_room(m, MAX_STATES, sizeof *im->states);
    }
    if (m->status == VTA_OK && im->state_count == MAX_STATES) {
        vtac_make_refuse(&im->maker, "more than %d states", MAX_STATES);
    }
    if (m->status != VTA_OK) {
        return 0;
    }
    vtac_id input = 0;
    m->status = vtac_add_input(m->graph, name, type, &input, m->diag);
    im->states[im->state_count++] = (vtac_tflite_state){input, now};
    return input;
}

static bool is_zeros(const vtac_tensor *t)
{
    for (size_t i = 0; t != NULL && i < t->bytes; i++) {
        if (((const uint8_t *)t->data)[i] != 0) {
            return false;
        }
    }
    return t != NULL;
}

vtac_id vtac_tflite_state_of(vtac_tflite *im, const char *name, vtac_id start, vtac_id *now)
{
    vtac_import_builder *m = &im->maker;
    if (m->status != VTA_OK || im->options == NULL || !im->options->states) {
        return start;
    }
    const vtac_type type = vtac_made_type(m, start);
    const vtac_id state = add_state(im, name, &type, now);
    if (is_zeros(vtac_made_constant(m, start))) {
        return state;
    }
    if (im->started == 0) {
        im->started = add_state(im, "started", &(vtac_type){VTAC_BOOL, 0, {0}}, &im->started);
    }
    return vtac_make3(m, VTAC_OP_WHERE, im->started, state, start);
}

void vtac_tflite_leave(vtac_tflite *im, uint32_t i, vtac_id value)
{
    vtac_tflite_tensor *t = vtac_tflite_in(im, i);
    if (im->depth == 0 && t->variable && im->maker.status == VTA_OK) {
        t->plain = vtac_make_reshape(&im->maker, value, t->type.dim, t->type.rank);
        t->planes = 0;
    }
}

vta_status vtac_tflite_keep_states(vtac_tflite *im, vta_diag *diag)
{
    vtac_import_builder *m = &im->maker;
    for (uint32_t i = 0; i < im->state_count; i++) {
        const vtac_tflite_state *state = &im->states[i];
        vtac_id now = state->input == im->started ? vtac_make_number(m, VTAC_BOOL, 1.0) : *state->now;
        const vtac_type type = vtac_made_type(m, now);
        if (m->status == VTA_OK && !vtac_type_equal(&type, &m->graph->values[state->input].type)) {
            im->changing = true;
            return vta_fail(diag, VTA_UNSUPPORTED, "state '%s' changes its type or shape from run to run",
                            m->graph->values[state->input].name);
        }
        if (m->graph->values[now].node == 0 || vtac_is_output(m->graph, now)) {
            now = vtac_make1(m, VTAC_OP_IDENTITY, now);
        }
        VTA_TRY(m->status);
        VTA_TRY(vtac_add_output(m->graph, now, diag));
    }
    m->graph->state_count = im->state_count;
    return VTA_OK;
}
