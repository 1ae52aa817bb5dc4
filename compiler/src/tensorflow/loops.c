/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops of TensorFlow 1 become the While of TensorFlow 2, before the walk over the graph. Such a loop lies in
 * the graph itself, as a circle for each of its variables:
 *
 *     before -> Enter -> Merge -> Switch -> what a round does -> NextIteration -> (Merge)
 *                          |        '-> Exit -> after
 *                          '-> what is asked -> LoopCond -> (each Switch)
 *
 * and what the loop only reads comes in by an Enter of its own. The nodes between Merge and LoopCond become a
 * function of the library, those between Switch and NextIteration another, and the LoopCond becomes the While
 * that calls both. The other nodes of the loop are left without inputs, as NoOp.
 */
#include <stdio.h>
#include <string.h>

#include "import.h"
#include "vta/fail.h"

/* A variable of a loop, or a value that the loop only reads: then merge, branch and next are below 0. */
typedef struct loop_variable {
    int32_t enter, merge, branch, next; /* nodes: Enter, Merge, Switch, NextIteration */
} loop_variable;

typedef struct old_loop {
    vtac_tf_graph *g;
    vtac_tf_function *f;
    int32_t condition; /* its LoopCond */
    const char *frame;
    loop_variable *variables; /* the circles first */
    uint32_t count, circles;
    uint8_t *inside;   /* of each node: whether a function of the loop has it */
    int32_t *merge_of; /* 1 + the Merge that a node goes to, 1 + its Switch of this loop; 0: it has none */
    int32_t *switch_of;
} old_loop;

/* The cost that loops of a function may have: their number squared times its nodes. */
enum { MAX_LOOP_WORK = 1 << 28 };

static bool is_op(const vtac_tf_node *node, const char *op)
{
    return strcmp(node->op, op) == 0 || (strncmp(node->op, "Ref", 3) == 0 && strcmp(node->op + 3, op) == 0);
}

static bool is_op_at(const vtac_tf_function *f, int32_t node, const char *op)
{
    return node >= 0 && is_op(&f->nodes[node], op);
}

static bool enters(const vtac_tf_function *f, int32_t node, const char *frame)
{
    return is_op_at(f, node, "Enter") && strcmp(vtac_tf_text(&f->nodes[node], "frame_name", ""), frame) == 0;
}

/* ---- the parts of a loop */

static vta_status broken(const old_loop *l, const char *why, vta_diag *diag)
{
    return vta_fail(diag, VTA_INVALID, "the loop '%.100s' of TensorFlow 1 %s", l->frame, why);
}

/* The name of the loop: that of an Enter before one of the Merges that LoopCond's question reads. */
static const char *frame_of(const vtac_tf_function *f, int32_t condition)
{
    for (uint32_t i = 0; i < f->node_count; i++) {
        const vtac_tf_node *branch = &f->nodes[i];
        const int32_t merge =
            is_op(branch, "Switch") && branch->input_count == 2 && branch->inputs[1].node == condition
                ? branch->inputs[0].node
                : TF_NOWHERE;
        for (uint32_t k = 0; merge >= 0 && k < f->nodes[merge].input_count; k++) {
            const int32_t enter = f->nodes[merge].inputs[k].node;
            if (enter >= 0 && is_op(&f->nodes[enter], "Enter")) {
                return vtac_tf_text(&f->nodes[enter], "frame_name", "");
            }
        }
    }
    return "";
}

