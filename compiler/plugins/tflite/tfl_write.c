/* SPDX-License-Identifier: Apache-2.0
 *
 * A region of the host's graph as a .tflite file: flatbuffers as TensorFlow Lite's schema, version 3, numbers
 * their fields.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfl.h"
#include "vta/fail.h"

enum { SCHEMA = 3, OLD_CODES = 127, NAME_ROOM = 24 };
enum { MODEL_VERSION, MODEL_CODES, MODEL_SUBGRAPHS, MODEL_DESCRIPTION, MODEL_BUFFERS, MODEL_FIELDS };
enum { CODE_OLD, CODE_CUSTOM, CODE_VERSION, CODE_BUILTIN, CODE_FIELDS };
enum { GRAPH_TENSORS, GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS, GRAPH_NAME, GRAPH_FIELDS };
enum { TENSOR_SHAPE, TENSOR_TYPE, TENSOR_BUFFER, TENSOR_NAME, TENSOR_QUANTIZATION, TENSOR_FIELDS };
enum { QUANT_MIN, QUANT_MAX, QUANT_SCALE, QUANT_ZERO, QUANT_KIND, QUANT_DETAILS, QUANT_AXIS, QUANT_FIELDS };
enum { OP_CODE, OP_INPUTS, OP_OUTPUTS, OP_KIND, OP_OPTIONS, OP_FIELDS };

typedef struct tfl_writer {
    const vtac_tfl_graph *graph;
    const int32_t *regions;
    int32_t region;
    bool plan;
    int32_t *numbers;         /* by the host's tensor: the file's; -1: not in it */
    uint32_t *tensors;        /* by the file's: the host's */
    char (*names)[NAME_ROOM]; /* by the file's */
    uint32_t tensor_count, constant_count, op_count;
    vta_str out;
} tfl_writer;

static const vtac_tfl_field absent = {.kind = VTAC_TFL_ABSENT};

static vtac_tfl_field put_reference(void)
{
    return (vtac_tfl_field){.kind = VTAC_TFL_REFERENCE};
}

static vtac_tfl_field put_int(int64_t number)
{
    return (vtac_tfl_field){.kind = VTAC_TFL_INT, .number = (int32_t)number};
}

static vtac_tfl_field put_byte(int number)
{
    return (vtac_tfl_field){.kind = VTAC_TFL_BYTE, .number = number};
}

/* A vector of `count` references, which lead nowhere yet; returns the place of the first. */
static size_t put_references(tfl_writer *w, size_t place, size_t count)
{
    const size_t at = vtac_tfl_put_vector(&w->out, NULL, count, sizeof(int32_t), sizeof(int32_t));
    vtac_tfl_link(&w->out, place, at);
    return at + sizeof(int32_t);
}

static void put_ints(tfl_writer *w, size_t place, const int32_t *numbers, size_t count)
{
    vtac_tfl_link(&w->out, place,
                  vtac_tfl_put_vector(&w->out, numbers, count, sizeof *numbers, sizeof *numbers));
}

/* ---- which tensors, and their names */

static void take_tensor(tfl_writer *w, uint32_t value, const char *letter, uint32_t number)
{
    if (value < w->graph->shape.value_count && w->numbers[value] < 0) {
        w->numbers[value] = (int32_t)w->tensor_count;
        w->tensors[w->tensor_count] = value;
        (void)snprintf(w->names[w->tensor_count], NAME_ROOM, "%s%u", letter, number);
        w->tensor_count++;
    }
}

static void take_node(tfl_writer *w, uint32_t i)
{
    const vtac_plug_node *node = &w->graph->shape.nodes[i];
    for (uint32_t k = 0; k < node->output_count; k++) {
        take_tensor(w, node->outputs[k], k == 0 && w->plan ? "n" : "v",
                    k == 0 && w->plan ? i : w->tensor_count);
    }
    for (uint32_t k = 0; k < node->input_count; k++) {
        take_tensor(w, node->inputs[k], "v", w->tensor_count);
    }
    w->op_count++;
}

