/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of two activations (attention): the rows of the first matrix are the pixels of an image, and the
 * host packs the second as the array's weights.
 *
 *     QLinearMatMul(a [.., m, k], b [.., k, n]), or QGemm
 *         ->  back(Product(transpose(a) [1, g·k, m], pack(b), records))
 *
 * g is the number of pairs of matrices: groups of channels, each with weights of its own. `pack` is a
 * transposition, too, behind a table if b's zero point is not 0 (vtac/vta.h, packed weights). If a's zero
 * point is not 0, the sums of b's columns go into REQUANT's records.
 *
 * Batches of several constant matrices take the same path, and are also packed in each run.
 *
 * A product that stays on the host after all becomes the old node again.
 */
#include <string.h>

#include "cache.h"
#include "partition.h"
#include "vta/fail.h"
#include "vta/number.h"
#include "vta/runtime.h"

enum { MIN_PRODUCTS = 1 << 14, MAX_PLANES = 3, LANE_BYTES = 4 };

/* ---- the operands */

/* Reads a single constant zero point, as of signed integers; false: there is none. */
static bool read_zero(const vtac_node_builder *b, const vtac_node *node, uint32_t i, int32_t *out)
{
    const vtac_tensor *zero = vtac_in_constant(b->graph, node, i);
    const vtac_type *x = vtac_in_type(b->graph, node, i - 2);
    const bool absent = vtac_in_type(b->graph, node, i) == NULL;
    if ((zero == NULL && !absent) || (zero != NULL && vtac_type_elements(&zero->type) != 1) ||
        (x->dtype != VTAC_I8 && x->dtype != VTAC_U8)) {
        return false;
    }
    *out = (int32_t)(absent ? 0 : vtac_tensor_int(zero, 0)) - (x->dtype == VTAC_U8 ? 128 : 0);
    return true;
}

static bool is_one(const vtac_node_builder *b, const vtac_node *node, uint32_t i)
{
    const vtac_tensor *t = vtac_in_constant(b->graph, node, i);
    return t != NULL && vtac_type_elements(&t->type) == 1;
}

static int64_t planes_of(int32_t zero)
{
    return zero == 0 ? 1 : zero == INT8_MIN ? MAX_PLANES : 2; /* 127 + 128 needs three */
}

/* Reads the bias and the layout of b of a QGemm; false: it is not such a product. */
static bool read_gemm(const vtac_node_builder *b, const vtac_node *node, vtac_pair *s)
{
    const vtac_type *bias = vtac_in_type(b->graph, node, 6);
    const vtac_type y = vtac_b_type(b, node->outputs[0]);
    const vtac_tensor *known = vtac_in_constant(b->graph, node, 6);
    const int64_t n = y.dim[y.rank - 1];
    s->transposed = vtac_attr_int(node, "transB", 0) != 0;
    s->bias = bias != NULL ? node->inputs[6] : 0;
    s->out = 7;
    if (vtac_attr_int(node, "transA", 0) != 0 || vtac_attr_float(node, "alpha", 1.0) != 1.0 ||
        vtac_in_type(b->graph, node, 7) == NULL || vtac_in_type(b->graph, node, 8) == NULL) {
        return false;
    }
    for (int64_t i = 0; known != NULL && i < vtac_type_elements(&known->type); i++) {
        const int64_t value =
            vtac_tensor_int(known, i); /* the sum of products takes the other half of the range */
        if (value > INT32_MAX / 2 || value < -(INT32_MAX / 2)) {
            return false;
        }
    }
    return bias == NULL || (known != NULL && bias->dtype == VTAC_I32 &&
                            (vtac_type_elements(bias) == 1 ||
                             (vtac_type_elements(bias) == n && bias->dim[bias->rank - 1] == n)));
}

