/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of softmax and normalizations (vtac/quant.h) as calls, for all rows of a piece at a time:
 * each step of the ALU goes through the entries of all rows before the next step begins.
 */
#include "rows.h"
#include "vta/number.h"

/* A run of entries: the first one, and the steps of the outer and of the inner loop. */
typedef struct entry_walk {
    int64_t first, out, in;
} entry_walk;

static list_range range_of(entry_walk w, int64_t outer, int64_t inner)
{
    return (list_range){w.first, (outer - 1) * w.out + (inner - 1) * w.in + 1};
}

/* An ALU operation of two walks, with one micro-op. */
static void apply(rows_emitter *e, const vta_alu *what, entry_walk dst, entry_walk src, int64_t outer,
                  int64_t inner)
{
    vta_alu alu = *what;
    alu.kernel = vtac_vta_list_kernel_of(
        e->list, &(vta_uop){.dst = (uint32_t)dst.first, .src = (uint32_t)src.first}, 1);
    alu.iter_out = outer;
    alu.iter_in = inner;
    alu.dst_out = outer > 1 ? dst.out : 0;
    alu.dst_in = inner > 1 ? dst.in : 0;
    alu.src_out = outer > 1 ? src.out : 0;
    alu.src_in = inner > 1 ? src.in : 0;
    vtac_vta_list_alu(e->list, &alu, range_of(dst, outer, inner), range_of(src, outer, inner));
}

static vta_alu plain(vta_alu_op op)
{
    return (vta_alu){.op = op};
}

static vta_alu immediate(vta_alu_op op, int64_t imm)
{
    return (vta_alu){.op = op, .use_imm = true, .imm = imm};
}

static vta_alu on_rows(uint32_t function, uint32_t form, uint32_t places)
{
    return (vta_alu){.op = VTA_ALU_ROW, .row = {.function = function, .form = form, .places = places}};
}

/* ---- entries of pieces, records, constants */

static int64_t entries_of(const rows_emitter *e, const row_piece *at)
{
    return e->p->rows.entries * at->pixels;
}

/* Goes through all entries of a piece; dst and src are the first ones. */
static void apply_to_entries(rows_emitter *e, const row_piece *at, vta_alu what, int64_t dst, int64_t src)
{
    apply(e, &what, (entry_walk){dst, 0, 1}, (entry_walk){src, 0, 1}, 1, entries_of(e, at));
}

/* Entry `place` of the rows' records. */
static entry_walk record_walk(const rows_emitter *e, int64_t record, int64_t place)
{
    const row_tiling *t = &e->p->rows;
    return (entry_walk){t->record[record] + place, 0, t->record_size[record]};
}

static entry_walk constant_walk(const rows_emitter *e, int64_t constant)
{
    return (entry_walk){e->p->rows.fixed + constant, 0, 0};
}

/* One step for each row. */
static void apply_to_rows(rows_emitter *e, const row_piece *at, vta_alu what, entry_walk dst, entry_walk src)
{
    apply(e, &what, dst, src, 1, at->pixels);
}

/* The first of the entries at place `t` in the rows of a piece that begins at entry `first`. */
static int64_t entry_at(const rows_emitter *e, const row_piece *at, int64_t first, int64_t t)
{
    const int64_t ro = e->p->machine->ro;
    return first + t / ro * at->pixels * ro + t % ro;
}

/* An operation of each row's last entry and a constant, if lanes of that entry have no channel. */
static void mask_last(rows_emitter *e, const row_piece *at, vta_alu_op op, int64_t first, int64_t constant)
{
    const plan *p = e->p;
    if (p->rows.numbers % p->machine->block_out != 0) {
        const entry_walk last = {entry_at(e, at, first, p->rows.used - 1), 0, p->machine->ro};
        apply_to_rows(e, at, plain(op), last, constant_walk(e, constant));
    }
}

/* Reduces the entries of each row, from entry `first` of the piece on, to one: the first is copied, and the
 * others follow each other, so the ALU forwards the result so far. */
static void reduce_entries(rows_emitter *e, const row_piece *at, vta_alu_op op, entry_walk to, int64_t first)
{
    const int64_t ro = e->p->machine->ro, used = e->p->rows.used;
    apply_to_rows(e, at, plain(VTA_ALU_MOV), to, (entry_walk){first, 0, ro});
    for (int64_t t = 1; t < used; t += e->room) {
        const int64_t count = vta_min(e->room, used - t);
        for (int64_t k = 0; k < count; k++) {
            e->uops[k] = (vta_uop){.dst = (uint32_t)to.first, .src = (uint32_t)entry_at(e, at, first, t + k)};
        }
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)count),
                                     .op = op,
                                     .iter_out = 1,
                                     .iter_in = at->pixels,
                                     .dst_in = at->pixels > 1 ? to.in : 0,
                                     .src_in = at->pixels > 1 ? ro : 0},
                          range_of(to, 1, at->pixels), (list_range){first, entries_of(e, at)});
    }
}

