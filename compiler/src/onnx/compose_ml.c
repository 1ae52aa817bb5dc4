/* SPDX-License-Identifier: Apache-2.0
 *
 * ai.onnx.ml: what is done to features and labels, and linear models.
 */
#include "compose_ml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes */

vtac_numbers vtac_c_list(vtac_compose *c, const char *const *names)
{
    vtac_numbers list = {.dtype = VTAC_F32};
    for (; *names != NULL && list.count == 0; names++) {
        const vtac_attr *attr = vtac_c_attr(c, *names);
        if (attr == NULL) {
            continue;
        }
        if (attr->kind == VTAC_ATTR_INTS) {
            list = (vtac_numbers){.ints = attr->ints, .count = (int64_t)attr->count, .dtype = VTAC_I64};
        } else if (attr->kind == VTAC_ATTR_FLOATS) {
            list = (vtac_numbers){.floats = attr->floats, .count = (int64_t)attr->count, .dtype = VTAC_F32};
        } else if (attr->kind == VTAC_ATTR_TENSOR) {
            list = (vtac_numbers){.tensor = &attr->tensor,
                                  .count = vtac_type_elements(&attr->tensor.type),
                                  .dtype = attr->tensor.type.dtype};
        } else if (attr->kind == VTAC_ATTR_STRINGS) {
            list = (vtac_numbers){.ints = vtac_c_texts(c, attr->strings, attr->count),
                                  .count = (int64_t)attr->count,
                                  .dtype = VTAC_TEXT};
            list.count = list.ints == NULL ? 0 : list.count;
        } else {
            (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "attribute '%s' is not a list of numbers", *names);
        }
    }
    return list;
}

vtac_numbers vtac_c_list_of(vtac_compose *c, const char *name)
{
    const char *const names[] = {name, NULL};
    return vtac_c_list(c, names);
}

double vtac_number_at(const vtac_numbers *list, int64_t i)
{
    return list->ints != NULL     ? (double)list->ints[i]
           : list->floats != NULL ? list->floats[i]
                                  : vtac_tensor_float(list->tensor, i);
}

/* The whole part; of what has none that an integer holds, the least of all, which no place and no number is.
 */
static int64_t whole_of(double value)
{
    return fabs(value) < 0x1p62 ? (int64_t)value : INT64_MIN;
}

int64_t vtac_integer_at(const vtac_numbers *list, int64_t i)
{
    if (list->ints != NULL) {
        return list->ints[i];
    }
    const bool whole = list->floats == NULL && vtac_dtype_kind(list->tensor->type.dtype) != 'f';
    return whole ? vtac_tensor_int(list->tensor, i) : whole_of(vtac_number_at(list, i));
}

vtac_value_id vtac_c_integers(vtac_compose *c, const int64_t *values, int64_t count)
{
    return count > UINT32_MAX ? vtac_compose_fail(c, VTA_RANGE, "a list of 2^32 numbers")
                              : vtac_c_ints(c, values, (uint32_t)count);
}

vtac_value_id vtac_c_constant(vtac_compose *c, const vtac_numbers *list, vtac_dtype dtype)
{
    if (c->make.status != VTA_OK) {
        return 0;
    }
    if (vtac_dtype_kind(dtype) != 'f') { /* not by way of double, which has 53 bits */
        int64_t *values = vta_arena_array(&c->im->graph->arena, (size_t)list->count, sizeof *values);
        for (int64_t i = 0; values != NULL && i < list->count; i++) {
            values[i] = vtac_integer_at(list, i);
        }
        return values == NULL ? vtac_compose_fail(c, VTA_NOMEM, "out of memory")
                              : vtac_c_cast(c, vtac_c_integers(c, values, list->count), dtype);
    }
    const vtac_type type = {dtype, 1, {list->count}};
    double *values = vtac_c_room(c, list->count);
    for (int64_t i = 0; values != NULL && i < list->count; i++) {
        values[i] = vtac_number_at(list, i);
    }
    return values == NULL ? 0 : vtac_c_numbers(c, &type, values);
}

/* ---- inputs and outputs */

