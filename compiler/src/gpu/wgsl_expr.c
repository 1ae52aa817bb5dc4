/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions in WGSL. Integers of 8 and 16 bits are words that keep to their range; what has no form with
 * vectors is printed lane by lane.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "wgsl.h"

/* ---- text */

static void put_text(const vtac_wgsl *p, const char *text)
{
    vta_str_put(p->walk.out, text);
}

const char *vtac_wgsl_type(vtac_wgsl_form form)
{
    static const char *const names[] = {
        [VTAC_WGSL_INT] = "i32",   [VTAC_WGSL_UINT] = "u32",       [VTAC_WGSL_FLOAT] = "f32",
        [VTAC_WGSL_BOOL] = "bool", [VTAC_WGSL_WIDE] = "vec2<u32>", [VTAC_WGSL_DOUBLE] = "vec2<u32>"};
    return names[form];
}

const char *vtac_wgsl_element(vtac_dtype dtype)
{
    const size_t bytes = vtac_dtype_bytes(dtype);
    if (dtype == VTAC_BOOL) {
        return "bool";
    }
    if (vtac_dtype_kind(dtype) == 'f') {
        return dtype == VTAC_BF16 ? "bf16" : bytes == 2 ? "f16" : bytes == 4 ? "f32" : "wide";
    }
    const bool sign = vtac_dtype_kind(dtype) == 'i';
    return bytes == 1   ? (sign ? "i8" : "u8")
           : bytes == 2 ? (sign ? "i16" : "u16")
           : bytes == 4 ? (sign ? "i32" : "u32")
                        : "wide";
}

bool vtac_wgsl_is_pair(vtac_wgsl_form form)
{
    return form == VTAC_WGSL_WIDE || form == VTAC_WGSL_DOUBLE;
}

static void put_type(const vtac_wgsl *p, vtac_wgsl_form form, unsigned lanes)
{
    if (lanes == 1) {
        put_text(p, vtac_wgsl_type(form));
    } else {
        vta_str_printf(p->walk.out, "vec%u<%s>", lanes, vtac_wgsl_type(form));
    }
}

/* ---- lanes */

static void put_at_lane(vtac_wgsl *p, const vtac_expr *e, int lane)
{
    const int was = p->walk.at.lane;
    p->walk.at.lane = lane;
    vtac_wgsl_put(p, e);
    p->walk.at.lane = was;
}

/* Prints a vector lane by lane, which every expression allows that is not wide. */
static void put_lanes(vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, e);
    p->refused = p->refused || vtac_wgsl_is_pair(form);
    put_type(p, form, p->walk.at.lanes);
    for (unsigned i = 0; i < p->walk.at.lanes; i++) {
        put_text(p, i == 0 ? "(" : ", ");
        put_at_lane(p, e, (int)i);
    }
    put_text(p, ")");
}

void vtac_wgsl_put_spread(vtac_wgsl *p, const vtac_expr *e, unsigned lanes, vtac_wgsl_form form)
{
    const vtac_wgsl_form own = vtac_wgsl_form_of(p, e);
    const bool widens = form == VTAC_WGSL_WIDE && !vtac_wgsl_is_pair(own);
    const bool spreads = lanes != vtac_lanes_of(&p->walk.at, e);
    p->refused = p->refused || (lanes > 1 && (vtac_wgsl_is_pair(form) || vtac_wgsl_is_pair(own)));
    if (widens) {
        put_text(p, "vtac_wide(");
    } else if (spreads) {
        put_type(p, own, lanes);
        put_text(p, "(");
    }
    vtac_wgsl_put(p, e);
    put_text(p, widens || spreads ? ")" : "");
}

void vtac_wgsl_put_index(vtac_wgsl *p, const vtac_expr *index, int lane)
{
    const bool wide = vtac_wgsl_form_of(p, index) == VTAC_WGSL_WIDE;
    put_text(p, wide ? "vtac_low(" : "");
    put_at_lane(p, index, lane);
    put_text(p, wide ? ")" : "");
}

