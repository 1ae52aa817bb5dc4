/* SPDX-License-Identifier: Apache-2.0
 *
 * What the three containers have in common, and the plainest of them, a frozen GraphDef.
 */
#include <ctype.h>
#include <string.h>

#include "../keras/keras.h"
#include "import.h"
#include "vta/fail.h"

/* A GraphDef begins with a node: its name and its operator, a word that begins with a capital letter or '_'.
 * Behind the nodes, which are field 1, are versions and a library. */
static bool has_nodes(vtac_wire message)
{
    enum { NODE = 1, LAST = 5, NODE_NAME = 1, NODE_OP = 2 };
    vtac_wire node;
    vtac_wire op;
    return vtac_wire_has_only(message, LAST) && vtac_wire_message(message, NODE, &node) &&
           vtac_wire_has_text(node, NODE_NAME) && vtac_wire_has_text(node, NODE_OP) &&
           vtac_wire_message(node, NODE_OP, &op) && (isupper(*op.at) != 0 || *op.at == '_');
}

bool vtac_recognize_graphdef(const vtac_model_file *file)
{
    return has_nodes((vtac_wire){file->bytes, file->bytes + file->size});
}

static vta_status load_frozen(vtac_tf *im, const vtac_model_file *file, vta_diag *diag)
{
    VTA_TRY(vtac_tf_read_graph(&im->graph, (vtac_wire){file->bytes, file->bytes + file->size}, diag));
    return vtac_tf_import(im, diag);
}

typedef vta_status load_fn(vtac_tf *im, const vtac_model_file *file, vta_diag *diag);

static vta_status read_into(vtac_graph *graph, const vtac_model_file *file, load_fn *read,
                            const vtac_import_options *options, vta_diag *diag)
{
    vtac_tf *im;
    VTA_TRY(vtac_tf_room(&graph->arena, 1, sizeof *im, &im, diag));
    im->options = options;
    im->graph.arena = &graph->arena;
    im->maker = (vtac_import_builder){.graph = graph, .diag = diag, .name = "", .budget = VTAC_BUILDER_NODES};
    return read(im, file, diag);
}

static vta_status load(const vtac_model_file *file, load_fn *read, const vtac_import_options *options,
                       vtac_graph **out, vta_diag *diag)
{
    vtac_graph *graph = vtac_graph_create("main");
    const vta_status status =
        graph == NULL ? vta_no_memory(diag) : read_into(graph, file, read, options, diag);
    if (status != VTA_OK) {
        vtac_graph_destroy(graph);
        vtac_keras_one_line(diag);
        (void)vta_context(diag, "%s", file->path);
        return status;
    }
    (void)vtac_remove_dead(graph);
    *out = graph;
    return VTA_OK;
}

vta_status vtac_load_graphdef(const vtac_model_file *file, const vtac_import_options *options,
                              vtac_graph **out, vta_diag *diag)
{
    return load(file, load_frozen, options, out, diag);
}

vta_status vtac_load_savedmodel(const vtac_model_file *file, const vtac_import_options *options,
                                vtac_graph **out, vta_diag *diag)
{
    return load(file, vtac_tf_load_saved, options, out, diag);
}

vta_status vtac_load_tfjs(const vtac_model_file *file, const vtac_import_options *options, vtac_graph **out,
                          vta_diag *diag)
{
    return load(file, vtac_tf_load_json, options, out, diag);
}
