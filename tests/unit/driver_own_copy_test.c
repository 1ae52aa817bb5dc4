/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that are copied, checked, and run from the copy. After the check everything that the caller gave
 * is overwritten, instructions and micro-ops; the interpreter then runs what the driver would submit, and
 * must leave what the program left that nobody changed. A driver that runs the caller's own memory fails in
 * the first round.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interp.h"
#include "own_copy.h"
#include "progen.h"
#include "rng.h"
#include "seed.h"

enum { ROUNDS = 12, LENGTH = 40, BYTES = 8 << 20 };
static const uint64_t base_addr = UINT64_C(0x123456780000);

/* Memory of a board: one piece, given out from its begin on. */
typedef struct memory {
    uint8_t *bytes;
    uint64_t used, flushed;
} memory;

static vta_status memory_alloc(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    memory *m = self;
    assert_true(at == VTA_ANYWHERE && size > 0);
    if (size > BYTES - m->used) {
        return vta_fail(diag, VTA_NOMEM, "the test's memory is too small");
    }
    *out = (vta_mem){.host = m->bytes + m->used, .addr = base_addr + m->used, .size = size};
    m->used += (size + 4095) / 4096 * 4096;
    return VTA_OK;
}

static void memory_free(void *self, const vta_mem *mem)
{
    (void)self;
    memset(mem->host, 0xee, mem->size);
}

static void *memory_map(void *context, uint64_t addr, uint64_t size)
{
    const memory *m = context;
    const uint64_t at = addr - base_addr;
    return addr >= base_addr && at <= BYTES && size <= BYTES - at ? m->bytes + at : NULL;
}

static vta_bus memory_bus(void *self)
{
    return (vta_bus){memory_map, self};
}

static void memory_flush(void *self, const vta_mem *mem, size_t offset, size_t size)
{
    memory *m = self;
    assert_true(offset + size <= mem->size);
    m->flushed += size;
}

static const vta_backend_ops ops = {
    .alloc = memory_alloc, .free = memory_free, .bus = memory_bus, .flush = memory_flush};

/* A program in the caller's memory. */
typedef struct placed {
    progen_program program;
    vta_mem insns, arena;
    vta_launch launch;
    uint32_t uops; /* the segment of micro-ops */
} placed;

