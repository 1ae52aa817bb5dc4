/* SPDX-License-Identifier: Apache-2.0
 *
 * The one question for which the order of steps within an instruction matters: does it read an entry before
 * it has written that entry itself? Asked only for entries that no earlier instruction has written.
 *
 * The nest meets an offset first in the step that this table gives; a step is i * iter_in + j. An offset is
 * met with i = 0 or, one pass of the outer loop later, where the offset less one outer step is met.
 */
#include <stdlib.h>

#include "check_internal.h"

static const uint32_t never = UINT32_MAX;

static void first_steps(const check_nest *nest, uint32_t depth, uint32_t *table)
{
    const uint32_t count_in = nest->count[1];
    for (uint32_t offset = 0; offset < depth; offset++) {
        const uint32_t in = nest->step[1];
        const uint32_t out = nest->step[0];
        table[offset] = never;
        if (offset == 0) {
            table[offset] = 0;
        } else if (in != 0 && offset % in == 0 && offset / in < count_in) {
            table[offset] = offset / in;
        } else if (out != 0 && offset >= out && table[offset - out] != never) {
            const uint32_t before = table[offset - out];
            if (before / count_in + 1 < nest->count[0]) {
                table[offset] = before + count_in;
            }
        }
    }
}

/* The first (step, micro-op) at which an entry is met; micro-ops run innermost. */
static uint64_t first_meeting(const uint32_t *table, uint32_t entry, uint32_t base, uint32_t k)
{
    if (entry < base || table[entry - base] == never) {
        return UINT64_MAX;
    }
    return (uint64_t)table[entry - base] << 32 | k;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The pass of the outer loop that reads an entry of one of many records reads it before its first step. */
static uint64_t record_meeting(const check_plan *plan, uint32_t entry, vta_uop uop)
{
    const uint32_t record = entry >> plan->log_record;
    const uint32_t place = entry - (record << plan->log_record);
    const bool read = plan->records > 1 && record >= uop.aux && record - uop.aux < plan->records;
    return read && place < plan->params ? (uint64_t)(record - uop.aux) * plan->dst.count[1] << 32
                                        : UINT64_MAX;
}

static bool read_first(const checker *c, const check_plan *plan, const uint32_t *uops,
                       const uint32_t *dst_steps, const uint32_t *src_steps, uint32_t entry)
{
    uint64_t write = UINT64_MAX;
    uint64_t read = UINT64_MAX;
    for (uint32_t k = plan->uop_begin; k < plan->uop_end; k++) {
        const vta_uop uop = vta_uop_decode(c->config, uops[k]);
        write = earlier(write, first_meeting(dst_steps, entry, uop.dst, k));
        read = earlier(read, first_meeting(src_steps, entry, uop.src, k));
        read = earlier(read, record_meeting(plan, entry, uop));
    }
    return read <= write; /* a step reads before it writes */
}

vta_status vta_check_first_unwritten(checker *c, const check_plan *plan, const uint32_t *uops,
                                     const uint64_t *suspects, uint32_t *entry)
{
    const uint32_t depth = c->config->depth[VTA_MEM_ACC];
    uint32_t *tables = malloc(2 * (size_t)depth * sizeof *tables);
    if (tables == NULL) {
        return vta_check_no_memory(c);
    }
    first_steps(&plan->dst, depth, tables);
    first_steps(&plan->src, depth, tables + depth);
    *entry = UINT32_MAX;
    for (uint32_t at = 0; at < depth && *entry == UINT32_MAX; at++) {
        if ((suspects[at / 64] >> at % 64 & 1) != 0 &&
            read_first(c, plan, uops, tables, tables + depth, at)) {
            *entry = at;
        }
    }
    free(tables);
    return VTA_OK;
}
