/* SPDX-License-Identifier: Apache-2.0
 *
 * A pattern becomes instructions of a backtracking machine. Counted repetitions are written out.
 */
#include "pattern.h"

#include <stdlib.h>
#include <string.h>

#include "unicode.h"
#include "vta/fail.h"
#include "vta/untrusted.h"
#include "vta/vec.h"

enum { MAX_CODE = 4000, MAX_RANGES = 256, MAX_DEPTH = 32, MAX_COUNT = 1000, NO_LIMIT = -1 };

typedef struct char_range {
    uint32_t first, last;
} char_range;

typedef struct char_set {
    const char_range *ranges;
    uint32_t count;
    uint32_t categories;
    bool spaces, not_spaces, negated;
} char_set;

typedef enum pattern_op {
    OP_SET,    /* a character of the set */
    OP_SPLIT,  /* goes on at `to`, and where that fails at `other` */
    OP_JUMP,   /* goes on at `to` */
    OP_AHEAD,  /* what follows the instruction up to `to` matches here, nothing is taken */
    OP_NOT,    /* it does not */
    OP_ATOMIC, /* it matches, and is not taken back */
    OP_BEGIN,  /* the text begins here */
    OP_END,    /* it ends here */
    OP_MATCH
} pattern_op;

typedef struct pattern_insn {
    pattern_op op;
    uint32_t to, other;
    char_set set;
} pattern_insn;

struct vta_pattern {
    const pattern_insn *code;
    uint32_t count;
};

/* ---- reading */

typedef struct pattern_reader {
    const char *text, *at;
    vta_arena *arena;
    vta_vec code; /* pattern_insn */
    bool ignore_case;
    int depth;
    vta_diag *diag;
} pattern_reader;

static vta_status refuse_pattern(const pattern_reader *r, const char *what)
{
    return vta_fail(r->diag, VTA_UNSUPPORTED, "pattern '%.100s': %s at byte %zu", r->text, what,
                    (size_t)(r->at - r->text));
}

static vta_status add_insn(pattern_reader *r, pattern_insn insn)
{
    if (r->code.count >= MAX_CODE) {
        return refuse_pattern(r, "too large a repetition");
    }
    return vta_allocated(vta_vec_push(&r->code, &insn) != NULL, r->diag);
}

static pattern_insn *insn_at(const pattern_reader *r, size_t index)
{
    return vta_vec_at(&r->code, index);
}

/* Makes room for an instruction in front of those from `begin` on; jumps behind it move along. */
static vta_status insert_insn(pattern_reader *r, size_t begin, pattern_insn insn)
{
    VTA_TRY(add_insn(r, (pattern_insn){.op = OP_MATCH}));
    pattern_insn *place = insn_at(r, begin);
    memmove(place + 1, place, (r->code.count - 1 - begin) * sizeof insn);
    *place = insn;
    for (size_t i = begin + 1; i < r->code.count; i++) {
        pattern_insn *moved = insn_at(r, i);
        moved->to += moved->to >= begin && moved->op != OP_SET;
        moved->other += moved->other >= begin && moved->op == OP_SPLIT;
    }
    return VTA_OK;
}

