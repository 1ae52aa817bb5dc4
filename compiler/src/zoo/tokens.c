/* SPDX-License-Identifier: Apache-2.0
 *
 * Transformers for texts and sounds, as PyTorch exports them: normalizations in their parts, masks added or
 * chosen, positions turned. They begin behind the embedding: the input is a row for each token.
 */
#include <math.h>

#include "nets.h"

vtac_zoo_value vtac_zoo_number(vtac_zoo *z, const char *role, float value)
{
    static const int64_t none[] = {0};
    return vtac_zoo_weight(z, role, 0, none, value, 0.0F);
}

/* ---- normalizations in their parts */

static vtac_zoo_value row_mean(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t last[] = {-1};
    vtac_zoo_value y = x;
    y.dim[y.rank - 1] = 1;
    y = vtac_zoo_node(z, "ReduceMean", &x, 1, y.rank, y.dim);
    vtac_zoo_attr_ints(z, "axes", 1, last);
    return y;
}

/* The root of the mean of squares and a little more. */
static vtac_zoo_value row_root(vtac_zoo *z, vtac_zoo_value x, float epsilon)
{
    const vtac_zoo_value square = vtac_zoo_binary(z, "Pow", x, vtac_zoo_number(z, "two", 2.0F));
    const vtac_zoo_value mean = vtac_zoo_add(z, row_mean(z, square), vtac_zoo_number(z, "epsilon", epsilon));
    return vtac_zoo_unary(z, "Sqrt", mean);
}

static vtac_zoo_value layer_norm(vtac_zoo *z, vtac_zoo_value x)
{
    const int64_t *last = &x.dim[x.rank - 1];
    const vtac_zoo_value off = vtac_zoo_binary(z, "Sub", x, row_mean(z, x));
    const vtac_zoo_value y = vtac_zoo_binary(z, "Div", off, row_root(z, off, 1e-5F));
    const vtac_zoo_value scaled =
        vtac_zoo_binary(z, "Mul", y, vtac_zoo_weight(z, "gamma", 1, last, 1.0F, 0.1F));
    return vtac_zoo_add(z, scaled, vtac_zoo_weight(z, "beta", 1, last, 0.0F, 0.1F));
}

vtac_zoo_value vtac_zoo_rms_norm(vtac_zoo *z, vtac_zoo_value x)
{
    vtac_zoo_value root = row_root(z, x, 1e-6F);
    const vtac_zoo_value parts[] = {vtac_zoo_number(z, "one", 1.0F), root};
    root = vtac_zoo_node(z, "Div", parts, 2, root.rank, root.dim);
    const vtac_zoo_value y = vtac_zoo_binary(z, "Mul", x, root);
    return vtac_zoo_binary(z, "Mul", y, vtac_zoo_weight(z, "gamma", 1, &x.dim[x.rank - 1], 1.0F, 0.1F));
}

/* ---- attention */

typedef enum row_mask { NO_MASK, ADDED_MASK, CHOSEN_MASK } row_mask;

typedef struct token_attention {
    int64_t heads;
    row_mask mask;
    bool turns, biased; /* positions are turned in; products have a bias */
} token_attention;

static vtac_zoo_value project(vtac_zoo *z, vtac_zoo_value x, int64_t features, bool biased)
{
    return biased ? vtac_zoo_linear(z, x, features) : vtac_zoo_project(z, x, features);
}

/* [n, tokens, width] as [n, heads, tokens, width / heads] */
static vtac_zoo_value split_heads(vtac_zoo *z, vtac_zoo_value x, int64_t heads)
{
    static const int64_t by_head[] = {0, 2, 1, 3};
    const int64_t apart[] = {x.dim[0], x.dim[1], heads, x.dim[2] / heads};
    return vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 4, apart), by_head);
}

vtac_zoo_value vtac_zoo_slice_last(vtac_zoo *z, vtac_zoo_value x, int64_t begin, int64_t end)
{
    const int64_t axis = (int64_t)x.rank - 1;
    const vtac_zoo_value inputs[] = {x, vtac_zoo_ints(z, "begin", 1, &begin),
                                     vtac_zoo_ints(z, "end", 1, &end), vtac_zoo_ints(z, "axis", 1, &axis)};
    vtac_zoo_value y = x;
    y.dim[axis] = end - begin;
    return vtac_zoo_node(z, "Slice", inputs, 4, y.rank, y.dim);
}

