/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that a model calls between its layers: TensorFlow's (TFOpLambda, SlicingOpLambda) and Keras 3's
 * operations, by the last part of their name in small letters. What they are called with is in the call:
 * tensors and numbers in their order, and options by name.
 */
#include <stdio.h>
#include <string.h>

#include "keras.h"

/* An option of the call or of the configuration, under one of its names. */
static const cJSON *option_of(const vtac_keras *k, const char *const *names)
{
    const cJSON *found = NULL;
    for (; *names != NULL && found == NULL; names++) {
        found = cJSON_GetObjectItemCaseSensitive(k->kwargs, *names);
        found = found == NULL || cJSON_IsNull(found) ? vtac_keras_option(k, *names) : found;
        found = found == NULL ? vtac_keras_node_option(k, *names) : found;
    }
    return found;
}

static const cJSON *option_named(const vtac_keras *k, const char *name)
{
    return option_of(k, (const char *const[]){name, NULL});
}

/* A list of whole numbers, or one; how many. An attribute of a node has its one number as a text. */
static uint32_t numbers_of(const cJSON *item, int64_t *out, uint32_t max)
{
    if (cJSON_IsObject(item)) { /* a tuple */
        item = cJSON_GetObjectItemCaseSensitive(item, "items");
    }
    if (cJSON_IsNumber(item) || cJSON_IsString(item)) {
        out[0] = vtac_keras_whole(item);
        return 1;
    }
    uint32_t count = 0;
    const cJSON *one;
    cJSON_ArrayForEach(one, item)
    {
        if (count < max) {
            out[count++] = vtac_keras_whole(one);
        }
    }
    return count;
}

static int64_t wrapped_axis(vtac_keras *k, int64_t axis, uint32_t rank)
{
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= (int64_t)rank) {
        vtac_make_fail(&k->maker, VTA_INVALID, "axis %lld of %u", (long long)axis, rank);
        return 0;
    }
    return axis;
}

/* True if all operands can stay in planes: each is in planes or is a single number. */
static bool all_planes(vtac_keras *k, uint32_t count)
{
    bool planes = true;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count && i < k->operand_count; i++) {
        const vtac_keras_operand *o = &k->operands[i];
        if (o->is_tensor) {
            const uint32_t own = vtac_keras_rank(k, &k->in[o->in]);
            planes = planes && k->in[o->in].planes != 0 && (rank == 0 || own == rank);
            rank = own;
        }
        planes = planes && o->list == NULL;
    }
    return planes && rank > 0;
}

static bool make_simple(vtac_keras *k, const char *name, vtac_keras_value *out)
{
    static const struct {
        const char *name;
        vtac_op op;
        uint32_t count;
    } table[] = {{"add", VTAC_OP_ADD, 2},
                 {"addv2", VTAC_OP_ADD, 2},
                 {"subtract", VTAC_OP_SUB, 2},
                 {"sub", VTAC_OP_SUB, 2},
                 {"multiply", VTAC_OP_MUL, 2},
                 {"mul", VTAC_OP_MUL, 2},
                 {"divide", VTAC_OP_DIV, 2},
                 {"truediv", VTAC_OP_DIV, 2},
                 {"true_divide", VTAC_OP_DIV, 2},
                 {"div", VTAC_OP_DIV, 2},
                 {"maximum", VTAC_OP_MAX, 2},
                 {"minimum", VTAC_OP_MIN, 2},
                 {"pow", VTAC_OP_POW, 2},
                 {"power", VTAC_OP_POW, 2},
                 {"sqrt", VTAC_OP_SQRT, 1},
                 {"exp", VTAC_OP_EXP, 1},
                 {"log", VTAC_OP_LOG, 1},
                 {"abs", VTAC_OP_ABS, 1},
                 {"absolute", VTAC_OP_ABS, 1},
                 {"negative", VTAC_OP_NEG, 1},
                 {"neg", VTAC_OP_NEG, 1},
                 {"sin", VTAC_OP_SIN, 1},
                 {"cos", VTAC_OP_COS, 1},
                 {"floor", VTAC_OP_FLOOR, 1},
                 {"ceil", VTAC_OP_CEIL, 1},
                 {"reciprocal", VTAC_OP_RECIPROCAL, 1},
                 {"erf", VTAC_OP_ERF, 1},
                 {"identity", VTAC_OP_IDENTITY, 1},
                 {"stop_gradient", VTAC_OP_IDENTITY, 1}};
    vtac_import_builder *m = &k->maker;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(name, table[i].name) == 0) {
            const bool planes = all_planes(k, table[i].count);
            const vtac_id a = vtac_keras_operand_value(k, 0, planes);
            *out = vtac_keras_as(planes,
                                 table[i].count == 1
                                     ? vtac_make1(m, table[i].op, a)
                                     : vtac_make2(m, table[i].op, a, vtac_keras_operand_value(k, 1, planes)));
            return true;
        }
    }
    return false;
}

