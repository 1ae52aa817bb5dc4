/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a net of Caffe2: the first operators, up to their first that is no filler, are the init_net as
 * well. The first inputs are written as text, "Conv a,b c kernel=3 order:NHWC" a line, and become messages
 * here.
 */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "models.h"
#include "vtac/import.h"

enum { MAX_WORD = 64 };

/* Names between commas; "-" is none. */
static void put_names(vta_str *m, uint64_t number, const char *names)
{
    while (names[0] != '\0' && names[0] != '-') {
        const size_t length = strcspn(names, ",");
        put_bytes(m, number, names, length);
        names += length + (names[length] == ',');
    }
}

/* name=3, name=0.5, name=2,2 or name:text */
static void put_argument(vta_str *op, const char *word)
{
    static vta_str argument;
    const size_t length = strcspn(word, "=:");
    const char *at = word + length;
    start_message(&argument);
    put_bytes(&argument, 1, word, length);
    if (*at == ':') {
        put_bytes(&argument, 4, at + 1, strlen(at + 1));
    } else if (strchr(at, '.') != NULL) {
        const float real = strtof(at + 1, NULL);
        const bool list = strchr(at, ',') != NULL;
        for (int i = 0; i < (list ? 4 : 1); i++) {
            put_number(&argument, (list ? 5U : 2U) << 3 | 5);
            vta_str_append(&argument, &real, sizeof real);
        }
    } else {
        const bool list = strchr(at, ',') != NULL;
        for (; *at != '\0'; at += strcspn(at, ",")) {
            put_number(&argument, (list ? 6U : 3U) << 3);
            put_number(&argument, (uint64_t)strtoll(++at, NULL, 10));
        }
    }
    put_bytes(op, 5, argument.text, argument.size);
}

/* A line of a seed: type, inputs, outputs, arguments. */
static void put_line(vta_str *net, const char *line, size_t length)
{
    static vta_str op;
    char word[MAX_WORD];
    const char *end = line + length;
    start_message(&op);
    for (int i = 0; line < end; i++) {
        const size_t all = strcspn(line, " \n");
        const size_t size = all < MAX_WORD ? all : MAX_WORD - 1;
        memcpy(word, line, size);
        word[size] = '\0';
        if (i == 0) {
            put_bytes(&op, 4, word, size);
        } else if (i < 3) {
            put_names(&op, (uint64_t)i, word);
        } else {
            put_argument(&op, word);
        }
        line += all + 1;
    }
    put_bytes(net, 2, op.text, op.size);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static vta_str net;
    static const vtac_shape_option shape = {"data", 4, {1, 2, 5, 6}, {0}};
    const vtac_import_options options = {.shapes = &shape, .shape_count = 1};
    vtac_model_file file = {.path = "predict_net.pb", .bytes = data, .size = size};
    char *text = fuzz_text(data, size);
    if (size > 0 && data[0] == '\n') { /* a seed */
        start_message(&net);
        put_bytes(&net, 7, "data", 4);
        for (const char *line = text + 1; *line != '\0';) {
            const size_t length = strcspn(line, "\n");
            put_line(&net, line, length);
            line += length + (line[length] == '\n');
        }
        put_bytes(&net, 8, "y", 1);
        file.bytes = (const uint8_t *)net.text;
        file.size = net.size;
    }
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status =
        vtac_caffe2_parse(&file, file.bytes, size % 2 == 0 ? 0 : file.size / 2, &options, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(text);
}
