/* SPDX-License-Identifier: Apache-2.0
 *
 * The graph: typed SSA over tensors with static shapes. Front end, passes, quantizer, partitioner and both
 * back ends see a model as this and nothing else.
 *
 * Nodes and values are 32-bit indices, numbered in the order of their creation and never reused, so that
 * dumps are stable. All memory belongs to the graph's arena: passes allocate and never free. A graph is valid
 * when vtac_graph_verify says so: nodes are in topological order, every value has one producer, types are
 * what the operator's inference gives.
 *
 * Operators have one meaning here, that of ONNX opset 21 (and com.microsoft): the importer rewrites older
 * forms into it.
 */
#ifndef VTAC_GRAPH_H
#define VTAC_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"
#include "vtac/operands.h"

enum { VTAC_MAX_RANK = 8 };

/* Element types:  id, name in text, bytes, kind (f float, i signed, u unsigned, b bool, n narrow: held one to
 * a byte, and computed with by conversion alone; t text: the number of one, vta/flow.h), DLPack's code, bits
 */
/* clang-format off */
#define VTAC_DTYPES(X)                                                                                       \
    X(F32, "f32", 4, 'f', 2, 32)                                                                             \
    X(F64, "f64", 8, 'f', 2, 64)                                                                             \
    X(F16, "f16", 2, 'f', 2, 16)                                                                             \
    X(BF16, "bf16", 2, 'f', 4, 16)                                                                           \
    X(I8, "i8", 1, 'i', 0, 8)                                                                                \
    X(I16, "i16", 2, 'i', 0, 16)                                                                             \
    X(I32, "i32", 4, 'i', 0, 32)                                                                             \
    X(I64, "i64", 8, 'i', 0, 64)                                                                             \
    X(U8, "u8", 1, 'u', 1, 8)                                                                                \
    X(U16, "u16", 2, 'u', 1, 16)                                                                             \
    X(U32, "u32", 4, 'u', 1, 32)                                                                             \
    X(U64, "u64", 8, 'u', 1, 64)                                                                             \
    X(BOOL, "bool", 1, 'b', 6, 8)                                                                            \
    X(F8E4M3FN, "f8e4m3fn", 1, 'n', 10, 8)                                                                   \
    X(F8E4M3FNUZ, "f8e4m3fnuz", 1, 'n', 11, 8)                                                               \
    X(F8E5M2, "f8e5m2", 1, 'n', 12, 8)                                                                       \
    X(F8E5M2FNUZ, "f8e5m2fnuz", 1, 'n', 13, 8)                                                               \
    X(F8E8M0, "f8e8m0", 1, 'n', 14, 8)                                                                       \
    X(F4E2M1, "f4e2m1", 1, 'n', 17, 4)                                                                       \
    X(I4, "i4", 1, 'n', 0, 4)                                                                                \
    X(U4, "u4", 1, 'n', 1, 4)                                                                                \
    X(I2, "i2", 1, 'n', 0, 2)                                                                                \
    X(U2, "u2", 1, 'n', 1, 2)                                                                                \
    X(TEXT, "text", 8, 't', 3, 64)
/* clang-format on */

typedef enum vtac_dtype {
    VTAC_NO_DTYPE, /* an absent optional value */
#define X(id, ...) VTAC_##id,
    VTAC_DTYPES(X)
#undef X
        VTAC_DTYPE_COUNT
} vtac_dtype;

typedef struct vtac_type {
    vtac_dtype dtype;
    uint32_t rank;
    int64_t dim[VTAC_MAX_RANK]; /* each >= 0 */
} vtac_type;

/* A tensor's contents: row-major, borrowed from the arena or a mapped file that the graph keeps. */
typedef struct vtac_tensor {
    vtac_type type;
    const void *data;
    size_t bytes;
} vtac_tensor;

typedef enum vtac_attr_kind {
    VTAC_ATTR_INT,
    VTAC_ATTR_FLOAT,
    VTAC_ATTR_STRING,
    VTAC_ATTR_INTS,
    VTAC_ATTR_FLOATS,
    VTAC_ATTR_STRINGS,
    VTAC_ATTR_TENSOR
} vtac_attr_kind;