static bool make_reduction(vtac_keras *k, const char *name, vtac_keras_value *out)
{
    static const struct {
        const char *name;
        vtac_op op;
    } table[] = {{"mean", VTAC_OP_REDUCE_MEAN}, {"sum", VTAC_OP_REDUCE_SUM},   {"max", VTAC_OP_REDUCE_MAX},
                 {"min", VTAC_OP_REDUCE_MIN},   {"prod", VTAC_OP_REDUCE_PROD}, {"amax", VTAC_OP_REDUCE_MAX},
                 {"amin", VTAC_OP_REDUCE_MIN}};
    name += strncmp(name, "reduce_", 7) == 0 ? 7 : 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(name, table[i].name) == 0) {
            const vtac_id x = vtac_keras_operand_value(k, 0, false);
            const uint32_t rank = vtac_made_type(&k->maker, x).rank;
            int64_t axes[VTAC_MAX_RANK];
            uint32_t count = numbers_of(option_named(k, "axis"), axes, VTAC_MAX_RANK);
            for (uint32_t a = 0; a < count; a++) {
                axes[a] = wrapped_axis(k, axes[a], rank);
            }
            for (; count == 0 && count < rank;) {
                for (; count < rank; count++) {
                    axes[count] = count;
                }
            }
            const bool keep =
                cJSON_IsTrue(option_of(k, (const char *const[]){"keepdims", "keep_dims", NULL}));
            *out = vtac_keras_as_plain(vtac_make_reduce(&k->maker, table[i].op, x, axes, count, keep));
            return true;
        }
    }
    return false;
}

static vtac_keras_value item_of(vtac_keras *k)
{
    const cJSON *spec = option_of(k, (const char *const[]){"slice_spec", "key", NULL});
    const vtac_id x = vtac_keras_operand_value(k, 0, false);
    return vtac_keras_as_plain(vtac_keras_item(k, x, spec == NULL ? k->rest : spec));
}

static vtac_id make_reshape(vtac_keras *k, vtac_id x)
{
    vtac_import_builder *m = &k->maker;
    int64_t dims[VTAC_MAX_RANK];
    const uint32_t count =
        numbers_of(option_of(k, (const char *const[]){"shape", "newshape", NULL}), dims, VTAC_MAX_RANK);
    const int64_t elements = vtac_made_elements(m, x);
    int64_t known = 1;
    int open = -1;
    for (uint32_t i = 0; i < count; i++) {
        open = dims[i] < 0 ? (int)i : open;
        known *= dims[i] > 0 && known < 1 << 30 ? dims[i] : 1;
    }
    if (count == 0 || (open < 0 && known != elements) || elements % known != 0) {
        vtac_make_refuse(&k->maker, "a shape of %u sizes for %lld elements", count, (long long)elements);
        return 0;
    }
    if (open >= 0) {
        dims[open] = elements / known;
    }
    return vtac_make_reshape(m, x, dims, count);
}

static vtac_id make_transpose(vtac_keras *k, vtac_id x)
{
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    int64_t order[VTAC_MAX_RANK];
    const uint32_t count =
        numbers_of(option_of(k, (const char *const[]){"perm", "axes", NULL}), order, VTAC_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = count == rank ? wrapped_axis(k, order[i], rank) : (int64_t)(rank - 1 - i);
    }
    return vtac_make_transpose(&k->maker, x, order, rank);
}

