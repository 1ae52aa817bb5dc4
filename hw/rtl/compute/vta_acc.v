// SPDX-License-Identifier: Apache-2.0
//
// vta_acc -- the accumulator scratchpad: banks by the highest address bits, each with one read and one write port.
//
// Contract: three readers: the array, which is never refused, and the ports x and y of the ALU, which take place with
// alu_rd_fire; x_free and y_free tell whether the array leaves them their banks. x and y must not ask for two different
// entries of one bank at once. Data come one cycle after the read and are good in that cycle.
// Three writers: the array and the ALU, which never write in one cycle, and the loads, which wait (load_ready low) while
// their bank is taken.
`include "vta_assert.vh"
`default_nettype none

module vta_acc #(
    parameter integer LOG_LANES     = 4,    // of an entry, 32 bits each
    parameter integer LOG_DEPTH     = 11,
    parameter integer LOG_BANK      = 2     // at most 2, less than LOG_DEPTH
) (
    input  wire                       clk,
    // The waiver: for the assertions.
    // verilator lint_off UNUSEDSIGNAL
    input  wire                       rst,
    // verilator lint_on UNUSEDSIGNAL

    input  wire                       array_rd_en,
    input  wire [LOG_DEPTH-1:0]       array_rd_addr,
    output wire [(32<<LOG_LANES)-1:0] array_rd_data,

    input  wire                       x_en,
    input  wire [LOG_DEPTH-1:0]       x_addr,
    output wire [(32<<LOG_LANES)-1:0] x_data,
    input  wire                       y_en,
    input  wire [LOG_DEPTH-1:0]       y_addr,
    output wire [(32<<LOG_LANES)-1:0] y_data,
    input  wire                       alu_rd_fire,
    output wire                       x_free,
    output wire                       y_free,

    input  wire                       array_wr_en,
    input  wire [LOG_DEPTH-1:0]       array_wr_addr,
    input  wire [(32<<LOG_LANES)-1:0] array_wr_data,
    input  wire                       alu_wr_en,
    input  wire [LOG_DEPTH-1:0]       alu_wr_addr,
    input  wire [(32<<LOG_LANES)-1:0] alu_wr_data,
    input  wire                       load_en,
    output wire                       load_ready,
    input  wire [LOG_DEPTH-1:0]       load_addr,
    input  wire [(32<<LOG_LANES)-1:0] load_data
);
    localparam integer WIDTH    = 32 << LOG_LANES;
    localparam integer BANKS    = 1 << LOG_BANK;
    localparam integer ROW      = LOG_DEPTH - LOG_BANK;

    function [1:0] bank_of(input [LOG_DEPTH-1:0] addr);
        // The waiver: only the highest bits count.
        // verilator lint_off UNUSEDSIGNAL
        reg [LOG_DEPTH+1:0] wide;
        // verilator lint_on UNUSEDSIGNAL
        begin
            wide = {2'b00, addr} >> ROW;
            bank_of = wide[1:0];
        end
    endfunction

    wire [1:0] array_rd_bank = bank_of(array_rd_addr);
    wire [1:0] x_bank        = bank_of(x_addr);
    wire [1:0] y_bank        = bank_of(y_addr);
    wire [1:0] array_wr_bank = bank_of(array_wr_addr);
    wire [1:0] alu_wr_bank   = bank_of(alu_wr_addr);
    wire [1:0] load_bank     = bank_of(load_addr);

    assign x_free = !(array_rd_en && x_bank == array_rd_bank);
    assign y_free = !(array_rd_en && y_bank == array_rd_bank);
    assign load_ready = !(array_wr_en && array_wr_bank == load_bank) && !(alu_wr_en && alu_wr_bank == load_bank);

    // Row and bank that the pipelines write; nobody looks at them while none writes.
    wire [ROW-1:0]       pipe_row  = array_wr_en ? array_wr_addr[ROW-1:0] : alu_wr_addr[ROW-1:0];
    wire [1:0]           pipe_bank = array_wr_en ? array_wr_bank : alu_wr_bank;
    wire                 pipe_en   = array_wr_en || alu_wr_en;

    // Of two banks beside each other, one is offered what the pipelines write and the other one the load, whether they write or not.
    localparam integer PAIRS = (BANKS + 1)/2;
    // The waiver: a single bank has none beside it.
    // verilator lint_off UNUSEDSIGNAL
    wire [2*WIDTH*PAIRS-1:0] wr_data;
    // verilator lint_on UNUSEDSIGNAL
    genvar b;
    generate
        for (b = 0; b < PAIRS; b = b + 1) begin : pair
            localparam [0:0] ME = b;
            wire here   = pipe_en && pipe_bank[1] == ME;
            wire to_odd = here ? pipe_bank[0] : !load_bank[0];
            vta_offer #(.WIDTH(WIDTH)) offer (
                .en(here || (load_en && load_bank[1] == ME)), .by_array(array_wr_en), .to_odd(to_odd), .array(array_wr_data),
                .alu(alu_wr_data), .load(load_data), .even(wr_data[2*WIDTH*b +: WIDTH]), .odd(wr_data[2*WIDTH*b + WIDTH +: WIDTH])
            );
        end
    endgenerate

    // The banks.
    wire [WIDTH*BANKS-1:0] bank_data;
    generate
        for (b = 0; b < BANKS; b = b + 1) begin : bank
            localparam [1:0] ME = b;
            wire by_array = array_rd_en && array_rd_bank == ME;
            wire by_x     = x_en && x_bank == ME;
            wire by_y     = y_en && y_bank == ME;
            wire wr_pipe  = pipe_en && pipe_bank == ME;
            wire wr_load  = load_en && load_ready && load_bank == ME;
            wire [ROW-1:0] rd_row = by_array ? array_rd_addr[ROW-1:0] : by_x ? x_addr[ROW-1:0] : y_addr[ROW-1:0];
            wire [ROW-1:0] wr_row = wr_pipe ? pipe_row : load_addr[ROW-1:0];

            // A row that the ALU asks for and does not get yet is read all the same: that it does not get it is known late.
            vta_ram #(.LOG_DEPTH(ROW), .WIDTH(WIDTH), .SLICE(WIDTH), .WR_WIDTH(WIDTH)) ram (
                .clk(clk),
                .wr_en(wr_pipe || wr_load), .wr_strobe(1'b1), .wr_addr(wr_row), .wr_data(wr_data[WIDTH*b +: WIDTH]),
                .rd_en(by_array || by_x || by_y), .rd_addr(rd_row),
                .rd_data(bank_data[WIDTH*b +: WIDTH])
            );
        end
    endgenerate

    // Readers of each bank's data, known one cycle after the address.
    reg       array_q;
    reg       x_q;
    reg       y_q;
    reg [1:0] array_bank_q;
    reg [1:0] x_bank_q;
    reg [1:0] y_bank_q;
    always @(posedge clk) begin
        array_q <= array_rd_en;
        x_q     <= alu_rd_fire && x_en;
        y_q     <= alu_rd_fire && y_en;
        if (array_rd_en) array_bank_q <= array_rd_bank;
        if (alu_rd_fire) begin
            x_bank_q <= x_bank;
            y_bank_q <= y_bank;
        end
    end

    vta_select #(.WIDTH(WIDTH), .INPUTS(BANKS)) array_select (
        .en(array_q), .in(bank_data), .index(array_bank_q), .out(array_rd_data)
    );
    vta_select #(.WIDTH(WIDTH), .INPUTS(BANKS)) x_select (
        .en(x_q), .in(bank_data), .index(x_bank_q), .out(x_data)
    );
    vta_select #(.WIDTH(WIDTH), .INPUTS(BANKS)) y_select (
        .en(y_q), .in(bank_data), .index(y_bank_q), .out(y_data)
    );

    `VTA_PARAM_CHECK(LOG_BANK <= 2 && LOG_BANK < LOG_DEPTH)
    `VTA_ASSERT(one_writer, !(array_wr_en && alu_wr_en))
    `VTA_ASSERT(two_banks, !(alu_rd_fire && x_en && y_en && x_bank == y_bank && x_addr != y_addr))
    `VTA_ASSERT(array_first, !alu_rd_fire || ((!x_en || x_free) && (!y_en || y_free)))
endmodule

`default_nettype wire
