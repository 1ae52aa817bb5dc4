/* SPDX-License-Identifier: Apache-2.0 */
#include "flat.h"

#include <string.h>

static bool is_inside(vtac_flat *f, size_t at, size_t size)
{
    if (at <= f->size && size <= f->size - at) {
        return true;
    }
    if (!f->bad) {
        f->bad = true;
        f->bad_at = at < f->size ? at : f->size;
    }
    return false;
}

static uint64_t read_little_endian(const uint8_t *at, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

static int64_t sign_extend(uint64_t value, uint32_t width)
{
    const uint64_t sign = UINT64_C(1) << (8 * width - 1);
    return (int64_t)((value ^ sign) - sign);
}

static void mark_bad(vtac_flat *f, size_t at)
{
    f->bad_at = f->bad ? f->bad_at : at;
    f->bad = true;
}

static vtac_flat_table table_at(vtac_flat *f, size_t at)
{
    const vtac_flat_table none = {.at = 0};
    if (!is_inside(f, at, 4)) {
        return none;
    }
    const int64_t vtable = (int64_t)at - sign_extend(read_little_endian(f->bytes + at, 4), 4);
    if (vtable < 4 || !is_inside(f, (size_t)vtable, 4)) {
        mark_bad(f, at);
        return none;
    }
    vtac_flat_table t = {.at = at, .vtable = (size_t)vtable};
    const uint32_t size = (uint32_t)read_little_endian(f->bytes + vtable, 2);
    t.bytes = (uint32_t)read_little_endian(f->bytes + vtable + 2, 2);
    t.fields = size < 4 ? 0 : (size - 4) / 2;
    if (size < 4 || t.bytes < 4 || !is_inside(f, t.vtable, size) || !is_inside(f, at, t.bytes)) {
        mark_bad(f, t.vtable);
        return none;
    }
    return t;
}

/* Place of a field of `width` bytes; 0: the field is absent. */
static size_t field_at(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t width)
{
    if (t.at == 0 || field >= t.fields) {
        return 0;
    }
    const size_t entry = t.vtable + 4 + 2 * (size_t)field;
    const uint32_t offset = (uint32_t)read_little_endian(f->bytes + entry, 2);
    if (offset == 0) {
        return 0;
    }
    if (offset < 4 || width > t.bytes || offset > t.bytes - width) {
        mark_bad(f, entry);
        return 0;
    }
    return t.at + offset;
}

/* Target of the offset at `at`; 0: none. */
static size_t follow_offset(vtac_flat *f, size_t at)
{
    if (at == 0 || !is_inside(f, at, 4)) {
        return 0;
    }
    const uint64_t offset = read_little_endian(f->bytes + at, 4);
    if (offset < 4 || offset > f->size - at || !is_inside(f, at + (size_t)offset, 4)) {
        mark_bad(f, at);
        return 0;
    }
    return at + (size_t)offset;
}

vtac_flat_table vtac_flat_root(vtac_flat *f)
{
    const uint64_t offset = is_inside(f, 0, 8) ? read_little_endian(f->bytes, 4) : 0;
    if (offset < 4 || offset > f->size) {
        mark_bad(f, 0);
        return (vtac_flat_table){.at = 0};
    }
    return table_at(f, (size_t)offset);
}

vtac_flat_table vtac_flat_sub(vtac_flat *f, vtac_flat_table t, uint32_t field)
{
    const size_t at = follow_offset(f, field_at(f, t, field, 4));
    return at == 0 ? (vtac_flat_table){.at = 0} : table_at(f, at);
}

int64_t vtac_flat_int(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t width, int64_t otherwise)
{
    const size_t at = field_at(f, t, field, width);
    return at == 0 ? otherwise : sign_extend(read_little_endian(f->bytes + at, width), width);
}

static float float_of(uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

float vtac_flat_float(vtac_flat *f, vtac_flat_table t, uint32_t field, float otherwise)
{
    const size_t at = field_at(f, t, field, 4);
    return at == 0 ? otherwise : float_of(read_little_endian(f->bytes + at, 4));
}

vtac_flat_vector vtac_flat_list(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t size)
{
    const size_t at = follow_offset(f, field_at(f, t, field, 4));
    if (at == 0) {
        return (vtac_flat_vector){.at = 0};
    }
    const uint64_t count = read_little_endian(f->bytes + at, 4);
    if (count * size > f->size || !is_inside(f, at + 4, (size_t)(count * size))) {
        mark_bad(f, at);
        return (vtac_flat_vector){.at = 0};
    }
    return (vtac_flat_vector){at + 4, (uint32_t)count};
}

vtac_flat_table vtac_flat_item(vtac_flat *f, vtac_flat_vector v, uint32_t i)
{
    const size_t at = i < v.count ? follow_offset(f, v.at + 4 * (size_t)i) : 0;
    return at == 0 ? (vtac_flat_table){.at = 0} : table_at(f, at);
}

int64_t vtac_flat_int_at(const vtac_flat *f, vtac_flat_vector v, uint32_t i, uint32_t width)
{
    return i < v.count ? sign_extend(read_little_endian(f->bytes + v.at + (size_t)i * width, width), width)
                       : 0;
}

float vtac_flat_float_at(const vtac_flat *f, vtac_flat_vector v, uint32_t i)
{
    return i < v.count ? float_of(read_little_endian(f->bytes + v.at + 4 * (size_t)i, 4)) : 0.0F;
}

const char *vtac_flat_text(vtac_flat *f, vtac_flat_table t, uint32_t field, uint32_t *length)
{
    const vtac_flat_vector v = vtac_flat_list(f, t, field, 1);
    *length = v.count;
    return v.at == 0 ? NULL : (const char *)f->bytes + v.at;
}
