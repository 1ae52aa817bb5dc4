/* SPDX-License-Identifier: Apache-2.0
 *
 * The device interface: URIs, memory, runs, and every error with its sentence, on the functional simulator
 * and on a register-level device (driver_fake_rtlsim.c, the argument).
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "temporary.h"
#include "vta/driver.h"
#include "vta/file.h"

static const char *fake_path;

static void assert_says(const vta_diag *diag, vta_status code, const char *part)
{
    if (diag->code != code || strstr(diag->text, part) == NULL) {
        fail_msg("status %d, '%s'; expected status %d and '%s'", (int)diag->code, diag->text, (int)code,
                 part);
    }
}

static vta_device *open_device(const char *uri)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return device;
}

static void assert_open_fails(const char *uri, vta_status code, const char *part)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    assert_int_equal(vta_device_open(uri, NULL, &device, &diag), code);
    assert_null(device);
    assert_says(&diag, code, part);
}

/* A program: y[i] = x[i] + 1 on `TILES` tiles of int8, x in segment 0, y in 1, the micro-op in 2. */

enum { TILES = 8, INSNS = 16 };

typedef struct program {
    vta_device *device;
    vta_mem insns, x, y, uop;
    vta_launch launch;
} program;

static void emit(program *p, vta_insn insn)
{
    vta_diag diag = {0};
    vta_word *words = p->insns.host;
    if (vta_insn_encode(vta_device_config(p->device), &insn, &words[p->launch.insn_count], &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    p->launch.insn_count++;
}

static vta_insn transfer(vta_opcode opcode, vta_memory memory, uint32_t segment, int64_t count)
{
    vta_insn insn = {.opcode = opcode};
    insn.mem.memory = memory;
    insn.mem.segment = segment;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    insn.mem.x_stride = count;
    return insn;
}

static vta_insn add_one(void)
{
    vta_insn insn = {.opcode = VTA_OP_ALU};
    insn.alu.uop_end = 1;
    insn.alu.iter_out = 1;
    insn.alu.iter_in = TILES;
    insn.alu.dst_in = 1;
    insn.alu.src_in = 1;
    insn.alu.alu_op = VTA_ALU_ADD;
    insn.alu.use_imm = 1;
    insn.alu.imm = 1;
    return insn;
}

static program make_program(vta_device *device)
{
    program p = {.device = device};
    const size_t bytes = (size_t)TILES * vta_device_config(device)->elem_bytes[VTA_MEM_OUT];
    assert_int_equal(vta_device_alloc(device, INSNS * sizeof(vta_word), &p.insns, NULL), VTA_OK);
    assert_int_equal(vta_device_alloc(device, bytes, &p.x, NULL), VTA_OK);
    assert_int_equal(vta_device_alloc(device, bytes, &p.y, NULL), VTA_OK);
    assert_int_equal(vta_device_alloc(device, 64, &p.uop, NULL), VTA_OK);
    p.launch.insn_addr = p.insns.addr;
    p.launch.base[0] = p.x.addr;
    p.launch.base[1] = p.y.addr;
    p.launch.base[2] = p.uop.addr;
    emit(&p, transfer(VTA_OP_LOAD, VTA_MEM_UOP, 2, 1));
    emit(&p, transfer(VTA_OP_LOAD, VTA_MEM_ACC8, 0, TILES));
    vta_insn alu = add_one();
    alu.push_next = 1;
    emit(&p, alu);
    vta_insn store = transfer(VTA_OP_STORE, VTA_MEM_OUT, 1, TILES);
    store.pop_prev = 1;
    emit(&p, store);
    emit(&p, (vta_insn){.opcode = VTA_OP_FINISH});
    return p;
}

static void free_program(program *p)
{
    vta_device_free(p->device, &p->insns);
    vta_device_free(p->device, &p->x);
    vta_device_free(p->device, &p->y);
    vta_device_free(p->device, &p->uop);
}

/* Runs with data that `seed` decides and compares with C. */
static void run_and_compare(program *p, int seed)
{
    vta_diag diag = {0};
    int8_t *x = p->x.host;
    const int8_t *y = p->y.host;
    for (size_t i = 0; i < p->x.size; i++) {
        x[i] = (int8_t)((int)i * 5 + seed);
    }
    vta_device_flush(p->device, &p->x, 0, p->x.size);
    vta_device_flush(p->device, &p->insns, 0, p->insns.size);
    if (vta_device_submit(p->device, &p->launch, &diag) != VTA_OK ||
        vta_device_wait(p->device, 60, NULL, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_device_invalidate(p->device, &p->y, 0, p->y.size);
    for (size_t i = 0; i < p->y.size; i++) {
        assert_int_equal(y[i], (int8_t)(x[i] + 1));
    }
}

static vta_status submit_and_wait(program *p, double timeout_s, vta_report *report, vta_diag *diag)
{
    VTA_TRY(vta_device_submit(p->device, &p->launch, diag));
    return vta_device_wait(p->device, timeout_s, report, diag);
}

/* Opening. */

static void the_registry_lists_every_kind(void **state)
{
    (void)state;
    uint32_t count = 0;
    const vta_device_kind *kinds = vta_device_kinds(&count);
    assert_true(count >= 3);
    assert_string_equal(kinds[0].scheme, "fsim");
    assert_true(kinds[0].available);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(strlen(kinds[i].doc) > 10);
    }
}

static void bad_uris_are_refused(void **state)
{
    (void)state;
    assert_open_fails("warp", VTA_NO_DEVICE, "unknown device 'warp'; known are 'fsim', 'tsim', 'systemc'");
    assert_open_fails("", VTA_NO_DEVICE, "unknown device ''; known are");
    assert_open_fails("fsim?speed=1", VTA_INVALID,
                      "device 'fsim' has no option 'speed'; it has 'strict', 'check'");
    assert_open_fails("fsim?strict", VTA_INVALID,
                      "device option 'strict' has no value; write 'strict=VALUE'");
    assert_open_fails("fsim?strict=2", VTA_INVALID,
                      "device option 'strict=2': expected a number from 0 to 1");
    assert_open_fails("fsim?strict=", VTA_INVALID, "device option 'strict=': expected a number from 0 to 1");
    assert_open_fails("fsim?strict=1&strict=1", VTA_INVALID, "device option 'strict' is given twice");
    assert_open_fails("tsim?stall=100", VTA_INVALID,
                      "device option 'stall=100': expected a number from 0 to 99");
    assert_open_fails("tsim?trace=", VTA_INVALID, "device option 'trace' has no value (file for FST waves)");
    assert_open_fails("tsim?form=slow", VTA_INVALID,
                      "device 'tsim': 'form' is 'slow'; expected 'quick' or 'built'");
    assert_open_fails("tsim?memory=dram", VTA_INVALID, "device 'tsim' has no option 'memory'");
    assert_open_fails("tsim?seed=18446744073709551616", VTA_INVALID, "expected a number from 0 to");
    vta_diag diag = {0};
    vta_device *device = NULL;
    assert_int_not_equal(vta_device_open("fsim:pinq", NULL, &device, &diag), VTA_OK);
    assert_non_null(strstr(diag.text, "pinq"));
}

static void a_configuration_can_be_a_file(void **state)
{
    (void)state;
    char path[TEMPORARY_PATH];
    assert_true(temporary_file(path, ".json"));
    vta_config config;
    assert_int_equal(vta_config_load("rect", &config, NULL), VTA_OK);
    char *json = vta_config_to_json(&config);
    assert_int_equal(vta_file_write(path, json, strlen(json), NULL), VTA_OK);
    free(json);
    char uri[TEMPORARY_PATH + 16];
    (void)snprintf(uri, sizeof uri, "fsim:%s?strict=1", path);
    vta_device *device = open_device(uri);
    assert_true(vta_device_config(device)->hash == config.hash);
    assert_string_equal(vta_device_uri(device), uri);
    vta_device_close(device);
    (void)remove(path);
}

static void another_configuration_is_named_field_by_field(void **state)
{
    (void)state;
    vta_diag diag = {0};
    vta_config pynq;
    vta_device *device = NULL;
    vta_config_default(&pynq);
    assert_int_equal(vta_device_open("fsim:ultra96", &pynq, &device, &diag), VTA_CONFIG_MISMATCH);
    assert_says(&diag, VTA_CONFIG_MISMATCH,
                "made for configuration 'pynq', but device 'fsim:ultra96' differs in");
    assert_says(&diag, VTA_CONFIG_MISMATCH, "LOG_BLOCK_IN 4 != 5");
    assert_says(&diag, VTA_CONFIG_MISMATCH, "use '--device fsim:pynq'");
    assert_says(&diag, VTA_CONFIG_MISMATCH, "'--config ultra96'");
    assert_int_equal(vta_device_open("fsim:pynq", &pynq, &device, NULL), VTA_OK);
    vta_device_close(device);
    vta_device_close(NULL);
}

/* Memory. */

static void memory_is_checked(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny");
    vta_diag diag = {0};
    vta_mem a;
    vta_mem b;
    assert_int_equal(vta_device_alloc(device, 0, &a, &diag), VTA_INVALID);
    assert_says(&diag, VTA_INVALID, "device 'fsim:tiny': cannot allocate 0 bytes");
    assert_int_equal(vta_device_alloc_at(device, 0x40000, 4096, &a, NULL), VTA_OK);
    assert_true(a.addr == 0x40000);
    assert_int_not_equal(vta_device_alloc_at(device, 0x40800, 4096, &b, NULL), VTA_OK);
    assert_null(b.host);
    vta_device_free(device, &b);
    assert_int_equal(vta_device_alloc(device, 100, &b, NULL), VTA_OK);
    assert_true(b.addr % VTA_BASE_ALIGN == 0);
    const vta_bus bus = vta_device_bus(device);
    assert_ptr_equal(bus.map(bus.context, b.addr + 10, 90), (uint8_t *)b.host + 10);
    vta_device_free(device, &a);
    assert_null(a.host);
    assert_null(bus.map(bus.context, 0x40000, 1));
    vta_device_free(device, &b);
    vta_device_close(device);
}

/* Running. */

static void runs_twice_on(const char *uri)
{
    vta_device *device = open_device(uri);
    program p = make_program(device);
    run_and_compare(&p, 3);
    run_and_compare(&p, 90);
    assert_int_equal(vta_device_reset(device, NULL), VTA_OK);
    run_and_compare(&p, -7);
    free_program(&p);
    vta_device_close(device);
}

static void programs_run_again_and_again(void **state)
{
    (void)state;
    runs_twice_on("fsim");
    runs_twice_on("fsim:tiny?strict=1&check=1");
    runs_twice_on("fsim:batch2?check=1");
}

static void bad_launches_are_refused(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny");
    program p = make_program(device);
    vta_diag diag = {0};
    const vta_launch good = p.launch;
    p.launch.insn_count = 0;
    assert_int_equal(vta_device_submit(device, &p.launch, &diag), VTA_INVALID);
    assert_says(&diag, VTA_INVALID, "the program is empty; it needs at least a finish instruction");
    diag = (vta_diag){0};
    p.launch = good;
    p.launch.insn_addr += 16;
    assert_int_equal(vta_device_submit(device, &p.launch, &diag), VTA_INVALID);
    assert_says(&diag, VTA_INVALID, "is not a multiple of 64");
    diag = (vta_diag){0};
    p.launch = good;
    p.launch.base[5] = 63;
    assert_int_equal(vta_device_submit(device, &p.launch, &diag), VTA_INVALID);
    assert_says(&diag, VTA_INVALID, "base 0x3f of segment 5 is not a multiple of 64");
    diag = (vta_diag){0};
    p.launch = good;
    p.launch.insn_count = UINT32_MAX;
    assert_int_equal(vta_device_submit(device, &p.launch, &diag), VTA_RANGE);
    assert_says(&diag, VTA_RANGE, "4294967295 instructions at address 0x");
    diag = (vta_diag){0};
    assert_int_equal(vta_device_wait(device, 1, NULL, &diag), VTA_INVALID);
    assert_says(&diag, VTA_INVALID, "device 'fsim:tiny' is idle; nothing was submitted");
    diag = (vta_diag){0};
    assert_int_equal(vta_device_submit(device, &good, &diag), VTA_OK);
    assert_int_equal(vta_device_submit(device, &good, &diag), VTA_BUSY);
    assert_says(&diag, VTA_BUSY, "device 'fsim:tiny' is running; wait for it first");
    assert_int_equal(vta_device_wait(device, 60, NULL, NULL), VTA_OK);
    free_program(&p);
    vta_device_close(device);
}

static void broken_programs_end_on(const char *uri)
{
    vta_device *device = open_device(uri);
    program p = make_program(device);
    vta_word *words = p.insns.host;
    const vta_word good = words[2];
    const uint64_t base = p.launch.base[1];
    vta_diag diag = {0};
    vta_report report;

    words[2].w[0] |= 7; /* the reserved opcode */
    assert_int_equal(submit_and_wait(&p, 60, &report, &diag), VTA_ILLEGAL_INSN);
    assert_says(&diag, VTA_ILLEGAL_INSN, "illegal instruction on device");
    assert_says(&diag, VTA_ILLEGAL_INSN, "reserved opcode, instruction 2");
    assert_int_equal(report.error, VTA_ERROR_OPCODE);
    assert_int_equal(report.insn, 2);

    diag = (vta_diag){0};
    p.launch.insn_count = 2;
    vta_insn alu = add_one();
    alu.push_next = 1;
    alu.alu.dst_in = vta_device_config(device)->depth[VTA_MEM_ACC] - 1;
    emit(&p, alu);
    p.launch.insn_count = 5;
    assert_int_equal(submit_and_wait(&p, 60, &report, &diag), VTA_ILLEGAL_INSN);
    assert_says(&diag, VTA_ILLEGAL_INSN,
                "accumulator index out of range, instruction 2 (compute unit): 'alu.add 0, 1");

    diag = (vta_diag){0};
    words[2] = good;
    p.launch.base[1] = UINT64_C(0x7fffff000000);
    assert_int_equal(submit_and_wait(&p, 60, &report, &diag), VTA_BUS_ERROR);
    assert_says(&diag, VTA_BUS_ERROR,
                "the memory refused a write, instruction 3 (store unit): '[pop prev] store");

    diag = (vta_diag){0};
    p.launch.base[1] = base;
    p.launch.insn_count = 4;
    assert_int_equal(submit_and_wait(&p, 60, &report, &diag), VTA_ILLEGAL_PROGRAM);
    assert_says(&diag, VTA_ILLEGAL_PROGRAM, "FINISH missing, or not the last instruction");

    p.launch.insn_count = 5;
    run_and_compare(&p, 11);
    free_program(&p);
    vta_device_close(device);
}

static void broken_programs_end_with_a_sentence(void **state)
{
    (void)state;
    broken_programs_end_on("fsim:tiny?check=0");
    broken_programs_end_on("fsim?check=0");
}

static void the_checker_stands_before_the_device(void **state)
{
    (void)state;
    assert_int_equal(setenv("VTA_CHECK", "0", 1), 0);
    vta_device *trusting = open_device("fsim:tiny");
    vta_device *checking = open_device("fsim:tiny?check=1");
    assert_int_equal(setenv("VTA_CHECK", "1", 1), 0);
    vta_device *told = open_device("fsim:tiny");
    assert_int_equal(unsetenv("VTA_CHECK"), 0);
    vta_device *devices[] = {trusting, checking, told};
    for (int i = 0; i < 3; i++) {
        program p = make_program(devices[i]);
        vta_diag diag = {0};
        p.launch.insn_count = 2; /* the same, but the store does not wait */
        emit(&p, add_one());
        emit(&p, transfer(VTA_OP_STORE, VTA_MEM_OUT, 1, TILES));
        p.launch.insn_count++;
        const vta_status status = submit_and_wait(&p, 60, NULL, &diag);
        assert_int_equal(status, i == 0 ? VTA_OK : VTA_ILLEGAL_PROGRAM);
        if (i > 0) {
            assert_says(&diag, VTA_ILLEGAL_PROGRAM, "no token orders them");
        }
        free_program(&p);
        vta_device_close(devices[i]);
    }
}

/* A run of many seconds: 400 instructions of 8 million steps. */
static void make_long(program *p)
{
    enum { LONG = 400 };
    vta_device_free(p->device, &p->insns);
    assert_int_equal(vta_device_alloc(p->device, (LONG + 2) * sizeof(vta_word), &p->insns, NULL), VTA_OK);
    p->launch.insn_addr = p->insns.addr;
    p->launch.insn_count = 0;
    emit(p, transfer(VTA_OP_LOAD, VTA_MEM_UOP, 2, 1));
    vta_insn alu = add_one(); /* the same entry over and over */
    alu.alu.iter_out = 500;
    alu.alu.iter_in = 16383;
    alu.alu.dst_in = 0;
    alu.alu.src_in = 0;
    for (int i = 0; i < LONG; i++) {
        emit(p, alu);
    }
    emit(p, (vta_insn){.opcode = VTA_OP_FINISH});
}

static void a_timeout_stops_the_run(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny?check=0");
    program p = make_program(device);
    program slow = make_program(device);
    make_long(&slow);
    for (int i = 0; i < 2; i++) {
        vta_diag diag = {0};
        assert_int_equal(submit_and_wait(&slow, 0.02, NULL, &diag), VTA_TIMEOUT);
        assert_says(&diag, VTA_TIMEOUT,
                    "timeout: device 'fsim:tiny?check=0' did not finish within 0.02 s and was reset");
        run_and_compare(&p, i);
    }
    assert_int_equal(vta_device_submit(device, &slow.launch, NULL), VTA_OK);
    assert_int_equal(vta_device_reset(device, NULL), VTA_OK);
    run_and_compare(&p, 5);
    assert_int_equal(vta_device_submit(device, &slow.launch, NULL), VTA_OK);
    vta_device_close(device); /* in mid-run */
}

/* From another thread, in the middle of a run and before one. */

static void *interrupt_soon(void *device)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    vta_device_interrupt(device);
    return NULL;
}

static void interrupts_end_on(vta_device *device, program *slow)
{
    program p = make_program(device);
    for (int i = 0; i < 2; i++) {
        vta_diag diag = {0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, device), 0);
        assert_int_equal(submit_and_wait(slow, 0, NULL, &diag), VTA_INTERRUPTED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_says(&diag, VTA_INTERRUPTED, "was stopped and reset");
        run_and_compare(&p, i);
        vta_device_interrupt(device);
        assert_int_equal(submit_and_wait(&p, 0, NULL, NULL), VTA_INTERRUPTED);
        run_and_compare(&p, i + 2);
    }
    free_program(&p);
}

static void an_interrupt_stops_the_run(void **state)
{
    (void)state;
    vta_device *device = open_device("fsim:tiny?check=0");
    program slow = make_program(device);
    make_long(&slow);
    interrupts_end_on(device, &slow);
    free_program(&slow);
    vta_device_close(device);
}

/* Two devices at once. */

static void *run_often(void *uri)
{
    vta_device *device = open_device(uri);
    program p = make_program(device);
    for (int i = 0; i < 200; i++) {
        run_and_compare(&p, i);
    }
    free_program(&p);
    vta_device_close(device);
    return NULL;
}

static void two_devices_run_at_once(void **state)
{
    (void)state;
    char tiny[] = "fsim:tiny?check=1";
    char pynq[] = "fsim:pynq";
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, run_often, tiny), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, run_often, pynq), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
}

