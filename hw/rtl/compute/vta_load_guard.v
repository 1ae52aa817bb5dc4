// SPDX-License-Identifier: Apache-2.0
//
// vta_load_guard -- which LOADs of the compute unit in work does an access meet?
//
// Contract: combinational. Entry e of the table: the first and last entry that its LOAD writes in the scratchpad of the access; `asked`
// says which entries count.
`default_nettype none

module vta_load_guard #(
    parameter integer ENTRIES = 4,
    parameter integer BITS    = 11      // of an address in that scratchpad
) (
    input  wire [ENTRIES-1:0]    asked,
    // The waiver: a small scratchpad has fewer address bits than the table holds.
    // verilator lint_off UNUSEDSIGNAL
    input  wire [13*ENTRIES-1:0] first,
    input  wire [13*ENTRIES-1:0] last,
    // verilator lint_on UNUSEDSIGNAL
    input  wire [BITS-1:0]       ask_first,
    input  wire [BITS-1:0]       ask_last,
    output wire [ENTRIES-1:0]    hits
);
    genvar e;
    generate
        for (e = 0; e < ENTRIES; e = e + 1) begin : entry
            assign hits[e] = asked[e] && first[13*e +: BITS] <= ask_last && last[13*e +: BITS] >= ask_first;
        end
    endgenerate
endmodule

`default_nettype wire
