// SPDX-License-Identifier: Apache-2.0
//
// order_formal -- what every queue promises: no word lost, doubled, changed or overtaken, at least PLACES words held, and an
// offered word stands until it is taken. That the queue's own state (`count` words, `words`, the oldest lowest, at most MOST)
// is what has gone in and not come out makes the promises inductive: they hold forever.
`default_nettype none

module order_formal #(
    parameter integer WIDTH  = 3,
    parameter integer PLACES = 4,
    parameter integer MOST   = 4
) (
    input wire                  clk,
    input wire                  rst,
    input wire                  in_valid,
    input wire                  in_ready,
    input wire [WIDTH-1:0]      in_data,
    input wire                  out_valid,
    input wire                  out_ready,
    input wire [WIDTH-1:0]      out_data,
    input wire                  follow,
    input wire [4:0]            count,
    input wire [MOST*WIDTH-1:0] words
);
    reg [4:0]       held;
    reg             following;
    reg [4:0]       ahead;
    reg [WIDTH-1:0] word;
    reg             stalled;
    reg [WIDTH-1:0] offered;
    integer         n;

    wire push = in_valid && in_ready;
    wire pop  = out_valid && out_ready;

    always @(posedge clk) begin
        if (rst) begin
            held      <= 5'd0;
            following <= 1'b0;
            stalled   <= 1'b0;
        end else begin
            held    <= held + {4'd0, push} - {4'd0, pop};
            stalled <= out_valid && !out_ready;
            offered <= out_data;
            if (!following && follow && push) begin
                following <= 1'b1;
                word      <= in_data;
                ahead     <= held - {4'd0, pop};
            end else if (following && pop) begin
                if (ahead == 5'd0) following <= 1'b0;
                ahead <= ahead - 5'd1;
            end
        end
    end

    always @(posedge clk) begin
        if (!rst) begin
            assert (!pop || held != 5'd0);
            assert (in_ready || held >= PLACES);
            assert (!(following && pop && ahead == 5'd0) || out_data == word);
            assert (!stalled || (out_valid && out_data == offered));
            assert (held == count && count <= MOST);
            cover (held == MOST);
            cover (following && pop && ahead == 5'd0 && word == {WIDTH{1'b1}});
            cover (stalled && pop && held != 5'd1);
            assert (!following || ahead < held);
            for (n = 0; n < MOST; n = n + 1)
                assert (!following || ahead != n || words[n*WIDTH +: WIDTH] == word);
        end
    end
endmodule

`default_nettype wire
