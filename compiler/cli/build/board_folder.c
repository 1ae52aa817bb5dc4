/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a board: the RTL, Vivado's scripts for the board's family, parameters of the configuration,
 * and the commands that build and simulate it. It lies as the source tree does, so that the scripts are those
 * of the tree. See board_folder.h.
 */
#include "board_folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hold.h"
#include "vta/str.h"

enum { PATH = 4096, FILE_LIMIT = 1 << 30, TABLE_LIMIT = 1 << 16 };

/* ---- boards */

static bool read_row(const char *line, cli_board *out)
{
    char config[32];
    char memory[16];
    return line[0] != '#' && sscanf(line, "%31s %15s %47s %31s %15s %63[^\n]", out->name, out->family,
                                    out->part, config, memory, out->words) == 6;
}

vta_status cli_find_board(const char *name, const vta_rtl_sources *from, cli_board *out, vta_diag *diag)
{
    char path[2 * PATH];
    uint8_t *text = NULL;
    size_t size = 0;
    vta_str known = {0};
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/fpga/boards.txt", from->root);
    VTA_TRY(vta_file_read(path, TABLE_LIMIT, &text, &size, diag));
    for (const char *line = (const char *)text; line != NULL && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        cli_board row = {0};
        if (read_row(line, &row)) {
            vta_str_printf(&known, "%s, ", row.name);
            found = strcmp(row.name, name) == 0;
            *out = row;
        }
    }
    free(text);
    const vta_status status =
        found ? VTA_OK
              : vta_fail(diag, VTA_INVALID, "'--board %s': there is no such board; known are %ssim", name,
                         known.text != NULL ? known.text : "");
    vta_str_free(&known);
    return status;
}

bool cli_part_of_board(const cli_board *board, vtac_part *out)
{
    uint32_t count = 0;
    const vtac_part *parts = vtac_parts(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(board->part, parts[i].name, strlen(parts[i].name)) == 0) {
            *out = parts[i];
            return true;
        }
    }
    return false;
}

/* ---- copies */

static vta_status copy_file(const char *from, const char *to, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(from, FILE_LIMIT, &bytes, &size, diag));
    const vta_status status = vta_file_write_scratch(to, bytes, size, diag);
    free(bytes);
    return status;
}

/* Copies a folder with the folders in it; names that begin with a dot stay. */
static vta_status copy_folder(const char *from, const char *to, vta_diag *diag)
{
    DIR *dir = opendir(from);
    vta_status status = VTA_OK;
    if (dir == NULL) {
        return vta_fail(diag, VTA_IO, "cannot read '%s': %s", from, strerror(errno));
    }
    status = vta_folder_make(to, 0777, diag);
    for (const struct dirent *entry = readdir(dir); entry != NULL && status == VTA_OK; entry = readdir(dir)) {
        char source[2 * PATH], target[2 * PATH];
        struct stat about;
        (void)snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        (void)snprintf(target, sizeof target, "%s/%s", to, entry->d_name);
        if (entry->d_name[0] != '.' && stat(source, &about) == 0) {
            status =
                S_ISDIR(about.st_mode) ? copy_folder(source, target, diag) : copy_file(source, target, diag);
        }
    }
    (void)closedir(dir);
    return status;
}

