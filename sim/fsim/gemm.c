/* SPDX-License-Identifier: Apache-2.0
 *
 * GEMM (ISA.md §6): how a loop nest becomes calls of a kernel.
 *
 * A kernel multiplies a list of rows by a list of terms; it is fast when many rows meet the same weights and
 * when many terms add up in registers. So each loop gets a role. Sums wrap and therefore commute: without
 * `init`, any order of the steps gives the same accumulators, and OUT follows them. With `init` the last pass
 * over an entry counts.
 *
 *   ROWS    the weights stay, the accumulator moves: its passes become rows of one call
 *   TERMS   the accumulator stays (without init): its passes become terms of one call
 *   OUTER   a loop around the calls
 *
 * Micro-ops are terms of one call while they share `dst` (a run), or else rows of one call while they share
 * the weights (a group).
 */
#include <string.h>

#include "fsim_internal.h"

typedef enum role { ROWS, TERMS, OUTER } role;

typedef struct plan {
    role out, in;
    bool groups; /* micro-ops are rows, not terms */
} plan;

static uint32_t count_if(role is, role wanted, uint32_t count)
{
    return is == wanted ? count : 1;
}

static uint64_t plan_count(const plan *p, const fsim_nest *n, role wanted)
{
    return (uint64_t)count_if(p->out, wanted, n->iter_out) * count_if(p->in, wanted, n->iter_in);
}

static role natural_role(uint32_t count, uint32_t dst, uint32_t wgt, bool init)
{
    if (count == 1) {
        return ROWS;
    }
    if (dst == 0) {
        return init ? OUTER : TERMS;
    }
    return wgt == 0 ? ROWS : OUTER;
}

/* The end of the run, or group, of micro-ops that starts at k. */
static uint32_t run_end(const vta_fsim *f, uint32_t uops, uint32_t k)
{
    uint32_t end = k + 1;
    while (end < uops && f->dst[end] == f->dst[k]) {
        end++;
    }
    return end;
}

static uint32_t group_end(const vta_fsim *f, uint32_t uops, uint32_t k)
{
    uint32_t end = k + 1;
    while (end < uops && f->aux[end] == f->aux[k] && f->dst[end] > f->dst[end - 1]) {
        end++;
    }
    return end;
}

static uint32_t count_parts(const vta_fsim *f, uint32_t uops,
                            uint32_t (*part_end)(const vta_fsim *f, uint32_t uops, uint32_t k))
{
    uint32_t parts = 0;
    for (uint32_t k = 0; k < uops; k = part_end(f, uops, k)) {
        parts++;
    }
    return parts;
}

/* Marks the accumulators of all passes of one run; false: one of them was marked before. */
static bool mark_passes(const fsim_nest *n, uint32_t dst, uint8_t *seen)
{
    for (uint32_t i = 0; i < n->iter_out; i++) {
        for (uint32_t j = 0; j < n->iter_in; j++) {
            const uint32_t at = dst + i * n->dst_out + j * n->dst_in;
            if (seen[at] != 0) {
                return false;
            }
            seen[at] = 1;
        }
    }
    return true;
}

/* Does each pass of each run have an accumulator of its own? */
static bool all_distinct(const vta_fsim *f, const fsim_nest *n, uint32_t runs)
{
    uint8_t seen[1 << 11] = {0}; /* the deepest accumulator scratchpad */
    bool distinct = (uint64_t)n->iter_out * n->iter_in * runs <= sizeof seen;
    for (uint32_t k = 0; distinct && k < n->uops; k = run_end(f, n->uops, k)) {
        distinct = mark_passes(n, f->dst[k], seen);
    }
    return distinct;
}

/* Do the passes of both loops together have different accumulators? Sufficient, not necessary. */
static bool loops_distinct(const fsim_nest *n)
{
    return (uint64_t)n->dst_in * (n->iter_in - 1) < n->dst_out ||
           (uint64_t)n->dst_out * (n->iter_out - 1) < n->dst_in;
}

