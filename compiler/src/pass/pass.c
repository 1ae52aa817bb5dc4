/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of passes, and the runner.
 */
#include "vtac/pass.h"

#include <string.h>

#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/str.h"

#define VTAC_PASS(id, name, level, function, doc) vtac_pass_fn vtac_pass_##function;
#include "vtac/passes.def"

static const vtac_pass_info table[] = {
#define VTAC_PASS(id, name, level, function, doc) [VTAC_PASS_##id] = {name, level, vtac_pass_##function, doc},
#include "vtac/passes.def"
};
_Static_assert(sizeof table / sizeof table[0] == VTAC_PASS_COUNT, "one row per pass");

const vtac_pass_info *vtac_pass_get(vtac_pass pass)
{
    return &table[pass];
}

vtac_pass vtac_pass_find(const char *name, vta_diag *diag)
{
    const char *names[VTAC_PASS_COUNT];
    for (int i = 0; i < VTAC_PASS_COUNT; i++) {
        names[i] = table[i].name;
        if (strcmp(name, names[i]) == 0) {
            return (vtac_pass)i;
        }
    }
    const char *near = vta_nearest(name, names, VTAC_PASS_COUNT);
    if (near != NULL) {
        (void)vta_fail(diag, VTA_INVALID, "there is no pass '%s'; did you mean '%s'?", name, near);
    } else {
        (void)vta_fail(diag, VTA_INVALID, "there is no pass '%s'; --list-passes shows them", name);
    }
    return VTAC_PASS_COUNT;
}

vta_status vtac_run_pass(vtac_graph *graph, vtac_pass pass, bool verify, vtac_pass_report *report,
                         vta_diag *diag)
{
    const double begin = vta_now();
    *report = (vtac_pass_report){.pass = &table[pass]};
    vta_status status = table[pass].run(graph, &report->changes, diag);
    report->seconds = vta_now() - begin;
    report->nodes = graph->order_count;
#ifdef VTA_VERIFY
    verify = true;
#endif
    if (status == VTA_OK && verify) {
        status = vtac_graph_verify(graph, diag);
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "pass '%s'", table[pass].name);
    }
    return status;
}

/* One pass of a pipeline, and the report on it. */
static vta_status run_and_report(vtac_graph *graph, vtac_pass pass, const vtac_pass_options *options,
                                 vta_diag *diag)
{
    vtac_pass_report report;
    const vta_status status = vtac_run_pass(graph, pass, options->verify, &report, diag);
    if (status == VTA_OK && options->report != NULL) {
        options->report(options->context, &report);
    }
    return status;
}

vta_status vtac_run_passes(vtac_graph *graph, const vtac_pass_options *options, vta_diag *diag)
{
    bool last = false;
    for (int i = 0; !last && i < VTAC_PASS_COUNT; i++) {
        last = options->stop_after && (vtac_pass)i == options->last;
        if (!options->disabled[i] && (last || table[i].level <= options->level)) {
            VTA_TRY(
                vtac_progress_at(options->progress, "pass", table[i].name, (size_t)i, VTAC_PASS_COUNT, diag));
            VTA_TRY(run_and_report(graph, (vtac_pass)i, options, diag));
        }
    }
    return VTA_OK;
}