/* ---- leaves */

static void put_integer(const vtac_wgsl *p, vtac_wgsl_form form, int64_t value)
{
    const char *call = p->opaque ? (form == VTAC_WGSL_INT ? "vtac_i" : "vtac_u") : "";
    if (form == VTAC_WGSL_BOOL) {
        put_text(p, value != 0 ? "true" : "false");
    } else if (form == VTAC_WGSL_WIDE) {
        vta_str_printf(p->walk.out, "vec2<u32>(%" PRIu32 "u, %" PRIu32 "u)", (uint32_t)value,
                       (uint32_t)((uint64_t)value >> 32));
    } else if (form == VTAC_WGSL_UINT) {
        vta_str_printf(p->walk.out, "%s(%" PRIu32 "u)", call, (uint32_t)value);
    } else {
        vta_str_printf(p->walk.out, p->opaque || value < 0 ? "%s(%" PRId32 ")" : "%s%" PRId32, call,
                       (int32_t)value);
    }
}

static void put_int(vtac_wgsl *p, const vtac_expr *e)
{
    put_integer(p, vtac_wgsl_form_of(p, e), e->i);
}

static void put_real(vtac_wgsl *p, const vtac_expr *e)
{
    const float value = (float)e->f;
    if (e->type == VTAC_F64) {
        uint64_t bits;
        memcpy(&bits, &e->f, sizeof bits);
        put_integer(p, VTAC_WGSL_WIDE, (int64_t)bits);
    } else if (isnan(value) || isinf(value)) {
        put_text(p, isnan(value) ? "vtac_f(0x7fc00000u)"
                    : value > 0  ? "vtac_f(0x7f800000u)"
                                 : "vtac_f(0xff800000u)");
    } else if (p->opaque) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        vta_str_printf(p->walk.out, "vtac_f(0x%" PRIx32 "u)", bits);
    } else {
        vta_str_printf(p->walk.out, "(%af)", (double)value);
    }
}

static void put_variable(vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_lane_var *v = &p->walk.at.vars[e->var];
    if (v->kind == VTAC_LANE_NUMBER) {
        put_integer(p, vtac_wgsl_form_of(p, e), v->number);
    } else if (v->kind == VTAC_LANE_LANE && p->walk.at.lane != VTAC_ALL_LANES) {
        put_integer(p, VTAC_WGSL_INT, v->number + p->walk.at.lane);
    } else if (v->kind == VTAC_LANE_LANE) {
        put_lanes(p, e);
    } else if (v->kind == VTAC_LANE_VECTOR && p->walk.at.lane != VTAC_ALL_LANES) {
        vta_str_printf(p->walk.out, "v%u.%c", e->var, "xyzw"[p->walk.at.lane]);
    } else {
        vta_str_printf(p->walk.out, "v%u", e->var);
    }
}

/* ---- loads */

bool vtac_wgsl_is_array(const vtac_buffer *buffer)
{
    return buffer->space == VTAC_BUFFER_LOCAL || buffer->space == VTAC_BUFFER_SHARED;
}

const char *vtac_wgsl_memory(const vtac_wgsl *p, const vtac_buffer *buffer)
{
    return buffer->space == VTAC_BUFFER_ARGUMENT && (p->held >> buffer->number & 1) != 0 ? "held" : "work";
}

/* "o3 + 7": the element in the memory that the buffer is a part of; the scratch memory of an item is one. */
static void put_place(vtac_wgsl *p, const vtac_buffer *buffer, const vtac_expr *index, int lane)
{
    vta_str_printf(p->walk.out, "o%zu + ", vtac_lanes_buffer(&p->walk.at, buffer));
    vtac_wgsl_put_index(p, index, lane);
}

