// SPDX-License-Identifier: Apache-2.0
//
// vta_guard -- must an access of one pipeline wait for older instructions of another one?
//
// Contract: combinational. Instructions of the other pipeline are numbered modulo 64: `snap` of them were issued before
// the one that asks, `started` have begun, `retired` have had their last effect. The newest one that has begun is
// `running`, unless between two; `known` says that its range of entries is complete, `run_hit` that the access meets
// it, `drain_hit` that it meets what instructions between running and retired still write. Older instructions that
// have not begun, or whose range is not complete, block everything.
`default_nettype none

module vta_guard (
    input  wire [5:0] snap,
    input  wire [5:0] started,
    input  wire [5:0] retired,
    input  wire       running,
    input  wire       known,
    input  wire       run_hit,
    input  wire       drain_hit,
    output wire       must_wait
);
    wire [5:0] behind    = snap - retired;      // older and not retired, if positive
    wire [5:0] unstarted = snap - started;      // older and not started, if positive; 0: the newest started one is older

    wire older     = !behind[5] && behind != 6'd0;
    wire waiting   = !unstarted[5] && unstarted != 6'd0;
    wire run_older = running && !unstarted[5];

    assign must_wait = older && (waiting || (run_older && (!known || run_hit)) || drain_hit);
endmodule

`default_nettype wire
