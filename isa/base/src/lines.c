/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of text: what is no text is refused before anything counts lines.
 */
#include "vta/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/file.h"

static size_t line_of(const char *text, const char *at)
{
    size_t line = 1;
    for (; text < at; text++) {
        line += *text == '\n';
    }
    return line;
}

static bool begins_with(const char *text, size_t size, const char *mark, size_t mark_size)
{
    return size >= mark_size && memcmp(text, mark, mark_size) == 0;
}

/* Text without a mark that has a NUL is most often UTF-16, too. */
static vta_status check_text(const char *path, const char *text, size_t size, vta_diag *diag)
{
    if (begins_with(text, size, "\xff\xfe", 2) || begins_with(text, size, "\xfe\xff", 2)) {
        return vta_fail(diag, VTA_SYNTAX,
                        "%s: this is UTF-16 and must be UTF-8; 'iconv -f UTF-16 -t UTF-8' converts it", path);
    }
    const char *nul = memchr(text, '\0', size);
    if (nul != NULL) {
        return vta_fail(diag, VTA_SYNTAX,
                        "%s: line %zu: byte %zu is 0; expected text in UTF-8 ('iconv' converts UTF-16)", path,
                        line_of(text, nul), (size_t)(nul - text));
    }
    return VTA_OK;
}

/* Checks bytes, which are freed where they are no text, and takes the mark off. */
static vta_status take_text(const char *path, char *bytes, size_t size, char **text, vta_diag *diag)
{
    static const char mark[] = "\xef\xbb\xbf";
    const vta_status status = check_text(path, bytes, size, diag);
    if (status != VTA_OK) {
        free(bytes);
        return status;
    }
    if (begins_with(bytes, size, mark, sizeof mark - 1)) {
        memmove(bytes, bytes + sizeof mark - 1, size - (sizeof mark - 1) + 1);
    }
    *text = bytes;
    return VTA_OK;
}

vta_status vta_text_read(const char *path, size_t limit, char **text, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    *text = NULL;
    VTA_TRY(vta_file_read(path, limit, &bytes, &size, diag));
    return take_text(path, (char *)bytes, size, text, diag);
}

/* Ends each line where it ends. */
static vta_status split(const char *path, vta_lines *out, vta_diag *diag)
{
    for (char *line = out->text; *line != '\0';) {
        char *end = line + strcspn(line, "\n");
        out->open = *end == '\0';
        char *next = out->open ? end : end + 1;
        *end = '\0';
        if (end > line && end[-1] == '\r') {
            end[-1] = '\0';
        }
        out->line[out->count++] = line;
        if (strchr(line, '\r') != NULL) {
            return vta_fail(diag, VTA_SYNTAX,
                            "%s: line %zu has a carriage return in it; expected lines that end in a newline",
                            path, out->count);
        }
        line = next;
    }
    return VTA_OK;
}

vta_status vta_lines_take(const char *path, char *bytes, size_t size, vta_lines *out, vta_diag *diag)
{
    *out = (vta_lines){.line = NULL};
    VTA_TRY(take_text(path, bytes, size, &out->text, diag));
    out->line = calloc(line_of(out->text, strchr(out->text, '\0')), sizeof *out->line);
    const vta_status status = out->line != NULL ? split(path, out, diag) : vta_no_memory(diag);
    if (status != VTA_OK) {
        vta_lines_free(out);
    }
    return status;
}

vta_status vta_lines_read(const char *path, size_t limit, vta_lines *out, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    *out = (vta_lines){.line = NULL};
    VTA_TRY(vta_file_read(path, limit, &bytes, &size, diag));
    return vta_lines_take(path, (char *)bytes, size, out, diag);
}

void vta_lines_free(vta_lines *lines)
{
    free(lines->line);
    free(lines->text);
    *lines = (vta_lines){.line = NULL};
}
