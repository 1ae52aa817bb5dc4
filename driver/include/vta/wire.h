/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client and vtac-agent say to each other: frames over two file descriptors, and how numbers and texts
 * are packed into them. Both sides treat the other as hostile: every size is bounded before it is used, every
 * frame has a checksum, every wait an end.
 *
 * A frame is a header of 20 bytes, little endian, and its content:
 *
 *   0 magic "VTAF"   4 kind (u16)   6 zero (u16)   8 id   12 size of the content   16 CRC-32 of all the rest
 */
#ifndef VTA_WIRE_H
#define VTA_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"
#include "vta/str.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VTA_WIRE_PROTOCOL = 1,
    VTA_WIRE_HEADER = 20,
    VTA_WIRE_MAX = 1 << 20,               /* bytes of content in a frame */
    VTA_WIRE_CHUNK = VTA_WIRE_MAX - 1024, /* bytes of data in a frame, beside what says where they belong */
    VTA_WIRE_TEXT = 1 << 14               /* longest text, a configuration for instance */
};

typedef enum vta_wire_kind {
#define VTA_WIRE(name, number, doc) VTA_WIRE_##name = (number),
#include "vta/wire.def"
} vta_wire_kind;

/* "OPEN"; "?" for a number that is no kind. */
const char *vta_wire_name(uint32_t kind);

/* The release of this software, as the handshake tells it. */
const char *vta_wire_release(void);

/* Processor of this machine, in the handshake's words: "x86-64", "aarch64", "arm", "riscv64". */
const char *vta_wire_machine(void);

/* ---- content: appended to a vta_str, whose sticky failure is looked at when it is sent */

void vta_put_u32(vta_str *out, uint32_t value);
void vta_put_u64(vta_str *out, uint64_t value);
void vta_put_f64(vta_str *out, double value);
void vta_put_text(vta_str *out, const char *text);
void vta_put_bytes(vta_str *out, const void *bytes, size_t size);

/* Read in the same order. What is missing or broken reads as 0 or "" and sets `bad`, once and for all. Texts
 * and bytes are borrowed from the frame. */
typedef struct vta_content {
    const uint8_t *at, *end;
    bool bad;
} vta_content;

uint32_t vta_get_u32(vta_content *in);
uint64_t vta_get_u64(vta_content *in);
double vta_get_f64(vta_content *in);
const char *vta_get_text(vta_content *in);
const uint8_t *vta_get_bytes(vta_content *in, uint32_t *size);

/* All has been read and nothing was bad. */
bool vta_content_done(const vta_content *in);

/* ---- frames */

typedef struct vta_frame {
    uint32_t kind, id;
    vta_content content; /* borrowed from the channel until the next receive */
} vta_frame;

typedef struct vta_channel {
    int in, out;
    double patience_s; /* how long a frame may make no progress before the other side counts as gone */
    double heard;      /* when the last byte came (vta/clock.h) */
    uint8_t *buffer;   /* of the frame that is arriving; owned */
    size_t filled, capacity;
} vta_channel;

void vta_channel_init(vta_channel *channel, int in, int out, double patience_s);
void vta_channel_free(vta_channel *channel); /* closes nothing */

vta_status vta_channel_send(vta_channel *channel, vta_wire_kind kind, uint32_t id, const vta_str *content,
                            vta_diag *diag);

/* The next frame. VTA_TIMEOUT, without a sentence: it was not complete within wait_s, and the next call goes
 * on with it. VTA_IO: the other side has closed. VTA_PROTOCOL: what came is no frame; `diag` shows it. */
vta_status vta_channel_receive(vta_channel *channel, double wait_s, vta_frame *out, vta_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
