/* SPDX-License-Identifier: Apache-2.0
 *
 * The contents of tensors in the text form.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "vta/fail.h"
#include "vta/vec.h"

/* The nearest half. */
static uint16_t half_of(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000U : 0U;
    value = fabs(value);
    if (isnan(value)) {
        return sign | 0x7e00U;
    }
    if (value >= 65520.0) {
        return sign | 0x7c00U;
    }
    if (value < ldexp(1.0, -14)) {
        return sign | (uint16_t)rint(ldexp(value, 24));
    }
    int exponent;
    const double fraction = frexp(value, &exponent); /* in [0.5, 1): 1024 to 2048 with its leading one */
    return (uint16_t)(sign | (uint16_t)(((exponent + 13) << 10) + (int)rint(ldexp(fraction, 11))));
}

static void put_float(vtac_dtype dtype, double value, uint8_t *to)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    const uint16_t half = dtype == VTAC_F16 ? half_of(value) : (uint16_t)(bits >> 16);
    switch (vtac_dtype_bytes(dtype)) {
    case 8: memcpy(to, &value, sizeof value); break;
    case 4: memcpy(to, &narrow, sizeof narrow); break;
    default: memcpy(to, &half, sizeof half); break;
    }
}

/* Range of an integer type. u64 is written as the int64 of the same bits. */
static void bounds_of(vtac_dtype dtype, int64_t *low, int64_t *high)
{
    const size_t bits = 8 * vtac_dtype_bytes(dtype);
    const char kind = vtac_dtype_kind(dtype);
    *low = bits == 64 ? INT64_MIN : kind == 'i' ? -(INT64_C(1) << (bits - 1)) : 0;
    *high = bits == 64 ? INT64_MAX : kind == 'b' ? 1 : (INT64_C(1) << (kind == 'i' ? bits - 1 : bits)) - 1;
}

static vta_status scan_element(vtac_scan *s, vtac_dtype dtype, uint8_t *to)
{
    if (vtac_dtype_kind(dtype) == 'f') {
        double value;
        VTA_TRY(vtac_scan_float(s, &value));
        put_float(dtype, value, to);
        return VTA_OK;
    }
    int64_t low;
    int64_t high;
    int64_t value;
    bounds_of(dtype, &low, &high);
    VTA_TRY(vtac_scan_int(s, low, high, &value));
    memcpy(to, &value, vtac_dtype_bytes(dtype)); /* little endian: the low bytes come first */
    return VTA_OK;
}

/* The next element of a list into a place of its own: memory grows with what is there, not with what the type
 * says. */
static vta_status add_element(vtac_scan *s, vtac_dtype dtype, vta_vec *bytes)
{
    uint8_t *to = vta_vec_add(bytes, vtac_dtype_bytes(dtype));
    return to != NULL ? scan_element(s, dtype, to) : vta_no_memory(s->diag);
}

static vta_status wrong_count(vtac_scan *s, const char *start, int64_t found, int64_t count)
{
    return found > count
               ? vtac_scan_fail_at(s, start, "more than %" PRId64 " elements", count)
               : vtac_scan_fail_at(s, start, "%" PRId64 " elements, expected %" PRId64, found, count);
}

/* [a, b, ...]: as many as the type has. */
static vta_status scan_list(vtac_scan *s, const vtac_type *type, vta_vec *bytes)
{
    const char *start = s->at;
    const int64_t count = vtac_type_elements(type);
    int64_t found = 0;
    VTA_TRY(vtac_scan_expect(s, '['));
    while (!vtac_scan_char(s, ']')) {
        VTA_TRY(found > 0 ? vtac_scan_expect(s, ',') : VTA_OK);
        if (found++ == count) {
            break;
        }
        VTA_TRY(add_element(s, type->dtype, bytes));
    }
    return found == count ? VTA_OK : wrong_count(s, start, found, count);
}

enum { NO_DIGIT = 64 };

/* Value of each character as a digit: a table, since branches on the kind of character are mispredicted. */
static void count_digits(uint8_t *worth)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(worth, NO_DIGIT, UCHAR_MAX + 1);
    for (uint8_t i = 0; digits[i] != '\0'; i++) {
        worth[(uint8_t)digits[i]] = i;
    }
}

/* "....": groups of four digits, each of up to three bytes */
static vta_status scan_base64(vtac_scan *s, const vtac_type *type, vta_vec *bytes)
{
    const size_t size = (size_t)vtac_type_elements(type) * vtac_dtype_bytes(type->dtype);
    VTA_TRY(vtac_scan_expect(s, '"'));
    const char *start = s->at;
    const size_t digits = strcspn(start, "\"\n");
    if (start + digits >= s->end || start[digits] != '"' || digits / 4 != (size + 2) / 3 || digits % 4 != 0) {
        return vtac_scan_fail_at(s, start, "expected %zu base64 digits for %zu bytes, found %zu",
                                 (size + 2) / 3 * 4, size, digits);
    }
    uint8_t *to = size == 0 ? NULL : vta_vec_add(bytes, size);
    if (to == NULL && size > 0) {
        return vta_no_memory(s->diag);
    }
    uint8_t worth[UCHAR_MAX + 1];
    count_digits(worth);
    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = 0;
        for (int k = 0; k < 4; k++, s->at++) {
            const bool padding = *s->at == '=' && (i + (size_t)k > size);
            const uint8_t digit = padding ? 0 : worth[(uint8_t)*s->at];
            if (digit == NO_DIGIT) {
                return vtac_scan_fail(s, "'%c' is no base64 digit here", *s->at);
            }
            group = group << 6 | digit;
        }
        for (size_t k = 0; k < 3 && i + k < size; k++) {
            to[i + k] = (uint8_t)(group >> (16 - 8 * k));
        }
    }
    return vtac_scan_expect(s, '"');
}

vta_status vtac_scan_contents(vtac_scan *s, const vtac_type *type, vtac_tensor *out)
{
    vta_vec bytes = {.item_size = 1};
    vta_status status;
    vtac_scan_blanks(s);
    const char *start = s->at;
    if (vtac_scan_word(s, "sum")) {
        return vtac_scan_fail_at(s, start,
                                 "a checksum does not hold the contents; print the graph with its constants "
                                 "('vtac inspect -o FILE' does)");
    }
    if (vtac_scan_word(s, "base64")) {
        status = scan_base64(s, type, &bytes);
    } else {
        status = scan_list(s, type, &bytes);
    }
    *out = (vtac_tensor){.type = *type, .bytes = bytes.count};
    if (status == VTA_OK) {
        void *data = vta_arena_alloc(s->arena, bytes.count);
        if (data != NULL && bytes.count > 0) {
            memcpy(data, bytes.items, bytes.count);
        }
        out->data = data;
        status = vta_allocated(data != NULL, s->diag);
    }
    vta_vec_free(&bytes);
    return status;
}
