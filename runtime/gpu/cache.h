/* SPDX-License-Identifier: Apache-2.0
 *
 * What a driver made of a program's text, kept for the next time that the same text meets the same driver:
 * files in $VTAC_CACHE, $XDG_CACHE_HOME/vtac or ~/.cache/vtac, under "kernels". A cache that cannot be read
 * or written is none, and nobody is told.
 */
#ifndef VTA_GPU_CACHE_H
#define VTA_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: there is no folder for it, and none can be made. */
bool vta_gpu_cache_is_there(void);
/* `driver`: all that the program depends on but the text: device, driver's version, options. *bytes is owned.
 */
bool vta_gpu_cache_read(const char *driver, const char *text, uint8_t **bytes, size_t *size);
/* Removes the files that were used longest ago, too, where there are many. */
void vta_gpu_cache_write(const char *driver, const char *text, const void *bytes, size_t size);
/* Removes a program that the driver does not take any more. */
void vta_gpu_cache_drop(const char *driver, const char *text);

#endif
