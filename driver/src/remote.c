/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of a connection: what the URI says, the command, the handshake, requests.
 */
#include "vta/remote.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/log.h"
#include "vta/untrusted.h"

enum { ARGS = 40, PATIENCE_S = 60, HELLO_S = 30 };

struct vta_remote {
    child child;
    vta_channel channel;
    vta_progress progress;
    const vta_stop *stop;
    char where[128]; /* for messages */
    char machine[32], release[64];
    uint32_t id;        /* of the last request */
    vta_wire_kind kind; /* of the last request */
    bool broken, is_ssh;
    double told; /* when the last line of progress was shown (vta/clock.h) */
};

/* ---- URIs */

/* The machine of hw/soc is built and simulated where simulators are: on no board. */
#ifdef VTA_NO_RTL_SIMULATORS
enum { HAS_MACHINE = 0 };
#else
enum { HAS_MACHINE = 1 };
#endif

static bool is_machine(const char *uri)
{
    return HAS_MACHINE && strncmp(uri, "soc:", 4) == 0;
}

bool vta_remote_is(const char *uri)
{
    return uri != NULL && (strncmp(uri, "ssh:", 4) == 0 || strncmp(uri, "pipe:", 5) == 0 || is_machine(uri));
}

/* An option of the connection, or NULL where it is one of the device. */
static const char **slot_of(const char *pair, bool ssh, const char **agent, const char **device,
                            const char **patience)
{
    if (strncmp(pair, "patience=", 9) == 0) {
        return patience;
    }
    if (ssh) {
        return strncmp(pair, "agent=", 6) == 0 ? agent : NULL;
    }
    return strncmp(pair, "device=", 7) == 0 ? device : NULL;
}

static vta_status split_query(vta_remote_place *place, char *query, bool ssh, const char **device,
                              vta_str *others, vta_diag *diag)
{
    const char *patience = NULL;
    while (query != NULL) {
        char *pair = query;
        query = strchr(query, '&');
        if (query != NULL) {
            *query++ = '\0';
        }
        const char **slot = slot_of(pair, ssh, &place->command, device, &patience);
        if (slot != NULL) {
            *slot = strchr(pair, '=') + 1;
        } else {
            vta_str_printf(others, "%s%s", others->size > 0 ? "&" : "?", pair);
        }
    }
    if (patience != NULL) {
        char *end;
        const unsigned long seconds = strtoul(patience, &end, 10);
        if (*patience < '0' || *patience > '9' || *end != '\0' || seconds == 0 || seconds > 86400) {
            return vta_fail(diag, VTA_INVALID,
                            "device option 'patience=%s': expected seconds from 1 to 86400", patience);
        }
        place->patience_s = (uint32_t)seconds;
    }
    return VTA_OK;
}

/* "//[USER@]HOST[:PORT][/DEVICE]", with brackets round an IPv6 address. */
static vta_status split_ssh(vta_remote_place *place, const char *uri, char *rest, const char **device,
                            vta_diag *diag)
{
    char *slash = strchr(rest + strspn(rest, "/"), '/');
    const bool good = strncmp(rest, "//", 2) == 0;
    rest += good ? 2 : 0;
    if (slash != NULL) {
        *slash = '\0';
        *device = slash[1] != '\0' ? slash + 1 : *device;
    }
    char *host = strchr(rest, '@') != NULL ? strrchr(rest, '@') + 1 : rest;
    char *colon = strchr(*host == '[' && strchr(host, ']') != NULL ? strchr(host, ']') : host, ':');
    if (colon != NULL) {
        *colon = '\0';
        place->port = colon + 1;
    }
    const bool port_good = place->port == NULL || (*place->port != '\0' && strlen(place->port) <= 5 &&
                                                   strspn(place->port, "0123456789") == strlen(place->port));
    if (*host == '[' && strchr(host, ']') != NULL) { /* ssh takes the address without them */
        memmove(host, host + 1, strlen(host));
        *strchr(host, ']') = '\0';
    }
    place->host = rest;
    if (!good || !port_good || *host == '\0' || *rest == '-' || *rest == '@') {
        return vta_fail(diag, VTA_INVALID, "expected ssh://[USER@]HOST[:PORT][/DEVICE], not '%s'", uri);
    }
    return VTA_OK;
}

