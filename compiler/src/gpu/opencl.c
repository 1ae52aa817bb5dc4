/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests as OpenCL C 1.2. Vector loops become vector types of 2, 4, 8 or 16 lanes, several after the
 * other where a loop has more; what has no form with vectors is printed lane by lane. Unrolled loops are
 * written out, so that indices into a nest's local buffers are constants and compilers keep these in
 * registers.
 *
 * A condition is an int: 0 or 1 as a scalar, 0 or -1 in each lane of a vector.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "walk.h"

enum { MAX_LANES = 16, ALIGNMENT = 64 };

typedef struct opencl_printer {
    vtac_walker walk;
    bool doubles;
    const char *missing; /* what has no form here */
} opencl_printer;

/* ---- types */

static const char *type_name(vtac_dtype dtype)
{
    switch (vtac_dtype_kind(dtype)) {
    case 'f': return dtype == VTAC_F64 ? "double" : "float";
    case 'b': return "int";
    default: break;
    }
    const bool sign = vtac_dtype_kind(dtype) == 'i';
    switch (vtac_dtype_bytes(dtype)) {
    case 1: return sign ? "char" : "uchar";
    case 2: return sign ? "short" : "ushort";
    case 4: return sign ? "int" : "uint";
    default: return sign ? "long" : "ulong";
    }
}

static const char *memory_name(vtac_dtype dtype)
{
    return dtype == VTAC_BOOL   ? "uchar"
           : dtype == VTAC_F16  ? "half"
           : dtype == VTAC_BF16 ? "ushort"
                                : type_name(dtype);
}

