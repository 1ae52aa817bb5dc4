/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole transfers over the socket; wire.h has the messages.
 */
#include "wire.h"

#include <errno.h>
#include <sys/socket.h>

bool wire_send(int socket, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent <= 0 && !(sent < 0 && errno == EINTR)) {
            return false;
        }
        at += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

bool wire_receive(int socket, void *bytes, size_t size)
{
    uint8_t *at = bytes;
    while (size > 0) {
        const ssize_t got = recv(socket, at, size, 0);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        at += got > 0 ? got : 0;
        size -= got > 0 ? (size_t)got : 0;
    }
    return true;
}
