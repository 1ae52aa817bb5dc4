/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and pools over tensors whose height and width are known only at run time: two segments that
 * hold the operator for a tile of its output, without padding, and the instruction that moves the tiles.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

enum { MAX_AXES = VTAC_MAX_RANK - 2, MAX_REACH = 4096, MAX_TILE = 1 << 24 };

typedef enum window_padding { PAD_ZERO, PAD_LOWEST, PAD_POINT } window_padding;
typedef enum planes { ALL_CHANNELS, PLANES, MEANS, MEANS_OF_ALL } planes;

/* The operators: whose weight is input `weight` (-1: a pool), whose zero point is input `point`. */
typedef struct slider {
    const char *name;
    int weight, point;
    window_padding padding;
    bool transposed;
} slider;

static const slider sliders[] = {
    {"Conv", 1, 0, PAD_ZERO, false},         {"ConvInteger", 1, 2, PAD_POINT, false},
    {"QLinearConv", 3, 2, PAD_POINT, false}, {"ConvTranspose", 1, 0, PAD_ZERO, true},
    {"MaxPool", -1, 0, PAD_LOWEST, false},   {"AveragePool", -1, 0, PAD_ZERO, false},
    {"LpPool", -1, 0, PAD_ZERO, false},
};

static const slider *slider_of(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < sizeof sliders / sizeof sliders[0]; i++) {
        if (vtac_flow_is(node, sliders[i].name)) {
            return &sliders[i];
        }
    }
    return NULL;
}

bool vtac_flow_is_window(const Onnx__NodeProto *node)
{
    return slider_of(node) != NULL;
}

typedef struct sliding {
    const slider *is;
    const vtac_flow_node *item;
    uint32_t axes;
    int64_t channels; /* of a tile */
    int64_t kernel[MAX_AXES], stride[MAX_AXES], dilation[MAX_AXES], pads[2 * MAX_AXES];
    int64_t spread[MAX_AXES]; /* how far apart the input's places are */
    Onnx__NodeProto *plain;   /* the node without its padding */
    vtac_value_id weight;     /* reversed; 0: as it is */
} sliding;

static const Onnx__AttributeProto *attr_of(const vtac_flow_node *item, const char *name)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(item->node, name);
    return attr != NULL ? vtac_resolve_attr(attr, item->at.caller) : NULL;
}

static int64_t int_of(const vtac_flow_node *item, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *attr = attr_of(item, name);
    return attr != NULL ? attr->i : otherwise;
}

static bool text_is(const vtac_flow_node *item, const char *name, const char *text)
{
    const Onnx__AttributeProto *attr = attr_of(item, name);
    return attr != NULL && attr->s.len == strlen(text) && memcmp(attr->s.data, text, attr->s.len) == 0;
}

