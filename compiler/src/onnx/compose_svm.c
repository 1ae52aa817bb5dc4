/* SPDX-License-Identifier: Apache-2.0
 *
 * Support vector machines of ai.onnx.ml, in float64: what the kernels give for each row and vector, times
 * coefficients.
 */
#include <math.h>
#include <string.h>

#include "compose_ml.h"

enum { MAX_CLASSES = 1024 };

/* [rows, vectors]: what `kernel_type` makes of each row of x and each vector */
static vtac_value_id kernel_values(vtac_compose *c, vtac_value_id x, const vtac_numbers *list,
                                   int64_t vectors)
{
    static const int64_t turned[] = {1, 0};
    const char *type = vtac_c_string(c, "kernel_type", "LINEAR");
    const vtac_numbers params = vtac_c_list_of(c, "kernel_params");
    const int64_t columns = vtac_c_dim(c, x, 1);
    const int64_t shape[] = {vectors, columns};
    if (c->make.status == VTA_OK && (vectors < 1 || list->count / vectors != columns ||
                                     list->count % vectors != 0 || (params.count != 0 && params.count < 3))) {
        return vtac_compose_fail(c, VTA_INVALID,
                                 "%lld numbers of %lld support vectors do not fit %lld columns",
                                 (long long)list->count, (long long)vectors, (long long)columns);
    }
    if (c->make.status != VTA_OK) {
        return 0;
    }
    const double gamma = params.count > 0 ? vtac_number_at(&params, 0) : 0.0;
    const double zero = params.count > 0 ? vtac_number_at(&params, 1) : 0.0;
    const double degree = params.count > 0 ? trunc(vtac_number_at(&params, 2)) : 0.0;
    const vtac_value_id v = vtac_c_reshape(c, vtac_c_constant(c, list, VTAC_F64), shape, 2);
    vtac_value_id y = vtac_c_matmul(c, x, vtac_c_transpose(c, v, turned, 2));
    if (strcmp(type, "LINEAR") == 0) {
        return y;
    }
    if (strcmp(type, "RBF") == 0) {
        const vtac_value_id own = vtac_c_reduce(c, VTAC_OP_REDUCE_SUM_SQUARE, x, 1, 1);
        const vtac_value_id theirs =
            vtac_c_transpose(c, vtac_c_reduce(c, VTAC_OP_REDUCE_SUM_SQUARE, v, 1, 1), turned, 2);
        const vtac_value_id apart = vtac_c_sub(c, vtac_c_add(c, own, theirs), vtac_c_mul_number(c, y, 2.0));
        return vtac_c_exp(c, vtac_c_mul_number(c, vtac_c_max_number(c, apart, 0.0), -gamma));
    }
    y = vtac_c_add_number(c, vtac_c_mul_number(c, y, gamma), zero);
    if (strcmp(type, "SIGMOID") == 0) {
        return vtac_c_tanh(c, y);
    }
    return strcmp(type, "POLY") == 0
               ? vtac_c2(c, VTAC_OP_POW, y, vtac_c_number(c, VTAC_F64, degree))
               : vtac_compose_fail(c, VTA_INVALID, "kernel_type '%.32s' is not one that it has", type);
}

static vtac_value_id float_input(vtac_compose *c)
{
    return vtac_c_cast(c, vtac_c_rows(c, vtac_c_in(c, 0)), VTAC_F64);
}

static double number_or_zero(const vtac_numbers *list, int64_t i)
{
    return i < list->count ? vtac_number_at(list, i) : 0.0;
}

void vtac_composed_ml_svm_regressor(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers factors = vtac_c_list_of(c, "coefficients");
    const vtac_numbers vectors = vtac_c_list_of(c, "support_vectors");
    const vtac_numbers rho = vtac_c_list_of(c, "rho");
    const int64_t supports = vtac_c_int(c, "n_supports", 0);
    const vtac_value_id x = float_input(c);
    const int64_t column[] = {factors.count, 1};
    const vtac_value_id w = vtac_c_reshape(c, vtac_c_constant(c, &factors, VTAC_F64), column, 2);
    if (c->make.status == VTA_OK && factors.count != (supports > 0 ? supports : vtac_c_dim(c, x, 1))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld coefficients do not fit", (long long)factors.count);
    }
    vtac_value_id y = vtac_c_matmul(c, supports > 0 ? kernel_values(c, x, &vectors, supports) : x, w);
    y = vtac_c_add_number(c, y, number_or_zero(&rho, 0));
    if (vtac_c_int(c, "one_class", 0) != 0) {
        const vtac_value_id inside = vtac_c_more_number(c, y, 0.0);
        y = vtac_c_where(c, inside, vtac_c_number(c, VTAC_F64, 1.0), vtac_c_number(c, VTAC_F64, -1.0));
    }
    out[0] = vtac_c_cast(c, vtac_c_post(c, y), VTAC_F32);
}

