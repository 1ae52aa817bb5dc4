/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools, global pools, and their quantized kin, of row-major values.
 */
#include <math.h>
#include <string.h>

#include "layout.h"
#include "rows.h"
#include "vtac/quant.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { MAX_SCALES = 1 << 16 }; /* of a table by window size; beyond, the run works them out */
/* Elements of a window whose sum stays below 2^24. */
enum { NARROW_SUM = (1 << 24) / 255 };
/* Elements of a row of sums that a thread keeps; of a window that LLVM unrolls. */
enum { MAX_ROW = 1 << 14, MAX_UNROLLED = 9 };

typedef struct pool_shape {
    bool is_max, is_lp, quantized, count_all;
    int64_t p;
    int64_t max; /* elements of a window */
    bool last;   /* channels last */
} pool_shape;

const vtac_expr *vtac_lp_power(vtac_lower *l, const vtac_expr *x, int64_t p)
{
    x = vtac_let(l->k, "x", vtac_e1(l->k, VTAC_E_ABS, x));
    const vtac_dtype type = x == NULL ? VTAC_F32 : x->type;
    return p == 1 ? x : p == 2 ? E2(MUL, x, x) : E2(POW, x, vtac_e_int(l->k, type, p));
}

const vtac_expr *vtac_lp_root(vtac_lower *l, const vtac_expr *sum, int64_t p)
{
    const vtac_expr *inverse = vtac_e_float(l->k, sum == NULL ? VTAC_F32 : sum->type, 1.0 / (double)p);
    return p == 1 ? sum : p == 2 ? vtac_e1(l->k, VTAC_E_SQRT, sum) : E2(POW, sum, inverse);
}

/* TensorFlow Lite adds the numbers as they are. */
const vtac_expr *vtac_pool_element(vtac_lower *l, const vtac_expr *x)
{
    return vtac_rounding_of(l->node) == VTAC_ROUND_EVEN ? vtac_centred(l, l->node, x, VTAC_QLINEAR_X_ZERO)
                                                        : vtac_e_cast(l->k, VTAC_I32, x);
}

/* One element of the input as a number to add: quantized ones less their zero point. */
static const vtac_expr *load_element(vtac_lower *l, const pool_shape *p, vtac_dtype type,
                                     const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_in_at(l, 0, at);
    x = p->quantized ? vtac_pool_element(l, x) : vtac_e_cast(l->k, type, x);
    return p->is_lp ? vtac_lp_power(l, x, p->p) : x;
}

int64_t vtac_window_elements(const vtac_window *w)
{
    int64_t max = 1;
    for (uint32_t a = 0; a < w->axes; a++) {
        max = w->kernel[a] > INT32_MAX / max ? INT32_MAX : max * w->kernel[a];
    }
    return max;
}

const vtac_expr *vtac_mean_scale(vtac_lower *l, int64_t max, const vtac_expr *count)
{
    const vtac_tensor *x = vtac_in_constant(l->graph, l->node, VTAC_QLINEAR_X_SCALE);
    const vtac_tensor *y = vtac_in_constant(l->graph, l->node, VTAC_QLINEAR_Y_SCALE);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    if (vtac_rounding_of(l->node) != VTAC_ROUND_EVEN) {
        return count != NULL && count->op == VTAC_E_INT ? vtac_e_int(l->k, VTAC_I32, count->i)
                                                        : vtac_e_cast(l->k, VTAC_I32, count);
    }
    if (x == NULL || y == NULL || count == NULL || (count->op != VTAC_E_INT && max > MAX_SCALES)) {
        const vtac_expr *all = E2(MUL, vtac_e_load(l->k, vtac_in(l, VTAC_QLINEAR_Y_SCALE), zero),
                                  vtac_e_cast(l->k, VTAC_F32, count));
        return vtac_let(l->k, "scale",
                        E2(DIV, vtac_e_load(l->k, vtac_in(l, VTAC_QLINEAR_X_SCALE), zero), all));
    }
    const float sx = (float)vtac_tensor_float(x, 0);
    const float sy = (float)vtac_tensor_float(y, 0);
    if (count->op == VTAC_E_INT) {
        return vtac_e_float(l->k, VTAC_F32, (double)vtac_scale_mean(sx, sy, count->i));
    }
    float *table = vta_arena_array(&l->program->arena, (size_t)max + 1, sizeof *table);
    for (int64_t i = 1; table != NULL && i <= max; i++) {
        table[i] = vtac_scale_mean(sx, sy, i);
    }
    const vtac_storage_id scales = vtac_constant(l, table, ((uint64_t)max + 1) * sizeof *table);
    l->k->failed = l->k->failed || table == NULL;
    return vtac_let(l->k, "scale",
                    vtac_e_load(l->k, vtac_use(l, scales, "scales", VTAC_F32, max + 1), count));
}

