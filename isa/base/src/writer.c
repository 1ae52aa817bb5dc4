/* SPDX-License-Identifier: Apache-2.0
 *
 * Files in the making. See file.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vta/file.h"
#include "vta/hold.h"

#ifndef O_CLOEXEC /* a machine without programs to start, and without links */
#    define O_CLOEXEC 0
#endif
#ifndef O_NOFOLLOW
#    define O_NOFOLLOW 0
#endif
#ifdef VTA_BAREMETAL
#    define lstat          stat
#    define fsync(file)    ((void)(file), 0)
#    define fchmod(a, b)   ((void)(a), (void)(b), 0)
#    define realpath(a, b) ((void)(a), (void)(b), (char *)NULL)
#endif

enum { BUFFER = 1 << 16 };

/* ---- names */

/* The folder of a path with its '/', "" where the path names none; owned. */
static char *folder_of(const char *path, size_t extra)
{
    const char *slash = strrchr(path, '/');
    const size_t size = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *folder = malloc(size + extra + 1);
    if (folder != NULL) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    return folder;
}

static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* The file that a path means: behind a symbolic link, the link's; owned. */
static char *target_of(const char *path)
{
    struct stat info;
    char *target = NULL;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        target = realpath(path, NULL);
    }
    return target != NULL ? target : strdup(path);
}

/* Opens a file of a name that nothing has yet: the kernel decides that, and the name only makes a second try
 * rare. */
static int create_beside(const char *target, char **name)
{
    enum { TRIES = 100, NAME = 40 };
    static _Atomic unsigned calls;
    int file = -1;
    *name = folder_of(target, NAME);
    char *end = *name != NULL ? strchr(*name, '\0') : NULL;
    for (int tries = 0; *name != NULL && file < 0 && tries < TRIES; tries++) {
        const unsigned long process = (unsigned long)getpid() & 0xffffffff;
        const unsigned long moment =
            ((unsigned long)time(NULL) ^ (unsigned long)(uintptr_t)&file) & 0xffffffff;
        (void)snprintf(end, NAME, ".new-%08lx%08lx%04x", process, moment, calls++ & 0xffff);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST && errno != EINTR) {
            break;
        }
    }
    return file;
}

/* A file that replaces another is for the same people: it takes the other's mode before it has any bytes, or
 * any under this name. */
static void keep_mode(int file, const char *target)
{
    struct stat info;
    if (stat(target, &info) == 0 && S_ISREG(info.st_mode)) {
        (void)fchmod(file, info.st_mode & 0777);
    }
}

/* ---- to the disk */

/* EINVAL: there is no disk behind this file. */
static bool sync_file(int file)
{
    while (fsync(file) != 0) {
        if (errno != EINTR) {
            return errno == EINVAL || errno == ENOTSUP || errno == EROFS;
        }
    }
    return true;
}

/* The name of a file is on the disk when its folder is. */
static void sync_folder_of(const char *path)
{
    char *folder = folder_of(path, 1);
    if (folder != NULL) {
        const int file = open(*folder != '\0' ? folder : ".", O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            (void)sync_file(file);
            (void)close(file);
        }
        free(folder);
    }
}

static void write_now(vta_writer *w, const uint8_t *bytes, size_t size)
{
    if (w->error == 0) {
        w->error = vta_write_all(w->file, bytes, size);
    }
}

/* ---- a writer */

static void free_writer(vta_writer *w)
{
    if (w->path != NULL && w->file >= 0) {
        (void)close(w->file);
    }
    free(w->path);
    free(w->target);
    free(w->temporary);
    free(w->buffer);
    *w = (vta_writer){0};
}

static vta_status cannot_write(const char *path, int cause, vta_diag *diag)
{
    return vta_fail(diag, cause == ENOMEM ? VTA_NOMEM : VTA_IO, "cannot write '%s': %s", path,
                    strerror(cause));
}

