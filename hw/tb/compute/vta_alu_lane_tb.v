// SPDX-License-Identifier: Apache-2.0
//
// vta_alu_lane_tb -- every operation of a lane, one a cycle and with gaps, against arithmetic on 64 bits. REQUANT is judged
// by the remainder of the exact product: quotient and rounding are not computed the way the lane does it. With ROWS = 1, long results
// and exp2, too, of all numbers about 0 and about each power of two at random.
`default_nettype none

module vta_alu_lane_tb #(
    parameter integer DSPS = 3,
    parameter integer ROWS = 0
);
`include "bench.vh"
    localparam integer DEPTH = 5;   // stages s2 … s6

    reg  [6:2]  en = 5'd0;
    reg         requant, exp2, long_one;
    reg  [2:0]  op;
    reg  [31:0] x, y, bias;
    reg  [36:0] scale;      // shift, multiplier
    reg  [1:0]  rounding;
    reg  [7:0]  zero_point, low, high;
    wire [31:0] early;
    // Registers of the pipeline around the lane.
    reg  [7:3]  requant_q, long_q;
    reg  [1:0]  rounding_q [3:6];
    reg  [7:0]  zero_q [3:6], low_q [3:6], high_q [3:6];

    wire [31:0] held;
    wire [31:0] result = requant_q[7] && !long_q[7] ? {{24{held[7]}}, held[7:0]} : held;      // REQUANT leaves 8 bits

    vta_alu_lane #(.DSPS(DSPS), .ROWS(ROWS)) dut (
        .clk(clk), .en2(en[2]), .en3(en[3]), .en4(en[4]), .en5(en[5]), .en6(en[6]), .s2_requant(requant), .s2_exp2(exp2), .s2_op(op),
        .x(x), .y(y), .bias(bias), .scale(scale), .s2_twice(rounding[1]), .early(early), .s6_requant(requant_q[6]), .s6_long(long_q[6]),
        .s6_rounding(rounding_q[6]), .s6_zero_point(zero_q[6]), .s6_low(low_q[6]), .s6_high(high_q[6]),
        .s6_to_low({zero_q[6][7], zero_q[6]} - {low_q[6][7], low_q[6]}), .s6_past_high({zero_q[6][7], zero_q[6]} - {high_q[6][7], high_q[6]} - 9'd1),
        .index(index), .result(held)
    );

    // A table is asked for what a REQUANT gives one cycle before it is there.
    wire [7:0] index;
    reg  [7:0] asked_q;
    always @(posedge clk) asked_q <= index;
    always @(negedge clk) begin
        if (live_q && asked_q !== held[7:0]) $fatal(1, "index %h of result %h", asked_q, held);
    end
    reg live_q = 1'b0;
    always @(posedge clk) live_q <= en[6] && requant_q[6] && !long_q[6];

    always @(posedge clk) begin
        requant_q <= {requant_q[6:3], requant};
        long_q    <= {long_q[6:3], long_one};
        rounding_q[3] <= rounding;
        rounding_q[4] <= rounding_q[3];
        rounding_q[5] <= rounding_q[4];
        rounding_q[6] <= rounding_q[5];
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
    integer    sent = 0, seen = 0, ties = 0, clipped = 0, saturated = 0, powers = 0, not_0 = 0;

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

    // value / 2^by, rounded once; halves go to even (0), up (1), away from zero (2).
    reg signed [71:0] v, product, rest, half;
    function signed [71:0] divide(input signed [71:0] value, input integer by, input integer halves);
        reg signed [71:0] quotient;
        begin
            quotient = value >>> by;
            rest     = value - (quotient <<< by);
            half     = 72'sd1 <<< by;
            if (2*rest == half) ties = ties + 1;
            if (2*rest > half || (2*rest == half && (halves == 0 ? quotient[0] : halves == 1 ? 1'b1 : value >= 0)))
                quotient = quotient + 1;
            divide = quotient;
        end
    endfunction

    task requantized(output [31:0] value);
        integer s, lo, hi;
        begin
            v = {{40{x[31]}}, x} + {{40{bias[31]}}, bias};
            product = v * {41'd0, scale[30:0]};
            s = scale[36:31];
            if (rounding < 2)  product = divide(product, s, rounding);
            else if (s < 31)   product = divide(product, s, 1);
            else               product = divide(divide(product, 31, 1), s - 31, rounding == 2 ? 1 : 2);
            product = product + {{64{zero_point[7]}}, zero_point};
            lo = long_one ? -131072 : {{24{low[7]}}, low};
            hi = long_one ? 131071 : {{24{high[7]}}, high};
            if (product < lo || product > hi) begin
                clipped = clipped + 1;
                saturated = saturated + long_one;
            end
            value = product < lo ? lo : product > hi ? hi : product[31:0];
        end
    endtask

    // A REQUANT whose quotient is in sight: otherwise most would clip.
    task aim;
        integer             s;
        reg signed [71:0]   aimed;
        begin
            draw(r);
            s = 8 + r[3:0] % 14 + (r[4] ? 10 : 0) + (r[5] ? 14 : 0);
            scale[36:31] = s;
            draw(r);
            scale[30:0] = r[5:0] < 20 ? 31'd1 << r[10:6] % 31 : r[30:0] >> (r[31] ? 0 : 7);
            draw(r);
            // x·mult near 2^s times something small
            aimed = long_one ? $signed({54'd0, r[31:14]}) - 131072 : $signed({63'd0, r[8:0]}) - 256;
            if (long_one && r[13]) aimed = (r[12] ? 131072 : -131072) + {70'd0, r[15:14]} - 2;
            v = ((72'd1 << s) * aimed) / (scale[30:0] == 0 ? 1 : $signed({41'd0, scale[30:0]}));
            if (r[9]) v = v + (72'sd1 <<< s >>> 1) / (scale[30:0] == 0 ? 1 : $signed({41'd0, scale[30:0]}));
            bias = r[31:16];
            x = v[31:0] - bias + (r[10] ? r[12:11] : 0);
        end
    endtask

    // 2^(fraction of n bits)·2^15, rounded: the only number whose power lies between those of its neighbours at half a step would need
    // 2^n factors; so its root is taken n times, with 40 bits after the point.
    function [15:0] power(input [5:0] number, input integer n);
        reg [127:0] value, root, bit_at;
        integer     i;
        begin
            value = 128'd1 << 40;
            for (i = 0; i < n; i = i + 1) begin
                // The fraction's bits from the lowest on: value := sqrt(value · 2^bit).
                if (i < 6 && number[i]) value = value << 1;
                value  = value << 40;
                root   = 0;
                for (bit_at = 128'd1 << 41; bit_at != 0; bit_at = bit_at >> 1)
                    if ((root | bit_at)*(root | bit_at) <= value) root = root | bit_at;
                value = root;
            end
            power = ((value >> 24) + 128'd1) >> 1;
        end
    endfunction

    reg [15:0] highs [0:63], lows [0:63];
    task raised(output [31:0] value);
        integer whole, part;
        begin
            v     = $signed(x) > 0 ? 72'sd0 : {{40{x[31]}}, x};
            part  = v - ((v >>> 12) <<< 12);
            whole = -(v >>> 12);
            product = {56'd0, highs[part/64]} * {56'd0, lows[part%64]};
            value = divide(product, 14 + whole > 63 ? 63 : 14 + whole, 0);
            powers = powers + 1;
            if (value != 0) not_0 = not_0 + 1;
        end
    endtask

    task invent;
        begin
            operand(x);
            operand(y);
            operand(bias);
            draw(r);
            scale[30:0] = r[30:0];
            draw(r);
            scale[36:31] = r[5:0];
            rounding = r[6] ? 2'd0 : r[8:7];
            draw(r);
            op = r[2:0] % 7;
            requant = r[3];
            long_one = ROWS != 0 && requant && r[30];
            exp2 = ROWS != 0 && !requant && r[31:30] == 2'd0;
            zero_point = r[11:4];
            pick(3, q);
            low  = q == 0 ? 8'h80 : q == 1 ? {1'b1, r[18:12]} : 8'h00;
            pick(3, q);
            high = q == 0 ? 8'h7f : q == 1 ? {1'b0, r[26:20]} : 8'h00;
            if (long_one) {zero_point, low, high} = 24'd0;
            if (exp2) begin
                // Numbers that leave something, from 0 on, one after the other in long.
                if (r[29:28] == 2'd0) x = -powers;
                else if (r[29:28] != 2'd1) x = -({13'd0, r[27:9]} % 32'd90000);
                else if (r[27]) x = $signed(x) >>> r[12:9];
                y = 0;
                op = 3'd6;
                long_one = 1'b1;
                rounding = 2'd0;
            end
            if (requant && r[28:27] != 0) aim;
            // Sums of which all low bits are ones, times multipliers just under a power of two, rounded twice.
            if (requant && r[31:29] == 3'd0) begin
                {x, bias}    = {{32{r[25]}}, 31'd0, r[26]};
                scale[30:0]  = {31{1'b1}} >> r[24:20];
                scale[36:31] = {4'd7, r[19:18]} + 6'd3;
                rounding     = {1'b1, r[17]};
            end
            if (requant) requantized(expected[sent % 64]);
            else if (exp2) raised(expected[sent % 64]);
            else expected[sent % 64] = alu(op, x, y);
        end
    endtask

    integer filled;
    initial begin
        #1;
        if (count == 0) count = 40000;
        for (filled = 0; filled < 64 && ROWS != 0; filled = filled + 1) begin
            highs[filled] = power(filled, 6);
            lows[filled]  = power(filled, 12);
        end
        @(negedge clk);
        while (seen < count) begin
            draw(r);
            en = {en[5:2], r[4:0] != 5'd0 && sent < count};
            if (en[2]) begin
                invent;
                #1;
                if (!requant && !exp2 && op != 3'd3 && op != 3'd4 && op != 3'd5 && early !== expected[sent % 64]) begin
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
        $display("%0d cases, %0d ties, %0d clipped, %0d of them long; %0d powers of 2, %0d not 0", seen, ties, clipped, saturated, powers, not_0);
        if (ROWS != 0 && (saturated < count/100 || not_0 < count/40)) $fatal(1, "FAIL: too few long results");
        if (ties < count/200 || clipped < count/20) $fatal(1, "FAIL: too few ties or clipped results to say much");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
