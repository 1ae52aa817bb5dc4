/* SPDX-License-Identifier: Apache-2.0
 *
 * Pack: a tensor into the device's blocked layout (device.h), one row of memory at a time.
 *
 * A row of memory is made of rows that lie in the order of its lanes, one for each lane; vectors turn that
 * matrix (src/llvm/turn.c). Where nothing is folded and nothing quantized, the planes of the tensor are these
 * rows. Else they are made in scratch memory, in two stages:
 *
 *   fetched   rows of the image with their borders, so that no column needs a test afterwards; floats are
 *             quantized on the way there
 *
 *   lined     for each lane, the columns of a fetched row that it holds
 *
 * Without vectors the second stage writes the device's memory itself, one lane after the other. Where the
 * channels of a pixel follow one another, the lanes of a block are copied at once.
 */
#include "device.h"
#include "layout.h"
#include "point.h"
#include "quick.h"
#include "vta/fail.h"

enum { MAX_SCRATCH = 32768 }; /* floats are quantized in a step of their own where more had to be fetched */

typedef struct packer {
    vtac_lower *l;
    vtac_device_layout g;
    const vtac_node *quantize; /* whose output the tensor is, when it is made here; else NULL */
    vtac_quick quick;          /* the steps of quantizing it */
    vtac_buffer *from, *to, *fetched, *lined, *places;
    int64_t taps;                   /* lanes that hold something: those of all places of the window */
    int64_t fetched_rows, width;    /* of one channel; of a row */
    bool directly;                  /* no rows of lanes are made */
    bool all_at_once;               /* the whole image is fetched and lined up: its rows are one */
    int64_t columns;                /* places that lie side by side there */
    int64_t bytes, words;           /* in a vector */
    const vtac_expr *n, *y, *block; /* where the loops are */
} packer;

/* body(x) for begin … end-1, by vectors of `lanes`. */
typedef void along_fn(const packer *p, const vtac_expr *x, const void *of);
static void pack_along(const packer *p, int64_t begin, int64_t end, int64_t lanes, along_fn *body,
                       const void *of)
{
    vtac_kernel *k = p->l->k;
    const int64_t rounds = end > begin ? (end - begin) / lanes : 0;
    const int64_t rest = end > begin ? (end - begin) % lanes : 0;
    if (rounds > 0) {
        const vtac_expr *round = vtac_for(k, VTAC_LOOP_SERIAL, rounds, "x");
        const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, lanes, "lane");
        body(p, vtac_i_addc(k, vtac_i_add(k, vtac_i_mulc(k, round, lanes), lane), begin), of);
        vtac_end(k);
        vtac_end(k);
    }
    if (rest > 0) {
        const vtac_expr *lane = vtac_for(k, rest > 1 ? VTAC_LOOP_VECTOR : VTAC_LOOP_UNROLL, rest, "lane");
        body(p, vtac_i_addc(k, lane, begin + rounds * lanes), of);
        vtac_end(k);
    }
}

/* ---- fetched rows */

typedef struct memory_row {
    const vtac_expr *to, *from; /* places of the row's first column, there and in the tensor */
    const vtac_expr *c, *y;
} memory_row;

