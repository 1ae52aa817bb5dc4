/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests: what a kernel is between an operator's lowering and LLVM. Buffers with an element type and a
 * fixed number of elements, expressions over scalars, and statements: loops with constant extents, stores,
 * conditions, named values. A loop's kind says how it runs; the schedule primitives change kinds and nesting,
 * never meaning, and refuse what would.
 *
 * Expressions are immutable and may be shared. Floats narrower than 32 bits exist in buffers alone: a load
 * widens to f32, a store rounds to nearest even. Integers wrap. Division of integers truncates; by zero it
 * gives some number, without a trap.
 *
 * Builders return NULL without memory (or for a NULL operand) and remember it: check `failed` at the end.
 */
#ifndef VTAC_LOOP_H
#define VTAC_LOOP_H

#include "vta/str.h"
#include "vtac/graph.h"

/* Operations:  id, name in text, operands */
#define VTAC_EXPR_OPS(X)                                                                                     \
    X(INT, "int", 0)                                                                                         \
    X(FLOAT, "float", 0)                                                                                     \
    X(VAR, "var", 0)                                                                                         \
    X(LOAD, "load", 1)                                                                                       \
    X(QUAD, "quad", 1) /* four bytes, each `i` after the one before, as an i32: the first lowest */          \
    X(CAST, "cast", 1)                                                                                       \
    X(BITS, "bits", 1)                                                                                       \
    X(NEG, "-", 1)                                                                                           \
    X(NOT, "~", 1)                                                                                           \
    X(ABS, "abs", 1)                                                                                         \
    X(FLOOR, "floor", 1)                                                                                     \
    X(CEIL, "ceil", 1)                                                                                       \
    X(TRUNC, "trunc", 1)                                                                                     \
    X(ROUND, "round", 1)                                                                                     \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(EXP, "exp", 1)                                                                                         \
    X(EXPM1, "expm1", 1) /* exp(x) - 1, without loss near 0 */                                               \
    X(LOG, "log", 1)                                                                                         \
    X(LOG1P, "log1p", 1) /* log(1 + x), without loss near 0 */                                               \
    X(SIN, "sin", 1)                                                                                         \
    X(COS, "cos", 1)                                                                                         \
    X(ATAN, "atan", 1)                                                                                       \
    X(TANH, "tanh", 1)                                                                                       \
    X(ERF, "erf", 1)                                                                                         \
    X(ADD, "+", 2)                                                                                           \
    X(SUB, "-", 2)                                                                                           \
    X(MUL, "*", 2)                                                                                           \
    X(DIV, "/", 2)                                                                                           \
    X(REM, "%", 2)                                                                                           \
    X(MIN, "min", 2)                                                                                         \
    X(MAX, "max", 2)                                                                                         \
    X(POW, "pow", 2)                                                                                         \
    X(AND, "&", 2)                                                                                           \
    X(OR, "|", 2)                                                                                            \
    X(XOR, "^", 2)                                                                                           \
    X(SHL, "<<", 2)                                                                                          \
    X(SHR, ">>", 2)                                                                                          \
    X(EQ, "==", 2)                                                                                           \
    X(NE, "!=", 2)                                                                                           \
    X(LT, "<", 2)                                                                                            \
    X(LE, "<=", 2)                                                                                           \
    X(GT, ">", 2)                                                                                            \
    X(GE, ">=", 2)                                                                                           \
    X(SELECT, "select", 3)                                                                                   \
    X(FMA, "fma", 3)     /* floats: rounded once where the target can */                                     \
    X(DOT4, "dot4", 3)   /* i32 + four u8 in an i32 times four i8 in an i32 */                               \
    X(SDOT4, "sdot4", 3) /* the same of four i8 times four i8 */                                             \
    X(DOT2, "dot2", 3)   /* i32 + two i16 in an i32 times two i16 in an i32 */                               \
    X(TILES, "tiles", 0) /* whether the processor, and the system, let tiles be used */                      \
    X(TILE, "tile", 3)   /* a whole matrix of sums: vtac_e_tile */

