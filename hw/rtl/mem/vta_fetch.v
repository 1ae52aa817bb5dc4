// SPDX-License-Identifier: Apache-2.0
//
// vta_fetch -- reads the program and hands each instruction to its unit's queue.
//
// Contract: after reset, `count` instructions from `addr` (multiple of 64) are read ahead as far as the buffer goes and
// handed out in order, one a cycle at most; an instruction whose queue is full stops those behind it. A program without
// a FINISH at its end, a reserved opcode or a refused read raise err_valid for the instruction and block what follows; that
// waits for `settled`, when the instructions before it have gone as far as they can.
// The buffer is reserved before a burst is asked for, so that a full queue never blocks the bus.
// unit_*: 0 load, 1 compute, 2 store.
`include "vta_assert.vh"
`default_nettype none

module vta_fetch #(
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
    input  wire                          rst,

    input  wire [ADDR_BITS-1:0]          addr,      // stable while not in reset
    input  wire [31:0]                   count,

    output wire                          rd_cmd_valid,
    input  wire                          rd_cmd_ready,
    output wire [ADDR_BITS-1:0]          rd_cmd_addr,
    output wire [7:0]                    rd_cmd_len,
    input  wire                          rd_data_valid,
    output wire                          rd_data_ready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] rd_data,
    input  wire                          rd_err,

    output wire [2:0]                    unit_valid,
    input  wire [2:0]                    unit_ready,
    output wire [127:0]                  insn_data,
    output wire [31:0]                   insn_index,

    output wire                          work,      // for vta_awake
    input  wire                          settled,
    output wire                          err_valid,
    output wire [7:0]                    err_code,

    output wire                          stat_insn,
    output wire                          stat_full,
    output wire                          stat_mem
);
`include "vta_isa.vh"
    localparam integer BUS_BITS  = 8 << LOG_BUS_BYTES;
    localparam integer LOG_BUFFER = 10 - LOG_BUS_BYTES;   // beats of 1 KiB
    localparam integer LOG_CHUNK  = LOG_BUFFER - 2;
    localparam integer LOG_CHUNK_BYTES = LOG_CHUNK + LOG_BUS_BYTES;
    localparam [LOG_BUFFER:0] CHUNK = 1 << LOG_CHUNK;
    localparam [LOG_BUFFER:0] BUFFER = 1 << LOG_BUFFER;

    // Bursts: chunks of 256 bytes, aligned, so that none crosses a page.
    reg                          first_q;      // nothing has been asked for yet
    reg  [ADDR_BITS-1:LOG_BUS_BYTES] next_q;
    reg  [36:LOG_BUS_BYTES]      left_q;       // beats to ask for
    reg                          some_left_q;  // left_q != 0
    reg  [LOG_CHUNK:0]           to_edge_q;    // beats to the end of the chunk: all of it but in the first
    reg  [LOG_BUFFER:0]          room_q;       // places in the buffer not promised to anyone

    // The last burst may end before its chunk does. What follows from its length is then of no use to anyone, so that address, beats and
    // room go on as if it did not.
    wire [36:0]                  bytes = {1'b0, count, 4'd0} + {31'd0, {6{1'b1}} >> (6 - LOG_BUS_BYTES)};
    wire [36:LOG_BUS_BYTES]      edge_wide = {{(37-LOG_BUS_BYTES-LOG_CHUNK-1){1'b0}}, to_edge_q};
    wire                         short = left_q < edge_wide;
    wire [LOG_CHUNK:0]           len = short ? left_q[LOG_CHUNK+LOG_BUS_BYTES:LOG_BUS_BYTES] : to_edge_q;
    wire [LOG_CHUNK:0]           len_less_1 = len - 1'b1;
    wire                         ask = rd_cmd_valid && rd_cmd_ready;
    wire                         beat_take;

    assign rd_cmd_valid = !first_q && some_left_q && room_q >= CHUNK;
    assign rd_cmd_addr  = {next_q, {LOG_BUS_BYTES{1'b0}}};
    assign rd_cmd_len   = {{(7-LOG_CHUNK){1'b0}}, len_less_1};

    always @(posedge clk) begin
        if (rst) begin
            first_q <= 1'b1;
            room_q  <= BUFFER;
        end else begin
            first_q <= 1'b0;
            room_q  <= room_q + {{LOG_BUFFER{1'b0}}, beat_take}
                     - (ask ? {{(LOG_BUFFER-LOG_CHUNK){1'b0}}, to_edge_q} : {(LOG_BUFFER+1){1'b0}});
        end
    end

    always @(posedge clk) begin
        if (first_q) begin
            next_q <= addr[ADDR_BITS-1:LOG_BUS_BYTES];
            left_q <= bytes[36:LOG_BUS_BYTES];
            some_left_q <= bytes[36:LOG_BUS_BYTES] != 0;
            to_edge_q <= CHUNK[LOG_CHUNK:0] - {1'b0, addr[LOG_CHUNK_BYTES-1:LOG_BUS_BYTES]};
        end else if (ask) begin
            next_q <= {next_q[ADDR_BITS-1:LOG_CHUNK_BYTES] + 1'b1, {(LOG_CHUNK_BYTES-LOG_BUS_BYTES){1'b0}}};
            left_q <= left_q - edge_wide;
            some_left_q <= left_q > edge_wide;
            to_edge_q <= CHUNK[LOG_CHUNK:0];
        end
    end

    wire                beat_valid;
    wire                beat_err;
    wire [BUS_BITS-1:0] beat;

    vta_fifo #(.WIDTH(BUS_BITS + 1), .LOG_DEPTH(LOG_BUFFER)) buffer (
        .clk(clk), .rst(rst),
        .in_valid(rd_data_valid), .in_ready(rd_data_ready), .in_data({rd_err, rd_data}),
        .out_valid(beat_valid), .out_ready(beat_take), .out_data({beat_err, beat})
    );

    // Instructions out of beats.
    wire insn_valid;
    wire insn_err;
    wire insn_take;
    wire insn_last;

    generate
        if (LOG_BUS_BYTES == 3) begin : halves
            reg        low_valid_q;
            reg        low_err_q;
            reg [63:0] low_q;

            assign insn_valid = low_valid_q && beat_valid;
            assign insn_err   = low_err_q || beat_err;
            assign insn_data  = {beat, low_q};
            assign beat_take  = beat_valid && (!low_valid_q || insn_take);

            always @(posedge clk) begin
                if (rst) low_valid_q <= 1'b0;
                else if (beat_take) low_valid_q <= !low_valid_q;
            end

            always @(posedge clk) begin
                if (beat_take) begin
                    low_q     <= beat;
                    low_err_q <= beat_err;
                end
            end
        end else begin : parts
            localparam integer SLOT_BITS = LOG_BUS_BYTES == 4 ? 1 : LOG_BUS_BYTES - 4;
            localparam [SLOT_BITS-1:0] LAST_SLOT = (1 << (LOG_BUS_BYTES - 4)) - 1;
            reg  [SLOT_BITS-1:0] slot_q;
            wire [31:0]          slot = {{(32-SLOT_BITS){1'b0}}, slot_q};

            assign insn_valid = beat_valid;
            assign insn_err   = beat_err;
            assign insn_data  = beat[slot*128 +: 128];
            assign beat_take  = insn_take && (slot_q == LAST_SLOT || insn_last);

            always @(posedge clk) begin
                if (rst) slot_q <= 0;
                else if (insn_take) slot_q <= slot_q == LAST_SLOT ? {SLOT_BITS{1'b0}} : slot_q + 1'b1;
            end
        end
    endgenerate

    // Dispatch.
    reg  [31:0] index_q;
    reg  [31:0] after_q;      // instructions behind this one
    reg         last_q;       // none
    reg         done_q;       // the last instruction has been handed out
    wire [2:0]  opcode  = insn_data[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH];
    wire [2:0]  memory  = insn_data[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH];
    wire        to_load  = opcode == VTA_OP_LOAD && (memory == VTA_MEM_INP || memory == VTA_MEM_WGT || (WGT4 != 0 && memory == VTA_MEM_WGT4));
    wire        to_store = opcode == VTA_OP_STORE;
    wire [2:0]  unit     = {to_store, !to_load && !to_store, to_load};
    wire        reserved = opcode > VTA_OP_DEPTHWISE;
    wire        misplaced = (opcode == VTA_OP_FINISH) != insn_last;
    wire        fine     = !insn_err && !reserved && !misplaced;

    assign insn_index = index_q;
    assign insn_last  = last_q;
    assign insn_take  = insn_valid && fine && (unit & unit_ready) != 3'd0;
    assign unit_valid = unit & {3{insn_valid && fine && !done_q}};

    // Fault of the next instruction, known a cycle after it is there: it stays.
    reg       bad_q;
    reg [7:0] bad_code_q;
    always @(posedge clk) begin
        if (rst) bad_q <= 1'b0;
        else bad_q <= !first_q && !done_q && (count == 32'd0 || (insn_valid && !fine));
    end

    always @(posedge clk) begin
        bad_code_q <= count == 32'd0 ? VTA_ERROR_NO_FINISH
                    : insn_err ? VTA_ERROR_FETCH_BUS
                    : reserved ? VTA_ERROR_OPCODE : VTA_ERROR_NO_FINISH;
    end

    assign err_valid = settled && bad_q;
    assign err_code  = bad_code_q;

    always @(posedge clk) begin
        if (rst) begin
            index_q <= 32'd0;
            done_q  <= 1'b0;
        end else if (insn_take) begin
            index_q <= index_q + 32'd1;
            done_q  <= insn_last;
        end
    end

    always @(posedge clk) begin
        if (first_q) begin
            after_q <= count - 32'd1;
            last_q  <= count == 32'd1;
        end else if (insn_take) begin
            after_q <= after_q - 32'd1;
            last_q  <= after_q == 32'd1;
        end
    end

    assign work      = first_q || rd_cmd_valid || rd_data_valid || beat_take;
    assign stat_insn = insn_take;
    assign stat_full = insn_valid && fine && !insn_take;
    assign stat_mem  = !first_q && !done_q && !beat_valid;

    wire unused_bytes = |bytes[LOG_BUS_BYTES-1:0] || |addr[LOG_BUS_BYTES-1:0] || len_less_1[LOG_CHUNK];

    `VTA_PARAM_CHECK(LOG_BUS_BYTES >= 3 && LOG_BUS_BYTES <= 6)
    `VTA_FORMAL_RESET
    `VTA_ASSERT(reserved_room, !rd_data_valid || rd_data_ready)
endmodule

`default_nettype wire
