// SPDX-License-Identifier: Apache-2.0
//
// vta_row_unit -- root, recip and recip_root of ISA.md §7: what one number of a batch row becomes, two bits of the result a cycle.
//
//   1      the number arrives; one below 0 counts as 1
//   2, 3   it is shifted to the left until a one is on top (for a root: by an even number of places); 0 counts as 1, too
//   4 … 11 two steps of a square root, or of the division of 2^33 − 1 by the upper 18 bits
//   12     the result as `form` wants it
//
// Contract: `start` only while `ready`; `value` is there one cycle later, as it comes from ACC. `root` and `of_root` (neither: recip) come with `start`, `form` and
// `places` hold from then until `ready`. `ready` falls after `start` and rises with the result, twelve cycles later; `result`
// holds until the unit is ready again.
`default_nettype none

module vta_row_unit (
    input  wire        clk,
    input  wire        rst,
    input  wire        start,
    input  wire [31:0] value,
    input  wire        root,        // floor(sqrt(value · 2^k)), and k/2
    input  wire        of_root,     // the reciprocal of what a root has made
    input  wire [1:0]  form,        // of a reciprocal: 0 both, 1 the multiplier, 2 the shift
    input  wire [5:0]  places,      // taken off the shift
    output wire        ready,
    output wire [31:0] result
);
    localparam [3:0] IDLE = 4'd0, ARRIVES = 4'd1, COARSE = 4'd2, FINE = 4'd3, LAST_DIGITS = 4'd11, SHOWN = 4'd12;

    reg [3:0] step_q;
    always @(posedge clk) begin
        if (rst) step_q <= IDLE;
        else if (start) step_q <= ARRIVES;
        else if (step_q != IDLE) step_q <= step_q == SHOWN ? IDLE : step_q + 4'd1;
    end
    // In registers, since two steps of the result in one cycle begin with them.
    reg root_q, of_root_q;
    always @(posedge clk) begin
        if (start) {root_q, of_root_q} <= {root, of_root};
    end
    wire digits = step_q > FINE && step_q <= LAST_DIGITS;

    // 2: by 0, 8, 16 or 24 places; 3: by up to 7 more. Of a 0 no one comes up: the place of the last one, which 1 would have, gets it.
    reg  [31:0] number_q;
    reg  [4:0]  moved_q;        // by how many places; of what a root has made: how many to the left there
    wire        none_high = number_q[31:16] == 16'd0;
    wire [31:0] by_16     = none_high ? {number_q[15:0], 16'd0} : number_q;
    wire        none_low  = by_16[31:24] == 8'd0;
    wire [31:0] by_8      = none_low ? {by_16[23:0], 8'd0} : by_16;
    wire        move_4    = number_q[31:28] == 4'd0;
    wire [31:0] by_4      = move_4 ? {number_q[27:0], 4'd0} : number_q;
    wire        move_2    = by_4[31:30] == 2'd0;
    wire [31:0] by_2      = move_2 ? {by_4[29:0], 2'd0} : by_4;
    wire        move_1    = !by_2[31] && !root_q;
    wire [31:0] by_1      = move_1 ? {1'b1, by_2[29:0], 1'b0} : {by_2[31], by_2[30] || !by_2[31], by_2[29:0]};

    // 4 … 11. What is taken off, if it can be: of a root, 4 · what there is of it + 1; else the divisor. What is brought down: two bits
    // of the number, or one of 2^33 − 1.
    reg  [17:0] rest_q;
    reg  [15:0] digits_q;

    function [18:0] brought(input [17:0] rest, input [1:0] next, input by_two);
        brought = by_two ? {rest[16:0], next} : {rest, 1'b1};
    endfunction

    // Below 0, the top bit is 1: what is left is less than what is taken off.
    function [18:0] taken(input [18:0] from, input [15:0] got, input [17:0] divisor, input by_two);
        taken = from - {1'b0, by_two ? {got, 2'b01} : divisor};
    endfunction

    wire [18:0] first_down  = brought(rest_q, number_q[31:30], root_q);
    wire [18:0] first       = taken(first_down, digits_q, number_q[31:14], root_q);
    wire [17:0] first_rest  = first[18] ? first_down[17:0] : first[17:0];
    wire [15:0] first_got   = {digits_q[14:0], !first[18]};
    wire [18:0] second_down = brought(first_rest, number_q[29:28], root_q);
    wire [18:0] second      = taken(second_down, first_got, number_q[31:14], root_q);

    always @(posedge clk) begin
        case (step_q)
        ARRIVES: begin
            number_q <= value[31] && !of_root_q ? 32'd1 : value;
        end
        COARSE: begin
            if (!of_root_q) number_q <= by_8;
            moved_q <= {none_high, none_low, 3'd0};
        end
        FINE: begin
            // A root's upper bit is set; it counts as if it were.
            number_q <= of_root_q ? {1'b1, number_q[14:0], 16'd0} : by_1;
            moved_q  <= of_root_q ? number_q[28:24] | {5{number_q[29]}} : {moved_q[4:3], move_4, move_2, move_1};
            rest_q   <= root_q ? 18'd0 : 18'h1ffff;
            digits_q <= 16'd0;
        end
        default: if (digits) begin
            if (root_q) number_q <= {number_q[27:0], 4'd0};
            rest_q   <= second[18] ? second_down[17:0] : second[17:0];
            digits_q <= {first_got[14:0], !second[18]};
        end
        endcase
    end

    // 12: 2^33 / (number · 2^moved / 2^14) is 2^(47 − moved) / number, and 2^33 / 4m, with h places, 2^(31 − h) / (m / 2^h).
    wire [5:0]  shift = {1'b0, ~moved_q} + (of_root_q ? 6'd0 : 6'd16);
    wire [6:0]  less  = {1'b0, shift} - {1'b0, places};
    wire [5:0]  left  = less[6] ? 6'd0 : less[5:0];
    reg  [31:0] result_q;
    always @(posedge clk) begin
        if (step_q == SHOWN) begin
            if (root_q) result_q <= {4'd0, moved_q[4:1], 8'd0, digits_q};
            else result_q <= {form == 2'd0 ? {2'd0, left} : 8'd0, 8'd0,
                              form == 2'd2 ? {10'd0, left} : digits_q};
        end
    end

    assign ready  = step_q == IDLE;
    assign result = result_q;
endmodule

`default_nettype wire
