/* SPDX-License-Identifier: Apache-2.0
 *
 * The second way of the importer: models whose course or sizes are known only at run time. Nodes that are
 * static are gathered in segments, imported as ever; the others become instructions (vtac/flow.h).
 *
 * The nodes of a block are taken in turns: first every node that can be static joins the open segment; then
 * the segment is closed, and every instruction that can be given is given. A name stands for a
 * vtac_flow_value, whose number the scope has.
 */
#ifndef VTAC_ONNX_FLOW_H
#define VTAC_ONNX_FLOW_H

#include "import.h"
#include "vtac/flow.h"

typedef struct vtac_flow_value {
    char kind; /* of vta/flow.h */
    vtac_dtype dtype;
    bool known; /* its type is `type` */
    vtac_type type;
    vtac_value_id constant; /* 0: none */
    uint32_t slot;          /* 0: none yet */
    uint32_t segment;       /* the number of the segment in which it is `local`; 0: none */
    vtac_value_id local;
    bool made;    /* there, as opposed to being one of its inputs */
    bool has_row; /* not its type, but that of what stands at each place of its first axis is `row` */
    vtac_type row;
} vtac_flow_value;

typedef struct vtac_flow_builder {
    vtac_importer *im;
    vtac_flow *flow;
    vta_vec values;   /* of vtac_flow_value; 0 is none */
    vta_vec scopes;   /* of vtac_scope *, to be freed */
    uint32_t segment; /* the open one, counted from 1 over all that ever were; 0: none */
    uint32_t last_segment;
    vta_vec seg_inputs, seg_slots; /* of uint32_t: graph inputs of the open one, their slots */
    uint32_t depth;
    uint32_t words; /* that flow_words.c made */
    vtac_scope
        declared; /* names to numbers of the model's declared values, from 1: inputs, then the others */
} vtac_flow_builder;

/* One instruction of a row of vta/flow.def: its words and its outputs' kinds and types. */
typedef struct vtac_flow_row {
    const char *name, *attrs, *outs;
    vta_flow_op op;
} vtac_flow_row;
const vtac_flow_row *vtac_flow_row_of(const Onnx__NodeProto *node);
/* Row of a node in this opset. */
const vtac_flow_row *vtac_flow_row_in(const Onnx__NodeProto *node, int64_t opset);
vta_status vtac_flow_words(vtac_flow_builder *b, const vtac_flow_row *row, const Onnx__NodeProto *node,
                           const vtac_import_place *at, vta_vec *words, vtac_dtype *from_attrs,
                           vta_diag *diag);

/* A node; or, where `node` has become nodes of its own (a branch, a function), names of theirs that are to be
 * known under others. */
typedef struct vtac_flow_node {
    Onnx__NodeProto *node;
    vtac_import_place at;
    uint32_t origin;
    bool done, dynamic;
    const vtac_import_place *inside; /* NULL: a node */
    size_t rename_count;
    char *const *from; /* of these names inside, node's outputs */
} vtac_flow_node;

/* A block on its way: its nodes in turns. */
typedef struct vtac_flow_work {
    vtac_flow_builder *b;
    uint32_t block;
    vta_vec items;   /* of vtac_flow_node */
    size_t first;    /* those before are done */
    uint64_t visits; /* of nodes, in all turns */
    vtac_import_place at;
    const Onnx__GraphProto *graph; /* whose outputs the block is to give */
} vtac_flow_work;

enum { VTAC_FLOW_ENDS = 128 }; /* inputs or outputs of a node that has a body */

/* flow_slots.c */
vta_status vtac_flow_no_memory(vta_diag *diag);
vtac_flow_value *vtac_flow_at(const vtac_flow_builder *b, uint32_t i);
vta_status vtac_flow_add_value(vtac_flow_builder *b, const vtac_flow_value *value, uint32_t *out,
                               vta_diag *diag);
vta_status vtac_flow_add_constant(vtac_flow_builder *b, vtac_value_id id, uint32_t *out, vta_diag *diag);
vta_status vtac_flow_add_slot(vtac_flow_builder *b, char kind, vtac_dtype dtype, const vtac_type *type,
                              uint32_t *out, vta_diag *diag);
vta_status vtac_flow_slot(vtac_flow_builder *b, uint32_t i, uint32_t *out, vta_diag *diag);
vtac_scope *vtac_flow_scope(vtac_flow_builder *b, const vtac_scope *outer);
bool vtac_flow_find(const vtac_import_place *at, const char *name, uint32_t *out);
vta_status vtac_flow_bind(vtac_flow_builder *b, const vtac_import_place *at, const char *name, uint32_t value,
                          vta_diag *diag);
void *vtac_flow_kept(vtac_flow_builder *b, const void *items, size_t bytes);
vta_status vtac_flow_give(vtac_flow_builder *b, uint32_t block, vta_flow_op op, const char *name,
                          const vta_vec *inputs, const vta_vec *outputs, const vta_vec *words,
                          vta_diag *diag);
void vtac_flow_open_segment(vtac_flow_builder *b);
vta_status vtac_flow_segment_input(vtac_flow_builder *b, uint32_t slot, const vtac_type *type,
                                   vtac_value_id *out, vta_diag *diag);
vta_status vtac_flow_use(vtac_flow_builder *b, uint32_t i, vtac_value_id *out, vta_diag *diag);
bool vtac_flow_is_type_alone(const Onnx__NodeProto *node, size_t i);
vta_status vtac_flow_stand_in(vtac_flow_builder *b, vtac_dtype dtype, vtac_value_id *out, vta_diag *diag);
vta_status vtac_flow_finish_segment(vtac_flow_builder *b, uint32_t block, vta_flow_op op, const char *name,
                                    vtac_flow_draft *d, vta_vec *numbers, vta_diag *diag);

