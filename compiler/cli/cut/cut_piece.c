/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker does: a part on the RTL and on the functional simulator, which must leave the same memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cut_internal.h"

#include "vta/fail.h"

static vta_status fill_dram(const cli_cut_launch *l, vta_dram *dram, vta_diag *diag)
{
    for (uint32_t i = 0; i < l->block_count; i++) {
        void *host;
        VTA_TRY(vta_dram_alloc_at(dram, l->blocks[i].addr, l->blocks[i].size, &host, diag));
        memcpy(host, l->blocks[i].bytes, l->blocks[i].size);
    }
    return VTA_OK;
}

static vta_status copy_to_device(vta_dram *dram, vta_device *device, vta_diag *diag)
{
    uint64_t addr, size;
    void *host;
    for (size_t i = 0; vta_dram_block(dram, i, &addr, &host, &size); i++) {
        vta_mem mem;
        VTA_TRY(vta_device_alloc_at(device, addr, (size_t)size, &mem, diag));
        memcpy(mem.host, host, (size_t)size);
    }
    return VTA_OK;
}

static vta_status run_rtl(vta_device *device, vta_part_run *run, vta_diag *diag)
{
    vta_report report;
    VTA_TRY(vta_device_record(device, run->part.starts, diag));
    VTA_TRY(vta_device_submit(device, &run->part.launch, diag));
    VTA_TRY(vta_device_wait(device, 0.0, &report, diag));
    run->counters = report.counters;
    run->stretches = vta_device_recording(device, &run->count);
    return run->stretches != NULL && run->count > 0
               ? VTA_OK
               : vta_fail(diag, VTA_NOMEM, "no memory for the cycles of a part");
}

/* ---- the memory that a part leaves */

/* Keeps a block's contents from before the STOREs in flight; nothing where the RTL's block is the same. */
static vta_status keep_block(const cli_cut_block *block, const uint8_t *theirs, const uint8_t *before,
                             uint8_t **out, vta_diag *diag)
{
    *out = NULL;
    if (memcmp(theirs, before, block->size) == 0) {
        return VTA_OK;
    }
    *out = malloc(block->size);
    if (*out == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to compare what a part leaves");
    }
    memcpy(*out, before, block->size);
    return VTA_OK;
}

/* A byte that is neither as before nor as after the STOREs that are under way. The program itself is not
 * compared: the part stands over it. */
static vta_status compare_block(const cli_cut_block *block, const vta_launch *launch, const uint8_t *theirs,
                                const uint8_t *before, const uint8_t *after, vta_diag *diag)
{
    const uint64_t size = (uint64_t)launch->insn_count * VTA_INSN_BYTES;
    for (size_t i = 0; before != NULL && i < block->size; i++) {
        const uint64_t at = block->addr + i;
        const bool program = at >= launch->insn_addr && at - launch->insn_addr < size;
        if (theirs[i] != before[i] && theirs[i] != after[i] && !program) {
            return vta_fail(diag, VTA_PROTOCOL,
                            "the RTL leaves another byte at 0x%" PRIx64 " than the functional simulator", at);
        }
    }
    return VTA_OK;
}

static vta_status compare_part(const cli_cut_launch *l, vta_device *device, vta_dram *dram, vta_walk *walk,
                               const vta_part_run *run, uint8_t **before, vta_diag *diag)
{
    const vta_bus bus = vta_device_bus(device);
    uint32_t from;
    uint32_t to;
    vta_part_stored(l->cuts, run, &from, &to);
    VTA_TRY(vta_walk_to(walk, from, diag));
    for (uint32_t i = 0; i < l->block_count; i++) {
        const cli_cut_block *b = &l->blocks[i];
        VTA_TRY(keep_block(b, bus.map(bus.context, b->addr, b->size), vta_dram_map(dram, b->addr, b->size),
                           &before[i], diag));
    }
    VTA_TRY(vta_walk_to(walk, to, diag));
    for (uint32_t i = 0; i < l->block_count; i++) {
        const cli_cut_block *b = &l->blocks[i];
        VTA_TRY(compare_block(b, &l->launch, bus.map(bus.context, b->addr, b->size), before[i],
                              vta_dram_map(dram, b->addr, b->size), diag));
    }
    return VTA_OK;
}

static vta_status check_memory(const cli_cut_launch *l, vta_device *device, vta_dram *dram, vta_walk *walk,
                               const vta_part_run *run, vta_diag *diag)
{
    uint8_t **before = calloc(l->block_count + 1, sizeof *before);
    if (before == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to compare what a part leaves");
    }
    const vta_status status = compare_part(l, device, dram, walk, run, before, diag);
    for (uint32_t i = 0; i < l->block_count; i++) {
        free(before[i]);
    }
    free((void *)before);
    return status;
}

static vta_status check_counters(const vta_part_run *run, vta_diag *diag)
{
    vta_counters counted = {0};
    vta_parts_count(run->stretches, run->count, &counted);
    return run->part.starts != 0 || vta_parts_agree(&counted, &run->counters)
               ? VTA_OK
               : vta_fail(diag, VTA_PROTOCOL, "the cycles of a part do not make its counters");
}

/* A part on both simulators. */
static vta_status simulate_part(const cli_cut_launch *l, vta_dram *dram, vta_walk *walk, vta_device *device,
                                const uint32_t number[3], vta_part_run *run, vta_diag *diag)
{
    VTA_TRY(vta_part_make(walk, number[1], number[2], &run->part, diag));
    VTA_TRY(copy_to_device(dram, device, diag));
    VTA_TRY(run_rtl(device, run, diag));
    VTA_TRY(check_memory(l, device, dram, walk, run, diag));
    return check_counters(run, diag);
}

/* The three numbers of a piece's name, which other machines may have sent. */
static bool numbers_of(const char *piece, uint32_t number[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        const unsigned long read = strtoul(piece, &end, 10);
        if (end == piece || errno != 0 || read > UINT32_MAX || *end != (i < 2 ? ' ' : '\0')) {
            return false;
        }
        number[i] = (uint32_t)read;
        piece = end + 1;
    }
    return true;
}

vta_status cli_cut_simulate(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const cli_cut *cut = context;
    uint32_t number[3]; /* of the launch; the instructions at which the part starts and ends */
    if (!numbers_of(piece, number) || number[0] >= cut->count || cut->launches[number[0]]->cuts == NULL) {
        return vta_fail(diag, VTA_INVALID, "'%s' is no part of this run", piece);
    }
    const cli_cut_launch *l = cut->launches[number[0]];
    vta_dram *dram = NULL;
    vta_walk *walk = NULL;
    vta_device *device = NULL;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_dram_create(&dram, diag));
    VTA_TRY_OUT(fill_dram(l, dram, diag));
    VTA_TRY_OUT(vta_walk_create(&cut->config, l->cuts, dram, &l->launch, &walk, diag));
    VTA_TRY_OUT(vta_device_open(cut->device.text, &cut->config, &device, diag));
out:
    if (status == VTA_OK) {
        vta_part_run run = {0};
        status = simulate_part(l, dram, walk, device, number, &run, diag);
        if (status == VTA_OK) {
            cli_cut_write_run(&run, result);
        }
    }
    vta_device_close(device);
    vta_walk_destroy(walk);
    vta_dram_destroy(dram);
    return status;
}
