/* SPDX-License-Identifier: Apache-2.0
 *
 * Sequences, optionals and texts from and to files: ONNX's SequenceProto, OptionalProto and TensorProto as
 * parcels (vta/flow.h).
 */
#ifndef VTAC_CLI_PARCELS_H
#define VTAC_CLI_PARCELS_H

#include "tensors.h"
#include "vta/str.h"

/* True if a tensor of a model is a parcel. */
bool cli_is_parcel(const vta_tensor_info *info);

/* The parcel of a file (.pb; of .npy: of one tensor). */
vta_status cli_read_parcel(const char *path, vta_str *out, vta_diag *diag);
/* True if a file's bytes are a list of maps, as ONNX's ZipMap gives them; and reads its numbers: a row
 * for each map. */
bool cli_is_map_list(const void *bytes, size_t size);
vta_status cli_read_map_list(const void *bytes, size_t size, vta_arena *arena, vtac_tensor *out,
                             vta_diag *diag);
/* Gives a parcel to an input. */
vta_status cli_give_parcel(vta_model *model, uint32_t i, const char *path, vta_diag *diag);

/* Compares two parcels, numbers within the tolerances; diag has the first difference as a sentence. */
vta_status cli_compare_parcels(const void *got, size_t got_bytes, const void *expected, size_t expected_bytes,
                               double rtol, double atol, vta_diag *diag);

/* Describes a parcel for a reader: its types, and its texts. */
void cli_parcel_text(const void *parcel, size_t bytes, vta_str *out);

/* Writes a .pb file: what cli_read_parcel takes. */
vta_status cli_write_parcel(const char *path, const void *parcel, size_t bytes, vta_diag *diag);

#endif
