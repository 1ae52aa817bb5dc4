/* SPDX-License-Identifier: Apache-2.0
 *
 * Bound nests, run by a plain interpreter of groups, items and barriers, as the test of their schedules: the
 * steps of whole networks, in both forms of binding, against the same network compiled for this host;
 * integers equal, floats within a thousandth of the range, twice with different data. Every access is looked
 * at. Two items race where both touch a byte, one of them writes another value than is there, and no barrier
 * of their group stands between; a kernel that races, or leaves a buffer, is named.
 *
 * A race is reported if, say, lanes.c takes a buffer for split whose elements other lanes read, or a barrier
 * is left out. Usage: gpu_nests FORM NETWORK.onnx... (FORM: items, groups, and drawn-items,
 * drawn-groups by schedules that are drawn for each step, of those that the tuner has)
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../compiler/src/gpu/gpu.h"
#include "rng.h"
#include "seed.h"
#include "vta/model.h"
#include "vtac/codegen.h"
#include "vtac/import.h"
#include "vtac/load.h"
#include "vtac/pass.h"

enum { MAX_ITEMS = 1024, MAX_FAULTS = 5 };

typedef union number {
    int64_t i;
    double d;
    float f;
} number;

/* The last item that touched a byte, in this kernel's run. */
typedef struct stamp {
    uint32_t run; /* 0: nobody */
    int32_t group, item;
    uint32_t epoch;
    bool several; /* items */
} stamp;

/* A piece of memory, and who touched it. */
typedef struct region {
    uint8_t *data;
    uint64_t bytes;
    stamp *writers, *readers;
} region;

typedef struct machine {
    const vtac_bound *bound;
    const vtac_kernel *k;
    region *regions; /* by place of the buffer: where the buffers of all items begin */
    int64_t items;   /* of a group */
    number *vars;    /* of all items, one item's after the other's */
    uint8_t **own;   /* by item: its local and scratch memory, one buffer after the other */
    uint64_t *own_offset;
    uint64_t own_bytes;
    uint32_t run, epoch;
    int32_t group, item;
    uint32_t faults;
    char fault[256];
} machine;

/* ---- memory */

static size_t place_of(const machine *m, const vtac_buffer *b)
{
    size_t at = 0;
    while (m->k->buffers[at] != b) {
        at++;
    }
    return at;
}

__attribute__((format(printf, 2, 3))) static void note_fault(machine *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (m->faults++ == 0) {
        (void)vsnprintf(m->fault, sizeof m->fault, format, args);
    }
    va_end(args);
}

static bool is_other(const machine *m, const stamp *s)
{
    return s->run == m->run &&
           (s->group != m->group || ((s->several || s->item != m->item) && s->epoch == m->epoch));
}

static void note_read(machine *m, const vtac_buffer *b, const region *r, uint64_t at, size_t bytes)
{
    for (uint64_t i = at; i < at + bytes; i++) {
        stamp *reader = &r->readers[i];
        if (is_other(m, &r->writers[i])) {
            note_fault(m, "item %d reads '%s' byte %" PRIu64 ", which item %d writes", m->item, b->name, i,
                       r->writers[i].item);
        }
        const bool again = reader->run == m->run && reader->group == m->group && reader->epoch == m->epoch;
        const bool others =
            reader->run == m->run && (reader->group != m->group || (again && reader->item != m->item));
        *reader = (stamp){m->run, m->group, m->item, m->epoch, others || (again && reader->several)};
    }
}

static void note_write(machine *m, const vtac_buffer *b, const region *r, uint64_t at, size_t bytes,
                       const uint8_t *value)
{
    for (uint64_t i = at; i < at + bytes; i++) {
        const bool same = r->data[i] == value[i - at];
        if (!same && (is_other(m, &r->writers[i]) || is_other(m, &r->readers[i]))) {
            note_fault(m, "item %d writes '%s' byte %" PRIu64 ", which another item touches", m->item,
                       b->name, i);
        }
        r->writers[i] = (stamp){m->run, m->group, m->item, m->epoch, false};
    }
}

/* Address of an element, or NULL where it lies outside the buffer. Bytes just behind one may be read, within
 * its memory: as the fourth of four bytes of which weights of 0 make nothing. */
static uint8_t *element_at(machine *m, const vtac_buffer *b, int64_t index, const uint8_t *write)
{
    enum { BEHIND = 64 };
    const size_t at = place_of(m, b);
    const size_t bytes = vtac_dtype_bytes(b->dtype);
    const uint64_t offset = (uint64_t)index * bytes;
    const bool shared_out = b->space == VTAC_BUFFER_ARGUMENT || b->space == VTAC_BUFFER_SHARED;
    const bool behind = shared_out && write == NULL && index >= b->elements && index < b->elements + BEHIND;
    const region *r = &m->regions[at];
    if (index < 0 || (index >= b->elements && !behind) || (shared_out && offset + bytes > r->bytes)) {
        note_fault(m, "'%s[%" PRId64 "]' lies outside its %" PRId64 " elements", b->name, index, b->elements);
        return NULL;
    }
    if (!shared_out) {
        return m->own[m->item] + m->own_offset[at] + offset;
    }
    if (write != NULL) {
        note_write(m, b, r, offset, bytes, write);
    } else if (!behind) {
        note_read(m, b, r, offset, bytes);
    }
    return r->data + offset;
}

