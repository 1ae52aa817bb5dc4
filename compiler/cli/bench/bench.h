/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs of `vtac bench hw` and how they are run.
 *
 *   bench_programs.c  records them, through the runtime's calls
 *   bench_run.c       runs one on a device and on fsim, compares the results, takes the counters
 *   verb_bench.c      the table
 *
 * cli_bench_model.c is `vtac bench MODEL`.
 */
#ifndef VTAC_BENCH_H
#define VTAC_BENCH_H

#include "cli.h"
#include "vta/runtime.h"

/* Unit of a program's work, and the peak it is compared with. */
typedef enum cli_bench_measure {
    BENCH_MAC_SHARE,  /* multiply-accumulates per cycle, of the array's peak */
    BENCH_MAC,        /* multiply-accumulates per cycle */
    BENCH_TILES,      /* tiles per cycle, from the difference of two lengths */
    BENCH_BUS_SHARE,  /* bytes per cycle of the bus's bandwidth, from the difference of two lengths */
    BENCH_CYCLES_EACH /* cycles per instruction, from the difference of two lengths; less is better */
} cli_bench_measure;

enum { BENCH_VARIANTS = 3 };

/* Records variant 0 to BENCH_VARIANTS-1; `length` 1 or 2 where the measure is a difference, else 1. Returns
 * the amount of work. */
typedef uint64_t cli_bench_record(vta_stream *stream, const vta_config *config, uint32_t variant,
                                  uint32_t length);

typedef struct cli_bench_row {
    const char *key;
    cli_bench_measure measure;
    double required; /* at the configuration "pynq" with its own memory timing */
    cli_bench_record *record;
    const char *what;
} cli_bench_row;

extern const cli_bench_row cli_bench_rows[];
extern const uint32_t cli_bench_row_count;

/* The row whose program measures the simulator's own speed. */
enum { BENCH_SPEED_ROW = 0 };

typedef struct cli_bench_devices {
    vta_device *device, *reference;
    double timeout_s;
    bool progress; /* tell each program on stderr */
} cli_bench_devices;

typedef struct cli_bench_result {
    double value; /* median */
    double values[BENCH_VARIANTS];
    vta_counters counters; /* of the last program */
    double seconds;        /* of CPU time, and */
    uint64_t cycles;       /* cycles that it simulated, all programs together */
} cli_bench_result;

vta_status cli_bench_run_row(const cli_bench_devices *devices, const cli_bench_row *row,
                             cli_bench_result *out, vta_diag *diag);

/* Puts what the programs work on into a buffer of that name. */
void cli_bench_fill(const vta_config *config, const char *name, uint8_t *bytes, uint64_t size);

/* A short matrix multiply under Icarus on the same RTL: its speed in out->value, million cycles a second. */
vta_status cli_bench_run_icarus(const cli_bench_devices *devices, cli_bench_result *out, vta_diag *diag);
uint64_t cli_bench_record_short(vta_stream *stream, const vta_config *config);

/* The middle of it: `expected` is the sum of the bytes of buffer "y", s = 31 s + byte. */
vta_status cli_bench_icarus(const vta_code *code, uint32_t expected, cli_bench_result *out, vta_diag *diag);

/* The verb on a model. */
int cli_bench_model(const cli_args *args);

/* vtac bench launch. */
int cli_bench_launch(const cli_args *args);

#endif
