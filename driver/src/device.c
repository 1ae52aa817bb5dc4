/* SPDX-License-Identifier: Apache-2.0
 *
 * What all devices share: the registry, opening by URI, checks of every argument before a backend sees it,
 * and the sentences for what went wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef VTA_BAREMETAL
#    include <unistd.h>
#endif

#include "backend.h"
#include "turns.h"
#include "vta/check.h"
#include "vta/cores.h"
#include "vta/dram.h"
#include "vta/keep.h"
#include "vta/log.h"
#include "vta/program.h"
#include "vta/room.h"
#include "vta/str.h"
#include "vta/uri.h"

#ifdef VTA_VERIFY
enum { CHECK_BY_DEFAULT = 1 };
#else
enum { CHECK_BY_DEFAULT = 0 };
#endif

struct vta_device {
    const vta_backend_ops *ops;
    void *self;
    void *options; /* storage that the backend borrows */
    vta_uri parsed;
    char *uri;
    vta_config config;
    bool check;
    bool keep; /* programs may leave something in the scratchpads for their next run */
    bool running;
    uint32_t cores;          /* that it has; 0 in a URI: as the configuration says */
    const vta_device *first; /* of which it is another core; NULL: it is the first */
    uint32_t core;
    vta_stop stop;             /* runs that are to be stopped: the one in progress and those that follow */
    vta_turns *turns;          /* of the threads that share it */
    vta_progress told, passed; /* the program's; what passes it on, and to the log */
    long process;              /* that opened it */
    bool forks;
    vta_play_fn *play; /* NULL: no run is played */
    void *play_context;
    vta_launch launch; /* the run in progress or the last one */
    uint64_t again;    /* for the backend: the address of what it may run instead; 0: nothing */
    uint64_t leaves;   /* `again` of the run in progress */
    uint64_t kept;     /* `again` of the last run, while the scratchpads hold what that left; else 0 */
};

static const vta_device_kind kinds[] = {
#define VTA_DEVICE(scheme, kind, doc, alone) {scheme, doc, 1, alone},
#include "devices.def"
#undef VTA_DEVICE
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const vta_backend_kind *const backends[KINDS] = {
#define VTA_DEVICE(scheme, kind, doc, alone) &(kind),
#include "devices.def"
#undef VTA_DEVICE
};

const vta_device_kind *vta_device_kinds(uint32_t *count)
{
    *count = KINDS;
    return kinds;
}

/* Opening. */

static vta_status unknown_scheme(const char *uri, vta_diag *diag)
{
    vta_str list = {0};
    for (uint32_t i = 0; i < KINDS; i++) {
        vta_str_printf(&list, "%s'%s'", i > 0 ? ", " : "", kinds[i].scheme);
    }
    const vta_status status = vta_fail(diag, VTA_NO_DEVICE, "unknown device '%s'; known are %s", uri,
                                       list.text != NULL ? list.text : "none");
    vta_str_free(&list);
    return status;
}

/* The row of a URI's scheme; KINDS: there is none. */
static uint32_t kind_of(const char *uri)
{
    const size_t length = strcspn(uri, ":?");
    uint32_t kind = 0;
    while (kind < KINDS &&
           (strlen(kinds[kind].scheme) != length || memcmp(uri, kinds[kind].scheme, length) != 0)) {
        kind++;
    }
    return kind;
}

vta_status vta_uri_check(const char *uri, vta_diag *diag)
{
    return kind_of(uri) < KINDS ? VTA_OK : unknown_scheme(uri, diag);
}

static vta_status compare_config(const vta_device *device, const vta_backend_kind *kind,
                                 const vta_config *expected, vta_diag *diag)
{
    if (expected == NULL || expected->hash == device->config.hash) {
        return VTA_OK;
    }
    char fields[512];
    char other[128];
    (void)vta_config_diff(expected, &device->config, fields, sizeof fields);
    if (kind->simulator) {
        (void)snprintf(other, sizeof other, "use '--device %s:%s'", device->parsed.scheme, expected->name);
    } else {
        (void)snprintf(other, sizeof other, "load the hardware of '%s' there", expected->name);
    }
    const char *name = *device->config.name != '\0' ? device->config.name : "FILE of that hardware";
    return vta_fail(
        diag, VTA_CONFIG_MISMATCH,
        "the program was made for configuration '%s', but device '%s' differs in %s; %s, or make the program "
        "again with '--config %s'",
        expected->name, device->uri, fields, other, name);
}

static void pass_line(void *context, const char *line)
{
    const vta_device *device = context;
    vta_log(VTA_LOG_INFO, "device '%s': %s", device->uri, line);
    if (device->told.line != NULL) {
        device->told.line(device->told.context, line);
    }
}

static bool pass_wait(void *context, bool over)
{
    const vta_device *device = context;
    return device->told.waits(device->told.context, over);
}

static long this_process(void)
{
#ifdef VTA_BAREMETAL
    return 0;
#else
    return (long)getpid();
#endif
}

/* After a fork both processes have the device: what is memory alone is a copy, all else belongs to the one
 * that opened it. */
static bool is_another_s(const vta_device *device)
{
    return !device->forks && device->process != this_process();
}

static vta_status check_cores(const vta_device *device, const vta_backend_kind *kind, vta_diag *diag)
{
    return device->cores <= 1 || kind->has_cores
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED, "device '%s': '%s' has one core", device->uri,
                          device->parsed.scheme);
}