static const char *unsigned_name(vtac_dtype dtype)
{
    static const char *const names[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    return names[vtac_dtype_bytes(dtype)];
}

static bool is_float(vtac_dtype dtype)
{
    return vtac_dtype_kind(dtype) == 'f';
}

static bool is_signed(vtac_dtype dtype)
{
    return vtac_dtype_kind(dtype) == 'i';
}

/* "8" of float8, "" of float. */
static const char *suffix_of(unsigned lanes)
{
    return lanes == 1 ? "" : lanes == 2 ? "2" : lanes == 4 ? "4" : lanes == 8 ? "8" : "16";
}

/* ---- text */

static void put_text(const opencl_printer *p, const char *text)
{
    vtac_walk_text(&p->walk, text);
}

/* A type between two texts: "convert_", "float", 8, "(". */
static void put_form(const opencl_printer *p, const char *before, const char *type, unsigned lanes,
                     const char *after)
{
    vta_str_printf(p->walk.out, "%s%s%s%s", before, type, suffix_of(lanes), after);
}

/* Opens a reading of the same bits as another type of integers, or, of one lane, of a number of any width. */
static void put_as(const opencl_printer *p, const char *type, unsigned lanes)
{
    put_form(p, lanes > 1 ? "as_" : "(", type, lanes, lanes > 1 ? "(" : ")(");
}

/* ---- what is printed, and as what */

static bool is_vector(const opencl_printer *p, const vtac_expr *e)
{
    return vtac_lanes_is_vector(&p->walk.at, e);
}

static unsigned lanes_of(const opencl_printer *p, const vtac_expr *e)
{
    return vtac_lanes_of(&p->walk.at, e);
}

static void put_expr(opencl_printer *p, const vtac_expr *e);

static void put_at_lane(opencl_printer *p, const vtac_expr *e, int lane)
{
    const int was = p->walk.at.lane;
    p->walk.at.lane = lane;
    put_expr(p, e);
    p->walk.at.lane = was;
}

/* With `lanes` lanes, those of a scalar all the same. */
static void put_spread(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    if (lanes == lanes_of(p, e)) {
        put_expr(p, e);
        return;
    }
    put_form(p, "(", type_name(e->type), lanes, e->type == VTAC_BOOL ? ")(-" : ")(");
    put_expr(p, e);
    put_text(p, ")");
}

/* Prints a vector lane by lane, which every expression allows. */
static void put_lanes(opencl_printer *p, const vtac_expr *e)
{
    vta_str_printf(p->walk.out, "(%s%u)(", type_name(e->type), p->walk.at.lanes);
    for (unsigned i = 0; i < p->walk.at.lanes; i++) {
        put_text(p, i > 0 ? ", " : "");
        put_text(p, e->type == VTAC_BOOL ? "-" : "");
        put_at_lane(p, e, (int)i);
    }
    put_text(p, ")");
}

/* ---- leaves */

static void put_signed(const opencl_printer *p, int64_t value, int64_t min, const char *name,
                       const char *suffix)
{
    if (value == min) {
        put_text(p, name);
    } else {
        vta_str_printf(p->walk.out, "%s%" PRId64 "%s%s", value < 0 ? "(" : "", value, suffix,
                       value < 0 ? ")" : "");
    }
}

static void put_integer(opencl_printer *p, vtac_dtype type, int64_t value)
{
    if (type == VTAC_I64) {
        put_signed(p, value, INT64_MIN, "LONG_MIN", "L");
    } else if (type == VTAC_U64) {
        vta_str_printf(p->walk.out, "%" PRIu64 "UL", (uint64_t)value);
    } else if (type == VTAC_U32) {
        vta_str_printf(p->walk.out, "%" PRIu32 "U", (uint32_t)value);
    } else if (type == VTAC_I32) {
        put_signed(p, (int32_t)value, INT32_MIN, "INT_MIN", "");
    } else if (type == VTAC_BOOL) {
        put_text(p, value != 0 ? "1" : "0");
    } else {
        vta_str_printf(p->walk.out, "(%s)(%" PRId64 ")", type_name(type), value);
    }
}

static void put_float(opencl_printer *p, vtac_dtype type, double value)
{
    const bool wide = type == VTAC_F64;
    p->doubles = p->doubles || wide;
    if (isnan(value) || isinf(value)) {
        vta_str_printf(p->walk.out, "(%s)(%s)", wide ? "double" : "float",
                       isnan(value) ? "NAN"
                       : value < 0  ? "-INFINITY"
                                    : "INFINITY");
        return;
    }
    const double held = wide ? value : (double)(float)value;
    if (isinf(held)) {
        put_float(p, type, held);
        return;
    }
    vta_str_printf(p->walk.out, "(%a%s)", held, wide ? "" : "f");
}

static void put_variable(opencl_printer *p, const vtac_expr *e)
{
    const vtac_lane_var *v = &p->walk.at.vars[e->var];
    if (v->kind == VTAC_LANE_NUMBER) {
        put_integer(p, e->type, v->number);
    } else if (v->kind == VTAC_LANE_LANE && p->walk.at.lane != VTAC_ALL_LANES) {
        put_integer(p, e->type, v->number + p->walk.at.lane);
    } else if (v->kind == VTAC_LANE_LANE) {
        put_lanes(p, e);
    } else if (v->kind == VTAC_LANE_VECTOR && p->walk.at.lane != VTAC_ALL_LANES) {
        vta_str_printf(p->walk.out, "(%sv%u.s%x)", e->type == VTAC_BOOL ? "-" : "", e->var,
                       (unsigned)p->walk.at.lane);
    } else {
        vta_str_printf(p->walk.out, "v%u", e->var);
    }
}

static void put_buffer(const opencl_printer *p, const vtac_buffer *buffer)
{
    vta_str_printf(p->walk.out, "b%zu", vtac_lanes_buffer(&p->walk.at, buffer));
}

/* ---- loads */

static int lane_step(const opencl_printer *p, const vtac_expr *index)
{
    return vtac_lanes_step(&p->walk.at, index);
}

static void put_element(opencl_printer *p, const vtac_buffer *buffer, const vtac_expr *index)
{
    const char *around[] = {"", ""};
    if (buffer->dtype == VTAC_F16) {
        put_text(p, "vload_half(");
        put_expr(p, index);
        put_text(p, ", ");
        put_buffer(p, buffer);
        put_text(p, ")");
        return;
    }
    if (buffer->dtype == VTAC_BOOL) {
        around[0] = "(";
        around[1] = " != 0)";
    } else if (buffer->dtype == VTAC_BF16) {
        around[0] = "as_float((uint)";
        around[1] = " << 16)";
    }
    put_text(p, around[0]);
    put_buffer(p, buffer);
    put_text(p, "[");
    put_expr(p, index);
    vta_str_printf(p->walk.out, "]%s", around[1]);
}

/* True if neighbours from an index on begin at a multiple of their size: all buffers begin at a multiple of
 * 64 bytes. Drivers take such a vector at once, and others element by element. */
static bool is_aligned(const opencl_printer *p, const vtac_buffer *buffer, const vtac_expr *index)
{
    const size_t bytes = p->walk.at.lanes * vtac_dtype_bytes(buffer->dtype);
    return buffer->dtype != VTAC_F16 && bytes <= ALIGNMENT &&
           1U << vtac_lanes_evenness(&p->walk.at, index) >= p->walk.at.lanes;
}

/* Address space of a buffer, in OpenCL's words. */
static const char *space_name(const vtac_buffer *buffer)
{
    return buffer->space == VTAC_BUFFER_LOCAL    ? "__private "
           : buffer->space == VTAC_BUFFER_SHARED ? "__local "
                                                 : "__global ";
}

/* "*(__global const float8 *)(b1 + …": the place of such neighbours. */
static void put_vector_place(opencl_printer *p, const vtac_buffer *buffer, const vtac_expr *index)
{
    put_text(p, "*(");
    put_text(p, space_name(buffer));
    put_form(p, buffer->written ? "" : "const ", memory_name(buffer->dtype), p->walk.at.lanes, " *)(");
    put_buffer(p, buffer);
    put_text(p, " + ");
    put_at_lane(p, index, 0);
    put_text(p, ")");
}

/* "vload8(0, b1 + …": neighbours from the index of lane 0 on. */
static void put_neighbours(opencl_printer *p, const vtac_buffer *buffer, const vtac_expr *index)
{
    if (is_aligned(p, buffer, index)) {
        put_vector_place(p, buffer, index);
        return;
    }
    vta_str_printf(p->walk.out, "vload%s%u(0, ", buffer->dtype == VTAC_F16 ? "_half" : "", p->walk.at.lanes);
    put_buffer(p, buffer);
    put_text(p, " + ");
    put_at_lane(p, index, 0);
    put_text(p, ")");
}

static void put_load(opencl_printer *p, const vtac_expr *e)
{
    const vtac_buffer *buffer = e->buffer;
    const int step = lane_step(p, e->in[0]);
    p->doubles = p->doubles || buffer->dtype == VTAC_F64;
    if (!is_vector(p, e)) {
        put_element(p, buffer, e->in[0]);
    } else if (step != 1) {
        put_lanes(p, e);
    } else if (buffer->dtype == VTAC_BOOL) {
        vta_str_printf(p->walk.out, "convert_int%u(", p->walk.at.lanes);
        put_neighbours(p, buffer, e->in[0]);
        put_text(p, " != (uchar)0)");
    } else if (buffer->dtype == VTAC_BF16) {
        vta_str_printf(p->walk.out, "as_float%u(convert_uint%u(", p->walk.at.lanes, p->walk.at.lanes);
        put_neighbours(p, buffer, e->in[0]);
        put_text(p, ") << 16)");
    } else {
        put_neighbours(p, buffer, e->in[0]);
    }
}

/* Byte `number` of a word of four bytes, of one item or of all lanes, in its place. */
static void put_byte(opencl_printer *p, const vtac_expr *e, unsigned number)
{
    const vtac_expr by = {.op = VTAC_E_INT, .type = VTAC_I64, .i = (int64_t)number * e->i};
    const vtac_expr index = {.op = VTAC_E_ADD, .type = VTAC_I64, .in = {e->in[0], &by}};
    const unsigned lanes = lanes_of(p, e);
    if (lanes > 1) {
        vta_str_printf(p->walk.out, "convert_uint%u(as_uchar%u(", lanes, lanes);
        put_neighbours(p, e->buffer, &index);
        put_text(p, "))");
    } else {
        put_text(p, "(uint)(uchar)");
        put_buffer(p, e->buffer);
        put_text(p, "[");
        put_expr(p, &index);
        put_text(p, "]");
    }
    if (number > 0) {
        vta_str_printf(p->walk.out, " << %u", 8 * number);
    }
}

static void put_quad(opencl_printer *p, const vtac_expr *e)
{
    if (is_vector(p, e) && lane_step(p, e->in[0]) != 1) {
        put_lanes(p, e);
        return;
    }
    put_form(p, "as_", "int", lanes_of(p, e), "(");
    for (unsigned i = 0; i < 4; i++) {
        put_text(p, i > 0 ? " | " : "");
        put_byte(p, e, i);
    }
    put_text(p, ")");
}

/* ---- casts */

static void put_cast_to_bool(opencl_printer *p, const vtac_expr *x, unsigned lanes)
{
    put_form(p, lanes > 1 ? "convert_" : "(", "int", lanes, lanes > 1 ? "(" : ")(");
    put_expr(p, x);
    vta_str_printf(p->walk.out, " != (%s)0)", type_name(x->type));
}

static void put_cast(opencl_printer *p, const vtac_expr *e)
{
    const vtac_expr *x = e->in[0];
    const unsigned lanes = lanes_of(p, e);
    const bool saturates = is_float(x->type) && !is_float(e->type);
    p->doubles = p->doubles || e->type == VTAC_F64;
    if (e->type == VTAC_BOOL) {
        if (x->type == VTAC_BOOL) {
            put_expr(p, x);
        } else {
            put_cast_to_bool(p, x, lanes);
        }
        return;
    }
    put_form(p, "convert_", type_name(e->type), lanes, saturates ? "_sat(" : "(");
    put_text(p, x->type == VTAC_BOOL && lanes > 1 ? "1 & " : "");
    put_expr(p, x);
    put_text(p, ")");
}

static void put_bits(opencl_printer *p, const vtac_expr *e)
{
    p->doubles = p->doubles || e->type == VTAC_F64;
    put_form(p, "as_", type_name(e->type), lanes_of(p, e), "(");
    put_expr(p, e->in[0]);
    put_text(p, ")");
}

/* ---- operations. `call`: a function of OpenCL, or of the prelude where it begins with "vtac_", whose names
 * end with the type: vtac_min_float8. */

typedef struct operation {
    const char *infix, *call;
    const char *of_ints; /* the call for integers, where it is another */
} operation;

static const operation operations[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_FLOOR] = {NULL, "floor", NULL},    [VTAC_E_CEIL] = {NULL, "ceil", NULL},
    [VTAC_E_TRUNC] = {NULL, "trunc", NULL},    [VTAC_E_ROUND] = {NULL, "rint", NULL},
    [VTAC_E_SQRT] = {NULL, "sqrt", NULL},      [VTAC_E_EXP] = {NULL, "exp", NULL},
    [VTAC_E_EXPM1] = {NULL, "expm1", NULL},    [VTAC_E_LOG] = {NULL, "log", NULL},
    [VTAC_E_LOG1P] = {NULL, "log1p", NULL},    [VTAC_E_SIN] = {NULL, "sin", NULL},
    [VTAC_E_COS] = {NULL, "cos", NULL},        [VTAC_E_ATAN] = {NULL, "atan", NULL},
    [VTAC_E_TANH] = {NULL, "tanh", NULL},      [VTAC_E_ERF] = {NULL, "erf", NULL},
    [VTAC_E_ADD] = {"+", NULL, NULL},          [VTAC_E_SUB] = {"-", NULL, NULL},
    [VTAC_E_MUL] = {"*", NULL, NULL},          [VTAC_E_DIV] = {"/", NULL, "vtac_div"},
    [VTAC_E_REM] = {NULL, NULL, "vtac_rem"},   [VTAC_E_MIN] = {NULL, "vtac_min", "min"},
    [VTAC_E_MAX] = {NULL, "vtac_max", "max"},  [VTAC_E_POW] = {NULL, "pow", NULL},
    [VTAC_E_AND] = {"&", NULL, NULL},          [VTAC_E_OR] = {"|", NULL, NULL},
    [VTAC_E_XOR] = {"^", NULL, NULL},          [VTAC_E_SHL] = {NULL, NULL, "vtac_shl"},
    [VTAC_E_SHR] = {NULL, NULL, "vtac_shr"},   [VTAC_E_EQ] = {"==", NULL, NULL},
    [VTAC_E_NE] = {"!=", NULL, NULL},          [VTAC_E_LT] = {"<", NULL, NULL},
    [VTAC_E_LE] = {"<=", NULL, NULL},          [VTAC_E_GT] = {">", NULL, NULL},
    [VTAC_E_GE] = {">=", NULL, NULL},          [VTAC_E_FMA] = {NULL, "vtac_fma", "vtac_mad"},
    [VTAC_E_DOT4] = {NULL, NULL, "vtac_dot4"}, [VTAC_E_SDOT4] = {NULL, NULL, "vtac_sdot4"},
    [VTAC_E_DOT2] = {NULL, NULL, "vtac_dot2"},
};

