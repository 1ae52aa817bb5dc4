/* SPDX-License-Identifier: Apache-2.0
 *
 * RowSoftmax, RowNorm and PlaneNorm: the integers of vtac/quant.h. A product by a factor is one of doubles,
 * in which it is exact, and rounded as REQUANT does by a sum with a large number.
 */
#include <math.h>
#include <stddef.h>
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

/* ---- softmax: e of every difference is in a table, one that is masked first. With a tail, an entry is e
 * above and below it what the sum grows by, in units of 2^-VTAC_ROW_TAIL: the lower halves of all make the
 * sum.
 * -------------------------------------------------------------------------------------------------- */

enum {
    SCORES = 256, /* differences of scores that are not masked */
    ABOVE = 40    /* the place of e; no sum has so many bits */
};

typedef struct softmax_row {
    integer_row row;
    vtac_softmax p;
    vtac_buffer *table, *power; /* by difference; of each number of the row */
    const vtac_expr *max, *share;
    const vtac_expr *shift; /* where the share is a whole number, of 2^-shift; else NULL */
} softmax_row;

static vtac_dtype entry_type(const vtac_softmax *p)
{
    return p->tail ? VTAC_I64 : VTAC_I32;
}

/* Growth of the sum by a number with this e, in the units of the tail. */
static int64_t grown_by(const vtac_softmax *p, int32_t v, int32_t e)
{
    const int64_t above = e > VTAC_ROW_TAIL_BELOW ? e - VTAC_ROW_TAIL_BELOW : 0;
    return above * (1 << VTAC_ROW_TAIL) + vtac_softmax_tail(p, v);
}

static vtac_buffer *power_table(vtac_lower *l, const vtac_softmax *p)
{
    const size_t each = vtac_dtype_bytes(entry_type(p));
    uint8_t *table = vta_arena_array(&l->program->arena, SCORES + 1, each);
    for (int32_t j = 0; table != NULL && j <= SCORES; j++) {
        const int32_t v = j == 0 ? VTAC_ROW_MASKED : j - SCORES;
        const int32_t e = vtac_softmax_power(p, v);
        const int64_t both = (int64_t)e * (INT64_C(1) << ABOVE) + (p->tail ? grown_by(p, v, e) : 0);
        memcpy(table + (size_t)j * each, p->tail ? (const void *)&both : (const void *)&e, each);
    }
    const vtac_storage_id id = table == NULL ? 0 : vtac_constant(l, table, (SCORES + 1) * each);
    return vtac_use(l, id, "powers", entry_type(p), SCORES + 1);
}

static const vtac_expr *score_at(vtac_lower *l, softmax_row *s, const vtac_expr *i)
{
    const vtac_expr *x = number_at(l, &s->row, i);
    if (!vtac_has_in(l, VTAC_ROW_SOFTMAX_MASK)) {
        return x;
    }
    const vtac_expr *masked = vtac_arg(l, l->node, VTAC_ROW_SOFTMAX_MASK, s->row.at);
    return E2(ADD, x,
              vtac_e3(l->k, VTAC_E_SELECT, masked, whole_number(l, VTAC_ROW_MASKED), whole_number(l, 0)));
}

static void take_max(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    softmax_row *s = context;
    const vtac_expr *max = E2(MAX, score_at(l, s, i), vtac_e_load(l->k, s->row.part, lane));
    vtac_store(l->k, s->row.part, lane, max);
}

/* The entries of the row. One after the other: processors read a table no faster by vectors. */
static void take_entries(vtac_lower *l, softmax_row *s)
{
    const vtac_expr *last = vtac_e_cast(l->k, VTAC_I64, E2(SUB, whole_number(l, SCORES), s->max));
    last = vtac_let(l->k, "last", last);
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, s->row.extent, "i");
    const vtac_expr *place = E2(ADD, vtac_e_cast(l->k, VTAC_I64, score_at(l, s, i)), last);
    place = vtac_has_in(l, VTAC_ROW_SOFTMAX_MASK) ? E2(MAX, place, vtac_e_index(l->k, 0)) : place;
    vtac_store(l->k, s->power, i, vtac_e_load(l->k, s->table, place));
    vtac_end(l->k);
}