/* A sine or a cosine of each position for each pair of columns. */
static vtac_zoo_value position_waves(vtac_zoo *z, const char *role, vtac_zoo_value x, bool sine)
{
    const int64_t tokens = x.dim[2];
    const int64_t columns = x.dim[3];
    const int64_t dim[] = {1, 1, tokens, columns};
    float *waves = vta_arena_array(&z->arena, (size_t)(tokens * columns) + 1, sizeof *waves);
    for (int64_t i = 0; waves != NULL && i < tokens * columns; i++) {
        const double pair = (double)(i % columns % (columns / 2));
        const int64_t token = i / columns;
        const double angle = (double)token * pow(10000.0, -2.0 * pair / (double)columns);
        waves[i] = (float)(sine ? sin(angle) : cos(angle));
    }
    return vtac_zoo_floats(z, role, 4, dim, waves);
}

/* Rotary embedding: each pair of columns turned by its position. */
static vtac_zoo_value rotate_positions(vtac_zoo *z, vtac_zoo_value x)
{
    const int64_t half = x.dim[3] / 2;
    const vtac_zoo_value first = vtac_zoo_slice_last(z, x, 0, half);
    const vtac_zoo_value parts[] = {vtac_zoo_unary(z, "Neg", vtac_zoo_slice_last(z, x, half, x.dim[3])),
                                    first};
    const vtac_zoo_value turned = vtac_zoo_node(z, "Concat", parts, 2, 4, x.dim);
    vtac_zoo_attr_int(z, "axis", -1);
    const vtac_zoo_value along = vtac_zoo_binary(z, "Mul", x, position_waves(z, "cos", x, false));
    return vtac_zoo_add(z, along, vtac_zoo_binary(z, "Mul", turned, position_waves(z, "sin", x, true)));
}

/* Scores of tokens that come later are far below, by a sum or by a choice. */
static vtac_zoo_value mask_later(vtac_zoo *z, vtac_zoo_value scores, row_mask how)
{
    enum { BOOL = 9 };
    const int64_t tokens = scores.dim[3];
    const int64_t square[] = {1, 1, tokens, tokens};
    const size_t room = (size_t)(tokens * tokens) + 1;
    float *added = vta_arena_array(&z->arena, room, sizeof *added);
    int64_t *seen = vta_arena_array(&z->arena, room, sizeof *seen);
    for (int64_t i = 0; added != NULL && seen != NULL && i < tokens * tokens; i++) {
        seen[i] = i % tokens <= i / tokens;
        added[i] = seen[i] != 0 ? 0.0F : VTAC_ZOO_FAR;
    }
    if (how == ADDED_MASK) {
        return vtac_zoo_add(z, scores, vtac_zoo_floats(z, "mask", 4, square, added));
    }
    const vtac_zoo_value flat = vtac_zoo_ints(z, "mask", (uint32_t)(tokens * tokens), seen);
    vtac_zoo_value choice = vtac_zoo_reshape(z, flat, 4, square);
    choice = vtac_zoo_node(z, "Cast", &choice, 1, 4, square);
    vtac_zoo_attr_int(z, "to", BOOL);
    const vtac_zoo_value inputs[] = {choice, scores, vtac_zoo_number(z, "far", VTAC_ZOO_FAR)};
    return vtac_zoo_node(z, "Where", inputs, 3, 4, scores.dim);
}

