/* SPDX-License-Identifier: Apache-2.0
 *
 * QuantizeLinear to bytes without a division. The integer is floor(x / scale + 1/2) + zero, but where the
 * quotient, rounded to a float, is a tie: there the even one. With the reciprocal of the scale as a factor,
 *
 *     f = trunc((x * factor + (1/2 + zero + 8/U)) * U),   U = 2^16, in float32, saturated to 32 bits
 *
 * is 8 + U * (x / scale + 1/2 + zero), up to an error: the quotient that IEEE rounds, the factor and the
 * product are each wrong by at most 2^-24 of it, which is 3 for the quotients to 256 that decide; the sum, of
 * at most 257, adds 1, and trunc 1. So the upper half of f is the integer, unless the lower half is below 16:
 * then a tie or another integer may be as near as 8, and the row is done once more by division. NaN gives 0,
 * which is such a doubt; what lies beyond 32 bits saturates, as it is to.
 *
 * A scale that is a power of two has an exact reciprocal, which LLVM finds, and its ties are no accident.
 */
#include "quick.h"

#include <math.h>

#include "vtac/quant.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { UNIT = 65536, DOUBT = 8, UNIT_BITS = 16, MAX_LANES = 16 };

/* Factors and quotients that decide are normal numbers, and there is no exact one. */
static bool quick_pays(double scale)
{
    int exponent;
    const double fraction = frexp(scale, &exponent);
    return scale > 0x1p-60 && scale < 0x1p60 && fraction != 0.5;
}

vtac_quick vtac_quick_of(const vtac_lower *l, const vtac_node *n, int64_t columns)
{
    vtac_quick q = {.node = n};
    if (!l->program->target->has_neon || l->program->level == 0 || !vtac_quantizes_by_numbers(l, n) ||
        vtac_in_type(l->graph, n, VTAC_QDQ_X)->dtype != VTAC_F32) {
        return q;
    }
    const double scale = vtac_tensor_float(vtac_in_constant(l->graph, n, VTAC_QDQ_SCALE), 0);
    const vtac_tensor *zero = vtac_in_constant(l->graph, n, VTAC_QDQ_ZERO);
    if (quick_pays(scale)) {
        q.dtype = l->graph->values[n->outputs[0]].type.dtype;
        q.factor = (double)(float)(1.0 / scale);
        q.offset = 0.5 + (double)(zero == NULL ? 0 : vtac_tensor_int(zero, 0)) + (double)DOUBT / UNIT;
        q.lanes = columns >= MAX_LANES ? MAX_LANES : columns >= 8 ? 8 : columns >= 4 ? 4 : 0;
    }
    return q;
}

void vtac_quick_begin(vtac_lower *l, vtac_quick *q)
{
    if (q->lanes > 0) {
        q->doubt = vtac_kernel_buffer(l->k, "doubt", VTAC_U16, q->lanes, VTAC_BUFFER_LOCAL);
    }
}

static void clear_doubts(vtac_lower *l, const vtac_quick *q)
{
    const vtac_expr *lane = vtac_for(l->k, VTAC_LOOP_VECTOR, q->lanes, "lane");
    vtac_store(l->k, q->doubt, lane, vtac_e_int(l->k, VTAC_U16, UNIT - 1));
    vtac_end(l->k);
}

const vtac_expr *vtac_quick_element(vtac_lower *l, const vtac_quick *q, const vtac_expr *x,
                                    const vtac_expr *lane)
{
    vtac_kernel *k = l->k;
    double low;
    double high;
    vtac_range_of(q->dtype, &low, &high);
    const vtac_expr *sum =
        E2(ADD, E2(MUL, x, vtac_e_float(k, VTAC_F32, q->factor)), vtac_e_float(k, VTAC_F32, q->offset));
    const vtac_expr *units = E2(MUL, sum, vtac_e_float(k, VTAC_F32, UNIT));
    const vtac_expr *f = vtac_let(k, "f", vtac_e_cast(k, VTAC_I32, units));
    const vtac_expr *was = vtac_e_load(k, q->doubt, lane);
    vtac_store(k, q->doubt, lane, E2(MIN, was, vtac_e_cast(k, VTAC_U16, f)));
    const vtac_expr *v = vtac_e_cast(k, VTAC_I16, E2(SHR, f, vtac_e_int(k, VTAC_I32, UNIT_BITS)));
    v = E2(MAX, v, vtac_e_int(k, VTAC_I16, (int64_t)low));
    v = E2(MIN, v, vtac_e_int(k, VTAC_I16, (int64_t)high));
    return vtac_e_cast(k, q->dtype, v);
}

