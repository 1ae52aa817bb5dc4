/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plain C harness needs of a model of `vta_top`: its pins, and a clock cycle at a time. tsim.cc
 * implements it with a bare Verilated model, the SystemC platform with the same model among its neighbours.
 */
#ifndef VTA_MODEL_H
#define VTA_MODEL_H

#include "axi_mem.h"
#include "vta/rtlsim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Signals driven into the accelerator during a cycle. */
typedef struct vta_pins_in {
    vta_axi_slave axi;
    uint32_t awaddr, wdata, araddr;
    uint8_t awvalid, wvalid, bready, arvalid, rready;
    uint8_t reset;
} vta_pins_in;

/* Signals that the accelerator drives during a cycle. */
typedef struct vta_pins_out {
    vta_axi_master axi;
    uint32_t rdata;
    uint32_t debug; /* VTA_DEBUG_… */
    uint8_t awready, wready, bvalid, bresp, arready, rvalid, rresp;
    uint8_t irq;
} vta_pins_out;

/* A kind of model. No function throws; `failure` is an assertion of the RTL that failed. */
typedef struct vta_model {
    const char *kind;
    uint64_t config_hash;
    uint32_t bus_bytes;
    bool has_memory; /* the model answers its own AXI port; in.axi and out.axi are unused */

    void *(*create)(const vta_rtlsim_options *options, const vta_bus *bus, char *message, uint32_t size);
    void (*destroy)(void *self);
    /* One cycle: `in` is driven until the clock rises, `out` is what follows the edge. */
    void (*clock)(void *self, const vta_pins_in *in, vta_pins_out *out);
    const char *(*failure)(void *self);
    /* Random back-pressure of its memory begins again from this seed; NULL without has_memory. */
    void (*seed)(void *self, uint64_t seed);
    /* The counts of its DRAM so far; NULL, also as a function: it has none. */
    const vta_dram_counts *(*dram)(void *self);
} vta_model;

/* The model that is linked into this simulator. */
const vta_model *vta_model_get(void);

#ifdef __cplusplus
}
#endif
#endif
