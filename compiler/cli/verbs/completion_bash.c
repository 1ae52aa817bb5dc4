/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac completion bash.
 */
#include <string.h>

#include "cli.h"
#include "completion.h"

/* Prints the completion of an option's value, as a line of the case below. */
static void print_value_case(const cli_option *option)
{
    if (option->kind == CLI_FLAG) {
        return;
    }
    cli_print("    %s) ", option->name);
    switch (option->kind) {
    case CLI_CONFIG:
        cli_print("COMPREPLY=($(compgen -f -W '");
        cli_print_config_names();
        cli_print("' -- \"$cur\"))");
        break;
    case CLI_DEVICE:
        cli_print("COMPREPLY=($(compgen -W '");
        cli_print_device_names();
        cli_print("' -- \"$cur\"))");
        break;
    case CLI_OUT:
    case CLI_FILE: cli_print("COMPREPLY=($(compgen -f -- \"$cur\"))"); break;
    case CLI_TEXT:
    case CLI_FLAG: cli_print("COMPREPLY=()"); break;
    }
    cli_print("; return ;;\n");
}

static bool has_option(const cli_verb *verb, const char *name)
{
    for (size_t i = 0; i < verb->option_count; i++) {
        if (strcmp(verb->options[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Each option once, though several verbs may have it. */
static void print_values(void)
{
    for (size_t v = 0; v < cli_verb_count; v++) {
        for (size_t i = 0; i < cli_verbs[v]->option_count; i++) {
            const cli_option *option = &cli_verbs[v]->options[i];
            size_t first = 0;
            while (!has_option(cli_verbs[first], option->name)) {
                first++;
            }
            if (first == v) {
                print_value_case(option);
            }
        }
    }
}

static void print_verb(const cli_verb *verb)
{
    cli_print("    %s) options='", verb->name);
    for (size_t i = 0; i < verb->option_count; i++) {
        cli_print("%s ", verb->options[i].name);
    }
    cli_print("--help'; words='");
    cli_print_first_words(verb);
    cli_print("' ;;\n");
}

void cli_print_completion_bash(void)
{
    cli_print("# SPDX-License-Identifier: Apache-2.0\n#\n"
              "# Completion of vtac for bash, as printed by `vtac completion bash`.\n"
              "_vtac() {\n"
              "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options= words=\n"
              "    COMPREPLY=()\n"
              "    case $prev in\n");
    print_values();
    cli_print("    esac\n"
              "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
              "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < cli_verb_count; i++) {
        cli_print("%s ", cli_verbs[i]->name);
    }
    cli_print("--help --version' -- \"$cur\"))\n"
              "        return\n"
              "    fi\n"
              "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        print_verb(cli_verbs[i]);
    }
    cli_print("    esac\n"
              "    case $cur in\n"
              "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
              "    *)\n"
              "        if [ \"$COMP_CWORD\" = 2 ] && [ -n \"$words\" ]; then\n"
              "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
              "        else\n"
              "            COMPREPLY=($(compgen -f -- \"$cur\"))\n"
              "        fi\n"
              "        ;;\n"
              "    esac\n"
              "}\n"
              "complete -o filenames -F _vtac vtac\n");
}
