/* SPDX-License-Identifier: Apache-2.0
 *
 * The looks at a device are the rows of a table; a new one is a function and a row.
 */
#include "vta/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vta/clock.h"
#include "vta/cores.h"
#include "vta/remote.h"
#include "vta/runtime.h"
#include "vta/uio.h"
#include "vta/untrusted.h"

typedef struct patient {
    const char *uri;
    const vta_progress *progress;
    vta_device *device;
} patient;

typedef vta_status look(patient *p, char *text, size_t size, vta_diag *diag);

/* ---- a board's nodes */

static vta_status see_node(patient *p, char *text, size_t size, vta_diag *diag)
{
    return vta_uio_survey(p->uri, VTA_UIO_NODE, text, size, diag);
}

static vta_status see_rights(patient *p, char *text, size_t size, vta_diag *diag)
{
    return vta_uio_survey(p->uri, VTA_UIO_RIGHTS, text, size, diag);
}

static vta_status see_memory(patient *p, char *text, size_t size, vta_diag *diag)
{
    return vta_uio_survey(p->uri, VTA_UIO_MEMORY, text, size, diag);
}

static vta_status see_identity(patient *p, char *text, size_t size, vta_diag *diag)
{
    VTA_TRY(vta_device_open_progress(p->uri, NULL, p->progress, &p->device, diag));
    const vta_config *c = vta_device_config(p->device);
    (void)snprintf(text, size, "configuration '%s', %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", hash %016" PRIx64,
                   *c->name != '\0' ? c->name : "(not a shipped one)", c->batch, c->block_in, c->block_out,
                   c->hash);
    return VTA_OK;
}

static vta_status see_windows(patient *p, char *text, size_t size, vta_diag *diag)
{
    return vta_uio_survey(p->uri, VTA_UIO_WINDOWS, text, size, diag);
}

static vta_status see_temperature(patient *p, char *text, size_t size, vta_diag *diag)
{
    return vta_uio_survey(p->uri, VTA_UIO_TEMPERATURE, text, size, diag);
}

/* ---- a program whose answer is known */

enum { TILES = 4, PASSES = 3 };
static const double patience_s = 60.0;

/* y = clip(W · x), TILES tiles. */
static vta_status record_product(const vta_config *config, vta_code **code, vta_diag *diag)
{
    const vta_uop step = {0};
    vta_stream *s;
    VTA_TRY(vta_stream_create(config, &s, diag));
    const vta_buffer x = vta_stream_buffer(s, "x", (uint64_t)TILES * config->elem_bytes[VTA_MEM_INP]);
    const vta_buffer w = vta_stream_buffer(s, "w", config->elem_bytes[VTA_MEM_WGT]);
    const vta_buffer y = vta_stream_buffer(s, "y", (uint64_t)TILES * config->elem_bytes[VTA_MEM_OUT]);
    const vta_kernel kernel = vta_stream_kernel(s, &step, 1);
    vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_INP, .buffer = x, .y_size = 1, .x_size = TILES});
    vta_stream_load2d(s, &(vta_load2d){.memory = VTA_MEM_WGT, .buffer = w, .y_size = 1, .x_size = 1});
    vta_stream_gemm(
        s, &(vta_gemm){
               .kernel = kernel, .init = true, .iter_out = 1, .iter_in = TILES, .dst_in = 1, .src_in = 1});
    vta_alu clip = {
        .kernel = kernel, .use_imm = true, .iter_out = 1, .iter_in = TILES, .dst_in = 1, .src_in = 1};
    clip.op = VTA_ALU_MIN, clip.imm = INT8_MAX;
    vta_stream_alu(s, &clip);
    clip.op = VTA_ALU_MAX, clip.imm = INT8_MIN;
    vta_stream_alu(s, &clip);
    vta_stream_store2d(s, &(vta_store2d){.buffer = y, .y_size = 1, .x_size = TILES});
    const vta_status status = vta_stream_finish(s, code, diag);
    vta_stream_destroy(s);
    return status;
}

static void fill(int8_t *bytes, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (int8_t)((int)(seed >> 24) % 23 - 11);
    }
}

static uint32_t count_wrong(const vta_config *c, const int8_t *x, const int8_t *w, const int8_t *y)
{
    uint32_t wrong = 0;
    for (uint32_t row = 0; row < TILES * c->batch; row++) {
        for (uint32_t o = 0; o < c->block_out; o++) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < c->block_in; i++) {
                sum += w[o * c->block_in + i] * x[row * c->block_in + i];
            }
            sum = sum > INT8_MAX ? INT8_MAX : sum < INT8_MIN ? INT8_MIN : sum;
            wrong += sum != y[row * c->block_out + o];
        }
    }
    return wrong;
}

