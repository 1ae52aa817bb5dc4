/* SPDX-License-Identifier: Apache-2.0
 *
 * What the folder of a test case holds: a model of any kind, and sets of inputs and expected outputs. The
 * sets are ONNX's (test_data_set_N/input_K.pb, output_K.pb; .npy does, too), or files beside the model that
 * begin alike: cat_in.npy or cat_in0.npy, cat_in1.npy …, and cat_out0.npy ….
 */
#ifndef VTAC_CLI_VERIFY_FOLDER_H
#define VTAC_CLI_VERIFY_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

enum { VERIFY_FOLDER = 4096, VERIFY_PATH = 4300 };

/* The model of a case: 'model.onnx' of its folder, or else the one file of a kind that is known; or the file
 * that is given in the place of the folder that it lies in. */
vta_status cli_verify_find_model(const char *given, char folder[VERIFY_FOLDER], char path[VERIFY_PATH],
                                 bool *is_onnx, vta_diag *diag);

typedef struct cli_verify_set {
    char begin[VERIFY_PATH]; /* of the names of its files: FOLDER/test_data_set_0, FOLDER/cat */
    bool is_folder;
} cli_verify_set;

/* The set number `i`; *found is false behind the last. */
vta_status cli_verify_find_set(const char *folder, uint32_t i, cli_verify_set *out, bool *found,
                               vta_diag *diag);

/* The file of an input or an output, whether or not it is there. */
void cli_verify_file(const cli_verify_set *set, bool is_input, uint32_t i, char path[VERIFY_PATH]);

#endif
