// SPDX-License-Identifier: Apache-2.0
//
// soc_cpu_tb -- a program on the core, with a memory that answers when it likes; what each instruction did goes to a file.
//
// +image=FILE: the memory's words, as $readmemh reads them   +trace=FILE: a line an instruction
// Stores into memory proper are posted or answered, as it is drawn.
// +seed=N   +waits=N: memory takes a request in one of N + 1 cycles, roughly, and answers so as well (0: at once)
// +cycles=N: the most that a program may take
//
// A line: the address, then what the instruction left: "x5 0000002a", "w 00000104 0000002a f" for a store (strobes), "-" for
// neither; or "T", cause and value for a trap, cause 8… for an interrupt. Memory is WORDS words from 0; the last page is no memory but:
//   end - 4: ends the run   end - 8: sets the interrupt lines {external, timer}   end - 12: sets them some cycles later
// All else answers with a fault.
`default_nettype none
`timescale 1ns / 1ps

module soc_cpu_tb;
    localparam integer WORDS = 16384;
    localparam [31:0]  STOP = 4 * WORDS - 4, LINES = 4 * WORDS - 8, LATER = 4 * WORDS - 12;

    reg         clk = 1'b0;
    reg         rst = 1'b1;
    wire        i_valid, i_ready;
    wire [31:0] i_addr;
    reg         i_done = 1'b0;
    reg  [31:0] i_data = 32'd0;
    reg         i_fault = 1'b0;
    wire        d_valid, d_ready, d_write;
    wire [31:0] d_addr, d_wdata;
    wire [3:0]  d_wstrb;
    wire        d_posted;
    reg         d_done = 1'b0;
    reg  [31:0] d_rdata = 32'd0;
    reg         d_fault = 1'b0;
    wire        fence, fence_i;
    reg  [1:0]  lines = 2'd0, lines_later = 2'd0;
    integer     lines_in = 0;

    soc_cpu #(.RESET_PC(32'h0000_0100)) dut (
        .clk(clk), .rst(rst),
        .i_valid(i_valid), .i_ready(i_ready), .i_addr(i_addr), .i_done(i_done), .i_data(i_data), .i_fault(i_fault),
        .d_valid(d_valid), .d_ready(d_ready), .d_posted(d_posted), .d_write(d_write), .d_addr(d_addr), .d_wdata(d_wdata), .d_wstrb(d_wstrb),
        .d_done(d_done), .d_rdata(d_rdata), .d_fault(d_fault),
        .fence(fence), .fence_i(fence_i), .irq_timer(lines[0]), .irq_external(lines[1])
    );

    reg [31:0] memory [0:WORDS-1];
    reg [8*256-1:0] path;
    integer trace, seed, waits, cycles, limit, i;
    reg     stop = 1'b0;

    always #5 clk = !clk;

    // The mood of memory for its four decisions, drawn once a cycle, and whether it answers a store.
    reg [4:0] mood = 5'b11111;
    always @(negedge clk) begin
        for (i = 0; i < 4; i = i + 1) mood[i] = waits == 0 || $urandom(seed) % (waits + 1) == 0;
        mood[4] = $urandom(seed) % 2 == 0;
    end

    reg       d_on = 1'b0;

    // Instructions: two requests at most, answered in order.
    reg [31:0] i_first, i_second;
    integer    i_count = 0;
    assign i_ready = mood[0] && i_count < 2 && !(d_on && d_on_posted);  // nothing is read before what was written
    always @(posedge clk) begin
        i_done <= 1'b0;
        if (i_count > 0 && mood[1]) begin
            i_done  <= 1'b1;
            i_fault <= i_first >= 4 * WORDS;
            i_data  <= i_first >= 4 * WORDS ? 32'hdead_dead : memory[i_first[31:2] % WORDS];
            i_first = i_second;
            i_count = i_count - 1;
        end
        if (i_valid && i_ready) begin
            if (i_count == 0) i_first = i_addr;
            else i_second = i_addr;
            i_count = i_count + 1;
        end
    end

    // Data: one request.
    reg        d_on_posted = 1'b0;
    reg        d_on_write;
    reg [31:0] d_on_addr, d_on_data;
    reg [3:0]  d_on_strb;
    assign d_ready  = mood[2] && !d_on;
    assign d_posted = mood[4] && d_write && d_addr < LATER;
    always @(posedge clk) begin
        d_done <= 1'b0;
        if (lines_in > 0) begin
            lines_in = lines_in - 1;
            if (lines_in == 0) lines <= lines_later;
        end
        if (d_on && mood[3]) begin
            d_on    = 1'b0;
            d_done  <= !d_on_posted;
            d_fault <= d_on_addr >= 4 * WORDS;
            d_rdata <= d_on_addr >= 4 * WORDS ? 32'hdead_dead : memory[d_on_addr[31:2] % WORDS];
            if (d_on_write && d_on_addr < 4 * WORDS) begin
                for (i = 0; i < 4; i = i + 1) if (d_on_strb[i]) memory[d_on_addr[31:2]][8*i +: 8] = d_on_data[8*i +: 8];
                if (d_on_addr == STOP) stop = 1'b1;
                if (d_on_addr == LINES) lines <= d_on_data[1:0];
                if (d_on_addr == LATER) begin
                    lines_later = d_on_data[1:0];
                    lines_in = 2 + $urandom(seed) % 40;
                end
            end
        end
        if (d_valid && d_ready) begin
            d_on       = 1'b1;
            d_on_posted = d_posted;
            d_on_write = d_write;
            d_on_addr  = d_addr;
            d_on_data  = d_wdata;
            d_on_strb  = d_wstrb;
        end
    end

    // A line for what retires or traps at this edge; a store may have left before.
    reg [31:0] store_pc, store_addr, store_data;
    reg [3:0]  store_strb;
    always @(posedge clk) if (!rst) begin
        if (d_valid && d_ready) {store_pc, store_addr, store_data, store_strb} <= {dut.pc, d_addr, d_wdata, d_wstrb};
        if (dut.trap) $fdisplay(trace, "%h T %h %h", dut.away ? store_pc : dut.pc, {dut.interrupted, 27'd0, dut.cause}, dut.trap_value);
        else if (dut.retires && dut.away) $fdisplay(trace, "%h w %h %h %h", store_pc, store_addr, store_data, store_strb);
        else if (dut.finish && dut.is_store) $fdisplay(trace, "%h w %h %h %h", dut.pc, d_addr, d_wdata, d_wstrb);
        else if (dut.finish && dut.has_result) $fdisplay(trace, "%h x%0d %h", dut.pc, dut.rd, dut.result);
        else if (dut.finish) $fdisplay(trace, "%h -", dut.pc);
    end

    initial begin
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        if (!$value$plusargs("waits=%d", waits)) waits = 0;
        if (!$value$plusargs("cycles=%d", limit)) limit = 200000;
        if (!$value$plusargs("image=%s", path)) $finish;
        $readmemh(path, memory);
        if (!$value$plusargs("trace=%s", path)) $finish;
        trace = $fopen(path, "w");
        repeat (3) @(posedge clk);
        rst <= 1'b0;
        for (cycles = 0; cycles < limit && !stop; cycles = cycles + 1) @(posedge clk);
        repeat (4 + 8 * waits) @(posedge clk);
        $fclose(trace);
        $display("%0d cycles%0s", cycles, stop ? "" : ": no end");
        $finish;
    end
endmodule

`default_nettype wire
