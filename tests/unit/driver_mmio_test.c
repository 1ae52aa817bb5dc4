/* SPDX-License-Identifier: Apache-2.0
 *
 * The register-level driver against a mock that knows the exact list of accesses to come: what a board will
 * see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mmio.h"
#include "vta/regs.h"

typedef enum access_kind { READ, WRITE, WAIT } access_kind;

typedef struct expected {
    access_kind kind;
    uint32_t offset, value;
} expected;

/* The list, and how far it has been followed. */
typedef struct mock {
    expected list[512];
    uint32_t count, done;
} mock;

static void expect_access(mock *m, access_kind kind, uint32_t offset, uint32_t value)
{
    assert_true(m->count < sizeof m->list / sizeof m->list[0]);
    m->list[m->count++] = (expected){kind, offset, value};
}

static expected next(mock *m, access_kind kind, uint32_t offset)
{
    if (m->done == m->count) {
        fail_msg("access %u to 0x%03x is one too many", m->done, offset);
    }
    const expected e = m->list[m->done];
    if (e.kind != kind || e.offset != offset) {
        fail_msg("access %u: kind %d at 0x%03x, but expected kind %d at 0x%03x", m->done, (int)kind, offset,
                 (int)e.kind, e.offset);
    }
    m->done++;
    return e;
}

static uint32_t mock_read(void *context, uint32_t offset)
{
    return next(context, READ, offset).value;
}

static void mock_write(void *context, uint32_t offset, uint32_t value)
{
    mock *m = context;
    const expected e = next(m, WRITE, offset);
    if (e.value != value) {
        fail_msg("access %u: 0x%08x written to 0x%03x, but expected 0x%08x", m->done - 1, value, offset,
                 e.value);
    }
}

static vta_status mock_wait(void *context, double seconds, vta_diag *diag)
{
    (void)diag;
    assert_true(seconds > 0);
    (void)next(context, WAIT, 0);
    return VTA_OK;
}

static vta_mmio page_of(mock *m)
{
    return (vta_mmio){.context = m, .read = mock_read, .write = mock_write, .wait = mock_wait};
}

static void assert_all_done(const mock *m)
{
    assert_int_equal(m->done, m->count);
}

static void assert_says(const vta_diag *diag, vta_status code, const char *part)
{
    if (diag->code != code || strstr(diag->text, part) == NULL) {
        fail_msg("status %d, '%s'; expected status %d and '%s'", (int)diag->code, diag->text, (int)code,
                 part);
    }
}

/* The numbers below are regs.def's, written out once more by hand. */
enum { BUSY = 1, DONE = 2, FAILED = 4, START = 1, RESET = 2 };

static void start_writes_in_order(void **state)
{
    (void)state;
    mock m = {0};
    vta_launch launch = {.insn_addr = UINT64_C(0x123456780), .insn_count = 77};
    expect_access(&m, WRITE, 0x020, 0x23456780);
    expect_access(&m, WRITE, 0x024, 0x1);
    expect_access(&m, WRITE, 0x028, 77);
    for (uint32_t i = 0; i < 8; i++) {
        launch.base[i] = (UINT64_C(0xa) << 32) + 64 * i;
        expect_access(&m, WRITE, 0x040 + 8 * i, 64 * i);
        expect_access(&m, WRITE, 0x044 + 8 * i, 0xa);
    }
    expect_access(&m, WRITE, 0x02c, 5000);
    expect_access(&m, WRITE, 0x034, 1);
    expect_access(&m, WRITE, 0x030, 1);
    expect_access(&m, WRITE, 0x010, START);
    const vta_mmio page = page_of(&m);
    vta_mmio_start(&page, &launch, 5000);
    assert_all_done(&m);
}

static void expect_counters(mock *m)
{
    for (uint32_t i = 0; i < 26; i++) {
        expect_access(m, READ, 0x100 + 8 * i, 1000 + i);
        expect_access(m, READ, 0x104 + 8 * i, i == 0 ? 1 : 0);
    }
}

static void finish_waits_and_reads_the_counters(void **state)
{
    (void)state;
    mock m = {0};
    vta_report report = {0};
    vta_diag diag = {0};
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WAIT, 0, 0);
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WAIT, 0, 0);
    expect_access(&m, READ, 0x014, DONE);
    expect_access(&m, WRITE, 0x034, 1);
    expect_counters(&m);
    const vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_finish(&page, "mock", 0, &report, &diag), VTA_OK);
    assert_all_done(&m);
    assert_int_equal(report.error, VTA_ERROR_NONE);
    assert_true(report.counters.cycles == (UINT64_C(1) << 32) + 1000);
    assert_int_equal(report.counters.fetch_insns, 1001);
    assert_int_equal(report.counters.gemm_steps, 1012);
    assert_int_equal(report.counters.out_bytes, 1025);
}

