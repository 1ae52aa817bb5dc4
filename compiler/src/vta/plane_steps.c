/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of normalizations of planes (vtac/quant.h) as calls. Sums lie in lanes: those of a channel
 * in its lane of its entry. What a group of several channels has lies in all lanes of an entry of its own;
 * roots do so in any case, as they are made of one lane.
 */
#include "planes.h"
#include "vta/number.h"

/* A run of entries: the first one and the step. */
typedef struct lane_walk {
    int64_t first, step;
} lane_walk;

static list_range range_of(lane_walk w, int64_t count)
{
    return (list_range){w.first, (count - 1) * w.step + 1};
}

static vta_alu plain(vta_alu_op op)
{
    return (vta_alu){.op = op};
}

static vta_alu immediate(vta_alu_op op, int64_t imm)
{
    return (vta_alu){.op = op, .use_imm = true, .imm = imm};
}

static vta_alu on_lanes(uint32_t function, uint32_t places)
{
    return (vta_alu){.op = VTA_ALU_ROW, .row = {.function = function, .places = places}};
}

/* An ALU operation of two walks. */
static void apply(planes_emitter *e, vta_alu alu, lane_walk dst, lane_walk src, int64_t count)
{
    alu.kernel = vtac_vta_list_kernel_of(
        e->list, &(vta_uop){.dst = (uint32_t)dst.first, .src = (uint32_t)src.first}, 1);
    alu.iter_out = 1;
    alu.iter_in = count;
    alu.dst_in = count > 1 ? dst.step : 0;
    alu.src_in = count > 1 ? src.step : 0;
    vtac_vta_list_alu(e->list, &alu, range_of(dst, count), range_of(src, count));
}

/* ---- arrays */

static lane_walk sum_of(const planes_emitter *e, int64_t array)
{
    return (lane_walk){e->p->planes.sums + array * e->p->planes.entries, 1};
}

static bool has_own(const planes_tiling *t)
{
    return t->each == 1;
}

int64_t vtac_vta_planes_width(const planes_tiling *t)
{
    return has_own(t) ? t->entries : t->groups;
}

static lane_walk group_of(const planes_emitter *e, int64_t array)
{
    const planes_tiling *t = &e->p->planes;
    return (lane_walk){t->by_group + array * vtac_vta_planes_width(t), 1};
}

/* The numbers of roots, one for each group, behind the arrays by groups. */
static lane_walk root_of(const planes_emitter *e, int64_t which)
{
    const planes_tiling *t = &e->p->planes;
    return (lane_walk){group_of(e, GROUP_ARRAYS).first + which * t->groups, 1};
}

static lane_walk lane_of(const planes_emitter *e, int64_t array)
{
    return (lane_walk){e->p->planes.by_lane + array * e->p->planes.entries, 1};
}

static lane_walk constant(const planes_emitter *e, int64_t which)
{
    return (lane_walk){e->p->planes.fixed + which, 0};
}

static lane_walk channels(const planes_emitter *e, int64_t numbers)
{
    return (lane_walk){e->p->planes.fixed + PLANE_CHANNELS + numbers * e->p->planes.entries, 1};
}

/* ---- between groups and lanes */

typedef uint32_t pair_entry(const planes_emitter *e, const plane_pair *pair, int64_t first);

static uint32_t of_entry(const planes_emitter *e, const plane_pair *pair, int64_t first)
{
    (void)e;
    return (uint32_t)(first + pair->entry);
}

static uint32_t of_group(const planes_emitter *e, const plane_pair *pair, int64_t first)
{
    (void)e;
    return (uint32_t)(first + pair->group);
}

static uint32_t of_mask(const planes_emitter *e, const plane_pair *pair, int64_t first)
{
    const planes_tiling *t = &e->p->planes;
    return (uint32_t)(first + PLANE_CHANNELS + CHANNEL_NUMBERS * t->entries + pair->mask);
}

