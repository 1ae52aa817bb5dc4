/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that the importer composes of others, where a size is open: one row each, and what they are in
 * ONNX's words.
 */
#include "flow_words.h"

#include <string.h>

static vta_status write_scores(vtac_words *w, vta_diag *diag)
{
    (void)diag;
    vtac_words_input(w, "y", 0);
    vtac_say(w, "y = Identity y");
    return VTA_OK;
}

void vtac_words_keep_attributes(vtac_words *w)
{
    const Onnx__NodeProto *node = w->item->node;
    Onnx__AttributeProto **list = vtac_fm_room(&w->make, node->n_attribute, sizeof *list);
    Onnx__NodeProto *last =
        w->make.failed ? NULL : *(Onnx__NodeProto **)vta_vec_at(&w->nodes, w->nodes.count - 1);
    for (size_t i = 0; last != NULL && i < node->n_attribute; i++) {
        if (strncmp(vtac_proto_text(node->attribute[i]->name), "activation", 10) != 0) {
            list[last->n_attribute++] = node->attribute[i];
        }
    }
    if (last != NULL) {
        last->attribute = list;
    }
}

/* FusedConv: X, W, B, Z; FusedGemm: A, B, C; the activation behind */
static vta_status write_activated(vtac_words *w, vta_diag *diag)
{
    static const char *const simple[] = {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"};
    const Onnx__NodeProto *node = w->item->node;
    const bool conv = strcmp(vtac_proto_text(node->op_type), "FusedConv") == 0;
    const Onnx__AttributeProto *attr = vtac_proto_attr(node, "activation");
    const Onnx__AttributeProto *given = vtac_proto_attr(node, "activation_params");
    size_t which = 0;
    vtac_words_input(w, "a", 0);
    vtac_words_input(w, "b", 1);
    if (vtac_words_has(w, 2)) {
        vtac_words_input(w, "c", 2);
    }
    vtac_say(w, "y = %s a b%s", conv ? "Conv" : "Gemm", vtac_words_has(w, 2) ? " c" : "");
    vtac_words_keep_attributes(w);
    if (conv && vtac_words_has(w, 3)) {
        vtac_words_input(w, "z", 3);
        vtac_say(w, "y = Add y z");
    }
    while (attr != NULL && which < 5 &&
           (attr->s.len != strlen(simple[which]) || memcmp(attr->s.data, simple[which], attr->s.len) != 0)) {
        which++;
    }
    if (attr == NULL || attr->s.len == 0) {
        return VTA_OK;
    }
    if (which == 5) {
        return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes the activation '%.*s' is not supported",
                        (int)(attr->s.len < 64 ? attr->s.len : 64), (const char *)attr->s.data);
    }
    double alpha = vtac_words_float(w, "activation_alpha", which == 4 ? 0.2 : 0.01);
    double beta = vtac_words_float(w, "activation_beta", 0.5);
    alpha = given != NULL && given->n_floats > 0 ? (double)given->floats[0] : alpha;
    beta = given != NULL && given->n_floats > 1 ? (double)given->floats[1] : beta;
    if (which == 4) {
        vtac_say(w, "y = HardSigmoid y alpha=%.9f beta=%.9f", alpha, beta);
    } else if (which == 3) {
        vtac_say(w, "y = LeakyRelu y alpha=%.9f", alpha);
    } else {
        vtac_say(w, "y = %s y", simple[which]);
    }
    return VTA_OK;
}

/* A, the packed weights, scales, zero points, g_idx, bias: the weights are static, and folded */
static vta_status bits_product(vtac_words *w, vta_diag *diag)
{
    static const char *const words[] = {"x", "b", "bs", "bz", "group", "bias"};
    const long long k = (long long)vtac_words_int(w, "K", 0);
    const long long n = (long long)vtac_words_int(w, "N", 0);
    (void)diag;
    for (size_t i = 0; i < 6; i++) {
        if (vtac_words_has(w, i)) {
            vtac_words_input(w, words[i], i);
        }
    }
    vtac_say(w, "m = MatMulNBits _ b bs %s %s K=%lld N=%lld bits=%lld block_size=%lld",
             vtac_words_has(w, 3) ? "bz" : "_", vtac_words_has(w, 4) ? "group" : "_", k, n,
             (long long)vtac_words_int(w, "bits", 4), (long long)vtac_words_int(w, "block_size", 32));
    vtac_words_domain(w, "com.microsoft");
    vtac_say(w, "y = MatMul x m");
    if (vtac_words_has(w, 5)) {
        vtac_say(w, "y = Add y bias");
    }
    return VTA_OK;
}

