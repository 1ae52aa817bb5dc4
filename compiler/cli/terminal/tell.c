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
#include "format.h"
#include "html.h"

void cli_json_string(const char *text)
{
    vta_str json = {0};
    cli_put_json(&json, text);
    cli_put(json.failed ? "\"\"" : json.text);
    vta_str_free(&json);
}

/* The failure as JSON, on standard error. */
static void say_json(const vta_diag *diag)
{
    vta_str status = {0};
    vta_str message = {0};
    cli_put_json(&status, vta_status_text(diag->code));
    cli_put_json(&message, diag->text);
    cli_say("{\"error\": {\"status\": %s, \"message\": %s}}\n", status.failed ? "\"\"" : status.text,
            message.failed ? "\"\"" : message.text);
    vta_str_free(&status);
    vta_str_free(&message);
}

int cli_fail(const cli_args *args, const vta_diag *diag)
{
    cli_flush();
    if (cli_here()->guest) {
        cli_here()->failure = *diag;
    } else if (cli_flag(args, "--json")) {
        say_json(diag);
    } else {
        const bool red = cli_fancy(STDERR_FILENO);
        cli_say("%svtac:%s %s\n", cli_color_text(CLI_RED, red), cli_color_text(CLI_USUAL, red), diag->text);
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
    if (cli_here()->answer.failed) {
        cli_say("vtac: cannot write to standard output: out of memory\n");
        return CLI_FAILED;
    }
    const int error = cli_output_error();
    if (error != 0) {
        cli_say("vtac: cannot write to standard output: %s\n", strerror(error));
    }
    return error != 0 ? CLI_FAILED : CLI_OK;
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
