/* SPDX-License-Identifier: Apache-2.0
 *
 * First inputs of the targets `agent` and `client`: conversations as they are held. Usage: wire_seeds
 * AGENT_FOLDER CLIENT_FOLDER
 */
#include <stdio.h>
#include <stdlib.h>

#include "vta/file.h"
#include "vta/launch.h"
#include "vta/wire.h"

typedef struct talk {
    vta_str bytes;
} talk;

static void say(talk *t, uint8_t kind, vta_str *content)
{
    const uint8_t head[3] = {kind, (uint8_t)content->size, (uint8_t)(content->size >> 8)};
    vta_str_append(&t->bytes, head, sizeof head);
    vta_str_append(&t->bytes, content->size > 0 ? content->text : "", content->size);
    vta_str_free(content);
}

static void save(talk *t, const char *folder, const char *name)
{
    char path[4096];
    vta_diag diag = {0};
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (t->bytes.failed || vta_file_write(path, t->bytes.text, t->bytes.size, &diag) != VTA_OK) {
        (void)fprintf(stderr, "wire_seeds: %s\n", diag.text);
        exit(1);
    }
    vta_str_free(&t->bytes);
}

/* ---- what a client says */

static void greet(talk *t)
{
    vta_str c = {0};
    vta_put_u32(&c, VTA_WIRE_PROTOCOL);
    vta_put_text(&c, "seed");
    say(t, VTA_WIRE_HELLO, &c);
}

static void device_requests(const char *folder)
{
    talk t = {0};
    vta_str c = {0};
    greet(&t);
    vta_put_text(&c, "fsim:tiny");
    vta_put_text(&c, "");
    say(&t, VTA_WIRE_OPEN, &c);
    vta_put_u64(&c, UINT64_MAX);
    vta_put_u64(&c, 4096);
    say(&t, VTA_WIRE_ALLOC, &c);
    const uint64_t finish[2] = {3, 0};
    vta_put_u32(&c, 0);
    vta_put_u64(&c, 0);
    vta_put_bytes(&c, finish, sizeof finish);
    say(&t, VTA_WIRE_WRITE, &c);
    vta_put_u64(&c, 0x1000);
    vta_put_u32(&c, 1);
    for (int i = 0; i <= VTA_SEGMENTS; i++) {
        vta_put_u64(&c, 0);
    }
    say(&t, VTA_WIRE_RUN, &c);
    vta_put_u32(&c, 0);
    vta_put_u64(&c, 0);
    vta_put_u32(&c, 64);
    say(&t, VTA_WIRE_READ, &c);
    vta_put_u32(&c, 0);
    say(&t, VTA_WIRE_ACCOUNT, &c);
    say(&t, VTA_WIRE_RESET, &c);
    vta_put_u32(&c, 0);
    say(&t, VTA_WIRE_FREE, &c);
    save(&t, folder, "device");
}

static void model_requests(const char *folder)
{
    talk t = {0};
    vta_str c = {0};
    greet(&t);
    vta_put_u64(&c, 1);
    vta_put_u64(&c, 16);
    say(&t, VTA_WIRE_FILE_BEGIN, &c);
    vta_put_u64(&c, 0);
    vta_put_bytes(&c, "0123456789abcdef", 16);
    say(&t, VTA_WIRE_FILE_DATA, &c);
    say(&t, VTA_WIRE_FILE_END, &c);
    vta_put_u64(&c, 1);
    vta_put_u64(&c, 16);
    vta_put_u32(&c, 1);
    vta_put_text(&c, "fsim:tiny");
    vta_put_f64(&c, 1.0);
    say(&t, VTA_WIRE_MODEL_OPEN, &c);
    vta_put_u32(&c, 0);
    vta_put_u64(&c, 0);
    vta_put_bytes(&c, "input", 5);
    say(&t, VTA_WIRE_INPUT, &c);
    vta_put_u32(&c, 1);
    say(&t, VTA_WIRE_MODEL_RUN, &c);
    vta_put_u32(&c, 0);
    say(&t, VTA_WIRE_STEPS, &c);
    save(&t, folder, "model");
}

/* ---- what an agent says */

static void begin(vta_str *c)
{
    vta_put_u32(c, VTA_OK);
    vta_put_text(c, "");
}

static void end(talk *t, vta_str *c)
{
    say(t, VTA_WIRE_REPLY, c);
}

