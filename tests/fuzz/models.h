/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets of all importers ask of a result: one line, or a valid graph.
 */
#ifndef FUZZ_MODELS_H
#define FUZZ_MODELS_H

#include <string.h>

#include "fuzz.h"
#include "vtac/graph.h"

static inline void require_line_or_graph(vta_status status, const vta_diag *diag, vtac_graph *graph)
{
    if (status != VTA_OK) {
        FUZZ_REQUIRE(graph == NULL && status == diag->code);
        FUZZ_REQUIRE(diag->text[0] != '\0' && strchr(diag->text, '\n') == NULL);
        return;
    }
    vta_diag found = {0};
    FUZZ_REQUIRE(graph != NULL && vtac_graph_verify(graph, &found) == VTA_OK);
    vtac_graph_destroy(graph);
}

#endif
