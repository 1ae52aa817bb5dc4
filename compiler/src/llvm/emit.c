/* SPDX-License-Identifier: Apache-2.0
 *
 * Loop nests to LLVM IR: one function a kernel, with the signature of artifact.h's vta_host_kernel. Vector
 * loops become vectors: a load whose index grows by one from lane to lane is a vector load, one that does not
 * grow is a broadcast, any other gathers.
 */
#include "emit.h"
#include "target.h"

#include <llvm-c/DebugInfo.h>

#include <llvm-c/Target.h>

enum { MAX_LANES = 1024, MAX_TRANSPOSED = 64, MAX_EVEN = 6, BUFFER_ALIGN = 64 };

#include <math.h>
#include <string.h>

#include "vta/str.h"

/* ---- small helpers */

LLVMTypeRef vtac_llvm_type(const vtac_emitter *em, vtac_dtype dtype)
{
    if (dtype == VTAC_F64) {
        return LLVMDoubleTypeInContext(em->context);
    }
    if (vtac_dtype_kind(dtype) == 'f') {
        return LLVMFloatTypeInContext(em->context);
    }
    return LLVMIntTypeInContext(em->context, dtype == VTAC_BOOL ? 1 : 8 * (unsigned)vtac_dtype_bytes(dtype));
}

LLVMTypeRef vtac_llvm_memory_type(const vtac_emitter *em, vtac_dtype dtype)
{
    if (dtype == VTAC_BOOL || dtype == VTAC_F16 || dtype == VTAC_BF16) {
        return LLVMIntTypeInContext(em->context, 8 * (unsigned)vtac_dtype_bytes(dtype));
    }
    return vtac_llvm_type(em, dtype);
}