typedef enum vtac_expr_op {
#define X(id, name, operands) VTAC_E_##id,
    VTAC_EXPR_OPS(X)
#undef X
        VTAC_EXPR_OP_COUNT
} vtac_expr_op;

/* Number of operands of an operation. */
int vtac_expr_operands(vtac_expr_op op);

typedef enum vtac_buffer_space {
    VTAC_BUFFER_ARGUMENT, /* of the kernel */
    VTAC_BUFFER_LOCAL,    /* the thread's, of a few elements: registers where its indices are constant */
    VTAC_BUFFER_SCRATCH,  /* the thread's, in the step's scratch memory */
    VTAC_BUFFER_SHARED    /* of a GPU's work group: its items share it, between barriers */
} vtac_buffer_space;

typedef struct vtac_buffer {
    const char *name;
    vtac_dtype dtype;
    int64_t elements;
    vtac_buffer_space space;
    uint32_t number; /* argument: its place in the step's list */
    uint64_t offset; /* scratch: bytes from its start */
    bool written;
    bool aligned; /* begins at a multiple of 64 bytes */
} vtac_buffer;

typedef struct vtac_expr {
    vtac_expr_op op;
    vtac_dtype type; /* of the result; loop variables are i64, conditions bool */
    uint32_t var;
    const vtac_buffer *buffer;
    const struct vtac_expr *in[3]; /* LOAD, QUAD: the index */
    union {
        int64_t i;
        double f;
    };
} vtac_expr;

typedef enum vtac_loop_kind {
    VTAC_LOOP_SERIAL,
    VTAC_LOOP_PARALLEL, /* outermost alone: its iterations are independent */
    VTAC_LOOP_VECTOR,   /* its iterations are the lanes of vectors */
    VTAC_LOOP_UNROLL,
    VTAC_LOOP_ROLLED, /* serial, and never unrolled: rounds that read the same must not share registers */
    VTAC_LOOP_GROUP,  /* of a GPU, outermost alone: each iteration is a work group's */
    VTAC_LOOP_ITEM,   /* all of a GROUP loop's body: each iteration is an item's of the group */
    /* For vtac_for alone: a SERIAL loop that notes that its rounds may run in any order, and at the same
     * time. Each writes places of its own, or what another one writes there, too, as the last tile of a row
     * does that overlaps the one before it. */
    VTAC_LOOP_APART
} vtac_loop_kind;

typedef enum vtac_stmt_kind {
    VTAC_S_FOR,
    VTAC_S_IF,
    VTAC_S_LET,
    VTAC_S_STORE,
    VTAC_S_AHEAD,
    VTAC_S_BARRIER /* in an ITEM loop, under no condition: all items of the group come here before one goes on
                    */
} vtac_stmt_kind;

typedef struct vtac_stmt {
    vtac_stmt_kind kind;
    struct vtac_stmt *next; /* after this one, in its block */
    struct vtac_stmt *body; /* FOR, IF: first statement */
    vtac_loop_kind loop;    /* FOR */
    uint32_t var;           /* FOR, LET */
    const char *name;       /* of the variable */
    int64_t extent;         /* FOR: 0 … extent-1 */
    vtac_buffer *buffer;    /* STORE, AHEAD */
    const vtac_expr *index; /* STORE, AHEAD */
    const vtac_expr *value; /* STORE, LET; IF: the condition */
    bool later;             /* AHEAD: not into the nearest cache */
    bool apart;             /* FOR: see VTAC_LOOP_APART */
} vtac_stmt;

enum { VTAC_MAX_NESTING = 40 };

