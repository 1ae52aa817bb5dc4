/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that are put over a program: what brings its tokens about, and what takes them.
 */
#include <stdlib.h>

#include "parts_internal.h"

enum { INSNS_ALIGN = VTA_BASE_ALIGN / VTA_INSN_BYTES };

vta_patch *vta_patch_create(const vta_config *config, vta_diag *diag)
{
    vta_patch *p = calloc(1, sizeof *p);
    if (p != NULL) {
        p->config = config;
        p->diag = diag;
    }
    return p;
}

void vta_patch_add(vta_patch *p, const vta_insn *insn)
{
    if (p->status == VTA_OK && p->count == PATCH_MAX) {
        p->status =
            vta_fail(p->diag, VTA_UNSUPPORTED, "too many tokens are under way where a program is cut");
    }
    if (p->status == VTA_OK) {
        p->status = vta_insn_encode(p->config, insn, &p->words[p->count], p->diag);
        p->count++;
    }
}

vta_insn vta_patch_carrier(vta_unit unit)
{
    const vta_memory memory = unit == VTA_UNIT_LOAD      ? VTA_MEM_INP
                              : unit == VTA_UNIT_COMPUTE ? VTA_MEM_UOP
                                                         : VTA_MEM_OUT;
    return (vta_insn){.opcode = unit == VTA_UNIT_STORE ? VTA_OP_STORE : VTA_OP_LOAD, .mem.memory = memory};
}

void vta_patch_tokens(vta_patch *p, const uint8_t *tokens, bool push)
{
    static const vta_unit producer[VTA_QUEUE_COUNT] = {
#define VTA_QUEUE(id, producer, consumer, doc) [VTA_QUEUE_##id] = VTA_UNIT_##producer,
#include "vta/isa.def"
    };
    static const vta_unit consumer[VTA_QUEUE_COUNT] = {
#define VTA_QUEUE(id, producer, consumer, doc) [VTA_QUEUE_##id] = VTA_UNIT_##consumer,
#include "vta/isa.def"
    };
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        const bool onward = producer[q] < consumer[q];
        vta_insn insn = vta_patch_carrier(push ? producer[q] : consumer[q]);
        insn.push_next = push && onward;
        insn.push_prev = push && !onward;
        insn.pop_prev = !push && onward;
        insn.pop_next = !push && !onward;
        for (uint32_t i = 0; i < tokens[q]; i++) {
            vta_patch_add(p, &insn);
        }
    }
}

void vta_patch_end(vta_patch *p, const uint8_t *tokens)
{
    const vta_insn finish = {.opcode = VTA_OP_FINISH};
    vta_patch_tokens(p, tokens, false);
    vta_patch_add(p, &finish);
}

vta_status vta_patch_align(vta_patch *p, uint32_t insn)
{
    const vta_insn filler = vta_patch_carrier(VTA_UNIT_COMPUTE);
    while (p->status == VTA_OK && p->count <= insn && (insn - p->count) % INSNS_ALIGN != 0) {
        vta_patch_add(p, &filler);
    }
    if (p->status == VTA_OK && p->count > insn) {
        return vta_fail(p->diag, VTA_UNSUPPORTED, "a part needs %u instructions before its first",
                        (unsigned)p->count);
    }
    return p->status;
}
