/* SPDX-License-Identifier: Apache-2.0
 *
 * The targets by name. What each one can do is asked of LLVM (../llvm/target.c).
 */
#include <string.h>

#include "llvm.h"

static const vtac_target_row rows[] = {
    {"host", NULL, NULL, NULL, 1.0, "this machine"},
#define VTAC_TARGET(name, triple, cpu, features, speed, doc) {name, triple, cpu, features, speed, doc},
#include "targets.def"
#undef VTAC_TARGET
};

static const char default_target[] = "x86-64-v3";

const vtac_target_row *vtac_targets(size_t *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const char *vtac_board_host(const char *board)
{
    static const char usual[] = "pynq";
    const size_t count = sizeof rows / sizeof rows[0];
    for (size_t i = 1; i < count; i++) {
        if (strcmp(rows[i].name, board) == 0) {
            return rows[i].name;
        }
    }
    return usual;
}

double vtac_host_speed(const char *host)
{
    static const char key[] = "cpu=";
    const size_t count = host != NULL ? sizeof rows / sizeof rows[0] : 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, host) == 0) {
            return rows[i].speed;
        }
    }
    const char *cpu = host != NULL ? strstr(host, key) : NULL;
    for (size_t i = 0; cpu != NULL && i < count; i++) { /* LLVM's words: a row of that processor */
        const size_t length = rows[i].cpu != NULL ? strlen(rows[i].cpu) : 0;
        const char *end = cpu + sizeof key - 1 + length;
        if (length > 0 && strncmp(cpu + sizeof key - 1, rows[i].cpu, length) == 0 &&
            (*end == '\0' || *end == ',')) {
            return rows[i].speed;
        }
    }
    return 1.0;
}

double vtac_host_fold_cost(const char *host)
{
    static const char bare[] = "-none-";
    const double loaded_and_stored =
        9.0; /* by hw/soc's core: a loop of a byte, most of it out of its cache */
    size_t count;
    const vtac_target_row *row = vtac_targets(&count);
    for (size_t i = 0; host != NULL && i < count; i++) {
        if (row[i].triple != NULL && strcmp(row[i].name, host) == 0) {
            host = row[i].triple;
        }
    }
    return host != NULL && strstr(host, bare) != NULL ? loaded_and_stored : 0.0;
}

vta_status vtac_target_find(const char *name, vtac_target *out, vta_diag *diag)
{
    const vtac_llvm_calls *llvm = NULL;
    VTA_TRY(vtac_llvm_get(&llvm, diag));
    return llvm->find(name != NULL ? name : default_target, out, diag);
}