static vta_status check_product(vta_device *device, vta_job *job, uint32_t pass, vta_diag *diag)
{
    const vta_config *c = vta_device_config(device);
    void *host[3];
    for (uint32_t i = 0; i < 3; i++) {
        VTA_TRY(vta_job_memory(job, (vta_buffer){i}, &host[i], diag));
    }
    fill(host[0], (size_t)TILES * c->elem_bytes[VTA_MEM_INP], 2 * pass + 1);
    fill(host[1], c->elem_bytes[VTA_MEM_WGT], 2 * pass + 2);
    VTA_TRY(vta_job_run(job, NULL, 0, patience_s, NULL, diag));
    const uint32_t wrong = count_wrong(c, host[0], host[1], host[2]);
    return wrong == 0 ? VTA_OK
                      : vta_fail(diag, VTA_PROTOCOL,
                                 "%" PRIu32 " of %" PRIu32 " results of product %" PRIu32
                                 " are wrong; load the bitstream again, and see that it met its timing",
                                 wrong, TILES * c->batch * c->block_out, pass + 1);
}

static vta_status check_core(vta_device *device, vta_diag *diag)
{
    vta_code *code = NULL;
    vta_job *job = NULL;
    vta_status status = record_product(vta_device_config(device), &code, diag);
    status = status == VTA_OK ? vta_job_create(code, device, &job, diag) : status;
    for (uint32_t pass = 0; pass < PASSES && status == VTA_OK; pass++) {
        status = check_product(device, job, pass, diag);
    }
    vta_job_destroy(job);
    vta_code_destroy(code);
    return status;
}

static vta_status check_other_core(vta_device *first, uint32_t core, vta_diag *diag)
{
    vta_device *device = NULL;
    VTA_TRY(vta_device_open_core(first, core, &device, diag));
    const vta_status status = check_core(device, diag);
    vta_device_close(device);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "core %" PRIu32, core);
}

static vta_status check_answer(patient *p, char *text, size_t size, vta_diag *diag)
{
    const uint32_t cores = vta_device_cores(p->device);
    vta_status status = check_core(p->device, diag);
    for (uint32_t core = 1; core < cores && status == VTA_OK; core++) {
        status = check_other_core(p->device, core, diag);
    }
    const int used = snprintf(text, size, "%d products with different data are right", PASSES);
    if (cores > 1 && used >= 0 && (size_t)used < size) {
        (void)snprintf(text + used, size - (size_t)used, " on each of %" PRIu32 " cores", cores);
    }
    return status;
}

/* Runs at half of the board's clock too: an answer that is wrong at the whole and right at half of it has met
 * the power supply's or the timing's limits. */
static vta_status see_answer(patient *p, char *text, size_t size, vta_diag *diag)
{
    double hertz;
    char ignored[sizeof diag->text];
    const vta_status status = check_answer(p, text, size, diag);
    if (status == VTA_OK || !vta_uio_is(p->uri) || !vta_uio_get_clock(p->uri, &hertz) ||
        !vta_uio_set_clock(p->uri, hertz / 2)) {
        return status;
    }
    /* A clock that an MMCM makes from the processor's does not follow. */
    double set = hertz;
    const bool followed = vta_uio_get_clock(p->uri, &set) && set < 0.75 * hertz;
    const vta_status slower = followed ? check_answer(p, ignored, sizeof ignored, NULL) : status;
    (void)vta_uio_set_clock(p->uri, hertz);
    if (slower != VTA_OK) {
        return status;
    }
    *diag = (vta_diag){0};
    return vta_fail(diag, status,
                    "it fails at %.4g MHz and is right at %.4g MHz: power or clock is at fault (a supply "
                    "that is too weak, a "
                    "bitstream that did not meet its timing, too hot a part)",
                    1e-6 * hertz, 0.5e-6 * hertz);
}

/* ---- the clock: a program of about a million cycles */

static vta_status record_delay(const vta_config *config, vta_code **code, vta_diag *diag)
{
    enum { TIMES = 1000 };
    const vta_uop step = {0};
    vta_stream *s;
    VTA_TRY(vta_stream_create(config, &s, diag));
    const vta_kernel kernel = vta_stream_kernel(s, &step, 1);
    vta_stream_gemm(s, &(vta_gemm){.kernel = kernel, .reset = true, .iter_out = TIMES, .iter_in = TIMES});
    const vta_status status = vta_stream_finish(s, code, diag);
    vta_stream_destroy(s);
    return status;
}

static void add_rate(const patient *p, char *text, size_t size)
{
    const size_t used = strlen(text);
    double hertz;
    if (vta_uio_is(p->uri) && vta_uio_get_clock(p->uri, &hertz)) {
        (void)snprintf(text + used, size - used, "; the kernel has set %.4g MHz", 1e-6 * hertz);
    }
}

static vta_status see_clock(patient *p, char *text, size_t size, vta_diag *diag)
{
    vta_code *code = NULL;
    vta_job *job = NULL;
    vta_report report = {0};
    vta_status status = record_delay(vta_device_config(p->device), &code, diag);
    status = status == VTA_OK ? vta_job_create(code, p->device, &job, diag) : status;
    const double begin = vta_now();
    status = status == VTA_OK ? vta_job_run(job, NULL, 0, patience_s, &report, diag) : status;
    const double seconds = vta_now() - begin;
    vta_job_destroy(job);
    vta_code_destroy(code);
    if (report.counters.cycles == 0) {
        (void)snprintf(text, size, "the device has none");
    } else {
        (void)snprintf(text, size, "about %.2f MHz: %" PRIu64 " cycles in %.1f ms",
                       1e-6 * (double)report.counters.cycles / seconds, report.counters.cycles,
                       1e3 * seconds);
        add_rate(p, text, size);
    }
    return status;
}