/* A sum divided by the count, halves away from zero. */
static const vtac_expr *divide_sum(vtac_lower *l, const vtac_expr *sum, const vtac_expr *count)
{
    const vtac_expr *zero = vtac_e_int(l->k, VTAC_I32, 0);
    const vtac_expr *half = E2(DIV, count, vtac_e_int(l->k, VTAC_I32, 2));
    sum = vtac_let(l->k, "sum", sum);
    const vtac_expr *moved =
        vtac_e3(l->k, VTAC_E_SELECT, E2(LT, sum, zero), E2(SUB, sum, half), E2(ADD, sum, half));
    return E2(DIV, moved, count);
}

/* TensorFlow Lite's means: of a window, the sum divided by the count; of a plane of int8, the sum less the
 * zero points by a fixed-point factor, then divided; of uint8, the sum by one factor for both, plus what is
 * left of the zero points. */
static const vtac_expr *tfl_mean(vtac_lower *l, const vtac_expr *sum, const vtac_expr *count)
{
    const vtac_dtype dtype = vtac_type_out(l, 0)->dtype;
    const vtac_expr *zero = vtac_e_int(l->k, VTAC_I32, 0);
    if (l->node->op == VTAC_OP_QLINEAR_AVERAGE_POOL) {
        return vtac_tfl_stored(l, divide_sum(l, sum, count), NULL, dtype);
    }
    const vtac_tensor *in[VTAC_QLINEAR_INPUTS];
    for (uint32_t i = VTAC_QLINEAR_X_SCALE; i <= VTAC_QLINEAR_Y_ZERO; i++) {
        in[i] = vtac_in_constant(l->graph, l->node, i);
        if (in[i] == NULL || count == NULL || count->op != VTAC_E_INT) {
            (void)vtac_unsupported(l, "a mean that only the run knows the scale of");
            return zero;
        }
    }
    const float x_scale = (float)vtac_tensor_float(in[VTAC_QLINEAR_X_SCALE], 0);
    const float y_scale = (float)vtac_tensor_float(in[VTAC_QLINEAR_Y_SCALE], 0);
    const int64_t x_zero = vtac_tensor_int(in[VTAC_QLINEAR_X_ZERO], 0);
    const int64_t y_zero = vtac_tensor_int(in[VTAC_QLINEAR_Y_ZERO], 0);
    if (dtype == VTAC_I8) {
        const vtac_tfl_scale factor = vtac_tfl_scale_of((double)x_scale / (double)y_scale);
        sum = E2(SUB, sum, vtac_e_int(l->k, VTAC_I32, x_zero * count->i));
        sum = vtac_tfl_scaled(l, sum, vtac_tfl_constant(l, factor), VTAC_ROUND_AWAY);
        return vtac_tfl_stored(l, divide_sum(l, sum, count), vtac_e_int(l->k, VTAC_I32, y_zero), dtype);
    }
    const vtac_tfl_mean mean = vtac_tfl_mean_of(x_scale, x_zero, y_scale, y_zero, count->i);
    sum = vtac_tfl_scaled(l, sum, vtac_tfl_constant(l, mean.scale), VTAC_ROUND_AWAY);
    return vtac_tfl_stored(l, sum, vtac_e_int(l->k, VTAC_I32, mean.bias), dtype);
}

