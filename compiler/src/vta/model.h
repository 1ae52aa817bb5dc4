/* SPDX-License-Identifier: Apache-2.0
 *
 * The state that the parts of the timing model share, and their interfaces.
 *
 *   timing.c    goes through the list, step by step
 *   traffic.c   the memory: the program, bursts of reads, writes, and which of them delay others
 *   bus.c       its read bus
 *   marks.c     the times at which places of scratchpads and memory were last written and read
 *   jobs.c      what each step asks for, worked out before any time is known
 *   loads.c     the load unit, which has a place of its own in the list, and the store unit
 *   uops.c      the places of LOADs of micro-ops in the program
 *   compute.c   the compute unit: its queues, the array beside the ALU, the banks of ACC
 *   shares.c    the layer to which each cycle goes
 *
 * All times are cycles from the start of the run. For each scratchpad the model keeps the times of the last
 * write and read of each granule of entries. For DRAM it keeps the last store of each page, a page being as
 * large as the smallest element, as the runtime does, which orders transfers by pages.
 */
#ifndef VTAC_VTA_MODEL_H
#define VTAC_VTA_MODEL_H

#include "bus.h"
#include "marks.h"
#include "timing.h"
#include "vta/number.h"

/* The machine's constants, in cycles unless another unit is named: measured on the RTL, the same
 * for every configuration. */
enum {
    FETCH = 2,        /* to fetch an instruction */
    START = 4,        /* until the first instructions are asked for */
    DECODE = 4,       /* from fetch until an instruction may begin */
    FETCH_LEAD = 3,   /* from the program's address to its first beat, beyond the memory's latency */
    LOAD_LEAD = 6,    /* from a LOAD's start to its first beat, beyond the memory's latency */
    COMPUTE_LEAD = 7, /* the same where the compute unit loads */
    LOAD_GAP = 2,     /* from LOAD to LOAD */
    ROW_GAP = 1,      /* from burst to burst */
    STORE_GAP =
        6, /* the same of STOREs, and to a STORE's first beat; a STORE ends with the memory's last answer */
    TOKEN = 2,
    ARRAY_DRAIN = 11, /* from the last step to the end */
    ALU_DRAIN = 9,
    ALU_START = 1,
    RECORD = 2,       /* steps: to fetch parameters */
    WIDE_RECORD = 3,  /* steps: the same with 31-bit multipliers */
    UNIT = 14,        /* cycles of a root or a reciprocal: vta_row_unit.v */
    PADS = 4,         /* entries of padding hidden behind the bus, for each that is not */
    PAD_QUARTERS = 5, /* quarters of a cycle for a pad that data wait for, as measured */
    PIPE_QUEUE = 4,
    WRITES_IN_FLIGHT = 16, /* bursts: LOG_FLIGHT of vta_axi_write.v */
    WRITE_STAGE = 1,       /* from the array's step to the ALU's that would write in the same cycle */
    READ_STAGE = 6,        /* from the array's step to the ALU's that would read ACC then: vta_gemm.v,
                              vta_alu.v */
    GRANULES = 2048,
    TRANSFERS = 16,    /* newest LOADs, whose data may still be delayed */
    BURSTS_BACK = 128, /* newest bursts, which may belong to those LOADs */
    NEWEST = 4,        /* newest LOADs into INP, and REQUANTs, that may collide there */
    INSN_BYTES = 16,
    CHUNK_BYTES = 256, /* of the program, read at a time */
    CHUNKS = 4,        /* chunks that are held: vta_fetch.v */
    CHUNK_INSNS = CHUNK_BYTES / INSN_BYTES,
    AHEAD = 2, /* queues' worth of instructions read in advance: the busiest unit's queue is full then */
    CHUNKS_AHEAD = 128, /* upper bound of chunks read in advance */
};

typedef struct track {
    marks wrote, read;            /* by granule: the end of the last write; of the last read */
    int log_size;                 /* log2 of a granule's entries */
    uint16_t place[GRANULES + 1]; /* by granule: its place in the marks */
    int64_t places;
} track;

