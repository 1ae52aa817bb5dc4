/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy: what is counted, times what was published, or times what our own RTL takes in standard cells.
 */
#include <math.h>
#include <stdio.h>

#include "vtac/explore.h"

enum {
#define VTAC_ENERGY(id, pj, of, published) ENERGY_##id,
#include "energy.def"
#undef VTAC_ENERGY
    ENERGIES
};

static const double picojoule[ENERGIES] = {
#define VTAC_ENERGY(id, pj, of, published) pj,
#include "energy.def"
#undef VTAC_ENERGY
};

/* A byte of a RAM of so many bytes: between the published sizes, by the logarithm of the size. */
static double ram_byte(double bytes)
{
    static const double logs[] = {13, 15, 20};
    static const int rows[] = {ENERGY_RAM_8K, ENERGY_RAM_32K, ENERGY_RAM_1M};
    const double at = fmin(fmax(log2(bytes), 10), 24);
    const int k = at > logs[1];
    const double slope = log2(picojoule[rows[k + 1]] / picojoule[rows[k]]) / (logs[k + 1] - logs[k]);
    return picojoule[rows[k]] * exp2(slope * (at - logs[k]));
}

double vtac_energy_of(const vta_config *config, const vtac_vta_cost *sum)
{
    const double rows = config->batch, in = config->block_in, out = config->block_out;
    const double inp = ram_byte(exp2(config->log_inp_buff)), wgt = ram_byte(exp2(config->log_wgt_buff)),
                 acc = ram_byte(exp2(config->log_acc_buff));
    const double step = rows * in * out * picojoule[ENERGY_MAC] /* the array works at all of its width */
                        + rows * in * inp + in * out * wgt;
    const double alu = rows * out * (picojoule[ENERGY_WIDE] + 2 * 4 * acc);
    const double moved = (double)(sum->bytes_read + sum->bytes_written);
    return 1e-12 * ((double)sum->array * step + (double)sum->alu * alu +
                    moved * (picojoule[ENERGY_DRAM] + (inp + wgt) / 2));
}

const char *const *vtac_energy_sources(void)
{
    static const char *const lines[] = {"M. Horowitz, Computing's energy problem, ISSCC 2014, 45 nm:",
#define VTAC_ENERGY(id, pj, of, published) of ": " #pj " pJ (" published ")",
#include "energy.def"
#undef VTAC_ENERGY
                                        "no leakage, no clock tree, no processor", NULL};
    return lines;
}

/* ---- the same in standard cells: what `./run energy` found of our own RTL (chip.def) */

typedef struct chip_unit {
    double dynamic, idle, area; /* pJ of an event, pJ of a cycle, mm2; each of one of the unit */
} chip_unit;

enum {
#define VTAC_CHIP_UNIT(id, dynamic, idle, mm2, of) CHIP_##id,
#include "chip.def"
    CHIP_UNITS
};

static const chip_unit chip_units[CHIP_UNITS] = {
#define VTAC_CHIP_UNIT(id, dynamic, idle, mm2, of) {dynamic, idle, mm2},
#include "chip.def"
};

typedef struct chip_ram {
    double entries, read, write, um2; /* pJ and area of a byte of a word */
} chip_ram;

static const chip_ram chip_rams[] = {
#define VTAC_CHIP_RAM(name, entries, read, write, um2) {entries, read, write, um2},
#include "chip.def"
};
enum { CHIP_RAMS = sizeof chip_rams / sizeof chip_rams[0] };

static const struct {
    const char *library, *config, *window;
    double mhz;
} chip_from =
#define VTAC_CHIP_FROM(library, config, mhz, window) {library, config, window, mhz};
#include "chip.def"

    /* The macro that makes a RAM of that many words with the smallest area; its row, and how many lie behind
     * each other. */
    static const chip_ram * ram_of(double depth, double *rows)
{
    const chip_ram *best = &chip_rams[0];
    double smallest = HUGE_VAL;
    for (size_t i = 0; i < CHIP_RAMS; i++) {
        const double count = ceil(depth / chip_rams[i].entries);
        if (count * chip_rams[i].um2 < smallest) {
            smallest = count * chip_rams[i].um2;
            best = &chip_rams[i];
            *rows = count;
        }
    }
    return best;
}

