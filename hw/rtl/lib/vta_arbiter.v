// SPDX-License-Identifier: Apache-2.0
//
// vta_arbiter -- chooses one of N requests.
//
// Contract: grant is one-hot or zero, a subset of request, combinational. ROTATE = 1: round robin, the request served
// (taken = 1) becomes the last in line; a request that stays is served after at most N-1 others. ROTATE = 0: the
// lowest index wins.
`include "vta_assert.vh"
`default_nettype none

module vta_arbiter #(
    parameter integer N      = 3,
    parameter integer ROTATE = 1
) (
    input  wire         clk,
    input  wire         rst,

    input  wire [N-1:0] request,
    output wire [N-1:0] grant,
    input  wire         taken
);
    // Requests behind the one served last come first; `mask_q` marks them.
    reg  [N-1:0] mask_q;
    wire [N-1:0] ahead  = request & mask_q;
    wire [N-1:0] choice = ahead != 0 ? ahead : request;

    // Without a carry: of a few requests, a LUT for each grant.
    reg [N-1:0] lowest;
    reg [N-1:0] above;
    reg         seen;
    integer     i;
    always @* begin
        seen = 1'b0;
        for (i = 0; i < N; i = i + 1) begin
            above[i]  = seen;
            lowest[i] = choice[i] && !seen;
            seen      = seen || choice[i];
        end
    end

    assign grant = lowest;

    always @(posedge clk) begin
        if (rst) mask_q <= {N{1'b0}};
        else if (taken && ROTATE != 0 && grant != 0) mask_q <= above;
    end

    `VTA_FORMAL_RESET
    `VTA_ASSERT(one_hot, (grant & (grant - 1'b1)) == 0)
    `VTA_ASSERT(mask, (~mask_q & (~mask_q + 1'b1)) == {N{1'b0}})
    `VTA_ASSERT(subset, (grant & ~request) == 0)
endmodule

`default_nettype wire
