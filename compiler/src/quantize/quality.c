/* SPDX-License-Identifier: Apache-2.0
 *
 * An error summed over an output hides what one part of the output lost: boxes of some hundred pixels drown
 * scores between 0 and 1. So columns are looked at one by one, along the last axis and along axis 1. A column
 * in which the float model has many values and the quantized one three or fewer is lost, whatever the sum
 * says.
 */
#include "quality.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/exact.h"

enum {
    SET_ROOM = 16384, /* places of a set; a power of two */
    SET_FULL = 8192,  /* numbers counted; beyond that there are "at least" as many */
    MAX_COLUMNS = 1024,
    MIN_ROWS = 16, /* of a column that is looked at */
    LOST = 3,      /* values of a lost column, and fewer */
    MANY = 8       /* values of a column of floats that can be lost */
};

/* Bounds: within GOOD nothing is said, beyond BAD the model is no use. */
static const double good_mean = 0.02, bad_mean = 0.1;               /* error, of the range */
static const double good_correlation = 0.98, bad_correlation = 0.9; /* with the float output */
static const double good_decisions = 0.98, bad_decisions = 0.8;     /* kept */
static const double good_probability = 0.1, bad_probability = 0.3;  /* change */
static const double bad_columns = 0.2;                              /* lost */

static const char *const names[] = {
#define X(id, name) name,
    VTAC_QUALITIES(X)
#undef X
};

const char *vtac_quality_name(vtac_quality quality)
{
    return names[quality];
}

/* Numbers that occur. */
typedef struct number_set {
    uint32_t *bits; /* of each number, plus one; 0: free */
    uint32_t count;
} number_set;

/* A few numbers that occur in a column. */
typedef struct few_numbers {
    float values[MANY + 1];
    uint32_t count;
} few_numbers;

typedef struct quality_column {
    few_numbers is, should;
    double low, high; /* of the floats */
} quality_column;

typedef struct quality_columns {
    quality_column *at;
    size_t count, step; /* elements from one column to the next */
    uint64_t rows;
} quality_columns;

struct vtac_quant_quality {
    vtac_type type;
    size_t size;
    double count, is, should, is_is, should_should, is_should; /* sums */
    double off, off_off, worst, low, high;
    number_set numbers, float_numbers;
    quality_columns columns[2];
    bool probabilities;
    uint64_t decisions, agreed;
    bool unequal; /* a number that is none, or infinite, in one of both alone */
};

static vta_status open_set(number_set *set, vta_arena *arena, vta_diag *diag)
{
    set->bits = vta_arena_array(arena, SET_ROOM, sizeof *set->bits);
    if (set->bits == NULL) {
        return vta_no_memory(diag);
    }
    memset(set->bits, 0, SET_ROOM * sizeof *set->bits);
    return VTA_OK;
}

static void add_number(number_set *set, float number)
{
    uint32_t bits;
    number = number == 0.0F ? 0.0F : number; /* one zero */
    memcpy(&bits, &number, sizeof bits);
    bits = bits == UINT32_MAX ? bits : bits + 1;
    uint32_t place = bits * 2654435761U >> 18;
    while (set->bits[place] != 0 && set->bits[place] != bits) {
        place = (place + 1) % SET_ROOM;
    }
    if (set->bits[place] == 0 && set->count < SET_FULL) {
        set->bits[place] = bits;
        set->count++;
    }
}

static void add_few(few_numbers *few, float number)
{
    for (uint32_t i = 0; i < few->count; i++) {
        if (few->values[i] == number) {
            return;
        }
    }
    if (few->count <= MANY) {
        few->values[few->count++] = number;
    }
}

/* Columns along an axis; none where that has too many, or too few rows. */
static vta_status open_columns(const vtac_type *type, uint32_t axis, size_t size, vta_arena *arena,
                               quality_columns *out, vta_diag *diag)
{
    *out = (quality_columns){.step = 1};
    if (type->rank < 2 || axis >= type->rank || type->dim[axis] < 2 || type->dim[axis] > MAX_COLUMNS) {
        return VTA_OK;
    }
    for (uint32_t i = axis + 1; i < type->rank; i++) {
        out->step *= (size_t)type->dim[i];
    }
    out->count = (size_t)type->dim[axis];
    out->rows = size / out->count;
    out->at = vta_arena_array(arena, out->count, sizeof *out->at);
    if (out->at == NULL) {
        return vta_no_memory(diag);
    }
    memset(out->at, 0, out->count * sizeof *out->at);
    return VTA_OK;
}

