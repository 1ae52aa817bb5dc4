/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a symbol of MXNet. Behind a 0 follow its arrays; without one, there is an array for each "w2x3"
 * in the text, of that shape, so that a text alone can be a whole model.
 */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "vtac/import.h"

enum { ROOM = 1 << 16, MAX_NAMES = 32, MAX_NAME = 32 };

typedef struct params {
    uint8_t bytes[ROOM];
    size_t size;
    char names[MAX_NAMES][MAX_NAME];
    uint64_t count;
} params;

static void put_bytes(params *p, const void *bytes, size_t size)
{
    if (p->size + size <= ROOM) {
        memcpy(p->bytes + p->size, bytes, size);
        p->size += size;
    }
}

/* The array whose shape stands in its name, with the header of files before 1.0. */
static void put_array(params *p, const char *name, size_t length)
{
    uint32_t head[8] = {0};
    uint32_t count = 1;
    const uint32_t place[3] = {1, 0, 0};
    const float number = 0.25F;
    char own[MAX_NAME] = "";
    memcpy(own, name, length);
    for (const char *at = own; at != NULL && head[0] < 4; at = strchr(at, 'x')) {
        const long dim = strtol(at + 1, NULL, 10);
        head[++head[0]] = dim > 0 && dim < 256 ? (uint32_t)dim : 1;
        count *= head[head[0]];
        at++;
    }
    if (count > 4096) {
        return;
    }
    memcpy(p->names[p->count++], own, MAX_NAME);
    put_bytes(p, head, 4 * (1 + (size_t)head[0]));
    put_bytes(p, place, sizeof place);
    for (uint32_t i = 0; i < count; i++) {
        put_bytes(p, &number, sizeof number);
    }
}

static void make_params(params *p, const char *text)
{
    uint64_t head[3] = {0x112, 0, 0};
    p->size = p->count = 0;
    put_bytes(p, head, sizeof head);
    for (const char *at = text; (at = strstr(at, "\"w")) != NULL && p->count < MAX_NAMES; at++) {
        const char *end = strchr(at + 1, '"');
        if (end != NULL && end - at < MAX_NAME) {
            put_array(p, at + 1, (size_t)(end - at - 1));
        }
    }
    memcpy(p->bytes + 16, &p->count, sizeof p->count);
    put_bytes(p, &p->count, sizeof p->count);
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t length = strlen(p->names[i]);
        put_bytes(p, &length, sizeof length);
        put_bytes(p, p->names[i], length);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static params made;
    static const vtac_shape_option shape = {"data", 4, {1, 2, 5, 6}, {0}};
    const vtac_import_options options = {.shapes = &shape, .shape_count = 1};
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    const size_t length = strlen(text);
    make_params(&made, text);
    const bool own = length < size;
    const vtac_model_file file = {.path = "a-symbol.json", .bytes = (const uint8_t *)text, .size = length};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_mxnet_parse(&file, own ? data + length + 1 : made.bytes,
                                               own ? size - length - 1 : made.size, &options, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
