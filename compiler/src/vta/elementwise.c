/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers whose output tiles each come from one tile of each input: sums, products, the larger of two,
 * rescaling, tables, and concatenations whose inputs begin with a block or have all channels. Tiles are
 * loaded into ACC as int8, go through the ALU in place, and are stored from there.
 *
 * A product with one number per channel (gates) loads the tiles of these numbers all at once.
 *
 * ACC: two quarters hold the operands, with three slots each (loaded, computed, stored); the third quarter
 * begins with the constants; the last holds what a table adds to a sum. Entries that the ALU reads together
 * lie in different quarters.
 */
#include <inttypes.h>

#include "sched.h"
#include "vta/number.h"

enum { SLOTS = 3, QUARTERS = 4 };
enum { PLANES = 4 }; /* of gates in a slot, with a tile for each */
/* Constants: a record of parameters for each input of a concatenation, else one record; for a sum, the two
 * factors and a record for its table. */
enum { FACTORS = 2, PLAIN = 2 };

typedef struct elementwise {
    const plan *p;
    step_list *list;
    int64_t slot;   /* entries of a slot */
    int64_t second; /* the first entry of the second operand's slots */
    int64_t third;  /* the first entry of a table's results */
    int64_t fixed;  /* the first entry of the constants */
    int64_t pieces; /* number of pieces so far */
} elementwise;

/* Contiguous tiles in DRAM, counted in OUT elements from the start of WORK. */
typedef struct tile_run {
    int64_t a, b, out, count;
    int64_t record; /* the number of the record of parameters */
} tile_run;

static bool has_two(const vtac_vta_layer *layer)
{
    return layer->kind == VTAC_VTA_ADD || layer->kind == VTAC_VTA_MUL || layer->kind == VTAC_VTA_CHOOSE;
}

static int64_t record_count(const vtac_vta_layer *layer)
{
    return layer->kind == VTAC_VTA_CONCAT ? layer->input_count : 1;
}

static int64_t constants_of(const vtac_vta_layer *layer)
{
    const int64_t sum = FACTORS + (layer->table != NULL ? PLAIN : 0);
    return record_entries(layer->wide) * record_count(layer) + (layer->kind == VTAC_VTA_ADD ? sum : 0);
}

static void fill_lanes(int32_t *lanes, int64_t count, int32_t value)
{
    for (int64_t i = 0; i < count; i++) {
        lanes[i] = value;
    }
}

/* The scale of the results, and (bias_of) the number added before it; k: the input of a concatenation. */
static vtac_fixed scale_of(const vtac_vta_layer *layer, int64_t k)
{
    const bool as_it_is = layer->kind == VTAC_VTA_TABLE || layer->kind == VTAC_VTA_CHOOSE;
    return layer->kind == VTAC_VTA_ADD ? sum_scale(layer) : as_it_is ? (vtac_fixed){1, 0} : layer->scales[k];
}

static int32_t bias_of(const plan *p, int64_t k)
{
    const vtac_vta_layer *layer = p->layer;
    const vtac_vta_tensor *tensors = p->region->tensors;
    if (layer->kind == VTAC_VTA_MUL || layer->kind == VTAC_VTA_TABLE) {
        return 0;
    }
    const int32_t zero = tensors[layer->inputs[k]].zero;
    return layer->kind != VTAC_VTA_ADD
               ? -zero
               : (layer->bias != NULL ? layer->bias[0] : 0) -
                     (zero * layer->sum.a + tensors[layer->inputs[1]].zero * layer->sum.b);
}

