// SPDX-License-Identifier: Apache-2.0
//
// token_formal -- vta_token counts: what was pushed and not popped is there, up to 255, and nothing else. The properties are
// inside vta_token; this keeps its contract.
// prove: 8 induction
`default_nettype none

module token_formal (
    input wire clk,
    input wire want_push,
    input wire want_pop
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    wire room;
    wire available;

    vta_token dut (
        .clk(clk), .rst(rst), .push(want_push && room), .room(room), .pop(want_pop && available), .available(available)
    );

    always @(posedge clk) if (!rst) cover (want_pop && want_push && available && room);
    always @(posedge clk) if (!rst) cover (want_pop && !available);
endmodule

`default_nettype wire
