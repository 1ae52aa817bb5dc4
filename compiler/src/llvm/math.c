/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions as polynomials, for scalars and vectors: no library is called.
 *
 * tests/compiler/codegen_math_test.c states and checks the errors, of these and of the operators made of
 * them. On f32 everything but exp, tanh and erf is computed in double and rounded once: 1 ulp; exp itself 2,
 * tanh 4, erf 2.5, sigmoid 4, Gelu, which is exp and a fitted polynomial, 10. On f64 some ulp; pow loses as
 * many bits more as y log x has. sin and cos hold that for |x| up to 1e6 and lose digits beyond. Infinities
 * and NaNs give what C says.
 */
#include <math.h>
#include <string.h>

#include "emit.h"

typedef struct fn {
    vtac_emitter *em;
    LLVMBuilderRef b;
    LLVMTypeRef type, ints; /* of the argument, and the integers of its width */
    unsigned bits;
} fn;

static LLVMValueRef float_constant(const fn *f, double value)
{
    LLVMTypeRef element =
        LLVMGetTypeKind(f->type) == LLVMVectorTypeKind ? LLVMGetElementType(f->type) : f->type;
    const unsigned lanes = LLVMGetTypeKind(f->type) == LLVMVectorTypeKind ? LLVMGetVectorSize(f->type) : 1;
    return vtac_llvm_splat(f->em, LLVMConstReal(element, value), lanes);
}

static LLVMValueRef int_constant(const fn *f, uint64_t value)
{
    LLVMTypeRef element =
        LLVMGetTypeKind(f->ints) == LLVMVectorTypeKind ? LLVMGetElementType(f->ints) : f->ints;
    const unsigned lanes = LLVMGetTypeKind(f->ints) == LLVMVectorTypeKind ? LLVMGetVectorSize(f->ints) : 1;
    return vtac_llvm_splat(f->em, LLVMConstInt(element, value, 0), lanes);
}

static LLVMValueRef emit_add(const fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFAdd(f->b, a, b, "");
}

static LLVMValueRef emit_sub(const fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFSub(f->b, a, b, "");
}

static LLVMValueRef emit_mul(const fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFMul(f->b, a, b, "");
}

static LLVMValueRef emit_quotient(const fn *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFDiv(f->b, a, b, "");
}

static LLVMValueRef call_intrinsic(const fn *f, const char *name, LLVMValueRef *args, unsigned count)
{
    LLVMTypeRef type = f->type;
    return vtac_llvm_intrinsic(f->em, name, &type, 1, args, count);
}

static LLVMValueRef fma_of(const fn *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef args[] = {a, b, c};
    return call_intrinsic(f, "llvm.fmuladd", args, 3);
}

static LLVMValueRef call_unary(const fn *f, const char *name, LLVMValueRef a)
{
    return call_intrinsic(f, name, &a, 1);
}

static LLVMValueRef emit_is(const fn *f, LLVMRealPredicate how, LLVMValueRef a, double b)
{
    return LLVMBuildFCmp(f->b, how, a, float_constant(f, b), "");
}

static LLVMValueRef emit_select(const fn *f, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(f->b, condition, a, b, "");
}

/* c[0] x^(n-1) + … + c[n-1] */
static LLVMValueRef emit_horner(const fn *f, LLVMValueRef x, const double *c, unsigned n)
{
    LLVMValueRef sum = float_constant(f, c[0]);
    for (unsigned i = 1; i < n; i++) {
        sum = fma_of(f, sum, x, float_constant(f, c[i]));
    }
    return sum;
}

/* x within lo … hi; NaN stays. */
static LLVMValueRef emit_clamp(const fn *f, LLVMValueRef x, double lo, double hi)
{
    x = emit_select(f, emit_is(f, LLVMRealOLT, x, lo), float_constant(f, lo), x);
    return emit_select(f, emit_is(f, LLVMRealOGT, x, hi), float_constant(f, hi), x);
}

/* x within lo … hi; NaN becomes 0, so that integers made of it are defined. */
static LLVMValueRef emit_clamp_no_nan(const fn *f, LLVMValueRef x, double lo, double hi)
{
    x = emit_clamp(f, x, lo, hi);
    return emit_select(f, emit_is(f, LLVMRealUNO, x, 0.0), float_constant(f, 0.0), x);
}

