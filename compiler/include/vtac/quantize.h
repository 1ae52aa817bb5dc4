/* SPDX-License-Identifier: Apache-2.0
 *
 * From a float model to a quantized one: run it on samples, choose a scale and a zero point for each
 * activation and a scale for each weight, and put QuantizeLinear and DequantizeLinear around what the
 * accelerator and the integer kernels can do. The result is a standard ONNX graph ("QDQ"); fold-qdq makes
 * integer operators of it, whose arithmetic is that of vtac/quant.h.
 */
#ifndef VTAC_QUANTIZE_H
#define VTAC_QUANTIZE_H

#include "vtac/graph.h"
#include "vtac/progress.h"

/* Methods that derive an activation's range from the samples:  id, name, doc */
#define VTAC_RANGE_METHODS(X)                                                                                \
    X(MINMAX, "minmax", "all that was seen")                                                                 \
    X(PERCENTILE, "percentile", "all but the rarest 0.01 %")                                                 \
    X(MSE, "mse", "the range with the least squared error of rounding and cutting")                          \
    X(ENTROPY, "entropy", "the range that keeps the distribution best (Kullback-Leibler)")                   \
    X(ROOM, "room", "all that was seen and a quarter more, for few calibration inputs")

typedef enum vtac_range_method {
#define X(id, name, doc) VTAC_RANGE_##id,
    VTAC_RANGE_METHODS(X)
#undef X
        VTAC_RANGE_COUNT
} vtac_range_method;

const char *vtac_range_method_name(vtac_range_method method);
/* Finds a method by name; VTAC_RANGE_COUNT: unknown. */
vtac_range_method vtac_range_method_find(const char *name);

/* Calibration inputs: tensors[s * inputs + i] is input `i` of the graph in sample `s`. */
typedef struct vtac_samples {
    const vtac_tensor *tensors;
    uint32_t count, inputs;
} vtac_samples;

/* A model of open sizes at further sizes, whose ranges count, too: the one of number `i` with its calibration
 * inputs, or *graph NULL behind the last. The graph has had the same passes as that of the first size; it is
 * the caller's of `load`, the samples are not. */
typedef struct vtac_more_sizes {
    vta_status (*load)(void *context, uint32_t i, vtac_graph **graph, const vtac_samples **samples,
                       vta_diag *diag); /* NULL: there are none */
    void *context;
} vtac_more_sizes;

/* A model that was compiled once, for trials of what stays float (below). */
typedef struct vtac_trials vtac_trials;

/* The numbers at the end of a network, behind its last product, sum of 8 bits or pool. */
typedef enum vtac_network_end {
    VTAC_END_FLOAT, /* floats, which are more exact and cost the accelerator nothing */
    VTAC_END_PLAIN, /* sums, differences and products of two have 8 bits */
    VTAC_END_ROWS   /* so have Softmax and normalizations */
} vtac_network_end;

typedef struct vtac_quantize_options {
    vtac_range_method method;
    bool per_channel;              /* weights: a scale for each output channel */
    uint32_t weight_bits;          /* of weights: 4; 8, or 0 for it */
    uint32_t weight_block;         /* with 4 bits: this many inputs of an output have a scale; 0: all */
    const char *const *keep_bytes; /* nodes whose weights have 8 bits nevertheless, named as those below */
    uint32_t keep_bytes_count;
    bool unsigned_activations;     /* uint8; otherwise int8 */
    bool correct_bias;             /* take out what rounding the weights adds to the mean of each channel */
    bool equalize;                 /* even out weights from layer to layer first; for one scale per tensor */
    bool tune_rounding;            /* weights go up or down so that the outputs of their layer are right */
    bool round_nearest;            /* those of 4 bits do not, which else do where there are samples */
    const char *const *keep_float; /* nodes that stay float, by name or by that of a result */
    uint32_t keep_count;
    vtac_network_end ends;
    bool keep_readers; /* what reads a result of these stays float, too, so that the result is one */
    bool hold_out;     /* trials judge each of many samples with the ranges of the others */
    bool measure_harm; /* fill `harm` of the layers where the mark is not good and the samples are real */
    const uint32_t *labels; /* the right answer of each sample's rows of the first output, in order; NULL */
    uint32_t label_count;
    vtac_more_sizes sizes;
    vtac_trials
        *trials; /* of the same model: they have seen its ranges; NULL: it is compiled and seen here */
    const vtac_progress *progress; /* NULL: silent */
} vtac_quantize_options;