static bool take_char(pattern_reader *r, char c)
{
    if (*r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static vta_status take_point(pattern_reader *r, uint32_t *point)
{
    const size_t size = vta_utf8_character(r->at, strlen(r->at), point);
    if (*r->at == '\0' || size == 0) {
        return refuse_pattern(r, "a character is missing");
    }
    r->at += size;
    return VTA_OK;
}

/* ---- sets */

typedef struct set_builder {
    char_range ranges[MAX_RANGES];
    char_set set;
} set_builder;

static vta_status add_range(pattern_reader *r, set_builder *b, uint32_t first, uint32_t last)
{
    if (first > last || b->set.count == MAX_RANGES) {
        return refuse_pattern(r, first > last ? "a range that goes down" : "too many ranges in a class");
    }
    b->ranges[b->set.count++] = (char_range){first, last};
    return VTA_OK;
}

/* Letters beyond ASCII whose small letter is one of ASCII's: the long s and the sign of kelvin. */
static vta_status add_folded(pattern_reader *r, set_builder *b, uint32_t first, uint32_t last)
{
    for (uint32_t c = 'a'; r->ignore_case && c <= 'z'; c++) {
        const uint32_t upper = c - 'a' + 'A';
        if ((c < first || c > last) && (upper < first || upper > last)) {
            continue;
        }
        VTA_TRY(add_range(r, b, c, c));
        VTA_TRY(add_range(r, b, upper, upper));
        VTA_TRY(c == 's'   ? add_range(r, b, 0x17f, 0x17f)
                : c == 'k' ? add_range(r, b, 0x212a, 0x212a)
                           : VTA_OK);
    }
    return add_range(r, b, first, last);
}

static vta_status take_category(pattern_reader *r, set_builder *b, bool inverse)
{
    const char *end = take_char(r, '{') ? strchr(r->at, '}') : NULL;
    const bool inner = end != NULL && take_char(r, '^');
    const uint32_t bits = end == NULL ? 0 : vta_unicode_categories(r->at, (size_t)(end - r->at));
    if (bits == 0) {
        return refuse_pattern(r, "a class of characters that is none of Unicode's general categories");
    }
    b->set.categories |= inverse != inner ? ~bits : bits;
    r->at = end + 1;
    return VTA_OK;
}

static vta_status take_hex(pattern_reader *r, uint32_t digits, uint32_t *point)
{
    const bool braces = take_char(r, '{');
    uint32_t count = 0;
    *point = 0;
    while (count < (braces ? 6 : digits) && strchr("0123456789abcdefABCDEF", *r->at) != NULL &&
           *r->at != '\0') {
        const char c = *r->at++;
        *point = *point * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        count++;
    }
    return count > 0 && *point < 0x110000 && (!braces || take_char(r, '}'))
               ? VTA_OK
               : refuse_pattern(r, "a number of a character is missing");
}

/* Escapes behind the backslash: a class goes into the set, a character into *point, *single is set then. */
static vta_status take_escape(pattern_reader *r, set_builder *b, uint32_t *point, bool *single)
{
    static const char plain[] = "nrtfv0a", made[] = "\n\r\t\f\v\0\a";
    const char c = *r->at++;
    const char *found = c == '\0' ? NULL : strchr(plain, c);
    const uint32_t digits = vta_unicode_categories("Nd", 2);
    const uint32_t word = vta_unicode_categories("L", 1) | vta_unicode_categories("M", 1) |
                          vta_unicode_categories("N", 1) | vta_unicode_categories("Pc", 2);
    *single = false;
    switch (c) {
    case 'p':
    case 'P': return take_category(r, b, c == 'P');
    case 's': b->set.spaces = true; return VTA_OK;
    case 'S': b->set.not_spaces = true; return VTA_OK;
    case 'd': b->set.categories |= digits; return VTA_OK;
    case 'D': b->set.categories |= ~digits; return VTA_OK;
    case 'w': b->set.categories |= word; return VTA_OK;
    case 'W': b->set.categories |= ~word; return VTA_OK;
    default: break;
    }
    *single = true;
    if (c == 'x' || c == 'u') {
        return take_hex(r, c == 'x' ? 2 : 4, point);
    }
    if (found != NULL) {
        *point = (uint8_t)made[found - plain];
        return VTA_OK;
    }
    r->at--;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        return refuse_pattern(r, "an escape that tokenizers do not use");
    }
    return take_point(r, point);
}

/* A character or an escape, within a class or outside. */
static vta_status take_single(pattern_reader *r, set_builder *b, uint32_t *point, bool *single)
{
    *single = true;
    return take_char(r, '\\') ? take_escape(r, b, point, single) : take_point(r, point);
}

static vta_status take_class(pattern_reader *r, set_builder *b)
{
    b->set.negated = take_char(r, '^');
    for (bool first = true; first || *r->at != ']'; first = false) {
        uint32_t low = 0;
        bool single;
        if (*r->at == '[' || strncmp(r->at, "&&", 2) == 0) {
            return refuse_pattern(r, "a class within a class");
        }
        VTA_TRY(take_single(r, b, &low, &single));
        uint32_t high = low;
        if (single && r->at[0] == '-' && r->at[1] != ']' && r->at[1] != '\0') {
            r->at++;
            VTA_TRY(take_single(r, b, &high, &single));
            if (!single) {
                return refuse_pattern(r, "a range between classes");
            }
        }
        VTA_TRY(single ? add_folded(r, b, low, high) : VTA_OK);
    }
    r->at++;
    return VTA_OK;
}

static vta_status emit_set(pattern_reader *r, const set_builder *b)
{
    char_range *kept = vta_arena_array(r->arena, b->set.count, sizeof *kept);
    if (kept == NULL) {
        return vta_no_memory(r->diag);
    }
    memcpy(kept, b->ranges, b->set.count * sizeof *kept);
    pattern_insn insn = {.op = OP_SET, .set = b->set};
    insn.set.ranges = kept;
    return add_insn(r, insn);
}

/* ---- the grammar: alternatives of sequences of repeated atoms */

static vta_status read_choice(pattern_reader *r, bool *empty);

/* Reads what follows "(?": *around is the instruction in front of the group, OP_MATCH where there is none. */
static vta_status read_flags(pattern_reader *r, pattern_op *around)
{
    static const struct {
        const char *text;
        pattern_op op;
    } kinds[] = {{"=", OP_AHEAD}, {"!", OP_NOT}, {">", OP_ATOMIC}, {":", OP_MATCH}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (take_char(r, kinds[i].text[0])) {
            *around = kinds[i].op;
            return VTA_OK;
        }
    }
    if (r->at[0] == 'i' && (r->at[1] == ':' || r->at[1] == ')')) {
        r->ignore_case = true;
        r->at++;
        *around = OP_MATCH;
        return *r->at == ')' ? VTA_OK : (r->at++, VTA_OK);
    }
    return refuse_pattern(r, "a kind of group that tokenizers do not use");
}

static vta_status read_group(pattern_reader *r, bool *empty)
{
    const bool outside = r->ignore_case;
    const size_t begin = r->code.count;
    pattern_op around = OP_MATCH;
    VTA_TRY(take_char(r, '?') ? read_flags(r, &around) : VTA_OK);
    if (*r->at == ')' && r->ignore_case && !outside) { /* (?i) reaches to the end of the group around it */
        r->at++;
        *empty = true;
        return VTA_OK;
    }
    VTA_TRY(around == OP_MATCH ? VTA_OK : add_insn(r, (pattern_insn){.op = around}));
    VTA_TRY(read_choice(r, empty));
    if (!take_char(r, ')')) {
        return refuse_pattern(r, "a closing bracket is missing");
    }
    r->ignore_case = outside;
    if (around != OP_MATCH) {
        VTA_TRY(add_insn(r, (pattern_insn){.op = OP_MATCH}));
        insn_at(r, begin)->to = (uint32_t)r->code.count;
        *empty = *empty || around != OP_ATOMIC;
    }
    return VTA_OK;
}

static vta_status read_atom(pattern_reader *r, bool *empty)
{
    set_builder b = {.set.count = 0};
    uint32_t point;
    bool single;
    *empty = false;
    if (take_char(r, '(')) {
        return read_group(r, empty);
    }
    if (*r->at == '^' || *r->at == '$') {
        *empty = true;
        return add_insn(r, (pattern_insn){.op = *r->at++ == '^' ? OP_BEGIN : OP_END});
    }
    if (take_char(r, '[')) {
        VTA_TRY(take_class(r, &b));
    } else if (take_char(r, '.')) {
        b.set.negated = true;
        VTA_TRY(add_range(r, &b, '\n', '\n'));
    } else {
        VTA_TRY(take_single(r, &b, &point, &single));
        VTA_TRY(single ? add_folded(r, &b, point, point) : VTA_OK);
    }
    return emit_set(r, &b);
}

static bool take_number(pattern_reader *r, int *out)
{
    *out = 0;
    const char *begin = r->at;
    while (*r->at >= '0' && *r->at <= '9' && *out <= MAX_COUNT) {
        *out = 10 * *out + *r->at++ - '0';
    }
    return r->at > begin;
}

/* A repetition; min = max = 1 where there is none. */
static vta_status read_count(pattern_reader *r, int *min, int *max)
{
    *min = *max = 1;
    if (take_char(r, '?')) {
        *min = 0;
    } else if (take_char(r, '*')) {
        *min = 0;
        *max = NO_LIMIT;
    } else if (take_char(r, '+')) {
        *max = NO_LIMIT;
    } else if (take_char(r, '{')) {
        const bool low = take_number(r, min);
        *max = *min;
        if (take_char(r, ',')) {
            *max = take_number(r, max) ? *max : NO_LIMIT;
        }
        if (!low || !take_char(r, '}') || *min > MAX_COUNT || *max > MAX_COUNT ||
            (*max >= 0 && *max < *min)) {
            return refuse_pattern(r, "a count that is none");
        }
    }
    return VTA_OK;
}

/* A copy of the instructions begin … end-1 at the end of the code. */
static vta_status copy_code(pattern_reader *r, size_t begin, size_t end)
{
    const uint32_t moved = (uint32_t)(r->code.count - begin);
    for (size_t i = begin; i < end; i++) {
        pattern_insn insn = *insn_at(r, i);
        insn.to += insn.op == OP_SET ? 0 : moved;
        insn.other += insn.op == OP_SPLIT ? moved : 0;
        VTA_TRY(add_insn(r, insn));
    }
    return VTA_OK;
}

/* Makes the instructions from `begin` on optional, or, where `again`, any number of times. */
static vta_status make_optional(pattern_reader *r, size_t begin, bool again, bool lazy)
{
    VTA_TRY(insert_insn(r, begin, (pattern_insn){.op = OP_SPLIT}));
    if (again) {
        VTA_TRY(add_insn(r, (pattern_insn){.op = OP_JUMP, .to = (uint32_t)begin}));
    }
    pattern_insn *split = insn_at(r, begin);
    const uint32_t inside = (uint32_t)begin + 1;
    const uint32_t behind = (uint32_t)r->code.count;
    split->to = lazy ? behind : inside;
    split->other = lazy ? inside : behind;
    return VTA_OK;
}

/* The atom begin … end-1, min to max times: copies that must match, then those that may. */
static vta_status repeat_code(pattern_reader *r, size_t begin, int min, int max, bool lazy)
{
    const size_t size = r->code.count - begin;
    const int copies = max == NO_LIMIT ? min + 1 : max;
    for (int i = 1; i < copies; i++) {
        VTA_TRY(copy_code(r, begin, begin + size));
    }
    if (copies == 0) {
        r->code.count = begin;
    }
    for (int i = copies; i-- > min;) { /* from the last on: a later one is within an earlier one */
        VTA_TRY(make_optional(r, begin + (size_t)i * size, max == NO_LIMIT, lazy));
    }
    return VTA_OK;
}

static vta_status read_repeated(pattern_reader *r, bool *empty)
{
    int min;
    int max;
    const size_t begin = r->code.count;
    VTA_TRY(read_atom(r, empty));
    VTA_TRY(read_count(r, &min, &max));
    if (min == 1 && max == 1) {
        return VTA_OK;
    }
    if (*empty && max == NO_LIMIT) {
        return refuse_pattern(r, "a repetition of what may be empty");
    }
    const bool lazy = take_char(r, '?');
    const bool possessive = !lazy && take_char(r, '+');
    VTA_TRY(possessive ? insert_insn(r, begin, (pattern_insn){.op = OP_ATOMIC}) : VTA_OK);
    VTA_TRY(repeat_code(r, begin + possessive, min, max, lazy));
    if (possessive) {
        VTA_TRY(add_insn(r, (pattern_insn){.op = OP_MATCH}));
        insn_at(r, begin)->to = (uint32_t)r->code.count;
    }
    *empty = *empty || min == 0;
    return VTA_OK;
}

static vta_status read_sequence(pattern_reader *r, bool *empty)
{
    *empty = true;
    while (*r->at != '\0' && *r->at != '|' && *r->at != ')') {
        bool part;
        VTA_TRY(read_repeated(r, &part));
        *empty = *empty && part;
    }
    return VTA_OK;
}

static vta_status read_choice(pattern_reader *r, bool *empty)
{
    const size_t begin = r->code.count;
    if (++r->depth > MAX_DEPTH) {
        return refuse_pattern(r, "too many brackets within each other");
    }
    VTA_TRY(read_sequence(r, empty));
    if (take_char(r, '|')) {
        bool other;
        VTA_TRY(insert_insn(r, begin, (pattern_insn){.op = OP_SPLIT, .to = (uint32_t)begin + 1}));
        const size_t jump = r->code.count;
        VTA_TRY(add_insn(r, (pattern_insn){.op = OP_JUMP}));
        insn_at(r, begin)->other = (uint32_t)r->code.count;
        r->depth--; /* alternatives side by side are no deeper */
        VTA_TRY(read_choice(r, &other));
        r->depth++;
        insn_at(r, jump)->to = (uint32_t)r->code.count;
        *empty = *empty || other;
    }
    r->depth--;
    return VTA_OK;
}

vta_status vta_pattern_compile(const char *text, vta_arena *arena, const vta_pattern **out, vta_diag *diag)
{
    pattern_reader r = {
        .text = text, .at = text, .arena = arena, .code.item_size = sizeof(pattern_insn), .diag = diag};
    vta_pattern *pattern = vta_arena_alloc(arena, sizeof *pattern);
    bool empty;
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vta_allocated(pattern != NULL, diag));
    VTA_TRY_OUT(read_choice(&r, &empty));
    VTA_TRY_OUT(*r.at == '\0' ? VTA_OK : refuse_pattern(&r, "a bracket that closes nothing"));
    VTA_TRY_OUT(add_insn(&r, (pattern_insn){.op = OP_MATCH}));
    pattern_insn *code = vta_arena_array(arena, r.code.count, sizeof *code);
    VTA_TRY_OUT(vta_allocated(code != NULL, diag));
    memcpy(code, r.code.items, r.code.count * sizeof *code);
    *pattern = (vta_pattern){code, (uint32_t)r.code.count};
    *out = pattern;
out:
    vta_vec_free(&r.code);
    return status;
}

