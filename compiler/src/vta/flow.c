/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipeline of a group. The array's calls come in the order of the program. The ALU's come in theirs, each
 * when its sums are there; and what goes into OUT only in cycles in which the array writes nothing.
 */
#include "flow.h"

#include "sched.h"
#include "vta/number.h"

enum {
    LINES = 2,
    JOBS = FLOW_MEMBERS * FLOW_SLOTS, /* that the ALU has before it: each has a slot of sums */
    TILES = 6,                        /* that are worked out; others take as long, */
    ITEMS = 4,                        /* and of each so many items, or pieces; */
    MORE_ITEMS = 8,                   /* where there are few tiles */
    ARRAY_CALL = 16, /* besides its work, what a call takes, as measured: most wait for another unit, */
    ALU_CALL = 8,
    ANSWER = 12, /* from the end of one unit's work to the start of another's on it, */
    NOTICE = 16, /* and where the memory is between them, beyond its latency */
};

#define TO_COME (-1.0) /* the ALU has it to do */

typedef struct flow_job {
    double ready, left;
    double *made, *over; /* when it is done, and when its sums' slot is free again */
    bool out;            /* it goes into OUT, and is stored */
} flow_job;

typedef struct pipeline {
    const flow *f;
    int64_t items, all, pieces;       /* that are worked out: of a tile, of all */
    double share;                     /* of a tile's work */
    double load, store;               /* of a tile, and of what is stored at a time */
    double array, alu, loads, stores; /* until when each is busy */
    double writes;                    /* of the array's call that is under way */
    flow_job jobs[JOBS];
    uint32_t first, count;
    double sums[FLOW_MEMBERS][FLOW_SLOTS]; /* when a slot is free, */
    double made[FLOW_MEMBERS][LINES];      /* and what a member has made is there */
    double freed[FLOW_SLOTS], done[LINES]; /* slots of tiles' inputs, and of what is loaded for items, */
    double there;                          /* and when it is there */
    int64_t behind, piece,
        streamed; /* items before the end of the tile that streams; its pieces; all pieces */
} pipeline;

static double until(double a, double b)
{
    return a > b ? a : b;
}

static void finish(pipeline *p)
{
    const flow_job *j = &p->jobs[p->first];
    *j->made = *j->over = p->alu + ANSWER;
    if (j->out) {
        p->stores = until(p->stores, p->alu + ANSWER) + p->store;
        *j->over = p->stores + p->f->latency + NOTICE;
    }
    p->first = (p->first + 1) % JOBS;
    p->count--;
}

/* What the ALU does before a time. */
static void go_on(pipeline *p, double end)
{
    while (p->count > 0) {
        flow_job *j = &p->jobs[p->first];
        const double rate = j->out ? 1 - p->writes : 1;
        p->alu = until(p->alu, j->ready);
        if (p->alu >= end) {
            return;
        }
        if (j->left > rate * (end - p->alu)) {
            j->left -= rate * (end - p->alu);
            p->alu = end;
            return;
        }
        p->alu += j->left / rate;
        finish(p);
    }
}

/* The array waits: the ALU goes on until that is known. */
static double wait_for(pipeline *p, const double *what)
{
    while (*what == TO_COME && p->count > 0) {
        const flow_job *j = &p->jobs[p->first];
        p->alu = until(p->alu, j->ready) + j->left;
        finish(p);
    }
    return *what;
}

static void call_array(pipeline *p, double ready, double cycles, double writes)
{
    const double start = until(p->array, ready);
    p->writes = 0;
    go_on(p, start);
    p->writes = writes;
    p->array = start + cycles;
    go_on(p, p->array);
}

static void leave_to_alu(pipeline *p, double cycles, double *made, double *over, bool out)
{
    *made = *over = TO_COME;
    p->jobs[(p->first + p->count++) % JOBS] = (flow_job){p->array + ANSWER, cycles, made, over, out};
}

/* Member m's work on an item, or a piece; `each` of them are one for the ALU. */
static void work_on(pipeline *p, uint32_t m, int64_t number, int64_t each, const flow_member *cost,
                    double ready)
{
    double *over = &p->sums[m][number / each % cost->slots];
    const double free = number % each == 0 ? wait_for(p, over) : 0;
    call_array(p, until(ready, free), cost->array + (double)cost->calls * ARRAY_CALL, cost->writes);
    if ((number + 1) % each == 0) {
        leave_to_alu(p, cost->alu + (double)(cost->calls * cost->passes) * ALU_CALL,
                     &p->made[m][number % LINES], over, m + 1 == p->f->count);
    }
}

/* The pieces of the tile whose input is all there, as many as belong beside so much of the next one. */
static void keep_up(pipeline *p, double done)
{
    const flow *f = p->f;
    const uint32_t m = f->count - 1;
    flow_member cost = f->members[m];
    cost.array *= p->share / (double)p->pieces;
    cost.alu *= p->share / (double)p->pieces;
    while (p->behind > 0 && (double)p->piece < done * (double)p->pieces) {
        const double ready = p->piece++ == 0 ? wait_for(p, &p->made[m - 1][(p->behind - 1) % LINES]) : 0;
        work_on(p, m, p->streamed++, 1, &cost, ready);
    }
}

/* What is loaded for an item, when there is room for it; the first of a tile takes the tile's input, too,
 * block by block where nothing could be loaded before. */
static void load_item(pipeline *p, int64_t number)
{
    const flow *f = p->f;
    double there = p->loads = until(p->loads, p->done[number % LINES]) + f->load_of_item;
    if (number % p->items == 0) {
        const double begin = until(p->loads, p->freed[number / p->items % f->inputs]);
        const double one = 1 / (double)f->parts;
        there = p->loads = begin + p->load;
        if (number == 0 || f->streams) {
            there = until(begin + p->load * one, there - f->members[0].array * (1 - one));
        }
    }
    p->there = there + f->latency + NOTICE;
}

/* Each member is an item behind the one before it. */
static void go_through(pipeline *p, int64_t at)
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
        work_on(p, (uint32_t)m, number, own->gathers ? p->items : 1, &cost,
                m == 0 ? p->there : wait_for(p, &p->made[m - 1][number % LINES]));
        if (m == 0) {
            p->freed[number / p->items % f->inputs] = p->done[number % LINES] = p->array;
        }
    }
    if (f->streams && over > 0) {
        keep_up(p, (double)((over - 1) % p->items + 1) / (double)p->items);
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
        go_through(&p, at);
    }
    keep_up(&p, 1);
    while (p.count > 0) {
        (void)wait_for(&p, p.jobs[p.first].over);
    }
    const double each = last > middle ? (begun[1] - begun[0]) / (double)(last - middle) : 0;
    return until(until(p.array, p.alu), p.stores) + each * (double)(f->tiles * f->items - all);
}
