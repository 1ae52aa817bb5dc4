/* SPDX-License-Identifier: Apache-2.0
 *
 * Which hardware would be best for these networks: a space of configurations, what each takes of a part, how
 * long each network takes on it by the timing model, and what it costs in energy.
 */
#ifndef VTAC_EXPLORE_H
#define VTAC_EXPLORE_H

#include "vta/config.h"
#include "vta/str.h"
#include "vtac/goal.h"
#include "vtac/partition.h"
#include "vtac/work.h"

/* ---- parts (parts.def) */

/* The family of a part. Multipliers of UltraScale+ have 27 x 18 bits (ALU_DSPS 2); an ECP5 is counted by the
 * units of area.def. */
typedef enum vtac_family { VTAC_XC7, VTAC_XCUP, VTAC_ECP5 } vtac_family;

typedef struct vtac_part {
    const char *name, *board;          /* "xc7z020", "pynq"; board: the shipped configuration to begin with */
    const char *bitstream;             /* the board of `./run bitstream` that has it; "": none */
    double lut, ff, dsp, bram;         /* what there is */
    double lut_max, dsp_max, bram_max; /* and what may be taken, so that it can be routed */
    uint32_t clock_mhz, shared_mb_s, max_bus_bits; /* of its usual board */
    vtac_family family;
} vtac_part;

const vtac_part *vtac_parts(uint32_t *count);
/* VTA_INVALID: no such part; the message names those that there are. */
vta_status vtac_part_find(const char *name, vtac_part *out, vta_diag *diag);

/* ---- area: fitted to Yosys' counts of area.def */

typedef struct vtac_area {
    double lut, ff, dsp, bram;
} vtac_area;

enum { VTAC_AREA_FEATURES = 10 };
typedef struct vtac_area_model {
    double lut[VTAC_AREA_FEATURES], ff[VTAC_AREA_FEATURES], dsp[VTAC_AREA_FEATURES], bram[VTAC_AREA_FEATURES];
    vtac_area error; /* each sample against a fit to all the others: the mean of its errors, a share */
    uint32_t samples;
    double placed;           /* LUTs of a placed Xilinx design for one that Yosys counts */
    double lut4, multiplier; /* of an ECP5, for a LUT and a DSP of an xc7, */
    double lut4_error;       /* the mean of its units' errors, a share, */
    uint32_t units;          /* and how many they are */
} vtac_area_model;

/* The fit. */
vta_status vtac_area_fit(vtac_area_model *out, vta_diag *diag);
/* False where nobody has counted the configuration's units. Then `why` names the key. */
bool vtac_area_knows(const vta_config *config, char *why, size_t size);
/* In the part's own LUTs, as they are placed, and multipliers. */
vtac_area vtac_area_of(const vtac_area_model *model, const vtac_part *part, const vta_config *config);

/* True if the part supports the configuration, whatever its size. Else `why` names the missing feature:
 * "LOG_BUS_WIDTH 128 of 64 bits". */
bool vtac_part_has(const vtac_part *part, const vta_config *config, char *why, size_t size);
/* True if the area fits the part. Else `why` names what is exceeded, the farthest above its limit first: "DSP
 * 314 of 200, LUT 61204 of 39900". */
bool vtac_area_fits(const vtac_part *part, const vtac_area *area, char *why, size_t size);
/* The largest share of what may be taken. */
double vtac_area_share(const vtac_part *part, const vtac_area *area);

/* ---- the clock: longest paths of netlists (clock.def) */

typedef struct vtac_clock {
    uint32_t count;          /* netlists on the part; 0: all else is 0 */
    double ns, mhz;          /* their mean, and what it allows */
    double error;            /* a share: the most by which the mean of the others misses one */
    double lut_min, lut_max; /* of the smallest and the largest */
} vtac_clock;
vtac_clock vtac_clock_of(const char *part);
enum { VTAC_CLOCK_TEXT = 256 };
void vtac_clock_text(const vtac_clock *clock, const char *part, uint32_t mhz, char *text, size_t size);

/* ---- energy: counts × published energies (energy.def) */

