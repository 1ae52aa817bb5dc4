/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of work in which somebody else has written: the leader takes each result once or not at all,
 * whatever lies there, and ends when it is told to.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "temporary.h"
#include "vta/hash.h"
#include "vtac/work.h"

enum { PIECES = 3 };
static char top[TEMPORARY_PATH];
static const char *const pieces[PIECES] = {"one", "two 2", ""};
static const char *const folders[] = {"pieces", "claims", "results", "log"};

typedef struct tally {
    uint32_t done[PIECES];
    vtac_work *work;
} tally;

static void remove_below(int folder)
{
    DIR *entries = fdopendir(folder);
    for (struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL;
         entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(entries), entry->d_name, 0) != 0) {
            const int inner = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
            if (inner >= 0) {
                remove_below(inner);
            }
            (void)unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

static void empty_folder(void)
{
    const int folder = open(top, O_RDONLY | O_DIRECTORY);
    if (folder >= 0) {
        remove_below(folder);
    }
}

static void remove_folder(void)
{
    empty_folder();
    (void)rmdir(top);
}

static void set_up(void)
{
    if (top[0] == '\0') {
        FUZZ_REQUIRE(temporary_folder(top));
        (void)atexit(remove_folder);
    }
    empty_folder();
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[TEMPORARY_PATH + 16];
        (void)snprintf(path, sizeof path, "%s/%s", top, folders[i]);
        (void)mkdir(path, 0700);
    }
}

static void write_entry(const char *path, uint8_t kind, const uint8_t *bytes, size_t size, const char *piece)
{
    char line[64];
    const int length = snprintf(line, sizeof line, "ok 1.5 %016llx\n",
                                (unsigned long long)vta_hash_text(VTA_HASH_START, piece));
    if (kind == 1) {
        (void)mkfifo(path, 0600);
    } else if (kind == 2) {
        (void)mkdir(path, 0700);
    } else if (kind == 3) {
        (void)!symlink("/dev/zero", path);
    } else {
        const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (file >= 0) {
            (void)!write(file, line, kind == 4 ? (size_t)length : 0);
            (void)!write(file, bytes, size);
            (void)close(file);
        }
    }
}

/* Records of a folder, a kind, a number, a length, and as many bytes. */
static void write_entries(const uint8_t *data, size_t size)
{
    while (size >= 4) {
        char path[TEMPORARY_PATH + 48];
        const uint32_t number = data[2] % (PIECES + 1);
        const size_t length = data[3] < size - 4 ? data[3] : size - 4;
        if (data[0] % 5 == 4) {
            (void)snprintf(path, sizeof path, "%s/%s", top, data[2] % 2 != 0 ? "beat" : "end");
        } else {
            (void)snprintf(path, sizeof path, "%s/%s/%08u", top, folders[data[0] % 5], number);
        }
        write_entry(path, data[1] % 6, data + 4, length, number < PIECES ? pieces[number] : "");
        data += 4 + length;
        size -= 4 + length;
    }
}

static vta_status answer(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    (void)context;
    (void)diag;
    vta_str_put(result, piece);
    return VTA_OK;
}

static void count(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    tally *t = context;
    (void)seconds;
    FUZZ_REQUIRE(number < PIECES && (result == NULL) != (why == NULL));
    FUZZ_REQUIRE(strlen(result != NULL ? result : why) < 4096);
    t->done[number]++;
}

void fuzz_input(const uint8_t *data, size_t size)
{
    tally t = {{0}, NULL};
    vta_diag diag = {0};
    set_up();
    write_entries(data, size);
    const vtac_work_options options = {
        .engine = VTAC_WORK_FOLDER, .folder = top, .key = "fuzz", .stale_s = 0.01, .tries = 1};
    const vta_status opened = vtac_work_open(&options, answer, NULL, &t.work, &diag);
    FUZZ_REQUIRE((opened == VTA_OK) == (diag.text[0] == '\0'));
    if (opened == VTA_OK) {
        vtac_work_stop(t.work); /* no worker will come: what lies there is all that there is */
        const vta_status status = vtac_work_run(t.work, pieces, PIECES, count, &t, &diag);
        FUZZ_REQUIRE((status == VTA_OK) == (diag.text[0] == '\0'));
        for (uint32_t i = 0; i < PIECES; i++) {
            FUZZ_REQUIRE(t.done[i] <= 1 && (status != VTA_OK || t.done[i] == 1));
        }
        vtac_work_close(t.work);
    }
}
