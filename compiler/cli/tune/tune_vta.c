/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of the accelerator. A trial is the whole network with another way to cut one of its convolutions;
 * what counts is how long the timing model says that all of it takes, without the search that a compilation
 * does with all layers at once. That search may find more than a trial did, or the same: so the best of the
 * trials are scheduled as a compilation does it, one change after the other, and what is better there is
 * kept. Last, the network runs on tsim beside the standard one, and stays as it was unless it is faster
 * there.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "passes.h"
#include "self.h"
#include "stages.h"
#include "table.h"
#include "tuning.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/str.h"

enum { PATH = 4200, ROUND = 8, WHOLE_SHARE = 16, MAX_PROOFS = 3 };

typedef struct vta_search {
    cli_tuning *t;
    vtac_partition *regions;     /* of the graph as it was given; nothing is scheduled in it */
    uint64_t standard;           /* cycles of the standard network, as trials are timed */
    uint64_t base;               /* cycles of all tasks as they are */
    uint64_t predicted;          /* cycles of the standard network, as a compilation schedules it */
    uint64_t whole;              /* cycles of all tasks as they are, the same way */
    uint32_t *taken[MAX_PROOFS]; /* [task]: the points of the best networks, the last one first */
    uint64_t proved;             /* cycles of the standard network on the device; 0: it has not run there */
    char *pieces[ROUND];
    vtac_task *task[ROUND];
    uint32_t point[ROUND];
    uint64_t cycles[ROUND];
} vta_search;

static vta_status cycles_of_all(const vta_search *s, bool quick, uint64_t *cycles, vta_diag *diag)
{
    const vtac_schedules schedules = {vtac_tasks_pick, &s->t->tasks};
    const vtac_vta_options how = {.level = 3, .predict_only = quick, .schedules = &schedules};
    *cycles = 0;
    for (uint32_t r = 0; r < s->regions->region_count; r++) {
        vtac_vta_image image;
        VTA_TRY(vtac_vta_schedule(&s->t->offload.config, &s->regions->regions[r].region, &how, &image, diag));
        *cycles += image.cycles;
        vtac_vta_image_free(&image);
    }
    return VTA_OK;
}

static vta_status do_piece(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const vta_search *s = context;
    uint64_t cycles;
    const bool quick = piece[0] == 'q';
    const char *at = piece + 1;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        char *end;
        ((vtac_task *)vta_vec_at(&s->t->tasks.items, i))->chosen = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    VTA_TRY(cycles_of_all(s, quick, &cycles, diag));
    vta_str_printf(result, "%" PRIu64, cycles);
    return VTA_OK;
}

static void take_cost(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    vta_search *s = context;
    (void)why;
    (void)seconds;
    s->cycles[number] = result != NULL ? strtoull(result, NULL, 10) : 0;
}

/* A piece: 'q' for quick, 'w' for whole, then the number of the point of each task, one of them changed. */
static char *piece_of(const vta_search *s, char kind, const vtac_task *changed, uint32_t point)
{
    vta_str text = {0};
    vta_str_printf(&text, "%c", kind);
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        const vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        vta_str_printf(&text, "%" PRIu32 " ", task == changed ? point : task->best);
    }
    return vta_str_take(&text);
}

static double own_cost(const vtac_task *task)
{
    return task->guesses != NULL && task->guesses[task->standard] > 0.0 ? task->guesses[task->standard] : 1.0;
}

/* The next task: as many trials for each as the network spends time in it. */
static vtac_task *next_task(const vta_search *s)
{
    vtac_task *next = NULL;
    double max = 0.0;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        const double share = own_cost(task) * (double)task->steps.count / (task->tried + 1.0);
        if (task->tried < task->count && share > max) {
            max = share;
            next = task;
        }
    }
    return next;
}

/* Chooses the points of a round: each is the best one with one change. */
static uint32_t choose_points(vta_search *s, uint64_t *state, vta_diag *diag)
{
    uint32_t count = 0;
    while (count < ROUND && s->t->done + count < s->t->trials) {
        vtac_task *task = next_task(s);
        const uint32_t point = task != NULL ? vtac_tuner_next(s->t->tuner, &s->t->tasks, task, state) : 0;
        if (task == NULL || point >= task->count) {
            break;
        }
        task->cost[point] = HUGE_VAL;
        task->tried++;
        s->task[count] = task;
        s->point[count] = point;
        s->pieces[count] = piece_of(s, 'q', task, point);
        if (s->pieces[count++] == NULL) {
            (void)vta_no_memory(diag);
            return 0;
        }
    }
    return count;
}

