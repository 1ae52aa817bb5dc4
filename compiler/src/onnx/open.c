/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph of one size becomes one of all sizes: it is compared with the graph of the same model at another
 * size. What differs is a shape that Reshape is given, where 0 stands for the size of the operand and -1 for
 * what is left; anything else that differs depends on the size, and the model cannot be written so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "vta/fail.h"
#include "writer.h"

typedef struct open_walk {
    vtac_graph *graph;
    const vtac_graph *other;
} open_walk;

static vta_status depends_on_size(const open_walk *o, const vtac_node *node, const char *what, vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "node '%s' (%s): %s depends on the sizes that are left open; give them with --shape",
                    node->name, vtac_op_get(node->op)->name, what);
    (void)o;
}

/* The shape for any size: of the operand's `x` and `other_x`, and of the result at both sizes. */
static bool shape_for_all(const vtac_type *x, const vtac_type *other_x, const vtac_type *y,
                          const vtac_type *other_y, int64_t *dim)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < y->rank; i++) {
        const bool kept = i < x->rank && x->dim[i] == y->dim[i] && other_x->dim[i] == other_y->dim[i];
        const bool fixed = y->dim[i] == other_y->dim[i];
        dim[i] = fixed ? y->dim[i] : kept ? 0 : -1;
        left += dim[i] == -1;
    }
    return left <= 1;
}

static vta_status open_reshape(const open_walk *o, vtac_node_id id, vta_diag *diag)
{
    vtac_graph *g = o->graph;
    const vtac_node *node = &g->nodes[id], *again = &o->other->nodes[id];
    int64_t dim[VTAC_MAX_RANK];
    const vtac_type *y = &g->values[node->outputs[0]].type;
    if (!shape_for_all(vtac_in_type(g, node, VTAC_RESHAPE_X), vtac_in_type(o->other, again, VTAC_RESHAPE_X),
                       y, &o->other->values[again->outputs[0]].type, dim)) {
        return depends_on_size(o, node, "its shape", diag);
    }
    int64_t *kept = vta_arena_array(&g->arena, VTAC_MAX_RANK, sizeof *kept);
    vtac_value_id shape;
    if (kept == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(kept, dim, y->rank * sizeof *kept);
    const vtac_tensor tensor = {{VTAC_I64, 1, {y->rank}}, kept, y->rank * sizeof *kept};
    VTA_TRY(vtac_add_constant(g, NULL, &tensor, &shape, diag));
    return vtac_set_input(g, id, VTAC_RESHAPE_SHAPE, shape, diag);
}

/* Constants of a node that differ. */
static vta_status open_constants(const open_walk *o, vtac_node_id id, vta_diag *diag)
{
    const vtac_node *node = &o->graph->nodes[id], *again = &o->other->nodes[id];
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_tensor *a = vtac_in_constant(o->graph, node, i), *b = vtac_in_constant(o->other, again, i);
        if ((a == NULL) != (b == NULL)) {
            return depends_on_size(o, node, "an operand", diag);
        }
        if (a == NULL || vtac_same_tensor(a, b)) {
            continue;
        }
        if (node->op != VTAC_OP_RESHAPE || i != 1) {
            return depends_on_size(o, node, "a constant", diag);
        }
        VTA_TRY(open_reshape(o, id, diag));
    }
    return VTA_OK;
}

static vta_status open_node(const open_walk *o, vtac_node_id id, vta_diag *diag)
{
    const vtac_node *node = &o->graph->nodes[id], *again = &o->other->nodes[id];
    bool same = vtac_same_form(node, again);
    for (uint32_t i = 0; same && i < node->input_count; i++) {
        same = node->inputs[i] == again->inputs[i];
    }
    return same ? open_constants(o, id, diag) : depends_on_size(o, node, "its form", diag);
}

vta_status vtac_open_sizes(vtac_graph *graph, const vtac_graph *other, vta_diag *diag)
{
    const open_walk o = {graph, other};
    if (graph->order_count != other->order_count || graph->output_count != other->output_count ||
        memcmp(graph->order, other->order, graph->order_count * sizeof *graph->order) != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "the network's nodes depend on the sizes that are left open; give them with --shape");
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        VTA_TRY(open_node(&o, graph->order[i], diag));
    }
    return vtac_graph_sort(graph, diag);
}

/* ---- writing */

/* Declares sizes open that differ from those of the other graph. */
static void open_ends(vtac_onnx_writer *w, Onnx__ValueInfoProto **infos, const vtac_graph *g,
                      const vtac_value_id *ends, const vtac_graph *other, const vtac_value_id *other_ends,
                      uint32_t count)
{
    enum { ROOM = 32 };
    for (uint32_t i = 0; i < count; i++) {
        Onnx__TensorShapeProto *shape = infos[i]->type->tensor_type->shape;
        const vtac_type *a = &g->values[ends[i]].type, *b = &other->values[other_ends[i]].type;
        for (uint32_t k = 0; k < a->rank; k++) {
            char *name = a->dim[k] != b->dim[k] ? vtac_writer_alloc(w, ROOM, 1) : NULL;
            if (name != NULL) {
                (void)snprintf(name, ROOM, "%s%u_%u", ends == g->inputs ? "in" : "out", i, k);
                shape->dim[k]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
                shape->dim[k]->dim_param = name;
            }
        }
    }
}

vta_status vtac_onnx_pack_open(const vtac_graph *graph, const vtac_graph *other, const char *producer,
                               uint8_t **bytes, size_t *size, vta_diag *diag)
{
    vtac_onnx_writer w = {.graph = graph};
    Onnx__ModelProto model;
    Onnx__GraphProto proto;
    vta_status status = VTA_OK;
    *bytes = NULL;
    VTA_TRY_OUT(vtac_writer_model(&w, producer, &model, &proto, diag));
    open_ends(&w, proto.input, graph, graph->inputs, other, other->inputs, graph->input_count);
    open_ends(&w, proto.output, graph, graph->outputs, other, other->outputs, graph->output_count);
    VTA_TRY_OUT(w.failed ? vta_no_memory(diag) : VTA_OK);
    *size = onnx__model_proto__get_packed_size(&model);
    *bytes = malloc(*size + 1);
    VTA_TRY_OUT(vta_allocated(*bytes != NULL, diag));
    (void)onnx__model_proto__pack(&model, *bytes);
    (*bytes)[*size] = 0;
out:
    vta_arena_free(&w.arena);
    return status;
}