static vta_status take_apart(vta_remote_place *place, const char *uri, vta_str *others, const char **device,
                             vta_diag *diag)
{
    const bool ssh = strncmp(place->text, "ssh:", 4) == 0;
    place->is_soc = is_machine(place->text);
    char *rest = strchr(place->text, ':') + 1;
    char *query = strchr(rest, '?');
    if (query != NULL) {
        *query++ = '\0';
    }
    place->command = ssh ? "vtac-agent" : rest;
    place->patience_s = PATIENCE_S;
    VTA_TRY(split_query(place, query, ssh, device, others, diag));
    if (ssh) {
        return split_ssh(place, uri, rest, device, diag);
    }
    if (HAS_MACHINE && place->is_soc) {
        *device = rest;
        return *rest != '\0' ? VTA_OK
                             : vta_fail(diag, VTA_INVALID, "expected soc:CONFIG, as soc:tiny, not '%s'", uri);
    }
    return *rest != '\0' ? VTA_OK : vta_fail(diag, VTA_INVALID, "expected pipe:COMMAND, not 'pipe:'");
}

vta_status vta_remote_parse(const char *uri, vta_remote_place *out, vta_diag *diag)
{
    vta_str others = {0};
    const char *device = "uio";
    *out = (vta_remote_place){.text = strdup(uri)};
    if (out->text == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", uri);
    }
    vta_status status = take_apart(out, uri, &others, &device, diag);
    if (status == VTA_OK) {
        vta_str full = {0};
        vta_str_printf(&full, "%s%s", device, others.text != NULL ? others.text : "");
        out->device = others.failed ? NULL : vta_str_take(&full);
        vta_str_free(&full);
        status = out->device != NULL ? VTA_OK : vta_fail(diag, VTA_NOMEM, "no memory for device '%s'", uri);
    }
    vta_str_free(&others);
    if (status != VTA_OK) {
        vta_remote_place_free(out);
    }
    return status;
}

void vta_remote_place_free(vta_remote_place *place)
{
    free(place->text);
    free(place->device);
    *place = (vta_remote_place){0};
}

/* ---- the command */

/* 'it''s': a word for the other side's shell. */
static void put_quoted(vta_str *out, const char *word)
{
    vta_str_put(out, "'");
    for (; *word != '\0'; word++) {
        vta_str_printf(out, *word == '\'' ? "'\\''" : "%c", *word);
    }
    vta_str_put(out, "'");
}

/* Takes the next word off `*rest`, which it writes into: blanks part words, but not between quotes of either
 * kind. */
static char *next_word(char **rest)
{
    char *from = *rest + strspn(*rest, " ");
    char *const word = from;
    char *to = word;
    char quote = '\0';
    for (; *from != '\0' && (quote != '\0' || *from != ' '); from++) {
        if (*from == quote) {
            quote = '\0';
        } else if (quote == '\0' && (*from == '\'' || *from == '"')) {
            quote = *from;
        } else {
            *to++ = *from;
        }
    }
    *rest = *from == '\0' ? from : from + 1;
    *to = '\0';
    return word;
}

/* "ssh" or what VTA_SSH says, taken apart. */
static size_t ssh_words(char *words, char **argv, size_t room)
{
    size_t count = 0;
    char *rest = words + strspn(words, " ");
    while (*rest != '\0' && count < room) {
        argv[count++] = next_word(&rest);
        rest += strspn(rest, " ");
    }
    return count;
}

