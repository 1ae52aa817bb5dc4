/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the program of a list that is finished, and decides which weights stay on chip from run to run.
 */
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "timing.h"
#include "vta/again.h"

static vta_status record_stream(scheduler *s, const step_list *list, vta_stream *stream, vta_code **code,
                                vta_diag *diag)
{
    (void)vta_stream_buffer(stream, "constants", s->image->constant_bytes);
    (void)vta_stream_buffer(stream, "work", s->image->work_bytes);
    VTA_TRY(vtac_vta_list_record(list, stream, diag));
    return vta_stream_finish(stream, code, diag);
}

/* *code is owned. */
static vta_status record_code(scheduler *s, const step_list *list, vta_code **code, vta_diag *diag)
{
    vta_stream *stream = NULL;
    VTA_TRY(vta_stream_create(s->hardware.config, &stream, diag));
    const vta_status status = record_stream(s, list, stream, code, diag);
    vta_stream_destroy(stream);
    return status;
}

vta_status vtac_vta_schedule_program(scheduler *s, vta_diag *diag)
{
    vta_code *code = NULL;
    VTA_TRY(record_code(s, &s->list, &code, diag));
    const vta_status status = vta_code_program(code, &s->image->program, diag);
    vta_code_destroy(code);
    return status;
}

/* ---- weights that stay on chip */

/* Marks the LOADs of a list that a second run of its code leaves out. Calls and instructions have one order;
 * between them the runtime has put LOADs of micro-ops and transfers of nothing. */
static void mark_kept(step_list *list, const vta_config *config, const vta_code *code, const vta_word *again)
{
    vta_code_info info;
    vta_code_describe(code, &info);
    const vta_word *first = vta_code_insns(code);
    step *s = list->steps.items;
    list->uops_kept = true;
    for (uint32_t i = 0; i < info.insn_count; i++) {
        vta_insn insn;
        (void)vta_insn_decode_raw(config, first[i], &insn);
        const bool moves = insn.opcode == VTA_OP_LOAD || insn.opcode == VTA_OP_STORE;
        const bool kept = memcmp(&first[i], &again[i], sizeof *first) != 0;
        if (insn.opcode == VTA_OP_LOAD && insn.mem.memory == VTA_MEM_UOP) {
            list->uops_kept = list->uops_kept && (kept || insn.mem.x_size == 0);
        } else if (insn.opcode != VTA_OP_FINISH && (!moves || insn.mem.x_size > 0)) {
            (s++)->kept = kept;
        }
    }
}

static void forget_kept(step_list *list)
{
    list->uops_kept = false;
    for (size_t i = 0; i < list->steps.count; i++) {
        ((step *)vta_vec_at(&list->steps, i))->kept = false;
    }
}

/* The cycles of a second run, which finds on chip what the first one left; `shares` as of
 * vtac_vta_timing_of. */
static vta_status time_again(scheduler *s, step_list *list, uint64_t *shares, uint32_t tags, uint64_t *cycles,
                             vta_diag *diag)
{
    vta_code *code = NULL;
    vta_code_info info;
    uint32_t kept;
    VTA_TRY(record_code(s, list, &code, diag));
    vta_code_describe(code, &info);
    vta_word *again = malloc(info.insn_count * sizeof *again);
    vta_status status = again != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    if (status == VTA_OK) {
        status = vta_code_again(code, UINT32_C(1) << CONSTANTS_BUFFER, again, &kept, diag);
    }
    if (status == VTA_OK) {
        mark_kept(list, s->hardware.config, code, again);
        *cycles = vtac_vta_timing_of(&s->hardware, list, s->image->work_bytes, shares, tags);
        forget_kept(list);
    }
    free(again);
    vta_code_destroy(code);
    return status;
}

/* The times of a list: of its first run, and of one behind it. */
typedef struct run_times {
    uint64_t first, again;
} run_times;

/* Moves LOADs up, and times the list. */
static vta_status time_list(scheduler *s, step_list *list, run_times *out, vta_diag *diag)
{
    vtac_vta_schedule_advance(s, list);
    out->first = vtac_vta_timing_of(&s->hardware, list, s->image->work_bytes, NULL, 0);
    return time_again(s, list, NULL, 0, &out->again, diag);
}

/* Gives weights places in which they stay, if the runs behind the first one become faster by more than one
 * cycle in WORTH and the first one does not become slower by as much. The list of the region has no LOAD
 * moved up yet. */
static vta_status choose_resident(scheduler *s, step_list *best, vta_diag *diag)
{
    enum { WORTH = 128, SHARES = 5 };
    static const int64_t shared[SHARES] = {0, 16, 8, 4, 2}; /* parts of WGT that are used in turn; 0: none */
    run_times plain, best_times, now;
    vtac_vta_list_copy(&s->list, best);
    VTA_TRY(time_list(s, best, &plain, diag));
    best_times = plain;
    for (int i = 0; i < SHARES; i++) {
        const int64_t turns = shared[i] > 0 ? s->hardware.wgt / shared[i] : 0;
        if (!vtac_vta_resident_place(&s->hardware, &s->list, turns, &s->trial)) {
            continue;
        }
        VTA_TRY(time_list(s, &s->trial, &now, diag));
        if (now.again + plain.again / WORTH < best_times.again &&
            now.first <= plain.first + plain.first / WORTH) {
            const step_list other = *best;
            *best = s->trial;
            s->trial = other;
            best_times = now;
        }
        if (turns == 0) {
            break;
        }
    }
    s->image->again = best_times.again;
    return VTA_OK;
}

vta_status vtac_vta_schedule_keep(scheduler *s, vta_diag *diag)
{
    step_list best;
    vtac_vta_list_init(&best);
    const vta_status status = choose_resident(s, &best, diag);
    vtac_vta_list_free(status == VTA_OK ? &s->list : &best);
    if (status == VTA_OK) {
        s->list = best;
    }
    return status;
}

/* Moves LOADs up in the list of the region, if the runs behind the first one do not become slower by more
 * than one cycle in WORTH. */
vta_status vtac_vta_schedule_hoist(scheduler *s, vta_diag *diag)
{
    enum { WORTH = 128 };
    uint64_t again = s->image->again;
    vtac_vta_list_copy(&s->list, &s->trial);
    vtac_vta_list_hoist(&s->trial, &s->hardware, s->image->work_bytes);
    if (again > 0) {
        VTA_TRY(time_again(s, &s->trial, NULL, 0, &again, diag));
    }
    if (again <= s->image->again + s->image->again / WORTH) {
        const step_list given = s->list;
        s->list = s->trial;
        s->trial = given;
        s->image->again = again;
    }
    return VTA_OK;
}
