/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention with a cache of fixed size: keys and values of earlier tokens come from the host, those of the
 * new tokens from the accelerator. The products read both where they are:
 *
 *     softmax(q · scatter(past, new, position)ᵀ, mask) · scatter(…)
 *         ->  softmax(q · [past, new]ᵀ, mask') · [past, new]
 *
 * The columns of the new tokens follow those of the cache, whose columns at the place of the new tokens are
 * left out: what was there before does not count. Rows of a softmax are sums of integers, so that their order
 * changes nothing. The join [past, new] is no node that runs: `use_cache` of attention.c gives its two parts
 * to the products. The host writes the new rows into the cache, beside all that.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "partition.h"
#include "vta/fail.h"
#include "vta/number.h"
#include "vtac/pass.h"
#include "vtac/states.h"

enum { RANK = 4, HEADS = 1, TOKENS = 2, COLUMNS = 3, MASK = 5, MAX_INPUTS = 8 };

/* A factor of a product: the rows of all tokens, of the cache and of the new ones. */
typedef struct cached_rows {
    vtac_value_id past, new, position;
    int64_t heads, tokens, count, columns; /* count: of new tokens */
    int64_t readers;                       /* heads of queries that share a head of these */
} cached_rows;

/* Scores, softmax and the product with the values. */
typedef struct cached_attention {
    vtac_node scores, softmax, product;
    cached_rows keys, values;
} cached_attention;

/* Masks with the columns of the new tokens, by the mask and the position that they come from. */
typedef struct moved_mask {
    vtac_value_id mask, position, moved;
    int64_t count;
} moved_mask;

typedef struct caches {
    vtac_graph *graph;
    const vta_config *config;
    vta_arena *arena;
    moved_mask *masks;
    uint32_t mask_count;
    vta_state *states; /* of the model, owned */
    uint32_t state_count;
    bool any;
    vta_diag *diag;
} caches;

/* ---- what a factor is made of */

static const vtac_type *type_of(const caches *c, vtac_value_id value)
{
    return &c->graph->values[value].type;
}

static bool is_scatter(const caches *c, const vtac_node *node)
{
    const vtac_type *cache = node != NULL && node->op == VTAC_OP_TENSOR_SCATTER
                                 ? type_of(c, node->inputs[VTAC_TENSOR_SCATTER_CACHE])
                                 : NULL;
    const int64_t axis = cache == NULL ? 0 : vtac_attr_int(node, "axis", -2);
    return cache != NULL && cache->rank == RANK && cache->dim[0] == 1 && (axis == TOKENS || axis == -2) &&
           vtac_in_type(c->graph, node, VTAC_TENSOR_SCATTER_INDICES) != NULL &&
           strcmp(vtac_attr_string(node, "mode", "linear"), "linear") == 0 &&
           vtac_type_elements(vtac_in_type(c->graph, node, VTAC_TENSOR_SCATTER_INDICES)) == 1;
}

/* The scatter at the beginning of a chain of Reshapes, Transposes and one Expand; *expand: that one's output,
 * or 0. */
static const vtac_node *scatter_behind(const caches *c, vtac_value_id value, vtac_value_id *expand)
{
    const vtac_node *node = vtac_producer_of(c->graph, value);
    *expand = 0;
    while (node != NULL && (vtac_is_reshaping(node) || (node->op == VTAC_OP_EXPAND && *expand == 0))) {
        *expand = node->op == VTAC_OP_EXPAND ? node->outputs[0] : *expand;
        node = vtac_producer_of(c->graph, node->inputs[0]);
    }
    return is_scatter(c, node) ? node : NULL;
}

/* True if an Expand repeats each head so many times, and all else is as it was. */
static bool repeats_heads(const caches *c, vtac_value_id expand, vtac_value_id scatter, const cached_rows *r)
{
    const vtac_node *node = vtac_producer_of(c->graph, expand);
    const vtac_type *x = type_of(c, node->inputs[0]), *y = type_of(c, expand);
    const int64_t from[] = {1, r->heads, 1, r->tokens, r->columns};
    const int64_t to[] = {1, r->heads, r->readers, r->tokens, r->columns};
    return x->rank == RANK + 1 && y->rank == RANK + 1 && memcmp(x->dim, from, sizeof from) == 0 &&
           memcmp(y->dim, to, sizeof to) == 0 &&
           vtac_has_order(c->graph, node->inputs[0], scatter,
                          &(vtac_order_want){{vtac_type_elements(x), 1, 1}, {1, 1, 1}, false});
}

/* Reads the second factor of a product, [heads, columns, tokens] with `keys`, or [heads, tokens, columns]. */
static bool read_rows(const caches *c, const vtac_node *product, bool keys, cached_rows *r)
{
    const vtac_type *factor = vtac_in_type(c->graph, product, VTAC_QLINEAR_PAIR_B);
    vtac_value_id expand;
    const vtac_node *scatter = scatter_behind(c, product->inputs[VTAC_QLINEAR_PAIR_B], &expand);
    if (scatter == NULL || factor->rank != RANK || factor->dim[0] != 1) {
        return false;
    }
    const vtac_type *cache = type_of(c, scatter->inputs[VTAC_TENSOR_SCATTER_CACHE]),
                    *new = type_of(c, scatter->inputs[VTAC_TENSOR_SCATTER_UPDATE]);
    *r = (cached_rows){.past = scatter->inputs[VTAC_TENSOR_SCATTER_CACHE],
                       .new = scatter->inputs[VTAC_TENSOR_SCATTER_UPDATE],
                       .position = scatter->inputs[VTAC_TENSOR_SCATTER_INDICES],
                       .heads = cache->dim[HEADS],
                       .tokens = cache->dim[TOKENS],
                       .count = new->dim[TOKENS],
                       .columns = cache->dim[COLUMNS],
                       .readers = factor->dim[HEADS] / cache->dim[HEADS]};
    const int64_t all = r->heads * r->readers, matrix = r->tokens * r->columns;
    const vtac_order_want want =
        keys ? (vtac_order_want){{all, r->columns, r->tokens}, {matrix, 1, r->columns}, false}
             : (vtac_order_want){{all, r->tokens, r->columns}, {matrix, r->columns, 1}, false};
    const vtac_value_id from = expand != 0 ? expand : scatter->outputs[0];
    return factor->dim[HEADS] == all && new->rank == RANK &&new->dim[COLUMNS] == r->columns &&
           factor->dim[keys ? COLUMNS : TOKENS] ==
               r->tokens &&vtac_has_order(c->graph, product->inputs[VTAC_QLINEAR_PAIR_B], from, &want) &&
           (expand == 0 ? r->readers == 1 : repeats_heads(c, expand, scatter->outputs[0], r));
}

/* True if the second factor has one zero point, and that is 0. */
static bool has_no_zero(const caches *c, const vtac_node *product)
{
    const vtac_tensor *zero = vtac_in_constant(c->graph, product, VTAC_QLINEAR_PAIR_B_ZERO);
    const bool moved = vtac_in_type(c->graph, product, VTAC_QLINEAR_PAIR_B)->dtype == VTAC_U8;
    return zero != NULL && vtac_type_elements(&zero->type) == 1 &&
           vtac_tensor_int(zero, 0) == (moved ? 128 : 0);
}

static bool is_product(const caches *c, const vtac_node *node)
{
    return node != NULL && node->op == VTAC_OP_QLINEAR_MATMUL && node->output_count == 1 &&
           vtac_find_attr(node, "rounding") == NULL &&
           vtac_in_constant(c->graph, node, VTAC_QLINEAR_PAIR_B) == NULL;
}

/* The only reader of a value; NULL: there are more, or none. */
static const vtac_node *reader_of(const caches *c, vtac_value_id value)
{
    const vtac_node_id id = vtac_only_user_of(c->graph, value);
    return id != 0 ? &c->graph->nodes[id] : NULL;
}

static bool same_rows(const cached_rows *a, const cached_rows *b)
{
    return a->position == b->position && a->heads == b->heads && a->tokens == b->tokens &&
           a->count == b->count && a->readers == b->readers;
}

/* True if a mask has a number for each place of the cache. */
static bool has_columns(const caches *c, const vtac_node *softmax, int64_t tokens)
{
    const vtac_type *mask = vtac_in_type(c->graph, softmax, MASK);
    return mask != NULL && mask->rank >= 1 && mask->dtype == VTAC_BOOL && mask->dim[mask->rank - 1] == tokens;
}

static bool read_attention(const caches *c, const vtac_node *scores, cached_attention *a)
{
    const vtac_node *softmax = is_product(c, scores) ? reader_of(c, scores->outputs[0]) : NULL;
    const vtac_node *product = softmax != NULL && softmax->op == VTAC_OP_ROW_SOFTMAX &&
                                       softmax->input_count > MASK && softmax->input_count <= MAX_INPUTS
                                   ? reader_of(c, softmax->outputs[0])
                                   : NULL;
    if (!is_product(c, product) || product->inputs[VTAC_QLINEAR_PAIR_A] != softmax->outputs[0] ||
        !read_rows(c, scores, true, &a->keys) || !read_rows(c, product, false, &a->values) ||
        !same_rows(&a->keys, &a->values) || !has_no_zero(c, scores) || !has_no_zero(c, product) ||
        !has_columns(c, softmax, a->keys.tokens)) {
        return false;
    }
    a->scores = *scores;
    a->softmax = *softmax;
    a->product = *product;
    return a->keys.tokens % vtac_vta_block(c->config) == 0 &&
           !vtac_is_made_by_layer(c->graph, a->keys.past) && !vtac_is_made_by_layer(c->graph, a->values.past);
}

/* ---- masks */

static vta_status add_count(const vtac_node_builder *b, int64_t count, vtac_value_id *out)
{
    int64_t *numbers = vta_arena_array(b->arena, (size_t)count, sizeof *numbers);
    if (numbers == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = i;
    }
    return vtac_b_list(b, numbers, (uint32_t)count, out);
}

/* A truth for each of `numbers`: it is below `low`, or above `high`. */
static vta_status is_outside(const vtac_node_builder *b, vtac_value_id numbers, vtac_value_id low,
                             vtac_value_id high, vtac_value_id *out)
{
    vtac_value_id above = numbers;
    *out = numbers;
    VTA_TRY(vtac_b_apply(b, VTAC_OP_LESS, low, NULL, out));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_GREATER, high, NULL, &above));
    return vtac_b_apply(b, VTAC_OP_OR, above, NULL, out);
}

