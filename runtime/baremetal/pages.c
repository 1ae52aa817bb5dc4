/* SPDX-License-Identifier: Apache-2.0
 *
 * No huge pages: without an operating system there are none, and the memory of small boards is not for them.
 */
#include "../src/pages.h"
#include "../src/library.h"

const void *vta_library_constants(vta_library *library, const void *constants, uint64_t bytes)
{
    (void)library;
    (void)bytes;
    return constants;
}

bool vta_pages_take(uint64_t bytes, vta_pages *out)
{
    (void)bytes;
    *out = (vta_pages){0};
    return false;
}

void vta_pages_give(vta_pages *pages)
{
    (void)pages;
}
