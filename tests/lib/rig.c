/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostmem.h"
#include "interp.h"

/* Addresses of a program for the interpreter and the checker: high ones, so that none is cut to 32 bits. */
static const uint64_t insn_addr = UINT64_C(0x7000000000);
static const uint64_t arena_addr = UINT64_C(0x123456789000);

static const double time_limit_s = 60;

struct rig_device {
    char *uri;
    vta_config config;
    vta_device *device; /* NULL: the interpreter */
    uint64_t order;     /* of the interpreter's units, another one for each run */
    uint64_t cycles;    /* of the last run that agreed */
};

/* True if a device can be asked for the configuration by its name; others come from files. */
static bool is_shipped(const vta_config *config)
{
    vta_config shipped;
    return vta_config_load(config->name, &shipped, NULL) == VTA_OK && shipped.hash == config->hash;
}

/* SCHEME[?OPTIONS] → SCHEME:CONFIG[?OPTIONS] (CONFIG NULL: as it is, of what the device is opened with) with
 * "{seed}" replaced. Owned. */
static char *complete_uri(const char *uri, const char *config, uint64_t seed)
{
    static const char mark[] = "{seed}";
    char *out = malloc(strlen(uri) + (config != NULL ? strlen(config) : 0) + 32);
    if (out == NULL) {
        return NULL;
    }
    const char *query = strchr(uri, '?');
    const size_t scheme = query == NULL ? strlen(uri) : (size_t)(query - uri);
    const char *rest = uri + scheme;
    const bool named = config == NULL || memchr(uri, ':', scheme) != NULL;
    size_t used = (size_t)sprintf(out, "%.*s%s%s", (int)scheme, uri, named ? "" : ":", named ? "" : config);
    const char *at = strstr(rest, mark);
    if (at == NULL) {
        (void)strcpy(out + used, rest);
    } else {
        used += (size_t)sprintf(out + used, "%.*s%" PRIu64, (int)(at - rest), rest, seed);
        (void)strcpy(out + used, at + sizeof mark - 1);
    }
    return out;
}

vta_status rig_open(const char *uri, const vta_config *config, uint64_t seed, rig_device **out,
                    vta_diag *diag)
{
    rig_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    device->config = *config;
    device->order = seed;
    const bool reference = strcmp(uri, "interp") == 0;
    device->uri = reference ? strdup(uri) : complete_uri(uri, is_shipped(config) ? config->name : NULL, seed);
    vta_status status = device->uri != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "out of memory");
    if (status == VTA_OK && !reference) {
        status = vta_device_open(device->uri, config, &device->device, diag);
    }
    if (status != VTA_OK) {
        rig_close(device);
        return status;
    }
    *out = device;
    return VTA_OK;
}

void rig_close(rig_device *device)
{
    if (device != NULL) {
        vta_device_close(device->device);
        free(device->uri);
        free(device);
    }
}

const char *rig_uri(const rig_device *device)
{
    return device->uri;
}

static hostmem host_memory(const progen_program *program, uint8_t *arena)
{
    hostmem memory = {0};
    hostmem_add(&memory, insn_addr, program->insns, sizeof *program->insns * program->insn_count);
    hostmem_add(&memory, arena_addr, arena, program->arena_size);
    return memory;
}

static vta_status run_reference(const progen_program *program, uint8_t *arena, uint64_t order,
                                vta_report *report, uint64_t *events)
{
    hostmem memory = host_memory(program, arena);
    const vta_bus bus = hostmem_bus(&memory);
    const vta_launch launch = progen_launch(program, insn_addr, arena_addr);
    return interp_run(&program->config, &launch, &bus, order, report, events);
}

vta_status rig_check(const progen_program *program, uint64_t data_seed, vta_violation *violation,
                     vta_diag *diag)
{
    uint8_t *arena = malloc(program->arena_size);
    if (arena == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory");
    }
    progen_fill(program, data_seed, arena);
    hostmem memory = host_memory(program, arena);
    const vta_bus bus = hostmem_bus(&memory);
    const vta_launch launch = progen_launch(program, insn_addr, arena_addr);
    const vta_status status = vta_check(&program->config, &launch, &bus, violation, diag);
    free(arena);
    return status;
}