/* Defaults of `vtac compile` when it quantizes on the fly. */
#define VTAC_RANGE_DEFAULT VTAC_RANGE_MINMAX
#define VTAC_QUANTIZE_DEFAULTS                                                                               \
    {                                                                                                        \
        .method = VTAC_RANGE_DEFAULT, .per_channel = true, .correct_bias = true                              \
    }

/* True if a model computes with floats, has something to quantize and holds no integers yet. */
bool vtac_quantizable(const vtac_graph *graph);

/* Products of integers whose scale the run finds (DynamicQuantizeLinear) become products of floats, for
 * calibration to give them fixed scales. */
vta_status vtac_make_static(vtac_graph *graph, vta_diag *diag);

/* Fails for one of integers, with what to do instead. */
vta_status vtac_quantize_check(const vtac_graph *graph, vta_diag *diag);

/* Writes the reason that keeps a float node from its 8-bit form: half a sentence, at most 128 characters
 * with the terminator. */
void vtac_why_float(const vtac_graph *graph, const vtac_node *node, char text[128]);

/* A value that is now quantized. */
typedef struct vtac_quantized_layer {
    const char *node, *op, *value;
    double snr_db;    /* of the value over all samples, quantized against float; infinite where they agree */
    double added;     /* its noise, in parts of its signal, beyond that of what it reads */
    double low, high; /* of what is representable */
    double harm;      /* noise of the network's outputs that the group of this layer alone causes, in parts of
                         their variance; negative: not measured */
    uint64_t macs;    /* multiplications of its node */
    float scale;
    int32_t zero;
    uint32_t weight_bits; /* of its weights; 0: it has none */
    bool tuned;           /* the rounding of its weights */
    /* then: what rounding the weights adds to its outputs, root of the mean square, to the nearest and tuned
     */
    double rounding_before, rounding_after;
} vtac_quantized_layer;

/* The mark of an output, and of a model: that of its worst output. Made-up inputs never give a good one.
 *  id, name */
#define VTAC_QUALITIES(X)                                                                                    \
    X(GOOD, "good")                                                                                          \
    X(DOUBTFUL, "doubtful")                                                                                  \
    X(BAD, "bad")

typedef enum vtac_quality {
#define X(id, name) VTAC_QUALITY_##id,
    VTAC_QUALITIES(X)
#undef X
} vtac_quality;

const char *vtac_quality_name(vtac_quality quality);

/* An output of the network, quantized against float, over all samples. */
typedef struct vtac_output_quality {
    const char *name;
    double mean_error, largest_error; /* of absolute errors, in parts of the range of the float output */
    double snr_db;                    /* infinite where both agree */
    double correlation;
    uint32_t distinct, distinct_float; /* numbers that occur, counted up to 8,192 */
    double lost_columns;               /* share of the columns that keep three values or fewer */
    uint64_t decisions, agreed; /* rows of a classifier or of probabilities, and those whose largest stayed */
    double probability;         /* largest change of a probability; negative: the output has none */
    vtac_quality quality;
    char why[80]; /* what lowers the mark; empty where it is good */
} vtac_output_quality;

/* Boxes that a detector finds, quantized against float. A box is matched by a box of its class whose
 * intersection is at least half of their union. */
typedef struct vtac_detections {
    uint64_t floats, bytes, matched; /* of the float model, of the quantized one; and of both */
    double overlap;                  /* of matched boxes: intersection by union, the mean */
    double score_change;             /* of a matched box, the largest */
    vtac_quality quality;
} vtac_detections;

