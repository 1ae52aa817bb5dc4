/* SPDX-License-Identifier: Apache-2.0
 *
 * What is left follows from the share of the predicted
 * cycles that have passed, or, where the device tells none, of the steps.
 */
#include "watch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "ticker.h"

struct cli_watch {
    const vta_model *model;
    uint64_t runs;
    _Atomic uint64_t done;
    cli_ticker *ticker;
};

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
    if (seconds < CLI_PATIENCE_S) {
        return;
    }
    if (all > 0.005) {
        char rest[16];
        (void)snprintf(left, sizeof left, ", %s left",
                       cli_duration(seconds * (1.0 - all) / all, rest, sizeof rest));
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

static void describe_watch(void *context, double seconds, char *text, size_t size)
{
    const cli_watch *w = context;
    const vta_model_position at = vta_model_where(w->model);
    cli_watch_line(&at, atomic_load(&w->done), w->runs, seconds, text, size);
}

cli_watch *cli_watch_begin(const vta_model *model, uint64_t runs)
{
    cli_watch *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->model = model;
    w->runs = runs;
    w->ticker = cli_ticker_begin(describe_watch, w);
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
    if (watch != NULL) {
        cli_ticker_end(watch->ticker);
        free(watch);
    }
}

vta_status cli_watch_model(vta_model *model, vta_diag *diag)
{
    cli_watch *watch = cli_watch_begin(model, 1);
    const vta_status status = cli_run_model(model, diag);
    cli_watch_end(watch);
    return status;
}