typedef struct vtac_attr {
    const char *name;
    vtac_attr_kind kind;
    size_t count; /* of a list */
    union {
        int64_t i;
        double f;
        const char *s;
        const int64_t *ints;
        const double *floats;
        const char *const *strings;
        vtac_tensor tensor;
    };
} vtac_attr;

typedef enum vtac_op {
#define VTAC_OP(id, ...) VTAC_OP_##id,
#include "vtac/ops.def"
    VTAC_OP_COUNT
} vtac_op;

typedef uint32_t vtac_value_id; /* 0: none (an optional input that is absent) */
typedef uint32_t vtac_node_id;  /* 0: none (the value is a graph input or a constant) */

typedef struct vtac_value {
    vtac_type type;
    const char *name;            /* from the model, unique within the graph */
    vtac_node_id node;           /* producer */
    uint32_t output;             /* which of its outputs */
    const vtac_tensor *constant; /* its contents where they are known at compile time */
    bool dead;
    bool nameless; /* the name was made up here */
    /* Kept by the functions below: inputs of live nodes that are this value, places in the list of outputs,
     * and the nodes that have it or had it once as an input. */
    uint32_t node_uses, output_uses;
    uint32_t user_count, user_room;
    vtac_node_id *users;
} vtac_value;

typedef struct vtac_node {
    vtac_op op;
    const char *name; /* of the ONNX node that it came from, for messages and profiles */
    uint32_t origin;  /* index of that node in the model */
    uint32_t input_count, output_count, attr_count;
    const vtac_value_id *inputs; /* vtac_set_input changes one */
    vtac_value_id *outputs;
    vtac_attr *attrs;
    bool dead;
} vtac_node;

/* An input and an output whose value is that input's at the next run, by their names. */
typedef struct vtac_state_name {
    const char *input, *output;
} vtac_state_name;

typedef struct vtac_graph {
    const char *name;
    vtac_value *values; /* [1 … value_count]; slot 0 is "none" */
    vtac_node *nodes;   /* [1 … node_count]; slot 0 is "none" */
    uint32_t value_count, node_count;
    vtac_node_id *order; /* live nodes in execution order */
    uint32_t order_count;
    vtac_value_id *inputs, *outputs;
    uint32_t input_count, output_count;
    /* States: the last so many inputs and outputs. What such an output gives is the input of the next run,
     * zeros that of the first; whoever runs the model sees neither. */
    uint32_t state_count;
    /* States that whoever runs the model carries from run to run, where they were named (vtac/states.h). */
    const vtac_state_name *named_states;
    uint32_t named_state_count;
    vta_arena arena;
    size_t value_room, node_room, order_room, input_room, output_room;
    vtac_value_id *names; /* values by name: a hash table of name_room places, a power of two or 0 */
    size_t name_room;
    struct vtac_flow *flow; /* vtac/flow.h; NULL: the graph is all of the model */
} vtac_graph;

/* An empty graph; NULL without memory. */
vtac_graph *vtac_graph_create(const char *name);
void vtac_graph_destroy(vtac_graph *graph);

/* Builders. Names are copied; an empty or taken name is made unique. They fail for want of memory alone, but
 * vtac_add_node also runs the operator's inference, which may refuse its inputs. New nodes go to the end of
 * the order; vtac_graph_sort puts them where they belong. */
vta_status vtac_add_input(vtac_graph *graph, const char *name, const vtac_type *type, vtac_value_id *out,
                          vta_diag *diag);
vta_status vtac_add_constant(vtac_graph *graph, const char *name, const vtac_tensor *tensor,
                             vtac_value_id *out, vta_diag *diag);
vta_status vtac_add_output(vtac_graph *graph, vtac_value_id value, vta_diag *diag);

typedef struct vtac_node_spec {
    vtac_op op;
    const char *name;
    uint32_t origin;
    const vtac_value_id *inputs;
    uint32_t input_count;
    uint32_t output_count;
    const char *const *output_names; /* NULL, or one each (NULL: made up) */
    const vtac_attr *attrs;          /* copied, lists and strings too; tensor data is borrowed */
    uint32_t attr_count;
} vtac_node_spec;
vta_status vtac_add_node(vtac_graph *graph, const vtac_node_spec *spec, vtac_node_id *out, vta_diag *diag);

