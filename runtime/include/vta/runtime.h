/* SPDX-License-Identifier: Apache-2.0
 *
 * Instruction streams, built just in time: typed calls are recorded, sealed once, and replayed for ever.
 *
 *   vta_stream   a recording. Calls append instructions; micro-op kernels and dependency tokens are the
 *                library's business.
 *   vta_code     the sealed result: immutable, shared freely between threads and devices.
 *   vta_job      a vta_code placed on one device: micro-ops and instructions stay in its memory, a run
 *                sets addresses only.
 *
 * What a recording means is what its calls do one after the other. The units run at the same time as far as
 * that allows.
 *
 * Numbers are 64-bit and signed, so that whatever does not fit is refused and never truncated. The first
 * failure of a stream sticks: later calls do nothing, and vta_stream_finish returns it with a sentence that
 * names the call. A stream is used by one thread at a time, different streams freely.
 */
#ifndef VTA_RUNTIME_H
#define VTA_RUNTIME_H

#include "vta/driver.h"
#include "vta/program.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct vta_stream vta_stream;
typedef struct vta_code vta_code;
typedef struct vta_job vta_job;

/* DRAM memory that a run binds to an address: declared by the stream, numbered from 0 in that order. */
typedef struct vta_buffer {
    uint32_t index;
} vta_buffer;

/* A recorded sequence of micro-ops. */
typedef struct vta_kernel {
    uint32_t index;
} vta_kernel;

/* Segment 7 is the library's own, for micro-ops. */
enum { VTA_STREAM_BUFFERS = VTA_SEGMENTS - 1 };

vta_status vta_stream_create(const vta_config *config, vta_stream **out, vta_diag *diag);
void vta_stream_destroy(vta_stream *stream);

/* The first failure so far; VTA_OK while there is none. */
vta_status vta_stream_status(const vta_stream *stream);

/* Declares a buffer of `size` bytes, a multiple of 4, with a name of its own as vta_name_is_legal has it.
 * Different buffers are different memory: a run refuses to bind one that
 * is stored to over another. */
vta_buffer vta_stream_buffer(vta_stream *stream, const char *name, uint64_t size);

/* Records a kernel. Equal ones are kept once. It is loaded into the UOP scratchpad when a call needs it, and
 * stays as long as there is room. */
vta_kernel vta_stream_kernel(vta_stream *stream, const vta_uop *uops, uint32_t count);

/* Marks the instructions of the following calls, for profiles: any number, 0 at first. */
void vta_stream_tag(vta_stream *stream, uint32_t tag);

/* LOAD, with the meaning of ISA.md §4. memory: INP, WGT, WGT4, ACC or ACC8. */
typedef struct vta_load2d {
    vta_memory memory;
    int64_t sram; /* first scratchpad entry */
    vta_buffer buffer;
    int64_t offset; /* elements of `memory` from the start of the buffer */
    int64_t y_size, x_size, x_stride;
    int64_t y_pad_0, y_pad_1, x_pad_0, x_pad_1, pad_value;
} vta_load2d;
void vta_stream_load2d(vta_stream *stream, const vta_load2d *args);

/* STORE of OUT. offset and x_stride count OUT elements. */
typedef struct vta_store2d {
    int64_t sram;
    vta_buffer buffer;
    int64_t offset;
    int64_t y_size, x_size, x_stride;
} vta_store2d;
void vta_stream_store2d(vta_stream *stream, const vta_store2d *args);

/* GEMM, §6. reset: clear the kernel's dst entries. init: each run of equal dst starts from zero. */
typedef struct vta_gemm {
    vta_kernel kernel;
    bool reset, init;
    int64_t iter_out, iter_in;
    int64_t dst_out, dst_in, src_out, src_in, wgt_out, wgt_in;
} vta_gemm;
void vta_stream_gemm(vta_stream *stream, const vta_gemm *args);

/* DEPTHWISE, §6. */
typedef struct vta_depthwise {
    vta_kernel kernel;
    bool init;
    int64_t iter_out, iter_in;
    int64_t dst_out, dst_in, src_out, src_in;
    int64_t taps_x, taps_y, col_step, row_step, group;
} vta_depthwise;
void vta_stream_depthwise(vta_stream *stream, const vta_depthwise *args);

/* ALU, §7. With an immediate in the three-address form: ACC[dst] = op(ACC[src], imm). With VTA_ALU_ROW, which
 * a configuration must have (ROWS 1), `row` says what is done with ACC[src], and use_imm and imm mean
 * nothing. */
typedef struct vta_alu {
    vta_kernel kernel;
    vta_alu_op op;
    bool use_imm;
    int64_t imm;
    int64_t iter_out, iter_in;
    int64_t dst_out, dst_in, src_out, src_in;
    vta_row row;
} vta_alu;
void vta_stream_alu(vta_stream *stream, const vta_alu *args);

/* REQUANT, §8. `params` is the pair: ACC[2·params] biases, ACC[2·params + 1] scales; with `wide` a record of
 * four: ACC[4·params] biases, then multipliers of 31 bits, then shifts. `table`: 0, or one more than the
 * number of the table behind it. With `to_inp` the result goes to INP and nowhere else, where GEMM and
 * DEPTHWISE may read it: `dst` and its steps are INP entries then, and `part` says which block_out of their
 * channels; an entry must be written in all its parts before it is read. With ROWS 1: `long_result` keeps 18
 * bits in ACC, with zero_point, low and high 0; `by_row` takes record params + i in pass i of the outer loop.
 */
