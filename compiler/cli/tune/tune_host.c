/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the host. A trial is the whole network with another schedule for each of its kernels: compiled
 * in a pool, run by a process of its own here or on boards, timed step by step. Last, the network of the best
 * is timed against that of the standard ones, in turn; a kernel that is no faster there stays as it was.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "boards.h"
#include "self.h"
#include "stages.h"
#include "table.h"
#include "tuning.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { PATH = 4200, MAX_ANSWER = 1 << 26, FINAL_ROUNDS = 5, FINAL_WON = 4, TRIAL_TIMEOUT = 120 };
static const double worth = 0.99; /* of the standard schedule's time, at most */

/* ---- compiling */

static vta_status compile_to(const cli_tuning *t, const char *path, vtac_tasks *tasks, vta_diag *diag)
{
    const vtac_schedules schedules = {vtac_tasks_pick, tasks};
    const vtac_compile_options how = {.level = 3,
                                      .target = &t->target,
                                      .schedules = &schedules,
                                      .kernels = t->offload.kernels,
                                      .kernels_always = t->offload.always};
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

void cli_bench_words_of(const cli_tuning *t, const char *path, const char *device, cli_bench_words *out)
{
    (void)snprintf(out->threads, sizeof out->threads, "%" PRIu64, t->threads);
    (void)snprintf(out->repeat, sizeof out->repeat, "%" PRIu64, t->repeat);
    const char *words[] = {
        "vtac",      "bench",      path,       "--layers",  "--json",
        "--threads", out->threads, "--repeat", out->repeat, device != NULL ? "--device" : NULL,
        device,      NULL};
    memcpy(out->words, words, sizeof words);
}

vta_status cli_bench_times(const cli_tuning *t, const char *out, double *costs, double *whole, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(out, MAX_ANSWER, &bytes, &size, diag));
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
        /* the least of its runs: on a machine that others use too, most runs are disturbed */
        const cJSON *min = cJSON_GetObjectItemCaseSensitive(step, "least_us");
        if (!cJSON_IsString(name) || !cJSON_IsNumber(min)) {
            continue;
        }
        *whole += 1e-6 * min->valuedouble;
        for (size_t i = 0; i < count; i++) {
            const vtac_task *task = vta_vec_at(&t->tasks.items, i);
            for (size_t k = 0; k < task->steps.count; k++) {
                if (vtac_schedule_is_step(name->valuestring, *(const char **)vta_vec_at(&task->steps, k))) {
                    costs[i] += 1e-6 * min->valuedouble;
                }
            }
        }
    }
    const bool good = cJSON_IsArray(steps) && *whole > 0.0;
    cJSON_Delete(root);
    free(bytes);
    return good ? VTA_OK : vta_fail(diag, VTA_IO, "'vtac bench' has printed something else than its steps");
}

/* Here. */
static vta_status time_network(const cli_tuning *t, const char *path, double *costs, double *whole,
                               vta_diag *diag)
{
    char out[PATH];
    cli_bench_words words;
    (void)snprintf(out, sizeof out, "%s/bench.txt", t->folder);
    cli_bench_words_of(t, path, NULL, &words);
    VTA_TRY(cli_run_self(words.words, out, TRIAL_TIMEOUT, diag));
    return cli_bench_times(t, out, costs, whole, diag);
}

/* ---- the search */

/* Trials have places: in each lies a network, from its choice to its time. */
typedef enum task_place { PLACE_FREE, PLACE_CHOSEN, PLACE_MADE, PLACE_GIVEN } task_place;

typedef struct batch {
    cli_tuning *t;
    vtac_work *work;
    task_place *places;
    uint32_t *points; /* [place][task] */
    uint32_t place_count;
    char **pieces;   /* of what is chosen */
    uint32_t *where; /* their places */
    bool *made;      /* [place] */
    uint32_t count;
    double *costs;  /* of a network */
    uint64_t state; /* of what is drawn */
    uint32_t since; /* trials since something was better */
    double first;
} batch;

static void take_compiled(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    batch *b = context;
    (void)why;
    (void)seconds;
    b->made[b->where[number]] = result != NULL;
}

static void network_of(const batch *b, uint32_t at, char path[PATH])
{
    (void)snprintf(path, PATH, "%s/trial%" PRIu32 ".so", b->t->folder, at);
}

