/* SPDX-License-Identifier: Apache-2.0
 *
 * The functional simulator on its way through a program. Each stretch of the way is a program of its own: the
 * tokens that are there where it begins, the instructions, what takes the tokens where it ends; the
 * scratchpads stay as they are from one to the next.
 */
#include <stdlib.h>
#include <string.h>

#include "parts_internal.h"
#include "vta/fsim.h"

vta_status vta_walk_create(const vta_config *config, const vta_cuts *cuts, vta_dram *dram,
                           const vta_launch *launch, vta_walk **out, vta_diag *diag)
{
    *out = NULL;
    uint8_t *program = vta_dram_map(dram, launch->insn_addr, (uint64_t)launch->insn_count * VTA_INSN_BYTES);
    if (program == NULL || launch->insn_count != cuts->count) {
        return vta_fail(diag, VTA_INVALID, "the program that is to be cut is not in memory");
    }
    const vta_bus bus = vta_dram_bus(dram);
    vta_walk *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to cut a program");
    }
    *w = (vta_walk){.config = config, .cuts = cuts, .dram = dram, .launch = *launch, .program = program};
    const vta_status status = vta_fsim_create(config, &bus, false, &w->fsim, diag);
    if (status != VTA_OK) {
        vta_walk_destroy(w);
        return status;
    }
    *out = w;
    return VTA_OK;
}

void vta_walk_destroy(vta_walk *w)
{
    if (w != NULL) {
        vta_fsim_destroy(w->fsim);
        free(w);
    }
}

/* Puts a patch at an instruction of the program, or takes it away again: both hold what the other had. */
static void swap(vta_walk *w, vta_patch *p, uint32_t insn)
{
    uint8_t *at = w->program + (size_t)insn * VTA_INSN_BYTES;
    for (uint32_t i = 0; i < p->count; i++) {
        vta_word word;
        memcpy(&word, at + (size_t)i * VTA_INSN_BYTES, sizeof word);
        memcpy(at + (size_t)i * VTA_INSN_BYTES, &p->words[i], sizeof word);
        p->words[i] = word;
    }
}

static vta_status run(vta_walk *w, vta_patch *begin, vta_patch *end, uint32_t to, vta_diag *diag)
{
    vta_report report;
    const uint32_t first = w->at - begin->count;
    vta_launch launch = w->launch;
    launch.insn_addr += (uint64_t)first * VTA_INSN_BYTES;
    launch.insn_count = to - first + end->count;
    swap(w, begin, first);
    swap(w, end, to);
    const vta_status status = vta_fsim_run(w->fsim, &launch, &report, diag);
    swap(w, begin, first);
    swap(w, end, to);
    VTA_TRY(status);
    return report.error == VTA_ERROR_NONE
               ? VTA_OK
               : vta_fail(diag, VTA_PROTOCOL, "what comes before a cut fails: %s, instruction %u",
                          vta_error_text(report.error), (unsigned)(first + report.insn));
}

static vta_status go(vta_walk *w, vta_patch *begin, vta_patch *end, uint32_t to, vta_diag *diag)
{
    if (w->at > 0) {
        vta_patch_tokens(begin, w->cuts->insns[w->at].tokens, true);
        VTA_TRY(vta_patch_align(begin, w->at));
    }
    if (to < w->cuts->count) {
        vta_patch_end(end, w->cuts->insns[to].tokens);
        VTA_TRY(end->status);
    }
    VTA_TRY(run(w, begin, end, to, diag));
    w->at = to;
    return VTA_OK;
}

vta_status vta_walk_to(vta_walk *w, uint32_t insn, vta_diag *diag)
{
    if (insn == w->at) {
        return VTA_OK;
    }
    if (insn < w->at || insn > w->cuts->count || (insn < w->cuts->count && !w->cuts->insns[insn].clean)) {
        return vta_fail(diag, VTA_INVALID, "the way from instruction %u does not come by instruction %u",
                        (unsigned)w->at, (unsigned)insn);
    }
    vta_patch *begin = vta_patch_create(w->config, diag);
    vta_patch *end = vta_patch_create(w->config, diag);
    const vta_status status = begin != NULL && end != NULL
                                  ? go(w, begin, end, insn, diag)
                                  : vta_fail(diag, VTA_NOMEM, "no memory to cut a program");
    free(begin);
    free(end);
    return status;
}
