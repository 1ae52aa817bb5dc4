/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache folder. An entry is a folder that appears at once, by rename, with a manifest that names its
 * files, their sizes and checksums. The lock is the kernel's (flock) on a file that stays: whoever dies gives
 * it back.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_internal.h"
#include "vta/cache.h"
#include "vta/file.h"

enum { PRODUCT_LIMIT = 1 << 30, ENTRY_LIMIT = 64 };

/* The entry in the cache folder, and the files beside it; false where their paths are too long. */
static bool name_entry(build_job *job)
{
    const char *form = job->built ? "-built" : "";
    const char *waves = job->trace ? "-trace" : "";
    return vta_build_path(job->entry, "%s/%s%s%s-%016" PRIx64, job->cache, job->kind, form, waves,
                          job->key) &&
           vta_build_path(job->log, "%s.log", job->entry) &&
           vta_build_path(job->work, "%s.tmp.%ld", job->entry, (long)getpid());
}

vta_status vta_build_open_folder(build_job *job, const char *folder)
{
    if (!vta_build_path(job->cache, "%s", folder) || !name_entry(job)) {
        return vta_fail(job->diag, VTA_RANGE, "the path of the folder is longer than %d bytes", BUILD_PATH);
    }
    return vta_folder_make(job->cache, 0777, job->diag);
}

/* True where this processor runs what VTA_BUILD_PORTABLE names. */
static bool runs_portable(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return true;
#endif
}

bool vta_build_find_shipped(build_job *job)
{
    char folder[BUILD_PATH];
    if (job->systemc || job->trace || job->built || !runs_portable() ||
        !vta_build_path(folder, "%s/../../lib/vtac/simulators", job->root) || access(folder, R_OK) != 0) {
        return false;
    }
    job->portable = true;
    const bool found = vta_build_make_key(job) == VTA_OK && vta_build_path(job->cache, "%s", folder) &&
                       name_entry(job) && vta_build_entry_good(job);
    job->portable = found;
    return found;
}

vta_status vta_build_open_cache(build_job *job)
{
    char *name = NULL;
    VTA_TRY(vta_cache_name("rtlsim", &name, job->diag));
    const bool fits = vta_build_path(job->cache, "%s", name) && name_entry(job);
    free(name);
    return fits ? vta_cache_make(job->cache, job->diag)
                : vta_fail(job->diag, VTA_RANGE, "the path of the cache folder is longer than %d bytes",
                           BUILD_PATH);
}

/* ---- entries */

/* One line of a manifest: what the file is now. */
static bool describe(const char *folder, const char *name, char *line, size_t size)
{
    char path[BUILD_PATH];
    uint8_t *bytes = NULL;
    size_t count = 0;
    if (!vta_build_path(path, "%s/%s", folder, name) ||
        vta_file_read(path, PRODUCT_LIMIT, &bytes, &count, NULL) != VTA_OK) {
        return false;
    }
    (void)snprintf(line, size, "%s %zu %016" PRIx64 "\n", name, count, vta_build_hash(0, bytes, count));
    free(bytes);
    return true;
}

static bool manifest_text(const build_job *job, const char *folder, vta_str *text)
{
    uint32_t count = 0;
    const char *const *names = vta_build_products(job, &count);
    vta_str_printf(text, "vtac rtlsim %s %016" PRIx64 "\n", job->kind, job->key);
    for (uint32_t i = 0; i < count; i++) {
        char line[256];
        if (!describe(folder, names[i], line, sizeof line)) {
            return false;
        }
        vta_str_put(text, line);
    }
    return !text->failed;
}

