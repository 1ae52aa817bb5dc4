/* SPDX-License-Identifier: Apache-2.0
 *
 * Tuners: which point of a task is tried next.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vtac/tune.h"

enum { FEATURES = 12, OF_SHAPE = 20, WARM = 8, ROUNDS = 40, PARENTS = 4, ATTEMPTS = 64, MAX_ROWS = 4096 };

const char *vtac_tuner_name(vtac_tuner tuner)
{
    static const char *const names[VTAC_TUNERS] = {"xgb", "ga", "random", "grid", "model"};
    return tuner < VTAC_TUNERS ? names[tuner] : NULL;
}

static uint64_t draw_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool is_open(const vtac_task *task, uint32_t point)
{
    return isnan(task->cost[point]);
}

static uint32_t any_point(const vtac_task *task, uint64_t *state)
{
    const uint32_t first = (uint32_t)(draw_random(state) % task->count);
    for (uint32_t i = 0; i < task->count; i++) {
        if (is_open(task, (first + i) % task->count)) {
            return (first + i) % task->count;
        }
    }
    return task->count;
}

static uint32_t first_open(const vtac_task *task)
{
    uint32_t i = 0;
    while (i < task->count && !is_open(task, i)) {
        i++;
    }
    return i;
}

static uint32_t by_guess(const vtac_task *task)
{
    uint32_t best = task->count;
    for (uint32_t i = 0; i < task->count; i++) {
        if (is_open(task, i) && (best == task->count || task->guesses[i] < task->guesses[best])) {
            best = i;
        }
    }
    return best;
}

/* The numbers of a text, in their order, zeros behind them; returns how many. */
static uint32_t some_numbers(const char *text, double *numbers, uint32_t room)
{
    uint32_t count = 0;
    while (*text != '\0' && count < room) {
        if (isdigit((unsigned char)*text)) {
            char *end;
            numbers[count++] = strtod(text, &end);
            text = end;
        } else {
            text++;
        }
    }
    for (uint32_t i = count; i < room; i++) {
        numbers[i] = 0.0;
    }
    return count;
}

/* Reads the numbers of a point. */
static uint32_t numbers_of(const char *point, double *numbers)
{
    return some_numbers(point, numbers, FEATURES);
}

/* The open point that is most like one, which may be none of the task's. */
static uint32_t nearest_point(const vtac_task *task, const double *wanted, uint32_t count)
{
    uint32_t best = task->count;
    double min = HUGE_VAL;
    for (uint32_t p = 0; p < task->count; p++) {
        double own[FEATURES];
        double far = 0.0;
        (void)numbers_of(task->points[p], own);
        for (uint32_t i = 0; i < count; i++) {
            far += fabs(log2(own[i] + 1) - log2(wanted[i] + 1));
        }
        if (is_open(task, p) && far < min) {
            min = far;
            best = p;
        }
    }
    return best;
}

/* ---- what other shapes of the same kernel know, in this search or in an old log */

static const char *best_elsewhere(const vtac_tasks *tasks, const vtac_task *task, uint32_t wanted)
{
    uint32_t count = 0;
    for (size_t i = 0; i < tasks->items.count; i++) {
        const vtac_task *other = vta_vec_at(&tasks->items, i);
        const bool knows = other != task && strcmp(other->kernel, task->kernel) == 0 && other->tried > 1 &&
                           isfinite(other->cost[other->best]);
        if (knows && count++ == wanted) {
            return other->points[other->best];
        }
    }
    for (size_t i = 0; i < tasks->others.count; i++) {
        const vtac_known *other = vta_vec_at(&tasks->others, i);
        if (strcmp(other->kernel, task->kernel) == 0 && other->cost <= other->min && count++ == wanted) {
            return other->point;
        }
    }
    return NULL;
}

/* First points of a search: points that were good elsewhere alternate with random ones. */
static uint32_t warm_up(const vtac_tasks *tasks, const vtac_task *task, uint64_t *state)
{
    uint32_t count = 0;
    while (best_elsewhere(tasks, task, count) != NULL) {
        count++;
    }
    if (count == 0 || draw_random(state) % 2 == 0) {
        return any_point(task, state);
    }
    double wanted[FEATURES];
    const uint32_t size =
        numbers_of(best_elsewhere(tasks, task, (uint32_t)(draw_random(state) % count)), wanted);
    const uint32_t point = nearest_point(task, wanted, size);
    return point < task->count ? point : any_point(task, state);
}

/* ---- ga: each number of a child is one of its parents', sometimes somebody else's */

