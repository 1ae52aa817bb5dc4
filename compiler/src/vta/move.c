/* SPDX-License-Identifier: Apache-2.0
 *
 * Movements: every number of the output is a number of an input, or a zero, and the pattern repeats from
 * place to place. The array moves them, with weights that are 1 where a channel goes and 0 elsewhere; each
 * lane has its own scale and zero point. Concatenations whose inputs begin in the middle of a block are
 * movements, too.
 *
 * Across images, the blocks of all images count as blocks of one image, in which order they are stored.
 *
 * The output consists of *places* of up[0] x up[1] pixels, the *phases*. From place to place the inputs
 * advance by down[0], down[1] pixels. A piece is some places of a group of neighbouring output tile blocks,
 * which share what they read: each *source*, a tile block of an input, is loaded once for the group.
 *
 * INP and WGT: two halves. ACC: two slots for a group's parameters, then three for its pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "sched.h"
#include "vta/number.h"

enum { PIECES = 3, PAIR = 2, MAX_GROUP = 64 };

/* ---- sources of numbers */

static const vtac_vta_tensor *input_tensor(const plan *p, uint32_t k)
{
    return &p->region->tensors[p->layer->inputs[k]];
}

static const vtac_vta_tensor *output_tensor(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static int64_t phases_of(const plan *p)
{
    return p->move.up[0] * p->move.up[1];
}

/* A number of channels, rounded up to whole blocks. */
static int64_t in_blocks(const plan *p, int64_t channels)
{
    return vta_ceil_div(channels, p->machine->block) * p->machine->block;
}

/* The channels of an image; across images, of all images. */
static int64_t channels_of(const plan *p, const vtac_vta_tensor *t)
{
    return p->layer->across ? t->n * in_blocks(p, t->c) : t->c;
}

static vtac_vta_from from_across(const plan *p, int64_t phase, int64_t c)
{
    const vtac_vta_tensor *to = output_tensor(p);
    const int64_t image = c / in_blocks(p, to->c), channel = c % in_blocks(p, to->c);
    vtac_vta_from from = {.input = -1};
    if (channel < to->c) {
        from = p->layer->from[(phase * to->n + image) * to->c + channel];
    }
    if (from.input >= 0) {
        from.channel += from.image * (int32_t)in_blocks(p, input_tensor(p, (uint32_t)from.input)->c);
    }
    return from;
}

/* The source of output channel c in a phase. */
static vtac_vta_from from_of(const plan *p, int64_t phase, int64_t c)
{
    if (p->layer->kind == VTAC_VTA_MOVE) {
        return p->layer->across ? from_across(p, phase, c) : p->layer->from[phase * output_tensor(p)->c + c];
    }
    uint32_t k = 0;
    for (; c >= input_tensor(p, k)->c; k++) {
        c -= input_tensor(p, k)->c;
    }
    return (vtac_vta_from){.input = (int32_t)k, .channel = (int32_t)c};
}

/* A step of the array: a block of an input, at an offset, into an output block in a phase. */
typedef struct step_from {
    int32_t input, block;
    int32_t dy, dx;
} step_from;

static bool same_step(const step_from *a, const step_from *b)
{
    return a->input == b->input && a->block == b->block && a->dy == b->dy && a->dx == b->dx;
}

/* The steps of output block o in a phase: at least one, which initializes its sums. */
static int64_t steps_of(const plan *p, int64_t o, int64_t phase, step_from *steps)
{
    const machine *m = p->machine;
    const int64_t end = vta_min((o + 1) * m->block_out, channels_of(p, output_tensor(p)));
    int64_t count = 0;
    for (int64_t c = o * m->block_out; c < end; c++) {
        const vtac_vta_from from = from_of(p, phase, c);
        const step_from one = {from.input, (int32_t)(from.channel / m->block_in), from.dy, from.dx};
        int64_t i = 0;
        while (i < count && !same_step(&steps[i], &one)) {
            i++;
        }
        if (from.input >= 0 && i == count) {
            steps[count++] = one;
        }
    }
    if (count == 0) {
        steps[count++] = (step_from){0, 0, (int32_t)p->move.first[0], (int32_t)p->move.first[1]};
    }
    return count;
}

/* A tile block of an input that a group reads. */
typedef struct source {
    int32_t input;
    int64_t block;
} source;

static int64_t tile_blocks(const plan *p)
{
    return vta_ceil_div(channels_of(p, output_tensor(p)), p->machine->block);
}

/* The sources of `count` tile blocks from t on; *steps gets the number of all their steps. */
static int64_t sources_of(const plan *p, int64_t t, int64_t count, source *sources, int64_t *steps)
{
    const machine *m = p->machine;
    step_from own[VTAC_MAX_LANES];
    int64_t found = 0;
    *steps = 0;
    for (int64_t o = t * m->ro; o < (t + count) * m->ro; o++) {
        for (int64_t phase = 0; phase < phases_of(p); phase++) {
            const int64_t n = steps_of(p, o, phase, own);
            *steps += n;
            for (int64_t i = 0; i < n; i++) {
                const source one = {own[i].input, own[i].block / m->ri};
                int64_t k = 0;
                while (k < found && (sources[k].input != one.input || sources[k].block != one.block)) {
                    k++;
                }
                sources[k] = one;
                found += k == found;
            }
        }
    }
    return found;
}

static int64_t max_sources(const plan *p)
{
    int64_t count = 1;
    for (uint32_t k = 0; k < p->layer->input_count; k++) {
        count += vta_ceil_div(channels_of(p, input_tensor(p, k)), p->machine->block);
    }
    return count;
}

int64_t vtac_vta_place_beyond(vtac_vta_beyond beyond, int64_t at, int64_t size)
{
    const int64_t last = size - 1;
    if (beyond == VTAC_VTA_ZEROS) {
        return at;
    }
    while (beyond == VTAC_VTA_MIRROR && last > 0 && (at < 0 || at > last)) {
        at = at < 0 ? -at : 2 * last - at;
    }
    return vta_max(0, vta_min(at, last));
}

/* ---- tiling */

/* Finds the places of the output, and the window of the inputs that a place reads in all phases. */
static void find_places(plan *p)
{
    const vtac_vta_layer *layer = p->layer;
    move_tiling *t = &p->move;
    const int64_t size[2] = {output_tensor(p)->h, output_tensor(p)->w};
    bool any = false, plain = true;
    for (int d = 0; d < 2; d++) {
        t->up[d] = layer->kind == VTAC_VTA_MOVE ? layer->up[d] : 1;
        t->down[d] = layer->kind == VTAC_VTA_MOVE ? layer->down[d] : 1;
        t->places[d] = vta_ceil_div(size[d], t->up[d]);
        plain = plain && t->up[d] == 1 && t->down[d] == 1;
    }
    const int64_t entries = phases_of(p) * output_tensor(p)->c * (layer->across ? output_tensor(p)->n : 1);
    for (int64_t i = 0; layer->kind == VTAC_VTA_MOVE && i < entries; i++) {
        const vtac_vta_from from = layer->from[i];
        const int64_t at[2] = {from.dy, from.dx};
        for (int d = 0; d < 2 && from.input >= 0; d++) {
            t->first[d] = any ? vta_min(t->first[d], at[d]) : at[d];
            t->last[d] = any ? vta_max(t->last[d], at[d]) : at[d];
        }
        any = any || from.input >= 0;
    }
    for (int d = 0; d < 2; d++) {
        plain = plain && t->first[d] == 0 && t->last[d] == 0;
    }
    for (uint32_t k = 0; k < layer->input_count; k++) {
        plain = plain && input_tensor(p, k)->h == size[0] && input_tensor(p, k)->w == size[1];
    }
    t->one_row = plain;
    if (plain) { /* one long row */
        t->places[1] *= t->places[0];
        t->places[0] = 1;
    }
}

/* True if two inputs have the same parameters. */
static bool same_params(const plan *p, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) {
        return a == b;
    }
    const vtac_fixed *first = &p->layer->scales[a], *second = &p->layer->scales[b];
    return input_tensor(p, (uint32_t)a)->zero == input_tensor(p, (uint32_t)b)->zero &&
           first->mult == second->mult && first->shift == second->shift;
}

