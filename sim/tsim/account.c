/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the account. The compute unit takes and finishes its instructions in the order in which they were
 * issued, so that three counters tell which one a strobe means.
 */
#include "account.h"

#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { COMPUTE = 1, UNITS = 3, OPCODE_MASK = 7, POP_PREV = 1 << 3, POP_NEXT = 1 << 4 };

void vta_account_free(vta_account *a)
{
    free(a->headers);
    free(a->counts);
    free(a->order);
    *a = (vta_account){0};
}

void vta_account_run(vta_account *a, const vta_bus *bus, uint64_t insn_addr, uint32_t insn_count)
{
    vta_account_free(a);
    const uint8_t *program =
        insn_count == 0 ? NULL : bus->map(bus->context, insn_addr, (uint64_t)insn_count * VTA_INSN_BYTES);
    if (program == NULL) {
        return;
    }
    a->headers = malloc(insn_count);
    a->counts = calloc((size_t)insn_count * VTA_CYCLE_CLASSES, sizeof *a->counts);
    a->order = calloc(insn_count, sizeof *a->order);
    if (a->headers == NULL || a->counts == NULL || a->order == NULL) {
        vta_account_free(a);
        return;
    }
    for (uint32_t i = 0; i < insn_count; i++) {
        a->headers[i] = program[(size_t)i * VTA_INSN_BYTES];
    }
    a->insn_count = insn_count;
    a->slot = a->counts;
    a->last = VTA_DEBUG_MOVES; /* no cycle yet */
    a->running = true;
}

static bool is_high(uint32_t debug, uint32_t bit)
{
    return (debug >> bit & 1) != 0;
}

/* Instructions are issued one a cycle, in their order, to any unit. */
static void issue(vta_account *a, uint32_t debug)
{
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        if (is_high(debug, VTA_DEBUG_ISSUE + unit) && a->all_issued < a->insn_count) {
            if (unit == COMPUTE) {
                a->order[a->issued++] = a->all_issued;
            }
            a->all_issued++;
        }
    }
}

static uint32_t opcode_of(const vta_account *a, uint32_t position)
{
    return a->headers[a->order[position]] & OPCODE_MASK;
}

/* The oldest instruction in work that does one of two things; the oldest of all where none does. */
static uint32_t oldest(const vta_account *a, uint32_t one, uint32_t other)
{
    for (uint32_t i = a->retired; i < a->started; i++) {
        if (opcode_of(a, i) == one || opcode_of(a, i) == other) {
            return i;
        }
    }
    return a->retired;
}

/* The class that a cycle counts for, and the position in the unit's order. */
static vta_cycle_class judge(const vta_account *a, uint32_t debug, uint32_t *position)
{
    const bool works = a->retired < a->started;
    const bool waits = a->started < a->issued;
    if (works && (is_high(debug, VTA_DEBUG_GEMM) || is_high(debug, VTA_DEBUG_DEPTHWISE))) {
        *position = oldest(a, VTA_OP_GEMM, VTA_OP_DEPTHWISE);
        return VTA_CYCLES_ARRAY;
    }
    if (works && is_high(debug, VTA_DEBUG_REQUANT)) {
        *position = oldest(a, VTA_OP_REQUANT, VTA_OP_REQUANT);
        return VTA_CYCLES_REQUANT;
    }
    if (works && is_high(debug, VTA_DEBUG_ALU)) {
        *position = oldest(a, VTA_OP_ALU, VTA_OP_ALU);
        return VTA_CYCLES_ALU;
    }
    if (waits && is_high(debug, VTA_DEBUG_TOKEN + COMPUTE)) {
        *position = a->started;
        const uint32_t pops = a->headers[a->order[a->started]] & (POP_PREV | POP_NEXT);
        return pops == POP_PREV ? VTA_CYCLES_LOAD : pops == POP_NEXT ? VTA_CYCLES_STORE : VTA_CYCLES_TOKEN;
    }
    if (works) {
        *position = a->retired;
        return is_high(debug, VTA_DEBUG_MEM + COMPUTE)     ? VTA_CYCLES_LOAD
               : opcode_of(a, a->retired) == VTA_OP_FINISH ? VTA_CYCLES_STORE
                                                           : VTA_CYCLES_OTHER;
    }
    *position = a->started > 0 ? a->started - 1 : 0;
    return waits ? VTA_CYCLES_OTHER : VTA_CYCLES_LAUNCH;
}

void vta_account_cycle(vta_account *a, uint32_t debug)
{
    if (!a->running) {
        return;
    }
    if (debug == a->last && (debug & VTA_DEBUG_MOVES) == 0) { /* nothing has moved: as in the cycle before */
        (*a->slot)++;
        return;
    }
    issue(a, debug);
    if (is_high(debug, VTA_DEBUG_START + COMPUTE) && a->started < a->issued) {
        a->started++;
    }
    uint32_t position;
    const vta_cycle_class class = judge(a, debug, &position);
    a->slot = &a->counts[(size_t)a->order[position] * VTA_CYCLE_CLASSES + class];
    a->last = debug;
    (*a->slot)++;
    if (is_high(debug, VTA_DEBUG_RETIRE + COMPUTE) && a->retired < a->started) {
        a->running = opcode_of(a, a->retired) != VTA_OP_FINISH;
        a->retired++;
    }
}

void vta_account_cycles(vta_account *a, uint32_t debug, uint32_t cycles)
{
    const bool moves = (debug & VTA_DEBUG_MOVES) != 0;
    for (uint32_t i = 0; i < cycles && (moves || i == 0); i++) {
        vta_account_cycle(a, debug);
    }
    if (!moves && a->running && cycles > 1) {
        *a->slot += cycles - 1;
    }
}
