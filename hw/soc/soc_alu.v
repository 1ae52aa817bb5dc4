// SPDX-License-Identifier: Apache-2.0
//
// soc_alu -- sums, comparisons, shifts and logic of RV32I, without a register.
//
// Contract: what RV32I says of these operands: sum for ADD, or SUB with `other`; left for SLL, right for SRL, or SRA with
// `other`, if funct3 is that of the shift; logic_result for what else there is of funct3. less and equal compare the
// operands (as unsigned numbers with `as_unsigned`) for branches. Sums and shifts come last.
`default_nettype none

module soc_alu (
    input  wire [2:0]  funct3,
    input  wire        other,
    input  wire        as_unsigned,
    input  wire [31:0] x,
    input  wire [31:0] y,
    output reg  [31:0] logic_result,
    output wire [31:0] sum,
    output wire [31:0] right,
    output wire [31:0] left,
    output wire        less,
    output wire        equal
);
    localparam [2:0] SLL = 3'd1, SLT = 3'd2, SLTU = 3'd3, XOR = 3'd4, OR = 3'd6;

    // The subtraction serves both comparisons; the 33rd bit of each operand is its sign, or 0 for an unsigned one.
    wire [32:0] x_wide     = {!as_unsigned && x[31], x};
    wire [32:0] y_wide     = {!as_unsigned && y[31], y};
    wire [32:0] difference = x_wide - y_wide;
    assign less  = difference[32];
    assign equal = x == y;
    assign sum   = other ? difference[31:0] : x + y;

    // The shifter to the right serves all shifts: a shift to the left turns its operand round before and after.
    wire        to_left = funct3 == SLL;
    wire [31:0] x_turned;
    wire [31:0] before_shift = to_left ? x_turned : x;
    wire        fill         = other && !to_left && x[31];
    // The waiver: the upper half is what was shifted in.
    // verilator lint_off UNUSEDSIGNAL
    wire [63:0] widened = {{32{fill}}, before_shift} >> y[4:0];
    // verilator lint_on UNUSEDSIGNAL
    assign right = widened[31:0];
    genvar i;
    generate
        for (i = 0; i < 32; i = i + 1) begin : turn
            assign x_turned[i] = x[31 - i];
            assign left[i]     = right[31 - i];
        end
    endgenerate

    always @* begin
        case (funct3)
            SLT, SLTU: logic_result = {31'd0, less};
            XOR:       logic_result = x ^ y;
            OR:        logic_result = x | y;
            default:   logic_result = x & y;
        endcase
    end
endmodule

`default_nettype wire
