/* SPDX-License-Identifier: Apache-2.0
 *
 * Movements: a chain of operators between two layers that only moves numbers (a channel shuffle of Reshape,
 * Transpose, Reshape; Split, Slice, Gather, Pad, depth to space, …) becomes one node, where the accelerator
 * has it. This file does not know how these operators order their elements: it runs the chain, as the host
 * would, on the numbers of its operands' elements, and reads the movement from the result.
 *
 * A movement that stays on the host after all becomes the chain again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition.h"
#include "vta/fail.h"
#include "vta/number.h"
#include "vtac/load.h"

enum { MAX_BASES = 16, MAX_CHAIN = 40, MAX_ELEMENTS = 1 << 25, MAX_ENTRIES = 1 << 18 };

/* Maxima of phases along rows and columns; the larger ones are tried last. */
static const int64_t few_up[2] = {16, 4}, max_up[2] = {256, 256};
enum { MAX_PHASES = 256 };

/* A value and the operators between it and their common inputs. */
typedef struct move_chain {
    vtac_value_id value;
    vtac_value_id bases[MAX_BASES];
    vtac_node_id nodes[MAX_CHAIN]; /* in their order */
    uint32_t base_count, node_count;
    bool fills; /* a Pad in the chain fills places with this number */
    int64_t fill;
    vtac_vta_beyond beyond; /* a Pad in the chain repeats edges or mirrors */
    bool deep;              /* it goes on through nodes that are layers of their own */
    bool rows;              /* its reader needs other rows of pixels than what it begins with */
} move_chain;

/* True if an operator only moves elements, or puts a constant beside them. */
static bool is_movement(const vtac_graph *graph, const vtac_node *node)
{
    static const bool moves[VTAC_OP_COUNT] = {
        [VTAC_OP_CONCAT] = true,   [VTAC_OP_DEPTH_TO_SPACE] = true, [VTAC_OP_EXPAND] = true,
        [VTAC_OP_FLATTEN] = true,  [VTAC_OP_GATHER] = true,         [VTAC_OP_IDENTITY] = true,
        [VTAC_OP_PAD] = true,      [VTAC_OP_RESHAPE] = true,        [VTAC_OP_RESIZE] = true,
        [VTAC_OP_SLICE] = true,    [VTAC_OP_SPACE_TO_DEPTH] = true, [VTAC_OP_SPLIT] = true,
        [VTAC_OP_SQUEEZE] = true,  [VTAC_OP_TILE] = true,           [VTAC_OP_TRANSPOSE] = true,
        [VTAC_OP_UNSQUEEZE] = true};
    /* by whole factors a Resize is a layer of its own */
    if (!moves[node->op] ||
        (node->op == VTAC_OP_RESIZE && (strcmp(vtac_attr_string(node, "mode", "nearest"), "nearest") != 0 ||
                                        vtac_repeats_pixels(graph, node)))) {
        return false;
    }
    /* operands that say where elements go must be constant */
    for (uint32_t i = 1; node->op != VTAC_OP_CONCAT && i < node->input_count; i++) {
        if (node->inputs[i] != 0 && vtac_in_constant(graph, node, i) == NULL) {
            return false;
        }
    }
    return true;
}

/* True if one of the integers of an attribute is above a number. */
static bool has_above(const vtac_node *node, const char *name, int64_t number)
{
    const vtac_attr *attr = vtac_find_attr(node, name);
    bool above = false;
    for (size_t i = 0; attr != NULL && attr->kind == VTAC_ATTR_INTS && i < attr->count; i++) {
        above = above || attr->ints[i] > number;
    }
    return above;
}

/* True if a layer looks at neighbours in rows and columns of a picture; others take one pixel after the
 * other. */
static bool reads_windows(const vtac_graph *graph, const vtac_node *node)
{
    if (node->op == VTAC_OP_QLINEAR_CONV) {
        const vtac_type *w = vtac_in_type(graph, node, VTAC_QLINEAR_CONV_WEIGHT);
        const int64_t taps = vtac_type_elements(w) / (w->dim[0] * w->dim[1]);
        return taps > 1 || has_above(node, "strides", 1) || has_above(node, "pads", 0);
    }
    return node->op == VTAC_OP_MAX_POOL || node->op == VTAC_OP_QLINEAR_AVERAGE_POOL ||
           node->op == VTAC_OP_RESIZE;
}

/* True for a layer that reads an image in a row as channels of one pixel. */
static bool reads_flat(const vtac_node *node)
{
    return node->op == VTAC_OP_QLINEAR_CONV || node->op == VTAC_OP_QLINEAR_MATMUL ||
           node->op == VTAC_OP_QGEMM;
}

/* True if a value has other rows of pixels than what it is seen of: rows of a transformer as a picture. */
static bool has_other_rows(const vtac_graph *graph, vtac_value_id value, const vtac_source *source)
{
    int64_t from[4], to[4];
    return !source->flat && source->base != 0 && vtac_image_shape(&graph->values[source->base].type, from) &&
           vtac_image_shape(&graph->values[value].type, to) && from[2] != to[2];
}

static bool is_slice(const vtac_node *node)
{
    return node->op == VTAC_OP_SLICE || node->op == VTAC_OP_SPLIT || node->op == VTAC_OP_GATHER;
}

