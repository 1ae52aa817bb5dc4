/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of boards, measured figures beside those that `vtac build` had promised: a file of lines, to which
 * `vtac doctor` adds and by which `vtac explore` corrects its times.
 */
#ifndef VTAC_PROMISES_H
#define VTAC_PROMISES_H

#include <stdint.h>

#include "vta/status.h"
#include "vta/str.h"

/* A network on a board: "xc7z020 36263 36301 100 99.98 tiny_kws on best1". */
typedef struct vtac_promised {
    char part[32];
    double promised, counted; /* cycles */
    double mhz, measured_mhz; /* promised, measured; 0: nobody measured the clock */
    char words[160];
} vtac_promised;

/* Appends the record's line. */
void vtac_promised_put(const vtac_promised *record, vta_str *out);

/* Ratios of what was measured to what was promised: their geometric mean, the smallest, the largest. */
typedef struct vtac_promise_ratios {
    uint32_t count; /* 0: the others are 1 */
    double mean, min, max;
} vtac_promise_ratios;

typedef struct vtac_promises {
    vtac_promise_ratios cycles, clock;
} vtac_promises;

/* The records of a part in a file, where an empty line or one that begins with '#' says nothing; path NULL:
 * there are none. */
vta_status vtac_promises_read(const char *path, const char *part, vtac_promises *out, vta_diag *diag);

/* The factor of a predicted time. */
double vtac_promises_time(const vtac_promises *records);

/* "times are multiplied by 1.004, by 6 records of boards with xc7z020: cycles 0.998 to 1.012, clock 1", or
 * that there are none. */
enum { VTAC_PROMISES_TEXT = 256 };
void vtac_promises_text(const vtac_promises *records, const char *part, char *text, size_t size);

#endif
