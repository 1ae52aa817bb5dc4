/* SPDX-License-Identifier: Apache-2.0
 *
 * Masks of softmax: from a truth for each number of rows to an image beside the image of the scores
 * (vtac/vta.h, masks), and back. A known mask becomes a constant; the host makes an image of any other one,
 * once a run.
 */
#include <string.h>

#include "packed.h"
#include "partition.h"
#include "vta/fail.h"

enum { LEFT_OUT = -128 };

/* Rows of `numbers`, `rows` of them for each of the groups of an image with `pixels`. Of a mask: `heads`
 * groups with one of their own, or one for all; `places` rows of a group with one of their own. */
typedef struct mask_shape {
    int64_t numbers, rows, each, pixels;
    int64_t heads, places;
} mask_shape;

/* The size of a mask along an axis of the scores. */
static int64_t size_along(const vtac_type *mask, const vtac_type *x, uint32_t axis)
{
    const uint32_t more = x->rank - mask->rank;
    return axis < more ? 1 : mask->dim[axis - more];
}

static mask_shape shape_of(const vtac_type *mask, const vtac_type *x, const vtac_type *image, int64_t groups)
{
    mask_shape s = {.numbers = x->dim[x->rank - 1], .each = image->dim[1] / groups, .pixels = image->dim[2]};
    bool shared = true;
    s.rows = vtac_type_elements(x) / s.numbers / groups;
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        shared = shared && size_along(mask, x, i) == 1;
    }
    const bool one = x->rank < 2 || size_along(mask, x, x->rank - 2) == 1;
    shared = shared && (one || x->dim[x->rank - 2] == s.rows);
    s.heads = shared ? 1 : groups;
    s.places = shared && one ? 1 : s.rows;
    return s;
}

static vta_status known_image(const vtac_node_builder *b, const vtac_tensor *mask, const mask_shape *s,
                              vtac_value_id *out)
{
    const vtac_type x = vtac_b_type(b, b->like.inputs[0]);
    const int64_t pixels = s->places == 1 ? 1 : s->pixels, count = s->heads * s->each * pixels;
    int8_t *data = vta_arena_array(b->arena, (size_t)count, 1);
    if (data == NULL) {
        return vtac_b_no_memory(b);
    }
    memset(data, 0, (size_t)count);
    for (int64_t i = 0; i < s->heads * s->rows * s->numbers; i++) {
        const int64_t row = i / s->numbers % s->rows, head = i / s->numbers / s->rows;
        if (row < pixels && vtac_tensor_int(mask, vtac_broadcast_at(&mask->type, &x, i)) != 0) {
            data[(head * s->each + i % s->numbers) * pixels + row] = LEFT_OUT;
        }
    }
    const vtac_type type = {.dtype = VTAC_I8, .rank = 3, .dim = {1, s->heads * s->each, pixels}};
    return vtac_b_constant(b, type, data, out);
}

/* Expands a mask to the rows that have one of their own: int32 [heads, places, numbers]. */
static vta_status expand_rows(const vtac_node_builder *b, const mask_shape *s, vtac_value_id *x)
{
    const vtac_type scores = vtac_b_type(b, b->like.inputs[0]);
    vtac_value_id shape;
    int64_t dims[VTAC_MAX_RANK];
    for (uint32_t i = 0; i < scores.rank; i++) {
        const bool inner = i + 1 == scores.rank || (i + 2 == scores.rank && s->places > 1);
        dims[i] = s->heads > 1 || inner ? scores.dim[i] : 1;
    }
    VTA_TRY(vtac_b_list(b, dims, scores.rank, &shape));
    VTA_TRY(vtac_b_cast(b, VTAC_I32, x));
    VTA_TRY(vtac_b_apply(b, VTAC_OP_EXPAND, shape, NULL, x));
    return vtac_b_reshape(b, (int64_t[]){s->heads, s->places, s->numbers}, 3, x);
}

static vta_status image_of_run(const vtac_node_builder *b, const mask_shape *s, vtac_value_id *x)
{
    const int64_t pixels = s->places == 1 ? 1 : s->pixels;
    VTA_TRY(expand_rows(b, s, x));
    VTA_TRY(vtac_b_with(b, VTAC_OP_MUL, LEFT_OUT, x));
    VTA_TRY(vtac_pair_pad(b, pixels, s->each, 0, x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){1, s->heads * s->each, pixels}, 3, x));
    return vtac_b_cast(b, VTAC_I8, x); /* last: the layer reads no other shape */
}

vta_status vtac_mask_to_image(const vtac_node_builder *b, const vtac_type *image, int64_t groups,
                              vtac_value_id *x)
{
    const vtac_tensor *known = b->graph->values[*x].constant;
    const vtac_type mask = vtac_b_type(b, *x), scores = vtac_b_type(b, b->like.inputs[0]);
    const mask_shape s = shape_of(&mask, &scores, image, groups);
    return known != NULL ? known_image(b, known, &s, x) : image_of_run(b, &s, x);
}

vta_status vtac_mask_of_image(const vtac_node_builder *b, int64_t each, int64_t numbers, vtac_value_id *x)
{
    const vtac_type image = vtac_b_type(b, *x);
    VTA_TRY(vtac_b_reshape(b, (int64_t[]){image.dim[1] / each, each, image.dim[2]}, 3, x));
    VTA_TRY(vtac_cut_matrices(b, numbers, image.dim[2], x));
    VTA_TRY(vtac_b_transpose(b, (int64_t[]){0, 2, 1}, 3, x));
    return vtac_b_cast(b, VTAC_BOOL, x);
}