/* Opens a call of a function of the prelude or of the language, up to its first operand. */
static void put_call(opencl_printer *p, const char *call, vtac_dtype type, unsigned lanes)
{
    const bool own = strncmp(call, "vtac_", 5) == 0;
    const bool dots = strstr(call, "dot") != NULL; /* of words alone */
    vta_str_printf(p->walk.out, "%s%s%s%s(", call, own && !dots ? "_" : "",
                   own && !dots ? type_name(type) : "", own ? suffix_of(lanes) : "");
}

static void put_operands(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    for (int i = 0; i < vtac_expr_operands(e->op); i++) {
        put_text(p, i > 0 ? ", " : "");
        put_spread(p, e->in[i], lanes);
    }
    put_text(p, ")");
}

static void put_infix_sign(const opencl_printer *p, const vtac_expr *e)
{
    vta_str_printf(p->walk.out, " %s ", operations[e->op].infix);
}

/* Sums, differences and products of integers wrap: as unsigned ones. Those of 64 bits are indices. */
static void put_wrapping(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    const bool narrow = vtac_dtype_bytes(e->type) < sizeof(int32_t) && lanes == 1;
    const char *as = narrow ? "uint" : unsigned_name(e->type);
    put_as(p, type_name(e->type), lanes);
    put_as(p, as, lanes);
    put_spread(p, e->in[0], lanes);
    put_text(p, ")");
    put_infix_sign(p, e);
    put_as(p, as, lanes);
    put_spread(p, e->in[1], lanes);
    put_text(p, "))");
}

