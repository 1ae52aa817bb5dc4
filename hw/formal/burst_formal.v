// SPDX-License-Identifier: Apache-2.0
//
// burst_formal -- vta_burst: no burst crosses 4 KiB, the bursts of a run follow each other without gap and cover exactly its
// beats, and out_last marks the last one. Bus of 64 bytes, runs of up to 64 KiB, at any address of three pages.
// prove: 8 words
`default_nettype none

module burst_formal (
    input wire        clk,
    input wire        in_valid,
    input wire [13:0] in_addr,
    input wire [15:0] in_bytes,
    input wire        out_ready
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    wire        in_ready, out_valid, out_last, out_beyond;
    wire [31:0] out_addr;
    wire [7:0]  out_len;

    // One run at a time: the next command only when the one before it is out.
    reg         busy;
    reg  [11:0] next;        // beat address expected
    reg  [10:0] left;        // beats expected
    wire        take = in_valid && in_ready && !busy && in_bytes != 16'd0;
    wire [16:0] span = {1'b0, in_bytes} + {11'd0, in_addr[5:0]} + 17'd63;
    wire        pop = out_valid && out_ready;

    vta_burst #(.LOG_BUS_BYTES(6), .ADDR_BITS(32)) dut (
        .clk(clk), .rst(rst), .in_valid(take), .in_ready(in_ready), .in_addr({19'd0, in_addr}), .in_rows(14'd1),
        .in_run_less_1({10'd0, in_bytes} - 26'd1), .in_stride_bytes(28'd0),
        .out_valid(out_valid), .out_ready(out_ready), .out_addr(out_addr), .out_len(out_len), .out_last(out_last),
        .out_beyond(out_beyond)
    );

    always @(posedge clk) begin
        if (rst) begin
            busy <= 1'b0;
        end else if (take) begin
            busy <= 1'b1;
            next <= {4'd0, in_addr[13:6]};
            left <= span[16:6];
        end else if (pop) begin
            busy <= !out_last;
            next <= next + {4'd0, out_len} + 12'd1;
            left <= left - {3'd0, out_len} - 11'd1;
        end
    end

    always @(posedge clk) begin
        if (!rst) begin
            assume (!take || in_addr < 14'h3000);
            assert (!out_valid || busy);
            assert (!out_valid || (out_addr == {14'd0, next, 6'd0} && !out_beyond));
            assert (!out_valid || {3'd0, out_len} < left);
            assert (!out_valid || out_last == (left == {3'd0, out_len} + 11'd1));
            assert (!out_valid || {2'd0, out_addr[11:6]} + out_len < 8'd64);
            cover (pop && !out_last && {2'd0, out_addr[11:6]} + out_len == 8'd63);
            cover (pop && out_last && next[11:6] != 6'd0 && next[5:0] == 6'd0);
            cover (pop && left > 11'd256);
        end
    end
endmodule

`default_nettype wire
