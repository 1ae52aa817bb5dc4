/* SPDX-License-Identifier: Apache-2.0
 *
 * Which importer a file is for.
 */
#include "vtac/import.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"
#include "foreign.h"
#include "options.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/states.h"

enum { MAX_MODEL_BYTES = 0x7fffffff, SHOWN = 8, MAX_PATH = 4352, MAX_KNOWN = 1024 };

static const vtac_import_kind kinds[] = {
#define VTAC_IMPORTER(name, file, suffix, marker, signatures)                                                \
    {name, file, marker, signatures, vtac_recognize_##suffix, vtac_load_##suffix},
#include "vtac/importers.def"
};

const vtac_import_kind *vtac_import_kind_get(size_t i)
{
    return i < sizeof kinds / sizeof kinds[0] ? &kinds[i] : NULL;
}

/* The first bytes as text where they are that, else as numbers. */
static void looks_like(const vtac_model_file *file, char *text, size_t size)
{
    const size_t shown = file->size < SHOWN ? file->size : SHOWN;
    bool printable = true;
    size_t used = 0;
    for (size_t i = 0; i < shown; i++) {
        printable = printable && (isprint(file->bytes[i]) != 0);
    }
    if (shown == 0) {
        (void)snprintf(text, size, "it is empty");
        return;
    }
    if (printable) {
        (void)snprintf(text, size, "it begins with '%.*s'", (int)shown, (const char *)file->bytes);
        return;
    }
    used += (size_t)snprintf(text, size, "it begins with the bytes");
    for (size_t i = 0; i < shown && used + 4 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, " %02x", file->bytes[i]);
    }
}

static void list_kinds(char *known, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; vtac_import_kind_get(i) != NULL && used < size; i++) {
        used += (size_t)snprintf(known + used, size - used, "%s%s (%s)", i == 0 ? "" : ", ", kinds[i].name,
                                 kinds[i].file);
    }
}

static vta_status fail_unknown(const vtac_model_file *file, vta_diag *diag)
{
    char first[64];
    char known[MAX_KNOWN] = "";
    if (file->size >= 4 && memcmp(file->bytes, "\177ELF", 4) == 0) {
        return vta_fail(
            diag, VTA_SYNTAX,
            "%s: no model of a known kind: it is compiled already, or a program; 'vtac run' runs what "
            "is compiled, other verbs take the model that it was made of",
            file->path);
    }
    looks_like(file, first, sizeof first);
    list_kinds(known, sizeof known);
    return vta_fail(diag, VTA_SYNTAX, "%s: no model of a known kind: %s; known are %s", file->path, first,
                    known);
}

/* ---- the outputs that were asked for */

static vta_status fail_no_value(const vtac_graph *graph, const char *name, vta_diag *diag)
{
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < graph->output_count && used + 48 < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.40s'", i == 0 ? "" : ", ",
                                 graph->values[graph->outputs[i]].name);
    }
    return vta_fail(diag, VTA_INVALID, "--output-value: no node gives a value '%s'; the outputs are %s", name,
                    list);
}

/* Makes the named values the outputs; what nothing needs any more goes. */
static vta_status choose_outputs(vtac_graph *graph, const vtac_import_options *options, vta_diag *diag)
{
    if (graph->flow != NULL || graph->state_count > 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "--output-value: the outputs of a model with %s stay as they are",
                        graph->flow != NULL ? "control flow or open sizes" : "states");
    }
    for (uint32_t i = 0; i < options->output_count; i++) {
        const vtac_value_id id = vtac_find_value(graph, options->outputs[i]);
        if (id == 0 || graph->values[id].node == 0) {
            return fail_no_value(graph, options->outputs[i], diag);
        }
    }
    vtac_drop_outputs(graph, 0);
    for (uint32_t i = 0; i < options->output_count; i++) {
        const vtac_value_id id = vtac_find_value(graph, options->outputs[i]);
        VTA_TRY(vtac_is_output(graph, id) ? VTA_OK : vtac_add_output(graph, id, diag));
    }
    (void)vtac_remove_dead(graph);
    return VTA_OK;
}

vta_status vtac_choose_ends(vtac_graph *graph, const vtac_import_options *options, vta_diag *diag)
{
    VTA_TRY(options->output_count > 0 ? choose_outputs(graph, options, diag) : VTA_OK);
    return vtac_name_states(graph, options->state_names, options->state_name_count, diag);
}

