/* SPDX-License-Identifier: Apache-2.0
 *
 * The words after a verb, split into operands and options by the verb's own table.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "vta/str.h"

const char *cli_next(const cli_args *args, const char *option, size_t *at)
{
    while (*at < args->given_count) {
        const struct cli_given *given = &args->given[(*at)++];
        if (strcmp(given->option->name, option) == 0) {
            return given->value != NULL ? given->value : "";
        }
    }
    return NULL;
}

const char *cli_value(const cli_args *args, const char *option)
{
    const char *last = NULL;
    size_t at = 0;
    for (const char *value = cli_next(args, option, &at); value != NULL;
         value = cli_next(args, option, &at)) {
        last = value;
    }
    return last;
}

bool cli_flag(const cli_args *args, const char *option)
{
    return cli_value(args, option) != NULL;
}

int cli_usage(const cli_args *args, const char *fmt, ...)
{
    vta_diag *failure = &cli_here()->failure;
    char text[sizeof failure->text];
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    if (cli_here()->guest) {
        (void)vta_fail(failure, VTA_INVALID, "%s", text);
    } else {
        cli_say("vtac %s: %s (try 'vtac %s --help')\n", args->verb->name, text, args->verb->name);
    }
    return CLI_USAGE;
}

static int unknown_option(const cli_args *args, const char *word, size_t size)
{
    enum { MAX = 32 };
    const char *names[MAX];
    size_t count = 0;
    for (; count < args->verb->option_count && count < MAX; count++) {
        names[count] = args->verb->options[count].name;
    }
    char typed[64];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)size, word);
    const char *near = vta_nearest(typed, names, count);
    if (near != NULL) {
        return cli_usage(args, "unknown option '%s'; did you mean '%s'?", typed, near);
    }
    return cli_usage(args, "unknown option '%s'", typed);
}

/* True if `word` gives the option: "--name", "--name=VALUE" or, for a number, "-n3" as compilers have it.
 * *value is the value inside the word, or NULL. */
static bool gives_option(const char *word, const cli_option *option, const char **value)
{
    const size_t size = strlen(option->name);
    *value = NULL;
    if (strncmp(word, option->name, size) != 0) {
        return false;
    }
    if (word[size] == '=') {
        *value = word + size + 1;
    } else if (word[size] != '\0') {
        *value = word + size;
        return size == 2 && option->value != NULL && isdigit((unsigned char)**value);
    }
    return true;
}

/* One option; *used is how many words it took. */
static int take_option(cli_args *args, char **words, int count, int *used)
{
    const char *word = words[0];
    for (size_t i = 0; i < args->verb->option_count; i++) {
        const cli_option *option = &args->verb->options[i];
        const char *value;
        if (!gives_option(word, option, &value)) {
            continue;
        }
        if (option->value == NULL && value != NULL) {
            return cli_usage(args, "option '%s' takes no value", option->name);
        }
        if (option->value != NULL && value == NULL) {
            if (count < 2) {
                return cli_usage(args, "option '%s' needs a value: %s", option->name, option->value);
            }
            value = words[1];
            *used = 2;
        }
        args->given[args->given_count++] = (struct cli_given){option, value};
        return CLI_OK;
    }
    return unknown_option(args, word, strcspn(word, "="));
}

int cli_parse(const cli_verb *verb, int argc, char **argv, cli_args *args)
{
    *args = (cli_args){.verb = verb};
    args->operands = calloc((size_t)argc + 1, sizeof *args->operands);
    args->given = calloc((size_t)argc + 1, sizeof *args->given);
    if (args->operands == NULL || args->given == NULL) {
        cli_say("vtac: out of memory\n");
        return CLI_FAILED;
    }
    bool only_operands = false;
    for (int i = 0; i < argc;) {
        int used = 1;
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            const int status = take_option(args, argv + i, argc - i, &used);
            if (status != CLI_OK) {
                return status;
            }
        } else {
            args->operands[args->operand_count++] = argv[i];
        }
        i += used;
    }
    if (args->operand_count < verb->min) {
        return cli_usage(args, "expected %s", verb->operands);
    }
    if (args->operand_count > verb->max) {
        return cli_usage(args, "unexpected '%s'; expected %s", args->operands[verb->max],
                         verb->operands[0] == '\0' ? "no operand" : verb->operands);
    }
    return CLI_OK;
}

void cli_args_free(cli_args *args)
{
    free(args->operands);
    free(args->given);
    *args = (cli_args){0};
}

bool cli_number(const char *text, uint64_t *value)
{
    const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    if (!(hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits))) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    *value = strtoull(digits, &end, hex ? 16 : 10);
    return errno == 0 && *end == '\0';
}

bool cli_seconds(const char *text, double *value)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*text) && *text != '.') {
        return false;
    }
    *value = strtod(text, &end);
    return *end == '\0' && *value > 0 && *value <= 1e9;
}
