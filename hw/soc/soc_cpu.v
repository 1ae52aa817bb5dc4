// SPDX-License-Identifier: Apache-2.0
//
// soc_cpu -- a hart of RV32IM with Zicsr and Zifencei, machine mode alone, in two stages behind the queue of the fetch
// unit: one decodes and reads registers, the other executes one instruction at a time.
//
//     soc_fetch ──insn──► decode, registers ─║─► soc_alu, soc_muldiv, data port, soc_csr ─► rd
//         ▲                      ▲           ║            │                              │
//         │                      └───────────║────────────│──────────────────────────────┘
//         └──────────────── jump, trap ──────║────────────┘
//
// Contract: both ports take a request in a cycle with valid and ready and answer it in a later one, but for a store that
// is taken with d_posted: that is done, and no answer comes. A store leaves when it is taken; what is behind one without
// d_posted waits for its answer, so that nothing has to be ready early to know which it is. Most instructions take a cycle, a load two and what memory
// waits, a product three, a quotient 34; a jump costs three more. A data access
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
    input  wire        d_posted,
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
    localparam [6:0] LUI = 7'h37, AUIPC = 7'h17, JAL = 7'h6f, JALR = 7'h67, BRANCH = 7'h63, LOAD = 7'h03, STORE = 7'h23,
                     OP_IMM = 7'h13, OP = 7'h33, MISC_MEM = 7'h0f, SYSTEM = 7'h73;
    localparam [1:0] EARLY = 2'd0, SUM = 2'd1, RIGHT = 2'd2, LEFT = 2'd3;
    localparam [31:0] ECALL = 32'h0000_0073, EBREAK = 32'h0010_0073, MRET = 32'h3020_0073, WFI = 32'h1050_0073;
    localparam [3:0] JUMP_MISALIGNED = 4'd0, FETCH_FAULT = 4'd1, ILLEGAL = 4'd2, BREAKPOINT = 4'd3, LOAD_MISALIGNED = 4'd4,
                     LOAD_FAULT = 4'd5, STORE_MISALIGNED = 4'd6, STORE_FAULT = 4'd7, CALL = 4'd11;

    wire        finish;                 // the instruction ends in this cycle, and is done: a store may be so later
    wire        trap;                   // or it does not, and the trap's handler is next
    wire        jump;
    wire [31:0] target;
    reg  [31:0] result;                 // of the instruction

    // ---- The next instruction: what its bits say

    wire        insn_valid;
    wire [31:0] insn;
    wire        insn_fault;
    reg         valid;                  // one is being executed,
    reg         away;                   // but waits for the store before it
    wire        active = valid && !away;
    wire        ends;                   // and leaves, finished or by a trap: what a branch compares says nothing of that
    wire        step = !valid || ends;
    wire        take = insn_valid && step;      // for nothing where it jumps
    reg  [31:0] next_pc;

    soc_fetch #(.RESET_PC(RESET_PC)) fetch (
        .clk(clk), .rst(rst),
        .ask_valid(i_valid), .ask_ready(i_ready), .ask_addr(i_addr),
        .answer_valid(i_done), .answer_insn(i_data), .answer_fault(i_fault),
        .insn_valid(insn_valid), .insn(insn), .insn_fault(insn_fault),
        .take(take), .jump(jump), .target(target[31:2])
    );

    wire [6:0]  opcode     = insn[6:0];
    wire [2:0]  op         = insn[14:12];
    wire [6:0]  funct7     = insn[31:25];
    wire        next_csr   = opcode == SYSTEM && op[1:0] != 2'd0;
    wire        next_imm   = opcode == OP_IMM;
    wire        next_alu   = opcode == OP || next_imm;
    wire        next_muldiv = opcode == OP && funct7 == 7'd1;
    wire [31:0] imm_i      = {{20{insn[31]}}, insn[31:20]};
    wire [31:0] imm_s      = {{20{insn[31]}}, insn[31:25], insn[11:7]};
    wire [31:0] imm_b      = {{20{insn[31]}}, insn[7], insn[30:25], insn[11:8], 1'b0};
    wire [31:0] imm_u      = {insn[31:12], 12'd0};
    wire [31:0] imm_j      = {{12{insn[31]}}, insn[19:12], insn[20], insn[30:21], 1'b0};

    // ---- What RV32IM has; all else is refused

    wire       csr_known;
    wire       next_writes = !op[1] || insn[19:15] != 5'd0;     // a control register
    reg        legal;
    always @* begin
        case (opcode)
            LUI, AUIPC, JAL: legal = 1'b1;
            JALR:     legal = op == 3'd0;
            BRANCH:   legal = op[2:1] != 2'b01;
            LOAD:     legal = op[1:0] != 2'd3 && op != 3'd6;
            STORE:    legal = !op[2] && op[1:0] != 2'd3;
            OP_IMM:   legal = op == 3'd1 ? funct7 == 7'd0 : op != 3'd5 || {funct7[6], funct7[4:0]} == 6'd0;
            OP:       legal = funct7 == 7'd0 || funct7 == 7'd1 || funct7 == 7'h20 && (op == 3'd0 || op == 3'd5);
            MISC_MEM: legal = op[2:1] == 2'd0;
            SYSTEM:   legal = next_csr ? csr_known && !(next_writes && insn[31:30] == 2'b11)
                                       : insn == ECALL || insn == EBREAK || insn == MRET || insn == WFI;
            default:  legal = 1'b0;
        endcase
    end

    // ---- Its operands, the result of the one before it among them

    reg  [4:0]  rd;
    reg         has_result;
    reg  [31:0] registers [0:31];
    wire        x_comes = valid && has_result && rd == insn[19:15];
    wire        y_comes = valid && has_result && rd == insn[24:20];
    wire [31:0] read_x  = insn[19:15] == 5'd0 ? 32'd0 : registers[insn[19:15]];
    wire [31:0] read_y  = insn[24:20] == 5'd0 ? 32'd0 : registers[insn[24:20]];

    // ---- From one stage to the other

    reg  [31:0] pc;
    reg  [31:0] word;                   // the instruction
    reg  [2:0]  funct3;
    reg         fetch_failed, illegal, is_call, is_break;
    reg         is_upper, is_auipc, is_jal, is_jalr, is_branch, is_load, is_store, is_muldiv, is_fence, is_csr, is_mret, is_wfi;
    reg         csr_writes;
    reg  [2:0]  alu_op;
    reg         alu_other, alu_unsigned;
    reg  [1:0]  late;                   // which of the results that come late it is, if it is one
    reg  [31:0] x, y, operand;          // operand: y or a constant
    reg  [31:0] offset;                 // of an address
    reg  [31:0] relative;               // the sum of pc and a constant
    wire        is_memory = is_load || is_store;

    always @(posedge clk) begin
        if (rst || jump) valid <= 1'b0;
        else if (take) valid <= 1'b1;
        else if (ends) valid <= 1'b0;
    end
    always @(posedge clk) begin
        if (rst) next_pc <= RESET_PC;
        else if (jump) next_pc <= target;
        else if (take) next_pc <= next_pc + 32'd4;
    end
    always @(posedge clk) begin
        if (step) begin
            pc           <= next_pc;
            word         <= insn;
            funct3       <= op;
            rd           <= insn[11:7];
            fetch_failed <= insn_fault;
            illegal      <= !legal;
            is_call      <= insn == ECALL;
            is_break     <= insn == EBREAK;
            is_upper     <= opcode == LUI;
            is_auipc     <= opcode == AUIPC;
            is_jal       <= opcode == JAL;
            is_jalr      <= opcode == JALR;
            is_branch    <= opcode == BRANCH;
            is_load      <= opcode == LOAD;
            is_store     <= opcode == STORE;
            is_muldiv    <= next_muldiv;
            is_fence     <= opcode == MISC_MEM;
            is_csr       <= next_csr;
            is_mret      <= insn == MRET;
            is_wfi       <= insn == WFI;
            csr_writes   <= next_writes;
            has_result   <= insn[11:7] != 5'd0 && opcode != STORE && opcode != BRANCH && opcode != MISC_MEM &&
                            (opcode != SYSTEM || next_csr);
            alu_op       <= next_alu ? op : 3'd0;
            alu_other    <= insn[30] && (opcode == OP || next_imm && op == 3'd5);
            alu_unsigned <= opcode == BRANCH ? op[1] : op[0];
            late         <= !next_alu || next_muldiv ? EARLY : op == 3'd0 ? SUM : op == 3'd5 ? RIGHT : op == 3'd1 ? LEFT : EARLY;
            x            <= x_comes ? result : read_x;
            y            <= y_comes ? result : read_y;
            operand      <= y_comes && !next_imm ? result : next_imm ? imm_i : read_y;
            offset       <= opcode == STORE ? imm_s : imm_i;
            relative     <= next_pc + (opcode == JAL ? imm_j : opcode == BRANCH ? imm_b : imm_u);
        end
    end

    wire [31:0] alu_logic, alu_sum, alu_right, alu_left;
    wire        less;
    wire        equal;
    soc_alu alu (
        .funct3(alu_op), .other(alu_other), .as_unsigned(alu_unsigned), .x(x), .y(operand),
        .logic_result(alu_logic), .sum(alu_sum), .right(alu_right), .left(alu_left), .less(less), .equal(equal)
    );

    wire        branch_taken = (funct3[2] ? less : equal) != funct3[0];
    reg  [31:0] after;                                              // the next instruction's address
    always @(posedge clk) if (step) after <= next_pc + 32'd4;
    wire [31:0] address      = x + offset;                          // of data, and where JALR goes
    wire        goes         = is_jal || is_jalr || is_branch && branch_taken;
    wire [31:0] going_to     = is_jalr ? {address[31:1], 1'b0} : relative;
    wire        odd_jump     = is_jalr ? address[1] : (is_jal || is_branch) && relative[1];     // if it goes

    // ---- Traps

    wire       misaligned = is_memory && (funct3[1:0] == 2'd1 && address[0] || funct3[1:0] == 2'd2 && address[1:0] != 2'd0);
    wire       irq;
    wire       wake;
    wire [3:0] irq_cause;
    reg        sent;            // a load of the data port is out
    reg        multiplying;
    wire       interrupted = irq && !is_wfi && !sent && !multiplying && !away;
    wire       barred      = interrupted || fetch_failed || illegal || is_call || is_break;     // whatever it computes
    reg        refused;         // before it does anything
    reg  [3:0] cause;
    reg [31:0] trap_value;
    reg [31:2] away_pc;         // of the store that is away
    reg [31:0] away_addr;
    always @* begin
        refused    = 1'b1;
        cause      = CALL;
        trap_value = 32'd0;
        if (away)                        {cause, trap_value} = {STORE_FAULT, away_addr};
        else if (interrupted)            cause = irq_cause;
        else if (fetch_failed)           {cause, trap_value} = {FETCH_FAULT, pc};
        else if (illegal)                {cause, trap_value} = {ILLEGAL, word};
        else if (is_call)                cause = CALL;
        else if (is_break)               cause = BREAKPOINT;
        else if (goes && odd_jump)       {cause, trap_value} = {JUMP_MISALIGNED, going_to};
        else if (misaligned)             {cause, trap_value} = {is_store ? STORE_MISALIGNED : LOAD_MISALIGNED, address};
        else begin
            refused = 1'b0;             // a load may still fail
            {cause, trap_value} = {LOAD_FAULT, address};
        end
    end

    wire        going = active && !refused;
    wire        asks  = active && is_memory && !barred && !misaligned;
    wire [31:0] vector;
    wire [31:0] return_pc;
    wire        failed = (sent || away) && d_done && d_fault;
    assign trap = active && refused || failed;

    // ---- Data

    wire [1:0]  lane   = address[1:0];
    wire [3:0]  strobe = funct3[1:0] == 2'd0 ? 4'b0001 : funct3[1:0] == 2'd1 ? 4'b0011 : 4'b1111;
    wire [31:0] loaded = d_rdata >> {lane, 3'd0};
    wire        taken  = d_valid && d_ready;
    assign d_valid = asks && !sent;
    assign d_write = is_store;
    assign d_addr  = {address[31:2], 2'b00};
    assign d_wdata = y << {lane, 3'd0};
    assign d_wstrb = is_store ? strobe << lane : 4'd0;

    always @(posedge clk) begin
        if (rst) {sent, away} <= 2'b00;
        else if (taken) {sent, away} <= {is_load, is_store && !d_posted};
        else if (d_done) {sent, away} <= 2'b00;
    end
    always @(posedge clk) if (!away) {away_pc, away_addr} <= {pc[31:2], address};

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

    wire        muldiv_start = active && !barred && is_muldiv && !multiplying;
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
    wire [31:0] csr_operand = funct3[2] ? {27'd0, word[19:15]} : x;
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
        .asked(insn[31:20]), .known(csr_known), .index(word[31:20]), .value(csr_value),
        .write(finish && is_csr && csr_writes), .new_value(csr_new),
        .trap(trap), .trap_pc(away ? away_pc : pc[31:2]), .trap_irq(interrupted), .trap_cause(cause), .trap_value(trap_value),
        .leave(finish && is_mret), .vector(vector), .return_pc(return_pc),
        .retire(retires), .irq_timer(irq_timer), .irq_external(irq_external),
        .irq(irq), .irq_cause(irq_cause), .wake(wake)
    );

    // ---- The end of an instruction

    wire answered = is_load ? sent && d_done : is_store ? d_ready : is_muldiv ? multiplying && muldiv_done : !is_wfi || wake;
    wire retires  = finish || away && d_done && !d_fault;
    assign ends    = active && (barred || is_memory && misaligned || answered);
    assign finish  = going && answered && !failed && !(is_store && !d_posted);
    assign fence   = finish && is_fence && !funct3[0];
    assign fence_i = finish && is_fence && funct3[0];
    // A target is chosen without a look at what a branch compares: it is one that goes, or nobody asks.
    assign jump    = failed || active && (barred || is_memory && misaligned || is_jal || is_jalr || is_mret ||
                                          is_fence && funct3[0] || is_branch && branch_taken);
    assign target  = away || barred || odd_jump || is_memory ? vector : is_mret ? return_pc : is_fence ? after : going_to;

    // Sums and shifts come late, and are chosen from last.
    reg [31:0] early;
    always @* begin
        if (is_load)                  early = load_result;
        else if (is_muldiv)           early = muldiv_result;
        else if (is_csr)              early = csr_value;
        else if (is_jal || is_jalr)   early = after;
        else if (is_upper)            early = {word[31:12], 12'd0};
        else if (is_auipc)            early = relative;
        else                          early = alu_logic;
    end
    always @* begin
        case (late)
            SUM:     result = alu_sum;
            RIGHT:   result = alu_right;
            LEFT:    result = alu_left;
            default: result = early;
        endcase
    end
    // A result is written until it is right: no more is looked at than what keeps a register as it was.
    wire writes_rd = active && has_result && !barred && !odd_jump && (!is_load || sent && d_done && !d_fault);
    always @(posedge clk) begin
        if (writes_rd) registers[rd] <= result;
    end
endmodule

`default_nettype wire
