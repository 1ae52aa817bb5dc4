/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device has to provide. device.c parses the URI, checks arguments and words errors once for all of
 * them; a backend only moves data and runs programs. A new device is one file with a `vta_backend_kind` and
 * one row in devices.def.
 */
#ifndef VTA_BACKEND_H
#define VTA_BACKEND_H

#include <stddef.h>

#include "vta/recording.h"
#include "vta/stop.h"

typedef enum vta_option_type {
    VTA_OPTION_BOOL,
    VTA_OPTION_U32,
    VTA_OPTION_U64,
    VTA_OPTION_TEXT
} vta_option_type;

/* One `name=value` of a URI and the member of the backend's options struct that it sets (bool, uint32_t,
 * uint64_t, const char *). */
typedef struct vta_option {
    const char *name;
    vta_option_type type;
    size_t offset;
    uint64_t max; /* of a number */
    const char *doc;
} vta_option;

#define VTA_ANYWHERE UINT64_MAX

/* The functions of an open device; `self` is the backend's own. Optional ones may be NULL. */
typedef struct vta_backend_ops {
    void (*close)(void *self);

    /* Zeros; `at` VTA_ANYWHERE: at an address of the device's choice. */
    vta_status (*alloc)(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag);
    void (*free)(void *self, const vta_mem *mem);
    vta_bus (*bus)(void *self);

    /* Cache maintenance (optional: NULL where memory is coherent). */
    void (*flush)(void *self, const vta_mem *mem, size_t offset, size_t size);
    void (*invalidate)(void *self, const vta_mem *mem, size_t offset, size_t size);

    /* As vta_device_trouble (optional). */
    vta_status (*trouble)(void *self, vta_diag *diag);

    /* The device is idle in submit and running in wait. wait returns VTA_OK with the report filled in, also
     * where the program failed (report->error); VTA_TIMEOUT after it has stopped the run; VTA_INTERRUPTED
     * after it has stopped it because of `stop`, which it looks at several times a second; another status
     * when the device itself failed. */
    vta_status (*submit)(void *self, const vta_launch *launch, vta_diag *diag);
    vta_status (*wait)(void *self, double timeout_s, vta_report *report, vta_diag *diag);
    vta_status (*reset)(void *self, vta_diag *diag);

    /* Checks a program and says what is submitted in its place (optional: where nobody changes memory between
     * the check and the run, device.c does it). */
    vta_status (*checked)(void *self, const vta_config *config, const vta_launch *launch, vta_launch *out,
                          vta_diag *diag);

    /* As vta_device_account (optional). */
    const uint64_t *(*account)(void *self, uint32_t *insn_count);

    /* As in recording.h (optional, all or none); `play` is for the next run alone. */
    vta_status (*record)(void *self, uint64_t starts, vta_diag *diag);
    const vta_stretch *(*recording)(void *self, uint64_t *count);
    vta_status (*play)(void *self, const vta_launch *launch, const vta_played *played, vta_diag *diag);
    bool (*block)(void *self, uint32_t index, vta_mem *out);

    /* As vta_device_dram (optional). */
    bool (*dram)(void *self, vta_dram_counts *out);

    /* As vta_device_join (optional). */
    void (*join)(void *self, bool takes_part);

    /* As vta_device_cycles (optional): the one function that other threads call while one is in wait. */
    uint64_t (*cycles)(void *self);
} vta_backend_ops;

/* Input of `open`, from the URI, and its results. */
typedef struct vta_opening {
    const char *uri; /* whole */
    const char *scheme;
    const vta_progress *progress; /* may be NULL */
    const vta_config *expected;   /* by the program; NULL: not known */
    const char *place;    /* between ':' and '?': a configuration, a folder, a host; "" where there is none */
    const void *options;  /* the backend's options struct, filled in */
    void *beside;         /* of a core that is not the first: the first one's `self`; else NULL */
    uint32_t core;        /* which of the cores */
    const vta_stop *stop; /* wanted: a run is to be stopped; valid while the device is open */
    const uint64_t *again;      /* in submit, not 0: the address of what may run in place of the launch's
                                   instructions if no other process has used the accelerator since the last run
                                   (vta/keep.h). A backend that does not look at it runs the launch's */
    const vta_backend_ops *ops; /* out */
    void *self;                 /* out */
    vta_config config;          /* out */
    uint32_t cores;             /* out: how many it has, where they can be counted; else 0 */
} vta_opening;

typedef struct vta_backend_kind {
    const vta_option *options; /* borrowed; valid while the device is open */
    uint32_t option_count;
    size_t options_size;
    const void *defaults; /* of the options struct, NULL: all zero */
    bool simulator;       /* its place is a configuration: vta_place_config */
    bool forks;           /* it is memory and threads alone: a fork has one of its own */
    bool has_cores;       /* it opens more than one */
    bool passes_options;  /* those that nobody here knows are another machine's, which gets the URI */
    vta_status (*open)(vta_opening *opening, vta_diag *diag);
} vta_backend_kind;

#define VTA_DEVICE(scheme, kind, doc, alone) extern const vta_backend_kind kind;
#include "devices.def"
#undef VTA_DEVICE

/* A URI taken apart; `text` holds the storage that the other members point into. */
typedef struct vta_uri {
    char *text;
    const char *scheme, *place;
    char *query;         /* after '?', NULL: none; consumed by vta_uri_options */
    bool passes_options; /* an option that is not known is no mistake */
} vta_uri;

vta_status vta_uri_parse(const char *uri, vta_uri *out, vta_diag *diag);
void vta_uri_free(vta_uri *uri);

/* Sets the members of `options` that the query names; an option may be given once. Those in `common` set
 * members of `common_options` instead and are known to every device. */
typedef struct vta_option_set {
    const vta_option *rows;
    uint32_t count;
    void *values;
} vta_option_set;
vta_status vta_uri_options(vta_uri *uri, const vta_option_set *sets, uint32_t set_count, vta_diag *diag);

/* The configuration of a simulator: what `place` names; where that is empty, the expected one or the default.
 */
vta_status vta_place_config(const vta_opening *opening, vta_config *out, vta_diag *diag);

/* Memory of a simulated device, for `alloc` and `free` over a vta_dram. */
struct vta_dram;
vta_status vta_simulated_alloc(struct vta_dram *dram, uint64_t at, size_t size, vta_mem *out, vta_diag *diag);

#endif