/* The next points, of as many trials. */
static vta_status choose_points(batch *b, uint32_t max, vta_diag *diag)
{
    cli_tuning *t = b->t;
    const size_t tasks = t->tasks.items.count;
    b->count = 0;
    for (uint32_t at = 0; at < b->place_count && b->count < max; at++) {
        bool any = false;
        char path[PATH];
        if (b->places[at] != PLACE_FREE) {
            continue;
        }
        for (size_t i = 0; i < tasks; i++) {
            vtac_task *task = vta_vec_at(&t->tasks.items, i);
            uint32_t point = vtac_tuner_next(t->tuner, &t->tasks, task, &b->state);
            any = any || point < task->count;
            point = point < task->count ? point : task->best;
            if (isnan(task->cost[point])) {
                vtac_task_measured(task, point, HUGE_VAL); /* on its way */
            }
            task->chosen = point;
            b->points[at * tasks + i] = point;
        }
        if (!any) {
            break;
        }
        network_of(b, at, path);
        b->where[b->count] = at;
        b->pieces[b->count] = piece_of(t, path);
        if (b->pieces[b->count++] == NULL) {
            return vta_no_memory(diag);
        }
        b->places[at] = PLACE_CHOSEN;
        b->made[at] = false;
    }
    return VTA_OK;
}

/* Chooses and compiles: none where nothing is left to try. */
static vta_status make_batch(batch *b, uint32_t max, vta_diag *diag)
{
    vta_status status = choose_points(b, max, diag);
    status = status == VTA_OK && b->count > 0
                 ? vtac_work_run(b->work, (const char *const *)b->pieces, b->count, take_compiled, b, diag)
                 : status;
    for (uint32_t k = 0; k < b->count; k++) {
        b->places[b->where[k]] = PLACE_MADE;
        free(b->pieces[k]);
    }
    return status;
}

static double best_total(const cli_tuning *t);

/* A trial is over: `costs` has the seconds of its tasks, if it was timed. */
static vta_status record_trial(batch *b, uint32_t at, bool timed, vta_diag *diag)
{
    cli_tuning *t = b->t;
    char path[PATH];
    char line[96];
    bool better = false;
    const size_t tasks = t->tasks.items.count;
    t->failed += !timed;
    for (size_t i = 0; i < tasks; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        const uint32_t point = b->points[at * tasks + i];
        const double cost = timed && b->costs[i] > 0.0 ? b->costs[i] : HUGE_VAL;
        const double before = task->cost[task->best];
        vtac_task_measured(task, point, cost);
        better = better || (isfinite(cost) && (!isfinite(before) || cost < 0.99 * before));
        VTA_TRY(cli_tuning_note(t, task, point, cost, false, diag));
    }
    network_of(b, at, path);
    (void)unlink(path);
    b->places[at] = PLACE_FREE;
    b->since = better ? 0 : b->since + 1;
    t->better += better;
    t->done++;
    const double total = best_total(t);
    b->first = b->first > 0.0 ? b->first : total;
    (void)snprintf(line, sizeof line, "best %.3f ms, %.2f times as fast as first", 1e3 * total,
                   total > 0.0 ? b->first / total : 1.0);
    cli_stage("tuning", line, t->done < t->trials ? t->done : (size_t)t->trials - 1, (size_t)t->trials);
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

/* Searches on this machine: nothing else works while a network is timed. */
static vta_status search_here(batch *b, vta_diag *diag)
{
    cli_tuning *t = b->t;
    while (cli_tuning_goes_on(t, b->since)) {
        const uint64_t left = t->trials - t->done;
        const uint32_t workers = t->done == 0 ? 1 : vtac_work_workers(b->work);
        VTA_TRY(make_batch(b, left < workers ? (uint32_t)left : workers, diag));
        if (b->count == 0) {
            break;
        }
        for (uint32_t k = 0; k < b->count; k++) {
            char path[PATH];
            double whole;
            const uint32_t at = b->where[k];
            network_of(b, at, path);
            const bool timed =
                b->made[at] && time_network(t, path, b->costs, &whole, &(vta_diag){0}) == VTA_OK;
            VTA_TRY(record_trial(b, at, timed, diag));
        }
    }
    return VTA_OK;
}

static uint32_t count_places(const batch *b, bool free_ones)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->place_count; i++) {
        count += (b->places[i] == PLACE_FREE) == free_ones;
    }
    return count;
}

