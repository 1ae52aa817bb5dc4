/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode.h"

#include <stddef.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/untrusted.h"
#include "vta/vec.h"

typedef struct unicode_range {
    uint32_t first, last, value;
} unicode_range;
typedef struct unicode_parts {
    uint32_t point, first;
    uint8_t count, compatible;
} unicode_parts;
typedef struct unicode_pair {
    uint32_t first, second, whole;
} unicode_pair;

#include "unicode_tables.h"

/* Syllables of Hangul, which are composed by arithmetic. */
enum {
    HANGUL_FIRST = 0xac00,
    LEAD_FIRST = 0x1100,
    LEADS = 19,
    VOWEL_FIRST = 0x1161,
    VOWELS = 21,
    TAIL_FIRST = 0x11a7, /* one before the first: no tail */
    TAILS = 28,
    HANGUL_COUNT = LEADS * VOWELS * TAILS
};

static const unicode_range *find_range(const unicode_range *rows, size_t count, uint32_t point)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (point >= rows[middle].first && point <= rows[middle].last) {
            return &rows[middle];
        }
        if (point < rows[middle].first) {
            count = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

uint32_t vta_unicode_category(uint32_t point)
{
    const unicode_range *row = find_range(categories, sizeof categories / sizeof categories[0], point);
    return row == NULL ? 0 : UINT32_C(1) << row->value;
}

uint32_t vta_unicode_categories(const char *name, size_t size)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < sizeof category_names / sizeof category_names[0]; i++) {
        if ((size == 1 || size == 2) && strncmp(category_names[i], name, size) == 0) {
            bits |= UINT32_C(1) << i;
        }
    }
    return bits;
}

bool vta_unicode_is_space(uint32_t point)
{
    static const unicode_range spaces[] = {{9, 13, 0},          {32, 32, 0},         {0x85, 0x85, 0},
                                           {0xa0, 0xa0, 0},     {0x1680, 0x1680, 0}, {0x2000, 0x200a, 0},
                                           {0x2028, 0x2029, 0}, {0x202f, 0x202f, 0}, {0x205f, 0x205f, 0},
                                           {0x3000, 0x3000, 0}};
    return find_range(spaces, sizeof spaces / sizeof spaces[0], point) != NULL;
}

void vta_unicode_append(vta_str *out, uint32_t point)
{
    const char bytes[] = {(char)(point < 0x80      ? point
                                 : point < 0x800   ? 0xc0 | point >> 6
                                 : point < 0x10000 ? 0xe0 | point >> 12
                                                   : 0xf0 | point >> 18),
                          (char)(0x80 | (point >> 12 & 0x3f)), (char)(0x80 | (point >> 6 & 0x3f)),
                          (char)(0x80 | (point & 0x3f))};
    const size_t tail = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    vta_str_append(out, bytes, 1);
    vta_str_append(out, bytes + 4 - tail, tail);
}

/* ---- normal forms */

static uint32_t class_of(uint32_t point)
{
    const unicode_range *row = find_range(combining, sizeof combining / sizeof combining[0], point);
    return row == NULL ? 0 : row->value;
}

