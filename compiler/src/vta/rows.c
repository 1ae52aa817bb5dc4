/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers that work on rows: the channels of one pixel. Tiles are loaded into ACC as int8, all blocks of some
 * pixels at a time, go through the ALU, and are stored from there.
 *
 * ACC: the second records of all rows, then their first ones; the constants; squares, or the tail of a
 * softmax; its mask; the slots. A slot has the entries of a piece in the order of memory: by block, by pixel,
 * by entry of the tile. So has a mask, of one pixel where all share one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "rows.h"
#include "vta/number.h"

enum { NARROW = 2, WIDE = 4 }; /* entries of a record */
enum { SLOTS = 2 };            /* one is loaded while another is computed */
enum { ENOUGH = 16 };          /* rows that hide the time from a step to its result */

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static int64_t pixel_count(const plan *p)
{
    return tensor_out(p)->h * tensor_out(p)->w;
}

/* Rows of a pixel, each with the blocks that follow those of the row before. */
static int64_t rows_of_pixel(const plan *p)
{
    return p->layer->kind == VTAC_VTA_SOFTMAX ? p->layer->groups : 1;
}

/* The mask of a softmax; NULL: it has none. */
static const vtac_vta_tensor *mask_of(const plan *p)
{
    return p->layer->input_count > 1 ? &p->region->tensors[p->layer->inputs[1]] : NULL;
}

/* The rows of a pixel that have a mask of their own: all, or one for all. */
static int64_t masks_of_pixel(const plan *p)
{
    return mask_of(p)->c == tensor_out(p)->c ? rows_of_pixel(p) : 1;
}

/* ---- planning */

static int64_t constant_entries(const plan *p)
{
    const int64_t columns = p->rows.entries;
    return p->layer->kind == VTAC_VTA_SOFTMAX
               ? SOFTMAX_ENTRIES
               : COLUMN_ENTRY + NARROW * columns + (vtac_vta_rows_have_factors(p->layer) ? columns : 0);
}

/* True if the layer needs a second place for all numbers of a piece. */
static bool needs_squares(const plan *p)
{
    const vtac_softmax *s = p->layer->softmax;
    return p->layer->kind == VTAC_VTA_NORM || s->tail || vtac_softmax_has_signs(s);
}

/* Entries that a row takes with so many slots. */
static int64_t entries_of_row(const plan *p, int64_t slots)
{
    const row_tiling *t = &p->rows;
    const int64_t squares = needs_squares(p) ? t->entries : 0, mask = t->masked > 1 ? t->entries : 0;
    return t->record_size[FIRST_RECORD] + t->record_size[SECOND_RECORD] + squares + mask + slots * t->entries;
}

/* Entries that do not depend on the number of rows. */
static int64_t entries_of_piece(const plan *p)
{
    return constant_entries(p) + (p->rows.masked == 1 ? p->rows.entries : 0);
}

static int64_t rows_with(const plan *p, int64_t slots)
{
    const int64_t room = p->machine->acc - entries_of_piece(p);
    return vta_min(room / entries_of_row(p, slots), pixel_count(p));
}

/* Places the parts of ACC. */
static void place_parts(plan *p)
{
    row_tiling *t = &p->rows;
    t->record[SECOND_RECORD] = p->machine->first_acc;
    t->record[FIRST_RECORD] = t->record[SECOND_RECORD] + t->record_size[SECOND_RECORD] * t->pixels;
    t->fixed = t->record[FIRST_RECORD] + t->record_size[FIRST_RECORD] * t->pixels;
    t->squares = t->fixed + constant_entries(p);
    t->masked = vta_min(t->masked, t->pixels);
    t->mask = t->squares + (needs_squares(p) ? t->entries * t->pixels : 0);
    t->first = t->mask + t->entries * t->masked;
}

