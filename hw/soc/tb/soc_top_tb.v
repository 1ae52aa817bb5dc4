// SPDX-License-Identifier: Apache-2.0
//
// soc_top_tb -- the whole machine with a memory: it runs an image and writes what comes over the serial line to stdout.
//
// +image=FILE: memory from 8000_0000 on, a beat of the bus a line, in hexadecimal   +cycles=N: the most that it may take
// +inputs=FILE and +inputs_at=BEAT: what else is in memory, from that beat on
// +send=TEXT: what the machine is sent over the line, a byte for each byte 5 (enquiry) that comes from it
// +sdram: memory is an SDRAM of 32 MiB behind soc_sdram, where the bench has one (SDRAM 1)
// +wait=N: cycles from an address to its first beat
// +samples=FILE: the core's address every 64 cycles, a line each, in hexadecimal
// A byte 4 (end of transmission) ends the run with "N cycles, M instructions"; without it, it ends with "no end".
`default_nettype none
`timescale 1ns / 1ps

module soc_top_tb #(
    parameter integer LOG_BATCH       = 0,
    parameter integer LOG_BLOCK_IN    = 4,
    parameter integer LOG_BLOCK_OUT   = 4,
    parameter integer LOG_UOP_DEPTH   = 13,
    parameter integer LOG_INP_DEPTH   = 11,
    parameter integer LOG_WGT_DEPTH   = 10,
    parameter integer LOG_ACC_DEPTH   = 11,
    parameter integer LOG_BUS_BYTES   = 3,
    parameter integer LOG_QUEUE_DEPTH = 9,
    parameter integer ADDR_BITS       = 40,
    parameter [63:0]  CONFIG_HASH     = 64'd0,
    parameter integer TABLE           = 1,
    parameter integer LOOP_BACK       = 1,
    parameter integer DEPTHWISE_TAPS  = 9,
    parameter integer ROWS            = 0,
    parameter integer WGT4            = 0,
    parameter integer PUMP            = 1,
    parameter integer LANE_DSPS       = 3,
    parameter integer LOG_MEMORY      = 23,     // bytes
    parameter integer SDRAM           = 0       // there is an SDRAM, too, for a run to choose; the bus has 64 bits then
)
`ifdef VERILATOR
(input wire clk)        // of tests/soc/tick.cpp: faster than a delay
`endif
;
    localparam integer BITS    = 8 << LOG_BUS_BYTES;
    localparam integer BEATS   = 1 << (LOG_MEMORY - LOG_BUS_BYTES);
    localparam integer DIVIDER = 4;
    localparam [7:0]   END     = 8'd4, ENQUIRY = 8'd5;

