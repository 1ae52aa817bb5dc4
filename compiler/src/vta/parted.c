/* SPDX-License-Identifier: Apache-2.0
 *
 * Maximum pools with windows of two or three and stride two, first across columns and then down rows.
 *
 * The ALU reads two entries a cycle if they lie in different quarters of ACC, and writes the larger one over
 * the first: a maximum in place costs one cycle, a copy wastes one. Each window has an *own* row and column
 * that no other window covers: the middle ones, or the first ones of windows of two. So sums are *parted* by
 * kind:
 *
 *   own rows, own columns        the first quarter; in the end, the pool's outputs
 *
 *   all rows, other columns      the second quarter
 *
 *   other rows, own columns      the third quarter
 *
 * The first and the third quarter take the maxima with the second, then the first with the third. A window of
 * nine costs six cycles, since windows share the row between them. With kept rows that row is made only once,
 * too: the tile below reads it where this tile left it.
 */
#include "emit.h"

/* Along one dimension, a tile's own lines and its other ones; each kind has stride two. */
typedef struct kinds_of_lines {
    interval own, others;
} kinds_of_lines;

typedef struct parted_sums {
    int64_t at, rows, cols; /* of a group of blocks */
} parted_sums;

static kinds_of_lines lines_of(const conv *c, int d, interval made, interval out)
{
    const interval own = {vtac_vta_conv_own_first(c, d, out.at), out.count};
    return (kinds_of_lines){own, {made.at + (made.at == own.at), made.count - out.count}};
}

static kinds_of_lines rows_of(const emitter *e, const piece *p)
{
    return lines_of(e->c, 0, (interval){p->tile.y, p->tile.rows}, (interval){p->out.y, p->out.rows});
}

static kinds_of_lines cols_of(const emitter *e, const piece *p)
{
    return lines_of(e->c, 1, (interval){p->tile.x, p->tile.cols}, (interval){p->out.x, p->out.cols});
}

/* The number of groups of `ro` blocks before the one of block n of piece `number`. */
static int64_t block_group_of(const emitter *e, int64_t number, int64_t n)
{
    return (number * e->t->group + n) / e->c->ro;
}

static parted_sums own_sums(const emitter *e, const piece *p, int64_t n)
{
    const tiling *t = e->t;
    const int64_t slot = e->sums + block_group_of(e, e->pieces, n) % t->acc_slots * t->acc_size;
    return (parted_sums){slot + n % e->c->ro, p->out.rows, p->out.cols};
}

static parted_sums column_sums(const emitter *e, const piece *p, int64_t n)
{
    const int64_t quarter = e->c->machine->acc / 4;
    return (parted_sums){own_sums(e, p, n).at + quarter, p->tile.rows, cols_of(e, p).others.count};
}

/* The sums of the third quarter, of piece `number` with `rows` such rows. */
static parted_sums row_sums(const emitter *e, int64_t number, int64_t rows, int64_t cols, int64_t n)
{
    const tiling *t = e->t;
    const int64_t slot = t->other_first + block_group_of(e, number, n) % t->other_slots * t->other_size;
    return (parted_sums){slot + n % e->c->ro, rows, cols};
}

/* The array and the ALU start instructions in program order, so the epilogue of the blocks before is spread
 * over the three calls. */
void vtac_vta_emit_parted(emitter *e, const piece *p, const reduction *t, int64_t n)
{
    const kinds_of_lines rows = rows_of(e, p), cols = cols_of(e, p);
    const int64_t own = cols.own.at - p->tile.x;
    const pixel_grid parts[] = {
        {.to = column_sums(e, p, n).at,
         .x = cols.others.at - p->tile.x,
         .rows = p->tile.rows,
         .cols = cols.others.count,
         .down = 1,
         .across = 2},
        {.to = own_sums(e, p, n).at,
         .y = rows.own.at - p->tile.y,
         .x = own,
         .rows = rows.own.count,
         .cols = cols.own.count,
         .down = 2,
         .across = 2},
        {.to = row_sums(e, e->pieces, rows.others.count, p->out.cols, n).at,
         .y = rows.others.at - p->tile.y,
         .x = own,
         .rows = rows.others.count,
         .cols = cols.own.count,
         .down = 2,
         .across = 2},
    };
    uint8_t left = 0;
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        left = (uint8_t)(left + (parts[k].rows > 0 && parts[k].cols > 0));
    }
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        if (parts[k].rows > 0 && parts[k].cols > 0) {
            e->list->shares = left--;
            vtac_vta_emit_grid(e, p, t, n, &parts[k]);
        }
    }
    e->list->shares = 0;
}

/* Entries that become the maximum with others: `rows` x `cols` from a row and a column of either sums on;
 * rows of `from` are `step` apart. */
typedef struct maxima {
    const parted_sums *to, *from;
    int64_t to_row, to_col, from_row, from_col, rows, cols, step;
} maxima;

