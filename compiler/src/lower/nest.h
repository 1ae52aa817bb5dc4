/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules of kernels that have no space of their own.
 */
#ifndef VTAC_LOWER_NEST_H
#define VTAC_LOWER_NEST_H

#include "lower.h"

/* Asks how the finished nest of a step is to run, where there is a choice, and makes it so. */
vta_status vtac_nest_schedule_step(const vtac_lower *l, vtac_step *step);

#endif
