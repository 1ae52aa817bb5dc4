/* SPDX-License-Identifier: Apache-2.0 */
#include "own_copy.h"

#include <inttypes.h>
#include <string.h>

#include "vta/check.h"

/* Micro-ops that a program loads by way of one segment: from the first to behind the last. */
typedef struct span {
    uint64_t begin, end; /* where the caller has them; end 0: none */
    uint64_t skipped;    /* elements from the segment's base to the copy's first */
    uint64_t at;         /* of the copy, in the block of copies; aligned as a base is */
    uint32_t target;     /* the segment by way of which they are loaded from the copy */
    bool copied;
} span;

typedef struct copying {
    vta_own_copy *own;
    const vta_backend_ops *ops;
    void *self;
    const vta_config *config;
    const vta_launch *launch;
    vta_bus below;
    span spans[VTA_SEGMENTS];
    uint32_t others; /* segments that something else is loaded from or stored to, a bit each */
    uint64_t uop_bytes;
} copying;

static vta_status make_room(const copying *c, vta_mem *mem, uint64_t size, vta_diag *diag)
{
    if (mem->size >= size) {
        return VTA_OK;
    }
    if (mem->host != NULL) {
        c->ops->free(c->self, mem);
        *mem = (vta_mem){0};
    }
    return c->ops->alloc(c->self, VTA_ANYWHERE, (size_t)size, mem, diag);
}

static vta_status copy_insns(const copying *c, vta_diag *diag)
{
    const uint64_t bytes = (uint64_t)c->launch->insn_count * VTA_INSN_BYTES;
    const void *from = c->below.map(c->below.context, c->launch->insn_addr, bytes);
    if (from == NULL) {
        return vta_fail(diag, VTA_RANGE, "there is no program at address 0x%" PRIx64, c->launch->insn_addr);
    }
    VTA_TRY(make_room(c, &c->own->insns, bytes, diag));
    memmove(c->own->insns.host, from, (size_t)bytes);
    return VTA_OK;
}

/* An instruction of the copy that reaches memory. What is no instruction is for the checker to tell. */
static bool transfer_at(const copying *c, uint32_t index, vta_insn *insn)
{
    vta_word word;
    memcpy(&word, (const uint8_t *)c->own->insns.host + (size_t)index * VTA_INSN_BYTES, sizeof word);
    return vta_insn_decode_raw(c->config, word, insn) == VTA_ERROR_NONE &&
           (insn->opcode == VTA_OP_LOAD || insn->opcode == VTA_OP_STORE) && insn->mem.x_size > 0 &&
           insn->mem.y_size > 0;
}

static bool loads_uops(const vta_insn *insn)
{
    return insn->opcode == VTA_OP_LOAD && insn->mem.memory == VTA_MEM_UOP;
}

/* A range beyond the last address is left out: the checker refuses it. */
static void widen(span *s, uint64_t base, const vta_insn *insn, uint32_t bytes)
{
    const uint64_t first = (uint64_t)insn->mem.dram_base;
    const uint64_t last =
        first + (uint64_t)(insn->mem.y_size - 1) * (uint64_t)insn->mem.x_stride + (uint64_t)insn->mem.x_size;
    if (last * bytes > UINT64_MAX - base) {
        return;
    }
    const uint64_t begin = base + first * bytes;
    const uint64_t end = base + last * bytes;
    s->begin = s->end == 0 || begin < s->begin ? begin : s->begin;
    s->end = end > s->end ? end : s->end;
}

static void survey(copying *c)
{
    vta_insn insn;
    for (uint32_t i = 0; i < c->launch->insn_count; i++) {
        if (transfer_at(c, i, &insn)) {
            const uint32_t segment = (uint32_t)insn.mem.segment;
            if (loads_uops(&insn)) {
                widen(&c->spans[segment], c->launch->base[segment], &insn,
                      c->config->elem_bytes[VTA_MEM_UOP]);
            } else {
                c->others |= UINT32_C(1) << segment;
            }
        }
    }
}

/* The segment itself where nothing else uses it, else one that is free; VTA_SEGMENTS: there is none. */
static uint32_t target_of(const copying *c, uint32_t segment)
{
    uint32_t taken = c->others;
    if ((taken >> segment & 1) == 0) {
        return segment;
    }
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        const bool has = c->spans[i].end != 0;
        taken |= has ? UINT32_C(1) << i : 0;
        taken |= has && i < segment && c->spans[i].copied ? UINT32_C(1) << c->spans[i].target : 0;
    }
    uint32_t target = 0;
    while (target < VTA_SEGMENTS && (taken >> target & 1) != 0) {
        target++;
    }
    return target;
}

