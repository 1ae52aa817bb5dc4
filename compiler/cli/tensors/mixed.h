/* SPDX-License-Identifier: Apache-2.0
 *
 * Mixed precision: which layers stay float so that a model keeps what it is asked to keep.
 */
#ifndef VTAC_CLI_MIXED_H
#define VTAC_CLI_MIXED_H

#include "cli.h"
#include "vtac/import.h"
#include "vtac/quantize.h"

#define CLI_MIXED_OPTIONS                                                                                    \
    {"--max-loss", "DB", CLI_TEXT, "layers stay float until noise is DB below outputs"},                     \
        {"--labels", "FILE", CLI_FILE, "right answers of the calibration inputs, a number a line"},          \
    {                                                                                                        \
        "--max-drop", "PERCENT", CLI_TEXT, "layers stay float until as many more are right"                  \
    }

/* Source of the model, asked as often as the search tries another form of it. */
typedef struct cli_model_source {
    vta_status (*load)(void *context, vtac_graph **out, vta_diag *diag); /* *out: owned */
    vta_status (*read)(void *context, const vtac_graph *graph, vta_arena *arena, const vtac_samples **out,
                       vta_diag *diag); /* its calibration inputs, as cli_read_samples */
    void *context;
} cli_model_source;

enum { CLI_WORST = 3 };

typedef struct cli_mixed {
    bool automatic; /* real inputs, and no bound is given: until the mark is good, at the lowest price */
    bool bounded;   /* --max-loss or --max-drop is given */
    bool labelled;  /* --labels is given */
    double max_loss, max_drop;   /* negative: not asked for */
    const char *const *kept;     /* float in the end: what --keep-float names, then those that were chosen */
    uint32_t kept_count, chosen; /* the last `chosen` of them */
    const char *const *wide;     /* weights of 8 bits beside such of 4: named, then those that were chosen */
    uint32_t wide_count, wide_chosen;
    bool ends; /* sums, products and Softmax at the end of the network have 8 bits */
    uint32_t trials;
    vtac_range_method method; /* of the result */
    struct {
        const char *layer;
        double harm;    /* of its group of layers (vtac_quantized_layer) */
    } worst[CLI_WORST]; /* before layers were left in float; in the arena */
    uint32_t worst_count;
    vta_arena *arena;            /* of names and samples, given by whoever searches */
    const vtac_samples *samples; /* read for it; NULL: made up */
} cli_mixed;

/* CLI_OK or the status of a misuse. */
int cli_read_mixed(const cli_args *args, cli_mixed *out);

/* The search without bounds, for whoever has calibration inputs. */
cli_mixed cli_mixed_automatic(const cli_args *args);

/* Reads the right answers, a number a line, into the options; NULL: there are none. */
vta_status cli_read_answers(const char *path, vta_arena *arena, vtac_quantize_options *how, vta_diag *diag);

/* Quantizes the model, more than once where it is bounded or its mark is not good; *graph is the result,
 * owned, and `report` is about it. */
vta_status cli_quantize_mixed(const cli_args *args, const cli_model_source *source,
                              const vtac_quantize_options *how, cli_mixed *mixed, vtac_graph **graph,
                              vtac_quantize_report *report, vta_diag *diag);

/* Sentences: the method where the search took another one, layers in float and their share of the work. */
void cli_mixed_text(const cli_mixed *mixed, const vtac_quantize_report *report);

/* The same as members, with a comma in front. */
void cli_mixed_json(const cli_mixed *mixed, const vtac_quantize_report *report);

#endif
