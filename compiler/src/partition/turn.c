/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains whose pixels become channels and whose channels become pixels: one Transpose of an image
 * (vta/transpose.c), read from the sources of all numbers, as move.c finds them.
 */
#include "builder.h"
#include "partition.h"

/* The numbers of a base that a transposition reads: `pixels` of the output are channels of it. */
static bool reads_turned(const vtac_sources *s, const vtac_transposition *t, int64_t each,
                         const int64_t shape[4])
{
    const int64_t channels = shape[1], pixels = shape[3];
    bool turned = true;
    for (int64_t i = 0; turned && i < channels * pixels; i++) {
        const int64_t channel = i / pixels, from = t->first + channel / each * t->stride + i % pixels;
        turned = s->numbers[i] == (int32_t)(from * each + channel % each) + 1;
    }
    return turned;
}

vtac_transposition vtac_find_transposition(const vta_config *config, const vtac_sources *s)
{
    const int64_t block = vtac_vta_block(config);
    int64_t own[4], shape[4];
    vtac_transposition t = {0};
    if (config->rows == 0 || config->batch != 1 || s->to->rank != 3 || s->to->dim[0] != 1 ||
        !vtac_image_shape(s->to, shape) || !vtac_image_shape(s->bases[0], own) || own[0] != 1 ||
        vtac_type_elements(s->bases[0]) < 1) {
        return t;
    }
    const int64_t each = own[2] * own[3], groups = shape[1] / each; /* channels of a group */
    if (shape[1] % each != 0 || shape[1] < block || shape[3] < block || s->numbers[0] < 1) {
        return t;
    }
    t.first = (s->numbers[0] - 1) / each;
    t.stride = own[1] / groups;
    const bool whole = own[1] % groups == 0 && t.stride % block == 0 && t.first == 0;
    t.groups =
        t.first % block == 0 && (groups == 1 || whole) && reads_turned(s, &t, each, shape) ? groups : 0;
    return t;
}

vta_status vtac_take_transposed(const vtac_node_builder *b, const vtac_type *type,
                                const vtac_transposition *t, vtac_value_id *image)
{
    const vtac_type from = vtac_b_type(b, *image);
    if (t->groups == 1) {
        VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, from.dim[1], type->dim[1]}, 3, image));
        return from.dim[1] != type->dim[2] ? vtac_b_slice(b, 1, t->first, type->dim[2], image) : VTA_OK;
    }
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){t->groups, t->stride, type->dim[1] / t->groups}, 3, image));
    VTA_TRY(t->stride != type->dim[2] ? vtac_b_slice(b, 1, 0, type->dim[2], image) : VTA_OK);
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){1, 0, 2}, 3, image));
    return vtac_b_reshape(b, (int64_t[]){1, type->dim[2], type->dim[1]}, 3, image);
}
