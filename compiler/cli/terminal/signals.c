/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run on a device needs of the terminal: Ctrl-C ends it cleanly, and waiting for a simulator to be
 * built is explained.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"
#include "temporary.h"
#include "vta/model.h"

static void (*volatile stop_run)(void *); /* what a signal calls, */
static void *volatile run;                /* and with what */

static char children[64]; /* the file that lists what the main thread has started */

/* Ends processes that were started for a device: each is in a group of its own and would
 * outlive this process. */
static void end_children(void)
{
    char text[4096];
    const int file = open(children, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file >= 0 ? read(file, text, sizeof text) : 0;
    pid_t pid = 0;
    for (ssize_t i = 0; i < size; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            pid = 10 * pid + (text[i] - '0');
        } else if (pid > 0) {
            (void)kill(kill(-pid, 0) == 0 ? -pid : pid, SIGTERM);
            pid = 0;
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
}

static void on_signal(int number)
{
    void (*stop)(void *) = stop_run;
    if (stop != NULL) {
        stop_run = NULL; /* a second signal ends the process */
        stop(run);
        return;
    }
    cli_temporary_remove_all();
    end_children();
    if (run != NULL) {
        _exit(CLI_INTERRUPTED);
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* on return from here */
}

void cli_catch_signals(void (*stop)(void *what), void *what)
{
    cli_ground *here = cli_here();
    if (here->guest) {
        here->stop = stop;
        here->what = what;
        if (here->ended && stop != NULL) {
            stop(what);
        }
        return;
    }
    run = what;
    stop_run = stop;
    cli_die_tidily();
}

void cli_die_tidily(void)
{
    if (cli_here()->guest) {
        return;
    }
    (void)snprintf(children, sizeof children, "/proc/self/task/%ld/children", (long)getpid());
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction was;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN) { /* not under nohup */
        (void)sigaction(SIGHUP, &action, NULL);
    }
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
    cli_say("%s\n", line);
}

/* A signal while nothing runs, but a wait for another process goes on: noted for whoever waits. */
static volatile sig_atomic_t wait_ended;

static void end_wait(void *context)
{
    (void)context;
    wait_ended = 1;
}

static bool wait_on(void *context, bool over)
{
    (void)context;
    if (!over && run == NULL && stop_run == NULL && !wait_ended) {
        cli_catch_signals(end_wait, NULL);
    }
    if (over && stop_run == end_wait) {
        cli_catch_signals(NULL, NULL);
    }
    return wait_ended != 0;
}

const vta_progress *cli_progress(void)
{
    static const vta_progress program = {.line = print_progress, .waits = wait_on};
    static const vta_progress guest = {.line = print_progress};
    return cli_here()->guest ? &guest : &program;
}
