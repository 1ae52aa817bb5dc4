// SPDX-License-Identifier: Apache-2.0
//
// vta_alu_lane_tb -- every operation of a lane, one a cycle and with gaps, against arithmetic on 64 bits. REQUANT is judged
// by the remainder of the exact product: quotient and rounding are not computed the way the lane does it.
`default_nettype none

module vta_alu_lane_tb;
`include "bench.vh"
    localparam integer DEPTH = 5;   // stages s2 … s6

    reg  [6:2]  en = 5'd0;
    reg         requant;
    reg  [2:0]  op;
    reg  [31:0] x, y, bias;
    reg  [29:0] scale;
    reg  [7:0]  zero_point, low, high;
    wire [31:0] early;
    wire [31:0] result;

    // What the pipeline around the lane carries along.
    reg  [6:3]  requant_q;
    reg  [7:0]  zero_q [3:6], low_q [3:6], high_q [3:6];

    vta_alu_lane dut (
        .clk(clk), .en2(en[2]), .en3(en[3]), .en4(en[4]), .en5(en[5]), .en6(en[6]), .s2_requant(requant), .s2_op(op),
        .x(x), .y(y), .bias(bias), .scale(scale), .early(early), .s5_requant(requant_q[5]), .s6_requant(requant_q[6]),
        .s6_zero_point(zero_q[6]), .s6_low(low_q[6]), .s6_high(high_q[6]), .result(result)
    );

    always @(posedge clk) begin
        requant_q <= {requant_q[5:3], requant};
        zero_q[3] <= zero_point;
        low_q[3]  <= low;
        high_q[3] <= high;
        zero_q[4] <= zero_q[3];
        low_q[4]  <= low_q[3];
        high_q[4] <= high_q[3];
        zero_q[5] <= zero_q[4];
        low_q[5]  <= low_q[4];
        high_q[5] <= high_q[4];
        zero_q[6] <= zero_q[5];
        low_q[6]  <= low_q[5];
        high_q[6] <= high_q[5];
    end

    reg [31:0] r, q;
    reg [31:0] expected [0:63];
    integer    sent = 0, seen = 0, ties = 0, clipped = 0;

    // Values that matter come up often.
    task operand(output [31:0] value);
        begin
            draw(r);
            pick(14, q);
            case (q)
            0: value = 32'h80000000;
            1: value = 32'h7fffffff;
            2: value = 0;
            3: value = 32'hffffffff;
            4: value = 1;
            5, 6, 7: value = {{24{r[7]}}, r[7:0]};
            8, 9: value = {{12{r[31]}}, r[31:12]};
            10: value = {{26{r[31]}}, r[31:26]};
            11: value = 32'd1 << r[4:0];
            default: value = r;
            endcase
        end
    endtask

    function [31:0] alu(input [2:0] o, input [31:0] a, input [31:0] b);
        reg signed [63:0] wa, wb;
        integer           n;
        begin
            wa = {{32{a[31]}}, a};
            wb = {{32{b[31]}}, b};
            case (o)
            0: alu = wa < wb ? a : b;
            1: alu = wa > wb ? a : b;
            2: alu = wa + wb;
            3: begin
                n = wb > 31 ? 31 : wb < -31 ? -31 : wb;
                if (n >= 0) wa = wa >>> n;
                else wa = wa << -n;
                alu = wa[31:0];
            end
            4: begin
                wa = wa * wb;
                alu = wa[31:0];
            end
            5: begin        // −b wraps to 32 bits
                b = -b;
                wa = wa < wb ? wa : wb;
                wb = {{32{b[31]}}, b};
                wa = wa > wb ? wa : wb;
                alu = wa[31:0];
            end
            default: alu = b;
            endcase
        end
    endfunction

    reg signed [63:0] v, product, quotient, rest, half;
    task requantized(output [31:0] value);
        integer s, lo, hi;
        begin
            v = {{32{x[31]}}, x} + {{32{bias[31]}}, bias};
            product = v * {40'd0, scale[23:0]};
            s = scale[29:24];
            quotient = product >>> s;
            if (s > 0) begin
                rest = product - (quotient <<< s);
                half = 64'sd1 <<< (s - 1);
                if (rest == half) ties = ties + 1;
                // s = 63: 2^63 does not fit, but the rest is below half of it or the product is negative.
                if (s == 63) begin
                    rest = product;
                    if (product < 0) quotient = -(product < -(64'sd1 <<< 62));
                    else quotient = product > (64'sd1 <<< 62);
                end else if (rest > half || (rest == half && quotient[0])) quotient = quotient + 1;
            end
            quotient = quotient + {{56{zero_point[7]}}, zero_point};
            lo = {{24{low[7]}}, low};
            hi = {{24{high[7]}}, high};
            if (quotient < lo || quotient > hi) clipped = clipped + 1;
            value = quotient < lo ? lo : quotient > hi ? hi : quotient[31:0];
        end
    endtask

    // A REQUANT whose quotient is in sight: otherwise most would clip.
    task aim;
        integer s;
        begin
            draw(r);
            s = 8 + r[3:0] % 14 + (r[4] ? 10 : 0);
            scale[29:24] = s;
            draw(r);
            scale[23:0] = r[5:0] < 20 ? 24'd1 << r[10:6] % 24 : r[31:8];
            draw(r);
            // x·mult near 2^s times something small
            v = ((64'd1 << s) * (r[8:0] - 256)) / (scale[23:0] == 0 ? 1 : {40'd0, scale[23:0]});
            if (r[9]) v = v + (64'sd1 <<< s >>> 1) / (scale[23:0] == 0 ? 1 : {40'd0, scale[23:0]});
            bias = r[31:16];
            x = v[31:0] - bias + (r[10] ? r[12:11] : 0);
        end
    endtask

    task invent;
        begin
            operand(x);
            operand(y);
            operand(bias);
            draw(r);
            scale = r[29:0];
            draw(r);
            op = r[2:0] % 7;
            requant = r[3];
            zero_point = r[11:4];
            pick(3, q);
            low  = q == 0 ? 8'h80 : q == 1 ? {1'b1, r[18:12]} : 8'h00;
            pick(3, q);
            high = q == 0 ? 8'h7f : q == 1 ? {1'b0, r[26:20]} : 8'h00;
            if (requant && r[28:27] != 0) aim;
            if (requant) requantized(expected[sent % 64]);
            else expected[sent % 64] = alu(op, x, y);
        end
    endtask

    initial begin
        #1;
        if (count == 0) count = 40000;
        @(negedge clk);
        while (seen < count) begin
            draw(r);
            en = {en[5:2], r[4:0] != 5'd0 && sent < count};
            if (en[2]) begin
                invent;
                #1;
                if (!requant && op != 3'd3 && op != 3'd4 && early !== expected[sent % 64]) begin
                    $display("op %0d x %h y %h: early %h, expected %h", op, x, y, early, expected[sent % 64]);
                    $fatal(1, "FAIL");
                end
                sent = sent + 1;
            end
            @(negedge clk);
            if (en[6]) begin
                if (result !== expected[seen % 64]) begin
                    $display("case %0d: result %h, expected %h", seen, result, expected[seen % 64]);
                    $fatal(1, "FAIL");
                end
                seen = seen + 1;
            end
        end
        $display("%0d cases, %0d ties, %0d clipped", seen, ties, clipped);
        if (ties < count/200 || clipped < count/20) $fatal(1, "FAIL: too few ties or clipped results to say much");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
