// SPDX-License-Identifier: Apache-2.0
//
// vta_axi_rules -- for benches: the rules of AXI4 and AXI4-Lite on one port, of its master and of its slave. It looks on, and ends the
// simulation at the first one that is broken, with the name of who broke it.
//
// Rules of all channels: what is offered stands until it is taken; nothing is offered in a reset; valid and ready are never undefined.
// Rules of a master: bursts of whole, aligned beats that stay within 4 KiB; data with WLAST in the last beat of their burst and no other,
// whether their address came before, with them or after. Of a slave: read beats for a burst that was taken, in order, RLAST in the last and no other; one answer for a burst whose
// address and last data have been taken; no EXOKAY, which nobody asks for. LITE = 1: bursts of one beat, lengths and lasts tied.
`default_nettype none

module vta_axi_rules #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer LITE          = 0
) (
    input wire                          clk,
    input wire                          rst,
    input wire                          arvalid,
    input wire                          arready,
    input wire [ADDR_BITS-1:0]          araddr,
    input wire [7:0]                    arlen,
    input wire                          rvalid,
    input wire                          rready,
    input wire [(8<<LOG_BUS_BYTES)-1:0] rdata,
    input wire [1:0]                    rresp,
    input wire                          rlast,
    input wire                          awvalid,
    input wire                          awready,
    input wire [ADDR_BITS-1:0]          awaddr,
    input wire [7:0]                    awlen,
    input wire                          wvalid,
    input wire                          wready,
    input wire [(8<<LOG_BUS_BYTES)-1:0] wdata,
    input wire [(1<<LOG_BUS_BYTES)-1:0] wstrb,
    input wire                          wlast,
    input wire                          bvalid,
    input wire                          bready,
    input wire [1:0]                    bresp
);
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;
    localparam integer FLIGHT    = 1024;    // bursts that may be open

    // Read bursts that were taken, write bursts by address and by data, and beats of the one whose data come.
    reg [7:0]  r_len [0:FLIGHT-1];
    reg [7:0]  w_len [0:FLIGHT-1];
    integer    d_beats [0:FLIGHT-1];
    integer    r_asked, r_done, r_beat, w_asked, d_done, d_beat, b_done, checked;

    // Every channel in the cycle before: whether an offer was left standing, and what it said.
    reg                          was_rst, ar_held, r_held, aw_held, w_held, b_held;
    reg [ADDR_BITS+7:0]          ar_was, aw_was;
    reg [(8<<LOG_BUS_BYTES)+2:0] r_was;
    reg [(9<<LOG_BUS_BYTES):0]   w_was;
    reg [1:0]                    b_was;

    // Bytes of write data that no strobe takes may change.
    function [(9<<LOG_BUS_BYTES):0] write_offer(input [(8<<LOG_BUS_BYTES)-1:0] all, input [BUS_BYTES-1:0] strobes, input last);
        integer k;
        begin
            write_offer = {last, strobes, all};
            for (k = 0; k < BUS_BYTES; k = k + 1) if (!strobes[k]) write_offer[8*k +: 8] = 8'd0;
        end
    endfunction

    task check_burst(input [ADDR_BITS-1:0] addr, input [7:0] len);
        begin
            if (LITE == 0 && addr % BUS_BYTES != 0) $fatal(1, "master: burst at %0h is not aligned", addr);
            if (LITE == 0 && addr[11:0] + (len + 1) * BUS_BYTES > 4096) $fatal(1, "master: burst at %0h crosses 4 KiB", addr);
            if (LITE != 0 && len != 8'd0) $fatal(1, "master: a burst on AXI4-Lite");
        end
    endtask

    initial was_rst = 1'b0;

    always @(posedge clk) begin
        was_rst <= rst;
        if (rst) begin
            if (was_rst && (arvalid || awvalid || wvalid)) $fatal(1, "master: an offer in a reset");
            if (was_rst && (rvalid || bvalid)) $fatal(1, "slave: an offer in a reset");
            r_asked = 0; r_done = 0; r_beat = 0;
            w_asked = 0; d_done = 0; d_beat = 0; b_done = 0; checked = 0;
            {ar_held, r_held, aw_held, w_held, b_held} = 5'd0;
        end else begin
            if ((^{arvalid, awvalid, wvalid, rready, bready}) === 1'bx) $fatal(1, "master: a handshake is undefined");
            if ((^{arready, awready, wready, rvalid, bvalid}) === 1'bx) $fatal(1, "slave: a handshake is undefined");

            // Offers stand.
            if (ar_held && !(arvalid && {araddr, arlen} === ar_was)) $fatal(1, "master: AR changed before it was taken");
            if (aw_held && !(awvalid && {awaddr, awlen} === aw_was)) $fatal(1, "master: AW changed before it was taken");
            if (w_held && !(wvalid && write_offer(wdata, wstrb, wlast) === w_was)) $fatal(1, "master: W changed before it was taken");
            if (r_held && !(rvalid && {rdata, rresp, rlast} === r_was)) $fatal(1, "slave: R changed before it was taken");
            if (b_held && !(bvalid && bresp === b_was)) $fatal(1, "slave: B changed before it was taken");
            ar_held = arvalid && !arready; ar_was = {araddr, arlen};
            aw_held = awvalid && !awready; aw_was = {awaddr, awlen};
            w_held  = wvalid && !wready;   w_was = write_offer(wdata, wstrb, wlast);
            r_held  = rvalid && !rready;   r_was = {rdata, rresp, rlast};
            b_held  = bvalid && !bready;   b_was = bresp;

            // Answers, before what is asked in this cycle.
            if (rvalid) begin
                if (r_done == r_asked) $fatal(1, "slave: a read beat that nobody has asked for");
                if (rlast !== (r_beat == r_len[r_done % FLIGHT])) $fatal(1, "slave: RLAST is %b in beat %0d of %0d", rlast, r_beat, r_len[r_done % FLIGHT] + 1);
                if (rresp == 2'b01) $fatal(1, "slave: EXOKAY, and nobody asked for it");
            end
            if (bvalid) begin
                if (b_done == w_asked || b_done == d_done) $fatal(1, "slave: an answer before the address and all data of its burst");
                if (bresp == 2'b01) $fatal(1, "slave: EXOKAY, and nobody asked for it");
            end
            if (rvalid && rready) begin
                r_beat = rlast ? 0 : r_beat + 1;
                if (rlast) r_done = r_done + 1;
            end
            if (bvalid && bready) b_done = b_done + 1;

            // Addresses and data.
            if (arvalid) check_burst(araddr, arlen);
            if (awvalid) check_burst(awaddr, awlen);
            if (arvalid && arready) begin
                r_len[r_asked % FLIGHT] = arlen;
                r_asked = r_asked + 1;
            end
            if (awvalid && awready) begin
                w_len[w_asked % FLIGHT] = awlen;
                w_asked = w_asked + 1;
            end
            if (wvalid && wready) begin
                d_beat = d_beat + 1;
                if (d_done < w_asked && wlast !== (d_beat == w_len[d_done % FLIGHT] + 1))
                    $fatal(1, "master: WLAST is %b in beat %0d of %0d", wlast, d_beat, w_len[d_done % FLIGHT] + 1);
                if (wlast) begin
                    d_beats[d_done % FLIGHT] = d_beat;
                    d_done = d_done + 1;
                    d_beat = 0;
                end
            end
            while (checked < w_asked && checked < d_done) begin
                if (d_beats[checked % FLIGHT] != w_len[checked % FLIGHT] + 1)
                    $fatal(1, "master: %0d beats of data, %0d announced", d_beats[checked % FLIGHT], w_len[checked % FLIGHT] + 1);
                checked = checked + 1;
            end
            if (r_asked - r_done > FLIGHT/2 || w_asked - b_done > FLIGHT/2 || d_done - b_done > FLIGHT/2) $fatal(1, "more bursts in flight than this bench can follow");
        end
    end
endmodule

`default_nettype wire
