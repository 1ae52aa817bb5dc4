/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of RFC 8259's grammar by descent, where there is no cJSON. Values below the first level are
 * checked and skipped.
 */
#include "json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

typedef struct reader {
    const char *at; /* where it stands, and where it failed */
    bool no_memory;
} reader;

static void skip_space(reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool take(reader *r, char c)
{
    if (*r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word)
{
    const size_t size = strlen(word);
    if (strncmp(r->at, word, size) != 0) {
        return false;
    }
    r->at += size;
    return true;
}

static bool take_digits(reader *r)
{
    const char *begin = r->at;
    while (isdigit((unsigned char)*r->at)) {
        r->at++;
    }
    return r->at > begin;
}

static bool read_number(reader *r)
{
    (void)take(r, '-');
    if (!take(r, '0') && !take_digits(r)) {
        return false;
    }
    if (take(r, '.') && !take_digits(r)) {
        return false;
    }
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+')) {
            (void)take(r, '-');
        }
        return take_digits(r);
    }
    return true;
}

/* ---- strings */

static bool read_hex(reader *r, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const char c = *r->at;
        if (!isxdigit((unsigned char)c)) {
            return false;
        }
        const int digit = isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* The code point behind "\u", of one unit or of a pair. */
static bool read_point(reader *r, uint32_t *out)
{
    uint32_t low;
    if (!read_hex(r, out) || *out == 0 || (*out >= 0xdc00 && *out < 0xe000)) {
        return false;
    }
    if (*out < 0xd800 || *out >= 0xe000) {
        return true;
    }
    if (!take_word(r, "\\u") || !read_hex(r, &low) || low < 0xdc00 || low >= 0xe000) {
        return false;
    }
    *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static char *put_utf8(char *out, uint32_t point)
{
    if (point < 0x80) {
        *out++ = (char)point;
        return out;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (char)(first[more] | point >> (6 * more));
    for (int i = more - 1; i >= 0; i--) {
        *out++ = (char)(0x80 | (point >> (6 * i) & 0x3f));
    }
    return out;
}

static bool read_escape(reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    uint32_t point;
    if (take(r, 'u')) {
        if (!read_point(r, &point)) {
            return false;
        }
        *out = put_utf8(*out, point);
        return true;
    }
    const char *name = *r->at != '\0' ? strchr(names, *r->at) : NULL;
    if (name == NULL) {
        return false;
    }
    *(*out)++ = values[name - names];
    r->at++;
    return true;
}

/* Between its quotes; the text never grows. `out` has room for the rest of the file. */
static bool read_string(reader *r, char *out)
{
    if (!take(r, '"')) {
        return false;
    }
    while (*r->at != '"') {
        if ((unsigned char)*r->at < ' ') {
            return false;
        }
        if (take(r, '\\')) {
            if (!read_escape(r, &out)) {
                return false;
            }
        } else {
            *out++ = *r->at++;
        }
    }
    r->at++;
    *out = '\0';
    return true;
}

/* ---- values */

/* Upper bound of the length of the string at r, with its end. */
static size_t room_for(const reader *r)
{
    const char *p = r->at;
    for (p += *p == '"'; *p != '\0' && *p != '"'; p++) {
        p += *p == '\\' && p[1] != '\0';
    }
    return (size_t)(p - r->at) + 1;
}

static void *get(reader *r, size_t size)
{
    void *memory = calloc(1, size);
    r->no_memory = r->no_memory || memory == NULL;
    return memory;
}

static bool skip_string(reader *r)
{
    char *scratch = get(r, room_for(r));
    const bool good = scratch != NULL && read_string(r, scratch);
    free(scratch);
    return good;
}

static bool skip_value(reader *r, unsigned depth);

/* Members or elements up to the closing bracket. */
static bool skip_list(reader *r, char close, unsigned depth)
{
    r->at++;
    skip_space(r);
    if (take(r, close)) {
        return true;
    }
    do {
        skip_space(r);
        if (close == '}') {
            if (!skip_string(r)) {
                return false;
            }
            skip_space(r);
            if (!take(r, ':')) {
                return false;
            }
        }
        if (!skip_value(r, depth + 1)) {
            return false;
        }
        skip_space(r);
    } while (take(r, ','));
    return take(r, close);
}

static bool skip_value(reader *r, unsigned depth)
{
    skip_space(r);
    if (depth > DEEPEST) {
        return false;
    }
    switch (*r->at) {
    case '{': return skip_list(r, '}', depth);
    case '[': return skip_list(r, ']', depth);
    case '"': return skip_string(r);
    case 't': return take_word(r, "true");
    case 'f': return take_word(r, "false");
    case 'n': return take_word(r, "null");
    default: return read_number(r);
    }
}

static bool read_value(reader *r, vta_json_item *item)
{
    skip_space(r);
    const char *begin = r->at;
    if (*begin == '"') {
        item->kind = VTA_JSON_STRING;
        item->text = get(r, room_for(r));
        return item->text != NULL && read_string(r, item->text);
    }
    if (!skip_value(r, 0)) {
        return false;
    }
    item->kind = *begin == '-' || isdigit((unsigned char)*begin) ? VTA_JSON_NUMBER : VTA_JSON_OTHER;
    item->number = item->kind == VTA_JSON_NUMBER ? strtod(begin, NULL) : 0.0;
    const size_t size = (size_t)(r->at - begin);
    item->text = get(r, size + 1);
    if (item->text != NULL) {
        memcpy(item->text, begin, size);
    }
    return item->text != NULL;
}

/* "key": value */
static bool read_member(reader *r, vta_json_item *item)
{
    skip_space(r);
    item->key = get(r, room_for(r));
    if (item->key == NULL || !read_string(r, item->key)) {
        return false;
    }
    skip_space(r);
    return take(r, ':') && read_value(r, item);
}

static bool read_members(reader *r, vta_json_item **items)
{
    vta_json_item **last = items;
    r->at++;
    skip_space(r);
    if (take(r, '}')) {
        return true;
    }
    do {
        *last = get(r, sizeof **last);
        if (*last == NULL || !read_member(r, *last)) {
            return false;
        }
        last = &(*last)->next;
        skip_space(r);
    } while (take(r, ','));
    return take(r, '}');
}

vta_json_result vta_json_read(const char *text, vta_json_item **items, const char **where)
{
    reader r = {text, false};
    *items = NULL;
    skip_space(&r);
    const bool object = *r.at == '{';
    bool good = object ? read_members(&r, items) : skip_value(&r, 0);
    skip_space(&r);
    good = good && *r.at == '\0';
    *where = r.at;
    if (!good || !object) {
        vta_json_free(*items);
        *items = NULL;
    }
    return r.no_memory ? VTA_JSON_NO_MEMORY
           : !good     ? VTA_JSON_SYNTAX
           : object    ? VTA_JSON_OK
                       : VTA_JSON_NO_OBJECT;
}
