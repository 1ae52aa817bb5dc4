/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals that end a process wait while something stands that must not outlive it: a temporary file, a child
 * at work. Threads of ours are started with all signals held back, so that those are the program's business.
 */
#ifndef VTA_HOLD_H
#define VTA_HOLD_H

#include <signal.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From here on SIGINT, SIGTERM and SIGHUP wait; `was` is what the calling thread held back before. */
void vta_hold_signals(sigset_t *was);

/* The same while a file of this name is in the making; false, and nothing is held back, for a device or a
 * pipe, which may keep its writer waiting for ever and has nothing that could be left behind. */
bool vta_hold_signals_for(const char *path, sigset_t *was);

/* Holds back every signal but those that a fault of the thread itself raises: for the start of a thread.
 */
void vta_hold_all_signals(sigset_t *was);

/* The set that a program started meanwhile is to hold back: ours without SIGINT, SIGTERM and SIGHUP. */
void vta_signals_of_child(sigset_t *signals);

/* Restores the set `was`; signals that arrived meanwhile take effect now. errno stays. */
void vta_release_signals(const sigset_t *was);

#ifdef __cplusplus
}
#endif
#endif
