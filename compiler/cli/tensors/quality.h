/* SPDX-License-Identifier: Apache-2.0
 *
 * Effect of quantizing on a network's answers, told in the same way by every verb.
 */
#ifndef VTAC_CLI_QUALITY_H
#define VTAC_CLI_QUALITY_H

#include "cli.h"
#include "vtac/quantize.h"

#define CLI_QUALITY_OPTIONS                                                                                  \
    {                                                                                                        \
        "--force", NULL, CLI_FLAG, "take a model that quantizing has spoilt"                                 \
    }

/* A table with a row for each output, and what is worst. Prints nothing where no report was made. */
void cli_quality_text(const vtac_quantize_report *report);

/* The member "quality", with a comma in front; nothing where no report was made. */
void cli_quality_json(const vtac_quantize_report *report);

/* Warns of a doubtful model; fails for a bad one, in a line, unless --force is given. With made-up inputs it
 * says how far the answers are from those of floats, and fails where that is more than a tenth of what they
 * span. */
vta_status cli_quality_check(const cli_args *args, const vtac_quantize_report *report, vta_diag *diag);

#endif
