/* SPDX-License-Identifier: Apache-2.0
 *
 * Ensembles of trees of ai.onnx.ml. All trees are walked together, one level at a time: where each row of the
 * input stands in each tree is a number that selects the next from tables. A leaf leads to itself.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compose_ml.h"

enum { MAX_NODES = 1 << 24, MAX_LEVELS = 512, MAX_TARGETS = 1 << 16 };

/* Why a node's true branch is taken: the value is below, equal, above; or no number. */
enum { BELOW = 1, EQUAL = 2, ABOVE = 4, NO_NUMBER = 8 };

typedef struct tree_node {
    int64_t next[2]; /* if false, if true; both the node itself: a leaf */
    int64_t feature, leaf;
    double split;
    int conditions;
} tree_node;

typedef struct forest {
    tree_node *nodes;
    int64_t count, leaves, trees;
    int64_t *roots;
    double *weights; /* [leaves, targets] */
    int64_t targets;
    int64_t levels;
} forest;

static void *alloc_items(vtac_compose *c, int64_t count, size_t size)
{
    void *all =
        count < 0 || count > MAX_NODES ? NULL : vta_arena_array(&c->im->graph->arena, (size_t)count, size);
    if (all == NULL) {
        (void)vtac_compose_fail(c, VTA_NOMEM, "out of memory for %lld nodes", (long long)count);
        return NULL;
    }
    memset(all, 0, (size_t)count * size);
    return all;
}

/* ---- the shape of trees */

typedef struct stacked {
    int64_t node, level;
} stacked;

/* Computes the number of levels. A node that several parents share counts at its deepest place; a cycle runs
 * out of levels. */
static void measure_depth(vtac_compose *c, forest *f)
{
    stacked *stack = alloc_items(c, f->trees + MAX_LEVELS + 2, sizeof *stack);
    int32_t *deepest = alloc_items(c, f->count, sizeof *deepest); /* from 1 */
    int64_t depth = 0;
    if (stack == NULL || deepest == NULL) {
        return;
    }
    for (int64_t i = 0; i < f->trees; i++) {
        stack[depth++] = (stacked){f->roots[i], 0};
    }
    while (depth > 0 && c->make.status == VTA_OK) {
        const stacked at = stack[--depth];
        const tree_node *node = &f->nodes[at.node];
        f->levels = at.level > f->levels ? at.level : f->levels;
        if (at.level > MAX_LEVELS) {
            (void)vtac_compose_fail(c, VTA_UNSUPPORTED, "its trees have more than %d levels, or no end",
                                    MAX_LEVELS);
        } else if (node->next[0] != at.node && at.level >= deepest[at.node]) {
            deepest[at.node] = (int32_t)at.level + 1;
            stack[depth++] = (stacked){node->next[0], at.level + 1};
            stack[depth++] = (stacked){node->next[1], at.level + 1};
        }
    }
}

/* ---- the walk */

static vtac_value_id node_table(vtac_compose *c, const forest *f, int what, vtac_dtype dtype)
{
    double *values = vtac_c_room(c, f->count);
    const vtac_type type = {dtype, 1, {f->count}};
    for (int64_t i = 0; values != NULL && i < f->count; i++) {
        const tree_node *n = &f->nodes[i];
        values[i] = what == 0   ? (double)n->next[0]
                    : what == 1 ? (double)n->next[1]
                    : what == 2 ? (double)n->feature
                    : what == 3 ? (double)n->leaf
                                : n->split;
    }
    return values == NULL ? 0 : vtac_c_numbers(c, &type, values);
}

/* Table of the nodes where condition `bit` decides; 0 where it decides nowhere. *always: it decides at all
 * nodes that branch. */
static vtac_value_id condition_table(vtac_compose *c, const forest *f, int bit, bool *always)
{
    double *values = vtac_c_room(c, f->count);
    const vtac_type type = {VTAC_BOOL, 1, {f->count}};
    bool any = false;
    *always = true;
    for (int64_t i = 0; values != NULL && i < f->count; i++) {
        const bool leaf = f->nodes[i].next[0] == i;
        values[i] = (f->nodes[i].conditions & bit) != 0;
        any = any || (values[i] != 0.0 && !leaf);
        *always = *always && (values[i] != 0.0 || leaf);
    }
    return values == NULL || !any ? 0 : vtac_c_numbers(c, &type, values);
}

