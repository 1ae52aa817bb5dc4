/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames over two file descriptors. No descriptor is made non-blocking, since it may be shared: reads follow
 * a poll, and writes are pieces that a pipe takes at once when a poll says so.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vta/clock.h"
#include "vta/untrusted.h"
#include "vta/vec.h"
#include "vta/wire.h"

static const uint8_t magic[4] = {'V', 'T', 'A', 'F'};

/* CRC-32 (IEEE 802.3, reflected), a nibble at a time: a table that needs no setting up. */
static uint32_t crc(uint32_t sum, const uint8_t *bytes, size_t size)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    }
    return sum;
}

static uint32_t checksum(const uint8_t *header, const uint8_t *content, size_t size)
{
    return ~crc(crc(~0U, header, VTA_WIRE_HEADER - 4), content, size);
}

static uint32_t word_at(const uint8_t *bytes)
{
    vta_content in = {bytes, bytes + 4, false};
    return vta_get_u32(&in);
}

void vta_channel_init(vta_channel *channel, int in, int out, double patience_s)
{
    *channel = (vta_channel){.in = in, .out = out, .patience_s = patience_s, .heard = vta_now()};
}

void vta_channel_free(vta_channel *channel)
{
    free(channel->buffer);
    *channel = (vta_channel){.in = -1, .out = -1};
}

/* ---- sending */

/* 1: the descriptor is ready, or broken, which a read or write will tell; 0: not within `seconds`. */
static int ready(int fd, short events, double seconds)
{
    struct pollfd slot = {.fd = fd, .events = events};
    const double end = vta_now() + seconds;
    for (;;) {
        const double left = end - vta_now();
        const int got = poll(&slot, 1, left <= 0 ? 0 : (int)(left * 1e3) + 1);
        if (got != 0 && !(got < 0 && errno == EINTR)) {
            return 1;
        }
        if (left <= 0) {
            return 0;
        }
    }
}

