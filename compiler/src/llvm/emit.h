/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the LLVM back end: one module under construction. LLVM's headers are seen in this folder alone.
 */
#ifndef VTAC_LLVM_EMIT_H
#define VTAC_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "vtac/codegen.h"
#include "vtac/loop.h"

typedef struct vtac_emitter {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    const vtac_target *target;
    /* of the kernel at hand */
    const vtac_kernel *kernel;
    LLVMValueRef function;
    LLVMValueRef *vars;    /* by variable */
    uint8_t *even;         /* by variable: the logarithm of a power of two that divides it */
    LLVMValueRef *buffers; /* by place in the kernel's list */
    LLVMValueRef begin, end, scratch;
    LLVMValueRef step;        /* of the loop that is shared out; NULL: 1 */
    LLVMValueRef *arguments;  /* by number; NULL: the list that the function's first parameter points to */
    LLVMValueRef group, item; /* on a GPU: numbers of the work group, and of the item in it; else NULL */
    LLVMValueRef tiles;       /* whether they may be used, where the kernel asks for them */
    uint32_t lane_var;        /* of the vector loop around, or 0 */
    unsigned lanes;
    bool first_lane; /* the lane variable stands for lane 0 */
    bool failed;     /* out of memory, or an expression that has no form here: a bug */
} vtac_emitter;

/* Adds a kernel as function `symbol`; NULL where `failed` was set. */
LLVMValueRef vtac_emit_kernel(vtac_emitter *em, const vtac_kernel *kernel, const char *symbol);

/* Adds a kernel's loops to the function at hand, whose begin, end, step, scratch and arguments are known. */
void vtac_emit_body(vtac_emitter *em, const vtac_kernel *kernel);

/* Types: of a value in a register, and in memory. */
LLVMTypeRef vtac_llvm_type(const vtac_emitter *em, vtac_dtype dtype);
LLVMTypeRef vtac_llvm_memory_type(const vtac_emitter *em, vtac_dtype dtype);

/* The type of `like` (a scalar or vector) with another element. */
LLVMTypeRef vtac_llvm_like(LLVMValueRef like, LLVMTypeRef element);
unsigned vtac_llvm_lanes(LLVMValueRef value);
LLVMValueRef vtac_llvm_splat(vtac_emitter *em, LLVMValueRef scalar, unsigned lanes);

/* A call of an overloaded intrinsic; `types` are those that its name carries. */
LLVMValueRef vtac_llvm_intrinsic(vtac_emitter *em, const char *name, LLVMTypeRef *types, unsigned type_count,
                                 LLVMValueRef *args, unsigned arg_count);

/* Elementary functions of floats and doubles, scalars and vectors alike (math.c states their errors). */
LLVMValueRef vtac_emit_math(vtac_emitter *em, vtac_expr_op op, LLVMValueRef x, LLVMValueRef y);

/* v[0] + four u8 (or i8) in v[1] times four i8 in v[2], exact: words or vectors of them. */
LLVMValueRef vtac_emit_dot4(vtac_emitter *em, bool is_signed, LLVMValueRef *v);

/* v[0] + two i16 in v[1] times two i16 in v[2]: words or vectors of them. */
LLVMValueRef vtac_emit_dot2(vtac_emitter *em, LLVMValueRef *v);

/* Tiles: asks for them and sets them up, at the kernel's begin; lets them go, at its end; a product of
 * VTAC_TILE rows and columns, from the addresses of its start, its left and its right operand to `to`. */
void vtac_emit_tiles_begin(vtac_emitter *em);
void vtac_emit_tiles_end(vtac_emitter *em);
void vtac_emit_tile(vtac_emitter *em, LLVMValueRef to, LLVMValueRef *from, int64_t words);

/* Four rows of bytes, one behind the other: word i has the i-th of each, the first row's lowest. */
LLVMValueRef vtac_emit_words(vtac_emitter *em, LLVMValueRef bytes);

/* An index that moves by `down` for each lane % rows and by `across` for each lane / rows; lane % rows counts
 * up to `last` alone, where that is not negative. */
typedef struct vtac_transpose {
    int64_t rows, down, across, last;
} vtac_transpose;
/* False where the index is not like that, or has one part alone. */
bool vtac_llvm_transpose_of(const vtac_expr *index, uint32_t lane, unsigned lanes, vtac_transpose *out);
/* The first elements of all rows, the second ones, and so on; `count` is a power of two, `rows` is used up.
 */
LLVMValueRef vtac_llvm_transpose_rows(vtac_emitter *em, LLVMValueRef *rows, unsigned count);
/* True if the target's vectors can transpose rows of words, `columns` elements each, word by word. */
bool vtac_llvm_transposes_words(const vtac_emitter *em, unsigned rows, unsigned columns, unsigned bits);
LLVMValueRef vtac_llvm_transpose_words(vtac_emitter *em, const LLVMValueRef *rows, unsigned count,
                                       unsigned columns);
/* Vectors of one type, as many as a power of two, as one. */
LLVMValueRef vtac_llvm_joined(vtac_emitter *em, LLVMValueRef *v, unsigned count);
/* Some neighbouring lanes. */
LLVMValueRef vtac_llvm_vector_part(vtac_emitter *em, LLVMValueRef all, unsigned first, unsigned count);

/* Floats to a wider type. On a GPU lane by lane: LLVM 19 prints a load of floats that are widened as a load
 * of doubles, which the assembler refuses. */
LLVMValueRef vtac_emit_extend(vtac_emitter *em, LLVMValueRef x, LLVMTypeRef element);

/* f16 and bf16 bits (i16) to float, and back with rounding to nearest even. */
LLVMValueRef vtac_emit_widen(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef bits);
LLVMValueRef vtac_emit_narrow(vtac_emitter *em, vtac_dtype dtype, LLVMValueRef value);

/* Floats rounded to whole ones: "llvm.rint", "llvm.floor", "llvm.ceil", "llvm.trunc". Where the processor has
 * no instruction for it, by arithmetic: a library would be called for each element of a vector. */
LLVMValueRef vtac_emit_round(vtac_emitter *em, const char *how, LLVMValueRef x);

/* Vectors of floats to whole numbers: truncated and saturated, NaN gives 0. Fixed: times 2^bits, 1 to 32, in
 * an instruction of ARM's vectors; NULL where these have none. */
LLVMValueRef vtac_emit_whole(vtac_emitter *em, vtac_dtype from, vtac_dtype to, LLVMValueRef x);
LLVMValueRef vtac_emit_fixed(vtac_emitter *em, vtac_dtype from, vtac_dtype to, LLVMValueRef x, unsigned bits);

#endif