/* The numbers of a row without powers. */
static void take_plain(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    softmax_row *s = context;
    (void)lane;
    vtac_store(l->k, s->power, i, E2(SUB, number_at(l, &s->row, i), whole_number(l, s->p.offset)));
}

typedef struct power_sum {
    const softmax_row *s;
    vtac_buffer *part;
} power_sum;

static void take_power(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    power_sum *sum = context;
    const vtac_expr *entry = vtac_e_load(l->k, sum->s->power, i);
    entry = vtac_softmax_has_signs(&sum->s->p) ? E1(ABS, entry) : entry;
    vtac_store(l->k, sum->part, lane, E2(ADD, vtac_e_load(l->k, sum->part, lane), entry));
}

static const vtac_expr *sum_of_row(vtac_lower *l, const softmax_row *s)
{
    const vtac_dtype type = entry_type(&s->p);
    const int64_t lanes = vtac_row_lanes(l, type, s->row.extent);
    power_sum sum = {.s = s, .part = vtac_local(l, "sum", type, lanes)};
    vtac_set_lanes(l, sum.part, lanes, vtac_e_int(l->k, type, 0));
    vtac_each_of_row(l, s->row.extent, lanes, take_power, &sum);
    const vtac_expr *all = vtac_join_lanes(l, sum.part, lanes, VTAC_E_ADD);
    if (!s->p.tail) {
        return vtac_e_cast(l->k, VTAC_I64, all);
    }
    all = E2(AND, all, vtac_e_int(l->k, VTAC_I64, (INT64_C(1) << ABOVE) - 1));
    return E2(SHR, all, vtac_e_int(l->k, VTAC_I64, VTAC_ROW_TAIL));
}

/* e by the share, halves to even, and what REQUANT does behind it. */
static const vtac_expr *whole_share(vtac_lower *l, const softmax_row *s, const vtac_expr *e)
{
    const vtac_dtype type = vtac_type_out(l, 0)->dtype;
    const vtac_expr *one = vtac_e_int(l->k, VTAC_I64, 1);
    const vtac_expr *product = E2(MUL, vtac_e_cast(l->k, VTAC_I64, e), vtac_e_cast(l->k, VTAC_I64, s->share));
    const vtac_expr *odd = E2(AND, E2(SHR, product, s->shift), one);
    const vtac_expr *below = E2(SUB, E2(SHL, one, E2(SUB, s->shift, one)), one);
    const vtac_expr *y = E2(SHR, E2(ADD, product, E2(ADD, below, odd)), s->shift);
    y = E2(ADD, vtac_e_cast(l->k, VTAC_I32, y), whole_number(l, s->p.zero));
    double low;
    double high;
    vtac_range_of(type, &low, &high);
    y = E2(MIN, E2(MAX, y, whole_number(l, (int64_t)low)), whole_number(l, (int64_t)high));
    return vtac_e_cast(l->k, type, y);
}

static void take_share(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    softmax_row *s = context;
    (void)lane;
    const vtac_expr *e = vtac_e_load(l->k, s->power, i);
    e = s->p.tail ? E2(SHR, e, vtac_e_int(l->k, VTAC_I64, ABOVE)) : e;
    s->row.at[s->row.axis] = i;
    if (s->shift != NULL) {
        vtac_out_at(l, 0, s->row.at, whole_share(l, s, e));
        return;
    }
    vtac_out_at(l, 0, s->row.at,
                vtac_rescale(l, vtac_e_cast(l->k, VTAC_I32, e), s->share, s->p.shift >= -14,
                             whole_number(l, s->p.zero), vtac_type_out(l, 0)->dtype));
}

/* A factor of fixed point that the run finds. */
typedef struct found_factor {
    const vtac_expr *mult, *shift;
} found_factor;

