/* SPDX-License-Identifier: Apache-2.0
 *
 * A simulator as the driver loads it (rtlsim.h), without RTL: the register page of regs.def over the
 * functional simulator, for the configuration tiny. A run takes as many "cycles" as it has instructions; a
 * seed of 13 breaks a rule; one of 1000 + N flips a bit of the first byte that the Nth STORE of a program
 * wrote, and says on stderr which instruction that is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vta/fsim.h"
#include "vta/regs.h"
#include "vta/rtlsim.h"

enum { BROKEN = 1000 };

typedef struct fake {
    uint32_t regs[VTA_REG_PAGE_BYTES / 4];
    vta_fsim *fsim;
    uint64_t cycles_left, broken; /* the STORE whose byte is flipped, from 1 on; 0: none */
    vta_config config;
    vta_bus bus;
    bool busy, hang;
    vta_report report;
    const char *failure;
} fake;

static uint32_t *reg(fake *f, uint32_t offset)
{
    return &f->regs[offset % VTA_REG_PAGE_BYTES / 4];
}

static void *fake_create(const vta_rtlsim_options *options, const vta_bus *bus, char *message, uint32_t size)
{
    vta_config config;
    vta_diag diag = {0};
    fake *f = calloc(1, sizeof *f);
    if (f == NULL || vta_config_load("tiny", &config, &diag) != VTA_OK ||
        vta_fsim_create(&config, bus, false, &f->fsim, &diag) != VTA_OK || options->latency == 0) {
        (void)snprintf(message, size, "%s", diag.code != VTA_OK ? diag.text : "latency 0 is not possible");
        if (f != NULL) {
            vta_fsim_destroy(f->fsim);
        }
        free(f);
        return NULL;
    }
    *reg(f, VTA_REG_ID) = VTA_REG_ID_VALUE;
    *reg(f, VTA_REG_VERSION) =
        VTA_REG_PUT(VERSION_MAJOR, VTA_ISA_MAJOR) | VTA_REG_PUT(VERSION_MINOR, VTA_ISA_MINOR);
    *reg(f, VTA_REG_HASH_LO) = (uint32_t)config.hash;
    *reg(f, VTA_REG_HASH_HI) = (uint32_t)(config.hash >> 32);
    f->hang = options->stall_percent == 99;
    f->broken = options->seed > BROKEN ? options->seed - BROKEN : 0;
    f->config = config;
    f->bus = *bus;
    f->failure = options->seed == 13 ? "AXI: WLAST missing" : NULL;
    uint32_t offset = VTA_REG_CONFIG0;
#define VTA_CONFIG(field, key, def, min, max, hw, doc)                                                       \
    if (hw) {                                                                                                \
        *reg(f, offset) = config.field;                                                                      \
        offset += 4;                                                                                         \
    }
#include "vta/config.def"
#undef VTA_CONFIG
    return f;
}

static void fake_destroy(void *self)
{
    fake *f = self;
    vta_fsim_destroy(f->fsim);
    free(f);
}

static uint32_t fake_read(void *self, uint32_t offset)
{
    return *reg(self, offset);
}

static uint64_t pair(fake *f, uint32_t offset)
{
    return *reg(f, offset) | (uint64_t)*reg(f, offset + 4) << 32;
}

static void flip_store(fake *f, const vta_launch *launch)
{
    uint64_t stores = 0;
    for (uint32_t i = 0; i < launch->insn_count && f->broken > 0; i++) {
        vta_insn insn;
        const vta_word *word =
            f->bus.map(f->bus.context, launch->insn_addr + (uint64_t)i * VTA_INSN_BYTES, VTA_INSN_BYTES);
        if (vta_insn_decode_raw(&f->config, *word, &insn) == VTA_ERROR_NONE && insn.opcode == VTA_OP_STORE &&
            insn.mem.x_size > 0 && ++stores == f->broken) {
            const uint64_t offset = (uint64_t)insn.mem.dram_base * f->config.elem_bytes[insn.mem.memory];
            uint8_t *byte = f->bus.map(f->bus.context, launch->base[insn.mem.segment] + offset, 1);
            *byte ^= 1;
            (void)fprintf(stderr, "broken: %u\n", i);
        }
    }
}

static void start(fake *f)
{
    vta_launch launch = {.insn_addr = pair(f, VTA_REG_INSN_ADDR_LO),
                         .insn_count = *reg(f, VTA_REG_INSN_COUNT)};
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        launch.base[i] = pair(f, VTA_REG_BASE0_LO + 8 * i);
    }
    (void)vta_fsim_run(f->fsim, &launch, &f->report, NULL);
    flip_store(f, &launch);
    f->cycles_left = launch.insn_count;
    f->busy = true;
    *reg(f, VTA_REG_STATUS) = VTA_REG_PUT(STATUS_BUSY, 1);
}

static void fake_write(void *self, uint32_t offset, uint32_t value)
{
    fake *f = self;
    if (offset == VTA_REG_CONTROL && VTA_REG_GET(CONTROL_RESET, value) != 0) {
        f->busy = false;
        *reg(f, VTA_REG_STATUS) = 0;
    } else if (offset == VTA_REG_CONTROL && VTA_REG_GET(CONTROL_START, value) != 0) {
        start(f);
    } else if (offset == VTA_REG_IRQ_STATUS) {
        *reg(f, offset) &= ~value;
    } else {
        *reg(f, offset) = value;
    }
}

static void end(fake *f)
{
    const bool failed = f->report.error != VTA_ERROR_NONE;
    f->busy = false;
    *reg(f, VTA_REG_STATUS) = VTA_REG_PUT(STATUS_DONE, !failed) | VTA_REG_PUT(STATUS_ERROR, failed);
    *reg(f, VTA_REG_ERROR) =
        VTA_REG_PUT(ERROR_CODE, f->report.error) | VTA_REG_PUT(ERROR_UNIT, f->report.unit);
    *reg(f, VTA_REG_ERROR_INSN) = f->report.insn;
    *reg(f, VTA_REG_IRQ_STATUS) = VTA_REG_PUT(IRQ_STATUS_ENDED, 1);
    *reg(f, VTA_REG_CYCLES) = *reg(f, VTA_REG_INSN_COUNT);
}

static uint64_t fake_step(void *self, uint64_t cycles)
{
    fake *f = self;
    if (!f->busy || f->hang) {
        return cycles;
    }
    const uint64_t passed = cycles < f->cycles_left ? cycles : f->cycles_left;
    f->cycles_left -= passed;
    if (f->cycles_left == 0) {
        end(f);
    }
    return passed;
}

static bool fake_irq(void *self)
{
    return *reg(self, VTA_REG_IRQ_STATUS) != 0;
}

static const char *fake_failure(void *self)
{
    return ((fake *)self)->failure;
}

static vta_rtlsim table = {
    .abi = VTA_RTLSIM_ABI,
    .kind = "tsim",
    .create = fake_create,
    .destroy = fake_destroy,
    .read = fake_read,
    .write = fake_write,
    .step = fake_step,
    .irq = fake_irq,
    .failure = fake_failure,
};

const vta_rtlsim *vta_rtlsim_entry(void)
{
    return &table;
}
