/* SPDX-License-Identifier: Apache-2.0
 *
 * Models that are lists of operators which name what they take and give (Caffe, Caffe2, MXNet, CoreML):
 * values by name, inputs with the sizes that the user gives, outputs, and the list of what is not supported.
 */
#ifndef VTAC_IMPORT_LAYERED_H
#define VTAC_IMPORT_LAYERED_H

#include "maker.h"
#include "options.h"
#include "vtac/import.h"

typedef struct vtac_layered_value {
    const char *name;
    vtac_id id;
    bool used;      /* some operator took it */
    bool may_end;   /* an operator of the model gave it: an output where nobody takes it */
    uint32_t given; /* when it was given last */
} vtac_layered_value;

typedef struct vtac_layered {
    vtac_import_builder maker;
    const vtac_import_options *options;
    vtac_layered_value *values;
    uint32_t *table; /* places of values by the hash of their names, from 1; 0: none */
    uint32_t count, room, gifts;
    char missing[512]; /* the operators that are not supported */
    const char *missed[16];
    uint32_t missed_count;
} vtac_layered;

vta_status vtac_layered_begin(vtac_layered *l, const char *name, const vtac_import_options *options,
                              vta_diag *diag);

/* The value of that name; a failure in the maker, and 0, where there is none. It counts as used. */
vtac_id vtac_layered_get(vtac_layered *l, const char *name);
/* The value of that name; 0 and no failure where there is none. It counts as used. */
vtac_id vtac_layered_look(const vtac_layered *l, const char *name);
/* The value of an operator, from now on the one of that name. */
void vtac_layered_set(vtac_layered *l, const char *name, vtac_id id);
/* A constant of the model, from now on the value of that name; it is no output where nobody takes it. */
void vtac_layered_set_constant(vtac_layered *l, const char *name, vtac_id id);

/* A text of the model that lives as long as the graph: `size` bytes, what is not printable as '_'; "" after a
 * failure. */
const char *vtac_layered_text(vtac_layered *l, const void *text, size_t size);

/* The node that is imported: for names and messages. */
void vtac_layered_at(vtac_layered *l, const char *name, uint32_t number);

/* An input of the model, with the shape that --shape gives or `type`'s; rank 0: the model has none. Axes of a
 * negative size are open; an open first one is 1. */
vtac_id vtac_layered_input(vtac_layered *l, const char *name, const vtac_type *type);

/* The value of that name becomes an output. */
void vtac_layered_output(vtac_layered *l, const char *name);
/* A value becomes an output of that name. */
void vtac_layered_add_output(vtac_layered *l, const char *name, vtac_id id);
/* All values that operators gave and none took become outputs, in the order in which they were given. */
void vtac_layered_ends(vtac_layered *l);
/* The first failure; `none` is the message where the graph has no output. */
vta_status vtac_layered_outputs(vtac_layered *l, const char *none);

/* Remembers an operator that is not supported. */
void vtac_layered_miss(vtac_layered *l, const char *op);
/* A failure with all of them, where there is one. */
vta_status vtac_layered_missing(vtac_layered *l, const char *what);

/* The graph of what was made; NULL and the first failure, behind the model's path, otherwise. */
vta_status vtac_layered_end(vtac_layered *l, vta_status status, const char *path, vtac_graph **out);

#endif
