// SPDX-License-Identifier: Apache-2.0
//
// soc_cpu -- a hart of RV32IM with Zicsr and Zifencei, machine mode alone: one instruction at a time, from the queue of
// the fetch unit to the registers.
//
//     soc_fetch ──insn──► decode ─► registers ─► soc_alu, soc_muldiv, data port, soc_csr ─► rd
//         ▲                                            │
//         └──────────────── jump, trap ────────────────┘
//
// Contract: both ports take a request in a cycle with valid and ready and answer it in a later one. Most instructions take
// a cycle, a load or store two and what memory waits, a product two, a quotient 34; a jump costs two more. A data access
// is for one word, with the strobes of its bytes; a misaligned one traps and never leaves. fence is high for a cycle when
// a FENCE ends, fence_i when a FENCE.I does: what caches hold of data, or of instructions, is to be forgotten. A trap is
// precise: all before it is done, and nothing of it.
`default_nettype none

module soc_cpu #(
    parameter [31:0] RESET_PC = 32'd0
) (
    input  wire        clk,
    input  wire        rst,

    output wire        i_valid,
    input  wire        i_ready,
    output wire [31:0] i_addr,
    input  wire        i_done,
    input  wire [31:0] i_data,
    input  wire        i_fault,

    output wire        d_valid,
    input  wire        d_ready,
    output wire        d_write,
    output wire [31:0] d_addr,
    output wire [31:0] d_wdata,
    output wire [3:0]  d_wstrb,
    input  wire        d_done,
    input  wire [31:0] d_rdata,
    input  wire        d_fault,

    output wire        fence,
    output wire        fence_i,
    input  wire        irq_timer,
    input  wire        irq_external
);
    // ---- The instruction, and its fields

    wire        insn_valid;
    wire [31:0] insn;
    wire        insn_fault;
    wire        finish;                 // it ends in this cycle, and counts as retired
    wire        trap;                   // or it does not, and the trap's handler is next
    wire        jump;
    wire [31:0] target;
    reg  [31:0] pc;                     // its address

    soc_fetch #(.RESET_PC(RESET_PC)) fetch (
        .clk(clk), .rst(rst),
        .ask_valid(i_valid), .ask_ready(i_ready), .ask_addr(i_addr),
        .answer_valid(i_done), .answer_insn(i_data), .answer_fault(i_fault),
        .insn_valid(insn_valid), .insn(insn), .insn_fault(insn_fault),
        .take(finish), .jump(jump), .target(target[31:2])
    );

    localparam [6:0] LUI = 7'h37, AUIPC = 7'h17, JAL = 7'h6f, JALR = 7'h67, BRANCH = 7'h63, LOAD = 7'h03, STORE = 7'h23,
                     OP_IMM = 7'h13, OP = 7'h33, MISC_MEM = 7'h0f, SYSTEM = 7'h73;
    localparam [31:0] ECALL = 32'h0000_0073, EBREAK = 32'h0010_0073, MRET = 32'h3020_0073, WFI = 32'h1050_0073;
    localparam [3:0] JUMP_MISALIGNED = 4'd0, FETCH_FAULT = 4'd1, ILLEGAL = 4'd2, BREAKPOINT = 4'd3, LOAD_MISALIGNED = 4'd4,
                     LOAD_FAULT = 4'd5, STORE_MISALIGNED = 4'd6, STORE_FAULT = 4'd7, CALL = 4'd11;

    wire [6:0] opcode = insn[6:0];
    wire [4:0] rd     = insn[11:7];
    wire [2:0] funct3 = insn[14:12];
    wire [4:0] rs1    = insn[19:15];
    wire [4:0] rs2    = insn[24:20];
    wire [6:0] funct7 = insn[31:25];

    wire is_lui    = opcode == LUI;
    wire is_auipc  = opcode == AUIPC;
    wire is_jal    = opcode == JAL;
    wire is_jalr   = opcode == JALR;
    wire is_branch = opcode == BRANCH;
    wire is_load   = opcode == LOAD;
    wire is_store  = opcode == STORE;
    wire is_op     = opcode == OP;
    wire is_muldiv = is_op && funct7 == 7'd1;
    wire is_fence  = opcode == MISC_MEM;
    wire is_csr    = opcode == SYSTEM && funct3[1:0] != 2'd0;
    wire is_mret   = insn == MRET;
    wire is_wfi    = insn == WFI;
    wire is_memory = is_load || is_store;

    wire [31:0] imm_i = {{20{insn[31]}}, insn[31:20]};
    wire [31:0] imm_s = {{20{insn[31]}}, insn[31:25], insn[11:7]};
    wire [31:0] imm_b = {{20{insn[31]}}, insn[7], insn[30:25], insn[11:8], 1'b0};
    wire [31:0] imm_u = {insn[31:12], 12'd0};
    wire [31:0] imm_j = {{12{insn[31]}}, insn[19:12], insn[20], insn[30:21], 1'b0};

    // ---- What RV32IM has; all else is refused

    wire       csr_known;
    wire       csr_writes = !funct3[1] || rs1 != 5'd0;
    wire       csr_legal  = csr_known && !(csr_writes && insn[31:30] == 2'b11);
    reg        legal;
    always @* begin
        case (opcode)
            LUI, AUIPC, JAL: legal = 1'b1;
            JALR:     legal = funct3 == 3'd0;
            BRANCH:   legal = funct3[2:1] != 2'b01;
            LOAD:     legal = funct3[1:0] != 2'd3 && funct3 != 3'd6;
            STORE:    legal = !funct3[2] && funct3[1:0] != 2'd3;
            OP_IMM:   legal = funct3 == 3'd1 ? funct7 == 7'd0 : funct3 != 3'd5 || {funct7[6], funct7[4:0]} == 6'd0;
            OP:       legal = funct7 == 7'd0 || funct7 == 7'd1 || funct7 == 7'h20 && (funct3 == 3'd0 || funct3 == 3'd5);
            MISC_MEM: legal = funct3[2:1] == 2'd0;
            SYSTEM:   legal = is_csr ? csr_legal : insn == ECALL || insn == EBREAK || is_mret || is_wfi;
            default:  legal = 1'b0;
        endcase
    end

    // ---- Operands

    reg  [31:0] registers [0:31];
    wire [31:0] x = rs1 == 5'd0 ? 32'd0 : registers[rs1];
    wire [31:0] y = rs2 == 5'd0 ? 32'd0 : registers[rs2];

    wire [31:0] alu_result;
    wire        less;
    wire        equal;
    soc_alu alu (
        .funct3(is_op || opcode == OP_IMM ? funct3 : 3'd0),
        .other(insn[30] && (is_op || opcode == OP_IMM && funct3 == 3'd5)),
        .as_unsigned(is_branch ? funct3[1] : funct3[0]),
        .x(x), .y(opcode == OP_IMM ? imm_i : y),
        .result(alu_result), .less(less), .equal(equal)
    );

    wire        branch_taken = (funct3[2] ? less : equal) != funct3[0];
    wire [31:0] after        = pc + 32'd4;
    wire [31:0] relative     = pc + (is_jal ? imm_j : is_branch ? imm_b : imm_u);
    wire [31:0] address      = x + (is_store ? imm_s : imm_i);      // of data, and where JALR goes
    wire        goes         = is_jal || is_jalr || is_branch && branch_taken;
    wire [31:0] going_to     = is_jalr ? {address[31:1], 1'b0} : relative;

    // ---- Traps

    wire       misaligned = is_memory && (funct3[1:0] == 2'd1 && address[0] || funct3[1:0] == 2'd2 && address[1:0] != 2'd0);
    wire       irq;
    wire       wake;
    wire [3:0] irq_cause;
    reg        sent;            // a request of the data port is out
    reg        multiplying;
    wire       interrupted = irq && !is_wfi && !sent && !multiplying;
    reg        refused;         // before it does anything
    reg  [3:0] cause;
    reg [31:0] trap_value;
    always @* begin
        refused    = 1'b1;
        cause      = CALL;
        trap_value = 32'd0;
        if (interrupted)                 cause = irq_cause;
        else if (insn_fault)             {cause, trap_value} = {FETCH_FAULT, pc};
        else if (!legal)                 {cause, trap_value} = {ILLEGAL, insn};
        else if (insn == ECALL)          cause = CALL;
        else if (insn == EBREAK)         cause = BREAKPOINT;
        else if (goes && going_to[1])    {cause, trap_value} = {JUMP_MISALIGNED, going_to};
        else if (misaligned)             {cause, trap_value} = {is_store ? STORE_MISALIGNED : LOAD_MISALIGNED, address};
        else begin
            refused = 1'b0;             // an access may still fail
            {cause, trap_value} = {is_store ? STORE_FAULT : LOAD_FAULT, address};
        end
    end

    wire        going = insn_valid && !refused;
    wire [31:0] vector;
    wire [31:0] return_pc;
    assign trap = insn_valid && (refused || sent && d_done && d_fault);

    // ---- Data

    wire [1:0]  lane   = address[1:0];
    wire [3:0]  strobe = funct3[1:0] == 2'd0 ? 4'b0001 : funct3[1:0] == 2'd1 ? 4'b0011 : 4'b1111;
    wire [31:0] loaded = d_rdata >> {lane, 3'd0};
    assign d_valid = going && is_memory && !sent;
    assign d_write = is_store;
    assign d_addr  = {address[31:2], 2'b00};
    assign d_wdata = y << {lane, 3'd0};
    assign d_wstrb = is_store ? strobe << lane : 4'd0;

    always @(posedge clk) begin
        if (rst) sent <= 1'b0;
        else if (d_valid && d_ready) sent <= 1'b1;
        else if (d_done) sent <= 1'b0;
    end

    reg [31:0] load_result;
    always @* begin
        case (funct3)
            3'd0:    load_result = {{24{loaded[7]}}, loaded[7:0]};
            3'd1:    load_result = {{16{loaded[15]}}, loaded[15:0]};
            3'd4:    load_result = {24'd0, loaded[7:0]};
            3'd5:    load_result = {16'd0, loaded[15:0]};
            default: load_result = loaded;
        endcase
    end

    // ---- Products and quotients

    wire        muldiv_start = going && is_muldiv && !multiplying;
    wire        muldiv_done;
    wire [31:0] muldiv_result;
    soc_muldiv muldiv (
        .clk(clk), .rst(rst), .start(muldiv_start), .funct3(funct3), .x(x), .y(y),
        .done(muldiv_done), .result(muldiv_result)
    );
    always @(posedge clk) begin
        if (rst) multiplying <= 1'b0;
        else if (muldiv_start) multiplying <= 1'b1;
        else if (muldiv_done) multiplying <= 1'b0;
    end

    // ---- Control and status

    wire [31:0] csr_value;
    wire [31:0] csr_operand = funct3[2] ? {27'd0, rs1} : x;
    reg  [31:0] csr_new;
    always @* begin
        case (funct3[1:0])
            2'd1:    csr_new = csr_operand;
            2'd2:    csr_new = csr_value | csr_operand;
            default: csr_new = csr_value & ~csr_operand;
        endcase
    end
    soc_csr csr (
        .clk(clk), .rst(rst),
        .index(insn[31:20]), .known(csr_known), .value(csr_value),
        .write(finish && is_csr && csr_writes), .new_value(csr_new),
        .trap(trap), .trap_pc(pc[31:2]), .trap_irq(interrupted), .trap_cause(cause), .trap_value(trap_value),
        .leave(finish && is_mret), .vector(vector), .return_pc(return_pc),
        .retire(finish), .irq_timer(irq_timer), .irq_external(irq_external),
        .irq(irq), .irq_cause(irq_cause), .wake(wake)
    );

    // ---- The end of an instruction

    wire ready = is_memory ? sent && d_done && !d_fault : is_muldiv ? multiplying && muldiv_done : !is_wfi || wake;
    assign finish  = going && ready;
    assign fence   = finish && is_fence && !funct3[0];
    assign fence_i = finish && is_fence && funct3[0];
    assign jump    = trap || finish && (goes || is_mret || is_fence && funct3[0]);
    assign target  = trap ? vector : is_mret ? return_pc : goes ? going_to : after;

    always @(posedge clk) begin
        if (rst) pc <= RESET_PC;
        else if (jump) pc <= target;
        else if (finish) pc <= after;
    end

    reg  [31:0] result;
    always @* begin
        if (is_load)                  result = load_result;
        else if (is_muldiv)           result = muldiv_result;
        else if (is_csr)              result = csr_value;
        else if (is_jal || is_jalr)   result = after;
        else if (is_lui)              result = imm_u;
        else if (is_auipc)            result = relative;
        else                          result = alu_result;
    end
    wire writes_rd = finish && rd != 5'd0 && !is_store && !is_branch && !is_fence && (opcode != SYSTEM || is_csr);
    always @(posedge clk) begin
        if (writes_rd) registers[rd] <= result;
    end
endmodule

`default_nettype wire
