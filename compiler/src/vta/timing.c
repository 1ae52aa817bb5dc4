/* SPDX-License-Identifier: Apache-2.0
 *
 * The timing model. All times are cycles from the start of the run. For each scratchpad it keeps, for
 * granules of entries, when they were last written and read; for DRAM, when pages of the smallest element's
 * size were last stored: as the runtime does, which orders transfers by them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "marks.h"
#include "timing.h"

/* The machine's constants, in cycles: measured on the RTL, the same for every configuration. */
enum {
    FETCH = 2,        /* an instruction */
    START = 4,        /* until the first instructions are asked for */
    DECODE = 4,       /* from there until it may begin */
    FETCH_LEAD = 3,   /* beyond the memory's latency, from the program's address to its first beat, */
    LOAD_LEAD = 6,    /* from a LOAD's start to its first beat, */
    COMPUTE_LEAD = 7, /* also where the compute unit loads */
    LOAD_GAP = 2,     /* from LOAD to LOAD */
    ROW_GAP = 1,      /* a burst */
    WRITE = 72,       /* from a STORE's last beat until it is over, less the memory's latency */
    STORE_GAP = 6,
    TOKEN = 2,
    ARRAY_DRAIN = 11, /* from the last step to the end */
    ALU_DRAIN = 9,
    ALU_START = 1,
    RECORD = 2,       /* steps that fetch parameters, */
    WIDE_RECORD = 3,  /* and with multipliers of 31 bits */
    PADS = 4,         /* entries of padding that hide behind the bus, for one that does not */
    PAD_QUARTERS = 5, /* quarters of a cycle that one costs where data wait for it, as measured */
    PIPE_QUEUE = 4,
    LOAD_QUEUE = 3,
    WRITES_IN_FLIGHT = 16, /* bursts: LOG_FLIGHT of vta_axi_write.v */
    UOP_LOAD = 64,         /* micro-ops that one LOAD brings at most */
    FIRST_UOP_LOAD = 32,
    WRITE_STAGE = 1, /* from the array's step to the ALU's that would write in the same cycle, */
    READ_STAGE = 6,  /* and that would read ACC in the same cycle: vta_gemm.v, vta_alu.v */
    GRANULES = 2048,
    TRANSFERS = 16,    /* LOADs whose data may still be put off, and */
    BURSTS_BACK = 128, /* the bursts that may be theirs */
    NEWEST = 4,        /* LOADs into INP, and REQUANTs, that may meet each other there */
    INSN_BYTES = 16,
    CHUNK_BYTES = 256, /* of the program, read at a time, */
    CHUNKS = 4,        /* and how many are held: vta_fetch.v */
    CHUNK_INSNS = CHUNK_BYTES / INSN_BYTES,
    AHEAD = 2, /* queues' worth of instructions are read before their turn: the busiest unit's is full then */
    CHUNKS_AHEAD = 128, /* at most */
    REQUANT_KERNELS = 4096,
};

typedef struct track {
    marks wrote, read; /* the last write's and read's end */
    int log_size;      /* entries of a granule, as a power of two */
} track;

/* An instruction of the array beside the ALU: it goes through `count` entries of ACC from `first` on, and in
 * turn through those that lie `spread` behind them. */
typedef struct array_span {
    cycles begin, end;
    int64_t first, count, spread;
    double writes, reads; /* of ACC, a cycle */
    bool apart;           /* and not in the same cycles */
} array_span;

/* What writes INP, and when; of a LOAD also what of it. */
typedef struct inp_span {
    cycles from, to;
    granules where;
} inp_span;

/* What writes entries of ACC, and when; the share of cycles in which it does. */
typedef struct acc_span {
    cycles from, to;
    int64_t first, count;
    double writes;
    uint32_t transfer; /* of a LOAD */
} acc_span;

/* A LOAD: others that ask for the bus before it may still come up, and its data are later then. */
typedef struct transfer {
    uint32_t number;
    cycles bus_end, end; /* of its last burst, and when all is in the scratchpad */
    track *to;           /* NULL: ACC */
    granules where;
} transfer;

typedef struct window_of_times {
    cycles at[PIPE_QUEUE];
    uint32_t next;
} window_of_times;

typedef struct bursts_in_flight {
    cycles answered[WRITES_IN_FLIGHT];
    uint32_t next;
} bursts_in_flight;

typedef struct model {
    const machine *m;
    const step_list *list;
    track inp, wgt, out;                /* out: wrote: retired; read: the last store's number */
    marks array_acc, alu_acc, load_acc; /* ACC granules: ends by pipeline */
    marks alu_read;                     /* until the ALU has read them */
    marks alu_inp, array_inp;           /* INP granules: ends of what REQUANT wrote and the array read */
    marks page_store;                   /* pages of WORK: the last store's number */
    int64_t page_count;
    int log_page;           /* bytes of one */
    cycles *store_end;      /* of each store; number 0 is none. A newer one ends later. */
    uint32_t stores;        /* so far, */
    uint32_t stores_known;  /* how many the compute unit has waited for, */
    uint32_t stores_loaded; /* and the load unit, through it; */
    cycles *known_at;       /* a store: since when the compute unit could tell it */
    cycles fetch, bus_store;
    uint64_t loads_left; /* into INP and WGT, and the one at hand */
    double yielded;      /* cycles that writes have still to take from reads: less than one */
    read_bus reads;
    reader fetching, loading, computing;
    bursts_in_flight writes;
    uint64_t insns;                /* that went by */
    uint64_t chunks;               /* of the program that were asked for, */
    cycles chunk_at[CHUNKS_AHEAD]; /* and when the first instruction of each was there */
    cycles chunk_room[CHUNKS], fetch_asked,
        chunk_handed; /* when one may be asked for; the last was; its end */
    cycles load_issue, store_issue, compute_issue, retired;
    cycles array_free, array_start, alu_free, alu_start, acc_load, load_engine;
    array_span newest; /* instruction of the array */
    inp_span inp_loads[NEWEST], inp_requants[NEWEST];
    transfer transfers[TRANSFERS];
    uint32_t transferred;
    acc_span acc_loads[NEWEST], acc_writers[NEWEST];
    uint32_t inp_load, inp_requant, acc_loaded, acc_writer; /* the next of each */
    size_t at;                                              /* the step at hand */
    size_t lead;               /* LOADs into INP and WGT before it in the list are worked out */
    uint64_t computes, passed; /* instructions of the compute unit up to `at`, and before `lead` */
    marks inp_reader, wgt_reader, page_writer; /* the last step before `lead`, counted from 1 */
    window_of_times array_queue, alu_queue, load_queue;
    cycles *kernel_at; /* when a kernel came; 0: not yet */
    struct {
        uint64_t key;
        cycles at;
    } requants[REQUANT_KERNELS]; /* the same for those of REQUANT, by a hash */
    struct {
        int64_t limit, room; /* micro-ops that it brings at most; that it brings for kernels to come */
        cycles end;
    } uop_load, uop_next; /* the newest LOAD of micro-ops that is in use, and the one behind it */
    int64_t uops_left;    /* that no LOAD has brought */
    timing_deed now;      /* of the step at hand */
    vta_vec deeds;        /* timing_deed, where shares are wanted */
    bool keep, failed;
} model;