/* A size of 1 more, or those of 1 less. */
static vtac_id with_axes(vtac_keras *k, vtac_id x, bool more)
{
    const vtac_type type = vtac_made_type(&k->maker, x);
    int64_t axes[VTAC_MAX_RANK];
    int64_t dims[VTAC_MAX_RANK];
    bool gone[VTAC_MAX_RANK] = {false};
    uint32_t rank = 0;
    const uint32_t count = numbers_of(option_named(k, "axis"), axes, VTAC_MAX_RANK);
    if (more) {
        if (count != 1 || type.rank == VTAC_MAX_RANK) {
            vtac_make_refuse(&k->maker, "%u new axes", count);
            return 0;
        }
        const int64_t at = wrapped_axis(k, axes[0], type.rank + 1);
        for (uint32_t i = 0; i <= type.rank; i++) {
            dims[i] = (int64_t)i < at ? type.dim[i] : (int64_t)i == at ? 1 : type.dim[i - 1];
        }
        return vtac_make_reshape(&k->maker, x, dims, type.rank + 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        gone[wrapped_axis(k, axes[i], type.rank)] = true;
    }
    for (uint32_t i = 0; i < type.rank; i++) {
        if (count == 0 ? type.dim[i] != 1 : !gone[i]) {
            dims[rank++] = type.dim[i];
        }
    }
    return vtac_make_reshape(&k->maker, x, dims, rank);
}

static vtac_id make_concatenate(vtac_keras *k)
{
    vtac_id parts[KERAS_MAX_INPUTS] = {0};
    for (uint32_t i = 0; i < k->in_count; i++) {
        parts[i] = vtac_keras_plain(k, &k->in[i]);
    }
    int64_t axis = -1;
    (void)numbers_of(option_named(k, "axis"), &axis, 1);
    axis = wrapped_axis(k, axis, vtac_made_type(&k->maker, parts[0]).rank);
    return k->maker.status == VTA_OK ? vtac_make_concat(&k->maker, parts, k->in_count, axis) : 0;
}

static double number_named(const vtac_keras *k, const char *const *names, double otherwise)
{
    const cJSON *item = option_of(k, names);
    return cJSON_IsNumber(item)   ? item->valuedouble
           : cJSON_IsString(item) ? (double)vtac_keras_whole(item)
                                  : otherwise;
}

static vtac_id make_clip(vtac_keras *k, vtac_id x)
{
    const double low =
        number_named(k, (const char *const[]){"clip_value_min", "x_min", "a_min", NULL}, -3e38);
    const double high =
        number_named(k, (const char *const[]){"clip_value_max", "x_max", "a_max", NULL}, 3e38);
    return vtac_make_clip(&k->maker, x, low, high);
}

static bool is_one_of(const char *name, const char *a, const char *b)
{
    return strcmp(name, a) == 0 || strcmp(name, b) == 0;
}

/* Divided by its length along axes, which is at least a little. */
static vtac_id to_length(vtac_keras *k, vtac_id x)
{
    vtac_import_builder *m = &k->maker;
    const uint32_t rank = vtac_made_type(m, x).rank;
    int64_t axes[VTAC_MAX_RANK] = {-1};
    uint32_t count = numbers_of(option_named(k, "axis"), axes, VTAC_MAX_RANK);
    count = count == 0 ? 1 : count;
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = wrapped_axis(k, axes[i], rank);
    }
    if (number_named(k, (const char *const[]){"order", "ord", NULL}, 2.0) != 2.0) {
        vtac_make_refuse(&k->maker, "a length that is no root of squares");
    }
    vtac_id length = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM_SQUARE, x, axes, count, true);
    length = vtac_make2(m, VTAC_OP_MAX, length, vtac_keras_number(k, 1e-12));
    return vtac_make2(m, VTAC_OP_DIV, x, vtac_make1(m, VTAC_OP_SQRT, length));
}

