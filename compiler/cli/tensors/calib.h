/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantizing on the command line: calibration inputs from files, or made up.
 */
#ifndef VTAC_CLI_CALIB_H
#define VTAC_CLI_CALIB_H

#include "cli.h"
#include "vta/vec.h"
#include "vtac/quantize.h"

#define CLI_CALIB_OPTIONS                                                                                    \
    {"--calib", "DIR|FILE", CLI_FILE, "inputs: .npz, .npy, .pb, .png, .jpg or a folder"},                    \
        {"--preprocess", "HOW", CLI_TEXT, "of pictures, as in 'vtac run --help'"},                           \
    {                                                                                                        \
        "--method", "NAME", CLI_TEXT, "ranges by minmax, percentile, mse, entropy or room"                   \
    }

/* The inputs that --calib names, or, without it, NULL and a warning. Memory is the arena's. */
vta_status cli_read_samples(const cli_args *args, const vtac_graph *graph, vta_arena *arena,
                            const vtac_samples **out, vta_diag *diag);

/* The samples at `path` that have the sizes of the graph's inputs; the others are left out. */
vta_status cli_pick_samples(const char *path, const vtac_graph *graph, vta_arena *arena, vtac_samples *out,
                            vta_diag *diag);

/* The sizes of the samples at `path`, each once: in `out` a vtac_type for each input of the graph, whose
 * inputs have the number of axes alone. */
vta_status cli_scan_sizes(const char *path, const vtac_graph *graph, vta_vec *out, vta_diag *diag);

/* --method; CLI_OK or the status of a misuse. */
int cli_read_method(const cli_args *args, vtac_range_method *out);

/* --weights where it names bits, not a file: int8, int4, or int4:32 for blocks of 32 inputs. CLI_OK or the
 * status of a misuse. */
int cli_read_width(const cli_args *args, vtac_quantize_options *how);

/* Checks that --preprocess applies; CLI_OK or the status of a misuse. */
int cli_check_preprocess(const cli_args *args);

/* For `vtac compile`: a model of floats becomes a quantized one, with --calib and --method; a quantized one
 * stays as it is. The report may be NULL; it is empty where nothing was quantized. Free it, also after a
 * failure. */
vta_status cli_quantize_float(const cli_args *args, vtac_graph *graph, vtac_quantize_report *report,
                              vta_diag *diag);

#endif
