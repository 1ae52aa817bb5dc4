/* SPDX-License-Identifier: Apache-2.0
 *
 * RegexFullMatch, and patterns for others: RE2's syntax, rewritten for the C library's extended expressions.
 */
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "flow_regex.h"
#include "flow_text.h"

/* Perl's classes of characters, for the C library's extended expressions. */
static const char *class_of(char c, bool within)
{
    switch (c) {
    case 'd': return within ? "0-9" : "[0-9]";
    case 'w': return within ? "0-9A-Za-z_" : "[0-9A-Za-z_]";
    case 's': return within ? " \t\n\f\r" : "[ \t\n\f\r]";
    case 'D': return within ? NULL : "[^0-9]";
    case 'W': return within ? NULL : "[^0-9A-Za-z_]";
    case 'S': return within ? NULL : "[^ \t\n\f\r]";
    case 'n': return "\n";
    case 't': return "\t";
    case 'r': return "\r";
    case 'f': return "\f";
    default: return NULL;
    }
}

typedef struct rewriting {
    const char *from;
    char *to;
    int64_t repeats; /* the product of all counts */
    bool within, first;
    bool dash; /* the class has one, which is to stand at its end */
} rewriting;

/* One element of RE2's syntax; NULL, or what is not taken. */
static const char *rewrite_next(rewriting *r)
{
    const char c = *r->from++;
    const bool first = r->first;
    r->first = false;
    if (c == '\\') {
        const char next = *r->from;
        const char *text = class_of(next, r->within);
        const char *plain = r->within ? ".*+?()[{}|$/\\-" : "bB";
        if (next == '\0' || (text == NULL && (isalnum((unsigned char)next) != 0 || r->within))) {
            if (next == '\0' || strchr(plain, next) == NULL ||
                (next == '-' && (r->to[-1] == '-' || r->from[1] == '-'))) {
                return "this escape";
            }
            if (!r->within) {
                *r->to++ = c;
            }
            r->dash = r->dash || (r->within && next == '-');
            if (!r->within || next != '-') {
                *r->to++ = next;
            }
        } else if (text != NULL) {
            r->to = stpcpy(r->to, text);
        } else {
            *r->to++ = c;
            *r->to++ = next;
        }
        r->from++;
        return NULL;
    }
    if (c == ']' && !first && r->dash) {
        *r->to++ = '-';
        r->dash = false;
    }
    *r->to++ = c;
    if (r->within) {
        r->within = c != ']' || first;
        r->first = first && c == '^';
        return c == '[' && (*r->from == ':' || *r->from == '.' || *r->from == '=') && r->from[0] != ':'
                   ? "this class"
                   : NULL;
    }
    r->within = r->first = c == '[';
    if (c == '(' && *r->from == '?') {
        if (r->from[1] != ':') {
            return "this group";
        }
        r->from += 2;
    }
    if (c == '{') {
        r->repeats *= strtol(r->from, NULL, 10) + 1;
        const char *comma = strpbrk(r->from, ",}");
        r->repeats *= comma != NULL && *comma == ',' ? strtol(comma + 1, NULL, 10) + 1 : 1;
        if (r->repeats > 1000) {
            return "so many repeats";
        }
    }
    if (strchr("*+?}", c) != NULL && *r->from == '?') { /* how greedy it is does not matter here */
        r->from++;
    }
    return NULL;
}

const char *vta_text_regex(const char *pattern, size_t size, bool whole, regex_t *out)
{
    char *text = malloc(16 * size + 8);
    if (text == NULL) {
        return "so long a text";
    }
    rewriting r = {.from = pattern, .to = stpcpy(text, whole ? "^(" : "("), .repeats = 1};
    const char *why = strlen(pattern) == size ? NULL : "a zero byte";
    while (why == NULL && *r.from != '\0') {
        why = rewrite_next(&r);
    }
    (void)stpcpy(r.to, whole ? ")$" : ")");
    if (why == NULL && regcomp(out, text, whole ? REG_EXTENDED | REG_NOSUB : REG_EXTENDED) != 0) {
        why = "its form";
    }
    free(text);
    return why;
}

vta_status vta_flow_regex_full_match(vta_call *call)
{
    regex_t regex;
    size_t size;
    VTA_TRY(vta_texts_needed(call, 1));
    const vta_item *x = call->in[0];
    VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_BOOL, x->rank, x->dim, &call->out[0], call->diag));
    char *pattern = vta_text_word(call, 0, &size);
    const char *why = pattern != NULL ? vta_text_regex(pattern, size, true, &regex) : "so long a text";
    if (why != NULL) {
        const vta_status status = vta_call_refuse(call, "its pattern '%.80s' is not taken because of %s",
                                                  pattern != NULL ? pattern : "", why);
        free(pattern);
        return status;
    }
    for (int64_t i = 0; i < x->count; i++) {
        const char *text = vta_text_at(call->flow, vta_item_int(x, i), &size);
        vta_item_set_int(call->out[0], i, strlen(text) == size && regexec(&regex, text, 0, NULL, 0) == 0);
    }
    regfree(&regex);
    free(pattern);
    return VTA_OK;
}