static vtac_id space_depth(vtac_keras *k, vtac_id x, vtac_op op)
{
    vtac_import_builder *m = &k->maker;
    double size = number_named(k, (const char *const[]){"block_size", NULL}, 0.0);
    size = size == 0.0 && k->operand_count > 1 && !k->operands[1].is_tensor ? k->operands[1].number : size;
    if (vtac_made_type(m, x).rank != 4 || size < 1.0 || size > 1024.0) {
        vtac_make_refuse(&k->maker, "blocks of %g in rank %u", size, vtac_made_type(m, x).rank);
        return 0;
    }
    const vtac_attr block = vtac_attr_of_int("blocksize", (int64_t)size);
    x = vtac_make_transpose(m, x, (int64_t[]){0, 3, 1, 2}, 4);
    return vtac_make_transpose(m, vtac_make(m, op, &x, 1, &block, 1), (int64_t[]){0, 2, 3, 1}, 4);
}

static vtac_id make_stack(vtac_keras *k)
{
    vtac_import_builder *m = &k->maker;
    vtac_id parts[KERAS_MAX_INPUTS] = {0};
    int64_t axis = 0;
    (void)numbers_of(option_named(k, "axis"), &axis, 1);
    for (uint32_t i = 0; i < k->in_count && m->status == VTA_OK; i++) {
        const vtac_id x = vtac_keras_plain(k, &k->in[i]);
        const vtac_type type = vtac_made_type(m, x);
        const int64_t at = type.rank < VTAC_MAX_RANK ? wrapped_axis(k, axis, type.rank + 1) : VTAC_MAX_RANK;
        int64_t dims[VTAC_MAX_RANK + 1];
        if (at == VTAC_MAX_RANK) {
            vtac_make_refuse(&k->maker, "a result of more than %d axes", VTAC_MAX_RANK);
            return 0;
        }
        for (uint32_t a = 0; a <= type.rank; a++) {
            dims[a] = (int64_t)a < at ? type.dim[a] : (int64_t)a == at ? 1 : type.dim[a - 1];
        }
        parts[i] = vtac_make_reshape(m, x, dims, type.rank + 1);
    }
    if (m->status != VTA_OK) {
        return 0;
    }
    return vtac_make_concat(m, parts, k->in_count, wrapped_axis(k, axis, vtac_made_type(m, parts[0]).rank));
}

static vtac_id make_tile(vtac_keras *k, vtac_id x)
{
    vtac_import_builder *m = &k->maker;
    int64_t times[VTAC_MAX_RANK];
    const uint32_t count =
        numbers_of(option_of(k, (const char *const[]){"multiples", "repeats", NULL}), times, VTAC_MAX_RANK);
    if (count != vtac_made_type(m, x).rank) {
        vtac_make_refuse(&k->maker, "%u numbers of copies for rank %u", count, vtac_made_type(m, x).rank);
        return 0;
    }
    return vtac_make2(m, VTAC_OP_TILE, x, vtac_make_ints(m, times, count));
}

static vtac_id make_pad(vtac_keras *k, vtac_id x)
{
    vtac_import_builder *m = &k->maker;
    const uint32_t rank = vtac_made_type(m, x).rank;
    const cJSON *list = option_of(k, (const char *const[]){"paddings", "pad_width", NULL});
    const cJSON *mode = option_named(k, "mode");
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    const cJSON *items = cJSON_IsObject(list) ? cJSON_GetObjectItemCaseSensitive(list, "items") : list;
    if ((uint32_t)cJSON_GetArraySize(items) != rank ||
        (cJSON_IsString(mode) && strcmp(mode->valuestring, "CONSTANT") != 0 &&
         strcmp(mode->valuestring, "constant") != 0)) {
        vtac_make_refuse(&k->maker, "a border for %d of %u axes, or not of one number",
                         cJSON_GetArraySize(items), rank);
        return 0;
    }
    for (uint32_t a = 0; a < rank; a++) {
        int64_t pair[2] = {0};
        (void)numbers_of(cJSON_GetArrayItem(items, (int)a), pair, 2);
        pads[a] = pair[0];
        pads[a + rank] = pair[1];
        if (pair[0] < 0 || pair[1] < 0) {
            vtac_make_refuse(&k->maker, "a border of less than nothing");
            return 0;
        }
    }
    const double value = number_named(k, (const char *const[]){"constant_values", NULL}, 0.0);
    const vtac_id in[] = {x, vtac_make_ints(m, pads, 2 * rank), vtac_keras_number(k, value)};
    return vtac_make(m, VTAC_OP_PAD, in, 3, NULL, 0);
}

