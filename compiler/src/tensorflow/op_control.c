/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls, branches, loops, variables, lists of tensors. Functions are written out where they are called. Of a
 * branch whose condition is known one side is imported, else both, and the condition chooses among the
 * results. A loop is written out round by round: its condition must be known each time (loops.c makes
 * one of TensorFlow 1 such a loop).
 */
#include <string.h>

#include "import.h"

enum { MAX_ROUNDS = 1 << 16 };

typedef struct vtac_tf_list {
    vtac_id *items; /* 0: not set */
    int64_t count;
    bool grows; /* by what is written behind its end */
} vtac_tf_list;

/* ---- calls */

static vtac_tf_value *arguments(vtac_tf *im, uint32_t from)
{
    vtac_tf_value *args = vtac_make_room(&im->maker, im->in_count, sizeof *args);
    for (uint32_t i = from; args != NULL && i < im->in_count; i++) {
        args[i - from] = *im->in[i];
    }
    return args;
}

static void set_all(vtac_tf *im, const vtac_tf_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        *vtac_tf_out(im, i) = values[i];
    }
}

void vtac_tf_import_call(vtac_tf *im)
{
    vtac_tf_value *args = arguments(im, 0);
    vtac_tf_value *out;
    uint32_t count;
    if (args != NULL && vtac_tf_call(im, vtac_tf_text(im->node, "f", ""), args, im->in_count, &out, &count)) {
        set_all(im, out, count);
    }
}

/* The truth of a value that the graph knows. */
static bool is_known_truth(vtac_tf *im, vtac_tf_value *v, bool *out)
{
    const vtac_tensor *known = vtac_made_constant(&im->maker, vtac_tf_plain_of(im, v));
    *out = known != NULL && vtac_type_elements(&known->type) == 1 && vtac_tensor_float(known, 0) != 0.0;
    return known != NULL;
}

static void choose_result(vtac_tf *im, vtac_id condition, vtac_tf_value *yes, vtac_tf_value *no, uint32_t i)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id a = vtac_tf_plain_of(im, yes);
    const vtac_id b = vtac_tf_plain_of(im, no);
    if (m->status == VTA_OK && !vtac_made_alike(m, a, b)) {
        vtac_make_refuse(&im->maker, "branches whose output %u has different shapes", i);
        return;
    }
    vtac_tf_set(im, i, vtac_make3(m, VTAC_OP_WHERE, condition, a, b));
}

void vtac_tf_import_if(vtac_tf *im)
{
    static const char *const branches[] = {"else_branch", "then_branch"};
    vtac_tf_value *args = arguments(im, 1);
    vtac_tf_value *out[2] = {NULL, NULL};
    uint32_t count[2] = {0, 0};
    bool truth;
    if (args == NULL) {
        return;
    }
    const bool known = is_known_truth(im, im->in[0], &truth);
    for (int side = 0; side < 2; side++) {
        const char *name = vtac_tf_text(im->node, branches[side], "");
        if ((!known || truth == (side == 1)) &&
            !vtac_tf_call(im, name, args, im->in_count - 1, &out[side], &count[side])) {
            return;
        }
    }
    if (known) {
        set_all(im, out[truth ? 1 : 0], count[truth ? 1 : 0]);
        return;
    }
    for (uint32_t i = 0; i < count[0] && i < count[1]; i++) {
        choose_result(im, vtac_tf_plain(im, 0), &out[1][i], &out[0][i], i);
    }
}

void vtac_tf_import_while(vtac_tf *im)
{
    const char *condition = vtac_tf_text(im->node, "cond", "");
    const char *body = vtac_tf_text(im->node, "body", "");
    vtac_tf_value *values = arguments(im, 0);
    vtac_tf_value *asked;
    uint32_t count = im->in_count;
    for (uint32_t round = 0; values != NULL && im->maker.status == VTA_OK; round++) {
        bool again = false;
        uint32_t answers;
        if (!vtac_tf_call(im, condition, values, count, &asked, &answers) || answers != 1) {
            return;
        }
        if (!is_known_truth(im, &asked[0], &again) || round == MAX_ROUNDS) {
            vtac_make_refuse(&im->maker, "a loop whose rounds the run counts, or of more than %d",
                             MAX_ROUNDS);
            return;
        }
        if (!again) {
            set_all(im, values, count);
            return;
        }
        if (!vtac_tf_call(im, body, values, count, &values, &count) || count != im->in_count) {
            vtac_make_fail(&im->maker, VTA_INVALID, "a loop whose round gives another number of values");
            return;
        }
    }
}