bool vtac_pair_of(const vtac_node_builder *b, const vtac_node *node, vtac_pair *s)
{
    vtac_pair form = {.out = 6};
    const bool gemm = node->op == VTAC_OP_QGEMM;
    if ((!gemm && node->op != VTAC_OP_QLINEAR_MATMUL) || vtac_find_attr(node, "rounding") != NULL ||
        (gemm && !read_gemm(b, node, &form))) {
        return false;
    }
    const vtac_type x = vtac_b_type(b, node->inputs[0]), w = vtac_b_type(b, node->inputs[3]);
    *s = (vtac_pair){.transposed = form.transposed, .bias = form.bias, .out = form.out};
    if (x.rank < 2 || w.rank < 2 || vtac_type_elements(&x) < 1 || vtac_type_elements(&w) < 1 ||
        !is_one(b, node, 1) || !is_one(b, node, 4) || !is_one(b, node, s->out) ||
        !read_zero(b, node, 2, &s->zero_a) || !read_zero(b, node, 5, &s->zero_b)) {
        return false;
    }
    vtac_pair_sizes(b, &x, &w, s);
    if (b->config->rows != 0) { /* its factors may be images, whose heads have whole blocks */
        s->group_k = vta_round_up(s->k, s->block);
        s->group_n = vta_round_up(s->n, s->block);
    }
    s->planes = planes_of(s->zero_b);
    if (vtac_cache_of(b->graph, node->inputs[3]).past != 0) {
        s->group_m = s->m; /* what stands around attention with a cache are images of one pixel, too */
    }
    return vtac_in_constant(b->graph, node, 3) == NULL ||
           s->g > 1; /* rows.c takes single constant matrices */
}

/* Computes biases from [g, k, n]: - zero · Σ (b - zero of b), and QGemm's own; int32 [g·n, 1], padded. */
static vta_status add_biases(const vtac_node_builder *b, const vtac_pair *s, vtac_value_id *x)
{
    const int32_t move = vtac_b_type(b, *x).dtype == VTAC_U8 ? 128 : 0;
    const int32_t factor = -s->zero_a;
    const int32_t rest = (int32_t)(-s->k * (s->zero_b + move)) * factor;
    vtac_value_id more;
    const vtac_attr keep = {.name = "keepdims", .kind = VTAC_ATTR_INT, .i = 1};
    VTA_TRY(vtac_b_cast(b, VTAC_I32, x));
    VTA_TRY(vtac_b_list(b, (int64_t[]){1}, 1, &more));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_REDUCE_SUM, more, &keep, x));
    VTA_TRY(vtac_b_with(b, VTAC_OP_MUL, factor, x));
    VTA_TRY(vtac_b_with(b, VTAC_OP_ADD, rest, x));
    VTA_TRY(s->bias != 0 ? vtac_b_apply(b, VTAC_OP_ADD, s->bias, NULL, x) : VTA_OK);
    VTA_TRY(vtac_pair_pad(b, 1, s->packed_n, 0, x));
    return vtac_b_reshape(b, (int64_t[]){s->g * s->packed_n, 1}, 2, x);
}

/* Splits int32 [n, 1] into bytes, the lowest first: uint8 [n, 4], moved by 128 as Pack expects of uint8. */
static vta_status as_bytes(const vtac_node_builder *b, vtac_value_id *x)
{
    static const uint32_t shifts[LANE_BYTES] = {0, 8, 16, 24}, low = 255, high = 128;
    const vtac_attr right = {.name = "direction", .kind = VTAC_ATTR_STRING, .s = "RIGHT"};
    vtac_value_id more;
    VTA_TRY(vtac_b_cast(b, VTAC_U32, x));
    VTA_TRY(
        vtac_b_constant(b, (vtac_type){.dtype = VTAC_U32, .rank = 1, .dim = {LANE_BYTES}}, shifts, &more));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_BIT_SHIFT, more, &right, x));
    VTA_TRY(vtac_b_number(b, VTAC_U32, &low, &more));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_BITWISE_AND, more, NULL, x));
    VTA_TRY(vtac_b_number(b, VTAC_U32, &high, &more));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_BITWISE_XOR, more, NULL, x));
    return vtac_b_cast(b, VTAC_U8, x);
}

