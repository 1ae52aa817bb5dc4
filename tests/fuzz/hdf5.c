/* SPDX-License-Identifier: Apache-2.0
 *
 * A damaged HDF5 file of a Keras model: each three bytes of the input are a place in the file's metadata and
 * the byte that is put there; a first byte that is odd cuts the file at the first place, too.
 */
#include <stdlib.h>
#include <string.h>

#include "keras_file.h"
#include "models.h"
#include "vtac/import.h"

static const char config[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"Conv2D\", \"config\": "
    "{\"name\": \"a\", \"batch_input_shape\": [null, 8, 8, 2], \"filters\": 4, \"kernel_size\": [3, 3], "
    "\"strides\": [1, 1], \"padding\": \"same\", \"use_bias\": true, \"activation\": \"relu\"}}, "
    "{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"axis\": [3], \"epsilon\": "
    "0.001}}]}}";

void fuzz_input(const uint8_t *data, size_t size)
{
    static uint8_t *whole;
    static size_t length;
    if (whole == NULL) {
        whole = keras_write_file(config, strlen(config), &length);
        FUZZ_REQUIRE(whole != NULL && length < 1 << 16);
    }
    if (size < 1) {
        return;
    }
    const size_t changes = (size - 1) / 3;
    const size_t first = changes > 0 ? (size_t)(data[1] << 8 | data[2]) % length : length;
    const size_t kept = (data[0] & 1) != 0 ? first : length;
    uint8_t *bytes = malloc(kept + 1); /* of its own, so that a sanitizer sees what is read beyond its end */
    if (bytes == NULL) {
        return;
    }
    memcpy(bytes, whole, kept);
    for (size_t i = 0; i < changes; i++) {
        const uint8_t *change = data + 1 + 3 * i;
        const size_t at = (size_t)(change[0] << 8 | change[1]) % length;
        if (at < kept) {
            bytes[at] = change[2];
        }
    }
    const vtac_import_options options = {.shape_count = 0};
    const vtac_model_file file = {.path = "model.h5", .bytes = bytes, .size = kept};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_load_keras(&file, &options, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
    free(bytes);
}
