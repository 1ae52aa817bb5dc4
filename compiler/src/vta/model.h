/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the timing model know together and say to each other.
 *
 *   timing.c    walks through the list, step by step
 *   traffic.c   what the memory does: the program, bursts of reads, writes, and who is put off by whom
 *   bus.c       its read bus
 *   marks.c     when places of scratchpads and memory were last written and read
 *   jobs.c      what each step asks for, before any time is known
 *   loads.c     the load unit with its own place in the list, and the store unit
 *   uops.c      where LOADs of micro-ops stand in the program
 *   compute.c   the compute unit: its queues, the array beside the ALU, ACC's banks
 *   shares.c    whose each cycle is
 *
 * All times are cycles from the start of the run. For each scratchpad the model keeps, for granules of
 * entries, when they were last written and read; for DRAM, when pages of the smallest element's size were
 * last stored: as the runtime does, which orders transfers by them.
 */
#ifndef VTAC_VTA_MODEL_H
#define VTAC_VTA_MODEL_H

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
    STORE_GAP = 6,    /* and a STORE's first beat; it is over when the memory has answered its last */
    TOKEN = 2,
    ARRAY_DRAIN = 11, /* from the last step to the end */
    ALU_DRAIN = 9,
    ALU_START = 1,
    RECORD = 2,       /* steps that fetch parameters, */
    WIDE_RECORD = 3,  /* and with multipliers of 31 bits */
    PADS = 4,         /* entries of padding that hide behind the bus, for one that does not */
    PAD_QUARTERS = 5, /* quarters of a cycle that one costs where data wait for it, as measured */
    PIPE_QUEUE = 4,
    WRITES_IN_FLIGHT = 16, /* bursts: LOG_FLIGHT of vta_axi_write.v */
    WRITE_STAGE = 1,       /* from the array's step to the ALU's that would write in the same cycle, */
    READ_STAGE = 6,        /* and that would read ACC in the same cycle: vta_gemm.v, vta_alu.v */
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
};

typedef struct track {
    marks wrote, read;            /* the last write's and read's end */
    int log_size;                 /* entries of a granule, as a power of two */
    uint16_t place[GRANULES + 1]; /* where a granule is */
    int64_t places;
} track;

/* Places of a scratchpad, from the first to the last. */
typedef struct granule_run {
    uint16_t first, last;
} granule_run;

#define NOWHERE ((granule_run){1, 0})

/* Entries of a scratchpad. */
typedef struct entry_range {
    int32_t first, count;
} entry_range;

/* jobs.c: a step, as far as the model goes by it. */
typedef struct job {
    uint8_t kind;                /* step_kind */
    uint8_t memory;              /* a LOAD's; */
    bool early;                  /* it is for INP or WGT; */
    bool works;                  /* it reads what may have been stored */
    bool reads;                  /* the array, ACC where it writes */
    bool to_inp;                 /* a REQUANT */
    uint32_t tag, kernel;        /* kernel: but for REQUANTs */
    granule_run to, from, by;    /* what it fills or computes, what it reads, and weights or parameters, */
    entry_range dst, src, other; /* and the same in entries */
    union {
        struct { /* transfers */
            int32_t bursts, beats;
            int32_t pads; /* entries that are filled and not read */
            int32_t gap;  /* cycles before the next one may begin */
        };
        struct { /* the array, the ALU */
            int32_t steps, writes;
            int32_t spread; /* between the destinations of micro-ops, at most */
        };
    };
} job;

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
    granule_run where;
} inp_span;

/* What writes entries of ACC, and when; the share of cycles in which it does. */
typedef struct acc_span {
    cycles from, to;
    int64_t first, count;
    granule_run where;
    double writes;
    uint32_t transfer; /* of a LOAD */
} acc_span;

/* A LOAD: others that ask for the bus before it may still come up, and its data are later then. */
typedef struct transfer {
    uint32_t number;
    cycles bus_end, end; /* of its last burst, and when all is in the scratchpad */
    track *to;           /* NULL: ACC */
    granule_run where;
} transfer;

