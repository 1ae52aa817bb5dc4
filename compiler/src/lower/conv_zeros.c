/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of the input's bytes under each window of a blocked convolution, where zero points of weights ask for
 * them.
 */
#include "conv_tile.h"

/* Ones for the bytes that are channels of the last block, one vector of words. */
static vtac_buffer *make_ones(vtac_lower *l, const vtac_blocked *c, int64_t lanes)
{
    uint8_t *ones = vta_arena_array(&l->program->arena, (size_t)lanes, 4);
    const int64_t last = c->s.per_group - (c->in_blocks - 1) * c->in->block;
    for (int64_t i = 0; ones != NULL && i < lanes * 4; i++) {
        ones[i] = i % c->in->block < last;
    }
    return vtac_use(l, ones == NULL ? 0 : vtac_constant(l, ones, (uint64_t)lanes * 4), "ones", VTAC_I32,
                    lanes);
}

/* Adds up the channel blocks of one vector of words from `first` on. */
static void sum_words(vtac_lower *l, const vtac_blocked *c, const vtac_finish *f, vtac_buffer *const *b,
                      const vtac_expr *batch, const vtac_expr *first, int64_t lanes)
{
    vtac_kernel *k = l->k;
    const int64_t plane = vtac_layout_plane(c->in, c->x_type) / 4;
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    vtac_store(k, b[2], lane, vtac_e_int(k, VTAC_I32, 0));
    vtac_end(k);
    for (int part = 0; part < 2; part++) { /* the last block has ones of its own */
        const int64_t blocks = part == 0 ? c->in_blocks - 1 : 1;
        if (blocks == 0) {
            continue;
        }
        const vtac_expr *block = vtac_for(k, VTAC_LOOP_SERIAL, blocks, "block");
        block = part == 0 ? block : vtac_i_addc(k, block, c->in_blocks - 1);
        const vtac_expr *base = vtac_i_add(k, vtac_i_mulc(k, batch, c->in_blocks), block);
        base = vtac_let(k, "base", vtac_i_add(k, vtac_i_mulc(k, base, plane), first));
        lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
        const vtac_expr *word = vtac_finish_bytes(l, f, vtac_e_load(k, b[0], vtac_i_add(k, base, lane)));
        const vtac_expr *ones = part == 0 ? vtac_e_int(k, VTAC_I32, 0x01010101) : vtac_e_load(k, b[1], lane);
        vtac_store(k, b[2], lane, vtac_e3(k, f->dot, vtac_e_load(k, b[2], lane), word, ones));
        vtac_close(l, 2);
    }
    lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
    const vtac_expr *to = vtac_i_add(k, vtac_i_add(k, vtac_i_mulc(k, batch, plane), first), lane);
    vtac_store(k, b[3], to, vtac_e_load(k, b[2], lane));
    vtac_end(k);
}

/* Sums over all channels of each place of the padded input, in words. */
static vta_status sum_channels(vtac_lower *l, const vtac_blocked *c, vtac_storage_id sums)
{
    VTA_TRY(vtac_begin(l, ".channels"));
    vtac_kernel *k = l->k;
    vtac_finish f;
    vtac_finish_dots(l, &c->s, true, &f);
    const int64_t batch = c->x_type->dim[0];
    const int64_t words = vtac_layout_plane(c->in, c->x_type) / 4;
    const int64_t lanes = l->program->target->vector_bytes / 4;
    vtac_buffer *b[] = {
        vtac_use(l, l->program->laid_out[c->x], "x", VTAC_I32, vtac_layout_elements(c->in, c->x_type) / 4),
        make_ones(l, c, lanes), vtac_local(l, "sum", VTAC_I32, lanes),
        vtac_use(l, sums, "sums", VTAC_I32, batch * words)};
    const int64_t vectors = (words + lanes - 1) / lanes;
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batch * words * c->in_blocks), batch * vectors, "unit");
    const vtac_expr *at = vtac_let(k, "batch", vtac_i_divc(k, unit, vectors));
    const vtac_expr *i = vtac_let(k, "i", vtac_i_remc(k, unit, vectors));
    const vtac_expr *first = vtac_let(k, "first", vtac_i_mulc(k, i, lanes));
    const int64_t rest = words % lanes;
    if (rest != 0) {
        vtac_if(k, vtac_e2(k, VTAC_E_LT, i, vtac_e_index(k, vectors - 1)));
    }
    sum_words(l, c, &f, b, at, first, lanes);
    if (rest != 0) {
        vtac_end(k);
        vtac_if(k, vtac_e2(k, VTAC_E_EQ, i, vtac_e_index(k, vectors - 1)));
        sum_words(l, c, &f, b, at, first, rest);
        vtac_end(k);
    }
    vtac_end(k);
    return VTA_OK;
}

