/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of fold-constants: what depends on constants alone and the evaluator of shape arithmetic does not
 * know is compiled as a small model of its own, by the lowerings that would run it later, and run here, once.
 * All such nodes go together. The processor is the least one of its kind, not this machine, so that the
 * numbers are the same wherever they are made. Where that cannot be done (no linker, an operator without a
 * lowering), the nodes stay and are computed at run time.
 */
#include "fold_run.h"

#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vtac/load.h"

typedef struct constant_run {
    vtac_graph *graph;      /* the model's */
    vtac_graph *small;      /* of the nodes that fold */
    vtac_value_id *copy;    /* of each value of the model, in `small`; 0: not there */
    vtac_value_id *results; /* values of the model that become constants, in the order of small's outputs */
    uint32_t result_count;
    bool *folds; /* by node */
    vta_diag *diag;
} constant_run;

static bool is_known(const constant_run *r, vtac_value_id value)
{
    const vtac_value *v = &r->graph->values[value];
    return value == 0 || v->constant != NULL || (v->node != 0 && r->folds[v->node]);
}

static size_t bytes_of(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_type *type = &graph->values[value].type;
    return value == 0 ? 0 : (size_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype);
}

/* True if all operands are known and the results are worth their room in the artifact. */
static bool folds_node(const constant_run *r, const vtac_node *node)
{
    size_t in = 0;
    size_t out = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!is_known(r, node->inputs[i])) {
            return false;
        }
        in += bytes_of(r->graph, node->inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != 0 && vtac_is_output(r->graph, node->outputs[i])) {
            return false;
        }
        out += bytes_of(r->graph, node->outputs[i]);
    }
    return vtac_op_limits(node->op) != NULL && !vtac_op_is_internal(node->op) && vtac_fold_is_worth(in, out);
}

static bool find_nodes(constant_run *r)
{
    bool any = false;
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        const vtac_node_id id = r->graph->order[i];
        r->folds[id] = folds_node(r, &r->graph->nodes[id]);
        any = any || r->folds[id];
    }
    return any;
}

/* A value of the model in the small one: a constant, or what an earlier node made. */
static vta_status bring_value(constant_run *r, vtac_value_id value)
{
    const vtac_value *v = &r->graph->values[value];
    return value == 0 || r->copy[value] != 0
               ? VTA_OK
               : vtac_add_constant(r->small, v->name, v->constant, &r->copy[value], r->diag);
}

static vta_status copy_node(constant_run *r, const vtac_node *node)
{
    vtac_value_id *inputs = vta_arena_array(&r->small->arena, node->input_count + 1U, sizeof *inputs);
    if (inputs == NULL) {
        return vta_no_memory(r->diag);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        VTA_TRY(bring_value(r, node->inputs[i]));
        inputs[i] = node->inputs[i] == 0 ? 0 : r->copy[node->inputs[i]];
    }
    const vtac_node_spec spec = {.op = node->op,
                                 .name = node->name,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = node->output_count,
                                 .attrs = node->attrs,
                                 .attr_count = node->attr_count};
    vtac_node_id id;
    VTA_TRY(vtac_add_node(r->small, &spec, &id, r->diag));
    for (uint32_t i = 0; i < node->output_count; i++) {
        r->copy[node->outputs[i]] = r->small->nodes[id].outputs[i];
    }
    return VTA_OK;
}

/* The operands of a node that stays, where nodes that fold make them. */
static vta_status note_operands(constant_run *r, const vtac_node *node)
{
    for (uint32_t k = 0; k < node->input_count; k++) {
        const vtac_value_id x = node->inputs[k];
        const vtac_node_id by = r->graph->values[x].node;
        if (by != 0 && r->folds[by] && !vtac_is_output(r->small, r->copy[x])) {
            VTA_TRY(vtac_add_output(r->small, r->copy[x], r->diag));
            r->results[r->result_count++] = x;
        }
    }
    return VTA_OK;
}

static vta_status build_model(constant_run *r)
{
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        if (r->folds[r->graph->order[i]]) {
            VTA_TRY(copy_node(r, &r->graph->nodes[r->graph->order[i]]));
        }
    }
    for (uint32_t i = 0; i < r->graph->order_count; i++) {
        if (!r->folds[r->graph->order[i]]) {
            VTA_TRY(note_operands(r, &r->graph->nodes[r->graph->order[i]]));
        }
    }
    return VTA_OK;
}

static vta_status take_results(constant_run *r, vta_model *model)
{
    for (uint32_t i = 0; i < r->result_count; i++) {
        const vtac_value_id old = r->results[i];
        const size_t bytes = bytes_of(r->graph, old);
        vtac_tensor tensor = {.type = r->graph->values[old].type, .bytes = bytes};
        void *data = vta_arena_alloc(&r->graph->arena, bytes + 1);
        vtac_value_id constant;
        if (data == NULL) {
            return vta_no_memory(r->diag);
        }
        if (bytes > 0) { /* an empty tensor may have no place */
            memcpy(data, vta_model_output_data(model, i), bytes);
        }
        tensor.data = data;
        VTA_TRY(vtac_add_constant(r->graph, NULL, &tensor, &constant, r->diag));
        vtac_replace_uses(r->graph, old, constant);
        if (!r->graph->values[old].nameless) {
            vtac_swap_names(r->graph, old, constant);
        }
    }
    return VTA_OK;
}

static vta_status run_all(constant_run *r, uint32_t *changes)
{
    vtac_loaded loaded = {0};
    vta_diag quiet = {0};
    vta_diag *told = r->diag;
    r->diag = &quiet;
    vta_status status = build_model(r);
    status = status == VTA_OK && r->result_count > 0 ? vtac_load_graph(r->small, 1, &loaded, &quiet) : status;
    status = status == VTA_OK && loaded.model != NULL ? vta_model_run(loaded.model, &quiet) : status;
    r->diag = told;
    if (status == VTA_OK && loaded.model != NULL) {
        status = take_results(r, loaded.model);
        *changes += vtac_remove_dead(r->graph);
    } else if (status != VTA_NOMEM) {
        status = VTA_OK; /* they stay */
    } else {
        status = vta_no_memory(told);
    }
    vtac_unload(&loaded);
    return status;
}

vta_status vtac_fold_by_running(vtac_graph *graph, uint32_t *changes, vta_diag *diag)
{
    constant_run r = {.graph = graph, .diag = diag};
    r.folds = calloc((size_t)graph->node_count + 1, sizeof *r.folds);
    r.copy = calloc((size_t)graph->value_count + 1, sizeof *r.copy);
    r.results = calloc((size_t)graph->value_count + 1, sizeof *r.results);
    vta_status status = VTA_OK;
    if (r.folds == NULL || r.copy == NULL || r.results == NULL) {
        status = vta_no_memory(diag);
    } else if (find_nodes(&r)) {
        r.small = vtac_graph_create("constants");
        status = r.small == NULL ? vta_no_memory(diag) : run_all(&r, changes);
        vtac_graph_destroy(r.small);
    }
    free(r.folds);
    free(r.copy);
    free(r.results);
    return status;
}
