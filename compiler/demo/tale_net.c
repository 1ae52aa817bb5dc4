/* SPDX-License-Identifier: Apache-2.0 */
#include "tale_net.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "attend.h"
#include "gemm.h"
#include "vta/fail.h"
#include "vta/hash.h"
#include "vtac/exact.h"

/* ---- memory */

typedef struct float_place {
    float **at;
    size_t count;
} float_place;

/* Allocates each of the arrays; false without memory. */
static bool allocate_floats(tale_net *n, const float_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *places[i].at = vta_arena_array(&n->arena, places[i].count, sizeof(float));
        if (*places[i].at == NULL) {
            return false;
        }
    }
    return true;
}

static void place_some(float *base, size_t *at, const float_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *places[i].at = base == NULL ? NULL : base + *at;
        *at += places[i].count;
    }
}

/* Parameters in their order; with `base` NULL only their number is found. */
static size_t place_parameters(tale_net *n, float *base)
{
    const tale_sizes *s = &n->sizes;
    const size_t square = (size_t)s->width * s->width;
    const size_t wide = (size_t)s->width * s->wide;
    const size_t words = (size_t)s->vocabulary * s->width;
    const float_place first = {&n->embedding, words};
    const float_place last[] = {{&n->gain, s->width}, {&n->head, words}};
    size_t at = 0;
    place_some(base, &at, &first, 1);
    for (uint32_t i = 0; i < s->layers; i++) {
        tale_layer *l = &n->layers[i];
        const float_place inner[] = {{&l->gain[0], s->width}, {&l->query, square},  {&l->key, square},
                                     {&l->value, square},     {&l->output, square}, {&l->gain[1], s->width},
                                     {&l->gate, wide},        {&l->up, wide},       {&l->down, wide}};
        place_some(base, &at, inner, sizeof inner / sizeof inner[0]);
    }
    place_some(base, &at, last, sizeof last / sizeof last[0]);
    return at;
}

static bool allocate_values(tale_net *n)
{
    const tale_sizes *s = &n->sizes;
    const size_t rows = n->rows;
    const size_t row = rows * s->width;
    const size_t shares = rows * s->heads * s->context;
    const size_t widest = s->wide + s->vocabulary + s->context;
    const float_place outer[] = {{&n->last, row},
                                 {&n->norm, row},
                                 {&n->root, rows},
                                 {&n->logits, rows * s->vocabulary},
                                 {&n->slope, row},
                                 {&n->row_slope, row},
                                 {&n->query_slope, row},
                                 {&n->key_slope, row},
                                 {&n->value_slope, row},
                                 {&n->wide_slope, rows * widest},
                                 {&n->up_slope, rows * s->wide},
                                 {&n->cosine, row},
                                 {&n->sine, row},
                                 {&n->turned, (rows + s->width) * (widest + s->width)},
                                 {&n->scores, (size_t)s->context * s->context}};
    for (uint32_t i = 0; i < s->layers; i++) {
        tale_layer *l = &n->layers[i];
        const float_place inner[] = {{&l->in, row},
                                     {&l->norm, row},
                                     {&l->root, rows},
                                     {&l->queries, row},
                                     {&l->keys, row},
                                     {&l->values, row},
                                     {&l->shares, shares},
                                     {&l->mixed, row},
                                     {&l->middle, row},
                                     {&l->middle_norm, row},
                                     {&l->middle_root, rows},
                                     {&l->gates, rows * s->wide},
                                     {&l->ups, rows * s->wide},
                                     {&l->opens, rows * s->wide},
                                     {&l->hidden, rows * s->wide}};
        if (!allocate_floats(n, inner, sizeof inner / sizeof inner[0])) {
            return false;
        }
    }
    return allocate_floats(n, outer, sizeof outer / sizeof outer[0]);
}

static float draw_number(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (float)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 40) / 8388608.0F - 1.0F;
}

/* Weights between -1 and 1 times a root of what they sum over; gains begin at 1. */
static void draw_parameters(tale_net *n, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    const tale_sizes *s = &n->sizes;
    const float narrow = sqrtf(3.0F / (float)s->width);
    for (size_t i = 0; i < n->parameter_count; i++) {
        n->parameters[i] = draw_number(&state) * narrow;
    }
    for (uint32_t c = 0; c < s->width; c++) {
        n->gain[c] = 1.0F;
        for (uint32_t i = 0; i < s->layers; i++) {
            n->layers[i].gain[0][c] = n->layers[i].gain[1][c] = 1.0F;
        }
    }
}

