/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the host. A trial is the whole network with another schedule for each of its kernels: compiled
 * in a pool, run by a process of its own, timed step by step. Last, the network of the best is timed against
 * that of the standard ones, in turn; a kernel that is no faster there stays as it was.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "self.h"
#include "stages.h"
#include "table.h"
#include "tuning.h"
#include "vta/file.h"

enum { PATH = 4200, MOST_ANSWER = 1 << 26, FINAL_ROUNDS = 5, TRIAL_TIMEOUT = 120, NUMBER = 24 };
static const double worth = 0.99; /* of the standard schedule's time, at most */

/* ---- compiling */

static vta_status compile_to(const cli_tuning *t, const char *path, vtac_tasks *tasks, vta_diag *diag)
{
    const vtac_schedules schedules = {vtac_tasks_pick, tasks};
    const vtac_compile_options how = {.level = 3, .target = &t->target, .schedules = &schedules};
    vtac_artifact_image image;
    VTA_TRY(vtac_compile(t->graph, &how, &image, diag));
    const vta_status status = vtac_link(&image, path, diag);
    vtac_artifact_image_free(&image);
    return status;
}

/* A piece: the file to make, then the number of the point of each task. */
static vta_status do_piece(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    cli_tuning *t = context;
    char path[PATH];
    const size_t size = strcspn(piece, "\n");
    (void)snprintf(path, sizeof path, "%.*s", (int)size, piece);
    const char *at = piece + size + (piece[size] == '\n');
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        char *end;
        ((vtac_task *)vta_vec_at(&t->tasks.items, i))->chosen = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    VTA_TRY(compile_to(t, path, &t->tasks, diag));
    vta_str_put(result, path);
    return VTA_OK;
}

static char *piece_of(const cli_tuning *t, const char *path)
{
    vta_str text = {0};
    vta_str_printf(&text, "%s\n", path);
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vta_str_printf(&text, "%" PRIu32 " ", ((vtac_task *)vta_vec_at(&t->tasks.items, i))->chosen);
    }
    return vta_str_take(&text);
}

/* ---- timing */

/* "conv1+Relu" is conv1 with what was fused into it. */
static bool is_step(const char *name, const char *step)
{
    const size_t size = strlen(step);
    return strncmp(name, step, size) == 0 && (name[size] == '\0' || name[size] == '+');
}

/* Seconds of each task in a network that is compiled: the sum over its steps. */
static vta_status time_network(const cli_tuning *t, const char *path, const char *device, double *costs,
                               double *whole, vta_diag *diag)
{
    char out[PATH];
    char threads[NUMBER];
    char repeat[NUMBER];
    uint8_t *bytes = NULL;
    size_t size = 0;
    (void)snprintf(out, sizeof out, "%s/bench.txt", t->folder);
    (void)snprintf(threads, sizeof threads, "%" PRIu64, t->threads);
    (void)snprintf(repeat, sizeof repeat, "%" PRIu64, t->repeat);
    const char *words[] = {"vtac",      "bench", path,       "--layers", "--json",
                           "--threads", threads, "--repeat", repeat,     device != NULL ? "--device" : NULL,
                           device,      NULL};
    VTA_TRY(cli_run_self(words, out, TRIAL_TIMEOUT, diag));
    VTA_TRY(vta_file_read(out, MOST_ANSWER, &bytes, &size, diag));
    const char *begin = memchr(bytes, '{', size);
    cJSON *root = begin != NULL ? cJSON_Parse(begin) : NULL;
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(root, "steps");
    const cJSON *step;
    const size_t count = t->tasks.items.count;
    memset(costs, 0, count * sizeof *costs);
    *whole = 0.0;
    cJSON_ArrayForEach(step, steps)
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(step, "name");
        const cJSON *median = cJSON_GetObjectItemCaseSensitive(step, "median_us");
        if (!cJSON_IsString(name) || !cJSON_IsNumber(median)) {
            continue;
        }
        *whole += 1e-6 * median->valuedouble;
        for (size_t i = 0; i < count; i++) {
            const vtac_task *task = vta_vec_at(&t->tasks.items, i);
            for (size_t k = 0; k < task->steps.count; k++) {
                if (is_step(name->valuestring, *(const char **)vta_vec_at(&task->steps, k))) {
                    costs[i] += 1e-6 * median->valuedouble;
                }
            }
        }
    }
    const bool good = cJSON_IsArray(steps) && *whole > 0.0;
    cJSON_Delete(root);
    free(bytes);
    return good ? VTA_OK : vta_fail(diag, VTA_IO, "'vtac bench' has printed something else than its steps");
}

