/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operators' importers share. Each gets its node in `im->node`, reads its inputs as values of the
 * graph, and sets its outputs. Failures stay in the maker.
 *
 * A tensor of rank 4 has up to two values: plain, with the axes of the file, and planes, with the channels on
 * axis 1, as convolutions here want them. Either is made from the other when it is asked for; operators that
 * work on both keep to what there is, so that a whole network stays in planes.
 */
#ifndef VTAC_TENSORFLOW_IMPORT_H
#define VTAC_TENSORFLOW_IMPORT_H

#include "../import/maker.h"
#include "../import/options.h"
#include "graph.h"

typedef struct vtac_tf_value {
    vtac_id plain, planes;
    const char *variable;              /* the name of a variable that this is a handle of; NULL: none */
    struct vtac_tf_list *list;         /* a list of tensors (op_control.c) */
    vtac_id choice;                    /* what a Switch before it asked; 0: there was none */
    bool side, dead;                   /* its branch, and whether that is never taken */
    bool random;                       /* random numbers of training are in it */
    bool truth;                        /* numbers that were true or false */
    const struct vtac_tf_size *rows;   /* the run's count of its rows (rows.c); NULL: all are there */
    const struct vtac_tf_sizes *sizes; /* numbers that are computed from such counts; NULL: they are not */
} vtac_tf_value;

typedef struct vtac_tf_size vtac_tf_size;
typedef struct vtac_tf_sizes vtac_tf_sizes;

/* A number of rows that the run finds: from 0 to `max`. */
typedef struct vtac_tf_count {
    vtac_id value; /* i64, of rank 0 */
    int64_t max;
} vtac_tf_count;

enum { TF_MAX_COUNTS = 1 << 12 };

typedef struct vtac_tf_result {
    vtac_tf_value *out;
    uint32_t count;
    uint8_t state; /* 0: not begun, 1: its inputs are being made, 2: made */
} vtac_tf_result;

/* A call of a function. */
typedef struct vtac_tf_frame {
    const vtac_tf_function *function;
    vtac_tf_result *results; /* of each node */
    vtac_tf_value *args;
} vtac_tf_frame;

typedef struct vtac_tf {
    vtac_import_builder maker;
    const vtac_import_options *options;
    vtac_tf_graph graph;
    vtac_tf_frame *frame;
    const vtac_tf_node *node;
    vtac_tf_value **in;
    uint32_t in_count;
    vtac_tf_result *result; /* of the node */
    int32_t how;            /* what the operator's row says */
    uint32_t depth;         /* of calls */
    bool blamed;            /* the failure names its node */
    uint64_t work;          /* nodes that were visited, in all calls together */
    vtac_tf_count *counts;  /* room for TF_MAX_COUNTS; rows.c */
    uint32_t count_count;
} vtac_tf;

typedef void vtac_tf_import_fn(vtac_tf *im);
typedef struct vtac_tf_operator {
    const char *name;
    uint32_t in_min;
    vtac_tf_import_fn *import;
    int32_t how;
} vtac_tf_operator;
const vtac_tf_operator *vtac_tf_operator_find(const char *name);

enum { TF_MAX_DEPTH = 32, TF_MAX_WORK = 1 << 22 };

/* ---- values (value.c) */
vtac_id vtac_tf_plain_of(vtac_tf *im, vtac_tf_value *v);
vtac_id vtac_tf_plain(vtac_tf *im, uint32_t i); /* input i */
vtac_id vtac_tf_planes(vtac_tf *im, uint32_t i);
bool vtac_tf_in_planes(const vtac_tf *im, uint32_t i); /* only there so far */
/* Input i in the form that it has; `planes` says which. */
vtac_id vtac_tf_either(vtac_tf *im, uint32_t i, bool *planes);
/* Its type, axes as in the file. */
vtac_type vtac_tf_type(vtac_tf *im, uint32_t i);
/* An axis of the file, which may be counted from the end, as it lies in planes or not. */
uint32_t vtac_tf_axis(vtac_tf *im, int64_t axis, uint32_t rank, bool planes);
/* Input i as an operand of something of rank 4 in planes; one channel's number each where it is a vector. */
vtac_id vtac_tf_over_planes(vtac_tf *im, uint32_t i);
/* The contents of input i, which must be known: integers, at most `max`. */
uint32_t vtac_tf_known_ints(vtac_tf *im, uint32_t i, const char *what, int64_t *out, uint32_t max);
int64_t vtac_tf_known_int(vtac_tf *im, uint32_t i, const char *what);
/* The contents of input i, a known number or the first of several; false: not known. */
bool vtac_tf_known_real(vtac_tf *im, uint32_t i, double *out);
vtac_tf_value *vtac_tf_out(vtac_tf *im, uint32_t i); /* output i, to be filled in */
void vtac_tf_set(vtac_tf *im, uint32_t i, vtac_id value);
void vtac_tf_set_planes(vtac_tf *im, uint32_t i, vtac_id value);
void vtac_tf_set_either(vtac_tf *im, uint32_t i, vtac_id value, bool planes);
/* True where the node's data_format has the channels on axis 1. */
bool vtac_tf_channels_first(const vtac_tf *im);
/* x as the graph's own order of axes for windows, and the result in the file's. */
vtac_id vtac_tf_window_input(vtac_tf *im, uint32_t i);
void vtac_tf_set_window(vtac_tf *im, vtac_id y);

/* ---- import.c */
/* Calls a function; `out` gets as many values as it has outputs. False after a failure. */
bool vtac_tf_call(vtac_tf *im, const char *name, vtac_tf_value *args, uint32_t arg_count, vtac_tf_value **out,
                  uint32_t *out_count);
/* A graph that was read, to a graph of ours. */
vta_status vtac_tf_import(vtac_tf *im, vta_diag *diag);

/* Imports the node by its row, whatever its inputs are. */
void vtac_import_row(vtac_tf *im);

/* ---- rows.c: rows that the run counts */
bool vtac_tf_counts_rows(const vtac_tf *im);                    /* among the inputs */
void vtac_tf_import_rows(vtac_tf *im, vtac_tf_import_fn *what); /* the node, with such inputs */

/* ---- loops.c: loops of TensorFlow 1 become While, with functions of the library */
vta_status vtac_tf_close_loops(vtac_tf_graph *g, vta_diag *diag);

/* ---- saved.c and json.c: a file of that kind, to a graph of ours */
vta_status vtac_tf_load_saved(vtac_tf *im, const vtac_model_file *file, vta_diag *diag);
vta_status vtac_tf_load_json(vtac_tf *im, const vtac_model_file *file, vta_diag *diag);

/* ---- bundle.c: variables of a SavedModel */
vta_status vtac_tf_bundle_open(const char *folder, vta_arena *arena, const struct vtac_tf_bundle **out,
                               vta_diag *diag);
/* The contents of a variable by its name, or by the key that the object graph has for it. */
vta_status vtac_tf_bundle_read(const struct vtac_tf_bundle *bundle, const char *name, vta_arena *arena,
                               vtac_tensor *out, vta_diag *diag);

/* ---- recognize.c: what was written in pieces; the sum, difference or quotient of a and b as one operator,
 * 0: it is none */
vtac_id vtac_tf_recognize(vtac_tf *im, vtac_op op, vtac_id a, vtac_id b);

#define TF_OP(name, in_min, fn, how) vtac_tf_import_fn vtac_tf_import_##fn;
#include "operators.def"

#endif
