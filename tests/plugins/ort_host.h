/* SPDX-License-Identifier: Apache-2.0
 *
 * The side of ONNX Runtime's interface that a program sees which runs models, beside ort_abi.h.
 */
#ifndef ORT_HOST_H
#define ORT_HOST_H

#include <string.h>

#include "ort_abi.h"

typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;

typedef void ort_log_function(void *context, int level, const char *category, const char *id,
                              const char *place, const char *message);

typedef struct ort_host_calls {
#define ORT_CALL(result, name, slot, parameters) result(*name) parameters;
#include "ort_host_calls.def"
#undef ORT_CALL
} ort_host_calls;

static inline void ort_host_calls_of(const OrtApi *api, ort_host_calls *out)
{
    const char *table = (const char *)api;
#define ORT_CALL(result, name, slot, parameters)                                                             \
    memcpy(&out->name, table + (size_t)(slot) * sizeof(void *), sizeof out->name);
#include "ort_host_calls.def"
#undef ORT_CALL
}

#endif
