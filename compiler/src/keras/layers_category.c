/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers over categories: places in a vocabulary of numbers, in a list of bounds, and rows that mark such
 * places.
 */
#include <string.h>

#include "keras.h"

enum { MAX_SPAN = 1 << 22, MAX_TOKENS = 1 << 22, MAX_MARKS = 1 << 30 };

/* Places [batch] … of 0 to count - 1 as rows of so many: a one for each (one_hot), or all of a sample in one
 * row, marked or counted. */
static vtac_keras_value encode_rows(vtac_keras *k, vtac_id x, int64_t count, const char *mode)
{
    vtac_import_builder *m = &k->maker;
    const vtac_type type = vtac_made_type(m, x);
    const bool single = strcmp(mode, "one_hot") == 0;
    if (m->status != VTA_OK) {
        return vtac_keras_as_plain(0);
    }
    if (count < 1 || count > MAX_TOKENS || vtac_type_elements(&type) > MAX_MARKS / count ||
        (!single && type.rank != 2) || type.rank < 1 || type.rank >= VTAC_MAX_RANK ||
        (!single && strcmp(mode, "multi_hot") != 0 && strcmp(mode, "count") != 0)) {
        vtac_make_refuse(
            &k->maker,
            "the output '%.40s' of %lld tokens, rank %u; 'one_hot', and 'multi_hot' or 'count' of rank 2",
            mode, (long long)count, type.rank);
        return vtac_keras_as_plain(0);
    }
    int64_t dims[VTAC_MAX_RANK];
    memcpy(dims, type.dim, sizeof dims);
    uint32_t rank = type.rank;
    if (single && rank > 1 && dims[rank - 1] == 1) {
        rank--; /* that axis becomes the row */
    }
    dims[rank] = 1;
    const bool rows = !single;
    int64_t *numbers = vtac_make_room(m, count, sizeof *numbers);
    for (int64_t i = 0; numbers != NULL && i < count; i++) {
        numbers[i] = i;
    }
    if (numbers == NULL) {
        return vtac_keras_as_plain(0);
    }
    const vtac_id all = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {count}}, numbers);
    vtac_id y = vtac_make_reshape(m, vtac_make_cast(m, x, VTAC_I64), dims, rank + 1);
    y = vtac_make_cast(m, vtac_make2(m, VTAC_OP_EQUAL, y, all), VTAC_F32);
    const int64_t axis = 1;
    if (rows) {
        const vtac_op op = strcmp(mode, "count") == 0 ? VTAC_OP_REDUCE_SUM : VTAC_OP_REDUCE_MAX;
        y = vtac_make_reduce(m, op, y, &axis, 1, false);
    }
    return vtac_keras_as_plain(y);
}

static bool one_input(vtac_keras *k)
{
    if (k->in_count > 1) {
        vtac_make_refuse(&k->maker, "weights of the counts");
    }
    return k->in_count <= 1;
}

vtac_keras_value vtac_keras_make_category_encoding(vtac_keras *k, const void *how)
{
    (void)how;
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    return one_input(k) ? encode_rows(k, x, vtac_keras_int(k, "num_tokens", 0),
                                      vtac_keras_text(k, "output_mode", "multi_hot"))
                        : vtac_keras_as_plain(0);
}