static const unicode_parts *find_parts(uint32_t point)
{
    size_t low = 0;
    size_t high = sizeof decompositions / sizeof decompositions[0];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (decompositions[middle].point == point) {
            return &decompositions[middle];
        }
        if (decompositions[middle].point < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static bool push_point(vta_vec *points, uint32_t point)
{
    return vta_vec_push(points, &point) != NULL;
}

static bool decompose_hangul(uint32_t point, vta_vec *points)
{
    const uint32_t index = point - HANGUL_FIRST;
    const uint32_t tail = index % TAILS;
    return push_point(points, LEAD_FIRST + index / (VOWELS * TAILS)) &&
           push_point(points, VOWEL_FIRST + index / TAILS % VOWELS) &&
           (tail == 0 || push_point(points, TAIL_FIRST + tail));
}

/* The parts of a character, and theirs: no chain of Unicode's is as long as `depth`. */
static bool decompose_point(uint32_t point, bool compatible, int depth, vta_vec *points)
{
    if (point >= HANGUL_FIRST && point < HANGUL_FIRST + HANGUL_COUNT) {
        return decompose_hangul(point, points);
    }
    const unicode_parts *parts = depth == 0 ? NULL : find_parts(point);
    if (parts == NULL || (parts->compatible && !compatible)) {
        return push_point(points, point);
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        if (!decompose_point(decomposed[parts->first + i], compatible, depth - 1, points)) {
            return false;
        }
    }
    return true;
}

/* Marks behind a character stand in the order of their classes; equal ones stay as they are. */
static void order_marks(uint32_t *points, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint32_t point = points[i];
        const uint32_t class = class_of(point);
        size_t at = i;
        while (class != 0 && at > 0 && class_of(points[at - 1]) > class) {
            points[at] = points[at - 1];
            at--;
        }
        points[at] = point;
    }
}

/* The character that two make together; 0: none. */
static uint32_t compose_pair(uint32_t first, uint32_t second)
{
    if (first >= LEAD_FIRST && first < LEAD_FIRST + LEADS && second >= VOWEL_FIRST &&
        second < VOWEL_FIRST + VOWELS) {
        return HANGUL_FIRST + ((first - LEAD_FIRST) * VOWELS + second - VOWEL_FIRST) * TAILS;
    }
    if (first >= HANGUL_FIRST && first < HANGUL_FIRST + HANGUL_COUNT && (first - HANGUL_FIRST) % TAILS == 0 &&
        second > TAIL_FIRST && second < TAIL_FIRST + TAILS) {
        return first + second - TAIL_FIRST;
    }
    size_t low = 0;
    size_t high = sizeof compositions / sizeof compositions[0];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const unicode_pair *pair = &compositions[middle];
        if (pair->first == first && pair->second == second) {
            return pair->whole;
        }
        if (pair->first < first || (pair->first == first && pair->second < second)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

/* Composes in place; returns how many are left. A mark reaches the last character whose class is 0, unless a
 * mark of its own class, or another such character, stands between. */
static size_t compose_points(uint32_t *points, size_t count)
{
    size_t kept = 0;
    size_t base = SIZE_MAX;
    uint32_t before = 0; /* the class of the last one that is kept behind the base */
    for (size_t i = 0; i < count; i++) {
        const uint32_t class = class_of(points[i]);
        const bool next = base != SIZE_MAX && kept == base + 1;
        const uint32_t whole = base != SIZE_MAX && (next || (before != 0 && before < class))
                                   ? compose_pair(points[base], points[i])
                                   : 0;
        if (whole != 0) {
            points[base] = whole;
            continue;
        }
        if (class == 0) {
            base = kept;
        }
        before = class;
        points[kept++] = points[i];
    }
    return kept;
}

vta_status vta_unicode_normalize(vta_unicode_form form, const char *text, size_t size, vta_str *out,
                                 vta_diag *diag)
{
    vta_vec points = {.item_size = sizeof(uint32_t)};
    const bool compatible = form == VTA_FORM_NFKC || form == VTA_FORM_NFKD;
    bool good = true;
    for (size_t at = 0; good && at < size;) {
        uint32_t point = 0xfffd;
        const size_t bytes = vta_utf8_character(text + at, size - at, &point);
        good = decompose_point(point, compatible, 8, &points);
        at += bytes == 0 ? 1 : bytes;
    }
    if (good) {
        order_marks(points.items, points.count);
        if (form == VTA_FORM_NFC || form == VTA_FORM_NFKC) {
            points.count = compose_points(points.items, points.count);
        }
    }
    for (size_t i = 0; good && i < points.count; i++) {
        vta_unicode_append(out, *(uint32_t *)vta_vec_at(&points, i));
    }
    vta_vec_free(&points);
    return vta_allocated(good && !out->failed, diag);
}
