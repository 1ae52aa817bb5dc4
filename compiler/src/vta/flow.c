/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline of a group. The array runs its calls in program order. So does the ALU, each call when its
 * sums are there; a call that writes OUT progresses only in cycles in which the array writes nothing.
 */
#include "flow.h"

#include <math.h>

#include "sched.h"
#include "vta/number.h"

enum {
    LINES = 2,
    JOBS = FLOW_MEMBERS * FLOW_SLOTS, /* the longest queue of the ALU: each job has a slot of sums */
    TILES = 6,                        /* tiles that are simulated; the others take as long as these */
    ITEMS = 4,                        /* items, or pieces, of each tile that are simulated */
    MORE_ITEMS = 8,                   /* the same where there are few tiles */
    ARRAY_CALL = 16, /* measured cost of a call besides its work, most of it waiting for another unit */
    ALU_CALL = 8,
    ANSWER = 12, /* from the end of one unit's work to the start of another unit's work on the result */
    NOTICE = 16, /* the same through memory, beyond its latency */
};

#define TO_COME (-1.0) /* the job is still in the ALU's queue */

typedef struct flow_job {
    double ready, left;
    double *made, *over; /* the times when the job is done, and when the slot of its sums is free */
    bool out;            /* writes OUT, and is stored */
} flow_job;

typedef struct pipeline {
    const flow *f;
    int64_t items, all, pieces;       /* simulated: items of a tile, all items, pieces of a tile */
    double share;                     /* the fraction of a tile's work that is simulated */
    double load, store;               /* bus cycles: of a tile; of what is stored at a time */
    double array, alu, loads, stores; /* the times until which each unit is busy */
    double writes;                    /* entries of ACC a cycle, by the array's current call */
    flow_job jobs[JOBS];
    uint32_t first, count;
    double sums[FLOW_MEMBERS][FLOW_SLOTS]; /* the times when slots of sums are free */
    double made[FLOW_MEMBERS][LINES];      /* the times when the outputs of members are there */
    double freed[FLOW_SLOTS], done[LINES]; /* the same of tile inputs, of item loads */
    double there;                          /* the time when the item's loads are there */
    int64_t behind, piece, streamed; /* items before the streamed tile ends; its done pieces; all pieces */
} pipeline;

static void finish_job(pipeline *p)
{
    const flow_job *j = &p->jobs[p->first];
    *j->made = *j->over = p->alu + ANSWER;
    if (j->out) {
        p->stores = fmax(p->stores, p->alu + ANSWER) + p->store;
        *j->over = p->stores + p->f->latency + NOTICE;
    }
    p->first = (p->first + 1) % JOBS;
    p->count--;
}

/* Runs the ALU until the time `end`. */
static void run_alu(pipeline *p, double end)
{
    while (p->count > 0) {
        flow_job *j = &p->jobs[p->first];
        const double rate = j->out ? 1 - p->writes : 1;
        p->alu = fmax(p->alu, j->ready);
        if (p->alu >= end) {
            return;
        }
        if (j->left > rate * (end - p->alu)) {
            j->left -= rate * (end - p->alu);
            p->alu = end;
            return;
        }
        p->alu += j->left / rate;
        finish_job(p);
    }
}

/* The array waits for *what: runs the ALU until *what is known. */
static double wait_until_known(pipeline *p, const double *what)
{
    while (*what == TO_COME && p->count > 0) {
        const flow_job *j = &p->jobs[p->first];
        p->alu = fmax(p->alu, j->ready) + j->left;
        finish_job(p);
    }
    return *what;
}

static void call_array(pipeline *p, double ready, double cycles, double writes)
{
    const double start = fmax(p->array, ready);
    p->writes = 0;
    run_alu(p, start);
    p->writes = writes;
    p->array = start + cycles;
    run_alu(p, p->array);
}

static void queue_job(pipeline *p, double cycles, double *made, double *over, bool out)
{
    *made = *over = TO_COME;
    p->jobs[(p->first + p->count++) % JOBS] = (flow_job){p->array + ANSWER, cycles, made, over, out};
}