const vtac_expr *vtac_mean(vtac_lower *l, int64_t max, const vtac_expr *sum, const vtac_expr *scale)
{
    if (vtac_rounding_of(l->node) != VTAC_ROUND_EVEN) {
        return tfl_mean(l, sum, scale);
    }
    if (max <= NARROW_SUM) {
        return vtac_rescale_to(l, l->node, sum, scale, VTAC_QLINEAR_Y_ZERO);
    }
    const vtac_expr *offset = vtac_has_in(l, VTAC_QLINEAR_Y_ZERO)
                                  ? vtac_e_load(l->k, vtac_in(l, VTAC_QLINEAR_Y_ZERO), vtac_e_index(l->k, 0))
                                  : NULL;
    return vtac_rescale(l, sum, scale, false, offset, vtac_type_out(l, 0)->dtype);
}

static const vtac_expr *finish_sum(vtac_lower *l, const pool_shape *p, const vtac_expr *sum,
                                   const vtac_expr *count)
{
    if (p->is_max) {
        return sum;
    }
    if (p->is_lp) {
        return vtac_lp_root(l, sum, p->p);
    }
    if (!p->quantized) {
        return E2(DIV, sum, vtac_e_cast(l->k, sum == NULL ? VTAC_F32 : sum->type, count));
    }
    return vtac_mean(l, p->max, sum, vtac_mean_scale(l, p->max, count));
}

static vtac_dtype sum_type(vtac_dtype dtype)
{
    return vtac_dtype_kind(dtype) == 'f' ? vtac_compute_type(dtype) : VTAC_I32;
}

static double first_value(const pool_shape *p, vtac_dtype dtype)
{
    double low = -HUGE_VAL;
    double high;
    if (vtac_dtype_kind(dtype) != 'f') {
        vtac_range_of(dtype, &low, &high);
    }
    return p->is_max ? low : 0.0;
}

/* The place of the largest element, as MaxPool's second output counts it. */
static const vtac_expr *place_of(vtac_lower *l, const vtac_type *x, const vtac_expr *const *at)
{
    if (vtac_attr_int(l->node, "storage_order", 0) == 0) {
        return vtac_flat(l, x, at);
    }
    vtac_type turned = *x;
    const vtac_expr *order[VTAC_MAX_RANK] = {at[0], at[1]};
    for (uint32_t i = 2; i < x->rank; i++) {
        turned.dim[i] = x->dim[x->rank + 1 - i];
        order[i] = at[x->rank + 1 - i];
    }
    return vtac_flat(l, &turned, order);
}

typedef struct sums {
    vtac_buffer *value, *place;
} sums;

static const vtac_expr *join_elements(vtac_lower *l, const pool_shape *p, const vtac_expr *a,
                                      const vtac_expr *b)
{
    return p->is_max ? E2(MAX, a, b) : E2(ADD, a, b);
}

static void visit_element(vtac_lower *l, const pool_shape *p, const vtac_type *x, const sums *s,
                          vtac_dtype type, const vtac_expr *const *at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *value = vtac_let(l->k, "x", load_element(l, p, type, at));
    const vtac_expr *old = vtac_e_load(l->k, s->value, zero);
    if (s->place != NULL) { /* the least number there is has a place as well */
        const vtac_expr *none = E2(LT, vtac_e_load(l->k, s->place, zero), vtac_e_int(l->k, VTAC_I64, 0));
        vtac_if(l->k, E2(OR, E2(GT, value, old), E2(AND, none, E2(EQ, value, old))));
        vtac_store(l->k, s->value, zero, value);
        vtac_store(l->k, s->place, zero, place_of(l, x, at));
        vtac_end(l->k);
        return;
    }
    vtac_store(l->k, s->value, zero, join_elements(l, p, old, value));
}

/* Taps of the window at `place` of an axis that count: those inside the input, or, with count_include_pad,
 * inside the padded input. */
