/* SPDX-License-Identifier: Apache-2.0
 *
 * Logistic and tanh of 16-bit fixed-point numbers by the steps of gemmlowp, which TensorFlow Lite's integer
 * LSTMs take: the exponential from a series on a quarter, the rest by products, and a quotient by Newton.
 */
#ifndef VTAC_TFLITE_FIXED_H
#define VTAC_TFLITE_FIXED_H

#include <stdint.h>

/* Numbers with `whole` bits before the point (0 to 6) to numbers with none. */
int16_t vtac_tflite_fixed_logistic(int16_t x, int whole);
int16_t vtac_tflite_fixed_tanh(int16_t x, int whole);

#endif