/* ---- SVMClassifier: each pair of classes has a line between them; the class that wins most wins */

typedef struct duels {
    int64_t classes, vectors, pairs;
    int64_t first[MAX_CLASSES + 1]; /* of the vectors of each class */
    vtac_numbers factors, rho, prob_a, prob_b;
} duels;

static void read_duels(vtac_compose *c, duels *d)
{
    const vtac_numbers counts = vtac_c_list_of(c, "vectors_per_class");
    d->factors = vtac_c_list_of(c, "coefficients");
    d->rho = vtac_c_list_of(c, "rho");
    d->prob_a = vtac_c_list_of(c, "prob_a");
    d->prob_b = vtac_c_list_of(c, "prob_b");
    d->pairs = d->classes * (d->classes - 1) / 2;
    d->vectors = 0;
    bool fits = d->classes >= 2 && d->classes <= MAX_CLASSES && counts.count == d->classes;
    for (int64_t i = 0; fits && i < counts.count; i++) {
        const int64_t count = vtac_integer_at(&counts, i);
        fits = count >= 0 && count <= INT32_MAX;
        d->first[i] = d->vectors;
        d->vectors += count;
        d->first[i + 1] = d->vectors;
    }
    fits = fits && d->vectors > 0 && d->factors.count / d->vectors == d->classes - 1 &&
           d->factors.count % d->vectors == 0 && d->rho.count == d->pairs &&
           (d->prob_a.count == 0 || (d->prob_a.count == d->pairs && d->prob_b.count == d->pairs)) &&
           d->vectors * d->pairs <= 1 << 26;
    if (c->make.status == VTA_OK && !fits) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its vectors, coefficients and rho do not fit %lld classes",
                                (long long)d->classes);
    }
}

/* The side of each line on which each row is: [rows, pairs], above 0 for the first of the pair. */
static vtac_value_id sides_of_lines(vtac_compose *c, const duels *d, vtac_value_id kernels)
{
    const vtac_type type = {VTAC_F64, 2, {d->vectors, d->pairs}};
    double *w = vtac_c_room(c, d->vectors * d->pairs);
    if (w == NULL) {
        return 0;
    }
    memset(w, 0, (size_t)(d->vectors * d->pairs) * sizeof *w);
    for (int64_t i = 0, pair = 0; i < d->classes; i++) {
        for (int64_t j = i + 1; j < d->classes; j++, pair++) {
            for (int64_t v = d->first[i]; v < d->first[i + 1]; v++) {
                w[v * d->pairs + pair] += vtac_number_at(&d->factors, (j - 1) * d->vectors + v);
            }
            for (int64_t v = d->first[j]; v < d->first[j + 1]; v++) {
                w[v * d->pairs + pair] += vtac_number_at(&d->factors, i * d->vectors + v);
            }
        }
    }
    const vtac_value_id y = vtac_c_matmul(c, kernels, vtac_c_numbers(c, &type, w));
    return vtac_c_add(c, y, vtac_c_constant(c, &d->rho, VTAC_F64));
}

/* Counts the lines of which each class is on the right side. */
static vtac_value_id votes_of(vtac_compose *c, const duels *d, vtac_value_id scores)
{
    const vtac_type type = {VTAC_F64, 2, {d->pairs, d->classes}};
    double *gain = vtac_c_room(c, d->pairs * d->classes);
    double *lost = vtac_c_room(c, d->classes);
    if (gain == NULL || lost == NULL) {
        return 0;
    }
    memset(gain, 0, (size_t)(d->pairs * d->classes) * sizeof *gain);
    for (int64_t i = 0, pair = 0; i < d->classes; i++) {
        lost[i] = (double)i; /* the second of as many pairs */
        for (int64_t j = i + 1; j < d->classes; j++, pair++) {
            gain[pair * d->classes + i] = 1.0;
            gain[pair * d->classes + j] = -1.0;
        }
    }
    const vtac_type line = {VTAC_F64, 1, {d->classes}};
    const vtac_value_id won = vtac_c_cast(c, vtac_c_more_number(c, scores, 0.0), VTAC_F64);
    return vtac_c_add(c, vtac_c_matmul(c, won, vtac_c_numbers(c, &type, gain)),
                      vtac_c_numbers(c, &line, lost));
}

