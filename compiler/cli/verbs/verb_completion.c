/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac completion SHELL: the completion script, written from the tables of the verbs.
 */
#include "completion.h"

#include <string.h>

#include "vta/driver.h"

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {
    {"bash", cli_print_completion_bash},
    {"zsh", cli_print_completion_zsh},
    {"fish", cli_print_completion_fish},
};

static const char *const words[] = {"bash", "zsh", "fish"};
_Static_assert(sizeof words / sizeof words[0] == sizeof shells / sizeof shells[0], "a word for each shell");

void cli_print_config_names(void)
{
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    for (uint32_t i = 0; i < count; i++) {
        cli_print("%s%s", i > 0 ? " " : "", names[i]);
    }
}

void cli_print_device_names(void)
{
    uint32_t count = 0;
    const vta_device_kind *kinds = vta_device_kinds(&count);
    for (uint32_t i = 0; i < count; i++) {
        cli_print("%s%s", i > 0 ? " " : "", kinds[i].scheme);
    }
}

bool cli_has_first_words(const cli_verb *verb)
{
    return verb == &cli_verb_help || verb->word_count > 0;
}

void cli_print_first_words(const cli_verb *verb)
{
    if (verb == &cli_verb_help) {
        for (size_t i = 0; i < cli_verb_count; i++) {
            cli_print("%s%s", i > 0 ? " " : "", cli_verbs[i]->name);
        }
    }
    for (size_t i = 0; i < verb->word_count; i++) {
        cli_print("%s%s", i > 0 ? " " : "", verb->words[i]);
    }
}

void cli_print_marked(const char *text, const char *special, const char *mark)
{
    for (const char *at = text; *at != '\0'; at++) {
        cli_print("%s%c", strchr(special, *at) != NULL ? mark : "", *at);
    }
}

static int run_completion(const cli_args *args)
{
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(args->operands[0], shells[i].name) == 0) {
            shells[i].print();
            return cli_done(args);
        }
    }
    return cli_usage(args, "no completion for '%s'; there are 'bash', 'zsh' and 'fish'", args->operands[0]);
}

const cli_verb cli_verb_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "print the completion script of a shell",
    .more = "  . <(vtac completion bash)\n"
            "  vtac completion fish | source\n",
    .words = words,
    .word_count = sizeof words / sizeof words[0],
    .min = 1,
    .max = 1,
    .run = run_completion,
    .alone = true,
};
