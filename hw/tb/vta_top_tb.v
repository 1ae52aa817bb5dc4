// SPDX-License-Identifier: Apache-2.0
//
// vta_top_tb -- the memory side under random programs, with vta_compute_model in the place of compute.
//
// Random programs of loads, copies and stores run against a reference that executes them one instruction after the
// other; afterwards every byte of DRAM and every scratchpad entry must agree. Then: errors of every kind with their
// instruction index, the watchdog, soft reset in mid-run, each followed by a clean run; and, with +speed, the rates at
// 64 cycles of latency. +clean: no errors and no resets. +seed=N, +runs=N.
// INP's entries: the form that is built has them in RAMs of their own; here, with small tiles, they are in one.
`ifdef SYNTHESIS
 `define INP_MEM dut.load.inp.single.ram.mem_q
`else
 `define INP_MEM dut.load.inp.mem_q
`endif
`default_nettype none

module vta_top_tb;
`include "random.vh"
    parameter integer LOG_BATCH       = 0;
    parameter integer LOG_BLOCK_IN    = 2;
    parameter integer LOG_BLOCK_OUT   = 2;
    parameter integer LOG_UOP_DEPTH   = 8;
    parameter integer LOG_INP_DEPTH   = 8;
    parameter integer LOG_WGT_DEPTH   = 7;
    parameter integer LOG_ACC_DEPTH   = 7;
    parameter integer LOG_BUS_BYTES   = 3;
    parameter integer LOG_QUEUE_DEPTH = 4;
    parameter integer ADDR_BITS       = 40;
    parameter [63:0]  CONFIG_HASH     = 64'h0123456789abcdef;
    parameter integer TABLE           = 1;
    parameter integer LOOP_BACK       = 1;
    parameter integer DEPTHWISE_TAPS  = 9;
    parameter integer ROWS            = 0;
    parameter integer WGT4            = 0;
`define VTA_ISA_CONFIG
`include "vta_isa.vh"
`undef VTA_ISA_CONFIG
    localparam integer SIZE     = 1 << 18;
    localparam integer CODE     = 0;            // the program
    localparam integer SOURCE   = 1 << 15;      // what is loaded
    localparam integer DEST     = 1 << 17;      // what is stored, in four parts
    localparam integer PART     = 1 << 15;
    localparam integer INP_BYTES = 1 << VTA_LOG_BYTES_INP;
    localparam integer WGT_BYTES = 1 << VTA_LOG_BYTES_WGT;
    localparam integer OUT_BYTES = 1 << VTA_LOG_BYTES_OUT;
    localparam integer INP_DEPTH = 1 << LOG_INP_DEPTH;
    localparam integer WGT_DEPTH = 1 << LOG_WGT_DEPTH;
    localparam integer OUT_DEPTH = 1 << LOG_ACC_DEPTH;
    localparam integer COPIES    = INP_DEPTH < OUT_DEPTH ? INP_DEPTH : OUT_DEPTH;
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;

    reg         awvalid, wvalid, bready, arvalid, rready;
    wire        awready, wready, bvalid, arready, rvalid;
    reg  [12:0] awaddr, araddr;
    reg  [31:0] wdata;
    reg  [3:0]  wstrb;
    wire [31:0] rdata;
    wire [1:0]  bresp, rresp;
    wire        irq;
    wire [31:0] dbg;

    wire                   m_arvalid, m_arready, m_rvalid, m_rready, m_rlast;
    wire                   m_awvalid, m_awready, m_wvalid, m_wready, m_wlast, m_bvalid, m_bready;
    wire [ADDR_BITS-1:0]   m_araddr, m_awaddr;
    wire [7:0]             m_arlen, m_awlen;
    wire [2:0]             m_arsize, m_awsize, m_arprot, m_awprot;
    wire [1:0]             m_arburst, m_awburst, m_rresp, m_bresp;
    wire [3:0]             m_arcache, m_awcache, m_arqos, m_awqos;
    wire [8*BUS_BYTES-1:0] m_rdata, m_wdata;
    wire [BUS_BYTES-1:0]   m_wstrb;
    reg                    bus_dead = 1'b0;     // the memory answers nothing
    reg  [31:0]            stall = 0, bad_begin = 0, bad_end = 0, mem_seed = 1;

    vta_top #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH),
        .ADDR_BITS(ADDR_BITS), .CONFIG_HASH(CONFIG_HASH), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS),
        .ROWS(ROWS), .WGT4(WGT4)
    ) dut (
        .clk(clk), .clk2x(1'b0), .rst(rst),
        .s_axil_awvalid(awvalid), .s_axil_awready(awready), .s_axil_awaddr(awaddr),
        .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_bresp(bresp),
        .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_araddr(araddr),
        .s_axil_rvalid(rvalid), .s_axil_rready(rready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
        .irq(irq),
        .m_axi_arvalid(m_arvalid), .m_axi_arready(m_arready), .m_axi_araddr(m_araddr), .m_axi_arlen(m_arlen),
        .m_axi_arsize(m_arsize), .m_axi_arburst(m_arburst), .m_axi_arcache(m_arcache), .m_axi_arprot(m_arprot), .m_axi_arqos(m_arqos),
        .m_axi_rvalid(m_rvalid), .m_axi_rready(m_rready), .m_axi_rdata(m_rdata), .m_axi_rresp(m_rresp),
        .m_axi_rlast(m_rlast),
        .m_axi_awvalid(m_awvalid), .m_axi_awready(m_awready), .m_axi_awaddr(m_awaddr),
        .m_axi_awlen(m_awlen), .m_axi_awsize(m_awsize), .m_axi_awburst(m_awburst), .m_axi_awcache(m_awcache),
        .m_axi_awprot(m_awprot), .m_axi_awqos(m_awqos),
        .m_axi_wvalid(m_wvalid), .m_axi_wready(m_wready), .m_axi_wdata(m_wdata), .m_axi_wstrb(m_wstrb),
        .m_axi_wlast(m_wlast),
        .m_axi_bvalid(m_bvalid), .m_axi_bready(m_bready), .m_axi_bresp(m_bresp),
        .dbg(dbg)
    );

    vta_axi_mem #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .SIZE(SIZE), .LATENCY(64)) mem (
        .clk(clk), .rst(rst), .stall(stall), .seed(mem_seed), .bad_begin(bad_begin), .bad_end(bad_end), .dead(bus_dead),
        .arvalid(m_arvalid), .arready(m_arready), .araddr(m_araddr), .arlen(m_arlen),
        .rvalid(m_rvalid), .rready(m_rready), .rdata(m_rdata), .rresp(m_rresp), .rlast(m_rlast),
        .awvalid(m_awvalid), .awready(m_awready), .awaddr(m_awaddr), .awlen(m_awlen),
        .wvalid(m_wvalid), .wready(m_wready), .wdata(m_wdata), .wstrb(m_wstrb), .wlast(m_wlast),
        .bvalid(m_bvalid), .bready(m_bready), .bresp(m_bresp)
    );

    // The register page.
    task put(input [12:0] addr, input [31:0] value);
        reg aw_taken, w_taken;
        begin
            @(negedge clk);
            awvalid = 1'b1; wvalid = 1'b1; awaddr = addr; wdata = value; wstrb = 4'hf; bready = 1'b1;
            while (awvalid || wvalid) begin
                aw_taken = awvalid && awready;
                w_taken  = wvalid && wready;
                @(negedge clk);
                if (aw_taken) awvalid = 1'b0;
                if (w_taken) wvalid = 1'b0;
            end
            while (!bvalid) @(negedge clk);
            @(negedge clk) bready = 1'b0;
        end
    endtask

    reg [31:0] got;
    task get(input [12:0] addr);
        begin
            @(negedge clk);
            arvalid = 1'b1; araddr = addr; rready = 1'b1;
            while (!arready) @(negedge clk);
            @(negedge clk) arvalid = 1'b0;
            while (!rvalid) @(negedge clk);
            got = rdata;
            @(negedge clk) rready = 1'b0;
        end
    endtask

    task expect_reg(input [12:0] addr, input [31:0] value);
        begin
            get(addr);
            if (got !== value) $fatal(1, "register %0h is %0h instead of %0h", addr, got, value);
        end
    endtask

    // The reference.
    reg [7:0] ref_dram [0:SIZE-1];
    reg [7:0] ref_inp [0:INP_DEPTH*INP_BYTES-1];
    reg [7:0] ref_wgt [0:WGT_DEPTH*WGT_BYTES-1];
    reg [7:0] ref_out [0:OUT_DEPTH*OUT_BYTES-1];
    integer   count;
    reg [31:0] base [0:7];

    task put_insn(input [127:0] insn);
        integer b;
        begin
            for (b = 0; b < 16; b = b + 1) begin
                mem.data[CODE + count*16 + b] = insn[b*8 +: 8];
                ref_dram[CODE + count*16 + b] = insn[b*8 +: 8];
            end
            count = count + 1;
        end
    endtask

    // Flags: {push_next, push_prev, pop_next, pop_prev}.
    reg [127:0] word;
    task mem_insn(input [2:0] opcode, input [3:0] flags, input [2:0] memory, input integer sram, input integer segment,
                  input integer dram, input integer y, input integer x, input integer stride,
                  input integer y0, input integer y1, input integer x0, input integer x1, input [7:0] pad);
        begin
            word = 128'd0;
            word[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH]     = opcode;
            word[VTA_F_HEADER_POP_PREV_LSB +: 4]                           = flags;
            word[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH]           = memory;
            word[VTA_F_MEM_SRAM_BASE_LSB +: VTA_F_MEM_SRAM_BASE_WIDTH]     = sram;
            word[VTA_F_MEM_SEGMENT_LSB +: VTA_F_MEM_SEGMENT_WIDTH]         = segment;
            word[VTA_F_MEM_DRAM_BASE_LSB +: VTA_F_MEM_DRAM_BASE_WIDTH]     = dram;
            word[VTA_F_MEM_Y_SIZE_LSB +: VTA_F_MEM_Y_SIZE_WIDTH]           = y;
            word[VTA_F_MEM_X_SIZE_LSB +: VTA_F_MEM_X_SIZE_WIDTH]           = x;
            word[VTA_F_MEM_X_STRIDE_LSB +: VTA_F_MEM_X_STRIDE_WIDTH]       = stride;
            word[VTA_F_MEM_Y_PAD_0_LSB +: VTA_F_MEM_Y_PAD_0_WIDTH]         = y0;
            word[VTA_F_MEM_Y_PAD_1_LSB +: VTA_F_MEM_Y_PAD_1_WIDTH]         = y1;
            word[VTA_F_MEM_X_PAD_0_LSB +: VTA_F_MEM_X_PAD_0_WIDTH]         = x0;
            word[VTA_F_MEM_X_PAD_1_LSB +: VTA_F_MEM_X_PAD_1_WIDTH]         = x1;
            word[VTA_F_MEM_PAD_LOW_LSB +: VTA_F_MEM_PAD_LOW_WIDTH]         = pad[5:0];
            word[VTA_F_MEM_PAD_HIGH_LSB +: VTA_F_MEM_PAD_HIGH_WIDTH]       = pad[7:6];
            put_insn(word);
        end
    endtask

    task set_entry(input [2:0] memory, input integer entry, input is_pad, input [7:0] pad, input integer from);
        integer b;
        reg [3:0] four;
        begin
            if (memory == VTA_MEM_WGT4)
                for (b = 0; b < WGT_BYTES; b = b + 1) begin
                    four = ref_dram[from + b/2] >> b%2*4;
                    ref_wgt[entry*WGT_BYTES + b] = is_pad ? pad : {{4{four[3]}}, four};
                end
            else if (memory == VTA_MEM_INP)
                for (b = 0; b < INP_BYTES; b = b + 1) ref_inp[entry*INP_BYTES + b] = is_pad ? pad : ref_dram[from + b];
            else
                for (b = 0; b < WGT_BYTES; b = b + 1) ref_wgt[entry*WGT_BYTES + b] = is_pad ? pad : ref_dram[from + b];
        end
    endtask

    // Bytes of an element in memory.
    function integer element(input [2:0] memory);
        element = memory == VTA_MEM_INP ? INP_BYTES : memory == VTA_MEM_WGT4 ? WGT_BYTES/2 : WGT_BYTES;
    endfunction

    task load(input [3:0] flags, input [2:0] memory, input integer sram, input integer segment, input integer dram,
              input integer y, input integer x, input integer stride, input integer y0, input integer y1,
              input integer x0, input integer x1, input [7:0] pad);
        integer r, c, bytes, entry;
        begin
            mem_insn(VTA_OP_LOAD, flags, memory, sram, segment, dram, y, x, stride, y0, y1, x0, x1, pad);
            bytes = element(memory);
            entry = sram;
            for (r = 0; r < y0 + y + y1; r = r + 1) begin
                for (c = 0; c < x0 + x + x1 && x > 0; c = c + 1) begin
                    set_entry(memory, entry, r < y0 || r >= y0 + y || c < x0 || c >= x0 + x, pad,
                              base[segment] + (dram + (r - y0)*stride + c - x0)*bytes);
                    entry = entry + 1;
                end
            end
        end
    endtask

    task store(input [3:0] flags, input integer sram, input integer segment, input integer dram,
               input integer y, input integer x, input integer stride);
        integer r, c, b;
        begin
            mem_insn(VTA_OP_STORE, flags, VTA_MEM_OUT, sram, segment, dram, y, x, stride, 0, 0, 0, 0, 8'd0);
            for (r = 0; r < y; r = r + 1)
                for (c = 0; c < x; c = c + 1)
                    for (b = 0; b < OUT_BYTES; b = b + 1)
                        ref_dram[base[segment] + (dram + r*stride + c)*OUT_BYTES + b] = ref_out[(sram + r*x + c)*OUT_BYTES + b];
        end
    endtask

    task copy(input [3:0] flags, input integer first, input integer last);
        integer k, b;
        begin
            word = 128'd0;
            word[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH]   = VTA_OP_GEMM;
            word[VTA_F_HEADER_POP_PREV_LSB +: 4]                         = flags;
            word[VTA_F_GEMM_UOP_BEGIN_LSB +: VTA_F_GEMM_UOP_BEGIN_WIDTH] = first;
            word[VTA_F_GEMM_UOP_END_LSB +: VTA_F_GEMM_UOP_END_WIDTH]     = last;
            put_insn(word);
            for (k = first; k < last; k = k + 1)
                for (b = 0; b < OUT_BYTES; b = b + 1)
                    ref_out[k*OUT_BYTES + b] = b < INP_BYTES ? ref_inp[k*INP_BYTES + b] : 8'd0;
        end
    endtask

    task finish(input [3:0] flags);
        begin
            word = 128'd0;
            word[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH] = VTA_OP_FINISH;
            word[VTA_F_HEADER_POP_PREV_LSB +: 4] = flags;
            word[VTA_F_FINISH_IGNORED_HIGH_LSB +: 32] = state;
            put_insn(word);
        end
    endtask

    localparam [3:0] POP_PREV = 4'd1, POP_NEXT = 4'd2, PUSH_PREV = 4'd4, PUSH_NEXT = 4'd8;

    // Room for a random transfer of `bytes`-wide elements from or to [from, to): the first element number.
    function integer place(input integer segment, input integer bytes, input integer span, input integer from, input integer to);
        integer first, last;
        begin
            first = (from - base[segment] + bytes - 1) / bytes;
            last  = (to - base[segment]) / bytes - span;
            place = range(first, last);
        end
    endfunction

    task random_load(input [3:0] flags, input integer round);
        integer memory, bytes, depth, x, y, y0, y1, x0, x1, stride, sram, segment, dram, from, to, huge;
        begin
            memory  = range(0, 2) != 0 ? VTA_MEM_INP : WGT4 != 0 && chance(60) ? VTA_MEM_WGT4 : VTA_MEM_WGT;
            bytes   = element(memory);
            depth   = memory == VTA_MEM_INP ? INP_DEPTH : WGT_DEPTH;
            huge   = bytes >= 256;
            x       = range(0, 15) == 0 ? 0 : range(1, huge ? 3 : 9);
            y       = range(0, 9) == 0 ? 0 : range(1, huge ? 3 : 6);
            stride  = range(0, 2) == 0 ? x : range(0, huge ? 6 : 20);
            {y0, y1, x0, x1} = 128'd0;
            if (range(0, 1) == 0) begin
                y0 = range(0, 1); y1 = range(0, 1); x0 = range(0, 2); x1 = range(0, 2);
                if (range(0, 5) == 0) x0 = range(0, 8);
            end
            if (x == 0) begin
                sram = range(0, 8191); y = range(0, 16383); stride = range(0, 65535);
            end else begin
                if ((y0 + y + y1)*(x0 + x + x1) > depth) begin y = 1; y0 = 0; y1 = 0; end
                sram = range(0, depth - (y0 + y + y1)*(x0 + x + x1));
            end
            segment = range(0, 7);
            from = SOURCE; to = DEST;
            if (round >= 2 && range(0, 3) == 0 && memory == VTA_MEM_INP) begin
                from = DEST + (round - 2) % 4 * PART; to = from + PART;
            end
            dram = place(segment, bytes, x == 0 ? 1 : (y == 0 ? 0 : y - 1)*stride + x, from, to);
            load(flags, memory, sram, segment, dram, x == 0 ? 0 : y, x, stride, y0, y1, x0, x1, range(0, 255));
        end
    endtask

    task random_store(input [3:0] flags, input integer round);
        integer x, y, stride, sram, segment, from;
        begin
            x       = range(0, 15) == 0 ? 0 : range(1, 12);
            y       = range(0, 9) == 0 ? 0 : range(1, 6);
            stride  = range(0, 2) == 0 ? x : range(0, 20);
            if (x*y > OUT_DEPTH) y = 1;
            sram    = range(0, OUT_DEPTH - x*y);
            segment = range(0, 7);
            from    = DEST + round % 4 * PART;
            store(flags, sram, segment, place(segment, OUT_BYTES, (y == 0 ? 0 : y - 1)*stride + x, from, from + PART), y, x, stride);
        end
    endtask

    task random_program(input integer rounds);
        integer r, i, n, first;
        reg [3:0] flags;
        begin
            count = 0;
            load(4'd0, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES + 3, 1, INP_DEPTH, 0, 0, 0, 0, 0, 8'd0);
            for (r = 0; r < rounds; r = r + 1) begin
                n = range(1, 4);
                for (i = 0; i < n; i = i + 1) begin
                    flags = (i == 0 && r > 0 ? POP_NEXT : 4'd0) | (i == n - 1 ? PUSH_NEXT : 4'd0);
                    random_load(flags, r);
                end
                first = r == 0 ? 0 : range(0, COPIES - 1);     // COPIES does not fit into the field
                flags = POP_PREV | PUSH_NEXT | (r > 0 ? POP_NEXT : 4'd0) | (r < rounds - 1 ? PUSH_PREV : 4'd0);
                copy(flags, first, r == 0 ? COPIES : range(first, COPIES));
                n = range(1, 3);
                for (i = 0; i < n; i = i + 1) begin
                    flags = (i == 0 ? POP_PREV : 4'd0) | (i == n - 1 ? PUSH_PREV : 4'd0);
                    random_store(flags, r);
                end
            end
            finish(POP_NEXT);
        end
    endtask

    // Memory and scratchpads to a known, random state; bases.
    task prepare;
        integer i;
        begin
            for (i = 0; i < SIZE; i = i + 1) begin
                ref_dram[i] = range(0, 255);
                mem.data[i] = ref_dram[i];
            end
            for (i = 0; i < 8; i = i + 1) base[i] = 64*range(0, 500);
        end
    endtask

    task start_run;
        integer i;
        begin
            for (i = 0; i < 8; i = i + 1) begin
                put(VTA_REG_BASE0_LO + 8*i, base[i]);
                put(VTA_REG_BASE0_HI + 8*i, 0);
            end
            put(VTA_REG_INSN_ADDR_LO, CODE);
            put(VTA_REG_INSN_ADDR_HI, 0);
            put(VTA_REG_INSN_COUNT, count);
            put(VTA_REG_IRQ_ENABLE, 1);
            put(VTA_REG_IRQ_STATUS, 1);
            put(VTA_REG_CONTROL, 1);
        end
    endtask

    integer waited;
    task wait_end(input integer limit);
        begin
            waited = 0;
            while (!irq) begin
                @(posedge clk);
                waited = waited + 1;
                if (waited > limit) $fatal(1, "the run does not end, state %0d", state);
            end
            put(VTA_REG_IRQ_STATUS, 1);
            if (irq) $fatal(1, "the interrupt stays");
        end
    endtask

    // After a soft reset.
    task wait_idle;
        begin
            got = 1;
            waited = 0;
            while (got[0]) begin
                get(VTA_REG_STATUS);
                waited = waited + 1;
                if (waited > 20000) $fatal(1, "busy after a soft reset");
            end
        end
    endtask

    // The address that an error must have: that of the burst that holds the byte failed_at; 0 where there is none.
    reg        by_window = 1'b0;
    reg [63:0] failed_at = 0;
    task expect_end(input [7:0] code, input [1:0] unit, input [31:0] index);
        begin
            wait_end(2000000);
            expect_reg(VTA_REG_STATUS, code == 0 ? 32'd2 : 32'd4);
            if (code != 0) begin
                expect_reg(VTA_REG_ERROR, {15'd0, by_window, 6'd0, unit, code});
                expect_reg(VTA_REG_ERROR_INSN, index);
            end else begin
                expect_reg(VTA_REG_ERROR, 0);
            end
            expect_reg(VTA_REG_ERROR_ADDR_HI, failed_at[63:32]);
            get(VTA_REG_ERROR_ADDR_LO);
            if (got[31:12] !== failed_at[31:12] || (!by_window && got > failed_at[31:0]))
                $fatal(1, "the error is at %0h, not at %0h", got, failed_at);
        end
    endtask

    task compare;
        integer i, b;
        begin
            for (i = 0; i < SIZE; i = i + 1)
                if (mem.data[i] !== ref_dram[i])
                    $fatal(1, "DRAM %0h is %0h instead of %0h", i, mem.data[i], ref_dram[i]);
            for (i = 0; i < INP_DEPTH; i = i + 1)
                for (b = 0; b < INP_BYTES; b = b + 1)
                    if (`INP_MEM[i][b*8 +: 8] !== ref_inp[i*INP_BYTES + b])
                        $fatal(1, "INP %0d byte %0d is %0h instead of %0h", i, b, `INP_MEM[i][b*8 +: 8],
                               ref_inp[i*INP_BYTES + b]);
            for (i = 0; i < WGT_DEPTH; i = i + 1)
                for (b = 0; b < WGT_BYTES; b = b + 1)
                    if (dut.load.wgt.mem_q[i][b*8 +: 8] !== ref_wgt[i*WGT_BYTES + b])
                        $fatal(1, "WGT %0d byte %0d is %0h instead of %0h", i, b, dut.load.wgt.mem_q[i][b*8 +: 8],
                               ref_wgt[i*WGT_BYTES + b]);
        end
    endtask

    // A clean run, whatever was before.
    task good_run(input integer rounds);
        begin
            random_program(rounds);
            start_run;
            expect_end(VTA_ERROR_NONE, 2'd0, 0);
            compare;
            expect_reg(VTA_REG_FETCH_INSNS, count);
            expect_reg(VTA_REG_FETCH_BYTES, count*16);
        end
    endtask

    // Instruction `at` of a good program replaced.
    task spoil(input integer at, input [127:0] insn);
        integer keep;
        begin
            keep = count; count = at; put_insn(insn); count = keep;
        end
    endtask

    task resync;   // after a failed run only the program's own effects are unspecified: begin anew
        integer i, b;
        begin
            for (i = 0; i < SIZE; i = i + 1) ref_dram[i] = mem.data[i];
            for (i = 0; i < INP_DEPTH; i = i + 1)
                for (b = 0; b < INP_BYTES; b = b + 1) ref_inp[i*INP_BYTES + b] = `INP_MEM[i][b*8 +: 8];
            for (i = 0; i < WGT_DEPTH; i = i + 1)
                for (b = 0; b < WGT_BYTES; b = b + 1) ref_wgt[i*WGT_BYTES + b] = dut.load.wgt.mem_q[i][b*8 +: 8];
            good_run(3);
        end
    endtask

    task failing_run(input [7:0] code, input [1:0] unit, input [31:0] index);
        begin
            start_run;
            expect_end(code, unit, index);
            bad_begin = 0; bad_end = 0; failed_at = 0; by_window = 1'b0;
            put(VTA_REG_WINDOWS, 0);
            resync;
        end
    endtask

    // Two windows that have all memory but one page, and two that are none.
    task all_but(input [31:0] page);
        begin
            put(VTA_REG_WINDOW0_BASE_LO, 0);
            put(VTA_REG_WINDOW0_LIMIT_LO, page);
            put(VTA_REG_WINDOW0_BASE_LO + 16, page + 4096);
            put(VTA_REG_WINDOW0_LIMIT_LO + 16, SIZE);
            put(VTA_REG_WINDOW0_BASE_LO + 32, page);
            put(VTA_REG_WINDOW0_LIMIT_LO + 32, page);
            put(VTA_REG_WINDOW0_BASE_LO + 48, page + 4096);
            put(VTA_REG_WINDOW0_LIMIT_LO + 48, page);
            put(VTA_REG_WINDOWS, 1);
            failed_at = page;
            by_window = 1'b1;
        end
    endtask

    task errors;
        integer at;
        begin
            // Each at a random place among 20 loads without tokens, so that the index is certain.
            count = 0;
            for (at = 0; at < 20; at = at + 1) random_load(4'd0, 0);
            finish(4'd0);
            at = range(0, 19);
            spoil(at, 128'd7);
            failing_run(VTA_ERROR_OPCODE, 2'd0, at);

            count = 0;
            for (at = 0; at < 20; at = at + 1) random_load(4'd0, 0);
            finish(4'd0);
            at = range(0, 19);
            count = at;
            mem_insn(VTA_OP_LOAD, POP_PREV, VTA_MEM_INP, 0, 0, 16384, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            count = 21;
            failing_run(VTA_ERROR_FIELD, 2'd0, at);

            count = 0;
            for (at = 0; at < 20; at = at + 1) random_load(4'd0, 0);
            finish(4'd0);
            at = range(0, 19);
            count = at;
            mem_insn(VTA_OP_LOAD, 4'd0, VTA_MEM_INP, INP_DEPTH - 5, 0, 16384, 2, 3, 3, 0, 0, 0, 0, 8'd0);
            count = 21;
            failing_run(VTA_ERROR_SRAM_RANGE, 2'd1, at);

            count = 0;
            mem_insn(VTA_OP_STORE, 4'd0, VTA_MEM_OUT, OUT_DEPTH - 1, 0, 16384, 1, 2, 3, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            failing_run(VTA_ERROR_SRAM_RANGE, 2'd3, 0);

            count = 0;
            mem_insn(VTA_OP_LOAD, 4'd0, VTA_MEM_WGT, 0, 0, 16384, 1, 0, 0, 0, 0, 0, 0, 8'd0);
            mem_insn(VTA_OP_STORE, 4'd0, VTA_MEM_OUT, 0, 0, 16384, 1, 1, 1, 0, 0, 1, 0, 8'd0);
            finish(4'd0);
            failing_run(VTA_ERROR_FIELD, 2'd0, 1);

            // Refused reads and writes.
            count = 0;
            for (at = 0; at < 8; at = at + 1) load(4'd0, VTA_MEM_INP, at, 0, (SOURCE + at*4096 - base[0])/INP_BYTES, 2, 3, 9, 0, 1, 1, 1, 8'd3);
            finish(4'd0);
            at = range(0, 7);
            bad_begin = SOURCE + at*4096 + 9*INP_BYTES; bad_end = bad_begin + 1; failed_at = bad_begin;
            failing_run(VTA_ERROR_READ_BUS, 2'd1, at);

            count = 0;
            for (at = 0; at < 8; at = at + 1) store(4'd0, 0, 0, (DEST + at*4096 - base[0])/OUT_BYTES, 2, 3, 9);
            finish(4'd0);
            at = range(0, 7);
            bad_begin = DEST + at*4096 + 9*OUT_BYTES; bad_end = bad_begin + 1; failed_at = bad_begin;
            failing_run(VTA_ERROR_WRITE_BUS, 2'd3, at);

            // Outside of the windows: they leave out one page, of what is loaded, stored, or of the program. And all inside.
            count = 0;
            for (at = 0; at < 8; at = at + 1) load(4'd0, VTA_MEM_INP, at, 0, (SOURCE + at*4096 - base[0])/INP_BYTES, 2, 3, 9, 0, 1, 1, 1, 8'd3);
            finish(4'd0);
            at = range(0, 7);
            all_but(SOURCE + at*4096);
            failing_run(VTA_ERROR_READ_BUS, 2'd1, at);
            count = 0;
            for (at = 0; at < 8; at = at + 1) store(4'd0, 0, 0, (DEST + at*4096 - base[0])/OUT_BYTES, 2, 3, 9);
            finish(4'd0);
            at = range(0, 7);
            all_but(DEST + at*4096);
            failing_run(VTA_ERROR_WRITE_BUS, 2'd3, at);
            count = 0;
            for (at = 0; at < 300; at = at + 1) load(4'd0, VTA_MEM_INP, 0, 0, 16384, 0, 0, 0, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            all_but(CODE + 4096);
            failing_run(VTA_ERROR_FETCH_BUS, 2'd0, 256);
            all_but(SIZE);
            {failed_at, by_window} = 0;
            good_run(2);
            put(VTA_REG_WINDOWS, 0);

            // Beyond the address space: 2^32 elements from the highest base.
            count = 0;
            load(4'd0, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            mem_insn(VTA_OP_LOAD, 4'd0, VTA_MEM_WGT, 0, 7, 32'hffffffff, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            base[7] = 32'hffffffc0;
            failing_beyond;

            count = 0;
            for (at = 0; at < 40; at = at + 1) load(4'd0, VTA_MEM_INP, 0, 0, 16384, 0, 0, 0, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            at = range(BUS_BYTES/16 + 1, 39);
            bad_begin = CODE + at*16; bad_end = bad_begin + 1; failed_at = bad_begin;
            failing_run(VTA_ERROR_FETCH_BUS, 2'd0, at & ~(BUS_BYTES > 16 ? BUS_BYTES/16 - 1 : 0));

            count = 0;
            load(4'd0, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            failing_run(VTA_ERROR_NO_FINISH, 2'd0, 0);

            count = 0;
            finish(4'd0);
            finish(4'd0);
            failing_run(VTA_ERROR_NO_FINISH, 2'd0, 0);

            count = 0;
            failing_run(VTA_ERROR_NO_FINISH, 2'd0, 0);

            count = 0;
            load(PUSH_NEXT, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            failing_run(VTA_ERROR_TOKENS_LEFT, 2'd2, 1);

            // A token that never comes.
            put(VTA_REG_WATCHDOG, 500);
            count = 0;
            load(4'd0, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            load(POP_NEXT, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES, 1, 1, 1, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            failing_run(VTA_ERROR_WATCHDOG, 2'd1, 1);

            // Tokens that nobody takes: the 256th has no room.
            count = 0;
            for (at = 0; at < 300; at = at + 1) load(PUSH_NEXT, VTA_MEM_INP, 0, 0, 16384, 0, 0, 0, 0, 0, 0, 0, 8'd0);
            finish(4'd0);
            failing_run(VTA_ERROR_WATCHDOG, 2'd1, 255);
            count = 0;
            for (at = 0; at < 300; at = at + 1) store(PUSH_PREV, 0, 0, 16384, 0, 0, 0);
            finish(4'd0);
            failing_run(VTA_ERROR_WATCHDOG, 2'd3, 255);

            quiet;
            for (at = 0; at < 4; at = at + 1) death;
            stall = 20;
            put(VTA_REG_WATCHDOG, 0);
            resync;
        end
    endtask

    vta_axi_rules #(.LOG_BUS_BYTES(2), .ADDR_BITS(13), .LITE(1)) host_rules (
        .clk(clk), .rst(rst), .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(8'd0),
        .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(1'b1),
        .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .awlen(8'd0),
        .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(1'b1),
        .bvalid(bvalid), .bready(bready), .bresp(bresp)
    );

    // Beats alone, read or written, keep the watchdog quiet: for thousands of cycles nothing else moves, on a bus with long gaps.
    task quiet;
        begin
            put(VTA_REG_WATCHDOG, 500);
            stall = 97;
            count = 0;
            load(PUSH_NEXT, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES + 3, 1, INP_DEPTH, 0, 0, 0, 0, 0, 8'd0);
            copy(POP_PREV | PUSH_NEXT, 0, COPIES);
            store(POP_PREV | PUSH_PREV, 0, 0, (DEST - base[0])/OUT_BYTES + 1, 1, COPIES, COPIES);
            finish(POP_NEXT);
            start_run;
            expect_end(VTA_ERROR_NONE, 2'd0, 0);
            compare;
        end
    endtask

    // A memory that stops answering, whatever is on offer at that moment: the report comes all the same, and the next run
    // waits for the memory.
    task death;
        begin
            stall = range(0, 80);
            random_program(6);
            start_run;
            repeat (range(50, 600)) @(negedge clk);
            bus_dead = 1'b1;
            wait_end(5000);
            expect_reg(VTA_REG_STATUS, 32'd4);
            get(VTA_REG_ERROR);
            if (got[7:0] !== VTA_ERROR_WATCHDOG) $fatal(1, "a dead bus gives error %0d", got[7:0]);
            put(VTA_REG_CONTROL, 1);
            repeat (50) @(negedge clk);
            expect_reg(VTA_REG_STATUS, 32'd1);
            put(VTA_REG_CONTROL, 2);
            expect_reg(VTA_REG_STATUS, 32'd1);      // what was begun on the bus is not over
            bus_dead = 1'b0;
            wait_idle;
            expect_reg(VTA_REG_STATUS, 32'd0);
            resync;
        end
    endtask

    task failing_beyond;
        integer i;
        begin
            start_run;
            put(VTA_REG_CONTROL, 2);
            for (i = 0; i < 2000 && !(dbg[22:20] == 0 && i > 500); i = i + 1) @(posedge clk);
            put(VTA_REG_BASE0_HI + 12'd56, 32'hff);
            put(VTA_REG_IRQ_STATUS, 1);
            put(VTA_REG_CONTROL, 1);
            // With more bits than its segments need, there is such an address, and the memory refuses it.
            failed_at = {24'd0, 8'hff, 32'hffffffc0} + 64'hffffffff*WGT_BYTES;
            if (failed_at >> ADDR_BITS != 0) failed_at = 0;
            expect_end(VTA_ERROR_READ_BUS, 2'd1, 1);
            failed_at = 0;
            base[7] = 64;
            resync;
        end
    endtask

    task resets;
        integer i;
        begin
            for (i = 0; i < 6; i = i + 1) begin
                random_program(6);
                start_run;
                repeat (range(1, 1500)) @(posedge clk);
                put(VTA_REG_CONTROL, range(0, 1) == 0 ? 2 : 3);   // 3: and start again
                if (wdata == 3) begin
                    put(VTA_REG_IRQ_STATUS, 1);                   // the first run may have ended before
                    expect_end(VTA_ERROR_NONE, 2'd0, 0);
                end else begin
                    wait_idle;
                end
                put(VTA_REG_IRQ_STATUS, 1);
                resync;
            end
        end
    endtask

    // Rates. `bytes` moved in the cycles of the run beyond those of an empty one, in thousandths of the bus.
    integer empty_cycles;
    task rate(input integer bytes, input integer least, input [8*16-1:0] name);
        integer share;
        begin
            finish(4'd0);
            start_run;
            expect_end(VTA_ERROR_NONE, 2'd0, 0);
            compare;
            get(VTA_REG_CYCLES);
            if (bytes == 0) begin
                empty_cycles = got;
                $display("empty run: %0d cycles", got);
            end else begin
                share = 1000 * (bytes / BUS_BYTES) / (got - empty_cycles);
                $display("%0s: %0d bytes in %0d cycles, %0d of 1000", name, bytes, got, share);
                if (share < least) $fatal(1, "%0s: less than %0d of 1000", name, least);
            end
            count = 0;
        end
    endtask

    task speed;
        integer i, row;
        begin
            stall = 0;
            count = 0;
            rate(0, 0, "empty");
            for (i = 0; i < 8; i = i + 1)
                load(4'd0, VTA_MEM_INP, 0, 0, (SOURCE - base[0])/INP_BYTES + i*INP_DEPTH/2, 1, INP_DEPTH/2, 0, 0, 0, 0, 0, 8'd0);
            rate(8*INP_DEPTH/2*INP_BYTES, 950, "load inp");
            for (i = 0; i < 40; i = i + 1)
                load(4'd0, VTA_MEM_WGT, i, 0, (SOURCE - base[0])/WGT_BYTES + i*5, 1, 8, 0, 0, 0, 0, 0, 8'd0);
            rate(40*8*WGT_BYTES, 950, "load wgt");
            for (i = 0; i < 40 && WGT4 != 0; i = i + 1)
                load(4'd0, VTA_MEM_WGT4, i, 0, (SOURCE - base[0])/(WGT_BYTES/2) + i*5, 1, 16, 0, 0, 0, 0, 0, 8'd0);
            if (WGT4 != 0) rate(40*16*WGT_BYTES/2, 950, "load wgt4");
            row = 64/INP_BYTES;
            for (i = 0; i < 16; i = i + 1)
                load(4'd0, VTA_MEM_INP, i, 0, (SOURCE - base[0])/INP_BYTES + i*11, 32, row, 3*row, 0, 0, 0, 0, 8'd0);
            rate(16*32*64, 750, "load rows64");
            row = 256/INP_BYTES;
            for (i = 0; i < 16; i = i + 1)
                load(4'd0, VTA_MEM_INP, i, 0, (SOURCE - base[0])/INP_BYTES + i*11, 16, row, 2*row, 0, 0, 0, 0, 8'd0);
            rate(16*16*256, 900, "load rows256");
            for (i = 0; i < 64; i = i + 1)
                load(4'd0, VTA_MEM_INP, i, 0, (SOURCE - base[0])/INP_BYTES + i*100, 1, 2, 0, 0, 0, 0, 0, 8'd0);
            rate(64*2*INP_BYTES, 0, "load short");
            for (i = 0; i < 16; i = i + 1)
                load(4'd0, VTA_MEM_INP, i, 0, (SOURCE - base[0])/INP_BYTES + i*11, 14, 14, 56, 1, 1, 1, 1, 8'd0);
            rate(16*14*14*INP_BYTES, 0, "load padded");
            copy(4'd0, 0, COPIES);
            rate(8, 0, "copy");
            get(VTA_REG_CYCLES);
            i = empty_cycles;
            empty_cycles = got;
            copy(PUSH_NEXT, 0, COPIES);
            store(POP_PREV, 0, 0, (DEST - base[0])/OUT_BYTES, 1, OUT_DEPTH, 0);
            store(4'd0, 0, 0, (DEST - base[0])/OUT_BYTES + OUT_DEPTH, 1, OUT_DEPTH, 0);
            rate(2*OUT_DEPTH*OUT_BYTES, 920, "store");
            copy(PUSH_NEXT, 0, COPIES);
            for (row = 0; row < 20; row = row + 1)
                store(row == 0 ? POP_PREV : 4'd0, row, 0, (DEST - base[0])/OUT_BYTES + row*64, 14, 14, 16);
            rate(20*14*14*OUT_BYTES, 800, "store rows");
            empty_cycles = i;
            for (i = 0; i < 1000; i = i + 1) load(4'd0, VTA_MEM_INP, 0, 0, 16384, 0, 0, 0, 0, 0, 0, 0, 8'd0);
            rate(16000, 990, "fetch");
        end
    endtask

    task identity;
        integer i;
        begin
            expect_reg(VTA_REG_ID, 32'h56544143);
            expect_reg(VTA_REG_VERSION, VTA_ISA_VERSION);
            expect_reg(VTA_REG_HASH_LO, CONFIG_HASH[31:0]);
            expect_reg(VTA_REG_HASH_HI, CONFIG_HASH[63:32]);
            for (i = 0; i < VTA_CONFIG_COUNT; i = i + 1) expect_reg(VTA_REG_CONFIG0 + 4*i, vta_config_value(i));
            expect_reg(VTA_REG_CONFIG0 + 4*VTA_CONFIG_COUNT, 0);
            expect_reg(12'hffc, 0);
            put(VTA_REG_WATCHDOG, 32'hdeadbeef);
            expect_reg(VTA_REG_WATCHDOG, 32'hdeadbeef);
            put(VTA_REG_BASE0_LO + 12'd40, 32'hffffffff);
            expect_reg(VTA_REG_BASE0_LO + 12'd40, 32'hffffffc0);
            put(VTA_REG_BASE0_HI + 12'd40, 32'hffffffff);
            expect_reg(VTA_REG_BASE0_HI + 12'd40, ~(32'hffffffff << (ADDR_BITS - 32)));
            put(VTA_REG_ID, 32'd0);
            expect_reg(VTA_REG_ID, 32'h56544143);
            put(VTA_REG_WATCHDOG, 0);
        end
    endtask

    integer i;
    initial begin
        {awvalid, wvalid, bready, arvalid, rready} = 5'd0;
        begin_bench(10);
        mem_seed = state;
        repeat (4) @(posedge clk);
        @(negedge clk) rst = 1'b0;
        identity;
        prepare;
        for (i = 0; i < runs; i = i + 1) begin
            stall = i % 3 == 0 ? 0 : range(0, 80);
            good_run(range(1, 20));
        end
        stall = 20;
        if ($test$plusargs("speed")) begin
            speed;
        end else if (!$test$plusargs("clean")) begin
            errors;
            resets;
        end
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
