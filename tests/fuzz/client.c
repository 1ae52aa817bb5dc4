/* SPDX-License-Identifier: Apache-2.0
 *
 * A client with a hostile agent: replies of any content, in frames that are right. The first byte chooses
 * what the client wants: a device, a model, which is printed and saved as well, the doctor. Whatever comes,
 * it ends, with success or with one line, and no character reaches the terminal that it would obey.
 */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "fuzz.h"
#include "ground.h"
#include "layers.h"
#include "outputs.h"
#include "temporary.h"
#include "vta/doctor.h"
#include "vta/model.h"
#include "vta/remote.h"
#include "vta/untrusted.h"
#include "wire.h"

static char path[TEMPORARY_PATH], uri[TEMPORARY_PATH + 64];

static void remove_file(void)
{
    (void)unlink(path);
}

static void set_up(void)
{
    if (path[0] == '\0') {
        (void)snprintf(path, sizeof path, "%s/vta-fuzz-client-%ld", fuzz_root(), (long)getpid());
        (void)snprintf(uri, sizeof uri, "pipe:cat '%s'; exec cat >/dev/null?patience=1", path);
        (void)atexit(remove_file);
    }
}

/* Writes the agent's words: a good HELLO, then the records, in frames numbered as the requests will be. */
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

static void use_memory(vta_device *device, vta_mem *mem)
{
    vta_diag diag = {0};
    vta_report report;
    uint32_t insns;
    memset(mem->host, 1, mem->size);
    vta_device_flush(device, mem, 0, mem->size);
    const vta_launch launch = {.insn_addr = mem->addr, .insn_count = 4};
    vta_status status = vta_device_submit(device, &launch, &diag);
    fuzz_check_outcome(status, &diag);
    if (status == VTA_OK) {
        status = vta_device_wait(device, 1.0, &report, &diag);
        fuzz_check_outcome(status, &diag);
    }
    const uint64_t *account = vta_device_account(device, &insns);
    FUZZ_REQUIRE((account == NULL) == (insns == 0) && insns <= 4);
    for (uint32_t i = 0; i < insns * VTA_CYCLE_CLASSES; i++) {
        (void)*(const volatile uint64_t *)&account[i];
    }
    vta_device_invalidate(device, mem, 0, mem->size);
    diag = (vta_diag){0};
    fuzz_check_outcome(vta_device_trouble(device, &diag), &diag);
}

static void want_device(void)
{
    enum { BYTES = 8192 };
    vta_device *device = NULL;
    vta_mem mem;
    vta_diag diag = {0};
    vta_status status = vta_device_open(uri, NULL, &device, &diag);
    fuzz_check_outcome(status, &diag);
    if (status == VTA_OK) {
        status = vta_device_alloc(device, BYTES, &mem, &diag);
        fuzz_check_outcome(status, &diag);
        if (status == VTA_OK) {
            use_memory(device, &mem);
            vta_device_free(device, &mem);
        }
        vta_device_close(device);
    }
}

/* The printed text holds no character that a terminal would obey, but for ends of lines and tabs. */
static void check_answer(const vta_str *answer)
{
    FUZZ_REQUIRE(!answer->failed);
    for (size_t at = 0, bytes; at < answer->size; at += bytes) {
        uint32_t point;
        bytes = vta_utf8_character(answer->text + at, answer->size - at, &point);
        FUZZ_REQUIRE(bytes > 0 && (vta_is_plain(point) || point == '\n' || point == '\t'));
    }
}

/* The members of an object of JSON are what a parser takes. */
static void check_json(const vta_str *members)
{
    vta_str object = {0};
    vta_str_printf(&object, "{%s}", members->text != NULL ? members->text : "");
    FUZZ_REQUIRE(!object.failed);
    cJSON *root = cJSON_Parse(object.text);
    FUZZ_REQUIRE(cJSON_IsObject(root));
    cJSON_Delete(root);
    vta_str_free(&object);
}

/* As `vtac run --top 3 --layers --output-dir FOLDER` does. */
static void print_and_save(vta_model *model, bool json)
{
    char folder[TEMPORARY_PATH];
    vta_diag diag = {0};
    cli_ground ground = {.guest = true, .process = getpid()};
    const cli_outputs how = {.top = 3, .json = json};
    cli_stand_on(&ground);
    cli_print_outputs(&how, model);
    (json ? cli_layers_json : cli_layers_text)(model);
    check_answer(&ground.answer);
    if (json) {
        check_json(&ground.answer);
    }
    cli_stand_on(NULL);
    vta_str_free(&ground.answer);
    vta_str_free(&ground.line);
    FUZZ_REQUIRE(temporary_folder(folder));
    fuzz_check_outcome(cli_save_outputs(model, folder, "", &diag), &diag);
    DIR *entries = opendir(folder);
    for (struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL;
         entry = readdir(entries)) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0);
    }
    FUZZ_REQUIRE(entries != NULL && closedir(entries) == 0 &&
                 rmdir(folder) == 0); /* every file was in the folder */
}

static void want_model(void)
{
    vta_model *model = NULL;
    vta_diag diag = {0};
    const vta_model_options options = {.device = uri};
    vta_status status = vta_model_load(path, &options, &model, &diag); /* any file will do */
    fuzz_check_outcome(status, &diag);
    if (status == VTA_OK) {
        const vta_step_profile *steps;
        uint32_t count;
        status = vta_model_profile(model, &steps, &count, &diag);
        fuzz_check_outcome(status, &diag);
        const vta_layer_profile *layers = vta_model_layers(model, &count);
        for (uint32_t i = 0; i < count; i++) {
            FUZZ_REQUIRE(layers[i].name != NULL && layers[i].bound != NULL);
        }
        print_and_save(model, status == VTA_OK);
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
