/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a model of CoreML. The first inputs are texts, in which a line is a field of a message: its
 * number, then a whole number, a float with a point, a text in quotes, or a brace that opens a message; they
 * become messages here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "models.h"
#include "vtac/import.h"

enum { MAX_DEPTH = 12 };

/* Makes the bytes from `begin` on field `number`. */
static void wrap_message(vta_str *out, size_t begin, uint64_t number)
{
    vta_str inner = {0};
    vta_str_append(&inner, out->text + begin, out->size - begin);
    out->size = begin;
    put_bytes(out, number, inner.text, inner.size);
    vta_str_free(&inner);
}

/* A text up to its quote; returns what follows. */
static const char *put_text(vta_str *out, uint64_t number, const char *text)
{
    const size_t length = strcspn(text, "'");
    put_bytes(out, number, text, length);
    return text + length + (text[length] == '\'');
}

/* A whole number, or a float, which has a point; returns what follows. */
static const char *put_value(vta_str *out, uint64_t number, const char *text)
{
    char *end;
    const float real = strtof(text, &end);
    if (memchr(text, '.', (size_t)(end - text)) != NULL) {
        put_number(out, number << 3 | 5);
        vta_str_append(out, &real, sizeof real);
    } else {
        put_number(out, number << 3);
        put_number(out, (uint64_t)strtoll(text, NULL, 10));
    }
    return end;
}

static void put_fields(vta_str *out, const char *at)
{
    size_t begins[MAX_DEPTH];
    uint64_t numbers[MAX_DEPTH];
    unsigned depth = 0;
    while (*at != '\0') {
        char *end;
        at += strspn(at, " \t\r\n\v\f");
        if (*at == '}' && depth > 0) {
            depth--;
            wrap_message(out, begins[depth], numbers[depth]);
        }
        const uint64_t number = strtoull(at, &end, 10);
        if (end == at) {
            at += *at != '\0';
            continue;
        }
        at = end + (*end == ' ');
        if (*at == '{' && depth < MAX_DEPTH) {
            begins[depth] = out->size;
            numbers[depth++] = number;
        } else if (*at == '\'') {
            at = put_text(out, number, at + 1);
        } else if (isdigit((unsigned char)*at) != 0 || *at == '-') {
            at = put_value(out, number, at);
        }
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static vta_str made;
    char *text = fuzz_text(data, size);
    vtac_model_file file = {.path = "a.mlmodel", .bytes = data, .size = size};
    if (size > 0 && text[0] == '#') {
        start_message(&made);
        put_fields(&made, text + 1);
        file.bytes = (const uint8_t *)made.text;
        file.size = made.size;
    }
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_load_coreml(&file, NULL, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
