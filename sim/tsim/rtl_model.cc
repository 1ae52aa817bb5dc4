// SPDX-License-Identifier: Apache-2.0
//
// See rtl_model.h. Compiled as one file with the generated model (build.c).
#include "rtl_model.h"

#include <atomic>
#include <cerrno>
#include <new>

#include <unistd.h>

#ifdef VTA_MODEL_TRACE
#    include "Vvta_top__Syms.h"
#endif

namespace {

thread_local rtl_model *current = nullptr;
thread_local uint64_t current_serial = 0; // an address may come back, a serial number does not

uint64_t next_serial()
{
    static std::atomic<uint64_t> last{0};
    return ++last;
}

uint8_t *bytes(void *pin)
{
    return static_cast<uint8_t *>(pin);
}

} // namespace

// Verilator's run-time library prints through this and stops through vl_stop, vl_finish and vl_fatal.
extern "C" int vta_model_printf(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (current != nullptr) {
        current->say(text);
    }
    return length;
}

void vl_finish(const char *, int, const char *) {}
void vl_stop(const char *, int, const char *) {}
void vl_fatal(const char *, int, const char *, const char *message)
{
    if (current != nullptr) {
        current->say(message);
    }
}

void rtl_model::say(const char *text)
{
    if (!failure_.empty() || text[strspn(text, " \n")] == '\0') {
        return;
    }
    std::string line(text);
    while (!line.empty() && line.back() == '\n') {
        line.pop_back();
    }
    failure_ = "the RTL stopped in cycle " + std::to_string(cycle_) + ": " + line;
}

// Verilator's library finds context and printer through the thread.
void rtl_model::enter()
{
    if (current_serial != serial_) {
        current = this;
        current_serial = serial_;
        Verilated::threadContextp(&context_);
    }
}

void rtl_model::leave()
{
    current = nullptr;
    current_serial = 0;
    Verilated::threadContextp(nullptr);
}

rtl_model::rtl_model(const vta_rtlsim_options *options, rtl_clocks clocks)
    : serial_(next_serial()), check_(options->stall_percent > 0), always_(clocks == rtl_clocks::always)
{
    enter();
    context_.threads(1); // else it starts idle ones, which would take the process's signals
    context_.randReset(options->seed != 0 ? 2 : 0);
    context_.randSeed(static_cast<int>(1 + options->seed % 2147483646));
    context_.assertOn(true);
#ifdef VTA_MODEL_TRACE
    context_.traceEverOn(options->trace_file != nullptr);
    begin_ = options->trace_begin;
    end_ = options->trace_end == 0 ? UINT64_MAX : options->trace_end;
#endif
    top_.reset(new Vvta_top(&context_, "TOP"));
    top_->clk = 0;
    top_->rst = 1;
    top_->eval_step();
}

rtl_model *rtl_model::create(const vta_rtlsim_options *options, rtl_clocks clocks, char *message,
                             uint32_t size)
{
    try {
        std::unique_ptr<rtl_model> model(new rtl_model(options, clocks));
        if (!model->open_trace(options, message, size)) {
            return nullptr;
        }
        return model.release();
    } catch (const std::exception &error) {
        snprintf(message, size, "cannot make the model: %s", error.what());
        return nullptr;
    }
}

rtl_model::~rtl_model()
{
    enter();
    top_->final();
#ifdef VTA_MODEL_TRACE
    if (trace_) {
        vta_waves_error = trace_error_;
        trace_->close();
        if (vta_waves_error != 0) { // the driver takes a file without bytes for one that is not whole
            (void)!truncate(trace_file_.c_str(), 0);
        }
    }
#endif
    top_.reset();
    leave();
}

#ifdef VTA_MODEL_TRACE
thread_local int vta_waves_error;

