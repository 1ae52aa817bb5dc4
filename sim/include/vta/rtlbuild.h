/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the RTL simulators come from: shared objects (rtlsim.h), one per kind and configuration, built on
 * demand with Verilator and g++ into the user's cache ($VTAC_CACHE, else $XDG_CACHE_HOME/vtac, else
 * ~/.cache/vtac).
 *
 * A cache entry's name is a hash of all that it is made of: the hardware-visible configuration, the RTL and
 * simulator sources, the tools, the flags and this machine's CPU. An entry that is damaged is built again.
 * Processes that want the same entry at once wait for the one that builds it. The RTL is looked for in
 * $VTAC_HW, else beside the program or library (share/vtac of its prefix), else in the source tree that it
 * was built from. Simulators that were shipped beside the program (lib/vtac/simulators of its prefix) come
 * before the cache, and need no tools; any of these variables that changes what is built leaves them out.
 */
#ifndef VTA_RTLBUILD_H
#define VTA_RTLBUILD_H

#include <stddef.h>

#include "vta/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds or builds the simulator and writes its file name to `path`. `kind` is "tsim" or "systemc", and then
 * "+built", the form that is synthesized with both its clocks, "+trace", which can write waves
 * (options.trace_file) and is a little slower, or "+built+trace". `progress`
 * (may be NULL) gets a line of text without a newline whenever there is something to wait for, and every 30 s
 * of a build. VTA_NO_DEVICE: a tool or the RTL is missing; VTA_INTERRUPTED: a tool was stopped by a signal.
 */
vta_status vta_rtlsim_locate(const char *kind, const vta_config *config,
                             void (*progress)(void *context, const char *line), void *context, char *path,
                             size_t size, vta_diag *diag);

/* Builds the simulator "tsim" for every processor of this kind, as an entry in `folder`, which a package
 * ships in lib/vtac/simulators, and writes the entry's name; one that is there and sound stays. */
vta_status vta_rtlsim_prebuild(const char *folder, const vta_config *config,
                               void (*progress)(void *context, const char *line), void *context, char *entry,
                               size_t size, vta_diag *diag);

/* Folders of the sources that the builder takes. */
typedef struct vta_rtl_sources {
    char root[4096];    /* has sim/ and isa/ */
    char hw[4096];      /* has rtl/ and include/ */
    char headers[4096]; /* has the generated vta_isa.vh */
} vta_rtl_sources;
vta_status vta_rtlsim_sources(vta_rtl_sources *out, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