static int64_t clamp_place(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The first element of a channel's plane of the image where the loops are. */
static const vtac_expr *plane_at(const packer *p, const vtac_expr *c)
{
    vtac_kernel *k = p->l->k;
    return vtac_i_add(k, vtac_i_mulc(k, p->n, p->g.planes[0]), vtac_i_mulc(k, c, p->g.planes[1]));
}

static const vtac_expr *flip_bytes(const packer *p, const vtac_expr *value)
{
    vtac_kernel *k = p->l->k;
    value = p->g.flip ? vtac_e2(k, VTAC_E_XOR, value, vtac_e_int(k, VTAC_U8, 128)) : value;
    return vtac_e_cast(k, VTAC_I8, value);
}

static void pack_border(const packer *p, const vtac_expr *x, const void *of)
{
    vtac_kernel *k = p->l->k;
    vtac_store(k, p->fetched, vtac_i_add(k, ((const memory_row *)of)->to, x),
               vtac_e_int(k, VTAC_I8, p->g.zero));
}

static const vtac_expr *quantize_element(const packer *p, const memory_row *r, const vtac_expr *x,
                                         const vtac_expr *lane)
{
    const vtac_expr *const image[] = {p->n, r->c, r->y, x};
    const vtac_expr *const line[] = {p->n, r->c, x};
    const bool is_image = p->l->graph->values[p->quantize->outputs[0]].type.rank == 4;
    const vtac_expr *const *at = is_image ? image : line;
    return lane == NULL
               ? vtac_point_quantize(p->l, p->quantize, at)
               : vtac_quick_element(p->l, &p->quick, vtac_arg(p->l, p->quantize, VTAC_QDQ_X, at), lane);
}

static void put_fetched(const packer *p, const memory_row *r, const vtac_expr *x, const vtac_expr *lane)
{
    vtac_kernel *k = p->l->k;
    const vtac_expr *column = vtac_i_addc(k, x, -p->g.before[1]);
    const vtac_expr *value = p->quantize != NULL ? quantize_element(p, r, column, lane)
                                                 : vtac_e_load(k, p->from, vtac_i_add(k, r->from, column));
    vtac_store(k, p->fetched, vtac_i_add(k, r->to, x), flip_bytes(p, value));
}

static void pack_inside(const packer *p, const vtac_expr *x, const void *of)
{
    put_fetched(p, of, x, NULL);
}

typedef struct row_of {
    const packer *p;
    const memory_row *r;
} row_of;

static void inside_quickly(void *of, const vtac_expr *x, const vtac_expr *lane)
{
    const row_of *at = of;
    put_fetched(at->p, at->r, x, lane);
}

/* Row `i` of the fetched rows of channel c is row y of the image, or outside of it. */
static void fetch_row(const packer *p, const vtac_expr *c, const vtac_expr *i, const vtac_expr *y,
                      bool leaves)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const int64_t begin = clamp_place(g->before[1], 0, p->width);
    const int64_t end = clamp_place(g->before[1] + g->shape[3], begin, p->width);
    const int64_t lanes = p->quantize != NULL ? p->words : p->bytes;
    memory_row r = {.c = c, .y = vtac_let(k, "row", y)};
    r.from = vtac_let(k, "from", vtac_i_add(k, plane_at(p, c), vtac_i_mulc(k, r.y, g->shape[3])));
    const vtac_expr *to = vtac_i_add(k, vtac_i_mulc(k, c, p->fetched_rows), i);
    r.to = vtac_let(k, "to", vtac_i_mulc(k, to, p->width));
    if (leaves) {
        const vtac_expr *lower = vtac_e2(k, VTAC_E_LT, r.y, vtac_e_index(k, 0));
        const vtac_expr *upper = vtac_e2(k, VTAC_E_GE, r.y, vtac_e_index(k, g->shape[2]));
        const vtac_expr *outside = vtac_let(k, "outside", vtac_e2(k, VTAC_E_OR, lower, upper));
        vtac_if(k, outside);
        pack_along(p, 0, p->width, p->bytes, pack_border, &r);
        vtac_end(k);
        vtac_if(k, vtac_e1(k, VTAC_E_NOT, outside));
    }
    pack_along(p, 0, begin, p->bytes, pack_border, &r);
    if (p->quick.lanes > 0 && end - begin >= p->quick.lanes) {
        vtac_quick_along(p->l, &p->quick, begin, end, inside_quickly, &(row_of){p, &r});
    } else {
        pack_along(p, begin, end, lanes, pack_inside, &r);
    }
    pack_along(p, end, p->width, p->bytes, pack_border, &r);
    if (leaves) {
        vtac_end(k);
    }
}

