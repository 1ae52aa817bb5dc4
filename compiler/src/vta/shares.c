/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns each cycle of a predicted run to a layer, by the rule by which tsim accounts for a real run
 * (vta_account_cycle): to the layer of the array's instruction; if the array is idle, of the ALU's; if both
 * are idle, or the ALU pauses between steps of two cycles, of the instruction that waits for a token, or of
 * the oldest that is not over. So prediction and measurement mean the same. A layer's last stores beside the
 * next layer's work count for no layer.
 */
#include "timing.h"

typedef struct deed_cursor {
    const timing_deed *deeds;
    size_t count;
    size_t array, alu, waiting, oldest; /* the first that may still matter */
    size_t array_kept, alu_kept;        /* the first of each unit that is not over */
} deed_cursor;

static bool is_past(const timing_deed *d, bool array, uint64_t now)
{
    return d->array != array || d->busy_to <= now;
}

static bool is_over(const timing_deed *d, bool array, uint64_t now)
{
    return d->array != array || d->busy_to == d->busy_from || d->over <= now;
}

static void advance_cursor(deed_cursor *s, uint64_t now)
{
    const timing_deed *d = s->deeds;
    while (s->array < s->count && is_past(&d[s->array], true, now)) {
        s->array++;
    }
    while (s->alu < s->count && is_past(&d[s->alu], false, now)) {
        s->alu++;
    }
    while (s->array_kept < s->count && is_over(&d[s->array_kept], true, now)) {
        s->array_kept++;
    }
    while (s->alu_kept < s->count && is_over(&d[s->alu_kept], false, now)) {
        s->alu_kept++;
    }
    while (s->waiting < s->count && d[s->waiting].issued <= now) {
        s->waiting++;
    }
    while (s->oldest < s->count && d[s->oldest].over <= now) {
        s->oldest++;
    }
}

typedef struct span {
    uint32_t tag;
    uint64_t until;
    uint32_t other;        /* the tag of cycles in which the unit makes no step: */
    uint64_t steps, beats; /* the unit makes a step in `steps` of `beats` cycles */
} span;

/* Gives the span to `tag` if now is in from … to - 1; otherwise the span ends at `from` at the latest. */
static bool claim(span *s, uint32_t tag, uint64_t from, uint64_t to, uint64_t now)
{
    const bool here = from <= now && to > now;
    const uint64_t change = here ? to : from;
    s->tag = here ? tag : s->tag;
    s->until = change > now && change < s->until ? change : s->until;
    return here;
}

/* Corrects the tag as tsim does, which cannot see the current instruction of a unit: it takes the unit's
 * oldest instruction that is not over. */
static void claim_for_oldest(span *s, const timing_deed *oldest)
{
    s->tag = oldest->tag;
    s->until = oldest->over < s->until ? oldest->over : s->until;
}

/* Gives the span from `now` on to a layer, while neither array nor ALU makes a step. */
static void claim_idle(const deed_cursor *s, span *found, uint64_t now)
{
    const timing_deed *waiting = s->waiting < s->count ? &s->deeds[s->waiting] : NULL;
    const timing_deed *oldest = s->oldest < s->count ? &s->deeds[s->oldest] : NULL;
    if (waiting != NULL && claim(found, waiting->tag, waiting->asked, waiting->issued, now)) {
        return;
    }
    if (oldest != NULL) {
        (void)claim(found, oldest->tag, now, oldest->over, now);
    }
}

/* The span from `now` on that belongs to one layer. */
static span span_at(deed_cursor *s, uint64_t now, uint64_t end)
{
    span found = {.until = end, .steps = 1, .beats = 1};
    advance_cursor(s, now);
    const timing_deed *array = s->array < s->count ? &s->deeds[s->array] : NULL;
    const timing_deed *alu = s->alu < s->count ? &s->deeds[s->alu] : NULL;
    if (array != NULL && claim(&found, array->tag, array->busy_from, array->busy_to, now)) {
        claim_for_oldest(&found, &s->deeds[s->array_kept]);
        return found;
    }
    const bool works = alu != NULL && claim(&found, alu->tag, alu->busy_from, alu->busy_to, now);
    if (works && alu->steps == alu->beats) {
        claim_for_oldest(&found, &s->deeds[s->alu_kept]);
        return found;
    }
    claim_idle(s, &found, now);
    if (works) {
        found.other = found.tag;
        found.steps = alu->steps;
        found.beats = alu->beats;
        claim_for_oldest(&found, &s->deeds[s->alu_kept]);
    }
    return found;
}

void vtac_vta_timing_shares(const vta_vec *deeds, uint64_t end, uint64_t *shares, uint32_t tags)
{
    deed_cursor s = {.deeds = deeds->items, .count = deeds->count};
    uint64_t now = 0;
    while (now < end) {
        const span next = span_at(&s, now, end);
        const uint64_t idle = (next.until - now) * (next.beats - next.steps) / next.beats;
        shares[next.tag < tags ? next.tag : 0] += next.until - now - idle;
        shares[next.other < tags ? next.other : 0] += idle;
        now = next.until;
    }
}
