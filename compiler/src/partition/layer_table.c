/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one number: the operator runs on all 256 of them, by the lowering that the host would use, and
 * what comes out is the table.
 */
#include <string.h>

#include "partition.h"
#include "vtac/temporary.h"

enum { NUMBERS = 256 };

static vta_status build(const vtac_maker *m, vtac_graph *small, vta_diag *diag)
{
    const vtac_type *x = vtac_in_type(m->graph, m->node, 0);
    const vtac_type type = {.dtype = x->dtype, .rank = 1, .dim = {NUMBERS}};
    vtac_value_id *inputs = vta_arena_array(&small->arena, m->node->input_count + 1U, sizeof *inputs);
    vtac_node_id id;
    if (inputs == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
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

static vta_status load(const vtac_graph *small, vta_model **out, vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image = {0};
    const vtac_compile_options options = {.level = 1, .target = &target};
    vta_status status = vtac_target_find("host", &target, diag);
    status = status == VTA_OK ? vtac_compile(small, &options, &image, diag) : status;
    status = status == VTA_OK ? vtac_load(&image, &(vta_model_options){.threads = 1}, out, diag) : status;
    vtac_artifact_image_free(&image);
    return status;
}

/* Bytes of uint8 are int8 moved by 128. */
static vta_status run(const vtac_maker *m, vta_model *model, int8_t table[NUMBERS], vta_diag *diag)
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

vta_status vtac_layer_table(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t x[4], y[4];
    vta_diag quiet = {0};
    vta_model *model = NULL;
    int8_t *table = vtac_maker_array(m, NUMBERS, 1);
    vtac_graph *small = vtac_graph_create("table");
    vta_status status = small == NULL || table == NULL ? VTA_NOMEM : build(m, small, &quiet);
    status = status == VTA_OK ? load(small, &model, &quiet) : status;
    status = status == VTA_OK ? run(m, model, table, &quiet) : status;
    vta_model_destroy(model);
    vtac_graph_destroy(small);
    if (status != VTA_OK) {
        return status == VTA_NOMEM ? vta_fail(m->diag, VTA_NOMEM, "out of memory")
                                   : vtac_no_layer(m, "its table cannot be made: %s", quiet.text);
    }
    VTA_TRY(vtac_layer_input(m, layer, 0, x, NULL));
    VTA_TRY(vtac_layer_output(m, layer, y));
    layer->kind = VTAC_VTA_TABLE;
    layer->table = table;
    return VTA_OK;
}