/* Attention of rows x to rows `to`, which may be the same rows. */
static vtac_zoo_value attend_to(vtac_zoo *z, vtac_zoo_value x, vtac_zoo_value to, const token_attention *a)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    static const int64_t back[] = {0, 2, 1, 3};
    const int64_t width = x.dim[2];
    vtac_zoo_value q = split_heads(z, project(z, x, width, a->biased), a->heads);
    vtac_zoo_value k = split_heads(z, project(z, to, width, a->biased), a->heads);
    const vtac_zoo_value v = split_heads(z, project(z, to, width, a->biased), a->heads);
    q = a->turns ? rotate_positions(z, q) : q;
    k = a->turns ? rotate_positions(z, k) : k;
    const int64_t scores[] = {x.dim[0], a->heads, x.dim[1], to.dim[1]};
    const vtac_zoo_value qk[] = {q, vtac_zoo_transpose(z, k, turned)};
    vtac_zoo_value s = vtac_zoo_node(z, "MatMul", qk, 2, 4, scores);
    s = vtac_zoo_binary(z, "Div", s, vtac_zoo_number(z, "root", sqrtf((float)q.dim[3])));
    s = a->mask == NO_MASK ? s : mask_later(z, s, a->mask);
    s = vtac_zoo_unary(z, "Softmax", s);
    const vtac_zoo_value sv[] = {s, v};
    const vtac_zoo_value mixed = vtac_zoo_transpose(z, vtac_zoo_node(z, "MatMul", sv, 2, 4, q.dim), back);
    return project(z, vtac_zoo_reshape(z, mixed, 3, x.dim), width, a->biased);
}

static vtac_zoo_value attend(vtac_zoo *z, vtac_zoo_value x, const token_attention *a)
{
    return attend_to(z, x, x, a);
}

/* GELU by tanh. */
static vtac_zoo_value gelu_tanh(vtac_zoo *z, vtac_zoo_value x)
{
    vtac_zoo_value y = vtac_zoo_binary(z, "Pow", x, vtac_zoo_number(z, "three", 3.0F));
    y = vtac_zoo_add(z, x, vtac_zoo_binary(z, "Mul", y, vtac_zoo_number(z, "cubic", 0.044715F)));
    y = vtac_zoo_unary(z, "Tanh", vtac_zoo_binary(z, "Mul", y, vtac_zoo_number(z, "slope", 0.7978846F)));
    y = vtac_zoo_add(z, y, vtac_zoo_number(z, "one", 1.0F));
    return vtac_zoo_binary(z, "Mul", vtac_zoo_binary(z, "Mul", x, vtac_zoo_number(z, "half", 0.5F)), y);
}

/* ---- networks of texts */

typedef struct text_sizes {
    int64_t layers, width, heads, tokens;
} text_sizes;

int64_t vtac_zoo_chosen(int64_t given, int64_t usual)
{
    return given > 0 ? given : usual;
}

static text_sizes sizes_of(const vtac_zoo *z, text_sizes usual)
{
    return (text_sizes){
        vtac_zoo_chosen(z->sizes.layers, usual.layers), vtac_zoo_chosen(z->sizes.width, usual.width),
        vtac_zoo_chosen(z->sizes.heads, usual.heads), vtac_zoo_chosen(z->sizes.tokens, usual.tokens)};
}

static vtac_zoo_value text_input(vtac_zoo *z, const text_sizes *s)
{
    const int64_t shape[] = {1, s->tokens, s->width};
    return vtac_zoo_input(z, "input", 3, shape);
}

/* Normalizations behind the sums. */
static vtac_zoo_value encode_text(vtac_zoo *z, text_sizes usual)
{
    const text_sizes s = sizes_of(z, usual);
    const token_attention a = {.heads = s.heads, .biased = true};
    const int64_t places[] = {1, s.tokens, s.width};
    vtac_zoo_value x =
        vtac_zoo_add(z, text_input(z, &s), vtac_zoo_weight(z, "position", 3, places, 0.0F, 0.3F));
    x = layer_norm(z, x);
    for (int64_t i = 0; i < s.layers; i++) {
        x = layer_norm(z, vtac_zoo_add(z, attend(z, x, &a), x));
        const vtac_zoo_value wide = vtac_zoo_gelu(z, vtac_zoo_linear(z, x, 4 * s.width));
        x = layer_norm(z, vtac_zoo_add(z, vtac_zoo_linear(z, wide, s.width), x));
    }
    return x;
}

vtac_zoo_value vtac_zoo_bert(vtac_zoo *z)
{
    return encode_text(z, (text_sizes){2, 128, 2, 128});
}

