/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded streams: each argument that is refused, by its message.
 */
#include <stdio.h>

#include "stream_lab.h"

typedef void bad_call(fixture *f);

static void assert_fails(bad_call *provoke, vta_status code, const char *part)
{
    vta_diag diag = {0};
    vta_code *sealed = NULL;
    fixture f = begin();
    provoke(&f);
    assert_int_equal(vta_stream_status(f.s), code);
    store_at(&f, 1 << 20, 0, 1); /* the first failure stays */
    assert_int_equal(vta_stream_finish(f.s, &sealed, &diag), code);
    assert_null(sealed);
    assert_says(&diag, code, part);
    vta_stream_destroy(f.s);
}

static void load_uop(fixture *f)
{
    load(f, VTA_MEM_UOP, 0, 0, 1);
}
static void load_out(fixture *f)
{
    load(f, VTA_MEM_OUT, 0, 0, 1);
}
static void load_too_wide(fixture *f)
{
    load(f, VTA_MEM_INP, 0, 0, 70000);
}
static void load_too_high(fixture *f)
{
    vta_stream_load2d(f->s,
                      &(vta_load2d){.memory = VTA_MEM_INP, .buffer = f->in, .y_size = 16384, .x_size = 1});
}
static void load_negative(fixture *f)
{
    load(f, VTA_MEM_INP, -1, 0, 1);
}
static void load_far(fixture *f)
{
    load(f, VTA_MEM_INP, 0, INT64_C(1) << 32, 1);
}
static void load_pad(fixture *f)
{
    vta_stream_load2d(
        f->s, &(vta_load2d){.memory = VTA_MEM_INP, .buffer = f->in, .y_size = 1, .x_size = 1, .x_pad_0 = 17});
}
static void load_pad_value(fixture *f)
{
    vta_stream_load2d(
        f->s,
        &(vta_load2d){.memory = VTA_MEM_INP, .buffer = f->in, .y_size = 1, .x_size = 1, .pad_value = 200});
}
static void load_beyond_scratchpad(fixture *f)
{
    load(f, VTA_MEM_INP, 2000, 0, 49);
}
static void load_beyond_buffer(fixture *f)
{
    load(f, VTA_MEM_WGT, 0, 4095, 2);
}
static void load_undeclared(fixture *f)
{
    f->in.index = 5;
    load(f, VTA_MEM_INP, 0, 0, 1);
}
static void store_beyond_scratchpad(fixture *f)
{
    store_at(f, 2040, 0, 9);
}
static void store_beyond_buffer(fixture *f)
{
    vta_stream_store2d(
        f->s, &(vta_store2d){.buffer = f->out, .offset = 65000, .y_size = 3, .x_size = 1, .x_stride = 300});
}
static void gemm_beyond_acc(fixture *f)
{
    vta_stream_gemm(
        f->s, &(vta_gemm){.kernel = f->unit, .reset = true, .iter_out = 1, .iter_in = 2049, .dst_in = 1});
}
static void gemm_beyond_inp(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 3, .iter_in = 1, .src_out = 1024});
}
static void gemm_beyond_wgt(fixture *f)
{
    vta_stream_gemm(
        f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 2, .iter_in = 2, .wgt_out = 1000, .wgt_in = 24});
}
static void gemm_iterations(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 16384, .iter_in = 1});
}
static void gemm_step(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = f->unit, .iter_out = 1, .iter_in = 1, .dst_out = 2048});
}
static void gemm_reset_and_init(fixture *f)
{
    vta_stream_gemm(f->s,
                    &(vta_gemm){.kernel = f->unit, .reset = true, .init = true, .iter_out = 1, .iter_in = 1});
}
static void gemm_no_kernel(fixture *f)
{
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = {99}, .iter_out = 1, .iter_in = 1});
}
static void alu_immediate(fixture *f)
{
    vta_stream_alu(f->s, &(vta_alu){.kernel = f->unit,
                                    .op = VTA_ALU_ADD,
                                    .use_imm = true,
                                    .imm = 70000,
                                    .iter_out = 1,
                                    .iter_in = 1});
}
static void alu_shift(fixture *f)
{
    vta_stream_alu(
        f->s,
        &(vta_alu){
            .kernel = f->unit, .op = VTA_ALU_SHR, .use_imm = true, .imm = 32, .iter_out = 1, .iter_in = 1});
}
static void alu_operation(fixture *f)
{
    vta_stream_alu(f->s, &(vta_alu){.kernel = f->unit, .op = (vta_alu_op)7, .iter_out = 1, .iter_in = 1});
}
static void alu_row(fixture *f)
{
    vta_stream_alu(f->s, &(vta_alu){.kernel = f->unit,
                                    .op = VTA_ALU_ROW,
                                    .row = {.function = VTA_ROW_RECIP, .places = 64},
                                    .iter_out = 1,
                                    .iter_in = 1});
}
static void requant_rows(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 3, .iter_in = 1, .by_row = true, .params = 1022});
}
static void requant_long(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .long_result = true});
}
static void table_number(fixture *f)
{
    vta_stream_table(f->s, 2, (vta_buffer){0}, 0);
}
static void table_offset(fixture *f)
{
    vta_stream_table(f->s, 0, (vta_buffer){0}, 128);
}
static void requant_table(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .high = 5, .table = 3});
}
static void requant_part(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .to_inp = true, .part = 1});
}
static void requant_input_range(fixture *f)
{
    vta_stream_requant(f->s,
                       &(vta_requant){.iter_out = 1, .iter_in = 3, .dst = 2046, .dst_in = 1, .to_inp = true});
}
static void requant_record(fixture *f)
{
    vta_stream_requant(f->s,
                       &(vta_requant){.iter_out = 1, .iter_in = 1, .high = 5, .wide = true, .params = 512});
}
static void alu_source(fixture *f)
{
    vta_stream_alu(
        f->s,
        &(vta_alu){
            .kernel = f->unit, .op = VTA_ALU_ADD, .iter_out = 2, .iter_in = 2, .src_out = 2047, .src_in = 1});
}
static void requant_params(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.params = 1024, .iter_out = 1, .iter_in = 1});
}
static void requant_range(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .low = 5, .high = 4});
}
static void requant_zero_point(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.iter_out = 1, .iter_in = 1, .zero_point = 128});
}
static void requant_destination(fixture *f)
{
    vta_stream_requant(f->s, &(vta_requant){.dst = 2048, .iter_out = 1, .iter_in = 1});
}
static void depthwise_taps(fixture *f)
{
    vta_stream_depthwise(
        f->s, &(vta_depthwise){.kernel = f->unit, .iter_out = 1, .iter_in = 1, .taps_x = 5, .taps_y = 4});
}
static void depthwise_source(fixture *f)
{
    vta_stream_depthwise(f->s, &(vta_depthwise){.kernel = f->unit,
                                                .iter_out = 9,
                                                .iter_in = 1,
                                                .src_out = 250,
                                                .taps_x = 3,
                                                .taps_y = 3,
                                                .col_step = 1,
                                                .row_step = 30});
}
static void kernel_empty(fixture *f)
{
    (void)vta_stream_kernel(f->s, &(vta_uop){0}, 0);
}
static void kernel_too_long(fixture *f)
{
    static const vta_uop uops[8193];
    (void)vta_stream_kernel(f->s, uops, 8193);
}
static void kernel_field(fixture *f)
{
    (void)vta_stream_kernel(f->s, &(vta_uop){.dst = 2048}, 1);
}
static void buffers_too_many(fixture *f)
{
    char name[16];
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "b%d", i);
        (void)vta_stream_buffer(f->s, name, 64);
    }
}
static void buffer_twice(fixture *f)
{
    (void)vta_stream_buffer(f->s, "x", 64);
}
static void buffer_empty(fixture *f)
{
    (void)vta_stream_buffer(f->s, "z", 0);
}

