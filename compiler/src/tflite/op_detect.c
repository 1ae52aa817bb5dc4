/* SPDX-License-Identifier: Apache-2.0
 *
 * TFLite_Detection_PostProcess: boxes from anchors, and of those that overlap the best. The outputs have room
 * for the most detections there can be; what is not used is 0.
 */
#include <math.h>

#include "operators.h"

typedef struct detection {
    int64_t max, classes_each, per_class, classes;
    bool regular;
    double score, overlap, scale[4]; /* of y, x, h, w */
    int64_t anchors, columns;        /* the scores' columns: classes, and perhaps one for the background */
    vtac_id boxes, scores;           /* [1, anchors, 4], corners; [anchors, classes] */
} detection;

static void read_options(vtac_tflite *im, detection *d)
{
    static const char *const scales[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    d->max = vtac_tflite_custom_count(im, "max_detections", (double)NAN, 1);
    d->classes_each = vtac_tflite_custom_count(im, "max_classes_per_detection", (double)NAN, 1);
    d->per_class = vtac_tflite_custom_count(im, "detections_per_class", 100.0, 1);
    d->classes = vtac_tflite_custom_count(im, "num_classes", (double)NAN, 1);
    d->regular = vtac_tflite_custom_number(im, "use_regular_nms", 0.0) != 0.0;
    d->score = vtac_tflite_custom_number(im, "nms_score_threshold", (double)NAN);
    d->overlap = vtac_tflite_custom_number(im, "nms_iou_threshold", (double)NAN);
    for (int i = 0; i < 4; i++) {
        d->scale[i] = vtac_tflite_custom_number(im, scales[i], (double)NAN);
    }
}

static vtac_id real_input(vtac_tflite *im, uint32_t i)
{
    const vtac_tflite_tensor *t = vtac_tflite_in(im, i);
    const vtac_id x = vtac_tflite_plain(im, i);
    return vtac_tflite_is_float(t) ? x : vtac_tflite_dequantize(im, x, t);
}

static void check_shapes(vtac_tflite *im, detection *d)
{
    const vtac_type boxes = vtac_tflite_type(im, 0);
    const vtac_type scores = vtac_tflite_type(im, 1);
    const vtac_type anchors = vtac_tflite_type(im, 2);
    if (im->maker.status != VTA_OK) {
        return;
    }
    d->anchors = boxes.rank == 3 ? boxes.dim[1] : 0;
    d->columns = scores.rank == 3 ? scores.dim[2] : 0;
    if (boxes.rank != 3 || scores.rank != 3 || anchors.rank != 2 || boxes.dim[0] != 1 || scores.dim[0] != 1 ||
        boxes.dim[2] < 4 || scores.dim[1] != d->anchors || anchors.dim[0] != d->anchors ||
        anchors.dim[1] != 4 || d->anchors < 1 || (d->columns != d->classes && d->columns != d->classes + 1)) {
        vtac_make_fail(&im->maker, VTA_INVALID,
                       "boxes, scores and anchors do not fit each other: [1, n, 4], [1, n, %lld or one more] "
                       "and [n, 4] are expected",
                       (long long)d->classes);
    }
}

/* Column k of rows, in double, as TensorFlow Lite computes it. */
static vtac_id box_column(vtac_tflite *im, vtac_id x, uint32_t axis, int64_t k)
{
    return vtac_make_cast(&im->maker, vtac_make_slice(&im->maker, x, axis, k, k + 1), VTAC_F64);
}

static vtac_id times_number(vtac_tflite *im, vtac_id x, double by)
{
    return vtac_make2(&im->maker, VTAC_OP_MUL, x, vtac_make_number(&im->maker, VTAC_F64, by));
}

/* Centres and sizes relative to the anchors, to corners. */
static void decode_boxes(vtac_tflite *im, detection *d)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id x =
        vtac_make_reshape(m, vtac_make_slice(m, real_input(im, 0), 2, 0, 4), (int64_t[]){d->anchors, 4}, 2);
    const vtac_id anchor = real_input(im, 2);
    vtac_id corner[4];
    for (int a = 0; a < 2; a++) {
        const vtac_id size = box_column(im, anchor, 1, a + 2);
        vtac_id centre =
            vtac_make2(m, VTAC_OP_DIV, box_column(im, x, 1, a), vtac_make_number(m, VTAC_F64, d->scale[a]));
        centre = vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, centre, size),
                            box_column(im, anchor, 1, a));
        vtac_id half = vtac_make2(m, VTAC_OP_DIV, box_column(im, x, 1, a + 2),
                                  vtac_make_number(m, VTAC_F64, d->scale[a + 2]));
        half = vtac_make2(m, VTAC_OP_MUL, times_number(im, vtac_make1(m, VTAC_OP_EXP, half), 0.5), size);
        centre = vtac_make_cast(m, centre, VTAC_F32);
        half = vtac_make_cast(m, half, VTAC_F32);
        corner[a] = vtac_make2(m, VTAC_OP_SUB, centre, half);
        corner[a + 2] = vtac_make2(m, VTAC_OP_ADD, centre, half);
    }
    d->boxes = vtac_make_reshape(m, vtac_make_concat(m, corner, 4, 1), (int64_t[]){1, d->anchors, 4}, 3);
    const vtac_id scores = vtac_make_slice(m, real_input(im, 1), 2, d->columns - d->classes, d->columns);
    d->scores = vtac_make_reshape(m, scores, (int64_t[]){d->anchors, d->classes}, 2);
}