/* ---- TensorFlow 1's branches */

/* x and a condition: x goes to output 1 where that is true, else to output 0. */
void vtac_tf_import_switch(vtac_tf *im)
{
    bool truth;
    const bool known = is_known_truth(im, im->in[1], &truth);
    const vtac_id condition = vtac_tf_plain(im, 1);
    for (uint32_t i = 0; i < 2; i++) {
        vtac_tf_value *out = vtac_tf_out(im, i);
        *out = *im->in[0];
        out->dead = known && truth != (i == 1);
        out->choice = known ? out->choice : condition;
        out->side = known ? out->side : i == 1;
    }
}

/* Gives the value of the branch that is taken, and its number. */
void vtac_tf_import_merge(vtac_tf *im)
{
    const vtac_tf_value *a = im->in[0];
    const vtac_tf_value *b = im->in_count == 2 ? im->in[1] : a;
    if (im->in_count != 2 || (a->dead && b->dead)) {
        vtac_make_refuse(&im->maker, "the end of a branch with %u inputs", im->in_count);
        return;
    }
    if (a->dead || b->dead) {
        *vtac_tf_out(im, 0) = *(a->dead ? b : a);
        vtac_tf_set(im, 1, vtac_make_number(&im->maker, VTAC_I32, a->dead ? 1.0 : 0.0));
        return;
    }
    const vtac_tf_value *known = a->choice != 0 ? a : b;
    const bool first = known == a ? a->side : !b->side; /* a is what comes where it is true */
    if (known->choice == 0 ||
        (a->choice != 0 && b->choice != 0 && (a->choice != b->choice || a->side == b->side))) {
        vtac_make_refuse(&im->maker, "the end of branches that do not belong together");
        return;
    }
    choose_result(im, known->choice, im->in[first ? 0 : 1], im->in[first ? 1 : 0], 0);
}

/* ---- variables */

/* A handle, or of TensorFlow 1 the variable itself. */
void vtac_tf_import_variable(vtac_tf *im)
{
    const char *shared = vtac_tf_text(im->node, "shared_name", im->node->name);
    vtac_tf_out(im, 0)->variable = shared;
    if (im->how == TF_VALUE) {
        im->in = vtac_make_room(&im->maker, 1, sizeof *im->in);
        if (im->in != NULL) {
            im->in[0] = vtac_tf_out(im, 0);
            im->in[0]->variable = im->node->name;
            im->in_count = 1;
            vtac_tf_import_read_variable(im);
        }
    }
}

void vtac_tf_import_read_variable(vtac_tf *im)
{
    vtac_tensor tensor;
    const char *name = im->in[0]->variable;
    if (name == NULL || im->graph.variables == NULL) {
        vtac_make_refuse(&im->maker,
                         "a variable, whose contents are not in the file: freeze the graph, or give the "
                         "SavedModel's folder");
        return;
    }
    const vta_status status =
        vtac_tf_bundle_read(im->graph.variables, name, &im->maker.graph->arena, &tensor, im->maker.diag);
    if (status != VTA_OK) {
        im->maker.status = im->maker.status == VTA_OK ? status : im->maker.status;
        return;
    }
    vtac_tf_set(im, 0, vtac_make_borrowed(&im->maker, &tensor.type, tensor.data));
}

/* ---- lists of tensors, whose lengths are known: lists of TensorFlow 2, and arrays of TensorFlow 1, whose
 * contents are what flows from one operator to the next */