typedef struct window_of_times {
    cycles at[PIPE_QUEUE];
    uint32_t next;
} window_of_times;

typedef struct bursts_in_flight {
    cycles answered[WRITES_IN_FLIGHT];
    uint32_t next;
} bursts_in_flight;

/* uops.c: a LOAD of micro-ops that stands before a step. */
typedef struct uop_load {
    uint32_t at, count;
} uop_load;

/* All of them, and which each step needs: counted from 1; 0: none. */
typedef struct uop_plan {
    uint32_t *need;
    vta_vec loads; /* uop_load */
    cycles *end;   /* of each */
    bool failed;
} uop_plan;

typedef struct model {
    const machine *m;
    const step_list *list;
    track inp, wgt, out; /* out: wrote: retired; read: the last store's number */
    job *jobs;           /* of each step */
    size_t count, store_count, requant_count;
    cycles array_left, alu_left;        /* of all steps behind the one at hand: what they take at least */
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
    cycles burst_beats, chunk_beats; /* of the bus: a burst's at most, and those of a chunk of the program */
    bursts_in_flight writes;
    uint64_t insns;                /* that went by */
    uint64_t chunks;               /* of the program that were asked for, */
    cycles chunk_at[CHUNKS_AHEAD]; /* and when the first instruction of each was there */
    cycles chunk_room[CHUNKS], fetch_asked,
        chunk_handed; /* when one may be asked for; the last was; its end */
    cycles load_issue, store_issue, compute_issue, retired;
    cycles array_free, array_start, alu_free, alu_start, acc_load, load_engine;
    cycles array_fetched,
        alu_fetched;   /* the newest one's micro-ops are being fetched: vta_gemm.v, vta_alu.v */
    array_span newest; /* instruction of the array */
    inp_span inp_loads[NEWEST], inp_requants[NEWEST];
    transfer transfers[TRANSFERS];
    uint32_t transferred;
    acc_span acc_loads[NEWEST], acc_writers[NEWEST];
    uint32_t inp_load, inp_requant, acc_loaded, acc_writer; /* the next of each */
    size_t at;                                              /* the step at hand */
    size_t lead;               /* LOADs into INP and WGT before it in the list are worked out */
    size_t reach;              /* the last step that fits into the queues, */
    uint64_t reached;          /* and the instructions of the compute unit up to it */
    uint64_t computes, passed; /* instructions of the compute unit up to `at`, and before `lead` */
    marks inp_reader, wgt_reader, page_writer; /* the last step before `lead`, counted from 1 */
    window_of_times array_queue, alu_queue, load_queue;
    uop_plan uops;
    size_t uop_loads; /* of them that have begun */
    timing_deed now;  /* of the step at hand */
    vta_vec deeds;    /* timing_deed, where shares are wanted */
    bool keep, failed;
} model;

static inline const step *step_at(const step_list *list, size_t number)
{
    return (const step *)list->steps.items + number;
}

/* Queues: when the instruction that made room was taken. */
static inline cycles room(const window_of_times *w)
{
    return w->at[w->next % PIPE_QUEUE];
}

static inline void taken(window_of_times *w, cycles when)
{
    w->at[w->next++ % PIPE_QUEUE] = when;
}

static inline granules at_places(granule_run r)
{
    return (granules){r.first, r.last};
}

static inline cycles latest(const marks *of, granule_run r)
{
    return marks_latest(of, at_places(r));
}

static inline void set(marks *of, granule_run r, cycles when)
{
    marks_set(of, at_places(r), when);
}

/* What a LOAD fills. */
static inline track *load_track(model *t, const job *j)
{
    return j->memory == VTA_MEM_INP ? &t->inp : j->memory == VTA_MEM_WGT ? &t->wgt : &t->out;
}

static inline bool is_of_array(const job *j)
{
    return j->kind == STEP_GEMM || j->kind == STEP_DEPTHWISE;
}