/* ---- numbers */

static int64_t wrap(vtac_dtype type, int64_t x)
{
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(type);
    if (type == VTAC_BOOL || bits == 64) {
        return type == VTAC_BOOL ? x != 0 : x;
    }
    const uint64_t low = (uint64_t)x & ((UINT64_C(1) << bits) - 1);
    const bool negative = vtac_dtype_kind(type) == 'i' && low >> (bits - 1) != 0;
    return (int64_t)low - (negative ? INT64_C(1) << bits : 0);
}

static float half_to_float(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const double magnitude = exponent == 31 ? (h & 1023) != 0 ? (double)NAN : (double)INFINITY
                             : exponent > 0 ? ldexp(1024 + (h & 1023), exponent - 25)
                                            : ldexp(h & 1023, -24);
    return (float)(h >> 15 != 0 ? -magnitude : magnitude);
}

static uint16_t float_to_half(float f)
{
    const uint16_t sign = signbit(f) ? 0x8000 : 0;
    const double a = fabs((double)f);
    int exponent = 0;
    if (isnan(f)) {
        return 0x7e00;
    }
    (void)frexp(a, &exponent);
    const int scale = exponent < -13 ? 24 : 11 - exponent;
    const double units = rint(ldexp(a, scale));
    if (a == 0 || exponent < -13) {
        return (uint16_t)(sign | (uint16_t)units);
    }
    const double bits = units - 1024 + 1024 * (exponent + 14);
    return (uint16_t)(sign | (uint16_t)(bits > 31744 ? 31744 : bits));
}

static number read_number(vtac_dtype type, const uint8_t *from)
{
    number n = {.i = 0};
    uint32_t word = 0;
    uint16_t half = 0;
    if (type == VTAC_BF16) {
        memcpy(&half, from, 2);
        word = (uint32_t)half << 16;
        memcpy(&n.f, &word, 4);
    } else if (type == VTAC_F16) {
        memcpy(&half, from, 2);
        n.f = half_to_float(half);
    } else {
        memcpy(&n, from, vtac_dtype_bytes(type));
        n.i = vtac_dtype_kind(type) == 'f' ? n.i : wrap(type, n.i);
    }
    return n;
}

static void write_number(vtac_dtype type, number n, uint8_t *to)
{
    uint32_t word;
    uint16_t half;
    if (type == VTAC_BF16) {
        memcpy(&word, &n.f, 4);
        half = isnan(n.f) ? 0x7fc0 : (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
        memcpy(to, &half, 2);
    } else if (type == VTAC_F16) {
        half = float_to_half(n.f);
        memcpy(to, &half, 2);
    } else {
        memcpy(to, &n, vtac_dtype_bytes(type));
    }
}

static double saturated(vtac_dtype to, double x)
{
    const int bits = 8 * (int)vtac_dtype_bytes(to);
    const bool is_signed = vtac_dtype_kind(to) == 'i';
    const double low = is_signed ? -ldexp(1, bits - 1) : 0;
    const double high = ldexp(1, is_signed ? bits - 1 : bits) - 1;
    return isnan(x) ? 0 : x < low ? low : x > high ? high : trunc(x);
}

static int64_t whole_of(vtac_dtype to, double x)
{
    if (to == VTAC_I64 && x >= 0x1p63) {
        return INT64_MAX;
    }
    if (to == VTAC_U64) {
        return isnan(x) || x <= 0 ? 0 : x >= 0x1p64 ? -1 : (int64_t)(uint64_t)x;
    }
    return isnan(x) ? 0 : x <= -0x1p63 ? INT64_MIN : (int64_t)saturated(to, x);
}

static number cast_number(vtac_dtype from, vtac_dtype to, number x)
{
    number n = {.i = 0};
    const bool is_float = vtac_dtype_kind(from) == 'f';
    const double d = from == VTAC_F64   ? x.d
                     : is_float         ? (double)x.f
                     : from == VTAC_U64 ? (double)(uint64_t)x.i
                                        : (double)x.i;
    if (to == VTAC_F64) {
        n.d = d;
    } else if (vtac_dtype_kind(to) == 'f') {
        n.f = is_float ? (float)d : from == VTAC_U64 ? (float)(uint64_t)x.i : (float)x.i;
    } else if (to == VTAC_BOOL) {
        n.i = is_float ? d != 0 : x.i != 0;
    } else {
        n.i = is_float ? whole_of(to, d) : wrap(to, x.i);
    }
    return n;
}

/* ---- operations */

static double negated(double x)
{
    return -x;
}

typedef double unary_fn(double x);
static unary_fn *const unaries[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_NEG] = negated, [VTAC_E_ABS] = fabs,   [VTAC_E_FLOOR] = floor, [VTAC_E_CEIL] = ceil,
    [VTAC_E_TRUNC] = trunc, [VTAC_E_ROUND] = rint, [VTAC_E_SQRT] = sqrt,   [VTAC_E_EXP] = exp,
    [VTAC_E_EXPM1] = expm1, [VTAC_E_LOG] = log,    [VTAC_E_LOG1P] = log1p, [VTAC_E_SIN] = sin,
    [VTAC_E_COS] = cos,     [VTAC_E_ATAN] = atan,  [VTAC_E_TANH] = tanh,   [VTAC_E_ERF] = erf,
};

