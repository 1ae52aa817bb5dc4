/* SPDX-License-Identifier: Apache-2.0
 *
 * A Pad that puts zeros around an image is the padding of the convolution that alone reads it:
 *
 *     Conv(Pad(x, zeros)) -> Conv(x) with larger pads
 *
 * An integer convolution has its input's zero point for zero.
 */
#include <string.h>

#include "rewrite.h"
#include "vta/fail.h"

/* True if what the Pad puts beside its elements is the convolution's zero. */
static bool puts_zeros(const vtac_rewrite *r, const vtac_node *pad, const vtac_node *conv)
{
    double value = 0.0, zero = 0.0;
    const bool given = vtac_in_type(r->graph, pad, VTAC_PAD_VALUE) != NULL;
    if (given && !vtac_scalar_of(r->graph, pad->inputs[VTAC_PAD_VALUE], &value)) {
        return false;
    }
    if (conv->op == VTAC_OP_QLINEAR_CONV && vtac_in_type(r->graph, conv, VTAC_QLINEAR_CONV_X_ZERO) != NULL &&
        !vtac_scalar_of(r->graph, conv->inputs[VTAC_QLINEAR_CONV_X_ZERO], &zero)) {
        return false;
    }
    return value == zero;
}

/* Reads how many places the Pad adds on each side of the axes behind the first two; false where it does
 * anything else. */
static bool read_pad(const vtac_rewrite *r, const vtac_node *pad, int64_t added[2 * VTAC_MAX_RANK])
{
    const vtac_tensor *pads = vtac_in_constant(r->graph, pad, VTAC_PAD_PADS);
    const uint32_t rank = vtac_in_type(r->graph, pad, VTAC_PAD_X)->rank;
    if (strcmp(vtac_attr_string(pad, "mode", "constant"), "constant") != 0 || pads == NULL || rank < 3 ||
        vtac_in_type(r->graph, pad, VTAC_PAD_AXES) != NULL ||
        vtac_type_elements(&pads->type) != 2 * (int64_t)rank) {
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < 2 * rank; i++) {
        const int64_t count = vtac_tensor_int(pads, i);
        const uint32_t axis = i % rank, axes = rank - 2;
        good = good && count >= 0 && (axis >= 2 || count == 0);
        if (axis >= 2) {
            added[(i / rank) * axes + axis - 2] = count;
        }
    }
    return good;
}

/* The convolution gets the pads that were added beside its own. */
static vta_status add_pads(vtac_rewrite *r, vtac_node_id id, const int64_t *added, uint32_t axes)
{
    const vtac_attr *own = vtac_find_attr(&r->graph->nodes[id], "pads");
    int64_t *pads = vta_arena_array(&r->graph->arena, 2 * (size_t)axes, sizeof *pads);
    vtac_attr *others;
    uint32_t count;
    VTA_TRY(vtac_attrs_without(r, &r->graph->nodes[id], "pads", &others, &count));
    vtac_attr *attrs = vta_arena_array(&r->graph->arena, (size_t)count + 1, sizeof *attrs);
    if (pads == NULL || attrs == NULL) {
        return vta_no_memory(r->diag);
    }
    for (uint32_t i = 0; i < 2 * axes; i++) {
        pads[i] = added[i] + (own != NULL && i < own->count ? own->ints[i] : 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        attrs[i] = others[i];
    }
    attrs[count] =
        (vtac_attr){.name = "pads", .kind = VTAC_ATTR_INTS, .count = 2 * (size_t)axes, .ints = pads};
    r->graph->nodes[id].attrs = attrs;
    r->graph->nodes[id].attr_count = count + 1;
    return VTA_OK;
}

vta_status vtac_join_pad(vtac_rewrite *r, vtac_node_id id, bool *changed)
{
    const vtac_node conv = r->graph->nodes[id];
    const vtac_node *above = vtac_producer(r, conv.inputs[VTAC_CONV_X]);
    const char *mode = vtac_attr_string(&conv, "auto_pad", "NOTSET");
    int64_t added[2 * VTAC_MAX_RANK] = {0};
    if (above == NULL || above->op != VTAC_OP_PAD || vtac_only_user(r, conv.inputs[VTAC_CONV_X]) == NULL ||
        strcmp(mode, "NOTSET") != 0) {
        return VTA_OK;
    }
    const vtac_node pad = *above;
    if (!read_pad(r, &pad, added) || !puts_zeros(r, &pad, &conv)) {
        return VTA_OK;
    }
    VTA_TRY(add_pads(r, id, added, vtac_in_type(r->graph, &pad, VTAC_PAD_X)->rank - 2));
    *changed = true;
    return vtac_set_input(r->graph, id, VTAC_CONV_X, pad.inputs[VTAC_PAD_X], r->diag);
}
