/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products of rows (transformers, dense layers in time or place): the rows are the pixels of one
 * image, their columns its channels, and a constant matrix is a convolution with a window of one pixel.
 *
 *     QLinearMatMul(x [..., rows, k], w [k, n])  ->  rows(QLinearConv(image(x) [1, k, rows], w [n, k, 1]))
 *
 * `image` is a Reshape and a Transpose, `rows` a Transpose and a Reshape. Elementwise operators move in
 * front of `rows`. Where `rows` meets `image`, both vanish; the rest remain where the accelerator's part
 * begins or ends.
 */
#include <string.h>

#include "partition.h"
#include "vta/fail.h"
#include "vtac/recurrence.h"
#include "vtac/rows.h"

enum { IMAGE_RANK = 3, MAX_OPERANDS = 9, RESCALE_INPUTS = 5, MIN_PRODUCTS = 1 << 14 };
/* Up to MAX_IMAGES rows of rank 2 count as images of a dense network, whose layers take several at a time. */
enum { MAX_IMAGES = 4 };

typedef struct rows {
    vtac_graph *graph;
    const vta_config *config;
    bool always;               /* also small products */
    vta_arena *arena;          /* of the partition */
    bool *of_images;           /* by value: of rank 2, and every row belongs to another image */
    vtac_value_id *transposed; /* by value: the image of its rows, if it was made; else 0 */
    uint32_t room;             /* number of original values */
    vtac_node like;            /* new nodes get its name */
    vta_diag *diag;
} rows;

static const vtac_type *type_of(const rows *r, vtac_value_id value)
{
    return &r->graph->values[value].type;
}

/* ---- new nodes */

static vta_status add_node(rows *r, vtac_op op, const vtac_value_id *inputs, uint32_t count,
                           const vtac_attr *attrs, uint32_t attr_count, vtac_value_id *out)
{
    vtac_node_id id;
    const vtac_node_spec spec = {.op = op,
                                 .name = r->like.name,
                                 .origin = r->like.origin,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    VTA_TRY(vtac_add_node(r->graph, &spec, &id, r->diag));
    *out = r->graph->nodes[id].outputs[0];
    return VTA_OK;
}

static vta_status add_constant(rows *r, const vtac_type *type, const void *data, vtac_value_id *out)
{
    const vtac_tensor tensor = {.type = *type,
                                .data = data,
                                .bytes = (size_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype)};
    return vtac_add_constant(r->graph, NULL, &tensor, out, r->diag);
}

/* Adds a Reshape unless the value has the shape. */
static vta_status add_reshape(rows *r, vtac_value_id x, const int64_t *dims, uint32_t rank,
                              vtac_value_id *out)
{
    const vtac_type *type = type_of(r, x);
    vtac_value_id inputs[2] = {x};
    int64_t *copy = vta_arena_array(&r->graph->arena, (size_t)rank + 1, sizeof *copy);
    if (copy == NULL) {
        return vta_no_memory(r->diag);
    }
    if (type->rank == rank && memcmp(type->dim, dims, rank * sizeof *dims) == 0) {
        *out = x;
        return VTA_OK;
    }
    memcpy(copy, dims, rank * sizeof *dims);
    VTA_TRY(add_constant(r, &(vtac_type){.dtype = VTAC_I64, .rank = 1, .dim = {rank}}, copy,
                         &inputs[VTAC_RESHAPE_SHAPE]));
    return add_node(r, VTAC_OP_RESHAPE, inputs, 2, NULL, 0, out);
}

static vta_status add_transpose(rows *r, vtac_value_id x, vtac_value_id *out)
{
    static const int64_t perm[IMAGE_RANK] = {0, 2, 1};
    const vtac_attr attr = {.name = "perm", .kind = VTAC_ATTR_INTS, .count = IMAGE_RANK, .ints = perm};
    return add_node(r, VTAC_OP_TRANSPOSE, &x, 1, &attr, 1, out);
}

/* ---- rows and images */

static bool has_perm(const vtac_node *node, const int64_t *perm, uint32_t rank)
{
    const vtac_attr *attr = vtac_find_attr(node, "perm");
    return node->op == VTAC_OP_TRANSPOSE && attr != NULL && attr->count == rank &&
           memcmp(attr->ints, perm, rank * sizeof *perm) == 0;
}

/* True if a Transpose moves the channels of one image behind its pixels. */
static bool makes_rows(const rows *r, const vtac_node *node)
{
    static const int64_t three[] = {0, 2, 1}, four[] = {0, 2, 3, 1};
    const vtac_type *x = node->op == VTAC_OP_TRANSPOSE ? type_of(r, node->inputs[0]) : NULL;
    return x != NULL && x->dim[0] == 1 &&
           (x->rank == 3 ? has_perm(node, three, 3) : x->rank == 4 && has_perm(node, four, 4));
}

/* Goes up through reshapes that keep the rows. */
static vtac_value_id rows_behind(const rows *r, vtac_value_id value)
{
    const int64_t last = type_of(r, value)->dim[type_of(r, value)->rank - 1];
    for (;;) {
        const vtac_node *node = vtac_producer_of(r->graph, value);
        const vtac_type *x = node == NULL ? NULL : type_of(r, node->inputs[0]);
        if (node == NULL || node->op != VTAC_OP_RESHAPE || x->rank < 2 || x->dim[x->rank - 1] != last) {
            return value;
        }
        value = node->inputs[0];
    }
}

/* The image [1, c, ...] whose pixels are the rows of a value; 0: there is none. */
static vtac_value_id image_behind(const rows *r, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(r->graph, rows_behind(r, value));
    return node != NULL && makes_rows(r, node) ? node->inputs[0] : 0;
}

static int64_t rows_of(const vtac_type *type)
{
    int64_t count = 1;
    for (uint32_t i = 0; i + 1 < type->rank; i++) {
        count *= type->dim[i];
    }
    return count;
}

/* True for a Transpose of one row: elements stay in their order. */
static bool keeps_row(const rows *r, const vtac_node *node)
{
    const vtac_type *x = type_of(r, node->inputs[0]);
    uint32_t longer = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        longer += x->dim[i] > 1;
    }
    return longer <= 1;
}

