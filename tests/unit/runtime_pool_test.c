/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread pool: every iteration of every job is done once, by a worker that exists, and is done when run
 * returns; with more threads than processors, too, where some come too late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "pool.h"
#include "seed.h"

enum { MAX_EXTENT = 300, JOBS = 4000 };

typedef struct job {
    int64_t extent;
    uint32_t threads, spins;
    unsigned times[MAX_EXTENT]; /* not atomic: run must order them before it returns */
    atomic_uint strange;
} job;

static void count(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    job *j = context;
    if (begin < 0 || begin >= end || end > j->extent || worker >= j->threads) {
        atomic_fetch_add(&j->strange, 1);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        for (volatile uint32_t spin = 0; spin < j->spins; spin++) {
        }
        j->times[i]++;
    }
}

static void run_jobs(rng *r, uint32_t threads)
{
    vta_pool *pool;
    vta_diag diag = {0};
    static job j;
    assert_int_equal(vta_pool_create(threads, &pool, &diag), VTA_OK);
    assert_int_equal(vta_pool_threads(pool), threads);
    for (int n = 0; n < JOBS; n++) {
        j = (job){.extent = rng_between(r, 0, n % 8 == 0 ? MAX_EXTENT : 9), .threads = threads};
        j.spins = n % 64 == 0 ? 2000 : 0;
        vta_pool_run(pool, j.extent, count, &j);
        assert_int_equal(atomic_load(&j.strange), 0);
        for (int64_t i = 0; i < MAX_EXTENT; i++) {
            assert_int_equal(j.times[i], i < j.extent);
        }
    }
    vta_pool_destroy(pool);
}

static void every_iteration_is_done_once(void **state)
{
    (void)state;
    rng r = rng_split(test_seed("runtime_pool"), 1);
    for (uint32_t threads = 1; threads <= 5; threads++) {
        run_jobs(&r, threads);
    }
}

static void pools_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        vta_pool *pool;
        vta_diag diag = {0};
        assert_int_equal(vta_pool_create(3, &pool, &diag), VTA_OK);
        vta_pool_destroy(pool); /* with or without a job behind it */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_iteration_is_done_once),
        cmocka_unit_test(pools_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
