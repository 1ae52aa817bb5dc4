/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for TensorFlow Lite, so that the delegate is driven where the real one is not: a library with
 * the functions of tfl_host_calls.def. It loads a .tflite file, shows it to the delegate as the real one
 * does, and runs the nodes that the delegate made; it has no operator of its own.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfl_host.h"
#include "tflite/model.h"
#include "vta/file.h"

struct TfLiteModel {
    uint8_t *bytes;
    vta_arena arena;
    vtac_tflite_model read;
};

struct TfLiteInterpreterOptions {
    TfLiteDelegate *delegate;
};

enum { EXTRA = 64 };

struct TfLiteInterpreter {
    TfLiteContext context; /* the first member: the delegate has its address */
    const TfLiteModel *model;
    TfLiteNode *nodes;
    TfLiteRegistration *registrations;
    TfLiteDelegateParams *params; /* by node; of those that the delegate made */
    int node_count;
    TfLiteIntArray *plan;
    TfLiteDelegateParams preview;
};

static const vtac_tflite_graph *graph_of(const TfLiteInterpreter *it)
{
    return &it->model->read.graphs[it->model->read.chosen];
}

static TfLiteIntArray *make_array(const int32_t *from, int count)
{
    TfLiteIntArray *array = calloc(1, sizeof *array + ((size_t)count + 1) * sizeof array->data[0]);
    array->size = count;
    for (int i = 0; from != NULL && i < count; i++) {
        array->data[i] = from[i];
    }
    return array;
}

/* ---- models */

#define EXPORTED                           __attribute__((visibility("default")))
#define TFL_CALL(result, name, parameters) EXPORTED result TfLite##name parameters;
#include "tfl_host_calls.def"
#undef TFL_CALL

const char *TfLiteVersion(void)
{
    return "stand-in";
}

TfLiteModel *TfLiteModelCreateFromFile(const char *path)
{
    TfLiteModel *model = calloc(1, sizeof *model);
    vta_diag diag = {0};
    size_t size = 0;
    vta_status status = vta_file_read(path, 1U << 30, &model->bytes, &size, &diag);
    if (status == VTA_OK) {
        const vtac_model_file file = {.path = path, .bytes = model->bytes, .size = size};
        status = vtac_tflite_model_read(&file, &model->arena, NULL, &model->read, &diag);
    }
    if (status != VTA_OK) {
        printf("%s\n", diag.text);
        exit(1);
    }
    return model;
}

void TfLiteModelDelete(TfLiteModel *model)
{
    vta_arena_free(&model->arena);
    free(model->bytes);
    free(model);
}

TfLiteInterpreterOptions *TfLiteInterpreterOptionsCreate(void)
{
    return calloc(1, sizeof(TfLiteInterpreterOptions));
}

void TfLiteInterpreterOptionsDelete(TfLiteInterpreterOptions *options)
{
    free(options);
}

void TfLiteInterpreterOptionsSetNumThreads(TfLiteInterpreterOptions *options, int32_t count)
{
    (void)options;
    (void)count;
}

void TfLiteInterpreterOptionsAddDelegate(TfLiteInterpreterOptions *options, TfLiteDelegate *delegate)
{
    options->delegate = delegate;
}

/* ---- tensors */

static int host_type(vtac_dtype type)
{
    switch ((unsigned)type) {
    case VTAC_F32: return TFL_FLOAT32;
    case VTAC_I32: return TFL_INT32;
    case VTAC_U8: return TFL_UINT8;
    case VTAC_I64: return TFL_INT64;
    case VTAC_I16: return TFL_INT16;
    case VTAC_I8: return TFL_INT8;
    default: return TFL_NO_TYPE;
    }
}

static void quantize_tensor(const vtac_tflite_tensor *from, TfLiteTensor *t)
{
    TfLiteAffineQuantization *q = calloc(1, sizeof *q);
    q->scale = calloc(1, sizeof *q->scale + from->scale_count * sizeof q->scale->data[0]);
    q->zero_point = make_array(NULL, (int)from->scale_count);
    q->scale->size = (int)from->scale_count;
    q->quantized_dimension = (int32_t)from->axis;
    for (uint32_t i = 0; i < from->scale_count; i++) {
        q->scale->data[i] = from->scale[i];
        q->zero_point->data[i] = (int)from->zero[i];
    }
    t->quantization = (TfLiteQuantization){TFL_AFFINE, q};
}

