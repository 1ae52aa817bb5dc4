/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the importer share.
 */
#ifndef VTAC_ONNX_IMPORT_H
#define VTAC_ONNX_IMPORT_H

#include "onnx.pb-c.h"
#include "vta/vec.h"
#include "vtac/onnx.h"

/* Names of values, with the scope around them (subgraphs of If and Loop see outer names; functions do not).
 */
typedef struct vtac_scope {
    const struct vtac_scope *outer;
    struct {
        const char *name;
        vtac_value_id value;
    } * slots;
    size_t count, room; /* room: a power of two, or 0 */
} vtac_scope;

typedef struct vtac_importer {
    const Onnx__ModelProto *model;
    const char *folder;
    const vtac_import_options *options;
    vtac_graph *graph;
    vta_diag *diag;
    uint32_t origin; /* index of the model's node that is being imported */
    uint32_t depth;  /* of nested functions and subgraphs */
    uint64_t budget; /* nodes that may still be made: loops unroll, functions inline */
    bool has_flow;   /* what is known only at run time becomes instructions */
    vtac_scope text_ids;
    vta_vec texts; /* of const char *, by number */
} vtac_importer;

/* One ONNX node in our terms, on its way into the graph; the upgrade rewrites it in place. */
typedef struct vtac_draft {
    const char *op_type, *domain, *name;
    int64_t opset;
    vtac_value_id inputs[1024];
    uint32_t input_count;
    vtac_attr attrs[64];
    uint32_t attr_count;
    uint32_t output_count;
    const Onnx__NodeProto *node; /* that it was made of, and where: its attributes that are graphs */
    const struct vtac_import_place *at;
} vtac_draft;

enum { VTAC_NEWEST_OPSET = 28, VTAC_MAX_INPUTS = 1024, VTAC_MAX_ATTRS = 64, VTAC_MAX_DEPTH = 32 };

/* VTAC_MAX_GROWTH: nodes that may come on top of those that the model has. */
enum { VTAC_MAX_GROWTH = 1 << 18, VTAC_MAX_MODEL_BYTES = 0x7fffffff };

/* Context in which a list of nodes is imported: opsets, names, and the call that led to it. */
typedef struct vtac_import_place {
    vtac_scope *scope;
    Onnx__OperatorSetIdProto *const *opsets;
    size_t opset_count;
    const Onnx__NodeProto *caller; /* of the enclosing function; NULL outside */
} vtac_import_place;

/* scope.c */
vta_status vtac_scope_set(vtac_scope *scope, const char *name, vtac_value_id value, vta_diag *diag);
bool vtac_scope_get(const vtac_scope *scope, const char *name, vtac_value_id *value);

/* attr.c: an attribute in our terms; the one that a function's attribute stands for at a call; one by name
 * (NULL: none). */
vta_status vtac_import_attr(vtac_importer *im, const Onnx__AttributeProto *from, vtac_attr *to,
                            vta_diag *diag);
const Onnx__AttributeProto *vtac_resolve_attr(const Onnx__AttributeProto *attr,
                                              const Onnx__NodeProto *caller);
const Onnx__AttributeProto *vtac_proto_attr(const Onnx__NodeProto *node, const char *name);

/* control.c: If, Loop, a call; a subgraph in a scope of its own, which gives the values of its outputs. */
vta_status vtac_import_body(vtac_importer *im, const vtac_import_place *at, vtac_scope *scope,
                            const Onnx__GraphProto *body, vtac_value_id *outputs, vta_diag *diag);
vta_status vtac_import_if(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                          vta_diag *diag);
vta_status vtac_import_loop(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                            vtac_draft *draft, vta_diag *diag);
vta_status vtac_import_call(vtac_importer *im, const vtac_import_place *at, const Onnx__NodeProto *node,
                            const Onnx__FunctionProto *function, vta_diag *diag);

/* survey.c, inputs.c */
vta_status vtac_check_operators(const vtac_importer *im, vta_diag *diag);
vta_status vtac_check_names(const Onnx__ModelProto *model, vta_diag *diag);
vta_status vtac_import_inputs(vtac_importer *im, vtac_scope *scope, vta_diag *diag);
vta_status vtac_check_shape_options(const vtac_importer *im, vta_diag *diag);

