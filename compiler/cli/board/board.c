/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual board's loop: looks at the files, lets the RTL run, writes what it says into the files.
 *
 * A client stores into the page and loads from it, and nothing tells us when. So what acts is seen by its
 * change: CONTROL is 0 but for a command that nobody has taken yet; IRQ_STATUS carries a mark in a bit that
 * means nothing, so that a 1 that is written over a 1 is seen. A command is wiped from the page after all
 * that follows from it stands there; the client waits for that.
 */
#include "board.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vta/regs.h"
#include "vta/rtlbuild.h"
#include "vta/rtlsim.h"

enum { STEP_CYCLES = 1 << 13, MARK_SHIFT = 31 };

typedef struct served_board served_board;

/* An accelerator of the board. */
typedef struct served_core {
    served_board *board;
    const cli_board_options *options;
    const vta_rtlsim *rtl;
    const cli_board_page *files;
    uint32_t number;
    void *instance;
    uint64_t run; /* the number of the run in progress or of the last one */
    bool running, masked, quiet;
    uint32_t irq_status; /* as it stands in the page */
    uint32_t irq_count;
} served_core;

struct served_board {
    const cli_board_options *options;
    cli_board_files files;
    void *object;
    const vta_rtlsim *rtl;
    served_core cores[VTA_CORES_MAX];
    uint32_t core_count;
    uint8_t *memory; /* the device's; the files' where it is coherent */
    cli_board_cache cache;
};

/* ---- registers */

static uint32_t page_get(const served_core *b, uint32_t offset)
{
    const uint32_t value = b->files->page[offset / 4];
    atomic_thread_fence(memory_order_seq_cst);
    return value;
}

static void page_set(const served_core *b, uint32_t offset, uint32_t value)
{
    atomic_thread_fence(memory_order_seq_cst);
    b->files->page[offset / 4] = value;
}

static void show_register(const served_core *b, uint32_t offset)
{
    page_set(b, offset, b->rtl->read(b->instance, offset));
}

static bool has_fault(const served_core *b, cli_board_fault fault)
{
    return b->options->fault == fault && (b->options->fault_run == 0 || b->options->fault_run == b->run);
}

/* True if the clock is faster than the supply allows. */
static bool is_too_fast(const served_core *b)
{
    return has_fault(b, BOARD_CLOCK) &&
           cli_board_files_rate(b->options) * 2 > UINT64_C(1000000) * b->options->config.clock_mhz;
}

static void show_irq_status(served_core *b)
{
    const uint32_t value = b->rtl->read(b->instance, VTA_REG_IRQ_STATUS);
    b->irq_status = value != 0 ? value | UINT32_C(1) << MARK_SHIFT : 0;
    page_set(b, VTA_REG_IRQ_STATUS, b->irq_status);
}

/* Time passes while registers are read: the status is taken first and shown last, so that it is never ahead
 * of the rest. */
static void show_all(served_core *b)
{
    uint32_t status = b->rtl->read(b->instance, VTA_REG_STATUS);
    show_register(b, VTA_REG_ERROR);
    show_register(b, VTA_REG_ERROR_INSN);
    show_register(b, VTA_REG_ERROR_ADDR_LO);
    show_register(b, VTA_REG_ERROR_ADDR_HI);
    for (uint32_t offset = VTA_REG_CYCLES; offset <= VTA_REG_OUT_BYTES + 4; offset += 4) {
        show_register(b, offset);
    }
    show_irq_status(b);
    if (b->run > 0 && has_fault(b, BOARD_STUCK)) {
        status = VTA_REG_PUT(STATUS_BUSY, 1);
    }
    b->running = VTA_REG_GET(STATUS_BUSY, status) != 0;
    page_set(b, VTA_REG_STATUS, status);
}

