/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layers whose weights are numbers of four bits times a factor for each output channel and block of
 * inputs. LOADs bring four bits a weight; the array sums each block by itself; the ALU multiplies the sums of
 * blocks by their factors, adds them up, and requantizes. The sums are those of the products, to the bit.
 *
 * A piece is some pixels for some blocks of outputs. Its slot of ACC holds records of parameters, factors by
 * block of inputs and of outputs, and sums by block of inputs, block of outputs and pixel. All inputs of a
 * tile's pixels are in INP; the weights of some blocks of inputs are in a slot of WGT.
 *
 * Rows of a matrix may be images of one pixel each. They are taken as the pixels of one image, so that all
 * share the weights; in memory, all channels of a row lie side by side then.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched.h"
#include "timing.h"
#include "vta/number.h"

enum { SLOTS = 2, ALIGNED = 4 }; /* a record's entries begin at a multiple of their number, 2 or 4 */

static const vtac_vta_tensor *tensor_in(const plan *p)
{
    return &p->region->tensors[p->layer->inputs[0]];
}

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static int64_t pixel_count(const plan *p)
{
    return p->factors.by_images ? p->images : tensor_out(p)->h * tensor_out(p)->w;
}

static int64_t image_count(const plan *p)
{
    return p->factors.by_images ? 1 : p->images;
}

/* ---- factors */

static int32_t common_divisor(int32_t a, int32_t b)
{
    while (b != 0) {
        const int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The largest number that divides all `count` weights; 1 where all are 0. 0: four bits hold not all
 * quotients.
 */
static int32_t factor_of(const int8_t *weights, int64_t count)
{
    int32_t divisor = 0, low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        divisor = common_divisor(weights[i] < 0 ? -weights[i] : weights[i], divisor);
        low = weights[i] < low ? weights[i] : low;
        high = weights[i] > high ? weights[i] : high;
    }
    divisor = divisor < 1 ? 1 : divisor > INT8_MAX ? 1 : divisor;
    return low >= -8 * divisor && high <= 7 * divisor ? divisor : 0;
}

static bool has_factors(const int8_t *weights, int64_t outputs, int64_t inputs, int64_t block)
{
    bool all = true;
    for (int64_t o = 0; all && o < outputs; o++) {
        for (int64_t k = 0; all && k < inputs; k += block) {
            all = factor_of(weights + o * inputs + k, vta_min(block, inputs - k)) > 0;
        }
    }
    return all;
}

/* The largest block of inputs that have factors; 0: none. */
static int64_t block_of(const machine *m, const vtac_vta_layer *layer, int64_t outputs, int64_t inputs)
{
    static const int64_t blocks[] = {128, 64, 32};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        if (blocks[i] % m->block == 0 && blocks[i] < inputs &&
            has_factors(layer->weights, outputs, inputs, blocks[i])) {
            return blocks[i];
        }
    }
    return 0;
}

/* ---- planning */

/* True if a layer is a dense one that this machine can do with factors. */
static bool is_dense(const machine *m, const vtac_vta_layer *layer)
{
    return m->config->wgt4 != 0 && m->batch == 1 && m->block_in == m->block_out &&
           layer->kind == VTAC_VTA_CONV && layer->weights != NULL && layer->weight_zero == NULL &&
           layer->groups == 1 && layer->bytes == 0 && layer->behind == NULL &&
           vtac_vta_window_is_point(&layer->window);
}

/* Entries of ACC that a block of outputs takes with so many pixels. */
static int64_t entries_of_block(const factor_tiling *t, int64_t pixels)
{
    return t->record + t->groups + t->groups * pixels;
}

/* Gives pieces so many blocks of outputs. */
static void set_outs(factor_tiling *t, int64_t outs, int64_t wgt)
{
    t->outs = outs;
    t->part = vta_min(t->groups, wgt / t->per_group / t->outs);
    t->wgt_size = t->part * t->outs * t->per_group;
}

static int64_t slot_of_wgt(const machine *m)
{
    return vta_min(m->wgt / SLOTS, m->uop / SLOTS);
}