static uint32_t of_pair(const planes_emitter *e, const plane_pair *pair, int64_t first)
{
    return (uint32_t)(first + (pair - e->pairs));
}

/* The entries of an operand, by pairs. */
typedef struct pair_walk {
    pair_entry *of;
    int64_t first, count;
} pair_walk;

enum { ALL_PAIRS, FIRST_PAIRS, OTHER_PAIRS };

/* Emits a step for each pair, or for the first pairs of groups, or for the others. */
static void apply_to_pairs(planes_emitter *e, vta_alu alu, int which, pair_walk dst, pair_walk src)
{
    int64_t count = 0;
    for (int64_t i = 0; i < e->pair_count; i++) {
        const plane_pair *pair = &e->pairs[i];
        if (which == ALL_PAIRS || pair->begins == (which == FIRST_PAIRS)) {
            e->uops[count++] =
                (vta_uop){.dst = dst.of(e, pair, dst.first), .src = src.of(e, pair, src.first)};
        }
        if (count > 0 && (count == e->room || i + 1 == e->pair_count)) {
            alu.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)count);
            alu.iter_out = alu.iter_in = 1;
            vtac_vta_list_alu(e->list, &alu, (list_range){dst.first, dst.count},
                              (list_range){src.first, src.count});
            count = 0;
        }
    }
}

static pair_walk apart(const planes_emitter *e)
{
    return (pair_walk){of_pair, e->p->planes.apart, e->p->planes.pairs};
}

/* Leaves in each pair's entry the numbers of its lanes, 0 elsewhere. */
static void take_apart(planes_emitter *e, pair_walk from)
{
    const planes_tiling *t = &e->p->planes;
    apply_to_pairs(e, plain(VTA_ALU_MOV), ALL_PAIRS, apart(e), from);
    apply_to_pairs(e, plain(VTA_ALU_MUL), ALL_PAIRS, apart(e),
                   (pair_walk){of_mask, t->fixed, t->sums - t->fixed});
}

/* The sum of a group's lanes, in all lanes. */
static void gather(planes_emitter *e, lane_walk to, lane_walk from)
{
    const pair_walk groups = {of_group, to.first, e->p->planes.groups};
    take_apart(e, (pair_walk){of_entry, from.first, e->p->planes.entries});
    apply_to_pairs(e, plain(VTA_ALU_MOV), FIRST_PAIRS, groups, apart(e));
    apply_to_pairs(e, plain(VTA_ALU_ADD), OTHER_PAIRS, groups, apart(e));
    for (uint32_t k = 0; k < e->p->machine->config->log_block_out; k++) {
        apply(e, on_lanes(VTA_ROW_ADD, k), to, to, e->group_count);
    }
}

/* The numbers of groups in their lanes, 0 in lanes of none. */
static void scatter(planes_emitter *e, lane_walk to, lane_walk from)
{
    take_apart(e, (pair_walk){of_group, from.first, e->p->planes.groups});
    apply(e, immediate(VTA_ALU_MOV, 0), to, to, e->p->planes.entries);
    apply_to_pairs(e, plain(VTA_ALU_ADD), ALL_PAIRS, (pair_walk){of_entry, to.first, e->p->planes.entries},
                   apart(e));
}

/* ---- sums */

void vtac_vta_planes_clear(planes_emitter *e)
{
    const lane_walk all = sum_of(e, 0);
    apply(e, immediate(VTA_ALU_MOV, 0), all, all, SUMS * e->p->planes.entries);
}

/* Adds all pixels of a piece to a sum: those of an entry follow each other, so the ALU forwards the result so
 * far. */
