// SPDX-License-Identifier: Apache-2.0
//
// soc_devices_tb -- soc_devices and its serial line, cycle by cycle: what is sent lasts as long as it is to, what comes is heard with
// bits that are too long or too short, the timer counts and interrupts to the cycle, the accelerator's registers answer when and what they
// like, and all else is a fault. +seed=N; ends with "passed" and what was done.
`default_nettype none
`timescale 1ns / 1ps

module soc_devices_tb;
    localparam integer DIVIDER = 10, ROUNDS = 600;

    reg         clk = 1'b0, rst = 1'b1;
    reg         valid = 1'b0, is_write = 1'b0, quiet = 1'b1, rx = 1'b1;
    reg  [31:0] addr, wdata;
    wire        ready, done, fault, irq_timer, tx;
    wire [31:0] rdata;
    wire        awvalid, wvalid, bready, arvalid, rready;
    wire [12:0] awaddr, araddr;
    wire [31:0] wdata_out;
    reg         awready = 1'b0, wready = 1'b0, arready = 1'b0, bvalid = 1'b0, rvalid = 1'b0;
    reg  [1:0]  bresp, rresp;
    reg  [31:0] rdata_in;

    always #5 clk = !clk;
    soc_devices #(.DIVIDER(DIVIDER)) dut (
        .clk(clk), .rst(rst), .valid(valid), .ready(ready), .is_write(is_write), .addr(addr), .wdata(wdata), .done(done),
        .rdata(rdata), .fault(fault), .quiet(quiet), .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .wvalid(wvalid),
        .wready(wready), .wdata_out(wdata_out), .bvalid(bvalid), .bready(bready), .bresp(bresp), .arvalid(arvalid),
        .arready(arready), .araddr(araddr), .rvalid(rvalid), .rready(rready), .rdata_in(rdata_in), .rresp(rresp),
        .irq_timer(irq_timer), .tx(tx), .rx(rx)
    );

    `include "expect.vh"

    // ---- One access

    reg  [31:0] got;
    reg         failed;
    task access(input write, input [31:0] at, input [31:0] data);
        begin
            repeat (draw(3)) @(posedge clk);
            {valid, is_write, addr, wdata} <= {1'b1, write, at, data};
            @(posedge clk);
            while (!ready) @(posedge clk);
            valid <= 1'b0;
            if (draw(2) == 0) {is_write, addr, wdata} <= {1'b0, $random(seed), $random(seed)};
            @(posedge clk);
            while (!done) @(posedge clk);
            {got, failed} = {rdata, fault};
        end
    endtask

    // ---- The accelerator's registers: addresses and data are taken in any order, answers come when they like

    reg  [31:0] registers [0:2047];
    reg         aw_on = 1'b0, w_on = 1'b0, ar_on = 1'b0, was_quiet = 1'b1, was_asking = 1'b0;
    reg  [1:0]  answer;                 // the next one
    integer     starts = 0;
    always @(posedge clk) begin
        quiet <= draw(4) != 0;
        was_quiet <= quiet;
        was_asking <= awvalid || wvalid || arvalid;
        {awready, wready, arready} <= draw(8);
        if ((awvalid || wvalid || arvalid) && !was_asking) begin
            if (!aw_on && !w_on) starts <= starts + 1;
            expect_that(was_quiet || aw_on || w_on, "asked before it is quiet");
        end
        if (awvalid && awready) begin
            expect_that(!aw_on && awaddr == addr_now[12:0] && write_now, "another address to write");
            aw_on <= 1'b1;
        end
        if (wvalid && wready) begin
            expect_that(!w_on && wdata_out == data_now && write_now, "other data to write");
            w_on <= 1'b1;
        end
        if (arvalid && arready) begin
            expect_that(!ar_on && araddr == addr_now[12:0] && !write_now, "another address to read");
            ar_on <= 1'b1;
        end
        expect_that(!(aw_on && w_on) || bready, "no place for the answer of a write");
        expect_that(!ar_on || rready, "no place for the answer of a read");
        if (aw_on && w_on && !bvalid && draw(3) == 0) {bvalid, bresp} <= {1'b1, answer};
        if (ar_on && !rvalid && draw(3) == 0) {rvalid, rresp, rdata_in} <= {1'b1, answer, registers[addr_now[12:2]]};
        if (bvalid && bready) begin
            {bvalid, bresp, aw_on, w_on} <= {1'b0, 2'bxx, 2'b00};
            registers[addr_now[12:2]] <= data_now;
        end
        if (rvalid && rready) {rvalid, rresp, rdata_in, ar_on} <= {1'b0, 2'bxx, 32'hxxxx_xxxx, 1'b0};
        if (rst) {bvalid, rvalid, aw_on, w_on, ar_on} <= 5'd0;
    end

    reg  [31:0] addr_now, data_now;     // of the access that is on
    reg         write_now;
    integer     index;
    task use_register;
        begin
            index = draw(2048);
            {addr_now, data_now, write_now} = {32'h4000_0000 | index << 2, $random(seed), draw(2) == 0};
            answer = draw(4) == 0 ? draw(4) : 2'd0;
            access(write_now, addr_now, data_now);
            expect_that(failed == (answer != 2'd0), "the accelerator's answer is lost");
            expect_that(write_now || got == registers[index], "other data of a register");
        end
    endtask

    // ---- The timer: a model beside it, right in the cycle in which an access is done

    reg  [63:0] now, due;
    reg         late;
    always @(posedge clk) begin
        if (rst) {now, due, late} <= {64'd0, ~64'd0, 1'b0};
        else begin
            late <= now >= due;
            now <= now + 64'd1;
            expect_that(irq_timer == late, "the timer's interrupt");
        end
    end
    // Written fields are there in the cycle in which the access is done.
    reg         setting = 1'b0;
    reg  [1:0]  which;
    reg  [31:0] value;
    always @(negedge clk) if (done && setting) begin
        case (which)
            2'd0: now[31:0] = value;
            2'd1: now[63:32] = value;
            2'd2: due[31:0] = value;
            default: due[63:32] = value;
        endcase
        setting = 1'b0;
    end
    task set_timer(input [1:0] number, input [31:0] data);
        begin
            {setting, which, value} = {1'b1, number, data};
            access(1'b1, 32'h1000_1000 | which << 2, data);
        end
    endtask

    // ---- The serial line

    reg  [7:0]  sent;
    integer     i, heard = 0, spoken = 0;
    task send_byte;
        begin
            sent = $random(seed);
            access(1'b1, 32'h1000_0000, {$random(seed), sent});
            // the byte is taken two cycles before the access is done
            while (tx) @(negedge clk);
            for (i = 0; i < 10 * DIVIDER; i = i + 1) begin
                expect_that(dut.busy, "busy ends before the stop bit");
                expect_that(tx == (i < DIVIDER ? 1'b0 : i < 9 * DIVIDER ? sent[i / DIVIDER - 1] : 1'b1), "what is sent");
                @(negedge clk);
            end
            spoken = spoken + 1;
            expect_that(!dut.busy, "busy behind the stop bit");
            if (draw(3) == 0) access(1'b1, 32'h1000_0004, $random(seed));   // sends nothing
            repeat (draw(20)) begin
                expect_that(tx, "the line at rest");
                @(negedge clk);
            end
        end
    endtask

    // A byte while one is being sent goes nowhere, and the line says that it is busy.
    task send_twice;
        begin
            access(1'b1, 32'h1000_0000, 32'h0000_00ff);
            repeat (2 * DIVIDER) @(posedge clk);
            access(1'b1, 32'h1000_0000, 32'h0000_0000);
            access(1'b0, 32'h1000_0004, 32'd0);
            expect_that(got == 32'd1 && !failed, "busy is not told");
            repeat (9 * DIVIDER) begin
                @(negedge clk);
                expect_that(tx, "a byte that was sent while busy");
            end
            access(1'b0, 32'h1000_0004, 32'd0);
            expect_that(got == 32'd0 && !failed, "busy is told for too long");
        end
    endtask

    // A frame of ten bits whose length is off by `drift` cycles in all. The line is looked at after six tenths of a bit.
    task frame(input [9:0] bits, input integer drift, input first);
        integer b, from, to;
        begin
            from = 0;
            for (b = 0; b < 10; b = b + 1) begin
                rx <= bits[b];
                expect_that(!first || !dut.full, "a byte is told before its end");
                to = (b + 1) * DIVIDER + (drift * (b + 1) - (drift < 0 ? 9 : 0)) / 10;
                repeat (to - from) @(posedge clk);
                from = to;
            end
            rx <= 1'b1;
        end
    endtask

    reg  [7:0]  byte_in;
    reg         first;
    task hear_byte;
        begin
            first = 1'b1;
            access(1'b0, 32'h1000_0000, 32'd0);     // whose address may stay, and takes no byte that comes later
            byte_in = $random(seed);
            if (draw(4) == 0) begin         // a spike is no start bit
                rx <= 1'b0;
                repeat (1 + draw(DIVIDER / 2 - 1)) @(posedge clk);
                rx <= 1'b1;
                repeat (2 * DIVIDER) @(posedge clk);
            end
            if (draw(4) == 0) begin         // nor is this the end of a byte
                frame({1'b0, ~byte_in, 1'b0}, 0, 1'b1);
                repeat (12 * DIVIDER) @(posedge clk);
                expect_that(!dut.full, "a byte without its stop bit");
            end
            if (draw(4) == 0) begin         // the next byte takes the place of one that nobody took
                frame({1'b1, ~byte_in, 1'b0}, 0, 1'b1);
                first = 1'b0;
                repeat (draw(8)) @(posedge clk);
            end
            frame({1'b1, byte_in, 1'b0}, draw(11) - 3, first);
            repeat (DIVIDER) @(posedge clk);
            if (draw(4) == 0) begin         // a frame without its stop bit is none
                frame({1'b0, ~byte_in, 1'b0}, 0, 1'b0);
                repeat (2 * DIVIDER) @(posedge clk);
                repeat (12 * DIVIDER) @(posedge clk);
            end
            access(1'b0, 32'h1000_0004, 32'd0);
            expect_that(got == 32'd2 && !failed, "a byte that came is not told");
            access(1'b0, 32'h1000_0000, 32'd0);
            expect_that(got == {24'd0, byte_in} && !failed, "another byte came");
            access(1'b0, 32'h1000_0004, 32'd0);
            expect_that(got == 32'd0, "a byte is there twice");
            heard = heard + 1;
        end
    endtask

    // ---- What is nowhere

    reg  [31:0] place;
    task miss;
        begin
            case (draw(8))
                0: place = 32'h1000_0008 << draw(9);
                1: place = 32'h1000_1010 | draw(4) << 2;
                2: place = 32'h1000_2000 << draw(2) | draw(8);
                3: place = (draw(2) == 0 ? 32'h1000_0000 : 32'h1000_1000) ^ 32'h2000 << draw(19);
                4: place = 32'h4000_0000 ^ 32'h2000 << draw(19);
                5: place = 32'h4000_2000 << draw(2);
                6: place = 32'h1000_1000 | 32'h10 << draw(8);
                default: place = 32'h1000_0000 | 32'h8 << draw(9);
            endcase
            if (place[31:16] == 16'h4000 && place[15:13] == 3'd0 || place[31:4] == 28'h100_0100 || place[31:3] == 29'h200_0000)
                place = 32'h2000_0000;
            access(draw(2) == 0, place, $random(seed));
            expect_that(failed, "nothing is there, and it answers");
        end
    endtask

    // ---- A reset within everything

    task reset_within;
        begin
            set_timer(2'd3, 32'd0);
            set_timer(2'd2, 32'd0);
            access(1'b1, 32'h1000_0000, 32'd0);
            {addr_now, data_now, write_now} = {32'h4000_0000, 32'd0, draw(2) == 0};
            {valid, is_write, addr, wdata, rx} <= {1'b1, write_now, addr_now, data_now, 1'b0};
            @(posedge clk);
            while (!ready) @(posedge clk);
            valid <= 1'b0;
            repeat (1 + draw(6)) @(posedge clk);
            {rst, rx} <= 2'b11;
            repeat (4) @(posedge clk);
            rst <= 1'b0;
            @(negedge clk);
            expect_that(ready && !done && !awvalid && !wvalid && !arvalid && tx && !irq_timer && !dut.busy && !dut.full,
                        "what a reset leaves");
            repeat (12 * DIVIDER) @(posedge clk);
            expect_that(!dut.full, "a byte that a reset cut off");
        end
    endtask

    integer round;
    reg [63:0] then;
    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        for (i = 0; i < 2048; i = i + 1) registers[i] = $random(seed);
        {addr_now, data_now, write_now, answer} = 0;
        repeat (4) @(posedge clk);
        rst <= 1'b0;
        repeat (4) @(posedge clk);
        for (round = 0; round < ROUNDS; round = round + 1) begin
            if (draw(32) == 0) reset_within;
            case (draw(8))
                0: send_byte;
                1: if (draw(4) == 0) send_twice; else send_byte;
                2: hear_byte;
                3: miss;
                4: begin
                    index = draw(2);
                    access(1'b0, 32'h1000_1000 | index << 2, 32'd0);
                    then = now - 64'd1;     // it was read a cycle before
                    expect_that(got == (index ? then[63:32] : then[31:0]) && !failed, "the time");
                end
                5: begin
                    if (draw(4) == 0) begin
                        set_timer(2'd1, draw(3) == 0 ? 32'hffff_ffff : draw(3));
                        set_timer(2'd0, 32'hffff_ffff - draw(60));
                    end
                    then = now + draw(120);
                    set_timer(2'd3, draw(8) == 0 ? ~then[63:32] : then[63:32]);
                    set_timer(2'd2, then[31:0]);
                    access(1'b0, 32'h1000_100c, 32'd0);
                    expect_that(got == due[63:32] && !failed, "the comparator's upper half");
                    access(1'b0, 32'h1000_1008, 32'd0);
                    expect_that(got == due[31:0] && !failed, "the comparator's lower half");
                end
                default: use_register;
            endcase
        end
        if (wrong == 0 && starts > 0) $display("passed: %0d bytes sent, %0d heard, %0d registers", spoken, heard, starts);
        else $display("failed: %0d wrong", wrong);
        $finish;
    end
endmodule

`default_nettype wire