vta_status vtac_quant_quality_open(const vtac_type *type, vta_arena *arena, vtac_quant_quality **out,
                                   vta_diag *diag)
{
    vtac_quant_quality *q = vta_arena_alloc(arena, sizeof *q);
    if (q == NULL) {
        return vta_no_memory(diag);
    }
    *q = (vtac_quant_quality){.type = *type, .size = (size_t)vtac_type_elements(type), .probabilities = true};
    VTA_TRY(open_set(&q->numbers, arena, diag));
    VTA_TRY(open_set(&q->float_numbers, arena, diag));
    VTA_TRY(open_columns(type, type->rank - 1, q->size, arena, &q->columns[0], diag));
    if (type->rank > 2) {
        VTA_TRY(open_columns(type, 1, q->size, arena, &q->columns[1], diag));
    }
    *out = q;
    return VTA_OK;
}

static void add_columns(quality_columns *c, const float *is, const float *should, size_t size)
{
    for (size_t i = 0; c->count > 0 && i < size; i++) {
        quality_column *at = &c->at[i / c->step % c->count];
        const double x = (double)should[i];
        const bool first = at->should.count == 0;
        at->low = first || x < at->low ? x : at->low;
        at->high = first || x > at->high ? x : at->high;
        add_few(&at->is, is[i]);
        add_few(&at->should, should[i]);
    }
}

static void add_element(vtac_quant_quality *q, double is, double should)
{
    const double off = fabs(is - should);
    if (!isfinite(is) || !isfinite(should)) {
        q->unequal = q->unequal || !(is == should || (isnan(is) && isnan(should)));
        return;
    }
    q->is += is;
    q->should += should;
    q->is_is += is * is;
    q->should_should += should * should;
    q->is_should += is * should;
    q->off += off;
    q->off_off += off * off;
    q->worst = fmax(q->worst, off);
    q->low = q->count == 0.0 ? should : fmin(q->low, should);
    q->high = q->count == 0.0 ? should : fmax(q->high, should);
    q->count++;
}

static size_t largest_of(const float *x, size_t count)
{
    size_t at = 0;
    for (size_t i = 1; i < count; i++) {
        at = x[i] > x[at] ? i : at;
    }
    return at;
}

/* Rows of probabilities decide, and so do the scores of a classifier, one row a sample. */
static void add_rows(vtac_quant_quality *q, const float *is, const float *should)
{
    const size_t row = q->type.rank == 0 ? 1 : (size_t)q->type.dim[q->type.rank - 1];
    for (size_t at = 0; row > 1 && at + row <= q->size; at += row) {
        double sum = 0.0;
        for (size_t i = 0; i < row; i++) {
            sum += (double)should[at + i];
            q->probabilities = q->probabilities && should[at + i] >= 0.0F && should[at + i] <= 1.0F;
        }
        if (q->type.rank == 2 || (q->probabilities && fabs(sum - 1.0) < 1e-3)) {
            q->decisions++;
            q->agreed += largest_of(is + at, row) == largest_of(should + at, row);
        }
    }
    for (size_t i = 0; row <= 1 && i < q->size; i++) {
        q->probabilities = q->probabilities && should[i] >= 0.0F && should[i] <= 1.0F;
    }
}

void vtac_quant_quality_add(vtac_quant_quality *q, const float *is, const float *should)
{
    for (size_t i = 0; i < q->size; i++) {
        add_element(q, (double)is[i], (double)should[i]);
        add_number(&q->numbers, is[i]);
        add_number(&q->float_numbers, should[i]);
    }
    add_columns(&q->columns[0], is, should, q->size);
    add_columns(&q->columns[1], is, should, q->size);
    add_rows(q, is, should);
}

/* Columns whose values the quantized model does not tell apart. A column that hardly moves beside the others
 * of its kind (a class that no sample shows) is none. */
static double lost_share(const quality_columns *c, uint64_t samples)
{
    double lost = 0.0, all = 0.0, widest = 0.0;
    for (size_t i = 0; i < c->count; i++) {
        widest = fmax(widest, c->at[i].is.count <= LOST ? c->at[i].high - c->at[i].low : 0.0);
    }
    for (size_t i = 0; c->rows * samples >= MIN_ROWS && i < c->count; i++) {
        const quality_column *at = &c->at[i];
        const bool moves = at->should.count > MANY && at->high - at->low > 0.05 * widest;
        all += moves;
        lost += moves && at->is.count <= LOST;
    }
    return all > 0.0 ? lost / all : 0.0;
}

