/* SPDX-License-Identifier: Apache-2.0
 *
 * The functional simulator (vta/fsim.h): scratchpads, and the run of a program.
 *
 * Instructions are fetched one by one and executed as soon as their tokens are there; those that must wait go
 * to the queue of their unit. A legal program gives the same bits in whatever order its units proceed, so no
 * clock is needed; whether it comes to an end does not depend on the order either.
 */
#include <stdlib.h>
#include <string.h>

#include "fsim_internal.h"

/* 1 + the queue between two units, by producer and consumer; 0: there is none. */
static const uint8_t queue_between[VTA_UNIT_COUNT][VTA_UNIT_COUNT] = {
#define VTA_QUEUE(id, producer, consumer, doc)                                                               \
    [VTA_UNIT_##producer][VTA_UNIT_##consumer] = 1 + VTA_QUEUE_##id,
#include "vta/isa.def"
};

/* The variables of isa.def's expressions for micro-ops. */
#define TABLE_VARIABLES(config)                                                                              \
    const uint32_t A = (config)->log_depth[VTA_MEM_ACC];                                                     \
    const uint32_t I = (config)->log_depth[VTA_MEM_INP];                                                     \
    const uint32_t M = A > I ? A : I

static const fsim_kernel *find_kernel(const char *name)
{
    for (const fsim_kernel *const *k = vta_fsim_kernels; *k != NULL; k++) {
        if ((name == NULL || strcmp(name, (*k)->name) == 0) && (*k)->supported()) {
            return *k;
        }
    }
    return NULL;
}

static void set_uop_fields(vta_fsim *f)
{
    TABLE_VARIABLES(&f->config);
#define VTA_UOP_FIELD(member, at, width, doc)                                                                \
    f->uop_##member.lsb = (at)&31;                                                                           \
    f->uop_##member.mask = (uint32_t)((UINT64_C(1) << (width)) - 1);
#include "vta/isa.def"
}

/* Zeroed memory that a vector unit likes; NULL without memory. */
static void *zeroed(size_t size)
{
    const size_t whole = (size + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, whole);
    if (memory != NULL) {
        memset(memory, 0, whole);
    }
    return memory;
}

static bool allocate_memories(vta_fsim *f)
{
    const uint32_t *depth = f->config.depth;
    fsim_memory *m = &f->mem;
    m->batch = f->config.batch;
    m->in = f->config.block_in;
    m->out = f->config.block_out;
    m->inp_row = f->kernel->inp_row(m->in);
    m->wgt_entry = f->kernel->wgt_entry(m->in, m->out);
    m->inp = zeroed(depth[VTA_MEM_INP] * m->batch * m->inp_row);
    m->wgt = zeroed(depth[VTA_MEM_WGT] * m->wgt_entry);
    m->acc = zeroed((size_t)depth[VTA_MEM_ACC] * m->batch * m->out * sizeof *m->acc);
    m->out8 = zeroed((size_t)depth[VTA_MEM_OUT] * m->batch * m->out);
    f->uop = zeroed(depth[VTA_MEM_UOP] * sizeof *f->uop);
    return m->inp != NULL && m->wgt != NULL && m->acc != NULL && m->out8 != NULL && f->uop != NULL;
}

static bool allocate_lists(vta_fsim *f)
{
    f->dst = malloc(FSIM_UOPS * sizeof *f->dst);
    f->src = malloc(FSIM_UOPS * sizeof *f->src);
    f->aux = malloc(FSIM_UOPS * sizeof *f->aux);
    bool ok = f->dst != NULL && f->src != NULL && f->aux != NULL;
    for (int i = 0; i < 4; i++) {
        f->list[i] = malloc(FSIM_LIST * sizeof *f->list[i]);
        ok = ok && f->list[i] != NULL;
    }
    for (int u = VTA_UNIT_LOAD; u < VTA_UNIT_COUNT; u++) {
        f->units[u].ring = malloc(sizeof *f->units[u].ring << f->config.log_queue);
        ok = ok && f->units[u].ring != NULL;
    }
    for (int i = 0; f->strict && i < VTA_MEM_COUNT; i++) {
        if (i != VTA_MEM_ACC8 && i != VTA_MEM_WGT4) {
            f->written[i] = zeroed(f->config.depth[i]);
            ok = ok && f->written[i] != NULL;
        }
    }
    f->inp_parts = f->strict ? zeroed(f->config.depth[VTA_MEM_INP]) : NULL;
    ok = ok && (!f->strict || f->inp_parts != NULL);
    return ok;
}

vta_status vta_fsim_create_kernel(const vta_config *config, const vta_bus *bus, bool strict,
                                  const char *kernel, vta_fsim **out, vta_diag *diag)
{
    *out = NULL;
    const fsim_kernel *chosen = find_kernel(kernel);
    if (chosen == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "fsim has no kernel '%s' for this cpu",
                        kernel != NULL ? kernel : "");
    }
    vta_fsim *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for a functional simulator");
    }
    f->config = *config;
    f->bus = *bus;
    f->strict = strict;
    f->kernel = chosen;
    atomic_init(&f->interrupted, false);
    set_uop_fields(f);
    const bool memories = allocate_memories(f);
    if (!allocate_lists(f) || !memories) {
        vta_fsim_destroy(f);
        return vta_fail(diag, VTA_NOMEM, "no memory for the scratchpads of a functional simulator");
    }
    *out = f;
    return VTA_OK;
}

