/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices tsim and systemc: a shared object with Verilated RTL (rtlsim.h), loaded at run time and driven
 * through its register page. Time passes only inside wait.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend.h"
#include "mmio.h"
#include "rtl_machine.h"
#include "vta/clock.h"
#include "vta/dram.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/fsim.h"
#include "vta/log.h"
#include "vta/rtlbuild.h"
#include "vta/rtlsim.h"

#define FROM_CONFIG UINT32_MAX /* latency, bandwidth, shared: what the configuration says */

enum {
    WATCHDOG_CYCLES = 1 << 20,
    STEP_CYCLES = 1 << 14 /* between two looks at the clock on the wall */
};

typedef struct rtlsim_options {
    vta_rtlsim_options rtl;
    const char *object, *form, *dram;
    uint32_t watchdog;
} rtlsim_options;

#define MEMBER(name) offsetof(rtlsim_options, name)

/* One table: option, member, limit. Rows of tsim first; systemc has them all. */
static const vta_option options[] = {
    {"latency", VTA_OPTION_U32, MEMBER(rtl.latency), 1 << 20, "memory: cycles from address to first beat"},
    {"bandwidth", VTA_OPTION_U32, MEMBER(rtl.bandwidth), 1 << 20, "memory: bytes a cycle; 0: unlimited"},
    {"shared", VTA_OPTION_U32, MEMBER(rtl.shared_bytes), 1000000,
     "memory: MB/s of both directions together at the configuration's clock; 0: unlimited"},
    {"dram", VTA_OPTION_TEXT, MEMBER(dram), 0,
     "memory: a kind of DRAM in place of latency and shared ('ddr3-1050'; 'flat': none)"},
    {"stall", VTA_OPTION_U32, MEMBER(rtl.stall_percent), 99, "random back-pressure, percent of cycles"},
    {"seed", VTA_OPTION_U64, MEMBER(rtl.seed), UINT64_MAX,
     "of the back-pressure and of initial register contents"},
    {"trace", VTA_OPTION_TEXT, MEMBER(rtl.trace_file), 0, "file for FST waves"},
    {"scope", VTA_OPTION_TEXT, MEMBER(rtl.trace_scope), 0, "trace only modules below this instance"},
    {"from", VTA_OPTION_U64, MEMBER(rtl.trace_begin), UINT64_MAX, "first cycle of the trace"},
    {"to", VTA_OPTION_U64, MEMBER(rtl.trace_end), UINT64_MAX, "last cycle of the trace"},
    {"timeline", VTA_OPTION_TEXT, MEMBER(rtl.timeline_file), 0, "file for the instruction timeline (JSON)"},
    {"watchdog", VTA_OPTION_U32, MEMBER(watchdog), UINT32_MAX,
     "cycles without progress that end a run; 0: never"},
    {"object", VTA_OPTION_TEXT, MEMBER(object), 0,
     "use this simulator (a shared object) instead of building one"},
    {"form", VTA_OPTION_TEXT, MEMBER(form), 0,
     "'quick', or 'built': as it is synthesized, with the array's own clock"},
    {"memory", VTA_OPTION_TEXT, MEMBER(rtl.memory_model), 0, "memory model: 'simple' or 'dram'"},
    {"traffic", VTA_OPTION_U32, MEMBER(rtl.traffic_percent), 100,
     "bus share that other masters ask for, percent"},
};
enum { OPTIONS = sizeof options / sizeof options[0], SYSTEMC_ONLY = 2 };

static const rtlsim_options defaults = {
    .rtl = {.latency = FROM_CONFIG, .bandwidth = FROM_CONFIG, .shared_bytes = FROM_CONFIG},
    .watchdog = WATCHDOG_CYCLES,
};

typedef struct rtlsim_device {
    char scheme[16];
    void *object;
    const vta_rtlsim *rtl;
    void *instance;
    struct rtlsim_device *beside; /* the first core, which has what all share; NULL: this is the first */
    rtl_machine *machine;         /* NULL: no other core was ever opened */
    uint32_t core;
    double end; /* of the wait's patience, by vta_now; 0: none */
    vta_dram *dram;
    vta_bus bus;
    vta_mmio mmio;
    uint32_t watchdog;
    vta_config config;
    vta_fsim *fsim;          /* of runs that are played; NULL before the first */
    vta_report report;       /* of one without cycles: */
    bool skips;              /* the RTL sees nothing of it */
    vta_writer timeline;     /* {0}: none */
    vta_writer waves;        /* {0}: none */
    const char *whim;        /* why its runs are not to be recorded; NULL: they are */
    _Atomic uint64_t cycles; /* of the run in progress */
} rtlsim_device;

