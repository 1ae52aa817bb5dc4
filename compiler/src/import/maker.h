/* SPDX-License-Identifier: Apache-2.0
 *
 * How importers build a graph: short calls that add a node and give its value. The first failure stays in the
 * maker; from then on every call gives 0 and does nothing, so that a formula can be written down as it is and
 * asked once at its end. What can be computed now is a constant at once.
 */
#ifndef VTAC_IMPORT_MAKER_H
#define VTAC_IMPORT_MAKER_H

#include "vtac/graph.h"

typedef struct vtac_import_builder {
    vtac_graph *graph;
    vta_diag *diag;
    const char *name; /* of the model's node that is being imported */
    uint32_t origin;  /* its index */
    uint64_t budget;  /* nodes that may still be made */
    bool keeps_rows;  /* numbers that are looked up in a table stay to be seen, though they are known */
    vta_status status;
} vtac_import_builder;

enum { VTAC_BUILDER_NODES = 1 << 20 };

typedef vtac_value_id vtac_id;

/* Remembers a failure. */
__attribute__((format(printf, 3, 4))) void vtac_make_fail(vtac_import_builder *m, vta_status status,
                                                          const char *fmt, ...);

/* Remembers that the model needs something that is not supported (VTA_UNSUPPORTED). */
__attribute__((format(printf, 2, 3))) void vtac_make_refuse(vtac_import_builder *m, const char *fmt, ...);

/* A node of one output. */
vtac_id vtac_make(vtac_import_builder *m, vtac_op op, const vtac_id *inputs, uint32_t input_count,
                  const vtac_attr *attrs, uint32_t attr_count);
/* A node of several. */
void vtac_make_many(vtac_import_builder *m, vtac_op op, const vtac_id *inputs, uint32_t input_count,
                    const vtac_attr *attrs, uint32_t attr_count, vtac_id *out, uint32_t output_count);
/* The node of a specification, whose name and origin are the maker's; its outputs may have names. */
void vtac_make_node(vtac_import_builder *m, const vtac_node_spec *given, vtac_id *out);
vtac_id vtac_make1(vtac_import_builder *m, vtac_op op, vtac_id a);
vtac_id vtac_make2(vtac_import_builder *m, vtac_op op, vtac_id a, vtac_id b);
vtac_id vtac_make3(vtac_import_builder *m, vtac_op op, vtac_id a, vtac_id b, vtac_id c);

/* Constants; the contents are copied. */
vtac_id vtac_make_constant(vtac_import_builder *m, const vtac_type *type, const void *data);
vtac_id vtac_make_ints(vtac_import_builder *m, const int64_t *values, uint32_t count); /* i64, of rank 1 */
vtac_id vtac_make_floats(vtac_import_builder *m, const float *values, int64_t count);  /* f32, of rank 1 */
vtac_id vtac_make_number(vtac_import_builder *m, vtac_dtype dtype, double value);      /* of rank 0 */
/* Zeroed memory of the graph's for contents; NULL after a failure, which is remembered. */
void *vtac_make_room(vtac_import_builder *m, int64_t count, size_t size);
/* A constant whose contents are such memory. */
vtac_id vtac_make_borrowed(vtac_import_builder *m, const vtac_type *type, const void *data);

/* Attributes. */
vtac_attr vtac_attr_of_int(const char *name, int64_t value);
vtac_attr vtac_attr_of_float(const char *name, double value);
vtac_attr vtac_attr_of_string(const char *name, const char *value);
vtac_attr vtac_attr_of_ints(const char *name, const int64_t *values, size_t count);

/* Nodes that importers often need. A function that would change nothing returns its operand. */
vtac_id vtac_make_cast(vtac_import_builder *m, vtac_id x, vtac_dtype to);
vtac_id vtac_make_reshape(vtac_import_builder *m, vtac_id x, const int64_t *dims, uint32_t rank);
/* Becomes a Reshape where axes of one element alone move. */
vtac_id vtac_make_transpose(vtac_import_builder *m, vtac_id x, const int64_t *order, uint32_t rank);
vtac_id vtac_make_concat(vtac_import_builder *m, const vtac_id *parts, uint32_t count, int64_t axis);
/* begin <= x < end with a step of 1 on one axis. */
vtac_id vtac_make_slice(vtac_import_builder *m, vtac_id x, uint32_t axis, int64_t begin, int64_t end);
vtac_id vtac_make_reduce(vtac_import_builder *m, vtac_op op, vtac_id x, const int64_t *axes, uint32_t count,
                         bool keep);
vtac_id vtac_make_clip(vtac_import_builder *m, vtac_id x, double low, double high);
/* Of rows x that are planes with the channels last, the planes' own order, and the weights [n][k] in it,
 * which are known: so that no numbers move. Other rows stay (planes.c). */
void vtac_make_rows_of_planes(vtac_import_builder *m, vtac_id *x, vtac_id *weights);

/* The type of a value, a copy: the next node that is made moves the values. Of id 0 an empty one. */
vtac_type vtac_made_type(const vtac_import_builder *m, vtac_id id);
int64_t vtac_made_elements(const vtac_import_builder *m, vtac_id id);
bool vtac_made_alike(const vtac_import_builder *m, vtac_id a, vtac_id b); /* the same type */
/* Contents of a value, if they are known. */
const vtac_tensor *vtac_made_constant(const vtac_import_builder *m, vtac_id id);

typedef struct vtac_boxes {
    int64_t count, max;         /* boxes that there are, and that are kept at most */
    vtac_id corners, scores;    /* [count][4], [count] */
    vtac_id overlap, min_score; /* numbers */
} vtac_boxes;

/* Places (one, a row of them, or a row of `rank` numbers for each value) and values (one or a row) fit. */
bool vtac_are_places(const vtac_type *at, uint32_t rank, const vtac_type *values);
/* A tensor of this shape that holds `values` at those places, elsewhere the number `rest`. */
vtac_id vtac_make_placed(vtac_import_builder *m, vtac_id at, const int64_t *shape, uint32_t rank,
                         vtac_id values, vtac_id rest);
/* x with `to` rows: cut, or with rows of the number `rest` (0: zeros) behind its own. */
vtac_id vtac_make_row_count(vtac_import_builder *m, vtac_id x, int64_t to, vtac_id rest);
/* The numbers of at most `max` of `boxes` boxes, the best first, that do not overlap, as 64-bit integers;
 * `there` is false behind the last one, where the number is 0. */
vtac_id vtac_make_best_boxes(vtac_import_builder *m, const vtac_boxes *b, vtac_id *there);
/* The angle of the points (x, y), floats, from -pi to pi. */
vtac_id vtac_make_angle(vtac_import_builder *m, vtac_id y, vtac_id x);

#endif
