/* SPDX-License-Identifier: Apache-2.0
 *
 * Detections of whole models, quantized against float: how many of the float model's boxes the quantized one
 * finds again. Outputs are known by their form: boxes have four numbers a row, scores and classes one number
 * for each box; or one output has rows of five to seven numbers; or an output is a table with a row for each
 * place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "vta/fail.h"
#include "vtac/load.h"
#include "vtac/pass.h"

/* Shares of both models' boxes that are matched. */
#define GOOD_SHARE 0.98
#define BAD_SHARE  0.75

/* The outputs of detections, by number; -1: none. */
typedef struct detect_form {
    int64_t boxes, scores, classes, rows, table;
} detect_form;

static size_t elements_of(const vta_tensor_info *info)
{
    size_t count = 1;
    for (uint32_t i = 0; i < info->rank; i++) {
        count *= (size_t)info->dim[i];
    }
    return count;
}

static bool is_float_tensor(const vta_tensor_info *info)
{
    return info->dtype_code == 2 && info->dtype_bits == 32;
}

static int64_t width_of(const vta_tensor_info *info)
{
    return info->rank >= 2 ? info->dim[info->rank - 1] : 0;
}

/* An output with one number for each of `count` boxes, of a kind. */
static int64_t find_column(const vta_model *model, size_t count, bool floats, int64_t but)
{
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        if (i != but && is_float_tensor(&info) == floats && (floats || info.dtype_code <= 1) &&
            info.rank > 0 && elements_of(&info) == count) {
            return i;
        }
    }
    return -1;
}

/* Finds the form in what a run gave. */
static detect_form find_form(const vta_model *model)
{
    for (uint32_t i = 0; i < vta_model_output_count(model); i++) {
        const vta_tensor_info info = vta_model_output(model, i);
        const int64_t width = width_of(&info);
        const size_t count = width > 0 ? elements_of(&info) / (size_t)width : 0;
        if (!is_float_tensor(&info)) {
            continue;
        }
        if (width == 4) {
            const int64_t scores = find_column(model, count, true, i);
            if (scores >= 0) {
                return (detect_form){i, scores, find_column(model, count, false, i), -1, -1};
            }
        }
        if (vtac_is_box_table(info.rank, info.dim, vta_model_output_data(model, i))) {
            return (detect_form){-1, -1, -1, -1, i};
        }
        if (width >= 5 && width <= 7 && vta_model_output_count(model) == 1) {
            return (detect_form){-1, -1, -1, i, -1};
        }
    }
    return (detect_form){-1, -1, -1, -1, -1};
}

static int by_score(const void *a, const void *b)
{
    const vtac_detected_box *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : 0;
}

void vtac_sort_boxes(vtac_detected *d)
{
    if (d->count > 0) {
        qsort(d->boxes, d->count, sizeof *d->boxes, by_score);
    }
    d->count = d->count < VTAC_MAX_BOXES ? d->count : VTAC_MAX_BOXES;
}

static int64_t whole_number(const vta_tensor_info *info, const void *data, size_t at)
{
    int64_t wide = 0;
    switch (info->dtype_bits) {
    case 64: memcpy(&wide, (const char *)data + 8 * at, 8); return wide;
    case 32: return ((const int32_t *)data)[at];
    case 16: return ((const int16_t *)data)[at];
    case 8: return ((const uint8_t *)data)[at];
    default: return 0;
    }
}

static void set_corners(vtac_detected_box *box, const float *row)
{
    for (int k = 0; k < 2; k++) {
        box->low[k] = (double)row[k];
        box->high[k] = (double)row[k + 2];
    }
}

/* Boxes whose second corner is before the first are a centre and a size. */
static void fix_centres(const vtac_detected *d)
{
    bool corners = true;
    for (size_t i = 0; i < d->count; i++) {
        for (int k = 0; k < 2; k++) {
            corners = corners && d->boxes[i].high[k] >= d->boxes[i].low[k];
        }
    }
    for (size_t i = 0; !corners && i < d->count; i++) {
        for (int k = 0; k < 2; k++) {
            const double centre = d->boxes[i].low[k], half = d->boxes[i].high[k] / 2.0;
            d->boxes[i].low[k] = centre - half;
            d->boxes[i].high[k] = centre + half;
        }
    }
}

