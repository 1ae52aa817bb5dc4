/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VTA_LIBC_MATH_H
#define VTA_LIBC_MATH_H

#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN      __builtin_nanf("")

double floor(double x);

#endif
