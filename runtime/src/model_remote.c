/* SPDX-License-Identifier: Apache-2.0
 *
 * A model that runs on another machine, through its vtac-agent. Here are its description and its tensors; a
 * run takes the inputs there and brings the outputs back.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vta/arena.h"
#include "vta/clock.h"
#include "vta/engine.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/remote.h"
#include "vta/untrusted.h"

/* Bytes of the shortest row in a frame: they bound a count before memory is taken for it. */
enum {
    TEXT_BYTES = 5,
    TENSOR_BYTES = TEXT_BYTES + 20,
    STEP_BYTES = 2 * TEXT_BYTES + 24,
    LAYER_BYTES = 4 * TEXT_BYTES + 44
};

typedef struct elsewhere {
    vta_engine *engine;
    vta_remote *connection;
    vta_arena arena; /* of all that follows */
    vta_artifact artifact;
    const char *device;
    vta_step_profile *steps;
    vta_layer_profile *layers;
    uint32_t layer_count;
} elsewhere;

/* ---- the file */

static vta_status send_bytes(vta_remote *r, const char *path, const uint8_t *bytes, size_t size,
                             vta_diag *diag)
{
    const double often_s = 0.5;
    double told = vta_now();
    for (size_t at = 0; at < size;) {
        const size_t here = size - at < VTA_WIRE_CHUNK ? size - at : VTA_WIRE_CHUNK;
        vta_str request = {0};
        vta_content reply;
        vta_put_u64(&request, at);
        vta_put_bytes(&request, bytes + at, here);
        VTA_TRY(vta_remote_call(r, VTA_WIRE_FILE_DATA, &request, &reply, diag));
        VTA_TRY(vta_remote_check(r, &reply, diag));
        at += here;
        if (vta_now() - told > often_s) {
            told = vta_now();
            vta_remote_tell(r, "sending %s: %zu of %zu KiB", path, at / 1024, size / 1024);
        }
    }
    return VTA_OK;
}

static vta_status send_file(vta_remote *r, const char *path, const uint8_t *bytes, size_t size, uint64_t hash,
                            vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    vta_put_u64(&request, hash);
    vta_put_u64(&request, size);
    VTA_TRY(vta_remote_call(r, VTA_WIRE_FILE_BEGIN, &request, &reply, diag));
    const bool there = vta_get_u32(&reply) != 0;
    VTA_TRY(vta_remote_check(r, &reply, diag));
    if (there) {
        return VTA_OK;
    }
    VTA_TRY(send_bytes(r, path, bytes, size, diag));
    VTA_TRY(vta_remote_call(r, VTA_WIRE_FILE_END, &(vta_str){0}, &reply, diag));
    return vta_remote_check(r, &reply, diag);
}

/* ---- the description */

static const char *take_text(elsewhere *m, vta_content *in)
{
    const char *text = vta_get_text(in);
    char *copy = vta_arena_string(&m->arena, text, strlen(text));
    if (copy == NULL) {
        in->bad = true;
        return "";
    }
    (void)vta_make_plain(text, strlen(text), copy, strlen(text) + 1);
    return copy;
}

/* Room for `count` rows of `size` bytes, each of which takes at least `least` of the content. */
static void *take_rows(elsewhere *m, vta_content *in, uint32_t count, size_t min, size_t size)
{
    in->bad = in->bad || count > (size_t)(in->end - in->at) / min;
    void *rows = vta_arena_array(&m->arena, in->bad ? 1 : (size_t)count + 1, size);
    in->bad = in->bad || rows == NULL;
    return rows;
}

static void take_tensor(elsewhere *m, vta_content *in, vta_artifact_tensor *out)
{
    *out = (vta_artifact_tensor){.name = take_text(m, in)};
    out->dtype_code = vta_get_u32(in);
    out->dtype_bits = vta_get_u32(in);
    out->bytes = vta_get_u64(in);
    out->rank = vta_get_u32(in);
    in->bad = in->bad || out->rank > VTA_ARTIFACT_MAX_RANK;
    for (uint32_t i = 0; !in->bad && i < out->rank; i++) {
        out->dim[i] = (int64_t)vta_get_u64(in);
    }
}

static const vta_artifact_tensor *take_tensors(elsewhere *m, vta_content *in, uint32_t *count)
{
    *count = vta_get_u32(in);
    vta_artifact_tensor *rows = take_rows(m, in, *count, TENSOR_BYTES, sizeof *rows);
    for (uint32_t i = 0; !in->bad && i < *count; i++) {
        take_tensor(m, in, &rows[i]);
    }
    return rows;
}

