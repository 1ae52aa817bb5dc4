/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that are written as text in the language of README.md: the rows, and how one becomes nodes. The
 * text does not say whether sizes are known: a target does, which makes nodes of a graph of known sizes or
 * nodes over open ones.
 */
#ifndef VTAC_COMPOSE_TEMPLATE_H
#define VTAC_COMPOSE_TEMPLATE_H

#include "vta/arena.h"
#include "vtac/graph.h"

/* A row is an operator or a function: embed.py cuts the files of texts/ into rows. */
typedef struct vtac_template_row {
    const char *domain, *name; /* the domain of a function is "function" */
    uint16_t since;            /* the first opset that has this form */
    int32_t last;              /* the last one; INT32_MAX: today's */
    bool open;                 /* for open sizes alone: with known ones it has a kernel */
    const char *limits;        /* what it does not take */
    const char *file;
    uint32_t line; /* of the text's first character */
    const char *text;
} vtac_template_row;
extern const vtac_template_row vtac_template_rows[]; /* the last has no name */

/* The row of an operator in an opset (0: any); NULL: none. `open`: for open sizes. */
const vtac_template_row *vtac_template_find(const char *domain, const char *name, int64_t opset, bool open);

/* A value of the target: any number but 0, which stands for an absent one. */
typedef uintptr_t vtac_handle;

/* A node that a target is to make. */
typedef struct vtac_template_node {
    const char *domain, *name;
    const vtac_handle *inputs;
    uint32_t input_count;
    const vtac_attr *attrs; /* element types are texts, as in the graph */
    uint32_t attr_count;
    uint32_t output_count;
} vtac_template_node;

/* A place where texts become nodes. The first fault ends the work; its target reports it. */
typedef struct vtac_template_target {
    void *context;
    vta_diag *diag;
    bool open; /* sizes may be known at run time only */

    /* The operator that is composed. */
    const vtac_handle *inputs;
    uint32_t input_count;
    vta_status (*attr)(void *context, const char *name, vtac_attr *out, bool *found, vta_diag *diag);
    const vtac_attr *all_attrs; /* those of the operator, where a text hands them on; NULL: asked by name */
    uint32_t all_attr_count;
    const char *const *output_names; /* outputs without a name (NULL, "") need not be made; NULL: all need */
    uint32_t output_count;

    /* Facts of a value: VTAC_NO_DTYPE and -1 are not known. */
    vtac_dtype (*dtype)(void *context, vtac_handle value);
    int (*rank)(void *context, vtac_handle value);
    int64_t (*dim)(void *context, vtac_handle value, uint32_t axis);
    bool (*whole)(void *context, vtac_handle value, int64_t *out); /* the one integer of a known value */

    /* New values. */
    vta_status (*number)(void *context, vtac_dtype dtype, double value, vtac_handle *out);
    vta_status (*ints)(void *context, const int64_t *values, uint32_t count, vtac_handle *out); /* 1 axis */
    vta_status (*node)(void *context, const vtac_template_node *node, vtac_handle *out);
} vtac_template_target;

/* Makes the nodes of an operator; `out` gets a value for each output of the text, 0 for one not made. */
vta_status vtac_template_make(const vtac_template_row *row, const vtac_template_target *target,
                              vtac_handle *out, uint32_t out_count);

/* Parses every row and resolves every name in it; `known` says which operators there are beside the rows. */
vta_status vtac_template_check(const vtac_template_row *rows,
                               bool (*known)(const char *domain, const char *name), vta_diag *diag);

/* True where a text calls nothing but what is allowed; the domain of the language's own functions is
 * "function". */
bool vtac_template_calls_only(const vtac_template_row *row,
                              bool (*allowed)(const char *domain, const char *name));

/* True where each element of the outputs follows from the elements at its place: over open sizes such an
 * operator stays one, compiled for pieces of its inputs. */
bool vtac_template_is_pointwise(const vtac_template_row *row);

#endif
