/* SPDX-License-Identifier: Apache-2.0
 *
 * The configurations of isa/configs as the build embeds them, in the order of their names.
 */
#ifndef VTA_CONFIG_SHIPPED_H
#define VTA_CONFIG_SHIPPED_H

#include <stdint.h>

extern const uint32_t vta_shipped_count;
extern const char *const vta_shipped_names[];
extern const char *const vta_shipped_texts[];

#endif