/* Maps each number to the count of bounds that are at or below it. */
vtac_keras_value vtac_keras_make_discretization(vtac_keras *k, const void *how)
{
    (void)how;
    vtac_import_builder *m = &k->maker;
    const cJSON *bounds = vtac_keras_option(k, "bin_boundaries");
    const int count = cJSON_GetArraySize(bounds);
    const vtac_id x = vtac_keras_plain(k, &k->in[0]);
    const vtac_type type = vtac_made_type(m, x);
    float *values = vtac_make_room(m, count + 1, sizeof *values);
    int64_t dims[VTAC_MAX_RANK];
    if (count < 1 || !cJSON_IsArray(bounds) || type.rank >= VTAC_MAX_RANK) {
        vtac_make_refuse(
            &k->maker, "its bounds are not in its configuration (it was adapted); give it 'bin_boundaries'");
        return vtac_keras_as_plain(0);
    }
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, bounds)
    {
        if (values != NULL) {
            values[i++] = (float)(cJSON_IsNumber(item) ? item->valuedouble : 0.0);
        }
    }
    memcpy(dims, type.dim, sizeof dims);
    dims[type.rank] = 1;
    const vtac_id all =
        values == NULL ? 0 : vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 1, {count}}, values);
    vtac_id y = vtac_make_reshape(m, vtac_make_cast(m, x, VTAC_F32), dims, type.rank + 1);
    y = vtac_make_cast(m, vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, y, all), VTAC_I64);
    const int64_t axis = type.rank;
    y = vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, y, &axis, 1, false);
    const char *mode = vtac_keras_text(k, "output_mode", "int");
    return strcmp(mode, "int") == 0 ? vtac_keras_as_plain(y) : encode_rows(k, y, count + 1, mode);
}

/* ---- vocabularies of integers */

typedef struct vocabulary {
    const int64_t *words;
    int64_t count; /* of words */
    int64_t mask, unknown;
    int64_t first;   /* place of the first word */
    int64_t strange; /* places of words that it has not, before that */
    bool has_mask;   /* place 0 is the mask */
} vocabulary;

static bool read_vocabulary(vtac_keras *k, bool places, vocabulary *v)
{
    const cJSON *list = vtac_keras_option(k, "vocabulary");
    const cJSON *mask = vtac_keras_option(k, "mask_token");
    const int count = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || count < 1) {
        vtac_make_refuse(
            &k->maker,
            "its vocabulary is not in its configuration (it was adapted, or is in a file); give the "
            "layer its words as 'vocabulary' before it is saved");
        return false;
    }
    *v = (vocabulary){.strange = vtac_keras_int(k, "num_oov_indices", 1),
                      .unknown = vtac_keras_int(k, "oov_token", -1)};
    int64_t *words = vtac_make_room(&k->maker, count, sizeof *words);
    int64_t used = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (words != NULL) {
            words[used++] = vtac_keras_whole(item);
        }
    }
    v->mask = cJSON_IsNumber(mask) ? vtac_keras_whole(mask) : 0;
    const bool masks = cJSON_IsNumber(mask);
    v->has_mask = masks && places;
    if (words == NULL || v->strange < 0 || v->strange > MAX_TOKENS) {
        vtac_make_fail(&k->maker, VTA_INVALID, "%lld places of unknown words", (long long)v->strange);
        return false;
    }
    /* a list may begin with the mask and the unknown words' tokens, which are no words then */
    const int64_t special = (masks ? 1 : 0) + v->strange;
    int64_t begins = 0;
    while (begins < special && begins < used &&
           words[begins] == (masks && begins == 0 ? v->mask : v->unknown)) {
        begins++;
    }
    begins = begins == special ? special : 0;
    v->words = words + begins;
    v->count = used - begins;
    v->first = v->strange + (v->has_mask ? 1 : 0);
    return v->count > 0;
}