static int64_t taps_at(const pool_shape *p, const vtac_window *w, uint32_t a, int64_t dim, int64_t place)
{
    const int64_t from = place * w->stride[a] - w->pad_begin[a];
    const int64_t low = p->count_all ? -w->pad_begin[a] : 0;
    const int64_t high = p->count_all ? dim + w->pad_end[a] : dim;
    const int64_t step = w->dilation[a];
    const int64_t first = from < low ? (low - from + step - 1) / step : 0;
    const int64_t end = from < high ? (high - from + step - 1) / step : 0;
    const int64_t last = end < w->kernel[a] ? end : w->kernel[a];
    return last > first ? last - first : 0;
}

/* Number of elements along an axis as an expression: a constant, or the entry of a table. */
static const vtac_expr *axis_count(vtac_lower *l, const pool_shape *p, const vtac_window *w, uint32_t a,
                                   int64_t dim, const vtac_expr *place)
{
    int64_t *table = vta_arena_array(&l->program->arena, (size_t)w->extent[a], sizeof *table);
    bool same = true;
    for (int64_t i = 0; table != NULL && i < w->extent[a]; i++) {
        table[i] = taps_at(p, w, a, dim, i);
        same = same && table[i] == table[0];
    }
    l->k->failed = l->k->failed || table == NULL;
    if (table == NULL || same) {
        return vtac_e_index(l->k, table == NULL || w->extent[a] == 0 ? 1 : table[0]);
    }
    const vtac_storage_id counts = vtac_constant(l, table, (uint64_t)w->extent[a] * sizeof *table);
    return vtac_e_load(l->k, vtac_use(l, counts, "counts", VTAC_I64, w->extent[a]), place);
}

/* Elements that the mean at an index is taken over. */
static const vtac_expr *window_count(vtac_lower *l, const pool_shape *p, const vtac_window *w,
                                     const vtac_type *x, const vtac_expr *const *at)
{
    int64_t known = 1;
    const vtac_expr *count = NULL;
    for (uint32_t a = 0; a < w->axes; a++) {
        const vtac_expr *one = axis_count(l, p, w, a, x->dim[a + 2], at[a + 2]);
        if (one != NULL && one->op == VTAC_E_INT) {
            known *= one->i;
        } else {
            count = count == NULL ? one : E2(MUL, count, one);
        }
    }
    return count == NULL ? vtac_e_index(l->k, known) : vtac_i_mulc(l->k, count, known);
}

/* True if windows reach over the edge of an axis. */
static bool leaves_edge(const vtac_window *w, uint32_t a, int64_t dim)
{
    const int64_t last =
        (w->extent[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] - w->pad_begin[a];
    return w->pad_begin[a] > 0 || last >= dim;
}

/* The place of a tap along an axis, in an if where it may lie outside; counts what it opens. */
static const vtac_expr *open_tap(vtac_lower *l, const vtac_window *w, uint32_t a, int64_t dim,
                                 const vtac_expr *at, uint32_t *opened)
{
    vtac_kernel *k = l->k;
    const vtac_expr *tap = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[a], "tap");
    const vtac_expr *begin = vtac_i_addc(k, vtac_i_mulc(k, at, w->stride[a]), -w->pad_begin[a]);
    const vtac_expr *place = vtac_let(k, "place", vtac_i_add(k, begin, vtac_i_mulc(k, tap, w->dilation[a])));
    ++*opened;
    if (leaves_edge(w, a, dim)) {
        vtac_if(k, E2(AND, E2(GE, place, vtac_e_index(k, 0)), E2(LT, place, vtac_e_index(k, dim))));
        ++*opened;
    }
    return place;
}

/* ---- by rows: what a row of outputs needs of the input, joined along all other axes, in a row of the
 * thread's with a border of nothing; of that, each output its window. */

typedef struct pool_rows {
    const pool_shape *p;
    const vtac_window *w;
    const vtac_type *x;
    vtac_dtype type;
    const vtac_expr *start;
    vtac_buffer *sum, *row;
    uint32_t axis; /* the window's last */
    const vtac_expr *at[VTAC_MAX_RANK];
} pool_rows;

typedef void chunk_fn(vtac_lower *l, pool_rows *r, const vtac_expr *first, int64_t lanes);

