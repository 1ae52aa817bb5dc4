// SPDX-License-Identifier: Apache-2.0
//
// vta_marks -- for each instruction in a queue, the LOADs of the compute unit that it must wait for.
//
// Contract: an instruction that enters its queue (`push`) is marked with entries of the table of LOADs in work; all of these are
// older, as instructions are issued in order. A mark falls when its LOAD is `done`, also in the cycle of the push: what enters the table
// there later is younger. `head` are the marks of the oldest instruction, from registers. Pushes and pops are those of the queue, which
// holds at most DEPTH instructions.
`include "vta_assert.vh"
`default_nettype none

module vta_marks #(
    parameter integer WIDTH = 4,
    parameter integer DEPTH = 4
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             push,
    input  wire [WIDTH-1:0] in,
    input  wire             pop,
    input  wire [WIDTH-1:0] done,
    output wire [WIDTH-1:0] head
);
    reg [WIDTH*DEPTH-1:0] marks_q;      // the oldest lowest
    reg [DEPTH:0]         place_q;      // one bit: the first free place

    wire [WIDTH*DEPTH-1:0] moved = pop ? marks_q >> WIDTH : marks_q;
    wire [DEPTH:0]         place = pop ? place_q >> 1 : place_q;

    always @(posedge clk) begin
        if (rst) place_q <= {{DEPTH{1'b0}}, 1'b1};
        else place_q <= push ? place << 1 : place;
    end

    // The free place takes what is offered, push or not.
    integer n;
    always @(posedge clk) begin
        for (n = 0; n < DEPTH; n = n + 1)
            marks_q[WIDTH*n +: WIDTH] <= (place[n] ? in : moved[WIDTH*n +: WIDTH]) & ~done;
    end

    assign head = marks_q[WIDTH-1:0];

    `VTA_FORMAL_RESET
    `VTA_ASSERT(room, !(push && !pop && place_q[DEPTH]))
    `VTA_ASSERT(some, !(pop && place_q[0]))
endmodule

`default_nettype wire