/* The URI decides, then what was counted, then a simulator's configuration. */
static uint32_t count_cores(const vta_device *device, const vta_backend_kind *kind, uint32_t counted)
{
    const uint32_t own = kind->simulator && kind->has_cores ? device->config.cores : 1;
    return device->cores > 0 ? device->cores : counted > 0 ? counted : own;
}

static vta_status open_backend(vta_device *device, const vta_backend_kind *kind, const vta_config *expected,
                               const vta_progress *progress, vta_diag *diag)
{
    device->options = calloc(1, kind->options_size > 0 ? kind->options_size : 1);
    if (device->options == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", device->uri);
    }
    if (kind->defaults != NULL) {
        memcpy(device->options, kind->defaults, kind->options_size);
    }
    const vta_option common[] = {
        {"check", VTA_OPTION_BOOL, offsetof(vta_device, check), 1, "1: check every program before it runs"},
        {"keep", VTA_OPTION_BOOL, offsetof(vta_device, keep), 1, "0: weights do not stay on chip"},
        {"cores", VTA_OPTION_U32, offsetof(vta_device, cores), VTA_CORES_MAX, "accelerators on one memory"},
    };
    enum { COMMON = sizeof common / sizeof common[0] };
    const vta_option_set sets[] = {{kind->options, kind->option_count, device->options},
                                   {common, COMMON, device}};
    device->parsed.passes_options = kind->passes_options;
    VTA_TRY(vta_uri_options(&device->parsed, sets, 2, diag));
    VTA_TRY(check_cores(device, kind, diag));
    device->told = progress != NULL ? *progress : (vta_progress){0};
    device->passed = (vta_progress){
        .line = pass_line, .context = device, .waits = device->told.waits != NULL ? pass_wait : NULL};
    vta_opening opening = {.uri = device->uri,
                           .scheme = device->parsed.scheme,
                           .place = device->parsed.place,
                           .options = device->options,
                           .stop = &device->stop,
                           .again = &device->again,
                           .beside = device->first != NULL ? device->first->self : NULL,
                           .core = device->core,
                           .expected = expected,
                           .progress = &device->passed};
    VTA_TRY(kind->open(&opening, diag));
    device->forks = kind->forks;
    device->ops = opening.ops;
    device->self = opening.self;
    device->config = opening.config;
    device->cores = count_cores(device, kind, opening.cores);
    return VTA_OK;
}

static bool check_wanted(void)
{
    const char *text = getenv("VTA_CHECK");
    return text == NULL || *text == '\0' ? CHECK_BY_DEFAULT : strcmp(text, "0") != 0;
}

/* A simulator that was opened without a configuration says whose it took: "fsim?strict=1" becomes
 * "fsim:tiny?strict=1". */
static vta_status complete_uri(vta_device *device, vta_diag *diag)
{
    vta_str full = {0};
    if (*device->parsed.place != '\0') {
        return VTA_OK;
    }
    const char *query = strchr(device->uri, '?');
    vta_str_printf(&full, "%s:%s%s", device->parsed.scheme, device->config.name, query != NULL ? query : "");
    char *uri = vta_str_take(&full);
    if (uri == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", device->uri);
    }
    free(device->uri);
    device->uri = uri;
    return VTA_OK;
}

