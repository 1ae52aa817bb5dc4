/* SPDX-License-Identifier: Apache-2.0
 *
 * A command with pipes to its standard streams, in a process group of its own: Ctrl-C reaches us alone, and
 * we end it.
 */
#ifndef VTA_CHILD_H
#define VTA_CHILD_H

#include <sys/types.h>

#include "vta/status.h"

typedef struct child {
    pid_t pid, owner; /* 0: none; who started it */
    int in, out, err; /* our ends: we write `in` */
    int code;         /* after vta_child_end: exit status, 128 + signal */
    char words[512];  /* the last line that it wrote to its standard error */
    size_t word_count;
    char fresh; /* the next byte begins a line */
} child;

/* argv[0] is looked for in PATH. */
vta_status vta_child_start(child *c, char *const *argv, vta_diag *diag);

/* Takes what there is on its standard error, without waiting. */
void vta_child_listen(child *c);

/* Closes the pipes and, in the process that started it, waits for its end, `grace_s` long before each of
 * SIGTERM and SIGKILL. */
void vta_child_end(child *c, double grace_s);

#endif
