/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations of planes: means over the pixels of an image, by groups of channels. A chunk of channels
 * goes through ACC twice, in pieces of some pixels: for its sums, and for its results by the records that the
 * ALU makes of them between. Instances are groups of one channel.
 *
 * ACC: the records of a chunk; constants; sums; arrays by groups, roots, arrays by lanes, pairs; the slots,
 * each with the entries of a piece in the order of memory: by block, by pixel, by entry of the tile.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "planes.h"
#include "vta/number.h"

enum { SLOTS = 2 };         /* one is loaded while another is computed */
enum { ENOUGH = 16 };       /* pixels of a piece that hide the time from a step to its result */
enum { BEST_BLOCKS = 8 };   /* of a chunk: enough for the steps between its passes */
enum { SHARE = 2 };         /* of ACC, which all but the slots should not exceed */
enum { STRIDES = 1 << 16 }; /* between rows of a LOAD or STORE */
enum { EXACT = 1 << 16 };   /* squares whose sum has less than 31 bits */

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static int64_t pixel_count(const plan *p)
{
    return tensor_out(p)->h * tensor_out(p)->w;
}

/* ---- groups and entries */

static int64_t first_channel(const plan *p, int64_t chunk)
{
    return chunk * p->planes.blocks * p->machine->block;
}

static int64_t channels_of(const plan *p, int64_t chunk)
{
    return vta_min(p->planes.blocks * p->machine->block, tensor_out(p)->c - first_channel(p, chunk));
}

static int64_t place_of(const plan *p, int64_t entry)
{
    return entry % p->machine->ro * p->planes.blocks + entry / p->machine->ro;
}

/* The number of a pair's mask: that of the first pair with the same lanes. */
static int32_t mask_of(const plane_pair *pairs, int64_t count, const plane_pair *pair, int32_t *masks)
{
    for (int64_t i = 0; i < count; i++) {
        if (pairs[i].first == pair->first && pairs[i].end == pair->end) {
            return pairs[i].mask;
        }
    }
    return (*masks)++;
}

/* Lists the pairs of a chunk; returns their number. `pairs` NULL: only the number. */
static int64_t list_pairs(const plan *p, int64_t chunk, plane_pair *pairs, int32_t *masks)
{
    const int64_t each = p->planes.each, out = p->machine->block_out;
    int64_t count = 0;
    *masks = 0;
    for (int64_t g = 0; g < channels_of(p, chunk) / each; g++) {
        for (int64_t entry = g * each / out; entry * out < (g + 1) * each; entry++, count++) {
            if (pairs == NULL) {
                continue;
            }
            pairs[count] = (plane_pair){.group = (int32_t)g,
                                        .entry = (int32_t)place_of(p, entry),
                                        .first = (int32_t)vta_max(g * each - entry * out, 0),
                                        .end = (int32_t)vta_min((g + 1) * each - entry * out, out),
                                        .begins = entry == g * each / out};
            pairs[count].mask = mask_of(pairs, count, &pairs[count], masks);
        }
    }
    return count;
}

/* ---- planning */

static int64_t constant_entries(const planes_tiling *t)
{
    return PLANE_CHANNELS + CHANNEL_NUMBERS * t->entries + t->masks;
}

/* Places the parts of ACC, the slots behind all others. */
static void place_parts(plan *p)
{
    planes_tiling *t = &p->planes;
    t->record = vta_round_up(p->machine->first_acc, record_entries(false));
    t->fixed = t->record + record_entries(false) * t->entries;
    t->sums = t->fixed + constant_entries(t);
    t->by_group = t->sums + SUMS * t->entries;
    t->by_lane = t->by_group + GROUP_ARRAYS * vtac_vta_planes_width(t) + 2 * t->groups;
    t->apart = t->by_lane + LANE_ARRAYS * t->entries;
    t->first = t->apart + t->pairs;
}

/* Sizes of a chunk of so many tile blocks; false: no memory. */
static bool measure_chunk(plan *p, int64_t blocks)
{
    planes_tiling *t = &p->planes;
    int32_t masks;
    t->blocks = blocks;
    t->chunks = vta_ceil_div(vta_ceil_div(tensor_out(p)->c, p->machine->block), blocks);
    t->entries = blocks * p->machine->ro;
    t->groups = channels_of(p, 0) / t->each;
    t->pairs = list_pairs(p, 0, NULL, &masks); /* other chunks have no more */
    plane_pair *pairs = calloc((size_t)t->pairs + 1, sizeof *pairs);
    if (pairs == NULL) {
        return false;
    }
    (void)list_pairs(p, 0, pairs, &masks);
    t->masks = masks;
    free(pairs);
    place_parts(p);
    return true;
}