/* Integers to their places, by a table from the least word to the greatest. */
static vtac_id find_places(vtac_keras *k, vtac_id x, const vocabulary *v)
{
    vtac_import_builder *m = &k->maker;
    int64_t low = v->words[0];
    int64_t high = v->words[0];
    for (int64_t i = 1; i < v->count; i++) {
        low = v->words[i] < low ? v->words[i] : low;
        high = v->words[i] > high ? v->words[i] : high;
    }
    if ((uint64_t)high - (uint64_t)low >= MAX_SPAN) {
        vtac_make_refuse(&k->maker, "a vocabulary whose integers are 2^22 apart, or more");
        return 0;
    }
    const int64_t span = high - low + 1;
    int64_t *table = vtac_make_room(m, span + 2, sizeof *table);
    if (table == NULL) {
        return 0;
    }
    memset(table, 0xff, (size_t)(span + 2) * sizeof *table); /* -1: unknown, as are the ends */
    for (int64_t i = 0; i < v->count; i++) {
        table[v->words[i] - low + 1] = v->first + i;
    }
    const vtac_id places = vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {span + 2}}, table);
    const vtac_id held =
        vtac_make2(m, VTAC_OP_MIN,
                   vtac_make2(m, VTAC_OP_MAX, x,
                              vtac_make_constant(m, &(vtac_type){VTAC_I64, 0, {0}}, &(int64_t){low - 1})),
                   vtac_make_constant(m, &(vtac_type){VTAC_I64, 0, {0}}, &(int64_t){high + 1}));
    const vtac_id at = vtac_make2(m, VTAC_OP_SUB, held,
                                  vtac_make_constant(m, &(vtac_type){VTAC_I64, 0, {0}}, &(int64_t){low - 1}));
    vtac_id y = vtac_make2(m, VTAC_OP_GATHER, places, at);
    if (v->strange > 0) {
        vtac_id other = vtac_make_number(m, VTAC_I64, v->has_mask ? 1.0 : 0.0);
        if (v->strange > 1) { /* by the rest of a division */
            const vtac_id rest =
                vtac_make2(m, VTAC_OP_MOD, x, vtac_make_number(m, VTAC_I64, (double)v->strange));
            other = vtac_make2(m, VTAC_OP_ADD, rest, other);
        }
        const vtac_id unknown = vtac_make2(m, VTAC_OP_LESS, y, vtac_make_number(m, VTAC_I64, 0.0));
        y = vtac_make3(m, VTAC_OP_WHERE, unknown, other, y);
    }
    if (v->has_mask) {
        const vtac_id mask = vtac_make_constant(m, &(vtac_type){VTAC_I64, 0, {0}}, &v->mask);
        y = vtac_make3(m, VTAC_OP_WHERE, vtac_make2(m, VTAC_OP_EQUAL, x, mask),
                       vtac_make_number(m, VTAC_I64, 0.0), y);
    }
    return y;
}

/* Places to integers; a place that is none is an unknown word. */
static vtac_id find_words(vtac_keras *k, vtac_id x, const vocabulary *v)
{
    vtac_import_builder *m = &k->maker;
    const int64_t count = v->first + v->count;
    int64_t *table = vtac_make_room(m, count + 1, sizeof *table);
    for (int64_t i = 0; table != NULL && i <= count; i++) {
        table[i] = i == 0 && v->has_mask        ? v->mask
                   : i < v->first || i == count ? v->unknown
                                                : v->words[i - v->first];
    }
    const vtac_id words =
        table == NULL ? 0 : vtac_make_borrowed(m, &(vtac_type){VTAC_I64, 1, {count + 1}}, table);
    const vtac_id end = vtac_make_number(m, VTAC_I64, (double)count);
    const vtac_id below = vtac_make2(m, VTAC_OP_LESS, x, vtac_make_number(m, VTAC_I64, 0.0));
    const vtac_id at = vtac_make3(m, VTAC_OP_WHERE, below, end, vtac_make2(m, VTAC_OP_MIN, x, end));
    return vtac_make2(m, VTAC_OP_GATHER, words, at);
}

vtac_keras_value vtac_keras_make_integer_lookup(vtac_keras *k, const void *how)
{
    (void)how;
    vocabulary v;
    const char *mode = vtac_keras_text(k, "output_mode", "int");
    const bool places = strcmp(mode, "int") == 0;
    const vtac_id x = vtac_make_cast(&k->maker, vtac_keras_plain(k, &k->in[0]), VTAC_I64);
    if (!one_input(k) || !read_vocabulary(k, places, &v)) {
        return vtac_keras_as_plain(0);
    }
    if (vtac_keras_bool(k, "invert", false)) {
        return vtac_keras_as_plain(find_words(k, x, &v));
    }
    const vtac_id y = find_places(k, x, &v);
    const bool padded = vtac_keras_bool(k, "pad_to_max_tokens", false);
    const int64_t count = padded ? vtac_keras_int(k, "max_tokens", v.first + v.count) : v.first + v.count;
    return places ? vtac_keras_as_plain(y) : encode_rows(k, y, count, mode);
}
