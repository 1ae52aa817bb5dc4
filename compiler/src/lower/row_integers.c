/* SPDX-License-Identifier: Apache-2.0
 *
 * RowSoftmax and RowNorm: the integers of vtac/quant.h. A product by a factor is one of doubles, in which it
 * is exact, and rounded as REQUANT does by a sum with a large number.
 */
#include <math.h>
#include <string.h>

#include "rows.h"
#include "vtac/rows.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)
#define E1(op, a)    vtac_e1(l->k, VTAC_E_##op, a)

/* 1.5 * 2^52: what is added to it has no fraction left. */
#define ROUNDER 0x1.8p52

typedef struct integer_row {
    const vtac_type *x;
    const vtac_expr *at[VTAC_MAX_RANK];
    uint32_t axis; /* the last one */
    int64_t extent, lanes;
    vtac_buffer *part; /* of a maximum or a sum, in each lane */
} integer_row;

static const vtac_expr *whole_number(vtac_lower *l, int64_t value)
{
    return vtac_e_int(l->k, VTAC_I32, value);
}

static const vtac_expr *real_number(vtac_lower *l, double value)
{
    return vtac_e_float(l->k, VTAC_F64, value);
}

/* A factor of fixed point as a double. */
static double factor_of(vtac_fixed fixed)
{
    return ldexp((double)fixed.mult, -(int)fixed.shift);
}

/* x as int8 has it, at element i of the row. */
static const vtac_expr *number_at(vtac_lower *l, integer_row *r, const vtac_expr *i)
{
    r->at[r->axis] = i;
    const vtac_expr *x = vtac_e_cast(l->k, VTAC_I32, vtac_in_at(l, 0, r->at));
    return r->x->dtype == VTAC_I8 ? x : E2(ADD, x, whole_number(l, INT8_MIN));
}

/* REQUANT with long_result of a double that holds a whole number; the result is a double, too. */
static const vtac_expr *long_result(vtac_lower *l, const vtac_expr *v, const vtac_expr *factor)
{
    const vtac_expr *y = E2(MAX, E2(MUL, v, factor), real_number(l, -VTAC_ROW_LONG));
    y = E2(MIN, y, real_number(l, VTAC_ROW_LONG - 1));
    return E2(SUB, E2(ADD, y, real_number(l, ROUNDER)), real_number(l, ROUNDER));
}

/* 2^-shift, of a number in 64 bits. */
static const vtac_expr *power_below(vtac_lower *l, const vtac_expr *shift)
{
    enum { BIAS = 1023, FRACTION = 52 };
    const vtac_expr *exponent = E2(SUB, vtac_e_int(l->k, VTAC_I64, BIAS), shift);
    return vtac_e_bits(l->k, VTAC_F64, E2(SHL, exponent, vtac_e_int(l->k, VTAC_I64, FRACTION)));
}

/* floor(log2 v) of a whole number from 1 on. */
static const vtac_expr *log_below(vtac_lower *l, const vtac_expr *v)
{
    enum { BIAS = 1023, FRACTION = 52 };
    const vtac_expr *bits = vtac_e_bits(l->k, VTAC_I64, vtac_e_cast(l->k, VTAC_F64, v));
    return E2(SUB, E2(SHR, bits, vtac_e_int(l->k, VTAC_I64, FRACTION)), vtac_e_int(l->k, VTAC_I64, BIAS));
}

/* floor((2^33 - 1) / w) */
static const vtac_expr *quotient(vtac_lower *l, const vtac_expr *w)
{
    return E2(DIV, vtac_e_int(l->k, VTAC_I64, (INT64_C(1) << 33) - 1), w);
}

static void open_rows(vtac_lower *l, integer_row *r)
{
    bool marks[VTAC_MAX_RANK] = {false};
    r->x = vtac_type_in(l, 0);
    r->axis = r->x->rank - 1;
    r->extent = r->x->dim[r->axis];
    r->lanes = vtac_row_lanes(l, VTAC_I32, r->extent);
    r->part = vtac_local(l, "part", VTAC_I32, r->lanes);
    marks[r->axis] = true;
    vtac_open_others(l, r->x, marks, r->at);
}

/* ---- softmax */

enum { SCORES = 256 }; /* differences of scores that are not masked */

typedef struct softmax_row {
    integer_row row;
    vtac_softmax p;
    vtac_buffer *powers, *tails, *power; /* by difference; of each number of the row */
    vtac_buffer *tail;
    const vtac_expr *max, *share;
} softmax_row;

