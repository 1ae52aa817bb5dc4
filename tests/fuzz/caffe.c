/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a network of Caffe. Behind a 0 follow its weights; without one, a layer called "w150_3" has
 * blobs of 150 and of 3 numbers, so that a text alone can be a whole network.
 */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "models.h"
#include "vtac/import.h"

enum { ROOM = 1 << 16, MAX = 4096 };

/* The layer whose name begins at `name`: its blobs are as long as the numbers in it. */
static void put_layer(vta_str *all, const char *name, const char *end)
{
    static vta_str layer;
    static vta_str blob;
    static float numbers[MAX];
    start_message(&layer);
    put_bytes(&layer, 1, name, (size_t)(end - name));
    for (const char *at = name + 1; at < end; at++) {
        char *stop;
        const long count = strtol(at, &stop, 10);
        for (long i = 0; i < count && i < MAX; i++) {
            numbers[i] = 0.5F + (float)(i % 5) / 8.0F;
        }
        if (stop == at || count < 1 || count > MAX || layer.size + 4 * (size_t)count + 64 > ROOM) {
            break;
        }
        start_message(&blob);
        put_bytes(&blob, 5, numbers, (size_t)count * sizeof(float));
        put_bytes(&layer, 7, blob.text, blob.size);
        at = stop;
    }
    if (all->size + layer.size + 16 < ROOM) {
        put_bytes(all, 100, layer.text, layer.size);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static vta_str made;
    char *text = fuzz_text(data, size);
    const size_t length = strlen(text);
    start_message(&made);
    for (const char *at = text; length == size && (at = strstr(at, "\"w")) != NULL; at++) {
        const char *end = strchr(at + 1, '"');
        if (end != NULL && end - at < 64) {
            put_layer(&made, at + 1, end);
        }
    }
    const vtac_model_file file = {.path = "model.prototxt", .bytes = (const uint8_t *)text, .size = length};
    const bool own = length < size;
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_caffe_parse(&file, own ? data + length + 1 : (const uint8_t *)made.text,
                                               own ? size - length - 1 : made.size, NULL, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