static vta_status open_device(vta_device *device, const char *uri, const vta_config *expected,
                              const vta_progress *progress, vta_diag *diag)
{
    device->check = check_wanted();
    device->keep = true;
    device->process = this_process();
    device->turns = vta_turns_create();
    device->uri = strdup(uri);
    if (device->uri == NULL || device->turns == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", uri);
    }
    VTA_TRY(vta_uri_parse(uri, &device->parsed, diag));
    VTA_TRY(vta_uri_check(uri, diag));
    const uint32_t kind = kind_of(uri);
    VTA_TRY(open_backend(device, backends[kind], expected, progress, diag));
    VTA_TRY(backends[kind]->simulator ? complete_uri(device, diag) : VTA_OK);
    return compare_config(device, backends[kind], expected, diag);
}

vta_status vta_device_open(const char *uri, const vta_config *expected, vta_device **out, vta_diag *diag)
{
    return vta_device_open_progress(uri, expected, NULL, out, diag);
}

vta_status vta_device_open_progress(const char *uri, const vta_config *expected, const vta_progress *progress,
                                    vta_device **out, vta_diag *diag)
{
    *out = NULL;
    if (uri == NULL || *uri == '\0') {
        return unknown_scheme("", diag);
    }
    vta_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", uri);
    }
    const vta_status status = open_device(device, uri, expected, progress, diag);
    if (status != VTA_OK) {
        vta_device_close(device);
        return status;
    }
    vta_log(VTA_LOG_INFO, "device '%s' is open, configuration '%s'", device->uri, device->config.name);
    *out = device;
    return VTA_OK;
}

vta_status vta_device_open_core(vta_device *first, uint32_t core, vta_device **out, vta_diag *diag)
{
    *out = NULL;
    if (core == 0 || core >= first->cores) {
        return vta_fail(diag, VTA_RANGE,
                        "device '%s' has no other core %" PRIu32 "; it has %" PRIu32 " in all", first->uri,
                        core, first->cores);
    }
    vta_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for core %" PRIu32 " of device '%s'", core, first->uri);
    }
    device->first = first;
    device->core = core;
    const vta_status status = open_device(device, first->uri, &first->config, &first->told, diag);
    if (status != VTA_OK) {
        vta_device_close(device);
        return status;
    }
    *out = device;
    return VTA_OK;
}

uint32_t vta_device_cores(const vta_device *device)
{
    return device->cores;
}

void vta_device_join(vta_device *device, bool takes_part)
{
    if (device->ops->join != NULL) {
        device->ops->join(device->self, takes_part);
    }
}

void vta_device_close(vta_device *device)
{
    if (device == NULL) {
        return;
    }
    if (device->ops != NULL) {
        vta_log(VTA_LOG_INFO, "device '%s' is closed", device->uri);
        if (!is_another_s(device)) {
            device->ops->close(device->self);
        }
    }
    vta_turns_destroy(device->turns);
    vta_uri_free(&device->parsed);
    free(device->options);
    free(device->uri);
    free(device);
}

const vta_config *vta_device_config(const vta_device *device)
{
    return &device->config;
}

const char *vta_device_uri(const vta_device *device)
{
    return device->uri;
}

vta_bus vta_device_bus(vta_device *device)
{
    return device->ops->bus(device->self);
}

const uint64_t *vta_device_account(vta_device *device, uint32_t *insn_count)
{
    *insn_count = 0;
    return device->ops->account != NULL ? device->ops->account(device->self, insn_count) : NULL;
}

bool vta_device_dram(vta_device *device, vta_dram_counts *out)
{
    return device->ops->dram != NULL && device->ops->dram(device->self, out);
}

uint64_t vta_device_cycles(vta_device *device)
{
    return device->ops->cycles != NULL ? device->ops->cycles(device->self) : 0;
}

/* Memory. */

static vta_status alloc(vta_device *device, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    *out = (vta_mem){0};
    if (size == 0) {
        return vta_fail(diag, VTA_INVALID, "device '%s': cannot allocate 0 bytes", device->uri);
    }
    return device->ops->alloc(device->self, at, size, out, diag);
}