static void place(memory *m, const vta_config *config, uint64_t seed, placed *out)
{
    vta_diag diag = {0};
    *out = (placed){0};
    if (progen_make(config, seed, LENGTH, &out->program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    const progen_program *p = &out->program;
    assert_int_equal(memory_alloc(m, VTA_ANYWHERE, p->insn_count * sizeof *p->insns, &out->insns, &diag),
                     VTA_OK);
    assert_int_equal(memory_alloc(m, VTA_ANYWHERE, p->arena_size, &out->arena, &diag), VTA_OK);
    out->launch = progen_launch(p, out->insns.addr, out->arena.addr);
    while (out->uops < VTA_SEGMENTS - 1 && p->segments[out->uops].style != PROGEN_UOPS) {
        out->uops++;
    }
}

/* Fills the memory with numbers that `seed` draws, instructions too. */
static void fill(placed *p, uint64_t seed)
{
    memcpy(p->insns.host, p->program.insns, p->program.insn_count * sizeof *p->program.insns);
    progen_fill(&p->program, seed, p->arena.host);
}

/* Micro-ops are loaded by way of the segment of something else, which lies before them; false: none does. */
static bool share_segment(placed *p)
{
    const progen_segment *all = p->program.segments;
    uint32_t other = 0;
    while (other < VTA_SEGMENTS &&
           (all[other].style == PROGEN_UNUSED || all[other].offset >= all[p->uops].offset)) {
        other++;
    }
    for (uint32_t i = 0; other < VTA_SEGMENTS && i < p->program.insn_count; i++) {
        vta_insn insn;
        vta_diag diag = {0};
        if (vta_insn_decode(&p->program.config, p->program.insns[i], &insn, &diag) == VTA_OK &&
            insn.opcode == VTA_OP_LOAD && insn.mem.memory == VTA_MEM_UOP) {
            insn.mem.segment = other;
            insn.mem.dram_base += (int64_t)((all[p->uops].offset - all[other].offset) / sizeof(uint32_t));
            assert_int_equal(vta_insn_encode(&p->program.config, &insn, &p->program.insns[i], &diag), VTA_OK);
        }
    }
    return other < VTA_SEGMENTS;
}

static void run(memory *m, const placed *p, const vta_launch *launch)
{
    vta_report report = {0};
    const vta_bus bus = memory_bus(m);
    assert_int_equal(interp_run(&p->program.config, launch, &bus, 0, &report, NULL), VTA_OK);
    assert_int_equal(report.error, VTA_ERROR_NONE);
}

static uint8_t *uops_of(const placed *p)
{
    return (uint8_t *)p->arena.host + p->program.segments[p->uops].offset;
}

static void copy_runs_as_checked(memory *m, placed *p, vta_own_copy *own, uint64_t seed)
{
    vta_launch out;
    vta_diag diag = {0};
    uint8_t *want = malloc(p->arena.size);
    assert_non_null(want);
    fill(p, seed);
    run(m, p, &p->launch);
    memcpy(want, p->arena.host, p->arena.size);
    fill(p, seed);
    m->flushed = 0;
    if (vta_own_copy_check(own, &ops, m, &p->program.config, &p->launch, &out, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    assert_true(m->flushed >= p->insns.size);
    assert_true(out.insn_addr != p->launch.insn_addr && out.insn_count == p->launch.insn_count);
    const size_t size = p->program.segments[p->uops].size;
    memset(p->insns.host, 0xff, p->insns.size);
    memset(uops_of(p), 0xff, size);
    run(m, p, &out);
    memcpy(uops_of(p), want + p->program.segments[p->uops].offset, size);
    assert_memory_equal(p->arena.host, want, p->arena.size);
    free(want);
}

static memory make_memory(void)
{
    const memory m = {.bytes = calloc(1, BYTES)};
    assert_non_null(m.bytes);
    return m;
}

static void what_was_checked_runs(void **state)
{
    static const char *const configs[] = {"tiny", "pynq"};
    (void)state;
    const uint64_t seed = test_seed("driver_own_copy");
    uint32_t shared = 0;
    for (uint32_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        memory m = make_memory();
        vta_own_copy own = {0};
        vta_config config;
        assert_int_equal(vta_config_load(configs[i], &config, NULL), VTA_OK);
        for (uint64_t round = 0; round < ROUNDS; round++) {
            placed p;
            const uint64_t begin = m.used;
            place(&m, &config, seed + round, &p);
            shared += round % 2 == 1 && share_segment(&p);
            copy_runs_as_checked(&m, &p, &own, seed + round);
            copy_runs_as_checked(&m, &p, &own, seed + ROUNDS + round);
            progen_free(&p.program);
            assert_true(m.used > begin);
        }
        free(m.bytes);
    }
    assert_true(shared > 0);
}

/* Bytes that the checker refuses are refused in the words that fit the caller's, and nothing is flushed. */
static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    memory m = make_memory();
    vta_own_copy own = {0};
    vta_config config;
    placed p;
    vta_launch out;
    vta_diag diag = {0};
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
    place(&m, &config, test_seed("driver_own_copy_wrong"), &p);
    fill(&p, 1);
    memset((uint8_t *)p.insns.host + p.insns.size - VTA_INSN_BYTES, 0xff, VTA_INSN_BYTES);
    assert_int_equal(vta_own_copy_check(&own, &ops, &m, &config, &p.launch, &out, &diag),
                     VTA_ILLEGAL_PROGRAM);
    assert_true(m.flushed == 0);
    progen_free(&p.program);
    free(m.bytes);
}

/* A store into the copy itself would change what runs. */
static void copies_are_out_of_reach(void **state)
{
    (void)state;
    memory m = make_memory();
    vta_own_copy own = {0};
    vta_config config;
    placed p;
    vta_launch out;
    vta_insn insn = {0};
    vta_diag diag = {0};
    uint32_t i = 0;
    uint64_t seed = test_seed("driver_own_copy_reach");
    assert_int_equal(vta_config_load("tiny", &config, NULL), VTA_OK);
    do { /* a program that stores */
        place(&m, &config, seed++, &p);
        for (i = 0; i < p.program.insn_count; i++) {
            if (vta_insn_decode(&config, p.program.insns[i], &insn, NULL) == VTA_OK &&
                insn.opcode == VTA_OP_STORE && insn.mem.x_size > 0 && insn.mem.y_size > 0) {
                break;
            }
        }
    } while (i == p.program.insn_count && (progen_free(&p.program), true));
    fill(&p, seed);
    assert_int_equal(vta_own_copy_check(&own, &ops, &m, &config, &p.launch, &out, &diag), VTA_OK);
    const uint64_t at =
        (uint64_t)insn.mem.dram_base * config.elem_bytes[VTA_MEM_OUT] / VTA_BASE_ALIGN * VTA_BASE_ALIGN;
    p.launch.base[insn.mem.segment] = own.insns.addr - at;
    assert_int_equal(vta_own_copy_check(&own, &ops, &m, &config, &p.launch, &out, &diag),
                     VTA_ILLEGAL_PROGRAM);
    progen_free(&p.program);
    free(m.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_checked_runs),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(copies_are_out_of_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
