/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules a region in several ways, and keeps the fastest of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "timing.h"

static vta_status check_layers(scheduler *s, vta_diag *diag)
{
    for (uint32_t n = 0; n < s->region->layer_count; n++) {
        if (vtac_vta_layer_kinds[s->region->layers[n].kind].rule(&s->hardware, s->region, n, diag) !=
            VTA_OK) {
            return vta_context(diag, "layer '%s'", s->region->layers[n].name);
        }
    }
    return VTA_OK;
}

static vta_status predict_cycles(scheduler *s, vta_diag *diag)
{
    const uint32_t tags = s->region->layer_count + 1;
    uint64_t *shares = calloc(tags, sizeof *shares);
    if (shares != NULL) {
        s->image->cycles = vtac_vta_timing_of(&s->hardware, &s->list, s->image->work_bytes, shares, tags);
    }
    for (uint32_t n = 0; shares != NULL && n < s->region->layer_count; n++) {
        s->image->plans[n].cost.cycles = shares[n + 1];
    }
    free(shares);
    return s->image->cycles > 0 ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to predict cycles");
}

/* Checks the region, and makes room for its plans. */
static vta_status begin_region(scheduler *s, vta_diag *diag)
{
    const vtac_vta_region *region = s->region;
    if (region->layer_count == 0) {
        return vta_fail(diag, VTA_INVALID, "region '%s' has no layers", region->name);
    }
    VTA_TRY(vtac_vta_machine_of(s->hardware.config, &s->hardware, diag));
    s->image->plans = calloc(region->layer_count + 1, sizeof *s->image->plans);
    if (s->image->plans == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %" PRIu32 " layers", region->layer_count);
    }
    s->image->plan_count = region->layer_count;
    vtac_vta_layout_twice(&s->hardware, s->region);
    return check_layers(s, diag);
}

