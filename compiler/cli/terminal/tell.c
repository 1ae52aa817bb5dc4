/* SPDX-License-Identifier: Apache-2.0
 *
 * How results and failures reach the user.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_usage(const cli_args *args, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    (void)fprintf(stderr, "vtac %s: ", args->verb->name);
    (void)vfprintf(stderr, fmt, list);
    (void)fprintf(stderr, " (try 'vtac %s --help')\n", args->verb->name);
    va_end(list);
    return CLI_USAGE;
}

static void json_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            (void)fprintf(out, "\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            (void)fprintf(out, "\\u%04x", (unsigned)*c);
        } else {
            (void)fputc(*c, out);
        }
    }
    (void)fputc('"', out);
}

void cli_json_string(const char *text)
{
    json_string(stdout, text);
}

int cli_fail(const cli_args *args, const vta_diag *diag)
{
    (void)fflush(stdout);
    if (cli_flag(args, "--json")) {
        (void)fprintf(stderr, "{\"error\": {\"status\": ");
        json_string(stderr, vta_status_text(diag->code));
        (void)fprintf(stderr, ", \"message\": ");
        json_string(stderr, diag->text);
        (void)fprintf(stderr, "}}\n");
    } else {
        const bool red = cli_fancy(STDERR_FILENO);
        (void)fprintf(stderr, "%svtac:%s %s\n", red ? "\033[31m" : "", red ? "\033[0m" : "", diag->text);
    }
    return diag->code == VTA_INTERRUPTED ? CLI_INTERRUPTED : CLI_FAILED;
}

int cli_done(const cli_args *args)
{
    (void)args;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fprintf(stderr, "vtac: cannot write to standard output: %s\n", strerror(errno));
        return CLI_FAILED;
    }
    return CLI_OK;
}

bool cli_fancy(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) && (no_color == NULL || *no_color == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}
