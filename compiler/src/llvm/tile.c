/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles (AMX): registers of 16 rows of 64 bytes, whose products of bytes are summed as 32-bit numbers. Linux
 * gives them to a process that asks, and may refuse: then the kernel goes another way. A kernel asks each
 * time it begins, since nothing of it is kept from run to run.
 */
#include "emit.h"

enum {
    ROWS = 16,
    ROW_BYTES = 64,
    TILE_COUNT = 8,
    ARCH_PRCTL = 158,
    REQUEST_PERMISSION = 0x1023,
    TILE_DATA = 18
};

static LLVMValueRef byte_of(const vtac_emitter *em, uint64_t value)
{
    return LLVMConstInt(LLVMInt8TypeInContext(em->context), value, 0);
}

static LLVMValueRef long_of(const vtac_emitter *em, uint64_t value)
{
    return LLVMConstInt(LLVMInt64TypeInContext(em->context), value, 0);
}

static void call_intrinsic(vtac_emitter *em, const char *name, LLVMValueRef *args, unsigned count)
{
    (void)vtac_llvm_intrinsic(em, name, NULL, 0, args, count);
}

static LLVMValueRef ask_system(vtac_emitter *em)
{
    static const char code[] = "syscall";
    static const char places[] = "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}";
    LLVMTypeRef i64 = LLVMInt64TypeInContext(em->context);
    LLVMTypeRef types[] = {i64, i64, i64};
    LLVMTypeRef type = LLVMFunctionType(i64, types, 3, 0);
    LLVMValueRef words =
        LLVMGetInlineAsm(type, (char *)(uintptr_t)code, sizeof code - 1, (char *)(uintptr_t)places,
                         sizeof places - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef args[] = {long_of(em, ARCH_PRCTL), long_of(em, REQUEST_PERMISSION), long_of(em, TILE_DATA)};
    return LLVMBuildCall2(em->builder, type, words, args, 3, "");
}

/* Configuration of all eight tile registers: palette 1, bytes of a row in 16 bits from byte 16 on, rows from
 * byte 48 on. */
static LLVMValueRef tile_configuration(vtac_emitter *em)
{
    static const char name[] = "tile_configuration";
    LLVMValueRef known = LLVMGetNamedGlobal(em->module, name);
    if (known != NULL) {
        return known;
    }
    LLVMValueRef bytes[64];
    for (unsigned i = 0; i < 64; i++) {
        bytes[i] = byte_of(em, 0);
    }
    bytes[0] = byte_of(em, 1);
    for (unsigned i = 0; i < TILE_COUNT; i++) {
        bytes[16 + 2 * i] = byte_of(em, ROW_BYTES);
        bytes[48 + i] = byte_of(em, ROWS);
    }
    LLVMTypeRef type = LLVMInt8TypeInContext(em->context);
    LLVMValueRef global = LLVMAddGlobal(em->module, LLVMArrayType(type, 64), name);
    LLVMSetInitializer(global, LLVMConstArray(type, bytes, 64));
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, 64);
    return global;
}

/* Calls a function of the tile unit where the processor has one. The code after the call continues in a block
 * that both branches reach. */
static void if_tiles(vtac_emitter *em, const char *name, LLVMValueRef *args, unsigned count)
{
    LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(em->context, em->function, "tiles");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(em->context, em->function, "after");
    LLVMBuildCondBr(em->builder, em->tiles, then, after);
    LLVMPositionBuilderAtEnd(em->builder, then);
    call_intrinsic(em, name, args, count);
    LLVMBuildBr(em->builder, after);
    LLVMPositionBuilderAtEnd(em->builder, after);
}

void vtac_emit_tiles_begin(vtac_emitter *em)
{
    em->tiles = LLVMBuildICmp(em->builder, LLVMIntEQ, ask_system(em), long_of(em, 0), "");
    LLVMValueRef args[] = {tile_configuration(em)};
    if_tiles(em, "llvm.x86.ldtilecfg", args, 1);
}

void vtac_emit_tiles_end(vtac_emitter *em)
{
    if_tiles(em, "llvm.x86.tilerelease", NULL, 0);
}

/* A register from, or to, memory. */
static void move_tile(vtac_emitter *em, const char *name, unsigned tile, LLVMValueRef base, uint64_t offset,
                      uint64_t stride)
{
    LLVMValueRef by = long_of(em, offset);
    LLVMValueRef at = LLVMBuildGEP2(em->builder, LLVMInt8TypeInContext(em->context), base, &by, 1, "");
    LLVMValueRef args[] = {byte_of(em, tile), at, long_of(em, stride)};
    call_intrinsic(em, name, args, 3);
}

/* Registers 0 to 3 hold the sums, two rows of two; 4 and 5 the left operand, 6 and 7 the right one. */
static void step_product(vtac_emitter *em, LLVMValueRef left, LLVMValueRef right, uint64_t row_bytes)
{
    for (unsigned i = 0; i < 2; i++) {
        move_tile(em, "llvm.x86.tileloadd64", 4 + i, left, i * ROWS * row_bytes, row_bytes);
        move_tile(em, "llvm.x86.tileloadd64", 6 + i, right, (uint64_t)i * ROW_BYTES, 2 * ROW_BYTES);
    }
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef args[] = {byte_of(em, i), byte_of(em, 4 + i / 2), byte_of(em, 6 + i % 2)};
        call_intrinsic(em, "llvm.x86.tdpbusd", args, 3);
    }
}

static LLVMValueRef address_at(vtac_emitter *em, LLVMValueRef base, LLVMValueRef i, uint64_t bytes)
{
    LLVMValueRef by = LLVMBuildMul(em->builder, i, long_of(em, bytes), "");
    return LLVMBuildGEP2(em->builder, LLVMInt8TypeInContext(em->context), base, &by, 1, "");
}

void vtac_emit_tile(vtac_emitter *em, LLVMValueRef to, LLVMValueRef *from, int64_t words)
{
    LLVMBuilderRef b = em->builder;
    const uint64_t row_bytes = 4 * (uint64_t)words;
    for (unsigned i = 0; i < 4; i++) {
        move_tile(em, "llvm.x86.tileloadd64", i, from[0], (uint64_t)(i % 2) * ROW_BYTES, 0);
    }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(em->context, em->function, "tile");
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(em->context, em->function, "after");
    LLVMBuildBr(b, body);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef i = LLVMBuildPhi(b, LLVMInt64TypeInContext(em->context), "i");
    LLVMValueRef zero = long_of(em, 0);
    LLVMAddIncoming(i, &zero, &before, 1);
    step_product(em, address_at(em, from[1], i, ROW_BYTES),
                 address_at(em, from[2], i, (uint64_t)2 * ROWS * ROW_BYTES), row_bytes);
    LLVMValueRef next = LLVMBuildAdd(b, i, long_of(em, 1), "");
    LLVMAddIncoming(i, &next, &body, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, long_of(em, (uint64_t)words / 16), ""), body,
                    after);
    LLVMPositionBuilderAtEnd(b, after);
    for (unsigned t = 0; t < 4; t++) {
        move_tile(em, "llvm.x86.tilestored64", t, to,
                  (uint64_t)(t / 2) * ROWS * 2 * ROW_BYTES + (t % 2) * ROW_BYTES, 2 * ROW_BYTES);
    }
}
