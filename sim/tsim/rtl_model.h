// SPDX-License-Identifier: Apache-2.0
//
// One Verilated vta_top with its context, pins copied in and out; shared by tsim and the SystemC platform.
#ifndef VTA_RTL_MODEL_H
#define VTA_RTL_MODEL_H

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "Vvta_top.h"
#include "Vvta_top___024root.h"
#include "clocks.h"
#include "model.h"
#ifdef VTA_MODEL_TRACE
#    include "verilated_fst_c.h"

extern thread_local int vta_waves_error; // waves_hooks.h
#endif

// Clocks that run: those of units at work, or all of them in every cycle. It makes no difference but in
// speed.
enum class rtl_clocks { awake, always };

class rtl_model {
  public:
    // NULL, with a message, where something is missing.
    static rtl_model *create(const vta_rtlsim_options *options, rtl_clocks clocks, char *message,
                             uint32_t size);
    ~rtl_model();

    void clock(const vta_pins_in &in, vta_pins_out &out);
    const char *failure() const
    {
        return failure_.empty() ? nullptr : failure_.c_str();
    }

    // A line that the RTL prints (a failed assertion) becomes the failure.
    void say(const char *text);

  private:
    rtl_model(const vta_rtlsim_options *options, rtl_clocks clocks);
    void enter();
    static void leave();
    bool open_trace(const vta_rtlsim_options *options, char *message, uint32_t size);
    bool drive(const vta_pins_in &in);
    void sample(vta_pins_out &out);
    void check_registered(const vta_pins_out &before);
    uint32_t awake() const;
    void rise(bool changed);
    void half_way();
    void dump(unsigned step);
    void draw_clocks(uint8_t level, uint8_t all);
    void draw_twice(uint8_t level);

    VerilatedContext context_;
    std::unique_ptr<Vvta_top> top_;
    const uint64_t serial_;
    const bool check_, always_;
    uint32_t levels_ = UINT32_MAX, host_ = 0, answers_ = 0; // the inputs that are driven
    uint64_t cycle_ = 0;
    std::string failure_;
#ifdef VTA_MODEL_TRACE
    std::unique_ptr<VerilatedFstC> trace_;
    std::string trace_file_;
    int trace_error_ = 0; // errno of the first failure of a write, 0: none
    uint64_t begin_ = 0, end_ = 0;
#endif
};

#endif