static vta_status find_circles(old_loop *l, vta_diag *diag)
{
    const vtac_tf_function *f = l->f;
    VTA_TRY(vtac_tf_room(l->g->arena, f->node_count, sizeof *l->merge_of, &l->merge_of, diag));
    VTA_TRY(vtac_tf_room(l->g->arena, f->node_count, sizeof *l->switch_of, &l->switch_of, diag));
    for (uint32_t i = 0; i < f->node_count; i++) {
        const vtac_tf_node *node = &f->nodes[i];
        const bool merges = is_op(node, "Merge") && node->input_count == 2;
        const bool chooses =
            is_op(node, "Switch") && node->input_count == 2 && node->inputs[1].node == l->condition;
        for (uint32_t k = 0; merges && k < 2; k++) {
            if (is_op_at(l->f, node->inputs[k].node, "Enter")) {
                l->merge_of[node->inputs[k].node] = 1 + (int32_t)i;
            }
        }
        if (chooses && node->inputs[0].node >= 0) {
            l->switch_of[node->inputs[0].node] = 1 + (int32_t)i;
        }
    }
    return VTA_OK;
}

/* The Merge that an Enter goes to, its Switch and its NextIteration; a value that is only read has none. */
static loop_variable variable_of(const old_loop *l, int32_t enter)
{
    loop_variable v = {enter, l->merge_of[enter] - 1, -1, -1};
    if (v.merge >= 0) {
        const vtac_tf_ref *inputs = l->f->nodes[v.merge].inputs;
        v.branch = l->switch_of[v.merge] - 1;
        v.next = inputs[inputs[0].node == enter ? 1 : 0].node;
    }
    return v;
}

static vta_status find_variables(old_loop *l, vta_diag *diag)
{
    const vtac_tf_function *f = l->f;
    VTA_TRY(find_circles(l, diag));
    VTA_TRY(vtac_tf_room(l->g->arena, f->node_count, sizeof *l->variables, &l->variables, diag));
    for (int pass = 0; pass < 2; pass++) { /* circles, then what is only read */
        for (uint32_t i = 0; i < f->node_count; i++) {
            if (!enters(f, (int32_t)i, l->frame) || f->nodes[i].input_count < 1) {
                continue;
            }
            const loop_variable v = variable_of(l, (int32_t)i);
            if ((v.merge >= 0) == (pass == 0)) {
                l->variables[l->count++] = v;
            }
            if (v.merge >= 0 && !is_op_at(l->f, v.next, "NextIteration")) {
                return broken(l, "has a variable that no round gives again", diag);
            }
        }
        l->circles = pass == 0 ? l->count : l->circles;
    }
    return l->circles > 0 ? VTA_OK : broken(l, "has no variable", diag);
}

/* ---- a function of the loop */

typedef struct loop_part {
    int32_t *place; /* of each node of the graph: 1 + its number in the function, or -1 - an argument; 0: not
                       met */
    uint32_t *order;
    uint32_t count;
} loop_part;

static vta_status add_to_part(const old_loop *l, loop_part *p, int32_t node, vta_diag *diag)
{
    if (node == TF_NOWHERE || (node >= 0 && p->place[node] != 0)) {
        return VTA_OK;
    }
    if (node < 0 || is_op_at(l->f, node, "Merge") || is_op_at(l->f, node, "NextIteration") ||
        is_op_at(l->f, node, "LoopCond")) {
        return broken(l, "is entered by another way than Enter", diag);
    }
    p->order[p->count++] = (uint32_t)node;
    p->place[node] = (int32_t)p->count;
    return VTA_OK;
}

/* All nodes that `roots` need, up to the loop's variables, which are the arguments. */
static vta_status gather(old_loop *l, const vtac_tf_ref *roots, uint32_t root_count, bool round, loop_part *p,
                         vta_diag *diag)
{
    const uint32_t nodes = l->f->node_count;
    VTA_TRY(vtac_tf_room(l->g->arena, nodes, sizeof *p->place, &p->place, diag));
    VTA_TRY(vtac_tf_room(l->g->arena, nodes, sizeof *p->order, &p->order, diag));
    for (uint32_t i = 0; i < l->count; i++) {
        const loop_variable *v = &l->variables[i];
        const int32_t argument = -1 - (int32_t)i;
        p->place[v->enter] = argument;
        if (v->merge >= 0) {
            p->place[v->merge] = argument;
        }
        if (v->branch >= 0 && round) {
            p->place[v->branch] = argument;
        }
    }
    for (uint32_t i = 0; i < root_count; i++) {
        VTA_TRY(add_to_part(l, p, roots[i].node, diag));
    }
    for (uint32_t i = 0; i < p->count; i++) {
        const vtac_tf_node *node = &l->f->nodes[p->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            VTA_TRY(add_to_part(l, p, node->inputs[k].node, diag));
        }
    }
    return VTA_OK;
}