/* Drops boxes that were cut off at the border of the picture to nothing: they overlap nothing. */
static void drop_lines(vtac_detected *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (d->boxes[i].high[0] > d->boxes[i].low[0] && d->boxes[i].high[1] > d->boxes[i].low[1]) {
            d->boxes[kept++] = d->boxes[i];
        }
    }
    d->count = kept;
}

/* Rows of 5 and 6 numbers: corners, score, class; of 7: the picture, corners, class, score. */
static void read_row(vtac_detected_box *box, const float *row, int64_t width)
{
    set_corners(box, width == 7 ? row + 1 : row);
    box->score = (double)row[width == 7 ? 6 : 4];
    const double kind = width == 5 ? 0.0 : (double)row[5];
    box->class_ = kind > -1e9 && kind < 1e9 ? (int64_t)kind : 0;
}

static void read_box(const vta_model *model, const detect_form *form, vtac_detected_box *box, size_t at)
{
    const float *scores = vta_model_output_data(model, (uint32_t)form->scores);
    set_corners(box, (const float *)vta_model_output_data(model, (uint32_t)form->boxes) + 4 * at);
    box->score = (double)scores[at];
    if (form->classes >= 0) {
        const vta_tensor_info info = vta_model_output(model, (uint32_t)form->classes);
        box->class_ = whole_number(&info, vta_model_output_data(model, (uint32_t)form->classes), at);
    }
}

/* Reads the boxes of the last run, the highest scores first. Boxes with no score above 0 fill tables up. */
static vta_status read_boxes(const vta_model *model, const detect_form *form, vtac_detected *out,
                             vta_diag *diag)
{
    const uint32_t first = (uint32_t)(form->table >= 0  ? form->table
                                      : form->rows >= 0 ? form->rows
                                                        : form->boxes);
    const vta_tensor_info info = vta_model_output(model, first);
    if (form->table >= 0) {
        return vtac_read_box_table(info.rank, info.dim, vta_model_output_data(model, first), out, diag);
    }
    const int64_t width = width_of(&info);
    const size_t count = width > 0 ? elements_of(&info) / (size_t)width : 0;
    *out = (vtac_detected){.boxes = calloc(count + 1, sizeof *out->boxes)};
    if (out->boxes == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        vtac_detected_box box = {.score = 0.0};
        if (form->rows >= 0) {
            read_row(&box, (const float *)vta_model_output_data(model, first) + i * (size_t)width, width);
        } else {
            read_box(model, form, &box, i);
        }
        if (box.score > 0.0) {
            out->boxes[out->count++] = box;
        }
    }
    fix_centres(out);
    drop_lines(out);
    vtac_sort_boxes(out);
    return VTA_OK;
}

double vtac_overlap_of(const vtac_detected_box *a, const vtac_detected_box *b)
{
    double both = 1.0, size_a = 1.0, size_b = 1.0;
    for (int k = 0; k < 2; k++) {
        both *= fmax(0.0, fmin(a->high[k], b->high[k]) - fmax(a->low[k], b->low[k]));
        size_a *= a->high[k] - a->low[k];
        size_b *= b->high[k] - b->low[k];
    }
    const double all = size_a + size_b - both;
    return all > 0.0 ? both / all : 0.0;
}

void vtac_match_boxes(const vtac_detected *floats, const vtac_detected *bytes, vtac_detections *to)
{
    for (size_t i = 0; i < floats->count; i++) {
        vtac_detected_box *best = NULL;
        double largest = VTAC_MIN_OVERLAP;
        for (size_t k = 0; k < bytes->count; k++) {
            vtac_detected_box *b = &bytes->boxes[k];
            const double overlap = vtac_overlap_of(&floats->boxes[i], b);
            if (!b->taken && b->class_ == floats->boxes[i].class_ && overlap >= largest) {
                largest = overlap;
                best = b;
            }
        }
        if (best == NULL) {
            continue;
        }
        best->taken = true;
        to->matched++;
        to->overlap += largest;
        to->score_change = fmax(to->score_change, fabs(best->score - floats->boxes[i].score));
    }
    to->floats += floats->count;
    to->bytes += bytes->count;
}

/* ---- running both */