unsigned vtac_llvm_lanes(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

LLVMTypeRef vtac_llvm_like(LLVMValueRef like, LLVMTypeRef element)
{
    const unsigned lanes = vtac_llvm_lanes(like);
    return lanes > 1 ? LLVMVectorType(element, lanes) : element;
}

static LLVMTypeRef index_type(const vtac_emitter *em)
{
    return LLVMInt64TypeInContext(em->context);
}

static LLVMValueRef index_of(const vtac_emitter *em, int64_t value)
{
    return LLVMConstInt(index_type(em), (uint64_t)value, 1);
}

LLVMValueRef vtac_llvm_splat(vtac_emitter *em, LLVMValueRef scalar, unsigned lanes)
{
    if (lanes <= 1) {
        return scalar;
    }
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    LLVMValueRef one =
        LLVMBuildInsertElement(em->builder, LLVMGetPoison(type), scalar, LLVMConstInt(i32, 0, 0), "");
    return LLVMBuildShuffleVector(em->builder, one, LLVMGetPoison(type),
                                  LLVMConstNull(LLVMVectorType(i32, lanes)), "");
}

LLVMValueRef vtac_llvm_intrinsic(vtac_emitter *em, const char *name, LLVMTypeRef *types, unsigned type_count,
                                 LLVMValueRef *args, unsigned arg_count)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef callee = LLVMGetIntrinsicDeclaration(em->module, id, types, type_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(em->context, id, types, type_count);
    return LLVMBuildCall2(em->builder, type, callee, args, arg_count, "");
}

static LLVMValueRef simple_intrinsic(vtac_emitter *em, const char *name, LLVMValueRef *args, unsigned count)
{
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return vtac_llvm_intrinsic(em, name, &type, 1, args, count);
}

/* ---- expressions */

static LLVMValueRef emit_expr(vtac_emitter *em, const vtac_expr *e);

static LLVMValueRef buffer_pointer(const vtac_emitter *em, const vtac_buffer *buffer)
{
    for (size_t i = 0; i < em->kernel->buffer_count; i++) {
        if (em->kernel->buffers[i] == buffer) {
            return em->buffers[i];
        }
    }
    return NULL;
}

static LLVMValueRef element_address(vtac_emitter *em, const vtac_buffer *buffer, LLVMValueRef index)
{
    LLVMTypeRef type = vtac_llvm_memory_type(em, buffer->dtype);
    return LLVMBuildGEP2(em->builder, type, buffer_pointer(em, buffer), &index, 1, "");
}

/* Converts a value between its form in memory and its form in a register. */
static LLVMValueRef unpack_value(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef raw)
{
    if (dtype == VTAC_F16 || dtype == VTAC_BF16) {
        return vtac_emit_widen(em, dtype, raw);
    }
    return dtype == VTAC_BOOL ? LLVMBuildICmp(em->builder, LLVMIntNE, raw, LLVMConstNull(LLVMTypeOf(raw)), "")
                              : raw;
}

static LLVMValueRef pack_value(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef value)
{
    if (dtype == VTAC_F16 || dtype == VTAC_BF16) {
        return vtac_emit_narrow(em, dtype, value);
    }
    LLVMTypeRef byte = LLVMInt8TypeInContext(em->context);
    return dtype == VTAC_BOOL ? LLVMBuildZExt(em->builder, value, vtac_llvm_like(value, byte), "") : value;
}

/* True if a named value in the expression differs from lane to lane. */
static bool uses_lanes(const vtac_emitter *em, const vtac_expr *e)
{
    if (e == NULL) {
        return false;
    }
    if (e->op == VTAC_E_VAR && e->var != em->lane_var && vtac_llvm_lanes(em->vars[e->var]) > 1) {
        return true;
    }
    return uses_lanes(em, e->in[0]) || uses_lanes(em, e->in[1]) || uses_lanes(em, e->in[2]);
}

/* Step of the index from lane to lane: 0, 1, or anything else (-1). */
static int lane_step(const vtac_emitter *em, const vtac_expr *index)
{
    int64_t stride = 0;
    if (em->lane_var == 0 || em->first_lane) {
        return 0;
    }
    if (uses_lanes(em, index) || !vtac_expr_stride(index, em->lane_var, &stride)) {
        return -1;
    }
    return stride == 0 || stride == 1 ? (int)stride : -1;
}

static LLVMValueRef emit_at_first_lane(vtac_emitter *em, const vtac_expr *e)
{
    const bool was = em->first_lane;
    em->first_lane = true;
    LLVMValueRef value = emit_expr(em, e);
    em->first_lane = was;
    return value;
}

/* The logarithm of a power of two that divides the number. */
static uint8_t evenness_of(int64_t number)
{
    uint8_t log = 0;
    while (log < MAX_EVEN && ((uint64_t)number >> log & 1) == 0) {
        log++;
    }
    return log;
}

/* Alignment of an index at the first lane, as a power of two. */
static unsigned index_alignment(const vtac_emitter *em, const vtac_expr *e)
{
    const bool is_sum =
        e->op == VTAC_E_ADD || e->op == VTAC_E_SUB || e->op == VTAC_E_MIN || e->op == VTAC_E_MAX;
    if (e->op == VTAC_E_INT) {
        return evenness_of(e->i);
    }
    if (e->op == VTAC_E_VAR) {
        return e->var == em->lane_var ? MAX_EVEN : em->even[e->var];
    }
    if (!is_sum && e->op != VTAC_E_MUL) {
        return 0;
    }
    const unsigned a = index_alignment(em, e->in[0]);
    const unsigned b = index_alignment(em, e->in[1]);
    if (is_sum) {
        return a < b ? a : b;
    }
    return a + b < MAX_EVEN ? a + b : MAX_EVEN;
}

/* Alignment of neighbours from an index on. LLVM takes half a vector of ARM's through the stack where it does
 * not know that the half is aligned to its size; on other processors the alignment does not matter. */
static unsigned alignment_at(const vtac_emitter *em, const vtac_buffer *buffer, const vtac_expr *index)
{
    const unsigned bytes = (unsigned)vtac_dtype_bytes(buffer->dtype);
    const unsigned wanted = em->lanes * bytes;
    if (em->item != NULL) { /* all buffers of a GPU begin at a multiple of 64 bytes */
        const unsigned known = bytes << index_alignment(em, index);
        return known < BUFFER_ALIGN ? known : BUFFER_ALIGN;
    }
    const bool is_half = wanted == 4 || wanted == 8;
    const bool known = is_half && buffer->aligned && vtac_target_is(em->target, "arm") &&
                       (bytes << index_alignment(em, index)) >= wanted;
    return known ? wanted : bytes;
}

static LLVMValueRef load_scalar(vtac_emitter *em, const vtac_buffer *buffer, LLVMValueRef index)
{
    LLVMTypeRef type = vtac_llvm_memory_type(em, buffer->dtype);
    LLVMValueRef load = LLVMBuildLoad2(em->builder, type, element_address(em, buffer, index), "");
    LLVMSetAlignment(load, (unsigned)vtac_dtype_bytes(buffer->dtype));
    return load;
}

static LLVMValueRef load_neighbours(vtac_emitter *em, const vtac_buffer *buffer, LLVMValueRef index,
                                    unsigned count, unsigned alignment)
{
    LLVMTypeRef type = LLVMVectorType(vtac_llvm_memory_type(em, buffer->dtype), count);
    LLVMValueRef load = LLVMBuildLoad2(em->builder, type, element_address(em, buffer, index), "");
    LLVMSetAlignment(load, alignment);
    return load;
}

/* True if the lanes walk the index in two strides: a transpose of a small matrix. */
static bool is_transposed(const vtac_emitter *em, const vtac_expr *index, vtac_transpose *t)
{
    return em->lane_var != 0 && !em->first_lane && !uses_lanes(em, index) &&
           vtac_llvm_transpose_of(index, em->lane_var, em->lanes, t);
}

/* Rows that lie apart, whose elements are wanted one of each. */
static LLVMValueRef load_transposed(vtac_emitter *em, const vtac_expr *e, const vtac_transpose *t)
{
    LLVMValueRef rows[MAX_TRANSPOSED];
    LLVMValueRef first = emit_at_first_lane(em, e->in[0]);
    const unsigned bytes = (unsigned)vtac_dtype_bytes(e->buffer->dtype);
    const unsigned count = (unsigned)t->rows;
    const unsigned columns = em->lanes / count;
    const bool by_words = vtac_llvm_transposes_words(em, count, columns, 8 * bytes);
    LLVMTypeRef word = LLVMInt32TypeInContext(em->context);
    for (int64_t i = 0; i < t->rows; i++) {
        const int64_t row = t->last >= 0 && i > t->last ? t->last : i;
        LLVMValueRef at = LLVMBuildAdd(em->builder, first, index_of(em, row * t->down), "");
        if (by_words) {
            rows[i] = LLVMBuildLoad2(em->builder, word, element_address(em, e->buffer, at), "");
            LLVMSetAlignment(rows[i], bytes);
        } else {
            rows[i] = load_neighbours(em, e->buffer, at, columns, bytes);
        }
    }
    return unpack_value(em, e->buffer->dtype,
                        by_words ? vtac_llvm_transpose_words(em, rows, count, columns)
                                 : vtac_llvm_transpose_rows(em, rows, count));
}

/* The lower or the upper half of each number of twice the width. */
static LLVMValueRef vector_half(vtac_emitter *em, LLVMValueRef vector, bool upper)
{
    const unsigned bits = LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(vector)));
    const unsigned lanes = vtac_llvm_lanes(vector) / 2;
    LLVMTypeRef wide = LLVMIntTypeInContext(em->context, 2 * bits);
    LLVMTypeRef narrow = LLVMVectorType(LLVMIntTypeInContext(em->context, bits), lanes);
    LLVMValueRef both = LLVMBuildBitCast(em->builder, vector, LLVMVectorType(wide, lanes), "");
    LLVMValueRef by = vtac_llvm_splat(em, LLVMConstInt(wide, bits, 0), lanes);
    return LLVMBuildTrunc(em->builder, upper ? LLVMBuildLShr(em->builder, both, by, "") : both, narrow, "");
}

