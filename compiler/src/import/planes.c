/* SPDX-License-Identifier: Apache-2.0 */
#include "maker.h"

/* Rows that are planes laid out with the channels last, as they come from convolutions: the planes. 0: not.
 */
static vtac_id planes_behind(const vtac_import_builder *m, vtac_id rows)
{
    const vtac_graph *g = m->graph;
    const int64_t images = vtac_made_type(m, rows).dim[0];
    for (vtac_id id = rows; m->status == VTA_OK && id != 0 && g->values[id].constant == NULL;) {
        const vtac_value *v = &g->values[id];
        const vtac_node *node = v->node == 0 ? NULL : &g->nodes[v->node];
        const vtac_attr *perm = node == NULL ? NULL : vtac_find_attr(node, "perm");
        if (node != NULL && (node->op == VTAC_OP_RESHAPE || node->op == VTAC_OP_IDENTITY)) {
            id = node->inputs[0];
            continue;
        }
        const bool turned = node != NULL && node->op == VTAC_OP_TRANSPOSE && perm != NULL &&
                            perm->count == 4 && perm->ints[0] == 0 && perm->ints[1] == 2 &&
                            perm->ints[2] == 3 && perm->ints[3] == 1;
        return turned && v->type.dim[0] == images ? node->inputs[0] : 0;
    }
    return 0;
}

void vtac_make_rows_of_planes(vtac_import_builder *m, vtac_id *x, vtac_id *weights)
{
    const vtac_id planes = planes_behind(m, *x);
    const vtac_tensor *known = vtac_made_constant(m, *weights);
    if (planes == 0 || known == NULL) {
        return;
    }
    const vtac_type to = vtac_made_type(m, planes);
    const vtac_type w = known->type;
    if (to.dim[1] * to.dim[2] * to.dim[3] != w.dim[1]) {
        return;
    }
    const int64_t last[] = {w.dim[0], to.dim[2], to.dim[3], to.dim[1]};
    vtac_id turned = vtac_make_reshape(m, *weights, last, 4);
    turned = vtac_make_transpose(m, turned, (int64_t[]){0, 3, 1, 2}, 4);
    *weights = vtac_make_reshape(m, turned, w.dim, 2);
    *x = vtac_make_reshape(m, planes, (int64_t[]){to.dim[0], w.dim[1]}, 2);
}