/* Chooses tilings and an order, and builds the list. */
static vta_status build_region(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
{
    s->constants.places_only = true;
    VTA_TRY(s->interleaves ? vtac_vta_schedule_interleave(s, diag) : VTA_OK);
    VTA_TRY(s->searches ? vtac_vta_schedule_search(s, diag) : VTA_OK);
    s->constants.places_only = options->predict_only;
    s->plain = s->searches && !options->predict_only && !options->no_keep;
    VTA_TRY(vtac_vta_schedule_build(s, diag));
    s->image->constant_bytes = s->constants.size;
    VTA_TRY(s->plain ? vtac_vta_schedule_keep(s, diag) : VTA_OK);
    return s->searches ? vtac_vta_schedule_hoist(s, diag) : VTA_OK;
}

static vta_status schedule_region(scheduler *s, const vtac_vta_options *options, vta_diag *diag)
{
    vtac_vta_region *region = s->region;
    VTA_TRY(begin_region(s, diag));
    VTA_TRY(vtac_progress_at(options->progress, "laying out", region->name, 0, 0, diag));
    VTA_TRY(vtac_vta_decisions_make(&s->hardware, region, options, s->groups, &s->decided, diag));
    if (s->before != NULL && s->before->feeds != NULL &&
        vtac_vta_decisions_alike(region, s->before, &s->decided)) {
        return VTA_OK;
    }
    VTA_TRY(vtac_vta_schedule_plan(s, options, diag));
    VTA_TRY(build_region(s, options, diag));
    VTA_TRY(vtac_progress_at(options->progress, "predicting cycles", region->name, 0, 0, diag));
    VTA_TRY(predict_cycles(s, diag));
    return options->predict_only ? VTA_OK : vtac_vta_schedule_program(s, diag);
}

enum { MAX_LEVEL = 3 };

/* The number of tilings to time. With wide parameters the tilings of a layer take similar times, so more of
 * them are timed. */
static uint32_t trials_for(const vtac_vta_region *region, int level)
{
    enum { WIDE_TRIALS = 32 };
    static const uint32_t trials_of[MAX_LEVEL + 1] = {0, 4, 8, 24};
    for (uint32_t n = 0; n < region->layer_count && level == MAX_LEVEL; n++) {
        if (region->layers[n].wide) {
            return WIDE_TRIALS;
        }
    }
    return trials_of[level];
}

/* Kinds of schedules, besides the options. */
typedef enum variant {
    PLAIN,
    IN_GROUPS,    /* layers form groups wherever that is faster one by one */
    BEHIND_POOLS, /* the same, but pools of means are joined first */
    BESIDE_ROWS   /* layers on rows run beside others */
} variant;

static vta_status schedule_once(const vta_config *config, vtac_vta_region *region,
                                const vtac_vta_options *options, variant how, decisions *decided,
                                vtac_vta_image *out, vta_diag *diag)
{
    *out = (vtac_vta_image){0};
    const int level = options->level < 0 ? 0 : options->level > MAX_LEVEL ? MAX_LEVEL : options->level;
    scheduler s = {.hardware.config = config,
                   .region = region,
                   .image = out,
                   .trials = trials_for(region, level),
                   .schedules = options->schedules,
                   .groups = how == IN_GROUPS      ? GROUPS_EAGERLY
                             : how == BEHIND_POOLS ? GROUPS_BEHIND_POOLS
                                                   : GROUPS_SURELY,
                   .before = how == IN_GROUPS || how == BEHIND_POOLS ? decided : NULL,
                   .concurrent = how == BESIDE_ROWS,
                   .rule = ORDER_LAYERS,
                   .quick = options->predict_only,
                   .factors = options->all_factors,
                   .interleaves =
                       level == MAX_LEVEL && !(options->predict_only && options->schedules != NULL)};
    s.searches = s.interleaves;
    s.interleaves = s.interleaves && !s.concurrent;
    s.timed = s.searches ? calloc(TIMED, sizeof *s.timed) : NULL;
    vtac_vta_list_init(&s.list);
    vtac_vta_list_init(&s.trial);
    s.candidates.item_size = sizeof(candidate);
    s.stages.item_size = sizeof(stage);
    const vta_status status = schedule_region(&s, options, diag);
    vtac_vta_decisions_free(decided);
    *decided = s.decided;
    vta_vec_free(&s.stages);
    vta_vec_free(&s.candidates);
    vtac_vta_list_free(&s.list);
    vtac_vta_list_free(&s.trial);
    free(s.timed);
    out->constants = s.constants.bytes;
    if (status != VTA_OK) {
        vtac_vta_image_free(out);
    }
    return status;
}

/* Keeps the faster image in *out; the other one must gain more than `worth` cycles. */
static bool keep_faster(vtac_vta_image *out, vtac_vta_image *other, uint64_t worth)
{
    const bool faster = other->cycles > 0 && other->cycles + worth < out->cycles;
    if (faster) {
        const vtac_vta_image given = *out;
        *out = *other;
        *other = given;
    }
    vtac_vta_image_free(other);
    return faster;
}

/* Schedules the region again and keeps the faster result. In groups it must win by 0.5 %, and is not made
 * if the decisions are the same as before. The loser's tensor offsets are restored. */
static vta_status schedule_again(const vta_config *config, vtac_vta_region *region,
                                 const vtac_vta_options *options, variant how, decisions *decided,
                                 vtac_vta_image *out, vta_diag *diag)
{
    enum { WORTH = 200 };
    vtac_vta_image other;
    const size_t size = region->tensor_count * sizeof *region->tensors;
    vtac_vta_tensor *laid_out = malloc(size + 1);
    vta_status status = laid_out != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    if (status == VTA_OK) {
        memcpy(laid_out, region->tensors, size);
        status = schedule_once(config, region, options, how, decided, &other, diag);
    }
    if (how == BESIDE_ROWS && status == VTA_RANGE) { /* a row does not fit a share of the machine */
        memcpy(region->tensors, laid_out, size);
        *diag = (vta_diag){0};
        status = VTA_OK;
    } else if (status != VTA_OK) {
        vtac_vta_image_free(out);
    } else if (!keep_faster(out, &other, how == BESIDE_ROWS || how == PLAIN ? 0 : out->cycles / WORTH)) {
        memcpy(region->tensors, laid_out, size);
    }
    free(laid_out);
    return status;
}

/* True if layers on rows have layers of the array beside them. */
static bool can_run_beside(const vtac_vta_region *region)
{
    bool rows = false, products = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        rows = rows || vtac_vta_works_on_rows(&region->layers[n]);
        products = products || region->layers[n].kind == VTAC_VTA_CONV;
    }
    return rows && products;
}

