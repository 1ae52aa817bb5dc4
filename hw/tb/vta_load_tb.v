// SPDX-License-Identifier: Apache-2.0
//
// vta_load_tb -- the load unit with its scratchpads before bus master and stalling memory, and vta_mem_front in it.
//
// Groups of random LOADs: the first of a group waits for a token, the last one gives one, in the moment in which all
// that the group loads must be there: then both scratchpads are read through their ports and compared with what a
// reference loads. Meanwhile compute writes to INP. Now and then an instruction is illegal, out of range, or refused by the memory: it is reported with its
// index after all before it have ended, and gives no token. +seed=N, +runs=N groups.
// parts: vta_mem_front vta_mem_decode vta_burst
`default_nettype none

module vta_load_tb;
`include "random.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 2;
    parameter integer LOG_BLOCK_OUT = 2;
    parameter integer LOG_UOP_DEPTH = 6;
    parameter integer LOG_INP_DEPTH = 6;
    parameter integer LOG_WGT_DEPTH = 6;
    parameter integer LOG_ACC_DEPTH = 6;
    parameter integer LOG_BUS_BYTES = 3;
    parameter integer WGT4          = 0;
    localparam integer ADDR_BITS    = 40;
`include "vta_isa.vh"
`include "mem_insn.vh"
    localparam integer SIZE      = LOG_WGT_DEPTH == 13 ? 1 << 18 : 1 << 14, LATENCY = 30;
    localparam integer INP_BYTES = 1 << VTA_LOG_BYTES_INP;
    localparam integer WGT_BYTES = 1 << VTA_LOG_BYTES_WGT;
    localparam integer INP_DEPTH = 1 << LOG_INP_DEPTH;
    localparam integer WGT_DEPTH = 1 << LOG_WGT_DEPTH;

