/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the nodes of regions by Pack, Region and Unpack nodes.
 */
#include <stdio.h>
#include <string.h>

#include "partition.h"
#include "vta/fail.h"

typedef struct rewriter {
    vtac_graph *graph;
    const vtac_partition *p;
    const vtac_region *region;
    uint32_t number;
    vtac_value_id *now; /* by value: the value that replaces it */
    vta_diag *diag;
} rewriter;

static vtac_attr ints_attr(const char *name, const int64_t *values, size_t count)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INTS, .count = count, .ints = values};
}

static vtac_attr int_attr(const char *name, int64_t value)
{
    return (vtac_attr){.name = name, .kind = VTAC_ATTR_INT, .i = value};
}

static int64_t offset_of(const rewriter *r, const vtac_vta_tensor *t)
{
    return (int64_t)(r->region->work_offset + t->offset);
}

/* The attributes that Pack and Unpack share. */
typedef struct layout {
    int64_t shape[4], block[2], stored[3];
    int64_t kernel[2], stride[2], dilation[2], before[2]; /* of the windows that are stored */
    vtac_attr attrs[14];
    uint32_t count;
} layout;

static void describe_layout(const rewriter *r, const vtac_vta_tensor *t, layout *l)
{
    *l = (layout){.shape = {t->n, t->c, t->h, t->w},
                  .block = {r->p->config.batch, vtac_vta_block(&r->p->config)},
                  .stored = {t->stored_c, t->stored_h, t->stored_w}};
    l->attrs[l->count++] = ints_attr("shape", l->shape, 4);
    l->attrs[l->count++] = ints_attr("block", l->block, 2);
    l->attrs[l->count++] = ints_attr("stored", l->stored, 3);
    if (t->folded) {
        for (int i = 0; i < 2; i++) {
            l->kernel[i] = t->fold.kernel[i];
            l->stride[i] = t->fold.stride[i];
            l->dilation[i] = t->fold.dilation[i];
            l->before[i] = t->fold.before[i];
        }
        l->attrs[l->count++] = ints_attr("window_kernel", l->kernel, 2);
        l->attrs[l->count++] = ints_attr("window_stride", l->stride, 2);
        l->attrs[l->count++] = ints_attr("window_dilation", l->dilation, 2);
        l->attrs[l->count++] = ints_attr("window_before", l->before, 2);
    }
}

/* A copy of a state, to device memory if `offset` is not below 0. */
static vta_status add_state(const rewriter *r, const char *name, vtac_value_id in, int64_t offset,
                            vtac_value_id *out)
{
    vtac_node_id node;
    const vtac_attr attr = int_attr("offset", offset);
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_STATE,
                                 .name = name,
                                 .inputs = &in,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = &attr,
                                 .attr_count = 1};
    VTA_TRY(vtac_add_node(r->graph, &spec, &node, r->diag));
    *out = r->graph->nodes[node].outputs[0];
    return VTA_OK;
}

/* The node that writes new rows into a state; 0: there is none. */
static vtac_node_id append_to(const vtac_graph *graph, vtac_value_id state)
{
    const vtac_value *v = &graph->values[state];
    vtac_node_id found = 0;
    for (uint32_t i = 0; i < v->user_count; i++) {
        const vtac_node *node = &graph->nodes[v->users[i]];
        found =
            node->op == VTAC_OP_VTA_APPEND && !node->dead && node->inputs[VTAC_TENSOR_SCATTER_CACHE] == state
                ? v->users[i]
                : found;
    }
    return found;
}

