/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of quantized operators: one meaning for host kernels, accelerator instructions and tests.
 *
 * A real number r is stored as q with r = (q - zero) * scale. An operator computes an exact integer, scales
 * it by a constant, rounds once (half to even), adds the output's zero point, saturates:
 *
 *     conv, dense   v = sum (x - zx)(w - zw) + bias     s = sx * sw / sy         vtac_scale_product
 *     mul           v = (a - za)(b - zb)                s = sa * sb / sy         vtac_scale_product
 *     average pool  v = sum over the window (x - zx)    s = sx / (sy * count)    vtac_scale_mean
 *     rescale       v = x - zx                          s = sx / sy              vtac_scale_ratio
 *     add           v = (a - za) * ma + (b - zb) * mb   s = 2^-shift             vtac_fixed_sum_of
 *
 *     q = clamp(round_half_even(v * s) + zy, low, high)
 *
 * s is a float32, and v * s is the exact product: a float32 has 24 bits, as a scale lane of REQUANT has, so
 * that the accelerator and the host agree to the bit. In double the product is exact while |v| < 2^29.
 * The functions below choose an s within some units in the last place of the quotient, for which the exact
 * product gives the integers that the float32 arithmetic of ONNX and ONNX Runtime gives; whoever computes s
 * must use them. Maximum pools, copies and reorderings work on q itself. uint8 is int8 with q and zero moved
 * by 128.
 */
#ifndef VTAC_QUANT_H
#define VTAC_QUANT_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/isa.h"

/* The number mult * 2^-shift; mult below 2^24, shift below 64. */
typedef struct vtac_fixed {
    uint32_t mult, shift;
} vtac_fixed;

float vtac_scale_product(float a, float b, float y);
float vtac_scale_mean(float x, float y, int64_t count);
float vtac_scale_ratio(float x, float y);

/* Exactly the float, but 0 for one so small that any 33-bit number times it rounds to 0. False for what is
 * negative, not finite or 2^24 and more: no operator can use it. */
bool vtac_fixed_of(float scale, vtac_fixed *out);

/* Factors of an addition. `a` and `b` are sa/sy and sb/sy times 2^shift, rounded, as large as they can be
 * with a + b below 2^23: for any two 8-bit numbers and zero points the sum stays inside int32. */
typedef struct vtac_fixed_sum {
    int32_t a, b;
    uint32_t shift;
} vtac_fixed_sum;

/* False where a scale is not positive and finite. */
bool vtac_fixed_sum_of(float sa, float sb, float sy, vtac_fixed_sum *out);

/* clamp(round_half_even(v * scale) + zero, low, high); |v| < 2^39. */
int32_t vtac_fixed_apply(int64_t v, vtac_fixed scale, int32_t zero, int32_t low, int32_t high);

/* Bounds of a channel's sum of products, and the 32-bit numbers that the sum may reach together
 * with its bias. */
typedef struct vtac_bias_room {
    int64_t min, max;  /* of the sum alone, whatever the input is */
    int64_t low, high; /* of sum and bias */
} vtac_bias_room;

/* A bias with which sum and bias stay in their room and every result is what it was: the same bias where it
 * is small enough, else one that is, where the channel's result is the same for all inputs (which is what a
 * very large bias means). False where there is none. |room| < 2^37. */
bool vtac_bias_fit(int64_t bias, const vtac_bias_room *room, vtac_fixed scale, int32_t zero, int32_t low,
                   int32_t high, int32_t *out);

/* ---- the integers of TensorFlow Lite
 *
 * A factor is a 31-bit mantissa and an exponent, mult * 2^(shift - 31), mult in [2^30, 2^31) or 0. A number
 * is shifted left (and wraps), multiplied, rounded to nearest (halves up) at bit 31, and shifted right with a
 * second rounding: halves up in convolutions and dense layers, away from zero elsewhere. 64-bit sums are
 * multiplied by the mantissa's upper 16 bits and rounded once. The attribute "rounding" of a quantized
 * operator names it; without one, the arithmetic is that above.
 */
typedef enum vtac_rounding {
    VTAC_ROUND_EVEN, /* once, halves to even: ONNX */
    VTAC_ROUND_UP,   /* "tflite-up" */
    VTAC_ROUND_AWAY, /* "tflite-away" */
    VTAC_ROUND_ONCE  /* "tflite-once" */
} vtac_rounding;

typedef struct vtac_tfl_scale {
    int32_t mult, shift;
} vtac_tfl_scale;