/* ---- the search */

typedef struct batch {
    cli_tuning *t;
    char **pieces;
    bool *made;
    uint32_t *points; /* [trial][task] */
    uint32_t count;
} batch;

static void made(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    batch *b = context;
    (void)why;
    (void)seconds;
    b->made[number] = result != NULL;
}

/* The next points, of as many trials as there are workers. */
static vta_status choose(batch *b, uint32_t most, uint64_t *state, vta_diag *diag)
{
    cli_tuning *t = b->t;
    const size_t tasks = t->tasks.items.count;
    b->count = 0;
    while (b->count < most) {
        bool any = false;
        char path[PATH];
        for (size_t i = 0; i < tasks; i++) {
            vtac_task *task = vta_vec_at(&t->tasks.items, i);
            uint32_t point = vtac_tuner_next(t->tuner, task, state);
            any = any || point < task->count;
            point = point < task->count ? point : task->best;
            if (isnan(task->cost[point])) {
                vtac_task_measured(task, point, HUGE_VAL); /* on its way */
            }
            task->chosen = point;
            b->points[b->count * tasks + i] = point;
        }
        if (!any) {
            break;
        }
        (void)snprintf(path, sizeof path, "%s/trial%" PRIu32 ".so", t->folder, b->count);
        b->pieces[b->count] = piece_of(t, path);
        if (b->pieces[b->count++] == NULL) {
            return vta_fail(diag, VTA_NOMEM, "out of memory");
        }
    }
    return VTA_OK;
}

static vta_status measure(batch *b, uint32_t trial, double *costs, bool *better, vta_diag *diag)
{
    cli_tuning *t = b->t;
    char path[PATH];
    double whole = 0.0;
    vta_diag own = {0};
    size_t at = t->done;
    const char *device = NULL;
    const char *next = cli_next(t->args, "--device", &(size_t){0});
    uint32_t devices = 0;
    for (size_t k = 0; cli_next(t->args, "--device", &k) != NULL;) {
        devices++;
    }
    for (size_t k = 0, n = 0; devices > 0 && n <= at % devices; n++) {
        device = next = cli_next(t->args, "--device", &k);
    }
    (void)next;
    (void)snprintf(path, sizeof path, "%s/trial%" PRIu32 ".so", t->folder, trial);
    const size_t tasks = t->tasks.items.count;
    const bool timed = b->made[trial] && time_network(t, path, device, costs, &whole, &own) == VTA_OK;
    t->failed += !timed;
    for (size_t i = 0; i < tasks; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        const uint32_t point = b->points[trial * tasks + i];
        const double cost = timed && costs[i] > 0.0 ? costs[i] : HUGE_VAL;
        const double before = task->cost[task->best];
        vtac_task_measured(task, point, cost);
        *better = *better || (isfinite(cost) && (!isfinite(before) || cost < 0.99 * before));
        VTA_TRY(cli_tuning_note(t, task, point, cost, false, diag));
    }
    (void)unlink(path);
    t->done++;
    return VTA_OK;
}

static double best_total(const cli_tuning *t)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        const vtac_task *task = vta_vec_at(&t->tasks.items, i);
        sum += isfinite(task->cost[task->best]) ? task->cost[task->best] : 0.0;
    }
    return sum;
}