/* ---- matching */

static bool set_has(const char_set *s, uint32_t point)
{
    bool found = (s->categories & vta_unicode_category(point)) != 0 ||
                 ((s->spaces || s->not_spaces) &&
                  (s->spaces && s->not_spaces ? true : vta_unicode_is_space(point) == s->spaces));
    for (uint32_t i = 0; !found && i < s->count; i++) {
        found = point >= s->ranges[i].first && point <= s->ranges[i].last;
    }
    return found != s->negated;
}

typedef struct match_try {
    uint32_t at;  /* of the code */
    size_t place; /* of the text */
} match_try;

typedef struct matcher {
    const pattern_insn *code;
    vta_pattern_text *text;
    vta_vec tries; /* match_try: where to go on when a path fails */
    vta_diag *diag;
} matcher;

enum { NO_MATCH = -1 };

static vta_status match_from(matcher *m, uint32_t at, size_t place, int64_t *end);

/* One instruction; *alive is false where the path fails. */
static vta_status step_match(matcher *m, match_try *t, bool *alive)
{
    const pattern_insn *insn = &m->code[t->at];
    int64_t end = NO_MATCH;
    const match_try other = {insn->other, t->place};
    t->at++;
    switch (insn->op) {
    case OP_SET:
        *alive = t->place < m->text->count && set_has(&insn->set, m->text->points[t->place]);
        t->place++;
        return VTA_OK;
    case OP_JUMP: t->at = insn->to; return VTA_OK;
    case OP_SPLIT: t->at = insn->to; return vta_allocated(vta_vec_push(&m->tries, &other) != NULL, m->diag);
    case OP_BEGIN: *alive = t->place == 0; return VTA_OK;
    case OP_END: *alive = t->place == m->text->count; return VTA_OK;
    case OP_AHEAD:
    case OP_NOT:
    case OP_ATOMIC:
        VTA_TRY(match_from(m, t->at, t->place, &end));
        *alive = (end != NO_MATCH) != (insn->op == OP_NOT);
        t->place = insn->op == OP_ATOMIC && *alive ? (size_t)end : t->place;
        t->at = insn->to;
        return VTA_OK;
    case OP_MATCH: break;
    }
    return VTA_OK;
}

