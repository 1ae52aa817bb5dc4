/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule while it is being made: a list of the runtime's calls. Candidates are lists, too: the timing
 * model reads them, and only the list that won is recorded into a stream.
 *
 * Calls come in two kinds. *Main* calls fill the array and are appended at once. The *epilogue* of a piece of
 * work (requantize, store) is held back until the main call of the next piece stands: instructions issue in
 * order, so the array would otherwise wait for the ALU after every piece. Holding back changes no result: a
 * call that touches an accumulator entry of the held epilogue is appended after it.
 */
#ifndef VTAC_VTA_LIST_H
#define VTAC_VTA_LIST_H

#include "vta/runtime.h"
#include "vta/vec.h"

/* The stream's buffers, in the order of their declaration. */
enum { CONSTANTS_BUFFER, WORK_BUFFER };

typedef enum step_kind { STEP_LOAD, STEP_STORE, STEP_GEMM, STEP_DEPTHWISE, STEP_ALU, STEP_REQUANT } step_kind;

/* `count` entries of a scratchpad, or bytes of a buffer, from `first` on. */
typedef struct list_range {
    int64_t first, count;
} list_range;

typedef struct step {
    step_kind kind;
    uint32_t tag;
    bool flush;          /* of a draft: appends the held epilogue first */
    uint8_t shares;      /* of a main call: `shares` of the list */
    bool kept;           /* of a LOAD: the run before has left on chip what it brings */
    list_range to, from; /* of a draft: ACC entries that it may write, and read */
    union {
        vta_load2d load;
        vta_store2d store;
        vta_gemm gemm; /* kernels are numbers of the list */
        vta_depthwise depthwise;
        vta_alu alu;
        vta_requant requant;
    };
} step;

typedef struct list_kernel {
    uint64_t hash;
    uint32_t first, count; /* a range of the list's micro-ops */
    uint32_t dst_runs;
    vta_uop low, high; /* the minimum and the maximum of each index */
} list_kernel;

static inline bool list_meets(list_range a, list_range b)
{
    return a.first < b.first + b.count && b.first < a.first + a.count;
}

/* The entries that a load fills, padding included. */
static inline list_range list_fills(const vta_load2d *load)
{
    const int64_t rows = load->y_pad_0 + load->y_size + load->y_pad_1;
    return (list_range){load->sram, rows * (load->x_pad_0 + load->x_size + load->x_pad_1)};
}

enum { LATER_RANGES = 16 };

/* The ends of a layer's last uses of the scratchpads: entries behind them are free for the next layer. The
 * layer's parameters lie at the other end of ACC, from `params` on (0: none). */
typedef struct list_ends {
    int64_t inp, wgt, acc, params;
} list_ends;

typedef struct step_list {
    vta_vec steps;   /* of step */
    vta_vec spare;   /* memory for another order of the steps (ahead.c) */
    vta_vec later;   /* of step: the epilogue that is held back */
    vta_vec drafts;  /* of step: calls whose order is not chosen yet */
    vta_vec pieces;  /* of size_t: the first draft of each piece */
    bool drafting;   /* calls become drafts */
    bool flush;      /* the next draft gets `flush` */
    uint8_t shares;  /* the next main call releases one of so many parts of the epilogue; 0: all */
    vta_vec uops;    /* of vta_uop */
    vta_vec kernels; /* of list_kernel */
    uint32_t *table; /* hash table of kernel numbers + 1, owned */
    size_t table_size;
    uint32_t tag;
    list_range ranges[LATER_RANGES]; /* ACC entries that the epilogue touches */
    uint32_t range_count;
    list_ends ends; /* of the layer before, if layers are not interleaved */
    bool uops_kept; /* the run before has left all micro-ops on chip */
    bool failed;    /* out of memory; never reset */
} step_list;

void vtac_vta_list_init(step_list *list);
/* Empties the list and keeps its memory. */
void vtac_vta_list_clear(step_list *list);
void vtac_vta_list_free(step_list *list);

/* Copies the calls and kernels of a list. */
void vtac_vta_list_copy(const step_list *from, step_list *to);

/* The number of a kernel; equal kernels have one number. */
vta_kernel vtac_vta_list_kernel_of(step_list *list, const vta_uop *uops, uint32_t count);
/* True if there is a kernel of these micro-ops; *found gets its number. */
bool vtac_vta_list_has(const step_list *list, const vta_uop *uops, uint32_t count, vta_kernel *found);
const vta_uop *vtac_vta_list_uops(const step_list *list, vta_kernel kernel, uint32_t *count);

/* Appends a load; loads into ACC belong to the epilogue. */
void vtac_vta_list_load(step_list *list, const vta_load2d *load);

/* Loads table 0 or 1 of REQUANT: 256 bytes from `offset` on. */
void vtac_vta_list_table(step_list *list, int64_t table, uint32_t buffer, int64_t offset);

/* Appends a load with any padding: as several calls where the padding fields are too small, and where nothing
 * but padding is left. */
void vtac_vta_list_load_padded(step_list *list, const vta_load2d *load);

