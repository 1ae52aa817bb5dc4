/* SPDX-License-Identifier: Apache-2.0
 *
 * A suite of models on configurations and devices: what it asks for, what came of it, and how that is told.
 *
 *   suite.c    the file with the suite, and the one with the cycles of an earlier run
 *
 *   pieces.c   its work as commands of this program, handed out; one that dies costs itself alone
 *
 *   tell.c     JUnit for a build server, a page with history for a person
 */
#ifndef VTAC_CLI_REGRESS_H
#define VTAC_CLI_REGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/work.h"

enum { REGRESS_WHY = 640 };

typedef struct cli_regress_names {
    const char **items;
    uint32_t count;
} cli_regress_names;

/* One set of inputs with the outputs that belong to them; without files, a seed. */
typedef struct cli_regress_data {
    uint64_t seed;
    cli_regress_names inputs, outputs;
} cli_regress_data;

typedef struct cli_regress_model {
    const char *name;
    const char *zoo;  /* a name of `vtac zoo`, or NULL */
    const char *file; /* or a file */
    bool int8;        /* of the zoo: quantized */
    bool quantize;    /* a file of floats is quantized first, with `calib` if there is one */
    const char *calib;
    double tolerance;  /* percent of cycles; the suite's unless told */
    double rtol, atol; /* what outputs may be off from the reference; 0 and 0: identical */
    cli_regress_data *data;
    uint32_t data_count;
    /* what preparing it has made: the quantized model */
    char path[4096];
    bool is_ready;
    char why[REGRESS_WHY];
} cli_regress_model;

typedef enum cli_regress_outcome {
    REGRESS_WAITING,
    REGRESS_PASSED,
    REGRESS_WRONG,  /* other outputs than the reference */
    REGRESS_SLOWER, /* more cycles than the baseline allows */
    REGRESS_BROKEN  /* it did not compile or run */
} cli_regress_outcome;

/* One model on one configuration and device. */
typedef struct cli_regress_case {
    cli_regress_model *model;
    const char *config, *device;
    cli_regress_outcome outcome;
    uint64_t cycles, baseline; /* 0: the device counts none; there is none */
    double change;             /* percent of the baseline */
    double seconds;
    char why[REGRESS_WHY];
} cli_regress_case;

typedef struct cli_regress_suite {
    vta_arena arena;
    const char *path, *folder; /* of the suite's file: its paths begin there */
    cli_regress_model *models;
    uint32_t model_count;
    cli_regress_names configs, devices;
    double tolerance; /* percent of cycles */
    double timeout_s; /* of one command */
    cli_regress_case *cases;
    uint32_t case_count;
} cli_regress_suite;

vta_status cli_regress_suite_read(const char *path, cli_regress_suite *out, vta_diag *diag);
void cli_regress_suite_free(cli_regress_suite *suite);

/* Cycles of an earlier run, into the cases that it has; a file that does not exist is an error, and so is,
 * unless this run `updates` it, one whose cycles are those of other hardware or another memory. */
vta_status cli_regress_baseline_read(const char *path, cli_regress_suite *suite, bool updates,
                                     vta_diag *diag);
vta_status cli_regress_baseline_write(const char *path, const cli_regress_suite *suite, vta_diag *diag);

/* A run of all cases. `done` is told of each case, one at a time. */
typedef struct cli_regress_run {
    cli_regress_suite *suite;
    const char *program; /* this one */
    const char *work;    /* a folder for what is made on the way; a worker elsewhere has its own */
    void (*done)(void *context, const cli_regress_case *c, uint32_t finished);
    void *context;
} cli_regress_run;
/* A case by its number, in a worker; the context is a cli_regress_run. */
vta_status cli_regress_piece(void *context, const char *piece, vta_str *result, vta_diag *diag);
/* Does it all, in the leader. */
vta_status cli_regress_go(const cli_regress_run *run, vtac_work *work, vta_diag *diag);
/* Hash of everything that the pieces depend on. */
uint64_t cli_regress_hash(const cli_regress_suite *suite);

const char *cli_regress_word(cli_regress_outcome outcome);
/* "model/config/device", as the files name a case. */
void cli_regress_key(const cli_regress_case *c, char *key, size_t size);

vta_status cli_regress_junit(const char *path, const cli_regress_suite *suite, vta_diag *diag);
/* `history`: the lines of earlier runs, this one among them. */
vta_status cli_regress_page(const char *path, const cli_regress_suite *suite, const char *history,
                            vta_diag *diag);
/* One line of JSON, appended: when, and every case's cycles. */
vta_status cli_regress_history(const char *path, const cli_regress_suite *suite, const char *label,
                               vta_diag *diag);

#endif
