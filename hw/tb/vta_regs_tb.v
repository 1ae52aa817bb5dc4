// SPDX-License-Identifier: Apache-2.0
//
// vta_regs_tb -- the register page against a plain array of words: reads, writes and both at once, addresses and data in any
// order, strobes, holes, read-only words, a counter that answers late, pulses, the interrupt. +seed=N, +runs=N accesses.
`default_nettype none

module vta_regs_tb;
`include "random.vh"
    parameter integer LOG_BATCH       = 0;
    parameter integer LOG_BLOCK_IN    = 3;
    parameter integer LOG_BLOCK_OUT   = 4;
    parameter integer LOG_UOP_DEPTH   = 9;
    parameter integer LOG_INP_DEPTH   = 8;
    parameter integer LOG_WGT_DEPTH   = 7;
    parameter integer LOG_ACC_DEPTH   = 6;
    parameter integer LOG_BUS_BYTES   = 4;
    parameter integer LOG_QUEUE_DEPTH = 5;
    parameter integer ADDR_BITS       = 40;
    parameter [63:0]  CONFIG_HASH     = 64'h0123456789abcdef;
    parameter integer TABLE           = 0;
    parameter integer LOOP_BACK       = 1;
    parameter integer DEPTHWISE_TAPS  = 3;
    parameter integer ROWS            = 1;
    parameter integer WGT4            = 1;