static vta_status start_ssh(vta_remote *r, const vta_remote_place *place, vta_diag *diag)
{
    /* No prompt, no port of its own, and an end when the line is dead. */
    static const char *const fixed[] = {"-T",
                                        "-a",
                                        "-x",
                                        "-o",
                                        "BatchMode=yes",
                                        "-o",
                                        "ConnectTimeout=20",
                                        "-o",
                                        "ServerAliveInterval=5",
                                        "-o",
                                        "ServerAliveCountMax=6",
                                        "-o",
                                        "ClearAllForwardings=yes"};
    enum { FIXED = sizeof fixed / sizeof fixed[0] };
    const char *given = getenv("VTA_SSH");
    char *words = strdup(given != NULL && *given != '\0' ? given : "ssh");
    vta_str command = {0};
    put_quoted(&command, place->command);
    vta_str_put(&command, " --stdio");
    char *copies[FIXED + 4] = {0};
    char *argv[ARGS + 1];
    vta_status status = vta_allocated(words != NULL && !command.failed, diag);
    size_t count = words != NULL ? ssh_words(words, argv, ARGS - FIXED - 4) : 0;
    for (size_t i = 0; i < FIXED; i++) {
        copies[i] = strdup(fixed[i]);
    }
    copies[FIXED] = place->port != NULL ? strdup("-p") : NULL;
    copies[FIXED + 1] = place->port != NULL ? strdup(place->port) : NULL;
    copies[FIXED + 2] = strdup(place->host);
    for (size_t i = 0; i < FIXED + 3; i++) {
        argv[count] = copies[i];
        count += copies[i] != NULL;
    }
    argv[count++] = command.text;
    argv[count] = NULL;
    status = status == VTA_OK ? vta_child_start(&r->child, argv, diag) : status;
    for (size_t i = 0; i < FIXED + 3; i++) {
        free(copies[i]);
    }
    vta_str_free(&command);
    free(words);
    return status;
}

static vta_status start_shell(vta_remote *r, const vta_remote_place *place, vta_diag *diag)
{
    char shell[] = "/bin/sh";
    char option[] = "-c";
    char *command = strdup(place->command);
    char *argv[] = {shell, option, command, NULL};
    const vta_status status = command != NULL ? vta_child_start(&r->child, argv, diag) : vta_no_memory(diag);
    free(command);
    return status;
}

/* vtac-soc as $VTA_SOC says, or beside this program, or in the PATH. */
static void find_machine(char *path, size_t size)
{
    static const char name[] = "vtac-soc";
    const char *given = getenv("VTA_SOC");
    char own[4096];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    (void)snprintf(path, size, "%s", given != NULL && *given != '\0' ? given : name);
    if (given == NULL && slash != NULL) {
        *slash = '\0';
        const int whole = snprintf(path, size, "%s/%s", own, name);
        if (whole < 0 || (size_t)whole >= size || access(path, X_OK) != 0) {
            (void)snprintf(path, size, "%s", name);
        }
    }
}

static vta_status start_machine(vta_remote *r, const vta_remote_place *place, vta_diag *diag)
{
    char program[4352];
    find_machine(program, sizeof program);
    char *argv[] = {program, place->device, NULL};
    return vta_child_start(&r->child, argv, diag);
}

/* ---- frames */

