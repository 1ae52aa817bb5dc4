/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of any rank, float and quantized, by one scheme. The input is packed: padded, cast to the type
 * of the sums, zero point taken off, and split into the phases of the stride, so that for every tap of the
 * window the positions of a whole row, and of all rows behind each other, lie one after the other; or, where
 * windows reach far over small planes, the positions of each tap are gathered. Bytes go
 * by words, where weights and zero points are known: four channels as bytes or two as 16-bit numbers, as the
 * target's dot product has them. A tile of some output channels times some vectors of positions stays in
 * registers over all channels and taps. Sums go through scratch memory, from where each real position is
 * finished (bias, requantization, what is fused) and stored.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../ops/infer.h"
#include "layout.h"
#include "space.h"
#include "vta/fail.h"

enum { MAX_TAPS_UNROLLED = 9, MAX_SCRATCH_POSITIONS = 2048, MAX_VECTORS = 6 };

typedef struct conv_lowering {
    vtac_window w;
    vtac_dtype type;          /* of the sums */
    uint32_t x, weight, bias; /* inputs */
    int64_t batch, channels, outputs, groups, per_group, out_per_group, taps;
    int64_t phases[VTAC_MAX_RANK], all_phases;                /* of the stride, per axis */
    int64_t grid[VTAC_MAX_RANK], step[VTAC_MAX_RANK], places; /* of one phase, with its row lengths */
    int64_t row, last;                     /* positions of one step of axis 0, and of the last one */
    int64_t lanes, vectors, block, blocks; /* the tile */
    int64_t rows, chunks, tiles;           /* steps of axis 0 at once */
    bool quantized;
    bool gathered;                /* packed [tap][position]: each tap has its own places */
    const vtac_conv_shape *phase; /* of a transposed one: weights are [channel][output of the group][tap] */
    int64_t lead[VTAC_MAX_RANK];  /* places before those of the phase: of others' borders */
    int64_t room;                 /* elements of the packed input */
    uint32_t x_zero, w_zero;      /* inputs, 0: none */
    int64_t together, words;      /* channels in a word; words of a group's channels */
    vtac_expr_op dot;             /* that sums them */
    bool is_signed;               /* bytes of the input, in words of four */
    const int32_t *start;         /* what words of four leave to be added, for each output; NULL: nothing */
} conv_lowering;

/* Shift of the input's bytes on their way to words of four. */
static int64_t shift_of(const vtac_lower *l, const conv_lowering *c)
{
    const bool given = vtac_type_in(l, c->x)->dtype == VTAC_I8;
    return c->together < 4 || given == c->is_signed ? 0 : given ? 128 : -128;
}

/* Chooses how channels are grouped in words. */
static vta_status choose_words(vtac_lower *l, conv_lowering *c)
{
    const vtac_target *t = l->program->target;
    const vtac_tensor *zero = vtac_in_constant(l->graph, l->node, c->x_zero);
    c->together = 1;
    c->words = c->per_group;
    c->dot = VTAC_E_FMA;
    if (!c->quantized || l->program->level == 0 || c->per_group < 2 || zero == NULL ||
        vtac_dtype_bytes(vtac_type_in(l, c->x)->dtype) != 1 ||
        vtac_dtype_bytes(vtac_type_in(l, c->weight)->dtype) != 1 ||
        vtac_in_constant(l->graph, l->node, c->weight) == NULL ||
        vtac_in_constant(l->graph, l->node, c->w_zero) == NULL) {
        return VTA_OK;
    }
    const vtac_conv_weights w = vtac_conv_weights_of(l->graph, l->node);
    const bool fours = w.folded && (t->has_vnni || t->has_signed_dot);
    if (!fours && !t->has_pairs && !t->has_vnni) {
        return VTA_OK;
    }
    c->together = fours ? 4 : 2;
    c->words = (c->per_group + c->together - 1) / c->together;
    c->is_signed = t->has_signed_dot;
    c->dot = !fours ? VTAC_E_DOT2 : c->is_signed ? VTAC_E_SDOT4 : VTAC_E_DOT4;
    int32_t *start = fours ? vta_arena_array(&l->program->arena, (size_t)c->outputs, sizeof *start) : NULL;
    if (fours && start == NULL) {
        return vta_no_memory(l->diag);
    }
    const int64_t off = vtac_tensor_int(zero, 0) + shift_of(l, c);
    for (int64_t i = 0; fours && i < c->outputs * w.inner; i++) {
        start[i / w.inner] -= (int32_t)off * vtac_conv_byte(&w, i / w.inner, i % w.inner);
    }
    c->start = start;
    return VTA_OK;
}

static void fill_counts(vtac_lower *l, conv_lowering *c)
{
    const vtac_type *x = vtac_type_in(l, c->x);
    const vtac_type *w = vtac_type_in(l, c->weight);
    c->batch = x->dim[0];
    c->channels = x->dim[1];
    c->groups = vtac_attr_int(l->node, "group", 1);
    c->outputs = c->phase != NULL ? w->dim[1] * c->groups : w->dim[0];
    c->per_group = c->channels / c->groups;
    c->out_per_group = c->outputs / c->groups;
    c->taps = 1;
    for (uint32_t a = 0; a < c->w.axes; a++) {
        c->taps *= c->w.kernel[a];
    }
}

static int64_t reach_of(const conv_lowering *c, uint32_t a)
{
    return (c->w.kernel[a] - 1) * c->w.dilation[a];
}

/* Places that are a row behind each other, from the lengths in `grid` on. */
static void fill_steps(conv_lowering *c)
{
    c->places = c->all_phases = 1;
    for (uint32_t a = c->w.axes; a-- > 0;) {
        c->step[a] = c->places;
        c->places *= c->grid[a];
        c->all_phases *= c->phases[a];
    }
    c->row = c->step[0];
    c->last = 1;
    for (uint32_t a = 1; a < c->w.axes; a++) {
        c->last += (c->w.extent[a] - 1) * c->step[a];
    }
}

