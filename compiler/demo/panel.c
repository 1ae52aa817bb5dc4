/* SPDX-License-Identifier: Apache-2.0 */
#include "panel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "outline.h"
#include "vta/fail.h"
#include "vta/model.h"
#include "vtac/exact.h"

enum { MAX_MODELS = 8, MAX_CLASSES = 16, TOP = 3 };

typedef struct scored_model {
    char path[1024];
    const char *device; /* after the @; NULL: none was named */
    vta_model *model;
    float scores[MAX_CLASSES];
    uint32_t right, as_before; /* of the pictures so far; as the one before it says */
    bool same_numbers;         /* as the one before it, for every picture so far */
} scored_model;

typedef struct panel {
    scored_model *of;
    uint32_t count;
} panel;

/* ---- the classifiers */

static vta_status check_shape(const scored_model *j, vta_diag *diag)
{
    const vta_tensor_info in = vta_model_input(j->model, 0);
    const vta_tensor_info out = vta_model_output(j->model, 0);
    if (in.bytes != sizeof(float) * PICTURE_CHANNELS * PICTURE_PIXELS || in.dtype_code != 2 ||
        out.bytes != sizeof(float) * demo_class_count || out.dtype_code != 2) {
        return vta_fail(diag, VTA_INVALID,
                        "%s: it is no classifier of these pictures, which has %d x %d x %d floats for input "
                        "and %u for output",
                        j->path, PICTURE_CHANNELS, PICTURE_SIDE, PICTURE_SIDE, demo_class_count);
    }
    return VTA_OK;
}

static vta_status load_model(const char *name, scored_model *j, vta_diag *diag)
{
    const char *at = strchr(name, '@');
    const int length = (int)(at == NULL ? strlen(name) : (size_t)(at - name));
    (void)snprintf(j->path, sizeof j->path, "%.*s", length, name);
    j->device = at == NULL ? NULL : at + 1;
    j->same_numbers = true;
    const vta_model_options options = {.threads = 1, .device = j->device};
    VTA_TRY(vta_model_load(j->path, &options, &j->model, diag));
    return check_shape(j, diag);
}

static void close_panel(panel *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        vta_model_destroy(p->of[i].model);
    }
    free(p->of);
    *p = (panel){0};
}

static vta_status open_panel(const panel_options *options, panel *p, vta_diag *diag)
{
    if (demo_class_count > MAX_CLASSES || options->count > MAX_MODELS) {
        return vta_fail(diag, VTA_INVALID, "%u models are too many: at most %d at once", options->count,
                        MAX_MODELS);
    }
    *p = (panel){.of = calloc(options->count, sizeof *p->of), .count = options->count};
    if (p->of == NULL) {
        return vta_no_memory(diag);
    }
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < p->count && status == VTA_OK; i++) {
        status = load_model(options->names[i], &p->of[i], diag);
    }
    if (status != VTA_OK) {
        close_panel(p);
    }
    return status;
}

/* ---- one picture */

static uint32_t best_class(const float *scores)
{
    uint32_t top = 0;
    for (uint32_t i = 1; i < demo_class_count; i++) {
        top = scores[i] > scores[top] ? i : top;
    }
    return top;
}

static vta_status score_picture(panel *p, const picture *pic, vta_diag *diag)
{
    float floats[PICTURE_CHANNELS * PICTURE_PIXELS];
    demo_picture_floats(pic, floats);
    for (uint32_t i = 0; i < p->count; i++) {
        scored_model *j = &p->of[i];
        const size_t bytes = demo_class_count * sizeof(float);
        VTA_TRY(vta_model_set_input(j->model, 0, floats, sizeof floats, diag));
        VTA_TRY(vta_model_run(j->model, diag));
        VTA_TRY(vta_model_get_output(j->model, 0, j->scores, bytes, diag));
        j->right += best_class(j->scores) == pic->which;
        if (i > 0) {
            j->as_before += best_class(j->scores) == best_class(j[-1].scores);
            j->same_numbers = j->same_numbers && memcmp(j->scores, j[-1].scores, bytes) == 0;
        }
    }
    return VTA_OK;
}

/* ---- many pictures */

/* Prints the name in front of a line, padded to the width of the longest. */
static void print_name(const scored_model *j)
{
    char name[64];
    const char *base = strrchr(j->path, '/');
    (void)snprintf(name, sizeof name, "%.40s%s%.16s", base == NULL ? j->path : base + 1,
                   j->device == NULL ? "" : " on ", j->device == NULL ? "" : j->device);
    (void)printf("%-24s", name);
}

