/* SPDX-License-Identifier: Apache-2.0
 *
 * vta_speed [CONFIG [NET]]: how many candidates the timing model judges in a second of the processor. A
 * candidate is a way to cut one of the network's convolutions, as the scheduler tries them: timed to its end,
 * as far as the search does (until it is known not to be faster than the best so far), and with the list of
 * calls that is read. Fails where the two disagree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nets.h"

#include "emit.h"
#include "timing.h"

enum { WAYS = 24 }; /* of a layer, as at -O3 */

typedef struct tally {
    uint64_t candidates, calls;
    double emitting, timing, judging; /* seconds of the processor */
} tally;

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static vta_status judge(const plan *p, uint64_t *best, tally *all, vta_diag *diag)
{
    step_list list;
    vtac_vta_list_init(&list);
    const double begin = seconds();
    const vta_status status = vtac_vta_conv_emit(p, &list, diag);
    vtac_vta_list_load_ahead(&list, p->machine->config, p->machine->latency);
    const double emitted = seconds();
    const uint64_t below = status == VTA_OK ? vtac_vta_timing_below(p->machine, &list, 0, *best) : 0;
    const double judged = seconds();
    const uint64_t cycles = status == VTA_OK ? vtac_vta_timing_of(p->machine, &list, 0, NULL, 0) : 0;
    all->timing += seconds() - judged;
    all->judging += judged - emitted;
    all->emitting += emitted - begin;
    all->candidates++;
    all->calls += list.steps.count;
    vtac_vta_list_free(&list);
    if (status == VTA_OK && below != (cycles < *best ? cycles : UINT64_MAX)) {
        return vta_fail(diag, VTA_RANGE, "%" PRIu64 " cycles, judged as %" PRIu64, cycles, below);
    }
    *best = cycles < *best ? cycles : *best;
    return cycles > 0 || status != VTA_OK ? status : vta_fail(diag, VTA_NOMEM, "no memory to time a list");
}

static vta_status judge_layer(const machine *m, const lab_region *lab, uint32_t number, tally *all,
                              vta_diag *diag)
{
    plan p;
    tiling ways[WAYS];
    uint32_t found;
    uint64_t best = UINT64_MAX;
    VTA_TRY(vtac_vta_conv_plan(m, &lab->region, number, &p, diag));
    VTA_TRY(vtac_vta_tiling_choose(&p.conv, ways, WAYS, &found, diag));
    for (uint32_t i = 0; i < found; i++) {
        p.tiling = ways[i];
        VTA_TRY(judge(&p, &best, all, diag));
    }
    return VTA_OK;
}

static vta_status bench(const lab_net *net, const vta_config *config, vta_diag *diag)
{
    static lab_region lab;
    tally all = {0};
    machine m = {.config = config};
    lab_init(&lab, 1);
    net->build(&lab);
    lab_finish(&lab);
    vta_status status = vtac_vta_machine_of(config, &m, diag);
    for (uint32_t n = 0; n < lab.region.layer_count && status == VTA_OK; n++) {
        if (vtac_vta_layer_kinds[lab.layers[n].kind].plan == vtac_vta_conv_plan) {
            status = judge_layer(&m, &lab, n, &all, diag);
        }
    }
    lab_free(&lab);
    const double count = (double)all.candidates;
    if (status == VTA_OK && count > 0) {
        printf("%-12s %6" PRIu64 " candidates of %.0f calls: %.0f a second judged by the timing model, %.0f "
               "timed to the end, %.0f judged with their lists; %.1f million calls a second\n",
               net->name, all.candidates, (double)all.calls / count, count / all.judging, count / all.timing,
               count / (all.judging + all.emitting), 1e-6 * (double)all.calls / all.timing);
    }
    return status;
}

int main(int argc, char **argv)
{
    vta_config config;
    vta_diag diag = {0};
    if (argc > 3 || vta_config_load(argc > 1 ? argv[1] : "pynq", &config, &diag) != VTA_OK ||
        (argc > 2 && lab_net_named(argv[2]) == NULL)) {
        fprintf(stderr, "usage: vta_speed [CONFIG [NET]]; %s\n", diag.text);
        return 2;
    }
    for (uint32_t i = 0; i < lab_net_count; i++) {
        if ((argc < 3 || strcmp(argv[2], lab_nets[i].name) == 0) &&
            bench(&lab_nets[i], &config, &diag) != VTA_OK) {
            fprintf(stderr, "%s: %s\n", lab_nets[i].name, diag.text);
            return 1;
        }
    }
    return 0;
}