static vtac_tf_list *new_list(vtac_tf *im, int64_t count)
{
    vtac_tf_list *list = vtac_make_room(&im->maker, 1, sizeof *list);
    if (list == NULL || count < 0 || count > MAX_ROUNDS) {
        vtac_make_refuse(&im->maker, "a list of %lld tensors", (long long)count);
        return NULL;
    }
    list->count = count;
    list->items = vtac_make_room(&im->maker, count, sizeof *list->items);
    return list->items == NULL ? NULL : list;
}

/* A list of `count` with what another has. */
static vtac_tf_list *copy_list(vtac_tf *im, const vtac_tf_list *from, int64_t count)
{
    vtac_tf_list *copy = new_list(im, count);
    if (copy != NULL && from->count > 0) {
        memcpy(copy->items, from->items, (size_t)from->count * sizeof *copy->items);
    }
    return copy;
}

/* The last input of an array, the first of a list. */
static vtac_tf_list *list_input(vtac_tf *im)
{
    const uint32_t at = im->how == TF_ARRAY ? im->in_count - 1 : 0;
    if (im->in[at]->list == NULL) {
        vtac_make_refuse(&im->maker, "an input that is no list whose length is known");
    }
    return im->in[at]->list;
}

/* An array has a handle as well; `dynamic_size` lets it grow by what is written. */
void vtac_tf_import_list_reserve(vtac_tf *im)
{
    vtac_tf_list *list = new_list(im, vtac_tf_known_int(im, im->how == TF_ARRAY ? 0 : 1, "length"));
    if (list != NULL) {
        list->grows = vtac_tf_int(im->node, "dynamic_size", 0) != 0;
    }
    vtac_tf_out(im, 0)->list = list;
    if (im->how == TF_ARRAY) {
        vtac_tf_out(im, 1)->list = list;
    }
}

static vtac_id row_of(vtac_tf *im, vtac_id x, int64_t i)
{
    const vtac_type type = vtac_made_type(&im->maker, x);
    return vtac_make_reshape(&im->maker, vtac_make_slice(&im->maker, x, 0, i, i + 1), type.dim + 1,
                             type.rank - 1);
}

/* A list of the rows of a tensor. */
void vtac_tf_import_list_from(vtac_tf *im)
{
    const vtac_type x = vtac_tf_type(im, 0);
    vtac_tf_list *list = new_list(im, x.rank == 0 ? -1 : x.dim[0]);
    for (int64_t i = 0; list != NULL && i < list->count; i++) {
        list->items[i] = row_of(im, vtac_tf_plain(im, 0), i);
    }
    vtac_tf_out(im, 0)->list = list;
}

static bool is_place(vtac_tf *im, const vtac_tf_list *list, int64_t at)
{
    if (im->maker.status == VTA_OK && (at < 0 || at >= (list->grows ? MAX_ROUNDS : list->count))) {
        vtac_make_fail(&im->maker, VTA_INVALID, "place %lld of a list of %lld", (long long)at,
                       (long long)list->count);
    }
    return im->maker.status == VTA_OK;
}

static bool list_place(vtac_tf *im, const vtac_tf_list *list, int64_t *at)
{
    *at = vtac_tf_known_int(im, 1, "place");
    return is_place(im, list, *at);
}

static vtac_id item_of(vtac_tf *im, const vtac_tf_list *list, int64_t at)
{
    const vtac_id item = at < list->count ? list->items[at] : 0;
    if (item == 0) {
        vtac_make_refuse(&im->maker, "place %lld of a list, which was never set", (long long)at);
    }
    return item;
}