/* Columns of the cache: those at the place of the new tokens are left out. */
static vta_status hide_places(const vtac_node_builder *b, const cached_rows *r, vtac_value_id first,
                              vtac_value_id last, vtac_value_id *mask)
{
    vtac_value_id places = 0;
    VTA_TRY(add_count(b, r->tokens, &places));
    VTA_TRY(is_outside(b, places, first, last, &places));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_NOT, 0, NULL, &places));
    return vtac_b_apply(b, VTAC_OP_OR, places, NULL, mask);
}

/* Columns of the new tokens: those of their places in the cache; a token beyond the cache is not seen. */
static vta_status take_places(const vtac_node_builder *b, const cached_rows *r, vtac_value_id first,
                              vtac_value_id *mask)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = -1};
    vtac_value_id places = 0, zero, last, outside;
    VTA_TRY(add_count(b, r->count, &places));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_ADD, first, NULL, &places));
    VTA_TRY(vtac_b_list(b, (int64_t[]){0}, 1, &zero));
    VTA_TRY(vtac_b_list(b, (int64_t[]){r->tokens - 1}, 1, &last));
    VTA_TRY(is_outside(b, places, zero, last, &outside));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_MAX, zero, NULL, &places));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_MIN, last, NULL, &places));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_GATHER, places, &axis, mask));
    return vtac_b_apply(b, VTAC_OP_OR, outside, NULL, mask);
}

