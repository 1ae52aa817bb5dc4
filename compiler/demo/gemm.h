/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of row-major float matrices, on one core.
 */
#ifndef DEMO_GEMM_H
#define DEMO_GEMM_H

#include <stdint.h>

/* A matrix within a larger one: `stride` elements from row to row. */
typedef struct matrix {
    float *at;
    uint32_t stride;
} matrix;

/* c[m][n] = a[m][k] · b[k][n], or added to what is in c. */
void demo_gemm(uint32_t m, uint32_t n, uint32_t k, matrix a, matrix b, matrix c, int add);

/* to[columns][rows] = from[rows][columns] */
void demo_transpose(uint32_t rows, uint32_t columns, matrix from, matrix to);

#endif
