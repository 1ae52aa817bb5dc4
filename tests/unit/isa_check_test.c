/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker, one instruction after the other: every violation of form and range that it knows, provoked
 * once, by code, place and sentence; and what it must let through.
 */
#include "check_lab.h"

static void whole_program_passes(void **state)
{
    (void)state;
    static const char *const configs[] = {"pynq",  "tiny",    "rect",       "batch2", "ultra96",
                                          "kv260", "pynq_lm", "ultra96_lm", "wide"};
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        bench *b = &shared;
        start(b, configs[i]);
        uop(b, 0, 0, 0);
        uop(b, 0, 1, 1);
        uop(b, 4, 0, 2); /* parameter pair 2: acc 4 and 5 */
        add(b, load(VTA_MEM_UOP, 0, 0, 3));
        add(b, load(VTA_MEM_INP, 0, 0, 8));
        add(b, flags(load(VTA_MEM_WGT, 0, 0, 2), PUSH_NEXT));
        add(b, load(VTA_MEM_ACC, 4, 0, 2));
        add(b, flags(reset(0, 1), POP_PREV));
        add(b, gemm(0, 2));
        vta_insn again = gemm(0, 2);
        again.gemm.init = 0;
        add(b, again);
        add(b, alu(VTA_ALU_MAX, 0, 1, 1, 0));
        add(b, flags(requant(2), PUSH_NEXT));
        add(b, flags(store(4, 0x100, 1), POP_PREV | PUSH_PREV));
        add(b, flags(finish, POP_NEXT));
        expect_ok(b);
    }
}

static void encodings(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 0, 0, 1));
    b->insns[b->launch.insn_count++] = (vta_word){{7, 0}};
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_OPCODE, 1, "opcode", 7, 6},
           "instruction 1 (reserved): opcode 7 (limit: 6): the opcode is reserved");
    b->insns[1] = (vta_word){{4, UINT64_C(7) << 44}};
    expect(
        b, (vta_violation){VTA_ERROR_FIELD, 1, "alu_op", 7, 6},
        "instruction 1 (alu): alu_op 7 (limit: 6): the configuration has no functions on rows (ROWS is 0)");
    b->insns[1] = (vta_word){{0 | 4 << 7, 0}};
    expect(b, (vta_violation){VTA_ERROR_FIELD, 1, "memory", 4, 5},
           "instruction 1 (load): memory 4 (limit: 5): nothing loads into out");
    start(b, "tiny");
    b->insns[b->launch.insn_count++] = (vta_word){{2 | UINT64_C(1) << 60, 0}};
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_FIELD, 0, "reserved bit", 60, 0},
           "instruction 0 (gemm): reserved bit 60 (limit: 0): bits that no field covers must be 0");
}

static void finish_is_last(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    expect(b, (vta_violation){VTA_ERROR_NO_FINISH, 0, "insn_count", 0, 1},
           "instruction 0 (missing): the program is empty, it must end with finish");
    add(b, load(VTA_MEM_INP, 0, 0, 1));
    expect(b, (vta_violation){VTA_ERROR_NO_FINISH, 0, "opcode", 0, 3},
           "instruction 0 (load): the last instruction must be finish");
    add(b, finish);
    expect_ok(b);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_NO_FINISH, 1, "opcode", 1, 2},
           "instruction 1 (finish): 1 instructions come after it");
}

