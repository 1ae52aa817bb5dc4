/* SPDX-License-Identifier: Apache-2.0
 *
 * Emits a convolution, cut into pieces by a tiling, as a list of calls.
 */
#include <stdlib.h>

#include "emit.h"
#include "vta/number.h"

void vtac_vta_slots_init(slots *s, int64_t first, int64_t size, int64_t count)
{
    *s = (slots){.first = first, .size = size, .count = vta_min(count, MAX_SLOTS), .end = first};
    for (int64_t i = 0; i < s->count; i++) {
        s->key[i] = -1;
    }
}

int64_t vtac_vta_slots_take(slots *s, int64_t key, bool *present)
{
    int64_t oldest = 0, found = -1;
    for (int64_t i = 0; i < s->count; i++) {
        found = s->key[i] == key ? i : found;
        oldest = s->used[i] < s->used[oldest] ? i : oldest;
    }
    *present = found >= 0;
    found = found >= 0 ? found : oldest;
    s->key[found] = key;
    s->used[found] = ++s->clock;
    const int64_t at = s->first + (found + s->start) % s->count * s->size;
    s->end = at + s->size;
    return at;
}

/* Moves the slots so that filling begins behind entry `taken`, since the layer before may still need the
 * entries up to it: all slots lie behind it if they fit there, else the first slot behind it is filled first.
 */
static void slots_behind(slots *s, int64_t taken, int64_t depth)
{
    if (taken + s->count * s->size <= depth) {
        s->first = taken;
        return;
    }
    s->start = vta_ceil_div(vta_max(taken - s->first, 0), s->size) % s->count;
}

/* ---- loads */

enum { MAX_STRIDE = UINT16_MAX };

extent vtac_vta_extent_of(int64_t at, int64_t count, int64_t size)
{
    extent x = {.at = vta_max(at, 0)};
    x.before = vta_min(count, vta_max(0, -at));
    x.after = vta_min(count - x.before, vta_max(0, at + count - size));
    x.count = count - x.before - x.after;
    return x;
}

void vtac_vta_emit_input_of(const conv *c, const patch *tile, const part *p, extent *rows, extent *cols)
{
    const vtac_vta_window *w = &c->window;
    const int64_t y = tile->y * w->stride[0] - w->before[0] + p->ky * w->dilation[0];
    const interval steps = vtac_vta_conv_steps(c, tile->x, tile->cols);
    const int64_t x = steps.at * w->stride[1] - w->before[1] + p->kx * w->dilation[1];
    *rows = vtac_vta_extent_of(y, (tile->rows - 1) * w->stride[0] + (p->kys - 1) * w->dilation[0] + 1, c->h);
    *cols = vtac_vta_extent_of(x, (steps.count - 1) * w->stride[1] + (p->kxs - 1) * w->dilation[1] + 1, c->w);
}

void vtac_vta_emit_load_input(emitter *e, const patch *tile, const part *p, int64_t sram)
{
    const conv *c = e->c;
    const vtac_vta_tensor *tensor = &c->region->tensors[c->input];
    const int64_t ri = c->machine->ri, tiles = vta_ceil_div(c->c_in, c->machine->block),
                  plane = c->h * c->w * ri;
    extent rows, cols;
    vtac_vta_emit_input_of(c, tile, p, &rows, &cols);
    const bool outside = rows.count == 0 || cols.count == 0;
    const int64_t in_rows = rows.before + rows.count + rows.after;
    const int64_t wanted = cols.before + cols.count + cols.after, in_cols = vtac_vta_conv_pitch(c, wanted);
    vta_load2d load = {.memory = VTA_MEM_INP,
                       .sram = sram,
                       .buffer = {WORK_BUFFER},
                       .offset = (int64_t)tensor->offset / c->machine->config->elem_bytes[VTA_MEM_INP] +
                                 (tile->image * tiles + p->block) * plane + (rows.at * c->w + cols.at) * ri,
                       .y_size = rows.count,
                       .x_size = cols.count * ri,
                       .x_stride = c->w * ri,
                       .y_pad_0 = rows.before,
                       .y_pad_1 = rows.after,
                       .x_pad_0 = cols.before * ri,
                       .x_pad_1 = (cols.after + in_cols - wanted) * ri,
                       .pad_value = tensor->zero};
    if (c->twice) {
        load.x_size = 2;
        vtac_vta_list_load(e->list, &load);
        return;
    }
    if (!outside && c->h == 1 && in_rows == 1 && in_cols == cols.count && plane <= MAX_STRIDE) {
        load.y_size = p->blocks; /* all blocks in one call, as its rows */
        load.x_stride = plane;
        vtac_vta_list_load(e->list, &load);
        return;
    }
    for (int64_t b = 0; b < p->blocks; b++) {
        vtac_vta_list_load_padded(e->list, &load);
        load.sram += in_rows * in_cols * ri;
        load.offset += outside ? 0 : plane;
    }
}

static void load_from(emitter *e, vta_memory memory, int64_t sram, uint32_t buffer, int64_t from,
                      int64_t count)
{
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = memory,
                                              .sram = sram,
                                              .buffer = {buffer},
                                              .offset = from,
                                              .y_size = 1,
                                              .x_size = count,
                                              .x_stride = count});
}

static void load_row(emitter *e, vta_memory memory, int64_t sram, int64_t from, int64_t count)
{
    load_from(e, memory, sram, CONSTANTS_BUFFER, from, count);
}

/* Minus the zero point of the input, or half of it where that needs nine bits. */
static int32_t factor_of(const conv *c)
{
    return -c->zero_in > INT8_MAX ? -c->zero_in / 2 : -c->zero_in;
}

