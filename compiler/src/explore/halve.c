/* SPDX-License-Identifier: Apache-2.0
 *
 * Successive halving. Every configuration has a rough estimate of each network: its layers, each alone. How
 * far the timing model is from it depends on the configuration smoothly, so that a fit to what has been timed
 * foretells the others: cycles of each network, and energy. Each round times some of those that are foretold
 * to be on the front, or the best by the goal, and drops the half that is farthest behind; the fit learns.
 *
 * All of it follows from the estimates alone, so that it is the same whoever made them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "vta/fail.h"

enum { FEATURES = 18, RANKS = 64, METHODS = 2 };
static const double ridge = 0.02;  /* of a sample */
static const double reach = 0.8;   /* between configurations, in features, over which misses are alike */
static const double doubt = 0.25;  /* the weight of knowing nothing of the neighbours */
static const double favour = 1.08; /* how much better a neighbour of the front may turn out */
static const double min_spread = 0.01, max_spread = 0.2;
static const double unranked = 1e9;

/* A candidate as it is foretold, or as it was timed. */
typedef struct foretold {
    double fps, share, energy, score;
    double luck; /* it may be faster by this */
    uint32_t candidate, group;
    bool counts; /* it runs, and keeps the limits */
    bool ranked;
} foretold;

/* Speed, share, energy. */
typedef struct point {
    double at[3];
} point;

typedef enum group_state { OPEN, CHOSEN, DROPPED } group_state;

struct vtac_halving {
    const vtac_explore_options *options;
    const vtac_candidate *candidates;
    uint32_t count;
    const uint32_t *groups;
    uint32_t group_count;
    const vtac_estimate *rough;
    group_state *states;
    uint32_t *group_of;  /* of a candidate */
    foretold *forecasts; /* a candidate each, the fastest first */
    double *rank, *best; /* of a group: its first front, its smallest score */
    uint32_t *order;     /* scratch */
    double weights[METHODS][VTAC_MAX_NETWORKS + 1][FEATURES];
    double trust[VTAC_MAX_NETWORKS + 1];            /* in the method that is relative to the rough estimate */
    double (*was)[VTAC_MAX_NETWORKS + 1];           /* of a group, by the rough estimate */
    double (*timed)[VTAC_MAX_NETWORKS + 1];         /* by the timing model */
    bool *runs;                                     /* of a group that was timed */
    bool any;                                       /* something was timed */
    double (*left)[METHODS][VTAC_MAX_NETWORKS + 1]; /* of a group that was timed: what the fit leaves */
    double (*features)[FEATURES];                   /* of a group */
    double spread;  /* of what was timed around its fit: the square root of the mean square */
    point *front;   /* what is ahead so far, the fastest first */
    double *gain;   /* of a foretold; scratch */
    uint32_t *seen; /* the length of the front when it was worked out */
    uint32_t front_count;
    uint32_t round;
};

/* ---- the fit */

static void features_of(const vta_config *c, double *f)
{
    const double in = c->log_block_in - 4.0, out = c->log_block_out - 4.0, rows = c->log_batch;
    const double all[FEATURES] = {1,
                                  in,
                                  out,
                                  rows,
                                  0.5 * (c->log_inp_buff - in - 15.0),
                                  0.5 * (c->log_wgt_buff - in - out - 18.0),
                                  0.5 * (c->log_acc_buff - out - 17.0),
                                  0.5 * (c->log_uop_buff - 15.0),
                                  c->depthwise_taps == 0,
                                  c->depthwise_taps == 1 || c->depthwise_taps == 3,
                                  c->loop_back == 0,
                                  c->log_bus_width - 6.0,
                                  in * in,
                                  out * out,
                                  in * out,
                                  0.25 * (c->log_inp_buff - in - 15.0) * (c->log_inp_buff - in - 15.0),
                                  0.25 * (c->log_acc_buff - out - 17.0) * (c->log_acc_buff - out - 17.0),
                                  0.5 * (c->log_queue - 6.0)};
    memcpy(f, all, sizeof all);
}

