// SPDX-License-Identifier: Apache-2.0
//
// vta_store_tb -- the store unit with its scratchpad before bus master and stalling memory, and vta_mem_front in it.
//
// Groups of random STOREs: the first of a group waits for a token; the last one gives one, in the moment in which all that
// the group stores must be in memory: then every byte of it must be as the reference says, those between the rows
// included. Then OUT gets new contents. Now and then an instruction is illegal, out of range, or refused by the memory: it is
// reported with its index after all before it have ended, and gives no token. +seed=N, +runs=N groups.
// parts: vta_mem_front vta_mem_decode vta_burst
`default_nettype none

module vta_store_tb;
`include "random.vh"
    parameter integer LOG_BATCH     = 0;
    parameter integer LOG_BLOCK_IN  = 2;
    parameter integer LOG_BLOCK_OUT = 2;
    parameter integer LOG_UOP_DEPTH = 6;
    parameter integer LOG_INP_DEPTH = 6;
    parameter integer LOG_WGT_DEPTH = 6;
    parameter integer LOG_ACC_DEPTH = 6;
    parameter integer LOG_BUS_BYTES = 3;
    localparam integer ADDR_BITS    = 40;
`include "vta_isa.vh"
`include "mem_insn.vh"
    localparam integer SIZE      = 1 << 14;
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;
    localparam integer OUT_BYTES = 1 << VTA_LOG_BYTES_OUT;
    localparam integer OUT_DEPTH = 1 << LOG_ACC_DEPTH;

    reg                       halt = 1'b1, bus_rst = 1'b1;
    reg  [31:0]               stall, bad_begin, bad_end;
    reg                       insn_valid, c2s_avail, s2c_room;
    wire                      insn_ready, c2s_pop, s2c_push, awake;
    reg  [31:0]               index;
    reg  [8*ADDR_BITS-1:0]    bases;
    reg                       out_en;
    reg  [LOG_ACC_DEPTH-1:0]  out_addr;
    reg  [8*OUT_BYTES-1:0]    out_data;
    wire                      err_valid, head_valid, stat_issue, stat_retire, stat_busy, stat_element;
    wire [7:0]                err_code;
    wire [31:0]               err_index, head_index;
    wire                      cmd_valid, cmd_ready, data_valid, data_ready, ack, ack_err, ack_ready, idle;
    wire [ADDR_BITS-1:0]      cmd_addr, awaddr;
    wire [7:0]                cmd_len, awlen;
    wire [8*BUS_BYTES-1:0]    data, wdata;
    wire [BUS_BYTES-1:0]      strobe, wstrb;
    wire                      awvalid, awready, wvalid, wready, wlast, bvalid, bready;
    wire [1:0]                bresp;

    // The unit's clock stops while it says that it may.
    reg  run_clock = 1'b1;
    always @* if (!clk) run_clock = rst || awake;
    wire clk_unit = clk && run_clock;

    vta_store #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)
    ) dut (
        .clk(clk), .clk_unit(clk_unit), .awake(awake), .rst(rst),
        .insn_valid(insn_valid), .insn_ready(insn_ready), .insn_data(insn), .insn_index(index), .bases(bases),
        .c2s_avail(c2s_avail), .c2s_pop(c2s_pop), .s2c_room(s2c_room), .s2c_push(s2c_push),
        .out_wr_en(out_en), .out_wr_addr(out_addr), .out_wr_data(out_data),
        .wr_cmd_valid(cmd_valid), .wr_cmd_ready(cmd_ready), .wr_cmd_addr(cmd_addr), .wr_cmd_len(cmd_len),
        .wr_data_valid(data_valid), .wr_data_ready(data_ready), .wr_data(data), .wr_strobe(strobe),
        .wr_ack(ack), .wr_ack_err(ack_err), .wr_ack_ready(ack_ready),
        .err_valid(err_valid), .err_code(err_code), .err_index(err_index), .head_valid(head_valid), .head_index(head_index),
        .stat_issue(stat_issue), .stat_retire(stat_retire), .stat_busy(stat_busy), .stat_token(), .stat_room(), .stat_mem(),
        .stat_element(stat_element)
    );

    vta_axi_write #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)) write (
        .clk(clk), .rst(bus_rst), .halt(halt), .idle(idle),
        .windows_on(1'b0), .window_bases({4*(ADDR_BITS-12){1'b0}}), .window_limits({4*(ADDR_BITS-12){1'b0}}),
        .failed_addr(), .failed_refused(), .failing(),
        .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_addr(cmd_addr), .cmd_len(cmd_len),
        .data_valid(data_valid), .data_ready(data_ready), .data(data), .data_strobe(strobe),
        .ack(ack), .ack_err(ack_err), .ack_ready(ack_ready),
        .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen),
        .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_bvalid(bvalid), .m_axi_bready(bready), .m_axi_bresp(bresp)
    );

    vta_axi_mem #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .SIZE(SIZE), .LATENCY(30)) mem (
        .clk(clk), .rst(bus_rst), .stall(stall), .seed(seed), .bad_begin(bad_begin), .bad_end(bad_end), .dead(1'b0),
        .arvalid(1'b0), .arready(), .araddr({ADDR_BITS{1'b0}}), .arlen(8'd0),
        .rvalid(), .rready(1'b0), .rdata(), .rresp(), .rlast(),
        .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .awlen(awlen),
        .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(wlast),
        .bvalid(bvalid), .bready(bready), .bresp(bresp)
    );

    reg [7:0]             copy [0:SIZE-1];      // the memory as it should be
    reg [8*OUT_BYTES-1:0] out [0:OUT_DEPTH-1];

    // Tokens, retirement and elements as the unit shows them.
    integer popped, pushed, retired, issued, elements, promised;
    always @(posedge clk) begin
        if (rst) begin
            popped = 0; pushed = 0; retired = 0; issued = 0; elements = 0;
        end else begin
            if (c2s_pop && !c2s_avail) $fatal(1, "a token is taken that is not there");
            if (s2c_push && !s2c_room) $fatal(1, "a token is given where there is no room");
            if (stat_busy !== (retired != issued)) $fatal(1, "stat_busy is %b", stat_busy);
            popped   = popped + c2s_pop;
            pushed   = pushed + s2c_push;
            retired  = retired + stat_retire;
            issued   = issued + stat_issue;
            elements = elements + stat_element;
        end
        s2c_room <= chance(70);
    end

    task give(input pop, input push);
        integer waited;
        begin
            insn[VTA_F_HEADER_POP_PREV_LSB]  = pop;
            insn[VTA_F_HEADER_PUSH_PREV_LSB] = push;
            while (chance(stall)) @(negedge clk);
            insn_valid = 1'b1;
            waited = 0;
            #1;
            while (!insn_ready) begin
                @(negedge clk);
                #1 waited = waited + 1;
                if (waited > 100000) $fatal(1, "STORE %0d is not taken, error %0d", index, err_valid ? err_code : 8'd0);
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

    // One random STORE, and what it does: the reference.
    integer x, y, stride, sram, segment, dram, base, r, c, k;
    task random_store;
        begin
            x = range(1, 9); y = range(1, 4);
            stride = chance(40) ? x : x + range(0, 6);
            if (chance(5)) x = 0;
            if (chance(5)) y = 0;
            sram    = x == 0 ? range(0, 100) : range(0, OUT_DEPTH - x*y);
            segment = range(0, 7);
            base    = bases[segment*ADDR_BITS +: ADDR_BITS] - mem.origin;
            dram    = range(0, (SIZE - base)/OUT_BYTES - 60);
            make_insn(VTA_OP_STORE, VTA_MEM_OUT, sram, segment, dram, y, x, stride);
        end
    endtask

    task reference;
        begin
            for (r = 0; r < y; r = r + 1) for (c = 0; c < x; c = c + 1) begin
                for (k = 0; k < OUT_BYTES; k = k + 1) copy[base + (dram + r*stride + c)*OUT_BYTES + k] = out[sram][8*k +: 8];
                sram = sram + 1;
            end
            promised = promised + x*y;
        end
    endtask

    task compare;
        for (k = 0; k < SIZE; k = k + 1)
            if (mem.data[k] !== copy[k]) $fatal(1, "byte %0h is %h instead of %h", k, mem.data[k], copy[k]);
    endtask

    integer e;
    task refill;
        begin
            for (e = 0; e < OUT_DEPTH; e = e + 1) begin
                if (chance(60) || run == 0) begin
                    for (k = 0; k < OUT_BYTES; k = k + 2) out[e][8*k +: 16] = range(0, 65535);
                    out_en = 1'b1; out_addr = e; out_data = out[e];
                    @(negedge clk);
                end
            end
            out_en = 1'b0;
        end
    endtask

    // A STORE that must fail.
    reg [7:0] code;
    task spoil;
        begin
            random_store;
            case (range(0, 5))
            0: begin code = VTA_ERROR_FIELD; insn[VTA_F_HEADER_POP_NEXT_LSB] = 1'b1; end
            1: begin code = VTA_ERROR_FIELD; insn[VTA_F_HEADER_PUSH_NEXT_LSB] = 1'b1; end
            2: begin
                code = VTA_ERROR_FIELD;
                make_insn(VTA_OP_STORE, chance(50) ? VTA_MEM_ACC : VTA_MEM_INP, 0, segment, dram, 1, 1, 1);
            end
            3: begin
                code = VTA_ERROR_FIELD;
                make_insn(VTA_OP_STORE, VTA_MEM_OUT, 0, segment, dram, 1, 1, 1);
                pad_insn(0, 0, range(0, 1), 1, 0);
            end
            4: begin
                code = VTA_ERROR_SRAM_RANGE;
                make_insn(VTA_OP_STORE, VTA_MEM_OUT, range(OUT_DEPTH - 3, OUT_DEPTH - 1), segment, dram, 2, 2, range(2, 9));
            end
            default: begin
                code = VTA_ERROR_WRITE_BUS;
                if (chance(50)) make_insn(VTA_OP_STORE, VTA_MEM_OUT, 0, 0, 32'hffff0000, 1, range(1, 9), 0);
                else make_insn(VTA_OP_STORE, VTA_MEM_OUT, 0, 7, SIZE/OUT_BYTES + range(0, 99), range(1, 2), range(1, 9), 9);
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
                if (waited > 100000) $fatal(1, "STORE %0d: no error %0d", which, code);
            end
            if (err_code !== code || err_index !== which) $fatal(1, "STORE %0d: error %0d instead of %0d, in %0d", which, err_code, code, err_index);
            if (!head_valid || head_index > which) $fatal(1, "STORE %0d: the oldest one is %0d", which, head_index);
        end
    endtask

    integer run, group, i, before, first, failures, waited;
    initial begin
        begin_bench(50);
        stall = 0; bad_begin = 0; bad_end = 0; insn_valid = 0; c2s_avail = 0; out_en = 1'b0; out_addr = 0; out_data = 0;
        index = 0; failures = 0; first = 0; insn = 128'd0; promised = 0; run = 0;
        move_memory;
        repeat (4) @(negedge clk);
        bus_rst = 1'b0; halt = 1'b0;
        reset;
        for (i = 0; i < SIZE; i = i + 1) begin mem.data[i] = range(0, 255); copy[i] = mem.data[i]; end
        for (run = 0; run < runs; run = run + 1) begin
            stall  = run % 3 == 0 ? 0 : range(0, 80);
            if (chance(30)) move_memory;
            group  = range(1, 40);
            before = pushed;
            refill;
            for (i = 0; i < group; i = i + 1) begin
                random_store;
                if (i == 0) begin
                    // The first one must wait for its token, and all behind it.
                    give(1'b1, i == group - 1);
                    repeat (20) @(negedge clk);
                    if (popped != run - first || issued != retired) $fatal(1, "a STORE does not wait for its token");
                    compare;
                    c2s_avail = 1'b1;
                    while (popped == run - first) @(posedge clk);
                    #1 c2s_avail = 1'b0;
                    @(negedge clk);
                end else give(1'b0, i == group - 1);
                reference;
            end
            waited = 0;
            while (pushed == before) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > 100000) $fatal(1, "group %0d gives no token", run);
            end
            compare;
            if (retired != issued || retired != index) $fatal(1, "%0d of %0d STOREs have retired", retired, index);
            if (elements != promised) $fatal(1, "%0d of %0d entries were stored", elements, promised);

            if (chance(25)) begin
                for (i = range(0, 4); i > 0; i = i - 1) begin random_store; give(1'b0, 1'b0); reference; end
                before = index;
                if (chance(30)) begin
                    // Of two that are wrong the older counts.
                    code = VTA_ERROR_NONE;
                    while (code != VTA_ERROR_WRITE_BUS) spoil;
                    give(1'b0, 1'b0);
                    make_insn(VTA_OP_STORE, VTA_MEM_OUT, OUT_DEPTH - 1, 0, 0, 2, 2, 2);
                end else spoil;
                // An illegal STORE does not wait for a token, nor takes one.
                give(code != VTA_ERROR_WRITE_BUS && chance(50), 1'b1);
                expect_error(before);
                if (retired != before || pushed != run + 1 - first || popped != run + 1 - first)
                    $fatal(1, "%0d of %0d STOREs have retired, %0d tokens taken, %0d given", retired, before, popped, pushed);
                halt = 1'b1;
                reset;
                while (!idle) @(negedge clk);
                halt = 1'b0;
                compare;
                index = 0; promised = 0;
                first = run + 1;
                failures = failures + 1;
            end
        end
        if (failures == 0) $fatal(1, "nothing went wrong");
        $display("%0d failures", failures);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