static vtac_value_id either_condition(vtac_compose *c, vtac_value_id a, vtac_value_id b)
{
    return a == 0 ? b : b == 0 ? a : vtac_c_or(c, a, b);
}

/* The number of the leaf that each row [rows, columns] reaches in each tree. */
static vtac_value_id walk_trees(vtac_compose *c, const forest *f, vtac_value_id x)
{
    static const int bits[] = {BELOW, EQUAL, ABOVE, NO_NUMBER};
    const vtac_type type = vtac_c_type(c, x);
    const vtac_value_id next[] = {node_table(c, f, 0, VTAC_I64), node_table(c, f, 1, VTAC_I64)};
    const vtac_value_id feature = node_table(c, f, 2, VTAC_I64);
    const vtac_value_id split = node_table(c, f, 4, type.dtype);
    vtac_value_id tables[4];
    bool always[4];
    for (uint32_t k = 0; k < 4; k++) {
        tables[k] = condition_table(c, f, bits[k], &always[k]);
    }
    const bool at_most = tables[0] != 0 && always[0] && tables[1] != 0 && always[1];
    const int64_t shape[] = {type.dim[0], f->trees};
    vtac_value_id at =
        vtac_c_expand(c, vtac_c_unsqueeze(c, vtac_c_integers(c, f->roots, f->trees), 0), shape, 2);
    for (int64_t level = 0; level < f->levels && c->make.status == VTA_OK; level++) {
        const vtac_value_id value = vtac_c_gather_elements(c, x, vtac_c_gather(c, feature, at, 0), 1);
        const vtac_value_id limit = vtac_c_gather(c, split, at, 0);
        vtac_value_id yes = at_most ? vtac_c_at_most(c, value, limit) : 0;
        for (uint32_t k = at_most ? 2 : 0; k < 4; k++) {
            if (tables[k] == 0) {
                continue;
            }
            vtac_value_id here = k == 0   ? vtac_c_less(c, value, limit)
                                 : k == 1 ? vtac_c_equal(c, value, limit)
                                 : k == 2 ? vtac_c_more(c, value, limit)
                                          : vtac_c1(c, VTAC_OP_IS_NAN, value);
            here = always[k] ? here : vtac_c_and(c, here, vtac_c_gather(c, tables[k], at, 0));
            yes = either_condition(c, yes, here);
        }
        at = yes == 0
                 ? vtac_c_gather(c, next[0], at, 0)
                 : vtac_c_where(c, yes, vtac_c_gather(c, next[1], at, 0), vtac_c_gather(c, next[0], at, 0));
    }
    return vtac_c_gather(c, node_table(c, f, 3, VTAC_I64), at, 0);
}

typedef enum aggregate { AVERAGE, SUM, MIN, MAX } aggregate;

/* Sums (or what is asked for) of the weights of the leaves that are reached: [rows, targets]. */
static vtac_value_id gather_leaves(vtac_compose *c, forest *f, aggregate how)
{
    const vtac_value_id x = vtac_c_rows(c, vtac_c_floats(c, 0, true));
    const vtac_dtype type = vtac_c_dtype(c, x);
    for (int64_t i = 0; c->make.status == VTA_OK && i < f->count; i++) {
        if (f->nodes[i].next[0] != i &&
            (f->nodes[i].feature < 0 || f->nodes[i].feature >= vtac_c_dim(c, x, 1))) {
            return vtac_compose_fail(c, VTA_RANGE, "a tree asks for column %lld of %lld",
                                     (long long)f->nodes[i].feature, (long long)vtac_c_dim(c, x, 1));
        }
    }
    measure_depth(c, f);
    if (c->make.status != VTA_OK) {
        return 0;
    }
    const vtac_type shape = {type, 2, {f->leaves, f->targets}};
    const vtac_value_id reached = walk_trees(c, f, x);
    const vtac_value_id weights = vtac_c_gather(c, vtac_c_numbers(c, &shape, f->weights), reached, 0);
    const vtac_op op = how == MIN   ? VTAC_OP_REDUCE_MIN
                       : how == MAX ? VTAC_OP_REDUCE_MAX
                       : how == SUM ? VTAC_OP_REDUCE_SUM
                                    : VTAC_OP_REDUCE_MEAN;
    const vtac_value_id y = vtac_c_reduce(c, op, weights, 1, 1);
    const int64_t rows[] = {vtac_c_dim(c, x, 0), f->targets};
    return vtac_c_reshape(c, y, rows, 2);
}

