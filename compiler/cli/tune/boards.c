/* SPDX-License-Identifier: Apache-2.0
 *
 * Boards that time networks. See boards.h.
 */
#include "boards.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "self.h"
#include "stages.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/kernels.h"
#include "vta/remote.h"

enum { PATH = 4200, MAX_ANSWER = 1 << 26, FIRST_TIMEOUT = 120, WHY = 1024 };

/* Time limit of a trial as a multiple of the standard network's time. */
static const double patience = 5.0;

typedef enum board_state {
    BOARD_NEW,     /* it times the standard network next */
    BOARD_PROVING, /* it does */
    BOARD_IDLE,
    BOARD_BUSY,
    BOARD_OUT
} board_state;

typedef struct tuning_board {
    const char *uri;
    board_state state;
    pid_t pid;
    uint32_t number;       /* of the caller's network */
    double begin, limit_s; /* of what runs */
    double standard_s;     /* from start to end */
    double *costs;         /* of the standard network */
    double whole;          /* seconds of what was timed last */
    char out[PATH];
} tuning_board;

struct cli_boards {
    const cli_tuning *t;
    const char *standard;
    tuning_board *items;
    uint32_t count;
    double *reference; /* costs of the standard network on the first board that timed it; NULL: none did */
    char why[WHY];
};

static vta_status begin_run(cli_boards *b, tuning_board *one, const char *path, double limit_s,
                            board_state state, vta_diag *diag)
{
    cli_bench_words words;
    cli_bench_words_of(b->t, path, one->uri, &words);
    VTA_TRY(cli_start_self(words.words, one->out, &one->pid, diag));
    one->begin = vta_now();
    one->limit_s = limit_s;
    one->state = state;
    return VTA_OK;
}

/* A driver compiles the kernels of each trial; those of the standard network it may have had before. */
static double limit_of(const cli_boards *b, const tuning_board *one)
{
    return b->t->offload.kernels != NULL ? FIRST_TIMEOUT : patience * (1.0 + one->standard_s);
}

/* Kernels of a host run where its processor is: here, without a device, or behind an agent; those of another
 * device run there. */
static vta_status check_uri(const cli_tuning *t, const char *uri, vta_diag *diag)
{
    const bool good = t->offload.kernels != NULL ? vta_kernels_is(uri) : vta_remote_is(uri);
    if (!good) {
        return vta_fail(
            diag, VTA_INVALID,
            "'--device %s': a host's kernels are timed here, without '--device', or on a board by "
            "ssh://[USER@]HOST; with '--target vta' it may be any device",
            uri);
    }
    return VTA_OK;
}

