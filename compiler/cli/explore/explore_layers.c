/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of the configurations that the page shows in full: their cycles and what binds them. Each is a
 * piece of work for this machine's processors.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "html.h"
#include "vta/fail.h"

enum { MAX_DETAILS = 40, PIECE = 16 };

static void put_layers(vta_str *out, const cli_explored *e, const vta_config *config)
{
    bool first = true;
    for (uint32_t n = 0; n < e->networks->count; n++) {
        const vtac_explored *network = &e->networks->explored[n];
        for (uint32_t r = 0; r < network->region_count; r++) {
            vtac_vta_image image;
            vtac_vta_region *region = &network->regions[r].region;
            const vtac_vta_options how = {.predict_only = true};
            if (vtac_vta_schedule(config, region, &how, &image, NULL) != VTA_OK) {
                continue; /* the estimate says why */
            }
            for (uint32_t i = 0; i < image.plan_count; i++) {
                vta_str_printf(out, "%s[%u, ", first ? "" : ", ", n);
                cli_put_json(out, region->layers[i].name);
                vta_str_printf(out, ", %" PRIu64 ", ", image.plans[i].cost.cycles);
                cli_put_json(out, image.plans[i].cost.bound != NULL ? image.plans[i].cost.bound : "");
                vta_str_put(out, "]");
                first = false;
            }
            vtac_vta_image_free(&image);
        }
    }
}

/* A piece is a number of cli_explored.detailed. */
static vta_status layers_of(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const cli_explored *e = context;
    const unsigned long i = strtoul(piece, NULL, 10);
    if (i >= e->detailed_count) {
        return vta_fail(diag, VTA_SYNTAX, "'%s' is no piece of a page", piece);
    }
    put_layers(result, e, &e->detailed[i].candidate->config);
    return VTA_OK;
}

typedef struct taking {
    cli_explored *e;
    vta_status status;
    vta_diag *diag;
} taking;

static void take_result(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    taking *t = context;
    (void)seconds;
    if (result == NULL) {
        t->status = vta_fail(t->diag, VTA_INVALID, "the layers of '%s': %s",
                             t->e->detailed[number].candidate->config.name, why);
        return;
    }
    t->e->detailed[number].layers = strdup(result);
    if (t->e->detailed[number].layers == NULL) {
        t->status = vta_no_memory(t->diag);
    }
}

static void choose_layers(cli_explored *e)
{
    for (uint32_t i = 0; i < e->found->count && e->detailed_count < MAX_DETAILS; i++) {
        const vtac_candidate *c = &e->found->candidates[i];
        if (c->runs && (c->front || i < EXPLORE_FINALISTS)) {
            e->detailed[e->detailed_count++].candidate = c;
        }
    }
    for (uint32_t i = 0; i < e->shipped_count; i++) {
        e->detailed[e->detailed_count++].candidate = &e->shipped[i];
    }
}

vta_status cli_explore_layers(cli_explored *e, uint32_t jobs, vta_diag *diag)
{
    char numbers[MAX_DETAILS + EXPLORE_SHIPPED][PIECE];
    const char *pieces[MAX_DETAILS + EXPLORE_SHIPPED];
    taking t = {.e = e, .diag = diag};
    vtac_work *work = NULL;
    e->detailed = calloc(MAX_DETAILS + EXPLORE_SHIPPED, sizeof *e->detailed);
    if (e->detailed == NULL) {
        return vta_no_memory(diag);
    }
    choose_layers(e);
    for (uint32_t i = 0; i < e->detailed_count; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%" PRIu32, i);
        pieces[i] = numbers[i];
    }
    VTA_TRY(vtac_work_open(&(vtac_work_options){.workers = jobs}, layers_of, e, &work, diag));
    const vta_status status = vtac_work_run(work, pieces, e->detailed_count, take_result, &t, diag);
    vtac_work_close(work);
    return status == VTA_OK ? t.status : status;
}

const char *cli_layers_of(const cli_explored *e, const vtac_candidate *candidate)
{
    for (uint32_t i = 0; i < e->detailed_count; i++) {
        if (e->detailed[i].candidate == candidate) {
            return e->detailed[i].layers;
        }
    }
    return NULL;
}

void cli_free_explored(cli_explored *e)
{
    for (uint32_t i = 0; i < e->detailed_count; i++) {
        free(e->detailed[i].layers);
    }
    free(e->detailed);
    free(e->keys);
    free(e->shipped);
}