static vta_status ints_of(const sliding *s, const char *name, uint32_t count, int64_t otherwise, int64_t *out,
                          vta_diag *diag)
{
    const Onnx__AttributeProto *attr = attr_of(s->item, name);
    if (attr != NULL && attr->n_ints != count) {
        return vta_fail(diag, VTA_INVALID, "'%s' has %zu numbers, expected %u", name, attr->n_ints, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        out[i] = attr != NULL ? attr->ints[i] : otherwise;
        if (out[i] < 0 || out[i] > INT32_MAX) {
            return vta_fail(diag, VTA_RANGE, "'%s' is %lld on axis %u", name, (long long)out[i], i);
        }
    }
    return VTA_OK;
}

/* Kernel and channels: of the weight, or the attribute; a pool's tile takes a few planes. */
static vta_status measure_window(vtac_flow_builder *b, sliding *s, vta_diag *diag)
{
    const Onnx__AttributeProto *kernel = attr_of(s->item, "kernel_shape");
    const vtac_flow_value *w = s->is->weight < 0 ? NULL : vtac_flow_input(b, s->item, (size_t)s->is->weight);
    if (s->is->weight >= 0 && (w == NULL || !w->known || w->type.rank < 3)) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "its weight is not of a size known at compile time; give fixed sizes (--shape)");
    }
    if (w == NULL && kernel == NULL) {
        return vta_fail(diag, VTA_INVALID, "attribute 'kernel_shape' is missing");
    }
    s->axes = w != NULL ? w->type.rank - 2 : (uint32_t)kernel->n_ints;
    if (s->axes < 1 || s->axes > MAX_AXES) {
        return vta_fail(diag, VTA_UNSUPPORTED, "its window has %u axes, expected 1 to %d", s->axes, MAX_AXES);
    }
    VTA_TRY(ints_of(s, "kernel_shape", s->axes, 0, s->kernel, diag));
    VTA_TRY(ints_of(s, "strides", s->axes, 1, s->stride, diag));
    VTA_TRY(ints_of(s, "dilations", s->axes, 1, s->dilation, diag));
    VTA_TRY(ints_of(s, "pads", 2 * s->axes, 0, s->pads, diag));
    for (uint32_t i = 0; i < s->axes; i++) {
        s->kernel[i] = kernel == NULL ? w->type.dim[2 + i] : s->kernel[i];
        s->spread[i] = 1;
        if (s->kernel[i] < 1 || s->stride[i] < 1 || s->dilation[i] < 1) {
            return vta_fail(diag, VTA_RANGE,
                            "kernel %lld, stride %lld, dilation %lld; each must be 1 or more",
                            (long long)s->kernel[i], (long long)s->stride[i], (long long)s->dilation[i]);
        }
        if ((s->kernel[i] - 1) * s->dilation[i] >= MAX_REACH || s->stride[i] > MAX_REACH) {
            return vta_fail(
                diag, VTA_UNSUPPORTED,
                "a window of more than %d places over a size that is known only at run time; give "
                "fixed sizes (--shape)",
                MAX_REACH);
        }
    }
    const int64_t group = int_of(s->item, "group", 1);
    s->channels = 16;
    if (w != NULL &&
        (group < 1 || __builtin_mul_overflow(w->type.dim[1], group, &s->channels) || w->type.dim[0] < 1 ||
         w->type.dim[0] % group != 0 || s->channels < 1 || s->channels > INT32_MAX)) {
        return vta_fail(diag, VTA_INVALID, "a weight of %lld by %lld channels in %lld groups",
                        (long long)w->type.dim[0], (long long)w->type.dim[1], (long long)group);
    }
    return VTA_OK;
}

/* ---- transposed convolutions */

/* The weight [C, M/group, ...] as a convolution has it: [M, C/group, ...], each kernel from its end. */
static vta_status reverse_weight(vtac_flow_builder *b, sliding *s, vta_diag *diag)
{
    const vtac_flow_value *w = vtac_flow_input(b, s->item, 1);
    const int64_t group = int_of(s->item, "group", 1);
    if (w->constant == 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "its weight is not known at compile time; give fixed sizes (--shape)");
    }
    const vtac_tensor *from = b->im->graph->values[w->constant].constant;
    const int64_t ins = from->type.dim[0] / group;
    const int64_t outs = from->type.dim[1];
    int64_t taps = 1;
    for (uint32_t i = 0; i < s->axes; i++) {
        taps *= from->type.dim[2 + i];
    }
    const int64_t count = vtac_type_elements(&from->type);
    uint8_t *data = vta_arena_alloc(&b->im->graph->arena, from->bytes + 1);
    if (data == NULL || count < 1) {
        return data == NULL ? vtac_flow_no_memory(diag)
                            : vta_fail(diag, VTA_INVALID, "its weight has no elements");
    }
    const size_t size = from->bytes / (size_t)count;
    for (int64_t i = 0; i < count; i++) {
        const int64_t tap = i % taps;
        const int64_t in = i / taps / outs % ins;
        const int64_t out = i / taps / outs / ins * outs + i / taps % outs;
        memcpy(data + (size_t)((out * ins + in) * taps + taps - 1 - tap) * size,
               (const uint8_t *)from->data + (size_t)i * size, size);
    }
    vtac_tensor to = *from;
    to.data = data;
    to.type.dim[0] = outs * group;
    to.type.dim[1] = ins;
    s->channels = ins * group;
    return vtac_add_constant(b->im->graph, NULL, &to, &s->weight, diag);
}

/* Transposed windows: the stride is the distance of the input's places, and cut-off or added
 * edges are padding. */
static vta_status transpose_window(vtac_flow_builder *b, sliding *s, vta_diag *diag)
{
    int64_t more[MAX_AXES];
    const bool upper = text_is(s->item, "auto_pad", "SAME_UPPER");
    const bool same = upper || text_is(s->item, "auto_pad", "SAME_LOWER");
    if (attr_of(s->item, "output_shape") != NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "'output_shape' needs a size known at compile time; give fixed sizes (--shape)");
    }
    VTA_TRY(ints_of(s, "output_padding", s->axes, 0, more, diag));
    for (uint32_t i = 0; i < s->axes; i++) {
        const int64_t last = (s->kernel[i] - 1) * s->dilation[i];
        const int64_t total = last + 1 - s->stride[i] + more[i];
        int64_t begin = text_is(s->item, "auto_pad", "VALID") ? 0 : s->pads[i];
        int64_t end = text_is(s->item, "auto_pad", "VALID") ? 0 : s->pads[s->axes + i];
        if (same) {
            begin = total < 0 ? 0 : upper ? total / 2 : total - total / 2;
            end = total < 0 ? 0 : total - begin;
        }
        s->pads[i] = last - begin;
        s->pads[s->axes + i] = last - end + more[i];
        s->spread[i] = s->stride[i];
        s->stride[i] = 1;
    }
    return reverse_weight(b, s, diag);
}