/* flow.c: the model with all that is known only at run time; inputs.c: an input of it. */
struct vtac_flow_end;
vta_status vtac_import_flow(vtac_importer *im, vta_diag *diag);
vta_status vtac_import_input(const vtac_importer *im, const Onnx__ValueInfoProto *info,
                             struct vtac_flow_end *out, vta_diag *diag);

/* import.c: a model of bytes, to be freed by protobuf-c; text of protobuf (never NULL); a domain ("" for
 * ONNX's own); pieces of the walk over nodes. */
const char *vtac_proto_text(const char *text);
const char *vtac_plain_domain(const char *domain);
/* The model as a graph of fixed sizes. What a failure leaves in *out, the caller frees. */
vta_status vtac_import_static(const Onnx__ModelProto *model, const char *folder,
                              const vtac_import_options *options, vtac_graph **out, vta_diag *diag);
vta_status vtac_onnx_unpack(const uint8_t *bytes, size_t size, Onnx__ModelProto **out, vta_diag *diag);
bool vtac_is_made(const Onnx__NodeProto *node); /* by flow_make.c: it is of the newest opset */
const Onnx__FunctionProto *vtac_find_function(const vtac_importer *im, const Onnx__NodeProto *node);
vta_status vtac_charge(vtac_importer *im, vta_diag *diag);
vta_status vtac_look_up(const vtac_import_place *at, const char *name, vtac_value_id *out, vta_diag *diag);
vta_status vtac_bind_outputs(const vtac_import_place *at, const Onnx__NodeProto *node,
                             const vtac_value_id *values, uint32_t count, vta_diag *diag);
vta_status vtac_import_initializers(vtac_importer *im, vtac_scope *scope, const Onnx__GraphProto *graph,
                                    vta_diag *diag);
vta_status vtac_import_nodes(vtac_importer *im, const vtac_import_place *at, Onnx__NodeProto *const *nodes,
                             size_t count, vta_diag *diag);

/* texts.c: the number of a text of the model; only where texts are taken, that is at run time. A tensor, also
 * one of texts; texts as a tensor of one axis. */
vta_status vtac_text_number(vtac_importer *im, const char *text, int64_t *out, vta_diag *diag);
vta_status vtac_import_any_tensor(vtac_importer *im, const Onnx__TensorProto *proto, vtac_tensor *out,
                                  vta_diag *diag);
vta_status vtac_import_texts(vtac_importer *im, const char *const *texts, size_t count, vtac_tensor *out,
                             vta_diag *diag);

/* tensor.c: contents of a TensorProto, converted to row-major little-endian bytes in the arena. */
vta_status vtac_import_tensor(vta_arena *arena, const char *folder, const Onnx__TensorProto *proto,
                              vtac_tensor *out, vta_diag *diag);
vta_status vtac_import_dtype(int64_t onnx_type, vtac_dtype *out, vta_diag *diag);

/* attr.c: element types are numbers in ONNX's attributes of these names, and words here. */
bool vtac_names_a_type(const char *attr);

/* wire.c: refuses a message that nests deeper than our stack likes, before protobuf-c recurses into it. */
vta_status vtac_wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t size,
                           vta_diag *diag);

/* upgrade.c: brings a draft of an old opset into today's form; may add nodes and constants before it and ask
 * for a reshape after it. */
vta_status vtac_upgrade(vtac_importer *importer, vtac_draft *draft, vtac_type *reshape_after, vta_diag *diag);

/* expand.c: makes several nodes of a draft that is not one operator of ours; `done` says whether it was such.
 */
vta_status vtac_expand(vtac_importer *importer, vtac_draft *draft, const char *const *names,
                       vtac_value_id *value, bool *done, vta_diag *diag);

/* compose.c: whether compose.def has a row for it. */
bool vtac_is_composed(const char *domain, const char *name);

/* import.c, for upgrade.c: makes a node (folding it when its inputs are known) and gives its output values.
 */
vta_status vtac_emit(vtac_importer *importer, const vtac_draft *draft, vtac_op op, const char *const *names,
                     vtac_value_id *outputs, vta_diag *diag);
vta_status vtac_emit_ints(vtac_importer *importer, const int64_t *values, uint32_t count, vtac_value_id *out,
                          vta_diag *diag);

#endif
