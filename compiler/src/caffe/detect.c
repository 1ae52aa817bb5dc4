/* SPDX-License-Identifier: Apache-2.0
 *
 * Caffe's layers that say where something is and which class it has: the largest element, and SSD's boxes.
 */
#include <math.h>
#include <string.h>

#include "caffe.h"

enum { MAX_PRIORS = 64, MAX_SIDE = 1 << 16, ROW = 7 };

/* Places of the largest along an axis, or in all of an image; their values, where those are asked for. */
void vtac_caffe_make_arg_max(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "argmax_param";
    const bool has_axis = vtac_caffe_word(c, param, "axis", NULL) != NULL;
    const bool values = vtac_caffe_flag(c, param, "out_max_val", false);
    const int64_t count = vtac_caffe_int(c, param, "top_k", 1, 1, MAX_SIDE);
    const int64_t axis = has_axis ? vtac_axis_of(m, c->in[0], vtac_caffe_int(c, param, "axis", 0, -8, 8)) : 1;
    const vtac_id x = has_axis ? c->in[0] : vtac_make_rows(m, c->in[0], 1);
    const vtac_attr attr = vtac_attr_of_int("axis", axis);
    const vtac_id in[] = {x, vtac_make_ints(m, &count, 1)};
    vtac_id best[2];
    vtac_make_many(m, VTAC_OP_TOP_K, in, 2, &attr, 1, best, 2);
    const vtac_id places = vtac_make_cast(m, best[1], VTAC_F32);
    if (has_axis) {
        vtac_caffe_set(c, 0, values ? best[0] : places);
        return;
    }
    const int64_t one[] = {vtac_caffe_type(c, 0).dim[0], 1, count};
    const vtac_id parts[] = {vtac_make_reshape(m, places, one, 3), vtac_make_reshape(m, best[0], one, 3)};
    vtac_caffe_set(c, 0, vtac_make_concat(m, parts, values ? 2 : 1, 1));
}

/* ---- PriorBox: boxes around each place, and how far a network's answers move them */

typedef struct prior_boxes {
    double min[MAX_PRIORS], max[MAX_PRIORS], ratio[2 * MAX_PRIORS + 1], variance[4];
    uint32_t min_count, max_count, ratio_count, variance_count;
    double image[2], step[2], offset; /* of rows, of columns */
    bool clip;
} prior_boxes;

static void add_ratio(prior_boxes *p, double ratio)
{
    for (uint32_t i = 0; i < p->ratio_count; i++) {
        if (fabs(p->ratio[i] - ratio) < 1e-6) {
            return;
        }
    }
    p->ratio[p->ratio_count++] = ratio;
}

static bool read_priors(vtac_caffe *c, prior_boxes *p)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "prior_box_param";
    const vtac_prototxt_field *message = vtac_prototxt_message(c->layer, param);
    const vtac_type x = vtac_caffe_type(c, 0);
    const vtac_type image = vtac_caffe_type(c, 1);
    double ratios[MAX_PRIORS];
    *p = (prior_boxes){.ratio = {1.0}, .ratio_count = 1};
    p->min_count = vtac_caffe_reals(c, message, "min_size", p->min, MAX_PRIORS);
    p->max_count = vtac_caffe_reals(c, message, "max_size", p->max, MAX_PRIORS);
    p->variance_count = vtac_caffe_reals(c, message, "variance", p->variance, 4);
    const uint32_t count = vtac_caffe_reals(c, message, "aspect_ratio", ratios, MAX_PRIORS);
    if (m->status == VTA_OK && (x.rank != 4 || image.rank != 4 || p->min_count < 1 ||
                                (p->max_count != 0 && p->max_count != p->min_count) ||
                                (p->variance_count > 1 && p->variance_count != 4))) {
        vtac_make_fail(m, VTA_INVALID, "%u smallest and %u largest sizes, %u variances, for %u and %u axes",
                       p->min_count, p->max_count, p->variance_count, x.rank, image.rank);
    }
    for (uint32_t i = 0; i < count && m->status == VTA_OK; i++) {
        if (ratios[i] <= 0.0) {
            vtac_make_fail(m, VTA_RANGE, "aspect_ratio is %g", ratios[i]);
            return false;
        }
        add_ratio(p, ratios[i]);
        if (vtac_caffe_flag(c, param, "flip", true)) {
            add_ratio(p, 1.0 / ratios[i]);
        }
    }
    static const char *const sides[2][2] = {{"img_h", "step_h"}, {"img_w", "step_w"}};
    for (uint32_t a = 0; a < 2 && m->status == VTA_OK; a++) {
        const double size = vtac_caffe_real(c, param, "img_size", (double)image.dim[a + 2]);
        const double step = vtac_caffe_real(c, param, "step", 0.0);
        p->image[a] = vtac_caffe_real(c, param, sides[a][0], size);
        p->step[a] = vtac_caffe_real(c, param, sides[a][1], step);
        p->step[a] = p->step[a] == 0.0 ? p->image[a] / (double)x.dim[a + 2] : p->step[a];
        if (p->image[a] <= 0.0) {
            vtac_make_fail(m, VTA_RANGE, "an image of %g", p->image[a]);
        }
    }
    p->offset = vtac_caffe_real(c, param, "offset", 0.5);
    p->clip = vtac_caffe_flag(c, param, "clip", false);
    return m->status == VTA_OK;
}

