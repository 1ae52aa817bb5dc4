/* SPDX-License-Identifier: Apache-2.0
 *
 * The system's loader knows a library by its name and by its inode: a second model under the path of one that
 * is loaded, whether the file was replaced or written over, would be the first one again; and writing over a
 * file that is mapped changes it under whoever runs it. So each model is a copy in memory of its own, mapped
 * by a name that no other has. The name goes through /proc and this process's number, so that a debugger
 * finds the symbols there; for `perf report`, which comes after the process, VTA_MODEL_IN_PLACE=1 maps the
 * file itself, as does a system without /proc.
 */
#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seal.h"
#include "vta/anonymous.h"

enum { NAME_BYTES = 64 };

static vta_status cannot(int reason, vta_diag *diag)
{
    return vta_fail(diag, VTA_IO, "cannot load it: %s", strerror(reason));
}

/* -1 where the system has no such files. */
static int anonymous_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", NAME_BYTES - 1, slash != NULL ? slash + 1 : path);
    return vta_anonymous_file(name);
}

static bool copy_file(int from, int to, size_t size)
{
    while (size > 0) {
        const ssize_t done = sendfile(to, from, NULL, size);
        if (done < 0 && errno != EINTR) {
            return false;
        }
        if (done == 0) { /* cut off meanwhile; the seal will tell */
            break;
        }
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static vta_status check_bytes(int file, vta_diag *diag)
{
    struct stat info;
    if (fstat(file, &info) != 0) {
        return cannot(errno, diag);
    }
    if (!S_ISREG(info.st_mode) || info.st_size == 0) {
        return vta_fail(diag, VTA_SYNTAX, "it is not a compiled model; 'vtac compile' makes them");
    }
    const size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        return cannot(errno, diag);
    }
    const vta_status status = vta_seal_check(bytes, size, diag);
    (void)munmap(bytes, size);
    return status;
}

static vta_status map_file(const char *path, vta_library *library, vta_diag *diag)
{
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library->handle != NULL ? VTA_OK : vta_fail(diag, VTA_IO, "cannot load it: %s", dlerror());
}

/* Only what looks like a model is copied. */
static vta_status open_file(const char *path, int file, vta_library *library, vta_diag *diag)
{
    struct stat info;
    char start[SELFMAG];
    char name[NAME_BYTES];
    if (fstat(file, &info) != 0) {
        return cannot(errno, diag);
    }
    const bool plausible = S_ISREG(info.st_mode) && pread(file, start, sizeof start, 0) == SELFMAG &&
                           memcmp(start, ELFMAG, SELFMAG) == 0;
    const char *in_place = getenv("VTA_MODEL_IN_PLACE");
    if (plausible && (in_place == NULL || strcmp(in_place, "1") != 0)) {
        library->copy = anonymous_file(path);
    }
    (void)snprintf(name, sizeof name, "/proc/%ld/fd/%d", (long)getpid(), library->copy);
    if (library->copy < 0 || access(name, R_OK) != 0) {
        VTA_TRY(check_bytes(file, diag));
        return map_file(path, library, diag);
    }
    if (!copy_file(file, library->copy, (size_t)info.st_size)) {
        return cannot(errno, diag);
    }
    VTA_TRY(check_bytes(library->copy, diag));
    return map_file(name, library, diag);
}

vta_status vta_library_open(const char *path, vta_library *out, vta_diag *diag)
{
    char local[4096];
    *out = (vta_library){.copy = -1};
    if (strchr(path, '/') == NULL && snprintf(local, sizeof local, "./%s", path) < (int)sizeof local) {
        path = local; /* dlopen would search the system's folders */
    }
    int file;
    do {
        file = open(path, O_RDONLY | O_CLOEXEC);
    } while (file < 0 && errno == EINTR);
    if (file < 0) {
        return cannot(errno, diag);
    }
    const vta_status status = open_file(path, file, out, diag);
    (void)close(file);
    if (status != VTA_OK) {
        vta_library_close(out);
    }
    return status;
}

const void *vta_library_symbol(const vta_library *library, const char *name)
{
    return dlsym(library->handle, name);
}

void vta_library_close(vta_library *library)
{
    if (library->handle != NULL) {
        (void)dlclose(library->handle);
    }
    if (library->copy >= 0) {
        (void)close(library->copy);
    }
    vta_pages_give(&library->pages);
    *library = (vta_library){.copy = -1};
}
