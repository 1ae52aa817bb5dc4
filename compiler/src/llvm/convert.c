/* SPDX-License-Identifier: Apache-2.0
 *
 * Half precision by integer arithmetic, so that no target needs a library for it.
 */
#include "emit.h"

typedef struct maker {
    vtac_emitter *em;
    LLVMBuilderRef b;
    unsigned lanes;
    LLVMTypeRef i32, f32;
} maker;

static maker maker_for(vtac_emitter *em, LLVMValueRef value)
{
    return (maker){em, em->builder, vtac_llvm_lanes(value),
                   vtac_llvm_like(value, LLVMInt32TypeInContext(em->context)),
                   vtac_llvm_like(value, LLVMFloatTypeInContext(em->context))};
}

static LLVMValueRef word(const maker *m, uint32_t value)
{
    return vtac_llvm_splat(m->em, LLVMConstInt(LLVMInt32TypeInContext(m->em->context), value, 0), m->lanes);
}

static LLVMValueRef as_float(const maker *m, LLVMValueRef bits)
{
    return LLVMBuildBitCast(m->b, bits, m->f32, "");
}

static LLVMValueRef as_bits(const maker *m, LLVMValueRef value)
{
    return LLVMBuildBitCast(m->b, value, m->i32, "");
}

/* Exponent and mantissa move into place; a multiplication by 2^112 corrects the bias, of subnormals too. */
static LLVMValueRef widen_half(const maker *m, LLVMValueRef h)
{
    LLVMValueRef magnitude = LLVMBuildShl(m->b, LLVMBuildAnd(m->b, h, word(m, 0x7fff), ""), word(m, 13), "");
    LLVMValueRef scaled = LLVMBuildFMul(m->b, as_float(m, magnitude), as_float(m, word(m, 0x77800000)), "");
    LLVMValueRef special = LLVMBuildICmp(m->b, LLVMIntUGE, magnitude, word(m, 0x0f800000), "");
    LLVMValueRef bits = as_bits(m, scaled);
    bits = LLVMBuildSelect(m->b, special, LLVMBuildOr(m->b, magnitude, word(m, 0x7f800000), ""), bits, "");
    LLVMValueRef sign = LLVMBuildShl(m->b, LLVMBuildAnd(m->b, h, word(m, 0x8000), ""), word(m, 16), "");
    return as_float(m, LLVMBuildOr(m->b, bits, sign, ""));
}

LLVMValueRef vtac_emit_widen(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef bits)
{
    const maker m = maker_for(em, bits);
    LLVMValueRef wide = LLVMBuildZExt(m.b, bits, m.i32, "");
    if (dtype == VTAC_BF16) {
        return as_float(&m, LLVMBuildShl(m.b, wide, word(&m, 16), ""));
    }
    return widen_half(&m, wide);
}

static LLVMValueRef narrow_bfloat(const maker *m, LLVMValueRef u)
{
    LLVMValueRef odd = LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, u, word(m, 16), ""), word(m, 1), "");
    LLVMValueRef rounded = LLVMBuildAdd(m->b, u, LLVMBuildAdd(m->b, odd, word(m, 0x7fff), ""), "");
    LLVMValueRef magnitude = LLVMBuildAnd(m->b, u, word(m, 0x7fffffff), "");
    LLVMValueRef nan = LLVMBuildICmp(m->b, LLVMIntUGT, magnitude, word(m, 0x7f800000), "");
    LLVMValueRef quiet = LLVMBuildOr(m->b, u, word(m, 0x00400000), "");
    return LLVMBuildLShr(m->b, LLVMBuildSelect(m->b, nan, quiet, rounded, ""), word(m, 16), "");
}

static LLVMValueRef narrow_half(const maker *m, LLVMValueRef u)
{
    LLVMValueRef sign = LLVMBuildAnd(m->b, u, word(m, 0x80000000), "");
    LLVMValueRef a = LLVMBuildXor(m->b, u, sign, "");
    /* subnormal results: the float adder rounds at the right place */
    LLVMValueRef magic = word(m, 0x3f000000);
    LLVMValueRef small = as_bits(m, LLVMBuildFAdd(m->b, as_float(m, a), as_float(m, magic), ""));
    small = LLVMBuildSub(m->b, small, magic, "");
    LLVMValueRef odd = LLVMBuildAnd(m->b, LLVMBuildLShr(m->b, a, word(m, 13), ""), word(m, 1), "");
    LLVMValueRef normal = LLVMBuildAdd(m->b, a, word(m, 0xc8000fff), "");
    normal = LLVMBuildLShr(m->b, LLVMBuildAdd(m->b, normal, odd, ""), word(m, 13), "");
    LLVMValueRef is_small = LLVMBuildICmp(m->b, LLVMIntULT, a, word(m, 0x38800000), "");
    LLVMValueRef is_large = LLVMBuildICmp(m->b, LLVMIntUGE, a, word(m, 0x47800000), "");
    LLVMValueRef is_nan = LLVMBuildICmp(m->b, LLVMIntUGT, a, word(m, 0x7f800000), "");
    LLVMValueRef large = LLVMBuildSelect(m->b, is_nan, word(m, 0x7e00), word(m, 0x7c00), "");
    LLVMValueRef r = LLVMBuildSelect(m->b, is_small, small, normal, "");
    r = LLVMBuildSelect(m->b, is_large, large, r, "");
    return LLVMBuildOr(m->b, r, LLVMBuildLShr(m->b, sign, word(m, 16), ""), "");
}

LLVMValueRef vtac_emit_narrow(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef value)
{
    const maker m = maker_for(em, value);
    LLVMValueRef u = as_bits(&m, value);
    LLVMValueRef r = dtype == VTAC_BF16 ? narrow_bfloat(&m, u) : narrow_half(&m, u);
    return LLVMBuildTrunc(m.b, r, vtac_llvm_like(value, LLVMInt16TypeInContext(em->context)), "");
}
