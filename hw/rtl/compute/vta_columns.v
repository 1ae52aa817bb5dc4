// SPDX-License-Identifier: Apache-2.0
//
// vta_columns -- adds up the columns of depthwise windows that overlap: each column is multiplied once, by all its factors, and
// what it gives to later outputs waits here, for each row of the window.
//
// Contract: with `en`, in0, in1 and in2 are what a column adds to the output that ends with it, to the next one and to the one
// after that. `sum`, combinational: in0 and, with `add_1`, what was left by the columns before. `add_2`: windows of three columns,
// so that something was left for this column's next output, too.
`default_nettype none

module vta_columns #(
    parameter integer LANES = 16,
    parameter integer TAPS  = 3
) (
    input  wire                   clk,
    // The waiver: with two taps, nothing is left for two columns; with one, nothing at all.
    // verilator lint_off UNUSEDSIGNAL
    input  wire                   en,
    input  wire [3:0]             row,
    input  wire                   add_1,
    input  wire                   add_2,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [17*TAPS*LANES-1:0] in,     // in0 of all lanes in the low bits
    output wire [19*LANES-1:0]    sum
);
    wire [18*LANES-1:0] left_1;
    wire [18*LANES-1:0] next_1;

    genvar l;
    generate
        if (TAPS > 1) begin : kept
            (* ram_style = "distributed" *)
            reg  [18*LANES-1:0] left_1_q [0:15];
            assign left_1 = left_1_q[row];
            always @(posedge clk) begin
                if (en) left_1_q[row] <= next_1;
            end
        end else begin : none
            assign left_1 = {18*LANES{1'b0}};
        end

        if (TAPS > 2) begin : deep
            (* ram_style = "distributed" *)
            reg  [17*LANES-1:0] left_2_q [0:15];
            wire [17*LANES-1:0] left_2 = left_2_q[row];
            always @(posedge clk) begin
                if (en) left_2_q[row] <= in[17*2*LANES +: 17*LANES];
            end
            for (l = 0; l < LANES; l = l + 1) begin : lane
                wire [16:0] more = add_2 ? left_2[17*l +: 17] : 17'd0;
                wire [16:0] in1  = in[17*(LANES + l) +: 17];
                assign next_1[18*l +: 18] = {more[16], more} + {in1[16], in1};
            end
        end else if (TAPS == 1) begin : alone
            assign next_1 = {18*LANES{1'b0}};
            wire unused_next = clk || |next_1;
        end else begin : flat
            for (l = 0; l < LANES; l = l + 1) begin : lane
                wire [16:0] in1 = in[17*(LANES + l) +: 17];
                assign next_1[18*l +: 18] = {in1[16], in1};
            end
        end

        for (l = 0; l < LANES; l = l + 1) begin : out
            wire [17:0] more = add_1 ? left_1[18*l +: 18] : 18'd0;
            wire [16:0] in0  = in[17*l +: 17];
            assign sum[19*l +: 19] = {more[17], more} + {{2{in0[16]}}, in0};
        end
    endgenerate
endmodule

`default_nettype wire
