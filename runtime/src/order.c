/* SPDX-License-Identifier: Apache-2.0
 *
 * Dependency tokens. An instruction is appended with what it needs: for each unit the position that must be
 * over before it starts. What its own unit's order or earlier tokens already promise costs nothing; for the
 * rest the producer's flag is set where it belongs, on the very instruction that is waited for, even if that
 * was recorded long ago.
 *
 * Why this is right. A queue's k-th push meets its k-th pop. A token is placed only when the consumer is not
 * yet known to be past the producer's instruction, so the producers of one queue's tokens strictly ascend, as
 * their consumers do: the pairs are the intended ones, and each instruction pushes at most once into a queue.
 * Every token goes from an earlier instruction of the stream to a later one, and at any point of the stream
 * at most VTA_TOKEN_CAPACITY tokens of a queue are under way, so executing the stream one instruction after
 * the other never waits; then no other schedule of the units can end in a deadlock, either.
 *
 * Load and store have no queue between them: their order goes through compute, through an instruction that
 * already waits for the one if there is such, else through a nop.
 */
#include <assert.h>
#include <stdlib.h>

#include "internal.h"
#include "vta/vec.h"

static const struct {
    line_index producer, consumer;
} queues[] = {
#define VTA_QUEUE(id, producer, consumer, doc) [VTA_QUEUE_##id] = {producer##_LINE, consumer##_LINE},
#include "vta/isa.def"
};

line_index vta_line_of(vta_unit unit)
{
    return (line_index)(unit - VTA_UNIT_LOAD);
}

static vta_queue queue_between(line_index producer, line_index consumer)
{
    vta_queue found = 0;
    for (vta_queue q = 0; q < VTA_QUEUE_COUNT; q++) {
        if (queues[q].producer == producer && queues[q].consumer == consumer) {
            found = q;
        }
    }
    return found;
}

static void merge(instant *into, const instant *other)
{
    for (int u = 0; u < LINES; u++) {
        into->at[u] = other->at[u] > into->at[u] ? other->at[u] : into->at[u];
    }
}

/* The instant at which the instruction at this position ends. */
static instant end_of(const vta_stream *stream, line_index unit, uint32_t position)
{
    instant end = {0};
    if (position > 0) {
        end = stream->lines[unit].start[position - 1];
        end.at[unit] = position;
    }
    return end;
}

static bool grow_for_one(vta_stream *stream, unit_line *line)
{
    vta_word *words = vta_grow(stream->words, &stream->word_capacity, stream->count + 1U, sizeof *words);
    stream->words = words != NULL ? words : stream->words;
    uint32_t *tags = vta_grow(stream->tags, &stream->tag_capacity, stream->count + 1U, sizeof *tags);
    stream->tags = tags != NULL ? tags : stream->tags;
    uint8_t *flags = vta_grow(stream->insn_flags, &stream->flag_capacity, stream->count + 1U, sizeof *flags);
    stream->insn_flags = flags != NULL ? flags : stream->insn_flags;
    uint32_t *insn = vta_grow(line->insn, &line->insn_capacity, line->count + 1U, sizeof *insn);
    line->insn = insn != NULL ? insn : line->insn;
    instant *start = vta_grow(line->start, &line->start_capacity, line->count + 1U, sizeof *start);
    line->start = start != NULL ? start : line->start;
    return words != NULL && tags != NULL && flags != NULL && insn != NULL && start != NULL;
}

static vta_status append(vta_stream *stream, line_index unit, vta_word word, uint32_t flags, instant start)
{
    unit_line *line = &stream->lines[unit];
    if (stream->count == UINT32_MAX || !grow_for_one(stream, line)) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory for instruction %u", stream->count);
    }
    for (vta_queue q = 0; q < VTA_QUEUE_COUNT; q++) {
        const uint32_t pop = queues[q].producer < queues[q].consumer ? VTA_POP_PREV : VTA_POP_NEXT;
        token_queue *queue = &stream->queues[q];
        if (queues[q].consumer == unit && (flags & pop) != 0) {
            queue->pop_insn[queue->pops++ % VTA_TOKEN_CAPACITY] = stream->count;
        }
    }
    line->insn[line->count] = stream->count;
    line->start[line->count] = start;
    line->count++;
    stream->words[stream->count] = word;
    stream->tags[stream->count] = stream->tag;
    stream->insn_flags[stream->count] = (uint8_t)flags;
    stream->count++;
    return VTA_OK;
}

