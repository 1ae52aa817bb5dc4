/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of the accelerator. A trial is the whole network with another way to cut one of its convolutions;
 * what counts is how long the timing model says that all of it takes. Last, the network of the best runs on
 * tsim beside the standard one, and stays as it was unless it is faster there.
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
#include "vta/file.h"

enum { PATH = 4200, ROUND = 8 };

typedef struct search {
    cli_tuning *t;
    vtac_partition *regions; /* of the graph as it was given; nothing is scheduled in it */
    uint64_t standard;       /* cycles of the standard network, as trials are timed */
    uint64_t base;           /* cycles of all tasks as they are */
    uint64_t proved;         /* cycles of the standard network on the device; 0: it has not run there */
    char *pieces[ROUND];
    vtac_task *task[ROUND];
    uint32_t point[ROUND];
    uint64_t cycles[ROUND];
} search;

static vta_status cycles_of_all(const search *s, bool quick, uint64_t *cycles, vta_diag *diag)
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
    const search *s = context;
    uint64_t cycles;
    const char *at = piece;
    for (size_t i = 0; i < s->t->tasks.items.count; i++) {
        char *end;
        ((vtac_task *)vta_vec_at(&s->t->tasks.items, i))->chosen = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    VTA_TRY(cycles_of_all(s, true, &cycles, diag));
    vta_str_printf(result, "%" PRIu64, cycles);
    return VTA_OK;
}

static void done(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    search *s = context;
    (void)why;
    (void)seconds;
    s->cycles[number] = result != NULL ? strtoull(result, NULL, 10) : 0;
}

/* The tasks in turn, each with one change. */
static uint32_t choose(search *s, uint64_t *state, uint32_t *turn, vta_diag *diag)
{
    const uint32_t tasks = (uint32_t)s->t->tasks.items.count;
    uint32_t count = 0;
    for (uint32_t idle = 0; count < ROUND && idle < tasks && s->t->done + count < s->t->trials; (*turn)++) {
        vtac_task *task = vta_vec_at(&s->t->tasks.items, *turn % tasks);
        const uint32_t point = vtac_tuner_next(s->t->tuner, task, state);
        vta_str text = {0};
        if (point >= task->count) {
            idle++;
            continue;
        }
        idle = 0;
        task->cost[point] = HUGE_VAL;
        task->tried++;
        for (uint32_t i = 0; i < tasks; i++) {
            const vtac_task *other = vta_vec_at(&s->t->tasks.items, i);
            vta_str_printf(&text, "%" PRIu32 " ", i == *turn % tasks ? point : other->best);
        }
        s->task[count] = task;
        s->point[count] = point;
        s->pieces[count] = vta_str_take(&text);
        if (s->pieces[count++] == NULL) {
            (void)vta_fail(diag, VTA_NOMEM, "out of memory");
            return 0;
        }
    }
    return count;
}

