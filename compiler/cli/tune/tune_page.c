/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of a search: for each task its trials and the best so far.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "tuning.h"
#include "vta/fail.h"
#include "vta/file.h"

static void put_task(vta_str *out, const cli_tuning *t, uint32_t number)
{
    const vtac_task *task = vta_vec_at(&t->tasks.items, number);
    bool first = true;
    vta_str_put(out, number > 0 ? ",\n{\"step\": " : "{\"step\": ");
    cli_put_json(out, task->steps.count > 0 ? *(const char **)vta_vec_at(&task->steps, 0) : "");
    vta_str_put(out, ", \"kernel\": ");
    cli_put_json(out, task->kernel);
    vta_str_put(out, ", \"shape\": ");
    cli_put_json(out, task->shape);
    vta_str_put(out, ", \"best\": ");
    cli_put_json(out, task->points[task->best]);
    vta_str_put(out, ", \"standard\": ");
    cli_put_json(out, task->points[task->standard]);
    vta_str_put(out, ", \"costs\": [");
    for (size_t i = 0; i < t->history.count; i++) {
        const cli_trial *trial = vta_vec_at(&t->history, i);
        if (trial->task == number) {
            vta_str_put(out, first ? "" : ", ");
            if (isfinite(trial->cost)) {
                vta_str_printf(out, "%.6g", trial->cost);
            } else {
                vta_str_put(out, "null");
            }
            first = false;
        }
    }
    vta_str_put(out, "]}");
}

vta_status cli_tuning_page(const cli_tuning *t, const char *path, vta_diag *diag)
{
    char target[320];
    vta_str out = {0};
    cli_tuning_target(t, target, sizeof target);
    cli_put_page_head(&out, "tune", t->model);
    vta_str_put(&out, "<header><h1 id=\"title\"></h1><p id=\"under\"></p></header><main></main>\n<script "
                      "id=\"data\" type=\"application/json\">{\"model\": ");
    cli_put_json(&out, t->model);
    vta_str_put(&out, ", \"target\": ");
    cli_put_json(&out, target);
    vta_str_printf(&out, ", \"tuner\": \"%s\", \"trials\": %" PRIu32 ", \"cycles\": %s, \"tasks\": [\n",
                   vtac_tuner_name(t->tuner), t->done, t->offload.wanted ? "true" : "false");
    for (uint32_t i = 0; i < t->tasks.items.count; i++) {
        put_task(&out, t, i);
    }
    vta_str_put(&out, "]}</script>\n");
    cli_put_page_script(&out, "tune");
    const vta_status status =
        out.failed ? vta_no_memory(diag) : vta_file_write(path, out.text, out.size, diag);
    vta_str_free(&out);
    return status;
}
