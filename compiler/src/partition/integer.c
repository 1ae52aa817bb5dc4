/* SPDX-License-Identifier: Apache-2.0
 *
 * ConvInteger and MatMulInteger with constant weights (models that are quantized at run time): the array
 * sums, and the host corrects for the zero point of x, which is known at run time only.
 *
 *     Σ (x - zero)(w - w_zero)  =  Σ x'(w - w_zero) - zero' · Σ (w - w_zero)
 *
 * x' and zero' are signed, uint8 moved by 128. The first sum is a Sums node on the accelerator, which returns
 * it byte by byte (vtac/vta.h, whole sums). The host pads, with the zero point.
 */
#include <string.h>

#include "../ops/infer.h"
#include "builder.h"
#include "partition.h"

enum { MIN_PRODUCTS = 1 << 14 };

/* The weights in the order of a convolution, and numbers that follow from them. */
typedef struct weight_sums {
    const vtac_tensor *w, *zero; /* zero NULL: 0 */
    int64_t outputs, terms;
    int64_t output_step, term_step;
    int64_t rows;   /* of a matrix product; 0: a convolution */
    int64_t padded; /* `rows`, at least 2: an image of one pixel would not be an image of rows */
    int64_t bytes;  /* of a sum */
    int32_t *total; /* by output: the sum of its weights */
    vtac_window window;
} weight_sums;

static int64_t weight_at(const weight_sums *s, int64_t o, int64_t t)
{
    const int64_t at = o * s->output_step + t * s->term_step;
    const bool each = s->zero != NULL && vtac_type_elements(&s->zero->type) > 1;
    return vtac_tensor_int(s->w, at) - (s->zero != NULL ? vtac_tensor_int(s->zero, each ? o : 0) : 0);
}

/* Finds the sums of weights, and the bytes of the largest possible sum; false if it exceeds 32 bits. */
static bool sum_weights(const vtac_node_builder *b, weight_sums *s)
{
    int64_t largest = 0;
    s->total = vta_arena_array(b->arena, (size_t)s->outputs + 1, sizeof *s->total);
    for (int64_t o = 0; s->total != NULL && o < s->outputs; o++) {
        int64_t size = 0, total = 0;
        for (int64_t t = 0; t < s->terms; t++) {
            const int64_t w = weight_at(s, o, t);
            total += w;
            size += w < 0 ? -w : w;
        }
        s->total[o] = (int32_t)total;
        largest = size > largest ? size : largest;
    }
    s->bytes = vtac_whole_bytes(largest * -INT8_MIN);
    return s->total != NULL && largest * -INT8_MIN <= INT32_MAX;
}

static bool is_scalar_or_none(const vtac_node_builder *b, uint32_t i)
{
    const vtac_type *type = vtac_in_type(b->graph, &b->like, i);
    return type == NULL || vtac_type_elements(type) == 1;
}

