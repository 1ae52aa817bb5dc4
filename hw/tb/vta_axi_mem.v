// SPDX-License-Identifier: Apache-2.0
//
// vta_axi_mem -- for benches: a memory behind AXI4 that checks the rules of the bus.
//
// Bursts are answered in order, the first beat LATENCY cycles after the address, then a beat a cycle. `stall` percent of
// the cycles each channel is held back at random. Bursts that touch [bad_begin, bad_end) are refused with SLVERR, as are
// those beyond SIZE. Any broken rule ends the simulation. The contents are `data`, a byte an entry. While `dead` nothing
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

    reg [7:0] data [0:SIZE-1];

    // Pending bursts, as rings.
    reg [ADDR_BITS-1:0] r_addr [0:FLIGHT-1];
    integer             r_len [0:FLIGHT-1];
    integer             r_time [0:FLIGHT-1];
    integer             r_head, r_tail, r_beat;
    reg [ADDR_BITS-1:0] w_addr [0:FLIGHT-1];
    integer             w_len [0:FLIGHT-1];
    integer             w_head, w_tail, w_beat;
    integer             b_time [0:FLIGHT-1];
    reg                 b_bad [0:FLIGHT-1];
    integer             b_head, b_tail;
    reg                 w_bad;
    integer             now;
    integer             i;
    integer             max_len;

    // What the masters showed in the cycle before, for the rule that an offer must stand until it is taken.
    reg                          ar_held, aw_held, w_held;
    reg [ADDR_BITS+7:0]          ar_was, aw_was;
    reg [(9<<LOG_BUS_BYTES):0]   w_was;

    reg [31:0] state;
    task draw;
        begin
            state = state ^ (state << 13);
            state = state ^ (state >> 17);
            state = state ^ (state << 5);
        end
    endtask

    task check_burst(input [ADDR_BITS-1:0] addr, input [7:0] len);
        begin
            if (addr % BUS_BYTES != 0) $fatal(1, "burst at %0h is not aligned", addr);
            if (addr[11:0] + (len + 1) * BUS_BYTES > 4096) $fatal(1, "burst at %0h crosses 4 KiB", addr);
        end
    endtask

    function refused(input [ADDR_BITS-1:0] addr);
        refused = addr >= SIZE || (addr + BUS_BYTES > bad_begin && addr < bad_end);
    endfunction

    initial begin
        for (i = 0; i < SIZE; i = i + 1) data[i] = 8'd0;
        max_len = 0;
        state = 32'd1;
    end

    always @(posedge clk) begin
        if (rst) begin
            {arready, rvalid, awready, wready, bvalid} <= 5'd0;
            r_head = 0; r_tail = 0; r_beat = 0;
            w_head = 0; w_tail = 0; w_beat = 0;
            b_head = 0; b_tail = 0;
            w_bad = 1'b0;
            now = 0;
            {ar_held, aw_held, w_held} = 3'd0;
            state = seed | 32'd1;
        end else begin
            now = now + 1;
            if (ar_held && !(arvalid && {araddr, arlen} === ar_was)) $fatal(1, "AR changed before it was taken");
            if (aw_held && !(awvalid && {awaddr, awlen} === aw_was)) $fatal(1, "AW changed before it was taken");
            if (w_held && !(wvalid && {wdata, wstrb, wlast} === w_was)) $fatal(1, "W changed before it was taken");
            ar_held = arvalid && !arready;  ar_was = {araddr, arlen};
            aw_held = awvalid && !awready;  aw_was = {awaddr, awlen};
            w_held  = wvalid && !wready;    w_was = {wdata, wstrb, wlast};
            if ((^{arvalid, awvalid, wvalid, rready, bready}) === 1'bx) $fatal(1, "a handshake is undefined");

            // Addresses.
            if (arvalid && arready) begin
                check_burst(araddr, arlen);
                r_addr[r_tail % FLIGHT] = araddr;
                r_len[r_tail % FLIGHT]  = arlen;
                r_time[r_tail % FLIGHT] = now + LATENCY - 1;
                r_tail = r_tail + 1;
                if (arlen > max_len) max_len = arlen;
            end
            if (awvalid && awready) begin
                check_burst(awaddr, awlen);
                w_addr[w_tail % FLIGHT] = awaddr;
                w_len[w_tail % FLIGHT]  = awlen;
                w_tail = w_tail + 1;
            end

            // Write data.
            if (wvalid && wready) begin
                if (w_head == w_tail) $fatal(1, "write data without an address");
                for (i = 0; i < BUS_BYTES; i = i + 1) begin
                    if (wstrb[i] && !refused(w_addr[w_head % FLIGHT])) data[w_addr[w_head % FLIGHT] + i] = wdata[i*8 +: 8];
                end
                w_bad = w_bad || refused(w_addr[w_head % FLIGHT]);
                if (wlast !== (w_beat == w_len[w_head % FLIGHT])) $fatal(1, "WLAST in beat %0d of %0d", w_beat, w_len[w_head % FLIGHT]);
                w_addr[w_head % FLIGHT] = w_addr[w_head % FLIGHT] + BUS_BYTES;
                w_beat = w_beat + 1;
                if (wlast) begin
                    b_time[b_tail % FLIGHT] = now + LATENCY / 2;
                    b_bad[b_tail % FLIGHT]  = w_bad;
                    b_tail = b_tail + 1;
                    w_head = w_head + 1;
                    w_beat = 0;
                    w_bad  = 1'b0;
                end
            end
            if (bvalid && bready) bvalid <= 1'b0;
            if ((!bvalid || bready) && b_head != b_tail && b_time[b_head % FLIGHT] <= now && !dead) begin
                draw;
                if (state % 100 >= stall) begin
                    bvalid <= 1'b1;
                    bresp  <= b_bad[b_head % FLIGHT] ? 2'b10 : 2'b00;
                    b_head = b_head + 1;
                end
            end

            // Read data.
            if (rvalid && rready) rvalid <= 1'b0;
            if ((!rvalid || rready) && r_head != r_tail && r_time[r_head % FLIGHT] <= now && !dead) begin
                draw;
                if (state % 100 >= stall) begin
                    rvalid <= 1'b1;
                    rresp  <= refused(r_addr[r_head % FLIGHT]) ? 2'b10 : 2'b00;
                    rlast  <= r_beat == r_len[r_head % FLIGHT];
                    for (i = 0; i < BUS_BYTES; i = i + 1) rdata[i*8 +: 8] <= data[(r_addr[r_head % FLIGHT] + i) % SIZE];
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
            arready <= !dead && state % 100 >= stall && r_tail - r_head < FLIGHT / 2;
            draw;
            awready <= !dead && state % 100 >= stall && w_tail - w_head < FLIGHT / 2 && b_tail - b_head < FLIGHT / 2;
            draw;
            // Data are taken only when their address has been: the model keeps no data without one.
            wready <= !dead && state % 100 >= stall && w_tail - w_head > (wvalid && wready && wlast ? 1 : 0);
        end
    end
endmodule

`default_nettype wire
