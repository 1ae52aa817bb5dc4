/* SPDX-License-Identifier: Apache-2.0
 *
 * The scratchpads' history. WGT and OUT have one writing and one reading unit each: the time of the last
 * write and of the last read of every entry decide all. INP has a second writer, compute, which is its
 * reader, too: its writes are ordered by themselves against its reads, and by tokens against the writes of
 * load. It writes parts of an entry. ACC and UOP belong to compute alone: what has been written decides.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check_internal.h"

/* A scratchpad between two units. Time 0: never. */
typedef struct shared_sram {
    const char *name;
    vta_unit writer, reader;
    uint32_t *written, *read;
    uint32_t *rewritten; /* by the reader */
    uint8_t *parts;      /* that have been written, a bit for each */
} shared_sram;

struct check_sram {
    shared_sram inp, wgt, out;
    uint8_t whole; /* all parts of an INP entry */
    uint64_t acc_written[CHECK_ACC_WORDS];
    uint64_t uop_written[CHECK_WORDS];
    uint64_t tab_written[VTA_TABLES]; /* a bit a word */
    uint32_t *uops;                   /* their contents */
    uint64_t version;                 /* counts changes of the contents */
};

static bool make_shared(const checker *c, vta_memory memory, vta_unit writer, vta_unit reader,
                        shared_sram *out)
{
    const size_t depth = c->config->depth[memory];
    *out = (shared_sram){.name = vta_memory_name(memory),
                         .writer = writer,
                         .reader = reader,
                         .written = calloc(depth, 4),
                         .read = calloc(depth, 4)};
    return out->written != NULL && out->read != NULL;
}

/* An instruction can name four parts: where an entry has more, only a LOAD writes all of it. */
static bool make_inp(const checker *c, struct check_sram *s)
{
    enum { PARTS = 4, MORE = 1 << PARTS };
    const uint32_t depth = c->config->depth[VTA_MEM_INP];
    const uint32_t parts = c->config->block_in / c->config->block_out;
    s->whole = (uint8_t)(parts > PARTS ? MORE : (1U << (parts > 0 ? parts : 1)) - 1);
    const bool made = make_shared(c, VTA_MEM_INP, VTA_UNIT_LOAD, VTA_UNIT_COMPUTE, &s->inp);
    s->inp.rewritten = calloc(depth, sizeof *s->inp.rewritten);
    s->inp.parts = calloc(depth, sizeof *s->inp.parts);
    return made && s->inp.rewritten != NULL && s->inp.parts != NULL;
}

vta_status vta_check_sram_create(checker *c)
{
    struct check_sram *s = c->sram = calloc(1, sizeof *s);
    if (s == NULL) {
        return vta_check_no_memory(c);
    }
    s->uops = calloc(c->config->depth[VTA_MEM_UOP], sizeof *s->uops);
    const bool made = make_inp(c, s) &&
                      make_shared(c, VTA_MEM_WGT, VTA_UNIT_LOAD, VTA_UNIT_COMPUTE, &s->wgt) &&
                      make_shared(c, VTA_MEM_OUT, VTA_UNIT_COMPUTE, VTA_UNIT_STORE, &s->out);
    return made && s->uops != NULL ? VTA_OK : vta_check_no_memory(c);
}

void vta_check_sram_destroy(struct check_sram *sram)
{
    if (sram != NULL) {
        shared_sram *all[] = {&sram->inp, &sram->wgt, &sram->out};
        for (int i = 0; i < 3; i++) {
            free(all[i]->written);
            free(all[i]->read);
            free(all[i]->rewritten);
            free(all[i]->parts);
        }
        free(sram->uops);
        free(sram);
    }
}

static vta_status unwritten(checker *c, const check_step *step, const char *name, uint32_t entry)
{
    return vta_check_report(c, step->index, VTA_ERROR_UNWRITTEN, name, entry, 0,
                            "%s entry %" PRIu32 " is read before anything was written to it", name, entry);
}

/* Two accesses to one entry, each "reads" or "writes": the instruction's, and the earlier one at `time`. */
typedef struct conflict {
    const char *does, *did;
} conflict;
static const conflict reads_written = {"reads", "writes"};
static const conflict writes_read = {"writes", "reads"};
static const conflict writes_written = {"writes", "writes"};

static vta_status unordered(checker *c, const check_step *step, const char *name, uint32_t entry,
                            conflict what, vta_unit unit, uint32_t time)
{
    const uint32_t other = c->of_unit[unit][time - 1];
    return vta_check_report(c, step->index, VTA_ERROR_UNORDERED, name, entry, other,
                            "it %s %s entry %" PRIu32 ", which instruction %" PRIu32
                            " (%s) %s, and no token orders them",
                            what.does, name, entry, other, vta_check_name(c, other), what.did);
}