/* In a cycle a counter grows by 1, the last six by 1023 at most: upper words that are 0 are not read. */
static void finish_leaves_out_upper_words_that_are_zero(void **state)
{
    static const struct {
        uint64_t cycles;
        uint32_t plain, bytes; /* the upper words, read where they are not 0 */
    } cases[] = {
        {78, 0, 0},
        {4198404, 0, 0}, /* the last whose bytes fit: 1023 times that is below 2^32 */
        {4198405, 0, 3},
        {UINT64_C(0xffffffff), 0, 5},
        {UINT64_C(0x100000000), 1, 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mock m = {0};
        vta_report report = {0};
        vta_diag diag = {0};
        expect_access(&m, READ, 0x014, DONE);
        expect_access(&m, WRITE, 0x034, 1);
        expect_access(&m, READ, 0x100, (uint32_t)cases[i].cycles);
        expect_access(&m, READ, 0x104, (uint32_t)(cases[i].cycles >> 32));
        for (uint32_t k = 1; k < 26; k++) {
            const uint32_t upper = k < 20 ? cases[i].plain : cases[i].bytes;
            expect_access(&m, READ, 0x100 + 8 * k, 0xffffff00 + k);
            if (upper > 0) {
                expect_access(&m, READ, 0x104 + 8 * k, upper);
            }
        }
        const vta_mmio page = page_of(&m);
        assert_int_equal(vta_mmio_finish(&page, "mock", 0, &report, &diag), VTA_OK);
        assert_all_done(&m);
        assert_true(report.counters.cycles == cases[i].cycles);
        assert_true(report.counters.store_mem == ((uint64_t)cases[i].plain << 32) + 0xffffff00 + 19);
        assert_true(report.counters.out_bytes == ((uint64_t)cases[i].bytes << 32) + 0xffffff00 + 25);
    }
}

static void finish_decodes_an_error_and_resets(void **state)
{
    (void)state;
    mock m = {0};
    vta_report report = {0};
    vta_diag diag = {0};
    expect_access(&m, READ, 0x014, DONE | FAILED);
    expect_access(&m, WRITE, 0x034, 1);
    expect_counters(&m);
    expect_access(&m, READ, 0x018, 0x0204);
    expect_access(&m, READ, 0x01c, 41);
    expect_access(&m, WRITE, 0x010, RESET);
    expect_access(&m, READ, 0x014, 0);
    expect_access(&m, WRITE, 0x034, 1);
    const vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_finish(&page, "mock", 1, &report, &diag), VTA_OK);
    assert_all_done(&m);
    assert_int_equal(report.error, VTA_ERROR_ACC_RANGE);
    assert_int_equal(report.unit, VTA_UNIT_COMPUTE);
    assert_int_equal(report.insn, 41);
}

/* Of a bus error, where it was; a refusal is one of the memory or of the windows. */
static void finish_says_where_a_bus_error_was(void **state)
{
    static const struct {
        uint32_t error, low, high;
        const char *text;
    } cases[] = {
        {0x10309, 0x18000040, 0x1, " at 0x118000040, outside of the DMA windows that the system has set"},
        {0x00108, 0x18000040, 0x0, " at 0x18000040"},
        {0x1000a, 0x0, 0x0, " at 0x0, outside of the DMA windows that the system has set"},
        {0x00108, 0x0, 0x0, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mock m = {0};
        vta_report report = {0};
        vta_diag diag = {0};
        expect_access(&m, READ, 0x014, FAILED);
        expect_access(&m, WRITE, 0x034, 1);
        expect_counters(&m);
        expect_access(&m, READ, 0x018, cases[i].error);
        expect_access(&m, READ, 0x01c, 7);
        expect_access(&m, READ, 0x038, cases[i].low);
        expect_access(&m, READ, 0x03c, cases[i].high);
        expect_access(&m, WRITE, 0x010, RESET);
        expect_access(&m, READ, 0x014, 0);
        expect_access(&m, WRITE, 0x034, 1);
        const vta_mmio page = page_of(&m);
        assert_int_equal(vta_mmio_finish(&page, "mock", 1, &report, &diag), VTA_OK);
        assert_all_done(&m);
        assert_int_equal(report.error, cases[i].error & 0xff);
        assert_string_equal(diag.text, cases[i].text);
    }
}

static void finish_refuses_an_error_without_meaning(void **state)
{
    (void)state;
    mock m = {0};
    vta_report report = {0};
    vta_diag diag = {0};
    expect_access(&m, READ, 0x014, FAILED);
    expect_access(&m, WRITE, 0x034, 1);
    expect_counters(&m);
    expect_access(&m, READ, 0x018, 0x0900);
    expect_access(&m, READ, 0x01c, 0);
    const vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_finish(&page, "mock", 1, &report, &diag), VTA_PROTOCOL);
    assert_says(&diag, VTA_PROTOCOL,
                "device 'mock' reports an error without meaning: error register 0x00000900");
    assert_all_done(&m);
}