/* recip of the sum, by the scale of the result. */
static found_factor factor_of_sum(vtac_lower *l, const vtac_softmax *p, const vtac_expr *sum)
{
    sum = p->linear ? E2(MAX, sum, vtac_e_int(l->k, VTAC_I64, 1)) : sum;
    const vtac_expr *v = vtac_let(l->k, "sum", sum);
    const vtac_expr *log = vtac_let(l->k, "log", log_below(l, v));
    const vtac_expr *k = E2(SUB, vtac_e_int(l->k, VTAC_I64, 31), log);
    const vtac_expr *w = E2(SHR, E2(SHL, v, k), vtac_e_int(l->k, VTAC_I64, 14));
    const vtac_expr *mult = E2(MUL, quotient(l, w), vtac_e_int(l->k, VTAC_I64, p->mult));
    const vtac_expr *shift = E2(SUB, vtac_e_int(l->k, VTAC_I64, 47 + p->shift), k);
    return (found_factor){mult, shift};
}

/* Without doubles as instructions a result is a product of integers: 17 bits by 31. */
static bool has_whole_shares(const vtac_lower *l, const vtac_softmax *p)
{
    return !l->program->target->has_floats && !p->tail && p->shift >= -14;
}

static void find_share(vtac_lower *l, softmax_row *s)
{
    const found_factor f = factor_of_sum(l, &s->p, sum_of_row(l, s));
    if (has_whole_shares(l, &s->p)) {
        s->share = vtac_let(l->k, "mult", vtac_e_cast(l->k, VTAC_I32, f.mult));
        s->shift = vtac_let(l->k, "shift", E2(MIN, f.shift, vtac_e_int(l->k, VTAC_I64, 62)));
        return;
    }
    const vtac_expr *share = E2(MUL, vtac_e_cast(l->k, VTAC_F64, f.mult), power_below(l, f.shift));
    s->share = vtac_let(l->k, "share", share);
}

/* The powers of a row, of the numbers less their maximum. */
static void take_powers(vtac_lower *l, softmax_row *s)
{
    vtac_set_lanes(l, s->row.part, s->row.lanes, whole_number(l, INT32_MIN));
    vtac_each_of_row(l, s->row.extent, s->row.lanes, take_max, s);
    s->max = vtac_let(l->k, "max", vtac_join_lanes(l, s->row.part, s->row.lanes, VTAC_E_MAX));
    take_entries(l, s);
}

vta_status vtac_lower_row_softmax(vtac_lower *l)
{
    softmax_row s = {0};
    if (!vtac_softmax_of_node(l->graph, l->node, &s.p)) {
        return vtac_unsupported(l, "its scales must be known, and its rows short");
    }
    VTA_TRY(vtac_begin(l, ""));
    s.table = s.p.linear ? NULL : power_table(l, &s.p);
    open_rows(l, &s.row);
    s.power = vtac_kernel_buffer(l->k, "power", entry_type(&s.p), s.row.extent, VTAC_BUFFER_SCRATCH);
    if (s.p.linear) {
        vtac_each_of_row(l, s.row.extent, s.row.lanes, take_plain, &s);
    } else {
        take_powers(l, &s);
    }
    find_share(l, &s);
    vtac_each_of_row(l, s.row.extent, s.row.lanes, take_share, &s);
    vtac_end(l->k);
    return l->diag->code;
}

/* ---- normalizations */

typedef struct norm_row {
    integer_row row;
    vtac_norm p;
    bool plain;                           /* the factor of each column is 1 */
    bool fits;                            /* no z needs to be clamped */
    bool is_small;                        /* no result before it is clamped is far outside */
    vtac_buffer *times, *biases, *scales; /* by column; biases less ROUNDER where `fits` */
    vtac_buffer *square;                  /* the sum of squares, in each lane */
    const vtac_expr *sum, *root;
} norm_row;

/* Notes what is known of all columns. */
static void note_columns(norm_row *n)
{
    const double far = 1073741824.0;
    n->plain = n->fits = n->is_small = true;
    for (int64_t c = 0; c < n->p.n; c++) {
        const vtac_norm_column *column = &n->p.columns[c];
        const double reach = (VTAC_ROW_LONG + fabs((double)column->bias)) * factor_of(column->scale);
        n->plain = n->plain && column->times == 1;
        n->fits = n->fits && column->times >= -1 && column->times <= 1;
        n->is_small = n->is_small && reach < far;
    }
}

