/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as the configuration of a Keras model, in an HDF5 file with weights of some shapes for layers a,
 * b, c, d and m. (The target `hdf5` damages the file's own structure.)
 */
#include <stdlib.h>
#include <string.h>

#include "keras_file.h"
#include "models.h"
#include "vtac/import.h"

void fuzz_input(const uint8_t *data, size_t size)
{
    size_t length;
    if (size > 32000) { /* an attribute has 64 KiB at most */
        return;
    }
    char *config = fuzz_text(data, size);
    uint8_t *bytes = keras_write_file(config, strlen(config), &length);
    free(config);
    const vtac_import_options options = {.shape_count = 0};
    const vtac_model_file file = {.path = "model.h5", .bytes = bytes, .size = length};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    if (bytes != NULL) {
        const vta_status status = vtac_load_keras(&file, &options, &graph, &diag);
        require_line_or_graph(status, &diag, graph);
    }
    free(bytes);
}
