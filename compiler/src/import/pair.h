/* SPDX-License-Identifier: Apache-2.0
 *
 * Models in two files, the network and its weights, either of which names the pair.
 */
#ifndef VTAC_IMPORT_PAIR_H
#define VTAC_IMPORT_PAIR_H

#include "vtac/import.h"

/* The name of the other file. */
typedef struct vtac_file_pair {
    const char *what;     /* in messages: "its weights" */
    const char *own;      /* the end of this file's name that is replaced: ".prototxt" */
    const char *ending;   /* by this: ".caffemodel" */
    const char *numbered; /* or by this and digits before the ending: "_iter_" for NAME_iter_70000.caffemodel;
                             or NULL */
    bool only;            /* or the only file of the folder with that ending */
} vtac_file_pair;

/* Finds and reads the other file of a pair, in the folder of this one; `given` (--weights) goes before all. A
 * failure says which file is wanted. *path and *bytes are owned (free()). */
vta_status vtac_pair_read(const vtac_model_file *file, const vtac_file_pair *pair, const char *given,
                          char **path, uint8_t **bytes, size_t *size, vta_diag *diag);

#endif