/* The numbers of the columns, each kind by itself. */
static void put_columns(vtac_lower *l, norm_row *n)
{
    const int64_t count = n->p.n;
    int32_t *times = vta_arena_array(&l->program->arena, (size_t)count, sizeof *times);
    double *biases = vta_arena_array(&l->program->arena, (size_t)count, sizeof *biases);
    double *scales = vta_arena_array(&l->program->arena, (size_t)count, sizeof *scales);
    const bool room = times != NULL && biases != NULL && scales != NULL;
    note_columns(n);
    for (int64_t c = 0; room && c < count; c++) {
        times[c] = n->p.columns[c].times;
        biases[c] = (double)n->p.columns[c].bias - (n->fits ? ROUNDER : 0.0);
        scales[c] = factor_of(n->p.columns[c].scale);
    }
    const uint64_t whole = (uint64_t)count * sizeof *times;
    const uint64_t real = (uint64_t)count * sizeof *biases;
    n->times =
        n->plain ? NULL : vtac_use(l, room ? vtac_constant(l, times, whole) : 0, "times", VTAC_I32, count);
    n->biases = vtac_use(l, room ? vtac_constant(l, biases, real) : 0, "biases", VTAC_F64, count);
    n->scales = vtac_use(l, room ? vtac_constant(l, scales, real) : 0, "scales", VTAC_F64, count);
}

static void take_number(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    norm_row *n = context;
    const vtac_expr *x = vtac_let(l->k, "x", number_at(l, &n->row, i));
    vtac_store(l->k, n->row.part, lane, E2(ADD, vtac_e_load(l->k, n->row.part, lane), x));
    vtac_store(l->k, n->square, lane, E2(ADD, vtac_e_load(l->k, n->square, lane), E2(MUL, x, x)));
}

/* REQUANT with long_result of an int32, as an int32. */
static const vtac_expr *long_integer(vtac_lower *l, const vtac_expr *v, vtac_fixed factor)
{
    const vtac_expr *y = long_result(l, vtac_e_cast(l->k, VTAC_F64, v), real_number(l, factor_of(factor)));
    return vtac_e_cast(l->k, VTAC_I32, y);
}

/* The sum of (x - near)^2, of the sums of x and of x^2. */
static const vtac_expr *squares_from(vtac_lower *l, const norm_row *n, const vtac_expr *squares,
                                     const vtac_expr *near)
{
    const vtac_expr *off = E2(SUB, E2(MUL, near, whole_number(l, n->p.n)), E2(ADD, n->sum, n->sum));
    return E2(ADD, squares, E2(MUL, near, off));
}