/* The value of that name, 0: none. */
vtac_value_id vtac_find_value(const vtac_graph *graph, const char *name);

/* Two values trade their names. */
void vtac_swap_names(vtac_graph *graph, vtac_value_id a, vtac_value_id b);

/* Gives a value a name; whoever had it gets the value's old one. */
vta_status vtac_rename_value(vtac_graph *graph, vtac_value_id value, const char *name, vta_diag *diag);

/* Everything that used `old` uses `new` from now on. */
void vtac_replace_uses(vtac_graph *graph, vtac_value_id old, vtac_value_id new);

/* Gives a node another input i; nothing else may write to `inputs` unless the values stay the same. */
vta_status vtac_set_input(vtac_graph *graph, vtac_node_id node, uint32_t i, vtac_value_id value,
                          vta_diag *diag);

/* Gives a node one more input. */
vta_status vtac_append_input(vtac_graph *graph, vtac_node_id node, vtac_value_id value, vta_diag *diag);

/* Every run is a first one: states are zeros. */
vta_status vtac_forget_states(vtac_graph *graph, vta_diag *diag);

/* Forgets the outputs from number `count` on. */
void vtac_drop_outputs(vtac_graph *graph, uint32_t count);

/* Takes a node out; its outputs must be unused. */
void vtac_remove_node(vtac_graph *graph, vtac_node_id node);

/* Removes nodes and constants whose results nothing uses; returns how many nodes went. */
uint32_t vtac_remove_dead(vtac_graph *graph);

/* Puts the order right after nodes were added in the middle; a cycle is refused with the names in it. */
vta_status vtac_graph_sort(vtac_graph *graph, vta_diag *diag);

/* The invariants at the top of this file. A failure is a bug of a pass, never of a model. */
vta_status vtac_graph_verify(const vtac_graph *graph, vta_diag *diag);

/* Number of uses of a value, by nodes and as a graph output; and the node that is the only user, or 0. */
uint32_t vtac_use_count(const vtac_graph *graph, vtac_value_id value);
vtac_node_id vtac_only_user_of(const vtac_graph *graph, vtac_value_id value);
bool vtac_is_output(const vtac_graph *graph, vtac_value_id value);

/* Types. */
size_t vtac_dtype_bytes(vtac_dtype dtype);
const char *vtac_dtype_name(vtac_dtype dtype);
vtac_dtype vtac_dtype_parse(const char *name); /* VTAC_NO_DTYPE: unknown */
char vtac_dtype_kind(vtac_dtype dtype);
uint8_t vtac_dtype_code(vtac_dtype dtype); /* DLPack's, and bits */
uint8_t vtac_dtype_bits(vtac_dtype dtype);

/* Narrow types (narrow.c): the type that holds their bytes in memory (others: themselves), and whether they
 * are integers. */
vtac_dtype vtac_dtype_held(vtac_dtype dtype);
bool vtac_dtype_is_narrow_int(vtac_dtype dtype);

/* Coding of a narrow float: sign, `exponent` bits, `mantissa` bits. `max` is the code of the largest number,
 * `over` the code beyond it where conversion does not saturate, `nan` the code of NaN. Without a negative
 * zero, zero has no sign. NULL: the type is no narrow float. */
typedef struct vtac_minifloat {
    int exponent, mantissa, bias;
    uint8_t sign, max, over, nan;
    bool has_negative_zero;
} vtac_minifloat;
const vtac_minifloat *vtac_minifloat_of(vtac_dtype dtype);

/* Value of a byte of a narrow type. */
double vtac_narrow_value(vtac_dtype dtype, uint8_t code);
bool vtac_type_equal(const vtac_type *a, const vtac_type *b);

/* Product of the dimensions, or -1 where it does not fit (nor the bytes do). */
int64_t vtac_type_elements(const vtac_type *type);

/* The element of a type that broadcasts to element `i` of the type `to`. */
int64_t vtac_broadcast_at(const vtac_type *type, const vtac_type *to, int64_t i);

