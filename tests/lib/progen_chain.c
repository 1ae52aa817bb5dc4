/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains: instructions of the compute unit one right behind the other, on the same few accumulators. Their
 * micro-ops are loaded before the first of them, so that nothing keeps the array, the ALU and the loads from
 * running into each other at distances of a few cycles. What a chain leaves in OUT is stored, so that a
 * result that is too old is seen.
 */
#include "progen_internal.h"

enum {
    MAX_HOT = 6,
    KERNEL = 5, /* micro-ops of each kind */
    SPARE = 3,  /* entries that loops may go beyond the hot ones */
    MAX = 16,   /* instructions of a chain */
    APART = 12  /* cycles between two of them, at most */
};

/* The kinds of micro-ops, each KERNEL of them in this order from `uops` on. */
enum { OF_ARRAY, OF_ALU, OF_REQUANT, OF_LOOP, OF_FILLER, KINDS };

typedef struct chain {
    gen *g;
    uint32_t hot, size;         /* accumulators */
    uint32_t hot_inp, inp_size; /* input entries that requantizations write */
    uint32_t uops;
    bool table; /* one has been loaded */
} chain;

static uint32_t below(chain *c, uint32_t bound)
{
    return rng_below(&c->g->random, bound);
}

static bool percent(chain *c, uint32_t p)
{
    return rng_percent(&c->g->random, p);
}

static uint32_t hot_entry(chain *c)
{
    return c->hot + below(c, c->size);
}

static uint32_t anywhere(chain *c, vta_memory memory)
{
    return c->g->windows[memory].base + below(c, c->g->windows[memory].size);
}

/* An entry for the array to read: often one that requantizations write, or one next to it. */
static uint32_t input_entry(chain *c)
{
    return percent(c, 60) ? c->hot_inp + below(c, c->inp_size) : anywhere(c, VTA_MEM_INP);
}

static uint32_t loop_entry(chain *c)
{
    return (c->hot_inp + below(c, c->inp_size)) % c->g->config->depth[VTA_MEM_ACC];
}

/* ---- what stands before the first instruction ---- */

static bool load_kernels(chain *c)
{
    vta_uop uops[KINDS * KERNEL];
    const gen_window acc = c->g->windows[VTA_MEM_ACC];
    const uint32_t pair = (acc.base + below(c, acc.size - 1) + 1) / 2;
    for (uint32_t i = 0; i < KERNEL; i++) {
        uops[OF_ARRAY * KERNEL + i] =
            (vta_uop){.dst = hot_entry(c), .src = input_entry(c), .aux = anywhere(c, VTA_MEM_WGT)};
        uops[OF_LOOP * KERNEL + i] =
            (vta_uop){.dst = loop_entry(c),
                      .src = percent(c, 70) ? hot_entry(c) : anywhere(c, VTA_MEM_ACC),
                      .aux = pair};
        uops[OF_ALU * KERNEL + i] = (vta_uop){.dst = hot_entry(c), .src = hot_entry(c)};
        uops[OF_REQUANT * KERNEL + i] = (vta_uop){
            .dst = hot_entry(c), .src = hot_entry(c), .aux = percent(c, 25) ? (hot_entry(c) + 1) / 2 : pair};
        uops[OF_FILLER * KERNEL + i] = (vta_uop){.dst = anywhere(c, VTA_MEM_ACC)};
    }
    return gen_load_parameters(c->g, 2 * (int64_t)pair, 2) &&
           gen_load_uops(c->g, uops, KINDS * KERNEL, &c->uops);
}

/* ---- instructions ---- */

/* A range of micro-ops of a kind. */
static void draw_range(chain *c, uint32_t kind, int64_t *begin, int64_t *end)
{
    const uint32_t first = below(c, KERNEL);
    const uint32_t max = KERNEL - first < 3 ? KERNEL - first : 3;
    *begin = c->uops + kind * KERNEL + first;
    *end = *begin + (percent(c, 50) ? 1 : 1 + below(c, max));
}

