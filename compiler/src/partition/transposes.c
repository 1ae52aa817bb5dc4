/* SPDX-License-Identifier: Apache-2.0
 *
 * Reshapes and Transposes between products of two activations and their neighbours. Each product has its rows
 * turned into an image and back (product.c), and between those the model splits and joins heads: chains of
 * Reshape and Transpose, most of which do nothing as a whole.
 *
 * - A chain that leaves every element in its place becomes one Reshape.
 * - A chain with two Transposes or more, for which one permutation is enough, becomes Reshape, Transpose,
 * Reshape.
 * - A function of one number behind a chain moves in front of it, next to the layer that makes the number.
 *
 * An order of elements is a list of loops over the elements at the chain's beginning, the outermost first.
 */
#include <string.h>

#include "builder.h"
#include "partition.h"
#include "vta/fail.h"

enum { MAX_STEPS = 12, MAX_LOOPS = 24, RESCALE_INPUTS = 5 };

typedef struct loop {
    int64_t size, stride;
} loop;

typedef struct order {
    loop loops[MAX_LOOPS];
    uint32_t count;
    uint32_t ends[VTAC_MAX_RANK]; /* by axis: behind its last loop */
} order;

bool vtac_is_host_step(const vtac_graph *graph, vtac_node_id node)
{
    return node != 0 && (vtac_is_reshaping(&graph->nodes[node]) || graph->nodes[node].op == VTAC_OP_SLICE);
}

static bool push_loop(order *o, int64_t size, int64_t stride)
{
    if (o->count == MAX_LOOPS) {
        return false;
    }
    o->loops[o->count++] = (loop){size, stride};
    return true;
}

/* Splits the loops along the axes of a type. */
static bool reshape_loops(order *o, const vtac_type *type)
{
    const order old = *o;
    loop rest = {1, 0};
    uint32_t at = 0;
    o->count = 0;
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t left = type->dim[i];
        while (left > 1) {
            if (rest.size == 1) {
                if (at == old.count) {
                    return false;
                }
                rest = old.loops[at++];
                continue;
            }
            const int64_t taken = rest.size < left ? rest.size : left;
            if (left % taken != 0 || rest.size % taken != 0) {
                return false;
            }
            rest.size /= taken;
            left /= taken;
            if (!push_loop(o, taken, rest.stride * rest.size)) {
                return false;
            }
        }
        o->ends[i] = o->count;
    }
    return true;
}

static bool transpose_loops(order *o, const vtac_node *node, uint32_t rank)
{
    const vtac_attr *perm = vtac_find_attr(node, "perm");
    const order old = *o;
    o->count = 0;
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t axis = perm == NULL ? (int64_t)rank - 1 - i : perm->ints[i];
        for (uint32_t k = axis == 0 ? 0 : old.ends[axis - 1]; k < old.ends[axis]; k++) {
            o->loops[o->count++] = old.loops[k];
        }
        o->ends[i] = o->count;
    }
    return true;
}

/* Joins loops that continue each other. */
static void join_loops(order *o)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        loop *last = &o->loops[count > 0 ? count - 1 : 0];
        if (count > 0 && last->stride == o->loops[i].stride * o->loops[i].size) {
            *last = (loop){last->size * o->loops[i].size, o->loops[i].stride};
        } else {
            o->loops[count++] = o->loops[i];
        }
    }
    o->count = count;
}

/* ---- chains */

typedef struct transpose_chain {
    vtac_value_id values[MAX_STEPS + 1]; /* the last value first */
    uint32_t count;                      /* number of steps */
} transpose_chain;

static transpose_chain chain_of(const vtac_graph *graph, vtac_value_id value)
{
    transpose_chain c = {.values = {value}};
    const vtac_node *node = vtac_producer_of(graph, value);
    while (node != NULL && vtac_is_reshaping(node) && c.count < MAX_STEPS) {
        c.values[++c.count] = node->inputs[0];
        node = vtac_producer_of(graph, node->inputs[0]);
    }
    return c;
}

/* Finds the order of elements at the end of a chain, relative to the value `steps` above; counts Transposes.
 */
static bool order_of(const vtac_graph *graph, const transpose_chain *c, uint32_t steps, order *o,
                     uint32_t *turns)
{
    const vtac_type *base = &graph->values[c->values[steps]].type;
    *turns = 0;
    *o = (order){.loops = {{vtac_type_elements(base), 1}}, .count = 1};
    if (!reshape_loops(o, base)) {
        return false;
    }
    for (uint32_t i = steps; i-- > 0;) {
        const vtac_node *node = vtac_producer_of(graph, c->values[i]);
        const bool transposes = node->op == VTAC_OP_TRANSPOSE;
        const vtac_type *type = &graph->values[c->values[i]].type;
        *turns += transposes;
        if (!(transposes ? transpose_loops(o, node, type->rank) : reshape_loops(o, type))) {
            return false;
        }
    }
    join_loops(o);
    return true;
}

