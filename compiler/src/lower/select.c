/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that pick: TopK and NonMaxSuppression.
 */
#include <math.h>

#include "../ops/infer.h"
#include "lower.h"

#define E2(op, a, b)     vtac_e2(l->k, VTAC_E_##op, a, b)
#define SELECT(c, a, b)  vtac_e3(l->k, VTAC_E_SELECT, c, a, b)
#define LET(name, value) vtac_let(l->k, name, value)

/* ---- TopK: a heap of the best so far, the worst of them on top. Most elements are not better than that one
 * and cost one comparison; one that is takes its place and sinks to where it belongs. In the end the heap is
 * taken down from its top, which leaves the list in order. Values of up to 32 bits make one key with their
 * places, so that a comparison is one of integers: the value's order above, the place turned round below. */

typedef struct ranking {
    vtac_buffer *value, *place; /* place: of the element; the axis's size marks an empty slot. NULL: keys */
    vtac_buffer *hole;          /* the slot that an element sinks to */
    vtac_buffer *worst, *open;  /* the value on top; whether any element goes before it */
    vtac_buffer *bar;           /* of keys of floats: the value on top, NaN where the slot is empty */
    int64_t count, size;
    bool largest;
    vtac_dtype type; /* of what is ranked */
} ranking;

typedef struct ranked {
    const vtac_expr *value, *place;
} ranked;

static ranked ranked_at(vtac_lower *l, const ranking *r, const vtac_expr *slot)
{
    return (ranked){LET("value", vtac_e_load(l->k, r->value, slot)),
                    r->place == NULL ? NULL : LET("place", vtac_e_load(l->k, r->place, slot))};
}

static void put_at(vtac_lower *l, const ranking *r, const vtac_expr *slot, const ranked *e)
{
    vtac_store(l->k, r->value, slot, e->value);
    if (r->place != NULL) {
        vtac_store(l->k, r->place, slot, e->place);
    }
}

static bool has_key(const ranking *r)
{
    return vtac_dtype_bytes(r->type) <= 4 && r->size < INT32_MAX;
}

/* The order of a value as a number: NaN is the least. */
static const vtac_expr *order_of(vtac_lower *l, const ranking *r, const vtac_expr *value)
{
    vtac_kernel *k = l->k;
    if (r->type != VTAC_F32) {
        value = vtac_e_cast(k, VTAC_I64, value);
        value = r->type == VTAC_U32 ? E2(ADD, value, vtac_e_index(k, INT32_MIN)) : value;
        return r->largest ? value : vtac_e1(k, VTAC_E_NOT, value);
    }
    const vtac_expr *bits = vtac_e_bits(k, VTAC_I32, E2(ADD, value, vtac_e_float(k, VTAC_F32, 0.0))); /* -0 */
    const vtac_expr *sign = E2(SHR, bits, vtac_e_int(k, VTAC_I32, 31));
    const vtac_expr *order = E2(XOR, bits, E2(AND, sign, vtac_e_int(k, VTAC_I32, INT32_MAX)));
    order = r->largest ? order : vtac_e1(k, VTAC_E_NOT, order);
    order = SELECT(E2(NE, value, value), vtac_e_int(k, VTAC_I32, INT32_MIN), order);
    return vtac_e_cast(k, VTAC_I64, order);
}

/* An element as it lies in a slot. */
static ranked ranked_of(vtac_lower *l, const ranking *r, const vtac_expr *value, const vtac_expr *place)
{
    if (r->place != NULL) {
        return (ranked){value, place};
    }
    const vtac_expr *order = E2(SHL, order_of(l, r, value), vtac_e_index(l->k, 32));
    return (ranked){LET("key", E2(ADD, order, E2(SUB, vtac_e_index(l->k, UINT32_MAX), place))), NULL};
}

static const vtac_expr *place_in(vtac_lower *l, const ranking *r, const vtac_expr *slot)
{
    if (r->place != NULL) {
        return vtac_e_load(l->k, r->place, slot);
    }
    const vtac_expr *low = E2(AND, vtac_e_load(l->k, r->value, slot), vtac_e_index(l->k, UINT32_MAX));
    return E2(SUB, vtac_e_index(l->k, UINT32_MAX), low);
}

