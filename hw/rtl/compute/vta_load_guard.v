// SPDX-License-Identifier: Apache-2.0
//
// vta_load_guard -- does an access meet an older LOAD of the compute unit that has not landed yet?
//
// Contract: combinational. Entry e of the table: its LOAD's number modulo 64, whether it is in work, whether it writes
// UOP (else ACC), and the first and last entry that it writes. `snap` is the number of the first LOAD that is younger
// than the instruction that asks.
`default_nettype none

module vta_load_guard #(
    parameter integer ENTRIES = 4,
    parameter integer BITS    = 11      // of the range that is asked for
) (
    input  wire [ENTRIES-1:0]    valid,
    input  wire [ENTRIES-1:0]    uop,
    input  wire [6*ENTRIES-1:0]  number,
    input  wire [13*ENTRIES-1:0] first,
    input  wire [13*ENTRIES-1:0] last,

    input  wire [5:0]            snap,
    input  wire                  ask_uop,
    input  wire [BITS-1:0]       ask_first,
    input  wire [BITS-1:0]       ask_last,
    output wire                  must_wait
);
    wire [12:0] lo = {{(13-BITS){1'b0}}, ask_first};
    wire [12:0] hi = {{(13-BITS){1'b0}}, ask_last};

    reg       hit;
    // The waiver: of the difference the sign alone is asked for.
    // verilator lint_off UNUSEDSIGNAL
    reg [5:0] distance;
    // verilator lint_on UNUSEDSIGNAL
    integer   e;
    always @* begin
        hit      = 1'b0;
        distance = 6'd0;
        if (valid != {ENTRIES{1'b0}}) begin
            for (e = 0; e < ENTRIES; e = e + 1) begin
                distance = snap + ~number[6*e +: 6];    // less 1: not negative for an older one
                if (valid[e] && uop[e] == ask_uop && !distance[5]
                    && first[13*e +: 13] <= hi && last[13*e +: 13] >= lo) hit = 1'b1;
            end
        end
    end

    assign must_wait = hit;
endmodule

`default_nettype wire