vta_status vta_device_alloc(vta_device *device, size_t size, vta_mem *out, vta_diag *diag)
{
    return alloc(device, VTA_ANYWHERE, size, out, diag);
}

vta_status vta_device_alloc_at(vta_device *device, uint64_t addr, size_t size, vta_mem *out, vta_diag *diag)
{
    if (addr == VTA_ANYWHERE) {
        return vta_fail(diag, VTA_RANGE, "device '%s': address 0x%" PRIx64 " is beyond its memory",
                        device->uri, addr);
    }
    return alloc(device, addr, size, out, diag);
}

void vta_device_free(vta_device *device, vta_mem *mem)
{
    if (mem != NULL && mem->host != NULL) {
        const bool here = device->kept >= mem->addr && device->kept - mem->addr < mem->size;
        device->kept = here ? 0 : device->kept;
        device->ops->free(device->self, mem);
        *mem = (vta_mem){0};
    }
}

/* Clips [offset, offset + size) to the block, so that a backend need not. */
static size_t clip(const vta_mem *mem, size_t offset, size_t size)
{
    if (mem->host == NULL || offset >= mem->size) {
        return 0;
    }
    return size < mem->size - offset ? size : mem->size - offset;
}

void vta_device_flush(vta_device *device, const vta_mem *mem, size_t offset, size_t size)
{
    size = clip(mem, offset, size);
    if (device->ops->flush != NULL && size > 0) {
        device->ops->flush(device->self, mem, offset, size);
    }
}

void vta_device_invalidate(vta_device *device, const vta_mem *mem, size_t offset, size_t size)
{
    size = clip(mem, offset, size);
    if (device->ops->invalidate != NULL && size > 0) {
        device->ops->invalidate(device->self, mem, offset, size);
    }
}

vta_status vta_device_trouble(vta_device *device, vta_diag *diag)
{
    return device->ops->trouble != NULL ? device->ops->trouble(device->self, diag) : VTA_OK;
}

#if !defined(VTA_BAREMETAL) || defined(VTA_WASM) /* elsewhere there is no simulator, and no memory of one */
vta_status vta_simulated_alloc(vta_dram *dram, uint64_t at, size_t size, vta_mem *out, vta_diag *diag)
{
    vta_mem mem = {.addr = at, .size = size};
    VTA_TRY(vta_room_check("the simulated device", size, diag));
    if (at == VTA_ANYWHERE) {
        VTA_TRY(vta_dram_alloc(dram, size, &mem.addr, &mem.host, diag));
    } else {
        VTA_TRY(vta_dram_alloc_at(dram, at, size, &mem.host, diag));
    }
    *out = mem;
    return VTA_OK;
}
#endif

/* Running. */

static vta_status validate(vta_device *device, const vta_launch *launch, vta_diag *diag)
{
    if (launch->insn_count == 0) {
        return vta_fail(diag, VTA_INVALID, "the program is empty; it needs at least a finish instruction");
    }
    if (launch->insn_addr % VTA_BASE_ALIGN != 0) {
        return vta_fail(diag, VTA_INVALID, "instruction address 0x%" PRIx64 " is not a multiple of %d",
                        launch->insn_addr, VTA_BASE_ALIGN);
    }
    for (uint32_t i = 0; i < VTA_SEGMENTS; i++) {
        if (launch->base[i] % VTA_BASE_ALIGN != 0) {
            return vta_fail(diag, VTA_INVALID,
                            "base 0x%" PRIx64 " of segment %" PRIu32 " is not a multiple of %d",
                            launch->base[i], i, VTA_BASE_ALIGN);
        }
    }
    const vta_bus bus = vta_device_bus(device);
    const uint64_t bytes = (uint64_t)launch->insn_count * VTA_INSN_BYTES;
    if (bus.map(bus.context, launch->insn_addr, bytes) == NULL) {
        return vta_fail(diag, VTA_RANGE,
                        "%" PRIu32 " instructions at address 0x%" PRIx64
                        " are not in the memory of device '%s'",
                        launch->insn_count, launch->insn_addr, device->uri);
    }
    return VTA_OK;
}

/* Recorded and played runs. */

static vta_status refuse_recording(const vta_device *device, vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED, "device '%s' does not record its runs; tsim does", device->uri);
}