/* Reduces the entries, and then the lanes: all of them get the result. */
static void reduce(rows_emitter *e, const row_piece *at, vta_alu_op op, entry_walk to, int64_t first)
{
    reduce_entries(e, at, op, to, first);
    for (uint32_t k = 0; k < e->p->machine->config->log_block_out; k++) {
        const uint32_t function = op == VTA_ALU_MAX ? VTA_ROW_MAX : VTA_ROW_ADD;
        apply_to_rows(e, at, on_rows(function, VTA_ROW_FORM_SCALE, k), to, to);
    }
}

/* Requantizes each row by its own record. */
static void requantize_rows(rows_emitter *e, const row_piece *at, int64_t record, const vta_requant *how)
{
    const row_tiling *t = &e->p->rows;
    const int64_t ro = e->p->machine->ro, blocks = t->entries / ro;
    for (int64_t r = 0; r < ro; r++) {
        vta_requant requant = *how;
        requant.dst += r;
        requant.src += r;
        requant.params = t->record[record] / t->record_size[record];
        requant.wide = t->record_size[record] > record_entries(false);
        requant.by_row = true;
        requant.iter_out = at->pixels;
        requant.iter_in = blocks;
        requant.dst_out = requant.src_out = at->pixels > 1 ? ro : 0;
        requant.dst_in = requant.src_in = blocks > 1 ? at->pixels * ro : 0;
        vtac_vta_list_requant(e->list, &requant, (list_range){how->dst, entries_of(e, at)},
                              (list_range){how->src, entries_of(e, at)});
    }
}

/* Scales an entry of each row's records by a constant record. */
static void scale_rows(rows_emitter *e, const row_piece *at, entry_walk dst, entry_walk src, int64_t constant)
{
    const int64_t record = e->p->rows.fixed + constant;
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = dst.first,
                                         .src = src.first,
                                         .params = record / record_entries(false),
                                         .iter_out = 1,
                                         .iter_in = at->pixels,
                                         .dst_in = at->pixels > 1 ? dst.in : 0,
                                         .src_in = at->pixels > 1 ? src.in : 0,
                                         .long_result = true},
                          range_of(dst, 1, at->pixels), range_of(src, 1, at->pixels));
}

/* ---- what is constant of the records */

static void fill_records(rows_emitter *e, entry_walk to, vta_alu what, entry_walk from)
{
    apply(e, &what, to, from, 1, e->p->rows.pixels);
}

void vtac_vta_rows_prepare(rows_emitter *e)
{
    const vtac_vta_layer *layer = e->p->layer;
    const entry_walk scale = record_walk(e, FIRST_RECORD, 1), bias = record_walk(e, SECOND_RECORD, 0);
    if (layer->kind == VTAC_VTA_SOFTMAX) {
        fill_records(e, scale, plain(VTA_ALU_MOV), constant_walk(e, POWER_ENTRY));
        fill_records(e, bias, immediate(VTA_ALU_MOV, 0), bias);
        return;
    }
    const bool factors = vtac_vta_rows_have_factors(layer);
    fill_records(e, scale, immediate(VTA_ALU_MOV, 1), scale);
    if (factors) {
        fill_records(e, bias, immediate(VTA_ALU_MOV, 0), bias);
    }
    if (!layer->norm->centered) {
        const entry_walk to = factors ? record_walk(e, FIRST_RECORD, 0) : bias;
        fill_records(e, to, immediate(VTA_ALU_MOV, layer->norm->offset), to);
        fill_records(e, to, immediate(VTA_ALU_MUL, layer->norm->times), to);
    }
}

/* ---- softmax */

/* A mask has -128 where it leaves a number out: VTAC_ROW_MASKED by so many places. */
enum { MASK_PLACES = 13 };

bool vtac_vta_rows_are_wide(const vtac_vta_layer *layer)
{
    enum {
        FACTOR_BITS = 14,
        MIN_SHIFT = 32,
        MIN_SHIFT_LINEAR = 16
    }; /* of a sum from 2^16 on, or from 1 on */
    const vtac_softmax *s = layer->softmax;
    const int64_t places = FACTOR_BITS - s->shift, max = s->linear ? MIN_SHIFT_LINEAR : MIN_SHIFT;
    return s->mult != 1U << FACTOR_BITS || places < 0 || places > max;
}

