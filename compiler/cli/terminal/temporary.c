/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files of a verb. See temporary.h.
 */
#include "temporary.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "vta/hold.h"

/* Names in the order in which they were made; a handler sees a name when it is whole. */
enum { MOST = 8 };
static char paths[MOST][VTAC_TEMPORARY_PATH];
static volatile sig_atomic_t count;

static void note(const char *path)
{
    assert(count < MOST);
    (void)snprintf(paths[count], sizeof paths[0], "%s", path);
    count = count + 1;
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
static void remove_from(int first)
{
    for (int i = count - 1; i >= first; i--) {
        if (unlink(paths[i]) != 0) {
            (void)rmdir(paths[i]);
        }
    }
}

void cli_temporary_remove(const char *path)
{
    sigset_t was;
    int first = 0;
    vta_hold_signals(&was);
    while (first < count && strcmp(paths[first], path) != 0) {
        first++;
    }
    remove_from(first);
    count = first;
    vta_release_signals(&was);
}

void cli_temporary_remove_all(void)
{
    remove_from(0);
}