/* An error of the program is an answer, not a failure. */
static vta_status wait_for(vta_device *device, const vta_launch *launch, vta_report *report, vta_diag *diag)
{
    VTA_TRY(vta_device_submit(device, launch, diag));
    const vta_status status = vta_device_wait(device, time_limit_s, report, diag);
    return report->error != VTA_ERROR_NONE ? VTA_OK : status;
}

static vta_status run_device(vta_device *device, const progen_program *program, uint8_t *arena,
                             vta_report *report, vta_diag *diag)
{
    const size_t bytes = sizeof *program->insns * program->insn_count;
    vta_mem insns = {0};
    vta_mem memory = {0};
    vta_status status = vta_device_alloc(device, bytes, &insns, diag);
    if (status == VTA_OK) {
        status = vta_device_alloc(device, program->arena_size, &memory, diag);
    }
    if (status == VTA_OK) {
        memcpy(insns.host, program->insns, bytes);
        memcpy(memory.host, arena, program->arena_size);
        vta_device_flush(device, &insns, 0, bytes);
        vta_device_flush(device, &memory, 0, program->arena_size);
        const vta_launch launch = progen_launch(program, insns.addr, memory.addr);
        status = wait_for(device, &launch, report, diag);
        vta_device_invalidate(device, &memory, 0, program->arena_size);
        memcpy(arena, memory.host, program->arena_size);
        if (status == VTA_OK && memcmp(insns.host, program->insns, bytes) != 0) {
            status = vta_fail(diag, VTA_BUS_ERROR, "the instructions in memory have changed");
        }
    }
    vta_device_free(device, &memory);
    vta_device_free(device, &insns);
    return status;
}

vta_status rig_run(rig_device *device, const progen_program *program, uint8_t *arena, vta_report *report,
                   vta_diag *diag)
{
    *report = (vta_report){0};
    if (device->device == NULL) {
        return run_reference(program, arena, device->order++, report, NULL);
    }
    return run_device(device->device, program, arena, report, diag);
}

/* ---- comparing ---- */

static bool same_bytes(const progen_program *program, const uint8_t *expected, const uint8_t *got, char *text,
                       size_t size)
{
    uint64_t at = 0;
    while (at < program->arena_size && expected[at] == got[at]) {
        at++;
    }
    if (at == program->arena_size) {
        return true;
    }
    int segment = -1;
    for (int i = 0; i < VTA_SEGMENTS; i++) {
        const progen_segment *s = &program->segments[i];
        segment = s->style != PROGEN_UNUSED && at >= s->offset && at - s->offset < s->size ? i : segment;
    }
    const uint64_t offset = segment < 0 ? at : at - program->segments[segment].offset;
    (void)snprintf(text, size, "segment %d, byte %" PRIu64 ": expected 0x%02x, got 0x%02x", segment, offset,
                   expected[at], got[at]);
    return false;
}

/* The counters that ISA.md §12 promises of every device. */
static bool same_counts(const vta_counters *expected, const vta_counters *got, char *text, size_t size)
{
    static const struct {
        const char *name;
        size_t offset;
    } counts[] = {
#define COUNT(member) {#member, offsetof(vta_counters, member)}
        COUNT(fetch_insns),   COUNT(load_insns),      COUNT(compute_insns), COUNT(store_insns),
        COUNT(fetch_bytes),   COUNT(uop_bytes),       COUNT(wgt_bytes),     COUNT(inp_bytes),
        COUNT(acc_bytes),     COUNT(out_bytes),       COUNT(gemm_steps),    COUNT(alu_steps),
        COUNT(requant_steps), COUNT(depthwise_steps),
#undef COUNT
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t want = 0;
        uint64_t have = 0;
        memcpy(&want, (const char *)expected + counts[i].offset, sizeof want);
        memcpy(&have, (const char *)got + counts[i].offset, sizeof have);
        if (want != have) {
            (void)snprintf(text, size, "%s: expected %" PRIu64 ", got %" PRIu64, counts[i].name, want, have);
            return false;
        }
    }
    return true;
}

static bool ended_well(const char *who, vta_status status, const vta_report *report, const vta_diag *diag,
                       char *text, size_t size)
{
    if (status == VTA_OK && report->error == VTA_ERROR_NONE) {
        return true;
    }
    (void)snprintf(text, size, "%s: %s (%s, unit %s, instruction %u)", who,
                   diag->text[0] != '\0' ? diag->text : vta_status_text(status),
                   vta_error_text(report->error), vta_unit_name(report->unit), report->insn);
    return false;
}

