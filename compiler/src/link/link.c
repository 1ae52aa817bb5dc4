/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects to shared objects with lld, run as a program. What it reads and writes lies in a folder beside the
 * result, which goes with all that is in it, the linker's own temporary files too: a signal that comes
 * meanwhile ends the linker, if it is for both, and us when the folder is gone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hold.h"
#include "vta/model.h"
#include "vtac/codegen.h"
#include "vtac/temporary.h"
#include "wasm.h"

extern char **environ;

enum { MAX_PATH = 4096, MAX_ARGUMENTS = 24 };

/* The folder of one link and its files, which need not be there. */
typedef struct link_files {
    char folder[MAX_PATH + 10];
    char model[MAX_PATH + 42], helpers[MAX_PATH + 42];
    char libc[MAX_PATH + 42], libm[MAX_PATH + 42];
    char shared[MAX_PATH + 42];
} link_files;

/* lld is one program under several names, one for each kind of object. */
static const char *const versions[] = {"-19", "", "-18", "-17", "-16", "-20"};

/* Starts a linker of that name with its messages going to `messages`; false: there is none. */
static bool start_linker(const char *linker, char **argv, int messages, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    bool started = false;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    vta_signals_of_child(&signals);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &signals);
    (void)posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0] && !started; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s%s", linker, versions[i]);
        argv[0] = name;
        started = posix_spawnp(child, name, &actions, &attributes, argv, environ) == 0;
    }
    argv[0] = NULL;
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return started;
}

/* Keeps the first line of the linker's output and drops the rest. */
static void first_line(int from, char *line, size_t size)
{
    size_t got = 0;
    for (ssize_t n = 1; n > 0;) {
        char more[512];
        n = read(from, more, sizeof more);
        for (ssize_t i = 0; i < n && got < size - 1; i++) {
            line[got++] = more[i];
        }
    }
    line[got] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static vta_status explain_failure(const char *linker, int result, const char *line, vta_diag *diag)
{
    if (WIFSIGNALED(result) && WTERMSIG(result) == SIGBUS) { /* a page of its output has no place there */
        return vta_fail(diag, VTA_IO, "cannot write the compiled model: no space is left on its disk");
    }
    static const char undefined[] = "undefined symbol: ";
    const char *symbol = strstr(line, undefined);
    if (symbol != NULL && strcmp(linker, "ld.lld") == 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "the code for this host calls '%s', which is not in libc: the processor as described "
                        "lacks arithmetic; add features, as '+neon' for ARM or '+m,+f,+d' for RISC-V",
                        symbol + sizeof undefined - 1);
    }
    return vta_fail(diag, VTA_IO, "the linker failed on the compiled model: %s",
                    line[0] != '\0' ? line : "it ended without a word");
}

/* Runs lld on arguments that end with NULL; the first is its name. */
static vta_status run_linker(const char *const *arguments, vta_diag *diag)
{
    char *argv[MAX_ARGUMENTS] = {NULL};
    int ends[2] = {-1, -1};
    pid_t child;
    size_t count = 1;
    if (pipe(ends) != 0) {
        return vta_fail(diag, VTA_IO, "no pipe: %s", strerror(errno));
    }
    for (; arguments[count] != NULL; count++) {
        argv[count] = strdup(arguments[count]);
    }
    const bool started = start_linker(arguments[0], argv, ends[1], &child);
    (void)close(ends[1]);
    char line[400];
    first_line(ends[0], line, sizeof line);
    (void)close(ends[0]);
    int result = 0;
    while (started && waitpid(child, &result, 0) < 0 && errno == EINTR) {
    }
    for (size_t i = 1; i < count; i++) {
        free(argv[i]);
    }
    if (!started) {
        return vta_fail(diag, VTA_IO, "no linker: '%s' is not in the PATH; install lld", arguments[0]);
    }
    return WIFEXITED(result) && WEXITSTATUS(result) == 0 ? VTA_OK
                                                         : explain_failure(arguments[0], result, line, diag);
}

/* A library that has names alone, as the next argument; none where the model calls nothing of it. */
static vta_status write_names(const vtac_artifact_image *image, const char *const *names, const char *soname,
                              const char *path, const char **argument, vta_diag *diag)
{
    *argument = names != NULL ? path : "--as-needed";
    return names == NULL ? VTA_OK
                         : vtac_write_names(image->object, image->object_bytes, soname, names, path, diag);
}

