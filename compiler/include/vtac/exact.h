/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions whose result is the same to the bit on every machine. A C library chooses between
 * several versions by what the processor can do, and they do not round alike; these are made of additions,
 * products and quotients in a fixed order, which IEEE 754 defines to the bit. For everything that is compared
 * between machines or written into a file. They are off by at most two units of a double's last place.
 *
 * Whoever links them must be compiled without contraction of products and sums (-ffp-contract=off).
 */
#ifndef VTAC_EXACT_H
#define VTAC_EXACT_H

/* Not a number for one; infinite above 709.78; 0 below -745.2. */
double vtac_exp(double x);

/* The natural logarithm: -infinity for 0, not a number below. */
double vtac_log(double x);

/* Sine and cosine of an angle in radians, up to a million; not a number beyond. Near a multiple of a quarter
 * turn, the error is below 1e-18 instead. */
double vtac_sin(double x);
double vtac_cos(double x);

#endif