/* The value in the shape in which it was computed, in front of all that keeps the order of elements. */
static vtac_value_id computed_behind(const rows *r, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(r->graph, value);
    while (node != NULL && vtac_is_reshaping(node) && (node->op != VTAC_OP_TRANSPOSE || keeps_row(r, node))) {
        value = node->inputs[0];
        node = vtac_producer_of(r->graph, value);
    }
    return value;
}

/* Turns the rows of a value into an image [1, c, rows]. */
static vta_status rows_to_image(rows *r, vtac_value_id x, vtac_value_id *out)
{
    x = rows_behind(r, x);
    if (x < r->room && r->transposed[x] != 0) {
        *out = r->transposed[x];
        return VTA_OK;
    }
    const vtac_type type = *type_of(r, x);
    const int64_t count = rows_of(&type), columns = type.dim[type.rank - 1];
    const vtac_value_id image = image_behind(r, x);
    if (image != 0 || count == 1) {
        return add_reshape(r, image != 0 ? image : computed_behind(r, x), (int64_t[]){1, columns, count},
                           IMAGE_RANK, out);
    }
    VTA_TRY(add_reshape(r, x, (int64_t[]){1, count, columns}, IMAGE_RANK, out));
    VTA_TRY(add_transpose(r, *out, out));
    if (x < r->room) {
        r->transposed[x] = *out; /* for other readers */
    }
    return VTA_OK;
}

/* Turns an image into rows that replace a value. */
static vta_status replace_by_rows(rows *r, vtac_value_id image, vtac_value_id old)
{
    const vtac_type type = *type_of(r, old);
    vtac_value_id out;
    VTA_TRY(add_transpose(r, image, &out));
    VTA_TRY(add_reshape(r, out, type.dim, type.rank, &out));
    vtac_swap_names(r->graph, old, out);
    vtac_replace_uses(r->graph, old, out);
    return VTA_OK;
}

/* Marks rows that are images, as those of a dense layer behind a convolution. Call in the order of nodes. */
static void mark_images(rows *r, const vtac_node *node)
{
    bool any = false;
    const vtac_value_id y = node->outputs[0];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value_id x = node->inputs[i];
        const vtac_type *type = type_of(r, x);
        const bool images = x < r->room && r->of_images[x]; /* new values are images of rows */
        any = any || (x != 0 && r->graph->values[x].constant == NULL &&
                      (images || (type->rank == 4 && type->dim[0] == type_of(r, y)->dim[0])));
    }
    r->of_images[y] = type_of(r, y)->rank == 2 && any;
}

/* ---- products */

/* A product with a constant matrix, as its node describes it. */
typedef struct dense_product {
    vtac_value_id inputs[MAX_OPERANDS]; /* of the QLinearConv; weights and scales not converted yet */
    uint32_t count;
    int64_t terms, outputs;
    int64_t output_step, term_step;
    const vtac_tensor *w;
    int64_t first; /* of a slice: its first output */
    bool standing; /* the rows are the columns of the first operand */
} dense_product;

static bool one_or(const vtac_tensor *t, int64_t count)
{
    return t != NULL && (vtac_type_elements(&t->type) == 1 || (t->type.rank == 1 && t->type.dim[0] == count));
}

static bool read_dense(const rows *r, const vtac_node *node, dense_product *d)
{
    const bool gemm = node->op == VTAC_OP_QGEMM;
    if ((node->op != VTAC_OP_QLINEAR_MATMUL && !gemm) || vtac_find_attr(node, "rounding") != NULL ||
        (gemm && (vtac_attr_float(node, "alpha", 1.0) != 1.0 ||
                  vtac_in_type(r->graph, node, VTAC_QGEMM_Y_SCALE) == NULL ||
                  vtac_in_type(r->graph, node, VTAC_QGEMM_Y_ZERO) == NULL))) {
        return false;
    }
    *d = (dense_product){.w = vtac_in_constant(r->graph, node, VTAC_QLINEAR_PRODUCT_WEIGHT),
                         .standing = gemm && vtac_attr_int(node, "transA", 0) != 0};
    const uint32_t rank = d->w == NULL ? 0 : d->w->type.rank;
    if (rank < 2 || vtac_type_elements(&d->w->type) == 0 ||
        rows_of(&d->w->type) != d->w->type.dim[rank - 2]) {
        return false; /* all rows must share one matrix */
    }
    const bool transposed = gemm && vtac_attr_int(node, "transB", 0) != 0;
    d->outputs = d->w->type.dim[rank - (transposed ? 2 : 1)];
    d->terms = d->w->type.dim[rank - (transposed ? 1 : 2)];
    d->output_step = transposed ? d->terms : 1;
    d->term_step = transposed ? 1 : d->outputs;
    const uint32_t y_scale = gemm ? VTAC_QGEMM_Y_SCALE : VTAC_QLINEAR_PAIR_Y_SCALE;
    const uint32_t y_zero = gemm ? VTAC_QGEMM_Y_ZERO : VTAC_QLINEAR_PAIR_Y_ZERO;
    memcpy(d->inputs, node->inputs, VTAC_QLINEAR_PRODUCT_INPUTS * sizeof *d->inputs);
    d->inputs[VTAC_QLINEAR_CONV_Y_SCALE] = node->inputs[y_scale];
    d->inputs[VTAC_QLINEAR_CONV_Y_ZERO] = node->inputs[y_zero];
    d->inputs[VTAC_QLINEAR_CONV_BIAS] = gemm ? node->inputs[VTAC_QGEMM_C] : 0;
    const bool biased = d->inputs[VTAC_QLINEAR_CONV_BIAS] != 0;
    d->count = biased ? VTAC_QLINEAR_CONV_INPUTS : VTAC_QLINEAR_CONV_BIAS;
    const vtac_tensor *bias = biased ? vtac_in_constant(r->graph, node, VTAC_QGEMM_C) : NULL;
    return one_or(vtac_in_constant(r->graph, node, VTAC_QLINEAR_PRODUCT_WEIGHT_SCALE), d->outputs) &&
           one_or(vtac_in_constant(r->graph, node, VTAC_QLINEAR_PRODUCT_WEIGHT_ZERO), d->outputs) &&
           (!biased ||
            (bias != NULL && bias->type.dtype == VTAC_I32 &&
             (vtac_type_elements(&bias->type) == 1 || vtac_type_elements(&bias->type) == d->outputs)));
}

