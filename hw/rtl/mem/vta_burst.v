// SPDX-License-Identifier: Apache-2.0
//
// vta_burst -- turns rows of bytes into AXI bursts.
//
// Contract: a command is `rows` runs of `run_bytes` bytes each, `stride_bytes` apart; it is accepted when the bursts of
// the one before it have been made. The bursts come in order, one a cycle: at most 256 beats, none across a 4 KiB
// boundary, each run beginning in a beat of its own. out_last marks the last one of a command; a command without rows
// makes none. A burst beyond the address space comes with out_beyond and must not go to the bus. idle: nothing is held.
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
    input  wire [25:0]          in_run_bytes,
    input  wire [27:0]          in_stride_bytes,

    output wire                 out_valid,
    input  wire                 out_ready,
    output wire [ADDR_BITS-1:0] out_addr,
    output wire [7:0]           out_len,        // beats - 1
    output wire                 out_last,
    output wire                 out_beyond
);
    localparam integer BUS_BYTES  = 1 << LOG_BUS_BYTES;
    localparam integer BEATS_BITS = 27 - LOG_BUS_BYTES;
    localparam integer PAGE_BITS  = 12 - LOG_BUS_BYTES;  // log2 of the beats of 4 KiB

    // Rows.
    reg                 row_valid_q;
    reg [ADDR_BITS:0]   row_addr_q;
    reg [13:0]          rows_q;
    reg [25:0]          run_bytes_q;
    reg [27:0]          stride_q;

    // The run being split.
    reg                         run_valid_q;
    reg                         run_last_q;
    reg [ADDR_BITS:LOG_BUS_BYTES] run_addr_q;
    reg [BEATS_BITS-1:0]        run_beats_q;

    // The burst on offer.
    reg                         out_valid_q;
    reg [ADDR_BITS:LOG_BUS_BYTES] out_addr_q;
    reg [7:0]                   out_len_q;
    reg                         out_last_q;

    wire out_move  = !out_valid_q || out_ready;
    wire run_split = run_valid_q && out_move;

    // Beats up to the page's end, at most 256.
    wire [PAGE_BITS:0] page_beats = {1'b1, {PAGE_BITS{1'b0}}} - {1'b0, run_addr_q[11:LOG_BUS_BYTES]};
    wire [9:0]         page_wide  = {{(9-PAGE_BITS){1'b0}}, page_beats};
    wire [8:0]         cap        = page_wide > 10'd256 ? 9'd256 : page_wide[8:0];
    wire               run_end    = run_beats_q <= {{(BEATS_BITS-9){1'b0}}, cap};
    wire [7:0]         len        = run_end ? run_beats_q[7:0] : cap[7:0];  // 256 is 0

    wire run_move  = !run_valid_q || (run_split && run_end);
    wire row_split = row_valid_q && run_move;
    wire row_end   = rows_q == 14'd1;

    // Bytes from the start of the row's first beat to the end of its last one.
    wire [26:0] row_span = {1'b0, run_bytes_q} + BUS_BYTES[26:0] - 27'd1
                         + {{(27-LOG_BUS_BYTES){1'b0}}, row_addr_q[LOG_BUS_BYTES-1:0]};
    wire        unused_span = |row_span[LOG_BUS_BYTES-1:0];

    assign in_ready   = !row_valid_q || (row_split && row_end);
    assign out_valid  = out_valid_q;
    assign out_addr   = {out_addr_q[ADDR_BITS-1:LOG_BUS_BYTES], {LOG_BUS_BYTES{1'b0}}};
    assign out_len    = out_len_q;
    assign out_last   = out_last_q;
    assign out_beyond = out_addr_q[ADDR_BITS];

    always @(posedge clk) begin
        if (rst) begin
            row_valid_q <= 1'b0;
            run_valid_q <= 1'b0;
            out_valid_q <= 1'b0;
        end else begin
            if (in_ready) row_valid_q <= in_valid && in_rows != 14'd0;
            if (run_move) run_valid_q <= row_valid_q;
            if (out_move) out_valid_q <= run_valid_q;
        end
    end

    always @(posedge clk) begin
        if (in_ready) begin
            row_addr_q  <= in_addr;
            rows_q      <= in_rows;
            run_bytes_q <= in_run_bytes;
            stride_q    <= in_stride_bytes;
        end else if (row_split) begin
            row_addr_q <= row_addr_q + {{(ADDR_BITS-27){1'b0}}, stride_q};
            rows_q     <= rows_q - 14'd1;
        end
    end

    always @(posedge clk) begin
        if (run_move) begin
            run_last_q  <= row_end;
            run_addr_q  <= row_addr_q[ADDR_BITS:LOG_BUS_BYTES];
            run_beats_q <= row_span[26:LOG_BUS_BYTES];
        end else if (run_split) begin
            run_addr_q  <= run_addr_q + {{(ADDR_BITS-LOG_BUS_BYTES-8){1'b0}}, cap};
            run_beats_q <= run_beats_q - {{(BEATS_BITS-9){1'b0}}, cap};
        end
    end

    always @(posedge clk) begin
        if (out_move) begin
            out_addr_q <= run_addr_q;
            out_len_q  <= len - 8'd1;
            out_last_q <= run_end && run_last_q;
        end
    end

    `VTA_PARAM_CHECK(LOG_BUS_BYTES >= 3 && LOG_BUS_BYTES <= 6 && ADDR_BITS >= 32)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(page, !out_valid || ({20'd0, out_addr[11:0]} >> LOG_BUS_BYTES) + {24'd0, out_len} < (32'd4096 >> LOG_BUS_BYTES))
endmodule

`default_nettype wire
