// SPDX-License-Identifier: Apache-2.0
//
// soc_muldiv -- products, quotients and remainders of RV32M.
//
// Contract: start is one cycle, with funct3, x and y, which stay until done. done comes with the result: two cycles after
// start for a product, 33 after it for a quotient or a remainder. Division by 0 gives all ones and the dividend;
// the least number divided by -1 gives itself and 0, as RV32M says.
`default_nettype none

module soc_muldiv (
    input  wire        clk,
    input  wire        rst,
    input  wire        start,
    input  wire [2:0]  funct3,
    input  wire [31:0] x,
    input  wire [31:0] y,
    output wire        done,
    output wire [31:0] result
);
    localparam [2:0] MUL = 3'd0, MULHSU = 3'd2, MULHU = 3'd3;

    // Products: of halves, then their sum. An upper half has a 17th bit, its sign or 0 for an unsigned operand.
    wire               x_signed = funct3 != MULHU;
    wire               y_signed = funct3 != MULHU && funct3 != MULHSU;
    wire signed [16:0] x_upper  = {x_signed && x[31], x[31:16]};
    wire signed [16:0] y_upper  = {y_signed && y[31], y[31:16]};
    wire signed [16:0] x_lower  = {1'b0, x[15:0]};
    wire signed [16:0] y_lower  = {1'b0, y[15:0]};
    reg         [31:0] upper, lower;
    reg  signed [33:0] middle_x, middle_y;
    wire signed [34:0] middle   = {middle_x[33], middle_x} + {middle_y[33], middle_y};
    reg         [63:0] product;
    reg                halves_done, product_done;
    always @(posedge clk) begin
        upper    <= x_upper * y_upper;
        lower    <= x_lower * y_lower;
        middle_x <= x_upper * y_lower;
        middle_y <= x_lower * y_upper;
        product  <= {upper, lower} + {{13{middle[34]}}, middle, 16'd0};
    end

    // Quotients: one bit a cycle of the operands' absolute values, signs in the last cycle.
    wire        is_divide   = funct3[2];
    wire        is_unsigned = funct3[0];
    wire        remainder   = funct3[1];
    wire        x_negative  = !is_unsigned && x[31];
    wire        y_negative  = !is_unsigned && y[31];
    reg  [5:0]  steps;      // that are left, and one for the sign
    reg  [31:0] rest;
    reg  [31:0] quotient;   // the dividend's bits leave above as those of the quotient enter below
    reg  [31:0] divisor;
    wire [32:0] trial = {rest, quotient[31]} - {1'b0, divisor};

    wire        dividing    = steps != 6'd0;
    wire [31:0] part        = remainder ? rest : quotient;
    wire        negate      = remainder ? x_negative : x_negative != y_negative && y != 32'd0;

    always @(posedge clk) begin
        if (rst) begin
            steps        <= 6'd0;
            halves_done  <= 1'b0;
            product_done <= 1'b0;
        end else begin
            halves_done  <= start && !is_divide;
            product_done <= halves_done;
            if (start && is_divide) steps <= 6'd33;
            else if (dividing) steps <= steps - 6'd1;
        end
    end

    always @(posedge clk) begin
        if (start) begin
            rest     <= 32'd0;
            quotient <= x_negative ? -x : x;
            divisor  <= y_negative ? -y : y;
        end else if (steps > 6'd1) begin
            rest     <= trial[32] ? {rest[30:0], quotient[31]} : trial[31:0];
            quotient <= {quotient[30:0], !trial[32]};
        end
    end

    assign done   = product_done || steps == 6'd1;
    assign result = is_divide ? (negate ? -part : part) : funct3 == MUL ? product[31:0] : product[63:32];
endmodule

`default_nettype wire
