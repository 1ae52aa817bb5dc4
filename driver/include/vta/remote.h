/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to vtac-agent on another machine, over the user's own ssh or through any command:
 *
 *   ssh://[USER@]HOST[:PORT][/DEVICE][?agent=PATH&…]   DEVICE is what the agent opens, "uio" unless told
 *   pipe:COMMAND[?device=DEVICE&…]                     COMMAND is a shell command that talks like the agent
 *   soc:CONFIG[?cycles=N&…]                            the machine of hw/soc, by the program vtac-soc
 *
 * $VTA_SSH replaces "ssh" (words, as "ssh -F FILE"), $VTA_SOC "vtac-soc", which is looked for beside this
 * program and in the PATH. What the query has beside the options of the connection belongs to DEVICE. Used by
 * the remote device and the remote model; a program uses driver.h and model.h.
 */
#ifndef VTA_REMOTE_H
#define VTA_REMOTE_H

#include "vta/stop.h"
#include "vta/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_remote vta_remote;

/* True where a device URI names another machine. */
bool vta_remote_is(const char *uri);

/* The parts of a URI. `text` is the storage that the other members point into. */
typedef struct vta_remote_place {
    char *text;
    const char *host;    /* ssh: [USER@]HOST; NULL: `command` */
    bool is_soc;         /* soc: vtac-soc is started for `device` */
    const char *port;    /* ssh: NULL unless told */
    const char *command; /* pipe: for the shell; ssh: the agent's name there */
    char *device;        /* owned; what the agent is to open, with its options */
    uint32_t patience_s; /* of silence, then the other side counts as gone */
} vta_remote_place;
vta_status vta_remote_parse(const char *uri, vta_remote_place *out, vta_diag *diag);
void vta_remote_place_free(vta_remote_place *place);

/* Starts the command and shakes hands. `stop` (may be NULL): wanted when a request is to be given up. */
typedef struct vta_remote_options {
    const vta_progress *progress;
    const vta_stop *stop;
} vta_remote_options;
vta_status vta_remote_open(const vta_remote_place *place, const vta_remote_options *options, vta_remote **out,
                           vta_diag *diag);

/* Ends the command: first by closing its input, then less kindly. */
void vta_remote_close(vta_remote *remote);

/* Processor of the agent's machine, "x86-64", "aarch64" or "arm"; release of the agent. */
const char *vta_remote_machine(const vta_remote *remote);
const char *vta_remote_release(const vta_remote *remote);

/* A request and its reply: *reply is borrowed until the next call. A failure that the agent reports comes
 * back as its status and its sentence. Once the connection is broken, so are all calls. */
vta_status vta_remote_call(vta_remote *remote, vta_wire_kind kind, vta_str *request, vta_content *reply,
                           vta_diag *diag);

/* The two halves of a call, for one that takes long. When `stop` becomes true, the agent is told to give up
 * and its reply is awaited: it says VTA_INTERRUPTED then. */
vta_status vta_remote_send(vta_remote *remote, vta_wire_kind kind, vta_str *request, vta_diag *diag);
vta_status vta_remote_wait(vta_remote *remote, vta_content *reply, vta_diag *diag);

/* After a call: everything of the reply was read and made sense, else VTA_PROTOCOL. */
vta_status vta_remote_check(vta_remote *remote, const vta_content *reply, vta_diag *diag);

/* A line to the progress of the connection, if there is one. */
__attribute__((format(printf, 2, 3))) void vta_remote_tell(vta_remote *remote, const char *fmt, ...);

#ifdef __cplusplus
}
#endif
#endif
