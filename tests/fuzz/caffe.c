/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a network of Caffe. Behind a 0 follow its weights; without one, a layer called "w150_3" has
 * blobs of 150 and of 3 numbers, so that a text alone can be a whole network.
 */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "vtac/import.h"

enum { ROOM = 1 << 16, MAX = 4096 };

typedef struct message {
    uint8_t bytes[ROOM];
    size_t size;
} message;

static void put_bytes(message *m, uint64_t number, const void *bytes, size_t size)
{
    uint64_t words[] = {number << 3 | 2, size};
    for (int i = 0; i < 2; i++) {
        for (; words[i] > 127; words[i] >>= 7) {
            m->bytes[m->size++] = (uint8_t)(words[i] | 128);
        }
        m->bytes[m->size++] = (uint8_t)words[i];
    }
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

/* The layer whose name begins at `name`: its blobs are as long as the numbers in it. */
static void put_layer(message *all, const char *name, const char *end)
{
    static message layer;
    static message blob;
    static float numbers[MAX];
    layer.size = 0;
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
        blob.size = 0;
        put_bytes(&blob, 5, numbers, (size_t)count * sizeof(float));
        put_bytes(&layer, 7, blob.bytes, blob.size);
        at = stop;
    }
    if (all->size + layer.size + 16 < ROOM) {
        put_bytes(all, 100, layer.bytes, layer.size);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static message made;
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    const size_t length = strlen(text);
    made.size = 0;
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
    const vta_status status = vtac_caffe_parse(&file, own ? data + length + 1 : made.bytes,
                                               own ? size - length - 1 : made.size, NULL, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
