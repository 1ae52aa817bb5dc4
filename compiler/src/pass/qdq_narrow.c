/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants of four bits and less behind a DequantizeLinear, as bytes: integer operators read those.
 *
 *     D(i4)                              -> D(i8)              the same numbers
 *     D(i4, scales of blocks of inputs)  -> D(i8)              where the scales of an output are multiples,
 *                                                              by 1 … 16, of one number
 *
 * In the second form each byte is the product of a number and its block's multiple. Scales of blocks that
 * have no such number stay, and their weights become floats.
 */
#include <math.h>
#include <string.h>

#include "qdq.h"
#include "vta/fail.h"

enum { MAX_FACTOR = 16 };

static vta_status widen_input(vtac_rewrite *r, vtac_node_id id, uint32_t input, bool *changed)
{
    const vtac_tensor *from = vtac_in_constant(r->graph, &r->graph->nodes[id], input);
    if (from == NULL || !vtac_dtype_is_narrow_int(from->type.dtype)) {
        return VTA_OK;
    }
    vtac_tensor tensor = *from;
    vtac_value_id value;
    tensor.type.dtype = vtac_dtype_held(tensor.type.dtype);
    VTA_TRY(vtac_add_constant(r->graph, NULL, &tensor, &value, r->diag));
    *changed = true;
    return vtac_set_input(r->graph, id, input, value, r->diag);
}

/* Weights of outputs by inputs, with a scale for each block of inputs. */
typedef struct blocked_weights {
    const vtac_tensor *w, *scales, *zeros; /* zeros NULL: 0 */
    uint32_t axis;                         /* of the inputs */
    int64_t size;                          /* of a block */
    int64_t outputs, inputs, blocks;
    int8_t *bytes; /* to be filled, and the scale of each output */
    float *scale;
} blocked_weights;

static bool read_blocks(const vtac_rewrite *r, const vtac_node *node, blocked_weights *b)
{
    const vtac_graph *g = r->graph;
    const int64_t axis = vtac_attr_int(node, "axis", 1);
    *b = (blocked_weights){.w = vtac_in_constant(g, node, VTAC_QDQ_X),
                           .scales = vtac_in_constant(g, node, VTAC_QDQ_SCALE),
                           .zeros = vtac_in_constant(g, node, VTAC_QDQ_ZERO),
                           .size = vtac_attr_int(node, "block_size", 0)};
    if (b->size < 1 || b->w == NULL || b->scales == NULL || b->scales->type.dtype != VTAC_F32 ||
        b->w->type.rank < 2 || vtac_dtype_bytes(b->w->type.dtype) != 1 ||
        (vtac_in_type(g, node, VTAC_QDQ_ZERO) != NULL && b->zeros == NULL)) {
        return false;
    }
    const vtac_type *type = &b->w->type;
    b->axis = (uint32_t)(axis < 0 ? axis + (int64_t)type->rank : axis);
    bool points = b->axis < 2 && b->scales->type.rank == type->rank;
    for (uint32_t i = 2; i < type->rank; i++) {
        points = points && type->dim[i] == 1;
    }
    if (!points) {
        return false;
    }
    b->inputs = type->dim[b->axis];
    b->outputs = type->dim[1 - b->axis];
    b->blocks = b->scales->type.dim[b->axis];
    return b->outputs > 0 && b->blocks > 0 && b->blocks == b->inputs / b->size + (b->inputs % b->size != 0) &&
           vtac_type_elements(&b->scales->type) == b->outputs * b->blocks;
}

/* Place of number `k` of `count` along the inputs of an output. */
static int64_t place_in(const blocked_weights *b, int64_t output, int64_t k, int64_t count)
{
    return b->axis == 1 ? output * count + k : k * b->outputs + output;
}

/* The zero point of a block, which may be that of all blocks. */
static int64_t block_zero(const blocked_weights *b, int64_t output, int64_t block)
{
    const bool one = b->zeros != NULL && vtac_type_elements(&b->zeros->type) == 1;
    return b->zeros == NULL ? 0 : vtac_tensor_int(b->zeros, one ? 0 : place_in(b, output, block, b->blocks));
}

static double block_scale(const blocked_weights *b, int64_t output, int64_t block)
{
    return vtac_tensor_float(b->scales, place_in(b, output, block, b->blocks));
}

