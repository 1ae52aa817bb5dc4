/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files. See vtac/temporary.h.
 */
#include "vtac/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vta/hold.h"

static vta_status name_it(const char *kind, char *path, const char **folder, vta_diag *diag)
{
    const char *set = getenv("TMPDIR");
    *folder = set != NULL && set[0] != '\0' ? set : "/tmp";
    const int size = snprintf(path, VTAC_TEMPORARY_PATH, "%s/vtac-%s-XXXXXX", *folder, kind);
    return size < VTAC_TEMPORARY_PATH
               ? VTA_OK
               : vta_fail(diag, VTA_IO, "the name of the folder for temporary files is too long; set TMPDIR");
}

static vta_status refused(const char *what, const char *folder, vta_diag *diag)
{
    return vta_fail(diag, VTA_IO,
                    "cannot make a temporary %s in '%s': %s; set TMPDIR to one that can be written to", what,
                    folder, strerror(errno));
}

vta_status vtac_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    const char *folder;
    VTA_TRY(name_it(kind, path, &folder, diag));
    const int file = mkstemp(path);
    if (file < 0) {
        return refused("file", folder, diag);
    }
    (void)close(file);
    return VTA_OK;
}

vta_status vtac_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    const char *folder;
    VTA_TRY(name_it(kind, path, &folder, diag));
    return mkdtemp(path) != NULL ? VTA_OK : refused("folder", folder, diag);
}

vta_status vtac_load(const vtac_artifact_image *image, const vta_model_options *options, vta_model **out,
                     vta_diag *diag)
{
    char path[VTAC_TEMPORARY_PATH];
    sigset_t was;
    vta_hold_signals(&was);
    vta_status status = vtac_temporary_file("model", path, diag);
    if (status == VTA_OK) {
        status = vtac_link(image, path, diag);
        status = status == VTA_OK ? vta_model_load(path, options, out, diag) : status;
        (void)unlink(path); /* what is mapped stays */
    }
    vta_release_signals(&was);
    return status;
}

/* The least processor of this machine's kind: what is computed here has the same bits on all of them. */
#if defined(__aarch64__)
#    define LEAST_PROCESSOR "aarch64"
#elif defined(__arm__)
#    define LEAST_PROCESSOR "armv7a"
#else
#    define LEAST_PROCESSOR "x86-64-v2"
#endif

vta_status vtac_load_graph(const vtac_graph *graph, int level, vta_model **out, vta_diag *diag)
{
    vtac_target target;
    vtac_artifact_image image = {0};
    const vtac_compile_options options = {.level = level, .target = &target};
    const vta_model_options model_options = {.threads = 1};
    vta_status status = vtac_target_find(LEAST_PROCESSOR, &target, diag);
    status = status == VTA_OK ? vtac_compile(graph, &options, &image, diag) : status;
    status = status == VTA_OK ? vtac_load(&image, &model_options, out, diag) : status;
    vtac_artifact_image_free(&image);
    return status;
}
