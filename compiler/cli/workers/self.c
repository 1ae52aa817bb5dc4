/* SPDX-License-Identifier: Apache-2.0
 *
 * This program, run by itself. See self.h.
 */
#include "self.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "temporary.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hold.h"

extern char **environ;

enum { PROGRAM = 4096 };

/* Waits, for so long; -1 where it had to be ended. */
static int wait_for(pid_t pid, double timeout_s)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    const double end = vta_now() + timeout_s;
    int status = 0;
    for (;;) {
        const pid_t got = waitpid(pid, &status, timeout_s > 0 ? WNOHANG : 0);
        if (got == pid) {
            return status;
        }
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (timeout_s > 0 && vta_now() > end) {
            break;
        }
        if (timeout_s > 0) {
            (void)nanosleep(&pause, NULL);
        }
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return -1;
}

char **cli_environment_of_no_rank(void)
{
    static const char *const ranks[] = {"OMPI_", "PMIX_", "PMI_"};
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **out = calloc(count + 2, sizeof *out);
    for (size_t i = 0, n = 0; out != NULL && i < count; i++) {
        bool skip = false;
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            skip = skip || strncmp(environ[i], ranks[k], strlen(ranks[k])) == 0;
        }
        if (!skip) {
            out[n++] = environ[i];
        }
    }
    return out;
}

/* In the process of a guest's child: the verb, and what it printed into the file. */
static int be_the_program(const char *const *words, const char *out)
{
    cli_ground ground = {.guest = true};
    cli_args args = {0};
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    cli_stand_on(&ground);
    const cli_verb *verb = cli_verb_find(words[1]);
    int status = cli_parse(verb, count - 2, (char **)(uintptr_t)(words + 2), &args);
    status = status == CLI_OK ? cli_do_verb(verb, &args) : status;
    const char *text = status == CLI_OK ? ground.answer.text : ground.failure.text;
    FILE *file = fopen(out, "we");
    const bool written = file != NULL && fputs(text != NULL ? text : "", file) >= 0;
    const bool closed = file != NULL && fclose(file) == 0;
    cli_temporary_remove_all();
    return status == CLI_OK && !(written && closed) ? CLI_FAILED : status;
}

/* A guest's host is another program: a copy of this process does the verb. */
static vta_status start_copy(const char *const *words, const char *out, bool own_group, pid_t *pid,
                             vta_diag *diag)
{
    sigset_t was;
    vta_hold_signals(&was);
    const pid_t leader = getpid();
    *pid = fork();
    if (*pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (own_group) {
            (void)setpgid(0, 0);
        }
        for (int number = 1; number < NSIG; number++) { /* handlers are the host's */
            (void)signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL);
        }
        vta_release_signals(&was);
        _exit(getppid() == leader ? be_the_program(words, out) : CLI_FAILED);
    }
    const int error = errno;
    vta_release_signals(&was);
    return *pid > 0 ? VTA_OK : vta_fail(diag, VTA_IO, "cannot start a process: %s", strerror(error));
}

static vta_status start_program(const char *program, const char *const *words, const char *out,
                                bool own_group, pid_t *pid, vta_diag *diag)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **environment = cli_environment_of_no_rank();
    if (environment == NULL) {
        return vta_no_memory(diag);
    }
    if (posix_spawn_file_actions_init(&actions) != 0) {
        free(environment);
        return vta_no_memory(diag);
    }
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    (void)posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, own_group ? POSIX_SPAWN_SETPGROUP : 0);
    const int error =
        posix_spawn(pid, program, &actions, &attributes, (char *const *)(uintptr_t)words, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return error == 0 ? VTA_OK : vta_fail(diag, VTA_IO, "cannot run '%s': %s", program, strerror(error));
}

static vta_status start_process(const char *const *words, const char *out, bool own_group, pid_t *pid,
                                vta_diag *diag)
{
    if (cli_here()->guest) {
        VTA_TRY(cli_go_on(diag));
        return start_copy(words, out, own_group, pid, diag);
    }
    char program[PROGRAM];
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size < 0) {
        return vta_fail(diag, VTA_IO, "cannot tell where this program is (/proc/self/exe)");
    }
    program[size] = '\0';
    return start_program(program, words, out, own_group, pid, diag);
}

