/* SPDX-License-Identifier: Apache-2.0
 *
 * Detectors that end in a table with a row for each place, as YOLO's exports do: the program behind the model
 * chooses the boxes. Here they are chosen as such programs do, since that is what their users see.
 */
#include <math.h>
#include <stdlib.h>

#include "detect.h"
#include "vta/fail.h"

/* The smallest score of a box, as detectors' programs have it by default. */
#define MIN_SCORE 0.25

enum { CORNERS = 4, MIN_COLUMNS = 8, MAX_COLUMNS = 1024 }; /* with rows: narrower ones are chosen boxes */

/* The places of a table's numbers. */
typedef struct box_table {
    const float *data;
    size_t rows, columns, row_step, column_step;
    bool objects; /* column 4 is the score of there being anything */
} box_table;

static bool find_table(uint32_t rank, const int64_t *dim, const float *data, box_table *out)
{
    if (rank != 3 || dim[0] != 1) {
        return false;
    }
    const size_t a = (size_t)dim[1], b = (size_t)dim[2];
    if (a > CORNERS && a <= MAX_COLUMNS && b > a) {
        *out = (box_table){data, b, a, 1, b, false};
    } else if (b >= MIN_COLUMNS && b <= MAX_COLUMNS && a > b) {
        *out = (box_table){data, a, b, b, 1, true};
    } else {
        return false;
    }
    return true;
}

static double at(const box_table *t, size_t row, size_t column)
{
    return (double)t->data[row * t->row_step + column * t->column_step];
}

bool vtac_is_box_table(uint32_t rank, const int64_t *dim, const float *data)
{
    box_table t;
    bool pixels = false;
    if (!find_table(rank, dim, data, &t)) {
        return false;
    }
    for (size_t r = 0; r < t.rows; r++) {
        for (size_t c = 0; c < t.columns; c++) {
            const double x = at(&t, r, c);
            const bool is_size = c == 2 || c == 3, is_score = c >= CORNERS;
            if (!isfinite(x) || ((is_size || is_score) && x < 0) || (is_score && x > 1)) {
                return false;
            }
            pixels = pixels || (is_size && x > 1);
        }
    }
    return pixels;
}

static vtac_detected_box read_place(const box_table *t, size_t row)
{
    vtac_detected_box box = {.score = -1};
    const size_t first = CORNERS + (t->objects ? 1 : 0);
    for (size_t c = first; c < t->columns; c++) {
        if (at(t, row, c) > box.score) {
            box.score = at(t, row, c);
            box.class_ = (int64_t)(c - first);
        }
    }
    box.score *= t->objects ? at(t, row, CORNERS) : 1;
    for (size_t k = 0; k < 2; k++) {
        box.low[k] = at(t, row, k) - at(t, row, k + 2) / 2;
        box.high[k] = at(t, row, k) + at(t, row, k + 2) / 2;
    }
    return box;
}

/* Drops boxes that overlap a surer one of their class. */
static void choose_boxes(vtac_detected *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        bool hidden = false;
        for (size_t k = 0; k < kept && !hidden; k++) {
            hidden = d->boxes[k].class_ == d->boxes[i].class_ &&
                     vtac_overlap_of(&d->boxes[k], &d->boxes[i]) >= VTAC_MIN_OVERLAP;
        }
        if (!hidden) {
            d->boxes[kept++] = d->boxes[i];
        }
    }
    d->count = kept;
}

vta_status vtac_read_box_table(uint32_t rank, const int64_t *dim, const float *data, vtac_detected *out,
                               vta_diag *diag)
{
    box_table t = {0};
    (void)find_table(rank, dim, data, &t);
    *out = (vtac_detected){.boxes = calloc(t.rows + 1, sizeof *out->boxes)};
    if (out->boxes == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t r = 0; r < t.rows; r++) {
        const vtac_detected_box box = read_place(&t, r);
        if (box.score >= MIN_SCORE) {
            out->boxes[out->count++] = box;
        }
    }
    vtac_sort_boxes(out);
    choose_boxes(out);
    return VTA_OK;
}

vta_status vtac_match_tables(uint32_t rank, const int64_t *dim, const float *is, const float *should,
                             vtac_detections *to, vta_diag *diag)
{
    vtac_detected found[2] = {{NULL, 0}, {NULL, 0}};
    vta_status status = VTA_OK;
    if (!vtac_is_box_table(rank, dim, should)) {
        return VTA_OK;
    }
    VTA_TRY_OUT(vtac_read_box_table(rank, dim, should, &found[0], diag));
    VTA_TRY_OUT(vtac_read_box_table(rank, dim, is, &found[1], diag));
    vtac_match_boxes(&found[0], &found[1], to);
out:
    free(found[0].boxes);
    free(found[1].boxes);
    return status;
}