static bool same_params_in_phases(const plan *p)
{
    for (int64_t c = 0; c < channels_of(p, output_tensor(p)); c++) {
        for (int64_t phase = 1; phase < phases_of(p); phase++) {
            if (!same_params(p, from_of(p, 0, c).input, from_of(p, phase, c).input)) {
                return false;
            }
        }
    }
    return true;
}

/* The input pixels along a dimension that `places` places read. */
static int64_t pixel_span(const move_tiling *t, int d, int64_t places)
{
    return (places - 1) * t->down[d] + t->last[d] - t->first[d] + 1;
}

static int64_t entries_in(const plan *p, const move_tiling *t)
{
    return pixel_span(t, 0, t->rows) * pixel_span(t, 1, t->cols) * p->machine->ri;
}

/* The ACC entries of an output tile block. */
static int64_t entries_out(const plan *p, int64_t rows, int64_t cols)
{
    return rows * cols * phases_of(p) * p->machine->ro;
}

static bool tiling_fits(const plan *p, const move_tiling *t)
{
    const machine *m = p->machine;
    const int64_t fixed = 2 * PAIR * t->group * m->ro * t->records;
    return t->sources * entries_in(p, t) <= m->inp / 2 && t->steps <= m->wgt / 2 && t->widest <= m->uop / 2 &&
           fixed + PIECES * t->group * entries_out(p, t->rows, t->cols) <= m->acc &&
           t->cols * t->up[1] * m->ro <= INT16_MAX;
}

