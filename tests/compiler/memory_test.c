/* SPDX-License-Identifier: Apache-2.0
 *
 * Places for what does not live at the same time: against a map of the memory moment by moment, on which no
 * byte may belong to two, and against the least that any plan needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seed.h"
#include "vtac/memory.h"

enum { MAX = 60, MOMENTS = 900, ROOM = 8192 };

static uint32_t below(rng *r, uint32_t bound)
{
    return (uint32_t)(rng_next(r) % bound);
}

/* The bytes that live in one moment, marked one by one; no byte twice. */
static uint64_t mark(const vtac_life *lives, size_t count, uint32_t moment, uint8_t *map)
{
    uint64_t living = 0;
    memset(map, 0, ROOM);
    for (size_t i = 0; i < count; i++) {
        const vtac_life *l = &lives[i];
        if (l->first > moment || moment > l->last) {
            continue;
        }
        living += l->bytes;
        for (uint64_t at = l->offset; at < l->offset + l->bytes; at++) {
            assert_int_equal(map[at]++, 0);
        }
    }
    return living;
}

/* True if life i would meet none of those before it, at another offset. */
static bool is_free(const vtac_life *lives, size_t i, uint64_t offset)
{
    for (size_t k = 0; k < i; k++) {
        const vtac_life *o = &lives[k];
        if (o->first <= lives[i].last && lives[i].first <= o->last && offset < o->offset + o->bytes &&
            o->offset < offset + lives[i].bytes) {
            return false;
        }
    }
    return true;
}

/* Each at the lowest offset that those before it leave: 0, or where one of them ends. */
static void assert_lowest(const vtac_life *lives, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(lives[i].offset == 0 || !is_free(lives, i, 0));
        for (size_t k = 0; k < i; k++) {
            const uint64_t end = lives[k].offset + lives[k].bytes;
            assert_true(end >= lives[i].offset || !is_free(lives, i, end));
        }
    }
}

static size_t make(rng *r, vtac_life *lives)
{
    const size_t count = below(r, MAX + 1);
    const uint32_t longest = 1 + below(r, below(r, 2) == 0 ? 100 : MOMENTS);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = below(r, MOMENTS);
        const uint32_t last = first + below(r, longest);
        lives[i] = (vtac_life){
            .bytes = below(r, 8) == 0 ? 0 : below(r, 100) + 1,
            .id = i,
            .first = first,
            .last = last < MOMENTS ? last : MOMENTS - 1,
        };
    }
    return count;
}

static void nothing_lies_on_what_lives(void **state)
{
    (void)state;
    static uint8_t map[ROOM];
    rng r = rng_split(test_seed("memory"), 0);
    for (int trial = 0; trial < 300; trial++) {
        vtac_life lives[MAX + 1];
        const size_t count = make(&r, lives);
        uint64_t bytes = 1;
        uint64_t all = 0, end = 0, max = 0;
        assert_int_equal(vtac_place_lives(lives, count, &bytes, NULL), VTA_OK);
        for (size_t i = 0; i < count; i++) {
            all += lives[i].bytes;
            end = lives[i].offset + lives[i].bytes > end ? lives[i].offset + lives[i].bytes : end;
        }
        for (uint32_t moment = 0; moment < MOMENTS; moment++) {
            const uint64_t living = mark(lives, count, moment, map);
            max = living > max ? living : max;
        }
        assert_int_equal(bytes, end);
        assert_lowest(lives, count);
        assert_in_range(bytes, max, all);
    }
}

/* A chain, in which each lives with the one before alone, needs the two largest neighbours and no more. */
static void a_chain_takes_two_places(void **state)
{
    (void)state;
    vtac_life lives[1000];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        lives[i] = (vtac_life){.bytes = 64, .id = i, .first = i, .last = i + 1};
    }
    assert_int_equal(vtac_place_lives(lives, 1000, &bytes, NULL), VTA_OK);
    assert_int_equal(bytes, 128);
    assert_int_equal(vtac_place_lives(lives, 0, &bytes, NULL), VTA_OK);
    assert_int_equal(bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_lies_on_what_lives),
        cmocka_unit_test(a_chain_takes_two_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
