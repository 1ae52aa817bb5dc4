/* SPDX-License-Identifier: Apache-2.0 */
#include "shrink.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A shrinking in progress. `program` is the smallest one so far that fails. */
typedef struct shrinker {
    progen_program *program;
    shrink_predicate *fails;
    void *context;
    uint32_t budget, kept;
} shrinker;

/* The producer's and the consumer's flag of each queue. */
typedef struct token_flags {
    vta_unit producer, consumer;
    size_t push, pop; /* members of vta_insn */
} token_flags;

static const token_flags queues[VTA_QUEUE_COUNT] = {
    [VTA_QUEUE_L2C] = {VTA_UNIT_LOAD, VTA_UNIT_COMPUTE, offsetof(vta_insn, push_next),
                       offsetof(vta_insn, pop_prev)},
    [VTA_QUEUE_C2L] = {VTA_UNIT_COMPUTE, VTA_UNIT_LOAD, offsetof(vta_insn, push_prev),
                       offsetof(vta_insn, pop_next)},
    [VTA_QUEUE_C2S] = {VTA_UNIT_COMPUTE, VTA_UNIT_STORE, offsetof(vta_insn, push_next),
                       offsetof(vta_insn, pop_prev)},
    [VTA_QUEUE_S2C] = {VTA_UNIT_STORE, VTA_UNIT_COMPUTE, offsetof(vta_insn, push_prev),
                       offsetof(vta_insn, pop_next)},
};

static int64_t *member(vta_insn *insn, size_t offset)
{
    return (int64_t *)(void *)((char *)insn + offset);
}

static bool decode(const progen_program *program, uint32_t index, vta_insn *out)
{
    return vta_insn_decode_raw(&program->config, program->insns[index], out) == VTA_ERROR_NONE;
}

static bool encode(progen_program *program, uint32_t index, const vta_insn *insn)
{
    return vta_insn_encode(&program->config, insn, &program->insns[index], NULL) == VTA_OK;
}

/* Keeps the candidate if it fails as well; it is taken over or freed. */
static bool keep(shrinker *s, progen_program *candidate)
{
    if (s->budget > 0) {
        s->budget--;
        if (s->fails(s->context, candidate)) {
            progen_free(s->program);
            *s->program = *candidate;
            s->kept++;
            return true;
        }
    }
    progen_free(candidate);
    return false;
}

static void remove_range(progen_program *program, uint32_t first, uint32_t count)
{
    memmove(&program->insns[first], &program->insns[first + count],
            (program->insn_count - first - count) * sizeof *program->insns);
    program->insn_count -= count;
}

static bool try_without(shrinker *s, uint32_t first, uint32_t count)
{
    progen_program candidate;
    if (progen_copy(s->program, &candidate) != VTA_OK) {
        return false;
    }
    remove_range(&candidate, first, count);
    return keep(s, &candidate);
}

/* Drops runs of instructions, long ones first; FINISH stays. */
static void drop_instructions(shrinker *s)
{
    for (uint32_t count = s->program->insn_count / 2; count > 0; count /= 2) {
        for (uint32_t first = 0; first + count < s->program->insn_count && s->budget > 0;) {
            if (!try_without(s, first, count)) {
                first += count;
            }
        }
    }
}

/* The instruction that gives (or takes) the n-th token of a queue; insn_count when there is none. */
static uint32_t nth_user(const progen_program *program, vta_unit unit, size_t flag, uint32_t n)
{
    for (uint32_t i = 0; i < program->insn_count; i++) {
        vta_insn insn;
        if (decode(program, i, &insn) && vta_insn_unit(&insn) == unit && *member(&insn, flag) && n-- == 0) {
            return i;
        }
    }
    return program->insn_count;
}

static void clear_flag(progen_program *program, uint32_t index, size_t flag)
{
    vta_insn insn;
    if (decode(program, index, &insn)) {
        *member(&insn, flag) = 0;
        (void)encode(program, index, &insn);
    }
}

/* Takes away a token: its push and its pop. */
static void drop_tokens(shrinker *s)
{
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        const token_flags *t = &queues[q];
        for (uint32_t n = 0; s->budget > 0;) {
            const uint32_t from = nth_user(s->program, t->producer, t->push, n);
            const uint32_t to = nth_user(s->program, t->consumer, t->pop, n);
            progen_program candidate;
            if (from == s->program->insn_count || to == s->program->insn_count ||
                progen_copy(s->program, &candidate) != VTA_OK) {
                break;
            }
            clear_flag(&candidate, from, t->push);
            clear_flag(&candidate, to, t->pop);
            n += keep(s, &candidate) ? 0 : 1;
        }
    }
}

static bool try_value(shrinker *s, uint32_t index, const vta_field_info *field, int64_t value)
{
    progen_program candidate;
    vta_insn insn;
    if (progen_copy(s->program, &candidate) != VTA_OK) {
        return false;
    }
    if (!decode(&candidate, index, &insn) || *member(&insn, field->offset) == value) {
        progen_free(&candidate);
        return false;
    }
    *member(&insn, field->offset) = value;
    if (!encode(&candidate, index, &insn)) {
        progen_free(&candidate);
        return false;
    }
    return keep(s, &candidate);
}

static const char *format_of(int64_t opcode)
{
    static const char *const names[] = {
#define VTA_OPCODE(id, value, format, mnemonic, doc) [VTA_OP_##id] = #format,
#include "vta/isa.def"
    };
    return names[opcode];
}

/* Lowers every field of an instruction as far as the failure stays. */
static void lower_fields(shrinker *s, uint32_t index, const vta_field_info *fields, uint32_t count)
{
    vta_insn insn;
    if (!decode(s->program, index, &insn)) {
        return;
    }
    for (uint32_t f = 0; f < count && s->budget > 0; f++) {
        if (strcmp(fields[f].format, format_of(insn.opcode)) != 0) {
            continue;
        }
        const int64_t value_now = *member(&insn, fields[f].offset);
        if (value_now == 0 || try_value(s, index, &fields[f], 0) || value_now == 1 ||
            try_value(s, index, &fields[f], 1)) {
            continue;
        }
        for (int64_t value = value_now / 2; value > 1; value /= 2) {
            if (!try_value(s, index, &fields[f], value)) {
                break;
            }
        }
    }
}

uint32_t shrink(progen_program *program, shrink_predicate *fails, void *context, uint32_t budget)
{
    shrinker s = {.program = program, .fails = fails, .context = context, .budget = budget};
    vta_field_info fields[VTA_FIELD_COUNT];
    const vta_config config = program->config;
    const uint32_t count = vta_isa_fields(&config, fields);
    uint32_t before;
    do {
        before = s.kept;
        drop_instructions(&s);
        drop_tokens(&s);
        for (uint32_t i = 0; i < s.program->insn_count && s.budget > 0; i++) {
            lower_fields(&s, i, fields, count);
        }
    } while (s.kept > before && s.budget > 0);
    return s.kept;
}
