/* SPDX-License-Identifier: Apache-2.0
 *
 * Included before every file of a model: what Verilator's run-time library prints goes to the shim, not to
 * standard output.
 */
#ifndef VTA_VERILATED_HOOKS_H
#define VTA_VERILATED_HOOKS_H

#define VL_PRINTF vta_model_printf
#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL

extern "C" int vta_model_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
