/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of compiled parts, a folder of the user's alone. A part has two files there: its model, which
 * `vtac explain` and `vtac run` read, too, and the artifact that was compiled from it. Their name is a hash
 * of the model and one of all that the compiler was told; the model is compared byte by byte before its
 * artifact counts. Files appear whole, so that processes may share the folder.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plug_internal.h"
#include "vta/cache.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/str.h"
#include "vta/vec.h"

enum { MAX_FILES = 512 };

static char *format_path(const char *folder, const char *rest)
{
    vta_str text = {0};
    vta_str_printf(&text, "%s/%s", folder, rest);
    return vta_str_take(&text);
}

/* The folder that the options or the environment name. Owned. */
static vta_status wanted_folder(const vtac_plug *plug, char **out, vta_diag *diag)
{
    const char *given = vtac_plug_value(plug, VTAC_PLUG_CACHE);
    if (given[0] == '\0') {
        return vta_cache_name("plugins", out, diag);
    }
    *out = strdup(given);
    return vta_allocated(*out != NULL, diag);
}

static vta_status check_folder(const char *folder, vta_diag *diag)
{
    VTA_TRY(vta_cache_make(folder, diag));
    return access(folder, W_OK | X_OK) == 0
               ? VTA_OK
               : vta_fail(diag, VTA_IO, "cannot write to the cache folder '%s': %s", folder, strerror(errno));
}

static vta_status make_temporary(vtac_plug *plug, vta_diag *diag)
{
    const char *place = getenv("TMPDIR");
    char *name = format_path(place != NULL && place[0] == '/' ? place : "/tmp", "vtac-plugin-XXXXXX");
    VTA_TRY(vta_allocated(name != NULL, diag));
    if (mkdtemp(name) == NULL) {
        const vta_status status =
            vta_fail(diag, VTA_IO, "cannot make the temporary folder '%s': %s", name, strerror(errno));
        free(name);
        return status;
    }
    plug->folder = name;
    plug->is_temporary = true;
    return VTA_OK;
}

static vta_status open_folder(vtac_plug *plug, vta_diag *diag)
{
    vta_diag why = {0};
    if (wanted_folder(plug, &plug->folder, &why) == VTA_OK && check_folder(plug->folder, &why) == VTA_OK) {
        return VTA_OK;
    }
    vtac_plug_say(plug, true, "nothing is cached: %s", why.text);
    free(plug->folder);
    plug->folder = NULL;
    return make_temporary(plug, diag);
}

/* The configuration as a file, whose name is of its content. */
static vta_status keep_config(vtac_plug *plug, vta_diag *diag)
{
    char name[64];
    char *json = vta_config_to_json(&plug->config);
    VTA_TRY(vta_allocated(json != NULL, diag));
    (void)snprintf(name, sizeof name, "config-%016" PRIx64 ".json", vta_hash_text(VTA_HASH_START, json));
    plug->config_path = format_path(plug->folder, name);
    vta_status status = vta_allocated(plug->config_path != NULL, diag);
    if (status == VTA_OK && access(plug->config_path, R_OK) != 0) {
        status = vta_file_write(plug->config_path, json, strlen(json), diag);
    }
    free(json);
    return status;
}

/* ---- what is too old */

typedef struct cache_entry {
    char *path;
    struct timespec made;
} cache_entry;

