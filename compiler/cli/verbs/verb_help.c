/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac help, and the help of each verb: written from the tables.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "vta/str.h"

void cli_print_help(const cli_verb *verb)
{
    enum { COLUMN = 24 };
    cli_print("vtac %s %s\n    %s\n", verb->name, verb->operands, verb->summary);
    if (verb->more != NULL) {
        cli_put("\n");
        cli_put(verb->more);
    }
    if (verb->option_count > 0) {
        cli_print("\n");
    }
    for (size_t i = 0; i < verb->option_count; i++) {
        const cli_option *option = &verb->options[i];
        if (option->doc == NULL) {
            continue;
        }
        const char *value = option->value != NULL ? option->value : "";
        const int width = (int)(2 + strlen(option->name) + (value[0] != '\0') + strlen(value));
        cli_print("  %s%s%s%*s%s\n", option->name, value[0] != '\0' ? " " : "", value,
                  width < COLUMN ? COLUMN - width : 1, "", option->doc);
    }
}

static int print_overview(void)
{
    cli_print("vtac VERB ...\n\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        cli_print("  %-12s%s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    }
    cli_print("\n'vtac VERB --help' tells more; 'vtac --version' the version.\n"
              "Exit status: 0 done, 1 failed, 2 misused, 130 interrupted.\n");
    return cli_done(NULL);
}

static int run_help(const cli_args *args)
{
    if (args->operand_count == 0) {
        return print_overview();
    }
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (strcmp(cli_verbs[i]->name, args->operands[0]) == 0) {
            cli_print_help(cli_verbs[i]);
            return cli_done(args);
        }
    }
    return cli_usage(args, "unknown verb '%s'", args->operands[0]);
}

const cli_verb cli_verb_help = {
    .name = "help",
    .operands = "[VERB]",
    .summary = "list the verbs, or tell about one",
    .max = 1,
    .run = run_help,
};
