/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging: what a configuration's estimates come to, by the goal, and which configurations are the front.
 */
#include <math.h>

#include "search.h"

/* Pictures that a run of the network takes. */
static double pictures_of(const vtac_explored *network)
{
    int64_t n = 1;
    for (uint32_t r = 0; r < network->region_count; r++) {
        const vtac_vta_region *region = &network->regions[r].region;
        for (uint32_t t = 0; t < region->tensor_count; t++) {
            n = region->tensors[t].role == VTAC_VTA_INPUT && region->tensors[t].n > n ? region->tensors[t].n
                                                                                      : n;
        }
    }
    return (double)n;
}

/* A number that is not known counts for no goal. */
static double known(double value)
{
    return value > 0 ? value : (double)NAN;
}

static void apply_goal(const vtac_explore_options *o, double (*of)[VTAC_NETWORK_MEASURES], vtac_candidate *c)
{
    const double millijoules = 1e3 * c->energy;
    const vtac_measured m = {.networks = of,
                             .all = {[VTAC_MEASURE_FPS] = c->fps,
                                     [VTAC_MEASURE_LATENCY] = 1e3 * c->latency,
                                     [VTAC_MEASURE_ROUND] = 1e3 * c->round,
                                     [VTAC_MEASURE_MJ] = known(1e3 * o->watts / c->fps),
                                     [VTAC_MEASURE_WATTS] = known(o->watts),
                                     [VTAC_MEASURE_ENERGY] = millijoules,
                                     [VTAC_MEASURE_EDP] = millijoules / c->fps,
                                     [VTAC_MEASURE_AREA] = c->share,
                                     [VTAC_MEASURE_LUT] = c->area.lut,
                                     [VTAC_MEASURE_FF] = c->area.ff,
                                     [VTAC_MEASURE_DSP] = c->area.dsp,
                                     [VTAC_MEASURE_BRAM] = c->area.bram,
                                     [VTAC_MEASURE_MHZ] = c->config.clock_mhz,
                                     [VTAC_MEASURE_PRICE] = known(o->price)}};
    c->score = o->goal != NULL ? vtac_goal_score(o->goal, &m) : -c->fps;
    c->broken = o->goal != NULL ? vtac_goal_broken(o->goal, &m) : -1;
}

void vtac_candidate_evaluate(const vtac_explore_options *o, double energy_times, vtac_candidate *c)
{
    double fps = 0.0, energy = 0.0, all = 0.0, min_count = HUGE_VAL;
    double of[VTAC_MAX_NETWORKS][VTAC_NETWORK_MEASURES];
    const double times = o->time > 0 ? o->time : 1;
    c->runs = true;
    c->latency = c->round = 0;
    for (uint32_t n = 0; n < o->network_count; n++) {
        all += o->counts[n];
        min_count = fmin(min_count, o->counts[n]);
    }
    for (uint32_t n = 0; n < o->network_count; n++) {
        const vtac_estimate *e = &c->networks[n];
        const double pictures = pictures_of(&o->networks[n]), beside = pictures * c->config.cores;
        if (e->cycles == 0) {
            c->runs = false;
            return;
        }
        const double share = all > 0 ? o->counts[n] / all : 1.0 / o->network_count;
        const double seconds = times * (double)e->cycles / (1e6 * c->config.clock_mhz);
        fps += log(beside / seconds) * share;
        energy += log(vtac_energy_of(&c->config, &e->sum) / pictures) * share;
        c->latency = fmax(c->latency, seconds);
        c->round += seconds * (all > 0 ? o->counts[n] / min_count : 1);
        of[n][VTAC_NETWORK_FPS] = beside / seconds;
        of[n][VTAC_NETWORK_MS] = 1e3 * seconds;
        of[n][VTAC_NETWORK_CYCLES] = (double)e->cycles;
    }
    c->fps = exp(fps);
    c->energy = exp(energy) * energy_times;
    apply_goal(o, of, c);
}

static bool dominates(const vtac_candidate *a, const vtac_candidate *b)
{
    return a->fps >= b->fps && a->share <= b->share && a->energy <= b->energy &&
           (a->fps > b->fps || a->share < b->share || a->energy < b->energy || a->index < b->index);
}

void vtac_mark_front(vtac_candidate *candidates, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        vtac_candidate *c = &candidates[i];
        c->front = c->runs && c->broken < 0;
        for (uint32_t k = 0; c->front && k < count; k++) {
            const vtac_candidate *other = &candidates[k];
            c->front = !(other->runs && other->broken < 0 && dominates(other, c));
        }
    }
}
