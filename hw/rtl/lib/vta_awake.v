// SPDX-License-Identifier: Apache-2.0
//
// vta_awake -- tells whether a unit's clock is needed.
//
// Contract: `awake` is high in a cycle with `rst` or `work`, and for LINGER cycles after. A unit gives as `work`, from
// registers alone, every cycle in which something enters or leaves it or moves in it; LINGER covers what then runs on by
// itself. While `awake` is low, a clock edge would change nothing that anyone looks at: the clock may be stopped.
`default_nettype none

module vta_awake #(
    parameter integer LINGER = 8
) (
    input  wire clk,      // never stops
    input  wire rst,

    input  wire work,
    output wire awake
);
    reg [LINGER-1:0] recent_q;

    assign awake = rst || work || recent_q != {LINGER{1'b0}};

    always @(posedge clk) begin
        recent_q <= {recent_q[LINGER-2:0], rst || work};
    end
endmodule

`default_nettype wire
