/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker's entry: memory, the two passes, and the sentence of a violation. check_internal.h shows the
 * way.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"

vta_status vta_check_report(checker *c, uint32_t index, vta_error error, const char *field, int64_t value,
                            int64_t bound, const char *fmt, ...)
{
    char text[640];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->violation = (vta_violation){error, index, field, value, bound};
    c->diag->code = VTA_OK;
    return vta_fail(c->diag, VTA_ILLEGAL_PROGRAM, "instruction %" PRIu32 " (%s): %s", index,
                    vta_check_name(c, index), text);
}

vta_status vta_check_no_memory(checker *c)
{
    c->diag->code = VTA_OK;
    return vta_fail(c->diag, VTA_NOMEM, "no memory to check a program of %" PRIu32 " instructions",
                    c->launch->insn_count);
}

bool vta_check_fetch(const checker *c, uint32_t index, vta_word *word)
{
    const uint8_t *bytes = NULL;
    if (c->program != NULL) {
        bytes = c->program + (size_t)index * VTA_INSN_BYTES;
    } else {
        const uint64_t offset = (uint64_t)index * VTA_INSN_BYTES;
        if (c->launch->insn_addr <= UINT64_MAX - offset - VTA_INSN_BYTES) {
            bytes = c->bus->map(c->bus->context, c->launch->insn_addr + offset, VTA_INSN_BYTES);
        }
        if (bytes == NULL) {
            return false;
        }
    }
    memcpy(word, bytes, sizeof *word);
    return true;
}

const char *vta_check_name(const checker *c, uint32_t index)
{
    vta_word word;
    vta_insn insn;
    if (index >= c->launch->insn_count || !vta_check_fetch(c, index, &word)) {
        return "missing";
    }
    (void)vta_insn_inspect(c->config, word, &insn, NULL);
    return vta_opcode_name(insn.opcode);
}

/* Checks the arguments of the caller, apart from the program. */
static vta_status check_launch(const vta_launch *launch, vta_diag *diag)
{
    if (launch->insn_addr % VTA_BASE_ALIGN != 0) {
        return vta_fail(diag, VTA_INVALID, "instruction address 0x%" PRIx64 " is not a multiple of %d",
                        launch->insn_addr, VTA_BASE_ALIGN);
    }
    for (int segment = 0; segment < VTA_SEGMENTS; segment++) {
        if (launch->base[segment] % VTA_BASE_ALIGN != 0) {
            return vta_fail(diag, VTA_INVALID, "base 0x%" PRIx64 " of segment %d is not a multiple of %d",
                            launch->base[segment], segment, VTA_BASE_ALIGN);
        }
    }
    return VTA_OK;
}

/* Finds the program in memory; returns how many of its instructions are there. */
static uint32_t map_program(checker *c)
{
    const uint64_t size = (uint64_t)c->launch->insn_count * VTA_INSN_BYTES;
    if (size > 0 && c->launch->insn_addr <= UINT64_MAX - size) {
        c->program = c->bus->map(c->bus->context, c->launch->insn_addr, size);
    }
    uint32_t there = c->program != NULL ? c->launch->insn_count : 0;
    vta_word word;
    while (there < c->launch->insn_count && vta_check_fetch(c, there, &word)) {
        there++;
    }
    return there;
}

static vta_status prepare(checker *c)
{
    const size_t count = map_program(c);
    if (count == 0 && c->launch->insn_count > 0) {
        return vta_check_report(c, 0, VTA_ERROR_FETCH_BUS, "insn_addr", (int64_t)c->launch->insn_addr, 0,
                                "there is no memory at 0x%" PRIx64, c->launch->insn_addr);
    }
    c->flags = calloc(count + 1, sizeof *c->flags);
    c->members = calloc(count + 1, sizeof *c->members);
    if (c->flags == NULL || c->members == NULL) {
        return vta_check_no_memory(c);
    }
    VTA_TRY(vta_check_sram_create(c));
    VTA_TRY(vta_check_sets_create(c));
    return vta_check_dram_create(c);
}

/* The static pass finds the first violation that needs no history; the walk may find one before it. */
static vta_status run(checker *c)
{
    VTA_TRY(prepare(c));
    const vta_status first = vta_check_static(c);
    if (first != VTA_OK && first != VTA_ILLEGAL_PROGRAM) {
        return first;
    }
    const vta_status second = vta_check_walk(c);
    return second != VTA_OK ? second : first;
}

vta_status vta_check(const vta_config *config, const vta_launch *launch, const vta_bus *bus,
                     vta_violation *violation, vta_diag *diag)
{
    vta_diag own = {0};
    checker c = {.config = config, .launch = launch, .bus = bus, .diag = &own};
    vta_status status = check_launch(launch, &own);
    if (status == VTA_OK) {
        status = run(&c);
    }
    vta_check_dram_destroy(c.dram);
    vta_check_sets_destroy(c.sets);
    vta_check_sram_destroy(c.sram);
    free(c.members);
    free(c.flags);
    if (violation != NULL) {
        *violation = c.violation;
    }
    return status == VTA_OK ? VTA_OK : vta_fail(diag, status, "%s", own.text);
}