/* The copy begins at a multiple of what a base is one of, as far from the first micro-op as there. */
static void place_spans(copying *c)
{
    const uint32_t bytes = c->config->elem_bytes[VTA_MEM_UOP];
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        span *s = &c->spans[i];
        if (s->end == 0) {
            continue;
        }
        const uint64_t aligned = s->begin / VTA_BASE_ALIGN * VTA_BASE_ALIGN;
        s->target = target_of(c, i);
        s->copied =
            s->target < VTA_SEGMENTS && c->below.map(c->below.context, s->begin, s->end - s->begin) != NULL;
        s->skipped = (aligned - c->launch->base[i]) / bytes;
        s->at = c->uop_bytes;
        if (s->copied) {
            c->uop_bytes += (s->end - aligned + VTA_BASE_ALIGN - 1) / VTA_BASE_ALIGN * VTA_BASE_ALIGN;
        }
    }
}

static uint8_t *place_of(const copying *c, const span *s)
{
    return (uint8_t *)c->own->uops.host + s->at + s->begin % VTA_BASE_ALIGN;
}

static vta_status copy_uops(copying *c, vta_diag *diag)
{
    place_spans(c);
    VTA_TRY(make_room(c, &c->own->uops, c->uop_bytes, diag));
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        const span *s = &c->spans[i];
        const void *from = s->copied ? c->below.map(c->below.context, s->begin, s->end - s->begin) : NULL;
        if (from != NULL) {
            memmove(place_of(c, s), from, (size_t)(s->end - s->begin));
        }
    }
    return VTA_OK;
}

static bool meets(const vta_mem *mem, uint64_t addr, uint64_t size)
{
    return mem->size > 0 && addr < mem->addr + mem->size && mem->addr < addr + size;
}

static bool holds(uint64_t begin, uint64_t end, uint64_t addr, uint64_t size)
{
    return addr >= begin && addr < end && size <= end - addr;
}

/* The memory that the checker sees: copies where the originals are, and nothing where the copies are. */
static void *see(void *context, uint64_t addr, uint64_t size)
{
    const copying *c = context;
    const uint64_t program = c->launch->insn_addr;
    if (holds(program, program + (uint64_t)c->launch->insn_count * VTA_INSN_BYTES, addr, size)) {
        return (uint8_t *)c->own->insns.host + (addr - program);
    }
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        const span *s = &c->spans[i];
        if (s->copied && holds(s->begin, s->end, addr, size)) {
            return place_of(c, s) + (addr - s->begin);
        }
    }
    const bool ours = meets(&c->own->insns, addr, size) || meets(&c->own->uops, addr, size);
    return ours ? NULL : c->below.map(c->below.context, addr, size);
}

static vta_status all_copied(const copying *c, vta_diag *diag)
{
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        if (c->spans[i].end != 0 && !c->spans[i].copied) {
            return vta_fail(diag, VTA_UNSUPPORTED,
                            "the checked micro-ops of segment %" PRIu32
                            " need one block of memory and a segment of their own",
                            i);
        }
    }
    return VTA_OK;
}

/* Loads of micro-ops in the copy read the copies. */
static vta_status redirect(const copying *c, vta_diag *diag)
{
    vta_insn insn;
    for (uint32_t i = 0; i < c->launch->insn_count; i++) {
        if (transfer_at(c, i, &insn) && loads_uops(&insn)) {
            const span *s = &c->spans[insn.mem.segment];
            vta_word word;
            insn.mem.dram_base -= (int64_t)s->skipped;
            insn.mem.segment = s->target;
            VTA_TRY(vta_insn_encode(c->config, &insn, &word, diag));
            memcpy((uint8_t *)c->own->insns.host + (size_t)i * VTA_INSN_BYTES, &word, sizeof word);
        }
    }
    return VTA_OK;
}

static void flush(const copying *c, const vta_mem *mem, uint64_t size)
{
    if (c->ops->flush != NULL && size > 0) {
        c->ops->flush(c->self, mem, 0, (size_t)size);
    }
}

vta_status vta_own_copy_check(vta_own_copy *own, const vta_backend_ops *ops, void *self,
                              const vta_config *config, const vta_launch *launch, vta_launch *out,
                              vta_diag *diag)
{
    copying c = {.own = own, .ops = ops, .self = self, .config = config, .launch = launch};
    const vta_bus bus = {see, &c};
    c.below = ops->bus(self);
    VTA_TRY(copy_insns(&c, diag));
    survey(&c);
    VTA_TRY(copy_uops(&c, diag));
    VTA_TRY(vta_check(config, launch, &bus, NULL, diag));
    VTA_TRY(all_copied(&c, diag));
    VTA_TRY(redirect(&c, diag));
    flush(&c, &own->insns, (uint64_t)launch->insn_count * VTA_INSN_BYTES);
    flush(&c, &own->uops, c.uop_bytes);
    *out = *launch;
    out->insn_addr = own->insns.addr;
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        if (c.spans[i].end != 0) {
            out->base[c.spans[i].target] = own->uops.addr + c.spans[i].at;
        }
    }
    return VTA_OK;
}
