// SPDX-License-Identifier: Apache-2.0
//
// soc_uart -- a serial line, 8 data bits, no parity, one stop bit.
//
// Contract: a byte is taken with send while not busy; a byte that came stays in data while full, until taken; one that
// comes meanwhile takes its place. A bit lasts DIVIDER cycles, 2 or more.
`default_nettype none

module soc_uart #(
    parameter integer DIVIDER = 16
) (
    input  wire       clk,
    input  wire       rst,
    input  wire       send,
    input  wire [7:0] send_data,
    output wire       busy,
    output reg        full,
    output reg  [7:0] data,
    input  wire       taken,
    output wire       tx,
    input  wire       rx
);
    localparam [31:0] LAST = DIVIDER - 1, HALF = DIVIDER / 2;

    // Sending: a start bit, eight bits from the lowest, a stop bit.
    reg  [9:0]  out_bits;
    reg  [3:0]  out_left;
    reg  [31:0] out_time;
    assign busy = out_left != 4'd0;
    assign tx   = !busy || out_bits[0];
    always @(posedge clk) begin
        if (rst) out_left <= 4'd0;
        else if (!busy && send) out_left <= 4'd10;
        else if (out_time == LAST) out_left <= out_left - 4'd1;
        if (!busy) begin
            out_bits <= {1'b1, send_data, 1'b0};
            out_time <= 32'd0;
        end else begin
            out_time <= out_time == LAST ? 32'd0 : out_time + 32'd1;
            if (out_time == LAST) out_bits <= {1'b1, out_bits[9:1]};
        end
    end

    // Receiving: from the edge of a start bit on, the middle of each bit.
    reg  [1:0]  line;
    reg  [7:0]  in_bits;
    reg  [3:0]  in_left;        // 10: the start bit is looked at again; 1: the stop bit
    reg  [31:0] in_time;
    wire        sample = in_time == LAST;       // never while nothing comes
    always @(posedge clk) begin
        line <= {line[0], rx};
        if (rst) begin
            in_left <= 4'd0;
            full    <= 1'b0;
        end else begin
            if (taken) full <= 1'b0;
            if (in_left == 4'd0) begin
                if (!line[1]) in_left <= 4'd10;
            end else if (sample) begin
                in_left <= in_left == 4'd10 && line[1] ? 4'd0 : in_left - 4'd1;
                if (in_left == 4'd1 && line[1]) full <= 1'b1;
            end
        end
        if (in_left == 4'd0) in_time <= LAST - HALF;
        else in_time <= sample ? 32'd0 : in_time + 32'd1;
        if (sample) in_bits <= {line[1], in_bits[7:1]};
        if (sample && in_left == 4'd1 && line[1]) data <= in_bits;
    end
endmodule

`default_nettype wire
