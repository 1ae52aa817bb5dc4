/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks: the order in which a chain of Reshape, Transpose, Slice and their kin reads what it begins with, as
 * nested loops over the axes of an image. A region's result is unpacked in the order in which the host reads
 * it, and planes that follow each other in another order are packed from where they are, so that no node
 * moves these numbers.
 */
#include <string.h>

#include "partition.h"

static bool push_loop(vtac_walk *w, int64_t size, int64_t axis, int64_t stride)
{
    if (size > 1 && w->count < VTAC_WALK_LOOPS) {
        w->size[w->count] = size;
        w->axis[w->count] = axis;
        w->stride[w->count++] = stride;
        return true;
    }
    return size <= 1;
}

bool vtac_walk_begin(const vtac_type *type, vtac_walk *w)
{
    int64_t shape[4];
    *w = (vtac_walk){.rank = type->rank};
    bool good = vtac_image_shape(type, shape);
    for (uint32_t d = 0; good && d < type->rank; d++) {
        w->first[d] = w->count;
        good = push_loop(w, type->dim[d], d > 1 && d + 1 == type->rank ? 3 : d, 1);
    }
    w->first[type->rank] = w->count;
    return good;
}

bool vtac_walk_begin_flat(const vtac_type *type, vtac_walk *w)
{
    int64_t stride = vtac_type_elements(type);
    *w = (vtac_walk){.rank = type->rank};
    bool good = stride > 0;
    for (uint32_t d = 0; good && d < type->rank; d++) {
        stride /= type->dim[d];
        w->first[d] = w->count;
        good = push_loop(w, type->dim[d], 0, stride);
    }
    w->first[type->rank] = w->count;
    return good;
}

/* Replaces loop i by two, of which the inner one has so many steps. */
static bool split_loop(vtac_walk *w, uint32_t i, int64_t inner)
{
    if (w->size[i] % inner != 0 || w->count == VTAC_WALK_LOOPS) {
        return false;
    }
    const size_t behind = w->count - i;
    memmove(&w->size[i + 1], &w->size[i], behind * sizeof *w->size);
    memmove(&w->axis[i + 1], &w->axis[i], behind * sizeof *w->axis);
    memmove(&w->stride[i + 1], &w->stride[i], behind * sizeof *w->stride);
    w->size[i + 1] = inner;
    w->size[i] /= inner;
    w->stride[i] *= inner;
    w->count++;
    return true;
}

static void remove_loop(vtac_walk *w, uint32_t i)
{
    const size_t behind = w->count - i - 1;
    memmove(&w->size[i], &w->size[i + 1], behind * sizeof *w->size);
    memmove(&w->axis[i], &w->axis[i + 1], behind * sizeof *w->axis);
    memmove(&w->stride[i], &w->stride[i + 1], behind * sizeof *w->stride);
    w->count--;
}

/* Makes one loop of two that follow each other in memory. */
static void join_loops(vtac_walk *w)
{
    for (uint32_t i = w->count; i-- > 1;) {
        if (w->axis[i - 1] == w->axis[i] && w->stride[i - 1] == w->size[i] * w->stride[i]) {
            w->size[i] *= w->size[i - 1];
            remove_loop(w, i - 1);
        }
    }
}

bool vtac_walk_regroup(const vtac_type *to, vtac_walk *w)
{
    join_loops(w);
    uint32_t at = w->count;             /* the loops from here on belong to an axis */
    uint32_t behind[VTAC_MAX_RANK + 1]; /* loops of later axes */
    for (uint32_t d = to->rank; d-- > 0;) {
        behind[d] = w->count - at;
        int64_t left = to->dim[d];
        while (left > 1 && at > 0 && left % w->size[at - 1] == 0) {
            left /= w->size[--at];
        }
        if (left > 1) {
            if (at == 0 || !split_loop(w, at - 1, left)) {
                return false; /* else the inner part is this axis's */
            }
        }
    }
    w->rank = to->rank;
    for (uint32_t d = 0; d < to->rank; d++) {
        w->first[d + 1] = w->count - behind[d];
    }
    w->first[0] = 0;
    return at == 0;
}

static void transpose_walk(const int64_t *perm, uint32_t rank, vtac_walk *w)
{
    const vtac_walk from = *w;
    w->count = 0;
    for (uint32_t d = 0; d < rank; d++) {
        const uint32_t axis = (uint32_t)perm[d];
        w->first[d] = w->count;
        for (uint32_t i = from.first[axis]; i < from.first[axis + 1]; i++) {
            (void)push_loop(w, from.size[i], from.axis[i], from.stride[i]);
        }
    }
    w->first[rank] = w->count;
}