/* True if a goes before b: better, or equal and earlier. Any element goes before an empty slot, and
 * NaN before all. */
static const vtac_expr *goes_before(vtac_lower *l, const ranking *r, const ranked *a, const ranked *b)
{
    if (r->place == NULL) {
        return E2(GT, a->value, b->value);
    }
    const vtac_expr *size = vtac_e_index(l->k, r->size);
    const vtac_expr *better = r->largest ? E2(GT, a->value, b->value) : E2(LT, a->value, b->value);
    if (vtac_dtype_kind(r->value->dtype) == 'f') {
        better = E2(OR, better, E2(NE, b->value, b->value));
    }
    const vtac_expr *tie = E2(AND, E2(EQ, a->value, b->value), E2(LT, a->place, b->place));
    const vtac_expr *before = E2(OR, E2(EQ, b->place, size), E2(OR, better, tie));
    return E2(AND, E2(NE, a->place, size), before);
}

/* The element sinks from the top of the first `end` slots: the worse child rises as long as it is worse. */
static void sink_element(vtac_lower *l, const ranking *r, const ranked *moving, const vtac_expr *end)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    int64_t levels = 0;
    while (r->count >> (levels + 1) != 0) {
        levels++;
    }
    vtac_store(l->k, r->hole, zero, zero);
    if (levels > 0) {
        (void)vtac_for(l->k, VTAC_LOOP_SERIAL, levels, "level");
        const vtac_expr *at = LET("at", vtac_e_load(l->k, r->hole, zero));
        const vtac_expr *left = LET("left", vtac_i_addc(l->k, vtac_i_mulc(l->k, at, 2), 1));
        vtac_if(l->k, E2(LT, left, end));
        const vtac_expr *right =
            LET("right", E2(MIN, vtac_i_addc(l->k, left, 1), vtac_i_addc(l->k, end, -1)));
        const ranked a = ranked_at(l, r, left);
        const ranked b = ranked_at(l, r, right);
        const vtac_expr *child = LET("child", SELECT(goes_before(l, r, &a, &b), right, left));
        const ranked c = ranked_at(l, r, child);
        vtac_if(l->k, LET("rises", goes_before(l, r, moving, &c)));
        put_at(l, r, at, &c);
        vtac_store(l->k, r->hole, zero, child);
        vtac_close(l, 3);
    }
    put_at(l, r, LET("at", vtac_e_load(l->k, r->hole, zero)), moving);
}

/* The value of a key; NaN where it is one, or the slot is empty. */
static const vtac_expr *value_of(vtac_lower *l, const ranking *r, const vtac_expr *key)
{
    vtac_kernel *k = l->k;
    const vtac_expr *order = LET("order", vtac_e_cast(k, VTAC_I32, E2(SHR, key, vtac_e_index(k, 32))));
    const vtac_expr *none = E2(EQ, order, vtac_e_int(k, VTAC_I32, INT32_MIN));
    const vtac_expr *own = r->largest ? order : vtac_e1(k, VTAC_E_NOT, order);
    const vtac_expr *sign = E2(SHR, own, vtac_e_int(k, VTAC_I32, 31));
    const vtac_expr *bits = E2(XOR, own, E2(AND, sign, vtac_e_int(k, VTAC_I32, INT32_MAX)));
    return SELECT(none, vtac_e_float(k, VTAC_F32, (double)NAN), vtac_e_bits(k, VTAC_F32, bits));
}

static void note_worst(vtac_lower *l, const ranking *r)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *value = LET("worst", vtac_e_load(l->k, r->value, zero));
    vtac_store(l->k, r->worst, zero, value);
    if (r->bar != NULL) {
        vtac_store(l->k, r->bar, zero, value_of(l, r, value));
    }
    if (r->place == NULL) {
        return;
    }
    const vtac_expr *open = E2(EQ, vtac_e_load(l->k, r->place, zero), vtac_e_index(l->k, r->size));
    vtac_store(l->k, r->open, zero, E2(OR, open, E2(NE, value, value)));
}

/* True if an element that comes after all elements of the heap belongs into the heap. */
static const vtac_expr *enters_heap(vtac_lower *l, const ranking *r, const vtac_expr *value)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *worst = vtac_e_load(l->k, r->worst, zero);
    if (r->place == NULL) {
        return E2(GT, value, worst);
    }
    const vtac_expr *better = r->largest ? E2(GT, value, worst) : E2(LT, value, worst);
    return E2(OR, better, vtac_e_load(l->k, r->open, zero));
}