/* Places of a scratchpad in the marks, from the first to the last. */
typedef struct granule_run {
    uint16_t first, last;
} granule_run;

#define NOWHERE ((granule_run){1, 0})

/* A range of entries of a scratchpad. */
typedef struct entry_range {
    int32_t first, count;
} entry_range;

/* jobs.c: the properties of a step that the model uses. */
typedef struct job {
    uint8_t kind;                /* step_kind */
    uint8_t memory;              /* of a LOAD */
    bool early;                  /* a LOAD into INP or WGT */
    bool works;                  /* reads data that may have been stored */
    bool reads;                  /* the array: reads ACC where it writes it */
    bool to_inp;                 /* a REQUANT into INP */
    bool by_row;                 /* a REQUANT with a record for each pass of its outer loop */
    uint8_t record;              /* of a REQUANT: entries of a record */
    uint32_t tag, kernel;        /* kernel: except for REQUANTs */
    granule_run to, from, by;    /* places of results; of inputs; of weights or parameters */
    entry_range dst, src, other; /* the same as entries */
    union {
        struct { /* of transfers */
            int32_t bursts, beats;
            int32_t pads; /* entries that are filled without being read */
            int32_t gap;  /* cycles before the next transfer may begin */
        };
        struct { /* of the array and the ALU */
            int32_t steps, writes;
            int32_t lead;   /* of a REQUANT by row: steps before the last row's record; else 0 */
            int32_t spread; /* the maximum distance between destinations of micro-ops */
        };
    };
} job;

/* An instruction of the array that may run beside the ALU. It goes through `count` entries of ACC from
 * `first` on, and alternates with those `spread` entries behind them. */
typedef struct array_span {
    cycles begin, end;
    int64_t first, count, spread;
    double writes, reads; /* entries of ACC in a cycle */
    bool apart;           /* writes and reads fall into different cycles */
} array_span;

/* A writer of INP and its time; for a LOAD, also the places that it writes. */
typedef struct inp_span {
    cycles from, to;
    granule_run where;
} inp_span;

/* A writer of entries of ACC, its time, and the share of cycles in which it writes. */
typedef struct acc_span {
    cycles from, to;
    int64_t first, count;
    granule_run where;
    double writes;
    uint32_t transfer; /* number of the LOAD, if it is one */
} acc_span;