/* V */
static const vtac_expr *spread_of(vtac_lower *l, norm_row *n)
{
    const vtac_norm *p = &n->p;
    vtac_set_lanes(l, n->row.part, n->row.lanes, whole_number(l, 0));
    vtac_set_lanes(l, n->square, n->row.lanes, whole_number(l, 0));
    vtac_each_of_row(l, n->row.extent, n->row.lanes, take_number, n);
    n->sum = vtac_let(l->k, "sum", vtac_join_lanes(l, n->row.part, n->row.lanes, VTAC_E_ADD));
    const vtac_expr *squares =
        vtac_let(l->k, "squares", vtac_join_lanes(l, n->square, n->row.lanes, VTAC_E_ADD));
    const vtac_expr *near = whole_number(l, -p->offset);
    near = p->centered ? vtac_let(l->k, "near", long_integer(l, n->sum, p->mean)) : near;
    const vtac_expr *v = E2(SHL, squares_from(l, n, squares, near), whole_number(l, p->spread));
    if (p->centered) {
        const vtac_expr *off = E2(SUB, n->sum, E2(MUL, near, whole_number(l, p->n)));
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

/* z and the bias of the column. */
static const vtac_expr *biased(vtac_lower *l, const norm_row *n, const vtac_expr *d, const vtac_expr *i)
{
    const vtac_expr *bias = vtac_e_load(l->k, n->biases, i);
    const vtac_expr *v = vtac_e_cast(l->k, VTAC_F64, d);
    if (n->fits) {
        return E2(ADD, vtac_e3(l->k, VTAC_E_FMA, v, n->root, real_number(l, ROUNDER)), bias);
    }
    return E2(ADD, long_result(l, v, n->root), bias);
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
    const vtac_expr *z = biased(l, n, d, i);
    n->row.at[n->row.axis] = i;
    vtac_out_at(l, 0, n->row.at,
                vtac_rescale(l, z, vtac_e_load(l->k, n->scales, i), n->is_small, whole_number(l, p->zero),
                             vtac_type_out(l, 0)->dtype));
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
    n.square = vtac_local(l, "square", VTAC_I32, n.row.lanes);
    n.root = inverse_root(l, &n.p, spread_of(l, &n));
    if (n.p.centered) {
        n.sum = vtac_let(l->k, "sum", E2(MUL, n.sum, whole_number(l, n.p.sum_times)));
    }
    vtac_each_of_row(l, n.row.extent, n.row.lanes, take_normal, &n);
    vtac_end(l->k);
    return l->diag->code;
}

/* ---- normalizations of planes: a group's sums, its moments, then each channel by a line */

typedef struct plane_group {
    integer_row row; /* a plane's numbers, counted through by the last axis */
    vtac_planes p;
    int64_t channels;                                    /* of a group */
    vtac_buffer *times, *weight, *lower, *gain, *places; /* by channel */
    vtac_buffer *square, *sum, *squares;                 /* of a plane, in each lane; of the group */
    const vtac_expr *mean, *part, *root, *half, *mult;   /* M, F, m, h, and the multiplier of r */
    const vtac_expr *bias, *scale, *factor;              /* of a channel: B, its scale, and times */
} plane_group;

static const vtac_expr *whole_long(vtac_lower *l, int64_t value)
{
    return vtac_e_int(l->k, VTAC_I64, value);
}

static vtac_buffer *channel_numbers(vtac_lower *l, const plane_group *g, const char *name, size_t member)
{
    const int32_t count = g->p.channels;
    int64_t *numbers = vta_arena_array(&l->program->arena, (size_t)count, sizeof *numbers);
    for (int32_t c = 0; numbers != NULL && c < count; c++) {
        int32_t number;
        memcpy(&number, (const char *)&g->p.channel[c] + member, sizeof number);
        numbers[c] = number;
    }
    const uint64_t bytes = (uint64_t)count * sizeof *numbers;
    return vtac_use(l, numbers == NULL ? 0 : vtac_constant(l, numbers, bytes), name, VTAC_I64, count);
}

static void put_channels(vtac_lower *l, plane_group *g)
{
    g->times = channel_numbers(l, g, "times", offsetof(vtac_planes_channel, times));
    g->weight = channel_numbers(l, g, "weight", offsetof(vtac_planes_channel, weight));
    g->lower = channel_numbers(l, g, "lower", offsetof(vtac_planes_channel, lower));
    g->gain = channel_numbers(l, g, "gain", offsetof(vtac_planes_channel, gain));
    g->places = channel_numbers(l, g, "places", offsetof(vtac_planes_channel, places));
}

/* Opens a loop over images and groups, whose number is the result; fills in the shape of a plane. */
static const vtac_expr *open_groups(vtac_lower *l, plane_group *g)
{
    enum { EXACT = 1 << 16 }; /* squares that a lane of 32 bits sums */
    integer_row *r = &g->row;
    r->x = vtac_type_in(l, 0);
    r->axis = r->x->rank - 1;
    g->channels = g->p.channels / g->p.groups;
    r->extent = g->p.n / g->channels;
    const int64_t lanes = vtac_row_lanes(l, VTAC_I32, r->extent);
    const vtac_dtype type = r->extent / lanes < EXACT ? VTAC_I32 : VTAC_I64;
    r->lanes = type == VTAC_I32 ? lanes : vtac_row_lanes(l, type, r->extent);
    r->part = vtac_local(l, "part", type, r->lanes);
    g->square = vtac_local(l, "square", type, r->lanes);
    g->sum = vtac_local(l, "sum", VTAC_I64, 1);
    g->squares = vtac_local(l, "squares", VTAC_I64, 1);
    return vtac_for(l->k, vtac_parallel_if(vtac_type_elements(r->x)), r->x->dim[0] * g->p.groups, "group");
}

/* Sets the place of a plane: of channel `k` of group `number`. Returns the channel. */
static const vtac_expr *at_plane(vtac_lower *l, plane_group *g, const vtac_expr *number, const vtac_expr *k)
{
    const vtac_expr *group = vtac_i_remc(l->k, number, g->p.groups);
    for (uint32_t i = 2; i < g->row.x->rank; i++) {
        g->row.at[i] = vtac_e_index(l->k, 0);
    }
    g->row.at[0] = vtac_i_divc(l->k, number, g->p.groups);
    g->row.at[1] = vtac_i_add(l->k, vtac_i_mulc(l->k, group, g->channels), k);
    return g->row.at[1];
}

static void take_plane_number(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    plane_group *g = context;
    const vtac_dtype type = g->square->dtype;
    const vtac_expr *x = vtac_let(l->k, "x", vtac_e_cast(l->k, type, number_at(l, &g->row, i)));
    vtac_store(l->k, g->row.part, lane, E2(ADD, vtac_e_load(l->k, g->row.part, lane), x));
    vtac_store(l->k, g->square, lane, E2(ADD, vtac_e_load(l->k, g->square, lane), E2(MUL, x, x)));
}

/* The sums of a group's planes. */
static void sum_group(vtac_lower *l, plane_group *g, const vtac_expr *number)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0), *none = vtac_e_int(l->k, g->square->dtype, 0);
    vtac_store(l->k, g->sum, zero, whole_long(l, 0));
    vtac_store(l->k, g->squares, zero, whole_long(l, 0));
    const vtac_expr *k = vtac_for(l->k, VTAC_LOOP_SERIAL, g->channels, "k");
    (void)at_plane(l, g, number, k);
    vtac_set_lanes(l, g->row.part, g->row.lanes, none);
    vtac_set_lanes(l, g->square, g->row.lanes, none);
    vtac_each_of_row(l, g->row.extent, g->row.lanes, take_plane_number, g);
    const vtac_expr *sum = vtac_join_lanes(l, g->row.part, g->row.lanes, VTAC_E_ADD);
    vtac_store(l->k, g->sum, zero,
               E2(ADD, vtac_e_load(l->k, g->sum, zero), vtac_e_cast(l->k, VTAC_I64, sum)));
    const vtac_expr *squares = vtac_join_lanes(l, g->square, g->row.lanes, VTAC_E_ADD);
    vtac_store(l->k, g->squares, zero,
               E2(ADD, vtac_e_load(l->k, g->squares, zero), vtac_e_cast(l->k, VTAC_I64, squares)));
    vtac_end(l->k);
}