static bool is_inside(const tfl_writer *w, uint32_t i)
{
    return w->regions[i] == w->region;
}

static void take_tensors(tfl_writer *w, const vtac_plug_border *border)
{
    for (uint32_t i = 0; i < border->input_count; i++) {
        take_tensor(w, border->inputs[i], "i", i);
    }
    for (uint32_t i = 0; i < border->output_count && !w->plan; i++) {
        take_tensor(w, border->outputs[i], "o", i);
    }
    for (uint32_t i = 0; i < w->graph->shape.node_count; i++) {
        if (is_inside(w, i)) {
            take_node(w, i);
        }
    }
}

/* ---- tensors */

static void put_scales(tfl_writer *w, size_t place, const float *scale, const int32_t *zero, size_t count,
                       int axis)
{
    vtac_tfl_field fields[QUANT_FIELDS] = {
        [QUANT_SCALE] = put_reference(), [QUANT_ZERO] = put_reference(), [QUANT_AXIS] = put_int(axis)};
    vtac_tfl_link(&w->out, place, vtac_tfl_put_table(&w->out, fields, QUANT_FIELDS));
    vtac_tfl_link(&w->out, fields[QUANT_SCALE].place,
                  vtac_tfl_put_vector(&w->out, scale, count, sizeof *scale, sizeof *scale));
    const size_t zeros = vtac_tfl_put_vector(&w->out, NULL, count, sizeof(int64_t), sizeof(int64_t));
    vtac_tfl_link(&w->out, fields[QUANT_ZERO].place, zeros);
    for (size_t i = 0; i < count && !w->out.failed; i++) {
        const int64_t point = zero[i];
        memcpy(w->out.text + zeros + sizeof(int32_t) + i * sizeof point, &point, sizeof point);
    }
}

/* Scales as the host has them: one for each channel, one, or in the older form. */
static void put_quantization(tfl_writer *w, size_t place, const TfLiteTensor *t)
{
    const TfLiteAffineQuantization *q = t->quantization.type == TFL_AFFINE ? t->quantization.params : NULL;
    if (q == NULL || q->scale == NULL || q->zero_point == NULL || q->scale->size == 0) {
        put_scales(w, place, &t->scale, &t->zero_point, t->scale != 0.0F ? 1 : 0, 0);
        return;
    }
    int32_t *zeros = calloc((size_t)q->scale->size, sizeof *zeros);
    for (int i = 0; zeros != NULL && i < q->scale->size && q->zero_point->size > 0; i++) {
        zeros[i] = q->zero_point->data[q->zero_point->size == q->scale->size ? i : 0];
    }
    w->out.failed = w->out.failed || zeros == NULL;
    if (zeros != NULL) {
        put_scales(w, place, q->scale->data, zeros, (size_t)q->scale->size, q->quantized_dimension);
    }
    free(zeros);
}

static const TfLiteTensor *tensor_of(const tfl_writer *w, uint32_t number)
{
    return &w->graph->context->tensors[w->tensors[number]];
}

static bool is_constant(const tfl_writer *w, uint32_t number)
{
    return w->graph->shape.constant[w->tensors[number]];
}

static void put_tensor(tfl_writer *w, size_t place, uint32_t number)
{
    const TfLiteTensor *t = tensor_of(w, number);
    w->constant_count += is_constant(w, number);
    vtac_tfl_field fields[TENSOR_FIELDS] = {[TENSOR_SHAPE] = put_reference(),
                                            [TENSOR_TYPE] = put_byte(vtac_tfl_type(t->type)),
                                            [TENSOR_BUFFER] =
                                                put_int(is_constant(w, number) ? w->constant_count : 0),
                                            [TENSOR_NAME] = put_reference(),
                                            [TENSOR_QUANTIZATION] = put_reference()};
    vtac_tfl_link(&w->out, place, vtac_tfl_put_table(&w->out, fields, TENSOR_FIELDS));
    put_ints(w, fields[TENSOR_SHAPE].place, t->dims->data, (size_t)t->dims->size);
    vtac_tfl_link(&w->out, fields[TENSOR_NAME].place, vtac_tfl_put_text(&w->out, w->names[number]));
    put_quantization(w, fields[TENSOR_QUANTIZATION].place, t);
}

