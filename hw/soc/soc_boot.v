// SPDX-License-Identifier: Apache-2.0
//
// soc_boot -- fills main memory from an SPI flash before the core starts.
//
//     03, address ─► header: magic, bytes, sum ─► bytes, eight by eight to memory ─► sum is right: done, else once more
//
// In the flash from FLASH on, little endian: "VTA1", the number of bytes behind the header (a multiple of 8), the sum of
// their words of 32 bits; then the bytes, which go to MEMORY.
//
// Contract: done stays. failed says that a header or a sum was wrong, and is there until it is done. SPI mode 0, a bit in
// four cycles. The port to memory writes one beat of 64 bits at a time, in less time than eight bytes take to come.
`default_nettype none

module soc_boot #(
    parameter [23:0] FLASH  = 24'h20_0000,
    parameter [31:0] MEMORY = 32'h8000_0000
) (
    input  wire        clk,
    input  wire        rst,
    output wire        done,
    output reg         failed,

    output reg         cs_n,
    output wire        sck,
    output wire        mosi,
    input  wire        miso,

    output reg         awvalid,
    input  wire        awready,
    output reg  [31:0] awaddr,
    output reg         wvalid,
    input  wire        wready,
    output reg  [63:0] wdata,
    input  wire        bvalid
);
    localparam [31:0] MAGIC = 32'h3141_5456;    // "VTA1"
    localparam [1:0]  REST = 2'd0, ASK = 2'd1, HEADER = 2'd2, DATA = 2'd3;

    // ---- Bits: MOSI changes where SCK falls, MISO is taken while it is high

    reg  [1:0]  state;
    reg  [1:0]  phase;
    reg  [5:0]  bits;           // of the word that goes out or comes in, so far
    reg  [31:0] out;
    reg         line;           // MISO
    reg  [31:0] word;           // bits as they come: bytes from the first, bits from the highest
    wire [31:0] in    = {word[7:0], word[15:8], word[23:16], word[31:24]};
    wire        ends  = phase == 2'd3 && bits == 6'd31;
    assign sck  = phase[1];
    assign mosi = out[31];

    reg         ended;          // a word is in `word`
    always @(posedge clk) begin
        line  <= miso;
        ended <= ends && (state == HEADER || state == DATA);
        phase <= state == REST ? 2'd0 : phase + 2'd1;
        if (state == REST) {bits, out} <= {6'd0, 8'h03, FLASH};
        else if (phase == 2'd3) begin
            bits <= bits == 6'd31 ? 6'd0 : bits + 6'd1;
            out  <= {out[30:0], 1'b0};
            word <= {word[30:0], line};
        end
    end

    // ---- Words

    reg         right;          // all is there, or on its way
    reg         due;            // a write has no answer yet
    assign done = right && !due;
    reg  [1:0]  number;         // of the header's words
    reg  [31:0] left;           // bytes
    reg  [31:0] sum, wanted;
    reg  [31:0] lower;
    reg         upper;          // the next word is the upper one of a beat
    wire        last = left == 32'd4;
    always @(posedge clk) begin
        if (rst) begin
            state   <= REST;
            right   <= 1'b0;
            failed  <= 1'b0;
            cs_n    <= 1'b1;
            awvalid <= 1'b0;
            wvalid  <= 1'b0;
            due     <= 1'b0;
        end else begin
            if (bvalid) due <= 1'b0;
            if (awready) awvalid <= 1'b0;
            if (wready) wvalid <= 1'b0;
            case (state)
                REST: if (!right && !due) begin
                    state  <= ASK;
                    cs_n   <= 1'b0;
                    number <= 2'd0;
                    sum    <= 32'd0;
                    upper  <= 1'b0;
                    awaddr <= MEMORY - 32'd8;
                end
                ASK: if (ends) state <= HEADER;
                HEADER: if (ended) begin
                    number <= number + 2'd1;
                    case (number)
                        2'd0:    if (in != MAGIC) {state, cs_n, failed} <= {REST, 2'b11};
                        2'd1:    left <= in;
                        default: {state, wanted} <= {DATA, in};
                    endcase
                end
                default: if (ended) begin
                    sum   <= sum + in;
                    left  <= left - 32'd4;
                    upper <= !upper;
                    lower <= in;
                    if (upper) begin
                        awvalid <= 1'b1;
                        wvalid  <= 1'b1;
                        due     <= 1'b1;
                        awaddr  <= awaddr + 32'd8;
                        wdata   <= {in, lower};
                    end
                    if (last) begin
                        state  <= REST;
                        cs_n   <= 1'b1;
                        right  <= sum + in == wanted;
                        failed <= sum + in != wanted;
                    end
                end
            endcase
        end
    end
endmodule

`default_nettype wire