static bool is_worth_it(const rows *r, const vtac_node *node, const dense_product *d)
{
    const vtac_type *x = type_of(r, node->inputs[VTAC_QLINEAR_PRODUCT_X]);
    const bool image = x->rank == 2 && !d->standing && node->inputs[VTAC_QLINEAR_PRODUCT_X] < r->room &&
                       r->of_images[node->inputs[VTAC_QLINEAR_PRODUCT_X]];
    const int64_t count = x->rank < 2 || vtac_type_elements(x) == 0 ? 0 : vtac_type_elements(x) / d->terms;
    const bool one_row = count == 1 && x->rank > 2; /* its transposes move nothing */
    return !image && (x->rank == 2 ? count > MAX_IMAGES : count > 0) &&
           (r->always || one_row || count * d->outputs >= MIN_PRODUCTS / (d->terms > 0 ? d->terms : 1));
}

/* Converts the weights to [outputs, terms, 1]. */
static vta_status convert_weights(rows *r, dense_product *d)
{
    const vtac_type type = {.dtype = d->w->type.dtype, .rank = 3, .dim = {d->outputs, d->terms, 1}};
    const uint8_t *from = d->w->data;
    uint8_t *data = vta_arena_array(&r->graph->arena, (size_t)vtac_type_elements(&type), 1);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t i = 0; i < d->outputs * d->terms; i++) {
        data[i] = from[(d->first + i / d->terms) * d->output_step + i % d->terms * d->term_step];
    }
    return add_constant(r, &type, data, &d->inputs[VTAC_QLINEAR_CONV_WEIGHT]);
}

/* A list with one number per output; with `each`, a single number is repeated. */
static vta_status list_of(rows *r, const dense_product *d, bool each, vtac_value_id *value)
{
    const vtac_tensor from = *r->graph->values[*value].constant;
    const bool one = vtac_type_elements(&from.type) == 1;
    const int64_t count = each || !one ? d->outputs : 1;
    const size_t size = vtac_dtype_bytes(from.type.dtype);
    const vtac_type type = {.dtype = from.type.dtype, .rank = count > 1 || each ? 1 : 0, .dim = {count}};
    char *data = vta_arena_array(&r->graph->arena, (size_t)count, size);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(data + (size_t)i * size, (const char *)from.data + (size_t)(one ? 0 : d->first + i) * size,
               size);
    }
    return add_constant(r, &type, data, value);
}

/* [k, rows] is already an image: [1, k, rows]. */
static vta_status columns_to_image(rows *r, vtac_value_id x, vtac_value_id *out)
{
    const vtac_type type = *type_of(r, x);
    return add_reshape(r, x, (int64_t[]){1, type.dim[0], type.dim[1]}, IMAGE_RANK, out);
}

static vta_status add_conv(rows *r, const vtac_node *node, dense_product d, vtac_value_id *out)
{
    vtac_attr attrs[2];
    uint32_t attr_count = 0;
    static const char *const kept[] = {"clip_low", "clip_high"};
    for (int i = 0; i < 2; i++) {
        const vtac_attr *attr = vtac_find_attr(node, kept[i]);
        if (attr != NULL) {
            attrs[attr_count++] = *attr;
        }
    }
    VTA_TRY(d.standing ? columns_to_image(r, d.inputs[VTAC_QLINEAR_CONV_X], &d.inputs[VTAC_QLINEAR_CONV_X])
                       : rows_to_image(r, d.inputs[VTAC_QLINEAR_CONV_X], &d.inputs[VTAC_QLINEAR_CONV_X]));
    VTA_TRY(convert_weights(r, &d));
    VTA_TRY(list_of(r, &d, false, &d.inputs[VTAC_QLINEAR_CONV_WEIGHT_SCALE]));
    VTA_TRY(list_of(r, &d, false, &d.inputs[VTAC_QLINEAR_CONV_WEIGHT_ZERO]));
    VTA_TRY(d.count > VTAC_QLINEAR_CONV_BIAS ? list_of(r, &d, true, &d.inputs[VTAC_QLINEAR_CONV_BIAS])
                                             : VTA_OK);
    return add_node(r, VTAC_OP_QLINEAR_CONV, d.inputs, d.count, attrs, attr_count, out);
}

