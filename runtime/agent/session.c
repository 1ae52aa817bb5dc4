/* SPDX-License-Identifier: Apache-2.0
 *
 * One client. The thread that listens passes requests on one by one, sees an interruption or the end of the
 * line at once, and tells the client now and then that the work goes on.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "vta/clock.h"
#include "vta/fail.h"

typedef struct session {
    agent agent;
    vta_channel channel;
    vta_progress progress;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    vta_frame request;
    uint8_t *content; /* of the request; owned */
    bool waiting;     /* a request is there that nobody has taken yet, or that is in work */
    bool over;
    vta_diag why;
    pthread_mutex_t out_lock; /* of sending */
} session;

static volatile sig_atomic_t ending;

void agent_end(void)
{
    ending = 1;
}

static void send_frame(session *s, vta_wire_kind kind, uint32_t id, const vta_str *content)
{
    vta_diag diag = {0};
    (void)pthread_mutex_lock(&s->out_lock);
    const vta_status status = vta_channel_send(&s->channel, kind, id, content, &diag);
    (void)pthread_mutex_unlock(&s->out_lock);
    if (status != VTA_OK) {
        agent_end();
    }
}

static void tell(void *context, const char *line)
{
    session *s = context;
    vta_str text = {0};
    vta_put_text(&text, line);
    send_frame(s, VTA_WIRE_PROGRESS, s->request.id, &text);
    vta_str_free(&text);
}

/* ---- the thread that listens */

static bool is_busy(session *s)
{
    (void)pthread_mutex_lock(&s->lock);
    const bool busy = s->waiting;
    (void)pthread_mutex_unlock(&s->lock);
    return busy;
}

/* A copy of the request, since the channel goes on reading. A second request before the reply to the first
 * breaks the protocol. */
static bool pass_on(session *s, const vta_frame *frame)
{
    const size_t size = (size_t)(frame->content.end - frame->content.at);
    uint8_t *copy = malloc(size > 0 ? size : 1);
    (void)pthread_mutex_lock(&s->lock);
    const bool good = !s->waiting && copy != NULL;
    if (good) {
        if (size > 0) {
            memcpy(copy, frame->content.at, size);
        }
        s->request = *frame;
        s->request.content = (vta_content){copy, copy + size, false};
        s->content = copy;
        s->waiting = true;
        (void)pthread_cond_broadcast(&s->changed);
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (!good) {
        free(copy);
    }
    return good;
}

static vta_status listen_once(session *s, double *silent_s)
{
    const double slice_s = 0.1, alive_s = 5.0;
    vta_frame frame;
    vta_diag why = {0};
    const vta_status status = vta_channel_receive(&s->channel, slice_s, &frame, &why);
    if (status == VTA_TIMEOUT && why.code == VTA_OK) {
        *silent_s += slice_s;
        if (*silent_s >= alive_s && is_busy(s)) {
            *silent_s = 0;
            send_frame(s, VTA_WIRE_ALIVE, 0, NULL);
        }
        const bool stuck = s->channel.filled > 0 && vta_now() - s->channel.heard > s->channel.patience_s;
        return stuck ? vta_fail(&s->why, VTA_TIMEOUT, "the client stopped in the middle of a frame") : VTA_OK;
    }
    if (status != VTA_OK) {
        return vta_fail(&s->why, status, "%s", why.text);
    }
    if (frame.kind == VTA_WIRE_INTERRUPT) {
        agent_interrupt(&s->agent);
        return VTA_OK;
    }
    return pass_on(s, &frame)
               ? VTA_OK
               : vta_fail(&s->why, VTA_PROTOCOL, "a request came before the reply to the last");
}

static void *listen_on(void *context)
{
    session *s = context;
    double silent_s = 0;
    while (!ending && listen_once(s, &silent_s) == VTA_OK) {
    }
    (void)pthread_mutex_lock(&s->lock);
    s->over = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    /* The run is stopped, again and again: it may just be about to start. A kernel of the host that takes
     * minutes does not stop; it ends with the process. */
    const struct timespec nap = {.tv_nsec = 20000000};
    enum { NAPS = 250 };
    for (int i = 0; i < NAPS && is_busy(s); i++) {
        agent_interrupt(&s->agent);
        (void)nanosleep(&nap, NULL);
    }
    if (is_busy(s)) {
        _exit(1);
    }
    return NULL;
}

/* ---- the thread that works */

static bool next_request(session *s)
{
    (void)pthread_mutex_lock(&s->lock);
    while (!s->over && !s->waiting) {
        (void)pthread_cond_wait(&s->changed, &s->lock);
    }
    const bool there = s->waiting && !s->over;
    (void)pthread_mutex_unlock(&s->lock);
    return there;
}

static void set_idle(session *s)
{
    (void)pthread_mutex_lock(&s->lock);
    free(s->content);
    s->content = NULL;
    s->waiting = false;
    (void)pthread_mutex_unlock(&s->lock);
}

static void work(session *s)
{
    while (next_request(s)) {
        vta_str reply = {0};
        const uint32_t id = s->request.id;
        agent_answer(&s->agent, &s->request, &reply);
        set_idle(s); /* before the reply: the next request may be there at once */
        send_frame(s, VTA_WIRE_REPLY, id, &reply);
        vta_str_free(&reply);
    }
    set_idle(s);
}

static vta_status run_session(session *s, vta_diag *diag)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, listen_on, s) != 0) {
        return vta_fail(diag, VTA_NOMEM, "cannot start a thread");
    }
    work(s);
    (void)pthread_join(thread, NULL);
    const bool closed = s->why.code == VTA_IO && s->channel.filled == 0;
    return s->why.code == VTA_OK || closed ? VTA_OK : vta_fail(diag, s->why.code, "%s", s->why.text);
}

vta_status agent_serve(int in, int out, bool is_unchecked, vta_diag *diag)
{
    const double patience_s = 60.0;
    session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return vta_no_memory(diag);
    }
    s->progress = (vta_progress){.line = tell, .context = s};
    agent_init(&s->agent, &s->progress);
    s->agent.is_unchecked = is_unchecked;
    vta_channel_init(&s->channel, in, out, patience_s);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->out_lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    const vta_status status = run_session(s, diag);
    agent_free(&s->agent);
    vta_channel_free(&s->channel);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->out_lock);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    return status;
}
