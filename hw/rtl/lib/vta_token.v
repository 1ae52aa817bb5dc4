// SPDX-License-Identifier: Apache-2.0
//
// vta_token -- one dependency-token queue: a counter, since tokens have no content.
//
// Contract: push only while room, pop only while available; both may happen in one cycle. Holds 255 tokens.
`include "vta_assert.vh"
`default_nettype none

module vta_token (
    input  wire clk,
    input  wire rst,

    input  wire push,
    output wire room,
    input  wire pop,
    output wire available
);
    reg [7:0] count_q;
    reg       some_q;       // count_q != 0

    wire [7:0] more, fewer;
    vta_next #(.BITS(8)) counts (.count(count_q), .more(more), .fewer(fewer));

    assign available = some_q;
    assign room      = count_q != 8'd255;

    always @(posedge clk) begin
        if (rst) begin
            count_q <= 8'd0;
            some_q  <= 1'b0;
        end else begin
            if (push != pop) count_q <= pop ? fewer : more;
            some_q <= push || count_q[7:1] != 7'd0 || (some_q && !pop);
        end
    end

    `VTA_FORMAL_RESET
    `VTA_ASSERT(push_full, !(push && !room))
    `VTA_ASSERT(some, some_q == (count_q != 0))
    `VTA_ASSERT(pop_empty, !(pop && !available))

`ifdef FORMAL
    // Plain arithmetic on what went in and out.
    reg [15:0] f_pushed;
    reg [15:0] f_popped;
    wire [15:0] f_inside = f_pushed - f_popped;
    always @(posedge clk) begin
        f_pushed <= rst ? 16'd0 : f_pushed + {15'd0, push};
        f_popped <= rst ? 16'd0 : f_popped + {15'd0, pop};
    end
    `VTA_ASSERT(inside, f_inside == {8'd0, count_q})
`endif
endmodule

`default_nettype wire
