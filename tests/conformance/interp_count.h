/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter's count of an instruction that has retired.
 */
#ifndef VTA_TEST_INTERP_COUNT_H
#define VTA_TEST_INTERP_COUNT_H

#include "interp.h"

void interp_count(const vta_config *config, const interp_insn *insn, vta_counters *counters);

#endif
