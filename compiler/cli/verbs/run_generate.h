/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac run --generate: a language model that goes on with a text.
 */
#ifndef VTAC_CLI_RUN_GENERATE_H
#define VTAC_CLI_RUN_GENERATE_H

#include "cli.h"
#include "vta/model.h"

/* Rows of a verb's options. */
#define CLI_GENERATE_OPTIONS                                                                                 \
    {"--generate", "N", CLI_TEXT, "tokens after --prompt T, --ids L; --keep, --resume FILE"},                \
        {"--tokenizer", "FILE", CLI_FILE, "its; --temperature T, --top-k K, --top-p P, --ignore-end"},       \
        {"--prompt", "TEXT", CLI_TEXT, NULL}, {"--save-inputs", "DIR", CLI_FILE, NULL},                      \
        {"--keep", "FILE", CLI_FILE, NULL}, {"--resume", "FILE", CLI_FILE, NULL},                            \
        {"--ids", "LIST", CLI_TEXT, NULL}, {"--temperature", "T", CLI_TEXT, NULL},                           \
        {"--top-k", "K", CLI_TEXT, NULL}, {"--top-p", "P", CLI_TEXT, NULL},                                  \
    {                                                                                                        \
        "--ignore-end", NULL, CLI_FLAG, NULL                                                                 \
    }

/* CLI_OK where the words of a generation make sense together, else CLI_USAGE with the message written. */
int cli_check_generate(const cli_args *args);

/* Runs the model that is the first operand. The exit status. */
int cli_generate(const cli_args *args, const vta_model_options *options);

#endif