/* Logarithms of cycles of each network and of the energy of a picture, as estimates of a group have them. */
static void logs_of(const vtac_halving *h, uint32_t group, const vtac_estimate *estimates, double *out)
{
    const uint32_t networks = h->options->network_count;
    vtac_candidate c = h->candidates[h->groups[group]];
    memcpy(c.networks, estimates, networks * sizeof *estimates);
    vtac_candidate_evaluate(h->options, 1, &c);
    for (uint32_t n = 0; n < networks; n++) {
        out[n] = log(fmax((double)c.networks[n].cycles, 1));
    }
    out[networks] = log(c.runs ? c.energy : 1);
}

/* Two ways to foretell: relative to the rough estimate, and without it. */
static double target_of(const vtac_halving *h, uint32_t method, uint32_t group, uint32_t n)
{
    return h->timed[group][n] - (method == 0 ? h->was[group][n] : 0);
}

static bool is_sample(const vtac_halving *h, uint32_t group)
{
    return h->states[group] == CHOSEN && h->runs[group];
}

static void fit_targets(vtac_halving *h, uint32_t method, uint32_t n)
{
    double a[FEATURES][FEATURES + 1] = {{0}};
    for (uint32_t g = 0; g < h->group_count; g++) {
        const double *f = h->features[g];
        for (int i = 0; i < FEATURES && is_sample(h, g); i++) {
            for (int j = 0; j < FEATURES; j++) {
                a[i][j] += f[i] * f[j];
            }
            a[i][FEATURES] += f[i] * target_of(h, method, g, n);
        }
    }
    for (int i = 0; i < FEATURES; i++) {
        a[i][i] += i == 0 ? 1e-6 : ridge;
    }
    vtac_solve_equations(FEATURES, a[0], h->weights[method][n]);
}

static double fit_of(const vtac_halving *h, uint32_t method, uint32_t n, const double *f)
{
    double sum = 0;
    for (int i = 0; i < FEATURES; i++) {
        sum += h->weights[method][n][i] * f[i];
    }
    return sum;
}

/* Averages what the fit leaves of those nearby, by both methods, but for a group itself. Returns the share of
 * doubt. */
static double left_nearby(const vtac_halving *h, uint32_t group, double left[METHODS][VTAC_MAX_NETWORKS + 1])
{
    const uint32_t all = h->options->network_count + 1;
    const double *f = h->features[group];
    double weight = doubt;
    memset(left, 0, METHODS * sizeof *left);
    for (uint32_t g = 0; g < h->group_count; g++) {
        double distance = 0;
        if (g == group || !is_sample(h, g)) {
            continue;
        }
        for (int i = 0; i < FEATURES; i++) {
            const double d = f[i] - h->features[g][i];
            distance += d * d;
        }
        const double near = exp(-distance / (2 * reach * reach));
        weight += near;
        for (uint32_t k = 0; k < METHODS * all; k++) {
            left[k / all][k % all] += near * h->left[g][k / all][k % all];
        }
    }
    for (uint32_t k = 0; k < METHODS * all; k++) {
        left[k / all][k % all] /= weight;
    }
    return doubt / weight;
}

/* Fits both ways, and finds out how far each has been off where a sample is foretold by the others. */
static void learn(vtac_halving *h)
{
    const uint32_t all = h->options->network_count + 1;
    double sum[METHODS][VTAC_MAX_NETWORKS + 1] = {{0}}, count = 0, best = 0;
    for (uint32_t k = 0; k < METHODS * all; k++) {
        fit_targets(h, k / all, k % all);
        for (uint32_t g = 0; g < h->group_count; g++) {
            h->left[g][k / all][k % all] =
                target_of(h, k / all, g, k % all) - fit_of(h, k / all, k % all, h->features[g]);
        }
    }
    for (uint32_t g = 0; g < h->group_count; g++) {
        double near[METHODS][VTAC_MAX_NETWORKS + 1];
        if (is_sample(h, g)) {
            (void)left_nearby(h, g, near);
            for (uint32_t k = 0; k < METHODS * all; k++) {
                const double off = h->left[g][k / all][k % all] - near[k / all][k % all];
                sum[k / all][k % all] += off * off;
            }
            count++;
        }
    }
    for (uint32_t n = 0; n < all; n++) {
        const double a = sum[0][n] + 1e-9, b = sum[1][n] + 1e-9;
        h->trust[n] = b * b / (a * a + b * b);
        best += fmin(a, b);
    }
    h->spread = count > 0 ? fmin(sqrt(best / (count * all)), max_spread) : max_spread;
}