vta_status vtac_vta_elementwise_pack(plan *p, blob *to, vta_diag *diag)
{
    const vtac_vta_layer *layer = p->layer;
    const int64_t element = p->machine->config->elem_bytes[VTA_MEM_ACC], lanes = element / 4;
    uint64_t offset;
    const int8_t *looked_up = layer->table != NULL ? layer->table : layer->behind;
    VTA_TRY(looked_up != NULL ? vtac_vta_table_pack(p, layer, looked_up, to, diag) : VTA_OK);
    int32_t *entry = (int32_t *)(void *)vtac_vta_blob_add(to, (uint64_t)(constants_of(layer) * element),
                                                          (uint64_t)element, &offset);
    if (entry == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for the constants of layer '%s'", layer->name);
    }
    p->at.params = (int64_t)offset / element;
    for (int64_t k = 0; k < record_count(layer); k++, entry += record_entries(layer->wide) * lanes) {
        for (int64_t i = 0; i < lanes; i++) {
            vtac_vta_record_fill(entry + i, lanes, layer->wide, bias_of(p, k), scale_of(layer, k));
        }
    }
    if (layer->kind == VTAC_VTA_ADD) {
        fill_lanes(entry, lanes, layer->sum.a);
        fill_lanes(entry + lanes, lanes, layer->sum.b);
        entry += FACTORS * lanes;
    }
    for (int64_t i = 0; layer->kind == VTAC_VTA_ADD && layer->table != NULL && i < lanes; i++) {
        vtac_vta_record_fill(entry + i, lanes, false, 0, (vtac_fixed){1, 0});
    }
    return VTA_OK;
}

/* ---- calls */

static void load_tiles(elementwise *e, int64_t sram, int64_t from, int64_t count)
{
    vtac_vta_list_load(e->list, &(vta_load2d){.memory = VTA_MEM_ACC8,
                                              .sram = sram,
                                              .buffer = {WORK_BUFFER},
                                              .offset = from,
                                              .y_size = 1,
                                              .x_size = count,
                                              .x_stride = count});
}

static vta_kernel pair_of(elementwise *e, int64_t dst, int64_t src)
{
    return vtac_vta_list_kernel_of(e->list, &(vta_uop){.dst = (uint32_t)dst, .src = (uint32_t)src}, 1);
}

static void apply_immediate(elementwise *e, vta_alu_op op, int64_t at, int64_t count, int64_t imm)
{
    const list_range range = {at, count};
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = pair_of(e, at, at),
                                 .op = op,
                                 .use_imm = true,
                                 .imm = imm,
                                 .iter_out = 1,
                                 .iter_in = count,
                                 .dst_in = count > 1,
                                 .src_in = count > 1},
                      range, range);
}

/* Applies an ALU operation to `count` tiles and as many others, or to all with the `ones` tiles from src on.
 */
static void apply_alu(elementwise *e, vta_alu_op op, int64_t dst, int64_t src, int64_t count, int64_t ones)
{
    const int64_t inner = ones > 0 ? ones : count, outer = count / inner;
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = pair_of(e, dst, src),
                                 .op = op,
                                 .iter_out = outer,
                                 .iter_in = inner,
                                 .dst_out = outer > 1 ? inner : 0,
                                 .dst_in = inner > 1,
                                 .src_out = 0,
                                 .src_in = inner > 1},
                      (list_range){dst, count}, (list_range){src, inner});
}

/* Looks up what the table adds for an operand, before the operand is multiplied. */
static void look_up_addend(elementwise *e, int64_t dst, int64_t src, int64_t count)
{
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = dst,
                                         .src = src,
                                         .params = (e->fixed + constants_of(e->p->layer) - PLAIN) / PLAIN,
                                         .iter_out = 1,
                                         .iter_in = count,
                                         .dst_in = count > 1,
                                         .src_in = count > 1,
                                         .low = INT8_MIN,
                                         .high = INT8_MAX,
                                         .table = 1},
                          (list_range){dst, count}, (list_range){src, count});
}

static void add_number(elementwise *e, int64_t at, int64_t count, int64_t number)
{
    if (number != 0) {
        apply_immediate(e, VTA_ALU_ADD, at, count, number);
    }
}

