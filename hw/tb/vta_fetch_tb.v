// SPDX-License-Identifier: Apache-2.0
//
// vta_fetch_tb -- fetch before its bus master and a stalling memory: random programs come out whole, in order, each
// instruction to its unit with its index, whatever the units' queues do; a fault in the program (a reserved opcode, FINISH
// too early or missing, memory that refuses, no instructions at all) is reported for the right instruction, when the
// units have settled and not before, and nothing behind it comes out. +seed=N, +runs=N.
`default_nettype none

module vta_fetch_tb;
`include "random.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 4;
    parameter integer LOG_BLOCK_OUT = 4;
    parameter integer LOG_UOP_DEPTH = 8;
    parameter integer LOG_INP_DEPTH = 8;
    parameter integer LOG_WGT_DEPTH = 7;
    parameter integer LOG_ACC_DEPTH = 7;
    parameter integer LOG_BUS_BYTES = 3;
    parameter integer WGT4          = 0;
`include "vta_isa.vh"
    localparam integer ADDR_BITS = 40;
    localparam integer SIZE      = 1 << 14, LATENCY = 40;
    localparam integer MOST      = 256;             // instructions

    // Faults of a program.
    localparam integer GOOD = 0, OPCODE = 1, EARLY = 2, MISSING = 3, REFUSED = 4, NOTHING = 5, KINDS = 6;

`include "read_bus.vh"
    reg  [ADDR_BITS-1:0]   addr;
    reg  [31:0]            count;
    wire                   work;
    wire [2:0]             unit_valid;
    reg  [2:0]             unit_ready;
    wire [127:0]           insn;
    wire [31:0]            index;
    reg                    settled;
    wire                   err_valid, stat_insn, stat_full, stat_mem;
    wire [7:0]             err_code;

    vta_fetch #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4)
    ) dut (
        .clk(clk), .rst(rst), .addr(addr), .count(count),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready[0]), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid[0]), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_err(rd_err),
        .unit_valid(unit_valid), .unit_ready(unit_ready), .insn_data(insn), .insn_index(index), .work(work),
        .settled(settled), .err_valid(err_valid), .err_code(err_code),
        .stat_insn(stat_insn), .stat_full(stat_full), .stat_mem(stat_mem)
    );

    // The program, and how far it may come.
    reg [127:0] program [0:MOST-1];
    integer kind, size, faulty, out, full, rate;
    reg     fast;

    // The unit of an instruction: INP and WGT are loaded by the load unit, all else but STORE is compute's; WGT4 is WGT's, too.
    function [2:0] unit_of(input [127:0] word);
        case (word[2:0])
        VTA_OP_STORE: unit_of = 3'b100;
        VTA_OP_LOAD:  unit_of = word[9:7] == VTA_MEM_INP || word[9:7] == VTA_MEM_WGT || (WGT4 != 0 && word[9:7] == VTA_MEM_WGT4) ? 3'b001 : 3'b010;
        default:      unit_of = 3'b010;
        endcase
    endfunction

    always @(posedge clk) begin
        if (!rst) begin
            if ((unit_valid & unit_ready) != 3'd0) begin
                if (out >= (kind == GOOD ? size : faulty)) $fatal(1, "instruction %0d comes out", out);
                if (unit_valid !== unit_of(program[out])) $fatal(1, "instruction %0d goes to units %b", out, unit_valid);
                if (insn !== program[out] || index !== out) $fatal(1, "instruction %0d is %h, number %0d", out, insn, index);
                out = out + 1;
            end
            if (stat_insn !== ((unit_valid & unit_ready) != 3'd0)) $fatal(1, "stat_insn is %b", stat_insn);
            if (stat_full !== (unit_valid != 3'd0 && (unit_valid & unit_ready) == 3'd0)) $fatal(1, "stat_full is %b", stat_full);
            if (stat_full) full = full + 1;
            if (err_valid && !settled) $fatal(1, "an error while the units still work");
            if (err_valid && (kind == GOOD || out != faulty)) $fatal(1, "error %0d after %0d instructions", err_code, out);
            unit_ready <= {chance(rate), chance(rate), chance(rate)};
        end
    end

    function [7:0] code_of(input integer which);
        case (which)
        OPCODE:  code_of = VTA_ERROR_OPCODE;
        REFUSED: code_of = VTA_ERROR_FETCH_BUS;
        default: code_of = VTA_ERROR_NO_FINISH;
        endcase
    endfunction

    integer    i, j, at;
    reg [63:0] edge_at;
    task make_program;
        begin
            kind   = chance(40) ? GOOD : range(1, KINDS - 1);
            size   = chance(20) ? range(1, 3) : range(4, MOST);
            if (kind == EARLY && size < 2) kind = GOOD;
            faulty = kind == MISSING ? size - 1 : kind == EARLY ? range(0, size - 2) : range(0, size - 1);
            mem.origin = draw_origin(ADDR_BITS, SIZE);
            at     = 64 * range(0, (SIZE - 16*size) / 64);
            // Often across 4 GiB.
            edge_at = 64'h100000000 - mem.origin;
            if (mem.origin != 0 && edge_at < SIZE && chance(60)) at = edge_at < 16*size ? 64*range(0, edge_at/64) : edge_at - 64*range(0, size/4);
            if (at > SIZE - 16*size) at = (SIZE - 16*size) & ~63;
            addr   = mem.origin + at;
            count  = size;
            for (i = 0; i < size; i = i + 1) begin
                for (j = 0; j < 128; j = j + 16) program[i][j +: 16] = range(0, 65535);
                program[i][2:0] = range(0, 5);
                if (program[i][2:0] == VTA_OP_FINISH) program[i][2:0] = VTA_OP_DEPTHWISE;
            end
            program[size - 1][2:0] = VTA_OP_FINISH;
            if (kind == OPCODE)  program[faulty][2:0] = 3'd7;
            if (kind == EARLY)   program[faulty][2:0] = VTA_OP_FINISH;
            if (kind == MISSING) program[faulty][2:0] = VTA_OP_GEMM;
            bad_begin = 0; bad_end = 0;
            if (kind == REFUSED) begin
                bad_begin = at + 16*faulty + range(0, 15);
                bad_end   = bad_begin + 1;
                // The bus refuses beats, so the first instruction in that one is hit.
                while (faulty > 0 && (at + 16*faulty) / BUS_BYTES == (at + 16*(faulty - 1)) / BUS_BYTES) faulty = faulty - 1;
            end
            if (kind == NOTHING) begin count = 0; faulty = 0; end
            for (i = 0; i < size; i = i + 1)
                for (j = 0; j < 16; j = j + 1) mem.data[at + 16*i + j] = program[i][8*j +: 8];
        end
    endtask

    task wait_until(input integer instructions);
        integer waited;
        begin
            waited = 0;
            while (out != instructions) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > 100000) $fatal(1, "%0d of %0d instructions came out", out, instructions);
            end
        end
    endtask

    integer n, judged, before;
    initial begin
        begin_bench(40);
        stall = 0; bad_begin = 0; bad_end = 0; addr = 0; count = 0; kind = GOOD; size = 0; out = 0; full = 0; rate = 0;
        unit_ready = 3'd0; settled = 1'b0; judged = 0;
        repeat (4) @(negedge clk);
        bus_rst = 1'b0;
        for (n = 0; n < runs; n = n + 1) begin
            make_program;
            stall   = n % 3 == 0 ? 0 : range(0, 70);
            rate    = n % 2 == 0 ? 100 : range(10, 100);
            out     = 0;
            settled = 1'b0;
            @(negedge clk) rst = 1'b0;
            halt = 1'b0;
            if (chance(10)) begin
                // A run that is broken off: the next one must not notice.
                repeat (range(1, 200)) @(negedge clk);
            end else begin
                wait_until(kind == GOOD ? size : faulty);
                repeat (200) @(negedge clk);        // time for the faulty one to arrive
                if (kind != GOOD) begin
                    settled = 1'b1;
                    before  = 0;
                    while (!err_valid && before < 2000) begin
                        @(negedge clk);
                        before = before + 1;
                    end
                    if (!err_valid || err_code !== code_of(kind) || index !== faulty)
                        $fatal(1, "fault %0d in %0d: error %b %0d in %0d", kind, faulty, err_valid, err_code, index);
                    judged = judged + 1;
                end
            end
            @(negedge clk) rst = 1'b1;
            halt = 1'b1;
            @(negedge clk);
            while (!rd_idle) @(negedge clk);
        end
        if (judged < runs / 4 || full == 0) $fatal(1, "%0d faults, %0d cycles of a full queue: too few", judged, full);

        // The speed: an instruction a cycle, or as the bus brings them.
        kind = -1;
        while (kind != GOOD || size != MOST) make_program;
        stall = 0; rate = 100; out = 0;
        @(negedge clk) rst = 1'b0;
        halt = 1'b0;
        wait_until(size / 2);
        before = 0;
        while (out != size) begin @(negedge clk); before = before + 1; end
        if (before > size/2 * (BUS_BYTES < 16 ? 16/BUS_BYTES : 1) * 11/10) $fatal(1, "%0d instructions take %0d cycles", size/2, before);
        $display("%0d faults", judged);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