static vta_status move_mask(caches *c, const vtac_node_builder *b, const cached_rows *r, vtac_value_id *mask)
{
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = -1};
    vtac_value_id first = r->position, last, more, parts[2] = {*mask, *mask};
    for (uint32_t i = 0; i < c->mask_count; i++) {
        const moved_mask *m = &c->masks[i];
        if (m->mask == *mask && m->position == r->position && m->count == r->count) {
            *mask = m->moved;
            return VTA_OK;
        }
    }
    VTA_TRY(vtac_b_cast(b, VTAC_I64, &first));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1}, 1, &first));
    VTA_TRY(vtac_b_list(b, (int64_t[]){r->count - 1}, 1, &more));
    last = first;
    VTA_TRY(vtac_b_apply(b, VTAC_OP_ADD, more, NULL, &last));
    VTA_TRY(hide_places(b, r, first, last, &parts[0]));
    VTA_TRY(take_places(b, r, first, &parts[1]));
    const vtac_value_id old = *mask;
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, parts, 2, &axis, 1, mask));
    c->masks[c->mask_count++] = (moved_mask){old, r->position, *mask, r->count};
    return VTA_OK;
}

/* ---- the images of a factor */

vtac_cache_factor vtac_cache_of(const vtac_graph *graph, vtac_value_id factor)
{
    const vtac_node *node = vtac_producer_of(graph, factor);
    vtac_cache_factor f = {.transposed = true, .readers = 1};
    if (node != NULL && node->op == VTAC_OP_TRANSPOSE) {
        f.transposed = false;
        node = vtac_producer_of(graph, node->inputs[0]);
    }
    while (node != NULL && (node->op == VTAC_OP_RESHAPE || node->op == VTAC_OP_EXPAND)) {
        const vtac_type *to = &graph->values[node->outputs[0]].type;
        f.readers = node->op == VTAC_OP_EXPAND && to->rank == RANK + 1 ? to->dim[2] : f.readers;
        node = vtac_producer_of(graph, node->inputs[0]);
    }
    if (node == NULL || node->op != VTAC_OP_CONCAT || vtac_attr_int(node, VTAC_CACHE_ATTR, 0) == 0) {
        return (vtac_cache_factor){0};
    }
    const vtac_type *past = vtac_in_type(graph, node, 0), *new = vtac_in_type(graph, node, 1);
    f.past = node->inputs[0];
    f.heads = past->dim[HEADS];
    f.tokens = past->dim[TOKENS];
    f.count = new->dim[TOKENS];
    f.columns = past->dim[COLUMNS];
    const vtac_order_want want = {{f.heads, f.count, f.columns}, {f.columns * f.count, 1, f.count}, false};
    f.new = vtac_image_of_order(graph, node->inputs[1], &want, 0);
    return f;
}

