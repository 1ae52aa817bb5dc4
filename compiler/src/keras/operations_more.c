/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that fewer models call between their layers: comparisons and choices, deviations, places of
 * extremes, axes that change places or direction.
 */
#include <string.h>

#include "keras.h"

static vtac_id operand_at(vtac_keras *k, uint32_t i)
{
    return vtac_keras_operand_value(k, i, false);
}

/* An option of the call or of the configuration. */
static const cJSON *option_named(const vtac_keras *k, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(k->kwargs, name);
    found = found == NULL || cJSON_IsNull(found) ? vtac_keras_option(k, name) : found;
    return found == NULL ? vtac_keras_node_option(k, name) : found;
}

/* The axes that an option names, as 0 to rank - 1; all where it names none. */
static uint32_t axes_of(vtac_keras *k, const char *name, uint32_t rank, int64_t *axes)
{
    const cJSON *item = option_named(k, name);
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(item, "items"); /* a tuple */
    item = inner != NULL ? inner : item;
    const int size = cJSON_IsNumber(item) ? 1 : cJSON_GetArraySize(item);
    uint32_t count = 0;
    for (int i = 0; i < size && count < VTAC_MAX_RANK; i++) {
        int64_t axis = vtac_keras_whole(cJSON_IsNumber(item) ? item : cJSON_GetArrayItem(item, i));
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= (int64_t)rank) {
            vtac_make_fail(&k->maker, VTA_INVALID, "axis %lld of %u", (long long)axis, rank);
            return 0;
        }
        axes[count++] = axis;
    }
    if (size == 0) {
        for (; count < rank; count++) {
            axes[count] = count;
        }
    }
    return count;
}

static bool keeps_dims(const vtac_keras *k)
{
    return cJSON_IsTrue(option_named(k, "keepdims")) || cJSON_IsTrue(option_named(k, "keep_dims"));
}

/* The mean of squares of what is off the mean; its root. */
static vtac_id make_deviation(vtac_keras *k, bool root)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = operand_at(k, 0);
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t count = axes_of(k, "axis", vtac_made_type(m, x).rank, axes);
    const vtac_id mean = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, x, axes, count, true);
    const vtac_id off = vtac_make2(m, VTAC_OP_SUB, x, mean);
    const vtac_id y = vtac_make_reduce(m, VTAC_OP_REDUCE_MEAN, vtac_make2(m, VTAC_OP_MUL, off, off), axes,
                                       count, keeps_dims(k));
    return root ? vtac_make1(m, VTAC_OP_SQRT, y) : y;
}

static vtac_id make_reduction(vtac_keras *k, vtac_op op)
{
    const vtac_id x = operand_at(k, 0);
    int64_t axes[VTAC_MAX_RANK];
    const uint32_t count = axes_of(k, "axis", vtac_made_type(&k->maker, x).rank, axes);
    return vtac_make_reduce(&k->maker, op, x, axes, count, keeps_dims(k));
}

/* Along one axis, or over all elements; as an int32 where Keras 3 counts, int64 where TensorFlow does. */
static vtac_id make_extreme(vtac_keras *k, vtac_op op)
{
    vtac_import_builder *m = &k->maker;
    vtac_id x = operand_at(k, 0);
    int64_t axes[VTAC_MAX_RANK] = {0};
    if (option_named(k, "axis") == NULL && k->version3) {
        const int64_t count[] = {vtac_made_elements(m, x)};
        x = vtac_make_reshape(m, x, count, 1);
    } else if (option_named(k, "axis") != NULL) {
        (void)axes_of(k, "axis", vtac_made_type(m, x).rank, axes);
    }
    const vtac_attr attrs[] = {vtac_attr_of_int("axis", axes[0]),
                               vtac_attr_of_int("keepdims", keeps_dims(k))};
    return vtac_make_cast(m, vtac_make(m, op, &x, 1, attrs, 2), k->version3 ? VTAC_I32 : VTAC_I64);
}