static vta_status choose_tiling(plan *p, vta_diag *diag)
{
    row_tiling *t = &p->rows;
    const bool wide = p->layer->kind == VTAC_VTA_SOFTMAX && vtac_vta_rows_are_wide(p->layer);
    t->numbers = p->layer->kind == VTAC_VTA_SOFTMAX ? p->layer->softmax->n : p->layer->norm->n;
    t->entries = vta_ceil_div(tensor_out(p)->c / rows_of_pixel(p), p->machine->block) * p->machine->ro;
    t->used = vta_ceil_div(t->numbers, p->machine->block_out);
    t->masked = mask_of(p) == NULL ? 0 : mask_of(p)->h * mask_of(p)->w;
    t->record_size[FIRST_RECORD] = NARROW;
    t->record_size[SECOND_RECORD] = wide ? WIDE : NARROW;
    t->slots = SLOTS;
    while (t->slots > 1 && rows_with(p, t->slots) < vta_min(ENOUGH, pixel_count(p))) {
        t->slots--;
    }
    t->pixels = rows_with(p, t->slots);
    if (t->pixels < 1) {
        return vta_fail(diag, VTA_RANGE,
                        "a row of %" PRId64 " numbers does not fit: it needs %" PRId64
                        " accumulators of %" PRId64 " (LOG_ACC_BUFF_SIZE); a larger buffer would help",
                        t->numbers, entries_of_row(p, 1) + entries_of_piece(p), p->machine->acc);
    }
    t->pixels = vta_ceil_div(pixel_count(p), vta_ceil_div(pixel_count(p), t->pixels));
    place_parts(p);
    return VTA_OK;
}

static vta_status check_mask(const machine *m, const vtac_vta_region *region, const vtac_vta_layer *layer,
                             vta_diag *diag)
{
    const vtac_vta_tensor *to = &region->tensors[layer->output], *mask = &region->tensors[layer->inputs[1]];
    const int64_t pixels = mask->h * mask->w;
    const bool fits = (mask->n == 1 || mask->n == to->n) &&
                      (mask->c == to->c / layer->groups || mask->c == to->c) &&
                      (pixels == 1 || pixels == to->h * to->w) && mask->zero == 0;
    if (m->batch > 1) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it has a mask, and this machine takes %" PRId64
                        " images at a time; use a configuration with LOG_BATCH 0",
                        m->batch);
    }
    return fits ? VTA_OK
                : vta_fail(diag, VTA_UNSUPPORTED, "its mask has neither its rows nor one row for all pixels");
}

vta_status vtac_vta_rule_rows(const machine *m, const vtac_vta_region *region, uint32_t number,
                              vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    if (layer->input_count > 1) {
        VTA_TRY(check_mask(m, region, layer, diag));
    }
    return m->config->rows != 0
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "it works on whole rows, and configuration '%s' has no instructions for that; use "
                          "a configuration with ROWS 1",
                          m->config->name);
}

/* The ALU's steps for a row, about. */
static int64_t steps_of_row(const plan *p)
{
    enum {
        SOFTMAX_PASSES = 5,
        TAIL_PASSES = 4,
        LINEAR_PASSES = 3,
        SIGN_PASSES = 2,
        UNIT_STEPS = 14,
        RECORD_STEPS = 4
    };
    enum { NORM_PASSES = 7, FACTOR_PASSES = 2 };
    const int64_t turns = 2 * (int64_t)p->machine->config->log_block_out + RECORD_STEPS;
    if (p->layer->kind == VTAC_VTA_SOFTMAX) {
        const int64_t tail = p->layer->softmax->tail ? TAIL_PASSES : 0, mask = p->rows.masked > 0;
        if (p->layer->softmax->linear) {
            const int64_t signs = vtac_softmax_has_signs(p->layer->softmax) ? SIGN_PASSES : 0;
            return (LINEAR_PASSES + signs) * p->rows.entries + turns + UNIT_STEPS;
        }
        return (SOFTMAX_PASSES + tail + mask) * p->rows.entries + turns + UNIT_STEPS;
    }
    const int64_t passes = NORM_PASSES + (vtac_vta_rows_have_factors(p->layer) ? FACTOR_PASSES : 0);
    return passes * p->rows.entries + turns + 2 * UNIT_STEPS;
}

vta_status vtac_vta_rows_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                              vta_diag *diag)
{
    vtac_vta_plan_init(m, region, number, out);
    VTA_TRY(choose_tiling(out, diag));
    const int64_t rows = out->images * rows_of_pixel(out) * pixel_count(out);
    const uint64_t bytes = (uint64_t)(rows * out->rows.entries * m->config->elem_bytes[VTA_MEM_OUT]);
    out->units = (load_of_units){.alu = (uint64_t)(rows * steps_of_row(out)),
                                 .load = bytes / (uint64_t)m->beat,
                                 .store = bytes / (uint64_t)m->beat,
                                 .bytes_read = bytes,
                                 .bytes_written = bytes};
    out->cycles = vtac_vta_units_cycles(&out->units);
    return VTA_OK;
}

/* ---- constants */

