// SPDX-License-Identifier: Apache-2.0
//
// soc_csr -- the control and status registers of a hart that has machine mode alone, its traps and its counters.
//
// Contract: whether a register `asked` is known and the value of register `index` are combinational. write stores new_value at the clock's edge; a
// register that cannot be written ignores it, and the core refuses the instruction where RISC-V says so. trap notes pc,
// cause and value and shuts interrupts off, leave restores them; of trap, leave and write there is one a cycle at most.
// irq says that an interrupt is to be taken before the next instruction, wake that one waits, taken or not.
`default_nettype none

module soc_csr (
    input  wire        clk,
    input  wire        rst,

    input  wire [11:0] asked,
    output reg         known,
    input  wire [11:0] index,
    output reg  [31:0] value,
    input  wire        write,
    input  wire [31:0] new_value,

    input  wire        trap,
    input  wire [31:2] trap_pc,
    input  wire        trap_irq,
    input  wire [3:0]  trap_cause,
    input  wire [31:0] trap_value,
    input  wire        leave,
    output wire [31:0] vector,
    output wire [31:0] return_pc,

    input  wire        retire,
    input  wire        irq_timer,
    input  wire        irq_external,
    output wire        irq,
    output wire [3:0]  irq_cause,
    output wire        wake
);
    localparam [11:0] MSTATUS = 12'h300, MISA = 12'h301, MIE = 12'h304, MTVEC = 12'h305, MSCRATCH = 12'h340, MEPC = 12'h341,
                      MCAUSE = 12'h342, MTVAL = 12'h343, MIP = 12'h344, MCYCLE = 12'hb00, MINSTRET = 12'hb02,
                      MCYCLEH = 12'hb80, MINSTRETH = 12'hb82, CYCLE = 12'hc00, INSTRET = 12'hc02, CYCLEH = 12'hc80,
                      INSTRETH = 12'hc82, MVENDORID = 12'hf11, MARCHID = 12'hf12, MIMPID = 12'hf13, MHARTID = 12'hf14;
    localparam [31:0] RV32IM = 32'h4000_1100;   // MXL 1; extensions I and M
    localparam [3:0]  TIMER = 4'd7, EXTERNAL = 4'd11;

    reg         enabled, enabled_before;        // mstatus: MIE and MPIE
    reg         timer_on, external_on;          // mie
    reg  [29:0] vector_q;                       // mtvec without its mode, which is direct
    reg  [31:0] scratch;
    reg  [29:0] trapped_pc;
    reg         cause_irq;
    reg  [3:0]  cause;
    reg  [31:0] trapped_value;
    reg  [63:0] cycles, retired;

    assign vector    = {vector_q, 2'b00};
    assign return_pc = {trapped_pc, 2'b00};
    assign wake      = irq_timer && timer_on || irq_external && external_on;
    assign irq       = enabled && wake;
    assign irq_cause = irq_external && external_on ? EXTERNAL : TIMER;

    always @* begin
        case (asked)
            MSTATUS, MISA, MIE, MTVEC, MSCRATCH, MEPC, MCAUSE, MTVAL, MIP, MCYCLE, CYCLE, MCYCLEH, CYCLEH, MINSTRET, INSTRET,
            MINSTRETH, INSTRETH, MVENDORID, MARCHID, MIMPID, MHARTID: known = 1'b1;
            default: known = 1'b0;
        endcase
    end
    always @* begin
        value = 32'd0;
        case (index)
            MSTATUS:              value = {19'd0, 2'b11, 3'd0, enabled_before, 3'd0, enabled, 3'd0};
            MISA:                 value = RV32IM;
            MIE:                  value = {20'd0, external_on, 3'd0, timer_on, 7'd0};
            MTVEC:                value = vector;
            MSCRATCH:             value = scratch;
            MEPC:                 value = return_pc;
            MCAUSE:               value = {cause_irq, 27'd0, cause};
            MTVAL:                value = trapped_value;
            MIP:                  value = {20'd0, irq_external, 3'd0, irq_timer, 7'd0};
            MCYCLE, CYCLE:        value = cycles[31:0];
            MCYCLEH, CYCLEH:      value = cycles[63:32];
            MINSTRET, INSTRET:    value = retired[31:0];
            MINSTRETH, INSTRETH:  value = retired[63:32];
            default: ;          // of the maker's numbers all are 0
        endcase
    end

    always @(posedge clk) begin
        if (rst) begin
            enabled        <= 1'b0;
            enabled_before <= 1'b0;
            timer_on       <= 1'b0;
            external_on    <= 1'b0;
        end else if (trap) begin
            enabled_before <= enabled;
            enabled        <= 1'b0;
        end else if (leave) begin
            enabled        <= enabled_before;
            enabled_before <= 1'b1;
        end else if (write) begin
            if (index == MSTATUS) {enabled_before, enabled} <= {new_value[7], new_value[3]};
            if (index == MIE)     {external_on, timer_on}   <= {new_value[11], new_value[7]};
        end
    end

    always @(posedge clk) begin
        if (rst) begin
            vector_q      <= 30'd0;
            scratch       <= 32'd0;
            trapped_pc    <= 30'd0;
            cause_irq     <= 1'b0;
            cause         <= 4'd0;
            trapped_value <= 32'd0;
        end else if (trap) begin
            trapped_pc    <= trap_pc;
            cause_irq     <= trap_irq;
            cause         <= trap_cause;
            trapped_value <= trap_value;
        end else if (write) begin
            case (index)
                MTVEC:    vector_q           <= new_value[31:2];
                MSCRATCH: scratch            <= new_value;
                MEPC:     trapped_pc         <= new_value[31:2];
                MCAUSE:   {cause_irq, cause} <= {new_value[31], new_value[3:0]};
                MTVAL:    trapped_value      <= new_value;
                default: ;
            endcase
        end
    end

    // A write to half of a counter takes the place of its step.
    always @(posedge clk) begin
        if (rst) cycles <= 64'd0;
        else if (write && index == MCYCLE)  cycles[31:0]  <= new_value;
        else if (write && index == MCYCLEH) cycles[63:32] <= new_value;
        else cycles <= cycles + 64'd1;
    end

    always @(posedge clk) begin
        if (rst) retired <= 64'd0;
        else if (write && index == MINSTRET)  retired[31:0]  <= new_value;
        else if (write && index == MINSTRETH) retired[63:32] <= new_value;
        else if (retire) retired <= retired + 64'd1;
    end
endmodule

`default_nettype wire