/* Every second of the elements from `index` on: two loads, which end with the last one wanted, and a shuffle.
 * LLVM would move the bytes one by one to ARM's vectors. */
static LLVMValueRef load_every_second(vtac_emitter *em, const vtac_buffer *buffer, LLVMValueRef index)
{
    const unsigned lanes = em->lanes;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    const unsigned bytes = (unsigned)vtac_dtype_bytes(buffer->dtype);
    LLVMValueRef low = load_neighbours(em, buffer, index, lanes, bytes);
    LLVMValueRef later = LLVMBuildAdd(em->builder, index, index_of(em, lanes - 1), "");
    LLVMValueRef high = load_neighbours(em, buffer, later, lanes, bytes);
    LLVMValueRef from[MAX_LANES];
    const bool by_halves = em->target->has_neon && lanes % 2 == 0 && bytes <= 2;
    for (unsigned i = 0; i < lanes; i++) {
        from[i] = LLVMConstInt(i32, by_halves ? i : 2 * i < lanes ? 2 * i : 2 * i + 1, 0);
    }
    if (by_halves) {
        low = vector_half(em, low, false);
        high = vector_half(em, high, true);
    }
    return LLVMBuildShuffleVector(em->builder, low, high, LLVMConstVector(from, lanes), "");
}

static LLVMValueRef emit_load(vtac_emitter *em, const vtac_expr *e)
{
    const vtac_buffer *buffer = e->buffer;
    const int step = lane_step(em, e->in[0]);
    int64_t stride = 0;
    vtac_transpose transpose;
    if (step == 1) {
        return unpack_value(em, buffer->dtype,
                            load_neighbours(em, buffer, emit_at_first_lane(em, e->in[0]), em->lanes,
                                            alignment_at(em, buffer, e->in[0])));
    }
    if (step < 0 && is_transposed(em, e->in[0], &transpose) && transpose.across == 1 &&
        transpose.rows <= MAX_TRANSPOSED && (transpose.rows & (transpose.rows - 1)) == 0) {
        return load_transposed(em, e, &transpose);
    }
    if (step < 0 && !uses_lanes(em, e->in[0]) && vtac_expr_stride(e->in[0], em->lane_var, &stride) &&
        stride == 2) {
        return unpack_value(em, buffer->dtype,
                            load_every_second(em, buffer, emit_at_first_lane(em, e->in[0])));
    }
    LLVMValueRef index = emit_expr(em, e->in[0]);
    const unsigned lanes = vtac_llvm_lanes(index);
    if (lanes == 1) {
        return unpack_value(em, buffer->dtype, load_scalar(em, buffer, index));
    }
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    LLVMValueRef all = LLVMGetPoison(LLVMVectorType(vtac_llvm_memory_type(em, buffer->dtype), lanes));
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(i32, i, 0);
        LLVMValueRef one = load_scalar(em, buffer, LLVMBuildExtractElement(em->builder, index, lane, ""));
        all = LLVMBuildInsertElement(em->builder, all, one, lane, "");
    }
    return unpack_value(em, buffer->dtype, all);
}

/* Bytes of neighbouring places come by one load and a shuffle. */
static LLVMValueRef quad_of_neighbours(vtac_emitter *em, const vtac_expr *e)
{
    LLVMTypeRef type = LLVMVectorType(LLVMInt8TypeInContext(em->context), 4 * em->lanes);
    LLVMValueRef at = element_address(em, e->buffer, emit_at_first_lane(em, e->in[0]));
    LLVMValueRef all = LLVMBuildLoad2(em->builder, type, at, "");
    LLVMSetAlignment(all, 1);
    return vtac_emit_words(em, all);
}

static LLVMValueRef emit_quad(vtac_emitter *em, const vtac_expr *e)
{
    if (lane_step(em, e->in[0]) == 1 && e->i == (int64_t)em->lanes) {
        return quad_of_neighbours(em, e);
    }
    LLVMValueRef word = NULL;
    for (unsigned byte = 0; byte < 4; byte++) {
        const vtac_expr offset = {.op = VTAC_E_INT, .type = VTAC_I64, .i = (int64_t)byte * e->i};
        const vtac_expr index = {.op = VTAC_E_ADD, .type = VTAC_I64, .in = {e->in[0], &offset}};
        const vtac_expr load = {
            .op = VTAC_E_LOAD, .type = e->buffer->dtype, .buffer = e->buffer, .in = {&index}};
        LLVMValueRef one = emit_load(em, &load);
        LLVMTypeRef type = vtac_llvm_like(one, LLVMInt32TypeInContext(em->context));
        LLVMTypeRef element = LLVMInt32TypeInContext(em->context);
        LLVMValueRef by = vtac_llvm_splat(em, LLVMConstInt(element, 8 * byte, 0), vtac_llvm_lanes(one));
        one = LLVMBuildShl(em->builder, LLVMBuildZExt(em->builder, one, type, ""), by, "");
        word = word == NULL ? one : LLVMBuildOr(em->builder, word, one, "");
    }
    return word;
}

static LLVMValueRef emit_var(vtac_emitter *em, const vtac_expr *e)
{
    LLVMValueRef value = em->vars[e->var];
    if (e->var != em->lane_var || em->first_lane) {
        if (em->first_lane && vtac_llvm_lanes(value) > 1) {
            LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
            return LLVMBuildExtractElement(em->builder, value, LLVMConstInt(i32, 0, 0), "");
        }
        return value;
    }
    LLVMValueRef lanes[MAX_LANES];
    for (unsigned i = 0; i < em->lanes; i++) {
        lanes[i] = index_of(em, i);
    }
    return LLVMBuildAdd(em->builder, vtac_llvm_splat(em, value, em->lanes), LLVMConstVector(lanes, em->lanes),
                        "");
}

