// SPDX-License-Identifier: Apache-2.0
//
// vta_skid -- register slice: cuts valid, data and ready paths.
//
// Contract: as vta_fifo with two places; in_ready and out_valid are registers. Latency 1, throughput one word a cycle.
// A word offered at the output stays unchanged until it is taken.
`include "vta_assert.vh"
`default_nettype none

module vta_skid #(
    parameter integer WIDTH = 8
) (
    input  wire             clk,
    input  wire             rst,

    input  wire             in_valid,
    output wire             in_ready,
    input  wire [WIDTH-1:0] in_data,

    output wire             out_valid,
    input  wire             out_ready,
    output wire [WIDTH-1:0] out_data
);
    reg             out_valid_q;
    reg             spare_valid_q;
    reg [WIDTH-1:0] out_data_q;
    reg [WIDTH-1:0] spare_data_q;

    wire move = out_ready || !out_valid_q;

    assign in_ready  = !spare_valid_q;
    assign out_valid = out_valid_q;
    assign out_data  = out_data_q;

    always @(posedge clk) begin
        if (rst) begin
            out_valid_q   <= 1'b0;
            spare_valid_q <= 1'b0;
        end else if (move) begin
            out_valid_q   <= in_valid || spare_valid_q;
            spare_valid_q <= 1'b0;
        end else if (in_valid) begin
            spare_valid_q <= 1'b1;
        end
    end

    always @(posedge clk) begin
        if (move) out_data_q <= spare_valid_q ? spare_data_q : in_data;
    end

    always @(posedge clk) begin
        if (!spare_valid_q) spare_data_q <= in_data;
    end

    `VTA_FORMAL_RESET
    `VTA_ASSERT(order, !spare_valid_q || out_valid_q)
endmodule

`default_nettype wire
