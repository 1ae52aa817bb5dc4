// SPDX-License-Identifier: Apache-2.0
//
// vta_control -- starts and ends runs.
//
// Contract: `run` is high from a start to its end; the units are in reset whenever it is low. A run ends when FINISH has
// retired, with the first error, or with a soft reset; then the bus is drained (bus_idle), and only then the result
// stands in status_* and `ended` pulses. A memory that never answers cannot hold up the report: with a watchdog time, the
// result is reported after as long again. A start while the status says busy is ignored, but for one with or after a soft
// reset; where the bus is not idle yet, it is remembered.
// Units are numbered as in the ERROR register: 0 fetch, 1 load, 2 compute, 3 store. An illegal encoding is laid to fetch,
// whichever unit finds it.
`include "vta_assert.vh"
`default_nettype none

module vta_control #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11
) (
    input  wire         clk,
    input  wire         rst,

    input  wire         start,          // pulses
    input  wire         soft_reset,
    input  wire [31:0]  watchdog,
    input  wire [31:0]  insn_count,

    output wire         run,
    input  wire         bus_idle,

    input  wire         finish,         // FINISH has retired
    input  wire         tokens_left,
    input  wire [3:0]   err_valid,      // by unit
    input  wire [31:0]  err_code,       // 8 bits a unit
    input  wire [127:0] err_index,      // 32 bits a unit
    input  wire         progress,
    input  wire [3:0]   head_valid,     // the oldest instruction of each unit, to name the one that is stuck
    input  wire [127:0] head_index,

    output wire         status_busy,
    output wire         status_done,
    output wire         status_error,
    output wire [7:0]   error_code,
    output wire [1:0]   error_unit,
    output wire [31:0]  error_index,
    output wire         ended,
    output wire         clear           // a run begins: counters to 0
);
`include "vta_isa.vh"

    localparam [1:0] IDLE = 2'd0, RUN = 2'd1, CHECK = 2'd2, DRAIN = 2'd3;

    reg [1:0]  state_q;
    reg        again_q;       // a start came while draining
    reg        silent_q;      // ended by a soft reset: no result
    reg        reported_q;    // the result is out although the bus is not idle yet
    reg        done_q;
    reg        error_q;
    reg        failed_q;
    reg [7:0]  code_q;
    reg [1:0]  unit_q;
    reg [31:0] index_q;
    reg [31:0] timer_q;
    reg        ended_q;

    // The first error; within a cycle the unit that comes first in program flow.
    reg [1:0] first;
    always @* begin
        first = 2'd0;
        if (err_valid[3]) first = 2'd3;
        if (err_valid[2]) first = 2'd2;
        if (err_valid[1]) first = 2'd1;
        if (err_valid[0]) first = 2'd0;
    end

    // The error's words are taken down in every cycle, and become the result a cycle after it has ended the run.
    reg        blame_q;
    reg [7:0]  first_code_q;
    reg [1:0]  first_unit_q;
    reg [31:0] first_index_q;
    always @(posedge clk) begin
        first_code_q  <= err_code[first*8 +: 8];
        first_unit_q  <= first;
        first_index_q <= err_index[first*32 +: 32];
    end

    // The stuck instruction that comes first in the program. Nothing moves any more when it is asked for, so that it is
    // named a cycle later, from registers.
    reg         name_q;
    reg [2:0]   head_valid_q;
    reg [127:0] head_index_q;
    wire        second_first = head_index_q[95:64] < head_index_q[63:32];
    wire        third_first  = head_index_q[127:96] < head_index_q[63:32];
    wire        third_second = head_index_q[127:96] < head_index_q[95:64];
    reg [1:0]   stuck;
    always @* begin
        stuck = 2'd0;
        if (head_valid_q[0]) stuck = 2'd1;
        if (head_valid_q[1] && (!head_valid_q[0] || second_first)) stuck = 2'd2;
        if (head_valid_q[2] && (!head_valid_q[0] || third_first) && (!head_valid_q[1] || third_second)) stuck = 2'd3;
    end

    reg         progress_q;
    always @(posedge clk) begin
        progress_q   <= progress;
        head_valid_q <= head_valid[3:1];
        head_index_q <= head_index;
    end

    wire over      = blame_q || name_q;         // in the cycle before
    wire expired   = watchdog != 32'd0 && timer_q >= watchdog && !over;
    wire failed    = failed_q || over;
    wire report    = bus_idle || expired;
    wire any_error = err_valid != 4'd0;
    wire start_again = start && state_q == DRAIN && (silent_q || reported_q);
    wire begin_run = state_q == IDLE && (start || (again_q && !soft_reset));

    always @(posedge clk) begin
        if (rst) begin
            state_q    <= IDLE;
            again_q    <= 1'b0;
            silent_q   <= 1'b0;
            reported_q <= 1'b0;
            done_q     <= 1'b0;
            error_q    <= 1'b0;
            failed_q   <= 1'b0;
            ended_q    <= 1'b0;
            code_q     <= 8'd0;
            unit_q     <= 2'd0;
            index_q    <= 32'd0;
            timer_q    <= 32'd0;
            name_q     <= 1'b0;
            blame_q    <= 1'b0;
        end else begin
            ended_q <= 1'b0;
            blame_q <= 1'b0;
            name_q  <= 1'b0;
            timer_q <= timer_q + 32'd1;
            case (state_q)
            IDLE: begin
                timer_q <= 32'd0;
                again_q <= 1'b0;
                if (begin_run) begin
                    state_q  <= RUN;
                    silent_q <= 1'b0;
                end
            end
            RUN: begin
                if (progress_q) timer_q <= 32'd0;
                if (soft_reset) begin
                    state_q  <= DRAIN;
                    silent_q <= 1'b1;
                    again_q  <= start;
                    timer_q  <= 32'd0;
                end else if (any_error || expired) begin
                    state_q  <= DRAIN;
                    blame_q  <= any_error;
                    name_q   <= expired;
                end else if (finish) begin
                    state_q <= CHECK;
                end
            end
            CHECK: begin
                state_q  <= DRAIN;
                silent_q <= soft_reset;
                again_q  <= soft_reset && start;
                timer_q  <= 32'd0;
                if (tokens_left) begin
                    failed_q <= 1'b1;
                    code_q   <= VTA_ERROR_TOKENS_LEFT;
                    unit_q   <= 2'd2;
                    index_q  <= insn_count - 32'd1;
                end
            end
            DRAIN: begin
                if (start_again || soft_reset) again_q <= start;
                if (soft_reset) begin
                    silent_q   <= 1'b1;
                    reported_q <= 1'b0;     // busy again until the bus is idle
                end else if (report && !silent_q && !reported_q) begin
                    reported_q <= 1'b1;
                    ended_q    <= 1'b1;
                    done_q     <= !failed;
                    error_q    <= failed;
                end
                if (bus_idle && (silent_q || reported_q)) begin
                    state_q    <= IDLE;
                    reported_q <= 1'b0;
                end
            end
            endcase
            if (over) begin
                failed_q <= 1'b1;
                timer_q  <= 32'd0;
            end
            if (blame_q) begin
                code_q  <= first_code_q;
                unit_q  <= first_code_q == VTA_ERROR_FIELD ? 2'd0 : first_unit_q;
                index_q <= first_index_q;
            end else if (name_q) begin
                code_q  <= VTA_ERROR_WATCHDOG;
                unit_q  <= stuck;
                index_q <= head_index_q[stuck*32 +: 32];
            end
            if (soft_reset || begin_run || start_again) begin
                done_q   <= 1'b0;
                error_q  <= 1'b0;
                failed_q <= 1'b0;
                code_q   <= VTA_ERROR_NONE;
                unit_q   <= 2'd0;
                index_q  <= 32'd0;
            end
        end
    end

    assign run          = state_q == RUN || state_q == CHECK;
    assign status_busy  = run || (state_q == DRAIN && (!reported_q || again_q)) || (state_q == IDLE && again_q);
    assign status_done  = done_q;
    assign status_error = error_q;
    assign error_code   = code_q;
    assign error_unit   = unit_q;
    assign error_index  = index_q;
    assign ended        = ended_q;
    assign clear        = begin_run;

    wire unused_head = head_valid[0];

    `VTA_FORMAL_RESET
    `VTA_ASSERT(result, !(done_q && error_q))
endmodule

`default_nettype wire