static bool shrink_until_fit(const plan *p, move_tiling *t)
{
    while (!tiling_fits(p, t) && t->rows > 1) {
        t->rows = vta_min(t->rows - 1, vta_ceil_div(t->places[0], vta_ceil_div(t->places[0], t->rows) + 1));
    }
    while (!tiling_fits(p, t) && t->cols > 1) {
        t->cols = vta_min(t->cols - 1, vta_ceil_div(t->places[1], vta_ceil_div(t->places[1], t->cols) + 1));
    }
    return tiling_fits(p, t);
}

/* Calls of LOAD that bring what lies beyond the edges of a block: those rows, and of each row those columns.
 */
static int64_t border_loads(const plan *p)
{
    const vtac_vta_tensor *from = input_tensor(p, 0), *to = output_tensor(p);
    const int64_t rows = to->h - from->h, cols = to->w - from->w;
    return p->images * vta_max(0, cols > 0 ? to->h * (1 + cols) : rows);
}

/* Estimates the work of each unit, in groups of t->group; returns cycles. */
static uint64_t estimate_group(const plan *p, const move_tiling *t, source *sources, load_of_units *units)
{
    enum { PIECE_CYCLES = 40, BORDER_CYCLES = 12 };
    const machine *m = p->machine;
    const int64_t pieces =
        p->images * vta_ceil_div(t->places[0], t->rows) * vta_ceil_div(t->places[1], t->cols);
    const int64_t pixels = t->places[0] * t->places[1];
    const int64_t tile = m->batch * m->block;
    const int64_t window = vta_min(vta_ceil_div(t->places[0], t->rows) * pixel_span(t, 0, t->rows),
                                   t->places[0] * t->down[0] * 2) *
                           vta_min(vta_ceil_div(t->places[1], t->cols) * pixel_span(t, 1, t->cols),
                                   t->places[1] * t->down[1] * 2);
    int64_t all = 0, read = 0;
    for (int64_t at = 0; at < tile_blocks(p); at += t->group) {
        int64_t steps;
        const int64_t count = sources_of(p, at, vta_min(t->group, tile_blocks(p) - at), sources, &steps);
        read += count * p->images * vta_max(window, 1) * tile + steps * m->block_in * m->block_out;
        all += steps;
    }
    const int64_t written = p->images * tile_blocks(p) * output_tensor(p)->h * output_tensor(p)->w * tile;
    const int64_t border = p->layer->beyond == VTAC_VTA_ZEROS ? 0 : all * BORDER_CYCLES * border_loads(p);
    *units = (load_of_units){.array = (uint64_t)(p->images * all * pixels),
                             .alu = (uint64_t)(p->images * tile_blocks(p) * pixels * phases_of(p) * m->ro),
                             .load = (uint64_t)(read / m->beat + border),
                             .store = (uint64_t)(written / m->beat),
                             .bytes_read = (uint64_t)read,
                             .bytes_written = (uint64_t)written};
    return vtac_vta_units_cycles(units) +
           (uint64_t)(pieces * vta_ceil_div(tile_blocks(p), t->group) * PIECE_CYCLES);
}

