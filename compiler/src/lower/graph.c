/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over a graph: which nodes run as one step, and in which order their lowerings are called.
 */
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "layout.h"
#include "nest.h"
#include "quick.h"
#include "vta/fail.h"
#include "vta/str.h"
#include "vtac/flow.h"

void vtac_program_free(vtac_program *program)
{
    for (size_t i = 0; i < program->steps.count; i++) {
        vtac_step *step = *(vtac_step **)vta_vec_at(&program->steps, i);
        vtac_kernel_free(&step->kernel);
        free(step->args);
    }
    vta_vec_free(&program->steps);
    vta_vec_free(&program->storages);
    vta_arena_free(&program->arena);
}

/* ---- what runs together */

static const vtac_node *only_user(const vtac_graph *graph, vtac_value_id value)
{
    const vtac_node_id id = vtac_only_user_of(graph, value);
    return id == 0 ? NULL : &graph->nodes[id];
}

/* True if all inputs but `value` exist before node number `position` runs. */
static bool others_are_ready(const vtac_program *p, const vtac_node *node, vtac_value_id value,
                             uint32_t position)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value *in = &p->graph->values[node->inputs[i]];
        if (node->inputs[i] != value && in->node != 0 && in->constant == NULL &&
            p->position[in->node] >= position) {
            return false;
        }
    }
    return true;
}

static bool same_shape(const vtac_type *a, const vtac_type *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

static void find_chain(vtac_lower *l, uint32_t position)
{
    const vtac_program *p = l->program;
    const vtac_node *last = l->node;
    l->chain_count = 0;
    if (p->level == 0 || p->apart || !vtac_takes_chain(l->node) ||
        vtac_layout_kind_of(p, l->node) == VTAC_KIND_CONCAT) {
        return;
    }
    while (l->chain_count < VTAC_MAX_FUSED) {
        const vtac_value_id value = last->outputs[0];
        const vtac_node *user = only_user(l->graph, value);
        if (user == NULL || vtac_lowering_of(user->op)->family != VTAC_POINTWISE || user->output_count != 1 ||
            !others_are_ready(p, user, value, position) ||
            (vtac_layout_kind_of(p, l->node) == VTAC_KIND_PLAIN) !=
                (vtac_layout_kind_of(p, user) == VTAC_KIND_PLAIN) ||
            !same_shape(&l->graph->values[value].type, &l->graph->values[user->outputs[0]].type)) {
            return;
        }
        l->chain[l->chain_count++] = user;
        last = user;
    }
}

/* ---- where inputs and outputs live */

static vtac_storage_id add_storage(vtac_program *p, vtac_storage storage)
{
    return vta_vec_push(&p->storages, &storage) == NULL ? 0 : (vtac_storage_id)(p->storages.count - 1);
}

static uint64_t bytes_of(const vtac_value *value)
{
    return (uint64_t)vtac_type_elements(&value->type) * vtac_dtype_bytes(value->type.dtype);
}

static bool is_alias(const vtac_graph *graph, const vtac_node *node)
{
    (void)graph;
    return vtac_lowering_of(node->op)->family == VTAC_ALIAS && node->output_count == 1;
}

static vtac_value_id root_of(const vtac_graph *graph, vtac_value_id value)
{
    while (graph->values[value].node != 0 && graph->values[value].constant == NULL &&
           is_alias(graph, &graph->nodes[graph->values[value].node])) {
        value = graph->nodes[graph->values[value].node].inputs[0];
    }
    return value;
}

/* States live in the workspace, which belongs to the model and is zeros at first. A new one has a place of
 * its own until the run ends, for the old one may still be read. */
static vta_status place_ends(vtac_program *p, vta_diag *diag)
{
    const vtac_graph *graph = p->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const vtac_value_id id = graph->inputs[i];
        const bool state = i >= graph->input_count - graph->state_count;
        p->of_value[id] =
            add_storage(p, (vtac_storage){.kind = state ? VTAC_STORAGE_WORKSPACE : VTAC_STORAGE_INPUT,
                                          .index = i,
                                          .bytes = bytes_of(&graph->values[id]),
                                          .kept = state});
        if (p->of_value[id] == 0) {
            return vta_no_memory(diag);
        }
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const vtac_value_id id = root_of(graph, graph->outputs[i]);
        const bool state = i >= graph->output_count - graph->state_count;
        if (graph->values[id].node != 0 && graph->values[id].constant == NULL && p->of_value[id] == 0) {
            p->of_value[id] =
                add_storage(p, (vtac_storage){.kind = state ? VTAC_STORAGE_WORKSPACE : VTAC_STORAGE_OUTPUT,
                                              .index = i,
                                              .bytes = bytes_of(&graph->values[id])});
            if (p->of_value[id] == 0) {
                return vta_no_memory(diag);
            }
        }
    }
    return VTA_OK;
}

