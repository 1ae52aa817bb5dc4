/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of the text form: a cursor over the text that knows its line and column. Functions that expect
 * something fail with "what:line:column: expected ...".
 */
#ifndef VTAC_IR_SCAN_H
#define VTAC_IR_SCAN_H

#include "vtac/graph.h"

typedef struct vtac_scan {
    const char *what;             /* named in messages */
    const char *begin, *at, *end; /* of the text; *end is 0 */
    vta_arena *arena;             /* strings live here */
    vta_diag *diag;
} vtac_scan;

/* Fails at the cursor, or at an earlier place. */
__attribute__((format(printf, 2, 3))) vta_status vtac_scan_fail(vtac_scan *s, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) vta_status vtac_scan_fail_at(vtac_scan *s, const char *at,
                                                                   const char *fmt, ...);

void vtac_scan_blanks(vtac_scan *s); /* within a line */
/* Moves to the next line that holds something; false at the end of the text. */
bool vtac_scan_line(vtac_scan *s);
vta_status vtac_scan_end_of_line(vtac_scan *s);

/* Takes a character, or a word, if it is next. */
bool vtac_scan_char(vtac_scan *s, char c);
bool vtac_scan_word(vtac_scan *s, const char *word);
vta_status vtac_scan_expect(vtac_scan *s, char c);
vta_status vtac_scan_comma(vtac_scan *s, bool first); /* before each element but the first */

/* A plain word or a quoted string. */
vta_status vtac_scan_name(vtac_scan *s, const char **out);
vta_status vtac_scan_string(vtac_scan *s, const char **out);
bool vtac_scan_sees_string(const vtac_scan *s);

/* An integer within the bounds; any floating-point number. */
vta_status vtac_scan_int(vtac_scan *s, int64_t low, int64_t high, int64_t *out);
vta_status vtac_scan_float(vtac_scan *s, double *out);

/* "f32[1,3,224,224]"; whether the next word is an element type. */
vta_status vtac_scan_type(vtac_scan *s, vtac_type *out);
bool vtac_scan_sees_type(vtac_scan *s);

/* The contents of a tensor: [1, 2], or base64 "..."; memory of the arena. */
vta_status vtac_scan_contents(vtac_scan *s, const vtac_type *type, vtac_tensor *out);

#endif
