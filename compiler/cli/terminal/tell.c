/* SPDX-License-Identifier: Apache-2.0
 *
 * How results and failures reach the user.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static void json_string(void (*put)(const char *fmt, ...), const char *text)
{
    put("\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            put("\\%c", *c);
        } else if ((unsigned char)*c < 0x20) {
            put("\\u%04x", (unsigned)*c);
        } else {
            put("%c", *c);
        }
    }
    put("\"");
}

void cli_json_string(const char *text)
{
    json_string(cli_print, text);
}

int cli_fail(const cli_args *args, const vta_diag *diag)
{
    cli_flush();
    if (cli_here()->guest) {
        cli_here()->failure = *diag;
    } else if (cli_flag(args, "--json")) {
        cli_say("{\"error\": {\"status\": ");
        json_string(cli_say, vta_status_text(diag->code));
        cli_say(", \"message\": ");
        json_string(cli_say, diag->text);
        cli_say("}}\n");
    } else {
        const bool red = cli_fancy(STDERR_FILENO);
        cli_say("%svtac:%s %s\n", red ? "\033[31m" : "", red ? "\033[0m" : "", diag->text);
    }
    return diag->code == VTA_INTERRUPTED ? CLI_INTERRUPTED : CLI_FAILED;
}

int cli_fail_model(const cli_args *args, const vta_diag *diag)
{
    const char *file = args->operands[0];
    const size_t length = strlen(file);
    vta_diag named = *diag;
    if (strncmp(named.text, file, length) != 0 || named.text[length] != ':') {
        (void)vta_context(&named, "%s", file);
    }
    return cli_fail(args, &named);
}

int cli_done(const cli_args *args)
{
    (void)args;
    if (cli_here()->guest) {
        return CLI_OK;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_say("vtac: cannot write to standard output: %s\n", strerror(errno));
        return CLI_FAILED;
    }
    return CLI_OK;
}

bool cli_fancy(int fd)
{
    if (cli_here()->guest) {
        return false;
    }
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) && (no_color == NULL || *no_color == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}