static bool read_sums(const vtac_node_builder *b, weight_sums *s)
{
    const vtac_node *node = &b->like;
    const bool conv = node->op == VTAC_OP_CONV_INTEGER;
    if (!conv && node->op != VTAC_OP_MATMUL_INTEGER) {
        return false;
    }
    const vtac_type *x = vtac_in_type(b->graph, node, VTAC_CONV_INTEGER_X);
    const vtac_type *zero = vtac_in_type(b->graph, node, VTAC_CONV_INTEGER_WEIGHT_ZERO);
    *s = (weight_sums){.w = vtac_in_constant(b->graph, node, VTAC_CONV_INTEGER_WEIGHT),
                       .zero = vtac_in_constant(b->graph, node, VTAC_CONV_INTEGER_WEIGHT_ZERO)};
    if (s->w == NULL || (zero != NULL && s->zero == NULL) ||
        !is_scalar_or_none(b, VTAC_CONV_INTEGER_X_ZERO) ||
        vtac_in_constant(b->graph, node, VTAC_CONV_INTEGER_X) != NULL || vtac_type_elements(x) < 1 ||
        vtac_type_elements(&s->w->type) < 1) {
        return false;
    }
    const vtac_type *w = &s->w->type;
    if (conv) {
        vta_diag quiet = {0};
        if (x->rank < 3 || x->rank > 4 || vtac_window_of(node, x, w, false, &s->window, &quiet) != VTA_OK) {
            return false;
        }
        s->outputs = w->dim[0];
        s->terms = vtac_type_elements(w) / s->outputs;
        s->output_step = s->terms;
        s->term_step = 1;
    } else {
        if (w->rank < 2 || vtac_type_elements(w) != w->dim[w->rank - 2] * w->dim[w->rank - 1]) {
            return false; /* all rows must share one matrix */
        }
        s->outputs = w->dim[w->rank - 1];
        s->terms = w->dim[w->rank - 2];
        s->output_step = 1;
        s->term_step = s->outputs;
        s->rows = vtac_type_elements(x) / s->terms;
        s->padded = s->rows > 1 ? s->rows : 2;
    }
    const int64_t zeros = s->zero == NULL ? 1 : vtac_type_elements(&s->zero->type);
    return (zeros == 1 || (zeros == s->outputs && s->zero->type.rank == 1)) && sum_weights(b, s);
}

static int64_t products_of(const vtac_node_builder *b, const weight_sums *s)
{
    return vtac_b_elements(b, b->like.outputs[0]) * s->terms;
}

/* ---- the host's part in front */

/* Pads with the zero point of x; `pads` as in ONNX, for all axes. */
static vta_status pad_with_zero(const vtac_node_builder *b, const int64_t *pads, uint32_t count,
                                vtac_value_id *x)
{
    const uint8_t none = 0;
    const vtac_dtype dtype = vtac_b_type(b, *x).dtype;
    vtac_value_id inputs[3] = {*x};
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        any = any || pads[i] != 0;
    }
    if (!any) {
        return VTA_OK;
    }
    if (vtac_in_type(b->graph, &b->like, VTAC_CONV_INTEGER_X_ZERO) != NULL) {
        inputs[VTAC_PAD_VALUE] = b->like.inputs[VTAC_CONV_INTEGER_X_ZERO];
        VTA_TRY(vtac_b_reshape(b, NULL, 0, &inputs[VTAC_PAD_VALUE]));
    } else {
        VTA_TRY(vtac_b_number(b, dtype, &none, &inputs[VTAC_PAD_VALUE]));
    }
    VTA_TRY(vtac_b_list(b, pads, count, &inputs[VTAC_PAD_PADS]));
    return vtac_b_add(b, VTAC_OP_PAD, inputs, 3, NULL, 0, x);
}

static vta_status prepare_input(const vtac_node_builder *b, const weight_sums *s, vtac_value_id *x)
{
    int64_t pads[2 * VTAC_MAX_RANK] = {0};
    if (s->rows > 0) {
        pads[4] = s->padded - s->rows;
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, s->rows, s->terms}, 3, x));
        VTA_TRY(pad_with_zero(b, pads, 6, x));
        return vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x);
    }
    const uint32_t rank = s->window.axes + 2;
    for (uint32_t i = 0; i < s->window.axes; i++) {
        pads[2 + i] = s->window.pad_begin[i];
        pads[rank + 2 + i] = s->window.pad_end[i];
    }
    return pad_with_zero(b, pads, 2 * rank, x);
}

/* Converts the weights of a matrix product to [outputs, terms, 1]. */
static vta_status convert_weights(const vtac_node_builder *b, const weight_sums *s, vtac_value_id *out)
{
    const uint8_t *from = s->w->data;
    *out = b->like.inputs[VTAC_CONV_INTEGER_WEIGHT];
    if (s->rows == 0) {
        return VTA_OK;
    }
    uint8_t *data = vta_arena_array(b->arena, (size_t)(s->outputs * s->terms), 1);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    for (int64_t i = 0; i < s->outputs * s->terms; i++) {
        data[i] = from[i / s->terms * s->output_step + i % s->terms * s->term_step];
    }
    return vtac_b_constant(
        b, (vtac_type){.dtype = s->w->type.dtype, .rank = 3, .dim = {s->outputs, s->terms, 1}}, data, out);
}

