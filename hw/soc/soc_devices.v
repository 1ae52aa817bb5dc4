// SPDX-License-Identifier: Apache-2.0
//
// soc_devices -- what the core sees below main memory: a timer, the serial line, and the accelerator's registers.
//
//     1000_0000  UART: a byte to send, or the byte that came    1000_0004  bit 0: busy sending; bit 1: a byte came
//     1000_1000  timer, lower and upper half                    1000_1008  its comparator: an interrupt from then on
//     4000_0000  the accelerator's registers, 8 KiB
//
// Contract: the port is soc_cpu's data port, one access at a time; anything else is answered by a fault. Accesses of the
// accelerator wait until quiet, so that what it reads is in memory when it starts.
`default_nettype none

module soc_devices #(
    parameter integer DIVIDER = 16
) (
    input  wire        clk,
    input  wire        rst,

    input  wire        valid,
    output wire        ready,
    input  wire        is_write,
    input  wire [31:0] addr,
    input  wire [31:0] wdata,
    output wire        done,
    output reg  [31:0] rdata,
    output reg         fault,

    input  wire        quiet,
    output wire        awvalid,
    input  wire        awready,
    output wire [12:0] awaddr,
    output wire        wvalid,
    input  wire        wready,
    output wire [31:0] wdata_out,
    input  wire        bvalid,
    output wire        bready,
    input  wire [1:0]  bresp,
    output wire        arvalid,
    input  wire        arready,
    output wire [12:0] araddr,
    input  wire        rvalid,
    output wire        rready,
    input  wire [31:0] rdata_in,
    input  wire [1:0]  rresp,

    output wire        irq_timer,
    output wire        tx,
    input  wire        rx
);
    localparam [2:0]  IDLE = 3'd0, START = 3'd1, ADDRESS = 3'd2, ANSWER = 3'd3, DONE = 3'd4;
    localparam [15:0] UART = 16'h1000, ACCELERATOR = 16'h4000;

    reg  [2:0]  state;
    reg         on_write;
    reg  [31:0] on_addr, on_data;
    reg         addr_on, data_on;       // of the accelerator's port: what waits to be taken

    wire is_device      = on_addr[31:16] == UART && on_addr[15:13] == 3'd0;
    wire is_uart        = is_device && on_addr[12:3] == 10'd0;
    wire is_timer       = is_device && on_addr[12:4] == 9'h100;
    wire is_accelerator = on_addr[31:16] == ACCELERATOR && on_addr[15:13] == 3'd0;
    wire here           = state == START;

    assign ready = state == IDLE;
    assign done  = state == DONE;

    // ---- The serial line and the timer

    wire       busy, full;
    wire [7:0] received;
    soc_uart #(.DIVIDER(DIVIDER)) uart (
        .clk(clk), .rst(rst), .send(here && is_uart && on_write && !on_addr[2]), .send_data(on_data[7:0]), .busy(busy),
        .full(full), .data(received), .taken(here && is_uart && !on_write && !on_addr[2]), .tx(tx), .rx(rx)
    );

    reg [63:0] now, due;
    reg        late;
    assign irq_timer = late;
    always @(posedge clk) begin
        if (rst) begin
            now  <= 64'd0;
            due  <= ~64'd0;
            late <= 1'b0;
        end else begin
            now  <= now + 64'd1;
            late <= now >= due;
            if (here && is_timer && on_write) begin
                case (on_addr[3:2])
                    2'd0: now[31:0]  <= on_data;
                    2'd1: now[63:32] <= on_data;
                    2'd2: due[31:0]  <= on_data;
                    default: due[63:32] <= on_data;
                endcase
            end
        end
    end

    reg [31:0] value;
    always @* begin
        if (is_uart) value = on_addr[2] ? {30'd0, full, busy} : {24'd0, received};
        else case (on_addr[3:2])
            2'd0: value = now[31:0];
            2'd1: value = now[63:32];
            2'd2: value = due[31:0];
            default: value = due[63:32];
        endcase
    end

    // ---- One access

    assign awvalid   = addr_on && on_write;
    assign wvalid    = data_on;
    assign arvalid   = addr_on && !on_write;
    assign awaddr    = on_addr[12:0];
    assign araddr    = on_addr[12:0];
    assign wdata_out = on_data;
    assign bready    = state == ANSWER;
    assign rready    = state == ANSWER;

    wire answered = state == ANSWER && (on_write ? bvalid : rvalid);
    wire taken    = (!addr_on || (on_write ? awready : arready)) && (!data_on || wready);
    always @(posedge clk) begin
        if (rst) state <= IDLE;
        else case (state)
            IDLE:    if (valid) state <= START;
            START:   if (!is_accelerator) state <= DONE;
                     else if (quiet) state <= ADDRESS;
            ADDRESS: if (taken) state <= ANSWER;
            ANSWER:  if (answered) state <= DONE;
            default: state <= IDLE;
        endcase
    end
    always @(posedge clk) begin
        if (rst) begin
            addr_on <= 1'b0;
            data_on <= 1'b0;
        end else if (state == START) begin
            addr_on <= is_accelerator && quiet;
            data_on <= is_accelerator && quiet && on_write;
        end else begin
            if (on_write ? awready : arready) addr_on <= 1'b0;
            if (wready) data_on <= 1'b0;
        end
    end
    always @(posedge clk) begin
        if (state == IDLE) begin
            on_write <= is_write;
            on_addr  <= addr;
            on_data  <= wdata;
        end
        if (state == START) begin
            rdata <= value;
            fault <= !is_uart && !is_timer;
        end else if (answered) begin
            rdata <= rdata_in;
            fault <= (on_write ? bresp : rresp) != 2'd0;
        end
    end
endmodule

`default_nettype wire
