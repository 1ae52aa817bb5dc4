/* SPDX-License-Identifier: Apache-2.0
 *
 * Time that only goes forward.
 */
#ifndef VTA_CLOCK_H
#define VTA_CLOCK_H

#include <time.h>

/* Seconds since some moment. */
static inline double vta_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#endif
