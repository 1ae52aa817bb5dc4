/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a TensorFlow Lite file.
 */
#include "models.h"
#include "vtac/import.h"

void fuzz_input(const uint8_t *data, size_t size)
{
    const vtac_import_options options = {.states = true};
    const vtac_model_file file = {.path = "model", .bytes = data, .size = size};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_load_tflite(&file, &options, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
}