static bool compare_order(vtac_expr_op op, bool less, bool equal, bool greater)
{
    const bool truths[] = {equal, !equal, less, less || equal, greater, greater || equal};
    return truths[op - VTAC_E_EQ];
}

static bool compare(vtac_expr_op op, vtac_dtype type, number a, number b)
{
    if (vtac_dtype_kind(type) == 'f') {
        const double x = type == VTAC_F64 ? a.d : (double)a.f;
        const double y = type == VTAC_F64 ? b.d : (double)b.f;
        return compare_order(op, x<y, x == y, x> y);
    }
    const bool less = type == VTAC_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
    return compare_order(op, less, a.i == b.i, !less && a.i != b.i);
}

static double sum_of(double a, double b)
{
    return a + b;
}

static double difference_of(double a, double b)
{
    return a - b;
}

static double product_of(double a, double b)
{
    return a * b;
}

static double quotient_of(double a, double b)
{
    return a / b;
}

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

typedef double binary_fn(double a, double b);
static binary_fn *const binaries[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_ADD] = sum_of,      [VTAC_E_SUB] = difference_of, [VTAC_E_MUL] = product_of,
    [VTAC_E_DIV] = quotient_of, [VTAC_E_REM] = fmod,          [VTAC_E_MIN] = min_of,
    [VTAC_E_MAX] = max_of,      [VTAC_E_POW] = pow,
};

static int64_t divide(vtac_expr_op op, vtac_dtype type, int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && type != VTAC_U64)) {
        return op == VTAC_E_REM ? 0 : b == 0 ? a : (int64_t)(0 - (uint64_t)a);
    }
    if (type == VTAC_U64) {
        return (int64_t)(op == VTAC_E_DIV ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    }
    return op == VTAC_E_DIV ? a / b : a % b;
}

static int64_t shift(vtac_expr_op op, vtac_dtype type, int64_t a, int64_t b)
{
    const int64_t bits = 8 * (int64_t)vtac_dtype_bytes(type);
    const bool over = b < 0 || b >= bits;
    if (op == VTAC_E_SHL) {
        return over ? 0 : (int64_t)((uint64_t)a << b);
    }
    if (vtac_dtype_kind(type) == 'i') {
        return a >> (over ? 63 : b);
    }
    return over ? 0 : (int64_t)((uint64_t)a >> b);
}

static int64_t integer_of(vtac_expr_op op, vtac_dtype type, int64_t a, int64_t b)
{
    const bool less = type == VTAC_U64 ? (uint64_t)a < (uint64_t)b : a < b;
    const int64_t results[VTAC_EXPR_OP_COUNT] = {
        [VTAC_E_ADD] = (int64_t)((uint64_t)a + (uint64_t)b),
        [VTAC_E_SUB] = (int64_t)((uint64_t)a - (uint64_t)b),
        [VTAC_E_MUL] = (int64_t)((uint64_t)a * (uint64_t)b),
        [VTAC_E_MIN] = less ? a : b,
        [VTAC_E_MAX] = less ? b : a,
        [VTAC_E_AND] = a & b,
        [VTAC_E_OR] = a | b,
        [VTAC_E_XOR] = a ^ b,
    };
    return op == VTAC_E_DIV || op == VTAC_E_REM   ? divide(op, type, a, b)
           : op == VTAC_E_SHL || op == VTAC_E_SHR ? shift(op, type, a, b)
                                                  : results[op];
}

static number binary(const vtac_expr *e, number a, number b)
{
    number n = {.i = 0};
    if (e->op >= VTAC_E_EQ && e->op <= VTAC_E_GE) {
        n.i = compare(e->op, e->in[0]->type, a, b);
    } else if (e->type == VTAC_F64) {
        n.d = binaries[e->op](a.d, b.d);
    } else if (vtac_dtype_kind(e->type) == 'f') {
        n.f = (float)binaries[e->op]((double)a.f, (double)b.f);
    } else {
        n.i = wrap(e->type, integer_of(e->op, e->type, a.i, b.i));
    }
    return n;
}

