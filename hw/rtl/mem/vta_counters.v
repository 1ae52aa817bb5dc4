// SPDX-License-Identifier: Apache-2.0
//
// vta_counters -- the performance counters.
//
// Contract: counter i counts its event, those from PLAIN on by their amount; `clear` sets all to 0. A read (rd_valid held,
// rd_index) is answered by rd_done within 2^LOG_SLOTS + 1 cycles with the value of that cycle. COUNTERS <= 2^LOG_SLOTS.
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

    reg  [LOG_SLOTS-1:0]      slot_q;
    reg  [SLOTS-1:0]          used_q;     // the RAM holds a value of this run
    wire [SLOTS*SHORT-1:0]    shorts;

    (* ram_style = "distributed" *)
    reg  [WIDTH-1:0]          total_q [0:SLOTS-1];
    wire [SHORT-1:0]          part  = shorts[slot_q*SHORT +: SHORT];
    wire [WIDTH-1:0]          total = (used_q[slot_q] ? total_q[slot_q] : {WIDTH{1'b0}}) + {{(WIDTH-SHORT){1'b0}}, part};

    always @(posedge clk) begin
        if (rst || clear) begin
            slot_q <= 0;
            used_q <= {SLOTS{1'b0}};
        end else begin
            slot_q         <= slot_q + 1'b1;
            used_q[slot_q] <= 1'b1;
        end
    end

    always @(posedge clk) begin
        total_q[slot_q] <= total;
    end

    genvar i;
    generate
        for (i = 0; i < SLOTS; i = i + 1) begin : counter
            if (i < PLAIN) begin : plain
                reg  [LOG_SLOTS:0] short_q;
                wire [LOG_SLOTS:0] kept = slot_q == i ? {(LOG_SLOTS+1){1'b0}} : short_q;

                always @(posedge clk) begin
                    if (rst || clear) short_q <= {(LOG_SLOTS+1){1'b0}};
                    else short_q <= kept + {{LOG_SLOTS{1'b0}}, events[i]};
                end

                assign shorts[i*SHORT +: SHORT] = {{AMOUNT{1'b0}}, short_q};
            end else if (i < COUNTERS) begin : weighted
                reg  [SHORT-1:0] short_q;
                wire [SHORT-1:0] kept   = slot_q == i ? {SHORT{1'b0}} : short_q;
                wire [SHORT-1:0] amount = {{(LOG_SLOTS+1){1'b0}}, amounts[(i-PLAIN)*AMOUNT +: AMOUNT]};

                always @(posedge clk) begin
                    if (rst || clear) short_q <= {SHORT{1'b0}};
                    else short_q <= events[i] ? kept + amount : kept;
                end

                assign shorts[i*SHORT +: SHORT] = short_q;
            end else begin : unused
                assign shorts[i*SHORT +: SHORT] = {SHORT{1'b0}};
            end
        end
    endgenerate

    assign rd_done = rd_valid && slot_q == rd_index;
    assign rd_data = total;

    `VTA_PARAM_CHECK(COUNTERS <= SLOTS && PLAIN < COUNTERS)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(answer, !rd_done || rd_valid)
endmodule

`default_nettype wire
