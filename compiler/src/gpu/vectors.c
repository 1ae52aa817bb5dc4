/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of vector loops.
 */
#include "vectors.h"

enum { MAX_EVEN = 6 };

bool vtac_lanes_is_vector(const vtac_lanes *at, const vtac_expr *e)
{
    if (e == NULL || at->lanes == 1 || at->lane != VTAC_ALL_LANES) {
        return false;
    }
    if (e->op == VTAC_E_VAR) {
        return at->vars[e->var].kind == VTAC_LANE_VECTOR || at->vars[e->var].kind == VTAC_LANE_LANE;
    }
    return vtac_lanes_is_vector(at, e->in[0]) || vtac_lanes_is_vector(at, e->in[1]) ||
           vtac_lanes_is_vector(at, e->in[2]);
}

unsigned vtac_lanes_of(const vtac_lanes *at, const vtac_expr *e)
{
    return vtac_lanes_is_vector(at, e) ? at->lanes : 1;
}

static bool names_lanes(const vtac_lanes *at, const vtac_expr *e)
{
    return e != NULL && ((e->op == VTAC_E_VAR && at->vars[e->var].kind == VTAC_LANE_VECTOR) ||
                         names_lanes(at, e->in[0]) || names_lanes(at, e->in[1]) || names_lanes(at, e->in[2]));
}

static uint32_t lane_variable(const vtac_lanes *at)
{
    uint32_t var = 0;
    while (var < at->kernel->var_count && at->vars[var].kind != VTAC_LANE_LANE) {
        var++;
    }
    return var;
}

int vtac_lanes_step(const vtac_lanes *at, const vtac_expr *index)
{
    int64_t stride = 0;
    if (!vtac_lanes_is_vector(at, index)) {
        return 0;
    }
    if (names_lanes(at, index) || !vtac_expr_stride(index, lane_variable(at), &stride)) {
        return -1;
    }
    return stride == 0 || stride == 1 ? (int)stride : -1;
}

/* The logarithm of a power of two that divides a number. */
static unsigned evenness_of(int64_t number)
{
    unsigned log = 0;
    while (log < MAX_EVEN && ((uint64_t)number >> log & 1) == 0) {
        log++;
    }
    return log;
}

static unsigned evenness_of_variable(const vtac_lanes *at, const vtac_lane_var *v)
{
    const int lane = at->lane > 0 ? at->lane : 0;
    switch (v->kind) {
    case VTAC_LANE_NUMBER: return evenness_of(v->number);
    case VTAC_LANE_LANE: return evenness_of(v->number + lane);
    case VTAC_LANE_VECTOR: return lane == 0 ? v->even : 0;
    case VTAC_LANE_SCALAR: break;
    }
    return v->even;
}

unsigned vtac_lanes_evenness(const vtac_lanes *at, const vtac_expr *e)
{
    const bool is_sum = e->op == VTAC_E_ADD || e->op == VTAC_E_SUB;
    if (e->op == VTAC_E_INT) {
        return evenness_of(e->i);
    }
    if (e->op == VTAC_E_VAR) {
        return evenness_of_variable(at, &at->vars[e->var]);
    }
    if (!is_sum && e->op != VTAC_E_MUL) {
        return 0;
    }
    const unsigned a = vtac_lanes_evenness(at, e->in[0]);
    const unsigned b = vtac_lanes_evenness(at, e->in[1]);
    return !is_sum ? (a + b < MAX_EVEN ? a + b : MAX_EVEN) : a < b ? a : b;
}

size_t vtac_lanes_buffer(const vtac_lanes *at, const vtac_buffer *buffer)
{
    size_t i = 0;
    while (i < at->kernel->buffer_count && at->kernel->buffers[i] != buffer) {
        i++;
    }
    return i;
}
