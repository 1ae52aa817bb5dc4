/* SPDX-License-Identifier: Apache-2.0
 *
 * What a CPU can do at best: exact int8 products added to int32 in a tight loop that touches no memory.
 */
#ifndef VTA_TEST_PEAK_H
#define VTA_TEST_PEAK_H

#include <stdint.h>

/* Runs about `loops` rounds with the instructions that the named kernel is built on; returns how many
 * products it added up, 0 for a kernel that it does not know. */
double peak_run(const char *kernel, uint64_t loops);

#endif