static void free_pieces(vta_search *s, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        free(s->pieces[k]);
        s->pieces[k] = NULL;
    }
}

/* The fewest cycles of a round, if they are fewer than that; count where there are none. */
static uint32_t min_of(const vta_search *s, uint32_t count, uint64_t than)
{
    uint32_t best = count;
    for (uint32_t k = 0; k < count; k++) {
        if (s->cycles[k] > 0 && s->cycles[k] < than) {
            best = k;
            than = s->cycles[k];
        }
    }
    return best;
}

/* The best change of a round is kept. What a point costs its layer is what it makes of the network, beside
 * what the layer is said to take by itself: that can be compared between networks. */
static vta_status keep_best(vta_search *s, uint32_t count, uint32_t *since, vta_diag *diag)
{
    const uint32_t best = min_of(s, count, s->base);
    for (uint32_t k = 0; k < count; k++) {
        vtac_task *task = s->task[k];
        const double min = 1e-3 * own_cost(task);
        double cost = task->cost[task->best] + (double)s->cycles[k] - (double)s->base;
        cost = s->cycles[k] == 0 ? HUGE_VAL : cost > min ? cost : min;
        task->cost[s->point[k]] = cost;
        s->t->failed += s->cycles[k] == 0;
        s->t->done++;
        VTA_TRY(cli_tuning_note(s->t, task, s->point[k], cost, false, diag));
    }
    *since += count;
    if (best < count) {
        s->task[best]->best = s->point[best];
        s->base = s->cycles[best];
        s->t->better++;
        *since = 0;
    }
    return VTA_OK;
}

static vta_status run_search(vta_search *s, vtac_work *work, vta_diag *diag)
{
    uint64_t state = s->t->seed;
    uint32_t since = 0;
    const double first = (double)s->base;
    vta_status status = VTA_OK;
    while (status == VTA_OK && cli_tuning_goes_on(s->t, since)) {
        char line[96];
        const uint32_t count = choose_points(s, &state, diag);
        if (count == 0) {
            break;
        }
        status = vtac_work_run(work, (const char *const *)s->pieces, count, take_cost, s, diag);
        if (status == VTA_OK) {
            status = keep_best(s, count, &since, diag);
        }
        free_pieces(s, count);
        (void)snprintf(line, sizeof line, "best %" PRIu64 " cycles, %.3f times as fast", s->base,
                       first / (double)s->base);
        cli_stage("tuning", line, s->t->done < s->t->trials ? s->t->done : (size_t)s->t->trials - 1,
                  (size_t)s->t->trials);
    }
    return status != VTA_OK ? status : diag->code;
}

/* ---- the best of the trials, scheduled as a compilation does it */

/* Puts the current choice of all tasks in front of the networks that may be proved. */
static void remember_choice(vta_search *s)
{
    uint32_t *last = s->taken[MAX_PROOFS - 1];
    memmove(s->taken + 1, s->taken, (MAX_PROOFS - 1) * sizeof *s->taken);
    s->taken[0] = last;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        last[i] = ((const vtac_task *)vta_vec_at(&s->t->tasks.items, i))->best;
    }
}

/* A network that was found another way, or is known from the log: where all begins, if it is better. */
static vta_status begin_with(vta_search *s, uint32_t (*point)(const vtac_task *task), vta_diag *diag)
{
    uint64_t cycles = 0;
    bool any = false;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->chosen = point(task);
        any = any || task->chosen != task->standard;
    }
    VTA_TRY(any ? cycles_of_all(s, false, &cycles, diag) : VTA_OK);
    if (cycles == 0 || cycles >= s->whole) {
        return VTA_OK;
    }
    s->whole = cycles;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->best = task->chosen;
    }
    remember_choice(s);
    return VTA_OK;
}

static uint32_t tried_point(const vtac_task *task)
{
    return task->chosen; /* as begin_whole left it */
}

static uint32_t proved_point(const vtac_task *task)
{
    return task->proved_cost > 0.0 ? task->proved : task->standard;
}

/* A change, and what it made of a trial's network, as cycles. */
typedef struct change {
    vtac_task *task;
    uint32_t point;
    double gain;
} change;

