/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that are not taken: all of a model in one line, by the names that TensorFlow Lite gives them.
 */
#include <stdio.h>
#include <string.h>

#include "operators.h"

static const struct {
    int32_t code;
    const char *name;
} not_taken[] = {
#define TFL_OP(code, name, min, fn, how)
#define TFL_CUSTOM(name, min, fn)
#define TFL_NAME(code, name) {code, #name},
#include "operators.def"
};

enum { MAX = 16 };
typedef struct missing {
    const vtac_tflite_op *first[MAX]; /* of each kind */
    const char *where[MAX];
    uint32_t times[MAX];
    uint32_t count;
    bool more; /* than there is room for */
} missing;

static bool same_kind(const vtac_tflite_op *a, const vtac_tflite_op *b)
{
    return a->code == b->code && (a->custom == b->custom || (a->custom != NULL && b->custom != NULL &&
                                                             strcmp(a->custom, b->custom) == 0));
}

static void collect_missing(missing *all, const vtac_tflite_graph *graph)
{
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const vtac_tflite_op *op = &graph->ops[i];
        uint32_t k = 0;
        if (op->kind != NULL) {
            continue;
        }
        while (k < all->count && !same_kind(all->first[k], op)) {
            k++;
        }
        if (k == MAX) {
            all->more = true;
            continue;
        }
        if (k == all->count) {
            all->first[all->count++] = op;
            all->where[k] = op->output_count > 0 ? graph->tensors[op->outputs[0]].name : "";
        }
        all->times[k]++;
    }
}

/* Number of the operator's first options that name graphs which it calls. */
static uint32_t graphs_of(const vtac_tflite_op *op)
{
    vtac_tflite_import_fn *const import = op->kind != NULL ? op->kind->import : NULL;
    return import == vtac_tflite_import_if || import == vtac_tflite_import_while ? 2
           : import == vtac_tflite_import_call_once                              ? 1
                                                                                 : 0;
}

/* From the network and all graphs that it may call. */
static void collect_all(vtac_tflite *im, missing *all)
{
    const uint32_t count = im->model.graph_count;
    uint32_t *queue = vtac_make_room(&im->maker, count, sizeof *queue);
    bool *met = vtac_make_room(&im->maker, count, sizeof *met);
    if (queue == NULL || met == NULL) {
        return;
    }
    memset(met, 0, count * sizeof *met);
    uint32_t used = 1;
    queue[0] = im->model.chosen;
    met[im->model.chosen] = true;
    for (uint32_t i = 0; i < used; i++) {
        const vtac_tflite_graph *graph = &im->model.graphs[queue[i]];
        collect_missing(all, graph);
        for (uint32_t k = 0; k < graph->op_count; k++) {
            im->op = &graph->ops[k];
            for (uint32_t option = 0; option < graphs_of(im->op); option++) {
                const int64_t to = vtac_tflite_option(im, option, 4, 0);
                if (to >= 0 && to < (int64_t)count && !met[to]) {
                    met[to] = true;
                    queue[used++] = (uint32_t)to;
                }
            }
        }
    }
}

static const char *name_of(const vtac_tflite_op *op, char *room, size_t size)
{
    for (size_t i = 0; op->custom == NULL && i < sizeof not_taken / sizeof not_taken[0]; i++) {
        if (not_taken[i].code == op->code) {
            return not_taken[i].name;
        }
    }
    if (op->custom != NULL) {
        (void)snprintf(room, size, "the custom operator %.80s", op->custom);
    } else {
        (void)snprintf(room, size, "the builtin operator %d", op->code);
    }
    return room;
}

vta_status vtac_tflite_check_operators(vtac_tflite *im, vta_diag *diag)
{
    missing all = {.count = 0};
    collect_missing(&all, im->graph);
    if (all.count == 0) {
        return VTA_OK;
    }
    all = (missing){.count = 0};
    collect_all(im, &all);
    char list[700] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        char room[128];
        char times[32] = "";
        if (all.times[i] > 1) {
            (void)snprintf(times, sizeof times, "%u times, first ", all.times[i]);
        }
        const int size =
            snprintf(list + used, sizeof list - used, "%s%s (%sat '%.80s')", used == 0 ? "" : ", ",
                     name_of(all.first[i], room, sizeof room), times, all.where[i]);
        if (used + (size_t)size >= sizeof list) {
            list[used] = '\0';
            all.more = true;
            break;
        }
        used += (size_t)size;
    }
    return vta_fail(diag, VTA_UNSUPPORTED, "not supported: %s%s", list, all.more ? " and more" : "");
}
