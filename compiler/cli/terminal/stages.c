/* SPDX-License-Identifier: Apache-2.0
 *
 * See stages.h. The compiler tells where it is, a ticker shows it: a stage that is silent for long is on the
 * terminal, too. What is left of a stage follows from the items that are done.
 */
#include "stages.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "columns.h"
#include "ground.h"
#include "ticker.h"
#include "vta/clock.h"

static struct {
    cli_ticker *ticker; /* NULL: nothing is shown */
    pthread_mutex_t lock;
    char stage[48], item[160];
    bool quiet; /* nothing is shown until the next stage */
    uint32_t done, total;
    double begin; /* of the stage */
    char outer[32];
    size_t outer_done, outer_total;
} job = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool show_stage(void *context, const char *stage, const char *item, uint32_t done, uint32_t total)
{
    (void)context;
    (void)pthread_mutex_lock(&job.lock);
    if (done == 0 || strncmp(job.stage, stage, sizeof job.stage - 1) != 0) {
        job.begin = vta_now();
    }
    (void)snprintf(job.stage, sizeof job.stage, "%s", stage);
    (void)snprintf(job.item, sizeof job.item, "%s", item);
    job.done = done;
    job.total = total;
    job.quiet = false;
    (void)pthread_mutex_unlock(&job.lock);
    return false;
}

/* A guest's: its host says whether to go on, and stops what runs where it does not. */
static bool ask_host(void *context, const char *stage, const char *item, uint32_t done, uint32_t total)
{
    cli_ground *g = context;
    if (!g->ended && g->progress.at != NULL && g->process == getpid()) {
        g->ended = g->progress.at(g->progress.context, stage, item, done, total);
        if (g->ended && g->stop != NULL) {
            g->stop(g->what);
        }
    }
    return g->ended;
}

/* The time left is that of the whole where it has several parts. */
static void describe_outer(double seconds, char *text, size_t size)
{
    char left[32] = "";
    char duration[16];
    if (job.outer_done > 0) {
        const double rest = seconds * (double)(job.outer_total - job.outer_done) / (double)job.outer_done;
        (void)snprintf(left, sizeof left, ", %s left", cli_duration(rest, duration, sizeof duration));
    }
    (void)snprintf(text, size, "%s %zu of %zu%s: ", job.outer, job.outer_done + 1, job.outer_total, left);
}

static void describe_stage(void *context, double seconds, char *text, size_t size)
{
    char count[48] = "";
    char left[32] = "";
    char duration[16];
    char outer[96] = "";
    (void)context;
    (void)pthread_mutex_lock(&job.lock);
    if (seconds >= CLI_PATIENCE_S && job.stage[0] != '\0' && !job.quiet) {
        if (job.total > 0) {
            (void)snprintf(count, sizeof count, ": %u of %u", job.done + 1, job.total);
        }
        if (job.outer_total > 1) {
            describe_outer(seconds, outer, sizeof outer);
        } else if (job.done > 0 && job.done < job.total) {
            const double rest = (vta_now() - job.begin) * (job.total - job.done) / job.done;
            (void)snprintf(left, sizeof left, ", %s left", cli_duration(rest, duration, sizeof duration));
        }
        (void)snprintf(text, size, "%s%s%s%s%s", outer, job.stage, count, left,
                       job.item[0] != '\0' ? ": " : "");
        const size_t used = strlen(text);
        const int room = cli_columns(STDERR_FILENO) - 1 - (int)used;
        (void)cli_elide(job.item, room, text + used, size - used);
    }
    (void)pthread_mutex_unlock(&job.lock);
}

void cli_stages_begin(void)
{
    if (cli_here()->guest) {
        return;
    }
    job.stage[0] = '\0';
    job.outer_total = 0;
    job.ticker = cli_ticker_begin(describe_stage, NULL);
}

void cli_stages_end(void)
{
    if (cli_here()->guest) {
        return;
    }
    cli_ticker_end(job.ticker);
    job.ticker = NULL;
}

const vtac_progress *cli_stages(void)
{
    static const vtac_progress progress = {show_stage, NULL};
    static _Thread_local vtac_progress guest;
    if (cli_here()->guest) {
        guest = (vtac_progress){ask_host, cli_here()};
        return &guest;
    }
    return job.ticker != NULL ? &progress : NULL;
}

void cli_stage(const char *stage, const char *item, size_t done, size_t total)
{
    (void)vtac_progress_at(cli_stages(), stage, item, done, total, NULL);
}

void cli_stages_outer(const char *what, size_t done, size_t total)
{
    if (cli_here()->guest) {
        return;
    }
    (void)pthread_mutex_lock(&job.lock);
    (void)snprintf(job.outer, sizeof job.outer, "%s", what);
    job.outer_done = done;
    job.outer_total = total;
    (void)pthread_mutex_unlock(&job.lock);
}

void cli_stages_hide(void)
{
    if (cli_here()->guest) {
        return;
    }
    (void)pthread_mutex_lock(&job.lock);
    job.quiet =
        true; /* until the next stage: what is said now would stand behind a line that is drawn again */
    (void)pthread_mutex_unlock(&job.lock);
    cli_ticker_hide(job.ticker);
}
