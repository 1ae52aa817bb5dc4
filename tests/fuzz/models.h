/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that the fuzz targets of importers read, and what all ask of a result: one line, or a valid graph.
 */
#ifndef FUZZ_MODELS_H
#define FUZZ_MODELS_H

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vtac/graph.h"

/* The input as a text, which ends at its first 0; free()d. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

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
