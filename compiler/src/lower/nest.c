/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of kernels that have no space of their own: what vtac/loop.h may make of the finished nest.
 */
#include "nest.h"

#include <inttypes.h>
#include <stdio.h>

#include "vtac/schedules.h"

enum { MOST = 84, MOST_LOOPS = 6, SHAPE = 192 };

/* The nest but for its name, as a number. */
static bool hash_nest(const vtac_kernel *k, uint64_t *hash)
{
    vta_str text = {0};
    vtac_kernel_print(k, &text);
    const bool good = !text.failed && text.text != NULL;
    const char *at = good ? strchr(text.text, '\n') : NULL;
    *hash = UINT64_C(0xcbf29ce484222325);
    for (; at != NULL && *at != '\0'; at++) {
        *hash = (*hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    vta_str_free(&text);
    return good;
}

static bool describe(const vtac_step *step, char shape[SHAPE])
{
    uint64_t hash;
    int64_t extents[MOST_LOOPS];
    const uint32_t count = vtac_nest_extents(&step->kernel, extents, MOST_LOOPS);
    if (!hash_nest(&step->kernel, &hash)) {
        return false;
    }
    int size = snprintf(shape, SHAPE, "%s loops", step->op);
    for (uint32_t i = 0; i < count && size < SHAPE; i++) {
        size += snprintf(shape + size, (size_t)(SHAPE - size), "%s%" PRId64, i > 0 ? "x" : "", extents[i]);
    }
    size += size < SHAPE ? snprintf(shape + size, (size_t)(SHAPE - size), " body%016" PRIx64, hash) : 0;
    return size < SHAPE;
}

vta_status vtac_nest_schedule_step(vtac_program *p, vtac_step *step, vta_diag *diag)
{
    vtac_nest_schedule schedules[MOST];
    char points[MOST][VTAC_POINT_TEXT];
    double guesses[MOST];
    char shape[SHAPE];
    if (p->schedules == NULL || p->level == 0 || step->kernel.failed || step->kernel.body == NULL) {
        return VTA_OK;
    }
    const uint32_t count = vtac_nest_schedules(&step->kernel, schedules, MOST);
    if (count < 2 || !describe(step, shape)) {
        return VTA_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        const vtac_nest_schedule *s = &schedules[i];
        (void)snprintf(points[i], sizeof points[i],
                       "swap=%" PRId64 " blocked=%" PRId64 " unrolled=%" PRId64 " fused=%d parallel=%d",
                       s->swap, s->blocked, s->unrolled, s->fused, s->parallel);
        guesses[i] = 1.0 + 0.01 * (double)i; /* small changes first */
    }
    const vtac_kernel_space space = {.kernel = "nest",
                                     .shape = shape,
                                     .step = step->name,
                                     .points = (const char(*)[VTAC_POINT_TEXT])points,
                                     .guesses = guesses,
                                     .count = count};
    const uint32_t point = vtac_schedule_pick(p->schedules, &space);
    return point > 0 ? vtac_nest_apply(&step->kernel, &schedules[point], diag) : VTA_OK;
}