static void programs_outside_memory(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, finish);
    b->launch.insn_addr = PROGRAM - 64;
    expect(b, (vta_violation){VTA_ERROR_FETCH_BUS, 0, "insn_addr", PROGRAM - 64, 0},
           "instruction 0 (missing): there is no memory at 0xfffc0");
    b->launch.insn_addr = UINT64_MAX - 63;
    b->launch.insn_count = UINT32_MAX;
    expect(b, (vta_violation){VTA_ERROR_FETCH_BUS, 0, "insn_addr", -64, 0},
           "instruction 0 (missing): there is no memory at 0xffffffffffffffc0");

    start(b, "pynq");
    for (int i = 0; i < MAX_INSNS; i++) {
        add(b, load(VTA_MEM_INP, 0, 0, 0));
    }
    b->launch.insn_count = UINT32_MAX;
    expect(b, (vta_violation){VTA_ERROR_FETCH_BUS, MAX_INSNS, "insn_addr", PROGRAM, MAX_INSNS},
           "instruction 4096 (missing): the instruction is outside the memory given to the program");

    vta_diag diag = {0};
    b->launch.insn_addr = PROGRAM + 8;
    assert_int_equal(vta_check(&b->config, &b->launch, &b->bus, NULL, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "instruction address 0x100008 is not a multiple of 64");
    diag = (vta_diag){0};
    b->launch.insn_addr = PROGRAM;
    b->launch.base[7] = 32;
    assert_int_equal(vta_check(&b->config, &b->launch, &b->bus, NULL, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "base 0x20 of segment 7 is not a multiple of 64");
}

static void scratchpad_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 2040, 0, 8));
    add(b, finish);
    expect_ok(b);
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 2041, 0, 8));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 0, "sram_base", 2049, 2048},
           "instruction 0 (load): sram_base 2041 and 1 rows of 8 end at 2049, beyond the depth of inp "
           "(limit: 2048)");
    start(b, "pynq");
    vta_insn padded = load(VTA_MEM_INP, 0, 0, 1);
    padded.mem.y_size = 13;
    padded.mem.x_stride = 1;
    padded.mem.x_pad_0 = padded.mem.x_pad_1 = padded.mem.y_pad_0 = 15;
    padded.mem.y_pad_1 = 15;
    add(b, padded);
    add(b, finish);
    expect_ok(b); /* 43 rows of 31: 1333 */
    padded.mem.sram_base = 716;
    start(b, "pynq");
    add(b, padded);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 0, "sram_base", 2049, 2048},
           "instruction 0 (load): sram_base 716 and 43 rows of 31 end at 2049, beyond the depth of inp "
           "(limit: 2048)");

    start(b, "pynq");
    vta_insn huge = load(VTA_MEM_WGT, 0, 0, 65535);
    huge.mem.y_size = 16383;
    huge.mem.x_stride = 65535;
    add(b, huge);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_SRAM_RANGE, 0, "sram_base", INT64_C(16383) * 65535, 1024},
           "instruction 0 (load): sram_base 0 and 16383 rows of 65535 end at 1073659905, beyond the depth of "
           "wgt (limit: "
           "1024)");
}

static void dram_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 0, 0x7ff, 1));
    add(b, finish);
    expect_ok(b);
    start(b, "pynq");
    add(b, load(VTA_MEM_INP, 0, 0x7ff, 2));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DRAM_RANGE, 0, "dram_base", DATA + 0x7ff0, 32},
           "instruction 0 (load): dram_base 2047 in segment 0: 32 bytes at 0x207ff0 are outside the memory "
           "given to the "
           "program");
    start(b, "pynq");
    vta_insn far = load(VTA_MEM_INP, 0, 0xffffffff, 1);
    far.mem.segment = 2;
    add(b, far);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DRAM_RANGE, 0, "dram_base", INT64_C(0xfffffffb0), 16},
           "instruction 0 (load): dram_base 4294967295 in segment 2: 16 bytes at 0xfffffffb0 are outside the "
           "memory given to "
           "the program");
    start(b, "pynq");
    vta_insn rows = load(VTA_MEM_INP, 0, 0, 1);
    rows.mem.y_size = 3;
    rows.mem.x_stride = 0x400;
    add(b, rows);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_DRAM_RANGE, 0, "dram_base", DATA + 0x8000, 16},
           "instruction 0 (load): dram_base 0 in segment 0: 16 bytes at 0x208000 are outside the memory "
           "given to the program");
    rows.mem.y_size = 2;
    start(b, "pynq");
    add(b, rows);
    add(b, finish);
    expect_ok(b);
    /* Rows in two blocks: the bounding range is no one block, each row is. */
    rows.mem.x_stride = 0x10000;
    rows.mem.x_stride--;
    rows.mem.dram_base = 1;
    start(b, "pynq");
    add(b, rows);
    add(b, finish);
    expect_ok(b);
}

static void micro_op_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 0, 0, 0);
    prologue(b);
    add(b, flags(gemm(0, 257), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UOP_RANGE, 3, "uop_end", 256, 255},
           "instruction 3 (gemm): uop_end: micro-op 256 is out of range (limit: 255)");
    start(b, "tiny");
    add(b, requant(4000));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_UOP_RANGE, 0, "uop", 4000, 255},
           "instruction 0 (requant): uop: micro-op 4000 is out of range (limit: 255)");
    start(b, "tiny");
    vta_insn idle = requant(4000);
    idle.requant.iter_in = 0;
    add(b, idle);
    add(b, gemm(5, 5));
    add(b, gemm(6, 5));
    idle = gemm(0, 511);
    idle.gemm.iter_out = 0;
    add(b, idle);
    add(b, finish);
    expect_ok(b);
}

