/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a region node by node: tensors for the values that are read and written, a layer for each node.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "partition.h"
#include "vta/fail.h"

/* ---- the table */

enum { SAME = VTAC_ZERO_SAME, NO = VTAC_ZERO_NO, ALL = VTAC_ALL_OPERANDS };

static const struct row {
    bool present;
    vtac_layer_row row;
} rows[VTAC_OP_COUNT] = {
#define LAYER(op, make, first, step, count, zero)                                                            \
    [VTAC_OP_##op] = {true, {vtac_layer_##make, first, step, count, zero}},
#define ZERO(op, first, step, count, zero) [VTAC_OP_##op] = {true, {NULL, first, step, count, zero}},
#include "layers.def"
};

const vtac_layer_row *vtac_layer_row_of(vtac_op op)
{
    return rows[op].present ? &rows[op].row : NULL;
}

bool vtac_op_has_layer(vtac_op op)
{
    return rows[op].present && rows[op].row.make != NULL;
}

uint32_t vtac_operand(const vtac_layer_row *row, uint32_t k)
{
    return (uint32_t)row->first + k * (uint32_t)row->step;
}

uint32_t vtac_operand_count(const vtac_node *node, const vtac_layer_row *row)
{
    const uint32_t first = (uint32_t)row->first;
    const uint32_t step = (uint32_t)row->step;
    return row->count != ALL ? (uint32_t)row->count : (node->input_count - first + step - 1) / step;
}

/* ---- the region under construction */

vta_status vtac_no_layer(const vtac_maker *m, const char *fmt, ...)
{
    char text[512] = "";
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return vta_fail(m->diag, VTA_UNSUPPORTED, "%s", text);
}

void *vtac_maker_array(const vtac_maker *m, size_t count, size_t size)
{
    return vta_arena_array(m->arena, count > 0 ? count : 1, size);
}

vta_status vtac_maker_init(vtac_maker *m, vtac_graph *graph, vta_arena *arena, const int32_t *zeros,
                           vta_diag *diag)
{
    *m = (vtac_maker){.graph = graph,
                      .arena = arena,
                      .zeros = zeros,
                      .zero_count = graph->value_count + 1,
                      .tensors = {.item_size = sizeof(vtac_vta_tensor)},
                      .layers = {.item_size = sizeof(vtac_vta_layer)},
                      .diag = diag};
    return VTA_OK;
}

void vtac_maker_reset(vtac_maker *m)
{
    m->tensors.count = 0;
    m->layers.count = 0;
}

void vtac_maker_free(vtac_maker *m)
{
    vta_vec_free(&m->tensors);
    vta_vec_free(&m->layers);
}

/* ---- tensors */

static vtac_vta_tensor *tensor_at(const vtac_maker *m, uint32_t i)
{
    return vta_vec_at(&m->tensors, i);
}

int32_t vtac_layer_zero(const vtac_maker *m, uint32_t tensor)
{
    return tensor_at(m, tensor)->zero;
}

static vta_status zero_of(const vtac_maker *m, vtac_value_id value, int32_t *out)
{
    const int32_t zero = value < m->zero_count ? m->zeros[value] : VTAC_ZERO_UNKNOWN;
    if (zero == VTAC_ZERO_CONFLICT) {
        return vtac_no_layer(m,
                             "'%s' is made with one zero point and read with another; requantize it between",
                             m->graph->values[value].name);
    }
    *out = zero == VTAC_ZERO_UNKNOWN ? 0 : zero;
    return VTA_OK;
}

/* The tensor of a value; adds it if it is new. */
static vta_status tensor_of(vtac_maker *m, vtac_value_id value, const int64_t shape[4], int32_t zero,
                            uint32_t *out)
{
    for (uint32_t i = 0; i < m->tensors.count; i++) {
        if (tensor_at(m, i)->value == value) {
            *out = i;
            return VTA_OK;
        }
    }
    const vtac_value *v = &m->graph->values[value];
    const vtac_vta_tensor tensor = {.name = v->name,
                                    .role = VTAC_VTA_INPUT,
                                    .n = shape[0],
                                    .c = shape[1],
                                    .h = shape[2],
                                    .w = shape[3],
                                    .zero = zero,
                                    .value = value};
    *out = (uint32_t)m->tensors.count;
    return vta_allocated(vta_vec_push(&m->tensors, &tensor) != NULL, m->diag);
}

static vta_status check_integers(const vtac_maker *m, vtac_value_id value)
{
    const vtac_value *v = &m->graph->values[value];
    if (v->type.dtype != VTAC_I8 && v->type.dtype != VTAC_U8) {
        return vtac_no_layer(m, "'%s' is %s, and the accelerator computes in int8; quantize the model",
                             v->name, vtac_dtype_name(v->type.dtype));
    }
    return VTA_OK;
}

static vta_status image_of(const vtac_maker *m, vtac_value_id value, int64_t shape[4])
{
    char text[160];
    const vtac_value *v = &m->graph->values[value];
    VTA_TRY(check_integers(m, value));
    return vtac_image_shape(&v->type, shape)
               ? VTA_OK
               : vtac_no_layer(m, "'%s' is %s, which is no image [n, c, h, w] nor rows [n, c]", v->name,
                               vtac_type_text(&v->type, text, sizeof text));
}

static vta_status push_input(vtac_maker *m, vtac_vta_layer *layer, uint32_t tensor)
{
    uint32_t *grown = vtac_maker_array(m, layer->input_count + 1U, sizeof *grown);
    if (grown == NULL) {
        return vta_no_memory(m->diag);
    }
    for (uint32_t i = 0; i < layer->input_count; i++) {
        grown[i] = layer->inputs[i];
    }
    grown[layer->input_count++] = tensor;
    layer->inputs = grown;
    return VTA_OK;
}

/* True if rows of pixels are as the node sees them. */
static bool reads_rows_of(const vtac_maker *m, uint32_t i, const int64_t shape[4])
{
    int64_t own[4];
    return !vtac_image_shape(vtac_in_type(m->graph, m->node, i), own) || own[2] == shape[2];
}

static bool same_elements(const int64_t a[4], const int64_t b[4])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] * a[3] == b[2] * b[3];
}

