/* SPDX-License-Identifier: Apache-2.0
 *
 * From nodes to steps. A lowering is a function that gets one node and adds steps, each with one kernel. It
 * reads inputs and writes outputs through vtac_in_at and vtac_out_at; the latter carries the pointwise nodes
 * that follow along, so that fusion is nobody's business but the driver's.
 */
#ifndef VTAC_LOWER_H
#define VTAC_LOWER_H

#include "vta/vec.h"
#include "vtac/codegen.h"
#include "vtac/loop.h"
#include "vtac/quant.h"
#include "vtac/schedules.h"

typedef uint32_t vtac_storage_id; /* 0: none */

typedef enum vtac_storage_kind {
    VTAC_STORAGE_WORKSPACE,
    VTAC_STORAGE_CONSTANT,
    VTAC_STORAGE_INPUT,
    VTAC_STORAGE_OUTPUT,
    VTAC_STORAGE_DEVICE_WORK /* at `offset` from the start of what the accelerator works in */
} vtac_storage_kind;

/* A piece of memory that steps read and write. */
typedef struct vtac_storage {
    vtac_storage_kind kind;
    uint32_t index; /* INPUT, OUTPUT: which */
    uint64_t bytes, offset;
    const void *data;       /* CONSTANT */
    uint32_t first, last;   /* steps that use it */
    vtac_storage_id merged; /* lives in this storage, or 0 */
    bool used;
    bool kept; /* WORKSPACE: from run to run */
} vtac_storage;

typedef struct vtac_step_arg {
    vtac_storage_id storage;
    bool written;
    bool in_place; /* read at the very place that is written: may share memory with the output */
} vtac_step_arg;

typedef struct vtac_step {
    vtac_kernel kernel;
    const char *name, *op;
    uint32_t node;
    vtac_step_arg *args;
    size_t arg_count, arg_room;
    uint64_t flops;
    bool on_accelerator; /* no kernel: a launch of `region`; args: its inputs, its outputs */
    bool moves_state;    /* a copy of its first argument, which is left out where both are one place */
    uint32_t region, input_count;
    uint32_t segment; /* of a model with control flow (vtac/flow.h), from 1 */
} vtac_step;

/* Layout of a value of rank 4 or 5 in memory where it is not row-major: [batch][depth][channels / block]
 * [rows][columns][block], with a border of `filler` around each plane so that windows need no test. A block
 * of 1 keeps the order of the axes; block 0: the value is row-major only. */
typedef struct vtac_layout {
    int64_t block, blocks;
    int64_t before[2], after[2]; /* rows, columns of the border */
    double filler;
    bool natural;        /* what makes the value writes this form; others get it by a copy */
    vtac_value_id whole; /* the value that this one is a part of, from block `first` on; 0: none */
    int64_t first;
} vtac_layout;

/* Kinds of lowering with layouts; PLAIN: the node is lowered without. */
typedef enum vtac_layout_kind {
    VTAC_KIND_PLAIN,
    VTAC_KIND_CONV,
    VTAC_KIND_DEPTHWISE,
    VTAC_KIND_POOL,
    VTAC_KIND_NORM,
    VTAC_KIND_LRN,
    VTAC_KIND_POINTWISE,
    VTAC_KIND_CONCAT
} vtac_layout_kind;

typedef struct vtac_program {
    const vtac_graph *graph;
    const vtac_target *target;
    const struct vtac_partition *partition; /* NULL: all on the host */
    int level;
    bool row_major; /* no blocked layouts */
    bool apart;     /* no elementwise operator in the kernel of what it follows */
    bool once;      /* code that is made quickly rather than quick */
    bool groups;    /* the nests are bound in groups of a GPU, too: none is cut for a processor's cache */
    bool halves;    /* weights that are halves are kept as such (halves.c) */
    const vtac_schedules *schedules;
    const struct vtac_gpu *gpu;    /* its steps as kernels (../gpu/gpu.h); NULL: there are none */
    const vtac_progress *progress; /* NULL: silent */
    vta_arena arena;
    vta_vec steps;             /* of vtac_step * */
    vta_vec storages;          /* of vtac_storage; [0] is "none" */
    vtac_storage_id *of_value; /* where each value lives, row-major */
    vtac_storage_id *laid_out; /* where it lives in its layout; 0: nowhere (yet) */
    vtac_layout *layouts;      /* by value */
    bool *is_plain;            /* of_value holds a value that was written in its layout, too */
    vtac_layout_kind *kinds;   /* by node */
    uint32_t *position;        /* of each node in the order, from 1 */
    uint32_t *segments;        /* of values, where the graph has a flow; else NULL */
    bool *done;                /* nodes that are lowered or fused into another */
    uint64_t workspace_bytes, constant_bytes, unshared_bytes;
    uint64_t known_bytes; /* of the graph's constants */
} vtac_program;