vtac_zoo_value vtac_zoo_minilm(vtac_zoo *z)
{
    return encode_text(z, (text_sizes){6, 384, 12, 64});
}

enum { WORDS = 512 }; /* among which a decoder chooses */

vtac_zoo_value vtac_zoo_gpt(vtac_zoo *z)
{
    const text_sizes s = sizes_of(z, (text_sizes){2, 128, 4, 64});
    const token_attention a = {.heads = s.heads, .mask = CHOSEN_MASK, .biased = true};
    vtac_zoo_value x = text_input(z, &s);
    for (int64_t i = 0; i < s.layers; i++) {
        x = vtac_zoo_add(z, attend(z, layer_norm(z, x), &a), x);
        const vtac_zoo_value wide = gelu_tanh(z, vtac_zoo_linear(z, layer_norm(z, x), 4 * s.width));
        x = vtac_zoo_add(z, x, vtac_zoo_linear(z, wide, s.width));
    }
    return vtac_zoo_project(z, layer_norm(z, x), WORDS);
}

vtac_zoo_value vtac_zoo_llama(vtac_zoo *z)
{
    if (z->sizes.cache) {
        return vtac_zoo_cached_llama(z);
    }
    const text_sizes s = sizes_of(z, (text_sizes){2, 128, 4, 64});
    const token_attention a = {.heads = s.heads, .mask = ADDED_MASK, .turns = true};
    vtac_zoo_value x = text_input(z, &s);
    for (int64_t i = 0; i < s.layers; i++) {
        x = vtac_zoo_add(z, x, attend(z, vtac_zoo_rms_norm(z, x), &a));
        const vtac_zoo_value y = vtac_zoo_rms_norm(z, x);
        const int64_t wide = 8 * s.width / 3 / 16 * 16;
        const vtac_zoo_value gate = vtac_zoo_silu(z, vtac_zoo_project(z, y, wide));
        const vtac_zoo_value gated = vtac_zoo_binary(z, "Mul", gate, vtac_zoo_project(z, y, wide));
        x = vtac_zoo_add(z, x, vtac_zoo_project(z, gated, s.width));
    }
    return vtac_zoo_project(z, vtac_zoo_rms_norm(z, x), WORDS);
}

/* ---- networks of sounds: bands of a spectrum, two frames a token */

enum { BANDS = 80 };

static vtac_zoo_value sound_input(vtac_zoo *z, const text_sizes *s)
{
    static const int64_t tokens_first[] = {0, 2, 1};
    const int64_t shape[] = {1, BANDS, 2 * s->tokens};
    const vtac_zoo_conv_shape first = {
        .channels = s->width, .kernel = 3, .stride = 1, .pad = -1, .bias = true};
    vtac_zoo_conv_shape second = first;
    second.stride = 2;
    vtac_zoo_value x = vtac_zoo_gelu(z, vtac_zoo_conv(z, vtac_zoo_input(z, "input", 3, shape), first));
    x = vtac_zoo_gelu(z, vtac_zoo_conv(z, x, second));
    return vtac_zoo_transpose(z, x, tokens_first);
}

vtac_zoo_value vtac_zoo_whisper(vtac_zoo *z)
{
    const text_sizes s = sizes_of(z, (text_sizes){2, 128, 4, 100});
    const token_attention a = {.heads = s.heads, .biased = true};
    vtac_zoo_value x = sound_input(z, &s);
    x = vtac_zoo_add(z, x, vtac_zoo_weight(z, "position", 3, x.dim, 0.0F, 0.3F));
    for (int64_t i = 0; i < s.layers; i++) {
        x = vtac_zoo_add(z, x, attend(z, layer_norm(z, x), &a));
        const vtac_zoo_value wide = vtac_zoo_gelu(z, vtac_zoo_linear(z, layer_norm(z, x), 4 * s.width));
        x = vtac_zoo_add(z, x, vtac_zoo_linear(z, wide, s.width));
    }
    return layer_norm(z, x);
}