/* Takes a role from the loop with fewer passes. */
static void demote(plan *p, const fsim_nest *n)
{
    if (n->iter_out <= n->iter_in) {
        p->out = OUTER;
    } else {
        p->in = OUTER;
    }
}

/* With init, the order of passes over one accumulator counts. */
static void keep_order(const vta_fsim *f, const fsim_nest *n, uint32_t runs, plan *p)
{
    const bool crossed = p->out == ROWS && p->in == OUTER && n->iter_out > 1;
    const bool reordered = runs > 1 ? plan_count(p, n, ROWS) > 1 : crossed;
    if (reordered && !all_distinct(f, n, runs)) {
        p->out = OUTER;
        p->in = OUTER;
    }
}

static plan make_plan(const vta_fsim *f, const fsim_nest *n, bool init)
{
    plan p = {.out = natural_role(n->iter_out, n->dst_out, n->aux_out, init),
              .in = natural_role(n->iter_in, n->dst_in, n->aux_in, init)};
    const uint32_t runs = count_parts(f, n->uops, run_end);
    const bool two = p.out == ROWS && p.in == ROWS && n->iter_out > 1 && n->iter_in > 1;
    if (two && !init && !loops_distinct(n)) {
        demote(&p, n);
    }
    if (init) {
        keep_order(f, n, runs, &p);
    }
    if (plan_count(&p, n, TERMS) * n->uops > FSIM_LIST && p.out == TERMS) {
        p.out = OUTER;
    }
    if (plan_count(&p, n, TERMS) * n->uops > FSIM_LIST && p.in == TERMS) {
        p.in = OUTER;
    }
    if (plan_count(&p, n, ROWS) * f->mem.batch > FSIM_LIST) {
        p.out = OUTER; /* only passes over the same accumulators can be so many */
    }
    if (plan_count(&p, n, ROWS) * f->mem.batch > FSIM_LIST) {
        p.in = OUTER;
    }
    const uint32_t groups = init ? n->uops : count_parts(f, n->uops, group_end);
    if (!init && groups < runs && n->uops > groups * plan_count(&p, n, ROWS)) {
        p.groups = true;
        p.out = p.out == ROWS && n->iter_out > 1 ? OUTER : p.out;
        p.in = p.in == ROWS && n->iter_in > 1 ? OUTER : p.in;
    }
    return p;
}

/* Appends the passes of the loops that have this role, for micro-ops [k, end). The lists count in `unit`s. */
static uint32_t list_terms(const vta_fsim *f, const fsim_nest *n, const plan *p, uint32_t k, uint32_t end,
                           uint32_t used)
{
    for (uint32_t i = 0; i < count_if(p->out, TERMS, n->iter_out); i++) {
        for (uint32_t j = 0; j < count_if(p->in, TERMS, n->iter_in); j++) {
            const uint32_t src = i * n->src_out + j * n->src_in;
            const uint32_t aux = i * n->aux_out + j * n->aux_in;
            for (uint32_t u = k; u < end; u++) {
                f->list[2][used] = ((p->groups ? 0 : f->src[u]) + src) * f->mem.batch;
                f->list[3][used] = (p->groups ? 0 : f->aux[u]) + aux;
                used++;
            }
        }
    }
    return used;
}

static uint32_t list_rows(const vta_fsim *f, uint32_t dst, uint32_t src, uint32_t used)
{
    for (uint32_t b = 0; b < f->mem.batch; b++) {
        f->list[0][used] = dst * f->mem.batch + b;
        f->list[1][used] = src * f->mem.batch + b;
        used++;
    }
    return used;
}

