// SPDX-License-Identifier: Apache-2.0
//
// vta_axi_mem -- for benches: a memory behind AXI4 that checks the rules of the bus.
//
// Bursts are answered in order, the first beat LATENCY cycles after the address, then a beat a cycle. `stall` percent of
// the cycles each channel is held back at random. Write data may be taken long before their address, or an address only when its data
// are offered: `order` says how, and changes at random. Beats in [bad_begin, bad_end) are refused, with SLVERR or DECERR in turn, as are
// those outside of `origin` to `origin` + SIZE, where the memory lies; a bench may set it before the first burst. Any broken rule ends
// the simulation (vta_axi_rules). The contents are `data`, a byte an entry. While `dead` nothing
// new is taken or answered; an answer already shown stands until it is taken, as on any bus.
`default_nettype none

module vta_axi_mem #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer SIZE          = 65536,
    parameter integer LATENCY       = 64
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire [31:0]                   stall,
    input  wire [31:0]                   seed,
    input  wire [31:0]                   bad_begin,
    input  wire [31:0]                   bad_end,
    input  wire                          dead,

    input  wire                          arvalid,
    output reg                           arready,
    input  wire [ADDR_BITS-1:0]          araddr,
    input  wire [7:0]                    arlen,
    output reg                           rvalid,
    input  wire                          rready,
    output reg  [(8<<LOG_BUS_BYTES)-1:0] rdata,
    output reg  [1:0]                    rresp,
    output reg                           rlast,
    input  wire                          awvalid,
    output reg                           awready,
    input  wire [ADDR_BITS-1:0]          awaddr,
    input  wire [7:0]                    awlen,
    input  wire                          wvalid,
    output reg                           wready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] wdata,
    input  wire [(1<<LOG_BUS_BYTES)-1:0] wstrb,
    input  wire                          wlast,
    output reg                           bvalid,
    input  wire                          bready,
    output reg  [1:0]                    bresp
);
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;
    localparam integer FLIGHT    = 64;
    localparam integer EARLY     = 1024;    // beats of data without their address, at most

    reg [7:0] data [0:SIZE-1];
    reg [ADDR_BITS-1:0] origin;

    // Pending bursts, as rings.
    reg [ADDR_BITS-1:0] r_addr [0:FLIGHT-1];
    integer             r_len [0:FLIGHT-1];
    integer             r_time [0:FLIGHT-1];
    integer             r_head, r_tail, r_beat;
    reg [ADDR_BITS-1:0] w_addr [0:FLIGHT-1];
    integer             w_len [0:FLIGHT-1];
    integer             w_head, w_tail;
    integer             b_time [0:FLIGHT-1];
    reg                 b_bad [0:FLIGHT-1];
    integer             b_head, b_tail;
    reg                 w_bad;
    // Beats of data that wait for their address.
    reg [(9<<LOG_BUS_BYTES):0] d_beat [0:EARLY-1];
    integer             d_head, d_tail;
    reg [1:0]           order;      // 0: an address first, 1: in any order, 2: data first
    reg                 go_on;
    integer             now;
    integer             i;
    integer             max_len;

    vta_axi_rules #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)) rules (
        .clk(clk), .rst(rst), .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(arlen),
        .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(rlast),
        .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .awlen(awlen),
        .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(wlast),
        .bvalid(bvalid), .bready(bready), .bresp(bresp)
    );

    reg [31:0] state;
    task draw;
        begin
            state = state ^ (state << 13);
            state = state ^ (state >> 17);
            state = state ^ (state << 5);
        end
    endtask

    function refused(input [ADDR_BITS-1:0] addr);
        refused = addr < origin || addr - origin >= SIZE || (addr - origin + BUS_BYTES > bad_begin && addr - origin < bad_end);
    endfunction

    // Takes a beat of data with its address.
    task take_beat(input [(8<<LOG_BUS_BYTES)-1:0] beat, input [BUS_BYTES-1:0] strobe, input last);
        begin
            for (i = 0; i < BUS_BYTES; i = i + 1) begin
                if (strobe[i] && !refused(w_addr[w_head % FLIGHT])) data[w_addr[w_head % FLIGHT] - origin + i] = beat[i*8 +: 8];
            end
            w_bad = w_bad || refused(w_addr[w_head % FLIGHT]);
            w_addr[w_head % FLIGHT] = w_addr[w_head % FLIGHT] + BUS_BYTES;
            if (last) begin
                b_time[b_tail % FLIGHT] = now + LATENCY / 2;
                b_bad[b_tail % FLIGHT]  = w_bad;
                b_tail = b_tail + 1;
                w_head = w_head + 1;
                w_bad  = 1'b0;
            end
        end
    endtask

    initial begin
        origin = {ADDR_BITS{1'b0}};
        for (i = 0; i < SIZE; i = i + 1) data[i] = 8'd0;
        max_len = 0;
        state = 32'd1;
    end

    always @(posedge clk) begin
        if (rst) begin
            {arready, rvalid, awready, wready, bvalid} <= 5'd0;
            r_head = 0; r_tail = 0; r_beat = 0;
            w_head = 0; w_tail = 0;
            b_head = 0; b_tail = 0;
            d_head = 0; d_tail = 0;
            w_bad = 1'b0;
            order = 2'd0;
            now = 0;
            state = seed | 32'd1;
        end else begin
            now = now + 1;
            // Addresses.
            if (arvalid && arready) begin
                r_addr[r_tail % FLIGHT] = araddr;
                r_len[r_tail % FLIGHT]  = arlen;
                r_time[r_tail % FLIGHT] = now + LATENCY - 1;
                r_tail = r_tail + 1;
                if (arlen > max_len) max_len = arlen;
            end
            if (awvalid && awready) begin
                w_addr[w_tail % FLIGHT] = awaddr;
                w_len[w_tail % FLIGHT]  = awlen;
                w_tail = w_tail + 1;
            end

            // Write data.
            if (wvalid && wready) begin
                d_beat[d_tail % EARLY] = {wlast, wstrb, wdata};
                d_tail = d_tail + 1;
            end
            go_on = 1'b1;
            while (go_on && d_head != d_tail && w_head != w_tail) begin
                take_beat(d_beat[d_head % EARLY][0 +: 8*BUS_BYTES], d_beat[d_head % EARLY][8*BUS_BYTES +: BUS_BYTES],
                          d_beat[d_head % EARLY][9*BUS_BYTES]);
                d_head = d_head + 1;
                go_on  = b_tail - b_head < FLIGHT - 1;
            end
            if (bvalid && bready) bvalid <= 1'b0;
            if ((!bvalid || bready) && b_head != b_tail && b_time[b_head % FLIGHT] <= now && !dead) begin
                draw;
                if (state % 100 >= stall) begin
                    bvalid <= 1'b1;
                    bresp  <= b_bad[b_head % FLIGHT] ? {1'b1, state[9]} : 2'b00;
                    b_head = b_head + 1;
                end
            end

            // Read data.
            if (rvalid && rready) rvalid <= 1'b0;
            if ((!rvalid || rready) && r_head != r_tail && r_time[r_head % FLIGHT] <= now && !dead) begin
                draw;
                if (state % 100 >= stall) begin
                    rvalid <= 1'b1;
                    rresp  <= refused(r_addr[r_head % FLIGHT]) ? {1'b1, state[9]} : 2'b00;
                    rlast  <= r_beat == r_len[r_head % FLIGHT];
                    for (i = 0; i < BUS_BYTES; i = i + 1) rdata[i*8 +: 8] <= data[(r_addr[r_head % FLIGHT] - origin + i) % SIZE];
                    r_addr[r_head % FLIGHT] = r_addr[r_head % FLIGHT] + BUS_BYTES;
                    if (r_beat == r_len[r_head % FLIGHT]) begin
                        r_head = r_head + 1;
                        r_beat = 0;
                    end else begin
                        r_beat = r_beat + 1;
                    end
                end
            end

            draw;
            if (state % 64 == 0) begin
                draw;
                order = state[8] ? 2'd0 : {state[9], !state[9]};
            end
            draw;
            arready <= !dead && state % 100 >= stall && r_tail - r_head < FLIGHT / 2;
            draw;
            // With data first, an address waits for the first beat behind those that have theirs.
            awready <= !dead && state % 100 >= stall && w_tail - w_head < FLIGHT / 2 && b_tail - b_head < FLIGHT / 2
                    && (order != 2'd2 || (!(awvalid && awready) && (wvalid || d_head != d_tail)));
            draw;
            wready <= !dead && state % 100 >= stall && d_tail - d_head < EARLY - 4
                   && (order != 2'd0 || w_tail - w_head > (wvalid && wready && wlast ? 1 : 0));
        end
    end
endmodule

`default_nettype wire