/* Writes the registers that never change. */
static void show_identity(served_core *b)
{
    static const bool of_hardware[] = {
#define VTA_CONFIG(field, key, def, min, max, hw, doc) hw,
#include "vta/config.def"
#undef VTA_CONFIG
    };
    uint32_t offset = VTA_REG_CONFIG0;
    for (size_t i = 0; i < sizeof of_hardware / sizeof of_hardware[0]; i++) {
        if (of_hardware[i]) {
            show_register(b, offset);
            offset += 4;
        }
    }
    show_register(b, VTA_REG_VERSION);
    show_register(b, VTA_REG_HASH_LO);
    show_register(b, VTA_REG_HASH_HI);
    show_register(b, VTA_REG_GUARD);
    show_register(b, VTA_REG_ID);
    if (has_fault(b, BOARD_HASH)) {
        page_set(b, VTA_REG_HASH_LO, ~page_get(b, VTA_REG_HASH_LO));
    }
    if (has_fault(b, BOARD_DEAD)) {
        for (offset = 0; offset < VTA_REG_PAGE_BYTES; offset += 4) {
            page_set(b, offset, UINT32_MAX);
        }
    }
}

/* The registers that keep what is written to them. */
static void take_registers(const served_core *b)
{
    static const uint32_t plain[] = {VTA_REG_INSN_ADDR_LO, VTA_REG_INSN_ADDR_HI, VTA_REG_INSN_COUNT,
                                     VTA_REG_WATCHDOG, VTA_REG_IRQ_ENABLE};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        b->rtl->write(b->instance, plain[i], page_get(b, plain[i]));
    }
    for (uint32_t i = 0; i < 2 * VTA_SEGMENTS; i++) {
        const uint32_t offset = VTA_REG_BASE0_LO + 4 * i;
        b->rtl->write(b->instance, offset, page_get(b, offset));
    }
}

/* ---- memory */

static void *map_memory(void *context, uint64_t addr, uint64_t size)
{
    const served_core *core = context;
    const served_board *b = core->board;
    if (has_fault(core, BOARD_BUS) || addr < b->options->addr || size > b->options->memory ||
        addr - b->options->addr > b->options->memory - size) {
        return NULL;
    }
    return b->memory + (addr - b->options->addr);
}

/* Cache maintenance, as u-dma-buf takes it: "0x", offset, size and flags, 8 digits each. */
static void sync_from(served_board *b, int fifo, bool for_device)
{
    enum { LINE = 19 };
    char line[LINE + 1] = "";
    while (read(fifo, line, LINE) == LINE) {
        const uint64_t command = strtoull(line, NULL, 16);
        const uint64_t offset = command >> 32;
        const uint64_t size = command & UINT64_C(0xfffffff0);
        if (for_device) {
            cli_board_cache_clean(&b->cache, offset, size);
        } else {
            cli_board_cache_invalidate(&b->cache, offset, size);
        }
        if (write(b->files.sync_done, line, LINE) != LINE) {
            return; /* nobody reads the answers; the client will say so */
        }
    }
}

static void sync_memory(served_board *b)
{
    sync_from(b, b->files.sync_device, true);
    sync_from(b, b->files.sync_cpu, false);
}

/* ---- the loop */

static void take_command(served_core *b)
{
    const uint32_t command = page_get(b, VTA_REG_CONTROL);
    if (command == 0) {
        return;
    }
    sync_memory(b->board); /* what was asked for before the start */
    take_registers(b);
    if (VTA_REG_GET(CONTROL_START, command) != 0) {
        b->run++;
        cli_board_cache_stir(&b->board->cache);
    }
    b->rtl->write(b->instance, VTA_REG_CONTROL, command);
    b->quiet = VTA_REG_GET(CONTROL_START, command) != 0 &&
               (has_fault(b, BOARD_HANG) || has_fault(b, BOARD_STUCK) || is_too_fast(b));
    show_all(b);
    page_set(b, VTA_REG_CONTROL, 0);
}

static void take_clear(served_core *b)
{
    const uint32_t written = page_get(b, VTA_REG_IRQ_STATUS);
    if (written != b->irq_status) {
        b->rtl->write(b->instance, VTA_REG_IRQ_STATUS, written);
        show_irq_status(b);
    }
}

