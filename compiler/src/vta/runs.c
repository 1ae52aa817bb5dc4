/* SPDX-License-Identifier: Apache-2.0
 *
 * Movements of whole blocks: runs of pixels go to other places, and each number stays in its lane. Tiles are
 * loaded into ACC as int8, go through the ALU as they are, and are stored from there. Windows of an image,
 * images of a batch and heads of attention are such runs.
 *
 * ACC: three slots, loaded, computed and stored in turn. A slot holds tiles in the order of the output.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sched.h"
#include "vta/number.h"

enum { SLOTS = 3, MAX_SLOT = 512 }; /* entries: small pieces fill the pipeline sooner */

static const vtac_vta_tensor *tensor_out(const plan *p)
{
    return &p->region->tensors[p->layer->output];
}

static int64_t tiles_of(const machine *m, const vtac_vta_tensor *t)
{
    return t->n * vta_ceil_div(t->c, m->block) * t->h * t->w;
}

vta_status vtac_vta_rule_runs(const machine *m, const vtac_vta_region *region, uint32_t number,
                              vta_diag *diag)
{
    const vtac_vta_layer *layer = &region->layers[number];
    int64_t count = 0;
    bool inside = true;
    if (m->batch > 1) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it moves blocks of pixels, and this machine takes %" PRId64
                        " images at a time; use a configuration with LOG_BATCH 0",
                        m->batch);
    }
    for (uint32_t i = 0; i < layer->run_count; i++) {
        const vtac_vta_run *run = &layer->runs[i];
        inside = inside && (run->input < 0 || run->from + run->count <=
                                                  tiles_of(m, &region->tensors[layer->inputs[run->input]]));
        count += run->count;
    }
    return inside && count == tiles_of(m, &region->tensors[layer->output])
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED, "its runs were made for blocks of another size");
}

vta_status vtac_vta_runs_plan(const machine *m, const vtac_vta_region *region, uint32_t number, plan *out,
                              vta_diag *diag)
{
    enum { PIECE_CYCLES = 40 };
    vtac_vta_plan_init(m, region, number, out);
    const int64_t tiles = tiles_of(m, tensor_out(out)), room = m->acc / SLOTS / m->ro;
    if (room < 1) {
        return vta_fail(diag, VTA_RANGE, "layer '%s' does not fit the buffers; larger ones would help",
                        out->layer->name);
    }
    out->runs.slot = vta_min(room, MAX_SLOT);
    const int64_t pieces = vta_ceil_div(tiles, out->runs.slot);
    const uint64_t bytes = (uint64_t)(tiles * m->block);
    out->units = (load_of_units){.alu = (uint64_t)(tiles * m->ro),
                                 .load = bytes / (uint64_t)m->beat,
                                 .store = bytes / (uint64_t)m->beat,
                                 .bytes_read = bytes,
                                 .bytes_written = bytes};
    out->cycles = vtac_vta_units_cycles(&out->units) + (uint64_t)(pieces * PIECE_CYCLES);
    return VTA_OK;
}

vta_status vtac_vta_runs_pack(plan *p, blob *to, vta_diag *diag)
{
    (void)p; /* it has no constants */
    (void)to;
    (void)diag;
    return VTA_OK;
}

typedef struct runs_emitter {
    const plan *p;
    step_list *list;
    uint32_t run; /* the next one, of which `taken` tiles are done */
    int64_t taken;
} runs_emitter;

/* The first element of a tensor, from the start of WORK. */
static int64_t origin_of(const plan *p, uint32_t tensor)
{
    return (int64_t)p->region->tensors[tensor].offset / p->machine->config->elem_bytes[VTA_MEM_OUT];
}

/* The rest of the next run, at most `room` tiles. */
static vtac_vta_run take_run(runs_emitter *e, int64_t room)
{
    vtac_vta_run own = e->p->layer->runs[e->run];
    own.from += own.input < 0 ? 0 : e->taken;
    own.count = vta_min(own.count - e->taken, room);
    e->taken += own.count;
    if (e->taken == e->p->layer->runs[e->run].count) {
        e->run++;
        e->taken = 0;
    }
    return own;
}

