// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_pair -- hw/rtl/compute/vta_mul_pair.v for standard cells, which have no DSP48: two multipliers of 8 bits in place of one
// of 25 by 8.
//
// Contract: that module's; tests/fpga/asic.sh has Yosys prove the two equal.
`default_nettype none

module vta_mul_pair (
    input  wire               clk,
    input  wire               en,
    input  wire        [7:0]  w0,
    input  wire        [7:0]  w1,
    input  wire        [7:0]  x,
    output wire        [15:0] low,
    output wire signed [15:0] high
);
    reg signed [7:0]  w0_q;
    reg signed [7:0]  w1_q;
    reg signed [7:0]  x_q;
    reg signed [15:0] low_q;
    reg signed [15:0] high_q;

    always @(posedge clk) begin
        if (en) begin
            w0_q <= w0;
            w1_q <= w1;
            x_q  <= x;
        end
        low_q  <= w0_q * x_q;
        high_q <= w1_q * x_q;
    end

    assign low  = {!low_q[15], low_q[14:0]};
    assign high = high_q;
endmodule

`default_nettype wire