/* Queues: when the instruction that made room was taken. */
static cycles room(const window_of_times *w)
{
    return w->at[w->next % PIPE_QUEUE];
}

static void taken(window_of_times *w, cycles when)
{
    w->at[w->next++ % PIPE_QUEUE] = when;
}

/* Granules. */

static granules granules_of(int log_size, int64_t first, int64_t count)
{
    return (granules){first >> log_size, least((first + most(count, 1) - 1) >> log_size, GRANULES - 1)};
}

/* Transfers. */

/* What a transfer asks of the bus: bursts of so many beats. */
typedef struct bursts {
    int64_t count;
    cycles each;
} bursts;

/* So many cycles of the bus for so many bytes, or more where the memory is slower than the bus. */
static cycles paced(const model *t, cycles beats, int64_t bytes)
{
    return t->m->shared > 0 ? later(beats, (cycles)ceil((double)bytes / t->m->shared)) : beats;
}

/* `y` rows of `x` elements of `bytes`. Rows that touch are one. */
static bursts bursts_of(const model *t, int64_t y, int64_t x, int64_t stride, int64_t bytes)
{
    const int64_t beat = t->m->beat;
    if (stride == x || y == 1) {
        x *= y;
        y = 1;
    }
    return (bursts){y, paced(t, (cycles)(bytes < beat ? x : ceil_div(x * bytes, beat)), x * bytes)};
}

/* Cycles that a beat of one direction takes beyond its own, while the other one has beats, too: both have
 * half of what they share. */
static double beyond(const model *t)
{
    const double shared = t->m->shared, beat = (double)t->m->beat;
    return shared <= 0 || shared >= 2 * beat ? 0 : shared <= beat ? 1 : 2 * beat / shared - 1;
}

/* How much of a time reads take, as far as they are known; then as much as in the time before it. */
static double reads_beside(const model *t, cycles from, cycles count)
{
    enum { BEFORE = 512 };
    const cycles known = bus_known(&t->reads), begin = from > BEFORE ? from - BEFORE : 0;
    const cycles until = known < from ? known : from;
    double reads = (double)bus_busy(&t->reads, from, from + count);
    if (known < from + count && until > begin && t->loads_left > 0) {
        const double unknown = (double)(from + count - later(known, from));
        reads += unknown * (double)bus_busy(&t->reads, begin, until) / (double)(until - begin);
    }
    return reads / (double)count;
}

/* Writes from `when` on, for so many cycles by themselves: reads are later by what they take, and the writes
 * by what is returned: they get what reads leave, and half of all at least. */
static cycles yield(model *t, cycles when, cycles writes)
{
    const double share = beyond(t), both = 2 / (1 + share);
    if (share == 0) {
        return 0;
    }
    const double left = fmin(1, fmax(both / 2, both - reads_beside(t, when, writes)));
    t->yielded += share * (double)writes;
    const cycles whole = (cycles)t->yielded;
    if (whole > 0) {
        t->yielded -= (double)whole;
        bus_yield(&t->reads, when, LOAD_LEAD + t->m->config->mem_latency, whole);
    }
    return (cycles)((double)writes * (1 / left - 1));
}

/* Bursts follow each other. And only so many are on their way: where they are short, the next one waits until
 * the memory has answered an old one. */
static cycles send(cycles *bus, bursts_in_flight *flight, cycles first, cycles answer, bursts b)
{
    for (int64_t i = 0; i < b.count; i++) {
        cycles *answered = &flight->answered[flight->next++ % WRITES_IN_FLIGHT];
        *bus = later(later(first, *bus), *answered) + b.each;
        *answered = *bus + answer;
    }
    return *bus;
}

/* Asks for the program's next chunk: there is room for it when an older one has been handed out. */
static void read_chunk(model *t)
{
    cycles *room = &t->chunk_room[t->chunks % CHUNKS];
    const cycles beats = paced(t, (cycles)ceil_div(CHUNK_BYTES, t->m->beat), CHUNK_BYTES);
    const uint32_t owner = t->reads.owner;
    t->reads.owner = 0;
    const cycles end = bus_read(&t->reads, &t->fetching, *room, t->m->config->mem_latency, beats);
    t->reads.owner = owner;
    const cycles first = later(t->chunk_handed, end - beats);
    t->chunk_at[t->chunks++ % CHUNKS_AHEAD] = first;
    *room = t->chunk_handed = first + FETCH * CHUNK_INSNS;
}

/* The program is read as far ahead as the queues go: what is asked for until `when`. */
static void read_ahead(model *t, cycles when)
{
    const uint64_t ahead = t->insns + ((uint64_t)AHEAD << t->m->config->log_queue);
    const uint64_t until = ahead < t->list->steps.count ? ahead : t->list->steps.count;
    while (t->chunks * CHUNK_INSNS < until && t->chunk_room[t->chunks % CHUNKS] <= when) {
        read_chunk(t);
    }
    if (until == ahead && t->chunks * CHUNK_INSNS >= until) { /* the queues are full up to now */
        cycles *room = &t->chunk_room[t->chunks % CHUNKS];
        *room = later(*room, when);
    }
}

/* The next instruction is in its unit's queue. */
static cycles fetch(model *t)
{
    const uint64_t number = t->insns++, chunk = number / CHUNK_INSNS;
    if (chunk >= t->chunks) {
        read_chunk(t);
    }
    t->fetch = later(t->fetch, t->chunk_at[chunk % CHUNKS_AHEAD]) + FETCH;
    return t->fetch + DECODE;
}

static int64_t page_of(const model *t, int64_t element, int64_t bytes)
{
    return element * bytes >> t->log_page;
}

/* The pages of `count` elements; none before memory is laid out. */
static granules pages_of(const model *t, int64_t first, int64_t count, int64_t bytes)
{
    return (granules){page_of(t, first, bytes),
                      least(page_of(t, first + count - 1, bytes), t->page_count - 1)};
}

/* The end of the stores that a load needs; *number: the newest of them. */
static cycles stored(const model *t, const vta_load2d *l, int64_t bytes, uint32_t *number)
{
    *number = 0;
    for (int64_t y = 0; l->buffer.index == WORK_BUFFER && y < l->y_size; y++) {
        const granules pages = pages_of(t, l->offset + y * l->x_stride, l->x_size, bytes);
        *number = (uint32_t)later(*number, marks_latest(&t->page_store, pages));
    }
    return t->store_end[*number];
}