static void draw_loop(chain *c, int64_t *out, int64_t *in)
{
    *out = percent(c, 80) ? 1 : 2;
    *in = percent(c, 50) ? 1 : 1 + below(c, 4);
}

static bool array_insn(chain *c)
{
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    draw_range(c, OF_ARRAY, &insn.gemm.uop_begin, &insn.gemm.uop_end);
    draw_loop(c, &insn.gemm.iter_out, &insn.gemm.iter_in);
    insn.gemm.reset = percent(c, 10);
    insn.gemm.init = !insn.gemm.reset && percent(c, 40);
    insn.gemm.dst_out = below(c, 2);
    insn.gemm.dst_in = below(c, 2);
    insn.gemm.src_in = below(c, 2);
    return gen_take(c->g, &insn);
}

static bool depthwise_insn(chain *c)
{
    vta_insn insn = {.opcode = VTA_OP_DEPTHWISE};
    draw_range(c, OF_ARRAY, &insn.depthwise.uop_begin, &insn.depthwise.uop_end);
    draw_loop(c, &insn.depthwise.iter_out, &insn.depthwise.iter_in);
    const bool nine = c->g->config->block_out >= 9 && percent(c, 40);
    insn.depthwise.taps_x = nine ? 3 : 1 + below(c, 2);
    insn.depthwise.taps_y = nine ? 3 : 1 + below(c, 2);
    insn.depthwise.col_step = 1;
    insn.depthwise.row_step = below(c, 4);
    insn.depthwise.init = percent(c, 50);
    insn.depthwise.dst_out = below(c, 2);
    insn.depthwise.dst_in = below(c, 2);
    insn.depthwise.src_in = below(c, 2);
    return gen_take(c->g, &insn);
}

static bool alu_insn(chain *c)
{
    /* Operations that keep what their operands tell are drawn more often than those that drop it. */
    static const int64_t telling[] = {VTA_ALU_ADD, VTA_ALU_ADD, VTA_ALU_MUL, VTA_ALU_MOV};
    vta_insn insn = {.opcode = VTA_OP_ALU};
    draw_range(c, OF_ALU, &insn.alu.uop_begin, &insn.alu.uop_end);
    draw_loop(c, &insn.alu.iter_out, &insn.alu.iter_in);
    insn.alu.alu_op = percent(c, 70) ? telling[below(c, 4)] : (int64_t)below(c, VTA_ALU_ROW);
    insn.alu.use_imm = percent(c, 40);
    insn.alu.from_src = insn.alu.use_imm && percent(c, 50);
    insn.alu.imm = insn.alu.use_imm ? 1 + below(c, 7) : 0;
    insn.alu.dst_out = below(c, 2);
    insn.alu.dst_in = below(c, 2);
    insn.alu.src_out = below(c, 2);
    insn.alu.src_in = below(c, 2);
    return gen_take(c->g, &insn);
}

static bool row_insn(chain *c)
{
    vta_insn insn = {.opcode = VTA_OP_ALU};
    draw_range(c, OF_ALU, &insn.alu.uop_begin, &insn.alu.uop_end);
    draw_loop(c, &insn.alu.iter_out, &insn.alu.iter_in);
    insn.alu.alu_op = VTA_ALU_ROW;
    insn.alu.use_imm = insn.alu.from_src = 1;
    insn.alu.imm = gen_row(c->g);
    insn.alu.dst_out = below(c, 2);
    insn.alu.dst_in = below(c, 2);
    insn.alu.src_out = below(c, 2);
    insn.alu.src_in = below(c, 2);
    return gen_take(c->g, &insn);
}

