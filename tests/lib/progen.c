/* SPDX-License-Identifier: Apache-2.0 */
#include "progen.h"

#include <stdlib.h>
#include <string.h>

#include "progen_internal.h"

enum { MAX_LENGTH = 100000, FLOOD_LENGTH = 60, CHAIN_LENGTH = 25, CHAIN_PERCENT = 6 };

/* ---- the plan of a program ---- */

/* To whole elements of INP and ACC, and to where a base may stand: all powers of two. */
static uint64_t round_up(const gen *g, uint64_t size)
{
    uint64_t unit = VTA_BASE_ALIGN;
    unit = unit > g->config->elem_bytes[VTA_MEM_INP] ? unit : g->config->elem_bytes[VTA_MEM_INP];
    unit = unit > g->config->elem_bytes[VTA_MEM_ACC] ? unit : g->config->elem_bytes[VTA_MEM_ACC];
    return (size + unit - 1) / unit * unit;
}

static gen_window draw_window(gen *g, vta_memory memory, uint32_t min, uint32_t max)
{
    const uint32_t depth = g->config->depth[memory];
    uint32_t size = min + rng_below(&g->random, max - min + 1);
    size = size < depth ? size : depth;
    const uint32_t kind = rng_below(&g->random, 3);
    const uint32_t room = depth - size;
    return (gen_window){.base = kind == 0   ? 0
                                : kind == 1 ? room
                                            : rng_below(&g->random, room + 1),
                        .size = size};
}

/* Bytes that hold what a window's worth of any memory needs, and room around it. */
static uint64_t data_bytes(const gen *g)
{
    uint64_t bytes = 16384;
    static const vta_memory of[] = {VTA_MEM_INP, VTA_MEM_WGT, VTA_MEM_ACC};
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const uint64_t need = (uint64_t)(g->windows[of[i]].size + 16) * g->config->elem_bytes[of[i]];
        bytes = need > bytes ? need : bytes;
    }
    return bytes;
}

static void plan_segments(gen *g, uint32_t length)
{
    progen_style styles[VTA_SEGMENTS] = {PROGEN_UOPS, PROGEN_PARAMS, PROGEN_DATA};
    const uint64_t sizes[] = {[PROGEN_UOPS] = 4 * (1024 + 64 * (uint64_t)length),
                              [PROGEN_PARAMS] = 32 * (uint64_t)g->config->elem_bytes[VTA_MEM_ACC],
                              [PROGEN_DATA] = data_bytes(g)};
    for (uint32_t i = 3; i < VTA_SEGMENTS; i++) {
        styles[i] = rng_percent(&g->random, 20) ? PROGEN_DATA : PROGEN_UNUSED;
    }
    for (uint32_t i = VTA_SEGMENTS - 1; i > 0; i--) {
        const uint32_t j = rng_below(&g->random, i + 1);
        const progen_style swap = styles[i];
        styles[i] = styles[j];
        styles[j] = swap;
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        progen_segment *segment = &g->program->segments[i];
        segment->style = styles[i];
        segment->offset = at;
        if (styles[i] != PROGEN_UNUSED) {
            segment->size = round_up(g, sizes[styles[i]] + 64 * rng_below(&g->random, 64));
            at += segment->size + 64 * (uint64_t)rng_below(&g->random, 8);
        }
    }
    g->program->arena_size = at + 64;
}

static uint64_t uop_words_in_dram(const progen_program *program)
{
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        if (program->segments[i].style == PROGEN_UOPS) {
            return program->segments[i].size / VTA_UOP_BYTES;
        }
    }
    return 0;
}

static bool plan(gen *g, uint32_t length)
{
    g->windows[VTA_MEM_INP] = draw_window(g, VTA_MEM_INP, 8, 120);
    g->windows[VTA_MEM_WGT] = draw_window(g, VTA_MEM_WGT, 2, 20);
    g->windows[VTA_MEM_ACC] = draw_window(g, VTA_MEM_ACC, 8, 120);
    g->windows[VTA_MEM_UOP] = draw_window(g, VTA_MEM_UOP, 24, 300);
    g->windows[VTA_MEM_TAB] = (gen_window){0, g->config->depth[VTA_MEM_TAB]};
    plan_segments(g, length);
    bool room = true;
    for (int space = 0; space < GEN_SPACES; space++) {
        const uint64_t cells =
            space == GEN_DRAM ? g->program->arena_size / GEN_GRANULE : g->config->depth[space];
        g->cells[space] = calloc(cells, sizeof *g->cells[space]);
        room = room && g->cells[space] != NULL;
    }
    g->uop_words = calloc(g->config->depth[VTA_MEM_UOP], sizeof *g->uop_words);
    g->program->uops = calloc(uop_words_in_dram(g->program), sizeof *g->program->uops);
    return room && g->uop_words != NULL && g->program->uops != NULL;
}

/* ---- the whole ---- */

