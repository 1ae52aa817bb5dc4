/* SPDX-License-Identifier: Apache-2.0
 *
 * Contiguous memory, shared out among processes: a range is the process's that holds a lock on
 * the same bytes of the node. Nothing is written down anywhere, so nothing is left when a process is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "uio.h"
#include "vta/number.h"
#include "vta/vec.h"

enum { PAGE = 4096, LINE = 64 };

/* ---- opening */

static vta_status cannot_map(const uio_memory *m, vta_diag *diag)
{
    return vta_fail(diag, VTA_IO, "cannot map %llu bytes of '%s': %s", (unsigned long long)m->node.bytes,
                    m->node.node, strerror(errno));
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

static int open_sync(const uio_memory_node *node, const char *file)
{
    char path[UIO_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/%s", node->sys, file);
    return open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
}

/* A map of UIO is no memory to a processor: accesses across a word's border fault, and none is cached. So
 * programs get memory of their own, and what is synced is copied word by word. */
static vta_status open_copied(uio_memory *m, vta_diag *diag)
{
    VTA_TRY(vta_uio_open_node(m->node.node, O_RDWR, &m->fd, diag));
    void *mapped =
        mmap(NULL, (size_t)m->node.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, (off_t)m->node.at);
    if (mapped != MAP_FAILED) {
        m->device = mapped;
        mapped = mmap(NULL, (size_t)m->node.bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (mapped == MAP_FAILED) {
        return cannot_map(m, diag);
    }
    m->host = mapped;
    return VTA_OK;
}

/* Cached memory with the kernel's help; without the right to ask for it, memory that is not cached. */
static vta_status open_parts(uio_memory *m, vta_diag *diag)
{
    char path[UIO_PATH + 32];
    VTA_TRY(vta_uio_open_node(m->node.node, O_RDWR, &m->fd, diag));
    if (!m->node.coherent) {
        m->sync_cpu = open_sync(&m->node, "sync_for_cpu");
        m->sync_device = open_sync(&m->node, "sync_for_device");
    }
    if (vta_uio_is_virtual(m->fd) && m->sync_cpu >= 0) {
        (void)snprintf(path, sizeof path, "%s/sync_done", m->node.sys);
        VTA_TRY(vta_uio_open_node(path, O_RDWR | O_NONBLOCK, &m->sync_done, diag));
    } else if (!m->node.coherent && (m->sync_cpu < 0 || m->sync_device < 0)) {
        close_fd(&m->sync_cpu);
        close_fd(&m->sync_device);
        close_fd(&m->fd);
        VTA_TRY(vta_uio_open_node(m->node.node, O_RDWR | O_SYNC, &m->fd, diag));
    }
    void *mapped = mmap(NULL, (size_t)m->node.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (mapped == MAP_FAILED) {
        return cannot_map(m, diag);
    }
    m->host = mapped;
    return VTA_OK;
}

vta_status vta_uio_memory_open(const uio_memory_node *node, uio_memory *out, vta_diag *diag)
{
    *out = (uio_memory){.node = *node, .fd = -1, .sync_cpu = -1, .sync_device = -1, .sync_done = -1};
    const vta_status status = node->copied ? open_copied(out, diag) : open_parts(out, diag);
    if (status != VTA_OK) {
        vta_uio_memory_close(out);
    }
    return status;
}

void vta_uio_memory_close(uio_memory *m)
{
    if (m->host != NULL) {
        (void)munmap(m->host, (size_t)m->node.bytes);
    }
    if (m->device != NULL) {
        (void)munmap((void *)(uintptr_t)m->device, (size_t)m->node.bytes);
    }
    close_fd(&m->sync_done);
    close_fd(&m->sync_cpu);
    close_fd(&m->sync_device);
    close_fd(&m->fd); /* and with it all locks */
    free(m->own);
    *m = (uio_memory){.fd = -1, .sync_cpu = -1, .sync_device = -1, .sync_done = -1};
}

/* ---- ranges */

/* The first range in [begin, end) that somebody has, ours or another's; false: all of it is free. */
static bool first_taken(const uio_memory *m, uint64_t begin, uint64_t end, uio_range *out)
{
    uint64_t first;
    uint64_t last;
    uint64_t limit = end;
    bool found = false;
    for (size_t i = 0; i < m->own_count && !found; i++) {
        if (m->own[i].offset < end && m->own[i].offset + m->own[i].bytes > begin) {
            *out = m->own[i];
            limit = m->own[i].offset;
            found = true;
        }
    }
    /* The kernel names any conflict: look again in front of it until there is none. */
    while (limit > begin && vta_uio_lock_conflict(m->fd, m->node.at + begin, limit - begin, &first, &last)) {
        first -= m->node.at;
        last -= m->node.at;
        *out = (uio_range){first, last - first};
        limit = first > begin ? first : begin;
        found = true;
    }
    return found;
}

/* Visits the free pieces in order until `visit` says that one will do. */
static bool each_piece(const uio_memory *m, bool (*visit)(void *context, uint64_t offset, uint64_t bytes),
                       void *context)
{
    for (uint64_t at = 0; at < m->node.bytes;) {
        uio_range taken = {m->node.bytes, 0};
        (void)first_taken(m, at, m->node.bytes, &taken);
        if (taken.offset > at && visit(context, at, taken.offset - at)) {
            return true;
        }
        at = vta_round_up_u(taken.offset + taken.bytes > at ? taken.offset + taken.bytes : at + 1, PAGE);
    }
    return false;
}

typedef struct search {
    int fd;
    uint64_t at, bytes, offset;
} search;

/* Another process may be quicker; then the next piece is looked at. */
static bool take_piece(void *context, uint64_t offset, uint64_t bytes)
{
    search *s = context;
    s->offset = offset;
    return bytes >= s->bytes && vta_uio_lock(s->fd, s->at + offset, s->bytes);
}

bool vta_uio_memory_take(uio_memory *m, uint64_t bytes, uint64_t *offset)
{
    search s = {.fd = m->fd, .at = m->node.at, .bytes = vta_round_up_u(bytes, PAGE)};
    uio_range *grown = vta_grow(m->own, &m->own_capacity, m->own_count + 1, sizeof *grown);
    m->own = grown != NULL ? grown : m->own;
    if (grown == NULL || bytes > m->node.bytes || !each_piece(m, take_piece, &s)) {
        return false;
    }
    size_t i = m->own_count++;
    for (; i > 0 && m->own[i - 1].offset > s.offset; i--) {
        m->own[i] = m->own[i - 1];
    }
    m->own[i] = (uio_range){s.offset, s.bytes};
    *offset = s.offset;
    return true;
}

void vta_uio_memory_give(uio_memory *m, uint64_t offset)
{
    for (size_t i = 0; i < m->own_count; i++) {
        if (m->own[i].offset == offset) {
            vta_uio_unlock(m->fd, m->node.at + offset, m->own[i].bytes);
            memmove(&m->own[i], &m->own[i + 1], (--m->own_count - i) * sizeof *m->own);
            return;
        }
    }
}

typedef struct sum {
    uint64_t all, piece;
} sum;

static bool add_piece(void *context, uint64_t offset, uint64_t bytes)
{
    sum *s = context;
    (void)offset;
    s->all += bytes;
    s->piece = bytes > s->piece ? bytes : s->piece;
    return false;
}

void vta_uio_memory_left(const uio_memory *m, uint64_t *all, uint64_t *piece)
{
    sum s = {0};
    (void)each_piece(m, add_piece, &s);
    *all = s.all;
    *piece = s.piece;
}

/* ---- caches */

/* The kernel's answer is that the write returns; a virtual board's is an echo, for one process at a time. */
static void sync_virtual(const uio_memory *m, int fd, const char *text, size_t size)
{
    enum { DONE_MS = 10000 };
    const struct timespec pause = {.tv_nsec = 50000};
    struct pollfd slot = {.fd = m->sync_done, .events = POLLIN};
    char echo[32];
    while (!vta_uio_lock(m->fd, m->node.bytes, 1)) {
        (void)nanosleep(&pause, NULL);
    }
    while (read(m->sync_done, echo, size) > 0) { /* of one who did not wait for it, since he was killed */
    }
    bool done = write(fd, text, size) != (ssize_t)size;
    while (!done && poll(&slot, 1, DONE_MS) == 1) {
        done = read(m->sync_done, echo, size) != (ssize_t)size || memcmp(echo, text, size) == 0;
    }
    vta_uio_unlock(m->fd, m->node.bytes, 1);
}

/* Whole words that hold the range, one access each. */
static void copy_words(const uio_memory *m, uint64_t offset, uint64_t bytes, bool for_device)
{
    uint32_t *host = (void *)m->host;
    const size_t end = (size_t)((offset + bytes + sizeof *host - 1) / sizeof *host);
    for (size_t i = (size_t)(offset / sizeof *host); i < end; i++) {
        if (for_device) {
            m->device[i] = host[i];
        } else {
            host[i] = m->device[i];
        }
    }
}

/* One write says it all: offset, size in lines, direction (to the device, or from it), do it now. */
void vta_uio_memory_sync(const uio_memory *m, uint64_t offset, uint64_t bytes, bool for_device)
{
    enum { TO_DEVICE = 1 << 2, FROM_DEVICE = 2 << 2, NOW = 1 };
    const int fd = for_device ? m->sync_device : m->sync_cpu;
    const uint64_t begin = offset / LINE * LINE;
    const uint64_t end = (offset + bytes + LINE - 1) / LINE * LINE;
    char text[32];
    if (m->device != NULL) {
        copy_words(m, offset, bytes, for_device);
        return;
    }
    if (fd < 0) {
        return;
    }
    const int size = snprintf(text, sizeof text, "0x%08X%08X\n", (unsigned)begin,
                              (unsigned)(end - begin) | (for_device ? TO_DEVICE : FROM_DEVICE) | NOW);
    if (m->sync_done >= 0) {
        sync_virtual(m, fd, text, (size_t)size);
    } else if (pwrite(fd, text, (size_t)size, 0) < 0) {
        return; /* the run that follows shows stale data; there is nothing better to do */
    }
}