/* Value of a target that no leaf names. */
static double empty_target(aggregate how)
{
    return how == MIN ? (double)FLT_MAX : how == MAX ? (double)-FLT_MAX : 0.0;
}

static void make_weights(vtac_compose *c, forest *f, aggregate how)
{
    if (f->targets < 1 || f->targets > MAX_TARGETS || f->leaves * f->targets > MAX_NODES) {
        (void)vtac_compose_fail(c, VTA_RANGE, "%lld targets of %lld leaves are too many",
                                (long long)f->targets, (long long)f->leaves);
        return;
    }
    f->weights = vtac_c_room(c, f->leaves * f->targets);
    for (int64_t i = 0; f->weights != NULL && i < f->leaves * f->targets; i++) {
        f->weights[i] = empty_target(how);
    }
}

static void add_weight(const forest *f, aggregate how, int64_t leaf, int64_t target, double weight)
{
    double *to = &f->weights[leaf * f->targets + target];
    *to = how == MIN ? fmin(*to, weight) : how == MAX ? fmax(*to, weight) : *to + weight;
}

/* ---- TreeEnsembleClassifier and -Regressor: nodes by the number of their tree and their own */

typedef struct named_node {
    int64_t tree, node, place;
} named_node;

static int by_name(const void *a, const void *b)
{
    const named_node *x = a;
    const named_node *y = b;
    return x->tree != y->tree   ? (x->tree < y->tree ? -1 : 1)
           : x->node != y->node ? (x->node < y->node ? -1 : 1)
                                : 0;
}

static int64_t find_node(vtac_compose *c, const named_node *names, int64_t count, int64_t tree, int64_t node)
{
    const named_node key = {tree, node, 0};
    const named_node *found = count == 0 ? NULL : bsearch(&key, names, (size_t)count, sizeof key, by_name);
    if (found == NULL) {
        (void)vtac_compose_fail(c, VTA_INVALID, "tree %lld has no node %lld", (long long)tree,
                                (long long)node);
        return 0;
    }
    return found->place;
}

/* BRANCH_LEQ and the like as conditions; 0: a leaf, -1: no mode */
static int mode_of(const char *mode)
{
    static const struct {
        const char *name;
        int conditions;
    } modes[] = {{"BRANCH_LEQ", BELOW | EQUAL},
                 {"BRANCH_LT", BELOW},
                 {"BRANCH_GTE", ABOVE | EQUAL},
                 {"BRANCH_GT", ABOVE},
                 {"BRANCH_EQ", EQUAL},
                 {"BRANCH_NEQ", BELOW | ABOVE | NO_NUMBER},
                 {"LEAF", 0}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, mode) == 0) {
            return modes[i].conditions;
        }
    }
    return -1;
}

typedef struct old_form {
    vtac_numbers trees, ids, truth, lies, features, splits, missing;
    const vtac_attr *modes;
    named_node *names;
} old_form;