static void fill_geometry(conv_lowering *c)
{
    for (uint32_t a = 0; a < c->w.axes; a++) {
        const bool one = c->w.kernel[a] == 1 || c->w.dilation[a] % c->w.stride[a] == 0;
        c->phases[a] = c->gathered ? c->w.kernel[a] : one ? 1 : c->w.stride[a];
        c->grid[a] = c->w.extent[a] + (c->gathered ? 0 : reach_of(c, a) / c->w.stride[a]);
    }
    fill_steps(c);
}

/* Takes a tile; about how many instructions the whole layer then needs, for each word and tap. */
static double take_tile(const vtac_lower *l, conv_lowering *c, int64_t vectors, int64_t block, int64_t rows)
{
    const int64_t positions = (rows - 1) * c->row + c->last;
    c->lanes = (int64_t)(l->program->target->vector_bytes / vtac_dtype_bytes(c->type));
    c->vectors = vectors;
    c->block = block;
    c->blocks = (c->out_per_group + block - 1) / block;
    c->rows = rows;
    c->chunks = (c->w.extent[0] + rows - 1) / rows;
    c->tiles = (positions + c->lanes * vectors - 1) / (c->lanes * vectors);
    return (double)(c->blocks * c->chunks * c->tiles) *
           ((double)(block * vectors + vectors) + 40.0 / (double)(c->words * c->taps) + 1.0);
}

/* Outputs beside so many vectors of positions, at most, in as many blocks of like sizes as there must be. */
static int64_t max_outputs(const vtac_lower *l, const conv_lowering *c, int64_t vectors)
{
    const vtac_target *t = l->program->target;
    const int64_t registers = t->vector_count > 16 ? 26 : 12;
    const int64_t room = (int64_t)(t->vector_count - 1) / vectors - 1; /* beside inputs and a weight */
    int64_t block = registers / vectors < room ? registers / vectors : room;
    block = block > 16 ? 16 : block;
    block = block > c->out_per_group ? c->out_per_group : block;
    const int64_t blocks = (c->out_per_group + block - 1) / block;
    return (c->out_per_group + blocks - 1) / blocks;
}

static bool has_scratch(const conv_lowering *c, int64_t rows)
{
    return rows <= c->w.extent[0] && (rows == 1 || rows * c->row <= MAX_SCRATCH_POSITIONS);
}

/* The tile that needs the fewest instructions. */
static double choose_tile(const vtac_lower *l, conv_lowering *c)
{
    double best = HUGE_VAL;
    conv_lowering chosen = *c;
    for (int64_t vectors = 1; vectors <= MAX_VECTORS; vectors++) {
        const int64_t block = max_outputs(l, c, vectors);
        for (int64_t rows = 1; has_scratch(c, rows); rows++) {
            const double cost = take_tile(l, c, vectors, block, rows);
            if (cost < best) {
                best = cost;
                chosen = *c;
            }
        }
    }
    *c = chosen;
    return best;
}

/* Instructions that pack the input, for each plane of words. */
static double cost_of_packing(const conv_lowering *c)
{
    bool dense = !c->gathered; /* what lies side by side in the input does so when packed */
    for (uint32_t a = 0; a < c->w.axes; a++) {
        dense = dense && c->w.stride[a] == 1;
    }
    return (double)(c->all_phases * c->places * c->together) * (dense ? 0.5 : 2.0);
}

/* Instructions of the whole layer, roughly, with those that pack the input. */
static double cost_of(const vtac_lower *l, conv_lowering *c)
{
    fill_geometry(c);
    const double planes = (double)(c->batch * c->groups * c->words);
    const double products = choose_tile(l, c) * (double)c->taps;
    return planes * (products + cost_of_packing(c));
}

static bool may_gather(const vtac_lower *l, const conv_lowering *c)
{
    return c->taps > 1 && l->program->level > 0;
}

/* Positions that are a row behind each other have those of the border between them; gathered ones have not.
 */
static void choose_plan(const vtac_lower *l, conv_lowering *c)
{
    conv_lowering gathered = *c;
    gathered.gathered = true;
    const double plain = cost_of(l, c);
    if (may_gather(l, c) && cost_of(l, &gathered) < 0.8 * plain) {
        *c = gathered;
    }
}

/* The tiles of one way, whose geometry is known. */
static void add_tiles(const vtac_lower *l, vtac_schedule_space *s, conv_lowering c)
{
    const double planes = (double)(c.batch * c.groups * c.words);
    for (int64_t vectors = 1; vectors <= MAX_VECTORS; vectors++) {
        const int64_t max = max_outputs(l, &c, vectors);
        for (int64_t block = max; block >= 1; block--) {
            const int64_t blocks = (c.out_per_group + block - 1) / block;
            if ((c.out_per_group + blocks - 1) / blocks != block) {
                continue; /* more than as many blocks need */
            }
            for (int64_t rows = 1; has_scratch(&c, rows); rows *= 2) {
                const double cost = take_tile(l, &c, vectors, block, rows) * (double)c.taps;
                vtac_space_add(s, (const int64_t[]){c.gathered, vectors, block, rows},
                               planes * (cost + cost_of_packing(&c)));
            }
        }
    }
}

static vtac_schedule_space *new_space(const vtac_lower *l, const conv_lowering *c, int64_t phases)
{
    static const char *const names[] = {"gathered", "vectors", "block", "rows", NULL};
    vtac_schedule_space *s = vtac_space_new(l, "conv", names);
    if (s == NULL) {
        return NULL;
    }
    size_t size =
        (size_t)snprintf(s->shape, sizeof s->shape,
                         "%s%zu n%" PRId64 " groups%" PRId64 " in%" PRId64 " out%" PRId64 " words%" PRId64
                         " phases%" PRId64 " fused%u",
                         vtac_dtype_kind(c->type) == 'f' ? "float" : "int", 8 * vtac_dtype_bytes(c->type),
                         c->batch, c->groups, c->channels, c->outputs, c->words, phases, l->chain_count);
    for (uint32_t a = 0; a < c->w.axes && size < sizeof s->shape; a++) {
        size += (size_t)snprintf(s->shape + size, sizeof s->shape - size,
                                 " x%" PRId64 " kernel%" PRId64 " stride%" PRId64 " dilation%" PRId64,
                                 c->w.extent[a], c->w.kernel[a], c->w.stride[a], c->w.dilation[a]);
    }
    return s;
}