/* y * 2^n, of AVX-512; NULL: no such instruction. */
static LLVMValueRef scaled_at_once(const fn *f, LLVMValueRef y, LLVMValueRef n)
{
    enum { ROUND_AS_IT_IS = 4 };
    const vtac_target *target = f->em->target;
    const unsigned lanes = LLVMGetTypeKind(f->type) == LLVMVectorTypeKind ? LLVMGetVectorSize(f->type) : 1;
    if (target->vector_bytes != 64 || lanes * f->bits != 512 || strncmp(target->triple, "x86_64", 6) != 0) {
        return NULL;
    }
    LLVMTypeRef mask = LLVMIntTypeInContext(f->em->context, lanes);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->em->context);
    LLVMValueRef args[] = {y, n, y, LLVMConstAllOnes(mask), LLVMConstInt(i32, ROUND_AS_IT_IS, 0)};
    return vtac_llvm_intrinsic(
        f->em, f->bits == 64 ? "llvm.x86.avx512.mask.scalef.pd.512" : "llvm.x86.avx512.mask.scalef.ps.512",
        NULL, 0, args, 5);
}

/* y * 2^n for |n| below twice the exponent's range: in two steps, so that neither factor leaves it. `whole`
 * has n in as many of its lowest bits as the exponent has, and one more. */
static LLVMValueRef emit_scale(const fn *f, LLVMValueRef y, LLVMValueRef n, LLVMValueRef whole)
{
    const unsigned mantissa = f->bits == 64 ? 52 : 23;
    LLVMValueRef bias = int_constant(f, f->bits == 64 ? 1023 : 127);
    LLVMValueRef half = LLVMBuildLShr(f->b, whole, int_constant(f, 1), "");
    LLVMValueRef rest = LLVMBuildSub(f->b, whole, half, "");
    LLVMValueRef once = scaled_at_once(f, y, n);
    if (once != NULL) {
        return once;
    }
    LLVMValueRef parts[] = {half, rest};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef bits =
            LLVMBuildShl(f->b, LLVMBuildAdd(f->b, parts[i], bias, ""), int_constant(f, mantissa), "");
        y = emit_mul(f, y, LLVMBuildBitCast(f->b, bits, f->type, ""));
    }
    return y;
}

/* x to the nearest whole number, for |x| below 2^22: as a float, and in the lowest bits of `whole`, which has
 * any bits for NaN. Where rounding is no instruction, a number takes what is behind the point from a sum and
 * leaves it again: LLVM would call the library for each lane. */
static LLVMValueRef nearest_small(const fn *f, LLVMValueRef x, LLVMValueRef *whole)
{
    if (f->em->target->has_rounding) {
        x = call_unary(f, "llvm.rint", x);
        *whole = LLVMBuildFreeze(f->b, LLVMBuildFPToSI(f->b, x, f->ints, ""), "");
        return x;
    }
    LLVMValueRef large = float_constant(f, f->bits == 64 ? 0x1.8p52 : 0x1.8p23);
    LLVMValueRef sum = emit_add(f, x, large);
    *whole = LLVMBuildBitCast(f->b, sum, f->ints, "");
    return emit_sub(f, sum, large);
}

/* x = n log(2) + r; returns n, as a float. */
static LLVMValueRef reduce_exp(const fn *f, LLVMValueRef x, LLVMValueRef *r, LLVMValueRef *whole)
{
    const bool d = f->bits == 64;
    LLVMValueRef n = nearest_small(f, emit_mul(f, x, float_constant(f, 1.4426950408889634)), whole);
    *r = fma_of(f, n, float_constant(f, d ? -6.93147180369123816490e-01 : -0.693359375), x);
    *r = fma_of(f, n, float_constant(f, d ? -1.90821492927058770002e-10 : 2.12194440e-4), *r);
    return n;
}

/* exp(r) - 1 for what reduce_exp leaves */
static LLVMValueRef small_expm1(const fn *f, LLVMValueRef r)
{
    static const double narrow[] = {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3,
                                    4.1665795894E-2, 1.6666665459E-1, 5.0000001201E-1};
    static const double wide[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                  1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                                  1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5};
    LLVMValueRef p = f->bits == 64 ? emit_horner(f, r, wide, 12) : emit_horner(f, r, narrow, 6);
    return fma_of(f, p, emit_mul(f, r, r), r);
}