static int64_t entries_left(const plan *p)
{
    return p->machine->first_acc + p->machine->acc - p->planes.first;
}

/* The tile blocks that hold whole groups, at least. */
static int64_t unit_of(const plan *p)
{
    const int64_t all = vta_ceil_div(tensor_out(p)->c, p->machine->block);
    int64_t unit = 1;
    while (unit < all && unit * p->machine->block % p->planes.each != 0) {
        unit++;
    }
    return unit;
}

static vta_status choose_tiling(plan *p, vta_diag *diag)
{
    planes_tiling *t = &p->planes;
    t->each = p->layer->plane_norm->channels / p->layer->plane_norm->groups;
    const int64_t unit = unit_of(p), all = vta_ceil_div(tensor_out(p)->c, p->machine->block);
    int64_t blocks = vta_min(vta_max(unit, BEST_BLOCKS / unit * unit), vta_round_up(all, unit));
    bool good = measure_chunk(p, blocks);
    while (good && blocks > unit && entries_left(p) < p->machine->acc / SHARE) {
        blocks -= unit;
        good = measure_chunk(p, blocks);
    }
    t->slots = SLOTS;
    while (t->slots > 1 && entries_left(p) / t->slots / t->entries < vta_min(ENOUGH, pixel_count(p))) {
        t->slots--;
    }
    t->pixels = vta_min(entries_left(p) / t->slots / t->entries, pixel_count(p));
    if (good && t->pixels < 1) {
        return vta_fail(diag, VTA_RANGE,
                        "its groups do not fit: those of %" PRId64 " channels need %" PRId64
                        " accumulators of %" PRId64 " (LOG_ACC_BUFF_SIZE); a larger buffer would help",
                        channels_of(p, 0), t->first - p->machine->first_acc + t->entries, p->machine->acc);
    }
    if (good) {
        t->pixels = vta_ceil_div(pixel_count(p), vta_ceil_div(pixel_count(p), t->pixels));
    }
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to plan layer '%s'", p->layer->name);
}

vta_status vtac_vta_rule_planes(const machine *m, const vtac_vta_region *region, uint32_t number,
                                vta_diag *diag)
{
    (void)region;
    (void)number;
    return m->config->rows != 0
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "it needs roots, and configuration '%s' has no instructions for that; use a "
                          "configuration with ROWS 1",
                          m->config->name);
}

vta_status vtac_vta_planes_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                                vta_diag *diag)
{
    enum { PASSES = 5, GROUP_STEPS = 12, LANE_STEPS = 60 }; /* of the ALU, about */
    vtac_vta_plan_init(m, region, number, out);
    VTA_TRY(choose_tiling(out, diag));
    const planes_tiling *t = &out->planes;
    const int64_t tiles = vta_ceil_div(tensor_out(out)->c, m->block) * pixel_count(out);
    const uint64_t bytes = (uint64_t)(out->images * tiles * m->ro * m->config->elem_bytes[VTA_MEM_OUT]);
    const int64_t between = GROUP_STEPS * t->groups + LANE_STEPS * vta_max(t->entries, ENOUGH);
    out->units =
        (load_of_units){.alu = (uint64_t)(out->images * (PASSES * tiles * m->ro + t->chunks * between)),
                        .load = 2 * bytes / (uint64_t)m->beat,
                        .store = bytes / (uint64_t)m->beat,
                        .bytes_read = 2 * bytes,
                        .bytes_written = bytes};
    out->cycles = vtac_vta_units_cycles(&out->units);
    return VTA_OK;
}

/* ---- constants */

/* The constants of a chunk while they are filled in: `lanes` numbers in an entry. */
typedef struct plane_constants {
    int32_t *entry;
    int64_t lanes, channels;
} plane_constants;

static void fill_entry(const plane_constants *c, int64_t entry, int64_t value)
{
    for (int64_t i = 0; i < c->lanes; i++) {
        c->entry[entry * c->lanes + i] = (int32_t)value;
    }
}

