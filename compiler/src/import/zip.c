/* SPDX-License-Identifier: Apache-2.0
 *
 * The archive's directory stands at its end; it tells where each member is and how long. All numbers are
 * little endian and checked against the file before they are used.
 */
#include "zip.h"

#include <string.h>
#include <zlib.h>

#include "inflate.h"
#include "vta/fail.h"
#include "vta/room.h"

enum {
    END_BYTES = 22,   /* end of the directory, without its comment */
    ENTRY_BYTES = 46, /* an entry of it, without name and extras */
    LOCAL_BYTES = 30, /* a member's own header, without name and extras */
    MAX_COMMENT = 65535,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8
};

/* Upper bound of deflate's compression ratio: a member that claims more has a forged size. */
enum { MAX_RATIO = 1032 };

static uint32_t read_u16(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t read_u32(const uint8_t *at)
{
    return read_u16(at) | read_u16(at + 2) << 16;
}

static vta_status fail_damaged(vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX, "it is not a whole zip archive");
}

/* The end of the directory; NULL: there is none. */
static const uint8_t *find_end(const uint8_t *bytes, size_t size)
{
    for (size_t back = END_BYTES; back <= size && back <= END_BYTES + MAX_COMMENT; back++) {
        if (memcmp(bytes + size - back, "PK\5\6", 4) == 0) {
            return bytes + size - back;
        }
    }
    return NULL;
}

/* The member of one entry of the directory. */
static vta_status unpack_member(const uint8_t *bytes, size_t size, const uint8_t *entry, vta_arena *arena,
                                vtac_zip_member *out, vta_diag *diag)
{
    const uint32_t method = read_u16(entry + 10);
    const uint32_t packed = read_u32(entry + 20);
    const uint32_t whole = read_u32(entry + 24);
    const uint32_t local = read_u32(entry + 42);
    out->name = vta_arena_string(arena, (const char *)entry + ENTRY_BYTES, read_u16(entry + 28));
    if (size < LOCAL_BYTES || local > size - LOCAL_BYTES || memcmp(bytes + local, "PK\3\4", 4) != 0) {
        return fail_damaged(diag);
    }
    const size_t start =
        (size_t)local + LOCAL_BYTES + read_u16(bytes + local + 26) + read_u16(bytes + local + 28);
    if (start > size || packed > size - start || whole / MAX_RATIO > packed) {
        return fail_damaged(diag);
    }
    uint8_t *to = vta_arena_alloc(arena, (size_t)whole + 1);
    if (to == NULL || out->name == NULL) {
        return vta_no_memory(diag);
    }
    out->bytes = to;
    out->size = whole;
    if (method == METHOD_DEFLATED) {
        size_t made;
        if (!vtac_inflate(bytes + start, packed, VTAC_INFLATE_PLAIN, to, whole, &made) || made != whole) {
            return fail_damaged(diag);
        }
    } else if (method == METHOD_STORED && packed == whole) {
        memcpy(to, bytes + start, whole);
    } else {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "member '%.64s' is packed by method %u; stored and deflated can be read", out->name,
                        method);
    }
    return (uint32_t)crc32(0, to, (uInt)whole) == read_u32(entry + 16) ? VTA_OK : fail_damaged(diag);
}

/* The entry of the directory at a place, which moves behind it; NULL: there is none. */
static const uint8_t *next_entry(const uint8_t *bytes, size_t size, size_t *at)
{
    const uint8_t *entry = bytes + *at;
    if (size - *at < ENTRY_BYTES || memcmp(entry, "PK\1\2", 4) != 0 ||
        size - *at - ENTRY_BYTES < read_u16(entry + 28)) {
        return NULL;
    }
    *at += (size_t)ENTRY_BYTES + read_u16(entry + 28) + read_u16(entry + 30) + read_u16(entry + 32);
    *at = *at > size ? size : *at;
    return entry;
}

/* Bytes that the directory's members from a place on say they have unpacked. */
static uint64_t whole_bytes(const uint8_t *bytes, size_t size, size_t at, uint32_t count)
{
    uint64_t sum = 0;
    const uint8_t *entry = NULL;
    for (uint32_t i = 0; i < count && (entry = next_entry(bytes, size, &at)) != NULL; i++) {
        sum += read_u32(entry + 24);
    }
    return sum;
}

vta_status vtac_unzip(const uint8_t *bytes, size_t size, vta_arena *arena, vtac_zip_member **out,
                      uint32_t *count, vta_diag *diag)
{
    const uint8_t *end = find_end(bytes, size);
    if (end == NULL || read_u32(end + 16) > size) {
        return fail_damaged(diag);
    }
    *count = read_u16(end + 10);
    vtac_zip_member *members = vta_arena_array(arena, *count + (size_t)1, sizeof *members);
    if (members == NULL) {
        return vta_no_memory(diag);
    }
    size_t at = read_u32(end + 16);
    VTA_TRY(vta_room_check("the members of an archive", whole_bytes(bytes, size, at, *count), diag));
    uint64_t packed = 0; /* members lie beside each other: more than the archive has is forged */
    for (uint32_t i = 0; i < *count; i++) {
        const uint8_t *entry = next_entry(bytes, size, &at);
        if (entry == NULL) {
            return fail_damaged(diag);
        }
        packed += read_u32(entry + 20);
        if (packed > size) {
            return fail_damaged(diag);
        }
        VTA_TRY(unpack_member(bytes, size, entry, arena, &members[i], diag));
    }
    *out = members;
    return VTA_OK;
}

bool vtac_zip_names(const uint8_t *bytes, size_t size, const char *part)
{
    const uint8_t *end = find_end(bytes, size);
    const size_t length = strlen(part);
    size_t at = end == NULL ? size : read_u32(end + 16);
    const uint8_t *entry = at < size ? next_entry(bytes, size, &at) : NULL;
    for (; entry != NULL; entry = next_entry(bytes, size, &at)) {
        const size_t named = read_u16(entry + 28);
        for (size_t i = 0; i + length <= named; i++) {
            if (memcmp(entry + ENTRY_BYTES + i, part, length) == 0) {
                return true;
            }
        }
    }
    return false;
}
