/* SPDX-License-Identifier: Apache-2.0
 *
 * A program as a thing to keep: instructions, the DRAM segments that they need, names for both, and the
 * results that are expected. The assembler makes one, a file holds one, `vtac exec` runs one.
 */
#ifndef VTA_PROGRAM_H
#define VTA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/isa.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A named piece of a segment. */
typedef struct vta_symbol {
    char *name; /* see vta_name_is_legal */
    uint32_t segment;
    vta_memory memory; /* whose element size the text uses for it */
    uint64_t offset;   /* bytes from the start of the segment, a multiple of the element size */
    uint64_t size;     /* bytes */
    uint8_t *data;     /* initial contents, `size` bytes; NULL: zero */
    uint8_t *expect;   /* contents expected after the run, `size` bytes; NULL: not checked */
} vta_symbol;

typedef struct vta_program {
    vta_config config; /* what it was written for */
    vta_word *insns;
    uint32_t *lines; /* source line of each instruction, or NULL */
    uint32_t *tags;  /* a number on each instruction, for profiles; NULL: all 0 */
    uint32_t insn_count;
    vta_symbol *symbols;
    uint32_t symbol_count;
} vta_program;

/* Assembles a text. `what` names it in messages ("file.vasm:12: …"). `config` is used unless the text has a
 * .config line. */
vta_status vta_assemble(const char *text, size_t size, const char *what, const vta_config *config,
                        vta_program *out, vta_diag *diag);

/* Disassembles into a fresh string (owned: free()) that assembles back to the same bits. */
vta_status vta_disassemble(const vta_program *program, char **text, vta_diag *diag);

/* One instruction as a line of text, without a newline; always terminated. */
void vta_insn_print(const vta_config *config, vta_word word, char *text, size_t size);

/* The container file: magic "VTAPROG\0", version, configuration, symbols, instructions, checksum. */
vta_status vta_program_write(const vta_program *program, uint8_t **bytes, size_t *size, vta_diag *diag);
vta_status vta_program_read(const uint8_t *bytes, size_t size, const char *what, vta_program *out,
                            vta_diag *diag);

/* May a symbol be called so? 1 to 200 bytes, no quotation mark, no control character. */
bool vta_name_is_legal(const char *name);

/* Bytes of segment `segment` that the program's symbols need. */
uint64_t vta_program_segment_size(const vta_program *program, uint32_t segment);

const vta_symbol *vta_program_symbol(const vta_program *program, const char *name);

void vta_program_free(vta_program *program);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
