// SPDX-License-Identifier: Apache-2.0
//
// soc_boot_tb -- soc_boot between a flash, whose image is damaged in a drawn place at first, and a memory that answers late: what it asks the
// flash for, what reaches memory where, and when it says that it is done, or that it failed. +seed=N; ends with "passed".
`default_nettype none
`timescale 1ns / 1ps

module soc_boot_tb;
    localparam integer BEATS = 24;
    localparam [23:0]  FLASH = 24'h5a_c3e0;
    localparam [31:0]  MEMORY = 32'h8123_4560;

    reg         clk = 1'b0, rst = 1'b1, miso, awready = 1'b0, wready = 1'b0, bvalid = 1'b0;
    wire        done, failed, cs_n, sck, mosi, awvalid, wvalid;
    wire [31:0] awaddr;
    wire [63:0] wdata;
    always #5 clk = !clk;
    soc_boot #(.FLASH(FLASH), .MEMORY(MEMORY)) dut (
        .clk(clk), .rst(rst), .done(done), .failed(failed), .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .awvalid(awvalid),
        .awready(awready), .awaddr(awaddr), .wvalid(wvalid), .wready(wready), .wdata(wdata), .bvalid(bvalid)
    );

    `include "expect.vh"

    // ---- The flash: header and beats, little endian, a byte's highest bit first; MISO changes a while after SCK falls

    localparam integer BYTES = 12 + 8 * BEATS;
    reg  [7:0]  image [0:BYTES-1];
    reg  [31:0] command;
    integer     bits, reads = 0, damaged, length, i;
    reg  [31:0] sum;
    reg  [7:0]  byte_now;
    always @(negedge cs_n) begin
        bits = 0;
        reads = reads + 1;
        expect_that(!sck, "a clock that is high at first");
    end
    always @(posedge sck) if (!cs_n) begin
        if (bits < 32) command = {command[30:0], mosi};
        if (bits == 31) expect_that(command == {8'h03, FLASH}, "another command");
        bits = bits + 1;
        expect_that(bits <= 32 + 8 * (12 + length), "more than the image");
    end
    always @(negedge sck) begin
        #12 miso = 1'bx;
        if (bits >= 32 && bits < 32 + 8 * BYTES) begin
            byte_now = image[(bits - 32) / 8];
            // at the first reads one bit of it is another
            miso = byte_now[7 - bits % 8] ^ (reads <= 1 && damaged == bits - 32);
        end else if (bits >= 32) miso = 1'b0;
    end
    always @(posedge clk) if (!rst) expect_that(cs_n || !done, "done while the flash is read");

    task put(input integer at, input [31:0] word);
        {image[at+3], image[at+2], image[at+1], image[at]} = word;
    endtask

    // ---- Memory: address and data in any order; answers late, but for eight bytes more

    reg         aw_on = 1'b0, w_on = 1'b0, good;
    reg  [31:0] at;
    integer     written = 0, due = 0, late = 0;
    always @(posedge clk) begin
        if (bvalid) due = due - 1;
        if (awvalid && awready) begin
            expect_that(!aw_on, "a second address");
            {aw_on, at} = {1'b1, awaddr};
        end
        if (wvalid && wready) begin
            expect_that(!w_on, "a second beat");
            w_on = 1'b1;
            for (i = 0; i < 8; i = i + 1)
                expect_that(wdata[8*i +: 8] == (image[12 + 8 * written + i] ^ (reads > 1 || (damaged - 96) / 8 != 8 * written + i || damaged < 96 ?
                            8'd0 : 8'h80 >> damaged % 8)), "other bytes");
        end
        if (aw_on && w_on && due == 0) begin
            expect_that(at == MEMORY + 8 * written, "another place of memory");
            {written, due} = {written + 32'd1, 32'd1};
            late = 1 + draw(100);
            {aw_on, w_on} = 2'b00;
        end
        late = late - 1;
        if (!rst) expect_that(!done || due == 0 && written == length / 8 && !aw_on && !w_on && reads >= 2, "done too early");
        if (cs_n && reads == 0) written = 0;
        #1;
        {awready, wready} <= draw(4);
        bvalid <= due == 1 && late == 0;
    end
    always @(negedge cs_n) written = 0;

    integer cycle;
    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        length = 8 * (1 + draw(BEATS));
        sum = 32'd0;
        for (i = 12; i < BYTES; i = i + 4) put(i, $random(seed));
        for (i = 12; i < 12 + length; i = i + 4) sum = sum + {image[i+3], image[i+2], image[i+1], image[i]};
        put(0, 32'h3141_5456);
        put(4, length);
        put(8, sum);
        // in the magic word, the sum or the data: not in the length
        damaged = draw(2) == 0 ? draw(32) : 64 + draw(32 + 8 * length);
        repeat (3) @(posedge clk);
        #1 expect_that(cs_n && !awvalid && !wvalid && !done, "it begins in reset");
        expect_that(!failed, "it failed in reset");
        rst = 1'b0;
        for (cycle = 0; cycle < 40000 && !done && wrong < 10; cycle = cycle + 1) begin
            @(posedge clk);
            #1 if (reads < 2) good = !failed || cs_n;
            expect_that(reads != 1 || good, "it failed before it knows");
            expect_that(reads != 2 || failed || cs_n, "failed is gone before it is done");
        end
        expect_that(done && !failed, "it is done, and failed no longer");
        repeat (300) @(posedge clk) expect_that(done && !failed && cs_n && !sck && !awvalid && !wvalid, "it stays done");
        if (wrong == 0 && reads == 2) $display("passed: %0d beats, bit %0d wrong at first, %0d cycles", length / 8, damaged, cycle);
        else $display("failed: %0d wrong, %0d reads", wrong, reads);
        $finish;
    end
endmodule

`default_nettype wire