namespace {

// The signals that an FST file declares, from its header block: 64 bits, high byte first.
uint64_t signals_in(const char *file)
{
    enum { AT = 57, BYTES = 8 };
    uint8_t header[AT + BYTES] = {};
    uint64_t count = 0;
    FILE *stream = fopen(file, "rb");
    if (stream != nullptr) {
        const size_t got = fread(header, 1, sizeof header, stream);
        fclose(stream);
        for (int i = 0; got == sizeof header && i < BYTES; i++) {
            count = count << 8 | header[AT + i];
        }
    }
    return count;
}

void start_trace(VerilatedFstC &trace, Vvta_top &top, const std::string &scope, const char *file)
{
    if (!scope.empty()) {
        trace.dumpvars(99, scope);
    }
    top.trace(&trace, 99);
    trace.open(file);
}

// Verilator 5.006 crashes when a scope selects no signal at all: a model that is thrown away finds out first.
bool selects_signals(const std::string &scope, const char *file)
{
    VerilatedContext context;
    Verilated::threadContextp(&context);
    context.traceEverOn(true);
    Vvta_top top(&context, "TOP");
    VerilatedFstC trace;
    start_trace(trace, top, scope, file);
    trace.close();
    return signals_in(file) > 0;
}

} // namespace

bool rtl_model::open_trace(const vta_rtlsim_options *options, char *message, uint32_t size)
{
    const char *file = options->trace_file;
    if (file == nullptr) {
        return true;
    }
    FILE *probe = fopen(file, "wb");
    if (probe == nullptr) {
        snprintf(message, size, "cannot write the trace '%s': %s", file, strerror(errno));
        return false;
    }
    fclose(probe);
    std::string scope(options->trace_scope != nullptr ? options->trace_scope : "");
    if (!scope.empty()) {
        scope = (scope.compare(0, 7, "vta_top") == 0 ? "TOP." : "TOP.vta_top.") + scope;
    }
    vta_waves_error = 0;
    const bool any = selects_signals(scope, file);
    leave();
    enter();
    if (vta_waves_error != 0) {
        snprintf(message, size, "the waves cannot be written: %s", strerror(vta_waves_error));
        return false;
    }
    if (!any) {
        remove(file);
        snprintf(message, size,
                 "no instance '%s' in the RTL; names are as in the waves, such as 'load' or 'vta_top'",
                 options->trace_scope);
        return false;
    }
    trace_file_ = file;
    trace_.reset(new VerilatedFstC);
    start_trace(*trace_, *top_, scope, file);
    trace_error_ = vta_waves_error;
    return true;
}

// A cycle has two steps of time, four where there is a clock of twice the rate; step 0 is before the clocks
// rise.
void rtl_model::dump(unsigned step)
{
    if (trace_ && cycle_ >= begin_ && cycle_ <= end_) {
        if (step == 0) {
            top_->eval_step();
        }
        // Edges do not go through eval_step, which would say so: something may have changed.
        top_->rootp->vlSymsp->__Vm_activity = true;
        vta_waves_error = trace_error_;
        trace_->dump(2 * VTA_MODEL_PUMP * cycle_ + step);
        trace_error_ = vta_waves_error;
    }
}

// Waves show the clocks, which the model is not told of.
void rtl_model::draw_clocks(uint8_t level, uint8_t all)
{
    top_->clk = level;
#    define UNIT(name) top_->clk_##name = level & (top_->awake_##name | all);
    VTA_MODEL_UNITS(UNIT)
#    undef UNIT
    (void)all; // units alone ask for it
}

void rtl_model::draw_twice(uint8_t level)
{
#    if VTA_MODEL_PUMP == 2
    top_->clk2x = level;
#    endif
    (void)level;
}
#else
bool rtl_model::open_trace(const vta_rtlsim_options *options, char *message, uint32_t size)
{
    if (options->trace_file != nullptr) {
        snprintf(message, size, "this build of the simulator cannot write waves; a '+trace' build can");
    }
    return options->trace_file == nullptr;
}

void rtl_model::dump(unsigned) {}
void rtl_model::draw_clocks(uint8_t, uint8_t) {}
void rtl_model::draw_twice(uint8_t) {}
#endif

