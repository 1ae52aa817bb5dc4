/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an ONNX model: refused with one line, or a valid graph that lowers and plans or is refused
 * with one line, too; some of them go on through code generation. Every other input keeps the sizes open that
 * it leaves open.
 */
#include <string.h>

#include "../../compiler/src/lower/lower.h"
#include "fuzz.h"
#include "vtac/codegen.h"
#include "vtac/onnx.h"

enum { ONE_IN = 32 };

static void require_line(vta_status status, const vta_diag *diag)
{
    FUZZ_REQUIRE(status == diag->code);
    FUZZ_REQUIRE(diag->text[0] != '\0');
    FUZZ_REQUIRE(strchr(diag->text, '\n') == NULL);
}

static void lower(const vtac_graph *graph, const vtac_target *target)
{
    vta_diag diag = {0};
    vtac_program program = {.graph = graph, .target = target, .level = 2};
    vta_status status = vtac_lower_graph(&program, &diag);
    if (status == VTA_OK) {
        status = vtac_plan(&program, &diag);
    }
    if (status != VTA_OK) {
        require_line(status, &diag);
        FUZZ_REQUIRE(status == VTA_UNSUPPORTED || status == VTA_INVALID || status == VTA_RANGE ||
                     status == VTA_NOMEM);
    }
    vtac_program_free(&program);
}

static void generate(const vtac_graph *graph, const vtac_target *target)
{
    vta_diag diag = {0};
    vtac_artifact_image image;
    const vtac_compile_options options = {.level = 0, .target = target};
    const vta_status status = vtac_compile(graph, &options, &image, &diag);
    if (status == VTA_OK) {
        vtac_artifact_image_free(&image);
    } else {
        require_line(status, &diag);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < size; i++) {
        hash = hash * 31 + data[i];
    }
    const vtac_import_options options = {.dynamic = hash % 2 == 0};
    vtac_graph *graph = NULL;
    vtac_target target;
    vta_diag diag = {0};
    const vta_status status = vtac_onnx_parse(data, size, "model", NULL, &options, &graph, &diag);
    if (status != VTA_OK) {
        FUZZ_REQUIRE(graph == NULL);
        require_line(status, &diag);
        return;
    }
    FUZZ_REQUIRE(vtac_graph_verify(graph, &diag) == VTA_OK);
    FUZZ_REQUIRE(vtac_target_find("x86-64-v3", &target, &diag) == VTA_OK);
    lower(graph, &target);
    if (hash / 2 % ONE_IN == 0) {
        generate(graph, &target);
    }
    vtac_graph_destroy(graph);
}