static order order_of_want(const vtac_order_want *want)
{
    order other = {.count = 0};
    for (int i = 0; i < 3; i++) {
        const int at = want->swapped && i > 0 ? 3 - i : i;
        if (want->size[at] > 1) {
            (void)push_loop(&other, want->size[at], want->stride[at]);
        }
    }
    join_loops(&other);
    return other;
}

/* True if the end of a chain has an order, relative to the value `steps` above. */
static bool is_in_order(const vtac_graph *graph, const transpose_chain *c, uint32_t steps, const order *want)
{
    order own;
    uint32_t turns;
    return order_of(graph, c, steps, &own, &turns) && own.count == want->count &&
           memcmp(own.loops, want->loops, own.count * sizeof *own.loops) == 0;
}

bool vtac_has_order(const vtac_graph *graph, vtac_value_id value, vtac_value_id from,
                    const vtac_order_want *want)
{
    const transpose_chain c = chain_of(graph, value);
    const order other = order_of_want(want);
    bool has = false;
    for (uint32_t steps = 0; steps <= c.count && !has; steps++) {
        has = c.values[steps] == from && is_in_order(graph, &c, steps, &other);
    }
    return has;
}

vtac_value_id vtac_image_of_order(const vtac_graph *graph, vtac_value_id value, const vtac_order_want *want,
                                  int64_t channels)
{
    const transpose_chain c = chain_of(graph, value);
    const order other = order_of_want(want);
    for (uint32_t steps = c.count; steps > 0; steps--) {
        const vtac_type *type = &graph->values[c.values[steps]].type;
        const bool image = type->rank == 3 || (type->rank == 4 && type->dim[1] == channels);
        if (image && type->dim[0] == 1 && is_in_order(graph, &c, steps, &other)) {
            return c.values[steps];
        }
    }
    return 0;
}

/* Permutes elements into an order, by one Transpose. */
static vta_status permute_elements(const vtac_node_builder *b, const order *o, vtac_value_id *x)
{
    int64_t dims[MAX_LOOPS];
    int64_t perm[MAX_LOOPS];
    uint32_t inner[MAX_LOOPS] = {0}; /* loops with larger strides */
    for (uint32_t i = 0; i < o->count; i++) {
        for (uint32_t k = 0; k < o->count; k++) {
            inner[i] += o->loops[k].stride > o->loops[i].stride;
        }
        perm[i] = inner[i];
        dims[inner[i]] = o->loops[i].size;
    }
    VTA_TRY(vtac_b_reshape(b, dims, o->count, x));
    return vtac_b_transpose(b, perm, o->count, x);
}

/* Shortens the chain that ends in a Transpose. */
static vta_status shorten_chain(const vtac_node_builder *b, vtac_value_id value)
{
    const vtac_type type = vtac_b_type(b, value);
    const transpose_chain c = chain_of(b->graph, value);
    order o;
    uint32_t turns = 0;
    uint32_t steps = c.count;
    if (vtac_is_output(b->graph, value) || vtac_type_elements(&type) < 2) {
        return VTA_OK;
    }
    for (; steps > 0; steps--) { /* the longest part of the chain that does nothing */
        if (order_of(b->graph, &c, steps, &o, &turns) && o.count == 1) {
            break;
        }
    }
    const bool nothing = steps > 0;
    if (!nothing) {
        for (steps = c.count; steps > 0; steps--) {
            if (order_of(b->graph, &c, steps, &o, &turns) && turns > 1 && o.count <= VTAC_MAX_RANK) {
                break;
            }
        }
    }
    if (steps == 0) {
        return VTA_OK;
    }
    vtac_value_id x = c.values[steps];
    VTA_TRY(nothing ? VTA_OK : permute_elements(b, &o, &x));
    VTA_TRY(vtac_b_reshape(b, type.dim, type.rank, &x));
    vtac_replace_uses(b->graph, value, x);
    return VTA_OK;
}

/* ---- functions of one number behind a product */

bool vtac_is_number_function(const vtac_graph *graph, const vtac_node *node)
{
    const vtac_layer_row *row = vtac_layer_row_of(node->op);
    static const bool functions[VTAC_OP_COUNT] = {
        [VTAC_OP_CLIP] = true,        [VTAC_OP_LOOK_UP] = true,         [VTAC_OP_QLINEAR_ADD] = true,
        [VTAC_OP_QLINEAR_MUL] = true, [VTAC_OP_QLINEAR_SIGMOID] = true, [VTAC_OP_QLINEAR_LEAKY_RELU] = true,
        [VTAC_OP_RELU] = true,
    };
    const bool rescales = node->op == VTAC_OP_QLINEAR_CONCAT && node->input_count == RESCALE_INPUTS;
    if (!functions[node->op] && !rescales) {
        return false;
    }
    if (row == NULL || node->output_count != 1 || vtac_find_attr(node, "rounding") != NULL) {
        return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_tensor *constant = vtac_in_constant(graph, node, i);
        if (i != (uint32_t)row->first && node->inputs[i] != 0 &&
            (constant == NULL || (node->op != VTAC_OP_LOOK_UP && vtac_type_elements(&constant->type) != 1))) {
            return false;
        }
    }
    return true;
}