static void each_chunk(vtac_lower *l, pool_rows *r, int64_t extent, int64_t lanes, chunk_fn *fn)
{
    const int64_t whole = extent / lanes;
    if (whole > 0) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, whole, "chunk");
        fn(l, r, vtac_let(l->k, "first", vtac_i_mulc(l->k, i, lanes)), lanes);
        vtac_end(l->k);
    }
    if (extent % lanes != 0) {
        fn(l, r, vtac_e_index(l->k, whole * lanes), extent % lanes);
    }
}

static const vtac_expr *open_some(vtac_lower *l, int64_t lanes)
{
    return lanes == 1 ? vtac_e_index(l->k, 0) : vtac_for(l->k, VTAC_LOOP_VECTOR, lanes, "lane");
}

/* Places `first` to `first + lanes` of the row, which begins `pad_begin` before the input. */
static void join_columns(vtac_lower *l, pool_rows *r, const vtac_expr *first, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_expr *from[VTAC_MAX_RANK] = {r->at[0], r->at[1]};
    uint32_t opened = 0;
    vtac_set_lanes(l, r->sum, lanes, r->start);
    for (uint32_t a = 0; a < r->axis; a++) {
        from[a + 2] = open_tap(l, r->w, a, r->x->dim[a + 2], r->at[a + 2], &opened);
    }
    const vtac_expr *lane = open_some(l, lanes);
    from[r->axis + 2] = vtac_i_add(k, first, lane);
    const vtac_expr *value = vtac_let(k, "x", load_element(l, r->p, r->type, from));
    vtac_store(k, r->sum, lane, join_elements(l, r->p, vtac_e_load(k, r->sum, lane), value));
    vtac_close(l, opened + (lanes == 1 ? 0 : 1));
    lane = open_some(l, lanes);
    const vtac_expr *to = vtac_i_addc(k, vtac_i_add(k, first, lane), r->w->pad_begin[r->axis]);
    vtac_store(k, r->row, to, vtac_e_load(k, r->sum, lane));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static void join_windows(vtac_lower *l, pool_rows *r, const vtac_expr *first, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const vtac_window *w = r->w;
    vtac_set_lanes(l, r->sum, lanes, r->start);
    const vtac_expr *tap = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[r->axis], "tap");
    const vtac_expr *lane = open_some(l, lanes);
    const vtac_expr *place = vtac_i_mulc(k, vtac_i_add(k, first, lane), w->stride[r->axis]);
    place = vtac_i_add(k, place, vtac_i_mulc(k, tap, w->dilation[r->axis]));
    const vtac_expr *value = vtac_e_load(k, r->row, place);
    vtac_store(k, r->sum, lane, join_elements(l, r->p, vtac_e_load(k, r->sum, lane), value));
    vtac_close(l, lanes == 1 ? 1 : 2);
    lane = open_some(l, lanes);
    r->at[r->axis + 2] = vtac_i_add(k, first, lane);
    const vtac_expr *count = r->p->is_max || r->p->is_lp ? NULL : window_count(l, r->p, w, r->x, r->at);
    vtac_out_at(l, 0, r->at, finish_sum(l, r->p, vtac_e_load(k, r->sum, lane), count));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static void fill_row(vtac_lower *l, const pool_rows *r, int64_t from, int64_t to)
{
    if (to > from) {
        const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, to - from, "i");
        vtac_store(l->k, r->row, vtac_i_addc(l->k, i, from), r->start);
        vtac_end(l->k);
    }
}