static void print_scores(const panel *p, uint32_t pictures, uint64_t seed, bool json)
{
    (void)printf(json ? "{\"pictures\": %u, \"seed\": %llu, \"models\": [" : "%u pictures of seed %llu\n",
                 pictures, (unsigned long long)seed);
    for (uint32_t i = 0; i < p->count; i++) {
        const scored_model *j = &p->of[i];
        if (json) {
            (void)printf("%s\n {\"right\": %u, \"as_before\": %u, \"same_numbers\": %s}", i > 0 ? "," : "",
                         j->right, j->as_before, i > 0 && j->same_numbers ? "true" : "false");
            continue;
        }
        print_name(j);
        (void)printf(" %6.2f %% right", 100.0 * j->right / pictures);
        if (i > 0 && j->same_numbers) {
            (void)printf(", the same numbers as above");
        } else if (i > 0) {
            (void)printf(", %.2f %% the same answer as above", 100.0 * j->as_before / pictures);
        }
        (void)printf("\n");
    }
    (void)printf("%s", json ? "]}\n" : "");
}

vta_status demo_panel_score(const panel_options *options, uint32_t pictures, uint64_t seed, vta_diag *diag)
{
    panel p = {0};
    picture pic;
    VTA_TRY(open_panel(options, &p, diag));
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < pictures && status == VTA_OK; i++) {
        demo_draw_picture(seed, i, &pic);
        status = score_picture(&p, &pic, diag);
    }
    if (status == VTA_OK) {
        print_scores(&p, pictures, seed, options->json);
    }
    close_panel(&p);
    return status;
}

/* ---- files */

/* The classes by their scores, best first, with their shares of the whole (softmax). */
static void rank_classes(const float *scores, uint32_t *order, float *shares)
{
    float sum = 0.0F;
    const float top = scores[best_class(scores)];
    for (uint32_t i = 0; i < demo_class_count; i++) {
        uint32_t at = i;
        for (; at > 0 && scores[order[at - 1]] < scores[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
        shares[i] = (float)vtac_exp((double)(scores[i] - top));
        sum += shares[i];
    }
    for (uint32_t i = 0; i < demo_class_count; i++) {
        shares[i] /= sum;
    }
}

static void print_verdict(const scored_model *j, bool first, bool json)
{
    uint32_t order[MAX_CLASSES] = {0};
    float shares[MAX_CLASSES] = {0};
    const bool same = !first && memcmp(j->scores, j[-1].scores, demo_class_count * sizeof(float)) == 0;
    const unsigned long long took = vta_model_cycles(j->model);
    rank_classes(j->scores, order, shares);
    if (json) {
        (void)printf("%s\n  {\"top\": [", first ? "" : ",");
        for (uint32_t i = 0; i < TOP; i++) {
            (void)printf("%s{\"class\": \"%s\", \"share\": %.4f}", i > 0 ? ", " : "",
                         demo_class_name(order[i]), (double)shares[order[i]]);
        }
        (void)printf("], \"same_numbers\": %s, \"cycles\": %llu}", same ? "true" : "false", took);
        return;
    }
    (void)printf("  ");
    print_name(j);
    if (same) {
        (void)printf(" the same numbers");
    }
    for (uint32_t i = 0; !same && i < TOP; i++) {
        (void)printf(" %-9s%5.1f %%", demo_class_name(order[i]), 100.0 * (double)shares[order[i]]);
    }
    if (took > 0) {
        (void)printf(", %llu cycles", took);
    }
    (void)printf("\n");
}

static vta_status classify_file(panel *p, const char *file, bool first, bool json, vta_diag *diag)
{
    picture pic = {.which = demo_class_count}; /* not known */
    VTA_TRY(demo_picture_read(file, &pic, diag));
    VTA_TRY(score_picture(p, &pic, diag));
    const char *base = strrchr(file, '/');
    (void)printf(json ? "%s{\"picture\": \"%s\", \"results\": [" : "%s%s\n", json && !first ? ",\n " : "",
                 base == NULL ? file : base + 1);
    for (uint32_t i = 0; i < p->count; i++) {
        print_verdict(&p->of[i], i == 0, json);
    }
    (void)printf("%s", json ? "]}" : "");
    return VTA_OK;
}

vta_status demo_panel_classify(const panel_options *options, const char *const *files, uint32_t file_count,
                               vta_diag *diag)
{
    panel p = {0};
    VTA_TRY(open_panel(options, &p, diag));
    vta_status status = VTA_OK;
    (void)printf("%s", options->json ? "[" : "");
    for (uint32_t i = 0; i < file_count && status == VTA_OK; i++) {
        status = classify_file(&p, files[i], i == 0, options->json, diag);
    }
    (void)printf("%s", options->json ? "]\n" : "");
    close_panel(&p);
    return status;
}
