// SPDX-License-Identifier: Apache-2.0
//
// axi_write_formal -- vta_axi_write keeps the rules of AXI on its write channels, whatever client and memory do: offers stand
// until taken, data come in as many beats as announced with WLAST at the last one, every burst is answered once, and
// after a halt nothing is left on the bus.
// prove: 6 induction
`default_nettype none

module axi_write_formal (
    input wire        clk,
    input wire        halt_now,
    input wire        cmd_valid,
    input wire [1:0]  cmd_len,
    input wire        data_valid,
    input wire        ack_ready,
    input wire        awready,
    input wire        wready,
    input wire        b_now
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    reg  halt;
    wire idle, cmd_ready, data_ready, ack, ack_err;
    wire awvalid, wvalid, wlast, bready;
    wire [13:0] awaddr;
    wire [7:0]  awlen;
    wire [63:0] wdata;
    wire [7:0]  wstrb;
    wire        bvalid;

    // Pages 1 and 2 are allowed. Whether they are to be is a constant: as a free one it takes the solver very long at times.
    wire       windows_on    = 1'b1;
    wire [7:0] window_bases  = {2'd3, 2'd3, 2'd2, 2'd1};
    wire [7:0] window_limits = {2'd3, 2'd1, 2'd3, 2'd2};

    vta_axi_write #(.LOG_BUS_BYTES(3), .ADDR_BITS(14), .LOG_FLIGHT(1)) dut (
        .clk(clk), .rst(rst), .halt(halt), .idle(idle),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_addr(ASKED), .cmd_len({6'd0, cmd_len}),
        .data_valid(data_valid), .data_ready(data_ready), .data(62'd1), .data_strobe(8'hff),
        .ack(ack), .ack_err(ack_err), .ack_ready(ack_ready),
        .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen),
        .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_bvalid(bvalid), .m_axi_bready(bready), .m_axi_bresp(2'b00)
    );

    // All bursts go to page 0, outside of the windows.
    localparam [13:0] ASKED = 14'h0000;

    // The bus as it has been: bursts announced, data of bursts completed, answers owed.
    reg [1:0] announced, taken, finished, answered;
    reg [1:0] lens [0:3];
    reg [1:0] beat;
    reg       was_aw, was_w, was_b, was_last;
    reg [7:0] was_len;

    wire aw = awvalid && awready;
    wire w  = wvalid && wready;

    // A memory answers bursts whose data and address it has taken, and its offer stands as well.
    assign bvalid = was_b || (b_now && answered != finished && answered != taken);

    always @(posedge clk) begin
        if (rst) begin
            {announced, taken, finished, answered, beat} <= 10'd0;
            {was_aw, was_w, was_b} <= 3'd0;
            halt <= 1'b0;
        end else begin
            halt <= halt || halt_now;
            if (cmd_valid && cmd_ready) begin
                lens[announced] <= cmd_len;
                announced <= announced + 2'd1;
            end
            if (aw) taken <= taken + 2'd1;
            if (w) begin
                beat <= wlast ? 2'd0 : beat + 2'd1;
                if (wlast) finished <= finished + 2'd1;
            end
            if (bvalid && bready) answered <= answered + 2'd1;
            was_aw   <= awvalid && !awready;
            was_w    <= wvalid && !wready;
            was_b    <= bvalid && !bready;
            was_len  <= awlen;
            was_last <= wlast;
        end
    end

    // The proof is inductive because the master's state says what the bus has seen. Its registers are joined by name.
    (* hierconn *) wire       \dut.aw_valid_q , \dut.w_valid_q , \dut.w_last_q ;
    (* hierconn *) wire [7:0] \dut.aw_len_q , \dut.beat_q ;
    (* hierconn *) wire [8:0] \dut.lens.mem_q[0] , \dut.lens.mem_q[1] ;
    (* hierconn *) wire [14:0] \dut.asked.mem_q[0] , \dut.asked.mem_q[1] ;
    (* hierconn *) wire [1:0] \dut.asked.fill_q ;
    (* hierconn *) wire       \dut.asked.rd_q ;
    (* hierconn *) wire [1:0] \dut.flight_q , \dut.lens.fill_q ;
    (* hierconn *) wire       \dut.lens.rd_q ;
    (* hierconn *) wire       \dut.answers.out_valid_q , \dut.answers.spare_valid_q ;
    (* hierconn *) wire [1:0] \dut.answers.out_data_q , \dut.answers.spare_data_q ;
    wire       w_valid = \dut.w_valid_q ;
    wire       w_last  = \dut.w_valid_q && \dut.w_last_q ;
    wire [7:0] w_beat  = \dut.beat_q ;
    wire [1:0] queued  = \dut.lens.fill_q ;
    wire       oldest  = \dut.lens.rd_q ;
    wire [14:0] first_asked  = \dut.asked.rd_q ? \dut.asked.mem_q[1] : \dut.asked.mem_q[0] ;
    wire [14:0] second_asked = \dut.asked.rd_q ? \dut.asked.mem_q[0] : \dut.asked.mem_q[1] ;
    wire [8:0] first   = oldest ? \dut.lens.mem_q[1] : \dut.lens.mem_q[0] ;
    wire [8:0] second  = oldest ? \dut.lens.mem_q[0] : \dut.lens.mem_q[1] ;
    wire [1:0] gone    = finished + {1'b0, w_last};             // bursts whose beats have all left the queue
    wire [1:0] next    = gone + 2'd1;
    wire [1:0] newest  = announced - 2'd1;
    wire [1:0] held    = {1'b0, \dut.answers.out_valid_q } + {1'b0, \dut.answers.spare_valid_q };
    wire [1:0] open    = announced - answered;                  // announced and not answered on the bus
    wire [1:0] unsent  = announced - finished;
    wire [1:0] untaken = announced - taken;

    always @(posedge clk) begin
        if (!rst) begin
            assert (untaken == {1'b0, \dut.aw_valid_q });
            assert (!\dut.aw_valid_q || \dut.aw_len_q == {6'd0, lens[newest]});
            assert (\dut.flight_q <= 2'd2 && \dut.flight_q >= held && open == \dut.flight_q - held);
            assert (!\dut.answers.out_valid_q || \dut.answers.out_data_q == 2'd0);
            assert (!\dut.answers.spare_valid_q || (\dut.answers.out_valid_q && \dut.answers.spare_data_q == 2'd0));
            assert (untaken <= open && unsent <= open);
            assert (queued == announced - gone && queued <= unsent);
            assert (queued == 2'd0 || first == {1'b1, 6'd0, lens[gone]});
            assert (queued != 2'd2 || second == {1'b1, 6'd0, lens[next]});
            assert (\dut.asked.fill_q == \dut.flight_q );
            assert (\dut.flight_q == 2'd0 || first_asked == {1'b1, ASKED});
            assert (\dut.flight_q != 2'd2 || second_asked == {1'b1, ASKED});
            assert (queued == 2'd0 ? w_beat == 8'd0 : w_beat <= first[7:0]);
            assert (!w_valid || (w_last ? w_beat == 8'd0 && beat == lens[finished] : w_beat == {6'd0, beat} + 8'd1));
            assert (w_valid || w_beat == {6'd0, beat});
            assert (!w_valid || w_last || queued != 2'd0);
            assert (!w_last || finished != announced);
            assert (!was_aw || \dut.aw_valid_q );
            assert (!was_b || (answered != finished && answered != taken));
        end
    end

    always @(posedge clk) begin
        if (!rst) begin
            assert (!was_aw || (awvalid && awlen == was_len));
            assert (!was_w || (wvalid && wlast == was_last));
            assert (!awvalid || (taken != announced && awlen == {6'd0, lens[taken]}
                                 && awaddr == {2'd1, ASKED[11:0]}));
            assert (!wvalid || wstrb == 8'd0);
            assert (!ack || ack_err);
            assert (!wvalid || (finished != announced && wlast == (beat == lens[finished])));
            assert (!idle || (taken == announced && finished == announced && answered == announced));
            assert (!(halt && cmd_ready));
            assert (!halt || !ack);
            cover (wvalid && wlast && lens[finished] == 2'd3);
            cover (ack && answered != 2'd0);
            cover (ack && ack_err);
            cover (halt && idle && answered != 2'd0);
        end
    end
endmodule

`default_nettype wire