static void add_pixels(planes_emitter *e, const plane_piece *at, int64_t array)
{
    const int64_t ro = e->p->machine->ro, to = sum_of(e, array).first;
    for (int64_t r = 0; r < ro; r++) {
        const vta_uop uop = {.dst = (uint32_t)(to + r * e->p->planes.blocks), .src = (uint32_t)(at->at + r)};
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                     .op = VTA_ALU_ADD,
                                     .iter_out = e->blocks,
                                     .iter_in = at->pixels,
                                     .dst_out = e->blocks > 1 ? 1 : 0,
                                     .src_out = e->blocks > 1 ? at->pixels * ro : 0,
                                     .src_in = at->pixels > 1 ? ro : 0},
                          (list_range){uop.dst, e->blocks},
                          (list_range){at->at, e->blocks * at->pixels * ro});
    }
}

void vtac_vta_planes_add(planes_emitter *e, const plane_piece *at)
{
    const lane_walk all = {at->at, 1};
    add_pixels(e, at, SUM_OF_X);
    apply(e, plain(VTA_ALU_MUL), all, all, e->blocks * at->pixels * e->p->machine->ro);
    add_pixels(e, at, SUM_LOW);
}

/* x = word >> places, of which word keeps the rest. */
static void split(planes_emitter *e, lane_walk high, lane_walk word, lane_walk work, int64_t places,
                  int64_t count)
{
    apply(e, immediate(VTA_ALU_SHR, places), high, word, count);
    apply(e, immediate(VTA_ALU_SHR, -places), work, high, count);
    apply(e, immediate(VTA_ALU_MUL, -1), work, work, count);
    apply(e, plain(VTA_ALU_ADD), word, work, count);
}

void vtac_vta_planes_carry(planes_emitter *e)
{
    const lane_walk high = lane_of(e, LANE_MEAN);
    const int64_t count = e->p->planes.entries;
    split(e, high, sum_of(e, SUM_LOW), lane_of(e, LANE_WORK), LIMB, count);
    apply(e, plain(VTA_ALU_ADD), sum_of(e, SUM_HIGH), high, count);
}

/* ---- what groups have */

/* The arrays of the groups, or of lanes where each channel is one. */
typedef struct moments {
    lane_walk x, low, high, mean, rest, part, work, more;
    int64_t count;
} moments;

static moments moments_of(const planes_emitter *e)
{
    const bool own = has_own(&e->p->planes);
    return (moments){.x = own ? sum_of(e, SUM_OF_X) : group_of(e, GROUP_X),
                     .low = own ? sum_of(e, SUM_LOW) : group_of(e, GROUP_LOW),
                     .high = own ? sum_of(e, SUM_HIGH) : group_of(e, GROUP_HIGH),
                     .mean = group_of(e, GROUP_MEAN),
                     .rest = group_of(e, GROUP_REST),
                     .part = group_of(e, GROUP_PART),
                     .work = group_of(e, GROUP_WORK),
                     .more = group_of(e, GROUP_MORE),
                     .count = own ? e->p->planes.entries : e->group_count};
}

/* Scales numbers by a constant record. */
static void scale(planes_emitter *e, lane_walk to, lane_walk from, int64_t record, int64_t count)
{
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = to.first,
                                         .src = from.first,
                                         .params = (e->p->planes.fixed + record) / record_entries(false),
                                         .iter_out = 1,
                                         .iter_in = count,
                                         .dst_in = count > 1,
                                         .src_in = count > 1,
                                         .long_result = true},
                          range_of(to, count), range_of(from, count));
}

/* to = a * b; to += a * b */
static void multiply(planes_emitter *e, lane_walk to, lane_walk a, lane_walk b, int64_t count)
{
    apply(e, plain(VTA_ALU_MOV), to, a, count);
    apply(e, plain(VTA_ALU_MUL), to, b, count);
}

static void add_product(planes_emitter *e, const moments *m, lane_walk to, lane_walk a, lane_walk b)
{
    multiply(e, m->more, a, b, m->count);
    apply(e, plain(VTA_ALU_ADD), to, m->more, m->count);
}

