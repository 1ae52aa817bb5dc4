/* SPDX-License-Identifier: Apache-2.0
 *
 * The architectures, each as the paper or its reference code has it.
 */
#include "vtac/zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nets.h"
#include "save.h"
#include "vta/str.h"

static const int64_t imagenet[] = {1, 3, 224, 224};

/* ---- residual networks ---- */

static vtac_zoo_value basic_block(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t stride)
{
    vtac_zoo_value y = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, channels, 3, stride, 1));
    y = vtac_zoo_conv_norm(z, y, channels, 3, 1, 1);
    const bool project = stride != 1 || x.dim[1] != channels;
    return vtac_zoo_relu(z,
                         vtac_zoo_add(z, y, project ? vtac_zoo_conv_norm(z, x, channels, 1, stride, 1) : x));
}

static vtac_zoo_value bottleneck_block(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t stride)
{
    vtac_zoo_value y = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, channels, 1, 1, 1));
    y = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, y, channels, 3, stride, 1));
    y = vtac_zoo_conv_norm(z, y, 4 * channels, 1, 1, 1);
    const bool project = stride != 1 || x.dim[1] != 4 * channels;
    return vtac_zoo_relu(
        z, vtac_zoo_add(z, y, project ? vtac_zoo_conv_norm(z, x, 4 * channels, 1, stride, 1) : x));
}

static vtac_zoo_value resnet_blocks(vtac_zoo *z, const int *blocks,
                                    vtac_zoo_value (*block)(vtac_zoo *, vtac_zoo_value, int64_t, int64_t))
{
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 64, 7, 2, 1));
    x = vtac_zoo_pool(z, "MaxPool", x, 3, 2, 1, false);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < blocks[stage]; i++) {
            x = block(z, x, INT64_C(64) << stage, i == 0 && stage > 0 ? 2 : 1);
        }
    }
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 1000);
}

static vtac_zoo_value vtac_zoo_resnet18(vtac_zoo *z)
{
    static const int blocks[] = {2, 2, 2, 2};
    return resnet_blocks(z, blocks, basic_block);
}

static vtac_zoo_value vtac_zoo_resnet34(vtac_zoo *z)
{
    static const int blocks[] = {3, 4, 6, 3};
    return resnet_blocks(z, blocks, basic_block);
}

static vtac_zoo_value vtac_zoo_resnet50(vtac_zoo *z)
{
    static const int blocks[] = {3, 4, 6, 3};
    return resnet_blocks(z, blocks, bottleneck_block);
}

/* ---- mobile networks ---- */

static vtac_zoo_value separable_conv(vtac_zoo *z, vtac_zoo_value x, int64_t channels, int64_t stride)
{
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, x.dim[1], 3, stride, -1));
    return vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, channels, 1, 1, 1));
}

/* `width` in quarters: 4 is MobileNetV1 1.0. */
static vtac_zoo_value mobilenet_v1_of(vtac_zoo *z, const int64_t *shape, int64_t width, int64_t classes)
{
    static const struct {
        int64_t channels, stride;
    } rows[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, shape);
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 32 * width / 4, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = separable_conv(z, x, rows[i].channels * width / 4, rows[i].stride);
    }
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), classes);
}

static vtac_zoo_value vtac_zoo_mobilenet_v1(vtac_zoo *z)
{
    return mobilenet_v1_of(z, imagenet, 4, 1000);
}

static vtac_zoo_value vtac_zoo_mobilenet_v2(vtac_zoo *z)
{
    static const struct {
        int64_t expand, channels;
        int count;
        int64_t stride;
    } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 32, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < rows[i].count; k++) {
            x = vtac_zoo_inverted(z, x, rows[i].channels, 3, k == 0 ? rows[i].stride : 1, rows[i].expand);
        }
    }
    x = vtac_zoo_relu6(z, vtac_zoo_conv_norm(z, x, 1280, 1, 1, 1));
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 1000);
}

/* ---- others for ImageNet ---- */

