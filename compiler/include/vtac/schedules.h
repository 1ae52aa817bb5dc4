/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel is a computation and a schedule. Whoever makes a kernel lists the schedules that are legal for it,
 * its points, each a short text of names and numbers ("rows=1 columns=7 vectors=2 outside=0"), says which one
 * it would take, and asks. Nobody else can name a schedule that is not in the list.
 */
#ifndef VTAC_SCHEDULES_H
#define VTAC_SCHEDULES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { VTAC_POINT_TEXT = 96, VTAC_MAX_POINTS = 1024 };

typedef struct vtac_kernel_space {
    const char *kernel; /* what makes it: "conv_blocked" */
    const char *shape;  /* all of the computation that the schedule depends on */
    const char *step;   /* of this model, for measurements: the name of its step or layer */
    const char (*points)[VTAC_POINT_TEXT];
    const double *guesses; /* what the kernel itself thinks that each costs, or NULL */
    uint32_t count, standard;
} vtac_kernel_space;

/* `pick` gives the point to take. NULL instead of all this: the standard ones. */
typedef struct vtac_schedules {
    uint32_t (*pick)(void *context, const vtac_kernel_space *space);
    void *context;
} vtac_schedules;

/* True if a step of a program belongs to the kernel of step `of`: the kernel's own step, or a step that the
 * kernel adds under some schedules. Both names may carry fused operators behind a "+". */
static inline bool vtac_schedule_is_step(const char *name, const char *of)
{
    static const char *const beside[] = {".tiles", ".products",  ".rest",  ".pack", ".left",
                                         ".rows",  ".depthwise", ".right", ".start"};
    const size_t size = strlen(of);
    if (strncmp(name, of, size) != 0) {
        return false;
    }
    name += size;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        if (strncmp(name, beside[i], strlen(beside[i])) == 0) {
            name += strlen(beside[i]);
            break;
        }
    }
    return name[0] == '\0' || name[0] == '+';
}

static inline uint32_t vtac_schedule_pick(const vtac_schedules *schedules, const vtac_kernel_space *space)
{
    if (schedules == 0 || schedules->pick == 0) {
        return space->standard;
    }
    const uint32_t point = schedules->pick(schedules->context, space);
    return point < space->count ? point : space->standard;
}

#endif
