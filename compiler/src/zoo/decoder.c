/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder of texts with a cache, in the form that Hugging Face exports: tokens by their numbers, keys and
 * values of earlier tokens as inputs, with those of the new tokens behind them as outputs. The number of new
 * tokens and the length of the past are open.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nets.h"

typedef struct decoder {
    int64_t layers, width, heads, cached, words; /* cached: heads of keys and values */
    vtac_zoo_value cosine, sine;                 /* [1, 1, new, size of a head] */
    vtac_zoo_value hidden;                       /* which keys a token does not see: [1, 1, new, all] */
    vtac_zoo_value present[2 * VTAC_ZOO_MAX_LAYERS];
    uint32_t present_count;
} decoder;

/* ---- what all layers share */

static vtac_zoo_value reshape_to(vtac_zoo *z, vtac_zoo_value x, const int64_t *shape, uint32_t rank,
                                 const int64_t *dim)
{
    const vtac_zoo_value inputs[] = {x, vtac_zoo_ints(z, "shape", rank, shape)};
    return vtac_zoo_node(z, "Reshape", inputs, 2, rank, dim);
}

static vtac_zoo_value cast_to(vtac_zoo *z, vtac_zoo_value x, int64_t type)
{
    const vtac_zoo_value y = vtac_zoo_node(z, "Cast", &x, 1, x.rank, x.dim);
    vtac_zoo_attr_int(z, "to", type);
    return y;
}

/* Angles by which the pairs of a head's columns are turned, as cosines and sines. */
static void make_waves(vtac_zoo *z, decoder *d, vtac_zoo_value places)
{
    const int64_t size = d->width / d->heads;
    const int64_t column[] = {1, -1, 1};
    const int64_t rows[] = {1, VTAC_ZOO_NEW, 1};
    const int64_t pairs[] = {1, 1, size / 2};
    const int64_t angles[] = {1, VTAC_ZOO_NEW, size / 2};
    const int64_t all[] = {1, 1, VTAC_ZOO_NEW, size};
    const int64_t spread[] = {1, 1, -1, size};
    const int64_t whole[] = {1, VTAC_ZOO_NEW, size};
    float *steps = vta_arena_array(&z->arena, (size_t)size / 2 + 1, sizeof *steps);
    for (int64_t i = 0; steps != NULL && i < size / 2; i++) {
        steps[i] = (float)pow(10000.0, -2.0 * (double)i / (double)size);
    }
    const vtac_zoo_value row = cast_to(z, reshape_to(z, places, column, 3, rows), VTAC_ZOO_FLOAT);
    const vtac_zoo_value factors[] = {row, vtac_zoo_floats(z, "steps", 3, pairs, steps)};
    const vtac_zoo_value half = vtac_zoo_node(z, "Mul", factors, 2, 3, angles);
    const vtac_zoo_value both[] = {half, half};
    vtac_zoo_value angle = vtac_zoo_node(z, "Concat", both, 2, 3, whole);
    vtac_zoo_attr_int(z, "axis", -1);
    angle = reshape_to(z, angle, spread, 4, all);
    d->cosine = vtac_zoo_unary(z, "Cos", angle);
    d->sine = vtac_zoo_unary(z, "Sin", angle);
}

/* A token does not see those behind it, nor those that attention_mask leaves out. */
static void make_mask(vtac_zoo *z, decoder *d, vtac_zoo_value mask, vtac_zoo_value places)
{
    const int64_t none[] = {0};
    const int64_t line[] = {VTAC_ZOO_ALL};
    const int64_t across[] = {1, 1, 1, -1};
    const int64_t keys[] = {1, 1, 1, VTAC_ZOO_ALL};
    const int64_t down[] = {1, 1, -1, 1};
    const int64_t rows[] = {1, 1, VTAC_ZOO_NEW, 1};
    const int64_t square[] = {1, 1, VTAC_ZOO_NEW, VTAC_ZOO_ALL};
    const int64_t two[] = {2};
    const vtac_zoo_value shape = vtac_zoo_node(z, "Shape", &mask, 1, 1, two);
    const vtac_zoo_value index = vtac_zoo_whole(z, "index", 1);
    const vtac_zoo_value pick[] = {shape, index};
    const vtac_zoo_value total = vtac_zoo_node(z, "Gather", pick, 2, 0, none);
    const vtac_zoo_value range[] = {vtac_zoo_whole(z, "zero", 0), total, vtac_zoo_whole(z, "one", 1)};
    const vtac_zoo_value all = reshape_to(z, vtac_zoo_node(z, "Range", range, 3, 1, line), across, 4, keys);
    const vtac_zoo_value compared[] = {all, reshape_to(z, places, down, 4, rows)};
    const vtac_zoo_value later = vtac_zoo_node(z, "Greater", compared, 2, 4, square);
    const vtac_zoo_value given = reshape_to(z, cast_to(z, mask, VTAC_ZOO_BOOL), across, 4, keys);
    const vtac_zoo_value parts[] = {later, vtac_zoo_unary(z, "Not", given)};
    d->hidden = vtac_zoo_node(z, "Or", parts, 2, 4, square);
}

