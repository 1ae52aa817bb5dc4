// SPDX-License-Identifier: Apache-2.0
//
// vta_compute_load -- the compute unit's own loads (UOP, ACC, ACC8, TAB): a table of those in work, and the load engine.
//
// Contract: a LOAD accepted with insn_ready is in the table until `done`; its range is known from the start. It is handed
// to the engine when no older instruction of the other pipelines can still touch the range. It waits here and not at the
// write port: read data that nobody takes would block the bus for everybody. `error` stays up once the memory has
// refused a read of the oldest LOAD.
`include "vta_assert.vh"
`default_nettype none

module vta_compute_load #(
    parameter integer LOG_BATCH     = 0,
    parameter integer LOG_BLOCK_IN  = 4,
    parameter integer LOG_BLOCK_OUT = 4,
    parameter integer LOG_UOP_DEPTH = 13,
    parameter integer LOG_INP_DEPTH = 11,
    parameter integer LOG_WGT_DEPTH = 10,
    parameter integer LOG_ACC_DEPTH = 11,
    parameter integer LOG_BUS_BYTES = 3,
    parameter integer ADDR_BITS     = 40,
    parameter integer LOG_ENTRIES   = 2,
    parameter integer STROBES       = 8,
    parameter integer VTA_LOG_TAB   = 7
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire                 insn_valid,
    output wire                 insn_ready,
    input  wire [2:0]           insn_mem,
    input  wire [12:0]          insn_sram,
    input  wire [ADDR_BITS:0]   insn_addr,
    input  wire [15:0]          insn_stride,
    input  wire [13:0]          insn_x,
    input  wire [13:0]          insn_y,
    input  wire [32:0]          insn_pads,      // as vta_mem_decode gives them
    input  wire [7:0]           insn_pad,
    input  wire [13:0]          insn_elems,
    input  wire [13:0]          insn_entries,   // not 0
    input  wire [5:0]           snap_array,
    input  wire [5:0]           snap_alu,

    // The table, for vta_load_guard and vta_marks: entries in work, by what they write, and the one that is done in this cycle.
    output wire [(1<<LOG_ENTRIES)-1:0]    table_acc,
    output wire [(1<<LOG_ENTRIES)-1:0]    table_uop,
    output wire [(1<<LOG_ENTRIES)-1:0]    table_tab,
    output wire [(1<<LOG_ENTRIES)-1:0]    table_done,
    output wire [(13<<LOG_ENTRIES)-1:0]   table_first,
    output wire [(13<<LOG_ENTRIES)-1:0]   table_last,

    // The LOAD that is next to be handed over, and whether it must wait.
    output wire                 ask_uop,
    output wire                 ask_tab,
    output wire [12:0]          ask_first,
    output wire [12:0]          ask_last,
    output wire [5:0]           ask_array,
    output wire [5:0]           ask_alu,
    input  wire                 must_wait,

    output wire                 work,       // for vta_awake
    output wire                 done,
    output wire                 error,
    output wire                 stat_wait,

    output wire                     uop_wr_en,
    output wire [LOG_UOP_DEPTH-1:0] uop_wr_addr,
    output wire [31:0]              uop_wr_data,
    output wire                     tab_wr_en,
    output wire [VTA_LOG_TAB-1:0]   tab_wr_addr,
    output wire [31:0]              tab_wr_data,
    output wire                     acc_wr_en,
    input  wire                     acc_wr_ready,
    output wire [LOG_ACC_DEPTH-1:0] acc_wr_addr,
    output wire [(32<<(LOG_BATCH+LOG_BLOCK_OUT))-1:0] acc_wr_data,

    output wire                 rd_cmd_valid,
    input  wire                 rd_cmd_ready,
    output wire [ADDR_BITS-1:0] rd_cmd_addr,
    output wire [7:0]           rd_cmd_len,
    input  wire                 rd_data_valid,
    output wire                 rd_data_ready,
    input  wire [(8<<LOG_BUS_BYTES)-1:0] rd_data,
    input  wire                 rd_last,
    input  wire                 rd_err,
    output wire                 stat_rd_en,
    output wire [2:0]           stat_rd_mem,
    output wire [6:0]           stat_rd_bytes
);
`include "vta_isa.vh"
    localparam integer ENTRIES  = 1 << LOG_ENTRIES;
    localparam integer BUS      = 8 << LOG_BUS_BYTES;
    localparam integer LANES    = 1 << (LOG_BATCH + LOG_BLOCK_OUT);
    localparam integer CMD_BITS = 3 + 13 + 13 + (ADDR_BITS + 1) + 16 + 14 + 14 + 33 + 8 + 14 + 14 + 6 + 6;

    // The table: entry n modulo ENTRIES belongs to LOAD n.
    reg [LOG_ENTRIES-1:0] issued_q;
    reg [LOG_ENTRIES-1:0] done_q;
    reg [ENTRIES-1:0]    valid_q;
    reg [ENTRIES-1:0]    uop_q;
    reg [ENTRIES-1:0]    tab_q;
    reg [13*ENTRIES-1:0] first_q;
    reg [13*ENTRIES-1:0] last_q;

    wire [LOG_ENTRIES-1:0] slot = issued_q;
    wire                   queue_ready;
    wire                   take = insn_valid && insn_ready;
    wire                   is_uop = insn_mem == VTA_MEM_UOP;
    wire [12:0]            insn_last = insn_sram + insn_entries[12:0] - 13'd1;

    assign insn_ready = !valid_q[slot] && queue_ready;

    always @(posedge clk) begin
        if (rst) begin
            valid_q  <= {ENTRIES{1'b0}};
            issued_q <= {LOG_ENTRIES{1'b0}};
            done_q   <= {LOG_ENTRIES{1'b0}};
        end else begin
            if (done) valid_q[done_q] <= 1'b0;
            if (take) valid_q[slot] <= 1'b1;
            if (take) issued_q <= issued_q + 1'b1;
            if (done) done_q   <= done_q + 1'b1;
        end
    end

    integer e;
    always @(posedge clk) begin
        for (e = 0; e < ENTRIES; e = e + 1) begin
            if (take && slot == e[LOG_ENTRIES-1:0]) begin
                uop_q[e]            <= is_uop;
                tab_q[e]            <= insn_mem == VTA_MEM_TAB;
                first_q[13*e +: 13] <= insn_sram;
                last_q[13*e +: 13]  <= insn_last;
            end
        end
    end

    localparam [ENTRIES-1:0] FIRST_ENTRY = 1;
    assign table_acc   = valid_q & ~tab_q & ~uop_q;
    assign table_tab   = valid_q & tab_q;
    assign table_uop   = valid_q & uop_q;
    assign table_done  = done ? FIRST_ENTRY << done_q : {ENTRIES{1'b0}};
    assign table_first = first_q;
    assign table_last  = last_q;

    // Commands that wait.
    wire                q_valid;
    wire                cmd_ready;
    reg                 go_q;
    wire [2:0]          q_mem;
    wire [12:0]         q_sram;
    wire [12:0]         q_last;
    wire [ADDR_BITS:0]  q_addr;
    wire [15:0]         q_stride;
    wire [13:0]         q_x;
    wire [13:0]         q_y;
    wire [32:0]         q_pads;
    wire [7:0]          q_pad;
    wire [13:0]         q_elems;
    wire [13:0]         q_entries;

    vta_fifo #(.WIDTH(CMD_BITS), .LOG_DEPTH(LOG_ENTRIES)) queue (
        .clk(clk), .rst(rst), .in_valid(take), .in_ready(queue_ready),
        .in_data({insn_mem, insn_sram, insn_last, insn_addr, insn_stride, insn_x, insn_y, insn_pads, insn_pad, insn_elems,
                  insn_entries, snap_array, snap_alu}),
        .out_valid(q_valid), .out_ready(cmd_ready && go_q),
        .out_data({q_mem, q_sram, q_last, q_addr, q_stride, q_x, q_y, q_pads, q_pad, q_elems, q_entries, ask_array, ask_alu})
    );

    assign ask_uop   = q_mem == VTA_MEM_UOP;
    assign ask_tab   = q_mem == VTA_MEM_TAB;
    assign ask_first = q_sram;
    assign ask_last  = q_last;

    // A cycle before it goes it is decided that it may: who need not wait any more never has to wait again, since all that
    // is older has begun or is done.
    always @(posedge clk) begin
        if (rst) go_q <= 1'b0;
        else if (go_q) go_q <= !cmd_ready;
        else go_q <= q_valid && !must_wait;
    end

    // The waiver: small scratchpads use few of the address bits.
    // verilator lint_off UNUSEDSIGNAL
    wire [12:0]        wr_addr, data_addr, pad_addr;
    // verilator lint_on UNUSEDSIGNAL
    wire               wr_en, wr_pad, wr_ready, pad_ready, wr_last, engine_done, err;
    wire [2:0]         wr_mem, now_mem;
    wire [BUS-1:0]     wr_data, data_beat;
    wire [31:0]        pad_word;
    wire [STROBES-1:0] wr_strobe;

    vta_tload #(
        .LOG_BATCH(LOG_BATCH), .LOG_BLOCK_IN(LOG_BLOCK_IN), .LOG_BLOCK_OUT(LOG_BLOCK_OUT),
        .LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH), .LOG_WGT_DEPTH(LOG_WGT_DEPTH),
        .LOG_ACC_DEPTH(LOG_ACC_DEPTH), .LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .COMPUTE(1)
    ) engine (
        .clk(clk), .rst(rst),
        .cmd_valid(go_q), .cmd_ready(cmd_ready), .cmd_mem(q_mem), .cmd_sram(q_sram), .cmd_addr(q_addr),
        .cmd_stride(q_stride), .cmd_x(q_x), .cmd_y(q_y), .cmd_pads(q_pads), .cmd_pad(q_pad), .cmd_elems(q_elems),
        .cmd_entries(q_entries),
        .wr_en(wr_en), .wr_ready(wr_ready), .wr_pad_ready(pad_ready), .wr_mem(wr_mem), .wr_addr(wr_addr), .wr_data(wr_data),
        .wr_strobe(wr_strobe), .wr_last(wr_last), .wr_pad(wr_pad), .now_mem(now_mem), .data_addr(data_addr),
        .data_beat(data_beat), .pad_addr(pad_addr), .pad_word(pad_word), .done(engine_done), .err(err),
        .rd_cmd_valid(rd_cmd_valid), .rd_cmd_ready(rd_cmd_ready), .rd_cmd_addr(rd_cmd_addr), .rd_cmd_len(rd_cmd_len),
        .rd_data_valid(rd_data_valid), .rd_data_ready(rd_data_ready), .rd_data(rd_data), .rd_last(rd_last),
        .rd_err(rd_err), .stat_wait(stat_wait), .stat_rd_en(stat_rd_en), .stat_rd_mem(stat_rd_mem),
        .stat_rd_bytes(stat_rd_bytes)
    );

    // Micro-ops and tables take a register on their way: the ALU's nest asks whether it may read. A LOAD is done later than that.
    wire        wr_uop = now_mem == VTA_MEM_UOP || now_mem == VTA_MEM_TAB;
    reg                     uop_en_q;
    reg                     tab_en_q;
    reg [LOG_UOP_DEPTH-1:0] uop_addr_q;
    reg [VTA_LOG_TAB-1:0]   tab_addr_q;
    reg [31:0]              word_q;

    always @(posedge clk) begin
        if (rst) begin
            uop_en_q <= 1'b0;
            tab_en_q <= 1'b0;
        end else begin
            uop_en_q <= wr_en && now_mem == VTA_MEM_UOP;
            tab_en_q <= wr_en && now_mem == VTA_MEM_TAB;
        end
    end

    always @(posedge clk) begin
        if (wr_uop && wr_en) begin
            uop_addr_q <= wr_addr[LOG_UOP_DEPTH-1:0];
            tab_addr_q <= wr_addr[VTA_LOG_TAB-1:0];
            word_q     <= wr_data[31:0];
        end
    end

    assign tab_wr_en   = tab_en_q;
    assign tab_wr_addr = tab_addr_q;
    assign tab_wr_data = word_q;
    assign uop_wr_en   = uop_en_q;
    assign uop_wr_addr = uop_addr_q;
    assign uop_wr_data = word_q;

    // Padding comes whole, with all strobes, and may come between two slices of an entry: it goes straight to the RAM. An entry of
    // one slice is an entry also as padding.
    localparam integer SLICED = STROBES > 1 ? 1 : 0;
    wire pad = wr_pad && !wr_uop && SLICED != 0;

    // The entry that is being put together. Slice s of the bus: lanes from s·BUS/32 on, or, int8, from s·BUS/8 on.
    reg                     entry_valid_q;
    reg                     entry_wide_q;   // the same for each bit of the data; as it looks at itself, a tool makes no one register of both
    reg [LOG_ACC_DEPTH-1:0] entry_addr_q;
    reg [32*LANES-1:0]      entry_q;
    wire                    entry_go = entry_valid_q && acc_wr_ready;
    wire                    entry_in = wr_en && !wr_uop && !pad && (!entry_valid_q || entry_go);

    assign wr_ready  = wr_uop || !entry_valid_q || entry_go;
    assign pad_ready = wr_uop || (SLICED != 0 ? !entry_valid_q && acc_wr_ready : !entry_valid_q || entry_go);

    wire [LOG_ACC_DEPTH-1:0] in_addr = SLICED != 0 ? data_addr[LOG_ACC_DEPTH-1:0] : wr_addr[LOG_ACC_DEPTH-1:0];
    wire [BUS-1:0]           in_data = SLICED != 0 ? data_beat : wr_data;

    integer n;
    always @(posedge clk) begin
        if (entry_in) begin
            entry_addr_q <= in_addr;
            if (wr_mem == VTA_MEM_ACC8) begin
                for (n = 0; n < LANES; n = n + 1) begin
                    if (wr_strobe[8*n/BUS]) entry_q[32*n +: 32] <= {{24{in_data[8*n % BUS + 7]}}, in_data[8*n % BUS +: 8]};
                end
            end else begin
                for (n = 0; n < LANES; n = n + 1) begin
                    if (wr_strobe[32*n/BUS]) entry_q[32*n +: 32] <= in_data[32*n % BUS +: 32];
                end
            end
        end
    end

    // Two kinds of ends: those for which the entry that waits must be written first, and those that have no such reason.
    reg [3:0] marked_q;
    reg [3:0] ended_q;
    reg       error_q;
    wire      engine_end = engine_done && !err && !error_q;     // a LOAD that was refused never ends
    wire      wait_entry = engine_end && entry_valid_q && !entry_go;

    assign work = take || (q_valid && !go_q && !must_wait) || (go_q && cmd_ready) || rd_cmd_valid || rd_data_valid || wr_en || engine_done
               || entry_valid_q || done;
    assign done = ended_q != 4'd0;
    always @(posedge clk) begin
        if (rst) begin
            entry_valid_q <= 1'b0;
            entry_wide_q  <= 1'b0;
            marked_q      <= 4'd0;
            ended_q       <= 4'd0;
        end else begin
            if (entry_in) entry_valid_q <= wr_last;
            else if (entry_go) entry_valid_q <= 1'b0;
            if (entry_in) entry_wide_q <= wr_last;
            else if (entry_wide_q && acc_wr_ready) entry_wide_q <= 1'b0;
            marked_q <= entry_go ? 4'd0 : marked_q + {3'd0, wait_entry};
            ended_q  <= ended_q + (entry_go ? marked_q : 4'd0) + {3'd0, engine_end && !wait_entry} - {3'd0, done};
        end
    end

    assign acc_wr_en   = entry_valid_q || pad;
    assign acc_wr_addr = entry_valid_q ? entry_addr_q : pad_addr[LOG_ACC_DEPTH-1:0];
    assign acc_wr_data = entry_wide_q ? entry_q : {LANES{pad_word}};

    always @(posedge clk) begin
        if (rst) error_q <= 1'b0;
        else if (err) error_q <= 1'b1;
    end
    assign error = error_q && marked_q == 4'd0 && ended_q == 4'd0;     // those before it have ended

    `VTA_ASSERT(table_order, !done || valid_q[done_q])
    `VTA_ASSERT(entry_twice, entry_wide_q == entry_valid_q)
endmodule

`default_nettype wire