/* Reads `count` places of an axis from `start` on, each so many behind the one before. */
static bool cut_axis(vtac_walk *w, uint32_t d, int64_t start, int64_t count, int64_t step)
{
    int64_t inner = 1; /* places that one step of the axis's outermost loop passes */
    const uint32_t first = w->first[d], end = w->first[d + 1];
    for (uint32_t i = first + 1; i < end; i++) {
        inner *= w->size[i];
    }
    const bool one = count == 1;
    if (end > first + 1 && !one && (step != 1 || start % inner != 0 || count % inner != 0)) {
        return false;
    }
    for (uint32_t i = first; i < end; i++) {
        w->start[w->axis[i]] += start / inner * w->stride[i];
        start %= inner;
        inner = i + 1 < end ? inner / w->size[i + 1] : 1;
        w->size[i] = one ? 1 : w->size[i];
    }
    if (!one && end > first) {
        int64_t passed = 1;
        for (uint32_t i = first + 1; i < end; i++) {
            passed *= w->size[i];
        }
        w->size[first] = count / passed;
        w->stride[first] *= step;
    }
    for (uint32_t i = end; i-- > first;) {
        if (w->size[i] == 1) {
            remove_loop(w, i);
            for (uint32_t k = d + 1; k <= w->rank; k++) {
                w->first[k]--;
            }
        }
    }
    return true;
}

/* Integer i of a constant operand; `otherwise` where there is none. */
static int64_t operand_int(const vtac_graph *graph, const vtac_node *node, uint32_t input, int64_t i,
                           int64_t otherwise)
{
    const vtac_tensor *constant = input < node->input_count ? vtac_in_constant(graph, node, input) : NULL;
    return constant == NULL ? otherwise : vtac_tensor_int(constant, i);
}

static bool slice_walk(const vtac_graph *graph, const vtac_node *node, vtac_walk *w)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_SLICE_X);
    const vtac_type *y = &graph->values[node->outputs[0]].type;
    const vtac_tensor *starts = vtac_in_constant(graph, node, VTAC_SLICE_STARTS);
    bool good = starts != NULL;
    for (uint32_t i = VTAC_SLICE_STARTS; i < node->input_count; i++) {
        good = good && (node->inputs[i] == 0 || vtac_in_constant(graph, node, i) != NULL);
    }
    for (int64_t i = 0; good && i < vtac_type_elements(&starts->type); i++) {
        const int64_t given = operand_int(graph, node, VTAC_SLICE_AXES, i, i);
        const uint32_t d = (uint32_t)(given < 0 ? given + x->rank : given);
        const int64_t step = operand_int(graph, node, VTAC_SLICE_STEPS, i, 1), dim = x->dim[d];
        int64_t start = vtac_tensor_int(starts, i);
        start = start < 0 ? start + dim : start;
        start = start < 0 ? 0 : start > (step > 0 ? dim : dim - 1) ? (step > 0 ? dim : dim - 1) : start;
        good = (start == 0 && step == 1 && y->dim[d] == dim) || cut_axis(w, d, start, y->dim[d], step);
    }
    return good;
}

static bool split_walk(const vtac_graph *graph, const vtac_node *node, uint32_t output, vtac_walk *w)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_SPLIT_X);
    const int64_t given = vtac_attr_int(node, "axis", 0);
    const uint32_t d = (uint32_t)(given < 0 ? given + x->rank : given);
    int64_t start = 0;
    for (uint32_t i = 0; i < output; i++) {
        start += graph->values[node->outputs[i]].type.dim[d];
    }
    const int64_t count = graph->values[node->outputs[output]].type.dim[d];
    return count == x->dim[d] || cut_axis(w, d, start, count, 1);
}

/* Places that follow each other evenly. */
static bool gather_walk(const vtac_graph *graph, const vtac_node *node, vtac_walk *w)
{
    const vtac_type *x = vtac_in_type(graph, node, VTAC_GATHER_DATA);
    const vtac_tensor *places = vtac_in_constant(graph, node, VTAC_GATHER_INDICES);
    const int64_t given = vtac_attr_int(node, "axis", 0);
    const uint32_t d = (uint32_t)(given < 0 ? given + x->rank : given);
    const int64_t count = places == NULL || places->type.rank > 1 ? 0 : vtac_type_elements(&places->type);
    if (count < 1) {
        return false;
    }
    const int64_t dim = x->dim[d], first = vtac_tensor_int(places, 0);
    const int64_t start = first < 0 ? first + dim : first;
    const int64_t second = count > 1 ? vtac_tensor_int(places, 1) : start + 1;
    const int64_t step = (second < 0 ? second + dim : second) - start;
    bool good = start >= 0 && start < dim && step > 0;
    for (int64_t i = 1; good && i < count; i++) {
        const int64_t place = vtac_tensor_int(places, i);
        good = (place < 0 ? place + dim : place) == start + i * step;
    }
    return good && start + (count - 1) * step < dim &&
           (count == dim ? step == 1 : cut_axis(w, d, start, count, step));
}