bool vtac_is_held(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_value *x = node->op == VTAC_OP_VTA_UNPACK ? &graph->values[node->inputs[0]] : NULL;
    return x != NULL && x->node == 0 && x->constant == NULL;
}

/* The image of which a held cache is made; 0: it is not held. */
static vtac_value_id held_image(const vtac_graph *graph, vtac_value_id past)
{
    while (vtac_is_host_step(graph, graph->values[past].node)) {
        past = graph->nodes[graph->values[past].node].inputs[0];
    }
    const vtac_node *node = vtac_producer_of(graph, past);
    return node != NULL && vtac_is_held(graph, node) ? past : 0;
}

vta_status vtac_cache_image(const vtac_node_builder *b, const vtac_cache_factor *f, vtac_value_id *out)
{
    const vtac_value_id held = held_image(b->graph, f->past);
    if (held != 0) {
        *out = held;
        return VTA_OK;
    }
    const int64_t full = vta_round_up(f->columns, vtac_vta_block(b->config));
    const bool moves = vtac_b_type(b, f->past).dtype == VTAC_U8;
    const int64_t keys[] = {0, 2, 1}, values[] = {1, 0, 2};
    *out = f->past;
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){f->heads, f->tokens, f->columns}, 3, out));
    VTA_TRY(vtac_pair_pad(b, f->tokens, full, moves ? 128 : 0, out));
    VTA_TRY(vtac_b_transpose(b, f->transposed ? values : keys, 3, out));
    return vtac_b_reshape(b,
                          f->transposed ? (int64_t[]){1, f->tokens, f->heads * full}
                                        : (int64_t[]){1, f->heads * full, f->tokens},
                          3, out);
}