/* A box of that height and width around a place: left, top, right, bottom, relative to the image. */
static float *add_box(const prior_boxes *p, float *out, const double *centre, double height, double width)
{
    const double half[] = {width / 2.0, height / 2.0};
    for (int k = 0; k < 4; k++) {
        const int axis = k % 2 == 0; /* columns first */
        const double edge = (centre[axis] + (k < 2 ? -half[1 - axis] : half[1 - axis])) / p->image[axis];
        *out++ = (float)(p->clip ? fmin(fmax(edge, 0.0), 1.0) : edge);
    }
    return out;
}

static float *add_place(const prior_boxes *p, float *out, const double *centre)
{
    for (uint32_t s = 0; s < p->min_count; s++) {
        const double size = p->min[s];
        out = add_box(p, out, centre, size, size);
        if (p->max_count > 0) {
            const double between = sqrt(size * p->max[s]);
            out = add_box(p, out, centre, between, between);
        }
        for (uint32_t r = 1; r < p->ratio_count; r++) {
            out = add_box(p, out, centre, size / sqrt(p->ratio[r]), size * sqrt(p->ratio[r]));
        }
    }
    return out;
}

void vtac_caffe_make_prior_box(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_type x = vtac_caffe_type(c, 0);
    prior_boxes p;
    if (!read_priors(c, &p)) {
        return;
    }
    const int64_t each = (int64_t)p.min_count * (p.ratio_count + (p.max_count > 0 ? 1 : 0));
    const vtac_type type = {VTAC_F32, 3, {1, 2, each * 4 * x.dim[2] * x.dim[3]}};
    if (each * x.dim[2] * x.dim[3] > 1 << 22) {
        vtac_make_fail(m, VTA_RANGE, "more than 2^22 boxes");
        return;
    }
    float *room = vtac_make_room(m, 2 * type.dim[2], sizeof *room);
    float *out = room;
    for (int64_t row = 0; room != NULL && row < x.dim[2]; row++) {
        for (int64_t column = 0; column < x.dim[3]; column++) {
            const double centre[] = {((double)row + p.offset) * p.step[0],
                                     ((double)column + p.offset) * p.step[1]};
            out = add_place(&p, out, centre);
        }
    }
    for (int64_t i = 0; room != NULL && i < type.dim[2]; i++) {
        const double own = p.variance_count == 0 ? 0.1 : p.variance[p.variance_count == 4 ? i % 4 : 0];
        *out++ = (float)own;
    }
    vtac_caffe_set(c, 0, room == NULL ? 0 : vtac_make_borrowed(m, &type, room));
}

/* ---- DetectionOutput: the boxes that are left, [1, 1, keep_top_k, 7], -1 where there are fewer */

typedef struct ssd_detection {
    int64_t classes, background, priors, top, keep;
    double overlap, score;
    bool scaled; /* the network's answers are in units of variances already */
    const char *code;
    vtac_id boxes;  /* [1][priors][4] */
    vtac_id scores; /* [1][classes but the background][priors] */
} ssd_detection;