/* The constants while they are filled in: `lanes` numbers in an entry, `channels` of which are a row's. */
typedef struct row_constants {
    int32_t *entry;
    int64_t lanes, channels;
} row_constants;

static void fill_entry(const row_constants *c, int64_t entry, int32_t value)
{
    for (int64_t i = 0; i < c->lanes; i++) {
        c->entry[entry * c->lanes + i] = value;
    }
}

/* A mask for a row's last entry, which has `rest` channels. */
static void fill_mask(const row_constants *c, int64_t entry, int64_t rest, int32_t present, int32_t absent)
{
    for (int64_t i = 0; i < c->lanes; i++) {
        c->entry[entry * c->lanes + i] = i % c->channels < rest ? present : absent;
    }
}

static void fill_softmax(const row_constants *c, const vtac_softmax *s, int64_t used, int64_t rest)
{
    fill_entry(c, COMMON_ENTRY, (int32_t)(-VTAC_ROW_TAIL_BELOW * used * c->channels));
    fill_entry(c, POWER_ENTRY, vta_requant_scale(s->power.mult, s->power.shift));
    fill_mask(c, SMALLEST_ENTRY, rest, s->linear ? 1 : INT32_MAX, s->linear ? 0 : INT32_MIN / 2);
}

static void fill_column(const row_constants *c, const vtac_norm_column *column, int64_t at, int64_t factors)
{
    const int64_t k = at / c->channels;
    for (int64_t i = at % c->channels; i < c->lanes; i += c->channels) {
        int32_t *record = c->entry + (COLUMN_ENTRY + NARROW * k) * c->lanes + i;
        vtac_vta_record_fill(record, c->lanes, false, column->bias, column->scale);
        if (factors > 0) {
            c->entry[(factors + k) * c->lanes + i] = column->times;
        }
    }
}

static void fill_norm(const row_constants *c, const plan *p, int64_t rest)
{
    const vtac_norm *n = p->layer->norm;
    const int64_t factors = COLUMN_ENTRY + NARROW * p->rows.entries;
    fill_entry(c, MEAN_ENTRY + 1, vta_requant_scale(n->mean.mult, n->mean.shift));
    fill_entry(c, SQUARE_ENTRY + 1, vta_requant_scale(n->square.mult, n->square.shift));
    fill_mask(c, PRESENT_ENTRY, rest, 1, 0);
    fill_entry(c, EPSILON_ENTRY, n->epsilon);
    for (int32_t i = 0; i < n->n; i++) {
        fill_column(c, &n->columns[i], i, vtac_vta_rows_have_factors(p->layer) ? factors : 0);
    }
}

vta_status vtac_vta_rows_pack(plan *p, blob *to, vta_diag *diag)
{
    const int64_t element = p->machine->config->elem_bytes[VTA_MEM_ACC], out = p->machine->block_out;
    const int64_t rest = p->rows.numbers - (p->rows.used - 1) * out;
    uint64_t offset;
    const row_constants c = {(int32_t *)(void *)vtac_vta_blob_add(
                                 to, (uint64_t)(constant_entries(p) * element), (uint64_t)element, &offset),
                             element / 4, out};
    if (c.entry == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", p->layer->name);
    }
    p->at.params = (int64_t)offset / element;
    if (p->layer->kind == VTAC_VTA_SOFTMAX) {
        fill_softmax(&c, p->layer->softmax, p->rows.used, rest);
    } else {
        fill_norm(&c, p, rest);
    }
    return VTA_OK;
}

/* ---- pieces */

/* The first element of a piece in a tensor, from the start of WORK. */
static int64_t offset_of(const plan *p, uint32_t tensor, const row_piece *at)
{
    const int64_t ro = p->machine->ro, plane = pixel_count(p) * ro;
    return (int64_t)p->region->tensors[tensor].offset / p->machine->config->elem_bytes[VTA_MEM_OUT] +
           at->image * (p->rows.entries / ro) * plane + at->pixel * ro;
}

static void load_piece(rows_emitter *e, const row_piece *at)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro;
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC8,
                                              .sram = at->at,
                                              .buffer = {WORK_BUFFER},
                                              .offset = offset_of(p, p->layer->inputs[0], at),
                                              .y_size = p->rows.entries / ro,
                                              .x_size = at->pixels * ro,
                                              .x_stride = pixel_count(p) * ro});
}

