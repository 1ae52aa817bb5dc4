/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac build CONFIG DIR: everything that makes a board, or a simulator, of a configuration.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board_folder.h"
#include "promise.h"
#include "temporary.h"
#include "tensors.h"
#include "vta/fail.h"
#include "vta/str.h"

static const cli_option options[] = {
    {"--board", "NAME", CLI_TEXT, "a board of fpga/boards.txt, or sim (default)"},
    {"--models", "A,B,...", CLI_FILE, "promise their cycles: files, or names of the zoo"},
    {"--calib", "DIR|FILE", CLI_FILE, "inputs to quantize models of floats with"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_MODEL_OPTIONS,
};

/* Puts area and clock beside what the part gives. */
static vta_status promise_area(const vta_config *config, const vtac_part *part, vta_str *out, vta_diag *diag)
{
    vtac_area_model fit;
    char why[192] = "";
    VTA_TRY(vtac_area_fit(&fit, diag));
    if (!vtac_area_knows(config, why, sizeof why)) {
        vta_str_printf(out, "The area is not known: %s.\n\n", why);
        return VTA_OK;
    }
    const vtac_area area = vtac_area_of(&fit, part, config);
    const bool has = vtac_part_has(part, config, why, sizeof why);
    if (!has || !vtac_area_fits(part, &area, why, sizeof why)) {
        cli_say("vtac build: warning: it does not fit %s: %s\n", part->name, why);
        vta_str_printf(out, "**It does not fit %s: %s.**\n\n", part->name, why);
    }
    vta_str_printf(
        out,
        "| of %s | taken | may be taken |\n|---|---|---|\n| LUT | %.0f | %.0f |\n| DSP | %.0f | %.0f |\n| "
        "BRAM36 "
        "| %.1f | %.0f |\n\nBy a fit to %u runs of Yosys, off by %.1f %% of the LUTs in the mean.\n\n",
        part->name, area.lut, part->lut_max, area.dsp, part->dsp_max, area.bram, part->bram_max, fit.samples,
        100 * fit.error.lut);
    return VTA_OK;
}

/* Compiles the networks into a folder of their own, and puts their predicted cycles. */
static vta_status promise_networks(const cli_args *args, const vta_config *config, const char *part,
                                   const char *folder, vta_str *out, vta_diag *diag)
{
    cli_promise promise;
    const vta_status status = cli_make_promise(args, config, part, folder, &promise, diag);
    vta_str_put(out, "| network | cycles on the accelerator | a second |\n|---|---|---|\n");
    for (uint32_t n = 0; n < promise.count; n++) {
        vta_str_printf(out, "| %s | %" PRIu64 " | %.1f |\n", promise.items[n].name, promise.items[n].cycles,
                       1e6 * config->clock_mhz / (double)promise.items[n].cycles);
    }
    vta_str_put(out, "\nBy the timing model; `simulate.sh` counts them on the RTL.\n");
    cli_free_promise(&promise);
    return status;
}

/* Puts in words all that is promised of the board; `made`, if it stays a name, is the folder with the
 * networks. */
static vta_status promise_all(const cli_args *args, const vta_config *config, const cli_board *board,
                              char made[VTAC_TEMPORARY_PATH], vta_str *text, vta_diag *diag)
{
    vtac_part part = {.name = ""};
    if (board != NULL && cli_part_of_board(board, &part)) {
        VTA_TRY(promise_area(config, &part, text, diag));
    }
    if (cli_value(args, "--models") != NULL) {
        VTA_TRY(cli_temporary_folder("promise", made, diag));
        VTA_TRY(promise_networks(args, config, part.name, made, text, diag));
    }
    return text->failed ? vta_no_memory(diag) : VTA_OK;
}

static vta_status build_folder(const cli_args *args, const char *name, vta_diag *diag)
{
    vta_config config;
    vta_rtl_sources from;
    cli_board board;
    vta_str text = {0};
    char made[VTAC_TEMPORARY_PATH] = "";
    const bool sim = strcmp(name, "sim") == 0;
    VTA_TRY(vta_config_load(args->operands[0], &config, diag));
    VTA_TRY(vta_rtlsim_sources(&from, diag));
    VTA_TRY(sim ? VTA_OK : cli_find_board(name, &from, &board, diag));
    vta_status status = promise_all(args, &config, sim ? NULL : &board, made, &text, diag);
    if (status == VTA_OK) {
        const cli_promises promises = {text.text, made[0] != '\0' ? made : NULL};
        status =
            cli_write_board_folder(args->operands[1], &config, sim ? NULL : &board, &from, &promises, diag);
    }
    if (made[0] != '\0') {
        cli_temporary_remove(made);
    }
    vta_str_free(&text);
    return status;
}

static int run_build(const cli_args *args)
{
    vta_diag diag = {0};
    const char *board = cli_value(args, "--board");
    if (build_folder(args, board != NULL ? board : "sim", &diag) != VTA_OK) {
        return cli_fail(args, &diag);
    }
    cli_print("%s: README.md says what is there\n", args->operands[1]);
    return cli_done(args);
}

const cli_verb cli_verb_build = {
    .name = "build",
    .operands = "CONFIG DIR",
    .summary = "everything that makes a board of a configuration",
    .more = "DIR has the Verilog with its parameters, the scripts for Vivado, and commands\n"
            "that build and simulate it; the bitstream needs neither the source tree nor\n"
            "vtac. CONFIG is a shipped configuration or a file, such as the best1.json of\n"
            "'vtac explore'. What --models promises, 'vtac doctor --promise' holds against\n"
            "a device.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 2,
    .max = 2,
    .run = run_build,
};