static vtac_id make_exchange(vtac_keras *k, bool move)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = operand_at(k, 0);
    const uint32_t rank = vtac_made_type(m, x).rank;
    int64_t from[VTAC_MAX_RANK];
    int64_t to[VTAC_MAX_RANK];
    int64_t order[VTAC_MAX_RANK];
    const uint32_t count = axes_of(k, move ? "source" : "axis1", rank, from);
    if (axes_of(k, move ? "destination" : "axis2", rank, to) != count || count != 1) {
        vtac_make_refuse(&k->maker, "other than one axis that moves");
        return 0;
    }
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i;
    }
    order[from[0]] = to[0];
    order[to[0]] = from[0];
    for (uint32_t i = 0, at = 0; move && i < rank; i++) {
        at += at == from[0] ? 1 : 0;
        order[i] = (int64_t)i == to[0] ? from[0] : at++;
    }
    return vtac_make_transpose(m, x, order, rank);
}

static vtac_id make_reverse(vtac_keras *k)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = operand_at(k, 0);
    int64_t axes[VTAC_MAX_RANK];
    int64_t begin[VTAC_MAX_RANK];
    int64_t end[VTAC_MAX_RANK];
    int64_t step[VTAC_MAX_RANK];
    const uint32_t count = axes_of(k, "axis", vtac_made_type(m, x).rank, axes);
    for (uint32_t i = 0; i < count; i++) {
        begin[i] = -1;
        end[i] = INT32_MIN;
        step[i] = -1;
    }
    const vtac_id in[] = {x, vtac_make_ints(m, begin, count), vtac_make_ints(m, end, count),
                          vtac_make_ints(m, axes, count), vtac_make_ints(m, step, count)};
    return vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

static vtac_id make_fill(vtac_keras *k, double value)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id x = operand_at(k, 0);
    const vtac_type type = vtac_made_type(m, x);
    const vtac_id one = vtac_make_number(m, type.dtype, value);
    return vtac_make2(m, VTAC_OP_EXPAND, one, vtac_make_ints(m, type.dim, type.rank));
}

/* The whole part of a quotient, or what is left: with the sign of the divisor. */
static vtac_id make_quotient(vtac_keras *k, bool rest)
{
    vtac_import_builder *m = &k->maker;
    const vtac_id a = operand_at(k, 0);
    const vtac_id b = operand_at(k, 1);
    if (m->status != VTA_OK || vtac_dtype_kind(vtac_made_type(m, a).dtype) != 'f') {
        vtac_make_refuse(&k->maker, "a quotient of integers");
        return 0;
    }
    const vtac_id whole = vtac_make1(m, VTAC_OP_FLOOR, vtac_make2(m, VTAC_OP_DIV, a, b));
    return rest ? vtac_make2(m, VTAC_OP_SUB, a, vtac_make2(m, VTAC_OP_MUL, whole, b)) : whole;
}

static vtac_id make_comparison(vtac_keras *k, const char *name, bool *known)
{
    static const struct {
        const char *name;
        vtac_op op;
        bool negated;
    } table[] = {{"greater", VTAC_OP_GREATER, false}, {"greater_equal", VTAC_OP_GREATER_OR_EQUAL, false},
                 {"less", VTAC_OP_LESS, false},       {"less_equal", VTAC_OP_LESS_OR_EQUAL, false},
                 {"equal", VTAC_OP_EQUAL, false},     {"not_equal", VTAC_OP_EQUAL, true},
                 {"logical_and", VTAC_OP_AND, false}, {"logical_or", VTAC_OP_OR, false}};
    vtac_import_builder *m = &k->maker;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(name, table[i].name) == 0) {
            *known = true;
            const vtac_id y = vtac_make2(m, table[i].op, operand_at(k, 0), operand_at(k, 1));
            return table[i].negated ? vtac_make1(m, VTAC_OP_NOT, y) : y;
        }
    }
    return 0;
}