/* The angle of pair i at a position is position / 10000^(2 i / columns). */
static void make_waves(tale_net *n)
{
    const uint32_t half = n->sizes.width / n->sizes.heads / 2;
    for (uint32_t t = 0; t < n->sizes.context; t++) {
        for (uint32_t i = 0; i < half; i++) {
            const double angle = t * vtac_exp(-vtac_log(10000.0) * i / half);
            n->cosine[t * half + i] = (float)vtac_cos(angle);
            n->sine[t * half + i] = (float)vtac_sin(angle);
        }
    }
}

vta_status demo_tale_create(const tale_sizes *sizes, uint64_t seed, tale_net *out, vta_diag *diag)
{
    *out = (tale_net){.sizes = *sizes, .rows = sizes->batch * sizes->context};
    out->layers = vta_arena_array(&out->arena, sizes->layers, sizeof *out->layers);
    if (out->layers == NULL) {
        return vta_no_memory(diag);
    }
    out->parameter_count = place_parameters(out, NULL);
    const size_t count = out->parameter_count;
    const float_place places[] = {{&out->parameters, count},
                                  {&out->slopes, count},
                                  {&out->adam.moments[0], count},
                                  {&out->adam.moments[1], count}};
    if (!allocate_floats(out, places, 4) || !allocate_values(out)) {
        demo_tale_free(out);
        return vta_no_memory(diag);
    }
    (void)place_parameters(out, out->parameters);
    draw_parameters(out, seed);
    make_waves(out);
    return VTA_OK;
}

void demo_tale_free(tale_net *n)
{
    vta_arena_free(&n->arena);
    *n = (tale_net){0};
}

static float *slope_of(const tale_net *n, const float *parameter)
{
    return n->slopes + (parameter - n->parameters);
}

/* ---- parts, forwards and backwards */

static matrix whole(float *at, uint32_t columns)
{
    return (matrix){at, columns};
}

/* to[rows][out] = from[rows][in] · weight[in][out], or added to what is there. */
static void multiply(const tale_net *n, uint32_t in, uint32_t out, float *from, float *weight, float *to,
                     int add)
{
    demo_gemm(n->rows, out, in, whole(from, in), whole(weight, out), whole(to, out), add);
}

typedef struct sloped {
    float *at, *slope;
} sloped;

/* The slopes of both factors of such a product from that of the result. */
static void multiply_back(tale_net *n, uint32_t in, uint32_t out, sloped from, float *weight, float *slope,
                          int add)
{
    demo_transpose(in, out, whole(weight, out), whole(n->turned, in));
    demo_gemm(n->rows, in, out, whole(slope, out), whole(n->turned, in), whole(from.slope, in), add);
    demo_transpose(n->rows, in, whole(from.at, in), whole(n->turned, n->rows));
    demo_gemm(in, out, n->rows, whole(n->turned, n->rows), whole(slope, out), whole(slope_of(n, weight), out),
              1);
}

static void normalize(const tale_net *n, const float *from, const float *gain, float *to, float *root)
{
    const uint32_t width = n->sizes.width;
    for (uint32_t r = 0; r < n->rows; r++) {
        const float *x = from + (size_t)r * width;
        float sum = 0.0F;
        for (uint32_t c = 0; c < width; c++) {
            sum += x[c] * x[c];
        }
        root[r] = 1.0F / sqrtf(sum / (float)width + TALE_EPSILON);
        for (uint32_t c = 0; c < width; c++) {
            to[(size_t)r * width + c] = x[c] * root[r] * gain[c];
        }
    }
}

/* Adds to the slope of `from` what comes through the normalization. */
static void normalize_back(const tale_net *n, const float *from, const float *gain, const float *root,
                           const float *slope, float *from_slope)
{
    const uint32_t width = n->sizes.width;
    float *gain_slope = slope_of(n, gain);
    for (uint32_t r = 0; r < n->rows; r++) {
        const float *x = from + (size_t)r * width;
        const float *s = slope + (size_t)r * width;
        float sum = 0.0F;
        for (uint32_t c = 0; c < width; c++) {
            gain_slope[c] += s[c] * x[c] * root[r];
            sum += s[c] * gain[c] * x[c];
        }
        const float common = sum * root[r] * root[r] / (float)width;
        for (uint32_t c = 0; c < width; c++) {
            from_slope[(size_t)r * width + c] += root[r] * (s[c] * gain[c] - x[c] * common);
        }
    }
}

