/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of kernels that have no space of their own: what vtac/loop.h may make of the finished nest.
 */
#include "nest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "space.h"
#include "vta/hash.h"

enum { MAX = 84, MAX_LOOPS = 6 };

/* The nest but for its name, as a number. */
static bool hash_nest(const vtac_kernel *k, uint64_t *hash)
{
    vta_str text = {0};
    vtac_kernel_print(k, &text);
    const bool good = !text.failed && text.text != NULL;
    const char *at = good ? strchr(text.text, '\n') : NULL;
    *hash = vta_hash_text(VTA_HASH_START, at != NULL ? at : "");
    vta_str_free(&text);
    return good;
}

static bool describe_space(const vtac_step *step, char shape[VTAC_SPACE_SHAPE])
{
    uint64_t hash;
    int64_t extents[MAX_LOOPS];
    const uint32_t count = vtac_nest_extents(&step->kernel, extents, MAX_LOOPS);
    if (!hash_nest(&step->kernel, &hash)) {
        return false;
    }
    int size = snprintf(shape, VTAC_SPACE_SHAPE, "%s loops", step->op);
    for (uint32_t i = 0; i < count && size < VTAC_SPACE_SHAPE; i++) {
        size += snprintf(shape + size, (size_t)(VTAC_SPACE_SHAPE - size), "%s%" PRId64, i > 0 ? "x" : "",
                         extents[i]);
    }
    size += size < VTAC_SPACE_SHAPE
                ? snprintf(shape + size, (size_t)(VTAC_SPACE_SHAPE - size), " body%016" PRIx64, hash)
                : 0;
    return size < VTAC_SPACE_SHAPE;
}

vta_status vtac_nest_schedule_step(const vtac_lower *l, vtac_step *step)
{
    static const char *const names[] = {"swap", "blocked", "unrolled", "fused", "parallel", NULL};
    vtac_nest_schedule schedules[MAX];
    int64_t chosen[VTAC_SPACE_NUMBERS];
    vtac_kernel *k = &step->kernel;
    if (l->program->schedules == NULL || l->program->level == 0 || k->failed || k->body == NULL) {
        return VTA_OK;
    }
    const uint32_t count = vtac_nest_schedules(k, schedules, MAX);
    vtac_schedule_space *space = count > 1 ? vtac_space_new(l, "nest", names) : NULL;
    if (space == NULL || !describe_space(step, space->shape)) {
        free(space);
        return VTA_OK;
    }
    space->step = step->name;
    for (uint32_t i = 0; i < count; i++) {
        const vtac_nest_schedule *s = &schedules[i];
        vtac_space_add(space, (const int64_t[]){s->swap, s->blocked, s->unrolled, s->fused, s->parallel},
                       1.0 + 0.01 * (double)i); /* small changes first */
    }
    if (!vtac_space_ask(l, space, chosen)) {
        return VTA_OK;
    }
    const vtac_nest_schedule taken = {chosen[0], chosen[1], chosen[2], chosen[3] != 0, chosen[4] != 0};
    return vtac_nest_apply(k, &taken, l->diag);
}