/* M, R and F. */
static void find_means(planes_emitter *e, const moments *m)
{
    scale(e, m->mean, m->x, PLANE_MEAN, m->count);
    multiply(e, m->rest, m->mean, constant(e, PLANE_COUNT), m->count);
    apply(e, plain(VTA_ALU_ADD), m->rest, m->x, m->count);
    scale(e, m->part, m->rest, PLANE_PART, m->count);
}

static void shift_left(planes_emitter *e, lane_walk what, int64_t places, int64_t count)
{
    if (places != 0) {
        apply(e, immediate(VTA_ALU_SHR, -places), what, what, count);
    }
}

/* V, in `high`. */
static void find_spreads(planes_emitter *e, const moments *m)
{
    const vtac_planes *n = e->p->layer->plane_norm;
    multiply(e, m->work, m->mean, m->mean, m->count);
    add_product(e, m, m->high, m->work, constant(e, PLANE_COUNT_HIGH));
    add_product(e, m, m->low, m->work, constant(e, PLANE_COUNT_LOW));
    apply(e, immediate(VTA_ALU_MUL, -2), m->work, m->mean, m->count);
    add_product(e, m, m->low, m->work, m->rest);
    shift_left(e, m->high, LIMB + n->spread, m->count);
    shift_left(e, m->low, n->spread, m->count);
    apply(e, plain(VTA_ALU_ADD), m->high, m->low, m->count);
    apply(e, immediate(VTA_ALU_SHR, n->halves), m->work, m->rest, m->count);
    apply(e, plain(VTA_ALU_MUL), m->work, m->work, m->count);
    scale(e, m->work, m->work, PLANE_SQUARE, m->count);
    apply(e, immediate(VTA_ALU_MUL, -1), m->work, m->work, m->count);
    apply(e, plain(VTA_ALU_ADD), m->high, m->work, m->count);
    apply(e, plain(VTA_ALU_ADD), m->high, constant(e, PLANE_EPSILON), m->count);
}

/* The root and its reciprocal, in the lanes of their groups. */
static void find_roots(planes_emitter *e, const moments *m)
{
    const lane_walk root = root_of(e, 0), recip = root_of(e, 1);
    const bool own = has_own(&e->p->planes);
    if (own) {
        gather(e, root, m->high);
    }
    apply(e, on_lanes(VTA_ROW_ROOT, 0), root, own ? root : m->high, e->group_count);
    apply(e, on_lanes(VTA_ROW_RECIP_ROOT, 0), recip, root, e->group_count);
    scatter(e, lane_of(e, LANE_ROOT), root);
    scatter(e, lane_of(e, LANE_MULT), recip);
}

/* ---- records of lanes */

/* An entry of the records, which follow each other. */
static lane_walk records(const planes_emitter *e, int64_t place)
{
    return (lane_walk){e->p->planes.record + place, record_entries(false)};
}

static void make_scales(planes_emitter *e)
{
    enum { SHIFT_LSB = 24 };
    const lane_walk mult = lane_of(e, LANE_MULT), shift = lane_of(e, LANE_SHIFT);
    const int64_t count = e->p->planes.entries;
    split(e, shift, mult, lane_of(e, LANE_WORK), SHIFT_LSB, count);
    apply(e, plain(VTA_ALU_MUL), mult, channels(e, CHANNEL_GAIN), count);
    apply(e, immediate(VTA_ALU_SHR, VTAC_PLANES_GAIN), mult, mult, count);
    apply(e, plain(VTA_ALU_ADD), shift, channels(e, CHANNEL_PLACES), count);
    apply(e, immediate(VTA_ALU_SHR, -SHIFT_LSB), shift, shift, count);
    apply(e, plain(VTA_ALU_ADD), mult, shift, count);
    apply(e, plain(VTA_ALU_MOV), records(e, 1), mult, count);
}

