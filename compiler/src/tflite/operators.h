/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of TensorFlow Lite's builtin operators (operators.def).
 */
#ifndef VTAC_TFLITE_OPERATORS_H
#define VTAC_TFLITE_OPERATORS_H

#include "import.h"

typedef void tfl_import_fn(tfl *im);
typedef struct tfl_operator {
    const char *name;
    tfl_import_fn *import;
    int32_t code;
    uint32_t in_min; /* inputs that it must have */
    int32_t how;     /* what the row hands to the function */
} tfl_operator;

#define TFL_OP(code, name, least, fn, how) tfl_import_fn tfl_import_##fn;
#define TFL_CUSTOM(name, least, fn)        tfl_import_fn tfl_import_##fn;
#include "operators.def"

/* NULL: not one that is taken. */
const tfl_operator *tfl_operator_find(int32_t code);
const tfl_operator *tfl_custom_find(const char *name);
/* Fails if im->graph has an operator that is not taken; names all of the model. */
vta_status tfl_check_operators(tfl *im, vta_diag *diag);

#endif