/* The segment that gives output i of the graph; 0 where there are none. */
static uint32_t segment_of_output(const vtac_graph *graph, uint32_t i)
{
    for (uint32_t s = 0; graph->flow != NULL && s < graph->flow->segments.count; s++) {
        const vtac_flow_segment *segment = vta_vec_at(&graph->flow->segments, s);
        for (size_t k = 0; k < segment->outputs.count; k++) {
            if (*(uint32_t *)vta_vec_at(&segment->outputs, k) == i) {
                return s + 1;
            }
        }
    }
    return 0;
}

/* Output i from where its value is, or from `from`, to `to`. */
static vta_status copy_output(vtac_lower *l, uint32_t i, vtac_storage_id from, vtac_storage_id to)
{
    vtac_program *p = l->program;
    const vtac_value_id id = p->graph->outputs[i];
    const vtac_value *value = &p->graph->values[id];
    const int64_t elements = vtac_type_elements(&value->type);
    const vtac_dtype held = vtac_dtype_held(value->type.dtype);
    vtac_value_id ids[] = {id};
    const vtac_node node = {.op = VTAC_OP_IDENTITY,
                            .name = value->name,
                            .inputs = ids,
                            .input_count = 1,
                            .outputs = ids,
                            .output_count = 1};
    l->node = &node;
    l->chain_count = 0;
    l->segment = segment_of_output(p->graph, i);
    VTA_TRY(vtac_begin(l, ""));
    if (p->of_value[id] == 0 && value->constant == NULL) {
        p->of_value[id] = p->of_value[root_of(p->graph, id)];
    }
    vtac_buffer *x = from != 0 ? vtac_use(l, from, "x", held, elements) : vtac_in(l, 0);
    vtac_buffer *y = vtac_use(l, to, "y", held, elements);
    const vtac_expr *at = vtac_for(l->k, vtac_parallel_if(elements), elements, "i");
    vtac_store(l->k, y, at, vtac_e_load(l->k, x, at));
    vtac_end(l->k);
    return vtac_kernel_verify(l->k, l->diag);
}

/* Outputs that are inputs, constants, or another output under a second name. */
static vta_status copy_outputs(vtac_lower *l)
{
    vtac_program *p = l->program;
    for (uint32_t i = 0; i < p->graph->output_count - p->graph->state_count; i++) {
        const vtac_value_id id = p->graph->outputs[i];
        const vtac_storage_id from = p->of_value[root_of(p->graph, id)];
        const vtac_storage *known = from == 0 ? NULL : vta_vec_at(&p->storages, from);
        if (known == NULL || known->kind != VTAC_STORAGE_OUTPUT || known->index != i) {
            VTA_TRY(copy_output(l, i, 0,
                                add_storage(p, (vtac_storage){.kind = VTAC_STORAGE_OUTPUT,
                                                              .index = i,
                                                              .bytes = bytes_of(&p->graph->values[id])})));
        }
    }
    return VTA_OK;
}

/* A state of the graph: its number among the outputs, where its old value is and where its new one. */
typedef struct state_place {
    uint32_t output;
    vtac_storage_id to, from;
} state_place;

static state_place place_of_state(const vtac_program *p, uint32_t state)
{
    const vtac_graph *graph = p->graph;
    const uint32_t output = graph->output_count - graph->state_count + state;
    const vtac_value_id input = graph->inputs[graph->input_count - graph->state_count + state];
    return (state_place){.output = output,
                         .to = p->of_value[input],
                         .from = p->of_value[root_of(graph, graph->outputs[output])]};
}

/* A place for a new state that is another's old value, with that value; 0 where the state needs none. */
static vta_status set_aside(vtac_lower *l, const state_place *at, vtac_storage_id *aside)
{
    vtac_program *p = l->program;
    const bool state = at->from != 0 && ((vtac_storage *)vta_vec_at(&p->storages, at->from))->kept;
    *aside = 0;
    if (!state || at->from == at->to) {
        return VTA_OK;
    }
    const vtac_value *value = &p->graph->values[p->graph->outputs[at->output]];
    *aside = add_storage(p, (vtac_storage){.kind = VTAC_STORAGE_WORKSPACE, .bytes = bytes_of(value)});
    return copy_output(l, at->output, 0, *aside);
}