static bool is_eight_bits(const vtac_type *type)
{
    return type->dtype == VTAC_I8 || type->dtype == VTAC_U8;
}

/* True if a chain ends at a node that is a layer of its own: a slice, or joined channels with other readers.
 */
static bool is_layer_end(const vtac_graph *graph, vtac_value_id value, const vtac_node *node)
{
    int64_t shape[4];
    const vtac_type *type = &graph->values[value].type;
    return vtac_image_shape(type, shape) &&
           (is_slice(node) || (node->op == VTAC_OP_CONCAT && vtac_use_count(graph, value) > 1));
}

static bool add_base(move_chain *c, vtac_value_id value)
{
    for (uint32_t i = 0; i < c->base_count; i++) {
        if (c->bases[i] == value) {
            return true;
        }
    }
    if (c->base_count == MAX_BASES) {
        return false;
    }
    c->bases[c->base_count++] = value;
    return true;
}

/* Notes what a Pad puts beside the elements; false where another Pad puts something else. */
static bool note_pad(const vtac_graph *graph, const vtac_node *node, move_chain *c)
{
    const char *mode = vtac_attr_string(node, "mode", "constant");
    const vtac_vta_beyond beyond = strcmp(mode, "edge") == 0      ? VTAC_VTA_EDGES
                                   : strcmp(mode, "reflect") == 0 ? VTAC_VTA_MIRROR
                                                                  : VTAC_VTA_ZEROS;
    const vtac_tensor *with = vtac_in_constant(graph, node, 2);
    const int64_t number = with == NULL ? 0 : vtac_tensor_int(with, 0);
    if (beyond != VTAC_VTA_ZEROS) {
        const bool good = c->beyond == VTAC_VTA_ZEROS || c->beyond == beyond;
        c->beyond = beyond;
        return good;
    }
    const bool good = !c->fills || c->fill == number;
    c->fills = true;
    c->fill = number;
    return good;
}

/* Collects the chain above a value; false if it is too long, or has an input that no layer can read. */
static bool collect_chain(const vtac_graph *graph, move_chain *c, vtac_value_id value)
{
    const vtac_node *node = vtac_producer_of(graph, value);
    const vtac_type *type = &graph->values[value].type;
    if (node == NULL || !is_movement(graph, node) ||
        (value != c->value && !c->deep && is_layer_end(graph, value, node))) {
        int64_t shape[4];
        return graph->values[value].constant == NULL && is_eight_bits(type) &&
               vtac_image_shape(type, shape) && add_base(c, value);
    }
    const vtac_node_id id = graph->values[value].node;
    for (uint32_t i = 0; i < c->node_count; i++) {
        if (c->nodes[i] == id) {
            return true;
        }
    }
    const uint32_t data = node->op == VTAC_OP_CONCAT ? node->input_count : 1;
    bool good = c->node_count < MAX_CHAIN;
    for (uint32_t i = 0; good && i < data; i++) {
        good = collect_chain(graph, c, node->inputs[i]);
    }
    good = good && (node->op != VTAC_OP_PAD || note_pad(graph, node, c));
    if (good && c->node_count < MAX_CHAIN) {
        c->nodes[c->node_count++] = id;
    }
    return good && c->node_count < MAX_CHAIN;
}

/* ---- running a chain on element numbers */

typedef struct trace {
    const vtac_graph *graph;
    const move_chain *c;
    vtac_graph *small;
    vtac_value_id *copy; /* by value of the model */
    vta_diag *diag;
} trace;

/* Copies a constant operand; the fill of a Pad becomes number 0. */
static vta_status copy_operand(trace *t, const vtac_node *node, uint32_t i, vtac_value_id *out)
{
    static const int32_t nothing = 0;
    const vtac_value_id value = node->inputs[i];
    if (value == 0 || t->copy[value] != 0) {
        *out = value == 0 ? 0 : t->copy[value];
        return VTA_OK;
    }
    const vtac_value *v = &t->graph->values[value];
    vtac_tensor tensor = *v->constant;
    if (node->op == VTAC_OP_PAD && i == 2) {
        tensor = (vtac_tensor){.type = {.dtype = VTAC_I32}, .data = &nothing, .bytes = sizeof nothing};
    }
    return vtac_add_constant(t->small, NULL, &tensor, out, t->diag);
}

static vta_status copy_node(trace *t, const vtac_node *node)
{
    vtac_value_id *inputs = vta_arena_array(&t->small->arena, node->input_count + 1U, sizeof *inputs);
    vtac_node_id id;
    if (inputs == NULL) {
        return vta_no_memory(t->diag);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        VTA_TRY(copy_operand(t, node, i, &inputs[i]));
    }
    const vtac_node_spec spec = {.op = node->op,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .output_count = node->output_count,
                                 .attrs = node->attrs,
                                 .attr_count = node->attr_count};
    VTA_TRY(vtac_add_node(t->small, &spec, &id, t->diag));
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] != 0) {
            t->copy[node->outputs[i]] = t->small->nodes[id].outputs[i];
        }
    }
    return VTA_OK;
}

