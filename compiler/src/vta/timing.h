/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a list of calls takes: the machine of hw/README.md, instruction by instruction. Units run at the
 * same time and wait for each other where the data say so; inside a unit the order is that of the list. What
 * is modelled: fetching ahead, queues, the read bus that all share, latency, short bursts, the three
 * pipelines of the compute unit with their hazards, banks and write ports, tokens given in order, and how
 * load and store hear of each other. What is not: single words.
 */
#ifndef VTAC_VTA_TIMING_H
#define VTAC_VTA_TIMING_H

#include "sched.h"

/* When each tag's last instruction ends: ends[0 … tags-1], may be NULL. Returns the end of all, 0 without
 * memory. */
uint64_t timing_of(const machine *m, const step_list *list, uint64_t work_bytes, uint64_t *ends,
                   uint32_t tags);

#endif