/* Copies what the scripts of the tree expect, to the places where they expect it. */
static vta_status copy_sources(const char *folder, const vta_rtl_sources *from, const cli_board *board,
                               vta_diag *diag)
{
    char family[32] = "";
    (void)snprintf(family, sizeof family, "fpga/%s", board != NULL ? board->family : "");
    const struct {
        const char *from, *what, *to;
        bool file, for_boards;
    } rows[] = {{from->hw, "rtl", "hw/rtl", false, false},
                {from->hw, "include", "hw/include", false, false},
                {from->headers, "vta_isa.vh", "vh/vta_isa.vh", true, false},
                {from->root, "fpga/boards.txt", "fpga/boards.txt", true, true},
                {from->root, "fpga/vivado", "fpga/vivado", false, true},
                {from->root, "fpga/timing/cycles.txt", "fpga/timing/cycles.txt", true, true},
                {from->root, "fpga/boot", "fpga/boot", false, true},
                {from->root, family, family, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char source[2 * PATH], target[2 * PATH];
        if (rows[i].for_boards && board == NULL) {
            continue;
        }
        (void)snprintf(source, sizeof source, "%s/%s", rows[i].from, rows[i].what);
        (void)snprintf(target, sizeof target, "%s/%s", folder, rows[i].to);
        if (rows[i].file) {
            char *slash = strrchr(target, '/');
            *slash = '\0';
            VTA_TRY(vta_folder_make(target, 0777, diag));
            *slash = '/';
        }
        VTA_TRY(rows[i].file ? copy_file(source, target, diag) : copy_folder(source, target, diag));
    }
    return VTA_OK;
}

/* ---- what is written for the configuration */

static vta_status write_text(const char *folder, const char *name, vta_str *text, bool program,
                             vta_diag *diag)
{
    char path[2 * PATH];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    vta_status status =
        text->failed ? vta_no_memory(diag) : vta_file_write_scratch(path, text->text, text->size, diag);
    if (status == VTA_OK && program && chmod(path, 0755) != 0) {
        status = vta_fail(diag, VTA_IO, "cannot make '%s' a program: %s", path, strerror(errno));
    }
    vta_str_free(text);
    return status;
}

static vta_status write_config(const char *folder, const vta_config *config, vta_diag *diag)
{
    vta_str text = {0};
    char *json = vta_config_to_json(config);
    vta_str_put(&text, json != NULL ? json : "");
    text.failed = text.failed || json == NULL;
    free(json);
    return write_text(folder, "config.json", &text, false, diag);
}

/* Writes the parameters of vta_top, as a program that prints them: it stands for vta-params, which the
 * scripts call. */
static vta_status write_params(const char *folder, const vta_config *config, vta_diag *diag)
{
    const vta_config *c = config;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
#define VTA_RTL_PARAM(name, value) {name, value},
#include "vta/rtl_params.def"
#undef VTA_RTL_PARAM
        {"LANE_DSPS", c->alu_dsps},
    };
    vta_str text = {0};
    vta_str_put(&text, "#!/bin/sh\n# The parameters of vta_top for config.json, as `vta-params plain` prints "
                       "them.\ncat <<'END'\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vta_str_printf(&text, "%s=%" PRIu64 "\n", rows[i].name, rows[i].value);
    }
    vta_str_printf(&text, "CONFIG_HASH=64'h%016" PRIx64 "\nEND\n", config->hash);
    return write_text(folder, "params", &text, true, diag);
}

static vta_status write_bitstream(const char *folder, const cli_board *board, vta_diag *diag)
{
    vta_str text = {0};
    vta_str_printf(
        &text,
        "#!/bin/sh\n# From here to a bitstream, by Vivado 2020.1 to 2024.x (in the path, or as VIVADO): "
        "hours.\n"
        "set -eu\nhere=$(cd \"$(dirname \"$0\")\" && pwd)\nvivado=${VIVADO:-vivado}\n"
        "command -v \"$vivado\" >/dev/null || { echo \"there is no '$vivado': install AMD's Vivado and "
        "source "
        "its settings64.sh\" >&2; exit 1; }\nmkdir -p \"$here/work\"\ncd \"$here/work\"\n"
        "VTA_CONFIG=$here/config.json exec \"$vivado\" -mode batch -source \"$here/fpga/%s/build.tcl\" \\\n"
        "    -tclargs %s \"$here/bitstream\" \"$here/vh\" \"$here/params\"\n",
        board->family, board->name);
    return write_text(folder, "bitstream.sh", &text, true, diag);
}

static vta_status write_simulation(const char *folder, vta_diag *diag)
{
    vta_str text = {0};
    vta_str_put(
        &text,
        "#!/bin/sh\n# simulate.sh MODEL [INPUT…]: compiles a model for config.json and runs it on the RTL of "
        "this folder, "
        "layer by layer.\nset -eu\n[ $# -gt 0 ] || { echo 'usage: simulate.sh MODEL [INPUT…]' >&2; exit 2; "
        "}\n"
        "here=$(cd \"$(dirname \"$0\")\" && pwd)\nmodel=$1\nshift\nmade=$(mktemp -d)\n"
        "trap 'rm -rf \"$made\"' EXIT\nvtac compile \"$model\" --target vta --config \"$here/config.json\" "
        "-o "
        "\"$made/model.so\"\nfor input in \"$@\"; do\n    set -- \"$@\" --input \"$input\"\n    shift\ndone\n"
        "VTAC_HW=$here/hw vtac run \"$made/model.so\" --device tsim --layers \"$@\"\n");
    return write_text(folder, "simulate.sh", &text, true, diag);
}