static vta_status build_chain(trace *t)
{
    for (uint32_t i = 0; i < t->c->base_count; i++) {
        vtac_type type = t->graph->values[t->c->bases[i]].type;
        char name[32];
        type.dtype = VTAC_I32;
        (void)snprintf(name, sizeof name, "base%u", i);
        VTA_TRY(vtac_add_input(t->small, name, &type, &t->copy[t->c->bases[i]], t->diag));
    }
    for (uint32_t i = 0; i < t->c->node_count; i++) {
        VTA_TRY(copy_node(t, &t->graph->nodes[t->c->nodes[i]]));
    }
    VTA_TRY(vtac_add_output(t->small, t->copy[t->c->value], t->diag));
    return vtac_graph_sort(t->small, t->diag);
}

/* Runs the chain: for every element of the value, the number of its source, from 1 on through all
 * bases; 0: none. */
static vta_status run_chain(trace *t, int32_t *numbers, size_t count)
{
    vtac_loaded loaded;
    int32_t number = 1;
    VTA_TRY(build_chain(t));
    VTA_TRY(vtac_load_graph(t->small, 0, &loaded, t->diag));
    for (uint32_t i = 0; i < t->c->base_count; i++) {
        int32_t *data = vta_model_input_data(loaded.model, i);
        const int64_t elements = vtac_type_elements(&t->graph->values[t->c->bases[i]].type);
        for (int64_t e = 0; e < elements; e++) {
            data[e] = number++;
        }
    }
    const vta_status status = vta_model_run(loaded.model, t->diag);
    if (status == VTA_OK) {
        memcpy(numbers, vta_model_output_data(loaded.model, 0), count * sizeof *numbers);
    }
    vtac_unload(&loaded);
    return status;
}

/* ---- the pattern that repeats */

typedef struct element_source {
    int32_t input, channel; /* input -1: none */
    int64_t at[2];
    int32_t image;
} element_source;

typedef struct reading {
    const vtac_graph *graph;
    const move_chain *c;
    const int32_t *numbers;
    int64_t shape[4]; /* of the value */
    bool across;      /* an image reads another image */
    int64_t images;   /* images with entries of their own: all; 1 if each image reads itself */
    int64_t up[2], down[2];
    vtac_vta_from *from;
    vtac_vta_beyond beyond;
    bool *filled[MAX_BASES]; /* as in vtac_sources */
} reading;

static element_source source_at(const reading *r, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t *s = r->shape;
    int64_t number = r->numbers[((n * s[1] + c) * s[2] + y) * s[3] + x];
    element_source p = {.input = -1};
    if (number == 0) {
        return p;
    }
    number--;
    for (p.input = 0;; p.input++) {
        const vtac_type *type = &r->graph->values[r->c->bases[p.input]].type;
        const int64_t elements = vtac_type_elements(type);
        int64_t own[4];
        if (number >= elements) {
            number -= elements;
            continue;
        }
        (void)vtac_image_shape(type, own);
        p.at[1] = number % own[3];
        p.at[0] = number / own[3] % own[2];
        p.channel = (int32_t)(number / own[3] / own[2] % own[1]);
        p.image = (int32_t)(number / own[3] / own[2] / own[1]);
        return p;
    }
}

static bool is_inside(const reading *r, const element_source *p)
{
    int64_t own[4];
    (void)vtac_image_shape(&r->graph->values[r->c->bases[p->input]].type, own);
    return p->at[0] >= 0 && p->at[0] < own[2] && p->at[1] >= 0 && p->at[1] < own[3];
}

/* The place that stands for one beyond the edges. */
static void bring_inside(const reading *r, element_source *p)
{
    int64_t own[4];
    (void)vtac_image_shape(&r->graph->values[r->c->bases[p->input]].type, own);
    for (int d = 0; d < 2; d++) {
        p->at[d] = vtac_vta_place_beyond(r->beyond, p->at[d], own[2 + d]);
    }
}

static bool same_place(const element_source *a, const element_source *b)
{
    return a->input == b->input && a->image == b->image && a->channel == b->channel && a->at[0] == b->at[0] &&
           a->at[1] == b->at[1];
}

/* Finds how far the input advances from place to place; 1 if nothing shows it. */
static void find_down(reading *r, int d)
{
    const int64_t *s = r->shape, size = s[2 + d];
    r->down[d] = 1;
    for (int64_t i = 0; i < r->images * s[1]; i++) {
        const int64_t n = i / s[1], c = i % s[1];
        for (int64_t a = 0; a < s[3 - d]; a++) {
            for (int64_t b = 0; b + r->up[d] < size; b++) {
                const element_source first = d == 0 ? source_at(r, n, c, b, a) : source_at(r, n, c, a, b);
                const element_source next =
                    d == 0 ? source_at(r, n, c, b + r->up[d], a) : source_at(r, n, c, a, b + r->up[d]);
                if (first.input >= 0 && next.input >= 0) {
                    r->down[d] = next.at[d] - first.at[d];
                    return;
                }
            }
        }
    }
}

