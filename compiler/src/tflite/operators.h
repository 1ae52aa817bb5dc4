/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of TensorFlow Lite's builtin operators (operators.def).
 */
#ifndef VTAC_TFLITE_OPERATORS_H
#define VTAC_TFLITE_OPERATORS_H

#include "import.h"

typedef void vtac_tflite_import_fn(vtac_tflite *im);
typedef struct vtac_tflite_operator {
    const char *name;
    vtac_tflite_import_fn *import;
    int32_t code;
    uint32_t in_min; /* inputs that it must have */
    int32_t how;     /* what the row hands to the function */
} vtac_tflite_operator;

#define TFL_OP(code, name, min, fn, how) vtac_tflite_import_fn vtac_tflite_import_##fn;
#define TFL_CUSTOM(name, min, fn)        vtac_tflite_import_fn vtac_tflite_import_##fn;
#include "operators.def"

/* NULL: not one that is taken. */
const vtac_tflite_operator *vtac_tflite_operator_find(int32_t code);
const vtac_tflite_operator *vtac_tflite_custom_find(const char *name);
/* Fails if im->graph has an operator that is not taken; names all of the model. */
vta_status vtac_tflite_check_operators(vtac_tflite *im, vta_diag *diag);

#endif