`ifndef VERILATOR
    reg               clk = 1'b0;
    always #5 clk = !clk;
`endif
    reg               rst = 1'b1;
    wire              tx;
    reg               rx = 1'b1;
    wire              arvalid, rready, awvalid, wvalid, wlast, bready;
    wire [31:0]       araddr, awaddr;
    wire [7:0]        arlen, awlen;
    wire [BITS-1:0]   wdata;
    wire [BITS/8-1:0] wstrb;
    reg               rvalid = 1'b0, rlast = 1'b0, bvalid = 1'b0;
    reg  [BITS-1:0]   rdata;
    reg  [1:0]        rresp, bresp;

    // ---- Memory: reads in order, each with its own wait; writes as they come

    localparam integer PLACES = 64;
    reg  [BITS-1:0] memory [0:BEATS-1];
    reg  [31:0]     read_addr [0:PLACES-1];
    reg  [8:0]      read_beats [0:PLACES-1];
    reg  [63:0]     read_from [0:PLACES-1];     // the cycle of its first beat
    reg  [5:0]      read_first = 6'd0, read_last = 6'd0;
    wire [5:0]      read_count = read_last - read_first;
    reg  [63:0]     cycle = 64'd0;
    integer         wait_cycles;
    reg             here    = 1'b1;     // and not in an SDRAM
    wire            arready = read_count != 6'd63;

    function outside(input [31:0] addr);
        outside = addr[31:LOG_MEMORY] != 32'h8000_0000 >> LOG_MEMORY;
    endfunction

    always @(posedge clk) begin
        cycle <= cycle + 64'd1;
        if (arvalid && arready && here) begin
            read_addr[read_last]  <= araddr;
            read_beats[read_last] <= {1'b0, arlen} + 9'd1;
            read_from[read_last]  <= cycle + {32'd0, wait_cycles};
            read_last <= read_last + 6'd1;
        end
        if (!rvalid || rready) begin
            rvalid <= 1'b0;
            if (read_count != 6'd0 && cycle >= read_from[read_first]) begin
                rvalid <= 1'b1;
                rdata  <= memory[read_addr[read_first][LOG_MEMORY-1:LOG_BUS_BYTES]];
                rresp  <= outside(read_addr[read_first]) ? 2'd3 : 2'd0;
                rlast  <= read_beats[read_first] == 9'd1;
                read_addr[read_first]  <= read_addr[read_first] + (32'd1 << LOG_BUS_BYTES);
                read_beats[read_first] <= read_beats[read_first] - 9'd1;
                if (read_beats[read_first] == 9'd1) read_first <= read_first + 6'd1;
            end
        end
    end

    reg         writing = 1'b0;
    reg  [31:0] write_addr;
    wire        awready = !writing && !bvalid;
    wire        wready  = writing;
    integer     b;
    always @(posedge clk) begin
        if (bready) bvalid <= 1'b0;
        if (awvalid && awready && here) begin
            writing    <= 1'b1;
            write_addr <= awaddr;
            bresp      <= 2'd0;
        end
        if (wvalid && wready && here) begin
            for (b = 0; b < BITS / 8; b = b + 1) begin
                if (wstrb[b] && !outside(write_addr)) memory[write_addr[LOG_MEMORY-1:LOG_BUS_BYTES]][8*b +: 8] <= wdata[8*b +: 8];
            end
            if (outside(write_addr)) bresp <= 2'd3;
            write_addr <= write_addr + (32'd1 << LOG_BUS_BYTES);
            if (wlast) begin
                writing <= 1'b0;
                bvalid  <= 1'b1;
            end
        end
    end

    // ---- Or an SDRAM: the machine waits until it is settled

    wire            settled;
    wire            to_arready, from_rvalid, from_rlast, to_awready, to_wready, from_bvalid;
    wire [BITS-1:0] from_rdata;
    wire [1:0]      from_rresp, from_bresp;
    generate
        if (SDRAM == 0) begin : plain
            assign settled    = 1'b1;
            assign to_arready = arready;
            assign {from_rvalid, from_rlast, from_rresp, from_rdata} = {rvalid, rlast, rresp, rdata};
            assign {to_awready, to_wready, from_bvalid, from_bresp}  = {awready, wready, bvalid, bresp};
        end else begin : ram
            wire [3:0]  command;
            wire [1:0]  ba, dqm;
            wire [12:0] a;
            wire [15:0] to_chip, from_chip;
            wire            c_settled, c_arready, c_rvalid, c_rlast, c_awready, c_wready, c_bvalid;
            wire [BITS-1:0] c_rdata;
            wire [1:0]      c_rresp, c_bresp;
            assign settled    = here || c_settled;
            assign to_arready = here ? arready : c_arready;
            assign {from_rvalid, from_rlast, from_rresp, from_rdata} =
                here ? {rvalid, rlast, rresp, rdata} : {c_rvalid, c_rlast, c_rresp, c_rdata};
            assign {to_awready, to_wready, from_bvalid, from_bresp}  =
                here ? {awready, wready, bvalid, bresp} : {c_awready, c_wready, c_bvalid, c_bresp};
            soc_sdram #(.START(16'd7600), .REFRESH(16'd275)) controller (
                .clk(clk), .rst(here || cycle < 64'd8), .settled(c_settled),
                .arvalid(arvalid), .arready(c_arready), .araddr(araddr), .arlen(arlen), .rvalid(c_rvalid),
                .rready(rready), .rdata(c_rdata), .rresp(c_rresp), .rlast(c_rlast), .awvalid(awvalid),
                .awready(c_awready), .awaddr(awaddr), .awlen(awlen), .wvalid(wvalid), .wready(c_wready), .wdata(wdata),
                .wstrb(wstrb), .bvalid(c_bvalid), .bready(bready), .bresp(c_bresp), .cke(), .command(command),
                .ba(ba), .a(a), .dqm(dqm), .dq_out(to_chip), .dq_drive(), .dq_in(from_chip)
            );
            soc_sdram_cells chip (
                .clk(!clk), .command(command), .ba(ba), .a(a), .dqm(dqm), .dq_in(to_chip), .dq_out(from_chip)
            );
        end
    endgenerate

    // ---- The machine

    soc_top #(
        .UART_DIVIDER(DIVIDER), .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .LOG_QUEUE_DEPTH(LOG_QUEUE_DEPTH),
        .ADDR_BITS(ADDR_BITS), .CONFIG_HASH(CONFIG_HASH), .TABLE(TABLE), .LOOP_BACK(LOOP_BACK),
        .DEPTHWISE_TAPS(DEPTHWISE_TAPS), .ROWS(ROWS), .WGT4(WGT4), .PUMP(PUMP), .LANE_DSPS(LANE_DSPS)
    ) soc (
        .clk(clk), .clk2x(1'b0), .rst(rst), .tx(tx), .rx(rx),
        .m_axi_arvalid(arvalid), .m_axi_arready(to_arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_rvalid(from_rvalid), .m_axi_rready(rready), .m_axi_rdata(from_rdata), .m_axi_rresp(from_rresp),
        .m_axi_rlast(from_rlast), .m_axi_awvalid(awvalid), .m_axi_awready(to_awready), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen),
        .m_axi_wvalid(wvalid), .m_axi_wready(to_wready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_bvalid(from_bvalid), .m_axi_bready(bready), .m_axi_bresp(from_bresp)
    );

    // ---- The other end of the line

    reg         sending = 1'b0, taken = 1'b0;
    reg  [7:0]  text;
    wire        busy, full;
    wire [7:0]  heard;
    soc_uart #(.DIVIDER(DIVIDER)) line (
        .clk(clk), .rst(rst), .send(sending && !busy), .send_data(text), .busy(busy), .full(full), .data(heard),
        .taken(taken), .tx(rx_line), .rx(tx)
    );
    wire rx_line;
    always @* rx = rx_line;

    reg  [8*1024-1:0] path, message, sample_path;
    integer           at, file, beat;
    integer           samples = 0;
    reg               asked = 1'b0;     // for a byte of the message
    reg  [63:0]       limit;
    reg  [63:0]       instructions = 64'd0;
    initial begin
        if (!$value$plusargs("cycles=%d", limit)) limit = 64'd100000000;
        if (!$value$plusargs("wait=%d", wait_cycles)) wait_cycles = 20;
        if (!$value$plusargs("image=%s", path)) $finish;
        if (!$value$plusargs("send=%s", message)) message = 0;
        if (SDRAM != 0 && $test$plusargs("sdram") != 0) here = 1'b0;
        if ($value$plusargs("samples=%s", sample_path)) samples = $fopen(sample_path, "w");
        if (here) begin
            file = $fopen(path, "r");
            for (beat = 0; $fscanf(file, "%h", memory[beat]) == 1; beat = beat + 1) ;
            $fclose(file);
        end
        if (here && $value$plusargs("inputs=%s", path) && $value$plusargs("inputs_at=%d", beat)) begin
            file = $fopen(path, "r");
            while ($fscanf(file, "%h", memory[beat]) == 1) beat = beat + 1;
            $fclose(file);
        end
        at = 1023;
    end

    always @(posedge clk) begin
        rst   <= cycle < 64'd8 || !settled;
        taken <= full && !taken;
        if (full && !taken) begin
            if (heard == END) begin
                $write("%0d cycles, %0d instructions\n", cycle, instructions);
                $finish;
            end else if (heard == ENQUIRY) asked <= 1'b1;
            else $write("%c", heard);
        end
        if (samples != 0 && cycle[5:0] == 6'd0) $fwrite(samples, "%h\n", soc.cpu.pc);
        if (soc.cpu.retires) instructions <= instructions + 64'd1;
        // the message stands at the right of its string, behind zeros
        sending <= 1'b0;
        if (asked && !busy && !sending && at >= 0) begin
            text    <= message[8*at +: 8];
            sending <= message[8*at +: 8] != 8'd0;
            at      <= at - 1;
            if (message[8*at +: 8] != 8'd0) asked <= 1'b0;
        end
        if (cycle == limit) begin
            $write("no end: %0d cycles, %0d instructions, at %h\n", cycle, instructions, soc.cpu.pc);
            $finish;
        end
    end
endmodule

`default_nettype wire
