// SPDX-License-Identifier: Apache-2.0
//
// vta_nest -- the loop nest of ISA.md §5: one iteration a step, by counters and running sums alone.
//
// Contract: `load` latches the nest and makes its first iteration current; `step` moves on. Both may come in one cycle
// (the last iteration of one nest, the first of the next). The nest must not be empty. uop_outer puts the loop over
// micro-ops outermost (DEPTHWISE), else it is innermost. Offsets are what the loops add to a micro-op's fields, modulo
// their widths: the caller has checked the largest.
`default_nettype none

module vta_nest #(
    parameter integer UOP_BITS = 13,
    parameter integer DST_BITS = 11,
    parameter integer SRC_BITS = 11,
    parameter integer WGT_BITS = 10
) (
    input  wire                clk,
    input  wire                load,
    input  wire                step,

    input  wire                uop_outer,
    input  wire [UOP_BITS-1:0] uop_begin,
    input  wire [UOP_BITS-1:0] uop_last,    // inclusive
    input  wire [13:0]         out_last,    // iterations less one
    input  wire [13:0]         in_last,
    input  wire [DST_BITS-1:0] dst_out,
    input  wire [DST_BITS-1:0] dst_in,
    input  wire [SRC_BITS-1:0] src_out,
    input  wire [SRC_BITS-1:0] src_in,
    input  wire [WGT_BITS-1:0] wgt_out,
    input  wire [WGT_BITS-1:0] wgt_in,

    // The current iteration.
    output wire [UOP_BITS-1:0] uop,
    output wire [DST_BITS-1:0] dst,
    output wire [SRC_BITS-1:0] src,
    output wire [WGT_BITS-1:0] wgt,
    output wire                at_begin,    // at the first micro-op
    output wire                at_end,      // at the last micro-op
    output wire                row_end,     // at the last inner iteration
    output wire                first,
    output wire                last,
    // The range of micro-ops in use.
    output wire [UOP_BITS-1:0] range_begin,
    output wire [UOP_BITS-1:0] range_last
);
    reg                outer_q;
    reg [UOP_BITS-1:0] begin_q;
    reg [UOP_BITS-1:0] end_q;
    reg [13:0]         out_last_q;
    reg [13:0]         in_last_q;
    reg [DST_BITS-1:0] dst_out_q;
    reg [DST_BITS-1:0] dst_in_q;
    reg [SRC_BITS-1:0] src_out_q;
    reg [SRC_BITS-1:0] src_in_q;
    reg [WGT_BITS-1:0] wgt_out_q;
    reg [WGT_BITS-1:0] wgt_in_q;

    always @(posedge clk) begin
        if (load) begin
            outer_q    <= uop_outer;
            begin_q    <= uop_begin;
            end_q      <= uop_last;
            out_last_q <= out_last;
            in_last_q  <= in_last;
            dst_out_q  <= dst_out;
            dst_in_q   <= dst_in;
            src_out_q  <= src_out;
            src_in_q   <= src_in;
            wgt_out_q  <= wgt_out;
            wgt_in_q   <= wgt_in;
        end
    end

    // Counters: the micro-op counts up, the iterations that are left count down.
    reg                first_q;
    reg [UOP_BITS-1:0] uop_q;
    reg [13:0]         in_q;
    reg [13:0]         out_q;

    wire uop_end  = uop_q == end_q;
    wire in_end   = in_q == 14'd0;
    wire out_end  = out_q == 14'd0;
    wire move_uop = !outer_q || (in_end && out_end);
    wire move_in  = outer_q || uop_end;
    wire move_out = move_in && in_end;

    always @(posedge clk) begin
        if (load) begin
            first_q <= 1'b1;
            uop_q   <= uop_begin;
            in_q    <= in_last;
            out_q   <= out_last;
        end else if (step) begin
            first_q <= 1'b0;
            if (move_uop) uop_q <= uop_end ? begin_q : uop_q + 1'b1;
            if (move_in)  in_q  <= in_end ? in_last_q : in_q - 1'b1;
            if (move_out) out_q <= out_end ? out_last_q : out_q - 1'b1;
        end
    end

    // Sums: *_row_q at the start of the inner loop, *_q now.
    reg [DST_BITS-1:0] dst_q;
    reg [DST_BITS-1:0] dst_row_q;
    reg [SRC_BITS-1:0] src_q;
    reg [SRC_BITS-1:0] src_row_q;
    reg [WGT_BITS-1:0] wgt_q;
    reg [WGT_BITS-1:0] wgt_row_q;

    wire [DST_BITS-1:0] dst_row_next = out_end ? {DST_BITS{1'b0}} : dst_row_q + dst_out_q;
    wire [SRC_BITS-1:0] src_row_next = out_end ? {SRC_BITS{1'b0}} : src_row_q + src_out_q;
    wire [WGT_BITS-1:0] wgt_row_next = out_end ? {WGT_BITS{1'b0}} : wgt_row_q + wgt_out_q;

    always @(posedge clk) begin
        if (load) begin
            dst_q     <= {DST_BITS{1'b0}};
            dst_row_q <= {DST_BITS{1'b0}};
            src_q     <= {SRC_BITS{1'b0}};
            src_row_q <= {SRC_BITS{1'b0}};
            wgt_q     <= {WGT_BITS{1'b0}};
            wgt_row_q <= {WGT_BITS{1'b0}};
        end else if (step && move_in) begin
            if (!in_end) begin
                dst_q <= dst_q + dst_in_q;
                src_q <= src_q + src_in_q;
                wgt_q <= wgt_q + wgt_in_q;
            end else begin
                dst_q     <= dst_row_next;
                dst_row_q <= dst_row_next;
                src_q     <= src_row_next;
                src_row_q <= src_row_next;
                wgt_q     <= wgt_row_next;
                wgt_row_q <= wgt_row_next;
            end
        end
    end

    assign uop         = uop_q;
    assign dst         = dst_q;
    assign src         = src_q;
    assign wgt         = wgt_q;
    assign at_begin    = uop_q == begin_q;
    assign at_end      = uop_end;
    assign row_end     = in_end;
    assign first       = first_q;
    assign last        = uop_end && in_end && out_end;
    assign range_begin = begin_q;
    assign range_last  = end_q;
endmodule

`default_nettype wire
