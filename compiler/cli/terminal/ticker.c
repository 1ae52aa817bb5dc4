/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread behind a line of progress. It sleeps on a condition, so that the end of the work is its end.
 */
#include "ticker.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "columns.h"
#include "vta/clock.h"
#include "vta/untrusted.h"

struct cli_ticker {
    cli_line_fn *line;
    void *context;
    double begin;
    bool log;       /* standard error is no terminal */
    double written; /* of a log: when its last line was */
    bool shown;
    pthread_t thread;
    pthread_mutex_t lock; /* of `shown` and `over` */
    pthread_cond_t changed;
    bool over;
};

/* A line that wraps could not be taken away again. */
static void show_line(cli_ticker *t)
{
    char text[240] = "";
    if (t->log && vta_now() - t->written < CLI_REPORT_S) {
        return;
    }
    t->line(t->context, vta_now() - t->begin, text, sizeof text);
    if (*vta_make_plain(text, strlen(text), text, sizeof text) == '\0') {
        return;
    }
    if (t->log) {
        t->written = vta_now();
        cli_say("%s\n", text);
    } else {
        (void)fprintf(stderr, "\r\033[K%.*s", cli_columns(STDERR_FILENO) - 1, text);
        t->shown = true;
    }
}

static void hide_line(cli_ticker *t)
{
    if (t->shown) {
        (void)fprintf(stderr, "\r\033[K");
        t->shown = false;
    }
}

static void *run_ticker(void *context)
{
    enum { SLICE_NS = 200000000 };
    cli_ticker *t = context;
    (void)pthread_mutex_lock(&t->lock);
    while (!t->over) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SLICE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&t->changed, &t->lock, &until);
        if (!t->over) {
            show_line(t);
        }
    }
    (void)pthread_mutex_unlock(&t->lock);
    return NULL;
}

static cli_ticker *begin_ticker(cli_line_fn *line, void *context, bool log)
{
    cli_ticker *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    t->line = line;
    t->context = context;
    t->begin = t->written = vta_now();
    t->log = log;
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->changed, NULL);
    sigset_t all; /* signals are for the thread that does the work */
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(&t->thread, NULL, run_ticker, t);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        free(t);
        return NULL;
    }
    return t;
}

cli_ticker *cli_ticker_begin(cli_line_fn *line, void *context)
{
    return cli_fancy(STDERR_FILENO) ? begin_ticker(line, context, false) : NULL;
}

cli_ticker *cli_ticker_begin_anywhere(cli_line_fn *line, void *context)
{
    return begin_ticker(line, context, !cli_fancy(STDERR_FILENO));
}

void cli_ticker_hide(cli_ticker *ticker)
{
    if (ticker != NULL) {
        (void)pthread_mutex_lock(&ticker->lock);
        hide_line(ticker);
        (void)pthread_mutex_unlock(&ticker->lock);
    }
}

void cli_ticker_end(cli_ticker *ticker)
{
    if (ticker == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&ticker->lock);
    ticker->over = true;
    (void)pthread_cond_signal(&ticker->changed);
    (void)pthread_mutex_unlock(&ticker->lock);
    (void)pthread_join(ticker->thread, NULL);
    hide_line(ticker);
    (void)pthread_cond_destroy(&ticker->changed);
    (void)pthread_mutex_destroy(&ticker->lock);
    free(ticker);
}

const char *cli_duration(double seconds, char *text, size_t size)
{
    (void)snprintf(text, size, seconds < 90 ? "%.0f s" : "%.1f min", seconds < 90 ? seconds : seconds / 60);
    return text;
}
