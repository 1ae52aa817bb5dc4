/* SPDX-License-Identifier: Apache-2.0
 *
 * Boards that time networks for vtac tune, all at once and each at its own pace. A board first times the
 * standard network: its other times count as ratios to that, so that boards of different speeds can be
 * compared. Where a network hangs, is cut off, or fails, the board times the standard one again before it
 * gets another; one that cannot is left out.
 */
#ifndef VTAC_CLI_BOARDS_H
#define VTAC_CLI_BOARDS_H

#include "tuning.h"

typedef struct cli_boards cli_boards;

/* `standard`: the file of the standard network. Its boards are those of --device. */
vta_status cli_boards_open(const cli_tuning *t, const char *standard, cli_boards **out, vta_diag *diag);
/* Ends what still runs. */
void cli_boards_close(cli_boards *b);

/* Boards that wait for a network; those that are not left out. */
uint32_t cli_boards_idle(const cli_boards *b);
uint32_t cli_boards_alive(const cli_boards *b);

/* Times a network on the first board that is not left out, and waits for it; a board that fails is left out.
 * No other network may be at work. */
vta_status cli_boards_time(cli_boards *b, const char *path, double *costs, double *whole, vta_diag *diag);

/* Gives a network to a board that waits; `number` is the caller's. */
vta_status cli_boards_give(cli_boards *b, const char *path, uint32_t number, vta_diag *diag);

/* Looks for a network that is over: false where there is none yet. `costs` are the seconds of each task on
 * the first board that timed the standard network, or *timed is false. */
bool cli_boards_take(cli_boards *b, uint32_t *number, bool *timed, double *costs);

/* Reason why the last board was left out. */
const char *cli_boards_why(const cli_boards *b);

/* Words by which `vtac bench` times a network. Its answer has the seconds of each task, the sum over
 * the task's steps. */
enum { CLI_BENCH_WORDS = 16, CLI_BENCH_NUMBER = 24 };
typedef struct cli_bench_words {
    const char *words[CLI_BENCH_WORDS];
    char threads[CLI_BENCH_NUMBER], repeat[CLI_BENCH_NUMBER];
} cli_bench_words;
void cli_bench_words_of(const cli_tuning *t, const char *path, const char *device, cli_bench_words *out);
vta_status cli_bench_times(const cli_tuning *t, const char *out, double *costs, double *whole,
                           vta_diag *diag);

#endif