/* Depth to space and back: blocks become axes, trade places, and are joined. */
static bool space_walk(const vtac_graph *graph, const vtac_node *node, vtac_walk *w)
{
    static const int64_t depth_first[] = {0, 3, 4, 1, 5, 2}, columns_first[] = {0, 1, 4, 2, 5, 3},
                         back[] = {0, 3, 5, 1, 2, 4};
    const vtac_type *x = vtac_in_type(graph, node, 0);
    const int64_t b = vtac_attr_int(node, "blocksize", 1);
    if (x->rank != 4 || b < 1) {
        return false;
    }
    if (node->op == VTAC_OP_SPACE_TO_DEPTH) {
        const vtac_type apart = {.rank = 6,
                                 .dim = {x->dim[0], x->dim[1], x->dim[2] / b, b, x->dim[3] / b, b}};
        const bool good = vtac_walk_regroup(&apart, w);
        transpose_walk(back, 6, w);
        return good;
    }
    const int64_t c = x->dim[1] / b / b;
    const bool crd = strcmp(vtac_attr_string(node, "mode", "DCR"), "CRD") == 0;
    const vtac_type apart = {.rank = 6,
                             .dim = {x->dim[0], crd ? c : b, b, crd ? b : c, x->dim[2], x->dim[3]}};
    const bool good = vtac_walk_regroup(&apart, w);
    transpose_walk(crd ? columns_first : depth_first, 6, w);
    return good;
}

static bool permute_walk(const vtac_graph *graph, const vtac_node *node, vtac_walk *w)
{
    const vtac_type *x = vtac_in_type(graph, node, 0);
    const vtac_attr *perm = vtac_find_attr(node, "perm");
    const bool good = perm != NULL && perm->kind == VTAC_ATTR_INTS && perm->count == x->rank;
    if (good) {
        transpose_walk(perm->ints, x->rank, w);
    }
    return good;
}

/* True for a node that may move elements. */
static bool moves_elements(const vtac_node *node)
{
    return node->op == VTAC_OP_TRANSPOSE || node->op == VTAC_OP_SLICE || node->op == VTAC_OP_SPLIT ||
           node->op == VTAC_OP_GATHER || node->op == VTAC_OP_DEPTH_TO_SPACE ||
           node->op == VTAC_OP_SPACE_TO_DEPTH;
}

bool vtac_walk_through(const vtac_graph *graph, const vtac_node *node, uint32_t output, vtac_walk *w)
{
    const vtac_type *y = &graph->values[node->outputs[output]].type;
    bool good = vtac_type_elements(y) > 0;
    w->passed = true;
    w->moved = w->moved || moves_elements(node);
    if (node->op == VTAC_OP_TRANSPOSE) {
        good = good && permute_walk(graph, node, w);
    } else if (node->op == VTAC_OP_SLICE) {
        good = good && slice_walk(graph, node, w);
    } else if (node->op == VTAC_OP_SPLIT) {
        good = good && split_walk(graph, node, output, w);
    } else if (node->op == VTAC_OP_GATHER) {
        good = good && gather_walk(graph, node, w);
    } else if (node->op == VTAC_OP_DEPTH_TO_SPACE || node->op == VTAC_OP_SPACE_TO_DEPTH) {
        good = good && space_walk(graph, node, w);
    } else {
        good = good && vtac_is_reshaping(node);
    }
    return good && vtac_walk_regroup(y, w);
}

/* ---- behind a region */

static bool is_read(const vtac_graph *graph, vtac_value_id value)
{
    return value != 0 && (vtac_use_count(graph, value) > 0 || vtac_is_output(graph, value));
}

/* True if a walk passes a node, and for something: it, one behind it or, with `moved`, one in front of it
 * moves elements. */
static bool passes_node(const vtac_ends *e, const vtac_node *node, const vtac_walk *w)
{
    bool moves = w->moved || moves_elements(node);
    bool good = !node->dead && !e->keeps(e->context, (vtac_node_id)(node - e->graph->nodes));
    for (uint32_t k = 0; good && k < node->output_count; k++) {
        vtac_walk own = *w;
        good = !is_read(e->graph, node->outputs[k]) || vtac_walk_through(e->graph, node, k, &own);
        const vtac_value *v = &e->graph->values[node->outputs[k]];
        for (uint32_t i = 0; good && !moves && i < v->user_count; i++) {
            const vtac_node *user = &e->graph->nodes[v->users[i]];
            moves = user->inputs[0] == node->outputs[k] && passes_node(e, user, &own);
        }
    }
    return good && moves;
}