`define VTA_ISA_CONFIG
`include "vta_isa.vh"
`undef VTA_ISA_CONFIG

    reg         awvalid, wvalid, bready, arvalid, rready;
    wire        awready, wready, bvalid, arready, rvalid;
    reg  [12:0] awaddr, araddr;
    reg  [31:0] wdata;
    reg  [3:0]  wstrb;
    wire [31:0] rdata;
    wire [1:0]  bresp, rresp;
    wire        start, soft_reset, irq, count_valid;
    wire [ADDR_BITS-1:0]   insn_addr;
    wire [31:0]            insn_count, watchdog;
    wire [8*ADDR_BITS-1:0] bases;
    reg  [2:0]  status;
    reg  [7:0]  error_code;
    reg  [1:0]  error_unit;
    reg  [31:0] error_index;
    reg  [ADDR_BITS-1:0] error_addr;
    reg         error_refused;
    wire        windows_on;
    wire [4*(ADDR_BITS-12)-1:0] window_bases, window_limits;
    wire [10:0] read_bus, write_bus;
    reg         ended;
    wire [4:0]  count_index;
    reg         count_done;

    // A counter's value, by its number, and by how often a counter has been read.
    integer     answers = 0, halves = 0;
    function [63:0] count_of(input [4:0] index, input [31:0] reads);
        count_of = {32'hc0de0000 + {27'd0, index} + (reads << 8), 32'hbeef0000 ^ {22'd0, index, 5'd0} ^ (reads << 10)};
    endfunction

    vta_regs #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH),
        .ADDR_BITS(ADDR_BITS), .CONFIG_HASH(CONFIG_HASH), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS),
        .ROWS(ROWS), .WGT4(WGT4)
    ) dut (
        .clk(clk), .rst(rst),
        .s_axil_awvalid(awvalid), .s_axil_awready(awready), .s_axil_awaddr(awaddr),
        .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_wdata(wdata), .s_axil_wstrb(wstrb),
        .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_bresp(bresp),
        .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_araddr(araddr),
        .s_axil_rvalid(rvalid), .s_axil_rready(rready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
        .start(start), .soft_reset(soft_reset), .insn_addr(insn_addr), .insn_count(insn_count), .watchdog(watchdog),
        .bases(bases), .status_busy(status[0]), .status_done(status[1]), .status_error(status[2]),
        .error_code(error_code), .error_unit(error_unit), .error_index(error_index),
        .error_addr(error_addr), .error_refused(error_refused), .windows_on(windows_on),
        .window_bases(window_bases), .window_limits(window_limits), .read_bus(read_bus), .write_bus(write_bus),
        .ended(ended || clash), .irq(irq),
        .count_valid(count_valid), .count_index(count_index), .count_done(count_done),
        .count_data(count_done ? count_of(count_index, answers) : 64'hx)
    );

    // The page as it should be: words that keep what is written, and which of their bits do.
    reg [31:0] word [0:2047];
    reg [31:0] kept [0:2047];
    reg        irq_status;
    integer    starts, resets, starts_seen, resets_seen;

    task prepare;
        integer i;
        begin
            for (i = 0; i < 2048; i = i + 1) begin
                word[i] = 32'd0;
                kept[i] = 32'd0;
            end
            word[VTA_REG_ID >> 2]      = 32'h56544143;
            word[VTA_REG_VERSION >> 2] = VTA_ISA_VERSION;
            word[VTA_REG_HASH_LO >> 2] = CONFIG_HASH[31:0];
            word[VTA_REG_HASH_HI >> 2] = CONFIG_HASH[63:32];
            for (i = 0; i < VTA_CONFIG_COUNT; i = i + 1) word[(VTA_REG_CONFIG0 >> 2) + i] = vta_config_value(i);
            for (i = 0; i < VTA_COUNTERS; i = i + 1)
                {word[(VTA_REG_CYCLES >> 2) + 2*i + 1], word[(VTA_REG_CYCLES >> 2) + 2*i]} = count_of(i, 0);
            kept[VTA_REG_INSN_ADDR_LO >> 2] = 32'hffffffc0;
            kept[VTA_REG_INSN_ADDR_HI >> 2] = (32'd1 << (ADDR_BITS - 32)) - 32'd1;
            kept[VTA_REG_INSN_COUNT >> 2]   = 32'hffffffff;
            kept[VTA_REG_WATCHDOG >> 2]     = 32'hffffffff;
            kept[VTA_REG_IRQ_ENABLE >> 2]   = 32'd1;
            for (i = 0; i < 8; i = i + 1) begin
                kept[(VTA_REG_BASE0_LO >> 2) + 2*i]     = 32'hffffffc0;
                kept[(VTA_REG_BASE0_LO >> 2) + 2*i + 1] = (32'd1 << (ADDR_BITS - 32)) - 32'd1;
            end
            kept[VTA_REG_WINDOWS >> 2] = 32'd1;
            kept[VTA_REG_BUS >> 2]     = 32'h0f7f0f7f;
            word[VTA_REG_BUS >> 2]     = 32'h00030003;
            for (i = 0; i < 8; i = i + 1) begin
                kept[(VTA_REG_WINDOW0_BASE_LO >> 2) + 2*i]     = 32'hfffff000;
                kept[(VTA_REG_WINDOW0_BASE_LO >> 2) + 2*i + 1] = (32'd1 << (ADDR_BITS - 32)) - 32'd1;
            end
            irq_status  = 1'b0;
            starts      = 0;
            resets      = 0;
            starts_seen = 0;
            resets_seen = 0;
        end
    endtask

    // Any word; mostly one of those that mean something, and often one that keeps what is written.
    function [12:0] any_address(input integer dummy);
        case (range(0, 5))
        0: any_address = range(0, 2047) << 2;
        5: any_address = VTA_REG_WINDOWS + (range(0, 20) << 2);
        1: any_address = range(0, 31) << 2;
        2: any_address = VTA_REG_CYCLES + (range(0, 2*VTA_COUNTERS) << 2);
        3: any_address = lower < 0 ? 13'd0 : VTA_REG_CYCLES + 8*lower + 4;
        default: any_address = range(VTA_REG_CONTROL >> 2, (VTA_REG_BASE0_LO >> 2) + 16) << 2;
        endcase
    endfunction

    task set_inputs;
        begin
            status      = range(0, 7);
            error_code  = range(0, 255);
            error_unit  = range(0, 3);
            error_index = {state[15:0], state[31:16]};
            word[VTA_REG_STATUS >> 2]     = {29'd0, status};
            error_addr    = {state, state[15:0], state[31:16]};
            error_refused = state[3];
            word[VTA_REG_ERROR >> 2]      = {15'd0, error_refused, 6'd0, error_unit, error_code};
            {word[VTA_REG_ERROR_ADDR_HI >> 2], word[VTA_REG_ERROR_ADDR_LO >> 2]} = error_addr;
            word[VTA_REG_ERROR_INSN >> 2] = error_index;
            if (range(0, 3) == 0) begin
                ended = 1'b1;
                irq_status = 1'b1;
                @(negedge clk) ended = 1'b0;
            end
            word[VTA_REG_IRQ_STATUS >> 2] = {31'd0, irq_status};
        end
    endtask

    vta_axi_rules #(.LOG_BUS_BYTES(2), .ADDR_BITS(13), .LITE(1)) host_rules (
        .clk(clk), .rst(rst), .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(8'd0),
        .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(1'b1),
        .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .awlen(8'd0),
        .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(1'b1),
        .bvalid(bvalid), .bready(bready), .bresp(bresp)
    );

    // A run may end in the very cycle in which the interrupt is cleared: the interrupt stays.
    reg clash = 1'b0, clashed = 1'b0;
    always @(negedge clk) begin
        clash = 1'b0;
        #2 if (dut.w_low && dut.aw_addr_q == VTA_REG_IRQ_STATUS && dut.w_data_q[0] && state[7]) {clash, clashed} = 2'b11;
    end

    // Address and data are offered after a while each, and stand until they are taken.
    task write(input [12:0] addr, input [31:0] value, input [3:0] strobe);
        integer aw_after, w_after, b_after;
        reg     aw_taken, w_taken;
        reg [31:0] mask;
        begin
            aw_after = range(0, 3);
            w_after  = range(0, 3);
            b_after  = range(0, 3);
            awaddr = addr; wdata = value; wstrb = strobe;
            clashed = 1'b0;
            {aw_taken, w_taken} = 2'b00;
            while (!aw_taken || !w_taken) begin
                awvalid = !aw_taken && aw_after <= 0;
                wvalid  = !w_taken && w_after <= 0;
                #1;
                aw_taken = aw_taken || (awvalid && awready);
                w_taken  = w_taken || (wvalid && wready);
                aw_after = aw_after - 1;
                w_after  = w_after - 1;
                @(negedge clk);
            end
            {awvalid, wvalid} = 2'b00;
            while (!bvalid) @(negedge clk);
            repeat (b_after) begin
                @(negedge clk);
                if (!bvalid) $fatal(1, "the answer to a write was withdrawn");
            end
            if (bresp != 2'b00) $fatal(1, "a write is answered with %0d", bresp);
            bready = 1'b1;
            @(negedge clk) bready = 1'b0;
            if (bvalid) $fatal(1, "a write is answered twice");
            mask = kept[addr >> 2] & {{8{strobe[3]}}, {8{strobe[2]}}, {8{strobe[1]}}, {8{strobe[0]}}};
            word[addr >> 2] = (word[addr >> 2] & ~mask) | (value & mask);
            if (addr == VTA_REG_CONTROL && strobe[0]) begin
                starts = starts + value[0];
                resets = resets + value[1];
            end
            if (addr == VTA_REG_IRQ_STATUS && strobe[0] && value[0]) irq_status = clashed;
            word[VTA_REG_IRQ_STATUS >> 2] = {31'd0, irq_status};
            word[VTA_REG_GUARD >> 2]      = word[VTA_REG_WINDOWS >> 2];
        end
    endtask

    task read(input [12:0] addr);
        integer r_after;
        reg     taken;
        reg [31:0] first;
        begin
            repeat (range(0, 2)) @(negedge clk);
            r_after = range(0, 3);
            araddr = addr; arvalid = 1'b1; taken = 1'b0;
            while (!taken) begin
                #1 taken = arready;
                @(negedge clk);
            end
            arvalid = 1'b0;
            while (!rvalid) @(negedge clk);
            first = rdata;
            repeat (r_after) begin
                @(negedge clk);
                if (!rvalid || rdata !== first) $fatal(1, "the answer to a read has changed");
            end
            if (rresp != 2'b00) $fatal(1, "a read is answered with %0d", rresp);
            if (rdata !== word[addr >> 2]) $fatal(1, "register %0h is %0h instead of %0h", addr, rdata, word[addr >> 2]);
            rready = 1'b1;
            @(negedge clk) rready = 1'b0;
            if (rvalid) $fatal(1, "a read is answered twice");
        end
    endtask

    // Reads and writes at once go to different words, and not to two that hang together. Each branch is a block of its own: Verilator
    // 5.006 would make a branch of every statement of a task that is called without one.
    task both(input [12:0] at, input [31:0] value, input [3:0] strobe, input [12:0] from);
        begin
            fork
                begin
                    write(at, value, strobe);
                end
                begin
                    if (at != from) read(from);
                end
            join
        end
    endtask

    task check_outputs;
        integer i;
        begin
            if (starts_seen != starts || resets_seen != resets)
                $fatal(1, "%0d starts and %0d resets instead of %0d and %0d", starts_seen, resets_seen, starts, resets);
            if (irq !== (irq_status && word[VTA_REG_IRQ_ENABLE >> 2][0])) $fatal(1, "the interrupt is %b", irq);
            if ({24'd0, insn_addr} !== {word[VTA_REG_INSN_ADDR_HI >> 2], word[VTA_REG_INSN_ADDR_LO >> 2]})
                $fatal(1, "the program's address is %0h", insn_addr);
            if (insn_count !== word[VTA_REG_INSN_COUNT >> 2]) $fatal(1, "the program's length is %0d", insn_count);
            if (watchdog !== word[VTA_REG_WATCHDOG >> 2]) $fatal(1, "the watchdog's time is %0d", watchdog);
            for (i = 0; i < 8; i = i + 1)
                if ({24'd0, bases[i*ADDR_BITS +: ADDR_BITS]}
                    !== {word[(VTA_REG_BASE0_LO >> 2) + 2*i + 1], word[(VTA_REG_BASE0_LO >> 2) + 2*i]})
                    $fatal(1, "base %0d is %0h", i, bases[i*ADDR_BITS +: ADDR_BITS]);
            if (windows_on !== word[VTA_REG_WINDOWS >> 2][0]) $fatal(1, "the windows are on: %b", windows_on);
            if ({read_bus, write_bus} !== {word[VTA_REG_BUS >> 2][11:8], word[VTA_REG_BUS >> 2][6:0], word[VTA_REG_BUS >> 2][27:24], word[VTA_REG_BUS >> 2][22:16]})
                $fatal(1, "the attributes of the bus are %b and %b", read_bus, write_bus);
            for (i = 0; i < 4; i = i + 1)
                if (window_bases[i*(ADDR_BITS-12) +: ADDR_BITS-12]
                    !== {word[(VTA_REG_WINDOW0_BASE_LO >> 2) + 4*i + 1], word[(VTA_REG_WINDOW0_BASE_LO >> 2) + 4*i]} >> 12
                    || window_limits[i*(ADDR_BITS-12) +: ADDR_BITS-12]
                    !== {word[(VTA_REG_WINDOW0_LIMIT_LO >> 2) + 4*i + 1], word[(VTA_REG_WINDOW0_LIMIT_LO >> 2) + 4*i]} >> 12)
                    $fatal(1, "window %0d is %0h to %0h", i, window_bases[i*(ADDR_BITS-12) +: ADDR_BITS-12], window_limits[i*(ADDR_BITS-12) +: ADDR_BITS-12]);
        end
    endtask

    integer quiet;
    always @(posedge clk) begin
        quiet = (bvalid && bready) || (rvalid && rready) ? 0 : quiet + 1;
        if (quiet > 1000) $fatal(1, "an access is never answered");
        if (start) starts_seen = starts_seen + 1;
        if (soft_reset) resets_seen = resets_seen + 1;
    end

    // A counter is read in a while; the answer stands for one cycle.
    integer slow, lower = -1;
    always @(negedge clk) begin
        if (rst || !count_valid || count_done) begin
            count_done = 1'b0;
            slow = 7;
        end else begin
            slow = slow - 1;
            count_done = slow == 0;
            if (count_done) begin
                answers = answers + 1;
                {word[(VTA_REG_CYCLES >> 2) + 2*count_index + 1], word[(VTA_REG_CYCLES >> 2) + 2*count_index]} = count_of(count_index, answers);
                // The upper word after the lower one needs no second answer.
                if (dut.ar_addr_q[2] && lower == count_index) $fatal(1, "the words of counter %0d are of two moments", count_index);
                lower = dut.ar_addr_q[2] ? lower : count_index;
            end
        end
        if (!rst && dut.read && dut.in_counts && dut.upper) begin
            if (lower != dut.count_index) $fatal(1, "an upper word without its lower one");
            lower  = -1;
            halves = halves + 1;
        end
    end

    integer i;
    reg [12:0] at;
    initial begin
        quiet = 0;
        {awvalid, wvalid, bready, arvalid, rready, ended, count_done} = 7'd0;
        begin_bench(4000);
        prepare;
        {status, error_code, error_unit, error_index, error_addr, error_refused} = 0;
        repeat (4) @(negedge clk);
        rst = 1'b0;
        for (i = 0; i < runs; i = i + 1) begin
            if (range(0, 3) == 0) set_inputs;
            at = any_address(0);
            both(at, {state[7:0], state[31:8]}, range(0, 2) == 0 ? range(0, 15) : 15, any_address(0));
            @(negedge clk);
            check_outputs;
            read(range(0, 1) == 0 ? at : any_address(0));
        end
        for (i = 0; i < 2048; i = i + 1) read(i << 2);
        if (halves < 10) $fatal(1, "only %0d upper words of the moment of their lower ones", halves);
        if (starts < 3 || resets < 3) $fatal(1, "only %0d starts, %0d resets", starts, resets);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