/* Chooses the sizes of pieces; false: not even the smallest fits. */
static bool choose_tiling(plan *p)
{
    const machine *m = p->machine;
    factor_tiling *t = &p->factors;
    const int64_t acc = m->acc / SLOTS / ALIGNED * ALIGNED, wgt = slot_of_wgt(m);
    const int64_t pixels = (acc - t->record - t->groups) / t->groups;
    t->inp_slots = m->inp / t->in_blocks < SLOTS ? 1 : SLOTS;
    t->pixels = vta_min(vta_min(pixel_count(p), pixels), m->inp / t->in_blocks / t->inp_slots);
    if (t->pixels < 1 || wgt < t->per_group) {
        return false;
    }
    const int64_t outs = vta_min(t->out_blocks, acc / entries_of_block(t, t->pixels));
    set_outs(t, vta_min(outs, wgt / t->per_group), wgt);
    t->acc_size = acc;
    return true;
}

static void measure(plan *p)
{
    const machine *m = p->machine;
    const factor_tiling *t = &p->factors;
    const uint32_t *bytes = m->config->elem_bytes;
    const int64_t tiles = image_count(p) * vta_ceil_div(pixel_count(p), t->pixels);
    const int64_t pixels = image_count(p) * pixel_count(p);
    const int64_t each =
        t->in_blocks * bytes[VTA_MEM_WGT4] + t->groups * bytes[VTA_MEM_ACC8] + t->record * bytes[VTA_MEM_ACC];
    const int64_t read = tiles * t->out_blocks * each + pixels * t->in_blocks * bytes[VTA_MEM_INP];
    const int64_t written = pixels * t->out_blocks * bytes[VTA_MEM_OUT];
    enum { STEPS = 4 }; /* of the ALU, for a block of inputs: two operations of two tensors */
    p->units = (load_of_units){.array = (uint64_t)(pixels * t->in_blocks * t->out_blocks),
                               .alu = (uint64_t)(pixels * t->out_blocks * STEPS * t->groups),
                               .load = (uint64_t)(read / m->beat),
                               .store = (uint64_t)(written / m->beat),
                               .bytes_read = (uint64_t)read,
                               .bytes_written = (uint64_t)written};
    p->cycles = vtac_vta_units_cycles(&p->units);
}

bool vtac_vta_factors_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out)
{
    vtac_vta_plan_init(m, region, number, out);
    const vtac_vta_layer *layer = out->layer;
    const int64_t inputs = tensor_in(out)->c, outputs = tensor_out(out)->c;
    if (!is_dense(m, layer) || vtac_vta_narrow_weights(layer, inputs, outputs)) {
        return false;
    }
    factor_tiling *t = &out->factors;
    t->block = block_of(m, layer, outputs, inputs);
    if (t->block == 0) {
        return false;
    }
    t->per_group = t->block / m->block;
    t->in_blocks = vta_ceil_div(inputs, m->block);
    t->out_blocks = vta_ceil_div(outputs, m->block);
    t->groups = vta_ceil_div(t->in_blocks, t->per_group);
    t->record = record_entries(layer->wide);
    t->by_images = out->images > 1 && tensor_out(out)->h * tensor_out(out)->w == 1;
    out->factored = choose_tiling(out);
    if (out->factored) {
        measure(out);
    }
    return out->factored;
}

void vtac_vta_factors_describe(const plan *p, char *text, size_t size)
{
    const factor_tiling *t = &p->factors;
    (void)snprintf(text, size,
                   "weights of 4 bits, factors of %" PRId64 " inputs, %" PRId64 " of %" PRId64
                   " pixels, %" PRId64 " of %" PRId64 " out blocks",
                   t->block, t->pixels, pixel_count(p), t->outs, t->out_blocks);
}

/* ---- constants: weights, factors and records, each by groups of blocks of outputs */

typedef struct factor_pack {
    const plan *p;
    int8_t *factors; /* [output][block of inputs], also of outputs that fill the last block; owned */
} factor_pack;