/* The end of the first match that begins at a place, or NO_MATCH. */
static vta_status match_from(matcher *m, uint32_t at, size_t place, int64_t *end)
{
    const size_t floor = m->tries.count;
    match_try t = {at, place};
    *end = NO_MATCH;
    for (;;) {
        bool alive = true;
        if (m->code[t.at].op == OP_MATCH) {
            *end = (int64_t)t.place;
            m->tries.count = floor;
            return VTA_OK;
        }
        if (m->text->budget-- == 0) {
            m->text->budget = 0;
            return vta_fail(m->diag, VTA_UNSUPPORTED,
                            "a pattern of the tokenizer takes too long on this text");
        }
        VTA_TRY(step_match(m, &t, &alive));
        if (!alive && m->tries.count == floor) {
            return VTA_OK;
        }
        if (!alive) {
            t = *(match_try *)vta_vec_at(&m->tries, m->tries.count - 1);
            m->tries.count--;
        }
    }
}

vta_status vta_pattern_find(const vta_pattern *pattern, vta_pattern_text *text, size_t from,
                            vta_pattern_match *out, vta_diag *diag)
{
    matcher m = {pattern->code, text, {.item_size = sizeof(match_try)}, diag};
    vta_status status = VTA_OK;
    *out = (vta_pattern_match){text->count, text->count};
    for (size_t at = from; at < text->count && out->begin == text->count; at++) {
        int64_t end;
        VTA_TRY_OUT(match_from(&m, 0, at, &end));
        if (end > (int64_t)at) {
            *out = (vta_pattern_match){at, (size_t)end};
        }
    }
out:
    vta_vec_free(&m.tries);
    return status;
}