/* Draws long results, or a record for each pass of the outer loop, for a configuration that has them. */
static void draw_rows(chain *c, vta_insn *insn)
{
    if (c->g->config->rows == 0) {
        return;
    }
    if (percent(c, 40)) {
        insn->requant.by_row = 1;
        insn->requant.iter_out = 1 + below(c, 4);
        insn->requant.src_out = below(c, 2);
    }
    if (insn->requant.table == 0 && !insn->requant.to_inp && percent(c, 40)) {
        insn->requant.long_result = 1;
        insn->requant.low = insn->requant.high = 0;
    }
}

static bool requant_insn(chain *c)
{
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    int64_t end = 0;
    draw_range(c, OF_REQUANT, &insn.requant.uop, &end);
    draw_loop(c, &insn.requant.iter_out, &insn.requant.iter_in);
    insn.requant.table = c->table && percent(c, 40) ? 1 + below(c, VTA_TABLES) : 0;
    insn.requant.low = -128;
    insn.requant.high = 127;
    insn.requant.dst_out = below(c, 2);
    insn.requant.dst_in = below(c, 2);
    insn.requant.src_in = below(c, 2);
    draw_rows(c, &insn);
    return gen_take(c->g, &insn);
}

/* A REQUANT to some of the hot input entries, of one part of them; `most` steps at most. */
static bool loop_insn(chain *c, uint32_t max)
{
    const vta_config *config = c->g->config;
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    int64_t end = 0;
    if (config->block_out > config->block_in) {
        return requant_insn(c);
    }
    const uint32_t parts = config->block_in / config->block_out;
    draw_range(c, OF_LOOP, &insn.requant.uop, &end);
    draw_loop(c, &insn.requant.iter_out, &insn.requant.iter_in);
    if (max > 1 && percent(c, 60)) {
        insn.requant.iter_in = 1 + below(c, max);
    }
    insn.requant.to_inp = 1;
    insn.requant.part = below(c, parts < 4 ? parts : 4);
    insn.requant.dst_high = c->hot_inp / config->depth[VTA_MEM_ACC];
    insn.requant.table = c->table && percent(c, 20) ? 1 + below(c, VTA_TABLES) : 0;
    insn.requant.low = -128;
    insn.requant.high = 127;
    insn.requant.dst_out = below(c, 2);
    insn.requant.dst_in = insn.requant.iter_in > 8 ? 0 : below(c, 2);
    insn.requant.src_in = below(c, 2);
    draw_rows(c, &insn);
    return gen_take(c->g, &insn);
}

/* Keeps one of the pipelines busy for some cycles, one tile a cycle. */
static bool filler_insn(chain *c)
{
    const int64_t at = c->uops + OF_FILLER * KERNEL + below(c, KERNEL);
    const int64_t cycles = 1 + below(c, APART);
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    if (percent(c, 50)) {
        insn.gemm.reset = 1;
        insn.gemm.uop_begin = at;
        insn.gemm.uop_end = at + 1;
        insn.gemm.iter_out = 1;
        insn.gemm.iter_in = cycles;
        insn.gemm.dst_in = 1;
    } else {
        insn.opcode = VTA_OP_ALU;
        insn.alu.alu_op = VTA_ALU_ADD;
        insn.alu.use_imm = 1;
        insn.alu.imm = 3;
        insn.alu.uop_begin = at;
        insn.alu.uop_end = at + 1;
        insn.alu.iter_out = 1;
        insn.alu.iter_in = cycles;
        insn.alu.dst_in = 1;
    }
    return gen_take(c->g, &insn);
}

/* Overwrites some of the hot accumulators, or the micro-ops while they are in use. */
static bool load_insn(chain *c)
{
    if (percent(c, 30)) {
        return load_kernels(c);
    }
    return gen_load_data(c->g, percent(c, 50) ? VTA_MEM_ACC : VTA_MEM_ACC8, hot_entry(c), 1 + below(c, 3));
}

/* ---- an instruction that waits or takes long, and a younger one that must not overtake it ---- */