static bool is_input(const vtac_graph *g, const char *name)
{
    bool found = false;
    for (uint32_t i = 0; i < g->input_count; i++) {
        found = found || vtac_shape_is_for(name, g->values[g->inputs[i]].name);
    }
    return found;
}

/* Each --shape is for an input. The importer of ONNX looks by itself: it names inputs anew in parts of a
 * model. */
static vta_status check_shapes(const vtac_graph *g, const vtac_import_options *options, vta_diag *diag)
{
    for (uint32_t i = 0; i < options->shape_count; i++) {
        if (!is_input(g, options->shapes[i].name)) {
            return vta_fail(diag, VTA_INVALID,
                            "--shape names '%.100s', which is no input of the model; its first is '%.100s'",
                            options->shapes[i].name, g->input_count == 0 ? "" : g->values[g->inputs[0]].name);
        }
    }
    return VTA_OK;
}

static vta_status load_as(const vtac_import_kind *kind, const vtac_model_file *file,
                          const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    if (options != NULL && options->signature != NULL && !kind->signatures) {
        return vta_fail(diag, VTA_INVALID, "%s: a model of %s has no signatures, so none is called '%s'",
                        file->path, kind->name, options->signature);
    }
    if (options != NULL && options->cache_tokens > 0 && kind->load != vtac_load_onnx) {
        return vta_fail(diag, VTA_UNSUPPORTED, "%s: --context takes models of ONNX; this is one of %s",
                        file->path, kind->name);
    }
    VTA_TRY(kind->load(file, options, out, diag));
    vta_status status = VTA_OK;
    VTA_TRY_OUT(options != NULL ? vtac_choose_ends(*out, options, diag) : VTA_OK);
    if (options != NULL && kind->load != vtac_load_onnx) {
        VTA_TRY_OUT(check_shapes(*out, options, diag));
        VTA_TRY_OUT((*out)->flow == NULL ? vtac_open_batch(kind, file, options, *out, diag) : VTA_OK);
    }
out:
    if (status != VTA_OK) {
        vtac_graph_destroy(*out);
        *out = NULL;
        return vta_context(diag, "%s", file->path);
    }
    return VTA_OK;
}

vta_status vtac_model_parse(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                            vta_diag *diag)
{
    vta_diag own = {0};
    diag = diag == NULL ? &own : diag;
    *out = NULL;
    VTA_TRY(vtac_refuse_foreign_file(file, diag));
    for (size_t i = 0; vtac_import_kind_get(i) != NULL; i++) {
        if (kinds[i].recognize(file)) {
            return load_as(&kinds[i], file, options, out, diag);
        }
    }
    return fail_unknown(file, diag);
}

static vta_status load_file(const char *path, const vtac_import_options *options, vtac_graph **out,
                            vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(path, MAX_MODEL_BYTES, &bytes, &size, diag));
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    const vtac_model_file file = {path, folder, bytes, size};
    const vta_status status =
        folder != NULL ? vtac_model_parse(&file, options, out, diag) : vta_no_memory(diag);
    free(folder);
    free(bytes);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A folder is known by one of its files, and opened as that; it is perhaps of a kind that is not read. */
static vta_status load_folder(const char *path, const vtac_import_options *options, vtac_graph **out,
                              vta_diag *diag)
{
    char known[MAX_KNOWN] = "";
    char inside[MAX_PATH];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    VTA_TRY(vtac_refuse_foreign_folder(path, diag));
    for (size_t i = 0; vtac_import_kind_get(i) != NULL; i++) {
        const int used = snprintf(inside, sizeof inside, "%.*s/%s", (int)length, path, kinds[i].marker);
        if (kinds[i].marker[0] != '\0' && used < MAX_PATH && access(inside, F_OK) == 0) {
            return load_file(inside, options, out, diag);
        }
    }
    list_kinds(known, sizeof known);
    return vta_fail(diag, VTA_INVALID, "%s: a folder without the file of a model; known are %s", path, known);
}

vta_status vtac_model_load(const char *path, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag)
{
    *out = NULL;
    return is_folder(path) ? load_folder(path, options, out, diag) : load_file(path, options, out, diag);
}