/* A device behind registers. */

static const char *fake_uri(char *text, size_t size, const char *place, const char *options)
{
    (void)snprintf(text, size, "tsim:%s?object=%s%s", place, fake_path, options);
    return text;
}

static void register_devices_do_the_same(void **state)
{
    (void)state;
    char uri[4200];
    runs_twice_on(fake_uri(uri, sizeof uri, "tiny", "&check=0"));
    broken_programs_end_on(uri);
    vta_device *device = open_device(uri);
    program p = make_program(device);
    vta_report report;
    assert_int_equal(submit_and_wait(&p, 60, &report, NULL), VTA_OK);
    assert_int_equal(report.counters.cycles, 5);
    free_program(&p);
    vta_device_close(device);
}

static void register_devices_can_fail(void **state)
{
    (void)state;
    char uri[4200];
    vta_diag diag = {0};
    vta_device *device = open_device(fake_uri(uri, sizeof uri, "tiny", "&stall=99"));
    program p = make_program(device);
    assert_int_equal(submit_and_wait(&p, 0.01, NULL, &diag), VTA_TIMEOUT);
    assert_says(&diag, VTA_TIMEOUT, "did not finish within 0.01 s and was reset");
    pthread_t thread;
    diag = (vta_diag){0};
    assert_true(vta_device_cycles(device) > 0);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, device), 0);
    assert_int_equal(submit_and_wait(&p, 0, NULL, &diag), VTA_INTERRUPTED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_says(&diag, VTA_INTERRUPTED, "was stopped and reset");
    free_program(&p);
    vta_device_close(device);

    diag = (vta_diag){0};
    device = open_device(fake_uri(uri, sizeof uri, "tiny", "&seed=13"));
    p = make_program(device);
    assert_int_equal(submit_and_wait(&p, 1, NULL, &diag), VTA_PROTOCOL);
    assert_says(&diag, VTA_PROTOCOL,
                "device 'tsim': the simulated hardware broke a rule: AXI: WLAST missing");
    free_program(&p);
    vta_device_close(device);

    assert_open_fails(fake_uri(uri, sizeof uri, "tiny", "&latency=0"), VTA_NO_DEVICE,
                      "device 'tsim' does not start: latency 0 is not possible");
    assert_open_fails(fake_uri(uri, sizeof uri, "pynq", ""), VTA_CONFIG_MISMATCH,
                      "device 'tsim' does not have configuration 'pynq': it differs in");
    assert_open_fails("tsim:tiny?object=/nowhere/sim.so", VTA_IO,
                      "device 'tsim': cannot load simulator '/nowhere/sim.so'");
    assert_open_fails("tsim:tiny?object=libm.so.6", VTA_PROTOCOL,
                      "'libm.so.6' is no simulator of this release");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_lists_every_kind),
        cmocka_unit_test(bad_uris_are_refused),
        cmocka_unit_test(a_configuration_can_be_a_file),
        cmocka_unit_test(another_configuration_is_named_field_by_field),
        cmocka_unit_test(memory_is_checked),
        cmocka_unit_test(programs_run_again_and_again),
        cmocka_unit_test(bad_launches_are_refused),
        cmocka_unit_test(broken_programs_end_with_a_sentence),
        cmocka_unit_test(the_checker_stands_before_the_device),
        cmocka_unit_test(a_timeout_stops_the_run),
        cmocka_unit_test(an_interrupt_stops_the_run),
        cmocka_unit_test(two_devices_run_at_once),
        cmocka_unit_test(register_devices_do_the_same),
        cmocka_unit_test(register_devices_can_fail),
    };
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s FAKE_SIMULATOR\n", argv[0]);
        return 2;
    }
    fake_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
