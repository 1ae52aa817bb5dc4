/* SPDX-License-Identifier: Apache-2.0 */
#include "corrupt.h"

#include <string.h>

const char *const corruption_names[CORRUPTIONS] = {
    [CORRUPT_BIT] = "bit",   [CORRUPT_FIELD] = "field",         [CORRUPT_NUDGE] = "nudge",
    [CORRUPT_UOP] = "uop",   [CORRUPT_TOKEN] = "token",         [CORRUPT_DROP] = "drop",
    [CORRUPT_SWAP] = "swap", [CORRUPT_DUPLICATE] = "duplicate", [CORRUPT_TRUNCATE] = "truncate",
};

static const char *format_of(uint64_t opcode)
{
    static const char *const names[8] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [VTA_OP_##id] = #format,
#include "vta/isa.def"
    };
    return names[opcode];
}

/* A field of the header or of the instruction's own format; false when it has none that matter. */
static bool pick_field(const progen_program *program, vta_word word, rng *random, vta_field_info *out)
{
    vta_field_info fields[VTA_FIELD_COUNT];
    const uint32_t count = vta_isa_fields(&program->config, fields);
    const char *format = format_of(word.w[0] & 7);
    for (uint32_t attempt = 0; format != NULL && attempt < 200; attempt++) {
        *out = fields[rng_below(random, count)];
        const bool own = strcmp(out->format, format) == 0 || strcmp(out->format, "HEADER") == 0;
        if (own && out->sign != 'X') {
            return true;
        }
    }
    return false;
}

static uint64_t get(vta_word word, const vta_field_info *field)
{
    const uint64_t mask = field->width >= 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1;
    return word.w[field->lsb / 64] >> (field->lsb % 64) & mask;
}

static void set(vta_word *word, const vta_field_info *field, uint64_t value)
{
    const uint64_t mask = field->width >= 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1;
    uint64_t *w = &word->w[field->lsb / 64];
    *w = (*w & ~(mask << (field->lsb % 64))) | (value & mask) << (field->lsb % 64);
}

static void change_field(progen_program *program, vta_word *word, bool nudge, rng *random)
{
    vta_field_info field;
    if (!pick_field(program, *word, random, &field)) {
        word->w[0] ^= 1;
        return;
    }
    if (nudge) {
        set(word, &field, get(*word, &field) + (rng_percent(random, 50) ? 1 : UINT64_MAX));
        return;
    }
    static const uint64_t some[] = {0, 1, UINT64_MAX};
    set(word, &field,
        rng_percent(random, 50) ? some[rng_below(random, 3)] : rng_next(random) >> rng_below(random, 60));
}

static void change_uop(progen_program *program, rng *random)
{
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        if (program->segments[i].style == PROGEN_UOPS) {
            uint32_t used = (uint32_t)(program->segments[i].size / VTA_UOP_BYTES);
            while (used > 1 && program->uops[used - 1] == 0) {
                used--;
            }
            program->uops[rng_below(random, used)] ^= UINT32_C(1) << rng_below(random, 32);
        }
    }
}

static void change_order(progen_program *program, corruption kind, uint32_t at, rng *random)
{
    vta_word *insns = program->insns;
    const uint32_t other = rng_below(random, program->insn_count);
    const vta_word here = insns[at];
    if (kind == CORRUPT_DROP) {
        memmove(&insns[at], &insns[at + 1], (program->insn_count - at - 1) * sizeof *insns);
        program->insn_count--;
    } else if (kind == CORRUPT_TRUNCATE) {
        const vta_word finish = insns[program->insn_count - 1];
        program->insn_count = at;
        if (rng_percent(random, 80)) {
            insns[program->insn_count++] = finish;
        }
    } else if (kind == CORRUPT_SWAP) {
        insns[at] = insns[other];
        insns[other] = here;
    } else { /* twice: over another one */
        insns[other] = here;
    }
}

void corrupt(progen_program *program, corruption kind, rng *random)
{
    if (program->insn_count == 0) {
        return;
    }
    const uint32_t at = rng_below(random, program->insn_count);
    const uint32_t bit = rng_below(random, 128);
    switch (kind) {
    case CORRUPT_BIT: program->insns[at].w[bit / 64] ^= UINT64_C(1) << (bit % 64); break;
    case CORRUPT_TOKEN: program->insns[at].w[0] ^= UINT64_C(8) << (bit % 4); break;
    case CORRUPT_FIELD:
    case CORRUPT_NUDGE: change_field(program, &program->insns[at], kind == CORRUPT_NUDGE, random); break;
    case CORRUPT_UOP: change_uop(program, random); break;
    case CORRUPT_DROP:
    case CORRUPT_DUPLICATE:
    case CORRUPT_SWAP:
    case CORRUPT_TRUNCATE: change_order(program, kind, at, random); break;
    case CORRUPTIONS: break;
    }
}