/* Logarithms of how far a group is from its rough estimates. Returns the share of doubt. */
static double misses_of(const vtac_halving *h, uint32_t group, double *out)
{
    const double *f = h->features[group];
    double left[METHODS][VTAC_MAX_NETWORKS + 1];
    const double share = left_nearby(h, group, left);
    for (uint32_t n = 0; n <= h->options->network_count; n++) {
        const double relative = fit_of(h, 0, n, f) + left[0][n];
        const double alone = fit_of(h, 1, n, f) + left[1][n] - h->was[group][n];
        const double miss = h->any ? h->trust[n] * relative + (1 - h->trust[n]) * alone : 0;
        out[n] = fmin(fmax(miss, -3), 3);
    }
    return share;
}

/* ---- what is foretold */

static foretold foretell(const vtac_halving *h, uint32_t candidate, const double *misses, double share)
{
    const uint32_t networks = h->options->network_count, group = h->group_of[candidate];
    const bool timed = h->states[group] == CHOSEN;
    vtac_candidate c = h->candidates[candidate];
    if (timed) {
        memcpy(c.networks, h->candidates[h->groups[group]].networks, sizeof c.networks);
    } else {
        for (uint32_t n = 0; n < networks; n++) {
            c.networks[n] = h->rough[(size_t)group * networks + n];
            c.networks[n].cycles = (uint64_t)((double)c.networks[n].cycles * exp(misses[n]));
        }
    }
    vtac_candidate_evaluate(h->options, timed ? 1 : exp(misses[networks]), &c);
    return (foretold){.fps = c.runs ? c.fps : 0,
                      .share = c.share,
                      .energy = c.energy,
                      .score = c.runs ? c.score : HUGE_VAL,
                      .luck = timed ? 1 : exp(fmax(h->spread, min_spread) * (1 + 2 * share)),
                      .candidate = candidate,
                      .group = group,
                      .counts = c.runs && c.broken < 0};
}