static number unary(const vtac_expr *e, number x)
{
    number n = {.i = 0};
    if (e->type == VTAC_F64) {
        n.d = unaries[e->op](x.d);
    } else if (vtac_dtype_kind(e->type) == 'f') {
        n.f = (float)unaries[e->op]((double)x.f);
    } else if (e->op == VTAC_E_NOT) {
        n.i = e->type == VTAC_BOOL ? !x.i : wrap(e->type, ~x.i);
    } else if (e->op == VTAC_E_NEG || (e->op == VTAC_E_ABS && vtac_dtype_kind(e->type) == 'i' && x.i < 0)) {
        n.i = wrap(e->type, (int64_t)(0 - (uint64_t)x.i));
    } else {
        n.i = x.i;
    }
    return n;
}

static number dot(const vtac_expr *e, const number *v)
{
    uint32_t sum = (uint32_t)v[0].i;
    for (int i = 0; i < 4 && e->op != VTAC_E_DOT2; i++) {
        const uint8_t a = (uint8_t)((uint64_t)v[1].i >> 8 * i);
        const int32_t b = (int8_t)((uint64_t)v[2].i >> 8 * i);
        sum += (uint32_t)((e->op == VTAC_E_SDOT4 ? (int32_t)(int8_t)a : (int32_t)a) * b);
    }
    for (int i = 0; i < 2 && e->op == VTAC_E_DOT2; i++) {
        sum += (uint32_t)((int32_t)(int16_t)((uint64_t)v[1].i >> 16 * i) *
                          (int16_t)((uint64_t)v[2].i >> 16 * i));
    }
    return (number){.i = (int32_t)sum};
}

static number value_of(machine *m, const vtac_expr *e);

static number load(machine *m, const vtac_buffer *b, int64_t index)
{
    const uint8_t *from = element_at(m, b, index, NULL);
    return from != NULL ? read_number(b->dtype, from) : (number){.i = 0};
}

static number ternary(machine *m, const vtac_expr *e)
{
    if (e->op == VTAC_E_SELECT) {
        return value_of(m, e->in[value_of(m, e->in[0]).i != 0 ? 1 : 2]);
    }
    const number v[] = {value_of(m, e->in[0]), value_of(m, e->in[1]), value_of(m, e->in[2])};
    if (e->op != VTAC_E_FMA) {
        return dot(e, v);
    }
    return e->type == VTAC_F64 ? (number){.d = fma(v[0].d, v[1].d, v[2].d)}
           : vtac_dtype_kind(e->type) == 'f'
               ? (number){.f = fmaf(v[0].f, v[1].f, v[2].f)}
               : (number){
                     .i = wrap(e->type, (int64_t)((uint64_t)v[0].i * (uint64_t)v[1].i + (uint64_t)v[2].i))};
}

static number quad(machine *m, const vtac_expr *e)
{
    const int64_t at = value_of(m, e->in[0]).i;
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) {
        word |= (uint32_t)(uint8_t)load(m, e->buffer, at + i * e->i).i << 8 * i;
    }
    return (number){.i = (int32_t)word};
}

static number value_of(machine *m, const vtac_expr *e)
{
    number n = {.i = 0};
    if (e->op == VTAC_E_INT) {
        n.i = wrap(e->type, e->i);
    } else if (e->op == VTAC_E_FLOAT && e->type == VTAC_F64) {
        n.d = e->f;
    } else if (e->op == VTAC_E_FLOAT) {
        n.f = (float)e->f;
    } else if (e->op == VTAC_E_VAR) {
        n = m->vars[(size_t)m->item * m->k->var_count + e->var];
    } else if (e->op == VTAC_E_LOAD) {
        n = load(m, e->buffer, value_of(m, e->in[0]).i);
    } else if (e->op == VTAC_E_QUAD) {
        n = quad(m, e);
    } else if (e->op == VTAC_E_CAST) {
        n = cast_number(e->in[0]->type, e->type, value_of(m, e->in[0]));
    } else if (e->op == VTAC_E_BITS) {
        n = value_of(m, e->in[0]);
        n.i = vtac_dtype_kind(e->type) == 'f' ? n.i : wrap(e->type, n.i);
    } else if (e->op == VTAC_E_TILES) {
        n.i = 0;
    } else if (e->in[2] != NULL) {
        n = ternary(m, e);
    } else if (e->in[1] != NULL) {
        n = binary(e, value_of(m, e->in[0]), value_of(m, e->in[1]));
    } else {
        n = unary(e, value_of(m, e->in[0]));
    }
    return n;
}

/* ---- statements */

static bool has_barrier(const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        if (s->kind == VTAC_S_BARRIER || (s->body != NULL && has_barrier(s->body))) {
            return true;
        }
    }
    return false;
}

static void set_variable(machine *m, uint32_t var, number value)
{
    m->vars[(size_t)m->item * m->k->var_count + var] = value;
}

static void run_store(machine *m, const vtac_stmt *s)
{
    uint8_t bytes[8] = {0};
    const int64_t index = value_of(m, s->index).i;
    write_number(s->buffer->dtype, value_of(m, s->value), bytes);
    uint8_t *to = element_at(m, s->buffer, index, bytes);
    if (to != NULL) {
        memcpy(to, bytes, vtac_dtype_bytes(s->buffer->dtype));
    }
}

static void run_item(machine *m, const vtac_stmt *s);