/* One of the few best that were measured. */
static uint32_t pick_parent(const vtac_task *task, uint64_t *state)
{
    uint32_t best = task->count;
    for (int i = 0; i < PARENTS; i++) {
        for (int k = 0; k < ATTEMPTS; k++) {
            const uint32_t p = (uint32_t)(draw_random(state) % task->count);
            if (!is_open(task, p)) {
                best = best == task->count || task->cost[p] < task->cost[best] ? p : best;
                break;
            }
        }
    }
    return best == task->count || draw_random(state) % 3 == 0 ? task->best : best;
}

static uint32_t make_child(const vtac_task *task, uint64_t *state)
{
    double a[FEATURES];
    double b[FEATURES];
    double wanted[FEATURES];
    (void)numbers_of(task->points[pick_parent(task, state)], a);
    const uint32_t count = numbers_of(task->points[pick_parent(task, state)], b);
    double stranger[FEATURES];
    (void)numbers_of(task->points[draw_random(state) % task->count], stranger);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t whose = draw_random(state) % 5;
        wanted[i] = whose == 0 ? stranger[i] : whose < 3 ? a[i] : b[i];
    }
    return nearest_point(task, wanted, count);
}

/* ---- xgb: libxgboost's C interface, loaded when it is asked for */

typedef struct xgboost {
    int (*matrix)(const float *, uint64_t, uint64_t, float, void **);
    int (*info)(void *, const char *, const float *, uint64_t);
    int (*matrix_free)(void *);
    int (*create)(void *const *, uint64_t, void **);
    int (*set)(void *, const char *, const char *);
    int (*update)(void *, int, void *);
    int (*predict)(void *, void *, int, unsigned, int, uint64_t *, const float **);
    int (*destroy)(void *);
} xgboost;

static bool load_xgboost(xgboost *x)
{
    void *library = dlopen("libxgboost.so.0", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *to;
    } calls[] = {{"XGDMatrixCreateFromMat", &x->matrix}, {"XGDMatrixSetFloatInfo", &x->info},
                 {"XGDMatrixFree", &x->matrix_free},     {"XGBoosterCreate", &x->create},
                 {"XGBoosterSetParam", &x->set},         {"XGBoosterUpdateOneIter", &x->update},
                 {"XGBoosterPredict", &x->predict},      {"XGBoosterFree", &x->destroy}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *symbol = library != NULL ? dlsym(library, calls[i].name) : NULL;
        if (symbol == NULL) {
            return false;
        }
        memcpy(calls[i].to, &symbol, sizeof symbol);
    }
    return true;
}

/* Features that trees split by: the point's numbers and their product, the kernel's guess relative to the
 * standard point's, and the numbers of the shape. */
enum { COLUMNS = FEATURES + 2 + OF_SHAPE };
static void row_of(const char *shape, const char *point, float guess, float *row)
{
    double numbers[FEATURES];
    double of_shape[OF_SHAPE];
    double product = 1.0;
    (void)numbers_of(point, numbers);
    (void)some_numbers(shape, of_shape, OF_SHAPE);
    for (int i = 0; i < FEATURES; i++) {
        row[i] = (float)numbers[i];
        product *= numbers[i] > 0 ? numbers[i] : 1.0;
    }
    row[FEATURES] = (float)product;
    row[FEATURES + 1] = guess;
    for (int i = 0; i < OF_SHAPE; i++) {
        row[FEATURES + 2 + i] = (float)of_shape[i];
    }
}

static void row_of_task(const vtac_task *task, uint32_t point, float *row)
{
    const double *guesses = task->guesses;
    row_of(task->shape, task->points[point],
           guesses != NULL ? (float)log((guesses[point] + 1e-30) / (guesses[task->standard] + 1e-30)) : NAN,
           row);
}

/* Training data: measurements of this task and of other tasks of its kernel. Costs are relative to the
 * minimum of their shape. */
typedef struct lessons {
    float *rows, *labels;
    uint32_t count;
} lessons;

static void learn_task(lessons *l, const vtac_task *task)
{
    for (uint32_t p = 0; p < task->count && l->count < MAX_ROWS; p++) {
        if (isfinite(task->cost[p])) {
            row_of_task(task, p, l->rows + (size_t)l->count * COLUMNS);
            l->labels[l->count++] = (float)log(task->cost[p] / task->cost[task->best]);
        }
    }
}

static void learn_costs(lessons *l, const vtac_tasks *tasks, const vtac_task *task)
{
    learn_task(l, task);
    for (size_t i = 0; i < tasks->items.count; i++) {
        const vtac_task *other = vta_vec_at(&tasks->items, i);
        if (other != task && strcmp(other->kernel, task->kernel) == 0 && isfinite(other->cost[other->best])) {
            learn_task(l, other);
        }
    }
    for (size_t i = 0; i < tasks->others.count && l->count < MAX_ROWS; i++) {
        const vtac_known *other = vta_vec_at(&tasks->others, i);
        if (strcmp(other->kernel, task->kernel) == 0 && isfinite(other->cost)) {
            row_of(other->shape, other->point, NAN, l->rows + (size_t)l->count * COLUMNS);
            l->labels[l->count++] = (float)log(other->cost / other->min);
        }
    }
}

