/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory at the other end of the accelerator's AXI4 master port, cycle by cycle, and a judge of that
 * port's manners.
 *
 * Timing. Reads and writes are independent. A read's first beat is offered `latency` cycles after its address
 * was taken, a write's response `latency` cycles after its last beat; beats flow at `bandwidth` bytes a cycle
 * in each direction, and at `shared_bytes` in `shared_cycles` of both directions together, which then take
 * turns; VTA_AXI_BURSTS bursts may be under way in each direction; answers keep the order of the
 * addresses. With a `dram`, a beat is offered when the DRAM has read it (dram_queue.h), and a write is
 * answered when the controller has its last beat; `latency` and `shared_bytes` do not count. With
 * `stall_percent`, each ready and each new valid is randomly withheld, and an address may wait for its data.
 *
 * Contents. A read is sampled when its address is taken, a write becomes visible with its response: a master
 * that relies on anything sooner reads old bytes. A burst that touches memory that does not exist is answered
 * with DECERR and has no effect; only its first and last beat may reach beyond the end of a memory, with
 * bytes that then read as 0.
 *
 * Rules. The first breach of the AXI protocol is kept as a sentence: payload and valid stay while they wait,
 * bursts increment, keep within 4 KiB and have full-width beats, WLAST marks the last beat, strobes keep to
 * the burst's bytes, nothing is valid in reset.
 */
#ifndef VTA_AXI_MEM_H
#define VTA_AXI_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/dram_kind.h"
#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VTA_AXI_BURSTS = 32, VTA_AXI_BEATS = 256, VTA_AXI_MAX_BYTES = 64, VTA_AXI_PAGE = 4096 };
enum { VTA_AXI_PORTS = 4 };
enum { VTA_AXI_OKAY = 0, VTA_AXI_SLVERR = 2, VTA_AXI_DECERR = 3 };

/* An address channel. */
typedef struct vta_axi_address {
    uint64_t addr;
    uint32_t id;
    uint8_t valid, len, size, burst;
} vta_axi_address;

/* Signals that the master drives in a cycle. Payloads count only while their valid is high. `wdata` is
 * borrowed for the call. */
typedef struct vta_axi_master {
    vta_axi_address ar, aw;
    const uint8_t *wdata;
    uint64_t wstrb;
    uint8_t wvalid, wlast, rready, bready, reset;
} vta_axi_master;

/* Signals that the memory drives in a cycle. `rdata` is valid until the next cycle. */
typedef struct vta_axi_slave {
    const uint8_t *rdata;
    uint32_t rid, bid;
    uint8_t arready, awready, wready;
    uint8_t rvalid, rlast, rresp;
    uint8_t bvalid, bresp;
} vta_axi_slave;

/* Another place that answers the bursts (a platform model). `begin` gets a burst whole: `data` has `size`
 * bytes from address `addr`, both aligned to the bus; reads fill it, writes have one strobe word for each
 * beat. The answer is vta_axi_mem_answer with the same slot. */
typedef struct vta_axi_backend {
    void (*begin)(void *context, uint32_t slot, bool write, uint64_t addr, uint8_t *data, uint32_t size,
                  const uint64_t *strobes);
    void *context;
} vta_axi_backend;

typedef struct vta_axi_options {
    uint32_t bus_bytes; /* 8 to 64, a power of two */
    uint32_t latency, bandwidth, stall_percent;
    uint32_t shared_bytes, shared_cycles; /* either 0: no such limit */
    vta_dram_kind dram;                   /* {0}: none */
    uint32_t clock_mhz;                   /* of the port, for the DRAM's times */
    uint64_t seed;
    vta_axi_backend backend; /* {0}: the memory behind the bus answers by itself */
} vta_axi_options;

typedef struct vta_axi_mem vta_axi_mem;

/* With `beside`, another port of that memory, whose options are the same: `shared_bytes` and the DRAM are of
 * all ports together. NULL without memory, or beyond VTA_AXI_PORTS. Ports are destroyed in any order. */
vta_axi_mem *vta_axi_mem_create(const vta_axi_options *options, const vta_bus *bus, vta_axi_mem *beside);
void vta_axi_mem_destroy(vta_axi_mem *mem);

/* A run begins: random back-pressure from this seed, and the DRAM from rest. */
void vta_axi_mem_seed(vta_axi_mem *mem, uint64_t seed);

/* The counts of the DRAM so far; NULL: there is none. */
const vta_dram_counts *vta_axi_mem_counts(const vta_axi_mem *mem);

/* Signals that the memory drives in cycle 0. */
vta_axi_slave vta_axi_mem_first(vta_axi_mem *mem);

/* One clock cycle: both sides have driven these values; `slave` becomes what the memory drives in the next
 * cycle. */
void vta_axi_mem_cycle(vta_axi_mem *mem, const vta_axi_master *master, vta_axi_slave *slave);

/* The same in three steps, for several ports in one cycle: `take` for each, one `tick` for all, `drive` for
 * each. What is shared goes to ports in the order of their `drive`; a caller that begins with the port that
 * was served longest ago (the smallest `served`) treats all alike. */
void vta_axi_mem_take(vta_axi_mem *mem, const vta_axi_master *master, const vta_axi_slave *slave);
void vta_axi_mem_tick(vta_axi_mem *mem);
void vta_axi_mem_drive(vta_axi_mem *mem, const vta_axi_master *master, vta_axi_slave *slave);
uint64_t vta_axi_mem_served(const vta_axi_mem *mem);

/* The back end's answer to a burst; `slot` and `write` as in `begin`. */
void vta_axi_mem_answer(vta_axi_mem *mem, uint32_t slot, bool write, bool error);

/* Copies a burst from or to the memory behind a bus; false: it has no such memory, and nothing was changed.
 */
bool vta_axi_copy_in(const vta_bus *bus, uint32_t bus_bytes, uint64_t addr, uint8_t *data, uint32_t size);
bool vta_axi_copy_out(const vta_bus *bus, uint32_t bus_bytes, uint64_t addr, const uint8_t *data,
                      uint32_t size, const uint64_t *strobes);

/* State that the memory's pace depends on besides its open transfers: equal numbers where equal traffic takes
 * equally many cycles. */
uint64_t vta_axi_mem_pace(const vta_axi_mem *mem);

/* Nothing is under way in either direction. */
bool vta_axi_mem_idle(const vta_axi_mem *mem);

/* The first breach of a rule, NULL: none. Valid as long as the memory. */
const char *vta_axi_mem_failure(const vta_axi_mem *mem);

#ifdef __cplusplus
}
#endif
#endif
