/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet's .cfg files: sections in square brackets, each with lines of name = value.
 */
#ifndef VTAC_DARKNET_CFG_H
#define VTAC_DARKNET_CFG_H

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/import.h"

typedef struct vtac_cfg_entry {
    const char *name, *value;
} vtac_cfg_entry;

typedef struct vtac_cfg_section {
    const char *type; /* without the brackets */
    uint32_t line;    /* where it begins, from 1 */
    vtac_cfg_entry *entries;
    size_t count, room;
} vtac_cfg_section;

typedef struct vtac_cfg_file {
    vtac_cfg_section *sections;
    size_t count, room;
} vtac_cfg_file;

vta_status vtac_cfg_parse(const vtac_model_file *file, vta_arena *arena, vtac_cfg_file *out, vta_diag *diag);
void vtac_cfg_free(vtac_cfg_file *cfg);

/* The value of a name, NULL: it has none. */
const char *vtac_cfg_text(const vtac_cfg_section *s, const char *name);
/* Numbers; the default where there is none. A value that is no number in the range is an error. */
vta_status vtac_cfg_int(const vtac_cfg_section *s, const char *name, int64_t otherwise, int64_t min,
                        int64_t max, int64_t *out, vta_diag *diag);
/* The default where there is none, or no number. */
double vtac_cfg_float(const vtac_cfg_section *s, const char *name, double otherwise);
/* A list with commas; at most `room`. */
vta_status vtac_cfg_ints(const vtac_cfg_section *s, const char *name, int64_t *out, size_t room,
                         size_t *count, vta_diag *diag);

#endif