typedef struct vtac_kernel {
    vta_arena *arena; /* borrowed: everything lives there */
    const char *name;
    vtac_buffer **buffers;
    size_t buffer_count, buffer_room;
    uint32_t argument_count, var_count;
    uint64_t scratch_bytes;
    vtac_stmt *body;
    bool has_tiles; /* asks for TILES */
    bool failed;    /* memory ran out */
    struct {
        vtac_stmt **tail; /* where the next statement goes, for each open block */
    } open[VTAC_MAX_NESTING];
    uint32_t depth;
} vtac_kernel;

void vtac_kernel_init(vtac_kernel *k, vta_arena *arena, const char *name);
void vtac_kernel_free(vtac_kernel *k); /* its lists; the rest is the arena's */

vtac_buffer *vtac_kernel_buffer(vtac_kernel *k, const char *name, vtac_dtype dtype, int64_t elements,
                                vtac_buffer_space space);

/* ---- expressions. Operands of one operation have one type; the compute type of f16 and bf16 is f32. */
vtac_dtype vtac_compute_type(vtac_dtype dtype);
const vtac_expr *vtac_e_int(vtac_kernel *k, vtac_dtype type, int64_t value);  /* a float type: its value */
const vtac_expr *vtac_e_float(vtac_kernel *k, vtac_dtype type, double value); /* an integer type: rounded */
const vtac_expr *vtac_e_index(vtac_kernel *k, int64_t value);
const vtac_expr *vtac_e_load(vtac_kernel *k, const vtac_buffer *buffer, const vtac_expr *index);
const vtac_expr *vtac_e_quad(vtac_kernel *k, const vtac_buffer *buffer, const vtac_expr *index,
                             int64_t stride);
const vtac_expr *vtac_e1(vtac_kernel *k, vtac_expr_op op, const vtac_expr *a);
const vtac_expr *vtac_e2(vtac_kernel *k, vtac_expr_op op, const vtac_expr *a, const vtac_expr *b);
const vtac_expr *vtac_e3(vtac_kernel *k, vtac_expr_op op, const vtac_expr *a, const vtac_expr *b,
                         const vtac_expr *c);
/* Tiles of a target that has them. Where TILES holds, a value to be stored alone, from the index of the store
 * on: VTAC_TILE rows of as many i32, row r and column c of them start[c] + the sum over w < `words` of DOT4
 * of left[r * words + w] and right[w * VTAC_TILE + c]. The operands are loads of the three first elements;
 * `words` is a multiple of 16. */
enum { VTAC_TILE = 32 };
const vtac_expr *vtac_e_tiles(vtac_kernel *k);
const vtac_expr *vtac_e_tile(vtac_kernel *k, const vtac_expr *start, const vtac_expr *left,
                             const vtac_expr *right, int64_t words);
/* Converts to another type. Float to integer truncates and saturates (NaN gives 0); integers wrap; to bool
 * is "not 0". */
const vtac_expr *vtac_e_cast(vtac_kernel *k, vtac_dtype type, const vtac_expr *a);
const vtac_expr *vtac_e_bits(vtac_kernel *k, vtac_dtype type, const vtac_expr *a);

/* Arithmetic on indices with constants folded. */
const vtac_expr *vtac_i_add(vtac_kernel *k, const vtac_expr *a, const vtac_expr *b);
const vtac_expr *vtac_i_addc(vtac_kernel *k, const vtac_expr *a, int64_t b);
const vtac_expr *vtac_i_mulc(vtac_kernel *k, const vtac_expr *a, int64_t b);
const vtac_expr *vtac_i_divc(vtac_kernel *k, const vtac_expr *a, int64_t b);
const vtac_expr *vtac_i_remc(vtac_kernel *k, const vtac_expr *a, int64_t b);

