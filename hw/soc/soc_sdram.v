// SPDX-License-Identifier: Apache-2.0
//
// soc_sdram -- a controller for a 16-bit SDRAM of four banks, as an AXI4 slave of 64 bits.
//
//     AW, AR ─► IDLE ─► BEAT: is its row open? ─yes─► READ or WRITE, a beat (four words) in four cycles
//                ▲        ▲       └─no─► PRECHARGE of the bank, ACTIVATE ─┐
//                │        └──────────────────────────────────────────────┘
//                └─ CLOSE ─► REFRESH, when it is due, also between two beats
//
// Contract: bursts are INCR of whole beats, answered in order, one burst at a time; reads and writes take turns where both
// wait. Addresses beyond the chip are answered by DECERR and change nothing. Times are in cycles. Commands leave out of
// registers; the chip is to have the clock inverted, so that it samples them in the middle of a cycle. What it sends for a
// READ is taken at the falling edge and once more at the rising one. Bursts of four words, CAS latency 2.
`default_nettype none

module soc_sdram #(
    parameter [15:0]  START       = 16'd11000,      // 200 us before the first command
    parameter [15:0]  REFRESH     = 16'd370,        // from one to the next: 64 ms / 8192, less some beats
    parameter [15:0]  T_RCD       = 16'd2,
    parameter [15:0]  T_RP        = 16'd2,
    parameter [15:0]  T_RAS       = 16'd3,
    parameter [15:0]  T_RFC       = 16'd5,
    parameter [15:0]  T_WR        = 16'd2,
    parameter [15:0]  T_MRD       = 16'd2,
    parameter integer LOG_COLUMNS = 9,              // of 2^13 rows
    parameter [31:0]  BASE        = 32'h8000_0000
) (
    input  wire        clk,
    input  wire        rst,
    output wire        settled,         // the first commands are over

    input  wire        arvalid,
    output wire        arready,
    input  wire [31:0] araddr,
    input  wire [7:0]  arlen,
    output wire        rvalid,
    input  wire        rready,
    output wire [63:0] rdata,
    output wire [1:0]  rresp,
    output wire        rlast,
    input  wire        awvalid,
    output wire        awready,
    input  wire [31:0] awaddr,
    input  wire [7:0]  awlen,
    input  wire        wvalid,
    output wire        wready,
    input  wire [63:0] wdata,
    input  wire [7:0]  wstrb,
    output reg         bvalid,
    input  wire        bready,
    output reg  [1:0]  bresp,

    output reg         cke,
    output reg  [3:0]  command,         // CS#, RAS#, CAS#, WE#
    output reg  [1:0]  ba,
    output reg  [12:0] a,
    output reg  [1:0]  dqm,
    output reg  [15:0] dq_out,
    output reg         dq_drive,
    input  wire [15:0] dq_in
);
    // An address is row, bank, column and byte of a word.
    localparam integer BANK = LOG_COLUMNS + 1, ROW = BANK + 2, END = ROW + 13;
    localparam integer LOG_ROOM = 4;    // beats that were read and are not taken yet

    localparam [3:0]  NOTHING = 4'b0111, ACTIVATE = 4'b0011, READ = 4'b0101, WRITE = 4'b0100, PRECHARGE = 4'b0010,
                      AUTO_REFRESH = 4'b0001, SET_MODE = 4'b0000;
    localparam [12:0] MODE = 13'b000_0_00_010_0_010, ALL_BANKS = 13'h400;
    localparam [2:0]  SETTLE = 3'd0, IDLE = 3'd1, BEAT = 3'd2, CLOSE = 3'd3, REFRESHING = 3'd4;
    localparam [3:0]  FIRST_REFRESH = 4'd1, LAST_REFRESH = 4'd8;    // of the first commands; then the mode

    reg  [2:0]  state;
    reg  [3:0]  first;                  // number of the next one of the first commands
    reg  [15:0] pause;                  // cycles in which no command may follow
    wire        go = pause == 16'd0;
    assign settled = first > LAST_REFRESH + 4'd1;

    // ---- Times that are counted from a command to a later one

    reg  [15:0] since_activate, since_write;    // of any bank; they stay at the largest
    reg  [15:0] to_refresh;
    reg         refresh_due;
    wire        may_close = since_activate >= T_RAS - 16'd1 && since_write >= T_WR - 16'd1;

    // ---- The burst

    reg         writing, turn;          // turn: the next one is a write, where both wait
    reg  [31:0] at;                     // of the next beat
    reg  [8:0]  left;                   // beats
    reg         outside;
    reg  [1:0]  word;                   // the next one of the beat on its way; 0: none is
    wire        over    = left == 9'd0;
    wire        between = go && word == 2'd0;
    wire        free    = state == IDLE && !refresh_due;
    assign awready = free && !bvalid && awvalid && (turn || !arvalid);
    assign arready = free && arvalid && !(turn && awvalid && !bvalid);

    // ---- Rows

    reg  [3:0]  open;
    reg  [12:0] open_row [0:3];
    wire [1:0]  bank = at[BANK +: 2];
    wire [12:0] row  = at[ROW +: 13];
    wire        hit  = open[bank] && open_row[bank] == row;

    // ---- Beats that were read: three cycles from the command to the first word in dq_rose, three more to the last

    reg  [6:0]        coming, coming_last, coming_outside;
    reg  [15:0]       dq_fell, dq_rose;
    reg  [47:0]       words;
    reg  [66:0]       room [0:(1<<LOG_ROOM)-1];
    reg  [LOG_ROOM:0] asked, came, taken;
    wire              full = asked - taken == {1'b1, {LOG_ROOM{1'b0}}};
    assign rvalid = came != taken;
    assign {rlast, rresp, rdata} = room[taken[LOG_ROOM-1:0]];

    wire act   = state == BEAT && between && !refresh_due;
    wire give  = act && hit && (writing ? wvalid && coming[5:0] == 6'd0 : !full);
    wire shut  = act && open[bank] && !hit && may_close;
    wire start = act && !open[bank];
    assign wready = give && writing;

    always @(negedge clk) dq_fell <= dq_in;
    always @(posedge clk) begin
        dq_rose <= dq_fell;
        words   <= {dq_rose, words[47:16]};
        if (coming[6]) room[came[LOG_ROOM-1:0]] <= {coming_last[6], {2{coming_outside[6]}}, dq_rose, words};
        coming_last    <= {coming_last[5:0], left == 9'd1};
        coming_outside <= {coming_outside[5:0], outside};
        if (rst) begin
            coming <= 7'd0;
            asked  <= {(LOG_ROOM + 1){1'b0}};
            came   <= {(LOG_ROOM + 1){1'b0}};
            taken  <= {(LOG_ROOM + 1){1'b0}};
        end else begin
            coming <= {coming[5:0], give && !writing};
            if (give && !writing) asked <= asked + 1'b1;
            if (coming[6]) came <= came + 1'b1;
            if (rvalid && rready) taken <= taken + 1'b1;
        end
    end

    // ---- State

    always @(posedge clk) begin
        if (rst) begin
            state       <= SETTLE;
            first       <= 4'd0;
            refresh_due <= 1'b0;
            to_refresh  <= REFRESH;
            turn        <= 1'b0;
            word        <= 2'd0;
            open        <= 4'd0;
            bvalid      <= 1'b0;
            left        <= 9'd0;
        end else begin
            to_refresh <= to_refresh == 16'd0 ? REFRESH : to_refresh - 16'd1;
            if (to_refresh == 16'd0) refresh_due <= 1'b1;
            if (word != 2'd0 || give) word <= word + 2'd1;
            if (bready) bvalid <= 1'b0;
            case (state)
                SETTLE: if (go) begin
                    first <= first + 4'd1;
                    if (first > LAST_REFRESH) state <= IDLE;
                end
                IDLE: begin
                    if (refresh_due) state <= CLOSE;
                    else if (awready || arready) begin
                        state   <= BEAT;
                        writing <= awready;
                        turn    <= arready;
                        at      <= awready ? awaddr : araddr;
                        left    <= {1'b0, awready ? awlen : arlen} + 9'd1;
                        outside <= (awready ? awaddr[31:END] : araddr[31:END]) != BASE[31:END];
                    end
                end
                BEAT: begin
                    if (between && refresh_due) state <= CLOSE;
                    if (shut) open[bank] <= 1'b0;
                    if (start) {open[bank], open_row[bank]} <= {1'b1, row};
                    if (give) begin
                        at   <= at + 32'd8;
                        left <= left - 9'd1;
                        if (left == 9'd1) state <= IDLE;
                        if (left == 9'd1 && writing) {bvalid, bresp} <= {1'b1, {2{outside}}};
                    end
                end
                CLOSE: if (between && may_close) begin
                    open  <= 4'd0;
                    state <= REFRESHING;
                end
                default: if (go) begin
                    refresh_due <= 1'b0;
                    state       <= over ? IDLE : BEAT;
                end
            endcase
        end
    end

    // ---- Commands, and the cycles that follow them

    wire close_all = state == CLOSE && between && may_close;
    wire refresh   = state == REFRESHING && go;
    wire settle    = state == SETTLE && go;
    always @(posedge clk) begin
        command <= NOTHING;
        if (rst) begin
            pause <= START;
            cke   <= 1'b0;
        end else begin
            cke <= 1'b1;
            if (!go) pause <= pause - 16'd1;
            if (settle && first < FIRST_REFRESH || close_all || shut) begin
                command <= PRECHARGE;
                pause   <= T_RP - 16'd1;
            end
            if (settle && first >= FIRST_REFRESH && first <= LAST_REFRESH || refresh) begin
                command <= AUTO_REFRESH;
                pause   <= T_RFC - 16'd1;
            end
            if (settle && first > LAST_REFRESH) begin
                command <= SET_MODE;
                pause   <= T_MRD - 16'd1;
            end
            if (start) begin
                command <= ACTIVATE;
                pause   <= T_RCD - 16'd1;
            end
            if (give) command <= writing ? WRITE : READ;
        end
    end

    always @(posedge clk) begin
        ba <= state == BEAT ? bank : 2'd0;
        if (settle) a <= first > LAST_REFRESH ? MODE : ALL_BANKS;
        else if (state == CLOSE) a <= ALL_BANKS;
        else if (start) a <= row;
        else if (give) a <= {{(13 - LOG_COLUMNS){1'b0}}, at[LOG_COLUMNS:3], 2'b00};
        else a <= 13'd0;
    end

    always @(posedge clk) begin
        if (rst) since_activate <= 16'hffff;
        else if (start) since_activate <= 16'd0;
        else if (since_activate != 16'hffff) since_activate <= since_activate + 16'd1;
    end

    // ---- Words of a beat that is written, and which bytes of them

    reg  [47:0] out_words;
    reg  [5:0]  out_strb;
    reg         out_writing, out_outside;       // of the beat on its way: the next burst's address may be here already
    wire        drive = give ? writing : word != 2'd0 && out_writing;
    always @(posedge clk) begin
        dq_drive  <= drive;
        dq_out    <= give ? wdata[15:0] : out_words[15:0];
        dqm       <= drive ? ~(give ? wstrb[1:0] : out_strb[1:0]) | {2{give ? outside : out_outside}} : 2'b00;
        if (give) {out_writing, out_outside} <= {writing, outside};
        out_words <= give ? wdata[63:16] : {16'd0, out_words[47:16]};
        out_strb  <= give ? wstrb[7:2] : {2'd0, out_strb[5:2]};
        if (rst) since_write <= 16'hffff;
        else if (drive) since_write <= 16'd0;
        else if (since_write != 16'hffff) since_write <= since_write + 16'd1;
    end
endmodule

`default_nettype wire