vtac_value_id vtac_c_floats(vtac_compose *c, uint32_t input, bool wide)
{
    const vtac_value_id x = vtac_c_in(c, input);
    return vtac_c_cast(c, x, wide && vtac_c_dtype(c, x) == VTAC_F64 ? VTAC_F64 : VTAC_F32);
}

vtac_value_id vtac_c_rows(vtac_compose *c, vtac_value_id x)
{
    const vtac_type type = vtac_c_type(c, x);
    const int64_t row[] = {1, type.dim[0]};
    if (c->make.status == VTA_OK && (type.rank < 1 || type.rank > 2)) {
        return vtac_compose_fail(c, VTA_INVALID, "the input has %u axes, expected [rows, columns]",
                                 type.rank);
    }
    return type.rank == 1 ? vtac_c_reshape(c, x, row, 2) : x;
}

vtac_numbers vtac_c_labels(vtac_compose *c, const char *ints, const char *strings)
{
    const char *const names[] = {strings, ints, NULL};
    return vtac_c_list(c, names);
}

static vtac_dtype label_type(const vtac_numbers *labels)
{
    return labels->dtype == VTAC_TEXT ? VTAC_TEXT : VTAC_I64;
}

vtac_value_id vtac_c_best_label(vtac_compose *c, vtac_value_id scores, const vtac_numbers *labels)
{
    vtac_c_set_int(c, "axis", 1);
    vtac_c_set_int(c, "keepdims", 0);
    const vtac_value_id best = vtac_c1(c, VTAC_OP_ARG_MAX, scores);
    return labels->count == 0 ? best
                              : vtac_c_gather(c, vtac_c_constant(c, labels, label_type(labels)), best, 0);
}

vtac_value_id vtac_c_choose(vtac_compose *c, vtac_value_id condition, const vtac_numbers *labels,
                            int64_t if_true, int64_t if_false)
{
    const vtac_value_id a = vtac_c_squeeze(c, vtac_c_ints(c, &if_true, 1), 0);
    const vtac_value_id b = vtac_c_squeeze(c, vtac_c_ints(c, &if_false, 1), 0);
    return vtac_c_cast(c, vtac_c_where(c, condition, a, b), label_type(labels));
}

/* A softmax in which what is 0 stays 0. */
static vtac_value_id softmax_zero(vtac_compose *c, vtac_value_id x)
{
    const vtac_dtype type = vtac_c_dtype(c, x);
    const vtac_value_id max = vtac_c_reduce(c, VTAC_OP_REDUCE_MAX, x, 1, 1);
    const vtac_value_id counts = vtac_c_more_number(c, vtac_c_abs(c, x), 1e-7);
    const vtac_value_id e = vtac_c_where(c, counts, vtac_c_exp(c, vtac_c_sub(c, x, max)),
                                         vtac_c_mul(c, x, vtac_c_exp(c, vtac_c_neg(c, max))));
    const vtac_value_id sum = vtac_c_reduce(c, VTAC_OP_REDUCE_SUM, e, 1, 1);
    const vtac_value_id none = vtac_c_equal_number(c, sum, 0.0);
    return vtac_c_where(c, none, vtac_c_number(c, type, 0.5), vtac_c_div(c, e, sum));
}

/* sqrt(2) times the inverse of erf at 2 x - 1, by Winitzki's formula, as the standard's reference has it */
static vtac_value_id compose_probit(vtac_compose *c, vtac_value_id x)
{
    static const double pi = 3.14159265358979323846;
    static const double a = 0.147;
    const vtac_dtype type = vtac_c_dtype(c, x);
    const vtac_value_id zero = vtac_c_number(c, type, 0.0);
    const vtac_value_id p = vtac_c_sub_number(c, vtac_c_mul_number(c, x, 2.0), 1.0);
    const vtac_value_id rest =
        vtac_c_mul(c, vtac_c_sub(c, vtac_c_number(c, type, 1.0), p), vtac_c_add_number(c, p, 1.0));
    const vtac_value_id log = vtac_c_log(c, rest);
    const vtac_value_id v = vtac_c_add_number(c, vtac_c_mul_number(c, log, 0.5), 2.0 / (pi * a));
    const vtac_value_id square = vtac_c_sub(c, vtac_c_mul(c, v, v), vtac_c_mul_number(c, log, 1.0 / a));
    const vtac_value_id y = vtac_c_sqrt(c, vtac_c_sub(c, vtac_c_sqrt(c, square), v));
    const vtac_value_id turned = vtac_c_where(c, vtac_c_less(c, p, zero), vtac_c_neg(c, y), y);
    return vtac_c_mul_number(c, vtac_c_where(c, vtac_c_equal(c, rest, zero), zero, turned), 1.41421356);
}