void vta_remote_tell(vta_remote *r, const char *fmt, ...)
{
    char line[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    vta_log(VTA_LOG_INFO, "%s", line);
    if (r->progress.line != NULL) {
        r->progress.line(r->progress.context, line);
    }
}

/* The connection is at its end: says so once, with what the command said last and what would help. */
static vta_status break_off(vta_remote *r, const vta_diag *why, vta_diag *diag)
{
    enum { NOT_FOUND = 127 };
    const double grace_s = 3.0;
    char words[256];
    char advice[256] = "";
    r->broken = true;
    vta_log(VTA_LOG_WARNING, "%s: the connection is lost: %s", r->where, why->text);
    if (r->child.pid > 0) {
        vta_child_end(&r->child, grace_s);
    }
    (void)vta_make_plain(r->child.words, sizeof r->child.words, words, sizeof words);
    if (r->is_ssh && r->child.code == NOT_FOUND) {
        (void)snprintf(advice, sizeof advice,
                       "; install the board package there, or name the agent with '?agent=PATH'");
    } else if (r->is_ssh && r->machine[0] == '\0' && why->code == VTA_IO) {
        (void)snprintf(advice, sizeof advice, "; 'ssh -o BatchMode=yes %s true' must work without a password",
                       r->where);
    }
    return vta_fail(diag, why->code, "%s: %s%s%s%s%s", r->where, why->text, *words != '\0' ? " ('" : "",
                    words, *words != '\0' ? "')" : "", advice);
}

static vta_status gone(vta_remote *r, vta_status code, const char *text, vta_diag *diag)
{
    vta_diag why = {0};
    (void)vta_fail(&why, code, "%s", text);
    return break_off(r, &why, diag);
}

vta_status vta_remote_send(vta_remote *r, vta_wire_kind kind, vta_str *request, vta_diag *diag)
{
    vta_diag why = {0};
    if (r->broken) {
        vta_str_free(request);
        return vta_fail(diag, VTA_IO, "%s: the connection was lost; open the device again", r->where);
    }
    if (r->child.owner != getpid()) {
        vta_str_free(request);
        return vta_fail(diag, VTA_BUSY,
                        "%s: the connection is of process %ld, of which this is a fork; open it again here",
                        r->where, (long)r->child.owner);
    }
    r->kind = kind;
    r->channel.heard = vta_now();
    const vta_status status = vta_channel_send(&r->channel, kind, ++r->id, request, &why);
    vta_str_free(request);
    return status == VTA_OK ? VTA_OK : break_off(r, &why, diag);
}

/* Shows a line of the other side, one a second: an agent that floods its client fills no terminal and no log.
 */
static vta_status take_progress(vta_remote *r, vta_frame *frame)
{
    static const double pause_s = 1.0;
    char line[200];
    const char *text = vta_get_text(&frame->content);
    if (r->told == 0.0 || vta_now() - r->told >= pause_s) {
        (void)vta_make_plain(text, strlen(text), line, sizeof line);
        vta_remote_tell(r, "%s: %s", r->where, line);
        r->told = vta_now();
    }
    return vta_content_done(&frame->content) ? VTA_OK : VTA_PROTOCOL;
}

/* A frame that is not yet the reply. */
static vta_status meanwhile(vta_remote *r, vta_frame *frame, vta_diag *diag)
{
    if ((frame->kind == VTA_WIRE_PROGRESS && take_progress(r, frame) == VTA_OK) ||
        (frame->kind == VTA_WIRE_ALIVE && vta_content_done(&frame->content))) {
        return VTA_OK;
    }
    char text[128];
    (void)snprintf(text, sizeof text, "frame %u of kind %u (%s) arrives instead of the reply to %u (%s)",
                   frame->id, frame->kind, vta_wire_name(frame->kind), r->id, vta_wire_name(r->kind));
    return gone(r, VTA_PROTOCOL, text, diag);
}

static vta_status nothing_yet(vta_remote *r, bool *told, vta_diag *diag)
{
    vta_child_listen(&r->child);
    if (vta_stop_wanted(r->stop) && !*told) {
        *told = true;
        vta_diag why = {0};
        if (vta_channel_send(&r->channel, VTA_WIRE_INTERRUPT, r->id, NULL, &why) != VTA_OK) {
            return break_off(r, &why, diag);
        }
    }
    const double silence = vta_now() - r->channel.heard;
    if (silence > r->channel.patience_s) {
        char text[96];
        (void)snprintf(text, sizeof text, "nothing has come for %.0f s; the connection counts as lost",
                       silence);
        return gone(r, VTA_TIMEOUT, text, diag);
    }
    return VTA_OK;
}

/* The reply to the last request, unread. */
static vta_status await(vta_remote *r, vta_content *reply, vta_diag *diag)
{
    const double slice_s = 0.05;
    bool told = false;
    for (;;) {
        vta_frame frame;
        vta_diag why = {0};
        const vta_status status = vta_channel_receive(&r->channel, slice_s, &frame, &why);
        if (status == VTA_TIMEOUT && why.code == VTA_OK) {
            VTA_TRY(nothing_yet(r, &told, diag));
        } else if (status != VTA_OK) {
            return break_off(r, &why, diag);
        } else if (frame.kind == VTA_WIRE_REPLY && frame.id == r->id) {
            *reply = frame.content;
            return VTA_OK;
        } else {
            VTA_TRY(meanwhile(r, &frame, diag));
        }
    }
}

vta_status vta_remote_wait(vta_remote *r, vta_content *reply, vta_diag *diag)
{
    char sentence[900];
    VTA_TRY(await(r, reply, diag));
    const uint32_t status = vta_get_u32(reply);
    const char *text = vta_get_text(reply);
    (void)vta_make_plain(text, strlen(text), sentence, sizeof sentence);
    if (reply->bad || status >= VTA_STATUS_COUNT) {
        return gone(r, VTA_PROTOCOL, "a reply makes no sense", diag);
    }
    return status == VTA_OK ? VTA_OK
                            : vta_fail(diag, (vta_status)status, "%s: %s", r->where,
                                       *sentence != '\0' ? sentence : vta_status_text((vta_status)status));
}

vta_status vta_remote_call(vta_remote *r, vta_wire_kind kind, vta_str *request, vta_content *reply,
                           vta_diag *diag)
{
    VTA_TRY(vta_remote_send(r, kind, request, diag));
    return vta_remote_wait(r, reply, diag);
}

vta_status vta_remote_check(vta_remote *r, const vta_content *reply, vta_diag *diag)
{
    char text[96];
    if (vta_content_done(reply)) {
        return VTA_OK;
    }
    (void)snprintf(text, sizeof text, "the reply to %s makes no sense", vta_wire_name(r->kind));
    return gone(r, VTA_PROTOCOL, text, diag);
}

/* ---- opening */

static vta_status shake_hands(vta_remote *r, vta_diag *diag)
{
    vta_str hello = {0};
    vta_content reply;
    const double patience = r->channel.patience_s;
    r->channel.patience_s = patience < HELLO_S ? patience : HELLO_S;
    vta_put_u32(&hello, VTA_WIRE_PROTOCOL);
    vta_put_text(&hello, vta_wire_release());
    VTA_TRY(vta_remote_send(r, VTA_WIRE_HELLO, &hello, diag));
    vta_status status = vta_remote_wait(r, &reply, diag);
    if (status != VTA_OK) {
        r->broken = true;
        return status;
    }
    const uint32_t protocol = vta_get_u32(&reply);
    const char *release = vta_get_text(&reply);
    (void)vta_make_plain(release, strlen(release), r->release, sizeof r->release);
    if (protocol != VTA_WIRE_PROTOCOL && !reply.bad) {
        char text[256];
        (void)snprintf(
            text, sizeof text,
            "the agent there is of release %s and speaks protocol %u, this program (%s) speaks %d; "
            "install the board package of the same release there",
            r->release, protocol, vta_wire_release(), VTA_WIRE_PROTOCOL);
        return gone(r, VTA_PROTOCOL, text, diag);
    }
    const char *machine = vta_get_text(&reply);
    (void)vta_make_plain(machine, strlen(machine), r->machine, sizeof r->machine);
    r->channel.patience_s = patience;
    return vta_remote_check(r, &reply, diag);
}

static vta_remote *create(const vta_remote_options *options)
{
    vta_remote *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->child = (child){.in = -1, .out = -1, .err = -1};
        r->stop = options->stop;
        if (options->progress != NULL) {
            r->progress = *options->progress;
        }
    }
    return r;
}