static void put_compare(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    const char *sign = e->in[0]->type == VTAC_BOOL && lanes > 1 ? "-" : "";
    put_form(p, lanes > 1 ? "convert_" : "(", "int", lanes, lanes > 1 ? "(" : ")(");
    put_text(p, sign);
    put_spread(p, e->in[0], lanes);
    put_infix_sign(p, e);
    put_text(p, sign);
    put_spread(p, e->in[1], lanes);
    put_text(p, ")");
}

static void put_infix(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    if (vtac_dtype_bytes(e->type) < sizeof(int32_t) && lanes == 1 && e->type != VTAC_BOOL) {
        put_form(p, "(", type_name(e->type), 1, ")");
    }
    put_text(p, "(");
    put_spread(p, e->in[0], lanes);
    put_infix_sign(p, e);
    put_spread(p, e->in[1], lanes);
    put_text(p, ")");
}

/* A shift by a constant that the width allows. */
static bool is_plain_shift(const vtac_expr *e)
{
    return (e->op == VTAC_E_SHL || e->op == VTAC_E_SHR) && e->in[1]->op == VTAC_E_INT && e->in[1]->i >= 0 &&
           e->in[1]->i < (int64_t)(8 * vtac_dtype_bytes(e->type));
}

static void put_plain_shift(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    const bool left = e->op == VTAC_E_SHL;
    const char *as = left ? unsigned_name(e->type) : type_name(e->type);
    put_as(p, type_name(e->type), lanes);
    put_as(p, as, lanes);
    put_spread(p, e->in[0], lanes);
    put_text(p, left ? ") << " : ") >> ");
    put_form(p, "(", as, lanes, ")");
    vta_str_printf(p->walk.out, "(%d))", (int)e->in[1]->i);
}