/* The line is a level; the kernel masks it with each interrupt, until a 1 is written to the node. */
static void raise_irq(served_core *b)
{
    uint32_t on;
    while (read(b->files->unmask, &on, sizeof on) == sizeof on) {
        b->masked = on == 0;
    }
    if (b->rtl->irq(b->instance) && !b->masked && !has_fault(b, BOARD_IRQ)) {
        b->masked = true;
        cli_board_files_count(b->options, b->number, ++b->irq_count);
        (void)!write(b->files->irq, &b->irq_count, sizeof b->irq_count);
    }
}

static bool advances(const served_core *b)
{
    return b->running && !b->quiet;
}

/* Cores on one memory are clocked together. */
static void advance_board(served_board *board)
{
    void *instances[VTA_CORES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < board->core_count; i++) {
        if (advances(&board->cores[i])) {
            instances[count++] = board->cores[i].instance;
        }
    }
    if (count == 0) {
        return;
    }
    (void)(board->core_count == 1 ? board->rtl->step(instances[0], STEP_CYCLES)
                                  : board->rtl->step_together(instances, count, STEP_CYCLES));
    cli_board_cache_stir(&board->cache);
}

/* Shows how far a core that was clocked has come. */
static void show_progress(served_core *b)
{
    const uint32_t status = b->rtl->read(b->instance, VTA_REG_STATUS);
    if (VTA_REG_GET(STATUS_BUSY, status) == 0) {
        show_all(b);
    } else {
        show_register(b, VTA_REG_CYCLES);
    }
}

/* True where a command was taken. */
static bool serve_core(served_core *b)
{
    const uint64_t run = b->run;
    if (!has_fault(b, BOARD_DEAD)) {
        take_command(b);
        take_clear(b);
    }
    return b->run != run;
}

static vta_status end_round(served_core *b, bool clocked, vta_diag *diag)
{
    if (clocked) {
        show_progress(b);
    }
    raise_irq(b);
    const char *failure = b->rtl->failure(b->instance);
    return failure == NULL ? VTA_OK
                           : vta_fail(diag, VTA_PROTOCOL, "the simulated hardware broke a rule: %s", failure);
}

/* `busy`: something has happened, so that more is to be expected. */
static vta_status serve_round(served_board *b, bool *busy, vta_diag *diag)
{
    bool clocked[VTA_CORES_MAX] = {false};
    *busy = false;
    sync_memory(b);
    for (uint32_t i = 0; i < b->core_count; i++) {
        *busy = serve_core(&b->cores[i]) || *busy;
        clocked[i] = advances(&b->cores[i]);
    }
    advance_board(b);
    for (uint32_t i = 0; i < b->core_count; i++) {
        VTA_TRY(end_round(&b->cores[i], clocked[i], diag));
        *busy = *busy || advances(&b->cores[i]);
    }
    return VTA_OK;
}

static vta_status serve_requests(served_board *b, const volatile sig_atomic_t *stop, vta_diag *diag)
{
    const long longest_ns = 500000;
    long pause_ns = 0;
    while (!*stop) {
        bool busy;
        VTA_TRY(serve_round(b, &busy, diag));
        pause_ns = busy ? 0 : pause_ns < longest_ns ? pause_ns + 1000 : longest_ns;
        if (pause_ns > 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        }
    }
    return VTA_OK;
}

/* ---- setting up */

/* A core's simulator, on the memory of the first one's. */
static vta_status create_core(served_board *b, uint32_t number, vta_diag *diag)
{
    const vta_config *config = &b->options->config;
    served_core *core = &b->cores[number];
    char message[256] = "";
    *core = (served_core){.board = b,
                          .options = b->options,
                          .rtl = b->rtl,
                          .files = &b->files.pages[number],
                          .number = number,
                          .masked = true};
    const vta_bus bus = {map_memory, core};
    vta_rtlsim_options options = {.latency = config->mem_latency,
                                  .bandwidth = config->mem_bandwidth,
                                  .shared_bytes = config->mem_shared,
                                  .shared_cycles = config->clock_mhz,
                                  .clock_mhz = config->clock_mhz,
                                  .beside = number > 0 ? b->cores[0].instance : NULL};
    VTA_TRY(vta_dram_choose(config->dram, &options.dram, diag));
    core->instance = b->rtl->create(&options, &bus, message, sizeof message);
    return core->instance != NULL
               ? VTA_OK
               : vta_fail(diag, VTA_NO_DEVICE, "the simulator does not start: %s", message);
}

