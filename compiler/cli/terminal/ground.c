/* SPDX-License-Identifier: Apache-2.0
 *
 * See ground.h.
 */
#include "ground.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cli_ground program;
static _Thread_local cli_ground *here; /* NULL: the program */

cli_ground *cli_here(void)
{
    return here != NULL ? here : &program;
}

void cli_stand_on(cli_ground *ground)
{
    here = ground;
}

__attribute__((format(printf, 2, 0))) static void append_text(vta_str *out, const char *fmt, va_list args)
{
    char some[512];
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(some, sizeof some, fmt, args);
    if (size >= 0 && (size_t)size < sizeof some) {
        vta_str_append(out, some, (size_t)size);
    } else if (size >= 0) {
        char *all = malloc((size_t)size + 1);
        if (all != NULL) {
            (void)vsnprintf(all, (size_t)size + 1, fmt, again);
            vta_str_append(out, all, (size_t)size);
        }
        out->failed = out->failed || all == NULL;
        free(all);
    }
    va_end(again);
}

void cli_print(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (cli_here()->guest) {
        append_text(&cli_here()->answer, fmt, args);
    } else {
        (void)vprintf(fmt, args);
    }
    va_end(args);
}

void cli_put(const char *text)
{
    if (cli_here()->guest) {
        vta_str_put(&cli_here()->answer, text);
    } else {
        (void)fputs(text, stdout);
    }
}

void cli_flush(void)
{
    if (!cli_here()->guest) {
        (void)fflush(stdout);
    }
}

/* Hands over the lines that are whole. */
static void tell_lines(cli_ground *g)
{
    char *text = g->line.text;
    if (text == NULL || strchr(text, '\n') == NULL) {
        return;
    }
    char *end;
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        if (g->tell != NULL && g->process == getpid()) {
            g->tell(g->context, text);
        }
    }
    g->line.size = strlen(text);
    memmove(g->line.text, text, g->line.size + 1);
}

void cli_say(const char *fmt, ...)
{
    cli_ground *g = cli_here();
    va_list args;
    va_start(args, fmt);
    if (g->guest) {
        append_text(&g->line, fmt, args);
        tell_lines(g);
    } else {
        (void)vfprintf(stderr, fmt, args);
    }
    va_end(args);
}

vta_status cli_go_on(vta_diag *diag)
{
    return cli_here()->ended ? vta_fail(diag, VTA_INTERRUPTED, "interrupted") : VTA_OK;
}