/* The region reads a state in device memory, where the host writes new rows into it afterwards. */
static vta_status read_state(const rewriter *r, const vtac_vta_tensor *t, vtac_value_id state,
                             vtac_value_id *out)
{
    char name[300];
    vtac_value_id back;
    const vtac_node_id append = append_to(r->graph, state);
    (void)snprintf(name, sizeof name, "hold %s", r->graph->values[state].name);
    VTA_TRY(add_state(r, name, state, offset_of(r, t), out));
    if (append == 0) {
        return VTA_OK;
    }
    const vtac_value_id new = r->graph->nodes[append].outputs[0];
    (void)snprintf(name, sizeof name, "give %s", r->graph->values[new].name);
    VTA_TRY(add_state(r, name, *out, -1, &back));
    vtac_swap_names(r->graph, new, back);
    vtac_replace_uses(r->graph, new, back);
    VTA_TRY(vtac_set_input(r->graph, r->graph->values[back].node, 0, new, r->diag));
    return vtac_set_input(r->graph, append, VTAC_TENSOR_SCATTER_CACHE, *out, r->diag);
}

static vta_status add_pack(const rewriter *r, const vtac_vta_tensor *t, vtac_value_id *out)
{
    if (t->kept) {
        return read_state(r, t, r->graph->nodes[r->graph->values[t->value].node].inputs[0], out);
    }
    layout l;
    char name[300];
    vtac_node_id node;
    describe_layout(r, t, &l);
    l.attrs[l.count++] = int_attr("zero", t->zero);
    l.attrs[l.count++] = int_attr("offset", offset_of(r, t));
    l.attrs[l.count++] = int_attr("bytes", (int64_t)t->bytes);
    (void)snprintf(name, sizeof name, "pack %s", t->name);
    int64_t planes[3];
    vtac_value_id in = r->now[t->value];
    const bool windows = t->folded || t->twice || t->stored_h != t->h || t->stored_w != t->w;
    const vtac_value_id from = vtac_planes_from(r->graph, in, windows, planes);
    if (from != 0) {
        in = from;
        l.attrs[l.count++] = ints_attr("planes", planes, 3);
    }
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_PACK,
                                 .name = name,
                                 .inputs = &in,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = l.attrs,
                                 .attr_count = l.count};
    VTA_TRY(vtac_add_node(r->graph, &spec, &node, r->diag));
    *out = r->graph->nodes[node].outputs[0];
    return VTA_OK;
}

/* A result of a region, and where it lies. */
typedef struct unpacking {
    const rewriter *r;
    const vtac_vta_tensor *t;
    vtac_value_id packed;
} unpacking;

/* Lets the readers of a value read Unpack's output, which gets the value's name. `walk` NULL: the value is
 * the region's result; else one that the host makes of it by reading it in this order. */
static vta_status add_unpack(const unpacking *u, vtac_value_id value, const vtac_walk *walk)
{
    layout l;
    char name[300];
    vtac_node_id node;
    const rewriter *r = u->r;
    const vtac_type type = r->graph->values[value].type;
    describe_layout(r, u->t, &l);
    l.attrs[l.count++] = ints_attr("dims", type.dim, type.rank);
    if (walk != NULL) {
        l.attrs[l.count++] = ints_attr("walk_size", walk->size, walk->count);
        l.attrs[l.count++] = ints_attr("walk_axis", walk->axis, walk->count);
        l.attrs[l.count++] = ints_attr("walk_stride", walk->stride, walk->count);
        l.attrs[l.count++] = ints_attr("walk_start", walk->start, 4);
    }
    l.attrs[l.count++] =
        (vtac_attr){.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(type.dtype)};
    (void)snprintf(name, sizeof name, "unpack %s", walk == NULL ? u->t->name : r->graph->values[value].name);
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_UNPACK,
                                 .name = name,
                                 .inputs = &u->packed,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .attrs = l.attrs,
                                 .attr_count = l.count};
    VTA_TRY(vtac_add_node(r->graph, &spec, &node, r->diag));
    const vtac_value_id new = r->graph->nodes[node].outputs[0];
    vtac_value *values = r->graph->values;
    const char *kept = values[value].name;
    values[value].name = values[new].name;
    values[new].name = kept;
    vtac_replace_uses(r->graph, value, new);
    r->now[value] = new;
    return VTA_OK;
}

