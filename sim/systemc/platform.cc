// SPDX-License-Identifier: Apache-2.0
//
// The accelerator in a SystemC platform, behind model.h:
//
//   host pins ── accelerator ══ AXI pins ══ axi_to_tlm ── interconnect ── memory (simple | dram)
//                (Verilated)                                  │
//                                                        traffic (a busy host)
//
// Everything happens at rising clock edges but the memory's answers, which come on the falling edge before
// they count. With the simple memory and no traffic every cycle is the same as in tsim: both use axi_mem.c
// for the AXI side.
#include "dram_timing.h"
#include "rtl_model.h"
#include "server.h"

#include <memory>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

namespace {

using sc_core::SC_NS;
using sc_core::sc_time;
using tlm::tlm_generic_payload;
using tlm::tlm_phase;
using tlm::tlm_sync_enum;

const double PERIOD_NS = 10.0;

uint64_t now_cycle()
{
    return static_cast<uint64_t>(sc_core::sc_time_stamp() / sc_time(PERIOD_NS, SC_NS));
}

// The AXI pins of one cycle, with the data that the C structs only point to.
struct master_pins {
    vta_axi_master axi = {};
    uint8_t data[VTA_MODEL_BUS_BYTES] = {};
    uint64_t cycle = 0;
};

struct slave_pins {
    vta_axi_slave axi = {};
    uint8_t data[VTA_MODEL_BUS_BYTES] = {};
    uint64_t cycle = 0;
};

bool operator==(const master_pins &a, const master_pins &b)
{
    return a.cycle == b.cycle;
}
bool operator==(const slave_pins &a, const slave_pins &b)
{
    return a.cycle == b.cycle;
}
std::ostream &operator<<(std::ostream &out, const master_pins &pins)
{
    return out << pins.cycle;
}
std::ostream &operator<<(std::ostream &out, const slave_pins &pins)
{
    return out << pins.cycle;
}

void sc_trace(sc_core::sc_trace_file *, const master_pins &, const std::string &) {
} // waves come from the model
void sc_trace(sc_core::sc_trace_file *, const slave_pins &, const std::string &) {}

// The origin of a transaction, to find the way back.
struct route : tlm::tlm_extension<route> {
    int source = 0;
    uint32_t slot = 0;
    bool contents = false; // false: only its timing matters
    tlm::tlm_extension_base *clone() const override
    {
        return new route(*this);
    }
    void copy_from(const tlm::tlm_extension_base &other) override
    {
        *this = static_cast<const route &>(other);
    }
};

// Transactions belong to their initiators, which use them again.
struct keeper : tlm::tlm_mm_interface {
    void free(tlm_generic_payload *) override {}
};

keeper transactions;

std::unique_ptr<tlm_generic_payload> new_transaction()
{
    std::unique_ptr<tlm_generic_payload> transaction(new tlm_generic_payload(&transactions));
    transaction->set_extension(new route);
    return transaction;
}

// -- accelerator
// -------------------------------------------------------------------------------------------------------

SC_MODULE(accelerator)
{
    sc_core::sc_in<bool> clk;
    sc_core::sc_in<slave_pins> axi_in;
    sc_core::sc_out<master_pins> axi_out;
    vta_pins_in host_in = {};
    vta_pins_out host_out = {};
    std::unique_ptr<rtl_model> model;

    SC_CTOR(accelerator)
    {
        SC_METHOD(on_clock);
        sensitive << clk.pos();
        dont_initialize();
    }

    void on_clock()
    {
        const slave_pins &slave = axi_in.read();
        host_in.axi = slave.axi;
        host_in.axi.rdata = slave.data;
        model->clock(host_in, host_out);
        master_pins next;
        next.axi = host_out.axi;
        next.cycle = ++cycle_;
        memcpy(next.data, host_out.axi.wdata, sizeof next.data);
        axi_out.write(next);
    }

  private:
    uint64_t cycle_ = 0;
};

// -- AXI to TLM-2.0
// -----------------------------------------------------------------------------------------------------

SC_MODULE(axi_to_tlm)
{
    sc_core::sc_in<bool> clk, reset;
    sc_core::sc_in<master_pins> axi_in;
    sc_core::sc_out<slave_pins> axi_out;
    tlm_utils::simple_initiator_socket<axi_to_tlm> socket;

    axi_to_tlm(sc_core::sc_module_name name, vta_axi_options options)
        : sc_module(name), socket("socket"), enables_(VTA_AXI_BURSTS)
    {
        static const vta_bus none = {nullptr, nullptr};
        options.backend = {begin, this};
        mem_ = vta_axi_mem_create(&options, &none, nullptr);
        if (mem_ == nullptr) {
            throw std::bad_alloc();
        }
        slave_ = vta_axi_mem_first(mem_);
        for (int i = 0; i < 2 * VTA_AXI_BURSTS; i++) {
            slots_.push_back(new_transaction());
        }
        socket.register_nb_transport_bw(this, &axi_to_tlm::nb_transport_bw);
        SC_METHOD(on_clock);
        sensitive << clk.pos();
        dont_initialize();
    }

    ~axi_to_tlm() override
    {
        vta_axi_mem_destroy(mem_);
    }

    SC_HAS_PROCESS(axi_to_tlm);

    slave_pins first() const
    {
        return pins(0);
    }
    const char *failure() const
    {
        return vta_axi_mem_failure(mem_);
    }
    void seed(uint64_t seed)
    {
        vta_axi_mem_seed(mem_, seed);
    }
    const vta_dram_counts *dram() const
    {
        return vta_axi_mem_counts(mem_);
    }

  private:
    slave_pins pins(uint64_t cycle) const
    {
        slave_pins next;
        next.axi = slave_;
        next.cycle = cycle;
        memcpy(next.data, slave_.rdata, sizeof next.data);
        return next;
    }

    void on_clock()
    {
        const master_pins &in = axi_in.read();
        vta_axi_master master = in.axi;
        master.wdata = in.data;
        master.reset = reset.read();
        vta_axi_mem_cycle(mem_, &master, &slave_);
        axi_out.write(pins(++cycle_));
    }

    static void begin(void *context, uint32_t slot, bool write, uint64_t addr, uint8_t *data, uint32_t size,
                      const uint64_t *strobes)
    {
        static_cast<axi_to_tlm *>(context)->send(slot, write, addr, data, size, strobes);
    }

    void send(uint32_t slot, bool write, uint64_t addr, uint8_t *data, uint32_t size, const uint64_t *strobes)
    {
        tlm_generic_payload &t = *slots_[slot + (write ? VTA_AXI_BURSTS : 0)];
        route *way = t.get_extension<route>();
        way->slot = slot;
        way->contents = true;
        t.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        t.set_address(addr);
        t.set_data_ptr(data);
        t.set_data_length(size);
        t.set_streaming_width(size);
        t.set_byte_enable_ptr(nullptr);
        t.set_byte_enable_length(0);
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        if (write) {
            set_enables(t, enables_[slot], size, strobes);
        }
        t.acquire();
        tlm_phase phase = tlm::BEGIN_REQ;
        sc_time delay = sc_core::SC_ZERO_TIME;
        if (socket->nb_transport_fw(t, phase, delay) == tlm::TLM_COMPLETED) {
            answer(t);
        }
    }

    static void set_enables(tlm_generic_payload & t, std::vector<uint8_t> & enables, uint32_t size,
                            const uint64_t *strobes)
    {
        enables.resize(size);
        for (uint32_t i = 0; i < size; i++) {
            const bool on = strobes[i / VTA_MODEL_BUS_BYTES] >> (i % VTA_MODEL_BUS_BYTES) & 1;
            enables[i] = on ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED;
        }
        t.set_byte_enable_ptr(enables.data());
        t.set_byte_enable_length(size);
    }

    void answer(tlm_generic_payload & t)
    {
        vta_axi_mem_answer(mem_, t.get_extension<route>()->slot, t.is_write(), !t.is_response_ok());
        t.release();
    }

    tlm_sync_enum nb_transport_bw(tlm_generic_payload & t, tlm_phase & phase, sc_time &)
    {
        if (phase == tlm::BEGIN_RESP) {
            answer(t);
            return tlm::TLM_COMPLETED;
        }
        return tlm::TLM_ACCEPTED;
    }

    vta_axi_mem *mem_ = nullptr;
    vta_axi_slave slave_ = {};
    uint64_t cycle_ = 0;
    std::vector<std::unique_ptr<tlm_generic_payload>> slots_; // reads, then writes
    std::vector<std::vector<uint8_t>> enables_;
};

// -- interconnect
// -------------------------------------------------------------------------------------------------------

// One link to the memory in each direction, first come, first served. While nobody else is on it, it costs
// nothing: the AXI port already keeps to the link's bandwidth.
SC_MODULE(interconnect)
{
    tlm_utils::multi_passthrough_target_socket<interconnect> from;
    tlm_utils::simple_initiator_socket<interconnect> to;

    interconnect(sc_core::sc_module_name name, uint32_t bandwidth, bool shared)
        : sc_module(name), from("from"), to("to"), bandwidth_(bandwidth), shared_(shared)
    {
        from.register_nb_transport_fw(this, &interconnect::nb_transport_fw);
        to.register_nb_transport_bw(this, &interconnect::nb_transport_bw);
    }

  private:
    tlm_sync_enum nb_transport_fw(int source, tlm_generic_payload &t, tlm_phase &phase, sc_time &delay)
    {
        t.get_extension<route>()->source = source;
        if (shared_ && phase == tlm::BEGIN_REQ) {
            uint64_t &free_at = free_at_[t.is_write()];
            const uint64_t now = now_cycle(), begin = free_at > now ? free_at : now;
            free_at = begin + (t.get_data_length() + bandwidth_ - 1) / bandwidth_;
            delay += sc_time(PERIOD_NS * static_cast<double>(begin - now), SC_NS);
        }
        return to->nb_transport_fw(t, phase, delay);
    }

    tlm_sync_enum nb_transport_bw(tlm_generic_payload & t, tlm_phase & phase, sc_time & delay)
    {
        return from[t.get_extension<route>()->source]->nb_transport_bw(t, phase, delay);
    }

    uint32_t bandwidth_;
    bool shared_;
    uint64_t free_at_[2] = {0, 0};
};

// -- memory
// -------------------------------------------------------------------------------------------------------------

SC_MODULE(memory)
{
    tlm_utils::simple_target_socket<memory> socket;

    memory(sc_core::sc_module_name name, const vta_rtlsim_options &options, bool is_dram)
        : sc_module(name), socket("socket"), latency_(latency_of(options)), is_dram_(is_dram),
          requests_("requests"), answers_("answers")
    {
        dram_.options = vta_dram_options_default(latency_, options.bandwidth);
        socket.register_nb_transport_fw(this, &memory::nb_transport_fw);
        SC_METHOD(on_request);
        sensitive << requests_.get_event();
        dont_initialize();
        SC_METHOD(on_answer);
        sensitive << answers_.get_event();
        dont_initialize();
    }

    SC_HAS_PROCESS(memory);

  private:
    tlm_sync_enum nb_transport_fw(tlm_generic_payload & t, tlm_phase & phase, sc_time & delay)
    {
        if (phase != tlm::BEGIN_REQ) {
            return tlm::TLM_ACCEPTED;
        }
        t.acquire();
        if (delay > sc_core::SC_ZERO_TIME) {
            requests_.notify(t, delay);
            return tlm::TLM_ACCEPTED;
        }
        if (!take(t)) {
            return tlm::TLM_ACCEPTED;
        }
        finish(t);
        t.release();
        return tlm::TLM_COMPLETED;
    }

    // With a kind of DRAM the bridge keeps its times (axi_mem.h), and the memory behind it has the contents.
    static uint32_t latency_of(const vta_rtlsim_options &options)
    {
        return options.latency > 0 && options.dram.rate == 0 ? options.latency : 1;
    }

    // Starts an access; true: its answer counts in the next cycle already.
    bool take(tlm_generic_payload & t)
    {
        const uint64_t now = now_cycle();
        const uint64_t ready =
            is_dram_ ? vta_dram_access(&dram_, now, t.get_address(), t.get_data_length(), t.is_write())
                     : now + latency_;
        if (t.is_read() && t.get_extension<route>()->contents) {
            good(t, server_load(t.get_address(), t.get_data_ptr(), t.get_data_length()));
        }
        if (ready <= now + 1) {
            return true;
        }
        answers_.notify(t, sc_time(PERIOD_NS * (static_cast<double>(ready - now - 1) - 0.5), SC_NS));
        return false;
    }

    // A write becomes visible when it is answered.
    void finish(tlm_generic_payload & t)
    {
        if (!t.get_extension<route>()->contents) {
            t.set_response_status(tlm::TLM_OK_RESPONSE);
            return;
        }
        if (t.is_write()) {
            const uint32_t beats = t.get_data_length() / VTA_MODEL_BUS_BYTES;
            strobes_.assign(beats, 0);
            for (uint32_t i = 0; i < t.get_byte_enable_length(); i++) {
                const uint64_t on = t.get_byte_enable_ptr()[i] == TLM_BYTE_ENABLED;
                strobes_[i / VTA_MODEL_BUS_BYTES] |= on << (i % VTA_MODEL_BUS_BYTES);
            }
            good(t, server_store(t.get_address(), t.get_data_ptr(), t.get_data_length(), strobes_.data(),
                                 beats));
        }
    }

    static void good(tlm_generic_payload & t, bool there)
    {
        t.set_response_status(there ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
        if (!there && t.is_read()) {
            memset(t.get_data_ptr(), 0, t.get_data_length());
        }
    }

    void on_request()
    {
        while (tlm_generic_payload *t = requests_.get_next_transaction()) {
            if (take(*t)) {
                respond(*t);
            }
        }
    }

    void on_answer()
    {
        while (tlm_generic_payload *t = answers_.get_next_transaction()) {
            respond(*t);
        }
    }

    void respond(tlm_generic_payload & t)
    {
        finish(t);
        tlm_phase phase = tlm::BEGIN_RESP;
        sc_time delay = sc_core::SC_ZERO_TIME;
        socket->nb_transport_bw(t, phase, delay);
        t.release();
    }

    uint32_t latency_;
    bool is_dram_;
    vta_dram_timing dram_ = {};
    std::vector<uint64_t> strobes_;
    tlm_utils::peq_with_get<tlm_generic_payload> requests_, answers_;
};

// -- traffic
// ------------------------------------------------------------------------------------------------------------

// Other masters: bursts of a cache line at random times and places, as often as their share of the link asks
// for.
SC_MODULE(traffic)
{
    sc_core::sc_in<bool> clk;
    tlm_utils::simple_initiator_socket<traffic> socket;

    traffic(sc_core::sc_module_name name, uint32_t bandwidth, uint32_t percent, uint64_t seed)
        : sc_module(name), socket("socket"), random_(seed ^ 0x7472616666696321u),
          threshold_(static_cast<uint64_t>(bandwidth) * percent * (1u << 24) / (100 * LINE))
    {
        for (int i = 0; i < IN_FLIGHT; i++) {
            idle_.push_back(new_transaction());
        }
        socket.register_nb_transport_bw(this, &traffic::nb_transport_bw);
        SC_METHOD(on_clock);
        sensitive << clk.pos();
        dont_initialize();
    }

    SC_HAS_PROCESS(traffic);

  private:
    enum { LINE = 64, IN_FLIGHT = 64 };

    uint64_t draw()
    {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return random_ >> 20;
    }

    void on_clock()
    {
        for (int write = 0; write < 2; write++) {
            if ((draw() & 0xffffff) < threshold_ && !idle_.empty()) {
                send(write != 0);
            }
        }
    }

    void send(bool write)
    {
        tlm_generic_payload *t = idle_.back().release();
        idle_.pop_back();
        t->set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        t->set_address(draw() % (UINT64_C(1) << 30) / LINE * LINE);
        t->set_data_ptr(line_);
        t->set_data_length(LINE);
        t->set_streaming_width(LINE);
        t->acquire();
        tlm_phase phase = tlm::BEGIN_REQ;
        sc_time delay = sc_core::SC_ZERO_TIME;
        if (socket->nb_transport_fw(*t, phase, delay) == tlm::TLM_COMPLETED) {
            done(*t);
        }
    }

    void done(tlm_generic_payload & t)
    {
        t.release();
        idle_.emplace_back(&t);
    }

    tlm_sync_enum nb_transport_bw(tlm_generic_payload & t, tlm_phase & phase, sc_time &)
    {
        if (phase == tlm::BEGIN_RESP) {
            done(t);
            return tlm::TLM_COMPLETED;
        }
        return tlm::TLM_ACCEPTED;
    }

    uint64_t random_;
    uint64_t threshold_; // of 2^24, per cycle and direction
    uint8_t line_[LINE] = {};
    std::vector<std::unique_ptr<tlm_generic_payload>> idle_;
};

// -- the whole
// ----------------------------------------------------------------------------------------------------------

struct platform {
    platform(const vta_rtlsim_options &options, std::unique_ptr<rtl_model> model, bool is_dram)
        : clk("clk", sc_time(PERIOD_NS, SC_NS), 0.5, sc_time(PERIOD_NS / 2, SC_NS), true), reset("reset"),
          to_memory("to_memory"), device("accelerator"), bridge("axi_to_tlm", axi_options(options)),
          to_device("to_device", bridge.first()),
          bus("interconnect", link(options), options.traffic_percent > 0), dram("memory", options, is_dram)
    {
        device.model = std::move(model);
        device.clk(clk);
        device.axi_in(to_device);
        device.axi_out(to_memory);
        bridge.clk(clk);
        bridge.reset(reset);
        bridge.axi_in(to_memory);
        bridge.axi_out(to_device);
        bridge.socket.bind(bus.from);
        bus.to.bind(dram.socket);
        if (options.traffic_percent > 0) {
            others.reset(new traffic("traffic", link(options), options.traffic_percent, options.seed));
            others->clk(clk);
            others->socket.bind(bus.from);
        }
    }

    static uint32_t link(const vta_rtlsim_options &options)
    {
        return options.bandwidth > 0 ? options.bandwidth : VTA_MODEL_BUS_BYTES;
    }

    static vta_axi_options axi_options(const vta_rtlsim_options &options)
    {
        vta_axi_options axi = {};
        axi.bus_bytes = VTA_MODEL_BUS_BYTES;
        axi.latency = options.latency;
        axi.bandwidth = options.bandwidth;
        axi.shared_bytes = options.shared_bytes;
        axi.shared_cycles = options.shared_cycles;
        axi.stall_percent = options.stall_percent;
        axi.seed = options.seed;
        axi.dram = options.dram;
        axi.clock_mhz = options.clock_mhz;
        return axi;
    }

    sc_core::sc_clock clk;
    sc_core::sc_signal<bool> reset;
    sc_core::sc_signal<master_pins> to_memory;
    accelerator device;
    axi_to_tlm bridge;
    sc_core::sc_signal<slave_pins> to_device;
    interconnect bus;
    memory dram;
    std::unique_ptr<traffic> others;
    std::string error;
};

void *model_create(const vta_rtlsim_options *options, const vta_bus *, char *message, uint32_t size)
{
    static bool used = false;
    const char *kind = options->memory_model != nullptr ? options->memory_model : "simple";
    const bool is_dram = strcmp(kind, "dram") == 0;
    if (!is_dram && strcmp(kind, "simple") != 0) {
        snprintf(message, size, "no memory model is called '%s'; there are simple and dram", kind);
        return nullptr;
    }
    if (used) {
        snprintf(message, size, "a process can hold one SystemC platform");
        return nullptr;
    }
    std::unique_ptr<rtl_model> model(rtl_model::create(options, rtl_clocks::always, message, size));
    if (!model) {
        return nullptr;
    }
    try {
        used = true;
        return new platform(*options, std::move(model), is_dram);
    } catch (const std::exception &error) {
        snprintf(message, size, "cannot make the platform: %s", error.what());
        return nullptr;
    }
}

// SystemC's modules live as long as the process; the model writes its trace when it goes.
void model_destroy(void *self)
{
    static_cast<platform *>(self)->device.model.reset();
}

void model_clock(void *self, const vta_pins_in *in, vta_pins_out *out)
{
    platform *p = static_cast<platform *>(self);
    try {
        p->device.host_in = *in;
        p->reset.write(in->reset != 0);
        sc_core::sc_start(sc_time(PERIOD_NS, SC_NS));
        *out = p->device.host_out;
    } catch (const std::exception &error) {
        p->error = error.what();
    }
}

const char *model_failure(void *self)
{
    const platform *p = static_cast<platform *>(self);
    if (!p->error.empty()) {
        return p->error.c_str();
    }
    const char *rule = p->bridge.failure();
    return rule != nullptr ? rule : p->device.model->failure();
}

void model_seed(void *self, uint64_t seed)
{
    static_cast<platform *>(self)->bridge.seed(seed);
}

const vta_dram_counts *model_dram(void *self)
{
    return static_cast<platform *>(self)->bridge.dram();
}

const vta_model model = {"systemc",     VTA_MODEL_HASH, VTA_MODEL_BUS_BYTES, true,       model_create,
                         model_destroy, model_clock,    model_failure,       model_seed, model_dram};

} // namespace

extern "C" const vta_model *vta_model_get(void)
{
    return &model;
}

__attribute__((visibility("default"))) int sc_main(int, char **)
{
    return server_run();
}

int main(int argc, char **argv)
{
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