// Puts the inputs on the pins; false if all that counts is as it was, as it is in most cycles.
bool rtl_model::drive(const vta_pins_in &in)
{
    Vvta_top &top = *top_;
    const vta_axi_slave &axi = in.axi;
    const uint32_t host = in.awvalid | in.wvalid | in.bready | in.arvalid | in.rready;
    const uint32_t answers = axi.rvalid | axi.bvalid;
    const uint32_t levels = in.reset | axi.arready << 1 | axi.awready << 2 | axi.wready << 3;
    const bool same = levels == levels_ && (host | host_ | answers | answers_) == 0;
    levels_ = levels;
    host_ = host;
    answers_ = answers;
    if (same) {
        return false;
    }
    top.rst = in.reset;
    top.m_axi_arready = axi.arready;
    top.m_axi_awready = axi.awready;
    top.m_axi_wready = axi.wready;
    top.m_axi_rvalid = axi.rvalid;
    if (axi.rvalid) {
        top.m_axi_rlast = axi.rlast;
        top.m_axi_rresp = axi.rresp;
        memcpy(&top.m_axi_rdata, axi.rdata, VTA_MODEL_BUS_BYTES);
    }
    top.m_axi_bvalid = axi.bvalid;
    top.m_axi_bresp = axi.bresp;
    top.s_axil_awvalid = in.awvalid;
    top.s_axil_wvalid = in.wvalid;
    top.s_axil_bready = in.bready;
    top.s_axil_arvalid = in.arvalid;
    top.s_axil_rready = in.rready;
    top.s_axil_awaddr = static_cast<uint16_t>(in.awaddr & 0x1fff);
    top.s_axil_wdata = in.wdata;
    top.s_axil_wstrb = 0xf;
    top.s_axil_araddr = static_cast<uint16_t>(in.araddr & 0x1fff);
    return true;
}

void rtl_model::sample(vta_pins_out &out)
{
    Vvta_top &top = *top_;
    vta_axi_master &axi = out.axi;
    axi.ar.valid = top.m_axi_arvalid;
    if (axi.ar.valid) {
        axi.ar.addr = top.m_axi_araddr;
        axi.ar.len = top.m_axi_arlen;
        axi.ar.size = top.m_axi_arsize;
        axi.ar.burst = top.m_axi_arburst;
    }
    axi.aw.valid = top.m_axi_awvalid;
    if (axi.aw.valid) {
        axi.aw.addr = top.m_axi_awaddr;
        axi.aw.len = top.m_axi_awlen;
        axi.aw.size = top.m_axi_awsize;
        axi.aw.burst = top.m_axi_awburst;
    }
    axi.wvalid = top.m_axi_wvalid;
    axi.wlast = top.m_axi_wlast;
    axi.wstrb = top.m_axi_wstrb;
    axi.wdata = bytes(&top.m_axi_wdata);
    axi.rready = top.m_axi_rready;
    axi.bready = top.m_axi_bready;
    out.awready = top.s_axil_awready;
    out.wready = top.s_axil_wready;
    out.bvalid = top.s_axil_bvalid;
    out.bresp = top.s_axil_bresp;
    out.arready = top.s_axil_arready;
    out.rvalid = top.s_axil_rvalid;
    out.rresp = top.s_axil_rresp;
    out.rdata = top.s_axil_rdata;
    out.irq = top.irq;
    out.debug = top.dbg;
}

// The units whose clock is asked for, a bit each.
uint32_t rtl_model::awake() const
{
    uint32_t bits = 0;
#define UNIT(name) bits = bits << 1 | top_->awake_##name;
    VTA_MODEL_UNITS(UNIT)
#undef UNIT
    return bits;
}

