/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache between the host's programs and the memory of a virtual board.
 *
 * The host's stores go straight into the file that it has mapped, and nothing tells us of them. So a line
 * counts as dirty when its bytes are no longer those that it had when it was last the same as memory. A store
 * of the value that was there goes unseen until the line is cleaned: cleaning writes back whatever differs
 * from memory, so that what the host cleared is clear there, too.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

enum { LINE = 64, PAGE = 4096, LINES_A_PAGE = PAGE / LINE, STIRRED_PAGES = 32 };

typedef uint64_t word;

static bool is_coherent(const cli_board_cache *c)
{
    return c->host == c->device;
}

static bool is_dirty(const cli_board_cache *c, uint64_t at)
{
    return memcmp(c->host + at, c->shared + at, LINE) != 0;
}

/* The whole line goes, with the bytes that the host has not touched. */
static void write_back(cli_board_cache *c, uint64_t at)
{
    memcpy(c->shared + at, c->host + at, LINE);
    memcpy(c->device + at, c->shared + at, LINE);
}

/* The host may store into the line at this moment: a word changes only if it still is what it was. */
static void fetch_line(cli_board_cache *c, uint64_t at)
{
    for (uint64_t i = at; i < at + LINE; i += sizeof(word)) {
        word old;
        word new;
        memcpy(&old, c->shared + i, sizeof old);
        memcpy(&new, c->device + i, sizeof new);
        if (atomic_compare_exchange_strong((_Atomic word *)(void *)(c->host + i), &old, new)) {
            memcpy(c->shared + i, &new, sizeof new);
        }
    }
}

/* xorshift64*: enough to choose lines. */
static uint64_t next_random(cli_board_cache *c)
{
    c->random ^= c->random >> 12;
    c->random ^= c->random << 25;
    c->random ^= c->random >> 27;
    return c->random * UINT64_C(2685821657736338717);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the cache writes to both */
vta_status cli_board_cache_make(cli_board_cache *c, uint8_t *host, uint8_t *device, uint64_t bytes,
                                vta_diag *diag)
{
    *c = (cli_board_cache){.host = host, .device = device, .bytes = bytes, .random = 1};
    if (is_coherent(c)) {
        return VTA_OK;
    }
    c->shared = calloc(1, (size_t)bytes);
    c->pages = calloc((size_t)(bytes / PAGE) + 1, sizeof *c->pages);
    c->is_used = calloc(1, (size_t)(bytes / PAGE) + 1);
    return c->shared != NULL && c->pages != NULL && c->is_used != NULL
               ? VTA_OK
               : vta_fail(diag, VTA_NOMEM, "no memory for the cache of %llu bytes",
                          (unsigned long long)bytes);
}

void cli_board_cache_free(cli_board_cache *c)
{
    free(c->shared);
    free(c->pages);
    free(c->is_used);
    *c = (cli_board_cache){0};
}

/* The lines that a range touches; false: there are none, or it is not in the memory. */
static bool lines_of(const cli_board_cache *c, uint64_t offset, uint64_t size, uint64_t *begin, uint64_t *end)
{
    if (is_coherent(c) || size == 0 || offset > c->bytes || size > c->bytes - offset) {
        return false;
    }
    *begin = offset / LINE * LINE;
    *end = (offset + size + LINE - 1) / LINE * LINE;
    return true;
}

static void use_pages(cli_board_cache *c, uint64_t begin, uint64_t end)
{
    for (uint64_t page = begin / PAGE; page <= (end - 1) / PAGE; page++) {
        if (c->is_used[page] == 0) {
            c->is_used[page] = 1;
            c->pages[c->page_count++] = (uint32_t)page;
        }
    }
}

void cli_board_cache_clean(cli_board_cache *c, uint64_t offset, uint64_t size)
{
    uint64_t begin;
    uint64_t end;
    if (!lines_of(c, offset, size, &begin, &end)) {
        return;
    }
    use_pages(c, begin, end);
    for (uint64_t at = begin; at < end; at += LINE) {
        if (memcmp(c->host + at, c->device + at, LINE) != 0 || is_dirty(c, at)) {
            write_back(c, at);
        }
    }
}

void cli_board_cache_invalidate(cli_board_cache *c, uint64_t offset, uint64_t size)
{
    uint64_t begin;
    uint64_t end;
    if (!lines_of(c, offset, size, &begin, &end)) {
        return;
    }
    use_pages(c, begin, end);
    memcpy(c->shared + begin, c->device + begin, (size_t)(end - begin));
    memcpy(c->host + begin, c->shared + begin, (size_t)(end - begin));
}

void cli_board_cache_stir(cli_board_cache *c)
{
    for (uint32_t i = 0; i < STIRRED_PAGES && c->page_count > 0; i++) {
        const uint64_t page = (uint64_t)c->pages[next_random(c) % c->page_count] * PAGE;
        uint64_t which = next_random(c); /* one bit a line of the page */
        for (uint32_t line = 0; line < LINES_A_PAGE; line++, which >>= 1) {
            const uint64_t at = page + (uint64_t)line * LINE;
            if ((which & 1) == 0) {
                continue;
            }
            if (is_dirty(c, at)) {
                write_back(c, at);
            } else {
                fetch_line(c, at);
            }
        }
    }
}
