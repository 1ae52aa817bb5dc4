/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files of a verb. See temporary.h.
 */
#include "temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"
#include "vta/hold.h"

/* A handler of signals sees a name when it is whole. */
static void note_path(const char *path)
{
    cli_ground *g = cli_here();
    assert(g->temporary_count < CLI_MAX_TEMPORARY);
    (void)snprintf(g->temporary[g->temporary_count], sizeof g->temporary[0], "%s", path);
    g->temporary_count = g->temporary_count + 1;
    cli_die_tidily();
}

static vta_status make_temporary(const char *kind, bool folder, char *path, vta_diag *diag)
{
    sigset_t was;
    vta_hold_signals(&was);
    const vta_status status = (folder ? vtac_temporary_folder : vtac_temporary_file)(kind, path, diag);
    if (status == VTA_OK) {
        note_path(path);
    }
    vta_release_signals(&was);
    return status;
}

vta_status cli_temporary_file(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    return make_temporary(kind, false, path, diag);
}

vta_status cli_temporary_folder(const char *kind, char path[VTAC_TEMPORARY_PATH], vta_diag *diag)
{
    return make_temporary(kind, true, path, diag);
}

vta_status cli_temporary_in(const char *folder, const char *name, char path[VTAC_TEMPORARY_PATH],
                            vta_diag *diag)
{
    if (snprintf(path, VTAC_TEMPORARY_PATH, "%s/%s", folder, name) >= VTAC_TEMPORARY_PATH) {
        return vta_fail(diag, VTA_IO, "the name of a temporary file '%s' is too long; set TMPDIR", name);
    }
    note_path(path);
    return VTA_OK;
}

/* Entry of a folder in the kernel's layout. */
typedef struct folder_entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t kind;
    char name[];
} folder_entry;

enum { MAX_DEPTH = 4 };

/* Removes what is in a folder, which is closed. A handler of signals may call it, so it cannot use readdir,
 * which allocates memory. */
static void empty_folder(int dir, int depth)
{
    enum { IS_FOLDER = 4 }; /* of the kernel's kinds */
    _Alignas(folder_entry) char bytes[4096];
    long size;
    while (dir >= 0 && (size = syscall(SYS_getdents64, dir, bytes, sizeof bytes)) > 0) {
        for (long at = 0; at < size;) {
            const folder_entry *e = (const folder_entry *)(const void *)(bytes + at);
            const bool up = strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0;
            if (e->kind == IS_FOLDER && !up && depth < MAX_DEPTH) {
                empty_folder(openat(dir, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                             depth + 1);
                (void)unlinkat(dir, e->name, AT_REMOVEDIR);
            } else if (!up) {
                (void)unlinkat(dir, e->name, 0);
            }
            at += e->size;
        }
    }
    if (dir >= 0) {
        (void)close(dir);
    }
}

/* Removes the temporary files from number `first` on: a folder comes before its contents. */
static void remove_from(cli_ground *g, int first)
{
    for (int i = g->temporary_count - 1; i >= first; i--) {
        if (unlink(g->temporary[i]) != 0 && rmdir(g->temporary[i]) != 0 && errno == ENOTEMPTY) {
            empty_folder(open(g->temporary[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
            (void)rmdir(g->temporary[i]);
        }
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
    remove_from(g, first);
    g->temporary_count = first;
    vta_release_signals(&was);
}

void cli_temporary_remove_all(void)
{
    remove_from(cli_here(), 0);
}
