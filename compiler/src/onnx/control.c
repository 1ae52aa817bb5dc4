/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow that is known at compile time: If becomes its branch, Loop is unrolled, calls of functions are
 * inlined.
 */
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "vta/fail.h"
#include "vta/vec.h"

enum { MAX_TRIPS = 256 }; /* that are unrolled */

vta_status vtac_import_body(vtac_importer *im, const vtac_import_place *at, vtac_scope *scope,
                            const Onnx__GraphProto *body, vtac_value_id *outputs, vta_diag *diag)
{
    if (++im->depth > VTAC_MAX_DEPTH) {
        return vta_fail(diag, VTA_UNSUPPORTED, "functions and subgraphs nest deeper than %d", VTAC_MAX_DEPTH);
    }
    vtac_import_place inside = *at;
    inside.scope = scope;
    vta_status status = vtac_import_initializers(im, scope, body, diag);
    if (status == VTA_OK) {
        status = vtac_import_nodes(im, &inside, body->node, body->n_node, diag);
    }
    for (size_t i = 0; status == VTA_OK && i < body->n_output; i++) {
        status = vtac_look_up(&inside, body->output[i]->name, &outputs[i], diag);
    }
    im->depth--;
    return status;
}

vta_status vtac_import_if(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                          vta_diag *diag)
{
    vtac_value_id condition = 0;
    VTA_TRY(vtac_look_up(at, node->n_input == 1 ? node->input[0] : "", &condition, diag));
    const vtac_tensor *known = condition == 0 ? NULL : im->graph->values[condition].constant;
    if (known == NULL || vtac_type_elements(&known->type) != 1) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "the condition depends on the model's inputs; only a known one compiles");
    }

    const Onnx__AttributeProto *branch =
        vtac_proto_attr(node, vtac_tensor_int(known, 0) != 0 ? "then_branch" : "else_branch");
    if (branch == NULL || branch->g == NULL || branch->g->n_output != node->n_output || node->n_output > 64) {
        return vta_fail(diag, VTA_INVALID, "its branch is missing or does not give %zu outputs",
                        node->n_output);
    }
    vtac_scope scope = {.outer = at->scope};
    vtac_value_id outputs[64];
    vta_status status = vtac_import_body(im, at, &scope, branch->g, outputs, diag);
    free(scope.slots);
    return status == VTA_OK ? vtac_bind_outputs(at, node, outputs, (uint32_t)node->n_output, diag) : status;
}

/* Values that a Loop carries from one iteration to the next, and the gathered scan outputs. */
typedef struct loop_state {
    const Onnx__GraphProto *body;
    vtac_value_id carried[64];
    uint32_t carried_count, scan_count;
    vta_vec scanned; /* vtac_value_id, scan_count for each turn */
} loop_state;

/* The inputs of the body: number of the turn, condition, what is carried. */
static vta_status loop_inputs(vtac_importer *im, vtac_scope *scope, const loop_state *loop, int64_t trip,
                              vta_diag *diag)
{
    const Onnx__GraphProto *body = loop->body;
    vtac_value_id counter;
    vtac_value_id condition;
    uint8_t *kept = vta_arena_alloc(&im->graph->arena, 1);
    int64_t *number = vta_arena_alloc(&im->graph->arena, sizeof *number);
    if (kept == NULL || number == NULL) {
        return vta_no_memory(diag);
    }
    *kept = 1;
    *number = trip;
    const vtac_tensor trip_tensor = {{VTAC_I64, 0, {0}}, number, sizeof *number};
    const vtac_tensor true_tensor = {{VTAC_BOOL, 0, {0}}, kept, 1};
    VTA_TRY(vtac_add_constant(im->graph, NULL, &trip_tensor, &counter, diag));
    VTA_TRY(vtac_add_constant(im->graph, NULL, &true_tensor, &condition, diag));
    VTA_TRY(vtac_scope_set(scope, vtac_proto_text(body->input[0]->name), counter, diag));
    VTA_TRY(vtac_scope_set(scope, vtac_proto_text(body->input[1]->name), condition, diag));
    for (uint32_t i = 0; i < loop->carried_count; i++) {
        VTA_TRY(vtac_scope_set(scope, vtac_proto_text(body->input[i + 2]->name), loop->carried[i], diag));
    }
    return VTA_OK;
}

