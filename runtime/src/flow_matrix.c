/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices of any size. Floats of every width are summed in double, integers in 64 bits, bytes in
 * 32 as ONNX has it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"
#include "vta/fail.h"

/* One product: rows × inner by inner × columns; strides of a row and a column of each. */
typedef struct product {
    const vta_item *a, *b;
    vta_item *y;
    int64_t rows, inner, columns;
    int64_t a_at, b_at, y_at, a_row, a_column, b_row, b_column;
} product;

static bool is_f32(const vta_item *t)
{
    return vta_item_is_float(t) && vta_item_size(t) == 4;
}

/* Sums of a row, in double, go along the columns of b. */
static vta_status multiply(const vta_call *call, const product *p)
{
    double *sum = calloc((size_t)p->columns + 1, sizeof *sum);
    if (sum == NULL) {
        return vta_no_memory(call->diag);
    }
    const bool fast = is_f32(p->b) && p->b_column == 1;
    for (int64_t i = 0; i < p->rows; i++) {
        memset(sum, 0, (size_t)p->columns * sizeof *sum);
        for (int64_t k = 0; k < p->inner; k++) {
            const double a = vta_item_float(p->a, p->a_at + i * p->a_row + k * p->a_column);
            const int64_t from = p->b_at + k * p->b_row;
            const float *b = fast ? (const float *)(const void *)p->b->data + from : NULL;
            for (int64_t j = 0; j < p->columns; j++) {
                sum[j] += a * (fast ? (double)b[j] : vta_item_float(p->b, from + j * p->b_column));
            }
        }
        for (int64_t j = 0; j < p->columns; j++) {
            vta_item_set_float(p->y, p->y_at + i * p->columns + j, sum[j]);
        }
    }
    free(sum);
    return VTA_OK;
}

/* Integers wrap around in their own width: sums of 64 bits do the same. */
static void multiply_ints(const product *p)
{
    for (int64_t i = 0; i < p->rows; i++) {
        for (int64_t j = 0; j < p->columns; j++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < p->inner; k++) {
                sum += (uint64_t)vta_item_int(p->a, p->a_at + i * p->a_row + k * p->a_column) *
                       (uint64_t)vta_item_int(p->b, p->b_at + k * p->b_row + j * p->b_column);
            }
            vta_item_set_int(p->y, p->y_at + i * p->columns + j, (int64_t)sum);
        }
    }
}

static vta_status multiply_any(const vta_call *call, const product *p)
{
    if (vta_item_is_float(p->a)) {
        return multiply(call, p);
    }
    multiply_ints(p);
    return VTA_OK;
}

/* The matrices of all axes but the last two, broadcast. */
static int64_t matrix_place(const vta_item *t, int64_t rank, int64_t matrix, const int64_t *dim)
{
    const int64_t own = t->rank > 2 ? t->rank - 2 : 0;
    int64_t at = 0;
    int64_t stride = own > 0 ? t->dim[t->rank - 1] * t->dim[t->rank - 2] : 0;
    for (int64_t i = 0; i < rank; i++) {
        const int64_t axis = rank - 1 - i;
        const int64_t place = matrix % dim[axis];
        matrix /= dim[axis];
        if (i < own) {
            const int64_t size = t->dim[own - 1 - i];
            at += size == 1 ? 0 : place * stride;
            stride *= size;
        }
    }
    return at;
}

/* Products of many matrices: the sizes of all axes but the last two, broadcast, and how many that makes. */
typedef struct products {
    product p;
    int64_t rank, count;
    int64_t dim[VTA_FLOW_RANK + 2];
} products;

static vta_status open_products(vta_call *call, const vta_item *a, const vta_item *b, uint32_t type,
                                products *out)
{
    if (a->rank == 0 || b->rank == 0) {
        return vta_call_refuse(call, "it multiplies tensors of at least one axis");
    }
    product *p = &out->p;
    *out = (products){.p = {.a = a, .b = b}, .count = 1};
    p->rows = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    p->inner = a->dim[a->rank - 1];
    p->columns = b->rank > 1 ? b->dim[b->rank - 1] : 1;
    if (p->inner != (b->rank > 1 ? b->dim[b->rank - 2] : b->dim[0])) {
        return vta_call_refuse(call, "its inner sizes %lld and %lld differ", (long long)p->inner,
                               (long long)(b->rank > 1 ? b->dim[b->rank - 2] : b->dim[0]));
    }
    vta_item over[2] = {*a, *b};
    for (int i = 0; i < 2; i++) {
        over[i].rank = over[i].rank > 2 ? over[i].rank - 2 : 0;
    }
    vta_item *both[] = {&over[0], &over[1]};
    VTA_TRY(vta_broadcast_dims(call, both, 2, 0, &out->rank, out->dim));
    int64_t whole = out->rank;
    out->dim[whole] = p->rows;
    whole += a->rank > 1;
    out->dim[whole] = p->columns;
    whole += b->rank > 1;
    VTA_TRY(vta_item_tensor(call->flow, type, (uint32_t)whole, out->dim, &call->out[0], call->diag));
    for (int64_t k = 0; k < out->rank; k++) {
        out->count *= out->dim[k];
    }
    p->y = call->out[0];
    p->a_row = p->inner;
    p->a_column = 1;
    p->b_row = p->columns;
    p->b_column = 1;
    return VTA_OK;
}