static void device_replies(const char *folder)
{
    talk t = {0};
    vta_str c = {0};
    vta_config config;
    vta_config_default(&config);
    char *json = vta_config_to_json(&config);
    vta_str_append(&t.bytes, "\0", 1);
    begin(&c);
    vta_put_text(&c, "uio");
    vta_put_text(&c, json != NULL ? json : "");
    free(json);
    end(&t, &c);
    begin(&c);
    vta_put_u32(&c, 7);
    vta_put_u64(&c, 0x1000);
    end(&t, &c);
    begin(&c); /* WRITE */
    end(&t, &c);
    vta_put_text(&c, "at work");
    say(&t, VTA_WIRE_PROGRESS, &c);
    say(&t, VTA_WIRE_ALIVE, &c);
    begin(&c);
    vta_put_u32(&c, VTA_OK);
    vta_put_text(&c, "");
    for (int i = 0; i < 3; i++) {
        vta_put_u32(&c, 0);
    }
    vta_put_u32(&c, sizeof(vta_counters) / sizeof(uint64_t));
    for (size_t i = 0; i < sizeof(vta_counters) / sizeof(uint64_t); i++) {
        vta_put_u64(&c, i);
    }
    end(&t, &c);
    begin(&c); /* ACCOUNT */
    vta_put_u32(&c, 4);
    vta_put_u32(&c, 4);
    for (int i = 0; i < 4 * VTA_CYCLE_CLASSES; i++) {
        vta_put_u64(&c, 1);
    }
    end(&t, &c);
    static const uint8_t bytes[8192];
    begin(&c);
    vta_put_bytes(&c, bytes, sizeof bytes);
    end(&t, &c);
    begin(&c);
    end(&t, &c);
    save(&t, folder, "device");
}

static void put_tensor(vta_str *c, const char *name, uint64_t rows)
{
    vta_put_text(c, name);
    vta_put_u32(c, 0);
    vta_put_u32(c, 8);
    vta_put_u64(c, 3 * rows);
    vta_put_u32(c, 2);
    vta_put_u64(c, rows);
    vta_put_u64(c, 3);
}

static void put_description(vta_str *c, uint64_t workspace, uint64_t input_rows, uint64_t output_rows)
{
    vta_put_text(c, "net");
    vta_put_text(c, "uio");
    vta_put_u64(c, workspace);
    vta_put_u32(c, 1);
    put_tensor(c, "x", input_rows);
    vta_put_u32(c, 1);
    put_tensor(c, "y", output_rows);
    vta_put_u32(c, 1); /* steps */
    vta_put_text(c, "conv");
    vta_put_text(c, "Conv");
    vta_put_u32(c, 0);
    vta_put_u32(c, 1);
    vta_put_u64(c, 100);
    vta_put_u64(c, 1000);
    vta_put_u32(c, 1); /* layers */
    for (int i = 0; i < 4; i++) {
        vta_put_text(c, "word");
    }
    for (int i = 0; i < 3; i++) {
        vta_put_u32(c, 0);
    }
    for (int i = 0; i < 4; i++) {
        vta_put_u64(c, 10);
    }
}

/* As far as a model is open. */
static void open_model(talk *t, uint64_t workspace, uint64_t input_rows, uint64_t output_rows)
{
    vta_str c = {0};
    vta_str_append(&t->bytes, "\1", 1);
    begin(&c); /* FILE_BEGIN: it is there */
    vta_put_u32(&c, 1);
    end(t, &c);
    begin(&c);
    put_description(&c, workspace, input_rows, output_rows);
    end(t, &c);
}

static void model_replies(const char *folder)
{
    talk t = {0};
    vta_str c = {0};
    open_model(&t, 64, 2, 2);
    begin(&c); /* INPUT */
    end(&t, &c);
    begin(&c); /* MODEL_RUN */
    end(&t, &c);
    begin(&c);
    vta_put_bytes(&c, "output", 6);
    end(&t, &c);
    begin(&c); /* STEPS */
    vta_put_u32(&c, 1);
    vta_put_u32(&c, 1);
    vta_put_f64(&c, 1e-3);
    vta_put_u64(&c, 100);
    end(&t, &c);
    begin(&c); /* LAYERS */
    vta_put_u32(&c, 1);
    vta_put_u32(&c, 1);
    for (int i = 0; i < 1 + VTA_CYCLE_CLASSES; i++) {
        vta_put_u64(&c, 5);
    }
    end(&t, &c);
    save(&t, folder, "model");
}

/* Models that claim more memory than they need: as much as a machine may have, and far more. */
static void greedy_replies(const char *folder)
{
    static const struct {
        const char *name;
        uint64_t workspace, input_rows, output_rows;
    } rows[] = {{"greedy_workspace", (UINT64_C(1) << 39) - 1, 2, 2},
                {"greedy_input", 64, UINT64_C(1) << 30, 2},
                {"greedy_output", 64, 2, UINT64_C(1) << 61}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        talk t = {0};
        open_model(&t, rows[i].workspace, rows[i].input_rows, rows[i].output_rows);
        save(&t, folder, rows[i].name);
    }
}

static void doctor_replies(const char *folder)
{
    talk t = {0};
    vta_str c = {0};
    vta_str_append(&t.bytes, "\2", 1);
    begin(&c);
    vta_put_u32(&c, 2);
    for (uint32_t i = 0; i < 2; i++) {
        vta_put_u32(&c, i);
        vta_put_text(&c, "clock");
        vta_put_text(&c, "about 100 MHz");
    }
    end(&t, &c);
    save(&t, folder, "doctor");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: wire_seeds AGENT_FOLDER CLIENT_FOLDER\n");
        return 2;
    }
    device_requests(argv[1]);
    model_requests(argv[1]);
    device_replies(argv[2]);
    model_replies(argv[2]);
    greedy_replies(argv[2]);
    doctor_replies(argv[2]);
    return 0;
}