/* Words that follow what was heard: the second input is what the encoder makes of a sound. */
vtac_zoo_value vtac_zoo_whisper_decoder(vtac_zoo *z)
{
    enum { HEARD = 100 };
    const text_sizes s = sizes_of(z, (text_sizes){2, 128, 4, 48});
    const token_attention own = {.heads = s.heads, .mask = ADDED_MASK, .biased = true};
    const token_attention cross = {.heads = s.heads, .biased = true};
    const int64_t places[] = {1, s.tokens, s.width}, heard[] = {1, HEARD, s.width};
    vtac_zoo_value x = text_input(z, &s);
    const vtac_zoo_value sound = vtac_zoo_input(z, "sound", 3, heard);
    x = vtac_zoo_add(z, x, vtac_zoo_weight(z, "position", 3, places, 0.0F, 0.3F));
    for (int64_t i = 0; i < s.layers; i++) {
        x = vtac_zoo_add(z, x, attend(z, layer_norm(z, x), &own));
        x = vtac_zoo_add(z, x, attend_to(z, layer_norm(z, x), sound, &cross));
        const vtac_zoo_value wide = vtac_zoo_gelu(z, vtac_zoo_linear(z, layer_norm(z, x), 4 * s.width));
        x = vtac_zoo_add(z, x, vtac_zoo_linear(z, wide, s.width));
    }
    return vtac_zoo_project(z, layer_norm(z, x), WORDS);
}

/* Half of a step through a wider layer. */
static vtac_zoo_value half_step(vtac_zoo *z, vtac_zoo_value x)
{
    const int64_t width = x.dim[2];
    const vtac_zoo_value wide = vtac_zoo_silu(z, vtac_zoo_linear(z, layer_norm(z, x), 4 * width));
    const vtac_zoo_value y = vtac_zoo_linear(z, wide, width);
    return vtac_zoo_add(z, x, vtac_zoo_binary(z, "Mul", y, vtac_zoo_number(z, "half", 0.5F)));
}

/* A gate, then each channel along the time by itself. */
static vtac_zoo_value along_time(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t swapped[] = {0, 2, 1};
    const int64_t width = x.dim[2];
    const vtac_zoo_conv_shape wide = {.channels = 2 * width, .kernel = 1, .stride = 1, .bias = true};
    const vtac_zoo_conv_shape each = {
        .channels = width, .kernel = 15, .stride = 1, .pad = -1, .group = -1, .bias = true};
    const vtac_zoo_conv_shape last = {.channels = width, .kernel = 1, .stride = 1, .bias = true};
    vtac_zoo_value halves[2];
    vtac_zoo_halve(z, vtac_zoo_conv(z, vtac_zoo_transpose(z, layer_norm(z, x), swapped), wide), halves);
    vtac_zoo_value y = vtac_zoo_binary(z, "Mul", halves[0], vtac_zoo_unary(z, "Sigmoid", halves[1]));
    y = vtac_zoo_silu(z, vtac_zoo_norm(z, vtac_zoo_conv(z, y, each)));
    return vtac_zoo_add(z, x, vtac_zoo_transpose(z, vtac_zoo_conv(z, y, last), swapped));
}

vtac_zoo_value vtac_zoo_conformer(vtac_zoo *z)
{
    const text_sizes s = sizes_of(z, (text_sizes){2, 144, 4, 64});
    const token_attention a = {.heads = s.heads, .biased = true};
    vtac_zoo_value x = sound_input(z, &s);
    for (int64_t i = 0; i < s.layers; i++) {
        x = half_step(z, x);
        x = vtac_zoo_add(z, x, attend(z, layer_norm(z, x), &a));
        x = layer_norm(z, half_step(z, along_time(z, x)));
    }
    return x;
}

/* ---- convolutions and attention in turn (MobileViT): each pixel of a patch attends to those at its place */

enum { SPOT = 2, SPOTS = SPOT * SPOT };

static vtac_zoo_value to_spots(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t apart[] = {0, 2, 1, 3}, last[] = {0, 3, 2, 1};
    const int64_t c = x.dim[1], down = x.dim[2] / SPOT, across = x.dim[3] / SPOT;
    const int64_t rows[] = {c * down, SPOT, across, SPOT}, spots[] = {1, c, down * across, SPOTS};
    const int64_t tokens[] = {SPOTS, down * across, c};
    x = vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 4, rows), apart);
    return vtac_zoo_reshape(z, vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 4, spots), last), 3, tokens);
}