/* A probability for each pair from the distance, and one for each class from those. */
static vtac_value_id pair_probabilities(vtac_compose *c, const duels *d, vtac_value_id scores)
{
    const vtac_value_id a = vtac_c_constant(c, &d->prob_a, VTAC_F64);
    const vtac_value_id b = vtac_c_constant(c, &d->prob_b, VTAC_F64);
    const vtac_value_id one = vtac_c_number(c, VTAC_F64, 1.0);
    vtac_value_id r = vtac_c_sigmoid(c, vtac_c_neg(c, vtac_c_add(c, vtac_c_mul(c, scores, a), b)));
    r = vtac_c_min_number(c, vtac_c_max_number(c, r, 1e-7), 1.0 - 1e-7);
    const vtac_value_id halves[] = {r, vtac_c_sub(c, one, r)};
    const int64_t rows = vtac_c_dim(c, scores, 0);
    int64_t *places =
        vta_arena_array(&c->im->graph->arena, (size_t)(d->classes * d->classes), sizeof *places);
    if (places == NULL) {
        return vtac_compose_fail(c, VTA_NOMEM, "out of memory");
    }
    for (int64_t i = 0, pair = 0; i < d->classes; i++) {
        places[i * d->classes + i] = 0; /* not read */
        for (int64_t j = i + 1; j < d->classes; j++, pair++) {
            places[i * d->classes + j] = pair;
            places[j * d->classes + i] = d->pairs + pair;
        }
    }
    const vtac_value_id all = vtac_c_concat(c, halves, 2, 1);
    const vtac_value_id square =
        vtac_c_gather(c, all, vtac_c_integers(c, places, d->classes * d->classes), 1);
    const int64_t shape[] = {rows, d->classes, d->classes};
    return vtac_c1(c, VTAC_OP_COUPLE, vtac_c_reshape(c, square, shape, 3));
}

/* Without support vectors: a line for each class. */
static void linear_classifier(vtac_compose *c, vtac_value_id x, const vtac_numbers *labels,
                              vtac_value_id *out)
{
    static const int64_t turned[] = {1, 0};
    const vtac_numbers factors = vtac_c_list_of(c, "coefficients");
    const vtac_numbers rho = vtac_c_list_of(c, "rho");
    const int64_t classes = labels->count > 0 ? labels->count : 1;
    const int64_t shape[] = {classes, vtac_c_dim(c, x, 1)};
    if (c->make.status == VTA_OK && (factors.count % classes != 0 || factors.count / classes != shape[1])) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld coefficients do not fit %lld classes",
                                (long long)factors.count, (long long)classes);
        return;
    }
    const vtac_value_id w = vtac_c_reshape(c, vtac_c_constant(c, &factors, VTAC_F64), shape, 2);
    const vtac_value_id scores =
        vtac_c_add_number(c, vtac_c_matmul(c, x, vtac_c_transpose(c, w, turned, 2)), number_or_zero(&rho, 0));
    if (rho.count == 1 && classes != 2) {
        const vtac_value_id max = vtac_c_reduce(c, VTAC_OP_REDUCE_MAX, scores, 1, 1);
        out[0] = vtac_c_choose(c, vtac_c_squeeze(c, vtac_c_more_number(c, max, 0.0), 1),
                               &(vtac_numbers){.dtype = VTAC_I64}, 1, 0);
    } else {
        out[0] = vtac_c_best_label(c, scores, labels);
    }
    out[1] = vtac_c_cast(c, vtac_c_post(c, scores), VTAC_F32);
}

void vtac_composed_ml_svm_classifier(vtac_compose *c, vtac_value_id *out)
{
    const vtac_numbers labels = vtac_c_labels(c, "classlabels_ints", "classlabels_strings");
    const vtac_numbers vectors = vtac_c_list_of(c, "support_vectors");
    const vtac_value_id x = float_input(c);
    if (vectors.count == 0) {
        linear_classifier(c, x, &labels, out);
        return;
    }
    duels d = {.classes = labels.count};
    read_duels(c, &d);
    if (c->make.status != VTA_OK) {
        return;
    }
    vtac_value_id scores = sides_of_lines(c, &d, kernel_values(c, x, &vectors, d.vectors));
    bool positive = true;
    for (int64_t i = 0; i < d.factors.count; i++) {
        positive = positive && vtac_number_at(&d.factors, i) >= 0.0;
    }
    out[0] = vtac_c_best_label(c, votes_of(c, &d, scores), &labels);
    if (d.prob_a.count > 0) {
        scores = pair_probabilities(c, &d, scores);
    } else if (d.pairs == 1) {
        const vtac_value_id both[] = {vtac_c_neg(c, scores), scores};
        if (positive) { /* the standard's rule: no coefficient speaks against the second class */
            const vtac_value_id any = vtac_c_squeeze(c, vtac_c_equal(c, scores, scores), 1);
            const int64_t second = vtac_integer_at(&labels, 1);
            out[0] = vtac_c_choose(c, any, &labels, second, second);
        }
        scores = vtac_c_concat(c, both, 2, 1);
    }
    out[1] = vtac_c_cast(c, vtac_c_post(c, scores), VTAC_F32);
}