/* Asks for the way and the tile. */
static void ask_for_tile(const vtac_lower *l, conv_lowering *c)
{
    int64_t chosen[] = {c->gathered, c->vectors, c->block, c->rows};
    vtac_schedule_space *s = new_space(l, c, 1);
    if (s == NULL) {
        return;
    }
    conv_lowering other = *c;
    vtac_space_add(s, chosen, cost_of(l, &other));
    for (int i = 0; i < (may_gather(l, c) ? 2 : 1); i++) {
        other.gathered = i != 0;
        fill_geometry(&other);
        add_tiles(l, s, other);
    }
    if (vtac_space_ask(l, s, chosen)) {
        c->gathered = chosen[0] != 0;
        fill_geometry(c);
        (void)take_tile(l, c, chosen[1], chosen[2], chosen[3]);
    }
}

/* Asks for one tile for all phases of a transposed convolution, as far as each phase has so many rows. In the
 * standard schedule each phase has its own tile. The schedule has the first phase's name. */
static void ask_for_tiles(const vtac_lower *l, conv_lowering *all, int64_t count)
{
    int64_t chosen[] = {0, all->vectors, all->block, all->rows};
    vtac_schedule_space *s = new_space(l, all, count);
    if (s == NULL) {
        return;
    }
    conv_lowering first = *all;
    vtac_space_add(s, chosen, take_tile(l, &first, chosen[1], chosen[2], chosen[3]));
    add_tiles(l, s, *all);
    if (!vtac_space_ask(l, s, chosen)) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rows = chosen[3];
        while (!has_scratch(&all[i], rows)) {
            rows--;
        }
        (void)take_tile(l, &all[i], chosen[1], chosen[2], rows);
    }
}

/* ---- packing */

static int64_t room_of(const conv_lowering *c)
{
    const int64_t slack = c->tiles * c->lanes * c->vectors + c->row * (c->rows + 1);
    return c->batch * c->groups * c->words * c->all_phases * c->places + slack;
}

/* Opens loops over the phases and places of the spatial axes; gives the source index on each axis. */
static uint32_t open_places(vtac_lower *l, const conv_lowering *c, const vtac_expr **source,
                            const vtac_expr **to)
{
    uint32_t loops = 0;
    for (uint32_t a = 0; a < c->w.axes; a++) {
        const vtac_expr *phase = vtac_e_index(l->k, 0);
        if (c->phases[a] > 1) {
            phase = vtac_for(l->k, VTAC_LOOP_SERIAL, c->phases[a], "phase");
            loops++;
        }
        source[a] = phase;
        *to = vtac_i_add(l->k, vtac_i_mulc(l->k, *to, c->phases[a]), phase);
    }
    for (uint32_t a = 0; a < c->w.axes; a++) {
        const vtac_expr *q = vtac_for(l->k, VTAC_LOOP_SERIAL, c->grid[a], "q");
        source[a] = vtac_i_mulc(l->k, source[a], c->gathered ? c->w.dilation[a] : 1);
        source[a] = vtac_i_add(l->k, vtac_i_mulc(l->k, q, c->w.stride[a]),
                               vtac_i_addc(l->k, source[a], -c->w.pad_begin[a]));
        *to = vtac_i_add(l->k, vtac_i_mulc(l->k, *to, c->grid[a]), q);
        loops++;
    }
    return loops;
}

/* Index of a place in a plane, clamped into the plane. Returns the condition that the place lies inside;
 * NULL: every place does. */
static const vtac_expr *place_inside(vtac_lower *l, const conv_lowering *c, const vtac_expr *const *source,
                                     const vtac_expr **index)
{
    const vtac_type *type = vtac_type_in(l, c->x);
    const vtac_expr *inside = NULL;
    *index = vtac_e_index(l->k, 0);
    for (uint32_t a = 0; a < c->w.axes; a++) {
        const int64_t dim = type->dim[a + 2];
        const int64_t max = (c->grid[a] - 1) * c->w.stride[a] +
                            (c->phases[a] - 1) * (c->gathered ? c->w.dilation[a] : 1) - c->w.pad_begin[a];
        const vtac_expr *place = vtac_let(l->k, "place", source[a]);
        const vtac_expr *safe = place;
        if (c->w.pad_begin[a] > 0 || max >= dim) {
            const vtac_expr *low = vtac_e2(l->k, VTAC_E_GE, place, vtac_e_index(l->k, 0));
            const vtac_expr *high = vtac_e2(l->k, VTAC_E_LT, place, vtac_e_index(l->k, dim));
            const vtac_expr *both = vtac_e2(l->k, VTAC_E_AND, low, high);
            inside = inside == NULL ? both : vtac_e2(l->k, VTAC_E_AND, inside, both);
            safe = vtac_e2(l->k, VTAC_E_MAX, vtac_e_index(l->k, 0),
                           vtac_e2(l->k, VTAC_E_MIN, vtac_e_index(l->k, dim - 1), place));
        }
        *index = vtac_i_add(l->k, vtac_i_mulc(l->k, *index, dim), safe);
    }
    return inside;
}

/* Channels of a plane of words at a place of it, as the dot product wants them; those that a group has not
 * meet weights of 0. */
