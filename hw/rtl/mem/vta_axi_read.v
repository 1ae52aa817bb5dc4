// SPDX-License-Identifier: Apache-2.0
//
// vta_axi_read -- the AXI4 read channels, shared by CLIENTS clients.
//
// Contract: a client asks for a burst with cmd_* and gets its beats, in order, on its data port; several bursts are in
// flight (2^LOG_FLIGHT), and since all carry one ID they come back in the order of their addresses. Requests are served
// in turn, one a cycle. A client must in the end take what it asked for, or the others wait. No path is combinational
// from an AXI input to an AXI output. With `halt` nothing new is asked for, what is in flight is swallowed, and `idle`
// says when the bus is free of us; the clients are held in reset meanwhile. What the windows refuse goes to a page where it
// does no harm, and its beats say err; failed_* hold the address of a client's first burst that failed in a run, and
// whether it was refused, until the next one that fails.
`include "vta_assert.vh"
`default_nettype none

module vta_axi_read #(
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer CLIENTS       = 3,
    parameter integer LOG_CLIENTS   = 2,
    parameter integer LOG_FLIGHT    = 5
) (
    input  wire                         clk,
    input  wire                         rst,
    input  wire                         halt,
    output wire                         idle,

    input  wire                         windows_on,
    input  wire [4*(ADDR_BITS-12)-1:0]  window_bases,
    input  wire [4*(ADDR_BITS-12)-1:0]  window_limits,
    output wire [CLIENTS*ADDR_BITS-1:0] failed_addr,
    output wire [CLIENTS-1:0]           failed_refused,
    output wire [CLIENTS-1:0]           failing,     // a beat of such a burst comes

    input  wire [CLIENTS-1:0]           cmd_valid,
    output wire [CLIENTS-1:0]           cmd_ready,
    input  wire [CLIENTS*ADDR_BITS-1:0] cmd_addr,
    input  wire [CLIENTS*8-1:0]         cmd_len,     // beats - 1

    output wire [CLIENTS-1:0]           data_valid,
    input  wire [CLIENTS-1:0]           data_ready,
    output wire [(8<<LOG_BUS_BYTES)-1:0] data,       // the same for all clients, as are last and err
    output wire                         data_last,
    output wire                         data_err,

    output wire                         m_axi_arvalid,
    input  wire                         m_axi_arready,
    output wire [ADDR_BITS-1:0]         m_axi_araddr,
    output wire [7:0]                   m_axi_arlen,
    input  wire                         m_axi_rvalid,
    output wire                         m_axi_rready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] m_axi_rdata,
    input  wire [1:0]                   m_axi_rresp,
    input  wire                         m_axi_rlast
);
    localparam integer BUS_BITS = 8 << LOG_BUS_BYTES;

    reg                 ar_valid_q;
    reg [ADDR_BITS-1:0] ar_addr_q;
    reg [7:0]           ar_len_q;

    wire               order_in_ready;
    wire               order_valid;
    wire [LOG_CLIENTS-1:0] owner;
    wire               beat_valid;
    wire               beat_ready;
    wire [1:0]         beat_resp;

    wire               accept = !halt && order_in_ready && (!ar_valid_q || m_axi_arready);
    wire [CLIENTS-1:0] grant;

    assign cmd_ready = grant & {CLIENTS{accept}};

    vta_arbiter #(.N(CLIENTS), .ROTATE(1)) arbiter (
        .clk(clk), .rst(rst), .request(cmd_valid), .grant(grant), .taken(accept)
    );

    // Each client's request is judged while they wait for their turn.
    wire [CLIENTS-1:0] refused;
    genvar g;
    generate
        for (g = 0; g < CLIENTS; g = g + 1) begin : judged
            vta_windows #(.ADDR_BITS(ADDR_BITS)) windows (
                .on(windows_on), .bases(window_bases), .limits(window_limits),
                .page(cmd_addr[g*ADDR_BITS + 12 +: ADDR_BITS - 12]), .refused(refused[g])
            );
        end
    endgenerate

    // The granted request.
    reg [LOG_CLIENTS-1:0] chosen;
    reg                   chosen_refused;
    reg [ADDR_BITS-1:0]   chosen_addr;
    reg [7:0]             chosen_len;
    integer c;
    always @* begin
        chosen         = 0;
        chosen_addr    = 0;
        chosen_len     = 0;
        chosen_refused = 1'b0;
        for (c = 0; c < CLIENTS; c = c + 1) begin
            if (grant[c]) begin
                chosen         = c[LOG_CLIENTS-1:0];
                chosen_addr    = cmd_addr[c*ADDR_BITS +: ADDR_BITS];
                chosen_len     = cmd_len[c*8 +: 8];
                chosen_refused = refused[c];
            end
        end
    end

    wire start = accept && grant != 0;

    always @(posedge clk) begin
        if (rst) ar_valid_q <= 1'b0;
        else if (start) ar_valid_q <= 1'b1;
        else if (m_axi_arready) ar_valid_q <= 1'b0;
    end

    always @(posedge clk) begin
        if (start) begin
            ar_addr_q <= {chosen_refused ? window_bases[ADDR_BITS-13:0] : chosen_addr[ADDR_BITS-1:12], chosen_addr[11:0]};
            ar_len_q  <= chosen_len;
        end
    end

    assign m_axi_arvalid = ar_valid_q;
    assign m_axi_araddr  = ar_addr_q;
    assign m_axi_arlen   = ar_len_q;

    // Owners of the bursts in flight, and the addresses of these.
    wire                 owner_refused;
    wire [ADDR_BITS-1:0] owner_addr;
    wire last_beat = beat_valid && beat_ready && data_last;

    vta_fifo #(.WIDTH(ADDR_BITS + 1 + LOG_CLIENTS), .LOG_DEPTH(LOG_FLIGHT)) order (
        .clk(clk), .rst(rst),
        .in_valid(start), .in_ready(order_in_ready), .in_data({chosen_addr, chosen_refused, chosen}),
        .out_valid(order_valid), .out_ready(last_beat), .out_data({owner_addr, owner_refused, owner})
    );

    vta_skid #(.WIDTH(BUS_BITS + 3)) beats (
        .clk(clk), .rst(rst),
        .in_valid(m_axi_rvalid), .in_ready(m_axi_rready), .in_data({m_axi_rlast, m_axi_rresp, m_axi_rdata}),
        .out_valid(beat_valid), .out_ready(beat_ready), .out_data({data_last, beat_resp, data})
    );

    assign data_valid = {CLIENTS{beat_valid && !halt}} & ({{(CLIENTS-1){1'b0}}, 1'b1} << owner);
    assign beat_ready = halt || data_ready[owner];
    assign data_err   = beat_resp[1] || owner_refused;

    generate
        for (g = 0; g < CLIENTS; g = g + 1) begin : failure
            reg                 failed_q;
            reg                 refused_q;
            reg [ADDR_BITS-1:0] addr_q;
            always @(posedge clk) begin
                if (rst || halt) failed_q <= 1'b0;
                else if (failing[g]) failed_q <= 1'b1;
                if (failing[g] && !failed_q) begin
                    refused_q <= owner_refused;
                    addr_q    <= owner_addr;
                end
            end
            assign failed_addr[g*ADDR_BITS +: ADDR_BITS] = addr_q;
            assign failed_refused[g] = refused_q;
            assign failing[g] = data_valid[g] && data_err;
        end
    endgenerate

    // A burst is in `order` from its request to its last beat.
    assign idle = !ar_valid_q && !order_valid;

    wire unused_resp = beat_resp[0];

    `VTA_PARAM_CHECK(CLIENTS >= 2 && CLIENTS <= (1 << LOG_CLIENTS))
    `VTA_FORMAL_RESET
    `VTA_ASSERT(asked_for, !beat_valid || order_valid)
endmodule

`default_nettype wire