/* The first position of a unit that was recorded after instruction `insn`; one beyond the last where there is
 * none. */
static uint32_t first_after(const unit_line *line, uint32_t insn)
{
    uint32_t low = 0;
    uint32_t high = line->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (line->insn[middle] > insn) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low + 1;
}

static vta_status encode_nop(vta_stream *stream, line_index unit, vta_word *word)
{
    static const vta_memory memories[LINES] = {
        [LOAD_LINE] = VTA_MEM_INP, [COMPUTE_LINE] = VTA_MEM_UOP, [STORE_LINE] = VTA_MEM_OUT};
    vta_insn insn = {.opcode = unit == STORE_LINE ? VTA_OP_STORE : VTA_OP_LOAD};
    insn.mem.memory = memories[unit];
    return vta_insn_encode(&stream->config, &insn, word, &stream->diag);
}

/* Finds the position at which the producer pushes for a need at `position`: there, or later if too many
 * tokens would be under way at once. */
static vta_status find_push(vta_stream *stream, vta_queue q, uint32_t *position)
{
    const token_queue *queue = &stream->queues[q];
    const unit_line *producer = &stream->lines[queues[q].producer];
    if (queue->pops < VTA_TOKEN_CAPACITY) {
        return VTA_OK;
    }
    const uint32_t must_be_over = queue->pop_insn[queue->pops % VTA_TOKEN_CAPACITY];
    const uint32_t earliest = first_after(producer, must_be_over);
    if (earliest > producer->count) {
        vta_word nop;
        VTA_TRY(encode_nop(stream, queues[q].producer, &nop));
        VTA_TRY(
            append(stream, queues[q].producer, nop, 0, end_of(stream, queues[q].producer, producer->count)));
    }
    *position = *position > earliest ? *position : earliest;
    return VTA_OK;
}

/* Makes the consumer's next instruction, whose flags and start these are, wait for a position of the
 * producer. */
static vta_status wait_for(vta_stream *stream, line_index producer, line_index consumer, uint32_t position,
                           uint32_t *flags, instant *start)
{
    const vta_queue q = queue_between(producer, consumer);
    VTA_TRY(find_push(stream, q, &position));
    const bool forward = producer < consumer;
    stream->insn_flags[stream->lines[producer].insn[position - 1]] |= forward ? VTA_PUSH_NEXT : VTA_PUSH_PREV;
    assert(position > stream->queues[q].pushed);
    stream->queues[q].pushed = position;
    *flags |= forward ? VTA_POP_PREV : VTA_POP_NEXT;
    const instant end = end_of(stream, producer, position);
    merge(start, &end);
    return VTA_OK;
}

/* The compute unit has a queue from each of the others. One token may imply the other. */
static vta_status order_compute(vta_stream *stream, const instant *need, uint32_t *flags, instant *start)
{
    const instant load_end = end_of(stream, LOAD_LINE, need->at[LOAD_LINE]);
    const bool load_implies = load_end.at[STORE_LINE] >= need->at[STORE_LINE];
    const line_index first = load_implies ? LOAD_LINE : STORE_LINE;
    const line_index second = load_implies ? STORE_LINE : LOAD_LINE;
    if (need->at[first] > start->at[first]) {
        VTA_TRY(wait_for(stream, first, COMPUTE_LINE, need->at[first], flags, start));
    }
    if (need->at[second] > start->at[second]) {
        VTA_TRY(wait_for(stream, second, COMPUTE_LINE, need->at[second], flags, start));
    }
    return VTA_OK;
}