static bool find_factors(const plan *p, factor_pack *out)
{
    const int64_t inputs = tensor_in(p)->c, outputs = p->factors.out_blocks * p->machine->block;
    *out = (factor_pack){.p = p, .factors = calloc((size_t)(outputs * p->factors.groups), 1)};
    for (int64_t i = 0; out->factors != NULL && i < outputs * p->factors.groups; i++) {
        const int64_t output = i / p->factors.groups, first = i % p->factors.groups * p->factors.block;
        const int8_t *weights = p->layer->weights + output * inputs + first;
        const bool used = output < tensor_out(p)->c;
        out->factors[i] = (int8_t)(used ? factor_of(weights, vta_min(p->factors.block, inputs - first)) : 1);
    }
    return out->factors != NULL;
}

static int8_t factor_at(const factor_pack *k, int64_t output, int64_t group)
{
    return k->factors[output * k->p->factors.groups + group];
}

static int32_t number_at(const factor_pack *k, int64_t output, int64_t input)
{
    const int64_t inputs = tensor_in(k->p)->c;
    return output >= tensor_out(k->p)->c || input >= inputs
               ? 0
               : k->p->layer->weights[output * inputs + input] /
                     factor_at(k, output, input / k->p->factors.block);
}

/* Packs a tile of weights, two in a byte, the lower one first. */
static void pack_tile(const factor_pack *k, int64_t out_block, int64_t in_block, uint8_t *to)
{
    const int64_t size = k->p->machine->block;
    for (int64_t i = 0; i < size * size; i += 2) {
        const int64_t output = out_block * size + i / size, input = in_block * size + i % size;
        const int32_t low = number_at(k, output, input), high = number_at(k, output, input + 1);
        to[i / 2] = (uint8_t)((low & 15) | (high & 15) << 4);
    }
}

/* Blocks of outputs of a piece, and blocks of inputs that are loaded together. */
typedef struct factor_piece {
    int64_t image, pixel, pixels; /* of the tile */
    int64_t out, outs;
    int64_t inp, acc; /* the first entries of its slots */
} factor_piece;

static int64_t blocks_of_group(const factor_tiling *t, int64_t group)
{
    return vta_min(t->per_group, t->in_blocks - group * t->per_group);
}

/* The weights of some blocks of outputs: by block of inputs with a factor, by block of outputs, by tile. */
static uint8_t *pack_outputs(const factor_pack *pack, int64_t out, int64_t outs, uint8_t *to)
{
    const factor_tiling *t = &pack->p->factors;
    for (int64_t g = 0; g < t->groups; g++) {
        const int64_t each = blocks_of_group(t, g);
        for (int64_t k = 0; k < outs * each; k++) {
            pack_tile(pack, out + k / each, g * t->per_group + k % each, to);
            to += pack->p->machine->config->elem_bytes[VTA_MEM_WGT4];
        }
    }
    return to;
}

static void pack_weights(const factor_pack *pack, uint8_t *to)
{
    const factor_tiling *t = &pack->p->factors;
    for (int64_t out = 0; out < t->out_blocks; out += t->outs) {
        to = pack_outputs(pack, out, vta_min(t->outs, t->out_blocks - out), to);
    }
}

static void pack_factors(const factor_pack *pack, int8_t *to)
{
    const factor_tiling *t = &pack->p->factors;
    const int64_t size = pack->p->machine->block;
    for (int64_t out = 0; out < t->out_blocks; out += t->outs) {
        const int64_t outs = vta_min(t->outs, t->out_blocks - out);
        for (int64_t k = 0; k < t->groups * outs * size; k++) {
            *to++ = factor_at(pack, out * size + k % (outs * size), k / (outs * size));
        }
    }
}

static void pack_records(const plan *p, int32_t *to)
{
    const vtac_vta_layer *layer = p->layer;
    const int64_t size = p->machine->block, inputs = tensor_in(p)->c;
    for (int64_t o = 0; o < tensor_out(p)->c; o++) {
        int64_t sum = 0;
        for (int64_t k = 0; k < inputs; k++) {
            sum += layer->weights[o * inputs + k];
        }
        const int64_t bias = layer->bias != NULL ? layer->bias[o] : 0;
        vtac_vta_record_fill(to + o / size * p->factors.record * size + o % size, size, layer->wide,
                             (int32_t)(bias - tensor_in(p)->zero * sum), layer->scales[o]);
    }
}