/* The node with its padding left to the instruction. */
static vta_status make_plain(vtac_flow_builder *b, sliding *s, vta_diag *diag)
{
    static const char *const left_out[] = {"pads", "auto_pad", "ceil_mode", "count_include_pad",
                                           "output_padding"};
    vta_arena *arena = &b->im->graph->arena;
    const Onnx__NodeProto *node = s->item->node;
    s->plain = vtac_flow_kept(b, node, sizeof *node);
    Onnx__AttributeProto **attrs = vta_arena_alloc(arena, (node->n_attribute + 1) * sizeof *attrs);
    if (s->plain == NULL || attrs == NULL) {
        return vtac_flow_no_memory(diag);
    }
    if (s->is->transposed) {
        static char convolution[] = "Conv";
        s->plain->op_type = convolution;
    }
    s->plain->attribute = attrs;
    s->plain->n_attribute = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        bool keep = true;
        for (size_t k = 0; k < sizeof left_out / sizeof left_out[0]; k++) {
            keep = keep && strcmp(vtac_proto_text(node->attribute[i]->name), left_out[k]) != 0;
        }
        keep =
            keep && (!s->is->transposed || strcmp(vtac_proto_text(node->attribute[i]->name), "strides") != 0);
        if (keep) {
            attrs[s->plain->n_attribute++] = node->attribute[i];
        }
    }
    return VTA_OK;
}

/* The sizes of a tile's input whose output has `extent` places on each axis. */
static vta_status tile_type(const sliding *s, vtac_dtype dtype, int64_t extent, vtac_type *out,
                            vta_diag *diag)
{
    int64_t count = s->channels;
    *out = (vtac_type){dtype, s->axes + 2, {1, s->channels}};
    for (uint32_t i = 0; i < s->axes; i++) {
        out->dim[2 + i] = (extent - 1) * s->stride[i] + (s->kernel[i] - 1) * s->dilation[i] + 1;
        if (__builtin_mul_overflow(count, out->dim[2 + i], &count) || count > MAX_TILE) {
            return vta_fail(
                diag, VTA_UNSUPPORTED,
                "a tile of its input has more than %d elements, over a size that is known only at run "
                "time; give fixed sizes (--shape)",
                MAX_TILE);
        }
    }
    return VTA_OK;
}

static vta_status tile_input(vtac_flow_builder *b, const sliding *s, uint32_t number, int64_t extent,
                             vtac_value_id *id, vta_diag *diag)
{
    const vtac_flow_value v = *vtac_flow_at(b, number);
    uint32_t slot = 0;
    vtac_type type;
    if (v.kind != VTA_FLOW_TENSOR) {
        return vta_fail(diag, VTA_INVALID, "its input is no tensor");
    }
    VTA_TRY(tile_type(s, v.dtype, extent, &type, diag));
    VTA_TRY(vtac_flow_slot(b, number, &slot, diag));
    return vtac_flow_segment_input(b, slot, &type, id, diag);
}

/* Adds the inputs of the segment: a tile of the first input; all others whole. */
static vta_status tile_inputs(vtac_flow_builder *b, const sliding *s, int64_t extent, vtac_scope *scope,
                              vta_diag *diag)
{
    const Onnx__NodeProto *node = s->item->node;
    for (size_t i = 0; i < node->n_input; i++) {
        uint32_t number;
        uint32_t slot = 0;
        vtac_value_id id = 0;
        const char *name = vtac_proto_text(node->input[i]);
        (void)vtac_flow_find(&s->item->at, name, &number);
        if (name[0] == '\0') {
            continue;
        }
        const vtac_flow_value v = *vtac_flow_at(b, number);
        if (i == 0) {
            VTA_TRY(tile_input(b, s, number, extent, &id, diag));
        } else if (!v.known) {
            return vta_fail(
                diag, VTA_UNSUPPORTED,
                "its input %zu is not of a size known at compile time; give fixed sizes (--shape)", i);
        } else if (v.constant == 0) { /* given anew to each of the two segments */
            VTA_TRY(vtac_flow_slot(b, number, &slot, diag));
            VTA_TRY(vtac_flow_segment_input(b, slot, &v.type, &id, diag));
        } else {
            id = i == 1 && s->weight != 0 ? s->weight : v.constant;
        }
        VTA_TRY(vtac_scope_set(scope, name, id, diag));
    }
    return VTA_OK;
}