/* The best boxes of each row of scores [1, rows, anchors]: rows of class and anchor, -1 where there is none.
 */
static vtac_id best_of(vtac_tflite *im, const detection *d, vtac_id scores, int64_t max)
{
    vtac_import_builder *m = &im->maker;
    const float below = nextafterf((float)d->score, -HUGE_VALF); /* at the threshold is enough */
    const int64_t count = max < d->anchors ? max : d->anchors;
    const vtac_id in[] = {d->boxes, scores, vtac_make_number(m, VTAC_I64, (double)count),
                          vtac_make_number(m, VTAC_F32, d->overlap),
                          vtac_make_number(m, VTAC_F32, (double)below)};
    return vtac_make(m, VTAC_OP_NON_MAX_SUPPRESSION, in, 5, NULL, 0);
}

static void top_k(vtac_tflite *im, vtac_id x, int64_t k, vtac_id out[2])
{
    const vtac_id in[] = {x, vtac_make_ints(&im->maker, &k, 1)};
    vtac_make_many(&im->maker, VTAC_OP_TOP_K, in, 2, NULL, 0, out, 2);
}

static vtac_id row_of(vtac_tflite *im, vtac_id rows, uint32_t column_number)
{
    const int64_t count = vtac_made_type(&im->maker, rows).dim[0];
    return vtac_make_reshape(
        &im->maker, vtac_make_slice(&im->maker, rows, 1, column_number, column_number + 1), &count, 1);
}

/* Numbers, or 0 where there is no detection, in a row of `size`. `there` is [count]; x [count, each]. */
static vtac_id fill_absent(vtac_tflite *im, vtac_id there, vtac_id x, int64_t each, int64_t room,
                           const int64_t *dims, uint32_t rank)
{
    vtac_import_builder *m = &im->maker;
    const int64_t count = vtac_made_type(m, there).dim[0];
    const vtac_id none = vtac_make_number(m, VTAC_F32, 0.0);
    const vtac_id mask = vtac_make_reshape(m, there, (int64_t[]){count, 1}, 2);
    vtac_id y = vtac_make_reshape(m, vtac_make_cast(m, x, VTAC_F32), (int64_t[]){count, each}, 2);
    y = vtac_make3(m, VTAC_OP_WHERE, mask, y, none);
    if (count < room) {
        const int64_t missing = (room - count) * each;
        const float *zeros = vtac_make_room(m, missing, sizeof *zeros);
        const vtac_id rest[] = {
            y, zeros == NULL ? 0
                             : vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 2, {room - count, each}}, zeros)};
        y = vtac_make_concat(m, rest, 2, 0);
    }
    return vtac_make_reshape(m, y, dims, rank);
}

static vtac_id gather_rows(vtac_tflite *im, vtac_id x, vtac_id rows)
{
    return vtac_make2(&im->maker, VTAC_OP_GATHER, x, rows);
}