/* REQUANT with long_result of a number of 64 bits, as another one. */
static const vtac_expr *long_number(vtac_lower *l, const vtac_expr *v, vtac_fixed factor)
{
    const vtac_expr *y = long_result(l, vtac_e_cast(l->k, VTAC_F64, v), real_number(l, factor_of(factor)));
    return vtac_e_cast(l->k, VTAC_I64, y);
}

/* floor(v * 2^places) */
static const vtac_expr *moved_by(vtac_lower *l, const vtac_expr *v, int32_t places)
{
    return places >= 0 ? E2(SHL, v, whole_long(l, places)) : E2(SHR, v, whole_long(l, -places));
}

/* V */
static const vtac_expr *plane_spread(vtac_lower *l, const plane_group *g, const vtac_expr *rest)
{
    const vtac_planes *p = &g->p;
    const vtac_expr *squares = vtac_e_load(l->k, g->squares, vtac_e_index(l->k, 0));
    const vtac_expr *twice = E2(MUL, E2(ADD, rest, rest), g->mean);
    const vtac_expr *own = E2(MUL, E2(MUL, g->mean, g->mean), whole_long(l, p->n));
    const vtac_expr *far = E2(SUB, E2(SUB, squares, own), twice);
    const vtac_expr *half = vtac_let(l->k, "half", moved_by(l, rest, -(int32_t)p->halves));
    const vtac_expr *v = moved_by(l, far, p->spread);
    v = E2(SUB, v, long_number(l, E2(MUL, half, half), p->square));
    return E2(MAX, E2(ADD, v, whole_long(l, p->epsilon)), whole_long(l, 1));
}

