/* SPDX-License-Identifier: Apache-2.0
 *
 * What both kinds of tuning share: the log, and when a search ends.
 */
#include "tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vta/clock.h"
#include "vta/fail.h"
#include "writable.h"

vta_status cli_tuning_check_files(const cli_tuning *t, vta_diag *diag)
{
    struct stat about;
    VTA_TRY(cli_can_append(t->log, diag));
    if (stat(t->log, &about) == 0 && !S_ISREG(about.st_mode)) { /* it is read, too */
        return vta_fail(diag, VTA_IO,
                        "'%s' is no file that lines can be appended to; name another one with '--log'",
                        t->log);
    }
    return VTA_OK;
}

void cli_tuning_hint(const cli_tuning *t, char *text, size_t size)
{
    const char *host = cli_value(t->args, "--host");
    const char *config = cli_value(t->args, "--config");
    if (t->offload.kernels != NULL) {
        (void)snprintf(text, size, "vtac compile --target %s --host %s --tuned %s", t->offload.kernels,
                       host != NULL ? host : "host", t->log);
    } else if (!t->offload.wanted) {
        (void)snprintf(text, size, "vtac compile --host %s --tuned %s", host != NULL ? host : "host", t->log);
    } else if (config != NULL) {
        (void)snprintf(text, size, "vtac compile --target vta --config %s --tuned %s", config, t->log);
    } else {
        (void)snprintf(text, size, "vtac compile --target vta --tuned %s", t->log);
    }
}

void cli_tuning_target(const cli_tuning *t, char *text, size_t size)
{
    if (t->offload.wanted) {
        vtac_vta_target_text(&t->offload.config, text, size);
    } else {
        cli_offload_text(&t->offload, &t->target, text, size);
    }
}

/* A record is of one step, so that networks with more or fewer of a kind can share a log. */
static size_t steps_of(const vtac_task *task)
{
    return task->steps.count > 0 ? task->steps.count : 1;
}

vta_status cli_tuning_note(cli_tuning *t, const vtac_task *task, uint32_t point, double cost, bool proved,
                           vta_diag *diag)
{
    char target[320];
    cli_tuning_target(t, target, sizeof target);
    const vtac_record record = {.kernel = task->kernel,
                                .shape = task->shape,
                                .target = target,
                                .point = task->points[point],
                                .cost = cost / (double)steps_of(task),
                                .proved = proved};
    const cli_trial trial = {(uint32_t)(task - (const vtac_task *)t->tasks.items.items), cost};
    if (!proved && vta_vec_push(&t->history, &trial) == NULL) {
        return vta_no_memory(diag);
    }
    return vtac_record_append(t->log, &record, diag);
}

/* Takes up a record of the log. On the accelerator a proved record has a network's ratio and
 * no layer's cycles. */
static void take_up(const cli_tuning *t, vtac_task *task, uint32_t point, const vtac_record *record)
{
    if (!t->offload.wanted || !record->proved) {
        vtac_task_measured(task, point, record->cost * (double)steps_of(task));
    } else if (task->proved_cost == 0.0 || record->cost < task->proved_cost) {
        task->proved = point;
        task->proved_cost = record->cost;
    }
}

vta_status cli_tuning_resume(cli_tuning *t, vta_diag *diag)
{
    char target[320];
    vtac_records records = {0};
    if (access(t->log, F_OK) != 0) {
        return VTA_OK;
    }
    cli_tuning_target(t, target, sizeof target);
    const vta_status status = vtac_records_read(t->log, &records, diag);
    for (size_t r = 0; status == VTA_OK && r < records.items.count; r++) {
        const vtac_record *record = vta_vec_at(&records.items, r);
        bool known = false;
        for (size_t i = 0; i < t->tasks.items.count; i++) {
            vtac_task *task = vta_vec_at(&t->tasks.items, i);
            if (strcmp(record->target, target) != 0 || strcmp(record->kernel, task->kernel) != 0 ||
                strcmp(record->shape, task->shape) != 0) {
                continue;
            }
            known = true;
            for (uint32_t p = 0; p < task->count; p++) {
                if (strcmp(task->points[p], record->point) == 0) {
                    take_up(t, task, p, record);
                }
            }
        }
        if (!known && strcmp(record->target, target) == 0 && isfinite(record->cost)) {
            vtac_tasks_know(&t->tasks, record);
        }
    }
    vtac_records_free(&records);
    return status;
}

bool cli_tuning_goes_on(const cli_tuning *t, uint32_t since_better)
{
    return t->done < t->trials && (t->early == 0 || since_better < t->early) &&
           (t->budget_s <= 0 || vta_now() - t->begin < t->budget_s);
}