static bool read_detection(vtac_caffe *c, ssd_detection *d)
{
    vtac_import_builder *m = &c->net.maker;
    const char *param = "detection_output_param";
    const vtac_prototxt_field *message = vtac_prototxt_message(c->layer, param);
    const vtac_prototxt_field *nms = vtac_prototxt_message(message, "nms_param");
    double numbers[3] = {0.3, -1.0, 1.0};
    (void)vtac_caffe_reals(c, nms, "nms_threshold", &numbers[0], 1);
    (void)vtac_caffe_reals(c, nms, "top_k", &numbers[1], 1);
    (void)vtac_caffe_reals(c, nms, "eta", &numbers[2], 1);
    *d = (ssd_detection){.classes = vtac_caffe_int(c, param, "num_classes", 0, 1, MAX_SIDE),
                         .background = vtac_caffe_int(c, param, "background_label_id", 0, -1, MAX_SIDE),
                         .keep = vtac_caffe_int(c, param, "keep_top_k", -1, -1, 1 << 20),
                         .overlap = numbers[0],
                         .score = vtac_caffe_real(c, param, "confidence_threshold", -1e30),
                         .scaled = vtac_caffe_flag(c, param, "variance_encoded_in_target", false),
                         .code = vtac_caffe_word(c, param, "code_type", "CORNER")};
    const vtac_type loc = vtac_caffe_type(c, 0);
    const vtac_type prior = vtac_caffe_type(c, 2);
    const vtac_type type = vtac_caffe_type(c, 1);
    const int64_t elements = vtac_type_elements(&type);
    d->priors = prior.rank > 0 ? prior.dim[prior.rank - 1] / 4 : 0;
    d->top = numbers[1] < 1.0 || numbers[1] > (double)d->priors ? d->priors : (int64_t)numbers[1];
    if (numbers[2] != 1.0 || !vtac_caffe_flag(c, param, "share_location", true) || loc.rank == 0 ||
        loc.dim[0] != 1) {
        vtac_make_fail(m, VTA_UNSUPPORTED,
                       "a threshold that falls (eta), boxes of each class, or %lld images; "
                       "one image with boxes for all classes is taken",
                       loc.rank == 0 ? 0LL : (long long)loc.dim[0]);
    }
    if (d->priors < 1 || vtac_type_elements(&loc) != 4 * d->priors || elements != d->classes * d->priors ||
        vtac_type_elements(&prior) != 8 * d->priors) {
        vtac_make_fail(m, VTA_INVALID,
                       "%lld prior boxes, %lld numbers for them and %lld scores of %lld classes",
                       (long long)d->priors, (long long)vtac_type_elements(&loc), (long long)elements,
                       (long long)d->classes);
    }
    return m->status == VTA_OK;
}

/* Column k of rows [priors][4]. */
static vtac_id column_of(vtac_import_builder *m, vtac_id rows, int64_t k)
{
    return vtac_make_slice(m, rows, 1, k, k + 1);
}

/* From an answer, the prior box and its variances to the box; one axis: its centre and size, or its edges. */
static void decode_axis(vtac_import_builder *m, const ssd_detection *d, const vtac_id from[3], int64_t axis,
                        vtac_id corner[4])
{
    vtac_id move[2];
    vtac_id edge[2];
    for (int64_t k = 0; k < 2; k++) {
        move[k] = column_of(m, from[0], axis + 2 * k);
        edge[k] = column_of(m, from[1], axis + 2 * k);
        if (!d->scaled) {
            move[k] = vtac_make2(m, VTAC_OP_MUL, move[k], column_of(m, from[2], axis + 2 * k));
        }
    }
    const vtac_id size = vtac_make2(m, VTAC_OP_SUB, edge[1], edge[0]);
    if (strcmp(d->code, "CENTER_SIZE") == 0 || strcmp(d->code, "2") == 0) {
        const vtac_id middle =
            vtac_make_with(m, VTAC_OP_MUL, vtac_make2(m, VTAC_OP_ADD, edge[0], edge[1]), 0.5);
        const vtac_id centre = vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, move[0], size), middle);
        vtac_id half = vtac_make2(m, VTAC_OP_MUL, vtac_make1(m, VTAC_OP_EXP, move[1]), size);
        half = vtac_make_with(m, VTAC_OP_MUL, half, 0.5);
        corner[axis] = vtac_make2(m, VTAC_OP_SUB, centre, half);
        corner[axis + 2] = vtac_make2(m, VTAC_OP_ADD, centre, half);
        return;
    }
    const bool by_size = strcmp(d->code, "CORNER_SIZE") == 0 || strcmp(d->code, "3") == 0;
    if (!by_size && strcmp(d->code, "CORNER") != 0 && strcmp(d->code, "1") != 0) {
        vtac_make_fail(m, VTA_INVALID, "code_type %.20s, expected CORNER, CENTER_SIZE or CORNER_SIZE",
                       d->code);
    }
    for (int64_t k = 0; k < 2; k++) {
        const vtac_id by = by_size ? vtac_make2(m, VTAC_OP_MUL, move[k], size) : move[k];
        corner[axis + 2 * k] = vtac_make2(m, VTAC_OP_ADD, edge[k], by);
    }
}