vtac_value_id vtac_c_post(vtac_compose *c, vtac_value_id scores)
{
    const vtac_attr *attr = vtac_c_attr(c, "post_transform");
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *asked = attr != NULL && attr->kind == VTAC_ATTR_STRING ? attr->s
                        : attr != NULL && attr->kind == VTAC_ATTR_INT && attr->i >= 0 && attr->i < 5
                            ? names[attr->i]
                            : "NONE";
    if (strcmp(asked, "LOGISTIC") == 0) {
        return vtac_c_sigmoid(c, scores);
    }
    if (strcmp(asked, "SOFTMAX") == 0) {
        return vtac_c_softmax(c, scores, -1);
    }
    if (strcmp(asked, "SOFTMAX_ZERO") == 0) {
        return softmax_zero(c, scores);
    }
    if (strcmp(asked, "PROBIT") == 0) {
        return compose_probit(c, scores);
    }
    return strcmp(asked, "NONE") == 0
               ? scores
               : vtac_compose_fail(c, VTA_INVALID, "post_transform '%.32s' is not one that it has", asked);
}

/* ---- features */

/* One number, or one for each column. */
static vtac_value_id per_column(vtac_compose *c, const char *name, vtac_dtype dtype, vtac_value_id x,
                                double otherwise)
{
    const vtac_numbers list = vtac_c_list_of(c, name);
    const uint32_t rank = vtac_c_rank(c, x);
    if (list.count == 0) {
        return vtac_c_number(c, dtype, otherwise);
    }
    if (c->make.status == VTA_OK && list.count != 1 &&
        (rank < 1 || vtac_c_dim(c, x, rank - 1) != list.count)) {
        return vtac_compose_fail(c, VTA_INVALID, "'%s' has %lld numbers, one or one a column are expected",
                                 name, (long long)list.count);
    }
    return vtac_c_constant(c, &list, dtype);
}

void vtac_composed_ml_scaler(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_floats(c, 0, false);
    const vtac_value_id offset = per_column(c, "offset", VTAC_F32, x, 0.0);
    out[0] = vtac_c_mul(c, vtac_c_sub(c, x, offset), per_column(c, "scale", VTAC_F32, x, 1.0));
}

void vtac_composed_ml_binarizer(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_dtype type = vtac_c_dtype(c, x);
    const double threshold = vtac_c_float(c, "threshold", 0.0);
    /* a whole number is above the threshold where it is above its floor */
    const vtac_value_id above =
        vtac_c_more_number(c, x, vtac_dtype_kind(type) == 'f' ? threshold : floor(threshold));
    out[0] = vtac_c_where(c, above, vtac_c_number(c, type, 1.0), vtac_c_number(c, type, 0.0));
}

void vtac_composed_ml_normalizer(vtac_compose *c, vtac_value_id *out)
{
    const char *norm = vtac_c_string(c, "norm", "MAX");
    const vtac_value_id x = vtac_c_floats(c, 0, false);
    const uint32_t rank = vtac_c_rank(c, x);
    const vtac_op op = strcmp(norm, "L1") == 0   ? VTAC_OP_REDUCE_L1
                       : strcmp(norm, "L2") == 0 ? VTAC_OP_REDUCE_L2
                                                 : VTAC_OP_REDUCE_MAX;
    if (c->make.status == VTA_OK &&
        (rank < 1 || rank > 2 || (op == VTAC_OP_REDUCE_MAX && strcmp(norm, "MAX") != 0))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "norm '%.32s' of %u axes", norm, rank);
        return;
    }
    const vtac_value_id wide = vtac_c_cast(c, x, VTAC_F64);
    const vtac_value_id size =
        vtac_c_reduce(c, op, op == VTAC_OP_REDUCE_MAX ? vtac_c_abs(c, wide) : wide, rank - 1, rank - 1);
    const vtac_value_id none = vtac_c_equal_number(c, size, 0.0);
    const vtac_value_id divisor = vtac_c_where(c, none, vtac_c_number(c, VTAC_F64, 1.0), size);
    out[0] = vtac_c_cast(c, vtac_c_div(c, wide, divisor), VTAC_F32);
}

