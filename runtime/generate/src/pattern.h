/* SPDX-License-Identifier: Apache-2.0
 *
 * Regular expressions of tokenizers, over code points: alternatives, groups (also (?i:…) and (?>…)), classes
 * with Unicode's categories, \s \d \w, repetitions (also lazy and possessive), looking ahead, ends of the
 * text. What matches is what a backtracking matcher finds first.
 */
#ifndef VTA_GENERATE_PATTERN_H
#define VTA_GENERATE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vta/arena.h"
#include "vta/status.h"

typedef struct vta_pattern vta_pattern;

/* In `arena`. `text` is UTF-8, terminated. */
vta_status vta_pattern_compile(const char *text, vta_arena *arena, const vta_pattern **out, vta_diag *diag);

/* A text to be searched, and how much work may still be done on it. */
typedef struct vta_pattern_text {
    const uint32_t *points;
    size_t count;
    uint64_t budget;
} vta_pattern_text;

typedef struct vta_pattern_match {
    size_t begin, end;
} vta_pattern_match;

/* The first match at `from` or behind; both ends are the text's where there is none. Empty matches do not
 * count. */
vta_status vta_pattern_find(const vta_pattern *pattern, vta_pattern_text *text, size_t from,
                            vta_pattern_match *out, vta_diag *diag);

#endif
