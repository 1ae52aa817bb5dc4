/* SPDX-License-Identifier: Apache-2.0
 *
 * Darknet's .cfg files: sections in square brackets, each with lines of name = value.
 */
#ifndef VTAC_DARKNET_CFG_H
#define VTAC_DARKNET_CFG_H

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/import.h"

typedef struct cfg_entry {
    const char *name, *value;
} cfg_entry;

typedef struct cfg_section {
    const char *type; /* without the brackets */
    uint32_t line;    /* where it begins, from 1 */
    cfg_entry *entries;
    size_t count, room;
} cfg_section;

typedef struct cfg_file {
    cfg_section *sections;
    size_t count, room;
} cfg_file;

vta_status cfg_parse(const vtac_model_file *file, vta_arena *arena, cfg_file *out, vta_diag *diag);
void cfg_free(cfg_file *cfg);

/* The value of a name, NULL: it has none. */
const char *cfg_text(const cfg_section *s, const char *name);
/* Numbers; the default where there is none. A value that is no number in the range is an error. */
vta_status cfg_int(const cfg_section *s, const char *name, int64_t otherwise, int64_t least, int64_t most,
                   int64_t *out, vta_diag *diag);
/* The default where there is none, or no number. */
double cfg_float(const cfg_section *s, const char *name, double otherwise);
/* A list with commas; at most `room`. */
vta_status cfg_ints(const cfg_section *s, const char *name, int64_t *out, size_t room, size_t *count,
                    vta_diag *diag);

#endif
