/* SPDX-License-Identifier: Apache-2.0
 *
 * What a verb stands on: the program vtac, with its terminal and its signals, or, as a guest, another program
 * that called libvtac. A verb prints, shows progress and makes temporary files by these functions alone, so
 * that a guest leaves the streams, the signals and the terminal of its host as they are.
 */
#ifndef VTAC_CLI_GROUND_H
#define VTAC_CLI_GROUND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vta/status.h"
#include "vta/str.h"
#include "vtac/progress.h"
#include "vtac/temporary.h"

enum { CLI_MAX_TEMPORARY = 8, CLI_MAX_REMARKS = 16 };

typedef struct cli_ground {
    bool guest;
    void (*report)(void *context, const char *line); /* guest: what is said beside the answer; NULL: nobody */
    vtac_progress progress;                          /* guest: `at` may be NULL */
    void *context;                                   /* of `report` */
    pid_t process;                                   /* guest: of its host; no fork of it calls the host */
    vta_str answer, line;                            /* guest: what was printed; what is being said */
    vta_diag failure;                                /* guest: why it failed */
    bool ended;                                      /* guest: its host wants no more */
    void (*stop)(void *what);                        /* guest: what to call then, */
    void *what;                                      /* and with what */
    char temporary[CLI_MAX_TEMPORARY][VTAC_TEMPORARY_PATH]; /* in the order in which they were made */
    volatile sig_atomic_t temporary_count;
    uint64_t told[CLI_MAX_REMARKS]; /* hashes of what cli_say_once has said */
    uint32_t told_count;
} cli_ground;

/* Ground of the calling thread: the program's, unless the thread has set its own. */
cli_ground *cli_here(void);
/* NULL: the program's again. */
void cli_stand_on(cli_ground *ground);

/* Prints the verb's answer on standard output. A text that %s inserts becomes one line that is fit for a
 * terminal (format.h); cli_put writes a text of several lines. */
__attribute__((format(printf, 1, 2))) void cli_print(const char *fmt, ...);
void cli_put(const char *text);
/* Writes a piece of a text that cli_format made. */
void cli_put_made(const char *text, size_t size);
void cli_flush(void);
/* Writes all output of the program; errno of the first write that failed, 0: none. */
int cli_output_error(void);
/* Prints remarks on standard error, in whole lines; %s as above. */
__attribute__((format(printf, 1, 2))) void cli_say(const char *fmt, ...);
/* The same for a line that a verb may have a reason for more than once: it is said the first time. */
__attribute__((format(printf, 1, 2))) void cli_say_once(const char *fmt, ...);

/* Asks a guest's host whether to go on; VTA_INTERRUPTED where it does not. Always VTA_OK in the program. */
vta_status cli_go_on(vta_diag *diag);

#endif
