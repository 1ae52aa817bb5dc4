/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of granules, in blocks or not, against a plain array of them: random runs, short and long, at
 * borders of blocks and across them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "marks.h"
#include "seed.h"

enum { MAX = MARKS_FEW + 300, STEPS = 4000 };

static uint64_t latest(const uint64_t *plain, granules g)
{
    uint64_t found = 0;
    for (int64_t i = g.first; i <= g.last; i++) {
        found = plain[i] > found ? plain[i] : found;
    }
    return found;
}

/* Numbers are few, so that a set one is often that of the block, and often less than others. */
static void change(marks *m, uint64_t *plain, granules g, rng *r)
{
    const uint64_t value = rng_below(r, 8), what = rng_below(r, 4);
    if (what == 0) {
        vtac_vta_marks_raise(m, g, value);
    } else if (what == 1) {
        vtac_vta_marks_add(m, g, value);
    } else {
        marks_set(m, g, value);
    }
    for (int64_t i = g.first; i <= g.last; i++) {
        const uint64_t raised = plain[i] > value ? plain[i] : value;
        const uint64_t added = plain[i] > 0 ? plain[i] + value : 0;
        plain[i] = what == 0 ? raised : what == 1 ? added : value;
    }
}

static granules some(int64_t count, int log_block, rng *r)
{
    int64_t first = rng_between(r, 0, count - 1), last = rng_between(r, first - 1, count - 1);
    if (rng_below(r, 3) == 0) { /* whole blocks */
        first = first >> log_block << log_block;
        last = last | ((INT64_C(1) << log_block) - 1);
    }
    return (granules){first, last < count ? last : count - 1};
}

static void test_as_an_array(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("vta_marks"), 0);
    for (int64_t count = 1; count <= MAX; count += count < 300 || count >= MARKS_FEW - 23 ? 23 : 100) {
        for (int log_block = 0; log_block <= 6; log_block += 2) {
            uint64_t plain[MAX] = {0};
            marks m;
            assert_true(vtac_vta_marks_init(&m, count, log_block));
            for (int step = 0; step < STEPS; step++) {
                change(&m, plain, some(count, log_block, &r), &r);
                const granules asked = some(count, log_block, &r);
                assert_int_equal(marks_latest(&m, asked), latest(plain, asked));
            }
            vtac_vta_marks_free(&m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
