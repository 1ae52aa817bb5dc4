/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule_spaces MODEL HOST: the kernels of a model that have a choice of schedules on a host, for
 * estimated.py and others. First the release and the target's text; then, for each kernel, a line of what
 * separates tabs: its name, its shape, the number of its standard point; and lines that begin with a tab: its
 * points with what the kernel itself guesses, then a line with two tabs for each of its steps.
 */
#include <inttypes.h>
#include <stdio.h>

#include "vtac/codegen.h"
#include "vtac/import.h"
#include "vtac/pass.h"
#include "vtac/tune.h"

static vta_status list(const char *path, const char *host, vtac_tasks *tasks, vtac_graph **graph,
                       vta_diag *diag)
{
    const vtac_import_options import = {0};
    const vtac_pass_options passes = {.level = 3};
    const vtac_schedules schedules = {vtac_tasks_pick, tasks};
    vtac_target target;
    char text[512];
    vtac_artifact_image image;
    VTA_TRY(vtac_target_find(host, &target, diag));
    VTA_TRY(vtac_model_load(path, &import, graph, diag));
    VTA_TRY(vtac_run_passes(*graph, &passes, diag));
    const vtac_compile_options how = {.level = 3, .target = &target, .schedules = &schedules, .once = true};
    VTA_TRY(vtac_compile(*graph, &how, &image, diag));
    vtac_artifact_image_free(&image);
    vtac_target_text(&target, text, sizeof text);
    (void)printf("%s\n%s\n", vta_version(), text);
    return VTA_OK;
}

static void print_task(const vtac_task *task)
{
    (void)printf("%s\t%s\t%" PRIu32 "\n", task->kernel, task->shape, task->standard);
    for (uint32_t i = 0; i < task->count; i++) {
        (void)printf("\t%.9g\t%s\n", task->guesses != NULL ? task->guesses[i] : 0.0, task->points[i]);
    }
    for (size_t i = 0; i < task->steps.count; i++) {
        (void)printf("\t\t%s\n", *(const char **)vta_vec_at(&task->steps, i));
    }
}

int main(int argc, char **argv)
{
    vta_diag diag = {0};
    vtac_tasks tasks = {0};
    vtac_graph *graph = NULL;
    if (argc != 3) {
        return 2;
    }
    const vta_status status = list(argv[1], argv[2], &tasks, &graph, &diag);
    for (size_t i = 0; i < tasks.items.count && status == VTA_OK; i++) {
        print_task(vta_vec_at(&tasks.items, i));
    }
    if (status != VTA_OK) {
        (void)fprintf(stderr, "schedule_spaces: %s\n", diag.text);
    }
    vtac_tasks_free(&tasks);
    vtac_graph_destroy(graph);
    return status != VTA_OK;
}