vta_status vta_device_record(vta_device *device, uint64_t starts, vta_diag *diag)
{
    device->keep = false; /* each part of a simulation begins by itself */
    return device->ops->record != NULL ? device->ops->record(device->self, starts, diag)
                                       : refuse_recording(device, diag);
}

const vta_stretch *vta_device_recording(vta_device *device, uint64_t *count)
{
    *count = 0;
    return device->ops->recording != NULL ? device->ops->recording(device->self, count) : NULL;
}

vta_status vta_device_play(vta_device *device, vta_play_fn *fn, void *context, vta_diag *diag)
{
    if (device->ops->play == NULL) {
        return refuse_recording(device, diag);
    }
    device->keep = false; /* a played run leaves nothing in the scratchpads */
    device->play = fn;
    device->play_context = context;
    return VTA_OK;
}

bool vta_device_block(vta_device *device, uint32_t index, vta_mem *out)
{
    return device->ops->block != NULL && device->ops->block(device->self, index, out);
}

static vta_status prepare_play(vta_device *device, const vta_launch *launch, vta_diag *diag)
{
    vta_played played = {0};
    bool is_played = false;
    if (device->play == NULL) {
        return VTA_OK;
    }
    VTA_TRY(device->play(device->play_context, device, launch, &played, &is_played, diag));
    return is_played ? device->ops->play(device->self, launch, &played, diag) : VTA_OK;
}

/* `out` is the program as it is to run: itself, or a copy of it. */
static vta_status check(vta_device *device, const vta_launch *launch, vta_launch *out, vta_diag *diag)
{
    *out = *launch;
    if (!device->check) {
        return VTA_OK;
    }
    if (device->ops->checked != NULL) {
        return device->ops->checked(device->self, &device->config, launch, out, diag);
    }
    const vta_bus bus = vta_device_bus(device);
    return vta_check(&device->config, launch, &bus, NULL, diag);
}

/* True if the scratchpads hold what the last run of `launch`, or of `again`, has left there, as far as this
 * process knows. */
static bool keeps(const vta_device *device, const vta_launch *launch, uint64_t again)
{
    return device->keep && !device->check && again != 0 && device->kept == again &&
           memcmp(device->launch.base, launch->base, sizeof launch->base) == 0;
}

vta_status vta_device_submit_again(vta_device *device, const vta_launch *launch, uint64_t again,
                                   vta_diag *diag)
{
    vta_launch checked;
    if (device->running) {
        return vta_fail(diag, VTA_BUSY, "device '%s' is running; wait for it first", device->uri);
    }
    if (is_another_s(device)) {
        return vta_fail(diag, VTA_BUSY,
                        "device '%s' was opened by process %ld, of which this is a fork; open it again here",
                        device->uri, device->process);
    }
    VTA_TRY(validate(device, launch, diag));
    VTA_TRY(check(device, launch, &checked, diag));
    device->again = keeps(device, launch, again) ? again : 0;
    device->leaves = again;
    device->kept = 0;
    device->launch = *launch;
    VTA_TRY(prepare_play(device, &checked, diag));
    VTA_TRY(device->ops->submit(device->self, &checked, diag));
    device->running = true;
    return VTA_OK;
}

vta_status vta_device_submit(vta_device *device, const vta_launch *launch, vta_diag *diag)
{
    return vta_device_submit_again(device, launch, 0, diag);
}

/* The kind of failure that an error of the program is to its caller. */
static vta_status status_of(vta_error error)
{
    switch (error) {
    case VTA_ERROR_NONE: return VTA_OK;
    case VTA_ERROR_OPCODE:
    case VTA_ERROR_FIELD:
    case VTA_ERROR_UOP_RANGE:
    case VTA_ERROR_ACC_RANGE:
    case VTA_ERROR_INP_RANGE:
    case VTA_ERROR_WGT_RANGE:
    case VTA_ERROR_SRAM_RANGE: return VTA_ILLEGAL_INSN;
    case VTA_ERROR_READ_BUS:
    case VTA_ERROR_WRITE_BUS:
    case VTA_ERROR_FETCH_BUS:
    case VTA_ERROR_DRAM_RANGE: return VTA_BUS_ERROR;
    case VTA_ERROR_WATCHDOG: return VTA_TIMEOUT;
    case VTA_ERROR_TOKENS_LEFT:
    case VTA_ERROR_NO_FINISH:
    case VTA_ERROR_UNWRITTEN:
    case VTA_ERROR_UNORDERED:
    case VTA_ERROR_DEADLOCK:
    case VTA_ERROR_SELF_MODIFY: return VTA_ILLEGAL_PROGRAM;
    }
    return VTA_PROTOCOL;
}

