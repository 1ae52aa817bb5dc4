// SPDX-License-Identifier: Apache-2.0
//
// vta_tload -- tensor load engine: 2-D blocks of DRAM, with padding, into scratchpads.
//
// Contract: commands come from vta_mem_decode and are carried out in order. Up to 32 are held: addresses run ahead of data, so
// that consecutive commands overlap their latencies. Rows that follow each other in DRAM are fetched as one run.
//   wr_*    one write a cycle, held until wr_ready. An element not wider than the bus comes whole, right-aligned, with
//           strobe bit 0; a wider one comes in bus-wide slices, strobe bit s for slice s; that of WGT4 as it lies in DRAM. Padding comes as one write with
//           all strobes, wr_data being the pattern of every slice; ACC8 is padded as ACC (int32 lanes). Whether it may be
//           written is said of data and of padding apart (wr_ready, wr_pad_ready), by their addresses, which stand in registers.
//   done    one pulse a command, in order, in the cycle after its last write.
//   err     the memory refused a read of the oldest command; nothing after it is to be trusted.
// Data are written as they arrive; padding of the oldest command fills the cycles without data.
// Throughput: a beat, an element or a pad entry a cycle, whichever the width allows.
`include "vta_assert.vh"
`default_nettype none

module vta_tload #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer WGT4          = 0,
    parameter integer COMPUTE       = 0,    // 0: INP, WGT, with WGT4 = 1 WGT4, too; 1: UOP, TAB, ACC, ACC8
    parameter integer LOG_SLICES    = (COMPUTE != 0 ? LOG_BATCH + LOG_BLOCK_OUT + 2
                                     : LOG_BATCH > LOG_BLOCK_OUT ? LOG_BATCH + LOG_BLOCK_IN
                                     : LOG_BLOCK_IN + LOG_BLOCK_OUT) > LOG_BUS_BYTES
                                    ? (COMPUTE != 0 ? LOG_BATCH + LOG_BLOCK_OUT + 2
                                     : LOG_BATCH > LOG_BLOCK_OUT ? LOG_BATCH + LOG_BLOCK_IN
                                     : LOG_BLOCK_IN + LOG_BLOCK_OUT) - LOG_BUS_BYTES : 0  // derived: leave it
) (
    input  wire                          clk,
    input  wire                          rst,

    input  wire                          cmd_valid,
    output wire                          cmd_ready,
    input  wire [2:0]                    cmd_mem,
    input  wire [12:0]                   cmd_sram,
    input  wire [ADDR_BITS:0]            cmd_addr,
    input  wire [15:0]                   cmd_stride,
    input  wire [13:0]                   cmd_x,
    input  wire [13:0]                   cmd_y,
    input  wire [32:0]                   cmd_pads,
    input  wire [7:0]                    cmd_pad,
    input  wire [13:0]                   cmd_elems,
    input  wire [13:0]                   cmd_entries,

    output wire                          wr_en,
    input  wire                          wr_ready,
    input  wire                          wr_pad_ready,
    output wire [2:0]                    wr_mem,
    output wire [12:0]                   wr_addr,
    output wire [(8<<LOG_BUS_BYTES)-1:0] wr_data,
    output wire [(1<<LOG_SLICES)-1:0]    wr_strobe,
    output wire                          wr_last,    // the entry is complete with this write
    output wire                          wr_pad,     // it is padding

    // Parts of a write, from registers and the beat.
    output wire [2:0]                    now_mem,    // of the oldest command
    output wire [12:0]                   data_addr,
    output wire [(8<<LOG_BUS_BYTES)-1:0] data_beat,
    output wire [12:0]                   pad_addr,
    output wire [31:0]                   pad_word,

    output wire                          done,
    output wire                          err,

    output wire                          rd_cmd_valid,
    input  wire                          rd_cmd_ready,
    output wire [ADDR_BITS-1:0]          rd_cmd_addr,
    output wire [7:0]                    rd_cmd_len,
    input  wire                          rd_data_valid,
    output wire                          rd_data_ready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] rd_data,
    input  wire                          rd_last,
    input  wire                          rd_err,

    output wire                          stat_wait,   // in work, and nothing to write: waiting for memory
    output wire                          stat_rd_en,  // stat_rd_bytes of stat_rd_mem are written in this cycle
    output wire [2:0]                    stat_rd_mem,
    output wire [6:0]                    stat_rd_bytes
);
`include "vta_isa.vh"
    localparam integer BUS_BITS  = 8 << LOG_BUS_BYTES;
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;
    localparam integer SLICES    = 1 << LOG_SLICES;
    localparam integer SLICE_BITS = LOG_SLICES == 0 ? 1 : LOG_SLICES;
    localparam [SLICES-1:0] FIRST_SLICE = 1;

    // Addresses may run ahead of data by this many beats: the latency of the memory times its rate, and some slack.
    localparam [9:0] WINDOW = 10'd160;

    function [3:0] log_bytes(input [2:0] mem);
        if (COMPUTE != 0)
            log_bytes = mem == VTA_MEM_UOP || mem == VTA_MEM_TAB ? VTA_LOG_BYTES_UOP[3:0]
                      : mem == VTA_MEM_ACC ? VTA_LOG_BYTES_ACC[3:0] : VTA_LOG_BYTES_ACC8[3:0];
        else
            log_bytes = mem == VTA_MEM_WGT ? VTA_LOG_BYTES_WGT[3:0]
                      : WGT4 != 0 && mem == VTA_MEM_WGT4 ? VTA_LOG_BYTES_WGT4[3:0] : VTA_LOG_BYTES_INP[3:0];
    endfunction

    // Bytes of one write, at most a bus word; one less than that.
    function [5:0] piece(input [2:0] mem);
        piece = log_bytes(mem) >= LOG_BUS_BYTES[3:0] ? BUS_BYTES[5:0] - 6'd1 : (6'd1 << log_bytes(mem)) - 6'd1;
    endfunction

    // Index of the last slice of an element.
    function [SLICE_BITS-1:0] last_slice(input [2:0] mem);
        last_slice = log_bytes(mem) <= LOG_BUS_BYTES[3:0] ? {SLICE_BITS{1'b0}}
                   : ~({SLICE_BITS{1'b1}} << (log_bytes(mem) - LOG_BUS_BYTES[3:0]));
    endfunction

    // Addresses.
    wire [3:0]  cmd_log    = log_bytes(cmd_mem);
    wire        cmd_merge  = cmd_stride == {2'd0, cmd_x} || cmd_y == 14'd1;
    wire [27:0] cmd_stride_bytes = {12'd0, cmd_stride} << cmd_log;
    wire        burst_in_ready;
    wire        burst_valid;
    wire        burst_ready;
    wire        burst_beyond;
    wire        unused_burst_last;
    wire        queue_in_ready;
    wire        queue_valid;
    wire        queue_ready;

    assign cmd_ready = burst_in_ready && queue_in_ready;

    // Of a run, less one, before it is known which of the two it has.
    wire [13:0] cmd_elems_less_1, cmd_x_less_1;
    wire        unused_elems_less_1, unused_x_less_1;
    vta_add #(.BITS(14)) less_elems (.a(cmd_elems), .b(14'h3fff), .sum({unused_elems_less_1, cmd_elems_less_1}));
    vta_add #(.BITS(14)) less_x     (.a(cmd_x), .b(14'h3fff), .sum({unused_x_less_1, cmd_x_less_1}));

    vta_burst #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)) burst (
        .clk(clk), .rst(rst),
        .in_valid(cmd_valid && queue_in_ready), .in_ready(burst_in_ready), .in_addr(cmd_addr),
        .in_rows(cmd_elems == 14'd0 ? 14'd0 : cmd_merge ? 14'd1 : cmd_y),
        .in_run_less_1(~(~{12'd0, cmd_merge ? cmd_elems_less_1 : cmd_x_less_1} << cmd_log)),
        .in_stride_bytes(cmd_stride_bytes),
        .out_valid(burst_valid), .out_ready(burst_ready), .out_addr(rd_cmd_addr), .out_len(rd_cmd_len),
        .out_last(unused_burst_last), .out_beyond(burst_beyond)
    );

    // Beats asked for and not taken yet. Whether more may be is known a cycle later, since the arbiter is on the way: so a burst may
    // be asked for that is one too many.
    reg  [9:0] flight_q;
    reg        open_q;
    wire       asked = rd_cmd_valid && rd_cmd_ready;
    wire       beat_take;

    assign rd_cmd_valid = burst_valid && open_q && !burst_beyond;
    assign burst_ready  = rd_cmd_ready && open_q && !burst_beyond;

    always @(posedge clk) begin
        if (rst) flight_q <= 10'd0;
        else flight_q <= flight_q + (asked ? {2'd0, rd_cmd_len} + 10'd1 : 10'd0) - {9'd0, beat_take};
    end

    always @(posedge clk) begin
        if (rst) open_q <= 1'b1;
        else open_q <= flight_q < WINDOW;
    end

    wire                beat_valid;
    wire                beat_err;
    wire [BUS_BITS-1:0] beat;

    vta_fifo #(.WIDTH(BUS_BITS + 1), .LOG_DEPTH(4)) beats (
        .clk(clk), .rst(rst),
        .in_valid(rd_data_valid), .in_ready(rd_data_ready), .in_data({rd_err, rd_data}),
        .out_valid(beat_valid), .out_ready(beat_take), .out_data({beat_err, beat})
    );

    // Fields of a command that the writing side needs.
    localparam integer QUEUE_BITS = 3 + 13 + 6*14 + 8 + 1 + 5 + 2*LOG_BUS_BYTES;
    wire [2:0]               next_mem;
    wire [12:0]              next_sram;
    wire [13:0]              next_first;
    wire [13:0]              next_tail;
    wire [13:0]              next_x;
    wire [13:0]              next_y;
    wire [13:0]              next_elems;
    wire [13:0]              next_pads;
    wire [7:0]               next_pad;
    wire                     next_merge;
    wire [4:0]               next_gap;
    wire [LOG_BUS_BYTES-1:0] next_offset;
    wire [LOG_BUS_BYTES-1:0] next_step;

    vta_fifo #(.WIDTH(QUEUE_BITS), .LOG_DEPTH(5)) queue (
        .clk(clk), .rst(rst),
        .in_valid(cmd_valid && burst_in_ready), .in_ready(queue_in_ready),
        .in_data({cmd_mem, cmd_sram, cmd_pads, cmd_x, cmd_y, cmd_elems, cmd_entries - cmd_elems, cmd_pad, cmd_merge,
                  cmd_addr[LOG_BUS_BYTES-1:0], cmd_stride_bytes[LOG_BUS_BYTES-1:0]}),
        .out_valid(queue_valid), .out_ready(queue_ready),
        .out_data({next_mem, next_sram, next_tail, next_first, next_gap, next_x, next_y, next_elems, next_pads, next_pad,
                   next_merge, next_offset, next_step})
    );

    // The oldest command.
    reg                     active_q;
    reg [2:0]               mem_q;
    reg [13:0]              x_size_q;
    reg [4:0]               gap_q;        // padding between one row's last element and the next row's first
    reg [13:0]              tail_q;       // padding after the last element
    reg                     tail_some_q;
    reg                     tail_one_q;
    reg                     merge_q;
    reg [7:0]               pad_q;
    reg [LOG_BUS_BYTES-1:0] step_q;
    reg [5:0]               piece_q;
    reg [SLICE_BITS-1:0]    last_slice_q;

    // Its elements. Counts have flags beside them: not 0, or 1.
    reg [13:0]              elems_q;      // elements to come
    reg                     elems_some_q;
    reg                     elems_one_q;
    reg [13:0]              x_q;          // of them in this row
    reg                     x_one_q;
    reg                     x_size_one_q;
    reg [12:0]              addr_q;
    reg [SLICE_BITS-1:0]    slice_q;
    reg [LOG_BUS_BYTES-1:0] offset_q;     // of the element in its beat
    reg [LOG_BUS_BYTES-1:0] row_offset_q;

    // Its padding.
    reg [13:0]              pads_q;       // pad entries to come
    reg                     pads_some_q;
    reg                     pads_one_q;
    reg [13:0]              run_q;        // of them in this run of consecutive ones
    reg                     run_some_q;
    reg                     run_one_q;
    reg [13:0]              rows_q;       // rows of elements to skip still
    reg                     rows_one_q;
    reg [12:0]              pad_addr_q;

    wire data_work  = elems_some_q;
    wire data_offer = data_work && beat_valid;
    wire pad_work   = pads_some_q;
    wire pad_offer  = pad_work && run_some_q && !data_offer;
    wire data_write = data_offer && wr_ready;
    wire pad_write  = pad_offer && wr_pad_ready;

    wire elem_end   = slice_q == last_slice_q;
    wire row_end    = x_one_q;
    wire run_end    = elems_one_q || (row_end && !merge_q);
    // The last thing to be written is an element and no padding is left, or padding and no element is; or there is neither.
    wire ends_data  = elems_one_q && elem_end && !pad_work;
    wire ends_pad   = !data_work && run_some_q && pads_one_q;
    wire ends_none  = !data_work && !pad_work;
    wire finish     = active_q && (ends_none || (ends_data && data_write) || (ends_pad && pad_work && wr_pad_ready));

    wire [LOG_BUS_BYTES-1:0] offset_next = offset_q + piece_q[LOG_BUS_BYTES-1:0] + 1'b1;
    wire [LOG_BUS_BYTES-1:0] row_offset_next = row_offset_q + step_q;

    // The beat is used up at its end, or at the end of the run.
    assign beat_take   = data_write && (offset_next == 0 || (elem_end && run_end));
    assign queue_ready = !active_q || finish;

    always @(posedge clk) begin
        if (rst) active_q <= 1'b0;
        else if (queue_ready) active_q <= queue_valid;
    end

    always @(posedge clk) begin
        if (queue_ready) begin
            mem_q        <= next_mem;
            x_size_q     <= next_x;
            gap_q        <= next_gap;
            tail_q       <= next_tail;
            merge_q      <= next_merge;
            pad_q        <= next_pad;
            step_q       <= next_step;
            piece_q      <= piece(next_mem);
            last_slice_q <= last_slice(next_mem);
        end
    end

    always @(posedge clk) begin
        if (queue_ready) begin
            elems_q      <= next_elems;
            elems_one_q  <= next_elems == 14'd1;
            x_q          <= next_x;
            x_one_q      <= next_x == 14'd1;
            x_size_one_q <= next_x == 14'd1;
            addr_q       <= next_sram + next_first[12:0];
            slice_q      <= 0;
            offset_q     <= next_offset;
            row_offset_q <= next_offset;
        end else if (data_write) begin
            slice_q  <= elem_end ? {SLICE_BITS{1'b0}} : slice_q + 1'b1;
            offset_q <= offset_next;
            if (elem_end) begin
                elems_q      <= elems_q - 14'd1;
                elems_one_q  <= elems_q == 14'd2;
                x_q     <= row_end ? x_size_q : x_q - 14'd1;
                x_one_q <= row_end ? x_size_one_q : x_q == 14'd2;
                addr_q  <= addr_q + 13'd1 + (row_end ? {8'd0, gap_q} : 13'd0);
                if (row_end) begin
                    row_offset_q <= row_offset_next;
                    if (!merge_q) offset_q <= row_offset_next;
                end
            end
        end
    end

    // Without a command there is neither.
    always @(posedge clk) begin
        if (rst) begin
            elems_some_q <= 1'b0;
            pads_some_q  <= 1'b0;
        end else if (queue_ready) begin
            elems_some_q <= queue_valid && next_elems != 14'd0;
            pads_some_q  <= queue_valid && next_pads != 14'd0;
        end else begin
            if (data_write && elem_end && elems_one_q) elems_some_q <= 1'b0;
            if (pad_write && pads_one_q) pads_some_q <= 1'b0;
        end
    end

    // Runs of padding: what is before the first element, the gaps between rows, what follows the last element. Where
    // gaps are empty, all rows are skipped at once: their entries are counted in next_elems.
    wire pad_skip = pad_work && (!run_some_q || (pad_write && run_one_q));

    // Elements between two runs of padding: a row, or all of them.
    reg [12:0] skip_q;
    always @(posedge clk) begin
        if (queue_ready) skip_q <= next_gap == 5'd0 ? next_elems[12:0] : next_x[12:0];
    end

    always @(posedge clk) begin
        if (queue_ready) begin
            pads_q      <= next_pads;
            pads_one_q  <= next_pads == 14'd1;
            run_q       <= next_first;
            run_some_q  <= next_first != 14'd0;
            run_one_q   <= next_first == 14'd1;
            rows_q      <= next_gap == 5'd0 ? 14'd1 : next_y;
            rows_one_q  <= next_gap == 5'd0 || next_y == 14'd1;
            pad_addr_q  <= next_sram;
            tail_some_q <= next_tail != 14'd0;
            tail_one_q  <= next_tail == 14'd1;
        end else begin
            if (pad_write) begin
                pads_q      <= pads_q - 14'd1;
                pads_one_q  <= pads_q == 14'd2;
                run_q       <= run_q - 14'd1;
                run_some_q  <= !run_one_q;
                run_one_q   <= run_q == 14'd2;
                pad_addr_q  <= pad_addr_q + 13'd1;
            end
            if (pad_skip) begin
                rows_q     <= rows_q - 14'd1;
                rows_one_q <= rows_q == 14'd2;
                run_q      <= rows_one_q ? tail_q : {9'd0, gap_q};
                run_some_q <= rows_one_q ? tail_some_q : gap_q != 5'd0;
                run_one_q  <= rows_one_q ? tail_one_q : gap_q == 5'd1;
                pad_addr_q <= pad_addr_q + (pad_write ? 13'd1 : 13'd0) + skip_q;
            end
        end
    end

    // The element within its beat.
    wire [BUS_BITS-1:0] aligned = beat >> {offset_q, 3'b000};
    wire                lanes = mem_q == VTA_MEM_ACC || mem_q == VTA_MEM_ACC8;
    wire [31:0]         pattern = {lanes ? {3{{8{pad_q[7]}}}} : {3{pad_q}}, pad_q};

    assign wr_en     = data_offer || pad_offer;
    assign wr_mem    = COMPUTE != 0 && pad_offer && mem_q == VTA_MEM_ACC8 ? VTA_MEM_ACC : mem_q;
    assign wr_addr   = data_offer ? addr_q : pad_addr_q;
    assign wr_data   = data_offer ? aligned : {(BUS_BITS/32){pattern}};
    assign wr_strobe = data_offer ? FIRST_SLICE << slice_q : {SLICES{1'b1}};
    assign wr_last   = !data_offer || elem_end;
    assign wr_pad    = pad_offer;
    assign now_mem   = mem_q;
    assign data_addr = addr_q;
    assign data_beat = aligned;
    assign pad_addr  = pad_addr_q;
    assign pad_word  = pattern;

    // Done, in the cycle after the last write.
    reg done_q;
    reg err_q;
    assign done = done_q;
    assign err  = err_q;

    always @(posedge clk) begin
        if (rst) begin
            done_q <= 1'b0;
            err_q  <= 1'b0;
        end else begin
            done_q <= finish;
            err_q  <= (data_write && beat_err)
                   || (data_work && burst_valid && burst_beyond && flight_q == 10'd0);
        end
    end

    assign stat_wait     = data_work && !wr_en;
    assign stat_rd_en    = data_write;
    assign stat_rd_mem   = mem_q;
    assign stat_rd_bytes = {1'b0, piece_q} + 7'd1;

    wire unused_last = rd_last;

    `VTA_FORMAL_RESET
    `VTA_ASSERT(flags, !active_q || (elems_some_q == (elems_q != 0) && elems_one_q == (elems_q == 1)
                                     && pads_some_q == (pads_q != 0) && pads_one_q == (pads_q == 1)
                                     && run_some_q == (run_q != 0) && run_one_q == (run_q == 1)
                                     && x_one_q == (x_q == 1) && rows_one_q == (rows_q == 1)))
    `VTA_ASSERT(idle, active_q || (!elems_some_q && !pads_some_q))
    `VTA_ASSERT(window, flight_q < WINDOW + 10'd512)
    `VTA_ASSERT(command, !cmd_valid || cmd_elems <= cmd_entries)
endmodule

`default_nettype wire
