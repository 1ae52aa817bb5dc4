// SPDX-License-Identifier: Apache-2.0
//
// vta_store -- the store unit: STORE, and the OUT scratchpad.
//
// Contract: instructions start in order and retire in order. One retires, and gives its token, when the memory has
// answered all its bursts: its data can be loaded again. Addresses, data and answers of consecutive instructions
// overlap. Rows that follow each other in DRAM are written as one run. Throughput: an element or a beat a cycle,
// whichever the width allows. The OUT write port is always accepted.
`include "vta_assert.vh"
`default_nettype none

module vta_store #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer WGT4          = 0
) (
    input  wire                          clk,
    input  wire                          clk_unit,      // may stop while awake is low
    output wire                          awake,
    input  wire                          rst,

    input  wire                          insn_valid,
    output wire                          insn_ready,
    input  wire [127:0]                  insn_data,
    input  wire [31:0]                   insn_index,
    input  wire [8*ADDR_BITS-1:0]        bases,

    input  wire                          c2s_avail,
    output wire                          c2s_pop,
    input  wire                          s2c_room,
    output wire                          s2c_push,

    input  wire                          out_wr_en,
    input  wire [LOG_ACC_DEPTH-1:0]      out_wr_addr,
    input  wire [(8<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] out_wr_data,

    output wire                          wr_cmd_valid,
    input  wire                          wr_cmd_ready,
    output wire [ADDR_BITS-1:0]          wr_cmd_addr,
    output wire [7:0]                    wr_cmd_len,
    output wire                          wr_data_valid,
    input  wire                          wr_data_ready,
    output wire [(8<<LOG_BUS_BYTES)-1:0] wr_data,
    output wire [(1<<LOG_BUS_BYTES)-1:0] wr_strobe,
    input  wire                          wr_ack,
    input  wire                          wr_ack_err,
    output wire                          wr_ack_ready,

    output wire                          err_valid,
    output wire [7:0]                    err_code,
    output wire [31:0]                   err_index,
    output wire                          head_valid,
    output wire [31:0]                   head_index,

    output wire                          stat_issue,
    output wire                          stat_retire,
    output wire                          stat_busy,
    output wire                          stat_token,
    output wire                          stat_room,   // the oldest one is done and waits for room for its token
    output wire                          stat_mem,
    output wire                          stat_element   // an element is handed to the write channel
);
`include "vta_isa.vh"
    localparam integer BUS_BITS  = 8 << LOG_BUS_BYTES;
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;
    localparam integer LOG_OUT   = VTA_LOG_BYTES_OUT;
    localparam integer OUT_BITS  = 8 << LOG_OUT;

    wire               cmd_valid;
    wire               cmd_ready;
    wire [31:0]        cmd_index;
    wire               cmd_push;
    wire [12:0]        cmd_sram;
    wire [ADDR_BITS:0] cmd_addr;
    wire [15:0]        cmd_stride;
    wire [13:0]        cmd_x;
    wire [13:0]        cmd_y;
    wire [13:0]        cmd_elems;
    wire               front_err;
    wire               front_valid;
    wire [7:0]         front_code;
    wire [57:0]        unused_front;

    vta_mem_front #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4), .STORE(1)
    ) front (
        .clk(clk_unit), .rst(rst),
        .insn_valid(insn_valid), .insn_ready(insn_ready), .insn_data(insn_data), .insn_index(insn_index),
        .bases(bases), .token_avail(c2s_avail), .token_pop(c2s_pop),
        .out_valid(cmd_valid), .out_ready(cmd_ready), .out_index(cmd_index), .out_push(cmd_push),
        .out_mem(unused_front[2:0]), .out_sram(cmd_sram), .out_addr(cmd_addr), .out_stride(cmd_stride),
        .out_x(cmd_x), .out_y(cmd_y), .out_pads(unused_front[35:3]), .out_pad(unused_front[43:36]),
        .out_elems(unused_front[57:44]), .out_entries(cmd_elems),     // without padding they are the same, and these come out of a multiplier
        .err_valid(front_err), .err_code(front_code), .head_valid(front_valid), .stat_token(stat_token)
    );

    // A command goes to the address maker, to the reader of OUT and to the list of those in work, at once.
    wire        cmd_nop   = cmd_elems == 14'd0;
    wire        cmd_merge = cmd_stride == {2'd0, cmd_x} || cmd_y == 14'd1;
    wire [27:0] cmd_stride_bytes = {12'd0, cmd_stride} << LOG_OUT;
    wire        burst_in_ready;
    wire        queue_in_ready;
    wire        pending_in_ready;
    wire        issue = cmd_valid && cmd_ready;

    assign cmd_ready = burst_in_ready && queue_in_ready && pending_in_ready;

    // Addresses.
    wire burst_valid;
    wire burst_last;
    wire burst_beyond;
    wire lasts_ready;
    wire begun = wr_cmd_valid && wr_cmd_ready;

    // Of a run, less one, before it is known which of the two it has.
    wire [13:0] cmd_elems_less_1, cmd_x_less_1;
    wire        unused_elems_less_1, unused_x_less_1;
    vta_add #(.BITS(14)) less_elems (.a(cmd_elems), .b(14'h3fff), .sum({unused_elems_less_1, cmd_elems_less_1}));
    vta_add #(.BITS(14)) less_x     (.a(cmd_x), .b(14'h3fff), .sum({unused_x_less_1, cmd_x_less_1}));

    vta_burst #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)) burst (
        .clk(clk_unit), .rst(rst),
        .in_valid(issue), .in_ready(burst_in_ready), .in_addr(cmd_addr),
        .in_rows(cmd_nop ? 14'd0 : cmd_merge ? 14'd1 : cmd_y),
        .in_run_less_1(~(~{12'd0, cmd_merge ? cmd_elems_less_1 : cmd_x_less_1} << LOG_OUT)),
        .in_stride_bytes(cmd_stride_bytes),
        .out_valid(burst_valid), .out_ready(begun), .out_addr(wr_cmd_addr), .out_len(wr_cmd_len),
        .out_last(burst_last), .out_beyond(burst_beyond)
    );

    assign wr_cmd_valid = burst_valid && !burst_beyond && lasts_ready;

    // The reader of OUT.
    wire                     next_valid;
    wire                     next_ready;
    wire [LOG_ACC_DEPTH-1:0] next_addr;
    wire [13:0]              next_x;
    wire [13:0]              next_elems;
    wire                     next_merge;
    wire [LOG_BUS_BYTES-1:0] next_offset;
    wire [LOG_BUS_BYTES-1:0] next_step;

    vta_fifo #(.WIDTH(LOG_ACC_DEPTH + 29 + 2*LOG_BUS_BYTES), .LOG_DEPTH(2)) queue (
        .clk(clk_unit), .rst(rst),
        .in_valid(issue && !cmd_nop), .in_ready(queue_in_ready),
        .in_data({cmd_sram[LOG_ACC_DEPTH-1:0], cmd_x, cmd_elems, cmd_merge,
                  cmd_addr[LOG_BUS_BYTES-1:0], cmd_stride_bytes[LOG_BUS_BYTES-1:0]}),
        .out_valid(next_valid), .out_ready(next_ready),
        .out_data({next_addr, next_x, next_elems, next_merge, next_offset, next_step})
    );

    reg                     read_q;        // elements to read are left
    reg [LOG_ACC_DEPTH-1:0] addr_q;
    reg [13:0]              elems_q;
    reg [13:0]              x_q;
    reg [13:0]              x_size_q;
    reg                     merge_q;
    reg [LOG_BUS_BYTES-1:0] offset_q;
    reg [LOG_BUS_BYTES-1:0] row_offset_q;
    reg [LOG_BUS_BYTES-1:0] step_q;

    reg                     elem_valid_q;  // out_rd_data is an element on its way
    reg                     elem_end_q;    // the last one of a run
    reg [LOG_BUS_BYTES-1:0] elem_offset_q; // where in its beat

    wire                    elem_done;     // handed on in this cycle
    wire                    read     = read_q && (!elem_valid_q || elem_done);
    wire                    last     = elems_q == 14'd1;
    wire                    row_end  = x_q == 14'd1;
    wire                    run_end  = last || (row_end && !merge_q);
    wire [LOG_BUS_BYTES-1:0] row_offset_next = row_offset_q + step_q;
    localparam [31:0] PIECE = 32'd1 << LOG_OUT;

    assign next_ready = !read_q || (read && last);

    always @(posedge clk_unit) begin
        if (rst) begin
            read_q       <= 1'b0;
            elem_valid_q <= 1'b0;
        end else begin
            if (next_ready) read_q <= next_valid;
            if (read) elem_valid_q <= 1'b1;
            else if (elem_done) elem_valid_q <= 1'b0;
        end
    end

    always @(posedge clk_unit) begin
        if (next_ready) begin
            addr_q       <= next_addr;
            elems_q      <= next_elems;
            x_q          <= next_x;
            x_size_q     <= next_x;
            merge_q      <= next_merge;
            offset_q     <= next_offset;
            row_offset_q <= next_offset;
            step_q       <= next_step;
        end else if (read) begin
            addr_q   <= addr_q + 1'b1;
            elems_q  <= elems_q - 14'd1;
            x_q      <= row_end ? x_size_q : x_q - 14'd1;
            offset_q <= row_end && !merge_q ? row_offset_next : offset_q + PIECE[LOG_BUS_BYTES-1:0];
            if (row_end) row_offset_q <= row_offset_next;
        end
    end

    always @(posedge clk_unit) begin
        if (read) begin
            elem_end_q    <= run_end;
            elem_offset_q <= offset_q;
        end
    end

    wire [OUT_BITS-1:0] elem;

    vta_ram #(
        .LOG_DEPTH(LOG_ACC_DEPTH), .WIDTH(OUT_BITS), .SLICE(OUT_BITS), .WR_WIDTH(OUT_BITS)
    ) out (
        .clk(clk),
        .wr_en(out_wr_en), .wr_strobe(1'b1), .wr_addr(out_wr_addr), .wr_data(out_wr_data),
        .rd_en(read), .rd_addr(addr_q), .rd_data(elem)
    );

    // Elements into beats.
    wire                 beat_valid;
    wire                 beat_ready;
    wire [BUS_BITS-1:0]  beat;
    wire [BUS_BYTES-1:0] strobe;

    generate
        if (LOG_OUT >= LOG_BUS_BYTES) begin : wide
            localparam integer SLICES     = OUT_BITS / BUS_BITS;
            localparam integer SLICE_BITS = LOG_OUT > LOG_BUS_BYTES ? LOG_OUT - LOG_BUS_BYTES : 1;
            reg  [SLICE_BITS-1:0] slice_q;
            wire [31:0]           slice = {{(32-SLICE_BITS){1'b0}}, slice_q};
            wire                  slice_end = slice == SLICES - 1;

            assign beat_valid = elem_valid_q;
            assign beat       = elem[slice*BUS_BITS +: BUS_BITS];
            assign strobe     = {BUS_BYTES{1'b1}};
            assign elem_done  = elem_valid_q && beat_ready && slice_end;

            always @(posedge clk_unit) begin
                if (rst) slice_q <= 0;
                else if (beat_valid && beat_ready) slice_q <= slice_end ? {SLICE_BITS{1'b0}} : slice_q + 1'b1;
            end

            wire unused_offset = |elem_offset_q || elem_end_q;
        end else begin : narrow
            localparam integer OUT_BYTES = 1 << LOG_OUT;
            localparam [BUS_BYTES-1:0] LANES = (1 << OUT_BYTES) - 1;
            reg  [BUS_BITS-1:0]      part_q;
            reg  [BUS_BYTES-1:0]     part_strobe_q;
            wire [LOG_BUS_BYTES-1:0] offset_next = elem_offset_q + PIECE[LOG_BUS_BYTES-1:0];
            wire                     full = offset_next == 0 || elem_end_q;
            wire [BUS_BITS-1:0]      here = {{(BUS_BITS-OUT_BITS){1'b0}}, elem} << {elem_offset_q, 3'b000};

            assign beat       = part_q | here;
            assign strobe     = part_strobe_q | (LANES << elem_offset_q);
            assign beat_valid = elem_valid_q && full;
            assign elem_done  = elem_valid_q && (!full || beat_ready);

            always @(posedge clk_unit) begin
                if (rst) begin
                    part_q        <= {BUS_BITS{1'b0}};
                    part_strobe_q <= {BUS_BYTES{1'b0}};
                end else if (elem_done) begin
                    part_q        <= full ? {BUS_BITS{1'b0}} : beat;
                    part_strobe_q <= full ? {BUS_BYTES{1'b0}} : strobe;
                end
            end
        end
    endgenerate

    vta_fifo #(.WIDTH(BUS_BITS + BUS_BYTES), .LOG_DEPTH(4)) beats (
        .clk(clk_unit), .rst(rst),
        .in_valid(beat_valid), .in_ready(beat_ready), .in_data({strobe, beat}),
        .out_valid(wr_data_valid), .out_ready(wr_data_ready), .out_data({wr_strobe, wr_data})
    );

    // Instructions in work, oldest first, and which of the bursts not answered yet are the last ones of theirs.
    wire        pending_valid;
    wire        pending_nop;
    wire        pending_push;
    wire [31:0] pending_index;
    wire        retire;
    wire        lasts_valid;
    wire        ack_last;
    reg         answered_q;    // all bursts of the oldest instruction are answered

    vta_fifo #(.WIDTH(34), .LOG_DEPTH(4)) pending (
        .clk(clk_unit), .rst(rst),
        .in_valid(issue), .in_ready(pending_in_ready), .in_data({cmd_index, cmd_nop, cmd_push}),
        .out_valid(pending_valid), .out_ready(retire), .out_data({pending_index, pending_nop, pending_push})
    );

    vta_fifo #(.WIDTH(1), .LOG_DEPTH(5)) lasts (
        .clk(clk_unit), .rst(rst),
        .in_valid(begun), .in_ready(lasts_ready), .in_data(burst_last),
        .out_valid(lasts_valid), .out_ready(wr_ack), .out_data(ack_last)
    );

    // An answer is taken only while the oldest instruction waits for one, so that an error is laid at the right door.
    assign wr_ack_ready = pending_valid && !pending_nop && !answered_q;
    assign retire = pending_valid && (pending_nop || answered_q) && (!pending_push || s2c_room);

    always @(posedge clk_unit) begin
        if (rst) answered_q <= 1'b0;
        else if (wr_ack && ack_last) answered_q <= 1'b1;
        else if (retire) answered_q <= 1'b0;
    end

    // An instruction that is wrong itself waits for those before it: of two errors the older counts.
    wire wrong   = front_err && (!pending_valid || stat_room);
    wire bus_err = wr_ack && wr_ack_err;
    wire beyond  = burst_valid && burst_beyond && !lasts_valid && wr_ack_ready;

    assign s2c_push     = retire && pending_push;
    assign err_valid    = bus_err || beyond || wrong;
    assign err_code     = bus_err || beyond ? VTA_ERROR_WRITE_BUS : front_code;
    assign err_index    = bus_err || beyond ? pending_index : cmd_index;
    assign head_valid   = pending_valid || front_valid;
    assign head_index   = pending_valid ? pending_index : cmd_index;
    assign stat_issue   = issue;
    assign stat_retire  = retire;
    assign stat_busy    = pending_valid;
    assign stat_room    = pending_valid && (pending_nop || answered_q) && !retire;
    assign stat_mem     = pending_valid && !pending_nop && !elem_done && !(beat_valid && beat_ready);
    assign stat_element = elem_done;

    wire unused_sram = |cmd_sram;

    vta_awake #(.LINGER(8)) sleep (
        .clk(clk), .rst(rst), .awake(awake),
        .work((insn_valid && insn_ready) || issue || wr_cmd_valid || read || elem_done || wr_data_valid || wr_ack || retire)
    );

    `VTA_FORMAL_RESET
    `VTA_ASSERT(answers, !wr_ack || lasts_valid)
endmodule

`default_nettype wire
