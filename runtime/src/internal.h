/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a recording and what they ask of each other:
 *
 *   stream.c   the typed calls: argument checks, encoding, what an instruction reads and writes;
 *              stream_compute.c: those of the compute unit
 *   kernel.c   micro-op kernels: kept once, resident in the UOP scratchpad
 *   marks.c    who touched a scratchpad entry or a DRAM byte last
 *   order.c    dependency tokens, and the list of instructions
 *   code.c     sealing and the sealed code · program.c: the same as a program, and back
 *   job.c      running it · keep.c: what stays on chip for the next run
 *
 * A *position* counts the instructions of one unit, from 1; 0 is "none".
 */
#ifndef VTA_RUNTIME_INTERNAL_H
#define VTA_RUNTIME_INTERNAL_H

#include "vta/runtime.h"

enum { UOP_SEGMENT = VTA_SEGMENTS - 1 };

/* The three units as indices; `unit_of` and `line_of` translate. */
typedef enum line_index { LOAD_LINE, COMPUTE_LINE, STORE_LINE, LINES } line_index;

/* Up to which position each unit's instructions are over. */
typedef struct instant {
    uint32_t at[LINES];
} instant;

/* One unit's instructions in their order. */
typedef struct unit_line {
    uint32_t *insn; /* index in the stream */
    instant *start; /* what is over when it starts */
    size_t insn_capacity, start_capacity;
    uint32_t count;
} unit_line;

/* A token queue: the k-th push meets the k-th pop. */
typedef struct token_queue {
    uint32_t pushed;                       /* position of the producer's last push */
    uint32_t pops;                         /* so far */
    uint32_t pop_insn[VTA_TOKEN_CAPACITY]; /* stream index of the last ones, by number modulo the capacity */
} token_queue;

/* marks.c */

typedef struct span {
    uint32_t start, length;
} span;

/* Entries: every base span, shifted by `offset` and by every combination of dim[d].step ·
 * (0 … dim[d].count - 1). */
enum { FOOTPRINT_DIMS = 4 };
typedef struct footprint {
    const span *bases;
    uint32_t base_count, offset;
    struct dim {
        uint64_t count, step;
    } dim[FOOTPRINT_DIMS];
} footprint;

/* For each scratchpad entry the position of the last access of one kind. */
uint32_t vta_marks_latest(const uint32_t *marks, const footprint *entries);
void vta_marks_set(uint32_t *marks, const footprint *entries, uint32_t position);

/* The same for the granules of a DRAM buffer, in pages that are one number while they can be. */
typedef struct dram_page {
    uint32_t all;   /* while each == NULL */
    uint32_t *each; /* owned */
} dram_page;
typedef struct page_map {
    dram_page *page; /* NULL until something is set */
    uint64_t granules;
} page_map;

/* Rows of granules: `rows` of `length` each, `pitch` apart. */
typedef struct rectangle {
    uint64_t start, length, rows, pitch;
} rectangle;
uint32_t vta_pages_latest(const page_map *pages, const rectangle *area);
bool vta_pages_set(page_map *pages, const rectangle *area, uint32_t position); /* false: no memory */
void vta_pages_free(page_map *pages);

/* kernel.c */

enum { UOP_DST, UOP_SRC, UOP_AUX, UOP_FIELDS };

typedef struct kernel_record {
    uint64_t hash;
    uint32_t count;
    uint32_t *words;         /* encoded, owned */
    span *spans[UOP_FIELDS]; /* the values of a field, owned */
    uint32_t span_count[UOP_FIELDS];
    uint32_t max[UOP_FIELDS];
    bool in_image, resident;
    uint32_t image; /* first word in the image */
    uint32_t sram;  /* first entry while resident */
} kernel_record;

typedef struct uop_cache {
    kernel_record *kernels;
    size_t kernel_count, kernel_capacity;
    uint32_t *table; /* hash table of kernel numbers + 1 */
    size_t table_size;
    uint32_t *image; /* the micro-ops in DRAM */
    size_t image_count, image_capacity;
    uint32_t *owner;      /* of each UOP entry: kernel number + 1; 0: free */
    uint32_t *used;       /* of each UOP entry: index + 1 of the last instruction that read it */
    uint32_t top;         /* entries from here on have never been used */
    uint32_t open, close; /* what is left of the window that was given up last */
    struct {
        uint32_t insn, sram, image, count, limit; /* count 0: none */
    } last_load;
    uint32_t spare; /* the next LOAD's place in the stream, a nop until it is known; 0: none */
} uop_cache;

typedef struct buffer_record {
    char *name; /* owned */
    uint64_t size;
    vta_memory memory; /* of the first access: the element that a text counts in */
    bool used;
    page_map stores, loads, compute_loads;
} buffer_record;

struct vta_stream {
    vta_config config;
    vta_diag diag; /* the first failure */
    const char *call;
    uint64_t calls;
    bool manual, sealed;
    uint32_t flags, tag;

    vta_word *words;
    uint32_t *tags;
    uint8_t *insn_flags;
    size_t word_capacity, tag_capacity, flag_capacity;
    uint32_t count;

    unit_line lines[LINES];
    token_queue queues[VTA_QUEUE_COUNT];
    instant floor; /* of the last barrier */

    uint32_t *inp_writes, *inp_uses; /* by load; by compute, which reads and writes */
    uint32_t *wgt_writes, *wgt_reads, *out_writes, *out_reads;
    buffer_record buffers[VTA_STREAM_BUFFERS];
    uint32_t buffer_count;
    uint32_t granule; /* bytes */
    uop_cache uops;
};

/* Makes the kernel resident and gives its first UOP entry; to be called just before the instruction that
 * reads it. */
vta_status vta_kernel_require(vta_stream *stream, vta_kernel handle, uint32_t *sram);
/* Notes that the instruction recorded last reads it. */
void vta_kernel_used(vta_stream *stream, vta_kernel handle);
vta_status vta_kernel_init(vta_stream *stream);
void vta_kernel_free(vta_stream *stream);

/* stream.c */

/* The frame of every call: false when the stream has failed before or is sealed. */
bool vta_call_begin(vta_stream *stream, const char *call);
void vta_call_end(vta_stream *stream);

/* order.c */

line_index vta_line_of(vta_unit unit);

/* Appends an instruction that must start after the positions in `need`; *position gets its own. */
vta_status vta_order_append(vta_stream *stream, line_index unit, vta_word word, instant need,
                            uint32_t *position);

/* True for an instruction that does nothing but wait; a barrier is nothing to it. */
vta_status vta_order_nop(vta_stream *stream, line_index unit, instant need, uint32_t *position);
void vta_order_free(vta_stream *stream);

/* The header bits that the flags stand for, from the one encoder. */
vta_status vta_order_flag_bits(const vta_config *config, uint32_t flags, vta_word *bits, vta_diag *diag);

/* code.c */

struct vta_code {
    vta_code_info info;
    vta_word *insns;
    uint32_t *tags, *uops;
    struct code_buffer {
        char *name;
        uint64_t size;
        vta_memory memory;
        bool loaded, stored;
    } buffers[VTA_STREAM_BUFFERS];
};

/* Notes what legal instructions do, as vta_code_info and vta_buffer_info tell it. */
void vta_code_count(vta_code *code);

/* job.c: what LOADs bring from the buffers in `constants`, a bit each, stays on chip from run to run where it
 * can: their bytes do not change. Before the job's first run. */
vta_status vta_job_keep(vta_job *job, uint32_t constants, vta_diag *diag);

/* Takes what it keeps out of the stream. */
vta_status vta_code_seal(vta_stream *stream, vta_code **out);

#endif