/* The register page. */

static uint32_t page_read(void *context, uint32_t offset)
{
    rtlsim_device *device = context;
    return device->rtl->read(device->instance, offset);
}

static void page_write(void *context, uint32_t offset, uint32_t value)
{
    rtlsim_device *device = context;
    device->rtl->write(device->instance, offset, value);
}

/* Runs the clock: of this core alone, or beside others until its run ends. A short wait is a poll, which does
 * not wait for others. */
static void pass_time(rtlsim_device *device, double seconds)
{
    const double poll_s = 1e-3;
    const rtl_patience patience = {device->mmio.stop, device->end, &device->cycles};
    if (device->machine == NULL) {
        atomic_fetch_add(&device->cycles, device->rtl->step(device->instance, STEP_CYCLES));
    } else if (seconds < poll_s) {
        vta_rtl_machine_poll(device->machine, device->core);
    } else {
        vta_rtl_machine_wait(device->machine, device->core, &patience);
    }
}

static vta_status page_wait(void *context, double seconds, vta_diag *diag)
{
    rtlsim_device *device = context;
    const double end = vta_now() + seconds;
    do {
        pass_time(device, seconds);
        const char *failure = device->rtl->failure(device->instance);
        if (failure != NULL && strncmp(failure, VTA_RTLSIM_TIMELINE, sizeof VTA_RTLSIM_TIMELINE - 1) == 0) {
            return vta_fail(diag, VTA_IO, "device '%s': %s", device->scheme, failure);
        }
        if (failure != NULL) {
            return vta_fail(diag, VTA_PROTOCOL, "device '%s': the simulated hardware broke a rule: %s",
                            device->scheme, failure);
        }
    } while (device->machine == NULL && !device->rtl->irq(device->instance) && vta_now() < end);
    return VTA_OK;
}

/* Other cores run beside this one. */
static void rtlsim_join(void *self, bool takes_part)
{
    const rtlsim_device *device = self;
    if (device->machine != NULL) {
        vta_rtl_machine_join(device->machine, device->core, takes_part);
    }
}

/* The device's functions. */

static vta_status rtlsim_submit(void *self, const vta_launch *launch, vta_diag *diag)
{
    rtlsim_device *device = self;
    (void)diag;
    atomic_store(&device->cycles, 0);
    if (device->skips) {
        return VTA_OK;
    }
    if (device->machine != NULL) {
        const rtl_patience patience = {device->mmio.stop, 0, &device->cycles};
        vta_rtl_machine_begin(device->machine, device->core, &patience);
    }
    vta_mmio_start(&device->mmio, launch, device->watchdog);
    return VTA_OK;
}

static vta_status rtlsim_wait(void *self, double timeout_s, vta_report *report, vta_diag *diag)
{
    rtlsim_device *device = self;
    if (device->skips) {
        device->skips = false;
        *report = device->report;
        return VTA_OK;
    }
    device->end = timeout_s > 0 ? vta_now() + timeout_s : 0;
    return vta_mmio_finish(&device->mmio, device->scheme, timeout_s, report, diag);
}

static vta_status rtlsim_reset(void *self, vta_diag *diag)
{
    rtlsim_device *device = self;
    return vta_mmio_reset(&device->mmio, device->scheme, diag);
}

static const uint64_t *rtlsim_account(void *self, uint32_t *insn_count)
{
    const rtlsim_device *device = self;
    return device->rtl->account != NULL ? device->rtl->account(device->instance, insn_count) : NULL;
}

static bool rtlsim_dram(void *self, vta_dram_counts *out)
{
    const rtlsim_device *device = self;
    return device->rtl->dram != NULL && device->rtl->dram(device->instance, out);
}

static uint64_t rtlsim_cycles(void *self)
{
    return atomic_load(&((rtlsim_device *)self)->cycles);
}

