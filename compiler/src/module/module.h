/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the compiler that stand on a large library each are modules: shared objects beside the program,
 * loaded by the first call that needs them. So a verb that makes no code does not wait for LLVM, and a
 * program without MPI needs none.
 *
 * A module libvtac_NAME.so has one external name, vtac_NAME, a function that gives a structure of calls; its
 * first member is the edition of that structure.
 */
#ifndef VTAC_MODULE_H
#define VTAC_MODULE_H

#include <stdbool.h>

#include "vta/status.h"

typedef struct vtac_module {
    const char *name;
    int edition;
    const char *path; /* of its file; NULL: where it was built or installed with this program */
    bool is_global;   /* what it loads may see its names */
} vtac_module;

/* *calls stays valid for as long as the process lives. VTA_IO: there is no such module, or it does not fit
 * this program. */
vta_status vtac_module_open(const vtac_module *module, const void **calls, vta_diag *diag);

#endif