/* True if the entry of an element tells its source; `fills`: an entry without a source gets it first. */
static bool tells_element(const reading *r, int64_t e, bool fills)
{
    const int64_t *s = r->shape;
    const int64_t x = e % s[3], y = e / s[3] % s[2], c = e / s[3] / s[2] % s[1];
    const int64_t n = e / s[3] / s[2] / s[1], phase = y % r->up[0] * r->up[1] + x % r->up[1];
    const int64_t base[2] = {y / r->up[0] * r->down[0], x / r->up[1] * r->down[1]};
    const element_source is = source_at(r, n, c, y, x);
    vtac_vta_from *from = &r->from[(phase * r->images + (r->across ? n : 0)) * s[1] + c];
    if (fills && is.input >= 0 && from->input < 0) {
        *from = (vtac_vta_from){is.input, is.channel, (int32_t)(is.at[0] - base[0]),
                                (int32_t)(is.at[1] - base[1]), is.image};
    }
    element_source told = {from->input,
                           from->channel,
                           {base[0] + from->dy, base[1] + from->dx},
                           r->across ? from->image : (int32_t)n};
    if (told.input >= 0) {
        bring_inside(r, &told);
    }
    const bool there = told.input >= 0 && is_inside(r, &told);
    return is.input >= 0 ? there && same_place(&told, &is) : fills || !there;
}

static bool tells_all(const reading *r, bool fills)
{
    const int64_t *s = r->shape;
    bool all = true;
    for (int64_t e = 0; all && e < s[0] * s[1] * s[2] * s[3]; e++) {
        all = tells_element(r, e, fills);
    }
    return all;
}

/* True if the pattern repeats every up[0] rows and up[1] columns; fills `from`. */
static bool has_period(reading *r)
{
    const int64_t *s = r->shape, phases = r->up[0] * r->up[1];
    find_down(r, 0);
    find_down(r, 1);
    if (r->down[0] < 0 || r->down[1] < 0) {
        return false;
    }
    for (int64_t i = 0; i < phases * r->images * s[1]; i++) {
        r->from[i] = (vtac_vta_from){.input = -1};
    }
    /* first fills the entries, then checks every element */
    return tells_all(r, true) && tells_all(r, false);
}

static bool read_phases(reading *r, const int64_t max[2])
{
    const int64_t *s = r->shape;
    r->images = r->across ? s[0] : 1;
    for (r->up[0] = 1; r->up[0] <= vta_min(max[0], s[2]); r->up[0]++) {
        for (r->up[1] = 1; r->up[1] <= vta_min(max[1], s[3]); r->up[1]++) {
            const int64_t phases = r->up[0] * r->up[1];
            if (phases <= MAX_PHASES && phases * r->images * s[1] <= MAX_ENTRIES && has_period(r)) {
                return true;
            }
        }
    }
    return false;
}

/* Finds a pattern of pixel by pixel whose edges are repeated or mirrored: the pixel in the middle of the
 * output shows where the pixels come from. */
static bool find_bordered(reading *r)
{
    const int64_t *s = r->shape;
    *r = (reading){.graph = r->graph,
                   .c = r->c,
                   .numbers = r->numbers,
                   .shape = {s[0], s[1], s[2], s[3]},
                   .images = 1,
                   .up = {1, 1},
                   .down = {1, 1},
                   .from = r->from,
                   .beyond = r->c->beyond};
    for (int64_t c = 0; c < s[1]; c++) {
        const element_source is = source_at(r, 0, c, s[2] / 2, s[3] / 2);
        r->from[c] = (vtac_vta_from){is.input, is.channel, (int32_t)(is.at[0] - s[2] / 2),
                                     (int32_t)(is.at[1] - s[3] / 2), 0};
        if (is.input < 0) {
            return false;
        }
    }
    return tells_all(r, false);
}

/* Finds the pattern. If no image reads another one, all images share one set of entries. */
static bool find_pattern(reading *r)
{
    const int64_t *s = r->shape, elements = s[0] * s[1] * s[2] * s[3];
    bool others = false;
    if (r->c->beyond != VTAC_VTA_ZEROS) {
        return s[1] <= MAX_ENTRIES && find_bordered(r);
    }
    for (int64_t e = 0; e < elements && !others; e++) {
        const int64_t n = e / s[3] / s[2] / s[1];
        const element_source p = source_at(r, n, e / s[3] / s[2] % s[1], e / s[3] % s[2], e % s[3]);
        others = p.input >= 0 && p.image != n;
    }
    if (!others && read_phases(r, few_up)) {
        return true;
    }
    r->across = true; /* perhaps images begin in the middle of something */
    if ((s[0] > 1 || others) && read_phases(r, few_up)) {
        return true;
    }
    r->across = false; /* perhaps an interpolation by a large factor */
    return !others && read_phases(r, max_up);
}

/* ---- the graph */

struct vtac_moved {
    vtac_value_id new;        /* the movement's output */
    vtac_value_id transposed; /* instead of a movement: the image that a layer transposes, which may end
                                 another chain */
    move_chain c;
    vtac_node *nodes; /* copies of the chain's nodes */
};

/* The state that all chains share. */
typedef struct fusing {
    vtac_graph *graph;
    const vta_config *config;
    vta_arena *arena;
    bool deep; /* chains are deep, and become runs */
    bool look; /* nothing is replaced */
} fusing;