/* The first entry of a span whose time is 0 or beyond `known`. */
static uint32_t find_offender(const uint32_t *times, check_span span, uint32_t known)
{
    uint32_t at = span.first;
    while (times[at] != 0 && times[at] <= known) {
        at++;
    }
    return at;
}

static vta_status read_span(checker *c, const check_step *step, const shared_sram *sram, check_span span)
{
    const uint32_t known = step->known->time[sram->writer];
    const uint32_t now = step->known->time[sram->reader];
    const uint32_t *restrict written = sram->written + span.first;
    uint32_t *restrict read = sram->read + span.first;
    uint32_t offenders = 0;
    for (uint32_t i = 0; i < span.count; i++) {
        offenders |= written[i] - 1 >= known; /* 0 wraps to the largest value */
        read[i] = now;
    }
    if (offenders != 0) {
        const uint32_t at = find_offender(sram->written, span, known);
        const uint32_t time = sram->written[at];
        return time == 0 ? unwritten(c, step, sram->name, at)
                         : unordered(c, step, sram->name, at, reads_written, sram->writer, time);
    }
    return VTA_OK;
}

static vta_status write_span(checker *c, const check_step *step, const shared_sram *sram, check_span span)
{
    const uint32_t known = step->known->time[sram->reader];
    const uint32_t now = step->known->time[sram->writer];
    const uint32_t *restrict read = sram->read + span.first;
    uint32_t *restrict written = sram->written + span.first;
    uint32_t offenders = 0;
    for (uint32_t i = 0; i < span.count; i++) {
        offenders |= read[i] > known;
        written[i] = now;
    }
    for (uint32_t at = span.first; offenders != 0; at++) {
        if (sram->read[at] > known) {
            return unordered(c, step, sram->name, at, writes_read, sram->reader, sram->read[at]);
        }
    }
    return VTA_OK;
}

/* INP. The first entry of a span with a time beyond `known`, or the span's end. */
static uint32_t find_later(const uint32_t *times, check_span span, uint32_t known)
{
    uint32_t at = span.first;
    while (at < (uint32_t)span.first + span.count && times[at] <= known) {
        at++;
    }
    return at;
}

static vta_status read_inp(checker *c, const check_step *step, const shared_sram *inp, check_span span)
{
    const uint32_t known = step->known->time[inp->writer];
    const uint32_t now = step->known->time[inp->reader];
    const uint8_t whole = c->sram->whole;
    const uint32_t *restrict written = inp->written + span.first;
    const uint8_t *restrict parts = inp->parts + span.first;
    uint32_t *restrict read = inp->read + span.first;
    uint32_t offenders = 0;
    for (uint32_t i = 0; i < span.count; i++) {
        offenders |= (parts[i] & whole) != whole || written[i] > known;
        read[i] = now;
    }
    for (uint32_t i = 0; offenders != 0; i++) {
        if ((parts[i] & whole) != whole) {
            return unwritten(c, step, inp->name, span.first + i);
        }
        if (written[i] > known) {
            return unordered(c, step, inp->name, span.first + i, reads_written, inp->writer, written[i]);
        }
    }
    return VTA_OK;
}

/* By LOAD. */
static vta_status write_inp(checker *c, const check_step *step, check_span span)
{
    const shared_sram *inp = &c->sram->inp;
    const uint32_t at = find_later(inp->rewritten, span, step->known->time[inp->reader]);
    if (at < (uint32_t)span.first + span.count) {
        return unordered(c, step, inp->name, at, writes_written, inp->reader, inp->rewritten[at]);
    }
    memset(inp->parts + span.first, c->sram->whole, span.count);
    return write_span(c, step, inp, span);
}

/* By compute: one part of each entry. */
static vta_status rewrite_inp(checker *c, const check_step *step, const check_spans *spans, uint32_t part)
{
    const shared_sram *inp = &c->sram->inp;
    for (uint32_t i = 0; i < spans->count; i++) {
        const check_span span = spans->spans[i];
        const uint32_t end = (uint32_t)span.first + span.count;
        const uint32_t later = find_later(inp->written, span, step->known->time[inp->writer]);
        if (later < end) {
            return unordered(c, step, inp->name, later, writes_written, inp->writer, inp->written[later]);
        }
        for (uint32_t at = span.first; at < end; at++) {
            inp->rewritten[at] = step->known->time[inp->reader];
            inp->parts[at] |= (uint8_t)(1U << part);
        }
    }
    return VTA_OK;
}