/* Fills an entry of INP with it, by padding. */
static void load_factor(emitter *e)
{
    const tiling *t = e->t;
    e->factor = e->c->machine->side > 0 ? t->inp_first + t->inp_slots * t->inp_size : e->c->machine->inp - 1;
    vtac_vta_list_load_padded(e->list, &(vta_load2d){.memory = VTA_MEM_INP,
                                                     .sram = e->factor,
                                                     .buffer = {WORK_BUFFER},
                                                     .y_pad_0 = 1,
                                                     .x_pad_0 = 1,
                                                     .pad_value = factor_of(e->c)});
}

void vtac_vta_emit_constants(emitter *e)
{
    if (e->c->sum != NULL) {
        load_row(e, VTA_MEM_ACC, e->t->fixed_first, e->at->sum,
                 record_entries(e->c->sum->wide) + SUM_FACTORS);
    }
    if (e->c->mean_record > 0) {
        load_row(e, VTA_MEM_ACC, e->t->fixed_first, e->at->sum, e->c->mean_record);
    }
    if (conv_table(e->c) != NULL) {
        vtac_vta_list_table(e->list, e->table - 1, CONSTANTS_BUFFER, e->at->table);
    }
    if (conv_sums_weights(e->c)) {
        load_factor(e);
    }
}

/* The first element of input k, counted from the start of WORK. */
static int64_t input_at(const emitter *e, uint32_t k, vta_memory memory)
{
    const conv *c = e->c;
    return (int64_t)c->region->tensors[c->layer->inputs[k]].offset / c->machine->config->elem_bytes[memory];
}

/* Loads weights that are an input. Those of an output block are contiguous; a part is a range of them. */
static void load_packed(emitter *e, int64_t group, const part *p, int64_t sram)
{
    const conv *c = e->c;
    const int64_t first = group * e->t->group;
    const reach all = vtac_vta_conv_reach(c, first, e->t->group),
                now = vtac_vta_part_reach(c, e->t, group, p);
    const int64_t count = vtac_vta_group_blocks(c, e->t, group), row = all.count * c->planes;
    const bool whole = now.count == all.count;
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_WGT,
                                              .sram = sram,
                                              .buffer = {WORK_BUFFER},
                                              .offset = input_at(e, 1, VTA_MEM_WGT) + first * row +
                                                        (now.first - all.first) * c->planes,
                                              .y_size = whole ? 1 : count,
                                              .x_size = whole ? count * row : now.count * c->planes,
                                              .x_stride = whole ? count * row : row});
}

/* An image that holds weights: the second input, or the third one. */
typedef struct weight_image {
    int64_t first, outs, terms; /* its first entry of WGT; its pixels and its channels in blocks */
} weight_image;

static weight_image weight_image_of(const emitter *e, uint32_t input)
{
    const conv *c = e->c;
    const int64_t block = c->machine->block;
    const vtac_vta_tensor *image = &c->region->tensors[c->layer->inputs[input]];
    return (weight_image){input_at(e, input, VTA_MEM_WGT), image->h * image->w / block,
                          vta_ceil_div(image->c, block)};
}

/* Loads the weights of one output block for `count` blocks of terms: its pixels in these. */
static void load_terms(emitter *e, const weight_image *w, int64_t out, int64_t term, int64_t count,
                       int64_t sram)
{
    if (count > 0) {
        vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_WGT,
                                                  .sram = sram,
                                                  .buffer = {WORK_BUFFER},
                                                  .offset = w->first + term * w->outs + out,
                                                  .y_size = count,
                                                  .x_size = 1,
                                                  .x_stride = w->outs});
    }
}

/* The group whose weights an output block has, among those that do not share them. */
static int64_t owner_of(const conv *c, int64_t out)
{
    return out / (c->out_blocks / c->groups) / vta_max(c->layer->readers, 1);
}

/* Loads weights that are an image, or two: an output block of the third input follows those of the second,
 * or its terms do. */
static void load_image(emitter *e, int64_t group, const part *p, int64_t sram)
{
    const conv *c = e->c;
    const weight_image image = weight_image_of(e, 1);
    const weight_image more = c->layer->input_count > 2 ? weight_image_of(e, 2) : image;
    const int64_t outs = c->out_blocks / c->groups, terms = c->in_blocks / c->groups;
    const reach now = vtac_vta_part_reach(c, e->t, group, p);
    for (int64_t n = 0; n < vtac_vta_group_blocks(c, e->t, group); n++) {
        const int64_t block = group * e->t->group + n, owner = owner_of(c, block);
        const int64_t out = block % outs, term = now.first - block / outs * terms;
        const int64_t at = sram + n * now.count;
        if (c->layer->input_count > 2 && c->layer->more_terms) {
            const int64_t kept = vta_min(now.count, vta_max(image.terms - term, 0));
            load_terms(e, &image, owner * outs + out, term, kept, at);
            load_terms(e, &more, owner * outs + out, vta_max(term - image.terms, 0), now.count - kept,
                       at + kept);
        } else if (c->layer->input_count > 2) {
            const bool kept = out < image.outs;
            load_terms(e, kept ? &image : &more, kept ? out : out - image.outs, owner * terms + term,
                       now.count, at);
        } else { /* one of the two has the numbers of all groups */
            load_terms(e, &image, (owner * outs + out) % image.outs, (owner * terms + term) % image.terms,
                       now.count, at);
        }
    }
}

