// SPDX-License-Identifier: Apache-2.0
//
// vta_counters -- the performance counters.
//
// Contract: counter i counts its event, those from PLAIN on by their amount; `clear` sets all to 0. A read (rd_valid held,
// rd_index) is answered by rd_done within 2^LOG_SLOTS + 4 cycles, counted anew at a `clear`, with the value of a cycle since it
// was asked for.
// COUNTERS <= 2^LOG_SLOTS.
//
// Each counter is a short one, emptied in turn into a RAM with one wide adder: a third of the area of wide counters.
`include "vta_assert.vh"
`default_nettype none

module vta_counters #(
    parameter integer COUNTERS  = 26,
    parameter integer PLAIN     = 20,
    parameter integer AMOUNT    = 10,     // bits of an amount
    parameter integer LOG_SLOTS = 5,
    parameter integer WIDTH     = 64
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire                       clear,

    input  wire [COUNTERS-1:0]        events,
    input  wire [(COUNTERS-PLAIN)*AMOUNT-1:0] amounts,

    input  wire                       rd_valid,
    input  wire [LOG_SLOTS-1:0]       rd_index,
    output wire                       rd_done,
    output wire [WIDTH-1:0]           rd_data
);
    localparam integer SLOTS = 1 << LOG_SLOTS;
    localparam integer SHORT = AMOUNT + LOG_SLOTS + 1;

    localparam integer HEAVY = COUNTERS - PLAIN;

    // Events of the cycle before: they come late in theirs.
    reg  [COUNTERS-1:0]       events_q;
    reg  [HEAVY*AMOUNT-1:0]   amounts_q;
    always @(posedge clk) begin
        if (rst || clear) events_q <= {COUNTERS{1'b0}};
        else events_q <= events;
    end
    always @(posedge clk) begin
        amounts_q <= amounts;
    end

    reg  [LOG_SLOTS-1:0]      slot_q;
    reg  [SLOTS-1:0]          used_q;     // the RAM holds a value of this run
    wire [SLOTS-1:0]          turn = {{(SLOTS-1){1'b0}}, 1'b1} << slot_q;

    (* ram_style = "distributed" *)
    reg  [WIDTH-1:0]          total_q [0:SLOTS-1];
    wire [SHORT-1:0]          part;

    // The sum in three steps: the slot's total so far and its part, their sum, which is written back and offered.
    reg  [LOG_SLOTS-1:0]      sum_slot_q;
    reg  [WIDTH-1:0]          old_q;
    reg  [SHORT-1:0]          part_q;
    reg  [LOG_SLOTS-1:0]      new_slot_q;
    reg  [WIDTH-1:0]          new_q;
    reg  [3:1]                asked_q;    // the read waited already when this value was taken

    always @(posedge clk) begin
        if (rst || clear) begin
            slot_q <= 0;
            used_q <= {SLOTS{1'b0}};
        end else begin
            slot_q <= slot_q + 1'b1;
            used_q <= used_q | turn;
        end
    end

    always @(posedge clk) begin
        sum_slot_q <= slot_q;
        old_q      <= used_q[slot_q] ? total_q[slot_q] : {WIDTH{1'b0}};
        part_q     <= part;
        new_slot_q <= sum_slot_q;
        new_q      <= old_q + {{(WIDTH-SHORT){1'b0}}, part_q};
        total_q[new_slot_q] <= new_q;
    end

    always @(posedge clk) begin
        if (rst || rd_done) asked_q <= 3'b000;
        else asked_q <= {asked_q[2:1], rd_valid};
    end

    // Counters of plain events, as bit planes: plane k is bit k of each of them. One that is emptied starts anew.
    reg  [(LOG_SLOTS+1)*PLAIN-1:0] planes_q;
    reg  [(LOG_SLOTS+1)*PLAIN-1:0] planes;
    reg  [LOG_SLOTS:0]             plain_part;
    reg  [PLAIN-1:0]               carry;
    reg  [PLAIN-1:0]               kept;
    integer k;
    always @* begin
        carry = events_q[PLAIN-1:0];
        for (k = 0; k <= LOG_SLOTS; k = k + 1) begin
            kept          = planes_q[k*PLAIN +: PLAIN] & ~turn[PLAIN-1:0];
            plain_part[k] = (planes_q[k*PLAIN +: PLAIN] & turn[PLAIN-1:0]) != {PLAIN{1'b0}};
            planes[k*PLAIN +: PLAIN] = kept ^ carry;
            carry         = kept & carry;
        end
    end

    always @(posedge clk) begin
        if (rst || clear) planes_q <= {((LOG_SLOTS+1)*PLAIN){1'b0}};
        else planes_q <= planes;
    end

    // Counters of amounts.
    reg  [HEAVY*SHORT-1:0] heavy_q;
    reg  [HEAVY*SHORT-1:0] heavy;
    reg  [SHORT-1:0]       heavy_part;
    integer h;
    always @* begin
        heavy      = heavy_q;
        heavy_part = {SHORT{1'b0}};
        if (events_q[COUNTERS-1:PLAIN] != {HEAVY{1'b0}} || turn[COUNTERS-1:PLAIN] != {HEAVY{1'b0}}) begin
            for (h = 0; h < HEAVY; h = h + 1) begin
                if (turn[PLAIN+h]) begin
                    heavy_part = heavy_q[h*SHORT +: SHORT];
                    heavy[h*SHORT +: SHORT] = {SHORT{1'b0}};
                end
                if (events_q[PLAIN+h]) begin
                    heavy[h*SHORT +: SHORT] = heavy[h*SHORT +: SHORT] + {{(LOG_SLOTS+1){1'b0}}, amounts_q[h*AMOUNT +: AMOUNT]};
                end
            end
        end
    end

    always @(posedge clk) begin
        if (rst || clear) heavy_q <= {(HEAVY*SHORT){1'b0}};
        else heavy_q <= heavy;
    end

    assign part = heavy_part | {{AMOUNT{1'b0}}, plain_part};

    assign rd_done = rd_valid && asked_q[3] && new_slot_q == rd_index;
    assign rd_data = new_q;

    `VTA_PARAM_CHECK(COUNTERS <= SLOTS && PLAIN < COUNTERS)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(answer, !rd_done || rd_valid)
endmodule

`default_nettype wire