void vtac_tf_import_list_get(vtac_tf *im)
{
    const vtac_tf_list *list = list_input(im);
    int64_t at;
    if (list != NULL && list_place(im, list, &at)) {
        const vtac_id item = item_of(im, list, at);
        if (item != 0) {
            vtac_tf_set(im, 0, item);
        }
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The list before it stays what it was. */
void vtac_tf_import_list_set(vtac_tf *im)
{
    const vtac_tf_list *list = list_input(im);
    int64_t at;
    vtac_tf_list *copy =
        list == NULL || !list_place(im, list, &at) ? NULL : copy_list(im, list, larger(list->count, at + 1));
    if (copy != NULL) {
        copy->grows = list->grows;
        copy->items[at] = vtac_tf_plain(im, 2);
    }
    vtac_tf_out(im, 0)->list = copy;
}

/* The places of an array that an operator names. */
static int64_t *places(vtac_tf *im, uint32_t input, uint32_t *count)
{
    int64_t *at = vtac_make_room(&im->maker, MAX_ROUNDS, sizeof *at);
    *count = at == NULL ? 0 : vtac_tf_known_ints(im, input, "places", at, MAX_ROUNDS);
    return im->maker.status == VTA_OK ? at : NULL;
}

/* Rows of input 2 go to the places of input 1. */
void vtac_tf_import_array_scatter(vtac_tf *im)
{
    const vtac_tf_list *list = list_input(im);
    const vtac_type x = vtac_tf_type(im, 2);
    uint32_t count = 0;
    const int64_t *at = list == NULL ? NULL : places(im, 1, &count);
    int64_t length = list == NULL ? 0 : list->count;
    if (at != NULL && (x.rank == 0 || x.dim[0] != (int64_t)count)) {
        vtac_make_fail(&im->maker, VTA_INVALID, "%u places for %lld rows", count,
                       x.rank == 0 ? 0LL : (long long)x.dim[0]);
        return;
    }
    for (uint32_t i = 0; at != NULL && i < count; i++) {
        if (!is_place(im, list, at[i])) {
            return;
        }
        length = larger(length, at[i] + 1);
    }
    vtac_tf_list *copy = at == NULL ? NULL : copy_list(im, list, length);
    for (uint32_t i = 0; copy != NULL && i < count; i++) {
        copy->grows = list->grows;
        copy->items[at[i]] = row_of(im, vtac_tf_plain(im, 2), i);
    }
    vtac_tf_out(im, 0)->list = copy;
}

/* Items of a list under each other: of the list as a whole, or of an array at the places that it is asked
 * for. */
static void stack_items(vtac_tf *im, const vtac_tf_list *list, const int64_t *at, int64_t count)
{
    vtac_import_builder *m = &im->maker;
    vtac_id *parts = vtac_make_room(m, count, sizeof *parts);
    for (int64_t i = 0; parts != NULL && i < count; i++) {
        const vtac_id item = item_of(im, list, at == NULL ? i : at[i]);
        if (item == 0 || m->status != VTA_OK) {
            return;
        }
        const vtac_type type = vtac_made_type(m, item);
        int64_t dims[VTAC_MAX_RANK + 1] = {1};
        memcpy(dims + 1, type.dim, sizeof type.dim);
        if (type.rank == VTAC_MAX_RANK) {
            vtac_make_refuse(m, "a list of tensors with %u axes", type.rank);
            return;
        }
        parts[i] = vtac_make_reshape(m, item, dims, type.rank + 1);
    }
    if (parts != NULL && count > 0) {
        vtac_tf_set(im, 0, vtac_make_concat(m, parts, (uint32_t)count, 0));
    }
}

void vtac_tf_import_list_stack(vtac_tf *im)
{
    const vtac_tf_list *list = list_input(im);
    uint32_t count = 0;
    const int64_t *at = list != NULL && im->how == TF_ARRAY ? places(im, 1, &count) : NULL;
    for (uint32_t i = 0; at != NULL && i < count; i++) {
        if (!is_place(im, list, at[i])) {
            return;
        }
    }
    if (list != NULL && im->maker.status == VTA_OK) {
        stack_items(im, list, at, at == NULL ? list->count : (int64_t)count);
    }
}

void vtac_tf_import_list_length(vtac_tf *im)
{
    const vtac_tf_list *list = list_input(im);
    if (list != NULL) {
        vtac_tf_set(im, 0, vtac_make_number(&im->maker, VTAC_I32, (double)list->count));
    }
}
