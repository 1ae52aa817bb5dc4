/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac completion zsh: the verbs for _describe, and the options of each verb for _arguments.
 */
#include "cli.h"
#include "completion.h"

/* Prints text of a specification within single quotes: what separates its parts is marked, and so is what
 * ends the quotes. */
static void print_text(const char *text)
{
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        const char one[2] = {*at, '\0'};
        if (*at == '\'') {
            cli_print("'\\''");
        } else {
            cli_print_marked(one, ":[]\\", "\\");
        }
    }
}

/* Prints what an option's value may be: its name in the help, and what offers words for it. */
static void print_value(const cli_option *option)
{
    if (option->kind == CLI_FLAG) {
        return;
    }
    cli_print(":");
    print_text(option->value != NULL ? option->value : "value");
    cli_print(":");
    switch (option->kind) {
    case CLI_FLAG:
    case CLI_TEXT: break;
    case CLI_OUT:
    case CLI_FILE: cli_print("_files"); break;
    case CLI_CONFIG: cli_print("_vtac_configs"); break;
    case CLI_DEVICE:
        cli_print("(");
        cli_print_device_names();
        cli_print(")");
        break;
    }
}

static void print_verb(const cli_verb *verb)
{
    cli_print("    %s)\n        _arguments", verb->name);
    for (size_t i = 0; i < verb->option_count; i++) {
        const cli_option *option = &verb->options[i];
        cli_print(" \\\n            '*%s[", option->name);
        print_text(option->doc);
        cli_print("]");
        print_value(option);
        cli_print("'");
    }
    cli_print(" \\\n            '--help[tell about it]'");
    if (cli_has_first_words(verb)) {
        cli_print(" \\\n            '1:word:(");
        cli_print_first_words(verb);
        cli_print(")'");
    }
    cli_print(" \\\n            '*:file:_files'\n        ;;\n");
}

void cli_print_completion_zsh(void)
{
    cli_print("#compdef vtac\n"
              "# SPDX-License-Identifier: Apache-2.0\n#\n"
              "# Completion of vtac for zsh, as printed by `vtac completion zsh`.\n"
              "_vtac_configs() {\n"
              "    compadd ");
    cli_print_config_names();
    cli_print("\n"
              "    _files\n"
              "}\n"
              "_vtac() {\n"
              "    local -a verbs=(\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        cli_print("        '%s:", cli_verbs[i]->name);
        print_text(cli_verbs[i]->summary);
        cli_print("'\n");
    }
    cli_print("    )\n"
              "    if (( CURRENT == 2 )); then\n"
              "        _describe -t verbs verb verbs\n"
              "        _arguments '--help[list the verbs]' '--version[print the version]'\n"
              "        return\n"
              "    fi\n"
              "    shift words\n"
              "    (( CURRENT-- ))\n"
              "    case $words[1] in\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        print_verb(cli_verbs[i]);
    }
    cli_print("    esac\n"
              "}\n"
              "if [ \"$funcstack[1]\" = _vtac ]; then\n"
              "    _vtac \"$@\"\n"
              "else\n"
              "    compdef _vtac vtac\n"
              "fi\n");
}