/* An instruction of the compute unit is over. */
static void done(model *t, cycles over)
{
    t->now.over = over;
    t->failed = t->failed || (t->keep && vta_vec_push(&t->deeds, &t->now) == NULL);
    t->now = (timing_deed){.tag = t->now.tag};
}

static void busy(model *t, bool array, cycles from, cycles to)
{
    t->now.array = array;
    t->now.busy_from = from;
    t->now.busy_to = to;
}

/* The compute unit has waited for a store, in an instruction that is over at `end`. */
static void learn(model *t, uint32_t number, cycles end)
{
    while (t->stores_known < number) {
        t->known_at[++t->stores_known] = end;
    }
}

/* Load and store wait for each other through the compute unit: it waits, too, and tells it in its turn.
 * Returns when the load may start. */
static cycles relay(model *t, uint32_t number, cycles end)
{
    if (number > t->stores_known) {
        t->now.asked = later(fetch(t), t->compute_issue + 1);
        t->now.issued = t->compute_issue = later(t->now.asked, end + TOKEN);
        t->retired = later(t->retired + 1, t->compute_issue + 1);
        learn(t, number, t->retired);
        done(t, t->retired);
    }
    if (number <= t->stores_loaded) {
        return 0;
    }
    t->stores_loaded = number;
    return t->known_at[number] + TOKEN;
}

static void load_before(model *t, cycles when);

/* A run is cut into bursts: of so many beats and bytes at most (vta_burst.v). */
static cycles most_of_burst(const model *t)
{
    enum { MOST_BEATS = 256, PAGE = 4096 };
    const int64_t beats = least(MOST_BEATS, PAGE / t->m->beat);
    return paced(t, (cycles)beats, beats * t->m->beat);
}

static cycles read_all(model *t, reader *who, cycles start, bursts b)
{
    const cycles latency = t->m->config->mem_latency, at_most = most_of_burst(t);
    cycles end = start + who->lead + latency, asks = start;
    for (int64_t i = 0; i < b.count; i++) {
        for (cycles left = b.each; left > 0; asks++) {
            const cycles beats = left < at_most ? left : at_most, when = later(asks, reader_opens(who));
            if (who == &t->computing) {
                load_before(t, when);
            }
            read_ahead(t, when);
            end = bus_read(&t->reads, who, asks, latency, beats);
            left -= beats;
        }
    }
    return end;
}

/* The bursts of a transfer: its number. */
static uint32_t begin_transfer(model *t)
{
    t->reads.owner = ++t->transferred;
    return t->reads.owner;
}

static void end_transfer(model *t, transfer what, uint32_t owner)
{
    t->reads.owner = owner;
    t->transfers[what.number % TRANSFERS] = what;
}

static void put_off(model *t, transfer *f, cycles by)
{
    f->bus_end += by;
    f->end += by;
    marks_raise(f->to != NULL ? &f->to->wrote : &t->load_acc, f->where, f->end);
    if (f->to != NULL) {
        t->load_engine = later(t->load_engine, f->end);
        return;
    }
    t->retired = later(t->retired, f->end);
    for (uint32_t i = 0; i < NEWEST; i++) {
        acc_span *l = &t->acc_loads[i];
        l->from += l->transfer == f->number ? by : 0;
        l->to += l->transfer == f->number ? by : 0;
    }
}

/* The list does not say which unit asks first: LOADs that others came before are put off. */
static void settle(model *t)
{
    const uint64_t count = t->reads.count, back = count > BURSTS_BACK ? count - BURSTS_BACK : 0;
    const uint64_t first = later(back, t->reads.moved);
    for (uint64_t i = count; i > first; i--) {
        const struct burst *b = &t->reads.ring[(i - 1) % BURSTS];
        transfer *f = &t->transfers[b->owner % TRANSFERS];
        if (b->owner > 0 && f->number == b->owner && b->end > f->bus_end) {
            put_off(t, f, b->end - f->bus_end);
        }
    }
    t->reads.moved = UINT64_MAX;
}

/* Entries that a load fills without reading. */
static cycles pad_entries(const vta_load2d *l)
{
    return (cycles)(list_fills(l).count - l->y_size * l->x_size);
}

/* They take the cycles in which no data come: most of them are not seen. */
static cycles padding(const vta_load2d *l)
{
    return pad_entries(l) / PADS;
}

/* What a LOAD into INP loses in so many cycles beside a REQUANT that writes there: it waits where both want
 * the same RAM (vta_load.v). */
static cycles lost_to_requant(const model *t, cycles beside)
{
    const vta_config *c = t->m->config;
    const cycles rams = c->depthwise_taps == 9 && c->log_block_out > 3 ? 4 : 1;
    return beside / rams;
}

/* A LOAD into INP that writes there from `from` to `to`: what it loses to REQUANTs that came before it. */
static cycles beside_requants(model *t, cycles from, cycles to, granules g)
{
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        const inp_span *r = &t->inp_requants[i];
        lost += lost_to_requant(t, overlap(from, to + lost, r->from, r->to));
    }
    t->inp_loads[t->inp_load++ % NEWEST] = (inp_span){from, to + lost, g};
    return lost;
}

/* A REQUANT into INP: the LOADs that it meets there end later. */
static void beside_loads(model *t, cycles from, cycles to)
{
    t->inp_requants[t->inp_requant++ % NEWEST] = (inp_span){from, to, {0, -1}};
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        inp_span *l = &t->inp_loads[(t->inp_load + i) % NEWEST];
        if (l->to <= from) {
            continue;
        }
        lost += lost_to_requant(t, overlap(from, to, l->from, l->to));
        l->to += lost;
        marks_add(&t->inp.wrote, l->where, lost);
    }
    t->load_engine += lost;
}

/* A LOAD into INP or WGT that begins at `start`. */
static cycles bring(model *t, const vta_load2d *l, cycles start)
{
    track *to = l->memory == VTA_MEM_INP ? &t->inp : &t->wgt;
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    const list_range filled = list_fills(l);
    const granules g = granules_of(to->log_size, filled.first, filled.count);
    const bursts rows_read = bursts_of(t, l->y_size, l->x_size, l->x_stride, bytes);
    const uint32_t owner = t->reads.owner, number = begin_transfer(t);
    t->loads_left--;
    t->load_issue = start + LOAD_GAP + (l->x_stride == l->x_size ? 0 : (cycles)l->y_size * ROW_GAP);
    /* The engine that writes beats and padding into the scratchpads is one, and may be slower than the bus.
     */
    const cycles writes = (cycles)rows_read.count * rows_read.each + pad_entries(l) * PAD_QUARTERS / 4;
    const cycles came = read_all(t, &t->loading, start, rows_read);
    cycles end = later(came + padding(l), t->load_engine + writes);
    if (l->memory == VTA_MEM_INP) {
        end += beside_requants(t, end - writes, end, g);
    }
    t->load_engine = end;
    marks_set(&to->wrote, g, end);
    end_transfer(t, (transfer){number, came, end, to, g}, owner);
    return end;
}

