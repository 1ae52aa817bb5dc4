/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of cut/ share.
 */
#ifndef VTAC_CLI_CUT_INTERNAL_H
#define VTAC_CLI_CUT_INTERNAL_H

#include "cut.h"
#include "vta/parts.h"
#include "vta/recording.h"
#include "vta/str.h"

/* A block of the device's memory as a launch finds it. */
typedef struct cli_cut_block {
    uint64_t addr;
    size_t size;
    uint8_t *bytes;
} cli_cut_block;

/* A piece of work: a part and what became of it. */
typedef struct cli_cut_piece {
    uint32_t launch, start, end;
    bool done;
    char why[192]; /* there is no run */
    vta_part_run run;
} cli_cut_piece;

enum { CUT_MAX_PARTS = 256, CUT_TRIES = 3 };

/* A launch: its program, its memory, its parts in their order. */
typedef struct cli_cut_launch {
    vta_launch launch;
    cli_cut_block *blocks;
    uint32_t block_count;
    vta_cuts *cuts;
    uint32_t part_count, tries; /* below 2: it is simulated whole, */
    char why[256];              /* because */
    cli_cut_piece parts[CUT_MAX_PARTS];
    vta_match matches[CUT_MAX_PARTS]; /* between a part and the next one */
    vta_stretch *stretches;           /* of the whole run */
    uint64_t count;
    vta_counters counters;
} cli_cut_launch;

struct cli_cut {
    vta_str device; /* that workers open */
    vta_config config;
    cli_cut_launch **launches;
    uint32_t count, played;
    uint32_t workers;
    double seconds; /* that all of it took */
    char why[256];  /* nothing is cut, because */
};

/* Simulates one part in a worker; context is the cli_cut, the piece "launch start end". */
vta_status cli_cut_simulate(void *context, const char *piece, vta_str *result, vta_diag *diag);

/* A part that was simulated as a text, and back: owned stretches. */
void cli_cut_write_run(const vta_part_run *run, vta_str *out);
bool cli_cut_read_run(const char *text, vta_part_run *out);

#endif