/* Turns the image of a slice into the value that it replaces. */
static vta_status replace_by_slice(rows *r, vtac_value_id image, const vtac_column_slices *parts,
                                   const vtac_column_slice *part)
{
    const vtac_type y = *type_of(r, part->value);
    vtac_value_id out;
    VTA_TRY(add_transpose(r, image, &out));
    if (parts->perm != NULL) {
        int64_t dims[VTAC_MAX_RANK];
        int64_t rest = 1;
        memcpy(dims, parts->apart.dim, sizeof dims);
        for (uint32_t i = parts->axis + 1; i < parts->apart.rank; i++) {
            rest *= dims[i];
        }
        dims[parts->axis] = part->count / rest;
        VTA_TRY(add_reshape(r, out, dims, parts->apart.rank, &out));
        VTA_TRY(add_node(r, VTAC_OP_TRANSPOSE, &out, 1, parts->perm, 1, &out));
    }
    VTA_TRY(add_reshape(r, out, y.dim, y.rank, &out));
    vtac_swap_names(r->graph, part->value, out);
    vtac_replace_uses(r->graph, part->value, out);
    return VTA_OK;
}

static vta_status replace_dense(rows *r, const vtac_node *node, const dense_product *d)
{
    const vtac_value_id old = node->outputs[0];
    vtac_column_slices parts;
    vtac_value_id out;
    if (!vtac_find_column_slices(r->graph, old, &parts)) {
        VTA_TRY(add_conv(r, node, *d, &out));
        return replace_by_rows(r, out, old);
    }
    for (uint32_t i = 0; i < parts.count; i++) {
        dense_product part = *d;
        part.first = parts.items[i].first;
        part.outputs = parts.items[i].count;
        VTA_TRY(add_conv(r, node, part, &out));
        VTA_TRY(replace_by_slice(r, out, &parts, &parts.items[i]));
    }
    return VTA_OK;
}

/* ---- elementwise operators */

/* The number of data operands of an elementwise operator; 0: it is none. */
static uint32_t operands_of(const vtac_node *node)
{
    static const uint8_t operands[VTAC_OP_COUNT] = {
        [VTAC_OP_QLINEAR_ADD] = 2, [VTAC_OP_QLINEAR_MUL] = 2,        [VTAC_OP_LOOK_UP] = 1,
        [VTAC_OP_CLIP] = 1,        [VTAC_OP_QLINEAR_LEAKY_RELU] = 1, [VTAC_OP_QLINEAR_SIGMOID] = 1,
        [VTAC_OP_RELU] = 1,
    };
    const bool rescales = node->op == VTAC_OP_QLINEAR_CONCAT && node->input_count == RESCALE_INPUTS;
    return rescales ? 1 : operands[node->op];
}

/* The input that is operand k. */
static uint32_t operand_at(const vtac_node *node, uint32_t k)
{
    return 3 * k + (node->op == VTAC_OP_QLINEAR_CONCAT ? 2 : 0);
}

/* Converts a constant as rows are converted: [1, c, rows], or [c, 1] for one number per column. */
static vta_status convert_constant(rows *r, const vtac_tensor *from, int64_t count, int64_t columns,
                                   vtac_value_id *out)
{
    const size_t size = vtac_dtype_bytes(from->type.dtype);
    const int64_t elements = vtac_type_elements(&from->type);
    const int64_t own = elements == count * columns ? count : 1, wide = elements == 1 ? 1 : columns;
    const vtac_type type = {.dtype = from->type.dtype, .rank = 3, .dim = {1, wide, own}};
    char *data = vta_arena_array(&r->graph->arena, (size_t)(own * wide), size);
    if (data == NULL) {
        return vta_no_memory(r->diag);
    }
    for (int64_t i = 0; i < own * wide; i++) {
        memcpy(data + (size_t)i * size, (const char *)from->data + (size_t)(i % own * wide + i / own) * size,
               size);
    }
    return add_constant(r, &type, data, out);
}

/* True if a constant has one number, one number per column, or one per element. */
static bool fits_rows(const vtac_type *type, const vtac_type *y)
{
    const int64_t elements = vtac_type_elements(type), columns = y->dim[y->rank - 1];
    return elements == 1 || elements == vtac_type_elements(y) ||
           (elements == columns && type->rank > 0 && type->dim[type->rank - 1] == columns);
}

static bool is_read_by_norm(const rows *r, const vtac_value *v)
{
    bool is_read = false;
    for (uint32_t i = 0; i < v->user_count && !is_read; i++) {
        const vtac_node *user = &r->graph->nodes[v->users[i]];
        is_read = !user->dead && user->op == VTAC_OP_ROW_NORM;
    }
    return is_read;
}

/* True if a normalization of rows reads a sum, or one of the few sums behind it that it alone goes into. */
static bool leads_to_norm(const rows *r, vtac_value_id sum)
{
    enum { MAX_SUMS = 6 };
    for (uint32_t i = 0; i < MAX_SUMS && !is_read_by_norm(r, &r->graph->values[sum]); i++) {
        const vtac_node_id user = vtac_only_user_of(r->graph, sum);
        if (user == 0 || r->graph->nodes[user].op != VTAC_OP_QLINEAR_ADD) {
            return false;
        }
        sum = r->graph->nodes[user].outputs[0];
    }
    return is_read_by_norm(r, &r->graph->values[sum]);
}

