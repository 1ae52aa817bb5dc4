/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools, global pools, and their quantized kin.
 */
#include <math.h>
#include <string.h>

#include "layout.h"
#include "vtac/quant.h"

#define E2(op, a, b) vtac_e2(l->k, VTAC_E_##op, a, b)

enum { MOST_SCALES = 1 << 16 }; /* of a table by window size; beyond, the run works them out */
/* Elements of a window whose sum stays below 2^24. */
enum { NARROW_SUM = (1 << 24) / 255 };
enum { X_SCALE = 1, X_ZERO = VTAC_POOL_X_ZERO, Y_SCALE, Y_ZERO }; /* inputs of a quantized pool */

typedef struct pooling {
    bool is_max, is_lp, quantized, count_all;
    int64_t p;
    int64_t most; /* elements of a window */
    bool last;    /* channels last */
} pooling;

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
    return vtac_rounding_of(l->node) == VTAC_ROUND_EVEN ? vtac_centred(l, l->node, x, X_ZERO)
                                                        : vtac_e_cast(l->k, VTAC_I32, x);
}

/* One element of the input as a number to add: quantized ones less their zero point. */
static const vtac_expr *element(vtac_lower *l, const pooling *p, vtac_dtype type, const vtac_expr *const *at)
{
    const vtac_expr *x = vtac_in_at(l, 0, at);
    x = p->quantized ? vtac_pool_element(l, x) : vtac_e_cast(l->k, type, x);
    return p->is_lp ? vtac_lp_power(l, x, p->p) : x;
}

int64_t vtac_window_elements(const vtac_window *w)
{
    int64_t most = 1;
    for (uint32_t a = 0; a < w->axes; a++) {
        most = w->kernel[a] > INT32_MAX / most ? INT32_MAX : most * w->kernel[a];
    }
    return most;
}

const vtac_expr *vtac_mean_scale(vtac_lower *l, int64_t most, const vtac_expr *count)
{
    const vtac_tensor *x = vtac_in_constant(l->graph, l->node, X_SCALE);
    const vtac_tensor *y = vtac_in_constant(l->graph, l->node, Y_SCALE);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    if (vtac_rounding_of(l->node) != VTAC_ROUND_EVEN) {
        return count != NULL && count->op == VTAC_E_INT ? vtac_e_int(l->k, VTAC_I32, count->i)
                                                        : vtac_e_cast(l->k, VTAC_I32, count);
    }
    if (x == NULL || y == NULL || count == NULL || (count->op != VTAC_E_INT && most > MOST_SCALES)) {
        const vtac_expr *all =
            E2(MUL, vtac_e_load(l->k, vtac_in(l, Y_SCALE), zero), vtac_e_cast(l->k, VTAC_F32, count));
        return vtac_let(l->k, "scale", E2(DIV, vtac_e_load(l->k, vtac_in(l, X_SCALE), zero), all));
    }
    const float sx = (float)vtac_tensor_float(x, 0);
    const float sy = (float)vtac_tensor_float(y, 0);
    if (count->op == VTAC_E_INT) {
        return vtac_e_float(l->k, VTAC_F32, (double)vtac_scale_mean(sx, sy, count->i));
    }
    float *table = vta_arena_array(&l->program->arena, (size_t)most + 1, sizeof *table);
    for (int64_t i = 1; table != NULL && i <= most; i++) {
        table[i] = vtac_scale_mean(sx, sy, i);
    }
    const vtac_storage_id scales = vtac_constant(l, table, ((uint64_t)most + 1) * sizeof *table);
    l->k->failed = l->k->failed || table == NULL;
    return vtac_let(l->k, "scale",
                    vtac_e_load(l->k, vtac_use(l, scales, "scales", VTAC_F32, most + 1), count));
}

