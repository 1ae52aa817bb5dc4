/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of files for the outputs of a model, whose own names may be anything.
 */
#ifndef VTA_OUTPUT_NAME_H
#define VTA_OUTPUT_NAME_H

#include "vta/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VTA_OUTPUT_NAME = 216 };

/* The name of a file for output `index`, without folder and ending. Characters that no name of a file has
 * become '_', and a name that is too long is cut; where that makes it the name of another output, too, "~"
 * and the number of the output stand behind it. No two outputs of a model have one name: VTA_INVALID where
 * this rule fails. */
vta_status vta_output_name(const vta_model *model, uint32_t index, char name[VTA_OUTPUT_NAME],
                           vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
