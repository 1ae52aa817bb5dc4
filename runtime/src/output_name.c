/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/output_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vta/untrusted.h"

enum {
    WHOLE = 199,
    CUT = 180
}; /* bytes of the longest name that is kept, and of what is left of a longer one */

/* The name of an output as a file may have it; whether that is not the output's own name any more. */
static bool as_file(const vta_model *model, uint32_t index, char name[VTA_OUTPUT_NAME])
{
    const char *own = vta_model_output(model, index).name;
    const size_t size = strlen(own);
    (void)vta_make_plain(own, size, name, (size > WHOLE ? CUT : WHOLE) + 1);
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '/' || *c == ':') {
            *c = '_';
        }
    }
    return strcmp(own, name) != 0;
}

/* With the number where the name has been cut, or changed and another output has it, too. */
static void name_of(const vta_model *model, uint32_t index, char name[VTA_OUTPUT_NAME])
{
    const bool changed = as_file(model, index, name);
    bool shared = strlen(vta_model_output(model, index).name) > WHOLE;
    for (uint32_t i = 0; changed && i < vta_model_output_count(model); i++) {
        char other[VTA_OUTPUT_NAME];
        (void)as_file(model, i, other);
        shared = shared || (i != index && strcmp(other, name) == 0);
    }
    if (shared) {
        const size_t size = strlen(name);
        (void)snprintf(name + size, VTA_OUTPUT_NAME - size, "~%u", index);
    }
}

vta_status vta_output_name(const vta_model *model, uint32_t index, char name[VTA_OUTPUT_NAME], vta_diag *diag)
{
    name_of(model, index, name);
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        char other[VTA_OUTPUT_NAME];
        name_of(model, i, other);
        if (i != index && strcmp(other, name) == 0) {
            return vta_fail(diag, VTA_INVALID,
                            "outputs '%s' and '%s' would be one file, '%s'; rename one of them in the model",
                            vta_model_output(model, index).name, vta_model_output(model, i).name, name);
        }
    }
    return VTA_OK;
}