/* Functions of one tensor in plain form. */
/* The last two axes changed where an option says so. */
static vtac_id matrix_transposed(vtac_keras *k, vtac_id x, const char *const *names)
{
    int64_t order[VTAC_MAX_RANK];
    const uint32_t rank = vtac_made_type(&k->maker, x).rank;
    if (!cJSON_IsTrue(option_of(k, names)) || rank < 2) {
        return x;
    }
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i < rank - 2 ? i : 2 * (int64_t)rank - 3 - i;
    }
    return vtac_make_transpose(&k->maker, x, order, rank);
}

static vtac_id make_product(vtac_keras *k, vtac_id x)
{
    x = matrix_transposed(k, x, (const char *const[]){"transpose_a", "adj_x", "adjoint_a", NULL});
    const vtac_id y = matrix_transposed(k, vtac_keras_operand_value(k, 1, false),
                                        (const char *const[]){"transpose_b", "adj_y", "adjoint_b", NULL});
    return vtac_make2(&k->maker, VTAC_OP_MATMUL, x, y);
}

/* Places along axes moved on by so many, the last ones to the front. */
static vtac_id make_roll(vtac_keras *k, vtac_id x)
{
    vtac_import_builder *m = &k->maker;
    int64_t by[VTAC_MAX_RANK] = {0};
    int64_t axes[VTAC_MAX_RANK] = {0};
    const uint32_t count = numbers_of(option_named(k, "shift"), by, VTAC_MAX_RANK);
    if (count == 0 || numbers_of(option_named(k, "axis"), axes, VTAC_MAX_RANK) != count) {
        vtac_make_refuse(&k->maker, "places moved on without as many axes");
        return 0;
    }
    for (uint32_t i = 0; i < count && m->status == VTA_OK; i++) {
        const vtac_type type = vtac_made_type(m, x);
        const uint32_t axis = (uint32_t)wrapped_axis(k, axes[i], type.rank);
        const int64_t size = type.dim[axis];
        const int64_t cut = size > 0 ? ((-by[i]) % size + size) % size : 0;
        if (cut != 0) {
            const vtac_id parts[] = {vtac_make_slice(m, x, axis, cut, size),
                                     vtac_make_slice(m, x, axis, 0, cut)};
            x = vtac_make_concat(m, parts, 2, axis);
        }
    }
    return x;
}

static vtac_id make_shaped(vtac_keras *k, const char *name, vtac_id x, bool *known)
{
    vtac_import_builder *m = &k->maker;
    *known = true;
    if (strcmp(name, "reshape") == 0) {
        return make_reshape(k, x);
    }
    if (strcmp(name, "transpose") == 0) {
        return make_transpose(k, x);
    }
    if (is_one_of(name, "expand_dims", "squeeze")) {
        return with_axes(k, x, name[0] == 'e');
    }
    if (is_one_of(name, "concat", "concatenate")) {
        return make_concatenate(k);
    }
    if (is_one_of(name, "clip", "clip_by_value")) {
        return make_clip(k, x);
    }
    if (strcmp(name, "square") == 0) {
        return vtac_make2(m, VTAC_OP_MUL, x, x);
    }
    if (strcmp(name, "rsqrt") == 0) {
        return vtac_make1(m, VTAC_OP_RECIPROCAL, vtac_make1(m, VTAC_OP_SQRT, x));
    }
    if (strcmp(name, "matmul") == 0) {
        return make_product(k, x);
    }
    if (strcmp(name, "roll") == 0) {
        return make_roll(k, x);
    }
    if (strcmp(name, "cast") == 0) {
        return vtac_make_cast(m, x, VTAC_F32);
    }
    if (is_one_of(name, "l2_normalize", "normalize")) {
        return to_length(k, x);
    }
    if (is_one_of(name, "depth_to_space", "space_to_depth")) {
        return space_depth(k, x, name[0] == 'd' ? VTAC_OP_DEPTH_TO_SPACE : VTAC_OP_SPACE_TO_DEPTH);
    }
    if (strcmp(name, "squared_difference") == 0) {
        const vtac_id apart = vtac_make2(m, VTAC_OP_SUB, x, vtac_keras_operand_value(k, 1, false));
        return vtac_make2(m, VTAC_OP_MUL, apart, apart);
    }
    if (is_one_of(name, "stack", "tile")) {
        return name[0] == 's' ? make_stack(k) : make_tile(k, x);
    }
    if (strcmp(name, "pad") == 0) {
        return make_pad(k, x);
    }
    if (strcmp(name, "gelu") == 0) { /* Keras 3 takes the quick form unless told */
        const cJSON *quick = option_named(k, "approximate");
        const vtac_attr attr = vtac_attr_of_string("approximate", "tanh");
        const bool is_quick = quick == NULL ? k->version3 : cJSON_IsTrue(quick);
        return vtac_make(m, VTAC_OP_GELU, &x, 1, &attr, is_quick ? 1 : 0);
    }
    *known = false;
    return 0;
}

