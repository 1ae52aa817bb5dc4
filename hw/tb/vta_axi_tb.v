// SPDX-License-Identifier: Apache-2.0
//
// vta_axi_tb -- the bus masters before a memory that checks the bus: three clients read what the memory holds, one writes
// into another part of it, all at random rates; some bursts are refused, by the memory or by the windows. Every few rounds all stops in the middle by `halt`,
// and goes on after it. At the end, both at full speed. +seed=N, +runs=N.
// parts: vta_windows
`default_nettype none

module vta_axi_tb;
`include "random.vh"
    parameter integer LOG_BUS_BYTES = 3;
    localparam integer ADDR_BITS = 40;
    localparam integer CLIENTS   = 3;
    localparam integer BUS_BYTES = 1 << LOG_BUS_BYTES;
    localparam integer SIZE      = 1 << 14;
    localparam integer HALF      = SIZE / 2;      // read below, written above
    localparam integer MOST      = 4096;          // bursts and beats that a round may have
    localparam integer PAGE      = 4096 / BUS_BYTES < 256 ? 4096 / BUS_BYTES : 256;

    localparam integer PAGES = ADDR_BITS - 12;
    reg                          halt = 1'b1;
    reg                          windows_on = 1'b0;
    reg  [4*PAGES-1:0]           window_bases = 0, window_limits = 0;
    wire [CLIENTS*ADDR_BITS-1:0] read_failed_addr;
    wire [CLIENTS-1:0]           read_failed_refused;
    wire [ADDR_BITS-1:0]         write_failed_addr;
    wire                         write_failed_refused;
    reg  [31:0]                  stall, bad_begin, bad_end;
    wire                         read_idle, write_idle;
    reg  [CLIENTS-1:0]           cmd_valid;
    wire [CLIENTS-1:0]           cmd_ready, data_valid;
    reg  [CLIENTS-1:0]           data_ready;
    reg  [CLIENTS*ADDR_BITS-1:0] cmd_addr;
    reg  [CLIENTS*8-1:0]         cmd_len;
    wire [8*BUS_BYTES-1:0]       data;
    wire                         data_last, data_err;
    reg                          w_cmd_valid, w_data_valid, ack_ready;
    wire                         w_cmd_ready, w_data_ready, ack, ack_err;
    reg  [ADDR_BITS-1:0]         w_cmd_addr;
    reg  [7:0]                   w_cmd_len;
    reg  [8*BUS_BYTES-1:0]       w_data;
    reg  [BUS_BYTES-1:0]         w_strobe;

    wire                   arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
    wire [ADDR_BITS-1:0]   araddr, awaddr;
    wire [7:0]             arlen, awlen;
    wire [8*BUS_BYTES-1:0] rdata, wdata;
    wire [BUS_BYTES-1:0]   wstrb;
    wire [1:0]             rresp, bresp;

    vta_axi_read #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .CLIENTS(CLIENTS), .LOG_CLIENTS(2)) read (
        .clk(clk), .rst(rst), .halt(halt), .idle(read_idle),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .failed_addr(read_failed_addr), .failed_refused(read_failed_refused), .failing(),
        .cmd_valid(cmd_valid), .cmd_ready(cmd_ready), .cmd_addr(cmd_addr), .cmd_len(cmd_len),
        .data_valid(data_valid), .data_ready(data_ready), .data(data), .data_last(data_last), .data_err(data_err),
        .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_araddr(araddr), .m_axi_arlen(arlen),
        .m_axi_rvalid(rvalid), .m_axi_rready(rready), .m_axi_rdata(rdata), .m_axi_rresp(rresp), .m_axi_rlast(rlast)
    );

    vta_axi_write #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS)) write (
        .clk(clk), .rst(rst), .halt(halt), .idle(write_idle),
        .windows_on(windows_on), .window_bases(window_bases), .window_limits(window_limits),
        .failed_addr(write_failed_addr), .failed_refused(write_failed_refused), .failing(),
        .cmd_valid(w_cmd_valid), .cmd_ready(w_cmd_ready), .cmd_addr(w_cmd_addr), .cmd_len(w_cmd_len),
        .data_valid(w_data_valid), .data_ready(w_data_ready), .data(w_data), .data_strobe(w_strobe),
        .ack(ack), .ack_err(ack_err), .ack_ready(ack_ready),
        .m_axi_awvalid(awvalid), .m_axi_awready(awready), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen),
        .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast),
        .m_axi_bvalid(bvalid), .m_axi_bready(bready), .m_axi_bresp(bresp)
    );

    vta_axi_mem #(.LOG_BUS_BYTES(LOG_BUS_BYTES), .ADDR_BITS(ADDR_BITS), .SIZE(SIZE), .LATENCY(64)) mem (
        .clk(clk), .rst(rst), .stall(stall), .seed(seed), .bad_begin(bad_begin), .bad_end(bad_end), .dead(1'b0),
        .arvalid(arvalid), .arready(arready), .araddr(araddr), .arlen(arlen),
        .rvalid(rvalid), .rready(rready), .rdata(rdata), .rresp(rresp), .rlast(rlast),
        .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .awlen(awlen),
        .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(wlast),
        .bvalid(bvalid), .bready(bready), .bresp(bresp)
    );

    function refused(input integer addr);
        refused = addr + BUS_BYTES > bad_begin && addr < bad_end;
    endfunction

    // Outside of all windows, by bytes.
    integer d;
    function denied(input integer addr);
        begin
            denied = windows_on;
            for (d = 0; d < 4; d = d + 1)
                if (addr >= 4096*window_bases[PAGES*d +: 8] && addr < 4096*window_limits[PAGES*d +: 8]) denied = 1'b0;
        end
    endfunction

    // Window 0 begins in memory, the others anywhere; some are empty, some end before they begin.
    integer v;
    task new_windows;
        begin
            windows_on = chance(60);
            for (v = 0; v < 4; v = v + 1) begin
                window_bases[PAGES*v +: PAGES]  = range(0, v == 0 ? 3 : 5);
                window_limits[PAGES*v +: PAGES] = range(0, chance(30) ? 5 : 2);
            end
            if (chance(20)) window_limits[2*PAGES +: PAGES] = {PAGES{1'b1}};
        end
    endtask

    // The first burst of each client that failed since the last halt; the writer is client CLIENTS.
    reg [CLIENTS:0] failed;
    reg [CLIENTS:0] failed_by_window;
    integer         failed_at [0:CLIENTS];
    task fail(input integer client, input integer addr);
        if (!failed[client]) begin
            failed[client] = 1'b1;
            failed_by_window[client] = denied(addr);
            failed_at[client] = addr;
        end
    endtask

    // Nothing leaves for outside.
    always @(posedge clk) begin
        if (arvalid && denied(araddr) && araddr[31:12] != window_bases[19:0]) $fatal(1, "a refused read goes to %0h", araddr);
        if (awvalid && denied(awaddr) && awaddr[31:12] != window_bases[19:0]) $fatal(1, "a refused write goes to %0h", awaddr);
    end

    task check_failed;
        begin
            for (v = 0; v < CLIENTS; v = v + 1)
                if (failed[v] && (read_failed_addr[ADDR_BITS*v +: ADDR_BITS] !== failed_at[v]
                                  || read_failed_refused[v] !== failed_by_window[v]))
                    $fatal(1, "client %0d failed at %0h, %b, not at %0h", v, failed_at[v], failed_by_window[v],
                           read_failed_addr[ADDR_BITS*v +: ADDR_BITS]);
            if (failed[CLIENTS] && (write_failed_addr !== failed_at[CLIENTS]
                                    || write_failed_refused !== failed_by_window[CLIENTS]))
                $fatal(1, "the writer failed at %0h, %b, not at %0h", failed_at[CLIENTS], failed_by_window[CLIENTS],
                       write_failed_addr);
        end
    endtask

    // A burst somewhere in the half of memory that begins at `from`, whole in its page; when it must go fast, a long one.
    task automatic random_burst(input integer from, output integer addr, output integer len);
        begin
            addr = from + range(0, HALF/BUS_BYTES - 1) * BUS_BYTES;
            if (fast) addr = addr / 4096 * 4096;
            len = fast ? PAGE : range(1, chance(30) ? PAGE : 8);
            if (addr % 4096 + len*BUS_BYTES > 4096) len = (4096 - addr % 4096) / BUS_BYTES;
        end
    endtask

    // Reads: what each client has asked for and not got.
    integer asked_addr [0:CLIENTS*MOST-1], asked_len [0:CLIENTS*MOST-1];
    integer asked [0:CLIENTS-1], got [0:CLIENTS-1], beat [0:CLIENTS-1];
    integer ask_rate, take_rate, beats_read, c, k, from, r_addr, r_len;
    reg     fast;
    reg [CLIENTS-1:0] taken;

    task ask(input integer client);
        begin
            random_burst(0, r_addr, r_len);
            cmd_valid[client] <= 1'b1;
            cmd_addr[client*ADDR_BITS +: ADDR_BITS] <= r_addr;
            cmd_len[client*8 +: 8] <= r_len - 1;
        end
    endtask

    task take_beat(input integer client);
        begin
            if (got[client] == asked[client]) $fatal(1, "client %0d gets a beat that it did not ask for", client);
            k  = client*MOST + got[client] % MOST;
            from = asked_addr[k] + beat[client]*BUS_BYTES;
            for (c = 0; c < BUS_BYTES && !denied(from); c = c + 1) begin
                if (data[8*c +: 8] !== mem.data[from + c]) $fatal(1, "client %0d gets another byte from %0h", client, from + c);
            end
            if (data_err !== (refused(from) || denied(from))) $fatal(1, "client %0d: error is %b at %0h", client, data_err, from);
            if (data_err) fail(client, asked_addr[k]);
            beat[client] = beat[client] + 1;
            if (data_last !== (beat[client] == asked_len[k])) $fatal(1, "client %0d: last is %b in beat %0d of %0d", client,
                                                                      data_last, beat[client], asked_len[k]);
            beats_read = beats_read + 1;
            if (data_last) begin
                beat[client] = 0;
                got[client]  = got[client] + 1;
            end
        end
    endtask

    integer i;
    always @(posedge clk) begin
        if (rst || halt) failed = 0;
        if (rst || halt) begin
            cmd_valid  <= 0;
            data_ready <= 0;
            for (i = 0; i < CLIENTS; i = i + 1) begin asked[i] = 0; got[i] = 0; beat[i] = 0; end
            if (!rst && (data_valid != 0 || cmd_ready != 0)) $fatal(1, "a client is served after a halt");
        end else begin
            if ((data_valid & (data_valid - 1'b1)) != 0) $fatal(1, "a beat for two clients");
            taken = cmd_valid & cmd_ready;
            if ((taken & (taken - 1'b1)) != 0) $fatal(1, "two requests are taken at once");
            for (i = 0; i < CLIENTS; i = i + 1) begin
                if (taken[i]) begin
                    asked_addr[i*MOST + asked[i] % MOST] = cmd_addr[i*ADDR_BITS +: 31];
                    asked_len[i*MOST + asked[i] % MOST]  = cmd_len[i*8 +: 8] + 1;
                    asked[i] = asked[i] + 1;
                end
                if (data_valid[i] && data_ready[i]) take_beat(i);
                if (taken[i] || !cmd_valid[i]) begin
                    cmd_valid[i] <= 1'b0;
                    if (chance(ask_rate)) ask(i);
                end
                data_ready[i] <= chance(take_rate);
            end
        end
    end

    // Writes: addresses and data at rates of their own; what a burst does to the copy happens when it is answered.
    reg  [7:0]             copy [0:SIZE-1];
    reg  [8*BUS_BYTES-1:0] sent_data [0:MOST-1];
    reg  [BUS_BYTES-1:0]   sent_strobe [0:MOST-1];
    integer begun_addr [0:MOST-1], begun_len [0:MOST-1];
    integer begun, answered, sent, used, beats_written, promised, j, b, at, w_addr, w_len;
    integer begin_rate, data_rate, ack_rate;
    reg     bad;

    // The oldest burst, as far as its beats have been given.
    task apply;
        begin
            bad = 1'b0;
            for (j = 0; j < begun_len[answered % MOST] && used < sent; j = j + 1) begin
                at = begun_addr[answered % MOST] + j*BUS_BYTES;
                for (b = 0; b < BUS_BYTES; b = b + 1) begin
                    if (sent_strobe[used % MOST][b] && !refused(at) && !denied(at)) copy[at + b] = sent_data[used % MOST][8*b +: 8];
                end
                bad  = bad || refused(at) || denied(at);
                used = used + 1;
            end
            answered = answered + 1;
        end
    endtask

    task answer;
        begin
            if (answered == begun) $fatal(1, "an answer without a burst");
            if (used + begun_len[answered % MOST] > sent) $fatal(1, "burst %0d is answered before its data", answered);
            apply;
            if (ack_err !== bad) $fatal(1, "burst %0d: error is %b", answered - 1, ack_err);
            if (bad) fail(CLIENTS, begun_addr[(answered - 1) % MOST]);
        end
    endtask

    always @(posedge clk) begin
        if (rst || halt) begin
            {w_cmd_valid, w_data_valid, ack_ready} <= 3'd0;
            if (!rst && (w_cmd_ready || w_data_ready || ack)) $fatal(1, "the writer is served after a halt");
            begun = 0; answered = 0; sent = 0; used = 0; promised = 0;
        end else begin
            if (w_cmd_valid && w_cmd_ready) begin
                begun_addr[begun % MOST] = w_cmd_addr;
                begun_len[begun % MOST]  = w_cmd_len + 1;
                promised = promised + w_cmd_len + 1;
                begun = begun + 1;
            end
            if (w_data_valid && w_data_ready) begin
                sent_data[sent % MOST]   = w_data;
                sent_strobe[sent % MOST] = w_strobe;
                sent = sent + 1;
                beats_written = beats_written + 1;
            end
            if (ack) answer;
            if (w_cmd_ready || !w_cmd_valid) begin
                random_burst(HALF, w_addr, w_len);
                w_cmd_valid <= chance(begin_rate);
                w_cmd_addr  <= w_addr;
                w_cmd_len   <= w_len - 1;
            end
            if (w_data_ready || !w_data_valid) begin
                w_data_valid <= chance(data_rate);
                for (b = 0; b < BUS_BYTES; b = b + 2) w_data[8*b +: 16] <= range(0, 65535);
                for (b = 0; b < BUS_BYTES; b = b + 1) w_strobe[b] <= fast || chance(80);
            end
            ack_ready <= chance(ack_rate);
        end
    end

    task quiet;
        integer waited;
        begin
            ask_rate = 0; begin_rate = 0; take_rate = 100; ack_rate = 100; data_rate = 100;
            waited = 0;
            repeat (4) @(negedge clk);
            while (!(read_idle && write_idle) || cmd_valid != 0 || w_cmd_valid || beat[0] + beat[1] + beat[2] != 0
                   || got[0] != asked[0] || got[1] != asked[1] || got[2] != asked[2] || answered != begun) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > 200000) $fatal(1, "the bus does not come to rest");
            end
            if (used != promised) $fatal(1, "%0d of %0d beats were written", used, promised);
        end
    endtask

    integer m;
    task compare;
        for (m = 0; m < SIZE; m = m + 1)
            if (mem.data[m] !== copy[m]) $fatal(1, "byte %0h is %0h instead of %0h", m, mem.data[m], copy[m]);
    endtask

    // A halt cuts bursts short: beats that were given are written, the others leave all as it was.
    integer waited;
    task stop;
        begin
            @(negedge clk) halt = 1'b1;
            while (answered != begun) apply;
            waited = 0;
            @(negedge clk);
            while (!(read_idle && write_idle)) begin
                @(negedge clk);
                waited = waited + 1;
                if (waited > 200000) $fatal(1, "the bus is not free after a halt");
            end
            repeat (10) @(negedge clk);
            compare;
        end
    endtask

    integer n, total_beats, before_read, before_written;
    initial begin
        begin_bench(12);
        stall = 0; bad_begin = 0; bad_end = 0; fast = 1'b0;
        ask_rate = 0; take_rate = 0; begin_rate = 0; data_rate = 0; ack_rate = 0;
        beats_read = 0; beats_written = 0;
        reset;
        for (n = 0; n < SIZE; n = n + 1) begin mem.data[n] = range(0, 255); copy[n] = mem.data[n]; end
        for (n = 0; n < runs; n = n + 1) begin
            @(negedge clk) new_windows;
            halt = 1'b0;
            stall      = n % 3 == 0 ? 0 : range(0, 80);
            bad_begin  = n % 2 == 0 ? 0 : range(0, SIZE);
            bad_end    = n % 2 == 0 ? 0 : bad_begin + range(1, 4096);
            ask_rate   = range(1, 100); take_rate = range(20, 100);
            begin_rate = range(1, 100); data_rate = range(20, 100); ack_rate = range(20, 100);
            repeat (range(100, 1500)) @(negedge clk);
            check_failed;
            if (n % 4 == 3) stop;
            else begin
                quiet;
                compare;
            end
        end
        stall = 0; bad_begin = 0; bad_end = 0; windows_on = 1'b0; fast = 1'b1; halt = 1'b0;
        ask_rate = 100; take_rate = 100; begin_rate = 100; data_rate = 100; ack_rate = 100;
        repeat (1000) @(negedge clk);
        before_read = beats_read; before_written = beats_written;
        repeat (2000) @(negedge clk);
        if (beats_read - before_read < 1980 || beats_written - before_written < 1980)
            $fatal(1, "in 2000 cycles %0d beats were read, %0d written", beats_read - before_read,
                   beats_written - before_written);
        quiet;
        compare;
        total_beats = beats_read + beats_written;
        $display("%0d beats", total_beats);
        if (total_beats < 500*runs) $fatal(1, "too few beats to say much");
        $display("PASS");
        $finish;
    end
endmodule

`default_nettype wire
