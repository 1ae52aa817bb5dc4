/* SPDX-License-Identifier: Apache-2.0
 *
 * A workbench for small programs on fsim: instructions are put down one by one, data lies in DRAM where a
 * test wrote it, and scratchpads can be looked into. Segment n of DRAM belongs to memory n (UOP, WGT, INP,
 * ACC, OUT, ACC8).
 *
 * Loads of INP and WGT are followed, and stores preceded, by a token handshake with the compute unit, so that
 * programs are legal as they stand.
 */
#ifndef VTA_TEST_FSIM_LAB_H
#define VTA_TEST_FSIM_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fsim_internal.h"
#include "vta/dram.h"
#include "vta/fsim.h"

enum { LAB_SEGMENT = 1 << 16, LAB_INSNS = 4096 };

typedef struct lab {
    vta_config config;
    vta_dram *dram;
    vta_bus bus;
    vta_fsim *fsim;
    uint8_t *mem[VTA_MEM_COUNT]; /* host side of the segments, LAB_SEGMENT bytes each */
    vta_launch launch;
    vta_word *insns; /* LAB_INSNS places */
    uint32_t count;
    vta_report report;
    vta_diag diag;
} lab;

/* A laboratory for a shipped configuration, or one given as JSON ('{' first). `kernel` NULL: the best. */
void lab_open(lab *l, const char *config, bool strict, const char *kernel);
void lab_close(lab *l);

/* Forgets the program; scratchpads and DRAM stay as they are. */
void lab_clear(lab *l);

/* Appends an instruction as it is; it must be encodable. Returns its index. */
uint32_t lab_add(lab *l, vta_insn insn);

/* Appends FINISH and runs; returns how it ended. */
vta_error lab_run(lab *l);

/* `lab_run` must end well. */
void lab_ok(lab *l);

/* A load of `count` entries in one row, from the start of the memory's segment + `from` elements. */
vta_insn lab_load_insn(vta_memory memory, uint32_t to, uint32_t from, uint32_t count);
void lab_load(lab *l, vta_memory memory, uint32_t to, uint32_t from, uint32_t count);
/* Any load, with the handshake that its unit needs. */
void lab_transfer(lab *l, vta_insn insn);
void lab_store(lab *l, uint32_t from, uint32_t to, uint32_t count);

/* Writes micro-op n into DRAM; lab_load(l, VTA_MEM_UOP, …) brings it in. */
void lab_uop(lab *l, uint32_t n, uint32_t dst, uint32_t src, uint32_t aux);

/* Nests over micro-ops [begin, end), 1 x 1. */
vta_insn lab_gemm(uint32_t begin, uint32_t end);
vta_insn lab_alu(vta_alu_op op, uint32_t begin, uint32_t end);
/* dst = op(dst, imm), and dst = op(src, imm). */
vta_insn lab_alu_imm(vta_alu_op op, uint32_t begin, uint32_t end, int32_t imm);
vta_insn lab_alu_src(vta_alu_op op, uint32_t begin, uint32_t end, int32_t imm);
vta_insn lab_requant(uint32_t uop, int32_t zero_point, int32_t low, int32_t high);
vta_insn lab_depthwise(uint32_t begin, uint32_t end, uint32_t taps_x, uint32_t taps_y);

/* Puts numbers into DRAM, from element `at` of the memory's segment on; each is cut to the lane's width. */
void lab_write(lab *l, vta_memory memory, uint32_t at, const int32_t *lanes, size_t count);
#define LAB_WRITE(l, memory, at, ...)                                                                        \
    lab_write((l), (memory), (at), (const int32_t[]){__VA_ARGS__},                                           \
              sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* Compares lanes of ACC or OUT entries from `at` on with numbers. */
void lab_expect(lab *l, vta_memory memory, uint32_t at, const int32_t *lanes, size_t count, const char *file,
                int line);
#define LAB_ACC(l, at, ...)                                                                                  \
    lab_expect((l), VTA_MEM_ACC, (at), (const int32_t[]){__VA_ARGS__},                                       \
               sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t), __FILE__, __LINE__)
#define LAB_OUT(l, at, ...)                                                                                  \
    lab_expect((l), VTA_MEM_OUT, (at), (const int32_t[]){__VA_ARGS__},                                       \
               sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t), __FILE__, __LINE__)

/* The run must end with this error, of this unit, at this instruction. */
void lab_fails(lab *l, vta_error error, vta_unit unit, uint32_t insn, const char *file, int line);
#define LAB_FAILS(l, error, unit, insn) lab_fails((l), (error), (unit), (insn), __FILE__, __LINE__)

/* Runs every test of the table once for each kernel that this CPU has, in a strict laboratory at `config`. */
int lab_main(const char *config, const struct CMUnitTest *tests, size_t count);

#endif