static double ram_area(const vta_config *config, vta_memory memory)
{
    double rows = 0;
    const chip_ram *ram = ram_of(config->depth[memory], &rows);
    return 1e-6 * rows * ram->um2 * config->elem_bytes[memory];
}

vtac_chip vtac_chip_of(const vta_config *config, const vtac_vta_cost *sum, uint64_t cycles)
{
    const double rows = config->batch, in = config->block_in, out = config->block_out;
    const double macs = rows * in * out, lanes = rows * out;
    double ignored;
    const chip_ram *inp = ram_of(config->depth[VTA_MEM_INP], &ignored),
                   *wgt = ram_of(config->depth[VTA_MEM_WGT], &ignored),
                   *acc = ram_of(config->depth[VTA_MEM_ACC], &ignored);
    const double moved = (double)(sum->bytes_read + sum->bytes_written);
    const double array = (double)sum->array, alu = (double)sum->alu;
    vtac_chip c = {.macs = array * macs * chip_units[CHIP_MAC].dynamic,
                   .lanes = alu * lanes * chip_units[CHIP_LANE].dynamic,
                   .rams = array * (rows * in * inp->read + in * out * wgt->read) +
                           alu * lanes * 4 * (acc->read + acc->write) + moved * (inp->write + wgt->write) / 2,
                   .moves = moved * chip_units[CHIP_MOVE].dynamic,
                   .idle = (double)cycles *
                           (macs * chip_units[CHIP_MAC].idle + lanes * chip_units[CHIP_LANE].idle +
                            chip_units[CHIP_MOVE].idle + chip_units[CHIP_REST].idle)};
    c.joules = 1e-12 * (c.macs + c.lanes + c.rams + c.moves + c.idle);
    c.dram = 1e-12 * moved * picojoule[ENERGY_DRAM];
    c.ram_mm2 = ram_area(config, VTA_MEM_INP) + ram_area(config, VTA_MEM_WGT) +
                ram_area(config, VTA_MEM_ACC) + ram_area(config, VTA_MEM_UOP);
    c.mm2 = c.ram_mm2 + macs * chip_units[CHIP_MAC].area + lanes * chip_units[CHIP_LANE].area +
            chip_units[CHIP_MOVE].area + chip_units[CHIP_REST].area;
    return c;
}

void vtac_chip_text(const vtac_chip *chip, uint64_t macs, char text[VTAC_CHIP_LINES][VTAC_CHIP_TEXT])
{
    const double all = chip->macs + chip->lanes + chip->rams + chip->moves + chip->idle;
    (void)snprintf(text[0], VTAC_CHIP_TEXT,
                   "as a chip in %s: %.1f mm2, of it RAM %.1f; %.3g mJ a run, %.3g pJ a useful MAC, and %.3g "
                   "mJ of DRAM",
                   chip_from.library, chip->mm2, chip->ram_mm2, 1e3 * chip->joules,
                   macs > 0 ? 1e12 * chip->joules / (double)macs : 0.0, 1e3 * chip->dram);
    (void)snprintf(text[1], VTAC_CHIP_TEXT,
                   "its energy: array %.0f %%, ALU %.0f %%, RAM %.0f %%, loads and stores %.0f %%, clocked "
                   "and idle %.0f %%",
                   100 * chip->macs / all, 100 * chip->lanes / all, 100 * chip->rams / all,
                   100 * chip->moves / all, 100 * chip->idle / all);
    (void)snprintf(text[2], VTAC_CHIP_TEXT,
                   "from cells of %s at %.0f MHz, activity of %s; without wires and clock tree",
                   chip_from.config, chip_from.mhz, chip_from.window);
}
