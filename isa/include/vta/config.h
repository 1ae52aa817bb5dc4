/* SPDX-License-Identifier: Apache-2.0
 *
 * A hardware configuration: read once from JSON, taken at run time by everything else.
 */
#ifndef VTA_CONFIG_H
#define VTA_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum vta_memory {
#define VTA_MEMORY(id, value, name, doc) VTA_MEM_##id = (value),
#include "vta/isa.def"
    VTA_MEM_COUNT
} vta_memory;

/* True if a LOAD of that memory writes WGT. */
static inline bool vta_loads_wgt(int64_t memory)
{
    return memory == VTA_MEM_WGT || memory == VTA_MEM_WGT4;
}

/* The keys of a configuration, and the numbers that follow from them. Plain data: copy it freely. */
typedef struct vta_config {
    char name[32];       /* "pynq"; from the file's name where the file has no NAME */
    char target[32];     /* VTA's TARGET, for display */
    char hw_ver[32];     /* VTA's HW_VER, for display */
    char clock_from[32]; /* where clock_mhz comes from, for display */
    char dram[32];       /* the kind of DRAM that simulated memory is (dram_kind.h); "": flat */

#define VTA_CONFIG(field, key, def, min, max, hw, doc) uint32_t field;
#include "vta/config.def"
#undef VTA_CONFIG

    uint32_t batch, block_in, block_out;
    uint32_t log_depth[VTA_MEM_COUNT];  /* entries of each scratchpad, log2; ACC8 as ACC, WGT4 as WGT */
    uint32_t depth[VTA_MEM_COUNT];      /* entries of each scratchpad */
    uint32_t elem_bytes[VTA_MEM_COUNT]; /* bytes of one element in DRAM */
    uint64_t hash;                      /* of the hardware-visible values */
} vta_config;

/* Parses a configuration text. `what` names it in messages; bad keys and values are refused with key, value
 * and bound. */
vta_status vta_config_parse(const char *text, const char *what, vta_config *out, vta_diag *diag);

/* Reads a configuration by shipped name ("pynq") or by file name (anything with a '/' or ending in ".json").
 */
vta_status vta_config_load(const char *name_or_file, vta_config *out, vta_diag *diag);

/* The shipped configurations: names[0 … count-1], borrowed. */
const char *const *vta_config_names(uint32_t *count);

/* The default configuration: "pynq". */
void vta_config_default(vta_config *out);

/* Writes the configuration as JSON into a fresh string (owned: free()). NULL without memory. */
char *vta_config_to_json(const vta_config *config);

/* Lists the hardware-visible fields that differ, "LOG_BATCH 0 != 1, …", into text; returns how many. */
uint32_t vta_config_diff(const vta_config *a, const vta_config *b, char *text, uint32_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