/* Parses the name of a rounding (NULL, "": EVEN); false: no such name. */
bool vtac_rounding_parse(const char *name, vtac_rounding *out);
const char *vtac_rounding_name(vtac_rounding rounding);

vtac_tfl_scale vtac_tfl_scale_of(double real);
int32_t vtac_tfl_rescale(int64_t v, vtac_tfl_scale scale, vtac_rounding rounding);
/* a * b / y: the product in float32 where TensorFlow Lite takes it there (`narrow`). */
double vtac_tfl_product(float a, float b, float y, bool narrow);

/* An addition: a and b, less their zero points and shifted left by `left`, are scaled, summed, scaled. */
typedef struct vtac_tfl_sum {
    vtac_tfl_scale a, b, y;
} vtac_tfl_sum;
vtac_tfl_sum vtac_tfl_sum_of(float a, float b, float y, int left);

/* Exact replacement of a TensorFlow Lite sum in the accelerator's arithmetic: (a fa + b fb + bias + table[b
 * or a]) * scale, rounded, with a and b less their zero points. The table is of operand `corrected` (0 or 1;
 * -1: there is none, `table` is all 0), indexed by its number plus 128. */
typedef struct vtac_tfl_sum_fit {
    int32_t a, b, bias;
    vtac_fixed scale; /* a multiplier of 31 bits */
    vta_rounding rounding;
    int corrected;
    int8_t table[256];
} vtac_tfl_sum_fit;

/* Scales and zero points of a, b and the result, in int8 (uint8: less 128). Every one of the 65,536 results
 * is compared. False: there is none, or no memory. */
bool vtac_tfl_sum_fit_of(const float scale[3], const int32_t zero[3], vtac_tfl_sum_fit *out);

/* A function of whole numbers that never falls, as a product by a constant. */
typedef int32_t vtac_steps_fn(const void *context, int64_t v);
typedef struct vtac_steps {
    vtac_steps_fn *fn;
    const void *context;
    int64_t first, last; /* where it is wanted */
    int32_t low, high;   /* and what its results are clamped to */
    double slope;        /* what it rises by, about */
} vtac_steps;
typedef struct vtac_steps_fit {
    int32_t times, bias; /* times: 1, or more where the bias has to be finer than one number */
    vtac_fixed scale;    /* a multiplier of 31 bits */
    vta_rounding rounding;
} vtac_steps_fit;

/* (v * times + bias) * scale, rounded and clamped, is what the function says for every v; compared where it
 * rises. False: no such product was found. */
bool vtac_steps_fit_of(const vtac_steps *steps, vtac_steps_fit *out);

/* A function of 8-bit numbers, and what its results are clamped to. */
typedef struct vtac_line {
    const int32_t *results;   /* of the 256 numbers from `first` on */
    int32_t first, low, high; /* results are in low ... high */
    float x_scale, y_scale;   /* of numbers and results, as a convolution would have them */
    int32_t x_zero, y_zero;
} vtac_line;
typedef struct vtac_line_fit {
    int32_t weight, bias; /* weight: -127 ... 127 */
    float scale;          /* of the weight */
} vtac_line_fit;

/* clamp(round_half_even(((x - x_zero) * weight + bias) * s) + y_zero), s = x_scale * scale / y_scale, is what
 * the function says for all 256 numbers. False: no such weight was found. */
bool vtac_line_fit_of(const vtac_line *line, vtac_line_fit *out);

/* v * scale, rounded as REQUANT does (isa/ISA.md, 8). */
int64_t vtac_requant_round(int64_t v, vtac_fixed scale, vta_rounding rounding);

/* ---- rows: softmax and normalizations
 *
 * A row is the numbers that one softmax or one mean goes over. Each step below is one that the accelerator
 * has with ROWS = 1 (isa/ISA.md, 7 and 8): sums of 32 bits, which rows of VTAC_ROW_LONGEST numbers cannot
 * overflow, REQUANT rounded to the even, `long` where its result keeps 18 bits, and the functions of
 * vta/rows.h. x is int8, or uint8 less 128, y what zero, low and high say.
 */
enum { VTAC_ROW_LONGEST = 8192, VTAC_ROW_MASKED = -(1 << 20), VTAC_ROW_LONG = 1 << 17 };