/* Packs the records of all output blocks. */
static vta_status pack_records(const vtac_node_builder *b, const vtac_pair *s, vtac_fixed scale,
                               vtac_value_id x, vtac_value_id *out)
{
    const int64_t records = s->g * s->packed_n / s->block_out, bytes = s->block_out * LANE_BYTES;
    const uint32_t word = (uint32_t)vta_requant_scale(scale.mult, scale.shift);
    uint8_t *data = vta_arena_array(b->arena, (size_t)(records * bytes), 1);
    vtac_value_id parts[2] = {x};
    const vtac_attr attr = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < records * bytes; i++) {
        data[i] = (uint8_t)((word >> (8 * (i % LANE_BYTES)) & 255U) ^ 128U);
    }
    VTA_TRY(vtac_b_constant(b, (vtac_type){.dtype = VTAC_U8, .rank = 3, .dim = {records, 1, bytes}}, data,
                            &parts[1]));
    VTA_TRY(add_biases(b, s, &parts[0]));
    VTA_TRY(as_bytes(b, &parts[0]));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){records, 1, bytes}, 3, &parts[0]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_CONCAT, parts, 2, &attr, 1, out));
    const int64_t pixels = records * 2 * bytes / s->block;
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){pixels, s->block}, 2, out));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){1, 0}, 2, out));
    return vtac_b_reshape(b, (int64_t[]){1, s->block, pixels}, 3, out);
}

/* ---- the product */

static vta_status add_product(const vtac_node_builder *b, const vtac_pair *s, const vtac_value_id *inputs,
                              uint32_t count, vtac_value_id *out)
{
    const int64_t dims[3] = {1, s->g * s->group_n, s->group_m};
    vtac_attr attrs[VTAC_PRODUCT_ATTRS] = {
        {.name = "dims", .kind = VTAC_ATTR_INTS, .count = 3, .ints = dims},
        {.name = "to",
         .kind = VTAC_ATTR_STRING,
         .s = vtac_dtype_name(vtac_b_type(b, b->like.outputs[0]).dtype)},
        {.name = "group", .kind = VTAC_ATTR_INT, .i = s->g},
        {.name = "planes", .kind = VTAC_ATTR_INT, .i = s->planes},
        {.name = "products", .kind = VTAC_ATTR_INT, .i = s->g * s->m * s->k * s->n},
    };
    uint32_t attr_count = 5;
    if (s->group_n != s->n) { /* what lies beside a group's columns is a sum of zeros */
        attrs[attr_count++] = (vtac_attr){.name = "columns", .kind = VTAC_ATTR_INT, .i = s->n};
    }
    static const char *const kept[] = {"clip_low", "clip_high"};
    for (int i = 0; i < 2; i++) {
        const vtac_attr *attr = vtac_find_attr(&b->like, kept[i]);
        if (attr != NULL) {
            attrs[attr_count++] = *attr;
        }
    }
    return vtac_b_add(b, VTAC_OP_VTA_PRODUCT, inputs, count, attrs, attr_count, out);
}

static bool scale_of(const vtac_node_builder *b, const vtac_pair *s, vtac_fixed *out)
{
    float scale[3];
    const uint32_t at[3] = {1, 4, s->out};
    for (int i = 0; i < 3; i++) {
        scale[i] = (float)vtac_tensor_float(vtac_in_constant(b->graph, &b->like, at[i]), 0);
    }
    return vtac_fixed_of(vtac_scale_product(scale[0], scale[1], scale[2]), out);
}

/* Holds the operands of the old node, and prepares the first one as an image and the second one as matrices.
 */
static vta_status prepare_operands(const vtac_node_builder *b, const vtac_pair *s, vtac_legalized *p,
                                   vtac_value_id *first, vtac_value_id *second)
{
    VTA_TRY(vtac_b_hold(b, p->was.inputs[0], &p->holders[0], first));
    VTA_TRY(vtac_b_hold(b, p->was.inputs[3], &p->holders[1], second));
    VTA_TRY(vtac_pair_transpose(b, s, first));
    VTA_TRY(s->transposed ? vtac_b_transpose(b, (int64_t[]){1, 0}, 2, second) : VTA_OK);
    return vtac_pair_matrices(b, s, s->k, s->n, second);
}

static vta_status replace_product(const vtac_node_builder *b, const vtac_pair *s, vtac_fixed scale,
                                  vtac_legalized *p)
{
    const vtac_node *was = &p->was;
    vtac_value_id inputs[8] = {
        0, was->inputs[1], was->inputs[2], 0, was->inputs[4], was->inputs[s->out], was->inputs[s->out + 1]};
    const bool records = s->zero_a != 0 || s->bias != 0;
    const vtac_type y = vtac_b_type(b, was->outputs[0]);
    vtac_value_id second;
    VTA_TRY(prepare_operands(b, s, p, &inputs[0], &second));
    VTA_TRY(vtac_pair_pack(b, s, second, &inputs[3]));
    VTA_TRY(records ? pack_records(b, s, scale, second, &inputs[7]) : VTA_OK);
    VTA_TRY(add_product(b, s, inputs, records ? 8 : 7, &p->made));
    p->stands = p->made;
    VTA_TRY(vtac_pair_back(b, s, &p->stands));
    VTA_TRY(vtac_b_reshape(b, y.dim, y.rank, &p->stands));
    vtac_swap_names(b->graph, was->outputs[0], p->stands);
    vtac_replace_uses(b->graph, was->outputs[0], p->stands);
    return VTA_OK;
}