static vta_status create_cores(served_board *b, vta_diag *diag)
{
    const uint32_t count = b->options->config.cores;
    for (; b->core_count < count; b->core_count++) {
        VTA_TRY(create_core(b, b->core_count, diag));
    }
    return VTA_OK;
}

static vta_status load_rtl(served_board *b, const vta_progress *progress, vta_diag *diag)
{
    const vta_config *config = &b->options->config;
    char path[4096];
    VTA_TRY(vta_rtlsim_locate("tsim", config, progress != NULL ? progress->line : NULL,
                              progress != NULL ? progress->context : NULL, path, sizeof path, diag));
    b->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const vta_rtlsim *(*entry)(void) = NULL;
    void *symbol = b->object != NULL ? dlsym(b->object, "vta_rtlsim_entry") : NULL;
    memcpy(&entry, &symbol, sizeof entry); /* POSIX promises that a function's address fits */
    b->rtl = entry != NULL ? entry() : NULL;
    if (b->rtl == NULL || b->rtl->abi != VTA_RTLSIM_ABI) {
        return vta_fail(diag, VTA_IO, "cannot load simulator '%s'", path);
    }
    return create_cores(b, diag);
}

/* Sets the windows as vta-load does on a board: the accelerator reaches the contiguous memory and no other.
 */
static void set_windows(const served_core *b)
{
    const uint64_t edges[] = {b->options->addr, b->options->addr + b->options->window};
    for (uint32_t i = 0; i < 2; i++) {
        b->rtl->write(b->instance, VTA_REG_WINDOW0_BASE_LO + 8 * i, (uint32_t)edges[i]);
        b->rtl->write(b->instance, VTA_REG_WINDOW0_BASE_HI + 8 * i, (uint32_t)(edges[i] >> 32));
    }
    b->rtl->write(b->instance, VTA_REG_WINDOWS, VTA_REG_PUT(WINDOWS_ON, 1));
}

static vta_status set_up(served_board *b, const vta_progress *progress, vta_diag *diag)
{
    VTA_TRY(load_rtl(b, progress, diag));
    VTA_TRY(cli_board_files_make(b->options, &b->files, diag));
    b->memory = b->options->coherent ? b->files.memory : calloc(1, (size_t)b->options->memory);
    if (b->memory == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for %llu bytes", (unsigned long long)b->options->memory);
    }
    VTA_TRY(cli_board_cache_make(&b->cache, b->files.memory, b->memory, b->options->memory, diag));
    for (uint32_t i = 0; i < b->core_count; i++) {
        set_windows(&b->cores[i]);
        show_all(&b->cores[i]);
        show_identity(&b->cores[i]);
    }
    return VTA_OK;
}

static void tear_down(served_board *b)
{
    if (b->memory != b->files.memory) {
        free(b->memory);
    }
    cli_board_cache_free(&b->cache);
    cli_board_files_remove(b->options, &b->files);
    while (b->core_count > 0) {
        b->rtl->destroy(b->cores[--b->core_count].instance);
    }
    if (b->object != NULL) {
        (void)dlclose(b->object);
    }
}

vta_status cli_board_serve(const cli_board_options *options, const volatile sig_atomic_t *stop,
                           void (*ready)(void), const vta_progress *progress, vta_diag *diag)
{
    served_board b = {.options = options};
    b.files.pages[0].fd = -1;
    vta_status status = set_up(&b, progress, diag);
    if (status == VTA_OK) {
        ready();
        status = serve_requests(&b, stop, diag);
    }
    tear_down(&b);
    return status;
}
