/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of ONNX Runtime's binary interface that the provider uses, in words of our own, so that the build
 * needs nothing of ONNX Runtime: plugin providers as of release 1.23 (version 23 of the interface). Names,
 * layouts and numbers are the host's. A later host reads what version 23 has, since each table says so.
 */
#ifndef VTAC_ORT_ABI_H
#define VTAC_ORT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORT_VERSION = 23 };

/* Codes of a status, levels of a log. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9, ORT_EP_FAIL = 11 };
enum { ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2, ORT_LOG_ERROR = 3 };
enum { ORT_DEVICE_CPU = 0 };

/* Types of attributes. Types of elements are ONNX's own numbers. */
enum {
    ORT_ATTR_INT = 1,
    ORT_ATTR_INTS = 2,
    ORT_ATTR_FLOAT = 3,
    ORT_ATTR_FLOATS = 4,
    ORT_ATTR_STRING = 5,
    ORT_ATTR_TENSOR = 8
};

/* ---- what the host alone looks into */

typedef struct OrtStatus OrtStatus;
typedef struct OrtLogger OrtLogger;
typedef struct OrtGraph OrtGraph;
typedef struct OrtNode OrtNode;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtMemoryDevice OrtMemoryDevice;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;
typedef struct OrtSyncStreamImpl OrtSyncStreamImpl;

/* The table of all calls: an array of pointers to functions (ort_calls.def has the numbers of ours). */
typedef struct OrtApi OrtApi;

typedef struct OrtApiBase {
    const OrtApi *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;

/* ---- what the host calls */

typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;
struct OrtNodeComputeInfo {
    uint32_t ort_version_supported;
    OrtStatus *(*CreateState)(OrtNodeComputeInfo *info, OrtNodeComputeContext *context, void **state);
    OrtStatus *(*Compute)(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context);
    void (*ReleaseState)(OrtNodeComputeInfo *info, void *state);
};

typedef struct OrtNodeFusionOptions {
    uint32_t ort_version_supported;
    bool drop_constant_initializers;
} OrtNodeFusionOptions;

typedef struct OrtEp OrtEp;
struct OrtEp {
    uint32_t ort_version_supported;
    const char *(*GetName)(const OrtEp *ep);
    OrtStatus *(*GetCapability)(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *support);
    OrtStatus *(*Compile)(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                          OrtNodeComputeInfo **infos, OrtNode **contexts);
    void (*ReleaseNodeComputeInfos)(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count);
    OrtStatus *(*GetPreferredDataLayout)(OrtEp *ep, int *layout);
    OrtStatus *(*ShouldConvertDataLayoutForOp)(OrtEp *ep, const char *domain, const char *op, int layout,
                                               int *convert);
    OrtStatus *(*SetDynamicOptions)(OrtEp *ep, const char *const *keys, const char *const *values,
                                    size_t count);
    OrtStatus *(*OnRunStart)(OrtEp *ep, const OrtRunOptions *options);
    OrtStatus *(*OnRunEnd)(OrtEp *ep, const OrtRunOptions *options, bool sync);
    OrtStatus *(*CreateAllocator)(OrtEp *ep, const OrtMemoryInfo *memory, OrtAllocator **out);
    OrtStatus *(*CreateSyncStreamForDevice)(OrtEp *ep, const OrtMemoryDevice *memory,
                                            OrtSyncStreamImpl **out);
    const char *(*GetCompiledModelCompatibilityInfo)(OrtEp *ep, const OrtGraph *graph);
};

typedef struct OrtEpFactory OrtEpFactory;
struct OrtEpFactory {
    uint32_t ort_version_supported;
    const char *(*GetName)(const OrtEpFactory *factory);
    const char *(*GetVendor)(const OrtEpFactory *factory);
    OrtStatus *(*GetSupportedDevices)(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                                      size_t count, OrtEpDevice **out, size_t max, size_t *out_count);
    OrtStatus *(*CreateEp)(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                           const OrtKeyValuePairs *const *metadata, size_t count,
                           const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **out);
    void (*ReleaseEp)(OrtEpFactory *factory, OrtEp *ep);
    uint32_t (*GetVendorId)(const OrtEpFactory *factory);
    const char *(*GetVersion)(const OrtEpFactory *factory);
    OrtStatus *(*ValidateCompiledModelCompatibilityInfo)(OrtEpFactory *factory,
                                                         const OrtHardwareDevice *const *devices,
                                                         size_t count, const char *info, int *out);
    OrtStatus *(*CreateAllocator)(OrtEpFactory *factory, const OrtMemoryInfo *memory,
                                  const OrtKeyValuePairs *options, OrtAllocator **out);
    void (*ReleaseAllocator)(OrtEpFactory *factory, OrtAllocator *allocator);
    OrtStatus *(*CreateDataTransfer)(OrtEpFactory *factory, OrtDataTransferImpl **out);
    bool (*IsStreamAware)(const OrtEpFactory *factory);
    OrtStatus *(*CreateSyncStreamForDevice)(OrtEpFactory *factory, const OrtMemoryDevice *memory,
                                            const OrtKeyValuePairs *options, OrtSyncStreamImpl **out);
};

/* The first calls of the table for providers. */
typedef struct OrtEpApi {
    OrtStatus *(*CreateEpDevice)(OrtEpFactory *factory, const OrtHardwareDevice *device,
                                 const OrtKeyValuePairs *metadata, const OrtKeyValuePairs *options,
                                 OrtEpDevice **out);
    void (*ReleaseEpDevice)(OrtEpDevice *device);
    OrtStatus *(*EpGraphSupportInfo_AddNodesToFuse)(OrtEpGraphSupportInfo *support,
                                                    const OrtNode *const *nodes, size_t count,
                                                    const OrtNodeFusionOptions *options);
} OrtEpApi;

/* ---- what the provider exports */

/* NOLINTBEGIN(readability-identifier-naming): ONNX Runtime's names */
OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                             OrtEpFactory **factories, size_t max, size_t *count);
OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);
/* NOLINTEND(readability-identifier-naming) */

#endif