/* A LOAD. Requests that the list shows later may still come before its own, and delay its data. */
typedef struct transfer {
    uint32_t number;
    cycles bus_end, end; /* of its last burst; and with all data in the scratchpad */
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

/* uops.c: a LOAD of micro-ops before step `at`. */
typedef struct uop_load {
    uint32_t at, count;
} uop_load;

/* All LOADs of micro-ops. need: by step, the number of the LOAD that it needs, from 1 on; 0: none. */
typedef struct uop_plan {
    uint32_t *need;
    vta_vec loads; /* of uop_load */
    cycles *end;   /* by LOAD */
    bool failed;
} uop_plan;

typedef struct model {
    const machine *m;
    const step_list *list;
    track inp, wgt, out; /* out.wrote: times of retirement; out.read: numbers of stores */
    job *jobs;           /* by step */
    size_t count, store_count, requant_count;
    cycles array_left, alu_left;        /* the remaining work of the steps behind `at`, a lower bound */
    marks array_acc, alu_acc, load_acc; /* by granule of ACC: the last end in each pipeline */
    marks alu_read;                     /* by granule of ACC: until the ALU has read it */
    marks alu_inp, array_inp; /* by granule of INP: ends of REQUANT's writes; of the array's reads */
    marks page_store;         /* by page of WORK: number of the last store */
    int64_t page_count;
    int log_page;           /* log2 of a page's bytes */
    cycles *store_end;      /* by store, increasing; number 0 is none */
    uint32_t stores;        /* number of stores so far */
    uint32_t stores_known;  /* stores that the compute unit has waited for */
    uint32_t stores_loaded; /* stores that the load unit has waited for, through the compute unit */
    cycles *known_at;       /* by store: the time from which the compute unit could tell of it */
    cycles fetch, bus_store;
    uint64_t loads_left; /* LOADs into INP and WGT from the step at hand on */
    double yielded;      /* fraction of a cycle that writes still have to take from reads */
    read_bus reads;
    reader fetching, loading, computing;
    cycles burst_beats, chunk_beats; /* maximum beats of a burst; beats of a chunk of the program */
    bursts_in_flight writes;
    uint64_t insns;                   /* instructions so far */
    uint64_t chunks;                  /* chunks of the program that were asked for */
    cycles chunk_at[CHUNKS_AHEAD];    /* by chunk: the time of its first instruction */
    cycles chunk_room[CHUNKS];        /* by slot: the earliest request */
    cycles fetch_asked, chunk_handed; /* the last request; its end */
    cycles load_issue, store_issue, compute_issue, retired;
    cycles array_free, array_start, alu_free, alu_start, acc_load, load_engine;
    cycles array_fetched, alu_fetched; /* end of fetching micro-ops: vta_gemm.v, vta_alu.v */
    array_span newest;                 /* the array's newest instruction */
    inp_span inp_loads[NEWEST], inp_requants[NEWEST];
    transfer transfers[TRANSFERS];
    uint32_t transferred;
    acc_span acc_loads[NEWEST], acc_writers[NEWEST];
    uint32_t inp_load, inp_requant, acc_loaded, acc_writer; /* the next entry of each ring */
    size_t at;                                              /* the step at hand */
    size_t lead;               /* LOADs into INP and WGT before this step are worked out */
    size_t reach;              /* the last step that fits into the queues */
    uint64_t reached;          /* instructions of the compute unit up to `reach` */
    uint64_t computes, passed; /* instructions of the compute unit: up to `at`; before `lead` */
    marks inp_reader, wgt_reader, page_writer; /* last step before `lead` that reads or stores; from 1 on */
    window_of_times array_queue, alu_queue, load_queue;
    uop_plan uops;
    size_t uop_loads; /* LOADs of micro-ops that have begun */
    timing_deed now;  /* of the step at hand */
    vta_vec deeds;    /* of timing_deed, if shares are wanted */
    bool keep, failed;
} model;

/* log2 of the bytes of a page: of the smallest element. */
static inline int log_page_of(const machine *m)
{
    return vta_log2(vta_min(m->config->elem_bytes[VTA_MEM_INP], m->config->elem_bytes[VTA_MEM_OUT]));
}

static inline const step *step_at(const step_list *list, size_t number)
{
    return (const step *)list->steps.items + number;
}

/* A queue: the time when its oldest entry leaves, and makes room. */
static inline cycles queue_room(const window_of_times *w)
{
    return w->at[w->next % PIPE_QUEUE];
}

static inline void queue_take(window_of_times *w, cycles when)
{
    w->at[w->next++ % PIPE_QUEUE] = when;
}

static inline granules granules_of(granule_run r)
{
    return (granules){r.first, r.last};
}

static inline cycles latest_at(const marks *of, granule_run r)
{
    return marks_latest(of, granules_of(r));
}

static inline void set_places(marks *of, granule_run r, cycles when)
{
    marks_set(of, granules_of(r), when);
}

/* The scratchpad that a LOAD fills. */
static inline track *load_track(model *t, const job *j)
{
    return j->memory == VTA_MEM_INP ? &t->inp : vta_loads_wgt(j->memory) ? &t->wgt : &t->out;
}

static inline bool runs_on_array(const job *j)
{
    return j->kind == STEP_GEMM || j->kind == STEP_DEPTHWISE;
}

static inline bool stretches_meet(entry_range a, entry_range b)
{
    return list_meets((list_range){a.first, a.count}, (list_range){b.first, b.count});
}

/* The bank of ACC that has an entry. */
static inline int64_t bank_of(const model *t, int64_t entry)
{
    const int64_t banks = t->m->acc == 512 || t->m->acc == 1024 ? 2 : 4; /* LOG_BANK of vta_compute.v */
    return entry * banks / t->m->acc;
}

/* The fraction of these entries that lies in a bank. */
static inline double share_of_bank(const model *t, int64_t first, int64_t count, int64_t bank)
{
    const int64_t size = t->m->acc / bank_of(t, t->m->acc), begin = bank * size;
    const int64_t from = vta_max(first, begin), to = vta_min(first + count, begin + size);
    return to > from ? (double)(to - from) / (double)count : 0.0;
}

/* The unit's remaining work that a job counts for (work_left), and the job's work (work_of). */
static inline cycles *work_left(model *t, const job *j)
{
    return runs_on_array(j) ? &t->array_left : &t->alu_left;
}

static inline cycles work_of(const job *j)
{
    return runs_on_array(j) || j->kind == STEP_ALU || j->kind == STEP_REQUANT ? (cycles)j->steps : 0;
}

/* jobs.c */

/* Also counts STOREs, REQUANTs, and LOADs into INP and WGT. False: no memory. */
bool vtac_vta_jobs_make(model *t);

/* traffic.c */

/* The bursts of a transfer, of `each` beats. */
typedef struct bursts {
    int64_t count;
    cycles each;
} bursts;

void vtac_vta_traffic_init(model *t);
/* The cycles of a transfer: `beats` of the bus, or more if the memory is slower than the bus. */
cycles vtac_vta_traffic_paced(const model *t, cycles beats, int64_t bytes);
/* The bursts of `y` rows of `x` elements of `bytes` bytes. Rows that touch form one. */
bursts vtac_vta_bursts_of(const model *t, int64_t y, int64_t x, int64_t stride, int64_t bytes);
/* Delays reads by writes that begin at `when` and take `writes` cycles alone; returns the cycles by which the
 * writes are delayed. Writes get the bandwidth that reads leave, and at least half of it. */
cycles vtac_vta_traffic_yield(model *t, cycles when, cycles writes);
/* The end of consecutive bursts of writes. The number of bursts under way is limited: short bursts wait until
 * the memory has answered an old one. */
cycles vtac_vta_traffic_write(cycles *bus, bursts_in_flight *flight, cycles first, cycles answer, bursts b);
/* Asks for the program's next chunk as soon as an older chunk is used up and leaves room. */
void vtac_vta_traffic_read_chunk(model *t);
/* Fetches the next instruction; returns the time when it is in its unit's queue. */
cycles vtac_vta_traffic_fetch(model *t);
cycles vtac_vta_traffic_read(model *t, reader *who, cycles start, bursts b);
/* Begins a transfer, and returns its number. */
uint32_t vtac_vta_transfer_begin(model *t);
void vtac_vta_transfer_end(model *t, transfer what, uint32_t owner);
/* Corrects the ends of LOADs that were delayed by requests which the list shows later. */
void vtac_vta_traffic_settle(model *t);

/* loads.c */

/* Notes that the compute unit has waited for a store, in an instruction that ends at `end`. */
void vtac_vta_load_learn(model *t, uint32_t number, cycles end);
/* The visible cycles of padding: most padding is written in cycles without data. */
cycles vtac_vta_load_padding(const job *j);
/* The end of the stores that the LOAD of step `at` needs; *number gets the newest of them. */
cycles vtac_vta_load_stored(const model *t, size_t at, uint32_t *number);
/* Delays the LOADs that collide with a REQUANT into INP. */
void vtac_vta_load_delay(model *t, cycles from, cycles to);
/* Works out everything that the load unit begins before `when`. */
void vtac_vta_load_before(model *t, cycles when);
cycles vtac_vta_load_step(model *t);
cycles vtac_vta_store_step(model *t);

/* uops.c */

/* Call after vtac_vta_jobs_make. */
bool vtac_vta_uop_plan_make(model *t);
void vtac_vta_uop_plan_free(uop_plan *plan);

/* compute.c */

/* Notes that an instruction of the compute unit ends at `over`. */
void vtac_vta_compute_done(model *t, cycles over);
cycles vtac_vta_compute_step(model *t);

#endif