static vtac_zoo_value from_spots(vtac_zoo *z, vtac_zoo_value x, const int64_t *picture)
{
    static const int64_t apart[] = {0, 2, 1, 3}, first[] = {0, 3, 2, 1};
    const int64_t c = x.dim[2], down = picture[2] / SPOT, across = picture[3] / SPOT;
    const int64_t spots[] = {1, SPOTS, down * across, c}, rows[] = {c * down, across, SPOT, SPOT};
    const int64_t whole[] = {1, c, picture[2], picture[3]};
    x = vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 4, spots), first);
    return vtac_zoo_reshape(z, vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 4, rows), apart), 4, whole);
}

static vtac_zoo_value silu_conv(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t kernel,
                                int64_t stride, int64_t group)
{
    return vtac_zoo_silu(z, vtac_zoo_conv_norm(z, x, channels, kernel, stride, group));
}

static vtac_zoo_value mobile_block(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t stride)
{
    enum { WIDER = 2 };
    vtac_zoo_value y = silu_conv(z, x, WIDER * x.dim[1], 1, 1, 1);
    y = silu_conv(z, y, y.dim[1], 3, stride, -1);
    y = vtac_zoo_conv_norm(z, y, channels, 1, 1, 1);
    return stride == 1 && x.dim[1] == channels ? vtac_zoo_add(z, x, y) : y;
}

static vtac_zoo_value attend_spots(vtac_zoo *z, vtac_zoo_value x, int64_t width, int64_t layers)
{
    const token_attention a = {.heads = 4, .biased = true};
    const vtac_zoo_conv_shape in = {.channels = width, .kernel = 1, .stride = 1};
    const int64_t channels = x.dim[1];
    vtac_zoo_value y = vtac_zoo_conv(z, silu_conv(z, x, channels, 3, 1, 1), in);
    const vtac_zoo_value picture = y;
    y = to_spots(z, y);
    for (int64_t i = 0; i < layers; i++) {
        y = vtac_zoo_add(z, y, attend(z, layer_norm(z, y), &a));
        const vtac_zoo_value wide = vtac_zoo_silu(z, vtac_zoo_linear(z, layer_norm(z, y), 2 * width));
        y = vtac_zoo_add(z, y, vtac_zoo_linear(z, wide, width));
    }
    y = silu_conv(z, from_spots(z, layer_norm(z, y), picture.dim), channels, 1, 1, 1);
    const vtac_zoo_value both[] = {x, y};
    return silu_conv(z, vtac_zoo_concat(z, both, 2), channels, 3, 1, 1);
}

/* MobileViT-XXS for pictures of half its size. */
vtac_zoo_value vtac_zoo_mobilevit(vtac_zoo *z)
{
    static const int64_t shape[] = {1, 3, 128, 128};
    static const struct {
        int64_t channels, width, layers;
    } stages[] = {{48, 64, 2}, {64, 80, 4}, {80, 96, 3}};
    vtac_zoo_value x = silu_conv(z, vtac_zoo_input(z, "input", 4, shape), 16, 3, 2, 1);
    x = mobile_block(z, mobile_block(z, x, 16, 1), 24, 2);
    x = mobile_block(z, mobile_block(z, x, 24, 1), 24, 1);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        x = attend_spots(z, mobile_block(z, x, stages[i].channels, 2), stages[i].width, stages[i].layers);
    }
    x = silu_conv(z, x, 320, 1, 1, 1);
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 1000);
}

/* ---- windows of a picture (Swin): attention inside each, and every other time between those beside each
 * other */

enum { SIDE = 7, WINDOW = SIDE * SIDE, SHIFT = SIDE / 2 };