static vta_status add_movement(vtac_graph *graph, const reading *r, vtac_value_id *out, vta_diag *diag)
{
    const vtac_value *v = &graph->values[r->c->value];
    const size_t count = (size_t)(VTAC_MOVE_INTS * r->up[0] * r->up[1] * r->images * r->shape[1]);
    int64_t *from = vta_arena_array(&graph->arena, count, sizeof *from);
    if (from == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count / VTAC_MOVE_INTS; i++) {
        const vtac_vta_from *f = &r->from[i];
        const int64_t ints[VTAC_MOVE_INTS] = {f->input, f->channel, f->dy, f->dx, f->image};
        memcpy(from + VTAC_MOVE_INTS * i, ints, sizeof ints);
    }
    const vtac_type type = v->type;
    const vtac_attr attrs[] = {{.name = "dims", .kind = VTAC_ATTR_INTS, .count = type.rank, .ints = type.dim},
                               {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(type.dtype)},
                               {.name = "up", .kind = VTAC_ATTR_INTS, .count = 2, .ints = r->up},
                               {.name = "down", .kind = VTAC_ATTR_INTS, .count = 2, .ints = r->down},
                               {.name = "from", .kind = VTAC_ATTR_INTS, .count = count, .ints = from},
                               {.name = "across", .kind = VTAC_ATTR_INT, .i = r->across},
                               {.name = "beyond", .kind = VTAC_ATTR_INT, .i = r->beyond},
                               {.name = "fill", .kind = VTAC_ATTR_INT, .i = r->c->fill}};
    const vtac_node *last = &graph->nodes[v->node];
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_MOVE,
                                 .name = last->name,
                                 .origin = last->origin,
                                 .inputs = r->c->bases,
                                 .input_count = r->c->base_count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = r->c->fills ? 8 : 7};
    vtac_node_id node;
    VTA_TRY(vtac_add_node(graph, &spec, &node, diag));
    *out = graph->nodes[node].outputs[0];
    vtac_swap_names(graph, r->c->value, *out);
    vtac_replace_uses(graph, r->c->value, *out);
    return VTA_OK;
}

/* Finds the channels of the bases that hold the number with which a Pad in the chain fills places. */
static vta_status find_filled(const vtac_graph *graph, vta_arena *arena, reading *r, vta_diag *diag)
{
    for (uint32_t i = 0; i < r->c->base_count; i++) {
        int64_t own[4], number = 0;
        (void)vtac_image_shape(&graph->values[r->c->bases[i]].type, own);
        r->filled[i] = vta_arena_array(arena, (size_t)own[1] + 1, sizeof *r->filled[i]);
        if (r->filled[i] == NULL) {
            return vta_no_memory(diag);
        }
        for (int64_t c = 0; r->c->fills && c < own[1]; c++) {
            r->filled[i][c] = vtac_fixed_channel(graph, r->c->bases[i], c, &number) && number == r->c->fill;
        }
        r->filled[i][own[1]] =
            r->c->fills && vtac_fixed_beside(graph, r->c->bases[i], &number) && number == r->c->fill;
    }
    return VTA_OK;
}

/* Adds the node that moves runs of blocks; *out 0: the chain does something else. */
static vta_status add_runs(vtac_graph *graph, const vta_config *config, reading *r, vtac_value_id *out,
                           vta_diag *diag)
{
    const vtac_value *v = &graph->values[r->c->value];
    const vtac_type type = v->type, *bases[MAX_BASES];
    const int64_t block = vtac_vta_block(config);
    const vtac_sources sources = {r->numbers, &type, bases, r->filled};
    const vtac_node *last = &graph->nodes[v->node];
    vtac_node_id node;
    size_t count = 0;
    int64_t *runs =
        vta_arena_array(&graph->arena, (size_t)(VTAC_RUN_INTS * vtac_max_runs(&type, block)), sizeof *runs);
    if (runs == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < r->c->base_count; i++) {
        bases[i] = &graph->values[r->c->bases[i]].type;
    }
    *out = 0;
    if (!vtac_find_runs(&sources, block, runs, &count)) {
        return VTA_OK;
    }
    const vtac_attr attrs[] = {
        {.name = "dims", .kind = VTAC_ATTR_INTS, .count = type.rank, .ints = type.dim},
        {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(type.dtype)},
        {.name = "runs", .kind = VTAC_ATTR_INTS, .count = VTAC_RUN_INTS * count, .ints = runs},
        {.name = "fill", .kind = VTAC_ATTR_INT, .i = r->c->fill}};
    const vtac_node_spec spec = {.op = VTAC_OP_VTA_RUNS,
                                 .name = last->name,
                                 .origin = last->origin,
                                 .inputs = r->c->bases,
                                 .input_count = r->c->base_count,
                                 .output_count = 1,
                                 .attrs = attrs,
                                 .attr_count = r->c->fills ? 4 : 3};
    VTA_TRY(vtac_add_node(graph, &spec, &node, diag));
    *out = graph->nodes[node].outputs[0];
    return VTA_OK;
}

/* True if the value has the elements of the only base in order, and readers of images see the same image. */
static bool moves_nothing(const vtac_graph *graph, const reading *r, size_t count)
{
    const move_chain *c = r->c;
    const vtac_type *from = &graph->values[c->bases[0]].type, *to = &graph->values[c->value].type;
    int64_t a[4], b[4];
    bool same = c->base_count == 1 && (int64_t)count == vtac_type_elements(from) &&
                !vtac_is_output(graph, c->value) && vtac_image_shape(from, a) && vtac_image_shape(to, b) &&
                a[0] == b[0] && (a[1] == b[1] || b[2] * b[3] == 1);
    for (size_t i = 0; same && i < count; i++) {
        same = r->numbers[i] == (int32_t)i + 1 ||
               (r->numbers[i] == 0 && r->filled[0][(int64_t)i / (a[2] * a[3]) % a[1]]);
    }
    return same;
}