/* Requantizes sums to int8: `count` entries, `apart` entries from one to the next. */
static void requantize_every(elementwise *e, int64_t at, int64_t count, int64_t apart, int64_t record)
{
    const vtac_vta_layer *layer = e->p->layer;
    const list_range range = {at, (count - 1) * apart + 1};
    const bool as_it_is = layer->kind == VTAC_VTA_TABLE;
    vtac_vta_list_requant(
        e->list,
        &(vta_requant){.dst = at,
                       .src = at,
                       .params = e->fixed / record_entries(layer->wide) + record,
                       .iter_out = 1,
                       .iter_in = count,
                       .dst_in = count > 1 ? apart : 0,
                       .src_in = count > 1 ? apart : 0,
                       .zero_point =
                           as_it_is ? 0 : zero_rounded(layer, &e->p->region->tensors[layer->output]),
                       .low = as_it_is ? INT8_MIN : layer->low,
                       .high = as_it_is ? INT8_MAX : layer->high,
                       .rounding = layer->rounding,
                       .wide = layer->wide,
                       .table = as_it_is || layer->behind != NULL},
        range, range);
}

static void requantize_tiles(elementwise *e, int64_t at, int64_t count, int64_t record)
{
    requantize_every(e, at, count, 1, record);
}

static void compute_tiles(elementwise *e, const tile_run *s, int64_t a, int64_t b, int64_t count)
{
    const vtac_vta_layer *layer = e->p->layer;
    const vtac_vta_tensor *tensors = e->p->region->tensors;
    const int64_t factors = e->fixed + record_entries(layer->wide);
    const bool corrected = layer->kind == VTAC_VTA_ADD && layer->table != NULL;
    if (corrected) {
        look_up_addend(e, e->third + a, layer->corrected == 0 ? a : b, count);
    }
    if (layer->kind == VTAC_VTA_ADD) {
        apply_alu(e, VTA_ALU_MUL, a, factors, count, 1);
        apply_alu(e, VTA_ALU_MUL, b, factors + 1, count, 1);
        apply_alu(e, VTA_ALU_ADD, a, b, count, 0);
    }
    if (corrected) {
        apply_alu(e, VTA_ALU_ADD, a, e->third + a, count, 0);
    }
    if (layer->kind == VTAC_VTA_MUL) {
        add_number(e, a, count, -tensors[layer->inputs[0]].zero);
        add_number(e, b, count, -tensors[layer->inputs[1]].zero);
        apply_alu(e, VTA_ALU_MUL, a, b, count, 0);
    }
    if (layer->kind == VTAC_VTA_CHOOSE) {
        apply_alu(e, layer->min ? VTA_ALU_MIN : VTA_ALU_MAX, a, b, count, 0);
    }
    requantize_tiles(e, a, count, s->record);
}

/* Computes the tiles of a piece and stores them in `rows` rows, which lie `stride` tiles apart. */
static void emit_piece(elementwise *e, const tile_run *s, int64_t rows, int64_t stride)
{
    const int64_t a = e->pieces % SLOTS * e->slot, b = e->second + a;
    e->pieces++;
    load_tiles(e, a, s->a, s->count);
    if (has_two(e->p->layer)) {
        load_tiles(e, b, s->b, s->count);
    }
    vtac_vta_list_flush(e->list);
    compute_tiles(e, s, a, b, s->count);
    vtac_vta_list_store(e->list, &(vta_store2d){.sram = a,
                                                .buffer = {WORK_BUFFER},
                                                .offset = s->out,
                                                .y_size = rows,
                                                .x_size = s->count / rows,
                                                .x_stride = rows > 1 ? stride : s->count});
}

static void emit_run(elementwise *e, const tile_run *s)
{
    for (int64_t at = 0; at < s->count; at += e->slot) {
        const tile_run piece = {.a = s->a + at,
                                .b = s->b + at,
                                .out = s->out + at,
                                .count = vta_min(e->slot, s->count - at),
                                .record = s->record};
        emit_piece(e, &piece, 1, 0);
    }
}

