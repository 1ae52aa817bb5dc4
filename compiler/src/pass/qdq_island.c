/* SPDX-License-Identifier: Apache-2.0
 *
 * Islands (vtac/island.h) between one 8-bit value and another.
 *
 *     QuantizeLinear(HardSwish(DequantizeLinear(q)))    -> LookUp(q, table)
 *     QLinearMul(q, QLinearSigmoid(q))                  -> LookUp(q, table)
 *
 * Whatever they compute is a function of 256 numbers. The operators run on all of them, by the lowering that
 * would run them later, and the results are a table: the integers are those of the island's own arithmetic.
 * With constants for each channel there is a table for each, which is what qdq_channel.c starts from.
 * At the end of a network (qdq_tail.c) the result may be floats, and so is the table.
 *
 *     Sigmoid(DequantizeLinear(q))                      -> LookUp(q, table of floats)
 */
#include <stdio.h>

#include "qdq.h"
#include "vta/fail.h"
#include "vtac/codegen.h"
#include "vtac/island.h"
#include "vtac/load.h"

enum { NUMBERS = 256 };

static bool begins_island(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_dtype dtype = graph->values[value].type.dtype;
    return dtype == VTAC_I8 || dtype == VTAC_U8;
}

static bool is_clamp(vtac_op op)
{
    return op == VTAC_OP_CLIP || op == VTAC_OP_RELU || op == VTAC_OP_MIN || op == VTAC_OP_MAX;
}

bool vtac_is_slow_function(vtac_op op)
{
    static const bool slow[VTAC_OP_COUNT] = {
        [VTAC_OP_ACOS] = true,     [VTAC_OP_ATAN] = true,     [VTAC_OP_CELU] = true,
        [VTAC_OP_COS] = true,      [VTAC_OP_DIV] = true,      [VTAC_OP_ELU] = true,
        [VTAC_OP_ERF] = true,      [VTAC_OP_EXP] = true,      [VTAC_OP_GELU] = true,
        [VTAC_OP_LOG] = true,      [VTAC_OP_MISH] = true,     [VTAC_OP_POW] = true,
        [VTAC_OP_SELU] = true,     [VTAC_OP_SIGMOID] = true,  [VTAC_OP_SIN] = true,
        [VTAC_OP_SOFTPLUS] = true, [VTAC_OP_SOFTSIGN] = true, [VTAC_OP_SQRT] = true,
        [VTAC_OP_TAN] = true,      [VTAC_OP_TANH] = true,     [VTAC_OP_RECIPROCAL] = true};
    return slow[op];
}

/* A function that takes longer than its table, or a table that others go on from. */
static bool is_slow_tail(const vtac_graph *graph, const vtac_island *is)
{
    bool slow = false;
    for (uint32_t i = 0; i < is->count; i++) {
        const vtac_op op = graph->nodes[is->nodes[i]].op;
        slow = slow || vtac_is_slow_function(op) || (op == VTAC_OP_LOOK_UP && is->count > 1);
    }
    return slow;
}

/* Floats inside, an exponential, or two operators that cost a pass: others alone, and clamps, each back end
 * does as well. */
static bool is_worth_it(const vtac_graph *graph, const vtac_island *is)
{
    uint32_t heavy = 0;
    for (uint32_t i = 0; i < is->count; i++) {
        const vtac_node *node = &graph->nodes[is->nodes[i]];
        if (vtac_dtype_kind(graph->values[node->outputs[0]].type.dtype) == 'f') {
            return true;
        }
        heavy += node->op == VTAC_OP_QLINEAR_SIGMOID ? 2 : !is_clamp(node->op);
    }
    return heavy > 1;
}

/* An island, and for how many channels it has constants. */
typedef struct found_island {
    vtac_island is;
    int64_t channels; /* 0: one function for all */
    int axis;         /* of the channels; -1: the last one */
    uint32_t input;   /* of the small graph, where there are channels */
} found_island;

