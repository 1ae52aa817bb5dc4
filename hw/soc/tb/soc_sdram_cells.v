// SPDX-License-Identifier: Apache-2.0
//
// soc_sdram_cells -- a 16-bit SDRAM of 32 MiB cycle by cycle, for simulations of whole programs: it has all rows, and neither delays nor
// an eye on the controller's times, which soc_sdram_chip has. What is in it at first is told as in soc_top_tb: +image, +inputs, +inputs_at.
//
// Contract: bursts and CAS latency (2 or 3) are those of the mode that the controller sets. clk is that of the controller,
// inverted.
`default_nettype none
`timescale 1ns / 1ps

module soc_sdram_cells (
    input  wire        clk,
    input  wire [3:0]  command,         // CS#, RAS#, CAS#, WE#
    input  wire [1:0]  ba,
    input  wire [12:0] a,
    input  wire [1:0]  dqm,
    input  wire [15:0] dq_in,
    output reg  [15:0] dq_out
);
    localparam [3:0] ACTIVATE = 4'b0011, READ = 4'b0101, WRITE = 4'b0100, SET_MODE = 4'b0000;

    reg  [15:0] cells [0:(1<<24)-1];    // row, bank, column
    reg  [12:0] row [0:3];

    // A beat of 64 bits has four words, the lowest first.
    task set_beat(input integer place, input [63:0] value);
        begin
            cells[place]     = value[15:0];
            cells[place + 1] = value[31:16];
            cells[place + 2] = value[47:32];
            cells[place + 3] = value[63:48];
        end
    endtask

    reg  [8*1024-1:0] path;
    reg  [63:0]       beat;
    integer           file, at;
    initial begin
        at = 0;
        if ($value$plusargs("image=%s", path)) begin
            file = $fopen(path, "r");
            while ($fscanf(file, "%h", beat) == 1) begin
                set_beat(4 * at, beat);
                at = at + 1;
            end
            $fclose(file);
        end
        if ($value$plusargs("inputs=%s", path) && $value$plusargs("inputs_at=%d", at)) begin
            file = $fopen(path, "r");
            while ($fscanf(file, "%h", beat) == 1) begin
                set_beat(4 * at, beat);
                at = at + 1;
            end
            $fclose(file);
        end
    end

    reg         soon = 1'b0;            // READ was the last command
    reg  [2:0]  reads = 3'd0;           // words that are still to come
    reg  [2:0]  writes = 3'd0;
    reg  [2:0]  more;                   // words of a burst behind the first
    reg         later;                  // CAS latency 3
    reg  [15:0] delayed;
    reg  [23:0] read_at, write_at;

    wire [23:0] here = {row[ba], ba, a[8:0]};
    wire [23:0] put  = writes != 3'd0 ? write_at : here;
    always @(posedge clk) begin
        if (command == SET_MODE) {later, more} <= {a[4], a[1:0] == 2'd3 ? 3'd7 : a[1:0] == 2'd2 ? 3'd3 : {2'd0, a[0]}};
        if (command == ACTIVATE) row[ba] <= a;

        soon <= command == READ;
        if (command == READ) read_at <= here;
        else if (soon || reads != 3'd0) read_at <= read_at + 24'd1;
        if (soon) reads <= more;
        else if (reads != 3'd0) reads <= reads - 3'd1;
        delayed <= cells[read_at];
        dq_out <= later ? delayed : cells[read_at];

        if (command == WRITE) writes <= more;
        else if (writes != 3'd0) writes <= writes - 3'd1;
        write_at <= put + 24'd1;
        if (command == WRITE || writes != 3'd0) begin
            if (!dqm[0]) cells[put][7:0]  <= dq_in[7:0];
            if (!dqm[1]) cells[put][15:8] <= dq_in[15:8];
        end
    end
endmodule

`default_nettype wire