vta_status vta_fsim_create(const vta_config *config, const vta_bus *bus, bool strict, vta_fsim **out,
                           vta_diag *diag)
{
    return vta_fsim_create_kernel(config, bus, strict, NULL, out, diag);
}

void vta_fsim_destroy(vta_fsim *f)
{
    if (f == NULL) {
        return;
    }
    free(f->mem.inp);
    free(f->mem.wgt);
    free(f->mem.acc);
    free(f->mem.out8);
    free(f->uop);
    free(f->dst);
    free(f->src);
    free(f->aux);
    for (int i = 0; i < 4; i++) {
        free(f->list[i]);
    }
    for (int u = 0; u < VTA_UNIT_COUNT; u++) {
        free(f->units[u].ring);
    }
    for (int i = 0; i < VTA_MEM_COUNT; i++) {
        free(f->written[i]);
    }
    free(f->inp_parts);
    free(f);
}

void vta_fsim_interrupt(vta_fsim *f)
{
    atomic_store(&f->interrupted, true);
}

const char *vta_fsim_kernel(const vta_fsim *f)
{
    return f->kernel->name;
}

static void fail(vta_fsim *f, vta_error error, vta_unit unit, uint32_t insn)
{
    f->report->error = error;
    f->report->unit = unit;
    f->report->insn = insn;
}

static vta_error execute(vta_fsim *f, const vta_insn *insn)
{
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_LOAD: return vta_fsim_load(f, insn);
    case VTA_OP_STORE: return vta_fsim_store(f, insn);
    case VTA_OP_GEMM: return vta_fsim_gemm(f, insn);
    case VTA_OP_ALU: return vta_fsim_alu(f, insn);
    case VTA_OP_REQUANT: return vta_fsim_requant(f, insn);
    case VTA_OP_DEPTHWISE: return vta_fsim_depthwise(f, insn);
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
    return VTA_ERROR_NONE;
}

/* The counter of tokens from one unit to another; NULL where there is no queue between them. */
static uint32_t *tokens_between(vta_fsim *f, vta_unit from, vta_unit to)
{
    const bool units = (uint32_t)from < VTA_UNIT_COUNT && (uint32_t)to < VTA_UNIT_COUNT;
    const uint8_t queue = units ? queue_between[from][to] : 0;
    return queue == 0 ? NULL : &f->tokens[queue - 1];
}

/* Takes the tokens that an instruction waits for, all or none. */
static bool take_tokens(vta_fsim *f, vta_unit unit, const vta_insn *insn)
{
    uint32_t *prev = insn->pop_prev != 0 ? tokens_between(f, unit - 1, unit) : NULL;
    uint32_t *next = insn->pop_next != 0 ? tokens_between(f, unit + 1, unit) : NULL;
    if ((prev != NULL && *prev == 0) || (next != NULL && *next == 0)) {
        return false;
    }
    if (prev != NULL) {
        --*prev;
    }
    if (next != NULL) {
        --*next;
    }
    return true;
}

/* Gives what the unit's last instruction owes; false while a queue is full. */
static bool give_tokens(fsim_unit *u)
{
    while (u->pushes > 0) {
        uint32_t i = 0;
        while (i < u->pushes && *u->push[i] == VTA_TOKEN_CAPACITY) {
            i++;
        }
        if (i == u->pushes) {
            return false;
        }
        ++*u->push[i];
        u->push[i] = u->push[--u->pushes];
    }
    return true;
}