/* True for a sum of the host's rows whose reader needs an image: the host packs the rows as pixels. */
static bool is_early_sum(const rows *r, const vtac_node *node)
{
    return r->config->rows != 0 && node->op == VTAC_OP_QLINEAR_ADD && leads_to_norm(r, node->outputs[0]);
}

/* True if all data operands can become images, and one of them comes from an image already or must. */
static bool can_convert(const rows *r, const vtac_node *node, uint32_t operands)
{
    const vtac_type *y = type_of(r, node->outputs[0]);
    bool any = is_early_sum(r, node);
    for (uint32_t k = 0; k < operands; k++) {
        const vtac_value_id x = node->inputs[operand_at(node, k)];
        const vtac_tensor *constant = vtac_in_constant(r->graph, node, operand_at(node, k));
        const vtac_type *type = type_of(r, x);
        if (constant != NULL
                ? !fits_rows(type, y)
                : type->rank != y->rank || memcmp(type->dim, y->dim, y->rank * sizeof *y->dim) != 0) {
            return false;
        }
        any = any || (constant == NULL && image_behind(r, x) != 0);
    }
    return any && vtac_find_attr(node, "rounding") == NULL;
}

static vta_status convert_node(rows *r, const vtac_node *node, uint32_t operands)
{
    vtac_value_id inputs[MAX_OPERANDS];
    const vtac_type y = *type_of(r, node->outputs[0]);
    vtac_value_id out;
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    for (uint32_t k = 0; k < operands; k++) {
        const vtac_tensor *constant = vtac_in_constant(r->graph, node, operand_at(node, k));
        VTA_TRY(
            constant != NULL
                ? convert_constant(r, constant, rows_of(&y), y.dim[y.rank - 1], &inputs[operand_at(node, k)])
                : rows_to_image(r, node->inputs[operand_at(node, k)], &inputs[operand_at(node, k)]));
    }
    const bool joins = node->op == VTAC_OP_QLINEAR_CONCAT;
    const vtac_attr channels = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    VTA_TRY(add_node(r, node->op, inputs, node->input_count, joins ? &channels : node->attrs,
                     joins ? 1 : node->attr_count, &out));
    return replace_by_rows(r, out, node->outputs[0]);
}

/* True if a node joins rows one after the other: along the last axis but one, with nothing in front of it. */
static bool joins_rows(const rows *r, const vtac_node *node)
{
    const vtac_type *y = type_of(r, node->outputs[0]);
    const bool joins = node->op == VTAC_OP_CONCAT ||
                       (node->op == VTAC_OP_QLINEAR_CONCAT && node->input_count > RESCALE_INPUTS);
    const int64_t named = vtac_attr_int(node, "axis", 0), axis = named < 0 ? named + y->rank : named;
    return joins && vtac_attr_int(node, VTAC_CACHE_ATTR, 0) == 0 && y->rank >= 2 && axis + 2 == y->rank &&
           rows_of(y) == y->dim[axis];
}

/* A join of rows becomes one of pixels, on machines that have all else of a transformer, where one of the
 * rows come from an image. */
static vta_status convert_join(rows *r, const vtac_node *node, bool *any)
{
    enum { MAX_INPUTS = 50, PIXELS = 2 };
    const bool scaled = node->op == VTAC_OP_QLINEAR_CONCAT;
    const uint32_t first = scaled ? 2 : 0, step = scaled ? 3 : 1;
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = PIXELS};
    vtac_value_id inputs[MAX_INPUTS], out;
    bool images = false;
    for (uint32_t i = first; i < node->input_count; i += step) {
        const bool constant = vtac_in_constant(r->graph, node, i) != NULL;
        images = images || (!constant && image_behind(r, node->inputs[i]) != 0);
    }
    if (!images || node->input_count > MAX_INPUTS) {
        return VTA_OK;
    }
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    for (uint32_t i = first; i < node->input_count; i += step) {
        const vtac_tensor *constant = vtac_in_constant(r->graph, node, i);
        const vtac_type type = *type_of(r, node->inputs[i]);
        VTA_TRY(constant != NULL
                    ? convert_constant(r, constant, rows_of(&type), type.dim[type.rank - 1], &inputs[i])
                    : rows_to_image(r, node->inputs[i], &inputs[i]));
    }
    VTA_TRY(add_node(r, node->op, inputs, node->input_count, &axis, 1, &out));
    *any = true;
    return replace_by_rows(r, out, node->outputs[0]);
}

/* A normalization of rows becomes one of an image's channels. */
static vta_status convert_norm(rows *r, const vtac_node *node, bool *any)
{
    enum { MORE = 8 };
    const vtac_type x = *type_of(r, node->inputs[VTAC_ROW_NORM_X]);
    const vtac_attr numbers = {.name = "numbers", .kind = VTAC_ATTR_INT, .i = x.dim[x.rank - 1]};
    vtac_value_id inputs[MAX_OPERANDS];
    vtac_attr attrs[MORE + 1];
    vtac_norm norm;
    vtac_value_id out;
    if (r->config->rows == 0 || x.rank < 2 || rows_of(&x) < 1 || node->attr_count > MORE ||
        !vtac_norm_of_node(r->graph, node, r->arena, &norm)) {
        return VTA_OK;
    }
    memcpy(attrs, node->attrs, node->attr_count * sizeof *attrs);
    attrs[node->attr_count] = numbers;
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    VTA_TRY(rows_to_image(r, node->inputs[VTAC_ROW_NORM_X], &inputs[VTAC_ROW_NORM_X]));
    VTA_TRY(add_node(r, VTAC_OP_VTA_NORM, inputs, node->input_count, attrs, node->attr_count + 1U, &out));
    *any = true;
    return replace_by_rows(r, out, node->outputs[0]);
}

