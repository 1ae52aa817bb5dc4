// SPDX-License-Identifier: Apache-2.0
//
// soc_join -- two AXI4 masters on one memory, without IDs: answers come in order, so who asked is remembered in order.
//
// Contract: master 0 goes first. Each channel's order is that of the addresses that the memory took; the data of a
// write follows its address. PLACES bursts at most are on their way in each direction.
`default_nettype none

module soc_join #(
    parameter integer LOG_PLACES = 4
) (
    input  wire       clk,
    input  wire       rst,

    // Addresses of one direction: valid and ready of both, and whose fields go out.
    input  wire [1:0] ask_valid,
    output wire [1:0] ask_ready,
    output wire       out_valid,
    input  wire       out_ready,
    output wire       who,

    // The master whose burst moves data now, and the one whose answer is next.
    output wire       data_busy,
    output wire       data_who,
    input  wire       data_last,        // its last beat moves
    output wire       answer_who,
    input  wire       answer_last
);
    reg  [(1<<LOG_PLACES)-1:0] owners;
    reg  [LOG_PLACES:0]        asked, moved, answered;
    reg                        chosen, held;     // an address that was offered stays
    wire                       full = asked - answered == {1'b1, {LOG_PLACES{1'b0}}};

    assign who        = held ? chosen : !ask_valid[0];
    assign out_valid  = ask_valid[who] && !full;
    assign ask_ready  = {who, !who} & {2{out_ready && !full}};
    assign data_busy  = asked != moved;
    assign data_who   = owners[moved[LOG_PLACES-1:0]];
    assign answer_who = owners[answered[LOG_PLACES-1:0]];

    always @(posedge clk) begin
        if (rst) begin
            asked    <= {(LOG_PLACES + 1){1'b0}};
            moved    <= {(LOG_PLACES + 1){1'b0}};
            answered <= {(LOG_PLACES + 1){1'b0}};
            held     <= 1'b0;
        end else begin
            held <= out_valid && !out_ready;
            if (out_valid && out_ready) asked <= asked + 1'b1;
            if (data_last) moved <= moved + 1'b1;
            if (answer_last) answered <= answered + 1'b1;
        end
    end
    always @(posedge clk) begin
        chosen <= who;
        if (out_valid && out_ready) owners[asked[LOG_PLACES-1:0]] <= who;
    end
endmodule

`default_nettype wire