/* Main calls. `acc` has the entries that they may write. */
void vtac_vta_list_gemm(step_list *list, const vta_gemm *gemm, list_range acc);
void vtac_vta_list_depthwise(step_list *list, const vta_depthwise *depthwise, list_range acc);

/* Calls of the epilogue. `to` and `from` have the entries that they may write and read; a REQUANT also
 * reads its parameters. */
void vtac_vta_list_alu(step_list *list, const vta_alu *alu, list_range to, list_range from);
/* An ALU operation of `count` entries from src on with one number; the results go to dst on. */
void vtac_vta_list_alu_number(step_list *list, vta_alu_op op, int64_t dst, int64_t src, int64_t number,
                              int64_t count);
void vtac_vta_list_requant(step_list *list, const vta_requant *requant, list_range to, list_range from);
void vtac_vta_list_store(step_list *list, const vta_store2d *store);

/* True if a step is a LOAD that ahead.c may move up: one into INP or WGT. */
static inline bool list_is_early(const step *s)
{
    return s->kind == STEP_LOAD && (s->load.memory == VTA_MEM_INP || vta_loads_wgt(s->load.memory));
}

/* The number of entries from the first to the last one that a REQUANT writes. */
static inline int64_t list_requant_count(const vta_requant *r)
{
    return (r->iter_out - 1) * r->dst_out + (r->iter_in - 1) * r->dst_in + 1;
}

/* The range of entries that a GEMM, DEPTHWISE or ALU touches. */
typedef struct list_nest {
    int64_t dst, dst_count, src, src_count, wgt, wgt_count;
    int64_t dst_spread; /* the maximum distance between destinations of micro-ops */
    uint32_t dst_runs;  /* micro-ops with another destination than their predecessor's; each has to read it */
    uint32_t uops;
} list_nest;

/* The range of a kernel whose loops advance by `dst` and `src` entries in all. */
static inline list_nest list_nest_by(const step_list *list, vta_kernel kernel, int64_t dst, int64_t src)
{
    const list_kernel *k = (const list_kernel *)list->kernels.items + kernel.index;
    return (list_nest){.dst = k->low.dst,
                       .dst_count = (int64_t)k->high.dst + dst - k->low.dst + 1,
                       .dst_spread = (int64_t)k->high.dst - k->low.dst,
                       .src = k->low.src,
                       .src_count = (int64_t)k->high.src + src - k->low.src + 1,
                       .wgt = k->low.aux,
                       .wgt_count = (int64_t)k->high.aux - k->low.aux + 1,
                       .dst_runs = k->dst_runs,
                       .uops = k->count};
}

static inline list_nest list_nest_of(const step_list *list, const step *s)
{
    if (s->kind == STEP_GEMM) {
        const vta_gemm *g = &s->gemm;
        list_nest nest =
            list_nest_by(list, g->kernel, (g->iter_out - 1) * g->dst_out + (g->iter_in - 1) * g->dst_in,
                         (g->iter_out - 1) * g->src_out + (g->iter_in - 1) * g->src_in);
        nest.wgt_count += (g->iter_out - 1) * g->wgt_out + (g->iter_in - 1) * g->wgt_in;
        return nest;
    }
    if (s->kind == STEP_DEPTHWISE) {
        const vta_depthwise *d = &s->depthwise;
        const int64_t beyond = (d->taps_y - 1) * d->row_step + (d->taps_x - 1) * d->col_step;
        return list_nest_by(list, d->kernel, (d->iter_out - 1) * d->dst_out + (d->iter_in - 1) * d->dst_in,
                            (d->iter_out - 1) * d->src_out + (d->iter_in - 1) * d->src_in + beyond);
    }
    const vta_alu *a = &s->alu;
    return list_nest_by(list, a->kernel, (a->iter_out - 1) * a->dst_out + (a->iter_in - 1) * a->dst_in,
                        (a->iter_out - 1) * a->src_out + (a->iter_in - 1) * a->src_in);
}

/* A rough estimate of the array's cycles for a step. */
int64_t vtac_vta_list_work_of(const step_list *list, const vta_config *config, const step *s);

/* Appends the epilogue that is held back. */
void vtac_vta_list_flush(step_list *list);

/* Drafts. A list that is drafting keeps calls in the order in which a layer makes them, grouped into pieces
 * that stay together. vtac_vta_list_piece begins a piece; vtac_vta_list_put appends a draft as a call. */
void vtac_vta_list_piece(step_list *list);
void vtac_vta_list_put(step_list *list, const step *draft);

/* Prefetch: moves loads up so that work of the array hides them (ahead.c). Results do not change. */
void vtac_vta_list_load_ahead(step_list *list, const vta_config *config, int64_t latency);
/* Puts the steps into the order that `order` gives. */
void vtac_vta_list_reorder(step_list *list, const uint32_t *order);

/* A hash of everything that decides how long the list takes. */
uint64_t vtac_vta_list_hash(const step_list *list);

/* Records the list into a stream. */
vta_status vtac_vta_list_record(const step_list *list, vta_stream *stream, vta_diag *diag);

#endif