/* flow_names.c: tells every name that a node, with its bodies, reads and that `own` has not. */
typedef vta_status vtac_flow_name_fn(void *context, const char *name, vta_diag *diag);
vta_status vtac_flow_node_names(const Onnx__NodeProto *node, const vtac_scope *own, vtac_flow_name_fn *report,
                                void *context, uint32_t depth, vta_diag *diag);

/* flow.c */
bool vtac_flow_is(const Onnx__NodeProto *node, const char *type);
int64_t vtac_flow_opset(const vtac_flow_node *item); /* of ai.onnx, where the node stands */
vta_status vtac_flow_add_nodes(vtac_flow_work *w, const vtac_import_place *at, Onnx__NodeProto *const *nodes,
                               size_t count, const vtac_flow_node *parent, vta_diag *diag);
vta_status vtac_flow_build_block(vtac_flow_builder *b, const vtac_import_place *at,
                                 const Onnx__GraphProto *graph, uint32_t number, vta_diag *diag);

/* flow_ends.c: the model's inputs and outputs, those that are parcels unpacked and packed by instructions;
 * the table of all texts that the model has. */
vta_status vtac_flow_import_ends(vtac_flow_builder *b, const vtac_import_place *at, uint32_t block,
                                 vta_diag *diag);
vta_status vtac_flow_export_ends(vtac_flow_builder *b, const vtac_import_place *at, uint32_t block,
                                 vta_diag *diag);
vta_status vtac_flow_give_texts(vtac_flow_builder *b, uint32_t block, vta_diag *diag);

/* flow_map.c: SequenceMap, as a Loop. */
vta_status vtac_flow_give_map(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);

/* flow_recurrent.c: RNN, GRU and LSTM whose input has no known size, as nodes of their own. */
bool vtac_flow_is_recurrent(const vtac_flow_builder *b, const vtac_flow_node *item);
vta_status vtac_flow_inline_recurrent(vtac_flow_work *w, const vtac_flow_node *given, vta_diag *diag);

/* flow_scan.c: a Scan of opset 8, as nodes of its own. */
vta_status vtac_flow_inline_scan(vtac_flow_work *w, const vtac_flow_node *given, vta_diag *diag);

/* flow_inline.c; the last: these nodes, which see what the node sees; `names` are those of its outputs. */
vta_status vtac_flow_replace(vtac_flow_work *w, const vtac_flow_node *item, Onnx__NodeProto *const *nodes,
                             size_t count, char *const *names, vta_diag *diag);
vta_status vtac_flow_rename_outputs(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);
vta_status vtac_flow_import_constants(vtac_flow_builder *b, const vtac_import_place *at,
                                      const Onnx__GraphProto *graph, vta_diag *diag);
vta_status vtac_flow_inline_branch(vtac_flow_work *w, const vtac_flow_node *given, bool which,
                                   vta_diag *diag);
vta_status vtac_flow_inline_call(vtac_flow_work *w, const vtac_flow_node *given,
                                 const Onnx__FunctionProto *function, vta_diag *diag);

/* flow_give.c */
vta_status vtac_flow_input_slots(vtac_flow_builder *b, const vtac_flow_node *item, vta_vec *slots,
                                 vta_diag *diag);
const vtac_flow_value *vtac_flow_input(const vtac_flow_builder *b, const vtac_flow_node *item, size_t i);
vta_status vtac_flow_add_output(vtac_flow_builder *b, const vtac_flow_node *item, size_t i, char kind,
                                vtac_dtype dtype, const vtac_type *type, vta_vec *slots, vta_diag *diag);
vta_status vtac_flow_give_row(vtac_flow_work *w, const vtac_flow_node *item, const vtac_flow_row *row,
                              vta_diag *diag);

/* True if a node converts numbers to texts or texts to numbers; *to is the type. */
bool vtac_flow_casts_text(const vtac_flow_builder *b, const vtac_flow_node *item, vtac_dtype *to);
vta_status vtac_flow_give_text_cast(vtac_flow_work *w, const vtac_flow_node *item, vtac_dtype to,
                                    vta_diag *diag);

/* flow_rows.c: the shape that the model declares for a value, NULL: none; of an input, what stands at each
 * place of its first axis, where that is known. */
const Onnx__TensorShapeProto *vtac_flow_declared(const vtac_flow_builder *b, const char *name);
bool vtac_flow_row_type(const vtac_flow_builder *b, const vtac_flow_node *item, size_t i, vtac_type *out);
void vtac_flow_set_row(vtac_flow_builder *b, const vtac_flow_node *item, size_t output, const vtac_type *row);

/* flow_batch.c: imports the model as a loop over the rows of its batch, where that alone is open and rows do
 * not meet. *done is false otherwise; the graph is as it was then. */
vta_status vtac_import_batch(vtac_importer *im, vtac_graph **graph, bool *done, vta_diag *diag);

/* flow_piece.c */
vta_status vtac_flow_give_piece(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);

/* flow_window.c: convolutions and pools. */
bool vtac_flow_is_window(const Onnx__NodeProto *node);
vta_status vtac_flow_give_window(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);

/* flow_control.c */
vta_status vtac_flow_new_block(vtac_flow_builder *b, uint32_t *out, vta_diag *diag);
vta_status vtac_flow_give_if(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);
vta_status vtac_flow_give_loop(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);
vta_status vtac_flow_give_scan(vtac_flow_work *w, const vtac_flow_node *item, vta_diag *diag);

#endif
