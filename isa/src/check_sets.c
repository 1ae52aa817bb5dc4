/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries that a loop nest touches, as bit sets and spans. A nest's offsets form a pattern that is made
 * by doubling (n copies of a pattern are two of n/2), then set down once for each micro-op. Programs repeat
 * few instructions many times, so that the sets are kept: one place for each hash of instruction and
 * micro-ops, the contents compared.
 */
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"

enum { SLOTS = 1024 };

struct check_sets {
    uint64_t token_bits; /* of the first word: they do not change what is touched */
    check_set *slots[SLOTS];
};

static void free_set(check_set *set)
{
    if (set != NULL) {
        free(set->uops);
        free(set->inp.spans);
        free(set->wgt.spans);
        free(set->out.spans);
        free(set->inp_write.spans);
        free(set);
    }
}

vta_status vta_check_sets_create(checker *c)
{
    c->sets = calloc(1, sizeof *c->sets);
    if (c->sets == NULL) {
        return vta_check_no_memory(c);
    }
    const vta_insn flags = {
        .opcode = VTA_OP_FINISH, .pop_prev = 1, .pop_next = 1, .push_prev = 1, .push_next = 1};
    const vta_insn plain = {.opcode = VTA_OP_FINISH};
    vta_word with;
    vta_word without;
    VTA_TRY(vta_insn_encode(c->config, &flags, &with, c->diag));
    VTA_TRY(vta_insn_encode(c->config, &plain, &without, c->diag));
    c->sets->token_bits = with.w[0] ^ without.w[0];
    return VTA_OK;
}

void vta_check_sets_destroy(struct check_sets *sets)
{
    if (sets != NULL) {
        for (int slot = 0; slot < SLOTS; slot++) {
            free_set(sets->slots[slot]);
        }
        free(sets);
    }
}

/* Offsets as bits; only the first `words` are in use. */
typedef struct pattern {
    uint64_t bits[CHECK_WORDS];
    uint32_t words;
} pattern;

/* target |= source << shift; no bit goes beyond the target's end. */
static void or_shifted(uint64_t *target, const pattern *source, uint32_t shift)
{
    uint64_t *place = target + shift / 64;
    const uint32_t low = shift % 64;
    for (uint32_t i = 0; i < source->words; i++) {
        const uint64_t bits = source->bits[i];
        place[i] |= bits << low;
        if (low != 0 && bits >> (64 - low) != 0) {
            place[i + 1] |= bits >> (64 - low);
        }
    }
}

/* The pattern becomes `count` copies of itself, `step` apart. */
static void repeat(pattern *p, uint32_t count, uint32_t step, uint32_t *reach)
{
    for (uint32_t made = 1; step != 0 && made < count;) {
        const uint32_t copies = made < count - made ? made : count - made;
        pattern copy;
        copy.words = p->words;
        memcpy(copy.bits, p->bits, p->words * sizeof p->bits[0]);
        or_shifted(p->bits, &copy, copies * step);
        *reach += copies * step;
        p->words = *reach / 64 + 1;
        made += copies;
    }
}

/* A nest that is in range for some micro-op. */
static void make_pattern(const check_nest *nest, pattern *p)
{
    uint32_t reach = 0;
    memset(p->bits, 0, sizeof p->bits);
    p->bits[0] = 1;
    p->words = 1;
    for (int loop = CHECK_LOOPS - 1; loop >= 0; loop--) {
        repeat(p, nest->count[loop], nest->step[loop], &reach);
    }
}

/* The place of the lowest 1, found by halves. */
static uint32_t lowest_one(uint64_t bits)
{
    uint32_t place = 0;
    for (uint32_t half = 32; half > 0; half /= 2) {
        if ((bits & ((UINT64_C(1) << half) - 1)) == 0) {
            bits >>= half;
            place += half;
        }
    }
    return place;
}

/* The first bit from `at` on that differs from all those of `skip`, which is 0 or all ones. */
static uint32_t next_bit(const uint64_t *bits, uint64_t skip, uint32_t at, uint32_t end)
{
    while (at < end) {
        const uint64_t rest = (bits[at / 64] ^ skip) >> at % 64;
        if (rest != 0) {
            at += lowest_one(rest);
            return at < end ? at : end;
        }
        at = (at / 64 + 1) * 64;
    }
    return end;
}

static bool make_spans(const uint64_t *bits, uint32_t end, check_spans *out)
{
    check_span spans[CHECK_WORDS * 64 / 2];
    uint32_t count = 0;
    for (uint32_t at = next_bit(bits, 0, 0, end); at < end;) {
        const uint32_t stop = next_bit(bits, UINT64_MAX, at, end);
        spans[count++] = (check_span){(uint16_t)at, (uint16_t)(stop - at)};
        at = next_bit(bits, 0, stop, end);
    }
    if (count > 0) {
        out->spans = malloc(count * sizeof spans[0]);
        if (out->spans == NULL) {
            return false;
        }
        memcpy(out->spans, spans, count * sizeof spans[0]);
    }
    out->count = count;
    return true;
}

/* The field of a micro-op that holds a pattern's place. */
typedef enum uop_member { UOP_DST, UOP_SRC, UOP_AUX } uop_member;