static int by_gain(const void *a, const void *b)
{
    const change *x = a;
    const change *y = b;
    return x->gain != y->gain     ? (x->gain < y->gain ? 1 : -1)
           : x->task != y->task   ? (x->task < y->task ? -1 : 1)
           : x->point != y->point ? (x->point < y->point ? -1 : 1)
                                  : 0;
}

/* Lists the changes that were tried, the best first. */
static vta_status list_changes(const vta_search *s, vta_vec *changes, vta_diag *diag)
{
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        for (uint32_t p = 0; p < task->count; p++) {
            const change c = {task, p, task->cost[task->standard] - task->cost[p]};
            if (p != task->standard && isfinite(task->cost[p]) && vta_vec_push(changes, &c) == NULL) {
                return vta_no_memory(diag);
            }
        }
    }
    if (changes->count > 0) {
        qsort(changes->items, changes->count, changes->item_size, by_gain);
    }
    return VTA_OK;
}

static bool has_time(const cli_tuning *t)
{
    return t->budget_s <= 0 || vta_now() - t->begin < t->budget_s;
}

static vta_status try_whole(vta_search *s, vtac_work *work, const vta_vec *changes, vta_diag *diag)
{
    const uint64_t share = (s->t->trials + WHOLE_SHARE - 1) / WHOLE_SHARE;
    const size_t max = share < changes->count ? (size_t)share : changes->count;
    vta_status status = VTA_OK;
    for (size_t at = 0; at < max && status == VTA_OK && has_time(s->t);) {
        uint32_t count = 0;
        char line[96];
        (void)snprintf(line, sizeof line, "best %" PRIu64 " cycles, %.3f times as fast", s->whole,
                       (double)s->predicted / (double)s->whole);
        cli_stage("scheduling the best whole", line, at, max);
        for (; at < max && count < ROUND; at++) {
            const change *c = vta_vec_at(changes, at);
            if (c->task->best == c->point) {
                continue;
            }
            s->task[count] = c->task;
            s->point[count] = c->point;
            s->pieces[count] = piece_of(s, 'w', c->task, c->point);
            if (s->pieces[count++] == NULL) {
                status = vta_no_memory(diag);
            }
        }
        status = status == VTA_OK && count > 0
                     ? vtac_work_run(work, (const char *const *)s->pieces, count, take_cost, s, diag)
                     : status;
        const uint32_t best = status == VTA_OK ? min_of(s, count, s->whole) : count;
        if (best < count) {
            s->task[best]->best = s->point[best];
            s->whole = s->cycles[best];
            remember_choice(s);
        }
        free_pieces(s, count);
    }
    return status;
}

/* Searches whole networks, from the standard one, the best of the trials and the proved one of the log. */
static vta_status search_whole(vta_search *s, vtac_work *work, vta_diag *diag)
{
    vta_vec changes = {.item_size = sizeof(change)};
    s->whole = s->predicted;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(list_changes(s, &changes, diag));
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->chosen = task->best;
        task->best = task->standard;
    }
    VTA_TRY_OUT(begin_with(s, tried_point, diag));
    VTA_TRY_OUT(begin_with(s, proved_point, diag));
    VTA_TRY_OUT(changes.count > 0 ? try_whole(s, work, &changes, diag) : VTA_OK);
out:
    vta_vec_free(&changes);
    return status;
}

/* Trials are timed without what only a whole compile does, the standard network, too. */
static vta_status begin_search(vta_search *s, vta_diag *diag)
{
    const size_t count = s->t->tasks.items.count;
    uint64_t resumed = 0;
    for (size_t i = 0; i < count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->chosen = task->standard;
    }
    VTA_TRY(cycles_of_all(s, true, &s->standard, diag));
    for (size_t i = 0; i < count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->cost[task->standard] = own_cost(task) * (double)task->steps.count;
        task->tried = 1;
    }
    VTA_TRY(cli_tuning_resume(s->t, diag));
    for (size_t i = 0; i < count; i++) { /* with what the log knows, if that is better */
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->chosen = task->best;
    }
    VTA_TRY(cycles_of_all(s, true, &resumed, diag));
    for (size_t i = 0; resumed >= s->standard && i < count; i++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        task->best = task->standard;
    }
    s->base = resumed > 0 && resumed < s->standard ? resumed : s->standard;
    return VTA_OK;
}

/* ---- the proof */