static void fetch_line(const packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const int64_t reach = (g->stored[2] - 1) * g->stride[0] + (g->kernel[0] - 1) * g->dilation[0];
    const bool leaves = g->before[0] > 0 || reach - g->before[0] >= g->shape[2];
    const vtac_expr *c = vtac_for(k, VTAC_LOOP_SERIAL, g->shape[1], "c");
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, p->fetched_rows, "i");
    const vtac_expr *y =
        p->all_at_once ? i
                       : vtac_i_add(k, vtac_i_mulc(k, p->y, g->stride[0]), vtac_i_mulc(k, i, g->dilation[0]));
    fetch_row(p, c, i, vtac_i_addc(k, y, -g->before[0]), leaves);
    vtac_end(k);
    vtac_end(k);
}

/* ---- lined rows */

typedef struct pack_line {
    const vtac_expr *to, *from;
} pack_line;

static void copy_element(const packer *p, const vtac_expr *x, const void *of)
{
    const pack_line *r = of;
    vtac_kernel *k = p->l->k;
    const vtac_expr *from = vtac_i_add(k, r->from, vtac_i_mulc(k, x, p->g.stride[1]));
    vtac_store(k, p->lined, vtac_i_add(k, r->to, x), vtac_e_load(k, p->fetched, from));
}

static void fill_element(const packer *p, const vtac_expr *x, const void *of)
{
    vtac_kernel *k = p->l->k;
    vtac_store(k, p->lined, vtac_i_add(k, ((const pack_line *)of)->to, x), vtac_e_int(k, VTAC_I8, p->g.zero));
}

/* Fills the lanes that no tap uses. */
static void line_up_nothing(const packer *p)
{
    const pack_line rest = {.to = vtac_e_index(p->l->k, 0)};
    pack_along(p, p->taps * p->columns, vtac_device_lanes(&p->g) * p->columns, p->bytes, fill_element, &rest);
}

enum { EVEN = 8 }; /* copies are of so many bytes: what is too much is written again by the next one */

static int64_t even_columns(int64_t columns)
{
    return (columns + EVEN - 1) / EVEN * EVEN;
}

static void line_up(const packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const vtac_expr *q = vtac_for(k, VTAC_LOOP_SERIAL, p->taps, "q");
    const vtac_expr *place = vtac_let(k, "place", vtac_e_load(k, p->places, q));
    const vtac_expr *y = vtac_for(k, VTAC_LOOP_SERIAL, p->all_at_once ? g->stored[2] : 1, "y");
    const vtac_expr *to = vtac_i_add(k, vtac_i_mulc(k, q, p->columns), vtac_i_mulc(k, y, g->stored[3]));
    pack_line r = {.to = vtac_let(k, "to", to)};
    r.from = vtac_let(k, "from", vtac_i_add(k, place, vtac_i_mulc(k, y, g->stride[0] * p->width)));
    pack_along(p, 0, even_columns(g->stored[3]), p->bytes, copy_element, &r);
    vtac_end(k);
    vtac_end(k);
    line_up_nothing(p);
}

/* For each lane, where the fetched row that it holds begins, moved by its column of the window. */
static vta_status set_places(packer *p)
{
    const vtac_device_layout *g = &p->g;
    int64_t *places = vta_arena_array(&p->l->program->arena, (size_t)p->taps, sizeof *places);
    if (places == NULL) {
        return vta_no_memory(p->l->diag);
    }
    for (int64_t q = 0; q < p->taps; q++) {
        const int64_t tap = q / g->shape[1];
        const int64_t down = tap / g->kernel[1] * (p->all_at_once ? g->dilation[0] : 1);
        places[q] =
            (q % g->shape[1] * p->fetched_rows + down) * p->width + tap % g->kernel[1] * g->dilation[1];
    }
    const vtac_storage_id id = vtac_constant(p->l, places, (uint64_t)p->taps * sizeof *places);
    p->places = vtac_use(p->l, id, "places", VTAC_I64, p->taps);
    const int64_t fetched = g->shape[1] * p->fetched_rows * p->width;
    const int64_t lined = vtac_device_lanes(g) * p->columns;
    p->fetched =
        vtac_kernel_buffer(p->l->k, "fetched", VTAC_I8, fetched + EVEN * g->stride[1], VTAC_BUFFER_SCRATCH);
    p->lined =
        p->directly ? NULL : vtac_kernel_buffer(p->l->k, "lined", VTAC_I8, lined + EVEN, VTAC_BUFFER_SCRATCH);
    return VTA_OK;
}

