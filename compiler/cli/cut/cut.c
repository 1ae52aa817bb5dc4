/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuts a run, hands out its parts, and puts them together. See cut.h.
 */
#include "cut.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cut_internal.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/program.h"

/* Cycles, as they are estimated: how far a part begins before its own ones, and how far it goes on behind
 * them; a part is worth its while from so many times that on. Compared are at least so many, as they are. */
enum { OVERLAP = 1 << 15, MIN_OVERLAP = 1 << 13, WORTH = 2, MIN_ALIKE = 1 << 11, LONGER = 4 };

/* ---- what the programs find */

static void free_launch(cli_cut_launch *l)
{
    for (uint32_t i = 0; i < l->block_count; i++) {
        free(l->blocks[i].bytes);
    }
    for (uint32_t i = 0; i < CUT_MAX_PARTS; i++) {
        free((void *)(uintptr_t)l->parts[i].run.stretches);
    }
    free(l->blocks);
    free(l->stretches);
    vta_cuts_destroy(l->cuts);
    free(l);
}

void cli_cut_free(cli_cut *cut)
{
    for (uint32_t i = 0; cut != NULL && i < cut->count; i++) {
        free_launch(cut->launches[i]);
    }
    if (cut != NULL) {
        free(cut->launches);
        vta_str_free(&cut->device);
    }
    free(cut);
}

static cli_cut_launch *add_launch(cli_cut *cut)
{
    cli_cut_launch **grown = realloc(cut->launches, (cut->count + 1) * sizeof(cli_cut_launch *));
    if (grown == NULL) {
        return NULL;
    }
    cut->launches = grown;
    cli_cut_launch *l = calloc(1, sizeof *l);
    if (l != NULL) {
        grown[cut->count++] = l;
    }
    return l;
}

static vta_status copy_memory(vta_device *device, cli_cut_launch *l, vta_diag *diag)
{
    vta_mem mem;
    while (vta_device_block(device, l->block_count, &mem)) {
        cli_cut_block *grown = realloc(l->blocks, (l->block_count + 1) * sizeof *grown);
        uint8_t *bytes = malloc(mem.size);
        if (grown == NULL || bytes == NULL) {
            free(bytes);
            l->blocks = grown != NULL ? grown : l->blocks;
            return vta_fail(diag, VTA_NOMEM, "no memory for what a program finds");
        }
        memcpy(bytes, mem.host, mem.size);
        l->blocks = grown;
        l->blocks[l->block_count++] = (cli_cut_block){.addr = mem.addr, .size = mem.size, .bytes = bytes};
    }
    return VTA_OK;
}

static vta_status record_launch(void *context, vta_device *device, const vta_launch *launch, vta_played *out,
                                bool *played, vta_diag *diag)
{
    cli_cut *cut = context;
    cli_cut_launch *l = add_launch(cut);
    const vta_bus bus = vta_device_bus(device);
    const void *program =
        bus.map(bus.context, launch->insn_addr, (uint64_t)launch->insn_count * VTA_INSN_BYTES);
    if (l == NULL || program == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for what a program finds");
    }
    l->launch = *launch;
    VTA_TRY(copy_memory(device, l, diag));
    VTA_TRY(vta_cuts_create(&cut->config, program, launch->insn_count, &l->cuts, diag));
    *out = (vta_played){0};
    *played = true;
    return VTA_OK;
}

/* ---- pieces */

static void give_up(cli_cut_launch *l, const char *why)
{
    (void)snprintf(l->why, sizeof l->why, "%s", why);
    l->part_count = 0;
}

/* The part between two costs, begun `before` earlier and ended `behind` later. */
static void place_cut(cli_cut_launch *l, uint32_t part, uint32_t parts, uint64_t before, uint64_t behind)
{
    const uint64_t from = vta_cuts_share(l->cuts, part, parts);
    const uint64_t to = vta_cuts_share(l->cuts, part + 1, parts);
    cli_cut_piece *p = &l->parts[part];
    p->start = part > 0 ? vta_cuts_find(l->cuts, from > before ? from - before : 0) : 0;
    p->end = part + 1 < parts ? vta_cuts_find(l->cuts, to + behind) : l->launch.insn_count;
    p->end = p->end > p->start ? p->end : l->launch.insn_count;
}