/* True if a Transpose lets the last two axes trade places. */
static bool swaps_last(const vtac_node *node, uint32_t rank)
{
    const vtac_attr *perm = node->op == VTAC_OP_TRANSPOSE ? vtac_find_attr(node, "perm") : NULL;
    bool swaps = perm != NULL && perm->count == rank && rank >= 3;
    for (uint32_t i = 0; swaps && i < rank; i++) {
        swaps = perm->ints[i] == (int64_t)(i + 2 < rank ? i : 2 * rank - 3 - i);
    }
    return swaps;
}

/* The matrices whose columns are the rows of a value, where they fill blocks of channels: [..., columns,
 * rows]; 0: there are none. */
static vtac_value_id standing_rows(const rows *r, vtac_value_id x)
{
    const vtac_type *type = type_of(r, x);
    const vtac_node *node = vtac_producer_of(r->graph, x);
    return node != NULL && swaps_last(node, type->rank) &&
                   type->dim[type->rank - 1] % vtac_vta_block(r->config) == 0
               ? node->inputs[0]
               : 0;
}

/* True for scores that a convolution makes, and no product of two activations, whose softmax attention.c puts
 * between products. */
static bool are_of_conv(const rows *r, vtac_value_id scores)
{
    const vtac_node *node = vtac_producer_of(r->graph, scores);
    while (node != NULL && (vtac_is_reshaping(node) || vtac_is_number_function(r->graph, node))) {
        node = vtac_producer_of(
            r->graph, node->inputs[vtac_is_reshaping(node) ? 0 : vtac_layer_row_of(node->op)->first]);
    }
    return node != NULL && node->op == VTAC_OP_QLINEAR_CONV;
}

/* Shares of rows become those of an image's channels: of groups of channels where rows stand in one image. */
static vta_status convert_shares(rows *r, const vtac_node *node, bool *any)
{
    const vtac_type x = *type_of(r, node->inputs[VTAC_ROW_SOFTMAX_X]);
    const int64_t columns = x.rank < 2 ? 0 : x.dim[x.rank - 1], pixels = x.rank < 2 ? 0 : x.dim[x.rank - 2];
    const bool is_linear = vtac_attr_int(node, VTAC_ROW_LINEAR, 0) != 0;
    vtac_value_id inputs[MAX_OPERANDS], out;
    const vtac_value_id from = rows_behind(r, node->inputs[VTAC_ROW_SOFTMAX_X]);
    const vtac_node *scores = vtac_producer_of(r->graph, from);
    if (r->config->rows == 0 || x.rank < 2 || rows_of(&x) < 1 || node->input_count > VTAC_ROW_SOFTMAX_MASK ||
        (is_linear ? scores != NULL && scores->op == VTAC_OP_QLINEAR_MATMUL : !are_of_conv(r, from))) {
        return VTA_OK;
    }
    const vtac_value_id standing = standing_rows(r, node->inputs[VTAC_ROW_SOFTMAX_X]);
    const int64_t groups = standing != 0 ? rows_of(&x) / pixels : 1;
    const vtac_attr attrs[] = {{.name = "group", .kind = VTAC_ATTR_INT, .i = groups},
                               {.name = "numbers", .kind = VTAC_ATTR_INT, .i = columns},
                               {.name = VTAC_ROW_LINEAR, .kind = VTAC_ATTR_INT, .i = is_linear}};
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    VTA_TRY(standing != 0 ? add_reshape(r, standing, (int64_t[]){1, groups * columns, pixels}, IMAGE_RANK,
                                        &inputs[VTAC_ROW_SOFTMAX_X])
                          : rows_to_image(r, inputs[VTAC_ROW_SOFTMAX_X], &inputs[VTAC_ROW_SOFTMAX_X]));
    VTA_TRY(add_node(r, VTAC_OP_VTA_SOFTMAX, inputs, node->input_count, attrs, 3, &out));
    *any = true;
    if (standing == 0) {
        return replace_by_rows(r, out, node->outputs[0]);
    }
    VTA_TRY(add_reshape(r, out, (int64_t[]){groups, columns, pixels}, IMAGE_RANK, &out));
    return replace_by_rows(r, out, node->outputs[0]);
}