static void buffer_of_odd_size(fixture *f)
{
    (void)vta_stream_buffer(f->s, "odd", 18);
}

static void buffer_of_bad_name(fixture *f)
{
    (void)vta_stream_buffer(f->s, "a\nb", 16);
}
static void flags_without_manual(fixture *f)
{
    vta_stream_flags(f->s, VTA_POP_PREV);
}
static void flags_unknown(fixture *f)
{
    vta_stream_manual(f->s);
    vta_stream_flags(f->s, 16);
}
static void manual_late(fixture *f)
{
    load(f, VTA_MEM_INP, 0, 0, 1);
    vta_stream_manual(f->s);
}
static void manual_barrier(fixture *f)
{
    vta_stream_manual(f->s);
    vta_stream_barrier(f->s);
}
static void nop_of_fetch(fixture *f)
{
    vta_stream_nop(f->s, VTA_UNIT_FETCH);
}

static void every_bad_argument_is_named(void **state)
{
    (void)state;
    static const struct {
        bad_call *provoke;
        vta_status code;
        const char *text;
    } cases[] = {
        {load_uop, VTA_INVALID,
         "call 2 (load2d): memory 'uop' is not for load2d; it takes inp, wgt, wgt4, acc, acc8"},
        {load_out, VTA_INVALID, "memory 'out' is not for load2d"},
        {load_too_wide, VTA_RANGE,
         "call 2 (load2d): load: x_size 70000 does not fit in its field (limit: 65535)"},
        {load_too_high, VTA_RANGE, "load: y_size 16384 does not fit in its field (limit: 16383)"},
        {load_negative, VTA_RANGE, "load: sram_base -1 does not fit in its field"},
        {load_far, VTA_RANGE, "load: dram_base 4294967296 does not fit in its field (limit: 4294967295)"},
        {load_pad, VTA_RANGE, "load: x_pad_0 17 does not fit in its field (limit: 15)"},
        {load_pad_value, VTA_RANGE, "pad_value 200 is not in -128 … 127"},
        {load_beyond_scratchpad, VTA_RANGE,
         "1 rows of 49 entries from 2000 on exceed the 2048 entries of inp"},
        {load_beyond_buffer, VTA_RANGE,
         "wgt elements up to 4097 are beyond buffer 'x', which has 4096 of 256 bytes"},
        {load_undeclared, VTA_INVALID, "buffer 5 was not declared; the stream has 2"},
        {store_beyond_scratchpad, VTA_RANGE, "call 2 (store2d): 1 rows of 9 entries from 2040 on exceed"},
        {store_beyond_buffer, VTA_RANGE,
         "out elements up to 65601 are beyond buffer 'y', which has 65536 of 16 bytes"},
        {gemm_beyond_acc, VTA_RANGE, "call 2 (gemm): dst reaches entry 2048, but acc has 2048"},
        {gemm_beyond_inp, VTA_RANGE, "src reaches entry 2048, but inp has 2048"},
        {gemm_beyond_wgt, VTA_RANGE, "wgt reaches entry 1024, but wgt has 1024"},
        {gemm_iterations, VTA_RANGE, "gemm: iter_out 16384 does not fit in its field (limit: 16383)"},
        {gemm_step, VTA_RANGE, "gemm: dst_out 2048 does not fit in its field (limit: 2047)"},
        {gemm_reset_and_init, VTA_ILLEGAL_INSN, "gemm: init 1"},
        {gemm_no_kernel, VTA_INVALID, "kernel 99 was not recorded; the stream has 1"},
        {alu_immediate, VTA_RANGE, "alu: imm 70000 does not fit in its field (limit: 32767)"},
        {alu_shift, VTA_ILLEGAL_INSN, "alu: imm 32 (limit: 31)"},
        {alu_operation, VTA_ILLEGAL_INSN, "alu: alu_op 7"},
        {alu_row, VTA_RANGE,
         "call 2 (alu): row: function 6, form 0, places 64 do not fit (limits: 7, 3, 63)"},
        {requant_rows, VTA_RANGE, "call 2 (requant): params reaches record 1024 by row, but acc has 1024"},
        {requant_long, VTA_ILLEGAL_INSN,
         "call 2 (requant): requant: long_result 1 (limit: 0): the configuration"},
        {alu_source, VTA_RANGE, "call 2 (alu): src reaches entry 2048, but acc has 2048"},
        {table_number, VTA_RANGE, "table 2 from byte 0: tables are 0 … 1, from multiples of 256 on"},
        {table_offset, VTA_RANGE, "table 0 from byte 128: tables are 0 … 1, from multiples of 256 on"},
        {requant_table, VTA_ILLEGAL_INSN, "requant: table 3 (limit: 2): there is no such table"},
        {requant_part, VTA_ILLEGAL_INSN, "requant: part 1 (limit: 0): the input tile has no such lanes"},
        {requant_input_range, VTA_RANGE, "call 2 (requant): dst reaches entry 2048, but inp has 2048"},
        {requant_record, VTA_RANGE, "call 2 (requant): params 512 is not in 0 … 511"},
        {requant_params, VTA_RANGE, "call 2 (requant): params 1024 is not in 0 … 1023"},
        {requant_range, VTA_ILLEGAL_INSN, "requant: low 5"},
        {requant_zero_point, VTA_RANGE, "requant: zero_point 128 does not fit in its field (limit: 127)"},
        {requant_destination, VTA_RANGE, "dst 2048 is not in 0 … 2047"},
        {depthwise_taps, VTA_ILLEGAL_INSN, "call 2 (depthwise): depthwise: taps"},
        {depthwise_source, VTA_RANGE, "src reaches entry 2062, but inp has 2048"},
        {kernel_empty, VTA_RANGE, "a kernel of 0 micro-ops is not possible (1 to 8192, the depth of uop)"},
        {kernel_too_long, VTA_RANGE, "a kernel of 8193 micro-ops is not possible"},
        {kernel_field, VTA_RANGE,
         "kernel 1: micro-op 0: micro-op: dst 2048 does not fit in its field (limit: 2047)"},
        {buffers_too_many, VTA_RANGE, "call 7 (buffer): buffer 'b5' is one too many; a stream has 7 at most"},
        {buffer_twice, VTA_INVALID, "buffer 'x' is declared twice"},
        {buffer_empty, VTA_INVALID,
         "of 0 bytes: a buffer needs a size that is a multiple of 4, and a name of 1"},
        {buffer_of_odd_size, VTA_INVALID,
         "buffer 'odd' of 18 bytes: a buffer needs a size that is a multiple"},
        {buffer_of_bad_name, VTA_INVALID,
         "a name of 1 to 200 characters without quotation marks and control"},
        {flags_without_manual, VTA_INVALID, "flags 0x1 are for manual streams; call vta_stream_manual first"},
        {flags_unknown, VTA_INVALID, "flags 0x10 have bits without a meaning"},
        {manual_late, VTA_INVALID, "the stream has instructions already; it must come before the first"},
        {manual_barrier, VTA_INVALID, "a barrier is for streams whose tokens the library places"},
        {nop_of_fetch, VTA_INVALID, "unit 0 has no nop; load, compute and store have"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_fails(cases[i].provoke, cases[i].code, cases[i].text);
    }
}

static void a_sealed_stream_takes_no_more(void **state)
{
    (void)state;
    vta_diag diag = {0};
    vta_code *code = NULL;
    vta_code *second = NULL;
    fixture f = begin();
    assert_int_equal(vta_stream_finish(f.s, &code, &diag), VTA_OK);
    load(&f, VTA_MEM_INP, 0, 0, 1);
    assert_int_equal(vta_stream_finish(f.s, &second, &diag), VTA_INVALID);
    assert_null(second);
    assert_says(&diag, VTA_INVALID, "load2d: the stream is sealed; record another");
    vta_stream_destroy(f.s);
    vta_stream_destroy(NULL);
    vta_code_destroy(code);
    vta_code_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_argument_is_named),
        cmocka_unit_test(a_sealed_stream_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