static void read_old_form(vtac_compose *c, old_form *o, forest *f)
{
    static const char *const splits[] = {"nodes_values", "nodes_values_as_tensor", NULL};
    o->trees = vtac_c_list_of(c, "nodes_treeids");
    o->ids = vtac_c_list_of(c, "nodes_nodeids");
    o->truth = vtac_c_list_of(c, "nodes_truenodeids");
    o->lies = vtac_c_list_of(c, "nodes_falsenodeids");
    o->features = vtac_c_list_of(c, "nodes_featureids");
    o->missing = vtac_c_list_of(c, "nodes_missing_value_tracks_true");
    o->splits = vtac_c_list(c, splits);
    o->modes = vtac_c_attr(c, "nodes_modes");
    f->count = o->ids.count;
    const int64_t n = f->count;
    if (c->make.status == VTA_OK &&
        (n < 1 || n > MAX_NODES || o->trees.count != n || o->truth.count != n || o->lies.count != n ||
         o->features.count != n || o->splits.count != n || (o->missing.count != 0 && o->missing.count != n) ||
         o->modes == NULL || o->modes->kind != VTAC_ATTR_STRINGS || (int64_t)o->modes->count != n)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its lists of nodes are missing or of different lengths");
    }
    if (c->make.status != VTA_OK) {
        return;
    }
    f->nodes = alloc_items(c, n, sizeof *f->nodes);
    f->roots = alloc_items(c, n, sizeof *f->roots);
    o->names = alloc_items(c, n, sizeof *o->names);
    for (int64_t i = 0; c->make.status == VTA_OK && i < n; i++) {
        o->names[i] = (named_node){vtac_integer_at(&o->trees, i), vtac_integer_at(&o->ids, i), i};
    }
    if (c->make.status == VTA_OK) {
        qsort(o->names, (size_t)n, sizeof *o->names, by_name);
    }
}

static void build_old_form(vtac_compose *c, old_form *o, forest *f)
{
    read_old_form(c, o, f);
    bool *child = c->make.status == VTA_OK ? alloc_items(c, f->count, sizeof *child) : NULL;
    for (int64_t i = 0; c->make.status == VTA_OK && i < f->count; i++) {
        tree_node *node = &f->nodes[i];
        const int mode = mode_of(o->modes->strings[i]);
        const int64_t tree = vtac_integer_at(&o->trees, i);
        if (mode < 0) {
            (void)vtac_compose_fail(c, VTA_INVALID, "mode '%.32s' is not one that it has",
                                    o->modes->strings[i]);
        } else if (mode == 0) {
            *node = (tree_node){.next = {i, i}, .leaf = f->leaves++};
        } else {
            node->split = vtac_number_at(&o->splits, i);
            node->feature = vtac_integer_at(&o->features, i);
            node->conditions = mode;
            if (o->missing.count > 0 && vtac_integer_at(&o->missing, i) != 0) {
                node->conditions |= NO_NUMBER;
            }
            node->next[0] = find_node(c, o->names, f->count, tree, vtac_integer_at(&o->lies, i));
            node->next[1] = find_node(c, o->names, f->count, tree, vtac_integer_at(&o->truth, i));
            child[node->next[0]] = child[node->next[1]] = true;
            if (c->make.status == VTA_OK && (node->next[0] == i || node->next[1] == i)) {
                (void)vtac_compose_fail(c, VTA_INVALID, "node %lld leads to itself", (long long)i);
            }
        }
    }
    for (int64_t i = 0; c->make.status == VTA_OK && i < f->count; i++) {
        if (!child[i]) {
            f->roots[f->trees++] = i;
        }
    }
    if (c->make.status == VTA_OK && (f->trees == 0 || f->leaves == 0)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "it has no tree");
    }
}