int64_t vtac_vta_emit_weights(emitter *e, int64_t group, int64_t index)
{
    bool present;
    const part p = vtac_vta_tiling_part(e->c, e->t, group, index);
    const int64_t chunk = vtac_vta_chunk_of(e->c, e->t, group, index);
    const int64_t sram = vtac_vta_slots_take(&e->wgt, chunk, &present);
    if (!present && conv_is_image(e->c)) {
        load_image(e, group, &p, sram);
    } else if (!present && conv_packed(e->c)) {
        load_packed(e, group, &p, sram);
    } else if (!present && e->chunks[chunk + 1] > e->chunks[chunk]) {
        load_row(e, conv_form(e->c), sram, e->at->weights + e->chunks[chunk],
                 e->chunks[chunk + 1] - e->chunks[chunk]);
    }
    return sram;
}

/* Loads records of parameters. The last entry of a wide record is never read, so it is padding instead. */
static void load_records(emitter *e, int64_t sram, int64_t from, int64_t count)
{
    const int64_t record = e->c->record;
    if (!e->c->layer->wide) {
        load_row(e, VTA_MEM_ACC, sram, from, count);
        return;
    }
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC,
                                              .sram = sram,
                                              .buffer = {CONSTANTS_BUFFER},
                                              .offset = from,
                                              .y_size = count / record,
                                              .x_size = record - 1,
                                              .x_stride = record,
                                              .x_pad_1 = 1});
}

int64_t vtac_vta_emit_params(emitter *e, int64_t group)
{
    bool present;
    const tiling *t = e->t;
    const int64_t batch = group / t->param_groups, first = batch * t->param_groups * t->group;
    const int64_t sram = vtac_vta_slots_take(&e->params, batch, &present);
    if (!present) {
        const int64_t count = vta_min(t->param_size, e->c->record * (e->c->pairs - first));
        if (conv_packs_params(e->c)) {
            load_from(e, VTA_MEM_ACC, sram, WORK_BUFFER, input_at(e, 2, VTA_MEM_ACC) + e->c->record * first,
                      count);
        } else {
            load_records(e, sram, e->at->params + e->c->record * first, count);
        }
    }
    e->fresh = !present;
    return conv_is_mean(e->c) ? sram : sram + e->c->record * (group * t->group - first);
}

static int64_t need_input(emitter *e, const piece *p, const reduction *t)
{
    bool present;
    /* grouped: pieces whose outputs belong to the same input channels share a slot */
    const reach all = vtac_vta_conv_reach(e->c, p->group * e->t->group, e->t->group);
    const int64_t whose = e->c->groups > 1 ? all.first * e->c->in_blocks + all.count : 0;
    const int64_t key = (whose * e->t->tiles + p->tile_index) * e->t->parts + t->index;
    const int64_t sram = vtac_vta_slots_take(&e->inp, key, &present);
    if (!present) {
        vtac_vta_emit_load_input(e, &p->tile, &t->part, sram);
    }
    return sram;
}

/* ---- the array */

/* The entry of the sum of block n at the piece's pixel (0, 0). */
static int64_t sums_of(const emitter *e, const piece *p, int64_t n)
{
    const int64_t ro = e->c->ro;
    return p->acc + n / ro * p->tile.rows * p->tile.cols * ro + n % ro;
}

/* The range of all sums of the tile that has block n. */
static list_range range_of(const emitter *e, const piece *p, int64_t n)
{
    const int64_t ro = e->c->ro;
    return (list_range){sums_of(e, p, n - n % ro), p->tile.rows * p->tile.cols * ro};
}

/* The distance of input rows, and of input columns, in a tile. */
static int64_t in_cols_of(const emitter *e, const piece *p, const reduction *t)
{
    const vtac_vta_window *w = &e->c->window;
    const int64_t steps = vtac_vta_conv_steps(e->c, p->tile.x, p->tile.cols).count;
    return vtac_vta_conv_pitch(e->c, (steps - 1) * w->stride[1] + (t->part.kxs - 1) * w->dilation[1] + 1);
}

static int64_t in_rows_of(const emitter *e, const piece *p, const reduction *t)
{
    const vtac_vta_window *w = &e->c->window;
    return (p->tile.rows - 1) * w->stride[0] + (t->part.kys - 1) * w->dilation[0] + 1;
}

/* True if an output block, counted over all phases, has weights for a tap of an input block. */
static bool has_weights(const conv *c, int64_t out_block, int64_t block, int64_t tap)
{
    return c->tiles == NULL ||
           c->tiles[(out_block * c->in_blocks + block) * c->window.kernel[0] * c->window.kernel[1] + tap] > 0;
}

/* True for a block without channels. */
static bool is_padding(const emitter *e, const piece *p, int64_t n)
{
    return p->group * e->t->group + n >= conv_made_blocks(e->c);
}

/* Clears the sums of a block without channels. */
static void clear_grid(emitter *e, const pixel_grid *which, int64_t pitch, list_range range)
{
    const conv *c = e->c;
    const vta_uop uop = {.dst = (uint32_t)which->to};
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                   .reset = true,
                                   .iter_out = which->rows,
                                   .iter_in = which->cols,
                                   .dst_out = which->rows > 1 ? pitch * c->ro : 0,
                                   .dst_in = which->cols > 1 ? c->phases * c->ro : 0},
                       range);
}