static void fill_fixed(const plane_constants *c, const vtac_planes *n)
{
    fill_entry(c, PLANE_MEAN + 1, vta_requant_scale(n->mean.mult, n->mean.shift));
    fill_entry(c, PLANE_PART + 1, vta_requant_scale(n->part.mult, n->part.shift));
    fill_entry(c, PLANE_SQUARE + 1, vta_requant_scale(n->square.mult, n->square.shift));
    fill_entry(c, PLANE_COUNT, -n->n);
    fill_entry(c, PLANE_COUNT_HIGH, -(n->n >> LIMB));
    fill_entry(c, PLANE_COUNT_LOW, -(n->n & ((1 << LIMB) - 1)));
    fill_entry(c, PLANE_EPSILON, n->epsilon);
}

/* The numbers of a channel, in its lane of each batch row. */
static void fill_channel(const plane_constants *c, const plan *p, int64_t channel,
                         const vtac_planes_channel *from)
{
    const int32_t numbers[CHANNEL_NUMBERS] = {[CHANNEL_TIMES] = from->times,
                                              [CHANNEL_WEIGHT] = from->weight,
                                              [CHANNEL_LOWER] = from->lower,
                                              [CHANNEL_GAIN] = from->gain,
                                              [CHANNEL_PLACES] = from->places};
    for (int64_t k = 0; k < CHANNEL_NUMBERS; k++) {
        const int64_t entry = PLANE_CHANNELS + k * p->planes.entries + place_of(p, channel / c->channels);
        for (int64_t i = channel % c->channels; i < c->lanes; i += c->channels) {
            c->entry[entry * c->lanes + i] = numbers[k];
        }
    }
}

static void fill_masks(const plane_constants *c, const plan *p, const plane_pair *pairs, int64_t count)
{
    const int64_t first = PLANE_CHANNELS + CHANNEL_NUMBERS * p->planes.entries;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t lane = 0; lane < c->lanes; lane++) {
            const int64_t own = lane % c->channels;
            c->entry[(first + pairs[i].mask) * c->lanes + lane] = own >= pairs[i].first && own < pairs[i].end;
        }
    }
}

static void fill_chunk(const plane_constants *c, const plan *p, int64_t chunk, plane_pair *pairs)
{
    const vtac_planes *n = p->layer->plane_norm;
    int32_t masks;
    fill_fixed(c, n);
    for (int64_t i = 0; i < channels_of(p, chunk); i++) {
        fill_channel(c, p, i, &n->channel[first_channel(p, chunk) + i]);
    }
    fill_masks(c, p, pairs, list_pairs(p, chunk, pairs, &masks));
}

vta_status vtac_vta_planes_pack(plan *p, blob *to, vta_diag *diag)
{
    const int64_t element = p->machine->config->elem_bytes[VTA_MEM_ACC], size = constant_entries(&p->planes);
    uint64_t offset;
    if (p->layer->behind != NULL) {
        VTA_TRY(vtac_vta_table_pack(p, p->layer, p->layer->behind, to, diag));
    }
    plane_pair *pairs = calloc((size_t)p->planes.pairs + 1, sizeof *pairs);
    uint8_t *bytes =
        vtac_vta_blob_add(to, (uint64_t)(p->planes.chunks * size * element), (uint64_t)element, &offset);
    if (pairs == NULL || bytes == NULL) {
        free(pairs);
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", p->layer->name);
    }
    p->at.params = (int64_t)offset / element;
    for (int64_t chunk = 0; chunk < p->planes.chunks; chunk++) {
        const plane_constants c = {(int32_t *)(void *)(bytes + chunk * size * element), element / 4,
                                   p->machine->block_out};
        fill_chunk(&c, p, chunk, pairs);
    }
    free(pairs);
    return VTA_OK;
}

/* ---- pieces */

/* The first element of a piece in a tensor, from the start of WORK. */
static int64_t offset_of(const plan *p, uint32_t tensor, const plane_piece *at)
{
    const int64_t ro = p->machine->ro, plane = pixel_count(p) * ro;
    const int64_t blocks = vta_ceil_div(tensor_out(p)->c, p->machine->block);
    return (int64_t)p->region->tensors[tensor].offset / p->machine->config->elem_bytes[VTA_MEM_OUT] +
           (at->image * blocks + at->chunk * p->planes.blocks) * plane + at->pixel * ro;
}

/* The blocks that one LOAD or STORE can move: all, or one where planes are large. */
static int64_t blocks_at_once(const planes_emitter *e)
{
    return pixel_count(e->p) * e->p->machine->ro < STRIDES ? e->blocks : 1;
}

