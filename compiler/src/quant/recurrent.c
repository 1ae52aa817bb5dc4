/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent cells in integers, as vtac/quant.h has them.
 */
#include <math.h>
#include <stddef.h>

#include "vta/number.h"
#include "vtac/quant.h"

enum { MAX_WEIGHT = 127, SIGMOID_UNITS = 256, HALF = 128, PLACES = 8, FINE = 5 };

/* Sums stay below 2^29, where a double holds their product by a scale; with a reset gate behind them, below
 * what 32 bits hold 256 times. */
#define MAX_SUM       0x1p29
#define MAX_RESET_SUM 0x1p23

int32_t vtac_recurrent_gates(vtac_recurrent_kind kind)
{
    return kind == VTAC_RECURRENT_LSTM ? 4 : kind == VTAC_RECURRENT_GRU ? 3 : 1;
}

int32_t vtac_recurrent_digits(vtac_recurrent_kind kind)
{
    return kind == VTAC_RECURRENT_LSTM ? 3 : kind == VTAC_RECURRENT_GRU ? 2 : 0;
}

/* ---- the numbers of a cell */

/* The gate that is stored negated; -1: none. */
static int32_t lost_gate(vtac_recurrent_kind kind)
{
    return kind == VTAC_RECURRENT_LSTM ? 2 : kind == VTAC_RECURRENT_GRU ? 0 : -1;
}

/* The gate that goes through tanh: the last one. */
static bool takes_tanh(const vtac_recurrent *p, int32_t row)
{
    return row / p->hidden == p->gates - 1;
}

static bool is_reset_row(const vtac_recurrent *p, int32_t row)
{
    return p->reset_after && takes_tanh(p, row);
}

static double largest_of(const float *row, int32_t count)
{
    double largest = 0.0;
    for (int32_t i = 0; i < count; i++) {
        const double size = fabs((double)row[i]);
        largest = size > largest || isnan(size) ? size : largest;
    }
    return largest;
}

/* Rounds a row of weights; returns their sum. */
static int64_t round_row(const float *from, int32_t count, double factor, int8_t *to)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        to[i] = (int8_t)vta_min(MAX_WEIGHT, vta_max(-MAX_WEIGHT, (int64_t)rint((double)from[i] * factor)));
        sum += to[i];
    }
    return sum;
}

/* The unit of a row's products: the weight that adds most is 127, and biases fit. */
static float unit_of(const vtac_recurrent_want *w, int32_t row, double bias)
{
    const double of_x = (double)w->x_scale * largest_of(w->w + (int64_t)row * w->inputs, w->inputs);
    const double of_h = (double)w->h_scale * largest_of(w->r + (int64_t)row * w->hidden, w->hidden);
    const double unit = fmax(fmax(of_x, of_h) / MAX_WEIGHT, fabs(bias) / (MAX_RESET_SUM / 2.0));
    return isnan(of_x) || isnan(of_h) ? NAN : unit > 0.0 ? (float)unit : 1.0F;
}

/* The size that a row's sum may reach. */
static double reach_of(const vtac_recurrent_want *w, double bias)
{
    const double max = (double)(UINT8_MAX * MAX_WEIGHT);
    return fabs(bias) + max * ((double)w->inputs + (double)w->hidden);
}

static bool fill_row(const vtac_recurrent_want *w, const vtac_recurrent_room *room, const vtac_recurrent *p,
                     int32_t row)
{
    const int32_t all = p->gates * p->hidden;
    const double sign = row / p->hidden == lost_gate(p->kind) ? -1.0 : 1.0;
    const double of_x = w->b == NULL ? 0.0 : (double)w->b[row];
    const double of_h = w->b == NULL ? 0.0 : (double)w->b[all + row];
    const float unit = unit_of(w, row, fabs(of_x) + fabs(of_h));
    const double by = sign / (double)unit;
    const int64_t x_sum = round_row(w->w + (int64_t)row * w->inputs, w->inputs, (double)w->x_scale * by,
                                    room->w + (int64_t)row * w->inputs);
    const int64_t h_sum = round_row(w->r + (int64_t)row * w->hidden, w->hidden, (double)w->h_scale * by,
                                    room->r + (int64_t)row * w->hidden);
    const bool apart = is_reset_row(p, row);
    const double state = rint(of_h * by) - (double)(w->h_zero * h_sum);
    const double bias = apart ? rint(of_x * by) : rint((of_x + of_h) * by);
    const double other = bias - (double)(w->x_zero * x_sum) - (double)(apart ? 0 : w->h_zero * h_sum);
    const float scale = unit * (float)(takes_tanh(p, row) ? VTAC_TANH_ONE : VTAC_SIGMOID_ONE);
    if (!(reach_of(w, other) < MAX_SUM) || (apart && !(reach_of(w, state) < MAX_RESET_SUM)) ||
        !isfinite(unit) || !vtac_fixed_of(scale, &room->scales[row])) {
        return false;
    }
    room->bias[row] = (int32_t)other;
    if (apart) {
        room->state_bias[row % p->hidden] = (int32_t)state;
    }
    return true;
}

static int8_t as_result(double real, const vtac_recurrent_want *w)
{
    const double q = rint(real / (double)w->h_scale) + (double)w->h_zero;
    return (int8_t)fmin(INT8_MAX, fmax(INT8_MIN, q));
}

static void fill_tables(const vtac_recurrent_want *w, vtac_recurrent *p)
{
    for (int n = INT8_MIN; n <= INT8_MAX; n++) {
        const double logistic = SIGMOID_UNITS / (1.0 + exp(-(double)n / VTAC_SIGMOID_ONE));
        const double tangent = tanh((double)n / VTAC_TANH_ONE);
        p->tables[0][n + HALF] = (int8_t)fmin(INT8_MAX, rint(logistic) - HALF);
        p->tables[1][n + HALF] = (int8_t)rint(VTAC_TANH_MAX * tangent);
        if (w->kind == VTAC_RECURRENT_RNN) {
            p->tables[1][n + HALF] = as_result(tangent, w);
        }
    }
}