static void take_matrix(products *all, int64_t i)
{
    all->p.a_at = matrix_place(all->p.a, all->rank, i, all->dim);
    all->p.b_at = matrix_place(all->p.b, all->rank, i, all->dim);
    all->p.y_at = i * all->p.rows * all->p.columns;
}

vta_status vta_flow_matmul(vta_call *call)
{
    products all;
    VTA_TRY(vta_call_needs(call, 2));
    if (call->in[0]->type != call->in[1]->type) {
        return vta_call_refuse(call, "it multiplies tensors of one type");
    }
    VTA_TRY(open_products(call, call->in[0], call->in[1], call->in[0]->type, &all));
    for (int64_t i = 0; i < all.count; i++) {
        take_matrix(&all, i);
        VTA_TRY(multiply_any(call, &all.p));
    }
    return VTA_OK;
}

static vta_status add_third(vta_call *call, double alpha, double beta)
{
    vta_item *y = call->out[0];
    vta_item *c = NULL;
    if (vta_call_has(call, 2)) {
        VTA_TRY(vta_item_broadcast(call->flow, call->in[2], 2, y->dim, &c, call->diag));
    }
    for (int64_t i = 0; i < y->count; i++) {
        const double more = c != NULL ? beta * vta_item_float(c, i) : 0;
        vta_item_set_float(y, i, alpha * vta_item_float(y, i) + more);
    }
    vta_item_drop(call->flow, c);
    return VTA_OK;
}

vta_status vta_flow_gemm(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 2));
    const vta_item *a = call->in[0];
    const vta_item *b = call->in[1];
    const bool ta = vta_call_word(call, 2) != 0;
    const bool tb = vta_call_word(call, 3) != 0;
    const vta_item *c = vta_call_has(call, 2) ? call->in[2] : NULL;
    if (a->rank != 2 || b->rank != 2 || a->type != b->type ||
        (c != NULL && (c->rank > 2 || c->type != a->type))) {
        return vta_call_refuse(call, "it takes matrices of one type");
    }
    product p = {.a = a, .b = b, .rows = a->dim[ta], .inner = a->dim[!ta], .columns = b->dim[!tb]};
    if (b->dim[tb] != p.inner) {
        return vta_call_refuse(call, "its inner sizes %lld and %lld differ", (long long)p.inner,
                               (long long)b->dim[tb]);
    }
    p.a_row = ta ? 1 : a->dim[1];
    p.a_column = ta ? a->dim[1] : 1;
    p.b_row = tb ? 1 : b->dim[1];
    p.b_column = tb ? b->dim[1] : 1;
    const int64_t dim[] = {p.rows, p.columns};
    for (uint32_t i = 0; c != NULL && i < c->rank; i++) {
        const int64_t size = c->dim[i];
        if (size != 1 && size != dim[2 - c->rank + i]) {
            return vta_call_refuse(call, "its third input does not broadcast to the product");
        }
    }
    VTA_TRY(vta_item_tensor(call->flow, a->type, 2, dim, &call->out[0], call->diag));
    p.y = call->out[0];
    VTA_TRY(multiply_any(call, &p));
    const double alpha = vta_call_float(call, 0);
    const double beta = vta_call_float(call, 1);
    return c != NULL || alpha != 1 ? add_third(call, alpha, beta) : VTA_OK;
}

/* ---- matrices of bytes ---- */

/* A scale or zero point: one number, one for each row or column, or one for each of every matrix. */
typedef struct parameter {
    const vta_item *t; /* NULL: 0 */
    int64_t line, matrix;
} parameter;