/* ---- into the device's memory */

/* The places from column `x` on, as many as the vector holds: `lane` counts their bytes. */
static void put_places(const packer *p, const vtac_expr *to, const vtac_expr *x, int64_t count)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const vtac_expr *e = vtac_for(k, VTAC_LOOP_VECTOR, count * g->lanes, "lane");
    const vtac_expr *lane = count > 1 ? vtac_i_remc(k, e, g->lanes) : e;
    const vtac_expr *column = count > 1 ? vtac_i_add(k, x, vtac_i_divc(k, e, g->lanes)) : x;
    const vtac_expr *q = vtac_i_mulc(k, p->block, g->lanes);
    const vtac_expr *value;
    if (p->lined != NULL) {
        const vtac_expr *from = vtac_i_mulc(k, q, p->columns);
        from = vtac_i_add(k, vtac_i_add(k, from, vtac_i_mulc(k, lane, p->columns)), column);
        value = vtac_e_load(k, p->lined, from);
    } else {
        const vtac_expr *from = vtac_i_add(k, plane_at(p, q), vtac_i_mulc(k, p->y, g->shape[3]));
        from = vtac_i_add(k, vtac_i_add(k, from, vtac_i_mulc(k, lane, g->planes[1])), column);
        value = flip_bytes(p, vtac_e_load(k, p->from, from));
    }
    const vtac_expr *at =
        g->rows == 1 ? e
                     : vtac_i_add(k, vtac_i_mulc(k, vtac_i_divc(k, e, g->lanes), g->rows * g->lanes), lane);
    at = count > 1 ? at : lane;
    at = vtac_i_add(k, vtac_i_mulc(k, x, g->rows * g->lanes), at);
    vtac_store(k, p->to, vtac_i_add(k, to, at), value);
    vtac_end(k);
}

/* Blocks of lanes, of which all or only those below the channel count hold something. */
static void put_row(packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    p->block = vtac_for(k, VTAC_LOOP_SERIAL, vtac_device_lanes(g) / g->lanes, "block");
    const vtac_expr *to =
        vtac_let(k, "to", vtac_device_row(p->l, g, p->n, vtac_i_mulc(k, p->block, g->lanes), p->y));
    const int64_t rounds = p->columns / p->words;
    const int64_t rest = p->columns % p->words;
    if (rounds > 0) {
        const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, rounds, "x");
        put_places(p, to, vtac_i_mulc(k, x, p->words), p->words);
        vtac_end(k);
    }
    if (rest > 0) {
        put_places(p, to, vtac_e_index(k, rounds * p->words), rest);
    }
    vtac_end(k);
}

/* Fills the blocks that have lanes without a tap. */
static void fill_blocks(const packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const int64_t full = p->taps / g->lanes;
    const vtac_expr *block = vtac_for(k, VTAC_LOOP_SERIAL, vtac_device_lanes(g) / g->lanes - full, "block");
    const vtac_expr *q = vtac_i_mulc(k, vtac_i_addc(k, block, full), g->lanes);
    const vtac_expr *to = vtac_let(k, "to", vtac_device_row(p->l, g, p->n, q, p->y));
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, p->columns * g->lanes, "i");
    vtac_store(k, p->to, vtac_i_add(k, to, i), vtac_e_int(k, VTAC_I8, g->zero));
    vtac_end(k);
    vtac_end(k);
}

