/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one number: the operator runs on all 256 numbers, as the host would run it, and the results
 * are the table.
 */
#include <string.h>

#include "partition.h"
#include "vta/fail.h"
#include "vtac/load.h"

enum { NUMBERS = 256 };

static vta_status build_graph(const vtac_maker *m, vtac_graph *small, vta_diag *diag)
{
    const vtac_type *x = vtac_in_type(m->graph, m->node, 0);
    const vtac_type type = {.dtype = x->dtype, .rank = 1, .dim = {NUMBERS}};
    vtac_value_id *inputs = vta_arena_array(&small->arena, m->node->input_count + 1U, sizeof *inputs);
    vtac_node_id id;
    if (inputs == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(vtac_add_input(small, "x", &type, &inputs[0], diag));
    for (uint32_t i = 1; i < m->node->input_count; i++) {
        const vtac_tensor *constant = vtac_in_constant(m->graph, m->node, i);
        if (constant == NULL && m->node->inputs[i] != 0) {
            return vta_fail(diag, VTA_UNSUPPORTED, "its scales are not known at compile time");
        }
        inputs[i] = 0;
        VTA_TRY(constant != NULL ? vtac_add_constant(small, NULL, constant, &inputs[i], diag) : VTA_OK);
    }
    const vtac_node_spec spec = {.op = m->node->op,
                                 .inputs = inputs,
                                 .input_count = m->node->input_count,
                                 .output_count = 1,
                                 .attrs = m->node->attrs,
                                 .attr_count = m->node->attr_count};
    VTA_TRY(vtac_add_node(small, &spec, &id, diag));
    return vtac_add_output(small, small->nodes[id].outputs[0], diag);
}

/* Runs the operator on all numbers; bytes of uint8 are int8 moved by 128. */
static vta_status compute_table(const vtac_maker *m, vta_model *model, int8_t table[NUMBERS], vta_diag *diag)
{
    const bool from_unsigned = vtac_in_type(m->graph, m->node, 0)->dtype == VTAC_U8;
    const bool to_unsigned = m->graph->values[m->node->outputs[0]].type.dtype == VTAC_U8;
    uint8_t *x = vta_model_input_data(model, 0);
    for (int i = 0; i < NUMBERS; i++) {
        x[i] = (uint8_t)(from_unsigned ? i : i - 128);
    }
    VTA_TRY(vta_model_run(model, diag));
    const uint8_t *y = vta_model_output_data(model, 0);
    for (int i = 0; i < NUMBERS; i++) {
        table[i] = (int8_t)(uint8_t)(to_unsigned ? y[i] - 128 : y[i]);
    }
    return VTA_OK;
}

/* The table behind a layer's results, or its place; NULL: the layer can have none. */
static const int8_t **place_of_table(vtac_vta_layer *layer)
{
    switch (layer->kind) {
    case VTAC_VTA_TABLE: return &layer->table;
    case VTAC_VTA_CONV:
    case VTAC_VTA_MUL:
    case VTAC_VTA_AVG_POOL:
    case VTAC_VTA_CHOOSE:
    case VTAC_VTA_PLANES:
    case VTAC_VTA_RESCALE: return &layer->behind;
    case VTAC_VTA_ADD: return layer->table == NULL ? &layer->behind : NULL; /* one table at a time */
    case VTAC_VTA_MAX_POOL:
    case VTAC_VTA_CONCAT:
    case VTAC_VTA_RESIZE:
    case VTAC_VTA_MOVE:
    case VTAC_VTA_SOFTMAX:
    case VTAC_VTA_NORM:
    case VTAC_VTA_RECURRENT:
    case VTAC_VTA_TRANSPOSE:
    case VTAC_VTA_RUNS:
    case VTAC_VTA_KINDS: break;
    }
    return NULL;
}

/* Puts the table behind the layer that makes its input, and behind a table of that layer; false if the input
 * has other readers, or its layer can have no table. */
static bool join_table(vtac_maker *m, int8_t *table)
{
    vtac_vta_tensor *to;
    vtac_vta_layer *before = vtac_joined_layer(m, &to);
    const int8_t **place = before == NULL ? NULL : place_of_table(before);
    if (place == NULL) {
        return false;
    }
    const int32_t between = to->zero;
    int8_t *both = *place == NULL ? table : vtac_maker_array(m, NUMBERS, 1);
    if (both == NULL || !vtac_join_layer(m, before, to)) {
        return false;
    }
    const bool clamps =
        before->kind == VTAC_VTA_TABLE; /* a table layer clamps behind its table, other layers before */
    for (int i = 0; *place != NULL && i < NUMBERS; i++) {
        const int32_t q = (*place)[i];
        const int32_t high = clamps && q > before->high ? before->high : q;
        both[i] = table[(clamps && high < before->low ? before->low : high) + 128];
    }
    if (clamps) {
        before->low = INT8_MIN;
        before->high = INT8_MAX;
    }
    before->between = *place == NULL ? between : before->between;
    *place = both;
    return true;
}

/* Joins a table to the layer before, or makes it a layer. */
static vta_status add_table(vtac_maker *m, vtac_vta_layer *layer, int8_t *table)
{
    int64_t x[4], y[4];
    if (join_table(m, table)) {
        return VTA_OK;
    }
    m->any_rows = true;
    VTA_TRY(vtac_layer_input(m, layer, 0, x, NULL));
    VTA_TRY(vtac_layer_output(m, layer, y));
    layer->kind = VTAC_VTA_TABLE;
    layer->table = table;
    return VTA_OK;
}

static vta_status make_table(const vtac_maker *m, vtac_graph *small, vtac_loaded *loaded,
                             int8_t table[NUMBERS], vta_diag *diag)
{
    VTA_TRY(build_graph(m, small, diag));
    VTA_TRY(vtac_load_graph(small, 1, loaded, diag));
    return compute_table(m, loaded->model, table, diag);
}

vta_status vtac_layer_table(vtac_maker *m, vtac_vta_layer *layer)
{
    vta_diag quiet = {0};
    vtac_loaded loaded = {0};
    int8_t *table = vtac_maker_array(m, NUMBERS, 1);
    vtac_graph *small = vtac_graph_create("table");
    const vta_status status =
        small == NULL || table == NULL ? VTA_NOMEM : make_table(m, small, &loaded, table, &quiet);
    vtac_unload(&loaded);
    vtac_graph_destroy(small);
    if (status != VTA_OK) {
        return status == VTA_NOMEM ? vta_no_memory(m->diag)
                                   : vtac_no_layer(m, "its table cannot be made: %s", quiet.text);
    }
    return add_table(m, layer, table);
}

/* The table is an operand; indices beyond its ends are clamped. */
vta_status vtac_layer_look_up(vtac_maker *m, vtac_vta_layer *layer)
{
    const vtac_tensor *given = vtac_in_constant(m->graph, m->node, VTAC_LOOK_UP_TABLE);
    const vtac_dtype from = vtac_in_type(m->graph, m->node, VTAC_LOOK_UP_X)->dtype;
    if (given == NULL || (given->type.dtype != VTAC_I8 && given->type.dtype != VTAC_U8) ||
        (from != VTAC_I8 && from != VTAC_U8)) {
        return vtac_no_layer(m, "its table is not one of 8-bit numbers for 8-bit numbers");
    }
    const int64_t first = vtac_attr_int(m->node, "first", 0), last = vtac_type_elements(&given->type) - 1;
    const int64_t move_in = from == VTAC_U8 ? 128 : 0, move_out = given->type.dtype == VTAC_U8 ? 128 : 0;
    int8_t *table = vtac_maker_array(m, NUMBERS, 1);
    if (table == NULL) {
        return vta_no_memory(m->diag);
    }
    for (int64_t q = INT8_MIN; q <= INT8_MAX; q++) {
        const int64_t place = q + move_in - first;
        const int64_t held = place < 0 ? 0 : place > last ? last : place;
        table[q + 128] = (int8_t)(vtac_tensor_int(given, held) - move_out);
    }
    return add_table(m, layer, table);
}
