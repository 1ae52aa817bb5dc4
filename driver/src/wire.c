/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and texts into content and out of it.
 */
#include "vta/wire.h"

#include <string.h>

/* The text of a name itself: a pointer to it would be longer, and the loader would have to set it. */
typedef char name_text[12];

#define VTA_WIRE(name, number, doc) _Static_assert(sizeof #name <= sizeof(name_text), "too long: " #name);
#include "vta/wire.def"

const char *vta_wire_name(uint32_t kind)
{
    static const struct {
        uint32_t number;
        name_text name;
    } names[] = {
#define VTA_WIRE(name, number, doc) {number, #name},
#include "vta/wire.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].number == kind) {
            return names[i].name;
        }
    }
    return "?";
}

const char *vta_wire_release(void)
{
    return vta_version();
}

const char *vta_wire_machine(void)
{
#if defined(__x86_64__)
    return "x86-64";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__arm__)
    return "arm";
#elif defined(__riscv)
    return "riscv64";
#else
    return "another processor";
#endif
}

/* ---- in */

static void put_number(vta_str *out, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    vta_str_append(out, bytes, size);
}

void vta_put_u32(vta_str *out, uint32_t value)
{
    put_number(out, value, 4);
}

void vta_put_u64(vta_str *out, uint64_t value)
{
    put_number(out, value, 8);
}

void vta_put_f64(vta_str *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    vta_put_u64(out, bits);
}

void vta_put_text(vta_str *out, const char *text)
{
    vta_put_bytes(out, text, strlen(text) + 1);
}

void vta_put_bytes(vta_str *out, const void *bytes, size_t size)
{
    if (size > VTA_WIRE_MAX) {
        out->failed = true;
        return;
    }
    vta_put_u32(out, (uint32_t)size);
    vta_str_append(out, bytes, size);
}

/* ---- out */

static const uint8_t *take(vta_content *in, size_t size)
{
    if (in->bad || size > (size_t)(in->end - in->at)) {
        in->bad = true;
        return NULL;
    }
    in->at += size;
    return in->at - size;
}

static uint64_t get_number(vta_content *in, size_t size)
{
    const uint8_t *bytes = take(in, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes != NULL && i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

uint32_t vta_get_u32(vta_content *in)
{
    return (uint32_t)get_number(in, 4);
}

uint64_t vta_get_u64(vta_content *in)
{
    return get_number(in, 8);
}

double vta_get_f64(vta_content *in)
{
    const uint64_t bits = vta_get_u64(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *vta_get_text(vta_content *in)
{
    uint32_t size;
    const uint8_t *bytes = vta_get_bytes(in, &size);
    if (bytes == NULL || size == 0 || size > VTA_WIRE_TEXT || memchr(bytes, '\0', size) != bytes + size - 1) {
        in->bad = true;
        return "";
    }
    return (const char *)bytes;
}

const uint8_t *vta_get_bytes(vta_content *in, uint32_t *size)
{
    *size = vta_get_u32(in);
    const uint8_t *bytes = take(in, *size);
    *size = bytes != NULL ? *size : 0;
    return bytes;
}

bool vta_content_done(const vta_content *in)
{
    return !in->bad && in->at == in->end;
}