/* Fits the largest pieces for groups of one size; false if not even one place fits. */
static bool try_group(const plan *p, int64_t group, source *sources, move_tiling *t)
{
    *t = p->move;
    t->group = group;
    t->rows = t->places[0];
    t->cols = t->places[1];
    for (int64_t at = 0; at < tile_blocks(p); at += group) {
        int64_t steps;
        t->sources =
            vta_max(t->sources, sources_of(p, at, vta_min(group, tile_blocks(p) - at), sources, &steps));
        t->steps = vta_max(t->steps, steps);
    }
    step_from own[VTAC_MAX_LANES];
    for (int64_t o = 0; o < tile_blocks(p) * p->machine->ro; o++) {
        for (int64_t phase = 0; phase < phases_of(p); phase++) {
            t->widest = vta_max(t->widest, steps_of(p, o, phase, own));
        }
    }
    return shrink_until_fit(p, t);
}

vta_status vtac_vta_move_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                              vta_diag *diag)
{
    vtac_vta_plan_init(m, region, number, out);
    out->images = out->layer->across ? 1 : out->images;
    find_places(out);
    out->move.records = same_params_in_phases(out) ? 1 : phases_of(out);
    if (m->block_out > VTAC_MAX_LANES) {
        return vta_fail(diag, VTA_UNSUPPORTED, "blocks of %lld channels; %d are the most of a movement",
                        (long long)m->block_out, VTAC_MAX_LANES);
    }
    source *sources = calloc((size_t)max_sources(out) + 1, sizeof *sources);
    if (sources == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory to plan layer '%s'", out->layer->name);
    }
    move_tiling best = {.group = 0};
    uint64_t min_cycles = UINT64_MAX;
    const int64_t all = tile_blocks(out), max_group = vta_min(all, MAX_GROUP);
    for (int64_t parts = vta_ceil_div(all, max_group), group = vta_ceil_div(all, parts); group >= 1;
         group = parts > all ? 0 : vta_ceil_div(all, parts)) {
        move_tiling trial;
        load_of_units units;
        if (try_group(out, group, sources, &trial)) {
            const uint64_t cycles = estimate_group(out, &trial, sources, &units);
            if (cycles < min_cycles) {
                min_cycles = cycles;
                best = trial;
                out->units = units;
            }
        }
        for (parts++; parts <= all && vta_ceil_div(all, parts) == group;) {
            parts++;
        }
    }
    free(sources);
    if (best.group == 0) {
        return vta_fail(
            diag, VTA_RANGE,
            "the channels that meet in one block come from too many places for its buffers; larger "
            "LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE or LOG_ACC_BUFF_SIZE would help");
    }
    out->move = best;
    out->cycles = min_cycles;
    return VTA_OK;
}

/* ---- constants */

static void pack_step(const plan *p, int64_t o, int64_t phase, const step_from *one, int8_t *to)
{
    const machine *m = p->machine;
    for (int64_t lane = 0; lane < m->block_out; lane++) {
        const int64_t c = o * m->block_out + lane;
        const vtac_vta_from from =
            c < channels_of(p, output_tensor(p)) ? from_of(p, phase, c) : (vtac_vta_from){.input = -1};
        const step_from own = {from.input, from.channel / (int32_t)m->block_in, from.dy, from.dx};
        if (from.input >= 0 && same_step(&own, one)) {
            to[lane * m->block_in + from.channel % m->block_in] = 1;
        }
    }
}

