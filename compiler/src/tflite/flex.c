/* SPDX-License-Identifier: Apache-2.0
 *
 * Flexbuffers: the root's width in bytes is the last byte, its type the one before, its value in front of
 * these. A map is a vector of values with, before its length, the offset and the width of its keys; behind
 * the values is a byte with the type of each. Offsets count backwards from where they stand.
 */
#include "flex.h"

#include <string.h>

enum {
    INT = 1,
    UINT,
    FLOAT,
    INDIRECT_INT = 6,
    INDIRECT_UINT,
    INDIRECT_FLOAT,
    MAP,
    INTS = 11,
    UINTS,
    BOOL = 26
};

typedef struct flex {
    const uint8_t *bytes;
    size_t size;
} flex;

static bool is_width(uint64_t width)
{
    return width == 1 || width == 2 || width == 4 || width == 8;
}

static bool read_uint(const flex *f, size_t at, uint64_t width, uint64_t *out)
{
    if (!is_width(width) || at > f->size || width > f->size - at) {
        return false;
    }
    *out = 0;
    for (uint64_t i = width; i-- > 0;) {
        *out = *out << 8 | f->bytes[at + i];
    }
    return true;
}

/* Target of the offset at `at`; false: it leads out of the buffer. */
static bool follow_offset(const flex *f, size_t at, uint64_t width, size_t *to)
{
    uint64_t back;
    if (!read_uint(f, at, width, &back) || back > at) {
        return false;
    }
    *to = at - (size_t)back;
    return true;
}

static bool read_number(const flex *f, size_t at, uint64_t width, unsigned type, double *out)
{
    uint64_t raw;
    if (type >= INDIRECT_INT && type <= INDIRECT_FLOAT) {
        return false; /* one step is taken before */
    }
    if (!read_uint(f, at, width, &raw)) {
        return false;
    }
    if (type == UINT || type == BOOL) {
        *out = (double)raw;
    } else if (type == INT) {
        const unsigned unused = 64 - 8 * (unsigned)width;
        *out = (double)((int64_t)(raw << unused) >> unused);
    } else if (type == FLOAT && width == 4) {
        const uint32_t bits = (uint32_t)raw;
        float value;
        memcpy(&value, &bits, sizeof value);
        *out = (double)value;
    } else if (type == FLOAT && width == 8) {
        memcpy(out, &raw, sizeof *out);
    } else {
        return false;
    }
    return true;
}

static bool is_key(const flex *f, size_t at, const char *key)
{
    const size_t length = strlen(key) + 1;
    return at <= f->size && length <= f->size - at && memcmp(f->bytes + at, key, length) == 0;
}

/* Location of a value: its place, the width of its parent's values, and its packed type. */
typedef struct found {
    size_t at;
    uint64_t width;
    unsigned packed;
} found;

static bool find_key(const flex *f, const char *key, found *out)
{
    const uint8_t *bytes = f->bytes;
    const size_t size = f->size;
    size_t map;
    size_t keys;
    uint64_t count;
    uint64_t key_width;
    if (size < 3 || bytes[size - 2] >> 2 != MAP || !is_width(bytes[size - 1]) || bytes[size - 1] > size - 2 ||
        !follow_offset(f, size - 2 - bytes[size - 1], bytes[size - 1], &map)) {
        return false;
    }
    const uint64_t width = UINT64_C(1) << (bytes[size - 2] & 3);
    if (map < 3 * width || !read_uint(f, map - (size_t)width, width, &count) ||
        !read_uint(f, map - 2 * (size_t)width, width, &key_width) ||
        !follow_offset(f, map - 3 * (size_t)width, width, &keys) || count > size || !is_width(key_width)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        size_t name;
        uint64_t packed;
        if (follow_offset(f, keys + (size_t)(i * key_width), key_width, &name) && is_key(f, name, key)) {
            *out = (found){.at = map + (size_t)(i * width), .width = width};
            const bool typed = read_uint(f, map + (size_t)(count * width + i), 1, &packed);
            out->packed = typed ? (unsigned)packed : 0;
            return typed;
        }
    }
    return false;
}

bool vtac_flex_number(const uint8_t *bytes, size_t size, const char *key, double *out)
{
    const flex f = {bytes, size};
    found v;
    if (!find_key(&f, key, &v)) {
        return false;
    }
    unsigned type = v.packed >> 2;
    if (type >= INDIRECT_INT && type <= INDIRECT_FLOAT) {
        if (!follow_offset(&f, v.at, v.width, &v.at)) {
            return false;
        }
        v.width = UINT64_C(1) << (v.packed & 3);
        type -= INDIRECT_INT - INT;
    }
    return read_number(&f, v.at, v.width, type, out);
}

uint32_t vtac_flex_ints(const uint8_t *bytes, size_t size, const char *key, int64_t *out, uint32_t max)
{
    const flex f = {bytes, size};
    found v;
    size_t at;
    uint64_t count;
    if (!find_key(&f, key, &v) || (v.packed >> 2 != INTS && v.packed >> 2 != UINTS) ||
        !follow_offset(&f, v.at, v.width, &at)) {
        return 0;
    }
    const uint64_t width = UINT64_C(1) << (v.packed & 3);
    if (at < width || !read_uint(&f, at - (size_t)width, width, &count) || count > max) {
        return 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        double number;
        if (!read_number(&f, at + (size_t)(i * width), width, v.packed >> 2 == INTS ? INT : UINT, &number)) {
            return 0;
        }
        out[i] = (int64_t)number;
    }
    return (uint32_t)count;
}