static bool is_signed(vtac_dtype dtype)
{
    return vtac_dtype_kind(dtype) == 'i';
}

/* A cast of `x` times a power of two to an integer, where one instruction does both; else NULL. */
static LLVMValueRef emit_fixed(vtac_emitter *em, const vtac_expr *e)
{
    enum { MAX_BITS = 32 };
    const vtac_expr *x = e->in[0];
    int exponent = 0;
    if (!em->target->has_neon || em->lane_var == 0 || em->first_lane || x->op != VTAC_E_MUL ||
        x->in[1]->op != VTAC_E_FLOAT || frexp(x->in[1]->f, &exponent) != 0.5 || exponent < 2 ||
        exponent > MAX_BITS + 1) {
        return NULL;
    }
    return vtac_emit_fixed(em, x->type, e->type, emit_expr(em, x->in[0]), (unsigned)exponent - 1);
}

static LLVMValueRef emit_cast(vtac_emitter *em, const vtac_expr *e)
{
    LLVMValueRef fixed = emit_fixed(em, e);
    if (fixed != NULL) {
        return fixed;
    }
    LLVMValueRef x = emit_expr(em, e->in[0]);
    const vtac_dtype from = e->in[0]->type;
    const char from_kind = vtac_dtype_kind(from);
    const char to_kind = vtac_dtype_kind(e->type);
    LLVMTypeRef type = vtac_llvm_like(x, vtac_llvm_type(em, e->type));
    LLVMBuilderRef b = em->builder;
    if (e->type == VTAC_BOOL) {
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
        return from_kind == 'f' ? LLVMBuildFCmp(b, LLVMRealUNE, x, zero, "")
                                : LLVMBuildICmp(b, LLVMIntNE, x, zero, "");
    }
    if (from_kind == 'f' && to_kind == 'f') {
        return from == VTAC_F64 ? LLVMBuildFPTrunc(b, x, type, "")
                                : vtac_emit_extend(em, x, vtac_llvm_type(em, e->type));
    }
    if (from_kind == 'f' && vtac_llvm_lanes(x) > 1) {
        return vtac_emit_whole(em, from, e->type, x);
    }
    if (from_kind == 'f') {
        LLVMTypeRef types[] = {type, LLVMTypeOf(x)};
        return vtac_llvm_intrinsic(em, to_kind == 'i' ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &x,
                                   1);
    }
    if (to_kind == 'f') {
        return from_kind == 'i' ? LLVMBuildSIToFP(b, x, type, "") : LLVMBuildUIToFP(b, x, type, "");
    }
    if (from != VTAC_BOOL && vtac_dtype_bytes(from) >= vtac_dtype_bytes(e->type)) {
        return vtac_dtype_bytes(from) == vtac_dtype_bytes(e->type) ? x : LLVMBuildTrunc(b, x, type, "");
    }
    return from_kind == 'i' ? LLVMBuildSExt(b, x, type, "") : LLVMBuildZExt(b, x, type, "");
}

static LLVMValueRef emit_unary(vtac_emitter *em, const vtac_expr *e)
{
    static const char *const names[VTAC_EXPR_OP_COUNT] = {[VTAC_E_FLOOR] = "llvm.floor",
                                                          [VTAC_E_CEIL] = "llvm.ceil",
                                                          [VTAC_E_TRUNC] = "llvm.trunc",
                                                          [VTAC_E_ROUND] = "llvm.rint"};
    LLVMValueRef x = emit_expr(em, e->in[0]);
    const bool is_float = vtac_dtype_kind(e->type) == 'f';
    if (e->op == VTAC_E_NEG) {
        return is_float ? LLVMBuildFNeg(em->builder, x, "") : LLVMBuildNeg(em->builder, x, "");
    }
    if (e->op == VTAC_E_NOT) {
        return LLVMBuildNot(em->builder, x, "");
    }
    if (is_float) {
        return names[e->op] != NULL   ? vtac_emit_round(em, names[e->op], x)
               : e->op == VTAC_E_ABS  ? simple_intrinsic(em, "llvm.fabs", &x, 1)
               : e->op == VTAC_E_SQRT ? simple_intrinsic(em, "llvm.sqrt", &x, 1)
                                      : vtac_emit_math(em, e->op, x, NULL);
    }
    if (e->op == VTAC_E_ABS && is_signed(e->type)) {
        LLVMValueRef negative = LLVMBuildICmp(em->builder, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)), "");
        return LLVMBuildSelect(em->builder, negative, LLVMBuildNeg(em->builder, x, ""), x, "");
    }
    return x; /* rounding an integer changes nothing */
}

/* Integers: no divisor makes the processor trap. */
static LLVMValueRef emit_divide(vtac_emitter *em, const vtac_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = em->builder;
    LLVMTypeRef type = LLVMTypeOf(b);
    const bool sign = is_signed(e->type);
    if (e->in[1]->op != VTAC_E_INT) {
        LLVMValueRef bad = LLVMBuildICmp(builder, LLVMIntEQ, b, LLVMConstNull(type), "");
        LLVMValueRef safe =
            vtac_llvm_splat(em, LLVMConstInt(vtac_llvm_type(em, e->type), 1, 0), vtac_llvm_lanes(b));
        if (sign) {
            const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(e->type);
            LLVMValueRef smallest = LLVMConstInt(vtac_llvm_type(em, e->type), UINT64_C(1) << (bits - 1), 0);
            smallest = vtac_llvm_splat(em, smallest, vtac_llvm_lanes(a));
            LLVMValueRef wraps =
                LLVMBuildAnd(builder, LLVMBuildICmp(builder, LLVMIntEQ, b, LLVMConstAllOnes(type), ""),
                             LLVMBuildICmp(builder, LLVMIntEQ, a, smallest, ""), "");
            bad = LLVMBuildOr(builder, bad, wraps, "");
        }
        b = LLVMBuildSelect(builder, bad, safe, b, "");
    }
    if (e->op == VTAC_E_DIV) {
        return sign ? LLVMBuildSDiv(builder, a, b, "") : LLVMBuildUDiv(builder, a, b, "");
    }
    return sign ? LLVMBuildSRem(builder, a, b, "") : LLVMBuildURem(builder, a, b, "");
}