/* Division of integers by a constant that cannot trap. */
static bool is_plain_division(const vtac_expr *e)
{
    return (e->op == VTAC_E_DIV || e->op == VTAC_E_REM) && e->in[1]->op == VTAC_E_INT && e->in[1]->i > 0 &&
           !is_float(e->type);
}

static void put_plain_division(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    put_form(p, "(", type_name(e->type), lanes, ")(");
    put_spread(p, e->in[0], lanes);
    put_text(p, e->op == VTAC_E_DIV ? " / " : " % ");
    put_spread(p, e->in[1], lanes);
    put_text(p, ")");
}

static void put_binary(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    const bool sums = e->op == VTAC_E_ADD || e->op == VTAC_E_SUB || e->op == VTAC_E_MUL;
    const bool integer = !is_float(e->type) && e->type != VTAC_BOOL;
    const operation *row = &operations[e->op];
    if (e->op >= VTAC_E_EQ && e->op <= VTAC_E_GE) {
        put_compare(p, e, lanes);
    } else if (sums && integer && e->type != VTAC_I64) {
        put_wrapping(p, e, lanes);
    } else if (is_plain_shift(e)) {
        put_plain_shift(p, e, lanes);
    } else if (is_plain_division(e)) {
        put_plain_division(p, e, lanes);
    } else if (row->infix != NULL && !(integer && row->of_ints != NULL)) {
        put_infix(p, e, lanes);
    } else {
        const char *call = integer && row->of_ints != NULL ? row->of_ints : row->call;
        const bool by_lane = lanes > 1 && (strcmp(call, "vtac_div") == 0 || strcmp(call, "vtac_rem") == 0 ||
                                           strcmp(call, "vtac_shl") == 0 || strcmp(call, "vtac_shr") == 0);
        if (by_lane) {
            put_lanes(p, e);
            return;
        }
        put_call(p, call, e->type, lanes);
        put_operands(p, e, lanes);
    }
}

/* Negation, complement, absolute values: others are calls, and nothing for integers. */
static void put_unary(opencl_printer *p, const vtac_expr *e, unsigned lanes)
{
    const vtac_expr zero = {.op = VTAC_E_INT, .type = e->type};
    const vtac_expr difference = {.op = VTAC_E_SUB, .type = e->type, .in = {&zero, e->in[0]}};
    const char *before = "(";
    if (e->op == VTAC_E_NEG && !is_float(e->type)) {
        put_binary(p, &difference, lanes);
        return;
    }
    if (e->op == VTAC_E_NEG) {
        before = "(-";
    } else if (e->op == VTAC_E_NOT) {
        before = e->type == VTAC_BOOL && lanes == 1 ? "(!" : "(~";
        put_form(p, "(", type_name(e->type), lanes, ")");
    } else if (e->op == VTAC_E_ABS && is_signed(e->type)) {
        put_as(p, type_name(e->type), lanes);
        put_text(p, "abs");
    } else if (e->op == VTAC_E_ABS && is_float(e->type)) {
        put_text(p, "fabs");
    } else if (is_float(e->type) && operations[e->op].call != NULL) {
        put_text(p, operations[e->op].call);
    } else if (operations[e->op].call == NULL && e->op != VTAC_E_ABS) {
        p->missing = "an operation";
    }
    put_text(p, before);
    put_expr(p, e->in[0]);
    put_text(p, e->op == VTAC_E_ABS && is_signed(e->type) ? "))" : ")");
}