bool vta_hold_signals_for(const char *path, sigset_t *was)
{
    const bool holds = !is_special(path);
    if (holds) {
        vta_hold_signals(was);
    }
    return holds;
}

vta_status vta_writer_open(const char *path, vta_writer *out, vta_diag *diag)
{
    *out =
        (vta_writer){.file = -1, .path = strdup(path), .target = target_of(path), .buffer = malloc(BUFFER)};
    out->process = (long)getpid();
    errno = ENOMEM;
    if (out->path != NULL && out->target != NULL && out->buffer != NULL) {
        out->file = is_special(path) ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                                     : create_beside(out->target, &out->temporary);
    }
    if (out->file < 0) {
        const int cause = errno;
        free_writer(out);
        return cannot_write(path, cause, diag);
    }
    if (out->temporary != NULL) {
        keep_mode(out->file, out->target);
    }
    return VTA_OK;
}

void vta_writer_put(vta_writer *w, const void *bytes, size_t size)
{
    if (size > BUFFER - w->filled) {
        write_now(w, w->buffer, w->filled);
        w->filled = 0;
    }
    if (size > BUFFER - w->filled) {
        write_now(w, bytes, size);
    } else if (size > 0) {
        memcpy(w->buffer + w->filled, bytes, size);
        w->filled += size;
    }
}

/* The first failure of the last steps is w->error. */
static void finish(vta_writer *w)
{
    write_now(w, w->buffer, w->filled);
    w->filled = 0;
    if (w->error == 0 && w->temporary != NULL && !w->scratch && !sync_file(w->file)) {
        w->error = errno;
    }
    const bool closed = close(w->file) == 0 || errno == EINTR;
    w->error = w->error == 0 && !closed ? errno : w->error;
    w->file = -1;
    if (w->error == 0 && w->temporary != NULL && rename(w->temporary, w->target) != 0) {
        w->error = errno;
    }
}

vta_status vta_writer_close(vta_writer *w, vta_diag *diag)
{
    vta_status status = VTA_OK;
    if (w->process == (long)getpid()) {
        finish(w);
        if (w->error != 0) {
            status = cannot_write(w->path, w->error, diag);
            (void)(w->temporary != NULL ? unlink(w->temporary) : 0);
        } else if (w->temporary != NULL && !w->scratch) {
            sync_folder_of(w->target);
        }
    }
    free_writer(w);
    return status;
}

void vta_writer_drop(vta_writer *w)
{
    if (w->temporary != NULL && w->process == (long)getpid()) {
        (void)unlink(w->temporary);
    }
    free_writer(w);
}

/* ---- whole files */

static vta_status write_whole(const char *path, const void *bytes, size_t size, bool scratch, vta_diag *diag)
{
    sigset_t was;
    vta_writer writer;
    const bool holds = vta_hold_signals_for(path, &was);
    vta_status status = vta_writer_open(path, &writer, diag);
    if (status == VTA_OK) {
        writer.scratch = scratch;
        write_now(&writer, bytes, size);
        status = vta_writer_close(&writer, diag);
    }
    if (holds) {
        vta_release_signals(&was);
    }
    return status;
}

vta_status vta_file_write(const char *path, const void *bytes, size_t size, vta_diag *diag)
{
    return write_whole(path, bytes, size, false, diag);
}

vta_status vta_file_write_scratch(const char *path, const void *bytes, size_t size, vta_diag *diag)
{
    return write_whole(path, bytes, size, true, diag);
}

vta_status vta_file_publish(const char *from, const char *path, vta_diag *diag)
{
    char *target = target_of(path);
    const int file = target != NULL ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        keep_mode(file, target);
    }
    const bool done = file >= 0 && sync_file(file) && rename(from, target) == 0;
    const int cause = target != NULL ? errno : ENOMEM;
    if (file >= 0) {
        (void)close(file);
    }
    if (done) {
        sync_folder_of(target);
    }
    free(target);
    return done ? VTA_OK : cannot_write(path, cause, diag);
}