/* Parts of the constants. */
enum { WEIGHTS, FACTORS, RECORDS, PARTS };

static void fill_constants(const factor_pack *pack, int which, uint8_t *to)
{
    if (which == WEIGHTS) {
        pack_weights(pack, to);
    } else if (which == FACTORS) {
        pack_factors(pack, (int8_t *)to);
    } else {
        pack_records(pack->p, (int32_t *)(void *)to);
    }
}

vta_status vtac_vta_factors_pack(plan *p, blob *to, vta_diag *diag)
{
    const factor_tiling *t = &p->factors;
    const uint32_t *bytes = p->machine->config->elem_bytes;
    const uint64_t element[PARTS] = {bytes[VTA_MEM_WGT4], bytes[VTA_MEM_ACC8], bytes[VTA_MEM_ACC]};
    const uint64_t count[PARTS] = {(uint64_t)(t->in_blocks * t->out_blocks),
                                   (uint64_t)(t->groups * t->out_blocks),
                                   (uint64_t)(t->record * t->out_blocks)};
    uint64_t offset[PARTS];
    factor_pack pack = {.p = p};
    bool good = to->places_only || find_factors(p, &pack);
    for (int i = 0; i < PARTS && good; i++) {
        uint8_t *room = vtac_vta_blob_add(to, count[i] * element[i], element[i], &offset[i]);
        good = room != NULL;
        if (good && pack.factors != NULL) {
            fill_constants(&pack, i, room);
        }
    }
    free(pack.factors);
    if (!good) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the weights of layer '%s'", p->layer->name);
    }
    p->at = (constants){.weights = (int64_t)(offset[WEIGHTS] / element[WEIGHTS]),
                        .sum = (int64_t)(offset[FACTORS] / element[FACTORS]),
                        .params = (int64_t)(offset[RECORDS] / element[RECORDS])};
    return VTA_OK;
}

/* ---- calls */

typedef struct factor_emitter {
    const plan *p;
    step_list *list;
    vta_uop *uops; /* room for a kernel, owned */
    int64_t parts; /* loaded so far */
} factor_emitter;

static int64_t factors_at(const plan *p, const factor_piece *at)
{
    return at->acc + at->outs * p->factors.record;
}

static int64_t sums_at(const plan *p, const factor_piece *at)
{
    return factors_at(p, at) + at->outs * p->factors.groups;
}

/* A load of `rows` times `count` elements, `stride` apart. */
static void load(const factor_emitter *e, vta_load2d how, int64_t rows, int64_t count, int64_t stride)
{
    how.y_size = rows;
    how.x_size = count;
    how.x_stride = stride;
    vtac_vta_list_load(e->list, &how);
}

static void load_inputs(const factor_emitter *e, const factor_piece *at)
{
    const plan *p = e->p;
    const int64_t pixels = pixel_count(p), blocks = p->factors.in_blocks;
    const int64_t first = (int64_t)tensor_in(p)->offset / p->machine->config->elem_bytes[VTA_MEM_INP];
    vta_load2d how = {.memory = VTA_MEM_INP, .sram = at->inp, .buffer = {WORK_BUFFER}};
    if (p->factors.by_images) {
        how.offset = first + at->pixel * blocks;
        load(e, how, 1, at->pixels * blocks, at->pixels * blocks);
    } else {
        how.offset = first + at->image * blocks * pixels + at->pixel;
        load(e, how, blocks, at->pixels, pixels);
    }
}

static void load_constants(const factor_emitter *e, const factor_piece *at)
{
    const plan *p = e->p;
    const int64_t records = at->outs * p->factors.record, factors = at->outs * p->factors.groups;
    load(e,
         (vta_load2d){.memory = VTA_MEM_ACC,
                      .sram = at->acc,
                      .buffer = {CONSTANTS_BUFFER},
                      .offset = p->at.params + at->out * p->factors.record},
         1, records, records);
    load(e,
         (vta_load2d){.memory = VTA_MEM_ACC8,
                      .sram = factors_at(p, at),
                      .buffer = {CONSTANTS_BUFFER},
                      .offset = p->at.sum + at->out * p->factors.groups},
         1, factors, factors);
}