static void put_pattern(const checker *c, const check_plan *plan, const uint32_t *uops,
                        const check_nest *nest, uop_member member, uint64_t *bits)
{
    pattern p;
    uint32_t last = UINT32_MAX;
    make_pattern(nest, &p);
    for (uint32_t k = plan->uop_begin; k < plan->uop_end; k++) {
        const vta_uop uop = vta_uop_decode(c->config, uops[k]);
        const uint32_t dst = plan->dst_base + uop.dst;
        const uint32_t base = member == UOP_DST ? dst : member == UOP_SRC ? uop.src : uop.aux;
        if (base != last) {
            or_shifted(bits, &p, base);
            last = base;
        }
    }
}

static bool put_spans(const checker *c, const check_plan *plan, const uint32_t *uops, const check_nest *nest,
                      uop_member member, vta_memory memory, check_spans *out)
{
    uint64_t bits[CHECK_WORDS] = {0};
    put_pattern(c, plan, uops, nest, member, bits);
    return make_spans(bits, c->config->depth[memory], out);
}

/* Fills the set of entries that a nest writes: of ACC and OUT, or of INP. */
static bool fill_writes(const checker *c, const check_plan *plan, const uint32_t *uops, check_set *set)
{
    if (plan->dst_is_inp) {
        return put_spans(c, plan, uops, &plan->dst, UOP_DST, VTA_MEM_INP, &set->inp_write);
    }
    put_pattern(c, plan, uops, &plan->dst, UOP_DST, set->acc_write);
    return make_spans(set->acc_write, c->config->depth[VTA_MEM_OUT], &set->out);
}

/* Marks the entries that are read of REQUANT's records. Each record is aligned: it lies in one word. */
static void put_records(const checker *c, const check_plan *plan, const uint32_t *uops, uint64_t *bits)
{
    const uint32_t aux = vta_uop_decode(c->config, uops[plan->uop_begin]).aux;
    for (uint32_t record = aux; record < aux + plan->records; record++) {
        const uint32_t first = record << plan->log_record;
        bits[first / 64] |= ((UINT64_C(1) << plan->params) - 1) << first % 64;
    }
}

static bool fill(const checker *c, const check_plan *plan, const uint32_t *uops, check_set *set)
{
    if (!fill_writes(c, plan, uops, set)) {
        return false;
    }
    if (plan->reads_dst) {
        memcpy(set->acc_before, set->acc_write, sizeof set->acc_before);
    }
    if (plan->params > 0) {
        put_records(c, plan, uops, plan->records > 1 ? set->acc_during : set->acc_before);
    }
    if (plan->reads_src && !plan->src_is_inp) {
        put_pattern(c, plan, uops, &plan->src, UOP_SRC, set->acc_during);
    }
    if (plan->reads_src && plan->src_is_inp &&
        !put_spans(c, plan, uops, &plan->src, UOP_SRC, VTA_MEM_INP, &set->inp)) {
        return false;
    }
    return !plan->uses_wgt || put_spans(c, plan, uops, &plan->wgt, UOP_AUX, VTA_MEM_WGT, &set->wgt);
}

static check_set *make_set(const checker *c, vta_word key, const check_plan *plan, const uint32_t *uops)
{
    check_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return NULL;
    }
    const size_t bytes = (size_t)(plan->uop_end - plan->uop_begin) * sizeof *uops;
    set->key = key;
    set->uop_count = plan->uop_end - plan->uop_begin;
    set->uops = malloc(bytes);
    if (set->uops == NULL || !fill(c, plan, uops, set)) {
        free_set(set);
        return NULL;
    }
    memcpy(set->uops, uops + plan->uop_begin, bytes);
    return set;
}

static uint32_t slot_of(vta_word key, const check_plan *plan, const uint32_t *uops)
{
    const uint64_t ends = (uint64_t)uops[plan->uop_begin] << 32 | uops[plan->uop_end - 1];
    uint64_t hash = key.w[0] * UINT64_C(0x9e3779b97f4a7c15) ^ key.w[1] * UINT64_C(0xc2b2ae3d27d4eb4f);
    hash = (hash ^ hash >> 29 ^ ends) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 54) % SLOTS;
}

vta_status vta_check_sets_get(checker *c, const check_step *step, const check_plan *plan,
                              const uint32_t *uops, uint64_t version, const check_set **out)
{
    const vta_word key = {{step->word.w[0] & ~c->sets->token_bits, step->word.w[1]}};
    check_set **slot = &c->sets->slots[slot_of(key, plan, uops)];
    check_set *set = *slot;
    const bool same_key = set != NULL && set->key.w[0] == key.w[0] && set->key.w[1] == key.w[1];
    if (!same_key || (set->version != version &&
                      memcmp(set->uops, uops + plan->uop_begin, set->uop_count * sizeof *uops) != 0)) {
        VTA_TRY(vta_check_plan_ranges(c, step->index, plan, uops));
        free_set(set);
        *slot = set = make_set(c, key, plan, uops);
        if (set == NULL) {
            return vta_check_no_memory(c);
        }
    }
    set->version = version;
    *out = set;
    return VTA_OK;
}