/* Equal parts, or (TensorFlow) parts of sizes of their own. */
static vtac_keras_value make_split(vtac_keras *k)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_operand_value(k, 0, false);
    const vtac_type type = vtac_made_type(m, x);
    int64_t sizes[KERAS_MAX_MORE + 1] = {0};
    int64_t axis = 0;
    const bool by_sizes = option_named(k, "num_or_size_splits") != NULL;
    const cJSON *item =
        option_of(k, (const char *const[]){"num_or_size_splits", "indices_or_sections", NULL});
    uint32_t count = numbers_of(item, sizes, KERAS_MAX_MORE + 1);
    (void)numbers_of(option_named(k, "axis"), &axis, 1);
    axis = wrapped_axis(k, axis, type.rank);
    const int64_t whole = m->status == VTA_OK ? type.dim[axis] : 0;
    if (cJSON_IsNumber(item) && sizes[0] > 0 && sizes[0] <= KERAS_MAX_MORE + 1 && whole % sizes[0] == 0) {
        count = (uint32_t)sizes[0];
        for (uint32_t i = count; i-- > 0;) {
            sizes[i] = whole / count;
        }
    } else if (cJSON_IsNumber(item) || !by_sizes || (uint32_t)cJSON_GetArraySize(item) != count) {
        count = 0;
    }
    vtac_keras_value first = {0};
    int64_t at = 0;
    for (uint32_t i = 0; i < count && m->status == VTA_OK; i++) {
        if (sizes[i] < 1 || sizes[i] > whole - at) {
            break;
        }
        const vtac_keras_value part =
            vtac_keras_as_plain(vtac_make_slice(m, x, (uint32_t)axis, at, at + sizes[i]));
        *(i == 0 ? &first : &k->more[i - 1]) = part;
        at += sizes[i];
    }
    if (m->status != VTA_OK || count == 0 || at != whole) {
        vtac_make_refuse(&k->maker, "parts of %lld places that do not make all of them, or more than %d",
                         (long long)whole, KERAS_MAX_MORE + 1);
        return (vtac_keras_value){0};
    }
    k->more_count = count - 1;
    return first;
}

