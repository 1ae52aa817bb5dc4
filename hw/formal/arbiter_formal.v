// SPDX-License-Identifier: Apache-2.0
//
// arbiter_formal -- vta_arbiter serves one of those that ask, and nobody who stays waits for more than N - 1 others.
// prove: 3 induction
`default_nettype none

module arbiter_formal (
    input wire       clk,
    input wire [2:0] ask,
    input wire       taken
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    wire [2:0] grant;
    reg  [2:0] waiting;
    wire [2:0] request = ask | waiting;

    vta_arbiter #(.N(3), .ROTATE(1)) dut (.clk(clk), .rst(rst), .request(request), .grant(grant), .taken(taken));

    // Counts, for each that waits, of the others that have been served meanwhile.
    reg [1:0] passed0, passed1, passed2;
    always @(posedge clk) begin
        if (rst) begin
            waiting <= 3'd0;
            {passed0, passed1, passed2} <= 6'd0;
        end else begin
            waiting <= request & ~(taken ? grant : 3'd0);
            passed0 <= !request[0] || (taken && grant[0]) ? 2'd0 : passed0 + {1'b0, taken};
            passed1 <= !request[1] || (taken && grant[1]) ? 2'd0 : passed1 + {1'b0, taken};
            passed2 <= !request[2] || (taken && grant[2]) ? 2'd0 : passed2 + {1'b0, taken};
        end
    end

    // The place of each in the line behind the one served last makes the proof inductive.
    (* hierconn *) wire [2:0] \dut.mask_q ;
    wire [2:0] mask = \dut.mask_q ;
    wire       last0 = mask == 3'b110;
    wire       last1 = mask == 3'b100;
    wire [1:0] ahead0 = last0 ? 2'd2 : last1 ? 2'd1 : 2'd0;
    wire [1:0] ahead1 = last0 ? 2'd0 : last1 ? 2'd2 : 2'd1;
    wire [1:0] ahead2 = last0 ? 2'd1 : last1 ? 2'd0 : 2'd2;

    always @(posedge clk) begin
        if (!rst) begin
            assert (last0 || last1 || mask == 3'b000);
            assert (3'd0 + passed0 + ahead0 <= 3'd2 && 3'd0 + passed1 + ahead1 <= 3'd2 && 3'd0 + passed2 + ahead2 <= 3'd2);
            assert ((grant & ~request) == 3'd0);
            assert ((grant != 3'd0) == (request != 3'd0));
            assert (grant == 3'd0 || grant == 3'd1 || grant == 3'd2 || grant == 3'd4);
            assert (passed0 <= 2'd2 && passed1 <= 2'd2 && passed2 <= 2'd2);
            cover (passed0 == 2'd2 && grant == 3'd1 && taken);
            cover (request == 3'd7 && grant == 3'd4 && taken);
        end
    end
endmodule

`default_nettype wire