/* A block without weights in a part that comes first needs one product with weights of zeros. */
void vtac_vta_emit_grid(emitter *e, const piece *p, const reduction *t, int64_t n, const pixel_grid *which)
{
    const conv *c = e->c;
    const machine *m = c->machine;
    const vtac_vta_window *w = &c->window;
    const reach r = vtac_vta_part_reach(c, e->t, p->group, &t->part);
    const int64_t in_rows = in_rows_of(e, p, t), in_cols = in_cols_of(e, p, t);
    const int64_t all = vtac_vta_part_entries(c, e->t, p->group, &t->part);
    const int64_t first = which->y * w->stride[0] * in_cols + which->x * w->stride[1];
    const int64_t weights = t->wgt + (n * c->phases + which->phase) * all;
    const int64_t out_block = which->phase * c->out_blocks + p->group * e->t->group + n;
    const int64_t pitch = c->phases > 1 ? p->tile.cols : which->cols;
    const list_range range = c->phases > 1
                                 ? range_of(e, p, n)
                                 : (list_range){which->to - n % c->ro, which->rows * which->cols * c->ro};
    int64_t count = 0;
    if (is_padding(e, p, n)) {
        if (t->init) {
            clear_grid(e, which, pitch, range);
        }
        return;
    }
    for (int64_t k = 0, plane = 0; k < all;
         plane++) { /* counts instead of dividing for each of the many steps */
        const int64_t block = r.first + plane / c->planes;
        const int64_t corner = first + (block / m->ri - t->part.block) * in_rows * in_cols;
        for (int64_t ky = 0; ky < t->part.kys; ky++) {
            int64_t src = t->inp + (corner + ky * w->dilation[0] * in_cols) * m->ri + block % m->ri;
            for (int64_t kx = 0; kx < t->part.kxs; kx++, k++) {
                const int64_t tap = (t->part.ky + ky) * w->kernel[1] + t->part.kx + kx;
                e->uops[count] = (vta_uop){
                    .dst = (uint32_t)which->to, .src = (uint32_t)src, .aux = (uint32_t)(weights + k)};
                count += has_weights(c, out_block, block, tap);
                src += w->dilation[1] * m->ri;
            }
        }
    }
    count = count == 0 && t->init ? 1 : count;
    if (count == 0) {
        return;
    }
    if (which->blocks > 0) {
        vtac_vta_list_gemm(e->list,
                           &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)count),
                                       .init = t->init,
                                       .iter_out = which->blocks,
                                       .iter_in = 1,
                                       .dst_out = 1,
                                       .wgt_out = all},
                           (list_range){which->to, which->blocks});
        return;
    }
    vtac_vta_list_gemm(
        e->list,
        &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)count),
                    .init = t->init,
                    .iter_out = which->rows,
                    .iter_in = which->cols,
                    .dst_out = which->rows > 1 ? pitch * c->ro : 0,
                    .dst_in = which->cols > 1 ? c->phases * c->ro : 0,
                    .src_out = which->rows > 1 ? which->down * w->stride[0] * in_cols * m->ri : 0,
                    .src_in = which->cols > 1 ? which->across * w->stride[1] * m->ri : 0},
        range);
}

/* The pixels of each phase in a call of their own: every so many columns, from the first one of the tile on.
 */
static void emit_phases(emitter *e, const piece *p, const reduction *t, int64_t n)
{
    const conv *c = e->c;
    const int64_t first = p->tile.x / c->phases;
    for (int64_t at = 0; at < vta_min(c->phases, p->tile.cols); at++) {
        const int64_t x = p->tile.x + at;
        vtac_vta_emit_grid(e, p, t, n,
                           &(pixel_grid){.to = sums_of(e, p, n) + at * c->ro,
                                         .x = x / c->phases - first,
                                         .rows = p->tile.rows,
                                         .cols = vta_ceil_div(p->tile.cols - at, c->phases),
                                         .down = 1,
                                         .across = 1,
                                         .phase = x % c->phases});
    }
}

void vtac_vta_emit_gemm(emitter *e, const piece *p, const reduction *t, int64_t n)
{
    if (e->t->parted) {
        vtac_vta_emit_parted(e, p, t, n);
        return;
    }
    if (e->c->phases > 1) {
        emit_phases(e, p, t, n);
        return;
    }
    vtac_vta_emit_grid(
        e, p, t, n,
        &(pixel_grid){
            .to = sums_of(e, p, n), .rows = p->tile.rows, .cols = p->tile.cols, .down = 1, .across = 1});
}

/* Emits a call of DEPTHWISE for each piece of the window and, where pixels of the input are merged, for each
 * of these. */
void vtac_vta_emit_depthwise(emitter *e, const piece *p, const reduction *t, int64_t n)
{
    const conv *c = e->c;
    const int64_t ro = c->ro, count = vtac_vta_piece_count(c, t->part.kys, t->part.kxs);
    const int64_t in_cols = in_cols_of(e, p, t);
    const vtac_vta_window *w = &c->window;
    const int64_t merged = conv_merged(c), own = c->lanes > 0 ? n : n / ro;
    if (is_padding(e, p, n)) {
        if (t->init) {
            const pixel_grid all = {.to = sums_of(e, p, n), .rows = p->tile.rows, .cols = p->tile.cols};
            clear_grid(e, &all, p->tile.cols, range_of(e, p, n));
        }
        return;
    }
    for (int64_t k = 0; k < count * merged; k++) {
        const int64_t i = k / merged;
        const window_piece taps = vtac_vta_piece_of(c, &t->part, i);
        const vta_uop uop = {
            .dst = (uint32_t)sums_of(e, p, n),
            .src = (uint32_t)(t->inp + taps.y * w->dilation[0] * in_cols + taps.x * w->dilation[1]),
            .aux = (uint32_t)(t->wgt + (c->alike ? 0 : own * count) + vtac_vta_piece_kind(c, &t->part, i))};
        vtac_vta_list_depthwise(e->list,
                                &(vta_depthwise){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                                 .init = t->init && k == 0,
                                                 .iter_out = p->tile.rows,
                                                 .iter_in = p->tile.cols,
                                                 .dst_out = p->tile.rows > 1 ? p->tile.cols * ro : 0,
                                                 .dst_in = p->tile.cols > 1 ? ro : 0,
                                                 .src_out = p->tile.rows > 1 ? w->stride[0] * in_cols : 0,
                                                 .src_in = p->tile.cols > 1 ? w->stride[1] : 0,
                                                 .taps_x = taps.cols,
                                                 .taps_y = taps.rows,
                                                 .col_step = w->dilation[1],
                                                 .row_step = taps.rows > 1 ? w->dilation[0] * in_cols : 0,
                                                 .group = c->lanes > 0 ? k % merged : n % ro},
                                range_of(e, p, n));
    }
}

