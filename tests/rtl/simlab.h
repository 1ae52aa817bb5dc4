/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of builder, harness and platform share: a scratch cache, a copy of the copy engine's RTL, a
 * small memory, and a loaded simulator. The functions fail the running test when something goes wrong.
 */
#ifndef VTA_SIMLAB_H
#define VTA_SIMLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/rtlbuild.h"
#include "vta/rtlsim.h"

enum { SIMLAB_MEMORY = 65536, SIMLAB_BASE = 0x1000, SIMLAB_PATH = 4096 };

/* The copier's registers. */
enum {
    COPIER_START = 0x10,
    COPIER_STATUS = 0x14,
    COPIER_FROM = 0x20,
    COPIER_TO = 0x24,
    COPIER_BEATS = 0x28,
    COPIER_MISBEHAVE = 0x2c
};

/* A fresh folder with a cache and a copy of the copier; the environment points to them. */
typedef struct simlab {
    char folder[SIMLAB_PATH], cache[SIMLAB_PATH], hw[SIMLAB_PATH];
    char path[SIMLAB_PATH]; /* result of the last simlab_locate */
    vta_diag diag;
    char said[4096]; /* its progress lines */
} simlab;

void simlab_open(simlab *lab);
void simlab_close(simlab *lab);
vta_status simlab_locate(simlab *lab, const char *kind);
vta_status simlab_locate_with(simlab *lab, const char *kind, const vta_config *config);

/* Copies a file, with `extra` at its end. */
void simlab_copy(const char *from, const char *to, const char *extra);

/* The number of names in the cache that contain `text`. */
uint32_t simlab_count(const simlab *lab, const char *text);

typedef struct simlab_sim {
    _Alignas(64) uint8_t memory[SIMLAB_MEMORY];
    vta_bus bus;
    void *object, *self;
    const vta_rtlsim *rtl;
    char message[512];
} simlab_sim;

/* Loads the simulator at `path`; false with sim->message where it refuses the options. */
bool simlab_load(simlab_sim *sim, const char *path, const vta_rtlsim_options *options);
void simlab_unload(simlab_sim *sim);

/* Copies `beats` bus beats through the engine; the cycles that it took. */
uint64_t simlab_run(simlab_sim *sim, uint32_t from, uint32_t to, uint32_t beats);

#endif