/* Joules of a run whose layers cost this. */
double vtac_energy_of(const vta_config *config, const vtac_vta_cost *sum);
/* The sources of the figures: a line for each, up to a NULL. */
const char *const *vtac_energy_sources(void);

/* The same as a chip in the standard cells of chip.def, which `./run energy` makes: energy by what takes it,
 * in pJ, and area. DRAM is beside it, by the published energy. */
typedef struct vtac_chip {
    double macs, lanes, rams, moves, idle;
    double joules, dram; /* of a run; of its DRAM */
    double mm2, ram_mm2;
} vtac_chip;
vtac_chip vtac_chip_of(const vta_config *config, const vtac_vta_cost *sum, uint64_t cycles);
/* Writes sentences, a line each: area and energy, shares of the energy, sources. `macs`: those of the
 * network. */
enum { VTAC_CHIP_LINES = 3, VTAC_CHIP_TEXT = 256 };
void vtac_chip_text(const vtac_chip *chip, uint64_t macs, char text[VTAC_CHIP_LINES][VTAC_CHIP_TEXT]);

/* ---- the space */

enum { VTAC_SPACE_AXES = 24, VTAC_SPACE_VALUES = 24, VTAC_SPACE_SHIPPED = 8 };
typedef struct vtac_space {
    vta_config base;
    struct {
        const char *key; /* of the table of keys */
        uint32_t values[VTAC_SPACE_VALUES];
        uint32_t count;
        bool fixed; /* by vtac_space_fix */
        bool given; /* by the user: no configuration has another value */
    } axes[VTAC_SPACE_AXES];
    uint32_t axis_count;
    vta_config shipped[VTAC_SPACE_SHIPPED]; /* configurations that come with vtac and may suit the part */
    uint32_t shipped_count;
} vtac_space;

/* False for small configurations, which are for tests, and for those with a bus wider than the part's. */
bool vtac_space_suits(const vtac_part *part, const vta_config *config);
/* Default space of a part: values around the configuration of the part's board. */
vta_status vtac_space_default(const vtac_part *part, vtac_space *out, vta_diag *diag);
/* A JSON object of keys of configurations, each with its values or one value: they replace those that there
 * are. */
vta_status vtac_space_read(const char *path, vtac_space *space, vta_diag *diag);
/* "LOG_BLOCK_IN=4": this value alone; "=4,5": these. A key is fixed once. */
vta_status vtac_space_fix(vtac_space *space, const char *text, vta_diag *diag);
/* A configuration's value of a key that is an axis of some space. */
uint32_t vtac_space_value(const vta_config *config, const char *key);
/* Number of configurations in the space, legal or not. */
uint64_t vtac_space_size(const vtac_space *space);
/* Number of configurations around the shipped ones: each of these, and each with one key changed to a value
 * of the space. They have the numbers behind vtac_space_size. */
uint64_t vtac_space_around(const vtac_space *space);
/* The number under which a configuration around the shipped ones is looked at: that of the same configuration
 * in the space where it is there, else its own. False where the user's keys rule it out. */
bool vtac_space_number(const vtac_space *space, uint64_t index, uint64_t *number);
/* Configuration `index`. VTA_RANGE or VTA_INVALID: it is not legal, with the reason. */
vta_status vtac_space_at(const vtac_space *space, uint64_t index, vta_config *out, vta_diag *diag);

/* ---- networks */

typedef struct vtac_explored {
    const char *name;
    vtac_region *regions; /* borrowed */
    uint32_t region_count;
    double host_cycles; /* of what stays on the host, at the base configuration's clock; for reports */
} vtac_explored;

/* Result of a network on a configuration. With cycles 0 the network does not run there, and the
 * reason is given. */
typedef struct vtac_estimate {
    vtac_vta_cost sum; /* of its layers */
    uint64_t cycles;
    char why[192];
} vtac_estimate;

