/* SPDX-License-Identifier: Apache-2.0
 *
 * The configurations that come with vtac, by the same models of area, time and energy.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "explore.h"
#include "vta/fail.h"

static vta_status time_one(cli_explored *e, const vta_config *config, vtac_candidate *c, char *fits,
                           size_t size, vta_diag *diag)
{
    /* The shipped one alone is a space. */
    const vtac_space space = {.base = *config};
    vtac_explore_options options = *e->options;
    vtac_exploration one;
    vtac_work *work = NULL;
    vtac_part everything = *e->part;
    everything.lut_max = everything.ff = everything.dsp_max = everything.bram_max = HUGE_VAL;
    everything.family = config->alu_dsps == 2 ? VTAC_XCUP : everything.family;
    options.space = &space;
    options.part = &everything;
    options.limit = 0;
    options.search = 0;
    options.journal = NULL;
    options.told = NULL;
    VTA_TRY(vtac_work_open(&(vtac_work_options){.workers = 1}, vtac_explore_piece, &options, &work, diag));
    const vta_status status = vtac_explore(&options, work, &one, diag);
    vtac_work_close(work);
    VTA_TRY(status);
    if (one.count == 1) {
        *c = one.candidates[0];
        (void)snprintf(c->config.name, sizeof c->config.name, "%s", config->name);
        c->share = vtac_area_share(e->part, &c->area);
        if (vtac_part_has(e->part, config, fits, size)) {
            (void)vtac_area_fits(e->part, &c->area, fits, size);
        }
    }
    vtac_exploration_free(&one);
    return VTA_OK;
}

vta_status cli_time_shipped(cli_explored *e, vta_diag *diag)
{
    uint32_t count;
    const char *const *names = vta_config_names(&count);
    e->shipped = calloc(EXPLORE_SHIPPED, sizeof *e->shipped);
    if (e->shipped == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < count && e->shipped_count < EXPLORE_SHIPPED; i++) {
        vta_config config;
        VTA_TRY(vta_config_load(names[i], &config, diag));
        if (!vtac_space_suits(e->part, &config)) {
            continue;
        }
        config.mem_shared = e->part->shared_mb_s;
        memcpy(config.dram, e->options->space->base.dram, sizeof config.dram);
        VTA_TRY(time_one(e, &config, &e->shipped[e->shipped_count], e->fits[e->shipped_count],
                         sizeof e->fits[0], diag));
        e->shipped_count++;
    }
    return VTA_OK;
}