static vta_status search(cli_tuning *t, vtac_work *work, batch *b, double *costs, vta_diag *diag)
{
    uint64_t state = t->seed;
    uint32_t since = 0;
    double first = 0.0;
    while (cli_tuning_goes_on(t, since)) {
        char line[96];
        const uint64_t left = t->trials - t->done;
        const uint32_t workers = t->done == 0 ? 1 : vtac_work_workers(work);
        VTA_TRY(choose(b, left < workers ? (uint32_t)left : workers, &state, diag));
        if (b->count == 0) {
            break;
        }
        vta_status status = vtac_work_run(work, (const char *const *)b->pieces, b->count, made, b, diag);
        for (uint32_t k = 0; k < b->count; k++) {
            bool better = false;
            status = status == VTA_OK ? measure(b, k, costs, &better, diag) : status;
            since = better ? 0 : since + 1;
            t->better += better;
            free(b->pieces[k]);
        }
        VTA_TRY(status);
        const double total = best_total(t);
        first = first > 0.0 ? first : total;
        (void)snprintf(line, sizeof line, "best %.3f ms, %.2f times as fast as first", 1e3 * total,
                       total > 0.0 ? first / total : 1.0);
        cli_stage("tuning", line, t->done, (size_t)t->trials);
    }
    return VTA_OK;
}

/* ---- the end */

typedef struct outcome {
    const cli_tuning *t;
    double *before, *after; /* medians of each task */
    double whole[2];
} outcome;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The two networks in turn; medians. */
static vta_status compare(cli_tuning *t, outcome *o, vta_diag *diag)
{
    const size_t tasks = t->tasks.items.count;
    const char *device = cli_value(t->args, "--device");
    double *all = calloc(2 * (tasks + 1) * FINAL_ROUNDS, sizeof *all); /* [network][task or whole][round] */
    double *costs = calloc(tasks + 1, sizeof *costs);
    vta_status status = all != NULL && costs != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory");
    for (int round = 0; round < FINAL_ROUNDS && status == VTA_OK; round++) {
        for (size_t n = 0; n < 2 && status == VTA_OK; n++) {
            char path[PATH];
            double whole;
            (void)snprintf(path, sizeof path, "%s/%s.so", t->folder, n == 0 ? "standard" : "best");
            cli_stage("timing the best beside the standard", "", (size_t)round * 2 + n, 2 * FINAL_ROUNDS);
            status = time_network(t, path, device, costs, &whole, diag);
            for (size_t i = 0; i <= tasks && status == VTA_OK; i++) {
                all[(n * (tasks + 1) + i) * FINAL_ROUNDS + (size_t)round] = i < tasks ? costs[i] : whole;
            }
        }
    }
    for (size_t i = 0; i < 2 * (tasks + 1) && status == VTA_OK; i++) {
        qsort(all + i * FINAL_ROUNDS, FINAL_ROUNDS, sizeof *all, by_value);
        const double median = all[i * FINAL_ROUNDS + FINAL_ROUNDS / 2];
        const size_t task = i % (tasks + 1);
        const size_t n = i / (tasks + 1);
        if (task == tasks) {
            o->whole[n] = median;
        } else {
            (n == 0 ? o->before : o->after)[task] = median;
        }
    }
    free(all);
    free(costs);
    return status;
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const outcome *o = context;
    const vtac_task *task = vta_vec_at(&o->t->tasks.items, row);
    cells[0].text = *(const char **)vta_vec_at(&task->steps, 0);
    cli_cell_print(&cells[1], "%zu", task->steps.count);
    cli_cell_print(&cells[2], "%" PRIu32 " of %" PRIu32, task->tried, task->count);
    cli_cell_print(&cells[3], "%.1f", 1e6 * o->before[row]);
    cli_cell_print(&cells[4], "%.1f", 1e6 * o->after[row]);
    cli_cell_print(&cells[5], "%.2f", o->before[row] / o->after[row]);
    cells[6].text = task->points[task->best];
}

static void print(const outcome *o)
{
    static const cli_column columns[] = {{"first step", CLI_NAME},  {"steps", CLI_FIGURE},
                                         {"tried", CLI_WORD},       {"standard us", CLI_FIGURE},
                                         {"tuned us", CLI_FIGURE},  {"faster", CLI_FIGURE},
                                         {"schedule", CLI_SENTENCE}};
    double logs = 0.0;
    uint32_t better = 0;
    const size_t count = o->t->tasks.items.count;
    for (size_t i = 0; i < count; i++) {
        const vtac_task *task = vta_vec_at(&o->t->tasks.items, i);
        logs += log(o->before[i] / o->after[i]);
        better += task->best != task->standard;
    }
    cli_table(columns, sizeof columns / sizeof columns[0], (uint32_t)count, fill_row, o);
    (void)printf("\n");
    if (better == 0) {
        cli_sentence(0, "%" PRIu32 " trials: no schedule was found that beats the standard ones", o->t->done);
        return;
    }
    cli_sentence(0,
                 "%" PRIu32 " trials (%" PRIu32 " came to nothing): %" PRIu32
                 " of %zu kernels are faster, %.3f times in geometric mean over all; the network %.3f "
                 "ms instead of %.3f ms; 'vtac compile --tuned %s' uses them",
                 o->t->done, o->t->failed, better, count, exp(logs / (double)count), 1e3 * o->whole[1],
                 1e3 * o->whole[0], o->t->log);
}