vta_status vtac_layer_input(vtac_maker *m, vtac_vta_layer *layer, uint32_t i, int64_t shape[4], bool *flat)
{
    const vtac_source source = vtac_source_of(m->graph, m->node->inputs[i]);
    int32_t zero = 0;
    uint32_t tensor = 0;
    VTA_TRY(image_of(m, source.base, shape));
    if (source.flat && flat == NULL) {
        return vtac_no_layer(m, "it reads '%s' flattened; only a dense layer can",
                             m->graph->values[source.base].name);
    }
    if (!source.flat && !m->any_rows && !reads_rows_of(m, i, shape)) {
        return vtac_no_layer(m, "it reads '%s' with other rows of pixels than it has",
                             m->graph->values[source.base].name);
    }
    VTA_TRY(zero_of(m, source.base, &zero));
    VTA_TRY(tensor_of(m, source.base, shape, zero, &tensor));
    if (flat != NULL) {
        *flat = source.flat;
    }
    return push_input(m, layer, tensor);
}

vta_status vtac_layer_output(vtac_maker *m, vtac_vta_layer *layer, int64_t shape[4])
{
    const vtac_value_id value = m->node->outputs[0];
    int32_t zero = 0;
    VTA_TRY(image_of(m, value, shape));
    VTA_TRY(zero_of(m, value, &zero));
    VTA_TRY(tensor_of(m, value, shape, zero, &layer->output));
    return VTA_OK;
}

vta_status vtac_layer_second_output(vtac_maker *m, vtac_vta_layer *layer)
{
    int64_t shape[4];
    VTA_TRY(image_of(m, m->node->outputs[1], shape));
    return tensor_of(m, m->node->outputs[1], shape, 0, &layer->second);
}

/* ---- nodes that join the layer before */