/* Candidates are kept in memory, some kilobytes each. */
enum { VTAC_MAX_NETWORKS = 16, VTAC_COMPILED = 3, VTAC_MAX_CANDIDATES = 200000 };
typedef struct vtac_candidate {
    uint64_t index; /* in the space */
    vta_config config;
    vtac_area area;
    double share; /* of the part */
    bool timed;   /* by the timing model, itself or its twin */
    bool runs;    /* all networks */
    vtac_estimate networks[VTAC_MAX_NETWORKS];
    uint64_t
        compiled[VTAC_MAX_NETWORKS]; /* cycles at the compiler's own care, of a search's best; 0: not asked */
    double fps, energy;              /* geometric means over the networks */
    double latency;                  /* seconds of the slowest network */
    double round;                    /* seconds of all networks in turn, each as often as it counts */
    double score;                    /* by the goal: smaller is better */
    int broken;                      /* the goal's first limit that it does not keep; -1: it keeps all */
    bool front;    /* of those that keep the limits nobody is better in fps, share and energy */
    uint32_t twin; /* of candidates that only clock or pump tell apart, the one that was timed */
} vtac_candidate;

/* Why configurations are out. */
typedef struct vtac_outside {
    char why[96]; /* "LUT", "BRAM36", "LOG_ACC_BUFF_SIZE", … */
    uint64_t count;
} vtac_outside;

/* Summary of all legal configurations with one array. */
typedef struct vtac_tile {
    uint32_t batch, block_in, block_out, pump;
    uint64_t fitting;   /* the part, so many; */
    uint64_t evaluated; /* of them, since a search leaves some alone */
    double fps;         /* of the fastest that runs all networks; 0: none does */
    char nearest[96]; /* of those that do not fit, what the one that is least too large takes: "LUT 61,204 of
                         39,900"; "": all fit */
    double min_share; /* and its share of the part */
} vtac_tile;
enum { VTAC_MAX_TILES = 64 };

typedef struct vtac_exploration {
    vtac_candidate *candidates; /* best first; owned */
    uint32_t count;
    uint32_t distinct; /* of those that are legal and fit, as many as programs tell apart, */
    uint32_t timed;    /* and as many as the timing model has looked at */
    uint32_t left;     /* candidates that a search has left alone: they are not among `candidates` */
    uint64_t space, illegal, too_large;
    uint64_t
        around; /* of `space`, those around the shipped configurations that are not in the space itself */
    vtac_outside outside[16]; /* the largest groups of those that are out */
    uint32_t outside_count;
    char nearest[96];      /* what the one of those too large that is least so needs more of: "LUT 61,204 of
                              39,900" */
    char illegal_why[192]; /* of the first that is not legal */
    vtac_tile tiles[VTAC_MAX_TILES]; /* from the smallest array to the largest */
    uint32_t tile_count;
    double *piece_seconds; /* of each piece of work; owned */
    uint32_t piece_count;
    vtac_area_model area_model;
} vtac_exploration;

typedef struct vtac_explore_options {
    const vtac_part *part;
    const vtac_space *space;
    const vtac_explored *networks;
    uint32_t network_count;
    double counts[VTAC_MAX_NETWORKS]; /* how much each counts in the means; all 0: alike */
    const vtac_goal *goal;            /* NULL: fps */
    double watts, price;              /* of the board, of the part; 0: not known */
    double time;                      /* of boards, for a predicted one (promises.h); 0: 1 */
    uint64_t limit;                   /* configurations of the space that are looked at, evenly; 0: all */
    double search; /* the share of what programs tell apart that is timed, by successive halving; 0: all */
    const char *journal; /* a file of results: those that it has are taken, new ones are added; NULL: none */
    const char *journal_key; /* a line that names the work */
    void (*told)(void *context, uint32_t done, uint32_t all);
    void *told_context;
} vtac_explore_options;

/* Evaluates one piece of an exploration in a worker; `context` is its vtac_explore_options. */
vta_status vtac_explore_piece(void *context, const char *piece, vta_str *result, vta_diag *diag);

/* *out is owned: vtac_exploration_free. */
vta_status vtac_explore(const vtac_explore_options *options, vtac_work *work, vtac_exploration *out,
                        vta_diag *diag);
void vtac_exploration_free(vtac_exploration *exploration);

#endif
