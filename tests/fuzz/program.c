/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw programs through the checker, the interpreter and fsim (judge.h). Input:
 *
 *   'R' config, then instructions of 16 bytes each     any bits
 *   config length seed[4], then damages of 6 bytes     a random legal program, damaged: kind, value, place[4]
 *
 * config: a shipped configuration by its number; plus 128: with functions on rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "judge.h"

enum { RAW_HEAD = 2, HEAD = 6, DAMAGE = 6, MAX_INSNS = 64, MAX_LENGTH = 24, WITH_ROWS = 128 };

static const double max_cost = 1e5; /* many small runs find more than few large ones */

static void choose_config(uint8_t which, vta_config *config)
{
    uint32_t count = 0;
    const char *const *names = vta_config_names(&count);
    FUZZ_REQUIRE(vta_config_load(names[which % WITH_ROWS % count], config, NULL) == VTA_OK);
    config->rows = which / WITH_ROWS;
}

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void run(const progen_program *program)
{
    uint8_t *initial = malloc(program->arena_size);
    judgement j;
    if (initial != NULL) {
        progen_fill(program, 1, initial);
        const bool agree = judge(program, initial, program->arena_size, max_cost, &j);
        if (!agree) {
            (void)fprintf(stderr, "%s: %s\n", program->config.name, j.text);
            for (uint32_t i = 0; i < program->insn_count; i++) {
                char line[256];
                vta_insn_print(&program->config, program->insns[i], line, sizeof line);
                (void)fprintf(stderr, "%5u  %s\n", i, line);
            }
            FUZZ_REQUIRE(agree);
        }
    }
    free(initial);
}

/* The memory of a generated program, other instructions. */
static void raw(const uint8_t *data, size_t size)
{
    vta_config config;
    progen_program program;
    choose_config(data[1], &config);
    if (progen_make(&config, 1, MAX_INSNS, &program, NULL) != VTA_OK) {
        return;
    }
    const size_t fits = (size - RAW_HEAD) / VTA_INSN_BYTES;
    program.insn_count = (uint32_t)(fits < MAX_INSNS ? fits : MAX_INSNS);
    for (uint32_t i = 0; i < program.insn_count; i++) {
        const uint8_t *p = data + RAW_HEAD + (size_t)VTA_INSN_BYTES * i;
        program.insns[i].w[0] = get32(p) | (uint64_t)get32(p + 4) << 32;
        program.insns[i].w[1] = get32(p + 8) | (uint64_t)get32(p + 12) << 32;
    }
    run(&program);
    progen_free(&program);
}

static void damage(progen_program *program, uint8_t kind, uint8_t value, uint32_t place)
{
    if (program->insn_count < 2) {
        return;
    }
    const uint32_t at = place / 128 % program->insn_count;
    const uint32_t bit = place % 128;
    vta_word *insns = program->insns;
    switch (kind % 6) {
    case 0: insns[at].w[bit / 64] ^= UINT64_C(1) << (bit % 64); break;
    case 1: insns[at].w[bit / 64] ^= (uint64_t)value << (bit % 56); break;
    case 2: program->uops[place / 32 % 256] ^= UINT32_C(1) << (place % 32); break;
    case 3: insns[at].w[0] ^= (uint64_t)(value & 15) << 3; break;
    case 4: insns[at] = insns[value % program->insn_count]; break;
    default:
        memmove(&insns[at], &insns[at + 1], (program->insn_count - at - 1) * sizeof *insns);
        program->insn_count--;
        break;
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size >= RAW_HEAD && data[0] == 'R') {
        raw(data, size);
        return;
    }
    if (size < HEAD) {
        return;
    }
    vta_config config;
    progen_program program;
    choose_config(data[0], &config);
    if (progen_make(&config, get32(data + 2), data[1] % MAX_LENGTH, &program, NULL) != VTA_OK) {
        return;
    }
    for (size_t at = HEAD; at + DAMAGE <= size && at < HEAD + 8 * DAMAGE; at += DAMAGE) {
        damage(&program, data[at], data[at + 1], get32(data + at + 2));
    }
    run(&program);
    progen_free(&program);
}