/* data, indices, scales, zero points: the table is static, and folded */
static vta_status gather_blocks(vtac_words *w, vta_diag *diag)
{
    (void)diag;
    vtac_words_input(w, "data", 0);
    vtac_words_input(w, "ids", 1);
    vtac_words_input(w, "scales", 2);
    if (vtac_words_has(w, 3)) {
        vtac_words_input(w, "zero", 3);
    }
    vtac_say(w, "y = GatherBlockQuantized data _ scales %s", vtac_words_has(w, 3) ? "zero" : "");
    vtac_words_domain(w, "com.microsoft");
    vtac_words_keep_attributes(w);
    vtac_say(w, "y = Gather y ids axis=%lld", (long long)vtac_words_int(w, "gather_axis", 0));
    return VTA_OK;
}

/* X, k: what lies on one side of a diagonal, by the numbers of rows and columns */
static vta_status write_triangle(vtac_words *w, vta_diag *diag)
{
    if (w->dtype == VTAC_NO_DTYPE) {
        return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes its type is to be known, and a number's");
    }
    vtac_words_input(w, "x", 0);
    vtac_say(w, "n = Shape x; r = Gather n #-2; c = Gather n #-1;"
                "r = Range #0 r #1; r = Unsqueeze r [1]; c = Range #0 c #1; c = Sub c r");
    if (vtac_words_has(w, 1)) {
        vtac_words_input(w, "k", 1);
        vtac_say(w, "k = Reshape k [1]; c = Sub c k");
    }
    vtac_say(w, "kept = %s c #0", vtac_words_int(w, "upper", 1) != 0 ? "GreaterOrEqual" : "LessOrEqual");
    if (w->dtype == VTAC_BOOL) {
        vtac_say(w, "y = And kept x");
    } else if (w->dtype == VTAC_I64 || w->dtype == VTAC_I32) {
        vtac_say(w, "kept = Cast kept to=%d; y = Mul x kept", w->dtype == VTAC_I64 ? 7 : 6);
    } else {
        vtac_say(w, "y = Where kept x ~0");
    }
    return VTA_OK;
}

/* A scale or zero point along an axis, or one of each block of it, in the form that stands beside x. */
static void parameter_beside(vtac_words *w, const char *name, long long axis, long long block)
{
    if (block > 0) {
        vtac_say(
            w,
            "n = Shape x; n = Gather n #%lld; r = Range #0 n #1; r = Div r #%lld; %s = Gather %s r axis=%lld",
            axis, block, name, name, axis);
        return;
    }
    vtac_say(w, "n = Shape x; n = Shape n; n = Expand [1] n; a = Slice n [0] [%lld]", axis);
    if (axis == -1) {
        vtac_say(w, "a = Concat a [-1] axis=0");
    } else {
        vtac_say(w, "n = Slice n [%lld] [1000]; a = Concat a [-1] n axis=0", axis + 1);
    }
    vtac_say(w, "%s = Reshape %s a", name, name);
}

/* The scale and the zero point of an operator between integers and floats, as float32. */
static void write_scales(vtac_words *w)
{
    const long long axis = (long long)vtac_words_int(w, "axis", 1);
    const long long block = (long long)vtac_words_int(w, "block_size", 0);
    vtac_words_input(w, "x", 0);
    vtac_words_input(w, "s", 1);
    parameter_beside(w, "s", axis, block);
    vtac_say(w, "s = Cast s to=1");
    if (vtac_words_has(w, 2)) {
        vtac_words_input(w, "z", 2);
        parameter_beside(w, "z", axis, block);
        vtac_say(w, "z = Cast z to=1");
    }
}

static vta_status write_dequantize(vtac_words *w, vta_diag *diag)
{
    (void)diag;
    write_scales(w);
    vtac_say(w, "y = Cast x to=1");
    if (vtac_words_has(w, 2)) {
        vtac_say(w, "y = Sub y z");
    }
    vtac_say(w, "y = Mul y s");
    if (vtac_words_dtype(w, 1) == VTAC_F16) {
        vtac_say(w, "y = Cast y to=%d", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16);
    }
    return VTA_OK;
}