static vta_status set_inputs(vta_model *model, const vtac_graph *trunk, const vtac_samples *samples,
                             uint32_t sample, bool *fits, vta_diag *diag)
{
    for (uint32_t k = 0; k < vta_model_input_count(model); k++) {
        const vta_tensor_info info = vta_model_input(model, k);
        const vtac_tensor *tensor = NULL;
        for (uint32_t i = 0; i < samples->inputs; i++) {
            if (strcmp(trunk->values[trunk->inputs[i]].name, info.name) == 0) {
                tensor = &samples->tensors[(size_t)sample * samples->inputs + i];
            }
        }
        *fits = tensor != NULL && tensor->bytes == info.bytes;
        if (!*fits) { /* half floats, which samples have as floats */
            return VTA_OK;
        }
        VTA_TRY(vta_model_set_input(model, k, tensor->data, tensor->bytes, diag));
    }
    return VTA_OK;
}

static vta_status compare_sample(const vtac_loaded *both, const vtac_graph *trunk,
                                 const vtac_samples *samples, uint32_t sample, vtac_detections *to,
                                 vta_diag *diag)
{
    bool fits = true;
    for (int m = 0; m < 2; m++) {
        VTA_TRY(set_inputs(both[m].model, trunk, samples, sample, &fits, diag));
        if (!fits) {
            return VTA_OK;
        }
        VTA_TRY(vta_model_run(both[m].model, diag));
    }
    /* A table is the floats': bytes may have spoilt what tells it from other outputs. */
    const detect_form form = find_form(both[0].model);
    const detect_form again = form.table >= 0 ? form : find_form(both[1].model);
    if ((form.boxes < 0 && form.rows < 0 && form.table < 0) || memcmp(&form, &again, sizeof form) != 0) {
        return VTA_OK;
    }
    vtac_detected found[2] = {{NULL, 0}, {NULL, 0}};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(read_boxes(both[0].model, &form, &found[0], diag));
    VTA_TRY_OUT(read_boxes(both[1].model, &form, &found[1], diag));
    vtac_match_boxes(&found[0], &found[1], to);
out:
    free(found[0].boxes);
    free(found[1].boxes);
    return status;
}

static vtac_quality mark_share(const vtac_detections *d)
{
    const double share = 2.0 * (double)d->matched / (double)(d->floats + d->bytes);
    return share >= GOOD_SHARE ? VTAC_QUALITY_GOOD
           : share < BAD_SHARE ? VTAC_QUALITY_BAD
                               : VTAC_QUALITY_DOUBTFUL;
}

void vtac_close_detections(vtac_detections *found, vtac_quantize_report *report)
{
    if (found->floats + found->bytes > 0) {
        found->overlap = found->matched > 0 ? found->overlap / (double)found->matched : 0.0;
        found->quality = mark_share(found);
        report->detections = *found;
        report->quality = found->quality > report->quality ? found->quality : report->quality;
    }
}

static vta_status load_model(vtac_graph *graph, vtac_loaded *out, vta_diag *diag)
{
    VTA_TRY(vtac_run_passes(graph, &(vtac_pass_options){.level = 2}, diag));
    return vtac_load_graph(graph, 1, out, diag);
}

vta_status vtac_quant_detections(vtac_graph *floats, vtac_graph *bytes, const vtac_graph *trunk,
                                 const vtac_samples *samples, const vtac_progress *progress,
                                 vtac_quantize_report *report, vta_diag *diag)
{
    vtac_loaded both[2] = {{0}, {0}};
    vtac_detections found = {0};
    vta_status status = VTA_OK;
    VTA_TRY(vtac_progress_at(progress, "comparing detections", NULL, 0, 0, diag));
    VTA_TRY_OUT(load_model(floats, &both[0], diag));
    VTA_TRY_OUT(load_model(bytes, &both[1], diag));
    for (uint32_t s = 0; s < samples->count; s++) {
        VTA_TRY_OUT(vtac_progress_at(progress, "comparing detections", NULL, s, samples->count, diag));
        VTA_TRY_OUT(compare_sample(both, trunk, samples, s, &found, diag));
    }
    vtac_close_detections(&found, report);
out:
    vtac_unload(&both[0]);
    vtac_unload(&both[1]);
    return status;
}