static vta_status loop_trip(vtac_importer *im, const vtac_import_place *at, loop_state *loop, int64_t trip,
                            bool *more, vta_diag *diag)
{
    vtac_scope scope = {.outer = at->scope};
    vtac_value_id outputs[130] = {0};
    vta_status status = loop_inputs(im, &scope, loop, trip, diag);
    if (status == VTA_OK) {
        status = vtac_import_body(im, at, &scope, loop->body, outputs, diag);
    }
    free(scope.slots);
    VTA_TRY(status);
    const vtac_tensor *again = im->graph->values[outputs[0]].constant;
    if (again == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "whether the loop goes on depends on the model's inputs");
    }
    *more = vtac_tensor_int(again, 0) != 0;
    memcpy(loop->carried, outputs + 1, loop->carried_count * sizeof *outputs);
    for (uint32_t i = 0; i < loop->scan_count; i++) {
        if (vta_vec_push(&loop->scanned, &outputs[1 + loop->carried_count + i]) == NULL) {
            return vta_no_memory(diag);
        }
    }
    return VTA_OK;
}

/* Joins scan output `which` of all turns: each gains an axis in front. */
static vta_status join_scans(vtac_importer *im, const loop_state *loop, uint32_t which, vtac_draft *draft,
                             vtac_value_id *out, vta_diag *diag)
{
    const size_t turns = loop->scanned.count / loop->scan_count;
    if (turns == 0 || turns > VTAC_MAX_INPUTS) {
        return vta_fail(diag, VTA_UNSUPPORTED, "a scan output over %zu turns is not supported (1 to %d)",
                        turns, VTAC_MAX_INPUTS);
    }

    const int64_t zero = 0;
    vtac_value_id axes;
    VTA_TRY(vtac_emit_ints(im, &zero, 1, &axes, diag));
    vtac_value_id parts[VTAC_MAX_INPUTS];
    for (size_t t = 0; t < turns; t++) {
        draft->inputs[VTAC_UNSQUEEZE_X] =
            *(const vtac_value_id *)vta_vec_at(&loop->scanned, t * loop->scan_count + which);
        draft->inputs[VTAC_UNSQUEEZE_AXES] = axes;
        draft->input_count = 2;
        draft->attr_count = 0;
        draft->output_count = 1;
        VTA_TRY(vtac_emit(im, draft, VTAC_OP_UNSQUEEZE, NULL, &parts[t], diag));
    }
    memcpy(draft->inputs, parts, turns * sizeof parts[0]);
    draft->input_count = (uint32_t)turns;
    draft->attr_count = 1;
    draft->attrs[0] = (vtac_attr){.name = "axis", .kind = VTAC_ATTR_INT, .i = 0};
    return vtac_emit(im, draft, VTAC_OP_CONCAT, NULL, out, diag);
}

static vta_status loop_bounds(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                              int64_t *trips, bool *enter, vta_diag *diag)
{
    vtac_value_id given[2] = {0, 0};
    for (uint32_t i = 0; i < 2 && i < node->n_input; i++) {
        VTA_TRY(vtac_look_up(at, node->input[i], &given[i], diag));
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (given[i] != 0 && im->graph->values[given[i]].constant == NULL) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "the %s depends on the model's inputs; only a known one compiles",
                            i == 0 ? "trip count" : "condition");
        }
    }
    const vtac_tensor *count = given[0] == 0 ? NULL : im->graph->values[given[0]].constant;
    if (count != NULL &&
        (vtac_dtype_kind(count->type.dtype) == 'f' || vtac_type_elements(&count->type) != 1)) {
        return vta_fail(diag, VTA_INVALID, "the trip count is to be one integer, it is %s of %lld elements",
                        vtac_dtype_name(count->type.dtype), (long long)vtac_type_elements(&count->type));
    }
    *trips = given[0] == 0 ? INT64_MAX : vtac_tensor_int(im->graph->values[given[0]].constant, 0);
    *enter = given[1] == 0 || vtac_tensor_int(im->graph->values[given[1]].constant, 0) != 0;
    return VTA_OK;
}