static bool has_means(const vtac_vta_region *region)
{
    bool means = false;
    for (uint32_t n = 0; n < region->layer_count; n++) {
        means = means || region->layers[n].kind == VTAC_VTA_AVG_POOL;
    }
    return means;
}

/* True where a tile has several output blocks, of which layers with few channels leave some empty: groups
 * gain less there, and a pool more beside them. */
static bool has_blocks(const vta_config *config)
{
    return config->block_in > config->block_out;
}

/* Given schedules are the starting point of a search; a search without them may end at a better one. In short
 * programs, where layers wait for each other at their ends, groups may gain more than the estimate says. */
static vta_status schedule_best(const vta_config *config, vtac_vta_region *region,
                                const vtac_vta_options *options, decisions *decided, vtac_vta_image *out,
                                vta_diag *diag)
{
    enum { SHORT = 100000 };
    VTA_TRY(schedule_once(config, region, options, PLAIN, decided, out, diag));
    if (options->predict_only || options->level < MAX_LEVEL) {
        return VTA_OK;
    }
    if (options->schedules != NULL) {
        vtac_vta_options without = *options;
        without.schedules = NULL;
        VTA_TRY(schedule_again(config, region, &without, PLAIN, decided, out, diag));
    }
    if (can_run_beside(region)) {
        VTA_TRY(schedule_again(config, region, options, BESIDE_ROWS, decided, out, diag));
    }
    const bool joins = !options->no_join && !options->all_groups;
    if (!joins || out->cycles >= SHORT) {
        return VTA_OK;
    }
    VTA_TRY(schedule_again(config, region, options, IN_GROUPS, decided, out, diag));
    return has_blocks(config) && has_means(region)
               ? schedule_again(config, region, options, BEHIND_POOLS, decided, out, diag)
               : VTA_OK;
}

static vta_status schedule_alone(const vta_config *config, vtac_vta_region *region,
                                 const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag)
{
    decisions decided = {0};
    const vta_status status = schedule_best(config, region, options, &decided, out, diag);
    vtac_vta_decisions_free(&decided);
    return status;
}

/* The cycles of a region by the tilings of the rough estimate; 0 if it cannot be scheduled. */
static vta_status quick_cycles(const vta_config *config, merger *g, const vtac_vta_options *options,
                               uint64_t *cycles, vta_diag *diag)
{
    vtac_vta_options quick = *options;
    vtac_vta_image image;
    vta_diag own = {0};
    quick.level = 0;
    quick.predict_only = true;
    VTA_TRY(vtac_vta_merge_make(g, diag));
    const vta_status status = schedule_alone(config, &g->region, &quick, &image, &own);
    *cycles = status == VTA_OK ? image.cycles : 0;
    if (status == VTA_OK) {
        vtac_vta_image_free(&image);
    }
    return status == VTA_OK || status == VTA_RANGE || status == VTA_UNSUPPORTED
               ? VTA_OK
               : vta_fail(diag, status, "%s", own.text);
}

/* Merges pixels of one tensor after the other, where the quick schedule becomes faster by it; with splits
 * also where it becomes a little slower first, and faster by another one. *changed: any were. */