/* Opens a condition that most elements fail at one comparison: NaN, and what meets NaN, is looked at closely.
 */
static void pass_bar(vtac_lower *l, const ranking *r, const vtac_expr *x)
{
    const vtac_expr *bar = vtac_e_load(l->k, r->bar, vtac_e_index(l->k, 0));
    vtac_if(l->k, vtac_e1(l->k, VTAC_E_NOT, r->largest ? E2(LE, x, bar) : E2(GE, x, bar)));
}

/* The worst goes to the last slot, the next to the one before it, and so on. */
static void put_in_order(vtac_lower *l, const ranking *r)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    if (r->count < 2) {
        return;
    }
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, r->count - 1, "i");
    const vtac_expr *end = LET("end", E2(SUB, vtac_e_index(l->k, r->count - 1), i));
    const ranked top = ranked_at(l, r, zero);
    const ranked last = ranked_at(l, r, end);
    put_at(l, r, end, &top);
    sink_element(l, r, &last, end);
    vtac_end(l->k);
}

vta_status vtac_lower_top_k(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_TOP_K_X);
    const vtac_dtype type = vtac_compute_type(x->dtype);
    uint32_t axis;
    VTA_TRY(vtac_axis(vtac_attr_int(l->node, "axis", -1), x->rank, &axis, l->diag));
    ranking r = {.count = vtac_type_out(l, 0)->dim[axis],
                 .size = x->dim[axis],
                 .largest = vtac_attr_int(l->node, "largest", 1) != 0,
                 .type = type};
    const vtac_dtype kept = has_key(&r) ? VTAC_I64 : type;
    VTA_TRY(vtac_begin(l, ""));
    r.value = vtac_kernel_buffer(l->k, "value", kept, r.count, VTAC_BUFFER_SCRATCH);
    if (!has_key(&r)) {
        r.place = vtac_kernel_buffer(l->k, "place", VTAC_I64, r.count, VTAC_BUFFER_SCRATCH);
        r.open = vtac_local(l, "open", VTAC_BOOL, 1);
    }
    r.hole = vtac_local(l, "hole", VTAC_I64, 1);
    r.worst = vtac_local(l, "worst", kept, 1);
    r.bar = has_key(&r) && type == VTAC_F32 ? vtac_local(l, "bar", VTAC_F32, 1) : NULL;
    vtac_type lines = *x;
    lines.dim[axis] = 1;
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, &lines, at, 4 * x->dim[axis]);
    const vtac_expr *slot = vtac_for(l->k, VTAC_LOOP_SERIAL, r.count, "slot");
    const ranked none = r.place == NULL ? (ranked){vtac_e_index(l->k, INT64_MIN), NULL}
                                        : (ranked){vtac_e_int(l->k, type, 0), vtac_e_index(l->k, r.size)};
    put_at(l, &r, slot, &none);
    vtac_end(l->k);
    note_worst(l, &r);
    at[axis] = vtac_for(l->k, VTAC_LOOP_SERIAL, r.size, "i");
    const vtac_expr *x_value = LET("x", vtac_in_at(l, VTAC_TOP_K_X, at));
    if (r.bar != NULL) {
        pass_bar(l, &r, x_value);
    }
    const ranked own = ranked_of(l, &r, x_value, at[axis]);
    vtac_if(l->k, LET("enters", enters_heap(l, &r, own.value)));
    sink_element(l, &r, &own, vtac_e_index(l->k, r.count));
    note_worst(l, &r);
    vtac_close(l, r.bar != NULL ? 3 : 2);
    put_in_order(l, &r);
    slot = vtac_for(l->k, VTAC_LOOP_SERIAL, r.count, "slot");
    const vtac_expr *place = LET("place", place_in(l, &r, slot));
    at[axis] = place;
    const vtac_expr *value = LET("value", vtac_in_at(l, VTAC_TOP_K_X, at));
    at[axis] = slot;
    for (uint32_t i = 0; i < l->node->output_count; i++) {
        if (l->node->outputs[i] != 0) {
            vtac_out_at(l, i, at, i == 0 ? value : place);
        }
    }
    vtac_close(l, loops + 1);
    return l->diag->code;
}

