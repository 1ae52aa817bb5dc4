// SPDX-License-Identifier: Apache-2.0
//
// axi_read_formal -- vta_axi_read keeps the rules of AXI on its read channels, and gives each client the beats of its own
// requests: offers stand until taken, beats arrive for who asked, and after a halt nothing is left on the bus.
// prove: 7
`default_nettype none

module axi_read_formal (
    input wire       clk,
    input wire       halt_now,
    input wire [1:0] ask,
    input wire       cmd_len,
    input wire [1:0] data_ready,
    input wire       arready,
    input wire       r_now
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    reg  halt;
    wire idle, data_last, data_err, arvalid, rready;
    wire [1:0]  cmd_ready, data_valid;
    wire [63:0] data;
    wire [1:0]  araddr;
    wire [7:0]  arlen;
    wire        rvalid, rlast;

    vta_axi_read #(.LOG_BUS_BYTES(3), .ADDR_BITS(2), .CLIENTS(2), .LOG_CLIENTS(1), .LOG_FLIGHT(1)) dut (
        .clk(clk), .rst(rst), .halt(halt), .idle(idle),
        .cmd_valid(ask), .cmd_ready(cmd_ready), .cmd_addr({2'd2, 2'd1}), .cmd_len({7'd0, cmd_len, 7'd0, cmd_len}),
        .data_valid(data_valid), .data_ready(data_ready), .data(data), .data_last(data_last), .data_err(data_err),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_rvalid(rvalid), .m_axi_rready(rready), .m_axi_rdata({63'd0, owners[served]}), .m_axi_rresp(2'b00),
        .m_axi_rlast(rlast)
    );

    // Requests in the order of their acceptance: whose they are, how long; how many the memory has and has served. Every
    // beat carries the number of its owner.
    reg [1:0] accepted, taken, served, delivered;
    reg       owners [0:3];
    reg       lens [0:3];
    reg       beat;
    reg       beat_out;
    reg       was_ar, was_r;
    reg [7:0] was_len;

    assign rvalid = was_r || (r_now && served != taken);
    assign rlast  = beat == lens[served];

    wire r   = rvalid && rready;
    wire out = (data_valid & data_ready) != 2'd0;

    always @(posedge clk) begin
        if (rst) begin
            {accepted, taken, served, delivered, beat, beat_out} <= 10'd0;
            {was_ar, was_r} <= 2'd0;
            halt <= 1'b0;
        end else begin
            halt <= halt || halt_now;
            if ((ask & cmd_ready) != 2'd0) begin
                owners[accepted] <= cmd_ready[1];
                lens[accepted]   <= cmd_len;
                accepted <= accepted + 2'd1;
            end
            if (arvalid && arready) taken <= taken + 2'd1;
            if (r) begin
                beat <= !rlast && !beat;
                if (rlast) served <= served + 2'd1;
            end
            if (out) begin
                beat_out <= !data_last && !beat_out;
                if (data_last) delivered <= delivered + 2'd1;
            end
            was_ar  <= arvalid && !arready;
            was_r   <= rvalid && !rready;
            was_len <= arlen;
        end
    end

    always @(posedge clk) begin
        if (!rst) begin
            assert (!was_ar || (arvalid && arlen == was_len));
            assert (!arvalid || (taken != accepted && arlen == {7'd0, lens[taken]}
                                 && araddr == (owners[taken] ? 2'd2 : 2'd1)));
            assert (cmd_ready != 2'd3 && (!halt || cmd_ready == 2'd0));
            assert (!idle || (taken == accepted && served == accepted));
            assert (data_valid != 2'd3 && (!halt || data_valid == 2'd0));
            assert (data_valid == 2'd0 || (delivered != served || beat_out != beat));
            assert (data_valid == 2'd0 || (data[0] == data_valid[1] && data_last == (beat_out == lens[delivered])));
        end
    end
endmodule

`default_nettype wire
