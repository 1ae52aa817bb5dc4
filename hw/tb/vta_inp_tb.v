// SPDX-License-Identifier: Apache-2.0
//
// vta_inp_tb -- the INP scratchpad under random writes of both writers and reads of one and of three entries, against a plain array: reads are a
// cycle late, a read beside a write of the same entry sees the old contents, and what was read stays.
`default_nettype none

module vta_inp_tb;
`include "random.vh"
    parameter integer LOG_DEPTH = 5;
    parameter integer ROWS      = 3;
    localparam integer WIDTH = 32;
    localparam integer SLICE = 16;
    localparam integer GRAIN = 8;
    localparam integer DEPTH = 1 << LOG_DEPTH;

    reg                    wr_en = 1'b0, rd_en = 1'b0, rd_more = 1'b0;
    reg  [WIDTH/SLICE-1:0] wr_strobe;
    reg  [LOG_DEPTH-1:0]   wr_addr, rd_addr;
    reg  [SLICE-1:0]       wr_data;
    reg  [2*LOG_DEPTH-1:0] rd_more_addr;
    wire [WIDTH-1:0]       rd_data;
    wire [2*WIDTH-1:0]     rd_more_data;

    reg                    two_en = 1'b0;
    reg  [WIDTH/GRAIN-1:0] two_strobe;
    reg  [LOG_DEPTH-1:0]   two_addr;
    reg  [WIDTH-1:0]       two_data;

    vta_inp #(.LOG_DEPTH(LOG_DEPTH), .WIDTH(WIDTH), .SLICE(SLICE), .GRAIN(GRAIN), .ROWS(ROWS)) dut (
        .clk(clk), .rst(rst), .two_en(two_en), .two_strobe(two_strobe), .two_addr(two_addr), .two_data(two_data), .wr_en(wr_en), .wr_strobe(wr_strobe), .wr_addr(wr_addr), .wr_data(wr_data),
        .rd_en(rd_en), .rd_addr(rd_addr), .rd_data(rd_data), .rd_more(rd_more), .rd_more_addr(rd_more_addr),
        .rd_more_data(rd_more_data)
    );

    reg [WIDTH-1:0]   model [0:DEPTH-1];
    reg [WIDTH-1:0]   want;
    reg [2*WIDTH-1:0] want_more;
    reg               judged = 1'b0;
    integer n, s, a, pitch;

    initial begin
        begin_bench(20000);
        reset;
        @(negedge clk);
        for (n = 0; n < DEPTH; n = n + 1) begin
            wr_en = 1'b1; wr_strobe = {WIDTH/SLICE{1'b1}}; wr_addr = n; wr_data = n;
            model[n] = {WIDTH/SLICE{wr_data}};
            @(negedge clk);
        end
        for (n = 0; n < runs; n = n + 1) begin
            wr_en     = chance(50);
            wr_strobe = range(0, 255);
            wr_addr   = range(0, 255);
            wr_data   = range(0, 65535);
            two_strobe = range(0, 255);
            two_addr  = range(0, 255);
            two_data  = {range(0, 65535), 16'd0} | range(0, 65535);
            two_en    = chance(50) && (!wr_en || (ROWS == 3 && wr_addr[1:0] != two_addr[1:0]));
            rd_en     = chance(70);
            rd_more   = rd_en && ROWS == 3 && chance(60);
            a         = range(0, DEPTH - 1);
            pitch     = 2*range(0, DEPTH/4 - 1) + 1;        // three of them fit
            if (rd_more) a = range(0, DEPTH - 1 - 2*pitch);
            rd_addr      = chance(30) && !rd_more ? wr_addr : a;
            rd_more_addr = {rd_addr + pitch[LOG_DEPTH-1:0] + pitch[LOG_DEPTH-1:0], rd_addr + pitch[LOG_DEPTH-1:0]};
            if (rd_en) begin
                want   = model[rd_addr];
                judged = 1'b1;
            end
            if (rd_more) want_more = {model[rd_more_addr[LOG_DEPTH +: LOG_DEPTH]], model[rd_more_addr[0 +: LOG_DEPTH]]};
            if (wr_en) for (s = 0; s < WIDTH/SLICE; s = s + 1) if (wr_strobe[s]) model[wr_addr][SLICE*s +: SLICE] = wr_data;
            if (two_en) for (s = 0; s < WIDTH/GRAIN; s = s + 1) if (two_strobe[s]) model[two_addr][GRAIN*s +: GRAIN] = two_data[GRAIN*s +: GRAIN];
            @(negedge clk);
            // The two others need not stay longer than this.
            if (judged && rd_data !== want) $fatal(1, "read %0d: entry %0d is %h instead of %h", n, rd_addr, rd_data, want);
            if (rd_more && rd_more_data !== want_more)
                $fatal(1, "read %0d: rows %h are %h instead of %h", n, rd_more_addr, rd_more_data, want_more);
        end
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
