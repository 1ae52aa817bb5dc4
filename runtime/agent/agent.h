/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac-agent: what it holds for its client, and how requests reach it.
 *
 *   main.c     the command line, signals
 *   session.c  frames in and out: one thread listens, so that an interruption or the end of the line is seen
 *              while the other works
 *   agent.c    the table of requests
 *   device.c   a device and its memory · model.c  a compiled model · cache.c  the files that models come in
 *   doctor.c   what is wrong with a device
 *
 * A request is answered from its content alone: handlers neither read nor write descriptors.
 */
#ifndef VTA_AGENT_H
#define VTA_AGENT_H

#include <pthread.h>

#include "vta/driver.h"
#include "vta/engine.h"
#include "vta/model.h"
#include "vta/wire.h"

enum {
    AGENT_BLOCKS = 4096, /* of device memory */
    AGENT_DESCRIPTION_ROWS = 1 << 16
};
#define AGENT_BYTES (UINT64_C(1) << 30) /* of device memory, and of a model's file */

typedef struct agent {
    const vta_progress *progress;
    char folder[4096]; /* of the cache; "" until it is asked for */
    bool greeted;
    bool is_unchecked; /* a client may ask for programs that the checker does not see */

    vta_device *device;
    vta_mem blocks[AGENT_BLOCKS];
    uint64_t block_bytes;

    struct agent_upload {
        int fd; /* -1: none */
        char path[4200];
        uint64_t hash, size, at;
    } upload;
    vta_model *model;

    /* The run that an interruption is to stop; both threads look at it. */
    pthread_mutex_t lock;
    vta_device *running_device;
    vta_model *running_model;
} agent;

void agent_init(agent *a, const vta_progress *progress);
void agent_free(agent *a);

/* Answers a request: appends the whole content of the reply to `out`. */
void agent_answer(agent *a, vta_frame *request, vta_str *out);

/* Ends the run in progress, if there is one. Safe from any thread. */
void agent_interrupt(agent *a);

/* Says what agent_interrupt is to stop from now on; NULL, NULL: nothing. */
void agent_running(agent *a, vta_device *device, vta_model *model);

/* The end of a handler's reading: VTA_PROTOCOL where the request was malformed. */
vta_status agent_read(const vta_content *in, vta_diag *diag);

/* Says if this agent opens a device: it does not go on to a third machine, nor start a client's commands, nor
 * run programs unchecked unless whoever started it said so. */
vta_status agent_takes(const agent *a, const char *uri, vta_diag *diag);

/* The requests: content in, content of the reply out. */
typedef vta_status agent_handler(agent *a, vta_content *in, vta_str *out, vta_diag *diag);
agent_handler agent_open, agent_alloc, agent_release, agent_write, agent_fetch, agent_run, agent_account,
    agent_reset;
agent_handler agent_file_begin, agent_file_data, agent_file_end;
agent_handler agent_model_open, agent_input, agent_output, agent_model_run, agent_steps, agent_layers;

agent_handler agent_doctor;

/* cache.c: the file of a model, checked; VTA_IO where it is not there. */
vta_status agent_cached(agent *a, uint64_t hash, uint64_t size, char *path, size_t room, vta_diag *diag);
void agent_upload_drop(agent *a);

/* device.c */
void agent_device_close(agent *a);

/* session.c: serves until the other side closes. VTA_OK: it did; otherwise what was wrong with it. */
vta_status agent_serve(int in, int out, bool is_unchecked, vta_diag *diag);

/* From a signal handler: the session is to end. */
void agent_end(void);

#endif