/* [1, rows, columns, channels] with `first` rows or columns taken to the end. */
static vtac_zoo_value roll_axis(vtac_zoo *z, vtac_zoo_value x, int64_t axis, int64_t first)
{
    const int64_t zero = 0;
    const int64_t end = x.dim[axis];
    const vtac_zoo_value ends[] = {vtac_zoo_ints(z, "begin", 1, &zero), vtac_zoo_ints(z, "middle", 1, &first),
                                   vtac_zoo_ints(z, "end", 1, &end), vtac_zoo_ints(z, "axis", 1, &axis)};
    const vtac_zoo_value low[] = {x, ends[0], ends[1], ends[3]};
    const vtac_zoo_value high[] = {x, ends[1], ends[2], ends[3]};
    vtac_zoo_value part = x;
    part.dim[axis] = end - first;
    const vtac_zoo_value behind = vtac_zoo_node(z, "Slice", high, 4, 4, part.dim);
    part.dim[axis] = first;
    const vtac_zoo_value parts[] = {behind, vtac_zoo_node(z, "Slice", low, 4, 4, part.dim)};
    const vtac_zoo_value y = vtac_zoo_node(z, "Concat", parts, 2, 4, x.dim);
    vtac_zoo_attr_int(z, "axis", axis);
    return y;
}

/* [1, rows, columns, channels] as [windows, tokens, channels], and back. */
static vtac_zoo_value to_windows(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t inside[] = {0, 2, 1, 3, 4};
    const int64_t down = x.dim[1] / SIDE;
    const int64_t across = x.dim[2] / SIDE;
    const int64_t apart[] = {down, SIDE, across, SIDE, x.dim[3]};
    const int64_t windows[] = {down * across, WINDOW, x.dim[3]};
    return vtac_zoo_reshape(z, vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 5, apart), inside), 3, windows);
}

static vtac_zoo_value from_windows(vtac_zoo *z, vtac_zoo_value x, const int64_t *picture)
{
    static const int64_t inside[] = {0, 2, 1, 3, 4};
    const int64_t apart[] = {picture[1] / SIDE, picture[2] / SIDE, SIDE, SIDE, picture[3]};
    return vtac_zoo_reshape(z, vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 5, apart), inside), 4, picture);
}

/* The part of the picture that a row or a column of it belongs to, after it was rolled. */
static int64_t part_of(int64_t place, int64_t extent)
{
    return place < extent - SIDE ? 0 : place < extent - SHIFT ? 1 : 2;
}

/* Tokens that came together by rolling do not see each other: 100 is taken off their scores. */
static vtac_zoo_value window_mask(vtac_zoo *z, const int64_t *picture)
{
    const int64_t across = picture[2] / SIDE;
    const int64_t windows = picture[1] / SIDE * across;
    const int64_t dim[] = {windows, 1, WINDOW, WINDOW};
    float *mask = vta_arena_array(&z->arena, (size_t)(windows * WINDOW * WINDOW), sizeof *mask);
    for (int64_t i = 0; mask != NULL && i < windows * WINDOW * WINDOW; i++) {
        const int64_t row = i / (WINDOW * WINDOW) / across * SIDE;
        const int64_t column = i / (WINDOW * WINDOW) % across * SIDE;
        const int64_t a = i / WINDOW % WINDOW;
        const int64_t b = i % WINDOW;
        const bool same = part_of(row + a / SIDE, picture[1]) == part_of(row + b / SIDE, picture[1]) &&
                          part_of(column + a % SIDE, picture[2]) == part_of(column + b % SIDE, picture[2]);
        mask[i] = same ? 0.0F : -100.0F;
    }
    return vtac_zoo_floats(z, "mask", 4, dim, mask);
}

static vtac_zoo_value window_heads(vtac_zoo *z, vtac_zoo_value x, int64_t heads)
{
    static const int64_t by_head[] = {0, 2, 1, 3};
    const int64_t apart[] = {x.dim[0], x.dim[1], heads, x.dim[2] / heads};
    return vtac_zoo_transpose(z, vtac_zoo_reshape(z, vtac_zoo_linear(z, x, x.dim[2]), 4, apart), by_head);
}