/* One statement of one item, without barriers in it. */
static void run_stmt(machine *m, const vtac_stmt *s)
{
    switch (s->kind) {
    case VTAC_S_FOR:
        for (int64_t i = 0; i < s->extent && m->faults < MAX_FAULTS; i++) {
            set_variable(m, s->var, (number){.i = i});
            run_item(m, s->body);
        }
        break;
    case VTAC_S_IF:
        if (value_of(m, s->value).i != 0) {
            run_item(m, s->body);
        }
        break;
    case VTAC_S_LET: set_variable(m, s->var, value_of(m, s->value)); break;
    case VTAC_S_STORE: run_store(m, s); break;
    case VTAC_S_AHEAD:
    case VTAC_S_BARRIER: break;
    }
}

static void run_item(machine *m, const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        run_stmt(m, s);
    }
}

/* All items of a group: statement by statement where there are barriers, the last item first. */
static void run_all(machine *m, const vtac_stmt *s)
{
    for (; s != NULL && m->faults < MAX_FAULTS; s = s->next) {
        if (s->kind == VTAC_S_BARRIER) {
            m->epoch++;
        } else if (s->kind == VTAC_S_FOR && has_barrier(s->body)) {
            for (int64_t i = 0; i < s->extent; i++) {
                for (m->item = 0; m->item < m->items; m->item++) {
                    set_variable(m, s->var, (number){.i = i});
                }
                run_all(m, s->body);
            }
        } else {
            for (m->item = (int32_t)m->items; m->item-- > 0;) {
                run_stmt(m, s);
            }
        }
    }
}

/* An item's own memory begins with anything: here with NaNs and large numbers. */
static void forget_own(machine *m)
{
    for (int64_t i = 0; i < m->items; i++) {
        memset(m->own[i], 0x7f, m->own_bytes);
    }
}

static void run_groups(machine *m, const vtac_stmt *groups)
{
    const vtac_stmt *items = groups->body;
    for (m->group = 0; m->group < groups->extent && m->faults < MAX_FAULTS; m->group++) {
        forget_own(m);
        m->epoch++;
        for (size_t i = 0; i < m->k->buffer_count; i++) {
            if (m->k->buffers[i]->space == VTAC_BUFFER_SHARED) {
                memset(m->regions[i].data, 0x7f, m->regions[i].bytes);
                memset(m->regions[i].writers, 0, m->regions[i].bytes * sizeof(stamp));
                memset(m->regions[i].readers, 0, m->regions[i].bytes * sizeof(stamp));
            }
        }
        for (m->item = 0; m->item < m->items; m->item++) {
            set_variable(m, groups->var, (number){.i = m->group});
            set_variable(m, items->var, (number){.i = m->item});
        }
        run_all(m, items->body);
    }
}

/* Each iteration as a group of one item, the last one first. */
static void run_iterations(machine *m, const vtac_stmt *loop)
{
    m->item = 0;
    for (int64_t i = loop->extent; i-- > 0 && m->faults < MAX_FAULTS;) {
        m->group = (int32_t)i;
        forget_own(m);
        set_variable(m, loop->var, (number){.i = i});
        run_item(m, loop->body);
    }
}

static void run_bound(machine *m)
{
    static uint32_t runs;
    const vtac_stmt *body = m->k->body;
    m->run = ++runs;
    m->epoch = 1;
    if (m->bound->group > 0) {
        run_groups(m, body);
    } else if (m->bound->items > 1) {
        run_iterations(m, body);
    } else {
        m->group = m->item = 0;
        forget_own(m);
        run_item(m, body);
    }
}

/* ---- a step */

typedef struct memory {
    region workspace, constants;
    region *inputs, *outputs;
} memory;

static region make_region(uint64_t bytes)
{
    region r = {.bytes = bytes};
    r.data = aligned_alloc(64, (bytes + 128) / 64 * 64);
    memset(r.data, 0, bytes);
    r.writers = calloc(bytes + 1, sizeof *r.writers);
    r.readers = calloc(bytes + 1, sizeof *r.readers);
    return r;
}

static void free_region(region *r)
{
    free(r->data);
    free(r->writers);
    free(r->readers);
}

/* The part of memory that a storage is. */
static region part_of(const vtac_program *p, const memory *all, vtac_storage_id id)
{
    const vtac_storage *s = vta_vec_at(&p->storages, id);
    const region *whole = s->kind == VTAC_STORAGE_CONSTANT ? &all->constants
                          : s->kind == VTAC_STORAGE_INPUT  ? &all->inputs[s->index]
                          : s->kind == VTAC_STORAGE_OUTPUT ? &all->outputs[s->index]
                                                           : &all->workspace;
    return (region){whole->data + s->offset, whole->bytes - s->offset, whole->writers + s->offset,
                    whole->readers + s->offset};
}