static void load_piece(planes_emitter *e, const plane_piece *at)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro, plane = pixel_count(p) * ro, count = blocks_at_once(e);
    for (int64_t k = 0; k < e->blocks; k += count) {
        vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC8,
                                                  .sram = at->at + k * at->pixels * ro,
                                                  .buffer = {WORK_BUFFER},
                                                  .offset = offset_of(p, p->layer->inputs[0], at) + k * plane,
                                                  .y_size = count,
                                                  .x_size = at->pixels * ro,
                                                  .x_stride = count > 1 ? plane : at->pixels * ro});
    }
}

static void store_piece(planes_emitter *e, const plane_piece *at)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro, plane = pixel_count(p) * ro, count = blocks_at_once(e);
    for (int64_t k = 0; k < e->blocks; k += count) {
        vtac_vta_list_store(e->list, &(vta_store2d){.sram = at->at + k * at->pixels * ro,
                                                    .buffer = {WORK_BUFFER},
                                                    .offset = offset_of(p, p->layer->output, at) + k * plane,
                                                    .y_size = count,
                                                    .x_size = at->pixels * ro,
                                                    .x_stride = count > 1 ? plane : at->pixels * ro});
    }
}

static void load_constants(planes_emitter *e, int64_t chunk)
{
    const int64_t count = constant_entries(&e->p->planes);
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC,
                                              .sram = e->p->planes.fixed,
                                              .buffer = {CONSTANTS_BUFFER},
                                              .offset = e->p->at.params + chunk * count,
                                              .y_size = 1,
                                              .x_size = count,
                                              .x_stride = count});
}

/* Piece `number` of a chunk's two passes. */
static plane_piece piece_of(const plan *p, int64_t image, int64_t chunk, int64_t number)
{
    const planes_tiling *t = &p->planes;
    const int64_t pixel = number % vta_ceil_div(pixel_count(p), t->pixels) * t->pixels;
    return (plane_piece){.image = image,
                         .chunk = chunk,
                         .pixel = pixel,
                         .pixels = vta_min(t->pixels, pixel_count(p) - pixel),
                         .at = t->first + number % t->slots * t->entries * t->pixels};
}

static void compute_piece(planes_emitter *e, const plane_piece *at, bool first_pass)
{
    const int64_t end = at->pixel + at->pixels, next = end + e->p->planes.pixels;
    if (!first_pass) {
        vtac_vta_planes_apply(e, at);
        store_piece(e, at);
        return;
    }
    vtac_vta_planes_add(e, at);
    if (end == pixel_count(e->p)) {
        vtac_vta_planes_records(e);
    } else if (next / EXACT != end / EXACT) {
        vtac_vta_planes_carry(e);
    }
}

/* A piece is loaded before the piece ahead of it is computed, if there are two slots. */
static void emit_chunk(planes_emitter *e, int64_t image, int64_t chunk)
{
    const plan *p = e->p;
    const int64_t each = vta_ceil_div(pixel_count(p), p->planes.pixels), early = p->planes.slots > 1;
    int32_t masks;
    if (p->layer->behind != NULL && chunk == 0 && image == 0) {
        vtac_vta_list_table(e->list, 0, CONSTANTS_BUFFER, p->at.table);
    }
    e->blocks = vta_ceil_div(channels_of(p, chunk), p->machine->block);
    e->pair_count = list_pairs(p, chunk, e->pairs, &masks);
    e->group_count = channels_of(p, chunk) / p->planes.each;
    if (p->planes.chunks > 1 || image == 0) {
        load_constants(e, chunk);
    }
    vtac_vta_planes_clear(e);
    for (int64_t n = 0; n < 2 * each + early; n++) {
        if (n < 2 * each) {
            const plane_piece next = piece_of(p, image, chunk, n);
            load_piece(e, &next);
        }
        if (n >= early) {
            const plane_piece own = piece_of(p, image, chunk, n - early);
            compute_piece(e, &own, n - early < each);
            vtac_vta_list_flush(e->list);
        }
    }
}

vta_status vtac_vta_planes_emit(const plan *p, step_list *list, vta_diag *diag)
{
    planes_emitter e = {.p = p, .list = list, .room = vta_max(1, p->machine->uop / 2)};
    e.uops = calloc((size_t)e.room, sizeof *e.uops);
    e.pairs = calloc((size_t)p->planes.pairs + 1, sizeof *e.pairs);
    for (int64_t i = 0; e.uops != NULL && e.pairs != NULL && i < p->images * p->planes.chunks; i++) {
        emit_chunk(&e, i / p->planes.chunks, i % p->planes.chunks);
    }
    const bool good = e.uops != NULL && e.pairs != NULL && !list->failed;
    free(e.uops);
    free(e.pairs);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