/* The users of a value from `from` on that a walk passes; 0: none. */
static vtac_node_id next_passed(const vtac_ends *e, vtac_value_id value, const vtac_walk *w, uint32_t *from)
{
    const vtac_value *v = &e->graph->values[value];
    for (; *from < v->user_count; ++*from) {
        const vtac_node_id id = v->users[*from];
        const vtac_node *node = &e->graph->nodes[id];
        bool known = false; /* listed before */
        for (uint32_t i = 0; i < *from; i++) {
            known = known || v->users[i] == id;
        }
        if (!known && node->input_count > 0 && node->inputs[0] == value && passes_node(e, node, w)) {
            ++*from;
            return id;
        }
    }
    return 0;
}

/* True if something reads a value that the walk does not pass. */
static bool stops_at(const vtac_ends *e, vtac_value_id value, const vtac_walk *w)
{
    const vtac_value *v = &e->graph->values[value];
    bool stops = vtac_is_output(e->graph, value);
    for (uint32_t i = 0; !stops && i < v->user_count; i++) {
        const vtac_node *node = &e->graph->nodes[v->users[i]];
        bool reads = false;
        for (uint32_t k = 0; !node->dead && k < node->input_count; k++) {
            reads = reads || node->inputs[k] == value;
        }
        stops = reads && !(node->inputs[0] == value && passes_node(e, node, w));
    }
    return stops;
}

static vta_status walk_value(const vtac_ends *e, vtac_value_id value, const vtac_walk *w);

static vta_status walk_outputs(const vtac_ends *e, vtac_node_id id, const vtac_walk *w)
{
    VTA_TRY(e->pass != NULL ? e->pass(e->context, id) : VTA_OK);
    for (uint32_t k = 0; k < e->graph->nodes[id].output_count; k++) {
        const vtac_value_id y = e->graph->nodes[id].outputs[k];
        vtac_walk own = *w;
        if (is_read(e->graph, y) && vtac_walk_through(e->graph, &e->graph->nodes[id], k, &own)) {
            VTA_TRY(walk_value(e, y, &own));
        }
    }
    return VTA_OK;
}

static vta_status walk_value(const vtac_ends *e, vtac_value_id value, const vtac_walk *w)
{
    const bool stops = w->passed && stops_at(e, value, w);
    uint32_t from = 0;
    for (vtac_node_id id = next_passed(e, value, w, &from); id != 0; id = next_passed(e, value, w, &from)) {
        VTA_TRY(walk_outputs(e, id, w));
    }
    return stops && e->end != NULL ? e->end(e->context, value, w) : VTA_OK;
}

vta_status vtac_walk_ends(const vtac_ends *e, vtac_value_id value)
{
    vtac_walk w;
    return vtac_walk_begin(&e->graph->values[value].type, &w) ? walk_value(e, value, &w) : VTA_OK;
}

/* ---- in front of a region */

/* True if an image is planes in the order of their pixels, each image, channel and pixel so far behind the
 * one before. */
static bool is_planes(const vtac_type *type, vtac_walk *w, int64_t planes[3])
{
    int64_t shape[4];
    if (!vtac_image_shape(type, shape)) {
        return false;
    }
    const vtac_type image = {.rank = 3, .dim = {shape[0], shape[1], shape[2] * shape[3]}};
    if (w->start[0] != 0 || !vtac_walk_regroup(&image, w)) {
        return false;
    }
    bool good = true;
    for (uint32_t d = 0; d < 3; d++) {
        good = good && w->first[d + 1] <= w->first[d] + 1;
        planes[d] = w->first[d + 1] > w->first[d] ? w->stride[w->first[d]] : d == 2;
    }
    return good && (planes[2] == 1 || planes[1] == 1);
}

vtac_value_id vtac_planes_from(const vtac_graph *graph, vtac_value_id value, bool windows, int64_t planes[3])
{
    enum { MAX_CHAIN = 8 };
    vtac_node_id chain[MAX_CHAIN];
    uint32_t count = 0;
    vtac_value_id from = value, found = 0;
    bool moves = false;
    while (count < MAX_CHAIN) {
        const vtac_node *node = vtac_producer_of(graph, from);
        if (node == NULL || node->output_count != 1 || (from != value && vtac_use_count(graph, from) != 1) ||
            vtac_is_output(graph, from) || !(vtac_is_reshaping(node) || moves_elements(node)) ||
            graph->values[node->inputs[0]].constant != NULL) {
            break;
        }
        chain[count++] = graph->values[from].node;
        from = node->inputs[0];
        moves = moves || moves_elements(node);
        vtac_walk w;
        bool good = moves && vtac_walk_begin_flat(&graph->values[from].type, &w);
        for (uint32_t i = count; good && i-- > 0;) {
            good = vtac_walk_through(graph, &graph->nodes[chain[i]], 0, &w);
        }
        int64_t own[3];
        if (good && is_planes(&graph->values[value].type, &w, own) && (own[2] == 1 || !windows)) {
            memcpy(planes, own, sizeof own);
            found = from;
        }
    }
    return found;
}