/* Softmax of rows of n numbers, with v = x + mask, where a mask is 0 or VTAC_ROW_MASKED:
 *
 *     m = max(v)     s = long(round((v - m) * power))     e = exp2(s)
 *     S = sum(e);  with tail:  sum(max(e, 512) - 512) + floor(sum(exp2(s + 7 * 4096)) / 2^7)
 *     y = clamp(round(e * recip(S).mult * mult / 2^(recip(S).shift + shift)) + zero, low, high)
 *
 * A masked number has e = 0; a row whose numbers are all masked is as without the mask. Rows of more than
 * VTAC_ROW_SHORT numbers have a tail: what a power has below 512 (VTAC_ROW_TAIL_BELOW) is summed with seven
 * places more, since the rounding of so many would show in y. mult is 2^14 where the scale of y is a power of
 * two; then a narrow record does, with places = 14 - shift. Else a wide one does, whose multiplier has 31
 * bits.
 *
 * A linear one has no power, no mask and no tail: each number is divided by the sum of the row's sizes, and a
 * row of zeros stays one (LpNormalization of ONNX with p = 1).
 *
 *     u = x - offset     S = sum(|u|)
 *     y = clamp(round(u * recip(S).mult * mult / 2^(recip(S).shift + shift)) + zero, low, high) */
enum { VTAC_ROW_SHORT = 256, VTAC_ROW_TAIL = 7, VTAC_ROW_TAIL_BELOW = 1 << (16 - VTAC_ROW_TAIL) };

typedef struct vtac_softmax {
    int32_t n;
    bool tail, linear;
    int32_t offset;   /* of a linear one: the zero point of x */
    vtac_fixed power; /* scale of x, to 1/4096 of a power of two */
    uint32_t mult;    /* 2^14 ... 2^15 - 1: 1 / scale of y is mult * 2^-shift */
    int32_t shift;
    int32_t zero, low, high; /* of y */
} vtac_softmax;

typedef struct vtac_softmax_want {
    int64_t n;
    float x_scale, y_scale;
    int32_t y_zero, y_low, y_high;
    bool linear;
    int32_t x_zero; /* as of int8; of a linear one */
} vtac_softmax_want;

/* False where the row is too long, or a scale is not finite and above 0, or so far off that a mask or a sum
 * would not work. */
bool vtac_softmax_of(const vtac_softmax_want *want, vtac_softmax *out);
/* True for a linear one of numbers of both signs. */
bool vtac_softmax_has_signs(const vtac_softmax *p);
/* `mask` NULL: none. y may be x. */
void vtac_row_softmax(const vtac_softmax *p, const int32_t *x, const int32_t *mask, int32_t *y);
/* e of a number that is v above m (v <= 0), and exp2(s + 7 * 4096). */
int32_t vtac_softmax_power(const vtac_softmax *p, int32_t v);
int32_t vtac_softmax_tail(const vtac_softmax *p, int32_t v);

/* LayerNormalization (centered) and RMSNormalization of rows of n numbers:
 *
 *     centered   S = sum(x)                     M = long(round(S * mean))     c = x - M
 *                R = S - n * M                  T = long(round(R * R * square))
 *     else       c = x + offset                 T = 0
 *     V = (sum(c * c) << spread) - T + epsilon                  n * variance, in units of 2^-spread
 *     r = recip_root(root(V))
 *     d = (centered ? x * times - S * sum_times : c * times) * column.times
 *     z = long(round(d * r.mult / 2^max(0, r.shift - places)))
 *     y = clamp(round((z + column.bias) * column.scale) + zero, low, high)
 *
 * M is near the mean, and R is what it is off; so V is exact but for the rounding of T, and d is exact.
 * The factor of a column, 0 or a power of two of either sign, gives z the sign of the gain, and more places
 * where z would be too coarse for a large gain. Where all are 1, d need not be multiplied. */
typedef struct vtac_norm_column {
    int32_t times, bias;
    vtac_fixed scale;
} vtac_norm_column;

typedef struct vtac_norm {
    int32_t n;
    bool centered;
    int32_t offset; /* minus the zero point of x; 0 where centered */
    vtac_fixed mean, square;
    uint32_t spread;
    int32_t epsilon;
    int32_t times, sum_times; /* each below 2^15 */
    uint32_t places;          /* up to 16 */
    const vtac_norm_column *columns;
    int32_t zero, low, high; /* of y */
} vtac_norm;

/* A normalization in the words of ONNX. */
typedef struct vtac_norm_want {
    int32_t n;
    bool centered;
    double epsilon;
    const float *gain, *bias; /* of each column; NULL: all 1, all 0 */
    float x_scale, y_scale;
    int32_t x_zero;
    int32_t y_zero, y_low, y_high;
} vtac_norm_want;

