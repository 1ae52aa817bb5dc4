/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors that turn a small matrix. Where the lanes of a loop go through an index in two parts, lane % rows
 * and lane / rows, neighbours along one part lie side by side in memory: they come and go by whole vectors,
 * and shuffles do the rest.
 */
#include "emit.h"

enum { MAX_LANES = 1024 };

/* Adds a term. False: the terms do not agree on the number of rows. */
static bool add_part(vtac_transpose *t, int64_t rows, int64_t last)
{
    if ((t->rows != 0 && t->rows != rows) || (last >= 0 && t->last >= 0 && t->last != last)) {
        return false;
    }
    t->rows = rows;
    t->last = last >= 0 ? last : t->last;
    return true;
}

static bool is_part_of(const vtac_expr *e, vtac_expr_op op, uint32_t lane)
{
    return e->op == op && e->in[0]->op == VTAC_E_VAR && e->in[0]->var == lane && e->in[1]->op == VTAC_E_INT &&
           e->in[1]->i > 0;
}

/* Adds `times` the expression. */
static bool add_terms(const vtac_expr *e, uint32_t lane, int64_t times, vtac_transpose *t)
{
    if (!vtac_expr_uses(e, lane)) {
        return true;
    }
    if (e->op == VTAC_E_ADD || e->op == VTAC_E_SUB) {
        return add_terms(e->in[0], lane, times, t) &&
               add_terms(e->in[1], lane, e->op == VTAC_E_ADD ? times : -times, t);
    }
    if (e->op == VTAC_E_MUL && e->in[1]->op == VTAC_E_INT) {
        return add_terms(e->in[0], lane, times * e->in[1]->i, t);
    }
    if (is_part_of(e, VTAC_E_DIV, lane)) {
        t->across += times;
        return add_part(t, e->in[1]->i, -1);
    }
    if (is_part_of(e, VTAC_E_REM, lane)) {
        t->down += times;
        return add_part(t, e->in[1]->i, -1);
    }
    if (e->op == VTAC_E_MIN && e->in[1]->op == VTAC_E_INT && is_part_of(e->in[0], VTAC_E_REM, lane)) {
        t->down += times;
        return add_part(t, e->in[0]->in[1]->i, e->in[1]->i);
    }
    return false;
}

bool vtac_llvm_transpose_of(const vtac_expr *index, uint32_t lane, unsigned lanes, vtac_transpose *out)
{
    *out = (vtac_transpose){.last = -1};
    return lanes <= MAX_LANES && add_terms(index, lane, 1, out) && out->rows > 1 && out->rows < lanes &&
           lanes % (unsigned)out->rows == 0;
}

static LLVMValueRef shuffle_vectors(vtac_emitter *em, LLVMValueRef a, LLVMValueRef b, const unsigned *from,
                                    unsigned count)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    LLVMValueRef mask[MAX_LANES];
    for (unsigned i = 0; i < count; i++) {
        mask[i] = LLVMConstInt(i32, from[i], 0);
    }
    return LLVMBuildShuffleVector(em->builder, a, b, LLVMConstVector(mask, count), "");
}

/* a0 b0 a1 b1 … */
static LLVMValueRef interleave_vectors(vtac_emitter *em, LLVMValueRef a, LLVMValueRef b)
{
    const unsigned count = vtac_llvm_lanes(a);
    unsigned from[MAX_LANES];
    for (unsigned i = 0; i < 2 * count; i++) {
        from[i] = i / 2 + i % 2 * count;
    }
    return shuffle_vectors(em, a, b, from, 2 * count);
}

LLVMValueRef vtac_llvm_transpose_rows(vtac_emitter *em, LLVMValueRef *rows, unsigned count)
{
    for (unsigned n = count / 2; n > 0; n /= 2) {
        for (unsigned i = 0; i < n; i++) {
            rows[i] = interleave_vectors(em, rows[i], rows[i + n]);
        }
    }
    return rows[0];
}

/* The even or the odd lanes of two vectors. */
static LLVMValueRef unzip_vectors(vtac_emitter *em, LLVMValueRef a, LLVMValueRef b, unsigned odd)
{
    const unsigned count = vtac_llvm_lanes(a);
    unsigned from[MAX_LANES];
    for (unsigned i = 0; i < count; i++) {
        from[i] = 2 * i + odd;
    }
    return shuffle_vectors(em, a, b, from, count);
}

LLVMValueRef vtac_llvm_joined(vtac_emitter *em, LLVMValueRef *v, unsigned count)
{
    unsigned from[MAX_LANES];
    for (; count > 1; count /= 2) {
        const unsigned lanes = 2 * vtac_llvm_lanes(v[0]);
        for (unsigned i = 0; i < lanes; i++) {
            from[i] = i;
        }
        for (unsigned i = 0; i < count / 2; i++) {
            v[i] = shuffle_vectors(em, v[2 * i], v[2 * i + 1], from, lanes);
        }
    }
    return v[0];
}

bool vtac_llvm_transposes_words(const vtac_emitter *em, unsigned rows, unsigned columns, unsigned bits)
{
    return em->target->has_neon && bits * columns == 32 && rows % 8 == 0 && rows * columns <= MAX_LANES;
}

LLVMValueRef vtac_llvm_transpose_words(vtac_emitter *em, const LLVMValueRef *rows, unsigned count,
                                       unsigned columns)
{
    enum { WORDS = 4 };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(em->context);
    LLVMTypeRef words = LLVMVectorType(i32, WORDS);
    LLVMTypeRef element = LLVMIntTypeInContext(em->context, 32 / columns);
    LLVMTypeRef elements = LLVMVectorType(element, WORDS * columns);
    LLVMValueRef v[MAX_LANES] = {NULL};
    LLVMValueRef next[MAX_LANES];
    const unsigned vectors = count / WORDS;
    for (unsigned i = 0; i < vectors; i++) {
        v[i] = LLVMGetPoison(words);
        for (unsigned lane = 0; lane < WORDS; lane++) {
            v[i] = LLVMBuildInsertElement(em->builder, v[i], rows[i * WORDS + lane],
                                          LLVMConstInt(i32, lane, 0), "");
        }
        v[i] = LLVMBuildBitCast(em->builder, v[i], elements, "");
    }
    for (unsigned n = columns; n > 1; n /= 2) {
        for (unsigned i = 0; i < vectors; i++) {
            next[i] = unzip_vectors(em, v[2 * i % vectors], v[2 * i % vectors + 1], 2 * i >= vectors);
        }
        for (unsigned i = 0; i < vectors; i++) {
            v[i] = next[i];
        }
    }
    return vtac_llvm_joined(em, v, vectors);
}

LLVMValueRef vtac_llvm_vector_part(vtac_emitter *em, LLVMValueRef all, unsigned first, unsigned count)
{
    unsigned from[MAX_LANES];
    for (unsigned i = 0; i < count; i++) {
        from[i] = first + i;
    }
    return shuffle_vectors(em, all, LLVMGetPoison(LLVMTypeOf(all)), from, count);
}
