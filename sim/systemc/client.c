/* SPDX-License-Identifier: Apache-2.0
 *
 * The `systemc` simulator as its user sees it: a shared object without SystemC, which starts the platform as
 * a process of its own and serves its memory accesses from the caller's memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vta/rtlsim.h"
#include "wire.h"

typedef struct client {
    vta_bus bus;
    pid_t server;
    int socket;
    bool irq;
    char failure[WIRE_TEXT];
    uint8_t data[WIRE_BURST + VTA_AXI_MAX_BYTES];
    uint64_t strobes[VTA_AXI_BEATS];
    uint64_t *account; /* the last that was asked for */
} client;

static const uint32_t bus_bytes = VTA_MODEL_BUS_BYTES;

static void lost(client *c)
{
    if (c->failure[0] == '\0') {
        (void)snprintf(c->failure, sizeof c->failure,
                       "the process of the SystemC platform ended unexpectedly");
    }
}

static bool serve_load(client *c, const wire_message *m)
{
    if (m->b > WIRE_BURST) { /* a program for the timeline: longer than any burst */
        const void *host = c->bus.map(c->bus.context, m->a, m->b);
        const uint8_t there = host != NULL;
        return wire_send(c->socket, &there, 1) && (host == NULL || wire_send(c->socket, host, m->b));
    }
    const uint8_t there = vta_axi_copy_in(&c->bus, bus_bytes, m->a, c->data, (uint32_t)m->b);
    return wire_send(c->socket, &there, 1) && (!there || wire_send(c->socket, c->data, m->b));
}

static bool serve_store(client *c, const wire_message *m)
{
    const size_t beats = m->b / bus_bytes;
    if (m->b > WIRE_BURST || !wire_receive(c->socket, c->data, m->b) ||
        !wire_receive(c->socket, c->strobes, beats * sizeof *c->strobes)) {
        return false;
    }
    const uint8_t there = vta_axi_copy_out(&c->bus, bus_bytes, m->a, c->data, (uint32_t)m->b, c->strobes);
    return wire_send(c->socket, &there, 1);
}

/* Sends a request and serves memory until its reply; the result. */
static uint64_t request(client *c, wire_op op, uint64_t a, uint64_t b, const wire_options *options)
{
    wire_message m = {op, a, b};
    bool good = c->socket >= 0 && wire_send(c->socket, &m, sizeof m) &&
                (options == NULL || wire_send(c->socket, options, sizeof *options));
    while (good) {
        char text[WIRE_TEXT];
        good = wire_receive(c->socket, &m, sizeof m);
        if (good && m.op == WIRE_LOAD) {
            good = serve_load(c, &m);
        } else if (good && m.op == WIRE_STORE) {
            good = serve_store(c, &m);
        } else if (good && wire_receive(c->socket, text, sizeof text)) {
            c->irq = m.b != 0;
            if (c->failure[0] == '\0') {
                memcpy(c->failure, text, sizeof c->failure);
                c->failure[sizeof c->failure - 1] = '\0';
            }
            return m.a;
        } else {
            good = false;
        }
    }
    lost(c);
    return 0;
}

/* The platform's program stands beside this shared object. */
static bool server_path(char *path, size_t size)
{
    Dl_info info;
    const vta_rtlsim *(*const here)(void) = vta_rtlsim_entry;
    void *address = NULL;
    memcpy(&address, &here, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const int length = slash != NULL ? (int)(slash - info.dli_fname) : 0;
    const int count = snprintf(path, size, "%.*s/platform", length, info.dli_fname);
    return slash != NULL && count > 0 && (size_t)count < size;
}

static bool start(client *c, char *message, uint32_t size)
{
    char path[PATH_MAX], *argv[] = {path, NULL};
    int pair[2];
    if (!server_path(path, sizeof path) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        (void)snprintf(message, size, "cannot start the SystemC platform");
        return false;
    }
    /* A descriptor that is already the right one would keep its close-on-exec flag: move it out of the way
     * first. */
    const int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, WIRE_SOCKET + 1);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, theirs, WIRE_SOCKET);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP); /* a terminal's interrupt is ours, not its */
    const int result = posix_spawn(&c->server, path, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pair[1]);
    close(theirs);
    if (result != 0) {
        close(pair[0]);
        c->server = 0;
        (void)snprintf(message, size, "cannot run '%s': %s", path, strerror(result));
        return false;
    }
    c->socket = pair[0];
    return true;
}