static int by_speed(const void *a, const void *b)
{
    const foretold *x = a;
    const foretold *y = b;
    if (x->fps * x->luck != y->fps * y->luck) {
        return x->fps * x->luck > y->fps * y->luck ? -1 : 1;
    }
    if (x->share != y->share) {
        return x->share < y->share ? -1 : 1;
    }
    if (x->energy != y->energy) {
        return x->energy < y->energy ? -1 : 1;
    }
    return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

/* Fronts one behind the other, a row of numbers each: whoever stands before is as fast or faster. */
static void rank_candidates(vtac_halving *h)
{
    for (uint32_t g = 0; g < h->group_count; g++) {
        h->rank[g] = unranked;
        h->best[g] = HUGE_VAL;
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t front = 0;
        for (uint32_t i = 0; i < h->count; i++) {
            foretold *f = &h->forecasts[i];
            bool behind = f->ranked || !f->counts;
            for (uint32_t k = 0; k < front && !behind; k++) {
                const foretold *other = &h->forecasts[h->order[k]];
                behind = other->share <= f->share && other->energy * f->luck <= f->energy * other->luck;
            }
            if (!behind) {
                h->order[front++] = i;
            }
        }
        for (uint32_t k = 0; k < front; k++) {
            foretold *f = &h->forecasts[h->order[k]];
            f->ranked = true;
            h->rank[f->group] = fmin(h->rank[f->group], rank);
        }
    }
    for (uint32_t i = 0; i < h->count; i++) {
        const foretold *f = &h->forecasts[i];
        h->best[f->group] = fmin(h->best[f->group], f->counts ? f->score : HUGE_VAL);
    }
}

static vta_status foretell_all(vtac_halving *h)
{
    const uint32_t all = h->options->network_count + 1;
    double(*misses)[VTAC_MAX_NETWORKS + 2] = calloc((size_t)h->group_count + 1, sizeof *misses);
    if (misses == NULL) {
        return VTA_NOMEM;
    }
    h->any = false;
    for (uint32_t g = 0; g < h->group_count; g++) {
        if (h->states[g] == CHOSEN) {
            logs_of(h, g, h->candidates[h->groups[g]].networks, h->timed[g]);
            h->runs[g] = h->timed[g][h->options->network_count] != 0;
            h->any = h->any || h->runs[g];
        }
    }
    learn(h);
    for (uint32_t g = 0; g < h->group_count; g++) {
        misses[g][all] = h->states[g] == CHOSEN ? 0 : misses_of(h, g, misses[g]);
    }
    for (uint32_t i = 0; i < h->count; i++) {
        const double *m = misses[h->group_of[i]];
        h->forecasts[i] = foretell(h, i, m, m[all]);
    }
    free(misses);
    qsort(h->forecasts, h->count, sizeof *h->forecasts, by_speed);
    rank_candidates(h);
    return VTA_OK;
}

/* ---- the choice */

typedef struct ordered_group {
    double key, second;
    uint32_t group;
} ordered_group;

static int by_keys(const void *a, const void *b)
{
    const ordered_group *x = a;
    const ordered_group *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    if (x->second != y->second) {
        return x->second < y->second ? -1 : 1;
    }
    return x->group < y->group ? -1 : x->group > y->group;
}

/* The groups that are open, by two keys. */
static uint32_t list_open(const vtac_halving *h, const double *key, const double *second, ordered_group *out)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < h->group_count; g++) {
        if (h->states[g] == OPEN) {
            out[count++] = (ordered_group){key[g], second[g], g};
        }
    }
    qsort(out, count, sizeof *out, by_keys);
    return count;
}

static uint32_t take_group(vtac_halving *h, uint32_t group, uint32_t *chosen, uint32_t count)
{
    if (h->states[group] != OPEN) {
        return count;
    }
    h->states[group] = CHOSEN;
    chosen[count] = group;
    return count + 1;
}

/* The configurations that come with vtac are always timed. */
static uint32_t take_shipped(vtac_halving *h, uint32_t limit, uint32_t *chosen)
{
    const vtac_space *space = h->options->space;
    const uint64_t each = space->shipped_count > 0 ? vtac_space_around(space) / space->shipped_count : 0;
    uint32_t count = 0;
    for (uint32_t s = 0; s < space->shipped_count; s++) {
        uint64_t number = 0;
        const bool there = vtac_space_number(space, vtac_space_size(space) + s * each, &number);
        for (uint32_t i = 0; there && i < h->count && count < limit; i++) {
            count = h->candidates[i].index == number ? take_group(h, h->group_of[i], chosen, count) : count;
        }
    }
    return count;
}

static uint32_t array_of(const vtac_halving *h, uint32_t group)
{
    const vta_config *c = &h->candidates[h->groups[group]].config;
    return c->log_batch << 16 | c->log_block_in << 8 | c->log_block_out;
}

/* Chooses for each array the configuration that is foretold to be farthest ahead, up to a half of what may be
 * timed: from one array to another the rough estimate is off by more than within one. */
static uint32_t take_arrays(vtac_halving *h, const ordered_group *list, uint32_t size, uint32_t limit,
                            uint32_t *chosen, uint32_t count)
{
    for (uint32_t i = 0; i < size && count < limit; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++) {
            seen = array_of(h, list[k].group) == array_of(h, list[i].group);
        }
        count = seen ? count : take_group(h, list[i].group, chosen, count);
    }
    return count;
}

/* Groups of a list, evenly. */
static uint32_t take_evenly(vtac_halving *h, const ordered_group *list, uint32_t size, uint32_t limit,
                            uint32_t *chosen, uint32_t count)
{
    const uint32_t want = limit - count < size ? limit - count : size;
    for (uint32_t i = 0; i < want; i++) {
        count = take_group(h, list[(uint64_t)i * size / want].group, chosen, count);
    }
    return count;
}

