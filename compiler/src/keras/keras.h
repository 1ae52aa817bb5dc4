/* SPDX-License-Identifier: Apache-2.0
 *
 * What the importers of Keras layers share. A value has up to two forms: plain, as in Keras (channels last),
 * and planes, with the channels on axis 1; either is made from the other when it is asked for.
 */
#ifndef VTAC_KERAS_KERAS_H
#define VTAC_KERAS_KERAS_H

#include <cjson/cJSON.h>

#include "../import/maker.h"
#include "store.h"
#include "vtac/import.h"

typedef struct vtac_keras_value {
    vtac_id plain, planes;
    vtac_id mask; /* which steps count, [batch][steps]; 0: all */
} vtac_keras_value;

enum { KERAS_MAX_INPUTS = 64, KERAS_MAX_WEIGHTS = 48, KERAS_MAX_DEPTH = 8, KERAS_MAX_MORE = 15 };

/* Operand of a call, in the order of the call. */
typedef struct vtac_keras_operand {
    bool is_tensor;
    uint32_t in;       /* a tensor: in[in] */
    const cJSON *list; /* numbers, in lists of lists; NULL: one number */
    double number;
} vtac_keras_operand;

typedef struct vtac_keras {
    vtac_import_builder maker;
    const vtac_import_options *options;
    vtac_keras_store *store;
    bool version3; /* a .keras file */
    uint32_t depth;
    uint64_t work;       /* layers of the models that were written out */
    const cJSON *config; /* of the layer that is imported */
    vtac_keras_value in[KERAS_MAX_INPUTS];
    uint32_t in_count;
    vtac_keras_operand operands[KERAS_MAX_INPUTS];
    uint32_t operand_count;
    const cJSON *kwargs; /* of the call, NULL: none */
    const cJSON *rest;   /* an argument that is neither tensor nor number */
    vtac_tensor weights[KERAS_MAX_WEIGHTS];
    uint32_t weight_count;
    vtac_keras_value more[KERAS_MAX_MORE]; /* outputs of the call behind its first */
    uint32_t more_count;
} vtac_keras;

/* A layer of input 0 (or of in[0] … in[in_count - 1]) and its weights. */
typedef vtac_keras_value vtac_keras_layer_fn(vtac_keras *k, const void *how);
typedef struct vtac_keras_layer {
    const char *name;
    vtac_keras_layer_fn *make;
    const char *how; /* what the row hands to the function */
} vtac_keras_layer;
const vtac_keras_layer *vtac_keras_layer_find(const char *name);
/* Why a class is not taken; NULL: it is, or nobody knows it. */
const char *vtac_keras_why_not(const char *class);

/* ---- options of the layer */
int64_t vtac_keras_int(vtac_keras *k, const char *name, int64_t otherwise);
double vtac_keras_float(vtac_keras *k, const char *name, double otherwise);
bool vtac_keras_bool(vtac_keras *k, const char *name, bool otherwise);
const char *vtac_keras_text(vtac_keras *k, const char *name, const char *otherwise);
/* The option itself, NULL: there is none; a number of it as a whole one. */
const cJSON *vtac_keras_option(const vtac_keras *k, const char *name);
int64_t vtac_keras_whole(const cJSON *item);
/* The one axis that the option "axis" names, as 0 to rank - 1. */
uint32_t vtac_keras_axis(vtac_keras *k, uint32_t rank);
/* A list of exactly `count` integers, or one for all of them. */
void vtac_keras_ints(vtac_keras *k, const char *name, int64_t otherwise, int64_t *out, uint32_t count);

/* True if weights are bytes with scales; the check fails for quantizations that are not supported. */
bool vtac_keras_quantized(const vtac_keras *k);
void vtac_keras_check_quantization(vtac_keras *k, const char *class);