static const vtac_expr *word_of(vtac_lower *l, const conv_lowering *c, const vtac_expr *plane,
                                const vtac_expr *index, const vtac_expr *inside)
{
    vtac_kernel *k = l->k;
    const int64_t bits = 32 / c->together;
    const int64_t zero = vtac_tensor_int(vtac_in_constant(l->graph, l->node, c->x_zero), 0);
    const int64_t elements = vtac_type_elements(vtac_type_in(l, c->x)) / (c->batch * c->channels);
    const int64_t off = c->together == 2 ? -zero : shift_of(l, c);
    const vtac_expr *group = vtac_i_mulc(k, vtac_i_divc(k, plane, c->words), c->per_group);
    const vtac_expr *first = vtac_i_mulc(k, vtac_i_remc(k, plane, c->words), c->together);
    const vtac_expr *word = NULL;
    for (int64_t i = 0; i < c->together; i++) {
        const vtac_expr *channel = vtac_i_addc(k, first, i);
        if (c->per_group % c->together != 0) {
            channel = vtac_e2(k, VTAC_E_MIN, channel, vtac_e_index(k, c->per_group - 1));
        }
        const vtac_expr *at = vtac_let(k, "channel", vtac_i_mulc(k, vtac_i_add(k, group, channel), elements));
        const vtac_expr *x = vtac_e_load(k, vtac_in(l, c->x), vtac_i_add(k, at, index));
        x = vtac_e2(k, VTAC_E_ADD, vtac_e_cast(k, VTAC_I32, x), vtac_e_int(k, VTAC_I32, off));
        x = inside == NULL ? x : vtac_e3(k, VTAC_E_SELECT, inside, x, vtac_e_int(k, VTAC_I32, zero + off));
        if (i + 1 < c->together) {
            x = vtac_e2(k, VTAC_E_AND, x, vtac_e_int(k, VTAC_I32, (INT64_C(1) << bits) - 1));
        }
        x = vtac_e2(k, VTAC_E_SHL, x, vtac_e_int(k, VTAC_I32, bits * i));
        word = word == NULL ? x : vtac_e2(k, VTAC_E_OR, word, x);
    }
    return word;
}

static const vtac_expr *element_of(vtac_lower *l, const conv_lowering *c, const vtac_expr *plane,
                                   const vtac_expr *index, const vtac_expr *inside)
{
    const int64_t elements = vtac_type_elements(vtac_type_in(l, c->x)) / (c->batch * c->channels);
    index = vtac_i_add(l->k, vtac_i_mulc(l->k, plane, elements), index);
    const vtac_expr *value = vtac_e_cast(l->k, c->type, vtac_e_load(l->k, vtac_in(l, c->x), index));
    if (c->x_zero != 0) {
        const vtac_expr *zero = vtac_e_load(l->k, vtac_in(l, c->x_zero), vtac_e_index(l->k, 0));
        value = vtac_e2(l->k, VTAC_E_SUB, value, vtac_e_cast(l->k, c->type, zero));
    }
    return inside == NULL ? value : vtac_e3(l->k, VTAC_E_SELECT, inside, value, vtac_e_int(l->k, c->type, 0));
}

static vta_status pack_input(vtac_lower *l, const conv_lowering *c, vtac_storage_id packed)
{
    VTA_TRY(vtac_begin(l, ".pack"));
    vtac_buffer *to = vtac_use(l, packed, "packed", c->type, c->room);
    const int64_t planes = c->batch * c->groups * c->words;
    const vtac_expr *plane = vtac_for(l->k, vtac_parallel_if(planes * c->places), planes, "plane");
    const vtac_expr *at = plane;
    const vtac_expr *source[VTAC_MAX_RANK];
    const uint32_t loops = open_places(l, c, source, &at);
    const vtac_expr *index;
    const vtac_expr *inside = place_inside(l, c, source, &index);
    vtac_store(l->k, to, at,
               c->together > 1 ? word_of(l, c, plane, index, inside)
                               : element_of(l, c, plane, index, inside));
    vtac_close(l, loops + 1);
    return VTA_OK;
}

/* Weights as [group][block of outputs][channel or word of them][tap][output], zeros where a block is not
 * full.
 */
static int64_t weight_elements(const conv_lowering *c)
{
    return c->groups * c->blocks * c->words * c->taps * c->block;
}

static vtac_storage_id constant_words(vtac_lower *l, const conv_lowering *c)
{
    const vtac_conv_weights w = vtac_conv_weights_of(l->graph, l->node);
    uint32_t *packed = vta_arena_array(&l->program->arena, (size_t)weight_elements(c), sizeof *packed);
    const int64_t bits = 32 / c->together;
    for (int64_t i = 0; packed != NULL && i < c->outputs * w.inner; i++) {
        const int64_t m = i / w.inner;
        const int64_t channel = i % w.inner / c->taps;
        const int64_t within = m % c->out_per_group;
        const int64_t block = m / c->out_per_group * c->blocks + within / c->block;
        const int64_t row = (block * c->words + channel / c->together) * c->taps + i % c->taps;
        const int64_t value = vtac_conv_byte(&w, m, i % w.inner) - vtac_conv_zero(&w, m);
        packed[row * c->block + within % c->block] |= (uint32_t)(value & ((INT64_C(1) << bits) - 1))
                                                      << (channel % c->together * bits);
    }
    return packed == NULL ? 0 : vtac_constant(l, packed, (uint64_t)weight_elements(c) * sizeof *packed);
}

/* Position of weight i of output m among the given weights; -1: the weight is 0. */
static int64_t given_at(const conv_lowering *c, int64_t m, int64_t i)
{
    if (c->phase == NULL) {
        return m * c->per_group * c->taps + i;
    }
    const int64_t channel = m / c->out_per_group * c->per_group + i / c->taps;
    int64_t at = channel * c->out_per_group + m % c->out_per_group;
    int64_t rest = i % c->taps;
    int64_t place[VTAC_MAX_RANK];
    for (uint32_t a = c->w.axes; a-- > 0;) {
        place[a] = c->phase->tap_first[a] + rest % c->w.kernel[a] * c->phase->tap_step[a];
        rest /= c->w.kernel[a];
    }
    for (uint32_t a = 0; a < c->w.axes; a++) {
        if (place[a] < 0) {
            return -1;
        }
        at = at * c->phase->taps[a] + place[a];
    }
    return at;
}