/* ---- the sums */

int64_t vtac_whole_channels(const vtac_node_builder *b, int64_t outputs)
{
    const int64_t block = vtac_vta_block(b->config);
    return (outputs + block - 1) / block * block;
}

int64_t vtac_whole_bytes(int64_t largest)
{
    int64_t bytes = 1;
    while (bytes < 4 && largest >= INT64_C(1) << (8 * bytes - 1)) {
        bytes++;
    }
    return bytes;
}

static vta_status add_sums(const vtac_node_builder *b, const weight_sums *s, vtac_value_id x,
                           vtac_value_id *out)
{
    static const float one = 1.0F;
    vtac_value_id inputs[VTAC_VTA_SUMS_INPUTS] = {x};
    vtac_type y = {.rank = 3, .dim = {1, 0, s->padded}};
    if (s->rows == 0) {
        y = vtac_b_type(b, b->like.outputs[0]);
    }
    y.dim[1] = s->bytes * vtac_whole_channels(b, s->outputs);
    vtac_attr attrs[7] = {
        {.name = "dims", .kind = VTAC_ATTR_INTS, .count = y.rank, .ints = y.dim},
        {.name = "to", .kind = VTAC_ATTR_STRING, .s = vtac_dtype_name(VTAC_I8)},
        {.name = "bytes", .kind = VTAC_ATTR_INT, .i = s->bytes},
        {.name = "products", .kind = VTAC_ATTR_INT, .i = products_of(b, s)},
    };
    uint32_t count = 4;
    static const char *const kept[] = {"group", "strides", "dilations"};
    for (int i = 0; i < 3 && s->rows == 0; i++) {
        const vtac_attr *attr = vtac_find_attr(&b->like, kept[i]);
        if (attr != NULL) {
            attrs[count++] = *attr;
        }
    }
    VTA_TRY(convert_weights(b, s, &inputs[VTAC_VTA_SUMS_WEIGHT]));
    VTA_TRY(vtac_b_number(b, VTAC_F32, &one, &inputs[VTAC_VTA_SUMS_WEIGHT_SCALE]));
    inputs[VTAC_VTA_SUMS_WEIGHT_ZERO] = s->zero != NULL ? b->like.inputs[VTAC_CONV_INTEGER_WEIGHT_ZERO] : 0;
    return vtac_b_add(b, VTAC_OP_VTA_SUMS, inputs, s->zero != NULL ? 6 : 5, attrs, count, out);
}

/* ---- the host's part behind */

/* Extracts one byte of all sums, as int32. */
static vta_status extract_byte(const vtac_node_builder *b, const vtac_whole *w, vtac_value_id all,
                               int64_t byte, vtac_value_id *out)
{
    const int64_t first = byte * vtac_whole_channels(b, w->outputs);
    vtac_value_id inputs[4] = {all};
    VTA_TRY(vtac_b_list(b, (int64_t[]){first, 0}, 2, &inputs[VTAC_SLICE_STARTS]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){first + w->outputs, w->rows > 0 ? w->rows : INT32_MAX}, 2,
                        &inputs[VTAC_SLICE_ENDS]));
    VTA_TRY(vtac_b_list(b, (int64_t[]){1, 2}, 2, &inputs[VTAC_SLICE_AXES]));
    VTA_TRY(vtac_b_add(b, VTAC_OP_SLICE, inputs, 4, NULL, 0, out));
    return vtac_b_cast(b, VTAC_I32, out);
}