static double correlation_of(const vtac_quant_quality *q)
{
    const double n = q->count, both = q->is_should - q->is * q->should / n;
    const double is = q->is_is - q->is * q->is / n, should = q->should_should - q->should * q->should / n;
    const double tiny = 1e-12 * (q->is_is + q->should_should);
    if (!(n > 0.0) || (is <= tiny && should <= tiny)) {
        return 1.0; /* two constants; their difference is the error */
    }
    return is <= tiny || should <= tiny ? 0.0 : both / sqrt(is * should);
}

/* Few numbers span nothing by themselves: 0 belongs to their range. */
static double range_of(const vtac_quant_quality *q)
{
    const bool few = q->count < MIN_ROWS;
    const double low = few ? fmin(q->low, 0.0) : q->low, high = few ? fmax(q->high, 0.0) : q->high;
    return high > low ? high - low : fmax(fabs(high), 1.0);
}

/* Lowers the mark and says why; the first reason of the lowest mark stays. */
__attribute__((format(printf, 3, 4))) static void lower(vtac_output_quality *out, vtac_quality to,
                                                        const char *fmt, ...)
{
    if (to <= out->quality) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out->why, sizeof out->why, fmt, args);
    va_end(args);
    out->quality = to;
}

static vtac_quality mark_of(bool good, bool bad)
{
    return bad ? VTAC_QUALITY_BAD : good ? VTAC_QUALITY_GOOD : VTAC_QUALITY_DOUBTFUL;
}

static void mark_lies(vtac_output_quality *out, bool unequal)
{
    if (unequal) {
        lower(out, VTAC_QUALITY_BAD, "numbers are not finite");
    }
    if (out->distinct <= 2 && out->distinct_float > MANY) {
        lower(out, VTAC_QUALITY_BAD, "%u distinct values, %u in float", out->distinct, out->distinct_float);
    }
    lower(out, mark_of(out->lost_columns <= 0.0, out->lost_columns >= bad_columns),
          "%.0f %% of the columns keep at most %d values", 100.0 * out->lost_columns, LOST);
}

/* Decisions that are kept outweigh an error, where there are enough of them. */
static void mark_errors(vtac_output_quality *out, double range_error, bool many)
{
    const double kept = out->decisions > 0 ? (double)out->agreed / (double)out->decisions : 0.0;
    if (many && kept >= good_decisions && out->correlation >= bad_correlation) {
        return;
    }
    lower(out, mark_of(range_error <= good_mean, range_error > bad_mean),
          "off by %.1f %% of the range in mean", 100.0 * range_error);
    lower(out, mark_of(out->correlation >= good_correlation, out->correlation < bad_correlation),
          "correlates %.3f with float", out->correlation);
    if (many) {
        lower(out, mark_of(kept >= good_decisions, kept < bad_decisions), "%.0f %% of the decisions change",
              100.0 * (1.0 - kept));
    }
    if (out->probability >= 0.0) {
        lower(out, mark_of(out->probability <= good_probability, out->probability > bad_probability && !many),
              "a probability changes by %.2f", out->probability);
    }
}

void vtac_quant_quality_close(const vtac_quant_quality *q, bool made_up, vtac_output_quality *out)
{
    const double range = range_of(q);
    const uint64_t samples = q->size > 0 ? (uint64_t)(q->count / (double)q->size) : 0;
    enum { ENOUGH = 50 }; /* decisions that say something */
    out->mean_error = q->count > 0.0 ? q->off / q->count / range : 0.0;
    out->largest_error = q->worst / range;
    out->snr_db =
        q->off_off > 0.0 ? 10.0 / vtac_log(10.0) * vtac_log(q->should_should / q->off_off) : (double)INFINITY;
    out->correlation = correlation_of(q);
    out->distinct = q->numbers.count;
    out->distinct_float = q->float_numbers.count;
    out->lost_columns = fmax(lost_share(&q->columns[0], samples), lost_share(&q->columns[1], samples));
    out->decisions = q->decisions;
    out->agreed = q->agreed;
    out->probability = q->probabilities && q->size > 0 ? q->worst : -1.0;
    out->quality = VTAC_QUALITY_GOOD;
    mark_lies(out, q->unequal);
    mark_errors(out, out->mean_error, q->decisions >= ENOUGH);
    if (made_up) {
        lower(out, VTAC_QUALITY_DOUBTFUL, "on made-up inputs");
    }
}
