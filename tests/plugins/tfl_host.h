/* SPDX-License-Identifier: Apache-2.0
 *
 * The side of TensorFlow Lite's interface that a program sees which runs models, beside tfl_abi.h.
 */
#ifndef TFL_HOST_H
#define TFL_HOST_H

#include "tfl_abi.h"

typedef struct TfLiteModel TfLiteModel;
typedef struct TfLiteInterpreter TfLiteInterpreter;
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;

typedef struct tfl_host_calls {
#define TFL_CALL(result, name, parameters) result(*name) parameters;
#include "tfl_host_calls.def"
#undef TFL_CALL
} tfl_host_calls;

#endif