/* The output of the `ro` blocks from n on for a tile, as the shape of a transfer. */
typedef struct store_area {
    int64_t offset, y_size, x_size, x_stride; /* in OUT elements; offset: from the tensor's start */
} store_area;

static store_area store_area_of(const emitter *e, const piece *p, int64_t n, int64_t byte)
{
    const conv *c = e->c;
    const patch *tile = &p->out;
    const int64_t ro = c->ro, block = c->slice + (p->group * e->t->group + n) / ro;
    const int64_t blocks = c->out_blocks / ro, all = conv_whole(c) ? c->layer->bytes * blocks : blocks;
    const int64_t first = ((tile->image * all + byte * blocks + block) * c->oh + tile->y) * c->ow + tile->x;
    const bool whole = tile->cols == c->ow || tile->rows == 1;
    return (store_area){.offset = first * ro,
                        .y_size = whole ? 1 : tile->rows,
                        .x_size = (whole ? tile->rows * tile->cols : tile->cols) * ro,
                        .x_stride = (whole ? tile->rows * tile->cols : c->ow) * ro};
}

static int64_t origin_of(const emitter *e, uint32_t tensor)
{
    return (int64_t)e->c->region->tensors[tensor].offset / e->c->machine->config->elem_bytes[VTA_MEM_OUT];
}

static void requantize_entries(emitter *e, const entries *of, const rounding *how)
{
    const int64_t pitch = of->rows > 1 ? of->pitch : 0, apart = of->count > 1 ? of->apart : 0;
    const list_range range = {of->at, (of->rows - 1) * pitch + (of->count - 1) * apart + 1};
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = of->at,
                                         .src = of->at,
                                         .params = how->params,
                                         .iter_out = of->rows,
                                         .iter_in = of->count,
                                         .dst_out = pitch,
                                         .dst_in = apart,
                                         .src_out = pitch,
                                         .src_in = apart,
                                         .zero_point = how->zero,
                                         .low = how->layer->low,
                                         .high = how->layer->high,
                                         .rounding = how->layer->rounding,
                                         .wide = how->layer->wide,
                                         .table = how->layer->behind != NULL ? e->table : 0},
                          range, range);
}

void vtac_vta_emit_into_inp(emitter *e, const piece *p, int64_t n, int64_t to, int64_t pitch)
{
    const conv *c = e->c;
    const int64_t ro = c->ro, rows = p->tile.rows, cols = p->tile.cols;
    for (int64_t r = 0; r < p->blocks; r++) {
        const int64_t at = sums_of(e, p, n + r);
        const list_range range = {at, (rows * cols - 1) * ro + 1};
        vtac_vta_list_requant(e->list,
                              &(vta_requant){.dst = to,
                                             .src = at,
                                             .params = p->params / c->record + n + r,
                                             .iter_out = rows,
                                             .iter_in = cols,
                                             .dst_out = rows > 1 ? pitch : 0,
                                             .dst_in = cols > 1,
                                             .src_out = rows > 1 ? cols * ro : 0,
                                             .src_in = cols > 1 ? ro : 0,
                                             .zero_point = c->rounded,
                                             .low = c->layer->low,
                                             .high = c->layer->high,
                                             .rounding = c->layer->rounding,
                                             .wide = c->layer->wide,
                                             .table = c->layer->behind != NULL ? e->table : 0,
                                             .to_inp = true,
                                             .part = r},
                              range, range);
    }
}

/* Applies an ALU operation to `count` tiles and as many others, or one other for all. */
static void apply_alu(emitter *e, vta_alu_op op, int64_t dst, int64_t src, int64_t count, bool one)
{
    const vta_uop uop = {.dst = (uint32_t)dst, .src = (uint32_t)src};
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                 .op = op,
                                 .iter_out = 1,
                                 .iter_in = count,
                                 .dst_in = count > 1,
                                 .src_in = count > 1 && !one},
                      (list_range){dst, count}, (list_range){src, one ? 1 : count});
}

/* Loads the other operand of a joined sum, for the tile of block n that the array will work on. */
static int64_t emit_other(emitter *e, const piece *p, int64_t n)
{
    const tiling *t = e->t;
    const store_area from = store_area_of(e, p, n, 0);
    const int64_t sram = t->other_first + e->others++ % t->other_slots * t->other_size;
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC8,
                                              .sram = sram,
                                              .buffer = {WORK_BUFFER},
                                              .offset = origin_of(e, e->c->other) + from.offset,
                                              .y_size = from.y_size,
                                              .x_size = from.x_size,
                                              .x_stride = from.x_stride});
    return sram;
}

