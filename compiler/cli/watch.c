/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that looks at the model five times a second. What is left follows from the share of the predicted
 * cycles that have passed, or, where the device tells none, of the steps.
 */
#include "watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

struct cli_watch {
    const vta_model *model;
    uint64_t runs;
    _Atomic uint64_t done;
    double begin;
    bool shown;
    pthread_t thread;
    pthread_mutex_t lock; /* of `over` */
    pthread_cond_t changed;
    bool over;
};

static const double patience_s = 2.0;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double share_of(const vta_model_position *at)
{
    const double share = at->predicted > 0 && at->cycles > 0
                             ? (double)at->cycles / (double)at->predicted
                             : (at->steps > 0 ? (double)at->step / at->steps : 0.0);
    return share < 1.0 ? share : 1.0; /* a prediction may be low */
}

void cli_watch_line(const vta_model_position *at, uint64_t done, uint64_t runs, double seconds, char *text,
                    size_t size)
{
    const double all = ((double)done + (done < runs ? share_of(at) : 0.0)) / (double)runs;
    char left[64] = "";
    char cycles[96] = "";
    text[0] = '\0';
    if (seconds < patience_s) {
        return;
    }
    if (all > 0.005) {
        const double rest = seconds * (1.0 - all) / all;
        (void)snprintf(left, sizeof left, rest < 90 ? ", %.0f s left" : ", %.1f min left",
                       rest < 90 ? rest : rest / 60);
    }
    if (at->cycles > 0 && at->predicted > 0) {
        (void)snprintf(cycles, sizeof cycles, ", %.2f of about %.2f M cycles", 1e-6 * (double)at->cycles,
                       1e-6 * (double)at->predicted);
    }
    if (runs > 1) {
        (void)snprintf(text, size, "run %llu of %llu%s, %.0f %%%s",
                       (unsigned long long)(done < runs ? done + 1 : runs), (unsigned long long)runs, cycles,
                       100 * all, left);
    } else {
        (void)snprintf(text, size, "running%s, %.0f %%%s", cycles, 100 * all, left);
    }
}

static void show(cli_watch *w)
{
    char text[240];
    const vta_model_position at = vta_model_where(w->model);
    cli_watch_line(&at, atomic_load(&w->done), w->runs, now() - w->begin, text, sizeof text);
    if (text[0] != '\0') {
        (void)fprintf(stderr, "\r\033[K%s", text);
        w->shown = true;
    }
}

static void *look(void *context)
{
    enum { SLICE_NS = 200000000 };
    cli_watch *w = context;
    (void)pthread_mutex_lock(&w->lock);
    while (!w->over) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SLICE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&w->changed, &w->lock, &until);
        if (!w->over) {
            show(w);
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

cli_watch *cli_watch_begin(const vta_model *model, uint64_t runs)
{
    cli_watch *w = cli_fancy(STDERR_FILENO) ? calloc(1, sizeof *w) : NULL;
    if (w == NULL) {
        return NULL;
    }
    w->model = model;
    w->runs = runs;
    w->begin = now();
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    sigset_t all; /* signals are for the thread that runs the model */
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(&w->thread, NULL, look, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        free(w);
        return NULL;
    }
    return w;
}

void cli_watch_run(cli_watch *watch)
{
    if (watch != NULL) {
        atomic_fetch_add(&watch->done, 1);
    }
}

void cli_watch_end(cli_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&watch->lock);
    watch->over = true;
    (void)pthread_cond_signal(&watch->changed);
    (void)pthread_mutex_unlock(&watch->lock);
    (void)pthread_join(watch->thread, NULL);
    if (watch->shown) {
        (void)fprintf(stderr, "\r\033[K");
    }
    (void)pthread_cond_destroy(&watch->changed);
    (void)pthread_mutex_destroy(&watch->lock);
    free(watch);
}
