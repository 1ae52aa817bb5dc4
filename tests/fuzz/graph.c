/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a graph: refused with a place and a sentence, or accepted; then it is valid, stays so through
 * all passes, and the text that it is written as reads back to the same text.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vtac/pass.h"

static void check_round_trip(const vtac_graph *graph)
{
    vtac_graph *back = NULL;
    char *text = vtac_graph_write(graph, 4);
    FUZZ_REQUIRE(text != NULL);
    FUZZ_REQUIRE(vtac_graph_parse(text, strlen(text), "again", &back, NULL) == VTA_OK);
    char *again = vtac_graph_write(back, 4);
    FUZZ_REQUIRE(again != NULL && strcmp(text, again) == 0);
    free(text);
    free(again);
    vtac_graph_destroy(back);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL) {
        return;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    const vta_status status = vtac_graph_parse(text, size, "fuzz", &graph, &diag);
    free(text);
    FUZZ_REQUIRE((status == VTA_OK) == (diag.text[0] == '\0'));
    FUZZ_REQUIRE((status == VTA_OK) == (graph != NULL));
    if (graph == NULL) {
        return;
    }
    FUZZ_REQUIRE(vtac_graph_verify(graph, &diag) == VTA_OK);
    check_round_trip(graph);
    const vtac_pass_options passes = {.level = 3, .verify = true};
    FUZZ_REQUIRE(vtac_run_passes(graph, &passes, &diag) == VTA_OK);
    check_round_trip(graph);
    vtac_graph_destroy(graph);
}