/* The volume behind points, which stand the fastest first, up to a corner. */
static double volume_of(const point *points, uint32_t count, const double corner[3])
{
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double depth = points[i].at[0] - (i + 1 < count ? points[i + 1].at[0] : corner[0]);
        double area = 0, share = corner[1];
        /* the area behind the first i + 1: from the largest share down, each time the smallest energy within
         * it
         */
        while (depth > 0 && share > 0) {
            double energy = corner[2], next = 0;
            for (uint32_t k = 0; k <= i; k++) {
                energy = points[k].at[1] < share ? fmin(energy, points[k].at[2]) : energy;
                next = points[k].at[1] < share ? fmax(next, points[k].at[1]) : next;
            }
            area += (share - next) * (corner[2] - energy);
            share = energy < corner[2] ? next : 0;
        }
        total += depth * area;
    }
    return total;
}

/* The gain of a point for the front: its own box but for what is behind others there. */
static double gain_of(const vtac_halving *h, const point *p, const double corner[3], point *clipped)
{
    const double box = (p->at[0] - corner[0]) * (corner[1] - p->at[1]) * (corner[2] - p->at[2]);
    uint32_t count = 0;
    if (p->at[1] >= corner[1] || p->at[2] >= corner[2]) {
        return 0;
    }
    for (uint32_t k = 0; k < h->front_count; k++) {
        const double *f = h->front[k].at;
        if (f[1] < corner[1] && f[2] < corner[2]) {
            clipped[count++] = (point){{fmin(f[0], p->at[0]), fmax(f[1], p->at[1]), fmax(f[2], p->at[2])}};
        }
    }
    return box - volume_of(clipped, count, corner);
}

/* Puts a point into the front, unless it is behind it; those behind it go. */
static void add_to_front(vtac_halving *h, const point *p)
{
    uint32_t kept = 0, at = 0;
    for (uint32_t k = 0; k < h->front_count; k++) {
        const double *f = h->front[k].at;
        if (f[0] >= p->at[0] && f[1] <= p->at[1] && f[2] <= p->at[2]) {
            return;
        }
    }
    for (uint32_t k = 0; k < h->front_count; k++) {
        const double *f = h->front[k].at;
        if (!(f[0] <= p->at[0] && f[1] >= p->at[1] && f[2] >= p->at[2])) {
            h->front[kept++] = h->front[k];
        }
    }
    while (at < kept && h->front[at].at[0] >= p->at[0]) {
        at++;
    }
    memmove(&h->front[at + 1], &h->front[at], (kept - at) * sizeof *h->front);
    h->front[at] = *p;
    h->front_count = kept + 1;
}

/* A foretold as it may turn out, where luck is on its side. */
static point hope_of(const foretold *f)
{
    return (point){{f->fps * f->luck, f->share, f->energy / f->luck}};
}

/* Begins the front with what was timed; the corner behind everything. */
static void begin_front(vtac_halving *h, double corner[3])
{
    corner[0] = corner[1] = corner[2] = 0;
    h->front_count = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const foretold *f = &h->forecasts[i];
        h->gain[i] = HUGE_VAL;
        h->seen[i] = 0;
        if (f->counts) {
            corner[1] = fmax(corner[1], f->share);
            corner[2] = fmax(corner[2], f->energy);
        }
        if (f->counts && h->states[f->group] == CHOSEN) {
            const point p = hope_of(f);
            add_to_front(h, &p);
        }
    }
}

static bool is_on_front(const vtac_halving *h, const point *p)
{
    bool found = false;
    for (uint32_t k = 0; k < h->front_count && !found; k++) {
        const double *f = h->front[k].at;
        found = f[0] == p->at[0] && f[1] == p->at[1] && f[2] == p->at[2];
    }
    return found;
}

/* The foretold that adds the max; what one adds only falls as the front grows, so that old figures are
 * bounds. Returns count where nothing adds anything. */