static vta_status write_records(const cli_tuning *t, const char *path, vta_diag *diag)
{
    char target[320];
    cli_tuning_target(t, target, sizeof target);
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        const vtac_task *task = vta_vec_at(&t->tasks.items, i);
        const vtac_record record = {.kernel = task->kernel,
                                    .shape = task->shape,
                                    .target = target,
                                    .point = task->points[task->best],
                                    .cost = 1,
                                    .proved = true};
        VTA_TRY(vtac_record_append(path, &record, diag));
    }
    return VTA_OK;
}

static const char *device_of(const vta_search *s)
{
    const char *uri = cli_value(s->t->args, "--device");
    return uri != NULL ? uri : "tsim";
}

static vta_status run_there(vta_search *s, const char *records, uint64_t *cycles, vta_diag *diag)
{
    char model[PATH];
    char log[PATH];
    const char *device = device_of(s);
    const char *config = cli_value(s->t->args, "--config");
    const char *offload = cli_value(s->t->args, "--offload");
    (void)snprintf(model, sizeof model, "%s/proof.so", s->t->folder);
    (void)snprintf(log, sizeof log, "%s/proof.txt", s->t->folder);
    const char *words[CLI_MAX_SELF_WORDS] = {"vtac",     "compile",  s->t->model,
                                             "--target", "vta",      "-o",
                                             model,      "--config", config != NULL ? config : "pynq",
                                             "--force"};
    size_t count = 10;
    if (records != NULL) {
        words[count++] = "--tuned";
        words[count++] = records;
    }
    if (offload != NULL) {
        words[count++] = "--offload";
        words[count++] = offload;
    }
    VTA_TRY(cli_words_of_model(s->t->args, words, count, diag));
    VTA_TRY(cli_run_self(words, log, 0, diag));
    const char *run[] = {"vtac", "run", model, "--device", device, "--json", NULL};
    VTA_TRY(cli_run_self(run, log, 0, diag));
    if (cli_self_cycles(log, cycles, diag) != VTA_OK) {
        return vta_context(
            diag, "nothing can be proved by '--device %s'; name one that counts cycles, as tsim", device);
    }
    return VTA_OK;
}

/* A device that was named is known to run the network, and to count its cycles, before there is a search. */
static vta_status prove_standard(vta_search *s, vta_diag *diag)
{
    cli_stage("running the standard network on", device_of(s), 0, 0);
    return run_there(s, NULL, &s->proved, diag);
}

static bool is_changed(const vta_search *s)
{
    bool any = false;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        const vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        any = any || task->best != task->standard;
    }
    return any;
}

/* The points of one of the best networks. */
static void take_network(const vta_search *s, const uint32_t *points)
{
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        ((vtac_task *)vta_vec_at(&s->t->tasks.items, i))->best = points[i];
    }
}

static vta_status run_network(vta_search *s, uint32_t number, uint64_t *cycles, vta_diag *diag)
{
    char records[PATH];
    (void)snprintf(records, sizeof records, "%s/proof%" PRIu32 ".jsonl", s->t->folder, number);
    VTA_TRY(s->proved == 0 ? prove_standard(s, diag) : VTA_OK);
    cli_stage("running the tuned network on", device_of(s), 0, 0);
    VTA_TRY(write_records(s->t, records, diag));
    return run_there(s, records, cycles, diag);
}

/* The best ones on the device, until one is faster there. *after: cycles of the first; 0: there is none. */
static vta_status prove_best(vta_search *s, uint64_t *after, bool *faster, vta_diag *diag)
{
    *after = 0;
    *faster = false;
    for (uint32_t k = 0; k < MAX_PROOFS && !*faster; k++) {
        uint64_t cycles = 0;
        take_network(s, s->taken[k]);
        if (!is_changed(s)) {
            break;
        }
        VTA_TRY(run_network(s, k, &cycles, diag));
        *faster = cycles < s->proved;
        *after = *faster || *after == 0 ? cycles : *after;
    }
    return VTA_OK;
}