static void owe_tokens(vta_fsim *f, vta_unit unit, const vta_insn *insn)
{
    fsim_unit *u = &f->units[unit];
    uint32_t *prev = insn->push_prev != 0 ? tokens_between(f, unit, unit - 1) : NULL;
    uint32_t *next = insn->push_next != 0 ? tokens_between(f, unit, unit + 1) : NULL;
    if (prev != NULL) {
        u->push[u->pushes++] = prev;
    }
    if (next != NULL) {
        u->push[u->pushes++] = next;
    }
}

static void count_retired(vta_fsim *f, vta_unit unit)
{
    vta_counters *c = &f->report->counters;
    switch (unit) {
    case VTA_UNIT_LOAD: c->load_insns++; break;
    case VTA_UNIT_COMPUTE: c->compute_insns++; break;
    case VTA_UNIT_STORE: c->store_insns++; break;
    case VTA_UNIT_FETCH:
    case VTA_UNIT_COUNT: break;
    }
}

/* Has the unit nothing left to do? */
static bool idle(const fsim_unit *u)
{
    return u->count == 0 && u->pushes == 0;
}

/* FINISH waits for the other units. */
static bool may_start(const vta_fsim *f, const vta_insn *insn)
{
    return insn->opcode != VTA_OP_FINISH ||
           (idle(&f->units[VTA_UNIT_LOAD]) && idle(&f->units[VTA_UNIT_STORE]));
}

/* One instruction of a unit's queue, or the tokens that its last one owes. False: it cannot move, or the run
 * has ended. */
static bool step(vta_fsim *f, vta_unit unit)
{
    fsim_unit *u = &f->units[unit];
    const bool owed = u->pushes > 0;
    if (!give_tokens(u)) {
        return false;
    }
    if (u->count == 0) {
        return owed;
    }
    const fsim_pending *p = &u->ring[u->head];
    if (f->finished || !may_start(f, &p->insn) || !take_tokens(f, unit, &p->insn)) {
        return owed;
    }
    const vta_error error = execute(f, &p->insn);
    if (error != VTA_ERROR_NONE) {
        fail(f, error, unit, p->index);
    }
    if (error != VTA_ERROR_NONE || fsim_stopped(f)) {
        f->finished = true;
        return false;
    }
    count_retired(f, unit);
    u->pushing = p->index;
    owe_tokens(f, unit, &p->insn);
    f->finished = give_tokens(u) && p->insn.opcode == VTA_OP_FINISH;
    u->count--;
    u->head = u->count == 0 ? 0 : (u->head + 1) & ((UINT32_C(1) << f->config.log_queue) - 1);
    return true;
}

/* Lets all units go as far as they can. */
static void settle(vta_fsim *f)
{
    bool moved = true;
    while (moved && !f->finished) {
        moved = false;
        for (int u = VTA_UNIT_LOAD; u < VTA_UNIT_COUNT; u++) {
            while (!f->finished && step(f, (vta_unit)u)) {
                moved = true;
            }
        }
    }
}

/* The word of instruction `index`; false: the memory refuses. */
static bool fetch_word(const vta_fsim *f, uint32_t index, vta_word *word)
{
    const uint64_t offset = (uint64_t)index * VTA_INSN_BYTES;
    if (f->program != NULL) {
        memcpy(word, f->program + offset, sizeof *word);
        return true;
    }
    if (f->launch->insn_addr > UINT64_MAX - offset) {
        return false;
    }
    const void *at = f->bus.map(f->bus.context, f->launch->insn_addr + offset, VTA_INSN_BYTES);
    if (at != NULL) {
        memcpy(word, at, sizeof *word);
    }
    return at != NULL;
}

/* Fetches the next instruction into the queue of its unit, which has room for it. */
static vta_error fetch(vta_fsim *f, vta_unit *unit)
{
    fsim_pending next = {.index = f->fetched};
    vta_word word;
    if (!fetch_word(f, f->fetched, &word)) {
        return VTA_ERROR_FETCH_BUS;
    }
    const vta_error error = vta_insn_decode_raw(&f->config, word, &next.insn);
    if (error != VTA_ERROR_NONE) {
        return error;
    }
    if ((next.insn.opcode == VTA_OP_FINISH) != (f->fetched == f->launch->insn_count - 1)) {
        return VTA_ERROR_NO_FINISH;
    }
    *unit = vta_insn_unit(&next.insn);
    fsim_unit *u = &f->units[*unit];
    const uint32_t places = UINT32_C(1) << f->config.log_queue;
    if (u->count == places) {
        settle(f);
    }
    if (u->count < places && !f->finished) {
        u->ring[(u->head + u->count) & (places - 1)] = next;
        u->count++;
        f->fetched++;
        f->report->counters.fetch_insns++;
        f->report->counters.fetch_bytes += VTA_INSN_BYTES;
    } else {
        *unit = VTA_UNIT_FETCH;
    }
    return VTA_ERROR_NONE;
}