/* The number of rows or columns from `at` on, at most `room`, whose means have equally many elements. */
static int64_t equal_means(const emitter *e, int d, int64_t at, int64_t room)
{
    const conv *c = e->c;
    const int64_t size = d == 0 ? c->h : c->w, elements = vtac_vta_elements(c->layer, d, at, size);
    int64_t run = 1;
    while (run < room && vtac_vta_elements(c->layer, d, at + run, size) == elements) {
        run++;
    }
    return run;
}

static int64_t divisor_at(const emitter *e, int64_t y, int64_t x)
{
    const vtac_vta_layer *layer = e->c->layer;
    const int64_t elements =
        vtac_vta_elements(layer, 0, y, e->c->h) * vtac_vta_elements(layer, 1, x, e->c->w);
    int64_t i = 0;
    while (i + 1 < layer->divisor_count && layer->divisors[i] != elements) {
        i++;
    }
    return i;
}

/* Requantizes means whose divisor changes at the borders: a rectangle for each divisor. */
static void requantize_means(emitter *e, const piece *p, int64_t at)
{
    const conv *c = e->c;
    const patch *tile = &p->tile;
    const int64_t ro = c->ro;
    for (int64_t y = 0, rows; y < tile->rows; y += rows) {
        rows = equal_means(e, 0, tile->y + y, tile->rows - y);
        for (int64_t x = 0, cols; x < tile->cols; x += cols) {
            cols = equal_means(e, 1, tile->x + x, tile->cols - x);
            const bool whole = cols == tile->cols;
            requantize_entries(e,
                               &(entries){.at = at + (y * tile->cols + x) * ro,
                                          .rows = whole ? 1 : rows,
                                          .pitch = tile->cols * ro,
                                          .count = whole ? rows * cols : cols,
                                          .apart = ro},
                               &(rounding){p->params / c->record + divisor_at(e, tile->y + y, tile->x + x),
                                           c->rounded, c->layer});
        }
    }
}

static int32_t clamped(int32_t value, const vtac_vta_layer *layer)
{
    return value < layer->low ? layer->low : value > layer->high ? layer->high : value;
}

static void store_tiles(emitter *e, const piece *p, int64_t n, int64_t at, int64_t byte)
{
    const store_area to = store_area_of(e, p, n, byte);
    vtac_vta_list_store(e->list, &(vta_store2d){.sram = at,
                                                .buffer = {WORK_BUFFER},
                                                .offset = origin_of(e, e->c->output) + to.offset,
                                                .y_size = to.y_size,
                                                .x_size = to.x_size,
                                                .x_stride = to.x_stride});
}

/* Stores one block, of one pixel, and zeros behind it; then the zeros and the block once more. */
static void store_twice(emitter *e, int64_t at)
{
    const int64_t ro = e->c->ro;
    apply_alu(e, VTA_ALU_MOV, at + ro, at, 1, false);
    for (int64_t k = 0; k < 2; k++) {
        vtac_vta_list_store(e->list, &(vta_store2d){.sram = at + k,
                                                    .buffer = {WORK_BUFFER},
                                                    .offset = origin_of(e, e->c->output) + k * ro,
                                                    .y_size = 1,
                                                    .x_size = ro,
                                                    .x_stride = ro});
    }
}

/* Stores the sums of the `ro` blocks from n on unrounded: OUT has the lowest byte of each sum, and shifting
 * brings down the next byte. */
static void store_whole(emitter *e, const piece *p, int64_t n)
{
    enum { BYTE = 8 };
    const int64_t count = p->out.rows * p->out.cols * e->c->ro, at = sums_of(e, p, n);
    for (int64_t byte = 0; byte < e->c->layer->bytes; byte++) {
        if (byte > 0) {
            vtac_vta_list_alu_number(e->list, VTA_ALU_SHR, at, at, BYTE, count);
        }
        store_tiles(e, p, n, at, byte);
    }
}

/* Requantizes the `ro` blocks from n on, pools them by means, and stores those. */
static void finish_by_means(emitter *e, const piece *p, int64_t n)
{
    const conv *c = e->c;
    const int64_t ro = c->ro, at = sums_of(e, p, n);
    for (int64_t r = 0; r < ro && !is_padding(e, p, n + r); r++) {
        requantize_entries(
            e, &(entries){.at = at + r, .rows = 1, .count = p->tile.rows * p->tile.cols, .apart = ro},
            &(rounding){p->params / c->record + n + r, c->rounded, c->layer});
    }
    const int64_t to = vtac_vta_emit_pool(e, p, at);
    requantize_entries(e,
                       &(entries){.at = to, .rows = 1, .count = p->out.rows * p->out.cols * ro, .apart = 1},
                       &(rounding){e->t->fixed_first / c->mean_record, c->mean_zero, c->pool});
    store_tiles(e, p, n, to, 0);
}