static vtac_zoo_value fire_module(vtac_zoo *z, vtac_zoo_value x, int64_t squeeze, int64_t expand)
{
    x = vtac_zoo_conv_relu(z, x, squeeze, 1, 1);
    const vtac_zoo_value parts[] = {vtac_zoo_conv_relu(z, x, expand, 1, 1),
                                    vtac_zoo_conv_relu(z, x, expand, 3, 1)};
    return vtac_zoo_concat(z, parts, 2);
}

static vtac_zoo_value vtac_zoo_squeezenet1_1(vtac_zoo *z)
{
    static const struct {
        int64_t squeeze, expand;
        bool pool;
    } rows[] = {{16, 64, true},  {16, 64, false},  {32, 128, true},  {32, 128, false},
                {48, 192, true}, {48, 192, false}, {64, 256, false}, {64, 256, false}};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_relu(
        z,
        vtac_zoo_conv(z, x, (vtac_zoo_conv_shape){.channels = 64, .kernel = 3, .stride = 2, .bias = true}));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].pool) {
            x = vtac_zoo_pool(z, "MaxPool", x, 3, 2, 0, true);
        }
        x = fire_module(z, x, rows[i].squeeze, rows[i].expand);
    }
    x = vtac_zoo_conv_relu(z, x, 1000, 1, 1);
    return vtac_zoo_flatten(z, vtac_zoo_global_average(z, x));
}

static vtac_zoo_value vtac_zoo_vgg11(vtac_zoo *z)
{
    static const int64_t rows[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}; /* 0: pool */
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = rows[i] == 0 ? vtac_zoo_pool(z, "MaxPool", x, 2, 2, 0, false)
                         : vtac_zoo_conv_relu(z, x, rows[i], 3, 1);
    }
    x = vtac_zoo_relu(z, vtac_zoo_dense(z, vtac_zoo_flatten(z, x), 4096));
    x = vtac_zoo_relu(z, vtac_zoo_dense(z, x, 4096));
    return vtac_zoo_dense(z, x, 1000);
}

static vtac_zoo_value dense_layer(vtac_zoo *z, vtac_zoo_value x)
{
    vtac_zoo_value y = vtac_zoo_relu(z, vtac_zoo_norm(z, x));
    y = vtac_zoo_conv(z, y, (vtac_zoo_conv_shape){.channels = 128, .kernel = 1, .stride = 1});
    y = vtac_zoo_relu(z, vtac_zoo_norm(z, y));
    y = vtac_zoo_conv(z, y, (vtac_zoo_conv_shape){.channels = 32, .kernel = 3, .stride = 1, .pad = 1});
    const vtac_zoo_value parts[] = {x, y};
    return vtac_zoo_concat(z, parts, 2);
}

static vtac_zoo_value vtac_zoo_densenet121(vtac_zoo *z)
{
    static const int layers[] = {6, 12, 24, 16};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, imagenet);
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 64, 7, 2, 1));
    x = vtac_zoo_pool(z, "MaxPool", x, 3, 2, 1, false);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < layers[stage]; i++) {
            x = dense_layer(z, x);
        }
        x = vtac_zoo_relu(z, vtac_zoo_norm(z, x));
        if (stage < 3) {
            x = vtac_zoo_conv(z, x,
                              (vtac_zoo_conv_shape){.channels = x.dim[1] / 2, .kernel = 1, .stride = 1});
            x = vtac_zoo_pool(z, "AveragePool", x, 2, 2, 0, false);
        }
    }
    return vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 1000);
}

/* ---- MLPerf Tiny ---- */

static vtac_zoo_value vtac_zoo_tiny_ic(vtac_zoo *z)
{
    static const int64_t shape[] = {1, 3, 32, 32};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, shape);
    x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 16, 3, 1, 1));
    for (int stage = 0; stage < 3; stage++) {
        x = basic_block(z, x, INT64_C(16) << stage, stage > 0 ? 2 : 1);
    }
    return vtac_zoo_unary(z, "Softmax",
                          vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 10));
}