/* A sum divided by the count, halves away from zero. */
static const vtac_expr *divided(vtac_lower *l, const vtac_expr *sum, const vtac_expr *count)
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
        return vtac_tfl_stored(l, divided(l, sum, count), NULL, dtype);
    }
    const vtac_tensor *in[5];
    for (uint32_t i = X_SCALE; i <= Y_ZERO; i++) {
        in[i] = vtac_in_constant(l->graph, l->node, i);
        if (in[i] == NULL || count == NULL || count->op != VTAC_E_INT) {
            (void)vtac_unsupported(l, "a mean that only the run knows the scale of");
            return zero;
        }
    }
    const float x_scale = (float)vtac_tensor_float(in[X_SCALE], 0);
    const float y_scale = (float)vtac_tensor_float(in[Y_SCALE], 0);
    const int64_t x_zero = vtac_tensor_int(in[X_ZERO], 0);
    const int64_t y_zero = vtac_tensor_int(in[Y_ZERO], 0);
    if (dtype == VTAC_I8) {
        const vtac_tfl_scale factor = vtac_tfl_scale_of((double)x_scale / (double)y_scale);
        sum = E2(SUB, sum, vtac_e_int(l->k, VTAC_I32, x_zero * count->i));
        sum = vtac_tfl_scaled(l, sum, vtac_tfl_constant(l, factor), VTAC_ROUND_AWAY);
        return vtac_tfl_stored(l, divided(l, sum, count), vtac_e_int(l->k, VTAC_I32, y_zero), dtype);
    }
    const vtac_tfl_mean mean = vtac_tfl_mean_of(x_scale, x_zero, y_scale, y_zero, count->i);
    sum = vtac_tfl_scaled(l, sum, vtac_tfl_constant(l, mean.scale), VTAC_ROUND_AWAY);
    return vtac_tfl_stored(l, sum, vtac_e_int(l->k, VTAC_I32, mean.bias), dtype);
}

const vtac_expr *vtac_mean(vtac_lower *l, int64_t most, const vtac_expr *sum, const vtac_expr *scale)
{
    if (vtac_rounding_of(l->node) != VTAC_ROUND_EVEN) {
        return tfl_mean(l, sum, scale);
    }
    if (most <= NARROW_SUM) {
        return vtac_rescale_to(l, l->node, sum, scale, Y_ZERO);
    }
    const vtac_expr *offset =
        vtac_has_in(l, Y_ZERO) ? vtac_e_load(l->k, vtac_in(l, Y_ZERO), vtac_e_index(l->k, 0)) : NULL;
    return vtac_rescale(l, sum, scale, false, offset, vtac_type_out(l, 0)->dtype);
}

static const vtac_expr *finish(vtac_lower *l, const pooling *p, const vtac_expr *sum, const vtac_expr *count)
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
    return vtac_mean(l, p->most, sum, vtac_mean_scale(l, p->most, count));
}

static vtac_dtype sum_type(vtac_dtype dtype)
{
    return vtac_dtype_kind(dtype) == 'f' ? vtac_compute_type(dtype) : VTAC_I32;
}

static double first_value(const pooling *p, vtac_dtype dtype)
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
    vtac_buffer *value, *count, *place;
} sums;

static void visit(vtac_lower *l, const pooling *p, const vtac_type *x, const sums *s, vtac_dtype type,
                  const vtac_expr *const *at)
{
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const vtac_expr *value = vtac_let(l->k, "x", element(l, p, type, at));
    const vtac_expr *old = vtac_e_load(l->k, s->value, zero);
    if (s->place != NULL) {
        vtac_if(l->k, E2(GT, value, old));
        vtac_store(l->k, s->value, zero, value);
        vtac_store(l->k, s->place, zero, place_of(l, x, at));
        vtac_end(l->k);
        return;
    }
    vtac_store(l->k, s->value, zero, p->is_max ? E2(MAX, old, value) : E2(ADD, old, value));
    if (s->count != NULL) {
        vtac_store(l->k, s->count, zero, vtac_i_addc(l->k, vtac_e_load(l->k, s->count, zero), 1));
    }
}

/* Taps within the padded input count with count_include_pad, whether they hold a value or not. */
static const vtac_expr *padded_count(vtac_lower *l, const vtac_window *w, const vtac_type *x,
                                     const vtac_expr *const *at)
{
    const vtac_expr *count = vtac_e_index(l->k, 1);
    for (uint32_t a = 0; a < w->axes; a++) {
        const int64_t end = x->dim[a + 2] + w->pad_begin[a] + w->pad_end[a];
        const vtac_expr *room =
            vtac_e2(l->k, VTAC_E_SUB, vtac_e_index(l->k, end), vtac_i_mulc(l->k, at[a + 2], w->stride[a]));
        room = vtac_i_divc(l->k, vtac_i_addc(l->k, room, w->dilation[a] - 1), w->dilation[a]);
        count = E2(MUL, count, E2(MIN, room, vtac_e_index(l->k, w->kernel[a])));
    }
    return count;
}

