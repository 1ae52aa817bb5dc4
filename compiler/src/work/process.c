/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker is a copy of this process behind a socket. It dies with its leader, and takes along what it
 * started.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "vta/hold.h"

enum { MAX_TEXT = 1 << 30 };

static bool write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        const ssize_t n = recv(fd, at, size, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool receive_result(int fd, vtac_work_result *out)
{
    *out = (vtac_work_result){0};
    if (!read_all(fd, &out->header, sizeof out->header) || out->header.size > MAX_TEXT) {
        return false;
    }
    out->text = malloc(out->header.size + 1);
    if (out->text == NULL || !read_all(fd, out->text, out->header.size)) {
        free(out->text);
        out->text = NULL;
        return false;
    }
    out->text[out->header.size] = '\0';
    return true;
}

static void serve_pieces(const vtac_work *w, int fd)
{
    vtac_work_result piece;
    while (receive_result(fd, &piece)) {
        vtac_work_result result;
        const bool good =
            vtac_work_do(w->fn, w->context, piece.header.number, piece.text, &result) == VTA_OK &&
            write_all(fd, &result.header, sizeof result.header) &&
            write_all(fd, result.text, result.header.size);
        free(piece.text);
        free(result.text);
        if (!good) {
            break;
        }
    }
}

static void become_worker(const vtac_work *w, int fd, pid_t leader)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)signal(ends[i], ends[i] == SIGPIPE ? SIG_IGN : SIG_DFL);
    }
    for (uint32_t i = 0; i < w->worker_count; i++) {
        if (w->workers[i].socket >= 0 && w->workers[i].socket != fd) {
            (void)close(w->workers[i].socket);
        }
    }
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == leader) {
        serve_pieces(w, fd);
    }
    _exit(0);
}

vta_status vtac_process_start(vtac_work *w, vtac_work_worker *worker, vta_diag *diag)
{
    int ends[2];
    const pid_t leader = getpid();
    *worker = (vtac_work_worker){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return vta_fail(diag, VTA_IO, "cannot speak to a worker: %s", strerror(errno));
    }
    sigset_t was;
    (void)fflush(NULL);
    vta_hold_signals(&was);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        become_worker(w, ends[1], leader);
    }
    const int error = errno;
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        vta_release_signals(&was);
        return vta_fail(diag, VTA_IO, "cannot start a worker: %s", strerror(error));
    }
    *worker = (vtac_work_worker){.socket = ends[0], .pid = pid};
    vta_release_signals(&was);
    return VTA_OK;
}

bool vtac_process_give(const vtac_work_worker *worker, const vtac_work_header *header, const char *piece)
{
    return write_all(worker->socket, header, sizeof *header) &&
           write_all(worker->socket, piece, header->size);
}

bool vtac_process_take(const vtac_work_worker *worker, vtac_work_result *out)
{
    return receive_result(worker->socket, out);
}

void vtac_process_end(vtac_work_worker *worker, char *why, size_t size)
{
    int status = 0;
    if (worker->busy && why == NULL) { /* nobody waits for it any more */
        (void)kill(-worker->pid, SIGKILL);
        (void)kill(worker->pid, SIGKILL);
    }
    (void)close(worker->socket);
    worker->socket = -1;
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    (void)kill(-worker->pid, SIGKILL); /* what it left behind */
    if (why != NULL && WIFSIGNALED(status)) {
        (void)snprintf(why, size, "its worker was ended by signal %d", WTERMSIG(status));
    } else if (why != NULL) {
        (void)snprintf(why, size, "its worker ended with status %d", WEXITSTATUS(status));
    }
}
