// SPDX-License-Identifier: Apache-2.0
//
// vta_row_unit_tb -- root, recip and recip_root: at all powers of two and their neighbours, at all small numbers, at the borders of 0, and at random.
// Results are judged by what they must fulfil: a root's square and the next one's, a quotient's product with its divisor.
`default_nettype none

module vta_row_unit_tb;
`include "bench.vh"
    reg         rst = 1'b1;
    reg         start = 1'b0;
    reg  [31:0] value, arriving;
    reg         root, of_root;
    reg  [1:0]  form;
    reg  [5:0]  places;
    wire        ready;
    wire [31:0] result;

    // The number is there in one cycle alone.
    always @(posedge clk) arriving <= start ? value : {32{1'bx}};

    vta_row_unit dut (
        .clk(clk), .rst(rst), .start(start), .value(arriving), .root(root), .of_root(of_root), .form(form), .places(places),
        .ready(ready), .result(result)
    );

    reg signed [63:0] number, scaled, digits;
    integer           k, shift;

    task fail(input [8*40-1:0] what);
        $fatal(1, "%0s: value %h root %b of_root %b form %0d places %0d: %h", what, value, root, of_root, form, places, result);
    endtask

    // The largest k, or the largest even one, with number · 2^k < 2^32.
    task normalize(input integer by);
        begin
            k = 0;
            while (number <<< (k + by) < 64'sd1 <<< 32) k = k + by;
            scaled = number <<< k;
        end
    endtask

    task check_root;
        begin
            normalize(2);
            digits = {48'd0, result[15:0]};
            if (digits*digits > scaled || (digits + 1)*(digits + 1) <= scaled) fail("root");
            if ({result[31:30], result[23:16]} != 0 || result[29:24] != k/2) fail("places of a root");
        end
    endtask

    task check_recip;
        begin
            if (of_root) begin
                k      = value[29:24] > 31 ? 31 : value[29:24];
                scaled = 4*{48'd0, 1'b1, value[14:0]};
                shift  = 31 - k;
            end else begin
                normalize(1);
                scaled = scaled >>> 14;
                shift  = 47 - k;
            end
            shift = shift < places ? 0 : shift - places;
            digits = {48'd0, result[15:0]};
            if (form != 2 && (digits*scaled > (64'sd1 <<< 33) - 1 || (digits + 1)*scaled <= (64'sd1 <<< 33) - 1)) fail("reciprocal");
            if (form == 0 && (result[29:24] != shift || {result[31:30], result[23:16]} != 0)) fail("scale word");
            if (form == 1 && result[31:16] != 0) fail("multiplier");
            if (form == 2 && result != shift) fail("shift");
        end
    endtask

    integer waited, done = 0;
    task try(input [31:0] from);
        begin
            value = from;
            start = 1'b1;
            @(negedge clk) start = 1'b0;
            waited = 1;
            while (!ready) begin
                @(negedge clk) waited = waited + 1;
                if (waited > 13) fail("it takes too long");
            end
            if (^result === 1'bx) fail("no result");
            number = $signed(value) <= 0 ? 1 : {32'd0, value};
            if (root) check_root; else check_recip;
            done = done + 1;
        end
    endtask

    reg [31:0] r;
    task try_all(input [31:0] from);
        begin
            draw(r);
            places = r[7:0] < 8'd100 ? 6'd0 : r[8 +: 6];
            form   = r[15:14] == 2'd3 ? 2'd0 : r[15:14];
            {root, of_root} = 2'b10; try(from);
            {root, of_root} = 2'b01; try(from);
            // A number as a root makes it: the upper bit set, few places.
            try({from[31:30], 2'd0, from[27:24], from[23:16], 1'b1, from[14:0]});
            {root, of_root} = 2'b00; try(from);
        end
    endtask

    integer n, around;
    initial begin
        #1;
        if (count == 0) count = 4000;
        repeat (2) @(negedge clk);
        rst = 1'b0;
        for (n = 0; n < 32; n = n + 1) for (around = -3; around <= 3; around = around + 1) try_all((32'd1 << n) + around);
        for (n = 0; n < 600; n = n + 1) try_all(n);
        for (n = 0; n < 64; n = n + 1) begin
            // All places that there may be, at all shifts.
            {root, of_root} = 2'b00; form = n % 3; places = n; try(32'd1 << (n % 31));
            {root, of_root} = 2'b01; form = n % 3; places = 0; try({2'd0, n[5:0], 8'd0, 16'h8000 + n[15:0]});
        end
        // Squares and what is beside them.
        for (n = 1; n < 46340; n = n + 97) for (around = -1; around <= 1; around = around + 1) try_all(n*n + around);
        for (n = 0; n < count; n = n + 1) begin
            draw(r);
            try_all(r >> r[4:0]);
        end
        $display("%0d cases", done);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