static void plan_parts(cli_cut_launch *l, uint32_t index, uint32_t workers)
{
    const uint64_t all = vta_cuts_cost(l->cuts, l->launch.insn_count);
    uint64_t overlap = all / workers / (2 * WORTH);
    overlap = overlap < OVERLAP ? overlap : OVERLAP;
    overlap = overlap > MIN_OVERLAP ? overlap : MIN_OVERLAP;
    const uint64_t max = all / (WORTH * overlap);
    uint32_t parts = max < workers ? (uint32_t)max : workers;
    parts = parts < CUT_MAX_PARTS ? parts : CUT_MAX_PARTS;
    if (parts < 2) {
        give_up(l, workers < 2 ? "there is one worker" : "it is too short to be cut");
        return;
    }
    l->part_count = parts;
    for (uint32_t i = 0; i < parts; i++) {
        l->parts[i].launch = index;
        place_cut(l, i, parts, overlap, overlap / 2);
    }
}

typedef struct handing {
    cli_cut *cut;
    cli_cut_piece **out; /* by the number under which it was handed out */
} handing;

static void take_result(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    cli_cut_piece *p = ((handing *)context)->out[number];
    (void)seconds;
    if (why == NULL && !cli_cut_read_run(result, &p->run)) {
        why = "its result is damaged";
    }
    (void)snprintf(p->why, sizeof p->why, "%s", why != NULL ? why : "");
    p->done = true;
}

static uint32_t count_open(const cli_cut *cut)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < cut->count; i++) {
        for (uint32_t k = 0; k < cut->launches[i]->part_count; k++) {
            open += !cut->launches[i]->parts[k].done;
        }
    }
    return open;
}

static vta_status hand_out_texts(handing *h, char (*texts)[48], const char **pieces, vtac_work *work,
                                 vta_diag *diag)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < h->cut->count; i++) {
        cli_cut_launch *l = h->cut->launches[i];
        for (uint32_t k = 0; k < l->part_count; k++) {
            cli_cut_piece *p = &l->parts[k];
            if (!p->done) {
                (void)snprintf(texts[count], sizeof texts[count], "%" PRIu32 " %" PRIu32 " %" PRIu32, i,
                               p->start, p->end);
                pieces[count] = texts[count];
                h->out[count++] = p;
            }
        }
    }
    return vtac_work_run(work, pieces, count, take_result, h, diag);
}

static vta_status hand_out(cli_cut *cut, vtac_work *work, vta_diag *diag)
{
    const uint32_t count = count_open(cut);
    if (count == 0) {
        return VTA_OK;
    }
    char(*texts)[48] = calloc(count, sizeof *texts);
    const char **pieces = calloc(count, sizeof *pieces);
    handing h = {.cut = cut, .out = calloc(count, sizeof(cli_cut_piece *))};
    const vta_status status = texts != NULL && pieces != NULL && h.out != NULL
                                  ? hand_out_texts(&h, texts, pieces, work, diag)
                                  : vta_no_memory(diag);
    free(texts);
    free((void *)pieces);
    free((void *)h.out);
    return status;
}

/* ---- what came back */

/* The part begins so much earlier. At the program's own beginning there is nothing left to try. */
static bool begin_earlier(cli_cut_launch *l, uint32_t part)
{
    cli_cut_piece *p = &l->parts[part];
    const uint64_t from = vta_cuts_share(l->cuts, part, l->part_count);
    const uint64_t at = vta_cuts_cost(l->cuts, p->start);
    const uint64_t before = (from > at ? from - at : 1) * LONGER;
    const uint32_t start = vta_cuts_find(l->cuts, from > before ? from - before : 0);
    if (start >= p->start) {
        return false;
    }
    free((void *)(uintptr_t)p->run.stretches);
    p->run = (vta_part_run){0};
    p->done = false;
    p->start = start;
    return true;
}

/* Checks whether all parts are known. *again: parts whose beginning does not fit the part before
 * are simulated again. */
static vta_status look_at(cli_cut_launch *l, bool *again, vta_diag *diag)
{
    bool failed = false;
    for (uint32_t i = 0; i < l->part_count; i++) {
        if (l->parts[i].why[0] != '\0') {
            give_up(l, l->parts[i].why);
            return VTA_OK;
        }
    }
    for (uint32_t i = 0; i + 1 < l->part_count; i++) {
        /* A part's end is looked for from where it is the same as the one before it: that may be at once. */
        const uint64_t from = i > 0 && l->matches[i - 1].found ? l->matches[i - 1].there : 0;
        vta_match *m = &l->matches[i];
        VTA_TRY(vta_parts_match(&l->parts[i].run, &l->parts[i + 1].run, from, MIN_ALIKE, m, diag));
        if (!m->found) {
            failed = true;
            *again = begin_earlier(l, i + 1) || *again;
        }
    }
    l->tries += failed;
    if (failed && (l->tries >= CUT_TRIES || !*again)) {
        give_up(l, "its parts do not come to be the same machine where they overlap");
        *again = false;
    }
    return VTA_OK;
}