/* No unit can move: the oldest instruction that waits is named. */
static void report_stuck(vta_fsim *f)
{
    uint32_t oldest = UINT32_MAX;
    vta_unit unit = VTA_UNIT_FETCH;
    for (int u = VTA_UNIT_LOAD; u < VTA_UNIT_COUNT; u++) {
        const fsim_unit *s = &f->units[u];
        const uint32_t index = s->pushes > 0 ? s->pushing : s->count > 0 ? s->ring[s->head].index : oldest;
        if (index < oldest) {
            oldest = index;
            unit = (vta_unit)u;
        }
    }
    fail(f, f->strict ? VTA_ERROR_DEADLOCK : VTA_ERROR_WATCHDOG, unit, oldest);
}

static void check_tokens_left(vta_fsim *f)
{
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        if (f->tokens[q] != 0) {
            fail(f, VTA_ERROR_TOKENS_LEFT, VTA_UNIT_COMPUTE, f->launch->insn_count - 1);
        }
    }
}

static void run_program(vta_fsim *f)
{
    vta_error error = f->launch->insn_count == 0 ? VTA_ERROR_NO_FINISH : VTA_ERROR_NONE;
    while (error == VTA_ERROR_NONE && !f->finished && f->fetched < f->launch->insn_count) {
        vta_unit unit = VTA_UNIT_FETCH;
        error = fetch(f, &unit);
        if (unit == VTA_UNIT_FETCH) {
            break; /* an error, or a full queue that nothing empties */
        }
        if (step(f, unit)) {
            settle(f);
        }
    }
    settle(f);
    if (f->finished) {
        if (f->report->error == VTA_ERROR_NONE && !fsim_stopped(f)) {
            check_tokens_left(f);
        }
    } else if (error != VTA_ERROR_NONE) {
        fail(f, error, VTA_UNIT_FETCH, f->fetched);
    } else {
        report_stuck(f);
    }
}

/* Nothing of an earlier run may count: tokens, queues, what was written. */
static void begin_run(vta_fsim *f, const vta_launch *launch, vta_report *report)
{
    *report = (vta_report){0};
    f->report = report;
    f->launch = launch;
    f->fetched = 0;
    f->finished = false;
    f->program = NULL;
    if (launch->insn_count > 0) {
        f->program =
            f->bus.map(f->bus.context, launch->insn_addr, (uint64_t)launch->insn_count * VTA_INSN_BYTES);
    }
    memset(f->tokens, 0, sizeof f->tokens);
    for (int u = 0; u < VTA_UNIT_COUNT; u++) {
        f->units[u].head = 0;
        f->units[u].count = 0;
        f->units[u].pushes = 0;
    }
    for (int i = 0; i < VTA_MEM_COUNT; i++) {
        if (f->written[i] != NULL) {
            memset(f->written[i], 0, f->config.depth[i]);
        }
    }
    if (f->inp_parts != NULL) {
        memset(f->inp_parts, 0, f->config.depth[VTA_MEM_INP]);
    }
}

vta_status vta_fsim_run(vta_fsim *f, const vta_launch *launch, vta_report *report, vta_diag *diag)
{
    if (launch->insn_addr % VTA_BASE_ALIGN != 0) {
        return vta_fail(diag, VTA_INVALID, "instruction address 0x%llx is not a multiple of %d",
                        (unsigned long long)launch->insn_addr, VTA_BASE_ALIGN);
    }
    for (int i = 0; i < VTA_SEGMENTS; i++) {
        if (launch->base[i] % VTA_BASE_ALIGN != 0) {
            return vta_fail(diag, VTA_INVALID, "base 0x%llx of segment %d is not a multiple of %d",
                            (unsigned long long)launch->base[i], i, VTA_BASE_ALIGN);
        }
    }
    atomic_store(&f->interrupted, false);
    begin_run(f, launch, report);
    run_program(f);
    if (fsim_stopped(f)) {
        return vta_fail(diag, VTA_INTERRUPTED, "the run was interrupted after %llu instructions",
                        (unsigned long long)report->counters.fetch_insns);
    }
    return VTA_OK;
}