/* Replaces operands of one number by scalars. */
static vta_status flatten_numbers(const vtac_node_builder *b, vtac_value_id *inputs)
{
    for (uint32_t i = 0; b->like.op != VTAC_OP_LOOK_UP && i < b->like.input_count; i++) {
        const vtac_tensor *constant = vtac_in_constant(b->graph, &b->like, i);
        if (constant != NULL && constant->type.rank > 0) {
            VTA_TRY(vtac_b_number(b, constant->type.dtype, constant->data, &inputs[i]));
        }
    }
    return VTA_OK;
}

/* True if a function behind a chain moves to the node in front of it: to a product, and on machines whose
 * attention is all images to any layer. */
static bool takes_function(const vtac_node_builder *b, const vtac_node *node)
{
    const vtac_layer_row *row = vtac_layer_row_of(node->op);
    return node->op == VTAC_OP_VTA_PRODUCT || (b->config->rows != 0 && row != NULL && row->make != NULL);
}

/* Moves a function from behind a chain to the layer in front of the chain. */
static vta_status move_up(const vtac_node_builder *b)
{
    enum { MAX_INPUTS = 8 };
    vtac_value_id inputs[MAX_INPUTS + 1];
    const vtac_value_id old = b->like.outputs[0];
    const uint32_t data = (uint32_t)vtac_layer_row_of(b->like.op)->first;
    vtac_value_id above = b->like.inputs[data];
    vtac_node_id first = 0;
    const vtac_node *node = vtac_producer_of(b->graph, above);
    while (node != NULL && vtac_is_host_step(b->graph, b->graph->values[above].node) &&
           vtac_use_count(b->graph, above) == 1) {
        first = b->graph->values[above].node;
        above = node->inputs[0];
        node = vtac_producer_of(b->graph, above);
    }
    if (first == 0 || node == NULL || !takes_function(b, node) || vtac_use_count(b->graph, above) != 1 ||
        b->like.input_count > MAX_INPUTS || vtac_b_type(b, above).dtype != vtac_b_type(b, old).dtype ||
        vtac_is_output(b->graph, old)) {
        return VTA_OK;
    }
    vtac_node_id id;
    memcpy(inputs, b->like.inputs, b->like.input_count * sizeof *inputs);
    inputs[data] = above;
    VTA_TRY(flatten_numbers(b, inputs));
    const bool joins = b->like.op == VTAC_OP_QLINEAR_CONCAT;
    const vtac_attr channels = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1};
    const vtac_node_spec spec = {.op = b->like.op,
                                 .name = b->like.name,
                                 .origin = b->like.origin,
                                 .inputs = inputs,
                                 .input_count = b->like.input_count,
                                 .output_count = 1,
                                 .attrs = joins ? &channels : b->like.attrs,
                                 .attr_count = joins ? 1 : b->like.attr_count};
    VTA_TRY(vtac_add_node(b->graph, &spec, &id, b->diag));
    vtac_replace_uses(b->graph, old, b->like.inputs[data]);
    return vtac_set_input(b->graph, first, 0, b->graph->nodes[id].outputs[0], b->diag);
}

/* Lets a Reshape behind another Reshape skip the other. */
static vta_status skip_reshape(vtac_graph *graph, vtac_node_id id, vta_diag *diag)
{
    const vtac_tensor *dims = vtac_in_constant(graph, &graph->nodes[id], 1);
    const vtac_node *above = vtac_producer_of(graph, graph->nodes[id].inputs[0]);
    if (above == NULL || above->op != VTAC_OP_RESHAPE || dims == NULL) {
        return VTA_OK;
    }
    for (int64_t i = 0; i < vtac_type_elements(&dims->type); i++) {
        if (vtac_tensor_int(dims, i) == 0) { /* 0 copies a size of the input */
            return VTA_OK;
        }
    }
    return vtac_set_input(graph, id, 0, above->inputs[0], diag);
}

static vta_status shorten_at(const vtac_node_builder *b, vtac_node_id id)
{
    return b->like.op == VTAC_OP_TRANSPOSE ? shorten_chain(b, b->like.outputs[0])
           : b->like.op == VTAC_OP_RESHAPE ? skip_reshape(b->graph, id, b->diag)
                                           : VTA_OK;
}

vta_status vtac_shorten_transposes(vtac_graph *graph, const vta_config *config, vta_arena *arena,
                                   vta_diag *diag)
{
    const uint32_t count = graph->order_count;
    const bool apart = config->rows != 0; /* shortened chains leave the old nodes beside them */
    vtac_node_id *nodes = vta_arena_array(arena, (size_t)count + 1, sizeof *nodes);
    if (nodes == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(nodes, graph->order, count * sizeof *nodes);
    for (int pass = 0; pass < 1 + apart; pass++) {
        for (uint32_t i = 0; i < count; i++) {
            const vtac_node_builder b = {graph, arena, config, graph->nodes[nodes[i]], diag};
            const bool function = vtac_is_number_function(graph, &b.like);
            VTA_TRY(function && pass == 0             ? move_up(&b)
                    : !function && pass == (int)apart ? shorten_at(&b, nodes[i])
                                                      : VTA_OK);
        }
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