/* `picture`: as it lies beside the windows; shifted: with the mask. */
static vtac_zoo_value attend_windows(vtac_zoo *z, vtac_zoo_value x, int64_t heads, const int64_t *picture,
                                     bool shifted)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    static const int64_t back[] = {0, 2, 1, 3};
    const int64_t scores[] = {x.dim[0], heads, WINDOW, WINDOW};
    vtac_zoo_value q = window_heads(z, x, heads);
    q = vtac_zoo_binary(z, "Mul", q, vtac_zoo_number(z, "scale", 1.0F / sqrtf((float)q.dim[3])));
    const vtac_zoo_value k = window_heads(z, x, heads);
    const vtac_zoo_value v = window_heads(z, x, heads);
    const vtac_zoo_value qk[] = {q, vtac_zoo_transpose(z, k, turned)};
    vtac_zoo_value s = vtac_zoo_node(z, "MatMul", qk, 2, 4, scores);
    const int64_t bias[] = {1, heads, WINDOW, WINDOW};
    s = vtac_zoo_add(z, s, vtac_zoo_weight(z, "place", 4, bias, 0.0F, 0.3F));
    s = shifted ? vtac_zoo_add(z, s, window_mask(z, picture)) : s;
    const vtac_zoo_value sv[] = {vtac_zoo_unary(z, "Softmax", s), v};
    const vtac_zoo_value mixed = vtac_zoo_transpose(z, vtac_zoo_node(z, "MatMul", sv, 2, 4, v.dim), back);
    return vtac_zoo_linear(z, vtac_zoo_reshape(z, mixed, 3, x.dim), x.dim[2]);
}

static vtac_zoo_value swin_block(vtac_zoo *z, vtac_zoo_value x, int64_t heads, bool shifted)
{
    vtac_zoo_value y = layer_norm(z, x);
    y = shifted ? roll_axis(z, roll_axis(z, y, 1, SHIFT), 2, SHIFT) : y;
    y = from_windows(z, attend_windows(z, to_windows(z, y), heads, x.dim, shifted), x.dim);
    y = shifted ? roll_axis(z, roll_axis(z, y, 1, x.dim[1] - SHIFT), 2, x.dim[2] - SHIFT) : y;
    x = vtac_zoo_add(z, x, y);
    const int64_t width = x.dim[3];
    y = vtac_zoo_gelu(z, vtac_zoo_linear(z, layer_norm(z, x), 4 * width));
    return vtac_zoo_add(z, x, vtac_zoo_linear(z, y, width));
}

/* Four neighbours become one of twice the channels. */
static vtac_zoo_value merge_patches(vtac_zoo *z, vtac_zoo_value x)
{
    static const int64_t pairs_inside[] = {0, 2, 1, 3, 4};
    const int64_t apart[] = {x.dim[1] / 2, 2, x.dim[2] / 2, 2, x.dim[3]};
    const int64_t merged[] = {1, x.dim[1] / 2, x.dim[2] / 2, 4 * x.dim[3]};
    vtac_zoo_value y = vtac_zoo_transpose(z, vtac_zoo_reshape(z, x, 5, apart), pairs_inside);
    y = layer_norm(z, vtac_zoo_reshape(z, y, 4, merged));
    return vtac_zoo_project(z, y, 2 * x.dim[3]);
}

vtac_zoo_value vtac_zoo_swin(vtac_zoo *z)
{
    enum { PATCH = 4, CHANNELS = 48, STAGES = 2, CLASSES = 100 };
    static const int64_t shape[] = {1, 3, 112, 112};
    static const int64_t channels_last[] = {0, 2, 3, 1};
    const vtac_zoo_conv_shape patches = {
        .channels = CHANNELS, .kernel = PATCH, .stride = PATCH, .bias = true};
    vtac_zoo_value x = vtac_zoo_conv(z, vtac_zoo_input(z, "input", 4, shape), patches);
    x = layer_norm(z, vtac_zoo_transpose(z, x, channels_last));
    for (int64_t stage = 0; stage < STAGES; stage++) {
        x = stage == 0 ? x : merge_patches(z, x);
        x = swin_block(z, x, 3 << stage, false);
        x = swin_block(z, x, 3 << stage, true);
    }
    static const int64_t channels_first[] = {0, 3, 1, 2};
    x = vtac_zoo_transpose(z, layer_norm(z, x), channels_first);
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), CLASSES);
}
