/* SPDX-License-Identifier: Apache-2.0
 *
 * The completion scripts of `vtac completion SHELL`, a function a shell, and the lists of words that all of
 * them offer.
 */
#ifndef VTAC_CLI_COMPLETION_H
#define VTAC_CLI_COMPLETION_H

#include "cli.h"

void cli_print_completion_bash(void);
void cli_print_completion_fish(void);
void cli_print_completion_zsh(void);

/* Names with a space between them: of configurations, of devices, and the words that may stand first behind a
 * verb. */
void cli_print_config_names(void);
void cli_print_device_names(void);
void cli_print_first_words(const cli_verb *verb);

/* Tells if a word may stand first behind the verb. */
bool cli_has_first_words(const cli_verb *verb);

/* Prints `text` with `mark` before each of the characters of `special`. */
void cli_print_marked(const char *text, const char *special, const char *mark);

#endif