/* ---- a layer */

/* [1, new, heads * size] as [1, heads, new, size] */
static vtac_zoo_value to_heads(vtac_zoo *z, vtac_zoo_value x, int64_t heads)
{
    static const int64_t by_head[] = {0, 2, 1, 3};
    const int64_t apart[] = {0, 0, heads, x.dim[2] / heads};
    const int64_t dim[] = {1, VTAC_ZOO_NEW, heads, x.dim[2] / heads};
    return vtac_zoo_transpose(z, reshape_to(z, x, apart, 4, dim), by_head);
}

static vtac_zoo_value rotate_heads(vtac_zoo *z, const decoder *d, vtac_zoo_value x)
{
    const int64_t half = x.dim[3] / 2;
    const vtac_zoo_value first = vtac_zoo_slice_last(z, x, 0, half);
    const vtac_zoo_value parts[] = {vtac_zoo_unary(z, "Neg", vtac_zoo_slice_last(z, x, half, x.dim[3])),
                                    first};
    const vtac_zoo_value turned = vtac_zoo_node(z, "Concat", parts, 2, 4, x.dim);
    vtac_zoo_attr_int(z, "axis", -1);
    return vtac_zoo_add(z, vtac_zoo_binary(z, "Mul", x, d->cosine),
                        vtac_zoo_binary(z, "Mul", turned, d->sine));
}

/* The past of a layer's keys or values with the new ones behind it, which is an output. */
static vtac_zoo_value append_past(vtac_zoo *z, decoder *d, int64_t layer, const char *what, vtac_zoo_value x)
{
    char name[64];
    const int64_t past[] = {1, d->cached, VTAC_ZOO_PAST, x.dim[3]};
    const int64_t all[] = {1, d->cached, VTAC_ZOO_ALL, x.dim[3]};
    (void)snprintf(name, sizeof name, "past_key_values.%d.%s", (int)layer, what);
    const vtac_zoo_value parts[] = {vtac_zoo_input_of(z, name, VTAC_ZOO_FLOAT, 4, past), x};
    vtac_zoo_value y = vtac_zoo_node(z, "Concat", parts, 2, 4, all);
    vtac_zoo_attr_int(z, "axis", 2);
    (void)snprintf(name, sizeof name, "present.%d.%s", (int)layer, what);
    vtac_zoo_rename(z, &y, name);
    d->present[d->present_count++] = y;
    return y;
}

/* Heads of keys and values that several heads of queries share, once for each of them. */
static vtac_zoo_value repeat_heads(vtac_zoo *z, const decoder *d, vtac_zoo_value x)
{
    const int64_t times = d->heads / d->cached;
    const int64_t axis = 2;
    const int64_t shape[] = {1, 1, times, 1, 1};
    const int64_t apart[] = {1, d->cached, 1, VTAC_ZOO_ALL, x.dim[3]};
    const int64_t wide[] = {1, d->cached, times, VTAC_ZOO_ALL, x.dim[3]};
    const int64_t joined[] = {1, d->heads, -1, x.dim[3]};
    const int64_t dim[] = {1, d->heads, VTAC_ZOO_ALL, x.dim[3]};
    if (times == 1) {
        return x;
    }
    const vtac_zoo_value unsqueeze[] = {x, vtac_zoo_ints(z, "axis", 1, &axis)};
    const vtac_zoo_value expand[] = {vtac_zoo_node(z, "Unsqueeze", unsqueeze, 2, 5, apart),
                                     vtac_zoo_ints(z, "shape", 5, shape)};
    return reshape_to(z, vtac_zoo_node(z, "Expand", expand, 2, 5, wide), joined, 4, dim);
}

