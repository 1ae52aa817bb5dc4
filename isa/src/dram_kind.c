/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of kinds of DRAM.
 */
#include "vta/dram_kind.h"

#include <string.h>

#include "vta/fail.h"
#include "vta/str.h"

static const vta_dram_kind kinds[] = {
#define VTA_DRAM_KIND(id, name, ...) {name, __VA_ARGS__},
#include "vta/dram_kinds.def"
#undef VTA_DRAM_KIND
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const vta_dram_kind *vta_dram_kind_at(uint32_t index)
{
    return index < KINDS ? &kinds[index] : NULL;
}

const vta_dram_kind *vta_dram_kind_find(const char *name, vta_diag *diag)
{
    vta_str list = {0};
    for (uint32_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            vta_str_free(&list);
            return &kinds[i];
        }
        vta_str_printf(&list, "%s%s", i == 0 ? "" : ", ", kinds[i].name);
    }
    (void)vta_fail(diag, VTA_INVALID, "no kind of DRAM is called '%.64s' (there are %s)", name,
                   list.failed ? "others" : list.text);
    vta_str_free(&list);
    return NULL;
}

vta_status vta_dram_choose(const char *name, vta_dram_kind *out, vta_diag *diag)
{
    *out = (vta_dram_kind){0};
    if (name[0] == '\0' || strcmp(name, "flat") == 0) {
        return VTA_OK;
    }
    const vta_dram_kind *kind = vta_dram_kind_find(name, diag);
    if (kind == NULL) {
        return VTA_INVALID;
    }
    *out = *kind;
    return VTA_OK;
}