/* A recurrence becomes one of an image whose pixels are the steps, each with all rows of the batch. */
static vta_status convert_recurrence(rows *r, const vtac_node *node, bool *any)
{
    enum { ATTRS = VTAC_RECURRENCE_ATTRS };
    const vtac_type y = *type_of(r, node->outputs[0]);
    const int64_t dims[] = {1, y.dim[2], y.dim[0] * y.dim[1]};
    int64_t *copy = vta_arena_array(&r->graph->arena, IMAGE_RANK, sizeof *copy);
    vtac_attr attrs[ATTRS + 3];
    vtac_value_id inputs[VTAC_RECURRENCE_INPUTS] = {0};
    vtac_node_id made;
    if (copy == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(copy, dims, sizeof dims);
    memcpy(attrs, node->attrs, ATTRS * sizeof *attrs);
    attrs[ATTRS] = (vtac_attr){.name = "steps", .kind = VTAC_ATTR_INT, .i = y.dim[0]};
    attrs[ATTRS + 1] = (vtac_attr){.name = "dims", .kind = VTAC_ATTR_INTS, .count = IMAGE_RANK, .ints = copy};
    attrs[ATTRS + 2] = (vtac_attr){.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(y.dtype)};
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    VTA_TRY(rows_to_image(r, node->inputs[VTAC_RECURRENCE_X], &inputs[VTAC_RECURRENCE_X]));
    for (uint32_t i = VTAC_RECURRENCE_H_BEFORE; i < node->input_count; i++) {
        const vtac_type *type = inputs[i] == 0 ? NULL : type_of(r, inputs[i]);
        const int64_t count = type == NULL ? 0 : type->dim[0] * type->dim[1];
        VTA_TRY(type == NULL ? VTA_OK
                             : add_reshape(r, inputs[i], (int64_t[]){count, type->dim[2]}, 2, &inputs[i]));
    }
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_RECURRENCE,
                                 .name = node->name,
                                 .origin = node->origin,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = node->output_count,
                                 .attrs = attrs,
                                 .attr_count = ATTRS + 3};
    VTA_TRY(vtac_add_node(r->graph, &spec, &made, r->diag));
    *any = true;
    vtac_value_id outputs[VTAC_RECURRENCE_OUTPUTS];
    memcpy(outputs, r->graph->nodes[made].outputs, node->output_count * sizeof *outputs);
    if (node->output_count > 1) {
        const vtac_value_id old = node->outputs[VTAC_RECURRENCE_STATE_AFTER];
        vtac_value_id *state = &outputs[VTAC_RECURRENCE_STATE_AFTER];
        const vtac_type type = *type_of(r, old);
        VTA_TRY(add_reshape(r, *state, type.dim, type.rank, state));
        vtac_swap_names(r->graph, old, *state);
        vtac_replace_uses(r->graph, old, *state);
    }
    return replace_by_rows(r, outputs[VTAC_RECURRENCE_Y], node->outputs[VTAC_RECURRENCE_Y]);
}

/* True if a constant holds one number, and that is 1 or -2: the axis of rows among three. */
static bool is_row_axis(const vtac_tensor *axes)
{
    return axes != NULL && vtac_type_elements(&axes->type) == 1 &&
           (vtac_tensor_int(axes, 0) == 1 || vtac_tensor_int(axes, 0) == -2);
}

/* True if a Reshape names all sizes, and copies none of its input. */
static bool names_sizes(const rows *r, const vtac_node *node)
{
    const vtac_tensor *dims =
        node->op == VTAC_OP_RESHAPE ? vtac_in_constant(r->graph, node, VTAC_RESHAPE_SHAPE) : NULL;
    bool named = dims != NULL;
    for (int64_t i = 0; named && i < vtac_type_elements(&dims->type); i++) {
        named = vtac_tensor_int(dims, i) != 0;
    }
    return named;
}

/* Lets the Reshapes of a single row read its pixel. */
static vta_status reshape_pixel(rows *r, vtac_value_id row, vtac_value_id pixel)
{
    for (uint32_t i = r->graph->values[row].user_count; i-- > 0;) { /* users vanish from the list */
        const vtac_node_id user = r->graph->values[row].users[i];
        const vtac_node *node = &r->graph->nodes[user];
        VTA_TRY(!node->dead && node->inputs[VTAC_RESHAPE_X] == row && names_sizes(r, node)
                    ? vtac_set_input(r->graph, user, VTAC_RESHAPE_X, pixel, r->diag)
                    : VTA_OK);
    }
    return VTA_OK;
}

/* A slice of the rows that come from an image becomes one of its pixels, for machines that have all else of a
 * transformer. */
static vta_status convert_slice(rows *r, const vtac_node *node)
{
    static const int64_t pixels = 2;
    const vtac_type x = *type_of(r, node->inputs[VTAC_SLICE_X]);
    vtac_value_id inputs[MAX_OPERANDS], out;
    if (r->config->rows == 0 || x.rank != 3 || x.dim[0] != 1 || node->input_count < 4 ||
        !is_row_axis(vtac_in_constant(r->graph, node, VTAC_SLICE_AXES)) ||
        image_behind(r, node->inputs[VTAC_SLICE_X]) == 0) {
        return VTA_OK;
    }
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    VTA_TRY(rows_to_image(r, node->inputs[VTAC_SLICE_X], &inputs[VTAC_SLICE_X]));
    VTA_TRY(add_constant(r, &(vtac_type){.dtype = VTAC_I64, .rank = 1, .dim = {1}}, &pixels,
                         &inputs[VTAC_SLICE_AXES]));
    VTA_TRY(add_node(r, VTAC_OP_SLICE, inputs, node->input_count, NULL, 0, &out));
    VTA_TRY(type_of(r, out)->dim[2] == 1 ? reshape_pixel(r, node->outputs[0], out) : VTA_OK);
    return replace_by_rows(r, out, node->outputs[0]);
}

/* The image of rows that a mean reads as an image of several rows of pixels; 0: it reads another one. */
static vtac_value_id image_of_mean(const rows *r, const vtac_node *node)
{
    const vtac_value_id image = vtac_source_of(r->graph, node->inputs[VTAC_REDUCE_X]).base;
    const vtac_type *x = type_of(r, image), *y = type_of(r, node->inputs[VTAC_REDUCE_X]);
    return r->config->rows != 0 && x->rank == IMAGE_RANK && y->rank == 4 && x->dim[1] == y->dim[1] ? image
                                                                                                   : 0;
}