static void destroy(void *self)
{
    client *c = self;
    if (c == NULL) {
        return;
    }
    if (c->socket >= 0) {
        close(c->socket); /* its end of file tells the server to finish its files and end */
    }
    if (c->server > 0) {
        while (waitpid(c->server, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    free(c->account);
    free(c);
}

static bool copy_text(char *to, const char *from)
{
    const int count = snprintf(to, WIRE_TEXT, "%s", from != NULL ? from : "");
    return count >= 0 && count < WIRE_TEXT;
}

static bool pack(const vta_rtlsim_options *o, wire_options *w)
{
    *w = (wire_options){.latency = o->latency,
                        .bandwidth = o->bandwidth,
                        .shared_bytes = o->shared_bytes,
                        .shared_cycles = o->shared_cycles,
                        .stall_percent = o->stall_percent,
                        .traffic_percent = o->traffic_percent,
                        .dram = o->dram,
                        .clock_mhz = o->clock_mhz,
                        .seed = o->seed,
                        .trace_begin = o->trace_begin,
                        .trace_end = o->trace_end};
    return copy_text(w->trace_file, o->trace_file) && copy_text(w->trace_scope, o->trace_scope) &&
           copy_text(w->timeline_file, o->timeline_file) && copy_text(w->memory_model, o->memory_model);
}

static void *create(const vta_rtlsim_options *options, const vta_bus *bus, char *message, uint32_t size)
{
    client *c = calloc(1, sizeof *c);
    wire_options *w = malloc(sizeof *w);
    bool good = c != NULL && w != NULL;
    if (!good) {
        (void)snprintf(message, size, "out of memory");
    } else {
        c->socket = -1;
        c->bus = *bus;
        good = pack(options, w);
        if (!good) {
            (void)snprintf(message, size, "a file name is longer than %d bytes", WIRE_TEXT - 1);
        }
    }
    good = good && start(c, message, size);
    if (good && request(c, WIRE_CREATE, 0, 0, w) == 0) {
        (void)snprintf(message, size, "%s", c->failure);
        good = false;
    }
    free(w);
    if (!good) {
        destroy(c);
        return NULL;
    }
    return c;
}

static uint32_t reg_read(void *self, uint32_t offset)
{
    return (uint32_t)request(self, WIRE_READ, offset, 0, NULL);
}

static void reg_write(void *self, uint32_t offset, uint32_t value)
{
    request(self, WIRE_WRITE, offset, value, NULL);
}

static uint64_t step(void *self, uint64_t cycles)
{
    return request(self, WIRE_STEP, cycles, 0, NULL);
}

/* The platform keeps it: it sees every cycle. */
static const uint64_t *account(void *self, uint32_t *insn_count)
{
    client *c = self;
    free(c->account);
    c->account = NULL;
    *insn_count = 0;
    const uint64_t count = request(c, WIRE_ACCOUNT, 0, 0, NULL);
    if (count == 0 || count > UINT32_MAX) {
        return NULL;
    }
    c->account = malloc(wire_account_size(count));
    if (c->account == NULL || !wire_receive(c->socket, c->account, wire_account_size(count))) {
        free(c->account);
        c->account = NULL;
        close(c->socket); /* what was not read would be taken for the next reply */
        c->socket = -1;
        lost(c);
        return NULL;
    }
    *insn_count = (uint32_t)count;
    return c->account;
}

static bool dram(void *self, vta_dram_counts *out)
{
    client *c = self;
    const bool is = request(c, WIRE_DRAM, 0, 0, NULL) != 0;
    return c->socket >= 0 && wire_receive(c->socket, out, sizeof *out) && is;
}

static bool irq(void *self)
{
    return ((const client *)self)->irq;
}

static const char *failure(void *self)
{
    const client *c = self;
    return c->failure[0] != '\0' ? c->failure : NULL;
}

__attribute__((visibility("default"))) const vta_rtlsim *vta_rtlsim_entry(void)
{
    static const vta_rtlsim entry = {.abi = VTA_RTLSIM_ABI,
                                     .config_hash = VTA_MODEL_HASH,
                                     .kind = "systemc",
                                     .create = create,
                                     .destroy = destroy,
                                     .read = reg_read,
                                     .write = reg_write,
                                     .step = step,
                                     .irq = irq,
                                     .failure = failure,
                                     .account = account,
                                     .dram = dram};
    return &entry;
}
