/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain C face of an RTL simulator (tsim, systemc). A simulator is a shared object, built for one
 * configuration, that exports `vta_rtlsim_entry`; the driver loads it at run time, so that nothing of ours
 * links C++.
 *
 * The caller owns time: the clock runs in `step`, and in `read` and `write` for the few cycles that the
 * AXI-Lite access takes, nowhere else. Instances are independent; one instance is used by one thread at a
 * time. A `trace_file` needs a "+trace" build (rtlbuild.h).
 */
#ifndef VTA_RTLSIM_H
#define VTA_RTLSIM_H

#include <stdbool.h>
#include <stdint.h>

#include "vta/dram_kind.h"
#include "vta/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VTA_RTLSIM_ABI = 6 };

/* The beginning of a failure that says nothing of the hardware: the timeline's file takes no more. */
#define VTA_RTLSIM_TIMELINE "the timeline "

/* Options of one instance. */
typedef struct vta_rtlsim_options {
    uint32_t latency;       /* memory: cycles from address to first beat */
    uint32_t bandwidth;     /* memory: bytes a cycle, each direction; 0: unlimited */
    uint32_t shared_bytes;  /* memory: so many bytes of both directions together */
    uint32_t shared_cycles; /* in so many cycles; 0: no such limit */
    uint32_t stall_percent; /* random back-pressure on every AXI channel, 0: none */
    uint64_t seed; /* of the back-pressure and of random initial register contents; 0: all start at 0 */
    const char *trace_file;          /* FST waves, NULL: none */
    const char *trace_scope;         /* only modules below this instance, NULL: all */
    uint64_t trace_begin, trace_end; /* cycles; 0, 0: all */
    const char *timeline_file;       /* instruction timeline (JSON), NULL: none */
    const char *memory_model;        /* systemc: "simple" or "dram"; NULL: simple */
    uint32_t traffic_percent;        /* systemc: share of the bus that other masters ask for */
    vta_dram_kind dram;              /* memory: a DRAM in place of latency and shared bytes; {0}: none */
    uint32_t clock_mhz;              /* for its times */
    void *beside; /* an instance whose memory this one shares, at most four in all; NULL: none. Destroyed in
                     any order. From then on time passes in the memory in `step_together` alone */
} vta_rtlsim_options;

/* The simulator's functions. `self` is opaque. `message` buffers get a sentence on failure. */
typedef struct vta_rtlsim {
    uint32_t abi;         /* VTA_RTLSIM_ABI */
    uint64_t config_hash; /* the configuration that it was built for */
    const char *kind;     /* "tsim" or "systemc" */

    void *(*create)(const vta_rtlsim_options *options, const vta_bus *bus, char *message, uint32_t size);
    void (*destroy)(void *self);

    uint32_t (*read)(void *self, uint32_t offset);
    void (*write)(void *self, uint32_t offset, uint32_t value);

    /* Advances until the interrupt line is high, a failure is found or `cycles` have passed; returns the
     * cycles advanced. */
    uint64_t (*step)(void *self, uint64_t cycles);
    bool (*irq)(void *self);

    /* The first broken AXI rule or failed assertion since creation, NULL: none. */
    const char *(*failure)(void *self);

    /* The cycles of the last run by class: VTA_CYCLE_CLASSES numbers for each of its *insn_count
     * instructions, valid until the next run. NULL, also as a function: the simulator does not know them. */
    const uint64_t *(*account)(void *self, uint32_t *insn_count);

    /* Records the runs that are started from now on; `recording` is that of the last one, valid until the
     * next run. With `starts` not 0 a run counts as ended in the cycle in which compute starts so many
     * instructions; the clock stands still from then on. All three functions are NULL where the
     * simulator cannot. */
    void (*record)(void *self, uint64_t starts);
    const vta_stretch *(*recording)(void *self, uint64_t *count);

    /* The next run is not simulated, but as recorded: account and timeline see these cycles, the registers
     * show these counters and a run that has ended well. Memory is the caller's to change. Both are borrowed
     * until the run is started. */
    void (*play)(void *self, const vta_stretch *stretches, uint64_t count, const vta_counters *counters);

    /* The counts of the DRAM so far; false: there is none. */
    bool (*dram)(void *self, vta_dram_counts *out);

    /* As `step`, for instances that share one memory, cycle by cycle; it ends when the interrupt line of any
     * is high. NULL: the simulator cannot. */
    uint64_t (*step_together)(void *const *selves, uint32_t count, uint64_t cycles);
} vta_rtlsim;

/* The one exported symbol. */
const vta_rtlsim *vta_rtlsim_entry(void);

#ifdef __cplusplus
}
#endif
#endif