/* OUT elements from the start of WORK to a tensor; elements of one of its blocks; its number of blocks. */
static int64_t origin_of(const plan *p, uint32_t tensor)
{
    return (int64_t)p->region->tensors[tensor].offset / p->machine->config->elem_bytes[VTA_MEM_OUT];
}

static int64_t plane_size(const plan *p, uint32_t tensor)
{
    const vtac_vta_tensor *t = &p->region->tensors[tensor];
    return t->h * t->w * p->machine->ro;
}

static int64_t block_count(const plan *p, uint32_t tensor)
{
    return vta_ceil_div(p->region->tensors[tensor].c, p->machine->block);
}

/* True if all inputs of a concatenation were made in its place. */
static bool is_in_place(const plan *p)
{
    int64_t block = 0;
    bool there = p->layer->kind == VTAC_VTA_CONCAT && p->images == 1 && !p->layer->by_pixels;
    for (uint32_t k = 0; there && k < p->layer->input_count; k++) {
        const uint32_t in = p->layer->inputs[k];
        there = origin_of(p, in) == origin_of(p, p->layer->output) + block * plane_size(p, in);
        block += block_count(p, in);
    }
    return there;
}

static void emit_concat(elementwise *e)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    for (int64_t image = 0; image < p->images; image++) {
        int64_t block = image * block_count(p, layer->output);
        for (uint32_t k = 0; k < layer->input_count; k++) {
            const int64_t own = block_count(p, layer->inputs[k]), size = plane_size(p, layer->inputs[k]);
            const int64_t from = origin_of(p, layer->inputs[k]) + image * own * size;
            const int64_t to = origin_of(p, layer->output) + block * size;
            if (from != to) { /* else the input was made there */
                emit_run(e, &(tile_run){.a = from, .out = to, .count = own * size, .record = k});
            }
            block += own;
        }
    }
}

/* Puts the pixels of each input behind those of the inputs before, block by block; small blocks go together.
 */
static void emit_pixels(elementwise *e)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    const int64_t blocks = p->images * block_count(p, layer->output), size = plane_size(p, layer->output);
    int64_t to = origin_of(p, layer->output);
    for (uint32_t k = 0; k < layer->input_count; k++) {
        const int64_t own = plane_size(p, layer->inputs[k]), from = origin_of(p, layer->inputs[k]);
        const int64_t each = vta_max(1, e->slot / own);
        for (int64_t block = 0; block < blocks; block += each) {
            const int64_t rows = vta_min(each, blocks - block);
            const tile_run run = {
                .a = from + block * own, .out = to + block * size, .count = rows * own, .record = k};
            if (rows > 1) {
                emit_piece(e, &run, rows, size);
            } else {
                emit_run(e, &run);
            }
        }
        to += own;
    }
}

/* A product with one tile for each plane; all these tiles are loaded at once. */
typedef struct gates {
    int64_t a, b, out; /* as in tile_run */
    int64_t size;      /* of a plane */
    int64_t count;     /* number of planes */
    bool by_record;
} gates;

/* Subtracts the second zero point: b - zb. (a - za)·(b - zb) is a·(b - zb) plus -za·(b - zb), which is
 * constant in a block of a plane: the latter goes into records, with the scales of the first record. */
static void prepare_gates(elementwise *e, const gates *g)
{
    const vtac_vta_layer *layer = e->p->layer;
    const int64_t ro = e->p->machine->ro;
    const int64_t record = record_entries(layer->wide), copies = SLOTS * PLANES * ro - 1;
    add_number(e, e->second, g->count * ro, -e->p->region->tensors[layer->inputs[1]].zero);
    for (int64_t k = 1; g->by_record && k < record; k++) {
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = pair_of(e, e->fixed + record + k, e->fixed + k),
                                     .op = VTA_ALU_MOV,
                                     .iter_out = 1,
                                     .iter_in = copies,
                                     .dst_in = record},
                          (list_range){e->fixed + record, copies * record}, (list_range){e->fixed, record});
    }
}

