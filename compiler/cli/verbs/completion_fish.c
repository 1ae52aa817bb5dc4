/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac completion fish: a `complete` command for each verb, option and first word.
 */
#include <string.h>

#include "cli.h"
#include "completion.h"

/* Prints ` -d 'TEXT'`, with what would end the quotation marked. */
static void print_description(const char *text)
{
    if (text != NULL) {
        cli_print(" -d '");
        cli_print_marked(text, "'\\", "\\");
        cli_print("'");
    }
}

/* Prints the words that an option's value may be: -x offers no files, -r some, -F files beside the words. */
static void print_value(const cli_option *option)
{
    switch (option->kind) {
    case CLI_FLAG: break;
    case CLI_TEXT: cli_print(" -x"); break;
    case CLI_OUT:
    case CLI_FILE: cli_print(" -r -F"); break;
    case CLI_CONFIG:
        cli_print(" -r -F -a '");
        cli_print_config_names();
        cli_print("'");
        break;
    case CLI_DEVICE:
        cli_print(" -x -a '");
        cli_print_device_names();
        cli_print("'");
        break;
    }
}

static void print_option(const cli_verb *verb, const cli_option *option)
{
    const bool is_long = strncmp(option->name, "--", 2) == 0;
    cli_print("complete -c vtac -n '__fish_seen_subcommand_from %s' %s %s", verb->name, is_long ? "-l" : "-s",
              option->name + (is_long ? 2 : 1));
    print_value(option);
    print_description(option->doc);
    cli_print("\n");
}

static void print_verb(const cli_verb *verb)
{
    cli_print("complete -c vtac -f -n __fish_use_subcommand -a %s", verb->name);
    print_description(verb->summary);
    cli_print("\n");
    for (size_t i = 0; i < verb->option_count; i++) {
        print_option(verb, &verb->options[i]);
    }
    cli_print("complete -c vtac -n '__fish_seen_subcommand_from %s' -l help -d 'tell about it'\n",
              verb->name);
    if (cli_has_first_words(verb)) {
        cli_print("complete -c vtac -n '__fish_seen_subcommand_from %s; and test (count (commandline -opc)) "
                  "= 2' -a '",
                  verb->name);
        cli_print_first_words(verb);
        cli_print("'\n");
    }
}

void cli_print_completion_fish(void)
{
    cli_print("# SPDX-License-Identifier: Apache-2.0\n#\n"
              "# Completion of vtac for fish, as printed by `vtac completion fish`.\n"
              "complete -c vtac -f -n __fish_use_subcommand -l help -d 'list the verbs'\n"
              "complete -c vtac -f -n __fish_use_subcommand -l version -d 'print the version'\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        print_verb(cli_verbs[i]);
    }
}