static bool train_booster(const xgboost *x, void *booster, void *matrix)
{
    static const char *const settings[][2] = {{"objective", "reg:squarederror"},
                                              {"max_depth", "3"},
                                              {"eta", "0.3"},
                                              {"nthread", "1"},
                                              {"verbosity", "0"},
                                              {"seed", "1"}};
    bool good = true;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        good = good && x->set(booster, settings[i][0], settings[i][1]) == 0;
    }
    for (int i = 0; i < ROUNDS && good; i++) {
        good = x->update(booster, i, matrix) == 0;
    }
    return good;
}

static uint32_t cheapest_point(const xgboost *x, const vtac_task *task, void *booster, const float *rows,
                               const uint32_t *points, uint64_t count)
{
    void *matrix = NULL;
    uint64_t got = 0;
    const float *costs = NULL;
    uint32_t best = task->count;
    float min = HUGE_VAL;
    if (x->matrix(rows, count, COLUMNS, NAN, &matrix) == 0 &&
        x->predict(booster, matrix, 0, 0, 0, &got, &costs) == 0 && got == count) {
        for (uint64_t i = 0; i < count; i++) {
            if (costs[i] < min) {
                min = costs[i];
                best = points[i];
            }
        }
    }
    if (matrix != NULL) {
        (void)x->matrix_free(matrix);
    }
    return best;
}

static uint32_t ask_trees(const xgboost *x, const lessons *l, const vtac_task *task, float *rows,
                          uint32_t *points)
{
    void *matrix = NULL;
    void *booster = NULL;
    uint32_t open = 0;
    uint32_t best = task->count;
    if (x->matrix(l->rows, l->count, COLUMNS, NAN, &matrix) == 0 &&
        x->info(matrix, "label", l->labels, l->count) == 0 && x->create(&matrix, 1, &booster) == 0 &&
        train_booster(x, booster, matrix)) {
        for (uint32_t p = 0; p < task->count; p++) {
            if (is_open(task, p)) {
                row_of_task(task, p, rows + (size_t)open * COLUMNS);
                points[open++] = p;
            }
        }
        best = open > 0 ? cheapest_point(x, task, booster, rows, points, open) : task->count;
    }
    if (booster != NULL) {
        (void)x->destroy(booster);
    }
    if (matrix != NULL) {
        (void)x->matrix_free(matrix);
    }
    return best;
}

static uint32_t by_trees(const vtac_tasks *tasks, const vtac_task *task, uint64_t *state)
{
    xgboost x;
    lessons l = {.rows = calloc(MAX_ROWS, COLUMNS * sizeof(float)),
                 .labels = calloc(MAX_ROWS, sizeof(float))};
    float *rows = calloc(task->count, COLUMNS * sizeof *rows);
    uint32_t *points = calloc(task->count, sizeof *points);
    uint32_t best = task->count;
    if (l.rows != NULL && l.labels != NULL && rows != NULL && points != NULL && load_xgboost(&x)) {
        learn_costs(&l, tasks, task);
        best = ask_trees(&x, &l, task, rows, points);
    }
    free(l.rows);
    free(l.labels);
    free(rows);
    free(points);
    return best < task->count ? best : any_point(task, state);
}

vta_status vtac_tuner_check(vtac_tuner tuner, vta_diag *diag)
{
    xgboost x;
    return tuner != VTAC_TUNER_XGB || load_xgboost(&x)
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "the tuner 'xgb' needs libxgboost: install Debian's libxgboost0, or take 'ga'");
}

uint32_t vtac_tuner_next(vtac_tuner tuner, const vtac_tasks *tasks, const vtac_task *task, uint64_t *state)
{
    if (task->tried >= task->count) {
        return task->count;
    }
    if (is_open(task, task->standard)) {
        return task->standard;
    }
    switch (tuner) {
    case VTAC_TUNER_XGB:
        return task->tried < WARM            ? warm_up(tasks, task, state)
               : draw_random(state) % 8 == 0 ? any_point(task, state)
                                             : by_trees(tasks, task, state);
    case VTAC_TUNER_GA: return task->tried < WARM ? warm_up(tasks, task, state) : make_child(task, state);
    case VTAC_TUNER_GRID: return first_open(task);
    case VTAC_TUNER_MODEL: return task->guesses != NULL ? by_guess(task) : first_open(task);
    case VTAC_TUNER_RANDOM:
    case VTAC_TUNERS: break;
    }
    return any_point(task, state);
}