/* Replaces the chain by its base, or by a reshape of it that moves nothing. */
static vta_status see_through(vtac_graph *graph, vta_arena *arena, const move_chain *c, vta_diag *diag)
{
    const vtac_node last = graph->nodes[graph->values[c->value].node];
    const vtac_type type = graph->values[c->value].type;
    const vtac_node_builder b = {graph, arena, NULL, last, diag};
    vtac_value_id seen = c->bases[0];
    VTA_TRY(vtac_b_reshape(&b, type.dim, type.rank, &seen));
    vtac_replace_uses(graph, c->value, seen);
    return VTA_OK;
}

/* Puts the layer in the place of the chain that transposes an image; *taken is the part of the image that it
 * transposes. */
static vta_status transpose_part(const fusing *u, const move_chain *c, const vtac_transposition *t,
                                 vtac_value_id *taken, vta_diag *diag)
{
    vtac_graph *graph = u->graph;
    const vtac_node_builder b = {graph, u->arena, u->config, graph->nodes[graph->values[c->value].node],
                                 diag};
    const vtac_type type = graph->values[c->value].type;
    vtac_value_id image = c->bases[0];
    VTA_TRY(vtac_take_transposed(&b, &type, t, &image));
    VTA_TRY(vtac_fill_pixels(&b, &image));
    *taken = image;
    VTA_TRY(vtac_transpose_image(&b, type.dim[1], &image));
    vtac_swap_names(graph, c->value, image);
    vtac_replace_uses(graph, c->value, image);
    return VTA_OK;
}

/* Makes a movement of what the chain does; *out->new 0: the accelerator has none. */
static vta_status make_movement(const fusing *u, reading *r, vtac_moved *out, size_t count, vta_diag *diag)
{
    vtac_graph *graph = u->graph;
    VTA_TRY(find_filled(graph, u->arena, r, diag));
    if (!out->c.rows && moves_nothing(graph, r, count)) {
        return out->c.deep ? VTA_OK : see_through(graph, u->arena, &out->c, diag);
    }
    const vtac_type *base = &graph->values[out->c.bases[0]].type;
    const vtac_sources sources = {r->numbers, &graph->values[out->c.value].type, &base, r->filled};
    const bool turns = !out->c.deep && !u->look && out->c.base_count == 1;
    const vtac_transposition t =
        turns ? vtac_find_transposition(u->config, &sources) : (vtac_transposition){0};
    if (t.groups > 0) {
        return transpose_part(u, &out->c, &t, &out->transposed, diag);
    }
    if (!out->c.deep) {
        return find_pattern(r) ? add_movement(graph, r, &out->new, diag) : VTA_OK;
    }
    VTA_TRY(add_runs(graph, u->config, r, &out->new, diag));
    if (out->new != 0 && !u->look) {
        vtac_swap_names(graph, out->c.value, out->new);
        vtac_replace_uses(graph, out->c.value, out->new);
    }
    return VTA_OK;
}

/* Replaces a chain by one movement if possible; *out->new 0: it is not. */
static vta_status replace_chain(const fusing *u, vtac_moved *out, vta_diag *diag)
{
    vtac_graph *graph = u->graph;
    const vtac_type *type = &graph->values[out->c.value].type;
    const size_t count = (size_t)vtac_type_elements(type);
    int32_t *numbers = calloc(count + 1, sizeof *numbers);
    vta_diag quiet = {0};
    trace t = {.graph = graph,
               .c = &out->c,
               .small = vtac_graph_create("movement"),
               .copy = calloc((size_t)graph->value_count + 1, sizeof *t.copy),
               .diag = &quiet};
    reading r = {.graph = graph, .c = &out->c, .numbers = numbers};
    (void)vtac_image_shape(type, r.shape);
    r.from = calloc((size_t)vta_min(MAX_ENTRIES, max_up[0] * max_up[1] * r.shape[0] * r.shape[1]) + 1,
                    sizeof *r.from);
    vta_status status = VTA_OK;
    if (numbers == NULL || t.small == NULL || t.copy == NULL || r.from == NULL) {
        status = vta_no_memory(diag);
    } else if (run_chain(&t, numbers, count) == VTA_OK) { /* else the chain stays */
        status = make_movement(u, &r, out, count, diag);
    }
    vtac_graph_destroy(t.small);
    free(t.copy);
    free(numbers);
    free(r.from);
    return status;
}

/* True for a product of two activations: on machines with functions on rows its operands and its result are
 * images, and what stands around them moves nothing then (attention.c). */
static bool is_attention(const vtac_graph *graph, const vta_config *config, const vtac_node *node)
{
    return config->rows != 0 && (node->op == VTAC_OP_QLINEAR_MATMUL || node->op == VTAC_OP_QGEMM) &&
           vtac_in_constant(graph, node, 3) == NULL;
}

