/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of loop nests: builders that fold constants, and questions about indices.
 */
#include <math.h>
#include <string.h>

#include "vtac/loop.h"

vtac_dtype vtac_compute_type(vtac_dtype dtype)
{
    return dtype == VTAC_F16 || dtype == VTAC_BF16 ? VTAC_F32 : dtype;
}

static vtac_expr *make_expr(vtac_kernel *k, vtac_expr_op op, vtac_dtype type)
{
    vtac_expr *e = k->failed ? NULL : vta_arena_alloc(k->arena, sizeof *e);
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    e->op = op;
    e->type = type;
    return e;
}

const vtac_expr *vtac_e_int(vtac_kernel *k, vtac_dtype type, int64_t value)
{
    type = vtac_compute_type(type);
    if (vtac_dtype_kind(type) == 'f') {
        return vtac_e_float(k, type, (double)value);
    }
    vtac_expr *e = make_expr(k, VTAC_E_INT, type);
    if (e != NULL) {
        e->i = value;
    }
    return e;
}

/* The nearest number of 64 bits: the ends of a range of 64 bits are no doubles. */
static int64_t whole_of(vtac_dtype type, double value)
{
    if (vtac_dtype_kind(type) == 'u' && value >= 0x1p63) {
        return value >= 0x1p64 ? -1 : (int64_t)(uint64_t)value; /* as bits */
    }
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : (int64_t)nearbyint(value);
}

const vtac_expr *vtac_e_float(vtac_kernel *k, vtac_dtype type, double value)
{
    type = vtac_compute_type(type);
    if (vtac_dtype_kind(type) != 'f') {
        return vtac_e_int(k, type, whole_of(type, value));
    }
    vtac_expr *e = make_expr(k, VTAC_E_FLOAT, type);
    if (e != NULL) {
        e->f = value;
    }
    return e;
}

const vtac_expr *vtac_e_index(vtac_kernel *k, int64_t value)
{
    return vtac_e_int(k, VTAC_I64, value);
}

const vtac_expr *vtac_e_load(vtac_kernel *k, const vtac_buffer *buffer, const vtac_expr *index)
{
    vtac_expr *e =
        buffer == NULL || index == NULL ? NULL : make_expr(k, VTAC_E_LOAD, vtac_compute_type(buffer->dtype));
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    e->buffer = buffer;
    e->in[0] = index;
    return e;
}

const vtac_expr *vtac_e_quad(vtac_kernel *k, const vtac_buffer *buffer, const vtac_expr *index,
                             int64_t stride)
{
    vtac_expr *e = buffer == NULL || index == NULL ? NULL : make_expr(k, VTAC_E_QUAD, VTAC_I32);
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    e->buffer = buffer;
    e->in[0] = index;
    e->i = stride;
    return e;
}

static bool is_comparison(vtac_expr_op op)
{
    return op >= VTAC_E_EQ && op <= VTAC_E_GE;
}

const vtac_expr *vtac_e3(vtac_kernel *k, vtac_expr_op op, const vtac_expr *a, const vtac_expr *b,
                         const vtac_expr *c)
{
    if (a == NULL || b == NULL || c == NULL) {
        k->failed = true;
        return NULL;
    }
    vtac_expr *e = make_expr(k, op, op == VTAC_E_SELECT ? b->type : a->type);
    if (e != NULL) {
        e->in[0] = a;
        e->in[1] = b;
        e->in[2] = c;
    }
    return e;
}

const vtac_expr *vtac_e_tiles(vtac_kernel *k)
{
    k->has_tiles = true;
    return make_expr(k, VTAC_E_TILES, VTAC_BOOL);
}

const vtac_expr *vtac_e_tile(vtac_kernel *k, const vtac_expr *start, const vtac_expr *left,
                             const vtac_expr *right, int64_t words)
{
    vtac_expr *e =
        start == NULL || left == NULL || right == NULL ? NULL : make_expr(k, VTAC_E_TILE, VTAC_I32);
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    e->in[0] = start;
    e->in[1] = left;
    e->in[2] = right;
    e->i = words;
    return e;
}

const vtac_expr *vtac_e2(vtac_kernel *k, vtac_expr_op op, const vtac_expr *a, const vtac_expr *b)
{
    if (a == NULL || b == NULL) {
        k->failed = true;
        return NULL;
    }
    vtac_expr *e = make_expr(k, op, is_comparison(op) ? VTAC_BOOL : a->type);
    if (e != NULL) {
        e->in[0] = a;
        e->in[1] = b;
    }
    return e;
}

