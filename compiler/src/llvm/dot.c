/* SPDX-License-Identifier: Apache-2.0
 *
 * Four products of bytes, or two of 16-bit numbers, added to a word. Every form is exact: pmaddubsw, which
 * saturates, is not among them.
 */
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "target.h"

typedef struct dot_maker {
    vtac_emitter *em;
    LLVMBuilderRef b;
    unsigned lanes;
    bool is_signed; /* both operands are */
} dot_maker;

static LLVMValueRef constant_words(const dot_maker *m, uint32_t value)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->em->context);
    return vtac_llvm_splat(m->em, LLVMConstInt(i32, value, 0), m->lanes);
}

static LLVMValueRef split_halves(const dot_maker *m, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMVectorType(LLVMInt16TypeInContext(m->em->context), 2 * m->lanes);
    return LLVMBuildBitCast(m->b, value, type, "");
}

/* Bytes 0 and 2 (or 1 and 3) of each word as 16-bit numbers. */
static LLVMValueRef widen_bytes(const dot_maker *m, LLVMValueRef value, bool odd, bool is_signed)
{
    LLVMTypeRef i16 = LLVMInt16TypeInContext(m->em->context);
    LLVMValueRef eight = vtac_llvm_splat(m->em, LLVMConstInt(i16, 8, 0), 2 * m->lanes);
    LLVMValueRef h = split_halves(m, value);
    if (!odd) {
        h = LLVMBuildShl(m->b, h, eight, "");
    }
    return is_signed ? LLVMBuildAShr(m->b, h, eight, "") : LLVMBuildLShr(m->b, h, eight, "");
}

/* Dot product by products of 16-bit pairs. */
static LLVMValueRef by_pairs(const dot_maker *m, const char *name, LLVMValueRef *v)
{
    LLVMValueRef sum = v[0];
    for (int odd = 0; odd < 2; odd++) {
        LLVMValueRef args[] = {widen_bytes(m, v[1], odd != 0, m->is_signed),
                               widen_bytes(m, v[2], odd != 0, true)};
        sum = LLVMBuildAdd(m->b, sum, vtac_llvm_intrinsic(m->em, name, NULL, 0, args, 2), "");
    }
    return sum;
}

static LLVMValueRef plain_dot(const dot_maker *m, LLVMValueRef *v)
{
    LLVMValueRef sum = v[0];
    for (uint32_t i = 0; i < 4; i++) {
        LLVMValueRef up = constant_words(m, 24 - 8 * i);
        LLVMValueRef down = constant_words(m, 24);
        LLVMValueRef x = LLVMBuildShl(m->b, v[1], up, "");
        x = m->is_signed ? LLVMBuildAShr(m->b, x, down, "") : LLVMBuildLShr(m->b, x, down, "");
        LLVMValueRef w = LLVMBuildAShr(m->b, LLVMBuildShl(m->b, v[2], up, ""), down, "");
        sum = LLVMBuildAdd(m->b, sum, LLVMBuildMul(m->b, x, w, ""), "");
    }
    return sum;
}

/* The instructions of x86, by the bytes of the vector. */
static const struct {
    unsigned bytes;
    const char *dot, *pairs;
} x86[] = {{16, "llvm.x86.avx512.vpdpbusd.128", "llvm.x86.sse2.pmadd.wd"},
           {32, "llvm.x86.avx512.vpdpbusd.256", "llvm.x86.avx2.pmadd.wd"},
           {64, "llvm.x86.avx512.vpdpbusd.512", "llvm.x86.avx512.pmaddw.d.512"}};

LLVMValueRef vtac_emit_dot2(vtac_emitter *em, LLVMValueRef *v)
{
    const dot_maker m = {em, em->builder, vtac_llvm_lanes(v[0]), true};
    const bool is_x86 = strncmp(em->target->triple, "x86_64", 6) == 0;
    const char *name = em->target->is_wasm && m.lanes == 4 ? "llvm.wasm.dot" : NULL;
    for (size_t i = 0; is_x86 && i < sizeof x86 / sizeof x86[0]; i++) {
        name = x86[i].bytes == 4 * m.lanes && x86[i].bytes <= em->target->vector_bytes ? x86[i].pairs : name;
    }
    if (name != NULL) {
        LLVMValueRef args[] = {split_halves(&m, v[1]), split_halves(&m, v[2])};
        return LLVMBuildAdd(m.b, v[0], vtac_llvm_intrinsic(em, name, NULL, 0, args, 2), "");
    }
    LLVMValueRef half = constant_words(&m, 16);
    LLVMValueRef high =
        LLVMBuildMul(m.b, LLVMBuildAShr(m.b, v[1], half, ""), LLVMBuildAShr(m.b, v[2], half, ""), "");
    LLVMValueRef x = LLVMBuildAShr(m.b, LLVMBuildShl(m.b, v[1], half, ""), half, "");
    LLVMValueRef w = LLVMBuildAShr(m.b, LLVMBuildShl(m.b, v[2], half, ""), half, "");
    return LLVMBuildAdd(m.b, LLVMBuildAdd(m.b, v[0], high, ""), LLVMBuildMul(m.b, x, w, ""), "");
}