/* Lane after lane, from the fetched rows or from the tensor. */
static void put_lanes(const packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    if (p->taps < vtac_device_lanes(g)) {
        fill_blocks(p);
    }
    const vtac_expr *q = vtac_for(k, VTAC_LOOP_SERIAL, p->taps, "q");
    const vtac_expr *begin;
    if (p->places != NULL) {
        begin = vtac_e_load(k, p->places, q);
    } else {
        begin = vtac_i_add(k, plane_at(p, q), vtac_i_mulc(k, p->y, g->shape[3]));
    }
    begin = vtac_let(k, "begin", begin);
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, p->all_at_once ? g->stored[2] : 1, "y");
    const vtac_expr *y = p->all_at_once ? i : p->y;
    const vtac_expr *to = vtac_let(k, "to", vtac_device_row(p->l, g, p->n, q, y));
    const int64_t line = p->places != NULL ? g->stride[0] * p->width : g->shape[3];
    const vtac_expr *from = vtac_let(k, "from", vtac_i_add(k, begin, vtac_i_mulc(k, i, line)));
    const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, g->stored[3], "x");
    const vtac_expr *place = vtac_i_add(k, from, vtac_i_mulc(k, x, p->places != NULL ? g->stride[1] : 1));
    const vtac_expr *value =
        p->places != NULL ? vtac_e_load(k, p->fetched, place) : flip_bytes(p, vtac_e_load(k, p->from, place));
    vtac_store(k, p->to, vtac_i_add(k, to, vtac_i_mulc(k, x, g->lanes)), value);
    vtac_end(k);
    vtac_end(k);
    vtac_end(k);
}

/* ---- pixels whose channels follow one another */

/* Lanes begin … end-1 of a block, at all pixels of a row. */
static void put_channels(const packer *p, const vtac_expr *block, int64_t begin, int64_t end, bool fills)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    if (begin == end) {
        return;
    }
    const vtac_expr *first = vtac_i_mulc(k, block, g->lanes);
    const vtac_expr *to = vtac_let(k, "to", vtac_device_row(p->l, g, p->n, first, p->y));
    const vtac_expr *line = vtac_i_mulc(k, p->y, g->shape[3] * g->planes[2]);
    const vtac_expr *image = vtac_i_add(k, vtac_i_mulc(k, p->n, g->planes[0]), first);
    const vtac_expr *from = vtac_let(k, "from", vtac_i_add(k, image, line));
    const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, p->columns, "x");
    const vtac_expr *i =
        vtac_for(k, end - begin > 1 ? VTAC_LOOP_VECTOR : VTAC_LOOP_UNROLL, end - begin, "lane");
    const vtac_expr *lane = vtac_i_addc(k, i, begin);
    const vtac_expr *place = vtac_i_add(k, vtac_i_add(k, from, vtac_i_mulc(k, x, g->planes[2])), lane);
    const vtac_expr *value =
        fills ? vtac_e_int(k, VTAC_I8, g->zero) : flip_bytes(p, vtac_e_load(k, p->from, place));
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, x, g->rows * g->lanes), lane);
    vtac_store(k, p->to, vtac_i_add(k, to, at), value);
    vtac_end(k);
    vtac_end(k);
}

static void put_pixels(const packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const int64_t full = g->shape[1] / g->lanes, rest = g->shape[1] % g->lanes;
    const int64_t blocks = vtac_device_lanes(g) / g->lanes, begun = full + (rest > 0);
    if (full > 0) {
        put_channels(p, vtac_for(k, VTAC_LOOP_SERIAL, full, "block"), 0, g->lanes, false);
        vtac_end(k);
    }
    if (rest > 0) {
        put_channels(p, vtac_e_index(k, full), 0, rest, false);
        put_channels(p, vtac_e_index(k, full), rest, g->lanes, true);
    }
    if (blocks > begun) {
        const vtac_expr *block = vtac_for(k, VTAC_LOOP_SERIAL, blocks - begun, "block");
        put_channels(p, vtac_i_addc(k, block, begun), 0, g->lanes, true);
        vtac_end(k);
    }
}