static void make_tensor(const vtac_tflite_tensor *from, TfLiteTensor *t)
{
    t->type = host_type(from->type.dtype);
    t->name = from->name;
    t->dims = make_array(NULL, (int)from->type.rank);
    t->bytes = (size_t)vtac_dtype_bytes(from->type.dtype);
    for (uint32_t i = 0; i < from->type.rank; i++) {
        t->dims->data[i] = (int)from->type.dim[i];
        t->bytes *= (size_t)from->type.dim[i];
    }
    t->allocation_type = from->data != NULL ? TFL_CONSTANT : 2;
    t->data = from->data != NULL ? (void *)(uintptr_t)from->data : calloc(1, t->bytes + 1);
    if (from->scale_count > 0) {
        quantize_tensor(from, t);
    }
}

/* ---- parameters, as the real one's parser makes them */

static int option(const TfLiteModel *model, const vtac_tflite_op *op, uint32_t field, uint32_t width,
                  int standard)
{
    vtac_flat flat = model->read.flat;
    return (int)vtac_flat_int(&flat, op->options, field, width, standard);
}

static void *make_params(const TfLiteModel *m, const vtac_tflite_op *op)
{
    vtac_flat flat = m->read.flat;
    int *p = calloc(16, sizeof *p); /* most have numbers alone */
    const bool depthwise = op->code == 4;
    switch (op->code) {
    case 3:
    case 4:
        p[0] = option(m, op, 0, 1, 0) + 1;
        p[1] = option(m, op, 1, 4, 0);
        p[2] = option(m, op, 2, 4, 0);
        p[3] = depthwise ? option(m, op, 3, 4, 0) : option(m, op, 3, 1, 0);
        p[4] = depthwise ? option(m, op, 4, 1, 0) : option(m, op, 4, 4, 1);
        p[5] = option(m, op, 5, 4, 1);
        p[6] = option(m, op, 6, 4, 1);
        break;
    case 1:
    case 17:
        p[0] = option(m, op, 0, 1, 0) + 1;
        for (uint32_t i = 1; i < 5; i++) {
            p[i] = option(m, op, i, 4, 0);
        }
        p[5] = option(m, op, 5, 1, 0);
        break;
    case 2:
        p[0] = option(m, op, 0, 4, 0);
        p[1] = option(m, op, 1, 1, 0);
        break;
    case 40: *(bool *)p = option(m, op, 0, 1, 0) != 0; break;
    case 98: *(float *)p = vtac_flat_float(&flat, op->options, 0, 0); break;
    case 0:
        p[0] = option(m, op, 0, 1, 0);
        ((TfLiteAddParams *)p)->pot_scale_int16 = true;
        break;
    default: p[0] = option(m, op, 0, 1, 0); break;
    }
    return p;
}

/* ---- the context */

static int get_plan(TfLiteContext *context, TfLiteIntArray **plan)
{
    *plan = ((TfLiteInterpreter *)context)->plan;
    return TFL_OK;
}

__attribute__((format(printf, 2, 3))) static void report_error(TfLiteContext *context, const char *message,
                                                               ...)
{
    va_list args;
    (void)context;
    va_start(args, message);
    printf("log: ");
    (void)vprintf(message, args);
    printf("\n");
    va_end(args);
}

static int get_node(TfLiteContext *context, int index, TfLiteNode **node, TfLiteRegistration **registration)
{
    TfLiteInterpreter *it = (TfLiteInterpreter *)context;
    if (index < 0 || index >= it->node_count) {
        return TFL_ERROR;
    }
    *node = &it->nodes[index];
    *registration = &it->registrations[index];
    return TFL_OK;
}

static bool has(const TfLiteIntArray *array, int number)
{
    for (int i = 0; i < array->size; i++) {
        if (array->data[i] == number) {
            return true;
        }
    }
    return false;
}