static vta_status choose_merges(const vta_config *config, merger *g, const vtac_vta_options *options,
                                bool *changed, vta_diag *diag)
{
    enum { MAX_TRIED = 32, NEAR = 64 };
    uint64_t best = 0, cycles = 0;
    uint32_t tried = 0;
    *changed = false;
    vtac_vta_merge_save(g);
    for (uint32_t i = 0; i < g->from->tensor_count && tried < MAX_TRIED; i++) {
        if (g->from->tensors[i].role != VTAC_VTA_INTERNAL || !vtac_vta_merge_try(g, i)) {
            continue;
        }
        if (options->all_merges) {
            *changed = true;
            continue;
        }
        vtac_vta_merge_swap(g);
        VTA_TRY(tried++ == 0 ? quick_cycles(config, g, options, &best, diag) : VTA_OK);
        vtac_vta_merge_swap(g);
        VTA_TRY(quick_cycles(config, g, options, &cycles, diag));
        if (cycles > 0 && cycles < best) {
            best = cycles;
            *changed = true;
            vtac_vta_merge_save(g);
        } else if (cycles == 0 || !g->splits || cycles - best > best / NEAR) {
            vtac_vta_merge_swap(g);
        }
    }
    if (!options->all_merges) {
        vtac_vta_merge_restore(g);
    }
    return VTA_OK;
}

/* For reports: adds how many pixels of a layer's output are one, or how many a split layer makes at once. */
static void describe_merges(const merger *g, vtac_vta_image *image)
{
    for (uint32_t n = 0; n < g->from->layer_count; n++) {
        const int64_t by = g->by[g->from->layers[n].output];
        if (by > 1) {
            vtac_vta_plan_describe(&image->plans[n], "%" PRId64 " pixels in one", by);
        }
        if (g->region.layers[n].phases > 0) {
            vtac_vta_plan_describe(&image->plans[n], "%" PRId64 " pixels at once",
                                   g->region.layers[n].phases);
        }
    }
}

/* Schedules the region again with more merged pixels, and keeps the faster result. */
static vta_status schedule_merged(const vta_config *config, vtac_vta_region *region,
                                  const vtac_vta_options *options, merger *g, vtac_vta_image *out,
                                  vta_diag *diag)
{
    vtac_vta_image other;
    bool changed;
    VTA_TRY(choose_merges(config, g, options, &changed, diag));
    if (!changed) {
        return VTA_OK;
    }
    VTA_TRY(vtac_vta_merge_make(g, diag));
    VTA_TRY(schedule_alone(config, &g->region, options, &other, diag));
    if (options->all_merges) {
        out->cycles = UINT64_MAX;
    }
    if (keep_faster(out, &other, 0)) {
        vtac_vta_merge_lay_out(g, region);
        describe_merges(g, out);
    }
    return VTA_OK;
}

vta_status vtac_vta_schedule(const vta_config *config, vtac_vta_region *region,
                             const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag)
{
    merger g;
    machine m;
    VTA_TRY(schedule_alone(config, region, options, out, diag));
    if (options->no_merge) {
        return VTA_OK;
    }
    vta_status status = vtac_vta_machine_of(config, &m, diag);
    if (status == VTA_OK) {
        status = vtac_vta_merge_open(&m, region, &g, diag);
    }
    if (status == VTA_OK) {
        g.splits = options->all_splits;
        status = schedule_merged(config, region, options, &g, out, diag);
        if (status == VTA_OK && !options->all_merges) {
            g.splits = true;
            status = schedule_merged(config, region, options, &g, out, diag);
        }
        vtac_vta_merge_close(&g);
    }
    if (status != VTA_OK) {
        vtac_vta_image_free(out);
    }
    return status;
}

void vtac_vta_image_free(vtac_vta_image *image)
{
    vta_program_free(&image->program);
    free(image->constants);
    free(image->plans);
    *image = (vtac_vta_image){0};
}