static vtac_storage_id constant_weights(vtac_lower *l, const conv_lowering *c, const vtac_tensor *w,
                                        const vtac_tensor *zero)
{
    const size_t bytes = vtac_dtype_bytes(c->type);
    uint8_t *packed = vta_arena_array(&l->program->arena, (size_t)weight_elements(c), bytes);
    if (packed == NULL) {
        return 0;
    }
    const int64_t inner = c->per_group * c->taps;
    for (int64_t m = 0; m < c->outputs; m++) {
        const int64_t group = m / c->out_per_group;
        const int64_t within = m % c->out_per_group;
        const int64_t block = group * c->blocks + within / c->block;
        double off = 0.0;
        if (zero != NULL) {
            off = vtac_tensor_float(zero, vtac_type_elements(&zero->type) > 1 ? m : 0);
        }
        for (int64_t i = 0; i < inner; i++) {
            const int64_t from = given_at(c, m, i);
            const double value = from < 0 ? 0.0 : vtac_tensor_float(w, from) - off;
            const float narrow = (float)value;
            const int32_t whole = c->type == VTAC_I32 ? (int32_t)value : 0;
            const void *number = c->type == VTAC_F32   ? (const void *)&narrow
                                 : c->type == VTAC_I32 ? (const void *)&whole
                                                       : (const void *)&value;
            memcpy(packed + (size_t)((block * inner + i) * c->block + within % c->block) * bytes, number,
                   bytes);
        }
    }
    return vtac_constant(l, packed, (uint64_t)weight_elements(c) * bytes);
}

static vta_status pack_weights(vtac_lower *l, const conv_lowering *c, vtac_storage_id *out)
{
    const vtac_tensor *w = vtac_in_constant(l->graph, l->node, c->weight);
    const vtac_tensor *zero = c->w_zero == 0 ? NULL : vtac_in_constant(l->graph, l->node, c->w_zero);
    if (w != NULL && (c->w_zero == 0 || zero != NULL)) {
        *out = c->together > 1 ? constant_words(l, c) : constant_weights(l, c, w, zero);
        return vta_allocated(*out != 0, l->diag);
    }
    VTA_TRY(vtac_begin(l, ".weights"));
    *out = vtac_temp(l, c->type, weight_elements(c));
    vtac_buffer *to = vtac_use(l, *out, "weights", c->type, weight_elements(c));
    const int64_t inner = c->per_group * c->taps;
    const vtac_expr *block = vtac_for(l->k, VTAC_LOOP_SERIAL, c->groups * c->blocks, "block");
    const vtac_expr *i = vtac_for(l->k, VTAC_LOOP_SERIAL, inner, "i");
    const vtac_expr *o = vtac_for(l->k, VTAC_LOOP_SERIAL, c->block, "o");
    const vtac_expr *within =
        vtac_i_add(l->k, vtac_i_mulc(l->k, vtac_i_remc(l->k, block, c->blocks), c->block), o);
    const vtac_expr *real = vtac_e2(l->k, VTAC_E_LT, within, vtac_e_index(l->k, c->out_per_group));
    within = vtac_e2(l->k, VTAC_E_MIN, within, vtac_e_index(l->k, c->out_per_group - 1));
    const vtac_expr *m = vtac_let(
        l->k, "m",
        vtac_i_add(l->k, vtac_i_mulc(l->k, vtac_i_divc(l->k, block, c->blocks), c->out_per_group), within));
    const vtac_expr *from = vtac_i_add(l->k, vtac_i_mulc(l->k, m, inner), i);
    const vtac_expr *value = vtac_e_cast(l->k, c->type, vtac_e_load(l->k, vtac_in(l, c->weight), from));
    if (c->w_zero != 0) {
        const bool one = vtac_type_elements(vtac_type_in(l, c->w_zero)) == 1;
        const vtac_expr *z = vtac_e_load(l->k, vtac_in(l, c->w_zero), one ? vtac_e_index(l->k, 0) : m);
        value = vtac_e2(l->k, VTAC_E_SUB, value, vtac_e_cast(l->k, c->type, z));
    }
    value = vtac_e3(l->k, VTAC_E_SELECT, real, value, vtac_e_int(l->k, c->type, 0));
    vtac_store(l->k, to,
               vtac_i_add(l->k,
                          vtac_i_mulc(l->k, vtac_i_add(l->k, vtac_i_mulc(l->k, block, inner), i), c->block),
                          o),
               value);
    vtac_close(l, 3);
    return VTA_OK;
}

/* ---- the sums */

/* Offset of a tap's places from the first place of its channel. */
static int64_t tap_offset(const conv_lowering *c, int64_t tap)
{
    int64_t offset = 0;
    int64_t phase = 0;
    int64_t k[VTAC_MAX_RANK];
    if (c->gathered) {
        return tap * c->places;
    }
    for (uint32_t a = c->w.axes; a-- > 0;) {
        k[a] = c->lead[a] + tap % c->w.kernel[a] * c->w.dilation[a];
        tap /= c->w.kernel[a];
    }
    for (uint32_t a = 0; a < c->w.axes; a++) {
        offset += k[a] / c->w.stride[a] * c->step[a];
        phase = phase * c->phases[a] + (c->phases[a] > 1 ? k[a] % c->w.stride[a] : 0);
    }
    return phase * c->places + offset;
}

typedef struct conv_tile {
    vtac_buffer *sums, *packed, *weights, *taps, *scratch;
    const vtac_expr *plane;  /* first place of the channel group in the packed input */
    const vtac_expr *filter; /* first weight of the block */
    const vtac_expr *position;
} conv_tile;

