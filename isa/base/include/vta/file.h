/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files: read into memory, written so that no partial file is ever seen under the final name, not even
 * after the machine has lost its power; folders.
 */
#ifndef VTA_FILE_H
#define VTA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a file of at most `limit` bytes; where it is no regular file, of at most VTA_FILE_STREAM, too: a
 * device may never end. *bytes is owned (free()) and has a terminator after its `size` bytes. */
#define VTA_FILE_STREAM ((size_t)1 << 29)
vta_status vta_file_read(const char *path, size_t limit, uint8_t **bytes, size_t *size, vta_diag *diag);

/* Writes a whole file by way of a vta_writer. */
vta_status vta_file_write(const char *path, const void *bytes, size_t size, vta_diag *diag);

/* The same for a file that only the run at work reads: it appears whole, but nobody waits for the disk. */
vta_status vta_file_write_scratch(const char *path, const void *bytes, size_t size, vta_diag *diag);

/* Writes all bytes to an open file, by as many calls as the system asks for; returns 0 or errno. */
int vta_write_all(int file, const void *bytes, size_t size);

/* A file in the making. Its bytes go to a file of a new name in the folder of `path`, which no other process
 * can have chosen before; a device or a pipe is written directly. Where `path` is a symbolic link to a file,
 * that file is meant. A file that is replaced hands its mode on. */
typedef struct vta_writer {
    int file;
    int error;       /* errno of the first failure, 0: none */
    char *path;      /* as the caller named it; owned */
    char *target;    /* the file that it becomes; owned */
    char *temporary; /* its name until then; NULL: it is written directly; owned */
    uint8_t *buffer;
    size_t filled;
    long process; /* a fork of it has no say about the file */
    bool scratch; /* nobody waits for the disk */
} vta_writer;

/* {0} may be dropped. */
vta_status vta_writer_open(const char *path, vta_writer *out, vta_diag *diag);
void vta_writer_put(vta_writer *writer, const void *bytes, size_t size);

/* Gives the file its name once all of it is on the disk. On failure the file that had the name before is as
 * it was, and nothing else is left. */
vta_status vta_writer_close(vta_writer *writer, vta_diag *diag);
/* Ends it without a file. */
void vta_writer_drop(vta_writer *writer);

/* The same for a complete file that a tool has made: `from`, on the same file system, becomes `path`. */
vta_status vta_file_publish(const char *from, const char *path, vta_diag *diag);

/* Makes a folder and those that it lies in, as far as they are not there; `mode` as mkdir has it. */
vta_status vta_folder_make(const char *path, unsigned mode, vta_diag *diag);

/* Holds the numbers 0 to 2 where the program was started without standard input, output or error: a file that
 * it opens would get the number otherwise, and what it prints would go there. Reads of such an input and
 * writes to such an output fail as they did (EBADF). The first call of main(); returns 0 or errno. */
int vta_standard_hold(void);

#ifdef __cplusplus
}
#endif
#endif
