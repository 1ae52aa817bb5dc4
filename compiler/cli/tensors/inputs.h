/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model is given: files for its inputs, or numbers made up. The files given for one input belong to as
 * many runs.
 */
#ifndef VTAC_CLI_INPUTS_H
#define VTAC_CLI_INPUTS_H

#include "cli.h"
#include "preprocess.h"

typedef struct cli_inputs {
    const cli_args *args;
    cli_preprocess preprocess;
    const char *fill; /* zeros, ones, random */
    uint64_t seed;
    bool guessed;              /* it was told once what is done with a picture */
    uint64_t nans, infinities; /* in the files of the run that was bound last */
} cli_inputs;

/* Rows of a verb's options. */
#define CLI_INPUT_OPTIONS                                                                                    \
    {"--input", "[NAME=]FILE", CLI_FILE, "an input: .npy, .pb, .png, .jpg; or all: .npz"},                   \
        {"--preprocess", "HOW", CLI_TEXT, "of pictures: 'vtac run --preprocess list'"},                      \
        {"--fill", "HOW", CLI_TEXT, "other inputs: zeros, ones, random (default)"},                          \
    {                                                                                                        \
        "--seed", "N", CLI_TEXT, "seed of random inputs (default 1)"                                         \
    }

/* CLI_OK, or CLI_USAGE with the message written. */
int cli_read_inputs(const cli_args *args, cli_inputs *out);

/* Counts the runs that the files make for this model. */
vta_status cli_count_cases(const cli_inputs *inputs, const vta_model *model, uint32_t *out, vta_diag *diag);

/* Gives the model what run `which` is for. */
vta_status cli_bind_case(cli_inputs *inputs, vta_model *model, uint32_t which, vta_diag *diag);

/* The first file of a run; NULL: all is made up. */
const char *cli_case_name(const cli_inputs *inputs, const vta_model *model, uint32_t which);

/* Floats in -1 … 1, integers over their range, bools 0 or 1. */
void cli_fill_input(vta_model *model, uint32_t i, const char *how, uint64_t *state);
uint64_t cli_fill_state(uint64_t seed);

#endif