/* Recorded and played runs. */

static vta_status rtlsim_record(void *self, uint64_t starts, vta_diag *diag)
{
    rtlsim_device *device = self;
    if (device->rtl->record == NULL || device->whim != NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "device '%s' does not record its runs%s%s", device->scheme,
                        device->whim != NULL ? ": " : "", device->whim != NULL ? device->whim : "");
    }
    device->rtl->record(device->instance, starts);
    return VTA_OK;
}

static const vta_stretch *rtlsim_recording(void *self, uint64_t *count)
{
    rtlsim_device *device = self;
    return device->rtl->recording != NULL ? device->rtl->recording(device->instance, count) : NULL;
}

/* Counters without a clock are the same on every device. */
static void take_clocked(vta_counters *to, const vta_counters *from)
{
    to->cycles = from->cycles;
    to->fetch_full = from->fetch_full;
    to->fetch_mem = from->fetch_mem;
    to->load_busy = from->load_busy;
    to->load_token = from->load_token;
    to->load_mem = from->load_mem;
    to->compute_busy = from->compute_busy;
    to->compute_token = from->compute_token;
    to->compute_mem = from->compute_mem;
    to->store_busy = from->store_busy;
    to->store_token = from->store_token;
    to->store_mem = from->store_mem;
}

static vta_status rtlsim_play(void *self, const vta_launch *launch, const vta_played *played, vta_diag *diag)
{
    rtlsim_device *device = self;
    vta_report report;
    if (device->rtl->play == NULL || device->whim != NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "device '%s' plays no runs", device->scheme);
    }
    if (device->fsim == NULL) {
        VTA_TRY(vta_fsim_create(&device->config, &device->bus, false, &device->fsim, diag));
    }
    VTA_TRY(vta_fsim_run(device->fsim, launch, &report, diag));
    if (report.error != VTA_ERROR_NONE) {
        return vta_fail(diag, VTA_UNSUPPORTED, "device '%s' plays no run that fails", device->scheme);
    }
    if (played->count == 0) {
        device->report = report;
        device->skips = true;
        return VTA_OK;
    }
    take_clocked(&report.counters, &played->counters);
    device->rtl->play(device->instance, played->stretches, played->count, &report.counters);
    return VTA_OK;
}

static bool rtlsim_block(void *self, uint32_t index, vta_mem *out)
{
    uint64_t size;
    const bool is = vta_dram_block(((rtlsim_device *)self)->dram, index, &out->addr, &out->host, &size);
    out->size = is ? (size_t)size : 0;
    return is;
}

static vta_status rtlsim_alloc(void *self, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    return vta_simulated_alloc(((rtlsim_device *)self)->dram, at, size, out, diag);
}

static void rtlsim_free(void *self, const vta_mem *mem)
{
    vta_dram_free(((rtlsim_device *)self)->dram, mem->addr);
}

static vta_bus rtlsim_bus(void *self)
{
    return ((rtlsim_device *)self)->bus;
}

/* True for a timeline that is whole: it ends as JSON does. */
static bool ends_as_json(const char *path)
{
    enum { END = 3 }; /* "]}\n" */
    char end[END + 1] = "";
    FILE *file = fopen(path, "rbe");
    const bool whole = file != NULL && fseek(file, -END, SEEK_END) == 0 && fread(end, 1, END, file) == END &&
                       strcmp(end, "]}\n") == 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return whole;
}

/* True for waves that are whole: the simulator leaves none of the bytes of a file that is not. */
static bool has_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_size > 0;
}

static void close_file(vta_writer *file, bool (*is_whole)(const char *path))
{
    if (file->temporary != NULL && is_whole(file->temporary)) {
        vta_diag diag = {0};
        if (vta_writer_close(file, &diag) != VTA_OK) {
            vta_log(VTA_LOG_WARNING, "%s", diag.text);
        }
    } else if (file->temporary != NULL) {
        vta_log(VTA_LOG_WARNING, "cannot write '%s': its end does not fit on the disk", file->path);
    }
}