vtac_vta_layer *vtac_joined_layer(const vtac_maker *m, vtac_vta_tensor **to)
{
    const vtac_value_id in = m->node->inputs[0];
    for (size_t i = 0; vtac_use_count(m->graph, in) == 1 && i < m->layers.count; i++) {
        vtac_vta_layer *before = vta_vec_at(&m->layers, i);
        *to = vta_vec_at(&m->tensors, before->output);
        if ((*to)->value == in) {
            return before;
        }
    }
    return NULL;
}

bool vtac_join_layer(vtac_maker *m, vtac_vta_layer *before, vtac_vta_tensor *to)
{
    const vtac_value_id out = m->node->outputs[0];
    const size_t size = strlen(before->name) + strlen(m->node->name) + 2;
    const int32_t zero = out < m->zero_count ? m->zeros[out] : VTAC_ZERO_UNKNOWN;
    char *name = vtac_maker_array(m, size, 1);
    if (name == NULL || zero == VTAC_ZERO_CONFLICT) {
        return false;
    }
    (void)snprintf(name, size, "%s+%s", before->name, m->node->name);
    before->name = name;
    to->value = out;
    to->zero = zero == VTAC_ZERO_UNKNOWN ? 0 : zero;
    to->name = m->graph->values[out].name;
    m->latest = (uint32_t)(before - (vtac_vta_layer *)m->layers.items);
    return true;
}

/* ---- constants as operands */

/* Broadcasts the constant `t` to [n, c, h, w], as a value of the graph. */
static vta_status broadcast_constant(vtac_maker *m, const vtac_tensor *t, const int64_t want[4],
                                     vtac_value_id *out)
{
    int64_t dim[4] = {1, 1, 1, 1};
    int64_t step[4] = {0, 0, 0, 0};
    const int64_t elements = want[0] * want[1] * want[2] * want[3];
    const uint8_t *from = t->data;
    uint8_t *data = vta_arena_array(&m->graph->arena, (size_t)elements, 1);
    if (data == NULL) {
        return vta_no_memory(m->diag);
    }
    for (uint32_t i = 0; i < t->type.rank; i++) {
        dim[4 - t->type.rank + i] = t->type.dim[i];
    }
    int64_t stride = 1;
    for (int i = 3; i >= 0; i--) {
        step[i] = dim[i] == 1 ? 0 : stride;
        stride *= dim[i];
    }
    for (int64_t row = 0; row < want[0] * want[1] * want[2]; row++) {
        const int64_t y = row % want[2], c = row / want[2] % want[1], n = row / want[2] / want[1];
        const uint8_t *own = from + n * step[0] + c * step[1] + y * step[2];
        if (step[3] == 0) {
            memset(data + row * want[3], *own, (size_t)want[3]);
        } else {
            memcpy(data + row * want[3], own, (size_t)want[3]);
        }
    }
    const vtac_tensor whole = {
        .type = {.dtype = t->type.dtype, .rank = 4, .dim = {want[0], want[1], want[2], want[3]}},
        .data = data,
        .bytes = (size_t)elements};
    return vtac_add_constant(m->graph, "broadcast", &whole, out, m->diag);
}

/* True if a constant of `type` broadcasts to the node's output, which has `rank` axes and the
 * image shape `want`. */
static bool can_broadcast(const vtac_type *type, uint32_t rank, const int64_t want[4], vtac_type *as_image)
{
    if (type->rank > rank) {
        return false;
    }
    /* axes of [n, c], [n, c, w] and [n, c, h, w], as axes of an image */
    static const int place[5][4] = {{0}, {0}, {0, 1}, {0, 1, 3}, {0, 1, 2, 3}};
    *as_image = (vtac_type){.dtype = type->dtype, .rank = 4, .dim = {1, 1, 1, 1}};
    for (uint32_t i = 0; i < type->rank; i++) {
        const int axis = place[rank][rank - type->rank + i];
        as_image->dim[axis] = type->dim[i];
        if (type->dim[i] != 1 && type->dim[i] != want[axis]) {
            return false;
        }
    }
    return true;
}