/* Scores of all classes but the background; what is not among the best top_k of its class counts for nothing.
 */
static vtac_id scores_of(vtac_caffe *c, const ssd_detection *d)
{
    vtac_import_builder *m = &c->net.maker;
    const int64_t dims[] = {d->priors, d->classes};
    vtac_id x = vtac_make_transpose(m, vtac_make_reshape(m, c->in[1], dims, 2), (int64_t[]){1, 0}, 2);
    vtac_id parts[2];
    uint32_t count = 0;
    if (d->background < 0 || d->background >= d->classes) {
        parts[count++] = x;
    } else {
        if (d->background > 0) {
            parts[count++] = vtac_make_slice(m, x, 0, 0, d->background);
        }
        if (d->background + 1 < d->classes) {
            parts[count++] = vtac_make_slice(m, x, 0, d->background + 1, d->classes);
        }
    }
    if (count == 0) {
        vtac_make_fail(m, VTA_INVALID, "no class but the background");
        return 0;
    }
    x = vtac_make_concat(m, parts, count, 0);
    if (d->top < d->priors) {
        const vtac_attr axis = vtac_attr_of_int("axis", 1);
        vtac_id best[2];
        vtac_make_many(m, VTAC_OP_TOP_K, (vtac_id[]){x, vtac_make_ints(m, &d->top, 1)}, 2, &axis, 1, best, 2);
        const vtac_id last = vtac_make_slice(m, best[0], 1, d->top - 1, d->top);
        const vtac_id good = vtac_make2(m, VTAC_OP_GREATER_OR_EQUAL, x, last);
        x = vtac_make3(m, VTAC_OP_WHERE, good, x, vtac_make_number(m, VTAC_F32, -1e30));
    }
    return x;
}

static vtac_id flat_column(vtac_import_builder *m, vtac_id rows, int64_t k)
{
    const int64_t count = vtac_made_type(m, rows).dim[0];
    return vtac_make_reshape(m, column_of(m, rows, k), &count, 1);
}

/* The first `count` of rows by falling keys. */
static vtac_id order_by(vtac_import_builder *m, vtac_id keys, int64_t count)
{
    vtac_id best[2];
    vtac_make_many(m, VTAC_OP_TOP_K, (vtac_id[]){keys, vtac_make_ints(m, &count, 1)}, 2, NULL, 0, best, 2);
    return best[1];
}

/* Rows {image, class, score, box} of the detections of `found`, rows {batch, class, prior} with -1 behind
 * them: the best `keep`, by class and falling score. */