static bool is_placed_there(void *context, vtac_node_id node)
{
    const vtac_partition *p = ((const unpacking *)context)->r->p;
    return node >= p->place_count || p->places[node].kind == VTAC_PLACE_ACCELERATOR;
}

static vta_status unpack_end(void *context, vtac_value_id value, const vtac_walk *walk)
{
    return add_unpack(context, value, walk);
}

/* The result itself, and each order in which the host reads it; which of them nothing needs is removed. */
static vta_status add_unpacks(const rewriter *r, const vtac_vta_tensor *t, vtac_value_id packed)
{
    unpacking u = {r, t, packed};
    const vtac_ends ends = {.graph = r->graph, .context = &u, .keeps = is_placed_there, .end = unpack_end};
    VTA_TRY(vtac_walk_ends(&ends, t->value));
    return add_unpack(&u, t->value, NULL);
}

static vta_status add_region(const rewriter *r, const vtac_value_id *inputs, uint32_t input_count,
                             vtac_node_id *out)
{
    const vtac_vta_region *region = &r->region->region;
    int64_t *offsets = vta_arena_array(&r->graph->arena, region->tensor_count, sizeof *offsets);
    int64_t *bytes = vta_arena_array(&r->graph->arena, region->tensor_count, sizeof *bytes);
    uint32_t count = 0;
    if (offsets == NULL || bytes == NULL) {
        return vta_no_memory(r->diag);
    }
    for (uint32_t i = 0; i < region->tensor_count; i++) {
        if (region->tensors[i].role == VTAC_VTA_OUTPUT) {
            offsets[count] = offset_of(r, &region->tensors[i]);
            bytes[count++] = (int64_t)region->tensors[i].bytes;
        }
    }
    const vtac_attr attrs[] = {int_attr("region", r->number), ints_attr("offset", offsets, count),
                               ints_attr("bytes", bytes, count)};
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_REGION,
                                 .name = region->name,
                                 .origin = region->layers[0].node,
                                 .inputs = inputs,
                                 .input_count = input_count,
                                 .output_count = count,
                                 .attrs = attrs,
                                 .attr_count = 3};
    return vtac_add_node(r->graph, &spec, out, r->diag);
}

static vta_status rewrite_region(const rewriter *r, vtac_value_id *inputs)
{
    const vtac_vta_region *region = &r->region->region;
    uint32_t input_count = 0;
    uint32_t output = 0;
    vtac_node_id node = 0;
    vta_status status = VTA_OK;
    for (uint32_t i = 0; i < region->tensor_count && status == VTA_OK; i++) {
        if (region->tensors[i].role == VTAC_VTA_INPUT) {
            status = add_pack(r, &region->tensors[i], &inputs[input_count++]);
        }
    }
    VTA_TRY(status);
    VTA_TRY(add_region(r, inputs, input_count, &node));
    for (uint32_t i = 0; i < region->tensor_count && status == VTA_OK; i++) {
        if (region->tensors[i].role == VTAC_VTA_OUTPUT) {
            status = add_unpacks(r, &region->tensors[i], r->graph->nodes[node].outputs[output++]);
        }
    }
    return status;
}

vta_status vtac_rewrite_graph(vtac_graph *graph, vtac_partition *partition, vta_diag *diag)
{
    const uint32_t values = graph->value_count + 1;
    vtac_value_id *now = vta_arena_array(&partition->arena, values, sizeof *now);
    if (now == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t v = 0; v < values; v++) {
        now[v] = v;
    }
    for (uint32_t i = 0; i < partition->region_count; i++) {
        const rewriter r = {graph, partition, &partition->regions[i], i, now, diag};
        vtac_value_id *inputs =
            vta_arena_array(&partition->arena, r.region->region.tensor_count, sizeof *inputs);
        if (inputs == NULL) {
            return vta_no_memory(diag);
        }
        VTA_TRY(rewrite_region(&r, inputs));
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return vtac_graph_verify(graph, diag);
}