vta_status vtac_lower_pool(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_op op = l->node->op;
    pooling p = {.is_max = op == VTAC_OP_MAX_POOL,
                 .is_lp = op == VTAC_OP_LP_POOL,
                 .quantized = op == VTAC_OP_QLINEAR_AVERAGE_POOL,
                 .count_all = vtac_attr_int(l->node, "count_include_pad", 0) != 0,
                 .p = vtac_attr_int(l->node, "p", 2)};
    if (vtac_attr_int(l->node, "channels_last", 0) != 0) {
        return vtac_unsupported(l, "channels last is not lowered");
    }
    vtac_window w;
    VTA_TRY(vtac_window_of(l->node, x, NULL, true, &w, l->diag));
    p.most = vtac_window_elements(&w);
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = p.is_max ? vtac_compute_type(x->dtype) : sum_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    sums s = {.value = vtac_local(l, "value", type, 1)};
    const bool places = l->node->output_count > 1 && l->node->outputs[1] != 0;
    s.place = places ? vtac_local(l, "place", VTAC_I64, 1) : NULL;
    s.count = !p.is_max && !p.is_lp && !p.count_all ? vtac_local(l, "count", VTAC_I64, 1) : NULL;
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, vtac_type_out(l, 0), at, true);
    vtac_store(l->k, s.value, zero, vtac_e_float(l->k, type, first_value(&p, x->dtype)));
    if (places) {
        vtac_store(l->k, s.place, zero, zero);
    }
    if (s.count != NULL) {
        vtac_store(l->k, s.count, zero, zero);
    }
    const vtac_expr *source[VTAC_MAX_RANK] = {at[0], at[1]};
    uint32_t inner = 0;
    for (uint32_t a = 0; a < w.axes; a++) {
        const vtac_expr *tap = vtac_for(l->k, VTAC_LOOP_SERIAL, w.kernel[a], "tap");
        const vtac_expr *begin =
            vtac_i_addc(l->k, vtac_i_mulc(l->k, at[a + 2], w.stride[a]), -w.pad_begin[a]);
        source[a + 2] =
            vtac_let(l->k, "place", vtac_i_add(l->k, begin, vtac_i_mulc(l->k, tap, w.dilation[a])));
        vtac_if(l->k, E2(AND, E2(GE, source[a + 2], zero),
                         E2(LT, source[a + 2], vtac_e_index(l->k, x->dim[a + 2]))));
        inner += 2;
    }
    visit(l, &p, x, &s, type, source);
    vtac_close(l, inner);
    const vtac_expr *count = s.count != NULL ? vtac_e_load(l->k, s.count, zero) : padded_count(l, &w, x, at);
    vtac_out_at(l, 0, at, finish(l, &p, vtac_e_load(l->k, s.value, zero), count));
    if (places) {
        vtac_out_at(l, 1, at, vtac_e_load(l->k, s.place, zero));
    }
    vtac_close(l, loops);
    return l->diag->code;
}

vta_status vtac_lower_global_pool(vtac_lower *l)
{
    const vtac_type *x = vtac_type_in(l, 0);
    const vtac_op op = l->node->op;
    pooling p = {.is_max = op == VTAC_OP_GLOBAL_MAX_POOL,
                 .is_lp = op == VTAC_OP_GLOBAL_LP_POOL,
                 .quantized = op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL,
                 .p = vtac_attr_int(l->node, "p", 2),
                 .last = vtac_attr_int(l->node, "channels_last", 0) != 0};
    VTA_TRY(vtac_begin(l, ""));
    const vtac_dtype type = p.is_max ? vtac_compute_type(x->dtype) : sum_type(x->dtype);
    const vtac_expr *zero = vtac_e_index(l->k, 0);
    const sums s = {.value = vtac_local(l, "value", type, 1)};
    const vtac_expr *at[VTAC_MAX_RANK];
    const uint32_t loops = vtac_open(l, vtac_type_out(l, 0), at, true);
    vtac_store(l->k, s.value, zero, vtac_e_float(l->k, type, first_value(&p, x->dtype)));
    const vtac_expr *source[VTAC_MAX_RANK];
    memcpy(source, at, sizeof source);
    int64_t count = 1;
    uint32_t inner = 0;
    for (uint32_t a = p.last ? 1 : 2; a + (p.last ? 1 : 0) < x->rank; a++) {
        source[a] = vtac_for(l->k, VTAC_LOOP_SERIAL, x->dim[a], "i");
        count *= x->dim[a];
        inner++;
    }
    p.most = count;
    visit(l, &p, x, &s, type, source);
    vtac_close(l, inner);
    vtac_out_at(l, 0, at, finish(l, &p, vtac_e_load(l->k, s.value, zero), vtac_e_index(l->k, count)));
    vtac_close(l, loops);
    return l->diag->code;
}
