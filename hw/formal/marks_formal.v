// SPDX-License-Identifier: Apache-2.0
//
// marks_formal -- vta_marks: one instruction in a queue and one mark of it, any, are followed from entry to exit: at the head, the mark
// is up if and only if it was up at entry and its LOAD has not been done since.
// prove: 4 induction
`default_nettype none

module marks_formal #(
    parameter integer WIDTH = 2,
    parameter integer DEPTH = 5
) (
    input wire             clk,
    input wire             push,
    input wire             pop,
    input wire             follow,
    input wire [WIDTH-1:0] in,
    input wire [WIDTH-1:0] done
);
    reg rst = 1'b1;
    always @(posedge clk) rst <= 1'b0;

    (* anyconst *) reg at;

    // The queue's state, joined by name when the hierarchy is flattened.
    (* hierconn *) wire [WIDTH*DEPTH-1:0] \dut.marks_q ;
    (* hierconn *) wire [DEPTH:0]         \dut.place_q ;
    wire [WIDTH*DEPTH-1:0] marks = \dut.marks_q ;
    wire [DEPTH:0]         place = \dut.place_q ;

    wire [WIDTH-1:0] head;
    vta_marks #(.WIDTH(WIDTH), .DEPTH(DEPTH)) dut (.clk(clk), .rst(rst), .push(push), .in(in), .pop(pop), .done(done), .head(head));

    reg [3:0] held;
    reg       following;
    reg [3:0] ahead;
    reg       mark;

    always @(posedge clk) begin
        if (rst) begin
            held      <= 4'd0;
            following <= 1'b0;
        end else begin
            held <= held + {3'd0, push} - {3'd0, pop};
            if (!following && follow && push) begin
                following <= 1'b1;
                ahead     <= held - {3'd0, pop};
                mark      <= in[at] && !done[at];
            end else if (following) begin
                if (pop && ahead == 4'd0) following <= 1'b0;
                if (pop) ahead <= ahead - 4'd1;
                mark <= mark && !done[at];
            end
        end
    end

    always @* begin
        assume (!pop || held != 4'd0);
        assume (!push || pop || held < DEPTH);
    end

    integer n;
    always @(posedge clk) begin
        if (!rst) begin
            assert (!following || ahead != 4'd0 || head[at] == mark);
            // Bounds of what the queue holds.
            assert (held <= DEPTH && (!following || ahead < held));
            for (n = 0; n <= DEPTH; n = n + 1) assert (place[n] == (held == n));
            for (n = 0; n < DEPTH; n = n + 1) assert (!following || ahead != n || marks[WIDTH*n + at] == mark);
            cover (held == DEPTH && push && pop);
            cover (following && ahead == 4'd0 && pop && mark);
            cover (following && ahead == 4'd0 && pop && !mark);
        end
    end
endmodule

`default_nettype wire
