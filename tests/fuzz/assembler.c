/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembler text: refused with a sentence, or a program whose disassembly assembles to the same bits.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vta/program.h"

static void same(const vta_program *a, const vta_program *b)
{
    FUZZ_REQUIRE(a->insn_count == b->insn_count && a->symbol_count == b->symbol_count);
    FUZZ_REQUIRE(a->insn_count == 0 || memcmp(a->insns, b->insns, a->insn_count * sizeof *a->insns) == 0);
    for (uint32_t i = 0; i < a->symbol_count; i++) {
        const vta_symbol *x = &a->symbols[i];
        const vta_symbol *y = vta_program_symbol(b, x->name);
        FUZZ_REQUIRE(y != NULL && x->segment == y->segment && x->offset == y->offset && x->size == y->size);
        FUZZ_REQUIRE((x->data == NULL) == (y->data == NULL) && (x->expect == NULL) == (y->expect == NULL));
        FUZZ_REQUIRE(x->data == NULL || memcmp(x->data, y->data, x->size) == 0);
        FUZZ_REQUIRE(x->expect == NULL || memcmp(x->expect, y->expect, x->size) == 0);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    vta_config config;
    vta_program program;
    vta_diag diag = {0};
    vta_config_default(&config);
    const vta_status status = vta_assemble((const char *)data, size, "fuzz", &config, &program, &diag);
    FUZZ_REQUIRE((status == VTA_OK) == (diag.text[0] == '\0'));
    if (status != VTA_OK) {
        return;
    }
    char *text = NULL;
    FUZZ_REQUIRE(vta_disassemble(&program, &text, &diag) == VTA_OK);
    vta_program again;
    FUZZ_REQUIRE(vta_assemble(text, strlen(text), "again", &config, &again, &diag) == VTA_OK);
    same(&program, &again);
    free(text);
    vta_program_free(&again);
    vta_program_free(&program);
}
