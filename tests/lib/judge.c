/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hostmem.h"
#include "interp.h"
#include "vta/fsim.h"

enum { ORDERS = 3 };

static const uint64_t insn_addr = UINT64_C(0x7000000000);
static const uint64_t arena_addr = UINT64_C(0x123456789000);
static const double max_check_s = 5;

/* One program with its memory. */
typedef struct trial {
    const progen_program *program;
    const uint8_t *initial;
    uint8_t *expected, *got;
    hostmem memory;
    vta_bus bus;
    vta_launch launch;
    judgement *out;
} trial;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool complain(trial *t, const char *what, const char *more)
{
    (void)snprintf(t->out->text, sizeof t->out->text, "%s: %s", what, more);
    return false;
}

/* Starts over from the initial contents. */
static void rewind_memory(trial *t)
{
    memcpy(t->got, t->initial, t->program->arena_size);
}

static bool accepted(const trial *t)
{
    return t->out->checked == VTA_OK;
}

static bool judge_checker(trial *t)
{
    judgement *out = t->out;
    rewind_memory(t);
    const double start = now();
    out->checked = vta_check(&t->program->config, &t->launch, &t->bus, &out->violation, &out->diag);
    out->check_s = now() - start;
    if (out->check_s > max_check_s) {
        return complain(t, "the checker takes too long", out->diag.text);
    }
    if (memcmp(t->got, t->initial, t->program->arena_size) != 0) {
        return complain(t, "the checker writes to memory", out->diag.text);
    }
    if (!accepted(t) && (out->checked != VTA_ILLEGAL_PROGRAM || out->diag.text[0] == '\0')) {
        return complain(t, "unexpected status of the checker", vta_status_text(out->checked));
    }
    return true;
}

/* True if every execution meets the violation, whatever its order. A number that one unit reads and another
 * one writes too late, or early by chance, may be right. */
static bool shows_when_run(const vta_violation *violation)
{
    const char *field = violation->field;
    if (violation->error == VTA_ERROR_UNWRITTEN) {
        return strcmp(field, "inp") != 0 && strcmp(field, "wgt") != 0 && strcmp(field, "out") != 0;
    }
    return violation->error != VTA_ERROR_UNORDERED && violation->error != VTA_ERROR_SELF_MODIFY;
}

static bool judge_interpreter(trial *t)
{
    for (uint64_t order = 0; order < ORDERS; order++) {
        vta_report report;
        char text[128];
        rewind_memory(t);
        if (interp_run(&t->program->config, &t->launch, &t->bus, order, &report, NULL) != VTA_OK) {
            return complain(t, "interpreter", "out of memory");
        }
        (void)snprintf(text, sizeof text, "instruction %u, unit %s: %s", report.insn,
                       vta_unit_name(report.unit), vta_error_text(report.error));
        if (accepted(t) && report.error != VTA_ERROR_NONE) {
            return complain(t, "accepted, but it fails", text);
        }
        if (!accepted(t) && report.error == VTA_ERROR_NONE && shows_when_run(&t->out->violation)) {
            return complain(t, "refused, but it runs", t->out->diag.text);
        }
        if (order == 0) {
            memcpy(t->expected, t->got, t->program->arena_size);
        } else if (accepted(t) && memcmp(t->expected, t->got, t->program->arena_size) != 0) {
            return complain(t, "accepted, but the result depends on the order of the units", "");
        }
    }
    return true;
}

static bool judge_fsim(trial *t, bool strict)
{
    vta_fsim *fsim = NULL;
    vta_report report = {0};
    vta_diag diag = {0};
    if (vta_fsim_create(&t->program->config, &t->bus, strict, &fsim, &diag) != VTA_OK) {
        return complain(t, "fsim", diag.text);
    }
    rewind_memory(t);
    const vta_status status = vta_fsim_run(fsim, &t->launch, &report, &diag);
    vta_fsim_destroy(fsim);
    if (status != VTA_OK) {
        return complain(t, "fsim could not run", diag.text);
    }
    if (accepted(t) && report.error != VTA_ERROR_NONE) {
        return complain(t, "accepted, but fsim fails", vta_error_text(report.error));
    }
    if (accepted(t) && memcmp(t->expected, t->got, t->program->arena_size) != 0) {
        return complain(t, "accepted, but fsim leaves other bytes", strict ? "strict" : "not strict");
    }
    if (strict && !accepted(t) && report.error == VTA_ERROR_NONE && shows_when_run(&t->out->violation)) {
        return complain(t, "refused, but strict fsim runs it", t->out->diag.text);
    }
    return true;
}

static bool judge_all(trial *t, double max_cost)
{
    if (!judge_checker(t)) {
        return false;
    }
    t->out->skipped = interp_cost(&t->program->config, &t->launch, &t->bus) > max_cost;
    return t->out->skipped || (judge_interpreter(t) && judge_fsim(t, true) && judge_fsim(t, false));
}

bool judge(const progen_program *program, const uint8_t *initial, uint64_t visible, double max_cost,
           judgement *out)
{
    memset(out, 0, sizeof *out);
    trial t = {.program = program, .initial = initial, .out = out};
    t.expected = malloc(program->arena_size);
    t.got = malloc(program->arena_size);
    if (t.expected == NULL || t.got == NULL) {
        free(t.expected);
        free(t.got);
        return complain(&t, "judge", "out of memory");
    }
    hostmem_add(&t.memory, insn_addr, program->insns, sizeof *program->insns * program->insn_count);
    hostmem_add(&t.memory, arena_addr, t.got, visible);
    t.bus = hostmem_bus(&t.memory);
    t.launch = progen_launch(program, insn_addr, arena_addr);
    const bool good = judge_all(&t, max_cost);
    free(t.expected);
    free(t.got);
    return good;
}