static vtac_id detection_rows(vtac_caffe *c, const ssd_detection *d, vtac_id found, vtac_id scores)
{
    vtac_import_builder *m = &c->net.maker;
    const int64_t all = vtac_made_type(m, found).dim[0];
    const int64_t keep = d->keep < 1 || d->keep > all ? all : d->keep;
    const int64_t others = d->background >= 0 && d->background < d->classes ? d->classes - 1 : d->classes;
    vtac_id class = vtac_make_clip(m, flat_column(m, found, 1), 0.0, 1e9);
    vtac_id prior = vtac_make_clip(m, flat_column(m, found, 2), 0.0, 1e9);
    vtac_id there = vtac_make_with(m, VTAC_OP_GREATER_OR_EQUAL, flat_column(m, found, 2), 0.0);
    const vtac_id place =
        vtac_make2(m, VTAC_OP_ADD, vtac_make_linear(m, class, (double)d->priors, 0.0), prior);
    const int64_t flat = others * d->priors;
    vtac_id score = vtac_make2(m, VTAC_OP_GATHER, vtac_make_reshape(m, scores, &flat, 1), place);
    const vtac_id none = vtac_make_number(m, VTAC_F64, -1e300);
    vtac_id key = vtac_make3(m, VTAC_OP_WHERE, there, vtac_make_cast(m, score, VTAC_F64), none);
    vtac_id *const moved[] = {&class, &prior, &there, &score};
    for (int round = 0; round < 2; round++) { /* the best of all, then by class */
        const vtac_id order = order_by(m, key, keep);
        for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++) {
            *moved[i] = vtac_make2(m, VTAC_OP_GATHER, *moved[i], order);
        }
        const vtac_id step = vtac_make_linear(m, vtac_make_cast(m, class, VTAC_F64), -1e6, 0.0);
        key = vtac_make2(m, VTAC_OP_ADD, vtac_make_cast(m, score, VTAC_F64), step);
        key = vtac_make3(m, VTAC_OP_WHERE, there, key, none);
    }
    if (d->background >= 0 && d->background < d->classes) { /* the classes behind it have its number, too */
        const vtac_id behind = vtac_make_with(m, VTAC_OP_GREATER_OR_EQUAL, class, (double)d->background);
        class = vtac_make2(m, VTAC_OP_ADD, class, vtac_make_cast(m, behind, VTAC_I64));
    }
    const int64_t one[] = {keep, 1};
    const vtac_id zero = vtac_make_linear(m, vtac_make_cast(m, class, VTAC_F32), 0.0, 0.0);
    const vtac_id parts[] = {
        vtac_make_reshape(m, zero, one, 2), vtac_make_reshape(m, vtac_make_cast(m, class, VTAC_F32), one, 2),
        vtac_make_reshape(m, score, one, 2),
        vtac_make2(m, VTAC_OP_GATHER, vtac_make_reshape(m, d->boxes, (int64_t[]){d->priors, 4}, 2), prior)};
    const vtac_id rows = vtac_make_concat(m, parts, 4, 1);
    const vtac_id empty = vtac_make_number(m, VTAC_F32, -1.0);
    return vtac_make3(m, VTAC_OP_WHERE, vtac_make_reshape(m, there, one, 2), rows, empty);
}

void vtac_caffe_make_detection(vtac_caffe *c)
{
    vtac_import_builder *m = &c->net.maker;
    ssd_detection d;
    if (!read_detection(c, &d)) {
        return;
    }
    const int64_t rows[] = {d.priors, 4};
    const int64_t both[] = {2, d.priors, 4};
    const vtac_id prior = vtac_make_reshape(m, c->in[2], both, 3);
    const vtac_id from[] = {vtac_make_reshape(m, c->in[0], rows, 2),
                            vtac_make_reshape(m, vtac_make_slice(m, prior, 0, 0, 1), rows, 2),
                            vtac_make_reshape(m, vtac_make_slice(m, prior, 0, 1, 2), rows, 2)};
    vtac_id corner[4] = {0};
    decode_axis(m, &d, from, 0, corner);
    decode_axis(m, &d, from, 1, corner);
    d.boxes = vtac_make_reshape(m, vtac_make_concat(m, corner, 4, 1), (int64_t[]){1, d.priors, 4}, 3);
    d.scores = scores_of(c, &d);
    if (m->status != VTA_OK) {
        return;
    }
    const vtac_type type = vtac_made_type(m, d.scores);
    const int64_t shape[] = {1, type.dim[0], d.priors};
    const float floor = (float)(d.score > -1e29 ? d.score : -1e29);
    const vtac_id in[] = {
        d.boxes, vtac_make_reshape(m, d.scores, shape, 3), vtac_make_number(m, VTAC_I64, (double)d.top),
        vtac_make_number(m, VTAC_F32, d.overlap), vtac_make_number(m, VTAC_F32, (double)floor)};
    const vtac_id found = vtac_make(m, VTAC_OP_NON_MAX_SUPPRESSION, in, 5, NULL, 0);
    if (found != 0) {
        const vtac_id all = detection_rows(c, &d, found, d.scores);
        const int64_t dims[] = {1, 1, vtac_made_type(m, all).dim[0], ROW};
        vtac_caffe_set(c, 0, vtac_make_reshape(m, all, dims, 4));
    }
}