/* A call of the kernel, cut into pieces that do not keep an interrupt waiting. */
static void call(const vta_fsim *f, const fsim_gemm *job)
{
    enum { STEPS = 1 << 19 };
    const uint32_t max = job->terms > STEPS / 8 ? 8 : STEPS / job->terms;
    fsim_gemm piece = *job;
    for (uint32_t r = 0; r < job->rows && !fsim_stopped(f); r += max) {
        piece.rows = job->rows - r < max ? job->rows - r : max;
        piece.row_acc = job->row_acc + r;
        piece.row_inp = job->row_inp + r;
        f->kernel->gemm(&f->mem, &piece);
    }
}

/* Moves a job to a pass of the outer loops. */
static fsim_gemm at_pass(const vta_fsim *f, const fsim_nest *n, const fsim_gemm *job, uint32_t i, uint32_t j)
{
    fsim_gemm moved = *job;
    moved.acc0 = (i * n->dst_out + j * n->dst_in) * f->mem.batch;
    moved.inp0 = (i * n->src_out + j * n->src_in) * f->mem.batch;
    moved.wgt0 = i * n->aux_out + j * n->aux_in;
    return moved;
}

/* Micro-ops as terms, a call per run. */
static void pass_runs(const vta_fsim *f, const fsim_nest *n, uint32_t terms, const fsim_gemm *pass)
{
    for (uint32_t k = 0; k < n->uops && !fsim_stopped(f);) {
        const uint32_t end = run_end(f, n->uops, k);
        fsim_gemm job = *pass;
        job.acc0 += f->dst[k] * f->mem.batch;
        job.term_inp = f->list[2] + k * terms;
        job.term_wgt = f->list[3] + k * terms;
        job.terms = (end - k) * terms;
        call(f, &job);
        k = end;
    }
}

/* Micro-ops as rows, a call per group. */
static void pass_groups(const vta_fsim *f, const fsim_nest *n, const fsim_gemm *pass)
{
    const uint32_t batch = f->mem.batch;
    for (uint32_t k = 0; k < n->uops && !fsim_stopped(f);) {
        const uint32_t end = group_end(f, n->uops, k);
        fsim_gemm job = *pass;
        job.wgt0 += f->aux[k];
        job.row_acc = f->list[0] + k * batch;
        job.row_inp = f->list[1] + k * batch;
        job.rows = (end - k) * batch;
        call(f, &job);
        k = end;
    }
}

static void run_plan(const vta_fsim *f, const fsim_nest *n, const plan *p, bool init)
{
    uint32_t rows = 0;
    uint32_t terms = 0;
    if (p->groups) {
        for (uint32_t k = 0; k < n->uops; k++) {
            rows = list_rows(f, f->dst[k], f->src[k], rows);
        }
        terms = list_terms(f, n, p, 0, 1, 0);
    } else {
        for (uint32_t i = 0; i < count_if(p->out, ROWS, n->iter_out); i++) {
            for (uint32_t j = 0; j < count_if(p->in, ROWS, n->iter_in); j++) {
                rows = list_rows(f, i * n->dst_out + j * n->dst_in, i * n->src_out + j * n->src_in, rows);
            }
        }
        for (uint32_t k = 0; k < n->uops; k = run_end(f, n->uops, k)) {
            terms = list_terms(f, n, p, k, run_end(f, n->uops, k), terms);
        }
    }
    const fsim_gemm job = {.rows = rows,
                           .row_acc = f->list[0],
                           .row_inp = f->list[1],
                           .terms = terms,
                           .term_inp = f->list[2],
                           .term_wgt = f->list[3],
                           .zero = init};
    for (uint32_t i = 0; i < count_if(p->out, OUTER, n->iter_out); i++) {
        for (uint32_t j = 0; j < count_if(p->in, OUTER, n->iter_in) && !fsim_stopped(f); j++) {
            const fsim_gemm pass = at_pass(f, n, &job, i, j);
            if (p->groups) {
                pass_groups(f, n, &pass);
            } else {
                pass_runs(f, n, terms / n->uops, &pass);
            }
        }
    }
}