/* A mean over rows, for each column, becomes a mean over the pixels of the image. */
static vta_status convert_mean(rows *r, const vtac_node *node)
{
    const vtac_type x = *type_of(r, node->inputs[VTAC_REDUCE_X]), y = *type_of(r, node->outputs[0]);
    const bool last = vtac_attr_int(node, "channels_last", 0) != 0;
    vtac_value_id inputs[MAX_OPERANDS];
    vtac_value_id out;
    if (x.rank < 3 || x.dim[0] != 1 || vtac_find_attr(node, "rounding") != NULL ||
        (last ? image_behind(r, node->inputs[VTAC_REDUCE_X]) : image_of_mean(r, node)) == 0) {
        return VTA_OK;
    }
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    if (last) {
        VTA_TRY(rows_to_image(r, node->inputs[VTAC_REDUCE_X], &inputs[VTAC_REDUCE_X]));
    } else {
        inputs[VTAC_REDUCE_X] = image_of_mean(r, node);
    }
    VTA_TRY(add_node(r, node->op, inputs, node->input_count, NULL, 0, &out));
    VTA_TRY(add_reshape(r, out, y.dim, y.rank, &out));
    vtac_swap_names(r->graph, node->outputs[0], out);
    vtac_replace_uses(r->graph, node->outputs[0], out);
    return VTA_OK;
}

/* Removes a Transpose that makes an image of rows which come from an image. */
static vta_status remove_transpose(rows *r, const vtac_node *node)
{
    static const int64_t three[] = {0, 2, 1}, four[] = {0, 3, 1, 2};
    const vtac_type x = *type_of(r, node->inputs[0]), y = *type_of(r, node->outputs[0]);
    vtac_value_id out = image_behind(r, node->inputs[0]);
    if (out == 0 || y.dim[0] != 1 ||
        !(x.rank == 3 ? has_perm(node, three, 3) : x.rank == 4 && has_perm(node, four, 4))) {
        return VTA_OK;
    }
    VTA_TRY(add_reshape(r, out, y.dim, y.rank, &out));
    if (!vtac_is_output(r->graph, node->outputs[0])) {
        vtac_replace_uses(r->graph, node->outputs[0], out);
    }
    return VTA_OK;
}

/* True if the shape of a Reshape is written out: it does not depend on that of its operand. */
static bool has_own_shape(const rows *r, const vtac_node *node)
{
    const vtac_tensor *shape =
        node->op == VTAC_OP_RESHAPE ? vtac_in_constant(r->graph, node, VTAC_RESHAPE_SHAPE) : NULL;
    bool own = shape != NULL;
    for (int64_t i = 0; own && i < vtac_type_elements(&shape->type); i++) {
        own = vtac_tensor_int(shape, i) > 0;
    }
    return own;
}

/* A Reshape of reshaped elements reads them where they were computed. */
static vta_status skip_reshapes(rows *r, vtac_node_id id)
{
    const vtac_node *node = &r->graph->nodes[id];
    if (!has_own_shape(r, node)) {
        return VTA_OK;
    }
    const vtac_value_id x = computed_behind(r, node->inputs[0]);
    return x != node->inputs[0] ? vtac_set_input(r->graph, id, 0, x, r->diag) : VTA_OK;
}

static vta_status visit_node(rows *r, vtac_node_id id, bool *any)
{
    VTA_TRY(skip_reshapes(r, id));
    const vtac_node node = r->graph->nodes[id]; /* a copy: the graph's nodes move when others are added */
    dense_product d;
    r->like = node;
    if (r->config->rows != 0 && node.output_count == 1 && joins_rows(r, &node)) {
        return convert_join(r, &node, any);
    }
    if (node.op == VTAC_OP_RECURRENCE) {
        return convert_recurrence(r, &node, any);
    }
    if (node.output_count != 1 || node.input_count > MAX_OPERANDS) {
        return VTA_OK;
    }
    mark_images(r, &node);
    if (read_dense(r, &node, &d) && is_worth_it(r, &node, &d)) {
        *any = true;
        return replace_dense(r, &node, &d);
    }
    if (node.op == VTAC_OP_ROW_NORM) {
        return convert_norm(r, &node, any);
    }
    if (node.op == VTAC_OP_ROW_SOFTMAX) {
        return convert_shares(r, &node, any);
    }
    if (*any && node.op == VTAC_OP_SLICE) {
        return convert_slice(r, &node);
    }
    const uint32_t operands = operands_of(&node);
    const bool sees_images = *any || r->config->rows != 0;
    if (sees_images && operands > 0 && type_of(r, node.outputs[0])->rank > 1 &&
        can_convert(r, &node, operands)) {
        return convert_node(r, &node, operands);
    }
    if (*any && node.op == VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL) {
        return convert_mean(r, &node);
    }
    return *any && node.op == VTAC_OP_TRANSPOSE ? remove_transpose(r, &node) : VTA_OK;
}

vta_status vtac_legalize_rows(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                              vta_diag *diag)
{
    rows r = {.graph = graph,
              .config = config,
              .always = always,
              .arena = arena,
              .room = graph->value_count + 1,
              .diag = diag};
    const uint32_t count = graph->order_count;
    vtac_node_id *order = vta_arena_array(arena, (size_t)count + 1, sizeof *order);
    bool any = false;
    r.of_images = vta_arena_array(arena, r.room, sizeof *r.of_images);
    r.transposed = vta_arena_array(arena, r.room, sizeof *r.transposed);
    if (order == NULL || r.of_images == NULL || r.transposed == NULL) {
        return vta_no_memory(diag);
    }
    if (count > 0) {
        memcpy(order, graph->order, count * sizeof *order);
    }
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(visit_node(&r, order[i], &any));
    }
    if (!any) {
        return VTA_OK;
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