/* The best change of a round is kept. */
static vta_status judge(search *s, uint32_t count, uint32_t *since, vta_diag *diag)
{
    uint32_t best = count;
    for (uint32_t k = 0; k < count; k++) {
        vtac_task *task = s->task[k];
        const double cost = s->cycles[k] > 0 ? (double)s->cycles[k] : HUGE_VAL;
        task->cost[s->point[k]] = cost;
        s->t->failed += s->cycles[k] == 0;
        s->t->done++;
        if (s->cycles[k] > 0 && s->cycles[k] < s->base && (best == count || s->cycles[k] < s->cycles[best])) {
            best = k;
        }
        VTA_TRY(cli_tuning_note(s->t, task, s->point[k], cost, false, diag));
        free(s->pieces[k]);
        s->pieces[k] = NULL;
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

static vta_status run_search(search *s, vtac_work *work, vta_diag *diag)
{
    uint64_t state = s->t->seed;
    uint32_t turn = 0;
    uint32_t since = 0;
    const double first = (double)s->base;
    while (cli_tuning_goes_on(s->t, since)) {
        char line[96];
        const uint32_t count = choose(s, &state, &turn, diag);
        if (count == 0) {
            break;
        }
        VTA_TRY(vtac_work_run(work, (const char *const *)s->pieces, count, done, s, diag));
        VTA_TRY(judge(s, count, &since, diag));
        (void)snprintf(line, sizeof line, "best %" PRIu64 " cycles, %.3f times as fast", s->base,
                       first / (double)s->base);
        cli_stage("tuning", line, s->t->done, (size_t)s->t->trials);
    }
    return diag->code;
}

/* Trials are timed without what only a whole compile does, the standard network, too. */
static vta_status begin(search *s, vta_diag *diag)
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
        task->cost[task->standard] = (double)s->standard;
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

static const char *device_of(const search *s)
{
    const char *uri = cli_value(s->t->args, "--device");
    return uri != NULL ? uri : "tsim";
}

static vta_status run_there(search *s, const char *records, uint64_t *cycles, vta_diag *diag)
{
    char model[PATH];
    char log[PATH];
    const char *device = device_of(s);
    const char *config = cli_value(s->t->args, "--config");
    const char *offload = cli_value(s->t->args, "--offload");
    (void)snprintf(model, sizeof model, "%s/proof.so", s->t->folder);
    (void)snprintf(log, sizeof log, "%s/proof.txt", s->t->folder);
    const char *words[CLI_MOST_SELF_WORDS] = {"vtac",     "compile",  s->t->model,
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
static vta_status prove_standard(search *s, vta_diag *diag)
{
    cli_stage("running the standard network on", device_of(s), 0, 0);
    return run_there(s, NULL, &s->proved, diag);
}

static vta_status prove(search *s, uint64_t predicted, vta_diag *diag)
{
    char records[PATH];
    char hint[PATH];
    uint64_t after = 0;
    uint32_t changed = 0;
    cli_tuning *t = s->t;
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        const vtac_task *task = vta_vec_at(&t->tasks.items, i);
        changed += task->best != task->standard;
    }
    if (changed > 0) {
        (void)snprintf(records, sizeof records, "%s/proof.jsonl", t->folder);
        VTA_TRY(s->proved == 0 ? prove_standard(s, diag) : VTA_OK);
        cli_stage("running the tuned network on", device_of(s), 0, 0);
        VTA_TRY(write_records(t, records, diag));
        VTA_TRY(run_there(s, records, &after, diag));
    }
    const bool faster = changed > 0 && after < s->proved;
    for (size_t i = 0; i < t->tasks.items.count; i++) {
        vtac_task *task = vta_vec_at(&t->tasks.items, i);
        task->best = faster ? task->best : task->standard;
        VTA_TRY(cli_tuning_note(t, task, task->best, (double)(faster ? after : predicted), true, diag));
    }
    cli_stages_hide();
    cli_tuning_hint(t, hint, sizeof hint);
    if (changed == 0) {
        cli_sentence(0,
                     "%" PRIu32 " trials: no schedule was found that beats the standard one, %" PRIu64
                     " cycles predicted",
                     t->done, predicted);
    } else if (!faster) {
        cli_sentence(0,
                     "%" PRIu32 " trials: %" PRIu64 " cycles predicted instead of %" PRIu64 ", but %" PRIu64
                     " on the device instead of %" PRIu64 ": it stays as it was",
                     t->done, s->base, s->standard, after, s->proved);
    } else {
        cli_sentence(0,
                     "%" PRIu32 " trials: %" PRIu32 " of %zu kinds of layers changed; %" PRIu64
                     " cycles predicted instead of %" PRIu64 ", on the device %" PRIu64 " instead of %" PRIu64
                     ", %.4f times as fast; '%s' uses them",
                     t->done, changed, t->tasks.items.count, s->base, s->standard, after, s->proved,
                     (double)s->proved / (double)after, hint);
    }
    return VTA_OK;
}

vta_status cli_tune_vta(cli_tuning *t, vta_diag *diag)
{
    search s = {.t = t};
    vtac_work *work = NULL;
    uint64_t predicted = 0;
    const vtac_partition_options look = {
        .config = &t->offload.config, .always = t->offload.always, .look = true};
    VTA_TRY(vtac_partition_graph(t->graph, &look, &s.regions, diag));
    vta_status status = cycles_of_all(&s, false, &predicted, diag);
    if (status == VTA_OK && t->tasks.items.count == 0) {
        status = vta_fail(diag, VTA_UNSUPPORTED,
                          "none of its layers on the accelerator has a choice of schedules");
    }
    status = status == VTA_OK ? begin(&s, diag) : status;
    status = status == VTA_OK ? cli_open_work(t->args, &t->how, "", do_piece, &s, &work, diag) : status;
    t->is_leader = work != NULL;
    if (work != NULL) {
        status = cli_value(t->args, "--device") != NULL ? prove_standard(&s, diag) : VTA_OK;
        status = status == VTA_OK ? run_search(&s, work, diag) : status;
        cli_close_work(work);
        status = status == VTA_OK ? prove(&s, predicted, diag) : status;
    }
    vtac_partition_free(s.regions);
    return status;
}
