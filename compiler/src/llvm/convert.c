/* SPDX-License-Identifier: Apache-2.0
 *
 * Half precision by integer arithmetic, so that no target needs a library for it, unless the processor has
 * instructions; and whole numbers from vectors of floats, which LLVM would convert one by one.
 */
#include <math.h>
#include <string.h>

#include "emit.h"
#include "target.h"

typedef struct convert_maker {
    vtac_emitter *em;
    LLVMBuilderRef b;
    unsigned lanes;
    LLVMTypeRef i32, f32;
} convert_maker;

static convert_maker maker_for(vtac_emitter *em, LLVMValueRef value)
{
    return (convert_maker){em, em->builder, vtac_llvm_lanes(value),
                           vtac_llvm_like(value, LLVMInt32TypeInContext(em->context)),
                           vtac_llvm_like(value, LLVMFloatTypeInContext(em->context))};
}

static LLVMValueRef constant_word(const convert_maker *m, uint32_t value)
{
    return vtac_llvm_splat(m->em, LLVMConstInt(LLVMInt32TypeInContext(m->em->context), value, 0), m->lanes);
}

static LLVMValueRef as_float(const convert_maker *m, LLVMValueRef bits)
{
    return LLVMBuildBitCast(m->b, bits, m->f32, "");
}

static LLVMValueRef as_bits(const convert_maker *m, LLVMValueRef value)
{
    return LLVMBuildBitCast(m->b, value, m->i32, "");
}

/* Exponent and mantissa move into place; a multiplication by 2^112 corrects the bias, of subnormals too. */
static LLVMValueRef widen_half(const convert_maker *m, LLVMValueRef h)
{
    LLVMValueRef magnitude =
        LLVMBuildShl(m->b, LLVMBuildAnd(m->b, h, constant_word(m, 0x7fff), ""), constant_word(m, 13), "");
    LLVMValueRef scaled =
        LLVMBuildFMul(m->b, as_float(m, magnitude), as_float(m, constant_word(m, 0x77800000)), "");
    LLVMValueRef special = LLVMBuildICmp(m->b, LLVMIntUGE, magnitude, constant_word(m, 0x0f800000), "");
    LLVMValueRef bits = as_bits(m, scaled);
    bits = LLVMBuildSelect(m->b, special, LLVMBuildOr(m->b, magnitude, constant_word(m, 0x7f800000), ""),
                           bits, "");
    LLVMValueRef sign =
        LLVMBuildShl(m->b, LLVMBuildAnd(m->b, h, constant_word(m, 0x8000), ""), constant_word(m, 16), "");
    return as_float(m, LLVMBuildOr(m->b, bits, sign, ""));
}

LLVMValueRef vtac_emit_extend(vtac_emitter *em, LLVMValueRef x, LLVMTypeRef element)
{
    const unsigned lanes = vtac_llvm_lanes(x);
    LLVMTypeRef type = vtac_llvm_like(x, element);
    if (lanes == 1 || em->item == NULL) {
        return LLVMBuildFPExt(em->builder, x, type, "");
    }
    LLVMValueRef all = LLVMGetPoison(type);
    for (unsigned i = 0; i < lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(LLVMInt32TypeInContext(em->context), i, 0);
        LLVMValueRef one = LLVMBuildExtractElement(em->builder, x, lane, "");
        one = LLVMBuildFPExt(em->builder, one, element, "");
        all = LLVMBuildInsertElement(em->builder, all, one, lane, "");
    }
    return all;
}

LLVMValueRef vtac_emit_widen(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef bits)
{
    const convert_maker m = maker_for(em, bits);
    LLVMValueRef wide = LLVMBuildZExt(m.b, bits, m.i32, "");
    if (dtype == VTAC_BF16) {
        return as_float(&m, LLVMBuildShl(m.b, wide, constant_word(&m, 16), ""));
    }
    if (em->target->has_half) {
        LLVMTypeRef half = vtac_llvm_like(bits, LLVMHalfTypeInContext(em->context));
        return vtac_emit_extend(em, LLVMBuildBitCast(m.b, bits, half, ""),
                                LLVMFloatTypeInContext(em->context));
    }
    return widen_half(&m, wide);
}

static LLVMValueRef narrow_bfloat(const convert_maker *m, LLVMValueRef u)
{
    LLVMValueRef odd =
        LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, u, constant_word(m, 16), ""), constant_word(m, 1), "");
    LLVMValueRef rounded = LLVMBuildAdd(m->b, u, LLVMBuildAdd(m->b, odd, constant_word(m, 0x7fff), ""), "");
    LLVMValueRef magnitude = LLVMBuildAnd(m->b, u, constant_word(m, 0x7fffffff), "");
    LLVMValueRef nan = LLVMBuildICmp(m->b, LLVMIntUGT, magnitude, constant_word(m, 0x7f800000), "");
    LLVMValueRef quiet = LLVMBuildOr(m->b, u, constant_word(m, 0x00400000), "");
    return LLVMBuildLShr(m->b, LLVMBuildSelect(m->b, nan, quiet, rounded, ""), constant_word(m, 16), "");
}

