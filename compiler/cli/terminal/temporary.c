/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files of a verb. See temporary.h.
 */
#include "temporary.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "vta/hold.h"

/* A handler of signals sees a name when it is whole. */
static void note(const char *path)
{
    cli_ground *g = cli_here();
    assert(g->temporary_count < CLI_MOST_TEMPORARY);
    (void)snprintf(g->temporary[g->temporary_count], sizeof g->temporary[0], "%s", path);
    g->temporary_count = g->temporary_count + 1;
    cli_die_tidily();
}

static vta_status make(const char *kind, bool folder, char *path, vta_diag *diag)
{
    sigset_t was;
    vta_hold_signals(&was);
    const vta_status status = (folder ? vtac_temporary_folder : vtac_temporary_file)(kind, path, diag);
    if (status == VTA_OK) {
        note(path);
    }
    vta_release_signals(&was);
    return status;
}

vta_status cli_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    return make(kind, false, path, diag);
}

vta_status cli_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    return make(kind, true, path, diag);
}

vta_status cli_temporary_in(const char *folder, const char *name, char path[VTAC_TEMPORARY_PATH],
                            vta_diag *diag)
{
    if (snprintf(path, VTAC_TEMPORARY_PATH, "%s/%s", folder, name) >= VTAC_TEMPORARY_PATH) {
        return vta_fail(diag, VTA_IO, "the name of a temporary file '%s' is too long; set TMPDIR", name);
    }
    note(path);
    return VTA_OK;
}

/* From the one of this number on: a folder comes before what is in it. */
static void remove_from(cli_ground *g, int first)
{
    for (int i = g->temporary_count - 1; i >= first; i--) {
        if (unlink(g->temporary[i]) != 0) {
            (void)rmdir(g->temporary[i]);
        }
    }
}

/* What lies in a folder, which has no folders. */
static void empty(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir != NULL &&
           (entry = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
        char path[VTAC_TEMPORARY_PATH + 256];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

void cli_temporary_remove(const char *path)
{
    cli_ground *g = cli_here();
    sigset_t was;
    int first = 0;
    vta_hold_signals(&was);
    while (first < g->temporary_count && strcmp(g->temporary[first], path) != 0) {
        first++;
    }
    if (first < g->temporary_count) {
        empty(path);
    }
    remove_from(g, first);
    g->temporary_count = first;
    vta_release_signals(&was);
}

void cli_temporary_remove_all(void)
{
    remove_from(cli_here(), 0);
}