/* Finds an island with a number for each place along an axis. */
static bool find_by_axis(const vtac_island_search *search, int axis, vtac_node_id root, found_island *out)
{
    const vtac_graph *g = search->graph;
    vtac_island_search how = *search;
    how.axis = axis;
    if (g->nodes[root].op != VTAC_OP_QUANTIZE_LINEAR || !vtac_find_island(&how, root, &out->is)) {
        return false;
    }
    const vtac_value *source = &g->values[out->is.source];
    out->axis = axis;
    out->channels = source->type.rank < 2 ? 0 : source->type.dim[axis < 0 ? source->type.rank - 1 : 1];
    const bool computed = source->node != 0 && g->nodes[source->node].op != VTAC_OP_QUANTIZE_LINEAR;
    return out->channels > 0 && (axis > 0 || computed) && is_worth_it(g, &out->is);
}

/* The results of an island: bytes, those of an island of columns, or floats. */
typedef enum island_ends { ENDS_IN_BYTES, ENDS_IN_ROWS, ENDS_IN_FLOATS } island_ends;

/* The island that ends in a node. */
static bool find_island(const vtac_island_search *search, island_ends ends, vtac_node_id root,
                        found_island *out)
{
    const vtac_graph *g = search->graph;
    const vtac_node *node = &g->nodes[root];
    *out = (found_island){.channels = 0};
    if (node->output_count == 1 && ends == ENDS_IN_FLOATS) {
        return g->values[node->outputs[0]].type.dtype == VTAC_F32 &&
               vtac_find_island(search, root, &out->is) && is_slow_tail(g, &out->is);
    }
    if (node->output_count != 1 || !begins_island(g, node->outputs[0])) {
        return false;
    }
    if (ends == ENDS_IN_ROWS) {
        return find_by_axis(search, -1, root, out);
    }
    return (vtac_find_island(search, root, &out->is) && is_worth_it(g, &out->is)) ||
           find_by_axis(search, 1, root, out);
}

/* ---- running them */

typedef struct runner {
    vtac_rewrite *r;
    vtac_graph *small;
    vtac_value_id numbers[2]; /* all of int8, all of uint8 */
    vtac_value_id by_channel; /* all numbers, for each channel of the island at hand */
    vtac_value_id *copy;      /* by value of the model */
    found_island *found;
    uint32_t count;
} runner;

static vta_status bring_input(runner *run, const vtac_island *is, const vtac_node *node, uint32_t i,
                              vtac_value_id *out)
{
    const vtac_value_id value = node->inputs[i];
    const vtac_graph *g = run->r->graph;
    *out = 0;
    if (value == 0) {
        return VTA_OK;
    }
    if (value == is->source) {
        *out = run->by_channel != 0 ? run->by_channel : run->numbers[g->values[value].type.dtype == VTAC_U8];
        return VTA_OK;
    }
    if (vtac_in_constant(g, node, i) == NULL) {
        *out = run->copy[value];
        return VTA_OK;
    }
    vtac_tensor constant = *g->values[value].constant;
    constant.type.rank = vtac_type_elements(&constant.type) == 1 && node->op != VTAC_OP_LOOK_UP
                             ? 0
                             : constant.type.rank; /* it must not raise the rank */
    return vtac_add_constant(run->small, NULL, &constant, out, run->r->diag);
}

static vta_status copy_node(runner *run, const vtac_island *is, vtac_node_id id, vta_diag *diag)
{
    const vtac_node *node = &run->r->graph->nodes[id];
    vtac_value_id *inputs = vta_arena_array(&run->small->arena, node->input_count + 1U, sizeof *inputs);
    vtac_attr *attrs;
    uint32_t attr_count;
    vtac_node_id new;
    if (inputs == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        VTA_TRY(bring_input(run, is, node, i, &inputs[i]));
    }
    VTA_TRY(vtac_attrs_without(run->r, node, "axis", &attrs, &attr_count));
    const vtac_node_spec spec = {.op = node->op,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = attr_count};
    VTA_TRY(vtac_add_node(run->small, &spec, &new, diag));
    run->copy[node->outputs[0]] = run->small->nodes[new].outputs[0];
    return VTA_OK;
}

