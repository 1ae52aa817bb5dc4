/* SPDX-License-Identifier: Apache-2.0
 *
 * What a board draws while its accelerator works: measurements of whole boards, published ones (power.def)
 * and the user's own, their mean, and how far it is from each of them.
 */
#ifndef VTAC_POWER_H
#define VTAC_POWER_H

#include "vtac/explore.h"

/* A measurement of a board. */
typedef struct vtac_power {
    char part[32];
    double watts;
    char source[160]; /* the board, what it computed, who measured it */
} vtac_power;

typedef struct vtac_powers {
    vtac_power *items; /* owned */
    size_t count;
} vtac_powers;

/* The published measurements and, unless `path` is NULL, those of a file: lines "PART WATTS WORDS", where an
 * empty line or one that begins with '#' says nothing. */
vta_status vtac_powers_read(const char *path, vtac_powers *out, vta_diag *diag);
/* A part's price, of a file with lines "PART PRICE WORDS" in a currency of its own; 0: it has none. */
vta_status vtac_price_read(const char *path, const char *part, double *out, vta_diag *diag);
void vtac_powers_free(vtac_powers *powers);

/* Board power of a part, from all measurements of it. */
typedef struct vtac_board_power {
    uint32_t count;         /* of the measurements; 0: nobody measured, all else is 0 */
    double watts, min, max; /* their mean, the smallest, the largest */
    double error; /* a share: the most by which the mean of the others misses a measurement; 0: only one */
} vtac_board_power;
vtac_board_power vtac_board_power_of(const vtac_powers *powers, const char *part);

/* "1.66 W, the mean of 4 measurements of boards with xc7z020 (1.60 to 1.76 W), ± 8 %", or that nobody
 * measured. */
enum { VTAC_POWER_TEXT = 192 };
void vtac_power_text(const vtac_board_power *power, const char *part, char *text, size_t size);

/* The part whose bitstream is made for a configuration: by its TARGET. NULL: none is. */
const vtac_part *vtac_part_of(const vta_config *config);

/* Joules of so many cycles on the board that a configuration is for, by the published measurements;
 * power->count 0: it is for none, or nobody measured. */
double vtac_board_joules(const vta_config *config, uint64_t cycles, vtac_board_power *power);

#endif