/* Finds the chain that ends in a value; false if there is none that pays. */
static bool find_chain(const fusing *u, vtac_value_id value, move_chain *out)
{
    const vtac_graph *graph = u->graph;
    int64_t shape[4];
    const vtac_type *type = &graph->values[value].type;
    const vtac_node *node = vtac_producer_of(graph, value);
    *out = (move_chain){.value = value, .deep = u->deep};
    if (node == NULL || !is_movement(graph, node) || !is_eight_bits(type) || !vtac_image_shape(type, shape) ||
        vtac_type_elements(type) > MAX_ELEMENTS || !collect_chain(graph, out, value) ||
        out->base_count == 0) {
        return false;
    }
    int64_t elements = 0;
    bool layers = true; /* a movement of the host's data does not pay */
    for (uint32_t i = 0; i < out->base_count; i++) {
        const vtac_node *maker = vtac_producer_of(graph, out->bases[i]);
        const vtac_layer_row *row = maker == NULL ? NULL : vtac_layer_row_of(maker->op);
        layers = layers &&
                 ((row != NULL && row->make != NULL) ||
                  (maker != NULL && is_slice(maker) && is_movement(graph, maker))) &&
                 !is_attention(graph, u->config, maker);
        elements += vtac_type_elements(&graph->values[out->bases[i]].type);
    }
    const bool joins = node->op == VTAC_OP_CONCAT && vtac_attr_int(node, "axis", 0) == 1;
    return layers && !joins && elements < MAX_ELEMENTS;
}

static vta_status keep_nodes(const vtac_graph *graph, vta_arena *arena, vtac_moved *m, vta_diag *diag)
{
    m->nodes = vta_arena_array(arena, m->c.node_count + 1U, sizeof *m->nodes);
    if (m->nodes == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < m->c.node_count; i++) {
        m->nodes[i] = graph->nodes[m->c.nodes[i]];
    }
    return VTA_OK;
}

/* True if a node (0: none) cannot see a value through: it needs the value's own rows of pixels, or its
 * channels. */
static bool needs_own_image(const vtac_graph *graph, vtac_node_id reader, vtac_value_id value,
                            const vtac_source *source)
{
    const vtac_node *node = reader == 0 ? NULL : &graph->nodes[reader];
    return node != NULL && ((source->flat && !reads_flat(node)) ||
                            (reads_windows(graph, node) && has_other_rows(graph, value, source)));
}

/* Fuses the chain that ends in a value, which a node (0: none that looks at its shape) reads. */
static vta_status try_fuse(const fusing *u, vtac_value_id value, vtac_node_id reader, vtac_moves *out,
                           vta_diag *diag)
{
    vtac_graph *graph = u->graph;
    vta_arena *arena = u->arena;
    vtac_moved m = {.new = 0};
    const vtac_source source = vtac_source_of(graph, value);
    const bool rows = needs_own_image(graph, reader, value, &source);
    if (source.base == 0 || !find_chain(u, rows ? value : source.base, &m.c)) {
        return VTA_OK;
    }
    m.c.rows = rows;
    VTA_TRY(keep_nodes(graph, arena, &m, diag));
    VTA_TRY(replace_chain(u, &m, diag));
    if (m.transposed != 0) {
        const fusing deep = {u->graph, u->config, u->arena, .deep = true};
        return try_fuse(&deep, m.transposed, 0, out, diag);
    }
    if (m.new == 0) {
        return VTA_OK;
    }
    const uint32_t count = out->count;
    vtac_moved *grown = vta_arena_array(arena, count + 1U, sizeof *grown);
    if (grown == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < count; i++) {
        grown[i] = out->items[i];
    }
    grown[count] = m;
    *out = (vtac_moves){grown, count + 1};
    return VTA_OK;
}

/* Fuses the chains that end in the operands of a node. */
static vta_status fuse_operands(const fusing *u, vtac_node_id id, vtac_moves *out, vta_diag *diag)
{
    vtac_graph *graph = u->graph;
    const vtac_layer_row *row = vtac_layer_row_of(graph->nodes[id].op);
    const bool none = row == NULL || row->make == NULL ||
                      vtac_attr_int(&graph->nodes[id], VTAC_CACHE_ATTR, 0) != 0 ||
                      is_attention(graph, u->config, &graph->nodes[id]) ||
                      (u->deep && is_movement(graph, &graph->nodes[id]));
    const uint32_t count = none ? 0
                           : graph->nodes[id].op == VTAC_OP_LOOK_UP
                               ? 1
                               : vtac_operand_count(&graph->nodes[id], row);
    for (uint32_t k = 0; k < count; k++) {
        const vtac_value_id value = graph->nodes[id].inputs[vtac_operand(row, k)];
        VTA_TRY(value != 0 ? try_fuse(u, value, id, out, diag) : VTA_OK);
    }
    if (graph->nodes[id].op == VTAC_OP_VTA_PRODUCT && vtac_attr_int(&graph->nodes[id], "image", 0) != 0) {
        return try_fuse(u, graph->nodes[id].inputs[3], 0, out, diag);
    }
    return VTA_OK;
}

