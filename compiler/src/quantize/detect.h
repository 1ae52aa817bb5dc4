/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of a run, as detect.c compares them.
 */
#ifndef VTAC_DETECT_H
#define VTAC_DETECT_H

#include "vtac/quantize.h"

enum { VTAC_MAX_BOXES = 1000 }; /* of a sample: those with the highest scores */

/* Boxes whose intersection is at least this part of their union are the same. */
#define VTAC_MIN_OVERLAP 0.5

typedef struct vtac_detected_box {
    double low[2], high[2], score;
    int64_t class_;
    bool taken;
} vtac_detected_box;

typedef struct vtac_detected {
    vtac_detected_box *boxes; /* owned */
    size_t count;
} vtac_detected;

double vtac_overlap_of(const vtac_detected_box *a, const vtac_detected_box *b);
/* The highest scores first, VTAC_MAX_BOXES at most. */
void vtac_sort_boxes(vtac_detected *d);

/* Each box of the float model, the surest first, takes the box of its class with the largest overlap. */
void vtac_match_boxes(const vtac_detected *floats, const vtac_detected *bytes, vtac_detections *to);
/* Makes a mean of the overlaps and gives the mark, which becomes the report's where it is worse. */
void vtac_close_detections(vtac_detections *found, vtac_quantize_report *report);

/* ---- tables of detectors whose boxes nobody has chosen yet (detect_table.c) */

/* A tensor of floats, [1][4 + classes][places], or [1][places][5 + classes] with the score of there being
 * anything: a centre and a size in pixels, then scores from 0 to 1. */
bool vtac_is_box_table(uint32_t rank, const int64_t *dim, const float *data);
/* Its boxes that are sure enough, without those that overlap a surer one of their class. */
vta_status vtac_read_box_table(uint32_t rank, const int64_t *dim, const float *data, vtac_detected *out,
                               vta_diag *diag);
/* Compares the boxes of the float model's table with those of the quantized model's; nothing happens to other
 * outputs. */
vta_status vtac_match_tables(uint32_t rank, const int64_t *dim, const float *is, const float *should,
                             vtac_detections *to, vta_diag *diag);

#endif