/* Shifts by the width or more give 0 (or the sign). */
static LLVMValueRef emit_shift(vtac_emitter *em, const vtac_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = em->builder;
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(e->type);
    LLVMTypeRef element = vtac_llvm_type(em, e->type);
    LLVMValueRef last = vtac_llvm_splat(em, LLVMConstInt(element, bits - 1, 0), vtac_llvm_lanes(b));
    LLVMValueRef over = LLVMBuildICmp(builder, LLVMIntUGT, b, last, "");
    LLVMValueRef amount = LLVMBuildSelect(builder, over, last, b, "");
    if (e->op == VTAC_E_SHR && is_signed(e->type)) {
        return LLVMBuildAShr(builder, a, amount, "");
    }
    LLVMValueRef r =
        e->op == VTAC_E_SHL ? LLVMBuildShl(builder, a, amount, "") : LLVMBuildLShr(builder, a, amount, "");
    return LLVMBuildSelect(builder, over, LLVMConstNull(LLVMTypeOf(r)), r, "");
}

static LLVMValueRef emit_compare(vtac_emitter *em, const vtac_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                              LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    static const LLVMIntPredicate signeds[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                               LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate unsigneds[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                                 LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    const int which = (int)e->op - VTAC_E_EQ;
    const vtac_dtype type = e->in[0]->type;
    if (vtac_dtype_kind(type) == 'f') {
        return LLVMBuildFCmp(em->builder, reals[which], a, b, "");
    }
    return LLVMBuildICmp(em->builder, is_signed(type) ? signeds[which] : unsigneds[which], a, b, "");
}

static LLVMValueRef min_max(vtac_emitter *em, const vtac_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = em->builder;
    const bool min = e->op == VTAC_E_MIN;
    LLVMValueRef first;
    if (vtac_dtype_kind(e->type) == 'f') { /* where either is NaN: b */
        first = LLVMBuildFCmp(builder, min ? LLVMRealOLT : LLVMRealOGT, a, b, "");
    } else if (is_signed(e->type)) {
        first = LLVMBuildICmp(builder, min ? LLVMIntSLT : LLVMIntSGT, a, b, "");
    } else {
        first = LLVMBuildICmp(builder, min ? LLVMIntULT : LLVMIntUGT, a, b, "");
    }
    return LLVMBuildSelect(builder, first, a, b, "");
}

static void even_out(vtac_emitter *em, LLVMValueRef *v, int count)
{
    unsigned lanes = 1;
    for (int i = 0; i < count; i++) {
        lanes = vtac_llvm_lanes(v[i]) > lanes ? vtac_llvm_lanes(v[i]) : lanes;
    }
    for (int i = 0; i < count; i++) {
        v[i] = vtac_llvm_lanes(v[i]) < lanes ? vtac_llvm_splat(em, v[i], lanes) : v[i];
    }
}

/* ARMv7's products of 16-bit numbers want both widened as vectors: LLVM sees no such product where one was
 * widened before it was spread. */
static void spread_narrow(vtac_emitter *em, LLVMValueRef *v)
{
    const unsigned lanes =
        vtac_llvm_lanes(v[0]) > vtac_llvm_lanes(v[1]) ? vtac_llvm_lanes(v[0]) : vtac_llvm_lanes(v[1]);
    LLVMTypeRef i16 = LLVMInt16TypeInContext(em->context);
    const bool wanted = lanes > 1 && em->target->has_long && vtac_target_is(em->target, "arm");
    for (int i = 0; i < 2 && wanted; i++) {
        if (LLVMIsASExtInst(v[i]) != NULL && LLVMTypeOf(LLVMGetOperand(v[i], 0)) == i16) {
            LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(v[i]), lanes);
            LLVMValueRef narrow = vtac_llvm_splat(em, LLVMGetOperand(v[i], 0), lanes);
            v[i] = LLVMBuildSExt(em->builder, narrow, type, "");
        }
    }
}

typedef LLVMValueRef build_fn(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b, const char *name);
typedef LLVMValueRef binary_fn(vtac_emitter *em, const vtac_expr *e, LLVMValueRef a, LLVMValueRef b);

static LLVMValueRef emit_power(vtac_emitter *em, const vtac_expr *e, LLVMValueRef a, LLVMValueRef b)
{
    return vtac_emit_math(em, e->op, a, b);
}

/* Instructions of binary operations, for integers and floats, or else the function that emits them. */
static const struct binary {
    build_fn *of_ints, *of_floats;
    binary_fn *emit;
} binaries[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_ADD] = {LLVMBuildAdd, LLVMBuildFAdd, NULL},
    [VTAC_E_SUB] = {LLVMBuildSub, LLVMBuildFSub, NULL},
    [VTAC_E_MUL] = {LLVMBuildMul, LLVMBuildFMul, NULL},
    [VTAC_E_DIV] = {NULL, LLVMBuildFDiv, emit_divide},
    [VTAC_E_REM] = {NULL, NULL, emit_divide},
    [VTAC_E_MIN] = {NULL, NULL, min_max},
    [VTAC_E_MAX] = {NULL, NULL, min_max},
    [VTAC_E_POW] = {NULL, NULL, emit_power},
    [VTAC_E_AND] = {LLVMBuildAnd, LLVMBuildAnd, NULL},
    [VTAC_E_OR] = {LLVMBuildOr, LLVMBuildOr, NULL},
    [VTAC_E_XOR] = {LLVMBuildXor, LLVMBuildXor, NULL},
    [VTAC_E_SHL] = {NULL, NULL, emit_shift},
    [VTAC_E_SHR] = {NULL, NULL, emit_shift},
    [VTAC_E_EQ] = {NULL, NULL, emit_compare},
    [VTAC_E_NE] = {NULL, NULL, emit_compare},
    [VTAC_E_LT] = {NULL, NULL, emit_compare},
    [VTAC_E_LE] = {NULL, NULL, emit_compare},
    [VTAC_E_GT] = {NULL, NULL, emit_compare},
    [VTAC_E_GE] = {NULL, NULL, emit_compare},
};

