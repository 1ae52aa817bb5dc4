/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ; /* NOLINT(readability-redundant-declaration): unistd.h has it with _GNU_SOURCE alone */

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static int make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = -1;
        ends[1] = -1;
        return -1;
    }
    return 0;
}

/* The child ignores nothing that we ignore, and its signals are not ours. */
static int spawn(child *c, char *const *argv, int pipes[3][2])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    (void)sigaddset(&defaults, SIGINT);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&files, pipes[0][0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, pipes[1][1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&files, pipes[2][1], STDERR_FILENO);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    const int failed = posix_spawnp(&c->pid, argv[0], &files, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return failed;
}

vta_status vta_child_start(child *c, char *const *argv, vta_diag *diag)
{
    int pipes[3][2];
    int failed = 0;
    *c = (child){.owner = getpid(), .in = -1, .out = -1, .err = -1, .fresh = 1};
    for (int i = 0; i < 3; i++) {
        failed = make_pipe(pipes[i]) != 0 ? errno : failed;
    }
    if (failed == 0) {
        failed = spawn(c, argv, pipes);
    }
    c->in = pipes[0][1];
    c->out = pipes[1][0];
    c->err = pipes[2][0];
    close_fd(&pipes[0][0]);
    close_fd(&pipes[1][1]);
    close_fd(&pipes[2][1]);
    if (failed != 0) {
        c->pid = 0;
        vta_child_end(c, 0);
        return vta_fail(diag, VTA_IO, "cannot start '%s': %s", argv[0], strerror(failed));
    }
    return VTA_OK;
}

static void hear(child *c, char byte)
{
    if (byte == '\n' || byte == '\r') {
        c->fresh = 1;
        return;
    }
    if (c->fresh) {
        c->word_count = 0;
        c->fresh = 0;
    }
    if (c->word_count + 1 < sizeof c->words) {
        c->words[c->word_count++] = byte;
        c->words[c->word_count] = '\0';
    }
}

void vta_child_listen(child *c)
{
    char bytes[256];
    struct pollfd slot = {.fd = c->err, .events = POLLIN};
    while (c->err >= 0 && poll(&slot, 1, 0) > 0) {
        const ssize_t got = read(c->err, bytes, sizeof bytes);
        for (ssize_t i = 0; i < got; i++) {
            hear(c, bytes[i]);
        }
        if (got <= 0) {
            close_fd(&c->err);
        }
    }
}

static int ended(child *c, double wait_s)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    const double nap_s = 2e-3;
    double waited = 0;
    for (;;) {
        int status;
        const pid_t got = waitpid(c->pid, &status, WNOHANG);
        if (got == c->pid || (got < 0 && errno != EINTR)) {
            c->code = got < 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return 1;
        }
        if (waited >= wait_s) {
            return 0;
        }
        vta_child_listen(c);
        (void)nanosleep(&nap, NULL);
        waited += nap_s;
    }
}

void vta_child_end(child *c, double grace_s)
{
    close_fd(&c->in);
    close_fd(&c->out);
    if (c->pid > 0 && c->owner == getpid()) { /* a fork has the pipes, and no child */
        const pid_t group = c->pid;
        static const int signals[] = {SIGTERM, SIGKILL};
        int over = ended(c, grace_s);
        for (int i = 0; i < 2 && !over; i++) {
            (void)kill(-group, signals[i]);
            over = ended(c, grace_s);
        }
        c->pid = 0;
    }
    vta_child_listen(c);
    close_fd(&c->err);
}