/* Multiplies some planes, or part of one, at `at` with the tiles from b on. */
static void apply_gates(elementwise *e, const gates *g, int64_t at, int64_t b, int64_t planes, int64_t size)
{
    const vtac_vta_layer *layer = e->p->layer;
    const int64_t zero = e->p->region->tensors[layer->inputs[0]].zero, ro = e->p->machine->ro;
    const int64_t record = record_entries(layer->wide), first = (e->pieces - 1) % SLOTS * PLANES * ro;
    const int64_t bias = e->fixed + first * record, blocks = planes * ro;
    if (!g->by_record) {
        add_number(e, at, planes * size, -zero);
    } else {
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = pair_of(e, bias, b),
                                     .op = VTA_ALU_MUL,
                                     .use_imm = true,
                                     .imm = -zero,
                                     .iter_out = 1,
                                     .iter_in = blocks,
                                     .dst_in = blocks > 1 ? record : 0,
                                     .src_in = blocks > 1},
                          (list_range){bias, blocks * record}, (list_range){b, blocks});
    }
    for (int64_t k = 0; k < planes; k++) {
        apply_alu(e, VTA_ALU_MUL, at + k * size, b + k * ro, size, ro);
    }
    for (int64_t k = 0; k < (g->by_record ? blocks : 0); k++) {
        requantize_every(e, at + k / ro * size + k % ro, size / ro, ro, first + k);
    }
    if (!g->by_record) {
        requantize_tiles(e, at, planes * size, 0);
    }
}

static void emit_gates(elementwise *e, const gates *g)
{
    const int64_t ro = e->p->machine->ro, max_planes = vta_min(PLANES, vta_max(1, e->slot / g->size));
    for (int64_t plane_size = 0; plane_size < g->count; plane_size += max_planes) {
        const int64_t planes = vta_min(max_planes, g->count - plane_size), all = planes * g->size;
        for (int64_t at = 0; at < all; at += e->slot) {
            const int64_t count = vta_min(e->slot, all - at), a = e->pieces % SLOTS * e->slot;
            load_tiles(e, a, g->a + plane_size * g->size + at, count);
            if (e->pieces++ == 0) {
                load_tiles(e, e->second, g->b, g->count * ro);
            }
            vtac_vta_list_flush(e->list);
            if (e->pieces == 1) {
                prepare_gates(e, g);
            }
            apply_gates(e, g, a, e->second + plane_size * ro, planes, count / planes);
            vtac_vta_list_store(e->list, &(vta_store2d){.sram = a,
                                                        .buffer = {WORK_BUFFER},
                                                        .offset = g->out + plane_size * g->size + at,
                                                        .y_size = 1,
                                                        .x_size = count,
                                                        .x_stride = count});
        }
    }
}

/* Goes through as many planes at a time as there are accumulators for their tiles. */
static void emit_all_gates(elementwise *e)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    const int64_t size = plane_size(p, layer->output), ro = p->machine->ro;
    const int64_t count = p->images * block_count(p, layer->output), room = e->second / ro;
    const int64_t records = SLOTS * PLANES * ro * record_entries(layer->wide);
    const bool fits = 2 * records <= p->machine->acc;
    for (int64_t i = 0; i < count; i += room) {
        e->pieces = 0;
        emit_gates(e, &(gates){.a = origin_of(p, layer->inputs[0]) + i * size,
                               .b = origin_of(p, layer->inputs[1]) + i * ro,
                               .out = origin_of(p, layer->output) + i * size,
                               .size = size,
                               .count = vta_min(room, count - i),
                               .by_record = fits && p->region->tensors[layer->inputs[0]].zero != 0});
    }
}