static LLVMValueRef exp_of(const fn *f, LLVMValueRef x)
{
    LLVMValueRef r;
    LLVMValueRef whole;
    LLVMValueRef t = f->bits == 64 ? emit_clamp(f, x, -746.0, 710.0) : emit_clamp(f, x, -104.0, 89.0);
    LLVMValueRef n = reduce_exp(f, t, &r, &whole);
    return emit_scale(f, emit_add(f, small_expm1(f, r), float_constant(f, 1.0)), n, whole);
}

/* 2^n (exp(r) - 1) + (2^n - 1), for x that is no more than the range of the type holds */
static LLVMValueRef expm1_of(const fn *f, LLVMValueRef x)
{
    LLVMValueRef r;
    LLVMValueRef whole;
    LLVMValueRef n = reduce_exp(f, emit_clamp_no_nan(f, x, -50.0, f->bits == 64 ? 709.0 : 88.0), &r, &whole);
    LLVMValueRef power = emit_scale(f, float_constant(f, 1.0), n, whole);
    LLVMValueRef y = fma_of(f, power, small_expm1(f, r), emit_sub(f, power, float_constant(f, 1.0)));
    y = emit_select(f, emit_is(f, LLVMRealOGT, x, 709.78), float_constant(f, HUGE_VAL), y);
    return emit_select(f, emit_is(f, LLVMRealUNO, x, 0.0), x, y);
}