/* ---- NonMaxSuppression: boxes [batch, n, 4], scores [batch, class, n], then the most boxes a class, the
 * overlap and the score that decide. Rows of the result that no box fills are -1. */

typedef struct suppression {
    int64_t batches, classes, boxes, max;
    const vtac_expr *limit, *overlap, *threshold; /* threshold NULL: none */
    vtac_buffer *alive;                           /* of each box, this class */
    vtac_buffer *rows;                            /* how many are written */
} suppression;

static const vtac_expr *scalar_in(vtac_lower *l, uint32_t i, const vtac_expr *otherwise)
{
    return vtac_has_in(l, i) ? vtac_e_load(l->k, vtac_in(l, i), vtac_e_index(l->k, 0)) : otherwise;
}

typedef struct box {
    const vtac_expr *low[2], *high[2], *area;
} box;

/* Corners in order and the area of a box; corners may be given either way round. */
static box box_at(vtac_lower *l, const vtac_expr *batch, const vtac_expr *i)
{
    const bool centre = vtac_attr_int(l->node, "center_point_box", 0) != 0;
    const vtac_expr *half =
        vtac_e_float(l->k, vtac_compute_type(vtac_type_in(l, VTAC_NMS_BOXES)->dtype), 0.5);
    const vtac_expr *c[4];
    box b;
    for (uint32_t k = 0; k < 4; k++) {
        const vtac_expr *at[] = {batch, i, vtac_e_index(l->k, k)};
        c[k] = LET("c", vtac_in_at(l, VTAC_NMS_BOXES, at));
    }
    for (uint32_t k = 0; k < 2; k++) {
        const vtac_expr *reach = centre ? E2(MUL, c[k + 2], half) : NULL;
        b.low[k] = LET("low", centre ? E2(SUB, c[k], reach) : E2(MIN, c[k], c[k + 2]));
        b.high[k] = LET("high", centre ? E2(ADD, c[k], reach) : E2(MAX, c[k], c[k + 2]));
    }
    b.area = LET("area", E2(MUL, E2(SUB, b.high[0], b.low[0]), E2(SUB, b.high[1], b.low[1])));
    return b;
}

/* True if the intersection of two boxes exceeds the allowed share of their union. */
static const vtac_expr *boxes_overlap(vtac_lower *l, const suppression *s, const box *a, const box *b)
{
    const vtac_expr *shared = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        const vtac_expr *side = E2(SUB, E2(MIN, a->high[k], b->high[k]), E2(MAX, a->low[k], b->low[k]));
        side = E2(MAX, vtac_e_int(l->k, side == NULL ? VTAC_F32 : side->type, 0), side);
        shared = k == 0 ? side : E2(MUL, shared, side);
    }
    shared = LET("shared", shared);
    const vtac_expr *together = LET("together", E2(SUB, E2(ADD, a->area, b->area), shared));
    const vtac_expr *none = vtac_e_int(l->k, together == NULL ? VTAC_F32 : together->type, 0);
    return E2(AND, E2(GT, together, none), E2(GT, E2(DIV, shared, together), s->overlap));
}

static void mark_alive(vtac_lower *l, const suppression *s, const vtac_expr *batch, const vtac_expr *class)
{
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, s->boxes, "i");
    const vtac_expr *at[] = {batch, class, i};
    const vtac_expr *keep = s->threshold == NULL ? vtac_e_int(l->k, VTAC_BOOL, 1)
                                                 : E2(GT, vtac_in_at(l, VTAC_NMS_SCORES, at), s->threshold);
    vtac_store(l->k, s->alive, i, keep);
    vtac_end(l->k);
}