/* e, or what the tail sums, for the differences 0 ... -255 and one that is masked. */
static vtac_buffer *power_table(vtac_lower *l, const vtac_softmax *p, bool tail)
{
    int32_t *table = vta_arena_array(&l->program->arena, SCORES + 1, sizeof *table);
    for (int32_t d = 0; table != NULL && d <= SCORES; d++) {
        const int32_t v = d < SCORES ? -d : VTAC_ROW_MASKED;
        table[d] = tail ? vtac_softmax_tail(p, v) : vtac_softmax_power(p, v);
    }
    const vtac_storage_id id = table == NULL ? 0 : vtac_constant(l, table, (SCORES + 1) * sizeof *table);
    return vtac_use(l, id, tail ? "tails" : "powers", VTAC_I32, SCORES + 1);
}

static const vtac_expr *score_at(vtac_lower *l, softmax_row *s, const vtac_expr *i)
{
    const vtac_expr *x = number_at(l, &s->row, i);
    if (!vtac_has_in(l, 5)) {
        return x;
    }
    const vtac_expr *masked = vtac_arg(l, l->node, 5, s->row.at);
    return E2(ADD, x,
              vtac_e3(l->k, VTAC_E_SELECT, masked, whole_number(l, VTAC_ROW_MASKED), whole_number(l, 0)));
}

static void take_max(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    softmax_row *s = context;
    const vtac_expr *max = E2(MAX, score_at(l, s, i), vtac_e_load(l->k, s->row.part, lane));
    vtac_store(l->k, s->row.part, lane, max);
}

/* The part of the sum that e and its tail are. */
static void take_power(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    softmax_row *s = context;
    const vtac_expr *below = E2(MIN, E2(SUB, s->max, score_at(l, s, i)), whole_number(l, SCORES));
    const vtac_expr *place = vtac_let(l->k, "below", vtac_e_cast(l->k, VTAC_I64, below));
    const vtac_expr *e = vtac_let(l->k, "e", vtac_e_load(l->k, s->powers, place));
    vtac_store(l->k, s->power, i, e);
    const vtac_expr *part = e;
    if (s->p.tail) {
        const vtac_expr *min = whole_number(l, 1 << (16 - VTAC_ROW_TAIL));
        const vtac_expr *tail = E2(ADD, vtac_e_load(l->k, s->tail, lane), vtac_e_load(l->k, s->tails, place));
        part = E2(SUB, E2(MAX, e, min), min);
        vtac_store(l->k, s->tail, lane, tail);
    }
    vtac_store(l->k, s->row.part, lane, E2(ADD, vtac_e_load(l->k, s->row.part, lane), part));
}

static void take_share(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    softmax_row *s = context;
    (void)lane;
    const vtac_expr *e = vtac_e_load(l->k, s->power, i);
    s->row.at[s->row.axis] = i;
    vtac_out_at(l, 0, s->row.at,
                vtac_rescale(l, e, s->share, s->p.shift >= -14, whole_number(l, s->p.zero),
                             vtac_type_out(l, 0)->dtype));
}

/* recip of the sum, by the scale of the result. */
static const vtac_expr *share_of(vtac_lower *l, const vtac_softmax *p, const vtac_expr *sum)
{
    const vtac_expr *v = vtac_let(l->k, "sum", vtac_e_cast(l->k, VTAC_I64, sum));
    const vtac_expr *log = vtac_let(l->k, "log", log_below(l, v));
    const vtac_expr *k = E2(SUB, vtac_e_int(l->k, VTAC_I64, 31), log);
    const vtac_expr *w = E2(SHR, E2(SHL, v, k), vtac_e_int(l->k, VTAC_I64, 14));
    const vtac_expr *mult = E2(MUL, quotient(l, w), vtac_e_int(l->k, VTAC_I64, p->mult));
    const vtac_expr *shift = E2(SUB, vtac_e_int(l->k, VTAC_I64, 47 + p->shift), k);
    return vtac_let(l->k, "share", E2(MUL, vtac_e_cast(l->k, VTAC_F64, mult), power_below(l, shift)));
}

static const vtac_expr *sum_of_row(vtac_lower *l, const softmax_row *s)
{
    const vtac_expr *sum = vtac_join_lanes(l, s->row.part, s->row.lanes, VTAC_E_ADD);
    if (!s->p.tail) {
        return sum;
    }
    const vtac_expr *tail = vtac_join_lanes(l, s->tail, s->row.lanes, VTAC_E_ADD);
    return E2(ADD, sum, E2(SHR, tail, whole_number(l, VTAC_ROW_TAIL)));
}