static vtac_tf_ref moved(const loop_part *p, vtac_tf_ref ref)
{
    if (ref.node >= 0) {
        const int32_t place = p->place[ref.node];
        ref = (vtac_tf_ref){
            .node = place < 0 ? place : place - 1, .out = place < 0 ? 0 : ref.out, .text = ref.text};
    }
    return ref;
}

static vta_status copy_nodes(old_loop *l, const loop_part *p, vtac_tf_function *out, vta_diag *diag)
{
    VTA_TRY(vtac_tf_room(l->g->arena, p->count, sizeof *out->nodes, &out->nodes, diag));
    out->node_count = p->count;
    for (uint32_t i = 0; i < p->count; i++) {
        vtac_tf_node *node = &out->nodes[i];
        *node = l->f->nodes[p->order[i]];
        const vtac_tf_ref *from = node->inputs;
        VTA_TRY(vtac_tf_room(l->g->arena, node->input_count, sizeof *node->inputs, &node->inputs, diag));
        for (uint32_t k = 0; k < node->input_count; k++) {
            node->inputs[k] = moved(p, from[k]);
        }
        l->inside[p->order[i]] = 1;
    }
    return VTA_OK;
}

/* Makes a function of what `roots` need; its name is the loop's and `what`, which no function of a file has.
 */
static vta_status make_function(old_loop *l, const char *what, const vtac_tf_ref *roots, uint32_t root_count,
                                bool round, vtac_tf_function *out, vta_diag *diag)
{
    loop_part p = {0};
    char name[256];
    const int length = snprintf(name, sizeof name, "%.200s\n%s\n%d", l->frame, what, l->condition);
    *out = (vtac_tf_function){.arg_count = l->count, .out_count = root_count};
    const char *kept = vta_arena_string(l->g->arena, name, strlen(name));
    if (kept == NULL || length < 0) {
        return vta_no_memory(diag);
    }
    out->name = kept;
    VTA_TRY(gather(l, roots, root_count, round, &p, diag));
    VTA_TRY(copy_nodes(l, &p, out, diag));
    VTA_TRY(vtac_tf_room(l->g->arena, root_count, sizeof *out->results, &out->results, diag));
    for (uint32_t i = 0; i < root_count; i++) {
        out->results[i] = moved(&p, roots[i]);
    }
    return VTA_OK;
}

/* ---- the While in its place */

static vta_status grow_library(vtac_tf_graph *g, uint32_t more, vta_diag *diag)
{
    vtac_tf_function *grown;
    VTA_TRY(vtac_tf_room(g->arena, (size_t)g->library_count + more, sizeof *grown, &grown, diag));
    if (g->library_count > 0) {
        memcpy(grown, g->library, g->library_count * sizeof *grown);
    }
    g->library = grown;
    return VTA_OK;
}

/* Rounds give the next values of the variables; what is only read stays. */
static vta_status make_functions(old_loop *l, vtac_tf_function out[2], vta_diag *diag)
{
    vtac_tf_ref *next;
    VTA_TRY(vtac_tf_room(l->g->arena, l->count, sizeof *next, &next, diag));
    for (uint32_t i = 0; i < l->count; i++) {
        const loop_variable *v = &l->variables[i];
        next[i] = v->next >= 0 ? l->f->nodes[v->next].inputs[0] : (vtac_tf_ref){.node = v->enter};
    }
    VTA_TRY(make_function(l, "asks", l->f->nodes[l->condition].inputs, 1, false, &out[0], diag));
    return make_function(l, "does", next, l->count, true, &out[1], diag);
}

