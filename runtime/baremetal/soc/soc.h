/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the machine of hw/soc for its programs, beside the example's board.h.
 */
#ifndef VTA_SOC_H
#define VTA_SOC_H

#include <stdint.h>

/* The clock that seconds are counted by: cycles are seconds times it. */
enum { BOARD_CLOCK_HZ = 37500000 };

/* Cycles of the clock since reset. */
uint64_t board_cycles(void);

#endif