vta_status vtac_import_loop(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                            vtac_draft *draft, vta_diag *diag)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(node, "body");
    const Onnx__GraphProto *body = attr == NULL ? NULL : attr->g;
    if (body == NULL || node->n_input < 2 || node->n_input > 66 || body->n_input != node->n_input ||
        body->n_output != node->n_output + 1 || node->n_output > 128 || node->n_output + 2 < node->n_input) {
        return vta_fail(diag, VTA_INVALID, "its body is missing or does not fit its inputs and outputs");
    }
    loop_state loop = {.body = body,
                       .carried_count = (uint32_t)node->n_input - 2,
                       .scanned = {.item_size = sizeof(vtac_value_id)}};
    loop.scan_count = (uint32_t)node->n_output - loop.carried_count;
    int64_t trips = 0;
    bool more = false;
    VTA_TRY(loop_bounds(im, at, node, &trips, &more, diag));
    vta_status status = VTA_OK;
    for (uint32_t i = 0; status == VTA_OK && i < loop.carried_count; i++) {
        status = vtac_look_up(at, node->input[i + 2], &loop.carried[i], diag);
    }
    if (trips > MAX_TRIPS && trips != INT64_MAX) {
        return vta_fail(diag, VTA_UNSUPPORTED, "%lld turns are too many to unroll", (long long)trips);
    }
    for (int64_t trip = 0; status == VTA_OK && more && trip < trips; trip++) {
        if (trip == MAX_TRIPS) {
            status = vta_fail(diag, VTA_UNSUPPORTED, "more than %d turns are too many to unroll", MAX_TRIPS);
            break;
        }
        status = vtac_charge(im, diag);
        if (status == VTA_OK) {
            status = loop_trip(im, at, &loop, trip, &more, diag);
        }
    }
    vtac_value_id outputs[128];
    memcpy(outputs, loop.carried, loop.carried_count * sizeof outputs[0]);
    for (uint32_t i = 0; status == VTA_OK && i < loop.scan_count; i++) {
        status = join_scans(im, &loop, i, draft, &outputs[loop.carried_count + i], diag);
    }
    vta_vec_free(&loop.scanned);
    return status == VTA_OK ? vtac_bind_outputs(at, node, outputs, (uint32_t)node->n_output, diag) : status;
}

vta_status vtac_import_call(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                            const Onnx__FunctionProto *function, vta_diag *diag)
{
    VTA_TRY(vtac_charge(im, diag)); /* calls of calls are counted, though they make no nodes */
    if (++im->depth > VTAC_MAX_DEPTH) {
        return vta_fail(diag, VTA_UNSUPPORTED, "functions and subgraphs nest deeper than %d", VTAC_MAX_DEPTH);
    }
    if (node->n_input > function->n_input || node->n_output > function->n_output) {
        return vta_fail(diag, VTA_INVALID,
                        "it passes %zu inputs and takes %zu outputs of a function with %zu and %zu",
                        node->n_input, node->n_output, function->n_input, function->n_output);
    }
    vtac_scope scope = {.outer = NULL};
    const vtac_import_place inside = {&scope, function->opset_import, function->n_opset_import, node};
    vta_status status = VTA_OK;
    for (size_t i = 0; status == VTA_OK && i < function->n_input; i++) {
        vtac_value_id value = 0;
        status = vtac_look_up(at, i < node->n_input ? node->input[i] : "", &value, diag);
        if (status == VTA_OK) {
            status = vtac_scope_set(&scope, function->input[i], value, diag);
        }
    }
    if (status == VTA_OK) {
        status = vtac_import_nodes(im, &inside, function->node, function->n_node, diag);
    }
    for (size_t i = 0; status == VTA_OK && i < node->n_output; i++) {
        vtac_value_id value = 0;
        status = vtac_look_up(&inside, function->output[i], &value, diag);
        if (status == VTA_OK && vtac_proto_text(node->output[i])[0] != '\0') {
            status = vtac_scope_set(at->scope, node->output[i], value, diag);
        }
    }
    free(scope.slots);
    im->depth--;
    return status;
}
