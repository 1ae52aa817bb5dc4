/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for ONNX Runtime, so that the provider is driven where the real one is not: a library with the
 * calls of ort_calls.def and ort_host_calls.def in the slots of its table. It loads an ONNX file whose values
 * all have known types, asks the provider what it takes, and runs the rest itself, which can be
 * QuantizeLinear, DequantizeLinear and what only renames a tensor.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include "onnx.pb-c.h"
#include "ort_host.h"

enum { STANDIN_RANK = 8, STANDIN_ROOM = 4096 };

struct OrtStatus {
    int code;
    char text[1024];
};

/* A type with its sizes, which is a tensor's alone here. */
struct OrtTensorTypeAndShapeInfo {
    int type;
    size_t rank;
    int64_t dims[STANDIN_RANK];
};

struct OrtTypeInfo {
    OrtTensorTypeAndShapeInfo tensor;
};

struct OrtValue {
    OrtTensorTypeAndShapeInfo info;
    void *data;
    size_t bytes;
    bool owned;
};

struct OrtValueInfo {
    const char *name;
    OrtTypeInfo type;
    OrtValue *initializer;
    bool is_output;
};

struct OrtOpAttr {
    const Onnx__AttributeProto *proto;
};

struct OrtNode {
    const Onnx__NodeProto *proto; /* NULL: a fused one */
    const OrtValueInfo **inputs, **outputs;
    size_t input_count, output_count;
    OrtOpAttr *attributes;
    struct OrtNode *fused; /* the node that it went into; NULL: none */
    OrtNodeComputeInfo *info;
    void *state;
};

struct OrtGraph {
    Onnx__ModelProto *model;
    OrtValueInfo *values;
    size_t value_count;
    OrtNode *nodes;
    size_t node_count;
    OrtNode **parts; /* fused nodes */
    size_t part_count;
};

struct OrtEpGraphSupportInfo {
    OrtGraph *graph;
};

struct OrtKernelContext {
    const OrtNode *node;
    OrtValue **inputs, **outputs;
};

OrtStatus *standin_status(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The graph of a file; NULL: `status` says why. */
OrtGraph *standin_graph_load(const char *path, OrtStatus **status);
void standin_graph_free(OrtGraph *graph);
OrtValueInfo *standin_graph_value(const OrtGraph *graph, const char *name);

/* A node in the place of `count` nodes. */
OrtStatus *standin_graph_fuse(OrtGraph *graph, const OrtNode *const *nodes, size_t count);

OrtValue *standin_value(const OrtTensorTypeAndShapeInfo *info, void *data);
void standin_value_free(OrtValue *value);

/* Runs the graph: `values` has a value for each of the graph's, inputs and initializers filled in. */
OrtStatus *standin_run(OrtGraph *graph, OrtValue **values);

/* The calls, each in the slot of the table that the two lists give. */
#define ORT_CALL(result, name, slot, parameters) result standin_##name parameters;
#include "ort_calls.def"
#include "ort_host_calls.def"
#undef ORT_CALL

#endif