static void make_biases(planes_emitter *e, lane_walk mean, lane_walk above)
{
    enum { SHIFT_LSB = 24 };
    const lane_walk root = lane_of(e, LANE_ROOT), down = lane_of(e, LANE_DOWN);
    const int64_t count = e->p->planes.entries;
    split(e, down, root, lane_of(e, LANE_WORK), SHIFT_LSB, count);
    apply(e, plain(VTA_ALU_MUL), root, channels(e, CHANNEL_WEIGHT), count);
    apply(e, plain(VTA_ALU_ADD), down, channels(e, CHANNEL_LOWER), count);
    apply(e, plain(VTA_ALU_SHR), root, down, count);
    apply(e, plain(VTA_ALU_MUL), mean, channels(e, CHANNEL_TIMES), count);
    apply(e, plain(VTA_ALU_MUL), above, channels(e, CHANNEL_TIMES), count);
    apply(e, immediate(VTA_ALU_SHR, VTAC_PLANES_PART), above, above, count);
    apply(e, plain(VTA_ALU_ADD), mean, above, count);
    apply(e, immediate(VTA_ALU_MUL, -1), mean, mean, count);
    apply(e, plain(VTA_ALU_ADD), root, mean, count);
    apply(e, plain(VTA_ALU_MOV), records(e, 0), root, count);
}

void vtac_vta_planes_records(planes_emitter *e)
{
    const moments m = moments_of(e);
    const bool own = has_own(&e->p->planes);
    const lane_walk mean = own ? m.mean : lane_of(e, LANE_MEAN), above = own ? m.part : lane_of(e, LANE_PART);
    vtac_vta_planes_carry(e);
    for (int64_t k = 0; k < SUMS && !own; k++) {
        gather(e, group_of(e, GROUP_X + k), sum_of(e, k));
    }
    find_means(e, &m);
    find_spreads(e, &m);
    find_roots(e, &m);
    if (!own) {
        scatter(e, mean, m.mean);
        scatter(e, above, m.part);
    }
    make_scales(e);
    make_biases(e, mean, above);
}

/* ---- results */

static void requantize(planes_emitter *e, const plane_piece *at, int64_t r)
{
    const vtac_planes *n = e->p->layer->plane_norm;
    const planes_tiling *t = &e->p->planes;
    const int64_t ro = e->p->machine->ro;
    const list_range all = {at->at, e->blocks * at->pixels * ro};
    vtac_vta_list_requant(e->list,
                          &(vta_requant){.dst = at->at + r,
                                         .src = at->at + r,
                                         .params = t->record / record_entries(false) + r * t->blocks,
                                         .by_row = true,
                                         .iter_out = e->blocks,
                                         .iter_in = at->pixels,
                                         .dst_out = e->blocks > 1 ? at->pixels * ro : 0,
                                         .src_out = e->blocks > 1 ? at->pixels * ro : 0,
                                         .dst_in = at->pixels > 1 ? ro : 0,
                                         .src_in = at->pixels > 1 ? ro : 0,
                                         .zero_point = n->zero,
                                         .low = e->p->layer->low,
                                         .high = e->p->layer->high,
                                         .table = e->p->layer->behind != NULL},
                          all, all);
}

void vtac_vta_planes_apply(planes_emitter *e, const plane_piece *at)
{
    const planes_tiling *t = &e->p->planes;
    const int64_t ro = e->p->machine->ro;
    const list_range all = {at->at, e->blocks * at->pixels * ro};
    for (int64_t r = 0; r < ro; r++) {
        const int64_t times = channels(e, CHANNEL_TIMES).first + r * t->blocks;
        const vta_uop uop = {.dst = (uint32_t)(at->at + r), .src = (uint32_t)times};
        vtac_vta_list_alu(e->list,
                          &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, &uop, 1),
                                     .op = VTA_ALU_MUL,
                                     .iter_out = e->blocks,
                                     .iter_in = at->pixels,
                                     .dst_out = e->blocks > 1 ? at->pixels * ro : 0,
                                     .dst_in = at->pixels > 1 ? ro : 0,
                                     .src_out = e->blocks > 1 ? 1 : 0},
                          all, (list_range){times, e->blocks});
        requantize(e, at, r);
    }
}