/* The moments of a group, of its sums. */
static void find_moments(vtac_lower *l, plane_group *g)
{
    const vtac_planes *p = &g->p;
    const vtac_expr *sum = vtac_let(l->k, "all", vtac_e_load(l->k, g->sum, vtac_e_index(l->k, 0)));
    g->mean = vtac_let(l->k, "mean", long_number(l, sum, p->mean));
    const vtac_expr *rest = E2(SUB, sum, E2(MUL, g->mean, whole_long(l, p->n)));
    rest = vtac_let(l->k, "rest", rest);
    g->part = vtac_let(l->k, "part", long_number(l, rest, p->part));
    const vtac_expr *v = vtac_let(l->k, "spread", plane_spread(l, g, rest));
    const vtac_expr *zeros = E2(SUB, whole_long(l, 31), log_below(l, v));
    g->half = vtac_let(l->k, "half", E2(SHR, zeros, whole_long(l, 1)));
    const vtac_expr *square = E2(SHL, v, E2(SHL, g->half, whole_long(l, 1)));
    const vtac_expr *root = E1(SQRT, vtac_e_cast(l->k, VTAC_F64, square));
    g->root = vtac_let(l->k, "root", vtac_e_cast(l->k, VTAC_I64, root));
    g->mult = vtac_let(l->k, "mult", quotient(l, E2(SHL, g->root, whole_long(l, 2))));
}

/* B and the scale of a channel. */
static void find_line(vtac_lower *l, plane_group *g, const vtac_expr *c)
{
    enum { FARTHEST = 31 };
    const vtac_expr *times = vtac_let(l->k, "factor", vtac_e_load(l->k, g->times, c));
    const vtac_expr *down = E2(ADD, g->half, vtac_e_load(l->k, g->lower, c));
    down = E2(MIN, E2(MAX, down, whole_long(l, -FARTHEST)), whole_long(l, FARTHEST));
    const vtac_expr *bias = E2(MUL, g->root, vtac_e_load(l->k, g->weight, c));
    bias = E2(SHR, moved_by(l, bias, FARTHEST), E2(ADD, down, whole_long(l, FARTHEST)));
    bias = E2(SUB, bias, E2(MUL, g->mean, times));
    bias = E2(SUB, bias, moved_by(l, E2(MUL, g->part, times), -VTAC_PLANES_PART));
    g->bias = vtac_let(l->k, "bias", vtac_e_cast(l->k, VTAC_I32, bias));
    g->factor = vtac_let(l->k, "times", vtac_e_cast(l->k, VTAC_I32, times));
    const vtac_expr *mult = moved_by(l, E2(MUL, g->mult, vtac_e_load(l->k, g->gain, c)), -VTAC_PLANES_GAIN);
    const vtac_expr *shift = E2(SUB, whole_long(l, FARTHEST), g->half);
    shift = E2(ADD, shift, vtac_e_load(l->k, g->places, c));
    g->scale = vtac_let(l->k, "scale", E2(MUL, vtac_e_cast(l->k, VTAC_F64, mult), power_below(l, shift)));
}

static void take_plane_result(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    plane_group *g = context;
    (void)lane;
    const vtac_expr *v = E2(ADD, E2(MUL, number_at(l, &g->row, i), g->factor), g->bias);
    g->row.at[g->row.axis] = i;
    vtac_out_at(l, 0, g->row.at,
                vtac_rescale(l, vtac_e_cast(l->k, VTAC_F64, v), g->scale, false, whole_number(l, g->p.zero),
                             vtac_type_out(l, 0)->dtype));
}

vta_status vtac_lower_plane_norm(vtac_lower *l)
{
    plane_group g = {0};
    if (!vtac_planes_of_node(l->graph, l->node, &l->program->arena, &g.p)) {
        return vtac_unsupported(l, "its scales, gains and biases must be known, and its planes not larger "
                                   "than 4,194,304 numbers a group");
    }
    VTA_TRY(vtac_begin(l, ""));
    put_channels(l, &g);
    const vtac_expr *number = open_groups(l, &g);
    sum_group(l, &g, number);
    find_moments(l, &g);
    const vtac_expr *k = vtac_for(l->k, VTAC_LOOP_SERIAL, g.channels, "k");
    find_line(l, &g, at_plane(l, &g, number, k));
    vtac_each_of_row(l, g.row.extent, vtac_row_lanes(l, VTAC_F64, g.row.extent), take_plane_result, &g);
    vtac_end(l->k);
    vtac_end(l->k);
    return l->diag->code;
}
