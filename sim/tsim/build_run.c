/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the tools: output into the job's log, the end of which explains a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build_internal.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hold.h"

extern char **environ;

enum { ROOM_BYTES = 4 << 20 };
enum { LOG_LIMIT = 64 << 20, TAIL_BYTES = 600, TAIL_LINES = 6, ARG_LIMIT = 4096 };

void vta_build_arg(build_command *command, const char *fmt, ...)
{
    char text[BUILD_PATH + 256];
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text) {
        command->args.failed = true;
        return;
    }
    vta_str_append(&command->args, text, (size_t)length + 1);
}

void vta_build_words(build_command *command, const char *words)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        if (length > 0) {
            vta_build_arg(command, "%.*s", (int)length, words);
        }
        words += length + (words[length] == ' ');
    }
}

/* Pointers to the arguments, with the NULL at the end; owned. */
static char **arg_vector(const build_command *command)
{
    size_t count = 0, at = 0;
    char **argv = calloc(ARG_LIMIT + 1, sizeof *argv);
    while (argv != NULL && at < command->args.size && count < ARG_LIMIT) {
        argv[count++] = command->args.text + at;
        at += strlen(command->args.text + at) + 1;
    }
    return argv;
}

static vta_status start(build_job *job, const char *what, build_command *command)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    char **argv = command->args.failed ? NULL : arg_vector(command);
    if (argv == NULL || argv[0] == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        free(argv);
        return vta_no_memory(job->diag);
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, job->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t pid = 0;
    int result = posix_spawnattr_init(&attributes);
    if (result == 0) {
        vta_signals_of_child(&signals);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&attributes, &signals);
        result = posix_spawn(&pid, argv[0], &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    command->pid = result == 0 ? (int)pid : 0;
    vta_status status = VTA_OK;
    if (result != 0) {
        status = vta_fail(job->diag, VTA_IO, "cannot run '%s' for %s: %s", argv[0], what, strerror(result));
    }
    free(argv);
    return status;
}

/* The last lines of the log, for the sentence. */
static void log_tail(const build_job *job, char *text, size_t size)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    text[0] = '\0';
    if (vta_file_read(job->log, LOG_LIMIT, &bytes, &count, NULL) != VTA_OK) {
        return;
    }
    size_t begin = count, lines = 0;
    while (begin > 0 && count - begin < TAIL_BYTES && lines <= TAIL_LINES) {
        begin--;
        lines += bytes[begin] == '\n';
    }
    (void)snprintf(text, size, "%s", (const char *)bytes + begin + (begin < count && bytes[begin] == '\n'));
    for (size_t end = strlen(text); end > 0 && text[end - 1] == '\n'; end--) {
        text[end - 1] = '\0';
    }
    free(bytes);
}

/* True if a signal that ends the process waits for the build's end (vta_hold_signals). */
static bool ends_process(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t waiting;
    bool ends = false;
    for (size_t i = 0; sigpending(&waiting) == 0 && i < sizeof ending / sizeof ending[0]; i++) {
        struct sigaction action;
        ends = ends || (sigismember(&waiting, ending[i]) == 1 && sigaction(ending[i], NULL, &action) == 0 &&
                        action.sa_handler != SIG_IGN);
    }
    return ends;
}

/* Ends a tool and what it has started. */
static void end_tool(int pid)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    const size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    text[size] = '\0';
    (void)kill((pid_t)pid, SIGTERM);
    char *end = text;
    for (long child = strtol(text, &end, 10); child > 0; child = strtol(end, &end, 10)) {
        (void)kill((pid_t)child, SIGTERM);
    }
}

/* Says every `report_every` seconds that the build goes on, until the process ends; a signal that ends us
 * ends it first. Where the kernel has no pidfd, nothing is said. */
static void report_until_end(build_job *job, const char *what, int pid)
{
    enum { SLICE_MS = 200 };
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd process = {.fd = fd, .events = POLLIN};
    bool over = fd < 0;
    bool ended = false;
    while (!over) {
        const int ready = poll(&process, 1, SLICE_MS);
        over = ready > 0 || (ready < 0 && errno != EINTR);
        if (ready == 0 && !ended && ends_process()) {
            end_tool(pid);
            ended = true;
        }
        if (ready == 0 && job->progress != NULL && vta_now() - job->reported >= job->report_every) {
            job->reported = vta_now();
            vta_build_say(job, "still building the %s simulator of '%s' (%s): %.0f s so far", job->kind,
                          job->config->name, what, job->reported - job->began);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* 0 where the folder of the build takes a file of ROOM_BYTES; else the error. Verilator does not look at its
 * own writes, so that a full disk is a mistake in what it wrote to the tool that comes next. */
static int missing_room(const build_job *job)
{
    char path[BUILD_PATH];
    const bool fits = vta_build_path(path, "%s/room", job->work);
    const int file = fits ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (file < 0) {
        return fits ? errno : 0;
    }
    int error;
    do {
        error = posix_fallocate(file, 0, ROOM_BYTES);
    } while (error == EINTR);
    (void)close(file);
    (void)unlink(path);
    return error;
}

static vta_status fail_tool(build_job *job, const char *what)
{
    char tail[TAIL_BYTES + 8];
    const int error = missing_room(job);
    log_tail(job, tail, sizeof tail);
    return error != 0
               ? vta_fail(job->diag, VTA_IO, "%s failed, and '%s' takes no more: %s; is the disk full?", what,
                          job->work, strerror(error))
               : vta_fail(job->diag, VTA_IO, "%s failed; the log is '%s' and ends with:\n%s", what, job->log,
                          tail);
}

static vta_status finish(build_job *job, const char *what, build_command *command)
{
    int result = 0;
    report_until_end(job, what, command->pid);
    pid_t pid = 0;
    do {
        pid = waitpid((pid_t)command->pid, &result, 0);
    } while (pid < 0 && errno == EINTR);
    command->pid = 0;
    if (pid < 0) {
        return vta_fail(job->diag, VTA_IO, "cannot wait for %s: %s", what, strerror(errno));
    }
    if (ends_process() ||
        (WIFSIGNALED(result) && (WTERMSIG(result) == SIGINT || WTERMSIG(result) == SIGTERM))) {
        return vta_fail(job->diag, VTA_INTERRUPTED, "interrupted while %s", what);
    }
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0) {
        return fail_tool(job, what);
    }
    return VTA_OK;
}

vta_status vta_build_run(build_job *job, const char *what, build_command *commands, uint32_t count,
                         uint32_t parallel)
{
    vta_status status = VTA_OK;
    uint32_t started = 0, finished = 0;
    while (finished < started || (status == VTA_OK && started < count)) {
        if (status == VTA_OK && started < count && started - finished < parallel) {
            status = start(job, what, &commands[started]);
            started += commands[started].pid != 0;
            continue;
        }
        const vta_status one = finish(job, what, &commands[finished++]);
        status = status == VTA_OK ? one : status;
    }
    for (uint32_t i = 0; i < count; i++) {
        vta_str_free(&commands[i].args);
    }
    return status;
}

bool vta_build_path(char *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(out, BUILD_PATH, fmt, args);
    va_end(args);
    return length >= 0 && length < BUILD_PATH;
}

void vta_build_say(const build_job *job, const char *fmt, ...)
{
    if (job->progress != NULL) {
        char line[BUILD_PATH + 256];
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(line, sizeof line, fmt, args);
        va_end(args);
        job->progress(job->context, line);
    }
}