/* The weights of leaves; returns the only target that they name, or -1. */
static int64_t add_old_weights(vtac_compose *c, const old_form *o, forest *f, aggregate how,
                               const char *prefix, bool *positive)
{
    char names[4][48];
    static const char *const parts[] = {"treeids", "nodeids", "ids", "weights"};
    vtac_numbers lists[4];
    int64_t only = -2;
    for (uint32_t k = 0; k < 4; k++) {
        (void)strcat(strcat(strcpy(names[k], prefix), "_"), parts[k]);
        lists[k] = vtac_c_list_of(c, names[k]);
    }
    if (lists[3].count == 0) {
        lists[3] = vtac_c_list_of(c, strcat(names[3], "_as_tensor"));
    }
    const int64_t n = lists[0].count;
    if (c->make.status == VTA_OK && (lists[1].count != n || lists[2].count != n || lists[3].count != n)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its lists of weights are of different lengths");
    }
    make_weights(c, f, how);
    *positive = true;
    for (int64_t i = 0; c->make.status == VTA_OK && i < n; i++) {
        const int64_t place =
            find_node(c, o->names, f->count, vtac_integer_at(&lists[0], i), vtac_integer_at(&lists[1], i));
        const int64_t target = vtac_integer_at(&lists[2], i);
        const double weight = vtac_number_at(&lists[3], i);
        if (c->make.status == VTA_OK &&
            (f->nodes[place].next[0] != place || target < 0 || target >= f->targets)) {
            (void)vtac_compose_fail(c, VTA_INVALID, "weight %lld is of no leaf or of no target",
                                    (long long)i);
        } else if (c->make.status == VTA_OK) {
            add_weight(f, how, f->nodes[place].leaf, target, weight);
            *positive = *positive && weight >= 0.0;
            only = only == -2 || only == target ? target : -1;
        }
    }
    return only < 0 ? -1 : only;
}

static vtac_value_id add_base(vtac_compose *c, vtac_value_id y, const vtac_numbers *base)
{
    return base->count == 0 ? y : vtac_c_add(c, y, vtac_c_constant(c, base, vtac_c_dtype(c, y)));
}

static vtac_numbers base_values(vtac_compose *c, int64_t targets)
{
    static const char *const names[] = {"base_values", "base_values_as_tensor", NULL};
    const vtac_numbers base = vtac_c_list(c, names);
    if (c->make.status == VTA_OK && base.count > 1 && base.count != targets) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%lld base values for %lld targets", (long long)base.count,
                                (long long)targets);
    }
    return base;
}

static aggregate aggregate_of(vtac_compose *c)
{
    const char *name = vtac_c_string(c, "aggregate_function", "SUM");
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(names[i], name) == 0) {
            return (aggregate)i;
        }
    }
    (void)vtac_compose_fail(c, VTA_INVALID, "aggregate_function '%.32s' is not one that it has", name);
    return SUM;
}

void vtac_composed_ml_tree_regressor(vtac_compose *c, vtac_value_id *out)
{
    old_form o;
    forest f = {.targets = vtac_c_int(c, "n_targets", 1)};
    bool positive;
    const aggregate how = aggregate_of(c);
    build_old_form(c, &o, &f);
    (void)add_old_weights(c, &o, &f, how, "target", &positive);
    const vtac_numbers base = base_values(c, f.targets);
    out[0] = vtac_c_cast(c, vtac_c_post(c, add_base(c, gather_leaves(c, &f, how), &base)), VTAC_F32);
}

/* Two classes of which the leaves name one: its score says all. Positive weights are probabilities, others
 * have a sign that decides. */
static void one_of_two(vtac_compose *c, vtac_value_id score, bool positive, const vtac_numbers *labels,
                       vtac_value_id *out)
{
    const vtac_dtype type = vtac_c_dtype(c, score);
    const char *post = vtac_c_string(c, "post_transform", "NONE");
    const bool share = positive && (strcmp(post, "NONE") == 0 || strcmp(post, "PROBIT") == 0);
    const vtac_value_id other =
        share ? vtac_c_sub(c, vtac_c_number(c, type, 1.0), score) : vtac_c_neg(c, score);
    const vtac_value_id both[] = {other, score};
    const vtac_value_id won = vtac_c_more_number(c, score, positive ? 0.5 : 0.0);
    const bool single = labels->count == 1;
    out[0] = vtac_c_choose(c, vtac_c_squeeze(c, won, 1), labels, vtac_integer_at(labels, single ? 0 : 1),
                           single ? 0 : vtac_integer_at(labels, 0));
    out[1] = vtac_c_cast(c, vtac_c_post(c, vtac_c_concat(c, both, 2, 1)), VTAC_F32);
}