/* True if all scales of an output are multiples of `unit`, to the last bit. */
static bool are_multiples(const blocked_weights *b, int64_t output, double unit)
{
    bool fit = true;
    for (int64_t i = 0; fit && i < b->blocks; i++) {
        const double scale = block_scale(b, output, i), factor = rint(scale / unit);
        fit = factor >= 1.0 && fabs(factor * unit - scale) <= 0.0;
    }
    return fit;
}

/* The largest number of which all scales of an output are multiples; 0: there is none. */
static float unit_of(const blocked_weights *b, int64_t output)
{
    double largest = 0.0;
    for (int64_t i = 0; i < b->blocks; i++) {
        largest = fmax(largest, block_scale(b, output, i));
    }
    for (int factor = 1; largest > 0.0 && isfinite(largest) && factor <= MAX_FACTOR; factor++) {
        const float unit = (float)(largest / factor);
        if (unit > 0.0F && are_multiples(b, output, (double)unit)) {
            return unit;
        }
    }
    return 0.0F;
}

/* The bytes of an output; false where a number times its factor has more than 8 bits. */
static bool fill_output(const blocked_weights *b, int64_t output)
{
    const double unit = (double)b->scale[output];
    bool fit = true;
    for (int64_t k = 0; fit && k < b->inputs; k++) {
        const int64_t at = place_in(b, output, k, b->inputs), block = k / b->size;
        const int64_t factor = (int64_t)rint(block_scale(b, output, block) / unit);
        const int64_t byte = (vtac_tensor_int(b->w, at) - block_zero(b, output, block)) * factor;
        fit = byte >= INT8_MIN && byte <= INT8_MAX;
        b->bytes[at] = (int8_t)byte;
    }
    return fit;
}

static vta_status fill_bytes(vtac_rewrite *r, blocked_weights *b, bool *fit)
{
    b->bytes = vta_arena_array(&r->graph->arena, (size_t)vtac_type_elements(&b->w->type), 1);
    b->scale = vta_arena_array(&r->graph->arena, (size_t)b->outputs, sizeof *b->scale);
    if (b->bytes == NULL || b->scale == NULL) {
        return vta_no_memory(r->diag);
    }
    *fit = true;
    for (int64_t i = 0; *fit && i < b->outputs; i++) {
        b->scale[i] = unit_of(b, i);
        *fit = b->scale[i] > 0.0F && fill_output(b, i);
    }
    return VTA_OK;
}

/* DequantizeLinear of the bytes, by output. */
static vta_status join_blocks(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node node = r->graph->nodes[id];
    blocked_weights b;
    bool fit = false;
    if (!read_blocks(r, &node, &b)) {
        return VTA_OK;
    }
    VTA_TRY(fill_bytes(r, &b, &fit));
    if (!fit) {
        return VTA_OK;
    }
    vtac_tensor bytes = {.type = b.w->type, .data = b.bytes, .bytes = b.w->bytes};
    const vtac_tensor scale = {.type = {.dtype = VTAC_F32, .rank = 1, .dim = {b.outputs}},
                               .data = b.scale,
                               .bytes = (size_t)b.outputs * sizeof *b.scale};
    const vtac_attr axis = {.name = "axis", .kind = VTAC_ATTR_INT, .i = 1 - (int64_t)b.axis};
    vtac_value_id inputs[2], out;
    bytes.type.dtype = VTAC_I8;
    VTA_TRY(vtac_add_constant(r->graph, NULL, &bytes, &inputs[VTAC_QDQ_X], r->diag));
    VTA_TRY(vtac_add_constant(r->graph, NULL, &scale, &inputs[VTAC_QDQ_SCALE], r->diag));
    const vtac_node_spec spec = {.op = VTAC_OP_DEQUANTIZE_LINEAR,
                                 .inputs = inputs,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .attrs = &axis,
                                 .attr_count = 1};
    VTA_TRY(vtac_new_node(r, id, &node, spec, &out));
    if (vtac_can_replace(r->graph, node.outputs[0], out)) {
        vtac_replace(r, node.outputs[0], out);
        vtac_remove_node(r->graph, id);
        *changed = true;
    }
    return VTA_OK;
}

vta_status vtac_widen_weights(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    VTA_TRY(widen_input(r, id, 0, changed));
    VTA_TRY(widen_input(r, id, 2, changed));
    return *changed ? VTA_OK : join_blocks(r, id, changed);
}
