// SPDX-License-Identifier: Apache-2.0
//
// soc_sdram_chip -- a model of a 16-bit SDRAM of 32 MiB that watches its times: what a controller does too early, too late or
// out of order is said in a line and counted in `faults`. Times are the worst of the chips on boards (speed -75).
//
// Bursts of four, CAS latency 2, no automatic precharge. Of 8,192 rows it has the eight whose numbers differ in bits 12, 5
// and 0, or the first 2,048 (FIRST_ROWS 1: 8 MiB). Data come 6 ns after the clock and go 2.5 ns after the next.
`default_nettype none
`timescale 1ns / 1ps

module soc_sdram_chip #(
    parameter integer FIRST_ROWS = 0
) (
    input  wire        clk,
    input  wire        cke,
    input  wire [3:0]  command,
    input  wire [1:0]  ba,
    input  wire [12:0] a,
    input  wire [1:0]  dqm,
    input  wire [15:0] dq_in,
    input  wire        dq_driven,       // by the controller
    output reg  [15:0] dq_out
);
    localparam real T_POWER = 200000.0, T_RCD = 20.0, T_RP = 20.0, T_RAS = 44.0, T_RC = 66.0, T_RFC = 66.0, T_WR = 15.0,
                    T_RRD = 15.0, T_REFRESH = 7812.5, T_AC = 6.0, T_OH = 2.5;

    integer     faults = 0;
    integer     refreshes = 0;
    reg         moded = 1'b0;
    reg  [3:0]  open = 4'd0;
    reg  [12:0] row [0:3];
    reg  [15:0] cells [0:(1<<(FIRST_ROWS ? 22 : 14))-1];    // row, bank, column
    real        activated [0:3];
    real        precharged [0:3];
    real        activated_any, written [0:3], refreshed, moded_at;
    integer     i;
    initial begin
        for (i = 0; i < 4; i = i + 1) begin
            activated[i] = -1000.0;
            precharged[i] = -1000.0;
            written[i] = -1000.0;
        end
        activated_any = -1000.0;
        refreshed = -1000.0;
        moded_at = -1000.0;
        dq_out = 16'hxxxx;
    end

    task fault(input [8*40-1:0] what);
        begin
            faults = faults + 1;
            if (faults <= 10) $display("%0t: %0s", $realtime, what);
        end
    endtask

    function [21:0] place(input [1:0] bank, input [8:0] column);
        place = FIRST_ROWS ? {row[bank][10:0], bank, column} : {8'd0, row[bank][12], row[bank][5], row[bank][0], bank, column};
    endfunction

    // Reads: the column whose word goes out behind the next edge; writes: the one whose word is here.
    reg  [2:0]  read_left = 3'd0, write_left = 3'd0;
    reg         read_soon = 1'b0;           // a READ at the last edge
    reg  [1:0]  read_bank, write_bank, soon_bank;
    reg  [8:0]  read_column, write_column, soon_column;
    reg  [1:0]  masked = 2'b00, masked_before = 2'b00;

    task take_word(input [1:0] bank, input [8:0] column);
        begin
            if (!dq_driven) fault("no data for a write");
            if (!dqm[0]) cells[place(bank, column)][7:0] = dq_in[7:0];
            if (!dqm[1]) cells[place(bank, column)][15:8] = dq_in[15:8];
            written[bank] = $realtime;
        end
    endtask

    task close(input [1:0] bank);
        if (open[bank]) begin
            if ($realtime - activated[bank] < T_RAS) fault("PRECHARGE before tRAS");
            if ($realtime - written[bank] < T_WR) fault("PRECHARGE before tWR");
            if (write_left != 3'd0 && write_bank == bank) fault("PRECHARGE within a write");
            open[bank] = 1'b0;
            precharged[bank] = $realtime;
        end
    endtask

    always @(posedge clk) if (cke) begin
        // words that were asked for leave; then the command
        dq_out <= #(T_OH) 16'hxxxx;
        if (read_left != 3'd0) begin
            if (dq_driven) fault("both drive the data");
            dq_out <= #(T_AC) cells[place(read_bank, read_column)];
            read_column = read_column + 9'd1;
            read_left = read_left - 3'd1;
        end
        if (read_soon) begin
            if (dq_driven) fault("both drive the data");
            dq_out <= #(T_AC) cells[place(soon_bank, soon_column)];
            {read_bank, read_column, read_left, read_soon} = {soon_bank, soon_column + 9'd1, 3'd3, 1'b0};
        end
        if (write_left != 3'd0) begin
            take_word(write_bank, write_column);
            write_column = write_column + 9'd1;
            write_left = write_left - 3'd1;
        end

        if (command !== 4'b0111 && command[3] !== 1'b1) begin
            if ($realtime < T_POWER) fault("a command within 200 us");
            if ($realtime - refreshed < T_RFC) fault("a command before tRFC");
            if ($realtime - moded_at < 39.0) fault("a command before tMRD");
        end
        case (command)
            4'b0011: begin
                if (!moded) fault("ACTIVATE before the mode is set");
                if (open[ba]) fault("ACTIVATE of an open bank");
                if ($realtime - precharged[ba] < T_RP) fault("ACTIVATE before tRP");
                if ($realtime - activated[ba] < T_RC) fault("ACTIVATE before tRC");
                if ($realtime - activated_any < T_RRD) fault("ACTIVATE before tRRD");
                if ((a & (FIRST_ROWS ? 13'h1800 : 13'h0fde)) != 13'd0) fault("a row that the model does not have");
                {open[ba], row[ba]} = {1'b1, a};
                activated[ba] = $realtime;
                activated_any = $realtime;
            end
            4'b0101, 4'b0100: begin
                if (!open[ba]) fault("an access to a closed bank");
                if ($realtime - activated[ba] < T_RCD) fault("an access before tRCD");
                if (a[10] || a[12:11] != 2'd0 || a[9] || a[1:0] != 2'd0) fault("a column that is none");
                if (read_left > 3'd1 || write_left != 3'd0) fault("a burst that is cut off");
                if (command[0]) {read_soon, soon_bank, soon_column} = {1'b1, ba, a[8:0]};
                else begin
                    if (read_left != 3'd0 || read_soon) fault("WRITE while data come");
                    take_word(ba, a[8:0]);
                    {write_bank, write_column, write_left} = {ba, a[8:0] + 9'd1, 3'd3};
                end
            end
            4'b0010: begin
                if (read_soon || read_left > 3'd1) fault("PRECHARGE within a read");
                if (a[10]) for (i = 0; i < 4; i = i + 1) close(i);
                else close(ba);
            end
            4'b0001: begin
                if (open != 4'd0) fault("REFRESH with an open bank");
                for (i = 0; i < 4; i = i + 1) if ($realtime - precharged[i] < T_RP) fault("REFRESH before tRP");
                if (moded && $realtime - refreshed > T_REFRESH) fault("REFRESH later than 64 ms / 8192");
                refreshes = refreshes + 1;
                refreshed = $realtime;
            end
            4'b0000: begin
                if (refreshes < 8) fault("the mode before eight REFRESHes");
                if (a != 13'h022) fault("another mode");
                moded = 1'b1;
                moded_at = $realtime;
            end
            default: if (command !== 4'b0111 && command[3] !== 1'b1) fault("an unknown command");
        endcase
        if (moded && $realtime - refreshed > 2 * T_REFRESH) begin
            fault("no REFRESH");
            refreshed = $realtime;
        end
    end
endmodule

`default_nettype wire