vta_status cli_boards_open(const cli_tuning *t, const char *standard, cli_boards **out, vta_diag *diag)
{
    size_t at = 0;
    uint32_t count = 0;
    *out = NULL;
    for (const char *uri; (uri = cli_next(t->args, "--device", &at)) != NULL; count++) {
        VTA_TRY(check_uri(t, uri, diag));
    }
    cli_boards *b = calloc(1, sizeof *b);
    *out = b;
    if (b == NULL || (b->items = calloc((size_t)count + 1, sizeof *b->items)) == NULL) {
        return vta_no_memory(diag);
    }
    b->t = t;
    b->standard = standard;
    b->count = count;
    at = 0;
    for (uint32_t i = 0; i < count; i++) {
        tuning_board *one = &b->items[i];
        *one = (tuning_board){.uri = cli_next(t->args, "--device", &at),
                              .costs = calloc(t->tasks.items.count + 1, sizeof *one->costs)};
        (void)snprintf(one->out, sizeof one->out, "%s/board%u.txt", t->folder, i);
        if (one->costs == NULL) {
            return vta_no_memory(diag);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        VTA_TRY(begin_run(b, &b->items[i], standard, FIRST_TIMEOUT, BOARD_PROVING, diag));
    }
    return VTA_OK;
}

/* A hung ssh has a process group of its own, and nobody else ends it. */
static void end_children(pid_t pid)
{
    char path[64];
    int child;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%d", &child) == 1) {
        (void)kill(getpgid(child) == child ? -child : child, SIGKILL);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void end_run(tuning_board *one)
{
    if (one->pid > 0) {
        (void)kill(one->pid, SIGSTOP); /* so that no child comes or goes meanwhile */
        end_children(one->pid);
        (void)kill(-one->pid, SIGKILL);
        while (waitpid(one->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        one->pid = 0;
    }
    (void)unlink(one->out);
}

void cli_boards_close(cli_boards *b)
{
    for (uint32_t i = 0; b != NULL && i < b->count; i++) {
        end_run(&b->items[i]);
        free(b->items[i].costs);
    }
    if (b != NULL) {
        free(b->items);
    }
    free(b);
}

static uint32_t count_of(const cli_boards *b, board_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        count += b->items[i].state == state;
    }
    return count;
}

uint32_t cli_boards_idle(const cli_boards *b)
{
    return count_of(b, BOARD_IDLE);
}

uint32_t cli_boards_alive(const cli_boards *b)
{
    return b->count - count_of(b, BOARD_OUT);
}

const char *cli_boards_why(const cli_boards *b)
{
    return b->why;
}

vta_status cli_boards_give(cli_boards *b, const char *path, uint32_t number, vta_diag *diag)
{
    for (uint32_t i = 0; i < b->count; i++) {
        tuning_board *one = &b->items[i];
        if (one->state == BOARD_IDLE) {
            one->number = number;
            return begin_run(b, one, path, limit_of(b, one), BOARD_BUSY, diag);
        }
    }
    return vta_fail(diag, VTA_BUSY, "no board waits");
}

/* The sentence that `vtac bench --json` ended with, without the name of our own file. */
static void read_reason(const tuning_board *one, char *why)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    (void)snprintf(why, WHY, "it timed nothing");
    if (vta_file_read(one->out, MAX_ANSWER, &bytes, &size, NULL) != VTA_OK) {
        return;
    }
    const char *begin = memchr(bytes, '{', size);
    cJSON *root = begin != NULL ? cJSON_Parse(begin) : NULL;
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
    const char *own = text != NULL ? strstr(text, ".so: ") : NULL;
    if (text != NULL) {
        (void)snprintf(why, WHY, "%s", own != NULL ? own + strlen(".so: ") : text);
    }
    cJSON_Delete(root);
    free(bytes);
}

/* True if the board's current measurement is over; *good: it gave times. */
static bool is_over(cli_boards *b, tuning_board *one, double *costs, bool *good)
{
    int status = 0;
    vta_diag diag = {0};
    *good = false;
    const pid_t got = waitpid(one->pid, &status, WNOHANG);
    if (got == one->pid) {
        (void)kill(-one->pid, SIGKILL); /* what it left behind */
        one->pid = 0;
        *good = WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
                cli_bench_times(b->t, one->out, costs, &one->whole, &diag) == VTA_OK;
        if (!*good) {
            read_reason(one, b->why);
        }
    } else if (vta_now() - one->begin > one->limit_s) {
        end_run(one);
        (void)snprintf(b->why, sizeof b->why, "it did not answer within %.0f s", one->limit_s);
    } else {
        return false;
    }
    return true;
}

static void leave_out(const cli_boards *b, tuning_board *one)
{
    one->state = BOARD_OUT;
    cli_stages_hide();
    cli_say("vtac tune: '--device %s' is left out: %s\n", one->uri, b->why);
}

/* The standard network is over. */
static void finish_standard(cli_boards *b, tuning_board *one, bool good)
{
    one->standard_s = vta_now() - one->begin;
    one->state = good ? BOARD_IDLE : BOARD_OUT;
    if (good && b->reference == NULL) {
        b->reference = one->costs;
    }
    if (!good) {
        leave_out(b, one);
    }
}

/* Scales a board's costs to seconds of the first board. */
static void scale_costs(const cli_boards *b, const tuning_board *one, double *costs)
{
    for (size_t i = 0; i < b->t->tasks.items.count; i++) {
        if (one->costs[i] > 0.0 && b->reference[i] > 0.0) {
            costs[i] *= b->reference[i] / one->costs[i];
        }
    }
}

bool cli_boards_take(cli_boards *b, uint32_t *number, bool *timed, double *costs)
{
    for (uint32_t i = 0; i < b->count; i++) {
        tuning_board *one = &b->items[i];
        bool good = false;
        vta_diag diag = {0};
        if (one->state == BOARD_NEW &&
            begin_run(b, one, b->standard, limit_of(b, one), BOARD_PROVING, &diag) != VTA_OK) {
            (void)snprintf(b->why, sizeof b->why, "%s", diag.text);
            finish_standard(b, one, false);
        } else if (one->state == BOARD_PROVING && is_over(b, one, costs, &good)) {
            if (good && b->reference != one->costs) {
                memcpy(one->costs, costs, b->t->tasks.items.count * sizeof *costs);
            }
            finish_standard(b, one, good);
        } else if (one->state == BOARD_BUSY && is_over(b, one, costs, timed)) {
            one->state = *timed ? BOARD_IDLE : BOARD_NEW;
            *number = one->number;
            if (*timed) {
                scale_costs(b, one, costs);
            }
            return true;
        }
    }
    return false;
}

vta_status cli_boards_time(cli_boards *b, const char *path, double *costs, double *whole, vta_diag *diag)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    tuning_board *one = b->items;
    bool good = false;
    while (one < b->items + b->count && one->state == BOARD_OUT) {
        one++;
    }
    if (one == b->items + b->count) {
        return vta_fail(diag, VTA_IO, "no board is left, of those that '--device' names: %s", b->why);
    }
    VTA_TRY(begin_run(b, one, path, limit_of(b, one), BOARD_BUSY, diag));
    while (!is_over(b, one, costs, &good)) {
        (void)nanosleep(&pause, NULL);
    }
    one->state = BOARD_IDLE;
    *whole = one->whole;
    if (!good) {
        leave_out(b, one);
        return vta_fail(diag, VTA_IO, "no board is left, of those that '--device' names: %s", b->why);
    }
    return VTA_OK;
}
