/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers: those of TensorFlow Lite's first run, by its generator (Philox 4x32 of ten rounds) and the
 * seeds of the file. They are drawn while the model is read, so every run has the same. Where the file has no
 * seeds, they are made of the operator's place.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "operators.h"

enum { WORDS = 4, ROUNDS = 10, MAX_DRAWN = 1 << 24 };

typedef struct philox {
    uint32_t key[2], counter[WORDS];
} philox;

/* Options: two seeds of 64 bits. */
static philox seed_philox(vtac_tflite *im)
{
    uint64_t low = (uint64_t)vtac_tflite_option(im, 0, 8, 0);
    const uint64_t high = (uint64_t)vtac_tflite_option(im, 1, 8, 0);
    low = low == 0 && high == 0 ? 0x76746163u + (uint64_t)im->maker.origin : low;
    return (philox){.key = {(uint32_t)low, (uint32_t)(low >> 32)},
                    .counter = {0, 0, (uint32_t)high, (uint32_t)(high >> 32)}};
}

static void draw_words(philox *p, uint32_t *out)
{
    uint32_t key[2] = {p->key[0], p->key[1]};
    memcpy(out, p->counter, sizeof p->counter);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * out[0];
        const uint64_t b = UINT64_C(0xCD9E8D57) * out[2];
        out[0] = (uint32_t)(b >> 32) ^ out[1] ^ key[0];
        out[1] = (uint32_t)b;
        out[2] = (uint32_t)(a >> 32) ^ out[3] ^ key[1];
        out[3] = (uint32_t)a;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < WORDS && ++p->counter[i] == 0; i++) {
    }
}

/* From 0 up to 1, 23 bits. */
static float word_fraction(uint32_t word)
{
    return (float)(word & 0x7fffffu) * 0x1p-23F;
}

/* Two numbers of the normal distribution, by Box and Muller. */
static void normal_pair(const uint32_t *words, float *out)
{
    const float first = fmaxf(word_fraction(words[0]), 1.0e-7F);
    const float angle = (float)(2.0 * 3.14159265358979323846 * (double)word_fraction(words[1]));
    const float radius = sqrtf(-2.0F * logf(first));
    out[0] = sinf(angle) * radius;
    out[1] = cosf(angle) * radius;
}

/* A shape; how = 1: normal, else even from 0 to 1. */
void vtac_tflite_import_random(vtac_tflite *im)
{
    vtac_type type = {.dtype = VTAC_F32};
    type.rank = vtac_tflite_known_ints(im, 0, "shape", type.dim, VTAC_MAX_RANK);
    for (uint32_t i = 0; i < type.rank; i++) {
        type.dim[i] = type.dim[i] < 0 ? INT64_MAX : type.dim[i]; /* too many */
    }
    const int64_t count = vtac_type_elements(&type);
    if (im->maker.status == VTA_OK && (count < 0 || count > MAX_DRAWN)) {
        vtac_make_refuse(&im->maker, "random numbers are up to 2^24 floats");
        return;
    }
    float *values = vtac_make_room(&im->maker, count + WORDS, sizeof *values);
    philox p = seed_philox(im);
    for (int64_t i = 0; values != NULL && i < count; i += WORDS) {
        uint32_t words[WORDS];
        draw_words(&p, words);
        for (int k = 0; k < WORDS; k += 2) {
            if (im->how == 1) {
                normal_pair(words + k, values + i + k);
            } else {
                values[i + k] = word_fraction(words[k]);
                values[i + k + 1] = word_fraction(words[k + 1]);
            }
        }
    }
    vtac_tflite_set(im, 0, values == NULL ? 0 : vtac_make_borrowed(&im->maker, &type, values));
}

/* Logarithms of weights [batch][classes], how many to draw: the class in whose share of all weights a number
 * falls. What is not finite has no weight. */
void vtac_tflite_import_multinomial(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    int64_t samples = 0;
    if (vtac_tflite_known_ints(im, 1, "count of samples", &samples, 1) != 1 || x.rank != 2 ||
        x.dtype != VTAC_F32 || x.dim[1] < 1 || samples < 0 || samples > MAX_DRAWN ||
        x.dim[0] * samples > MAX_DRAWN || x.dim[0] * samples > MAX_DRAWN / x.dim[1]) {
        vtac_make_refuse(&im->maker,
                         "%lld samples of %s of rank %u; f32 of rank 2, and up to 2^24 samples times classes",
                         (long long)samples, vtac_dtype_name(x.dtype), x.rank);
        return;
    }
    const int64_t count = x.dim[0] * samples;
    const int64_t last = 1;
    const vtac_type drawn = {VTAC_F64, 3, {x.dim[0], samples, 1}};
    double *values = vtac_make_room(m, count + 1, sizeof *values);
    philox p = seed_philox(im);
    for (int64_t i = 0; values != NULL && i < count; i += 2) {
        uint32_t words[WORDS];
        draw_words(&p, words);
        for (int64_t k = 0; k < 2; k++) { /* 52 bits */
            values[i + k] = ((double)(words[2 * k] & 0xfffffu) * 0x1p32 + (double)words[2 * k + 1]) * 0x1p-52;
        }
    }
    if (values == NULL) {
        return;
    }
    const vtac_id logits = vtac_make_cast(m, vtac_tflite_plain(im, 0), VTAC_F64);
    const vtac_id there = vtac_make2(m, VTAC_OP_LESS_OR_EQUAL, vtac_make1(m, VTAC_OP_ABS, logits),
                                     vtac_make_number(m, VTAC_F64, (double)FLT_MAX));
    const vtac_id min = vtac_make_number(m, VTAC_F64, -(double)FLT_MAX);
    const vtac_id finite = vtac_make3(m, VTAC_OP_WHERE, there, logits, min);
    const vtac_id max = vtac_make_reduce(m, VTAC_OP_REDUCE_MAX, finite, &last, 1, true);
    vtac_id weights = vtac_make1(m, VTAC_OP_EXP, vtac_make2(m, VTAC_OP_SUB, finite, max));
    weights = vtac_make3(m, VTAC_OP_WHERE, there, weights, vtac_make_number(m, VTAC_F64, 0.0));
    const vtac_id sums = vtac_make2(m, VTAC_OP_CUM_SUM, weights, vtac_make_number(m, VTAC_I64, 1.0));
    const vtac_id total = vtac_make_reshape(m, vtac_make_slice(m, sums, 1, x.dim[1] - 1, x.dim[1]),
                                            (int64_t[]){x.dim[0], 1, 1}, 3);
    const vtac_id found = vtac_make2(m, VTAC_OP_MUL, vtac_make_borrowed(m, &drawn, values), total);
    const vtac_id passed = vtac_make2(
        m, VTAC_OP_LESS_OR_EQUAL, vtac_make_reshape(m, sums, (int64_t[]){x.dim[0], 1, x.dim[1]}, 3), found);
    const int64_t classes = 2;
    const vtac_id at =
        vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, vtac_make_cast(m, passed, VTAC_I64), &classes, 1, false);
    vtac_tflite_set(im, 0, vtac_make_cast(m, at, vtac_tflite_out(im, 0)->type.dtype));
}