/* ---- statements, appended to the innermost open block */
const vtac_expr *vtac_for(vtac_kernel *k, vtac_loop_kind kind, int64_t extent, const char *name);
void vtac_if(vtac_kernel *k, const vtac_expr *condition);
void vtac_end(vtac_kernel *k); /* closes the innermost for or if */
const vtac_expr *vtac_let(vtac_kernel *k, const char *name, const vtac_expr *value);
void vtac_store(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index, const vtac_expr *value);
/* The element will be read soon: the processor may fetch its line into the nearest cache. Changes nothing
 * else, and the index may be outside the buffer. */
void vtac_ahead(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index);
/* Prefetches an element that is read later into the cache behind the nearest one. */
void vtac_ahead_later(vtac_kernel *k, vtac_buffer *buffer, const vtac_expr *index);
/* Items of a work group wait for each other; what they stored is seen by all of them. */
void vtac_barrier(vtac_kernel *k);

/* ---- questions */

/* Stride of `e` by a variable: the constant by which `e` grows when the variable grows by one. False: it
 * is no constant. */
bool vtac_expr_stride(const vtac_expr *e, uint32_t var, int64_t *stride);
bool vtac_expr_uses(const vtac_expr *e, uint32_t var);
/* Types agree, variables are defined before use, vector loops hold no loops but unrolled ones and store each
 * lane to its own place, parallel loops are outermost, constant indices lie inside their buffers. */
vta_status vtac_kernel_verify(const vtac_kernel *k, vta_diag *diag);
/* Iterations of the parallel loop; 1 where there is none. */
int64_t vtac_kernel_extent(const vtac_kernel *k);
void vtac_kernel_print(const vtac_kernel *k, vta_str *out);

/* ---- schedule. `var` names a loop; each returns VTA_INVALID with the reason where the change would not be
 * legal. */
vta_status vtac_loop_split(vtac_kernel *k, uint32_t var, int64_t factor, uint32_t *inner, vta_diag *diag);
vta_status vtac_loop_vectorize(vtac_kernel *k, uint32_t var, vta_diag *diag);
/* Two loops, one of which holds nothing but the other, change places. */
vta_status vtac_loop_reorder(vtac_kernel *k, uint32_t outer, uint32_t inner, vta_diag *diag);
/* Fuses two nested loops into one, `outer`. */
vta_status vtac_loop_fuse(vtac_kernel *k, uint32_t outer, uint32_t inner, vta_diag *diag);
vta_status vtac_loop_unroll(vtac_kernel *k, uint32_t var, vta_diag *diag);
vta_status vtac_loop_parallel(vtac_kernel *k, uint32_t var, vta_diag *diag);
/* Splits innermost loops by `lanes` and makes vectors of them, where that is legal; the last one may be
 * shorter. */
void vtac_kernel_vectorize(vtac_kernel *k, int64_t lanes);
/* Named values that are the same in all rounds of a serial loop are computed before it. */
void vtac_kernel_hoist(vtac_kernel *k);

/* Schedule of a finished nest. The loops around the innermost work are its `chain`, the outermost first. All
 * zero or one: the nest stays as it is. */
typedef struct vtac_nest_schedule {
    int64_t swap; /* the how many-th pair of loops that may change places does, from outside; 0: none */
    int64_t
        blocked; /* rounds of the last loop but one that are done side by side in each of the last one's */
    int64_t unrolled; /* rounds of the last one, behind each other */
    bool fused;       /* the two outermost ones are one */
    bool parallel;    /* the outermost one is */
} vtac_nest_schedule;

/* VTA_INVALID, and a nest that is of no use any more, where a part of it is not legal. */
vta_status vtac_nest_apply(vtac_kernel *k, const vtac_nest_schedule *schedule, vta_diag *diag);
/* The legal ones; the first is "as it is". Returns how many, up to `room`; one alone where the nest is large.
 */
uint32_t vtac_nest_schedules(const vtac_kernel *k, vtac_nest_schedule *out, uint32_t room);
/* The extents of the loops of the chain; returns how many there are, `room` at most. */
uint32_t vtac_nest_extents(const vtac_kernel *k, int64_t *extents, uint32_t room);

#endif