static void accumulate_tap(vtac_lower *l, const conv_lowering *c, const conv_tile *t,
                           const vtac_expr *channel, const vtac_expr *tap, const vtac_expr *offset)
{
    vtac_kernel *k = l->k;
    const vtac_expr *w = vtac_i_add(k, vtac_i_mulc(k, channel, c->taps), tap);
    w = vtac_i_add(k, t->filter, vtac_i_mulc(k, w, c->block));
    const vtac_expr *x = vtac_i_add(k, vtac_i_mulc(k, channel, c->all_phases * c->places), offset);
    x = vtac_let(k, "x", vtac_i_add(k, vtac_i_add(k, t->plane, x), t->position));
    w = vtac_let(k, "w", w);
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    const vtac_expr *value[MAX_VECTORS];
    for (int64_t v = 0; v < c->vectors; v++) {
        const vtac_expr *at = vtac_i_add(k, x, vtac_i_addc(k, lane, v * c->lanes));
        value[v] = vtac_let(k, "value", vtac_e_load(k, t->packed, at));
    }
    for (int64_t o = 0; o < c->block; o++) { /* one weight at a time: registers are for the sums */
        const vtac_expr *factor = vtac_let(k, "factor", vtac_e_load(k, t->weights, vtac_i_addc(k, w, o)));
        for (int64_t v = 0; v < c->vectors; v++) {
            const vtac_expr *sum = vtac_i_addc(k, lane, (o * c->vectors + v) * c->lanes);
            const vtac_expr *before = vtac_e_load(k, t->sums, sum);
            vtac_store(k, t->sums, sum,
                       c->together > 1 ? vtac_e3(k, c->dot, before, value[v], factor)
                                       : vtac_e3(k, VTAC_E_FMA, factor, value[v], before));
        }
    }
    vtac_end(k);
}

/* for each sum of the tile: sums = 0, or scratch = sums */
static void each_sum(vtac_lower *l, const conv_lowering *c, const conv_tile *t, bool clear,
                     const vtac_expr *column)
{
    vtac_kernel *k = l->k;
    const vtac_expr *o = vtac_for(k, VTAC_LOOP_UNROLL, c->block, "o");
    const vtac_expr *v = vtac_for(k, VTAC_LOOP_UNROLL, c->vectors, "v");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, c->lanes, "lane");
    const vtac_expr *within = vtac_i_add(k, vtac_i_mulc(k, v, c->lanes), lane);
    const vtac_expr *sum = vtac_i_add(k, vtac_i_mulc(k, o, c->vectors * c->lanes), within);
    if (clear) {
        vtac_store(k, t->sums, sum, vtac_e_int(k, c->type, 0));
    } else {
        const vtac_expr *to =
            vtac_i_add(k, vtac_i_mulc(k, o, c->tiles * c->vectors * c->lanes), vtac_i_add(k, column, within));
        vtac_store(k, t->scratch, to, vtac_e_load(k, t->sums, sum));
    }
    vtac_close(l, 3);
}

static void sum_tile(vtac_lower *l, const conv_lowering *c, const conv_tile *t, const vtac_expr *column)
{
    vtac_kernel *k = l->k;
    each_sum(l, c, t, true, column);
    const vtac_expr *channel = vtac_for(k, VTAC_LOOP_SERIAL, c->words, "channel");
    if (c->taps <= MAX_TAPS_UNROLLED) {
        for (int64_t tap = 0; tap < c->taps; tap++) {
            accumulate_tap(l, c, t, channel, vtac_e_index(k, tap), vtac_e_index(k, tap_offset(c, tap)));
        }
    } else {
        const vtac_expr *tap = vtac_for(k, VTAC_LOOP_SERIAL, c->taps, "tap");
        accumulate_tap(l, c, t, channel, tap, vtac_let(k, "offset", vtac_e_load(k, t->taps, tap)));
        vtac_end(k);
    }
    vtac_end(k);
    each_sum(l, c, t, false, column);
}

/* ---- finishing */

static const vtac_expr *load_parameter(vtac_lower *l, uint32_t i, const vtac_expr *m)
{
    const bool one = vtac_type_elements(vtac_type_in(l, i)) == 1;
    return vtac_e_load(l->k, vtac_in(l, i), one ? vtac_e_index(l->k, 0) : m);
}

/* FusedConv names an activation. */
static const vtac_expr *apply_activation(vtac_lower *l, const vtac_expr *x)
{
    const char *name = vtac_attr_string(l->node, "activation", "");
    const vtac_expr *zero = vtac_e_int(l->k, x == NULL ? VTAC_F32 : x->type, 0);
    if (name[0] == '\0') {
        return x;
    }
    if (strcmp(name, "Relu") == 0) {
        return vtac_e2(l->k, VTAC_E_MAX, zero, x);
    }
    (void)vtac_unsupported(l, "only the activation Relu is lowered");
    return x;
}

