// SPDX-License-Identifier: Apache-2.0
//
// axi_read_formal -- vta_axi_read keeps the rules of AXI on its read channels, and gives each client the beats of its own
// requests: offers stand until taken, beats arrive for who asked, what is asked of the bus is within the windows, and after
// a halt nothing is left on the bus.
// prove: 5 induction
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
    wire [13:0] araddr;
    wire [7:0]  arlen;
    wire        rvalid, rlast;

    // Pages 1 and 2 are allowed. Whether they are to be is a constant: as a free one it takes the solver very long at times.
    wire       windows_on    = 1'b1;
    wire [7:0] window_bases  = {2'd3, 2'd3, 2'd2, 2'd1};
    wire [7:0] window_limits = {2'd3, 2'd1, 2'd3, 2'd2};

    vta_axi_read #(.LOG_BUS_BYTES(3), .ADDR_BITS(14), .CLIENTS(2), .LOG_CLIENTS(1), .LOG_FLIGHT(1)) dut (
        .clk(clk), .rst(rst), .halt(halt), .idle(idle),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .cmd_valid(ask), .cmd_ready(cmd_ready), .cmd_addr({asked_addr(1'b1), asked_addr(1'b0)}), .cmd_len({7'd0, cmd_len, 7'd0, cmd_len}),
        .data_valid(data_valid), .data_ready(data_ready), .data(data), .data_last(data_last), .data_err(data_err),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_rvalid(rvalid), .m_axi_rready(rready), .m_axi_rdata({63'd0, owners[served]}), .m_axi_rresp(2'b00),
        .m_axi_rlast(rlast)
    );

    // Client 0 asks for page 0, outside of the windows, client 1 for page 2, inside.
    function [13:0] asked_addr(input owner);
        asked_addr = owner ? 14'h2002 : 14'h0001;
    endfunction
    function denied(input owner);
        denied = windows_on && !owner;
    endfunction

    // Requests in the order of their acceptance: whose they are, how long; how many the memory has taken and served, and how many
    // have left the master, to a client or, after a halt, to nobody. Every beat carries the number of its owner.
    reg [1:0] accepted, taken, served, gone;
    reg       owners [0:3];
    reg       lens [0:3];
    reg       beat;
    reg       beat_out;
    reg       was_ar, was_r;
    reg [7:0] was_len;

    assign rvalid = was_r || (r_now && served != taken);
    assign rlast  = beat == lens[served];

    // The master's registers are joined by name.
    (* hierconn *) wire        \dut.ar_valid_q ;
    (* hierconn *) wire [1:0]  \dut.order.fill_q ;
    (* hierconn *) wire        \dut.order.rd_q ;
    (* hierconn *) wire [15:0] \dut.order.mem_q[0] , \dut.order.mem_q[1] ;
    (* hierconn *) wire        \dut.beats.out_valid_q , \dut.beats.spare_valid_q ;
    (* hierconn *) wire [66:0] \dut.beats.out_data_q , \dut.beats.spare_data_q ;
    wire [1:0] held = {1'b0, \dut.beats.out_valid_q } + {1'b0, \dut.beats.spare_valid_q };

    wire r   = rvalid && rready;
    wire out = \dut.beats.out_valid_q && (halt || (data_valid & data_ready) != 2'd0);

    always @(posedge clk) begin
        if (rst) begin
            {accepted, taken, served, gone, beat, beat_out} <= 10'd0;
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
                if (data_last) gone <= gone + 2'd1;
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
                                 && araddr == {denied(owners[taken]) ? 2'd1 : owners[taken] ? 2'd2 : 2'd0, 10'd0, owners[taken] ? 2'd2 : 2'd1}));
            assert (cmd_ready != 2'd3 && (!halt || cmd_ready == 2'd0));
            assert (!idle || (taken == accepted && served == accepted));
            assert (data_valid != 2'd3 && (!halt || data_valid == 2'd0));
            assert (data_valid == 2'd0 || (gone != served || beat_out != beat));
            assert (data_valid == 2'd0 || (data[0] == data_valid[1] && data_last == (beat_out == lens[gone])));
            assert (data_valid == 2'd0 || data_err == denied(owners[gone]));
            assert (!arvalid || !windows_on || araddr[13:12] == 2'd1 || araddr[13:12] == 2'd2);
            cover (data_valid != 2'd0 && data_err && gone != 2'd0);
            cover (accepted - served == 2'd2 && owners[0] != owners[1]);
            cover (data_valid == 2'd2 && data_last && lens[gone] && beat_out);
            cover (halt && idle && gone != 2'd0);
        end
    end

    // The proof is inductive by these: how many requests stand where, and that the beats held are those between what has come from the
    // memory and what has gone.
    wire [1:0] queued  = \dut.order.fill_q ;
    wire       oldest  = \dut.order.rd_q ;
    wire [15:0] held_order = oldest ? \dut.order.mem_q[1] : \dut.order.mem_q[0] ;
    wire [15:0] next_order = oldest ? \dut.order.mem_q[0] : \dut.order.mem_q[1] ;
    wire [1:0] next    = gone + 2'd1;
    wire       last1   = beat_out == lens[gone];                // of the oldest beat held
    wire [1:0] gone1   = last1 ? next : gone;                   // where the stream is after it
    wire       beat1   = last1 ? 1'b0 : !beat_out;
    wire       last2   = beat1 == lens[gone1];
    wire [1:0] gone2   = last2 ? gone1 + 2'd1 : gone1;
    wire       beat2   = last2 ? 1'b0 : !beat1;
    wire [1:0] unsent  = accepted - taken;
    wire [1:0] unserved = accepted - served;

    always @(posedge clk) begin
        if (!rst) begin
            assert (unsent == {1'b0, \dut.ar_valid_q } && unsent <= unserved && unserved <= queued);
            assert (queued == accepted - gone && queued <= 2'd2);
            assert (queued == 2'd0 || held_order == {asked_addr(owners[gone]), denied(owners[gone]), owners[gone]});
            assert (queued != 2'd2 || next_order == {asked_addr(owners[next]), denied(owners[next]), owners[next]});
            assert (served == taken ? !beat : !beat || lens[served]);
            assert (gone == accepted ? !beat_out : !beat_out || lens[gone]);
            assert (\dut.beats.out_valid_q || !\dut.beats.spare_valid_q );
            assert (held != 2'd0 || (gone == served && beat_out == beat));
            assert (held != 2'd1 || (gone1 == served && beat1 == beat));
            assert (held != 2'd2 || (gone2 == served && beat2 == beat));
            assert (held == 2'd0 || queued != 2'd0);
            assert (held == 2'd0 || (\dut.beats.out_data_q [66] == last1 && \dut.beats.out_data_q [0] == owners[gone]));
            assert (held != 2'd2 || (\dut.beats.spare_data_q [66] == last2 && \dut.beats.spare_data_q [0] == owners[gone1]));
            assert (held == 2'd0 || \dut.beats.out_data_q [65:64] == 2'd0);
            assert (held != 2'd2 || \dut.beats.spare_data_q [65:64] == 2'd0);
            assert (held != 2'd2 || gone1 != accepted);
            assert (!was_r || served != taken);
        end
    end
endmodule

`default_nettype wire