static void rtlsim_close(void *self)
{
    rtlsim_device *device = self;
    if (device->instance != NULL) {
        device->rtl->destroy(device->instance);
        close_file(&device->timeline, ends_as_json);
        close_file(&device->waves, has_bytes);
    }
    vta_writer_drop(&device->timeline);
    vta_writer_drop(&device->waves);
    if (device->machine != NULL) {
        vta_rtl_machine_remove(device->machine, device->core);
        vta_rtl_machine_destroy(device->beside == NULL ? device->machine : NULL);
    }
    if (device->object != NULL) {
        (void)dlclose(device->object);
    }
    vta_fsim_destroy(device->fsim);
    vta_dram_destroy(device->beside == NULL ? device->dram : NULL);
    free(device);
}

static const vta_backend_ops ops = {
    .close = rtlsim_close,
    .alloc = rtlsim_alloc,
    .free = rtlsim_free,
    .bus = rtlsim_bus,
    .submit = rtlsim_submit,
    .wait = rtlsim_wait,
    .reset = rtlsim_reset,
    .account = rtlsim_account,
    .record = rtlsim_record,
    .recording = rtlsim_recording,
    .play = rtlsim_play,
    .block = rtlsim_block,
    .cycles = rtlsim_cycles,
    .join = rtlsim_join,
    .dram = rtlsim_dram,
};

/* Opening. */

static vta_status locate(const vta_opening *opening, char *path, size_t size, vta_diag *diag)
{
    const rtlsim_options *set = opening->options;
    const bool built = set->form != NULL && strcmp(set->form, "built") == 0;
    if (set->form != NULL && !built && strcmp(set->form, "quick") != 0) {
        return vta_fail(diag, VTA_INVALID, "device '%s': 'form' is '%s'; expected 'quick' or 'built'",
                        opening->scheme, set->form);
    }
    char kind[32];
    (void)snprintf(kind, sizeof kind, "%s%s%s", opening->scheme, built ? "+built" : "",
                   set->rtl.trace_file != NULL ? "+trace" : "");
    const vta_progress *progress = opening->progress;
    return vta_rtlsim_locate(kind, &opening->config, progress != NULL ? progress->line : NULL,
                             progress != NULL ? progress->context : NULL, path, size, diag);
}

static vta_status load_object(rtlsim_device *device, const char *path, vta_diag *diag)
{
    device->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (device->object == NULL) {
        return vta_fail(diag, VTA_IO, "device '%s': cannot load simulator '%s': %s", device->scheme, path,
                        dlerror());
    }
    const vta_rtlsim *(*entry)(void) = NULL;
    void *symbol = dlsym(device->object, "vta_rtlsim_entry");
    memcpy(&entry, &symbol, sizeof entry); /* POSIX promises that a function's address fits */
    device->rtl = entry != NULL ? entry() : NULL;
    if (device->rtl == NULL || device->rtl->abi != VTA_RTLSIM_ABI) {
        return vta_fail(diag, VTA_PROTOCOL,
                        "device '%s': '%s' is no simulator of this release (interface %d); build it again",
                        device->scheme, path, VTA_RTLSIM_ABI);
    }
    return VTA_OK;
}

/* Gives the simulator a file in the making in the place of `*path`, where that is a file. */
static vta_status open_file(const char **path, vta_writer *file, vta_diag *diag)
{
    if (*path == NULL) {
        return VTA_OK;
    }
    VTA_TRY(vta_writer_open(*path, file, diag));
    *path = file->temporary != NULL ? file->temporary : *path;
    return VTA_OK;
}

/* Takes from the first core: machine, memory and its model. Only that one writes timeline and waves. */
static vta_status join_first(rtlsim_device *device, vta_rtlsim_options *rtl, vta_diag *diag)
{
    rtlsim_device *first = device->beside;
    if (device->rtl->step_together == NULL || rtl->stall_percent != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED, "device '%s' has one core%s", device->scheme,
                        rtl->stall_percent != 0 ? " where back-pressure is random ('stall')" : "");
    }
    if (first->machine == NULL) {
        first->machine = vta_rtl_machine_create(first->rtl);
        if (first->machine == NULL) {
            return vta_no_memory(diag);
        }
        vta_rtl_machine_add(first->machine, first->core, first->instance);
    }
    first->whim = device->whim = "other cores share its memory ('cores')";
    device->machine = first->machine;
    device->dram = first->dram;
    rtl->beside = first->instance;
    rtl->timeline_file = rtl->trace_file = NULL;
    return VTA_OK;
}