static vta_status parameter_of(const vta_call *call, int64_t i, int64_t lines, int64_t matrices,
                               parameter *out)
{
    *out = (parameter){.t = vta_call_has(call, i) ? call->in[i] : NULL};
    if (out->t == NULL || out->t->count == 1) {
        return VTA_OK;
    }
    out->line = 1;
    out->matrix = out->t->count == lines ? 0 : lines;
    return out->t->count == lines || out->t->count == lines * matrices
               ? VTA_OK
               : vta_call_refuse(call, "input %lld has %lld elements; one, or one for each of %lld lines",
                                 (long long)i, (long long)out->t->count, (long long)lines);
}

/* Number of matrices in a tensor. */
static int64_t matrices_of(const vta_item *t)
{
    return t->rank > 2 ? vta_dims_product(t, 0, (int64_t)t->rank - 2) : 1;
}

static int64_t place_of(const parameter *p, int64_t matrix, int64_t line)
{
    return matrix * p->matrix + line * p->line;
}

static int64_t point_at(const parameter *p, int64_t matrix, int64_t line)
{
    return p->t != NULL ? vta_item_int(p->t, place_of(p, matrix, line)) : 0;
}

static float scale_at(const parameter *p, int64_t matrix, int64_t line)
{
    return p->t != NULL ? (float)vta_item_float(p->t, place_of(p, matrix, line)) : 1.0F;
}

/* Products of bytes. A sum may be scaled to bytes again: by a scale of the rows, of the columns, of y. */
typedef struct bytes_product {
    vta_call *call;
    products all;
    parameter a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
    bool scaled;
    int64_t a_matrix, b_matrix; /* which of its own matrices each has */
    int16_t *right;             /* matrix b without its zero points */
    uint32_t *sum;              /* of a row */
} bytes_product;

static bool is_byte(const vta_item *t)
{
    return vta_item_size(t) == 1 && ((t->type & 255) == 0 || (t->type & 255) == 1) &&
           (t->type >> 8 & 255) == 8;
}

static void take_right(bytes_product *m, int64_t matrix)
{
    const product *p = &m->all.p;
    m->b_matrix = matrix;
    for (int64_t j = 0; j < p->columns; j++) {
        const int64_t zero = point_at(&m->b_zero, matrix, j);
        for (int64_t k = 0; k < p->inner; k++) {
            m->right[k * p->columns + j] = (int16_t)(vta_item_int(p->b, p->b_at + k * p->b_row + j) - zero);
        }
    }
}

static void sum_row(bytes_product *m, int64_t row)
{
    const product *p = &m->all.p;
    const int64_t zero = point_at(&m->a_zero, m->a_matrix, row);
    memset(m->sum, 0, (size_t)p->columns * sizeof *m->sum);
    for (int64_t k = 0; k < p->inner; k++) {
        const int32_t a = (int32_t)(vta_item_int(p->a, p->a_at + row * p->a_row + k) - zero);
        const int16_t *right = m->right + k * p->columns;
        for (int64_t j = 0; a != 0 && j < p->columns; j++) {
            m->sum[j] += (uint32_t)(a * right[j]);
        }
    }
}

/* Rounded half to even, as everywhere. */
static int64_t rescaled(const bytes_product *m, int32_t sum, int64_t row, int64_t column, int64_t matrix)
{
    const bool is_signed = (m->all.p.y->type & 255) == 0;
    const double low = is_signed ? -128.0 : 0.0;
    const double high = is_signed ? 127.0 : 255.0;
    const float ab = scale_at(&m->a_scale, m->a_matrix, row) * scale_at(&m->b_scale, m->b_matrix, column);
    const float scale = ab / scale_at(&m->y_scale, matrix, row);
    const double y = rint((double)sum * (double)scale) + (double)point_at(&m->y_zero, matrix, row);
    return (int64_t)(y > low ? y < high ? y : high : low);
}

static vta_status multiply_bytes(bytes_product *m, int64_t matrix)
{
    const product *p = &m->all.p;
    for (int64_t i = 0; i < p->rows; i++) {
        if (vta_stop_take(m->call->flow->stop)) {
            return vta_fail(m->call->diag, VTA_INTERRUPTED, "interrupted in the node '%.*s'",
                            m->call->insn->name_size, m->call->insn->name);
        }
        sum_row(m, i);
        for (int64_t j = 0; j < p->columns; j++) {
            const int32_t sum = (int32_t)m->sum[j];
            vta_item_set_int(p->y, p->y_at + i * p->columns + j,
                             m->scaled ? rescaled(m, sum, i, j, matrix) : sum);
        }
    }
    return VTA_OK;
}