vta_status vtac_layer_operand(vtac_maker *m, vtac_vta_layer *layer, uint32_t i, const int64_t want[4])
{
    const vtac_tensor *constant = vtac_in_constant(m->graph, m->node, i);
    const vtac_type *out = &m->graph->values[m->node->outputs[0]].type;
    int64_t shape[4];
    if (constant == NULL) {
        VTA_TRY(vtac_layer_input(m, layer, i, shape, NULL));
        return same_elements(shape, want)
                   ? VTA_OK
                   : vtac_no_layer(m,
                                   "its operands have different shapes; the accelerator broadcasts constants "
                                   "alone");
    }
    vtac_tensor image = *constant;
    vtac_value_id value = 0;
    uint32_t tensor = 0;
    int32_t zero = 0;
    VTA_TRY(check_integers(m, m->node->inputs[i]));
    VTA_TRY(zero_of(m, m->node->inputs[i], &zero));
    if (!can_broadcast(&constant->type, out->rank, want, &image.type)) {
        return vtac_no_layer(m, "the constant '%s' does not broadcast to its output",
                             m->graph->values[m->node->inputs[i]].name);
    }
    if (memcmp(image.type.dim, want, 4 * sizeof *want) == 0) {
        value = m->node->inputs[i]; /* as it is: layers that read the same constant share it */
    } else {
        VTA_TRY(broadcast_constant(m, &image, want, &value));
    }
    VTA_TRY(tensor_of(m, value, want, zero, &tensor));
    return push_input(m, layer, tensor);
}

/* ---- scales */

vta_status vtac_layer_scale(const vtac_maker *m, uint32_t i, float *out)
{
    const vtac_tensor *scale = vtac_in_constant(m->graph, m->node, i);
    if (scale == NULL || vtac_type_elements(&scale->type) != 1) {
        return vtac_no_layer(m, "its scale (input %u) is not one number known at compile time", i);
    }
    *out = (float)vtac_tensor_float(scale, 0);
    return isfinite(*out) && *out > 0.0F
               ? VTA_OK
               : vtac_no_layer(m, "its scale (input %u) is %g, not positive and finite", i, (double)*out);
}

vta_status vtac_layer_fixed(const vtac_maker *m, float scale, vtac_fixed *out)
{
    return vtac_fixed_of(scale, out)
               ? VTA_OK
               : vtac_no_layer(m, "a factor of %g to its output's scale is more than the accelerator's 2^24",
                               (double)scale);
}

vta_status vtac_layer_factor(const vtac_maker *m, vtac_tfl_scale factor, vtac_fixed *out)
{
    enum { POINT = 31 };
    if (factor.shift >= POINT) {
        return vtac_no_layer(m, "its factor is 2^30 or more");
    }
    *out = (vtac_fixed){(uint32_t)factor.mult, (uint32_t)(POINT - factor.shift)};
    return VTA_OK;
}

vta_status vtac_layer_one_scale(const vtac_maker *m, vtac_vta_layer *layer, float scale)
{
    vtac_fixed *fixed = vtac_maker_array(m, 1, sizeof *fixed);
    if (fixed == NULL) {
        return vta_no_memory(m->diag);
    }
    layer->scales = fixed;
    return vtac_layer_fixed(m, scale, fixed);
}

/* ---- nodes */

static vta_status name_layer(const vtac_maker *m, vtac_vta_layer *layer)
{
    layer->name = m->node->name;
    layer->op = vtac_op_get(m->node->op)->name;
    layer->node = m->node->origin;
    layer->low = -128;
    layer->high = 127;
    layer->groups = 1;
    for (int i = 0; i < 2; i++) {
        layer->window.kernel[i] = layer->window.stride[i] = layer->window.dilation[i] = 1;
    }
    return vta_allocated(layer->name != NULL, m->diag);
}