void vtac_composed_ml_tree_classifier(vtac_compose *c, vtac_value_id *out)
{
    old_form o;
    bool positive;
    const vtac_numbers labels = vtac_c_labels(c, "classlabels_int64s", "classlabels_strings");
    forest f = {.targets = labels.count};
    build_old_form(c, &o, &f);
    const int64_t only = add_old_weights(c, &o, &f, SUM, "class", &positive);
    const vtac_numbers base = base_values(c, f.targets);
    vtac_value_id scores = gather_leaves(c, &f, SUM);
    if (only >= 0 && f.targets <= 2) {
        vtac_value_id score = vtac_c_slice(c, scores, 1, only, only + 1);
        if (base.count > 0) {
            const double own = vtac_number_at(&base, base.count > 1 ? only : 0);
            score = vtac_c_add_number(c, score, own);
        }
        one_of_two(c, score, positive, &labels, out);
        return;
    }
    scores = vtac_c_post(c, add_base(c, scores, &base));
    out[0] = vtac_c_best_label(c, scores, &labels);
    out[1] = vtac_c_cast(c, scores, VTAC_F32);
}

/* ---- TreeEnsemble of version 5: branches and leaves numbered apart. A leaf's place is behind all branches.
 */

typedef struct new_form {
    vtac_numbers roots, modes, features, splits, next[2], is_leaf[2], targets, weights, missing, members;
    int64_t branches, spare; /* spare: the place of the next branch that a set of members asks for */
} new_form;

static void read_new_form(vtac_compose *c, new_form *o)
{
    o->roots = vtac_c_list_of(c, "tree_roots");
    o->modes = vtac_c_list_of(c, "nodes_modes");
    o->features = vtac_c_list_of(c, "nodes_featureids");
    o->splits = vtac_c_list_of(c, "nodes_splits");
    o->next[0] = vtac_c_list_of(c, "nodes_falsenodeids");
    o->next[1] = vtac_c_list_of(c, "nodes_truenodeids");
    o->is_leaf[0] = vtac_c_list_of(c, "nodes_falseleafs");
    o->is_leaf[1] = vtac_c_list_of(c, "nodes_trueleafs");
    o->targets = vtac_c_list_of(c, "leaf_targetids");
    o->weights = vtac_c_list_of(c, "leaf_weights");
    o->missing = vtac_c_list_of(c, "nodes_missing_value_tracks_true");
    o->members = vtac_c_list_of(c, "membership_values");
    const int64_t n = o->branches = o->modes.count;
    if (c->make.status == VTA_OK &&
        (n < 1 || n > MAX_NODES || o->features.count != n || o->splits.count != n || o->next[0].count != n ||
         o->next[1].count != n || o->is_leaf[0].count != n || o->is_leaf[1].count != n ||
         o->roots.count < 1 || o->targets.count < 1 || o->targets.count > MAX_NODES ||
         o->weights.count != o->targets.count || o->members.count > MAX_NODES || o->roots.count > MAX_NODES ||
         (o->missing.count != 0 && o->missing.count != n))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "its lists of nodes are missing or of different lengths");
    }
}

static int64_t place_of(vtac_compose *c, const new_form *o, const forest *f, int64_t node, bool leaf)
{
    if (node < 0 || node >= (leaf ? f->leaves : o->branches)) {
        (void)vtac_compose_fail(c, VTA_RANGE, "node %lld is not one of its trees", (long long)node);
        return 0;
    }
    return leaf ? f->count - f->leaves + node : node;
}

/* A set of members is one branch after the other, each for one of them. */
static void add_members(vtac_compose *c, new_form *o, const forest *f, int64_t i, int64_t *member)
{
    tree_node *node = &f->nodes[i];
    const int64_t otherwise = node->next[0];
    bool first = true;
    for (; *member < o->members.count && !isnan(vtac_number_at(&o->members, *member)); (*member)++) {
        if (!first) {
            if (o->spare >= f->count - f->leaves) {
                (void)vtac_compose_fail(c, VTA_INVALID, "its sets of members do not fit its nodes");
                return;
            }
            const int64_t added = o->spare++;
            f->nodes[added] = *node;
            node->next[0] = added;
            node = &f->nodes[added];
        }
        node->split = vtac_number_at(&o->members, *member);
        node->next[0] = otherwise;
        first = false;
    }
    if (first) { /* none: never true */
        node->conditions &= NO_NUMBER;
    }
    (*member)++;
}

