/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a model can be tuned.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vtac/tune.h"

static vtac_task *find_task(vtac_tasks *t, const vtac_kernel_space *s)
{
    for (size_t i = 0; i < t->items.count; i++) {
        vtac_task *task = vta_vec_at(&t->items, i);
        if (strcmp(task->kernel, s->kernel) == 0 && strcmp(task->shape, s->shape) == 0 &&
            task->count == s->count) {
            return task;
        }
    }
    return NULL;
}

static const char *copy_text(vtac_tasks *t, const char *text)
{
    return vta_arena_string(&t->arena, text, strlen(text));
}

static vtac_task *add_task(vtac_tasks *t, const vtac_kernel_space *s)
{
    vtac_task task = {.kernel = copy_text(t, s->kernel),
                      .shape = copy_text(t, s->shape),
                      .count = s->count,
                      .standard = s->standard,
                      .best = s->standard,
                      .chosen = s->standard,
                      .steps = {.item_size = sizeof(const char *)}};
    char(*points)[VTAC_POINT_TEXT] = vta_arena_array(&t->arena, s->count, sizeof *points);
    task.cost = vta_arena_array(&t->arena, s->count, sizeof *task.cost);
    task.guesses = vta_arena_array(&t->arena, s->count, sizeof *task.guesses);
    if (points == NULL || task.cost == NULL || task.guesses == NULL || task.kernel == NULL ||
        task.shape == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        memcpy(points[i], s->points[i], sizeof points[i]);
        task.cost[i] = nan("");
        task.guesses[i] = s->guesses != NULL ? s->guesses[i] : 0.0;
    }
    task.points = (const char(*)[VTAC_POINT_TEXT])points;
    task.guesses = s->guesses != NULL ? task.guesses : NULL;
    t->items.item_size = sizeof task;
    return vta_vec_push(&t->items, &task);
}

/* Index of the chosen point in a space of the same shape. The space may list its points in another order, as
 * where a layer has a share of the memory for itself. */
static uint32_t chosen_in(const vtac_task *task, const vtac_kernel_space *space)
{
    const char *wanted = task->points[task->chosen];
    for (uint32_t p = 0; p < space->count; p++) {
        if (strcmp(space->points[p], wanted) == 0) {
            return p;
        }
    }
    return space->standard;
}

uint32_t vtac_tasks_pick(void *tasks, const vtac_kernel_space *space)
{
    vtac_tasks *t = tasks;
    vtac_task *task = find_task(t, space);
    task = task != NULL ? task : add_task(t, space);
    const char *step = copy_text(t, space->step);
    if (task == NULL || step == NULL) {
        t->failed = true;
        return space->standard;
    }
    for (size_t i = 0; i < task->steps.count; i++) {
        if (strcmp(*(const char **)vta_vec_at(&task->steps, i), step) == 0) {
            return chosen_in(task, space);
        }
    }
    t->failed = t->failed || vta_vec_push(&task->steps, &step) == NULL;
    return chosen_in(task, space);
}

void vtac_tasks_know(vtac_tasks *tasks, const vtac_record *record)
{
    vtac_known known = {.kernel = copy_text(tasks, record->kernel),
                        .shape = copy_text(tasks, record->shape),
                        .point = copy_text(tasks, record->point),
                        .cost = record->cost,
                        .min = record->cost};
    tasks->others.item_size = sizeof known;
    for (size_t i = 0; i < tasks->others.count; i++) {
        vtac_known *other = vta_vec_at(&tasks->others, i);
        if (known.shape != NULL && known.kernel != NULL && strcmp(other->shape, known.shape) == 0 &&
            strcmp(other->kernel, known.kernel) == 0) {
            known.min = other->min < known.min ? other->min : known.min;
            other->min = known.min;
        }
    }
    if (known.kernel == NULL || known.shape == NULL || known.point == NULL ||
        vta_vec_push(&tasks->others, &known) == NULL) {
        tasks->failed = true;
    }
}

void vtac_tasks_free(vtac_tasks *tasks)
{
    for (size_t i = 0; i < tasks->items.count; i++) {
        vta_vec_free(&((vtac_task *)vta_vec_at(&tasks->items, i))->steps);
    }
    vta_vec_free(&tasks->items);
    vta_vec_free(&tasks->others);
    vta_arena_free(&tasks->arena);
    *tasks = (vtac_tasks){0};
}

void vtac_task_measured(vtac_task *task, uint32_t point, double cost)
{
    double *known = &task->cost[point];
    task->tried += isnan(*known) ? 1 : 0;
    *known = isnan(*known) || cost < *known ? cost : *known;
    if (isnan(task->cost[task->best]) || task->cost[point] < task->cost[task->best]) {
        task->best = point;
    }
}
