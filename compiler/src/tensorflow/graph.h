/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph of TensorFlow in memory, whatever container it lay in: nodes with their attributes, and functions,
 * of which the graph itself is one without arguments. Everything is in the arena of the graph that is made.
 */
#ifndef VTAC_TENSORFLOW_GRAPH_H
#define VTAC_TENSORFLOW_GRAPH_H

#include "../import/protobuf.h"
#include "vtac/import.h"

/* Numbers of DataType that are told apart here. */
enum { TF_STRING = 7, TF_RESOURCE = 20, TF_VARIANT = 21, TF_REFERENCE = 100, TF_OPEN_RANK = 255 };

/* A shape as files have it: -1 is a size that is open. */
typedef struct vtac_tf_shape {
    uint32_t rank; /* TF_OPEN_RANK: not even the rank is known */
    int64_t dim[VTAC_MAX_RANK];
} vtac_tf_shape;

typedef struct vtac_tf_attr {
    const char *name;
    const char *text;    /* a text, or the name of a function; "": none */
    int64_t number;      /* an integer, a truth, or the number of a type */
    double real;         /* a float */
    vtac_tf_shape shape; /* of rank TF_OPEN_RANK where there is none */
    vtac_tensor *tensor;
    int64_t *list; /* integers, or numbers of types */
    uint32_t list_count;
    const char **texts;
    uint32_t text_count;
} vtac_tf_attr;

enum { TF_NOWHERE = INT32_MIN };

/* The source of an input: output `out` of a node, or, below 0, argument -1 - node of the function. */
typedef struct vtac_tf_ref {
    int32_t node;
    uint32_t out;
    const char *text; /* as the file has it */
} vtac_tf_ref;

typedef struct vtac_tf_node {
    const char *name, *op;
    const struct vtac_tf_operator *row; /* of the table; NULL: not taken */
    vtac_tf_ref *inputs;                /* without those that only say "after" */
    uint32_t input_count;
    vtac_tf_attr *attrs;
    uint32_t attr_count;
} vtac_tf_node;

typedef struct vtac_tf_function {
    const char *name;
    const char **args, **outs; /* names */
    vtac_tf_ref *results;      /* what each of `outs` is */
    uint32_t arg_count, out_count;
    vtac_tf_node *nodes;
    uint32_t node_count;
    uint32_t *by_name; /* numbers of nodes in the order of their names */
} vtac_tf_function;

/* An input or output that a signature names. */
typedef struct vtac_tf_end {
    const char *name, *ref; /* "x", "serving_default_x:0" */
    vtac_tf_shape shape;
} vtac_tf_end;

typedef struct vtac_tf_graph {
    vta_arena *arena;
    vtac_tf_function main;
    vtac_tf_function *library;
    uint32_t library_count;
    bool has_signature; /* then the ends are its */
    vtac_tf_end *inputs, *outputs;
    uint32_t input_count, output_count;
    const struct vtac_tf_bundle *variables; /* NULL: there is no file of them */
} vtac_tf_graph;

/* ---- graph.c */

/* Room in the arena, zeroed; a failure is VTA_NOMEM. */
vta_status vtac_tf_room(vta_arena *arena, size_t count, size_t size, void *out, vta_diag *diag);
/* A copy of a text of a file, made fit for a message of one line. */
vta_status vtac_tf_copy(vta_arena *arena, const void *text, size_t size, const char **out, vta_diag *diag);
/* The type of a number of DataType; VTAC_NO_DTYPE: none that is taken. */
vtac_dtype vtac_tf_dtype(int64_t number);
/* The number of a name as TF.js has it ("DT_FLOAT"); 0: unknown. */
int64_t vtac_tf_dtype_number(const char *name);
/* Sorts the nodes' names and finds each input; a name that is there twice is refused. */
vta_status vtac_tf_resolve(const vtac_tf_graph *g, vtac_tf_function *f, vta_diag *diag);
/* The meaning of a text ("node", "node:1", "node:output:0") means in a function; node TF_NOWHERE: nothing. */
vtac_tf_ref vtac_tf_find(const vtac_tf_function *f, const char *text);
const vtac_tf_function *vtac_tf_function_find(const vtac_tf_graph *g, const char *name);

/* Attributes of a node: NULL or `otherwise` where there is none. */
const vtac_tf_attr *vtac_tf_attr_find(const vtac_tf_node *node, const char *name);
int64_t vtac_tf_int(const vtac_tf_node *node, const char *name, int64_t otherwise);
double vtac_tf_real(const vtac_tf_node *node, const char *name, double otherwise);
const char *vtac_tf_text(const vtac_tf_node *node, const char *name, const char *otherwise);

/* ---- proto.c: protobuf */
vta_status vtac_tf_read_graph(vtac_tf_graph *g, vtac_wire message, vta_diag *diag);
vta_status vtac_tf_read_shape(vtac_wire message, vtac_tf_shape *out, vta_diag *diag);

#endif
