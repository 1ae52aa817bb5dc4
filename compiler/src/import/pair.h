/* SPDX-License-Identifier: Apache-2.0
 *
 * Models in two files, the network and its weights, either of which may be given.
 */
#ifndef VTAC_IMPORT_PAIR_H
#define VTAC_IMPORT_PAIR_H

#include "vtac/import.h"

/* The pair that a file belongs to: what it is itself, and the name of the other file. */
typedef struct vtac_file_pair {
    bool weights;         /* this file has the weights, the other is the network */
    const char *what;     /* in messages: "its weights" */
    const char *own;      /* the end of this file's name that is replaced: ".prototxt" */
    const char *ending;   /* by this: ".caffemodel" */
    const char *numbered; /* or by this and digits before the ending: "_iter_" for NAME_iter_70000.caffemodel;
                             or NULL */
    bool only;            /* or the only file of the folder with that ending */
} vtac_file_pair;

/* Makes a graph of a network and the bytes of its weights. */
typedef vta_status vtac_pair_parse_fn(const vtac_model_file *network, const uint8_t *weights, size_t size,
                                      const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* Finds and reads the other file of a pair, in the folder of this one, and parses both; for a network, the
 * file that the user names (--weights) goes before all. A failure says which file is wanted. */
vta_status vtac_load_pair(const vtac_model_file *file, const vtac_file_pair *pair, vtac_pair_parse_fn *parse,
                          const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

#endif
