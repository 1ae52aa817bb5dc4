/* SPDX-License-Identifier: Apache-2.0 */
#include "vta/hold.h"

#include <errno.h>
#include <stddef.h>
#ifdef VTA_BAREMETAL
/* The same function where there is one thread: not every C library has <pthread.h>. */
#    define pthread_sigmask sigprocmask
#else
#    include <pthread.h>
#endif

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING = sizeof ending / sizeof ending[0] };

void vta_hold_signals(sigset_t *was)
{
    sigset_t more;
    (void)sigemptyset(&more);
    for (int i = 0; i < ENDING; i++) {
        (void)sigaddset(&more, ending[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &more, was);
}

void vta_hold_all_signals(sigset_t *was)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t all;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)sigdelset(&all, faults[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &all, was);
}

void vta_signals_of_child(sigset_t *signals)
{
    (void)pthread_sigmask(SIG_BLOCK, NULL, signals);
    for (int i = 0; i < ENDING; i++) {
        (void)sigdelset(signals, ending[i]);
    }
}

void vta_release_signals(const sigset_t *was)
{
    const int cause = errno;
    (void)pthread_sigmask(SIG_SETMASK, was, NULL);
    errno = cause;
}
