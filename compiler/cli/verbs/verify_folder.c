/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vtac/import.h"

static const size_t max_bytes = (size_t)1 << 31;

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* ---- the model */

static bool is_named_so(const char *path)
{
    static const char *const ends[] = {".onnx",     ".tflite",      ".keras",   ".h5", ".hdf5", ".pb", ".cfg",
                                       ".prototxt", "-symbol.json", ".mlmodel", ".pt", ".pth",  ".pt2"};
    bool named = false;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        named = named || ends_with(path, ends[i]);
    }
    return named;
}

/* The kind of a file by its first bytes; NULL: none. */
static const vtac_import_kind *kind_of(const char *folder, const char *path)
{
    const vtac_import_kind *kind = NULL;
    uint8_t *bytes;
    size_t size;
    if (vta_file_read(path, max_bytes, &bytes, &size, NULL) != VTA_OK) {
        return NULL;
    }
    const vtac_model_file file = {.path = path, .folder = folder, .bytes = bytes, .size = size};
    size_t i = 0;
    do {
        kind = vtac_import_kind_get(i++);
    } while (kind != NULL && !kind->recognize(&file));
    free(bytes);
    return kind;
}

static vta_status find_in_folder(const char *folder, char path[VERIFY_PATH], bool *is_onnx, vta_diag *diag)
{
    char first[VERIFY_PATH] = "";
    *is_onnx = true;
    (void)snprintf(path, VERIFY_PATH, "%s/model.onnx", folder);
    if (is_there(path)) {
        return VTA_OK;
    }
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return vta_fail(diag, VTA_IO, "cannot open the folder '%s'", folder);
    }
    vta_status status = VTA_OK;
    for (const struct dirent *entry = readdir(dir); entry != NULL && status == VTA_OK; entry = readdir(dir)) {
        char here[VERIFY_PATH];
        const vtac_import_kind *kind = NULL;
        if (snprintf(here, sizeof here, "%s/%s", folder, entry->d_name) < (int)sizeof here &&
            is_named_so(here)) {
            kind = kind_of(folder, here);
        }
        if (kind == NULL) {
            continue;
        }
        if (first[0] != '\0') {
            status = vta_fail(diag, VTA_INVALID,
                              "'%s' and '%s' are both models, and none is 'model.onnx'; a case has one",
                              first, entry->d_name);
        }
        (void)snprintf(first, sizeof first, "%s", entry->d_name);
        memcpy(path, here, sizeof here);
        *is_onnx = strcmp(kind->name, "ONNX") == 0;
    }
    (void)closedir(dir);
    return status != VTA_OK || first[0] != '\0'
               ? status
               : vta_fail(diag, VTA_IO,
                          "no 'model.onnx' and no other model is there; a case is a folder with a model and "
                          "'test_data_set_0'");
}

vta_status cli_verify_find_model(const char *given, char folder[VERIFY_FOLDER], char path[VERIFY_PATH],
                                 bool *is_onnx, vta_diag *diag)
{
    struct stat info;
    (void)snprintf(folder, VERIFY_FOLDER, "%s", given);
    if (stat(given, &info) != 0 || !S_ISREG(info.st_mode)) {
        return find_in_folder(folder, path, is_onnx, diag);
    }
    const char *slash = strrchr(given, '/');
    const char *base = slash == NULL ? given : slash + 1;
    (void)snprintf(folder, VERIFY_FOLDER, "%.*s", slash == NULL ? 1 : (int)(base - given),
                   slash == NULL ? "." : given);
    if (snprintf(path, VERIFY_PATH, "%s/%s", folder, base) >= VERIFY_PATH) {
        return vta_fail(diag, VTA_RANGE, "its path is too long");
    }
    const vtac_import_kind *kind = kind_of(folder, path);
    *is_onnx = kind != NULL && strcmp(kind->name, "ONNX") == 0;
    return kind != NULL ? VTA_OK
                        : vta_fail(diag, VTA_INVALID,
                                   "neither a model of a known kind nor a folder with one and its data");
}

/* ---- its data */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
}

/* The beginnings of all files 'NAME_in.npy' and 'NAME_in0.npy', in order. */
static vta_status list_names(const char *folder, char ***names, uint32_t *count, vta_diag *diag)
{
    static const char *const ends[] = {"_in.npy", "_in0.npy"};
    DIR *dir = opendir(folder);
    *names = NULL;
    *count = 0;
    if (dir == NULL) {
        return vta_fail(diag, VTA_IO, "cannot open the folder '%s'", folder);
    }
    bool failed = false;
    for (const struct dirent *entry = readdir(dir); entry != NULL && !failed; entry = readdir(dir)) {
        for (size_t i = 0; i < sizeof ends / sizeof ends[0] && !failed; i++) {
            if (!ends_with(entry->d_name, ends[i])) {
                continue;
            }
            char **more = realloc(*names, (*count + (size_t)1) * sizeof *more);
            char *name = strdup(entry->d_name);
            failed = more == NULL || name == NULL;
            *names = more != NULL ? more : *names;
            if (failed) {
                free(name);
                continue;
            }
            name[strlen(name) - strlen(ends[i])] = '\0';
            (*names)[(*count)++] = name;
        }
    }
    (void)closedir(dir);
    if (failed) {
        free_names(*names, *count);
        *names = NULL;
        *count = 0;
        return vta_no_memory(diag);
    }
    if (*count > 0) {
        qsort(*names, *count, sizeof **names, by_name);
    }
    return VTA_OK;
}

vta_status cli_verify_find_set(const char *folder, uint32_t i, cli_verify_set *out, bool *found,
                               vta_diag *diag)
{
    char **names;
    uint32_t count;
    (void)snprintf(out->begin, sizeof out->begin, "%s/test_data_set_0", folder);
    out->is_folder = is_there(out->begin);
    if (out->is_folder) {
        (void)snprintf(out->begin, sizeof out->begin, "%s/test_data_set_%u", folder, i);
        *found = is_there(out->begin);
        return VTA_OK;
    }
    VTA_TRY(list_names(folder, &names, &count, diag));
    *found = i < count;
    if (*found) {
        (void)snprintf(out->begin, sizeof out->begin, "%s/%s", folder, names[i]);
    }
    free_names(names, count);
    return count > 0
               ? VTA_OK
               : vta_fail(diag, VTA_IO, "%s/test_data_set_0 is missing, and so is any NAME_in.npy", folder);
}

void cli_verify_file(const cli_verify_set *set, bool is_input, uint32_t i, char path[VERIFY_PATH])
{
    const int max = VERIFY_PATH - 64;
    if (set->is_folder) {
        const char *name = is_input ? "input" : "output";
        char other[VERIFY_PATH];
        (void)snprintf(path, VERIFY_PATH, "%.*s/%s_%u.pb", max, set->begin, name, i);
        (void)snprintf(other, VERIFY_PATH, "%.*s/%s_%u.npy", max, set->begin, name, i);
        if (!is_there(path) && is_there(other)) {
            memcpy(path, other, sizeof other);
        }
        return;
    }
    const char *name = is_input ? "in" : "out";
    (void)snprintf(path, VERIFY_PATH, "%.*s_%s.npy", max, set->begin, name);
    if (i > 0 || !is_there(path)) {
        (void)snprintf(path, VERIFY_PATH, "%.*s_%s%u.npy", max, set->begin, name, i);
    }
}