const vtac_expr *vtac_e1(vtac_kernel *k, vtac_expr_op op, const vtac_expr *a)
{
    vtac_expr *e = a == NULL ? NULL : make_expr(k, op, a->type);
    if (e == NULL) {
        k->failed = true;
        return NULL;
    }
    e->in[0] = a;
    return e;
}

const vtac_expr *vtac_e_cast(vtac_kernel *k, vtac_dtype type, const vtac_expr *a)
{
    type = vtac_compute_type(type);
    if (a == NULL || a->type == type) {
        return a;
    }
    vtac_expr *e = make_expr(k, VTAC_E_CAST, type);
    if (e != NULL) {
        e->in[0] = a;
    }
    return e;
}

const vtac_expr *vtac_e_bits(vtac_kernel *k, vtac_dtype type, const vtac_expr *a)
{
    vtac_expr *e = a == NULL ? NULL : make_expr(k, VTAC_E_BITS, type);
    if (e != NULL) {
        e->in[0] = a;
    }
    return e;
}

static bool is_int(const vtac_expr *e, int64_t value)
{
    return e->op == VTAC_E_INT && e->i == value;
}

const vtac_expr *vtac_i_add(vtac_kernel *k, const vtac_expr *a, const vtac_expr *b)
{
    if (a == NULL || b == NULL) {
        k->failed = true;
        return NULL;
    }
    if (a->op == VTAC_E_INT && b->op == VTAC_E_INT) {
        return vtac_e_index(k, a->i + b->i);
    }
    return is_int(a, 0) ? b : is_int(b, 0) ? a : vtac_e2(k, VTAC_E_ADD, a, b);
}

const vtac_expr *vtac_i_addc(vtac_kernel *k, const vtac_expr *a, int64_t b)
{
    return vtac_i_add(k, a, vtac_e_index(k, b));
}

const vtac_expr *vtac_i_mulc(vtac_kernel *k, const vtac_expr *a, int64_t b)
{
    if (a == NULL || b == 1) {
        return a;
    }
    if (b == 0 || a->op == VTAC_E_INT) {
        return vtac_e_index(k, b == 0 ? 0 : a->i * b);
    }
    return vtac_e2(k, VTAC_E_MUL, a, vtac_e_index(k, b));
}

const vtac_expr *vtac_i_divc(vtac_kernel *k, const vtac_expr *a, int64_t b)
{
    if (a == NULL || b == 1) {
        return a;
    }
    return a->op == VTAC_E_INT ? vtac_e_index(k, a->i / b) : vtac_e2(k, VTAC_E_DIV, a, vtac_e_index(k, b));
}

const vtac_expr *vtac_i_remc(vtac_kernel *k, const vtac_expr *a, int64_t b)
{
    if (a == NULL || b == 1) {
        return a == NULL ? NULL : vtac_e_index(k, 0);
    }
    return a->op == VTAC_E_INT ? vtac_e_index(k, a->i % b) : vtac_e2(k, VTAC_E_REM, a, vtac_e_index(k, b));
}

bool vtac_expr_uses(const vtac_expr *e, uint32_t var)
{
    if (e == NULL) {
        return false;
    }
    return (e->op == VTAC_E_VAR && e->var == var) || vtac_expr_uses(e->in[0], var) ||
           vtac_expr_uses(e->in[1], var) || vtac_expr_uses(e->in[2], var);
}

static bool product_stride(const vtac_expr *e, int64_t a, int64_t b, int64_t *stride)
{
    if (a != 0 && b == 0 && e->in[1]->op == VTAC_E_INT) {
        *stride = a * e->in[1]->i;
        return true;
    }
    *stride = 0;
    return a == 0 && b == 0;
}

bool vtac_expr_stride(const vtac_expr *e, uint32_t var, int64_t *stride)
{
    int64_t a = 0;
    int64_t b = 0;
    if (e->op == VTAC_E_VAR) {
        *stride = e->var == var;
        return true;
    }
    if (e->op != VTAC_E_ADD && e->op != VTAC_E_SUB && e->op != VTAC_E_MUL) {
        *stride = 0;
        return !vtac_expr_uses(e, var);
    }
    if (!vtac_expr_stride(e->in[0], var, &a) || !vtac_expr_stride(e->in[1], var, &b)) {
        return false;
    }
    if (e->op == VTAC_E_MUL) {
        return product_stride(e, a, b, stride);
    }
    *stride = e->op == VTAC_E_ADD ? a + b : a - b;
    return true;
}