/* A row of an image that is not there: a tile is full though the batch is not. */
static void put_nothing(const packer *p)
{
    const vtac_device_layout *g = &p->g;
    vtac_kernel *k = p->l->k;
    const vtac_expr *block = vtac_for(k, VTAC_LOOP_SERIAL, vtac_device_lanes(g) / g->lanes, "block");
    const vtac_expr *to = vtac_device_row(p->l, g, p->n, vtac_i_mulc(k, block, g->lanes), p->y);
    const vtac_expr *x = vtac_for(k, VTAC_LOOP_SERIAL, p->columns, "x");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_SERIAL, g->lanes, "lane");
    const vtac_expr *at = vtac_i_add(k, vtac_i_mulc(k, x, g->rows * g->lanes), lane);
    vtac_store(k, p->to, vtac_i_add(k, to, at), vtac_e_int(k, VTAC_I8, g->zero));
    vtac_end(k);
    vtac_end(k);
    vtac_end(k);
}

static void pack_row(packer *p)
{
    if (p->g.planes[2] != 1) {
        put_pixels(p);
        return;
    }
    if (p->fetched != NULL) {
        fetch_line(p);
    }
    if (p->directly) {
        put_lanes(p);
        return;
    }
    if (p->places != NULL) {
        line_up(p);
    } else if (p->lined != NULL) {
        line_up_nothing(p);
    }
    put_row(p);
}

static void pack_rows(packer *p)
{
    vtac_kernel *k = p->l->k;
    const bool ragged = p->g.shape[0] % p->g.rows != 0;
    const vtac_expr *images = vtac_e_index(k, p->g.shape[0]);
    if (ragged) {
        vtac_if(k, vtac_e2(k, VTAC_E_LT, p->n, images));
    }
    pack_row(p);
    if (ragged) {
        vtac_end(k);
        vtac_if(k, vtac_e2(k, VTAC_E_GE, p->n, images));
        put_nothing(p);
        vtac_end(k);
    }
}

/* ---- the whole */

static bool is_window(const vtac_device_layout *g)
{
    return g->kernel[0] * g->kernel[1] * g->stride[0] * g->stride[1] > 1 || g->before[0] != 0 ||
           g->before[1] != 0 || g->stored[2] != g->shape[2] || g->stored[3] != g->shape[3];
}

/* Plans how the tensor of a node's input is read into scratch memory. */
static packer plan_packer(const vtac_program *program, const vtac_device_layout *g)
{
    const int64_t vector = program->level > 0 ? (int64_t)program->target->vector_bytes : 0;
    packer p = {.g = *g};
    p.words = clamp_place(vector / 4, 1, g->lanes > 1024 ? 1 : 1024 / g->lanes);
    p.bytes = vector > 0 ? vector : 1;
    p.taps = g->kernel[0] * g->kernel[1] * g->shape[1];
    p.width = (g->stored[3] - 1) * g->stride[1] + (g->kernel[1] - 1) * g->dilation[1] + 1;
    const int64_t high = (g->stored[2] - 1) * g->stride[0] + (g->kernel[0] - 1) * g->dilation[0] + 1;
    const int64_t bytes = vtac_device_lanes(g) * g->stored[2] * g->stored[3];
    p.all_at_once = g->kernel[0] > g->stride[0] && bytes + g->shape[1] * high * p.width <= MAX_SCRATCH;
    p.columns = p.all_at_once ? g->stored[2] * g->stored[3] : g->stored[3];
    p.fetched_rows = p.all_at_once ? high : g->kernel[0];
    return p;
}

