// SPDX-License-Identifier: Apache-2.0
//
// vta_windows -- may an access leave for memory? The windows are what root has allowed, whoever writes the programs.
//
// Contract: combinational. An access stays within a page of 4 KiB, as bursts do. Window w has the pages from base w up to,
// without it, limit w; with `on` low everything is allowed. What is not goes to the first page of window 0 instead, where
// reads do no harm and writes, without strobes, change nothing: so every burst has its beats and its answer.
`default_nettype none

module vta_windows #(
    parameter integer ADDR_BITS = 40,
    parameter integer WINDOWS   = 4
) (
    input  wire                              on,
    input  wire [WINDOWS*(ADDR_BITS-12)-1:0] bases,
    input  wire [WINDOWS*(ADDR_BITS-12)-1:0] limits,
    input  wire [ADDR_BITS-1:12]             page,
    output wire                              refused
);
    localparam integer PAGE = ADDR_BITS - 12;

    wire [WINDOWS-1:0] allowed;
    genvar w;
    generate
        for (w = 0; w < WINDOWS; w = w + 1) begin : window
            assign allowed[w] = page >= bases[PAGE*w +: PAGE] && page < limits[PAGE*w +: PAGE];
        end
    endgenerate

    assign refused = on && allowed == {WINDOWS{1'b0}};
endmodule

`default_nettype wire