static bool is_early(const step *s)
{
    return s->kind == STEP_LOAD && (s->load.memory == VTA_MEM_INP || s->load.memory == VTA_MEM_WGT);
}

static cycles load(model *t, const vta_load2d *l)
{
    if (t->at < t->lead) {
        (void)fetch(t);
        settle(t);
        return t->load_engine;
    }
    const track *to = l->memory == VTA_MEM_INP ? &t->inp : &t->wgt;
    const list_range filled = list_fills(l);
    uint32_t number;
    const cycles data = stored(t, l, t->m->config->elem_bytes[l->memory], &number);
    const cycles told = relay(t, number, data);
    const cycles freed =
        marks_latest(&to->read, granules_of(to->log_size, filled.first, filled.count)) + TOKEN;
    const cycles end = bring(t, l, later(later(fetch(t), t->load_issue), later(freed, told)));
    settle(t);
    return end;
}

/* The load unit's own place in the list. It goes by what the compute unit and STOREs still have to do, as far
 * as nothing there reads what it fills or stores what it reads: its LOADs are on the bus before what those
 * ask for. */

/* No step from the one at hand on is noted there. */
static bool over_there(const model *t, const marks *of, granules g)
{
    return marks_latest(of, g) <= t->at;
}

static bool stores_over(const model *t, const vta_load2d *l, int64_t bytes)
{
    bool over = true;
    for (int64_t y = 0; over && l->buffer.index == WORK_BUFFER && y < l->y_size; y++) {
        over = over_there(t, &t->page_writer, pages_of(t, l->offset + y * l->x_stride, l->x_size, bytes));
    }
    return over;
}

/* What the load unit goes by. */
static void pass(model *t, const step *s)
{
    if (s->kind == STEP_GEMM || s->kind == STEP_DEPTHWISE) {
        const list_nest n = list_nest_of(t->list, s);
        marks_set(&t->inp_reader, granules_of(t->inp.log_size, n.src, n.src_count), t->lead + 1);
        marks_set(&t->wgt_reader, granules_of(t->wgt.log_size, n.wgt, n.wgt_count), t->lead + 1);
    } else if (s->kind == STEP_REQUANT && s->requant.to_inp) {
        const vta_requant *r = &s->requant;
        const int64_t count = (r->iter_out - 1) * r->dst_out + (r->iter_in - 1) * r->dst_in + 1;
        marks_set(&t->inp_reader, granules_of(t->inp.log_size, r->dst, count), t->lead + 1);
    } else if (s->kind == STEP_STORE) {
        const int64_t bytes = t->m->config->elem_bytes[VTA_MEM_OUT];
        for (int64_t y = 0; y < s->store.y_size; y++) {
            const int64_t first = s->store.offset + y * s->store.x_stride;
            marks_set(&t->page_writer, pages_of(t, first, s->store.x_size, bytes), t->lead + 1);
        }
    }
    t->passed += s->kind != STEP_STORE;
}

/* When the instruction is in its queue that stands so many behind the next one; false: not before `when`. */
static bool fetched_by(model *t, uint64_t behind, cycles when, cycles *at)
{
    const uint64_t number = t->insns + behind, chunk = number / CHUNK_INSNS;
    while (t->chunks <= chunk && t->chunk_room[t->chunks % CHUNKS] < when) {
        read_chunk(t);
    }
    *at = chunk < t->chunks ? t->chunk_at[chunk % CHUNKS_AHEAD] + FETCH * (number % CHUNK_INSNS + 1) + DECODE
                            : when;
    return *at < when;
}

/* A LOAD that is over the queues and waits for nothing that is still to come, if it begins before `when`. */
static bool bring_before(model *t, const vta_load2d *l, cycles when)
{
    const track *to = l->memory == VTA_MEM_INP ? &t->inp : &t->wgt;
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    const list_range filled = list_fills(l);
    const granules g = granules_of(to->log_size, filled.first, filled.count);
    uint32_t number;
    cycles start;
    if (t->load_issue >= when || !over_there(t, to == &t->inp ? &t->inp_reader : &t->wgt_reader, g) ||
        !stores_over(t, l, bytes) || !fetched_by(t, t->lead - t->at - 1, when, &start)) {
        return false;
    }
    (void)stored(t, l, bytes, &number);
    if (number > t->stores_known) {
        return false;
    }
    start = later(later(start, t->load_issue), marks_latest(&to->read, g) + TOKEN);
    start = number > t->stores_loaded ? later(start, t->known_at[number] + TOKEN) : start;
    if (start >= when) {
        return false;
    }
    t->stores_loaded = number > t->stores_loaded ? number : t->stores_loaded;
    (void)bring(t, l, start);
    return true;
}

/* Works out what the load unit begins before `when`. */
static void load_before(model *t, cycles when)
{
    const uint64_t queue = UINT64_C(1) << t->m->config->log_queue;
    if (t->lead <= t->at) {
        t->lead = t->at + 1;
        t->passed = t->computes;
    }
    for (; t->loads_left > 0 && t->lead < t->list->steps.count && t->passed - t->computes < queue &&
           t->lead - t->at <= AHEAD * queue;
         t->lead++) {
        const step *s = vta_vec_at(&t->list->steps, t->lead);
        if (!is_early(s)) {
            pass(t, s);
        } else if (!bring_before(t, &s->load, when)) {
            return;
        }
    }
}

static cycles store(model *t, const vta_store2d *s)
{
    const int64_t bytes = t->m->config->elem_bytes[VTA_MEM_OUT];
    const granules g = granules_of(t->out.log_size, s->sram, s->y_size * s->x_size);
    cycles start = later(fetch(t), t->store_issue);
    start = later(start, marks_latest(&t->out.wrote, g) + TOKEN);
    t->store_issue = start + 1;
    const cycles answer = WRITE - 64 + t->m->config->mem_latency;
    const bursts b = bursts_of(t, s->y_size, s->x_size, s->x_stride, bytes);
    const cycles begin = later(start + STORE_GAP, t->bus_store);
    t->bus_store = begin + yield(t, begin, (cycles)b.count * b.each);
    settle(t);
    const cycles end = answer + send(&t->bus_store, &t->writes, begin, answer, b);
    t->store_end[++t->stores] = end;
    marks_set(&t->out.read, g, t->stores);
    for (int64_t y = 0; y < s->y_size; y++) {
        const granules pages = pages_of(t, s->offset + y * s->x_stride, s->x_size, bytes);
        marks_set(&t->page_store, pages, t->stores);
    }
    return end;
}

/* Compute. */

/* OUT entries that the store unit still reads: the compute unit waits for its token. */
static cycles until_stored(const model *t, granules g, uint32_t *number)
{
    *number = (uint32_t)marks_latest(&t->out.read, g);
    return *number > 0 ? t->store_end[*number] + TOKEN : 0;
}

