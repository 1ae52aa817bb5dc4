/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"

#include <math.h>
#include <stdbool.h>

#include "outline.h"
#include "vtac/exact.h"

static const float middle = PICTURE_SIDE / 2.0F;

typedef struct color {
    float at[PICTURE_CHANNELS];
} color;

typedef struct canvas {
    color pixels[PICTURE_PIXELS];
    uint64_t random;
} canvas;

/* ---- chance. C leaves open which argument is evaluated first: one draw a statement, and nothing is open. */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static float random_between(canvas *c, float low, float high)
{
    return low + (high - low) * (float)(next_random(&c->random) >> 40) / 16777216.0F;
}

static bool random_chance(canvas *c, float share)
{
    return random_between(c, 0.0F, 1.0F) < share;
}

static color any_color(canvas *c)
{
    color out;
    for (int i = 0; i < PICTURE_CHANNELS; i++) {
        out.at[i] = random_between(c, 0.0F, 1.0F);
    }
    return out;
}

static float color_difference(color a, color b)
{
    float sum = 0.0F;
    for (int i = 0; i < PICTURE_CHANNELS; i++) {
        sum += fabsf(a.at[i] - b.at[i]);
    }
    return sum / PICTURE_CHANNELS;
}

static color color_unlike(canvas *c, color other, float min)
{
    color out = any_color(c);
    while (color_difference(out, other) < min) {
        out = any_color(c);
    }
    return out;
}

/* ---- paint */

static color mix_colors(color a, color b, float share)
{
    for (int i = 0; i < PICTURE_CHANNELS; i++) {
        a.at[i] += (b.at[i] - a.at[i]) * share;
    }
    return a;
}

/* A colour with some of any other: a share from low to high. */
static color random_mix(canvas *c, color a, float low, float high)
{
    const float share = random_between(c, low, high);
    const color other = any_color(c);
    return mix_colors(a, other, share);
}

static point pixel_place(uint32_t pixel)
{
    const uint32_t row = pixel / PICTURE_SIDE;
    return (point){(float)(pixel % PICTURE_SIDE) + 0.5F, (float)row + 0.5F};
}

/* Share of a pixel that is covered when its middle lies `distance` outside. */
static float pixel_cover(float distance)
{
    return distance < -0.5F ? 1.0F : distance > 0.5F ? 0.0F : 0.5F - distance;
}

/* A gradient, and waves across it. */
static void paint_background(canvas *c, color base)
{
    const color end = random_mix(c, base, 0.0F, 0.35F);
    const color wave = random_mix(c, base, 0.0F, 0.3F);
    const float rotation = random_between(c, 0.0F, 6.2831853F);
    const float pitch = random_between(c, 0.2F, 1.2F);
    const point up = demo_point_at(rotation);
    const float x = up.x;
    const float y = up.y;
    for (uint32_t i = 0; i < PICTURE_PIXELS; i++) {
        const point p = pixel_place(i);
        const float along = (x * (p.x - middle) + y * (p.y - middle)) / PICTURE_SIDE;
        const float across = (float)vtac_sin((double)(pitch * (x * p.y - y * p.x)));
        c->pixels[i] = mix_colors(mix_colors(base, end, 0.5F + 0.7F * along), wave, 0.5F + 0.5F * across);
    }
}

static void paint_stroke(canvas *c, color ink)
{
    outline line = {.count = 2};
    for (int i = 0; i < 2; i++) {
        line.at[i].x = random_between(c, -4.0F, PICTURE_SIDE + 4.0F);
        line.at[i].y = random_between(c, -4.0F, PICTURE_SIDE + 4.0F);
    }
    const float half = random_between(c, 0.3F, 1.0F);
    for (uint32_t i = 0; i < PICTURE_PIXELS; i++) {
        const float distance = demo_outline_distance(&line, pixel_place(i));
        c->pixels[i] = mix_colors(c->pixels[i], ink, pixel_cover(fabsf(distance) - half));
    }
}

