/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX, NVIDIA's assembly: LLVM prints the kernels, for a processor that --target names.
 */
#include <string.h>

#include "gpu.h"
#include "vta/fail.h"

/* The edition of PTX that drivers have understood since CUDA 11.8, and that knows processors up to sm_90. */
#define EDITION "7.8"
static const char standard[] = "sm_70";

static const char *processor_of(const vtac_print_options *options)
{
    return options->detail[0] != '\0' ? options->detail : standard;
}

/* Processors that PTX 7.8 names and that have dp4a and a thread scheduler of their own. */
static bool is_known(const char *processor)
{
    static const char *const known[] = {"sm_70", "sm_72", "sm_75", "sm_80",
                                        "sm_86", "sm_87", "sm_89", "sm_90"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(processor, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool wants_groups(const vtac_print_options *options)
{
    (void)options;
    return true;
}

static vta_status begin_ptx(const vtac_print_options *options, vta_str *prelude, vta_diag *diag)
{
    if (!is_known(processor_of(options))) {
        return vta_fail(diag, VTA_INVALID,
                        "target 'cuda:%s': expected cuda, or cuda:sm_70, 72, 75, 80, 86, 87, 89 or 90 (later "
                        "processors run the same code)",
                        options->detail);
    }
    vta_str_printf(prelude, ".version " EDITION "\n.target %s\n.address_size 64\n", processor_of(options));
    return vta_allocated(!prelude->failed, diag);
}

static vta_status print_ptx(const vtac_bound *bound, const vtac_print_options *options, vta_str *out,
                            uint32_t *needs, vta_diag *diag)
{
    return options->ptx(bound, processor_of(options), out, needs, diag);
}

const vtac_printer vtac_ptx_printer = {
    .language = "cuda",
    .head = ".visible .entry",
    .transfer = {15e-6, 12e9},
    .has_halves = true,
    .has_dots = true,
    .wants_groups = wants_groups,
    .begin = begin_ptx,
    .print = print_ptx,
};