static vta_status encode(gen *g, vta_diag *diag)
{
    progen_program *program = g->program;
    uint32_t *order = malloc(g->node_count * sizeof *order);
    program->insns = malloc(g->node_count * sizeof *program->insns);
    vta_status status =
        order != NULL && program->insns != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory");
    if (status == VTA_OK) {
        gen_interleave(g, order);
    }
    for (uint32_t i = 0; status == VTA_OK && i < g->node_count; i++) {
        status = vta_insn_encode(g->config, &g->nodes[order[i]].insn, &program->insns[i], diag);
    }
    program->insn_count = g->node_count;
    free(order);
    return status;
}

static void generate(gen *g, uint32_t length)
{
    const bool flood = length >= FLOOD_LENGTH && rng_percent(&g->random, 25);
    const uint32_t flood_at = rng_below(&g->random, length + 1);
    bool flooded = false;
    while (!g->no_memory && g->node_count + 1 < length) {
        if (flood && !flooded && g->node_count >= flood_at) {
            gen_flood(g);
            flooded = true;
        }
        if (g->node_count + CHAIN_LENGTH < length && rng_percent(&g->random, CHAIN_PERCENT)) {
            gen_chain(g);
        } else {
            gen_random_insn(g);
        }
    }
    gen_finish(g);
}

static void release(gen *g)
{
    for (int space = 0; space < GEN_SPACES; space++) {
        free(g->cells[space]);
    }
    for (int u = 0; u < GEN_UNITS; u++) {
        free(g->by_count[u]);
    }
    for (int q = 0; q < VTA_QUEUE_COUNT; q++) {
        free(g->queues[q].pushers);
    }
    free(g->nodes);
    free(g->uop_words);
}

vta_status progen_make(const vta_config *config, uint64_t seed, uint32_t length, progen_program *out,
                       vta_diag *diag)
{
    if (length > MAX_LENGTH) {
        return vta_fail(diag, VTA_RANGE, "length %u exceeds %d", length, MAX_LENGTH);
    }
    *out = (progen_program){.config = *config, .seed = seed};
    gen g = {.program = out, .config = &out->config, .random = rng_split(seed, 3)};
    if (plan(&g, length)) {
        generate(&g, length);
    } else {
        g.no_memory = true;
    }
    const vta_status status = g.no_memory ? vta_fail(diag, VTA_NOMEM, "out of memory") : encode(&g, diag);
    release(&g);
    if (status != VTA_OK) {
        progen_free(out);
    }
    return status;
}

void progen_free(progen_program *program)
{
    free(program->insns);
    free(program->uops);
    *program = (progen_program){0};
}

vta_status progen_copy(const progen_program *from, progen_program *out)
{
    *out = *from;
    const size_t words = uop_words_in_dram(from);
    out->insns = malloc((from->insn_count + 1) * sizeof *out->insns);
    out->uops = malloc((words + 1) * sizeof *out->uops);
    if (out->insns == NULL || out->uops == NULL) {
        progen_free(out);
        return VTA_NOMEM;
    }
    memcpy(out->insns, from->insns, from->insn_count * sizeof *out->insns);
    memcpy(out->uops, from->uops, words * sizeof *out->uops);
    return VTA_OK;
}

vta_launch progen_launch(const progen_program *program, uint64_t insn_addr, uint64_t arena_addr)
{
    vta_launch launch = {.insn_addr = insn_addr, .insn_count = program->insn_count};
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        launch.base[i] = arena_addr + program->segments[i].offset;
    }
    return launch;
}

static vta_status export_symbol(const progen_program *program, uint32_t segment, const uint8_t *arena,
                                vta_symbol *out)
{
    const progen_segment *from = &program->segments[segment];
    static const vta_memory memory[] = {
        [PROGEN_UOPS] = VTA_MEM_UOP, [PROGEN_PARAMS] = VTA_MEM_ACC, [PROGEN_DATA] = VTA_MEM_INP};
    *out = (vta_symbol){.segment = segment, .memory = memory[from->style], .size = from->size};
    char name[] = "segment0";
    name[sizeof name - 2] = (char)('0' + segment);
    out->name = strdup(name);
    out->data = malloc(from->size);
    if (out->name == NULL || out->data == NULL) {
        return VTA_NOMEM;
    }
    memcpy(out->data, arena + from->offset, from->size);
    return VTA_OK;
}

vta_status progen_export(const progen_program *program, uint64_t data_seed, vta_program *out)
{
    *out = (vta_program){.config = program->config, .insn_count = program->insn_count};
    uint8_t *arena = malloc(program->arena_size);
    out->insns = malloc((program->insn_count + 1) * sizeof *out->insns);
    out->symbols = calloc(VTA_SEGMENTS, sizeof *out->symbols);
    vta_status status = arena != NULL && out->insns != NULL && out->symbols != NULL ? VTA_OK : VTA_NOMEM;
    if (status == VTA_OK) {
        progen_fill(program, data_seed, arena);
        memcpy(out->insns, program->insns, program->insn_count * sizeof *out->insns);
    }
    for (uint32_t i = 0; status == VTA_OK && i < VTA_SEGMENTS; i++) {
        if (program->segments[i].style != PROGEN_UNUSED) {
            status = export_symbol(program, i, arena, &out->symbols[out->symbol_count++]);
        }
    }
    free(arena);
    if (status != VTA_OK) {
        vta_program_free(out);
    }
    return status;
}