static cycles retire(model *t, cycles end)
{
    t->retired = later(t->retired + 1, end);
    return t->retired;
}

/* A LOAD that brings `count` micro-ops and others with them. */
static void begin_uops(model *t, int64_t count, int64_t limit)
{
    const int64_t brought = most(count, least(limit, t->uops_left));
    const int64_t bytes = brought * VTA_UOP_BYTES;
    const cycles beats = paced(t, (cycles)ceil_div(bytes, least(VTA_UOP_BYTES * 2, t->m->beat)), bytes);
    const cycles issued = later(fetch(t), t->compute_issue + 1);
    const cycles start = later(issued, later(t->array_start, t->alu_start));
    t->uops_left -= brought;
    t->uop_next.limit = limit;
    t->uop_next.room = brought;
    t->uop_next.end = read_all(t, &t->computing, start, (bursts){1, beats});
}

/* Brings `count` micro-ops; returns when they are there. The next LOAD begins when the newest is half used.
 */
static cycles load_uops(model *t, uint32_t count)
{
    if (t->uop_load.room < count) {
        if (t->uop_next.room < count) {
            begin_uops(t, count, t->uop_load.limit == 0 ? FIRST_UOP_LOAD : UOP_LOAD);
        }
        t->uops_left += t->uop_load.room; /* that it has not brought: no kernel is cut in two */
        t->uop_load = t->uop_next;
        t->uop_next.room = 0;
    }
    t->uop_load.room -= count;
    if (t->uop_next.room == 0 && t->uop_load.room <= t->uop_load.limit / 2 && t->uops_left > 0) {
        begin_uops(t, 1, UOP_LOAD);
    }
    return t->uop_load.end;
}

static cycles need_kernel(model *t, vta_kernel kernel, uint32_t count)
{
    cycles *at = &t->kernel_at[kernel.index];
    *at = *at > 0 ? *at : load_uops(t, count);
    return *at;
}

/* Where the micro-op of a requantization is remembered; *known: it has come before. */
static cycles *requant_at(model *t, const vta_requant *r, bool *known)
{
    const uint64_t key = ((uint64_t)r->dst << 40 | (uint64_t)r->src << 20 | (uint64_t)r->params) + 1;
    const uint64_t slot = (key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % REQUANT_KERNELS;
    *known = t->requants[slot].key == key;
    t->requants[slot].key = key;
    return &t->requants[slot].at;
}

static cycles need_requant(model *t, const vta_requant *r)
{
    bool known;
    cycles *at = requant_at(t, r, &known);
    *at = known ? *at : load_uops(t, 1);
    return *at;
}

/* All micro-ops that the list will ever need. */
static int64_t count_uops(model *t)
{
    int64_t count = (int64_t)t->list->uops.count;
    for (size_t i = 0; i < t->list->steps.count; i++) {
        const step *s = vta_vec_at(&t->list->steps, i);
        bool known = true;
        if (s->kind == STEP_REQUANT) {
            (void)requant_at(t, &s->requant, &known);
        }
        count += !known;
    }
    memset(t->requants, 0, sizeof t->requants);
    return count;
}

static cycles issue(model *t, window_of_times *queue, cycles ready)
{
    t->now.asked = later(later(fetch(t), t->compute_issue + 1), room(queue));
    t->now.issued = t->compute_issue = later(t->now.asked, ready);
    return t->compute_issue;
}

#define ALWAYS 0.95 /* cycles with a write, in which there is hardly one without */

static int64_t bank_of(const model *t, int64_t entry)
{
    const int64_t banks = t->m->acc == 512 || t->m->acc == 1024 ? 2 : 4; /* LOG_BANK of vta_compute.v */
    return entry * banks / t->m->acc;
}

/* How much of these entries lies in a bank. */
static double share_of_bank(const model *t, int64_t first, int64_t count, int64_t bank)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), begin = bank * size;
    const int64_t from = most(first, begin), to = least(first + count, begin + size);
    return to > from ? (double)(to - from) / (double)count : 0.0;
}

/* What a LOAD into ACC loses to what writes there at the same time: an entry waits where both want the same
 * bank, until there is a cycle without a write. */
static cycles lost_to_writer(const model *t, const acc_span *load, const acc_span *writer)
{
    const cycles beside = overlap(load->from, load->to, writer->from, writer->to);
    double same = 0.0;
    for (int64_t bank = 0; beside > 0 && bank < bank_of(t, t->m->acc); bank++) {
        same += share_of_bank(t, load->first, load->count, bank) *
                share_of_bank(t, writer->first, writer->count, bank);
    }
    if (writer->writes < ALWAYS) {
        const double each = fmax((double)(load->to - load->from) / (double)load->count, 1.0);
        const double waits = writer->writes / (1.0 - writer->writes);
        same *= waits / (each + waits);
    }
    return (cycles)((double)beside * same);
}

/* An instruction of the array or the ALU writes ACC: the LOADs that it meets there end later. */
static void beside_acc_loads(model *t, const acc_span *writer)
{
    t->acc_writers[t->acc_writer++ % NEWEST] = *writer;
    cycles lost = 0;
    for (uint32_t i = 0; i < NEWEST; i++) {
        acc_span *l = &t->acc_loads[(t->acc_loaded + i) % NEWEST];
        if (l->to <= writer->from) {
            continue;
        }
        l->from += lost;
        l->to += lost;
        const cycles own = lost_to_writer(t, l, writer);
        lost += own;
        l->to += own;
        marks_raise(&t->load_acc, granules_of(t->out.log_size, l->first, l->count), l->to);
    }
    if (lost > 0) {
        bus_yield(&t->reads, writer->from, COMPUTE_LEAD + t->m->config->mem_latency, lost);
    }
}

static cycles acc_load(model *t, const vta_load2d *l)
{
    const int64_t bytes = t->m->config->elem_bytes[l->memory];
    const list_range filled = list_fills(l);
    const granules g = granules_of(t->out.log_size, filled.first, filled.count);
    uint32_t number;
    const cycles data = stored(t, l, bytes, &number);
    cycles start = issue(t, &t->load_queue, data > 0 ? data + TOKEN : 0);
    start = later(later(start + 1, t->acc_load), later(t->array_start, t->alu_start));
    start = later(start, later(marks_latest(&t->array_acc, g), marks_latest(&t->alu_acc, g)));
    start = later(start, marks_latest(&t->alu_read, g));
    taken(&t->load_queue, start);
    t->acc_load = start + LOAD_GAP;
    const bursts b = bursts_of(t, l->y_size, l->x_size, l->x_stride, bytes);
    const uint32_t transferred = begin_transfer(t);
    const cycles came = read_all(t, &t->computing, start, b);
    cycles end = came + 3 + padding(l);
    acc_span own = {end - (cycles)b.count * b.each, end, filled.first, filled.count, 0, transferred};
    for (uint32_t i = 0; i < NEWEST; i++) {
        own.to += lost_to_writer(t, &own, &t->acc_writers[i]);
    }
    end = own.to;
    t->acc_loads[t->acc_loaded++ % NEWEST] = own;
    marks_set(&t->load_acc, g, end);
    end_transfer(t, (transfer){transferred, came, end, NULL, g}, 0);
    settle(t);
    const cycles over = retire(t, end);
    learn(t, number, over);
    done(t, over);
    return over;
}