/* Sets the rounding: TensorFlow Lite's two roundings exist in REQUANT, with 31-bit multipliers. */
static vta_status set_rounding(const vtac_maker *m, vtac_vta_layer *layer)
{
    static const vta_rounding of[] = {[VTAC_ROUND_EVEN] = VTA_ROUND_EVEN,
                                      [VTAC_ROUND_UP] = VTA_ROUND_TWICE_UP,
                                      [VTAC_ROUND_AWAY] = VTA_ROUND_TWICE_OUT};
    const char *name = vtac_attr_string(m->node, "rounding", "");
    vtac_rounding rounding;
    if (!vtac_rounding_parse(name, &rounding) || rounding == VTAC_ROUND_ONCE) {
        return vtac_no_layer(m, "the accelerator does not round as it does ('%s')", name);
    }
    layer->rounding = of[rounding];
    layer->wide = rounding != VTAC_ROUND_EVEN;
    return VTA_OK;
}

static vta_status make_with(vtac_maker *m, const vtac_layer_row *row, vtac_vta_layer *layer)
{
    if (vtac_attr_int(m->node, "host", 0) != 0) {
        return vtac_no_layer(m, "it packs what a product reads as weights: the host's side of the border");
    }
    if (row == NULL || row->make == NULL ||
        (m->node->output_count != 1 && m->node->op != VTAC_OP_VTA_RECURRENCE)) {
        return vtac_no_layer(m,
                             "the accelerator has no %s; at the model's beginning or end it parts no region",
                             vtac_op_get(m->node->op)->name);
    }
    VTA_TRY(name_layer(m, layer));
    VTA_TRY(set_rounding(m, layer));
    return row->make(m, layer);
}

vta_status vtac_make_layer(vtac_maker *m, vtac_node_id node, uint32_t *number)
{
    const vtac_layer_row *row = vtac_layer_row_of(m->graph->nodes[node].op);
    const size_t tensors = m->tensors.count;
    m->latest = (uint32_t)m->layers.count;
    vtac_vta_layer layer = {.kind = VTAC_VTA_KINDS};
    const vtac_node copy = m->graph->nodes[node]; /* m->graph->nodes moves when constants are added */
    m->node = &copy;
    m->any_rows = false;
    vta_status status = make_with(m, row, &layer);
    if (status != VTA_OK) {
        m->tensors.count = tensors;
    } else if (layer.kind != VTAC_VTA_KINDS) { /* else the node joined the layer before */
        status = vta_allocated(vta_vec_push(&m->layers, &layer) != NULL, m->diag);
    }
    m->node = NULL;
    if (number != NULL) {
        *number = m->latest;
    }
    return status;
}

/* ---- the whole region */

vta_status vtac_make_region(vtac_maker *m, const char *name, vtac_outside_fn *used_outside,
                            const void *context, vtac_vta_region *out)
{
    *out = (vtac_vta_region){
        .name = name,
        .tensor_count = (uint32_t)m->tensors.count,
        .layer_count = (uint32_t)m->layers.count,
        .tensors = vtac_maker_array(m, m->tensors.count, sizeof *out->tensors),
        .layers = vtac_maker_array(m, m->layers.count, sizeof *out->layers),
    };
    if (out->tensors == NULL || out->layers == NULL) {
        return vta_no_memory(m->diag);
    }
    memcpy(out->tensors, m->tensors.items, m->tensors.count * sizeof *out->tensors);
    memcpy(out->layers, m->layers.items, m->layers.count * sizeof *out->layers);
    for (uint32_t i = 0; i < out->layer_count; i++) {
        vtac_vta_tensor *t = &out->tensors[out->layers[i].output];
        t->role = used_outside(context, t->value) ? VTAC_VTA_OUTPUT : VTAC_VTA_INTERNAL;
        if (out->layers[i].second != 0) {
            t = &out->tensors[out->layers[i].second];
            t->role = used_outside(context, t->value) ? VTAC_VTA_OUTPUT : VTAC_VTA_INTERNAL;
        }
    }
    for (uint32_t i = 0; i < out->tensor_count; i++) {
        const vtac_node *maker = vtac_producer_of(m->graph, out->tensors[i].value);
        out->tensors[i].kept = maker != NULL && vtac_is_held(m->graph, maker);
    }
    return VTA_OK;
}
