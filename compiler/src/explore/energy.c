/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy: what is counted, times what was published.
 */
#include <math.h>

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