/* True if a layer may make a value, or what movements make it of: the accelerator has it already. */
static bool is_there(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(graph, value);
    while (node != NULL && (vtac_is_reshaping(node) || node->op == VTAC_OP_SLICE ||
                            node->op == VTAC_OP_SPLIT || node->op == VTAC_OP_GATHER)) {
        node = vtac_producer_of(graph, node->inputs[0]);
    }
    const vtac_layer_row *row = node == NULL ? NULL : vtac_layer_row_of(node->op);
    return node != NULL && (node->op == VTAC_OP_ROW_SOFTMAX || (row != NULL && row->make != NULL));
}

/* True if a small product pays on the accelerator, too: between layers, on a machine that needs no host for
 * its factors, the host would part a region in two. */
static bool is_between_layers(const vtac_node_builder *b)
{
    return b->config->rows != 0 && is_there(b->graph, b->like.inputs[0]) &&
           is_there(b->graph, b->like.inputs[3]);
}

static vta_status legalize_pair(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done)
{
    vtac_pair s;
    vtac_fixed scale;
    *done = b->config->batch == 1 && vtac_pair_of(b, &b->like, &s) && scale_of(b, &s, &scale) &&
            (always || s.g * s.m * s.n >= MIN_PRODUCTS / s.k || is_between_layers(b));
    p->operands[1] = 3;
    return *done ? replace_product(b, &s, scale, p) : VTA_OK;
}

vta_status vtac_legalize_matmuls(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                 vtac_legalized_list *out, vta_diag *diag)
{
    return vtac_legalize_nodes(graph, config, always, arena, legalize_pair, out, diag);
}