static vtac_id of_one(vtac_keras *k, const char *name, bool *known)
{
    static const struct {
        const char *name;
        vtac_op op;
    } table[] = {
        {"sign", VTAC_OP_SIGN},       {"round", VTAC_OP_ROUND},   {"rint", VTAC_OP_ROUND},
        {"tan", VTAC_OP_TAN},         {"asin", VTAC_OP_ASIN},     {"acos", VTAC_OP_ACOS},
        {"atan", VTAC_OP_ATAN},       {"sinh", VTAC_OP_SINH},     {"cosh", VTAC_OP_COSH},
        {"arcsin", VTAC_OP_ASIN},     {"arccos", VTAC_OP_ACOS},   {"arctan", VTAC_OP_ATAN},
        {"logical_not", VTAC_OP_NOT}, {"copy", VTAC_OP_IDENTITY}, {"convert_to_tensor", VTAC_OP_IDENTITY}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(name, table[i].name) == 0) {
            *known = true;
            return vtac_make1(&k->maker, table[i].op, operand_at(k, 0));
        }
    }
    return 0;
}

vtac_id vtac_keras_more_operations(vtac_keras *k, const char *name, bool *known)
{
    vtac_import_builder *m = &k->maker;
    const bool variance = strcmp(name, "var") == 0 || strcmp(name, "reduce_variance") == 0;
    *known = true;
    if (variance || strcmp(name, "std") == 0 || strcmp(name, "reduce_std") == 0) {
        return make_deviation(k, !variance);
    }
    if (strcmp(name, "logsumexp") == 0 || strcmp(name, "reduce_logsumexp") == 0) {
        return make_reduction(k, VTAC_OP_REDUCE_LOG_SUM_EXP);
    }
    if (strcmp(name, "argmax") == 0 || strcmp(name, "argmin") == 0) {
        return make_extreme(k, name[4] == 'a' ? VTAC_OP_ARG_MAX : VTAC_OP_ARG_MIN);
    }
    if (strcmp(name, "swapaxes") == 0 || strcmp(name, "moveaxis") == 0) {
        return make_exchange(k, name[0] == 'm');
    }
    if (strcmp(name, "flip") == 0 || strcmp(name, "reverse") == 0) {
        return make_reverse(k);
    }
    if (strcmp(name, "zeros_like") == 0 || strcmp(name, "ones_like") == 0) {
        return make_fill(k, name[0] == 'o' ? 1.0 : 0.0);
    }
    if (strcmp(name, "floor_divide") == 0 || strcmp(name, "floordiv") == 0) {
        return make_quotient(k, false);
    }
    if (strcmp(name, "mod") == 0 || strcmp(name, "floormod") == 0 || strcmp(name, "remainder") == 0) {
        return make_quotient(k, true);
    }
    if (strcmp(name, "where") == 0) {
        return vtac_make3(m, VTAC_OP_WHERE, vtac_make_cast(m, operand_at(k, 0), VTAC_BOOL), operand_at(k, 1),
                          operand_at(k, 2));
    }
    if (strcmp(name, "log1p") == 0) {
        return vtac_make1(m, VTAC_OP_LOG,
                          vtac_make2(m, VTAC_OP_ADD, operand_at(k, 0), vtac_keras_number(k, 1.0)));
    }
    if (strcmp(name, "expm1") == 0) {
        return vtac_make2(m, VTAC_OP_SUB, vtac_make1(m, VTAC_OP_EXP, operand_at(k, 0)),
                          vtac_keras_number(k, 1.0));
    }
    *known = false;
    const vtac_id y = make_comparison(k, name, known);
    return *known ? y : of_one(k, name, known);
}

/* One input plus the other times a number: what joins the branches of Inception-ResNet. */
vtac_keras_value vtac_keras_make_custom_scale(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    if (k->in_count != 2) {
        vtac_make_fail(m, VTA_INVALID, "it needs 2 inputs, it has %u", k->in_count);
        return vtac_keras_as_plain(0);
    }
    vtac_id x[2];
    const bool planes = k->in[0].planes != 0 && k->in[1].planes != 0;
    for (int i = 0; i < 2; i++) {
        x[i] = planes ? k->in[i].planes : vtac_keras_plain(k, &k->in[i]);
    }
    const vtac_id scaled =
        vtac_make2(m, VTAC_OP_MUL, x[1], vtac_keras_number(k, vtac_keras_float(k, "scale", 1.0)));
    return vtac_keras_as(planes, vtac_make2(m, VTAC_OP_ADD, x[0], scaled));
}
