/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac-agent: runs programs and models for a vtac on another machine, over its standard input and output.
 * Started by that machine's ssh; listens on no port, keeps nothing running when the line ends.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "vta/file.h"

static void on_signal(int number)
{
    (void)number;
    agent_end();
}

static int serve(bool is_unchecked)
{
    vta_diag diag = {0};
    const struct sigaction end = {.sa_handler = on_signal};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGTERM, &end, NULL);
    (void)sigaction(SIGHUP, &end, NULL);
    (void)sigaction(SIGINT, &end, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    const int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) { /* what a library prints is no frame */
        (void)fprintf(stderr, "vtac-agent: no standard output\n");
        return 1;
    }
    if (agent_serve(STDIN_FILENO, out, is_unchecked, &diag) != VTA_OK) {
        (void)fprintf(stderr, "vtac-agent: %s\n", diag.text);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)vta_standard_hold();
    const bool is_unchecked = argc == 3 && strcmp(argv[2], "--unchecked") == 0;
    if ((argc == 2 || is_unchecked) && strcmp(argv[1], "--stdio") == 0) {
        return serve(is_unchecked);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("vtac-agent %s, protocol %d, instruction set %d.%d\n", vta_wire_release(),
                     VTA_WIRE_PROTOCOL, VTA_ISA_MAJOR, VTA_ISA_MINOR);
        return 0;
    }
    const int asked = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    (void)fprintf(asked ? stdout : stderr,
                  "usage: vtac-agent --stdio [--unchecked] | --version\n\n"
                  "Runs programs and models for a vtac on another machine, over its standard\n"
                  "input and output:  vtac run MODEL.so --device ssh://USER@THIS_MACHINE\n"
                  "  --unchecked   a client may switch the checker of programs off ('?check=0')\n");
    return asked ? 0 : 2;
}
