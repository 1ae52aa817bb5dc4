/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of RE2 as the C library's extended expressions.
 */
#ifndef VTA_FLOW_REGEX_H
#define VTA_FLOW_REGEX_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* Compiles a pattern that is to match a whole text, or a part of one; NULL, or what of it is not taken. */
const char *vta_text_regex(const char *pattern, size_t size, bool whole, regex_t *out);

#endif
