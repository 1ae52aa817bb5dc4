/* SPDX-License-Identifier: Apache-2.0
 *
 * The DRAM timing model, access by access, against times worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dram_timing.h"

enum {
    ROW = VTA_DRAM_ROW_BYTES,
    STRIDE = VTA_DRAM_ROW_BYTES * VTA_DRAM_BANKS /* to the next row of a bank */
};

/* precharge 5, activate 7, column 4, turn 3; 20 cycles in all for a closed row, 9 of them outside the DRAM */
static vta_dram_timing fresh(void)
{
    return (vta_dram_timing){
        .options = {.latency = 20, .bandwidth = 8, .precharge = 5, .activate = 7, .column = 4, .turn = 3}};
}

static void test_rows(void **state)
{
    (void)state;
    vta_dram_timing d = fresh();
    assert_int_equal(vta_dram_access(&d, 100, 0, 64, false), 120);      /* closed */
    assert_int_equal(vta_dram_access(&d, 200, 64, 64, false), 213);     /* open: column and what is outside */
    assert_int_equal(vta_dram_access(&d, 300, STRIDE, 64, false), 325); /* another row of that bank */
    assert_int_equal(vta_dram_access(&d, 400, ROW, 64, false), 420);    /* another bank, closed */
    assert_int_equal(vta_dram_access(&d, 500, STRIDE + 128, 64, false), 513); /* still open */
    assert_int_equal(d.hits, 2);
    assert_int_equal(d.misses, 2);
    assert_int_equal(d.conflicts, 1);
}

static void test_data_bus(void **state)
{
    (void)state;
    vta_dram_timing d = fresh();
    assert_int_equal(vta_dram_access(&d, 0, 0, 256, false), 20);       /* data from 11 to 43 */
    assert_int_equal(vta_dram_access(&d, 1, ROW, 256, false), 43 + 9); /* ready at 12, the bus is not */
    assert_int_equal(vta_dram_access(&d, 2, 2 * ROW, 64, true),
                     75 + 3 + 8 + 9);                                  /* turned; answered when stored */
    assert_int_equal(vta_dram_access(&d, 3, 0, 8, false), 86 + 3 + 9); /* and turned back */
}

static void test_crossing_rows(void **state)
{
    (void)state;
    vta_dram_timing d = fresh();
    assert_int_equal(vta_dram_access(&d, 0, ROW - 64, 128, false), 20);
    assert_int_equal(d.misses, 2);
    assert_int_equal(d.bus_free_at, 27); /* the second bank opened meanwhile: 11 + 128 / 8 */
}

static void test_refresh(void **state)
{
    (void)state;
    vta_dram_timing d = fresh();
    d.options.refresh_every = 1000;
    d.options.refresh_for = 50;
    assert_int_equal(vta_dram_access(&d, 10, 0, 8, false), 30);
    assert_int_equal(vta_dram_access(&d, 999, 0, 8, false), 999 + 13);
    assert_int_equal(d.refreshes, 0);
    assert_int_equal(vta_dram_access(&d, 1010, 0, 8, false),
                     1070); /* waits for its end, finds the row closed */
    assert_int_equal(d.refreshes, 1);
    assert_int_equal(vta_dram_access(&d, 5500, 0, 8, false), 5520);
    assert_int_equal(d.refreshes, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_data_bus),
                                       cmocka_unit_test(test_crossing_rows), cmocka_unit_test(test_refresh)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
