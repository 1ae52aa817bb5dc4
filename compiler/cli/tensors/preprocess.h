/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of a picture on its way into a model: a size, an order of channels, a range of values.
 */
#ifndef VTAC_CLI_PREPROCESS_H
#define VTAC_CLI_PREPROCESS_H

#include <stdbool.h>

#include "vta/model.h"

typedef enum cli_layout { CLI_LAYOUT_GUESS, CLI_LAYOUT_NCHW, CLI_LAYOUT_NHWC } cli_layout;

/* An element is (pixel / scale - mean) / std, channel by channel. */
typedef struct cli_preprocess {
    const char *name; /* of a row of preprocess.def; NULL: nothing was said */
    double scale;
    double mean[3], std[3];
    bool bgr;
    cli_layout layout;
    double crop; /* how much of the short side stays */
} cli_preprocess;

/* "imagenet", "mean=…,std=…,layout=nhwc", or a name and then what differs; NULL: by the input's type. */
vta_status cli_preprocess_parse(const char *text, cli_preprocess *out, vta_diag *diag);

/* Reads a picture and puts it into an input's memory. *guessed: which preset was taken for want of another,
 * where others would have done as well. */
vta_status cli_picture_input(const char *path, const cli_preprocess *how, const vta_tensor_info *info,
                             void *data, const char **guessed, vta_diag *diag);

#endif
