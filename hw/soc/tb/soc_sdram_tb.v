// SPDX-License-Identifier: Apache-2.0
//
// soc_sdram_tb -- soc_sdram on a model of the chip: bursts of any length, reads and writes at once, any gaps, any bytes, addresses
// beyond the chip; what is read is what was written. +seed=N; ends with "passed" and what was done.
`default_nettype none
`timescale 1ns / 1ps

module soc_sdram_tb;
    localparam integer BURSTS = 400, PAGES = 32;    // pages of 1 KiB: a row of a bank

    reg         clk = 1'b0, rst = 1'b1;
    reg         arvalid = 1'b0, rready = 1'b0, awvalid = 1'b0, wvalid = 1'b0, bready = 1'b0;
    reg  [31:0] araddr, awaddr;
    reg  [7:0]  arlen, awlen, wstrb;
    reg  [63:0] wdata;
    wire        arready, rvalid, rlast, awready, wready, bvalid;
    wire [63:0] rdata;
    wire [1:0]  rresp, bresp;
    wire        cke, drive;
    wire [3:0]  command;
    wire [1:0]  ba, dqm;
    wire [12:0] a;
    wire [15:0] to_chip, from_chip;

    always #10 clk = !clk;
    soc_sdram sdram (
        .clk(clk), .rst(rst), .settled(), .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(arlen), .rvalid(rvalid),
        .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(rlast), .awvalid(awvalid), .awready(awready), .awaddr(awaddr),
        .awlen(awlen), .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .bvalid(bvalid), .bready(bready),
        .bresp(bresp), .cke(cke), .command(command), .ba(ba), .a(a), .dqm(dqm), .dq_out(to_chip), .dq_drive(drive),
        .dq_in(from_chip)
    );

    // Pins and wires take 3 ns there and 1 ns back.
    wire #3 chip_clk = !clk;
    wire [38:0] out;
    assign #3 out = {cke, command, ba, a, dqm, drive, to_chip};
    wire [15:0] back;
    assign #1 from_chip = back;
    soc_sdram_chip chip (
        .clk(chip_clk), .cke(out[38]), .command(out[37:34]), .ba(out[33:32]), .a(out[31:19]), .dqm(out[18:17]),
        .dq_driven(out[16]), .dq_in(out[15:0]), .dq_out(back)
    );

    // ---- What memory has, and which pages are in use

    reg  [7:0]  bytes [0:(PAGES<<10)-1];
    integer     reading [0:PAGES-1];
    integer     writing;                    // a page, or PAGES
    integer     beats_read, beats_written;

    // Page p is one of eight rows of four banks, and the chip's cells are in that order.
    function [31:0] address(input integer page, input integer byte_in);
        address = 32'h8000_0000 | (page & 3) << 10 | (page >> 2 & 1) << 12 | (page >> 3 & 1) << 17 | (page >> 4 & 1) << 24 | byte_in;
    endfunction

    `include "expect.vh"

    task pause;
        if (draw(4) == 0) repeat (draw(draw(8) == 0 ? 600 : 12)) @(posedge clk);
    endtask

    // ---- Writes

    integer     w_page, w_at, w_len, w_beat, w_lane, w_done;
    reg         w_outside;
    initial begin
        w_done = 0;
        @(negedge rst);
        for (w_beat = 0; w_done < BURSTS; w_done = w_done + 1) begin
            w_page = draw(PAGES);
            while (reading[w_page] != 0) begin
                @(posedge clk);
                w_page = draw(PAGES);
            end
            writing = w_page;
            w_outside = draw(16) == 0;
            w_len = draw(8) == 0 ? 128 : 1 + draw(16);
            w_at = 8 * draw(129 - w_len);
            awaddr <= address(w_page, w_at) | (w_outside ? 32'h0200_0000 : 32'd0);
            awlen <= w_len - 1;
            awvalid <= 1'b1;
            for (w_beat = 0; w_beat < w_len; w_beat = w_beat + 1) begin
                wdata <= {$random(seed), $random(seed)};
                wstrb <= draw(3) == 0 ? draw(256) : 8'hff;
                wvalid <= 1'b1;
                @(posedge clk);
                while (!(wvalid && wready)) begin
                    if (awready) awvalid <= 1'b0;
                    @(posedge clk);
                end
                for (w_lane = 0; w_lane < 8; w_lane = w_lane + 1)
                    if (wstrb[w_lane] && !w_outside) bytes[w_page << 10 | w_at + 8 * w_beat + w_lane] = wdata[8*w_lane +: 8];
                wvalid <= 1'b0;
                beats_written = beats_written + 1;
                pause;
            end
            @(posedge clk);
            while (!bvalid) @(posedge clk);
            if (bresp != (w_outside ? 2'd3 : 2'd0)) wrong = wrong + 1;
            pause;
            bready <= 1'b1;
            @(posedge clk);
            bready <= 1'b0;
            @(posedge clk);
            writing = PAGES;
        end
    end

    // ---- Reads: asked for ahead of what came

    reg  [66:0] expected [0:4095];
    integer     pages [0:4095];             // of each beat
    integer     r_put, r_got, r_page, r_at, r_len, r_beat, r_lane, r_done;
    reg  [63:0] r_data;
    reg         r_outside;
    initial begin
        r_done = 0;
        r_put = 0;
        @(negedge rst);
        repeat (20000) @(posedge clk);
        for (r_beat = 0; r_done < BURSTS; r_done = r_done + 1) begin
            r_page = draw(PAGES);
            while (r_page == writing) begin
                @(posedge clk);
                r_page = draw(PAGES);
            end
            reading[r_page] = reading[r_page] + 1;
            r_outside = draw(16) == 0;
            r_len = draw(8) == 0 ? 128 : 1 + draw(16);
            r_at = 8 * draw(129 - r_len);
            for (r_beat = 0; r_beat < r_len; r_beat = r_beat + 1) begin
                for (r_lane = 0; r_lane < 8; r_lane = r_lane + 1)
                    r_data[8*r_lane +: 8] = bytes[r_page << 10 | r_at + 8 * r_beat + r_lane];
                expected[r_put % 4096] = {r_beat == r_len - 1, {2{r_outside}}, r_data};
                pages[r_put % 4096] = r_page;
                r_put = r_put + 1;
            end
            araddr <= address(r_page, r_at) | (r_outside ? 32'h0600_0000 : 32'd0);
            arlen <= r_len - 1;
            arvalid <= 1'b1;
            @(posedge clk);
            while (!arready) @(posedge clk);
            arvalid <= 1'b0;
            pause;
            while (r_put - r_got > 512) @(posedge clk);
        end
    end

    initial begin
        r_got = 0;
        @(negedge rst);
        while (r_done < BURSTS || r_got < r_put) begin
            rready <= draw(4) != 0;
            @(posedge clk);
            if (rvalid && rready) begin
                if ({rlast, rresp} !== expected[r_got % 4096][66:64] ||
                    rresp == 2'd0 && rdata !== expected[r_got % 4096][63:0]) begin
                    wrong = wrong + 1;
                    if (wrong < 10) $display("%0t: beat %0d: %h, expected %h", $realtime, r_got, {rlast, rresp, rdata},
                                             expected[r_got % 4096]);
                end
                if (rlast) reading[pages[r_got % 4096]] = reading[pages[r_got % 4096]] - 1;
                r_got = r_got + 1;
                beats_read = beats_read + 1;
            end
        end
        while (w_done < BURSTS) @(posedge clk);
        repeat (20) @(posedge clk);
        if (wrong == 0 && chip.faults == 0)
            $display("passed: %0d beats written, %0d read, %0d refreshes", beats_written, beats_read, chip.refreshes);
        else $display("failed: %0d wrong, %0d faults of the chip", wrong, chip.faults);
        $finish;
    end

    integer p;
    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        beats_read = 0;
        beats_written = 0;
        writing = PAGES;
        for (p = 0; p < PAGES; p = p + 1) reading[p] = 0;
        // memory and the model start alike
        for (p = 0; p < PAGES << 10; p = p + 1) bytes[p] = $random(seed);
        for (p = 0; p < PAGES << 9; p = p + 1) chip.cells[p] = {bytes[2*p+1], bytes[2*p]};
        repeat (8) @(posedge clk);
        rst <= 1'b0;
        repeat (600000) @(posedge clk);
        $display("failed: no end");
        $finish;
    end
endmodule

`default_nettype wire
