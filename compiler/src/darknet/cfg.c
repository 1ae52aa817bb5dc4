/* SPDX-License-Identifier: Apache-2.0 */
#include "cfg.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vta/vec.h"

enum { MAX_SECTIONS = 1 << 16, MAX_ENTRIES = 1 << 12 };

/* [begin, end) without blanks around it, terminated, in the arena. */
static const char *trimmed_text(vta_arena *arena, const char *begin, const char *end)
{
    while (begin < end && isspace((unsigned char)*begin)) {
        begin++;
    }
    while (end > begin && isspace((unsigned char)end[-1])) {
        end--;
    }
    char *text = vta_arena_string(arena, begin, (size_t)(end - begin));
    for (char *p = text; p != NULL && *p != '\0'; p++) {
        *p = isprint((unsigned char)*p) ? *p : '_'; /* a message is one line */
    }
    return text;
}

static vta_status add_section(vtac_cfg_file *cfg, const char *type, uint32_t line, vta_diag *diag)
{
    vtac_cfg_section *sections = vta_grow(cfg->sections, &cfg->room, cfg->count + 1, sizeof *sections);
    if (sections == NULL || type == NULL || cfg->count >= MAX_SECTIONS) {
        cfg->sections = sections == NULL ? cfg->sections : sections;
        return vta_fail(diag, VTA_NOMEM, "line %u: out of memory, or more than %d sections", line,
                        MAX_SECTIONS);
    }
    cfg->sections = sections;
    sections[cfg->count++] = (vtac_cfg_section){.type = type, .line = line};
    return VTA_OK;
}

static vta_status add_entry(vtac_cfg_section *s, const char *name, const char *value, uint32_t line,
                            vta_diag *diag)
{
    vtac_cfg_entry *entries = vta_grow(s->entries, &s->room, s->count + 1, sizeof *entries);
    if (entries == NULL || name == NULL || value == NULL || s->count >= MAX_ENTRIES) {
        s->entries = entries == NULL ? s->entries : entries;
        return vta_fail(diag, VTA_NOMEM, "line %u: out of memory, or more than %d values", line, MAX_ENTRIES);
    }
    s->entries = entries;
    entries[s->count++] = (vtac_cfg_entry){name, value};
    return VTA_OK;
}

static vta_status parse_line(vtac_cfg_file *cfg, vta_arena *arena, const char *begin, const char *end,
                             uint32_t line, vta_diag *diag)
{
    while (begin < end && isspace((unsigned char)*begin)) {
        begin++;
    }
    if (begin == end || *begin == '#' || *begin == ';') {
        return VTA_OK;
    }
    if (*begin == '[') {
        const char *close = memchr(begin, ']', (size_t)(end - begin));
        return close == NULL ? vta_fail(diag, VTA_SYNTAX, "line %u: a section without ']'", line)
                             : add_section(cfg, trimmed_text(arena, begin + 1, close), line, diag);
    }
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    if (equals == NULL || cfg->count == 0) {
        return vta_fail(diag, VTA_SYNTAX, "line %u: expected '[section]' or 'name = value'", line);
    }
    return add_entry(&cfg->sections[cfg->count - 1], trimmed_text(arena, begin, equals),
                     trimmed_text(arena, equals + 1, end), line, diag);
}

vta_status vtac_cfg_parse(const vtac_model_file *file, vta_arena *arena, vtac_cfg_file *out, vta_diag *diag)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->size;
    for (uint32_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        VTA_TRY(parse_line(out, arena, at, stop, line, diag));
        at = stop < end ? stop + 1 : end;
    }
    return VTA_OK;
}

void vtac_cfg_free(vtac_cfg_file *cfg)
{
    for (size_t i = 0; i < cfg->count; i++) {
        free(cfg->sections[i].entries);
    }
    free(cfg->sections);
}

const char *vtac_cfg_text(const vtac_cfg_section *s, const char *name)
{
    for (size_t i = s->count; i-- > 0;) {
        if (strcmp(s->entries[i].name, name) == 0) {
            return s->entries[i].value;
        }
    }
    return NULL;
}

vta_status vtac_cfg_int(const vtac_cfg_section *s, const char *name, int64_t otherwise, int64_t min,
                        int64_t max, int64_t *out, vta_diag *diag)
{
    const char *text = vtac_cfg_text(s, name);
    char *end = NULL;
    const long long value = text == NULL ? otherwise : strtoll(text, &end, 10);
    *out = value;
    if (text != NULL && (end == text || (*end != '\0' && *end != '.' && !isspace((unsigned char)*end)))) {
        return vta_fail(diag, VTA_SYNTAX, "%s '%.40s' is no number", name, text);
    }
    return value >= min && value <= max ? VTA_OK
                                        : vta_fail(diag, VTA_RANGE, "%s is %lld, expected %lld to %lld", name,
                                                   value, (long long)min, (long long)max);
}

vta_status vtac_cfg_ints(const vtac_cfg_section *s, const char *name, int64_t *out, size_t room,
                         size_t *count, vta_diag *diag)
{
    const char *at = vtac_cfg_text(s, name);
    *count = 0;
    while (at != NULL && *at != '\0') {
        char *end;
        const long long value = strtoll(at, &end, 10);
        if (end == at || *count == room) {
            return vta_fail(diag, VTA_SYNTAX, "%s: '%.40s' is no list of at most %zu numbers", name,
                            vtac_cfg_text(s, name), room);
        }
        out[(*count)++] = value;
        for (at = end; *at == ',' || isspace((unsigned char)*at);) {
            at++;
        }
    }
    return VTA_OK;
}

double vtac_cfg_float(const vtac_cfg_section *s, const char *name, double otherwise)
{
    const char *text = vtac_cfg_text(s, name);
    char *end = NULL;
    const double value = text == NULL ? otherwise : strtod(text, &end);
    return text == NULL || end == text || !isfinite(value) ? otherwise : value;
}
