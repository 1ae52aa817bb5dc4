/* SPDX-License-Identifier: Apache-2.0
 *
 * States that whoever runs a model carries from run to run: an output is the input of the next run. Pairs of
 * one type are found by their names (vtac/states.def), or named by the user (vtac compile --state).
 */
#ifndef VTAC_STATES_H
#define VTAC_STATES_H

#include "vta/model.h"
#include "vtac/graph.h"

/* Notes pairs that the user named, for all that comes later. A name that the model does not have, or a pair
 * of two types, is refused. */
vta_status vtac_name_states(vtac_graph *graph, const vtac_state_name *names, uint32_t count, vta_diag *diag);

/* The states of the model, in the order of its inputs; *out is from malloc, NULL where there are none. */
vta_status vtac_find_states(const vtac_graph *graph, vta_state **out, uint32_t *count, vta_diag *diag);

/* True if an input and an output of these names are a state by a row of states.def. */
bool vtac_state_names_fit(const char *input, const char *output);

/* An input or output of the model, which its flow has where there is one. */
const char *vtac_model_input_name(const vtac_graph *graph, uint32_t i);
const char *vtac_model_output_name(const vtac_graph *graph, uint32_t i);

#endif