/* New states to where the old ones were: when all else is done. One that becomes another's old value is set
 * aside first, since that may be gone when its turn comes. */
static vta_status copy_states(vtac_lower *l)
{
    vtac_program *p = l->program;
    const uint32_t count = p->graph->state_count;
    vtac_storage_id *aside = vta_arena_array(&p->arena, (size_t)count + 1, sizeof *aside);
    if (aside == NULL) {
        return vta_no_memory(l->diag);
    }
    for (uint32_t i = 0; i < count; i++) {
        const state_place at = place_of_state(p, i);
        VTA_TRY(set_aside(l, &at, &aside[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        const state_place at = place_of_state(p, i);
        if (at.from != at.to) {
            VTA_TRY(copy_output(l, at.output, aside[i], at.to));
        }
    }
    return VTA_OK;
}

/* ---- the walk ---- */

/* True if floats are made of bytes: vectors of the bytes, so that the steps of some vectors of floats overlap
 * in a processor that does them in order, and what is the same for all is read once for these. */
static bool reads_bytes(const vtac_lower *l)
{
    return l->node->op == VTAC_OP_DEQUANTIZE_LINEAR &&
           vtac_dtype_bits(vtac_in_type(l->graph, l->node, 0)->dtype) == 8;
}

static vta_status lower_kind(vtac_lower *l)
{
    static vtac_lower_fn *const by_kind[] = {
        [VTAC_KIND_CONV] = vtac_lower_conv_blocked,    [VTAC_KIND_DEPTHWISE] = vtac_lower_depthwise,
        [VTAC_KIND_POOL] = vtac_lower_pool_blocked,    [VTAC_KIND_NORM] = vtac_lower_norm_blocked,
        [VTAC_KIND_LRN] = vtac_lower_lrn_blocked,      [VTAC_KIND_POINTWISE] = vtac_lower_elements_blocked,
        [VTAC_KIND_CONCAT] = vtac_lower_concat_blocked};
    vtac_program *p = l->program;
    const vtac_lowering *lowering = vtac_lowering_of(l->node->op);
    const vtac_layout_kind kind = vtac_layout_kind_of(p, l->node);
    vta_status status;
    if (kind != VTAC_KIND_PLAIN) {
        VTA_TRY(by_kind[kind](l));
        return vtac_layout_outputs(l);
    }
    switch (lowering->family) {
    case VTAC_NOT_LOWERED: return vtac_unsupported(l, "the operator has no lowering");
    case VTAC_ALIAS:
        if (l->node->output_count == 1) {
            vtac_value_id from = l->node->inputs[0];
            const vtac_value *value = &p->graph->values[from];
            if (p->of_value[from] == 0 && value->constant != NULL) {
                p->of_value[from] = vtac_constant(l, value->constant->data, value->constant->bytes);
            }
            p->of_value[l->node->outputs[0]] = p->of_value[from];
            return vta_allocated(p->of_value[from] != 0, l->diag);
        }
        return vtac_unsupported(l, "more than one output");
    case VTAC_POINTWISE:
        if (vtac_quick_lower(l, &status)) {
            return status;
        }
        VTA_TRY(vtac_lower_elements(l));
        vtac_kernel_vectorize(l->k, p->level > 0 ? p->target->vector_bytes / (reads_bytes(l) ? 1 : 4) : 1);
        return VTA_OK;
    case VTAC_MAPPED:
        return vtac_is_matrix_transpose(l) ? vtac_lower_matrix_transpose(l) : vtac_lower_elements(l);
    case VTAC_CUSTOM: return lowering->custom(l);
    }
    return VTA_OK;
}

/* Counts what kernels ask, on its way to who knows. */
typedef struct space_counter {
    const vtac_schedules *of;
    uint32_t count;
} space_counter;

static uint32_t pick_and_count(void *context, const vtac_kernel_space *space)
{
    space_counter *a = context;
    a->count++;
    return vtac_schedule_pick(a->of, space);
}

/* `has_own`: the kernel has asked for its schedule by itself. */
static vta_status lower_asking(vtac_lower *l, bool *has_own)
{
    vtac_program *p = l->program;
    space_counter a = {.of = p->schedules};
    const vtac_schedules counting = {pick_and_count, &a};
    p->schedules = a.of != NULL ? &counting : NULL;
    const vta_status status = lower_kind(l);
    p->schedules = a.of;
    *has_own = a.count > 0;
    return status;
}

static vta_status lower_node(vtac_lower *l)
{
    vtac_program *p = l->program;
    const size_t first = p->steps.count;
    bool has_own = false;
    if (vtac_lowering_of(l->node->op)->family != VTAC_NOT_LOWERED) {
        VTA_TRY(vtac_layout_inputs(l));
    }
    const size_t own = p->steps.count;
    VTA_TRY(lower_asking(l, &has_own));
    for (size_t i = first; i < p->steps.count; i++) {
        vtac_step *step = *(vtac_step **)vta_vec_at(&p->steps, i);
        VTA_TRY(i < own || !has_own ? vtac_nest_schedule_step(l, step) : VTA_OK);
        VTA_TRY(vtac_kernel_verify(&step->kernel, l->diag));
    }
    return VTA_OK;
}

static bool has_elements(const vtac_graph *graph, const vtac_node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (vtac_type_elements(&graph->values[node->outputs[i]].type) > 0) {
            return true;
        }
    }
    return false;
}

static vta_status walk_nodes(vtac_lower *l, vta_str *refused, vta_diag *diag)
{
    vtac_program *p = l->program;
    vtac_kernel nowhere = {0}; /* for the sticky flag of aliases, which have no kernel */
    for (uint32_t i = 0; i < p->graph->order_count; i++) {
        const vtac_node_id id = p->graph->order[i];
        l->node = &p->graph->nodes[id];
        VTA_TRY(
            vtac_progress_at(p->progress, "lowering node", l->node->name, i, p->graph->order_count, diag));
        vta_diag own = {0};
        if (p->done[id] || !has_elements(p->graph, l->node) ||
            p->graph->values[l->node->outputs[0]].constant != NULL || vtac_device_quantizes(p, l->node) ||
            vtac_product_skips(p, l->node)) {
            continue;
        }
        l->diag = &own;
        l->k = &nowhere;
        l->segment = p->segments != NULL ? p->segments[l->node->outputs[0]] : 0;
        find_chain(l, i + 1);
        const vta_status status = lower_node(l);
        for (uint32_t c = 0; c < l->chain_count; c++) {
            p->done[l->chain[c] - p->graph->nodes] = true;
        }
        if (status == VTA_UNSUPPORTED) {
            vta_str_printf(refused, "%snode '%s' (%s): %s", refused->size > 0 ? "; " : "", l->node->name,
                           vtac_op_get(l->node->op)->name, own.text);
        } else if (status != VTA_OK) {
            return vta_fail(diag, status, "node '%s' (%s): %s", l->node->name, vtac_op_get(l->node->op)->name,
                            own.text);
        }
    }
    l->diag = diag;
    return VTA_OK;
}

static vta_status start_program(vtac_program *p, vta_diag *diag)
{
    p->steps = (vta_vec){.item_size = sizeof(vtac_step *)};
    p->storages = (vta_vec){.item_size = sizeof(vtac_storage)};
    p->of_value = vta_arena_array(&p->arena, p->graph->value_count + 1, sizeof *p->of_value);
    p->position = vta_arena_array(&p->arena, p->graph->node_count + 1, sizeof *p->position);
    p->done = vta_arena_array(&p->arena, p->graph->node_count + 1, sizeof *p->done);
    if (p->of_value == NULL || p->position == NULL || p->done == NULL ||
        vta_vec_add(&p->storages, 1) == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < p->graph->order_count; i++) {
        p->position[p->graph->order[i]] = i + 1;
    }
    for (uint32_t i = 1; i <= p->graph->value_count; i++) {
        const vtac_tensor *constant = p->graph->values[i].constant;
        p->known_bytes += constant == NULL ? 0 : constant->bytes;
    }
    if (p->graph->flow != NULL) {
        p->segments = vta_arena_array(&p->arena, p->graph->value_count + 1, sizeof *p->segments);
        if (p->segments == NULL) {
            return vta_no_memory(diag);
        }
        vtac_flow_segments(p->graph, p->segments);
    }
    return VTA_OK;
}

vta_status vtac_lower_graph(vtac_program *p, vta_diag *diag)
{
    VTA_TRY(start_program(p, diag));
    VTA_TRY(place_ends(p, diag));
    VTA_TRY(vtac_layout_graph(p, diag));
    vtac_lower l = {.program = p, .graph = p->graph, .diag = diag};
    vta_str refused = {0};
    vta_status status = walk_nodes(&l, &refused, diag);
    if (status == VTA_OK && refused.size > 0) {
        status = vta_fail(diag, VTA_UNSUPPORTED, "%s", refused.text);
    }
    vta_str_free(&refused);
    VTA_TRY(status);
    VTA_TRY(copy_outputs(&l));
    return copy_states(&l);
}