/* 'i': the tensor goes into the nodes; 'o': it comes out of them, to others or to the program. */
static char border_of(const TfLiteInterpreter *it, const TfLiteIntArray *nodes, int tensor)
{
    const vtac_tflite_graph *g = graph_of(it);
    bool made = false;
    bool read = false;
    bool wanted = false;
    for (uint32_t i = 0; i < g->output_count; i++) {
        wanted = wanted || g->outputs[i] == tensor;
    }
    for (int i = 0; i < it->plan->size; i++) {
        const TfLiteNode *node = &it->nodes[it->plan->data[i]];
        const bool inside = has(nodes, it->plan->data[i]);
        made = made || (inside && has(node->outputs, tensor));
        read = read || (inside && has(node->inputs, tensor));
        wanted = wanted || (!inside && has(node->inputs, tensor));
    }
    return made ? (wanted ? 'o' : ' ') : read ? 'i' : ' ';
}

static TfLiteDelegateParams find_params(const TfLiteInterpreter *it, const TfLiteIntArray *nodes)
{
    TfLiteDelegateParams p = {.nodes_to_replace = make_array(nodes->data, nodes->size),
                              .input_tensors = make_array(NULL, (int)it->context.tensors_size),
                              .output_tensors = make_array(NULL, (int)it->context.tensors_size)};
    p.input_tensors->size = 0;
    p.output_tensors->size = 0;
    for (int i = 0; i < (int)it->context.tensors_size; i++) {
        const char border = border_of(it, nodes, i);
        TfLiteIntArray *to = border == 'i' ? p.input_tensors : p.output_tensors;
        if (border != ' ') {
            to->data[to->size++] = i;
        }
    }
    return p;
}

static void free_params(TfLiteDelegateParams *p)
{
    free(p->nodes_to_replace);
    free(p->input_tensors);
    free(p->output_tensors);
    *p = (TfLiteDelegateParams){0};
}

static int preview(TfLiteContext *context, const TfLiteIntArray *nodes, TfLiteDelegateParams **out,
                   int *count)
{
    TfLiteInterpreter *it = (TfLiteInterpreter *)context;
    free_params(&it->preview);
    it->preview = find_params(it, nodes);
    *out = &it->preview;
    *count = 1;
    return TFL_OK;
}

static int replace(TfLiteContext *context, TfLiteRegistration registration, const TfLiteIntArray *nodes,
                   TfLiteDelegate *delegate)
{
    TfLiteInterpreter *it = (TfLiteInterpreter *)context;
    const int fresh = it->node_count++;
    TfLiteDelegateParams *p = &it->params[fresh];
    *p = find_params(it, nodes);
    p->delegate = delegate;
    it->registrations[fresh] = registration;
    it->nodes[fresh] = (TfLiteNode){.inputs = p->input_tensors, .outputs = p->output_tensors};
    int kept = 0;
    bool placed = false;
    for (int i = 0; i < it->plan->size; i++) {
        const int node = it->plan->data[i];
        if (has(nodes, node) && placed) {
            continue;
        }
        it->plan->data[kept++] = has(nodes, node) ? fresh : node;
        placed = placed || has(nodes, node);
    }
    it->plan->size = kept;
    it->nodes[fresh].user_data = registration.init(context, (const char *)p, sizeof *p);
    return TFL_OK;
}

/* ---- interpreters */

static void make_nodes(TfLiteInterpreter *it)
{
    const vtac_tflite_graph *g = graph_of(it);
    const size_t room = (size_t)g->op_count + EXTRA;
    it->nodes = calloc(room, sizeof *it->nodes);
    it->registrations = calloc(room, sizeof *it->registrations);
    it->params = calloc(room, sizeof *it->params);
    it->node_count = (int)g->op_count;
    it->plan = make_array(NULL, it->node_count);
    for (int i = 0; i < it->node_count; i++) {
        const vtac_tflite_op *op = &g->ops[i];
        it->plan->data[i] = i;
        it->nodes[i] = (TfLiteNode){.inputs = make_array(op->inputs, (int)op->input_count),
                                    .outputs = make_array(op->outputs, (int)op->output_count),
                                    .builtin_data = make_params(it->model, op)};
        it->registrations[i] = (TfLiteRegistration){.builtin_code = op->code, .version = op->version};
    }
}