/* Finishes the `ro` blocks from n on: pools, requantizes, adds the joined sum's operand, and stores. */
static void finish_blocks(emitter *e, const piece *p, int64_t n)
{
    const conv *c = e->c;
    const int64_t ro = c->ro, pixels = p->out.rows * p->out.cols;
    int64_t at = sums_of(e, p, n);
    if (c->mean_record > 0) {
        finish_by_means(e, p, n);
        return;
    }
    if (conv_whole(c)) {
        store_whole(e, p, n);
        return;
    }
    vtac_vta_layer layer = *c->layer;
    if (c->pool != NULL) {
        at = e->t->parted ? vtac_vta_emit_parted_maxima(e, p, n) : vtac_vta_emit_pool(e, p, at);
        layer.low = clamped(layer.low, c->pool);
        layer.high = clamped(layer.high, c->pool);
    }
    for (int64_t r = 0; r < ro && !is_padding(e, p, n + r); r++) {
        if (conv_is_mean(c) && c->pairs > 1) {
            requantize_means(e, p, at + r);
        } else {
            requantize_entries(
                e, &(entries){.at = at + r, .rows = 1, .count = pixels, .apart = ro},
                &(rounding){p->params / c->record + (conv_is_mean(c) ? 0 : n + r), c->rounded, &layer});
        }
    }
    if (c->sum != NULL) {
        const int64_t fixed = e->t->fixed_first, record = record_entries(c->sum->wide), count = pixels * ro;
        const int32_t zero = zero_rounded(c->sum, &c->region->tensors[c->output]);
        apply_alu(e, VTA_ALU_MUL, at, fixed + record, count, true);
        apply_alu(e, VTA_ALU_MUL, p->other, fixed + record + 1, count, true);
        apply_alu(e, VTA_ALU_ADD, at, p->other, count, false);
        requantize_entries(e, &(entries){.at = at, .rows = 1, .count = count, .apart = 1},
                           &(rounding){fixed / record, zero, c->sum});
    }
    if (conv_makes_twice(c)) {
        store_twice(e, at);
        return;
    }
    store_tiles(e, p, n, at, 0);
}

/* Adds the weights of output block n, times minus the input's zero point, to the block's bias. */
static void sum_weights(emitter *e, const piece *p, const reduction *t, int64_t n, bool last)
{
    const int64_t bias = p->params + n * e->c->record;
    const int64_t steps = vtac_vta_part_entries(e->c, e->t, p->group, &t->part);
    for (int64_t k = 0; k < steps; k++) {
        e->uops[k] = (vta_uop){
            .dst = (uint32_t)bias, .src = (uint32_t)e->factor, .aux = (uint32_t)(t->wgt + n * steps + k)};
    }
    vtac_vta_list_gemm(e->list,
                       &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)steps),
                                   .init = t->init,
                                   .iter_out = 1,
                                   .iter_in = 1},
                       (list_range){bias, 1});
    if (last && factor_of(e->c) != -e->c->zero_in) {
        const vta_uop uop = {.dst = (uint32_t)bias, .src = (uint32_t)bias};
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                     .op = VTA_ALU_MUL,
                                     .use_imm = true,
                                     .imm = 2,
                                     .iter_out = 1,
                                     .iter_in = 1},
                          (list_range){bias, 1}, (list_range){bias, 1});
    }
}

/* Sums up pairs of output blocks, which share tiles of weights: the input's first tile has zeros where the
 * second block's weights are, and the other way round. */
static int64_t emit_pairs(emitter *e, const piece *p, const reduction *t)
{
    const conv *c = e->c;
    const int64_t planes = c->planes, blocks = 2 * vta_ceil_div(vtac_vta_filled_blocks(c, e->t, p->group), 2);
    for (int64_t k = 0; k < 2 * planes; k++) {
        e->uops[k] = (vta_uop){.dst = (uint32_t)(p->acc + k / planes),
                               .src = (uint32_t)(t->inp + k / planes),
                               .aux = (uint32_t)(t->wgt + k % planes)};
    }
    vtac_vta_list_gemm(
        e->list,
        &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)(2 * planes)),
                    .init = t->init,
                    .iter_out = blocks / 2,
                    .iter_in = 1,
                    .dst_out = blocks > 2 ? 2 : 0,
                    .wgt_out = blocks > 2 ? planes : 0},
        (list_range){p->acc, blocks});
    return blocks;
}

/* A single pixel has one call for all blocks with weights: the loop goes over blocks, not over pixels.
 * Returns their number; 0: each block has a call of its own. */
static int64_t emit_pixel(emitter *e, const piece *p, const reduction *t)
{
    const conv *c = e->c;
    const int64_t blocks = vtac_vta_filled_blocks(c, e->t, p->group);
    if (c->twice) {
        return emit_pairs(e, p, t);
    }
    if (c->depthwise || c->groups > 1 || c->tiles != NULL || c->phases > 1 || e->t->parted || p->biases ||
        blocks < 2 || p->tile.rows * p->tile.cols != 1) {
        return 0;
    }
    vtac_vta_emit_grid(
        e, p, t, 0,
        &(pixel_grid){.to = p->acc, .rows = 1, .cols = 1, .down = 1, .across = 1, .blocks = blocks});
    return blocks;
}

void vtac_vta_emit_reduction(emitter *e, piece *p, const reduction *t, bool last)
{
    const int64_t ro = e->c->ro, made = emit_pixel(e, p, t);
    for (int64_t n = 0; n < p->blocks; n++) {
        if (last && n % ro == 0 && e->c->sum != NULL) {
            p->other = emit_other(e, p, n);
        }
        if (e->c->depthwise) {
            vtac_vta_emit_depthwise(e, p, t, n);
        } else if (n >= made) {
            vtac_vta_emit_gemm(e, p, t, n);
        }
        if (p->biases) {
            sum_weights(e, p, t, n, last);
        }
        if (last && (n + 1) % ro == 0) {
            finish_blocks(e, p, n + 1 - ro);
        }
    }
}

/* Grouped convolutions: a group of blocks may need fewer parts than the group that needs most. */
static int64_t parts_of(const emitter *e, int64_t group)
{
    int64_t parts = e->t->parts;
    part last = vtac_vta_tiling_part(e->c, e->t, group, parts - 1);
    while (vtac_vta_part_entries(e->c, e->t, group, &last) == 0) {
        parts--;
        last = vtac_vta_tiling_part(e->c, e->t, group, parts - 1);
    }
    return parts;
}

