/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a graph that runs on the accelerator. The partitioner takes quantized nodes out of a graph in
 * maximal regions, has each scheduled (vtac/vta.h), and leaves in their place
 *
 *     Pack (one for each input) -> Region -> Unpack (one for each output)
 *
 * Pack and Unpack are host kernels between the graph's layout and the device's; a Region is one launch.
 * Attributes of all three give their places in device memory, so the back end need not know more.
 */
#ifndef VTAC_PARTITION_H
#define VTAC_PARTITION_H

#include "vtac/graph.h"
#include "vtac/vta.h"

typedef struct vtac_region {
    vtac_vta_region region;
    vtac_vta_image image;
    uint8_t *program; /* the image's program as a container file; owned */
    size_t program_bytes;
    uint64_t constant_offset, work_offset; /* of its memory in the memory of all regions */
} vtac_region;

typedef enum vtac_placement_kind {
    VTAC_PLACE_HOST,        /* `reason` tells why */
    VTAC_PLACE_ACCELERATOR, /* layer `layer` of region `region` */
    VTAC_PLACE_VANISHED     /* a view, seen through by the layers that read it */
} vtac_placement_kind;

/* The place where a node of the original graph runs. */
typedef struct vtac_placement {
    vtac_placement_kind kind;
    uint32_t region, layer;
    const char *reason; /* HOST: the rule that keeps it there and what to change; "" elsewhere */
    bool too_large;     /* HOST: the buffers cannot hold its smallest piece */
    bool has_cost;      /* `cost` is known: the node can run on the accelerator */
    vtac_vta_cost cost; /* on the accelerator: estimated for the node alone, or predicted */
    double host_cycles; /* on the host, estimated, in cycles of the accelerator's clock */
    vtac_op op;
    bool border; /* it converts an input or output of the model between floats and integers */
} vtac_placement;

typedef struct vtac_partition {
    vta_config config;
    vtac_region *regions;
    uint32_t region_count;
    vtac_placement *places; /* by node id of the original graph */
    uint32_t place_count;   /* the highest node id + 1 */
    uint64_t constant_bytes, work_bytes;
    const char *host;   /* the processor beside it */
    double host_cycles; /* there, of what stays on the host, in cycles of the accelerator's clock */
    vta_arena arena;
} vtac_partition;

typedef struct vtac_partition_options {
    const vta_config *config;
    vtac_vta_options schedule;
    const char *host;  /* the processor beside the accelerator; NULL: that of the configuration's board */
    bool always;       /* everything that can run on the accelerator does, at any cost */
    bool holds_states; /* caches stay in device memory from run to run, in the accelerator's order: the types
                        * of these inputs and outputs change */
    bool look;         /* only finds the places: schedules nothing, puts no regions into the graph, which is
                        * legalized for the configuration all the same */
    bool predict;      /* with `look`: also schedules the regions, and predicts costs */
} vtac_partition_options;

/* A run: cycles on the accelerator, and of what stays on the host, in cycles of the accelerator's clock. */
typedef struct vtac_run_cycles {
    double accelerator, host;
} vtac_run_cycles;
vtac_run_cycles vtac_partition_cycles(const vtac_graph *graph, const vtac_partition *partition);

/* The work of one operator that is left to the host. */
typedef struct vtac_left {
    vtac_op op;
    uint32_t nodes;
    double share;       /* of the work */
    const char *reason; /* of its dearest node */
} vtac_left;

/* The accelerator's share of the work, as the host would count it, without the conversions of the model's
 * inputs and outputs. Fills `left`, the largest share first. */
double vtac_partition_share(const vtac_partition *partition, vtac_left left[VTAC_OP_COUNT], uint32_t *count);

/* True if the accelerator has a layer for this operator on 8-bit operands. */
bool vtac_op_has_layer(vtac_op op);

/* *out is owned: vtac_partition_free. */
vta_status vtac_partition_graph(vtac_graph *graph, const vtac_partition_options *options,
                                vtac_partition **out, vta_diag *diag);
void vtac_partition_free(vtac_partition *partition);

#endif