/* Turns an image of the factor back into rows: [heads, columns, tokens], or `transposed` [heads, tokens,
 * columns]. */
static vta_status rows_of_image(const vtac_node_builder *b, const vtac_cache_factor *f, int64_t tokens,
                                vtac_value_id *x)
{
    const vtac_type image = vtac_b_type(b, *x);
    if (!f->transposed) {
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){f->heads, image.dim[1] / f->heads, image.dim[2]}, 3, x));
        return vtac_cut_matrices(b, f->columns, tokens, x);
    }
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){image.dim[1], f->heads, image.dim[2] / f->heads}, 3, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){1, 0, 2}, 3, x));
    return vtac_cut_matrices(b, tokens, f->columns, x);
}

vta_status vtac_factor_of_cache(const vtac_node_builder *b, const vtac_node *product, const vtac_type *as,
                                vtac_value_id *x)
{
    enum { VALUES = 2 };
    const vtac_type past = vtac_b_type(b, product->inputs[VTAC_PRODUCT_IMAGE]);
    vtac_cache_factor f = {.transposed = vtac_attr_int(product, "image", 0) == VALUES,
                           .readers = vtac_attr_int(product, "readers", 1)};
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = f.transposed ? 1 : 2};
    vtac_value_id parts[] = {product->inputs[VTAC_PRODUCT_IMAGE], product->inputs[VTAC_PRODUCT_MORE]};
    const int64_t rows = as->dim[as->rank - 2], columns = as->dim[as->rank - 1];
    f.heads = vtac_attr_int(product, "group", 1) / f.readers;
    f.columns = f.transposed ? columns : rows;
    f.tokens = past.dim[f.transposed ? 1 : 2];
    f.count = (f.transposed ? rows : columns) - f.tokens;
    VTA_TRY(rows_of_image(b, &f, f.tokens, &parts[0]));
    VTA_TRY(rows_of_image(b, &f, f.count, &parts[1]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, parts, 2, &axis, 1, x));
    if (f.readers > 1) {
        vtac_value_id shape;
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){f.heads, 1, rows, columns}, RANK, x));
        VTA_TRY(vtac_b_list(b, (int64_t[]){f.heads, f.readers, rows, columns}, RANK, &shape));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, x));
    }
    return vtac_b_reshape(b, as->dim, as->rank, x);
}

/* ---- caches in device memory */

/* True if values are the two ends of one of the model's states. */
static bool is_state(const caches *c, vtac_value_id in, vtac_value_id out)
{
    bool found = false;
    for (uint32_t i = 0; i < c->state_count && !found; i++) {
        found = c->graph->inputs[c->states[i].input] == in && c->graph->outputs[c->states[i].output] == out;
    }
    return found;
}

/* The only node that reads a value; NULL: there are more, or none. */
static const vtac_node *living_user_of(const caches *c, vtac_value_id value)
{
    const vtac_value *v = &c->graph->values[value];
    const vtac_node *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->user_count; i++) {
        const vtac_node *node = &c->graph->nodes[v->users[i]];
        found = node->dead ? found : node;
        count += !node->dead;
    }
    return count == 1 ? found : NULL;
}

/* The scatter whose cache is a state that nothing else reads; NULL: there is none. */
static const vtac_node *holder_of(const caches *c, const cached_rows *r)
{
    const vtac_node *node = living_user_of(c, r->past);
    const bool alone = node != NULL && is_scatter(c, node) && is_state(c, r->past, node->outputs[0]) &&
                       living_user_of(c, node->outputs[0]) != NULL;
    return alone && c->graph->values[r->past].type.dtype == VTAC_I8 ? node : NULL;
}