static void take_steps(elsewhere *m, vta_content *in)
{
    const uint32_t count = vta_get_u32(in);
    m->steps = take_rows(m, in, count, STEP_BYTES, sizeof *m->steps);
    m->artifact.steps = take_rows(m, in, count, STEP_BYTES, sizeof *m->artifact.steps);
    m->artifact.step_count = count;
    for (uint32_t i = 0; !in->bad && i < count; i++) {
        vta_step_profile *row = &m->steps[i];
        row->name = take_text(m, in);
        row->op = take_text(m, in);
        row->node = vta_get_u32(in);
        row->on_accelerator = vta_get_u32(in) != 0;
        row->predicted = vta_get_u64(in);
        row->flops = vta_get_u64(in);
    }
}

static void take_layers(elsewhere *m, vta_content *in)
{
    m->layer_count = vta_get_u32(in);
    m->layers = take_rows(m, in, m->layer_count, LAYER_BYTES, sizeof *m->layers);
    for (uint32_t i = 0; !in->bad && i < m->layer_count; i++) {
        vta_layer_profile *row = &m->layers[i];
        row->name = take_text(m, in);
        row->op = take_text(m, in);
        row->schedule = take_text(m, in);
        row->bound = take_text(m, in);
        row->step = vta_get_u32(in);
        row->node = vta_get_u32(in);
        row->joined = vta_get_u32(in) != 0;
        row->macs = vta_get_u64(in);
        row->bytes_read = vta_get_u64(in);
        row->bytes_written = vta_get_u64(in);
        row->predicted = vta_get_u64(in);
        in->bad = in->bad || row->step >= m->artifact.step_count;
    }
}

static vta_status take_description(elsewhere *m, const char *uri, vta_content *in, vta_diag *diag)
{
    m->artifact.name = take_text(m, in);
    const char *device = take_text(m, in);
    m->device = *device == '\0' ? device : vta_arena_string(&m->arena, uri, strlen(uri));
    m->artifact.workspace_bytes = vta_get_u64(in);
    m->artifact.inputs = take_tensors(m, in, &m->artifact.input_count);
    m->artifact.outputs = take_tensors(m, in, &m->artifact.output_count);
    take_steps(m, in);
    take_layers(m, in);
    VTA_TRY(vta_remote_check(m->connection, in, diag));
    return vta_allocated(m->device != NULL, diag);
}

/* ---- opening */

static vta_status open_there(elsewhere *m, const vta_remote_place *place, const char *path,
                             const vta_model_options *options, vta_diag *diag)
{
    uint8_t *bytes;
    size_t size;
    VTA_TRY(vta_file_read(path, SIZE_MAX / 2, &bytes, &size, diag));
    const uint64_t hash = vta_artifact_hash(bytes, size);
    const vta_status status = send_file(m->connection, path, bytes, size, hash, diag);
    free(bytes);
    VTA_TRY(status);
    vta_str request = {0};
    vta_content reply;
    vta_put_u64(&request, hash);
    vta_put_u64(&request, size);
    vta_put_u32(&request, options->threads);
    vta_put_text(&request, place->device);
    vta_put_f64(&request, options->timeout_s);
    VTA_TRY(vta_remote_call(m->connection, VTA_WIRE_MODEL_OPEN, &request, &reply, diag));
    return take_description(m, options->device, &reply, diag);
}

/* ---- running */

static vta_status send_input(elsewhere *m, uint32_t index, const uint8_t *bytes, vta_diag *diag)
{
    const uint64_t size = m->artifact.inputs[index].bytes;
    for (uint64_t at = 0; at < size;) {
        const uint64_t here = size - at < VTA_WIRE_CHUNK ? size - at : VTA_WIRE_CHUNK;
        vta_str request = {0};
        vta_content reply;
        vta_put_u32(&request, index);
        vta_put_u64(&request, at);
        vta_put_bytes(&request, bytes + at, (size_t)here);
        VTA_TRY(vta_remote_call(m->connection, VTA_WIRE_INPUT, &request, &reply, diag));
        VTA_TRY(vta_remote_check(m->connection, &reply, diag));
        at += here;
    }
    return VTA_OK;
}

static vta_status fetch_output(elsewhere *m, uint32_t index, uint8_t *to, vta_diag *diag)
{
    const uint64_t size = m->artifact.outputs[index].bytes;
    for (uint64_t at = 0; at < size;) {
        const uint32_t here = size - at < VTA_WIRE_CHUNK ? (uint32_t)(size - at) : VTA_WIRE_CHUNK;
        vta_str request = {0};
        vta_content reply;
        uint32_t got;
        vta_put_u32(&request, index);
        vta_put_u64(&request, at);
        vta_put_u32(&request, here);
        VTA_TRY(vta_remote_call(m->connection, VTA_WIRE_OUTPUT, &request, &reply, diag));
        const uint8_t *bytes = vta_get_bytes(&reply, &got);
        reply.bad = reply.bad || got != here;
        VTA_TRY(vta_remote_check(m->connection, &reply, diag));
        memcpy(to + at, bytes, here);
        at += here;
    }
    return VTA_OK;
}

