/* SPDX-License-Identifier: Apache-2.0
 *
 * TfIdfVectorizer: how often each n-gram of a pool is found in each row of integers or texts, its members
 * next to each other or some places apart.
 */
#include <string.h>

#include "compose_ml.h"

enum { MAX_GRAMS = 1 << 20, MAX_PLACES = 1 << 28 };

typedef struct pool {
    vtac_numbers items, starts, places, weights;
    int64_t shortest, longest, skips, grams, columns;
} pool;

static void read_pool(vtac_compose *c, pool *p)
{
    static const char *const names[] = {"pool_strings", "pool_int64s", NULL};
    p->items = vtac_c_list(c, names);
    p->starts = vtac_c_list_of(c, "ngram_counts");
    p->places = vtac_c_list_of(c, "ngram_indexes");
    p->weights = vtac_c_list_of(c, "weights");
    p->shortest = vtac_c_int(c, "min_gram_length", 0);
    p->longest = vtac_c_int(c, "max_gram_length", 0);
    p->skips = vtac_c_int(c, "max_skip_count", 0);
    p->columns = 0;
    for (int64_t i = 0; i < p->places.count; i++) {
        const int64_t place = vtac_integer_at(&p->places, i);
        if (place < 0 || place >= MAX_GRAMS) {
            (void)vtac_compose_fail(c, VTA_RANGE, "n-gram %lld goes to column %lld", (long long)i,
                                    (long long)place);
            return;
        }
        p->columns = place >= p->columns ? place + 1 : p->columns;
    }
    if (c->make.status == VTA_OK &&
        (p->shortest < 1 || p->longest < p->shortest || p->longest > 64 || p->skips < 0 || p->skips > 1024 ||
         p->columns < 1 || p->starts.count < 1 || p->starts.count > 64 ||
         (p->weights.count != 0 && p->weights.count < p->columns))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its lengths, counts, indexes or weights do not fit");
    }
}

/* The members number `k` of `count` n-grams of `size` that begin at `from` in the pool: [1, 1, count]. */
static vtac_value_id gram_members(vtac_compose *c, const pool *p, int64_t from, int64_t size, int64_t count,
                                  int64_t k)
{
    int64_t *values = vta_arena_array(&c->im->graph->arena, (size_t)count, sizeof *values);
    const int64_t shape[] = {1, 1, count};
    for (int64_t i = 0; values != NULL && i < count; i++) {
        values[i] = vtac_integer_at(&p->items, from + i * size + k);
    }
    return values == NULL ? vtac_compose_fail(c, VTA_NOMEM, "out of memory")
                          : vtac_c_reshape(c, vtac_c_integers(c, values, count), shape, 3);
}

/* Counts each of `count` n-grams in each row of x [rows, length], with `apart` places from one member to the
 * next: [rows, count]. */
static vtac_value_id count_grams(vtac_compose *c, const pool *p, vtac_value_id x, int64_t from, int64_t size,
                                 int64_t count, int64_t apart)
{
    const int64_t begins = vtac_c_dim(c, x, 1) - apart * (size - 1);
    vtac_value_id all = 0;
    for (int64_t k = 0; k < size && c->make.status == VTA_OK; k++) {
        const vtac_value_id part =
            vtac_c_unsqueeze(c, vtac_c_slice(c, x, 1, k * apart, k * apart + begins), 2);
        const vtac_value_id same = vtac_c_equal(c, part, gram_members(c, p, from, size, count, k));
        all = all == 0 ? same : vtac_c_and(c, all, same);
    }
    const vtac_value_id ones = vtac_c_cast(c, all, VTAC_F32);
    return vtac_c_squeeze(c, vtac_c_reduce(c, VTAC_OP_REDUCE_SUM, ones, 1, 1), 1);
}

/* Counts of the n-grams of one size, at all distances; of single members there is one. */
static vtac_value_id count_size(vtac_compose *c, const pool *p, vtac_value_id x, int64_t from, int64_t size,
                                int64_t count)
{
    const vtac_type type = {VTAC_F32, 2, {vtac_c_dim(c, x, 0), count}};
    vtac_value_id sum = 0;
    for (int64_t apart = 1; apart <= (size == 1 ? 1 : p->skips + 1); apart++) {
        if (apart * (size - 1) < vtac_c_dim(c, x, 1) && c->make.status == VTA_OK) {
            const vtac_value_id here = count_grams(c, p, x, from, size, count, apart);
            sum = sum == 0 ? here : vtac_c_add(c, sum, here);
        }
    }
    return sum == 0 ? vtac_c_fill(c, &type, 0.0) : sum;
}

/* Counts [rows, n-grams] in the columns that the n-grams have: each column takes those of one n-gram, more of
 * the same column are added. */
