/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration in the units of a schedule.
 */
#include "sched.h"
#include "vta/number.h"

int64_t vtac_vta_block(const vta_config *config)
{
    return vta_max(config->block_in, config->block_out);
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
    out->shared = (double)config->mem_shared / config->clock_mhz;
    if (config->batch > 1 && config->block_in != config->block_out) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "configuration '%s' has batch %u and blocks of %u x %u; models need batch 1, or "
                        "LOG_BLOCK_IN equal to LOG_BLOCK_OUT",
                        config->name, config->batch, config->block_in, config->block_out);
    }
    return VTA_OK;
}