static void put_element(vtac_wgsl *p, const vtac_buffer *buffer, const vtac_expr *index)
{
    if (vtac_wgsl_is_array(buffer)) {
        vta_str_printf(p->walk.out, "b%zu[", vtac_lanes_buffer(&p->walk.at, buffer));
        vtac_wgsl_put_index(p, index, p->walk.at.lane);
        put_text(p, "]");
        return;
    }
    vta_str_printf(p->walk.out, "%s_%s(", vtac_wgsl_memory(p, buffer), vtac_wgsl_element(buffer->dtype));
    put_place(p, buffer, index, p->walk.at.lane);
    put_text(p, ")");
}

/* True if four bytes from an index on are one word. */
static bool is_word(const vtac_wgsl *p, const vtac_expr *index)
{
    return vtac_lanes_evenness(&p->walk.at, index) >= 2;
}

static void put_neighbours(vtac_wgsl *p, const vtac_buffer *buffer, const vtac_expr *index)
{
    const bool word = vtac_dtype_bytes(buffer->dtype) == 1 && buffer->dtype != VTAC_BOOL && is_word(p, index);
    vta_str_printf(p->walk.out, "%s_%sx4%s(", vtac_wgsl_memory(p, buffer), vtac_wgsl_element(buffer->dtype),
                   word ? "_word" : "");
    put_place(p, buffer, index, 0);
    put_text(p, ")");
}

static void put_load(vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_buffer *buffer = e->buffer;
    if (!vtac_lanes_is_vector(&p->walk.at, e)) {
        put_element(p, buffer, e->in[0]);
    } else if (vtac_wgsl_is_array(buffer) || vtac_lanes_step(&p->walk.at, e->in[0]) != 1) {
        put_lanes(p, e);
    } else {
        put_neighbours(p, buffer, e->in[0]);
    }
}

/* Four bytes as a word; of all lanes, where those are neighbours, by transposing four words. */
static void put_quad(vtac_wgsl *p, const vtac_expr *e)
{
    const bool vector = vtac_lanes_is_vector(&p->walk.at, e);
    if (vtac_wgsl_is_array(e->buffer)) {
        p->missing = "four bytes of an item's own memory as one word";
    }
    if (vector && (vtac_lanes_step(&p->walk.at, e->in[0]) != 1 || e->i % 4 != 0 || !is_word(p, e->in[0]))) {
        put_lanes(p, e);
        return;
    }
    const char *how = vector ? "quadx4" : e->i == 1 && is_word(p, e->in[0]) ? "quad_word" : "quad";
    vta_str_printf(p->walk.out, "%s_%s(", vtac_wgsl_memory(p, e->buffer), how);
    put_place(p, e->buffer, e->in[0], vector ? 0 : p->walk.at.lane);
    vta_str_printf(p->walk.out, ", %" PRId64 ")", e->i);
}

/* ---- casts */

/* Opens a function that brings an integer back into its range, "" where it cannot have left it. */
static const char *opening_of_wrap(vtac_dtype type)
{
    const size_t bytes = vtac_dtype_bytes(type);
    return bytes < sizeof(int32_t) && type != VTAC_BOOL ? "extractBits(" : "(";
}

static const char *closing_of_wrap(vtac_dtype type)
{
    const size_t bytes = vtac_dtype_bytes(type);
    return bytes == 1 && type != VTAC_BOOL ? ", 0u, 8u)" : bytes == 2 ? ", 0u, 16u)" : ")";
}

static void put_from_float(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, e);
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(e->type);
    const bool narrow = bits < 32;
    const int64_t low = form == VTAC_WGSL_INT ? -(INT64_C(1) << (bits - 1)) : 0;
    const int64_t high = (INT64_C(1) << (bits - (form == VTAC_WGSL_INT))) - 1;
    vta_str_printf(p->walk.out, "%svtac_to_%c%s(", narrow ? "clamp(" : "", form == VTAC_WGSL_INT ? 'i' : 'u',
                   lanes > 1 ? "x4" : "");
    vtac_wgsl_put(p, e->in[0]);
    put_text(p, ")");
    for (int i = 0; narrow && i < 2; i++) {
        put_text(p, ", ");
        put_type(p, form, lanes);
        vta_str_printf(p->walk.out, "(%" PRId64 ")", i == 0 ? low : high);
    }
    put_text(p, narrow ? ")" : "");
}