static const vtac_expr *finish_sum(vtac_lower *l, const conv_lowering *c, const vtac_expr *sum,
                                   const vtac_expr *m)
{
    if (c->start != NULL) {
        const vtac_storage_id id = vtac_constant(l, c->start, (uint64_t)c->outputs * sizeof *c->start);
        sum = vtac_e2(l->k, VTAC_E_ADD, sum,
                      vtac_e_load(l->k, vtac_use(l, id, "start", VTAC_I32, c->outputs), m));
    }
    if (vtac_has_in(l, c->bias) && c->bias != 0) {
        const vtac_expr *bias = vtac_e_load(l->k, vtac_in(l, c->bias), m);
        sum = vtac_e2(l->k, VTAC_E_ADD, sum, vtac_e_cast(l->k, c->type, bias));
    }
    if (!c->quantized) {
        return apply_activation(l, sum);
    }
    /* x_scale 1, w_scale 4, y_scale 6, y_zero 7 */
    const vtac_rounding rounding = vtac_rounding_of(l->node);
    if (rounding != VTAC_ROUND_EVEN) {
        const bool narrow = vtac_type_in(l, VTAC_QLINEAR_CONV_X)->dtype == VTAC_U8;
        const vtac_expr *factor =
            vtac_let(l->k, "factor",
                     vtac_tfl_output_scale(l, VTAC_QLINEAR_CONV_X_SCALE, VTAC_QLINEAR_CONV_WEIGHT_SCALE,
                                           VTAC_QLINEAR_CONV_Y_SCALE, narrow, m));
        return vtac_tfl_stored(l, vtac_tfl_scaled(l, sum, factor, rounding), load_parameter(l, 7, m),
                               vtac_type_out(l, 0)->dtype);
    }
    const vtac_expr *scale =
        vtac_let(l->k, "scale",
                 vtac_output_scale(l, VTAC_QLINEAR_CONV_X_SCALE, VTAC_QLINEAR_CONV_WEIGHT_SCALE,
                                   VTAC_QLINEAR_CONV_Y_SCALE, 1.0, m));
    return vtac_rescale(l, sum, scale, false, load_parameter(l, 7, m), vtac_type_out(l, 0)->dtype);
}

/* Output position of place `at` of the window's extent. */
static const vtac_expr *output_place(vtac_lower *l, const conv_lowering *c, uint32_t a, const vtac_expr *at)
{
    return c->phase == NULL
               ? at
               : vtac_i_addc(l->k, vtac_i_mulc(l->k, at, c->phase->out_stride[a]), c->phase->out_first[a]);
}

static void store_rows(vtac_lower *l, const conv_lowering *c, const conv_tile *t, const vtac_expr *batch,
                       const vtac_expr *group, const vtac_expr *block, const vtac_expr *chunk)
{
    vtac_kernel *k = l->k;
    const vtac_expr *at[VTAC_MAX_RANK];
    const vtac_expr *o = vtac_for(k, VTAC_LOOP_SERIAL, c->block, "o");
    const vtac_expr *within = vtac_let(k, "within", vtac_i_add(k, vtac_i_mulc(k, block, c->block), o));
    vtac_if(k, vtac_e2(k, VTAC_E_LT, within, vtac_e_index(k, c->out_per_group)));
    at[0] = batch;
    at[1] = vtac_let(k, "m", vtac_i_add(k, vtac_i_mulc(k, group, c->out_per_group), within));
    const vtac_expr *r = vtac_for(k, VTAC_LOOP_SERIAL, c->rows, "row");
    const vtac_expr *y = vtac_let(k, "y", vtac_i_add(k, vtac_i_mulc(k, chunk, c->rows), r));
    vtac_if(k, vtac_e2(k, VTAC_E_LT, y, vtac_e_index(k, c->w.extent[0])));
    at[2] = output_place(l, c, 0, y);
    const vtac_expr *place = vtac_i_mulc(k, r, c->row);
    for (uint32_t a = 1; a < c->w.axes; a++) {
        const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, c->w.extent[a], "x");
        at[a + 2] = output_place(l, c, a, x);
        place = vtac_i_add(k, place, vtac_i_mulc(k, x, c->step[a]));
    }
    place = vtac_i_add(k, vtac_i_mulc(k, o, c->tiles * c->vectors * c->lanes), place);
    vtac_out_at(l, 0, at, finish_sum(l, c, vtac_e_load(k, t->scratch, place), at[1]));
    vtac_close(l, c->w.axes - 1 + 4);
}

static vta_status multiply_packed(vtac_lower *l, const conv_lowering *c, vtac_storage_id packed,
                                  vtac_storage_id weights)
{
    VTA_TRY(vtac_begin(l, ""));
    vtac_kernel *k = l->k;
    const int64_t wide = c->tiles * c->vectors * c->lanes;
    conv_tile t = {.packed = vtac_use(l, packed, "packed", c->type, c->room),
                   .weights = vtac_use(l, weights, "weights", c->type, weight_elements(c))};
    t.sums = vtac_local(l, "sums", c->type, c->block * c->vectors * c->lanes);
    t.scratch = vtac_kernel_buffer(k, "rows", c->type, c->block * wide, VTAC_BUFFER_SCRATCH);
    if (c->taps > MAX_TAPS_UNROLLED) {
        int64_t *offsets = vta_arena_array(&l->program->arena, (size_t)c->taps, sizeof *offsets);
        for (int64_t i = 0; offsets != NULL && i < c->taps; i++) {
            offsets[i] = tap_offset(c, i);
        }
        t.taps = vtac_use(l, vtac_constant(l, offsets, (uint64_t)c->taps * sizeof *offsets), "taps", VTAC_I64,
                          c->taps);
    }
    const int64_t units = c->batch * c->groups * c->blocks * c->chunks;
    const int64_t work = c->batch * c->outputs * c->words * c->taps * c->w.extent[0] * c->last;
    const vtac_expr *unit = vtac_for(k, vtac_parallel_if(work), units, "unit");
    const vtac_expr *chunk = vtac_let(k, "chunk", vtac_i_remc(k, unit, c->chunks));
    const vtac_expr *outer = vtac_let(k, "outer", vtac_i_divc(k, unit, c->chunks));
    const vtac_expr *block = vtac_let(k, "block", vtac_i_remc(k, outer, c->blocks));
    const vtac_expr *plane = vtac_let(k, "plane", vtac_i_divc(k, outer, c->blocks));
    const vtac_expr *group = vtac_let(k, "group", vtac_i_remc(k, plane, c->groups));
    const vtac_expr *batch = vtac_let(k, "batch", vtac_i_divc(k, plane, c->groups));
    t.plane = vtac_let(k, "source", vtac_i_mulc(k, plane, c->words * c->all_phases * c->places));
    const vtac_expr *filter = vtac_i_add(k, vtac_i_mulc(k, group, c->blocks), block);
    t.filter = vtac_let(k, "filter", vtac_i_mulc(k, filter, c->words * c->taps * c->block));
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, c->tiles, "tile");
    const vtac_expr *column = vtac_let(k, "column", vtac_i_mulc(k, i, c->vectors * c->lanes));
    t.position = vtac_let(k, "position", vtac_i_add(k, vtac_i_mulc(k, chunk, c->rows * c->row), column));
    sum_tile(l, c, &t, column);
    vtac_end(k);
    store_rows(l, c, &t, batch, group, block, chunk);
    vtac_end(k);
    int64_t outputs = c->batch * c->outputs;
    for (uint32_t a = 0; a < c->w.axes; a++) {
        outputs *= c->w.extent[a];
    }
    l->step->flops = 2 * (uint64_t)(outputs * c->per_group * c->taps);
    return l->diag->code;
}