enum { VTAC_MAX_FUSED = 24 };

typedef struct vtac_lower {
    vtac_program *program;
    const vtac_graph *graph;
    const vtac_node *node;
    vtac_step *step;                        /* the one being built */
    vtac_kernel *k;                         /* its kernel */
    const vtac_node *chain[VTAC_MAX_FUSED]; /* pointwise nodes that follow, each fed by the one before */
    uint32_t chain_count;
    const vtac_expr *carried; /* the value of `carried_id` here and now */
    vtac_value_id carried_id;
    /* Within loops over channel blocks: at[1] in its two parts, NULL elsewhere. */
    const vtac_expr *block, *lane;
    vtac_storage_id scales; /* the output scales of scales_of, once something asked for them */
    const vtac_node *scales_of;
    uint32_t segment; /* of the steps that are being made */
    vta_diag *diag;
} vtac_lower;

typedef vta_status vtac_lower_fn(vtac_lower *l);
/* The value of a pointwise node at output index `at`. */
typedef const vtac_expr *vtac_point_fn(vtac_lower *l, const vtac_node *n, const vtac_expr *const *at);

/* The value of a function of one bound value, by the node's attributes alone. */
typedef const vtac_expr *vtac_unary_fn(vtac_lower *l, const vtac_node *n, const vtac_expr *x);

typedef enum vtac_lower_family {
    VTAC_NOT_LOWERED,
    VTAC_POINTWISE,
    VTAC_MAPPED,
    VTAC_CUSTOM,
    VTAC_ALIAS
} vtac_lower_family;
typedef struct vtac_lowering {
    union {
        vtac_point_fn *point; /* POINTWISE, MAPPED: the value of one element of the output */
        vtac_lower_fn *custom;
    };
    vtac_unary_fn *unary; /* of one input: what vtac_point_unary does with its element */
    vtac_expr_op expr;    /* the operation of vtac_point_expr */
    const char *limits;
    vtac_lower_family family;
    bool solo; /* writes an output more than once, or reads it: carries no other node */
} vtac_lowering;
const vtac_lowering *vtac_lowering_of(vtac_op op);

/* Turns the graph into steps; unsupported operators are listed all at once. */
vta_status vtac_lower_graph(vtac_program *program, vta_diag *diag);
/* True if a Transpose is no step: the only product that reads it reads its input instead (matmul.c). */
bool vtac_product_skips(vtac_program *program, const vtac_node *node);
/* Decides where everything lives. */
vta_status vtac_plan(vtac_program *program, vta_diag *diag);
void vtac_program_free(vtac_program *program);

/* ---- layouts (layout.c; layout.h has what the lowerings in layouts need) */

/* Decides the layout of every value. */
vta_status vtac_layout_graph(vtac_program *program, vta_diag *diag);
vtac_layout_kind vtac_layout_kind_of(const vtac_program *program, const vtac_node *node);
/* True if input i of the node, or of a node that is fused to it, is read in its layout. */
bool vtac_layout_reads(const vtac_lower *l, const vtac_node *n, uint32_t i);
/* Copies what the node and its chain read to the form that they read; makes room for what they write. */
vta_status vtac_layout_inputs(vtac_lower *l);
/* After the node's steps: a graph output is copied to its row-major place. */
vta_status vtac_layout_outputs(vtac_lower *l);

/* ---- for lowerings */

/* Bytes of a row of a small matrix that vectors transpose: longer rows take more shuffles for each element.
 */
enum { VTAC_TRANSPOSE_BYTES = 16 };

/* A new step; the ones before are finished. */
vta_status vtac_begin(vtac_lower *l, const char *suffix);

const vtac_type *vtac_type_in(const vtac_lower *l, uint32_t i); /* NULL: absent */
const vtac_type *vtac_type_out(const vtac_lower *l, uint32_t i);
bool vtac_has_in(const vtac_lower *l, uint32_t i);