static void put_to_bool(vtac_wgsl *p, const vtac_expr *x, unsigned lanes)
{
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, x);
    put_text(p, "(");
    vtac_wgsl_put(p, x);
    put_text(p, " != ");
    put_type(p, form, lanes);
    put_text(p, form == VTAC_WGSL_FLOAT ? "(0.0))" : "(0))");
}

static void put_to_float(vtac_wgsl *p, const vtac_expr *x, unsigned lanes)
{
    put_type(p, VTAC_WGSL_FLOAT, lanes);
    put_text(p, "(");
    vtac_wgsl_put(p, x);
    put_text(p, ")");
}

/* From an integer, or a truth value, to an integer. */
static void put_between(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const bool from_bool = e->in[0]->type == VTAC_BOOL;
    const bool wraps = !from_bool && vtac_dtype_bytes(e->type) < sizeof(int32_t);
    put_text(p, wraps ? opening_of_wrap(e->type) : "(");
    put_text(p, from_bool ? "" : "bitcast<");
    put_type(p, vtac_wgsl_form_of(p, e), lanes);
    put_text(p, from_bool ? "(" : ">(");
    vtac_wgsl_put(p, e->in[0]);
    put_text(p, ")");
    put_text(p, wraps ? closing_of_wrap(e->type) : ")");
}

static void put_cast(vtac_wgsl *p, const vtac_expr *e)
{
    const vtac_expr *x = e->in[0];
    const unsigned lanes = vtac_lanes_of(&p->walk.at, e);
    const vtac_wgsl_form from = vtac_wgsl_form_of(p, x);
    const vtac_wgsl_form to = vtac_wgsl_form_of(p, e);
    if (to == from && to >= VTAC_WGSL_FLOAT && to <= VTAC_WGSL_BOOL) {
        vtac_wgsl_put(p, x);
    } else if (to == VTAC_WGSL_BOOL) {
        put_to_bool(p, x, lanes);
    } else if (to == VTAC_WGSL_FLOAT) {
        put_to_float(p, x, lanes);
    } else if (from == VTAC_WGSL_FLOAT) {
        put_from_float(p, e, lanes);
    } else {
        put_between(p, e, lanes);
    }
}

static void put_bits(vtac_wgsl *p, const vtac_expr *e)
{
    const bool was = p->opaque;
    p->opaque = true;
    put_text(p, opening_of_wrap(e->type));
    put_text(p, "bitcast<");
    put_type(p, vtac_wgsl_form_of(p, e), vtac_lanes_of(&p->walk.at, e));
    put_text(p, ">(");
    vtac_wgsl_put(p, e->in[0]);
    put_text(p, ")");
    put_text(p, closing_of_wrap(e->type));
    p->opaque = was;
}

/* ---- operations. `call`: a function of WGSL, or of the prelude where it begins with "vtac_"; those of the
 * prelude take scalars. */

typedef struct wgsl_operation {
    const char *infix, *call;
    const char *of_ints; /* the call for integers, where it is another */
} wgsl_operation;