static vta_status multiply_all(bytes_product *m)
{
    const product *p = &m->all.p;
    const int64_t a_size = p->rows * p->inner;
    const int64_t b_size = p->inner * p->columns;
    m->right = calloc((size_t)b_size + 1, sizeof *m->right);
    m->sum = calloc((size_t)p->columns + 1, sizeof *m->sum);
    vta_status status = vta_allocated(m->right != NULL && m->sum != NULL, m->call->diag);
    m->b_matrix = -1;
    for (int64_t i = 0; status == VTA_OK && i < m->all.count; i++) {
        take_matrix(&m->all, i);
        m->a_matrix = a_size > 0 ? p->a_at / a_size : 0;
        const int64_t b_matrix = b_size > 0 ? p->b_at / b_size : 0;
        if (b_matrix != m->b_matrix) {
            take_right(m, b_matrix);
        }
        status = multiply_bytes(m, i);
    }
    free(m->right);
    free(m->sum);
    return status;
}

/* The operands' sizes, types and parameters; `a`, `b`, … are numbers of inputs. */
static vta_status open_bytes(bytes_product *m, int64_t a, int64_t b, uint32_t type, int64_t a_zero,
                             int64_t b_zero)
{
    vta_call *call = m->call;
    const vta_item *left = call->in[a];
    const vta_item *right = call->in[b];
    if (!is_byte(left) || !is_byte(right)) {
        return vta_call_refuse(call, "it multiplies integers of 8 bits");
    }
    VTA_TRY(open_products(call, left, right, type, &m->all));
    VTA_TRY(parameter_of(call, a_zero, m->all.p.rows, matrices_of(left), &m->a_zero));
    return parameter_of(call, b_zero, m->all.p.columns, matrices_of(right), &m->b_zero);
}

vta_status vta_flow_matmul_integer(vta_call *call)
{
    bytes_product m = {.call = call};
    VTA_TRY(vta_call_needs(call, 2));
    VTA_TRY(open_bytes(&m, 0, 1, VTA_FLOW_I32, 2, 3));
    return multiply_all(&m);
}

/* a, its scale, its zero point; b, its scale, its zero point; the scale and zero point of y */
vta_status vta_flow_qlinear_matmul(vta_call *call)
{
    bytes_product m = {.call = call, .scaled = true};
    VTA_TRY(vta_call_needs(call, 8));
    if (!is_byte(call->in[7])) {
        return vta_call_refuse(call, "its zero point (input 7) is to be an integer of 8 bits");
    }
    VTA_TRY(open_bytes(&m, 0, 3, call->in[7]->type, 2, 5));
    const vta_item *a = call->in[0];
    const vta_item *b = call->in[3];
    const int64_t rows = m.all.p.rows;
    VTA_TRY(parameter_of(call, 1, rows, matrices_of(a), &m.a_scale));
    VTA_TRY(parameter_of(call, 4, m.all.p.columns, matrices_of(b), &m.b_scale));
    VTA_TRY(parameter_of(call, 6, rows, m.all.count, &m.y_scale));
    VTA_TRY(parameter_of(call, 7, rows, m.all.count, &m.y_zero));
    return multiply_all(&m);
}

/* ---- bytes of floats ---- */

static float within(float value)
{
    return value > 0.0F ? value < 255.0F ? value : 255.0F : 0.0F;
}

/* Scale and zero point from the range of the data, which always holds 0. */
vta_status vta_flow_dynamic_quantize(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *x = call->in[0];
    if (!is_f32(x)) {
        return vta_call_refuse(call, "it takes float32");
    }
    const float *from = (const float *)(const void *)x->data;
    float low = 0.0F;
    float high = 0.0F;
    for (int64_t i = 0; i < x->count; i++) {
        low = from[i] < low ? from[i] : low;
        high = from[i] > high ? from[i] : high;
    }
    const float scale = (high - low) / 255.0F;
    const float safe = scale == 0.0F ? 1.0F : scale;
    const float zero = within(rintf(-(low / safe)));
    VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_U8, x->rank, x->dim, &call->out[0], call->diag));
    for (int64_t i = 0; i < x->count; i++) {
        call->out[0]->data[i] = (uint8_t)within(rintf(from[i] / safe) + zero);
    }
    for (int64_t i = 1; i < call->insn->outputs.count && i < 3; i++) {
        VTA_TRY(vta_item_tensor(call->flow, i == 1 ? VTA_FLOW_F32 : VTA_FLOW_U8, 0, NULL, &call->out[i],
                                call->diag));
        vta_item_set_float(call->out[i], 0, (double)(i == 1 ? scale : zero));
    }
    return VTA_OK;
}
