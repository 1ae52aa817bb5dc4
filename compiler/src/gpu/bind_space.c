/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of bound nests, as the tuner draws and records keep them. They are the same for every nest, since
 * each number is a bound: the binding takes what the nest allows. A record therefore holds for whatever tile
 * the nest itself was made with.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lower/space.h"
#include "bind.h"
#include "vta/fail.h"
#include "vta/hash.h"

enum { ITEMS = 256, LANES = 32, GROUP = 256, TILE = 8192, ARGUMENT_TEXT = 64 };

const vtac_bind_schedule vtac_bind_standard = {ITEMS, LANES, GROUP, TILE};

static const vtac_bind_schedule of_items[] = {
    {ITEMS, LANES, GROUP, TILE}, {1, LANES, GROUP, TILE},    {16, LANES, GROUP, TILE},
    {64, LANES, GROUP, TILE},    {1024, LANES, GROUP, TILE}, {4096, LANES, GROUP, TILE},
};

static const vtac_bind_schedule of_groups[] = {
    {ITEMS, LANES, GROUP, TILE}, {ITEMS, LANES, GROUP, 0},
    {ITEMS, LANES, GROUP, 2048}, {ITEMS, LANES, GROUP, 16384},
    {ITEMS, LANES, 128, TILE},   {ITEMS, LANES, 128, 0},
    {ITEMS, LANES, 64, TILE},    {ITEMS, LANES, 64, 0},
    {ITEMS, 64, GROUP, TILE},    {ITEMS, 64, GROUP, 0},
    {ITEMS, 64, 128, TILE},      {ITEMS, 64, 64, 0},
    {ITEMS, 16, GROUP, TILE},    {ITEMS, 16, GROUP, 0},
    {ITEMS, 16, 128, TILE},      {ITEMS, 16, 64, TILE},
    {ITEMS, 16, 64, 0},          {ITEMS, 8, GROUP, TILE},
    {ITEMS, 8, GROUP, 0},        {ITEMS, 8, 128, TILE},
    {ITEMS, 8, 64, TILE},        {ITEMS, 8, 64, 0},
};

uint32_t vtac_bind_schedules(bool groups, const vtac_bind_schedule **out)
{
    *out = groups ? of_groups : of_items;
    return groups ? sizeof of_groups / sizeof of_groups[0] : sizeof of_items / sizeof of_items[0];
}

/* The step's operator, its first argument that is written, and all arguments as a number. */
static void describe(const vtac_step *step, char shape[VTAC_SPACE_SHAPE])
{
    const vtac_kernel *k = &step->kernel;
    const vtac_buffer *written = NULL;
    uint64_t hash = VTA_HASH_START;
    for (size_t i = 0; i < k->buffer_count; i++) {
        const vtac_buffer *b = k->buffers[i];
        if (b->space == VTAC_BUFFER_ARGUMENT) {
            char text[ARGUMENT_TEXT];
            (void)snprintf(text, sizeof text, "%s[%" PRId64 "]%d", vtac_dtype_name(b->dtype), b->elements,
                           b->written);
            hash = vta_hash_text(hash, text);
            written = b->written && written == NULL ? b : written;
        }
    }
    (void)snprintf(shape, VTAC_SPACE_SHAPE, "%.60s to %s[%" PRId64 "] arguments%016" PRIx64, step->op,
                   written != NULL ? vtac_dtype_name(written->dtype) : "none",
                   written != NULL ? written->elements : 0, hash);
}

static void list_points(vtac_schedule_space *space, bool groups)
{
    const vtac_bind_schedule *all;
    const uint32_t count = vtac_bind_schedules(groups, &all);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t numbers[] = {all[i].lanes, all[i].group, all[i].tile};
        vtac_space_add(space, groups ? numbers : &all[i].items, 1.0 + 0.01 * (double)i);
    }
}

static vtac_bind_schedule ask_schedule(vtac_program *p, const vtac_step *step, bool groups)
{
    static const char *const items[] = {"items", NULL};
    static const char *const three[] = {"lanes", "group", "tile", NULL};
    const vtac_node named = {.name = step->name};
    const vtac_lower lower = {.program = p, .graph = p->graph, .node = &named};
    vtac_bind_schedule how = vtac_bind_standard;
    int64_t chosen[VTAC_SPACE_NUMBERS];
    vtac_schedule_space *space =
        p->level > 0 ? vtac_space_new(&lower, groups ? "gpu_groups" : "gpu_items", groups ? three : items)
                     : NULL;
    if (space == NULL) {
        return how;
    }
    describe(step, space->shape);
    list_points(space, groups);
    if (vtac_space_ask(&lower, space, chosen)) {
        how = groups ? (vtac_bind_schedule){ITEMS, chosen[0], chosen[1], chosen[2]}
                     : (vtac_bind_schedule){chosen[0], LANES, GROUP, TILE};
    }
    return how;
}

vta_status vtac_bind_step(vtac_program *program, const vtac_step *step, bool groups, vtac_bound *out,
                          vta_diag *diag)
{
    const vtac_bind_schedule how = ask_schedule(program, step, groups);
    return vtac_bind(&step->kernel, groups, &how, out, diag);
}