typedef struct array_work {
    vta_kernel kernel;
    int64_t steps, writes;
    bool reads; /* ACC, where it writes */
    const list_nest *n;
} array_work;

static array_span span_of_array(const array_work *w, cycles begin)
{
    const double writes = (double)w->writes / (double)most(w->steps, 1);
    const int64_t each = w->steps / most(w->writes, 1); /* steps from write to write */
    return (array_span){.begin = begin,
                        .end = begin + (cycles)w->steps,
                        .first = w->n->dst,
                        .count = w->n->dst_count - w->n->dst_spread,
                        .spread = w->n->dst_spread,
                        .writes = writes,
                        .reads = w->reads ? writes : 0.0,
                        .apart = each == 0 || READ_STAGE % each != 0};
}

static cycles array(model *t, const array_work *w)
{
    const granules dst = granules_of(t->out.log_size, w->n->dst, w->n->dst_count);
    const granules inp = granules_of(t->inp.log_size, w->n->src, w->n->src_count);
    const granules wgt = granules_of(t->wgt.log_size, w->n->wgt, w->n->wgt_count);
    const cycles kernel = need_kernel(t, w->kernel, w->n->uops);
    uint32_t number;
    const cycles ready =
        later(until_stored(t, dst, &number),
              later(marks_latest(&t->inp.wrote, inp), marks_latest(&t->wgt.wrote, wgt)) + TOKEN);
    cycles start = issue(t, &t->array_queue, ready) + 2;
    start = later(later(start, t->array_free), later(t->alu_start, kernel));
    start = later(start, later(marks_latest(&t->alu_acc, dst), marks_latest(&t->load_acc, dst)));
    start = later(start, later(marks_latest(&t->alu_read, dst), marks_latest(&t->alu_inp, inp)));
    taken(&t->array_queue, start);
    t->array_start = start;
    t->newest = span_of_array(w, start);
    beside_acc_loads(t, &(acc_span){start, t->newest.end, w->n->dst, w->n->dst_count, t->newest.writes, 0});
    t->array_free = t->newest.end;
    const cycles end = t->array_free + ARRAY_DRAIN, over = retire(t, end);
    learn(t, number, over);
    busy(t, true, start, t->array_free);
    done(t, over);
    marks_set(&t->array_acc, dst, end);
    marks_set(&t->inp.read, inp, over);
    marks_set(&t->array_inp, inp, t->array_free);
    marks_set(&t->wgt.read, wgt, over);
    marks_set(&t->out.wrote, dst, over);
    return over;
}

/* What the array does in a step. */
static array_work array_work_of(const model *t, const step *s, const list_nest *n);

/* Work of the ALU that is left at a time. It reads `count` entries of ACC from `first` on, one after the
 * other, and writes there, or not. */
typedef struct alu_work {
    double now, left, steps;
    int64_t first, count;
    bool writes;
} alu_work;

/* How many entries from this one on are in its bank, of those before `end`. */
static double rest_of_bank(const model *t, double entry, int64_t end)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), next = ((int64_t)entry / size + 1) * size;
    return (double)(next < end ? next : end) - entry;
}

/* Up to `until` at most, where the array leaves it this share of the cycles. */
static void alu_goes(alu_work *alu, double until, double share)
{
    const double there = share * (until - alu->now);
    if (there >= alu->left) {
        alu->now += alu->left / share;
        alu->left = 0;
    } else {
        alu->now = until;
        alu->left -= there;
    }
}

/* Beside an instruction of the array, which comes first at the port that writes ACC, and at each bank's port
 * that reads it. */
static void alu_beside(const model *t, alu_work *alu, const array_span *array)
{
    const double stage = alu->writes ? WRITE_STAGE : READ_STAGE;
    const double begin = (double)array->begin + stage, array_end = (double)array->end + stage;
    const double length = array_end - begin;
    if (alu->left > 0 && alu->now < begin) {
        alu_goes(alu, begin, 1.0);
    }
    while (alu->left > 0 && alu->now < array_end) {
        const double writes = alu->writes ? array->writes : 0.0;
        double until = array_end, share = 1.0 - writes;
        if (array->reads > 0) {
            const double gone = (alu->now - begin) / length;
            const double entry = (double)array->first + gone * (double)array->count;
            const double own = (double)alu->first + (1.0 - alu->left / alu->steps) * (double)alu->count;
            const int64_t bank = bank_of(t, (int64_t)own), end = array->first + array->count;
            int64_t meets = bank_of(t, (int64_t)entry) == bank, of = 1;
            double rest = rest_of_bank(t, entry, end);
            if (array->spread > 0) {
                const double other = entry + (double)array->spread;
                meets += bank_of(t, (int64_t)other) == bank;
                of = 2;
                rest = fmin(rest, rest_of_bank(t, other, end + array->spread));
            }
            if (array->apart || !alu->writes) {
                share -= array->reads * (double)meets / (double)of;
            }
            const double own_rest =
                rest_of_bank(t, own, alu->first + alu->count) * alu->steps / (double)alu->count;
            until = rest * length / (double)array->count;
            until = fmax(share > 0.01 ? fmin(until, own_rest / share) : until, 1.0);
            until = fmin(alu->now + until, array_end);
        }
        alu_goes(alu, until, share > 0.01 ? share : 0.0);
    }
}

/* Whether a step between the one at hand and `to` must come before what the array does there. */
static bool array_waits(const model *t, size_t to, const list_nest *n)
{
    const list_range dst = {n->dst, n->dst_count}, src = {n->src, n->src_count}, wgt = {n->wgt, n->wgt_count};
    for (size_t i = t->at + 1; i < to; i++) {
        const step *s = vta_vec_at(&t->list->steps, i);
        const vta_store2d *out = &s->store;
        bool waits = false;
        if (s->kind == STEP_STORE) {
            waits = list_meets((list_range){out->sram, out->y_size * out->x_size}, dst);
        } else if (s->kind == STEP_LOAD) {
            const vta_memory to_memory = s->load.memory;
            waits = list_meets(list_fills(&s->load), to_memory == VTA_MEM_INP   ? src
                                                     : to_memory == VTA_MEM_WGT ? wgt
                                                                                : dst);
        }
        if (waits) {
            return true;
        }
    }
    return false;
}

/* When `steps` of the ALU that begin at `start` are done, beside the array: the instruction that is there,
 * and those behind this one that begin before it is done and need nothing of it. */
