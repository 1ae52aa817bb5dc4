/* SPDX-License-Identifier: Apache-2.0
 *
 * The best boxes that do not overlap, in outputs that have room for the most there can be; what is not used
 * is 0.
 */
#include <math.h>

#include "operators.h"

/* boxes [n][4], scores [n], their maximal number, overlap, smallest score; how = 1: and a sigma, and the
 * scores come out, too */
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
    vtac_boxes best = {.count = boxes.dim[0], .max = max < boxes.dim[0] ? max : boxes.dim[0]};
    best.corners = vtac_tflite_plain(im, 0);
    best.scores = vtac_tflite_plain(im, 1);
    best.overlap = vtac_tflite_plain(im, 3);
    best.min_score = vtac_tflite_plain(im, 4);
    vtac_id there = 0;
    const vtac_id at = vtac_make_best_boxes(m, &best, &there);
    const vtac_id used = vtac_make_cast(m, there, VTAC_I32);
    uint32_t out = 0;
    vtac_tflite_set(im, out++, vtac_make_row_count(m, vtac_make_cast(m, at, VTAC_I32), max, 0));
    if (soft) {
        const vtac_id chosen = vtac_make2(m, VTAC_OP_GATHER, best.scores, at);
        const vtac_id none = vtac_make_number(m, VTAC_F32, 0.0);
        vtac_tflite_set(im, out++,
                        vtac_make_row_count(m, vtac_make3(m, VTAC_OP_WHERE, there, chosen, none), max, 0));
    }
    const int64_t axis = 0;
    vtac_tflite_set(im, out, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, used, &axis, 1, false));
}
