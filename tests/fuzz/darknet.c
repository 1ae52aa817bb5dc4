/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a Darknet cfg, with weights that go on and on.
 */
#include "models.h"
#include "vtac/import.h"

enum { WEIGHTS = 1 << 18 };

void fuzz_input(const uint8_t *data, size_t size)
{
    static float weights[WEIGHTS];
    const int32_t head[] = {0, 2, 5, 0, 0};
    for (int i = 0; weights[WEIGHTS - 1] == 0.0F && i < WEIGHTS; i++) {
        weights[i] = 0.25F + (float)(i % 7) / 8.0F;
    }
    memcpy(weights, head, sizeof head);
    const vtac_import_options options = {.states = true};
    const vtac_model_file file = {.path = "model.cfg", .bytes = data, .size = size};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status =
        vtac_darknet_parse(&file, (const uint8_t *)weights, sizeof weights, &options, &graph, &diag);
    require_line_or_graph(status, &diag, graph);
}
