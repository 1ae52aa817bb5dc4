/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of files are small, so the constants of a large model get a copy in huge pages (pages.h). What they
 * took before is given back as the copy grows.
 */
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "library.h"

enum { PART = 2 << 20 }; /* more than is there twice at a time */

typedef struct place {
    uintptr_t address;
    uint64_t in_file;
    bool known;
} place;

/* Stops at the object that holds the address, and finds the address's offset in the object's file. */
static int find(struct dl_phdr_info *object, size_t size, void *context)
{
    place *p = context;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t begin = (uintptr_t)object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && p->address >= begin && p->address - begin < part->p_filesz) {
            p->in_file = part->p_offset + (p->address - begin);
            p->known = true;
        }
    }
    return p->known ? 1 : 0;
}

/* Gives back the file's whole pages among constants that will not be read again: a part of them, after those
 * before it. */
static void forget(const vta_library *library, const place *p, size_t offset, size_t bytes)
{
    union {
        uintptr_t number;
        void *pointer;
    } first;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = p->address + offset;
    const uintptr_t end = (begin + bytes) / page * page;
    first.number = (begin + (offset == 0 ? page - 1 : 0)) / page * page;
    if (!p->known || end <= first.number) {
        return;
    }
    (void)madvise(first.pointer, end - first.number, MADV_DONTNEED);
    if (library->copy >= 0) { /* a file that nobody else has */
        const off_t from = (off_t)(p->in_file + (first.number - p->address));
        (void)fallocate(library->copy, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
                        (off_t)(end - first.number));
    }
}

const void *vta_library_constants(vta_library *library, const void *constants, uint64_t bytes)
{
    place p = {.address = (uintptr_t)constants};
    if (library->handle == NULL || !vta_pages_take(bytes, &library->pages)) {
        return constants;
    }
    (void)dl_iterate_phdr(find, &p);
    for (size_t i = 0; i < bytes; i += PART) {
        const size_t part = bytes - i < PART ? (size_t)bytes - i : PART;
        memcpy((uint8_t *)library->pages.at + i, (const uint8_t *)constants + i, part);
        forget(library, &p, i, part);
    }
    (void)mprotect(library->pages.at, library->pages.bytes, PROT_READ);
    return library->pages.at;
}
