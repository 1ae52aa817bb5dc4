/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device's memory: addresses, limits, reuse, two threads at once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vta/dram.h"

static int set_up(void **state)
{
    vta_dram *dram = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_dram_create(&dram, &diag), VTA_OK);
    *state = dram;
    return 0;
}

static int tear_down(void **state)
{
    vta_dram_destroy(*state);
    return 0;
}

static uint64_t alloc(vta_dram *dram, uint64_t size, uint8_t **host)
{
    uint64_t addr = 0;
    void *memory = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_dram_alloc(dram, size, &addr, &memory, &diag), VTA_OK);
    if (host != NULL) {
        *host = memory;
    }
    return addr;
}

static void blocks_are_zeroed_pages(void **state)
{
    vta_dram *dram = *state;
    for (int i = 0; i < 40; i++) {
        uint8_t *host = NULL;
        const uint64_t addr = alloc(dram, 5000, &host);
        assert_true(addr > 0);
        assert_int_equal(addr % 4096, 0);
        assert_true(addr + 5000 <= UINT64_C(1) << 32);
        for (int b = 0; b < 5000; b++) {
            assert_int_equal(host[b], 0);
        }
        memset(host, i + 1, 5000);
        if (i % 3 == 0) {
            vta_dram_free(dram, addr);
        }
    }
}

static void maps_within_one_block(void **state)
{
    vta_dram *dram = *state;
    uint8_t *a = NULL;
    uint8_t *b = NULL;
    const uint64_t at = alloc(dram, 5000, &a);
    const uint64_t other = alloc(dram, 64, &b);
    assert_ptr_equal(vta_dram_map(dram, at, 5000), a);
    assert_ptr_equal(vta_dram_map(dram, at + 4999, 1), a + 4999);
    assert_null(vta_dram_map(dram, at, 5001));
    assert_null(vta_dram_map(dram, at + 5000, 1));
    assert_null(vta_dram_map(dram, at - 1, 1));
    assert_null(vta_dram_map(dram, at, other + 64 - at));
    assert_ptr_equal(vta_dram_map(dram, other + 63, 1), b + 63);
    assert_ptr_equal(vta_dram_map(dram, at + 1, 2), a + 1);
    assert_null(vta_dram_map(dram, 0, 1));
    assert_null(vta_dram_map(dram, UINT64_MAX, 1));
    assert_null(vta_dram_map(dram, UINT64_MAX - 3, 8));
    assert_null(vta_dram_map(dram, at + 1, UINT64_MAX));
    const vta_bus bus = vta_dram_bus(dram);
    assert_ptr_equal(bus.map(bus.context, other, 64), b);
}

/* One past the end of a block never belongs to the next one. */
static void blocks_have_guards(void **state)
{
    vta_dram *dram = *state;
    const uint64_t first = alloc(dram, 4096, NULL);
    const uint64_t second = alloc(dram, 4096, NULL);
    assert_true(second >= first + 8192);
    assert_null(vta_dram_map(dram, first + 4096, 1));
}

static void freed_addresses_are_used_again(void **state)
{
    vta_dram *dram = *state;
    const uint64_t a = alloc(dram, 4096, NULL);
    const uint64_t b = alloc(dram, 3 * 4096, NULL);
    const uint64_t c = alloc(dram, 4096, NULL);
    assert_true(a < b && b < c);
    vta_dram_free(dram, b);
    assert_null(vta_dram_map(dram, b, 1));
    assert_true(alloc(dram, 4 * 4096, NULL) > c);
    assert_int_equal(alloc(dram, 4096, NULL), b);
    vta_dram_free(dram, b + 1);
    vta_dram_free(dram, 12345);
    assert_non_null(vta_dram_map(dram, b, 4096));
    vta_dram_free(dram, a);
    assert_int_equal(alloc(dram, 1, NULL), a);
}