/* Makes the second records from the rows' sums. */
static void divide_by_sums(rows_emitter *e, const row_piece *at)
{
    enum { FACTOR_BITS = 14, SHIFT_LSB = 24 };
    const vtac_softmax *s = e->p->layer->softmax;
    const entry_walk scale = record_walk(e, SECOND_RECORD, 1), shift = record_walk(e, SECOND_RECORD, 2);
    if (!vtac_vta_rows_are_wide(e->p->layer)) {
        const uint32_t places = (uint32_t)(FACTOR_BITS - s->shift);
        apply_to_rows(e, at, on_rows(VTA_ROW_RECIP, VTA_ROW_FORM_SCALE, places), scale, scale);
        return;
    }
    /* One reciprocal as the word of both, taken apart, takes less time than two. */
    const entry_walk rest = record_walk(e, FIRST_RECORD, 0);
    apply_to_rows(e, at, on_rows(VTA_ROW_RECIP, VTA_ROW_FORM_SCALE, (uint32_t)vta_max(-s->shift, 0)), scale,
                  scale);
    apply_to_rows(e, at, immediate(VTA_ALU_SHR, SHIFT_LSB), shift, scale);
    apply_to_rows(e, at, immediate(VTA_ALU_SHR, -SHIFT_LSB), rest, shift);
    apply_to_rows(e, at, immediate(VTA_ALU_MUL, -1), rest, rest);
    apply_to_rows(e, at, plain(VTA_ALU_ADD), scale, rest);
    if (s->shift > 0) {
        apply_to_rows(e, at, immediate(VTA_ALU_ADD, s->shift), shift, shift);
    }
    apply_to_rows(e, at, immediate(VTA_ALU_MUL, s->mult), scale, scale);
}

/* Leaves the powers of the numbers, and their sum in the place of the second records' scales. */
static void sum_powers(rows_emitter *e, const row_piece *at)
{
    const entry_walk sum = record_walk(e, SECOND_RECORD, 1);
    apply_to_entries(e, at, on_rows(VTA_ROW_EXP2, VTA_ROW_FORM_SCALE, 0), at->at, at->at);
    reduce(e, at, VTA_ALU_ADD, sum, at->at);
}

/* The same where what is small is summed with more places. */
static void sum_with_tail(rows_emitter *e, const row_piece *at)
{
    enum { OCTAVE = 4096 };
    const vta_alu power = on_rows(VTA_ROW_EXP2, VTA_ROW_FORM_SCALE, 0);
    const int64_t tail = e->p->rows.squares;
    const entry_walk sum = record_walk(e, SECOND_RECORD, 1), small = record_walk(e, FIRST_RECORD, 0);
    apply_to_entries(e, at, immediate(VTA_ALU_ADD, VTAC_ROW_TAIL * OCTAVE), tail, at->at);
    apply_to_entries(e, at, power, tail, tail);
    reduce(e, at, VTA_ALU_ADD, small, tail);
    apply_to_rows(e, at, immediate(VTA_ALU_SHR, VTAC_ROW_TAIL), small, small);
    apply_to_entries(e, at, power, at->at, at->at);
    apply_to_entries(e, at, immediate(VTA_ALU_MAX, VTAC_ROW_TAIL_BELOW), tail, at->at);
    reduce(e, at, VTA_ALU_ADD, sum, tail);
    apply_to_rows(e, at, plain(VTA_ALU_ADD), sum, constant_walk(e, COMMON_ENTRY));
    apply_to_rows(e, at, plain(VTA_ALU_ADD), sum, small);
}

void vtac_vta_rows_scale_mask(rows_emitter *e, const row_piece *at)
{
    const row_tiling *t = &e->p->rows;
    const int64_t count = t->entries * vta_min(t->masked, at->pixels);
    const vta_alu shift = immediate(VTA_ALU_SHR, -MASK_PLACES);
    apply(e, &shift, (entry_walk){t->mask, 0, 1}, (entry_walk){t->mask, 0, 1}, 1, count);
}

/* Adds the mask, of each row or of all. */
static void add_mask(rows_emitter *e, const row_piece *at)
{
    const int64_t ro = e->p->machine->ro, blocks = e->p->rows.entries / ro, mask = e->p->rows.mask;
    const vta_alu add = plain(VTA_ALU_ADD);
    if (e->p->rows.masked > 1) {
        apply_to_entries(e, at, add, at->at, mask);
        return;
    }
    for (int64_t r = 0; r < ro; r++) {
        apply(e, &add, (entry_walk){at->at + r, at->pixels * ro, ro}, (entry_walk){mask + r, ro, 0}, blocks,
              at->pixels);
    }
}