/* The rows of a held cache: [1, heads, tokens, columns]. */
static vta_status unpack_cache(const vtac_node_builder *b, const cached_rows *r, const vtac_type *image,
                               bool transposed, vtac_value_id *x)
{
    const int64_t shape[] = {1, image->dim[1], 1, image->dim[2]}, lanes[] = {1, vtac_vta_block(b->config)};
    const vtac_attr attrs[] = {{.name = "dims", .kind = VTAC_ATTR_INTS, .count = 3, .ints = image->dim},
                               {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(VTAC_I8)},
                               {.name = "shape", .kind = VTAC_ATTR_INTS, .count = RANK, .ints = shape},
                               {.name = "block", .kind = VTAC_ATTR_INTS, .count = 2, .ints = lanes},
                               {.name = "stored", .kind = VTAC_ATTR_INTS, .count = 3, .ints = shape + 1}};
    const vtac_cache_factor f = {.heads = r->heads, .columns = r->columns, .transposed = transposed};
    VTA_TRY(vtac_b_add(b, VTAC_OP_VTA_UNPACK, x, 1, attrs, 5, x));
    VTA_TRY(rows_of_image(b, &f, r->tokens, x));
    VTA_TRY(transposed ? VTA_OK : vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    return vtac_b_reshape(b, (int64_t[]){1, r->heads, r->tokens, r->columns}, RANK, x);
}

/* Makes a cache that is a state what it is in device memory, if nothing but attention reads it. */
static vta_status hold_cache(caches *c, const vtac_node_builder *b, cached_rows *r, bool transposed)
{
    const vtac_node *found = holder_of(c, r);
    const int64_t lanes = vtac_vta_block(c->config), full = vta_round_up(r->columns, lanes);
    const int64_t wide = r->heads * full;
    const vtac_attr attrs[] = {{.name = "tokens", .kind = VTAC_ATTR_INT, .i = r->tokens},
                               {.name = "columns", .kind = VTAC_ATTR_INT, .i = full},
                               {.name = "lanes", .kind = VTAC_ATTR_INT, .i = lanes},
                               {.name = "transposed", .kind = VTAC_ATTR_INT, .i = transposed}};
    if (found == NULL) {
        return VTA_OK;
    }
    const vtac_node scatter = *found;
    const vtac_type image = {.dtype = VTAC_I8,
                             .rank = 3,
                             .dim = {1, transposed ? r->tokens : wide, transposed ? wide : r->tokens}};
    c->graph->values[r->past].type.dim[COLUMNS] = full;
    vtac_value_id out = r->past;
    VTA_TRY(vtac_b_add(b, VTAC_OP_VTA_APPEND, scatter.inputs, 3, attrs, 4, &out));
    vtac_swap_names(c->graph, scatter.outputs[0], out);
    vtac_replace_uses(c->graph, scatter.outputs[0], out);
    return unpack_cache(b, r, &image, transposed, &r->past);
}

/* ---- the graph */

/* The rows of all tokens, [1, heads, columns, tokens] with `keys`. */
static vta_status join_rows(const vtac_node_builder *b, const cached_rows *r, bool keys, vtac_value_id *out)
{
    const vtac_attr attrs[] = {{.name = "axis", .kind = VTAC_ATTR_INT, .i = TOKENS},
                               {.name = VTAC_CACHE_ATTR, .kind = VTAC_ATTR_INT, .i = 1}};
    const int64_t all = r->tokens + r->count;
    vtac_value_id shape;
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, (vtac_value_id[]){r->past, r->new}, 2, attrs, 2, out));
    if (r->readers > 1) {
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, r->heads, 1, all, r->columns}, RANK + 1, out));
        VTA_TRY(vtac_b_list(b, (int64_t[]){1, r->heads, r->readers, all, r->columns}, RANK + 1, &shape));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, out));
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, r->heads * r->readers, all, r->columns}, RANK, out));
    }
    return keys ? vtac_b_transpose(b, (int64_t[]){0, 1, 3, 2}, RANK, out) : VTA_OK;
}

