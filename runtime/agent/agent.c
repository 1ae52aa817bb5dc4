/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of requests, and what every reply has in common.
 */
#include "agent.h"

#include <string.h>

vta_status agent_read(const vta_content *in, vta_diag *diag)
{
    return vta_content_done(in) ? VTA_OK : vta_fail(diag, VTA_PROTOCOL, "the request makes no sense");
}

/* A client of another protocol hears what is here and goes. */
static vta_status hello(agent *a, vta_content *in, vta_str *out, vta_diag *diag)
{
    const uint32_t protocol = vta_get_u32(in);
    (void)vta_get_text(in);
    if (protocol == VTA_WIRE_PROTOCOL) {
        VTA_TRY(agent_read(in, diag));
    }
    a->greeted = protocol == VTA_WIRE_PROTOCOL;
    vta_put_u32(out, VTA_WIRE_PROTOCOL);
    vta_put_text(out, vta_wire_release());
    vta_put_text(out, vta_wire_machine());
    return VTA_OK;
}

static const struct request {
    vta_wire_kind kind;
    agent_handler *handle;
} requests[] = {
    {VTA_WIRE_HELLO, hello},
    {VTA_WIRE_DOCTOR, agent_doctor},
    {VTA_WIRE_OPEN, agent_open},
    {VTA_WIRE_ALLOC, agent_alloc},
    {VTA_WIRE_FREE, agent_release},
    {VTA_WIRE_WRITE, agent_write},
    {VTA_WIRE_READ, agent_fetch},
    {VTA_WIRE_RUN, agent_run},
    {VTA_WIRE_ACCOUNT, agent_account},
    {VTA_WIRE_RESET, agent_reset},
    {VTA_WIRE_FILE_BEGIN, agent_file_begin},
    {VTA_WIRE_FILE_DATA, agent_file_data},
    {VTA_WIRE_FILE_END, agent_file_end},
    {VTA_WIRE_MODEL_OPEN, agent_model_open},
    {VTA_WIRE_INPUT, agent_input},
    {VTA_WIRE_OUTPUT, agent_output},
    {VTA_WIRE_MODEL_RUN, agent_model_run},
    {VTA_WIRE_STEPS, agent_steps},
    {VTA_WIRE_LAYERS, agent_layers},
};

static vta_status dispatch(agent *a, vta_frame *request, vta_str *out, vta_diag *diag)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (requests[i].kind != request->kind) {
            continue;
        }
        if (!a->greeted && request->kind != VTA_WIRE_HELLO) {
            return vta_fail(diag, VTA_PROTOCOL, "%s before HELLO", vta_wire_name(request->kind));
        }
        return requests[i].handle(a, &request->content, out, diag);
    }
    return vta_fail(diag, VTA_PROTOCOL, "this agent knows no request %u", request->kind);
}

void agent_answer(agent *a, vta_frame *request, vta_str *out)
{
    vta_str content = {0};
    vta_diag diag = {0};
    vta_status status = dispatch(a, request, &content, &diag);
    if (status == VTA_OK && (content.failed || content.size > VTA_WIRE_CHUNK + 512)) {
        status = vta_fail(&diag, VTA_NOMEM, "the reply has no room in a frame");
    }
    vta_put_u32(out, (uint32_t)status);
    vta_put_text(out, status == VTA_OK ? "" : diag.text);
    if (status == VTA_OK) {
        vta_str_append(out, content.size > 0 ? content.text : "", content.size);
    }
    vta_str_free(&content);
}

void agent_init(agent *a, const vta_progress *progress)
{
    memset(a, 0, sizeof *a);
    a->progress = progress;
    a->upload.fd = -1;
    (void)pthread_mutex_init(&a->lock, NULL);
}

void agent_free(agent *a)
{
    agent_running(a, NULL, NULL);
    agent_device_close(a);
    vta_model_destroy(a->model);
    agent_upload_drop(a);
    (void)pthread_mutex_destroy(&a->lock);
}

/* ---- interruption */

void agent_running(agent *a, vta_device *device, vta_model *model)
{
    (void)pthread_mutex_lock(&a->lock);
    if (a->running_device != NULL &&
        device == NULL) { /* an interruption that came too late ends no other run */
        vta_device_forget_stops(a->running_device);
    }
    if (a->running_model != NULL && model == NULL) {
        vta_model_forget_stops(a->running_model);
    }
    a->running_device = device;
    a->running_model = model;
    (void)pthread_mutex_unlock(&a->lock);
}

void agent_interrupt(agent *a)
{
    (void)pthread_mutex_lock(&a->lock);
    if (a->running_device != NULL) {
        vta_device_interrupt(a->running_device);
    }
    if (a->running_model != NULL) {
        vta_model_interrupt(a->running_model);
    }
    (void)pthread_mutex_unlock(&a->lock);
}