static vtac_zoo_value vtac_zoo_tiny_kws(vtac_zoo *z)
{
    static const int64_t shape[] = {1, 1, 49, 10};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 4, shape);
    x = vtac_zoo_conv(
        z, x, (vtac_zoo_conv_shape){.channels = 64, .kernel = 10, .kernel_w = 4, .stride = 2, .same = true});
    x = vtac_zoo_relu(z, vtac_zoo_norm(z, x));
    for (int i = 0; i < 4; i++) {
        x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 64, 3, 1, -1));
        x = vtac_zoo_relu(z, vtac_zoo_conv_norm(z, x, 64, 1, 1, 1));
    }
    return vtac_zoo_unary(z, "Softmax",
                          vtac_zoo_dense(z, vtac_zoo_flatten(z, vtac_zoo_global_average(z, x)), 12));
}

static vtac_zoo_value vtac_zoo_tiny_vww(vtac_zoo *z)
{
    static const int64_t shape[] = {1, 3, 96, 96};
    return vtac_zoo_unary(z, "Softmax", mobilenet_v1_of(z, shape, 1, 2));
}

static vtac_zoo_value vtac_zoo_tiny_ad(vtac_zoo *z)
{
    static const int64_t shape[] = {1, 640};
    static const int64_t widths[] = {128, 128, 128, 128, 8, 128, 128, 128, 128};
    vtac_zoo_value x = vtac_zoo_input(z, "input", 2, shape);
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        x = vtac_zoo_relu(z, vtac_zoo_norm(z, vtac_zoo_dense(z, x, widths[i])));
    }
    return vtac_zoo_dense(z, x, 640);
}

/* ---- sequences ---- */

/* Splits [tokens, width] into heads: [heads, tokens, width / heads]; `perm` says how. */
static vtac_zoo_value split_heads(vtac_zoo *z, vtac_zoo_value x, int64_t count, const int64_t *perm)
{
    const int64_t split[] = {x.dim[0], count, x.dim[1] / count};
    const vtac_zoo_value reshape[] = {x, vtac_zoo_ints(z, "shape", 3, split)};
    const vtac_zoo_value y = vtac_zoo_node(z, "Reshape", reshape, 2, 3, split);
    const int64_t out[] = {split[perm[0]], split[perm[1]], split[perm[2]]};
    const vtac_zoo_value t = vtac_zoo_node(z, "Transpose", &y, 1, 3, out);
    vtac_zoo_attr_ints(z, "perm", 3, perm);
    return t;
}

static vtac_zoo_value vtac_zoo_transformer(vtac_zoo *z)
{
    enum { TOKENS = 64, WIDTH = 128, HEADS = 4 };
    static const int64_t shape[] = {TOKENS, WIDTH};
    static const int64_t by_head[] = {1, 0, 2};
    static const int64_t by_head_transposed[] = {1, 2, 0};
    const vtac_zoo_value x = vtac_zoo_input(z, "input", 2, shape);
    const vtac_zoo_value q = split_heads(z, vtac_zoo_dense(z, x, WIDTH), HEADS, by_head);
    const vtac_zoo_value k = split_heads(z, vtac_zoo_dense(z, x, WIDTH), HEADS, by_head_transposed);
    const vtac_zoo_value v = split_heads(z, vtac_zoo_dense(z, x, WIDTH), HEADS, by_head);
    const int64_t scores[] = {HEADS, TOKENS, TOKENS};
    const vtac_zoo_value qk[] = {q, k};
    vtac_zoo_value s = vtac_zoo_node(z, "MatMul", qk, 2, 3, scores);
    s = vtac_zoo_binary(z, "Mul", s,
                        vtac_zoo_weight(z, "scale", 0, shape, 1.0F / sqrtf((float)WIDTH / HEADS), 0.0F));
    const vtac_zoo_value sv[] = {vtac_zoo_unary(z, "Softmax", s), v};
    const vtac_zoo_value mixed = vtac_zoo_node(z, "MatMul", sv, 2, 3, v.dim);
    const int64_t back[] = {TOKENS, HEADS, WIDTH / HEADS};
    const vtac_zoo_value t = vtac_zoo_node(z, "Transpose", &mixed, 1, 3, back);
    vtac_zoo_attr_ints(z, "perm", 3, by_head);
    const vtac_zoo_value reshape[] = {t, vtac_zoo_ints(z, "shape", 2, shape)};
    vtac_zoo_value y = vtac_zoo_dense(z, vtac_zoo_node(z, "Reshape", reshape, 2, 2, shape), WIDTH);
    y = vtac_zoo_layer_norm(z, vtac_zoo_add(z, y, x));
    const vtac_zoo_value wide = vtac_zoo_dense(z, y, 4 * WIDTH);
    return vtac_zoo_layer_norm(z, vtac_zoo_add(z, vtac_zoo_dense(z, vtac_zoo_gelu(z, wide), WIDTH), y));
}