/* The node again with other inputs. */
static vta_status again(const caches *c, const vtac_node *node, const vtac_value_id *inputs,
                        vtac_value_id *out)
{
    const vtac_node_builder b = {c->graph, c->arena, c->config, *node, c->diag};
    return vtac_b_layer(&b, node->op, inputs, node->input_count, node->attrs, node->attr_count, out);
}

/* The second factors of both products, with all tokens. */
static vta_status join_both(caches *c, const vtac_node_builder *b, cached_attention *a, vtac_value_id *keys,
                            vtac_value_id *values)
{
    VTA_TRY(hold_cache(c, b, &a->keys, false));
    VTA_TRY(hold_cache(c, b, &a->values, true));
    VTA_TRY(join_rows(b, &a->keys, true, keys));
    return join_rows(b, &a->values, false, values);
}

static vta_status replace_attention(caches *c, cached_attention *a)
{
    const vtac_node_builder b = {c->graph, c->arena, c->config, a->scores, c->diag};
    const vtac_node *nodes[] = {&a->scores, &a->softmax, &a->product};
    vtac_value_id inputs[3][MAX_INPUTS + 1], out;
    for (int i = 0; i < 3; i++) {
        memcpy(inputs[i], nodes[i]->inputs, nodes[i]->input_count * sizeof **inputs);
    }
    VTA_TRY(join_both(c, &b, a, &inputs[0][VTAC_QLINEAR_PAIR_B], &inputs[2][VTAC_QLINEAR_PAIR_B]));
    VTA_TRY(move_mask(c, &b, &a->keys, &inputs[1][MASK]));
    VTA_TRY(again(c, &a->scores, inputs[0], &inputs[1][VTAC_ROW_SOFTMAX_X]));
    VTA_TRY(again(c, &a->softmax, inputs[1], &inputs[2][VTAC_QLINEAR_PAIR_A]));
    VTA_TRY(again(c, &a->product, inputs[2], &out));
    vtac_swap_names(c->graph, a->product.outputs[0], out);
    vtac_replace_uses(c->graph, a->product.outputs[0], out);
    c->any = true;
    return VTA_OK;
}

static vta_status visit_nodes(caches *c)
{
    const uint32_t count = c->graph->order_count;
    vtac_node_id *order = vta_arena_array(c->arena, (size_t)count + 1, sizeof *order);
    c->masks = vta_arena_array(c->arena, (size_t)count + 1, sizeof *c->masks);
    if (order == NULL || c->masks == NULL) {
        return vta_no_memory(c->diag);
    }
    memcpy(order, c->graph->order, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        cached_attention a;
        VTA_TRY(read_attention(c, &c->graph->nodes[order[i]], &a) ? replace_attention(c, &a) : VTA_OK);
    }
    return VTA_OK;
}

/* True if a graph has a scatter at all. */
static bool has_scatter(const caches *c)
{
    bool any = false;
    for (uint32_t i = 0; i < c->graph->order_count && !any; i++) {
        any = is_scatter(c, &c->graph->nodes[c->graph->order[i]]);
    }
    return any;
}

vta_status vtac_legalize_caches(vtac_graph *graph, const vta_config *config, bool hold, vta_arena *arena,
                                vta_diag *diag)
{
    caches c = {.graph = graph, .config = config, .arena = arena, .diag = diag};
    vtac_pass_report report;
    if (config->rows == 0 || config->batch != 1 || config->block_in != config->block_out ||
        !has_scatter(&c)) {
        return VTA_OK;
    }
    /* masks and positions of all layers are often the same numbers */
    VTA_TRY(vtac_run_pass(graph, VTAC_PASS_ELIMINATE_COMMON, false, &report, diag));
    VTA_TRY(hold && graph->flow == NULL ? vtac_find_states(graph, &c.states, &c.state_count, diag) : VTA_OK);
    const vta_status status = visit_nodes(&c);
    free(c.states);
    VTA_TRY(status);
    if (!c.any) {
        return VTA_OK;
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
