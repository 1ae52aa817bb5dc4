/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers. They are drawn while a model is read, by the generator that ONNX's own reference uses (the
 * Mersenne Twister MT19937, seeded and turned into numbers as numpy's RandomState does it), so that one seed
 * means the same numbers on every target and in every run. A node without a seed has one made of its place in
 * the model.
 */
#include <math.h>
#include <string.h>

#include "compose.h"

enum { STATE = 624, MIDDLE = 397, MAX_DRAWN = 1 << 24 };

typedef struct twister {
    uint32_t state[STATE];
    uint32_t used;
    bool has_other; /* normal numbers come in pairs */
    double other;
} twister;

static void seed_twister(twister *t, uint32_t seed)
{
    t->used = STATE;
    t->has_other = false;
    for (uint32_t i = 0; i < STATE; i++) {
        t->state[i] = seed;
        seed = 1812433253u * (seed ^ (seed >> 30)) + i + 1;
    }
}

static uint32_t draw_word(twister *t)
{
    if (t->used == STATE) {
        for (uint32_t i = 0; i < STATE; i++) {
            const uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % STATE] & 0x7fffffffu);
            t->state[i] = t->state[(i + MIDDLE) % STATE] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
        }
        t->used = 0;
    }
    uint32_t y = t->state[t->used++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Draws a number from 0 up to 1, with 53 bits. */
static double draw_uniform(twister *t)
{
    const uint32_t high = draw_word(t) >> 5;
    const uint32_t low = draw_word(t) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

/* Marsaglia's polar method. */
static double draw_normal(twister *t)
{
    double x[2];
    double square;
    if (t->has_other) {
        t->has_other = false;
        return t->other;
    }
    do {
        x[0] = 2.0 * draw_uniform(t) - 1.0;
        x[1] = 2.0 * draw_uniform(t) - 1.0;
        square = x[0] * x[0] + x[1] * x[1];
    } while (square >= 1.0 || square == 0.0);
    const double factor = sqrt(-2.0 * log(square) / square);
    t->has_other = true;
    t->other = factor * x[0];
    return factor * x[1];
}

/* low + span * what is drawn */
static vtac_value_id draw_values(vtac_compose *c, const vtac_type *type, bool normal, double low, double span)
{
    const int64_t count = vtac_type_elements(type);
    /* a float but for Dropout, where it is an integer */
    const vtac_attr *attr = vtac_c_attr(c, "seed");
    const double given =
        attr != NULL && attr->kind == VTAC_ATTR_INT ? (double)attr->i : vtac_c_float(c, "seed", (double)NAN);
    if (count < 0 || count > MAX_DRAWN || vtac_dtype_kind(type->dtype) != 'f') {
        return vtac_compose_fail(c, VTA_UNSUPPORTED, "random numbers are up to 2^24 floats, not %lld of %s",
                                 (long long)count, vtac_dtype_name(type->dtype));
    }
    const bool seeded = given >= 0.0 && given < 4294967296.0;
    twister *t = vta_arena_alloc(&c->im->graph->arena, sizeof *t);
    double *values = vtac_c_room(c, count);
    if (t == NULL || values == NULL) {
        return vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    seed_twister(t, seeded ? (uint32_t)given : 0x76746163u + c->im->origin);
    for (int64_t i = 0; i < count; i++) {
        values[i] = low + span * (normal ? draw_normal(t) : draw_uniform(t));
    }
    return vtac_c_numbers(c, type, values);
}

/* The type of the result: attributes shape and dtype, or those of input 0. */
static vtac_type drawn_type(vtac_compose *c, bool like)
{
    vtac_type type = {.dtype = VTAC_F32};
    if (like) {
        type = vtac_c_type(c, vtac_c_in(c, 0));
        type.dtype = vtac_c_dtype_attr(c, "dtype", type.dtype);
        return type;
    }
    const vtac_attr *shape = vtac_c_attr(c, "shape");
    if (shape == NULL || shape->kind != VTAC_ATTR_INTS || shape->count > VTAC_MAX_RANK) {
        (void)vtac_compose_fail(c, VTA_INVALID, "attribute 'shape' is missing or has too many axes");
        return type;
    }
    type.rank = (uint32_t)shape->count;
    memcpy(type.dim, shape->ints, shape->count * sizeof *type.dim);
    for (uint32_t i = 0; i < type.rank; i++) {
        if (type.dim[i] < 0) {
            (void)vtac_compose_fail(c, VTA_RANGE, "%lld places on axis %u", (long long)type.dim[i], i);
        }
    }
    type.dtype = vtac_c_dtype_attr(c, "dtype", VTAC_F32);
    return type;
}

static void compose_uniform(vtac_compose *c, bool like, vtac_value_id *out)
{
    const vtac_type type = drawn_type(c, like);
    const double low = vtac_c_float(c, "low", 0.0);
    out[0] =
        c->make.status == VTA_OK ? draw_values(c, &type, false, low, vtac_c_float(c, "high", 1.0) - low) : 0;
}

static void compose_normal(vtac_compose *c, bool like, vtac_value_id *out)
{
    const vtac_type type = drawn_type(c, like);
    out[0] = c->make.status == VTA_OK
                 ? draw_values(c, &type, true, vtac_c_float(c, "mean", 0.0), vtac_c_float(c, "scale", 1.0))
                 : 0;
}

void vtac_composed_random_uniform(vtac_compose *c, vtac_value_id *out)
{
    compose_uniform(c, false, out);
}

void vtac_composed_random_uniform_like(vtac_compose *c, vtac_value_id *out)
{
    compose_uniform(c, true, out);
}

void vtac_composed_random_normal(vtac_compose *c, vtac_value_id *out)
{
    compose_normal(c, false, out);
}

void vtac_composed_random_normal_like(vtac_compose *c, vtac_value_id *out)
{
    compose_normal(c, true, out);
}

/* 1 where a number is below the probability */
void vtac_composed_bernoulli(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = vtac_c_type(c, x);
    const vtac_dtype dtype = vtac_c_dtype_attr(c, "dtype", type.dtype);
    out[0] = c->make.status == VTA_OK
                 ? vtac_c_cast(c, vtac_c_less(c, draw_values(c, &type, false, 0.0, 1.0), x), dtype)
                 : 0;
}

/* Logarithms of weights [batch, classes]: which class each number of the running sum of the shares hits */
void vtac_composed_multinomial(vtac_compose *c, vtac_value_id *out)
{
    const int64_t samples = vtac_c_int(c, "sample_size", 1);
    if (!vtac_c_expect_rank(c, 0, 2)) {
        return;
    }
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_type type = vtac_c_type(c, x);
    const vtac_dtype dtype = vtac_c_dtype_attr(c, "dtype", VTAC_I32);
    if (samples < 1 || samples > MAX_DRAWN || type.dim[1] < 1) {
        (void)vtac_compose_fail(c, VTA_RANGE, "%lld samples of %lld classes", (long long)samples,
                                (long long)type.dim[1]);
        return;
    }
    const vtac_type drawn = {type.dtype, 3, {type.dim[0], samples, 1}};
    const vtac_value_id shares =
        vtac_c2(c, VTAC_OP_CUM_SUM, vtac_c_softmax(c, x, -1), vtac_c_number(c, VTAC_I64, 1.0));
    /* the last sum is 1 but for rounding, and is not compared */
    const vtac_value_id sums = vtac_c_unsqueeze(c, vtac_c_slice(c, shares, 1, 0, type.dim[1] - 1), 1);
    const vtac_value_id passed = vtac_c_at_most(c, sums, draw_values(c, &drawn, false, 0.0, 1.0));
    const vtac_value_id count = vtac_c_reduce(c, VTAC_OP_REDUCE_SUM, vtac_c_cast(c, passed, VTAC_I64), 2, 2);
    const int64_t shape[] = {type.dim[0], samples};
    out[0] = vtac_c_cast(c, vtac_c_reshape(c, count, shape, 2), dtype);
}

static bool is_zero(const vtac_tensor *t)
{
    return t != NULL && vtac_type_elements(&t->type) == 1 && vtac_tensor_float(t, 0) == 0.0;
}

/* x, ratio, training_mode: stays what it is where that is known to be false */
void vtac_composed_dropout(vtac_compose *c, vtac_value_id *out)
{
    const vtac_tensor *training = vtac_c_has(c, 2) ? vtac_c_known(c, vtac_c_in(c, 2)) : NULL;
    if (!vtac_c_has(c, 2) || is_zero(training)) {
        return;
    }
    const vtac_value_id x = vtac_c_in(c, 0);
    vtac_type type = vtac_c_type(c, x);
    const vtac_dtype dtype = type.dtype;
    if (vtac_c_has(c, 1) && is_zero(vtac_c_known(c, vtac_c_in(c, 1)))) { /* nothing is dropped */
        out[0] = x;
        out[1] = vtac_c_expand(c, vtac_c_number(c, VTAC_BOOL, 1.0), type.dim, type.rank);
        return;
    }
    type.dtype = VTAC_F64;
    const vtac_value_id drawn = draw_values(c, &type, false, 0.0, 1.0);
    vtac_value_id ratio = vtac_c_number(c, VTAC_F64, 0.5);
    if (vtac_c_has(c, 1)) {
        ratio = vtac_c_reshape(c, vtac_c_cast(c, vtac_c_in(c, 1), VTAC_F64), NULL, 0);
    }
    if (training == NULL) { /* the ratio is 0 elsewhere */
        const vtac_value_id mode = vtac_c_reshape(c, vtac_c_in(c, 2), NULL, 0);
        ratio = vtac_c_where(c, mode, ratio, vtac_c_number(c, VTAC_F64, 0.0));
    }
    const vtac_value_id kept = vtac_c_at_least(c, drawn, ratio);
    const vtac_value_id one = vtac_c_number(c, VTAC_F64, 1.0);
    const vtac_value_id scale = vtac_c_cast(c, vtac_c_div(c, one, vtac_c_sub(c, one, ratio)), dtype);
    out[0] = vtac_c_where(c, kept, vtac_c_mul(c, x, scale), vtac_c_number(c, dtype, 0.0));
    out[1] = kept;
}