void vtac_composed_ml_imputer(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_dtype type = vtac_c_dtype(c, x);
    const bool floats = vtac_dtype_kind(type) == 'f';
    const char *name = floats ? "imputed_value_floats" : "imputed_value_int64s";
    if (vtac_c_list_of(c, name).count == 0) {
        (void)vtac_compose_fail(c, VTA_INVALID, "attribute '%s' is missing", name);
        return;
    }
    const vtac_value_id value = per_column(c, name, type, x, 0.0);
    const double replaced = vtac_c_float(c, "replaced_value_float", 0.0);
    const int64_t whole = vtac_c_int(c, "replaced_value_int64", 0);
    vtac_value_id missing = 0;
    if (!floats) {
        missing = vtac_c_equal(c, x, vtac_c_cast(c, vtac_c_ints(c, &whole, 1), type));
    } else {
        missing = isnan(replaced) ? vtac_c1(c, VTAC_OP_IS_NAN, x) : vtac_c_equal_number(c, x, replaced);
    }
    out[0] = vtac_c_where(c, missing, value, x);
}

void vtac_composed_ml_feature_extractor(vtac_compose *c, vtac_value_id *out)
{
    vtac_value_id x = vtac_c_in(c, 0);
    const vtac_value_id places = vtac_c_in(c, 1);
    const int64_t line[] = {vtac_c_elements(c, places)};
    const int64_t row[] = {1, vtac_c_dim(c, x, 0)};
    x = vtac_c_rank(c, x) == 1 ? vtac_c_reshape(c, x, row, 2) : x;
    out[0] = vtac_c_gather(c, x, vtac_c_reshape(c, places, line, 1), (int64_t)vtac_c_rank(c, x) - 1);
}

/* Columns of each input, as many as are asked for, side by side. */
void vtac_composed_ml_feature_vectorizer(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers sizes = vtac_c_list_of(c, "inputdimensions");
    vtac_value_id parts[VTAC_MAX_INPUTS];
    const uint32_t count = c->of->input_count;
    if (count < 1 || (sizes.count != 0 && sizes.count != count)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%u inputs do not fit its sizes", count);
        return;
    }
    for (uint32_t i = 0; i < count && c->make.status == VTA_OK; i++) {
        vtac_value_id x = vtac_c_floats(c, i, false);
        const int64_t column[] = {vtac_c_dim(c, x, 0), 1};
        x = vtac_c_rank(c, x) == 1 ? vtac_c_reshape(c, x, column, 2) : vtac_c_rows(c, x);
        const int64_t has = vtac_c_dim(c, x, 1);
        const int64_t wanted = sizes.count == 0 ? has : vtac_integer_at(&sizes, i);
        if (c->make.status == VTA_OK && (wanted < 0 || wanted > INT32_MAX)) {
            (void)vtac_compose_fail(c, VTA_RANGE, "%lld columns of input %u", (long long)wanted, i);
        }
        parts[i] = wanted < has ? vtac_c_slice(c, x, 1, 0, wanted) : vtac_c_pad(c, x, 1, 0, wanted - has);
    }
    out[0] = vtac_c_concat(c, parts, count, 1);
}

/* ---- labels */

void vtac_composed_ml_one_hot(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers labels = vtac_c_labels(c, "cats_int64s", "cats_strings");
    const vtac_value_id given = vtac_c_in(c, 0);
    const vtac_value_id x = vtac_c_cast(c, given, VTAC_I64);
    if (labels.count == 0 || (labels.dtype == VTAC_TEXT) != (vtac_c_dtype(c, given) == VTAC_TEXT)) {
        (void)vtac_compose_fail(c, VTA_INVALID,
                                "its categories are missing, or of another type than its input");
        return;
    }
    const vtac_value_id column = vtac_c_unsqueeze(c, x, vtac_c_rank(c, x));
    out[0] = vtac_c_cast(c, vtac_c_equal(c, column, vtac_c_constant(c, &labels, VTAC_I64)), VTAC_F32);
}

