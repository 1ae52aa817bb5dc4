// SPDX-License-Identifier: Apache-2.0
//
// vta_acc_tb -- three readers and three writers of the accumulators at random against a plain array: each reader gets what
// it asked for, the array is never refused, the ALU is told when it is, a LOAD waits only for its bank. An entry that is
// read in the cycle of its write is not judged. +seed=N, +runs=N cycles.
// parts: vta_offer
`default_nettype none

module vta_acc_tb;
`include "random.vh"
    parameter integer LOG_LANES = 1;
    parameter integer LOG_DEPTH = 5;
    parameter integer LOG_BANK  = 2;
    localparam integer WIDTH = 32 << LOG_LANES;
    localparam integer DEPTH = 1 << LOG_DEPTH;

    reg                  array_rd = 0, x_en = 0, y_en = 0, fire = 0, array_wr = 0, alu_wr = 0, load = 0;
    reg  [LOG_DEPTH-1:0] array_rd_addr = 0, x_addr = 0, y_addr = 0, array_wr_addr = 0, alu_wr_addr = 0, load_addr = 0;
    reg  [WIDTH-1:0]     array_wr_data, alu_wr_data, load_data;
    wire [WIDTH-1:0]     array_data, x_data, y_data;
    wire                 x_free, y_free, load_ready;
    wire                 rd_ok = (!x_en || x_free) && (!y_en || y_free);

    vta_acc #(.LOG_LANES(LOG_LANES), .LOG_DEPTH(LOG_DEPTH), .LOG_BANK(LOG_BANK)) dut (
        .clk(clk), .rst(rst), .array_rd_en(array_rd), .array_rd_addr(array_rd_addr), .array_rd_data(array_data),
        .x_en(x_en), .x_addr(x_addr), .x_data(x_data), .y_en(y_en), .y_addr(y_addr), .y_data(y_data),
        .alu_rd_fire(fire), .x_free(x_free), .y_free(y_free),
        .array_wr_en(array_wr), .array_wr_addr(array_wr_addr), .array_wr_data(array_wr_data),
        .alu_wr_en(alu_wr), .alu_wr_addr(alu_wr_addr), .alu_wr_data(alu_wr_data),
        .load_en(load), .load_ready(load_ready), .load_addr(load_addr), .load_data(load_data)
    );

    // The bank is the highest bits of an address.
    function integer bank(input [LOG_DEPTH-1:0] addr);
        bank = addr >> (LOG_DEPTH - LOG_BANK);
    endfunction

    reg [WIDTH-1:0] copy [0:DEPTH-1];
    integer refused, waited, judged;

    task random_data(output [WIDTH-1:0] value);
        integer i;
        for (i = 0; i < WIDTH; i = i + 16) value[i +: 16] = range(0, 65535);
    endtask

    function [WIDTH-1:0] now(input [LOG_DEPTH-1:0] addr);
        now = copy[addr];
    endfunction

    // True if the entry is written in this cycle.
    function written(input [LOG_DEPTH-1:0] addr);
        written = (array_wr && array_wr_addr == addr) || (alu_wr && alu_wr_addr == addr)
               || (load && load_ready && load_addr == addr);
    endfunction

    reg [WIDTH-1:0] array_want, x_want, y_want;
    reg             array_judge, x_judge, y_judge;
    integer         n;
    reg             held;
    initial begin
        begin_bench(6000);
        {refused, waited, judged} = 0;
        held = 1'b0;
        reset;
        // All entries first: nobody reads what was never written.
        for (n = 0; n < DEPTH; n = n + 1) begin
            load = 1'b1; load_addr = n;
            random_data(load_data);
            copy[n] = load_data;
            @(negedge clk);
        end
        load = 1'b0;
        for (n = 0; n < runs; n = n + 1) begin
            array_rd = chance(50); array_rd_addr = range(0, DEPTH - 1);
            x_en = chance(60); x_addr = range(0, DEPTH - 1);
            y_en = x_en && chance(50); y_addr = chance(20) ? x_addr : range(0, DEPTH - 1);
            if (bank(x_addr) == bank(y_addr) && x_addr != y_addr) y_en = 1'b0;
            array_wr = chance(30); alu_wr = !array_wr && chance(40);
            array_wr_addr = range(0, DEPTH - 1); alu_wr_addr = range(0, DEPTH - 1);
            random_data(array_wr_data);
            random_data(alu_wr_data);
            if (!held) begin
                load = chance(60); load_addr = range(0, DEPTH - 1);
                random_data(load_data);
            end
            // One entry has one writer: the loads' guard sees to it.
            if ((array_wr && array_wr_addr == load_addr) || (alu_wr && alu_wr_addr == load_addr)) {array_wr, alu_wr} = 2'd0;
            fire = 1'b0;
            #1;
            if (rd_ok !== !(array_rd && ((x_en && bank(x_addr) == bank(array_rd_addr)) || (y_en && bank(y_addr) == bank(array_rd_addr)))))
                $fatal(1, "cycle %0d: the ALU may read: %b", n, rd_ok);
            if (load_ready !== !((array_wr && bank(array_wr_addr) == bank(load_addr)) || (alu_wr && bank(alu_wr_addr) == bank(load_addr))))
                $fatal(1, "cycle %0d: a LOAD may write: %b", n, load_ready);
            fire    = rd_ok && x_en && chance(90);
            refused = refused + !rd_ok;
            waited  = waited + (load && !load_ready);
            #1;
            array_judge = array_rd && !written(array_rd_addr);     array_want = now(array_rd_addr);
            x_judge     = fire && x_en && !written(x_addr);        x_want     = now(x_addr);
            y_judge     = fire && y_en && !written(y_addr);        y_want     = now(y_addr);
            held        = load && !load_ready;
            if (array_wr) copy[array_wr_addr] = array_wr_data;
            if (alu_wr) copy[alu_wr_addr] = alu_wr_data;
            if (load && load_ready) copy[load_addr] = load_data;
            @(negedge clk);
            if (array_judge && array_data !== array_want) $fatal(1, "cycle %0d: the array gets %h instead of %h", n, array_data, array_want);
            if (x_judge && x_data !== x_want) $fatal(1, "cycle %0d: x is %h instead of %h", n, x_data, x_want);
            if (y_judge && y_data !== y_want) $fatal(1, "cycle %0d: y is %h instead of %h", n, y_data, y_want);
            judged = judged + array_judge + x_judge + y_judge;
        end
        $display("%0d reads, %0d refused, %0d LOADs waited", judged, refused, waited);
        if (judged < runs/2 || (waited == 0 || refused == 0)) $fatal(1, "too little happened");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