/* The number of runs from the next one on that continue `first` at equal distances, within `room` tiles. */
static int64_t equal_runs(const runs_emitter *e, const vtac_vta_run *first, int64_t room, int64_t *pitch)
{
    const vtac_vta_layer *layer = e->p->layer;
    int64_t count = 1;
    *pitch = first->count;
    for (uint32_t i = e->run; e->taken == 0 && i < layer->run_count && (count + 1) * first->count <= room;
         i++, count++) {
        const vtac_vta_run *next = &layer->runs[i];
        const int64_t own = (next->from - first->from) / count;
        if (next->input != first->input || next->count != first->count || own < first->count ||
            next->from != first->from + count * own || (count > 1 && own != *pitch)) {
            break;
        }
        *pitch = own;
    }
    return count;
}

/* Loads the next runs that go together into ACC from entry `at` on; returns their tiles, `room` at most. */
static int64_t load_runs(runs_emitter *e, int64_t at, int64_t room)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro;
    const vtac_vta_run first = take_run(e, room);
    int64_t pitch;
    if (first.input < 0) {
        vtac_vta_list_alu_number(e->list, VTA_ALU_MOV, at, at, tensor_out(p)->zero, first.count * ro);
        return first.count;
    }
    const int64_t rows = equal_runs(e, &first, room, &pitch);
    e->run += (uint32_t)(rows - 1);
    vtac_vta_list_load(e->list,
                       &(vta_load2d){.memory = VTA_MEM_ACC8,
                                     .sram = at,
                                     .buffer = {WORK_BUFFER},
                                     .offset = origin_of(p, p->layer->inputs[first.input]) + first.from * ro,
                                     .y_size = rows,
                                     .x_size = first.count * ro,
                                     .x_stride = pitch * ro});
    vtac_vta_list_alu_number(e->list, VTA_ALU_ADD, at, at, 0, rows * first.count * ro);
    return rows * first.count;
}

static void emit_piece(runs_emitter *e, int64_t first, int64_t at)
{
    const plan *p = e->p;
    const int64_t ro = p->machine->ro;
    const int64_t count = vta_min(p->runs.slot, tiles_of(p->machine, tensor_out(p)) - first);
    int64_t done = 0;
    while (done < count) {
        done += load_runs(e, at + done * ro, count - done);
    }
    vtac_vta_list_store(e->list, &(vta_store2d){.sram = at,
                                                .buffer = {WORK_BUFFER},
                                                .offset = origin_of(p, p->layer->output) + first * ro,
                                                .y_size = 1,
                                                .x_size = count * ro,
                                                .x_stride = count * ro});
}

bool vtac_vta_runs_are_one(const machine *m, const vtac_vta_region *region, const vtac_vta_layer *layer)
{
    return layer->run_count == 1 && layer->runs[0].input == 0 && layer->runs[0].from == 0 &&
           layer->runs[0].count == tiles_of(m, &region->tensors[layer->inputs[0]]);
}

/* True if the input was made in the place of the output (decide.c). */
static bool is_in_place(const plan *p)
{
    return vtac_vta_runs_are_one(p->machine, p->region, p->layer) &&
           origin_of(p, p->layer->inputs[0]) == origin_of(p, p->layer->output);
}

vta_status vtac_vta_runs_emit(const plan *p, step_list *list, vta_diag *diag)
{
    runs_emitter e = {.p = p, .list = list};
    const int64_t count = tiles_of(p->machine, tensor_out(p));
    for (int64_t first = 0; first < count && !is_in_place(p); first += p->runs.slot) {
        emit_piece(&e, first, first / p->runs.slot % SLOTS * p->runs.slot * p->machine->ro);
    }
    vtac_vta_list_flush(list);
    return list->failed ? vta_fail(diag, VTA_NOMEM, "no memory to schedule layer '%s'", p->layer->name)
                        : VTA_OK;
}