/* ---- the list and the file ---- */

#define ZOO(X)                                                                                               \
    X(resnet18, "1x3x224x224", "residual network, 18 layers", VTAC_ZOO_FIXED)                                \
    X(resnet34, "1x3x224x224", "residual network, 34 layers", VTAC_ZOO_FIXED)                                \
    X(resnet50, "1x3x224x224", "residual network with bottlenecks, 50 layers", VTAC_ZOO_FIXED)               \
    X(mobilenet_v1, "1x3x224x224", "depthwise separable convolutions, width 1.0", VTAC_ZOO_FIXED)            \
    X(mobilenet_v2, "1x3x224x224", "inverted residuals, width 1.0", VTAC_ZOO_FIXED)                          \
    X(squeezenet1_1, "1x3x224x224", "fire modules", VTAC_ZOO_FIXED)                                          \
    X(vgg11, "1x3x224x224", "plain convolutions and large dense layers (507 MiB)", VTAC_ZOO_FIXED)           \
    X(densenet121, "1x3x224x224", "dense blocks", VTAC_ZOO_FIXED)                                            \
    X(tiny_ic, "1x3x32x32", "MLPerf Tiny image classification: ResNet-8", VTAC_ZOO_FIXED)                    \
    X(tiny_kws, "1x1x49x10", "MLPerf Tiny keyword spotting: DS-CNN", VTAC_ZOO_FIXED)                         \
    X(tiny_vww, "1x3x96x96", "MLPerf Tiny visual wake words: MobileNetV1 0.25", VTAC_ZOO_FIXED)              \
    X(tiny_ad, "1x640", "MLPerf Tiny anomaly detection: autoencoder", VTAC_ZOO_FIXED)                        \
    X(lstm, "32x1x64", "LSTM layers and a dense one", VTAC_ZOO_STEPS)                                        \
    X(gru, "32x1x64", "the same of GRU", VTAC_ZOO_STEPS)                                                     \
    X(bilstm, "32x1x64", "the same of LSTM in both directions", VTAC_ZOO_STEPS)                              \
    X(crnn, "1x1x16x128", "text lines: convolutions, LSTM in both directions", VTAC_ZOO_STEPS)               \
    X(vad, "1x129x4", "voice in sound: convolutions, a step of an LSTM with its states", VTAC_ZOO_FIXED)     \
    X(transformer, "64x128", "one transformer encoder block, 4 heads", VTAC_ZOO_FIXED)                       \
    X(shufflenet_v2, "1x3x224x224", "channel shuffle, width 1.0", VTAC_ZOO_FIXED)                            \
    X(mobilenet_v3_small, "1x3x224x224", "hard-swish and squeeze-and-excite, width 1.0", VTAC_ZOO_FIXED)     \
    X(efficientnet_lite0, "1x3x224x224", "inverted residuals with 3x3 and 5x5 windows", VTAC_ZOO_FIXED)      \
    X(yolov5n, "1x3x320x320", "detector with SiLU and three heads (YOLOv5n's layers)", VTAC_ZOO_FIXED)       \
    X(ssd_mobilenet_v2, "1x3x320x320", "detector with six heads, three of them on a feature pyramid",        \
      VTAC_ZOO_FIXED)                                                                                        \
    X(unet, "1x3x128x128", "segmentation: transposed convolutions, skips joined", VTAC_ZOO_FIXED)            \
    X(deeplab, "1x3x224x224", "segmentation: dilated convolutions side by side, linear resizing",            \
      VTAC_ZOO_FIXED)                                                                                        \
    X(vit_tiny, "1x3x224x224", "vision transformer of width 192, 4 of 12 blocks", VTAC_ZOO_FIXED)            \
    X(deit_tiny, "1x3x224x224", "the same with a second token, for what a teacher said", VTAC_ZOO_FIXED)     \
    X(bert, "1x128x128", "text encoder as PyTorch exports it, behind the embedding", VTAC_ZOO_TOKENS)        \
    X(minilm, "1x64x384", "text encoder of MiniLM's width and layers", VTAC_ZOO_TOKENS)                      \
    X(gpt, "1x64x128", "text decoder: a causal mask that is chosen, GELU by tanh", VTAC_ZOO_TOKENS)          \
    X(llama, "1x64x128", "text decoder: RMS norms, turned positions, gates", VTAC_ZOO_TOKENS)                \
    X(whisper, "1x80x200", "sound encoder: convolutions, then a transformer", VTAC_ZOO_TOKENS)               \
    X(whisper_decoder, "1x48x128", "words that follow what was heard, the second input", VTAC_ZOO_TOKENS)    \
    X(conformer, "1x80x128", "sound encoder: attention and convolutions in turn", VTAC_ZOO_TOKENS)           \
    X(mobilevit, "1x3x128x128", "convolutions and attention in turn (MobileViT-XXS)", VTAC_ZOO_FIXED)        \
    X(swin, "1x3x112x112", "windows of a picture, shifted every other time; two stages of two blocks",       \
      VTAC_ZOO_FIXED)                                                                                        \
    X(tcn, "1x16x256", "temporal convolutions, dilated and causal", VTAC_ZOO_FIXED)                          \
    X(c3d, "1x3x8x56x56", "3-D convolutions over short videos", VTAC_ZOO_FIXED)