/* "f32[1,3,224,224]"; always terminated. */
const char *vtac_type_text(const vtac_type *type, char *text, size_t size);

/* Element `i` of an integer or bool tensor. */
int64_t vtac_tensor_int(const vtac_tensor *tensor, int64_t i);

/* Element `i` of any tensor, as double. */
double vtac_tensor_float(const vtac_tensor *tensor, int64_t i);

/* Attributes; the default where there is none or it has another kind. */
const vtac_attr *vtac_find_attr(const vtac_node *node, const char *name);
int64_t vtac_attr_int(const vtac_node *node, const char *name, int64_t otherwise);
double vtac_attr_float(const vtac_node *node, const char *name, double otherwise);
const char *vtac_attr_string(const vtac_node *node, const char *name, const char *otherwise);

/* Inputs of a node: the type (NULL: absent), and the contents where they are known (NULL: not). */
const vtac_type *vtac_in_type(const vtac_graph *graph, const vtac_node *node, uint32_t i);
const vtac_tensor *vtac_in_constant(const vtac_graph *graph, const vtac_node *node, uint32_t i);
/* Contents of a constant with one element; false: the value is none. */
bool vtac_scalar_of(const vtac_graph *graph, vtac_value_id value, double *out);

/* The one scale of all axes that a Resize has whose policy keeps the aspect ratio; 0: each axis has its own.
 */
double vtac_resize_ratio(const vtac_graph *graph, const vtac_node *node);
/* The whole number that is nearest to a place, as Resize's nearest_mode has it. */
double vtac_resize_nearest(const char *mode, double place);

/* True if two tensors have the same type and contents; if two nodes have the same operator, attributes, and
 * numbers of inputs and outputs. */
bool vtac_same_tensor(const vtac_tensor *a, const vtac_tensor *b);
bool vtac_same_form(const vtac_node *a, const vtac_node *b);

/* The operator table. */
typedef vta_status vtac_infer_fn(const vtac_graph *graph, const vtac_node *node, vtac_type *out,
                                 vta_diag *diag);
enum { VTAC_MANY = 0x7fff, VTAC_TRAIT_COMMUTES = 1 };
typedef struct vtac_op_info {
    const char *name, *domain;
    uint16_t since, in_min, in_max, out_max;
    const char *const *inputs; /* their names; where there may be MANY, those of the first input_count */
    uint16_t input_count;
    vtac_infer_fn *infer;
    uint32_t traits;
} vtac_op_info;
const vtac_op_info *vtac_op_get(vtac_op op);

/* Finds an operator by name and domain ("" and "ai.onnx" are the same); VTAC_OP_COUNT: unknown. */
vtac_op vtac_op_find(const char *domain, const char *name);

/* True if the operator is the compiler's own: no model may hold it. */
bool vtac_op_is_internal(vtac_op op);

/* Output types of a node from its inputs; a sentence that names the node and the fault otherwise. */
vta_status vtac_infer(const vtac_graph *graph, const vtac_node *node, vtac_type *out, vta_diag *diag);

/* Computes a node whose inputs are known and small (column fold): shape arithmetic. False where it is not
 * such a node. */
vta_status vtac_evaluate(vtac_graph *graph, const vtac_node *node, bool *done, vtac_tensor *out,
                         vta_diag *diag);
vta_status vtac_evaluate_up_to(vtac_graph *graph, const vtac_node *node, int64_t max, bool *done,
                               vtac_tensor *out, vta_diag *diag);

/* The text form (src/ir/print.c describes it); owned, NULL without memory. Constants of more than
 * `inline_limit` elements are shown as a checksum, so that a person can read it. */
char *vtac_graph_print(const vtac_graph *graph, int64_t inline_limit);

/* Writes the graph so that it can be read back: long constants are in base64. */
char *vtac_graph_write(const vtac_graph *graph, int64_t inline_limit);

/* Reads the text form; text[size] must be 0, as vta_file_read leaves it. Errors begin with "what:line:column:
 * ". The graph that comes of vtac_graph_write's text has the same text. */
vta_status vtac_graph_parse(const char *text, size_t size, const char *what, vtac_graph **out,
                            vta_diag *diag);

#endif