static void print_search(const vta_search *s, uint64_t after, bool faster, uint32_t changed)
{
    char hint[PATH];
    const cli_tuning *t = s->t;
    cli_stages_hide();
    cli_tuning_hint(t, hint, sizeof hint);
    if (after == 0) {
        cli_sentence(0,
                     "%" PRIu32 " trials: no schedule was found that beats the standard one, %" PRIu64
                     " cycles predicted",
                     t->done, s->predicted);
    } else if (!faster) {
        cli_sentence(0,
                     "%" PRIu32 " trials: %" PRIu64 " cycles predicted instead of %" PRIu64 ", but %" PRIu64
                     " on the device instead of %" PRIu64 ": it stays as it was",
                     t->done, s->whole, s->predicted, after, s->proved);
    } else {
        cli_sentence(0,
                     "%" PRIu32 " trials: %" PRIu32 " of %zu kinds of layers changed; %" PRIu64
                     " cycles predicted instead of %" PRIu64 ", on the device %" PRIu64 " instead of %" PRIu64
                     ", %.4f times as fast; '%s' uses them",
                     t->done, changed, t->tasks.items.count, s->whole, s->predicted, after, s->proved,
                     (double)s->proved / (double)after, hint);
    }
}

static vta_status finish_search(vta_search *s, vta_diag *diag)
{
    uint64_t after;
    bool faster;
    uint32_t changed = 0;
    cli_tuning *t = s->t;
    VTA_TRY(prove_best(s, &after, &faster, diag));
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        const double ratio = faster ? (double)after / (double)s->proved : 1.0;
        task->best = faster ? task->best : task->standard;
        changed += task->best != task->standard;
        VTA_TRY(cli_tuning_note(t, task, task->best, ratio * own_cost(task) * (double)task->steps.count, true,
                                diag));
    }
    print_search(s, after, faster, changed);
    return VTA_OK;
}

static vta_status make_room(vta_search *s, vta_diag *diag)
{
    const size_t tasks = s->t->tasks.items.count;
    for (uint32_t k = 0; k < MAX_PROOFS; k++) {
        s->taken[k] = calloc(tasks, sizeof **s->taken);
        if (s->taken[k] == NULL) {
            return vta_no_memory(diag);
        }
        for (size_t i = 0; i < tasks; i++) {
            s->taken[k][i] = ((const vtac_task *)vta_vec_at(&s->t->tasks.items, i))->standard;
        }
    }
    return VTA_OK;
}

/* Writes the key of the folder of --slurm: it belongs to this model and these options. */
static void make_key(const vta_search *s, char *key, size_t size)
{
    char target[320];
    uint64_t hash = VTA_HASH_START;
    cli_tuning_target(s->t, target, sizeof target);
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        const vtac_task *task = vta_vec_at(&s->t->tasks.items, i);
        hash = vta_hash_text(hash, task->shape);
        hash = vta_hash_word(hash, task->count ^ task->steps.count << 32);
    }
    (void)snprintf(key, size, "vtac %s tune %s %016" PRIx64 " %" PRIu64 "\n", vta_version(), target, hash,
                   s->predicted);
}

static vta_status search_and_prove(vta_search *s, vtac_work *work, vta_diag *diag)
{
    VTA_TRY(make_room(s, diag));
    VTA_TRY(cli_value(s->t->args, "--device") != NULL ? prove_standard(s, diag) : VTA_OK);
    VTA_TRY(run_search(s, work, diag));
    return search_whole(s, work, diag);
}

static vta_status fail_without_tasks(const cli_tuning *t, vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "'%s': nothing can be tuned: none of its layers on the accelerator has a choice of "
                    "schedules; 'vtac "
                    "explain' says what runs there",
                    t->model);
}

vta_status cli_tune_vta(cli_tuning *t, vta_diag *diag)
{
    vta_search s = {.t = t};
    char key[480];
    vtac_work *work = NULL;
    const vtac_partition_options look = {
        .config = &t->offload.config, .host = t->offload.host, .always = t->offload.always, .look = true};
    VTA_TRY(vtac_partition_graph(t->graph, &look, &s.regions, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cycles_of_all(&s, false, &s.predicted, diag));
    VTA_TRY_OUT(t->tasks.items.count > 0 ? begin_search(&s, diag) : fail_without_tasks(t, diag));
    make_key(&s, key, sizeof key);
    VTA_TRY_OUT(cli_open_work(t->args, &t->how, key, do_piece, &s, &work, diag));
    t->is_leader = work != NULL;
    if (work != NULL) {
        status = search_and_prove(&s, work, diag);
        cli_close_work(work);
        VTA_TRY_OUT(status == VTA_OK ? finish_search(&s, diag) : status);
    }
out:
    for (uint32_t k = 0; k < MAX_PROOFS; k++) {
        free(s.taken[k]);
    }
    vtac_partition_free(s.regions);
    return status;
}