/* Member m's work on an item or a piece; the ALU gets one job for `each` of them. */
static void run_item(pipeline *p, uint32_t m, int64_t number, int64_t each, const flow_member *cost,
                     double ready)
{
    double *over = &p->sums[m][number / each % cost->slots];
    const double free = number % each == 0 ? wait_until_known(p, over) : 0;
    call_array(p, fmax(ready, free), cost->array + (double)cost->calls * ARRAY_CALL, cost->writes);
    if ((number + 1) % each == 0) {
        queue_job(p, cost->alu + (double)(cost->calls * cost->passes) * ALU_CALL, &p->made[m][number % LINES],
                  over, m + 1 == p->f->count);
    }
}

/* Emits the streamed pieces that belong beside the part `done` of the next tile's work. */
static void run_pieces(pipeline *p, double done)
{
    const flow *f = p->f;
    const uint32_t m = f->count - 1;
    flow_member cost = f->members[m];
    cost.array *= p->share / (double)p->pieces;
    cost.alu *= p->share / (double)p->pieces;
    while (p->behind > 0 && (double)p->piece < done * (double)p->pieces) {
        const double ready =
            p->piece++ == 0 ? wait_until_known(p, &p->made[m - 1][(p->behind - 1) % LINES]) : 0;
        run_item(p, m, p->streamed++, 1, &cost, ready);
    }
}

/* Loads for an item, when there is room. The first item of a tile also loads the tile's input, block by block
 * where nothing could be loaded earlier. */
static void load_item(pipeline *p, int64_t number)
{
    const flow *f = p->f;
    double there = p->loads = fmax(p->loads, p->done[number % LINES]) + f->load_of_item;
    if (number % p->items == 0) {
        const double begin = fmax(p->loads, p->freed[number / p->items % f->inputs]);
        const double one = 1 / (double)f->parts;
        there = p->loads = begin + p->load;
        if (number == 0 || f->streams) {
            there = fmax(begin + p->load * one, there - f->members[0].array * (1 - one));
        }
    }
    p->there = there + f->latency + NOTICE;
}

/* Step `at` of the pipeline: each member works one item behind the member before it. */
static void run_step(pipeline *p, int64_t at)
{
    const flow *f = p->f;
    const int64_t count = f->count - f->streams, over = at + 2 - count;
    for (int64_t m = 0; m < count; m++) {
        const int64_t number = at - m;
        const flow_member *own = &f->members[m];
        if (number < 0 || number >= p->all) {
            continue;
        }
        if (m == 0) {
            load_item(p, number);
        }
        flow_member cost = *own;
        cost.alu *= own->gathers ? p->share : 1;
        run_item(p, (uint32_t)m, number, own->gathers ? p->items : 1, &cost,
                 m == 0 ? p->there : wait_until_known(p, &p->made[m - 1][number % LINES]));
        if (m == 0) {
            p->freed[number / p->items % f->inputs] = p->done[number % LINES] = p->array;
        }
    }
    if (f->streams && over > 0) {
        run_pieces(p, (double)((over - 1) % p->items + 1) / (double)p->items);
        p->behind = over % p->items == 0 ? over : p->behind;
        p->piece = over % p->items == 0 ? 0 : p->piece;
    }
}

double vtac_vta_flow_cycles(const flow *f)
{
    const int64_t tiles = vta_min(f->tiles, TILES), items = vta_min(f->items, tiles > 2 ? ITEMS : MORE_ITEMS);
    const int64_t all = tiles * items, middle = tiles > 2 ? tiles / 2 * items : all / 2,
                  last = tiles > 2 ? all - items : all - 1;
    pipeline p = {.f = f, .items = items, .all = all, .pieces = vta_min(f->pieces, ITEMS)};
    const bool gathers = f->members[f->count - 1].gathers;
    p.share = tiles > 1 ? (double)items / (double)f->items : 1;
    p.load = f->load * p.share;
    p.store = f->store * p.share / (double)(f->streams ? p.pieces : gathers ? 1 : items);
    double begun[2] = {0, 0};
    for (int64_t at = 0; at < all + f->count - 1 - f->streams; at++) {
        begun[0] = at == middle ? p.array : begun[0];
        begun[1] = at == last ? p.array : begun[1];
        run_step(&p, at);
    }
    run_pieces(&p, 1);
    while (p.count > 0) {
        (void)wait_until_known(&p, p.jobs[p.first].over);
    }
    const double each = last > middle ? (begun[1] - begun[0]) / (double)(last - middle) : 0;
    return fmax(fmax(p.array, p.alu), p.stores) + each * (double)(f->tiles * f->items - all);
}
