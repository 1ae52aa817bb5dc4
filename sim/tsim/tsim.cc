// SPDX-License-Identifier: Apache-2.0
//
// The Verilated accelerator behind model.h: the only C++ of tsim. VTA_MODEL_HASH and VTA_MODEL_BUS_BYTES come
// from the builder (build.c), as does clocks.h (build_clocks.c).
//
// A cycle is one evaluation instead of two: the clock falls behind the model's back, which is exact as long
// as no output depends on an input combinationally, as AXI demands. With back-pressure switched on this is
// checked. Units that sleep get no clock (hw/rtl/lib/vta_awake.v): what would not change is not evaluated.
#include "rtl_model.h"

namespace {

void *model_create(const vta_rtlsim_options *options, const vta_bus *, char *message, uint32_t size)
{
    if (options->memory_model != nullptr && strcmp(options->memory_model, "simple") != 0) {
        snprintf(message, size, "tsim has no memory model '%s'; systemc has", options->memory_model);
        return nullptr;
    }
    return rtl_model::create(options, rtl_clocks::awake, message, size);
}

void model_destroy(void *self)
{
    delete static_cast<rtl_model *>(self);
}

void model_clock(void *self, const vta_pins_in *in, vta_pins_out *out)
{
    static_cast<rtl_model *>(self)->clock(*in, *out);
}

const char *model_failure(void *self)
{
    return static_cast<rtl_model *>(self)->failure();
}

const vta_model model = {"tsim",        VTA_MODEL_HASH, VTA_MODEL_BUS_BYTES, false,   model_create,
                         model_destroy, model_clock,    model_failure,       nullptr, nullptr};

} // namespace

extern "C" const vta_model *vta_model_get(void)
{
    return &model;
}