static void store_piece(rows_emitter *e, const row_piece *at)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro;
    vtac_vta_list_store(e->list, &(vta_store2d){.sram = at->at,
                                                .buffer = {WORK_BUFFER},
                                                .offset = offset_of(p, p->layer->output, at),
                                                .y_size = p->rows.entries / ro,
                                                .x_size = at->pixels * ro,
                                                .x_stride = pixel_count(p) * ro});
}

/* The element of WORK where the mask of a piece begins. */
static int64_t mask_offset(const plan *p, const row_piece *at)
{
    const int64_t ro = p->machine->ro, heads = rows_of_pixel(p), masks = masks_of_pixel(p);
    const int64_t image = mask_of(p)->n > 1 ? at->image / heads : 0, row = at->image % heads % masks;
    const int64_t plane = mask_of(p)->h * mask_of(p)->w * ro;
    return (int64_t)mask_of(p)->offset / p->machine->config->elem_bytes[VTA_MEM_OUT] +
           (image * masks + row) * (p->rows.entries / ro) * plane + (plane > ro ? at->pixel * ro : 0);
}

/* Loads the mask of a piece unless that of the piece before is the same. */
static void load_mask(rows_emitter *e, const row_piece *at)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro, offset = p->rows.masked > 0 ? mask_offset(p, at) : e->mask;
    if (offset == e->mask) {
        return;
    }
    const int64_t plane = mask_of(p)->h * mask_of(p)->w * ro;
    e->mask = offset;
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC8,
                                              .sram = p->rows.mask,
                                              .buffer = {WORK_BUFFER},
                                              .offset = offset,
                                              .y_size = p->rows.entries / ro,
                                              .x_size = vta_min(at->pixels * ro, plane),
                                              .x_stride = plane});
    vtac_vta_rows_scale_mask(e, at);
}

/* Rows of a pixel that share a mask follow one another. */
static row_piece piece_of(const plan *p, int64_t number)
{
    const int64_t each = vta_ceil_div(pixel_count(p), p->rows.pixels), heads = rows_of_pixel(p);
    const int64_t slot = number % p->rows.slots;
    if (p->rows.masked > 1 && masks_of_pixel(p) == 1) {
        const int64_t image = number / each / heads, chunk = number / heads % each;
        number = (image * heads + number % heads) * each + chunk;
    }
    const int64_t pixel = number % each * p->rows.pixels;
    return (row_piece){.image = number / each,
                       .pixel = pixel,
                       .pixels = vta_min(p->rows.pixels, pixel_count(p) - pixel),
                       .at = p->rows.first + slot * p->rows.entries * p->rows.pixels};
}

static void compute_piece(rows_emitter *e, const row_piece *at)
{
    if (e->p->layer->kind == VTAC_VTA_SOFTMAX) {
        vtac_vta_rows_softmax(e, at);
    } else {
        vtac_vta_rows_norm(e, at);
    }
}

/* A piece is loaded before the piece ahead of it is computed, if there are two slots: behind that one's mask,
 * which need not wait for a slot. */
static void emit_pieces(rows_emitter *e)
{
    const plan *p = e->p;
    const int64_t count = p->images * rows_of_pixel(p) * vta_ceil_div(pixel_count(p), p->rows.pixels);
    const int64_t early = p->rows.slots > 1;
    for (int64_t n = 0; n < count + early; n++) {
        const row_piece own = piece_of(p, n >= early ? n - early : 0);
        if (n >= early) {
            load_mask(e, &own);
        }
        if (n < count) {
            const row_piece next = piece_of(p, n);
            load_piece(e, &next);
        }
        if (n >= early) {
            compute_piece(e, &own);
            store_piece(e, &own);
            vtac_vta_list_flush(e->list);
        }
    }
}

vta_status vtac_vta_rows_emit(const plan *p, step_list *list, vta_diag *diag)
{
    rows_emitter e = {.p = p, .list = list, .room = vta_max(1, p->machine->uop / 2), .mask = -1};
    e.uops = calloc((size_t)e.room, sizeof *e.uops);
    if (e.uops != NULL) {
        const int64_t count = constant_entries(p);
        vtac_vta_list_load(list, &(vta_load2d){.memory = VTA_MEM_ACC,
                                               .sram = p->rows.fixed,
                                               .buffer = {CONSTANTS_BUFFER},
                                               .offset = p->at.params,
                                               .y_size = 1,
                                               .x_size = count,
                                               .x_stride = count});
        vtac_vta_rows_prepare(&e);
        vtac_vta_list_flush(list);
        emit_pieces(&e);
    }
    const bool good = e.uops != NULL && !list->failed;
    free(e.uops);
    return good ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name);
}