static void a_timeout_resets(void **state)
{
    (void)state;
    mock m = {0};
    vta_report report = {0};
    vta_diag diag = {0};
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WAIT, 0, 0);
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WRITE, 0x010, RESET);
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WAIT, 0, 0);
    expect_access(&m, READ, 0x014, 0);
    expect_access(&m, WRITE, 0x034, 1);
    const vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_finish(&page, "mock", 1e-300, &report, &diag), VTA_TIMEOUT);
    assert_all_done(&m);
}

static uint32_t always_busy(void *context, uint32_t offset)
{
    (void)context;
    (void)offset;
    return BUSY;
}

static void ignore_write(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    (void)offset;
    (void)value;
}

static vta_status no_wait(void *context, double seconds, vta_diag *diag)
{
    (void)context;
    (void)seconds;
    (void)diag;
    return VTA_OK;
}

static void an_interruption_resets(void **state)
{
    (void)state;
    mock m = {0};
    vta_report report = {0};
    vta_diag diag = {0};
    const vta_stop stop = {.wanted = 1};
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WAIT, 0, 0);
    expect_access(&m, READ, 0x014, BUSY);
    expect_access(&m, WRITE, 0x010, RESET);
    expect_access(&m, READ, 0x014, 0);
    expect_access(&m, WRITE, 0x034, 1);
    vta_mmio page = page_of(&m);
    page.stop = &stop;
    assert_int_equal(vta_mmio_finish(&page, "mock", 0, &report, &diag), VTA_INTERRUPTED);
    assert_all_done(&m);
}

static void a_reset_that_does_not_help_is_an_error(void **state)
{
    (void)state;
    vta_diag diag = {0};
    const vta_mmio page = {.read = always_busy, .write = ignore_write, .wait = no_wait};
    assert_int_equal(vta_mmio_reset(&page, "mock", &diag), VTA_PROTOCOL);
    assert_says(&diag, VTA_PROTOCOL, "device 'mock' stays busy after a soft reset; load the hardware again");
}

/* Identification: 17 hardware-visible values from 0x80 on, in the order of config.def. */

static void expect_config(mock *m, const vta_config *config)
{
    const uint32_t values[] = {config->log_inp_width, config->log_wgt_width, config->log_acc_width,
                               config->log_batch,     config->log_block_in,  config->log_block_out,
                               config->log_uop_buff,  config->log_inp_buff,  config->log_wgt_buff,
                               config->log_acc_buff,  config->log_bus_width, config->log_queue,
                               config->table,         config->loop_back,     config->depthwise_taps,
                               config->rows,          config->wgt4};
    for (uint32_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        expect_access(m, READ, 0x080 + 4 * i, values[i]);
    }
}

static void expect_hash(mock *m, uint64_t hash)
{
    expect_access(m, READ, 0x008, (uint32_t)hash);
    expect_access(m, READ, 0x00c, (uint32_t)(hash >> 32));
}

static void expect_id(mock *m)
{
    expect_access(m, READ, 0x000, 0x56544143);
    expect_access(m, READ, 0x004, (uint32_t)VTA_ISA_MAJOR << 16 | VTA_ISA_MINOR);
}

static void probe_accepts_its_configuration(void **state)
{
    (void)state;
    mock m = {0};
    vta_diag diag = {0};
    vta_config config;
    vta_config_default(&config);
    expect_id(&m);
    expect_hash(&m, config.hash);
    const vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_probe(&page, "mock", &config, &diag), VTA_OK);
    assert_all_done(&m);
}

