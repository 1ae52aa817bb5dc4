/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of numbers with names.
 */
#include "space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

vtac_schedule_space *vtac_space_new(const vtac_lower *l, const char *kernel, const char *const *names)
{
    vtac_schedule_space *s = l->program->schedules != NULL ? calloc(1, sizeof *s) : NULL;
    if (s == NULL) {
        return NULL;
    }
    s->kernel = kernel;
    s->step = l->node->name;
    while (s->width < VTAC_SPACE_NUMBERS && names[s->width] != NULL) {
        s->names[s->width] = names[s->width];
        s->width++;
    }
    return s;
}

void vtac_space_add(vtac_schedule_space *s, const int64_t *numbers, double guess)
{
    if (s->count == VTAC_MAX_POINTS) {
        return;
    }
    char *text = s->points[s->count];
    size_t size = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < s->width && size < VTAC_POINT_TEXT; i++) {
        s->numbers[s->count][i] = numbers[i];
        size += (size_t)snprintf(text + size, VTAC_POINT_TEXT - size, "%s%s=%" PRId64, i > 0 ? " " : "",
                                 s->names[i], numbers[i]);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (strcmp(s->points[i], text) == 0) {
            return;
        }
    }
    s->guesses[s->count++] = guess;
}

bool vtac_space_ask(const vtac_lower *l, vtac_schedule_space *s, int64_t *numbers)
{
    const vtac_kernel_space space = {.kernel = s->kernel,
                                     .shape = s->shape,
                                     .step = s->step,
                                     .points = (const char(*)[VTAC_POINT_TEXT])s->points,
                                     .guesses = s->guesses,
                                     .count = s->count};
    const uint32_t point = vtac_schedule_pick(l->program->schedules, &space);
    memcpy(numbers, s->numbers[point], s->width * sizeof *numbers);
    free(s);
    return point != 0;
}