static void build_new_form(vtac_compose *c, new_form *o, forest *f)
{
    static const int modes[] = {BELOW | EQUAL, BELOW, ABOVE | EQUAL, ABOVE, EQUAL, BELOW | ABOVE | NO_NUMBER,
                                EQUAL};
    enum { MEMBER = 6 };
    read_new_form(c, o);
    if (c->make.status != VTA_OK) {
        return;
    }
    f->leaves = o->targets.count;
    f->trees = o->roots.count;
    f->count = o->branches + o->members.count + f->leaves;
    f->nodes = alloc_items(c, f->count, sizeof *f->nodes);
    f->roots = alloc_items(c, f->trees, sizeof *f->roots);
    o->spare = o->branches;
    int64_t member = 0;
    for (int64_t i = 0; c->make.status == VTA_OK && i < f->count; i++) { /* what is not used leads nowhere */
        const int64_t leaf = i - (f->count - f->leaves);
        f->nodes[i] = (tree_node){.next = {i, i}, .leaf = leaf < 0 ? 0 : leaf};
    }
    for (int64_t i = 0; c->make.status == VTA_OK && i < o->branches; i++) {
        tree_node *node = &f->nodes[i];
        const int64_t mode = vtac_integer_at(&o->modes, i);
        if (mode < 0 || mode > MEMBER) {
            (void)vtac_compose_fail(c, VTA_INVALID, "mode %lld is not one that it has", (long long)mode);
            return;
        }
        node->conditions = modes[mode];
        node->split = vtac_number_at(&o->splits, i);
        node->feature = vtac_integer_at(&o->features, i);
        if (o->missing.count > 0 && vtac_integer_at(&o->missing, i) != 0) {
            node->conditions |= NO_NUMBER;
        }
        for (uint32_t k = 0; k < 2; k++) {
            node->next[k] =
                place_of(c, o, f, vtac_integer_at(&o->next[k], i), vtac_integer_at(&o->is_leaf[k], i) != 0);
        }
        if (c->make.status == VTA_OK && (node->next[0] == i || node->next[1] == i)) {
            (void)vtac_compose_fail(c, VTA_INVALID, "node %lld leads to itself", (long long)i);
        }
        if (c->make.status == VTA_OK && mode == MEMBER) {
            add_members(c, o, f, i, &member);
        }
    }
    for (int64_t i = 0; c->make.status == VTA_OK && i < f->trees; i++) {
        f->roots[i] = place_of(c, o, f, vtac_integer_at(&o->roots, i), false);
    }
}

void vtac_composed_ml_tree_ensemble(vtac_compose *c, vtac_value_id *out)
{
    new_form o;
    const int64_t how = vtac_c_int(c, "aggregate_function", SUM);
    forest f = {.targets = vtac_c_int(c, "n_targets", 1)};
    build_new_form(c, &o, &f);
    if (how < AVERAGE || how > MAX) {
        (void)vtac_compose_fail(c, VTA_INVALID, "aggregate_function %lld is not one that it has",
                                (long long)how);
    }
    if (c->make.status == VTA_OK) {
        make_weights(c, &f, (aggregate)how);
    }
    for (int64_t i = 0; c->make.status == VTA_OK && i < f.leaves; i++) {
        const int64_t target = vtac_integer_at(&o.targets, i);
        if (target < 0 || target >= f.targets) {
            (void)vtac_compose_fail(c, VTA_RANGE, "leaf %lld is of target %lld of %lld", (long long)i,
                                    (long long)target, (long long)f.targets);
        } else {
            add_weight(&f, (aggregate)how, i, target, vtac_number_at(&o.weights, i));
        }
    }
    const vtac_value_id y = c->make.status == VTA_OK ? gather_leaves(c, &f, (aggregate)how) : 0;
    out[0] = vtac_c_cast(c, vtac_c_post(c, y), vtac_c_dtype(c, vtac_c_in(c, 0)));
}