static const vtac_expr *load_doubts(vtac_lower *l, const vtac_quick *q)
{
    const vtac_expr *min = vtac_e_load(l->k, q->doubt, vtac_e_index(l->k, 0));
    for (int64_t i = 1; i < q->lanes; i++) {
        min = E2(MIN, min, vtac_e_load(l->k, q->doubt, vtac_e_index(l->k, i)));
    }
    return E2(LT, min, vtac_e_int(l->k, VTAC_U16, 2 * DOUBT));
}

static void lower_vector(vtac_lower *l, const vtac_quick *q, const vtac_expr *first, vtac_quick_fn *store,
                         void *of)
{
    const vtac_expr *lane = vtac_for(l->k, VTAC_LOOP_VECTOR, q->lanes, "lane");
    store(of, vtac_i_add(l->k, first, lane), lane);
    vtac_end(l->k);
}

/* Divides in vectors of four. */
static void lower_division(vtac_lower *l, int64_t begin, int64_t end, vtac_quick_fn *store, void *of)
{
    enum { LANES = 4 };
    vtac_kernel *k = l->k;
    const vtac_expr *round = vtac_for(k, VTAC_LOOP_SERIAL, (end - begin) / LANES, "x");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, LANES, "lane");
    store(of, vtac_i_addc(k, vtac_i_add(k, vtac_i_mulc(k, round, LANES), lane), begin), NULL);
    vtac_end(k);
    vtac_end(k);
    if ((end - begin) % LANES != 0) { /* a whole one again: some are done twice */
        lane = vtac_for(k, VTAC_LOOP_VECTOR, LANES, "lane");
        store(of, vtac_i_addc(k, lane, end - LANES), NULL);
        vtac_end(k);
    }
}

void vtac_quick_along(vtac_lower *l, const vtac_quick *q, int64_t begin, int64_t end, vtac_quick_fn *store,
                      void *of)
{
    vtac_kernel *k = l->k;
    clear_doubts(l, q);
    const vtac_expr *round = vtac_for(k, VTAC_LOOP_SERIAL, (end - begin) / q->lanes, "x");
    lower_vector(l, q, vtac_i_addc(k, vtac_i_mulc(k, round, q->lanes), begin), store, of);
    vtac_end(k);
    if ((end - begin) % q->lanes != 0) { /* the same */
        lower_vector(l, q, vtac_e_index(k, end - q->lanes), store, of);
    }
    vtac_if(k, load_doubts(l, q));
    lower_division(l, begin, end, store, of);
    vtac_end(k);
}

/* ---- a step of its own */

typedef struct whole {
    vtac_lower *l;
    const vtac_quick *q;
    vtac_buffer *x, *y;
    const vtac_expr *first; /* element of the row */
} whole;

/* Stores an element as that of a tensor of one axis: one scale for all needs no places. */
static void store_element(void *of, const vtac_expr *x, const vtac_expr *lane)
{
    const whole *w = of;
    vtac_lower *l = w->l;
    const vtac_expr *at = vtac_i_add(l->k, w->first, x);
    const vtac_expr *value = vtac_e_load(l->k, w->x, at);
    vtac_store(l->k, w->y, at,
               lane != NULL ? vtac_quick_element(l, w->q, value, lane)
                            : vtac_quantized_number(l, w->q->node, value));
}

/* The longest row that divides the elements, of so many that one doubt costs little. */
static int64_t row_of(int64_t elements)
{
    enum { MIN_ROW = 64, MAX_ROW = 512 };
    if (elements <= MAX_ROW) {
        return elements;
    }
    for (int64_t row = MAX_ROW; row >= MIN_ROW; row--) {
        if (elements % row == 0) {
            return row;
        }
    }
    return 0;
}

bool vtac_quick_lower(vtac_lower *l, vta_status *status)
{
    const int64_t elements = vtac_type_elements(vtac_type_out(l, 0));
    const int64_t columns = row_of(elements);
    vtac_quick q = l->chain_count == 0 && columns > 0 ? vtac_quick_of(l, l->node, columns) : (vtac_quick){0};
    if (q.lanes == 0) {
        return false;
    }
    *status = vtac_begin(l, "");
    if (*status != VTA_OK) {
        return true;
    }
    whole w = {.l = l, .q = &q, .x = vtac_in(l, 0), .y = vtac_out(l, 0)};
    vtac_quick_begin(l, &q);
    const vtac_expr *row = vtac_for(l->k, vtac_parallel_if(elements), elements / columns, "row");
    w.first = vtac_let(l->k, "first", vtac_i_mulc(l->k, row, columns));
    vtac_quick_along(l, &q, 0, columns, store_element, &w);
    vtac_end(l->k);
    l->step->flops = (uint64_t)elements;
    *status = l->diag->code;
    return true;
}