/* A lane has the parameters of the input that it reads. */
static void pack_params(const plan *p, int32_t *entries)
{
    const machine *m = p->machine;
    const int64_t lanes = m->batch * m->block_out;
    const int64_t records = p->move.records;
    for (int64_t i = 0; i < channels_of(p, output_tensor(p)) * records; i++) {
        const int64_t c = i / records, record = i % records;
        const int32_t k = from_of(p, record, c).input;
        const vtac_fixed scale = p->layer->scales[k < 0 ? 0 : k];
        for (int64_t b = 0; b < m->batch; b++) {
            int32_t *lane = entries + (c / m->block_out * records + record) * PAIR * lanes +
                            b * m->block_out + c % m->block_out;
            lane[0] = k < 0 ? 0 : -input_tensor(p, (uint32_t)k)->zero;
            lane[lanes] = vta_requant_scale(scale.mult, scale.shift);
        }
    }
}

vta_status vtac_vta_move_pack(plan *p, blob *to, vta_diag *diag)
{
    const vta_config *config = p->machine->config;
    const uint64_t wgt = config->elem_bytes[VTA_MEM_WGT], acc = config->elem_bytes[VTA_MEM_ACC];
    const int64_t blocks = tile_blocks(p) * p->machine->ro;
    uint64_t offset = 0;
    bool good = true;
    for (int64_t o = 0; good && o < blocks; o++) {
        for (int64_t phase = 0; good && phase < phases_of(p); phase++) {
            step_from steps[VTAC_MAX_LANES];
            const int64_t count = steps_of(p, o, phase, steps);
            int8_t *tiles = (int8_t *)vtac_vta_blob_add(to, (uint64_t)count * wgt, wgt, &offset);
            p->at.weights = o == 0 && phase == 0 ? (int64_t)(offset / wgt) : p->at.weights;
            good = tiles != NULL;
            for (int64_t i = 0; good && i < count; i++) {
                pack_step(p, o, phase, &steps[i], tiles + i * (int64_t)wgt);
            }
        }
    }
    int32_t *entries = good ? (int32_t *)(void *)vtac_vta_blob_add(
                                  to, (uint64_t)(blocks * p->move.records) * PAIR * acc, acc, &offset)
                            : NULL;
    if (entries == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", p->layer->name);
    }
    p->at.params = (int64_t)(offset / acc);
    pack_params(p, entries);
    return VTA_OK;
}

/* ---- calls */

typedef struct mover {
    const plan *p;
    step_list *list;
    source *sources; /* of the group, owned */
    int64_t source_count;
    int64_t block, count; /* tile blocks of the group */
    int64_t number;       /* of the group */
    int64_t pieces;
} mover;

static void load_row(mover *e, vta_memory memory, int64_t sram, int64_t from, int64_t count)
{
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = memory,
                                              .sram = sram,
                                              .buffer = {CONSTANTS_BUFFER},
                                              .offset = from,
                                              .y_size = 1,
                                              .x_size = count,
                                              .x_stride = count});
}

/* A window of an input whose rows or columns begin or end beyond the edges. */
typedef struct bordered_window {
    vta_load2d load; /* of its first pixel, were it there */
    vtac_vta_beyond beyond;
    int64_t at[2], count[2], size[2]; /* of the window; of the image */
    int64_t pixel;                    /* elements of a pixel */
} bordered_window;

/* The number of places from `first` on along dimension d that follow one another in the image. */
static int64_t run_of(const bordered_window *r, int d, int64_t first)
{
    const int64_t from = vtac_vta_place_beyond(r->beyond, r->at[d] + first, r->size[d]);
    int64_t count = 1;
    while (first + count < r->count[d] &&
           vtac_vta_place_beyond(r->beyond, r->at[d] + first + count, r->size[d]) == from + count) {
        count++;
    }
    return count;
}

