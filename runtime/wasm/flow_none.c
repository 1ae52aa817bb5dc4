/* SPDX-License-Identifier: Apache-2.0
 *
 * In a browser models are static: there are no mathematics there yet for the instructions of
 * ../src/flow_math.c.
 */
#include "../src/flow_walk.h"

vta_status vta_flow_open(const vta_artifact *artifact, vta_flow *out, vta_diag *diag)
{
    *out = (vta_flow){.artifact = artifact};
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "it has control flow, or sizes that are known only at run time; WebAssembly takes static "
                    "models (give fixed sizes with --shape)");
}

void vta_flow_close(vta_flow *flow)
{
    *flow = (vta_flow){.artifact = NULL};
}

/* No run comes this far. */
void vta_flow_clear(vta_flow *flow)
{
    (void)flow;
}

vta_status vta_flow_go(vta_flow *flow, vta_item *inputs, vta_diag *diag)
{
    (void)inputs;
    return vta_flow_open(flow->artifact, flow, diag);
}

const vta_item *vta_flow_output(const vta_flow *flow, int64_t i)
{
    return flow->slots[i];
}