/* All numbers for each channel: an input of the island's own. */
static vta_status add_numbers(runner *run, found_island *found)
{
    const vtac_type *source = &run->r->graph->values[found->is.source].type;
    vtac_type type = {.dtype = source->dtype, .rank = source->rank, .dim = {1, found->channels, NUMBERS}};
    char name[32];
    run->by_channel = 0;
    if (found->channels == 0) {
        return VTA_OK;
    }
    for (uint32_t i = 3; i < type.rank; i++) {
        type.dim[i] = 1;
    }
    if (found->axis < 0) {
        type.dim[1] = 1;
        type.dim[type.rank - 2] = NUMBERS;
        type.dim[type.rank - 1] = found->channels;
    }
    found->input = run->small->input_count;
    (void)snprintf(name, sizeof name, "n%u", run->small->input_count);
    return vtac_add_input(run->small, name, &type, &run->by_channel, run->r->diag);
}

/* An island whose operators refuse 256 numbers in a row is none. */
static vta_status copy_island(runner *run, found_island *found)
{
    vtac_island *is = &found->is;
    vta_diag quiet = {0};
    vta_status status = add_numbers(run, found);
    for (uint32_t i = is->count; i-- > 0 && status == VTA_OK;) {
        status = copy_node(run, is, is->nodes[i], &quiet);
    }
    if (status == VTA_NOMEM) {
        return vta_no_memory(run->r->diag);
    }
    is->source = status == VTA_OK ? is->source : 0;
    return status == VTA_OK
               ? vtac_add_output(run->small, run->copy[run->r->graph->nodes[is->nodes[0]].outputs[0]],
                                 run->r->diag)
               : VTA_OK;
}

/* The name of a table is that of the last operator that is no border between floats and integers. */
static const vtac_node *name_of(const vtac_graph *g, const vtac_island *is)
{
    for (uint32_t i = 0; i < is->count; i++) {
        const vtac_op op = g->nodes[is->nodes[i]].op;
        if (op != VTAC_OP_QUANTIZE_LINEAR && op != VTAC_OP_DEQUANTIZE_LINEAR && !is_clamp(op)) {
            return &g->nodes[is->nodes[i]];
        }
    }
    return &g->nodes[is->nodes[0]];
}

static vta_status put_table(vtac_rewrite *r, const vtac_island *is, const void *numbers, bool *put)
{
    const vtac_node like = *name_of(r->graph, is);
    const vtac_value_id old = r->graph->nodes[is->nodes[0]].outputs[0];
    const vtac_type table = {.dtype = r->graph->values[old].type.dtype, .rank = 1, .dim = {NUMBERS}};
    const vtac_attr first = {.name = "first",
                             .kind = VTAC_ATTR_INT,
                             .i = r->graph->values[is->source].type.dtype == VTAC_U8 ? 0 : INT8_MIN};
    vtac_value_id inputs[VTAC_LOOK_UP_INPUTS] = {is->source};
    vtac_value_id new;
    VTA_TRY(vtac_new_constant(r, NULL, &table, numbers, &inputs[VTAC_LOOK_UP_TABLE]));
    const vtac_node_spec spec = {.op = VTAC_OP_LOOK_UP,
                                 .inputs = inputs,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .attrs = &first,
                                 .attr_count = 1};
    VTA_TRY(vtac_new_node(r, is->nodes[0], &like, spec, &new));
    *put = vtac_can_replace(r->graph, old, new);
    if (*put) {
        vtac_replace(r, old, new);
    }
    return VTA_OK;
}

/* All numbers, each so many times in a row. */
static void fill_numbers(const runner *run, vta_model *model, uint32_t input, int64_t times)
{
    const vtac_type *type = &run->small->values[run->small->inputs[input]].type;
    const int first = type->dtype == VTAC_U8 ? 0 : INT8_MIN;
    for (int64_t k = 0; k < vtac_type_elements(type); k++) {
        ((uint8_t *)vta_model_input_data(model, input))[k] = (uint8_t)(first + k / times % NUMBERS);
    }
}

