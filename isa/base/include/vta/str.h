/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: a string builder with a sticky failure, and the nearest of several names for "did you mean".
 */
#ifndef VTA_STR_H
#define VTA_STR_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A string under construction; {0} is empty. Once memory has run out it ignores everything: check `failed`,
 * or the result of vta_str_take, at the end. */
typedef struct vta_str {
    char *text; /* terminated, or NULL while nothing has been added */
    size_t size, capacity;
    bool failed;
} vta_str;

__attribute__((format(printf, 2, 3))) void vta_str_printf(vta_str *str, const char *fmt, ...);
void vta_str_put(vta_str *str, const char *text);
void vta_str_append(vta_str *str, const void *bytes, size_t size);

/* Hands the terminated text over (owned: free()) and leaves the builder empty; NULL without memory. */
char *vta_str_take(vta_str *str);
void vta_str_free(vta_str *str);

/* The name nearest to `word` by edits (insert, delete, replace, swap; case counts less), or NULL where none
 * is near. */
const char *vta_nearest(const char *word, const char *const *names, size_t count);

#ifdef __cplusplus
}
#endif
#endif