/* Something that writes one accumulator: a load, or the array by a micro-op. */
static bool overwrite(chain *c, uint32_t entry, uint32_t uop, uint32_t cycles)
{
    if (percent(c, 40)) {
        return gen_load_data(c->g, VTA_MEM_ACC, entry, 1);
    }
    vta_insn insn = {.opcode = VTA_OP_GEMM};
    insn.gemm.uop_begin = uop;
    insn.gemm.uop_end = (int64_t)uop + 1;
    insn.gemm.iter_out = 1;
    insn.gemm.iter_in = cycles;
    insn.gemm.src_in = below(c, 2);
    insn.gemm.reset = percent(c, 20);
    return gen_take(c->g, &insn);
}

/* A REQUANT of one micro-op waits for the first of its parameters; then all that it has not read yet changes.
 */
static bool change_parameters(chain *c)
{
    enum { FIRST, SECOND, TILE, UOPS };
    const gen_window acc = c->g->windows[VTA_MEM_ACC];
    const uint32_t pair = (acc.base + below(c, acc.size - 1) + 1) / 2;
    const uint32_t inp = anywhere(c, VTA_MEM_INP), wgt = anywhere(c, VTA_MEM_WGT);
    const vta_uop uops[UOPS] = {{.dst = 2 * pair, .src = inp, .aux = wgt},
                                {.dst = 2 * pair + 1, .src = inp, .aux = wgt},
                                {.dst = hot_entry(c), .src = hot_entry(c), .aux = pair}};
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    uint32_t at = 0;
    if (!gen_load_parameters(c->g, 2 * (int64_t)pair, 2) || !gen_load_uops(c->g, uops, UOPS, &at)) {
        return false;
    }
    insn.requant.uop = at + TILE;
    insn.requant.iter_out = 1;
    insn.requant.iter_in = 1 + below(c, 4);
    insn.requant.low = -128;
    insn.requant.high = 127;
    return overwrite(c, 2 * pair, at + FIRST, 1 + below(c, 24)) && gen_take(c->g, &insn) &&
           overwrite(c, 2 * pair + 1, at + SECOND, 1);
}

/* A function on rows, or the array, makes a part of the first record of a REQUANT by row; each pass of that
 * makes the same part of the record behind its own. */
static bool change_records(chain *c)
{
    enum { MAKE, TILE, UOPS };
    const gen_window acc = c->g->windows[VTA_MEM_ACC];
    const uint32_t rows = 1 + below(c, 4);
    const uint32_t pair = (acc.base + below(c, acc.size - 1) + 1) / 2;
    const uint32_t made = 2 * pair + below(c, 2);
    const vta_uop uops[UOPS] = {{.dst = made, .src = hot_entry(c)},
                                {.dst = made + 2, .src = hot_entry(c), .aux = pair}};
    vta_insn insn = {.opcode = VTA_OP_ALU};
    uint32_t at = 0;
    if (!gen_load_parameters(c->g, 2 * (int64_t)pair, 2 * (int64_t)rows) ||
        !gen_load_uops(c->g, uops, UOPS, &at)) {
        return false;
    }
    insn.alu.uop_begin = at + MAKE;
    insn.alu.uop_end = insn.alu.uop_begin + 1;
    insn.alu.iter_out = 1;
    insn.alu.iter_in = 1 + below(c, 4);
    insn.alu.alu_op = VTA_ALU_ROW;
    insn.alu.use_imm = insn.alu.from_src = 1;
    insn.alu.imm = gen_row(c->g);
    if (!gen_take(c->g, &insn)) {
        return false;
    }
    insn = (vta_insn){.opcode = VTA_OP_REQUANT};
    insn.requant.uop = at + TILE;
    insn.requant.iter_out = rows;
    insn.requant.iter_in = 1 + below(c, 4);
    insn.requant.dst_out = 2;
    insn.requant.src_out = below(c, 2);
    insn.requant.src_in = below(c, 2);
    insn.requant.by_row = insn.requant.long_result = 1;
    return gen_take(c->g, &insn) && overwrite(c, made, at + MAKE, 1);
}

