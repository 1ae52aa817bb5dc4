// SPDX-License-Identifier: Apache-2.0
//
// vta_burst -- turns rows of bytes into AXI bursts.
//
// Contract: a command is `rows` runs of `run_less_1` + 1 bytes each, `stride_bytes` apart; it is accepted when the bursts of
// the one before it have been made, every other cycle at most. The bursts come in order, one a cycle: at most 256 beats, none across a 4 KiB
// boundary, each run beginning in a beat of its own. out_last marks the last one of a command; a command without rows
// makes none. A burst beyond the address space comes with out_beyond and must not go to the bus. in_ready does not
// depend on out_ready.
`include "vta_assert.vh"
`default_nettype none

module vta_burst #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire                 in_valid,
    output wire                 in_ready,
    input  wire [ADDR_BITS:0]   in_addr,
    input  wire [13:0]          in_rows,
    input  wire [25:0]          in_run_less_1,
    input  wire [27:0]          in_stride_bytes,

    output wire                 out_valid,
    input  wire                 out_ready,
    output wire [ADDR_BITS-1:0] out_addr,
    output wire [7:0]           out_len,        // beats - 1
    output wire                 out_last,
    output wire                 out_beyond
);
    localparam integer BEATS_BITS = 27 - LOG_BUS_BYTES;
    localparam integer PAGE_BITS  = 12 - LOG_BUS_BYTES;  // log2 of the beats of 4 KiB

    // Rows.
    reg                 row_valid_q;
    reg [ADDR_BITS:0]   row_addr_q;
    reg [13:0]          rows_q;
    reg                 row_end_q;          // rows_q == 1
    reg [25:0]          run_less_1_bytes_q;
    reg [27:0]          stride_q;

    // The run being split. Beats are counted less one: what reaches up to a page's end is then the address, inverted.
    reg                         run_valid_q;
    reg                         run_last_q;
    reg [ADDR_BITS:LOG_BUS_BYTES] run_addr_q;
    reg [BEATS_BITS-1:0]        run_less_1_q;
    reg                         run_long_q;     // more than 256 beats

    // The burst on offer, and one behind it: the way back from the bus ends here.
    localparam integer OFFER_BITS = ADDR_BITS + 1 - LOG_BUS_BYTES + 9;
    wire                        offer_ready;
    wire [ADDR_BITS:LOG_BUS_BYTES] offer_addr;

    wire run_split = run_valid_q && offer_ready;

    // Beats up to the page's end, at most 256.
    wire [8:0]         page_less_1 = {{(9-PAGE_BITS){1'b0}}, ~run_addr_q[11:LOG_BUS_BYTES]};
    wire [7:0]         cap_less_1  = page_less_1[7:0] | {8{page_less_1[8]}};
    wire               run_end     = !run_long_q && run_less_1_q[7:0] <= cap_less_1;

    wire run_move  = !run_valid_q || (run_split && run_end);
    wire row_split = row_valid_q && run_move;

    // From the start of the row's first beat to its last byte.
    wire [26:0]           row_reach  = {1'b0, run_less_1_bytes_q}
                                     + {{(27-LOG_BUS_BYTES){1'b0}}, row_addr_q[LOG_BUS_BYTES-1:0]};
    wire [BEATS_BITS-1:0] row_less_1 = row_reach[26:LOG_BUS_BYTES];
    wire [BEATS_BITS-1:0] run_rest   = run_less_1_q + {{(BEATS_BITS-8){1'b1}}, ~cap_less_1};
    wire                  unused_reach = |row_reach[LOG_BUS_BYTES-1:0];

    // The next row waits until the end of this one has been seen: a cycle that nobody misses, since the bus has a burst
    // to do, and in_ready is a register.
    assign in_ready   = !row_valid_q;
    assign out_addr   = {offer_addr[ADDR_BITS-1:LOG_BUS_BYTES], {LOG_BUS_BYTES{1'b0}}};
    assign out_beyond = offer_addr[ADDR_BITS];

    always @(posedge clk) begin
        if (rst) begin
            row_valid_q <= 1'b0;
            run_valid_q <= 1'b0;
        end else begin
            if (in_ready) row_valid_q <= in_valid && in_rows != 14'd0;
            else if (row_split && row_end_q) row_valid_q <= 1'b0;
            if (run_move) run_valid_q <= row_valid_q;
        end
    end

    always @(posedge clk) begin
        if (in_ready) begin
            row_addr_q  <= in_addr;
            rows_q      <= in_rows;
            row_end_q   <= in_rows == 14'd1;
            stride_q    <= in_stride_bytes;
            run_less_1_bytes_q <= in_run_less_1;
        end else if (row_split) begin
            row_addr_q <= row_addr_q + {{(ADDR_BITS-27){1'b0}}, stride_q};
            rows_q     <= rows_q - 14'd1;
            row_end_q  <= rows_q == 14'd2;
        end
    end

    always @(posedge clk) begin
        if (run_move) begin
            run_last_q   <= row_end_q;
            run_addr_q   <= row_addr_q[ADDR_BITS:LOG_BUS_BYTES];
            run_less_1_q <= row_less_1;
            run_long_q   <= row_less_1[BEATS_BITS-1:8] != 0;
        end else if (run_split) begin
            run_addr_q   <= run_addr_q + {{(ADDR_BITS-LOG_BUS_BYTES-7){1'b0}}, cap_less_1} + 1'b1;
            run_less_1_q <= run_rest;
            run_long_q   <= run_rest[BEATS_BITS-1:8] != 0;
        end
    end

    vta_skid #(.WIDTH(OFFER_BITS)) offer (
        .clk(clk), .rst(rst), .in_valid(run_valid_q), .in_ready(offer_ready),
        .in_data({run_addr_q, run_end ? run_less_1_q[7:0] : cap_less_1, run_end && run_last_q}),
        .out_valid(out_valid), .out_ready(out_ready), .out_data({offer_addr, out_len, out_last})
    );

    `VTA_PARAM_CHECK(LOG_BUS_BYTES >= 3 && LOG_BUS_BYTES <= 6 && ADDR_BITS >= 32)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(page, !out_valid || ({20'd0, out_addr[11:0]} >> LOG_BUS_BYTES) + {24'd0, out_len} < (32'd4096 >> LOG_BUS_BYTES))
endmodule

`default_nettype wire
