// SPDX-License-Identifier: Apache-2.0
//
// soc_host -- the two caches of a core as one AXI4 master: a line at a time, writes of a word behind each other.
//
// Contract: a line is read when no write is on its way, so that nothing is read before what was written earlier; quiet
// says that none is. The data cache's line goes first where both ask. Bursts are INCR, aligned lines; a write is a beat.
`default_nettype none

module soc_host #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer LOG_BEATS     = 2
) (
    input  wire                          clk,
    input  wire                          rst,

    input  wire                          i_valid,
    output wire                          i_ready,
    input  wire [31:0]                   i_addr,
    input  wire                          d_valid,
    output wire                          d_ready,
    input  wire [31:0]                   d_addr,
    output wire                          i_beat,
    output wire                          d_beat,

    input  wire                          write_valid,
    output wire                          write_ready,
    input  wire [31:2]                   write_addr,
    input  wire [31:0]                   write_data,
    input  wire [3:0]                    write_strb,
    output wire                          quiet,

    output wire                          arvalid,
    input  wire                          arready,
    output wire [31:0]                   araddr,
    output wire [7:0]                    arlen,
    input  wire                          rvalid,
    output wire                          rready,
    input  wire                          rlast,
    output wire                          awvalid,
    input  wire                          awready,
    output wire [31:0]                   awaddr,
    output wire                          wvalid,
    input  wire                          wready,
    output wire [(8<<LOG_BUS_BYTES)-1:0] wdata,
    output wire [(1<<LOG_BUS_BYTES)-1:0] wstrb,
    input  wire                          bvalid,
    output wire                          bready
);
    localparam integer WORDS     = 1 << (LOG_BUS_BYTES - 2);
    localparam integer WORD_BITS = WORDS == 1 ? 1 : LOG_BUS_BYTES - 2;

    // Lines
    reg  asked;                 // the address is on the bus until it is taken
    reg  reading;               // and its beats come
    reg  for_data;
    wire free   = !asked && !reading && quiet && !write_valid;
    reg  [31:0] line_addr;
    assign d_ready = free;
    assign i_ready = free && !d_valid;
    assign arvalid = asked;
    assign araddr  = line_addr;
    assign arlen   = (8'd1 << LOG_BEATS) - 8'd1;
    assign rready  = 1'b1;
    assign d_beat  = rvalid && for_data;
    assign i_beat  = rvalid && !for_data;

    always @(posedge clk) begin
        if (rst) begin
            asked   <= 1'b0;
            reading <= 1'b0;
        end else begin
            if (free && (i_valid || d_valid)) asked <= 1'b1;
            else if (arready) asked <= 1'b0;
            if (asked && arready) reading <= 1'b1;
            else if (rvalid && rlast) reading <= 1'b0;
        end
    end
    always @(posedge clk) begin
        if (free) begin
            for_data  <= d_valid;
            line_addr <= d_valid ? d_addr : i_addr;
        end
    end

    // Writes: one whose address and data wait to be taken, and those whose answers are due
    reg         addr_on, data_on;
    reg  [31:2] on_addr;
    reg  [31:0] on_data;
    reg  [3:0]  on_strb;
    reg  [3:0]  due;
    wire [WORD_BITS-1:0] word = WORDS == 1 ? {WORD_BITS{1'b0}} : on_addr[2 +: WORD_BITS];
    wire        take = write_valid && write_ready;
    assign write_ready = !addr_on && !data_on && !due[3];
    assign quiet   = due == 4'd0;
    assign awvalid = addr_on;
    assign awaddr  = {on_addr[31:LOG_BUS_BYTES], {LOG_BUS_BYTES{1'b0}}};
    assign wvalid  = data_on;
    assign wdata   = {WORDS{on_data}};
    assign bready  = 1'b1;
    genvar i;
    generate
        for (i = 0; i < WORDS; i = i + 1) begin : word_lane
            assign wstrb[4*i +: 4] = {{(32 - WORD_BITS){1'b0}}, word} == i ? on_strb : 4'd0;
        end
    endgenerate

    always @(posedge clk) begin
        if (rst) begin
            addr_on <= 1'b0;
            data_on <= 1'b0;
            due     <= 4'd0;
        end else begin
            if (take) addr_on <= 1'b1;
            else if (awready) addr_on <= 1'b0;
            if (take) data_on <= 1'b1;
            else if (wready) data_on <= 1'b0;
            due <= due + {3'd0, take} - {3'd0, bvalid};
        end
    end
    always @(posedge clk) begin
        if (take) begin
            on_addr <= write_addr;
            on_data <= write_data;
            on_strb <= write_strb;
        end
    end
endmodule

`default_nettype wire