static void leave_out(vtac_tf_node *node)
{
    node->op = "NoOp";
    node->row = NULL;
    node->input_count = 0;
}

/* Exits read the While; the nodes that only the loop had are gone. An Exit that nothing reads is no output.
 */
static void close_ends(old_loop *l)
{
    vtac_tf_function *f = l->f;
    for (uint32_t i = 0; i < f->node_count; i++) {
        vtac_tf_node *node = &f->nodes[i];
        for (uint32_t v = 0; is_op(node, "Exit") && node->input_count == 1 && v < l->circles; v++) {
            if (node->inputs[0].node == l->variables[v].branch) {
                node->row = vtac_tf_operator_find("Identity");
                node->inputs[0] = (vtac_tf_ref){.node = l->condition, .out = v, .text = node->inputs[0].text};
            }
        }
    }
    for (uint32_t v = 0; v < l->count; v++) {
        const loop_variable *gone = &l->variables[v];
        const int32_t nodes[] = {gone->enter, gone->merge, gone->branch, gone->next};
        for (size_t k = 0; k < sizeof nodes / sizeof nodes[0]; k++) {
            if (nodes[k] >= 0) {
                leave_out(&f->nodes[nodes[k]]);
            }
        }
    }
    for (uint32_t i = 0; i < f->node_count; i++) {
        if (l->inside[i] != 0 && !is_op(&f->nodes[i], "Const")) {
            leave_out(&f->nodes[i]);
        }
    }
}

static vta_status make_while(old_loop *l, const vtac_tf_function made[2], vta_diag *diag)
{
    vtac_tf_node *node = &l->f->nodes[l->condition];
    vtac_tf_attr *attrs;
    vtac_tf_ref *inputs;
    VTA_TRY(vtac_tf_room(l->g->arena, 2, sizeof *attrs, &attrs, diag));
    VTA_TRY(vtac_tf_room(l->g->arena, l->count, sizeof *inputs, &inputs, diag));
    for (uint32_t i = 0; i < l->count; i++) {
        inputs[i] = l->f->nodes[l->variables[i].enter].inputs[0];
    }
    attrs[0] = (vtac_tf_attr){.name = "cond", .text = made[0].name};
    attrs[1] = (vtac_tf_attr){.name = "body", .text = made[1].name};
    node->op = "While";
    node->row = vtac_tf_operator_find(node->op);
    node->inputs = inputs;
    node->input_count = l->count;
    node->attrs = attrs;
    node->attr_count = 2;
    return VTA_OK;
}

static vta_status convert(vtac_tf_graph *g, vtac_tf_function *f, int32_t condition, vta_diag *diag)
{
    old_loop l = {.g = g, .f = f, .condition = condition, .frame = frame_of(f, condition)};
    vtac_tf_function made[2];
    if (f->nodes[condition].input_count != 1) {
        return broken(&l, "asks nothing", diag);
    }
    VTA_TRY(vtac_tf_room(g->arena, f->node_count, sizeof *l.inside, &l.inside, diag));
    VTA_TRY(find_variables(&l, diag));
    VTA_TRY(make_functions(&l, made, diag));
    VTA_TRY(make_while(&l, made, diag));
    close_ends(&l);
    VTA_TRY(grow_library(g, 2, diag));
    g->library[g->library_count++] = made[0];
    g->library[g->library_count++] = made[1];
    return VTA_OK;
}

/* ---- loops in loops: the inner one first */

/* A walk back from nodes of a loop. */
typedef struct round_walk {
    uint8_t *met;
    uint32_t *stack;
    uint32_t used;
} round_walk;

