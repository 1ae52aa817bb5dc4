/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of the classes, made from a seed: any place, size, direction and proportion, filled or drawn as a
 * line, in any colours that differ enough, on a background with a gradient, stripes and other strokes, with
 * noise, sometimes with a stroke across it.
 */
#ifndef DEMO_DRAW_H
#define DEMO_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "vta/status.h"

enum { PICTURE_SIDE = 32, PICTURE_CHANNELS = 3, PICTURE_PIXELS = PICTURE_SIDE * PICTURE_SIDE };

typedef struct picture {
    uint8_t rgb[PICTURE_PIXELS][PICTURE_CHANNELS];
    uint32_t which; /* its class */
} picture;

/* Seeds of pictures, a different one for each purpose. Seed 2 is for calibration. */
enum { SEED_TRAIN = 1, SEED_HELD_OUT = 3, SEED_SHOW = 4 };

/* Picture `index` of a seed; classes take turns. */
void demo_draw_picture(uint64_t seed, uint32_t index, picture *out);

/* Writes the classifier's input: channel after channel, -1 to 1. */
void demo_picture_floats(const picture *p, float *out);

/* Files: one picture, or `count` of them side by side, `columns` in a row, each pixel `zoom` wide. */
vta_status demo_picture_write(const picture *pictures, uint32_t count, uint32_t columns, uint32_t zoom,
                              const char *path, vta_diag *diag);
vta_status demo_picture_read(const char *path, picture *out, vta_diag *diag);

#endif
