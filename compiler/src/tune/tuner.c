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

enum { FEATURES = 12, WARM = 8, ROUNDS = 40, PARENTS = 4, ATTEMPTS = 64 };

const char *vtac_tuner_name(vtac_tuner tuner)
{
    static const char *const names[VTAC_TUNERS] = {"xgb", "ga", "random", "grid", "model"};
    return tuner < VTAC_TUNERS ? names[tuner] : NULL;
}

static uint64_t draw(uint64_t *state)
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

static uint32_t any(const vtac_task *task, uint64_t *state)
{
    const uint32_t first = (uint32_t)(draw(state) % task->count);
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

/* The numbers of a point's text, in their order; returns how many. */
static uint32_t numbers_of(const char *point, double *numbers)
{
    uint32_t count = 0;
    while (*point != '\0' && count < FEATURES) {
        if (isdigit((unsigned char)*point)) {
            char *end;
            numbers[count++] = strtod(point, &end);
            point = end;
        } else {
            point++;
        }
    }
    for (uint32_t i = count; i < FEATURES; i++) {
        numbers[i] = 0.0;
    }
    return count;
}

/* ---- ga: each number of a child is one of its parents', sometimes somebody else's */

/* One of the few best that were measured. */
static uint32_t parent(const vtac_task *task, uint64_t *state)
{
    uint32_t best = task->count;
    for (int i = 0; i < PARENTS; i++) {
        for (int k = 0; k < ATTEMPTS; k++) {
            const uint32_t p = (uint32_t)(draw(state) % task->count);
            if (!is_open(task, p)) {
                best = best == task->count || task->cost[p] < task->cost[best] ? p : best;
                break;
            }
        }
    }
    return best == task->count || draw(state) % 3 == 0 ? task->best : best;
}

static uint32_t child(const vtac_task *task, uint64_t *state)
{
    double a[FEATURES];
    double b[FEATURES];
    double wanted[FEATURES];
    (void)numbers_of(task->points[parent(task, state)], a);
    const uint32_t count = numbers_of(task->points[parent(task, state)], b);
    double stranger[FEATURES];
    (void)numbers_of(task->points[draw(state) % task->count], stranger);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t whose = draw(state) % 5;
        wanted[i] = whose == 0 ? stranger[i] : whose < 3 ? a[i] : b[i];
    }
    uint32_t best = task->count;
    double nearest = HUGE_VAL;
    for (uint32_t p = 0; p < task->count; p++) {
        double own[FEATURES];
        double far = 0.0;
        (void)numbers_of(task->points[p], own);
        for (uint32_t i = 0; i < count; i++) {
            far += fabs(log2(own[i] + 1) - log2(wanted[i] + 1));
        }
        if (is_open(task, p) && far < nearest) {
            nearest = far;
            best = p;
        }
    }
    return best;
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

static bool load(xgboost *x)
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

/* What trees split by: the numbers, their product, the kernel's guess. */
enum { COLUMNS = FEATURES + 2 };
static void row_of(const vtac_task *task, uint32_t point, float *row)
{
    double numbers[FEATURES];
    double product = 1.0;
    (void)numbers_of(task->points[point], numbers);
    for (int i = 0; i < FEATURES; i++) {
        row[i] = (float)numbers[i];
        product *= numbers[i] > 0 ? numbers[i] : 1.0;
    }
    row[FEATURES] = (float)product;
    row[FEATURES + 1] = task->guesses != NULL ? (float)log(task->guesses[point] + 1e-30) : 0.0F;
}

static bool train(const xgboost *x, const vtac_task *task, void *booster, void *matrix)
{
    static const char *const settings[][2] = {{"objective", "reg:squarederror"},
                                              {"max_depth", "3"},
                                              {"eta", "0.3"},
                                              {"nthread", "1"},
                                              {"verbosity", "0"},
                                              {"seed", "1"}};
    (void)task;
    bool good = true;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        good = good && x->set(booster, settings[i][0], settings[i][1]) == 0;
    }
    for (int i = 0; i < ROUNDS && good; i++) {
        good = x->update(booster, i, matrix) == 0;
    }
    return good;
}

static uint32_t cheapest(const xgboost *x, const vtac_task *task, void *booster, const float *rows,
                         const uint32_t *points, uint64_t count)
{
    void *matrix = NULL;
    uint64_t got = 0;
    const float *costs = NULL;
    uint32_t best = task->count;
    float least = HUGE_VAL;
    if (x->matrix(rows, count, COLUMNS, NAN, &matrix) == 0 &&
        x->predict(booster, matrix, 0, 0, 0, &got, &costs) == 0 && got == count) {
        for (uint64_t i = 0; i < count; i++) {
            if (costs[i] < least) {
                least = costs[i];
                best = points[i];
            }
        }
    }
    if (matrix != NULL) {
        (void)x->matrix_free(matrix);
    }
    return best;
}

static uint32_t by_trees(const vtac_task *task, uint64_t *state)
{
    xgboost x;
    float *rows = calloc((size_t)task->count, COLUMNS * sizeof *rows);
    float *labels = calloc(task->count, sizeof *labels);
    uint32_t *points = calloc(task->count, sizeof *points);
    uint32_t known = 0;
    uint32_t open = 0;
    uint32_t best = task->count;
    void *matrix = NULL;
    void *booster = NULL;
    if (rows != NULL && labels != NULL && points != NULL && load(&x)) {
        for (uint32_t p = 0; p < task->count; p++) {
            if (isfinite(task->cost[p])) {
                row_of(task, p, rows + (size_t)known * COLUMNS);
                labels[known++] = (float)log(task->cost[p]);
            }
        }
        if (x.matrix(rows, known, COLUMNS, NAN, &matrix) == 0 &&
            x.info(matrix, "label", labels, known) == 0 && x.create(&matrix, 1, &booster) == 0 &&
            train(&x, task, booster, matrix)) {
            for (uint32_t p = 0; p < task->count; p++) {
                if (is_open(task, p)) {
                    row_of(task, p, rows + (size_t)open * COLUMNS);
                    points[open++] = p;
                }
            }
            best = open > 0 ? cheapest(&x, task, booster, rows, points, open) : task->count;
        }
        if (booster != NULL) {
            (void)x.destroy(booster);
        }
        if (matrix != NULL) {
            (void)x.matrix_free(matrix);
        }
    }
    free(rows);
    free(labels);
    free(points);
    return best < task->count ? best : any(task, state);
}

vta_status vtac_tuner_check(vtac_tuner tuner, vta_diag *diag)
{
    xgboost x;
    return tuner != VTAC_TUNER_XGB || load(&x)
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "the tuner 'xgb' needs libxgboost: install Debian's libxgboost0, or take 'ga'");
}

uint32_t vtac_tuner_next(vtac_tuner tuner, const vtac_task *task, uint64_t *state)
{
    if (task->tried >= task->count) {
        return task->count;
    }
    if (is_open(task, task->standard)) {
        return task->standard;
    }
    switch (tuner) {
    case VTAC_TUNER_XGB:
        return task->tried < WARM || draw(state) % 8 == 0 ? any(task, state) : by_trees(task, state);
    case VTAC_TUNER_GA: return task->tried < WARM ? any(task, state) : child(task, state);
    case VTAC_TUNER_GRID: return first_open(task);
    case VTAC_TUNER_MODEL: return task->guesses != NULL ? by_guess(task) : first_open(task);
    case VTAC_TUNER_RANDOM:
    case VTAC_TUNERS: break;
    }
    return any(task, state);
}