/* The ALU goes over the same few accumulators again and again, and one of those that it reads changes. */
static bool change_source(chain *c)
{
    enum { READS = 2, WRITE = READS, UOPS };
    vta_uop uops[UOPS] = {{0}};
    vta_insn insn = {.opcode = VTA_OP_ALU};
    uint32_t at = 0;
    for (uint32_t i = 0; i < READS; i++) {
        uops[i] = (vta_uop){.dst = hot_entry(c), .src = anywhere(c, VTA_MEM_ACC)};
    }
    const uint32_t changed = uops[below(c, READS)].src;
    uops[WRITE] = (vta_uop){.dst = changed, .src = anywhere(c, VTA_MEM_INP), .aux = anywhere(c, VTA_MEM_WGT)};
    if (!gen_load_uops(c->g, uops, UOPS, &at)) {
        return false;
    }
    insn.alu.alu_op = percent(c, 70) ? VTA_ALU_ADD : VTA_ALU_MAX;
    insn.alu.uop_begin = at;
    insn.alu.uop_end = (int64_t)at + READS;
    insn.alu.iter_out = 1;
    insn.alu.iter_in = 2 + below(c, 40);
    return gen_take(c->g, &insn) && overwrite(c, changed, at + WRITE, 1);
}

/* A REQUANT of `steps` steps that all write one input entry, by a micro-op. */
static vta_insn input_writer(chain *c, uint32_t entry, uint32_t uop, uint32_t steps, uint32_t part)
{
    vta_insn insn = {.opcode = VTA_OP_REQUANT};
    insn.requant.uop = uop;
    insn.requant.iter_out = 1;
    insn.requant.iter_in = steps;
    insn.requant.src_in = below(c, 2);
    insn.requant.low = -128;
    insn.requant.high = 127;
    insn.requant.to_inp = 1;
    insn.requant.dst_high = entry / c->g->config->depth[VTA_MEM_ACC];
    insn.requant.part = part;
    return insn;
}

/* The array goes over one input entry again and again, and a REQUANT writes it; or the other way round. An
 * entry of which nothing is known gets all its parts first. */
static bool change_input(chain *c)
{
    enum { READ, WRITE, UOPS, PARTS = 4 };
    const vta_config *config = c->g->config;
    const uint32_t parts = config->block_in / config->block_out;
    const uint32_t entry =
        percent(c, 60) ? c->hot_inp + below(c, c->inp_size) : below(c, config->depth[VTA_MEM_INP]);
    const gen_window window = c->g->windows[VTA_MEM_ACC];
    const uint32_t pair = (window.base + below(c, window.size - 1) + 1) / 2;
    const vta_uop uops[UOPS] = {
        {.dst = hot_entry(c), .src = entry, .aux = anywhere(c, VTA_MEM_WGT)},
        {.dst = entry % config->depth[VTA_MEM_ACC], .src = anywhere(c, VTA_MEM_ACC), .aux = pair}};
    uint32_t at = 0;
    if (parts == 0 || parts > PARTS || !gen_load_parameters(c->g, 2 * (int64_t)pair, 2) ||
        !gen_load_uops(c->g, uops, UOPS, &at)) {
        return false;
    }
    for (uint32_t part = 0; !gen_written(c->g, VTA_MEM_INP, entry) && part < parts; part++) {
        const vta_insn loop = input_writer(c, entry, at + WRITE, 1, part);
        if (!gen_take(c->g, &loop)) {
            return false;
        }
    }
    vta_insn array = {.opcode = VTA_OP_GEMM};
    array.gemm.uop_begin = at + READ;
    array.gemm.uop_end = array.gemm.uop_begin + 1;
    array.gemm.iter_out = 1;
    array.gemm.iter_in = 1 + below(c, 40);
    const vta_insn loop = input_writer(c, entry, at + WRITE, 1 + below(c, 24), below(c, parts));
    const bool first = percent(c, 50);
    return gen_take(c->g, first ? &array : &loop) && gen_take(c->g, first ? &loop : &array);
}