/* ---- attention of one head in one text */

typedef struct head_view {
    matrix queries, keys, values, mixed;
    float *shares; /* [context][context] */
} head_view;

static matrix part_of(const tale_net *n, float *rows, uint32_t text, uint32_t head)
{
    const tale_sizes *s = &n->sizes;
    return (matrix){rows + (size_t)text * s->context * s->width + head * (s->width / s->heads), s->width};
}

static head_view view_head(const tale_net *n, const tale_layer *l, uint32_t text, uint32_t head)
{
    const size_t square = (size_t)n->sizes.context * n->sizes.context;
    return (head_view){part_of(n, l->queries, text, head), part_of(n, l->keys, text, head),
                       part_of(n, l->values, text, head), part_of(n, l->mixed, text, head),
                       l->shares + (text * n->sizes.heads + head) * square};
}

static float score_scale(const tale_net *n)
{
    const uint32_t size = n->sizes.width / n->sizes.heads; /* of a head */
    return 1.0F / sqrtf((float)size);
}

/* Turns each pair of columns by the angle of its position, back where `direction` is -1. */
static void rotate_rows(const tale_net *n, float *rows, float direction)
{
    const tale_sizes *s = &n->sizes;
    const uint32_t half = s->width / s->heads / 2;
    for (uint32_t i = 0; i < n->rows * s->heads; i++) {
        const uint32_t place = i / s->heads % s->context * half;
        float *x = rows + (size_t)i * 2 * half;
        for (uint32_t c = 0; c < half; c++) {
            const float cosine = n->cosine[place + c];
            const float sine = n->sine[place + c] * direction;
            const float first = x[c];
            x[c] = first * cosine - x[half + c] * sine;
            x[half + c] = x[half + c] * cosine + first * sine;
        }
    }
}

static void attend_head(const tale_net *n, const head_view *v)
{
    const uint32_t tokens = n->sizes.context;
    const uint32_t columns = n->sizes.width / n->sizes.heads;
    demo_transpose(tokens, columns, v->keys, whole(n->turned, tokens));
    demo_gemm(tokens, tokens, columns, v->queries, whole(n->turned, tokens), whole(v->shares, tokens), 0);
    for (uint32_t r = 0; r < tokens; r++) {
        demo_share_row(v->shares + (size_t)r * tokens, r + 1, tokens, score_scale(n));
    }
    demo_gemm(tokens, columns, tokens, whole(v->shares, tokens), v->values, v->mixed, 0);
}

/* The slopes of the scores in place of those of the shares. */
static void share_rows_back(const tale_net *n, const float *shares, float *slopes)
{
    const uint32_t tokens = n->sizes.context;
    for (uint32_t r = 0; r < tokens; r++) {
        const size_t row = (size_t)r * tokens;
        demo_share_row_back(shares + row, slopes + row, tokens, score_scale(n));
    }
}

/* From the slope of what a head has mixed to those of its queries, keys and values. */
static void attend_head_back(tale_net *n, const head_view *v, uint32_t text, uint32_t head)
{
    const uint32_t tokens = n->sizes.context;
    const uint32_t columns = n->sizes.width / n->sizes.heads;
    const matrix slope = part_of(n, n->row_slope, text, head);
    demo_transpose(tokens, tokens, whole(v->shares, tokens), whole(n->turned, tokens));
    demo_gemm(tokens, columns, tokens, whole(n->turned, tokens), slope,
              part_of(n, n->value_slope, text, head), 0);
    demo_transpose(tokens, columns, v->values, whole(n->turned, tokens));
    demo_gemm(tokens, tokens, columns, slope, whole(n->turned, tokens), whole(n->scores, tokens), 0);
    share_rows_back(n, v->shares, n->scores);
    demo_gemm(tokens, columns, tokens, whole(n->scores, tokens), v->keys,
              part_of(n, n->query_slope, text, head), 0);
    demo_transpose(tokens, tokens, whole(n->scores, tokens), whole(n->turned, tokens));
    demo_gemm(tokens, columns, tokens, whole(n->turned, tokens), v->queries,
              part_of(n, n->key_slope, text, head), 0);
}