static void index_ranges(void **state)
{
    (void)state;
    bench *b = &shared;
    start(b, "tiny");
    uop(b, 126, 0, 0);
    uop(b, 127, 250, 126);
    prologue(b);
    vta_insn insn = flags(reset(0, 2), POP_PREV);
    insn.gemm.iter_in = 2;
    insn.gemm.dst_in = 1;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "dst", 128, 127},
           "instruction 3 (gemm): dst of micro-op 1 reaches 128, out of range of acc (limit: 127)");

    b->launch.insn_count = 3;
    insn = flags(gemm(1, 2), POP_PREV);
    insn.gemm.iter_out = 16383;
    insn.gemm.src_out = 255;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_INP_RANGE, 3, "src", 250 + 16382 * 255, 255},
           "instruction 3 (gemm): src of micro-op 1 reaches 4177660, out of range of inp (limit: 255)");

    b->launch.insn_count = 3;
    insn.gemm.src_out = 0;
    insn.gemm.iter_out = 3;
    insn.gemm.wgt_out = 1;
    add(b, insn);
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_WGT_RANGE, 3, "aux", 128, 127},
           "instruction 3 (gemm): aux of micro-op 1 reaches 128, out of range of wgt (limit: 127)");

    b->launch.insn_count = 3;
    add(b, flags(alu(VTA_ALU_ADD, 1, 2, 1, 1), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "src", 250, 127},
           "instruction 3 (alu): src of micro-op 1 reaches 250, out of range of acc (limit: 127)");

    start(b, "tiny");
    uop(b, 0, 0, 64);
    prologue(b);
    add(b, flags(requant(0), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "aux", 64, 63},
           "instruction 3 (requant): aux of micro-op 0 names parameter pair 64, out of range of acc (limit: "
           "63)");

    start(
        b,
        "{\"LOG_BLOCK\": 2, \"LOG_UOP_BUFF_SIZE\": 10, \"LOG_INP_BUFF_SIZE\": 10, \"LOG_WGT_BUFF_SIZE\": 11,"
        " \"LOG_ACC_BUFF_SIZE\": 11, \"ROWS\": 1}");
    uop(b, 0, 0, 61);
    prologue(b);
    insn = flags(requant(0), POP_PREV);
    insn.requant.by_row = 1;
    insn.requant.iter_out = 4;
    add(b, insn);
    add(b, finish);
    expect(
        b, (vta_violation){VTA_ERROR_ACC_RANGE, 3, "aux", 64, 63},
        "instruction 3 (requant): aux of micro-op 0 reaches parameter pair 64, out of range of acc (limit: "
        "63)");

    start(b, "tiny");
    uop(b, 0, 251, 0);
    prologue(b);
    add(b, flags(depthwise(0, 1, 2, 2), POP_PREV));
    add(b, finish);
    expect(b, (vta_violation){VTA_ERROR_INP_RANGE, 3, "src", 256, 255},
           "instruction 3 (depthwise): src of micro-op 0 reaches 256, out of range of inp (limit: 255)");

    /* Fields that take no part are not looked at: a reset's src and wgt, a window without taps. */
    start(b, "tiny");
    uop(b, 0, 255, 127);
    prologue(b);
    insn = flags(reset(0, 1), POP_PREV);
    insn.gemm.iter_in = 2;
    insn.gemm.src_in = insn.gemm.wgt_in = 1;
    add(b, insn);
    insn = depthwise(0, 1, 0, 3);
    insn.depthwise.iter_in = 2;
    insn.depthwise.src_in = 1;
    add(b, insn);
    add(b, finish);
    expect_ok(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_program_passes), cmocka_unit_test(encodings),
        cmocka_unit_test(finish_is_last),       cmocka_unit_test(programs_outside_memory),
        cmocka_unit_test(scratchpad_ranges),    cmocka_unit_test(dram_ranges),
        cmocka_unit_test(micro_op_ranges),      cmocka_unit_test(index_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