/* Buffer 0 is empty; those of constants follow in the order of their tensors. */
static void put_buffers(tfl_writer *w, size_t place)
{
    enum { ALIGN = 16 };
    uint32_t number = 0;
    const size_t first = put_references(w, place, (size_t)w->constant_count + 1);
    vtac_tfl_link(&w->out, first, vtac_tfl_put_table(&w->out, NULL, 0));
    for (uint32_t i = 0; i < w->tensor_count; i++) {
        if (!is_constant(w, i)) {
            continue;
        }
        const TfLiteTensor *t = tensor_of(w, i);
        vtac_tfl_field field = put_reference();
        vtac_tfl_link(&w->out, first + ++number * sizeof(int32_t), vtac_tfl_put_table(&w->out, &field, 1));
        vtac_tfl_link(&w->out, field.place, vtac_tfl_put_vector(&w->out, t->data, t->bytes, 1, ALIGN));
    }
}

/* ---- operators */

static void put_numbers(tfl_writer *w, size_t place, const uint32_t *values, uint32_t count)
{
    const size_t at = put_references(w, place, count);
    for (uint32_t i = 0; i < count && !w->out.failed; i++) {
        const int32_t number = values[i] < w->graph->shape.value_count ? w->numbers[values[i]] : -1;
        memcpy(w->out.text + at + i * sizeof number, &number, sizeof number);
    }
}

static void put_options(tfl_writer *w, size_t place, const vtac_tfl_node *node)
{
    vtac_tfl_field fields[TFL_MAX_FIELDS] = {{0}};
    uint32_t list_count = 0;
    uint32_t count = vtac_tfl_op_fields(node->op, node->node->builtin_data, fields);
    const int32_t *list = vtac_tfl_op_list(node->op, node->node->builtin_data, &list_count);
    if (list != NULL) {
        fields[0] = put_reference();
        count = 1;
    }
    vtac_tfl_link(&w->out, place, vtac_tfl_put_table(&w->out, fields, count));
    if (list != NULL) {
        put_ints(w, fields[0].place, list, list_count);
    }
}

static void put_operator(tfl_writer *w, size_t place, uint32_t i, uint32_t code)
{
    const vtac_tfl_node *node = &w->graph->nodes[i];
    const vtac_plug_node *shape = &w->graph->shape.nodes[i];
    const int options = vtac_tfl_op_options(node->op);
    vtac_tfl_field fields[OP_FIELDS] = {[OP_CODE] = put_int(code),
                                        [OP_INPUTS] = put_reference(),
                                        [OP_OUTPUTS] = put_reference(),
                                        [OP_KIND] = options != 0 ? put_byte(options) : absent,
                                        [OP_OPTIONS] = options != 0 ? put_reference() : absent};
    vtac_tfl_link(&w->out, place, vtac_tfl_put_table(&w->out, fields, OP_FIELDS));
    put_numbers(w, fields[OP_INPUTS].place, shape->inputs, shape->input_count);
    put_numbers(w, fields[OP_OUTPUTS].place, shape->outputs, shape->output_count);
    if (options != 0) {
        put_options(w, fields[OP_OPTIONS].place, node);
    }
}

/* Each operator has a code of its own, in their order. */
static void put_codes(tfl_writer *w, size_t place)
{
    uint32_t number = 0;
    const size_t first = put_references(w, place, w->op_count);
    for (uint32_t i = 0; i < w->graph->shape.node_count; i++) {
        const vtac_tfl_node *node = &w->graph->nodes[i];
        vtac_tfl_field fields[CODE_FIELDS] = {[CODE_OLD] =
                                                  put_byte(node->code < OLD_CODES ? node->code : OLD_CODES),
                                              [CODE_VERSION] = put_int(node->version),
                                              [CODE_BUILTIN] = put_int(node->code)};
        if (is_inside(w, i)) {
            vtac_tfl_link(&w->out, first + number++ * sizeof(int32_t),
                          vtac_tfl_put_table(&w->out, fields, CODE_FIELDS));
        }
    }
}