// An output that moved with the inputs, before the clock did, breaks AXI, and our single evaluation with it.
void rtl_model::check_registered(const vta_pins_out &before)
{
    vta_pins_out now = before;
    uint8_t data[VTA_MODEL_BUS_BYTES];
    const uint32_t clocks = awake();
    memcpy(data, before.axi.wdata, sizeof data);
    top_->eval_step();
    sample(now);
    if (memcmp(data, now.axi.wdata, sizeof data) != 0 || now.axi.ar.valid != before.axi.ar.valid ||
        now.axi.aw.valid != before.axi.aw.valid || now.axi.wvalid != before.axi.wvalid ||
        now.axi.wlast != before.axi.wlast || now.axi.wstrb != before.axi.wstrb ||
        now.axi.rready != before.axi.rready || now.axi.bready != before.axi.bready ||
        now.axi.ar.addr != before.axi.ar.addr || now.axi.aw.addr != before.axi.aw.addr ||
        now.awready != before.awready || now.wready != before.wready || now.bvalid != before.bvalid ||
        now.arready != before.arready || now.rvalid != before.rvalid || now.rdata != before.rdata ||
        now.irq != before.irq) {
        say("an AXI or interrupt output depends combinationally on an input");
    }
    if (awake() != clocks) {
        say("a unit's need of a clock depends combinationally on an input");
    }
}

// The clocks rise and fall; the model sees the rise alone where the builder knows how (VTA_MODEL_EDGES). With
// an array at twice the clock, `half_way` is the edge of clk2x in the middle of the cycle, where clk falls.
#ifdef VTA_MODEL_EDGES
void rtl_model::rise(bool changed)
{
    Vvta_top &top = *top_;
    [[maybe_unused]] const uint8_t all = always_ || top.rst != 0 || host_ != 0;
    Vvta_top___024root &root = *top.rootp;
    if (changed) {
        root.__VicoTriggered.at(0) = true;
        Vvta_top___024root___eval_ico(&root);
    }
#    define CLOCK(index)      root.__VnbaTriggered.at(index) = true;
#    define UNIT(index, name) root.__VnbaTriggered.at(index) = (top.awake_##name | all) != 0;
    VTA_MODEL_EDGES(CLOCK, UNIT, CLOCK)
#    undef CLOCK
#    undef UNIT
    draw_clocks(1, all);
    draw_twice(1);
    Vvta_top___024root___eval_nba(&root);
    dump(1);
    half_way();
    draw_clocks(0, 0);
}

#    if VTA_MODEL_PUMP == 2
void rtl_model::half_way()
{
    Vvta_top___024root &root = *top_->rootp;
    draw_twice(0);
    dump(2);
#        define CLOCK(index)      root.__VnbaTriggered.at(index) = false;
#        define UNIT(index, name) root.__VnbaTriggered.at(index) = false;
#        define TWICE(index)      root.__VnbaTriggered.at(index) = true;
    VTA_MODEL_EDGES(CLOCK, UNIT, TWICE)
#        undef CLOCK
#        undef UNIT
#        undef TWICE
    draw_clocks(0, 0);
    draw_twice(1);
    Vvta_top___024root___eval_nba(&root);
    dump(3);
    draw_twice(0);
}
#    else
void rtl_model::half_way() {}
#    endif
#else
void rtl_model::rise(bool)
{
    Vvta_top &top = *top_;
    [[maybe_unused]] const uint8_t all = always_ || top.rst != 0 || host_ != 0;
#    define UNIT(name) top.clk_##name = top.awake_##name | all;
    VTA_MODEL_UNITS(UNIT)
#    undef UNIT
    top.clk = 1;
#    if VTA_MODEL_PUMP == 2
    top.clk2x = 1;
#    endif
    top.eval_step();
    dump(1);
    half_way();
#    define UNIT(name) top.clk_##name = 0;
    VTA_MODEL_UNITS(UNIT)
#    undef UNIT
    top.clk = 0;
    top.eval_step();
}

#    if VTA_MODEL_PUMP == 2
void rtl_model::half_way()
{
    top_->clk2x = 0;
    top_->eval_step();
    dump(2);
    top_->clk = 0;
    top_->clk2x = 1;
    top_->eval_step();
    dump(3);
    top_->clk2x = 0;
}
#    else
void rtl_model::half_way() {}
#    endif
#endif

void rtl_model::clock(const vta_pins_in &in, vta_pins_out &out)
{
    enter();
    const bool changed = drive(in);
    dump(0);
    if (check_ && cycle_ > 1 && !in.reset) {
        check_registered(out);
    }
    rise(changed);
    sample(out);
    cycle_++;
}
