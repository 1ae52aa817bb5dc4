/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of values, unique within a graph.
 */
#ifndef VTAC_IR_NAMES_H
#define VTAC_IR_NAMES_H

#include "vtac/graph.h"

/* Names a new value, which has room in `values` already: `name`, made unique where it is taken, or made up
 * where it is NULL or empty. */
vta_status vtac_name_value(vtac_graph *graph, vtac_value_id id, const char *name, vta_diag *diag);

#endif
