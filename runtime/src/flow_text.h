/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that the tensors of a run hold by number, each once.
 */
#ifndef VTA_FLOW_TEXT_H
#define VTA_FLOW_TEXT_H

#include "flow_walk.h"

/* The number of a text, a new one where it is not there yet; the empty one is 0. */
vta_status vta_text_number(vta_flow *flow, const char *at, size_t size, int64_t *out, vta_diag *diag);
/* A terminated text; "" of a number that is none. */
const char *vta_text_at(const vta_flow *flow, int64_t number, size_t *size);
void vta_text_clear(vta_flow *flow);

/* `count` inputs, all of them texts. */
vta_status vta_texts_needed(const vta_call *call, int64_t count);
/* A list of characters that is an attribute, terminated; NULL: out of memory. */
char *vta_text_word(const vta_call *call, int64_t i, size_t *size);

#endif