vta_status cli_run_command(const char *command, const char *file, const char *out, vta_diag *diag)
{
    vta_str line = {0};
    pid_t pid = 0;
    if (cli_here()->guest) {
        return vta_fail(diag, VTA_UNSUPPORTED, "commands are for the program vtac, not for its library");
    }
    vta_str_printf(&line, "%s \"$1\"", command);
    if (line.text == NULL) {
        return vta_no_memory(diag);
    }
    const char *const words[] = {"sh", "-c", line.text, "sh", file, NULL};
    vta_status status = start_program("/bin/sh", words, out, false, &pid, diag);
    if (status == VTA_OK && wait_for(pid, 0) == -1) {
        status = vta_fail(diag, VTA_IO, "'%s' was lost", command);
    }
    vta_str_free(&line);
    return status;
}

vta_status cli_start_self(const char *const *words, const char *out, pid_t *pid, vta_diag *diag)
{
    return start_process(words, out, true, pid, diag);
}

/* Reads the last words of a command; their file is removed with its folder. */
static vta_status why_it_failed(const char *verb, const char *out, vta_diag *diag)
{
    enum { MAX_SAID = 1 << 26, LENGTH = 400 };
    uint8_t *bytes = NULL;
    size_t end = 0;
    if (vta_file_read(out, MAX_SAID, &bytes, &end, NULL) != VTA_OK) {
        return vta_fail(diag, VTA_IO, "'vtac %s' failed", verb);
    }
    while (end > 0 && bytes[end - 1] == '\n') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && bytes[begin - 1] != '\n') {
        begin--;
    }
    static const char prefix[] = "vtac: "; /* it is named already */
    if (end - begin > sizeof prefix && memcmp(bytes + begin, prefix, sizeof prefix - 1) == 0) {
        begin += sizeof prefix - 1;
    }
    const int length = end - begin < LENGTH ? (int)(end - begin) : LENGTH;
    cJSON *root = cJSON_ParseWithLength((const char *)bytes + begin, end - begin); /* of --json */
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(error, "message");
    const vta_status status =
        cJSON_IsString(message)
            ? vta_fail(diag, VTA_IO, "'vtac %s' failed: %s", verb, message->valuestring)
            : vta_fail(diag, VTA_IO, "'vtac %s' failed: %.*s", verb, length, (const char *)bytes + begin);
    cJSON_Delete(root);
    free(bytes);
    return status;
}

vta_status cli_run_self(const char *const *words, const char *out, double timeout_s, vta_diag *diag)
{
    pid_t pid = 0;
    VTA_TRY(start_process(words, out, false, &pid, diag));
    const int status = wait_for(pid, timeout_s);
    if (status == -1) {
        return vta_fail(diag, VTA_TIMEOUT, "'vtac %s' did not end within %g s", words[1], timeout_s);
    }
    if (WIFSIGNALED(status)) {
        return vta_fail(diag, VTA_IO, "'vtac %s' was ended by signal %d", words[1], WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0 ? VTA_OK : why_it_failed(words[1], out, diag);
}

vta_status cli_words_of_model(const cli_args *args, const char *words[CLI_MAX_SELF_WORDS], size_t count,
                              vta_diag *diag)
{
    static const char *const options[] = {"--shape", "--weights", "--output-value", "--signature", "--calib"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        size_t at = 0;
        for (const char *value = cli_next(args, options[i], &at); value != NULL;
             value = cli_next(args, options[i], &at)) {
            if (count + 3 > CLI_MAX_SELF_WORDS) {
                return vta_fail(diag, VTA_RANGE, "%s is given too often", options[i]);
            }
            words[count++] = options[i];
            words[count++] = value;
        }
    }
    words[count] = NULL;
    return VTA_OK;
}

vta_status cli_self_cycles(const char *path, uint64_t *cycles, vta_diag *diag)
{
    enum { MAX_ANSWER = 1 << 26 };
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(path, MAX_ANSWER, &bytes, &size, diag));
    const char *begin = memchr(bytes, '{', size);
    cJSON *root = begin != NULL ? cJSON_Parse(begin) : NULL;
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(root, "cycles");
    *cycles = cJSON_IsNumber(number) ? (uint64_t)number->valuedouble : 0;
    cJSON_Delete(root);
    free(bytes);
    return *cycles > 0 ? VTA_OK : vta_fail(diag, VTA_UNSUPPORTED, "the run counted no cycles");
}