static void put_select(opencl_printer *p, const vtac_expr *e)
{
    const unsigned lanes = lanes_of(p, e);
    static const char *const masks[] = {[1] = "char", [2] = "short", [4] = "int", [8] = "long"};
    if (lanes == 1 || !is_vector(p, e->in[0])) {
        put_text(p, "(");
        put_expr(p, e->in[0]);
        put_text(p, " ? ");
        put_spread(p, e->in[1], lanes);
        put_text(p, " : ");
        put_spread(p, e->in[2], lanes);
        put_text(p, ")");
        return;
    }
    const size_t bytes = e->type == VTAC_BOOL || (is_float(e->type) && e->type != VTAC_F64)
                             ? sizeof(int32_t)
                             : vtac_dtype_bytes(e->type);
    put_text(p, "select(");
    put_spread(p, e->in[2], lanes);
    put_text(p, ", ");
    put_spread(p, e->in[1], lanes);
    vta_str_printf(p->walk.out, ", convert_%s%u(", masks[bytes], lanes);
    put_expr(p, e->in[0]);
    put_text(p, "))");
}

static void put_operation(opencl_printer *p, const vtac_expr *e)
{
    const unsigned lanes = lanes_of(p, e);
    const char *call = is_float(e->type) ? operations[e->op].call : operations[e->op].of_ints;
    p->doubles = p->doubles || e->type == VTAC_F64;
    if (vtac_expr_operands(e->op) == 1) {
        put_unary(p, e, lanes);
    } else if (vtac_expr_operands(e->op) == 2) {
        put_binary(p, e, lanes);
    } else if (call != NULL) {
        put_call(p, call, e->type, lanes);
        put_operands(p, e, lanes);
    } else {
        p->missing = "a product of tiles";
    }
}

typedef void put_fn(opencl_printer *p, const vtac_expr *e);

static void put_int(opencl_printer *p, const vtac_expr *e)
{
    put_integer(p, e->type, e->i);
}

static void put_real(opencl_printer *p, const vtac_expr *e)
{
    put_float(p, e->type, e->f);
}

/* Tiles are an instruction of some processors. */
static void put_no_tiles(opencl_printer *p, const vtac_expr *e)
{
    (void)e;
    put_text(p, "0");
}

static put_fn *const leaves[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_INT] = put_int,   [VTAC_E_FLOAT] = put_real,     [VTAC_E_VAR] = put_variable,
    [VTAC_E_LOAD] = put_load, [VTAC_E_QUAD] = put_quad,      [VTAC_E_CAST] = put_cast,
    [VTAC_E_BITS] = put_bits, [VTAC_E_TILES] = put_no_tiles, [VTAC_E_SELECT] = put_select,
};

static void put_expr(opencl_printer *p, const vtac_expr *e)
{
    (leaves[e->op] != NULL ? leaves[e->op] : put_operation)(p, e);
}

/* ---- statements */

static void put_vectors(vtac_walker *w, const vtac_stmt *s)
{
    for (int64_t at = 0; at < s->extent;) {
        unsigned lanes = MAX_LANES;
        while ((int64_t)lanes > s->extent - at) {
            lanes /= 2;
        }
        if (lanes == 1) {
            vtac_walk_round(w, s, at);
        } else {
            vtac_walk_lanes(w, s, at, lanes);
        }
        at += lanes;
    }
}

/* A loop whose variable is the number of a work group, or of an item in it. */
static void put_shared_out(vtac_walker *w, const vtac_stmt *s)
{
    vtac_walk_line(w);
    vta_str_printf(w->out, "const long v%u = %s(0);\n", s->var,
                   s->loop == VTAC_LOOP_GROUP ? "get_group_id" : "get_local_id");
    vtac_walk_block(w, s->body);
}

static void put_loop(vtac_walker *w, const vtac_stmt *s)
{
    const bool shared = s->loop == VTAC_LOOP_PARALLEL;
    vtac_walk_line(w);
    vta_str_printf(w->out, "for (long v%u = %s; v%u < %" PRId64 "; v%u += %s) ", s->var,
                   shared ? "get_global_id(0)" : "0", s->var, s->extent, s->var,
                   shared ? "get_global_size(0)" : "1");
    vtac_walk_braced(w, s->body);
}

