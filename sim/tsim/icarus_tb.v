// SPDX-License-Identifier: Apache-2.0
//
// icarus_tb -- the accelerator under Icarus, to show what an event-driven simulator makes of the same RTL: runs the program
// of a memory image and prints "cycles N sum S", S being the sum of the bytes from RESULT on.
//
// +image=FILE: bytes for $readmemh. +regs=FILE: 64-bit words {offset, value}, written in order; the last starts the run.
// The memory answers one burst at a time in each direction, LATENCY cycles after its address.
`default_nettype none

module icarus_tb;
    parameter integer LOG_BATCH       = 0;
    parameter integer LOG_BLOCK_IN    = 4;
    parameter integer LOG_BLOCK_OUT   = 4;
    parameter integer LOG_UOP_DEPTH   = 13;
    parameter integer LOG_INP_DEPTH   = 11;
    parameter integer LOG_WGT_DEPTH   = 10;
    parameter integer LOG_ACC_DEPTH   = 11;
    parameter integer LOG_BUS_BYTES   = 3;
    parameter integer LOG_QUEUE_DEPTH = 9;
    parameter integer ADDR_BITS       = 40;
    parameter integer PUMP            = 1;
    parameter integer TABLE           = 1;
    parameter integer LOOP_BACK       = 1;
    parameter integer DEPTHWISE_TAPS  = 9;
    parameter integer ROWS            = 0;
    parameter integer WGT4            = 0;
    parameter integer LOG_MEMORY      = 18;
    parameter integer REGS            = 1;
    parameter integer RESULT          = 0;
    parameter integer RESULT_BYTES    = 0;
    localparam integer BYTES   = 1 << LOG_BUS_BYTES;
    localparam integer LATENCY = 8;

    reg [7:0]   memory [0:(1<<LOG_MEMORY)-1];
    reg [63:0]  regs [0:REGS-1];
    reg [8*1024-1:0] name;
    reg         clk = 1'b0;
    reg         rst = 1'b1;
    integer     cycles;
    integer     i;
    reg [31:0]  sum;

    reg         s_awvalid = 1'b0;
    reg         s_wvalid = 1'b0;
    reg [12:0]  s_awaddr = 13'd0;
    reg [31:0]  s_wdata = 32'd0;
    wire        s_awready;
    wire        s_wready;
    wire        s_bvalid;
    wire        irq;
    wire        arvalid;
    wire [ADDR_BITS-1:0] araddr;
    wire [7:0]  arlen;
    wire        rready;
    wire        awvalid;
    wire [ADDR_BITS-1:0] awaddr;
    wire        wvalid;
    wire [8*BYTES-1:0] wdata;
    wire [BYTES-1:0]   wstrb;
    wire        wlast;
    reg         rvalid = 1'b0;
    reg         rlast = 1'b0;
    reg [8*BYTES-1:0] rdata;
    reg         bvalid = 1'b0;
    reg         reading = 1'b0;
    reg         writing = 1'b0;
    reg [LOG_MEMORY-1:0] raddr;
    reg [LOG_MEMORY-1:0] waddr;
    integer     rleft;
    integer     rwait;

    vta_top #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT), .LOG_UOP_DEPTH(LOG_UOP_DEPTH),
        .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH), .LOG_ACC_DEPTH(LOG_ACC_DEPTH),
        .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH), .ADDR_BITS(ADDR_BITS), .PUMP(PUMP), .TABLE(TABLE),
        .LOOP_BACK(LOOP_BACK), .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS), .WGT4(WGT4)
    ) dut (
        .clk(clk), .clk2x(1'b0), .rst(rst), .irq(irq),
        .s_axil_awvalid(s_awvalid), .s_axil_awready(s_awready), .s_axil_awaddr(s_awaddr), .s_axil_wvalid(s_wvalid),
        .s_axil_wready(s_wready), .s_axil_wdata(s_wdata), .s_axil_wstrb(4'hf), .s_axil_bvalid(s_bvalid),
        .s_axil_bready(1'b1), .s_axil_bresp(), .s_axil_arvalid(1'b0), .s_axil_arready(), .s_axil_araddr(13'd0),
        .s_axil_rvalid(), .s_axil_rready(1'b1), .s_axil_rdata(), .s_axil_rresp(),
        .m_axi_arvalid(arvalid), .m_axi_arready(!reading), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(),
        .m_axi_arburst(), .m_axi_arcache(), .m_axi_arprot(), .m_axi_arqos(), .m_axi_rvalid(rvalid), .m_axi_rready(rready),
        .m_axi_rdata(rdata), .m_axi_rresp(2'b00), .m_axi_rlast(rlast), .m_axi_awvalid(awvalid),
        .m_axi_awready(!writing && !bvalid), .m_axi_awaddr(awaddr), .m_axi_awlen(), .m_axi_awsize(), .m_axi_awburst(),
        .m_axi_awcache(), .m_axi_awprot(), .m_axi_wvalid(wvalid), .m_axi_wready(writing), .m_axi_wdata(wdata),
        .m_axi_wstrb(wstrb), .m_axi_wlast(wlast), .m_axi_bvalid(bvalid), .m_axi_bready(), .m_axi_bresp(2'b00), .dbg()
    );

    always #5 clk = !clk;

    // Reads.
    always @(posedge clk) begin
        if (arvalid && !reading) begin
            reading <= 1'b1;
            raddr   <= araddr[LOG_MEMORY-1:0];
            rleft   <= arlen + 1;
            rwait   <= LATENCY;
        end else if (reading && rwait > 0) rwait <= rwait - 1;
        else if (reading && (!rvalid || rready)) begin
            rvalid <= rleft > 0;
            rlast  <= rleft == 1;
            rleft  <= rleft - 1;
            raddr  <= raddr + BYTES;
            for (i = 0; i < BYTES; i = i + 1) rdata[8*i +: 8] <= memory[raddr + i];
            if (rleft == 0) reading <= 1'b0;
        end
    end

    // Writes.
    integer lane;
    always @(posedge clk) begin
        if (awvalid && !writing && !bvalid) begin
            writing <= 1'b1;
            waddr   <= awaddr[LOG_MEMORY-1:0];
        end else if (writing && wvalid) begin
            for (lane = 0; lane < BYTES; lane = lane + 1)
                if (wstrb[lane]) memory[waddr + lane] <= wdata[8*lane +: 8];
            waddr <= waddr + BYTES;
            if (wlast) begin
                writing <= 1'b0;
                bvalid  <= 1'b1;
            end
        end else bvalid <= 1'b0;
    end

    task write_register(input [63:0] word);
        begin
            s_awaddr  <= word[43:32];
            s_wdata   <= word[31:0];
            s_awvalid <= 1'b1;
            s_wvalid  <= 1'b1;
            while (s_awvalid || s_wvalid) begin
                @(posedge clk);
                if (s_awready) s_awvalid <= 1'b0;
                if (s_wready) s_wvalid <= 1'b0;
                #1;
            end
            while (!s_bvalid) @(posedge clk) #1;
            @(posedge clk) #1;
        end
    endtask

    integer r;
    initial begin
        if (!$value$plusargs("image=%s", name)) $fatal(1, "no image");
        $readmemh(name, memory);
        if (!$value$plusargs("regs=%s", name)) $fatal(1, "no registers");
        $readmemh(name, regs);
        repeat (4) @(posedge clk);
        #1 rst = 1'b0;
        for (r = 0; r < REGS; r = r + 1) write_register(regs[r]);
        cycles = 0;
        while (!irq && cycles < 100000) begin
            @(posedge clk) #1;
            cycles = cycles + 1;
        end
        if (!irq) $fatal(1, "the run does not end");
        sum = 32'd0;
        for (r = 0; r < RESULT_BYTES; r = r + 1) sum = sum * 31 + memory[RESULT + r];
        $display("cycles %0d sum %0d", cycles, sum);
        $finish;
    end
endmodule

`default_nettype wire
