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
    (void)printf("vtac %s %s\n    %s\n", verb->name, verb->operands, verb->summary);
    if (verb->more != NULL) {
        (void)printf("\n%s", verb->more);
    }
    if (verb->option_count > 0) {
        (void)printf("\n");
    }
    for (size_t i = 0; i < verb->option_count; i++) {
        const cli_option *option = &verb->options[i];
        if (option->doc == NULL) {
            continue;
        }
        const int width = printf("  %s%s%s", option->name, option->value != NULL ? " " : "",
                                 option->value != NULL ? option->value : "");
        (void)printf("%*s%s\n", width < COLUMN ? COLUMN - width : 1, "", option->doc);
    }
}

static int print_overview(void)
{
    (void)printf("vtac VERB ...\n\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        (void)printf("  %-12s%s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    }
    (void)printf("\n'vtac VERB --help' tells more; 'vtac --version' the version.\n"
                 "Exit status: 0 done, 1 failed, 2 misused, 130 interrupted.\n");
    return cli_done(NULL);
}

static int run(const cli_args *args)
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
    .most = 1,
    .run = run,
};
