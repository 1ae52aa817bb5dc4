/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a model of CoreML. The first inputs are texts, in which a line is a field of a message: its
 * number, then a whole number, a float with a point, a text in quotes, or a brace that opens a message; they
 * become messages here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "vtac/import.h"

enum { ROOM = 1 << 14, MAX_DEPTH = 12 };

typedef struct writer {
    uint8_t bytes[ROOM];
    size_t size;
    const char *at;
} writer;

static void put_number(writer *w, uint64_t value)
{
    for (; value > 127 && w->size < ROOM; value >>= 7) {
        w->bytes[w->size++] = (uint8_t)(value | 128);
    }
    if (w->size < ROOM) {
        w->bytes[w->size++] = (uint8_t)value;
    }
}

/* The key and the length of a message go in front of its bytes, which are those from `begin` on. */
static void wrap_message(writer *w, size_t begin, uint64_t number)
{
    static uint8_t inner[ROOM];
    const size_t size = w->size - begin;
    memcpy(inner, w->bytes + begin, size);
    w->size = begin;
    put_number(w, number << 3 | 2);
    put_number(w, size);
    if (w->size + size <= ROOM) {
        memcpy(w->bytes + w->size, inner, size);
        w->size += size;
    }
}

static void put_text(writer *w, uint64_t number)
{
    const size_t length = strcspn(++w->at, "'");
    put_number(w, number << 3 | 2);
    put_number(w, length);
    if (w->size + length <= ROOM) {
        memcpy(w->bytes + w->size, w->at, length);
        w->size += length;
    }
    w->at += length + (w->at[length] == '\'');
}

static void put_fields(writer *w)
{
    size_t begins[MAX_DEPTH];
    uint64_t numbers[MAX_DEPTH];
    unsigned depth = 0;
    while (*w->at != '\0') {
        char *end;
        while (isspace((unsigned char)*w->at) != 0) {
            w->at++;
        }
        if (*w->at == '}' && depth > 0) {
            depth--;
            wrap_message(w, begins[depth], numbers[depth]);
        }
        const uint64_t number = strtoull(w->at, &end, 10);
        if (end == w->at) {
            w->at += *w->at != '\0';
            continue;
        }
        w->at = end + (*end == ' ');
        if (*w->at == '{' && depth < MAX_DEPTH) {
            begins[depth] = w->size;
            numbers[depth++] = number;
        } else if (*w->at == '\'') {
            put_text(w, number);
        } else if (isdigit((unsigned char)*w->at) != 0 || *w->at == '-') {
            const char *from = w->at;
            const float real = strtof(from, &end);
            const bool whole = memchr(from, '.', (size_t)(end - from)) == NULL;
            put_number(w, number << 3 | (whole ? 0U : 5U));
            if (whole) {
                put_number(w, (uint64_t)strtoll(from, NULL, 10));
            } else if (w->size + sizeof real <= ROOM) {
                memcpy(w->bytes + w->size, &real, sizeof real);
                w->size += sizeof real;
            }
            w->at = end;
        }
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static writer w;
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    vtac_model_file file = {.path = "a.mlmodel", .bytes = data, .size = size};
    if (size > 0 && text[0] == '#') {
        w.size = 0;
        w.at = text + 1;
        put_fields(&w);
        file.bytes = w.bytes;
        file.size = w.size;
    }
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_load_coreml(&file, NULL, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
