/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding with the reason of a refusal kept as data, for the sentence of `vta_insn_decode` and for the
 * checker.
 */
#ifndef VTA_CODEC_INTERNAL_H
#define VTA_CODEC_INTERNAL_H

#include "vta/isa.h"

/* The fault of one instruction. `field` and `rule` are static; `rule` says what the bound is for. */
typedef struct vta_fault {
    vta_error error;
    const char *field;
    int64_t value, bound;
    const char *rule;
} vta_fault;

/* Decodes; on NONE `fault` is untouched. `fault` may be NULL. */
vta_error vta_insn_inspect(const vta_config *config, vta_word word, vta_insn *out, vta_fault *fault);

#endif
