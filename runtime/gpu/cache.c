/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of programs that drivers have built.
 */
#include "cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vta/cache.h"
#include "vta/file.h"
#include "vta/hash.h"

enum { MAX_FILES = 200, MAX_BYTES = 1 << 28, MAX_PATH = 4096 };
#define MAGIC UINT64_C(0x314e4942414b5456) /* "VTKABIN1" */
static const char ending[] = ".kernels";

/* Before the driver's words and the program. */
typedef struct header {
    uint64_t magic, text_hash, text_bytes, driver_bytes, hash, bytes; /* the last two: of the program */
} header;

static uint64_t hash_of(const void *bytes, size_t size)
{
    return vta_hash_bytes(VTA_HASH_START, bytes, size);
}

static bool find_folder(char *folder)
{
    char *name = NULL;
    const bool found = vta_cache_name("kernels", &name, NULL) == VTA_OK && strlen(name) < MAX_PATH &&
                       vta_cache_make(name, NULL) == VTA_OK;
    if (found) {
        memcpy(folder, name, strlen(name) + 1);
    }
    free(name);
    return found;
}

bool vta_gpu_cache_is_there(void)
{
    char folder[MAX_PATH];
    return find_folder(folder);
}

/* The file of a program; false: there is no folder for it. */
static bool find_path(const char *driver, const char *text, char *path, size_t room)
{
    char folder[MAX_PATH];
    const uint64_t hash = vta_hash_bytes(hash_of(driver, strlen(driver)), text, strlen(text));
    return find_folder(folder) &&
           snprintf(path, room, "%s/%016" PRIx64 "%s", folder, hash, ending) < (int)room;
}

static bool is_whole(const uint8_t *file, size_t size, const char *driver, const char *text, header *out)
{
    const size_t driver_bytes = strlen(driver);
    if (size < sizeof *out + driver_bytes) {
        return false;
    }
    memcpy(out, file, sizeof *out);
    const uint8_t *program = file + sizeof *out + driver_bytes;
    return out->magic == MAGIC && out->driver_bytes == driver_bytes && out->text_bytes == strlen(text) &&
           out->bytes == size - sizeof *out - driver_bytes && out->text_hash == hash_of(text, strlen(text)) &&
           memcmp(file + sizeof *out, driver, driver_bytes) == 0 &&
           out->hash == hash_of(program, (size_t)out->bytes);
}

bool vta_gpu_cache_read(const char *driver, const char *text, uint8_t **bytes, size_t *size)
{
    char path[MAX_PATH + 64];
    header head;
    uint8_t *file = NULL;
    size_t file_size = 0;
    *bytes = NULL;
    if (!find_path(driver, text, path, sizeof path) ||
        vta_file_read(path, MAX_BYTES, &file, &file_size, NULL) != VTA_OK) {
        return false;
    }
    if (is_whole(file, file_size, driver, text, &head)) {
        *size = (size_t)head.bytes;
        *bytes = malloc(*size + 1);
    }
    if (*bytes != NULL) {
        memcpy(*bytes, file + sizeof head + head.driver_bytes, *size);
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now */
    }
    free(file);
    return *bytes != NULL;
}

static bool is_ours(const char *name)
{
    const size_t size = strlen(name);
    return size > sizeof ending - 1 && strcmp(name + size - (sizeof ending - 1), ending) == 0;
}

/* The file that was used longest ago; returns how many there are. */
static unsigned find_oldest(const char *folder, char *oldest, size_t room)
{
    time_t when = 0;
    unsigned count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL;
         entry = readdir(entries)) {
        char path[MAX_PATH + 300];
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!is_ours(entry->d_name) || stat(path, &info) != 0) {
            continue;
        }
        if (count++ == 0 || info.st_mtime < when) {
            when = info.st_mtime;
            (void)snprintf(oldest, room, "%s", path);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return count;
}

static void trim(void)
{
    char folder[MAX_PATH];
    char oldest[MAX_PATH + 300];
    while (find_folder(folder) && find_oldest(folder, oldest, sizeof oldest) > MAX_FILES &&
           unlink(oldest) == 0) {
    }
}

void vta_gpu_cache_write(const char *driver, const char *text, const void *bytes, size_t size)
{
    char path[MAX_PATH + 64];
    vta_writer writer = {0};
    const header head = {.magic = MAGIC,
                         .text_hash = hash_of(text, strlen(text)),
                         .text_bytes = strlen(text),
                         .driver_bytes = strlen(driver),
                         .hash = hash_of(bytes, size),
                         .bytes = size};
    if (size == 0 || size > MAX_BYTES / 2 || !find_path(driver, text, path, sizeof path) ||
        vta_writer_open(path, &writer, NULL) != VTA_OK) {
        vta_writer_drop(&writer);
        return;
    }
    vta_writer_put(&writer, &head, sizeof head);
    vta_writer_put(&writer, driver, strlen(driver));
    vta_writer_put(&writer, bytes, size);
    (void)vta_writer_close(&writer, NULL);
    trim();
}

void vta_gpu_cache_drop(const char *driver, const char *text)
{
    char path[MAX_PATH + 64];
    if (find_path(driver, text, path, sizeof path)) {
        (void)unlink(path);
    }
}