/* Buffers of the current step. */
vtac_buffer *vtac_in(vtac_lower *l, uint32_t i);
vtac_buffer *vtac_out(vtac_lower *l, uint32_t i);
vtac_buffer *vtac_value_buffer(vtac_lower *l, vtac_value_id id, const char *name);
/* Output i, or what the last fused node makes of output 0. */
vtac_value_id vtac_final_value(const vtac_lower *l, uint32_t i);
vtac_buffer *vtac_use(vtac_lower *l, vtac_storage_id storage, const char *name, vtac_dtype dtype,
                      int64_t elements);
vtac_storage_id vtac_temp(vtac_lower *l, vtac_dtype dtype, int64_t elements);
/* `data` is the arena's. */
vtac_storage_id vtac_constant(vtac_lower *l, const void *data, uint64_t bytes);
/* Floats, or halves where the program keeps such and each of them is one. */
vtac_storage_id vtac_float_constant(vtac_lower *l, const float *data, uint64_t count, vtac_dtype *stored);
vtac_buffer *vtac_local(vtac_lower *l, const char *name, vtac_dtype dtype, int64_t elements);

/* The flat place of index `at` in a row-major type. */
const vtac_expr *vtac_flat(vtac_lower *l, const vtac_type *type, const vtac_expr *const *at);
/* Element of input i; `at` has one index for each axis of it. */
const vtac_expr *vtac_in_at(vtac_lower *l, uint32_t i, const vtac_expr *const *at);
/* Input i of node n as it broadcasts to the output index `at` of that node. */
const vtac_expr *vtac_arg(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at);
/* Reads a parameter that has one value, or one for each place along `axis` of the output. */
const vtac_expr *vtac_axis_arg(vtac_lower *l, const vtac_node *n, uint32_t i, uint32_t axis,
                               const vtac_expr *const *at);
/* Stores element `at` of output i; output 0 goes through the fused nodes first. `value` has the output's
 * type. */
void vtac_out_at(vtac_lower *l, uint32_t i, const vtac_expr *const *at, const vtac_expr *value);
bool vtac_takes_chain(const vtac_node *node);

/* Opens one loop for each axis of a type and fills `at`; vtac_close ends them. The first may be parallel, if
 * there is enough to do: `each` is the work at one place; 0: serial. */
uint32_t vtac_open(vtac_lower *l, const vtac_type *type, const vtac_expr **at, int64_t each);
void vtac_close(vtac_lower *l, uint32_t loops);
/* Opens loops over the axes that are marked (or are not); the others' indices stay. */
uint32_t vtac_open_axes(vtac_lower *l, const vtac_type *type, const bool *marks, bool which,
                        const vtac_expr **at, bool parallel);
vtac_loop_kind vtac_parallel_if(int64_t work);
/* True if the buffer leaves the caches between two runs of the model. */
bool vtac_is_far(const vtac_buffer *buffer);
/* True if a constant leaves the caches between two runs, also because the model's constants are many. */
bool vtac_is_far_constant(const vtac_lower *l, const vtac_buffer *buffer);
/* True if the target is an x86-64; the second function: one with vectors of 64 bytes. */
bool vtac_is_x86(const vtac_lower *l);
bool vtac_is_wide_x86(const vtac_lower *l);
/* Inside a loop whose every round reads `each` elements of a buffer, from `at` on, one round's after the
 * other's: asks for those of a later round, where the buffer is far. */
void vtac_read_ahead(vtac_lower *l, vtac_buffer *buffer, const vtac_expr *at, int64_t each);
/* Prefetches, whether the buffer is far or not. */
void vtac_read_early(vtac_lower *l, vtac_buffer *buffer, const vtac_expr *at, int64_t each);

/* An element of a narrow type as the float32 or the integer that it stands for (others: itself), and back, as
 * Cast and QuantizeLinear do it by the attributes of `n`. */
const vtac_expr *vtac_from_narrow(vtac_lower *l, vtac_dtype dtype, const vtac_expr *x);
const vtac_expr *vtac_to_narrow(vtac_lower *l, const vtac_node *n, vtac_dtype dtype, const vtac_expr *x);
/* Floats cast from any type; `x` itself where it is one. */
const vtac_expr *vtac_to_float(vtac_lower *l, const vtac_expr *x);
/* round(x / scale) + zero, saturated to `dtype`; x and scale are f32. */
const vtac_expr *vtac_requantize(vtac_lower *l, const vtac_expr *x, const vtac_expr *scale,
                                 const vtac_expr *zero, vtac_dtype dtype);