typedef struct key_pair {
    double key;
    int64_t whole; /* the key, where it is an integer */
    int64_t place;
} key_pair;

static int by_key(const void *a, const void *b)
{
    const key_pair *x = a;
    const key_pair *y = b;
    if (x->whole != y->whole) {
        return x->whole < y->whole ? -1 : 1;
    }
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->place < y->place ? -1 : 1;
}

/* The place of each key of x among sorted ones, the last that is not above it: by halves. */
static vtac_value_id search_keys(vtac_compose *c, vtac_value_id x, vtac_value_id keys, int64_t count)
{
    const vtac_type type = vtac_c_type(c, x);
    vtac_type shape = type;
    shape.dtype = VTAC_I64;
    int64_t step = 1;
    vtac_value_id at = vtac_c_fill(c, &shape, 0.0);
    while (step < count) {
        step *= 2;
    }
    for (; step > 0 && c->make.status == VTA_OK; step /= 2) {
        const vtac_value_id next = vtac_c_add_number(c, at, (double)step);
        const vtac_value_id held = vtac_c_min_number(c, next, (double)(count - 1));
        const vtac_value_id below =
            vtac_c_and(c, vtac_c_less(c, next, vtac_c_number(c, VTAC_I64, (double)count)),
                       vtac_c_at_most(c, vtac_c_gather(c, keys, held, 0), x));
        at = vtac_c_where(c, below, next, at);
    }
    return at;
}

/* The keys sorted, each with the place of its value, those that are NaN apart; returns how many are sorted.
 */
static int64_t sort_keys(vtac_compose *c, const vtac_numbers *keys, key_pair *pairs, int64_t *nan_place)
{
    int64_t count = 0;
    const bool floats = vtac_dtype_kind(keys->dtype) == 'f';
    (void)c;
    *nan_place = -1;
    for (int64_t i = 0; i < keys->count; i++) {
        const double key = floats ? vtac_number_at(keys, i) : 0.0;
        if (isnan(key)) {
            *nan_place = i;
        } else {
            pairs[count++] = (key_pair){key, floats ? 0 : vtac_integer_at(keys, i), i};
        }
    }
    qsort(pairs, (size_t)count, sizeof *pairs, by_key);
    return count;
}

