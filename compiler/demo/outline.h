/* SPDX-License-Identifier: Apache-2.0
 *
 * The outlines of the classes: closed polygons around the origin that reach to a distance of 1.
 */
#ifndef DEMO_OUTLINE_H
#define DEMO_OUTLINE_H

#include <stdint.h>

enum { OUTLINE_MAX_POINTS = 48 };

typedef struct point {
    float x, y;
} point;

/* Point of the unit circle at an angle in radians, the same on every machine. */
point demo_point_at(float angle);

typedef struct outline {
    uint32_t count;
    point at[OUTLINE_MAX_POINTS];
} outline;

extern const uint32_t demo_class_count;
const char *demo_class_name(uint32_t which);
outline demo_class_outline(uint32_t which);

/* The distance from a point to the outline; negative inside. */
float demo_outline_distance(const outline *o, point p);

#endif
