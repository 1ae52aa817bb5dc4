// SPDX-License-Identifier: Apache-2.0
//
// vta_mul_pair_tb -- both products, for all pairs of one weight and x with the other weight at its extremes and at random:
// where a low product borrows from the high one, and where packing could overflow.
`default_nettype none

module vta_mul_pair_tb;
`include "bench.vh"
    reg         [7:0]  w0, w1, x;
    wire        [15:0] low;
    wire signed [15:0] high;

    vta_mul_pair dut (.clk(clk), .en(1'b1), .w0(w0), .w1(w1), .x(x), .low(low), .high(high));

    // Inputs of two cycles ago.
    reg signed [7:0] w0_q [0:1], w1_q [0:1], x_q [0:1];
    wire signed [15:0] want0 = w0_q[1] * x_q[1];
    wire signed [15:0] want1 = w1_q[1] * x_q[1];
    wire signed [15:0] got0  = low - 16'h8000;

    integer    n, swept;
    reg [31:0] r;
    reg [7:0]  other;

    initial begin
        #1;
        if (count == 0) count = 7 * 131072;
        for (n = 0; n < count; n = n + 1) begin
            swept = n % 65536;
            if (swept % 256 == 0) draw(r);
            case ((n / 131072) % 7)
            0: other = 8'h80;
            1: other = 8'h7f;
            2: other = 8'hff;
            3: other = 8'h00;
            4: other = 8'h01;
            5: other = 8'h81;
            default: other = r[12:5];
            endcase
            {w0, x} = swept[15:0];
            w1 = other;
            if ((n / 65536) % 2 == 1) {w1, w0} = {w0, w1};
            @(posedge clk);
            #1;
            if (n > 2 && (got0 !== want0 || high !== want1)) begin
                $display("w0 %0d w1 %0d x %0d: %0d %0d", w0_q[1], w1_q[1], x_q[1], got0, high);
                $fatal(1, "FAIL");
            end
        end
        $display("%0d pairs", count);
        $display("PASS");
        $finish;
    end

    always @(posedge clk) begin
        w0_q[0] <= w0;
        w1_q[0] <= w1;
        x_q[0]  <= x;
        w0_q[1] <= w0_q[0];
        w1_q[1] <= w1_q[0];
        x_q[1]  <= x_q[0];
    end
endmodule

`default_nettype wire