/* Loads rows y … y + rows - 1 of the window from column x on. */
static void load_run(mover *e, const bordered_window *r, int64_t y, int64_t x, int64_t rows, int64_t cols)
{
    vta_load2d load = r->load;
    const int64_t from[2] = {vtac_vta_place_beyond(r->beyond, r->at[0] + y, r->size[0]),
                             vtac_vta_place_beyond(r->beyond, r->at[1] + x, r->size[1])};
    load.sram += (y * r->count[1] + x) * r->pixel;
    load.offset += (from[0] * r->size[1] + from[1]) * r->pixel;
    load.y_size = rows;
    load.x_size = cols * r->pixel;
    vtac_vta_list_load(e->list, &load);
}

/* Loads a window run by run: whole rows that follow one another at once, else what follows one another in a
 * row. */
static void load_border(mover *e, const bordered_window *r)
{
    for (int64_t y = 0; y < r->count[0];) {
        const bool whole = run_of(r, 1, 0) == r->count[1];
        const int64_t rows = whole ? run_of(r, 0, y) : 1;
        for (int64_t x = 0; x < r->count[1];) {
            const int64_t cols = run_of(r, 1, x);
            load_run(e, r, y, x, rows, cols);
            x += cols;
        }
        y += rows;
    }
}

/* Loads the window of a source that a tile of places reads. */
static void load_source(mover *e, const source *from, const patch *tile, int64_t sram)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const move_tiling *t = &p->move;
    const vtac_vta_tensor *in = input_tensor(p, (uint32_t)from->input);
    const int64_t h = t->one_row ? 1 : in->h, w = t->one_row ? in->h * in->w : in->w;
    const int64_t blocks = vta_ceil_div(channels_of(p, in), m->block);
    const extent rows =
        vtac_vta_extent_of(tile->y * t->down[0] + t->first[0], pixel_span(t, 0, tile->rows), h);
    const extent cols =
        vtac_vta_extent_of(tile->x * t->down[1] + t->first[1], pixel_span(t, 1, tile->cols), w);
    if (p->layer->beyond != VTAC_VTA_ZEROS && rows.before + rows.after + cols.before + cols.after > 0) {
        load_border(e, &(bordered_window){
                           .load = {.memory = VTA_MEM_INP,
                                    .sram = sram,
                                    .buffer = {WORK_BUFFER},
                                    .offset = (int64_t)in->offset / m->config->elem_bytes[VTA_MEM_INP] +
                                              (tile->image * blocks + from->block) * h * w * m->ri,
                                    .x_stride = w * m->ri},
                           .beyond = p->layer->beyond,
                           .at = {tile->y * t->down[0] + t->first[0], tile->x * t->down[1] + t->first[1]},
                           .count = {pixel_span(t, 0, tile->rows), pixel_span(t, 1, tile->cols)},
                           .size = {h, w},
                           .pixel = m->ri});
        return;
    }
    vtac_vta_list_load_padded(
        e->list,
        &(vta_load2d){.memory = VTA_MEM_INP,
                      .sram = sram,
                      .buffer = {WORK_BUFFER},
                      .offset = (int64_t)in->offset / m->config->elem_bytes[VTA_MEM_INP] +
                                (((tile->image * blocks + from->block) * h + rows.at) * w + cols.at) * m->ri,
                      .y_size = rows.count,
                      .x_size = cols.count * m->ri,
                      .x_stride = w * m->ri,
                      .y_pad_0 = rows.before,
                      .y_pad_1 = rows.after,
                      .x_pad_0 = cols.before * m->ri,
                      .x_pad_1 = cols.after * m->ri,
                      .pad_value = in->zero});
}

static int64_t source_number(const mover *e, int32_t in, int64_t block)
{
    int64_t k = 0;
    while (e->sources[k].input != in || e->sources[k].block != block) {
        k++;
    }
    return k;
}