/* Leaves the numbers less their zero point, and the sum of their sizes in the place of the second records'
 * scales. */
static void sum_numbers(rows_emitter *e, const row_piece *at)
{
    const vtac_softmax *s = e->p->layer->softmax;
    const int64_t sizes = e->p->rows.squares;
    const bool has_signs = vtac_softmax_has_signs(s);
    if (s->offset != 0) {
        apply_to_entries(e, at, immediate(VTA_ALU_ADD, -(int64_t)s->offset), at->at, at->at);
    }
    mask_last(e, at, VTA_ALU_MUL, at->at, SMALLEST_ENTRY);
    if (has_signs) {
        apply_to_entries(e, at, immediate(VTA_ALU_MUL, -1), sizes, at->at);
        apply_to_entries(e, at, plain(VTA_ALU_MAX), sizes, at->at);
    }
    reduce(e, at, VTA_ALU_ADD, record_walk(e, SECOND_RECORD, 1), has_signs ? sizes : at->at);
}

/* Leaves the powers and their sum, of the numbers less the largest of their row. */
static void take_powers(rows_emitter *e, const row_piece *at)
{
    const vtac_softmax *s = e->p->layer->softmax;
    const entry_walk largest = record_walk(e, FIRST_RECORD, 0);
    if (e->p->rows.masked > 0) {
        add_mask(e, at);
    }
    mask_last(e, at, VTA_ALU_MIN, at->at, SMALLEST_ENTRY);
    reduce(e, at, VTA_ALU_MAX, largest, at->at);
    apply_to_rows(e, at, immediate(VTA_ALU_MUL, -1), largest, largest);
    requantize_rows(e, at, FIRST_RECORD, &(vta_requant){.dst = at->at, .src = at->at, .long_result = true});
    if (s->tail) {
        sum_with_tail(e, at);
    } else {
        sum_powers(e, at);
    }
}

void vtac_vta_rows_softmax(rows_emitter *e, const row_piece *at)
{
    const vtac_softmax *s = e->p->layer->softmax;
    if (s->linear) {
        sum_numbers(e, at);
    } else {
        take_powers(e, at);
    }
    divide_by_sums(e, at);
    requantize_rows(e, at, SECOND_RECORD,
                    &(vta_requant){.dst = at->at,
                                   .src = at->at,
                                   .zero_point = s->zero,
                                   .low = e->p->layer->low,
                                   .high = e->p->layer->high});
}

/* ---- normalizations */

bool vtac_vta_rows_have_factors(const vtac_vta_layer *layer)
{
    bool found = false;
    for (int32_t i = 0; !found && i < layer->norm->n; i++) {
        found = layer->norm->columns[i].times != 1;
    }
    return found;
}

/* Leaves the squares of the numbers less what is near their mean, from entry `squares` of ACC on. */
static void square_entries(rows_emitter *e, const row_piece *at, int64_t squares)
{
    const vtac_norm *n = e->p->layer->norm;
    const entry_walk sum = record_walk(e, SECOND_RECORD, 0), near = record_walk(e, FIRST_RECORD, 0);
    if (n->centered) {
        mask_last(e, at, VTA_ALU_MUL, at->at, PRESENT_ENTRY);
        reduce(e, at, VTA_ALU_ADD, sum, at->at);
        scale_rows(e, at, near, sum, MEAN_ENTRY);
        apply_to_rows(e, at, immediate(VTA_ALU_MUL, -1), near, near);
        requantize_rows(e, at, FIRST_RECORD,
                        &(vta_requant){.dst = squares, .src = at->at, .long_result = true});
    } else {
        apply_to_entries(e, at, immediate(VTA_ALU_ADD, n->offset), squares, at->at);
    }
    mask_last(e, at, VTA_ALU_MUL, squares, PRESENT_ENTRY);
    apply_to_entries(e, at, plain(VTA_ALU_MUL), squares, squares);
}

/* The variance of each row, times n, in the place of its second record's scale. `near` holds the number near
 * the mean, negated; the square of its distance to the mean is taken off. */