static uint32_t max_gain(vtac_halving *h, uint32_t version, const double corner[3], point *scratch)
{
    for (;;) {
        uint32_t best = h->count;
        double limit = 0;
        for (uint32_t i = 0; i < h->count; i++) {
            const foretold *f = &h->forecasts[i];
            if (f->counts && h->states[f->group] == OPEN && h->gain[i] > limit) {
                limit = h->gain[i];
                best = i;
            }
        }
        if (best == h->count || h->seen[best] == version) {
            return best;
        }
        const point p = hope_of(&h->forecasts[best]);
        h->gain[best] = gain_of(h, &p, corner, scratch);
        h->seen[best] = version;
    }
}

/* Takes what adds the max to the front, one by one, each with its twins. */
static uint32_t take_gains(vtac_halving *h, uint32_t limit, uint32_t *chosen, uint32_t count)
{
    double corner[3];
    point *scratch = calloc((size_t)h->count + 1, sizeof *scratch);
    begin_front(h, corner);
    for (uint32_t version = 1; scratch != NULL && count < limit; version++) {
        const uint32_t best = max_gain(h, version, corner, scratch);
        if (best == h->count) {
            break;
        }
        const uint32_t group = h->forecasts[best].group;
        for (uint32_t i = 0; i < h->count; i++) {
            if (h->forecasts[i].group == group && h->forecasts[i].counts) {
                const point p = hope_of(&h->forecasts[i]);
                add_to_front(h, &p);
            }
        }
        count = take_group(h, group, chosen, count);
    }
    free(scratch);
    return count;
}

/* The best by the goal, then what adds the max to the front; then front behind front, of the last one
 * evenly. */
static uint32_t take_foretold(vtac_halving *h, uint32_t limit, ordered_group *list, uint32_t *chosen,
                              uint32_t count)
{
    const uint32_t begun = count, best = (limit - count + 7) / 8;
    uint32_t size = list_open(h, h->best, h->rank, list);
    for (uint32_t i = 0; i < size && count < begun + best && list[i].key < HUGE_VAL; i++) {
        count = take_group(h, list[i].group, chosen, count);
    }
    count = take_gains(h, limit, chosen, count);
    size = list_open(h, h->rank, h->best, list);
    for (uint32_t i = 0; i < size && count < limit;) {
        uint32_t end = i;
        while (end < size && list[end].key == list[i].key) {
            end++;
        }
        count = take_evenly(h, &list[i], end - i, limit, chosen, count);
        i = end;
    }
    return count;
}

/* Half of those that are open go: the ones farthest behind. */
static void drop_half(vtac_halving *h, uint32_t min_kept, ordered_group *list)
{
    const uint32_t size = list_open(h, h->rank, h->best, list);
    const uint32_t stay = size / 2 > min_kept ? size / 2 : min_kept;
    for (uint32_t i = stay; i < size; i++) {
        h->states[list[i].group] = DROPPED;
    }
}

/* True if two groups differ in one key. */
static bool are_neighbours(const vta_config *a, const vta_config *b)
{
    return (a->log_batch != b->log_batch) + (a->log_block_in != b->log_block_in) +
               (a->log_block_out != b->log_block_out) + (a->log_inp_buff != b->log_inp_buff) +
               (a->log_wgt_buff != b->log_wgt_buff) + (a->log_acc_buff != b->log_acc_buff) +
               (a->log_uop_buff != b->log_uop_buff) + (a->log_bus_width != b->log_bus_width) +
               (a->log_queue != b->log_queue) + (a->loop_back != b->loop_back) +
               (a->depthwise_taps != b->depthwise_taps) ==
           1;
}

/* Neighbours of what is on the front by now are worth a look whatever is foretold of them: a buffer that is
 * just large enough is a step, which no smooth fit knows. */
