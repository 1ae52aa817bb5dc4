// SPDX-License-Identifier: Apache-2.0
//
// ulx3s -- soc_board on a ULX3S with an LFE5U-85F: 25 MHz to 37.5, the SDRAM's clock, the flash's pins. Names of pins are those of ulx3s.lpf.
// The accelerator's parameters are set by bitstream.sh.
//
// LEDs: 0 the clock is locked, 1 memory is filled, 2 the image in the flash is none or damaged, 7 a second and a bit.
`default_nettype none

module ulx3s (
    input  wire        clk_25mhz,
    input  wire        reset_button,    // pressed: high
    output wire [7:0]  led,
    output wire        ftdi_rxd,
    input  wire        ftdi_txd,
    output wire        wifi_gpio0,      // high: the ESP32 leaves the board alone

    output wire        flash_csn,
    output wire        flash_mosi,
    input  wire        flash_miso,
    output wire        flash_holdn,
    output wire        flash_wpn,

    output wire        sdram_clk,
    output wire        sdram_cke,
    output wire        sdram_csn,
    output wire        sdram_rasn,
    output wire        sdram_casn,
    output wire        sdram_wen,
    output wire [1:0]  sdram_ba,
    output wire [12:0] sdram_a,
    output wire [1:0]  sdram_dqm,
    inout  wire [15:0] sdram_d
);
    // ---- The clock: 25 MHz * 3 / 2; the oscillator at 600 MHz

    wire clk, locked;
    (* FREQUENCY_PIN_CLKI = "25", FREQUENCY_PIN_CLKOP = "37.5" *)
    EHXPLLL #(
        .CLKI_DIV(2), .CLKFB_DIV(3), .CLKOP_DIV(16), .CLKOP_CPHASE(7), .CLKOP_FPHASE(0), .CLKOP_ENABLE("ENABLED"),
        .FEEDBK_PATH("CLKOP"), .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"),
        .DPHASE_SOURCE("DISABLED"), .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"), .OUTDIVIDER_MUXC("DIVC"),
        .OUTDIVIDER_MUXD("DIVD")
    ) pll (
        .CLKI(clk_25mhz), .CLKFB(clk), .CLKOP(clk), .LOCK(locked), .RST(1'b0), .STDBY(1'b0), .PHASESEL0(1'b0),
        .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1), .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
    );

    // In reset until the clock has been good for a while.
    reg  [7:0]  good = 8'd0;
    reg  [1:0]  pressed;
    reg         rst;
    reg  [25:0] beat;
    always @(posedge clk or negedge locked) begin
        if (!locked) good <= 8'd0;
        else if (pressed[1]) good <= 8'd0;
        else if (good != 8'hff) good <= good + 8'd1;
    end
    always @(posedge clk) begin
        pressed <= {pressed[0], reset_button};
        rst     <= good != 8'hff;
        beat    <= beat + 26'd1;
    end

    // ---- Pins

    wire        booted, failed, flash_sck, drive;
    wire [15:0] from_ram, to_ram;
    assign led         = {beat[25], 4'd0, failed, booted, locked};
    assign wifi_gpio0  = 1'b1;
    assign flash_holdn = 1'b1;
    assign flash_wpn   = 1'b1;
    USRMCLK mclk (.USRMCLKI(flash_sck), .USRMCLKTS(1'b0));

    // The chip samples in the middle of a cycle.
    ODDRX1F ram_clk (.SCLK(clk), .RST(1'b0), .D0(1'b0), .D1(1'b1), .Q(sdram_clk));

    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : ram_pin
            BB pin (.B(sdram_d[i]), .I(to_ram[i]), .T(!drive), .O(from_ram[i]));
        end
    endgenerate

    reg [1:0] rx;
    always @(posedge clk) rx <= {rx[0], ftdi_txd};

    // 115,200 bits a second; 203 us; 7.36 us from one refresh to the next.
    soc_board #(.UART_DIVIDER(326), .START(16'd7600), .REFRESH(16'd275)) board (
        .clk(clk), .rst(rst), .tx(ftdi_rxd), .rx(rx[1]), .booted(booted), .failed(failed),
        .flash_cs_n(flash_csn), .flash_sck(flash_sck), .flash_mosi(flash_mosi), .flash_miso(flash_miso),
        .sdram_cke(sdram_cke), .sdram_command({sdram_csn, sdram_rasn, sdram_casn, sdram_wen}), .sdram_ba(sdram_ba),
        .sdram_a(sdram_a), .sdram_dqm(sdram_dqm), .sdram_dq_out(to_ram), .sdram_dq_drive(drive), .sdram_dq_in(from_ram)
    );
endmodule

`default_nettype wire