static void pool_by_rows(vtac_lower *l, pool_rows *r, int64_t reach, int64_t lanes)
{
    const vtac_type *y = vtac_type_out(l, 0);
    const int64_t dim = r->x->dim[r->axis + 2];
    const int64_t begin = r->w->pad_begin[r->axis];
    const int64_t end = begin + dim < reach ? begin + dim : reach;
    const int64_t places = r->w->extent[r->axis];
    /* LLVM finds the vectors of strided windows better. */
    const int64_t place_lanes = r->w->stride[r->axis] == 1 ? vtac_row_lanes(l, r->type, places) : 1;
    bool marks[VTAC_MAX_RANK] = {false};
    marks[r->axis + 2] = true;
    r->sum = vtac_local(l, "sum", r->type, lanes > place_lanes ? lanes : place_lanes);
    r->row = vtac_kernel_buffer(l->k, "row", r->type, reach, VTAC_BUFFER_SCRATCH);
    vtac_open_others(l, y, marks, r->at);
    fill_row(l, r, 0, begin < reach ? begin : reach);
    fill_row(l, r, begin + dim, reach);
    each_chunk(l, r, end > begin ? end - begin : 0, lanes, join_columns);
    each_chunk(l, r, places, place_lanes, join_windows);
    vtac_end(l->k);
}

/* ---- one by one */

static void pool_plainly(vtac_lower *l, const pool_shape *p, const vtac_window *w, vtac_dtype type)
{
    const vtac_type *x = vtac_type_in(l, VTAC_POOL_X);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const bool places = l->node->output_count > 1 && l->node->outputs[VTAC_POOL_INDICES] != 0;
    const sums s = {.value = vtac_local(l, "value", type, 1),
                    .place = places ? vtac_local(l, "place", VTAC_I64, 1) : NULL};
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, vtac_type_out(l, 0), at, 1);
    vtac_store(l->k, s.value, zero, vtac_e_float(l->k, type, first_value(p, x->dtype)));
    if (places) {
        vtac_store(l->k, s.place, zero, vtac_e_int(l->k, VTAC_I64, -1));
    }
    const vtac_expr *source[VTAC_MAX_RANK] = {at[0], at[1]};
    uint32_t inner = 0;
    for (uint32_t a = 0; a < w->axes; a++) {
        source[a + 2] = open_tap(l, w, a, x->dim[a + 2], at[a + 2], &inner);
    }
    visit_element(l, p, x, &s, type, source);
    vtac_close(l, inner);
    const vtac_expr *count = p->is_max || p->is_lp ? NULL : window_count(l, p, w, x, at);
    vtac_out_at(l, 0, at, finish_sum(l, p, vtac_e_load(l->k, s.value, zero), count));
    if (places) {
        vtac_out_at(l, 1, at, E2(MAX, vtac_e_load(l->k, s.place, zero), vtac_e_int(l->k, VTAC_I64, 0)));
    }
    vtac_close(l, loops);
}

/* Small windows that go by steps and stay inside: LLVM makes vectors of them as they are. */
static bool is_unrolled(const pool_shape *p, const vtac_window *w, const vtac_type *x)
{
    bool inside = true;
    for (uint32_t a = 0; a < w->axes; a++) {
        inside = inside && !leaves_edge(w, a, x->dim[a + 2]);
    }
    return inside && w->axes <= 2 && w->stride[w->axes - 1] > 1 && p->max <= MAX_UNROLLED;
}

vta_status vtac_lower_pool(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, VTAC_POOL_X);
    const vtac_op op = l->node->op;
    pool_shape p = {.is_max = op == VTAC_OP_MAX_POOL,
                    .is_lp = op == VTAC_OP_LP_POOL,
                    .quantized = op == VTAC_OP_QLINEAR_AVERAGE_POOL,
                    .count_all = vtac_attr_int(l->node, "count_include_pad", 0) != 0,
                    .p = vtac_attr_int(l->node, "p", 2)};
    if (vtac_attr_int(l->node, "channels_last", 0) != 0) {
        return vtac_unsupported(l, "channels last is not lowered");
    }
    vtac_window w;
    VTA_TRY(vtac_window_of(l->node, x, NULL, true, &w, l->diag));
    p.max = vtac_window_elements(&w);
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = p.is_max ? vtac_compute_type(x->dtype) : sum_type(x->dtype);
    const uint32_t axis = w.axes - 1;
    const int64_t reach = (w.extent[axis] - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] + 1;
    const int64_t lanes = vtac_row_lanes(l, type, x->dim[axis + 2]);
    const bool places = l->node->output_count > 1 && l->node->outputs[VTAC_POOL_INDICES] != 0;
    if (places || lanes == 1 || reach > MAX_ROW || is_unrolled(&p, &w, x) ||
        vtac_type_elements(vtac_type_out(l, 0)) == 0) {
        pool_plainly(l, &p, &w, type);
        return l->diag->code;
    }
    pool_rows r = {.p = &p, .w = &w, .x = x, .type = type, .axis = axis};
    r.start = vtac_e_float(l->k, type, first_value(&p, x->dtype));
    pool_by_rows(l, &r, reach, lanes);
    return l->diag->code;
}