static void probe_names_the_fields_that_differ(void **state)
{
    (void)state;
    mock m = {0};
    vta_diag diag = {0};
    vta_config want;
    vta_config have;
    vta_config_default(&want);
    assert_int_equal(vta_config_load("ultra96", &have, &diag), VTA_OK);
    expect_id(&m);
    expect_hash(&m, have.hash);
    expect_id(&m);
    expect_config(&m, &have);
    expect_hash(&m, have.hash);
    const vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_probe(&page, "mock", &want, &diag), VTA_CONFIG_MISMATCH);
    assert_says(&diag, VTA_CONFIG_MISMATCH, "LOG_BLOCK_IN 4 != 5");
    assert_says(&diag, VTA_CONFIG_MISMATCH, "load the hardware of 'pynq'");
    assert_all_done(&m);
}

/* Hardware of another major version, or of an older minor one. */
static void refuse_version(int major, int minor)
{
    mock m = {0};
    vta_diag diag = {0};
    vta_config config;
    char text[80];
    expect_access(&m, READ, 0x000, 0x56544143);
    expect_access(&m, READ, 0x004, (uint32_t)major << 16 | (uint16_t)minor);
    vta_mmio page = page_of(&m);
    (void)snprintf(text, sizeof text, "device 'mock' speaks ISA version %d.%d, this software %d.%d", major,
                   (uint16_t)minor, VTA_ISA_MAJOR, VTA_ISA_MINOR);
    assert_int_equal(vta_mmio_probe(&page, "mock", &config, &diag), VTA_CONFIG_MISMATCH);
    assert_says(&diag, VTA_CONFIG_MISMATCH, text);
}

static void probe_refuses_what_is_not_ours(void **state)
{
    (void)state;
    vta_diag diag = {0};
    vta_config config;
    vta_config_default(&config);
    mock nothing = {0};
    expect_access(&nothing, READ, 0x000, 0xffffffff);
    vta_mmio page = page_of(&nothing);
    assert_int_equal(vta_mmio_probe(&page, "mock", &config, &diag), VTA_NO_DEVICE);
    assert_says(&diag, VTA_NO_DEVICE, "identification register holds 0xffffffff, not 0x56544143");
    refuse_version(VTA_ISA_MAJOR + 1, 1);
    refuse_version(VTA_ISA_MAJOR - 1, VTA_ISA_MINOR);
    refuse_version(VTA_ISA_MAJOR, VTA_ISA_MINOR - 1);
}

static void config_is_read_from_the_registers(void **state)
{
    (void)state;
    vta_diag diag = {0};
    vta_config want;
    vta_config got;
    assert_int_equal(vta_config_load("wide", &want, &diag), VTA_OK);
    mock m = {0};
    expect_id(&m);
    expect_config(&m, &want);
    expect_hash(&m, want.hash);
    vta_mmio page = page_of(&m);
    assert_int_equal(vta_mmio_config(&page, "mock", &got, &diag), VTA_OK);
    assert_all_done(&m);
    assert_int_equal(vta_config_diff(&want, &got, diag.text, sizeof diag.text), 0);

    mock other = {0};
    expect_id(&other);
    expect_config(&other, &want);
    expect_hash(&other, want.hash ^ 1);
    page = page_of(&other);
    diag = (vta_diag){0};
    assert_int_equal(vta_mmio_config(&page, "mock", &got, &diag), VTA_CONFIG_MISMATCH);
    assert_says(&diag, VTA_CONFIG_MISMATCH, "the hardware was built by another release");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_writes_in_order),
        cmocka_unit_test(finish_waits_and_reads_the_counters),
        cmocka_unit_test(finish_leaves_out_upper_words_that_are_zero),
        cmocka_unit_test(finish_decodes_an_error_and_resets),
        cmocka_unit_test(finish_says_where_a_bus_error_was),
        cmocka_unit_test(finish_refuses_an_error_without_meaning),
        cmocka_unit_test(a_timeout_resets),
        cmocka_unit_test(an_interruption_resets),
        cmocka_unit_test(a_reset_that_does_not_help_is_an_error),
        cmocka_unit_test(probe_accepts_its_configuration),
        cmocka_unit_test(probe_names_the_fields_that_differ),
        cmocka_unit_test(probe_refuses_what_is_not_ours),
        cmocka_unit_test(config_is_read_from_the_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
