/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run on a device needs of the terminal: Ctrl-C ends it cleanly, and waiting for a simulator to be
 * built is explained.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"
#include "vta/model.h"

static void (*volatile stop_run)(void *); /* what a signal calls, */
static void *volatile run;                /* and with what */

static void on_signal(int number)
{
    void (*stop)(void *) = stop_run;
    (void)number;
    if (stop == NULL) {
        _exit(CLI_INTERRUPTED);
    }
    stop_run = NULL; /* a second signal ends the process */
    stop(run);
}

void cli_catch_signals(void (*stop)(void *what), void *what)
{
    struct sigaction action = {.sa_handler = stop != NULL ? on_signal : SIG_DFL};
    run = what;
    stop_run = stop;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

void cli_stop_device(void *device)
{
    vta_device_interrupt(device);
}

void cli_stop_model(void *model)
{
    vta_model_interrupt(model);
}

vta_status cli_run_model(struct vta_model *model, vta_diag *diag)
{
    cli_catch_signals(cli_stop_model, model);
    const vta_status status = vta_model_run(model, diag);
    cli_catch_signals(NULL, NULL);
    return status;
}

static void print_progress(void *context, const char *line)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

const vta_progress *cli_progress(void)
{
    static const vta_progress progress = {print_progress, NULL};
    return cli_fancy(STDERR_FILENO) ? &progress : NULL;
}