static cycles alu_until(const model *t, cycles start, cycles steps, const list_nest *own, bool to_inp)
{
    const list_range dst = {own->dst, own->dst_count}, src = {own->src, own->src_count};
    alu_work alu = {(double)start, (double)steps, (double)steps, own->src, own->src_count, !to_inp};
    cycles free = t->array_free, issued = t->compute_issue;
    uint32_t queued = 0;
    alu_beside(t, &alu, &t->newest);
    for (size_t i = t->at + 1; i < t->list->steps.count && queued < PIPE_QUEUE; i++) {
        const step *s = vta_vec_at(&t->list->steps, i);
        if (s->kind == STEP_ALU || s->kind == STEP_REQUANT) {
            break; /* that begins behind this one, and the array's next behind that */
        }
        if (s->kind != STEP_GEMM && s->kind != STEP_DEPTHWISE) {
            continue;
        }
        const list_nest n = list_nest_of(t->list, s);
        const list_range to = {n.dst, n.dst_count};
        const list_range from = {n.src, n.src_count};
        if (list_meets(to, src) || list_meets(to_inp ? from : to, dst) || array_waits(t, i, &n)) {
            break;
        }
        const array_work w = array_work_of(t, s, &n);
        const granules to_acc = granules_of(t->out.log_size, n.dst, n.dst_count);
        const granules inp = granules_of(t->inp.log_size, n.src, n.src_count);
        const granules wgt = granules_of(t->wgt.log_size, n.wgt, n.wgt_count);
        uint32_t number;
        const cycles stored = until_stored(t, to_acc, &number);
        const cycles loaded =
            later(marks_latest(&t->inp.wrote, inp), marks_latest(&t->wgt.wrote, wgt)) + TOKEN;
        issued = later(issued + 1, later(stored, loaded));
        issued = later(issued, t->array_queue.at[(t->array_queue.next + queued) % PIPE_QUEUE]);
        cycles begin =
            later(later(issued + 2, free), later(t->alu_start, marks_latest(&t->load_acc, to_acc)));
        begin = later(begin, later(marks_latest(&t->alu_acc, to_acc), marks_latest(&t->alu_read, to_acc)));
        begin = later(begin, marks_latest(&t->alu_inp, inp));
        const array_span span = span_of_array(&w, begin);
        alu_beside(t, &alu, &span);
        free = span.end;
        queued++;
        if (alu.left <= 0) {
            break;
        }
    }
    return (cycles)ceil(alu.now + alu.left);
}

/* It writes `written` times. */
static cycles alu(model *t, cycles steps, cycles written, const list_nest *n, granules params, cycles kernel)
{
    const granules dst = granules_of(t->out.log_size, n->dst, n->dst_count);
    const granules src = granules_of(t->out.log_size, n->src, n->src_count);
    uint32_t number;
    cycles start = issue(t, &t->alu_queue, until_stored(t, dst, &number)) + 2;
    start = later(later(start, t->alu_free), later(t->array_start, kernel));
    taken(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(marks_latest(&t->array_acc, src), marks_latest(&t->array_acc, dst)));
    start = later(start, later(marks_latest(&t->load_acc, src), marks_latest(&t->load_acc, dst)));
    start = later(start, marks_latest(&t->load_acc, params));
    if (t->alu_free > 0) { /* results that are still on their way */
        const cycles flow = later(marks_latest(&t->alu_acc, src), marks_latest(&t->alu_acc, dst));
        start = later(start, flow > steps ? flow - steps : 0);
    }
    t->alu_free = alu_until(t, start + ALU_START, steps, n, false);
    beside_acc_loads(t, &(acc_span){start, t->alu_free, n->dst, n->dst_count,
                                    (double)written / (double)(t->alu_free - start), 0});
    const cycles end = t->alu_free + ALU_DRAIN, over = retire(t, end);
    learn(t, number, over);
    busy(t, false, start, t->alu_free);
    done(t, over);
    marks_set(&t->alu_read, src, t->alu_free);
    marks_set(&t->alu_read, params, t->alu_free);
    marks_set(&t->alu_acc, dst, end);
    marks_set(&t->out.wrote, dst, over);
    return over;
}

/* A requantization into INP. */
static cycles inwards(model *t, const vta_requant *r, const list_nest *n, granules params, cycles kernel)
{
    const granules dst = granules_of(t->inp.log_size, n->dst, n->dst_count);
    const granules src = granules_of(t->out.log_size, n->src, n->src_count);
    const cycles steps = (cycles)(r->iter_out * r->iter_in + (r->wide ? WIDE_RECORD : RECORD));
    const cycles loaded = marks_latest(&t->inp.wrote, dst);
    cycles start = issue(t, &t->alu_queue, loaded > 0 ? loaded + TOKEN : 0) + 2;
    start = later(later(start, t->alu_free), later(t->array_start, kernel));
    taken(&t->alu_queue, start);
    t->alu_start = start;
    start = later(start, later(marks_latest(&t->array_acc, src), marks_latest(&t->load_acc, src)));
    start = later(start, later(marks_latest(&t->array_inp, dst), marks_latest(&t->load_acc, params)));
    t->alu_free = alu_until(t, start + ALU_START, steps, n, true);
    const cycles end = t->alu_free + ALU_DRAIN, over = retire(t, end);
    busy(t, false, start, t->alu_free);
    done(t, over);
    beside_loads(t, start, t->alu_free);
    marks_set(&t->alu_read, src, t->alu_free);
    marks_set(&t->alu_read, params, t->alu_free);
    marks_set(&t->alu_inp, dst, end);
    marks_set(&t->inp.read, dst, over);
    return over;
}

static cycles depthwise_steps(const model *t, const vta_depthwise *d)
{
    const vta_window_steps steps =
        vta_window_steps_of(t->m->config, d->taps_x, d->taps_y, d->col_step, d->row_step, d->src_in);
    const int64_t columns = d->taps_x + (d->iter_in - 1) * (d->taps_x - steps.kept);
    return (cycles)(d->iter_out * (d->taps_y / steps.rows) * columns);
}

/* Micro-ops that have another destination than the one before: it is read, and not at hand. */
static int64_t count_runs(const step_list *list, vta_kernel kernel)
{
    uint32_t count;
    const vta_uop *uops = list_uops(list, kernel, &count);
    int64_t runs = 1;
    for (uint32_t i = 1; i < count; i++) {
        runs += uops[i].dst != uops[i - 1].dst;
    }
    return runs;
}

/* A step that keeps the destination of the one before adds to it in a register: it is written once. */
static int64_t writes_of(const model *t, const vta_gemm *g, const list_nest *n)
{
    const int64_t runs = n->dst_spread > 0 ? count_runs(t->list, g->kernel) : 1;
    if (runs > 1) {
        return g->iter_out * g->iter_in * runs;
    }
    const int64_t inner = g->dst_in != 0 ? g->iter_in : 1;
    return inner > 1 || g->dst_out != 0 ? g->iter_out * inner : 1;
}

