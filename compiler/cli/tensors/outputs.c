/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs of a model on the terminal and in files.
 */
#include "outputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parcels.h"
#include "vta/file.h"
#include "vta/output_name.h"

/* ---- labels */

vta_status cli_read_labels(const char *path, cli_outputs *out, vta_diag *diag)
{
    enum { MAX_BYTES = 1 << 24 };
    VTA_TRY(vta_lines_read(path, MAX_BYTES, &out->labels, diag));
    return out->labels.count > 0 ? VTA_OK
                                 : vta_fail(diag, VTA_SYNTAX, "%s: expected a name a line, found none", path);
}

void cli_free_outputs(cli_outputs *outputs)
{
    vta_lines_free(&outputs->labels);
    *outputs = (cli_outputs){0};
}

/* ---- printing */

/* Models of one class more than there are names have "background" in front of them. */
static void print_label(const cli_outputs *how, int64_t index, int64_t elements, double value)
{
    const bool shifted = (uint64_t)elements == how->labels.count + 1;
    const uint64_t line = (uint64_t)(shifted ? index - 1 : index);
    const char *label = line < how->labels.count ? how->labels.line[line]
                        : shifted && index == 0  ? "background"
                                                 : NULL;
    if (label != NULL && how->json) {
        cli_print(", \"label\": ");
        cli_json_string(label);
    } else if (label != NULL) {
        enum { COLUMN = 9 };
        const int width = snprintf(NULL, 0, "%.6g", value);
        cli_print("%*s%s", width < COLUMN - 1 ? COLUMN - width : 1, "", label);
    }
}

static void print_value(double value, bool json)
{
    if (isfinite(value) || !json) {
        cli_print(json ? "%.9g" : "%.6g", value);
    } else {
        cli_print("\"%f\"", value);
    }
}

/* The largest element that comes after (limit, last) in the order of values, then indices; -1: none. */
static int64_t next_largest(const vtac_tensor *t, double limit, int64_t last)
{
    const int64_t elements = vtac_type_elements(&t->type);
    int64_t best = -1;
    for (int64_t i = 0; i < elements; i++) {
        const double v = vtac_tensor_float(t, i);
        const bool later = v < limit || (v == limit && i > last);
        if (later && (best < 0 || v > vtac_tensor_float(t, best))) {
            best = i;
        }
    }
    return best;
}

static void print_top(const cli_outputs *how, const vtac_tensor *t)
{
    double limit = HUGE_VAL;
    int64_t last = -1;
    cli_print("%s", how->json ? ", \"top\": [" : "");
    for (uint64_t n = 0; n < how->top; n++) {
        const int64_t best = next_largest(t, limit, last);
        if (best < 0) {
            break;
        }
        limit = vtac_tensor_float(t, best);
        last = best;
        cli_print(how->json ? "%s{\"index\": %lld, \"value\": " : "%s  %6lld  ",
                  how->json && n > 0 ? ", " : "", (long long)best);
        print_value(limit, how->json);
        print_label(how, best, vtac_type_elements(&t->type), limit);
        cli_put(how->json ? "}" : "\n");
    }
    cli_print("%s", how->json ? "]" : "");
}

static void print_output(const cli_outputs *how, const vta_tensor_info *info, const vtac_tensor *t)
{
    char type[160];
    (void)vtac_type_text(&t->type, type, sizeof type);
    if (how->json) {
        cli_print("{\"name\": ");
        cli_json_string(info->name);
        cli_print(", \"type\": \"%s\"", type);
    } else {
        cli_print("output '%s': %s\n", info->name, type);
    }
    if (how->top > 0) {
        print_top(how, t);
    }
    cli_print("%s", how->json ? "}" : "");
}

static void print_parcel(const cli_outputs *how, const vta_tensor_info *info, const void *data)
{
    vta_str text = {0};
    cli_parcel_text(data, info->bytes, &text);
    vta_str_append(&text, "", 1);
    if (how->json) {
        cli_print("{\"name\": ");
        cli_json_string(info->name);
        cli_print(", \"type\": ");
        cli_json_string(text.failed ? "" : text.text);
        cli_print("}");
    } else {
        cli_print("output '%s': %s\n", info->name, text.failed ? "" : text.text);
    }
    vta_str_free(&text);
}

void cli_print_outputs(const cli_outputs *how, const vta_model *model)
{
    cli_print("%s", how->json ? "\"outputs\": [" : "");
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        const vtac_tensor t = cli_as_tensor(&info, vta_model_output_data(model, i));
        cli_print("%s", how->json && i > 0 ? ", " : "");
        if (cli_is_parcel(&info)) {
            print_parcel(how, &info, vta_model_output_data(model, i));
        } else {
            print_output(how, &info, &t);
        }
    }
    cli_print("%s", how->json ? "]" : "");
}

/* ---- files */

vta_status cli_save_outputs(const vta_model *model, const char *folder, const char *prefix, vta_diag *diag)
{
    VTA_TRY(vta_folder_make(folder, 0777, diag));
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        char path[4300];
        char name[VTA_OUTPUT_NAME];
        VTA_TRY(vta_output_name(model, i, name, diag));
        const bool parcel = cli_is_parcel(&info);
        const void *data = vta_model_output_data(model, i);
        (void)snprintf(path, sizeof path, "%.3900s/%.60s%s%s", folder, prefix, name, parcel ? ".pb" : ".npy");
        VTA_TRY(parcel ? cli_write_parcel(path, data, info.bytes, diag)
                       : cli_write_npy(path, &info, data, diag));
    }
    return VTA_OK;
}
