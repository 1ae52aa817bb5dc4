/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel's schedules, where each is some numbers that have names: listed, then asked for.
 */
#ifndef VTAC_LOWER_SPACE_H
#define VTAC_LOWER_SPACE_H

#include "lower.h"

enum { VTAC_SPACE_NUMBERS = 6, VTAC_SPACE_SHAPE = 224 };

typedef struct vtac_schedule_space {
    const char *kernel, *step;
    const char *names[VTAC_SPACE_NUMBERS];
    char shape[VTAC_SPACE_SHAPE]; /* of the computation, from whoever lists */
    char points[VTAC_MAX_POINTS][VTAC_POINT_TEXT];
    double guesses[VTAC_MAX_POINTS];
    int64_t numbers[VTAC_MAX_POINTS][VTAC_SPACE_NUMBERS];
    uint32_t count, width;
} vtac_schedule_space;

/* Numbers of these names, up to six and a NULL, for the node's steps (`step` may be set to one of them). NULL
 * where nobody asks for other schedules, or there is no memory for them: the standard one will do. */
vtac_schedule_space *vtac_space_new(const vtac_lower *l, const char *kernel, const char *const *names);
/* The first one is the standard schedule; what is listed already is not listed again. */
void vtac_space_add(vtac_schedule_space *s, const int64_t *numbers, double guess);
/* Puts the numbers of the schedule to take in place of the standard one's; frees the space. Whether they are
 * others. */
bool vtac_space_ask(const vtac_lower *l, vtac_schedule_space *s, int64_t *numbers);

#endif