static LLVMValueRef emit_binary(vtac_emitter *em, const vtac_expr *e)
{
    LLVMValueRef v[] = {emit_expr(em, e->in[0]), emit_expr(em, e->in[1])};
    even_out(em, v, 2);
    const struct binary *row = &binaries[e->op];
    build_fn *build = vtac_dtype_kind(e->type) == 'f' ? row->of_floats : row->of_ints;
    return build != NULL ? build(em->builder, v[0], v[1], "") : row->emit(em, e, v[0], v[1]);
}

static LLVMValueRef emit_ternary(vtac_emitter *em, const vtac_expr *e)
{
    LLVMValueRef v[] = {emit_expr(em, e->in[0]), emit_expr(em, e->in[1]), emit_expr(em, e->in[2])};
    if (e->op == VTAC_E_SELECT) {
        even_out(em, v + 1, 2);
        if (vtac_llvm_lanes(v[0]) > 1) {
            even_out(em, v, 3);
        }
        return LLVMBuildSelect(em->builder, v[0], v[1], v[2], "");
    }
    if (e->op == VTAC_E_FMA && vtac_dtype_kind(e->type) != 'f') {
        spread_narrow(em, v);
    }
    even_out(em, v, 3);
    if (e->op == VTAC_E_FMA) {
        if (vtac_dtype_kind(e->type) == 'f') {
            return simple_intrinsic(em, em->target->has_fma ? "llvm.fma" : "llvm.fmuladd", v, 3);
        }
        return LLVMBuildAdd(em->builder, LLVMBuildMul(em->builder, v[0], v[1], ""), v[2], "");
    }
    return e->op == VTAC_E_DOT2 ? vtac_emit_dot2(em, v) : vtac_emit_dot4(em, e->op == VTAC_E_SDOT4, v);
}

static LLVMValueRef emit_int(vtac_emitter *em, const vtac_expr *e)
{
    return LLVMConstInt(vtac_llvm_type(em, e->type), (uint64_t)e->i, 1);
}

static LLVMValueRef emit_float(vtac_emitter *em, const vtac_expr *e)
{
    return LLVMConstReal(vtac_llvm_type(em, e->type), e->f);
}

static LLVMValueRef emit_bits(vtac_emitter *em, const vtac_expr *e)
{
    LLVMValueRef x = emit_expr(em, e->in[0]);
    return LLVMBuildBitCast(em->builder, x, vtac_llvm_like(x, vtac_llvm_type(em, e->type)), "");
}

static LLVMValueRef emit_tiles(vtac_emitter *em, const vtac_expr *e)
{
    (void)e;
    return em->tiles;
}

typedef LLVMValueRef emit_fn(vtac_emitter *em, const vtac_expr *e);

/* Operations with an emitter of their own; all others go by their number of operands. */
static emit_fn *const emitters[VTAC_EXPR_OP_COUNT] = {
    [VTAC_E_INT] = emit_int,      [VTAC_E_FLOAT] = emit_float,  [VTAC_E_VAR] = emit_var,
    [VTAC_E_LOAD] = emit_load,    [VTAC_E_QUAD] = emit_quad,    [VTAC_E_CAST] = emit_cast,
    [VTAC_E_BITS] = emit_bits,    [VTAC_E_TILES] = emit_tiles,  [VTAC_E_SELECT] = emit_ternary,
    [VTAC_E_FMA] = emit_ternary,  [VTAC_E_DOT4] = emit_ternary, [VTAC_E_SDOT4] = emit_ternary,
    [VTAC_E_DOT2] = emit_ternary,
};

static LLVMValueRef emit_expr(vtac_emitter *em, const vtac_expr *e)
{
    if (emitters[e->op] != NULL) {
        return emitters[e->op](em, e);
    }
    return e->in[1] == NULL ? emit_unary(em, e) : emit_binary(em, e);
}

/* ---- statements */

static void emit_block(vtac_emitter *em, const vtac_stmt *s);

/* Each row of the vector to a place of its own. */
static void store_rows(vtac_emitter *em, const vtac_stmt *s, LLVMValueRef value, const vtac_transpose *t)
{
    LLVMValueRef first = emit_at_first_lane(em, s->index);
    for (int64_t i = 0; i < (int64_t)em->lanes / t->rows; i++) {
        LLVMValueRef at = LLVMBuildAdd(em->builder, first, index_of(em, i * t->across), "");
        LLVMValueRef row = vtac_llvm_vector_part(em, value, (unsigned)(i * t->rows), (unsigned)t->rows);
        LLVMSetAlignment(LLVMBuildStore(em->builder, row, element_address(em, s->buffer, at)),
                         (unsigned)vtac_dtype_bytes(s->buffer->dtype));
    }
}

static void store_tile(vtac_emitter *em, const vtac_stmt *s)
{
    LLVMValueRef from[3];
    for (int i = 0; i < 3; i++) {
        const vtac_expr *load = s->value->in[i];
        from[i] = element_address(em, load->buffer, emit_expr(em, load->in[0]));
    }
    vtac_emit_tile(em, element_address(em, s->buffer, emit_expr(em, s->index)), from, s->value->i);
}

