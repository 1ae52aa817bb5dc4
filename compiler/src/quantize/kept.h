/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that stay float, by their names.
 */
#ifndef VTAC_QUANTIZE_KEPT_H
#define VTAC_QUANTIZE_KEPT_H

#include "vtac/quantize.h"

/* The nodes that `names` tell, by their own name or that of a result; a name that is none is refused. */
vta_status vtac_quant_find_named(const vtac_graph *graph, const char *const *names, uint32_t count,
                                 vta_arena *arena, const bool **out, vta_diag *diag);

/* The nodes that stay float by `keep_float`, with their readers where the options ask for it. */
vta_status vtac_quant_find_kept(const vtac_graph *graph, const vtac_quantize_options *how, vta_arena *arena,
                                const bool **out, vta_diag *diag);

#endif