/* sdot of NEON. */
static LLVMValueRef by_signed_dot(const dot_maker *m, LLVMValueRef *v)
{
    LLVMTypeRef bytes = LLVMVectorType(LLVMInt8TypeInContext(m->em->context), 4 * m->lanes);
    LLVMTypeRef types[] = {LLVMTypeOf(v[0]), bytes};
    LLVMValueRef args[] = {v[0], LLVMBuildBitCast(m->b, v[1], bytes, ""),
                           LLVMBuildBitCast(m->b, v[2], bytes, "")};
    return vtac_llvm_intrinsic(m->em, "llvm.aarch64.neon.sdot", types, 2, args, 3);
}

/* dp4a of NVIDIA, word by word: LLVM has no intrinsic for it. */
static LLVMValueRef by_dp4a(const dot_maker *m, LLVMValueRef *v)
{
    static const char constraints[] = "=r,r,r,r";
    const char *text = m->is_signed ? "dp4a.s32.s32 $0, $1, $2, $3;" : "dp4a.u32.s32 $0, $1, $2, $3;";
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->em->context);
    LLVMTypeRef type = LLVMFunctionType(i32, (LLVMTypeRef[]){i32, i32, i32}, 3, 0);
    LLVMValueRef instruction = LLVMGetInlineAsm(type, text, strlen(text), constraints, sizeof constraints - 1,
                                                0, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef all = LLVMGetPoison(LLVMTypeOf(v[0]));
    for (unsigned i = 0; i < m->lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(i32, i, 0);
        LLVMValueRef words[3] = {v[1], v[2], v[0]};
        for (int k = 0; k < 3 && m->lanes > 1; k++) {
            words[k] = LLVMBuildExtractElement(m->b, words[k], lane, "");
        }
        LLVMValueRef sum = LLVMBuildCall2(m->b, type, instruction, words, 3, "");
        all = m->lanes > 1 ? LLVMBuildInsertElement(m->b, all, sum, lane, "") : sum;
    }
    return all;
}

LLVMValueRef vtac_emit_dot4(vtac_emitter *em, bool is_signed, LLVMValueRef *v)
{
    const dot_maker m = {em, em->builder, vtac_llvm_lanes(v[0]), is_signed};
    if (vtac_target_is(em->target, "nvptx64")) {
        return by_dp4a(&m, v);
    }
    const bool is_x86 = strncmp(em->target->triple, "x86_64", 6) == 0;
    for (size_t i = 0; is_x86 && i < sizeof x86 / sizeof x86[0]; i++) {
        if (x86[i].bytes == 4 * m.lanes && x86[i].bytes <= em->target->vector_bytes) {
            return em->target->has_vnni && !em->target->dots_by_pairs && !is_signed
                       ? vtac_llvm_intrinsic(em, x86[i].dot, NULL, 0, v, 3)
                       : by_pairs(&m, x86[i].pairs, v);
        }
    }
    return is_signed && em->target->has_signed_dot && m.lanes == 4 ? by_signed_dot(&m, v) : plain_dot(&m, v);
}

LLVMValueRef vtac_emit_words(vtac_emitter *em, LLVMValueRef bytes)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    const unsigned count = vtac_llvm_lanes(bytes);
    const unsigned words = count / 4;
    LLVMValueRef from[4 * 64];
    for (unsigned i = 0; i < count && i < 4 * 64; i++) {
        from[i] = LLVMConstInt(i32, i % 4 * words + i / 4, 0);
    }
    LLVMValueRef nothing = LLVMGetPoison(LLVMTypeOf(bytes));
    bytes = LLVMBuildShuffleVector(em->builder, bytes, nothing, LLVMConstVector(from, count), "");
    return LLVMBuildBitCast(em->builder, bytes, LLVMVectorType(i32, words), "");
}