/* Hands compiled networks to boards that wait. */
static vta_status hand_out(batch *b, cli_boards *boards, vta_diag *diag)
{
    for (uint32_t at = 0; at < b->place_count; at++) {
        char path[PATH];
        if (b->places[at] != PLACE_MADE) {
            continue;
        }
        if (!b->made[at]) {
            VTA_TRY(record_trial(b, at, false, diag));
        } else if (cli_boards_idle(boards) > 0) {
            network_of(b, at, path);
            VTA_TRY(cli_boards_give(boards, path, at, diag));
            b->places[at] = PLACE_GIVEN;
        }
    }
    return VTA_OK;
}

static void stop_batch(void *context)
{
    cli_tuning *t = context;
    atomic_store(&t->stopped, true);
    vtac_work_stop(t->work);
}

/* Searches on boards: each gets another network as soon as it waits for one. */
static vta_status search_boards(batch *b, cli_boards *boards, vta_diag *diag)
{
    cli_tuning *t = b->t;
    const struct timespec pause = {.tv_nsec = 5000000};
    bool any = true;
    while (cli_boards_alive(boards) > 0) {
        uint32_t at = 0;
        bool timed = false;
        if (atomic_load(&t->stopped)) {
            return vta_fail(diag, VTA_INTERRUPTED, "interrupted");
        }
        while (cli_boards_take(boards, &at, &timed, b->costs)) {
            VTA_TRY(record_trial(b, at, timed, diag));
        }
        VTA_TRY(hand_out(b, boards, diag));
        const uint32_t open = count_places(b, false);
        any = any && cli_tuning_goes_on(t, b->since);
        if (!any && open == 0) {
            return VTA_OK;
        }
        const uint64_t left = t->trials > t->done + open ? t->trials - t->done - open : 0;
        if (any && left > 0 && cli_boards_idle(boards) > 0 && count_places(b, true) > 0) {
            const uint32_t workers = vtac_work_workers(b->work);
            VTA_TRY(make_batch(b, left < workers ? (uint32_t)left : workers, diag));
            any = b->count > 0;
            continue;
        }
        (void)nanosleep(&pause, NULL);
    }
    return vta_fail(diag, VTA_IO, "no board is left, of those that '--device' names: %s",
                    cli_boards_why(boards));
}

static vta_status search_points(batch *b, const char *standard, vta_diag *diag)
{
    if (cli_value(b->t->args, "--device") == NULL) {
        return search_here(b, diag);
    }
    VTA_TRY(cli_boards_open(b->t, standard, &b->t->boards, diag));
    return search_boards(b, b->t->boards, diag);
}

/* ---- the end */

typedef struct tune_outcome {
    const cli_tuning *t;
    double *before, *after; /* of each task, medians over the rounds */
    uint32_t *won;          /* rounds in which the task was faster than the standard one beside it */
    double whole[2];
} tune_outcome;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The two networks in turn: [network][task or whole][round]. */
static vta_status time_rounds(cli_tuning *t, double *all, double *costs, vta_diag *diag)
{
    const size_t tasks = t->tasks.items.count;
    for (size_t round = 0; round < FINAL_ROUNDS; round++) {
        for (size_t n = 0; n < 2; n++) {
            char path[PATH];
            double whole;
            (void)snprintf(path, sizeof path, "%s/%s.so", t->folder, n == 0 ? "standard" : "best");
            cli_stage("timing the best beside the standard", "", round * 2 + n, 2 * FINAL_ROUNDS);
            VTA_TRY(t->boards != NULL ? cli_boards_time(t->boards, path, costs, &whole, diag)
                                      : time_network(t, path, costs, &whole, diag));
            for (size_t i = 0; i <= tasks; i++) {
                all[(n * (tasks + 1) + i) * FINAL_ROUNDS + round] = i < tasks ? costs[i] : whole;
            }
        }
    }
    return VTA_OK;
}

