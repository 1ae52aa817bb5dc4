/* SPDX-License-Identifier: Apache-2.0
 *
 * See script.h: the words and lines of a program's text, and the places of its definitions.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "script.h"

/* ---- reading */

void vtac_script_refuse_code(vtac_torch *im, torch_cursor *c, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    vtac_make_fail(&im->maker, VTA_UNSUPPORTED, "%s", text);
    c->at = c->end;
}

void vtac_script_skip_blanks(torch_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || (c->nest > 0 && (*c->at == '\n' || *c->at == '\r')))) {
        c->at++;
    }
}

bool vtac_script_is_at(torch_cursor *c, char b)
{
    vtac_script_skip_blanks(c);
    return c->at < c->end && *c->at == b;
}

bool vtac_script_take_byte(torch_cursor *c, char b)
{
    const bool found = vtac_script_is_at(c, b);
    c->at += found ? 1 : 0;
    return found;
}

void vtac_script_expect_byte(vtac_torch *im, torch_cursor *c, char b)
{
    if (!vtac_script_take_byte(c, b) && im->maker.status == VTA_OK) {
        vtac_script_refuse_code(im, c, "'%c' is expected before '%.*s'", b,
                                (int)(c->end - c->at < 20 ? c->end - c->at : 20), c->at);
    }
}

bool vtac_script_take_word(torch_cursor *c, const char *word)
{
    const size_t length = strlen(word);
    vtac_script_skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0 ||
        (c->at + length < c->end && vtac_script_is_word_byte(c->at[length]))) {
        return false;
    }
    c->at += length;
    return true;
}

const char *vtac_script_read_word(vtac_torch *im, torch_cursor *c)
{
    vtac_script_skip_blanks(c);
    const char *start = c->at;
    while (c->at < c->end && vtac_script_is_word_byte(*c->at)) {
        c->at++;
    }
    const char *word = vta_arena_string(&im->maker.graph->arena, start, (size_t)(c->at - start));
    return word == NULL ? "" : word;
}

void vtac_script_skip_type(torch_cursor *c)
{
    int deep = 0;
    for (; c->at < c->end; c->at++) {
        const char b = *c->at;
        if (deep == 0 && (b == ',' || b == '=' || b == ')' || b == '\n')) {
            return;
        }
        deep += b == '[' || b == '(' ? 1 : b == ']' || b == ')' ? -1 : 0;
    }
}

void vtac_script_skip_line(torch_cursor *c)
{
    const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    c->at = end == NULL ? c->end : end + 1;
}

size_t vtac_script_line_indent(torch_cursor *c)
{
    while (c->at < c->end) {
        const char *at = c->at;
        while (at < c->end && *at == ' ') {
            at++;
        }
        if (at < c->end && *at != '\n' && *at != '\r' && *at != '#') {
            return (size_t)(at - c->at);
        }
        vtac_script_skip_line(c);
    }
    return SIZE_MAX;
}

bool vtac_script_count_step(vtac_torch *im, torch_cursor *c)
{
    if (++im->steps > TORCH_MAX_STEPS || im->depth > TORCH_MAX_DEPTH) {
        vtac_script_refuse_code(
            im, c, "the program takes more than %d steps or goes deeper than %d calls and brackets",
            TORCH_MAX_STEPS, TORCH_MAX_DEPTH);
    }
    return im->maker.status == VTA_OK;
}

/* ---- definitions */

bool vtac_script_open_code(vtac_torch *im, const char *module, size_t length, torch_cursor *c)
{
    char name[600];
    (void)snprintf(name, sizeof name, "code/%.*s", (int)(length < 500 ? length : 500), module);
    for (char *at = name; *at != '\0'; at++) {
        if (*at == '.') {
            *at = '/';
        }
    }
    (void)snprintf(name + strlen(name), sizeof name - strlen(name), ".py");
    const vtac_zip_member *member = vtac_torch_member(im, &im->archive, name);
    im->steps += im->archive.count / TORCH_COSTLY;
    if (member == NULL) {
        return false;
    }
    const char *text = (const char *)member->bytes;
    *c = (torch_cursor){.at = text, .begin = text, .end = text + member->size, .file = member->name};
    return true;
}

bool vtac_script_find_definition(vtac_torch *im, torch_cursor *c, const char *what, const char *name,
                                 size_t indent)
{
    const size_t lead = strlen(what);
    const size_t length = strlen(name);
    for (uint32_t lines = 1;; lines++) {
        const size_t own = vtac_script_line_indent(c);
        if (own == SIZE_MAX || own < indent ||
            (lines % TORCH_COSTLY == 0 && !vtac_script_count_step(im, c))) {
            return false;
        }
        const char *at = c->at + own;
        const size_t left = (size_t)(c->end - at);
        if (own == indent && left > lead + length && memcmp(at, what, lead) == 0 &&
            memcmp(at + lead, name, length) == 0 && !vtac_script_is_word_byte(at[lead + length])) {
            c->at = at + lead + length;
            return true;
        }
        vtac_script_skip_line(c);
    }
}

bool vtac_script_find_code(vtac_torch *im, const char *path, const char *method, torch_cursor *c)
{
    const char *dot = strrchr(path, '.');
    if (dot == NULL || !vtac_script_open_code(im, path, (size_t)(dot - path), c)) {
        return false;
    }
    if (method == NULL) {
        return vtac_script_find_definition(im, c, "def ", dot + 1, 0);
    }
    if (!vtac_script_find_definition(im, c, "class ", dot + 1, 0)) {
        return false;
    }
    vtac_script_skip_line(c);
    return vtac_script_find_definition(im, c, "def ", method, 2);
}
