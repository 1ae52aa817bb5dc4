/* SPDX-License-Identifier: Apache-2.0
 *
 * A client with a hostile agent: replies of any content, in frames that are right. The first byte chooses
 * what the client wants: a device, a model, the doctor. Whatever comes, it ends, with success or with one
 * line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "temporary.h"
#include "vta/doctor.h"
#include "vta/model.h"
#include "vta/remote.h"
#include "wire.h"

static char path[TEMPORARY_PATH], uri[TEMPORARY_PATH + 64];

static void remove_file(void)
{
    (void)unlink(path);
}

static void set_up(void)
{
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof path, "%s/vta-fuzz-client-%ld",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temporary_root(), (long)getpid());
        (void)snprintf(uri, sizeof uri, "pipe:cat '%s'; exec cat >/dev/null?patience=1", path);
        (void)atexit(remove_file);
    }
}

/* What the agent says: a good HELLO, then the records, in frames numbered as the requests will be. */
static void write_script(const uint8_t *data, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    record r;
    FUZZ_REQUIRE(file >= 0);
    vta_channel channel;
    vta_channel_init(&channel, -1, file, 1.0);
    vta_str hello = {0};
    vta_put_u32(&hello, VTA_OK);
    vta_put_text(&hello, "");
    vta_put_u32(&hello, VTA_WIRE_PROTOCOL);
    vta_put_text(&hello, "fuzz");
    vta_put_text(&hello, "arm");
    uint32_t id = 1;
    FUZZ_REQUIRE(vta_channel_send(&channel, VTA_WIRE_REPLY, id, &hello, NULL) == VTA_OK);
    vta_str_free(&hello);
    while (next_record(&data, &size, &r)) {
        vta_str content = {0};
        vta_str_append(&content, r.content, r.size);
        id += r.kind == VTA_WIRE_REPLY;
        FUZZ_REQUIRE(vta_channel_send(&channel, (vta_wire_kind)r.kind, id, &content, NULL) == VTA_OK);
        vta_str_free(&content);
    }
    (void)close(file);
}

static void judge(vta_status status, const vta_diag *diag)
{
    FUZZ_REQUIRE(status < VTA_STATUS_COUNT);
    FUZZ_REQUIRE((status == VTA_OK) == (diag->text[0] == '\0') && strchr(diag->text, '\n') == NULL);
}

static void use_memory(vta_device *device, vta_mem *mem)
{
    vta_diag diag = {0};
    vta_report report;
    uint32_t insns;
    memset(mem->host, 1, mem->size);
    vta_device_flush(device, mem, 0, mem->size);
    const vta_launch launch = {.insn_addr = mem->addr, .insn_count = 4};
    vta_status status = vta_device_submit(device, &launch, &diag);
    judge(status, &diag);
    if (status == VTA_OK) {
        status = vta_device_wait(device, 1.0, &report, &diag);
        judge(status, &diag);
    }
    const uint64_t *account = vta_device_account(device, &insns);
    FUZZ_REQUIRE((account == NULL) == (insns == 0) && insns <= 4);
    for (uint32_t i = 0; i < insns * VTA_CYCLE_CLASSES; i++) {
        (void)*(const volatile uint64_t *)&account[i];
    }
    vta_device_invalidate(device, mem, 0, mem->size);
    diag = (vta_diag){0};
    judge(vta_device_trouble(device, &diag), &diag);
}

static void want_device(void)
{
    enum { BYTES = 8192 };
    vta_device *device = NULL;
    vta_mem mem;
    vta_diag diag = {0};
    vta_status status = vta_device_open(uri, NULL, &device, &diag);
    judge(status, &diag);
    if (status == VTA_OK) {
        status = vta_device_alloc(device, BYTES, &mem, &diag);
        judge(status, &diag);
        if (status == VTA_OK) {
            use_memory(device, &mem);
            vta_device_free(device, &mem);
        }
        vta_device_close(device);
    }
}

static void want_model(void)
{
    vta_model *model = NULL;
    vta_diag diag = {0};
    const vta_model_options options = {.device = uri};
    vta_status status = vta_model_load(path, &options, &model, &diag); /* any file will do */
    judge(status, &diag);
    if (status == VTA_OK) {
        const vta_step_profile *steps;
        uint32_t count;
        status = vta_model_profile(model, &steps, &count, &diag);
        judge(status, &diag);
        const vta_layer_profile *layers = vta_model_layers(model, &count);
        for (uint32_t i = 0; i < count; i++) {
            FUZZ_REQUIRE(layers[i].name != NULL && layers[i].bound != NULL);
        }
        vta_model_destroy(model);
    }
}

static void want_doctor(void)
{
    vta_doctor_row rows[VTA_DOCTOR_ROWS];
    uint32_t count;
    vta_doctor(uri, NULL, rows, &count);
    FUZZ_REQUIRE(count >= 1 && count <= VTA_DOCTOR_ROWS);
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(rows[i].finding < VTA_FINDINGS &&
                     memchr(rows[i].text, '\0', sizeof rows[i].text) != NULL);
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static void (*const wants[])(void) = {want_device, want_model, want_doctor};
    if (size == 0) {
        return;
    }
    set_up();
    write_script(data + 1, size - 1);
    wants[data[0] % 3]();
}