/* The first of the boxes alive with the best score into `best`, its score into `top`; -1: none is alive. */
static void find_best(vtac_lower *l, const suppression *s, const vtac_expr *batch, const vtac_expr *class,
                      vtac_buffer *best, vtac_buffer *top)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_store(l->k, best, zero, vtac_e_index(l->k, -1));
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, s->boxes, "i");
    const vtac_expr *at[] = {batch, class, i};
    const vtac_expr *score = LET("score", vtac_in_at(l, VTAC_NMS_SCORES, at));
    const vtac_expr *first = E2(LT, vtac_e_load(l->k, best, zero), zero);
    const vtac_expr *better = E2(OR, first, E2(GT, score, vtac_e_load(l->k, top, zero)));
    vtac_if(l->k, LET("better", E2(AND, vtac_e_load(l->k, s->alive, i), better)));
    vtac_store(l->k, best, zero, i);
    vtac_store(l->k, top, zero, score);
    vtac_close(l, 2);
}

static void write_row(vtac_lower *l, const suppression *s, const vtac_expr *batch, const vtac_expr *class,
                      const vtac_expr *chosen)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *row = LET("row", vtac_e_load(l->k, s->rows, zero));
    const vtac_expr *values[] = {batch, class, chosen};
    for (uint32_t k = 0; k < 3; k++) {
        const vtac_expr *at[] = {row, vtac_e_index(l->k, k)};
        vtac_out_at(l, 0, at, values[k]);
    }
    vtac_store(l->k, s->rows, zero, vtac_i_addc(l->k, row, 1));
}

/* One class of one picture: take the best box, drop what overlaps it, and again. */
static void suppress_class(vtac_lower *l, const suppression *s, const vtac_expr *batch,
                           const vtac_expr *class)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    vtac_buffer *best = vtac_local(l, "best", VTAC_I64, 1);
    vtac_buffer *top = vtac_local(l, "top", vtac_compute_type(vtac_type_in(l, VTAC_NMS_SCORES)->dtype), 1);
    mark_alive(l, s, batch, class);
    const vtac_expr *round = vtac_for(l->k, VTAC_LOOP_SERIAL, s->max, "turn");
    vtac_if(l->k, E2(LT, round, s->limit));
    find_best(l, s, batch, class, best, top);
    const vtac_expr *chosen = LET("chosen", vtac_e_load(l->k, best, zero));
    vtac_if(l->k, E2(GE, chosen, zero));
    write_row(l, s, batch, class, chosen);
    const box a = box_at(l, batch, chosen);
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, s->boxes, "i");
    const box b = box_at(l, batch, i);
    const vtac_expr *drop = E2(OR, boxes_overlap(l, s, &a, &b), E2(EQ, i, chosen));
    vtac_store(l->k, s->alive, i,
               SELECT(drop, vtac_e_int(l->k, VTAC_BOOL, 0), vtac_e_load(l->k, s->alive, i)));
    vtac_close(l, 4);
}

vta_status vtac_lower_nms(vtac_lower *l)
{
    const vtac_type *scores = vtac_type_in(l, VTAC_NMS_SCORES);
    const vtac_type *y = vtac_type_out(l, 0);
    suppression s = {.batches = scores->dim[0], .classes = scores->dim[1], .boxes = scores->dim[2]};
    s.max = y->dim[0] / (s.batches * s.classes);
    VTA_TRY(vtac_begin(l, ""));
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    s.limit = LET("limit", scalar_in(l, VTAC_NMS_MAX_OUTPUTS, zero));
    s.overlap = LET("overlap", scalar_in(l, VTAC_NMS_IOU_THRESHOLD, vtac_e_float(l->k, VTAC_F32, 0.0)));
    s.threshold = vtac_has_in(l, VTAC_NMS_SCORE_THRESHOLD)
                      ? LET("threshold", scalar_in(l, VTAC_NMS_SCORE_THRESHOLD, NULL))
                      : NULL;
    s.alive = vtac_kernel_buffer(l->k, "alive", VTAC_BOOL, s.boxes, VTAC_BUFFER_SCRATCH);
    s.rows = vtac_local(l, "rows", VTAC_I64, 1);
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, y, at, 0);
    vtac_out_at(l, 0, at, vtac_e_index(l->k, -1));
    vtac_close(l, loops);
    vtac_store(l->k, s.rows, zero, zero);
    const vtac_expr *batch = vtac_for(l->k, VTAC_LOOP_SERIAL, s.batches, "batch");
    const vtac_expr *class = vtac_for(l->k, VTAC_LOOP_SERIAL, s.classes, "class");
    suppress_class(l, &s, batch, class);
    vtac_close(l, 2);
    return l->diag->code;
}