static vta_status each_span(checker *c, const check_step *step, const shared_sram *sram,
                            const check_spans *spans,
                            vta_status (*act)(checker *, const check_step *, const shared_sram *, check_span))
{
    for (uint32_t i = 0; i < spans->count; i++) {
        VTA_TRY(act(c, step, sram, spans->spans[i]));
    }
    return VTA_OK;
}

/* The bits of word `word` that lie in first ... end - 1. */
static uint64_t word_mask(uint32_t word, uint32_t first, uint32_t end)
{
    const uint64_t from = word == first / 64 ? UINT64_MAX << first % 64 : UINT64_MAX;
    const uint64_t to = word == end / 64 ? ~(UINT64_MAX << end % 64) : UINT64_MAX;
    return from & to;
}

static void set_bits(uint64_t *bits, uint32_t first, uint32_t count)
{
    const uint32_t end = first + count;
    for (uint32_t word = first / 64; word * 64 < end; word++) {
        bits[word] |= word_mask(word, first, end);
    }
}

static uint32_t lowest_bit(const uint64_t *bits)
{
    uint32_t at = 0;
    while ((bits[at / 64] >> at % 64 & 1) == 0) {
        at++;
    }
    return at;
}

/* Reads of ACC: what others have not written must be written by the instruction itself, and before. */
static vta_status read_acc(checker *c, const check_step *step, const check_plan *plan, const check_set *set)
{
    uint64_t missing[CHECK_ACC_WORDS];
    uint64_t suspects[CHECK_ACC_WORDS];
    uint64_t any_missing = 0;
    uint64_t any_suspects = 0;
    for (int i = 0; i < CHECK_ACC_WORDS; i++) {
        const uint64_t fresh = ~c->sram->acc_written[i];
        suspects[i] = set->acc_during[i] & set->acc_write[i] & fresh;
        missing[i] = (set->acc_before[i] | (set->acc_during[i] & ~set->acc_write[i])) & fresh;
        any_missing |= missing[i];
        any_suspects |= suspects[i];
    }
    if (any_missing != 0) {
        return unwritten(c, step, "acc", lowest_bit(missing));
    }
    if (any_suspects != 0) {
        uint32_t entry = UINT32_MAX;
        VTA_TRY(vta_check_first_unwritten(c, plan, c->sram->uops, suspects, &entry));
        if (entry != UINT32_MAX) {
            return unwritten(c, step, "acc", entry);
        }
    }
    return VTA_OK;
}

/* Micro-ops and tables. */
static vta_status read_small(checker *c, const check_step *step, const check_plan *plan)
{
    const struct check_sram *s = c->sram;
    for (uint32_t word = plan->uop_begin / 64; word * 64 < plan->uop_end; word++) {
        const uint64_t missing = word_mask(word, plan->uop_begin, plan->uop_end) & ~s->uop_written[word];
        if (missing != 0) {
            return unwritten(c, step, "uop", word * 64 + lowest_bit(&missing));
        }
    }
    if (plan->table > 0 && s->tab_written[plan->table - 1] != UINT64_MAX) {
        const uint64_t missing = ~s->tab_written[plan->table - 1];
        return unwritten(c, step, "tab", ((plan->table - 1) << VTA_LOG_TABLE_WORDS) + lowest_bit(&missing));
    }
    return VTA_OK;
}

static vta_status step_compute(checker *c, const check_step *step)
{
    struct check_sram *s = c->sram;
    const check_plan plan = vta_check_plan_of(c, &step->insn);
    if (plan.uop_begin == plan.uop_end) {
        return VTA_OK;
    }
    VTA_TRY(read_small(c, step, &plan));
    const check_set *set = NULL;
    VTA_TRY(vta_check_sets_get(c, step, &plan, s->uops, s->version, &set));
    VTA_TRY(read_acc(c, step, &plan, set));
    VTA_TRY(each_span(c, step, &s->inp, &set->inp, read_inp));
    VTA_TRY(each_span(c, step, &s->wgt, &set->wgt, read_span));
    VTA_TRY(each_span(c, step, &s->out, &set->out, write_span));
    VTA_TRY(rewrite_inp(c, step, &set->inp_write, plan.part));
    for (int i = 0; i < CHECK_ACC_WORDS; i++) {
        s->acc_written[i] |= set->acc_write[i];
    }
    return VTA_OK;
}