static LLVMValueRef narrow_half(const convert_maker *m, LLVMValueRef u)
{
    LLVMValueRef sign = LLVMBuildAnd(m->b, u, constant_word(m, 0x80000000), "");
    LLVMValueRef a = LLVMBuildXor(m->b, u, sign, "");
    /* subnormal results: the float adder rounds at the right place */
    LLVMValueRef magic = constant_word(m, 0x3f000000);
    LLVMValueRef small = as_bits(m, LLVMBuildFAdd(m->b, as_float(m, a), as_float(m, magic), ""));
    small = LLVMBuildSub(m->b, small, magic, "");
    LLVMValueRef odd =
        LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, a, constant_word(m, 13), ""), constant_word(m, 1), "");
    LLVMValueRef normal = LLVMBuildAdd(m->b, a, constant_word(m, 0xc8000fff), "");
    normal = LLVMBuildLShr(m->b, LLVMBuildAdd(m->b, normal, odd, ""), constant_word(m, 13), "");
    LLVMValueRef is_small = LLVMBuildICmp(m->b, LLVMIntULT, a, constant_word(m, 0x38800000), "");
    LLVMValueRef is_large = LLVMBuildICmp(m->b, LLVMIntUGE, a, constant_word(m, 0x47800000), "");
    LLVMValueRef is_nan = LLVMBuildICmp(m->b, LLVMIntUGT, a, constant_word(m, 0x7f800000), "");
    LLVMValueRef large =
        LLVMBuildSelect(m->b, is_nan, constant_word(m, 0x7e00), constant_word(m, 0x7c00), "");
    LLVMValueRef r = LLVMBuildSelect(m->b, is_small, small, normal, "");
    r = LLVMBuildSelect(m->b, is_large, large, r, "");
    return LLVMBuildOr(m->b, r, LLVMBuildLShr(m->b, sign, constant_word(m, 16), ""), "");
}

LLVMValueRef vtac_emit_narrow(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef value)
{
    const convert_maker m = maker_for(em, value);
    LLVMTypeRef raw = vtac_llvm_like(value, LLVMInt16TypeInContext(em->context));
    if (dtype == VTAC_F16 && em->target->has_half) {
        LLVMTypeRef half = vtac_llvm_like(value, LLVMHalfTypeInContext(em->context));
        return LLVMBuildBitCast(m.b, LLVMBuildFPTrunc(m.b, value, half, ""), raw, "");
    }
    LLVMValueRef u = as_bits(&m, value);
    LLVMValueRef r = dtype == VTAC_BF16 ? narrow_bfloat(&m, u) : narrow_half(&m, u);
    return LLVMBuildTrunc(m.b, r, raw, "");
}

/* ---- whole numbers */

static LLVMValueRef float_like(vtac_emitter *em, LLVMValueRef like, double value)
{
    LLVMTypeRef type = LLVMTypeOf(like);
    const unsigned lanes = vtac_llvm_lanes(like);
    return vtac_llvm_splat(em, LLVMConstReal(lanes > 1 ? LLVMGetElementType(type) : type, value), lanes);
}

/* Rounds to nearest, ties to even: adding 2^(bits of the mantissa) leaves no room for a fraction. */
static LLVMValueRef round_to_nearest(vtac_emitter *em, LLVMValueRef x, LLVMValueRef magnitude, bool is_double)
{
    LLVMBuilderRef b = em->builder;
    LLVMValueRef bound = float_like(em, x, is_double ? 0x1p52 : 0x1p23);
    LLVMValueRef whole = LLVMBuildFSub(b, LLVMBuildFAdd(b, magnitude, bound, ""), bound, "");
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, magnitude, bound, ""), whole, magnitude, "");
}

LLVMValueRef vtac_emit_round(vtac_emitter *em, const char *how, LLVMValueRef x)
{
    LLVMBuilderRef b = em->builder;
    LLVMTypeRef type = LLVMTypeOf(x);
    if (em->target->has_rounding) {
        return vtac_llvm_intrinsic(em, how, &type, 1, &x, 1);
    }
    LLVMTypeRef element = vtac_llvm_lanes(x) > 1 ? LLVMGetElementType(type) : type;
    LLVMValueRef magnitude = vtac_llvm_intrinsic(em, "llvm.fabs", &type, 1, &x, 1);
    LLVMValueRef whole = round_to_nearest(em, x, magnitude, LLVMGetTypeKind(element) == LLVMDoubleTypeKind);
    LLVMValueRef one = float_like(em, x, 1.0);
    if (strcmp(how, "llvm.trunc") == 0) {
        LLVMValueRef over = LLVMBuildFCmp(b, LLVMRealOGT, whole, magnitude, "");
        whole = LLVMBuildSelect(b, over, LLVMBuildFSub(b, whole, one, ""), whole, "");
    }
    LLVMValueRef signs[] = {whole, x};
    whole = vtac_llvm_intrinsic(em, "llvm.copysign", &type, 1, signs, 2);
    if (strcmp(how, "llvm.floor") == 0) {
        LLVMValueRef over = LLVMBuildFCmp(b, LLVMRealOGT, whole, x, "");
        whole = LLVMBuildSelect(b, over, LLVMBuildFSub(b, whole, one, ""), whole, "");
    } else if (strcmp(how, "llvm.ceil") == 0) {
        LLVMValueRef under = LLVMBuildFCmp(b, LLVMRealOLT, whole, x, "");
        whole = LLVMBuildSelect(b, under, LLVMBuildFAdd(b, whole, one, ""), whole, "");
    }
    signs[0] = whole; /* -0 stays */
    return vtac_llvm_intrinsic(em, "llvm.copysign", &type, 1, signs, 2);
}