static vta_status write_quantize(vtac_words *w, vta_diag *diag)
{
    static const struct {
        vtac_dtype dtype;
        int number;
        const char *range;
    } kinds[] = {{VTAC_U8, ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, "~0 ~255"},
                 {VTAC_I8, ONNX__TENSOR_PROTO__DATA_TYPE__INT8, "~-128 ~127"},
                 {VTAC_U16, ONNX__TENSOR_PROTO__DATA_TYPE__UINT16, "~0 ~65535"},
                 {VTAC_I16, ONNX__TENSOR_PROTO__DATA_TYPE__INT16, "~-32768 ~32767"}};
    const int64_t asked = vtac_words_int(w, "output_dtype", ONNX__TENSOR_PROTO__DATA_TYPE__UINT8);
    size_t i = 0;
    while (i < sizeof kinds / sizeof kinds[0] &&
           (vtac_words_has(w, 2) ? kinds[i].dtype != vtac_words_dtype(w, 2) : kinds[i].number != asked)) {
        i++;
    }
    if (i == sizeof kinds / sizeof kinds[0]) {
        return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes it gives integers of 8 and 16 bits");
    }
    w->dtype = VTAC_F32; /* of the numbers here */
    write_scales(w);
    vtac_say(w, "y = Cast x to=1; y = Div y s; y = Round y");
    if (vtac_words_has(w, 2)) {
        vtac_say(w, "y = Add y z");
    }
    vtac_say(w, "y = Clip y %s; y = Cast y to=%d", kinds[i].range, kinds[i].number);
    return VTA_OK;
}

