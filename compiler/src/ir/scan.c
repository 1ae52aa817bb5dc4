/* SPDX-License-Identifier: Apache-2.0
 *
 * Words, numbers and types of the text form. See scan.h.
 */
#include "scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

vta_status vtac_scan_fail_at(vtac_scan *s, const char *at, const char *fmt, ...)
{
    unsigned line = 1;
    const char *start = s->begin;
    for (const char *p = s->begin; p < at; p++) {
        if (*p == '\n') {
            line++;
            start = p + 1;
        }
    }
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return vta_fail(s->diag, VTA_SYNTAX, "%s:%u:%u: %s", s->what, line, (unsigned)(at - start) + 1, text);
}

vta_status vtac_scan_fail(vtac_scan *s, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return vtac_scan_fail_at(s, s->at, "%s", text);
}

void vtac_scan_blanks(vtac_scan *s)
{
    while (*s->at == ' ' || *s->at == '\t' || *s->at == '\r') {
        s->at++;
    }
}

bool vtac_scan_line(vtac_scan *s)
{
    for (;;) {
        vtac_scan_blanks(s);
        if (*s->at == '#') {
            s->at += strcspn(s->at, "\n");
        }
        if (*s->at != '\n') {
            return s->at < s->end;
        }
        s->at++;
    }
}

vta_status vtac_scan_end_of_line(vtac_scan *s)
{
    vtac_scan_blanks(s);
    return s->at == s->end || *s->at == '\n' ? VTA_OK : vtac_scan_fail(s, "expected the end of the line");
}

bool vtac_scan_char(vtac_scan *s, char c)
{
    vtac_scan_blanks(s);
    if (*s->at != c || s->at == s->end) {
        return false;
    }
    s->at++;
    return true;
}

vta_status vtac_scan_expect(vtac_scan *s, char c)
{
    return vtac_scan_char(s, c) ? VTA_OK : vtac_scan_fail(s, "expected '%c'", c);
}

vta_status vtac_scan_comma(vtac_scan *s, bool first)
{
    return first ? VTA_OK : vtac_scan_expect(s, ',');
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_./-", c) != NULL);
}

static size_t word_size(const char *at)
{
    size_t size = 0;
    while (is_word(at[size])) {
        size++;
    }
    return size;
}

bool vtac_scan_word(vtac_scan *s, const char *word)
{
    vtac_scan_blanks(s);
    const size_t size = strlen(word);
    if (word_size(s->at) != size || strncmp(s->at, word, size) != 0) {
        return false;
    }
    s->at += size;
    return true;
}

bool vtac_scan_sees_string(const vtac_scan *s)
{
    return *s->at == '"';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of a string, at the cursor; 0: a bad escape (no string holds that byte). */
static char string_char(vtac_scan *s)
{
    if (*s->at != '\\') {
        return *s->at++;
    }
    s->at++;
    if (*s->at == '"' || *s->at == '\\') {
        return *s->at++;
    }
    const int high = *s->at == 'x' ? hex_digit(s->at[1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(s->at[2]);
    if (low < 0) {
        return '\0';
    }
    s->at += 3;
    return (char)(high * 16 + low);
}

vta_status vtac_scan_string(vtac_scan *s, const char **out)
{
    VTA_TRY(vtac_scan_expect(s, '"'));
    const char *start = s->at;
    size_t max = 0; /* an upper bound: escapes shrink */
    while (start[max] != '\n' && start + max < s->end && start[max] != '"') {
        max += start[max] == '\\' && start + max + 1 < s->end ? 2 : 1;
    }
    char *text = vta_arena_alloc(s->arena, max + 1);
    if (text == NULL) {
        return vta_no_memory(s->diag);
    }
    size_t size = 0;
    while (*s->at != '"') {
        if (s->at == s->end || *s->at == '\n') {
            return vtac_scan_fail_at(s, start - 1, "the string does not end on its line");
        }
        const char c = string_char(s);
        if (c == '\0') {
            return vtac_scan_fail(s, "expected \\\", \\\\ or \\x and two hexadecimal digits");
        }
        text[size++] = c;
    }
    s->at++;
    *out = text;
    return VTA_OK;
}

vta_status vtac_scan_name(vtac_scan *s, const char **out)
{
    vtac_scan_blanks(s);
    if (vtac_scan_sees_string(s)) {
        return vtac_scan_string(s, out);
    }
    const size_t size = word_size(s->at);
    if (size == 0) {
        return vtac_scan_fail(s, "expected a name");
    }
    *out = vta_arena_string(s->arena, s->at, size);
    s->at += size;
    return vta_allocated(*out != NULL, s->diag);
}

vta_status vtac_scan_int(vtac_scan *s, int64_t low, int64_t high, int64_t *out)
{
    vtac_scan_blanks(s);
    char *end;
    errno = 0;
    const bool digit = *s->at == '-' ? s->at[1] >= '0' && s->at[1] <= '9' : *s->at >= '0' && *s->at <= '9';
    const long long value = digit ? strtoll(s->at, &end, 10) : 0;
    if (!digit || errno != 0 || value < low || value > high) {
        return vtac_scan_fail(s, "expected an integer from %lld to %lld", (long long)low, (long long)high);
    }
    s->at = end;
    *out = value;
    return VTA_OK;
}

vta_status vtac_scan_float(vtac_scan *s, double *out)
{
    vtac_scan_blanks(s);
    char *end;
    const bool starts = *s->at != '\0' && strchr("+-.0123456789in", *s->at) != NULL;
    *out = starts ? strtod(s->at, &end) : 0.0;
    if (!starts || end == s->at) {
        return vtac_scan_fail(s, "expected a number");
    }
    s->at = end;
    return VTA_OK;
}

/* The element type that the next word names. */
static vtac_dtype dtype_at(const vtac_scan *s)
{
    char name[16];
    const size_t size = word_size(s->at);
    (void)snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : 0), s->at);
    return vtac_dtype_parse(name);
}

bool vtac_scan_sees_type(vtac_scan *s)
{
    vtac_scan_blanks(s);
    return dtype_at(s) != VTAC_NO_DTYPE;
}

vta_status vtac_scan_type(vtac_scan *s, vtac_type *out)
{
    vtac_scan_blanks(s);
    const char *start = s->at;
    *out = (vtac_type){.dtype = dtype_at(s)};
    if (out->dtype == VTAC_NO_DTYPE) {
        return vtac_scan_fail(s, "expected a type, such as f32[1,3,224,224]");
    }
    s->at += word_size(s->at);
    VTA_TRY(vtac_scan_expect(s, '['));
    while (!vtac_scan_char(s, ']')) {
        VTA_TRY(vtac_scan_comma(s, out->rank == 0));
        if (out->rank == VTAC_MAX_RANK) {
            return vtac_scan_fail(s, "more than %d dimensions", VTAC_MAX_RANK);
        }
        VTA_TRY(vtac_scan_int(s, 0, INT64_MAX, &out->dim[out->rank++]));
    }
    return vtac_type_elements(out) >= 0 ? VTA_OK : vtac_scan_fail_at(s, start, "the tensor is too large");
}