/* The value of each element's key; `otherwise` (one element) of what is no key. */
static vtac_value_id look_up(vtac_compose *c, vtac_value_id x, const vtac_numbers *keys,
                             const vtac_numbers *values, vtac_value_id otherwise)
{
    const vtac_dtype of = vtac_c_dtype(c, x);
    if (c->make.status == VTA_OK && (keys->count < 1 || keys->count != values->count)) {
        return vtac_compose_fail(c, VTA_INVALID, "%lld keys for %lld values", (long long)keys->count,
                                 (long long)values->count);
    }
    if (c->make.status == VTA_OK && (keys->dtype == VTAC_TEXT) != (of == VTAC_TEXT)) {
        return vtac_compose_fail(c, VTA_INVALID, "its keys are %s, its input is %s",
                                 vtac_dtype_name(keys->dtype), vtac_dtype_name(of));
    }
    key_pair *pairs = c->make.status == VTA_OK
                          ? vta_arena_array(&c->im->graph->arena, (size_t)keys->count, sizeof *pairs)
                          : NULL;
    if (pairs == NULL) {
        return vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    const bool floats = vtac_dtype_kind(of) == 'f';
    const vtac_dtype wide = floats ? of : VTAC_I64;
    vtac_numbers typed = *keys;
    typed.dtype = floats ? VTAC_F64 : VTAC_I64;
    int64_t nan_place;
    const int64_t count = sort_keys(c, &typed, pairs, &nan_place);
    double *sorted = vtac_c_room(c, count);
    int64_t *whole = vta_arena_array(&c->im->graph->arena, (size_t)keys->count, sizeof *whole);
    int64_t *places = vta_arena_array(&c->im->graph->arena, (size_t)keys->count, sizeof *places);
    if (sorted == NULL || whole == NULL || places == NULL) {
        return vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    for (int64_t i = 0; i < count; i++) {
        sorted[i] = pairs[i].key;
        whole[i] = pairs[i].whole;
        places[i] = pairs[i].place;
    }
    const vtac_type line = {wide, 1, {count}};
    const vtac_value_id labels = vtac_c_constant(c, values, values->dtype);
    const vtac_type shape = vtac_c_type(c, x);
    vtac_value_id y = vtac_c_expand(c, otherwise, shape.dim, shape.rank);
    if (count > 0) {
        const vtac_value_id known =
            floats ? vtac_c_numbers(c, &line, sorted) : vtac_c_integers(c, whole, count);
        const vtac_value_id given = vtac_c_cast(c, x, wide);
        const vtac_value_id at = search_keys(c, given, known, count);
        const vtac_value_id found = vtac_c_equal(c, vtac_c_gather(c, known, at, 0), given);
        const vtac_value_id place = vtac_c_gather(c, vtac_c_integers(c, places, count), at, 0);
        y = vtac_c_where(c, found, vtac_c_gather(c, labels, place, 0), y);
    }
    if (nan_place >= 0 && floats) {
        y = vtac_c_where(c, vtac_c1(c, VTAC_OP_IS_NAN, x),
                         vtac_c_gather(c, labels, vtac_c_number(c, VTAC_I64, (double)nan_place), 0), y);
    }
    return y;
}

/* Default result for values that are no key, by the type of the values. */
static vtac_value_id default_of(vtac_compose *c, vtac_dtype dtype)
{
    static const char *const names[] = {"default_tensor", "default_as_tensor", NULL};
    const vtac_numbers given = vtac_c_list(c, names);
    if (given.count > 0) {
        const vtac_numbers one = {.tensor = given.tensor, .count = 1, .dtype = given.dtype};
        return vtac_c_constant(c, &one, dtype);
    }
    if (dtype == VTAC_TEXT) {
        const char *text = vtac_c_string(c, "default_string", "_Unused");
        const vtac_numbers one = {.ints = vtac_c_texts(c, &text, 1), .count = 1, .dtype = VTAC_TEXT};
        return one.ints != NULL ? vtac_c_constant(c, &one, VTAC_TEXT) : 0;
    }
    return vtac_dtype_kind(dtype) == 'f'
               ? vtac_c_number(c, dtype, vtac_c_float(c, "default_float", -0.0))
               : vtac_c_number(c, dtype, (double)vtac_c_int(c, "default_int64", -1));
}

/* Texts to the numbers beside them, or numbers to the texts: by the type of the input. */
static void both_ways(vtac_compose *c, const vtac_numbers *texts, const vtac_numbers *numbers,
                      vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const bool of_text = vtac_c_dtype(c, x) == VTAC_TEXT;
    out[0] = look_up(c, x, of_text ? texts : numbers, of_text ? numbers : texts,
                     default_of(c, of_text ? VTAC_I64 : VTAC_TEXT));
}

/* The form of version 1. */
static void label_encoder_1(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers texts = vtac_c_list_of(c, "classes_strings");
    int64_t *places = vta_arena_array(&c->im->graph->arena, (size_t)texts.count, sizeof *places);
    for (int64_t i = 0; places != NULL && i < texts.count; i++) {
        places[i] = i;
    }
    const vtac_numbers numbers = {.ints = places, .count = texts.count, .dtype = VTAC_I64};
    if (places == NULL) {
        (void)vtac_compose_fail(c, VTA_NOMEM, "out of memory");
        return;
    }
    both_ways(c, &texts, &numbers, out);
}

void vtac_composed_ml_label_encoder(vtac_compose *c, vtac_value_id *out)
{
    static const char *const key_names[] = {"keys_tensor", "keys_as_tensor", "keys_int64s",
                                            "keys_floats", "keys_strings",   NULL};
    static const char *const value_names[] = {"values_tensor", "values_as_tensor", "values_int64s",
                                              "values_floats", "values_strings",   NULL};
    if (vtac_c_attr(c, "classes_strings") != NULL) {
        label_encoder_1(c, out);
        return;
    }
    const vtac_numbers keys = vtac_c_list(c, key_names);
    const vtac_numbers values = vtac_c_list(c, value_names);
    out[0] = look_up(c, vtac_c_in(c, 0), &keys, &values, default_of(c, values.dtype));
}

void vtac_composed_ml_category_mapper(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers texts = vtac_c_list_of(c, "cats_strings");
    const vtac_numbers numbers = vtac_c_list_of(c, "cats_int64s");
    both_ways(c, &texts, &numbers, out);
}

/* A list of maps from labels to scores: the scores. */
void vtac_composed_ml_zip_map(vtac_compose *c, vtac_value_id *out)
{
    out[0] = vtac_c1(c, VTAC_OP_IDENTITY, vtac_c_in(c, 0));
}

/* ---- linear models */

/* x times coefficients [targets, columns], plus what is added to each. */
static vtac_value_id compose_linear(vtac_compose *c, int64_t targets)
{
    static const int64_t turned[] = {1, 0};
    const vtac_numbers factors = vtac_c_list_of(c, "coefficients");
    const vtac_numbers added = vtac_c_list_of(c, "intercepts");
    const vtac_value_id x = vtac_c_rows(c, vtac_c_floats(c, 0, true));
    const vtac_dtype type = vtac_c_dtype(c, x);
    const int64_t columns = vtac_c_dim(c, x, 1);
    targets = targets == 0 && columns > 0 ? factors.count / columns : targets;
    if (c->make.status == VTA_OK &&
        (targets < 1 || columns < 1 || factors.count / targets != columns || factors.count % targets != 0 ||
         (added.count != 0 && added.count != targets))) {
        return vtac_compose_fail(c, VTA_INVALID, "%lld coefficients do not fit %lld columns",
                                 (long long)factors.count, (long long)columns);
    }
    const int64_t shape[] = {targets, columns};
    const vtac_value_id w = vtac_c_reshape(c, vtac_c_constant(c, &factors, type), shape, 2);
    const vtac_value_id y = vtac_c_matmul(c, x, vtac_c_transpose(c, w, turned, 2));
    return added.count == 0 ? y : vtac_c_add(c, y, vtac_c_constant(c, &added, type));
}

void vtac_composed_ml_linear_regressor(vtac_compose *c, vtac_value_id *out)
{
    out[0] = vtac_c_cast(c, vtac_c_post(c, compose_linear(c, vtac_c_int(c, "targets", 1))), VTAC_F32);
}

void vtac_composed_ml_linear_classifier(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers labels = vtac_c_labels(c, "classlabels_ints", "classlabels_strings");
    vtac_value_id scores = compose_linear(c, 0);
    if (vtac_c_dim(c, scores, 1) == 1 && labels.count == 2) {
        const vtac_value_id both[] = {vtac_c_neg(c, scores), scores};
        scores = vtac_c_concat(c, both, 2, 1);
    }
    const int64_t classes = vtac_c_dim(c, scores, 1);
    if (c->make.status == VTA_OK && labels.count > 0 && labels.count != classes) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld labels for %lld classes", (long long)labels.count,
                                (long long)classes);
        return;
    }
    scores = vtac_c_post(c, scores);
    if (classes > 1) {
        out[0] = vtac_c_best_label(c, scores, &labels);
    } else {
        const bool plain = strcmp(vtac_c_string(c, "post_transform", "NONE"), "NONE") == 0;
        const vtac_value_id limit = vtac_c_number(c, vtac_c_dtype(c, scores), plain ? 0.0 : 0.5);
        const vtac_value_id won = vtac_c_squeeze(c, vtac_c_at_least(c, scores, limit), 1);
        out[0] = vtac_c_choose(c, won, &labels, labels.count > 0 ? vtac_integer_at(&labels, 0) : 1, 0);
    }
    out[1] = vtac_c_cast(c, scores, VTAC_F32);
}