static const vtac_zoo_entry entries[] = {
#define X(id, input, doc, sized) {#id, input, doc, sized},
    ZOO(X)
#undef X
};
static vtac_zoo_value (*const builders[])(vtac_zoo *) = {
#define X(id, input, doc, sized) vtac_zoo_##id,
    ZOO(X)
#undef X
};

const vtac_zoo_entry *vtac_zoo_list(uint32_t *count)
{
    *count = sizeof entries / sizeof entries[0];
    return entries;
}

static vta_status write_graph(vtac_zoo *z, const char *path, vta_diag *diag)
{
    char producer[] = "vtac zoo";
    char domain[] = "";
    Onnx__OperatorSetIdProto opset;
    Onnx__OperatorSetIdProto *opsets[] = {&opset};
    Onnx__ModelProto model;
    onnx__operator_set_id_proto__init(&opset);
    onnx__model_proto__init(&model);
    opset.domain = domain;
    opset.has_version = 1;
    opset.version = 17; /* LayerNormalization; all else has had this form since 13 */
    model.has_ir_version = 1;
    model.ir_version = 8;
    model.producer_name = producer;
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.graph = &z->graph;
    return vtac_onnx_save(&model, path, diag);
}

static vta_status check_cache(const vtac_zoo_entry *entry, const vtac_zoo_sizes *s, vta_diag *diag)
{
    enum { MAX_WORDS = 1 << 18 };
    if (s->cache && builders[entry - entries] != vtac_zoo_llama) {
        return vta_fail(diag, VTA_INVALID, "'%s' has no form with a cache; llama has one", entry->name);
    }
    if (!s->cache && (s->cached != 0 || s->words != 0)) {
        return vta_fail(diag, VTA_INVALID, "--kv-heads and --words are for a network with --cache");
    }
    if (s->cache && s->tokens != 0) {
        return vta_fail(diag, VTA_INVALID, "with --cache the number of tokens is open; leave --tokens out");
    }
    if (s->words > MAX_WORDS || (s->cached != 0 && (s->heads == 0 || s->heads % s->cached != 0))) {
        return vta_fail(diag, VTA_INVALID,
                        "words are up to %d, and heads of keys and values divide the heads (--heads)",
                        MAX_WORDS);
    }
    return VTA_OK;
}

