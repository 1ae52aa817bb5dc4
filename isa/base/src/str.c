/* SPDX-License-Identifier: Apache-2.0
 *
 * The string builder, and edit distance for suggestions.
 */
#include "vta/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/vec.h"

/* Room for `extra` more bytes and the terminator. */
static bool make_room(vta_str *str, size_t extra)
{
    if (!str->failed && extra < SIZE_MAX - str->size) {
        char *grown = vta_grow(str->text, &str->capacity, str->size + extra + 1, 1);
        if (grown != NULL) {
            str->text = grown;
            return true;
        }
    }
    str->failed = true;
    return false;
}

void vta_str_append(vta_str *str, const void *bytes, size_t size)
{
    if (make_room(str, size)) {
        if (size > 0) {
            memcpy(str->text + str->size, bytes, size);
        }
        str->size += size;
        str->text[str->size] = '\0';
    }
}

void vta_str_put(vta_str *str, const char *text)
{
    vta_str_append(str, text, strlen(text));
}

void vta_str_printf(vta_str *str, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int size = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (size < 0) {
        str->failed = true;
    } else if (make_room(str, (size_t)size)) {
        va_start(args, fmt);
        (void)vsnprintf(str->text + str->size, (size_t)size + 1, fmt, args);
        va_end(args);
        str->size += (size_t)size;
    }
}

char *vta_str_take(vta_str *str)
{
    if (str->text == NULL) {
        vta_str_append(str, "", 0);
    }
    char *text = NULL;
    if (!str->failed) {
        text = str->text;
        str->text = NULL;
    }
    vta_str_free(str);
    return text;
}

void vta_str_free(vta_str *str)
{
    free(str->text);
    *str = (vta_str){0};
}

/* Longer words are not compared: nothing of ours has such names. */
enum { WORD = 40, PREFIX = 3 };

static unsigned replace_cost(char a, char b)
{
    if (a == b) {
        return 0;
    }
    return toupper((unsigned char)a) == toupper((unsigned char)b) ? 1 : 4;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Damerau's distance with every edit costing 4, a change of case 1. Both words are at most WORD long. */
static unsigned distance(const char *a, size_t size_a, const char *b, size_t size_b)
{
    unsigned rows[WORD + 1][WORD + 1];
    for (size_t i = 0; i <= size_a; i++) {
        for (size_t j = 0; j <= size_b; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = 4 * (unsigned)(i + j);
                continue;
            }
            unsigned best = rows[i - 1][j - 1] + replace_cost(a[i - 1], b[j - 1]);
            best = smaller(best, smaller(rows[i - 1][j], rows[i][j - 1]) + 4);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = smaller(best, rows[i - 2][j - 2] + 4);
            }
            rows[i][j] = best;
        }
    }
    return rows[size_a][size_b];
}

/* True if a word is the beginning of a name, in letters of either case. */
static bool is_prefix(const char *word, size_t size, const char *name)
{
    for (size_t i = 0; i < size; i++) {
        if (replace_cost(word[i], name[i]) > 1) { /* a name that has ended, too */
            return false;
        }
    }
    return size >= PREFIX;
}

const char *vta_nearest(const char *word, const char *const *names, size_t count)
{
    const size_t size = strlen(word);
    if (size > WORD) {
        return NULL;
    }
    const char *nearest = NULL;
    unsigned best = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t name_size = strlen(names[i]);
        if (name_size > WORD) {
            continue;
        }
        unsigned cost = distance(word, size, names[i], name_size);
        if (is_prefix(word, size, names[i])) { /* a shortened name */
            cost = smaller(cost, (unsigned)(name_size - size));
        }
        const bool near = cost <= 8 + (unsigned)name_size && cost < 4 * (unsigned)name_size;
        if (near && (nearest == NULL || cost < best)) {
            nearest = names[i];
            best = cost;
        }
    }
    return nearest;
}
