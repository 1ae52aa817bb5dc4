/* SPDX-License-Identifier: Apache-2.0
 *
 * What a loop nest touches, in terms of its micro-ops and steps, and the ranges of that: the largest index of
 * a nest is the micro-op's plus the largest offset, so no loop is run.
 */
#include <inttypes.h>

#include "check_internal.h"

static check_nest nest(int64_t count_out, int64_t step_out, int64_t count_in, int64_t step_in)
{
    return (check_nest){{(uint32_t)count_out, (uint32_t)count_in, 1, 1},
                        {(uint32_t)step_out, (uint32_t)step_in, 0, 0}};
}

static check_plan plan_gemm(const vta_insn *insn)
{
    const bool multiplies = insn->gemm.reset == 0;
    const int64_t out = insn->gemm.iter_out;
    const int64_t in = insn->gemm.iter_in;
    return (check_plan){
        .uop_begin = (uint32_t)insn->gemm.uop_begin,
        .uop_end = (uint32_t)insn->gemm.uop_end,
        .dst = nest(out, insn->gemm.dst_out, in, insn->gemm.dst_in),
        .src = nest(out, insn->gemm.src_out, in, insn->gemm.src_in),
        .wgt = nest(out, insn->gemm.wgt_out, in, insn->gemm.wgt_in),
        .reads_dst = multiplies && insn->gemm.init == 0,
        .uses_src = multiplies,
        .reads_src = multiplies,
        .src_is_inp = true,
        .uses_wgt = multiplies,
    };
}

static bool reads_row_dst(const vta_insn *insn)
{
    const vta_row row = vta_row_of(insn->alu.imm);
    return row.function == VTA_ROW_MIN || row.function == VTA_ROW_MAX || row.function == VTA_ROW_ADD;
}

/* An immediate takes the place of src, but for the three-address form, where src takes that of dst. MOV is
 * the one operation that does not look at its left operand: dst with two addresses, src with three. A
 * function on rows reads src, and three of the functions dst. */
static check_plan plan_alu(const vta_insn *insn)
{
    const bool row = insn->alu.alu_op == VTA_ALU_ROW;
    const bool imm = insn->alu.use_imm != 0;
    const bool three = insn->alu.from_src != 0;
    const bool mov = insn->alu.alu_op == VTA_ALU_MOV;
    const int64_t out = insn->alu.iter_out;
    const int64_t in = insn->alu.iter_in;
    return (check_plan){
        .uop_begin = (uint32_t)insn->alu.uop_begin,
        .uop_end = (uint32_t)insn->alu.uop_end,
        .dst = nest(out, insn->alu.dst_out, in, insn->alu.dst_in),
        .src = nest(out, insn->alu.src_out, in, insn->alu.src_in),
        .reads_dst = row ? reads_row_dst(insn) : !three && !mov,
        .uses_src = !imm || three,
        .reads_src = !imm || (three && !mov),
    };
}

static check_plan plan_requant(const vta_config *config, const vta_insn *insn)
{
    const int64_t out = insn->requant.iter_out;
    const int64_t in = insn->requant.iter_in;
    return (check_plan){
        .uop_begin = (uint32_t)insn->requant.uop,
        .uop_end = (uint32_t)insn->requant.uop + 1,
        .dst = nest(out, insn->requant.dst_out, in, insn->requant.dst_in),
        .src = nest(out, insn->requant.src_out, in, insn->requant.src_in),
        .uses_src = true,
        .reads_src = true,
        .params = insn->requant.wide ? 3 : 2,
        .records = insn->requant.by_row ? (uint32_t)out : 1,
        .log_record = insn->requant.wide ? 2 : 1,
        .table = (uint32_t)insn->requant.table,
        .dst_is_inp = insn->requant.to_inp != 0,
        .dst_base = (uint32_t)insn->requant.dst_high << config->log_depth[VTA_MEM_ACC],
        .part = (uint32_t)insn->requant.part,
    };
}

static check_plan plan_depthwise(const vta_insn *insn)
{
    const int64_t out = insn->depthwise.iter_out;
    const int64_t in = insn->depthwise.iter_in;
    const bool taps = insn->depthwise.taps_x != 0 && insn->depthwise.taps_y != 0;
    check_plan plan = {
        .uop_begin = (uint32_t)insn->depthwise.uop_begin,
        .uop_end = (uint32_t)insn->depthwise.uop_end,
        .dst = nest(out, insn->depthwise.dst_out, in, insn->depthwise.dst_in),
        .src = nest(out, insn->depthwise.src_out, in, insn->depthwise.src_in),
        .wgt = nest(1, 0, 1, 0),
        .reads_dst = insn->depthwise.init == 0,
        .uses_src = taps,
        .reads_src = taps,
        .src_is_inp = true,
        .uses_wgt = taps,
    };
    plan.src.count[2] = (uint32_t)insn->depthwise.taps_y;
    plan.src.step[2] = (uint32_t)insn->depthwise.row_step;
    plan.src.count[3] = (uint32_t)insn->depthwise.taps_x;
    plan.src.step[3] = (uint32_t)insn->depthwise.col_step;
    return plan;
}

