/* SPDX-License-Identifier: Apache-2.0
 *
 * Failure inside a library of ours: the sentence for a failed allocation, and cleanup by `goto out`.
 *
 * A function that frees something on its way out has one variable `status` and one label `out`:
 *
 *     vta_status status = VTA_OK;
 *     VTA_TRY_OUT(read_header(file, &header, diag));
 *     VTA_TRY_OUT(read_body(file, &header, diag));
 * out:
 *     free(header.text);
 *     return status;
 *
 * A variable that the cleanup reads is set before the first VTA_TRY_OUT. Alternatively an inner function
 * returns by VTA_TRY and its caller frees.
 */
#ifndef VTA_FAIL_H
#define VTA_FAIL_H

#include <stdbool.h>

#include "vta/status.h"

/* Reports a failed allocation; returns VTA_NOMEM. */
static inline vta_status vta_no_memory(vta_diag *diag)
{
    return vta_fail(diag, VTA_NOMEM, "out of memory");
}

/* VTA_OK where an allocation succeeded, else reports that it failed. */
static inline vta_status vta_allocated(bool succeeded, vta_diag *diag)
{
    return succeeded ? VTA_OK : vta_no_memory(diag);
}

/* Puts the outcome of `expr` in `status` and jumps to `out` where it is a failure. */
#define VTA_TRY_OUT(expr)                                                                                    \
    do {                                                                                                     \
        status = (expr);                                                                                     \
        if (status != VTA_OK) {                                                                              \
            goto out;                                                                                        \
        }                                                                                                    \
    } while (0)

#endif