typedef struct vtac_quantize_report {
    vtac_output_quality *outputs; /* of floats; in the model's order */
    uint32_t output_count;
    vtac_quality quality;
    vtac_detections detections; /* floats and bytes 0: no output is boxes, or none was found */
    uint64_t macs, macs_float;  /* multiplications with weights, and those of them that stay float */
    double float_work; /* share of the host's work for all nodes that those that stay float have; about */
    vtac_quantized_layer *layers; /* worst first */
    uint32_t layer_count;
    uint32_t samples;
    bool held_out;              /* each sample was quantized with the ranges of the others */
    uint64_t decisions, agreed; /* of the first output: rows of scores, places of a map; and those whose
                                   largest score stayed where it was */
    uint32_t tuned;             /* layers whose rounding was tuned */
    uint32_t products, narrow;  /* layers with weights, and those of them whose weights have 4 bits */
    uint64_t weight_bits;       /* of all weights and their scales together */
    uint64_t weights;
    double rounding_left; /* their error, squared, in parts of that of rounding to the nearest: the mean */
    uint64_t predicted;   /* ids of the samples that the scores before them predict; 0: there are none */
    double perplexity, perplexity_float;
    uint64_t right, right_float; /* of the labels: the model of integers, the model of floats */
    double output_error;         /* largest absolute error of any output */
    double output_deviation; /* root of the mean squared error of the outputs, in parts of what they span */
    bool made_up;            /* the samples were; the comparison is on others than the ranges are from */
    double output_snr_db;    /* of the outputs together */
    vta_arena arena;
} vtac_quantize_report;

/* Quantizes the graph in place; on failure it is not usable any more. The passes of level 2 run first.
 * Without samples (NULL) it makes up some and leaves the ranges some room. `report` may be NULL; otherwise
 * free it afterwards, also on failure. */
vta_status vtac_quantize(vtac_graph *graph, const vtac_samples *samples, const vtac_quantize_options *options,
                         vtac_quantize_report *report, vta_diag *diag);

/* Trials: what would happen to the outputs, layer by layer, without another compilation. `graph` and `twin`
 * are the same model, read twice; both change, and stay as long as the trials, as the samples do. *out is
 * NULL where the options ask for what trials do not have: weights of 4 bits, tuned rounding, weights that are
 * evened out, further sizes. */
vta_status vtac_trials_open(vtac_graph *graph, vtac_graph *twin, const vtac_samples *samples,
                            const vtac_quantize_options *how, vtac_trials **out, vta_diag *diag);

/* The report of vtac_quantize with these options, which differ in the method and in what stays float. Without
 * `layers` the report is about the outputs alone, and made sooner. VTA_UNSUPPORTED where nothing would be
 * quantized. Free the report also after a failure. */
vta_status vtac_trials_try(vtac_trials *trials, const vtac_quantize_options *how, bool layers,
                           vtac_quantize_report *report, vta_diag *diag);

void vtac_trials_close(vtac_trials *trials);

/* Compares what two detectors find in the samples, whose inputs are those of `trunk` (vtac/onnx.h), and puts
 * the result into the report. Passes change both graphs. Nothing happens where no output is boxes. */
vta_status vtac_quant_detections(vtac_graph *floats, vtac_graph *bytes, const vtac_graph *trunk,
                                 const vtac_samples *samples, const vtac_progress *progress,
                                 vtac_quantize_report *report, vta_diag *diag);

/* Gets what is to be said, a sentence at a time; `report` may be NULL. */
typedef struct vtac_note {
    void (*report)(void *context, const char *text);
    void *context;
} vtac_note;

/* Inputs and outputs of a quantized model become its integers where one scale of 8 bits converts them; what
 * a program gives and gets is then reported with the scale. Probabilities at the end get 256 steps from 0
 * to 1. VTA_UNSUPPORTED where there is none. */
vta_status vtac_integer_ends(vtac_graph *graph, const vtac_note *note, vta_diag *diag);

void vtac_quantize_report_free(vtac_quantize_report *report);

typedef struct vtac_sample_range {
    double low, high;
} vtac_sample_range;

/* Inputs made up from a seed, for when there are none: things before things, as in pictures. Memory is the
 * arena's. */
vta_status vtac_generate_samples(const vtac_graph *graph, const vtac_sample_range *range, uint32_t count,
                                 uint64_t seed, vta_arena *arena, vtac_samples *out, vta_diag *diag);

#endif