static void emit_store(vtac_emitter *em, const vtac_stmt *s)
{
    if (s->value->op == VTAC_E_TILE) {
        store_tile(em, s);
        return;
    }
    LLVMValueRef value = emit_expr(em, s->value);
    const unsigned alignment = (unsigned)vtac_dtype_bytes(s->buffer->dtype);
    if (em->lane_var != 0) {
        value = vtac_llvm_splat(em, value, vtac_llvm_lanes(value) == 1 ? em->lanes : 1);
    }
    value = pack_value(em, s->buffer->dtype, value);
    if (em->lane_var == 0 || lane_step(em, s->index) == 1) {
        LLVMValueRef at = element_address(em, s->buffer, emit_at_first_lane(em, s->index));
        LLVMSetAlignment(LLVMBuildStore(em->builder, value, at),
                         em->lane_var == 0 ? alignment : alignment_at(em, s->buffer, s->index));
        return;
    }
    vtac_transpose transpose;
    if (is_transposed(em, s->index, &transpose) && transpose.down == 1 && transpose.last < 0) {
        store_rows(em, s, value, &transpose);
        return;
    }
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    LLVMValueRef index = emit_expr(em, s->index);
    for (unsigned i = 0; i < em->lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(i32, i, 0);
        LLVMValueRef at = LLVMBuildExtractElement(em->builder, index, lane, "");
        LLVMValueRef one = LLVMBuildExtractElement(em->builder, value, lane, "");
        LLVMSetAlignment(LLVMBuildStore(em->builder, one, element_address(em, s->buffer, at)), alignment);
    }
}

/* llvm.prefetch: to read, into the nearest cache, data. */
static void emit_ahead(vtac_emitter *em, const vtac_stmt *s)
{
    if (em->item != NULL) {
        return; /* a GPU hides the time of a load by other items */
    }
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    const unsigned nearness = s->later ? 2 : 3;
    LLVMValueRef words[] = {element_address(em, s->buffer, emit_at_first_lane(em, s->index)),
                            LLVMConstInt(i32, 0, 0), LLVMConstInt(i32, nearness, 0), LLVMConstInt(i32, 1, 0)};
    LLVMTypeRef pointer = LLVMTypeOf(words[0]);
    (void)vtac_llvm_intrinsic(em, "llvm.prefetch", &pointer, 1, words, 4);
}

/* The type in which a loop counts: a machine word where its end is known and fits. LLVM leaves a count of 64
 * bits as it is, and each step of it costs a machine of 32 bits six instructions instead of two. */
static LLVMTypeRef count_type(const vtac_emitter *em, LLVMValueRef end)
{
    const bool narrow = LLVMPointerSize(LLVMGetModuleDataLayout(em->module)) == sizeof(int32_t);
    const bool fits = LLVMIsAConstantInt(end) != NULL && LLVMConstIntGetSExtValue(end) < INT32_MAX;
    return narrow && fits ? LLVMInt32TypeInContext(em->context) : index_type(em);
}

/* LLVM unrolls no loop whose branch back says so, by a node that names itself. */
static void keep_rolled(vtac_emitter *em, LLVMValueRef branch)
{
    static const char word[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef itself = LLVMTemporaryMDNode(em->context, NULL, 0);
    LLVMMetadataRef text = LLVMMDStringInContext2(em->context, word, sizeof word - 1);
    LLVMMetadataRef parts[] = {itself, LLVMMDNodeInContext2(em->context, &text, 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(em->context, parts, 2);
    LLVMMetadataReplaceAllUsesWith(itself, node);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(em->context, "llvm.loop", 9),
                    LLVMMetadataAsValue(em->context, node));
}

/* The body for variable = begin … end-1, as a loop with the test at its end. */
static void emit_counted(vtac_emitter *em, const vtac_stmt *s, LLVMValueRef begin, LLVMValueRef end)
{
    LLVMTypeRef type = count_type(em, end);
    begin = LLVMBuildIntCast2(em->builder, begin, type, 1, "");
    end = LLVMBuildIntCast2(em->builder, end, type, 1, "");
    LLVMBuilderRef b = em->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(em->context, em->function, "body");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(em->context, em->function, "after");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), body, after);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef i = LLVMBuildPhi(b, type, s->name);
    LLVMAddIncoming(i, &begin, &before, 1);
    em->vars[s->var] = LLVMBuildIntCast2(b, i, index_type(em), 1, "");
    em->even[s->var] = 0;
    emit_block(em, s->body);
    LLVMValueRef step =
        s->loop == VTAC_LOOP_PARALLEL && em->step != NULL ? em->step : LLVMConstInt(type, 1, 0);
    LLVMValueRef next = LLVMBuildNSWAdd(b, i, step, "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
    LLVMAddIncoming(i, &next, &last, 1);
    LLVMValueRef back = LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), body, after);
    if (s->loop == VTAC_LOOP_ROLLED) {
        keep_rolled(em, back);
    }
    LLVMPositionBuilderAtEnd(b, after);
}

static void emit_for(vtac_emitter *em, const vtac_stmt *s)
{
    switch (s->loop) {
    case VTAC_LOOP_UNROLL:
        for (int64_t i = 0; i < s->extent; i++) {
            em->vars[s->var] = index_of(em, i);
            em->even[s->var] = evenness_of(i);
            emit_block(em, s->body);
        }
        return;
    case VTAC_LOOP_VECTOR:
        em->vars[s->var] = index_of(em, 0);
        em->even[s->var] = MAX_EVEN;
        if (s->extent > 1) {
            em->lane_var = s->var;
            em->lanes = (unsigned)s->extent;
        }
        emit_block(em, s->body);
        em->lane_var = 0;
        return;
    case VTAC_LOOP_PARALLEL: emit_counted(em, s, em->begin, em->end); return;
    case VTAC_LOOP_GROUP:
    case VTAC_LOOP_ITEM:
        em->vars[s->var] = s->loop == VTAC_LOOP_GROUP ? em->group : em->item;
        em->even[s->var] = 0;
        emit_block(em, s->body);
        return;
    case VTAC_LOOP_APART:
    case VTAC_LOOP_ROLLED:
    case VTAC_LOOP_SERIAL: emit_counted(em, s, index_of(em, 0), index_of(em, s->extent)); return;
    }
}