/* ---- the table */

typedef enum whose { EVERY_DEVICE, BOARDS } whose;

static const struct look_row {
    const char *name;
    whose whose;
    bool needed; /* what comes behind it cannot be looked at without it */
    look *look;
    const char *advice; /* beside what the failure says itself; "" */
} looks[] = {
    {"device node", BOARDS, true, see_node, ""},
    {"permissions", BOARDS, true, see_rights, ""},
    {"memory", BOARDS, true, see_memory, ""},
    {"temperature", BOARDS, false, see_temperature, ""},
    {"identification", EVERY_DEVICE, true, see_identity,
     ". On a board 'sudo vta-load' loads the bitstream and its device tree again"},
    {"DMA windows", BOARDS, false, see_windows, ""},
    {"known answer", EVERY_DEVICE, true, see_answer,
     ". On a board load the bitstream again ('sudo vta-load'); if that does not help, its memory port or its "
     "timing is at fault: build it again and read the timing report"},
    {"clock", EVERY_DEVICE, false, see_clock, ". On a board see that its clock is on in the device tree"},
};

static void tell_failure(vta_doctor_row *row, const char *text, const char *advice)
{
    const int room = (int)(sizeof row->text - 1 - strlen(advice));
    row->finding = VTA_FINDING_BAD;
    (void)snprintf(row->text, sizeof row->text, "%.*s%s", room, text, advice);
}

static void look_here(patient *p, vta_doctor_row *rows, uint32_t *count)
{
    const char *missing = NULL;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        vta_diag diag = {0};
        if (looks[i].whose == BOARDS && !vta_uio_is(p->uri)) {
            continue;
        }
        vta_doctor_row *row = &rows[(*count)++];
        (void)snprintf(row->name, sizeof row->name, "%s", looks[i].name);
        if (missing != NULL) {
            row->finding = VTA_FINDING_SKIPPED;
            (void)snprintf(row->text, sizeof row->text, "not looked at without '%s'", missing);
        } else if (looks[i].look(p, row->text, sizeof row->text, &diag) != VTA_OK) {
            tell_failure(row, diag.text, looks[i].advice);
            missing = looks[i].needed ? looks[i].name : NULL;
        }
    }
    vta_device_close(p->device);
}

/* ---- through an agent */

static vta_status ask(vta_remote *r, const char *device, vta_doctor_row *rows, uint32_t *count,
                      vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    vta_put_text(&request, device);
    VTA_TRY(vta_remote_call(r, VTA_WIRE_DOCTOR, &request, &reply, diag));
    const uint32_t there = vta_get_u32(&reply);
    for (uint32_t i = 0; i < there && !reply.bad && *count < VTA_DOCTOR_ROWS; i++) {
        vta_doctor_row *row = &rows[(*count)++];
        const uint32_t finding = vta_get_u32(&reply);
        const char *name = vta_get_text(&reply);
        (void)vta_make_plain(name, strlen(name), row->name, sizeof row->name);
        const char *text = vta_get_text(&reply);
        (void)vta_make_plain(text, strlen(text), row->text, sizeof row->text);
        reply.bad = reply.bad || finding >= VTA_FINDINGS;
        row->finding = (vta_finding)finding;
    }
    return vta_remote_check(r, &reply, diag);
}

static void look_there(const patient *p, vta_doctor_row *rows, uint32_t *count)
{
    const vta_remote_options how = {p->progress, NULL};
    vta_remote_place place = {0};
    vta_remote *remote = NULL;
    vta_diag diag = {0};
    vta_doctor_row *row = &rows[(*count)++];
    (void)snprintf(row->name, sizeof row->name, "connection");
    vta_status status = vta_remote_parse(p->uri, &place, &diag);
    status = status == VTA_OK ? vta_remote_open(&place, &how, &remote, &diag) : status;
    if (status == VTA_OK) {
        (void)snprintf(row->text, sizeof row->text, "vtac-agent %s on %s, device '%.200s'",
                       vta_remote_release(remote), vta_remote_machine(remote), place.device);
        status = ask(remote, place.device, rows, count, &diag);
    }
    if (status != VTA_OK) {
        *count = 1;
        tell_failure(row, diag.text,
                     ". See that the command runs by itself and that an agent of this release is there");
    }
    vta_remote_close(remote);
    vta_remote_place_free(&place);
}

void vta_doctor(const char *uri, const vta_progress *progress, vta_doctor_row rows[VTA_DOCTOR_ROWS],
                uint32_t *count)
{
    patient p = {.uri = uri, .progress = progress};
    memset(rows, 0, VTA_DOCTOR_ROWS * sizeof *rows);
    *count = 0;
    if (vta_remote_is(uri)) {
        look_there(&p, rows, count);
    } else {
        look_here(&p, rows, count);
    }
}
