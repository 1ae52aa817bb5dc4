/* SPDX-License-Identifier: Apache-2.0
 *
 * Training leaves each layer balanced for the inputs that it was trained with: batch normalization, folded
 * into weights and biases, takes the mean out of every channel and makes the rest as large as the biases.
 * Inputs that are too small are drowned by the biases: the channels' means are far from 0 and little varies.
 * Inputs that are too large, or off their mean, move the means themselves. So the range is the one for which
 * the channels of all products vary most beside their means. A network without biases does not care; of
 * ranges that are as good as each other the largest is taken, since what is cut does more harm than a bit
 * that is lost.
 */
#include "guess.h"

#include <math.h>

#include "vta/fail.h"
#include "vtac/exact.h"

static const double log_of_2 = 0.693147180559945309;

enum { TRIED = 3 }; /* samples of each range */

#define AS_GOOD 0.05 /* in bits */

/* Input ranges that models are usually trained on, ordered by size: 0 … 1, -1 … 1, normalized by mean and
 * deviation, features of sound, bytes with and without their mean. */
static const vtac_sample_range usual[] = {{0.0, 1.0},    {-1.0, 1.0},     {-2.5, 2.5}, {-8.0, 8.0},
                                          {-32.0, 32.0}, {-128.0, 128.0}, {0.0, 255.0}};
enum { USUAL = sizeof usual / sizeof usual[0] };

/* Sums over samples, for one channel of a value. */
typedef struct channel_sums {
    double count, sum, squares;
} channel_sums;

/* The result of a product. */
typedef struct guessed_product {
    int64_t elements, channels, inner; /* of the value; inner: elements side by side of one channel */
    channel_sums *sums;
} guessed_product;

typedef struct guess {
    const vtac_quant_plan *plan;
    vtac_quant_probe *probe;
    uint32_t first; /* place of the first product in the probe */
    vtac_value_id *values;
    guessed_product *products;
    uint32_t count;
    uint64_t seed;
} guess;

static bool find_products(guess *j)
{
    const vtac_graph *g = j->plan->graph;
    j->values = vta_arena_array(j->plan->arena, j->plan->node_room, sizeof *j->values);
    j->products = vta_arena_array(j->plan->arena, j->plan->node_room, sizeof *j->products);
    bool good = j->values != NULL && j->products != NULL;
    for (uint32_t i = 0; good && i < g->order_count; i++) {
        const vtac_node *node = &g->nodes[g->order[i]];
        uint32_t axis;
        if (!j->plan->active[g->order[i]] || !vtac_quant_is_product(g, node, &axis)) {
            continue;
        }
        const vtac_type *type = &g->values[node->outputs[0]].type;
        guessed_product *p = &j->products[j->count];
        j->values[j->count++] = node->outputs[0];
        axis = node->op == VTAC_OP_CONV || node->op == VTAC_OP_CONV_TRANSPOSE ? 1 : type->rank - 1;
        *p = (guessed_product){.elements = vtac_type_elements(type), .channels = type->dim[axis], .inner = 1};
        for (uint32_t k = axis + 1; k < type->rank; k++) {
            p->inner *= type->dim[k];
        }
        p->sums = vta_arena_array(j->plan->arena, (size_t)p->channels, sizeof *p->sums);
        good = p->sums != NULL;
    }
    return good;
}

static void see_values(const guessed_product *p, const float *x)
{
    for (int64_t at = 0, row = 0; at < p->elements; at += p->inner, row++) {
        channel_sums c = p->sums[row % p->channels];
        for (int64_t i = at; i < at + p->inner; i++) {
            c.sum += (double)x[i];
            c.squares += (double)x[i] * (double)x[i];
        }
        c.count += (double)p->inner;
        p->sums[row % p->channels] = c;
    }
}

/* By how many bits the channels' variation is above their means. The sums are ready for others then. */
static double channel_balance(const guessed_product *p)
{
    double variances = 0.0;
    double means = 0.0;
    for (int64_t c = 0; c < p->channels; c++) {
        const channel_sums *of = &p->sums[c];
        const double mean = of->sum / of->count;
        means += mean * mean;
        variances += fmax(0.0, of->squares / of->count - mean * mean);
        p->sums[c] = (channel_sums){0};
    }
    const double min = 1e-30; /* keeps the logarithm finite */
    return 0.5 / log_of_2 * vtac_log((variances + min) / (means + min));
}

/* The mean balance of all products. */
static vta_status score_range(const guess *j, const vtac_sample_range *range, vta_arena *arena, double *out,
                              vta_diag *diag)
{
    vtac_samples samples;
    VTA_TRY(vtac_generate_samples(j->plan->graph, range, TRIED, j->seed, arena, &samples, diag));
    for (uint32_t s = 0; s < TRIED; s++) {
        VTA_TRY(vtac_quant_probe_run(j->probe, &samples, s, diag));
        for (uint32_t i = 0; i < j->count; i++) {
            see_values(&j->products[i], vtac_quant_probe_value(j->probe, j->first + i));
        }
    }
    *out = 0.0;
    for (uint32_t i = 0; i < j->count; i++) {
        *out += channel_balance(&j->products[i]) / j->count;
    }
    return VTA_OK;
}

static vta_status choose_range(const guess *j, const vtac_progress *progress, vtac_sample_range *out,
                               vta_diag *diag)
{
    double scores[USUAL] = {0.0};
    double best = -(double)INFINITY;
    for (int i = 0; i < USUAL; i++) {
        vta_arena arena = {0};
        VTA_TRY(vtac_progress_at(progress, "trying range", NULL, (size_t)i, USUAL, diag));
        const vta_status status = score_range(j, &usual[i], &arena, &scores[i], diag);
        vta_arena_free(&arena);
        VTA_TRY(status);
        best = fmax(best, scores[i]);
    }
    for (int i = 0; i < USUAL; i++) {
        *out = scores[i] >= best - AS_GOOD ? usual[i] : *out;
    }
    return VTA_OK;
}

vta_status vtac_quant_guess_values(const vtac_quant_plan *plan, const vtac_value_id **values, uint32_t *count,
                                   vta_diag *diag)
{
    guess j = {.plan = plan};
    if (!find_products(&j)) {
        return vta_no_memory(diag);
    }
    *values = j.values;
    *count = j.count;
    return VTA_OK;
}

vta_status vtac_quant_guess_range(const vtac_quant_plan *plan, vtac_quant_probe *probe, uint32_t first,
                                  uint64_t seed, const vtac_progress *progress, vtac_sample_range *out,
                                  vta_diag *diag)
{
    guess j = {.plan = plan, .probe = probe, .first = first, .seed = seed};
    *out = usual[1];
    if (!find_products(&j)) {
        return vta_no_memory(diag);
    }
    return j.count == 0 ? VTA_OK : choose_range(&j, progress, out, diag);
}