/* Writes the outputs: anchor, class and score of each detection, `each` of them for a box. */
static void write_detections(vtac_tflite *im, const detection *d, vtac_id there, vtac_id anchor,
                             vtac_id class, vtac_id score, int64_t each)
{
    vtac_import_builder *m = &im->maker;
    const int64_t room = d->max;
    const int64_t all = room * each;
    const vtac_id corners = vtac_make_reshape(m, d->boxes, (int64_t[]){d->anchors, 4}, 2);
    vtac_id box = gather_rows(im, corners, anchor);
    const int64_t count = vtac_made_type(m, there).dim[0];
    if (each > 1) { /* the same box for each of its classes */
        const vtac_id one = vtac_make_reshape(m, box, (int64_t[]){count, 1, 4}, 3);
        const vtac_id shape = vtac_make_ints(m, (int64_t[]){count, each, 4}, 3);
        box = vtac_make2(m, VTAC_OP_EXPAND, one, shape);
    }
    vtac_tflite_set(im, 0, fill_absent(im, there, box, 4 * each, room, (int64_t[]){1, all, 4}, 3));
    if (im->op->output_count > 1) {
        vtac_tflite_set(im, 1, fill_absent(im, there, class, each, room, (int64_t[]){1, all}, 2));
    }
    if (im->op->output_count > 2) {
        vtac_tflite_set(im, 2, fill_absent(im, there, score, each, room, (int64_t[]){1, all}, 2));
    }
    if (im->op->output_count > 3) {
        const int64_t axis = 0;
        const vtac_id number_of = vtac_make_cast(m, there, VTAC_F32);
        vtac_tflite_set(im, 3, vtac_make_reduce(m, VTAC_OP_REDUCE_SUM, number_of, &axis, 1, true));
    }
}

static vtac_id at_least_zero(vtac_tflite *im, vtac_id x)
{
    return vtac_make_clip(&im->maker, x, 0.0, (double)INT32_MAX);
}

/* Each anchor has its best score; the boxes that are left tell their best classes. */
static void detect_fast(vtac_tflite *im, const detection *d)
{
    vtac_import_builder *m = &im->maker;
    const int64_t each = d->classes_each < d->classes ? d->classes_each : d->classes;
    vtac_id best[2] = {0, 0};
    top_k(im, d->scores, each, best);
    const vtac_id first = vtac_make_slice(m, best[0], 1, 0, 1);
    const vtac_id rows =
        best_of(im, d, vtac_make_reshape(m, first, (int64_t[]){1, 1, d->anchors}, 3), d->max);
    const vtac_id found = row_of(im, rows, 2);
    const vtac_id anchor = at_least_zero(im, found);
    const vtac_id there = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, found, vtac_make_number(m, VTAC_I64, 0.0));
    vtac_id score = gather_rows(im, best[0], anchor);
    vtac_id class = gather_rows(im, best[1], anchor);
    if (each < d->classes_each) { /* classes that there are not */
        const int64_t count = vtac_made_type(m, there).dim[0];
        const int64_t missing = d->classes_each - each;
        const void *zeros = vtac_make_room(m, count * missing, sizeof(int64_t));
        const vtac_id none =
            zeros == NULL ? 0 : vtac_make_borrowed(m, &(vtac_type){VTAC_F32, 2, {count, missing}}, zeros);
        score = vtac_make_concat(m, (vtac_id[]){score, none}, 2, 1);
        class = vtac_make_concat(m, (vtac_id[]){vtac_make_cast(m, class, VTAC_F32), none}, 2, 1);
    }
    write_detections(im, d, there, anchor, class, score, d->classes_each);
}

/* Each class by itself; of all that is left, the best. */
static void detect_regular(vtac_tflite *im, const detection *d)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id turned = vtac_make_transpose(m, d->scores, (int64_t[]){1, 0}, 2);
    const vtac_id rows =
        best_of(im, d, vtac_make_reshape(m, turned, (int64_t[]){1, d->classes, d->anchors}, 3), d->per_class);
    const vtac_id class = at_least_zero(im, row_of(im, rows, 1));
    const vtac_id found = row_of(im, rows, 2);
    const vtac_id anchor = at_least_zero(im, found);
    const vtac_id there = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, found, vtac_make_number(m, VTAC_I64, 0.0));
    const vtac_id place = vtac_make2(
        m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, anchor, vtac_make_number(m, VTAC_I64, (double)d->classes)),
        class);
    const vtac_id all = vtac_make_reshape(m, d->scores, (int64_t[]){d->anchors * d->classes}, 1);
    const vtac_id score = vtac_make3(m, VTAC_OP_WHERE, there, gather_rows(im, all, place),
                                     vtac_make_number(m, VTAC_F32, (double)-HUGE_VALF));
    const int64_t count = vtac_made_type(m, there).dim[0];
    vtac_id best[2] = {0, 0};
    top_k(im, score, count < d->max ? count : d->max, best);
    write_detections(im, d, gather_rows(im, there, best[1]), gather_rows(im, anchor, best[1]),
                     gather_rows(im, class, best[1]), best[0], 1);
}

void vtac_tflite_import_detection(vtac_tflite *im)
{
    detection d = {0};
    read_options(im, &d);
    check_shapes(im, &d);
    if (im->maker.status != VTA_OK) {
        return;
    }
    decode_boxes(im, &d);
    if (d.regular) {
        detect_regular(im, &d);
    } else {
        detect_fast(im, &d);
    }
}