/* What is no faster beside its standard stays as it was. */
static vta_status settle(cli_tuning *t, outcome *o, vta_diag *diag)
{
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        if (task->best != task->standard && !(o->after[i] < worth * o->before[i])) {
            task->best = task->standard;
        }
        if (task->best == task->standard) {
            o->after[i] = o->before[i];
        }
        VTA_TRY(cli_tuning_note(t, task, task->best, o->after[i], true, diag));
    }
    return VTA_OK;
}

static vta_status finish(cli_tuning *t, vta_diag *diag)
{
    char path[PATH];
    const size_t tasks = t->tasks.items.count;
    outcome o = {
        .t = t, .before = calloc(tasks + 1, sizeof(double)), .after = calloc(tasks + 1, sizeof(double))};
    vta_status status =
        o.before != NULL && o.after != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory");
    for (int best = 0; best < 2 && status == VTA_OK; best++) {
        for (size_t i = 0; i < tasks; i++) {
            vtac_task *task = vta_vec_at(&t->tasks.items, i);
            task->chosen = best != 0 ? task->best : task->standard;
        }
        (void)snprintf(path, sizeof path, "%s/%s.so", t->folder, best != 0 ? "best" : "standard");
        status = compile_to(t, path, &t->tasks, diag);
    }
    status = status == VTA_OK ? compare(t, &o, diag) : status;
    status = status == VTA_OK ? settle(t, &o, diag) : status;
    cli_stages_hide();
    if (status == VTA_OK) {
        print(&o);
    }
    free(o.before);
    free(o.after);
    return status;
}

static vta_status tune(cli_tuning *t, vtac_work *work, vta_diag *diag)
{
    const size_t tasks = t->tasks.items.count;
    const uint32_t workers = vtac_work_workers(work);
    batch b = {.t = t,
               .pieces = calloc(workers, sizeof *b.pieces),
               .made = calloc(workers, sizeof *b.made),
               .points = calloc((size_t)workers * tasks, sizeof *b.points)};
    double *costs = calloc(tasks, sizeof *costs);
    vta_status status = b.pieces != NULL && b.made != NULL && b.points != NULL && costs != NULL
                            ? search(t, work, &b, costs, diag)
                            : vta_fail(diag, VTA_NOMEM, "out of memory");
    free(b.pieces);
    free(b.made);
    free(b.points);
    free(costs);
    return status;
}

vta_status cli_tune_host(cli_tuning *t, vta_diag *diag)
{
    char path[PATH];
    vtac_work *work = NULL;
    (void)snprintf(path, sizeof path, "%s/first.so", t->folder);
    VTA_TRY(compile_to(t, path, &t->tasks, diag));
    if (t->tasks.items.count == 0 || t->tasks.failed) {
        return t->tasks.failed
                   ? vta_fail(diag, VTA_NOMEM, "out of memory")
                   : vta_fail(diag, VTA_UNSUPPORTED, "none of its kernels has a choice of schedules");
    }
    VTA_TRY(cli_tuning_resume(t, diag));
    vtac_work_options options = t->how.options;
    options.engine = VTAC_WORK_PROCESSES; /* the files are here */
    options.timeout_s = TRIAL_TIMEOUT;
    options.tries = 1;
    VTA_TRY(vtac_work_open(&options, do_piece, t, &work, diag));
    cli_catch_signals(vtac_work_stop, work);
    const vta_status status = tune(t, work, diag);
    cli_catch_signals(NULL, NULL);
    vtac_work_close(work);
    VTA_TRY(status);
    return finish(t, diag);
}
