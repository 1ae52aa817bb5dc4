/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vta/room.h"

enum { MIN_BYTES = 4 << 20 };

#define SETTINGS "/sys/kernel/mm/transparent_hugepage/"

/* The first line of a small file; empty where there is none. */
static void read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(line, size, file) == NULL) {
        line[0] = '\0';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* Bytes of a huge page; 0: the system gives none. */
static size_t page_bytes(void)
{
    char line[128];
    read_line(SETTINGS "enabled", line, sizeof line);
    if (line[0] == '\0' || strstr(line, "[never]") != NULL) {
        return 0;
    }
    read_line(SETTINGS "hpage_pmd_size", line, sizeof line);
    const unsigned long long bytes = strtoull(line, NULL, 10);
    return bytes <= SIZE_MAX / 4 && (bytes & (bytes - 1)) == 0 ? (size_t)bytes : 0;
}

/* True where so many addresses may be taken: with 32 bits they are as scarce as memory. */
static bool may_take(uint64_t bytes, size_t page)
{
    const char *wanted = getenv("VTA_HUGE_PAGES");
    return sizeof(void *) > 4 && (wanted == NULL || strcmp(wanted, "0") != 0) && page != 0 &&
           bytes >= MIN_BYTES && bytes / 2 >= page && bytes <= vta_room_available() / 2;
}

bool vta_pages_take(uint64_t bytes, vta_pages *out)
{
    *out = (vta_pages){0};
    const size_t page = bytes >= MIN_BYTES ? page_bytes() : 0;
    if (!may_take(bytes, page)) {
        return false;
    }
    const size_t size = ((size_t)bytes + page - 1) / page * page;
    uint8_t *all = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        return false;
    }
    const size_t before = (page - (uintptr_t)all % page) % page;
    *out = (vta_pages){.at = all + before, .bytes = size};
    if (before > 0) {
        (void)munmap(all, before);
    }
    (void)munmap(all + before + size, page - before);
    if (madvise(out->at, size, MADV_HUGEPAGE) != 0) {
        vta_pages_give(out);
    }
    return out->at != NULL;
}

void vta_pages_give(vta_pages *pages)
{
    if (pages->at != NULL) {
        (void)munmap(pages->at, pages->bytes);
    }
    *pages = (vta_pages){0};
}