static void emit_all(elementwise *e)
{
    const plan *p = e->p;
    const vtac_vta_layer *layer = p->layer;
    const uint32_t b = has_two(layer) ? layer->inputs[1] : layer->inputs[0];
    const int64_t size = plane_size(p, layer->output), count = p->images * block_count(p, layer->output);
    if (layer->kind == VTAC_VTA_MUL && plane_size(p, b) < size) {
        emit_all_gates(e);
        return;
    }
    emit_run(e, &(tile_run){.a = origin_of(p, layer->inputs[0]),
                            .b = origin_of(p, b),
                            .out = origin_of(p, layer->output),
                            .count = count * size});
}

vta_status vtac_vta_elementwise_emit(const plan *p, step_list *list, vta_diag *diag)
{
    if (is_in_place(p)) {
        return VTA_OK;
    }
    const int64_t quarter = p->machine->acc / QUARTERS, ro = p->machine->ro;
    elementwise e = {.p = p,
                     .list = list,
                     .slot = quarter / SLOTS / ro * ro,
                     .second = quarter,
                     .third = 3 * quarter,
                     .fixed = 2 * quarter};
    vtac_vta_list_load(list, &(vta_load2d){.memory = VTA_MEM_ACC,
                                           .sram = e.fixed,
                                           .buffer = {CONSTANTS_BUFFER},
                                           .offset = p->at.params,
                                           .y_size = 1,
                                           .x_size = constants_of(p->layer),
                                           .x_stride = constants_of(p->layer)});
    if (p->layer->table != NULL || p->layer->behind != NULL) {
        vtac_vta_list_table(list, 0, CONSTANTS_BUFFER, p->at.table);
    }
    if (p->layer->by_pixels) {
        emit_pixels(&e);
    } else if (p->layer->kind == VTAC_VTA_CONCAT) {
        emit_concat(&e);
    } else {
        emit_all(&e);
    }
    vtac_vta_list_flush(list);
    return list->failed ? vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name)
                        : VTA_OK;
}

/* Every slot must hold a tile, and the constants must lie behind the slots. */
static vta_status must_fit(const machine *m, const vtac_vta_layer *layer, vta_diag *diag)
{
    const int64_t records = layer->kind == VTAC_VTA_MUL ? SLOTS * PLANES * record_entries(layer->wide) : 0;
    const int64_t slots = QUARTERS * SLOTS * m->ro, fixed = 2 * vta_max(constants_of(layer), records);
    const int64_t need = vta_max(slots, fixed);
    return m->acc >= need
               ? VTA_OK
               : vta_fail(diag, VTA_RANGE,
                          "layer '%s' does not fit the buffers: its smallest piece needs %" PRId64
                          " accumulators of %" PRId64 " (LOG_ACC_BUFF_SIZE); larger ones would help",
                          layer->name, need, m->acc);
}

vta_status vtac_vta_elementwise_plan(const machine *m, const vtac_vta_region *region, uint32_t number,
                                     plan *out, vta_diag *diag)
{
    vtac_vta_plan_init(m, region, number, out);
    const vtac_vta_layer *layer = out->layer;
    VTA_TRY(must_fit(m, layer, diag));
    const int64_t more = layer->kind == VTAC_VTA_ADD && layer->table != NULL ? 2 : 0;
    const int64_t passes = layer->kind == VTAC_VTA_CHOOSE ? 2 : has_two(layer) ? 4 + more : 1;
    const int64_t entries = out->images * block_count(out, layer->output) * plane_size(out, layer->output);
    const int64_t bytes = entries * m->config->elem_bytes[VTA_MEM_OUT];
    const int64_t second =
        has_two(layer) && plane_size(out, layer->inputs[1]) == plane_size(out, layer->output) ? bytes : 0;
    out->units = (load_of_units){.alu = (uint64_t)(entries * passes),
                                 .load = (uint64_t)((bytes + second) / m->beat),
                                 .store = (uint64_t)(bytes / m->beat),
                                 .bytes_read = (uint64_t)(bytes + second),
                                 .bytes_written = (uint64_t)bytes};
    if (is_in_place(out)) {
        out->units = (load_of_units){0};
    }
    out->cycles = vtac_vta_units_cycles(&out->units);
    return VTA_OK;
}