static void push(round_walk *w, int32_t node)
{
    if (node >= 0 && w->met[node] == 0) {
        w->met[node] = 1;
        w->stack[w->used++] = (uint32_t)node;
    }
}

/* Begins the walk with what ends a round of the loop: its LoopCond and its NextIterations. */
static void begin_walk(const vtac_tf_function *f, int32_t condition, const char *frame, round_walk *w)
{
    memset(w->met, 0, f->node_count);
    w->used = 0;
    push(w, condition);
    for (uint32_t i = 0; i < f->node_count; i++) {
        const vtac_tf_node *node = &f->nodes[i];
        for (uint32_t k = 0; is_op(node, "Merge") && node->input_count == 2 && k < 2; k++) {
            const bool again = is_op_at(f, node->inputs[k].node, "NextIteration");
            if (again && enters(f, node->inputs[1 - k].node, frame)) {
                push(w, node->inputs[k].node);
            }
        }
    }
}

/* True where the rounds of the loop reach the Exit of a loop that is not converted yet. */
static bool has_inner(const vtac_tf_function *f, int32_t condition, round_walk *w)
{
    const char *frame = frame_of(f, condition);
    begin_walk(f, condition, frame, w);
    while (w->used > 0) {
        const uint32_t number = w->stack[--w->used];
        const vtac_tf_node *node = &f->nodes[number];
        if (is_op(node, "Exit") && node->input_count == 1 && is_op_at(f, node->inputs[0].node, "Switch")) {
            return true;
        }
        const bool ends = is_op(node, "Merge") || enters(f, (int32_t)number, frame);
        for (uint32_t k = 0; !ends && k < node->input_count; k++) {
            push(w, node->inputs[k].node);
        }
    }
    return false;
}

static uint64_t count_loops(const vtac_tf_function *f)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < f->node_count; i++) {
        count += is_op(&f->nodes[i], "LoopCond");
    }
    return count;
}

/* The next LoopCond whose loop has none in it; below 0: there is none left. */
static vta_status next_loop(const vtac_tf_function *f, round_walk *w, int32_t *out, vta_diag *diag)
{
    bool any = false;
    *out = -1;
    for (uint32_t i = 0; i < f->node_count && *out < 0; i++) {
        if (is_op(&f->nodes[i], "LoopCond")) {
            any = true;
            *out = has_inner(f, (int32_t)i, w) ? -1 : (int32_t)i;
        }
    }
    return *out >= 0 || !any
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "loops of TensorFlow 1 that lie in each other in a circle");
}

static vta_status close_function(vtac_tf_graph *g, vtac_tf_function *f, vta_diag *diag)
{
    round_walk w = {0};
    int32_t condition;
    const uint64_t loops = count_loops(f);
    if (loops * loops * f->node_count > MAX_LOOP_WORK) {
        return vta_fail(diag, VTA_RANGE, "%llu loops of TensorFlow 1 among %u nodes are more than are taken",
                        (unsigned long long)loops, f->node_count);
    }
    VTA_TRY(vtac_tf_room(g->arena, f->node_count, sizeof *w.met, &w.met, diag));
    VTA_TRY(vtac_tf_room(g->arena, f->node_count, sizeof *w.stack, &w.stack, diag));
    for (;;) {
        VTA_TRY(next_loop(f, &w, &condition, diag));
        if (condition < 0) {
            return VTA_OK;
        }
        VTA_TRY(convert(g, f, condition, diag));
    }
}

vta_status vtac_tf_close_loops(vtac_tf_graph *g, vta_diag *diag)
{
    const uint32_t functions = g->library_count; /* those of loops have none */
    VTA_TRY(close_function(g, &g->main, diag));
    for (uint32_t i = 0; i < functions; i++) {
        vtac_tf_function f = g->library[i]; /* the library may move */
        VTA_TRY(close_function(g, &f, diag));
        g->library[i] = f;
    }
    return VTA_OK;
}