/* Medians. Where a board fails, all begins again on the next one. */
static vta_status compare_networks(cli_tuning *t, tune_outcome *o, vta_diag *diag)
{
    const size_t tasks = t->tasks.items.count;
    double *all = calloc(2 * (tasks + 1) * FINAL_ROUNDS, sizeof *all);
    double *costs = calloc(tasks + 1, sizeof *costs);
    vta_status status = vta_allocated(all != NULL && costs != NULL, diag);
    memset(o->won, 0, tasks * sizeof *o->won);
    if (status == VTA_OK) {
        status = time_rounds(t, all, costs, diag);
    }
    while (status == VTA_IO && t->boards != NULL && cli_boards_alive(t->boards) > 0) {
        *diag = (vta_diag){0};
        status = time_rounds(t, all, costs, diag);
    }
    for (size_t i = 0; i < tasks * FINAL_ROUNDS && status == VTA_OK; i++) {
        o->won[i / FINAL_ROUNDS] += all[(tasks + 1) * FINAL_ROUNDS + i] < all[i];
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
    const tune_outcome *o = context;
    const vtac_task *task = vta_vec_at(&o->t->tasks.items, row);
    cells[0].text = *(const char **)vta_vec_at(&task->steps, 0);
    cli_cell_print(&cells[1], "%zu", task->steps.count);
    cli_cell_print(&cells[2], "%" PRIu32 " of %" PRIu32, task->tried, task->count);
    cli_cell_print(&cells[3], "%.1f", 1e6 * o->before[row]);
    cli_cell_print(&cells[4], "%.1f", 1e6 * o->after[row]);
    cli_cell_print(&cells[5], "%.2f", o->before[row] / o->after[row]);
    cells[6].text = task->points[task->best];
}

static void print_outcome(const tune_outcome *o)
{
    static const cli_column columns[] = {{"first step", CLI_NAME},  {"steps", CLI_FIGURE},
                                         {"tried", CLI_WORD},       {"standard us", CLI_FIGURE},
                                         {"tuned us", CLI_FIGURE},  {"faster", CLI_FIGURE},
                                         {"schedule", CLI_SENTENCE}};
    double logs = 0.0;
    uint32_t better = 0;
    char hint[PATH];
    const size_t count = o->t->tasks.items.count;
    for (size_t i = 0; i < count; i++) {
        const vtac_task *task = vta_vec_at(&o->t->tasks.items, i);
        logs += log(o->before[i] / o->after[i]);
        better += task->best != task->standard;
    }
    cli_table(columns, sizeof columns / sizeof columns[0], (uint32_t)count, fill_row, o);
    cli_print("\n");
    if (better == 0) {
        cli_sentence(0, "%" PRIu32 " trials: no schedule was found that beats the standard ones", o->t->done);
        return;
    }
    cli_tuning_hint(o->t, hint, sizeof hint);
    cli_sentence(0,
                 "%" PRIu32 " trials (%" PRIu32 " came to nothing): %" PRIu32
                 " of %zu kernels are faster, %.3f times in geometric mean over all; the network %.3f "
                 "ms instead of %.3f ms; '%s' uses them",
                 o->t->done, o->t->failed, better, count, exp(logs / (double)count), 1e3 * o->whole[1],
                 1e3 * o->whole[0], hint);
}

/* Resets tasks whose winner is not faster than the standard; returns how many, *left is how many stay tuned.
 */
static uint32_t reset_slower(cli_tuning *t, tune_outcome *o, uint32_t *left)
{
    uint32_t back = 0;
    *left = 0;
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        if (task->best != task->standard &&
            (o->won[i] < FINAL_WON || !(o->after[i] < worth * o->before[i]))) {
            task->best = task->standard;
            back++;
        }
        if (task->best == task->standard) {
            o->after[i] = o->before[i];
        } else {
            (*left)++;
        }
    }
    return back;
}

static vta_status compile_one(cli_tuning *t, bool best, vta_diag *diag)
{
    char path[PATH];
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        task->chosen = best ? task->best : task->standard;
    }
    (void)snprintf(path, sizeof path, "%s/%s.so", t->folder, best ? "best" : "standard");
    return compile_to(t, path, &t->tasks, diag);
}

/* The best beside the standard; what is left of it, again. A kernel may be faster and the network not, as
 * what a kernel leaves in the caches is for those after it: then all stays as it was. */
static vta_status prove_outcome(cli_tuning *t, tune_outcome *o, vta_diag *diag)
{
    uint32_t left = 0;
    VTA_TRY(compile_one(t, false, diag));
    VTA_TRY(compile_one(t, true, diag));
    VTA_TRY(compare_networks(t, o, diag));
    if (reset_slower(t, o, &left) > 0 && left > 0) {
        VTA_TRY(compile_one(t, true, diag));
        VTA_TRY(compare_networks(t, o, diag));
        (void)reset_slower(t, o, &left);
    }
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        if (!(o->whole[1] < o->whole[0])) {
            task->best = task->standard;
            o->after[i] = o->before[i];
        }
        VTA_TRY(cli_tuning_note(t, task, task->best, o->after[i], true, diag));
    }
    return VTA_OK;
}