bool rig_agree(rig_device *device, const progen_program *program, uint64_t data_seed, uint64_t *events,
               char *text, size_t size)
{
    uint8_t *expected = malloc(program->arena_size);
    uint8_t *got = malloc(program->arena_size);
    if (expected == NULL || got == NULL) {
        (void)snprintf(text, size, "out of memory");
        free(expected);
        free(got);
        return false;
    }
    progen_fill(program, data_seed, expected);
    memcpy(got, expected, program->arena_size);
    vta_report reference;
    vta_report report;
    vta_diag diag = {0};
    vta_status status = run_reference(program, expected, device->order++, &reference, events);
    bool agree = ended_well("interp", status, &reference, &diag, text, size);
    if (agree) {
        status = rig_run(device, program, got, &report, &diag);
        agree = ended_well(device->uri, status, &report, &diag, text, size) &&
                same_bytes(program, expected, got, text, size) &&
                same_counts(&reference.counters, &report.counters, text, size);
        device->cycles = report.counters.cycles;
    }
    free(expected);
    free(got);
    return agree;
}

uint64_t rig_cycles(const rig_device *device)
{
    return device->cycles;
}

/* ---- failing programs ---- */

enum { SURE_ORDERS = 8, MAX_COST = 4000000, LOG_LARGE_QUEUE = 9 };

/* The errors of the checker and of strict simulation alone; others see a deadlock by their watchdog. */
static bool only_checked(vta_error error)
{
    return (int)error >= 16 && error != VTA_ERROR_DEADLOCK;
}

static bool same_error(const vta_report *a, const vta_report *b)
{
    return a->error == b->error && a->unit == b->unit && a->insn == b->insn;
}

/* A machine may free the place of an instruction early: what happens must not depend on the places there are.
 */
static vta_status run_with_places(const progen_program *program, uint8_t *arena, uint64_t order,
                                  vta_report *report)
{
    hostmem memory = host_memory(program, arena);
    const vta_bus bus = hostmem_bus(&memory);
    const vta_launch launch = progen_launch(program, insn_addr, arena_addr);
    vta_config config = program->config;
    if (order % 2 != 0) {
        config.log_queue = LOG_LARGE_QUEUE;
    }
    return interp_run(&config, &launch, &bus, order, report, NULL);
}

static bool fails_in_every_order(const progen_program *program, uint64_t data_seed, uint8_t *arena,
                                 vta_report *expected)
{
    hostmem memory = host_memory(program, arena);
    const vta_bus bus = hostmem_bus(&memory);
    const vta_launch launch = progen_launch(program, insn_addr, arena_addr);
    if (interp_cost(&program->config, &launch, &bus) > MAX_COST) {
        return false;
    }
    for (uint64_t order = 0; order < SURE_ORDERS; order++) {
        vta_report report;
        progen_fill(program, data_seed, arena);
        if (run_with_places(program, arena, order, &report) != VTA_OK || report.error == VTA_ERROR_NONE ||
            only_checked(report.error)) {
            return false;
        }
        if (order > 0 && !same_error(&report, expected)) {
            return false;
        }
        *expected = report;
    }
    return true;
}

/* The checker sees a range where a device sees the bus refuse; of a deadlock it names another instruction. */
static bool same_violation(const vta_violation *violation, const vta_report *report)
{
    if (report->error == VTA_ERROR_DEADLOCK) {
        return violation->error == VTA_ERROR_DEADLOCK;
    }
    const bool bus = report->error == VTA_ERROR_READ_BUS || report->error == VTA_ERROR_WRITE_BUS;
    return violation->insn == report->insn &&
           violation->error == (bus ? VTA_ERROR_DRAM_RANGE : report->error);
}

/* A last instruction that is illegal and not FINISH has two faults; the text does not say which comes first.
 */
static bool twice_wrong(const progen_program *program, const vta_report *report)
{
    return report->insn + 1 == program->insn_count && report->unit == VTA_UNIT_FETCH &&
           report->error != VTA_ERROR_NO_FINISH && (program->insns[report->insn].w[0] & 7) != VTA_OP_FINISH;
}

