/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of a blocked convolution in the order of use: [group][vectors][tap of the depth][channel
 * block][tap][channel][output], bytes by fours of channels.
 */
#include "conv_tile.h"

/* Blocks that a panel reads: those that all do, or the most. */
int64_t vtac_blocked_reads(const vtac_blocked *c, int64_t panel)
{
    int64_t first;
    return vtac_blocked_span(c, c->vectors * c->lanes, panel, &first) <= c->core ? c->core : c->span;
}

/* First block of a panel. */
int64_t vtac_blocked_first(const vtac_blocked *c, int64_t panel)
{
    int64_t first = 0;
    if (c->span == 0) {
        return 0;
    }
    (void)vtac_blocked_span(c, c->vectors * c->lanes, panel, &first);
    const int64_t last = c->in_blocks - vtac_blocked_reads(c, panel);
    return first < last ? first : last;
}

/* Leaves out blocks that no panel reads: channels of a block beyond those of its group are multiplied by 0.
 */
void vtac_blocked_narrow(vtac_blocked *c)
{
    int64_t min = INT64_MAX;
    int64_t max = 0;
    if (!vtac_blocked_has_spans(c)) {
        return;
    }
    for (int64_t panel = 0; panel < c->vector_groups; panel++) {
        int64_t first;
        const int64_t span = vtac_blocked_span(c, c->vectors * c->lanes, panel, &first);
        max = span > max ? span : max;
        min = span < min ? span : min;
    }
    if (min < c->in_blocks) {
        c->span = max;
        c->core = min;
        c->rest = 0;
        c->sources = max * c->in->block * c->s.window.kernel[0] * c->s.window.kernel[1]; /* no volumes */
    }
}

/* The place of a weight in the node's tensor; -1: it is 0. `channel` counts within the merged group, taps
 * along the depth first. */
int64_t vtac_blocked_weight(const vtac_blocked *c, int64_t output, int64_t channel, int64_t tap)
{
    const vtac_conv_shape *s = &c->s;
    const int64_t per_group = s->per_group / s->merged;
    const int64_t out_per_group = s->out_per_group / s->merged;
    const int64_t group = output / out_per_group;
    const int64_t taps = s->window.kernel[0] * s->window.kernel[1];
    const int64_t kz = tap / taps;
    const int64_t ky = s->tap_first[0] + tap % taps / s->window.kernel[1] * s->tap_step[0];
    const int64_t kx = s->tap_first[1] + tap % s->window.kernel[1] * s->tap_step[1];
    if (channel / per_group != group % s->merged || ky < 0 || kx < 0) {
        return -1;
    }
    const int64_t within = channel % per_group;
    const int64_t row = s->transposed ? (group * per_group + within) * out_per_group + output % out_per_group
                                      : output * per_group + within;
    return ((row * s->depth.kernel + kz) * s->taps[0] + ky) * s->taps[1] + kx;
}

/* The row of a channel's weights at a tap. */
int64_t vtac_blocked_source(const vtac_blocked *c, int64_t channel, int64_t tap)
{
    const int64_t taps = c->s.window.kernel[0] * c->s.window.kernel[1];
    const int64_t block = channel / c->in->block;
    const bool last = c->rest != 0 && block == c->in_blocks - 1;
    const int64_t plane = tap / taps * (c->sources / c->s.depth.kernel);
    return plane + block * taps * c->in->block + tap % taps * (last ? c->rest : c->in->block) +
           channel % c->in->block;
}

static void put_byte(const vtac_blocked *c, const vtac_conv_weights *bytes, int64_t output, int64_t from,
                     void *packed, int64_t at)
{
    const int8_t byte = vtac_conv_byte(bytes, output, from);
    if (c->wide) {
        ((int16_t *)packed)[at] = (int16_t)(byte - vtac_conv_zero(bytes, output));
    } else {
        ((int8_t *)packed)[at] = byte;
    }
}

static void pack_one(const vtac_blocked *c, const vtac_tensor *w, const vtac_conv_weights *bytes,
                     int64_t output, void *packed)
{
    const int64_t taps = c->s.depth.kernel * c->s.window.kernel[0] * c->s.window.kernel[1];
    const int64_t wide = c->vectors * c->lanes;
    const int64_t conv_group = output / c->s.out_per_group;
    const int64_t within = output % c->s.out_per_group;
    const int64_t group = conv_group * c->vector_groups + within / wide;
    const int64_t skipped = vtac_blocked_first(c, within / wide) * c->in->block;
    for (int64_t channel = 0; channel < c->s.per_group; channel++) {
        for (int64_t tap = 0; tap < taps; tap++) {
            const int64_t from = vtac_blocked_weight(c, output, channel, tap);
            const int64_t row = vtac_blocked_source(c, channel - skipped, tap);
            const int64_t at = (group * c->sources + row / c->step * c->step) * wide +
                               within % wide * c->step + row % c->step;
            if (from < 0) {
                continue;
            }
            if (c->s.quantized) {
                put_byte(c, bytes, output, from - output * bytes->inner, packed, at);
            } else {
                ((float *)packed)[at] = ((const float *)w->data)[from];
            }
        }
    }
}

int64_t vtac_blocked_weights(const vtac_blocked *c)
{
    return c->s.groups * c->vector_groups * c->vectors * c->lanes * c->sources;
}

vtac_storage_id vtac_blocked_pack(vtac_lower *l, const vtac_blocked *c, vtac_dtype *stored)
{
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, c->s.weight);
    const size_t bytes = c->wide ? sizeof(int16_t) : c->s.quantized ? 1 : sizeof(float);
    const size_t count = (size_t)vtac_blocked_weights(c);
    uint8_t *packed = vta_arena_array(&l->program->arena, count, bytes);
    vtac_conv_weights weights = {.w = w};
    if (c->s.quantized) {
        weights = vtac_conv_weights_of(l->graph, l->node);
    }
    for (int64_t m = 0; packed != NULL && m < c->s.outputs; m++) {
        pack_one(c, w, &weights, m, packed);
    }
    if (packed != NULL && !c->s.quantized) {
        return vtac_float_constant(l, (const float *)(const void *)packed, count, stored);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, count * bytes);
}