vta_status vtac_legalize_nodes(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                               vtac_legalize *rule, vtac_legalized_list *out, vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    vtac_node_id *order = vta_arena_array(arena, (size_t)count + 1, sizeof *order);
    *out = (vtac_legalized_list){.items = vta_arena_array(arena, (size_t)count + 1, sizeof *out->items)};
    if (order == NULL || out->items == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(order, graph->order, count * sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        const vtac_node_builder b = {graph, arena, config, graph->nodes[order[i]], diag};
        bool done = false;
        out->items[out->count] = (vtac_legalized){.was = b.like};
        VTA_TRY(rule(&b, always, &out->items[out->count], &done));
        out->count += done;
    }
    if (out->count == 0) {
        return VTA_OK;
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}

/* True if only moved elements are between the product and the value in its place (transposes.c). */
static bool stands_alone(const vtac_graph *graph, const vtac_legalized *p)
{
    vtac_value_id value = p->stands;
    while (value != 0 && value != p->made && vtac_is_host_step(graph, graph->values[value].node)) {
        value = graph->nodes[graph->values[value].node].inputs[0];
    }
    return value == p->made;
}

/* True if a value is needed: moved elements without readers do not count. */
static bool is_needed(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_value *v = &graph->values[value];
    bool needed = vtac_is_output(graph, value);
    for (uint32_t i = 0; i < v->user_count && !needed; i++) {
        const vtac_node *user = &graph->nodes[v->users[i]];
        needed =
            !user->dead && (!vtac_is_host_step(graph, v->users[i]) || is_needed(graph, user->outputs[0]));
    }
    return needed;
}

/* The image that the product would have made, for its other readers. */
static vta_status image_of(const vtac_node_builder *b, vtac_value_id made, vtac_value_id *x)
{
    const vtac_type type = vtac_b_type(b, made), y = vtac_b_type(b, *x);
    const int64_t g = vtac_attr_int(&b->graph->nodes[b->graph->values[made].node], "group", 1);
    const int64_t n = y.dim[y.rank - 1], m = vtac_type_elements(&y) / n / g;
    const int64_t dims[3] = {g, m, n};
    VTA_TRY(vtac_b_reshape(b, dims, 3, x));
    VTA_TRY(vtac_pair_pad(b, type.dim[2], type.dim[1] / g, 0, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    return vtac_b_reshape(b, type.dim, type.rank, x);
}

/* Recovers the first factor from its image, which the product reads. */
static vta_status factor_of(const vtac_node_builder *b, const vtac_legalized *p, vtac_value_id *x)
{
    const vtac_node product = b->graph->nodes[b->graph->values[p->made].node];
    const vtac_type type = vtac_b_type(b, p->was.inputs[0]);
    const int64_t g = vtac_attr_int(&product, "group", 1), k = type.dim[type.rank - 1];
    const vtac_type image = vtac_b_type(b, product.inputs[0]);
    *x = product.inputs[0];
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){g, image.dim[1] / g, image.dim[2]}, 3, x));
    VTA_TRY(vtac_cut_matrices(b, k, vtac_type_elements(&type) / k / g, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    return vtac_b_reshape(b, type.dim, type.rank, x);
}

static vta_status undo_one(const vtac_node_builder *b, const vtac_legalized *p, vtac_partition *partition)
{
    const vtac_node *was = &p->was;
    vtac_graph *graph = b->graph;
    const vtac_node copy = graph->nodes[graph->values[p->made].node], *product = &copy;
    vtac_value_id *inputs = vta_arena_array(&graph->arena, was->input_count + 1U, sizeof *inputs);
    vtac_node_id id;
    if (inputs == NULL) {
        return vtac_b_no_memory(b);
    }
    memcpy(inputs, was->inputs, was->input_count * sizeof *inputs);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && vtac_attr_int(product, "image", 0) != 0) {
            const vtac_type as = vtac_b_type(b, was->inputs[3]);
            VTA_TRY(vtac_factor_of_image(b, product, &as, vtac_attr_int(was, "transB", 0) != 0, &inputs[3]));
        } else if (p->holders[i] != 0 && !graph->nodes[p->holders[i]].dead) {
            inputs[p->operands[i]] = graph->nodes[p->holders[i]].inputs[0];
        } else if (p->holders[i] != 0) {
            VTA_TRY(factor_of(b, p, &inputs[p->operands[i]]));
        }
    }
    for (uint32_t i = 0; i < was->input_count; i++) {
        graph->values[inputs[i]].dead = false;
    }
    const vtac_node_spec spec = {.op = was->op,
                                 .name = was->name,
                                 .origin = was->origin,
                                 .inputs = inputs,
                                 .input_count = was->input_count,
                                 .output_count = 1,
                                 .attrs = was->attrs,
                                 .attr_count = was->attr_count};
    VTA_TRY(vtac_add_node(graph, &spec, &id, b->diag));
    const vtac_value_id new = graph->nodes[id].outputs[0];
    const bool transposed = graph->nodes[graph->values[p->made].node].op == VTAC_OP_VTA_PRODUCT;
    if (!transposed || stands_alone(graph, p)) {
        vtac_swap_names(graph, p->stands, new);
        vtac_replace_uses(graph, p->stands, new);
        vtac_rename_tensors(partition, p->stands, new);
    }
    if (transposed && is_needed(graph, p->made)) {
        vtac_value_id image = new;
        VTA_TRY(image_of(b, p->made, &image));
        vtac_replace_uses(graph, p->made, image);
        vtac_rename_tensors(partition, p->made, image);
    }
    return VTA_OK;
}

/* True if a rewritten node must stay: a movement took in its operand, or something reads its slices. */
static bool must_stay(const vtac_graph *graph, const vtac_legalized *p)
{
    return p->may_stay && (p->holders[0] == 0 || graph->nodes[p->holders[0]].dead ||
                           !stands_alone(graph, p) || vtac_use_count(graph, p->made) > 1);
}

vta_status vtac_undo_unused_legalized(vtac_graph *graph, const vtac_legalized_list *products,
                                      vtac_partition *partition, vta_diag *diag)
{
    for (uint32_t i = 0; i < products->count; i++) {
        const vtac_legalized *p = &products->items[i];
        if (partition->places[graph->values[p->made].node].kind != VTAC_PLACE_ACCELERATOR &&
            !must_stay(graph, p)) {
            const vtac_node_builder b = {graph, &partition->arena, &partition->config, p->was, diag};
            VTA_TRY(undo_one(&b, p, partition));
        }
    }
    return VTA_OK;
}