static void place_own(machine *m)
{
    m->own_offset = calloc(m->k->buffer_count + 1, sizeof *m->own_offset);
    for (size_t i = 0; i < m->k->buffer_count; i++) {
        const vtac_buffer *b = m->k->buffers[i];
        m->own_offset[i] = m->own_bytes;
        if (b->space == VTAC_BUFFER_LOCAL || b->space == VTAC_BUFFER_SCRATCH) {
            m->own_bytes += ((uint64_t)b->elements * vtac_dtype_bytes(b->dtype) + 63) / 64 * 64;
        }
    }
    m->own = calloc((size_t)m->items, sizeof *m->own);
    for (int64_t i = 0; i < m->items; i++) {
        m->own[i] = malloc(m->own_bytes + 1);
    }
}

/* Runs a bound step; the faults that were found. */
static uint32_t run_bound_step(const vtac_program *p, const vtac_step *step, const memory *all,
                               const vtac_bound *bound)
{
    machine m = {.bound = bound, .k = &bound->kernel, .items = bound->group > 0 ? bound->group : 1};
    m.regions = calloc(m.k->buffer_count + 1, sizeof *m.regions);
    m.vars = calloc((size_t)m.items * m.k->var_count, sizeof *m.vars);
    for (size_t i = 0; i < m.k->buffer_count; i++) {
        const vtac_buffer *b = m.k->buffers[i];
        if (b->space == VTAC_BUFFER_ARGUMENT) {
            m.regions[i] = part_of(p, all, step->args[b->number].storage);
        } else if (b->space == VTAC_BUFFER_SHARED) {
            m.regions[i] = make_region((uint64_t)b->elements * vtac_dtype_bytes(b->dtype));
        }
    }
    place_own(&m);
    run_bound(&m);
    if (m.faults > 0) {
        (void)printf("  step '%s' (%s): %s\n", step->name, step->op, m.fault);
    }
    for (int64_t i = 0; i < m.items; i++) {
        free(m.own[i]);
    }
    for (size_t i = 0; i < m.k->buffer_count; i++) {
        if (m.k->buffers[i]->space == VTAC_BUFFER_SHARED) {
            free_region(&m.regions[i]);
        }
    }
    free(m.own);
    free(m.own_offset);
    free(m.vars);
    free(m.regions);
    return m.faults;
}

/* ---- a network */

/* Binding of the steps: in groups or freely, by the standard schedule or by any that the tuner may draw. */
typedef struct form {
    bool groups, drawn;
} binding;

typedef struct tally {
    uint32_t steps, groups, barriers, faults;
} tally;

static void run_step(const vtac_program *p, const vtac_step *step, const memory *all, const binding *form,
                     rng *r, tally *t)
{
    vta_diag diag = {0};
    vtac_bound bound;
    const vtac_bind_schedule *how;
    const uint32_t count = vtac_bind_schedules(form->groups, &how);
    how += form->drawn ? rng_below(r, count) : 0;
    if (vtac_bind(&step->kernel, form->groups, how, &bound, &diag) != VTA_OK ||
        vtac_kernel_verify(&bound.kernel, &diag) != VTA_OK) {
        (void)printf("  step '%s' (%s): %s\n", step->name, step->op, diag.text);
        t->faults++;
    } else {
        t->steps++;
        t->groups += bound.group > 0;
        t->barriers += has_barrier(bound.kernel.body);
        t->faults += run_bound_step(p, step, all, &bound);
    }
    vtac_bound_free(&bound);
}

static void fill_constants(const vtac_program *p, const region *to)
{
    for (size_t i = 1; i < p->storages.count; i++) {
        const vtac_storage *s = vta_vec_at(&p->storages, i);
        if (s->kind == VTAC_STORAGE_CONSTANT && s->data != NULL && s->used && s->merged == 0) {
            memcpy(to->data + s->offset, s->data, s->bytes);
        }
    }
}

static void fill_input(const vtac_value *value, const region *to, rng *r)
{
    const vtac_dtype dtype = value->type.dtype;
    const int64_t count = vtac_type_elements(&value->type);
    for (int64_t i = 0; i < count; i++) {
        number n = {.i = rng_between(r, 0, 1)};
        if (dtype == VTAC_F64) {
            n.d = (double)rng_between(r, -1000, 1000) / 1000;
        } else if (vtac_dtype_kind(dtype) == 'f') {
            n.f = (float)rng_between(r, -1000, 1000) / 1000;
        } else if (vtac_dtype_bytes(dtype) == 1 && dtype != VTAC_BOOL) {
            n.i = rng_between(r, -128, 127);
        }
        write_number(dtype, n, to->data + (uint64_t)i * vtac_dtype_bytes(dtype));
    }
}

/* Largest difference of two outputs, over the range of the first where they are floats. */
static double far_apart(const vtac_value *value, const uint8_t *a, const uint8_t *b)
{
    const vtac_dtype dtype = value->type.dtype;
    double far = 0;
    double reach = 0;
    for (int64_t i = 0; i < vtac_type_elements(&value->type); i++) {
        const uint64_t at = (uint64_t)i * vtac_dtype_bytes(dtype);
        const double x = cast_number(vtac_compute_type(dtype), VTAC_F64, read_number(dtype, a + at)).d;
        const double y = cast_number(vtac_compute_type(dtype), VTAC_F64, read_number(dtype, b + at)).d;
        far = x == y || (isnan(x) && isnan(y)) ? far : !(fabs(x - y) <= far) ? fabs(x - y) : far;
        reach = fabs(x) > reach ? fabs(x) : reach;
    }
    return vtac_dtype_kind(dtype) == 'f' && reach > 0 ? far / reach : far;
}