static int compare_entries(const void *a, const void *b)
{
    const struct timespec *x = &((const cache_entry *)a)->made;
    const struct timespec *y = &((const cache_entry *)b)->made;
    if (x->tv_sec != y->tv_sec) {
        return x->tv_sec < y->tv_sec ? -1 : 1;
    }
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void add_entry(const char *folder, const char *name, vta_vec *entries)
{
    struct stat about;
    cache_entry entry = {.path = name[0] != '.' ? format_path(folder, name) : NULL};
    if (entry.path == NULL || stat(entry.path, &about) != 0) {
        free(entry.path);
        return;
    }
    entry.made = about.st_mtim;
    if (vta_vec_push(entries, &entry) == NULL) {
        free(entry.path);
    }
}

/* Removes the oldest files where there are more than MAX_FILES. A session that has one loaded keeps it, and
 * one that misses it makes it again. */
static void remove_oldest(const char *folder)
{
    vta_vec entries = {.item_size = sizeof(cache_entry)};
    DIR *files = opendir(folder);
    for (const struct dirent *file = files != NULL ? readdir(files) : NULL; file != NULL;
         file = readdir(files)) {
        add_entry(folder, file->d_name, &entries);
    }
    if (files != NULL) {
        (void)closedir(files);
    }
    if (entries.count > MAX_FILES) {
        qsort(entries.items, entries.count, sizeof(cache_entry), compare_entries);
    }
    for (size_t i = 0; i < entries.count; i++) {
        cache_entry *entry = vta_vec_at(&entries, i);
        if (i + MAX_FILES < entries.count) {
            (void)unlink(entry->path);
        }
        free(entry->path);
    }
    vta_vec_free(&entries);
}

vta_status vtac_plug_cache_open(vtac_plug *plug, vta_diag *diag)
{
    VTA_TRY(open_folder(plug, diag));
    remove_oldest(plug->folder);
    return keep_config(plug, diag);
}

static void remove_folder(const char *folder)
{
    DIR *files = opendir(folder);
    for (const struct dirent *entry = files != NULL ? readdir(files) : NULL; entry != NULL;
         entry = readdir(files)) {
        char *path = entry->d_name[0] != '.' ? format_path(folder, entry->d_name) : NULL;
        if (path != NULL) {
            (void)unlink(path);
        }
        free(path);
    }
    if (files != NULL) {
        (void)closedir(files);
    }
    (void)rmdir(folder);
}

void vtac_plug_cache_close(vtac_plug *plug)
{
    if (plug->is_temporary) {
        remove_folder(plug->folder);
    }
    free(plug->folder);
    free(plug->config_path);
}

/* Takes in a text with its end, so that two texts are not one. */
static uint64_t hash_part(uint64_t hash, const char *text)
{
    return vta_hash_bytes(hash, text, strlen(text) + 1);
}

char *vtac_plug_cache_name(const vtac_plug *plug, const vtac_plug_model *model, const char *ending)
{
    uint64_t told = hash_part(VTA_HASH_START, vta_version());
    told = hash_part(told, strrchr(plug->config_path, '/'));
    told = hash_part(told, plug->host);
    told = hash_part(told, vtac_plug_value(plug, VTAC_PLUG_OFFLOAD));
    for (size_t i = 0; model->shapes != NULL && model->shapes[i] != NULL; i++) {
        told = hash_part(told, model->shapes[i]);
    }
    vta_str text = {0};
    vta_str_printf(&text, "%s/%016" PRIx64 "-%016" PRIx64 ".%s", plug->folder,
                   vta_hash_bytes(VTA_HASH_START, model->bytes, model->size), told, ending);
    return vta_str_take(&text);
}

static vta_status keep_model(const char *path, const vtac_plug_model *model, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (vta_file_read(path, model->size, &bytes, &size, NULL) != VTA_OK) {
        return vta_file_write_scratch(path, model->bytes, model->size, diag);
    }
    const bool same = size == model->size && memcmp(bytes, model->bytes, size) == 0;
    free(bytes);
    return same ? VTA_OK : vta_fail(diag, VTA_IO, "'%s' is the model of another part; remove it", path);
}

vta_status vtac_plug_cache_keep(const vtac_plug *plug, const vtac_plug_model *model, char **path,
                                vta_diag *diag)
{
    *path = vtac_plug_cache_name(plug, model, model->kind);
    VTA_TRY(vta_allocated(*path != NULL, diag));
    const vta_status status = keep_model(*path, model, diag);
    if (status != VTA_OK) {
        free(*path);
        *path = NULL;
    }
    return status;
}