vta_status vtac_lower_row_softmax(vtac_lower *l)
{
    softmax_row s = {0};
    if (!vtac_softmax_of_node(l->graph, l->node, &s.p)) {
        return vtac_unsupported(l, "its scales must be known, and its rows short");
    }
    VTA_TRY(vtac_begin(l, ""));
    s.powers = power_table(l, &s.p, false);
    s.tails = s.p.tail ? power_table(l, &s.p, true) : NULL;
    open_rows(l, &s.row);
    s.power = vtac_kernel_buffer(l->k, "power", VTAC_I32, s.row.extent, VTAC_BUFFER_SCRATCH);
    s.tail = s.p.tail ? vtac_local(l, "tail", VTAC_I32, s.row.lanes) : NULL;
    vtac_set_lanes(l, s.row.part, s.row.lanes, whole_number(l, INT32_MIN));
    vtac_each_of_row(l, s.row.extent, s.row.lanes, take_max, &s);
    s.max = vtac_let(l->k, "max", vtac_join_lanes(l, s.row.part, s.row.lanes, VTAC_E_MAX));
    vtac_set_lanes(l, s.row.part, s.row.lanes, whole_number(l, 0));
    if (s.tail != NULL) {
        vtac_set_lanes(l, s.tail, s.row.lanes, whole_number(l, 0));
    }
    vtac_each_of_row(l, s.row.extent, s.row.lanes, take_power, &s);
    s.share = share_of(l, &s.p, sum_of_row(l, &s));
    vtac_each_of_row(l, s.row.extent, s.row.lanes, take_share, &s);
    vtac_end(l->k);
    return l->diag->code;
}

/* ---- normalizations */

typedef struct norm_row {
    integer_row row;
    vtac_norm p;
    bool plain;                           /* the factor of each column is 1 */
    vtac_buffer *times, *biases, *scales; /* by column */
    const vtac_expr *sum, *near, *root;
} norm_row;

/* The numbers of the columns, each kind by itself. */
static void put_columns(vtac_lower *l, norm_row *n)
{
    const int64_t count = n->p.n;
    int32_t *times = vta_arena_array(&l->program->arena, (size_t)count, sizeof *times);
    int32_t *biases = vta_arena_array(&l->program->arena, (size_t)count, sizeof *biases);
    float *scales = vta_arena_array(&l->program->arena, (size_t)count, sizeof *scales);
    const bool room = times != NULL && biases != NULL && scales != NULL;
    n->plain = true;
    for (int64_t c = 0; room && c < count; c++) {
        times[c] = n->p.columns[c].times;
        biases[c] = n->p.columns[c].bias;
        scales[c] = (float)factor_of(n->p.columns[c].scale);
        n->plain = n->plain && times[c] == 1;
    }
    const uint64_t bytes = (uint64_t)count * sizeof *times;
    n->times = vtac_use(l, room ? vtac_constant(l, times, bytes) : 0, "times", VTAC_I32, count);
    n->biases = vtac_use(l, room ? vtac_constant(l, biases, bytes) : 0, "biases", VTAC_I32, count);
    n->scales = vtac_use(l, room ? vtac_constant(l, scales, bytes) : 0, "scales", VTAC_F32, count);
}

static void take_number(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    norm_row *n = context;
    const vtac_expr *x = number_at(l, &n->row, i);
    vtac_store(l->k, n->row.part, lane, E2(ADD, vtac_e_load(l->k, n->row.part, lane), x));
}

static void take_square(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    norm_row *n = context;
    const vtac_expr *off = vtac_let(l->k, "off", E2(SUB, number_at(l, &n->row, i), n->near));
    vtac_store(l->k, n->row.part, lane, E2(ADD, vtac_e_load(l->k, n->row.part, lane), E2(MUL, off, off)));
}

/* A sum over the row, by what `take` adds. */
static const vtac_expr *sum_by(vtac_lower *l, norm_row *n, vtac_row_fn *take, const char *name)
{
    vtac_set_lanes(l, n->row.part, n->row.lanes, whole_number(l, 0));
    vtac_each_of_row(l, n->row.extent, n->row.lanes, take, n);
    return vtac_let(l->k, name, vtac_join_lanes(l, n->row.part, n->row.lanes, VTAC_E_ADD));
}