static vta_status join_parts(cli_cut_launch *l, vta_diag *diag)
{
    const vta_part_run *last = &l->parts[l->part_count - 1].run;
    uint64_t count = 0;
    for (uint32_t i = 0; i < l->part_count; i++) {
        count += l->parts[i].run.count;
    }
    l->stretches = malloc((count + 1) * sizeof *l->stretches);
    if (l->stretches == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the cycles of a run");
    }
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < last->count; i++) {
        recorded += last->stretches[i].cycles;
    }
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < l->part_count; i++) {
        const vta_part_run *r = &l->parts[i].run;
        const uint64_t begin = i > 0 ? l->matches[i - 1].there : 0;
        const uint64_t end = i + 1 < l->part_count ? l->matches[i].here : r->count;
        memcpy(l->stretches + l->count, r->stretches + begin, (end - begin) * sizeof *r->stretches);
        l->count += end - begin;
        for (uint64_t k = begin; k < end; k++) {
            cycles += r->stretches[k].cycles;
        }
        if (i + 1 < l->part_count) {
            l->matches[i].seen = cycles;
        }
    }
    vta_parts_count(l->stretches, l->count, &l->counters);
    l->counters.cycles =
        cycles - (recorded - last->counters.cycles); /* start and end are as in the last part */
    return VTA_OK;
}

/* ---- all of it */

static vta_status simulate_parts(cli_cut *cut, vtac_work *work, vta_diag *diag)
{
    bool again = true;
    while (again) {
        again = false;
        VTA_TRY(hand_out(cut, work, diag));
        for (uint32_t i = 0; i < cut->count; i++) {
            bool this_again = false;
            VTA_TRY(look_at(cut->launches[i], &this_again, diag));
            again = again || this_again;
        }
    }
    for (uint32_t i = 0; i < cut->count; i++) {
        if (cut->launches[i]->part_count >= 2) {
            VTA_TRY(join_parts(cut->launches[i], diag));
        }
    }
    return VTA_OK;
}

static bool is_same(const vta_launch *a, const vta_launch *b)
{
    return a->insn_addr == b->insn_addr && a->insn_count == b->insn_count &&
           memcmp(a->base, b->base, sizeof a->base) == 0;
}

static vta_status play_launch(void *context, vta_device *device, const vta_launch *launch, vta_played *out,
                              bool *played, vta_diag *diag)
{
    cli_cut *cut = context;
    (void)device;
    if (cut->played >= cut->count || !is_same(launch, &cut->launches[cut->played]->launch)) {
        return vta_fail(diag, VTA_PROTOCOL, "the second run starts other programs than the first one did");
    }
    const cli_cut_launch *l = cut->launches[cut->played++];
    *out = (vta_played){.stretches = l->stretches, .count = l->count, .counters = l->counters};
    *played = l->part_count >= 2;
    return VTA_OK;
}

/* Writes the key of the work: equal for equal programs, memory and device. */
static void make_key(const cli_cut *cut, char *key, size_t size)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < cut->count; i++) {
        const cli_cut_launch *l = cut->launches[i];
        for (uint32_t k = 0; k < l->block_count; k++) {
            hash = hash * 31 + vta_artifact_hash(l->blocks[k].bytes, l->blocks[k].size);
        }
    }
    (void)snprintf(key, size, "vtac %s run %s %016" PRIx64 "\n", vta_version(), cut->device.text, hash);
}

static vta_status run_functionally(cli_cut *cut, vta_model *model, vta_device *device, vta_diag *diag)
{
    vta_diag own = {0};
    vta_status status = vta_device_record(device, 0, &own); /* refused: so are played runs */
    if (status == VTA_OK) {
        VTA_TRY(vta_device_play(device, record_launch, cut, diag));
        status = cli_run_model(model, &own);
        VTA_TRY(vta_device_play(device, NULL, NULL, diag));
    }
    if (status == VTA_INTERRUPTED) {
        return vta_fail(diag, status, "%s", own.text);
    }
    (void)snprintf(cut->why, sizeof cut->why, "%.255s", status != VTA_OK ? own.text : "");
    return VTA_OK;
}

static uint32_t plan_all(cli_cut *cut)
{
    uint32_t parts = 0;
    for (uint32_t i = 0; i < cut->count; i++) {
        plan_parts(cut->launches[i], i, cut->workers);
        parts += cut->launches[i]->part_count;
    }
    return parts;
}