static inline bool stretches_meet(entry_range a, entry_range b)
{
    return list_meets((list_range){a.first, a.count}, (list_range){b.first, b.count});
}

/* The bank of ACC that an entry is in. */
static inline int64_t bank_of(const model *t, int64_t entry)
{
    const int64_t banks = t->m->acc == 512 || t->m->acc == 1024 ? 2 : 4; /* LOG_BANK of vta_compute.v */
    return entry * banks / t->m->acc;
}

/* Whose steps a job takes, and how many. */
static inline cycles *work_left(model *t, const job *j)
{
    return is_of_array(j) ? &t->array_left : &t->alu_left;
}

static inline cycles work_of(const job *j)
{
    return is_of_array(j) || j->kind == STEP_ALU || j->kind == STEP_REQUANT ? (cycles)j->steps : 0;
}

/* jobs.c */

/* Also counts STOREs, REQUANTs, and LOADs into INP and WGT. False: no memory. */
bool vtac_vta_jobs_make(model *t);

/* traffic.c */

/* What a transfer asks of the bus: bursts of so many beats. */
typedef struct bursts {
    int64_t count;
    cycles each;
} bursts;

void vtac_vta_traffic_init(model *t);
/* So many cycles of the bus for so many bytes, or more where the memory is slower than the bus. */
cycles vtac_vta_traffic_paced(const model *t, cycles beats, int64_t bytes);
/* `y` rows of `x` elements of `bytes`. Rows that touch are one. */
bursts vtac_vta_bursts_of(const model *t, int64_t y, int64_t x, int64_t stride, int64_t bytes);
/* Writes from `when` on, for so many cycles by themselves: reads are later by what they take, and the writes
 * by what is returned: they get what reads leave, and half of all at least. */
cycles vtac_vta_traffic_yield(model *t, cycles when, cycles writes);
/* Bursts follow each other. And only so many are on their way: where they are short, the next one waits until
 * the memory has answered an old one. */
cycles vtac_vta_traffic_write(cycles *bus, bursts_in_flight *flight, cycles first, cycles answer, bursts b);
/* Asks for the program's next chunk: there is room for it when an older one has been handed out. */
void vtac_vta_traffic_read_chunk(model *t);
/* The next instruction is in its unit's queue. */
cycles vtac_vta_traffic_fetch(model *t);
cycles vtac_vta_traffic_read(model *t, reader *who, cycles start, bursts b);
/* The bursts of a transfer: its number. */
uint32_t vtac_vta_transfer_begin(model *t);
void vtac_vta_transfer_end(model *t, transfer what, uint32_t owner);
/* The list does not say which unit asks first: LOADs that others came before are put off. */
void vtac_vta_traffic_settle(model *t);

/* loads.c */

/* The compute unit has waited for a store, in an instruction that is over at `end`. */
void vtac_vta_load_learn(model *t, uint32_t number, cycles end);
/* They take the cycles in which no data come: most of them are not seen. */
cycles vtac_vta_load_padding(const job *j);
/* The end of the stores that the LOAD of a step needs; *number: the newest of them. */
cycles vtac_vta_load_stored(const model *t, size_t at, uint32_t *number);
/* A REQUANT into INP: the LOADs that it meets there end later. */
void vtac_vta_load_delay(model *t, cycles from, cycles to);
/* Works out what the load unit begins before `when`. */
void vtac_vta_load_before(model *t, cycles when);
cycles vtac_vta_load_step(model *t);
cycles vtac_vta_store_step(model *t);

/* uops.c */

/* Behind vtac_vta_jobs_make. */
bool vtac_vta_uop_plan_make(model *t);
void vtac_vta_uop_plan_free(uop_plan *plan);

/* compute.c */

/* An instruction of the compute unit is over. */
void vtac_vta_compute_done(model *t, cycles over);
cycles vtac_vta_compute_step(model *t);

#endif