bool vta_build_entry_good(const build_job *job)
{
    char path[BUILD_PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_str text = {0};
    bool good = vta_build_path(path, "%s/manifest", job->entry) &&
                vta_file_read(path, 1 << 16, &bytes, &size, NULL) == VTA_OK &&
                manifest_text(job, job->entry, &text) && size == text.size &&
                memcmp(bytes, text.text, size) == 0;
    free(bytes);
    vta_str_free(&text);
    return good;
}

static void remove_tree(const char *path, int depth)
{
    DIR *dir = opendir(path);
    struct dirent *item;
    while (dir != NULL && depth < 4 && (item = readdir(dir)) != NULL) {
        char inner[BUILD_PATH];
        struct stat st;
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 ||
            !vta_build_path(inner, "%s/%s", path, item->d_name) || lstat(inner, &st) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            remove_tree(inner, depth + 1);
        } else {
            unlink(inner);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

/* Work folders of builders that died: with the lock held, none of this entry is in use. */
static void remove_leftovers(const build_job *job)
{
    char prefix[BUILD_PATH];
    DIR *dir = opendir(job->cache);
    if (dir == NULL || !vta_build_path(prefix, "%s.", strrchr(job->entry, '/') + 1)) {
        return;
    }
    struct dirent *item;
    while ((item = readdir(dir)) != NULL) {
        char path[BUILD_PATH];
        const char *rest = item->d_name + strlen(prefix);
        if (strncmp(item->d_name, prefix, strlen(prefix)) == 0 && strncmp(rest, "tmp.", 4) == 0 &&
            vta_build_path(path, "%s/%s", job->cache, item->d_name)) {
            remove_tree(path, 0);
        }
    }
    closedir(dir);
}

/* The least recently used entry and the number of entries. */
static uint32_t oldest_entry(const build_job *job, char *oldest)
{
    DIR *dir = opendir(job->cache);
    uint32_t count = 0;
    time_t when = 0;
    struct dirent *item;
    while (dir != NULL && (item = readdir(dir)) != NULL) {
        char path[BUILD_PATH], manifest[BUILD_PATH];
        struct stat st;
        if (strchr(item->d_name, '.') == NULL && vta_build_path(path, "%s/%s", job->cache, item->d_name) &&
            vta_build_path(manifest, "%s/manifest", path) && stat(manifest, &st) == 0) {
            if (count++ == 0 || st.st_mtime < when) {
                when = st.st_mtime;
                memcpy(oldest, path, sizeof path);
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

/* Entries made of sources of long ago would stay for ever otherwise. A loaded one stays loaded. */
static void limit_entries(const build_job *job)
{
    char oldest[BUILD_PATH], file[BUILD_PATH];
    while (oldest_entry(job, oldest) > ENTRY_LIMIT && strcmp(oldest, job->entry) != 0) {
        remove_tree(oldest, 0);
        for (int i = 0; i < 2; i++) {
            if (vta_build_path(file, "%s.%s", oldest, i == 0 ? "log" : "lock")) {
                unlink(file);
            }
        }
    }
}

/* ---- lock and publication */

vta_status vta_build_lock(build_job *job)
{
    char path[BUILD_PATH];
    if (!vta_build_path(path, "%s.lock", job->entry)) {
        return vta_fail(job->diag, VTA_RANGE, "the path of the cache folder is longer than %d bytes",
                        BUILD_PATH);
    }
    job->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (job->lock < 0) {
        return vta_fail(job->diag, VTA_IO, "cannot write the lock '%s': %s; VTAC_CACHE names another place",
                        path, strerror(errno));
    }
    if (flock(job->lock, LOCK_EX | LOCK_NB) == 0) {
        return VTA_OK;
    }
    vta_build_say(job, "another process builds the %s simulator of '%s'; waiting for it", job->kind,
                  job->config->name);
    if (flock(job->lock, LOCK_EX) == 0) {
        return VTA_OK;
    }
    const int why = errno;
    vta_build_unlock(job);
    return vta_fail(job->diag, why == EINTR ? VTA_INTERRUPTED : VTA_IO, "cannot lock '%s': %s", path,
                    strerror(why));
}

void vta_build_unlock(build_job *job)
{
    if (job->lock >= 0) {
        close(job->lock);
        job->lock = -1;
    }
}

vta_status vta_build_begin(build_job *job)
{
    remove_leftovers(job);
    remove_tree(job->entry, 0);
    unlink(job->log);
    if (mkdir(job->work, 0777) != 0) {
        return vta_fail(job->diag, VTA_IO, "cannot make the folder '%s': %s", job->work, strerror(errno));
    }
    return VTA_OK;
}

/* The tools' intermediate files go; what is left is the entry. */
static void remove_intermediates(const build_job *job)
{
    static const char *const names[] = {"obj", "model_fast.cc", "model_slow.cc"};
    char path[BUILD_PATH];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (vta_build_path(path, "%s/%s", job->work, names[i])) {
            remove_tree(path, 0);
            unlink(path);
        }
    }
}

vta_status vta_build_publish(build_job *job)
{
    char path[BUILD_PATH];
    vta_str text = {0};
    vta_status status = VTA_OK;
    remove_intermediates(job);
    if (!manifest_text(job, job->work, &text) || !vta_build_path(path, "%s/manifest", job->work)) {
        status = vta_fail(job->diag, VTA_IO, "the tools left no simulator in '%s'; their log is '%s'",
                          job->work, job->log);
    } else {
        status = vta_file_write_scratch(path, text.text, text.size, job->diag);
    }
    vta_str_free(&text);
    VTA_TRY(status);
    if (rename(job->work, job->entry) != 0) {
        return vta_fail(job->diag, VTA_IO, "cannot rename '%s' to '%s': %s", job->work, job->entry,
                        strerror(errno));
    }
    limit_entries(job);
    return VTA_OK;
}

void vta_build_abandon(build_job *job)
{
    remove_tree(job->work, 0);
}
