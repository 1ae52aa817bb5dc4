/* SPDX-License-Identifier: Apache-2.0
 *
 * The DRAM timing model; dram_timing.h is its contract.
 */
#include "dram_timing.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

vta_dram_options vta_dram_options_default(uint32_t latency, uint32_t bandwidth)
{
    return (vta_dram_options){.latency = latency,
                              .bandwidth = bandwidth,
                              .precharge = 2,
                              .activate = 2,
                              .column = 2,
                              .turn = 1,
                              .refresh_every = 780,
                              .refresh_for = 26};
}

/* Every row is closed by a refresh, and no bank answers while it lasts. */
static void refresh(vta_dram_timing *dram, uint64_t now)
{
    const vta_dram_options *o = &dram->options;
    if (o->refresh_every == 0) {
        return;
    }
    if (dram->next_refresh == 0) {
        dram->next_refresh = o->refresh_every;
    }
    while (dram->next_refresh <= now) {
        for (uint32_t i = 0; i < VTA_DRAM_BANKS; i++) {
            vta_dram_bank *bank = &dram->banks[i];
            bank->free_at = later(bank->free_at, dram->next_refresh) + o->refresh_for;
            bank->open = false;
        }
        dram->next_refresh += o->refresh_every;
        dram->refreshes++;
    }
}

/* The part of an access in one row: when its first byte is on the data bus. */
static uint64_t access_row(vta_dram_timing *dram, uint64_t now, uint64_t addr, uint32_t bytes, bool write)
{
    const vta_dram_options *o = &dram->options;
    const uint64_t line = addr / VTA_DRAM_ROW_BYTES, row = line / VTA_DRAM_BANKS;
    vta_dram_bank *bank = &dram->banks[line % VTA_DRAM_BANKS];
    uint64_t at = later(now, bank->free_at);
    if (bank->open && bank->row == row) {
        dram->hits++;
    } else {
        dram->conflicts += bank->open;
        dram->misses += !bank->open;
        at += (bank->open ? o->precharge : 0) + o->activate;
        bank->open = true;
        bank->row = row;
    }
    const uint64_t turn = write != dram->last_was_write ? o->turn : 0;
    const uint64_t first = later(at + o->column, dram->bus_free_at + turn);
    dram->bus_free_at = first + (o->bandwidth > 0 ? (bytes + o->bandwidth - 1) / o->bandwidth : 0);
    bank->free_at =
        dram->bus_free_at > o->column ? dram->bus_free_at - o->column : 0; /* columns are pipelined */
    dram->last_was_write = write;
    return first;
}

uint64_t vta_dram_access(vta_dram_timing *dram, uint64_t now, uint64_t addr, uint32_t bytes, bool write)
{
    const vta_dram_options *o = &dram->options;
    const uint32_t core = o->activate + o->column, outside = o->latency > core ? o->latency - core : 0;
    uint64_t first = 0;
    refresh(dram, now);
    for (uint32_t done = 0; done < bytes;) {
        const uint32_t left = VTA_DRAM_ROW_BYTES - (uint32_t)((addr + done) % VTA_DRAM_ROW_BYTES);
        const uint32_t part = bytes - done < left ? bytes - done : left;
        const uint64_t at = access_row(dram, now, addr + done, part, write);
        first = done == 0 ? at : first;
        done += part;
    }
    return (write ? dram->bus_free_at : first) + outside;
}
