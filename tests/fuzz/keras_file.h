/* SPDX-License-Identifier: Apache-2.0
 *
 * Keras models in HDF5 files, made in memory.
 */
#ifndef VTA_FUZZ_KERAS_FILE_H
#define VTA_FUZZ_KERAS_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a file with this configuration, which the caller free()s; NULL: it could not be made. */
uint8_t *keras_write_file(const char *config, size_t length, size_t *size);

#endif
