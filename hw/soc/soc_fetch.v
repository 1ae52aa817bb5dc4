// SPDX-License-Identifier: Apache-2.0
//
// soc_fetch -- asks for instructions ahead of the core, two at most, and drops those that a jump makes useless. Three have
// room here, so that it asks in every cycle without looking at take.
//
// Contract: a request is taken in a cycle with ask_valid and ask_ready; until then it may change or go. Its answer comes
// in a later cycle, in order. insn stays while insn_valid and not take. jump may come in any cycle; what was asked for
// before never reaches the core.
`default_nettype none

module soc_fetch #(
    parameter [31:0] RESET_PC = 32'd0
) (
    input  wire        clk,
    input  wire        rst,

    output wire        ask_valid,
    input  wire        ask_ready,
    output wire [31:0] ask_addr,
    input  wire        answer_valid,
    input  wire [31:0] answer_insn,
    input  wire        answer_fault,

    output wire        insn_valid,
    output wire [31:0] insn,
    output wire        insn_fault,
    input  wire        take,
    input  wire        jump,
    input  wire [31:2] target
);
    reg  [29:0] next;       // the word to ask for
    reg  [1:0]  asked;      // requests without an answer
    reg  [1:0]  useless;    // of them, those from before a jump: the first ones
    reg  [1:0]  count;      // instructions that wait here
    reg  [32:0] head, second, third;

    wire       accepted  = ask_valid && ask_ready;
    wire       put       = answer_valid && useless == 2'd0;
    wire [1:0] asked_now = asked + {1'b0, accepted} - {1'b0, answer_valid};
    wire [1:0] taken     = asked - useless + count;    // places of the queue
    wire [1:0] left      = count - {1'b0, take};

    assign ask_valid  = !rst && !asked[1] && taken != 2'd3;
    assign ask_addr   = {next, 2'b00};
    assign insn_valid = count != 2'd0;
    assign {insn_fault, insn} = head;

    always @(posedge clk) begin
        if (rst) begin
            asked   <= 2'd0;
            useless <= 2'd0;
            count   <= 2'd0;
        end else begin
            asked <= asked_now;
            if (jump) begin
                useless <= asked_now;
                count   <= 2'd0;
            end else begin
                if (answer_valid && useless != 2'd0) useless <= useless - 2'd1;
                count <= left + {1'b0, put};
            end
        end
    end

    always @(posedge clk) begin
        if (rst) next <= RESET_PC[31:2];
        else if (jump) next <= target;
        else if (accepted) next <= next + 30'd1;
    end

    always @(posedge clk) begin
        if (take) {head, second} <= {second, third};
        if (put && left == 2'd0) head <= {answer_fault, answer_insn};
        if (put && left == 2'd1) second <= {answer_fault, answer_insn};
        if (put && left == 2'd2) third <= {answer_fault, answer_insn};
    end
endmodule

`default_nettype wire