/* Every process that takes part has come here by the same steps, with the same programs. */
static vta_status share_work(const cli_args *args, const cli_work *how, cli_cut *cut, bool *leads,
                             vta_diag *diag)
{
    char key[512];
    vtac_work *work = NULL;
    make_key(cut, key, sizeof key);
    VTA_TRY(cli_open_work(args, how, key, cli_cut_simulate, cut, &work, diag));
    *leads = work != NULL;
    if (work == NULL) {
        return VTA_OK;
    }
    cut->workers = vtac_work_workers(work);
    const vta_status status = plan_all(cut) > 0 ? simulate_parts(cut, work, diag) : VTA_OK;
    cli_close_work(work);
    return status;
}

static vta_status run_model(const cli_args *args, const cli_work *how, vta_model *model, cli_cut *cut,
                            bool *leads, vta_diag *diag)
{
    vta_device *device = vta_model_device(model);
    cut->config = *vta_device_config(device);
    VTA_TRY(run_functionally(cut, model, device, diag));
    VTA_TRY(share_work(args, how, cut, leads, diag));
    return cut->why[0] == '\0' ? vta_device_play(device, play_launch, cut, diag) : VTA_OK;
}

/* The timeline is the whole run's: it is left out. */
static void name_device(cli_cut *cut, const char *uri)
{
    static const char option[] = "timeline=";
    const size_t head = strcspn(uri, "?");
    char mark = '?';
    vta_str_append(&cut->device, uri, head);
    for (const char *at = uri + head; *at != '\0';) {
        const char *word = at + 1;
        const size_t size = strcspn(word, "&");
        if (strncmp(word, option, sizeof option - 1) != 0) {
            vta_str_append(&cut->device, &mark, 1);
            vta_str_append(&cut->device, word, size);
            mark = '&';
        }
        at = word + size;
    }
}

double cli_cut_seconds(const cli_cut *cut)
{
    return cut->seconds;
}

vta_status cli_cut_run(const cli_args *args, const cli_work *how, vta_model *model, const char *device,
                       cli_cut **out, bool *leads, vta_diag *diag)
{
    *out = NULL;
    *leads = true;
    cli_cut *cut = calloc(1, sizeof *cut);
    if (cut == NULL) {
        return vta_no_memory(diag);
    }
    const double begin = vta_now();
    name_device(cut, device);
    const vta_status status =
        cut->device.failed ? vta_no_memory(diag) : run_model(args, how, model, cut, leads, diag);
    cut->seconds = vta_now() - begin;
    if (status != VTA_OK) {
        (void)vta_device_play(vta_model_device(model), NULL, NULL, NULL);
        cli_cut_free(cut);
        return status;
    }
    *out = cut;
    return VTA_OK;
}

/* ---- what is told of it */

void cli_cut_print(const cli_cut *cut)
{
    if (cut->why[0] != '\0') {
        cli_print("simulated in one piece: %s\n", cut->why);
    }
    for (uint32_t i = 0; cut->why[0] == '\0' && i < cut->count; i++) {
        const cli_cut_launch *l = cut->launches[i];
        if (l->part_count < 2) {
            cli_print("program %" PRIu32 " simulated in one piece: %s\n", i + 1, l->why);
        }
        for (uint32_t k = 0; k + 1 < l->part_count; k++) {
            const vta_match *m = &l->matches[k];
            cli_print("program %" PRIu32 " cut at cycle %" PRIu64 ", instruction %" PRIu32
                      ": exact, both parts alike for %" PRIu64 " cycles\n",
                      i + 1, m->seen, m->insn, m->cycles);
        }
    }
}

void cli_cut_json(const cli_cut *cut)
{
    cli_print(", \"parts\": [");
    for (uint32_t i = 0; i < cut->count; i++) {
        const cli_cut_launch *l = cut->launches[i];
        cli_print("%s{\"parts\": %" PRIu32 ", \"why\": ", i > 0 ? ", " : "",
                  l->part_count > 1 ? l->part_count : 1);
        cli_json_string(cut->why[0] != '\0' ? cut->why : l->why);
        cli_print(", \"cuts\": [");
        for (uint32_t k = 0; k + 1 < l->part_count; k++) {
            const vta_match *m = &l->matches[k];
            cli_print("%s{\"cycle\": %" PRIu64 ", \"insn\": %" PRIu32 ", \"alike\": %" PRIu64 "}",
                      k > 0 ? ", " : "", m->seen, m->insn, m->cycles);
        }
        cli_print("]}");
    }
    cli_print("]");
}