/* Complete: what neither the model nor libc nor libm has is an error here, not on the board. */
static vta_status link_model(const vtac_artifact_image *image, const link_files *f, vta_diag *diag)
{
    const char *libc;
    const char *libm;
    VTA_TRY(vta_file_write_scratch(f->model, image->object, image->object_bytes, diag));
    VTA_TRY(write_names(image, image->libc, "libc.so.6", f->libc, &libc, diag));
    VTA_TRY(write_names(image, image->libm, "libm.so.6", f->libm, &libm, diag));
    /* An output that is a map of memory ends the linker by SIGBUS where the disk is full. */
    const char *arguments[MAX_ARGUMENTS] = {"ld.lld",
                                            "-shared",
                                            "--build-id=none",
                                            "--no-mmap-output-file",
                                            "-znoexecstack",
                                            "-zdefs",
                                            "-o",
                                            f->shared,
                                            f->model,
                                            "--as-needed",
                                            libc,
                                            libm};
    if (image->helpers != NULL) {
        VTA_TRY(vta_file_write_scratch(f->helpers, image->helpers, image->helpers_bytes, diag));
        arguments[12] = "--start-lib"; /* only if they are called */
        arguments[13] = f->helpers;
        arguments[14] = "--end-lib";
    }
    return run_linker(arguments, diag);
}

/* The model's object and the runtime's, as one module. A stack that overflows leaves the memory, and is
 * refused. */
static vta_status link_module(const vtac_artifact_image *image, const link_files *f, vta_diag *diag)
{
    if (vta_wasm_runtime_bytes == 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "this vtac was built without clang, which makes the runtime for WebAssembly; install "
                        "clang and lld, and build it again");
    }
    VTA_TRY(vta_file_write_scratch(f->model, image->object, image->object_bytes, diag));
    VTA_TRY(vta_file_write_scratch(f->helpers, vta_wasm_runtime, vta_wasm_runtime_bytes, diag));
    const char *const arguments[] = {"wasm-ld",  "--no-entry", "--stack-first", "-zstack-size=1048576",
                                     "-s",       "-o",         f->shared,       f->model,
                                     f->helpers, NULL};
    return run_linker(arguments, diag);
}

/* A folder beside the result, so that the result is renamed to its place, and the names in it. Beside a
 * device there may be no room for one. */
static vta_status make_folder(const char *path, link_files *f, vta_diag *diag)
{
    const struct {
        char *file;
        const char *name;
    } files[] = {{f->model, "model.o"},
                 {f->helpers, "helpers.o"},
                 {f->libc, "libc.so"},
                 {f->libm, "libm.so"},
                 {f->shared, "out.so"}};
    if (strlen(path) >= MAX_PATH) {
        return vta_fail(diag, VTA_INVALID, "the path of the output is too long");
    }
    if (vtac_is_special(path)) {
        char folder[VTAC_TEMPORARY_PATH];
        VTA_TRY(vtac_temporary_folder("link", folder, diag));
        (void)snprintf(f->folder, sizeof f->folder, "%s", folder);
    } else {
        (void)snprintf(f->folder, sizeof f->folder, "%s%s.XXXXXX", path[0] == '-' ? "./" : "",
                       path); /* the linker's options begin so, too */
        if (mkdtemp(f->folder) == NULL) {
            return vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
        }
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(files[i].file, sizeof f->model, "%s/%s", f->folder, files[i].name);
    }
    return VTA_OK;
}

static void remove_folder(const link_files *f)
{
    DIR *folder = opendir(f->folder);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    (void)rmdir(f->folder);
}

static vta_status copy_file(const char *from, const char *to, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(from, SIZE_MAX - 1, &bytes, &size, diag));
    const vta_status status = vta_file_write(to, bytes, size, diag);
    free(bytes);
    return status;
}

static vta_status link_in(const vtac_artifact_image *image, const link_files *f, const char *path,
                          vta_diag *diag)
{
    VTA_TRY(image->is_wasm ? link_module(image, f, diag) : link_model(image, f, diag));
    if (!image->is_wasm) {
        VTA_TRY(vta_artifact_seal_file(f->shared, diag));
    } else if (vtac_is_page(path)) {
        return vtac_write_page(f->shared, image->state_count > 0, image->page, path, diag);
    }
    if (vtac_is_special(path)) {
        return copy_file(f->shared, path, diag);
    }
    return vta_file_publish(f->shared, path, diag);
}

vta_status vtac_link(const vtac_artifact_image *image, const char *path, vta_diag *diag)
{
    if (image->is_bare) {
        return vta_file_write(path, image->object, image->object_bytes, diag);
    }
    link_files *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return vta_no_memory(diag);
    }
    sigset_t was;
    vta_hold_signals(&was);
    vta_status status = make_folder(path, f, diag);
    if (status == VTA_OK) {
        status = link_in(image, f, path, diag);
        remove_folder(f);
    }
    vta_release_signals(&was);
    free(f);
    return status;
}