/* Checks sizes: heads share the width evenly, in pairs of columns. */
static vta_status check_sizes(const vtac_zoo_entry *entry, const vtac_zoo_sizes *s, vta_diag *diag)
{
    enum { MAX_LAYERS = VTAC_ZOO_MAX_LAYERS, MAX_SIZE = 8192 };
    VTA_TRY(check_cache(entry, s, diag));
    const bool any = s->layers != 0 || s->width != 0 || s->heads != 0 || s->tokens != 0;
    if (any && entry->sized == VTAC_ZOO_FIXED) {
        return vta_fail(diag, VTA_INVALID,
                        "'%s' has the sizes of its architecture; bert, gpt, llama and lstm have others",
                        entry->name);
    }
    if (s->layers < 0 || s->layers > MAX_LAYERS || s->width < 0 || s->width > MAX_SIZE || s->heads < 0 ||
        s->heads > MAX_SIZE || s->tokens < 0 || s->tokens > MAX_SIZE) {
        return vta_fail(diag, VTA_INVALID, "layers are up to %d, width, heads and tokens up to %d",
                        MAX_LAYERS, MAX_SIZE);
    }
    if (entry->sized == VTAC_ZOO_STEPS && s->heads != 0) {
        return vta_fail(diag, VTA_INVALID, "'%s' has no heads; it has layers, width and tokens", entry->name);
    }
    if (entry->sized == VTAC_ZOO_TOKENS && (s->width == 0) != (s->heads == 0)) {
        return vta_fail(diag, VTA_INVALID, "width and heads belong together; give both");
    }
    return s->heads == 0 || s->width % (2 * s->heads) == 0
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID, "a width of %lld is no multiple of 2 for each of %lld heads",
                          (long long)s->width, (long long)s->heads);
}

vta_status vtac_zoo_write(const char *name, uint64_t seed, const vtac_zoo_sizes *sizes, const char *path,
                          vta_diag *diag)
{
    const char *names[sizeof entries / sizeof entries[0]];
    size_t found = sizeof entries / sizeof entries[0];
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        names[i] = entries[i].name;
        found = strcmp(entries[i].name, name) == 0 ? i : found;
    }
    if (found == sizeof entries / sizeof entries[0]) {
        const char *near = vta_nearest(name, names, found);
        return vta_fail(diag, VTA_INVALID, "no model '%s' in the zoo; %s%s%s'vtac zoo list' names them", name,
                        near == NULL ? "" : "did you mean '", near == NULL ? "" : near,
                        near == NULL ? "" : "'? ");
    }
    vtac_zoo z = {.random = seed * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL, .diag = diag};
    z.random = z.random == 0 ? 1 : z.random;
    z.sizes = sizes == NULL ? (vtac_zoo_sizes){0} : *sizes;
    VTA_TRY(check_sizes(&entries[found], &z.sizes, diag));
    onnx__graph_proto__init(&z.graph);
    char graph_name[64];
    (void)snprintf(graph_name, sizeof graph_name, "%s", name);
    z.graph.name = graph_name;
    vtac_zoo_output(&z, builders[found](&z));
    const bool fits = z.sizes.weights == NULL || z.given == z.sizes.weight_count;
    vta_status status = z.status;
    if (status == VTA_OK && !fits) {
        status = vta_fail(diag, VTA_INVALID, "'%s' of these sizes has %zu weights, and %zu are given", name,
                          z.given, z.sizes.weight_count);
    }
    if (status == VTA_OK) {
        status = write_graph(&z, path, diag);
    }
    vta_arena_free(&z.arena);
    return status;
}