/* Emits output block o in all phases; returns the number of its weights. */
static int64_t emit_sums(mover *e, int64_t o, const patch *tile, int64_t inp, int64_t acc, int64_t wgt)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const move_tiling *t = &p->move;
    const int64_t in_rows = pixel_span(t, 0, tile->rows), in_cols = pixel_span(t, 1, tile->cols);
    const int64_t out_cols = tile->cols * t->up[1];
    const int64_t first = acc + (o / m->ro - e->block) * entries_out(p, tile->rows, tile->cols);
    int64_t used = 0;
    for (int64_t phase = 0; phase < phases_of(p); phase++) {
        step_from steps[VTAC_MAX_LANES];
        vta_uop uops[VTAC_MAX_LANES];
        const int64_t count = steps_of(p, o, phase, steps);
        const int64_t y = phase / t->up[1], x = phase % t->up[1];
        for (int64_t i = 0; i < count; i++) {
            const int64_t k = source_number(e, steps[i].input, steps[i].block / m->ri);
            const int64_t at =
                (k * in_rows + steps[i].dy - t->first[0]) * in_cols + steps[i].dx - t->first[1];
            uops[i] = (vta_uop){.dst = (uint32_t)(first + (y * out_cols + x) * m->ro + o % m->ro),
                                .src = (uint32_t)(inp + at * m->ri + steps[i].block % m->ri),
                                .aux = (uint32_t)(wgt + used + i)};
        }
        used += count;
        vtac_vta_list_gemm(e->list,
                           &(vta_gemm){.kernel = vtac_vta_list_kernel_of(e->list, uops, (uint32_t)count),
                                       .init = true,
                                       .iter_out = tile->rows,
                                       .iter_in = tile->cols,
                                       .dst_out = tile->rows > 1 ? t->up[0] * out_cols * m->ro : 0,
                                       .dst_in = tile->cols > 1 ? t->up[1] * m->ro : 0,
                                       .src_out = tile->rows > 1 ? t->down[0] * in_cols * m->ri : 0,
                                       .src_in = tile->cols > 1 ? t->down[1] * m->ri : 0},
                           (list_range){acc, e->count * entries_out(p, tile->rows, tile->cols)});
    }
    return used;
}

/* Stores the pixels of a tile block that lie inside the image; in one call if these are whole rows. */
static void store_block(mover *e, int64_t block, const patch *tile, int64_t sram)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const move_tiling *t = &p->move;
    const vtac_vta_tensor *to = output_tensor(p);
    const int64_t h = t->one_row ? 1 : to->h, w = t->one_row ? to->h * to->w : to->w;
    const int64_t y = tile->y * t->up[0], x = tile->x * t->up[1], pitch = tile->cols * t->up[1];
    const int64_t rows = vta_min(tile->rows * t->up[0], h - y), cols = vta_min(pitch, w - x);
    const int64_t at = ((tile->image * tile_blocks(p) + block) * h + y) * w + x;
    vta_store2d call = {.sram = sram,
                        .buffer = {WORK_BUFFER},
                        .offset = (int64_t)to->offset / m->config->elem_bytes[VTA_MEM_OUT] + at * m->ro,
                        .y_size = rows,
                        .x_size = cols * m->ro,
                        .x_stride = rows > 1 ? w * m->ro : cols * m->ro};
    if (cols == pitch) {
        vtac_vta_list_store(e->list, &call);
        return;
    }
    call.y_size = 1;
    call.x_stride = call.x_size;
    for (int64_t row = 0; row < rows; row++) {
        vtac_vta_list_store(e->list, &call);
        call.sram += pitch * m->ro;
        call.offset += w * m->ro;
    }
}