/* Loads the weights of some blocks of inputs, and sums each block by itself. `loaded` tiles of the piece's
 * weights come before. */
static int64_t multiply_part(factor_emitter *e, const factor_piece *at, int64_t first, int64_t loaded)
{
    const plan *p = e->p;
    const factor_tiling *t = &p->factors;
    const int64_t wgt = e->parts++ % SLOTS * t->wgt_size, sums = sums_at(p, at);
    const int64_t end = vta_min(first + t->part, t->groups);
    const int64_t apart = t->by_images ? 1 : at->pixels; /* from block to block */
    uint32_t count = 0;
    for (int64_t g = first; g < end; g++) {
        const int64_t each = blocks_of_group(t, g);
        for (int64_t k = 0; k < at->outs * each; k++) {
            e->uops[count] = (vta_uop){.dst = (uint32_t)(sums + (g * at->outs + k / each) * at->pixels),
                                       .src = (uint32_t)(at->inp + (g * t->per_group + k % each) * apart),
                                       .aux = (uint32_t)(wgt + count)};
            count++;
        }
    }
    load(e,
         (vta_load2d){.memory = VTA_MEM_WGT4,
                      .sram = wgt,
                      .buffer = {CONSTANTS_BUFFER},
                      .offset = p->at.weights + at->out * t->in_blocks + loaded},
         1, count, count);
    vtac_vta_list_gemm(
        e->list,
        &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, count),
                    .init = true,
                    .iter_out = 1,
                    .iter_in = at->pixels,
                    .dst_in = at->pixels > 1,
                    .src_in = at->pixels < 2 ? 0
                              : t->by_images ? t->in_blocks
                                             : 1},
        (list_range){sums + first * at->outs * at->pixels, (end - first) * at->outs * at->pixels});
    return count;
}

static vta_kernel kernel_of(const factor_emitter *e, int64_t dst, int64_t src)
{
    return vtac_vta_list_kernel_of(e->list, &(vta_uop){.dst = (uint32_t)dst, .src = (uint32_t)src}, 1);
}

/* The sums of blocks times their factors, added up where those of the first block are. */
static void join_blocks(const factor_emitter *e, const factor_piece *at)
{
    const factor_tiling *t = &e->p->factors;
    const int64_t sums = sums_at(e->p, at), factors = factors_at(e->p, at), each = at->outs * at->pixels;
    const list_range all = {sums, t->groups * each};
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = kernel_of(e, sums, factors),
                                 .op = VTA_ALU_MUL,
                                 .iter_out = t->groups * at->outs,
                                 .iter_in = at->pixels,
                                 .dst_out = at->pixels,
                                 .dst_in = at->pixels > 1,
                                 .src_out = 1},
                      all, (list_range){factors, t->groups * at->outs});
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = kernel_of(e, sums, sums + each),
                                 .op = VTA_ALU_ADD,
                                 .iter_out = t->groups - 1,
                                 .iter_in = each,
                                 .dst_in = each > 1,
                                 .src_out = t->groups > 2 ? each : 0,
                                 .src_in = each > 1},
                      (list_range){sums, each}, (list_range){sums + each, (t->groups - 1) * each});
}

/* The results of images lie as in memory, by image, over the sums of the second block of inputs; others lie
 * in the place of their sums. */
static void requantize_piece(const factor_emitter *e, const factor_piece *at, int64_t results)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    const bool images = p->factors.by_images;
    for (int64_t o = 0; o < at->outs; o++) {
        const list_range from = {sums_at(p, at) + o * at->pixels, at->pixels};
        const list_range to = images ? (list_range){results + o, (at->pixels - 1) * at->outs + 1} : from;
        vtac_vta_list_requant(e->list,
                              &(vta_requant){.dst = to.first,
                                             .src = from.first,
                                             .params = at->acc / p->factors.record + o,
                                             .iter_out = 1,
                                             .iter_in = at->pixels,
                                             .dst_in = at->pixels < 2 ? 0
                                                       : images       ? at->outs
                                                                      : 1,
                                             .src_in = at->pixels > 1,
                                             .zero_point = tensor_out(p)->zero,
                                             .low = layer->low,
                                             .high = layer->high,
                                             .rounding = layer->rounding,
                                             .wide = layer->wide},
                              to, from);
    }
}

