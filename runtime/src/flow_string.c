/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators on texts: their case, their parts, what they match, and numbers as texts.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_text.h"
#include "vta/fail.h"

static vta_status new_texts(vta_call *call, uint32_t rank, const int64_t *dim, vta_item **out)
{
    return vta_item_tensor(call->flow, VTA_FLOW_TEXT, rank, dim, out, call->diag);
}

static vta_status set_text(vta_call *call, vta_item *t, int64_t i, const char *at, size_t size)
{
    int64_t number;
    VTA_TRY(vta_text_number(call->flow, at, size, &number, call->diag));
    vta_item_set_int(t, i, number);
    return VTA_OK;
}

/* ---- StringNormalizer */

enum { KEEP, LOWER, UPPER };

/* Letters of Latin-1, Greek and Cyrillic that UTF-8 writes in two bytes, and ASCII. Others stay as they are.
 */
static uint32_t letter(uint32_t c, int action)
{
    static const struct {
        uint16_t first, last, step; /* of the capitals; how far the small ones are behind */
    } rows[] = {{'A', 'Z', 32},     {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},  {0x391, 0x3a1, 32},
                {0x3a3, 0x3ab, 32}, {0x410, 0x42f, 32}, {0x400, 0x40f, 80}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t shift = action == LOWER ? 0 : rows[i].step;
        if (c >= rows[i].first + shift && c <= rows[i].last + shift) {
            return action == LOWER ? c + rows[i].step : c - rows[i].step;
        }
    }
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177)) { /* pairs */
        return action == LOWER ? c | 1 : c & ~1U;
    }
    return c;
}

static void change_case(char *text, size_t size, int action)
{
    uint8_t *p = (uint8_t *)text;
    for (size_t i = 0; i < size && action != KEEP; i++) {
        const bool two = (p[i] & 0xe0) == 0xc0 && i + 1 < size;
        if (two) {
            const uint32_t c = letter((p[i] & 31U) << 6 | (p[i + 1] & 63U), action);
            p[i] = (uint8_t)(0xc0 | c >> 6);
            p[++i] = (uint8_t)(0x80 | (c & 63));
        } else if (p[i] < 0x80) {
            p[i] = (uint8_t)letter(p[i], action);
        }
    }
}

/* The number of a text in another case. */
static vta_status cased(vta_call *call, int64_t number, int action, int64_t *out)
{
    size_t size;
    const char *from = vta_text_at(call->flow, number, &size);
    *out = number;
    if (action == KEEP) {
        return VTA_OK;
    }
    char *copy = malloc(size + 1);
    if (copy == NULL) {
        return vta_no_memory(call->diag);
    }
    memcpy(copy, from, size + 1);
    change_case(copy, size, action);
    const vta_status status = vta_text_number(call->flow, copy, size, out, call->diag);
    free(copy);
    return status;
}

static vta_status is_stopped(vta_call *call, int64_t number, bool exact, bool *out)
{
    const vta_list stop = vta_call_list(call, 2, NULL);
    int64_t own;
    *out = false;
    VTA_TRY(cased(call, number, exact ? KEEP : LOWER, &own));
    for (int64_t i = 0; i < stop.count && !*out; i++) {
        int64_t other;
        VTA_TRY(cased(call, stop.at[i], exact ? KEEP : LOWER, &other));
        *out = own == other;
    }
    return VTA_OK;
}

vta_status vta_flow_string_normalizer(vta_call *call)
{
    VTA_TRY(vta_texts_needed(call, 1));
    const vta_item *x = call->in[0];
    const int action = (int)vta_call_word(call, 0);
    int64_t dim[2] = {1, 0};
    if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dim[0] != 1)) {
        return vta_call_refuse(call, "its input is to be of the shape [C] or [1,C]");
    }
    VTA_TRY(vta_item_tensor(call->flow, VTA_FLOW_TEXT, x->rank, x->dim, &call->out[0], call->diag));
    vta_item *y = call->out[0];
    for (int64_t i = 0; i < x->count; i++) {
        bool stopped;
        int64_t number;
        VTA_TRY(is_stopped(call, vta_item_int(x, i), vta_call_word(call, 1) != 0, &stopped));
        if (!stopped) {
            VTA_TRY(cased(call, vta_item_int(x, i), action, &number));
            vta_item_set_int(y, dim[1]++, number);
        }
    }
    if (dim[1] == y->count && y->count > 0) {
        return VTA_OK;
    }
    const int64_t kept = dim[1]; /* the first places are what is left; an empty text where nothing is */
    dim[1] = kept > 0 ? kept : 1;
    int64_t none;
    vta_status status = vta_text_number(call->flow, "", 0, &none, call->diag);
    call->out[0] = NULL;
    status =
        status == VTA_OK ? new_texts(call, x->rank, x->rank == 1 ? dim + 1 : dim, &call->out[0]) : status;
    if (status == VTA_OK) {
        memset(call->out[0]->data, 0, call->out[0]->bytes); /* that is 0 */
        memcpy(call->out[0]->data, y->data, (size_t)kept * sizeof(int64_t));
    }
    vta_item_drop(call->flow, y);
    return status;
}