bool vtac_moves_blocks(vtac_graph *graph, const vta_config *config, vta_arena *arena, vtac_value_id value)
{
    const fusing u = {.graph = graph, .config = config, .arena = arena, .deep = true, .look = true};
    vta_diag quiet = {0};
    vtac_moved m = {.new = 0};
    return find_chain(&u, vtac_source_of(graph, value).base, &m.c) && m.c.base_count == 1 &&
           replace_chain(&u, &m, &quiet) == VTA_OK && m.new != 0;
}

/* Fuses the chains that layers read: first those that become runs, with what they went through removed. */
static vta_status fuse_read(fusing *u, const vtac_node_id *order, uint32_t nodes, vtac_moves *out,
                            vta_diag *diag)
{
    vtac_graph *graph = u->graph;
    u->deep = u->config->rows != 0 && u->config->batch == 1;
    for (uint32_t i = 0; i < nodes && u->deep; i++) {
        VTA_TRY(fuse_operands(u, order[i], out, diag));
    }
    if (out->count > 0) {
        VTA_TRY(vtac_graph_sort(graph, diag));
        (void)vtac_remove_dead(graph);
    }
    u->deep = false;
    for (uint32_t i = 0; i < nodes; i++) {
        VTA_TRY(graph->nodes[order[i]].dead ? VTA_OK : fuse_operands(u, order[i], out, diag));
    }
    return VTA_OK;
}

vta_status vtac_fuse_moves(vtac_graph *graph, const vta_config *config, vta_arena *arena, vtac_moves *out,
                           vta_diag *diag)
{
    fusing u = {.graph = graph, .config = config, .arena = arena};
    *out = (vtac_moves){NULL, 0};
    /* readers first: a chain ends where it is read */
    const uint32_t nodes = graph->order_count;
    vtac_node_id *order = vta_arena_array(arena, nodes + 1U, sizeof *order);
    if (order == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(order, graph->order, nodes * sizeof *order);
    VTA_TRY(fuse_read(&u, order, nodes, out, diag));
    for (uint32_t i = 0; i < out->count; i++) { /* grows: a movement may read another one */
        for (uint32_t k = 0; k < out->items[i].c.base_count; k++) {
            const vtac_node *move = &graph->nodes[graph->values[out->items[i].new].node];
            VTA_TRY(try_fuse(&u, move->inputs[k], 0, out, diag));
        }
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}

/* Adds the chain again, with the values that now replace its inputs. */
static vta_status restore_chain(vtac_graph *graph, const vtac_moved *m, vtac_value_id *now, vta_diag *diag)
{
    const vtac_node *move = &graph->nodes[graph->values[m->new].node];
    for (uint32_t i = 0; i < m->c.base_count; i++) {
        now[m->c.bases[i]] = move->inputs[i];
    }
    for (uint32_t i = 0; i < m->c.node_count; i++) {
        const vtac_node *was = &m->nodes[i];
        vtac_value_id *inputs = vta_arena_array(&graph->arena, was->input_count + 1U, sizeof *inputs);
        vtac_node_id id;
        if (inputs == NULL) {
            return vta_no_memory(diag);
        }
        for (uint32_t k = 0; k < was->input_count; k++) {
            inputs[k] = now[was->inputs[k]];
            graph->values[inputs[k]].dead = false; /* a constant without other readers */
        }
        const vtac_node_spec spec = {.op = was->op,
                                     .name = was->name,
                                     .origin = was->origin,
                                     .inputs = inputs,
                                     .input_count = was->input_count,
                                     .output_count = was->output_count,
                                     .attrs = was->attrs,
                                     .attr_count = was->attr_count};
        VTA_TRY(vtac_add_node(graph, &spec, &id, diag));
        for (uint32_t k = 0; k < was->output_count; k++) {
            if (was->outputs[k] != 0) {
                now[was->outputs[k]] = graph->nodes[id].outputs[k];
            }
        }
    }
    const vtac_value_id old = m->new, new = now[m->c.value];
    vtac_swap_names(graph, old, new);
    vtac_replace_uses(graph, old, new);
    return VTA_OK;
}

void vtac_rename_tensors(vtac_partition *p, vtac_value_id old, vtac_value_id new)
{
    for (uint32_t r = 0; r < p->region_count; r++) {
        const vtac_vta_region *region = &p->regions[r].region;
        for (uint32_t i = 0; i < region->tensor_count; i++) {
            region->tensors[i].value = region->tensors[i].value == old ? new : region->tensors[i].value;
        }
    }
}

vta_status vtac_undo_unused_moves(vtac_graph *graph, const vtac_moves *moved, vtac_partition *partition,
                                  vta_diag *diag)
{
    for (uint32_t i = 0; i < moved->count; i++) {
        const vtac_moved *m = &moved->items[i];
        const uint32_t values = graph->value_count + 1;
        const vtac_value_id last = m->c.value;
        if (partition->places[graph->values[m->new].node].kind == VTAC_PLACE_ACCELERATOR) {
            continue;
        }
        vtac_value_id *now = vta_arena_array(&partition->arena, values, sizeof *now);
        if (now == NULL) {
            return vta_no_memory(diag);
        }
        for (uint32_t v = 0; v < values; v++) {
            now[v] = v;
        }
        VTA_TRY(restore_chain(graph, m, now, diag));
        vtac_rename_tensors(partition, m->new, now[last]);
    }
    VTA_TRY(vtac_graph_sort(graph, diag));
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}