/* ---- layers */

static void attend(const tale_net *n, tale_layer *l)
{
    const uint32_t width = n->sizes.width;
    multiply(n, width, width, l->norm, l->query, l->queries, 0);
    multiply(n, width, width, l->norm, l->key, l->keys, 0);
    multiply(n, width, width, l->norm, l->value, l->values, 0);
    rotate_rows(n, l->queries, 1.0F);
    rotate_rows(n, l->keys, 1.0F);
    for (uint32_t i = 0; i < n->sizes.batch * n->sizes.heads; i++) {
        const head_view v = view_head(n, l, i / n->sizes.heads, i % n->sizes.heads);
        attend_head(n, &v);
    }
}

/* n->row_slope is that of what was mixed, and then that of what attention was given. */
static void attend_back(tale_net *n, const tale_layer *l)
{
    const uint32_t width = n->sizes.width;
    for (uint32_t i = 0; i < n->sizes.batch * n->sizes.heads; i++) {
        const head_view v = view_head(n, l, i / n->sizes.heads, i % n->sizes.heads);
        attend_head_back(n, &v, i / n->sizes.heads, i % n->sizes.heads);
    }
    rotate_rows(n, n->query_slope, -1.0F);
    rotate_rows(n, n->key_slope, -1.0F);
    multiply_back(n, width, width, (sloped){l->norm, n->row_slope}, l->query, n->query_slope, 0);
    multiply_back(n, width, width, (sloped){l->norm, n->row_slope}, l->key, n->key_slope, 1);
    multiply_back(n, width, width, (sloped){l->norm, n->row_slope}, l->value, n->value_slope, 1);
}

static float sigmoid(float x)
{
    return (float)(1.0 / (1.0 + vtac_exp(-(double)x)));
}

/* hidden = gate · sigmoid(gate) · up */
static void gate_hidden(const tale_net *n, const tale_layer *l)
{
    for (size_t i = 0; i < (size_t)n->rows * n->sizes.wide; i++) {
        l->opens[i] = sigmoid(l->gates[i]);
        l->hidden[i] = l->gates[i] * l->opens[i] * l->ups[i];
    }
}

/* n->wide_slope is that of `hidden`, and then that of the gates; n->up_slope becomes the other. */
static void gate_hidden_back(tale_net *n, const tale_layer *l)
{
    for (size_t i = 0; i < (size_t)n->rows * n->sizes.wide; i++) {
        const float share = l->opens[i];
        const float silu = l->gates[i] * share;
        n->up_slope[i] = n->wide_slope[i] * silu;
        n->wide_slope[i] *= l->ups[i] * (share + silu * (1.0F - share));
    }
}

static void layer_forward(const tale_net *n, tale_layer *l, float *out)
{
    const tale_sizes *s = &n->sizes;
    const size_t size = (size_t)n->rows * s->width;
    normalize(n, l->in, l->gain[0], l->norm, l->root);
    attend(n, l);
    memcpy(l->middle, l->in, size * sizeof *l->middle);
    multiply(n, s->width, s->width, l->mixed, l->output, l->middle, 1);
    normalize(n, l->middle, l->gain[1], l->middle_norm, l->middle_root);
    multiply(n, s->width, s->wide, l->middle_norm, l->gate, l->gates, 0);
    multiply(n, s->width, s->wide, l->middle_norm, l->up, l->ups, 0);
    gate_hidden(n, l);
    memcpy(out, l->middle, size * sizeof *out);
    multiply(n, s->wide, s->width, l->hidden, l->down, out, 1);
}