/* ---- StringConcat, StringSplit */

static vta_status join_pair(vta_call *call, const vta_item *a, const vta_item *b, int64_t i)
{
    size_t sizes[2];
    const char *first = vta_text_at(call->flow, vta_item_int(a, i), &sizes[0]);
    const char *second = vta_text_at(call->flow, vta_item_int(b, i), &sizes[1]);
    char *both = malloc(sizes[0] + sizes[1] + 1);
    if (both == NULL) {
        return vta_no_memory(call->diag);
    }
    memcpy(both, first, sizes[0]);
    memcpy(both + sizes[0], second, sizes[1]);
    const vta_status status = set_text(call, call->out[0], i, both, sizes[0] + sizes[1]);
    free(both);
    return status;
}

vta_status vta_flow_string_concat(vta_call *call)
{
    int64_t rank;
    int64_t dim[VTA_FLOW_RANK];
    vta_item *wide[2] = {NULL, NULL};
    VTA_TRY(vta_texts_needed(call, 2));
    VTA_TRY(vta_broadcast_dims(call, call->in, 2, 0, &rank, dim));
    vta_status status = new_texts(call, (uint32_t)rank, dim, &call->out[0]);
    for (int i = 0; status == VTA_OK && i < 2; i++) {
        status = vta_item_broadcast(call->flow, call->in[i], (uint32_t)rank, dim, &wide[i], call->diag);
    }
    for (int64_t i = 0; status == VTA_OK && i < call->out[0]->count; i++) {
        status = join_pair(call, wide[0], wide[1], i);
    }
    vta_item_drop(call->flow, wide[0]);
    vta_item_drop(call->flow, wide[1]);
    return status;
}

typedef struct splitting {
    const char *at, *end; /* what is left */
    const char *mark;     /* between the parts; empty: white space */
    size_t mark_size;
    int64_t left; /* parts that may still be cut off */
    bool open;    /* there is another part */
} splitting;

static splitting split_of(const vta_call *call, const vta_item *x, int64_t i, const char *mark, size_t size)
{
    size_t length;
    const char *text = vta_text_at(call->flow, vta_item_int(x, i), &length);
    const int64_t max = vta_call_word(call, 0);
    return (splitting){.at = text,
                       .end = text + length,
                       .mark = mark,
                       .mark_size = size,
                       .left = max < 0 ? INT64_MAX : max,
                       .open = true};
}

static bool is_space(char c)
{
    return isspace((unsigned char)c) != 0;
}

static bool next_part(splitting *s, const char **part, size_t *size)
{
    const char *p;
    while (s->mark_size == 0 && s->at < s->end && is_space(*s->at)) {
        s->at++;
    }
    if (!s->open || (s->mark_size == 0 && s->at == s->end)) {
        return false;
    }
    *part = s->at;
    if (s->left == 0) {
        p = s->end;
    } else if (s->mark_size == 0) {
        for (p = s->at; p < s->end && !is_space(*p); p++) {
        }
    } else {
        for (p = s->at; (size_t)(s->end - p) >= s->mark_size && memcmp(p, s->mark, s->mark_size) != 0; p++) {
        }
        p = (size_t)(s->end - p) >= s->mark_size ? p : s->end;
    }
    *size = (size_t)(p - s->at);
    s->open = p < s->end;
    s->at = s->open ? p + s->mark_size : p;
    s->left--;
    return true;
}