/* A LOAD of input entries while requantizations write others, or the same. */
static bool load_beside(chain *c)
{
    const gen_window inp = c->g->windows[VTA_MEM_INP];
    const uint32_t first = percent(c, 30) ? c->hot_inp + below(c, c->inp_size) : anywhere(c, VTA_MEM_INP);
    const uint32_t room = inp.base + inp.size - first;
    return gen_load_data(c->g, VTA_MEM_INP, first, 1 + below(c, room < 40 ? room : 40)) && loop_insn(c, 60);
}

/* Stores each run of hot entries that OUT holds, or one of them. */
static void store_hot(chain *c)
{
    const uint32_t end = c->hot + c->size;
    for (uint32_t first = c->hot; first < end; first++) {
        uint32_t last = first;
        while (last < end && gen_written(c->g, VTA_MEM_OUT, last)) {
            last++;
        }
        if (last > first) {
            (void)gen_store_run(c->g, first, last - first);
            first = last;
        }
    }
}

static void link_of(chain *c)
{
    if (c->g->config->rows != 0 && percent(c, 25)) {
        (void)(percent(c, 70) ? row_insn(c) : change_records(c));
        return;
    }
    const uint32_t kind = below(c, 100);
    if (kind < 23) {
        (void)array_insn(c);
    } else if (kind < 36) {
        (void)depthwise_insn(c);
    } else if (kind < 50) {
        (void)alu_insn(c);
    } else if (kind < 58) {
        (void)requant_insn(c);
    } else if (kind < 68) {
        (void)loop_insn(c, 1);
    } else if (kind < 71) {
        (void)load_beside(c);
    } else if (kind < 74) {
        (void)change_input(c);
    } else if (kind < 83) {
        (void)filler_insn(c);
    } else if (kind < 87) {
        (void)change_parameters(c);
    } else if (kind < 91) {
        (void)change_source(c);
    } else if (kind < 95) {
        (void)load_insn(c);
    } else if (kind < 97) {
        store_hot(c);
    } else {
        const vta_insn nop = gen_nop(c->g, GEN_COMPUTE);
        (void)gen_take(c->g, &nop);
    }
}

void gen_chain(gen *g)
{
    const gen_window acc = g->windows[VTA_MEM_ACC];
    chain c = {.g = g, .size = 1 + rng_below(&g->random, MAX_HOT)};
    const uint32_t room = acc.size - c.size > SPARE ? acc.size - c.size - SPARE : 1;
    c.hot = acc.base + rng_below(&g->random, room);
    /* All hot input entries have the same high bits, above those that a micro-op holds. */
    const gen_window inp = g->windows[VTA_MEM_INP];
    const uint32_t reach = g->config->depth[VTA_MEM_ACC];
    c.inp_size = 1 + rng_below(&g->random, MAX_HOT);
    c.hot_inp =
        inp.base + rng_below(&g->random, inp.size > c.inp_size + SPARE ? inp.size - c.inp_size - SPARE : 1);
    if (c.hot_inp / reach != (c.hot_inp + c.inp_size - 1) / reach) {
        c.inp_size = 1;
    }
    gen_ensure_compute(g);
    c.table = percent(&c, 30) && gen_load_data(g, VTA_MEM_TAB, 0, g->config->depth[VTA_MEM_TAB]);
    if (!load_kernels(&c)) {
        return;
    }
    const uint32_t links = 4 + below(&c, MAX - 3);
    for (uint32_t i = 0; i < links && !g->no_memory; i++) {
        link_of(&c);
    }
    store_hot(&c);
}