/* The counts in front of rows, and how many come here; 0 rows before the last are an error. */
static uint32_t take_counts(vta_content *in, uint32_t first, uint32_t count)
{
    const uint32_t all = vta_get_u32(in);
    const uint32_t here = vta_get_u32(in);
    in->bad = in->bad || all != count || here > count - first || here == 0;
    return in->bad ? 0 : here;
}

/* No step takes a year. */
static const double longest_s = 366.0 * 86400.0;

static vta_status fetch_steps(elsewhere *m, bool profiled, vta_diag *diag)
{
    for (uint32_t first = 0; first < m->artifact.step_count;) {
        vta_str request = {0};
        vta_content reply;
        vta_put_u32(&request, first);
        VTA_TRY(vta_remote_call(m->connection, VTA_WIRE_STEPS, &request, &reply, diag));
        const uint32_t here = take_counts(&reply, first, m->artifact.step_count);
        for (uint32_t i = first; i < first + here; i++) {
            const double seconds = vta_get_f64(&reply);
            reply.bad = reply.bad || !(seconds >= 0.0 && seconds <= longest_s); /* nor is a NaN a time */
            m->steps[i].seconds = profiled ? seconds : m->steps[i].seconds;
            m->steps[i].cycles = vta_get_u64(&reply);
        }
        VTA_TRY(vta_remote_check(m->connection, &reply, diag));
        first += here;
    }
    return VTA_OK;
}

static vta_status fetch_layers(elsewhere *m, vta_diag *diag)
{
    for (uint32_t first = 0; first < m->layer_count;) {
        vta_str request = {0};
        vta_content reply;
        vta_put_u32(&request, first);
        VTA_TRY(vta_remote_call(m->connection, VTA_WIRE_LAYERS, &request, &reply, diag));
        const uint32_t here = take_counts(&reply, first, m->layer_count);
        for (uint32_t i = first; i < first + here; i++) {
            m->layers[i].cycles = vta_get_u64(&reply);
            for (uint32_t c = 0; c < VTA_CYCLE_CLASSES; c++) {
                m->layers[i].split[c] = vta_get_u64(&reply);
            }
        }
        VTA_TRY(vta_remote_check(m->connection, &reply, diag));
        first += here;
    }
    return VTA_OK;
}

static vta_status run_there(elsewhere *m, bool profiled, vta_diag *diag)
{
    vta_str request = {0};
    vta_content reply;
    for (uint32_t i = 0; i < m->artifact.input_count; i++) {
        VTA_TRY(send_input(m, i, m->engine->inputs[i], diag));
    }
    vta_put_u32(&request, profiled);
    VTA_TRY(vta_remote_call(m->connection, VTA_WIRE_MODEL_RUN, &request, &reply, diag));
    VTA_TRY(vta_remote_check(m->connection, &reply, diag));
    for (uint32_t i = 0; i < m->artifact.output_count; i++) {
        VTA_TRY(fetch_output(m, i, m->engine->outputs[i], diag));
    }
    VTA_TRY(fetch_steps(m, profiled, diag));
    return fetch_layers(m, diag);
}

static vta_status there_run(void *self, bool profiled, vta_diag *diag)
{
    elsewhere *m = self;
    if (vta_stop_take(&m->engine->stop)) {
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted before it began");
    }
    const vta_status status = run_there(m, profiled, diag);
    if (status == VTA_INTERRUPTED) {
        (void)vta_stop_take(&m->engine->stop);
    }
    return status;
}

static const char *there_device_uri(const void *self)
{
    return ((const elsewhere *)self)->device;
}

static void there_close(void *self)
{
    elsewhere *m = self;
    vta_remote_close(m->connection);
    vta_arena_free(&m->arena);
    free(m);
}

static const vta_engine_ops ops = {.close = there_close, .run = there_run, .device_uri = there_device_uri};

/* ---- opening */

static vta_status connect_to(elsewhere *m, const char *path, const vta_model_options *options, vta_diag *diag)
{
    vta_remote_place place;
    const vta_remote_options how = {options->progress, &m->engine->stop};
    VTA_TRY(vta_remote_parse(options->device, &place, diag));
    vta_status status = vta_remote_open(&place, &how, &m->connection, diag);
    status = status == VTA_OK ? open_there(m, &place, path, options, diag) : status;
    vta_remote_place_free(&place);
    return status;
}

vta_status vta_there_load(const char *path, const vta_model_options *options, vta_engine *engine,
                          vta_diag *diag)
{
    elsewhere *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return vta_no_memory(diag);
    }
    m->engine = engine;
    engine->self = m;
    engine->ops = &ops;
    VTA_TRY(connect_to(m, path, options, diag));
    engine->artifact = &m->artifact;
    engine->steps = m->steps;
    engine->layers = m->layers;
    engine->layer_count = m->layer_count;
    return vta_engine_check_tensors(&m->artifact, diag);
}
