/* SPDX-License-Identifier: Apache-2.0
 *
 * cpuid_patch FILE...: makes each CPUID instruction in x86-64 ELF files an undefined one (UD2, of the same
 * length), which cpuid_mask.c answers, and prints how many there were. The files are changed in place: they
 * are copies. Two bytes are an instruction if disassembly from most of the places before them comes upon
 * them: x86 code falls into step after a few instructions, wherever one begins.
 */
#include <elf.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 32, NEAREST = 64 }; /* places tried, and how far before the bytes the last of them is */

/* True if disassembly from byte `at` of `end` meets an instruction at byte `wanted`. */
static bool meets(LLVMDisasmContextRef d, uint8_t *code, size_t at, size_t wanted, size_t end)
{
    char text[64];
    while (at < wanted) {
        const size_t bytes = LLVMDisasmInstruction(d, code + at, end - at, at, text, sizeof text);
        at += bytes > 0 ? bytes : 1;
    }
    return at == wanted;
}

static bool is_instruction(LLVMDisasmContextRef d, uint8_t *code, size_t wanted, size_t end)
{
    int votes = 0;
    for (size_t i = 0; i < STARTS; i++) {
        const size_t before = NEAREST + i;
        votes += meets(d, code, wanted > before ? wanted - before : 0, wanted, end);
    }
    return votes > STARTS / 2;
}

static unsigned patch_segment(LLVMDisasmContextRef d, uint8_t *code, size_t bytes)
{
    unsigned count = 0;
    for (size_t i = 0; i + 1 < bytes; i++) {
        if (code[i] == 0x0f && code[i + 1] == 0xa2 && is_instruction(d, code, i, bytes)) {
            code[i + 1] = 0x0b;
            count++;
        }
    }
    return count;
}

static bool is_x86_elf(const uint8_t *data, size_t bytes)
{
    const Elf64_Ehdr *head = (const void *)data;
    return bytes >= sizeof *head && memcmp(data, ELFMAG, SELFMAG) == 0 && data[EI_CLASS] == ELFCLASS64 &&
           head->e_machine == EM_X86_64 && head->e_phoff <= bytes &&
           head->e_phnum <= (bytes - head->e_phoff) / sizeof(Elf64_Phdr);
}

static unsigned patch(LLVMDisasmContextRef d, uint8_t *data, size_t bytes)
{
    const Elf64_Ehdr *head = (const void *)data;
    const Elf64_Phdr *segment = (const void *)(data + head->e_phoff);
    unsigned count = 0;
    for (int i = 0; i < head->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD && (segment[i].p_flags & PF_X) != 0 &&
            segment[i].p_offset <= bytes && segment[i].p_filesz <= bytes - segment[i].p_offset) {
            count += patch_segment(d, data + segment[i].p_offset, segment[i].p_filesz);
        }
    }
    return count;
}

static uint8_t *read_whole(FILE *file, size_t *bytes)
{
    if (fseek(file, 0, SEEK_END) != 0) {
        return NULL;
    }
    const long end = ftell(file);
    uint8_t *data = end > 0 ? malloc((size_t)end) : NULL;
    *bytes = (size_t)end;
    rewind(file);
    if (data != NULL && fread(data, 1, *bytes, file) != *bytes) {
        free(data);
        return NULL;
    }
    return data;
}

static int patch_file(LLVMDisasmContextRef d, const char *path, unsigned *count)
{
    FILE *file = fopen(path, "r+b");
    size_t bytes = 0;
    uint8_t *data = file != NULL ? read_whole(file, &bytes) : NULL;
    bool good = data != NULL;
    if (good && is_x86_elf(data, bytes)) {
        *count += patch(d, data, bytes);
        rewind(file);
        good = fwrite(data, 1, bytes, file) == bytes;
    }
    good = (file == NULL || fclose(file) == 0) && good;
    free(data);
    if (!good) {
        (void)fprintf(stderr, "cpuid_patch: cannot rewrite %s\n", path);
    }
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    LLVMDisasmContextRef d = LLVMCreateDisasm("x86_64-linux-gnu", NULL, 0, NULL, NULL);
    unsigned count = 0;
    int status = d == NULL;
    for (int i = 1; i < argc && status == 0; i++) {
        status = patch_file(d, argv[i], &count);
    }
    if (d != NULL) {
        LLVMDisasmDispose(d);
    }
    (void)printf("%u\n", count);
    return status;
}