/* The micro-ops at `at` become `count` words of DRAM, or zeros where `bytes` is NULL. */
static void put_uops(struct check_sram *s, uint32_t at, uint32_t count, const uint8_t *bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = 0;
        if (bytes != NULL) {
            memcpy(&word, bytes + (size_t)i * VTA_UOP_BYTES, sizeof word);
        }
        if (s->uops[at + i] != word) {
            s->uops[at + i] = word;
            s->version++;
        }
    }
}

static vta_status load_uops(checker *c, const vta_insn *insn, uint32_t index)
{
    const uint32_t pitch = (uint32_t)(insn->mem.x_pad_0 + insn->mem.x_size + insn->mem.x_pad_1);
    const uint32_t width = (uint32_t)insn->mem.x_size;
    const uint32_t top = (uint32_t)insn->mem.y_pad_0;
    const uint32_t rows = (uint32_t)(insn->mem.y_pad_0 + insn->mem.y_size + insn->mem.y_pad_1);
    for (uint32_t y = 0; y < rows; y++) {
        const uint32_t at = (uint32_t)insn->mem.sram_base + y * pitch;
        if (y < top || y >= top + (uint32_t)insn->mem.y_size) {
            put_uops(c->sram, at, pitch, NULL);
            continue;
        }
        const uint64_t element =
            (uint64_t)insn->mem.dram_base + (uint64_t)(y - top) * (uint64_t)insn->mem.x_stride;
        const uint64_t addr = c->launch->base[insn->mem.segment] + element * VTA_UOP_BYTES;
        const uint8_t *bytes = c->bus->map(c->bus->context, addr, (uint64_t)width * VTA_UOP_BYTES);
        if (bytes == NULL) {
            return vta_check_report(
                c, index, VTA_ERROR_DRAM_RANGE, "dram_base", (int64_t)addr, (int64_t)width * VTA_UOP_BYTES,
                "the micro-ops at 0x%" PRIx64 " are outside the memory given to the program", addr);
        }
        put_uops(c->sram, at, (uint32_t)insn->mem.x_pad_0, NULL);
        put_uops(c->sram, at + (uint32_t)insn->mem.x_pad_0, width, bytes);
        put_uops(c->sram, at + (uint32_t)insn->mem.x_pad_0 + width, (uint32_t)insn->mem.x_pad_1, NULL);
    }
    return VTA_OK;
}

static vta_status step_load(checker *c, const check_step *step)
{
    const vta_insn *insn = &step->insn;
    const uint32_t rows = (uint32_t)(insn->mem.y_pad_0 + insn->mem.y_size + insn->mem.y_pad_1);
    const uint32_t count = rows * (uint32_t)(insn->mem.x_pad_0 + insn->mem.x_size + insn->mem.x_pad_1);
    const uint32_t first = (uint32_t)insn->mem.sram_base;
    const check_span span = {(uint16_t)first, (uint16_t)count};
    switch ((vta_memory)insn->mem.memory) {
    case VTA_MEM_INP: return write_inp(c, step, span);
    case VTA_MEM_WGT:
    case VTA_MEM_WGT4: return write_span(c, step, &c->sram->wgt, span);
    case VTA_MEM_UOP: set_bits(c->sram->uop_written, first, count); return load_uops(c, insn, step->index);
    case VTA_MEM_ACC:
    case VTA_MEM_ACC8: set_bits(c->sram->acc_written, first, count); break;
    case VTA_MEM_TAB: set_bits(c->sram->tab_written, first, count); break;
    case VTA_MEM_OUT:
    case VTA_MEM_COUNT: break;
    }
    return VTA_OK;
}

static vta_status step_store(checker *c, const check_step *step)
{
    const uint32_t count = (uint32_t)(step->insn.mem.y_size * step->insn.mem.x_size);
    const check_span span = {(uint16_t)step->insn.mem.sram_base, (uint16_t)count};
    return read_span(c, step, &c->sram->out, span);
}

vta_status vta_check_sram_step(checker *c, const check_step *step)
{
    switch ((vta_opcode)step->insn.opcode) {
    case VTA_OP_LOAD: return step->insn.mem.x_size == 0 ? VTA_OK : step_load(c, step);
    case VTA_OP_STORE: return step->insn.mem.x_size == 0 ? VTA_OK : step_store(c, step);
    case VTA_OP_GEMM:
    case VTA_OP_ALU:
    case VTA_OP_REQUANT:
    case VTA_OP_DEPTHWISE: return step_compute(c, step);
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
    return VTA_OK;
}