check_plan vta_check_plan_of(const checker *c, const vta_insn *insn)
{
    check_plan plan = {0};
    switch ((vta_opcode)insn->opcode) {
    case VTA_OP_GEMM: plan = plan_gemm(insn); break;
    case VTA_OP_ALU: plan = plan_alu(insn); break;
    case VTA_OP_REQUANT: plan = plan_requant(c->config, insn); break;
    case VTA_OP_DEPTHWISE: plan = plan_depthwise(insn); break;
    case VTA_OP_LOAD:
    case VTA_OP_STORE:
    case VTA_OP_FINISH:
    case VTA_OP_COUNT: break;
    }
    plan.uop_field = insn->opcode == VTA_OP_REQUANT ? "uop" : "uop_end";
    if (plan.dst.count[0] == 0 || plan.dst.count[1] == 0 || plan.uop_end < plan.uop_begin) {
        plan.uop_end = plan.uop_begin;
    }
    return plan;
}

uint64_t vta_check_nest_reach(const check_nest *loops)
{
    uint64_t reach = 0;
    for (int loop = 0; loop < CHECK_LOOPS; loop++) {
        reach += (uint64_t)(loops->count[loop] - 1) * loops->step[loop];
    }
    return reach;
}

vta_status vta_check_plan_uops(checker *c, uint32_t index, const check_plan *plan)
{
    const uint32_t depth = c->config->depth[VTA_MEM_UOP];
    if (plan->uop_begin == plan->uop_end || plan->uop_end <= depth) {
        return VTA_OK;
    }
    return vta_check_report(c, index, VTA_ERROR_UOP_RANGE, plan->uop_field, (int64_t)plan->uop_end - 1,
                            depth - 1, "%s: micro-op %" PRIu32 " is out of range (limit: %" PRIu32 ")",
                            plan->uop_field, plan->uop_end - 1, depth - 1);
}

/* One operand of a micro-op. */
typedef struct operand {
    const char *field;
    vta_memory memory;
    vta_error error;
    uint64_t reach;
} operand;

static vta_status check_operand(checker *c, uint32_t index, const operand *op, uint32_t uop, uint32_t base)
{
    const uint64_t top = base + op->reach;
    const uint64_t limit = c->config->depth[op->memory] - 1;
    if (top <= limit) {
        return VTA_OK;
    }
    return vta_check_report(c, index, op->error, op->field, (int64_t)top, (int64_t)limit,
                            "%s of micro-op %" PRIu32 " reaches %" PRIu64
                            ", out of range of %s (limit: %" PRIu64 ")",
                            op->field, uop, top, vta_memory_name(op->memory), limit);
}

/* The operands of a plan, in the order in which they are checked. */
typedef struct operands {
    operand dst, src, wgt;
    uint32_t records;
} operands;

static operands operands_of(const checker *c, const check_plan *plan)
{
    operands ops = {
        .dst = {"dst", VTA_MEM_ACC, VTA_ERROR_ACC_RANGE, vta_check_nest_reach(&plan->dst)},
        .src = {"src", VTA_MEM_ACC, VTA_ERROR_ACC_RANGE,
                plan->uses_src ? vta_check_nest_reach(&plan->src) : 0},
        .wgt = {"aux", VTA_MEM_WGT, VTA_ERROR_WGT_RANGE,
                plan->uses_wgt ? vta_check_nest_reach(&plan->wgt) : 0},
        .records = c->config->depth[VTA_MEM_ACC] >> plan->log_record,
    };
    if (plan->src_is_inp) {
        ops.src.memory = VTA_MEM_INP;
        ops.src.error = VTA_ERROR_INP_RANGE;
    }
    if (plan->dst_is_inp) {
        ops.dst.memory = VTA_MEM_INP;
        ops.dst.error = VTA_ERROR_INP_RANGE;
    }
    return ops;
}

static vta_status check_params(checker *c, uint32_t index, const check_plan *plan, const operands *ops,
                               uint32_t uop, uint32_t aux)
{
    const uint32_t last = aux + plan->records - 1;
    if (last < ops->records) {
        return VTA_OK;
    }
    return vta_check_report(c, index, VTA_ERROR_ACC_RANGE, "aux", last, (int64_t)ops->records - 1,
                            "aux of micro-op %" PRIu32 " %s parameter %s %" PRIu32
                            ", out of range of acc (limit: %" PRId64 ")",
                            uop, plan->records == 1 ? "names" : "reaches",
                            plan->params == 2 ? "pair" : "record", last, (int64_t)ops->records - 1);
}

static vta_status check_uop(checker *c, uint32_t index, const check_plan *plan, const operands *ops,
                            uint32_t at, vta_uop uop)
{
    VTA_TRY(check_operand(c, index, &ops->dst, at, plan->dst_base + uop.dst));
    if (plan->uses_src) {
        VTA_TRY(check_operand(c, index, &ops->src, at, uop.src));
    }
    if (plan->uses_wgt) {
        VTA_TRY(check_operand(c, index, &ops->wgt, at, uop.aux));
    }
    return plan->params > 0 ? check_params(c, index, plan, ops, at, uop.aux) : VTA_OK;
}

vta_status vta_check_plan_ranges(checker *c, uint32_t index, const check_plan *plan, const uint32_t *uops)
{
    const operands ops = operands_of(c, plan);
    for (uint32_t at = plan->uop_begin; at < plan->uop_end; at++) {
        VTA_TRY(check_uop(c, index, plan, &ops, at, vta_uop_decode(c->config, uops[at])));
    }
    return VTA_OK;
}