vta_status vta_remote_open(const vta_remote_place *place, const vta_remote_options *options, vta_remote **out,
                           vta_diag *diag)
{
    *out = NULL;
    vta_remote *r = create(options);
    if (r == NULL) {
        return vta_no_memory(diag);
    }
    r->is_ssh = place->host != NULL;
    (void)snprintf(r->where, sizeof r->where, "%s",
                   r->is_ssh                      ? place->host
                   : HAS_MACHINE && place->is_soc ? "soc"
                                                  : "pipe");
    vta_status status = r->is_ssh                      ? start_ssh(r, place, diag)
                        : HAS_MACHINE && place->is_soc ? start_machine(r, place, diag)
                                                       : start_shell(r, place, diag);
    vta_channel_init(&r->channel, r->child.out, r->child.in, (double)place->patience_s);
    status = status == VTA_OK ? shake_hands(r, diag) : status;
    if (status != VTA_OK) {
        vta_remote_close(r);
        return status;
    }
    *out = r;
    return VTA_OK;
}

void vta_remote_close(vta_remote *r)
{
    const double grace_s = 3.0;
    if (r != NULL) {
        vta_child_end(&r->child, grace_s);
        vta_channel_free(&r->channel);
        free(r);
    }
}

const char *vta_remote_machine(const vta_remote *r)
{
    return r->machine;
}

const char *vta_remote_release(const vta_remote *r)
{
    return r->release;
}
