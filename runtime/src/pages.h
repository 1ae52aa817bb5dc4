/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in huge pages, for what each run reads and writes from end to end. A processor remembers where some
 * thousand pages lie; of pages of 4 KiB that is less than a network of many megabytes has, so that each of
 * them costs a walk through tables.
 */
#ifndef VTA_PAGES_H
#define VTA_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vta_pages {
    void *at; /* NULL: none */
    size_t bytes;
} vta_pages;

/* At least so many zeros. False where Linux has no such pages ("transparent huge pages") or refuses them, the
 * bytes are few or more than half of what the machine has left, or VTA_HUGE_PAGES is 0: ordinary memory will
 * do then. */
bool vta_pages_take(uint64_t bytes, vta_pages *out);
void vta_pages_give(vta_pages *pages);

#endif