static vta_status add_tile(vtac_flow_builder *b, const sliding *s, int64_t extent, vtac_dtype *dtype,
                           vtac_scope *scope, vta_diag *diag)
{
    vtac_graph *graph = b->im->graph;
    vtac_flow_segment segment = {.inputs = {.item_size = sizeof(uint32_t)},
                                 .outputs = {.item_size = sizeof(uint32_t)}};
    vtac_flow_open_segment(b);
    VTA_TRY(tile_inputs(b, s, extent, scope, diag));
    vtac_import_place at = s->item->at;
    at.scope = scope;
    b->im->origin = s->item->origin;
    Onnx__NodeProto *nodes[] = {s->plain};
    VTA_TRY(vtac_import_nodes(b->im, &at, nodes, 1, diag));
    vtac_value_id id = 0;
    (void)vtac_scope_get(scope, vtac_proto_text(s->plain->output[0]), &id);
    const vtac_type type = graph->values[id].type;
    bool fits = id != 0 && type.rank == s->axes + 2 && type.dim[0] == 1;
    for (uint32_t i = 0; fits && i < s->axes; i++) {
        fits = type.dim[2 + i] == extent;
    }
    if (!fits) {
        return vta_fail(diag, VTA_UNSUPPORTED, "its output does not follow the size of its input");
    }
    *dtype = type.dtype;
    VTA_TRY(vtac_add_output(graph, id, diag));
    vta_status status = vtac_flow_put_number(&segment.outputs, graph->output_count - 1, diag);
    for (size_t i = 0; status == VTA_OK && i < b->seg_inputs.count; i++) {
        status = vtac_flow_put_number(&segment.inputs, *(uint32_t *)vta_vec_at(&b->seg_inputs, i), diag);
    }
    if (status != VTA_OK || vta_vec_push(&b->flow->segments, &segment) == NULL) {
        vta_vec_free(&segment.inputs);
        vta_vec_free(&segment.outputs);
        return status != VTA_OK ? status : vtac_flow_no_memory(diag);
    }
    return VTA_OK;
}

/* ---- the instruction */

/* The bits of the lowest number of a type that a pool takes. */
static int64_t lowest_bits(vtac_dtype dtype)
{
    const int64_t code = vtac_dtype_code(dtype);
    const int64_t bits = vtac_dtype_bits(dtype);
    enum { SIGNED = 0, FLOAT = 2, BRAIN = 4 };
    return code == SIGNED                ? (int64_t)(UINT64_MAX << (bits - 1))
           : code == FLOAT && bits == 64 ? (int64_t)UINT64_C(0xfff0000000000000)
           : code == FLOAT && bits == 32 ? INT64_C(0xff800000)
           : code == FLOAT && bits == 16 ? INT64_C(0xfc00)
           : code == BRAIN               ? INT64_C(0xff80)
                                         : 0;
}

/* Writes the contents of the padding: a kind of vta_flow_window's, and its word. */
static vta_status put_padding(vtac_flow_builder *b, const sliding *s, vta_vec *words, vta_diag *diag)
{
    const vtac_flow_value *x = vtac_flow_input(b, s->item, 0);
    const vtac_flow_value *point =
        s->is->padding == PAD_POINT ? vtac_flow_input(b, s->item, (size_t)s->is->point) : NULL;
    int64_t word = s->is->padding == PAD_LOWEST ? lowest_bits(x->dtype) : 0;
    bool is_input = false;
    if (point != NULL && point->constant != 0) {
        word = vtac_tensor_int(b->im->graph->values[point->constant].constant, 0);
    } else if (point != NULL) {
        is_input = true;
        for (int i = 0; i < s->is->point; i++) { /* constants and absent ones are no inputs of the segment */
            const vtac_flow_value *v = vtac_flow_input(b, s->item, (size_t)i);
            word += v != NULL && v->constant == 0;
        }
    }
    VTA_TRY(vtac_flow_put_word(words, is_input, diag));
    return vtac_flow_put_word(words, word, diag);
}