static bool check_outputs(const vtac_graph *graph, vta_model *model, const memory *all, vta_diag *diag)
{
    bool right = true;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (vta_model_set_input(model, i, all->inputs[i].data, all->inputs[i].bytes, diag) != VTA_OK) {
            return false;
        }
    }
    if (vta_model_run(model, diag) != VTA_OK) {
        return false;
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const vtac_value *value = &graph->values[graph->outputs[i]];
        uint8_t *host = malloc(all->outputs[i].bytes + 1);
        const bool got = vta_model_get_output(model, i, host, all->outputs[i].bytes, diag) == VTA_OK;
        const double far = got ? far_apart(value, host, all->outputs[i].data) : (double)INFINITY;
        if (!(far <= (vtac_dtype_kind(value->type.dtype) == 'f' ? 1e-3 : 0))) {
            (void)printf("  output '%s' is %g off\n", value->name, far);
            right = false;
        }
        free(host);
    }
    return right;
}

static memory make_memory(const vtac_program *p)
{
    const vtac_graph *g = p->graph;
    memory all = {.workspace = make_region(p->workspace_bytes), .constants = make_region(p->constant_bytes)};
    all.inputs = calloc(g->input_count + 1, sizeof *all.inputs);
    all.outputs = calloc(g->output_count + 1, sizeof *all.outputs);
    for (uint32_t i = 0; i < g->input_count; i++) {
        const vtac_type *type = &g->values[g->inputs[i]].type;
        all.inputs[i] = make_region((uint64_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype));
    }
    for (uint32_t i = 0; i < g->output_count; i++) {
        const vtac_type *type = &g->values[g->outputs[i]].type;
        all.outputs[i] = make_region((uint64_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype));
    }
    return all;
}

static void free_memory(const vtac_program *p, memory *all)
{
    free_region(&all->workspace);
    free_region(&all->constants);
    for (uint32_t i = 0; i < p->graph->input_count; i++) {
        free_region(&all->inputs[i]);
    }
    for (uint32_t i = 0; i < p->graph->output_count; i++) {
        free_region(&all->outputs[i]);
    }
    free(all->inputs);
    free(all->outputs);
}

static bool check_program(vtac_program *p, vta_model *model, const binding *form, const char *name,
                          vta_diag *diag)
{
    const uint64_t seed = test_seed("gpu_nests");
    memory all = make_memory(p);
    tally t = {0};
    bool right = true;
    fill_constants(p, &all.constants);
    for (uint64_t run = 0; run < 2 && right; run++) {
        rng r = rng_split(seed, run);
        t = (tally){0};
        for (uint32_t i = 0; i < p->graph->input_count; i++) {
            fill_input(&p->graph->values[p->graph->inputs[i]], &all.inputs[i], &r);
        }
        for (size_t i = 0; i < p->steps.count; i++) {
            run_step(p, *(vtac_step **)vta_vec_at(&p->steps, i), &all, form, &r, &t);
        }
        right = check_outputs(p->graph, model, &all, diag) && t.faults == 0;
    }
    (void)printf("%s: %u steps, %u in groups, %u with barriers: %s\n", name, t.steps, t.groups, t.barriers,
                 right                   ? "right, no race"
                 : diag->text[0] != '\0' ? diag->text
                                         : "wrong");
    free_memory(p, &all);
    return right;
}

static vta_status interpret_graph(vtac_program *p, vta_model *model, const binding *form, const char *name,
                                  bool *right, vta_diag *diag)
{
    VTA_TRY(vtac_lower_graph(p, diag));
    VTA_TRY(vtac_plan(p, diag));
    *right = check_program(p, model, form, name, diag);
    return VTA_OK;
}

static vta_status load_host(const vtac_graph *graph, const vtac_target *target, vtac_loaded *out,
                            vta_diag *diag)
{
    vtac_artifact_image image;
    const vtac_compile_options how = {.level = 2, .target = target};
    VTA_TRY(vtac_compile(graph, &how, &image, diag));
    const vta_status status = vtac_load(&image, &(vta_model_options){0}, out, diag);
    vtac_artifact_image_free(&image);
    return status;
}

static vta_status check_graph(const vtac_graph *graph, const binding *form, const char *name, bool *right,
                              vta_diag *diag)
{
    vtac_target target;
    vtac_loaded loaded = {0};
    VTA_TRY(vtac_target_find("x86-64-v3", &target, diag));
    target.has_vnni = target.dots_by_pairs = true; /* as for a GPU */
    target.has_pairs = false;
    VTA_TRY(load_host(graph, &target, &loaded, diag));
    vtac_program p = {
        .graph = graph, .target = &target, .level = 2, .groups = form->groups, .halves = form->groups};
    const vta_status status = interpret_graph(&p, loaded.model, form, name, right, diag);
    vtac_program_free(&p);
    vtac_unload(&loaded);
    return status;
}

