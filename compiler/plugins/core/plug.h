/* SPDX-License-Identifier: Apache-2.0
 *
 * The core of the plug-ins: what the execution provider of ONNX Runtime and the delegate of TensorFlow Lite
 * share. A plug-in writes the host program's graph as a model, asks where its nodes run, cuts the regions of
 * the accelerator out, and runs them as parts:
 *
 *     vtac_plug_open     options, configuration and device of one session
 *     vtac_plug_place    a model -> the region of the accelerator of each node, by `vtac explain`
 *     vtac_plug_cut      the regions -> nodes that leave the graph together
 *     vtac_plug_load     the model of one region -> a part: compiled in process by libvtac, from the cache
 *                        where it was compiled before, on the session's device
 *     vtac_plug_run      the host program's memory in and out
 *
 * The core is a guest twice over: it prints nothing, ends nothing, and a failure comes back as a status with
 * one sentence. A part whose device fails as it runs goes on in the simulator `fsim`, with the same integers.
 */
#ifndef VTAC_PLUG_H
#define VTAC_PLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

/* ---- options and sessions */

typedef enum vtac_plug_option {
#define VTAC_PLUG_OPTION(id, name, standard, doc) VTAC_PLUG_##id,
#include "plug_options.def"
#undef VTAC_PLUG_OPTION
    VTAC_PLUG_OPTION_COUNT
} vtac_plug_option;

/* The options of a session as texts; {0}: none is given. */
typedef struct vtac_plug_settings {
    char *text[VTAC_PLUG_OPTION_COUNT]; /* owned; NULL: the standard one */
} vtac_plug_settings;

/* The name of an option; NULL beyond the last. */
const char *vtac_plug_option_name(uint32_t option);

/* Takes one option by its name. An unknown name and a value that cannot be are refused. */
vta_status vtac_plug_set(vtac_plug_settings *settings, const char *name, const char *value, vta_diag *diag);
void vtac_plug_settings_free(vtac_plug_settings *settings);

/* Lines for the log of the host program, each without its end. */
typedef struct vtac_plug_log {
    void (*line)(void *context, bool warning, const char *line);
    void *context;
} vtac_plug_log;

typedef struct vtac_plug vtac_plug;

/* Checks the configuration and opens the device, which all sessions of the process with the same URI and
 * configuration share. The settings are copied. */
vta_status vtac_plug_open(const vtac_plug_settings *settings, const vtac_plug_log *log, vtac_plug **out,
                          vta_diag *diag);
void vtac_plug_close(vtac_plug *plug);

/* The log from now on, where the host program has another one. */
void vtac_plug_log_to(vtac_plug *plug, const vtac_plug_log *log);

/* Writes a line into the host program's log; a line that is no warning, where the option `log` asks for it.
 */
__attribute__((format(printf, 3, 4))) void vtac_plug_say(const vtac_plug *plug, bool warning, const char *fmt,
                                                         ...);

/* ---- where the nodes of a graph run */

/* True if the compiler has this operator of ONNX; domain "" is ONNX's own. */
bool vtac_plug_has_operator(const char *domain, const char *name);

/* A model as the bytes of a file. */
typedef struct vtac_plug_model {
    const uint8_t *bytes;
    size_t size;
    const char *kind;          /* the ending of its file's name: "onnx" or "tflite" */
    const char *const *shapes; /* sizes of inputs that the model leaves open, "i0=1x3x32x32", the last NULL;
                                  NULL: it leaves none open */
} vtac_plug_model;

enum { VTAC_PLUG_STAYS = -1 }; /* in the place of a region: the node stays with the host program */

/* The region of each of `count` nodes, or VTAC_PLUG_STAYS. Node i has the name "n<i>" in the model (an ONNX
 * model), or its first output has (a model of TensorFlow Lite). */
vta_status vtac_plug_place(vtac_plug *plug, const vtac_plug_model *model, int32_t *regions, uint32_t count,
                           vta_diag *diag);

/* The part that a node has in the cut. */
typedef enum vtac_plug_node_kind {
    VTAC_PLUG_PLAIN,
    VTAC_PLUG_DEQUANTIZE, /* goes with the node that reads it */
    VTAC_PLUG_QUANTIZE,   /* goes with the node that it reads */
    VTAC_PLUG_PASSING     /* goes along where it leads to a VTAC_PLUG_QUANTIZE */
} vtac_plug_node_kind;

/* A graph in terms of values, numbered from 0; nodes stand in an order in which each follows what it reads.
 */
typedef struct vtac_plug_node {
    vtac_plug_node_kind kind;
    const uint32_t *inputs, *outputs; /* values; borrowed */
    uint32_t input_count, output_count;
} vtac_plug_node;

typedef struct vtac_plug_graph {
    const vtac_plug_node *nodes;
    uint32_t node_count, value_count;
    const bool *constant; /* by value */
    const bool *kept;     /* by value: the host program reads it, though no node may */
} vtac_plug_graph;

/* Completes regions, so that what crosses their borders are integers: nodes between two nodes of a region,
 * the DequantizeLinear before and the QuantizeLinear behind its nodes, and what is computed of constants
 * alone. A region that would need its own result by way of other nodes is given up. */
vta_status vtac_plug_cut(const vtac_plug_graph *graph, int32_t *regions, vta_diag *diag);

/* The values that cross the border of a region, each once, in the order of the nodes; owned: free(). */
typedef struct vtac_plug_border {
    uint32_t *inputs, *outputs;
    uint32_t input_count, output_count;
} vtac_plug_border;
vta_status vtac_plug_border_find(const vtac_plug_graph *graph, const int32_t *regions, int32_t region,
                                 vtac_plug_border *out, vta_diag *diag);
void vtac_plug_border_free(vtac_plug_border *border);

/* ---- parts */

typedef struct vtac_plug_part vtac_plug_part;

/* Memory of the host program: an input or an output of a part. */
typedef struct vtac_plug_tensor {
    void *data; /* an input is only read */
    size_t bytes;
} vtac_plug_tensor;

/* The model's inputs have the names "i0", "i1", …, its outputs "o0", … VTA_UNSUPPORTED: compiled by itself,
 * nothing of it runs on the accelerator. */
vta_status vtac_plug_load(vtac_plug *plug, const vtac_plug_model *model, uint32_t inputs, uint32_t outputs,
                          vtac_plug_part **out, vta_diag *diag);

/* Runs a part once; threads may share the part, and run one after the other. */
vta_status vtac_plug_run(vtac_plug_part *part, const vtac_plug_tensor *inputs,
                         const vtac_plug_tensor *outputs, vta_diag *diag);

/* The sizes of an output; all zero beyond the last. Borrowed from the part. */
typedef struct vtac_plug_shape {
    const int64_t *dim;
    uint32_t rank;
    size_t bytes;
} vtac_plug_shape;
vtac_plug_shape vtac_plug_output(const vtac_plug_part *part, uint32_t output);

/* To be called before the close of its session; NULL is allowed. */
void vtac_plug_unload(vtac_plug_part *part);

#endif