static void paint_strokes(canvas *c, color base, float share, int max)
{
    for (int i = 0; i < max; i++) {
        if (random_chance(c, share)) {
            paint_stroke(c, random_mix(c, base, 0.2F, 0.8F));
        }
    }
}

/* Turned, stretched and put somewhere, in pixels. */
static outline put_down(canvas *c, outline o)
{
    const float radius = random_between(c, 7.0F, 13.5F);
    const float room = middle - 0.85F * radius;
    const float right = middle + random_between(c, -room, room);
    const float down = middle + random_between(c, -room, room);
    const float stretch = random_between(c, 0.8F, 1.0F);
    const point rotation = demo_point_at(random_between(c, 0.0F, 6.2831853F));
    const point lean = demo_point_at(random_between(c, 0.0F, 6.2831853F)); /* the direction of the stretch */
    for (uint32_t i = 0; i < o.count; i++) {
        const point p = o.at[i];
        const point rotated = {p.x * rotation.x - p.y * rotation.y, p.x * rotation.y + p.y * rotation.x};
        const float along = rotated.x * lean.x + rotated.y * lean.y;
        const float less = along * (1.0F - stretch);
        o.at[i] = (point){right + radius * (rotated.x - less * lean.x),
                          down + radius * (rotated.y - less * lean.y)};
    }
    return o;
}

static void paint_outline(canvas *c, const outline *o, color ink)
{
    const bool line = random_chance(c, 0.35F);
    const float half = random_between(c, 0.6F, 1.4F);
    const color shade = random_mix(c, ink, 0.0F, 0.25F);
    for (uint32_t i = 0; i < PICTURE_PIXELS; i++) {
        const point p = pixel_place(i);
        const float distance = demo_outline_distance(o, p);
        const float covered = pixel_cover(line ? fabsf(distance) - half : distance);
        c->pixels[i] = mix_colors(c->pixels[i], mix_colors(ink, shade, p.y / PICTURE_SIDE), covered);
    }
}

/* Noise near enough to normal, and the rounding to bytes. */
static void develop_picture(canvas *c, picture *out)
{
    const float grain = random_between(c, 0.0F, 0.09F);
    for (uint32_t i = 0; i < PICTURE_PIXELS; i++) {
        for (int k = 0; k < PICTURE_CHANNELS; k++) {
            float noise = random_between(c, -1.0F, 1.0F);
            noise += random_between(c, -1.0F, 1.0F);
            noise += random_between(c, -1.0F, 1.0F);
            const float value = 255.0F * (c->pixels[i].at[k] + grain * noise) + 0.5F;
            out->rgb[i][k] = (uint8_t)(value < 0.0F ? 0.0F : value > 255.0F ? 255.0F : value);
        }
    }
}

void demo_draw_picture(uint64_t seed, uint32_t index, picture *out)
{
    canvas c = {.random = seed * UINT64_C(0xd1342543de82ef95) + index * UINT64_C(0x2545f4914f6cdd1d)};
    (void)next_random(&c.random);
    out->which = index % demo_class_count;
    const color base = any_color(&c);
    const color ink = color_unlike(&c, base, 0.25F);
    paint_background(&c, base);
    paint_strokes(&c, base, 0.5F, 3);
    const outline o = put_down(&c, demo_class_outline(out->which));
    paint_outline(&c, &o, ink);
    paint_strokes(&c, base, 0.4F, 1);
    develop_picture(&c, out);
}

void demo_picture_floats(const picture *p, float *out)
{
    for (uint32_t k = 0; k < PICTURE_CHANNELS; k++) {
        for (uint32_t i = 0; i < PICTURE_PIXELS; i++) {
            out[k * PICTURE_PIXELS + i] = ((float)p->rgb[i][k] - 127.5F) / 127.5F;
        }
    }
}