vta_status vtac_whole_sums(const vtac_node_builder *b, const vtac_whole *w, vtac_value_id *x)
{
    enum { BYTE = 256 };
    const vtac_value_id all = *x;
    VTA_TRY(extract_byte(b, w, all, w->bytes - 1, x));
    for (int64_t byte = w->bytes - 2; byte >= 0; byte--) {
        vtac_value_id low;
        VTA_TRY(extract_byte(b, w, all, byte, &low));
        VTA_TRY(vtac_b_with(b, VTAC_OP_BITWISE_AND, BYTE - 1, &low));
        VTA_TRY(vtac_b_with(b, VTAC_OP_MUL, BYTE, x));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_ADD, low, NULL, x));
    }
    return VTA_OK;
}

/* Subtracts the zero point of x times the sums of weights. */
static vta_status correct_zero(const vtac_node_builder *b, const weight_sums *s, vtac_value_id *x)
{
    const vtac_type *type = vtac_in_type(b->graph, &b->like, VTAC_CONV_INTEGER_X),
                    *zero = vtac_in_type(b->graph, &b->like, VTAC_CONV_INTEGER_X_ZERO);
    const int32_t move = type->dtype == VTAC_U8 ? 128 : 0;
    vtac_type each = {.dtype = VTAC_I32, .rank = vtac_b_type(b, *x).rank, .dim = {1, s->outputs, 1, 1}};
    vtac_value_id totals, shift;
    if (zero == NULL && move == 0) {
        return VTA_OK;
    }
    VTA_TRY(vtac_b_constant(b, each, s->total, &totals));
    if (zero != NULL) {
        shift = b->like.inputs[VTAC_CONV_INTEGER_X_ZERO];
        VTA_TRY(vtac_b_reshape(b, NULL, 0, &shift));
        VTA_TRY(vtac_b_cast(b, VTAC_I32, &shift));
        VTA_TRY(vtac_b_with(b, VTAC_OP_SUB, move, &shift));
        VTA_TRY(vtac_b_apply(b, VTAC_OP_MUL, shift, NULL, &totals));
    } else {
        VTA_TRY(vtac_b_with(b, VTAC_OP_MUL, -move, &totals));
    }
    return vtac_b_apply(b, VTAC_OP_SUB, totals, NULL, x);
}

static vta_status replace_sums(const vtac_node_builder *b, const weight_sums *s, vtac_legalized *p)
{
    vtac_value_id x;
    VTA_TRY(vtac_b_hold(b, b->like.inputs[VTAC_CONV_INTEGER_X], &p->holders[0], &x));
    VTA_TRY(prepare_input(b, s, &x));
    VTA_TRY(add_sums(b, s, x, &p->made));
    p->stands = p->made;
    VTA_TRY(vtac_whole_sums(b, &(vtac_whole){s->outputs, s->rows, s->bytes}, &p->stands));
    VTA_TRY(correct_zero(b, s, &p->stands));
    if (s->rows > 0) {
        const vtac_type y = vtac_b_type(b, b->like.outputs[0]);
        VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, &p->stands));
        VTA_TRY(vtac_b_reshape(b, y.dim, y.rank, &p->stands));
    }
    vtac_swap_names(b->graph, b->like.outputs[0], p->stands);
    vtac_replace_uses(b->graph, b->like.outputs[0], p->stands);
    return VTA_OK;
}

static vta_status legalize_sums(const vtac_node_builder *b, bool always, vtac_legalized *p, bool *done)
{
    weight_sums s;
    *done = read_sums(b, &s) && (always || products_of(b, &s) >= MIN_PRODUCTS);
    return *done ? replace_sums(b, &s, p) : VTA_OK;
}

vta_status vtac_legalize_integers(vtac_graph *graph, const vta_config *config, bool always, vta_arena *arena,
                                  vtac_legalized_list *out, vta_diag *diag)
{
    return vtac_legalize_nodes(graph, config, always, arena, legalize_sums, out, diag);
}
