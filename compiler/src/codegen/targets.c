/* SPDX-License-Identifier: Apache-2.0
 *
 * The targets by name. What each one can do is asked of LLVM (../llvm/target.c).
 */
#include "llvm.h"

static const vtac_target_row rows[] = {
    {"host", NULL, NULL, NULL, "this machine"},
#define VTAC_TARGET(name, triple, cpu, features, doc) {name, triple, cpu, features, doc},
#include "targets.def"
#undef VTAC_TARGET
};

static const char default_target[] = "x86-64-v3";

const vtac_target_row *vtac_targets(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

vta_status vtac_target_find(const char *name, vtac_target *out, vta_diag *diag)
{
    const vtac_llvm_calls *llvm = NULL;
    VTA_TRY(vtac_llvm_get(&llvm, diag));
    return llvm->find(name != NULL ? name : default_target, out, diag);
}