static vta_status sum_windows(vtac_lower *l, const vtac_blocked *c, vtac_storage_id channels,
                              vtac_storage_id sums)
{
    VTA_TRY(vtac_begin(l, ".windows"));
    vtac_kernel *k = l->k;
    const vtac_window *w = &c->s.window;
    const int64_t batch = c->x_type->dim[0];
    const int64_t words = c->in->block / 4;
    const int64_t row = vtac_layout_row(c->in, c->x_type) / 4;
    const int64_t plane = vtac_layout_plane(c->in, c->x_type) / 4;
    vtac_buffer *from = vtac_use(l, channels, "channels", VTAC_I32, batch * plane);
    vtac_buffer *to = vtac_use(l, sums, "sums", VTAC_I32, batch * w->extent[0] * w->extent[1]);
    vtac_buffer *sum = vtac_local(l, "sum", VTAC_I32, 1);
    const vtac_expr *zero = vtac_e_index(k, 0);
    const vtac_expr *unit =
        vtac_for(k, vtac_parallel_if(batch * w->extent[0] * w->extent[1] * w->kernel[0] * w->kernel[1]),
                 batch * w->extent[0], "unit");
    const vtac_expr *y = vtac_i_remc(k, unit, w->extent[0]);
    const vtac_expr *corner =
        vtac_i_addc(k, vtac_i_mulc(k, y, w->stride[0]), c->in->before[0] - w->pad_begin[0]);
    corner =
        vtac_i_add(k, vtac_i_mulc(k, corner, row), vtac_i_mulc(k, vtac_i_divc(k, unit, w->extent[0]), plane));
    corner = vtac_let(k, "corner", vtac_i_addc(k, corner, (c->in->before[1] - w->pad_begin[1]) * words));
    const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, w->extent[1], "x");
    const vtac_expr *at = vtac_let(k, "at", vtac_i_add(k, corner, vtac_i_mulc(k, x, w->stride[1] * words)));
    vtac_store(k, sum, zero, vtac_e_int(k, VTAC_I32, 0));
    const vtac_expr *ky = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[0], "ky");
    const vtac_expr *kx = vtac_for(k, VTAC_LOOP_SERIAL, w->kernel[1], "kx");
    const vtac_expr *tap =
        vtac_i_add(k, vtac_i_mulc(k, ky, w->dilation[0] * row), vtac_i_mulc(k, kx, w->dilation[1] * words));
    const vtac_expr *total = vtac_e_load(k, sum, zero);
    for (int64_t i = 0; i < words; i++) {
        total =
            vtac_e2(k, VTAC_E_ADD, total, vtac_e_load(k, from, vtac_i_addc(k, vtac_i_add(k, at, tap), i)));
    }
    vtac_store(k, sum, zero, total);
    vtac_close(l, 2);
    vtac_store(k, to, vtac_i_add(k, vtac_i_mulc(k, unit, w->extent[1]), x), vtac_e_load(k, sum, zero));
    vtac_close(l, 2);
    return VTA_OK;
}

vta_status vtac_blocked_windows(vtac_lower *l, const vtac_blocked *c, vtac_storage_id *out)
{
    const vtac_window *w = &c->s.window;
    const int64_t batch = c->x_type->dim[0];
    const vtac_storage_id channels = vtac_temp(l, VTAC_I32, batch * vtac_layout_plane(c->in, c->x_type) / 4);
    *out = vtac_temp(l, VTAC_I32, batch * w->extent[0] * w->extent[1]);
    VTA_TRY(sum_channels(l, c, channels));
    return sum_windows(l, c, channels, *out);
}
