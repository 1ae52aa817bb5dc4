/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a run went, for people (a page), for programs (JSON) and for trace viewers.
 */
#ifndef VTAC_CLI_PROFILE_H
#define VTAC_CLI_PROFILE_H

#include "vta/arena.h"
#include "vta/config.h"
#include "vta/model.h"
#include "vta/str.h"

/* One launch of the accelerator: its step, its layers (with the row for what belongs to none), whose each
 * instruction is. */
typedef struct cli_launch {
    uint32_t step, first_layer, layer_count, insn_count;
    const uint32_t *tags; /* 1 + the layer, or 0 */
} cli_launch;

/* An instruction at work, or (insn NO_INSN) a unit that waits or is busy; cycles count from the start of the
 * run's first launch, without the time between launches. */
typedef struct cli_span {
    uint64_t start, length;
    uint32_t launch, track, insn;
    uint32_t token, memory; /* cycles that it waited */
    const char *name;
} cli_span;
#define CLI_NO_INSN UINT32_MAX

/* A copy of all that a model tells: it outlives the model. */
typedef struct cli_profile {
    vta_arena arena;
    const char *model, *device;
    bool has_config; /* something runs on the accelerator */
    vta_config config;
    vta_step_profile *steps;
    vta_layer_profile *layers;
    cli_launch *launches;
    uint32_t step_count, layer_count, launch_count;
    cli_span *spans; /* owned; of the timeline, where the device has one */
    size_t span_count;
    const char **tracks; /* their names by number; NULL: no such track */
    uint32_t track_count;
    uint64_t host_bytes, constant_bytes, work_bytes, program_bytes;
    uint64_t runs;
    double wall_s;          /* the median run */
    double host_estimate_s; /* of the host kernels on the board's processor; 0: not known */
    const char *processor;  /* that one; "": not known */
} cli_profile;

/* Reads the profile of the model's last run. */
vta_status cli_profile_take(const vta_model *model, const char *path, cli_profile *out, vta_diag *diag);
void cli_profile_free(cli_profile *profile);

/* Reads the timeline that the device has written by the time that it is closed: the part of the last run. */
vta_status cli_profile_timeline(cli_profile *profile, const char *path, vta_diag *diag);

/* The layer (a row of `layers`) that an instruction belongs to. */
uint32_t cli_profile_layer(const cli_profile *profile, const cli_span *span);

/* True if profiles can be written to a file of this name: *.html, *trace.json, *.json. */
bool cli_profile_knows(const char *path);

/* In the form that the name asks for. */
vta_status cli_profile_write(const cli_profile *profile, const char *path, vta_diag *diag);

/* The forms; the strings report themselves whether memory was enough. */
void cli_profile_json(const cli_profile *profile, vta_str *out);
void cli_profile_page(const cli_profile *profile, vta_str *out);
void cli_profile_trace(const cli_profile *profile, vta_str *out);

#endif
