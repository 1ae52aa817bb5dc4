/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines for whoever listens (vta_log_to). Costs a load where nobody does.
 */
#ifndef VTA_LOG_H
#define VTA_LOG_H

#include "vta/status.h"

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((format(printf, 2, 3))) void vta_log(vta_log_level level, const char *fmt, ...);

#ifdef __cplusplus
}
#endif
#endif