TfLiteInterpreter *TfLiteInterpreterCreate(const TfLiteModel *model, const TfLiteInterpreterOptions *options)
{
    TfLiteInterpreter *it = calloc(1, sizeof *it);
    it->model = model;
    const vtac_tflite_graph *g = graph_of(it);
    it->context = (TfLiteContext){.tensors_size = g->tensor_count,
                                  .tensors = calloc((size_t)g->tensor_count + 1, sizeof(TfLiteTensor)),
                                  .GetExecutionPlan = get_plan,
                                  .ReportError = report_error,
                                  .GetNodeAndRegistration = get_node,
                                  .ReplaceNodeSubsetsWithDelegateKernels = replace,
                                  .PreviewDelegatePartitioning = preview};
    for (uint32_t i = 0; i < g->tensor_count; i++) {
        make_tensor(&g->tensors[i], &it->context.tensors[i]);
    }
    make_nodes(it);
    if (options->delegate != NULL && options->delegate->Prepare(&it->context, options->delegate) != TFL_OK) {
        TfLiteInterpreterDelete(it);
        return NULL;
    }
    return it;
}

static void free_tensor(TfLiteTensor *t)
{
    TfLiteAffineQuantization *q = t->quantization.params;
    if (q != NULL) {
        free(q->scale);
        free(q->zero_point);
    }
    if (t->allocation_type != TFL_CONSTANT) {
        free(t->data);
    }
    free(q);
    free(t->dims);
}

void TfLiteInterpreterDelete(TfLiteInterpreter *it)
{
    const int made = (int)graph_of(it)->op_count;
    for (int i = 0; i < it->node_count; i++) {
        if (i < made) {
            free(it->nodes[i].inputs);
            free(it->nodes[i].outputs);
            free(it->nodes[i].builtin_data);
        } else {
            it->registrations[i].free(&it->context, it->nodes[i].user_data);
            free_params(&it->params[i]);
        }
    }
    for (size_t i = 0; i < it->context.tensors_size; i++) {
        free_tensor(&it->context.tensors[i]);
    }
    free_params(&it->preview);
    free(it->context.tensors);
    free(it->nodes);
    free(it->registrations);
    free(it->params);
    free(it->plan);
    free(it);
}

int TfLiteInterpreterAllocateTensors(TfLiteInterpreter *it)
{
    for (int i = 0; i < it->plan->size; i++) {
        const int node = it->plan->data[i];
        if (it->registrations[node].prepare != NULL &&
            it->registrations[node].prepare(&it->context, &it->nodes[node]) != TFL_OK) {
            return TFL_ERROR;
        }
    }
    return TFL_OK;
}

int TfLiteInterpreterInvoke(TfLiteInterpreter *it)
{
    for (int i = 0; i < it->plan->size; i++) {
        const int node = it->plan->data[i];
        if (it->registrations[node].invoke == NULL) {
            printf("the stand-in has no operator %d\n", it->registrations[node].builtin_code);
            return TFL_ERROR;
        }
        if (it->registrations[node].invoke(&it->context, &it->nodes[node]) != TFL_OK) {
            return TFL_ERROR;
        }
    }
    return TFL_OK;
}

int32_t TfLiteInterpreterGetInputTensorCount(const TfLiteInterpreter *it)
{
    return (int32_t)graph_of(it)->input_count;
}

TfLiteTensor *TfLiteInterpreterGetInputTensor(const TfLiteInterpreter *it, int32_t index)
{
    return &it->context.tensors[graph_of(it)->inputs[index]];
}

int32_t TfLiteInterpreterGetOutputTensorCount(const TfLiteInterpreter *it)
{
    return (int32_t)graph_of(it)->output_count;
}

const TfLiteTensor *TfLiteInterpreterGetOutputTensor(const TfLiteInterpreter *it, int32_t index)
{
    return &it->context.tensors[graph_of(it)->outputs[index]];
}

size_t TfLiteTensorByteSize(const TfLiteTensor *t)
{
    return t->bytes;
}

void *TfLiteTensorData(const TfLiteTensor *t)
{
    return t->data;
}