static bool is_scale(float scale)
{
    return scale > 0.0F && isfinite(scale);
}

bool vtac_recurrent_of(const vtac_recurrent_want *w, const vtac_recurrent_room *room, vtac_recurrent *out)
{
    *out = (vtac_recurrent){.kind = w->kind,
                            .reset_after = w->kind == VTAC_RECURRENT_GRU && w->reset_after,
                            .inputs = w->inputs,
                            .hidden = w->hidden,
                            .gates = vtac_recurrent_gates(w->kind),
                            .w = room->w,
                            .r = room->r,
                            .bias = room->bias,
                            .scales = room->scales,
                            .zero = w->h_zero};
    out->state_bias = out->reset_after ? room->state_bias : NULL;
    const double product = SIGMOID_UNITS * VTAC_TANH_MAX * (double)w->h_scale;
    if (!is_scale(w->x_scale) || !is_scale(w->h_scale) || w->inputs < 1 || w->hidden < 1 ||
        !vtac_fixed_of((float)(1.0 / VTAC_TANH_MAX), &out->memory) ||
        !vtac_fixed_of((float)(1.0 / product), &out->out) ||
        !vtac_fixed_of((float)(1.0 / (SIGMOID_UNITS * product)), &out->reset)) {
        return false;
    }
    bool good = true;
    for (int32_t row = 0; good && row < out->gates * out->hidden; row++) {
        good = fill_row(w, room, out, row);
    }
    fill_tables(w, out);
    return good;
}

/* ---- a step */

static int32_t sum_of(const int8_t *weights, const int8_t *x, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += weights[i] * x[i];
    }
    return sum;
}

static int32_t sum_of_state(const vtac_recurrent *p, int32_t row, const int8_t *h)
{
    return sum_of(p->r + (int64_t)row * p->hidden, h, p->hidden);
}

static int32_t clamp_result(int64_t v, vtac_fixed scale, int32_t zero)
{
    return vtac_fixed_apply(v, scale, zero, INT8_MIN, INT8_MAX);
}

/* The entry of a row's table for its sum. */
static int32_t look_up(const vtac_recurrent *p, int32_t row, int32_t sum)
{
    const bool tangent = takes_tanh(p, row);
    const int32_t y = p->tables[tangent][clamp_result(sum, p->scales[row], 0) + HALF];
    return tangent ? y : y + HALF;
}

/* v / 256, halves up. */
static int32_t shift_back(int32_t v)
{
    return (v + HALF) >> PLACES;
}

static void step_lstm(const vtac_recurrent *p, const int32_t *gate, int32_t j, int8_t *h, int32_t *wide)
{
    const int32_t n = p->hidden;
    const int32_t gain = gate[j] * gate[3 * n + j] * (1 << FINE);
    wide[j] += shift_back(gain - gate[2 * n + j] * wide[j]);
    const int32_t t = p->tables[1][clamp_result(wide[j], p->memory, 0) + HALF];
    h[j] = (int8_t)clamp_result(gate[n + j] * t, p->out, p->zero);
}

static void step_gru(const vtac_recurrent *p, const int32_t *gate, int32_t j, int8_t *h, int32_t *wide)
{
    const int32_t to = gate[2 * p->hidden + j] * SIGMOID_UNITS;
    wide[j] += shift_back(gate[j] * (to - wide[j]));
    h[j] = (int8_t)clamp_result(wide[j], p->out, p->zero);
}

/* The last gate of a GRU, which the reset gate acts on. */
static void gate_of_reset(const vtac_recurrent *p, const int8_t *h, const int32_t *wide, int32_t *sums)
{
    const int32_t n = p->hidden;
    int8_t *reset = (int8_t *)(sums + (ptrdiff_t)p->gates * n);
    for (int32_t j = 0; j < n; j++) {
        reset[j] = (int8_t)clamp_result((int64_t)sums[n + j] * wide[j], p->reset, p->zero);
    }
    for (int32_t j = 0; j < n; j++) {
        const int32_t row = 2 * n + j;
        sums[row] += p->reset_after ? shift_back(sums[n + j] * (sum_of_state(p, row, h) + p->state_bias[j]))
                                    : sum_of_state(p, row, reset);
    }
    for (int32_t row = 2 * n; row < 3 * n; row++) {
        sums[row] = look_up(p, row, sums[row]);
    }
}

void vtac_recurrent_step(const vtac_recurrent *p, const int8_t *x, int8_t *h, int32_t *wide, int32_t *sums)
{
    const int32_t n = p->hidden, rows = p->gates * n;
    const int32_t plain = p->kind == VTAC_RECURRENT_GRU ? 2 * n : rows;
    for (int32_t row = 0; row < rows; row++) {
        sums[row] = p->bias[row] + sum_of(p->w + (int64_t)row * p->inputs, x, p->inputs);
    }
    for (int32_t row = 0; row < plain; row++) {
        sums[row] = look_up(p, row, sums[row] + sum_of_state(p, row, h));
    }
    if (p->kind == VTAC_RECURRENT_GRU) {
        gate_of_reset(p, h, wide, sums);
    }
    for (int32_t j = 0; j < n; j++) {
        if (p->kind == VTAC_RECURRENT_LSTM) {
            step_lstm(p, sums, j, h, wide);
        } else if (p->kind == VTAC_RECURRENT_GRU) {
            step_gru(p, sums, j, h, wide);
        } else {
            h[j] = (int8_t)sums[j];
        }
    }
}