/* QuantizeLinear of float32 to bytes by one scale and one zero point, known ones: whether it is that, and
 * what it makes of x. */
bool vtac_quantizes_by_numbers(const vtac_lower *l, const vtac_node *n);
const vtac_expr *vtac_quantized_number(vtac_lower *l, const vtac_node *n, const vtac_expr *x);
/* clamp(round_half_even(v * scale) + zero) as quant.h has it: v a whole number below 2^29 (any below 2^53
 * where scale is a power of two), the product exact; zero NULL: 0. `is_small`: |v * scale| is known to stay
 * below 2^30. */
const vtac_expr *vtac_rescale(vtac_lower *l, const vtac_expr *v, const vtac_expr *scale, bool is_small,
                              const vtac_expr *zero, vtac_dtype dtype);
/* Rescales |v| up to 2^24, faster. */
const vtac_expr *vtac_rescale_narrow(vtac_lower *l, const vtac_expr *v, const vtac_expr *scale, int32_t zero,
                                     vtac_dtype dtype);
/* Rescales v below 2^24 about the zero point that is input `zero` of the node: one number, or absent. */
const vtac_expr *vtac_rescale_to(vtac_lower *l, const vtac_node *n, const vtac_expr *v,
                                 const vtac_expr *scale, uint32_t zero);
/* x less its zero point, input `zero` of the node, one number or absent; in int32. */
const vtac_expr *vtac_centred(vtac_lower *l, const vtac_node *n, const vtac_expr *x, uint32_t zero);
/* A number of int32 and the zero point, likewise. */
const vtac_expr *vtac_plus_zero(vtac_lower *l, const vtac_node *n, const vtac_expr *q, uint32_t zero);
/* alpha * a * b[channel] / y of three inputs, as quant.h has it. */
const vtac_expr *vtac_output_scale(vtac_lower *l, uint32_t a, uint32_t b, uint32_t y, double alpha,
                                   const vtac_expr *channel);
/* ---- rounding.c: numbers scaled and rounded as the attribute "rounding" of an operator says, by
 * vtac/quant.h */
vtac_rounding vtac_rounding_of(const vtac_node *node);
/* A factor is an i64: the mantissa below, the exponent above. One that is known; a * b[channel] / y of three
 * inputs, which must be known. */
const vtac_expr *vtac_tfl_constant(vtac_lower *l, vtac_tfl_scale scale);
const vtac_expr *vtac_tfl_output_scale(vtac_lower *l, uint32_t a, uint32_t b, uint32_t y, bool narrow,
                                       const vtac_expr *channel);
/* v, an i32 (an i64 for one rounding), scaled to an i32. */
const vtac_expr *vtac_tfl_scaled(vtac_lower *l, const vtac_expr *v, const vtac_expr *scale,
                                 vtac_rounding rounding);
/* An i32 plus its zero point (NULL: 0), saturated. */
const vtac_expr *vtac_tfl_stored(vtac_lower *l, const vtac_expr *v, const vtac_expr *zero, vtac_dtype dtype);
void vtac_range_of(vtac_dtype dtype, double *low, double *high);
vta_status vtac_unsupported(vtac_lower *l, const char *what);

#define EXPR(op)
#define UNARY(fn)
#define POINT(fn)
#define MAP(fn)
#define CUSTOM(fn, text) vtac_lower_fn vtac_lower_##fn;
#define SOLO(fn, text)   vtac_lower_fn vtac_lower_##fn;
#define ALIAS
#define FOLDED(text)
#define VTAC_OP(id, name, domain, since, in_min, in_max, out, operands, infer, traits, fold, lowering, ...)  \
    lowering
#include "vtac/ops.def"
vtac_lower_fn vtac_lower_elements; /* POINTWISE and MAPPED */
/* True if a Transpose is done by small matrices that vectors transpose; and the lowering (turn.c). */
bool vtac_is_matrix_transpose(const vtac_lower *l);
vta_status vtac_lower_matrix_transpose(vtac_lower *l);
/* A loop over the output's elements, each given by a function of the places of others. */
vta_status vtac_lower_mapped(vtac_lower *l, vtac_point_fn *value_at);

#endif
