/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions as accelerator programs, for benchmarks: load, multiply, requantize, store, tile by tile, in
 * any configuration that can hold one row of a layer. Written with the encoder alone, so that it measures the
 * simulator and nothing above it.
 */
#ifndef VTA_TEST_CONV_H
#define VTA_TEST_CONV_H

#include <stddef.h>
#include <stdint.h>

#include "vta/dram.h"
#include "vta/launch.h"

/* A square convolution; channels are rounded up to whole tiles, borders of (kernel - 1) / 2 zeros are added.
 */
typedef struct conv_layer {
    uint32_t in, out; /* channels */
    uint32_t size;    /* rows and columns of the result */
    uint32_t kernel, stride;
} conv_layer;

/* A program and its memory in a simulated dram. */
typedef struct conv_program {
    vta_config config;
    conv_layer layer;
    uint32_t in_tiles, out_tiles; /* channel tiles */
    uint32_t in_size;             /* rows and columns of the input */
    vta_word *insns;
    uint32_t count, capacity;
    uint32_t repeat;             /* how often each GEMM is issued */
    uint64_t addr[VTA_SEGMENTS]; /* of the segments: micro-ops, input, weights, parameters, result */
    uint8_t *host[VTA_SEGMENTS];
    uint64_t insn_addr;
    double macs; /* multiplications of real tiles, repeats included */
} conv_program;

enum { CONV_UOPS, CONV_INPUT, CONV_WEIGHTS, CONV_PARAMS, CONV_RESULT };

/* Builds program and random data. With `repeat` > 1 the results are meaningless and the time is that of GEMM.
 */
vta_status conv_build(const vta_config *config, vta_dram *dram, const conv_layer *layer, uint32_t repeat,
                      uint64_t seed, conv_program *out, vta_diag *diag);
void conv_free(conv_program *p, vta_dram *dram);

vta_launch conv_launch(const conv_program *p);

/* Computes the result from input, weights and parameters, plainly; returns the number of wrong bytes. */
size_t conv_wrong(const conv_program *p);

#endif