static const wgsl_operation operations[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_FLOOR] = {.call = "floor"},
    [VTAC_E_CEIL] = {.call = "ceil"},
    [VTAC_E_TRUNC] = {.call = "trunc"},
    [VTAC_E_ROUND] = {.call = "round"},
    [VTAC_E_SQRT] = {.call = "sqrt"},
    [VTAC_E_EXP] = {.call = "exp"},
    [VTAC_E_EXPM1] = {.call = "vtac_expm1"},
    [VTAC_E_LOG] = {.call = "log"},
    [VTAC_E_LOG1P] = {.call = "vtac_log1p"},
    [VTAC_E_SIN] = {.call = "sin"},
    [VTAC_E_COS] = {.call = "cos"},
    [VTAC_E_ATAN] = {.call = "atan"},
    [VTAC_E_TANH] = {.call = "vtac_tanh"},
    [VTAC_E_ERF] = {.call = "vtac_erf"},
    [VTAC_E_POW] = {.call = "vtac_pow"},
    [VTAC_E_ADD] = {.infix = "+"},
    [VTAC_E_SUB] = {.infix = "-"},
    [VTAC_E_MUL] = {.infix = "*"},
    [VTAC_E_DIV] = {.infix = "/"},
    [VTAC_E_REM] = {.infix = "%"},
    [VTAC_E_MIN] = {.call = "vtac_min", .of_ints = "min"},
    [VTAC_E_MAX] = {.call = "vtac_max", .of_ints = "max"},
    [VTAC_E_AND] = {.infix = "&"},
    [VTAC_E_OR] = {.infix = "|"},
    [VTAC_E_XOR] = {.infix = "^"},
    [VTAC_E_SHL] = {.of_ints = "vtac_shl"},
    [VTAC_E_SHR] = {.of_ints = "vtac_shr"},
    [VTAC_E_EQ] = {.infix = "=="},
    [VTAC_E_NE] = {.infix = "!="},
    [VTAC_E_LT] = {.infix = "<"},
    [VTAC_E_LE] = {.infix = "<="},
    [VTAC_E_GT] = {.infix = ">"},
    [VTAC_E_GE] = {.infix = ">="},
    [VTAC_E_FMA] = {.call = "fma"},
    [VTAC_E_DOT4] = {.of_ints = "vtac_dot4"},
    [VTAC_E_SDOT4] = {.of_ints = "vtac_sdot4"},
    [VTAC_E_DOT2] = {.of_ints = "vtac_dot2"},
};

static void put_call(vtac_wgsl *p, const vtac_expr *e, const char *name, const char *suffix, unsigned lanes,
                     vtac_wgsl_form form)
{
    vta_str_printf(p->walk.out, "%s%s(", name, suffix);
    for (int i = 0; i < vtac_expr_operands(e->op); i++) {
        put_text(p, i > 0 ? ", " : "");
        vtac_wgsl_put_spread(p, e->in[i], lanes, form);
    }
    put_text(p, ")");
}

static void put_infix(vtac_wgsl *p, const vtac_expr *e, const char *sign, unsigned lanes, vtac_wgsl_form form)
{
    put_text(p, "(");
    vtac_wgsl_put_spread(p, e->in[0], lanes, form);
    vta_str_printf(p->walk.out, " %s ", sign);
    vtac_wgsl_put_spread(p, e->in[1], lanes, form);
    put_text(p, ")");
}

static void put_compare(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, e->in[0]);
    if (form == VTAC_WGSL_BOOL && e->op != VTAC_E_EQ && e->op != VTAC_E_NE) {
        p->missing = "an order of truth values";
    } else {
        put_infix(p, e, operations[e->op].infix, lanes, form);
    }
}

/* Shifts by a constant that the width allows. */
static bool is_plain_shift(const vtac_expr *e)
{
    return (e->op == VTAC_E_SHL || e->op == VTAC_E_SHR) && e->in[1]->op == VTAC_E_INT && e->in[1]->i >= 0 &&
           e->in[1]->i < (int64_t)(8 * vtac_dtype_bytes(e->type)) && e->in[1]->i < 32;
}

static void put_plain_shift(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    put_text(p, "(");
    vtac_wgsl_put_spread(p, e->in[0], lanes, vtac_wgsl_form_of(p, e));
    put_text(p, e->op == VTAC_E_SHL ? " << " : " >> ");
    put_type(p, VTAC_WGSL_UINT, lanes);
    vta_str_printf(p->walk.out, "(%d))", (int)e->in[1]->i);
}

/* A division by a literal 0 is an error of the language. */
static void put_division(vtac_wgsl *p, const vtac_expr *e, unsigned lanes, vtac_wgsl_form form)
{
    const bool was = p->opaque;
    p->opaque = was || (e->in[1]->op == VTAC_E_INT && e->in[1]->i == 0);
    put_infix(p, e, operations[e->op].infix, lanes, form);
    p->opaque = was;
}

