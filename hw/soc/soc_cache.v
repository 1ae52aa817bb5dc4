// SPDX-License-Identifier: Apache-2.0
//
// soc_cache -- lines of main memory for one port of the core: direct mapped, writes go through.
//
//     RUN: the line that was asked for a cycle ago is compared ─hit─► done
//      ▲        └─miss─► ASK ─► FILL (a beat a cycle) ─► AGAIN ─┐
//      └────────────────────────────────────────────────────────┘
//
// Contract: ports of the core as in soc_cpu. A hit is answered in the next cycle, and the next request is taken then. A
// write is answered when the memory's side has taken it, and changes the line if it is here; it brings no line, and what
// memory says of it later is lost. A line that could not be read is answered by a fault and not kept. forget drops all
// lines, also one that is on its way.
`default_nettype none

module soc_cache #(
    parameter integer LOG_LINES     = 7,
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer LOG_BEATS     = 2,    // of a line
    parameter integer APART         = 0     // a request comes when the one before is over, but for a store
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire                          forget,

    input  wire                          valid,
    output wire                          ready,
    input  wire                          is_write,
    input  wire [31:0]                   addr,
    input  wire [31:0]                   wdata,
    input  wire [3:0]                    wstrb,
    output wire                          done,
    output wire [31:0]                   rdata,
    output wire                          fault,

    output wire                          read_valid,
    input  wire                          read_ready,
    output wire [31:0]                   read_addr,
    input  wire                          beat_valid,
    input  wire                          beat_last,
    input  wire                          beat_fault,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] beat_data,

    output wire                          write_valid,
    input  wire                          write_ready,
    output wire [31:0]                   write_addr,
    output wire [31:0]                   write_data,
    output wire [3:0]                    write_strb
);
    localparam integer LOG_LINE = LOG_BUS_BYTES + LOG_BEATS;
    localparam integer LOG_BEAT = LOG_LINES + LOG_BEATS;        // beats in all
    localparam integer TAG      = 32 - LOG_LINE - LOG_LINES;
    localparam integer WORDS    = 1 << (LOG_BUS_BYTES - 2);     // of a beat
    localparam integer BITS     = 8 << LOG_BUS_BYTES;
    localparam [1:0]   RUN = 2'd0, ASK = 2'd1, FILL = 2'd2, AGAIN = 2'd3;

    reg  [1:0]           state;
    reg                  on;            // a request that was taken and has no answer
    reg                  on_write;
    reg  [31:0]          on_addr;
    reg  [31:0]          on_data;
    reg  [3:0]           on_strb;
    reg                  failed;        // a beat of the line that comes, or came
    reg                  stale;         // forget came while it came
    reg  [LOG_BEATS-1:0] beat;

    // ---- The lines

    reg  [(1<<LOG_LINES)-1:0] present;
    reg  [TAG-1:0]            tags [0:(1<<LOG_LINES)-1];
    reg  [BITS-1:0]           data [0:(1<<LOG_BEAT)-1];
    reg  [TAG-1:0]            tag_read;
    reg  [BITS-1:0]           data_read;

    wire                 take      = valid && ready;
    wire [LOG_BUS_BYTES+LOG_BEAT-1:LOG_BUS_BYTES] look =
        state == AGAIN ? on_addr[LOG_BUS_BYTES +: LOG_BEAT] : addr[LOG_BUS_BYTES +: LOG_BEAT];
    wire [LOG_LINES-1:0] line      = on_addr[LOG_LINE +: LOG_LINES];
    wire                 hit       = present[line] && tag_read == on_addr[31 -: TAG];
    wire                 store     = on && on_write && state == RUN && write_ready;
    wire                 filled    = state == FILL && beat_valid && beat_last;

    always @(posedge clk) begin
        if (take || state == AGAIN) begin
            tag_read  <= tags[look[LOG_LINE +: LOG_LINES]];
            data_read <= data[look];
        end
        if (filled) tags[line] <= on_addr[31 -: TAG];
    end

    localparam integer WORD_BITS = WORDS == 1 ? 1 : LOG_BUS_BYTES - 2;
    wire [WORD_BITS-1:0] word = WORDS == 1 ? {WORD_BITS{1'b0}} : on_addr[2 +: WORD_BITS];

    // A beat of a line that comes, or the bytes of a store.
    wire [LOG_BEAT-1:0] put_beat = state == FILL ? {line, beat} : on_addr[LOG_BUS_BYTES +: LOG_BEAT];
    genvar i;
    generate
        for (i = 0; i < 4 * WORDS; i = i + 1) begin : byte_lane
            wire here = {{(32 - WORD_BITS){1'b0}}, word} == i / 4;
            wire put  = state == FILL ? beat_valid : store && hit && here && on_strb[i % 4];
            always @(posedge clk) begin
                if (put) data[put_beat][8*i +: 8] <= state == FILL ? beat_data[8*i +: 8] : on_data[8*(i % 4) +: 8];
            end
        end
    endgenerate

    always @(posedge clk) begin
        if (rst || forget) present <= {(1 << LOG_LINES){1'b0}};
        else if (filled && !stale) present[line] <= !failed && !beat_fault;
        else if (state == ASK) present[line] <= 1'b0;
    end

    // ---- Requests

    wire missed = on && !on_write && state == RUN && !hit && !failed;
    assign done  = on && state == RUN && (on_write ? write_ready : hit || failed);
    assign fault = failed;
    assign ready = state == RUN && (!on || APART == 0 && done && !on_write);
    assign rdata = data_read[32*word +: 32];

    assign read_valid  = state == ASK;
    assign read_addr   = {on_addr[31:LOG_LINE], {LOG_LINE{1'b0}}};
    assign write_valid = on && on_write && state == RUN;
    assign write_addr  = on_addr;
    assign write_data  = on_data;
    assign write_strb  = on_strb;

    always @(posedge clk) begin
        if (rst) begin
            state  <= RUN;
            on     <= 1'b0;
            failed <= 1'b0;
            stale  <= 1'b0;
        end else begin
            if (take) on <= 1'b1;
            else if (done) on <= 1'b0;
            if (done) failed <= 1'b0;
            case (state)
                RUN:  if (missed) state <= ASK;
                ASK:  if (read_ready) state <= FILL;
                FILL: if (filled) state <= AGAIN;
                default: state <= RUN;
            endcase
            if (state == FILL && beat_valid && beat_fault) failed <= 1'b1;
            if (state == RUN) stale <= 1'b0;
            else if (forget) stale <= 1'b1;
        end
    end

    always @(posedge clk) begin
        if (take) begin
            on_write <= is_write;
            on_addr  <= addr;
            on_data  <= wdata;
            on_strb  <= wstrb;
        end
        if (state == ASK) beat <= {LOG_BEATS{1'b0}};
        else if (state == FILL && beat_valid) beat <= beat + 1'b1;
    end
endmodule

`default_nettype wire