/* Fills `columns`, want->n of them, which `out` refers to. False: there are no such numbers, because a scale,
 * a gain or a bias is not finite, the row is too long, or epsilon is far above all variances that x can have.
 */
bool vtac_norm_of(const vtac_norm_want *want, vtac_norm_column *columns, vtac_norm *out);
/* y may be x. */
void vtac_row_norm(const vtac_norm *p, const int32_t *x, int32_t *y);

/* ---- planes: InstanceNormalization and GroupNormalization
 *
 * A group is n numbers: all pixels of some channels of an image. Each step below is one that the accelerator
 * has with ROWS = 1, or a sum of whole numbers that does not depend on its order. For a group:
 *
 *     S = sum(x)     Q = sum(x * x)             M = long(round(S * mean))     R = S - n * M
 *     F = long(round(R * part))                 2^14 times what the mean is above M
 *     D = Q - n * M * M - 2 * M * R             sum((x - M)^2)
 *     T = long(round(floor(R / 2^halves)^2 * square))
 *     V = floor(D * 2^spread) - T + epsilon     n * variance, in units of 2^-spread
 *     (m, h) = root(V)     r = recip_root(root(V))
 *
 * and for each of its channels:
 *
 *     B = floor(m * weight / 2^max(-31, min(31, h + lower))) - M * times - floor(F * times / 2^14)
 *     y = clamp(round((x * times + B) * floor(r.mult * gain / 2^7) / 2^(r.shift + places)) + zero, low, high)
 *
 * so that a number is rounded once. D is exact, and a number of more than 32 bits where n is large. */
enum { VTAC_PLANES_LARGEST = 1 << 22, VTAC_PLANES_PART = 14, VTAC_PLANES_GAIN = 7 };

typedef struct vtac_planes_channel {
    int32_t times;  /* 0, or a power of two up to 2^17 with the sign of the gain */
    int32_t weight; /* of the deviation in the bias: below 2^15 */
    int32_t lower;
    int32_t gain; /* below 2^15 */
    int32_t places;
} vtac_planes_channel;

typedef struct vtac_planes {
    int64_t n;
    int32_t channels, groups;
    vtac_fixed mean, part, square;
    int32_t spread; /* -8 ... 20 */
    uint32_t halves;
    int32_t epsilon;
    const vtac_planes_channel *channel;
    int32_t zero, low, high; /* of y */
} vtac_planes;

/* A normalization in the words of ONNX. */
typedef struct vtac_planes_want {
    int64_t pixels;
    int32_t channels, groups;
    double epsilon;
    const float *gain, *bias; /* of each channel */
    float x_scale, y_scale;
    int32_t y_zero, y_low, y_high;
} vtac_planes_want;

/* Moments of a group: what its numbers make of its channels. */
typedef struct vtac_planes_moments {
    int32_t mean, part;        /* M, F */
    uint32_t root, root_shift; /* m, h */
    uint32_t mult, mult_shift; /* r */
} vtac_planes_moments;

/* Fills `channel`, want->channels of them, which `out` refers to. False: there are no such numbers, because a
 * scale, a gain or a bias is not finite, a group is too large, or epsilon is far above all variances that x
 * can have. */
bool vtac_planes_of(const vtac_planes_want *want, vtac_planes_channel *channel, vtac_planes *out);
/* The moments of a group, of the sums of its numbers and of their squares. */
void vtac_planes_moments_of(const vtac_planes *p, int64_t sum, int64_t squares, vtac_planes_moments *out);
/* The line of a channel: y = clamp(round((x * times + bias) * scale) + zero). */
void vtac_planes_line(const vtac_planes_channel *channel, const vtac_planes_moments *moments, int32_t *bias,
                      vtac_fixed *scale);
/* An image [channels][pixels]; y may be x. */
void vtac_planes_norm(const vtac_planes *p, const int32_t *x, int32_t *y);

