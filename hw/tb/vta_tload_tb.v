// SPDX-License-Identifier: Apache-2.0
//
// vta_tload_tb -- the tensor load engine behind its decoder, under random commands, a stalling bus and a stalling write port.
//
// Writes of the write port are put into plain arrays as the contract of vta_tload says; at the end of each round
// they must equal what a reference loads. COMPUTE = 0: INP and WGT; 1: UOP, ACC and ACC8. +seed=N, +runs=N.
// parts: vta_burst
`default_nettype none

module vta_tload_tb;
`include "random.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 2;
    parameter integer LOG_BLOCK_OUT = 2;
    parameter integer LOG_UOP_DEPTH = 8;
    parameter integer LOG_INP_DEPTH = 8;
    parameter integer LOG_WGT_DEPTH = 7;
    parameter integer LOG_ACC_DEPTH = 7;
    parameter integer LOG_BUS_BYTES = 3;
    parameter integer COMPUTE       = 1;
    parameter integer WGT4          = 0;
    localparam integer ADDR_BITS    = 40;
`include "vta_isa.vh"
    localparam integer SIZE       = 1 << 17, LATENCY = 20;
    localparam integer LOG_LARGE  = COMPUTE != 0 ? VTA_LOG_BYTES_ACC
                                  : VTA_LOG_BYTES_WGT > VTA_LOG_BYTES_INP ? VTA_LOG_BYTES_WGT : VTA_LOG_BYTES_INP;
    localparam integer LOG_SLICES = LOG_LARGE > LOG_BUS_BYTES ? LOG_LARGE - LOG_BUS_BYTES : 0;

`include "read_bus.vh"

    // Decoder and engine.
    reg                      insn_valid = 1'b0;
    wire                     insn_ready;
    reg  [127:0]             insn;
    reg  [8*ADDR_BITS-1:0]   bases;
    wire                     cmd_valid, cmd_ready;
    wire [7:0]               cmd_error, cmd_pad;
    wire [2:0]               cmd_mem;
    wire [12:0]              cmd_sram;
    wire [ADDR_BITS:0]       cmd_addr;
    wire [15:0]              cmd_stride;
    wire [13:0]              cmd_x, cmd_y, cmd_elems, cmd_entries;
    wire [32:0]              cmd_pads;
    wire                     wr_en, wr_last, done, err;
    reg                      data_ready = 1'b0, pad_ready = 1'b0;
    wire                     wr_pad;
    wire                     wr_ready = wr_pad ? pad_ready : data_ready;
    wire [2:0]               now_mem;
    wire [12:0]              data_addr, pad_addr;
    wire [8*BUS_BYTES-1:0]   data_beat;
    wire [31:0]              pad_word;
    wire [2:0]               wr_mem;
    wire [12:0]              wr_addr;
    wire [8*BUS_BYTES-1:0]   wr_data;
    wire [(1<<LOG_SLICES)-1:0] wr_strobe;

    vta_mem_decode #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4)
    ) decode (
        .clk(clk), .rst(rst), .in_valid(insn_valid), .in_ready(insn_ready), .in_insn(insn), .bases(bases),
        .out_valid(cmd_valid), .out_ready(cmd_ready), .out_error(cmd_error), .out_mem(cmd_mem), .out_sram(cmd_sram),
        .out_addr(cmd_addr), .out_stride(cmd_stride), .out_x(cmd_x), .out_y(cmd_y), .out_pads(cmd_pads), .out_pad(cmd_pad),
        .out_elems(cmd_elems), .out_entries(cmd_entries)
    );

    vta_tload #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4), .COMPUTE(COMPUTE)
    ) dut (
        .clk(clk), .rst(rst), .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_mem(cmd_mem), .cmd_sram(cmd_sram),
        .cmd_addr(cmd_addr), .cmd_stride(cmd_stride), .cmd_x(cmd_x), .cmd_y(cmd_y), .cmd_pads(cmd_pads), .cmd_pad(cmd_pad),
        .cmd_elems(cmd_elems), .cmd_entries(cmd_entries),
        .wr_en(wr_en), .wr_ready(data_ready), .wr_pad_ready(pad_ready), .wr_mem(wr_mem), .wr_addr(wr_addr), .wr_data(wr_data),
        .wr_strobe(wr_strobe), .wr_last(wr_last), .wr_pad(wr_pad), .now_mem(now_mem),
        .data_addr(data_addr), .data_beat(data_beat), .pad_addr(pad_addr), .pad_word(pad_word), .done(done), .err(err),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready[0]), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid[0]), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_last(rd_last),
        .rd_err(rd_err), .stat_wait(), .stat_rd_en(), .stat_rd_mem(), .stat_rd_bytes()
    );

    // Scratchpads by memory id (ACC8 lands in ACC, WGT4 as it comes in the place of UOP): what the engine wrote, and what it should have.
    localparam integer ROOM = 1 << 15;
    reg [7:0] have [0:4*ROOM-1];
    reg [7:0] want [0:4*ROOM-1];

    function integer log_bytes(input [2:0] memory);
        case (memory)
        VTA_MEM_UOP: log_bytes = VTA_LOG_BYTES_UOP;
        VTA_MEM_WGT: log_bytes = VTA_LOG_BYTES_WGT;
        VTA_MEM_WGT4: log_bytes = VTA_LOG_BYTES_WGT4;
        VTA_MEM_INP: log_bytes = VTA_LOG_BYTES_INP;
        VTA_MEM_ACC: log_bytes = VTA_LOG_BYTES_ACC;
        default:     log_bytes = VTA_LOG_BYTES_ACC8;
        endcase
    endfunction

    function integer depth(input [2:0] memory);
        case (memory)
        VTA_MEM_UOP: depth = 1 << LOG_UOP_DEPTH;
        VTA_MEM_WGT, VTA_MEM_WGT4: depth = 1 << LOG_WGT_DEPTH;
        VTA_MEM_INP: depth = 1 << LOG_INP_DEPTH;
        default:     depth = 1 << LOG_ACC_DEPTH;
        endcase
    endfunction

    // The place of byte `at` of entry `entry` in the arrays.
    function integer spot(input [2:0] memory, input integer entry, input integer at);
        spot = (memory == VTA_MEM_ACC8 ? VTA_MEM_ACC : memory == VTA_MEM_WGT4 ? VTA_MEM_UOP : memory)*ROOM
             + (entry << (memory == VTA_MEM_ACC8 ? VTA_LOG_BYTES_ACC : log_bytes(memory))) + at;
    endfunction

    integer s, b, bytes, dones, entries, at_last;
    always @(posedge clk) begin
        if (!rst && wr_en && wr_ready) begin
            bytes = 1 << log_bytes(wr_mem);
            at_last = 0;
            for (s = 0; s < 1 << LOG_SLICES; s = s + 1) begin
                for (b = 0; b < BUS_BYTES; b = b + 1) begin
                    if (wr_strobe[s] && s*BUS_BYTES + b < bytes) begin
                        if (wr_mem == VTA_MEM_ACC8) begin
                            have[spot(wr_mem, wr_addr, 4*(s*BUS_BYTES + b))]     = wr_data[b*8 +: 8];
                            have[spot(wr_mem, wr_addr, 4*(s*BUS_BYTES + b) + 1)] = {8{wr_data[b*8 + 7]}};
                            have[spot(wr_mem, wr_addr, 4*(s*BUS_BYTES + b) + 2)] = {8{wr_data[b*8 + 7]}};
                            have[spot(wr_mem, wr_addr, 4*(s*BUS_BYTES + b) + 3)] = {8{wr_data[b*8 + 7]}};
                        end else begin
                            have[spot(wr_mem, wr_addr, s*BUS_BYTES + b)] = wr_data[b*8 +: 8];
                        end
                        if (s*BUS_BYTES + b == bytes - 1) at_last = 1;
                    end
                end
            end
            if (wr_last !== (at_last != 0)) $fatal(1, "wr_last is %b in the write of byte %0d", wr_last, bytes);
            if (wr_last) entries = entries + 1;
            if (wr_addr !== (wr_pad ? pad_addr : data_addr) || wr_data !== (wr_pad ? {BUS_BYTES/4{pad_word}} : data_beat)
                || (wr_mem !== now_mem && now_mem != VTA_MEM_ACC8)) $fatal(1, "a write is not what it is said to be made of");
        end
        if (!rst && done) dones = dones + 1;
        if (!rst && err) $fatal(1, "an error without a cause");
        if (!rst && cmd_valid && cmd_error != 0) $fatal(1, "the decoder finds error %0d", cmd_error);
        data_ready <= range(0, 99) >= stall;
        pad_ready  <= range(0, 99) >= stall;
    end

    integer count, expected;
    task random_command;
        integer memory, x, y, y0, y1, x0, x1, stride, sram, segment, dram, span, r, c, k, from, n, size, first, last, start;
        reg [7:0] pad, value;
        begin
            if (COMPUTE != 0) begin
                memory = range(0, 2);
                memory = memory == 0 ? VTA_MEM_UOP : memory == 1 ? VTA_MEM_ACC : VTA_MEM_ACC8;
            end else begin
                memory = range(0, 1) == 0 ? VTA_MEM_INP : WGT4 != 0 && range(0, 1) == 0 ? VTA_MEM_WGT4 : VTA_MEM_WGT;
            end
            size   = 1 << log_bytes(memory);
            x      = range(0, 15) == 0 ? 0 : range(1, size >= 256 ? 3 : 12);
            y      = range(0, 9) == 0 ? 0 : range(1, size >= 256 ? 3 : 6);
            stride = range(0, 2) == 0 ? x : range(0, size >= 256 ? 6 : 20);
            y0 = range(0, 2); y1 = range(0, 2); x0 = range(0, 3); x1 = range(0, 3);
            if (range(0, 2) == 0) begin y0 = 0; y1 = 0; end
            if (range(0, 2) == 0) begin x0 = 0; x1 = 0; end
            pad = memory == VTA_MEM_UOP ? 0 : range(0, 255);
            if (x != 0 && (y0 + y + y1)*(x0 + x + x1) > depth(memory)) begin y = 1; y0 = 0; y1 = 0; end
            n       = x == 0 ? 0 : (y0 + y + y1)*(x0 + x + x1);
            sram    = x == 0 ? range(0, 8191) : range(0, depth(memory) - n);
            segment = range(0, 7);
            start   = bases[segment*ADDR_BITS +: ADDR_BITS] - mem.origin;
            span    = (y == 0 ? 0 : y - 1)*stride + x;
            last    = (SIZE - start) / size - span;
            dram    = range(0, last);
            insn = 128'd0;
            insn[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH]   = VTA_OP_LOAD;
            insn[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH]         = memory;
            insn[VTA_F_MEM_SRAM_BASE_LSB +: VTA_F_MEM_SRAM_BASE_WIDTH]   = sram;
            insn[VTA_F_MEM_SEGMENT_LSB +: VTA_F_MEM_SEGMENT_WIDTH]       = segment;
            insn[VTA_F_MEM_DRAM_BASE_LSB +: VTA_F_MEM_DRAM_BASE_WIDTH]   = dram;
            insn[VTA_F_MEM_Y_SIZE_LSB +: VTA_F_MEM_Y_SIZE_WIDTH]         = y;
            insn[VTA_F_MEM_X_SIZE_LSB +: VTA_F_MEM_X_SIZE_WIDTH]         = x;
            insn[VTA_F_MEM_X_STRIDE_LSB +: VTA_F_MEM_X_STRIDE_WIDTH]     = stride;
            insn[VTA_F_MEM_Y_PAD_0_LSB +: VTA_F_MEM_Y_PAD_0_WIDTH]       = y0;
            insn[VTA_F_MEM_Y_PAD_1_LSB +: VTA_F_MEM_Y_PAD_1_WIDTH]       = y1;
            insn[VTA_F_MEM_X_PAD_0_LSB +: VTA_F_MEM_X_PAD_0_WIDTH]       = x0;
            insn[VTA_F_MEM_X_PAD_1_LSB +: VTA_F_MEM_X_PAD_1_WIDTH]       = x1;
            insn[VTA_F_MEM_PAD_LOW_LSB +: VTA_F_MEM_PAD_LOW_WIDTH]       = pad[5:0];
            insn[VTA_F_MEM_PAD_HIGH_LSB +: VTA_F_MEM_PAD_HIGH_WIDTH]     = pad[7:6];
            insn_valid = 1'b1;
            @(posedge clk);
            while (!insn_ready) @(posedge clk);
            #1 insn_valid = 1'b0;
            while (range(0, 99) < stall) @(posedge clk);
            count    = count + 1;
            expected = expected + n;
            for (r = 0; r < y0 + y + y1 && x != 0; r = r + 1) begin
                for (c = 0; c < x0 + x + x1; c = c + 1) begin
                    first = r < y0 || r >= y0 + y || c < x0 || c >= x0 + x;
                    from  = start + (dram + (r - y0)*stride + c - x0)*size;
                    for (k = 0; k < size; k = k + 1) begin
                        value = first != 0 ? pad : mem.data[from + k];
                        if (memory == VTA_MEM_ACC8) begin
                            want[spot(memory, sram, 4*k)]     = value;
                            want[spot(memory, sram, 4*k + 1)] = {8{value[7]}};
                            want[spot(memory, sram, 4*k + 2)] = {8{value[7]}};
                            want[spot(memory, sram, 4*k + 3)] = {8{value[7]}};
                        end else begin
                            want[spot(memory, sram, k)] = first != 0 && memory == VTA_MEM_ACC && k % 4 != 0 ? {8{pad[7]}} : value;
                        end
                    end
                    sram = sram + 1;
                end
            end
        end
    endtask

    // The memory lies somewhere else, with what is in it.
    integer g;
    task move_memory;
        begin
            mem.origin = draw_origin(ADDR_BITS, SIZE);
            for (g = 0; g < 8; g = g + 1) bases[g*ADDR_BITS +: ADDR_BITS] = mem.origin + 64*range(0, 300);
        end
    endtask

    integer i, j, waited;
    initial begin
        begin_bench(4);
        {count, expected, dones, entries} = 0;
        for (i = 0; i < 4*ROOM; i = i + 1) begin have[i] = 8'ha5; want[i] = 8'ha5; end
        move_memory;
        reset;
        bus_rst = 1'b0; halt = 1'b0;
        for (i = 0; i < SIZE; i = i + 1) mem.data[i] = range(0, 255);
        for (j = 0; j < runs; j = j + 1) begin
            stall = j % 3 == 0 ? 0 : range(0, 85);
            count = 0; expected = 0; dones = 0; entries = 0;
            if (j > 0) move_memory;
            for (i = 0; i < 80; i = i + 1) random_command;
            waited = 0;
            while (dones < count) begin
                @(posedge clk);
                waited = waited + 1;
                if (waited > 100000) $fatal(1, "%0d of %0d commands are done", dones, count);
            end
            repeat (20) @(posedge clk);
            if (dones != count || entries != expected || !rd_idle)
                $fatal(1, "%0d of %0d commands, %0d of %0d entries", dones, count, entries, expected);
            for (i = 0; i < 4*ROOM; i = i + 1)
                if (have[i] !== want[i])
                    $fatal(1, "memory %0d byte %0h is %0h instead of %0h", i / ROOM, i % ROOM, have[i], want[i]);
        end
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
