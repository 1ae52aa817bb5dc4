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

#include "foreign.h"
#include "vta/fail.h"
#include "vta/file.h"

enum { MAX_MODEL_BYTES = 0x7fffffff, SHOWN = 8 };

static const vtac_import_kind kinds[] = {
#define VTAC_IMPORTER(name, file, suffix) {name, file, vtac_recognize_##suffix, vtac_load_##suffix},
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
    if (file->size >= 4 && memcmp(file->bytes, "\177ELF", 4) == 0) {
        (void)snprintf(text, size, "it is compiled already, or a program");
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
    char known[256] = "";
    looks_like(file, first, sizeof first);
    list_kinds(known, sizeof known);
    return vta_fail(diag, VTA_SYNTAX, "%s: no model of a known kind: %s; known are %s", file->path, first,
                    known);
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
            return kinds[i].load(file, options, out, diag);
        }
    }
    return fail_unknown(file, diag);
}

/* A folder in the place of a file is perhaps a model of a kind that is not read. */
static vta_status not_a_folder(const char *path, vta_diag *diag)
{
    struct stat info;
    char known[256] = "";
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return VTA_OK;
    }
    VTA_TRY(vtac_refuse_foreign_folder(path, diag));
    list_kinds(known, sizeof known);
    return vta_fail(diag, VTA_INVALID, "%s: it is a folder, a model is one file; known are %s", path, known);
}

vta_status vtac_model_load(const char *path, const vtac_import_options *options, vtac_graph **out,
                           vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    *out = NULL;
    VTA_TRY(not_a_folder(path, diag));
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
