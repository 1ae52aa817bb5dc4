/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of values: hash tables with the scope around them.
 */
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "vta/fail.h"
#include "vta/hash.h"

static size_t hash_name(const char *name)
{
    return (size_t)vta_hash_text(VTA_HASH_START, name);
}

static size_t slot_of(const vtac_scope *scope, const char *name)
{
    size_t i = hash_name(name) & (scope->room - 1);
    while (scope->slots[i].name != NULL && strcmp(scope->slots[i].name, name) != 0) {
        i = (i + 1) & (scope->room - 1);
    }
    return i;
}

vta_status vtac_scope_set(vtac_scope *scope, const char *name, vtac_value_id value, vta_diag *diag)
{
    if (2 * (scope->count + 1) > scope->room) {
        vtac_scope larger = {.outer = scope->outer, .room = scope->room == 0 ? 64 : 2 * scope->room};
        larger.slots = calloc(larger.room, sizeof *larger.slots);
        if (larger.slots == NULL) {
            return vta_no_memory(diag);
        }
        for (size_t i = 0; i < scope->room; i++) {
            if (scope->slots[i].name != NULL) {
                larger.slots[slot_of(&larger, scope->slots[i].name)] = scope->slots[i];
            }
        }
        free(scope->slots);
        scope->slots = larger.slots;
        scope->room = larger.room;
    }

    const size_t slot = slot_of(scope, name);
    scope->count += scope->slots[slot].name == NULL;
    scope->slots[slot].name = name;
    scope->slots[slot].value = value;
    return VTA_OK;
}

bool vtac_scope_get(const vtac_scope *scope, const char *name, vtac_value_id *value)
{
    for (; scope != NULL; scope = scope->outer) {
        if (scope->room == 0) {
            continue;
        }
        const size_t slot = slot_of(scope, name);
        if (scope->slots[slot].name != NULL) {
            *value = scope->slots[slot].value;
            return true;
        }
    }
    return false;
}