`include "read_bus.vh"
    reg                       insn_valid, c2l_avail, l2c_room;
    wire                      insn_ready, c2l_pop, l2c_push, awake;
    reg  [31:0]               index;
    reg  [8*ADDR_BITS-1:0]    bases;
    reg                       inp_en, wgt_en;
    reg  [LOG_INP_DEPTH-1:0]  inp_addr;
    reg  [LOG_WGT_DEPTH-1:0]  wgt_addr;
    wire [8*INP_BYTES-1:0]    inp_data;
    wire [8*WGT_BYTES-1:0]    wgt_data;
    wire                      err_valid, head_valid, stat_issue, stat_retire, stat_busy;
    wire [7:0]                err_code;
    wire [31:0]               err_index, head_index;

    // The unit's clock stops while it says that it may.
    reg  run_clock = 1'b1;
    always @* if (!clk) run_clock = rst || awake;
    wire clk_unit = clk && run_clock;

    // Compute writes to the last entries of INP, which no LOAD touches, a part at a time.
    localparam integer OWN = 8, OUT_LANES = 1 << LOG_BLOCK_OUT, IN_LANES = 1 << LOG_BLOCK_IN;
    localparam integer PARTS = IN_LANES/OUT_LANES;
    reg                       loop_en = 1'b0;
    reg  [LOG_INP_DEPTH-1:0]  loop_addr;
    reg  [1:0]                loop_part;
    reg  [(OUT_LANES << (LOG_BATCH + 3))-1:0] loop_data;

    vta_load #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .WGT4(WGT4)
    ) dut (
        .clk(clk), .clk_unit(clk_unit), .awake(awake), .rst(rst),
        .insn_valid(insn_valid), .insn_ready(insn_ready), .insn_data(insn), .insn_index(index), .bases(bases),
        .c2l_avail(c2l_avail), .c2l_pop(c2l_pop), .l2c_room(l2c_room), .l2c_push(l2c_push),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready[0]), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid[0]), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_last(rd_last), .rd_err(rd_err),
        .inp_wr_en(loop_en), .inp_wr_addr(loop_addr), .inp_wr_part(loop_part), .inp_wr_data(loop_data),
        .inp_rd_en(inp_en), .inp_rd_addr(inp_addr), .inp_rd_data(inp_data),
        .inp_rd_more(1'b0), .inp_rd_more_addr({2*LOG_INP_DEPTH{1'b0}}), .inp_rd_more_data(),
        .wgt_rd_en(wgt_en), .wgt_rd_addr(wgt_addr), .wgt_rd_data(wgt_data),
        .err_valid(err_valid), .err_code(err_code), .err_index(err_index), .head_valid(head_valid), .head_index(head_index),
        .stat_issue(stat_issue), .stat_retire(stat_retire), .stat_busy(stat_busy), .stat_token(), .stat_room(), .stat_mem(),
        .stat_rd_en(), .stat_rd_mem(), .stat_rd_bytes()
    );

    // Contents, entry by entry; an entry that was never loaded means nothing.
    reg [8*INP_BYTES-1:0] inp [0:INP_DEPTH-1];
    reg [8*WGT_BYTES-1:0] wgt [0:WGT_DEPTH-1];
    reg [INP_DEPTH-1:0]   inp_known;
    reg [WGT_DEPTH-1:0]   wgt_known;

    // Tokens and retirement as the unit shows them.
    integer popped, pushed, retired, issued;
    always @(posedge clk) begin
        if (rst) begin
            popped = 0; pushed = 0; retired = 0; issued = 0;
        end else begin
            if (c2l_pop && !c2l_avail) $fatal(1, "a token is taken that is not there");
            if (l2c_push && !l2c_room) $fatal(1, "a token is given where there is no room");
            popped  = popped + c2l_pop;
            pushed  = pushed + l2c_push;
            retired = retired + stat_retire;
            issued  = issued + stat_issue;
            if (retired > issued) $fatal(1, "more LOADs retire than began");
            if (stat_busy !== (retired - stat_retire != issued - stat_issue)) $fatal(1, "stat_busy is %b", stat_busy);
        end
        l2c_room <= chance(70);
    end

    reg [15:0] own_parts [0:OWN-1];
    integer row, lane, busy;
    initial for (row = 0; row < OWN; row = row + 1) own_parts[row] = 16'd0;
    always @(negedge clk) begin
        if (rst) busy = 0;
        else if (chance(2)) busy = range(0, 100);
        loop_en   = !rst && run_loops && PARTS > 0 && chance(busy);
        loop_addr = INP_DEPTH - 1 - range(0, OWN - 1);
        loop_part = range(0, PARTS > 4 ? 3 : PARTS - 1);
        for (row = 0; row < (OUT_LANES << LOG_BATCH); row = row + 1) loop_data[8*row +: 8] = range(0, 255);
        if (loop_en) own_parts[INP_DEPTH - 1 - loop_addr][loop_part] = 1'b1;
        if (loop_en && own_parts[INP_DEPTH - 1 - loop_addr] == (1 << PARTS) - 1) inp_known[loop_addr] = 1'b1;
        if (loop_en) for (row = 0; row < 1 << LOG_BATCH; row = row + 1) for (lane = 0; lane < OUT_LANES; lane = lane + 1)
            inp[loop_addr][8*(row*IN_LANES + loop_part*OUT_LANES + lane) +: 8] = loop_data[8*(row*OUT_LANES + lane) +: 8];
    end
    reg run_loops = 1'b0;

    task give(input pop, input push);
        integer waited;
        begin
            insn[VTA_F_HEADER_POP_NEXT_LSB]  = pop;
            insn[VTA_F_HEADER_PUSH_NEXT_LSB] = push;
            while (chance(stall)) @(negedge clk);
            insn_valid = 1'b1;
            waited = 0;
            #1;
            while (!insn_ready) begin
                @(negedge clk);
                #1 waited = waited + 1;
                if (waited > 100000) $fatal(1, "LOAD %0d is not taken, error %0d", index, err_valid ? err_code : 8'd0);
            end
            @(negedge clk) insn_valid = 1'b0;
            index = index + 1;
        end
    endtask

    // The memory lies somewhere else, with what is in it.
    integer b;
    task move_memory;
        begin
            mem.origin = draw_origin(ADDR_BITS, SIZE);
            for (b = 0; b < 8; b = b + 1) bases[b*ADDR_BITS +: ADDR_BITS] = mem.origin + 64*range(0, 100);
        end
    endtask

    // One random LOAD, and what it does: the reference.
    integer x, y, stride, x0, x1, y0, y1, n, sram, segment, dram, base, bytes, r, c, k;
    reg     to_wgt, four;       // four: weights of four bits
    reg [7:0] pad;
    task random_load;
        begin
            to_wgt = chance(40);
            four   = WGT4 != 0 && to_wgt && chance(60);
            bytes  = four ? WGT_BYTES/2 : to_wgt ? WGT_BYTES : INP_BYTES;
            x = range(1, 5); y = range(1, 3);
            stride = chance(40) ? x : range(0, 8);
            {x0, x1, y0, y1} = 0;
            if (chance(50)) begin x0 = range(0, 2); x1 = range(0, 2); y0 = range(0, 1); y1 = range(0, 1); end
            if (chance(5)) x = 0;
            if (chance(5)) y = 0;
            // The largest scratchpad whole, as one row and as rows of one.
            if (WGT_DEPTH == 8192 && chance(15)) begin
                to_wgt = 1'b1; four = 1'b0; bytes = WGT_BYTES; {x0, x1, y0, y1} = 0;
                x = chance(50) ? WGT_DEPTH : 1;
                y = x == 1 ? WGT_DEPTH : 1;
                stride = x == 1 ? 0 : x;
            end
            n       = x == 0 ? 0 : (x0 + x + x1) * (y0 + y + y1);
            sram    = x == 0 ? range(0, 100) : range(0, (to_wgt ? WGT_DEPTH : INP_DEPTH - OWN) - n);
            pad     = chance(50) ? 0 : range(0, 255);
            segment = range(0, 7);
            base    = bases[segment*ADDR_BITS +: ADDR_BITS] - mem.origin;
            dram    = range(0, (SIZE - base)/bytes - (x > 30 ? x : 30));
            make_insn(VTA_OP_LOAD, four ? VTA_MEM_WGT4 : to_wgt ? VTA_MEM_WGT : VTA_MEM_INP, sram, segment, dram, y, x, stride);
            pad_insn(y0, y1, x0, x1, pad);
        end
    endtask

    task reference;
        if (x != 0) for (r = 0; r < y0 + y + y1; r = r + 1) for (c = 0; c < x0 + x + x1; c = c + 1) begin
            for (k = 0; k < bytes; k = k + 1) begin
                if (four)        wgt[sram][16*k +: 16] = in_pad(r - y0, c - x0) ? {pad, pad} : both(byte_at(r - y0, c - x0, k));
                else if (to_wgt) wgt[sram][8*k +: 8] = byte_at(r - y0, c - x0, k);
                else        inp[sram][8*k +: 8] = byte_at(r - y0, c - x0, k);
            end
            if (to_wgt) wgt_known[sram] = 1'b1;
            else        inp_known[sram] = 1'b1;
            sram = sram + 1;
        end
    endtask

    function in_pad(input integer row, input integer column);
        in_pad = row < 0 || row >= y || column < 0 || column >= x;
    endfunction

    // The two weights of a byte, the lower one first.
    function [15:0] both(input [7:0] two);
        both = {{4{two[7]}}, two[7:4], {4{two[3]}}, two[3:0]};
    endfunction

    function [7:0] byte_at(input integer row, input integer column, input integer which);
        byte_at = in_pad(row, column) ? pad
                : mem.data[base + (dram + row*stride + column)*bytes + which];
    endfunction

    integer e;
    task compare;
        begin
            run_loops = 1'b0;
            repeat (3) @(negedge clk);
            for (e = 0; e < INP_DEPTH || e < WGT_DEPTH; e = e + 1) begin
                inp_en = e < INP_DEPTH; inp_addr = e;
                wgt_en = e < WGT_DEPTH; wgt_addr = e;
                @(negedge clk);
                if (e < INP_DEPTH && inp_known[e] && inp_data !== inp[e]) $fatal(1, "INP %0d is %h instead of %h", e, inp_data, inp[e]);
                if (e < WGT_DEPTH && wgt_known[e] && wgt_data !== wgt[e]) $fatal(1, "WGT %0d is %h instead of %h", e, wgt_data, wgt[e]);
            end
            {inp_en, wgt_en} = 2'd0;
            run_loops = 1'b1;
        end
    endtask

    // A LOAD that must fail.
    reg [7:0] code;
    task spoil;
        begin
            random_load;
            case (range(0, 4))
            0: begin code = VTA_ERROR_FIELD; insn[VTA_F_HEADER_POP_PREV_LSB] = 1'b1; end
            1: begin code = VTA_ERROR_FIELD; insn[VTA_F_HEADER_PUSH_PREV_LSB] = 1'b1; end
            2: begin code = VTA_ERROR_FIELD; insn[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH] = WGT4 != 0 ? VTA_MEM_OUT : VTA_MEM_WGT4; end
            3: begin
                code = VTA_ERROR_SRAM_RANGE;
                make_insn(VTA_OP_LOAD, VTA_MEM_INP, range(INP_DEPTH - 3, INP_DEPTH - 1), 0, 0, 2, 2, range(0, 9));
            end
            default: begin
                code = VTA_ERROR_READ_BUS;
                if (chance(50)) make_insn(VTA_OP_LOAD, VTA_MEM_INP, 0, 0, 32'hffff0000, 1, range(1, 9), 0);
                else make_insn(VTA_OP_LOAD, VTA_MEM_INP, 0, 7, SIZE/INP_BYTES + range(0, 99), range(1, 2), range(1, 9), range(0, 9));
            end
            endcase
        end
    endtask

    task expect_error(input integer which);
        integer waited;
        begin
            waited = 0;
            while (!err_valid) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > 100000) $fatal(1, "LOAD %0d: no error %0d", which, code);
            end
            if (err_code !== code || err_index !== which) $fatal(1, "LOAD %0d: error %0d instead of %0d, in %0d", which, err_code, code, err_index);
            if (!head_valid || head_index > which) $fatal(1, "LOAD %0d: the oldest one is %0d", which, head_index);
        end
    endtask

    integer run, group, i, before, failures, waited;
    initial begin
        begin_bench(60);
        stall = 0; bad_begin = 0; bad_end = 0; insn_valid = 0; c2l_avail = 0; {inp_en, wgt_en} = 2'd0;
        inp_addr = 0; wgt_addr = 0; index = 0; failures = 0; code = 0; insn = 128'd0; inp_known = 0; wgt_known = 0;
        move_memory;
        repeat (4) @(negedge clk);
        bus_rst = 1'b0; halt = 1'b0;
        reset;
        for (i = 0; i < SIZE; i = i + 1) mem.data[i] = range(0, 255);
        for (run = 0; run < runs; run = run + 1) begin
            stall  = run % 3 == 0 ? 0 : range(0, 80);
            if (chance(30)) move_memory;
            group  = range(1, 40);
            before = pushed;
            for (i = 0; i < group; i = i + 1) begin
                random_load;
                reference;
                if (i == 0) begin
                    // The first one must wait for its token, and all behind it.
                    give(1'b1, i == group - 1);
                    repeat (20) @(negedge clk);
                    if (popped != run - failures || issued != retired) $fatal(1, "a LOAD does not wait for its token");
                    c2l_avail = 1'b1;
                    while (popped == run - failures) @(posedge clk);
                    #1 c2l_avail = 1'b0;
                    @(negedge clk);
                end else give(1'b0, i == group - 1);
            end
            waited = 0;
            while (pushed == before) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > 100000) $fatal(1, "group %0d gives no token", run);
            end
            compare;
            if (retired != issued || retired != index) $fatal(1, "%0d of %0d LOADs have retired", retired, index);

            if (chance(25)) begin
                for (i = range(0, 6); i > 0; i = i - 1) begin random_load; reference; give(1'b0, 1'b0); end
                before = index;
                if (failures == 0) begin
                    // One beat, refused: its error comes with its end.
                    code = VTA_ERROR_READ_BUS;
                    make_insn(VTA_OP_LOAD, VTA_MEM_INP, 0, 7, SIZE/INP_BYTES + range(0, 99), 1, 1, 1);
                end else if (chance(30)) begin
                    // Of two that are wrong the older counts.
                    code = VTA_ERROR_NONE;
                    while (code != VTA_ERROR_READ_BUS) spoil;
                    give(1'b0, 1'b0);
                    make_insn(VTA_OP_LOAD, VTA_MEM_INP, INP_DEPTH - 1, 0, 0, 2, 2, 2);
                end else spoil;
                // An illegal LOAD does not wait for a token, nor takes one.
                give(code != VTA_ERROR_READ_BUS && chance(50), 1'b1);
                random_load;            // it never gets through
                insn[VTA_F_HEADER_PUSH_NEXT_LSB] = 1'b1;
                insn_valid = 1'b1;
                expect_error(before);
                insn_valid = 1'b0;
                repeat (3) @(negedge clk);      // time for the tokens that are due
                if (retired != before || pushed != run + 1 - failures || popped != run + 1 - failures)
                    $fatal(1, "%0d of %0d LOADs have retired, %0d tokens taken, %0d given", retired, before, popped, pushed);
                inp_known = 0;          // what younger LOADs have done meanwhile is their affair
                wgt_known = 0;
                halt = 1'b1;
                reset;
                while (!rd_idle) @(negedge clk);
                halt = 1'b0;
                index = 0;
                failures = run + 1;
            end
        end
        if (failures == 0 && runs > 15) $fatal(1, "nothing went wrong");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
