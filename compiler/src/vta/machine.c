/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration in the units of a schedule.
 */
#include "sched.h"
#include "vta/dram_kind.h"
#include "vta/number.h"

int64_t vtac_vta_block(const vta_config *config)
{
    return vta_max(config->block_in, config->block_out);
}

enum { RUN = 32 }; /* columns of one direction while the other waits: dram_queue.h */

/* Bytes a cycle that a DRAM moves from or to open rows, refreshes deducted, without and with turns of the
 * bus; and the cycles that a burst costs it where its rows do not stay open: banks hide that elsewhere. */
static void set_dram(const vta_dram_kind *kind, double mhz, machine *out)
{
    const double reopen = kind->open ? 0 : (double)kind->rp + kind->rcd;
    const double refresh = kind->refi > 0 ? ((double)kind->rfc + reopen) / kind->refi : 0;
    const double runs = 2.0 * RUN * vta_dram_column_ps(kind);
    const double turns = (double)kind->rtw + kind->wtr + kind->cl + 2 * reopen;
    out->shared = (double)kind->rate * kind->width / 8 / mhz * (1 - refresh);
    out->latency = vta_dram_read_cycles(kind, (uint32_t)mhz);
    out->answer = vta_dram_answer_cycles(kind, (uint32_t)mhz);
    out->both = out->shared * runs / (runs + turns);
    out->reopen = reopen * mhz * 1e-6;
}

static vta_status set_memory(const vta_config *config, machine *out, vta_diag *diag)
{
    vta_dram_kind kind;
    out->latency = out->answer = config->mem_latency;
    out->shared = out->both = (double)config->mem_shared / config->clock_mhz;
    if (vta_dram_choose(config->dram, &kind, diag) != VTA_OK) {
        return vta_context(diag, "configuration '%s'", config->name);
    }
    if (kind.rate > 0) {
        set_dram(&kind, config->clock_mhz, out);
    }
    out->shared /= config->cores; /* all of them ask for it at once, and each gets its part */
    out->both /= config->cores;
    return VTA_OK;
}

vta_status vtac_vta_machine_of(const vta_config *config, machine *out, vta_diag *diag)
{
    *out = (machine){
        .config = config,
        .batch = config->batch,
        .block_in = config->block_in,
        .block_out = config->block_out,
        .block = vtac_vta_block(config),
        .inp = config->depth[VTA_MEM_INP],
        .wgt = config->depth[VTA_MEM_WGT],
        .acc = config->depth[VTA_MEM_ACC],
        .uop = config->depth[VTA_MEM_UOP],
    };
    out->ri = out->block / out->block_in;
    out->ro = out->block / out->block_out;
    out->beat = vta_min(1 << (config->log_bus_width - 3), config->mem_bandwidth);
    VTA_TRY(set_memory(config, out, diag));
    if (config->batch > 1 && config->block_in != config->block_out) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "configuration '%s' has batch %u and blocks of %u x %u; models need batch 1, or "
                        "LOG_BLOCK_IN equal to LOG_BLOCK_OUT",
                        config->name, config->batch, config->block_in, config->block_out);
    }
    return VTA_OK;
}