/* Packs one input for all phases, with the border of the phase that reaches farthest. */
static void share_border(const vtac_conv_shape *phases, conv_lowering *all, int64_t count)
{
    int64_t before[VTAC_MAX_RANK] = {0};
    int64_t grid[VTAC_MAX_RANK] = {0};
    for (uint32_t a = 0; a < all->w.axes; a++) {
        before[a] = phases[0].window.pad_begin[a];
        for (int64_t i = 0; i < count; i++) {
            before[a] = phases[i].window.pad_begin[a] > before[a] ? phases[i].window.pad_begin[a] : before[a];
        }
        for (int64_t i = 0; i < count; i++) {
            all[i].lead[a] = before[a] - phases[i].window.pad_begin[a];
            const int64_t places = all[i].lead[a] + all[i].w.extent[a] + reach_of(&all[i], a);
            grid[a] = places > grid[a] ? places : grid[a];
        }
    }
    for (int64_t i = 0; i < count; i++) {
        for (uint32_t a = 0; a < all->w.axes; a++) {
            all[i].phases[a] = 1;
            all[i].grid[a] = grid[a];
            all[i].w.pad_begin[a] = before[a];
        }
        fill_steps(&all[i]);
    }
}

vta_status vtac_lower_conv_phases(vtac_lower *l, const vtac_conv_shape *phases, int64_t count)
{
    conv_lowering *all = vta_arena_array(&l->program->arena, (size_t)count, sizeof *all);
    int64_t room = 0;
    if (all == NULL) {
        return vta_no_memory(l->diag);
    }
    for (int64_t i = 0; i < count; i++) {
        all[i] = (conv_lowering){.weight = VTAC_CONV_WEIGHT,
                                 .bias = vtac_has_in(l, VTAC_CONV_BIAS) ? VTAC_CONV_BIAS : 0,
                                 .w = phases[i].window};
        all[i].phase = &phases[i];
        all[i].type = vtac_compute_type(vtac_type_in(l, VTAC_CONV_X)->dtype);
        fill_counts(l, &all[i]);
        VTA_TRY(choose_words(l, &all[i]));
    }
    share_border(phases, all, count);
    for (int64_t i = 0; i < count; i++) {
        (void)choose_tile(l, &all[i]);
    }
    ask_for_tiles(l, all, count);
    for (int64_t i = 0; i < count; i++) {
        room = room_of(&all[i]) > room ? room_of(&all[i]) : room;
    }
    const vtac_storage_id packed = vtac_temp(l, all->type, room);
    for (int64_t i = 0; i < count; i++) {
        vtac_storage_id weights = 0;
        all[i].room = room;
        VTA_TRY(i == 0 ? pack_input(l, all, packed) : VTA_OK);
        VTA_TRY(pack_weights(l, &all[i], &weights));
        VTA_TRY(multiply_packed(l, &all[i], packed, weights));
    }
    return VTA_OK;
}

vta_status vtac_lower_conv(vtac_lower *l)
{
    conv_lowering c = {.weight = VTAC_CONV_WEIGHT, .bias = VTAC_CONV_BIAS};
    if (l->node->op == VTAC_OP_QLINEAR_CONV) {
        c = (conv_lowering){.weight = VTAC_QLINEAR_CONV_WEIGHT,
                            .bias = VTAC_QLINEAR_CONV_BIAS,
                            .x_zero = VTAC_QLINEAR_CONV_X_ZERO,
                            .w_zero = VTAC_QLINEAR_CONV_WEIGHT_ZERO,
                            .quantized = true};
    } else if (l->node->op == VTAC_OP_CONV_INTEGER) {
        c = (conv_lowering){
            .weight = VTAC_CONV_INTEGER_WEIGHT,
            .x_zero = vtac_has_in(l, VTAC_CONV_INTEGER_X_ZERO) ? VTAC_CONV_INTEGER_X_ZERO : 0,
            .w_zero = vtac_has_in(l, VTAC_CONV_INTEGER_WEIGHT_ZERO) ? VTAC_CONV_INTEGER_WEIGHT_ZERO : 0};
    }
    const vtac_type *x = vtac_type_in(l, VTAC_CONV_X);
    const bool whole = vtac_dtype_kind(x->dtype) != 'f';
    c.type = whole ? VTAC_I32 : vtac_compute_type(x->dtype);
    VTA_TRY(vtac_window_of(l->node, x, vtac_type_in(l, c.weight), false, &c.w, l->diag));
    fill_counts(l, &c);
    VTA_TRY(choose_words(l, &c));
    choose_plan(l, &c);
    ask_for_tile(l, &c);
    c.room = room_of(&c);
    vtac_storage_id weights = 0;
    const vtac_storage_id packed = vtac_temp(l, c.type, c.room);
    VTA_TRY(pack_input(l, &c, packed));
    VTA_TRY(pack_weights(l, &c, &weights));
    return multiply_packed(l, &c, packed, weights);
}