static void sum_variance(rows_emitter *e, const row_piece *at, int64_t squares)
{
    const vtac_norm *n = e->p->layer->norm;
    const entry_walk sum = record_walk(e, SECOND_RECORD, 0), off = record_walk(e, FIRST_RECORD, 0);
    const entry_walk variance = record_walk(e, SECOND_RECORD, 1);
    reduce(e, at, VTA_ALU_ADD, variance, squares);
    if (n->spread > 0) {
        apply_to_rows(e, at, immediate(VTA_ALU_SHR, -(int64_t)n->spread), variance, variance);
    }
    apply_to_rows(e, at, plain(VTA_ALU_ADD), variance, constant_walk(e, EPSILON_ENTRY));
    if (n->centered) {
        apply_to_rows(e, at, immediate(VTA_ALU_MUL, n->n), off, off);
        apply_to_rows(e, at, plain(VTA_ALU_ADD), off, sum);
        apply_to_rows(e, at, plain(VTA_ALU_MUL), off, off);
        scale_rows(e, at, off, off, SQUARE_ENTRY);
        apply_to_rows(e, at, immediate(VTA_ALU_MUL, -1), off, off);
        apply_to_rows(e, at, plain(VTA_ALU_ADD), variance, off);
    }
}

/* Adds each row's number, in the place of its first bias, to its entries, and multiplies each column by its
 * factor. */
static void apply_factors(rows_emitter *e, const row_piece *at)
{
    const vtac_norm *n = e->p->layer->norm;
    const int64_t ro = e->p->machine->ro, blocks = e->p->rows.entries / ro;
    const int64_t factors = e->p->rows.fixed + COLUMN_ENTRY + e->p->rows.entries * record_entries(false);
    const entry_walk bias = record_walk(e, FIRST_RECORD, 0);
    if (n->centered) {
        apply_to_rows(e, at, immediate(VTA_ALU_MUL, -(int64_t)n->sum_times), bias,
                      record_walk(e, SECOND_RECORD, 0));
        apply_to_rows(e, at, immediate(VTA_ALU_MOV, 0), record_walk(e, SECOND_RECORD, 0), bias);
    }
    const vta_alu add = plain(VTA_ALU_ADD), multiply = plain(VTA_ALU_MUL);
    for (int64_t r = 0; r < ro; r++) {
        const entry_walk columns = {at->at + r, at->pixels * ro, ro};
        apply(e, &add, columns, bias, blocks, at->pixels);
        apply(e, &multiply, columns, (entry_walk){factors + r, ro, 0}, blocks, at->pixels);
    }
}

/* Requantizes each column by its record. */
static void requantize_columns(rows_emitter *e, const row_piece *at)
{
    const vtac_norm *n = e->p->layer->norm;
    const int64_t ro = e->p->machine->ro, first = e->p->rows.fixed + COLUMN_ENTRY;
    for (int64_t k = 0; k < e->p->rows.entries; k++) {
        const int64_t entry = entry_at(e, at, at->at, k);
        const list_range range = {entry, (at->pixels - 1) * ro + 1};
        vtac_vta_list_requant(e->list,
                              &(vta_requant){.dst = entry,
                                             .src = entry,
                                             .params = first / record_entries(false) + k,
                                             .iter_out = 1,
                                             .iter_in = at->pixels,
                                             .dst_in = at->pixels > 1 ? ro : 0,
                                             .src_in = at->pixels > 1 ? ro : 0,
                                             .zero_point = n->zero,
                                             .low = e->p->layer->low,
                                             .high = e->p->layer->high},
                              range, range);
    }
}

void vtac_vta_rows_norm(rows_emitter *e, const row_piece *at)
{
    const vtac_norm *n = e->p->layer->norm;
    const int64_t squares = e->p->rows.squares;
    const bool factors = vtac_vta_rows_have_factors(e->p->layer);
    const entry_walk bias = record_walk(e, SECOND_RECORD, 0), scale = record_walk(e, SECOND_RECORD, 1);
    square_entries(e, at, squares);
    sum_variance(e, at, squares);
    apply_to_rows(e, at, on_rows(VTA_ROW_ROOT, VTA_ROW_FORM_SCALE, 0), scale, scale);
    apply_to_rows(e, at, on_rows(VTA_ROW_RECIP_ROOT, VTA_ROW_FORM_SCALE, n->places), scale, scale);
    if (n->times != 1) {
        apply_to_entries(e, at, immediate(VTA_ALU_MUL, n->times), at->at, at->at);
    }
    if (factors) {
        apply_factors(e, at);
    } else if (n->centered) {
        apply_to_rows(e, at, immediate(VTA_ALU_MUL, -(int64_t)n->sum_times), bias, bias);
    }
    requantize_rows(e, at, SECOND_RECORD, &(vta_requant){.dst = at->at, .src = at->at, .long_result = true});
    requantize_columns(e, at);
}