static void emit_if(vtac_emitter *em, const vtac_stmt *s)
{
    if (em->item != NULL && s->value->op == VTAC_E_TILES) {
        return; /* a GPU has none */
    }
    LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(em->context, em->function, "then");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(em->context, em->function, "after");
    LLVMBuildCondBr(em->builder, emit_expr(em, s->value), then, after);
    LLVMPositionBuilderAtEnd(em->builder, then);
    emit_block(em, s->body);
    LLVMBuildBr(em->builder, after);
    LLVMPositionBuilderAtEnd(em->builder, after);
}

static void emit_block(vtac_emitter *em, const vtac_stmt *s)
{
    for (; s != NULL; s = s->next) {
        switch (s->kind) {
        case VTAC_S_FOR: emit_for(em, s); break;
        case VTAC_S_IF: emit_if(em, s); break;
        case VTAC_S_LET:
            em->even[s->var] = (uint8_t)index_alignment(em, s->value);
            em->vars[s->var] = emit_expr(em, s->value);
            break;
        case VTAC_S_STORE: emit_store(em, s); break;
        case VTAC_S_AHEAD: emit_ahead(em, s); break;
        case VTAC_S_BARRIER: (void)vtac_llvm_intrinsic(em, "llvm.nvvm.barrier0", NULL, 0, NULL, 0); break;
        }
    }
}

/* ---- the function */

static LLVMValueRef argument_of(vtac_emitter *em, const vtac_buffer *buffer)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(em->context, 0);
    LLVMValueRef at = index_of(em, buffer->number);
    if (em->arguments != NULL) {
        return em->arguments[buffer->number];
    }
    at = LLVMBuildGEP2(em->builder, pointer, LLVMGetParam(em->function, 0), &at, 1, "");
    return LLVMBuildLoad2(em->builder, pointer, at, buffer->name);
}

/* Local memory of a work group, in the address space that NVIDIA's back end has for it. */
static LLVMValueRef shared_of(vtac_emitter *em, const vtac_buffer *buffer)
{
    enum { SHARED_SPACE = 3 };
    LLVMTypeRef type = LLVMArrayType(vtac_llvm_memory_type(em, buffer->dtype), (unsigned)buffer->elements);
    LLVMValueRef global = LLVMAddGlobalInAddressSpace(em->module, type, "shared", SHARED_SPACE);
    LLVMSetInitializer(global, LLVMGetPoison(type));
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, 64);
    return LLVMConstAddrSpaceCast(global, LLVMPointerTypeInContext(em->context, 0));
}

static void bind_buffers(vtac_emitter *em)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(em->context);
    for (size_t i = 0; i < em->kernel->buffer_count; i++) {
        const vtac_buffer *buffer = em->kernel->buffers[i];
        if (buffer->space == VTAC_BUFFER_ARGUMENT) {
            em->buffers[i] = argument_of(em, buffer);
        } else if (buffer->space == VTAC_BUFFER_SHARED) {
            em->buffers[i] = shared_of(em, buffer);
        } else if (buffer->space == VTAC_BUFFER_SCRATCH) {
            LLVMValueRef at = index_of(em, (int64_t)buffer->offset);
            em->buffers[i] = LLVMBuildGEP2(em->builder, byte, em->scratch, &at, 1, buffer->name);
        } else {
            LLVMTypeRef type =
                LLVMArrayType(vtac_llvm_memory_type(em, buffer->dtype), (unsigned)buffer->elements);
            em->buffers[i] = LLVMBuildAlloca(em->builder, type, buffer->name);
            LLVMSetAlignment(em->buffers[i], 64);
        }
    }
}

void vtac_emit_body(vtac_emitter *em, const vtac_kernel *kernel)
{
    em->kernel = kernel;
    em->vars = vta_arena_array(kernel->arena, kernel->var_count, sizeof(LLVMValueRef));
    em->even = vta_arena_array(kernel->arena, kernel->var_count + 1, 1);
    em->buffers = vta_arena_array(kernel->arena, kernel->buffer_count + 1, sizeof(LLVMValueRef));
    if (em->vars == NULL || em->even == NULL || em->buffers == NULL) {
        em->failed = true;
        return;
    }
    em->lane_var = 0;
    em->first_lane = false;
    bind_buffers(em);
    if (kernel->has_tiles && em->item == NULL) {
        vtac_emit_tiles_begin(em);
    }
    emit_block(em, kernel->body);
    if (kernel->has_tiles && em->item == NULL) {
        vtac_emit_tiles_end(em);
    }
    LLVMBuildRetVoid(em->builder);
}

LLVMValueRef vtac_emit_kernel(vtac_emitter *em, const vtac_kernel *kernel, const char *symbol)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(em->context, 0);
    LLVMTypeRef i64 = index_type(em);
    LLVMTypeRef parameters[] = {pointer, i64, i64, pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(em->context), parameters, 4, 0);
    em->function = LLVMAddFunction(em->module, symbol, type);
    LLVMSetLinkage(em->function, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(em->builder, LLVMAppendBasicBlockInContext(em->context, em->function, "entry"));
    em->begin = LLVMGetParam(em->function, 1);
    em->end = LLVMGetParam(em->function, 2);
    em->scratch = LLVMGetParam(em->function, 3);
    vtac_emit_body(em, kernel);
    return em->failed ? NULL : em->function;
}