static void emit_maxima(emitter *e, const maxima *m)
{
    const int64_t ro = e->c->ro;
    const int64_t to = m->to->at + (m->to_row * m->to->cols + m->to_col) * ro,
                  from = m->from->at + (m->from_row * m->from->cols + m->from_col) * ro;
    if (m->rows <= 0 || m->cols <= 0) {
        return;
    }
    for (int64_t r = 0; r < ro; r++) {
        e->uops[r] = (vta_uop){.dst = (uint32_t)(to + r), .src = (uint32_t)(from + r)};
    }
    vtac_vta_list_alu(e->list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(e->list, e->uops, (uint32_t)ro),
                                 .op = VTA_ALU_MAX,
                                 .iter_out = m->rows,
                                 .iter_in = m->cols,
                                 .dst_out = m->rows > 1 ? m->to->cols * ro : 0,
                                 .src_out = m->rows > 1 ? m->step * m->from->cols * ro : 0,
                                 .dst_in = m->cols > 1 ? ro : 0,
                                 .src_in = m->cols > 1 ? ro : 0},
                      (list_range){m->to->at, m->to->rows * m->to->cols * ro},
                      (list_range){m->from->at, m->from->rows * m->from->cols * ro});
}

/* The outputs whose own line has a line at distance `beside` inside the image. */
static interval with_neighbour(const conv *c, int d, interval out, int64_t beside)
{
    const int64_t end = out.at + out.count;
    const bool before = vtac_vta_conv_own_first(c, d, out.at) + beside < 0,
               behind = vtac_vta_conv_own_first(c, d, end - 1) + beside >= c->made[d];
    return (interval){out.at + before, out.count - before - behind};
}

/* Takes the maxima with the columns on one side of the own columns. */
static void max_across(emitter *e, const piece *p, int64_t n, int64_t beside)
{
    const conv *c = e->c;
    const kinds_of_lines rows = rows_of(e, p), cols = cols_of(e, p);
    const parted_sums alone = own_sums(e, p, n), from = column_sums(e, p, n),
                      between = row_sums(e, e->pieces, rows.others.count, p->out.cols, n);
    const interval out = with_neighbour(c, 1, (interval){p->out.x, p->out.cols}, beside);
    const int64_t to_col = out.at - p->out.x,
                  from_col = (vtac_vta_conv_own_first(c, 1, out.at) + beside - cols.others.at) / 2;
    emit_maxima(e, &(maxima){.to = &alone,
                             .from = &from,
                             .to_col = to_col,
                             .from_row = rows.own.at - p->tile.y,
                             .from_col = from_col,
                             .rows = rows.own.count,
                             .cols = out.count,
                             .step = 2});
    emit_maxima(e, &(maxima){.to = &between,
                             .from = &from,
                             .to_col = to_col,
                             .from_row = rows.others.at - p->tile.y,
                             .from_col = from_col,
                             .rows = rows.others.count,
                             .cols = out.count,
                             .step = 2});
}

/* Takes the maxima with the rows on one side of the own rows. */
static void max_down(emitter *e, const piece *p, int64_t n, int64_t beside)
{
    const conv *c = e->c;
    const kinds_of_lines rows = rows_of(e, p);
    const parted_sums alone = own_sums(e, p, n),
                      between = row_sums(e, e->pieces, rows.others.count, p->out.cols, n);
    interval out = with_neighbour(c, 0, (interval){p->out.y, p->out.rows}, beside);
    if (beside < 0 && e->t->kept > 0 && p->out.y > 0) { /* the last row of the tile above */
        const patch above = vtac_vta_tiling_tile(c, e->t, p->tile_index - 1);
        const interval made = vtac_vta_tiling_rows(c, e->t, above.y, above.rows);
        const int64_t count = made.count - above.rows;
        const parted_sums left = row_sums(e, e->pieces - 1, count, p->out.cols, n);
        emit_maxima(
            e, &(maxima){.to = &alone, .from = &left, .from_row = count - 1, .rows = 1, .cols = p->out.cols});
        out = (interval){out.at + 1, out.count - 1};
    }
    emit_maxima(e,
                &(maxima){.to = &alone,
                          .from = &between,
                          .to_row = out.at - p->out.y,
                          .from_row = (vtac_vta_conv_own_first(c, 0, out.at) + beside - rows.others.at) / 2,
                          .rows = out.count,
                          .cols = p->out.cols,
                          .step = 1});
}

int64_t vtac_vta_emit_parted_maxima(emitter *e, const piece *p, int64_t n)
{
    const int64_t *kernel = e->c->pool->window.kernel;
    for (int64_t beside = kernel[1] == 3 ? -1 : 1; beside <= 1; beside += 2) {
        max_across(e, p, n, beside);
    }
    for (int64_t beside = kernel[0] == 3 ? -1 : 1; beside <= 1; beside += 2) {
        max_down(e, p, n, beside);
    }
    return own_sums(e, p, n).at;
}