static void emit_piece(emitter *e, int64_t group, int64_t tile_index)
{
    const tiling *t = e->t;
    const int64_t parts = parts_of(e, group);
    piece p = {.group = group,
               .blocks = vtac_vta_group_blocks(e->c, t, group),
               .tile_index = tile_index,
               .out = vtac_vta_tiling_tile(e->c, t, tile_index),
               .acc = e->sums + (e->pieces + e->first_slot) % t->acc_slots * t->acc_size};
    vtac_vta_list_piece(e->list);
    p.params = conv_whole(e->c) ? 0 : vtac_vta_emit_params(e, group);
    p.biases = e->fresh && conv_sums_weights(e->c);
    const interval rows = vtac_vta_tiling_rows(e->c, t, p.out.y, p.out.rows),
                   cols = vtac_vta_conv_made(e->c, 1, p.out.x, p.out.cols);
    p.tile =
        (patch){.image = p.out.image, .y = rows.at, .x = cols.at, .rows = rows.count, .cols = cols.count};
    for (int64_t i = 0; i < parts; i++) {
        reduction now = {.index = e->pieces % 2 == 0 ? i : parts - 1 - i, .init = i == 0};
        if (i > 0) {
            vtac_vta_list_piece(e->list);
        }
        now.part = vtac_vta_tiling_part(e->c, t, group, now.index);
        now.wgt = vtac_vta_emit_weights(e, group, now.index);
        now.inp = need_input(e, &p, &now);
        vtac_vta_emit_reduction(e, &p, &now, i == parts - 1);
    }
    e->pieces++;
}

static void emit_pieces(emitter *e)
{
    const tiling *t = e->t;
    const int64_t outer = t->tiles_outside ? t->tiles : t->groups;
    const int64_t inner = t->tiles_outside ? t->groups : t->tiles;
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t k = 0; k < inner; k++) {
            /* Every other round goes backwards: what was used last is used first. With kept rows all
             * rounds go down. */
            const int64_t j = i % 2 == 0 || t->kept > 0 ? k : inner - 1 - k;
            emit_piece(e, t->tiles_outside ? j : i, t->tiles_outside ? i : j);
        }
    }
    vtac_vta_list_flush(e->list);
}

/* With the whole machine, a layer begins with the entries that the layer before used longest ago, so that its
 * first loads need not wait for that layer's last work. Sums move only if nothing is joined: a joined layer
 * needs the quarters of ACC. */
static void begin_behind(emitter *e)
{
    const conv *c = e->c;
    const tiling *t = e->t;
    const list_ends *ends = &e->list->ends;
    const int64_t params = t->param_slots * t->param_size, used = t->acc_slots * t->acc_size;
    if (c->machine->side > 0) {
        return;
    }
    slots_behind(&e->inp, ends->inp, c->machine->inp - conv_sums_weights(c));
    slots_behind(&e->wgt, ends->wgt, c->machine->wgt);
    if (c->sum != NULL || c->pool != NULL) {
        return;
    }
    const int64_t before =
        (ends->params - params) / c->record * c->record; /* a record is aligned to its size */
    e->params.first = ends->params >= params && before >= used ? before : t->param_first;
    slots sums;
    vtac_vta_slots_init(&sums, 0, t->acc_size, t->acc_slots);
    slots_behind(&sums, ends->acc, e->params.first);
    e->sums = sums.first;
    e->first_slot = sums.start;
}

/* The ends of the layer's uses of the scratchpads, for the next layer. */
static list_ends ends_of(const emitter *e)
{
    const tiling *t = e->t;
    const bool whole = e->c->machine->side == 0, plain = e->c->sum == NULL && e->c->pool == NULL;
    const int64_t last = (e->pieces + e->first_slot + t->acc_slots - 1) % t->acc_slots;
    return (list_ends){.inp = whole ? e->inp.end : 0,
                       .wgt = whole ? e->wgt.end : 0,
                       .acc = whole && plain ? e->sums + (last + 1) * t->acc_size : 0,
                       .params = whole && plain ? e->params.first : 0};
}

void vtac_vta_emitter_open(emitter *e)
{
    const tiling *t = e->t;
    vtac_vta_slots_init(&e->inp, t->inp_first, t->inp_size, t->inp_slots);
    vtac_vta_slots_init(&e->wgt, t->wgt_first, t->wgt_size, t->wgt_slots);
    vtac_vta_slots_init(&e->params, t->param_first, t->param_size, t->param_slots);
    e->sums = t->acc_first;
    e->chunks = vtac_vta_chunk_table(e->c, t);
    e->uops = malloc((size_t)e->c->machine->uop * sizeof *e->uops);
}

void vtac_vta_emitter_close(emitter *e)
{
    free(e->chunks);
    free(e->uops);
}

vta_status vtac_vta_conv_emit(const plan *p, step_list *list, vta_diag *diag)
{
    const conv *c = &p->conv;
    const tiling *t = &p->tiling;
    emitter e = {.c = c, .t = t, .at = &p->at, .list = list, .table = 1};
    vtac_vta_emitter_open(&e);
    begin_behind(&e);
    vtac_vta_emit_constants(&e);
    if (e.chunks != NULL && e.uops != NULL) {
        emit_pieces(&e);
    }
    list->ends = ends_of(&e);
    const bool good = e.chunks != NULL && e.uops != NULL && !list->failed;
    vtac_vta_emitter_close(&e);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", c->layer->name);
}
