/* SPDX-License-Identifier: Apache-2.0
 *
 * The large constants of an artifact. For LLVM they are zeros in sections of their own: as constants of a
 * module they would be held several times over while code is made. The numbers go straight into the object.
 */
#include "weights.h"

#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Object.h>

#include "vtac/partition.h"

LLVMValueRef vtac_reserve_section(LLVMModuleRef module, const char *section, uint64_t size,
                                  unsigned alignment)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(context), size);
    LLVMValueRef global = LLVMAddGlobal(module, type, strrchr(section, '.') + 1);
    LLVMSetInitializer(global, LLVMConstNull(type));
    LLVMSetGlobalConstant(global, 1);
    LLVMSetExternallyInitialized(global, 1); /* or its zeros would be taken for its contents */
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, alignment);
    LLVMSetSection(global, section);
    return global;
}

void vtac_host_constants(const vtac_program *program, uint8_t *to)
{
    for (size_t i = 1; i < program->storages.count; i++) {
        const vtac_storage *s = vta_vec_at(&program->storages, i);
        if (s->kind == VTAC_STORAGE_CONSTANT && s->used && s->bytes > 0) {
            memcpy(to + s->offset, s->data, s->bytes);
        }
    }
}

void vtac_device_constants(const vtac_program *program, uint8_t *to)
{
    for (uint32_t i = 0; i < program->partition->region_count; i++) {
        const vtac_region *region = &program->partition->regions[i];
        if (region->image.constant_bytes > 0) {
            memcpy(to + region->constant_offset, region->image.constants, region->image.constant_bytes);
        }
    }
}

/* The bytes of a section of the object behind `binary`; NULL: there is none of that name and size. */
static uint8_t *find_section(LLVMBinaryRef binary, const char *name, uint64_t size, uint8_t *object)
{
    uint8_t *found = NULL;
    LLVMSectionIteratorRef i = LLVMObjectFileCopySectionIterator(binary);
    for (; found == NULL && !LLVMObjectFileIsSectionIteratorAtEnd(binary, i); LLVMMoveToNextSection(i)) {
        const char *own = LLVMGetSectionName(i);
        if (own != NULL && strcmp(own, name) == 0 && LLVMGetSectionSize(i) == size) {
            found = object + (LLVMGetSectionContents(i) - (const char *)object);
        }
    }
    LLVMDisposeSectionIterator(i);
    return found;
}

vta_status vtac_fill_section(const vtac_program *program, const char *section, uint64_t size,
                             vtac_constants_fn *constants, uint8_t *object, size_t object_bytes,
                             vta_diag *diag)
{
    if (size == 0) {
        return VTA_OK;
    }
    char *message = NULL;
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange((const char *)object, object_bytes, "model", 0);
    LLVMBinaryRef binary = LLVMCreateBinary(buffer, context, &message);
    uint8_t *to = binary == NULL ? NULL : find_section(binary, section, size, object);
    const vta_status status =
        to == NULL ? vta_fail(diag, VTA_INVALID, "LLVM: no section %s in the object", section) : VTA_OK;
    if (to != NULL) {
        constants(program, to);
    }
    if (binary != NULL) {
        LLVMDisposeBinary(binary);
    }
    LLVMDisposeMessage(message);
    LLVMDisposeMemoryBuffer(buffer);
    LLVMContextDispose(context);
    return status;
}