static void favour_neighbours(vtac_halving *h)
{
    for (uint32_t i = 0; i < h->count; i++) {
        const foretold *f = &h->forecasts[i];
        const point p = hope_of(f);
        if (h->states[f->group] != CHOSEN || !f->counts || !is_on_front(h, &p)) {
            continue;
        }
        const vta_config *of = &h->candidates[f->candidate].config;
        for (uint32_t k = 0; k < h->count; k++) {
            foretold *other = &h->forecasts[k];
            if (h->states[other->group] != CHOSEN &&
                are_neighbours(of, &h->candidates[other->candidate].config)) {
                h->states[other->group] = OPEN;
                other->luck = fmax(other->luck, favour);
            }
        }
    }
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

uint32_t vtac_halving_choose(vtac_halving *h, uint32_t limit, uint32_t left, uint32_t *chosen)
{
    ordered_group *list = calloc((size_t)h->group_count + 1, sizeof *list);
    if (list == NULL || foretell_all(h) != VTA_OK) {
        free(list);
        return 0;
    }
    uint32_t count = 0;
    double corner[3];
    if (h->round == 0) { /* nothing has been timed: the fit needs all of the space */
        const uint32_t half = left / 2 > limit ? left / 2 : limit;
        count = take_shipped(h, half, chosen);
        uint32_t size = list_open(h, h->rank, h->best, list);
        count = take_arrays(h, list, size, half, chosen, count);
        size = list_open(h, h->rank, h->best, list);
        count = take_evenly(h, list, size, count < limit ? (count + limit + 1) / 2 : count, chosen, count);
    } else {
        drop_half(h, left, list);
        begin_front(h, corner);
        favour_neighbours(h);
    }
    count = count < limit ? take_foretold(h, limit, list, chosen, count) : count;
    h->round++;
    free(list);
    qsort(chosen, count, sizeof *chosen, by_number);
    return count;
}

/* A row for each group and each candidate. */
static bool make_room(vtac_halving *h)
{
    const size_t groups = (size_t)h->group_count + 1, count = (size_t)h->count + 1;
    h->states = calloc(groups, sizeof *h->states);
    h->rank = calloc(groups, sizeof *h->rank);
    h->best = calloc(groups, sizeof *h->best);
    h->left = calloc(groups, sizeof *h->left);
    h->features = calloc(groups, sizeof *h->features);
    h->was = calloc(groups, sizeof *h->was);
    h->timed = calloc(groups, sizeof *h->timed);
    h->runs = calloc(groups, sizeof *h->runs);
    const bool of_groups = h->states != NULL && h->rank != NULL && h->best != NULL && h->left != NULL &&
                           h->features != NULL && h->was != NULL && h->timed != NULL && h->runs != NULL;
    h->group_of = calloc(count, sizeof *h->group_of);
    h->forecasts = calloc(count, sizeof *h->forecasts);
    h->order = calloc(count, sizeof *h->order);
    h->front = calloc(count, sizeof *h->front);
    h->gain = calloc(count, sizeof *h->gain);
    h->seen = calloc(count, sizeof *h->seen);
    return of_groups && h->group_of != NULL && h->forecasts != NULL && h->order != NULL && h->front != NULL &&
           h->gain != NULL && h->seen != NULL;
}

vta_status vtac_halving_open(const vtac_halving_of *of, vtac_halving **out, vta_diag *diag)
{
    vtac_halving *h = *out = calloc(1, sizeof *h);
    if (h == NULL) {
        return vta_no_memory(diag);
    }
    *h = (vtac_halving){.options = of->options,
                        .candidates = of->candidates,
                        .count = of->count,
                        .groups = of->groups,
                        .group_count = of->group_count,
                        .rough = of->rough};
    if (!make_room(h)) {
        return vta_no_memory(diag);
    }
    for (uint32_t g = 0; g < of->group_count; g++) {
        h->group_of[of->groups[g]] = g; /* the first of its twins */
        features_of(&of->candidates[of->groups[g]].config, h->features[g]);
        logs_of(h, g, &of->rough[(size_t)g * of->options->network_count], h->was[g]);
    }
    for (uint32_t i = 0; i < of->count; i++) {
        h->group_of[i] = h->group_of[of->candidates[i].twin];
    }
    return VTA_OK;
}

void vtac_halving_close(vtac_halving *h)
{
    if (h != NULL) {
        free(h->states);
        free(h->group_of);
        free(h->forecasts);
        free(h->rank);
        free(h->best);
        free(h->order);
        free(h->front);
        free(h->gain);
        free(h->seen);
        free(h->left);
        free(h->was);
        free(h->timed);
        free(h->runs);
        free(h->features);
        free(h);
    }
}
