/* SPDX-License-Identifier: Apache-2.0
 *
 * ONNX's experimental operators of the first opsets, which public models still hold.
 */
#include "compose.h"

/* scale * x + bias[channel] */
void vtac_composed_image_scaler(vtac_compose *c, vtac_value_id *out)
{
    const vtac_value_id x = vtac_c_in(c, 0);
    const vtac_attr *bias = vtac_c_attr(c, "bias");
    out[0] = vtac_c_mul_number(c, x, vtac_c_float(c, "scale", 1.0));
    if (bias == NULL || !vtac_c_expect_rank(c, 0, 4)) {
        return;
    }
    const vtac_type type = {vtac_c_dtype(c, x), 3, {(int64_t)bias->count, 1, 1}};
    if (bias->kind != VTAC_ATTR_FLOATS || type.dim[0] != vtac_c_dim(c, x, 1)) {
        (void)vtac_compose_fail(c, VTA_INVALID, "attribute 'bias' needs a number for each of %lld channels",
                                (long long)vtac_c_dim(c, x, 1));
        return;
    }
    out[0] = vtac_c_add(c, out[0], vtac_c_numbers(c, &type, bias->floats));
}

/* border: left, top, right, bottom, which go; scale: height and width of what stays, from the top left of the
 * rest */
void vtac_composed_crop(vtac_compose *c, vtac_value_id *out)
{
    vtac_value_id x = vtac_c_in(c, 0);
    const vtac_attr *border = vtac_c_attr(c, "border");
    const vtac_attr *scale = vtac_c_attr(c, "scale");
    if (!vtac_c_expect_rank(c, 0, 4)) {
        return;
    }
    if (border == NULL || border->kind != VTAC_ATTR_INTS || border->count != 4 ||
        (scale != NULL && (scale->kind != VTAC_ATTR_INTS || scale->count != 2))) {
        (void)vtac_compose_fail(c, VTA_INVALID, "attribute 'border' needs four integers, 'scale' two");
        return;
    }
    for (uint32_t i = 0; i < 2; i++) { /* rows, columns */
        const int64_t size = vtac_c_dim(c, x, 2 + i);
        const int64_t from = border->ints[i == 0 ? 1 : 0];
        int64_t to = size;
        if (scale != NULL) {
            if (__builtin_add_overflow(from, scale->ints[i], &to)) {
                to = -1;
            }
        } else if (__builtin_sub_overflow(size, border->ints[i == 0 ? 3 : 2], &to)) {
            to = -1;
        }
        if (from < 0 || to < from || to > size) {
            (void)vtac_compose_fail(c, VTA_RANGE, "it cuts %lld to %lld out of %lld places of axis %u",
                                    (long long)from, (long long)to, (long long)size, 2 + i);
            return;
        }
        x = vtac_c_slice(c, x, 2 + i, from, to);
    }
    out[0] = x;
}
