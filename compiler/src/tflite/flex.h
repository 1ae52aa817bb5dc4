/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of custom operators: a flexbuffer whose root is a map of numbers. Bounded as flat.h is.
 */
#ifndef VTAC_TFLITE_FLEX_H
#define VTAC_TFLITE_FLEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number, integer, float or truth value, that the map has under `key`. False: none, or no map. */
bool vtac_flex_number(const uint8_t *bytes, size_t size, const char *key, double *out);

/* The integers of the typed vector that the map has under `key`, at most `max`. How many they are; 0: none,
 * or more. */
uint32_t vtac_flex_ints(const uint8_t *bytes, size_t size, const char *key, int64_t *out, uint32_t max);

#endif