static const struct {
    const char *domain, *name, *outputs; /* words of the outputs */
    vtac_fused_fn *make;
} rows[] = {
    {"", "Attention", "y present_k present_v products", vtac_fused_attention},
    {"", "DFT", "y", vtac_fused_dft},
    {"", "DequantizeLinear", "y", write_dequantize},
    {"", "QuantizeLinear", "y", write_quantize},
    {"", "RotaryEmbedding", "y", vtac_fused_rotary},
    {"", "STFT", "y", vtac_fused_stft},
    {"", "TensorScatter", "y", vtac_fused_tensor_scatter},
    {"", "Trilu", "y", write_triangle},
    {"ai.onnx.ml", "ZipMap", "y", write_scores},
    {"com.microsoft", "Attention", "y present", vtac_fused_ms_attention},
    {"com.microsoft", "FusedConv", "y", write_activated},
    {"com.microsoft", "GatherBlockQuantized", "y", gather_blocks},
    {"com.microsoft", "GroupQueryAttention", "y present_k present_v", vtac_fused_group_query},
    {"com.microsoft", "MatMulNBits", "y", bits_product},
    {"com.microsoft", "MultiHeadAttention", "y present_k present_v products", vtac_fused_multi_head},
    {"com.microsoft", "QAttention", "y present", vtac_fused_q_attention},
    {"com.microsoft", "QGemm", "y", vtac_fused_qgemm},
    {"com.microsoft", "QLinearConcat", "y", vtac_fused_qlinear_concat},
    {"com.microsoft", "RotaryEmbedding", "y", vtac_fused_ms_rotary},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static size_t row_of(const Onnx__NodeProto *node)
{
    size_t i = 0;
    while (i < ROWS && (strcmp(vtac_plain_domain(node->domain), rows[i].domain) != 0 ||
                        strcmp(vtac_proto_text(node->op_type), rows[i].name) != 0)) {
        i++;
    }
    return i;
}

static bool by_rows(const Onnx__NodeProto *node)
{
    return vtac_flow_is_by_rows(vtac_plain_domain(node->domain), vtac_proto_text(node->op_type));
}

/* The text of an operator that is not one of elements and not the runtime's own; NULL: none. */
static const vtac_template_row *text_of(const char *domain, const char *name, int64_t opset)
{
    char own[64];
    const vtac_template_row *text = vtac_template_find(domain, name, domain[0] == '\0' ? opset : 0);
    if (text == NULL || strlen(name) >= sizeof own || vtac_template_is_pointwise(text)) {
        return NULL;
    }
    memcpy(own, name, strlen(name) + 1);
    const Onnx__NodeProto node = {.op_type = own};
    return domain[0] == '\0' && vtac_flow_row_of(&node) != NULL ? NULL : text;
}

static const vtac_template_row *text_of_node(const vtac_flow_node *item)
{
    return text_of(vtac_plain_domain(item->node->domain), vtac_proto_text(item->node->op_type),
                   vtac_flow_opset(item));
}

/* One scale for all elements: the operator is one of elements. */
static bool has_one_scale(const vtac_flow_builder *b, const vtac_flow_node *item)
{
    const vtac_flow_value *scale =
        vtac_flow_is(item->node, "QuantizeLinear") || vtac_flow_is(item->node, "DequantizeLinear")
            ? vtac_flow_input(b, item, 1)
            : NULL;
    return scale != NULL && (!scale->known || vtac_type_elements(&scale->type) == 1);
}

bool vtac_flow_is_fused(const vtac_flow_builder *b, const vtac_flow_node *item)
{
    bool open = false;
    for (size_t i = 0; i < item->node->n_input; i++) {
        const vtac_flow_value *v = vtac_flow_input(b, item, i);
        open = open || (v != NULL && !v->known);
    }
    return open && !has_one_scale(b, item) &&
           (row_of(item->node) < ROWS || by_rows(item->node) || text_of_node(item) != NULL);
}

static bool is_taken(const char *domain, const char *name)
{
    return strcmp(domain, "function") == 0 || vtac_flow_takes(domain, name);
}

bool vtac_flow_takes_fused(const char *domain, const char *name)
{
    const vtac_template_row *text =
        vtac_template_find(domain, name, domain[0] == '\0' ? VTAC_NEWEST_OPSET : 0);
    size_t i = 0;
    while (i < ROWS && (strcmp(domain, rows[i].domain) != 0 || strcmp(name, rows[i].name) != 0)) {
        i++;
    }
    return i < ROWS || vtac_flow_is_by_rows(domain, name) ||
           (text != NULL && vtac_template_calls_only(text, is_taken));
}

/* The names of what was made, by the words of the row. */
static vta_status outputs_of(vtac_words *w, const char *words, char **names, vta_diag *diag)
{
    const Onnx__NodeProto *node = w->item->node;
    for (size_t i = 0; i < node->n_output; i++) {
        char word[16];
        const size_t size = strcspn(words, " ");
        memcpy(word, words, size);
        word[size] = '\0';
        words += size + (words[size] == ' ');
        names[i] = vtac_words_name(w, word);
        if (names[i] == NULL && vtac_proto_text(node->output[i])[0] != '\0') {
            return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes it does not give output %zu", i);
        }
        names[i] = names[i] != NULL ? names[i] : node->output[i];
    }
    return VTA_OK;
}

vta_status vtac_flow_inline_fused(vtac_flow_work *work, const vtac_flow_node *given, vta_diag *diag)
{
    const vtac_flow_node item = *given; /* the list may move */
    const size_t row = row_of(item.node);
    const vtac_template_row *text = text_of_node(&item);
    vtac_words w = {
        .make = {.b = work->b}, .w = work, .item = &item, .nodes = {.item_size = sizeof(Onnx__NodeProto *)}};
    w.dtype = vtac_words_dtype(&w, 0);
    char **names = vtac_fm_room(&w.make, item.node->n_output, sizeof *names);
    vta_status status = names == NULL  ? vtac_flow_no_memory(diag)
                        : row < ROWS   ? rows[row].make(&w, diag)
                        : text != NULL ? vtac_words_text(&w, text, names, diag)
                                       : vtac_fused_by_rows(&w, diag);
    if (status == VTA_OK && (row < ROWS || text == NULL)) {
        status = w.missing > 0   ? vta_fail(diag, VTA_INVALID, "its input %zu is missing", w.missing - 1)
                 : w.make.failed ? vtac_flow_no_memory(diag)
                                 : outputs_of(&w, row < ROWS ? rows[row].outputs : "o0 o1 o2 o3 o4 o5 o6 o7",
                                              names, diag);
    }
    if (status == VTA_OK) {
        status = vtac_flow_replace(work, &item, w.nodes.items, w.nodes.count, names, diag);
    }
    vta_vec_free(&w.nodes);
    return status;
}
