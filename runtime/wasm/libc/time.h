/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_TIME_H
#define VTA_LIBC_TIME_H

typedef long long time_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
typedef int clockid_t;
enum { CLOCK_REALTIME, CLOCK_MONOTONIC };
int clock_gettime(clockid_t clock, struct timespec *out);

#endif