static vta_status start_instance(rtlsim_device *device, const vta_opening *opening, vta_diag *diag)
{
    const rtlsim_options *set = opening->options;
    vta_rtlsim_options rtl = set->rtl;
    rtl.latency = rtl.latency == FROM_CONFIG ? opening->config.mem_latency : rtl.latency;
    rtl.bandwidth = rtl.bandwidth == FROM_CONFIG ? opening->config.mem_bandwidth : rtl.bandwidth;
    rtl.shared_bytes = rtl.shared_bytes == FROM_CONFIG ? opening->config.mem_shared : rtl.shared_bytes;
    rtl.shared_cycles = rtl.clock_mhz = opening->config.clock_mhz; /* MB/s are bytes in so many cycles */
    VTA_TRY(vta_dram_choose(set->dram != NULL ? set->dram : opening->config.dram, &rtl.dram, diag));
    device->watchdog = set->watchdog;
    device->config = opening->config;
    device->whim = rtl.stall_percent != 0   ? "its back-pressure is random ('stall')"
                   : rtl.trace_file != NULL ? "it writes waves ('trace')"
                   : rtl.dram.rate != 0     ? "its memory refreshes rows at times of its own ('dram')"
                                            : NULL;
    if (device->beside != NULL) {
        VTA_TRY(join_first(device, &rtl, diag));
    } else {
        VTA_TRY(vta_dram_create(&device->dram, diag));
    }
    device->bus = vta_dram_bus(device->dram);
    VTA_TRY(open_file(&rtl.timeline_file, &device->timeline, diag));
    VTA_TRY(open_file(&rtl.trace_file, &device->waves, diag));
    if (rtl.trace_file != NULL && device->waves.temporary == NULL) {
        return vta_fail(diag, VTA_IO, "device '%s': cannot write waves to '%s', which is no file on a disk",
                        device->scheme, rtl.trace_file);
    }
    char message[256] = "";
    device->instance = device->rtl->create(&rtl, &device->bus, message, sizeof message);
    if (device->instance == NULL) {
        return vta_fail(diag, VTA_NO_DEVICE, "device '%s' does not start: %s", device->scheme, message);
    }
    if (device->machine != NULL) {
        vta_rtl_machine_add(device->machine, device->core, device->instance);
    }
    return vta_mmio_probe(&device->mmio, device->scheme, &opening->config, diag);
}

static vta_status open_parts(rtlsim_device *device, const vta_opening *opening, vta_diag *diag)
{
    const rtlsim_options *set = opening->options;
    char built[4096];
    const char *path = set->object;
    if (path == NULL) {
        VTA_TRY(locate(opening, built, sizeof built, diag));
        path = built;
    }
    VTA_TRY(load_object(device, path, diag));
    return start_instance(device, opening, diag);
}

static vta_status open_rtlsim(vta_opening *opening, vta_diag *diag)
{
    VTA_TRY(vta_place_config(opening, &opening->config, diag));
    rtlsim_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", opening->scheme);
    }
    (void)snprintf(device->scheme, sizeof device->scheme, "%s", opening->scheme);
    device->mmio = (vta_mmio){.context = device, .read = page_read, .write = page_write, .wait = page_wait};
    device->beside = opening->beside;
    device->core = opening->core;
    device->mmio.stop = opening->stop;
    device->mmio.again = opening->again;
    const vta_status status = open_parts(device, opening, diag);
    if (status != VTA_OK) {
        rtlsim_close(device);
        return status;
    }
    opening->ops = &ops;
    opening->self = device;
    return VTA_OK;
}

const vta_backend_kind vta_tsim_kind = {
    .simulator = true,
    .forks = true,
    .has_cores = true,
    .options = options,
    .option_count = OPTIONS - SYSTEMC_ONLY,
    .options_size = sizeof(rtlsim_options),
    .defaults = &defaults,
    .open = open_rtlsim,
};

const vta_backend_kind vta_systemc_kind = {
    .simulator = true,
    .options = options,
    .option_count = OPTIONS,
    .options_size = sizeof(rtlsim_options),
    .defaults = &defaults,
    .open = open_rtlsim,
};