/* Requantizes a block of the tile block at acc, in one phase or in all. */
static void requantize_block(mover *e, const patch *tile, int64_t acc, int64_t number, int64_t params,
                             const list_range *range)
{
    const plan *p = e->p;
    const move_tiling *t = &p->move;
    const int64_t ro = p->machine->ro, out_cols = tile->cols * t->up[1], phase = number % t->records;
    const bool whole = t->records == 1;
    const int64_t rows = whole ? 1 : tile->rows;
    const int64_t cols = whole ? tile->rows * t->up[0] * out_cols : tile->cols;
    const int64_t down = rows > 1 ? t->up[0] * out_cols * ro : 0;
    const int64_t right = cols > 1 ? whole ? ro : t->up[1] * ro : 0;
    const int64_t first = phase / t->up[1] * out_cols + phase % t->up[1];
    const int64_t at = acc + first * ro + number / t->records;
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = at,
                                         .src = at,
                                         .params = params + number,
                                         .iter_out = rows,
                                         .iter_in = cols,
                                         .dst_out = down,
                                         .dst_in = right,
                                         .src_out = down,
                                         .src_in = right,
                                         .zero_point = output_tensor(p)->zero,
                                         .low = p->layer->low,
                                         .high = p->layer->high},
                          *range, *range);
}

static void emit_piece(mover *e, const patch *tile)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const move_tiling *t = &p->move;
    const int64_t record = PAIR * t->group * m->ro * t->records;
    const int64_t fixed = 2 * record, params = e->number % 2 * record;
    const int64_t size = entries_out(p, t->rows, t->cols), own = entries_out(p, tile->rows, tile->cols);
    const int64_t inp = e->pieces % 2 * (m->inp / 2), acc = fixed + e->pieces % PIECES * t->group * size;
    const int64_t window = pixel_span(t, 0, tile->rows) * pixel_span(t, 1, tile->cols) * m->ri;
    const list_range range = {acc, e->count * own};
    int64_t wgt = e->number % 2 * (m->wgt / 2);
    e->pieces++;
    for (int64_t k = 0; k < e->source_count; k++) {
        load_source(e, &e->sources[k], tile, inp + k * window);
    }
    for (int64_t o = e->block * m->ro; o < (e->block + e->count) * m->ro; o++) {
        wgt += emit_sums(e, o, tile, inp, acc, wgt);
    }
    for (int64_t i = 0; i < e->count; i++) {
        for (int64_t r = 0; r < m->ro * t->records; r++) {
            requantize_block(e, tile, acc + i * own, r, params / PAIR + i * m->ro * t->records, &range);
        }
        store_block(e, e->block + i, tile, acc + i * own);
    }
}

static void emit_group(mover *e, int64_t weights, int64_t steps)
{
    const plan *p = e->p;
    const machine *m = p->machine;
    const move_tiling *t = &p->move;
    load_row(e, VTA_MEM_WGT, e->number % 2 * (m->wgt / 2), weights, steps);
    const int64_t record = PAIR * m->ro * t->records;
    load_row(e, VTA_MEM_ACC, e->number % 2 * t->group * record, p->at.params + e->block * record,
             e->count * record);
    for (int64_t image = 0; image < p->images; image++) {
        for (int64_t y = 0; y < t->places[0]; y += t->rows) {
            for (int64_t x = 0; x < t->places[1]; x += t->cols) {
                emit_piece(e, &(patch){.image = image,
                                       .y = y,
                                       .x = x,
                                       .rows = vta_min(t->rows, t->places[0] - y),
                                       .cols = vta_min(t->cols, t->places[1] - x)});
            }
        }
    }
    e->number++;
}

vta_status vtac_vta_move_emit(const plan *p, step_list *list, vta_diag *diag)
{
    mover e = {.p = p, .list = list, .sources = calloc((size_t)max_sources(p) + 1, sizeof *e.sources)};
    int64_t weights = p->at.weights;
    for (e.block = 0; e.sources != NULL && e.block < tile_blocks(p); e.block += p->move.group) {
        int64_t steps;
        e.count = vta_min(p->move.group, tile_blocks(p) - e.block);
        e.source_count = sources_of(p, e.block, e.count, e.sources, &steps);
        emit_group(&e, weights, steps);
        weights += steps;
    }
    vtac_vta_list_flush(list);
    const bool good = e.sources != NULL && !list->failed;
    free(e.sources);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