/* One instruction as text, as far as device memory still has it. */
static void print_insn(vta_device *device, uint32_t index, char *text, size_t size)
{
    const vta_bus bus = vta_device_bus(device);
    const uint64_t addr = device->launch.insn_addr + (uint64_t)index * VTA_INSN_BYTES;
    const void *bytes = index < device->launch.insn_count ? bus.map(bus.context, addr, VTA_INSN_BYTES) : NULL;
    *text = '\0';
    if (bytes != NULL) {
        vta_word word;
        memcpy(&word, bytes, sizeof word);
        vta_insn_print(&device->config, word, text, size);
    }
}

/* `where` is the end of the sentence: where in memory it was, or nothing. */
static vta_status program_failed(vta_device *device, const vta_report *report, const char *where,
                                 vta_diag *diag)
{
    char text[256];
    print_insn(device, report->insn, text, sizeof text);
    const vta_status status = status_of(report->error);
    return vta_fail(diag, status, "%s on device '%s': %s, instruction %" PRIu32 " (%s unit): '%s'%s",
                    vta_status_text(status), device->uri, vta_error_text(report->error), report->insn,
                    vta_unit_name(report->unit), text, where);
}

vta_status vta_device_wait(vta_device *device, double timeout_s, vta_report *report, vta_diag *diag)
{
    vta_report local;
    vta_report *result = report != NULL ? report : &local;
    *result = (vta_report){0};
    if (!device->running) {
        return vta_fail(diag, VTA_INVALID, "device '%s' is idle; nothing was submitted", device->uri);
    }
    device->running = false;
    vta_diag note = {0};
    vta_status status = device->ops->wait(device->self, timeout_s, result, &note);
    if (note.code != VTA_OK) {
        (void)vta_fail(diag, note.code, "%s", note.text);
    }
    if (vta_stop_take(&device->stop)) {
        /* it may have come too late for the device, but somebody waits for it */
        status = status == VTA_OK ? VTA_INTERRUPTED : status;
    }
    vta_log(status == VTA_OK ? VTA_LOG_DEBUG : VTA_LOG_WARNING,
            "device '%s': a run ended after %" PRIu64 " cycles: %s", device->uri, result->counters.cycles,
            vta_status_text(status));
    if (status == VTA_INTERRUPTED) {
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted: device '%s' was stopped and reset", device->uri);
    }
    if (status == VTA_TIMEOUT) {
        return vta_fail(diag, VTA_TIMEOUT,
                        "timeout: device '%s' did not finish within %g s and was reset; give it longer, or "
                        "check the program",
                        device->uri, timeout_s);
    }
    VTA_TRY(status);
    if (result->error != VTA_ERROR_NONE) {
        return program_failed(device, result, note.text, diag);
    }
    device->kept = device->leaves;
    return VTA_OK;
}

void vta_device_interrupt(vta_device *device)
{
    vta_stop_ask(&device->stop);
}

void vta_device_stop_also(vta_device *device, const vta_stop *stop)
{
    atomic_store(&device->stop.also, stop);
}

void vta_device_forget_stops(vta_device *device)
{
    vta_stop_forget(&device->stop);
}

vta_status vta_device_take_unless(vta_device *device, int32_t priority, const vta_stop *stop, vta_diag *diag)
{
    return vta_turns_take(device->turns, priority, stop)
               ? VTA_OK
               : vta_fail(diag, VTA_INTERRUPTED, "interrupted while others used device '%s'", device->uri);
}

vta_status vta_device_take(vta_device *device, int32_t priority, vta_diag *diag)
{
    return vta_device_take_unless(device, priority, NULL, diag);
}

void vta_device_give(vta_device *device)
{
    vta_turns_give(device->turns);
}

vta_status vta_device_reset(vta_device *device, vta_diag *diag)
{
    device->running = false;
    device->kept = 0;
    return device->ops->reset(device->self, diag);
}
