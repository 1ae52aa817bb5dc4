/* SPDX-License-Identifier: Apache-2.0 */
#include "outline.h"

#include <math.h>

#include "vtac/exact.h"

static const float pi = 3.14159265F;

static float sine_of(float angle)
{
    return (float)vtac_sin((double)angle);
}

static float cosine_of(float angle)
{
    return (float)vtac_cos((double)angle);
}

point demo_point_at(float angle)
{
    return (point){cosine_of(angle), sine_of(angle)};
}

static void add_point(outline *o, float x, float y)
{
    o->at[o->count++] = (point){x, y};
}

/* Corners on a circle, the first one upwards; radii in turn. */
static void regular_outline(outline *o, uint32_t corners, float radius, float other)
{
    for (uint32_t i = 0; i < corners; i++) {
        const float angle = 2.0F * pi * (float)i / (float)corners;
        const float r = i % 2 == 0 ? radius : other;
        add_point(o, r * sine_of(angle), -r * cosine_of(angle));
    }
}

static void circle_outline(outline *o)
{
    regular_outline(o, OUTLINE_MAX_POINTS, 1.0F, 1.0F);
}

static void triangle_outline(outline *o)
{
    regular_outline(o, 3, 1.0F, 1.0F);
}

static void square_outline(outline *o)
{
    regular_outline(o, 4, 1.0F, 1.0F);
}

static void pentagon_outline(outline *o)
{
    regular_outline(o, 5, 1.0F, 1.0F);
}

static void star_outline(outline *o)
{
    regular_outline(o, 10, 1.0F, 0.45F);
}

static void cross_outline(outline *o)
{
    static const point quarter[] = {{-0.3F, -1.0F}, {0.3F, -1.0F}, {0.3F, -0.3F}};
    for (int tip = 0; tip < 4; tip++) {
        for (int i = 0; i < 3; i++) {
            const point p = quarter[i];
            const point rotated[] = {{p.x, p.y}, {-p.y, p.x}, {-p.x, -p.y}, {p.y, -p.x}};
            add_point(o, rotated[tip].x, rotated[tip].y);
        }
    }
}

static void heart_outline(outline *o)
{
    for (uint32_t i = 0; i < 32; i++) {
        const float t = 2.0F * pi * (float)i / 32.0F;
        const float s = sine_of(t);
        const float y = 13.0F * cosine_of(t) - 5.0F * cosine_of(2.0F * t) - 2.0F * cosine_of(3.0F * t) -
                        cosine_of(4.0F * t);
        add_point(o, s * s * s, -(y + 2.0F) / 16.0F);
    }
}

/* Most of a circle, and back along another one, moved to the right. */
static void crescent_outline(outline *o)
{
    for (int i = 0; i < 24; i++) {
        const float angle = pi * (0.3F + 1.4F * (float)i / 23.0F);
        add_point(o, cosine_of(angle), sine_of(angle));
    }
    const float x = cosine_of(0.3F * pi);
    const float y = sine_of(0.3F * pi);
    const float shift = x + 0.05F;
    const float radius = sqrtf((shift - x) * (shift - x) + y * y);
    const float slant = (shift - x) / y; /* small: the end of the arctangent's series is below the last bit */
    const float square = slant * slant;
    const float end = 0.5F * pi + slant * (1.0F - square * (1.0F / 3.0F - square / 5.0F));
    for (int i = 1; i < 19; i++) {
        const float angle = 2.0F * pi - end - (2.0F * pi - 2.0F * end) * (float)i / 19.0F;
        add_point(o, shift + radius * cosine_of(angle), radius * sine_of(angle));
    }
}

static void arrow_outline(outline *o)
{
    static const point half[] = {{0.0F, -1.0F}, {0.75F, -0.1F}, {0.28F, -0.1F}, {0.28F, 0.95F}};
    for (int i = 0; i < 4; i++) {
        add_point(o, half[i].x, half[i].y);
    }
    for (int i = 3; i > 0; i--) {
        add_point(o, -half[i].x, half[i].y);
    }
}

static void bolt_outline(outline *o)
{
    static const point corners[] = {{0.3F, -0.95F}, {-0.55F, 0.15F}, {-0.08F, 0.15F},
                                    {-0.3F, 0.95F}, {0.55F, -0.15F}, {0.08F, -0.15F}};
    for (int i = 0; i < 6; i++) {
        add_point(o, corners[i].x, corners[i].y);
    }
}

static const struct {
    const char *name;
    void (*trace)(outline *o);
} classes[] = {
#define CLASS(name, trace) {name, trace},
#include "classes.def"
#undef CLASS
};
const uint32_t demo_class_count = sizeof classes / sizeof classes[0];

const char *demo_class_name(uint32_t which)
{
    return which < demo_class_count ? classes[which].name : "?";
}

outline demo_class_outline(uint32_t which)
{
    outline o = {0};
    classes[which % demo_class_count].trace(&o);
    return o;
}

/* The square of the distance to one side. */
static float side_square(point a, point b, point p)
{
    const point along = {b.x - a.x, b.y - a.y};
    const point to = {p.x - a.x, p.y - a.y};
    const float length = along.x * along.x + along.y * along.y;
    const float at = length == 0.0F ? 0.0F : (to.x * along.x + to.y * along.y) / length;
    const float clamped = at < 0.0F ? 0.0F : at > 1.0F ? 1.0F : at;
    const point from = {to.x - clamped * along.x, to.y - clamped * along.y};
    return from.x * from.x + from.y * from.y;
}

float demo_outline_distance(const outline *o, point p)
{
    float min = HUGE_VALF;
    int inside = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        const point a = o->at[i];
        const point b = o->at[(i + 1) % o->count];
        const float square = side_square(a, b, p);
        min = square < min ? square : min;
        if ((a.y > p.y) != (b.y > p.y)) {
            inside ^= p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x;
        }
    }
    return inside ? -sqrtf(min) : sqrtf(min);
}
