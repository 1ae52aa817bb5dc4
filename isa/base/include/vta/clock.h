/* SPDX-License-Identifier: Apache-2.0
 *
 * Time that only goes forward.
 */
#ifndef VTA_CLOCK_H
#define VTA_CLOCK_H

#if defined VTA_BAREMETAL && !defined VTA_WASM /* a page has clock_gettime alone */

/* Seconds since some moment, straight from the board's clock: a time in two integers and back costs more than
 * a small layer on a processor without an FPU. */
double vta_now(void);

#else

#    include <time.h>

/* Seconds since some moment. */
static inline double vta_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#endif

#endif