static vta_status finish_tuning(cli_tuning *t, vta_diag *diag)
{
    const size_t tasks = t->tasks.items.count;
    tune_outcome o = {.t = t,
                      .before = calloc(tasks + 1, sizeof(double)),
                      .after = calloc(tasks + 1, sizeof(double)),
                      .won = calloc(tasks + 1, sizeof(uint32_t))};
    const bool room = o.before != NULL && o.after != NULL && o.won != NULL;
    const vta_status status = room ? prove_outcome(t, &o, diag) : vta_no_memory(diag);
    cli_stages_hide();
    if (status == VTA_OK) {
        print_outcome(&o);
    }
    free(o.before);
    free(o.after);
    free(o.won);
    return status;
}

static vta_status tune_tasks(cli_tuning *t, vtac_work *work, const char *standard, vta_diag *diag)
{
    const size_t tasks = t->tasks.items.count;
    uint32_t places = vtac_work_workers(work);
    for (size_t at = 0; cli_next(t->args, "--device", &at) != NULL;) {
        places++;
    }
    batch b = {.t = t,
               .work = work,
               .places = calloc(places, sizeof *b.places),
               .points = calloc((size_t)places * tasks, sizeof *b.points),
               .place_count = places,
               .pieces = calloc(places, sizeof *b.pieces),
               .where = calloc(places, sizeof *b.where),
               .made = calloc(places, sizeof *b.made),
               .costs = calloc(tasks, sizeof *b.costs),
               .state = t->seed};
    const bool good = b.places != NULL && b.points != NULL && b.pieces != NULL && b.where != NULL &&
                      b.made != NULL && b.costs != NULL;
    const vta_status status = good ? search_points(&b, standard, diag) : vta_no_memory(diag);
    free(b.places);
    free(b.points);
    free(b.pieces);
    free(b.where);
    free(b.made);
    free(b.costs);
    return status;
}

/* Refuses before the search a target that no process here can run: each trial would fail. */
static vta_status check_runs_here(const cli_tuning *t, const char *path, vta_diag *diag)
{
    double whole;
    double *costs = calloc(t->tasks.items.count, sizeof *costs);
    vta_status status = costs != NULL ? time_network(t, path, costs, &whole, diag) : vta_no_memory(diag);
    free(costs);
    return status == VTA_OK ? VTA_OK
                            : vta_context(diag,
                                          "code for '%s' cannot be timed here; name boards of that kind with "
                                          "'--device ssh://[USER@]HOST', once or more often",
                                          t->target.name);
}

vta_status cli_tune_host(cli_tuning *t, vta_diag *diag)
{
    char path[PATH];
    vtac_work *work = NULL;
    (void)snprintf(path, sizeof path, "%s/first.so", t->folder);
    VTA_TRY(compile_to(t, path, &t->tasks, diag));
    if (t->tasks.items.count == 0 || t->tasks.failed) {
        return t->tasks.failed
                   ? vta_no_memory(diag)
                   : vta_fail(
                         diag, VTA_UNSUPPORTED,
                         "'%s': nothing can be tuned: none of its kernels has a choice of schedules; 'vtac "
                         "compile' takes the only ones",
                         t->model);
    }
    VTA_TRY(cli_value(t->args, "--device") != NULL ? VTA_OK : check_runs_here(t, path, diag));
    VTA_TRY(cli_tuning_resume(t, diag));
    vtac_work_options options = t->how.options;
    options.engine = VTAC_WORK_PROCESSES; /* the files are here */
    options.timeout_s = TRIAL_TIMEOUT;
    options.tries = 1;
    VTA_TRY(vtac_work_open(&options, do_piece, t, &work, diag));
    t->work = work;
    cli_catch_signals(stop_batch, t);
    const vta_status status = tune_tasks(t, work, path, diag);
    cli_catch_signals(NULL, NULL);
    vtac_work_close(work);
    t->work = NULL;
    const vta_status ended = status == VTA_OK ? finish_tuning(t, diag) : status;
    cli_boards_close(t->boards);
    return ended;
}