static vta_status write_readme(const char *folder, const vta_config *config, const cli_board *board,
                               const cli_promises *promises, vta_diag *diag)
{
    vta_str text = {0};
    vta_str_printf(&text, "# %s: %u x %u x %u at %u MHz%s%s\n\n", config->name, config->batch,
                   config->block_in, config->block_out, config->clock_mhz, board != NULL ? " for " : "",
                   board != NULL ? board->words : "");
    vta_str_put(
        &text,
        "| here | is |\n|---|---|\n| `config.json` | the configuration: `vtac compile --target vta --config "
        "config.json` |\n| `simulate.sh MODEL` | a model on this RTL, cycle by cycle |\n| `hw/`, `vh/` | the "
        "Verilog, its header made for the instruction set |\n| `params` | the parameters of `vta_top` |\n");
    if (board != NULL) {
        vta_str_printf(&text,
                       "| `bitstream.sh` | the bitstream for `%s` (%s), by Vivado |\n| `fpga/boot/` | what "
                       "goes onto the "
                       "card; on the board `vtac doctor` compares what is there with this configuration |\n",
                       board->name, board->part);
    }
    if (promises->folder != NULL) {
        vta_str_put(&text, "| `promise.json`, `networks/` | what is promised, and the networks as they were "
                           "compiled for it: `vtac "
                           "doctor --device URI --promise promise.json` runs them there and compares |\n");
    }
    if (promises->text != NULL) {
        vta_str_printf(&text, "\n## What is promised\n\n%s", promises->text);
    }
    return write_text(folder, "README.md", &text, false, diag);
}

static vta_status fill_folder(const char *folder, const vta_config *config, const cli_board *board,
                              const vta_rtl_sources *from, const cli_promises *promises, vta_diag *diag)
{
    VTA_TRY(promises->folder != NULL ? copy_folder(promises->folder, folder, diag) : VTA_OK);
    VTA_TRY(copy_sources(folder, from, board, diag));
    VTA_TRY(write_config(folder, config, diag));
    VTA_TRY(write_params(folder, config, diag));
    VTA_TRY(board != NULL ? write_bitstream(folder, board, diag) : VTA_OK);
    VTA_TRY(write_simulation(folder, diag));
    return write_readme(folder, config, board, promises, diag);
}

/* Removes a folder with all that is in it. */
static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL;
         entry = readdir(dir)) {
        char path[2 * PATH];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const bool itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!itself && unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) {
            remove_folder(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(folder);
}

static bool is_empty_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    int entries = 0;
    while (dir != NULL && readdir(dir) != NULL) {
        entries++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return dir != NULL && entries == 2; /* itself and the one above */
}

static vta_status make_folder(const char *folder, const vta_config *config, const cli_board *board,
                              const vta_rtl_sources *from, const cli_promises *promises, vta_diag *diag)
{
    char made[PATH];
    struct stat about;
    if (stat(folder, &about) == 0 && !is_empty_folder(folder)) {
        return vta_fail(diag, VTA_IO, "'%s' is there and not empty; name a new folder", folder);
    }
    const int length = snprintf(made, sizeof made, "%s.new-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof made) {
        return vta_fail(diag, VTA_RANGE, "the folder's name is longer than %d bytes", PATH);
    }
    if (mkdtemp(made) == NULL) {
        return vta_fail(diag, VTA_IO, "cannot make a folder beside '%s': %s", folder, strerror(errno));
    }
    (void)chmod(made, 0755);
    vta_status status = fill_folder(made, config, board, from, promises, diag);
    if (status == VTA_OK) {
        (void)rmdir(folder); /* an empty one makes room */
        status = vta_file_publish(made, folder, diag);
    }
    if (status != VTA_OK) {
        remove_folder(made);
    }
    return status;
}

vta_status cli_write_board_folder(const char *folder, const vta_config *config, const cli_board *board,
                                  const vta_rtl_sources *from, const cli_promises *promises, vta_diag *diag)
{
    sigset_t was;
    vta_hold_signals(&was); /* a moment: what ends the process waits until the folder is whole or gone */
    const vta_status status = make_folder(folder, config, board, from, promises, diag);
    vta_release_signals(&was);
    return status;
}