static vta_status put_axes(const sliding *s, bool unpadded, vta_vec *words, vta_diag *diag)
{
    for (uint32_t i = 0; i < s->axes; i++) {
        const int64_t own[] = {s->kernel[i],
                               s->stride[i],
                               s->dilation[i],
                               unpadded ? 0 : s->pads[i],
                               unpadded ? 0 : s->pads[s->axes + i],
                               s->spread[i]};
        for (size_t k = 0; k < sizeof own / sizeof own[0]; k++) {
            VTA_TRY(vtac_flow_put_word(words, own[k], diag));
        }
    }
    return VTA_OK;
}

static vta_status put_words(vtac_flow_builder *b, const sliding *s, vta_vec *words, vta_diag *diag)
{
    const vtac_flow_node *item = s->item;
    const bool valid = text_is(item, "auto_pad", "VALID");
    const int64_t same = s->is->transposed                         ? 0
                         : text_is(item, "auto_pad", "SAME_UPPER") ? 1
                         : text_is(item, "auto_pad", "SAME_LOWER") ? 2
                                                                   : 0;
    const bool mean = strcmp(s->is->name, "AveragePool") == 0;
    const planes what = s->is->weight >= 0                          ? ALL_CHANNELS
                        : !mean                                     ? PLANES
                        : int_of(item, "count_include_pad", 0) != 0 ? MEANS_OF_ALL
                                                                    : MEANS;
    const size_t last = b->flow->segments.count;
    VTA_TRY(vtac_flow_put_word(words, (int64_t)last - 2, diag));
    VTA_TRY(vtac_flow_put_word(words, (int64_t)last - 1, diag));
    VTA_TRY(vtac_flow_put_word(words, s->axes, diag));
    VTA_TRY(vtac_flow_put_word(words, same, diag));
    VTA_TRY(vtac_flow_put_word(words, s->is->weight < 0 && int_of(item, "ceil_mode", 0) != 0, diag));
    VTA_TRY(put_padding(b, s, words, diag));
    VTA_TRY(vtac_flow_put_word(words, what, diag));
    return put_axes(s, valid && !s->is->transposed, words, diag);
}

static vta_status add_tile_of(vtac_flow_builder *b, sliding *s, int64_t extent, vtac_dtype *dtype,
                              vta_diag *diag)
{
    vtac_scope scope = {.outer = NULL};
    const vta_status status = add_tile(b, s, extent, dtype, &scope, diag);
    free(scope.slots);
    b->segment = 0;
    return status;
}

/* Adds the segments of a large and of a small tile, and their inputs. */
static vta_status add_tiles(vtac_flow_builder *b, sliding *s, vta_vec *inputs, vtac_dtype *dtype,
                            vta_diag *diag)
{
    static const int64_t large[] = {256, 32, 8};
    static const int64_t small[] = {32, 8, 4};
    const uint32_t axes = s->axes < 3 ? s->axes : 3;
    VTA_TRY(add_tile_of(b, s, large[axes - 1], dtype, diag));
    VTA_TRY(add_tile_of(b, s, small[axes - 1], dtype, diag));
    for (size_t i = 0; i < b->seg_slots.count; i++) {
        VTA_TRY(vtac_flow_put_number(inputs, *(uint32_t *)vta_vec_at(&b->seg_slots, i), diag));
    }
    return VTA_OK;
}

static vta_status build_tile(vtac_flow_work *w, sliding *s, vtac_flow_draft *d, vta_diag *diag)
{
    vtac_flow_builder *b = w->b;
    const Onnx__NodeProto *node = s->item->node;
    vtac_dtype dtype = VTAC_F32;
    VTA_TRY(measure_window(b, s, diag));
    VTA_TRY(s->is->transposed ? transpose_window(b, s, diag) : VTA_OK);
    VTA_TRY(make_plain(b, s, diag));
    VTA_TRY(add_tiles(b, s, &d->inputs, &dtype, diag));
    VTA_TRY(put_words(b, s, &d->words, diag));
    VTA_TRY(vtac_flow_add_output(b, s->item, 0, VTA_FLOW_TENSOR, dtype, NULL, &d->outputs, diag));
    const char *name = vtac_proto_text(node->name);
    return vtac_flow_give(b, w->block, VTA_FLOW_WINDOW,
                          name[0] == '\0' ? vtac_proto_text(node->output[0]) : name, &d->inputs, &d->outputs,
                          &d->words, diag);
}

vta_status vtac_flow_give_window(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag)
{
    sliding s = {.is = slider_of(item->node), .item = item};
    vtac_flow_draft d = VTAC_FLOW_DRAFT;
    const vta_status status = build_tile(w, &s, &d, diag);
    vtac_flow_free_draft(&d);
    return status;
}