static vtac_zoo_value attend(vtac_zoo *z, decoder *d, int64_t layer, vtac_zoo_value x)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    static const int64_t back[] = {0, 2, 1, 3};
    const int64_t narrow = d->width / d->heads * d->cached;
    const int64_t flat[] = {0, 0, d->width};
    const int64_t scores[] = {1, d->heads, VTAC_ZOO_NEW, VTAC_ZOO_ALL};
    const vtac_zoo_value q = rotate_heads(z, d, to_heads(z, vtac_zoo_project(z, x, d->width), d->heads));
    const vtac_zoo_value k = rotate_heads(z, d, to_heads(z, vtac_zoo_project(z, x, narrow), d->cached));
    const vtac_zoo_value v = to_heads(z, vtac_zoo_project(z, x, narrow), d->cached);
    const vtac_zoo_value keys = repeat_heads(z, d, append_past(z, d, layer, "key", k));
    const vtac_zoo_value values = repeat_heads(z, d, append_past(z, d, layer, "value", v));
    const vtac_zoo_value qk[] = {q, vtac_zoo_transpose(z, keys, turned)};
    vtac_zoo_value s = vtac_zoo_node(z, "MatMul", qk, 2, 4, scores);
    s = vtac_zoo_binary(z, "Mul", s, vtac_zoo_number(z, "scale", 1.0F / sqrtf((float)q.dim[3])));
    const vtac_zoo_value choice[] = {d->hidden, vtac_zoo_number(z, "far", VTAC_ZOO_FAR), s};
    s = vtac_zoo_unary(z, "Softmax", vtac_zoo_node(z, "Where", choice, 3, 4, scores));
    const vtac_zoo_value sv[] = {s, values};
    const vtac_zoo_value mixed = vtac_zoo_transpose(z, vtac_zoo_node(z, "MatMul", sv, 2, 4, q.dim), back);
    return vtac_zoo_project(z, reshape_to(z, mixed, flat, 3, x.dim), d->width);
}

static vtac_zoo_value feed_forward(vtac_zoo *z, vtac_zoo_value x)
{
    enum { MULTIPLE = 32 };
    const int64_t width = x.dim[2];
    const int64_t wide = (8 * width + 3 * MULTIPLE - 1) / (3 * MULTIPLE) * MULTIPLE;
    const vtac_zoo_value gate = vtac_zoo_silu(z, vtac_zoo_project(z, x, wide));
    return vtac_zoo_project(z, vtac_zoo_binary(z, "Mul", gate, vtac_zoo_project(z, x, wide)), width);
}

vtac_zoo_value vtac_zoo_cached_llama(vtac_zoo *z)
{
    enum { LAYERS = 2, WIDTH = 128, HEADS = 4, WORDS = 512 };
    decoder d = {.layers = vtac_zoo_chosen(z->sizes.layers, LAYERS),
                 .width = vtac_zoo_chosen(z->sizes.width, WIDTH),
                 .heads = vtac_zoo_chosen(z->sizes.heads, HEADS),
                 .words = vtac_zoo_chosen(z->sizes.words, WORDS)};
    d.cached = vtac_zoo_chosen(z->sizes.cached, d.heads);
    const int64_t row[] = {1, VTAC_ZOO_NEW};
    const int64_t all[] = {1, VTAC_ZOO_ALL};
    const int64_t table[] = {d.words, d.width};
    const int64_t looked_up[] = {1, VTAC_ZOO_NEW, d.width};
    const vtac_zoo_value ids = vtac_zoo_input_of(z, "input_ids", VTAC_ZOO_LONG, 2, row);
    const vtac_zoo_value mask = vtac_zoo_input_of(z, "attention_mask", VTAC_ZOO_LONG, 2, all);
    const vtac_zoo_value places = vtac_zoo_input_of(z, "position_ids", VTAC_ZOO_LONG, 2, row);
    const vtac_zoo_value embedding[] = {vtac_zoo_weight(z, "embedding", 2, table, 0.0F, 1.0F), ids};
    make_waves(z, &d, places);
    make_mask(z, &d, mask, places);
    vtac_zoo_value x = vtac_zoo_node(z, "Gather", embedding, 2, 3, looked_up);
    for (int64_t i = 0; i < d.layers; i++) {
        x = vtac_zoo_add(z, x, attend(z, &d, i, vtac_zoo_rms_norm(z, x)));
        x = vtac_zoo_add(z, x, feed_forward(z, vtac_zoo_rms_norm(z, x)));
    }
    vtac_zoo_value logits = vtac_zoo_project(z, vtac_zoo_rms_norm(z, x), d.words);
    vtac_zoo_rename(z, &logits, "logits");
    vtac_zoo_output(z, logits);
    for (uint32_t i = 0; i + 1 < d.present_count; i++) {
        vtac_zoo_output(z, d.present[i]);
    }
    return d.present[d.present_count - 1];
}