/* Planes by vectors: each lane has a part of the sum. */
typedef struct plane {
    const pool_shape *p;
    vtac_buffer *value;
    vtac_dtype type;
    const vtac_expr **source;
    uint32_t axis; /* of the place in the plane; the others of the plane stay at 0 */
} plane;

static void take_place(vtac_lower *l, void *context, const vtac_expr *i, const vtac_expr *lane)
{
    const plane *c = context;
    c->source[c->axis] = i;
    const vtac_expr *old = vtac_e_load(l->k, c->value, lane);
    vtac_store(l->k, c->value, lane, join_elements(l, c->p, old, load_element(l, c->p, c->type, c->source)));
}

/* Pool of a whole plane of `count` places. */
static const vtac_expr *pool_plane(vtac_lower *l, const pool_shape *p, const vtac_type *x, vtac_dtype type,
                                   int64_t count, const vtac_expr **source)
{
    const int64_t lanes = vtac_row_lanes(l, type, count);
    plane c = {.p = p, .type = type, .source = source, .axis = x->rank - 1};
    c.value = vtac_local(l, "value", type, lanes);
    for (uint32_t a = 2; a < x->rank; a++) {
        source[a] = vtac_e_index(l->k, 0);
    }
    while (c.axis > 2 && x->dim[c.axis] == 1) {
        c.axis--; /* an axis of one place has no index */
    }
    vtac_set_lanes(l, c.value, lanes, vtac_e_float(l->k, type, first_value(p, x->dtype)));
    vtac_each_of_row(l, count, lanes, take_place, &c);
    return vtac_join_lanes(l, c.value, lanes, p->is_max ? VTAC_E_MAX : VTAC_E_ADD);
}

vta_status vtac_lower_global_pool(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_op op = l->node->op;
    pool_shape p = {.is_max = op == VTAC_OP_GLOBAL_MAX_POOL,
                    .is_lp = op == VTAC_OP_GLOBAL_LP_POOL,
                    .quantized = op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL,
                    .p = vtac_attr_int(l->node, "p", 2),
                    .last = vtac_attr_int(l->node, "channels_last", 0) != 0,
                    .max = 1};
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = p.is_max ? vtac_compute_type(x->dtype) : sum_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *source[VTAC_MAX_RANK];
    const vtac_expr *total;
    const uint32_t loops = vtac_open(l, vtac_type_out(l, 0), at, 1);
    memcpy(source, at, sizeof source);
    for (uint32_t a = p.last ? 1 : 2; a + (p.last ? 1 : 0) < x->rank; a++) {
        p.max *= x->dim[a];
    }
    const vtac_expr *count = vtac_e_index(l->k, p.max);
    if (!p.last && x->rank > 2 && p.max > 0) {
        total = pool_plane(l, &p, x, type, p.max, source);
    } else {
        const sums s = {.value = vtac_local(l, "value", type, 1)};
        vtac_store(l->k, s.value, zero, vtac_e_float(l->k, type, first_value(&p, x->dtype)));
        uint32_t inner = 0;
        for (uint32_t a = p.last ? 1 : 2; a + (p.last ? 1 : 0) < x->rank; a++) {
            source[a] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[a], "i");
            inner++;
        }
        visit_element(l, &p, x, &s, type, source);
        vtac_close(l, inner);
        total = vtac_e_load(l->k, s.value, zero);
    }
    vtac_out_at(l, 0, at, finish_sum(l, &p, total, count));
    vtac_close(l, loops);
    return l->diag->code;
}
