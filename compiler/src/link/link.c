/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects to shared objects with lld, run as a program. Temporary files lie beside the result and never stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vta/file.h"
#include "vta/model.h"
#include "vtac/codegen.h"

extern char **environ;

enum { MOST_PATH = 4096 };

static vta_status run_linker(const char *object, const char *shared, vta_diag *diag)
{
    static const char *const linkers[] = {"ld.lld-19", "ld.lld",    "ld.lld-18",
                                          "ld.lld-17", "ld.lld-16", "ld.lld-20"};
    char arguments[][20] = {"", "-shared", "--build-id=none", "-znoexecstack", "-o"};
    char in[MOST_PATH + 32];
    char out[MOST_PATH + 32];
    (void)snprintf(in, sizeof in, "%s", object);
    (void)snprintf(out, sizeof out, "%s", shared);
    char *argv[] = {arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], out, in, NULL};
    for (size_t i = 0; i < sizeof linkers / sizeof linkers[0]; i++) {
        pid_t child;
        (void)snprintf(arguments[0], sizeof arguments[0], "%s", linkers[i]);
        if (posix_spawnp(&child, linkers[i], NULL, NULL, argv, environ) != 0) {
            continue;
        }
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return WIFEXITED(status) && WEXITSTATUS(status) == 0
                   ? VTA_OK
                   : vta_fail(diag, VTA_IO, "'%s' failed on the compiled model", linkers[i]);
    }
    return vta_fail(diag, VTA_IO, "no linker: 'ld.lld' is not in the PATH; install lld");
}

vta_status vtac_link(const vtac_artifact_image *image, const char *path, vta_diag *diag)
{
    char object[MOST_PATH + 32];
    char shared[MOST_PATH + 32];
    if (strlen(path) >= MOST_PATH) {
        return vta_fail(diag, VTA_INVALID, "the path of the output is too long");
    }
    (void)snprintf(object, sizeof object, "%s.%ld.o", path, (long)getpid());
    (void)snprintf(shared, sizeof shared, "%s.%ld.so", path, (long)getpid());
    vta_status status = vta_file_write(object, image->object, image->object_bytes, diag);
    if (status == VTA_OK) {
        status = run_linker(object, shared, diag);
    }
    if (status == VTA_OK) {
        status = vta_artifact_seal_file(shared, diag);
    }
    if (status == VTA_OK && rename(shared, path) != 0) {
        status = vta_fail(diag, VTA_IO, "%s: %s", path, strerror(errno));
    }
    (void)unlink(object);
    (void)unlink(shared);
    return status;
}
