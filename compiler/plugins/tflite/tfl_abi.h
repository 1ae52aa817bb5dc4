/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of TensorFlow Lite's binary interface that the delegate uses, in words of our own, so that the
 * build needs nothing of TensorFlow: external delegates as of release 2.3. Names, layouts and numbers are the
 * host's, which has only ever added members at the ends of its structures; those that the host reads are a
 * few words longer here, with zeros in them.
 */
#ifndef VTAC_TFL_ABI_H
#define VTAC_TFL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TfLiteStatus. */
enum { TFL_OK = 0, TFL_ERROR = 1 };

/* TfLiteType. */
enum { TFL_NO_TYPE = 0, TFL_FLOAT32 = 1, TFL_INT32 = 2, TFL_UINT8 = 3, TFL_INT64 = 4, TFL_BOOL = 6 };
enum { TFL_INT16 = 7, TFL_INT8 = 9, TFL_TYPES = 19 };

/* TfLiteAllocationType of constants, TfLiteQuantizationType. */
enum { TFL_CONSTANT = 1, TFL_AFFINE = 1 };

typedef struct TfLiteIntArray {
    int size;
    int data[];
} TfLiteIntArray;

typedef struct TfLiteFloatArray {
    int size;
    float data[];
} TfLiteFloatArray;

typedef struct TfLiteAffineQuantization {
    TfLiteFloatArray *scale;
    TfLiteIntArray *zero_point;
    int32_t quantized_dimension;
} TfLiteAffineQuantization;

typedef struct TfLiteQuantization {
    int type;
    void *params;
} TfLiteQuantization;

typedef struct TfLiteDelegate TfLiteDelegate;

typedef struct TfLiteTensor {
    int type;
    void *data;
    TfLiteIntArray *dims;
    float scale; /* of the older form of quantization */
    int32_t zero_point;
    int allocation_type;
    size_t bytes;
    const void *allocation;
    const char *name;
    TfLiteDelegate *delegate;
    int buffer_handle;
    bool data_is_stale;
    bool is_variable;
    TfLiteQuantization quantization;
    void *sparsity;
    const TfLiteIntArray *dims_signature; /* below 0: a size that the model leaves open */
} TfLiteTensor;

typedef struct TfLiteNode {
    TfLiteIntArray *inputs, *outputs, *intermediates, *temporaries;
    void *user_data;
    void *builtin_data;
} TfLiteNode;

typedef struct TfLiteContext TfLiteContext;

typedef struct TfLiteRegistration {
    void *(*init)(TfLiteContext *context, const char *buffer, size_t length);
    void (*free)(TfLiteContext *context, void *buffer);
    int (*prepare)(TfLiteContext *context, TfLiteNode *node);
    int (*invoke)(TfLiteContext *context, TfLiteNode *node);
    const char *(*profiling_string)(const TfLiteContext *context, const TfLiteNode *node);
    int32_t builtin_code;
    const char *custom_name;
    int version;
    void *later[6]; /* members of later releases: none is used. Handed over by value, on the stack */
} TfLiteRegistration;

typedef struct TfLiteDelegateParams {
    TfLiteDelegate *delegate;
    TfLiteIntArray *nodes_to_replace, *input_tensors, *output_tensors;
} TfLiteDelegateParams;

struct TfLiteContext {
    size_t tensors_size;
    int (*GetExecutionPlan)(TfLiteContext *context, TfLiteIntArray **plan);
    TfLiteTensor *tensors;
    void *impl_;
    int (*ResizeTensor)(TfLiteContext *context, TfLiteTensor *tensor, TfLiteIntArray *size);
    void (*ReportError)(TfLiteContext *context, const char *message, ...)
        __attribute__((format(printf, 2, 3)));
    int (*AddTensors)(TfLiteContext *context, int count, int *first);
    int (*GetNodeAndRegistration)(TfLiteContext *context, int index, TfLiteNode **node,
                                  TfLiteRegistration **registration);
    int (*ReplaceNodeSubsetsWithDelegateKernels)(TfLiteContext *context, TfLiteRegistration registration,
                                                 const TfLiteIntArray *nodes, TfLiteDelegate *delegate);
    int recommended_num_threads;
    void *(*GetExternalContext)(TfLiteContext *context, int type);
    void (*SetExternalContext)(TfLiteContext *context, int type, void *external);
    bool allow_fp32_relax_to_fp16;
    void *profiler;
    void *(*AllocatePersistentBuffer)(TfLiteContext *context, size_t bytes);
    int (*AllocateBufferForEval)(TfLiteContext *context, size_t bytes, void **out);
    int (*RequestScratchBufferInArena)(TfLiteContext *context, size_t bytes, int *index);
    void *(*GetScratchBuffer)(TfLiteContext *context, int index);
    int (*ResizeTensorExplicit)(TfLiteContext *context, TfLiteTensor *tensor, int dims, const int *shape);
    int (*PreviewDelegatePartitioning)(TfLiteContext *context, const TfLiteIntArray *nodes,
                                       TfLiteDelegateParams **partitions, int *count);
};

struct TfLiteDelegate {
    void *data_;
    int (*Prepare)(TfLiteContext *context, TfLiteDelegate *delegate);
    int (*CopyFromBufferHandle)(TfLiteContext *context, TfLiteDelegate *delegate, int handle,
                                TfLiteTensor *tensor);
    int (*CopyToBufferHandle)(TfLiteContext *context, TfLiteDelegate *delegate, int handle,
                              TfLiteTensor *tensor);
    void (*FreeBufferHandle)(TfLiteContext *context, TfLiteDelegate *delegate, int *handle);
    int64_t flags;
    void *later[6]; /* members of later releases */
};

/* ---- parameters of operators, as far as they are read */

typedef struct TfLiteConvParams {
    int padding, stride_width, stride_height, activation, dilation_width_factor, dilation_height_factor;
} TfLiteConvParams;

typedef struct TfLiteDepthwiseConvParams {
    int padding, stride_width, stride_height, depth_multiplier, activation, dilation_width_factor,
        dilation_height_factor;
} TfLiteDepthwiseConvParams;

typedef struct TfLitePoolParams {
    int padding, stride_width, stride_height, filter_width, filter_height, activation;
} TfLitePoolParams;

typedef struct TfLiteFullyConnectedParams {
    int activation, weights_format;
    bool keep_num_dims, asymmetric_quantize_inputs;
} TfLiteFullyConnectedParams;

typedef struct TfLiteAddParams {
    int activation;
    bool pot_scale_int16;
} TfLiteAddParams;

typedef struct TfLiteStridedSliceParams {
    int begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
} TfLiteStridedSliceParams;

typedef struct TfLiteTransposeConvParams {
    int padding, stride_width, stride_height, activation;
} TfLiteTransposeConvParams;

typedef struct TfLiteSqueezeParams {
    int32_t squeeze_dims[8];
    int num_squeeze_dims;
} TfLiteSqueezeParams;

/* Two numbers: axis and activation, axis and batch axes, a count and an axis. */
typedef struct TfLitePairParams {
    int first, second;
} TfLitePairParams;

/* Two truths: of resizing and of products of matrices. */
typedef struct TfLiteTruthParams {
    bool first, second;
} TfLiteTruthParams;

/* ---- what the delegate exports */

/* NOLINTBEGIN(readability-identifier-naming): TensorFlow Lite's names */
TfLiteDelegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                              void (*report)(const char *message));
void tflite_plugin_destroy_delegate(TfLiteDelegate *table);
/* NOLINTEND(readability-identifier-naming) */

#endif