bool rig_fails_surely(const progen_program *program, uint64_t data_seed, vta_report *expected)
{
    vta_violation violation = {0};
    uint8_t *arena = malloc(program->arena_size);
    const bool sure = arena != NULL && program->insn_count > 0 &&
                      rig_check(program, data_seed, &violation, NULL) == VTA_ILLEGAL_PROGRAM &&
                      fails_in_every_order(program, data_seed, arena, expected) &&
                      same_violation(&violation, expected) && !twice_wrong(program, expected);
    free(arena);
    return sure;
}

static bool is_index_error(vta_error error)
{
    return error == VTA_ERROR_UOP_RANGE || error == VTA_ERROR_ACC_RANGE || error == VTA_ERROR_INP_RANGE ||
           error == VTA_ERROR_WGT_RANGE;
}

/* Another fault of the same instruction: a nest can have several indices out of range, and strict simulation
 * may meet an unwritten entry before them. Nothing says which comes first. */
static bool same_place(const vta_report *report, const vta_report *expected)
{
    const bool both_index = is_index_error(report->error) && is_index_error(expected->error);
    const bool stuck = report->error == VTA_ERROR_WATCHDOG && expected->error == VTA_ERROR_DEADLOCK;
    return report->unit == expected->unit && report->insn == expected->insn &&
           (both_index || stuck || (int)report->error >= 16);
}

/* Marks the bytes of the arena that a STORE may write. */
static void mark_store(const progen_program *program, const vta_insn *insn, bool *writable)
{
    const vta_config *config = &program->config;
    const uint64_t bytes = (uint64_t)config->elem_bytes[VTA_MEM_OUT];
    const uint64_t rows = (uint64_t)insn->mem.y_size;
    const uint64_t columns = (uint64_t)insn->mem.x_size;
    if ((uint64_t)insn->mem.sram_base + rows * columns > config->depth[VTA_MEM_OUT]) {
        return;
    }
    for (uint64_t y = 0; y < rows; y++) {
        const uint64_t element = (uint64_t)insn->mem.dram_base + y * (uint64_t)insn->mem.x_stride;
        const uint64_t first = program->segments[insn->mem.segment].offset + element * bytes;
        for (uint64_t at = first; at < first + columns * bytes && at < program->arena_size; at++) {
            writable[at] = true;
        }
    }
}

/* True if `arena` still holds the data of `data_seed` where no legal STORE of the program goes. */
static bool untouched(const progen_program *program, uint64_t data_seed, const uint8_t *arena, char *text,
                      size_t size)
{
    uint8_t *initial = malloc(program->arena_size);
    bool *writable = calloc(program->arena_size, sizeof *writable);
    bool good = initial != NULL && writable != NULL;
    for (uint32_t i = 0; good && i < program->insn_count; i++) {
        vta_insn insn;
        if (vta_insn_decode_raw(&program->config, program->insns[i], &insn) == VTA_ERROR_NONE &&
            insn.opcode == VTA_OP_STORE) {
            mark_store(program, &insn, writable);
        }
    }
    if (good) {
        progen_fill(program, data_seed, initial);
    }
    for (uint64_t at = 0; good && at < program->arena_size; at++) {
        if (arena[at] != initial[at] && !writable[at]) {
            (void)snprintf(text, size, "byte %" PRIu64 " of the arena has changed, where no STORE goes", at);
            good = false;
        }
    }
    free(initial);
    free(writable);
    return good;
}

bool rig_fails_alike(rig_device *device, const progen_program *program, uint64_t data_seed,
                     const vta_report *expected, char *text, size_t size)
{
    uint8_t *arena = malloc(program->arena_size);
    vta_report report = {0};
    vta_diag diag = {0};
    vta_status status = VTA_NOMEM;
    if (arena != NULL) {
        progen_fill(program, data_seed, arena);
        status = rig_run(device, program, arena, &report, &diag);
    }
    const bool alike = status == VTA_OK && (same_error(&report, expected) || same_place(&report, expected));
    if (!alike) {
        (void)snprintf(
            text, size, "expected '%s' of %s in instruction %u; %s: '%s' of %s in instruction %u (%s)",
            vta_error_text(expected->error), vta_unit_name(expected->unit), expected->insn, device->uri,
            vta_error_text(report.error), vta_unit_name(report.unit), report.insn, diag.text);
    }
    const bool good = alike && untouched(program, data_seed, arena, text, size);
    free(arena);
    return good;
}