static vta_status split_all(vta_call *call, const char *mark, size_t mark_size)
{
    const vta_item *x = call->in[0];
    const bool counts = call->insn->outputs.count > 1;
    int64_t dim[VTA_FLOW_RANK] = {0};
    int64_t widest = 0;
    const char *part;
    size_t size;
    if (x->rank >= VTA_FLOW_RANK) {
        return vta_call_refuse(call, "its parts would be an axis more than %d", VTA_FLOW_RANK);
    }
    memcpy(dim, x->dim, x->rank * sizeof *dim);
    VTA_TRY(counts ? vta_item_tensor(call->flow, VTA_FLOW_I64, x->rank, x->dim, &call->out[1], call->diag)
                   : VTA_OK);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t parts = 0;
        splitting s = split_of(call, x, i, mark, mark_size);
        while (next_part(&s, &part, &size)) {
            parts++;
        }
        widest = parts > widest ? parts : widest;
        if (counts) {
            vta_item_set_int(call->out[1], i, parts);
        }
    }
    dim[x->rank] = widest;
    VTA_TRY(new_texts(call, x->rank + 1, dim, &call->out[0]));
    int64_t none;
    VTA_TRY(vta_text_number(call->flow, "", 0, &none, call->diag));
    memset(call->out[0]->data, 0, call->out[0]->bytes); /* that is 0 */
    for (int64_t i = 0; i < x->count; i++) {
        splitting s = split_of(call, x, i, mark, mark_size);
        for (int64_t k = 0; next_part(&s, &part, &size); k++) {
            VTA_TRY(set_text(call, call->out[0], i * widest + k, part, size));
        }
    }
    return VTA_OK;
}

vta_status vta_flow_string_split(vta_call *call)
{
    size_t size;
    VTA_TRY(vta_texts_needed(call, 1));
    char *mark = vta_text_word(call, 1, &size);
    const vta_status status = mark != NULL ? split_all(call, mark, size) : vta_no_memory(call->diag);
    free(mark);
    return status;
}

/* ---- Cast */

/* As few digits as tell the number apart, written plainly where that is not long. */
static int put_number(char *text, size_t size, double value, bool narrow)
{
    int digits = 1;
    if (isnan(value) || isinf(value)) {
        return snprintf(text, size, isnan(value) ? "NaN" : value > 0 ? "INF" : "-INF");
    }
    for (; digits < 17; digits++) {
        (void)snprintf(text, size, "%.*e", digits - 1, value);
        if (narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) {
            break;
        }
    }
    (void)snprintf(text, size, "%.*e", digits - 1, value);
    const int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent > 15) {
        return (int)strlen(text);
    }
    value = strtod(text, NULL); /* zeros behind these digits */
    return snprintf(text, size, "%.*f", digits - 1 - exponent > 0 ? digits - 1 - exponent : 1, value);
}

vta_status vta_flow_to_text(vta_call *call)
{
    VTA_TRY(vta_call_needs(call, 1));
    const vta_item *x = call->in[0];
    VTA_TRY(new_texts(call, x->rank, x->dim, &call->out[0]));
    for (int64_t i = 0; i < x->count; i++) {
        char text[64];
        if (vta_item_is_float(x)) {
            (void)put_number(text, sizeof text, vta_item_float(x, i), vta_item_size(x) == 4);
        } else if (x->type == VTA_FLOW_BOOL) {
            (void)snprintf(text, sizeof text, "%s", vta_item_int(x, i) != 0 ? "True" : "False");
        } else {
            (void)snprintf(text, sizeof text, (x->type & 255) == 1 ? "%llu" : "%lld",
                           (long long)vta_item_int(x, i));
        }
        VTA_TRY(set_text(call, call->out[0], i, text, strlen(text)));
    }
    return VTA_OK;
}

/* words: the type */
vta_status vta_flow_from_text(vta_call *call)
{
    VTA_TRY(vta_texts_needed(call, 1));
    const vta_item *x = call->in[0];
    VTA_TRY(vta_item_tensor(call->flow, (uint32_t)vta_call_word(call, 0), x->rank, x->dim, &call->out[0],
                            call->diag));
    vta_item *y = call->out[0];
    for (int64_t i = 0; i < x->count; i++) {
        size_t size;
        const char *text = vta_text_at(call->flow, vta_item_int(x, i), &size);
        char *end;
        const bool floats = vta_item_is_float(y);
        if (floats) {
            vta_item_set_float(y, i, strtod(text, &end));
        } else { /* not by way of double, which has 53 bits */
            const bool is_signed = (y->type & 255) != 1;
            const int64_t whole = is_signed ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);
            const double value = *end != '\0' ? strtod(text, &end) : 0;
            vta_item_set_int(y, i, value != 0 ? (int64_t)value : whole);
        }
        if (size == 0 || *end != '\0' || strlen(text) != size) {
            return vta_call_refuse(call, "'%.80s' is no number", text);
        }
    }
    return VTA_OK;
}