/* Integers of up to 32 bits, and those of 64 that fit. */
static void put_word(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const wgsl_operation *row = &operations[e->op];
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, e);
    const char *sign = form == VTAC_WGSL_INT ? "_i" : "_u";
    const bool own = row->of_ints != NULL && strncmp(row->of_ints, "vtac_", 5) == 0;
    const bool shifts = e->op == VTAC_E_SHL || e->op == VTAC_E_SHR;
    if (is_plain_shift(e)) {
        put_plain_shift(p, e, lanes);
    } else if (row->of_ints == NULL && (e->op == VTAC_E_DIV || e->op == VTAC_E_REM)) {
        put_division(p, e, lanes, form);
    } else if (row->infix != NULL) {
        put_infix(p, e, row->infix, lanes, form);
    } else if (e->op == VTAC_E_FMA) {
        put_text(p, "(");
        vtac_wgsl_put_spread(p, e->in[0], lanes, form);
        put_text(p, " * ");
        vtac_wgsl_put_spread(p, e->in[1], lanes, form);
        put_text(p, " + ");
        vtac_wgsl_put_spread(p, e->in[2], lanes, form);
        put_text(p, ")");
    } else if (shifts && lanes > 1) {
        put_lanes(p, e);
    } else if (row->of_ints != NULL) {
        put_call(p, e, row->of_ints, shifts ? sign : own && lanes > 1 ? "x4" : "", lanes, form);
    } else {
        p->missing = "an operation on integers";
    }
}

static bool is_literal(const vtac_wgsl *p, const vtac_expr *e)
{
    return e == NULL || e->op == VTAC_E_INT || e->op == VTAC_E_FLOAT ||
           (e->op == VTAC_E_VAR && p->walk.at.vars[e->var].kind == VTAC_LANE_NUMBER);
}

static void put_binary(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const wgsl_operation *row = &operations[e->op];
    const bool is_float = vtac_dtype_kind(e->type) == 'f';
    if (e->op >= VTAC_E_EQ && e->op <= VTAC_E_GE) {
        put_compare(p, e, lanes);
    } else if (is_float && row->infix != NULL) {
        put_infix(p, e, row->infix, lanes, VTAC_WGSL_FLOAT);
    } else if (is_float && e->op == VTAC_E_POW && lanes > 1) {
        put_lanes(p, e);
    } else if (is_float) {
        put_call(p, e, row->call, lanes > 1 ? "x4" : "", lanes, VTAC_WGSL_FLOAT);
    } else if (e->type == VTAC_BOOL) {
        put_infix(p, e, e->op == VTAC_E_XOR ? "!=" : row->infix, lanes, VTAC_WGSL_BOOL);
    } else {
        put_text(p, opening_of_wrap(e->type));
        put_word(p, e, lanes);
        put_text(p, closing_of_wrap(e->type));
    }
}

/* Negation of unsigned numbers is a difference; what rounds floats leaves integers as they are. */
static void put_plain_unary(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const vtac_expr zero = {.op = VTAC_E_INT, .type = e->type};
    const vtac_expr difference = {.op = VTAC_E_SUB, .type = e->type, .in = {&zero, e->in[0]}};
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, e);
    if (e->op == VTAC_E_NEG && form != VTAC_WGSL_FLOAT) {
        put_binary(p, &difference, lanes);
        return;
    }
    const char *call = form == VTAC_WGSL_FLOAT ? operations[e->op].call : "";
    call = e->op == VTAC_E_NEG                             ? "-"
           : e->op == VTAC_E_NOT && form == VTAC_WGSL_BOOL ? "!"
           : e->op == VTAC_E_NOT                           ? "~"
           : e->op == VTAC_E_ABS && form != VTAC_WGSL_UINT ? "abs"
                                                           : call;
    put_text(p, opening_of_wrap(e->type));
    vta_str_printf(p->walk.out, "%s(", call != NULL ? call : "");
    vtac_wgsl_put(p, e->in[0]);
    put_text(p, ")");
    put_text(p, closing_of_wrap(e->type));
}