static void given_addresses(void **state)
{
    vta_dram *dram = *state;
    vta_diag diag = {0};
    void *host = NULL;
    assert_int_equal(vta_dram_alloc_at(dram, 0x40000000 + 20, 100, &host, &diag), VTA_OK);
    assert_int_equal((uintptr_t)host % 4096, 20);
    assert_ptr_equal(vta_dram_map(dram, 0x40000000 + 119, 1), (uint8_t *)host + 99);
    assert_int_equal(vta_dram_alloc_at(dram, 0x40000000 + 120, 8, &host, &diag), VTA_OK);
    assert_int_equal(vta_dram_alloc_at(dram, 0, 20, &host, &diag), VTA_OK);
    assert_ptr_equal(vta_dram_map(dram, 0, 20), host);
    static const struct {
        uint64_t addr, size;
    } bad[] = {{0x40000000 + 119, 1}, {0x40000000, 21}, {0x40000000, 4096}, {0x40000000 + 50, 1}, {19, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        diag = (vta_diag){0};
        assert_int_equal(vta_dram_alloc_at(dram, bad[i].addr, bad[i].size, &host, &diag), VTA_INVALID);
        assert_non_null(strstr(diag.text, "overlaps the one of"));
    }
    diag = (vta_diag){0};
    assert_int_equal(vta_dram_alloc_at(dram, UINT64_MAX - 10, 100, &host, &diag), VTA_RANGE);
    assert_string_equal(diag.text, "device block of 100 bytes at 0xfffffffffffffff5 ends beyond 2^48");
}

static void sizes_are_bounded(void **state)
{
    vta_dram *dram = *state;
    static const uint64_t bad[] = {0, UINT64_MAX, (UINT64_C(1) << 40) + 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vta_diag diag = {0};
        uint64_t addr = 0;
        void *host = NULL;
        assert_int_equal(vta_dram_alloc(dram, bad[i], &addr, &host, &diag), VTA_INVALID);
        assert_non_null(strstr(diag.text, "(limits: 1 to 1099511627776)"));
        assert_int_equal(vta_dram_alloc_at(dram, 4096, bad[i], &host, &diag), VTA_INVALID);
    }
}

/* When 4 GiB are full, addresses go on above. */
static void goes_on_above_four_gib(void **state)
{
    vta_dram *dram = *state;
    vta_diag diag = {0};
    void *host = NULL;
    assert_int_equal(vta_dram_alloc_at(dram, 3 * 4096, (UINT64_C(1) << 32) - 5 * 4096, &host, &diag), VTA_OK);
    assert_int_equal(alloc(dram, 4096, NULL), 4096);
    assert_true(alloc(dram, 4096, NULL) >= UINT64_C(1) << 32);
}

#ifndef __SANITIZE_THREAD__ /* whose books of a tebibyte no machine can hold */
/* A block in every tebibyte leaves no room for one of a tebibyte; without one of them there is room again. */
static void addresses_end(void **state)
{
    vta_dram *dram = *state;
    const uint64_t tebibyte = UINT64_C(1) << 40;
    vta_diag diag = {0};
    uint64_t addr = 0;
    void *host = NULL;
    for (uint64_t i = 0; i < 256; i++) {
        assert_int_equal(vta_dram_alloc_at(dram, i * tebibyte + tebibyte / 2, 4096, &host, &diag), VTA_OK);
    }
    for (int round = 0; round < 2; round++) {
        diag = (vta_diag){0};
        assert_int_equal(vta_dram_alloc(dram, tebibyte, &addr, &host, &diag), VTA_NOMEM);
        assert_string_equal(diag.text, "no free device addresses for 1099511627776 bytes");
        const uint64_t gap = (uint64_t)(100 + 20 * round) * tebibyte + tebibyte / 2;
        vta_dram_free(dram, gap);
        assert_int_equal(vta_dram_alloc(dram, tebibyte, &addr, &host, NULL), VTA_OK);
        assert_true(addr > gap - tebibyte && addr < gap);
    }
}
#endif

/* Two threads allocate, look up and free in one memory. */
typedef struct worker {
    vta_dram *dram;
    uint8_t mark;
    int wrong;
} worker;

static void *churn(void *argument)
{
    worker *w = argument;
    uint64_t addr[16] = {0};
    for (int i = 0; i < 4000; i++) {
        const int slot = i * 7 % 16;
        if (addr[slot] != 0) {
            const uint8_t *memory = vta_dram_map(w->dram, addr[slot], 100);
            w->wrong += memory == NULL || memory[0] != w->mark || memory[99] != w->mark;
            vta_dram_free(w->dram, addr[slot]);
        }
        void *host = NULL;
        vta_diag diag = {0};
        w->wrong += vta_dram_alloc(w->dram, 100, &addr[slot], &host, &diag) != VTA_OK;
        memset(host, w->mark, 100);
    }
    return NULL;
}

static void two_threads(void **state)
{
    worker workers[2] = {{*state, 0x11, 0}, {*state, 0x22, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(workers[0].wrong, 0);
    assert_int_equal(workers[1].wrong, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_are_zeroed_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps_within_one_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_have_guards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(freed_addresses_are_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(given_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_on_above_four_gib, set_up, tear_down),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test_setup_teardown(addresses_end, set_up, tear_down),
#endif
        cmocka_unit_test_setup_teardown(two_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