enum { WORDS = 4, MAX_VECTORS = 16 };

static bool has_fixed(const vtac_emitter *em, vtac_dtype from, vtac_dtype to, LLVMValueRef x)
{
    const unsigned count = vtac_llvm_lanes(x) / WORDS;
    return em->target->has_neon && from == VTAC_F32 && (to == VTAC_I32 || to == VTAC_U32) &&
           vtac_llvm_lanes(x) % WORDS == 0 && (count & (count - 1)) == 0 && count <= MAX_VECTORS;
}

LLVMValueRef vtac_emit_fixed(vtac_emitter *em, vtac_dtype from, vtac_dtype to, LLVMValueRef x, unsigned bits)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    LLVMTypeRef types[] = {LLVMVectorType(i32, WORDS),
                           LLVMVectorType(LLVMFloatTypeInContext(em->context), WORDS)};
    const bool narrow = vtac_target_is(em->target, "arm");
    const char *name = to == VTAC_I32 ? narrow ? "llvm.arm.neon.vcvtfp2fxs" : "llvm.aarch64.neon.vcvtfp2fxs"
                       : narrow       ? "llvm.arm.neon.vcvtfp2fxu"
                                      : "llvm.aarch64.neon.vcvtfp2fxu";
    const unsigned count = vtac_llvm_lanes(x) / WORDS;
    LLVMValueRef v[MAX_VECTORS];
    if (!has_fixed(em, from, to, x)) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef args[] = {vtac_llvm_vector_part(em, x, i * WORDS, WORDS), LLVMConstInt(i32, bits, 0)};
        v[i] = vtac_llvm_intrinsic(em, name, types, 2, args, 2);
    }
    return vtac_llvm_joined(em, v, count);
}

LLVMValueRef vtac_emit_whole(vtac_emitter *em, vtac_dtype from, vtac_dtype to, LLVMValueRef x)
{
    LLVMBuilderRef b = em->builder;
    if (has_fixed(em, from, to, x)) {
        return vtac_emit_fixed(em, from, to, LLVMBuildFMul(b, x, float_like(em, x, 0.5), ""), 1);
    }
    const bool is_signed = vtac_dtype_kind(to) == 'i';
    const unsigned bits = 8 * (unsigned)vtac_dtype_bytes(to);
    const int digits = (int)(is_signed ? bits - 1 : bits);
    const int mantissa = from == VTAC_F64 ? 53 : 24;
    const double beyond = ldexp(1.0, digits);
    const double max = beyond - ldexp(1.0, digits > mantissa ? digits - mantissa : 0);
    LLVMTypeRef type = vtac_llvm_like(x, LLVMIntTypeInContext(em->context, bits < 32 ? 32 : bits));
    LLVMTypeRef element = LLVMIntTypeInContext(em->context, bits < 32 ? 32 : bits);
    LLVMValueRef zero = float_like(em, x, 0.0);
    LLVMValueRef low = float_like(em, x, is_signed ? -beyond : 0.0);
    LLVMValueRef high = float_like(em, x, max);
    x = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealORD, x, zero, ""), x, zero, "");
    LLVMValueRef held = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, x, low, ""), x, low, "");
    held = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, held, high, ""), held, high, "");
    if (bits < 32) {
        LLVMValueRef whole = LLVMBuildFPToSI(b, held, type, "");
        return LLVMBuildTrunc(b, whole, vtac_llvm_like(x, LLVMIntTypeInContext(em->context, bits)), "");
    }
    LLVMValueRef whole = is_signed ? LLVMBuildFPToSI(b, held, type, "") : LLVMBuildFPToUI(b, held, type, "");
    if (digits <= mantissa) {
        return whole;
    }
    const uint64_t largest = digits == 64 ? UINT64_MAX : (UINT64_C(1) << digits) - 1;
    LLVMValueRef limit = vtac_llvm_splat(em, LLVMConstInt(element, largest, 0), vtac_llvm_lanes(x));
    LLVMValueRef over = LLVMBuildFCmp(b, LLVMRealOGE, x, float_like(em, x, beyond), "");
    return LLVMBuildSelect(b, over, limit, whole, "");
}