typedef struct vta_requant {
    int64_t dst, src, params;
    int64_t iter_out, iter_in;
    int64_t dst_out, dst_in, src_out, src_in;
    int64_t zero_point, low, high;
    vta_rounding rounding;
    bool wide;
    int64_t table;
    bool to_inp;
    int64_t part;
    bool long_result, by_row;
} vta_requant;
void vta_stream_requant(vta_stream *stream, const vta_requant *args);

/* Loads table `number`, 0 or 1, ISA.md §8: 256 bytes of a buffer, `offset` a multiple of 256. Byte n is the
 * result for n, or, from 128 on, for n - 256. */
void vta_stream_table(vta_stream *stream, int64_t number, vta_buffer buffer, int64_t offset);

/* A scale lane of REQUANT's parameters: the value mult · 2^-shift, mult below 2^24, shift below 64. */
int32_t vta_requant_scale(uint32_t mult, uint32_t shift);

/* Everything before is over, in DRAM too, before anything after begins. Needed only for what the library
 * cannot see. */
void vta_stream_barrier(vta_stream *stream);

/* By hand. After vta_stream_manual (before the first instruction) the library places no tokens: each call's
 * instruction carries the flags of the last vta_stream_flags, which hold for one call. */
enum { VTA_POP_PREV = 1, VTA_POP_NEXT = 2, VTA_PUSH_PREV = 4, VTA_PUSH_NEXT = 8 };
void vta_stream_manual(vta_stream *stream);
void vta_stream_flags(vta_stream *stream, uint32_t flags);

/* An instruction of `unit` (load, compute, store) that does nothing but its flags. */
void vta_stream_nop(vta_stream *stream, vta_unit unit);

/* Appends FINISH and seals. The stream is spent afterwards, whether it succeeded or not; destroy it. */
vta_status vta_stream_finish(vta_stream *stream, vta_code **out, vta_diag *diag);

/* Sealed code. */

typedef struct vta_code_info {
    vta_config config;
    uint32_t insn_count, uop_count, buffer_count, kernel_count;
    uint32_t nops;      /* transfers of nothing, which only pass tokens on */
    uint32_t uop_loads; /* LOADs of micro-ops */
    uint32_t tokens;    /* pushed, and popped */
} vta_code_info;

typedef struct vta_buffer_info {
    const char *name; /* borrowed */
    uint64_t size;
    bool loaded, stored; /* the code reads it, writes it */
} vta_buffer_info;

void vta_code_describe(const vta_code *code, vta_code_info *out);
vta_status vta_code_buffer(const vta_code *code, vta_buffer buffer, vta_buffer_info *out, vta_diag *diag);
const vta_word *vta_code_insns(const vta_code *code);
const uint32_t *vta_code_tags(const vta_code *code); /* one per instruction */
void vta_code_destroy(vta_code *code);

/* The same as a program that can be disassembled, saved and run by `vtac exec`: one symbol for each buffer
 * and one, "uops", with the micro-ops. *out is owned (vta_program_free); give its symbols data and
 * expectations as you like. */
vta_status vta_code_program(const vta_code *code, vta_program *out, vta_diag *diag);

/* And back: code that does what `program` does, with its tags, and a buffer for each symbol. VTA_INVALID for
 * a program of another shape: each buffer has a segment to itself, from 0 on; the last segment holds the
 * micro-ops, and only they are loaded as micro-ops. VTA_ILLEGAL_PROGRAM where vta_check refuses it for
 * buffers of these sizes. What the symbols of buffers contain or expect stays with the program, which the
 * code does not refer to; kernels were forgotten when it was sealed, so kernel_count is 0. */
vta_status vta_code_from_program(const vta_program *program, vta_code **out, vta_diag *diag);

/* On a device. */

/* Copies instructions and micro-ops to the device. A device of another configuration is refused. `code` and
 * `device` must outlive the job. */
vta_status vta_job_create(const vta_code *code, vta_device *device, vta_job **out, vta_diag *diag);
void vta_job_destroy(vta_job *job);

/* Memory of the job's own for a buffer, zero at first, as large as the buffer: *host is valid as long as the
 * job. What a run binds where it is given no address; it then flushes what the code loads and invalidates
 * what it stores. */
vta_status vta_job_memory(vta_job *job, vta_buffer buffer, void **host, vta_diag *diag);

/* Starts a run with buffer i at device address addrs[i], a multiple of VTA_BASE_ALIGN; 0: the job's own
 * memory. `count` is the number of the code's buffers; addrs NULL and count 0: all of them the job's own.
 * What the caller binds is the caller's to flush and invalidate, who knows what has changed. */
vta_status vta_job_start(vta_job *job, const uint64_t *addrs, uint32_t count, vta_diag *diag);

/* Waits for its end, as vta_device_wait. */
vta_status vta_job_wait(vta_job *job, double timeout_s, vta_report *report, vta_diag *diag);

/* Both. */
vta_status vta_job_run(vta_job *job, const uint64_t *addrs, uint32_t count, double timeout_s,
                       vta_report *report, vta_diag *diag);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
