/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac-agent with a hostile client: any requests in any order. Each is answered with a status that exists
 * and, unless it is OK, with one line; and the same bytes as a raw stream are frames or are refused.
 */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "fuzz.h"
#include "temporary.h"
#include "wire.h"

static char folder[TEMPORARY_PATH];

static void remove_cache(void)
{
    char command[TEMPORARY_PATH + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)!system(command); /* NOLINT(cert-env33-c): the name is ours */
}

static void set_cache(void)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "%s/vta-fuzz-agent-%ld", fuzz_root(), (long)getpid());
        (void)setenv("VTAC_CACHE", folder, 1);
        (void)atexit(remove_cache);
    }
}

/* Any configuration, any memory, any program; but the device is the one that neither builds nor reads files.
 */
static bool is_allowed(const record *r)
{
    vta_content in = {r->content, r->content + r->size, false};
    switch (r->kind) {
    case VTA_WIRE_DOCTOR: return false; /* that is OPEN and RUN */
    case VTA_WIRE_OPEN: return strcmp(vta_get_text(&in), "fsim:tiny") == 0;
    case VTA_WIRE_MODEL_OPEN:
        (void)vta_get_u64(&in);
        (void)vta_get_u64(&in);
        return vta_get_u32(&in) == 1 && strcmp(vta_get_text(&in), "fsim:tiny") == 0;
    case VTA_WIRE_RUN: /* a legal program may take for ever */ return false;
    default: return true;
    }
}

static void answer(agent *a, const record *r)
{
    vta_frame frame = {.kind = r->kind, .id = 1};
    vta_str reply = {0};
    frame.content = (vta_content){r->content, r->content + r->size, false};
    agent_answer(a, &frame, &reply);
    FUZZ_REQUIRE(!reply.failed && reply.size <= VTA_WIRE_MAX);
    vta_content in = {(const uint8_t *)reply.text, (const uint8_t *)reply.text + reply.size, false};
    const uint32_t status = vta_get_u32(&in);
    const char *text = vta_get_text(&in);
    FUZZ_REQUIRE(!in.bad && status < VTA_STATUS_COUNT);
    FUZZ_REQUIRE((status == VTA_OK) == (*text == '\0') && strchr(text, '\n') == NULL);
    vta_str_free(&reply);
}

/* A run with what the client says, a twentieth of a second at most; of programs so long that looking through
 * them takes seconds, the beginning. Counts that no memory holds stay. */
static void run(agent *a, const record *r)
{
    enum { COUNT_AT = 8, LONG = 1 << 12, IMPOSSIBLE = 1 << 26 };
    uint8_t content[8 + 4 + 8 * VTA_SEGMENTS + 8] = {0};
    const double patience = 0.05;
    uint32_t count;
    memcpy(content, r->content, r->size < sizeof content ? r->size : sizeof content);
    memcpy(&count, content + COUNT_AT, sizeof count);
    count = count > LONG && count < IMPOSSIBLE ? LONG : count;
    memcpy(content + COUNT_AT, &count, sizeof count);
    memcpy(content + sizeof content - sizeof patience, &patience, sizeof patience);
    const record bounded = {VTA_WIRE_RUN, content, sizeof content};
    answer(a, &bounded);
}

static void stream(const uint8_t *data, size_t size)
{
    int ends[2];
    vta_channel channel;
    vta_frame frame;
    enum { ROOM = 1 << 14 };
    if (size > ROOM || pipe(ends) != 0) {
        return;
    }
    FUZZ_REQUIRE(write(ends[1], data, size) == (ssize_t)size);
    (void)close(ends[1]);
    vta_channel_init(&channel, ends[0], -1, 1.0);
    for (;;) {
        vta_diag diag = {0};
        const vta_status status = vta_channel_receive(&channel, 1.0, &frame, &diag);
        if (status != VTA_OK) {
            FUZZ_REQUIRE(diag.text[0] != '\0' && strchr(diag.text, '\n') == NULL);
            break;
        }
        FUZZ_REQUIRE(frame.content.end - frame.content.at <= VTA_WIRE_MAX);
    }
    vta_channel_free(&channel);
    (void)close(ends[0]);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static agent a; /* large */
    record r;
    set_cache();
    stream(data, size);
    agent_init(&a, NULL);
    while (next_record(&data, &size, &r)) {
        if (r.kind == VTA_WIRE_RUN) {
            run(&a, &r);
        } else if (is_allowed(&r)) {
            answer(&a, &r);
        }
    }
    agent_free(&a);
}