static void finish_piece(const factor_emitter *e, const factor_piece *at)
{
    const plan *p = e->p;
    const int64_t pixels = pixel_count(p), blocks = p->factors.out_blocks, sums = sums_at(p, at);
    const int64_t first = (int64_t)tensor_out(p)->offset / p->machine->config->elem_bytes[VTA_MEM_OUT];
    vta_store2d how = {.sram = sums,
                       .buffer = {WORK_BUFFER},
                       .offset = first + (at->image * blocks + at->out) * pixels + at->pixel,
                       .y_size = at->outs,
                       .x_size = at->pixels,
                       .x_stride = pixels};
    if (p->factors.by_images) {
        how = (vta_store2d){.sram = sums + at->outs * at->pixels,
                            .buffer = {WORK_BUFFER},
                            .offset = first + at->pixel * blocks + at->out,
                            .y_size = at->pixels,
                            .x_size = at->outs,
                            .x_stride = blocks};
    }
    requantize_piece(e, at, how.sram);
    vtac_vta_list_store(e->list, &how);
}

static void emit_piece(factor_emitter *e, const factor_piece *at)
{
    const factor_tiling *t = &e->p->factors;
    int64_t loaded = 0;
    load_constants(e, at);
    for (int64_t g = 0; g < t->groups; g += t->part) {
        loaded += multiply_part(e, at, g, loaded);
    }
    join_blocks(e, at);
    finish_piece(e, at);
}

/* One tile after the other, with all blocks of outputs of each. */
static void emit_tiles(factor_emitter *e)
{
    const plan *p = e->p;
    const factor_tiling *t = &p->factors;
    const int64_t across = vta_ceil_div(pixel_count(p), t->pixels);
    int64_t pieces = 0;
    for (int64_t n = 0; n < image_count(p) * across; n++) {
        factor_piece at = {.image = n / across,
                           .pixel = n % across * t->pixels,
                           .inp = n % t->inp_slots * t->in_blocks * t->pixels};
        at.pixels = vta_min(t->pixels, pixel_count(p) - at.pixel);
        load_inputs(e, &at);
        for (int64_t out = 0; out < t->out_blocks; out += t->outs) {
            at.out = out;
            at.outs = vta_min(t->outs, t->out_blocks - out);
            at.acc = pieces++ % SLOTS * t->acc_size;
            emit_piece(e, &at);
        }
    }
}

vta_status vtac_vta_factors_emit(const plan *p, step_list *list, vta_diag *diag)
{
    factor_emitter e = {.p = p, .list = list};
    e.uops = calloc((size_t)p->factors.wgt_size, sizeof *e.uops);
    if (e.uops != NULL) {
        emit_tiles(&e);
        vtac_vta_list_flush(list);
    }
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}

/* UINT64_MAX: not below `limit`. */
static vta_status time_plan(const plan *p, step_list *list, uint64_t limit, uint64_t *cycles)
{
    vtac_vta_list_clear(list);
    VTA_TRY(vtac_vta_factors_emit(p, list, NULL));
    vtac_vta_list_load_ahead(list, p->machine->config, p->machine->latency);
    *cycles = vtac_vta_timing_below(p->machine, list, 0, limit);
    return VTA_OK;
}

bool vtac_vta_factors_refine(plan *p, uint64_t limit)
{
    step_list list;
    int64_t best = 0;
    vtac_vta_list_init(&list);
    for (int64_t outs = p->factors.outs; outs > 0; outs /= 2) {
        uint64_t cycles = 0;
        set_outs(&p->factors, outs, slot_of_wgt(p->machine));
        if (time_plan(p, &list, limit, &cycles) == VTA_OK && cycles > 0 && cycles < limit) {
            best = outs;
            p->cycles = limit = cycles;
        }
    }
    vtac_vta_list_free(&list);
    if (best > 0) {
        set_outs(&p->factors, best, slot_of_wgt(p->machine));
    }
    return best > 0;
}
