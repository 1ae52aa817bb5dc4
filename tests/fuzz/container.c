/* SPDX-License-Identifier: Apache-2.0
 *
 * Program files. An input that starts with the magic is read as it is, and once more with its size and
 * checksum put right, so that what lies behind them is reached. Any other input is assembler text, whose
 * program file is read back, then damaged in places that follow from the text.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "rng.h"
#include "vta/program.h"

/* The head of a file as isa/src/program_file.c describes it. */
enum { AT_SIZE = 16, AT_CHECKSUM = 24, AT_BODY = 32, DAMAGES = 24 };

static void put64(uint8_t *p, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        p[i] = (uint8_t)(value >> (8 * i));
    }
}

static void repair(uint8_t *bytes, size_t size)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = AT_BODY; i < size; i++) {
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    if (size >= AT_BODY) {
        put64(bytes + AT_SIZE, size);
        put64(bytes + AT_CHECKSUM, sum);
    }
}

/* Reads; what is accepted must survive being written and printed. */
static void read_file(const uint8_t *bytes, size_t size)
{
    vta_program program;
    vta_diag diag = {0};
    const vta_status status = vta_program_read(bytes, size, "fuzz", &program, &diag);
    FUZZ_REQUIRE((status == VTA_OK) == (diag.text[0] == '\0'));
    if (status != VTA_OK) {
        return;
    }
    char line[64];
    for (uint32_t i = 0; i < program.insn_count; i++) {
        vta_insn_print(&program.config, program.insns[i], line, sizeof line);
        FUZZ_REQUIRE(memchr(line, '\0', sizeof line) != NULL);
    }
    for (uint32_t segment = 0; segment < VTA_SEGMENTS; segment++) {
        (void)vta_program_segment_size(&program, segment);
    }
    uint8_t *written = NULL;
    size_t written_size = 0;
    vta_program again;
    FUZZ_REQUIRE(vta_program_write(&program, &written, &written_size, &diag) == VTA_OK);
    FUZZ_REQUIRE(vta_program_read(written, written_size, "again", &again, &diag) == VTA_OK);
    FUZZ_REQUIRE(again.insn_count == program.insn_count && again.symbol_count == program.symbol_count);
    char *text = NULL;
    if (vta_disassemble(&program, &text, NULL) == VTA_OK) {
        free(text);
    }
    free(written);
    vta_program_free(&again);
    vta_program_free(&program);
}

static void damage_file(uint8_t *bytes, size_t size, uint64_t seed)
{
    rng r = {seed};
    for (int n = 0; n < DAMAGES && size > AT_BODY; n++) {
        uint8_t *copy = malloc(size);
        if (copy == NULL) {
            return;
        }
        memcpy(copy, bytes, size);
        const uint32_t changes = 1 + rng_below(&r, 3);
        for (uint32_t c = 0; c < changes; c++) {
            copy[rng_below(&r, (uint32_t)size)] = (uint8_t)rng_next(&r);
        }
        const size_t kept = rng_percent(&r, 20) ? AT_BODY + rng_below(&r, (uint32_t)(size - AT_BODY)) : size;
        repair(copy, kept);
        read_file(copy, kept);
        free(copy);
    }
}

static void from_text(const uint8_t *data, size_t size)
{
    vta_config config;
    vta_program program;
    vta_config_default(&config);
    if (vta_assemble((const char *)data, size, "fuzz", &config, &program, NULL) != VTA_OK) {
        return;
    }
    uint8_t *bytes = NULL;
    size_t written = 0;
    FUZZ_REQUIRE(vta_program_write(&program, &bytes, &written, NULL) == VTA_OK);
    vta_program again;
    FUZZ_REQUIRE(vta_program_read(bytes, written, "again", &again, NULL) == VTA_OK);
    vta_program_free(&again);
    uint64_t seed = size;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 31 + data[i];
    }
    damage_file(bytes, written, seed);
    free(bytes);
    vta_program_free(&program);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size < 8 || memcmp(data, "VTAPROG", 8) != 0) {
        from_text(data, size);
        return;
    }
    read_file(data, size);
    uint8_t *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, data, size);
        repair(copy, size);
        read_file(copy, size);
        free(copy);
    }
}