static array_work array_work_of(const model *t, const step *s, const list_nest *n)
{
    if (s->kind == STEP_GEMM) {
        const vta_gemm *g = &s->gemm;
        return (array_work){g->kernel, g->iter_out * g->iter_in * n->uops, writes_of(t, g, n),
                            !g->init && !g->reset, n};
    }
    const vta_depthwise *d = &s->depthwise;
    return (array_work){d->kernel, (int64_t)depthwise_steps(t, d), d->iter_out * d->iter_in, !d->init, n};
}

static cycles run_step(model *t, const step *s)
{
    switch (s->kind) {
    case STEP_LOAD:
        return s->load.memory == VTA_MEM_INP || s->load.memory == VTA_MEM_WGT ? load(t, &s->load)
                                                                              : acc_load(t, &s->load);
    case STEP_STORE: return store(t, &s->store);
    case STEP_GEMM:
    case STEP_DEPTHWISE: {
        const list_nest n = list_nest_of(t->list, s);
        const array_work w = array_work_of(t, s, &n);
        return array(t, &w);
    }
    case STEP_ALU: {
        const vta_alu *a = &s->alu;
        const list_nest n = list_nest_of(t->list, s);
        const int64_t passes = a->iter_out * a->iter_in;
        const bool one_bank = !a->use_imm && a->op != VTA_ALU_MOV && bank_of(t, n.dst) == bank_of(t, n.src);
        const cycles kernel = need_kernel(t, a->kernel, n.uops);
        const int64_t again = one_bank ? count_runs(t->list, a->kernel) : 0;
        return alu(t, (cycles)(passes * (n.uops + again)), (cycles)(passes * n.uops), &n, (granules){0, -1},
                   kernel);
    }
    case STEP_REQUANT: break;
    }
    const vta_requant *r = &s->requant;
    const int64_t count = (r->iter_out - 1) * r->dst_out + (r->iter_in - 1) * r->dst_in + 1;
    const list_nest n = {.dst = r->dst, .dst_count = count, .src = r->src, .src_count = count};
    const cycles kernel = need_requant(t, r);
    const int64_t record = record_entries(r->wide);
    const granules params = granules_of(t->out.log_size, record * r->params, record);
    if (r->to_inp) {
        const int64_t read = (r->iter_out - 1) * r->src_out + (r->iter_in - 1) * r->src_in + 1;
        return inwards(t, r,
                       &(list_nest){.dst = r->dst, .dst_count = count, .src = r->src, .src_count = read},
                       params, kernel);
    }
    const cycles outs = (cycles)(r->iter_out * r->iter_in);
    return alu(t, outs + (r->wide ? WIDE_RECORD : RECORD), outs, &n, params, kernel);
}

/* Life. */

enum { LOG_BLOCK = 4, LOG_PAGES = 6 }; /* of granules that may be alike, and of pages */

static void track_init(track *of, int64_t depth)
{
    while (((int64_t)GRANULES << of->log_size) < depth) {
        of->log_size++;
    }
}

static size_t stores_of(const step_list *list)
{
    size_t stores = 0;
    for (size_t i = 0; i < list->steps.count; i++) {
        stores += ((const step *)vta_vec_at(&list->steps, i))->kind == STEP_STORE;
    }
    return stores;
}

static uint64_t loads_of(const step_list *list)
{
    uint64_t loads = 0;
    for (size_t i = 0; i < list->steps.count; i++) {
        const step *s = vta_vec_at(&list->steps, i);
        loads += is_early(s);
    }
    return loads;
}

static int log2_of(int64_t n)
{
    int log = 0;
    while (n > 1) {
        n /= 2;
        log++;
    }
    return log;
}

/* What is kept of granules, and of pages. */
#define OF_GRANULES(X)                                                                                       \
    X(inp.wrote)                                                                                             \
    X(inp.read)                                                                                              \
    X(wgt.wrote)                                                                                             \
    X(wgt.read) X(out.wrote) X(out.read) X(array_acc) X(alu_acc) X(load_acc) X(alu_read) X(alu_inp)          \
        X(array_inp) X(inp_reader) X(wgt_reader)

#define OF_PAGES(X) X(page_store) X(page_writer)

static bool model_init(model *t, const machine *m, const step_list *list, uint64_t work_bytes)
{
    *t = (model){.m = m,
                 .list = list,
                 .reads.moved = UINT64_MAX,
                 .fetching = {.lead = FETCH_LEAD, .asked = START},
                 .loading = {.lead = LOAD_LEAD, .pairs = true},
                 .computing = {.lead = COMPUTE_LEAD, .pairs = true},
                 .log_page =
                     log2_of(least(m->config->elem_bytes[VTA_MEM_INP], m->config->elem_bytes[VTA_MEM_OUT]))};
    t->page_count = work_bytes > 0 ? (int64_t)(work_bytes >> t->log_page) + 1 : 0; /* 0: not laid out yet */
    track_init(&t->inp, m->inp);
    track_init(&t->wgt, m->wgt);
    track_init(&t->out, m->acc);
    bool good = true;
#define INIT(what) good = marks_init(&t->what, GRANULES, LOG_BLOCK) && good;
    OF_GRANULES(INIT)
#undef INIT
#define INIT(what) good = marks_init(&t->what, t->page_count, LOG_PAGES) && good;
    OF_PAGES(INIT)
#undef INIT
    const size_t stores = stores_of(list) + 1;
    t->store_end = calloc(stores, sizeof *t->store_end);
    t->known_at = calloc(stores, sizeof *t->known_at);
    t->kernel_at = calloc(list->kernels.count + 1, sizeof *t->kernel_at);
    return good && t->store_end != NULL && t->known_at != NULL && t->kernel_at != NULL;
}

static void model_free(model *t)
{
#define FREE(what) marks_free(&t->what);
    OF_GRANULES(FREE)
    OF_PAGES(FREE)
#undef FREE
    free(t->store_end);
    free(t->known_at);
    free(t->kernel_at);
}

uint64_t timing_of(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *shares,
                   uint32_t tags)
{
    cycles end = 0;
    model *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return 0;
    }
    if (model_init(t, m, list, work_bytes)) {
        t->uops_left = count_uops(t);
        t->deeds.item_size = sizeof(timing_deed);
        t->keep = shares != NULL;
        t->loads_left = loads_of(list);
        for (size_t i = 0; i < list->steps.count; i++) {
            const step *s = vta_vec_at(&list->steps, i);
            t->now.tag = s->tag;
            t->at = i;
            t->computes += s->kind != STEP_STORE && !is_early(s);
            end = later(end, run_step(t, s));
        }
        if (shares != NULL && !t->failed) {
            timing_shares(&t->deeds, end, shares, tags);
        }
        end = t->failed ? 0 : end;
    }
    vta_vec_free(&t->deeds);
    model_free(t);
    free(t);
    return end;
}