/* n->slope is that of the layer's result, and then that of what it was given. */
static void layer_backward(tale_net *n, const tale_layer *l)
{
    const tale_sizes *s = &n->sizes;
    multiply_back(n, s->wide, s->width, (sloped){l->hidden, n->wide_slope}, l->down, n->slope, 0);
    gate_hidden_back(n, l);
    multiply_back(n, s->width, s->wide, (sloped){l->middle_norm, n->row_slope}, l->gate, n->wide_slope, 0);
    multiply_back(n, s->width, s->wide, (sloped){l->middle_norm, n->row_slope}, l->up, n->up_slope, 1);
    normalize_back(n, l->middle, l->gain[1], l->middle_root, n->row_slope, n->slope);
    multiply_back(n, s->width, s->width, (sloped){l->mixed, n->row_slope}, l->output, n->slope, 0);
    attend_back(n, l);
    normalize_back(n, l->in, l->gain[0], l->root, n->row_slope, n->slope);
}

/* ---- the whole */

void demo_tale_forward(tale_net *n, const uint32_t *tokens)
{
    const tale_sizes *s = &n->sizes;
    for (uint32_t r = 0; r < n->rows; r++) {
        for (uint32_t c = 0; c < s->width; c++) {
            n->layers[0].in[(size_t)r * s->width + c] = n->embedding[(size_t)tokens[r] * s->width + c];
        }
    }
    for (uint32_t i = 0; i < s->layers; i++) {
        layer_forward(n, &n->layers[i], i + 1 < s->layers ? n->layers[i + 1].in : n->last);
    }
    normalize(n, n->last, n->gain, n->norm, n->root);
    multiply(n, s->width, s->vocabulary, n->norm, n->head, n->logits, 0);
}

/* The loss of one row and its slope. */
static float row_loss(const float *logits, uint32_t count, uint32_t target, float weight, float *slope)
{
    float largest = logits[0];
    float sum = 0.0F;
    for (uint32_t c = 1; c < count; c++) {
        largest = logits[c] > largest ? logits[c] : largest;
    }
    for (uint32_t c = 0; c < count; c++) {
        slope[c] = (float)vtac_exp((double)(logits[c] - largest));
        sum += slope[c];
    }
    for (uint32_t c = 0; c < count; c++) {
        slope[c] = (slope[c] / sum - (c == target ? 1.0F : 0.0F)) * weight;
    }
    return ((float)vtac_log((double)sum) + largest - logits[target]) * weight;
}

static float logits_loss(tale_net *n, const tale_targets *targets)
{
    const uint32_t count = n->sizes.vocabulary;
    float all = 0.0F;
    float loss = 0.0F;
    for (uint32_t r = 0; r < n->rows; r++) {
        all += targets->weights[r];
    }
    for (uint32_t r = 0; r < n->rows; r++) {
        loss += row_loss(n->logits + (size_t)r * count, count, targets->tokens[r], targets->weights[r] / all,
                         n->wide_slope + (size_t)r * count);
    }
    return loss;
}

static void embedding_backward(const tale_net *n, const uint32_t *tokens)
{
    const tale_sizes *s = &n->sizes;
    for (uint32_t r = 0; r < n->rows; r++) {
        float *word = slope_of(n, n->embedding) + (size_t)tokens[r] * s->width;
        for (uint32_t c = 0; c < s->width; c++) {
            word[c] += n->slope[(size_t)r * s->width + c];
        }
    }
}

float demo_tale_backward(tale_net *n, const uint32_t *tokens, const tale_targets *targets)
{
    const tale_sizes *s = &n->sizes;
    memset(n->slopes, 0, n->parameter_count * sizeof *n->slopes);
    memset(n->slope, 0, (size_t)n->rows * s->width * sizeof *n->slope);
    const float loss = logits_loss(n, targets);
    multiply_back(n, s->width, s->vocabulary, (sloped){n->norm, n->row_slope}, n->head, n->wide_slope, 0);
    normalize_back(n, n->last, n->gain, n->root, n->row_slope, n->slope);
    for (uint32_t i = s->layers; i-- > 0;) {
        layer_backward(n, &n->layers[i]);
    }
    embedding_backward(n, tokens);
    return loss;
}

float demo_tale_learn(tale_net *n, const uint32_t *tokens, const tale_targets *targets, float rate)
{
    demo_tale_forward(n, tokens);
    const float loss = demo_tale_backward(n, tokens, targets);
    demo_adam_adjust(&n->adam, n->parameters, n->slopes, n->parameter_count, rate);
    return loss;
}

uint64_t demo_tale_fingerprint(const tale_net *n)
{
    return demo_hash_floats(VTA_HASH_START, n->parameters, n->parameter_count);
}