static void put_let(vtac_walker *w, const vtac_stmt *s)
{
    opencl_printer *p = (opencl_printer *)w;
    const unsigned lanes = lanes_of(p, s->value);
    vtac_walk_line(&p->walk);
    put_form(p, "const ", type_name(s->value->type), lanes, " ");
    vta_str_printf(p->walk.out, "v%u = ", s->var);
    put_expr(p, s->value);
    put_text(p, ";\n");
    p->walk.at.vars[s->var] = (vtac_lane_var){lanes > 1 ? VTAC_LANE_VECTOR : VTAC_LANE_SCALAR, 0,
                                              vtac_lanes_evenness(&p->walk.at, s->value)};
}

/* "b0[7] = " and the value behind it, as the buffer holds it. */
static void store_element(opencl_printer *p, const vtac_stmt *s, int lane, const char *value)
{
    const bool half = s->buffer->dtype == VTAC_F16;
    vtac_walk_line(&p->walk);
    if (half) {
        vta_str_printf(p->walk.out, "vstore_half_rte(%s, ", value);
        put_at_lane(p, s->index, lane);
        put_text(p, ", ");
    }
    put_buffer(p, s->buffer);
    if (!half) {
        put_text(p, "[");
        put_at_lane(p, s->index, lane);
        vta_str_printf(p->walk.out, "] = %s", value);
    }
    put_text(p, half ? ");\n" : ";\n");
}

/* The function of the prelude that computes a value in halves; NULL: there is none. One operation on two
 * halves, rounded to a half, gives the same number whether it was rounded to a float before: floats have two
 * bits more than twice the digits of halves. */
static const char *half_call(const vtac_expr *e)
{
    static const char *const calls[VTAC_EXPR_OP_COUNT] = {
        [VTAC_E_ADD] = "vtac_half_add", [VTAC_E_SUB] = "vtac_half_sub", [VTAC_E_MUL] = "vtac_half_mul"};
    bool halves = e->type == VTAC_F32 && calls[e->op] != NULL;
    for (int i = 0; halves && i < 2; i++) {
        halves = e->in[i]->op == VTAC_E_LOAD && e->in[i]->buffer->dtype == VTAC_F16;
    }
    return halves ? calls[e->op] : NULL;
}

/* A value that is stored, of so many lanes. */
static void put_rounded(opencl_printer *p, const vtac_stmt *s, unsigned lanes)
{
    const char *call = s->buffer->dtype == VTAC_F16 ? half_call(s->value) : NULL;
    if (call == NULL) {
        put_spread(p, s->value, lanes);
        return;
    }
    put_form(p, call, "", lanes, "(");
    put_operands(p, s->value, lanes);
}

/* The value in a variable "t", in the form that memory has. */
static void put_stored(opencl_printer *p, const vtac_stmt *s, unsigned lanes)
{
    const vtac_dtype dtype = s->buffer->dtype;
    const bool packed = dtype == VTAC_BOOL || dtype == VTAC_BF16;
    vtac_walk_line(&p->walk);
    put_form(p, "const ", packed ? memory_name(dtype) : type_name(dtype), lanes, " t = ");
    if (dtype == VTAC_BOOL) {
        put_form(p, "convert_", "uchar", lanes, lanes > 1 ? "(1 & " : "(");
    } else if (dtype == VTAC_BF16) {
        put_form(p, "vtac_bfloat", "", lanes, "(");
    }
    put_rounded(p, s, lanes);
    put_text(p, packed ? ");\n" : ";\n");
}

static void put_store(vtac_walker *w, const vtac_stmt *s)
{
    opencl_printer *p = (opencl_printer *)w;
    const bool vector = is_vector(p, s->index) || is_vector(p, s->value);
    p->doubles = p->doubles || s->buffer->dtype == VTAC_F64;
    vtac_walk_line(&p->walk);
    vtac_walk_open(w);
    put_stored(p, s, vector ? p->walk.at.lanes : 1);
    if (!vector) {
        store_element(p, s, 0, "t");
    } else if (lane_step(p, s->index) == 1 && is_aligned(p, s->buffer, s->index)) {
        vtac_walk_line(&p->walk);
        put_vector_place(p, s->buffer, s->index);
        put_text(p, " = t;\n");
    } else if (lane_step(p, s->index) == 1) {
        vtac_walk_line(&p->walk);
        put_form(p, "vstore", s->buffer->dtype == VTAC_F16 ? "_half" : "", p->walk.at.lanes,
                 s->buffer->dtype == VTAC_F16 ? "_rte(t, 0, " : "(t, 0, ");
        put_buffer(p, s->buffer);
        put_text(p, " + ");
        put_at_lane(p, s->index, 0);
        put_text(p, ");\n");
    } else {
        for (unsigned i = 0; i < p->walk.at.lanes; i++) {
            char value[16];
            (void)snprintf(value, sizeof value, "t.s%x", i);
            store_element(p, s, (int)i, value);
        }
    }
    vtac_walk_close(w);
}

static void put_value(vtac_walker *w, const vtac_expr *e)
{
    put_expr((opencl_printer *)w, e);
}

