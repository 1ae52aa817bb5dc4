/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the simulator builder share: one job, from its name to its finished cache entry.
 *
 *   build.c        vta_rtlsim_locate: the steps
 *   build_key.c    where the sources and tools are, and the hash of all that goes into an entry
 *   build_cache.c  the cache folder: lock, manifest, publishing, clearing away
 *   build_clocks.c how the model that Verilator wrote keeps its clocks
 *   vta_build_run.c    running verilator, gcc and g++
 */
#ifndef VTA_BUILD_INTERNAL_H
#define VTA_BUILD_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "vta/rtlbuild.h"
#include "vta/str.h"

/* The processors for which a simulator that is shipped is compiled. */
#ifdef __x86_64__
#    define VTA_BUILD_PORTABLE "-march=x86-64-v3"
#else
#    define VTA_BUILD_PORTABLE ""
#endif

enum { BUILD_PATH = 4096, BUILD_FILES = 2, BUILD_MODEL_LIMIT = 256 << 20 };

typedef struct build_job {
    const vta_config *config;
    bool systemc, trace, built; /* built: the form that is synthesized, not the one that is quick */
    bool portable;              /* for every processor of a kind, to be shipped */
    char kind[16];              /* "tsim", "systemc" */

    char root[BUILD_PATH];    /* has sim/ and isa/ */
    char hw[BUILD_PATH];      /* has rtl/ and include/ */
    char headers[BUILD_PATH]; /* has the generated vta_isa.vh */
    char cache[BUILD_PATH];
    char verilator[BUILD_PATH], gcc[BUILD_PATH], gxx[BUILD_PATH];
    vta_str flags; /* of the C++ compiler, as text */

    uint64_t key;
    char entry[BUILD_PATH]; /* the finished folder */
    char work[BUILD_PATH];  /* where it is made */
    char log[BUILD_PATH];
    int lock; /* file descriptor, -1: not held */

    void (*progress)(void *context, const char *line);
    void *context;
    double began, reported; /* when the build and its last line of progress were */
    double report_every;    /* seconds between such lines */
    vta_diag *diag;
} build_job;

/* The files of a finished entry, the one that is loaded first. */
const char *const *vta_build_products(const build_job *job, uint32_t *count);

/* build_key.c */
uint64_t vta_build_hash(uint64_t hash, const void *bytes, size_t size);
vta_status vta_build_find_sources(build_job *job);
vta_status vta_build_find_tools(build_job *job);
vta_status vta_build_make_key(build_job *job);

/* build_cache.c: `vta_build_entry_good` says whether the entry is there and sound. */
vta_status vta_build_open_cache(build_job *job);
vta_status vta_build_open_folder(build_job *job, const char *folder);
/* Finds the entry among those that were shipped with the sources. */
bool vta_build_find_shipped(build_job *job);
bool vta_build_entry_good(const build_job *job);
vta_status vta_build_lock(build_job *job);
void vta_build_unlock(build_job *job);
vta_status vta_build_begin(build_job *job);
vta_status vta_build_publish(build_job *job);
void vta_build_abandon(build_job *job);

/* build_clocks.c: writes clocks.h beside the model. */
vta_status vta_build_write_clocks(build_job *job);

/* vta_build_run.c: a command is an argument vector in one growing string, each argument ended by a NUL. */
typedef struct build_command {
    vta_str args;
    int pid;
} build_command;
void vta_build_arg(build_command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void vta_build_words(build_command *command, const char *words);
/* Runs them, at most `parallel` at a time, and frees them. `what` names them in messages. */
vta_status vta_build_run(build_job *job, const char *what, build_command *commands, uint32_t count,
                         uint32_t parallel);

/* Joins into a path buffer of BUILD_PATH bytes; false where it does not fit. */
bool vta_build_path(char *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void vta_build_say(const build_job *job, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