static LLVMValueRef log_of(const fn *f, LLVMValueRef x)
{
    static const double series[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                    1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    LLVMValueRef tiny = emit_is(f, LLVMRealOLT, x, 2.2250738585072014e-308);
    LLVMValueRef normal = emit_select(f, tiny, emit_mul(f, x, float_constant(f, 18014398509481984.0)), x);
    LLVMValueRef bits = LLVMBuildBitCast(f->b, normal, f->ints, "");
    LLVMValueRef e =
        LLVMBuildAnd(f->b, LLVMBuildLShr(f->b, bits, int_constant(f, 52), ""), int_constant(f, 0x7ff), "");
    e = LLVMBuildSub(f->b, e, emit_select(f, tiny, int_constant(f, 1023 + 54), int_constant(f, 1023)), "");
    LLVMValueRef m = LLVMBuildAnd(f->b, bits, int_constant(f, UINT64_C(0x000fffffffffffff)), "");
    m = LLVMBuildOr(f->b, m, int_constant(f, UINT64_C(0x3ff0000000000000)), "");
    m = LLVMBuildBitCast(f->b, m, f->type, "");
    LLVMValueRef high = emit_is(f, LLVMRealOGT, m, 1.4142135623730951);
    m = emit_select(f, high, emit_mul(f, m, float_constant(f, 0.5)), m);
    e = LLVMBuildAdd(f->b, e, emit_select(f, high, int_constant(f, 1), int_constant(f, 0)), "");
    LLVMValueRef k = LLVMBuildSIToFP(f->b, e, f->type, "");
    LLVMValueRef s =
        emit_quotient(f, emit_sub(f, m, float_constant(f, 1.0)), emit_add(f, m, float_constant(f, 1.0)));
    LLVMValueRef y = emit_mul(f, emit_add(f, s, s), emit_horner(f, emit_mul(f, s, s), series, 12));
    y = fma_of(f, k, float_constant(f, 1.90821492927058770002e-10), y);
    y = fma_of(f, k, float_constant(f, 6.93147180369123816490e-01), y);
    y = emit_select(f, emit_is(f, LLVMRealOEQ, x, 0.0), float_constant(f, -HUGE_VAL), y);
    y = emit_select(f, emit_is(f, LLVMRealOEQ, x, HUGE_VAL), x, y);
    return emit_select(f, emit_is(f, LLVMRealULT, x, 0.0), float_constant(f, (double)NAN), y);
}

/* u = 1 + x loses the end of x; what it loses over u is what the logarithm misses. */
static LLVMValueRef log1p_of(const fn *f, LLVMValueRef x)
{
    LLVMValueRef u = emit_add(f, x, float_constant(f, 1.0));
    LLVMValueRef lost = emit_sub(f, x, emit_sub(f, u, float_constant(f, 1.0)));
    LLVMValueRef y = emit_add(f, log_of(f, u), emit_quotient(f, lost, u));
    LLVMValueRef kept = LLVMBuildFCmp(f->b, LLVMRealOEQ, u, float_constant(f, 1.0), "");
    LLVMValueRef inside =
        LLVMBuildAnd(f->b, emit_is(f, LLVMRealOGT, x, -1.0), emit_is(f, LLVMRealOLT, x, HUGE_VAL), "");
    return emit_select(f, kept, x, emit_select(f, inside, y, log_of(f, u)));
}

/* sin (cos: one quarter turn on): x = n * pi/2 + r */
static LLVMValueRef sine_of(const fn *f, LLVMValueRef x, unsigned quarter)
{
    static const double odd[] = {
        1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
        1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
    static const double even[] = {1.0 / 20922789888000.0,
                                  -1.0 / 87178291200.0,
                                  1.0 / 479001600.0,
                                  -1.0 / 3628800.0,
                                  1.0 / 40320.0,
                                  -1.0 / 720.0,
                                  1.0 / 24.0,
                                  -0.5,
                                  1.0};
    LLVMValueRef t = emit_clamp_no_nan(f, x, -1e15, 1e15);
    LLVMValueRef n =
        vtac_emit_round(f->em, "llvm.rint", emit_mul(f, t, float_constant(f, 0.63661977236758134)));
    LLVMValueRef r = fma_of(f, n, float_constant(f, -1.57079632673412561417e+00), t);
    r = fma_of(f, n, float_constant(f, -6.07710050630396597660e-11), r);
    r = fma_of(f, n, float_constant(f, -2.02226624879595063154e-21), r);
    r = emit_clamp_no_nan(f, r, -0.8, 0.8);
    LLVMValueRef z = emit_mul(f, r, r);
    LLVMValueRef s = fma_of(f, emit_mul(f, emit_horner(f, z, odd, 8), z), r, r);
    LLVMValueRef c = emit_horner(f, z, even, 9);
    LLVMValueRef q = LLVMBuildAdd(f->b, LLVMBuildFPToSI(f->b, n, f->ints, ""), int_constant(f, quarter), "");
    LLVMValueRef zero = int_constant(f, 0);
    LLVMValueRef swap =
        LLVMBuildICmp(f->b, LLVMIntNE, LLVMBuildAnd(f->b, q, int_constant(f, 1), ""), zero, "");
    LLVMValueRef flip =
        LLVMBuildICmp(f->b, LLVMIntNE, LLVMBuildAnd(f->b, q, int_constant(f, 2), ""), zero, "");
    LLVMValueRef y = emit_select(f, swap, c, s);
    y = emit_select(f, flip, LLVMBuildFNeg(f->b, y, ""), y);
    LLVMValueRef none = emit_sub(f, x, x); /* NaN for infinities and NaN */
    return emit_select(f, emit_is(f, LLVMRealUNO, none, 0.0), none, y);
}

static LLVMValueRef with_sign(const fn *f, LLVMValueRef y, LLVMValueRef sign)
{
    LLVMValueRef args[] = {y, sign};
    return call_intrinsic(f, "llvm.copysign", args, 2);
}

static LLVMValueRef atan_of(const fn *f, LLVMValueRef x)
{
    enum { TERMS = 23 };
    double series[TERMS];
    for (int i = 0; i < TERMS; i++) {
        const int power = TERMS - 1 - i;
        series[i] = (power % 2 == 0 ? 1.0 : -1.0) / (2 * power + 1);
    }
    LLVMValueRef a = call_unary(f, "llvm.fabs", x);
    LLVMValueRef large = emit_is(f, LLVMRealOGT, a, 1.0);
    LLVMValueRef z = emit_select(f, large, emit_quotient(f, float_constant(f, 1.0), a), a);
    LLVMValueRef middle = emit_is(f, LLVMRealOGT, z, 0.41421356237309503);
    LLVMValueRef turned =
        emit_quotient(f, emit_sub(f, z, float_constant(f, 1.0)), emit_add(f, z, float_constant(f, 1.0)));
    LLVMValueRef w = emit_select(f, middle, turned, z);
    LLVMValueRef y = emit_mul(f, w, emit_horner(f, emit_mul(f, w, w), series, TERMS));
    y = emit_select(f, middle, emit_add(f, y, float_constant(f, 0.78539816339744828)), y);
    y = emit_select(f, large, emit_sub(f, float_constant(f, 1.5707963267948966), y), y);
    return with_sign(f, y, x);
}

static LLVMValueRef tanh_of(const fn *f, LLVMValueRef x)
{
    LLVMValueRef t = emit_clamp_no_nan(f, x, -20.0, 20.0);
    LLVMValueRef e = expm1_of(f, emit_add(f, t, t));
    LLVMValueRef y = emit_quotient(f, e, emit_add(f, e, float_constant(f, 2.0)));
    return emit_select(f, emit_is(f, LLVMRealUNO, x, 0.0), x, y);
}

/* Below 1 the Taylor series; above, 1 - exp(-x²) times a polynomial in 2/(2+x) that was fitted to the scaled
 * complement (error 1e-14). */
static LLVMValueRef erf_of(const fn *f, LLVMValueRef x)
{
    static const double fitted[] = {2.5473180049685486e-11,  -1.2773769814264385e-10, -3.2935766702111111e-10,
                                    3.989883785936127e-09,   -2.3292968502666777e-09, -9.5179586407657121e-08,
                                    2.4510248656546491e-07,  2.4607162980960388e-06,  -9.6336470481432883e-06,
                                    -9.4182277179126223e-05, 0.00024269729869537261,  0.0061697115617105865,
                                    0.040697878889594627,    0.164811054342067,       0.21576343811980317};
    enum { TERMS = 21 };
    double series[TERMS];
    double factorial = 1.0;
    for (int i = 0; i < TERMS; i++) {
        factorial *= i > 0 ? i : 1;
        series[TERMS - 1 - i] = (i % 2 == 0 ? 1.0 : -1.0) / (factorial * (2 * i + 1));
    }
    LLVMValueRef a = call_unary(f, "llvm.fabs", x);
    LLVMValueRef limited = emit_clamp_no_nan(f, a, 0.0, 6.5);
    LLVMValueRef z = emit_mul(f, limited, limited);
    LLVMValueRef small = emit_mul(f, emit_mul(f, limited, float_constant(f, 1.1283791670955126)),
                                  emit_horner(f, z, series, TERMS));
    LLVMValueRef t = emit_quotient(f, float_constant(f, 2.0), emit_add(f, limited, float_constant(f, 2.0)));
    LLVMValueRef u = emit_mul(f, emit_sub(f, t, float_constant(f, 0.4509803921568627)),
                              float_constant(f, 4.636363636363637));
    LLVMValueRef tail = emit_mul(f, exp_of(f, LLVMBuildFNeg(f->b, z, "")), emit_horner(f, u, fitted, 15));
    LLVMValueRef large = emit_sub(f, float_constant(f, 1.0), tail);
    LLVMValueRef y = with_sign(f, emit_select(f, emit_is(f, LLVMRealOLT, limited, 1.0), small, large), x);
    return emit_select(f, emit_is(f, LLVMRealUNO, x, 0.0), x, y);
}

/* Error function with fewer terms: below 1 in x²; above, 1 - 2^(x P(x)), with P fitted to the logarithm of
 * the complement. The fit loses 3e-9 of the complement, the power of the fraction 1e-7. */
static LLVMValueRef narrow_erf(const fn *f, LLVMValueRef x)
{
    static const double inner[] = {7.8758750467906264e-05, -0.00080168642818177565, 0.0051890874227800456,
                                   -0.026854212010276407,  0.11283594715152363,     -0.37612626666719629,
                                   1.1283791658483504};
    static const double outer[] = {0.000303226177, -0.00459224789, 0.0328733136,
                                   -0.151622355,   -0.917332509,   -1.6280461};
    static const double power[] = {0.00132646936, 0.00967151494, 0.0555073385, 0.24022242, 0.693146978, 1.0};
    LLVMValueRef whole;
    LLVMValueRef a = emit_clamp(f, call_unary(f, "llvm.fabs", x), 0.0, 4.0); /* there it is 1 already */
    LLVMValueRef small = emit_mul(f, a, emit_horner(f, emit_mul(f, a, a), inner, 7));
    LLVMValueRef p = emit_mul(f, a, emit_horner(f, a, outer, 6));
    LLVMValueRef n = nearest_small(f, p, &whole);
    LLVMValueRef tail = emit_scale(f, emit_horner(f, emit_sub(f, p, n), power, 6), n, whole);
    LLVMValueRef large = emit_sub(f, float_constant(f, 1.0), tail);
    return with_sign(f, emit_select(f, emit_is(f, LLVMRealOLT, a, 1.0), small, large), x);
}

static LLVMValueRef pow_of(const fn *f, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef a = call_unary(f, "llvm.fabs", x);
    LLVMValueRef r = exp_of(f, emit_mul(f, y, log_of(f, a)));
    LLVMValueRef half = emit_mul(f, y, float_constant(f, 0.5));
    LLVMValueRef whole = LLVMBuildFCmp(f->b, LLVMRealOEQ, vtac_emit_round(f->em, "llvm.rint", y), y, "");
    LLVMValueRef is_even =
        LLVMBuildFCmp(f->b, LLVMRealOEQ, vtac_emit_round(f->em, "llvm.rint", half), half, "");
    LLVMValueRef signed_r = emit_select(f, is_even, r, with_sign(f, r, x));
    LLVMValueRef negative = emit_is(f, LLVMRealOLT, x, 0.0);
    LLVMValueRef below = emit_select(f, whole, signed_r, float_constant(f, (double)NAN));
    LLVMValueRef zero = emit_select(f, whole, signed_r, r);
    r = emit_select(f, negative, below, emit_select(f, emit_is(f, LLVMRealOEQ, x, 0.0), zero, r));
    r = emit_select(f, emit_is(f, LLVMRealOEQ, y, 0.0), float_constant(f, 1.0), r);
    return emit_select(f, emit_is(f, LLVMRealOEQ, x, 1.0), float_constant(f, 1.0), r);
}

static fn function_on(vtac_emitter *em, LLVMTypeRef type)
{
    const bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef element = vector ? LLVMGetElementType(type) : type;
    const unsigned bits = LLVMGetTypeKind(element) == LLVMDoubleTypeKind ? 64 : 32;
    LLVMTypeRef ints = LLVMIntTypeInContext(em->context, bits);
    ints = vector ? LLVMVectorType(ints, LLVMGetVectorSize(type)) : ints;
    return (fn){em, em->builder, type, ints, bits};
}

static LLVMValueRef sin_of(const fn *f, LLVMValueRef x)
{
    return sine_of(f, x, 0);
}

static LLVMValueRef cos_of(const fn *f, LLVMValueRef x)
{
    return sine_of(f, x, 1);
}

static LLVMValueRef any_erf(const fn *f, LLVMValueRef x)
{
    return f->bits == 64 ? erf_of(f, x) : narrow_erf(f, x);
}

static LLVMValueRef (*const functions[VTAC_EXPR_OP_COUNT])(const fn *f, LLVMValueRef x) = {
    [VTAC_E_EXP] = exp_of,     [VTAC_E_EXPM1] = expm1_of, [VTAC_E_LOG] = log_of,
    [VTAC_E_LOG1P] = log1p_of, [VTAC_E_SIN] = sin_of,     [VTAC_E_COS] = cos_of,
    [VTAC_E_ATAN] = atan_of,   [VTAC_E_TANH] = tanh_of,   [VTAC_E_ERF] = any_erf,
};

LLVMValueRef vtac_emit_math(vtac_emitter *em, vtac_expr_op op, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    fn f = function_on(em, type);
    const bool narrow = f.bits == 32 && op != VTAC_E_EXP && op != VTAC_E_TANH && op != VTAC_E_ERF;
    if (narrow) {
        f = function_on(em, vtac_llvm_like(x, LLVMDoubleTypeInContext(em->context)));
        x = vtac_emit_extend(em, x, LLVMDoubleTypeInContext(em->context));
        y = y == NULL ? NULL : vtac_emit_extend(em, y, LLVMDoubleTypeInContext(em->context));
    }
    if (op != VTAC_E_POW && functions[op] == NULL) {
        em->failed = true;
        return x;
    }
    LLVMValueRef r = op == VTAC_E_POW ? pow_of(&f, x, y) : functions[op](&f, x);
    return narrow ? LLVMBuildFPTrunc(em->builder, r, type, "") : r;
}
