/* SPDX-License-Identifier: Apache-2.0
 *
 * See ground.h.
 */
#include "ground.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "vta/file.h"
#include "vta/hash.h"

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

/* The program's output that has not been written yet. A stream of the C library drops its bytes where a
 * signal interrupts the write; here the write is made again. */
typedef struct output {
    vta_str text;
    long process; /* a fork of it leaves the text to its parent */
    int error;    /* errno of the first failure, 0: none */
    bool at_exit; /* the rest is written at the end of the program */
} output;
static output out;
enum { OUTPUT_ROOM = 1 << 16 };

static void flush_output(void)
{
    if (out.text.size > 0 && out.process == (long)getpid()) {
        const int error = vta_write_all(STDOUT_FILENO, out.text.text, out.text.size);
        out.error = out.error == 0 ? error : out.error;
    }
    out.text.size = 0;
}

/* Writes to the answer of a guest, or to standard output. */
static void write_out(const char *bytes, size_t size)
{
    if (cli_here()->guest) {
        vta_str_append(&cli_here()->answer, bytes, size);
        return;
    }
    out.at_exit = out.at_exit || atexit(flush_output) == 0;
    if (out.process != (long)getpid()) {
        out.text.size = 0;
        out.process = (long)getpid();
    }
    vta_str_append(&out.text, bytes, size);
    if (out.text.size > OUTPUT_ROOM || (memchr(bytes, '\n', size) != NULL && isatty(STDOUT_FILENO))) {
        flush_output();
    }
}

int cli_output_error(void)
{
    flush_output();
    return out.text.failed ? ENOMEM : out.error;
}

/* Writes what has been formatted; without memory for it the answer is not whole, which cli_done tells. */
static void put_out(vta_str *text)
{
    if (text->size > 0 && !text->failed) {
        write_out(text->text, text->size);
    }
    cli_here()->answer.failed = cli_here()->answer.failed || text->failed;
    vta_str_free(text);
}

void cli_print(const char *fmt, ...)
{
    vta_str text = {0};
    va_list args;
    va_start(args, fmt);
    cli_format(&text, fmt, args);
    va_end(args);
    put_out(&text);
}

void cli_put(const char *text)
{
    vta_str plain = {0};
    cli_format_text(&plain, text);
    put_out(&plain);
}

void cli_put_made(const char *text, size_t size)
{
    write_out(text, size);
}

void cli_flush(void)
{
    if (!cli_here()->guest) {
        flush_output();
    }
}

/* Hands over the lines that are whole. */
static void report_lines(cli_ground *g)
{
    char *text = g->line.text;
    if (text == NULL || strchr(text, '\n') == NULL) {
        return;
    }
    char *end;
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        if (g->report != NULL && g->process == getpid()) {
            g->report(g->context, text);
        }
    }
    g->line.size = strlen(text);
    memmove(g->line.text, text, g->line.size + 1);
}

/* Says a text, which is freed. */
static void say_text(vta_str *text)
{
    cli_ground *g = cli_here();
    if (text->size > 0 && g->guest) {
        vta_str_append(&g->line, text->text, text->size);
        report_lines(g);
    } else if (text->size > 0) {
        (void)vta_write_all(STDERR_FILENO, text->text, text->size);
    }
    vta_str_free(text);
}

void cli_say(const char *fmt, ...)
{
    vta_str text = {0};
    va_list args;
    va_start(args, fmt);
    cli_format(&text, fmt, args);
    va_end(args);
    say_text(&text);
}

void cli_say_once(const char *fmt, ...)
{
    cli_ground *g = cli_here();
    vta_str text = {0};
    va_list args;
    va_start(args, fmt);
    cli_format(&text, fmt, args);
    va_end(args);
    const uint64_t hash = vta_hash_bytes(VTA_HASH_START, text.text, text.size);
    for (uint32_t i = 0; i < g->told_count; i++) {
        if (g->told[i] == hash) {
            vta_str_free(&text);
            return;
        }
    }
    if (g->told_count < CLI_MAX_REMARKS) {
        g->told[g->told_count++] = hash;
    }
    say_text(&text);
}

vta_status cli_go_on(vta_diag *diag)
{
    return cli_here()->ended ? vta_fail(diag, VTA_INTERRUPTED, "interrupted") : VTA_OK;
}