static void put_unary(vtac_wgsl *p, const vtac_expr *e, unsigned lanes)
{
    const char *call = operations[e->op].call;
    const bool own = vtac_dtype_kind(e->type) == 'f' && call != NULL && strncmp(call, "vtac_", 5) == 0;
    if (own && lanes > 1) {
        put_lanes(p, e);
    } else {
        put_plain_unary(p, e, lanes);
    }
}

/* Both values are computed; a load from outside its memory gives some number. */
static void put_select(vtac_wgsl *p, const vtac_expr *e)
{
    const unsigned lanes = vtac_lanes_of(&p->walk.at, e);
    const vtac_wgsl_form form = vtac_wgsl_form_of(p, e);
    put_text(p, "select(");
    vtac_wgsl_put_spread(p, e->in[2], lanes, form);
    put_text(p, ", ");
    vtac_wgsl_put_spread(p, e->in[1], lanes, form);
    put_text(p, ", ");
    vtac_wgsl_put(p, e->in[0]);
    put_text(p, ")");
}

static void put_operation(vtac_wgsl *p, const vtac_expr *e)
{
    const unsigned lanes = vtac_lanes_of(&p->walk.at, e);
    const bool was = p->opaque;
    p->opaque = vtac_dtype_bytes(e->type) < sizeof(int64_t) && is_literal(p, e->in[0]) &&
                is_literal(p, e->in[1]) && is_literal(p, e->in[2]);
    if (vtac_expr_operands(e->op) == 1) {
        put_unary(p, e, lanes);
    } else if (vtac_expr_operands(e->op) == 2) {
        put_binary(p, e, lanes);
    } else if (vtac_dtype_kind(e->type) == 'f') {
        put_call(p, e, operations[e->op].call, "", lanes, VTAC_WGSL_FLOAT);
    } else {
        put_text(p, opening_of_wrap(e->type));
        put_word(p, e, lanes);
        put_text(p, closing_of_wrap(e->type));
    }
    p->opaque = was;
}

/* Tiles are an instruction of some processors. */
static void put_no_tiles(vtac_wgsl *p, const vtac_expr *e)
{
    (void)e;
    put_text(p, "false");
}

typedef void put_fn(vtac_wgsl *p, const vtac_expr *e);

static put_fn *const leaves[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_INT] = put_int,   [VTAC_E_FLOAT] = put_real,     [VTAC_E_VAR] = put_variable,
    [VTAC_E_LOAD] = put_load, [VTAC_E_QUAD] = put_quad,      [VTAC_E_CAST] = put_cast,
    [VTAC_E_BITS] = put_bits, [VTAC_E_TILES] = put_no_tiles, [VTAC_E_SELECT] = put_select,
};

/* True if the result or an operand is a pair of words; the index of a load is none. */
static bool touches_pairs(const vtac_wgsl *p, const vtac_expr *e)
{
    bool found = vtac_wgsl_is_pair(vtac_wgsl_form_of(p, e));
    for (int i = 0; e->op != VTAC_E_LOAD && e->op != VTAC_E_QUAD && i < vtac_expr_operands(e->op); i++) {
        found = found || vtac_wgsl_is_pair(vtac_wgsl_form_of(p, e->in[i]));
    }
    return found;
}

void vtac_wgsl_put(vtac_wgsl *p, const vtac_expr *e)
{
    const bool leaf = vtac_expr_operands(e->op) == 0 || e->op == VTAC_E_LOAD || e->op == VTAC_E_SELECT;
    const bool pairs = touches_pairs(p, e);
    if (pairs && vtac_wgsl_put_rounded(p, e)) {
        return;
    }
    if (pairs && vtac_lanes_is_vector(&p->walk.at, e)) {
        put_lanes(p, e);
        return;
    }
    if (pairs && !leaf) {
        vtac_wgsl_put_pair(p, e);
        return;
    }
    (leaves[e->op] != NULL ? leaves[e->op] : put_operation)(p, e);
}
