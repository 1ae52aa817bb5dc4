// SPDX-License-Identifier: Apache-2.0
//
// Goes before kernels in OpenCL C: functions that it lacks, or defines otherwise than a nest does. No division traps, a shift by the
// width gives 0 or the sign, the lesser of a NaN and a number is the second operand. A product and a sum are rounded once in vtac_fma,
// where the device does that by itself, and nowhere else. On processors, where the driver is a clang, products of pairs and of four
// bytes are the instructions for them; on GPUs those of four bytes are the language's, where it has them (cl_khr_integer_dot_product).

#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define VTAC_EACH(F, T, U) F(T, U, ) F(T, U, 2) F(T, U, 4) F(T, U, 8) F(T, U, 16)

#define VTAC_FLOATS(T, U, N) \
    static inline T##N vtac_min_##T##N(T##N a, T##N b) { return a < b ? a : b; } \
    static inline T##N vtac_max_##T##N(T##N a, T##N b) { return a > b ? a : b; } \
    static inline T##N vtac_fma_##T##N(T##N a, T##N b, T##N c) { _Pragma("OPENCL FP_CONTRACT ON") return a * b + c; }
VTAC_EACH(VTAC_FLOATS, float, )
#ifdef cl_khr_fp64
VTAC_EACH(VTAC_FLOATS, double, )
#endif

#define VTAC_MADS(T, U, N) \
    static inline T##N vtac_mad_##T##N(T##N a, T##N b, T##N c) { \
    return as_##T##N((U##N)(as_##U##N(a) * as_##U##N(b) + as_##U##N(c))); }
VTAC_EACH(VTAC_MADS, char, uchar)
VTAC_EACH(VTAC_MADS, uchar, uchar)
VTAC_EACH(VTAC_MADS, short, ushort)
VTAC_EACH(VTAC_MADS, ushort, ushort)
VTAC_EACH(VTAC_MADS, int, uint)
VTAC_EACH(VTAC_MADS, uint, uint)
VTAC_EACH(VTAC_MADS, long, ulong)
VTAC_EACH(VTAC_MADS, ulong, ulong)

#define VTAC_DIVIDES(T, BAD) \
    static inline T vtac_div_##T(T a, T b) { return a / ((BAD) ? (T)1 : b); } \
    static inline T vtac_rem_##T(T a, T b) { return a % ((BAD) ? (T)1 : b); }
VTAC_DIVIDES(char, b == 0)
VTAC_DIVIDES(uchar, b == 0)
VTAC_DIVIDES(short, b == 0)
VTAC_DIVIDES(ushort, b == 0)
VTAC_DIVIDES(int, b == 0 || (b == -1 && a == INT_MIN))
VTAC_DIVIDES(uint, b == 0)
VTAC_DIVIDES(long, b == 0 || (b == -1 && a == LONG_MIN))
VTAC_DIVIDES(ulong, b == 0)

#define VTAC_SHIFTS(T, U, W) \
    static inline T vtac_shl_##T(T a, T b) { return (U)b < (U)W ? (T)((U)a << (U)b) : (T)0; } \
    static inline T vtac_shr_##T(T a, T b) { return (U)b < (U)W ? (T)(a >> (U)b) : (T)(a < 0 ? -1 : 0); }
VTAC_SHIFTS(char, uchar, 8)
VTAC_SHIFTS(uchar, uchar, 8)
VTAC_SHIFTS(short, ushort, 16)
VTAC_SHIFTS(ushort, ushort, 16)
VTAC_SHIFTS(int, uint, 32)
VTAC_SHIFTS(uint, uint, 32)
VTAC_SHIFTS(long, ulong, 64)
VTAC_SHIFTS(ulong, ulong, 64)

