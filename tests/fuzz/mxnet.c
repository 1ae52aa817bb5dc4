/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a symbol of MXNet. Behind a 0 follow its arrays; without one, there is an array for each "w2x3"
 * in the text, of that shape, so that a text alone can be a whole model.
 */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "vta/str.h"
#include "vtac/import.h"

enum { MAX_NAMES = 32, MAX_NAME = 32 };

typedef struct params {
    vta_str file;
    char names[MAX_NAMES][MAX_NAME];
    uint64_t count;
} params;

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
    vta_str_append(&p->file, head, 4 * (1 + (size_t)head[0]));
    vta_str_append(&p->file, place, sizeof place);
    for (uint32_t i = 0; i < count; i++) {
        vta_str_append(&p->file, &number, sizeof number);
    }
}

static void make_params(params *p, const char *text)
{
    uint64_t head[3] = {0x112, 0, 0};
    p->file.size = p->count = 0;
    vta_str_append(&p->file, head, sizeof head);
    for (const char *at = text; (at = strstr(at, "\"w")) != NULL && p->count < MAX_NAMES; at++) {
        const char *end = strchr(at + 1, '"');
        if (end != NULL && end - at < MAX_NAME) {
            put_array(p, at + 1, (size_t)(end - at - 1));
        }
    }
    memcpy(p->file.text + 16, &p->count, sizeof p->count);
    vta_str_append(&p->file, &p->count, sizeof p->count);
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t length = strlen(p->names[i]);
        vta_str_append(&p->file, &length, sizeof length);
        vta_str_append(&p->file, p->names[i], length);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static params made;
    static const vtac_shape_option shape = {"data", 4, {1, 2, 5, 6}, {0}};
    const vtac_import_options options = {.shapes = &shape, .shape_count = 1};
    char *text = fuzz_text(data, size);
    const size_t length = strlen(text);
    make_params(&made, text);
    const bool own = length < size;
    const vtac_model_file file = {.path = "a-symbol.json", .bytes = (const uint8_t *)text, .size = length};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status =
        vtac_mxnet_parse(&file, own ? data + length + 1 : (const uint8_t *)made.file.text,
                         own ? size - length - 1 : made.file.size, &options, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
