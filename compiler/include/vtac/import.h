/* SPDX-License-Identifier: Apache-2.0
 *
 * From a file of any known kind to a graph. Each kind is a row of importers.def: its name, how its first
 * bytes are recognized, how it is loaded. Behind this nothing knows where a model came from.
 */
#ifndef VTAC_IMPORT_H
#define VTAC_IMPORT_H

#include "vtac/graph.h"

/* A shape for one graph input: "name=1x3x224x224" on the command line, or "name=1x3x(64..640)x(64..640)". */
typedef struct vtac_shape_option {
    const char *name;
    uint32_t rank;
    int64_t dim[VTAC_MAX_RANK];
    int64_t max[VTAC_MAX_RANK]; /* of a range from dim on; 0: none, the size is dim */
} vtac_shape_option;

typedef struct vtac_import_options {
    const vtac_shape_option *shapes;
    uint32_t shape_count;
    /* Told, a sentence at a time, what was assumed ("input 'data': batch dimension 'N' taken as 1"). May be
     * NULL. */
    void (*note)(void *context, const char *text);
    void *context;
    bool shapes_hold;    /* `shapes`, whatever the model says */
    bool states;         /* what a model keeps from run to run is kept; else every run is a first one */
    bool dynamic;        /* sizes that the model leaves open stay so: it takes any, at run time */
    const char *weights; /* the file of weights, where a model has one of its own; NULL: beside the model */
    const char *const *outputs; /* names of the values that become the outputs, in this order */
    uint32_t output_count;      /* 0: the outputs are the model's own */
    int64_t cache_tokens,
        new_tokens; /* caches of fixed size, of so many tokens; the new ones of a run. 0: open */
    const vtac_state_name *state_names; /* states that are not found by their names (vtac/states.h) */
    uint32_t state_name_count;
    const char *signature; /* the signature that is taken; NULL: the model's first */
} vtac_import_options;

/* A model in memory. */
typedef struct vtac_model_file {
    const char *path;   /* for messages */
    const char *folder; /* where files that belong to it may lie; NULL: nowhere */
    const uint8_t *bytes;
    size_t size;
} vtac_model_file;

typedef bool vtac_recognize_fn(const vtac_model_file *file);
typedef vta_status vtac_load_fn(const vtac_model_file *file, const vtac_import_options *options,
                                vtac_graph **out, vta_diag *diag);
typedef struct vtac_import_kind {
    const char *name;   /* "TensorFlow Lite" */
    const char *file;   /* what its files are called: ".tflite" */
    const char *marker; /* the file by which a folder of this kind is known; "": a model is no folder */
    bool signatures;    /* a model may have several, of which one is taken */
    vtac_recognize_fn *recognize;
    vtac_load_fn *load;
} vtac_import_kind;

#define VTAC_IMPORTER(name, file, suffix, marker, signatures)                                                \
    vtac_recognize_fn vtac_recognize_##suffix;                                                               \
    vtac_load_fn vtac_load_##suffix;
#include "vtac/importers.def"

/* The kinds, in the order in which they are asked; NULL behind the last. */
const vtac_import_kind *vtac_import_kind_get(size_t i);

/* Reads a model of any kind. Errors name the file, the node and the fault, all unsupported operators at once;
 * a file of no known kind is answered with the kinds and what its first bytes look like. */
vta_status vtac_model_load(const char *path, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag);

/* Reads a model from memory. */
vta_status vtac_model_parse(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                            vta_diag *diag);

/* A Darknet network from memory. */
vta_status vtac_darknet_parse(const vtac_model_file *file, const uint8_t *weights, size_t size,
                              const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* A network of Caffe from memory: the text of the network, and the message with its weights. */
vta_status vtac_caffe_parse(const vtac_model_file *file, const uint8_t *weights, size_t size,
                            const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* A model of MXNet from memory: the symbol, and the arrays. */
vta_status vtac_mxnet_parse(const vtac_model_file *file, const uint8_t *params, size_t size,
                            const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* A net of Caffe2 from memory: the network, and the net that fills its weights. */
vta_status vtac_caffe2_parse(const vtac_model_file *file, const uint8_t *init, size_t size,
                             const vtac_import_options *options, vtac_graph **out, vta_diag *diag);

/* Parses NAME=AxBxC; dims are 0 or more, or a range (A..B). */
vta_status vtac_shape_parse(const char *text, char *name, size_t name_size, vtac_shape_option *out,
                            vta_diag *diag);

#endif
