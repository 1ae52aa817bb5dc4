// SPDX-License-Identifier: Apache-2.0
//
// regs_formal -- the AXI4-Lite slave of vta_regs: offers stand until taken, and each access is answered once, after it came. In the
// first page: with the registers of the second the solver takes a hundred times as long.
// prove: 3 induction
`default_nettype none

module regs_formal (
    input wire        clk,
    input wire        awvalid,
    input wire        wvalid,
    input wire        bready,
    input wire        arvalid,
    input wire        rready,
    input wire [11:0] addr,
    input wire [31:0] wdata,
    input wire        count_done
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    wire        awready, wready, bvalid, arready, rvalid;
    wire [1:0]  bresp, rresp;
    wire [31:0] rdata;

    vta_regs #(.ADDR_BITS(40)) dut (
        .clk(clk), .rst(rst),
        .s_axil_awvalid(awvalid), .s_axil_awready(awready), .s_axil_awaddr({1'b0, addr}),
        .s_axil_wvalid(wvalid), .s_axil_wready(wready), .s_axil_wdata(wdata), .s_axil_wstrb(4'hf),
        .s_axil_bvalid(bvalid), .s_axil_bready(bready), .s_axil_bresp(bresp),
        .s_axil_arvalid(arvalid), .s_axil_arready(arready), .s_axil_araddr({1'b0, addr}),
        .s_axil_rvalid(rvalid), .s_axil_rready(rready), .s_axil_rdata(rdata), .s_axil_rresp(rresp),
        .status_busy(1'b0), .status_done(1'b0), .status_error(1'b0), .error_code(8'd0), .error_unit(2'd0),
        .error_index(32'd0), .error_addr(40'd0), .error_refused(1'b0), .ended(1'b0), .count_done(count_done), .count_data(64'd0)
    );

    reg [3:0]  aws, ws, bs, ars, rs;
    reg        was_b, was_r;
    reg [31:0] was_data;

    always @(posedge clk) begin
        if (rst) begin
            {aws, ws, bs, ars, rs} <= 20'd0;
            {was_b, was_r} <= 2'd0;
        end else begin
            aws <= aws + {3'd0, awvalid && awready};
            ws  <= ws + {3'd0, wvalid && wready};
            bs  <= bs + {3'd0, bvalid && bready};
            ars <= ars + {3'd0, arvalid && arready};
            rs  <= rs + {3'd0, rvalid && rready};
            was_b    <= bvalid && !bready;
            was_r    <= rvalid && !rready;
            was_data <= rdata;
        end
    end

    // The proof is inductive by the place of each access. The slave's registers are joined by name.
    (* hierconn *) wire \dut.aw_valid_q , \dut.w_valid_q , \dut.b_valid_q , \dut.ar_valid_q , \dut.r_valid_q ;

    always @(posedge clk) begin
        if (!rst) begin
            assert (aws - bs == {3'd0, \dut.aw_valid_q } + {3'd0, \dut.b_valid_q });
            assert (ws - bs == {3'd0, \dut.w_valid_q } + {3'd0, \dut.b_valid_q });
            assert (ars - rs == {3'd0, \dut.ar_valid_q } + {3'd0, \dut.r_valid_q });
        end
    end

    always @(posedge clk) begin
        if (!rst) begin
            assert (!was_b || bvalid);
            assert (!was_r || (rvalid && rdata == was_data));
            assert (!bvalid || (bs != aws && bs != ws));
            assert (!rvalid || rs != ars);
            assert (bresp == 2'd0 && rresp == 2'd0);
            cover (was_b && was_r && bready && rready);
            cover (bs == 4'd2 && rs == 4'd2);
            cover (rvalid && rdata != 32'd0);
        end
    end
endmodule

`default_nettype wire
