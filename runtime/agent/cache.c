/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that models come in, kept by hash and size under $VTAC_CACHE, $XDG_CACHE_HOME/vtac or
 * ~/.cache/vtac, in "models": what has been sent once is not sent again. The oldest go when there are many.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "vta/artifact.h"
#include "vta/cache.h"
#include "vta/file.h"

enum { MAX_FILES = 32 };

/* ---- the folder */

/* A file that comes in is locked by the agent that writes it: without a lock, the agent was killed. */
static void remove_orphan(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0) {
        (void)unlink(path);
    }
    if (file >= 0) {
        (void)close(file);
    }
}

/* Removes what agents that were killed have left of files on their way. */
static void remove_orphans(const char *folder)
{
    static const char prefix[] = "new-";
    DIR *entries = opendir(folder);
    for (struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL;
         entry = readdir(entries)) {
        char path[4400];
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            remove_orphan(path);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

static vta_status find_folder(agent *a, vta_diag *diag)
{
    char *name = NULL;
    if (a->folder[0] != '\0') {
        return VTA_OK;
    }
    VTA_TRY(vta_cache_name("models", &name, diag));
    vta_status status =
        strlen(name) < sizeof a->folder
            ? vta_cache_make(name, diag)
            : vta_fail(diag, VTA_RANGE, "the name of the cache folder is too long; set VTAC_CACHE");
    if (status == VTA_OK) {
        memcpy(a->folder, name, strlen(name) + 1);
        remove_orphans(a->folder);
    }
    free(name);
    return status;
}

static bool is_ours(const char *name)
{
    const size_t size = strlen(name);
    return size > 3 && strcmp(name + size - 3, ".so") == 0;
}

/* Removes the file that was used longest ago, while there are more than a few. */
static void trim(const agent *a)
{
    for (;;) {
        char oldest[4400] = "";
        struct timespec when = {0};
        unsigned count = 0;
        DIR *folder = opendir(a->folder);
        for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL;
             entry = readdir(folder)) {
            char path[4400];
            struct stat info;
            (void)snprintf(path, sizeof path, "%s/%s", a->folder, entry->d_name);
            if (!is_ours(entry->d_name) || stat(path, &info) != 0) {
                continue;
            }
            const bool older = info.st_mtim.tv_sec < when.tv_sec ||
                               (info.st_mtim.tv_sec == when.tv_sec && info.st_mtim.tv_nsec < when.tv_nsec);
            if (count++ == 0 || older) {
                when = info.st_mtim;
                memcpy(oldest, path, sizeof oldest);
            }
        }
        if (folder != NULL) {
            (void)closedir(folder);
        }
        if (count <= MAX_FILES || unlink(oldest) != 0) {
            return;
        }
    }
}

/* ---- a file */

static void name_of(const agent *a, uint64_t hash, uint64_t size, char *path, size_t room)
{
    (void)snprintf(path, room, "%s/%016" PRIx64 "-%" PRIu64 ".so", a->folder, hash, size);
}

/* True if a file is what its name says; a file that is damaged is not there. */
static bool good_file(const char *path, uint64_t hash, uint64_t size)
{
    struct stat info;
    bool good = false;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == size &&
        size > 0 && size <= AGENT_BYTES) {
        void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            good = vta_artifact_hash(bytes, (size_t)size) == hash;
            (void)munmap(bytes, (size_t)size);
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
    return good;
}

vta_status agent_cached(agent *a, uint64_t hash, uint64_t size, char *path, size_t room, vta_diag *diag)
{
    VTA_TRY(find_folder(a, diag));
    name_of(a, hash, size, path, room);
    if (!good_file(path, hash, size)) {
        return vta_fail(diag, VTA_IO, "the model is not in the cache '%s'", a->folder);
    }
    (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now */
    return VTA_OK;
}

/* ---- sending one */

void agent_upload_drop(agent *a)
{
    if (a->upload.fd >= 0) {
        (void)close(a->upload.fd);
        (void)unlink(a->upload.path);
    }
    a->upload.fd = -1;
}

/* A new file under a name of its own, locked; -1: errno says why. Another agent that starts between the two
 * steps takes the file for an orphan and removes it: then it has no name any more, and another one is made.
 */
static int create_locked(const char *folder, char *path, size_t room)
{
    for (int tries = 0; tries < 100; tries++) {
        struct stat info;
        (void)snprintf(path, room, "%s/new-XXXXXX", folder);
        const int file = mkstemp(path);
        if (file < 0) {
            return -1;
        }
        (void)fcntl(file, F_SETFD, FD_CLOEXEC);
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &info) == 0 && info.st_nlink > 0) {
            return file;
        }
        (void)unlink(path);
        (void)close(file);
    }
    return -1;
}

vta_status agent_file_begin(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint64_t hash = vta_get_u64(in);
    const uint64_t size = vta_get_u64(in);
    char path[4200];
    VTA_TRY(agent_read(in, diag));
    agent_upload_drop(a);
    if (size == 0 || size > AGENT_BYTES) {
        return vta_fail(diag, VTA_RANGE, "a model of %" PRIu64 " bytes; from 1 to %" PRIu64 " are taken",
                        size, AGENT_BYTES);
    }
    const bool there = agent_cached(a, hash, size, path, sizeof path, NULL) == VTA_OK;
    vta_put_u32(out, there);
    if (there) {
        return VTA_OK;
    }
    VTA_TRY(find_folder(a, diag));
    a->upload.fd = create_locked(a->folder, a->upload.path, sizeof a->upload.path);
    if (a->upload.fd < 0) {
        return vta_fail(diag, VTA_IO, "cannot write in '%s': %s", a->folder, strerror(errno));
    }
    a->upload.hash = hash;
    a->upload.size = size;
    a->upload.at = 0;
    return VTA_OK;
}

vta_status agent_file_data(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint64_t offset = vta_get_u64(in);
    uint32_t size;
    const uint8_t *bytes = vta_get_bytes(in, &size);
    (void)out;
    VTA_TRY(agent_read(in, diag));
    if (a->upload.fd < 0 || offset != a->upload.at || size > a->upload.size - offset) {
        return vta_fail(diag, VTA_PROTOCOL, "%" PRIu32 " bytes at %" PRIu64 " of a file are not expected",
                        size, offset);
    }
    const int error = vta_write_all(a->upload.fd, bytes, size);
    if (error != 0) {
        return vta_fail(diag, VTA_IO, "cannot write to '%s': %s", a->folder, strerror(error));
    }
    a->upload.at += size;
    return VTA_OK;
}

vta_status agent_file_end(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    char path[4200];
    (void)out;
    VTA_TRY(agent_read(in, diag));
    if (a->upload.fd < 0 || a->upload.at != a->upload.size ||
        !good_file(a->upload.path, a->upload.hash, a->upload.size)) {
        agent_upload_drop(a);
        return vta_fail(diag, VTA_PROTOCOL, "the file that came is not the one that was announced");
    }
    name_of(a, a->upload.hash, a->upload.size, path, sizeof path);
    if (vta_file_publish(a->upload.path, path, diag) != VTA_OK) {
        agent_upload_drop(a);
        return diag->code;
    }
    (void)close(a->upload.fd);
    a->upload.fd = -1;
    trim(a);
    return VTA_OK;
}