/* reset = 1. Loops that do not move do nothing new. */
static void clear(vta_fsim *f, const fsim_nest *n)
{
    const size_t lanes = (size_t)f->mem.batch * f->mem.out;
    const bool row = n->uops == 1 && n->dst_in == 1;
    const uint32_t iter_out = n->dst_out == 0 ? 1 : n->iter_out;
    const uint32_t iter_in = n->dst_in == 0 || row ? 1 : n->iter_in;
    const size_t size = lanes * (row ? n->iter_in : 1);
    for (uint32_t i = 0; i < iter_out; i++) {
        for (uint32_t j = 0; j < iter_in && !fsim_stopped(f); j++) {
            for (uint32_t k = 0; k < n->uops; k++) {
                const size_t at = (f->dst[k] + i * n->dst_out + j * n->dst_in) * lanes;
                memset(f->mem.acc + at, 0, size * sizeof *f->mem.acc);
                memset(f->mem.out8 + at, 0, size);
            }
        }
    }
}

static vta_error check_operands(const vta_fsim *f, const fsim_nest *n, bool init)
{
    if (vta_fsim_reach(n, f->src, n->src_out, n->src_in) >= f->config.depth[VTA_MEM_INP]) {
        return VTA_ERROR_INP_RANGE;
    }
    if (vta_fsim_reach(n, f->aux, n->aux_out, n->aux_in) >= f->config.depth[VTA_MEM_WGT]) {
        return VTA_ERROR_WGT_RANGE;
    }
    if (!vta_fsim_nest_written(f, n, VTA_MEM_INP, f->src, n->src_out, n->src_in, 0) ||
        !vta_fsim_nest_written(f, n, VTA_MEM_WGT, f->aux, n->aux_out, n->aux_in, 0) ||
        (!init && !vta_fsim_nest_written(f, n, VTA_MEM_ACC, f->dst, n->dst_out, n->dst_in, 0))) {
        return VTA_ERROR_UNWRITTEN;
    }
    return VTA_ERROR_NONE;
}

vta_error vta_fsim_gemm(vta_fsim *f, const vta_insn *insn)
{
    const uint32_t begin = (uint32_t)insn->gemm.uop_begin;
    const uint32_t end = (uint32_t)insn->gemm.uop_end;
    const bool reset = insn->gemm.reset != 0;
    const bool init = insn->gemm.init != 0;
    const fsim_nest nest = {
        .iter_out = (uint32_t)insn->gemm.iter_out,
        .iter_in = (uint32_t)insn->gemm.iter_in,
        .uops = end > begin ? end - begin : 0,
        .dst_out = (uint32_t)insn->gemm.dst_out,
        .dst_in = (uint32_t)insn->gemm.dst_in,
        .src_out = (uint32_t)insn->gemm.src_out,
        .src_in = (uint32_t)insn->gemm.src_in,
        .aux_out = (uint32_t)insn->gemm.wgt_out,
        .aux_in = (uint32_t)insn->gemm.wgt_in,
    };
    if (nest.iter_out == 0 || nest.iter_in == 0 || nest.uops == 0) {
        return VTA_ERROR_NONE;
    }
    vta_error error = vta_fsim_decode_uops(f, begin, end);
    if (error == VTA_ERROR_NONE &&
        vta_fsim_reach(&nest, f->dst, nest.dst_out, nest.dst_in) >= f->config.depth[VTA_MEM_ACC]) {
        error = VTA_ERROR_ACC_RANGE;
    }
    if (error == VTA_ERROR_NONE && !reset) {
        error = check_operands(f, &nest, init);
    }
    if (error != VTA_ERROR_NONE) {
        return error;
    }
    if (reset) {
        clear(f, &nest);
    } else {
        const plan p = make_plan(f, &nest, init);
        run_plan(f, &nest, &p, init);
    }
    vta_fsim_nest_write(f, &nest);
    f->report->counters.gemm_steps += (uint64_t)nest.iter_out * nest.iter_in * nest.uops;
    return VTA_ERROR_NONE;
}
