// SPDX-License-Identifier: Apache-2.0
//
// soc_board_tb -- the machine of a board with its flash and its SDRAM: it boots an image and writes what comes over the serial line to
// stdout, until byte 4 (end of transmission).
//
// +flash=FILE: the flash from FLASH on, a byte a line, in hexadecimal   +cycles=N: the most that it may take
`default_nettype none
`timescale 1ns / 1ps

module soc_board_tb;
    localparam [23:0]  FLASH   = 24'h20_0000;
    localparam integer DIVIDER = 4;
    localparam [7:0]   END     = 8'd4;

    reg         clk = 1'b0, rst = 1'b1;
    wire        tx, booted, failed, cs_n, sck, mosi;
    reg         miso = 1'bx;
    wire        cke, drive;
    wire [3:0]  command;
    wire [1:0]  ba, dqm;
    wire [12:0] a;
    wire [15:0] to_chip, from_chip;
    always #10 clk = !clk;

    soc_board #(.FLASH(FLASH), .UART_DIVIDER(DIVIDER)) board (
        .clk(clk), .rst(rst), .tx(tx), .rx(1'b1), .booted(booted), .failed(failed), .flash_cs_n(cs_n), .flash_sck(sck),
        .flash_mosi(mosi), .flash_miso(miso), .sdram_cke(cke), .sdram_command(command), .sdram_ba(ba), .sdram_a(a),
        .sdram_dqm(dqm), .sdram_dq_out(to_chip), .sdram_dq_drive(drive), .sdram_dq_in(from_chip)
    );

    // ---- The SDRAM, 3 ns there and 1 ns back

    wire #3 chip_clk = !clk;
    wire [38:0] out;
    assign #3 out = {cke, command, ba, a, dqm, drive, to_chip};
    wire [15:0] back;
    assign #1 from_chip = back;
    soc_sdram_chip #(.FIRST_ROWS(1)) chip (
        .clk(chip_clk), .cke(out[38]), .command(out[37:34]), .ba(out[33:32]), .a(out[31:19]), .dqm(out[18:17]),
        .dq_driven(out[16]), .dq_in(out[15:0]), .dq_out(back)
    );

    // ---- The flash: READ (03) and its address, then bytes as long as it is selected; a byte behind the end is ff

    reg  [7:0]  flash [0:(1<<20)-1];
    reg  [31:0] asked;
    integer     bits, reads, wrong_reads;
    always @(negedge cs_n) begin
        bits = 0;
        reads = reads + 1;
    end
    always @(posedge sck) if (!cs_n) begin
        if (bits < 32) asked = {asked[30:0], mosi};
        bits = bits + 1;
        if (bits == 32 && asked[31:24] != 8'h03) wrong_reads = wrong_reads + 1;
    end
    always @(negedge sck) if (!cs_n && bits >= 32)
        miso <= #8 flash[asked[23:0] - FLASH + (bits - 32) / 8][7 - (bits - 32) % 8];

    // ---- The other end of the line

    wire       full;
    reg        taken = 1'b0;
    wire [7:0] heard;
    soc_uart #(.DIVIDER(DIVIDER)) line (
        .clk(clk), .rst(rst), .send(1'b0), .send_data(8'd0), .busy(), .full(full), .data(heard), .taken(taken), .tx(), .rx(tx)
    );

    reg  [8*1024-1:0] path;
    integer           file, at, byte_read;
    reg  [63:0]       limit, cycle = 64'd0, booted_at = 64'd0;
    reg               was_failed = 1'b0;
    initial begin
        reads = 0;
        wrong_reads = 0;
        if (!$value$plusargs("cycles=%d", limit)) limit = 64'd2000000;
        if (!$value$plusargs("flash=%s", path)) $finish;
        for (at = 0; at < 1 << 20; at = at + 1) flash[at] = 8'hff;
        file = $fopen(path, "r");
        for (at = 0; $fscanf(file, "%h", byte_read) == 1; at = at + 1) flash[at] = byte_read;
        $fclose(file);
        repeat (8) @(posedge clk);
        rst <= 1'b0;
    end

    always @(posedge clk) begin
        cycle <= cycle + 64'd1;
        taken <= full && !taken;
        if (failed && !was_failed) begin
            $write("no image\n");
            flash[0] = flash[0] ^ 8'h01;    // what was wrong with it is mended
        end
        was_failed <= failed;
        if (booted && booted_at == 64'd0) booted_at <= cycle;
        if (full && !taken && heard != END) $write("%c", heard);
        if (full && !taken && heard == END || cycle == limit) begin
            if (cycle == limit) $write("no end\n");
            $write("%0d cycles, %0d until it was booted, %0d reads of the flash, %0d others, %0d faults of the SDRAM\n", cycle,
                   booted_at, reads, wrong_reads, chip.faults);
            $finish;
        end
    end
endmodule

`default_nettype wire
