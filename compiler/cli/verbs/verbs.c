/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of verbs.
 */
#include <string.h>

#include "cli.h"
#include "writable.h"

const cli_verb *const cli_verbs[] = {
#define CLI_VERB(name) &cli_verb_##name,
#include "verbs.def"
#undef CLI_VERB
};
const size_t cli_verb_count = sizeof cli_verbs / sizeof cli_verbs[0];

const cli_verb *cli_verb_find(const char *name)
{
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return &cli_verb_help;
    }
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (strcmp(cli_verbs[i]->name, name) == 0) {
            return cli_verbs[i];
        }
    }
    return NULL;
}

int cli_do_verb(const cli_verb *verb, const cli_args *args)
{
    vta_diag diag = {0};
    for (size_t i = 0; i < args->given_count; i++) {
        const struct cli_given *given = &args->given[i];
        if (given->option->kind == CLI_OUT && cli_can_write(given->value, &diag) != VTA_OK) {
            return cli_fail(args, &diag);
        }
    }
    return verb->run(args);
}