/* ---- recurrent cells: LSTM, GRU, RNN
 *
 * A step of a recurrent layer in one direction. x and h are int8 (uint8 less 128), with scales and zero
 * points; a row j of weights belongs to one unit of one gate. All products of a row have one unit u = scale
 * of x * scale of the row of W = scale of h * scale of the row of R, so that both products are one sum,
 * rounded once:
 *
 *     S = sum((x - zx) * w) + sum((h - zh) * r) + bias      a = clamp(round(S * scale), -128, 127)
 *
 * a counts 16ths for the logistic function and 32nds for tanh. Both are tables:
 *
 *     sigmoid(a) = min(127, round(256 / (1 + exp(-a / 16))) - 128) + 128          0 ... 255, in 256ths
 *     tanh(a)    = round(127 * tanh(a / 32))                                      in 127ths
 *
 * The share of a state that a step keeps is 256 less a gate, so that a state can be kept whole: the rows of
 * that gate are stored negated, and sigmoid gives the share that is lost.
 *
 *     LSTM  i, o, l = sigmoid(a)     g = tanh(a)
 *           C' = C + floor((32 * i * g - l * C + 128) / 256)     t = tanh(clamp(round(C' / 127)))
 *           h' = clamp(round(o * t * out) + zh)
 *     GRU   l, r = sigmoid(a)        n = tanh(a)
 *           H' = H + floor((l * (256 * n - H) + 128) / 256)      h' = clamp(round(H' * out) + zh)
 *           with reset_after, S of n is sum of x + bias + floor((r * (sum of h + state_bias) + 128) / 256);
 *           else its sum over h takes clamp(round(r * H * out / 256) + zh) in place of h
 *     RNN   h' = result(a), a table
 *
 * C counts 4064ths (32 * 127) and H 32512ths (256 * 127), in 32 bits: VTAC_RECURRENT_STEPS steps cannot
 * overflow. Between launches C or H is kept whole, so that launches of some steps give what one launch of all
 * steps gives: as bytes d of v = d0 + 256 * d1 + 65536 * d2, of two places for H and three for C. What a
 * launch begins with is at most VTAC_RECURRENT_REACH for C, and 1 for H. */
enum { VTAC_RECURRENT_STEPS = 2000, VTAC_SIGMOID_ONE = 16, VTAC_TANH_ONE = 32, VTAC_TANH_MAX = 127 };
enum { VTAC_RECURRENT_REACH = 32, VTAC_LSTM_UNITS = 4064, VTAC_GRU_UNITS = 32512 };

typedef enum vtac_recurrent_kind {
    VTAC_RECURRENT_LSTM, /* gates in the order i, o, l, g */
    VTAC_RECURRENT_GRU,  /* l, r, n */
    VTAC_RECURRENT_RNN
} vtac_recurrent_kind;

typedef struct vtac_recurrent {
    vtac_recurrent_kind kind;
    bool reset_after;
    int32_t inputs, hidden, gates;
    const int8_t *w, *r;           /* [gates * hidden][inputs], [gates * hidden][hidden] */
    const int32_t *bias;           /* of each row, with what the zero points add */
    const int32_t *state_bias;     /* reset_after: of each row of n, for the sum over h; else NULL */
    const vtac_fixed *scales;      /* of each row */
    vtac_fixed memory, out, reset; /* LSTM: of C; of h'; GRU: of r * H */
    int32_t zero;                  /* of h */
    int8_t tables[2][256];         /* for -128 ... 127: sigmoid less 128; tanh, or an RNN's result */
} vtac_recurrent;

/* A cell in the words of ONNX: W, R and B as the operator has them, for one direction; B NULL: all 0. */
typedef struct vtac_recurrent_want {
    vtac_recurrent_kind kind;
    bool reset_after;
    int32_t inputs, hidden;
    const float *w, *r, *b;
    float x_scale, h_scale;
    int32_t x_zero, h_zero; /* of int8 */
} vtac_recurrent_want;

int32_t vtac_recurrent_gates(vtac_recurrent_kind kind);
/* The bytes of C or H between launches; an RNN has none. A GRU's H gives h, too. */
int32_t vtac_recurrent_digits(vtac_recurrent_kind kind);

/* Room for what `out` refers to. */
typedef struct vtac_recurrent_room {
    int8_t *w, *r;
    int32_t *bias, *state_bias;
    vtac_fixed *scales;
} vtac_recurrent_room;

/* Fills the room. False: a number is not finite, a scale is not above 0, or a sum does not fit. */
bool vtac_recurrent_of(const vtac_recurrent_want *want, const vtac_recurrent_room *room, vtac_recurrent *out);

/* Computes a step. `wide` is C or H; sums: room for (gates + 2) * hidden numbers. */
void vtac_recurrent_step(const vtac_recurrent *p, const int8_t *x, int8_t *h, int32_t *wide, int32_t *sums);

/* A mean over planes of uint8: the sum of the numbers as they are is scaled, and the bias added. */
typedef struct vtac_tfl_mean {
    vtac_tfl_scale scale;
    int32_t bias;
} vtac_tfl_mean;
vtac_tfl_mean vtac_tfl_mean_of(float x, int64_t x_zero, float y, int64_t y_zero, int64_t count);

#endif