static vta_status write_pieces(const vta_channel *channel, const void *bytes, size_t size, vta_diag *diag)
{
    enum { PIECE = 4096 <= PIPE_BUF ? PIPE_BUF : 512 };
    const uint8_t *at = bytes;
    while (size > 0) {
        if (!ready(channel->out, POLLOUT, channel->patience_s)) {
            return vta_fail(diag, VTA_TIMEOUT, "the other side has taken nothing for %g s",
                            channel->patience_s);
        }
        const ssize_t wrote = write(channel->out, at, size < PIECE ? size : PIECE);
        if (wrote < 0 && errno != EINTR && errno != EAGAIN) {
            return vta_fail(diag, VTA_IO, errno == EPIPE ? "the other side has closed the connection" : "%s",
                            strerror(errno));
        }
        at += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return VTA_OK;
}

/* A write to a pipe that nobody reads any more is a signal to the thread that writes, and by default the end
 * of its process, which may not be ours: it waits meanwhile and is taken back. */
static vta_status write_all(const vta_channel *channel, const void *bytes, size_t size, vta_diag *diag)
{
    const struct timespec at_once = {0};
    sigset_t broken, was, pending;
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &broken, &was);
    const bool before = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    const vta_status status = write_pieces(channel, bytes, size, diag);
    if (status == VTA_IO && !before) {
        while (sigtimedwait(&broken, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &was, NULL);
    return status;
}

vta_status vta_channel_send(vta_channel *channel, vta_wire_kind kind, uint32_t id, const vta_str *content,
                            vta_diag *diag)
{
    const size_t size = content != NULL ? content->size : 0;
    if ((content != NULL && content->failed) || size > VTA_WIRE_MAX) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a frame, or more than %d bytes in it", VTA_WIRE_MAX);
    }
    vta_str frame = {0};
    vta_str_append(&frame, magic, sizeof magic);
    vta_put_u32(&frame, (uint32_t)kind & 0xffff);
    vta_put_u32(&frame, id);
    vta_put_u32(&frame, (uint32_t)size);
    if (!frame.failed) {
        const void *bytes = size > 0 ? content->text : "";
        vta_put_u32(&frame, checksum((const uint8_t *)frame.text, bytes, size));
        vta_str_append(&frame, bytes, size);
    }
    const vta_status status = frame.failed ? vta_fail(diag, VTA_NOMEM, "no memory for a frame")
                                           : write_all(channel, frame.text, frame.size, diag);
    vta_str_free(&frame);
    return status;
}

/* ---- receiving */

/* Reports bytes that are no frame with their first words: most often they are the greeting of a login shell.
 */
static vta_status no_frame(const vta_channel *channel, vta_diag *diag)
{
    char text[64];
    (void)vta_make_plain((const char *)channel->buffer, channel->filled, text, sizeof text);
    return vta_fail(diag, VTA_PROTOCOL,
                    "the other side sends '%s', which is not the protocol of vtac-agent; its login shell "
                    "must be silent",
                    text);
}

/* Number of bytes of the arriving frame that are needed next: its header, then the whole frame. */
static vta_status wanted(const vta_channel *channel, size_t *out, vta_diag *diag)
{
    const size_t known = channel->filled < sizeof magic ? channel->filled : sizeof magic;
    *out = VTA_WIRE_HEADER;
    if (known > 0 && memcmp(channel->buffer, magic, known) != 0) {
        return no_frame(channel, diag);
    }
    if (channel->filled >= VTA_WIRE_HEADER) {
        const uint32_t size = word_at(channel->buffer + 12);
        if (size > VTA_WIRE_MAX) {
            return vta_fail(diag, VTA_PROTOCOL, "a frame of %u bytes arrives; at most %d are allowed", size,
                            VTA_WIRE_MAX);
        }
        *out += size;
    }
    return VTA_OK;
}

/* Some bytes of what is wanted. */
static vta_status fill(vta_channel *channel, size_t want, vta_diag *diag)
{
    uint8_t *grown = vta_grow(channel->buffer, &channel->capacity, want, 1);
    if (grown == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a frame of %zu bytes", want);
    }
    channel->buffer = grown;
    const ssize_t got = read(channel->in, grown + channel->filled, want - channel->filled);
    if (got < 0) {
        return errno == EINTR || errno == EAGAIN ? VTA_OK : vta_fail(diag, VTA_IO, "%s", strerror(errno));
    }
    if (got == 0) {
        if (channel->filled > 0 && channel->filled < sizeof magic) {
            return no_frame(channel, diag);
        }
        return vta_fail(diag, VTA_IO, "the other side has closed the connection%s",
                        channel->filled > 0 ? " in the middle of a frame" : "");
    }
    channel->filled += (size_t)got;
    channel->heard = vta_now();
    return VTA_OK;
}

static vta_status deliver(vta_channel *channel, vta_frame *out, vta_diag *diag)
{
    const uint8_t *header = channel->buffer;
    const uint8_t *content = header + VTA_WIRE_HEADER;
    const size_t size = channel->filled - VTA_WIRE_HEADER;
    channel->filled = 0;
    if (word_at(header + 16) != checksum(header, content, size)) {
        return vta_fail(diag, VTA_PROTOCOL, "a frame arrives damaged (its checksum differs)");
    }
    *out = (vta_frame){.kind = word_at(header + 4), .id = word_at(header + 8)};
    out->content = (vta_content){content, content + size, false};
    return VTA_OK;
}

vta_status vta_channel_receive(vta_channel *channel, double wait_s, vta_frame *out, vta_diag *diag)
{
    const double end = vta_now() + wait_s;
    for (;;) {
        size_t want;
        VTA_TRY(wanted(channel, &want, diag));
        if (channel->filled == want) {
            return deliver(channel, out, diag);
        }
        const double left = end - vta_now();
        if (!ready(channel->in, POLLIN, left > 0 ? left : 0)) {
            return VTA_TIMEOUT;
        }
        VTA_TRY(fill(channel, want, diag));
    }
}