static const vtac_walk_language language = {
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);\n",
    .put_expr = put_value,
    .put_vectors = put_vectors,
    .put_shared_out = put_shared_out,
    .put_loop = put_loop,
    .put_let = put_let,
    .put_store = put_store,
};

/* ---- a kernel */

static void put_parameters(opencl_printer *p)
{
    put_text(p, "(");
    for (size_t i = 0; i < p->walk.at.kernel->buffer_count; i++) {
        if (p->walk.at.kernel->buffers[i]->space == VTAC_BUFFER_ARGUMENT) {
            vta_str_printf(p->walk.out, "__global uchar *m%zu, ulong o%zu, ", i, i);
        }
    }
    put_text(p, "__global uchar *scratch, ulong each)\n");
}

/* Memory of the item's or the group's own. Halves are words of two bytes there, read and written through a
 * pointer, which needs no arithmetic of halves. */
static void put_own(opencl_printer *p, const vtac_buffer *b, size_t number)
{
    const bool half = b->dtype == VTAC_F16;
    const char *space = space_name(b);
    vta_str_printf(p->walk.out, "%s%s %c%zu[%" PRId64 "] __attribute__((aligned(%d)));\n", space,
                   half ? "ushort" : memory_name(b->dtype), half ? 'h' : 'b', number,
                   b->elements > 0 ? b->elements : 1, ALIGNMENT);
    if (half) {
        vtac_walk_line(&p->walk);
        vta_str_printf(p->walk.out, "%shalf *b%zu = (%shalf *)h%zu;\n", space, number, space, number);
    }
}

static void put_buffers(opencl_printer *p)
{
    for (size_t i = 0; i < p->walk.at.kernel->buffer_count; i++) {
        const vtac_buffer *b = p->walk.at.kernel->buffers[i];
        const char *type = memory_name(b->dtype);
        const char *change = b->written ? "" : "const ";
        vtac_walk_line(&p->walk);
        if (b->space == VTAC_BUFFER_LOCAL || b->space == VTAC_BUFFER_SHARED) {
            put_own(p, b, i);
        } else if (b->space == VTAC_BUFFER_ARGUMENT) {
            vta_str_printf(p->walk.out, "__global %s%s *b%zu = (__global %s%s *)(m%zu + o%zu); /* %s */\n",
                           change, type, i, change, type, i, i, b->name);
        } else {
            vta_str_printf(p->walk.out,
                           "__global %s *b%zu = (__global %s *)(scratch + get_global_id(0) * each + %" PRIu64
                           "UL);\n",
                           type, i, type, b->offset);
        }
    }
}

/* Processors, and whatever the device may be, take vectors; a GPU takes items. */
static bool wants_groups(const vtac_print_options *options)
{
    return strcmp(options->detail, "gpu") == 0;
}

static vta_status begin_opencl(const vtac_print_options *options, vta_str *prelude, vta_diag *diag)
{
    vta_str_put(prelude, vtac_opencl_prelude);
    return options->detail[0] == '\0' || options->groups
               ? vta_allocated(!prelude->failed, diag)
               : vta_fail(diag, VTA_INVALID, "target 'opencl:%s': expected opencl, or opencl:gpu",
                          options->detail);
}

static vta_status print_opencl(const vtac_bound *bound, const vtac_print_options *options, vta_str *out,
                               uint32_t *needs, vta_diag *diag)
{
    (void)options;
    const vtac_kernel *k = &bound->kernel;
    opencl_printer p = {
        .walk = {.at = {.kernel = k, .lanes = 1, .lane = VTAC_ALL_LANES}, .out = out, .language = &language}};
    p.walk.at.vars = calloc(k->var_count + 1, sizeof *p.walk.at.vars);
    if (p.walk.at.vars == NULL) {
        return vta_no_memory(diag);
    }
    put_parameters(&p);
    vtac_walk_open(&p.walk);
    put_buffers(&p);
    if (bound->items == 1 && bound->group == 0) {
        vtac_walk_line(&p.walk);
        put_text(&p, "if (get_global_id(0) != 0) return;\n");
    }
    vtac_walk_block(&p.walk, k->body);
    vtac_walk_close(&p.walk);
    free(p.walk.at.vars);
    *needs = p.doubles ? VTA_KERNEL_DOUBLES : 0;
    if (p.missing != NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "OpenCL C has no form for %s", p.missing);
    }
    return vta_allocated(!out->failed, diag);
}

const vtac_printer vtac_opencl_printer = {
    .language = "opencl",
    .head = "__kernel void",
    .transfer = {50e-6, 8e9},
    .has_halves = true,
    .has_dots = true,
    .wants_groups = wants_groups,
    .begin = begin_opencl,
    .print = print_opencl,
};
