// SPDX-License-Identifier: Apache-2.0
//
// vta_nest_tb -- random nests against three plain loops, in both orders, stepped at random, one loaded in the cycle of the
// other's last step.
`default_nettype none

module vta_nest_tb;
`include "bench.vh"
    localparam integer UB = 6, DB = 7, SB = 8, WB = 5;

    reg           load = 1'b0;
    reg           step = 1'b0;
    reg           outer;
    reg  [UB-1:0] first_uop, last_uop;
    reg  [13:0]   out_last, in_last;
    reg  [DB-1:0] dst_out, dst_in;
    reg  [SB-1:0] src_out, src_in;
    reg  [WB-1:0] wgt_out, wgt_in;
    wire [UB-1:0] uop, range_begin, range_last;
    wire [DB-1:0] dst;
    wire [SB-1:0] src;
    wire [WB-1:0] wgt;
    wire          at_begin, at_end, row_end, first, last;

    vta_nest #(.UOP_BITS(UB), .DST_BITS(DB), .SRC_BITS(SB), .WGT_BITS(WB)) dut (
        .clk(clk), .load(load), .step(step), .uop_outer(outer), .uop_begin(first_uop), .uop_last(last_uop),
        .out_last(out_last), .in_last(in_last), .dst_out(dst_out), .dst_in(dst_in), .src_out(src_out), .src_in(src_in),
        .wgt_out(wgt_out), .wgt_in(wgt_in), .uop(uop), .dst(dst), .src(src), .wgt(wgt), .at_begin(at_begin),
        .at_end(at_end), .row_end(row_end), .first(first), .last(last), .range_begin(range_begin), .range_last(range_last)
    );

    // The nest in work, as it was loaded.
    reg           m_outer;
    reg  [UB-1:0] m_first, m_last;
    integer       m_out, m_in;
    reg  [31:0]   m_step [0:5];
    integer       k, i, j;
    integer       n;
    integer       total = 0;
    reg  [31:0]   r;

    task invent;
        begin
            draw(r); outer     = r[7];
            draw(r); first_uop = r[UB-1:0];
            pick(5, r);
            last_uop = first_uop + r > 63 ? 6'd63 : first_uop + r[UB-1:0];
            pick(6, r); out_last = r[13:0];
            pick(7, r); in_last  = r[13:0];
            draw(r); {dst_out, dst_in} = r[20:3];
            draw(r); {src_out, src_in} = r[20:3];
            draw(r); {wgt_out, wgt_in} = r[20:3];
        end
    endtask

    task remember;
        begin
            m_outer = outer; m_first = first_uop; m_last = last_uop; m_out = out_last; m_in = in_last;
            m_step[0] = dst_out; m_step[1] = dst_in; m_step[2] = src_out; m_step[3] = src_in; m_step[4] = wgt_out;
            m_step[5] = wgt_in;
            k = m_first; i = 0; j = 0;
        end
    endtask

    // The loops, one iteration on.
    task advance;
        begin
            if (m_outer) begin
                if (j < m_in) j = j + 1;
                else begin
                    j = 0;
                    if (i < m_out) i = i + 1;
                    else begin i = 0; k = k + 1; end
                end
            end else begin
                if (k < m_last) k = k + 1;
                else begin
                    k = m_first;
                    if (j < m_in) j = j + 1;
                    else begin j = 0; i = i + 1; end
                end
            end
            total = total + 1;
        end
    endtask

    wire at_last = k == m_last && i == m_out && j == m_in;
    wire good = uop == k && dst == ((i*m_step[0] + j*m_step[1]) & 127) && src == ((i*m_step[2] + j*m_step[3]) & 255)
             && wgt == ((i*m_step[4] + j*m_step[5]) & 31) && at_begin == (k == m_first) && at_end == (k == m_last)
             && row_end == (j == m_in) && last == at_last && first == (k == m_first && i == 0 && j == 0)
             && range_begin == m_first && range_last == m_last;

    initial begin
        #1;
        if (count == 0) count = 400;
        @(negedge clk);
        invent;
        load = 1'b1;
        @(negedge clk);
        remember;
        load = 1'b0;
        n = 0;
        while (n < count) begin
            #1;
            if (!good) begin
                $display("nest %0d, iteration %0d %0d %0d: uop %0d dst %0d src %0d wgt %0d flags %b", n, k, i, j, uop, dst, src, wgt,
                         {at_begin, at_end, row_end, first, last});
                $fatal(1, "FAIL");
            end
            draw(r);
            step = r[3:0] != 4'd0;
            load = step && at_last;
            if (load) invent;
            @(negedge clk);
            if (load) begin
                n = n + 1;
                remember;
            end else if (step) advance;
        end
        $display("%0d nests, %0d iterations", n, total);
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