/* The first compute position whose end implies a position of `unit`; one beyond the last where there is none.
 */
static uint32_t first_implying(const vta_stream *stream, line_index unit, uint32_t position)
{
    const unit_line *compute = &stream->lines[COMPUTE_LINE];
    uint32_t low = 0;
    uint32_t high = compute->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (compute->start[middle].at[unit] >= position) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low + 1;
}

/* A position of compute whose end implies one of `far`; a nop that waits for that, where there is none. */
static vta_status find_relay(vta_stream *stream, line_index far, uint32_t position, uint32_t *relay)
{
    *relay = first_implying(stream, far, position);
    if (*relay <= stream->lines[COMPUTE_LINE].count) {
        return VTA_OK;
    }
    instant need = {0};
    need.at[far] = position;
    return vta_order_nop(stream, COMPUTE_LINE, need, relay);
}

/* Load and store wait for compute, and through it for each other. */
static vta_status order_edge(vta_stream *stream, line_index unit, const instant *need, uint32_t *flags,
                             instant *start)
{
    const line_index far = unit == LOAD_LINE ? STORE_LINE : LOAD_LINE;
    uint32_t position = need->at[COMPUTE_LINE];
    if (need->at[far] > start->at[far]) {
        uint32_t relay = 0;
        VTA_TRY(find_relay(stream, far, need->at[far], &relay));
        position = position > relay ? position : relay;
    }
    if (position > start->at[COMPUTE_LINE]) {
        VTA_TRY(wait_for(stream, COMPUTE_LINE, unit, position, flags, start));
    }
    return VTA_OK;
}

static vta_status place(vta_stream *stream, line_index unit, vta_word word, const instant *need,
                        uint32_t *position)
{
    const unit_line *line = &stream->lines[unit];
    instant start = end_of(stream, unit, line->count);
    uint32_t flags = 0;
    if (stream->manual) {
        flags = stream->flags;
        stream->flags = 0;
    } else if (unit == COMPUTE_LINE) {
        VTA_TRY(order_compute(stream, need, &flags, &start));
    } else {
        VTA_TRY(order_edge(stream, unit, need, &flags, &start));
    }
    VTA_TRY(append(stream, unit, word, flags, start));
    if (position != NULL) {
        *position = line->count;
    }
    return VTA_OK;
}

vta_status vta_order_append(vta_stream *stream, line_index unit, vta_word word, instant need,
                            uint32_t *position)
{
    merge(&need, &stream->floor);
    need.at[unit] = 0;
    return place(stream, unit, word, &need, position);
}

vta_status vta_order_nop(vta_stream *stream, line_index unit, instant need, uint32_t *position)
{
    vta_word nop;
    VTA_TRY(encode_nop(stream, unit, &nop));
    return place(stream, unit, nop, &need, position);
}

vta_status vta_order_flag_bits(const vta_config *config, uint32_t flags, vta_word *bits, vta_diag *diag)
{
    const vta_insn plain = {.opcode = VTA_OP_FINISH};
    const vta_insn flagged = {
        .opcode = VTA_OP_FINISH,
        .pop_prev = (flags & VTA_POP_PREV) != 0,
        .pop_next = (flags & VTA_POP_NEXT) != 0,
        .push_prev = (flags & VTA_PUSH_PREV) != 0,
        .push_next = (flags & VTA_PUSH_NEXT) != 0,
    };
    vta_word without;
    VTA_TRY(vta_insn_encode(config, &plain, &without, diag));
    VTA_TRY(vta_insn_encode(config, &flagged, bits, diag));
    bits->w[0] ^= without.w[0];
    bits->w[1] ^= without.w[1];
    return VTA_OK;
}

void vta_order_free(vta_stream *stream)
{
    for (int u = 0; u < LINES; u++) {
        free(stream->lines[u].insn);
        free(stream->lines[u].start);
    }
    free(stream->words);
    free(stream->tags);
    free(stream->insn_flags);
}