/* ---- the graph */

static void put_graph(tfl_writer *w, size_t place, const vtac_plug_border *border)
{
    uint32_t number = 0;
    vtac_tfl_field fields[GRAPH_FIELDS] = {[GRAPH_TENSORS] = put_reference(),
                                           [GRAPH_INPUTS] = put_reference(),
                                           [GRAPH_OUTPUTS] = put_reference(),
                                           [GRAPH_OPERATORS] = put_reference(),
                                           [GRAPH_NAME] = put_reference()};
    const size_t only = put_references(w, place, 1);
    vtac_tfl_link(&w->out, only, vtac_tfl_put_table(&w->out, fields, GRAPH_FIELDS));
    const size_t tensors = put_references(w, fields[GRAPH_TENSORS].place, w->tensor_count);
    for (uint32_t i = 0; i < w->tensor_count; i++) {
        put_tensor(w, tensors + i * sizeof(int32_t), i);
    }
    put_numbers(w, fields[GRAPH_INPUTS].place, border->inputs, border->input_count);
    put_numbers(w, fields[GRAPH_OUTPUTS].place, border->outputs, border->output_count);
    const size_t operators = put_references(w, fields[GRAPH_OPERATORS].place, w->op_count);
    for (uint32_t i = 0; i < w->graph->shape.node_count; i++) {
        if (is_inside(w, i)) {
            put_operator(w, operators + number * sizeof(int32_t), i, number);
            number++;
        }
    }
    vtac_tfl_link(&w->out, fields[GRAPH_NAME].place, vtac_tfl_put_text(&w->out, "part"));
}

static void put_model(tfl_writer *w, const vtac_plug_border *border)
{
    vtac_tfl_field fields[MODEL_FIELDS] = {[MODEL_VERSION] = put_int(SCHEMA),
                                           [MODEL_CODES] = put_reference(),
                                           [MODEL_SUBGRAPHS] = put_reference(),
                                           [MODEL_BUFFERS] = put_reference()};
    vta_str_append(&w->out, "\0\0\0\0TFL3", 8);
    vtac_tfl_link(&w->out, 0, vtac_tfl_put_table(&w->out, fields, MODEL_FIELDS));
    put_codes(w, fields[MODEL_CODES].place);
    put_graph(w, fields[MODEL_SUBGRAPHS].place, border);
    put_buffers(w, fields[MODEL_BUFFERS].place);
}

static bool make_room(tfl_writer *w)
{
    const size_t values = (size_t)w->graph->shape.value_count + 1;
    w->numbers = malloc(values * sizeof *w->numbers);
    w->tensors = calloc(values, sizeof *w->tensors);
    w->names = calloc(values, sizeof *w->names);
    for (size_t i = 0; w->numbers != NULL && i < values; i++) {
        w->numbers[i] = -1;
    }
    return w->numbers != NULL && w->tensors != NULL && w->names != NULL;
}

static void free_writer(tfl_writer *w)
{
    vta_str_free(&w->out);
    free(w->numbers);
    free(w->tensors);
    free(w->names);
}

vta_status vtac_tfl_write(const vtac_tfl_graph *graph, const int32_t *regions, int32_t region,
                          const vtac_plug_border *border, bool plan, vta_str *out, vta_diag *diag)
{
    tfl_writer w = {.graph = graph, .regions = regions, .region = region, .plan = plan};
    const bool room = make_room(&w);
    if (room) {
        take_tensors(&w, border);
        put_model(&w, border);
    }
    *out = w.out;
    w.out = (vta_str){0};
    free_writer(&w);
    return vta_allocated(room && !out->failed, diag);
}