bool vtac_device_quantizes(const vtac_program *program, const vtac_node *node)
{
    const vtac_graph *graph = program->graph;
    const vtac_node_id user =
        node->op == VTAC_OP_QUANTIZE_LINEAR ? vtac_only_user_of(graph, node->outputs[0]) : 0;
    vtac_device_layout g;
    if (user == 0 || graph->nodes[user].op != VTAC_OP_VTA_PACK || program->level == 0 ||
        vtac_layout_kind_of(program, node) != VTAC_KIND_PLAIN ||
        program->layouts[node->inputs[0]].block != 0 || !vtac_device_read(&graph->nodes[user], &g) ||
        vtac_find_attr(&graph->nodes[user], "planes") != NULL) {
        return false;
    }
    const vtac_type *type = &graph->values[node->outputs[0]].type;
    const bool same = type->rank == 4   ? type->dim[2] == g.shape[2] && type->dim[3] == g.shape[3]
                      : type->rank == 3 ? g.shape[2] == 1 && type->dim[2] == g.shape[3]
                                        : false;
    const packer p = plan_packer(program, &g);
    return same && type->dim[0] == g.shape[0] && type->dim[1] == g.shape[1] &&
           vtac_dtype_bits(type->dtype) == 8 && g.shape[3] >= p.words &&
           (p.all_at_once || 2 * g.kernel[0] <= 3 * g.stride[0]) &&
           g.shape[1] * p.fetched_rows * p.width <= MAX_SCRATCH;
}

vta_status vtac_lower_vta_pack(vtac_lower *l)
{
    vtac_device_layout g;
    if (!vtac_device_read(l->node, &g)) {
        return vtac_unsupported(l, "its attributes do not tell a layout");
    }
    const bool by_pixels = g.planes[2] != 1;
    if (by_pixels && (is_window(&g) || g.planes[1] != 1)) {
        return vtac_unsupported(l, "its attributes tell windows of channels that lie side by side");
    }
    const vtac_value *value = &l->graph->values[l->node->inputs[0]];
    const vtac_node *before = value->constant == NULL ? &l->graph->nodes[value->node] : NULL;
    g.flip = value->type.dtype == VTAC_U8;
    const bool quantizes = before != NULL && !l->program->done[value->node] &&
                           vtac_device_quantizes(l->program, before); /* done: by what comes before it */
    const int64_t plane = g.shape[2] * g.shape[3];
    if (!quantizes && !is_window(&g) &&
        vtac_parallel_if(g.stored[0] * g.rows * plane * vtac_device_lanes(&g)) != VTAC_LOOP_PARALLEL) {
        g.shape[2] = g.stored[2] = 1; /* the rows of a plane are one */
        g.shape[3] = g.stored[3] = plane;
    }
    packer p = plan_packer(l->program, &g);
    p.l = l;
    p.quantize = quantizes ? before : NULL;
    p.directly = l->program->target->is_scalar && g.rows == 1 && (is_window(&g) || !quantizes);
    VTA_TRY(vtac_device_place(l, 0, vtac_attr_int(l->node, "offset", 0)));
    VTA_TRY(vtac_begin(l, p.quantize != NULL ? "+QuantizeLinear" : ""));
    p.from = p.quantize == NULL ? vtac_in(l, 0) : NULL;
    p.to = vtac_out(l, 0);
    if (is_window(&g)) {
        VTA_TRY(set_places(&p));
    } else if (!by_pixels && !p.directly && (p.quantize != NULL || p.taps % g.lanes != 0)) {
        p.lined = vtac_kernel_buffer(l->k, "lined", VTAC_I8, vtac_device_lanes(&g) * p.columns,
                                     VTAC_BUFFER_SCRATCH);
        p.fetched = p.lined;
    }
    if (quantizes) {
        p.quick = vtac_quick_of(l, before, g.shape[3]);
        vtac_quick_begin(l, &p.quick);
    }
    const int64_t rows = p.all_at_once ? 1 : g.stored[2];
    const int64_t count = g.stored[0] * g.rows * rows;
    const vtac_expr *i =
        vtac_for(l->k, vtac_parallel_if(count * p.columns * vtac_device_lanes(&g)), count, "i");
    p.n = vtac_let(l->k, "n", vtac_i_divc(l->k, i, rows));
    p.y = vtac_let(l->k, "y", vtac_i_remc(l->k, i, rows));
    pack_rows(&p);
    vtac_end(l->k);
    return VTA_OK;
}