static vtac_value_id in_columns(vtac_compose *c, const pool *p, vtac_value_id counts, const int64_t *gram,
                                int64_t grams)
{
    vtac_value_id sum = 0;
    int64_t *from = vta_arena_array(&c->im->graph->arena, (size_t)p->columns, sizeof *from);
    bool *done = vta_arena_array(&c->im->graph->arena, (size_t)(grams > 0 ? grams : 1), sizeof *done);
    const vtac_type zeros = {VTAC_F32, 2, {vtac_c_dim(c, counts, 0), 1}};
    if (from == NULL || done == NULL) {
        return vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    memset(done, 0, (size_t)grams * sizeof *done);
    const vtac_value_id both[] = {counts, vtac_c_fill(c, &zeros, 0.0)};
    const vtac_value_id wide = vtac_c_concat(c, both, 2, 1);
    for (bool more = true; more && c->make.status == VTA_OK;) {
        more = false;
        for (int64_t i = 0; i < p->columns; i++) {
            from[i] = grams; /* the column of zeros */
        }
        for (int64_t i = 0; i < grams; i++) {
            const int64_t column = vtac_integer_at(&p->places, gram[i]);
            if (!done[i] && from[column] == grams) {
                from[column] = i;
                done[i] = true;
            } else if (!done[i]) {
                more = true;
            }
        }
        const vtac_value_id part = vtac_c_gather(c, wide, vtac_c_integers(c, from, p->columns), 1);
        sum = sum == 0 ? part : vtac_c_add(c, sum, part);
    }
    return sum;
}

void vtac_composed_tf_idf(vtac_compose *c, vtac_value_id *out)
{
    const char *mode = vtac_c_string(c, "mode", "TF");
    const vtac_value_id given = vtac_c_in(c, 0);
    const vtac_value_id x = vtac_c_cast(c, vtac_c_rows(c, given), VTAC_I64);
    pool p;
    vtac_value_id parts[64];
    uint32_t sizes = 0;
    read_pool(c, &p);
    if (c->make.status == VTA_OK && (p.items.dtype == VTAC_TEXT) != (vtac_c_dtype(c, given) == VTAC_TEXT)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its pool is of another type than its input");
    }
    int64_t *gram = c->make.status == VTA_OK
                        ? vta_arena_array(&c->im->graph->arena, (size_t)p.items.count + 1, sizeof *gram)
                        : NULL;
    int64_t grams = 0;
    int64_t number = 0; /* of the n-grams of all sizes */
    for (int64_t i = 0; gram != NULL && c->make.status == VTA_OK && i < p.starts.count; i++) {
        const int64_t size = i + 1;
        const int64_t from = vtac_integer_at(&p.starts, i);
        const int64_t end = i + 1 < p.starts.count ? vtac_integer_at(&p.starts, i + 1) : p.items.count;
        const bool inside = from >= 0 && end >= from && end <= p.items.count;
        const int64_t count = inside ? (end - from) / size : 0;
        if (!inside || (end - from) % size != 0 || number + count > p.places.count ||
            count > MAX_PLACES / (vtac_c_dim(c, x, 1) + 1)) {
            (void)vtac_compose_fail(c, VTA_INVALID, "its n-grams of %lld members do not fit the pool",
                                    (long long)size);
        } else if (count > 0 && size >= p.shortest && size <= p.longest) {
            for (int64_t k = 0; k < count; k++) {
                gram[grams++] = number + k;
            }
            parts[sizes++] = count_size(c, &p, x, from, size, count);
        }
        number += count;
    }
    if (c->make.status == VTA_OK && sizes == 0) {
        (void)vtac_compose_fail(c, VTA_INVALID, "it has no n-grams of these lengths");
    }
    if (c->make.status != VTA_OK) {
        return;
    }
    vtac_value_id y = in_columns(c, &p, vtac_c_concat(c, parts, sizes, 1), gram, grams);
    const bool counted = strcmp(mode, "TF") == 0 || strcmp(mode, "TFIDF") == 0;
    if (!counted && strcmp(mode, "IDF") != 0) {
        (void)vtac_compose_fail(c, VTA_INVALID, "mode '%.32s' is not TF, IDF or TFIDF", mode);
        return;
    }
    y = counted ? y : vtac_c_cast(c, vtac_c_more_number(c, y, 0.0), VTAC_F32);
    if (p.weights.count > 0 && strcmp(mode, "TF") != 0) {
        const vtac_value_id w = vtac_c_constant(c, &p.weights, VTAC_F32);
        y = vtac_c_mul(c, y, vtac_c_slice(c, w, 0, 0, p.columns));
    }
    out[0] = vtac_c_rank(c, given) == 1 ? vtac_c_squeeze(c, y, 0) : y;
}
