/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of TensorFlow: a GraphDef, a SavedModel without a folder, a model of TensorFlow.js
 * without weights. Variables have files of their own: an input whose middle byte is a multiple of four is
 * read as their index, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../compiler/src/tensorflow/import.h"
#include "models.h"
#include "temporary.h"
#include "vta/file.h"
#include "vtac/import.h"

static char folder[TEMPORARY_PATH];
static char variables[TEMPORARY_PATH + 16];
static char path[TEMPORARY_PATH + 32];

static void remove_folder(void)
{
    (void)unlink(path);
    (void)rmdir(variables);
    (void)rmdir(folder);
}

/* The index lies in a folder that this process has to itself. */
static const char *index_of(const uint8_t *data, size_t size)
{
    if (folder[0] == '\0') {
        FUZZ_REQUIRE(temporary_folder(folder));
        (void)snprintf(variables, sizeof variables, "%s/variables", folder);
        (void)snprintf(path, sizeof path, "%s/variables.index", variables);
        FUZZ_REQUIRE(mkdir(variables, 0700) == 0 && atexit(remove_folder) == 0);
    }
    FUZZ_REQUIRE(vta_file_write_scratch(path, data, size, NULL) == VTA_OK);
    return folder;
}

static void read_index(const uint8_t *data, size_t size)
{
    const struct vtac_tf_bundle *bundle = NULL;
    vta_arena arena = {0};
    vta_diag diag = {0};
    vtac_tensor tensor;
    vta_status status = vtac_tf_bundle_open(index_of(data, size), &arena, &bundle, &diag);
    if (status == VTA_OK) {
        status = vtac_tf_bundle_read(bundle, "v", &arena, &tensor, &diag);
    }
    FUZZ_REQUIRE(status == VTA_OK || (diag.text[0] != '\0' && strchr(diag.text, '\n') == NULL));
    vta_arena_free(&arena);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static vtac_load_fn *const loaders[] = {vtac_load_graphdef, vtac_load_savedmodel, vtac_load_tfjs};
    const vtac_import_options options = {.shape_count = 0};
    const vtac_model_file file = {.path = "model", .bytes = data, .size = size};
    for (int i = 0; i < 3; i++) {
        vtac_graph *graph = NULL;
        vta_diag diag = {0};
        const vta_status status = loaders[i](&file, &options, &graph, &diag);
        require_line_or_graph(status, &diag, graph);
    }
    if (size > 48 && data[size / 2] % 4 == 0) {
        read_index(data, size);
    }
}