/* REQUANT with long_result of an int32, as an int32. */
static const vtac_expr *long_integer(vtac_lower *l, const vtac_expr *v, vtac_fixed factor)
{
    const vtac_expr *y = long_result(l, vtac_e_cast(l->k, VTAC_F64, v), real_number(l, factor_of(factor)));
    return vtac_e_cast(l->k, VTAC_I32, y);
}

/* V */
static const vtac_expr *spread_of(vtac_lower *l, norm_row *n)
{
    const vtac_norm *p = &n->p;
    n->sum = p->centered ? sum_by(l, n, take_number, "sum") : whole_number(l, 0);
    n->near =
        p->centered ? vtac_let(l->k, "near", long_integer(l, n->sum, p->mean)) : whole_number(l, -p->offset);
    const vtac_expr *v = sum_by(l, n, take_square, "squares");
    v = E2(SHL, v, whole_number(l, p->spread));
    if (p->centered) {
        const vtac_expr *off = E2(SUB, n->sum, E2(MUL, n->near, whole_number(l, p->n)));
        off = vtac_let(l->k, "off", off);
        v = E2(SUB, v, long_integer(l, E2(MUL, off, off), p->square));
    }
    return E2(MAX, E2(ADD, v, whole_number(l, p->epsilon)), whole_number(l, 1));
}

/* recip_root of the root of V, as a double. */
static const vtac_expr *inverse_root(vtac_lower *l, const vtac_norm *p, const vtac_expr *spread)
{
    const vtac_expr *v = vtac_let(l->k, "spread", vtac_e_cast(l->k, VTAC_I64, spread));
    const vtac_expr *one = vtac_e_int(l->k, VTAC_I64, 1);
    const vtac_expr *half = E2(SHR, E2(SUB, vtac_e_int(l->k, VTAC_I64, 31), log_below(l, v)), one);
    half = vtac_let(l->k, "half", half);
    const vtac_expr *square = vtac_e_cast(l->k, VTAC_F64, E2(SHL, v, E2(SHL, half, one)));
    const vtac_expr *m = vtac_e_cast(l->k, VTAC_I64, E1(SQRT, square));
    const vtac_expr *mult = quotient(l, E2(SHL, m, vtac_e_int(l->k, VTAC_I64, 2)));
    const vtac_expr *shift = E2(SUB, vtac_e_int(l->k, VTAC_I64, 31 - (int64_t)p->places), half);
    shift = E2(MAX, shift, vtac_e_int(l->k, VTAC_I64, 0));
    return vtac_let(l->k, "root", E2(MUL, vtac_e_cast(l->k, VTAC_F64, mult), power_below(l, shift)));
}

static void take_normal(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    norm_row *n = context;
    const vtac_norm *p = &n->p;
    (void)lane;
    const vtac_expr *d = E2(ADD, number_at(l, &n->row, i), whole_number(l, p->offset));
    d = E2(MUL, d, whole_number(l, p->times));
    d = p->centered ? E2(SUB, d, n->sum) : d;
    d = n->plain ? d : E2(MUL, d, vtac_e_load(l->k, n->times, i));
    const vtac_expr *z = long_result(l, vtac_e_cast(l->k, VTAC_F64, d), n->root);
    z = E2(ADD, z, vtac_e_cast(l->k, VTAC_F64, vtac_e_load(l->k, n->biases, i)));
    n->row.at[n->row.axis] = i;
    const vtac_expr *scale = vtac_e_load(l->k, n->scales, i);
    vtac_out_at(l, 0, n->row.at,
                vtac_rescale(l, z, scale, false, whole_number(l, p->zero), vtac_type_out(l, 0)->dtype));
}

vta_status vtac_lower_row_norm(vtac_lower *l)
{
    norm_row n = {0};
    if (!vtac_norm_of_node(l->graph, l->node, &l->program->arena, &n.p)) {
        return vtac_unsupported(l, "its scales, gains and biases must be known, and its rows short");
    }
    VTA_TRY(vtac_begin(l, ""));
    put_columns(l, &n);
    open_rows(l, &n.row);
    n.root = inverse_root(l, &n.p, spread_of(l, &n));
    if (n.p.centered) {
        n.sum = vtac_let(l->k, "sum", E2(MUL, n.sum, whole_number(l, n.p.sum_times)));
    }
    vtac_each_of_row(l, n.row.extent, n.row.lanes, take_normal, &n);
    vtac_end(l->k);
    return l->diag->code;
}