static vta_status check_file(const char *path, const binding *form, bool *right, vtac_graph **graph,
                             vta_diag *diag)
{
    VTA_TRY(vtac_model_load(path, &(vtac_import_options){0}, graph, diag));
    VTA_TRY(vtac_run_passes(*graph, &(vtac_pass_options){.level = 2}, diag));
    return check_graph(*graph, form, path, right, diag);
}

/* ---- the interpreter itself: items of two groups turn their group's elements around, by shared memory */

enum { TURNED = 8 };

static vtac_kernel turning_kernel(vta_arena *arena, bool with_barrier)
{
    vtac_kernel k;
    vtac_kernel_init(&k, arena, "turn");
    vtac_buffer *x = vtac_kernel_buffer(&k, "x", VTAC_I32, 2 * TURNED, VTAC_BUFFER_ARGUMENT);
    vtac_buffer *y = vtac_kernel_buffer(&k, "y", VTAC_I32, 2 * TURNED, VTAC_BUFFER_ARGUMENT);
    vtac_buffer *held = vtac_kernel_buffer(&k, "held", VTAC_I32, TURNED, VTAC_BUFFER_SHARED);
    const vtac_expr *group = vtac_for(&k, VTAC_LOOP_GROUP, 2, "group");
    const vtac_expr *item = vtac_for(&k, VTAC_LOOP_ITEM, TURNED, "item");
    const vtac_expr *place = vtac_i_add(&k, vtac_i_mulc(&k, group, TURNED), item);
    (void)vtac_for(&k, VTAC_LOOP_SERIAL, 3, "again");
    vtac_store(&k, held, item, vtac_e_load(&k, x, place));
    if (with_barrier) {
        vtac_barrier(&k);
    }
    const vtac_expr *other = vtac_e2(&k, VTAC_E_SUB, vtac_e_index(&k, TURNED - 1), item);
    vtac_store(&k, y, place, vtac_e_load(&k, held, other));
    if (with_barrier) {
        vtac_barrier(&k);
    }
    vtac_end(&k);
    vtac_end(&k);
    vtac_end(&k);
    return k;
}

/* True if the kernel is right and without faults with its barriers, and a race without them. */
static bool check_turning(bool with_barrier)
{
    vta_arena arena = {0};
    vtac_bound bound = {.kernel = turning_kernel(&arena, with_barrier), .items = 2 * TURNED, .group = TURNED};
    vtac_storage storages[] = {{0}, {.kind = VTAC_STORAGE_INPUT}, {.kind = VTAC_STORAGE_OUTPUT}};
    vtac_step_arg args[] = {{.storage = 1}, {.storage = 2, .written = true}};
    const vtac_step step = {.name = "turn", .op = "without barriers", .args = args, .arg_count = 2};
    vtac_program p = {.storages = {.items = storages, .count = 3, .item_size = sizeof storages[0]}};
    region in = make_region(2 * TURNED * sizeof(int32_t));
    region out = make_region(2 * TURNED * sizeof(int32_t));
    const memory all = {.inputs = &in, .outputs = &out};
    bool turned = vtac_kernel_verify(&bound.kernel, NULL) == VTA_OK;
    for (int32_t i = 0; i < 2 * TURNED; i++) {
        memcpy(in.data + (size_t)i * sizeof i, &i, sizeof i);
    }
    const uint32_t faults = run_bound_step(&p, &step, &all, &bound);
    for (int32_t i = 0; i < 2 * TURNED; i++) {
        int32_t got;
        memcpy(&got, out.data + (size_t)i * sizeof got, sizeof got);
        turned = turned && got == i / TURNED * TURNED + TURNED - 1 - i % TURNED;
    }
    vtac_bound_free(&bound);
    free_region(&in);
    free_region(&out);
    vta_arena_free(&arena);
    return with_barrier ? turned && faults == 0 : faults > 0;
}

int main(int argc, char **argv)
{
    const bool drawn = argc > 1 && strncmp(argv[1], "drawn-", 6) == 0;
    const binding how = {.groups = argc > 1 && strcmp(argv[1] + (drawn ? 6 : 0), "groups") == 0,
                         .drawn = drawn};
    bool right = argc > 2 && check_turning(true) && check_turning(false);
    (void)printf("the interpreter %s\n",
                 right ? "finds a race where barriers are left out" : "misses a race");
    for (int i = 2; i < argc; i++) {
        vtac_graph *graph = NULL;
        vta_diag diag = {0};
        bool own = false;
        if (check_file(argv[i], &how, &own, &graph, &diag) != VTA_OK) {
            (void)printf("%s: %s\n", argv[i], diag.text);
        }
        right = right && own;
        vtac_graph_destroy(graph);
    }
    return right ? 0 : 1;
}