/* ---- values */
vtac_id vtac_keras_plain(vtac_keras *k, vtac_keras_value *v);
vtac_id vtac_keras_planes(vtac_keras *k, vtac_keras_value *v);
uint32_t vtac_keras_rank(vtac_keras *k, const vtac_keras_value *v);
vtac_keras_value vtac_keras_as_plain(vtac_id id);
vtac_keras_value vtac_keras_as_planes(vtac_id id);
vtac_keras_value vtac_keras_as(bool in_planes, vtac_id id);
/* The form that is there; true: planes. */
bool vtac_keras_either(const vtac_keras_value *v, vtac_id *id);
vtac_id vtac_keras_number(vtac_keras *k, double value);
vtac_id vtac_keras_with_float(vtac_keras *k, vtac_op op, vtac_id x, const char *name, double value);
/* Weight i, which must have this rank. */
const vtac_tensor *vtac_keras_weight(vtac_keras *k, uint32_t i, uint32_t rank);
vtac_id vtac_keras_constant(vtac_keras *k, const vtac_tensor *t);
/* An activation by its name, with Keras's default for its parameters. */
vtac_id vtac_keras_activate(vtac_keras *k, vtac_id x, const char *name, int64_t axis);
/* The layer's own activation, channels on `axis`; weight i where the layer has a bias. */
vtac_id vtac_keras_activated(vtac_keras *k, vtac_id x, int64_t axis);
vtac_id vtac_keras_bias(vtac_keras *k, uint32_t i);

/* Imports a model from its configuration and a store that has the layers' weights below /model_weights, as an
 * .h5 file has them. */
vta_status vtac_keras_import(vtac_graph *graph, const vtac_import_options *options, const char *config,
                             vtac_keras_store *store, vta_diag *diag);
/* Names of a file in a message are made fit for one line. */
void vtac_keras_one_line(vta_diag *diag);

/* Layers of Keras 1 in the words of Keras 2, from `item` on; their weights as one for all gates (old.c). */
void vtac_keras_modernize(cJSON *item, uint32_t depth);
void vtac_keras_old_weights(vtac_keras *k, const char *class);
/* A class without the package that it is registered in. */
const char *vtac_keras_bare_class(const char *class);
/* The mask of a layer's result, from those of its inputs (masks.c). */
vtac_id vtac_keras_mask_after(vtac_keras *k, const char *class, const vtac_keras_value *in,
                              uint32_t in_count);
/* Steps x [batch][steps][size] that count moved to the front, and how many: [batch]. */
vtac_id vtac_keras_steps_that_count(vtac_keras *k, vtac_id x, vtac_id mask, vtac_id *lengths);
/* States [batch][steps][size] of those steps as all steps have them: the last one before, or after. */
vtac_id vtac_keras_states_of_all(vtac_keras *k, vtac_id states, vtac_id mask, bool backwards);

/* A function that is called between layers, by its name in small letters (operations.c). */
vtac_keras_layer_fn vtac_keras_make_operation;
/* Operand i as a value, plain or in planes; numbers in lists are plain. */
vtac_id vtac_keras_operand_value(vtac_keras *k, uint32_t i, bool in_planes);
/* True if an item is numbers in nested lists. */
bool vtac_keras_is_numbers(const cJSON *item);
/* x[...]: slices, numbers, new axes and an ellipsis (slices.c). */
vtac_id vtac_keras_item(vtac_keras *k, vtac_id x, const cJSON *spec);
/* TensorFlowOpLayer (op_layer.c): its constants become operands; an option that is one, or an attribute of
 * the node. */
void vtac_keras_take_constants(vtac_keras *k);
const cJSON *vtac_keras_node_option(const vtac_keras *k, const char *name);
vtac_id vtac_keras_strided_slice(vtac_keras *k, vtac_id x);
bool vtac_keras_node_name(const cJSON *config, char *out, size_t size);
bool vtac_keras_counts_corners(const vtac_keras *k);
/* The rest of them (operations_more.c); `known`: it is one. */
vtac_id vtac_keras_more_operations(vtac_keras *k, const char *name, bool *known);
bool vtac_keras_operation_name(const cJSON *node, const char *class, char *out, size_t size);
/* Conv2D: conv2d, ReLU: re_lu. */
void vtac_keras_snake_case(const char *class, char *out, size_t size);

#define KERAS_LAYER(name, fn, how) vtac_keras_layer_fn vtac_keras_make_##fn;
#include "layers.def"

#endif
