/* SPDX-License-Identifier: Apache-2.0
 *
 * What a .tflite file says, checked and in plain structures.
 */
#ifndef VTAC_TFLITE_MODEL_H
#define VTAC_TFLITE_MODEL_H

#include "../import/maker.h"
#include "flat.h"
#include "vtac/import.h"

typedef struct vtac_tflite_tensor {
    const char *name;
    vtac_type type;
    bool open[VTAC_MAX_RANK]; /* sizes that the file leaves open: type has 1 */
    const uint8_t *data;      /* contents that the file has; NULL: none */
    bool variable;
    bool is_resource;     /* a handle of a variable, or of what is not taken */
    uint32_t slot;        /* of a list whose length the run finds (rest.c); 0: it is none */
    uint32_t handle;      /* of the variable, from 1; 0: none */
    uint32_t scale_count; /* quantized; 0: not */
    const float *scale;
    const int64_t *zero; /* as many as scales */
    uint32_t axis;
    vtac_id plain;     /* its value, axes as in the file; 0: not made (yet) */
    vtac_id imaginary; /* of complex numbers, whose real parts are `plain` */
    vtac_id planes;    /* the same with the channels moved from the end to axis 1 */
} vtac_tflite_tensor;

typedef struct vtac_tflite_op {
    const struct vtac_tflite_operator *kind;
    const char *custom; /* name of a custom operator; NULL: it is builtin */
    int32_t code, version;
    const int32_t *inputs, *outputs; /* numbers of tensors; -1: absent */
    const int32_t *intermediates;    /* tensors that only carry scales */
    uint32_t input_count, output_count, intermediate_count;
    vtac_flat_table options;
    vtac_flat_vector custom_options; /* bytes */
} vtac_tflite_op;

typedef struct vtac_tflite_graph {
    vtac_tflite_tensor *tensors;
    uint32_t tensor_count;
    vtac_tflite_op *ops;
    uint32_t op_count;
    const int32_t *inputs, *outputs;
    uint32_t input_count, output_count;
    const char *name;
} vtac_tflite_graph;

typedef struct vtac_tflite_model {
    vtac_flat flat;
    vta_arena *arena;
    const char *path;
    vtac_tflite_graph *graphs; /* the network, and what its operators call */
    uint32_t graph_count, tensor_count;
    const char **input_names, **output_names; /* of the signature; NULL: the tensors' */
    const char **keys;                        /* of the signatures, or the names of the graphs */
    uint32_t key_count;
    bool has_signatures;
    uint32_t chosen; /* the graph that is the network */
} vtac_tflite_model;

/* Sparse contents of `size` bytes, in t->data, as all of them (sparse.c). */
vta_status vtac_tflite_make_dense(vtac_tflite_model *m, vtac_flat_table sparsity, vtac_tflite_tensor *t,
                                  size_t size, vta_diag *diag);

/* Everything points into the file or the arena. `wanted` is the signature that is taken; NULL: the first. */
vta_status vtac_tflite_model_read(const vtac_model_file *file, vta_arena *arena, const char *wanted,
                                  vtac_tflite_model *out, vta_diag *diag);
/* Notes which signatures there are, where there are several and none was asked for. */
void vtac_tflite_list_signatures(const vtac_tflite_model *m, const vtac_import_options *options);

#endif