static vta_status put_tables(runner *run, vta_model *model, uint32_t *changes)
{
    uint32_t output = 0;
    for (uint32_t i = 0; i < run->small->input_count; i++) {
        fill_numbers(run, model, i, 1);
    }
    for (uint32_t i = 0; i < run->count; i++) {
        if (run->found[i].axis < 0 && run->found[i].is.source != 0) {
            fill_numbers(run, model, run->found[i].input, run->found[i].channels);
        }
    }
    VTA_TRY(vta_model_run(model, run->r->diag));
    for (uint32_t i = 0; i < run->count; i++) {
        const found_island *found = &run->found[i];
        bool put = false;
        if (found->is.source != 0) {
            const void *numbers = vta_model_output_data(model, output++);
            VTA_TRY(found->channels > 0 ? vtac_put_lines(run->r, &found->is, found->axis, numbers, &put)
                                        : put_table(run->r, &found->is, numbers, &put));
        }
        *changes += put;
    }
    return VTA_OK;
}

static vta_status run_islands(runner *run, uint32_t *changes)
{
    static const vtac_type types[2] = {{.dtype = VTAC_I8, .rank = 1, .dim = {NUMBERS}},
                                       {.dtype = VTAC_U8, .rank = 1, .dim = {NUMBERS}}};
    vtac_loaded loaded = {0};
    vta_diag quiet = {0};
    for (int k = 0; k < 2; k++) {
        VTA_TRY(vtac_add_input(run->small, k == 0 ? "i8" : "u8", &types[k], &run->numbers[k], run->r->diag));
    }
    for (uint32_t i = 0; i < run->count; i++) {
        VTA_TRY(copy_island(run, &run->found[i]));
    }
    (void)vtac_remove_dead(run->small);
    if (run->small->output_count == 0) {
        return VTA_OK;
    }
    /* without a lowering the islands stay what they are */
    vta_status status = vtac_load_graph(run->small, 1, &loaded, &quiet);
    if (status == VTA_OK) {
        status = put_tables(run, loaded.model, changes);
    } else {
        status = status == VTA_NOMEM ? vta_no_memory(run->r->diag) : VTA_OK;
    }
    vtac_unload(&loaded);
    return status;
}

/* All islands of the graph, the last first; none of them begins inside another. */
static vta_status find_all(runner *run, island_ends ends, vta_arena *arena)
{
    const vtac_graph *g = run->r->graph;
    const vtac_island_search how = {
        .graph = g, .position = vtac_positions(g, arena), .begins = begins_island};
    bool *taken = vta_arena_array(arena, (size_t)g->node_count + 1, sizeof *taken);
    run->copy = vta_arena_array(arena, (size_t)g->value_count + 1, sizeof *run->copy);
    run->found = vta_arena_array(arena, (size_t)g->order_count + 1, sizeof *run->found);
    if (how.position == NULL || taken == NULL || run->copy == NULL || run->found == NULL) {
        return vta_no_memory(run->r->diag);
    }
    for (uint32_t i = g->order_count; i-- > 0;) {
        found_island *found = &run->found[run->count];
        if (!taken[g->order[i]] && find_island(&how, ends, g->order[i], found)) {
            run->count++;
            for (uint32_t k = 0; k < found->is.count; k++) {
                taken[found->is.nodes[k]] = true;
            }
        }
    }
    return VTA_OK;
}

static vta_status fold_islands(vtac_graph *graph, island_ends ends, uint32_t *changes, vta_diag *diag)
{
    vta_arena arena = {0};
    vtac_rewrite r = {.graph = graph, .diag = diag};
    runner run = {.r = &r};
    vta_status status = find_all(&run, ends, &arena);
    if (status == VTA_OK && run.count > 0) {
        run.small = vtac_graph_create("islands");
        status = run.small == NULL ? vta_no_memory(diag) : run_islands(&run, changes);
        vtac_graph_destroy(run.small);
        (void)vtac_remove_dead(graph);
    }
    vta_arena_free(&arena);
    return status;
}

vta_status vtac_fold_islands(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return fold_islands(graph, ENDS_IN_BYTES, changes, diag);
}

vta_status vtac_fold_row_islands(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return fold_islands(graph, ENDS_IN_ROWS, changes, diag);
}

vta_status vtac_fold_float_islands(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    return fold_islands(graph, ENDS_IN_FLOATS, changes, diag);
}