/* Pictures [batch][height][width][channels] of another size. */
static vtac_keras_value make_resize(vtac_keras *k, bool near)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = vtac_keras_planes(k, &k->in[0]);
    const vtac_type type = vtac_made_type(m, x);
    const cJSON *mode = option_of(k, (const char *const[]){"method", "interpolation", NULL});
    const char *name = cJSON_IsString(mode) ? mode->valuestring : near ? "nearest" : "bilinear";
    const cJSON *format = option_named(k, "data_format");
    int64_t size[2] = {0};
    const uint32_t count = numbers_of(option_named(k, "size"), size, 2);
    static const char *const others[] = {"antialias", "preserve_aspect_ratio", "crop_to_aspect_ratio",
                                         "pad_to_aspect_ratio", "align_corners"};
    near = strcmp(name, "nearest") == 0;
    bool plain = count == 2 && size[0] > 0 && size[1] > 0 && type.rank == 4 &&
                 (near || strcmp(name, "bilinear") == 0) &&
                 !(cJSON_IsString(format) && strcmp(format->valuestring, "channels_first") == 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        plain = plain && !cJSON_IsTrue(option_named(k, others[i]));
    }
    if (m->status != VTA_OK || !plain) {
        vtac_make_refuse(&k->maker,
                         "a size of %u numbers, '%.40s', or a filter, borders, another rank than 4", count,
                         name);
        return (vtac_keras_value){0};
    }
    const int64_t to[] = {type.dim[0], type.dim[1], size[0], size[1]};
    const vtac_attr attrs[] = {
        vtac_attr_of_string("mode", near ? "nearest" : "linear"),
        vtac_attr_of_string("nearest_mode", "round_prefer_ceil"),
        vtac_attr_of_string("coordinate_transformation_mode",
                            vtac_keras_counts_corners(k) ? "asymmetric" : "half_pixel")};
    const vtac_id in[] = {vtac_make_cast(m, x, VTAC_F32), 0, 0, vtac_make_ints(m, to, 4)};
    return vtac_keras_as_planes(vtac_make(m, VTAC_OP_RESIZE, in, 4, attrs, 3));
}

vtac_keras_value vtac_keras_make_operation(vtac_keras *k, const void *how)
{
    const char *name = how;
    vtac_keras_value out = {0};
    bool known;
    if (k->in_count == 0) {
        vtac_make_fail(&k->maker, VTA_INVALID, "it is called without tensors");
        return out;
    }
    vtac_keras_take_constants(k);
    if (make_simple(k, name, &out) || make_reduction(k, name, &out)) {
        return out;
    }
    if (is_one_of(name, "getitem", "get_item")) {
        return item_of(k);
    }
    if (strcmp(name, "strided_slice") == 0) {
        return vtac_keras_as_plain(vtac_keras_strided_slice(k, vtac_keras_plain(k, &k->in[0])));
    }
    if (strcmp(name, "split") == 0) {
        return make_split(k);
    }
    if (strncmp(name, "resize", 6) == 0) {
        return make_resize(k, strcmp(name, "resize_nearest_neighbor") == 0);
    }
    vtac_id y = make_shaped(k, name, vtac_keras_plain(k, &k->in[0]), &known);
    y = known || k->maker.status != VTA_OK ? y : vtac_keras_more_operations(k, name, &known);
    if (known || k->maker.status != VTA_OK) {
        return vtac_keras_as_plain(y);
    }
    vtac_id x;
    const bool soft = strstr(name, "softmax") != NULL;
    const bool planes = !soft && vtac_keras_either(&k->in[0], &x);
    x = planes ? x : vtac_keras_plain(k, &k->in[0]);
    if (strcmp(name, "leaky_relu") == 0) {
        const double alpha = number_named(k, (const char *const[]){"alpha", "negative_slope", NULL}, 0.2);
        return vtac_keras_as(planes, vtac_keras_with_float(k, VTAC_OP_LEAKY_RELU, x, "alpha", alpha));
    }
    int64_t axis = -1;
    (void)numbers_of(option_named(k, "axis"), &axis, 1);
    return vtac_keras_as(planes, vtac_keras_activate(k, x, name, axis));
}

/* Capitals begin words: HardSigmoid, hard_sigmoid; of a function of TensorFlow the last part: math.add, add.
 */
bool vtac_keras_operation_name(const cJSON *node, const char *class, char *out, size_t size)
{
    const cJSON *module = cJSON_GetObjectItemCaseSensitive(node, "module");
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(node, "config");
    const cJSON *function = cJSON_GetObjectItemCaseSensitive(config, "function");
    if (is_one_of(class, "TFOpLambda", "SlicingOpLambda")) {
        const char *text = cJSON_IsString(function) ? function->valuestring : "";
        const char *dot = strrchr(text, '.');
        (void)snprintf(out, size, "%s", dot == NULL ? text : dot + 1);
        return true;
    }
    if (strcmp(class, "TensorFlowOpLayer") == 0) {
        return vtac_keras_node_name(config, out, size);
    }
    if (!cJSON_IsString(module) || strstr(module->valuestring, ".ops.") == NULL) {
        return false;
    }
    vtac_keras_snake_case(class, out, size);
    return true;
}
