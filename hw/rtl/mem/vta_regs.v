// SPDX-License-Identifier: Apache-2.0
//
// vta_regs -- the registers behind an AXI4-Lite slave.
//
// Contract: regs.def. Reads of holes give 0, writes to them or to read-only registers do nothing, every response is
// OKAY; write strobes count by byte for the RW registers, and byte 0 must be strobed for CONTROL and IRQ_STATUS.
// Addresses and bases keep the bits ADDR_BITS-1 to 6, windows those from 12 on, the others read as 0. One access of each kind at a time; a
// counter's answer takes up to 37 cycles, others 2; the
// lower word of a counter keeps the upper one of that moment for the next read of it. No path is combinational from an input to an output of the bus.
`include "vta_assert.vh"
`default_nettype none

module vta_regs #(
    parameter integer LOG_BATCH       = 0,
    parameter integer LOG_BLOCK_IN    = 4,
    parameter integer LOG_BLOCK_OUT   = 4,
    parameter integer LOG_UOP_DEPTH   = 13,
    parameter integer LOG_INP_DEPTH   = 11,
    parameter integer LOG_WGT_DEPTH   = 10,
    parameter integer LOG_ACC_DEPTH   = 11,
    parameter integer LOG_BUS_BYTES   = 3,
    parameter integer LOG_QUEUE_DEPTH = 9,
    parameter integer ADDR_BITS       = 40,
    parameter [63:0]  CONFIG_HASH     = 64'd0,
    parameter integer TABLE           = 1,
    parameter integer LOOP_BACK       = 1,
    parameter integer DEPTHWISE_TAPS  = 9,
    parameter integer ROWS            = 0,
    parameter integer WGT4            = 0
) (
    input  wire                   clk,
    input  wire                   rst,

    input  wire                   s_axil_awvalid,
    output wire                   s_axil_awready,
    input  wire [12:0]            s_axil_awaddr,
    input  wire                   s_axil_wvalid,
    output wire                   s_axil_wready,
    input  wire [31:0]            s_axil_wdata,
    input  wire [3:0]             s_axil_wstrb,
    output wire                   s_axil_bvalid,
    input  wire                   s_axil_bready,
    output wire [1:0]             s_axil_bresp,
    input  wire                   s_axil_arvalid,
    output wire                   s_axil_arready,
    input  wire [12:0]            s_axil_araddr,
    output wire                   s_axil_rvalid,
    input  wire                   s_axil_rready,
    output wire [31:0]            s_axil_rdata,
    output wire [1:0]             s_axil_rresp,

    output wire                   start,        // pulses
    output wire                   soft_reset,
    output wire [ADDR_BITS-1:0]   insn_addr,
    output wire [31:0]            insn_count,
    output wire [31:0]            watchdog,
    output wire [8*ADDR_BITS-1:0] bases,
    output wire                   windows_on,
    output wire [4*(ADDR_BITS-12)-1:0] window_bases,
    output wire [4*(ADDR_BITS-12)-1:0] window_limits,
    output wire [10:0]            read_bus,     // QOS, PROT, CACHE
    output wire [10:0]            write_bus,

    input  wire                   status_busy,
    input  wire                   status_done,
    input  wire                   status_error,
    input  wire [7:0]             error_code,
    input  wire [1:0]             error_unit,
    input  wire [31:0]            error_index,
    input  wire [ADDR_BITS-1:0]   error_addr,
    input  wire                   error_refused,
    input  wire                   ended,        // pulse: raises the interrupt
    output wire                   irq,
    output wire                   work,         // for vta_awake; an access that begins is not seen here

    output wire                   count_valid,  // reads a counter
    output wire [4:0]             count_index,
    input  wire                   count_done,
    input  wire [63:0]            count_data
);
`define VTA_ISA_CONFIG
`include "vta_isa.vh"
`undef VTA_ISA_CONFIG

    localparam [31:0] ID       = 32'h56544143;
    localparam [12:0] BASE_END = VTA_REG_BASE0_LO + 13'd64;
    localparam [12:0] CONFIG_END = VTA_REG_CONFIG0 + 4*VTA_CONFIG_COUNT[12:0];
    localparam [12:0] COUNT_END = VTA_REG_OUT_BYTES + 13'd8;
    localparam [12:0] WINDOW_END = VTA_REG_WINDOW0_BASE_LO + 13'd64;

    // The bits of a register that can be written, by address. Bases and the program's address drop what is no address.
    function [31:0] writable(input [12:0] addr);
        case (addr)
        VTA_REG_INSN_ADDR_LO, VTA_REG_BASE0_LO: writable = ~32'd63;
        VTA_REG_INSN_ADDR_HI, VTA_REG_BASE0_HI: writable = ~(32'hffffffff << (ADDR_BITS - 32));
        VTA_REG_BUS: writable = 32'h0f7f0f7f;
        default: writable = 32'hffffffff;
        endcase
    endfunction

    // Write channel.
    reg        aw_valid_q;
    reg [12:0] aw_addr_q;
    reg        w_valid_q;
    reg [31:0] w_data_q;
    reg [3:0]  w_strobe_q;
    reg        b_valid_q;

    wire write = aw_valid_q && w_valid_q && (!b_valid_q || s_axil_bready);

    assign s_axil_awready = !aw_valid_q;
    assign s_axil_wready  = !w_valid_q;
    assign s_axil_bvalid  = b_valid_q;
    assign s_axil_bresp   = 2'b00;

    always @(posedge clk) begin
        if (rst) begin
            aw_valid_q <= 1'b0;
            w_valid_q  <= 1'b0;
            b_valid_q  <= 1'b0;
        end else begin
            if (s_axil_awready) aw_valid_q <= s_axil_awvalid;
            else if (write) aw_valid_q <= 1'b0;
            if (s_axil_wready) w_valid_q <= s_axil_wvalid;
            else if (write) w_valid_q <= 1'b0;
            if (write) b_valid_q <= 1'b1;
            else if (s_axil_bready) b_valid_q <= 1'b0;
        end
    end

    always @(posedge clk) begin
        if (s_axil_awready) aw_addr_q <= {s_axil_awaddr[12:2], 2'b00};
        if (s_axil_wready) begin
            w_data_q   <= s_axil_wdata;
            w_strobe_q <= s_axil_wstrb;
        end
    end

    // The registers that keep what is written. Bases are registers 0 to 15, two a segment.
    reg [31:0] insn_addr_lo_q;
    reg [31:0] insn_addr_hi_q;
    reg [31:0] insn_count_q;
    reg [31:0] watchdog_q;
    reg        irq_enable_q;
    reg        windows_q;
    reg [31:0] bus_q;
    reg        irq_status_q;
    reg        start_q;
    reg        soft_reset_q;
    wire [16*32-1:0] base_words;
    wire [16*32-1:0] window_words;

    wire [31:0] strobes = {{8{w_strobe_q[3]}}, {8{w_strobe_q[2]}}, {8{w_strobe_q[1]}}, {8{w_strobe_q[0]}}};
    wire [31:0] mask    = strobes & writable(aw_addr_q);
    wire        w_low   = write && w_strobe_q[0];

    always @(posedge clk) begin
        if (rst) begin
            insn_addr_lo_q <= 32'd0;
            insn_addr_hi_q <= 32'd0;
            insn_count_q   <= 32'd0;
            watchdog_q     <= 32'd0;
            irq_enable_q   <= 1'b0;
            windows_q      <= 1'b0;
            bus_q          <= 32'h00030003;
        end else if (write) begin
            case (aw_addr_q)
            VTA_REG_INSN_ADDR_LO: insn_addr_lo_q <= (insn_addr_lo_q & ~mask) | (w_data_q & mask);
            VTA_REG_INSN_ADDR_HI: insn_addr_hi_q <= (insn_addr_hi_q & ~mask) | (w_data_q & mask);
            VTA_REG_INSN_COUNT:   insn_count_q   <= (insn_count_q & ~mask) | (w_data_q & mask);
            VTA_REG_WATCHDOG:     watchdog_q     <= (watchdog_q & ~mask) | (w_data_q & mask);
            VTA_REG_IRQ_ENABLE:   irq_enable_q   <= (irq_enable_q & ~mask[0]) | (w_data_q[0] & mask[0]);
            VTA_REG_WINDOWS:      windows_q      <= (windows_q & ~mask[0]) | (w_data_q[0] & mask[0]);
            VTA_REG_BUS:          bus_q          <= (bus_q & ~mask) | (w_data_q & mask);
            default: ;
            endcase
        end
    end

    always @(posedge clk) begin
        if (rst) begin
            start_q      <= 1'b0;
            soft_reset_q <= 1'b0;
            irq_status_q <= 1'b0;
        end else begin
            start_q      <= w_low && aw_addr_q == VTA_REG_CONTROL && w_data_q[0];
            soft_reset_q <= w_low && aw_addr_q == VTA_REG_CONTROL && w_data_q[1];
            if (ended) irq_status_q <= 1'b1;
            else if (w_low && aw_addr_q == VTA_REG_IRQ_STATUS && w_data_q[0]) irq_status_q <= 1'b0;
        end
    end

    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : base
            localparam [12:0] ADDRESS = VTA_REG_BASE0_LO + 4*i;
            localparam [31:0] KEPT    = i % 2 == 0 ? ~32'd63 : ~(32'hffffffff << (ADDR_BITS - 32));
            reg  [31:0] word_q;
            wire [31:0] word_mask = strobes & KEPT;

            always @(posedge clk) begin
                if (rst) word_q <= 32'd0;
                else if (write && aw_addr_q == ADDRESS) word_q <= (word_q & ~word_mask) | (w_data_q & word_mask);
            end

            assign base_words[i*32 +: 32] = word_q;
        end
        for (i = 0; i < 8; i = i + 1) begin : segment
            assign bases[i*ADDR_BITS +: ADDR_BITS] = base_words[i*64 +: ADDR_BITS];
        end

        // Words 0 to 15 of the windows: base and limit, two each.
        for (i = 0; i < 16; i = i + 1) begin : window
            localparam [12:0] ADDRESS = VTA_REG_WINDOW0_BASE_LO + 4*i;
            localparam [31:0] KEPT    = i % 2 == 0 ? ~32'd4095 : ~(32'hffffffff << (ADDR_BITS - 32));
            reg  [31:0] word_q;
            wire [31:0] word_mask = strobes & KEPT;

            always @(posedge clk) begin
                if (rst) word_q <= 32'd0;
                else if (write && aw_addr_q == ADDRESS) word_q <= (word_q & ~word_mask) | (w_data_q & word_mask);
            end

            assign window_words[i*32 +: 32] = word_q;
        end
        for (i = 0; i < 4; i = i + 1) begin : pages
            assign window_bases[i*(ADDR_BITS-12) +: ADDR_BITS-12]  = window_words[i*128 + 12 +: ADDR_BITS-12];
            assign window_limits[i*(ADDR_BITS-12) +: ADDR_BITS-12] = window_words[i*128 + 76 +: ADDR_BITS-12];
        end
    endgenerate

    wire [63:0] insn_addr_wide = {insn_addr_hi_q, insn_addr_lo_q};
    wire        unused_addr    = |insn_addr_wide[63:ADDR_BITS] || (|base_words) || (|window_words) || (|bus_q);

    assign windows_on = windows_q;
    assign read_bus   = {bus_q[11:8], bus_q[6:4], bus_q[3:0]};
    assign write_bus  = {bus_q[27:24], bus_q[22:20], bus_q[19:16]};
    assign insn_addr  = insn_addr_wide[ADDR_BITS-1:0];
    assign insn_count = insn_count_q;
    assign watchdog   = watchdog_q;
    assign start      = start_q;
    assign soft_reset = soft_reset_q;
    assign irq        = irq_status_q && irq_enable_q;

    // Read channel.
    reg        ar_valid_q;
    reg [12:0] ar_addr_q;
    reg        r_valid_q;
    reg [31:0] r_data_q;

    // The upper word of the counter whose lower one was read last, of the same moment, for one read.
    reg        upper_valid_q;
    reg [4:0]  upper_index_q;
    reg [31:0] upper_q;

    wire       in_bases   = ar_addr_q >= VTA_REG_BASE0_LO && ar_addr_q < BASE_END;
    wire       in_windows = ar_addr_q >= VTA_REG_WINDOW0_BASE_LO && ar_addr_q < WINDOW_END;
    wire       in_config  = ar_addr_q >= VTA_REG_CONFIG0 && ar_addr_q < CONFIG_END;
    wire       in_counts  = ar_addr_q >= VTA_REG_CYCLES && ar_addr_q < COUNT_END;
    wire       upper      = upper_valid_q && ar_addr_q[2] && upper_index_q == count_index;
    wire       read       = ar_valid_q && !r_valid_q && (!in_counts || upper || count_done);
    wire [10:0] word_index = ar_addr_q[12:2] - (in_bases ? VTA_REG_BASE0_LO[12:2] : in_windows ? VTA_REG_WINDOW0_BASE_LO[12:2]
                                               : VTA_REG_CONFIG0[12:2]);
    wire [9:0] pair_index = ar_addr_q[12:3] - VTA_REG_CYCLES[12:3];
    wire [63:0] error_addr_wide = {{(64-ADDR_BITS){1'b0}}, error_addr};

    assign s_axil_arready = !ar_valid_q;
    assign s_axil_rvalid  = r_valid_q;
    assign s_axil_rdata   = r_data_q;
    assign s_axil_rresp   = 2'b00;
    assign count_valid    = ar_valid_q && !r_valid_q && in_counts && !upper;
    assign count_index    = pair_index[4:0];

    reg [31:0] value;
    always @* begin
        case (ar_addr_q)
        VTA_REG_ID:           value = ID;
        VTA_REG_VERSION:      value = VTA_ISA_VERSION;
        VTA_REG_HASH_LO:      value = CONFIG_HASH[31:0];
        VTA_REG_HASH_HI:      value = CONFIG_HASH[63:32];
        VTA_REG_STATUS:       value = {29'd0, status_error, status_done, status_busy};
        VTA_REG_ERROR:        value = {15'd0, error_refused, 6'd0, error_unit, error_code};
        VTA_REG_ERROR_INSN:   value = error_index;
        VTA_REG_INSN_ADDR_LO: value = insn_addr_lo_q;
        VTA_REG_INSN_ADDR_HI: value = insn_addr_hi_q;
        VTA_REG_INSN_COUNT:   value = insn_count_q;
        VTA_REG_WATCHDOG:     value = watchdog_q;
        VTA_REG_IRQ_ENABLE:   value = {31'd0, irq_enable_q};
        VTA_REG_IRQ_STATUS:   value = {31'd0, irq_status_q};
        VTA_REG_ERROR_ADDR_LO: value = error_addr_wide[31:0];
        VTA_REG_ERROR_ADDR_HI: value = error_addr_wide[63:32];
        VTA_REG_GUARD,
        VTA_REG_WINDOWS:      value = {31'd0, windows_q};
        VTA_REG_BUS:          value = bus_q;
        default:
            value = in_bases ? base_words[word_index[3:0]*32 +: 32]
                  : in_windows ? window_words[word_index[3:0]*32 +: 32]
                  : in_config ? vta_config_value({27'd0, word_index[4:0]})
                  : in_counts ? (upper ? upper_q : ar_addr_q[2] ? count_data[63:32] : count_data[31:0]) : 32'd0;
        endcase
    end

    always @(posedge clk) begin
        if (rst) begin
            ar_valid_q <= 1'b0;
            r_valid_q  <= 1'b0;
        end else begin
            if (s_axil_arready) ar_valid_q <= s_axil_arvalid;
            else if (read) ar_valid_q <= 1'b0;
            if (read) r_valid_q <= 1'b1;
            else if (s_axil_rready) r_valid_q <= 1'b0;
        end
    end

    always @(posedge clk) begin
        if (rst) upper_valid_q <= 1'b0;
        else if (read && in_counts) upper_valid_q <= !ar_addr_q[2] || (upper_valid_q && !upper);
        if (read && in_counts && !ar_addr_q[2]) begin
            upper_index_q <= count_index;
            upper_q       <= count_data[63:32];
        end
    end

    always @(posedge clk) begin
        if (s_axil_arready) ar_addr_q <= {s_axil_araddr[12:2], 2'b00};
        if (read) r_data_q <= value;
    end

    assign work = aw_valid_q || w_valid_q || b_valid_q || ar_valid_q || r_valid_q || start_q || soft_reset_q;

    wire unused_bits = |word_index[10:4] || |pair_index[9:5] || |s_axil_awaddr[1:0] || |s_axil_araddr[1:0];

    `VTA_PARAM_CHECK(ADDR_BITS >= 32 && ADDR_BITS <= 63)
endmodule

`default_nettype wire
