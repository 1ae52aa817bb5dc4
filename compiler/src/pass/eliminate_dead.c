/* SPDX-License-Identifier: Apache-2.0
 *
 * eliminate-dead: what no output of the graph needs goes. Graph inputs stay: they are the model's interface.
 */
#include "vtac/pass.h"

vtac_pass_fn vtac_pass_eliminate_dead;

vta_status vtac_pass_eliminate_dead(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    (void)diag;
    *changes = vtac_remove_dead(graph);
    return VTA_OK;
}