static inline int vtac_dot2(int c, int a, int b) { return c + (short)a * (short)b + (a >> 16) * (b >> 16); }
#define VTAC_DOT2(N, M) \
    static inline int##N vtac_dot2##N(int##N c, int##N a, int##N b) { \
    const short##M x = as_short##M(a), y = as_short##M(b); \
    return c + (convert_int##N(x.even) * convert_int##N(y.even) + convert_int##N(x.odd) * convert_int##N(y.odd)); }
VTAC_DOT2(2, 4)
VTAC_DOT2(4, 8)
#if defined(__clang__) && defined(__AVX2__)
#define VTAC_PAIRS(N, B, I) \
    typedef union { int##N i; short s __attribute__((vector_size(B))); int w __attribute__((vector_size(B))); } vtac_pair##N; \
    static inline int##N vtac_dot2##N(int##N c, int##N a, int##N b) { \
    const vtac_pair##N x = {.i = a}, y = {.i = b}, z = {.w = I(x.s, y.s)}; return c + z.i; }
VTAC_PAIRS(8, 32, __builtin_ia32_pmaddwd256)
#else
VTAC_DOT2(8, 16)
#endif

#define VTAC_TWICE(F, N, M) static inline int##N F##N(int##N c, int##N a, int##N b) { \
    return (int##N)(F##M(c.lo, a.lo, b.lo), F##M(c.hi, a.hi, b.hi)); }
VTAC_TWICE(vtac_dot2, 16, 8)

#if defined(cl_khr_integer_dot_product) || defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#define VTAC_PACKED(F, D) static inline int F(int c, int a, int b) { return c + D(as_uint(a), as_uint(b)); } \
    VTAC_TWICE(F, 2, ) VTAC_TWICE(F, 4, 2) VTAC_TWICE(F, 8, 4) VTAC_TWICE(F, 16, 8)
VTAC_PACKED(vtac_dot4, dot_4x8packed_us_int)
VTAC_PACKED(vtac_sdot4, dot_4x8packed_ss_int)
#else
#define VTAC_DOTS(N, M) \
    static inline int##N vtac_even##N(int##N x) { \
    return as_int##N((as_short##M(x) << (short##M)(8)) >> (short##M)(8)); } \
    static inline int##N vtac_odd##N(int##N x) { return as_int##N(as_short##M(x) >> (short##M)(8)); } \
    static inline int##N vtac_sdot4##N(int##N c, int##N a, int##N b) { \
    return vtac_dot2##N(vtac_dot2##N(c, vtac_even##N(a), vtac_even##N(b)), vtac_odd##N(a), vtac_odd##N(b)); }
VTAC_DOTS(, 2)
VTAC_DOTS(2, 4)
VTAC_DOTS(4, 8)
VTAC_DOTS(8, 16)

#define VTAC_DOT4(N) \
    static inline int##N vtac_dot4##N(int##N c, int##N a, int##N b) { \
    return vtac_dot2##N(vtac_dot2##N(c, a & 0xff00ff, vtac_even##N(b)), (a >> 8) & 0xff00ff, vtac_odd##N(b)); }
VTAC_DOT4()
VTAC_DOT4(2)
VTAC_DOT4(4)
#if defined(__clang__) && (defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__)))
typedef union { int8 i; int w __attribute__((vector_size(32))); } vtac_words8;
static inline int8 vtac_dot48(int8 c, int8 a, int8 b) {
    const vtac_words8 s = {.i = c}, x = {.i = a}, y = {.i = b};
    const vtac_words8 z = {.w = __builtin_ia32_vpdpbusd256(s.w, x.w, y.w)};
    return z.i;
}
#else
VTAC_DOT4(8)
#endif
VTAC_TWICE(vtac_dot4, 16, 8)
VTAC_TWICE(vtac_sdot4, 16, 8)
#endif

#define VTAC_BFLOATS(T, U, N) \
    static inline T##N vtac_bfloat##N(float##N x) { \
    uint##N u = as_uint##N(x); \
    uint##N r = (u + ((u >> 16) & 1) + 0x7fff) >> 16; \
    return convert_##T##N((u & 0x7fffffff) > 0x7f800000 ? (u | 0x400000) >> 16 : r); }
VTAC_EACH(VTAC_BFLOATS, ushort, )

// One operation on halves, where the device computes with them as IEEE 754 says (the runtime then sets VTAC_HAS_HALVES); else on floats, of
// which the store makes the same half.
#ifdef VTAC_HAS_HALVES
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define VTAC_HALF_OF(N, F, O) static inline float##N vtac_half_##F##N(float##N a, float##N b) { \
    return convert_float##N(convert_half##N(a) O convert_half##N(b)); }
#else
#define VTAC_HALF_OF(N, F, O) static inline float##N vtac_half_##F##N(float##N a, float##N b) { return a O b; }
#endif
#define VTAC_HALF(T, U, N) VTAC_HALF_OF(N, add, +) VTAC_HALF_OF(N, sub, -) VTAC_HALF_OF(N, mul, *)
VTAC_EACH(VTAC_HALF, , )
