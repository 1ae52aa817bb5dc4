/* SPDX-License-Identifier: Apache-2.0
 *
 * The best boxes that do not overlap, in outputs that have room for the most there can be; what is not used
 * is 0.
 */
#include <math.h>

#include "operators.h"

/* `rows` [count][3] of NonMaxSuppression have -1 where there is none: which box, and whether. */
static vtac_id chosen_boxes(vtac_tflite *im, vtac_id rows, int64_t count, vtac_id *there)
{
    vtac_import_builder *m = &im->maker;
    vtac_id at = vtac_make_reshape(m, vtac_make_slice(m, rows, 1, 2, 3), (int64_t[]){count}, 1);
    *there = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, at, vtac_make_number(m, VTAC_I64, 0.0));
    return vtac_make2(m, VTAC_OP_MAX, at, vtac_make_number(m, VTAC_I64, 0.0));
}

static vtac_id with_room(vtac_tflite *im, vtac_id x, int64_t count, int64_t room)
{
    const int64_t pads[] = {0, room - count};
    return count == room ? x : vtac_make2(&im->maker, VTAC_OP_PAD, x, vtac_make_ints(&im->maker, pads, 2));
}

/* boxes [n][4], scores [n], most, overlap, least score; how = 1: and a sigma, and the scores come out, too */
void vtac_tflite_import_non_max(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t max = 0;
    const bool soft = im->how == 1;
    const vtac_type boxes = vtac_tflite_type(im, 0);
    const vtac_type scores = vtac_tflite_type(im, 1);
    const vtac_tensor *sigma = soft ? vtac_made_constant(m, vtac_tflite_plain(im, 5)) : NULL;
    const vtac_tensor *min = vtac_made_constant(m, vtac_tflite_plain(im, 4));
    if (vtac_tflite_known_ints(im, 2, "count of boxes", &max, 1) != 1 || boxes.rank != 2 ||
        boxes.dim[1] != 4 || scores.rank != 1 || scores.dim[0] != boxes.dim[0] || max < 1 || max > 1 << 16 ||
        boxes.dim[0] < 1) {
        vtac_make_fail(m, VTA_INVALID, "boxes and scores do not fit, or a count of %lld", (long long)max);
        return;
    }
    if (min == NULL || min->type.dtype != VTAC_F32 ||
        (soft && (sigma == NULL || vtac_tensor_float(sigma, 0) != 0.0))) {
        vtac_make_refuse(&im->maker, "a least score that the run works out, or a sigma that is not 0");
        return;
    }
    const int64_t n = boxes.dim[0];
    const int64_t count = max < n ? max : n;
    const vtac_id in[] = {vtac_make_reshape(m, vtac_tflite_plain(im, 0), (int64_t[]){1, n, 4}, 3),
                          vtac_make_reshape(m, vtac_tflite_plain(im, 1), (int64_t[]){1, 1, n}, 3),
                          vtac_make_number(m, VTAC_I64, (double)count), vtac_tflite_plain(im, 3),
                          vtac_tflite_plain(im, 4)};
    vtac_id there = 0;
    const vtac_id at =
        chosen_boxes(im, vtac_make(m, VTAC_OP_NON_MAX_SUPPRESSION, in, 5, NULL, 0), count, &there);
    const vtac_id used = vtac_make_cast(m, there, VTAC_I32);
    uint32_t out = 0;
    const vtac_id which = vtac_make2(m, VTAC_OP_MUL, vtac_make_cast(m, at, VTAC_I32), used);
    vtac_tflite_set(im, out++, with_room(im, which, count, max));
    if (soft) {
        const vtac_id best = vtac_make2(m, VTAC_OP_GATHER, vtac_tflite_plain(im, 1), at);
        const vtac_id none = vtac_make_number(m, VTAC_F32, 0.0);
        vtac_tflite_set(im, out++,
                        with_room(im, vtac_make3(m, VTAC_OP_WHERE, there, best, none), count, max));
    }
    const int64_t axis = 0;
    vtac_tflite_set(im, out, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, used, &axis, 1, false));
}
