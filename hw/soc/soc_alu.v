// SPDX-License-Identifier: Apache-2.0
//
// soc_alu -- sums, comparisons, shifts and logic of RV32I, without a register.
//
// Contract: result is what RV32I says of funct3 with these operands; funct7[5] of the instruction comes as `other`
// (SUB for ADD, SRA for SRL). less and equal compare the operands (as unsigned numbers with `as_unsigned`) for branches.
`default_nettype none

module soc_alu (
    input  wire [2:0]  funct3,
    input  wire        other,
    input  wire        as_unsigned,
    input  wire [31:0] x,
    input  wire [31:0] y,
    output reg  [31:0] result,
    output wire        less,
    output wire        equal
);
    localparam [2:0] ADD = 3'd0, SLL = 3'd1, SLT = 3'd2, SLTU = 3'd3, XOR = 3'd4, SRL = 3'd5, OR = 3'd6;

    // The subtraction serves both comparisons; the 33rd bit of each operand is its sign, or 0 for an unsigned one.
    wire [32:0] x_wide     = {!as_unsigned && x[31], x};
    wire [32:0] y_wide     = {!as_unsigned && y[31], y};
    wire [32:0] difference = x_wide - y_wide;
    assign less  = difference[32];
    assign equal = x == y;

    // The shifter to the right serves all shifts: a shift to the left turns its operand round before and after.
    wire        left = funct3 == SLL;
    wire [31:0] x_turned;
    wire [31:0] shifted_turned;
    wire [31:0] before_shift = left ? x_turned : x;
    wire        fill         = other && !left && x[31];
    // The waiver: the upper half is what was shifted in.
    // verilator lint_off UNUSEDSIGNAL
    wire [63:0] widened = {{32{fill}}, before_shift} >> y[4:0];
    // verilator lint_on UNUSEDSIGNAL
    wire [31:0] shifted = widened[31:0];
    genvar i;
    generate
        for (i = 0; i < 32; i = i + 1) begin : turn
            assign x_turned[i]       = x[31 - i];
            assign shifted_turned[i] = shifted[31 - i];
        end
    endgenerate

    always @* begin
        case (funct3)
            ADD:       result = other ? difference[31:0] : x + y;
            SLL:       result = shifted_turned;
            SLT, SLTU: result = {31'd0, less};
            XOR:       result = x ^ y;
            SRL:       result = shifted;
            OR:        result = x | y;
            default:   result = x & y;
        endcase
    end
endmodule

`default_nettype wire
